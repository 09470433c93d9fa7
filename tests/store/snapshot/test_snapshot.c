// SPDX-License-Identifier: MIT
// Snapshots taken and restored, one kind of change at a time; their cost; memory refused at every
// step. Random tests against full copies are in tests/model.
#include "store/publish/publish.h"
#include "store/relation/relation.h"
#include "store/snapshot/snapshot_detail.h"
#include "support/pinned_kit.h"
#include "test.h"

#include <stdlib.h>

#define CAPACITY ORR_CHUNK_CAPACITY
#define PEOPLE   40u

ORR_STRUCT_EX(Shard, (.multiplicity = ORR_MULTIPLE), (int32_t, size, (.preset = "7")))
ORR_STRUCT_EX(Spark, (.multiplicity = ORR_MULTIPLE, .hooks = &kit_token_hooks), (TokenCell, cell))
ORR_STRUCT(Parent,
           (orr_entity, entity, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_DESTROY)))
ORR_STRUCT_EX(Sprite, (.transient = true), (uint32_t, image, (.preset = "3")))

// ---- a world with something of everything -------------------------------------------------------

typedef struct all {
    kit kit;
    orr_world* world;
    orr_entity people[PEOPLE]; // Position, Token, Label, and more for some.
    orr_cluster plain;         // Position and Velocity, many rows.
    orr_entity crowd[CAPACITY + 300];
    const Ghost* ghost; // Of people[4].
} all;

static all a;

static orr_string text_of(const char* text)
{
    orr_string string = orr_string_make(a.world, text);
    CHECK(string.id != 0);
    return string;
}

static void all_people(void)
{
    orr_world* world = a.world;
    for (uint32_t i = 0; i < PEOPLE; i++) {
        char name[16];
        orr_entity e = a.people[i] = orr_create(world);
        snprintf(name, sizeof name, "bob%u", i);
        Token token = kit_token(i);
        CHECK_OK(orr_set(world, e, Position, {(float)i, 0, 0}));
        CHECK_OK(orr_put(world, e, Token, &token));
        CHECK_OK(orr_set(world, e, Label, {text_of(name), (int32_t)i}));
        if (i % 2 == 0) {
            Ghost ghost = KIT_GHOST(i);
            CHECK_OK(orr_set(world, e, Body, {(int32_t)i, 1}));
            CHECK_OK(orr_put(world, e, Ghost, &ghost));
            CHECK_OK(orr_set(world, e, Sign, {text_of(name), 3}));
            CHECK_OK(orr_name_set(world, e, (orr_entity){0}, name));
        }
        if (i % 5 == 1) {
            CHECK_OK(orr_add(world, e, Frozen));
            CHECK_OK(orr_set(world, e, Parent, {a.people[0]}));
            CHECK_OK(orr_tag_add(world, e, 77));
        }
        if (i % 5 == 2) {
            CHECK_OK(orr_add(world, e, Shard));
            CHECK_OK(orr_add(world, e, Spark));
        }
    }
}

static void all_begin(void)
{
    a = (all){0};
    a.world = kit_begin(&a.kit, NULL);
    a.plain = KIT_CLUSTER(a.world, Position, Velocity);
    CHECK_OK(orr_create_many(a.world, a.plain, CAPACITY + 300, NULL, 0, a.crowd));
    all_people();
    CHECK_OK(orr_tag_register(a.world, 77, "seventyseven"));
    CHECK(orr_world_entity(a.world).id != 0);
    CHECK_OK(orr_destroy(a.world, a.people[39])); // Something free.
    orr_tick_advance(a.world);
    a.ghost = orr_get(a.world, a.people[4], Ghost);
}

static orri_snapshot* take(void)
{
    orri_snapshot* snapshot = orri_snapshot_take(a.world);
    CHECK(snapshot != NULL && !orri_snapshot_lost(snapshot));
    return snapshot;
}

