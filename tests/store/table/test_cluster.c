// SPDX-License-Identifier: MIT
// Clusters: which entities they hold, finding and deleting them, stale handles.
#include "support/growth_kit.h"
#include "support/store_kit.h"
#include "test.h"

#include <orrery/history.h>
#include <orrery/query.h>
#include <stdlib.h>

static bool same(orr_cluster a, orr_cluster b)
{
    return a.id == b.id && a.generation == b.generation;
}

/* N1-06 N1-07 N1-14 */
ORR_TEST(cluster_is_the_same_exactly_for_the_same_types_and_tags)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type p = KIT_TYPE(world, Position), h = KIT_TYPE(world, Health);
    orr_cluster ph = kit_cluster(world, (orr_type[]){p, h}, 2, NULL, 0);
    CHECK(same(ph, kit_cluster(world, (orr_type[]){h, p}, 2, NULL, 0)));
    orr_cluster just_p = kit_cluster(world, &p, 1, NULL, 0);
    CHECK(!same(ph, just_p));
    orr_cluster tagged = kit_cluster(world, (orr_type[]){p, h}, 2, (orr_tag[]){1, 2}, 2);
    CHECK(!same(ph, tagged));
    CHECK(same(tagged, kit_cluster(world, (orr_type[]){h, p}, 2, (orr_tag[]){2, 1}, 2)));
    CHECK(!same(tagged, kit_cluster(world, (orr_type[]){h, p}, 2, (orr_tag[]){2, 3}, 2)));
    CHECK(!same(kit_cluster(world, &p, 1, (orr_tag[]){0}, 1), just_p)); // 0 is a tag too.

    // An entity is in this cluster however it got its types and tags.
    orr_entity a = orr_create(world), b = orr_create(world);
    CHECK_OK(orr_add(world, a, Position));
    CHECK_OK(orr_add(world, a, Health));
    CHECK_OK(orr_add(world, b, Health));
    CHECK_OK(orr_add(world, b, Position));
    CHECK(same(orr_entity_cluster(world, a), ph));
    CHECK(same(orr_entity_cluster(world, b), ph));
    CHECK_OK(orr_tag_add(world, a, 2));
    CHECK_OK(orr_tag_add(world, a, 1));
    CHECK(same(orr_entity_cluster(world, a), tagged));
    CHECK(same(orr_entity_cluster(world, b), ph));
    kit_end(&k);
}

ORR_TEST(cluster_info_lists_types_and_tags_in_order)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type p = KIT_TYPE(world, Position), h = KIT_TYPE(world, Health);
    orr_cluster cluster =
        kit_cluster(world, (orr_type[]){h, p}, 2, (orr_tag[]){UINT64_MAX, 0, 7}, 3);
    orr_cluster_info info = kit_info(world, cluster);
    CHECK_EQ(info.type_count, 2);
    CHECK_EQ(info.types[0].id, p.id);
    CHECK_EQ(info.types[1].id, h.id);
    CHECK_EQ(info.tag_count, 3);
    CHECK_EQ(info.tags[0], 0);
    CHECK_EQ(info.tags[1], 7);
    CHECK_EQ(info.tags[2], UINT64_MAX);
    CHECK_EQ(info.row_count, 0);
    CHECK_EQ(info.chunk_count, 0);
    kit_end(&k);
}

ORR_TEST(cluster_find_creates_nothing)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type p = KIT_TYPE(world, Position);
    orr_tag tag = 4;
    orr_cluster_desc desc = {&p, 1, &tag, 1, NULL};
    CHECK_EQ(orr_cluster_find(world, &desc).id, 0);
    orr_world_stats stats;
    orr_world_stats_get(world, &stats);
    CHECK_EQ(stats.clusters, 0);
    CHECK_EQ(k.errors.count, 0);
    orr_cluster cluster = kit_cluster(world, &p, 1, &tag, 1);
    CHECK(same(orr_cluster_find(world, &desc), cluster));
    kit_end(&k);
}

