// SPDX-License-Identifier: MIT
// A controlled scheduler: a platform table whose threads are fibers on one real thread. At every
// sched point the scheduler decides which fiber runs next. So a test runs a program under thousands
// of schedules, finds a schedule that breaks it, and can repeat that schedule.
//
// A model test:
//
//     typedef struct model { const orr_platform* platform; _Atomic uint32_t count; } model;
//
//     static void model_add(void* data)                    // The function of each thread.
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
//         model m = {.platform = platform};                // New in each schedule.
//         controlled_name(&m.count, "count");              // For the trace; optional.
//         orr_thread other = controlled_start(platform, "other", model_add, &m);
//         model_add(&m);
//         controlled_join(platform, other);
//         controlled_check(m.count == 2, "count is %u", m.count);
//     }
//     ORR_TEST(count_of_two_threads_is_two)
//     {
//         controlled_desc desc = {.name = "count", .body = model_body};
//         CONTROLLED_PASS(controlled_explore(&desc));      // Fails and prints the schedule.
//     }
//
// Schedules. A fiber runs from one sched point to the next without interruption; that is
// one step. A point precedes an access, so a step is one shared access and all private work after
// it. Code between points must therefore not read what other fibers change, except where any value
// is correct.
//
//   LOAD, STORE, WAIT, WAKE   Any fiber may run next. Switching to another fiber is a preemption.
//   SPIN                      Continues after another fiber passed a STORE point. Switching is no
//                             preemption. A spin that gives up after some rounds can also continue
//                             alone and give up ("spins out"): that is a choice too, made where the
//                             spin begins; inside it no choices are made up to the last round. More
//                             than `spins_max` rounds count as endless.
//   thread_wait               A futex: sleeps while `*word == expected`; an earlier wake is lost.
//                             If more fibers sleep than are to be woken, the woken one is a choice.
//   thread_yield              Switching is no preemption.
//   thread_join               Waits until the other returned. The body joins what it created.
//   clock_ns                  Advances by `clock_step_ns` per call, never by real time.
//   sleep_ns, timeouts        End when no other fiber can run; with `timeouts_max` also earlier, as
//                             a choice.
//
// Spins and yields are fair: at its second spin or yield a fiber first lets those run that could
// have run since the first one and did not. Otherwise two fibers could keep a third from running
// for ever.
//
// Failures that are found:
//
// - a controlled_check that fails
// - an assertion of the library
// - a deadlock: no fiber can run (lost wake-ups show as deadlocks)
// - a livelock (`steps_max`)
// - a body that returns before its threads
// - memory of the table that was not freed
// - a program that behaves differently under the same choices
//
// A schedule that fails is abandoned where it is: no fiber returns, and the memory allocated
// through the table is freed. Other resources stay open, so a body should own only such memory.
// Inside bodies use controlled_check, not CHECK, which would jump off the fiber's stack.
//
// Not modelled: orders weaker than sequential consistency (TSan and real threads test these), and
// code between points. Thread-local variables are one per process unless named by
// controlled_thread_local().
#ifndef ORR_CONTROLLED_H
#define ORR_CONTROLLED_H

#include "../test.h"

#include <orrery/platform.h>

enum {
    CONTROLLED_FIBERS_MAX = 32,
};
#define CONTROLLED_NO_PREEMPTION   UINT32_MAX // For preemptions_max, where 0 is the default.
#define CONTROLLED_CLOCK_STANDS    UINT64_MAX // For clock_step_ns: only sleeps advance the clock.
#define CONTROLLED_ANY_PREEMPTIONS (UINT32_MAX - 1) // For preemptions_max: all interleavings.

typedef enum controlled_strategy {
    CONTROLLED_DEPTH_FIRST =
        0,                 // Every schedule with at most preemptions_max preemptions, each once.
    CONTROLLED_PRIORITIES, // Random priorities that change at change_points; the highest runs.
    CONTROLLED_RANDOM,     // A random fiber at every point.
} controlled_strategy;