static void go_back(orri_snapshot* snapshot)
{
    orri_restore* way = NULL;
    CHECK_OK(orri_snapshot_restore_prepare(a.world, snapshot, &way));
    orri_snapshot_restore(a.world, way);
    CHECK_OK(orr_world_validate(a.world));
    CHECK_EQ(kit_tokens.broken, 0);
}

// ---- one kind of change at a time ---------------------------------------------------------------

static void change_nothing_but_tick(void)
{
    orr_tick_advance(a.world);
}

static void change_plain(void)
{
    orr_edit(a.world, a.people[3], Position)->x = 99;
    ((Position*)orr_column_write(a.world, a.plain, 1, KIT_TYPE(a.world, Position)))[7].y = 5;
}

static void change_hooked(void)
{
    Token token = kit_token(1000);
    CHECK_OK(orr_put(a.world, a.people[3], Token, &token));
    CHECK_OK(orr_remove(a.world, a.people[8], Token));
}

static void change_owned(void)
{
    CHECK_OK(orr_set(a.world, a.people[3], Label, {text_of("somebody else"), 3}));
    CHECK_OK(orr_set(a.world, a.people[4], Sign, {text_of("keep out"), 4}));
}

static void change_multiple(void)
{
    orr_type shard = KIT_TYPE(a.world, Shard), spark = KIT_TYPE(a.world, Spark);
    Spark more = {kit_token(5).cell};
    for (uint32_t i = 0; i < 5; i++) {
        CHECK(orr_instance_add(a.world, a.people[2], shard, &(Shard){(int32_t)i}) != 0);
        CHECK(orr_instance_add(a.world, a.people[7], spark, &more) != 0);
    }
}

static void change_multiple_in_place(void)
{
    const orr_component_id* ids = NULL;
    CHECK_EQ(orr_instances_get(a.world, a.people[2], KIT_TYPE(a.world, Shard), NULL, &ids), 1);
    Shard* shard = orr_instance_edit(a.world, a.people[2], KIT_TYPE(a.world, Shard), ids[0]);
    shard->size = -1;
}

static void change_switches(void)
{
    CHECK_OK(orr_enable(a.world, a.people[3], Position, false));
    CHECK_OK(orr_entity_enable(a.world, a.people[5], false));
    CHECK_OK(orr_enable(a.world, a.people[4], Body, false));
    CHECK_OK(orr_enable(a.world, a.people[2], Shard, false));
}

static void change_markers_and_tags(void)
{
    CHECK_OK(orr_remove(a.world, a.people[1], Frozen));
    CHECK_OK(orr_add(a.world, a.people[8], Frozen));
    CHECK_OK(orr_tag_add(a.world, a.people[8], 78));
    CHECK_OK(orr_tag_remove(a.world, a.people[1], 77));
    CHECK_OK(orr_tag_register(a.world, 78, "seventyeight"));
}

static void change_pinned(void)
{
    CHECK_OK(orr_remove(a.world, a.people[4], Ghost));
    CHECK_OK(orr_remove(a.world, a.people[6], Body));
    CHECK_OK(orr_add(a.world, a.people[5], Body));
    CHECK_OK(orr_add(a.world, a.people[9], Ghost)); // Where that of people[4] was.
    orr_edit(a.world, a.people[8], Body)->mass = 1234;
}

static void change_names(void)
{
    CHECK_OK(orr_name_set(a.world, a.people[2], (orr_entity){0}, "alice"));
    CHECK_OK(orr_name_set(a.world, a.people[4], (orr_entity){0}, NULL));
    CHECK_OK(orr_name_set(a.world, a.people[5], a.people[2], "bob4"));
}

static void change_relations(void)
{
    CHECK_OK(orr_set(a.world, a.people[6], Parent, {a.people[10]}));
    CHECK_OK(orr_destroy(a.world, a.people[0])); // And all entities that have it as parent.
}

