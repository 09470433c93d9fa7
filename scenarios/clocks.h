// SPDX-License-Identifier: MIT
// Three clocks in one world: "physics" 120 times a second, logic (the world's first pipeline) 30
// times a second, and "draw", a continuous spectator. Physics writes positions; logic writes lives
// and targets. Each pipeline reads the types of the others, by rows and by id. Entities are created
// and destroyed at a steady rate. Physics' Heat (live) and logic's Scars (multiple) are read in
// place under a lock.
//
// Every value is written so that a reader can detect an inconsistent one: each tick of an owner
// writes its types in two systems, the first of which leaves every row inconsistent, and rows carry
// the tick in which they were written. The systems detect and count these faults: a torn read, half
// a tick, rows of two ticks in one pass, time that runs backwards, a lost event and half a
// transaction.
//
//     clocks c;
//     orr_world* world = orr_world_create(&(orr_world_desc){.rate_hz = CLOCKS_LOGIC_HZ});
//     clocks_build(&c, world, &(clocks_desc){.size = 2000});
//     orr_step(world, 300);
//     … clocks_faults(&c) is 0 …
//     orr_world_destroy(world);   // before `c` goes out of scope
#ifndef ORR_SCENARIO_CLOCKS_H
#define ORR_SCENARIO_CLOCKS_H

#include <orrery/orrery.h>
#include <stdatomic.h>

#define CLOCKS_LOGIC_HZ   30.0 ///< Required rate of the world.
#define CLOCKS_PHYSICS_HZ 120.0
#define CLOCKS_PHYSICS    "physics"
#define CLOCKS_DRAW       "draw"

/// Faults that systems detect. "All rows" are the rows that existed in the tick that is read.
typedef enum clocks_fault {
    CLOCKS_TORN,       ///< A row mixes values of two ticks.
    CLOCKS_UNEQUAL,    ///< Rows of a pass, or both types of an owner, differ in tick.
    CLOCKS_BACKWARDS,  ///< A row has an earlier tick than when it was last seen.
    CLOCKS_FORGOTTEN,  ///< A row existed for two ticks of its owner without a write.
    CLOCKS_MOVED_ON,   ///< Two systems of a tick saw different ticks of a pipeline.
    CLOCKS_UNBALANCED, ///< Half of a transaction.
    CLOCKS_EVENT,      ///< An event is missing, duplicated or out of order.
    CLOCKS_ROLL,       ///< Counts by messages and by rows differ.
    CLOCKS_FAULTS      ///< Number of kinds.
} clocks_fault;

/// A deliberate fault in one tick, to be detected.
typedef enum clocks_plant {
    CLOCKS_PLANT_NONE = 0,
    CLOCKS_PLANT_HALF_ROWS,  ///< Physics skips every second row.
    CLOCKS_PLANT_HALF_TICK,  ///< The second system of physics does nothing.
    CLOCKS_PLANT_OLD_ROWS,   ///< Physics writes a tick number ten ticks too low.
    CLOCKS_PLANT_HALF_HEAT,  ///< Physics leaves a live value half written.
    CLOCKS_PLANT_HALF_LOGIC, ///< The second system of logic does nothing.
    CLOCKS_PLANT_HALF_KICK,  ///< A transaction lacks its second half.
    CLOCKS_PLANT_HALF_SCAR,  ///< Logic leaves an instance half written.
    CLOCKS_PLANT_EVENT,      ///< An event is not sent.
    CLOCKS_PLANTS            ///< Number of kinds.
} clocks_plant;

typedef struct clocks_desc {
    uint32_t size;       ///< Entities. Default 2000.
    double physics_hz;   ///< Default CLOCKS_PHYSICS_HZ.
    double draw_hz;      ///< Default: continuous.
    bool no_draw;        ///< Without draw. The simulation has the same results.
    clocks_plant plant;  ///< Default: none.
    uint64_t plant_tick; ///< Tick of the pipeline with the fault. Default 50.
    /// Called while values that are read in place are half written, so that a controlled scheduler
    /// can switch threads there. Default: none.
    void (*half)(void);
} clocks_desc;

/// A running scenario. Systems of the world count in it, so it must outlive the world.
typedef struct clocks {
    clocks_desc desc;
    struct clocks* self; ///< The settings of its systems.
    _Atomic uint64_t found[CLOCKS_FAULTS];
    /// Amount of work done, so that a test can check that there was something to detect: rows moved
    /// by physics; rows read by logic, by physics (of logic) and by draw; entities created;
    /// transactions; events sent, and received by physics and draw; values read in place: Heat by
    /// logic and draw, Scars by physics.
    _Atomic uint64_t moved, looked, probed, drawn, born, kicks, hits, heard, boomed, felt, ached;
} clocks;

/// Adds pipelines, types, entities and systems to an empty world. Returns false when a call was
/// refused.
bool clocks_build(clocks* c, orr_world* world, const clocks_desc* desc);
/// Number of all faults.
uint64_t clocks_faults(const clocks* c);
/// Name of a fault: "torn", and so on.
const char* clocks_fault_name(clocks_fault fault);

#endif
