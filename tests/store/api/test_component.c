// SPDX-License-Identifier: MIT
// Components of one entity: set, add, remove, get, edit, has.
#include "store/world/world.h"
#include "support/store_kit.h"
#include "test.h"
#include <math.h>
#include <orrery/history.h>

/* N1-04 */
ORR_TEST(component_set_adds_then_changes)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK(!orr_has(world, bob, Position));
    CHECK(orr_get(world, bob, Position) == NULL);
    CHECK_EQ(k.errors.count, 0); // Absence is no error.
    CHECK_OK(orr_set(world, bob, Position, {1, 2, 3}));
    CHECK(orr_has(world, bob, Position));
    CHECK_EQ(orr_get(world, bob, Position)->z, 3);
    orr_cluster cluster = orr_entity_cluster(world, bob);
    CHECK_OK(orr_set(world, bob, Position, {4, 5, 6}));
    CHECK_EQ(orr_get(world, bob, Position)->z, 6);
    CHECK_EQ(orr_entity_cluster(world, bob).id, cluster.id);
    CHECK_EQ(kit_info(world, cluster).type_count, 1); // At most one of a unique type.
    kit_end(&k);
}

/* N1-04 */
ORR_TEST(component_of_any_type_can_be_added_and_removed_at_any_time)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, bob, Velocity, {4, 5}));
    CHECK_OK(orr_set(world, bob, Padded, {6, 7.5, 8}));
    CHECK_OK(orr_add(world, bob, Frozen));
    CHECK_OK(orr_add(world, bob, Big));
    CHECK_OK(orr_set(world, bob, Tiny, {9}));
    orr_edit(world, bob, Big)->words[29] = 77;
    CHECK_OK(orr_remove(world, bob, Velocity));
    CHECK(!orr_has(world, bob, Velocity));
    CHECK_EQ(orr_get(world, bob, Position)->y, 2);
    CHECK_EQ(orr_get(world, bob, Padded)->b * 2, 15);
    CHECK_EQ(orr_get(world, bob, Padded)->c, 8);
    CHECK_EQ(orr_get(world, bob, Big)->words[29], 77);
    CHECK_EQ(orr_get(world, bob, Tiny)->value, 9);
    CHECK(orr_has(world, bob, Frozen));
    CHECK_OK(orr_remove(world, bob, Frozen));
    CHECK(!orr_has(world, bob, Frozen));
    CHECK_EQ(kit_info(world, orr_entity_cluster(world, bob)).type_count, 4);
    kit_end(&k);
}

ORR_TEST(component_added_has_its_preset_and_adding_again_changes_nothing)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_add(world, bob, Health));
    CHECK_EQ(orr_get(world, bob, Health)->value, 100);
    CHECK_EQ(orr_get(world, bob, Health)->armour, 0);
    orr_edit(world, bob, Health)->value = 5;
    uint64_t hash = orr_world_hash(world);
    CHECK_OK(orr_add(world, bob, Health));
    CHECK_EQ(orr_get(world, bob, Health)->value, 5);
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_OK(orr_remove(world, bob, Health));
    CHECK_OK(orr_add(world, bob, Health));
    CHECK_EQ(orr_get(world, bob, Health)->value, 100);
    kit_end(&k);
}

ORR_TEST(component_remove_of_an_absent_type_is_ok_and_changes_nothing)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_add(world, bob, Health));
    CHECK(KIT_TYPE(world, Position).id != 0);
    uint64_t hash = orr_world_hash(world);
    CHECK_OK(orr_remove(world, bob, Position));
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(component_edit_changes_in_place)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK(orr_edit(world, bob, Position) == NULL);
    CHECK_EQ(k.errors.count, 0);
    CHECK_OK(orr_add(world, bob, Position));
    Position* place = orr_edit(world, bob, Position);
    place->x = 3;
    CHECK(orr_get(world, bob, Position) == place);
    CHECK_EQ(orr_get(world, bob, Position)->x, 3);
    kit_end(&k);
}

