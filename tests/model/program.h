// SPDX-License-Identifier: MIT
// Random programs over the public API. A program is made from one seed (program.c): pipelines,
// systems, and steps that a caller makes between ticks. It runs in several ways (program_run.c):
// with other numbers of workers, with travels back in time, with refused memory, recorded and
// replayed. Every way must reach the same hashes, and copies of the world that readers build from
// messages (program_mirror.c) must equal the world.
//
// Systems (program_systems.c) and steps (program_steps.c) depend on the world and on their own
// numbers alone. So a step can be left out, and the rest is still a program: a failed program is
// reduced that way before it is printed.
#ifndef TEST_PROGRAM_H
#define TEST_PROGRAM_H

#include "model/program_types.h"
#include "support/store_kit.h"

#include <stdatomic.h>

// WASI has no setjmp: there a program that fails ends the process.
#ifdef __wasi__
typedef int jmp_buf[1];
#define setjmp(buffer)     ((void)(buffer), 0)
#define longjmp(buffer, n) ((void)(buffer), exit(n))
#else
#include <setjmp.h>
#endif

// ---- what programs do not do --------------------------------------------------------------------

enum {
    // Playback of an entity omits a step without memory, and tries again in the next tick. Programs
    // with playback refuse no memory during ticks.
    PROGRAM_REFUSE_IN_PLAYBACK = 0,
};

// ---- programs -----------------------------------------------------------------------------------

enum {
    PROGRAM_PIPELINES_MAX = 4, // Including "main" and a spectator.
    PROGRAM_SYSTEMS_MAX = 24,
    PROGRAM_STEPS_MAX = 96,
    PROGRAM_SLOTS = 3 // Ticks that a program remembers by name.
};

typedef enum program_kind {
#define PROGRAM_KINDS(X)                                                                         \
    X(MOVE, move)         /* parallel: writes Spot */                                            \
    X(BURN, burn)         /* writes Fuel, reads Spot, which another pipeline may own */          \
    X(STIR, stir)         /* sends every kind of change about its rows */                        \
    X(ORBS, orbs)         /* multiple: writes, adds and removes instances */                     \
    X(ROOTS, roots)       /* pinned values */                                                    \
    X(SCRIBE, scribe)     /* once: owned strings and arrays */                                   \
    X(PING, ping)         /* sends events */                                                     \
    X(PONG, pong)         /* once: receives events, writes by id */                              \
    X(TRADE, trade)       /* parallel: transactions on other entities */                         \
    X(SUM, sum)           /* parallel: an export that is combined */                             \
    X(WIND, wind)         /* imports; writes the singleton */                                    \
    X(KINSHIP, kinship)   /* sends indexed references */                                         \
    X(ORDER, order)       /* alone: loops over an ordered query */                               \
    X(CHANGED, changed)   /* a `changed` term, and state */                                      \
    X(ECHO, echo)         /* indirect: receives messages and events, sends changes, has state */ \
    X(LEDGER, ledger)     /* indirect: a mirror in its state, which takes messages lazily */     \
    X(GIVE, give)         /* impure */                                                           \
    X(TOGGLE, toggle)     /* enables and disables another system */                              \
    X(TRESPASS, trespass) /* undeclared accesses and sends, which are refused */                 \
    X(GLOW, glow)         /* spectator: transient components and entities */                     \
    X(SPY, spy)           /* spectator: a mirror outside of the state */                         \
    X(WATCH, watch)       /* a mirror outside of the state, at the end of the first pipeline */  \
    X(MINE, mine)         /* parallel: atomic sections on other entities */                      \
    X(DIG, dig)           /* atomic sections on instances */                                     \
    X(PAINT, paint)       /* parallel: overwrites Glaze, accesses its own rows alone */          \
    X(STRETCH, stretch)   /* playback of slots of entities */
#define X(upper, lower) PROGRAM_##upper,
    PROGRAM_KINDS(X)
#undef X
    PROGRAM_KIND_COUNT
} program_kind;

typedef struct program_pipeline {
    char name[16];
    double rate_hz; // 0: continuous.
    bool spectator;
} program_pipeline;

typedef struct program_system {
    program_kind kind;
    char name[24];
    uint32_t pipeline;
    uint64_t salt;
    uint32_t every;
    uint32_t types;       // Of STRETCH: types that it may change, see program_time_types(). 0: all.
    bool parallel, later; // `later`: added by a step, not at the beginning.
    const char* group;
} program_system;

