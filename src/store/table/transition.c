// SPDX-License-Identifier: MIT
// Transitions: how rows move from one cluster to another, worked out once per pair. A transition
// that adds or removes one type is also an edge, found by (cluster, type, direction) without
// knowing the target. Transitions are a cache, not state; they are freed with either cluster.
#include "store/table/required_types.h"

// Bucket of (source, target) or (source, edge).
static uint32_t transition_bucket(const orr_world* world, uint64_t from, uint64_t key)
{
    return (uint32_t)orri_hash_word(from, key) & (world->transitions.bucket_count - 1);
}

// Doubles both hash tables when they are full.
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
        for (orri_transition *transition = world->transitions.pairs[i], *next; transition != NULL;
             transition = next) {
            next = transition->pair_next;
            uint32_t bucket =
                transition_bucket(world, transition->from->index, transition->to->index);
            transition->pair_next = pairs[bucket];
            pairs[bucket] = transition;
        }
        for (orri_transition *transition = world->transitions.edges[i], *next; transition != NULL;
             transition = next) {
            next = transition->edge_next;
            uint32_t bucket = transition_bucket(world, transition->from->index, transition->edge);
            transition->edge_next = edges[bucket];
            edges[bucket] = transition;
        }
    }
    ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, orri_transition*, world->transitions.pairs, old);
    ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, orri_transition*, world->transitions.edges, old);
    world->transitions.pairs = pairs;
    world->transitions.edges = edges;
    return true;
}

// Bytes of a transition, which is one allocation with its lists.
static size_t transition_bytes(const orri_cluster* from, const orri_cluster* to)
{
    return sizeof(orri_transition) +
           (from->column_count + from->type_count) * sizeof(orri_transition_pair) +
           (from->type_count + to->type_count) * sizeof(uint16_t);
}

// Adds a pair of columns to the kept ones.
static void transition_keep(orri_transition* transition, uint32_t f, uint32_t t)
{
    uint32_t size = transition->from->columns[f].size;
    transition->kept[transition->kept_count++] =
        (orri_transition_pair){(uint16_t)f, (uint16_t)t, size};
    transition->words = transition->words && orri_size_short(size);
}

// A multiple type that is kept: with its counts and ids, or resized to another capacity.
static void transition_keep_multiple(orri_transition* transition, uint32_t f, uint32_t t)
{
    const orri_cluster *from = transition->from, *to = transition->to;
    if (from->capacities[f] != to->capacities[t]) {
        transition->resized[transition->resized_count++] =
            (orri_transition_pair){(uint16_t)f, (uint16_t)t, 0};
        return;
    }
    uint32_t f_counts = from->columns[f].counts, t_counts = to->columns[t].counts;
    transition_keep(transition, f, t);
    transition_keep(transition, f_counts, t_counts);
    transition_keep(transition, f_counts + 1, t_counts + 1);
}

// True for an added column whose value is zero or, if it is given, a copy of its bytes.
static bool transition_zeroed(const orri_cluster_column* column)
{
    const orri_type* type = column->type;
    return type->trivial && type->zero_preset && !type->info.has_padding && column->counts == 0 &&
           orri_size_short(column->size);
}

// Both type lists ascend: one merge finds the kept, dropped and added types.
ORRI_COLD static void transition_fill(orri_transition* transition)
{
    const orri_cluster *from = transition->from, *to = transition->to;
    transition->kept = (orri_transition_pair*)(void*)(transition + 1);
    transition->resized = transition->kept + from->column_count;
    transition->added = (uint16_t*)(void*)(transition->resized + from->type_count);
    transition->dropped = transition->added + to->type_count;
    transition->plain = transition->dropped_plain = transition->words = true;
    uint32_t f = 0, t = 0;
    while (f < from->type_count || t < to->type_count) {
        uint32_t from_type = f < from->type_count ? from->types[f].id : UINT32_MAX;
        uint32_t to_type = t < to->type_count ? to->types[t].id : UINT32_MAX;
        if (from_type == to_type) {
            transition->plain = transition->plain && from->columns[f].type->trivial;
            if (from->columns[f].counts != 0) {
                transition_keep_multiple(transition, f++, t++);
            } else {
                transition_keep(transition, f++, t++);
            }
        } else if (from_type < to_type) {
            transition->dropped[transition->dropped_count++] = (uint16_t)f;
            transition->dropped_plain = transition->dropped_plain && from->columns[f].type->trivial;
            transition->indexed = transition->indexed || from->columns[f].by_value;
            f++;
        } else {
            transition->indexed = transition->indexed || to->columns[t].by_value;
            transition->words = transition->words && transition_zeroed(&to->columns[t]);
            transition->added[transition->new_count++] = (uint16_t)t++;
        }
    }
    transition->words = transition->words && transition->plain && transition->dropped_plain &&
                        transition->resized_count == 0 && !transition->indexed;
}

// Enters a transition into the look-up by pair, and into the lists of both clusters.
static void transition_link(orr_world* world, orri_transition* transition)
{
    uint32_t bucket = transition_bucket(world, transition->from->index, transition->to->index);
    transition->pair_next = world->transitions.pairs[bucket];
    world->transitions.pairs[bucket] = transition;
    transition->from_next = transition->from->transitions_from;
    if (transition->from_next != NULL) {
        transition->from_next->from_prev = transition;
    }
    transition->from->transitions_from = transition;
    transition->to_next = transition->to->transitions_to;
    if (transition->to_next != NULL) {
        transition->to_next->to_prev = transition;
    }
    transition->to->transitions_to = transition;
    world->transitions.count++;
}

