// SPDX-License-Identifier: MIT
// Plans: how rows get from one cluster to another, worked out once per pair. A plan that adds or removes one
// type is also an edge, found by (cluster, type) without knowing the target. Plans are a cache, not state; they
// die with either cluster.
#include "store/table/required_types.h"

static uint32_t transition_bucket(const orr_world* world, uint64_t from, uint64_t key)
{
    return (uint32_t)orri_hash_word(from, key) & (world->transitions.bucket_count - 1);
}

static bool transition_grow_buckets(orr_world* world)
{
    if (world->transitions.count < world->transitions.bucket_count) {
        return true;
    }
    uint32_t old = world->transitions.bucket_count, count = old == 0 ? 16 : old * 2;
    orri_transition** pairs =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_CLUSTER, orri_transition*, count);
    orri_transition** edges =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_CLUSTER, orri_transition*, count);
    if (pairs == NULL || edges == NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, orri_transition*, pairs, count);
        ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, orri_transition*, edges, count);
        return false;
    }
    world->transitions.bucket_count = count;
    for (uint32_t i = 0; i < old; i++) {
        for (orri_transition *plan = world->transitions.pairs[i], *next; plan != NULL;
             plan = next) {
            next = plan->pair_next;
            uint32_t bucket = transition_bucket(world, plan->from->index, plan->to->index);
            plan->pair_next = pairs[bucket];
            pairs[bucket] = plan;
        }
        for (orri_transition *plan = world->transitions.edges[i], *next; plan != NULL;
             plan = next) {
            next = plan->edge_next;
            uint32_t bucket = transition_bucket(world, plan->from->index, plan->edge);
            plan->edge_next = edges[bucket];
            edges[bucket] = plan;
        }
    }
    ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, orri_transition*, world->transitions.pairs, old);
    ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, orri_transition*, world->transitions.edges, old);
    world->transitions.pairs = pairs;
    world->transitions.edges = edges;
    return true;
}

static size_t transition_bytes(const orri_cluster* from, const orri_cluster* to)
{
    return sizeof(orri_transition) +
           (from->column_count + from->type_count) * sizeof(orri_transition_pair) +
           (from->type_count + to->type_count) * sizeof(uint16_t);
}

static void transition_keep(orri_transition* plan, uint32_t f, uint32_t t)
{
    plan->kept[plan->kept_count++] =
        (orri_transition_pair){(uint16_t)f, (uint16_t)t, plan->from->columns[f].size};
}

// A multiple type that stays: with its counts and ids, or with another capacity.
static void transition_keep_multiple(orri_transition* plan, uint32_t f, uint32_t t)
{
    const orri_cluster *from = plan->from, *to = plan->to;
    if (from->capacities[f] != to->capacities[t]) {
        plan->resized[plan->resized_count++] = (orri_transition_pair){(uint16_t)f, (uint16_t)t, 0};
        return;
    }
    uint32_t f_counts = from->columns[f].counts, t_counts = to->columns[t].counts;
    transition_keep(plan, f, t);
    transition_keep(plan, f_counts, t_counts);
    transition_keep(plan, f_counts + 1, t_counts + 1);
}

// Both type lists are ascending: one merge tells what stays, goes and comes.
static void transition_fill(orri_transition* plan)
{
    const orri_cluster *from = plan->from, *to = plan->to;
    plan->kept = (orri_transition_pair*)(void*)(plan + 1);
    plan->resized = plan->kept + from->column_count;
    plan->added = (uint16_t*)(void*)(plan->resized + from->type_count);
    plan->dropped = plan->added + to->type_count;
    plan->plain = plan->dropped_plain = plan->simple = true;
    uint32_t f = 0, t = 0;
    while (f < from->type_count || t < to->type_count) {
        uint32_t from_type = f < from->type_count ? from->types[f].id : UINT32_MAX;
        uint32_t to_type = t < to->type_count ? to->types[t].id : UINT32_MAX;
        if (from_type == to_type) {
            plan->plain = plan->plain && from->columns[f].type->plain;
            if (from->columns[f].counts != 0) {
                transition_keep_multiple(plan, f++, t++);
            } else {
                transition_keep(plan, f++, t++);
            }
        } else if (from_type < to_type) {
            plan->dropped[plan->dropped_count++] = (uint16_t)f;
            plan->dropped_plain = plan->dropped_plain && from->columns[f].type->plain;
            plan->indexed = plan->indexed || from->columns[f].by_value;
            f++;
        } else {
            const orri_type* type = to->columns[t].type;
            plan->simple = plan->simple && type->plain && type->zero_preset &&
                           to->columns[t].counts == 0;
            plan->indexed = plan->indexed || to->columns[t].by_value;
            plan->added[plan->new_count++] = (uint16_t)t++;
        }
    }
    plan->simple = plan->simple && plan->plain && plan->dropped_plain && plan->resized_count == 0;
}