static void change_ids(void)
{
    orr_entity made[3000];
    CHECK_OK(orr_destroy_many(a.world, a.crowd + 100, 2000));
    CHECK_OK(orr_create_many(a.world, a.plain, 3000, NULL, 0, made));
    CHECK_OK(orr_destroy_many(a.world, made, 10));
    CHECK_OK(orr_destroy(a.world, orr_world_entity(a.world)));
}

static void change_all_gone(void)
{
    CHECK_OK(orr_entities_destroy_all(a.world));
}

static void change_clusters(void)
{
    CHECK_OK(orr_cluster_delete(a.world, a.plain));
    orr_cluster made = KIT_CLUSTER(a.world, Velocity, Health);
    CHECK_EQ(made.id, a.plain.id);
    (void)KIT_CLUSTER(a.world, Velocity, Big);
    CHECK_OK(orr_create_many(a.world, made, 30, NULL, 0, NULL));
}

// The chunk of few rows becomes a full one, with the same id.
static void change_growth(void)
{
    orr_cluster cluster = orr_entity_cluster(a.world, a.people[3]);
    CHECK_OK(orr_create_many(a.world, cluster, 2 * CAPACITY, NULL, 0, NULL));
}

// Whole chunks change cluster, with their ids and holders.
static void change_relink(void)
{
    orr_cluster to = KIT_CLUSTER(a.world, Position, Velocity, Health);
    CHECK_OK(orr_rows_move_all(a.world, a.plain, to));
}

static void change_relink_and_back(void)
{
    orr_cluster to = KIT_CLUSTER(a.world, Position, Velocity, Health);
    CHECK_OK(orr_rows_move_all(a.world, a.plain, to));
    orr_tick_advance(a.world);
    CHECK_OK(orr_rows_move_all(a.world, to, a.plain));
}

static void change_relink_drop(void)
{
    orr_cluster from = orr_entity_cluster(a.world, a.people[3]), to = KIT_CLUSTER(a.world, Token);
    CHECK_OK(orr_rows_move_all(a.world, from, to));
    CHECK_OK(orr_rows_move_all(a.world, a.plain, KIT_CLUSTER(a.world, Velocity, Label)));
}

typedef struct change {
    const char* name;
    void (*make)(void);
} change;

#define CHANGE(name)         \
    {                        \
#name, change_##name \
    }
static const change changes[] = {CHANGE(nothing_but_tick), CHANGE(plain),
                                 CHANGE(hooked),           CHANGE(owned),
                                 CHANGE(multiple),         CHANGE(multiple_in_place),
                                 CHANGE(switches),         CHANGE(markers_and_tags),
                                 CHANGE(pinned),           CHANGE(names),
                                 CHANGE(relations),        CHANGE(ids),
                                 CHANGE(all_gone),         CHANGE(clusters),
                                 CHANGE(growth),           CHANGE(relink),
                                 CHANGE(relink_and_back),  CHANGE(relink_drop)};
#undef CHANGE
#define CHANGES (sizeof changes / sizeof changes[0])

static void check_as_it_was(void)
{
    orr_world* world = a.world;
    orr_tag tag = 0;
    CHECK_EQ(orr_world_tick(world), 1);
    CHECK_EQ(orr_get(world, a.people[3], Position)->x, 3);
    CHECK_EQ(orr_get(world, a.people[3], Token)->cell.payload, 3);
    CHECK_STR(orr_string_text(world, orr_get(world, a.people[3], Label)->text), "bob3");
    CHECK(orr_enabled(world, a.people[3], Position) && orr_entity_enabled(world, a.people[5]));
    CHECK(orr_has(world, a.people[1], Frozen) && !orr_has(world, a.people[8], Frozen));
    CHECK(orr_get(world, a.people[4], Ghost) == a.ghost); // At its address.
    CHECK_EQ(a.ghost->cell.payload, 4);
    CHECK_EQ(orr_get(world, a.people[8], Body)->mass, 8);
    CHECK(orr_find(world, (orr_entity){0}, "bob4").id == a.people[4].id);
    CHECK(orr_find(world, (orr_entity){0}, "alice").id == 0);
    CHECK_EQ(orr_referrers_get(world, a.people[0], KIT_TYPE(world, Parent), NULL, NULL, 0), 8);
    CHECK(orr_tag_find(world, "seventyseven", &tag) && !orr_tag_find(world, "seventyeight", &tag));
    CHECK_EQ(kit_rows(world, a.plain), CAPACITY + 300);
    CHECK(orr_alive(world, a.crowd[150]) && !orr_alive(world, a.people[39]));
    for (uint32_t i = 0; i < PEOPLE - 1; i++) {
        CHECK(kit_token_sound(orr_get(world, a.people[i], Token)));
    }
}