ORR_TEST(cluster_types_macro_fills_desc_and_match)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster a, b;
    CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){ORR_TYPES(world, Position, Velocity)}, &a));
    b = KIT_CLUSTER(world, Velocity, Position);
    CHECK(same(a, b));
    CHECK_EQ(orr_clusters_find(world, &(orr_cluster_match){ORR_TYPES(world, Velocity)}, &b, 1), 1);
    CHECK(same(a, b));
    kit_end(&k);
}

/* N1-08 N0-59 */
ORR_TEST(cluster_memory_is_allocated_with_the_first_entity_and_freed_by_clearing)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_memory_stats memory;
    orr_cluster cluster = KIT_CLUSTER(world, Position, Big);
    orr_world_memory_get(world, &memory);
    CHECK_EQ(memory.by_purpose[ORR_MEMORY_COLUMN].bytes, 0);
    CHECK_EQ(kit_info(world, cluster).chunk_count, 0);
    orr_entity bob = orr_create_in(world, cluster);
    orr_world_memory_get(world, &memory);
    CHECK(memory.by_purpose[ORR_MEMORY_COLUMN].bytes > 0);
    CHECK_EQ(kit_info(world, cluster).chunk_count, 1);
    CHECK_OK(orr_destroy(world, bob)); // The chunk is parked.
    CHECK_EQ(kit_info(world, cluster).chunk_count, 0);
    CHECK_OK(orr_cluster_clear(world, cluster));
    orr_world_memory_get(world, &memory);
    CHECK_EQ(memory.by_purpose[ORR_MEMORY_COLUMN].bytes, 0);
    // The cluster stays, empty.
    orr_cluster_info info = kit_info(world, cluster);
    CHECK_EQ(info.row_count, 0);
    CHECK_EQ(info.chunk_count, 0);
    CHECK(same(orr_cluster_next(world, (orr_cluster){0, 0}), cluster));
    CHECK(orr_create_in(world, cluster).id != 0);
    kit_end(&k);
}

ORR_TEST(cluster_next_walks_in_creation_order)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster made[5], at = {0, 0};
    CHECK_EQ(orr_cluster_next(world, at).id, 0);
    for (orr_tag tag = 0; tag < 5; tag++) {
        orr_tag other = 100 - tag * 7 % 5; // Not ascending.
        made[tag] = kit_cluster(world, NULL, 0, &other, 1);
    }
    for (uint32_t i = 0; i < 5; i++) {
        at = orr_cluster_next(world, at);
        CHECK(same(at, made[i]));
    }
    CHECK_EQ(orr_cluster_next(world, at).id, 0);
    // A cluster with a reused index is last in the order, too.
    CHECK_OK(orr_cluster_delete(world, made[1]));
    orr_tag tag = 55;
    orr_cluster again = kit_cluster(world, NULL, 0, &tag, 1);
    CHECK_EQ(again.id, made[1].id);
    CHECK(again.generation != made[1].generation);
    CHECK(same(orr_cluster_next(world, made[0]), made[2]));
    CHECK(same(orr_cluster_next(world, made[4]), again));
    CHECK_EQ(orr_cluster_next(world, made[1]).id, 0);
    kit_end(&k);
}

static bool has_rows(void* user, const orr_world* world, orr_cluster cluster)
{
    (*(uint32_t*)user)++;
    return kit_rows(world, cluster) > 0;
}