ORR_TEST(component_of_a_dead_entity_is_null_and_an_error)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create_in(world, KIT_CLUSTER(world, Position));
    CHECK_OK(orr_destroy(world, bob));
    CHECK(orr_get(world, bob, Position) == NULL);
    CHECK_EQ(k.errors.count, 1);
    CHECK_EQ(k.errors.result, ORR_ERR_ENTITY);
    CHECK_CONTAINS(k.errors.text, "Position");
    CHECK(orr_edit(world, bob, Position) == NULL);
    CHECK_EQ(k.errors.count, 2);
    CHECK(!orr_has(world, bob, Position));
    CHECK_EQ(k.errors.count, 2); // Asking for presence is allowed.
    kit_end(&k);
}

ORR_TEST(component_value_is_copied_without_its_padding)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    Padded value;
    memset(&value, 0xEE, sizeof value);
    value.a = 1;
    value.b = 2;
    value.c = 3;
    CHECK_OK(orr_component_set(world, bob, KIT_TYPE(world, Padded), &value));
    const uint8_t* stored = (const uint8_t*)orr_get(world, bob, Padded);
    for (size_t i = 1; i < offsetof(Padded, b); i++) {
        CHECK_EQ(stored[i], 0);
    }
    for (size_t i = offsetof(Padded, c) + 2; i < sizeof(Padded); i++) {
        CHECK_EQ(stored[i], 0);
    }
    kit_end(&k);
}

ORR_TEST(component_set_from_its_own_value_works)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK_OK(orr_set(world, bob, Position, {1, 2, 3}));
    orr_type position = KIT_TYPE(world, Position);
    CHECK_OK(orr_component_set(world, bob, position, orr_get(world, bob, Position)));
    CHECK_OK(orr_component_set(world, eve, position, orr_get(world, bob, Position)));
    CHECK_EQ(orr_get(world, eve, Position)->y, 2);
    CHECK_EQ(orr_get(world, bob, Position)->y, 2);
    // The value is in the block that must grow to hold the copy.
    for (uint32_t i = 0; i < 100; i++) {
        orr_entity next = orr_create(world);
        CHECK_OK(orr_component_set(world, next, position, orr_get(world, bob, Position)));
        CHECK_EQ(orr_get(world, next, Position)->z, 3);
    }
    Token token = kit_token(5);
    orr_type type = KIT_TYPE(world, Token);
    CHECK_OK(orr_component_set(world, bob, type, &token));
    CHECK_OK(orr_component_set(world, bob, type, orr_get(world, bob, Token)));
    CHECK_EQ(orr_get(world, bob, Token)->cell.payload, 5);
    kit_end(&k);
}

ORR_TEST(component_of_a_run_time_type_is_used_like_any_other)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_field_desc fields[] = {{.name = "count", .type = ORR_TYPE(uint16_t)},
                               {.name = "where", .type = ORR_TYPE(Position)},
                               {.name = "owner", .type = ORR_TYPE(orr_entity)}};
    orr_type type = {0};
    CHECK_OK(orr_type_register(
        world, &(orr_type_desc){.name = "Made", .fields = fields, .field_count = 3}, &type));
    const orr_type_info* info = orr_type_info_get(world, type);
    CHECK_EQ(info->size, 24);
    CHECK_EQ(info->fields[2].offset, 16);
    orr_entity bob = orr_create(world);
    uint8_t value[24] = {0};
    CHECK_OK(orr_value_parse(info, "{count: 3, where: {y: 2.5}}", value));
    CHECK_OK(orr_component_set(world, bob, type, value));
    char text[128];
    orr_value_print(info, orr_component_get(world, bob, type), text, sizeof text);
    CHECK_CONTAINS(text, "count: 3");
    CHECK_CONTAINS(text, "y: 2.5");
    CHECK_OK(orr_component_remove(world, bob, type));
    kit_end(&k);
}

