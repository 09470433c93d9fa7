// SPDX-License-Identifier: MIT
// The watch: who names a call that does not return. Workers look when they wait, now and then; a watcher does nothing else.
#include "base/util.h"
#include "schedule/crew_inner.h"

static void watch_one(orri_crew* crew, orri_crew_worker* worker, uint64_t now_ns)
{
    uint64_t at = orri_crew_peek(&worker->at);
    if (at != worker->seen_at) {
        worker->seen_at = at;
        worker->seen_ns = now_ns;
        worker->named = false;
        return;
    }
    uint32_t node1 = (uint32_t)at;
    if (node1 == 0 || worker->named || now_ns - worker->seen_ns < crew->stuck_ns) {
        return;
    }
    worker->named = true;
    const char* name = (node1 & ORRI_CREW_SAID) != 0
                           ? crew->name(crew->context, node1 & ~ORRI_CREW_SAID)
                           : crew->graph->nodes[node1 - 1].name;
    uint64_t ms = (now_ns - worker->seen_ns) / 1000000;
    orri_log(crew->env, ORR_LOG_ID_SYSTEM_STUCK,
             "system '%s' has been running for %u.%03u s on worker %u and has not returned; others "
             "wait for it: does it loop, or wait for something?",
             name, (unsigned)(ms / 1000), (unsigned)(ms % 1000), (unsigned)worker->number);
}

// By one that may look at the graph. Since when a call runs is known from the first look at it, so it may be named late by as
// long as watchers sleep, but never early. `number`: of who looks, if it is a worker.
static void watch_all(orri_crew* crew, uint32_t number)
{
    if (!orri_mutex_try(crew->platform, &crew->watch)) {
        return;
    }
    uint64_t now_ns = crew->platform->clock_ns(crew->platform->user);
    for (uint32_t i = 0; i < crew->workers; i++) {
        if (i != number) {
            watch_one(crew, &crew->members[i], now_ns);
        }
    }
    orri_mutex_unlock(crew->platform, &crew->watch);
}

// Most of the time the gate is closed when something is stuck: the caller, with work for nobody else. So a helper comes in
// as it is, and then asks whether there is a graph to look at. The caller, when it ends a run, first says that there is none
// and then whether somebody is in: one of the two sees the other.
void orri_crew_look(orri_crew* crew, uint32_t number)
{
    if (number == 0) {
        watch_all(crew, number);
        return;
    }
    orri_crew_add(crew, &crew->gate, ORRI_GATE_IN);
    if (orri_crew_load(crew, &crew->watched) != 0) {
        watch_all(crew, number);
    }
    orri_crew_leave(crew, false);
}

uint64_t orri_crew_look_ns(const orri_crew* crew)
{
    return crew->stuck_ns == 0 ? UINT64_MAX : crew->stuck_ns / 4 + 1;
}

static void watch_main(void* arg)
{
    orri_crew* crew = arg;
    const orr_platform* platform = crew->platform;
    for (;;) {
        ORRI_SCHED_POINT(platform, ORR_SCHED_WAIT, &crew->watcher_stop);
        platform->thread_wait(platform->user, &crew->watcher_stop, 0, orri_crew_look_ns(crew));
        ORRI_SCHED_POINT(platform, ORR_SCHED_LOAD, &crew->watcher_stop);
        if (atomic_load(&crew->watcher_stop) != 0) {
            return;
        }
        orri_crew_look(crew, UINT32_MAX);
    }
}

bool orri_crew_watcher_begin(orri_crew* crew)
{
    return crew->platform->thread_create(crew->platform->user, "orrery watch", watch_main, crew,
                                         &crew->watcher_thread) == 0;
}

void orri_crew_watcher_end(orri_crew* crew)
{
    const orr_platform* platform = crew->platform;
    ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, &crew->watcher_stop);
    atomic_store(&crew->watcher_stop, 1);
    ORRI_SCHED_POINT(platform, ORR_SCHED_WAKE, &crew->watcher_stop);
    platform->thread_wake(platform->user, &crew->watcher_stop, 1);
    platform->thread_join(platform->user, crew->watcher_thread);
}