ORR_TEST(snapshot_restored_after_each_change_gives_the_same_state)
{
    for (uint32_t i = 0; i < CHANGES; i++) {
        all_begin();
        uint64_t before = orr_world_hash(a.world);
        orri_snapshot* snapshot = take();
        CHECK_EQ(orr_world_hash(a.world), before); // A snapshot does not change the hash.
        changes[i].make();
        uint64_t after = orr_world_hash(a.world);
        CHECK(after != before); // Otherwise the change tests nothing.
        go_back(snapshot);
        CHECK_EQ(orr_world_hash(a.world), before);
        check_as_it_was();
        changes[i].make(); // Repeated, it gives the same state.
        CHECK_EQ(orr_world_hash(a.world), after);
        CHECK_OK(orr_world_validate(a.world));
        orri_snapshot* later = take();
        go_back(snapshot);
        CHECK_EQ(orr_world_hash(a.world), before);
        go_back(later); // Forward again.
        CHECK_EQ(orr_world_hash(a.world), after);
        go_back(snapshot);
        check_as_it_was();
        orri_snapshot_release(a.world, snapshot);
        orri_snapshot_release(a.world, later);
        CHECK(a.world->cow.snapshots == NULL && a.world->cow.live == 0);
        kit_end(&a.kit);
    }
}

// One snapshot after each change; all are restored in any order and released in any order.
ORR_TEST(snapshots_of_many_moments_are_restored_and_released_in_any_order)
{
    orri_snapshot* snapshots[CHANGES];
    uint64_t hashes[CHANGES];
    all_begin();
    // The last changes need data that earlier changes remove, so each begins with the first state.
    orri_snapshot* first = take();
    for (uint32_t i = 0; i < CHANGES; i++) {
        go_back(first);
        changes[i].make();
        snapshots[i] = take();
        hashes[i] = orr_world_hash(a.world);
    }
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t which = (uint32_t)orr_random_below(orr_random(test_seed(), i, 0, 0), CHANGES);
        go_back(snapshots[which]);
        CHECK_EQ(orr_world_hash(a.world), hashes[which]);
    }
    orri_snapshot_release(a.world, first);
    for (uint32_t left = CHANGES; left > 0; left--) {
        uint32_t which = (uint32_t)orr_random_below(orr_random(test_seed(), left, 1, 0), left);
        uint32_t other = (uint32_t)orr_random_below(orr_random(test_seed(), left, 2, 0), left);
        go_back(snapshots[other]);
        CHECK_EQ(orr_world_hash(a.world), hashes[other]);
        orri_snapshot_release(a.world, snapshots[which]);
        snapshots[which] = snapshots[left - 1];
        hashes[which] = hashes[left - 1];
    }
    CHECK_EQ(a.world->cow.live, 0);
    kit_end(&a.kit);
}

// ---- versions and ticks -------------------------------------------------------------------------