static void transition_link(orr_world* world, orri_transition* plan)
{
    uint32_t bucket = transition_bucket(world, plan->from->index, plan->to->index);
    plan->pair_next = world->transitions.pairs[bucket];
    world->transitions.pairs[bucket] = plan;
    plan->from_next = plan->from->plans_from;
    if (plan->from_next != NULL) {
        plan->from_next->from_prev = plan;
    }
    plan->from->plans_from = plan;
    plan->to_next = plan->to->plans_to;
    if (plan->to_next != NULL) {
        plan->to_next->to_prev = plan;
    }
    plan->to->plans_to = plan;
    world->transitions.count++;
}

static orri_transition* transition_create(orr_world* world, orri_cluster* from, orri_cluster* to)
{
    orri_transition* plan = NULL;
    if (transition_grow_buckets(world)) {
        plan = orri_alloc_zero(&world->env, ORR_MEMORY_CLUSTER, transition_bytes(from, to),
                               _Alignof(orri_transition));
    }
    if (plan == NULL) {
        (void)orri_refuse_memory(&world->env, "planning a move between clusters");
        return NULL;
    }
    plan->from = from;
    plan->to = to;
    transition_fill(plan);
    transition_link(world, plan);
    return plan;
}

orri_transition* orri_transition_pair_get(orr_world* world, orri_cluster* from, orri_cluster* to)
{
    if (world->transitions.bucket_count > 0) {
        orri_transition* plan =
            world->transitions.pairs[transition_bucket(world, from->index, to->index)];
        while (plan != NULL && (plan->from != from || plan->to != to)) {
            plan = plan->pair_next;
        }
        if (plan != NULL) {
            return plan;
        }
    }
    return transition_create(world, from, to);
}

// The types of the target of an edge.
static uint32_t transition_edge_types(const orri_cluster* from, orr_type type, int direction,
                                      orr_type* out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < from->type_count; i++) {
        if (direction == ORRI_EDGE_ADD && count == i && from->types[i].id > type.id) {
            out[count++] = type;
        }
        if (direction == ORRI_EDGE_ADD || from->types[i].id != type.id) {
            out[count++] = from->types[i];
        }
    }
    if (direction == ORRI_EDGE_ADD && count == from->type_count) {
        out[count++] = type;
    }
    return count;
}

// Makes the plan to a target that is known by now an edge.
static orri_transition* transition_edge_link(orr_world* world, orri_cluster* from, orri_cluster* to,
                                             uint64_t edge, bool created)
{
    orri_transition* plan = orri_transition_pair_get(world, from, to);
    if (plan != NULL && plan->edge != 0) {
        plan =
            transition_create(world, from, to); // Types that need each other: two edges to one set.
    }
    if (plan == NULL) {
        if (created) {
            orri_cluster_undo(world, to);
        }
        return NULL;
    }
    plan->edge = edge;
    uint32_t bucket = transition_bucket(world, from->index, edge);
    plan->edge_next = world->transitions.edges[bucket];
    world->transitions.edges[bucket] = plan;
    return plan;
}