/* N1-19 */
ORR_TEST(clusters_found_by_types_tags_and_predicate)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type p = KIT_TYPE(world, Position), h = KIT_TYPE(world, Health);
    orr_tag one = 1, two = 2;
    orr_cluster a = kit_cluster(world, &p, 1, NULL, 0);
    orr_cluster b = kit_cluster(world, (orr_type[]){p, h}, 2, NULL, 0);
    orr_cluster c = kit_cluster(world, (orr_type[]){p, h}, 2, &one, 1);
    orr_cluster d = kit_cluster(world, &h, 1, (orr_tag[]){1, 2}, 2);
    orr_cluster out[4];
    CHECK_EQ(orr_clusters_find(world, &(orr_cluster_match){0}, out, 4), 4);
    CHECK(same(out[0], a) && same(out[1], b) && same(out[2], c) && same(out[3], d));
    CHECK_EQ(orr_clusters_find(world, NULL, NULL, 0), 4);
    CHECK_EQ(orr_clusters_find(world, &(orr_cluster_match){.types = &p, .type_count = 1}, out, 4),
             3);
    CHECK(same(out[2], c));
    orr_cluster_match match = {.types = &p, .type_count = 1, .tags = &one, .tag_count = 1};
    CHECK_EQ(orr_clusters_find(world, &match, out, 4), 1);
    CHECK(same(out[0], c));
    match = (orr_cluster_match){
        .tags = &one, .tag_count = 1, .without_tags = &two, .without_tag_count = 1};
    CHECK_EQ(orr_clusters_find(world, &match, out, 4), 1);
    CHECK(same(out[0], c));
    match = (orr_cluster_match){
        .types = &p, .type_count = 1, .without_types = &h, .without_type_count = 1};
    CHECK_EQ(orr_clusters_find(world, &match, out, 4), 1);
    CHECK(same(out[0], a));
    // More clusters match than fit into the array: the result is their number.
    match = (orr_cluster_match){.types = &h, .type_count = 1};
    out[1] = a;
    CHECK_EQ(orr_clusters_find(world, &match, out, 1), 3);
    CHECK(same(out[0], b) && same(out[1], a));
    // The predicate is called only for clusters whose sets match.
    CHECK(orr_create_in(world, c).id != 0);
    uint32_t asked = 0;
    match.predicate = has_rows;
    match.user = &asked;
    CHECK_EQ(orr_clusters_find(world, &match, out, 4), 1);
    CHECK(same(out[0], c));
    CHECK_EQ(asked, 3);
    kit_end(&k);
}

ORR_TEST(cluster_cleared_stays_and_its_entities_are_dead)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Token, Position);
    orr_cluster other = KIT_CLUSTER(world, Token);
    static orr_entity ids[3000];
    CHECK_OK(orr_create_many(world, cluster, 3000, NULL, 0, ids));
    orr_entity bob = orr_create_in(world, other);
    uint64_t moves = kit_tokens.moves;
    CHECK_OK(orr_cluster_clear(world, cluster));
    CHECK_EQ(kit_tokens.destructs, 3000);
    CHECK_EQ(kit_tokens.destruct_calls, 2); // By chunk.
    CHECK_EQ(kit_tokens.moves, moves);
    CHECK_EQ(kit_rows(world, cluster), 0);
    CHECK_EQ(kit_info(world, cluster).chunk_count, 0);
    for (uint32_t i = 0; i < 3000; i++) {
        CHECK(!orr_alive(world, ids[i]));
    }
    CHECK(orr_alive(world, bob));
    CHECK_EQ(orr_entity_count(world), 1);
    CHECK_OK(orr_cluster_clear(world, cluster)); // Nothing to do.
    CHECK(orr_create_in(world, cluster).id != 0);
    kit_end(&k);
}