ORR_TEST(component_hooks_run_once_each_on_every_path_of_one_entity)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Token);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_component_add(world, bob, type));
    CHECK_EQ(kit_tokens.constructs, 1);
    CHECK_EQ(kit_tokens.copies, 0);
    Token token = kit_token(3);
    // The old value is destructed, a copy is constructed.
    CHECK_OK(orr_component_set(world, bob, type, &token));
    CHECK_EQ(kit_tokens.copies, 1);
    CHECK_EQ(kit_tokens.destructs, 1);
    CHECK_EQ(kit_tokens.live, 1);
    CHECK_OK(orr_component_add(world, bob, type));
    CHECK_EQ(kit_tokens.constructs, 1);
    CHECK_OK(orr_component_remove(world, bob, type));
    CHECK_EQ(kit_tokens.destructs, 2);
    CHECK_OK(orr_component_set(world, bob, type, &token)); // No preset is made first.
    CHECK_EQ(kit_tokens.constructs, 1);
    CHECK_EQ(kit_tokens.copies, 2);
    CHECK_OK(orr_destroy(world, bob));
    CHECK_EQ(kit_tokens.destructs, 3);
    CHECK_EQ(kit_tokens.live, 0);
    CHECK_EQ(kit_tokens.broken, 0);
    kit_end(&k);
}

ORR_TEST(component_refused_by_its_hook_leaves_the_world_as_it_was)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Token);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    Token token = kit_token(3);
    CHECK_OK(orr_component_set(world, eve, type, &token));
    uint64_t hash = orr_world_hash(world);
    orr_world_stats before, after;
    orr_world_stats_get(world, &before);
    kit_tokens.refuse_after = 1;
    CHECK_RESULT(orr_component_add(world, bob, type), ORR_ERR_HOOK);
    kit_tokens.refuse_after = 1;
    CHECK_RESULT(orr_component_set(world, bob, type, &token), ORR_ERR_HOOK);
    token.cell.payload = 4;
    kit_tokens.refuse_after = 1;
    CHECK_RESULT(orr_component_set(world, eve, type, &token), ORR_ERR_HOOK);
    CHECK_CONTAINS(k.errors.text, "Token");
    kit_tokens.refuse_after = 1;
    CHECK_EQ(orr_create_in(world, KIT_CLUSTER(world, Token)).id, 0);
    CHECK_EQ(k.errors.result, ORR_ERR_HOOK);
    kit_tokens.refuse_after = 0;
    CHECK_EQ(orr_get(world, eve, Token)->cell.payload, 3);
    CHECK(!orr_has(world, bob, Token));
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_EQ(kit_tokens.live, 1);
    orr_world_stats_get(world, &after);
    CHECK_EQ(after.clusters, before.clusters);
    kit_end(&k);
}

// ---- convenience is a move ----------------------------------------------------------------------

/* N1-17 */
ORR_TEST(convenience_calls_equal_cluster_get_and_entity_move)
{
    kit a = {0}, b = {0};
    orr_world* short_way = kit_begin(&a, NULL);
    orr_world* long_way = kit_begin(&b, NULL);
    orr_entity bob = orr_create(short_way);
    CHECK_EQ(orr_create(long_way).id, bob.id);
    orr_type ps = KIT_TYPE(short_way, Position), hs = KIT_TYPE(short_way, Health);
    orr_type pl = KIT_TYPE(long_way, Position), hl = KIT_TYPE(long_way, Health);
    orr_tag tag = 8;

    CHECK_OK(orr_component_add(short_way, bob, ps));
    CHECK_OK(orr_entity_move(long_way, bob, kit_cluster(long_way, &pl, 1, NULL, 0)));
    CHECK_EQ(orr_world_hash(short_way), orr_world_hash(long_way));

    CHECK_OK(orr_component_add(short_way, bob, hs));
    CHECK_OK(
        orr_entity_move(long_way, bob, kit_cluster(long_way, (orr_type[]){pl, hl}, 2, NULL, 0)));
    CHECK_EQ(orr_world_hash(short_way), orr_world_hash(long_way));

    CHECK_OK(orr_tag_add(short_way, bob, tag));
    CHECK_OK(
        orr_entity_move(long_way, bob, kit_cluster(long_way, (orr_type[]){pl, hl}, 2, &tag, 1)));
    CHECK_EQ(orr_world_hash(short_way), orr_world_hash(long_way));

    Position value = {1, 2, 3};
    CHECK_OK(orr_component_set(short_way, bob, ps, &value));
    *(Position*)orr_component_edit(long_way, bob, pl) = value;
    CHECK_EQ(orr_world_hash(short_way), orr_world_hash(long_way));

    CHECK_OK(orr_component_remove(short_way, bob, ps));
    CHECK_OK(orr_entity_move(long_way, bob, kit_cluster(long_way, &hl, 1, &tag, 1)));
    CHECK_EQ(orr_world_hash(short_way), orr_world_hash(long_way));

    CHECK_OK(orr_tag_remove(short_way, bob, tag));
    CHECK_OK(orr_entity_move(long_way, bob, kit_cluster(long_way, &hl, 1, NULL, 0)));
    CHECK_EQ(orr_world_hash(short_way), orr_world_hash(long_way));
    kit_end(&a);
    kit_end(&b);
}

