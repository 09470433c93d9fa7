// SPDX-License-Identifier: MIT
// Calls on threads of the program's own. A program may call more often than it promised, or when the crew is long gone, so
// help() is not given the address of a crew but the number of a desk, and how often that desk changed hands: who comes with an
// old number is sent away, and finds nothing that was freed, since desks are never freed.
#include "base/float.h"
#include "schedule/crew_inner.h"

#define HELP_DESK_BITS 10 // Crews at a time, of the whole process; beyond, the caller works alone.

// The word of a desk: how often it changed hands << 32 | HELP_AWAITED | calls inside | calls promised that have not come.
#define HELP_DUE ((uint64_t)0xFF)
#define HELP_IN \
    ((uint64_t)1 << 8) // Counts; also calls that nobody asked for, which are gone again soon.
#define HELP_AWAITED \
    ((uint64_t)1 << 31) // The crew ends and waits for the last call inside to return.
#define HELP_HANDS ((uint64_t)1 << 32) // Counts.

// A program that never calls is told so after so many runs and so long: its threads may be busy, or begin late.
#define HELP_RUNS   64u
#define HELP_AGE_NS UINT64_C(1000000000)

struct orri_help_desk {
    _Alignas(ORRI_CREW_LINE) _Atomic uint64_t word;
    _Atomic uint32_t bell; // Rung by the last that leaves, if it is awaited.
    _Atomic uint32_t taken;
    orri_crew* crew; // Whose it is; only for who is inside.
};

static orri_help_desk help_desks[1u << HELP_DESK_BITS];

// ---- numbers --------------------------------------------------------------------------------------------------------

// Never NULL: some programs take that for no argument.
static void* help_arg(const orri_help_desk* desk, uint64_t word)
{
    uintptr_t hands = (uintptr_t)(word / HELP_HANDS);
    return (void*)(hands << HELP_DESK_BITS | (uintptr_t)(desk - help_desks));
}

static orri_help_desk* help_desk_of(const void* arg)
{
    return &help_desks[(uintptr_t)arg & (((uintptr_t)1 << HELP_DESK_BITS) - 1)];
}

static uint32_t help_due(uint64_t word)
{
    return (uint32_t)(word & HELP_DUE);
}

static uint32_t help_in(uint64_t word)
{
    return (uint32_t)((word & (HELP_AWAITED - 1)) / HELP_IN);
}

// A worker number that nobody has; 0, the caller's, if there is none.
static uint32_t help_number_take(orri_crew* crew)
{
    uint64_t free = orri_crew_load(crew, &crew->numbers);
    while (free != 0) {
        uint32_t number = (uint32_t)__builtin_ctzll(free);
        if (orri_crew_swap(crew, &crew->numbers, &free, free & (free - 1))) {
            return number;
        }
    }
    return 0;
}

// ---- a call ---------------------------------------------------------------------------------------------------------

// False: the crew is gone. Without a sched point, for which the crew would have to be there.
static bool help_enter(orri_help_desk* desk, const void* arg, bool* asked)
{
    uint64_t word = atomic_load(&desk->word);
    do {
        if (help_arg(desk, word) != arg) {
            return false;
        }
        *asked = help_due(word) > 0;
    } while (!atomic_compare_exchange_weak(&desk->word, &word, word + HELP_IN - *asked));
    return true;
}

// When the last call was counted the crew may be gone, so only the desk is used after that.
static void help_leave(orri_help_desk* desk)
{
    const orr_platform* platform = desk->crew->platform;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &desk->word);
    uint64_t before = atomic_fetch_sub(&desk->word, HELP_IN);
    if ((before & HELP_AWAITED) != 0 && help_in(before) == 1) {
        atomic_fetch_add(&desk->bell, 1);
        ORRI_SCHED_POINT(platform, ORR_SCHED_WAKE, &desk->bell);
        platform->thread_wake(platform->user, &desk->bell, 1);
    }
}

static void help_work(orri_crew* crew)
{
    if (orri_crew_peek(&crew->came) == 0) {
        orri_crew_put(&crew->came, 1);
    }
    uint32_t number = help_number_take(crew);
    if (number != 0) {
        orri_float_mode mode = orri_float_mode_set();
        orri_crew_serve(&crew->members[number], true);
        orri_float_mode_restore(mode);
        orri_crew_on(crew, &crew->numbers, orri_crew_bit(number));
    }
}

