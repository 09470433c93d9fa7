// SPDX-License-Identifier: MIT
// The life of a crew: threads of its own, or calls on the user's (external.c). A helper serves: it waits for news, comes in when the gate is
// open, works until it finds nothing, and goes out again. The same for both kinds, but that the user's threads are not kept
// when a run is over.
#include "base/float.h"
#include "base/util.h"
#include "jobs/jobs_detail.h"
#include <stdio.h>

enum {
    JOBS_SPINS =
        1024 // Some 50 µs: longer than what lies between two runs in a tick, shorter than what a wake-up costs.
};

// ---- helpers ----------------------------------------------------------------------------------------------------------

void orri_jobs_serve(orri_jobs_worker* me, bool one_run)
{
    orri_jobs* jobs = me->jobs;
    for (;;) {
        uint64_t seen;
        if (orri_jobs_enter(jobs, &seen)) {
            orri_jobs_waited(me);
            orri_jobs_leave(jobs, orri_graph_work(me));
        } else if (one_run || (seen & ORRI_GATE_STOP) != 0) {
            me->wait_ns = me->sleep_ns = 0;
            return;
        }
        orri_jobs_wait(me, seen, ORRI_GATE_NEWS);
    }
}

static void jobs_thread_main(void* arg)
{
    orri_float_mode_set();
    orri_jobs_serve(arg, false);
}

// ---- life ---------------------------------------------------------------------------------------------------------------

static void jobs_start_threads(orri_jobs* jobs)
{
    int error = 0;
    uint32_t started = 1;
    while (started < jobs->asked && error == 0) {
        orri_jobs_worker* worker = &jobs->members[started];
        char name[20];
        snprintf(name, sizeof name, "orrery %u", (unsigned)started);
        error = jobs->platform->thread_create(jobs->platform->user, name, jobs_thread_main, worker,
                                              &worker->thread);
        started += error == 0;
    }
    jobs->workers = started;
    if (error != 0) {
        orri_log(jobs->env, ORR_LOG_ID_WORKERS_FEWER,
                 "%u workers were asked for and %u can be had: no more threads (error %d). Results "
                 "are the same, only later",
                 (unsigned)jobs->asked, (unsigned)started, error);
    }
}

static void jobs_ask_own(orri_jobs* jobs)
{
    jobs->has_own = jobs->asked > 1 && orri_jobs_external_begin(jobs);
    if (jobs->asked > 1 && !jobs->has_own) {
        jobs->workers = 1;
        orri_log(jobs->env, ORR_LOG_ID_WORKERS_FEWER,
                 "%u workers were asked for and 1 can be had: too many worlds of this process use "
                 "threads of the program's own. Results are the same, only later",
                 (unsigned)jobs->asked);
    }
}

static uint32_t jobs_count_of(orri_env* env, uint32_t asked)
{
    if (asked > ORRI_JOBS_MOST) {
        orri_log(env, ORR_LOG_ID_WORKERS_FEWER, "%u workers were asked for; %u are the most",
                 (unsigned)asked, (unsigned)ORRI_JOBS_MOST);
        return ORRI_JOBS_MOST;
    }
    return asked > 0 ? asked : 1;
}

static void jobs_init(orri_jobs* jobs, orri_env* env, const orri_jobs_desc* desc, uint32_t asked)
{
    uint32_t cores = env->platform->thread_cores(env->platform->user);
    jobs->env = env;
    jobs->platform = env->platform;
    jobs->asked = jobs->workers = asked;
    jobs->spins = desc->spins != 0 ? desc->spins : asked <= cores ? JOBS_SPINS : 0;
    jobs->wakes = cores > 2 ? cores - 1 : 1;
    jobs->stuck_ns = desc->stuck_ns;
    jobs->name = desc->name;
    jobs->context = desc->context;
    jobs->numbers = (asked < 64 ? orri_jobs_bit(asked) - 1 : UINT64_MAX) & ~(uint64_t)1;
    for (uint32_t i = 0; i < asked; i++) {
        jobs->members[i].jobs = jobs;
        jobs->members[i].number = i;
    }
    if (desc->own != NULL) {
        jobs->own = *desc->own;
        jobs_ask_own(jobs);
    } else {
        jobs_start_threads(jobs);
    }
    if (desc->watcher && jobs->stuck_ns != 0) {
        jobs->watcher = orri_jobs_watcher_begin(jobs);
    }
}

orri_jobs* orri_jobs_create(orri_env* env, const orri_jobs_desc* desc)
{
    uint32_t asked = jobs_count_of(env, desc->workers);
    orri_jobs* jobs = ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, orri_jobs, 1);
    orri_jobs_worker* members = ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, orri_jobs_worker, asked);
    if (jobs == NULL || members == NULL) {
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_jobs, jobs, 1);
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_jobs_worker, members, asked);
        return NULL;
    }
    jobs->members = members;
    jobs_init(jobs, env, desc, asked);
    return jobs;
}

void orri_jobs_destroy(orri_jobs* jobs)
{
    if (jobs == NULL) {
        return;
    }
    ORR_ASSERT(!jobs->running);
    if (jobs->watcher) {
        orri_jobs_watcher_end(jobs);
    }
    if (jobs->has_own) {
        orri_jobs_external_end(jobs);
    } else if (jobs->workers > 1) {
        orri_jobs_add(jobs, &jobs->gate, ORRI_GATE_BELL + ORRI_GATE_STOP);
        orri_jobs_wake_some(jobs, UINT32_MAX);
        for (uint32_t i = 1; i < jobs->workers; i++) {
            jobs->platform->thread_join(jobs->platform->user, jobs->members[i].thread);
        }
    }
    orri_env* env = jobs->env;
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_jobs_worker, jobs->members, jobs->asked);
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_jobs, jobs, 1);
}

// ---- asking -------------------------------------------------------------------------------------------------------------

uint32_t orri_jobs_workers(const orri_jobs* jobs)
{
    return jobs->workers;
}

bool orri_jobs_watches(const orri_jobs* jobs)
{
    return jobs->watcher || (jobs->stuck_ns != 0 && jobs->workers > 1 && !jobs->has_own);
}

void orri_jobs_stats_get(const orri_jobs* jobs, uint32_t worker, orri_jobs_stats* out)
{
    ORR_ASSERT(worker < jobs->workers);
    const orri_jobs_worker* member = &jobs->members[worker];
    uint64_t busy_ns = orri_jobs_peek(&member->busy_ns);
    *out = (orri_jobs_stats){.units = orri_jobs_peek(&member->units),
                             .claims = orri_jobs_peek(&member->claims),
                             .steals = orri_jobs_peek(&member->steals),
                             .sleeps = orri_jobs_peek(&member->sleeps),
                             .noted = orri_jobs_peek(&member->noted),
                             .busy_ns = busy_ns,
                             .idle_ns = jobs->timed_ns > busy_ns ? jobs->timed_ns - busy_ns : 0};
}

void orri_jobs_time(orri_jobs* jobs, bool on)
{
    ORR_ASSERT(!jobs->running);
    jobs->timed = on;
}

void orri_jobs_trace(orri_jobs* jobs, bool on)
{
    ORR_ASSERT(!jobs->running);
    if (orri_jobs_peek(&jobs->traced) != on) {
        orri_jobs_put(&jobs->traced, on);
    }
}

void orri_jobs_note(orri_jobs* jobs, uint32_t worker, uint64_t amount)
{
    orri_jobs_count(&jobs->members[worker].noted, amount);
}