// ---- odd hooks ----------------------------------------------------------------------------------

typedef struct odd_counts {
    int64_t live;
    uint32_t misaligned;
} odd_counts;

static bool odd_construct(void* user, void* rows, uint32_t count)
{
    (void)rows;
    ((odd_counts*)user)->live += count;
    return true;
}

static void odd_destruct(void* user, void* rows, uint32_t count)
{
    (void)rows;
    ((odd_counts*)user)->live -= count;
}

static bool odd_copy(void* user, void* to, const void* from, uint32_t count)
{
    odd_counts* counts = user;
    counts->misaligned += (uintptr_t)to % 64 != 0 || (uintptr_t)from % 64 != 0;
    counts->live += count;
    memset(to, 1, 64);
    return true;
}

ORR_TEST(hooks_of_a_marker_are_called_once_for_each_value_on_every_path)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    odd_counts counts = {0};
    orr_hooks hooks = {odd_construct, odd_destruct, NULL, NULL, &counts};
    orr_type_desc desc = {.name = "Flag", .align = 1, .settings = {.hooks = &hooks}};
    orr_type flag;
    CHECK_OK(orr_type_register(world, &desc, &flag));
    orr_cluster cluster;
    CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){&flag, 1, NULL, 0, NULL}, &cluster));
    orr_column_data data = {flag, NULL};
    orr_entity ids[3];
    // Without a copy hook a copy is a memcpy of nothing, so only constructs and destructs are
    // counted; they must match.
    CHECK_OK(orr_create_many(world, cluster, 3, NULL, 0, ids));
    CHECK_EQ(counts.live, 3);
    CHECK_OK(orr_component_remove(world, ids[0], flag));
    CHECK_EQ(counts.live, 2);
    CHECK_OK(orr_component_add(world, ids[0], flag));
    CHECK_EQ(counts.live, 3);
    CHECK_OK(orr_cluster_clear(world, cluster));
    CHECK_EQ(counts.live, 0);
    hooks.copy = NULL;
    CHECK_OK(
        orr_create_many(world, cluster, 2, &data, 1, ids)); // Copies, by default without a call.
    kit_end(&k);
}

ORR_TEST(copy_hook_receives_values_with_the_alignment_of_the_type)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    odd_counts counts = {0};
    orr_hooks hooks = {odd_construct, odd_destruct, NULL, odd_copy, &counts};
    orr_field_desc field = {.name = "bytes", .type = ORR_TYPE(uint8_t), .count = 64};
    orr_type_desc desc = {.name = "Line",
                          .size = 64,
                          .align = 64,
                          .fields = &field,
                          .field_count = 1,
                          .settings = {.hooks = &hooks}};
    orr_type line;
    CHECK_OK(orr_type_register(world, &desc, &line));
    _Alignas(64) uint8_t value[64] = {0};
    for (int i = 0; i < 40; i++) {
        orr_entity bob = orr_create(world);
        CHECK_OK(orr_component_set(world, bob, line, value));
        CHECK_OK(orr_component_set(world, bob, line, value));
        CHECK(orr_copy(world, bob).id != 0);
    }
    CHECK_EQ(counts.misaligned, 0);
    CHECK_EQ(counts.live, 80);
    CHECK_OK(orr_entities_destroy_all(world));
    CHECK_EQ(counts.live, 0);
    kit_end(&k);
}

// A handle that no field describes: only the hooks know it. It is a counted pointer.
typedef struct secret {
    uint32_t shown;
    uint32_t* counted;
} secret;