ORR_TEST(snapshot_restored_sets_ticks_back_and_versions_forward)
{
    all_begin();
    orr_type position = KIT_TYPE(a.world, Position);
    orri_snapshot* snapshot = take();
    uint64_t tick = orr_column_tick(a.world, a.plain, 0, position);
    orr_tick_advance(a.world);
    orr_edit(a.world, a.crowd[0], Position)->x = 1;
    uint64_t version = orr_column_version(a.world, a.plain, 0, position);
    uint64_t other = orr_column_version(a.world, a.plain, 1, position);
    CHECK(orr_column_tick(a.world, a.plain, 0, position) != tick);
    go_back(snapshot);
    CHECK_EQ(orr_column_tick(a.world, a.plain, 0, position), tick);
    CHECK(orr_column_version(a.world, a.plain, 0, position) > version);
    // Nothing was written there.
    CHECK_EQ(orr_column_version(a.world, a.plain, 1, position), other);
    orri_snapshot_release(a.world, snapshot);
    kit_end(&a.kit);
}

// Removed rows are a change of their cluster, even if none of its blocks is replaced.
ORR_TEST(snapshot_restored_with_fewer_chunks_stamps_the_cluster)
{
    all_begin();
    CHECK_OK(orr_destroy_many(a.world, a.crowd + CAPACITY, 300));
    const orri_cluster* cluster = orri_cluster_at(a.world, a.plain);
    CHECK_EQ(cluster->chunk_count, 1);
    orri_snapshot* snapshot = take();
    CHECK_OK(orr_create_many(a.world, a.plain, 10, NULL, 0, NULL));
    CHECK_EQ(cluster->chunk_count, 2);
    uint64_t version = cluster->columns[cluster->type_count].version;
    go_back(snapshot);
    CHECK_EQ(cluster->chunk_count, 1);
    CHECK(cluster->columns[cluster->type_count].version > version);
    orri_snapshot_release(a.world, snapshot);
    kit_end(&a.kit);
}

// Instance ids are not part of the hash, but the same ids are given again.
ORR_TEST(snapshot_restored_gives_the_same_instance_ids_again)
{
    all_begin();
    orr_type shard = KIT_TYPE(a.world, Shard);
    orri_snapshot* snapshot = take();
    orr_component_id first = orr_instance_add(a.world, a.people[2], shard, &(Shard){1});
    orr_component_id second = orr_instance_add(a.world, a.people[7], shard, &(Shard){1});
    go_back(snapshot);
    CHECK(orr_instance_get(a.world, a.people[2], shard, first) == NULL);
    CHECK_EQ(orr_instance_add(a.world, a.people[2], shard, &(Shard){1}), first);
    CHECK_EQ(orr_instance_add(a.world, a.people[7], shard, &(Shard){1}), second);
    orri_snapshot_release(a.world, snapshot);
    kit_end(&a.kit);
}

// Values that were not written stay in their blocks, and the others return to theirs: columns keep
// their addresses.
ORR_TEST(snapshot_restored_keeps_the_addresses_of_blocks)
{
    all_begin();
    orr_type position = KIT_TYPE(a.world, Position);
    const void* blocks[2] = {orr_column_read(a.world, a.plain, 0, position),
                             orr_column_read(a.world, a.plain, 1, position)};
    orri_snapshot* snapshot = take();
    orr_edit(a.world, a.crowd[0], Position)->x = 1;
    CHECK(orr_column_read(a.world, a.plain, 0, position) == blocks[0]);
    go_back(snapshot);
    CHECK(orr_column_read(a.world, a.plain, 0, position) == blocks[0]);
    CHECK(orr_column_read(a.world, a.plain, 1, position) == blocks[1]);
    orri_snapshot_release(a.world, snapshot);
    kit_end(&a.kit);
}

// ---- transient data -----------------------------------------------------------------------------