/* N1-21 */
ORR_TEST(cluster_deleted_destroys_its_entities_and_ends_its_handle)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type p = KIT_TYPE(world, Position);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Token);
    static orr_entity ids[5000];
    CHECK_OK(orr_create_many(world, cluster, 5000, NULL, 0, ids));
    CHECK_OK(orr_cluster_delete(world, cluster));
    CHECK_EQ(kit_tokens.destructs, 5000);
    CHECK_EQ(kit_tokens.destruct_calls, 3);
    CHECK_EQ(orr_entity_count(world), 0);
    for (uint32_t i = 0; i < 5000; i++) {
        CHECK(!orr_alive(world, ids[i]));
    }
    orr_cluster_info info;
    uint32_t count = 3;
    orr_entity out;
    CHECK_RESULT(orr_cluster_info_get(world, cluster, &info), ORR_ERR_CLUSTER);
    CHECK_RESULT(orr_cluster_delete(world, cluster), ORR_ERR_CLUSTER);
    CHECK_RESULT(orr_cluster_clear(world, cluster), ORR_ERR_CLUSTER);
    CHECK_EQ(orr_create_in(world, cluster).id, 0);
    CHECK_EQ(k.errors.result, ORR_ERR_CLUSTER);
    CHECK_EQ(orr_chunk_count(world, cluster, 0), 0);
    CHECK_EQ(orr_chunk_entities(world, cluster, 0, &out, 1), 0);
    CHECK(orr_column_read(world, cluster, 0, p) == NULL);
    CHECK(orr_column_write(world, cluster, 0, p) == NULL);
    CHECK(orr_column_enabled(world, cluster, 0, p) == NULL);
    CHECK_EQ(orr_column_tick(world, cluster, 0, p), 0);
    CHECK(orr_span_read(world, cluster, p, 0, &count) == NULL);
    CHECK_EQ(count, 0);
    // The same set again is another cluster, and the old handle stays stale.
    orr_cluster again = KIT_CLUSTER(world, Position, Token);
    CHECK_EQ(again.id, cluster.id);
    CHECK(again.generation != cluster.generation);
    CHECK_RESULT(orr_cluster_info_get(world, cluster, &info), ORR_ERR_CLUSTER);
    CHECK_CONTAINS(k.errors.text, "deleted");
    kit_end(&k);
}

ORR_TEST(cluster_indexes_are_reused_last_freed_first)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster made[4];
    for (orr_tag tag = 0; tag < 4; tag++) {
        made[tag] = kit_cluster(world, NULL, 0, &tag, 1);
    }
    CHECK_OK(orr_cluster_delete(world, made[0]));
    CHECK_OK(orr_cluster_delete(world, made[2]));
    orr_tag tags[3] = {10, 11, 12};
    CHECK_EQ(kit_cluster(world, NULL, 0, &tags[0], 1).id, made[2].id);
    CHECK_EQ(kit_cluster(world, NULL, 0, &tags[1], 1).id, made[0].id);
    CHECK_EQ(kit_cluster(world, NULL, 0, &tags[2], 1).id, 5);
    kit_end(&k);
}

/* N1-15 */
ORR_TEST(level_tag_finds_and_unloads_a_level)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type types[3] = {KIT_TYPE(world, Position), KIT_TYPE(world, Health),
                         KIT_TYPE(world, Token)};
    orr_tag levels[2] = {1, 2};
    for (uint32_t level = 0; level < 2; level++) {
        for (uint32_t n = 1; n <= 3; n++) {
            orr_cluster cluster = kit_cluster(world, types, n, &levels[level], 1);
            CHECK_OK(orr_create_many(world, cluster, 1000, NULL, 0, NULL));
        }
    }
    orr_cluster found[8];
    orr_cluster_match match = {.tags = &levels[0], .tag_count = 1};
    uint32_t count = orr_clusters_find(world, &match, found, 8);
    CHECK_EQ(count, 3);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_OK(orr_cluster_delete(world, found[i]));
    }
    CHECK_EQ(orr_entity_count(world), 3000);
    CHECK_EQ(orr_clusters_find(world, &match, found, 8), 0);
    CHECK_EQ(kit_tokens.destruct_calls, 1); // One chunk had tokens.
    CHECK_EQ(kit_tokens.live, 1000);
    kit_end(&k);
}

ORR_TEST(entities_destroy_all_leaves_clusters_types_and_tags)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster a = KIT_CLUSTER(world, Token), b = KIT_CLUSTER(world, Position);
    CHECK_OK(orr_tag_register(world, 3, "three"));
    CHECK_OK(orr_create_many(world, a, 10, NULL, 0, NULL));
    CHECK_OK(orr_create_many(world, b, 3000, NULL, 0, NULL));
    CHECK_OK(orr_entities_destroy_all(world));
    CHECK_EQ(orr_entity_count(world), 0);
    CHECK_EQ(kit_tokens.live, 0);
    CHECK_EQ(kit_rows(world, a), 0);
    CHECK_EQ(kit_rows(world, b), 0);
    CHECK(orr_type_find(world, "Token").id != 0);
    CHECK_STR(orr_tag_name(world, 3), "three");
    CHECK(orr_create_in(world, a).id != 0);
    kit_end(&k);
}