static uint32_t secret_live;

static bool secret_construct(void* user, void* rows, uint32_t count)
{
    (void)user;
    for (secret* row = rows; count > 0; row++, count--) {
        row->counted = &secret_live;
        secret_live++;
    }
    return true;
}

static void secret_destruct(void* user, void* rows, uint32_t count)
{
    for (secret* row = rows; count > 0; row++, count--) {
        CHECK(row->counted == &secret_live);
        *(uint32_t*)user += row->counted !=
                            &secret_live; // Counted, because a test continues after a failure.
        secret_live--;
    }
}

static bool secret_copy(void* user, void* to, const void* from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const secret* source = (const secret*)from + i;
        *(uint32_t*)user += source->counted != &secret_live;
        ((secret*)to)[i] = *source;
        secret_live++;
    }
    return true;
}

static uint32_t secret_lost(orr_world* world, orr_entity entity, orr_type type)
{
    const secret* value = orr_component_get(world, entity, type);
    return value == NULL || value->counted != &secret_live;
}

// A type whose hooks have a handle, in a new world.
static orr_type secret_type(kit* k, orr_storage storage, orr_multiplicity multiplicity,
                            uint32_t* lost)
{
    orr_hooks hooks = {secret_construct, secret_destruct, NULL, secret_copy, lost};
    orr_field_desc field = {.name = "shown", .type = ORR_TYPE(uint32_t)};
    orr_type_desc desc = {
        .name = "Secret",
        .size = sizeof(secret),
        .align = _Alignof(secret),
        .fields = &field,
        .field_count = 1,
        .settings = {.hooks = &hooks, .storage = storage, .multiplicity = multiplicity}};
    orr_type type;
    secret_live = 0;
    CHECK_OK(orr_type_register(kit_begin(k, NULL), &desc, &type));
    return type;
}

static void secret_check(orr_storage storage)
{
    kit k = {0};
    uint32_t lost = 0;
    orr_type type = secret_type(&k, storage, ORR_UNIQUE, &lost);
    orr_world* world = k.world;
    secret value = {7, &secret_live}, values[2] = {value, value};
    orr_entity bob = orr_create(world), eve = orr_create(world), ids[2] = {bob, eve};
    CHECK_OK(orr_component_add(world, bob, type));
    lost += secret_lost(world, bob, type);
    CHECK_OK(orr_component_set(world, bob, type, &value)); // In place,
    lost += secret_lost(world, bob, type);
    CHECK_OK(orr_component_set(world, eve, type, &value)); // and a new component.
    lost += secret_lost(world, eve, type);
    CHECK_OK(orr_component_set_many(world, ids, 2, type, values));
    lost += secret_lost(world, bob, type) + secret_lost(world, eve, type);
    CHECK_OK(orr_set(world, bob, Position, {1, 2, 3})); // Moves the row.
    lost += secret_lost(world, bob, type);
    orr_entity copy = orr_copy(world, bob);
    lost += secret_lost(world, copy, type);
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_component_set(world, bob, type, &value)); // Copies the shared block.
    lost += secret_lost(world, bob, type);
    CHECK_OK(orr_component_remove_many(world, ids, 2, type));
    CHECK_OK(orr_component_add_many(world, ids, 2, type, values));
    lost += secret_lost(world, bob, type) + secret_lost(world, eve, type);
    CHECK_OK(orr_time_travel(world, 0));
    lost += secret_lost(world, bob, type) + secret_lost(world, copy, type);
    CHECK_OK(orr_world_validate(world));
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
    CHECK_EQ(lost, 0);
    CHECK_EQ(secret_live, 0);
}

