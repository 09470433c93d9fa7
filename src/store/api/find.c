// SPDX-License-Identifier: MIT
// Clusters by description: checks and sorts a desc, gets or finds the cluster, walks all clusters,
// matches and deletes some.
#include "store/pool/pool.h"
#include "store/relation/relation.h"
#include "store/world/access.h"
#include <orrery/kinds.h>

// Insertion sort: sets are small and mostly sorted. False when a type is listed twice.
static bool find_sort_types(orr_type* types, uint16_t* capacities, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        orr_type type = types[i];
        uint16_t capacity = capacities[i];
        uint32_t j = i;
        for (; j > 0 && types[j - 1].id > type.id; j--) {
            types[j] = types[j - 1];
            capacities[j] = capacities[j - 1];
        }
        types[j] = type;
        capacities[j] = capacity;
        if (j > 0 && types[j - 1].id == type.id) {
            return false;
        }
    }
    return true;
}

static bool find_sort_tags(orr_tag* tags, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        orr_tag tag = tags[i];
        uint32_t j = i;
        for (; j > 0 && tags[j - 1] > tag; j--) {
            tags[j] = tags[j - 1];
        }
        tags[j] = tag;
        if (j > 0 && tags[j - 1] == tag) {
            return false;
        }
    }
    return true;
}

orr_result orri_check_storable(const orr_world* world, const char* call, orr_type type)
{
    const orri_type* found = orri_type_at(&world->schema, type);
    if (ORR_UNLIKELY(found == NULL)) {
        return orri_refuse_type(world, call, type);
    }
    if (ORR_UNLIKELY(orri_type_pinned(found))) {
        return orri_refuse_pinned(world, call, type);
    }
    return ORR_UNLIKELY(orri_type_pseudo(found)) ? orri_refuse_pseudo(world, call, found) : ORR_OK;
}

// Checks the number of instances that a row is to have room for; 0 means 1.
static orr_result find_check_capacity(const orr_world* world, const char* call, orr_type type,
                                      uint16_t wanted)
{
    const orri_type* found = orri_type_at(&world->schema, type);
    bool multiple = found->info.multiplicity == ORR_MULTIPLE;
    if (wanted > 1 && (!multiple || (wanted & (wanted - 1)) != 0)) {
        return orri_refuse(orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_CLUSTER_REFUSED,
                           "%s: capacity %u of %s is not allowed; %s", call, wanted,
                           found->info.name,
                           multiple ? "use a power of two" : "the type is unique, use 1");
    }
    if (wanted > ORR_INSTANCES_MAX || wanted * (uint64_t)found->info.size > ORR_VALUE_SIZE_MAX) {
        return orri_refuse(
            orri_env_of(world), ORR_ERR_CAPACITY, ORR_LOG_ID_CLUSTER_REFUSED,
            "%s: capacity %u of %s with %u bytes is too large; a row has at most %u instances "
            "and %u bytes of a type",
            call, wanted, found->info.name, found->info.size, ORR_INSTANCES_MAX,
            ORR_VALUE_SIZE_MAX);
    }
    return ORR_OK;
}

// A checked and sorted copy of a desc.
typedef struct find_set {
    orr_type types[ORR_CLUSTER_TYPES_MAX];
    uint16_t capacities[ORR_CLUSTER_TYPES_MAX];
    orr_tag tags[ORR_CLUSTER_TAGS_MAX];
} find_set;

static orr_result find_set_fill(const orr_world* world, const char* call,
                                const orr_cluster_desc* desc, find_set* set)
{
    if (desc == NULL || (desc->types == NULL && desc->type_count > 0) ||
        (desc->tags == NULL && desc->tag_count > 0)) {
        return orri_refuse_argument(world, call, "the desc, its types or its tags are NULL");
    }
    if (desc->type_count > ORR_CLUSTER_TYPES_MAX || desc->tag_count > ORR_CLUSTER_TAGS_MAX) {
        return orri_refuse(orri_env_of(world), ORR_ERR_CAPACITY, ORR_LOG_ID_CLUSTER_REFUSED,
                           "%s: %u types and %u tags; a cluster has at most %u types and %u tags",
                           call, desc->type_count, desc->tag_count, ORR_CLUSTER_TYPES_MAX,
                           ORR_CLUSTER_TAGS_MAX);
    }
    for (uint32_t i = 0; i < desc->type_count; i++) {
        uint16_t capacity = desc->capacities != NULL ? desc->capacities[i] : 1;
        orr_result result = orri_check_storable(world, call, desc->types[i]);
        if (result == ORR_OK) {
            result = find_check_capacity(world, call, desc->types[i], capacity);
        }
        if (result != ORR_OK) {
            return result;
        }
        set->types[i] = desc->types[i];
        set->capacities[i] = capacity > 0 ? capacity : 1;
    }
    if (desc->tag_count > 0) {
        memcpy(set->tags, desc->tags, desc->tag_count * sizeof *desc->tags);
    }
    if (!find_sort_types(set->types, set->capacities, desc->type_count) ||
        !find_sort_tags(set->tags, desc->tag_count)) {
        return orri_refuse_argument(world, call, "a type or tag is listed twice; list it once");
    }
    return ORR_OK;
}