ORR_TEST(snapshot_restored_keeps_transient_values_of_live_entities)
{
    all_begin();
    orri_snapshot* snapshot = take();
    orr_entity young = orr_create(a.world), ghost = orr_create_transient(a.world);
    CHECK_OK(orr_set(a.world, young, Sprite, {1}));
    CHECK_OK(orr_set(a.world, ghost, Sprite, {2}));
    CHECK_OK(orr_set(a.world, a.people[3], Sprite, {5}));
    orr_tick_advance(a.world);
    go_back(snapshot);
    CHECK(!orr_alive(a.world, young));
    CHECK_EQ(orr_pinned_count(a.world, KIT_TYPE(a.world, Sprite)), 2);
    CHECK_EQ(orr_get(a.world, a.people[3], Sprite)->image, 5);
    CHECK_EQ(orr_get(a.world, ghost, Sprite)->image, 2);
    CHECK_EQ(orr_create(a.world).id, young.id);
    CHECK(!orr_has(a.world, young, Sprite));
    orri_snapshot_release(a.world, snapshot);
    kit_end(&a.kit);
}

// A chunk of transient entities has taken a chunk id of the snapshot: the restore gives it another
// id.
ORR_TEST(snapshot_restored_keeps_transient_entities_that_use_its_chunk_ids)
{
    all_begin();
    orri_snapshot* snapshot = take();
    uint64_t before = orr_world_hash(a.world);
    orr_entity transient[CAPACITY + 10];
    CHECK_OK(orr_entities_destroy_all(a.world));
    for (uint32_t i = 0; i < CAPACITY + 10; i++) {
        transient[i] = orr_create_transient(a.world);
        CHECK(transient[i].id != 0);
    }
    CHECK_OK(orr_set(a.world, transient[CAPACITY + 3], Sprite, {9}));
    go_back(snapshot);
    CHECK_EQ(orr_world_hash(a.world), before);
    CHECK_EQ(orr_transient_count(a.world), CAPACITY + 10);
    CHECK_EQ(orr_get(a.world, transient[CAPACITY + 3], Sprite)->image, 9);
    for (uint32_t i = 0; i < CAPACITY + 10; i += 3) {
        CHECK_OK(orr_destroy(a.world, transient[i]));
    }
    CHECK_OK(orr_world_validate(a.world));
    CHECK_OK(orr_create_many(a.world, a.plain, 5000, NULL, 0, NULL));
    orri_snapshot_release(a.world, snapshot);
    kit_end(&a.kit);
}

// ---- costs --------------------------------------------------------------------------------------

static uint64_t bytes_of(const orri_snapshot* snapshot, uint64_t round, uint64_t* shared)
{
    uint64_t own = 0;
    orri_snapshot_bytes(snapshot, round, &own, shared);
    return own;
}

ORR_TEST(snapshots_of_an_unchanged_world_share_all_nodes)
{
    all_begin();
    uint64_t shared, second_shared;
    orri_snapshot *first = take(), *second = take();
    CHECK_EQ(first->cluster_count, second->cluster_count);
    for (uint32_t i = 0; i < first->cluster_count; i++) {
        CHECK(first->clusters[i] == second->clusters[i]);
    }
    for (uint32_t i = 0; i < first->pool_count; i++) {
        CHECK(first->pools[i] == second->pools[i]);
    }
    CHECK(first->tags == second->tags);
    uint64_t own = bytes_of(first, 1, &shared);
    uint64_t more = bytes_of(second, 1, &second_shared);
    CHECK(shared > (CAPACITY + 300) * (sizeof(Position) + sizeof(Velocity)));
    CHECK_EQ(second_shared, 0); // All counted already.
    CHECK(more < own / 4);
    CHECK(bytes_of(second, 2, &second_shared) > more); // Another round counts again.
    CHECK_EQ(second_shared, shared);
    orri_snapshot_release(a.world, first);
    orri_snapshot_release(a.world, second);
    kit_end(&a.kit);
}

