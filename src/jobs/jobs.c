// SPDX-License-Identifier: MIT
// Creates and destroys a pool of workers, and answers questions about it. The helpers (all workers
// but the calling thread) are threads of the pool or calls on the program's own threads
// (external.c). Both kinds run the same loop: wait for a signal, enter when the status is OPEN,
// work until no work is found, leave. Calls on the program's threads return to the program when the
// run is over; the pool's threads stay.
#include "base/float.h"
#include "base/spin.h"
#include "base/util.h"
#include "jobs/jobs_detail.h"
#include <stdio.h>

// ---- helpers ------------------------------------------------------------------------------------

void orri_jobs_serve(orri_jobs_worker* me, bool one_run)
{
    orri_jobs* jobs = me->jobs;
    for (;;) {
        uint64_t seen;
        if (orri_jobs_enter(jobs, &seen)) {
            orri_jobs_wait_report(me);
            orri_jobs_leave(jobs, orri_graph_work(me));
        } else if (one_run || (seen & ORRI_STATUS_STOP) != 0) {
            me->wait_ns = me->sleep_ns = 0;
            return;
        }
        orri_jobs_wait(me, seen, ORRI_STATUS_SIGNAL_MASK);
    }
}

static void jobs_thread_main(void* arg)
{
    orri_float_mode_set();
    orri_jobs_serve(arg, false);
}

// ---- create and destroy -------------------------------------------------------------------------

static void jobs_start_threads(orri_jobs* jobs)
{
    int error = 0;
    uint32_t started = 1;
    while (started < jobs->requested && error == 0) {
        orri_jobs_worker* worker = &jobs->workers[started];
        char name[20];
        snprintf(name, sizeof name, "orrery %u", (unsigned)started);
        error = jobs->platform->thread_create(jobs->platform->user, name, jobs_thread_main, worker,
                                              &worker->thread);
        started += error == 0;
    }
    jobs->worker_count = started;
    if (error != 0) {
        orri_log(jobs->env, ORR_LOG_ID_WORKERS_FEWER,
                 "workers requested: %u, available: %u. The system created no more threads (error "
                 "%d). Results are the same, ticks take longer",
                 (unsigned)jobs->requested, (unsigned)started, error);
    }
}

static void jobs_start_external(orri_jobs* jobs)
{
    jobs->uses_external = jobs->requested > 1 && orri_jobs_external_begin(jobs);
    if (jobs->requested > 1 && !jobs->uses_external) {
        jobs->worker_count = 1;
        orri_log(jobs->env, ORR_LOG_ID_WORKERS_FEWER,
                 "workers requested: %u, available: 1. 1024 worlds of this process already use a "
                 "thread pool of the program (orr_world_desc.pool). Results are the same, ticks "
                 "take longer",
                 (unsigned)jobs->requested);
    }
}

static uint32_t jobs_count_of(orri_env* env, uint32_t requested)
{
    if (requested > ORRI_JOBS_MOST) {
        orri_log(env, ORR_LOG_ID_WORKERS_FEWER,
                 "workers requested: %u, limit: %u (orr_world_desc.workers)", (unsigned)requested,
                 (unsigned)ORRI_JOBS_MOST);
        return ORRI_JOBS_MOST;
    }
    return requested > 0 ? requested : 1;
}

static void jobs_init(orri_jobs* jobs, orri_env* env, const orri_jobs_desc* desc,
                      uint32_t requested)
{
    uint32_t cores = env->platform->thread_cores(env->platform->user);
    jobs->env = env;
    jobs->platform = env->platform;
    jobs->requested = jobs->worker_count = requested;
    jobs->spins = desc->spins != 0 ? desc->spins : requested <= cores ? ORRI_SPIN_MOST : 0;
    jobs->wakes = cores > 2 ? cores - 1 : 1;
    jobs->stuck_ns = desc->stuck_ns;
    jobs->name = desc->name;
    jobs->context = desc->context;
    jobs->free_numbers = (requested < 64 ? orri_jobs_bit(requested) - 1 : UINT64_MAX) &
                         ~(uint64_t)1;
    for (uint32_t i = 0; i < requested; i++) {
        jobs->workers[i].jobs = jobs;
        jobs->workers[i].number = i;
    }
    if (desc->own != NULL) {
        jobs->external = *desc->own;
        jobs_start_external(jobs);
    } else {
        jobs_start_threads(jobs);
    }
    if (desc->watcher && jobs->stuck_ns != 0) {
        jobs->watcher = orri_jobs_watcher_begin(jobs);
    }
}

orri_jobs* orri_jobs_create(orri_env* env, const orri_jobs_desc* desc)
{
    uint32_t requested = jobs_count_of(env, desc->workers);
    orri_jobs* jobs = ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, orri_jobs, 1);
    orri_jobs_worker* workers =
        ORRI_ALLOC_ZERO(env, ORR_MEMORY_SYSTEM, orri_jobs_worker, requested);
    if (jobs == NULL || workers == NULL) {
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_jobs, jobs, 1);
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_jobs_worker, workers, requested);
        return NULL;
    }
    jobs->workers = workers;
    jobs_init(jobs, env, desc, requested);
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
    if (jobs->uses_external) {
        orri_jobs_external_end(jobs);
    } else if (jobs->worker_count > 1) {
        orri_jobs_add(jobs, &jobs->status, ORRI_STATUS_SIGNAL + ORRI_STATUS_STOP);
        orri_jobs_wake_some(jobs, UINT32_MAX);
        for (uint32_t i = 1; i < jobs->worker_count; i++) {
            jobs->platform->thread_join(jobs->platform->user, jobs->workers[i].thread);
        }
    }
    orri_env* env = jobs->env;
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_jobs_worker, jobs->workers, jobs->requested);
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_jobs, jobs, 1);
}

// ---- statistics and settings --------------------------------------------------------------------

orri_jobs_rest orri_jobs_helpers(const orri_jobs* jobs)
{
    uint64_t helpers = (jobs->worker_count < 64 ? orri_jobs_bit(jobs->worker_count) : 0) - 2;
    bool awake = (helpers & ~orri_jobs_peek(&jobs->asleep)) != 0;
    return jobs->uses_external ? ORRI_JOBS_AWAY : awake ? ORRI_JOBS_AWAKE : ORRI_JOBS_ASLEEP;
}

uint32_t orri_jobs_workers(const orri_jobs* jobs)
{
    return jobs->worker_count;
}

bool orri_jobs_watches(const orri_jobs* jobs)
{
    return jobs->watcher || (jobs->stuck_ns != 0 && jobs->worker_count > 1 && !jobs->uses_external);
}

void orri_jobs_stats_get(const orri_jobs* jobs, uint32_t worker, orri_jobs_stats* out)
{
    ORR_ASSERT(worker < jobs->worker_count);
    const orri_jobs_worker* member = &jobs->workers[worker];
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
    orri_jobs_count(&jobs->workers[worker].noted, amount);
}