// Makes a transition. NULL when refused (reported).
ORRI_COLD static orri_transition* transition_create(orr_world* world, orri_cluster* from,
                                                    orri_cluster* to)
{
    orri_transition* transition = NULL;
    if (transition_grow_buckets(world)) {
        transition = orri_alloc_zero(&world->env, ORR_MEMORY_CLUSTER, transition_bytes(from, to),
                                     _Alignof(orri_transition));
    }
    if (transition == NULL) {
        (void)orri_refuse_memory(&world->env, "making a transition between clusters");
        return NULL;
    }
    transition->from = from;
    transition->to = to;
    transition_fill(transition);
    transition_link(world, transition);
    return transition;
}

orri_transition* orri_transition_pair_get(orr_world* world, orri_cluster* from, orri_cluster* to)
{
    if (world->transitions.bucket_count > 0) {
        orri_transition* transition =
            world->transitions.pairs[transition_bucket(world, from->index, to->index)];
        while (transition != NULL && (transition->from != from || transition->to != to)) {
            transition = transition->pair_next;
        }
        if (transition != NULL) {
            return transition;
        }
    }
    return transition_create(world, from, to);
}

// The types of an edge's target, without required types. Returns their number.
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

// Makes the transition to the target an edge.
static orri_transition* transition_edge_link(orr_world* world, orri_cluster* from, orri_cluster* to,
                                             uint64_t edge, bool created)
{
    orri_transition* transition = orri_transition_pair_get(world, from, to);
    if (transition != NULL && transition->edge != 0) {
        transition =
            // Types that require each other: two edges lead to one set.
            transition_create(world, from, to);
    }
    if (transition == NULL) {
        if (created) {
            orri_cluster_undo(world, to);
        }
        return NULL;
    }
    transition->edge = edge;
    uint32_t bucket = transition_bucket(world, from->index, edge);
    transition->edge_next = world->transitions.edges[bucket];
    world->transitions.edges[bucket] = transition;
    return transition;
}

// Finds or creates the target of an edge, then the transition. NULL when refused (reported).
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

// A known edge of a cluster; NULL: not made yet.
static orri_transition* transition_edge_look_up(orr_world* world, orri_cluster* from, uint64_t edge)
{
    orri_transition* transition = NULL;
    if (ORR_LIKELY(world->transitions.bucket_count > 0)) {
        transition = world->transitions.edges[transition_bucket(world, from->index, edge)];
        while (transition != NULL && (transition->from != from || transition->edge != edge)) {
            transition = transition->edge_next;
        }
    }
    return transition;
}

orri_transition* orri_transition_edge_find(orr_world* world, const char* call, orri_cluster* from,
                                           orr_type type, int direction, bool* created)
{
    orri_transition* transition =
        transition_edge_look_up(world, from, (uint64_t)type.id << 1 | (unsigned)direction);
    if (transition != NULL) {
        from->edge_last = transition;
        return transition;
    }
    return transition_edge_create(world, call, from, type, direction, created);
}

orri_transition* orri_transition_resize(orr_world* world, const char* call, orri_cluster* from,
                                        uint32_t column, uint16_t capacity, bool* created)
{
    // The capacity is above the bits of type and direction.
    uint64_t edge = (uint64_t)capacity << 40 | (uint64_t)from->types[column].id << 1;
    orri_transition* transition = transition_edge_look_up(world, from, edge);
    *created = false;
    if (transition != NULL) {
        return transition;
    }
    uint16_t capacities[ORR_CLUSTER_TYPES_MAX];
    memcpy(capacities, from->capacities, from->type_count * sizeof *capacities);
    capacities[column] = capacity;
    orri_cluster* to = orri_cluster_obtain_sized(world, call, from->types, capacities,
                                                 from->type_count, from->tags, from->tag_count,
                                                 created);
    return to != NULL ? transition_edge_link(world, from, to, edge, *created) : NULL;
}

// Removes a transition from all lists and frees it.
static void transition_destroy(orr_world* world, orri_transition* transition)
{
    if (transition->from->edge_last == transition) {
        transition->from->edge_last = NULL;
    }
    orri_transition** link =
        &world->transitions
             .pairs[transition_bucket(world, transition->from->index, transition->to->index)];
    while (*link != transition) {
        link = &(*link)->pair_next;
    }
    *link = transition->pair_next;
    if (transition->edge != 0) {
        link = &world->transitions
                    .edges[transition_bucket(world, transition->from->index, transition->edge)];
        while (*link != transition) {
            link = &(*link)->edge_next;
        }
        *link = transition->edge_next;
    }
    *(transition->from_prev != NULL ? &transition->from_prev->from_next
                                    : &transition->from->transitions_from) = transition->from_next;
    if (transition->from_next != NULL) {
        transition->from_next->from_prev = transition->from_prev;
    }
    *(transition->to_prev != NULL ? &transition->to_prev->to_next
                                  : &transition->to->transitions_to) = transition->to_next;
    if (transition->to_next != NULL) {
        transition->to_next->to_prev = transition->to_prev;
    }
    world->transitions.count--;
    orri_free(&world->env, ORR_MEMORY_CLUSTER, transition,
              transition_bytes(transition->from, transition->to), _Alignof(orri_transition));
}

void orri_transitions_drop(orr_world* world, orri_cluster* cluster)
{
    while (cluster->transitions_from != NULL) {
        transition_destroy(world, cluster->transitions_from);
    }
    while (cluster->transitions_to != NULL) {
        transition_destroy(world, cluster->transitions_to);
    }
}
