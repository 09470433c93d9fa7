// SPDX-License-Identifier: MIT
// Entities: ids, creation and destruction, and stale ids.
#include "support/store_kit.h"
#include "test.h"

#include <stdlib.h>

/* N1-03 N2-19 N2-13 */
ORR_TEST(entity_created_is_alive_and_without_components)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK_EQ(orr_entity_count(world), 0);
    CHECK(!orr_alive(world, (orr_entity){0}));
    orr_entity bob = orr_create(world);
    CHECK(bob.id != 0);
    CHECK(orr_alive(world, bob));
    CHECK(orr_entity_enabled(world, bob));
    CHECK_EQ(orr_entity_count(world), 1);
    orr_cluster_info info = kit_info(world, orr_entity_cluster(world, bob));
    CHECK_EQ(info.type_count, 0);
    CHECK_EQ(info.tag_count, 0);
    CHECK_EQ(info.row_count, 1);
    // The id may be stored in another entity at once.
    orr_entity eve = orr_create(world);
    CHECK_OK(orr_set(world, eve, Link, {bob, 1}));
    CHECK_EQ(orr_get(world, eve, Link)->target.id, bob.id);
    kit_end(&k);
}

ORR_TEST(entity_ids_are_unique_while_alive)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    enum {
        COUNT = 5000
    };
    static orr_entity ids[COUNT];
    CHECK_OK(orr_create_many(world, kit_cluster(world, NULL, 0, NULL, 0), COUNT, NULL, 0, ids));
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK(ids[i].id != 0);
        CHECK(i == 0 || ids[i].id > ids[i - 1].id);
        CHECK(orr_alive(world, ids[i]));
    }
    kit_end(&k);
}

/* N2-16 */
ORR_TEST(entity_destroyed_is_dead_and_its_index_comes_back_with_another_generation)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK_OK(orr_destroy(world, bob));
    CHECK(!orr_alive(world, bob));
    CHECK(orr_alive(world, eve));
    CHECK_EQ(orr_entity_count(world), 1);
    CHECK_RESULT(orr_destroy(world, bob), ORR_ERR_ENTITY);
    orr_entity next = orr_create(world);
    CHECK(next.id != bob.id);
    CHECK_EQ((uint32_t)next.id, (uint32_t)bob.id); // The last freed index is used first.
    CHECK(!orr_alive(world, bob));
    CHECK(orr_alive(world, next));
    kit_end(&k);
}

ORR_TEST(entity_free_list_gives_the_last_freed_first)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity a = orr_create(world), b = orr_create(world), c = orr_create(world);
    CHECK_OK(orr_destroy(world, a));
    CHECK_OK(orr_destroy(world, c));
    CHECK_OK(orr_destroy(world, b));
    CHECK_EQ((uint32_t)orr_create(world).id, (uint32_t)b.id);
    CHECK_EQ((uint32_t)orr_create(world).id, (uint32_t)c.id);
    CHECK_EQ((uint32_t)orr_create(world).id, (uint32_t)a.id);
    CHECK_EQ((uint32_t)orr_create(world).id, 3);
    kit_end(&k);
}

ORR_TEST(entity_many_generations_are_all_different)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    uint64_t last = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        orr_entity id = orr_create(world);
        CHECK(id.id > last); // One index, growing generations.
        last = id.id;
        CHECK_OK(orr_destroy(world, id));
    }
    kit_end(&k);
}

ORR_TEST(entity_of_a_world_with_another_salt_is_refused)
{
    kit a = {0}, b = {0};
    kit_begin(&a, &(orr_world_desc){.id_salt = 1});
    kit_begin(&b, &(orr_world_desc){.id_salt = ORR_SALT_MAX});
    orr_entity foreign = orr_create(a.world);
    orr_entity own = orr_create(b.world);
    CHECK(foreign.id != own.id);
    CHECK(orr_alive(a.world, foreign));
    CHECK(!orr_alive(b.world, foreign));
    CHECK(!orr_alive(a.world, own));
    CHECK_RESULT(orr_destroy(b.world, foreign), ORR_ERR_ENTITY);
    CHECK_CONTAINS(b.errors.text, "0v1s1");
    CHECK_CONTAINS(b.errors.text, "salt");
    CHECK(orr_alive(b.world, own));
    kit_end(&a);
    kit_end(&b);
}

