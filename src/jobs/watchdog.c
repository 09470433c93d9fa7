// SPDX-License-Identifier: MIT
// The watch: who names a call that does not return. Workers look when they wait, now and then; a watcher does nothing else.
#include "base/util.h"
#include "jobs/jobs_detail.h"

static void watchdog_one(orri_jobs* jobs, orri_jobs_worker* worker, uint64_t now_ns)
{
    uint64_t at = orri_jobs_peek(&worker->at);
    if (at != worker->seen_at) {
        worker->seen_at = at;
        worker->seen_ns = now_ns;
        worker->named = false;
        return;
    }
    uint32_t node1 = (uint32_t)at;
    if (node1 == 0 || worker->named || now_ns - worker->seen_ns < jobs->stuck_ns) {
        return;
    }
    worker->named = true;
    const char* name = (node1 & ORRI_JOBS_SAID) != 0
                           ? jobs->name(jobs->context, node1 & ~ORRI_JOBS_SAID)
                           : jobs->graph->nodes[node1 - 1].name;
    uint64_t ms = (now_ns - worker->seen_ns) / 1000000;
    orri_log(jobs->env, ORR_LOG_ID_SYSTEM_STUCK,
             "system '%s' has been running for %u.%03u s on worker %u and has not returned; others "
             "wait for it: does it loop, or wait for something?",
             name, (unsigned)(ms / 1000), (unsigned)(ms % 1000), (unsigned)worker->number);
}

// By one that may look at the graph. Since when a call runs is known from the first look at it, so it may be named late by as
// long as watchers sleep, but never early. `number`: of who looks, if it is a worker.
static void watchdog_all(orri_jobs* jobs, uint32_t number)
{
    if (!orri_mutex_try(jobs->platform, &jobs->watch)) {
        return;
    }
    uint64_t now_ns = jobs->platform->clock_ns(jobs->platform->user);
    for (uint32_t i = 0; i < jobs->workers; i++) {
        if (i != number) {
            watchdog_one(jobs, &jobs->members[i], now_ns);
        }
    }
    orri_mutex_unlock(jobs->platform, &jobs->watch);
}

// Most of the time the gate is closed when something is stuck: the caller, with work for nobody else. So a helper comes in
// as it is, and then asks whether there is a graph to look at. The caller, when it ends a run, first says that there is none
// and then whether somebody is in: one of the two sees the other.
void orri_jobs_look(orri_jobs* jobs, uint32_t number)
{
    if (number == 0) {
        watchdog_all(jobs, number);
        return;
    }
    orri_jobs_add(jobs, &jobs->gate, ORRI_GATE_IN);
    if (orri_jobs_load(jobs, &jobs->watched) != 0) {
        watchdog_all(jobs, number);
    }
    orri_jobs_leave(jobs, false);
}

uint64_t orri_jobs_look_ns(const orri_jobs* jobs)
{
    return jobs->stuck_ns == 0 ? UINT64_MAX : jobs->stuck_ns / 4 + 1;
}

static void watchdog_main(void* arg)
{
    orri_jobs* jobs = arg;
    const orr_platform* platform = jobs->platform;
    for (;;) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_WAIT, &jobs->watcher_stop);
        platform->thread_wait(platform->user, &jobs->watcher_stop, 0, orri_jobs_look_ns(jobs));
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &jobs->watcher_stop);
        if (atomic_load(&jobs->watcher_stop) != 0) {
            return;
        }
        orri_jobs_look(jobs, UINT32_MAX);
    }
}

bool orri_jobs_watcher_begin(orri_jobs* jobs)
{
    return jobs->platform->thread_create(jobs->platform->user, "orrery watch", watchdog_main, jobs,
                                         &jobs->watcher_thread) == 0;
}

void orri_jobs_watcher_end(orri_jobs* jobs)
{
    const orr_platform* platform = jobs->platform;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &jobs->watcher_stop);
    atomic_store(&jobs->watcher_stop, 1);
    ORRI_SCHED_POINT(platform, ORR_SCHED_WAKE, &jobs->watcher_stop);
    platform->thread_wake(platform->user, &jobs->watcher_stop, 1);
    platform->thread_join(platform->user, jobs->watcher_thread);
}
