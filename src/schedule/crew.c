// SPDX-License-Identifier: MIT
// The life of a crew: threads of its own, or calls on the user's (help.c). A helper serves: it waits for news, comes in when the gate is
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

// ---- helpers ----------------------------------------------------------------------------------------------------------

void orri_crew_serve(orri_crew_worker* me, bool one_run)
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
    orri_crew_serve(arg, false);
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

static void crew_ask_own(orri_crew* crew)
{
    crew->has_own = crew->asked > 1 && orri_crew_help_begin(crew);
    if (crew->asked > 1 && !crew->has_own) {
        crew->workers = 1;
        orri_log(crew->env, ORR_LOG_ID_WORKERS_FEWER,
                 "%u workers were asked for and 1 can be had: too many worlds of this process use "
                 "threads of the program's own. Results are the same, only later",
                 (unsigned)crew->asked);
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
        crew->own = *desc->own;
        crew_ask_own(crew);
    } else {
        crew_start_threads(crew);
    }
    if (desc->watcher && crew->stuck_ns != 0) {
        crew->watcher = orri_crew_watcher_begin(crew);
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
    if (crew->watcher) {
        orri_crew_watcher_end(crew);
    }
    if (crew->has_own) {
        orri_crew_help_end(crew);
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

bool orri_crew_watches(const orri_crew* crew)
{
    return crew->watcher || (crew->stuck_ns != 0 && crew->workers > 1 && !crew->has_own);
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