static void secret_check_instances(void)
{
    kit k = {0};
    uint32_t lost = 0;
    orr_type type = secret_type(&k, ORR_CHUNK, ORR_MULTIPLE, &lost);
    orr_world* world = k.world;
    secret value = {7, &secret_live};
    orr_entity bob = orr_create(world);
    orr_component_id ids[5];
    for (uint32_t i = 0; i < 5; i++) {
        ids[i] = orr_instance_add(world, bob, type, &value);
        CHECK_OK(orr_instance_set(world, bob, type, ids[i], &value));
    }
    CHECK_OK(orr_set(world, bob, Position, {1, 2, 3}));
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_instance_remove(world, bob, type, ids[1]));
    CHECK_OK(orr_time_travel(world, 0));
    for (uint32_t i = 0; i < 5; i++) {
        const secret* now = orr_instance_get(world, bob, type, ids[i]);
        lost += now == NULL || now->counted != &secret_live;
    }
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
    CHECK_EQ(lost, 0);
    CHECK_EQ(secret_live, 0);
}

ORR_TEST(handles_known_only_to_hooks_are_kept_on_every_path)
{
    secret_check(ORR_CHUNK);
    secret_check(ORR_PINNED);
    secret_check_instances();
}

ORR_TEST(reader_get_equals_component_get)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type position = KIT_TYPE(world, Position), velocity = KIT_TYPE(world, Velocity);
    orr_entity bob = orr_create(world), eve = orr_create(world), tom = orr_create(world);
    CHECK_OK(orr_set(world, bob, Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, eve, Velocity, {4, 5}));
    CHECK_OK(orr_destroy(world, tom));
    orr_reader reader = orr_reader_make(world, position);
    CHECK(orr_reader_get(&reader, bob) == orr_component_get(world, bob, position));
    CHECK(orr_reader_get(&reader, bob) != NULL);
    CHECK(orr_reader_get(&reader, eve) == NULL);
    CHECK(orr_reader_get(&reader, tom) == NULL);
    CHECK(orr_reader_get(&reader, (orr_entity){0}) == NULL);
    CHECK(orr_reader_get(&reader, (orr_entity){UINT64_MAX}) == NULL);
    CHECK(orr_reader_get(&reader, (orr_entity){(uint64_t)0x80000002u << 32 | 2}) == NULL);
    reader = orr_reader_make(world, velocity);
    CHECK(orr_reader_get(&reader, eve) == orr_component_get(world, eve, velocity));
    reader = orr_reader_make(world, KIT_TYPE(world, Health)); // No entity has it.
    CHECK(orr_reader_get(&reader, bob) == NULL);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// A world of more chunks than a rare type's table covers: its far chunks are found through their
// clusters, until the type is common enough for the table to grow over them.
ORR_TEST(type_in_far_chunks_is_found_by_every_call)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type position = KIT_TYPE(world, Position), velocity = KIT_TYPE(world, Velocity);
    for (orr_tag tag = 1; tag <= 3000; tag++) {
        orr_cluster cluster;
        CHECK_OK(
            orr_cluster_get(world, &(orr_cluster_desc){&position, 1, &tag, 1, NULL}, &cluster));
        CHECK(orr_create_in(world, cluster).id != 0);
    }
    orr_entity bob = orr_create(world), first = bob;
    CHECK_OK(orr_set(world, bob, Velocity, {1, 2}));
    CHECK(world->chunks.list[orri_record_find(world, bob)->place >> ORRI_SLOT_BITS]->id >= 1024);
    for (orr_tag tag = 0; tag < 500; tag++) {
        orr_reader reader = orr_reader_make(world, velocity);
        CHECK_EQ(((const Velocity*)orr_component_get(world, bob, velocity))->y, 2);
        CHECK(orr_reader_get(&reader, bob) == orr_component_get(world, bob, velocity));
        CHECK(orr_reader_get(&reader, first) == orr_component_get(world, first, velocity));
        CHECK(orr_has(world, bob, Velocity) && !orr_has(world, bob, Position));
        CHECK(orr_get(world, bob, Position) == NULL);
        orr_edit(world, bob, Velocity)->x = (float)tag;
        CHECK_EQ(orr_get(world, bob, Velocity)->x, tag);
        CHECK_OK(orr_enable(world, bob, Velocity, false));
        CHECK(!orr_enabled(world, bob, Velocity));
        bob = orr_create(world);
        CHECK_OK(orr_tag_add(world, bob, 5000 + tag));
        CHECK_OK(orr_set(world, bob, Velocity, {1, 2}));
        if (tag % 50 == 0) {
            CHECK_OK(orr_world_validate(world));
        }
    }
    CHECK_EQ(orr_get(world, first, Velocity)->x, 0);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(rare_types_in_many_chunks_take_little_memory)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type types[200];
    orr_field_desc field = {.name = "x", .type = ORR_TYPE(float)};
    for (uint32_t t = 0; t < 200; t++) {
        char name[16];
        snprintf(name, sizeof name, "T%u", t);
        orr_type_desc desc = {.name = name, .fields = &field, .field_count = 1};
        CHECK_OK(orr_type_register(world, &desc, &types[t]));
    }
    for (uint32_t i = 0; i < 6000; i++) {
        orr_cluster cluster;
        orr_tag tag = i / 200;
        CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){&types[i % 200], 1, &tag, 1, NULL},
                                 &cluster));
        CHECK(orr_create_in(world, cluster).id != 0);
    }
    orr_memory_stats memory;
    orr_world_memory_get(world, &memory);
    // Per cluster: itself, its list of chunks, one chunk. Per type: at most 1024 chunks of 10
    // bytes.
    CHECK(memory.by_purpose[ORR_MEMORY_CLUSTER].bytes < 6000 * 1200 + 200 * 10240 + 200 * 1024);
    kit_end(&k);
}