ORR_TEST(entity_ids_never_given_are_not_alive)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_destroy(world, orr_create(world)));
    CHECK(!orr_alive(world, (orr_entity){bob.id + 1000}));
    CHECK(!orr_alive(world, (orr_entity){bob.id + ((uint64_t)1 << 32)}));
    CHECK(!orr_alive(world, (orr_entity){UINT64_MAX}));
    CHECK(!orr_alive(world, (orr_entity){(uint64_t)0x80000000u << 32}));
    CHECK(!orr_alive(world, (orr_entity){(uint64_t)0x80000002u << 32 | 1}));
    CHECK(!orr_alive(world, (orr_entity){UINT32_MAX}));
    kit_end(&k);
}

ORR_TEST(entity_beyond_the_limit_of_the_desc_is_refused_until_one_is_destroyed)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.entities_max = 3});
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_entity ids[3] = {{7}, {7}, {7}};
    CHECK_RESULT(orr_create_many(world, cluster, 4, NULL, 0, NULL), ORR_ERR_CAPACITY);
    CHECK_EQ(orr_entity_count(world), 0);
    CHECK_OK(orr_create_many(world, cluster, 3, NULL, 0, ids));
    CHECK_EQ(orr_create(world).id, 0);
    CHECK_EQ(k.errors.result, ORR_ERR_CAPACITY);
    CHECK_CONTAINS(k.errors.text, "entities_max");
    CHECK_EQ(orr_copy(world, ids[0]).id, 0);
    CHECK_EQ(k.errors.result, ORR_ERR_CAPACITY);
    CHECK_OK(orr_destroy(world, ids[1]));
    CHECK(orr_create(world).id != 0);
    CHECK_EQ(orr_create(world).id, 0);
    kit_end(&k);
}

// ---- references ---------------------------------------------------------------------------------

/* N2-16 */
ORR_TEST(reference_to_a_dead_entity_is_refused_and_a_stored_one_is_detected_as_dead)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK_OK(orr_set(world, eve, Link, {bob, 1}));
    CHECK_OK(orr_destroy(world, bob));
    CHECK(!orr_alive(world, orr_get(world, eve, Link)->target));
    CHECK_EQ(orr_get(world, eve, Link)->target.id, bob.id);
    orr_entity tom = orr_create(world);
    CHECK_OK(orr_set(world, tom, Link, {eve, 1}));
    uint64_t hash = orr_world_hash(world);
    CHECK_RESULT(orr_set(world, tom, Link, {bob, 2}), ORR_ERR_ENTITY);
    CHECK_CONTAINS(k.errors.text, "Link");
    CHECK_CONTAINS(k.errors.text, "target");
    CHECK_CONTAINS(k.errors.text, "0v1");
    CHECK_EQ(orr_get(world, tom, Link)->weight, 1);
    CHECK_EQ(orr_world_hash(world), hash);
    // A value with a stored reference to a dead entity may be read, changed and set again, also by
    // batch; a reference to another dead entity is refused.
    Link link = *orr_get(world, eve, Link);
    link.weight = 7;
    CHECK_OK(orr_put(world, eve, Link, &link));
    CHECK_EQ(orr_get(world, eve, Link)->weight, 7);
    CHECK_OK(orr_component_set_many(world, &eve, 1, KIT_TYPE(world, Link), &link));
    CHECK_OK(orr_destroy(world, tom));
    CHECK_RESULT(orr_set(world, eve, Link, {tom, 2}), ORR_ERR_ENTITY);
    CHECK_OK(orr_set(world, eve, Link, {{0}, 3})); // Null is no reference.
    kit_end(&k);
}