static orri_transition* transition_edge_create(orr_world* world, const char* call,
                                               orri_cluster* from, orr_type type, int direction,
                                               bool* created)
{
    orr_type types[2 * ORR_CLUSTER_TYPES_MAX + 1];
    if (orri_check_storable(world, call, type) != ORR_OK ||
        orri_required_types_resolve(world, call, type) != ORR_OK ||
        (direction == ORRI_EDGE_REMOVE &&
         orri_required_types_check_remove(world, call, from, (orr_entity){0}, type) != ORR_OK)) {
        return NULL;
    }
    uint32_t count = transition_edge_types(from, type, direction, types);
    if (direction == ORRI_EDGE_ADD) {
        count = orri_required_types_close(world, type, types, count);
    }
    orri_cluster* to = orri_cluster_obtain_like(world, call, from, types, count, from->tags,
                                                from->tag_count, created);
    return to != NULL ? transition_edge_link(world, from, to,
                                             (uint64_t)type.id << 1 | (unsigned)direction, *created)
                      : NULL;
}

static orri_transition* transition_edge_look_up(orr_world* world, orri_cluster* from, uint64_t edge)
{
    orri_transition* plan = NULL;
    if (ORR_LIKELY(world->transitions.bucket_count > 0)) {
        plan = world->transitions.edges[transition_bucket(world, from->index, edge)];
        while (plan != NULL && (plan->from != from || plan->edge != edge)) {
            plan = plan->edge_next;
        }
    }
    return plan;
}

orri_transition* orri_transition_edge_find(orr_world* world, const char* call, orri_cluster* from,
                                           orr_type type, int direction, bool* created)
{
    orri_transition* plan =
        transition_edge_look_up(world, from, (uint64_t)type.id << 1 | (unsigned)direction);
    if (plan != NULL) {
        from->edge_last = plan;
        return plan;
    }
    return transition_edge_create(world, call, from, type, direction, created);
}

orri_transition* orri_transition_resize(orr_world* world, const char* call, orri_cluster* from,
                                        uint32_t column, uint16_t capacity, bool* created)
{
    // Above the bits of a type and a direction.
    uint64_t edge = (uint64_t)capacity << 40 | (uint64_t)from->types[column].id << 1;
    orri_transition* plan = transition_edge_look_up(world, from, edge);
    *created = false;
    if (plan != NULL) {
        return plan;
    }
    uint16_t capacities[ORR_CLUSTER_TYPES_MAX];
    memcpy(capacities, from->capacities, from->type_count * sizeof *capacities);
    capacities[column] = capacity;
    orri_cluster* to = orri_cluster_obtain_sized(world, call, from->types, capacities,
                                                 from->type_count, from->tags, from->tag_count,
                                                 created);
    return to != NULL ? transition_edge_link(world, from, to, edge, *created) : NULL;
}

static void transition_destroy(orr_world* world, orri_transition* plan)
{
    if (plan->from->edge_last == plan) {
        plan->from->edge_last = NULL;
    }
    orri_transition** link =
        &world->transitions.pairs[transition_bucket(world, plan->from->index, plan->to->index)];
    while (*link != plan) {
        link = &(*link)->pair_next;
    }
    *link = plan->pair_next;
    if (plan->edge != 0) {
        link = &world->transitions.edges[transition_bucket(world, plan->from->index, plan->edge)];
        while (*link != plan) {
            link = &(*link)->edge_next;
        }
        *link = plan->edge_next;
    }
    *(plan->from_prev != NULL ? &plan->from_prev->from_next : &plan->from->plans_from) =
        plan->from_next;
    if (plan->from_next != NULL) {
        plan->from_next->from_prev = plan->from_prev;
    }
    *(plan->to_prev != NULL ? &plan->to_prev->to_next : &plan->to->plans_to) = plan->to_next;
    if (plan->to_next != NULL) {
        plan->to_next->to_prev = plan->to_prev;
    }
    world->transitions.count--;
    orri_free(&world->env, ORR_MEMORY_CLUSTER, plan, transition_bytes(plan->from, plan->to),
              _Alignof(orri_transition));
}

void orri_transitions_drop(orr_world* world, orri_cluster* cluster)
{
    while (cluster->plans_from != NULL) {
        transition_destroy(world, cluster->plans_from);
    }
    while (cluster->plans_to != NULL) {
        transition_destroy(world, cluster->plans_to);
    }
}
