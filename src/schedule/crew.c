// SPDX-License-Identifier: MIT
// The life of a crew: threads of its own, or calls on the user's. A helper serves: it waits for news, comes in when the gate is
// open, works until it finds nothing, and goes out again. The same for both kinds, but that the user's threads are not kept
// when a run is over.
#include "base/float.h"
#include "base/util.h"
#include "schedule/crew_inner.h"
#include <stdio.h>

enum {
    CREW_SPINS =
        1024 // Some 50 µs: longer than what lies between two runs in a tick, shorter than what a wake-up costs.
};

#define CREW_AWAITED \
    ((uint32_t)1 << 31) // In `owed`: the crew ends and waits for the last call to return.

// ---- helpers ----------------------------------------------------------------------------------------------------------

static void crew_serve(orri_crew_worker* me, bool one_run)
{
    orri_crew* crew = me->crew;
    for (;;) {
        uint64_t seen;
        if (orri_crew_enter(crew, &seen)) {
            orri_crew_waited(me);
            orri_crew_leave(crew, orri_graph_work(me));
        } else if (one_run || (seen & ORRI_GATE_STOP) != 0) {
            me->wait_ns = me->sleep_ns = 0;
            return;
        }
        orri_crew_wait(me, seen, ORRI_GATE_NEWS);
    }
}

static void crew_thread_main(void* arg)
{
    orri_float_mode_set();
    crew_serve(arg, false);
}

// ---- the user's threads -------------------------------------------------------------------------------------------------

// A worker number that nobody has; 0, the caller's, if there is none: then more came than were asked.
static uint32_t crew_number_take(orri_crew* crew)
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

// When the last call was counted the crew may be gone, so only the address of the word is used after that.
static void crew_help_end(orri_crew* crew)
{
    const orr_platform* platform = crew->platform;
    _Atomic uint32_t* word = &crew->owed;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, word);
    uint32_t before = atomic_fetch_sub(word, 1);
    ORR_ASSERT((before & ~CREW_AWAITED) != 0);
    if (before == (CREW_AWAITED | 1)) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_WAKE, word);
        platform->thread_wake(platform->user, word, 1);
    }
}

static void crew_help(void* arg)
{
    orri_crew* crew = arg;
    uint32_t number = crew_number_take(crew);
    if (number != 0) {
        orri_float_mode mode = orri_float_mode_set();
        crew_serve(&crew->members[number], true);
        orri_float_mode_restore(mode);
        orri_crew_on(crew, &crew->numbers, orri_crew_bit(number));
    }
    crew_help_end(crew);
}

// Calls that are late from an earlier run are as good as new ones, so never more are under way than there are numbers.
void orri_crew_invite(orri_crew* crew)
{
    ORRI_SCHED_POINT(crew->platform, ORR_SCHED_LOAD, &crew->owed);
    uint32_t owed = atomic_load(&crew->owed);
    uint32_t count = crew->workers - 1 - owed;
    if (count == 0) {
        return;
    }
    ORRI_SCHED_POINT(crew->platform, ORR_SCHED_STORE, &crew->owed);
    atomic_fetch_add(&crew->owed, count);
    uint32_t come = crew->own.start(crew->own.user, count, crew_help, crew);
    ORR_ASSERT(come <= count);
    if (come < count) {
        ORRI_SCHED_POINT(crew->platform, ORR_SCHED_STORE, &crew->owed);
        atomic_fetch_sub(&crew->owed, count - come);
    }
}

static void crew_await_help(orri_crew* crew)
{
    const orr_platform* platform = crew->platform;
    uint64_t timeout_ns = crew->stuck_ns == 0 ? UINT64_MAX : crew->stuck_ns;
    uint64_t begin_ns = crew->stuck_ns == 0 ? 0 : platform->clock_ns(platform->user);
    bool said = crew->stuck_ns == 0;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &crew->owed);
    uint32_t owed = atomic_fetch_or(&crew->owed, CREW_AWAITED) | CREW_AWAITED;
    while (owed != CREW_AWAITED) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_WAIT, &crew->owed);
        platform->thread_wait(platform->user, &crew->owed, owed, timeout_ns);
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &crew->owed);
        owed = atomic_load(&crew->owed);
        if (!said && owed != CREW_AWAITED &&
            platform->clock_ns(platform->user) - begin_ns >= crew->stuck_ns) {
            said = true;
            orri_log(crew->env, ORR_LOG_ID_HELP_OWED,
                     "the pool of the program promised %u calls of help() that have not been made "
                     "or not returned; the world cannot end before they have",
                     (unsigned)(owed & ~CREW_AWAITED));
        }
    }
}

// ---- life ---------------------------------------------------------------------------------------------------------------