/* N2-16 */
ORR_TEST(reference_to_a_dead_entity_is_refused_in_batches_and_owned_arrays)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity dead = orr_create(world), ids[2] = {orr_create(world), orr_create(world)};
    CHECK_OK(orr_destroy(world, dead));
    orr_type link = KIT_TYPE(world, Link), crowd = KIT_TYPE(world, Crowd);
    Link links[2] = {{ids[0], 1}, {dead, 2}};
    CHECK_RESULT(orr_component_add_many(world, ids, 2, link, links), ORR_ERR_ENTITY);
    CHECK(!orr_component_has(world, ids[0], link));
    orr_column_data data = {link, links};
    CHECK_RESULT(orr_create_many(world, KIT_CLUSTER(world, Link), 2, &data, 1, NULL),
                 ORR_ERR_ENTITY);
    CHECK_EQ(orr_entity_count(world), 2);
    orr_entity members[3] = {ids[0], {0}, dead};
    Crowd value = {orr_array_make(world, members, 3, sizeof members[0])};
    CHECK_RESULT(orr_component_set(world, ids[0], crowd, &value), ORR_ERR_ENTITY);
    CHECK_CONTAINS(k.errors.text, "members");
    value.members = orr_array_make(world, members, 2, sizeof members[0]);
    CHECK_OK(orr_component_set(world, ids[0], crowd, &value));
    CHECK_OK(orr_component_add_many(world, ids, 2, link, NULL));
    links[1].target = ids[1];
    CHECK_OK(orr_component_set_many(world, ids, 2, link, links));
    links[0].target = dead;
    CHECK_RESULT(orr_component_set_many(world, ids, 2, link, links), ORR_ERR_ENTITY);
    CHECK_EQ(orr_get(world, ids[0], Link)->target.id, ids[0].id);
    kit_end(&k);
}

/* N0-32 */
ORR_TEST(entity_destroyed_or_moved_leaves_references_to_it_unchanged)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity parent = orr_create(world), child = orr_create(world), other = orr_create(world);
    CHECK_OK(orr_set(world, child, Link, {parent, 1}));
    CHECK_OK(orr_set(world, other, Link, {child, 2}));
    CHECK_OK(orr_set(world, parent, Position, {1, 2, 3})); // Moves.
    CHECK_EQ(orr_get(world, child, Link)->target.id, parent.id);
    CHECK(orr_has(world, child, Link) && !orr_has(world, child, Position));
    CHECK_OK(orr_destroy(world, parent));
    CHECK(orr_alive(world, child));
    CHECK(orr_alive(world, other));
    CHECK_EQ(orr_get(world, child, Link)->weight, 1);
    CHECK_EQ(orr_get(world, other, Link)->target.id, child.id);
    CHECK_EQ(orr_entity_count(world), 2);
    kit_end(&k);
}

// ---- addresses ----------------------------------------------------------------------------------

/* N1-09 N1-16 */
ORR_TEST(address_is_cluster_and_row_and_reaches_components)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Health);
    orr_type position = KIT_TYPE(world, Position);
    orr_entity ids[3];
    CHECK_OK(orr_create_many(world, cluster, 3, NULL, 0, ids));
    orr_address address;
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_OK(orr_address_get(world, ids[i], &address));
        CHECK_EQ(address.cluster.id, cluster.id);
        CHECK_EQ(address.row, i);
        CHECK_EQ(address.entity.id, ids[i].id);
        CHECK(orr_address_valid(world, &address));
        Position* place = orr_address_write(world, &address, position);
        *place = (Position){(float)i, 0, 0};
        CHECK(orr_address_read(world, &address, position) == place);
        CHECK(orr_component_get(world, ids[i], position) == place);
        CHECK(orr_address_read(world, &address, KIT_TYPE(world, Velocity)) == NULL);
        CHECK(orr_address_write(world, &address, KIT_TYPE(world, Velocity)) == NULL);
    }
    CHECK_EQ(orr_get(world, ids[2], Position)->x, 2);
    kit_end(&k);
}

/* N1-10 N4-16 */
ORR_TEST(address_goes_stale_when_the_entity_moves_or_another_leaves)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_type position = KIT_TYPE(world, Position);
    orr_entity ids[4];
    orr_address at[4], now;
    CHECK_OK(orr_create_many(world, cluster, 4, NULL, 0, ids));
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_OK(orr_address_get(world, ids[i], &at[i]));
    }
    // A component is added: another cluster.
    CHECK_OK(orr_set(world, ids[3], Health, {1, 2}));
    CHECK(!orr_address_valid(world, &at[3]));
    CHECK(orr_address_read(world, &at[3], position) == NULL);
    CHECK(orr_address_write(world, &at[3], position) == NULL);
    // A tag is added.
    CHECK_OK(orr_address_get(world, ids[2], &now));
    CHECK_OK(orr_tag_add(world, ids[2], 5));
    CHECK(!orr_address_valid(world, &now));
    // Another entity leaves: the last row fills the gap.
    CHECK_OK(orr_destroy(world, ids[0]));
    CHECK(!orr_address_valid(world, &at[0]));
    CHECK(!orr_address_valid(world, &at[1]));
    CHECK_OK(orr_address_get(world, ids[1], &now));
    CHECK_EQ(now.row, 0);
    CHECK(orr_address_valid(world, &now));
    // Another entity at the same place does not make an old address valid.
    at[0].entity = (orr_entity){0};
    CHECK(!orr_address_valid(world, &at[0]));
    CHECK(!orr_address_valid(world, &(orr_address){0}));
    kit_end(&k);
}