// A write costs one copy of its block, whichever snapshot shares it.
ORR_TEST(snapshot_costs_the_blocks_that_are_written)
{
    all_begin();
    uint64_t shared, shared_after;
    orri_snapshot *first = take(), *second = take();
    uint64_t own = bytes_of(first, 1, &shared);
    uint64_t live = a.kit.memory.live_bytes;
    ((Position*)orr_column_write(a.world, a.plain, 0, KIT_TYPE(a.world, Position)))[0].x = 1;
    orr_edit(a.world, a.crowd[1], Position)->x = 1;
    uint64_t block = CAPACITY * sizeof(Position);
    CHECK_EQ(bytes_of(first, 2, &shared_after), own + block);
    CHECK_EQ(shared_after, shared - block);
    CHECK_EQ(a.kit.memory.live_bytes, live + block);
    orri_snapshot* third = take(); // It shares all nodes of `second` but one.
    uint32_t same = 0;
    for (uint32_t i = 0; i < third->cluster_count; i++) {
        same += third->clusters[i] == second->clusters[i];
    }
    CHECK_EQ(same, third->cluster_count - 1);
    go_back(first);
    CHECK_EQ(bytes_of(first, 3, &shared_after), own); // The block is shared again.
    orri_snapshot_release(a.world, second);
    orri_snapshot_release(a.world, first);
    orri_snapshot_release(a.world, third);
    kit_end(&a.kit);
}

// ---- refusals -----------------------------------------------------------------------------------

ORR_TEST(snapshot_refused_memory_shares_nothing)
{
    all_begin();
    uint64_t hash = orr_world_hash(a.world), bytes = a.kit.memory.live_bytes;
    uint64_t n = 1;
    for (;; n++) {
        failing_alloc_arm(&a.kit.memory, n, n % 2 == 0);
        orri_snapshot* snapshot = orri_snapshot_take(a.world);
        bool refused = a.kit.memory.refused > 0;
        failing_alloc_arm(&a.kit.memory, 0, false);
        CHECK((snapshot == NULL) == refused);
        if (snapshot != NULL) {
            orri_snapshot_release(a.world, snapshot);
            break;
        }
        CHECK_RESULT(a.kit.errors.result, ORR_ERR_MEMORY);
        CHECK(a.world->cow.live == 0 && a.world->cow.snapshots == NULL);
        CHECK_EQ(a.kit.memory.live_bytes, bytes);
        CHECK_EQ(orr_world_hash(a.world), hash);
    }
    CHECK(n > 50);
    kit_end(&a.kit);
}

// Memory is refused at each step of preparing the restore: neither the world nor any snapshot
// changes.
ORR_TEST(snapshot_restore_refused_memory_changes_nothing)
{
    for (uint32_t i = 0; i < CHANGES; i++) {
        all_begin();
        orri_snapshot* snapshot = take();
        uint64_t before = orr_world_hash(a.world);
        changes[i].make();
        orri_snapshot* later = take();
        uint64_t after = orr_world_hash(a.world);
        for (uint64_t n = 1;; n++) {
            orri_restore* way = NULL;
            failing_alloc_arm(&a.kit.memory, n, n % 2 == 0);
            orr_result result = orri_snapshot_restore_prepare(a.world, snapshot, &way);
            failing_alloc_arm(&a.kit.memory, 0, false);
            CHECK(!orri_snapshot_lost(snapshot) && !orri_snapshot_lost(later));
            if (result == ORR_OK) {
                orri_snapshot_restore_cancel(a.world, way);
                CHECK_EQ(orr_world_hash(a.world), after);
                CHECK_OK(orr_world_validate(a.world));
                break;
            }
            CHECK_RESULT(result, ORR_ERR_MEMORY);
            CHECK_EQ(orr_world_hash(a.world), after);
            CHECK_OK(orr_world_validate(a.world));
        }
        go_back(snapshot);
        CHECK_EQ(orr_world_hash(a.world), before);
        go_back(later);
        CHECK_EQ(orr_world_hash(a.world), after);
        orri_snapshot_release(a.world, snapshot);
        orri_snapshot_release(a.world, later);
        kit_end(&a.kit);
    }
}

static void write_position(void)
{
    orr_edit(a.world, a.crowd[0], Position)->x = 1;
}

static void write_token(void)
{
    orr_edit(a.world, a.people[3], Token)->cell.payload = 77;
}

static void write_body(void)
{
    orr_edit(a.world, a.people[4], Body)->mass = 77;
}

