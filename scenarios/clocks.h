// SPDX-License-Identifier: MIT
// Three clocks in one world: "physics" 120 times a second, logic (the world's first pipeline) 30 times, and "draw", a spectator, as often as
// it goes. Physics writes where everybody is, logic who lives and who aims at whom; each reads what the others write, by rows and by
// id. Entities die and are born at a steady rate. Of physics' Heat (live) and logic's Scars (several to an entity) others see the value itself, under a
// lock.
//
// Every value is written so that a reader can tell whether it sees a whole one: each tick of an owner writes its types in two systems, of which the
// first leaves every row broken, and rows carry the tick they were written in. So a torn read, half a tick, ticks of two kinds in one
// look, time that runs backwards, an event that is lost and half a transaction are faults, which the systems themselves find and count.
//
//     clocks c;
//     orr_world* world = orr_world_create(&(orr_world_desc){.rate_hz = CLOCKS_LOGIC_HZ});
//     clocks_build(&c, world, &(clocks_desc){.size = 2000});
//     orr_step(world, 300);
//     … clocks_faults(&c) is 0 …
//     orr_world_destroy(world);   // before `c` goes
#ifndef ORR_SCENARIO_CLOCKS_H
#define ORR_SCENARIO_CLOCKS_H

#include <orrery/orrery.h>
#include <stdatomic.h>

#define CLOCKS_LOGIC_HZ   30.0 ///< What the world must be created with.
#define CLOCKS_PHYSICS_HZ 120.0
#define CLOCKS_PHYSICS    "physics"
#define CLOCKS_DRAW       "draw"

/// What a system may find. What "all rows" are: those that were there in the tick that is looked at.
typedef enum clocks_fault {
    CLOCKS_TORN,       ///< A row is in itself not what one tick wrote.
    CLOCKS_UNEQUAL,    ///< Not all rows of a look, or not both types of an owner, are of one tick.
    CLOCKS_BACKWARDS,  ///< A row is of an earlier tick than when it was last seen.
    CLOCKS_FORGOTTEN,  ///< A row was there for two whole ticks of its owner, and not written.
    CLOCKS_MOVED_ON,   ///< Two systems of one tick saw different ticks of another pipeline.
    CLOCKS_UNBALANCED, ///< Half of what was transacted together.
    CLOCKS_EVENT,      ///< An event is missing, came twice or out of order.
    CLOCKS_ROLL,       ///< Who hears of entities counts others than who looks.
    CLOCKS_FAULTS      ///< How many kinds there are.
} clocks_fault;

/// A mistake to be found, made in one tick.
typedef enum clocks_plant {
    CLOCKS_PLANT_NONE = 0,
    CLOCKS_PLANT_HALF_ROWS,  ///< Physics leaves every second row as it was.
    CLOCKS_PLANT_HALF_TICK,  ///< The second system of physics does nothing.
    CLOCKS_PLANT_OLD_ROWS,   ///< Physics says that it is ten ticks ago.
    CLOCKS_PLANT_HALF_HEAT,  ///< Physics leaves a live value half written.
    CLOCKS_PLANT_HALF_LOGIC, ///< The second system of logic does nothing.
    CLOCKS_PLANT_HALF_KICK,  ///< A transaction lacks its other half.
    CLOCKS_PLANT_HALF_SCAR,  ///< Logic leaves a multiple one half written.
    CLOCKS_PLANT_EVENT,      ///< An event is not sent.
    CLOCKS_PLANTS            ///< How many kinds there are.
} clocks_plant;

typedef struct clocks_desc {
    uint32_t size;       ///< Entities. Default 2000.
    double physics_hz;   ///< Default CLOCKS_PHYSICS_HZ.
    double draw_hz;      ///< Default: continuous.
    bool no_draw;        ///< The simulation comes to the same.
    clocks_plant plant;  ///< Default: none.
    uint64_t plant_tick; ///< Of the pipeline that makes it. Default 50.
    /// Called while values that others read in place are half written: where a controlled scheduler lets others go on. Default: none.
    void (*half)(void);
} clocks_desc;

/// A scenario at work. Systems of the world count in it: it lives as long.
typedef struct clocks {
    clocks_desc desc;
    struct clocks* self; ///< What its systems have as settings.
    _Atomic uint64_t found[CLOCKS_FAULTS];
    /// What was done, so that a test knows that there was something to find: rows moved by physics; rows looked at by logic, physics (of
    /// logic) and draw; entities born; transactions; events sent, and heard by physics and draw; values looked at in place: Heat by logic and draw, Scars
    /// by physics.
    _Atomic uint64_t moved, looked, probed, drawn, born, kicks, hits, heard, boomed, felt, ached;
} clocks;

/// Adds pipelines, types, entities and systems to a world without any. False when something was refused.
bool clocks_build(clocks* c, orr_world* world, const clocks_desc* desc);
/// All that was found.
uint64_t clocks_faults(const clocks* c);
/// "torn", and so on.
const char* clocks_fault_name(clocks_fault fault);

#endif