/* N1-10 */
ORR_TEST(address_of_a_deleted_cluster_is_stale)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_cluster cluster = KIT_CLUSTER(world, Position);
    orr_entity bob = orr_create_in(world, cluster);
    orr_address address;
    CHECK_OK(orr_address_get(world, bob, &address));
    CHECK_OK(orr_cluster_delete(world, cluster));
    CHECK(!orr_address_valid(world, &address));
    CHECK_RESULT(orr_address_get(world, bob, &address), ORR_ERR_ENTITY);
    CHECK_EQ(orr_entity_cluster(world, bob).id, 0);
    kit_end(&k);
}

// ---- copies -------------------------------------------------------------------------------------

ORR_TEST(copy_has_components_tags_and_enable_bits_of_its_source)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, bob, Label, {orr_string_make(world, "bob"), 7}));
    Token token = kit_token(9);
    CHECK_OK(orr_component_set(world, bob, KIT_TYPE(world, Token), &token));
    CHECK_OK(orr_add(world, bob, Frozen));
    CHECK_OK(orr_tag_add(world, bob, 11));
    CHECK_OK(orr_enable(world, bob, Position, false));
    CHECK_OK(orr_entity_enable(world, bob, false));
    orr_entity copy = orr_copy(world, bob);
    CHECK(copy.id != 0 && copy.id != bob.id);
    orr_cluster a = orr_entity_cluster(world, bob), b = orr_entity_cluster(world, copy);
    CHECK(a.id == b.id && a.generation == b.generation);
    CHECK_EQ(orr_get(world, copy, Position)->z, 3);
    CHECK_STR(orr_string_text(world, orr_get(world, copy, Label)->text), "bob");
    CHECK_EQ(orr_get(world, copy, Token)->cell.payload, 9);
    CHECK(kit_token_sound(orr_get(world, copy, Token)));
    CHECK(kit_token_sound(orr_get(world, bob, Token)));
    CHECK_EQ(kit_tokens.live, 2);
    CHECK(orr_has(world, copy, Frozen));
    CHECK(orr_tag_has(world, copy, 11));
    CHECK(!orr_component_enabled(world, copy, KIT_TYPE(world, Position)));
    CHECK(orr_component_enabled(world, copy, KIT_TYPE(world, Label)));
    CHECK(!orr_entity_enabled(world, copy));
    // From here on the two are independent.
    CHECK_OK(orr_set(world, copy, Position, {9, 9, 9}));
    CHECK_EQ(orr_get(world, bob, Position)->x, 1);
    CHECK_OK(orr_destroy(world, bob));
    CHECK_STR(orr_string_text(world, orr_get(world, copy, Label)->text), "bob");
    kit_end(&k);
}

ORR_TEST(copy_refused_by_its_hook_leaves_nothing)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_in(world, KIT_CLUSTER(world, Position, Token));
    uint64_t hash = orr_world_hash(world);
    kit_tokens.refuse_after = 1;
    CHECK_EQ(orr_copy(world, bob).id, 0);
    kit_tokens.refuse_after = 0;
    CHECK_EQ(k.errors.result, ORR_ERR_HOOK);
    CHECK_CONTAINS(k.errors.text, "Token");
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_EQ(orr_entity_count(world), 1);
    CHECK_EQ(kit_tokens.live, 1);
    kit_end(&k);
}

/* N2-01 */
ORR_TEST(component_belongs_to_one_entity)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity ids[50];
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Health), 50, NULL, 0, ids));
    for (uint32_t i = 0; i < 50; i++) {
        orr_edit(world, ids[i], Health)->value = (int32_t)i;
    }
    for (uint32_t i = 0; i < 50; i++) {
        CHECK_EQ(orr_get(world, ids[i], Health)->value, i);
        for (uint32_t j = 0; j < i; j++) {
            CHECK(orr_get(world, ids[i], Health) != orr_get(world, ids[j], Health));
        }
    }
    kit_end(&k);
}