orr_result orr_cluster_get(orr_world* world, const orr_cluster_desc* desc, orr_cluster* out)
{
    ORR_ASSERT(world != NULL);
    find_set set;
    orr_result result = orri_check_open(world, "orr_cluster_get");
    if (result != ORR_OK) {
        return result;
    }
    if (out == NULL) {
        return orri_refuse_argument(world, "orr_cluster_get", "out is NULL");
    }
    result = find_set_fill(world, "orr_cluster_get", desc, &set);
    if (result != ORR_OK) {
        return result;
    }
    bool created;
    orri_cluster* cluster = orri_cluster_obtain_sized(world, "orr_cluster_get", set.types,
                                                      set.capacities, desc->type_count, set.tags,
                                                      desc->tag_count, &created);
    if (cluster == NULL) {
        return orri_env_result(&world->env);
    }
    *out = orri_cluster_handle(cluster);
    return ORR_OK;
}

orr_cluster orr_cluster_find(const orr_world* world, const orr_cluster_desc* desc)
{
    ORR_ASSERT(world != NULL);
    find_set set;
    if (!orri_access_looks(world, "orr_cluster_find", (orr_entity){0}) ||
        find_set_fill(world, "orr_cluster_find", desc, &set) != ORR_OK) {
        return (orr_cluster){0};
    }
    const orri_cluster* cluster = orri_cluster_lookup_sized(
        world, set.types, set.capacities, desc->type_count, set.tags, desc->tag_count);
    return cluster != NULL ? orri_cluster_handle(cluster) : (orr_cluster){0};
}

orr_result orr_cluster_info_get(const orr_world* world, orr_cluster handle, orr_cluster_info* out)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_looks(world, "orr_cluster_info_get", (orr_entity){0})) {
        return ORR_ERR_STATE;
    }
    const orri_cluster* cluster = orri_cluster_at(world, handle);
    if (cluster == NULL) {
        return orri_refuse_cluster(world, "orr_cluster_info_get", handle);
    }
    if (out == NULL) {
        return orri_refuse_argument(world, "orr_cluster_info_get", "out is NULL");
    }
    *out = (orr_cluster_info){cluster->types,     cluster->type_count, cluster->tags,
                              cluster->tag_count, cluster->row_count,  cluster->chunk_count,
                              cluster->capacities};
    return ORR_OK;
}

orr_cluster orr_cluster_next(const orr_world* world, orr_cluster handle)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_looks(world, "orr_cluster_next", (orr_entity){0})) {
        return (orr_cluster){0};
    }
    const orri_cluster* next = NULL;
    if (handle.id == 0) {
        next = world->clusters.first;
    } else {
        const orri_cluster* cluster = orri_cluster_at(world, handle);
        next = cluster != NULL ? cluster->next : NULL;
    }
    return next != NULL ? orri_cluster_handle(next) : (orr_cluster){0};
}

// ---- finding ------------------------------------------------------------------------------------

const orri_table* orri_table_rarest(const orr_world* world, const orr_type* types, uint32_t count)
{
    const orri_table* rarest = NULL;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = orri_type_index(world, types[i]);
        const orri_table* table = index < world->tables.capacity
                                      ? (const orri_table*)(const void*)world->tables.list[index]
                                      : &orri_table_none;
        if (rarest == NULL ||
            table->cluster_count - table->gap_count < rarest->cluster_count - rarest->gap_count) {
            rarest = table;
        }
    }
    return rarest;
}

