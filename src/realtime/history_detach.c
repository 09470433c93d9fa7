// SPDX-License-Identifier: MIT
// Snapshots of history while a world runs in real time. Blocks shared between the world and
// snapshots are counted in turns, and systems write outside turns: so blocks that a group may write
// are detached from snapshots before it runs. And before the world travels back, everything
// published of the abandoned timeline is freed.
#include "realtime/realtime.h"
#include "store/cow/share.h"
#include "store/pool/pool.h"

// ---- before systems write -----------------------------------------------------------------------

// True when systems of the group may write values of the type in the cluster; NULL: pinned values,
// which are not stored by cluster.
static bool history_detach_writes(const orri_pipeline* pipe, uint32_t first, uint32_t point,
                                  uint32_t index, const orri_cluster* cluster)
{
    for (uint32_t i = first; i < point; i++) {
        const orri_system* system = pipe->steps[i].system;
        bool any;
        orri_touch touch = system->due ? orri_touches(pipe->world, system, index, &any)
                                       : ORRI_TOUCH_NONE;
        if (touch == ORRI_TOUCH_NONE || touch == ORRI_TOUCH_READS) {
            continue;
        }
        if (any || cluster == NULL || !system->by_rows || system->ordered ||
            orri_entries_find(system->query, cluster) != UINT32_MAX) {
            return true;
        }
    }
    return false;
}

// True when a snapshot of history shares the block.
static bool history_detach_shared(const orri_chunk* chunk, uint32_t column)
{
    const orri_share* share = chunk->share_count > 0 ? chunk->columns[column].share : NULL;
    return share != NULL && share->kind == ORRI_SHARE_HISTORY;
}

static bool history_detach_any_shared(const orri_cluster* cluster, uint32_t column)
{
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        if (history_detach_shared(cluster->chunks[i], column)) {
            return true;
        }
    }
    return false;
}

void orri_history_detach_group(const orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    orr_world* world = pipe->world;
    if (ORR_LIKELY(world->cow.snapshots == NULL)) {
        return;
    }
    for (const orri_cluster* cluster = world->clusters.first; cluster != NULL;
         cluster = cluster->next) {
        for (uint32_t c = 0; c < cluster->type_count; c++) {
            uint32_t index = orri_type_index(world, cluster->types[c]);
            bool parts = history_detach_any_shared(cluster, c) &&
                         history_detach_writes(pipe, first, point, index, cluster);
            for (uint32_t i = 0; parts && i < cluster->chunk_count; i++) {
                // A snapshot that gets no copy is lost.
                if (history_detach_shared(cluster->chunks[i], c)) {
                    (void)orri_share_detach_column(world, cluster->chunks[i], c);
                }
            }
        }
    }
    for (uint32_t p = 0; p < world->pinned.count; p++) {
        orri_pool* pool = world->pinned.list[p];
        uint32_t index = orri_type_index(world, (orr_type){pool->type->id});
        bool parts = history_detach_writes(pipe, first, point, index, NULL);
        for (uint32_t i = 0; parts && i < pool->block_count; i++) {
            if (pool->blocks[i].share != NULL) {
                orri_pool_share_detach(world, &pool->blocks[i]);
            }
        }
    }
}

// ---- changes that a system has not seen ---------------------------------------------------------

uint64_t orri_history_detach_since(const orri_system* system)
{
    const orri_pipeline_run* run = system->pipe->run;
    const orri_view* view = run != NULL ? run->driven.view : NULL;
    const orr_query* query = system->query;
    uint64_t since = system->since;
    if (view == NULL || query == NULL || !query->has_changed || since == 0) {
        return since;
    }
    for (uint32_t t = 0; t < query->leaves[0].term_count; t++) {
        const orr_term* term = &query->leaves[0].terms[t];
        uint64_t first = term->changed ? orri_view_unseen(view, term->type, system->since)
                                       : UINT64_MAX;
        since = first <= since ? first - 1 : since;
    }
    return since > 0 ? since : 1;
}

static void history_detach_reset_since(const orri_realtime* rt)
{
    for (orri_system* system = rt->schedule->first; system != NULL; system = system->next) {
        system->since = orri_history_detach_since(system);
    }
}

// ---- travelling back ----------------------------------------------------------------------------

// Frees views and publications of the abandoned timeline; sets `since` of each system as lockstep
// needs it. The next orri_realtime_refresh() publishes again.
void orri_realtime_unpublish(orr_world* world)
{
    orri_realtime* rt = world->schedule != NULL ? world->schedule->realtime : NULL;
    if (rt == NULL || rt->publisher == NULL) {
        return;
    }
    history_detach_reset_since(rt);
    for (uint32_t i = 0; i < rt->schedule->pipeline_count; i++) {
        orri_pipeline_run* run = rt->schedule->pipelines[i]->run;
        if (run->driven.view != NULL) {
            orri_view_destroy(run->driven.view);
            run->driven.view = NULL;
        }
    }
    orri_publisher_destroy(rt->publisher);
    rt->publisher = NULL;
}

uint64_t orri_realtime_time_remembered(const struct orri_schedule* schedule)
{
    const orri_realtime* rt = schedule->realtime;
    return rt != NULL && rt->replay == NULL ? rt->ended_ns : schedule->time_ns;
}

// The remaining single steps of a paused world count from the new time on.
void orri_realtime_clock_restart(orri_realtime* rt)
{
    const struct orri_schedule* schedule = rt->schedule;
    orri_realtime_clock_advance(rt);
    rt->clock.time_ns = rt->ended_ns = schedule->time_ns;
    rt->step_ns = rt->steps > 0 ? orri_pipeline_due(schedule->pipelines[0], rt->steps - 1) : 0;
    rt->travels++;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        schedule->pipelines[i]->run->began_ns = schedule->time_ns;
    }
}
