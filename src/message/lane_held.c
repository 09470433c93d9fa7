// SPDX-License-Identifier: MIT
// Ids that lanes hold (store/apply.h), so that several pipelines can promise some at once.
//
//   held: │ promised: of lane 1 │ of lane 2 │ … │ not promised │        base of a lane: where its own begin
//
// At the commit point those that were used are put back in line, in order of lanes, and given there like all others. What was promised and
// not used is promised again.
#include "message/lane.h"
#include "store/apart.h"

void orri_lanes_aside(struct orri_lanes* lanes)
{
    ORR_ASSERT(lanes->holds && lanes->held_count == 0);
    lanes->aside = true;
}

bool orri_lanes_hold(orr_world* world, uint32_t count)
{
    struct orri_lanes* lanes = orri_lanes_at(world);
    ORR_ASSERT(lanes->holds);
    uint64_t wanted = lanes->reserved + count;
    if (wanted <= lanes->held_count) {
        return true;
    }
    if (wanted > UINT32_MAX || !ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &lanes->held,
                                             &lanes->held_capacity, (uint32_t)wanted)) {
        (void)orri_refuse_memory(&world->env, "making room for ids of entities to be created");
        return false;
    }
    uint32_t more = (uint32_t)wanted - lanes->held_count;
    orr_entity* ids = lanes->held + lanes->held_count;
    if (!(lanes->aside ? orri_apart_hold(world, ids, more) : orri_index_hold(world, ids, more))) {
        return false;
    }
    lanes->held_count += more;
    return true;
}

uint32_t orri_lanes_held_left(const orr_world* world)
{
    const struct orri_lanes* lanes = orri_lanes_at(world);
    return lanes->reserved < lanes->held_count ? lanes->held_count - (uint32_t)lanes->reserved : 0;
}

bool orri_held_free(orr_world* world, struct orri_lanes* lanes)
{
    if (lanes->aside) {
        orri_held_forget_aside(lanes);
        orri_apart_unhold(world, lanes->held, lanes->held_count);
    } else if (!orri_index_unhold(world, lanes->held, lanes->held_count)) {
        return false;
    }
    lanes->held_count = 0;
    return true;
}

bool orri_lanes_unhold(orr_world* world)
{
    struct orri_lanes* lanes = orri_lanes_at(world);
    ORR_ASSERT(lanes->reserved == 0 && lanes->first == NULL && lanes->aside_first == NULL);
    return orri_held_free(world, lanes);
}

// ---- at the commit point -------------------------------------------------------------------------------------------

// Of a lane of the simulation: observers create with ids of another kind, one by one.
static uint32_t lane_held_used(const orr_lane* lane)
{
    return lane->rights->aside ? 0 : lane->create_count;
}

bool orri_held_return(orri_merge* merge)
{
    const struct orri_lanes* lanes = merge->lanes;
    uint32_t count = 0;
    for (const orr_lane* lane = lanes->first; lane != NULL; lane = lane->next) {
        count += lane_held_used(lane);
    }
    merge->held_count = 0;
    if (count == 0) {
        return true;
    }
    merge->held = orri_merge_take(merge, count * sizeof *merge->held);
    if (merge->held == NULL) {
        (void)orri_refuse_memory(&merge->world->env, "putting ids in line");
        return false;
    }
    uint32_t at = 0;
    for (const orr_lane* lane = lanes->first; lane != NULL; lane = lane->next) {
        uint32_t used = lane_held_used(lane);
        if (used > 0) {
            memcpy(merge->held + at, lanes->held + lane->base, used * sizeof *merge->held);
            at += used;
        }
    }
    if (!orri_index_unhold(merge->world, merge->held, count)) {
        return false;
    }
    merge->held_count = count;
    return true;
}

void orri_held_retake(orri_merge* merge)
{
    // They are the next ones still, and their pages were written a moment ago.
    bool held = orri_index_hold(merge->world, merge->held, merge->held_count);
    ORR_ASSERT(held);
    (void)held;
}

static void lane_held_close_up(struct orri_lanes* lanes)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lanes->held_count; i++) {
        if (lanes->held[i].id != 0) {
            lanes->held[kept++] = lanes->held[i];
        }
    }
    lanes->held_count = kept;
}

void orri_held_forget(struct orri_lanes* lanes)
{
    for (const orr_lane* lane = lanes->first; lane != NULL; lane = lane->next) {
        for (uint32_t i = 0; i < lane_held_used(lane); i++) {
            lanes->held[lane->base + i].id = 0;
        }
    }
    lane_held_close_up(lanes);
}

// ---- of observers: one by one -----------------------------------------------------------------------------------

void orri_held_return_aside(orr_world* world, orr_entity entity)
{
    orri_apart_unhold(world, &entity, 1);
}

void orri_held_end_aside(orr_world* world, struct orri_lanes* lanes, orr_entity entity,
                         bool created)
{
    orr_entity again;
    if (!created) {
        bool held = orri_apart_hold(world, &again, 1); // It is the next one.
        ORR_ASSERT(held && again.id == entity.id);
        (void)held;
        return;
    }
    // They are created in the order in which they are held.
    for (uint32_t i = 0; i < lanes->held_count; i++) {
        uint32_t at = (lanes->held_next + i) % lanes->held_count;
        if (lanes->held[at].id == entity.id) {
            lanes->held[at].id = 0;
            lanes->held_next = at + 1;
            return;
        }
    }
}

void orri_held_forget_aside(struct orri_lanes* lanes)
{
    lane_held_close_up(lanes);
    lanes->held_next = 0;
}