ORR_TEST(cluster_limits_are_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.clusters_max = 2});
    orr_tag tags[ORR_CLUSTER_TAGS_MAX + 1];
    for (uint32_t i = 0; i <= ORR_CLUSTER_TAGS_MAX; i++) {
        tags[i] = i;
    }
    orr_cluster out = {8, 8};
    orr_cluster_desc desc = {.tags = tags, .tag_count = ORR_CLUSTER_TAGS_MAX + 1};
    CHECK_RESULT(orr_cluster_get(world, &desc, &out), ORR_ERR_CAPACITY);
    CHECK_EQ(out.id, 8);
    desc.tag_count = ORR_CLUSTER_TAGS_MAX;
    CHECK_OK(orr_cluster_get(world, &desc, &out));
    orr_entity bob = orr_create_in(world, out);
    CHECK_RESULT(orr_tag_add(world, bob, 999), ORR_ERR_CAPACITY);
    CHECK(!orr_tag_has(world, bob, 999));
    CHECK_OK(orr_tag_add(world, bob, 5)); // It has this tag.
    CHECK(orr_create(world).id != 0);     // The second cluster.
    uint64_t hash = orr_world_hash(world);
    CHECK_RESULT(orr_set(world, bob, Position, {1, 2, 3}), ORR_ERR_CAPACITY);
    CHECK_CONTAINS(k.errors.text, "clusters");
    desc.tag_count = 1;
    CHECK_RESULT(orr_cluster_get(world, &desc, &out), ORR_ERR_CAPACITY);
    // Registering the type happened, as the call's first step; nothing else did.
    orr_type p = orr_type_find(world, "Position");
    CHECK(p.id != 0);
    CHECK(!orr_component_has(world, bob, p));
    (void)hash;
    kit_end(&k);
}

ORR_TEST(cluster_of_256_types_works_and_one_more_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    static orr_type types[ORR_CLUSTER_TYPES_MAX + 1];
    orr_field_desc field = {.name = "n", .type = ORR_TYPE(uint32_t)};
    for (uint32_t i = 0; i <= ORR_CLUSTER_TYPES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "T%u", i);
        orr_type_desc desc = {.name = name, .fields = &field, .field_count = 1};
        CHECK_OK(orr_type_register(world, &desc, &types[i]));
    }
    orr_cluster out = {8, 8};
    orr_cluster_desc desc = {.types = types, .type_count = ORR_CLUSTER_TYPES_MAX + 1};
    CHECK_RESULT(orr_cluster_get(world, &desc, &out), ORR_ERR_CAPACITY);
    desc.type_count = ORR_CLUSTER_TYPES_MAX;
    CHECK_OK(orr_cluster_get(world, &desc, &out));
    orr_entity bob = orr_create_in(world, out);
    for (uint32_t i = 0; i < ORR_CLUSTER_TYPES_MAX; i++) {
        *(uint32_t*)orr_component_edit(world, bob, types[i]) = i;
    }
    uint32_t one = 1;
    CHECK_RESULT(orr_component_set(world, bob, types[ORR_CLUSTER_TYPES_MAX], &one),
                 ORR_ERR_CAPACITY);
    CHECK_RESULT(orr_component_add(world, bob, types[ORR_CLUSTER_TYPES_MAX]), ORR_ERR_CAPACITY);
    CHECK_OK(orr_component_remove(world, bob, types[100]));
    CHECK_OK(orr_component_set(world, bob, types[ORR_CLUSTER_TYPES_MAX], &one));
    for (uint32_t i = 0; i < ORR_CLUSTER_TYPES_MAX; i++) {
        const uint32_t* value = orr_component_get(world, bob, types[i]);
        CHECK(i == 100 ? value == NULL : *value == i);
    }
    kit_end(&k);
}