// ---- ranges -------------------------------------------------------------------------------------

ORR_STRUCT(Gauge, (int8_t, low, (.min = -5, .max = 5)),
           (uint64_t, high, (.min = 1, .max = 10, .preset = "1")),
           (float, share, (.min = 0, .max = 1)))
ORR_STRUCT(Panel, (int32_t, number), (Gauge, gauges, 2))

ORR_STRUCT(Scores, (orr_array, list, (.element = ORR_TYPE(int16_t), .min = 1, .max = 3)),
           (orr_array, gauges, (.element = ORR_TYPE(Gauge))))

// The range of an owned array is that of its elements, and so are ranges of structs in it.
ORR_TEST(component_array_with_an_element_out_of_its_range_is_refused)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    orr_entity e = orr_create(world);
    const int16_t good[] = {1, 3, 2}, bad[] = {1, 4};
    const Gauge fine = {0, 1, 0}, wrong = {0, 11, 0};
    orr_array list = orr_array_make(world, good, 3, sizeof good[0]);
    CHECK_OK(orr_set(world, e, Scores, {list, orr_array_make(world, &fine, 1, sizeof fine)}));
    CHECK_OK(orr_set(world, e, Scores, {list, {0}}));
    CHECK_RESULT(orr_set(world, e, Scores, {orr_array_make(world, bad, 2, sizeof bad[0]), {0}}),
                 ORR_ERR_RANGE);
    CHECK_CONTAINS(k.errors.text, "list of Scores of 0v1 is 4, but its range is 1 to 3");
    CHECK_RESULT(orr_set(world, e, Scores, {list, orr_array_make(world, &wrong, 1, sizeof wrong)}),
                 ORR_ERR_RANGE);
    CHECK_CONTAINS(k.errors.text, "high of Scores of 0v1 is 11");
    k.errors = (kit_errors){0};
    kit_end(&k);
}