// Destroys entities of two equal worlds in one order; then one world creates in one call what the
// other creates one by one.
static void entity_check_recycled(const uint32_t* order, uint32_t destroyed, uint32_t created)
{
    enum {
        COUNT = 10000
    };
    static orr_entity ids[2][COUNT], bulk[COUNT + 100];
    kit k[2] = {0};
    for (uint32_t w = 0; w < 2; w++) {
        orr_world* world = kit_begin(&k[w], NULL);
        orr_cluster cluster = KIT_CLUSTER(world, Health);
        CHECK_OK(orr_create_many(world, cluster, COUNT, NULL, 0, ids[w]));
        for (uint32_t i = 0; i < destroyed; i++) {
            CHECK_OK(orr_destroy(world, ids[w][order[i]]));
        }
        if (w == 0) {
            CHECK_OK(orr_create_many(world, cluster, created, NULL, 0, bulk));
        }
        for (uint32_t i = 0; w == 1 && i < created; i++) {
            CHECK_EQ(orr_create_in(world, cluster).id, bulk[i].id);
        }
    }
    CHECK_EQ(orr_world_hash(k[0].world), orr_world_hash(k[1].world));
    kit_end(&k[0]);
    kit_end(&k[1]);
}

// Fills an order of destruction. Returns the number of entities in it.
static uint32_t entity_order(uint32_t kind, uint32_t* order, uint32_t count)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        order[n] = kind == 0   ? i
                   : kind == 1 ? count - 1 - i
                   : kind == 2 ? i / 16 * 16 + 15 - i % 16 // Runs of 16.
                   : kind == 3 ? i * 3001 % count          // No runs.
                   : kind == 4 ? (i < 5000 ? 4999 - i : i) // Down, then up.
                               : i;
        n += kind < 5 || i % 40 != 39; // Runs of 39, with gaps.
    }
    return n;
}

ORR_TEST(ids_recycled_in_one_call_are_those_recycled_one_by_one)
{
    enum {
        COUNT = 10000 // Three pages of records.
    };
    static uint32_t order[COUNT];
    for (uint32_t kind = 0; kind < 6; kind++) {
        uint32_t n = entity_order(kind, order, COUNT);
        entity_check_recycled(order, n, n);
        entity_check_recycled(order, n, n + 99); // And fresh ones.
        entity_check_recycled(order, 4100, 37);
    }
}

// Rows of a cluster in any order end in one call as they would end one by one.
ORR_TEST(ids_ended_in_one_call_are_recycled_as_those_ended_one_by_one)
{
    enum {
        COUNT = 10000
    };
    static uint32_t order[COUNT];
    static orr_entity ids[COUNT];
    for (uint32_t kind = 0; kind < 6; kind++) {
        uint32_t n = entity_order(kind, order, COUNT);
        uint64_t hashes[2];
        for (uint32_t w = 0; w < 2; w++) {
            kit k = {0};
            orr_world* world = kit_begin(&k, NULL);
            CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Health), COUNT, NULL, 0, ids));
            for (uint32_t i = 0; i < n; i++) {
                CHECK_OK(orr_add(world, ids[order[i]], Position));
            }
            if (w == 0) {
                CHECK_OK(orr_cluster_clear(world, KIT_CLUSTER(world, Health, Position)));
            }
            for (uint32_t i = 0; w == 1 && i < n; i++) {
                CHECK_OK(orr_destroy(world, ids[order[i]]));
            }
            CHECK_OK(orr_world_validate(world));
            hashes[w] = orr_world_hash(world);
            kit_end(&k);
        }
        CHECK_EQ(hashes[0], hashes[1]);
    }
}

// An id that was never given, made to look like the record of a dead entity.
ORR_TEST(entity_id_made_up_from_a_dead_record_is_refused_everywhere)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_in(world, KIT_CLUSTER(world, Position));
    CHECK(orr_create_in(world, KIT_CLUSTER(world, Position)).id != 0);
    CHECK_OK(orr_destroy(world, bob));
    orr_entity made_up = {(uint64_t)0x80000002u << 32 | (uint32_t)bob.id};
    CHECK(!orr_alive(world, made_up));
    CHECK(orr_get(world, made_up, Position) == NULL);
    CHECK(orr_edit(world, made_up, Position) == NULL);
    CHECK_RESULT(orr_destroy(world, made_up), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_destroy_many(world, &made_up, 1), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_set(world, made_up, Position, {1, 2, 3}), ORR_ERR_ENTITY);
    CHECK_EQ(orr_copy(world, made_up).id, 0);
    kit_end(&k);
}
