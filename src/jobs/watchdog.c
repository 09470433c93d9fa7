// SPDX-License-Identifier: MIT
// The watchdog: logs a call that does not return. Waiting workers check from time to time; the
// optional watcher thread does nothing else.
#include "base/util.h"
#include "jobs/jobs_detail.h"

// Checks one worker. The start of a call is known only from the first check that sees it, so a call
// may be logged late, by as long as the checking threads sleep, but never early.
static void watchdog_one(orri_jobs* jobs, orri_jobs_worker* worker, uint64_t now_ns)
{
    uint64_t at = orri_jobs_peek(&worker->at);
    if (at != worker->seen_at) {
        worker->seen_at = at;
        worker->seen_ns = now_ns;
        worker->logged = false;
        return;
    }
    uint32_t node1 = (uint32_t)at;
    if (node1 == 0 || worker->logged || now_ns - worker->seen_ns < jobs->stuck_ns) {
        return;
    }
    worker->logged = true;
    const char* name = (node1 & ORRI_JOBS_REPORTED) != 0
                           ? jobs->name(jobs->context, node1 & ~ORRI_JOBS_REPORTED)
                           : jobs->graph->nodes[node1 - 1].name;
    uint64_t ms = (now_ns - worker->seen_ns) / 1000000;
    orri_log(
        jobs->env, ORR_LOG_ID_SYSTEM_STUCK,
        "system '%s' has been running for %u.%03u s on worker %u and has not returned; the tick "
        "waits for it. Check the system for an endless loop or a wait",
        name, (unsigned)(ms / 1000), (unsigned)(ms % 1000), (unsigned)worker->number);
}

// Checks all workers but `number`. The calling thread may access the graph.
static void watchdog_all(orri_jobs* jobs, uint32_t number)
{
    if (!orri_mutex_try(jobs->platform, &jobs->watchdog_mutex)) {
        return;
    }
    uint64_t now_ns = jobs->platform->clock_ns(jobs->platform->user);
    for (uint32_t i = 0; i < jobs->worker_count; i++) {
        if (i != number) {
            watchdog_one(jobs, &jobs->workers[i], now_ns);
        }
    }
    orri_mutex_unlock(jobs->platform, &jobs->watchdog_mutex);
}

// Mostly the status is not OPEN when something is stuck: the calling thread runs a node that has no
// work for helpers. So a helper counts itself INSIDE without looking at OPEN, and then reads
// whether a run is watched. The caller, at the end of a run, first clears `watched` and then reads
// INSIDE: at least one of the two sees the other's write.
void orri_jobs_watchdog_check(orri_jobs* jobs, uint32_t number)
{
    if (number == 0) {
        watchdog_all(jobs, number);
        return;
    }
    orri_jobs_add(jobs, &jobs->status, ORRI_STATUS_INSIDE);
    if (orri_jobs_load(jobs, &jobs->watched) != 0) {
        watchdog_all(jobs, number);
    }
    orri_jobs_leave(jobs, false);
}

uint64_t orri_jobs_watchdog_period_ns(const orri_jobs* jobs)
{
    return jobs->stuck_ns == 0 ? UINT64_MAX : jobs->stuck_ns / 4 + 1;
}

static void watchdog_main(void* arg)
{
    orri_jobs* jobs = arg;
    const orr_platform* platform = jobs->platform;
    for (;;) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_WAIT, &jobs->watcher_stop);
        platform->thread_wait(platform->user, &jobs->watcher_stop, 0,
                              orri_jobs_watchdog_period_ns(jobs));
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &jobs->watcher_stop);
        if (atomic_load(&jobs->watcher_stop) != 0) {
            return;
        }
        orri_jobs_watchdog_check(jobs, UINT32_MAX);
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