static void help_call(void* arg)
{
    orri_help_desk* desk = help_desk_of(arg);
    bool asked;
    if (!help_enter(desk, arg, &asked)) {
        return;
    }
    if (asked) {
        help_work(desk->crew);
    } else if (atomic_exchange(&desk->crew->unasked, 1) == 0) {
        orri_log(
            desk->crew->env, ORR_LOG_ID_HELP_UNASKED,
            "the pool of the program calls help() more often than its start() was asked for or "
            "promised; such calls return at once. Call it as often as start() returns");
    }
    help_leave(desk);
}

// ---- asking for calls -----------------------------------------------------------------------------------------------

// Only said: a run ends without them, and has the same results.
static void help_missed(orri_crew* crew)
{
    if (orri_crew_peek(&crew->came) != 0) {
        crew->hopes = false;
        return;
    }
    uint64_t now_ns = crew->platform->clock_ns(crew->platform->user);
    crew->hoped_ns = crew->hoped_runs == 0 ? now_ns : crew->hoped_ns;
    if (++crew->hoped_runs >= HELP_RUNS && now_ns - crew->hoped_ns >= HELP_AGE_NS) {
        crew->hopes = false;
        orri_log(crew->env, ORR_LOG_ID_HELP_MISSING,
                 "the pool of the program was asked for help in %u runs, promised %u calls and has "
                 "made none: the calling thread works alone. Its start() has to see that help(arg) "
                 "is called on other threads, and return how often; without a pool the world makes "
                 "threads itself",
                 (unsigned)crew->hoped_runs, (unsigned)help_due(atomic_load(&crew->desk->word)));
    }
}

// Calls that were not promised after all. If they came nevertheless, there is nothing to take back.
static void help_take_back(const orri_crew* crew, uint32_t count)
{
    ORRI_SCHED_POINT(crew->platform, ORR_SCHED_STORE, &crew->desk->word);
    uint64_t word = atomic_load(&crew->desk->word), less;
    do {
        less = help_due(word) < count ? help_due(word) : count;
    } while (!atomic_compare_exchange_weak(&crew->desk->word, &word, word - less));
}

// Calls that are late from an earlier run are as good as new ones, so never more are under way than there are numbers.
void orri_crew_invite(orri_crew* crew)
{
    orri_help_desk* desk = crew->desk;
    if (ORR_UNLIKELY(crew->hopes)) {
        help_missed(crew);
    }
    ORRI_SCHED_POINT(crew->platform, ORR_SCHED_LOAD, &desk->word);
    uint64_t word = atomic_load(&desk->word);
    uint32_t owed = help_due(word) + help_in(word), most = crew->workers - 1;
    if (owed >= most) {
        return;
    }
    uint32_t count = most - owed;
    ORRI_SCHED_POINT(crew->platform, ORR_SCHED_STORE, &desk->word);
    atomic_fetch_add(&desk->word, count);
    uint32_t come = crew->own.start(crew->own.user, count, help_call, help_arg(desk, word));
    if (come < count) {
        help_take_back(crew, count - come);
    }
}

// ---- beginning and end ----------------------------------------------------------------------------------------------

bool orri_crew_help_begin(orri_crew* crew)
{
    for (uint32_t i = 0; i < (1u << HELP_DESK_BITS); i++) {
        orri_help_desk* desk = &help_desks[i];
        if (atomic_load(&desk->taken) == 0 && atomic_exchange(&desk->taken, 1) == 0) {
            desk->crew = crew;
            atomic_fetch_add(&desk->word, HELP_HANDS);
            crew->desk = desk;
            crew->hopes = true;
            return true;
        }
    }
    return false;
}

// Calls that are inside return soon, since no run is on. Those that have not come are not waited for: the pool may be shared with
// somebody who waits for us, or may have forgotten them.
void orri_crew_help_end(orri_crew* crew)
{
    orri_help_desk* desk = crew->desk;
    const orr_platform* platform = crew->platform;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &desk->word);
    atomic_fetch_or(&desk->word, HELP_AWAITED);
    for (;;) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &desk->bell);
        uint32_t bell = atomic_load(&desk->bell);
        ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &desk->word);
        uint64_t word = atomic_load(&desk->word);
        if (help_in(word) > 0) {
            ORRI_SCHED_POINT(platform, ORR_SCHED_WAIT, &desk->bell);
            platform->thread_wait(platform->user, &desk->bell, bell, UINT64_MAX);
        } else if (atomic_compare_exchange_strong(&desk->word, &word,
                                                  (word / HELP_HANDS + 1) * HELP_HANDS)) {
            break; // From here on who has this number is sent away.
        }
    }
    desk->crew = NULL;
    atomic_store(&desk->taken, 0);
}

#undef HELP_DESK_BITS
#undef HELP_DUE
#undef HELP_IN
#undef HELP_AWAITED
#undef HELP_HANDS
#undef HELP_RUNS
#undef HELP_AGE_NS