static void write_ghost(void)
{
    orr_edit(a.world, a.people[4], Ghost)->cell.payload = 77;
}

static void write_record(void)
{
    CHECK_OK(orr_destroy(a.world, a.crowd[CAPACITY + 299]));
}

static void write_row(void)
{
    CHECK(orr_create_in(a.world, a.plain).id != 0);
}

// A write is never refused because of a snapshot: the snapshot is lost instead, and nothing else
// is.
ORR_TEST(snapshot_with_a_refused_copy_is_lost_and_the_write_succeeds)
{
    void (*const writes[])(void) = {write_position, write_token,  write_body,
                                    write_ghost,    write_record, write_row};
    for (uint32_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        all_begin();
        a.kit.errors.count = 0;
        orri_snapshot* snapshot = take();
        uint64_t before = orr_world_hash(a.world);
        failing_alloc_arm(&a.kit.memory, 1, true);
        writes[i]();
        CHECK(a.kit.memory.refused > 0);
        failing_alloc_arm(&a.kit.memory, 0, false);
        CHECK_EQ(a.kit.errors.count, 0);
        CHECK(orri_snapshot_lost(snapshot));
        CHECK(orr_world_hash(a.world) != before);
        CHECK_OK(orr_world_validate(a.world));
        orri_restore* way = NULL;
        CHECK_RESULT(orri_snapshot_restore_prepare(a.world, snapshot, &way), ORR_ERR_PAST);
        CHECK_CONTAINS(orr_error_last(a.world), "tick 1 is lost");
        orri_snapshot* next = take();
        uint64_t shared;
        CHECK(bytes_of(snapshot, 1, &shared) > 0);
        change_plain();
        change_pinned();
        go_back(next);
        orri_snapshot_release(a.world, snapshot);
        orri_snapshot_release(a.world, next);
        kit_end(&a.kit);
    }
}

// A hook that refuses to copy has the effect of refused memory.
ORR_TEST(snapshot_with_a_refusing_hook_is_lost)
{
    all_begin();
    orri_snapshot* snapshot = take();
    kit_tokens.refuse_after = 1;
    write_token();
    write_ghost();
    kit_tokens.refuse_after = 0;
    CHECK(orri_snapshot_lost(snapshot));
    orri_snapshot_release(a.world, snapshot);
    kit_end(&a.kit);
}

ORR_TEST(snapshot_in_a_loop_or_with_an_open_appender_is_refused)
{
    all_begin();
    orr_appender appender;
    orri_snapshot* snapshot = take();
    orri_restore* way = NULL;
    CHECK_OK(orr_append_begin(a.world, a.plain, NULL, 0, &appender));
    CHECK(orri_snapshot_take(a.world) == NULL);
    CHECK_RESULT(a.kit.errors.result, ORR_ERR_STATE);
    CHECK_RESULT(orri_snapshot_restore_prepare(a.world, snapshot, &way), ORR_ERR_STATE);
    orr_append_end(&appender);
    orri_snapshot_release(a.world, snapshot);
    kit_end(&a.kit);
}

// A publisher does not prevent snapshots. The snapshot is restored after the publisher is
// destroyed.
ORR_TEST(snapshot_taken_with_a_publisher_is_restored_without_it)
{
    all_begin();
    orri_publisher* publisher = orri_publisher_create(a.world);
    CHECK(publisher != NULL);
    orri_snapshot* snapshot = take();
    uint64_t hash = orr_world_hash(a.world), shared = 0;
    (void)bytes_of(snapshot, 1, &shared);
    CHECK(shared > 0);
    change_pinned();
    orri_publisher_destroy(publisher);
    change_ids();
    go_back(snapshot);
    CHECK_EQ(orr_world_hash(a.world), hash);
    orri_snapshot_release(a.world, snapshot);
    kit_end(&a.kit);
}

#undef CAPACITY
#undef PEOPLE
#undef CHANGES