ORR_TEST(thousands_of_clusters_stay_cheap)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    uint64_t before = k.memory.live_bytes;
    for (orr_tag tag = 0; tag < 4000; tag++) {
        orr_cluster cluster =
            kit_cluster(world, (orr_type[]){KIT_TYPE(world, Position)}, 1, &tag, 1);
        CHECK(orr_create_in(world, cluster).id != 0);
    }
    CHECK((k.memory.live_bytes - before) / 4000 < 2500);
    kit_end(&k);
}

/* N1-15 */
ORR_TEST(clusters_that_match_are_deleted_in_one_call)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_tag cave = 7, forest = 8;
    orr_type p = KIT_TYPE(world, Position), v = KIT_TYPE(world, Velocity);
    orr_cluster clusters[4];
    CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){&p, 1, &cave, 1, NULL}, &clusters[0]));
    CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){&v, 1, &cave, 1, NULL}, &clusters[1]));
    CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){&p, 1, &forest, 1, NULL}, &clusters[2]));
    CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){&p, 1, NULL, 0, NULL}, &clusters[3]));
    orr_entity first[4];
    for (int i = 0; i < 4; i++) {
        CHECK_OK(orr_create_many(world, clusters[i], 3000, NULL, 0, NULL));
        CHECK_EQ(orr_chunk_entities(world, clusters[i], 0, &first[i], 1), 1);
    }
    uint32_t count = 99;
    CHECK_OK(
        orr_clusters_delete(world, &(orr_cluster_match){.tags = &cave, .tag_count = 1}, &count));
    CHECK_EQ(count, 2);
    CHECK_EQ(orr_entity_count(world), 6000);
    for (int i = 0; i < 4; i++) {
        orr_cluster_info info;
        CHECK_EQ(orr_alive(world, first[i]), i >= 2);
        CHECK_RESULT(orr_cluster_info_get(world, clusters[i], &info),
                     i >= 2 ? ORR_OK : ORR_ERR_CLUSTER);
    }
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(
        orr_clusters_delete(world, &(orr_cluster_match){.tags = &cave, .tag_count = 1}, &count));
    CHECK_EQ(count, 0);
    CHECK_RESULT(orr_clusters_delete(world, NULL, NULL), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_clusters_delete(world, &(orr_cluster_match){.type_count = 1}, NULL),
                 ORR_ERR_ARGUMENT);
    CHECK_EQ(orr_entity_count(world), 6000);
    CHECK_OK(orr_clusters_delete(world, &(orr_cluster_match){0}, NULL));
    CHECK_EQ(orr_entity_count(world), 0);
    CHECK_EQ(orr_cluster_next(world, (orr_cluster){0}).id, 0);
    kit_end(&k);
}

ORR_TEST(clusters_are_deleted_by_the_lists_of_one_of_them)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_tag tag = 7;
    orr_type p = KIT_TYPE(world, Position), v = KIT_TYPE(world, Velocity);
    orr_cluster one, two;
    CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){&p, 1, &tag, 1, NULL}, &one));
    CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){&v, 1, &tag, 1, NULL}, &two));
    orr_cluster_info info = kit_info(world, one);
    uint32_t count = 0;
    CHECK_OK(orr_clusters_delete(
        world, &(orr_cluster_match){.tags = info.tags, .tag_count = info.tag_count}, &count));
    CHECK_EQ(count, 2);
    kit_end(&k);
}

// ---- growth -------------------------------------------------------------------------------------

ORR_STRUCT(Leader,
           (orr_entity, of, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_CLEAR)))

// Deletes n clusters with a common type one by one: the one at position i * step % n of the order of
// creation. `indexed`: the world has an indexed reference.
static void delete_in_steps(growth_clock* clock_of, uint32_t n, uint32_t step, bool indexed)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Position);
    orr_cluster* all = malloc(n * sizeof *all);
    for (uint32_t i = 0; i < n; i++) {
        orr_tag tag = i;
        all[i] = kit_cluster(world, &type, 1, &tag, 1);
    }
    if (indexed) {
        orr_set(world, orr_create(world), Leader, {orr_create(world)});
    }
    growth_begin(clock_of);
    for (uint32_t i = 0; i < n; i++) {
        CHECK_OK(orr_cluster_delete(world, all[(uint64_t)i * step % n]));
    }
    growth_end(clock_of);
    CHECK_OK(orr_world_validate(world));
    free(all);
    kit_end(&k);
}

