// SPDX-License-Identifier: MIT
// A controlled scheduler: a platform table whose threads are fibers on the one real thread. At every sched
// point it decides who goes on, so a test runs a program under thousands of schedules, finds the one that
// breaks it, and can repeat that one at will.
//
// A model test:
//
//     typedef struct model { const orr_platform* platform; _Atomic uint32_t count; } model;
//
//     static void model_add(void* data)                    // What each thread does.
//     {
//         model* m = data;
//         ORRI_SCHED_POINT(m->platform, ORR_SCHED_LOAD, &m->count);
//         uint32_t count = atomic_load(&m->count);
//         ORRI_SCHED_POINT(m->platform, ORR_SCHED_STORE, &m->count);
//         atomic_store(&m->count, count + 1);
//     }
//     static void model_body(const orr_platform* platform, void* arg)
//     {
//         (void)arg;
//         model m = {.platform = platform};                // Everything anew in each schedule.
//         controlled_name(&m.count, "count");              // For the trace; may be left out.
//         orr_thread other = controlled_start(platform, "other", model_add, &m);
//         model_add(&m);
//         controlled_join(platform, other);
//         controlled_check(m.count == 2, "count is %u", m.count);
//     }
//     ORR_TEST(count_of_two_threads_is_two)
//     {
//         controlled_desc desc = {.name = "count", .body = model_body};
//         CONTROLLED_PASS(controlled_explore(&desc));      // Fails, prints the schedule and how to repeat it.
//     }
//
// What is a schedule. A fiber runs from one point to the next without a break; what it does in between is one
// step. A point stands before an access, so a step is one shared access and all private work after it. Code
// between points may therefore not look at what other fibers change, except where any answer is right.
//
//   LOAD, STORE, WAIT, WAKE   Who goes on is open. Going over to another fiber is a preemption.
//   SPIN                      Goes on after another fiber passed a STORE point. Going over is no preemption.
//                             A spin that gives up after some rounds can also go on alone and give up ("spins
//                             out"): that is a choice too, made where the spin begins; inside it no choices
//                             are made up to the last round. More than `spins_max` rounds are without end.
//   thread_wait               A futex: sleeps while `*word == expected`; a wake that comes before is lost. Which
//                             sleeper is woken, when more sleep than are to be woken, is a choice.
//   thread_yield              Going over is no preemption.
//   thread_join               Until the other returned. The body joins what it created.
//   clock_ns                  Goes on by `clock_step_ns` per reading, never by real time.
//   sleep_ns, timeouts        Pass when nobody else can go on; earlier too, as a choice, with `timeouts_max`.
//
// Spins and yields are fair: a fiber that came to the second one has to let those go first that could have run
// since the first one and did not. Otherwise two fibers could keep a third from running for ever.
//
// What is found: a controlled_check that does not hold; an assertion of the library; a deadlock (nobody can go
// on: lost wake-ups become this); a livelock (`steps_max`); a body that returns before its threads; memory of
// the table not given back; a program that does not do the same when it meets the same choices.
// A schedule that fails is dropped where it stands: no fiber returns from where it is, and the memory taken
// through the table is freed. Whatever else was opened stays open, so a body owns nothing but such memory.
// Inside bodies use controlled_check, not CHECK, which would jump off the fiber's stack.
//
// What is not modelled: orders weaker than sequential consistency (TSan and real threads look for these), and
// code between points. Thread-local variables are one per process unless named by controlled_thread_local().
#ifndef ORR_CONTROLLED_H
#define ORR_CONTROLLED_H

#include "../test.h"

#include <orrery/platform.h>

enum {
    CONTROLLED_FIBERS_MAX = 32,
};
#define CONTROLLED_NO_PREEMPTION   UINT32_MAX // For preemptions_max, where 0 is the default.
#define CONTROLLED_CLOCK_STANDS    UINT64_MAX // For clock_step_ns: only sleeps and timeouts move it.
#define CONTROLLED_ANY_PREEMPTIONS (UINT32_MAX - 1) // For preemptions_max: all interleavings.

typedef enum controlled_strategy {
    CONTROLLED_DEPTH_FIRST =
        0,                 // Every schedule with at most preemptions_max preemptions, each once.
    CONTROLLED_PRIORITIES, // Random priorities with change_points falls; the highest that can run, runs.
    CONTROLLED_RANDOM, // A coin at every point.
} controlled_strategy;

