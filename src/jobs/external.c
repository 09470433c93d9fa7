// SPDX-License-Identifier: MIT
// Calls on threads of the program's own. A program may call more often than it promised, or when the crew is long gone, so
// help() is not given the address of a crew but the number of a desk, and how often that desk changed hands: who comes with an
// old number is sent away, and finds nothing that was freed, since desks are never freed.
#include "base/float.h"
#include "jobs/jobs_detail.h"

#define EXTERNAL_DESK_BITS \
    10 // Crews at a time, of the whole process; beyond, the caller works alone.

// The word of a desk: how often it changed hands << 32 | EXTERNAL_AWAITED | calls inside | calls promised that have not come.
#define EXTERNAL_DUE ((uint64_t)0xFF)
#define EXTERNAL_IN \
    ((uint64_t)1 << 8) // Counts; also calls that nobody asked for, which are gone again soon.
#define EXTERNAL_AWAITED \
    ((uint64_t)1 << 31) // The crew ends and waits for the last call inside to return.
#define EXTERNAL_HANDS ((uint64_t)1 << 32) // Counts.

// A program that never calls is told so after so many runs and so long: its threads may be busy, or begin late.
#define EXTERNAL_RUNS   64u
#define EXTERNAL_AGE_NS UINT64_C(1000000000)

struct orri_external_calls {
    _Alignas(ORRI_JOBS_LINE) _Atomic uint64_t word;
    _Atomic uint32_t bell; // Rung by the last that leaves, if it is awaited.
    _Atomic uint32_t taken;
    orri_jobs* jobs; // Whose it is; only for who is inside.
};

static orri_external_calls help_desks[1u << EXTERNAL_DESK_BITS];

// ---- numbers --------------------------------------------------------------------------------------------------------

// Never NULL: some programs take that for no argument.
static void* external_arg(const orri_external_calls* desk, uint64_t word)
{
    uintptr_t hands = (uintptr_t)(word / EXTERNAL_HANDS);
    return (void*)(hands << EXTERNAL_DESK_BITS | (uintptr_t)(desk - help_desks));
}

static orri_external_calls* external_desk_of(const void* arg)
{
    return &help_desks[(uintptr_t)arg & (((uintptr_t)1 << EXTERNAL_DESK_BITS) - 1)];
}

static uint32_t external_due(uint64_t word)
{
    return (uint32_t)(word & EXTERNAL_DUE);
}

static uint32_t external_in(uint64_t word)
{
    return (uint32_t)((word & (EXTERNAL_AWAITED - 1)) / EXTERNAL_IN);
}

// A worker number that nobody has; 0, the caller's, if there is none.
static uint32_t external_number_take(orri_jobs* jobs)
{
    uint64_t free = orri_jobs_load(jobs, &jobs->numbers);
    while (free != 0) {
        uint32_t number = (uint32_t)__builtin_ctzll(free);
        if (orri_jobs_swap(jobs, &jobs->numbers, &free, free & (free - 1))) {
            return number;
        }
    }
    return 0;
}

// ---- a call ---------------------------------------------------------------------------------------------------------

// False: the crew is gone. Without a sched point, for which the crew would have to be there.
static bool external_enter(orri_external_calls* desk, const void* arg, bool* asked)
{
    uint64_t word = atomic_load(&desk->word);
    do {
        if (external_arg(desk, word) != arg) {
            return false;
        }
        *asked = external_due(word) > 0;
    } while (!atomic_compare_exchange_weak(&desk->word, &word, word + EXTERNAL_IN - *asked));
    return true;
}

// When the last call was counted the crew may be gone, so only the desk is used after that.
static void external_leave(orri_external_calls* desk)
{
    const orr_platform* platform = desk->jobs->platform;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &desk->word);
    uint64_t before = atomic_fetch_sub(&desk->word, EXTERNAL_IN);
    if ((before & EXTERNAL_AWAITED) != 0 && external_in(before) == 1) {
        atomic_fetch_add(&desk->bell, 1);
        ORRI_SCHED_POINT(platform, ORR_SCHED_WAKE, &desk->bell);
        platform->thread_wake(platform->user, &desk->bell, 1);
    }
}

static void external_work(orri_jobs* jobs)
{
    if (orri_jobs_peek(&jobs->came) == 0) {
        orri_jobs_put(&jobs->came, 1);
    }
    uint32_t number = external_number_take(jobs);
    if (number != 0) {
        orri_float_mode mode = orri_float_mode_set();
        orri_jobs_serve(&jobs->members[number], true);
        orri_float_mode_restore(mode);
        orri_jobs_on(jobs, &jobs->numbers, orri_jobs_bit(number));
    }
}