static void delete_oldest_first(growth_clock* clock_of, uint32_t n)
{
    delete_in_steps(clock_of, n, 1, false);
}

static void delete_scattered(growth_clock* clock_of, uint32_t n)
{
    delete_in_steps(clock_of, n, 7919, false); // A prime, so every cluster is deleted once.
}

static void delete_indexed(growth_clock* clock_of, uint32_t n)
{
    delete_in_steps(clock_of, n, 1, true);
}

ORR_TEST(clusters_are_deleted_one_by_one_in_near_linear_time)
{
    CHECK_NEAR_LINEAR(delete_oldest_first, 6000);
    CHECK_NEAR_LINEAR(delete_scattered, 6000);
    CHECK_NEAR_LINEAR(delete_indexed, 1000);
}

// A deleted cluster leaves a gap in the lists of its types; loops and searches pass over it.
ORR_TEST(clusters_around_deleted_ones_are_found_in_order_of_creation)
{
    enum {
        COUNT = 100
    };
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Position);
    orr_cluster all[COUNT], found[COUNT];
    bool deleted[COUNT] = {false};
    for (uint32_t i = 0; i < COUNT; i++) {
        orr_tag tag = i;
        all[i] = kit_cluster(world, &type, 1, &tag, 1);
        CHECK(orr_create_in(world, all[i]).id != 0);
    }
    CHECK_OK(orr_remember(world));
    orr_tick_advance(world);
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK_OK(orr_cluster_delete(world, all[i * 37 % COUNT]));
        deleted[i * 37 % COUNT] = true;
        CHECK_OK(orr_world_validate(world));
        uint32_t left = COUNT - i - 1, at = 0;
        orr_cluster_match match = {.types = &type, .type_count = 1};
        CHECK_EQ(orr_clusters_find(world, &match, found, COUNT), left);
        for (uint32_t c = 0; c < COUNT; c++) {
            if (!deleted[c]) {
                CHECK_EQ(found[at++].id, all[c].id);
            }
        }
        CHECK_EQ(at, left);
        orr_query* query = orr_query_text(world, "Position");
        CHECK_EQ(orr_query_count(query), left);
        orr_query_destroy(query);
    }
    // Restored clusters come back in order of creation.
    CHECK_OK(orr_time_travel(world, 0));
    CHECK_OK(orr_world_validate(world));
    CHECK_EQ(orr_clusters_find(world, &(orr_cluster_match){.types = &type, .type_count = 1}, found,
                               COUNT),
             COUNT);
    for (uint32_t c = 0; c < COUNT; c++) {
        CHECK_EQ(found[c].id, all[c].id);
    }
    kit_end(&k);
}

static bool predicate_that_changes(void* user, const orr_world* world, orr_cluster cluster)
{
    orr_world* changed = (orr_world*)(uintptr_t)world;
    (void)cluster;
    *(uint32_t*)user += orr_clusters_delete(changed, &(orr_cluster_match){0}, NULL) ==
                            ORR_ERR_STATE &&
                        orr_create(changed).id == 0;
    orr_tick_advance(changed); // Ends all loops.
    return true;
}

ORR_TEST(clusters_delete_with_a_predicate_that_changes_the_world_refuses_the_change)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK_OK(orr_set(world, orr_create(world), Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, orr_create(world), Health, {1, 0}));
    uint32_t refused = 0, deleted = 0;
    CHECK_OK(orr_clusters_delete(
        world, &(orr_cluster_match){.predicate = predicate_that_changes, .user = &refused},
        &deleted));
    CHECK_EQ(refused, deleted);
    CHECK_EQ(deleted, 3);
    k.errors.count = 0;
    CHECK(orr_create(world).id != 0);
    kit_end(&k);
}