typedef struct controlled_desc {
    const char* name;                                      // Required.
    void (*body)(const orr_platform* platform, void* arg); // Runs as fiber 0. Required.
    void* arg;
    void (*check)(
        void* arg); // After each schedule, off the fibers; may controlled_check. Default: none.

    controlled_strategy strategy;
    uint32_t preemptions_max; // For DEPTH_FIRST. Default 2.
    uint64_t schedules_max;   // Default: all with DEPTH_FIRST, 10,000 with random strategies.
    uint64_t seed;            // For random strategies. Default test_seed().
    uint32_t change_points;   // For PRIORITIES. Default 3.
    const char* choices;      // Runs only this schedule; from controlled_result.choices.

    uint32_t spurious_max; // Spurious wake-ups per schedule. Default 0.
    uint32_t timeouts_max; // Timeouts per schedule that end while others could run. Default 0.
    uint32_t steps_max;    // Points per schedule before it counts as a livelock. Default 20,000.
    uint32_t spins_max;    // Rounds before a spin counts as endless. Default 1,000.
    bool no_spin_out;      // Spins continue alone only if no other fiber can run: fewer schedules.
    // thread_create returns EAGAIN beyond this number. Default and limit: CONTROLLED_FIBERS_MAX - 1.
    uint32_t threads_max;
    uint32_t cores;           // Result of thread_cores. Default 2.
    uint64_t clock_step_ns;   // Default 1,000.
    size_t stack_size;        // Default 256 KiB; four times that with ASan.
    const orr_platform* base; // The other entries. Default orr_platform_default().
    bool leaks_allowed;       // Memory left at the end is freed and is no failure.
} controlled_desc;

typedef enum controlled_outcome {
    CONTROLLED_PASSED = 0,
    CONTROLLED_CHECK_FAILED, // A check or an assertion.
    CONTROLLED_DEADLOCK,
    CONTROLLED_LIVELOCK,
    CONTROLLED_RETURNED_EARLY, // The body returned while threads were running.
    CONTROLLED_LEAK,
    CONTROLLED_DIVERGED, // The same choices led elsewhere, or the given choices do not fit.
} controlled_outcome;

// Texts stay valid until the next controlled_explore.
typedef struct controlled_result {
    controlled_outcome outcome;
    uint64_t schedules; // Schedules run, the failed one included.
    uint64_t distinct;  // Different ones; beyond four million, at least this many.
    uint64_t points;    // Sched points passed in all of them.
    bool exhausted;     // There are no other schedules within the bound.
    const char*
        failure; // The error, the place of each fiber, the trace, how to repeat. "" if passed.
    const char* choices; // Of the failed or last schedule, as text.
} controlled_result;

// False where fibers are not available; controlled_explore then skips the test.
bool controlled_available(void);

// Runs the body under one schedule after the other, until one fails. If the environment variable
// ORR_SCHEDULE is "NAME:CHOICES" and NAME is the desc's, only that schedule is run. Must not be
// called from several threads or from a body.
controlled_result controlled_explore(const controlled_desc* desc);

// ---- inside bodies ------------------------------------------------------------------------------

// Fails the schedule if the condition is false. A printf format and its arguments follow.
#define controlled_check(condition, ...) \
    ((condition) ? (void)0 : controlled_fail(__FILE__, __LINE__, #condition, __VA_ARGS__))
_Noreturn void controlled_fail(const char* file, int line, const char* condition,
                               const char* format, ...) ORR_PRINTF(4, 5);

// thread_create and thread_join of the table; the schedule fails if no thread can be created.
orr_thread controlled_start(const orr_platform* platform, const char* name, void (*run)(void* arg),
                            void* arg);
void controlled_join(const orr_platform* platform, orr_thread thread);

// Names a word in traces until the schedule ends. `name` must be a literal.
void controlled_name(const void* word, const char* name);
void controlled_name_at(const void* word, const char* name, uint32_t index); // name[index]
// The number of the running fiber: 0 is the body, others are numbered from 1 as created.
uint32_t controlled_self(void);
// Number of fibers that sleep on the word.
uint32_t controlled_sleepers(const void* word);

// Gives each fiber its own value of a thread-local variable, initially the current value. Valid for
// the whole process; call before controlled_explore. At most 8 variables of 64 bytes.
void controlled_thread_local(void* variable, size_t size);

// ---- for tests ----------------------------------------------------------------------------------

// Fails the test with the failure of a result.
#define CONTROLLED_PASS(result) controlled_pass(__FILE__, __LINE__, (result))
controlled_result controlled_pass(const char* file, int line, controlled_result result);

#endif