static void external_call(void* arg)
{
    orri_external_calls* desk = external_desk_of(arg);
    bool asked;
    if (!external_enter(desk, arg, &asked)) {
        return;
    }
    if (asked) {
        external_work(desk->jobs);
    } else if (atomic_exchange(&desk->jobs->unasked, 1) == 0) {
        orri_log(
            desk->jobs->env, ORR_LOG_ID_HELP_UNASKED,
            "the pool of the program calls help() more often than its start() was asked for or "
            "promised; such calls return at once. Call it as often as start() returns");
    }
    external_leave(desk);
}

// ---- asking for calls -----------------------------------------------------------------------------------------------

// Only said: a run ends without them, and has the same results.
static void external_missed(orri_jobs* jobs)
{
    if (orri_jobs_peek(&jobs->came) != 0) {
        jobs->hopes = false;
        return;
    }
    uint64_t now_ns = jobs->platform->clock_ns(jobs->platform->user);
    jobs->hoped_ns = jobs->hoped_runs == 0 ? now_ns : jobs->hoped_ns;
    if (++jobs->hoped_runs >= EXTERNAL_RUNS && now_ns - jobs->hoped_ns >= EXTERNAL_AGE_NS) {
        jobs->hopes = false;
        orri_log(jobs->env, ORR_LOG_ID_HELP_MISSING,
                 "the pool of the program was asked for help in %u runs, promised %u calls and has "
                 "made none: the calling thread works alone. Its start() has to see that help(arg) "
                 "is called on other threads, and return how often; without a pool the world makes "
                 "threads itself",
                 (unsigned)jobs->hoped_runs,
                 (unsigned)external_due(atomic_load(&jobs->desk->word)));
    }
}

// Calls that were not promised after all. If they came nevertheless, there is nothing to take back.
static void external_take_back(const orri_jobs* jobs, uint32_t count)
{
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, &jobs->desk->word);
    uint64_t word = atomic_load(&jobs->desk->word), less;
    do {
        less = external_due(word) < count ? external_due(word) : count;
    } while (!atomic_compare_exchange_weak(&jobs->desk->word, &word, word - less));
}

// Calls that are late from an earlier run are as good as new ones, so never more are under way than there are numbers.
void orri_jobs_invite(orri_jobs* jobs)
{
    orri_external_calls* desk = jobs->desk;
    if (ORR_UNLIKELY(jobs->hopes)) {
        external_missed(jobs);
    }
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_LOAD, &desk->word);
    uint64_t word = atomic_load(&desk->word);
    uint32_t owed = external_due(word) + external_in(word), most = jobs->workers - 1;
    if (owed >= most) {
        return;
    }
    uint32_t count = most - owed;
    ORRI_SCHED_POINT(jobs->platform, ORR_SCHED_STORE, &desk->word);
    atomic_fetch_add(&desk->word, count);
    uint32_t come = jobs->own.start(jobs->own.user, count, external_call, external_arg(desk, word));
    if (come < count) {
        external_take_back(jobs, count - come);
    }
}

// ---- beginning and end ----------------------------------------------------------------------------------------------

bool orri_jobs_external_begin(orri_jobs* jobs)
{
    for (uint32_t i = 0; i < (1u << EXTERNAL_DESK_BITS); i++) {
        orri_external_calls* desk = &help_desks[i];
        if (atomic_load(&desk->taken) == 0 && atomic_exchange(&desk->taken, 1) == 0) {
            desk->jobs = jobs;
            atomic_fetch_add(&desk->word, EXTERNAL_HANDS);
            jobs->desk = desk;
            jobs->hopes = true;
            return true;
        }
    }
    return false;
}

// Calls that are inside return soon, since no run is on. Those that have not come are not waited for: the pool may be shared with
// somebody who waits for us, or may have forgotten them.
void orri_jobs_external_end(orri_jobs* jobs)
{
    orri_external_calls* desk = jobs->desk;
    const orr_platform* platform = jobs->platform;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &desk->word);
    atomic_fetch_or(&desk->word, EXTERNAL_AWAITED);
    for (;;) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &desk->bell);
        uint32_t bell = atomic_load(&desk->bell);
        ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &desk->word);
        uint64_t word = atomic_load(&desk->word);
        if (external_in(word) > 0) {
            ORRI_SCHED_POINT(platform, ORR_SCHED_WAIT, &desk->bell);
            platform->thread_wait(platform->user, &desk->bell, bell, UINT64_MAX);
        } else if (atomic_compare_exchange_strong(&desk->word, &word,
                                                  (word / EXTERNAL_HANDS + 1) * EXTERNAL_HANDS)) {
            break; // From here on who has this number is sent away.
        }
    }
    desk->jobs = NULL;
    atomic_store(&desk->taken, 0);
}

#undef EXTERNAL_DESK_BITS
#undef EXTERNAL_DUE
#undef EXTERNAL_IN
#undef EXTERNAL_AWAITED
#undef EXTERNAL_HANDS
#undef EXTERNAL_RUNS
#undef EXTERNAL_AGE_NS