static void crew_start_threads(orri_crew* crew)
{
    int error = 0;
    uint32_t started = 1;
    while (started < crew->asked && error == 0) {
        orri_crew_worker* worker = &crew->members[started];
        char name[20];
        snprintf(name, sizeof name, "orrery %u", (unsigned)started);
        error = crew->platform->thread_create(crew->platform->user, name, crew_thread_main, worker,
                                              &worker->thread);
        started += error == 0;
    }
    crew->workers = started;
    if (error != 0) {
        orri_log(crew->env, ORR_LOG_ID_WORKERS_FEWER,
                 "%u workers were asked for and %u can be had: no more threads (error %d). Results "
                 "are the same, only later",
                 (unsigned)crew->asked, (unsigned)started, error);
    }
}

static uint32_t crew_count_of(orri_env* env, uint32_t asked)
{
    if (asked > ORRI_CREW_MOST) {
        orri_log(env, ORR_LOG_ID_WORKERS_FEWER, "%u workers were asked for; %u are the most",
                 (unsigned)asked, (unsigned)ORRI_CREW_MOST);
        return ORRI_CREW_MOST;
    }
    return asked > 0 ? asked : 1;
}

static void crew_init(orri_crew* crew, orri_env* env, const orri_crew_desc* desc, uint32_t asked)
{
    uint32_t cores = env->platform->thread_cores(env->platform->user);
    crew->env = env;
    crew->platform = env->platform;
    crew->asked = crew->workers = asked;
    crew->spins = desc->spins != 0 ? desc->spins : asked <= cores ? CREW_SPINS : 0;
    crew->wakes = cores > 2 ? cores - 1 : 1;
    crew->stuck_ns = desc->stuck_ns;
    crew->name = desc->name;
    crew->context = desc->context;
    crew->numbers = (asked < 64 ? orri_crew_bit(asked) - 1 : UINT64_MAX) & ~(uint64_t)1;
    for (uint32_t i = 0; i < asked; i++) {
        crew->members[i].crew = crew;
        crew->members[i].number = i;
    }
    if (desc->own != NULL) {
        crew->has_own = true;
        crew->own = *desc->own;
    } else {
        crew_start_threads(crew);
    }
}

orri_crew* orri_crew_create(orri_env* env, const orri_crew_desc* desc)
{
    uint32_t asked = crew_count_of(env, desc->workers);
    orri_crew* crew = ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, orri_crew, 1);
    orri_crew_worker* members = ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, orri_crew_worker, asked);
    if (crew == NULL || members == NULL) {
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_crew, crew, 1);
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_crew_worker, members, asked);
        orri_refuse_memory(env, "making workers");
        return NULL;
    }
    crew->members = members;
    crew_init(crew, env, desc, asked);
    return crew;
}

void orri_crew_destroy(orri_crew* crew)
{
    if (crew == NULL) {
        return;
    }
    ORR_ASSERT(!crew->running);
    if (crew->has_own) {
        crew_await_help(crew);
    } else if (crew->workers > 1) {
        orri_crew_add(crew, &crew->gate, ORRI_GATE_BELL + ORRI_GATE_STOP);
        orri_crew_wake_some(crew, UINT32_MAX);
        for (uint32_t i = 1; i < crew->workers; i++) {
            crew->platform->thread_join(crew->platform->user, crew->members[i].thread);
        }
    }
    orri_env* env = crew->env;
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_crew_worker, crew->members, crew->asked);
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_crew, crew, 1);
}

// ---- asking -------------------------------------------------------------------------------------------------------------

uint32_t orri_crew_workers(const orri_crew* crew)
{
    return crew->workers;
}

void orri_crew_stats_get(const orri_crew* crew, uint32_t worker, orri_crew_stats* out)
{
    ORR_ASSERT(worker < crew->workers);
    const orri_crew_worker* member = &crew->members[worker];
    uint64_t busy_ns = orri_crew_peek(&member->busy_ns);
    *out = (orri_crew_stats){.units = orri_crew_peek(&member->units),
                             .claims = orri_crew_peek(&member->claims),
                             .steals = orri_crew_peek(&member->steals),
                             .sleeps = orri_crew_peek(&member->sleeps),
                             .noted = orri_crew_peek(&member->noted),
                             .busy_ns = busy_ns,
                             .idle_ns = crew->timed_ns > busy_ns ? crew->timed_ns - busy_ns : 0};
}

void orri_crew_time(orri_crew* crew, bool on)
{
    ORR_ASSERT(!crew->running);
    crew->timed = on;
}

void orri_crew_trace(orri_crew* crew, bool on)
{
    ORR_ASSERT(!crew->running);
    if (orri_crew_peek(&crew->traced) != on) {
        orri_crew_put(&crew->traced, on);
    }
}

void orri_crew_note(orri_crew* crew, uint32_t worker, uint64_t amount)
{
    orri_crew_count(&crew->members[worker].noted, amount);
}

#undef CREW_AWAITED