typedef enum program_op {
#define PROGRAM_OPS(X)              \
    X(TICK, tick)                   \
    X(UPDATE, update)               \
    X(CREATE, create)               \
    X(BUNDLE, bundle)               \
    X(MANY, many)                   \
    X(COPY, copy)                   \
    X(SET, set)                     \
    X(REMOVE, remove)               \
    X(TAG, tag)                     \
    X(SWITCH, switch)               \
    X(NAME, name)                   \
    X(DESTROY, destroy)             \
    X(ORB, orb)                     \
    X(BULK, bulk)                   \
    X(WRITE, write)                 \
    X(SINGLE, singleton)            \
    X(CULL, cull)                   \
    X(TRANSIENT, transient)         \
    X(WRONG, wrong)                 \
    X(SYSTEM_ADD, system_add)       \
    X(SYSTEM_REMOVE, system_remove) \
    X(SYSTEM_ENABLE, system_enable) \
    X(GROUP_ENABLE, group_enable)   \
    X(SLOT, slot)                   \
    X(RETURN, return )              \
    X(AHEAD, ahead)                 \
    X(STRETCH, stretch)             \
    X(REMEMBER, remember)           \
    X(FORGET, forget)               \
    X(BACK, back)                   \
    X(GLANCE, glance)
#define X(upper, lower) PROGRAM_OP_##upper,
    PROGRAM_OPS(X)
#undef X
    PROGRAM_OP_COUNT
} program_op;

typedef struct program_step {
    program_op op;
    uint32_t number; // Ticks, a system, a slot.
    uint64_t dice;
} program_step;

typedef struct program {
    uint64_t seed;
    bool posted; // Changes are posted calls, so that the run can be recorded.
    // Without systems and steps that were added to the generator after the hashes of
    // test_golden_programs.c were taken.
    bool golden;
    double rate_hz;
    uint32_t pipeline_count, system_count, step_count;
    program_pipeline pipelines[PROGRAM_PIPELINES_MAX];
    program_system systems[PROGRAM_SYSTEMS_MAX];
    program_step steps[PROGRAM_STEPS_MAX];
} program;

void program_make(program* p, uint64_t seed);
void program_make_golden(program* p, uint64_t seed);
void program_print(const program* p);
const char* program_op_name(program_op op);

// ---- runs ---------------------------------------------------------------------------------------

typedef struct program_mirror program_mirror;
typedef struct program_run program_run;

typedef struct program_settings { // orr_system_desc.settings of a program's system.
    const program_system* system;
    orr_query* ordered;
    const program* program;
} program_settings;

// Faults that systems found, on any thread.
extern _Atomic uint32_t program_faults;
// Sends that were refused for lack of memory twice: the run cannot be compared with others.
extern _Atomic uint32_t program_missing;
extern char program_fault_text[256];
void program_fault(const char* format, ...) ORR_PRINTF(1, 2);

// How a program runs.
typedef struct program_way {
    const char* name;
    uint32_t workers;
    bool wander; // Remembers and goes back. Otherwise these steps are left out.
    bool refuse; // Allocations fail.
    bool window; // Remembers every tick automatically.
    bool record; // Into program_run.recording.
    bool no_spectators;
    bool watched; // The journal is on, and all accesses are checked.
} program_way;

struct program_run {
    const program* p;
    program_way way;
    kit k;
    orr_world* world;
    orr_query* all;
    orr_bundle bundle;
    program_settings settings[PROGRAM_SYSTEMS_MAX];
    program_mirror* mirrors[2]; // Of PROGRAM_WATCH and PROGRAM_SPY.
    uint32_t gifts;             // Calls of the impure system.
    orr_recording* recording;
    uint32_t at;       // Step.
    uint64_t refusals; // Calls that were refused for lack of memory and repeated.
    uint64_t allocations_drawn;
    uint64_t armed_hash; // When program_arm() was called; 0: not known.
    bool refuses_tick;   // A tick runs that is continued when memory is refused.
    struct {
        bool there;
        uint32_t step;
        uint64_t tick;
    } slots[PROGRAM_SLOTS];
    bool gone[PROGRAM_STEPS_MAX]; // Steps that went back already.
    bool threads;                 // The world runs in real time: calls are made on its threads.
    void (*died)(program_run* r); // With `threads`: ends the process after a failure.
    jmp_buf* failed;
    char* failure; // [1024]
};

// Ends a run as failed; the text says why. In real time it calls `died`, which ends the process,
// because the thread may be one of the world's.
_Noreturn void program_fail(program_run* r, const char* format, ...) ORR_PRINTF(2, 3);

#define PROGRAM_CHECK(r, condition, ...)  \
    do {                                  \
        if (!(condition)) {               \
            program_fail(r, __VA_ARGS__); \
        }                                 \
    } while (0)

