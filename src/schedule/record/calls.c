// SPDX-License-Identifier: MIT
// Calls that a program posts to a world (orr_post()): one call with a copy of its data, and lists of them. In lockstep they wait here for the
// first pipeline's next tick; in real time the module realtime keeps them.
#include "schedule/record/recording.h"

orri_call* orri_call_make(orri_env* env, orr_call function, const void* data, size_t size,
                          bool meeting)
{
    orri_call* call = size <= UINT32_MAX - sizeof(orri_call)
                          ? orri_alloc(env, ORR_MEMORY_SYSTEM, sizeof(orri_call) + size, 16)
                          : NULL;
    if (call != NULL) {
        *call = (orri_call){.call = function, .meeting = meeting, .size = (uint32_t)size};
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

// What a call left open has ended, as it would with the next tick. Nobody else is at rows.
static void calls_end_loops(orr_world* world)
{
    bool left = world->realtime ? orri_this_thread.loops != 0 : world->loops.iterating != 0;
    if (ORR_UNLIKELY(left)) {
        orri_this_thread.loops = 0;
        world->loops.iterating = world->realtime;
        world->loops.era++;
    }
}

void orri_calls_do(orr_world* world, orri_call* calls)
{
    for (orri_call *call = calls, *next; call != NULL; call = next) {
        next = call->next;
        call->call(world, call->data);
        calls_end_loops(world);
        orri_call_free(&world->env, call);
    }
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
