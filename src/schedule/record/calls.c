// SPDX-License-Identifier: MIT
// Calls that a program posts to a world (orr_post()): a function with a copy of its data, and lists
// of them. In lockstep they wait in the schedule for the first pipeline's next tick; in real time
// in the run (realtime/posted_calls.c).
#include "schedule/record/recording.h"

orri_call* orri_call_make(orri_env* env, orr_call function, const void* data, size_t size,
                          bool sync)
{
    orri_call* call = size <= UINT32_MAX - sizeof(orri_call)
                          ? orri_alloc(env, ORR_MEMORY_SYSTEM, sizeof(orri_call) + size, 16)
                          : NULL;
    if (call != NULL) {
        *call = (orri_call){.call = function, .sync = sync, .size = (uint32_t)size};
        if (size > 0) {
            memcpy(call->data, data, size);
        }
    }
    return call;
}

void orri_call_free(orri_env* env, orri_call* call)
{
    orri_free(env, ORR_MEMORY_SYSTEM, call, sizeof(orri_call) + call->size, 16);
}

// Ends loops that a call left open, as the next tick would. No other thread accesses rows.
static void calls_end_loops(orr_world* world)
{
    bool left = world->realtime ? orri_this_thread.loops != 0 : world->loops.iterating != 0;
    if (ORR_UNLIKELY(left)) {
        orri_this_thread.loops = 0;
        world->loops.iterating = world->realtime;
        world->loops.era++;
    }
}

// The world whose calls this thread runs, and the half-done tick at that moment; NULL: none.
static _Thread_local const orr_world* calls_here;
static _Thread_local const orri_pipeline* calls_now;

bool orri_call_here(const orr_world* world)
{
    return calls_here == world && world->schedule->now == calls_now;
}

void orri_calls_run(orr_world* world, orri_call* calls)
{
    const orr_world* before = calls_here;
    const orri_pipeline* before_now = calls_now;
    calls_here = world;
    calls_now = world->schedule->now;
    for (orri_call *call = calls, *next; call != NULL; call = next) {
        next = call->next;
        call->call(world, call->data, call->size);
        calls_end_loops(world);
        orri_call_free(&world->env, call);
    }
    calls_here = before;
    calls_now = before_now;
}

void orri_calls_free(orr_world* world, orri_call* calls)
{
    for (orri_call *call = calls, *next; call != NULL; call = next) {
        next = call->next;
        orri_call_free(&world->env, call);
    }
}

orri_call* orri_posts_take(struct orri_schedule* schedule)
{
    if (!schedule->posted) {
        return NULL;
    }
    const orr_platform* platform = schedule->pipelines[0]->world->env.platform;
    orri_mutex_lock(platform, &schedule->posting);
    orri_call* first = schedule->post_first;
    schedule->post_first = schedule->post_last = NULL;
    schedule->posted = false;
    orri_mutex_unlock(platform, &schedule->posting);
    return first;
}