typedef struct controlled_desc {
    const char* name;                                      // Required.
    void (*body)(const orr_platform* platform, void* arg); // Runs as fiber 0. Required.
    void* arg;
    void (*check)(
        void* arg); // After each schedule, off the fibers; may controlled_check. Default: none.

    controlled_strategy strategy;
    uint32_t preemptions_max; // Of DEPTH_FIRST. Default 2.
    uint64_t schedules_max;   // Default: to the end with DEPTH_FIRST, 10,000 with the random ones.
    uint64_t seed;            // Of the random ones. Default test_seed().
    uint32_t change_points;   // Of PRIORITIES. Default 3.
    const char* choices;      // Runs this one schedule: what controlled_result.choices gave.

    uint32_t spurious_max; // Sleepers that wake for no reason, per schedule. Default 0.
    uint32_t timeouts_max; // Timeouts that pass while others could go on, per schedule. Default 0.
    uint32_t steps_max;    // Points per schedule before it counts as a livelock. Default 20,000.
    uint32_t spins_max;    // Rounds before a spin counts as one without end. Default 1,000.
    bool
        no_spin_out; // Spins go on alone only when nobody else can: fewer schedules where none gives up.
    uint32_t
        threads_max; // thread_create says EAGAIN beyond. Default CONTROLLED_FIBERS_MAX - 1, the most.
    uint32_t cores;           // What thread_cores says. Default 2.
    uint64_t clock_step_ns;   // Default 1,000.
    size_t stack_size;        // Default 256 KiB; four times that with ASan.
    const orr_platform* base; // The entries not replaced. Default orr_platform_default().
    bool leaks_allowed;       // Memory of the table left at the end is freed and no failure.
} controlled_desc;

typedef enum controlled_outcome {
    CONTROLLED_PASSED = 0,
    CONTROLLED_CHECK_FAILED, // A check or an assertion.
    CONTROLLED_DEADLOCK,
    CONTROLLED_LIVELOCK,
    CONTROLLED_RETURNED_EARLY, // The body returned while threads were running.
    CONTROLLED_LEAK,
    CONTROLLED_DIVERGED, // The same choices led elsewhere, or choices given do not fit the program.
} controlled_outcome;

// Texts stay until the next controlled_explore.
typedef struct controlled_result {
    controlled_outcome outcome;
    uint64_t schedules; // Run, the failed one included.
    uint64_t distinct;  // Different ones among them; at least this many, beyond four million.
    uint64_t points;    // Passed in all of them.
    bool exhausted;     // There are no others within the bound.
    const char*
        failure; // What went wrong, where each fiber stands, the trace, how to repeat. "" if passed.
    const char* choices; // Of the failed or last schedule, as text.
} controlled_result;

// False where fibers cannot be had; controlled_explore then ends the test as skipped.
bool controlled_available(void);

// Runs the body under one schedule after the other, to the first that fails. If the variable ORR_SCHEDULE is
// "NAME:CHOICES" and NAME is the desc's, only that schedule is run. Not from several threads, not inside itself.
controlled_result controlled_explore(const controlled_desc* desc);

// ---- inside bodies ------------------------------------------------------------------------------

// Fails the schedule. A message of printf's kind follows the condition.
#define controlled_check(condition, ...) \
    ((condition) ? (void)0 : controlled_fail(__FILE__, __LINE__, #condition, __VA_ARGS__))
_Noreturn void controlled_fail(const char* file, int line, const char* condition,
                               const char* format, ...) ORR_PRINTF(4, 5);

// thread_create and thread_join of the table; a thread that cannot be had fails the schedule.
orr_thread controlled_start(const orr_platform* platform, const char* name, void (*run)(void* arg),
                            void* arg);
void controlled_join(const orr_platform* platform, orr_thread thread);

// Names a word in traces until the schedule ends. `name` must be a literal.
void controlled_name(const void* word, const char* name);
void controlled_name_at(const void* word, const char* name, uint32_t index); // name[index]
// Which fiber runs: 0 is the body, others count from 1 as they are created.
uint32_t controlled_self(void);
// How many fibers sleep on the word.
uint32_t controlled_sleepers(const void* word);

// Gives each fiber its own value of a thread-local variable, at first what it is now. For the whole process;
// call before controlled_explore. At most 8 variables of 64 bytes.
void controlled_thread_local(void* variable, size_t size);

// ---- for tests ----------------------------------------------------------------------------------

// Fails the test with the failure of a result.
#define CONTROLLED_PASS(result) controlled_pass(__FILE__, __LINE__, (result))
controlled_result controlled_pass(const char* file, int line, controlled_result result);

#endif