// A value outside the range of its field is refused by every call that stores a value, and the old
// value stays.
ORR_TEST(component_value_out_of_its_range_is_refused_and_named)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    orr_entity e = orr_create(world);
    CHECK_OK(orr_set(world, e, Gauge, {5, 10, 1}));
    CHECK_OK(orr_set(world, e, Gauge, {-5, 1, 0}));
    CHECK_RESULT(orr_set(world, e, Gauge, {-6, 1, 0}), ORR_ERR_RANGE);
    CHECK_CONTAINS(k.errors.text, "low of Gauge of 0v1 is -6, but its range is -5 to 5");
    CHECK_RESULT(orr_set(world, e, Gauge, {0, 11, 0}), ORR_ERR_RANGE);
    CHECK_CONTAINS(k.errors.text, "high of Gauge of 0v1 is 11, but its range is 1 to 10");
    CHECK_RESULT(orr_set(world, e, Gauge, {0, 1, 1.5f}), ORR_ERR_RANGE);
    CHECK_CONTAINS(k.errors.text, "share of Gauge of 0v1 is 1.5");
    CHECK_RESULT(orr_set(world, e, Gauge, {0, 1, NAN}), ORR_ERR_RANGE);
    const Gauge* now = orr_get(world, e, Gauge);
    CHECK(now->low == -5 && now->high == 1 && now->share == 0);
    Panel panel = {1, {{0, 1, 0}, {0, 99, 0}}};
    CHECK_RESULT(orr_put(world, e, Panel, &panel), ORR_ERR_RANGE);
    CHECK_CONTAINS(k.errors.text, "high of Panel of 0v1 is 99");
    CHECK(!orr_has(world, e, Panel));
    panel.gauges[1].high = 9;
    CHECK_OK(orr_put(world, e, Panel, &panel));
    orr_type type = KIT_TYPE(world, Gauge);
    Gauge two[2] = {{0, 1, 0}, {7, 1, 0}};
    orr_column_data data = {type, two};
    CHECK_RESULT(orr_create_many(world, KIT_CLUSTER(world, Gauge), 2, &data, 1, NULL),
                 ORR_ERR_RANGE);
    CHECK_EQ(orr_entity_count(world), 1);
    k.errors = (kit_errors){0};
    kit_end(&k);
}

// ---- values and presets -------------------------------------------------------------------------

ORR_TEST(component_set_takes_a_value_as_well_as_an_initialiser)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    Position p = {1, 2, 3};
    const Position* pointer = &p;
    CHECK_OK(orr_set(world, bob, Position, p));
    CHECK_EQ(orr_get(world, bob, Position)->y, 2);
    p.y = 7;
    CHECK_OK(orr_set(world, bob, Position, *pointer));
    CHECK_EQ(orr_get(world, bob, Position)->y, 7);
    CHECK_OK(orr_set(world, bob, Position, (Position){.y = 9}));
    CHECK_EQ(orr_get(world, bob, Position)->y, 9);
    CHECK_OK(orr_set(world, bob, Big, {0})); // No warning, although the first field is an array.
    kit_end(&k);
}

ORR_TEST(component_set_from_presets_keeps_the_presets_of_other_fields)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK_OK(orr_set(world, bob, Health, {.armour = 5}));
    CHECK_EQ(orr_get(world, bob, Health)->value, 0); // An initialiser knows no presets.
    CHECK_OK(orr_set_preset(world, bob, Health, .armour = 6));
    CHECK_EQ(orr_get(world, bob, Health)->value, 100);
    CHECK_EQ(orr_get(world, bob, Health)->armour, 6);
    CHECK_OK(orr_set_preset(world, eve, Health, .value = 50, .armour = 1));
    CHECK_EQ(orr_get(world, eve, Health)->value, 50);
    CHECK_EQ(orr_get(world, eve, Health)->armour, 1);
    CHECK_OK(orr_set(world, eve, Health, orr_preset(world, Health)));
    CHECK_EQ(orr_get(world, eve, Health)->value, 100);
    CHECK_EQ(orr_get(world, eve, Health)->armour, 0);
    CHECK_OK(orr_set_preset(world, eve, Big, .words[3] = 8));
    CHECK_EQ(orr_get(world, eve, Big)->words[3], 8);
    kit_end(&k);
}

ORR_TEST(component_set_from_presets_of_a_refused_type_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.types_max = 1});
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Position, {1, 2, 3}));
    Health value = orr_preset(world, Health);
    CHECK_EQ(value.value, 0);
    CHECK_CONTAINS(k.errors.text, "orr_type_preset: the type is null");
    CHECK_RESULT(orr_set_preset(world, bob, Health, .value = 3), ORR_ERR_TYPE);
    orr_world* other = orr_world_create(NULL);
    orr_type foreign = orr_type_of(other, ORR_TYPE(Velocity));
    Velocity velocity = {3, 4};
    CHECK(orr_type_preset(world, foreign, &velocity) == &velocity);
    CHECK_EQ(velocity.x, 3);
    CHECK_CONTAINS(k.errors.text, "orr_type_preset: the type is not registered in this world");
    orr_world_destroy(other);
    k.errors.count = 0;
    kit_end(&k);
}