// Makes a call that returns an orr_result. If it is refused for lack of memory, it had no effect, and
// is made again: the arguments must not have side effects.
#define PROGRAM_CALL(r, result, call)                           \
    do {                                                        \
        program_arm(r);                                         \
        (result) = (call);                                      \
        if (program_refused(r) && (result) == ORR_ERR_MEMORY) { \
            program_unchanged(r, #call);                        \
            (result) = (call);                                  \
        }                                                       \
    } while (0)
// Refuses one of the next allocations, if the way asks for it.
void program_arm(program_run* r);
// The same, for a tick.
void program_arm_tick(program_run* r);
// @return true if an allocation was refused since program_arm(). No allocation fails after it.
bool program_refused(program_run* r);
// Checks that the world is as it was when program_arm() was called.
void program_unchanged(program_run* r, const char* call);

// True when the ticks of a call ran to their end. Its result may be any mistake that systems made on
// purpose.
bool program_ran(const program_run* r, orr_result result);
// The world of a program, before its first step.
void program_begin(program_run* r, const program* p, const program_way* way);
void program_end(program_run* r);
// Compares the mirrors that have received everything: after a tick of the first pipeline.
void program_compare(program_run* r);
// Runs some ticks in which nothing changes, and compares all mirrors with the world.
void program_rest(program_run* r);
// Writes a recording to a file and reads it again.
void program_save_and_load(program_run* r, orr_recording* recording);

// program_systems.c
bool program_system_add(program_run* r, uint32_t number);
void program_systems_prepare(program_run* r); // Types, and queries that systems use.
// program_steps.c
void program_steps_prepare(program_run* r);
bool program_group_exists(const program_run* r, const char* group);
void program_change(orr_world* world, void* data, size_t size); // An orr_call with a program_step.
void program_step_change(program_run* r, const program_step* step);
void program_step_wrong(program_run* r, const program_step* step);
extern program_run* program_current;                   // For calls from the world.
orr_entity program_pick(program_run* r, orr_rng* rng); // Null if there is none.
void program_set(program_run* r, orr_rng* rng, orr_entity entity);
void program_switch(program_run* r, orr_rng* rng, orr_entity entity);
void program_orb(program_run* r, orr_rng* rng, orr_entity entity);
// program_time.c: the time of single entities.
void program_time_prepare(program_run* r);
void program_step_time(program_run* r, const program_step* step);
// Types that a STRETCH system of a program may change, as text.
const char* program_time_types(const program_system* s, char* out, size_t out_size);
// The kind of system that owns the n-th of these types; PROGRAM_KIND_COUNT: none. At most 32 types.
program_kind program_time_owner(uint32_t n);
uint32_t program_time_type_count(void);
// program_mirror.c
program_mirror* program_mirror_make(orr_world* world, bool golden);
void program_mirror_free(program_mirror* m);
void program_mirror_receive(orr_run* run);
void program_mirror_start(orr_run* run);
void program_mirror_compare(program_run* r, program_mirror* m, const char* name);
void program_ledger_receive(orr_run* run);
void program_ledger_start(orr_run* run);
// Compares a ledger that has taken all messages. @return false if it has not.
bool program_ledger_compare(program_run* r, orr_system system);

typedef struct program_result {
    bool failed;
    char text[1024]; // Why it failed.
    uint64_t reason; // Equal for failures of the same check.
    uint64_t hash;   // Of all hashes of the straight run.
    uint64_t refusals, travels, replays, ticks;
} program_result;

// Hashes and ticks of the world after each step of the straight run.
typedef struct program_track {
    uint64_t hashes[PROGRAM_STEPS_MAX], ticks[PROGRAM_STEPS_MAX];
} program_track;

// program_run.c. Checks the world after a step: it is valid, and has the hash of the straight run.
// `first`: this is the straight run.
void program_check(program_run* r, program_track* track, bool first);
void program_run_steps(program_run* r, program_track* track, bool first, program_result* out);
// The steps from `step_from` on.
void program_run_from(program_run* r, uint32_t step_from, program_track* track, bool first,
                      program_result* out);
// Of the last failure: equal for failures of the same check.
extern uint64_t program_reason;

// ---- checking a program in all ways -------------------------------------------------------------

// Runs a program in `ways` of the ways that it allows (0: all).
void program_verify(const program* p, uint32_t ways, program_result* out);
// program_replay.c. A recorded run, its replay, and a replay that is cut in the middle and continued.
void program_verify_recorded(const program* p, const program_way* way, program_track* track,
                             program_result* out, jmp_buf* failed);
// A run of one way, from its first step to rest.
void program_verify_way(program_run* r, const program* p, const program_way* way,
                        program_track* track, bool first, program_result* out);

// Runs a program in the way that failed: sets `out`.
typedef void program_trial(const program* p, program_result* out);
// Drops steps and systems without which the program still fails for the same reason. Runs at most
// `trials` smaller programs.
void program_reduce(program* p, program_result* result, program_trial* trial, uint32_t trials);

// True while a test has programs to run: until `count` are done or, if the environment sets
// ORR_PROGRAM_SECONDS, until these seconds have passed since `start_ns`. Prints the seed.
bool program_next(uint32_t done, uint32_t count, uint64_t seed, uint64_t start_ns);
uint64_t program_clock(void);

#endif