// True when the cluster satisfies all conditions of a match.
static bool find_matches(const orr_world* world, const orri_cluster* cluster,
                         const orr_cluster_match* match)
{
    for (uint32_t i = 0; i < match->type_count; i++) {
        if ((cluster->type_bloom >> (match->types[i].id & 63) & 1) == 0 ||
            orri_cluster_find_column(cluster, match->types[i]) < 0) {
            return false;
        }
    }
    for (uint32_t i = 0; i < match->tag_count; i++) {
        if (!orri_cluster_has_tag(cluster, match->tags[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < match->without_type_count; i++) {
        if (orri_cluster_find_column(cluster, match->without_types[i]) >= 0) {
            return false;
        }
    }
    for (uint32_t i = 0; i < match->without_tag_count; i++) {
        if (orri_cluster_has_tag(cluster, match->without_tags[i])) {
            return false;
        }
    }
    return match->predicate == NULL ||
           match->predicate(match->user, world, orri_cluster_handle(cluster));
}

// Refuses pinned types, which are not part of clusters.
static bool find_types_valid(const orr_world* world, const char* call, const orr_type* types,
                             uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const orri_type* found = orri_type_at(&world->schema, types[i]);
        if (found != NULL && orri_type_pinned(found)) {
            (void)orri_refuse_pinned(world, call, types[i]);
            return false;
        }
    }
    return true;
}

static bool find_match_valid(const orr_world* world, const char* call,
                             const orr_cluster_match* match)
{
    bool valid = (match->types != NULL || match->type_count == 0) &&
                 (match->tags != NULL || match->tag_count == 0) &&
                 (match->without_types != NULL || match->without_type_count == 0) &&
                 (match->without_tags != NULL || match->without_tag_count == 0);
    if (!valid) {
        (void)orri_refuse_argument(world, call,
                                   "a list of the match is NULL although its count is not 0");
    }
    return valid && find_types_valid(world, call, match->types, match->type_count) &&
           find_types_valid(world, call, match->without_types, match->without_type_count);
}

uint32_t orr_clusters_find(const orr_world* world, const orr_cluster_match* match, orr_cluster* out,
                           uint32_t out_count)
{
    ORR_ASSERT(world != NULL);
    static const orr_cluster_match all = {0};
    const orr_cluster_match* wanted = match != NULL ? match : &all;
    if (!orri_access_looks(world, "orr_clusters_find", (orr_entity){0}) ||
        !find_match_valid(world, "orr_clusters_find", wanted)) {
        return 0;
    }
    if (out == NULL && out_count > 0) {
        (void)orri_refuse_argument(world, "orr_clusters_find", "out is NULL");
        return 0;
    }
    uint32_t found = 0;
    const orri_table* table =
        wanted->type_count > 0 ? orri_table_rarest(world, wanted->types, wanted->type_count) : NULL;
    const orri_cluster* cluster = world->clusters.first;
    uint32_t count = table != NULL ? table->cluster_count : world->clusters.count;
    for (uint32_t i = 0; i < count; i++) {
        cluster = table != NULL ? table->clusters[i].cluster : cluster;
        if (cluster == NULL) {
            continue; // A gap.
        }
        if (find_matches(world, cluster, wanted)) {
            if (found < out_count) {
                out[found] = orri_cluster_handle(cluster);
            }
            found++;
        }
        cluster = cluster->next;
    }
    return found;
}

orr_result orr_clusters_delete(orr_world* world, const orr_cluster_match* match,
                               uint32_t* out_count)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_clusters_delete";
    ORR_ASSERT(world != NULL);
    orr_result result = orri_check_open(world, call);
    if (result != ORR_OK) {
        return result;
    }
    if (match == NULL) {
        return orri_refuse_argument(world, call,
                                    "match is NULL; use an empty match for all clusters");
    }
    if (!find_match_valid(world, call, match)) {
        return ORR_ERR_ARGUMENT;
    }
    if (!orri_index_prepare_all(world)) {
        return orri_refuse_memory(&world->env, "copying shared pages of the entity index");
    }
    // Match all clusters before any is deleted: the lists of the match may belong to a deleted
    // cluster, and a predicate must see the whole world.
    uint32_t count = 0;
    for (orri_cluster* cluster = world->clusters.first; cluster != NULL; cluster = cluster->next) {
        orri_loop_open(world); // So that the predicate cannot change the clusters.
        cluster->clearing = find_matches(world, cluster, match);
        orri_loop_close(world);
    }
    if (world->relations.count != 0) {
        result = orri_relation_destroy_clusters(world, call, NULL);
        for (orri_cluster* c = world->clusters.first; result != ORR_OK && c != NULL; c = c->next) {
            c->clearing = false;
        }
        if (result != ORR_OK) {
            return result;
        }
    }
    for (orri_cluster *cluster = world->clusters.first, *next; cluster != NULL; cluster = next) {
        next = cluster->next;
        if (cluster->clearing) {
            orri_cluster_destroy(world, cluster);
            count++;
        }
    }
    if (out_count != NULL) {
        *out_count = count;
    }
    return ORR_OK;
}
