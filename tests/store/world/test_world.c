// SPDX-License-Identifier: MIT
// A world as a whole: creating and destroying, memory, independence of other worlds, errors and
// log.
#include "store/world/world.h"
#include "support/fake_platform.h"
#include "support/store_kit.h"
#include "test.h"
#include <orrery/kinds.h>

// A world with something of everything in it.
static void fill_world(orr_world* world)
{
    orr_cluster cluster = KIT_CLUSTER(world, Position, Token, Label);
    orr_string text = orr_string_make(world, "hello");
    for (uint32_t i = 0; i < 100; i++) {
        orr_entity entity = orr_create_in(world, cluster);
        CHECK(entity.id != 0);
        CHECK_OK(orr_set(world, entity, Label, {text, (int32_t)i}));
        CHECK_OK(orr_tag_add(world, entity, i % 3));
    }
    CHECK_OK(orr_tag_register(world, 1, "one"));
}

/* N1-02 */
ORR_TEST(world_destroyed_frees_all_memory_and_runs_destruct_hooks)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    fill_world(world);
    CHECK_EQ(kit_tokens.live, 100);
    CHECK(k.memory.live_bytes > 0);
    CHECK_OK(orr_world_validate(world));
    orr_world_destroy(world);
    CHECK_EQ(k.memory.live_bytes, 0);
    CHECK_EQ(k.memory.live_blocks, 0);
    CHECK_EQ(k.memory.mistakes, 0);
    CHECK_EQ(kit_tokens.live, 0);
    CHECK_EQ(kit_tokens.destructs, 100);
    CHECK_EQ(kit_tokens.broken, 0);
}

/* N1-02 */
ORR_TEST(worlds_with_the_same_calls_are_independent)
{
    kit a = {0}, b = {0};
    kit_begin(&a, NULL);
    kit_begin(&b, NULL);
    fill_world(a.world);
    uint64_t hash = orr_world_hash(a.world);
    fill_world(b.world);
    CHECK_EQ(orr_world_hash(b.world), hash);
    CHECK_OK(orr_entities_destroy_all(b.world));
    orr_tick_advance(b.world);
    CHECK_EQ(orr_world_hash(a.world), hash);
    CHECK_EQ(orr_entity_count(a.world), 100);
    CHECK_EQ(orr_entity_count(b.world), 0);
    CHECK_EQ(orr_world_tick(a.world), 0);
    CHECK_EQ(kit_tokens.live, 100);
    orr_world_destroy(b.world);
    CHECK_EQ(b.memory.live_bytes, 0);
    CHECK_EQ(orr_world_hash(a.world), hash);
    kit_end(&a);
}

ORR_TEST(world_destroy_of_null_does_nothing)
{
    orr_world_destroy(NULL);
}

ORR_TEST(world_without_a_desc_has_defaults)
{
    orr_world* world = orr_world_create(NULL);
    CHECK(world != NULL);
    orr_entity bob = orr_create(world);
    CHECK(orr_alive(world, bob));
    CHECK_OK(orr_set(world, bob, Position, {1, 2, 3}));
    CHECK_EQ(orr_get(world, bob, Position)->y, 2);
    CHECK_OK(orr_world_validate(world));
    CHECK_STR(orr_error_last(world), "");
    orr_world_destroy(world);
}

ORR_TEST(world_tick_counts_advances)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK_EQ(orr_world_tick(world), 0);
    orr_tick_advance(world);
    orr_tick_advance(world);
    CHECK_EQ(orr_world_tick(world), 2);
    kit_end(&k);
}

ORR_TEST(world_seed_is_kept)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.seed = 42});
    CHECK_EQ(orr_world_seed(world), 42);
    kit_end(&k);
}

ORR_TEST(world_stats_count_everything)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_world_stats stats;
    orr_world_stats_get(world, &stats);
    CHECK_EQ(stats.entities, 0);
    CHECK_EQ(stats.clusters, 0);
    CHECK_EQ(stats.chunks, 0);
    CHECK_EQ(stats.types, 0);
    CHECK_EQ(stats.blobs, 0);
    CHECK_EQ(stats.bytes, k.memory.live_bytes);
    fill_world(world);
    orr_world_stats_get(world, &stats);
    CHECK_EQ(stats.entities, 100);
    CHECK_EQ(stats.clusters, 4); // The one without a tag, and one for each of three tags.
    CHECK_EQ(stats.chunks, 3);   // The one without a tag is empty.
    CHECK_EQ(stats.types, 3);
    CHECK_EQ(stats.tags, 1);
    CHECK_EQ(stats.blobs, 1);
    CHECK_EQ(stats.bytes, k.memory.live_bytes);
    kit_end(&k);
}

/* N4-10 */
ORR_TEST(world_memory_adds_up_by_purpose)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    fill_world(world);
    orr_memory_stats memory;
    orr_world_memory_get(world, &memory);
    uint64_t bytes = 0, blocks = 0;
    for (int i = 0; i < ORR_MEMORY_PURPOSE_COUNT; i++) {
        bytes += memory.by_purpose[i].bytes;
        blocks += memory.by_purpose[i].blocks;
        CHECK(memory.by_purpose[i].bytes_peak >= memory.by_purpose[i].bytes);
    }
    CHECK_EQ(bytes, memory.total.bytes);
    CHECK_EQ(blocks, memory.total.blocks);
    CHECK_EQ(memory.total.bytes, k.memory.live_bytes);
    CHECK_EQ(memory.total.blocks, k.memory.live_blocks);
    CHECK_EQ(memory.by_purpose[ORR_MEMORY_TEMP].bytes, 0);
    CHECK(memory.by_purpose[ORR_MEMORY_COLUMN].bytes > 0);
    CHECK(memory.by_purpose[ORR_MEMORY_BLOB].bytes > 0);
    // An entity without anything costs its record, its row id and little else.
    uint64_t before = k.memory.live_bytes;
    orr_cluster empty = kit_cluster(world, NULL, 0, NULL, 0);
    CHECK_OK(orr_create_many(world, empty, 100000, NULL, 0, NULL));
    uint64_t each = (k.memory.live_bytes - before) / 100000;
    CHECK(each <= 16);
    kit_end(&k);
}

ORR_TEST(world_memory_limit_is_refused_and_nothing_changes)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.memory_bytes_max = 400000});
    orr_memory_stats memory;
    orr_world_memory_get(world, &memory);
    CHECK_EQ(memory.bytes_max, 400000);
    orr_cluster cluster = KIT_CLUSTER(world, Big);
    CHECK_OK(orr_create_many(world, cluster, 100, NULL, 0, NULL));
    uint64_t hash = orr_world_hash(world);
    CHECK_RESULT(orr_create_many(world, cluster, 10000, NULL, 0, NULL), ORR_ERR_MEMORY);
    CHECK_EQ(k.errors.result, ORR_ERR_MEMORY);
    CHECK(k.memory.live_bytes <= 400000);
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_EQ(orr_entity_count(world), 100);
    CHECK_OK(orr_create_many(world, cluster, 10, NULL, 0, NULL));
    kit_end(&k);
}

ORR_TEST(world_create_without_memory_is_null)
{
    for (uint64_t n = 1; n < 100; n++) {
        failing_alloc memory = {0};
        failing_alloc_arm(&memory, n, true);
        orr_world_desc desc = {.allocator = failing_alloc_allocator(&memory),
                               .log.level = ORR_LOG_OFF};
        orr_world* world = orr_world_create(&desc);
        if (world != NULL) {
            CHECK(n > 1);
            orr_world_destroy(world);
            failing_alloc_check(&memory);
            return;
        }
        failing_alloc_check(&memory);
    }
    CHECK(false);
}

static void* half_alloc(void* user, size_t size, size_t align)
{
    (void)user, (void)size, (void)align;
    return NULL;
}

ORR_TEST(world_invalid_desc_is_null)
{
    orr_log_desc quiet = {.level = ORR_LOG_OFF};
    CHECK(orr_world_create(&(orr_world_desc){.log = quiet, .allocator.alloc = half_alloc}) == NULL);
    CHECK(orr_world_create(&(orr_world_desc){.log = quiet, .id_salt = ORR_SALT_MAX + 1}) == NULL);
    CHECK(orr_world_create(&(orr_world_desc){.log = quiet, .clusters_max = ORR_CLUSTERS_MAX + 1}) ==
          NULL);
    CHECK(orr_world_create(&(orr_world_desc){.log = quiet, .types_max = ORR_TYPES_MAX + 1}) ==
          NULL);
    CHECK(orr_world_create(&(orr_world_desc){.log = quiet, .tags_max = ORR_TAGS_MAX + 1}) == NULL);
    orr_world* world = orr_world_create(&(orr_world_desc){.id_salt = ORR_SALT_MAX});
    CHECK(world != NULL);
    orr_world_destroy(world);
}

// ---- errors and log -----------------------------------------------------------------------------

ORR_TEST(world_error_handler_receives_code_text_and_call)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_destroy(world, bob));
    CHECK_RESULT(orr_set(world, bob, Position, {1, 2, 3}), ORR_ERR_ENTITY);
    CHECK_EQ(k.errors.count, 1);
    CHECK_EQ(k.errors.result, ORR_ERR_ENTITY);
    CHECK_EQ(k.errors.id, ORR_LOG_ID_ENTITY_REFUSED);
    CHECK_CONTAINS(k.errors.text, "0v1");
    CHECK_CONTAINS(k.errors.text, "Position");
    CHECK_STR(orr_error_last(world), k.errors.text);
    kit_end(&k);
}

typedef struct sink_record {
    uint32_t count;
    orr_log_level level;
    orr_log_category category;
    orr_log_id id;
    uint64_t suppressed;
    char text[512];
} sink_record;

static void sink(void* user, const orr_log_line* line)
{
    sink_record* record = user;
    record->count++;
    record->level = line->level;
    record->category = line->category;
    record->id = line->id;
    record->suppressed = line->suppressed;
    snprintf(record->text, sizeof record->text, "%s", line->text);
}

ORR_TEST(world_without_error_handler_logs_one_line)
{
    sink_record record = {0};
    orr_world* world = orr_world_create(
        &(orr_world_desc){.log = {.sink = sink, .user = &record, .level = ORR_LOG_WARNING}});
    CHECK(world != NULL);
    CHECK_RESULT(orr_destroy(world, (orr_entity){0}), ORR_ERR_ENTITY);
    CHECK_EQ(record.count, 1);
    CHECK_EQ(record.level, ORR_LOG_ERROR);
    CHECK_EQ(record.category, ORR_LOG_CATEGORY_STORE);
    CHECK_EQ(record.id, ORR_LOG_ID_ENTITY_REFUSED);
    CHECK_CONTAINS(record.text, "orr_destroy");
    CHECK_STR(orr_error_last(world), record.text);
    orr_world_destroy(world);
}

ORR_TEST(world_error_log_is_limited_by_rate)
{
    sink_record record = {0};
    fake_platform fake;
    fake_platform_init(&fake);
    orr_world* world = orr_world_create(&(orr_world_desc){
        .platform = &fake.table, .log = {.sink = sink, .user = &record, .lines_per_second = 2}});
    for (int i = 0; i < 10; i++) {
        CHECK_RESULT(orr_destroy(world, (orr_entity){0}), ORR_ERR_ENTITY);
    }
    CHECK_EQ(record.count, 2);
    fake.now_ns += 2000000000u;
    CHECK_RESULT(orr_destroy(world, (orr_entity){0}), ORR_ERR_ENTITY);
    CHECK_EQ(record.id, ORR_LOG_ID_ENTITY_REFUSED);
    CHECK_EQ(record.suppressed, 8);
    orr_world_destroy(world);
}

ORR_TEST(world_log_levels_are_per_category)
{
    sink_record record = {0};
    orr_world* world = orr_world_create(&(orr_world_desc){.log = {.sink = sink, .user = &record}});
    orr_log(world, ORR_LOG_INFO, "built %d things", 3);
    CHECK_EQ(record.count, 1);
    CHECK_STR(record.text, "built 3 things");
    CHECK_EQ(record.category, ORR_LOG_CATEGORY_USER);
    CHECK_EQ(record.level, ORR_LOG_INFO);
    orr_log(world, ORR_LOG_DEBUG, "not heard");
    CHECK_EQ(record.count, 1);
    orr_log_level_set(world, ORR_LOG_CATEGORY_USER, ORR_LOG_DEBUG);
    orr_log(world, ORR_LOG_DEBUG, "heard");
    CHECK_EQ(record.count, 2);
    orr_log_level_set(world, ORR_LOG_CATEGORY_STORE, ORR_LOG_OFF);
    CHECK_RESULT(orr_destroy(world, (orr_entity){0}), ORR_ERR_ENTITY);
    CHECK_EQ(record.count, 2);
    orr_world_destroy(world);
}

// ---- types --------------------------------------------------------------------------------------

ORR_TEST(type_registered_twice_is_the_same_and_another_layout_conflicts)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type first = {0}, again = {0};
    CHECK_OK(orr_type_register(world, ORR_TYPE(Position), &first));
    CHECK_OK(orr_type_register(world, ORR_TYPE(Position), &again));
    CHECK_EQ(first.id, again.id);
    CHECK_EQ(orr_type_of(world, ORR_TYPE(Position)).id, first.id);
    CHECK_EQ(orr_type_find(world, "Position").id, first.id);
    CHECK_EQ(orr_type_find(world, "Position2").id, 0);
    orr_field_desc field = {.name = "x", .type = ORR_TYPE(double)};
    orr_type_desc other = {.name = "Position", .fields = &field, .field_count = 1};
    again = (orr_type){77};
    uint64_t hash = orr_world_hash(world);
    CHECK_RESULT(orr_type_register(world, &other, &again), ORR_ERR_CONFLICT);
    CHECK_EQ(again.id, 77);
    CHECK_CONTAINS(k.errors.text, "Position");
    CHECK_EQ(orr_world_hash(world), hash);
    const orr_type_info* info = orr_type_info_get(world, first);
    CHECK_STR(info->name, "Position");
    CHECK_EQ(info->size, 12);
    CHECK(orr_type_info_get(world, (orr_type){9}) == NULL);
    kit_end(&k);
}

// As two source files that declare one name: each has a static desc of its own.
ORR_TEST(type_declared_twice_is_one_type_or_refused_if_the_declarations_differ)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_field_desc fields[] = {
        {.name = "value", .type = ORR_TYPE(int32_t), .attributes.preset = "100"},
        {.name = "armour", .type = ORR_TYPE(int32_t), .offset = 4}};
    const orr_type_desc same = {
        .name = "Health", .size = 8, .align = 4, .fields = fields, .field_count = 2};
    orr_field_desc other_fields[] = {fields[0], fields[1]};
    other_fields[0].attributes.preset = "50";
    const orr_type_desc other = {
        .name = "Health", .size = 8, .align = 4, .fields = other_fields, .field_count = 2};
    orr_type health = KIT_TYPE(world, Health);
    CHECK_EQ(orr_type_of(world, &same).id, health.id);
    CHECK_EQ(k.errors.count, 0);
    CHECK_EQ(orr_type_of(world, &other).id, 0);
    CHECK_CONTAINS(k.errors.text, "type Health: the name is used by a type with another "
                                  "declaration: field value: the preset is 50 and was 100");
    CHECK_EQ(orr_type_of(world, &other).id, 0); // Every time, not only the first.
    k.errors.count = 0;
    kit_end(&k);
}

// Addresses differ from run to run. With 32 descs in 512 entries a fixed multiplier would leave
// about one of them displaced, and each use of it would be a call.
ORR_TEST(type_of_few_descs_is_found_inline)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    static orr_type_desc descs[32];
    static char names[32][16];
    orr_type types[32];
    for (uint32_t i = 0; i < 32; i++) {
        snprintf(names[i], sizeof names[i], "Few%u", i);
        descs[i] = (orr_type_desc){.name = names[i]};
        types[i] = orr_type_of(world, &descs[i]);
        CHECK(types[i].id != 0);
        CHECK_OK(orr_world_validate(world));
    }
    CHECK_EQ(world->schema.static_displaced, 0);
    for (uint32_t i = 0; i < 32; i++) {
        const orr_hot_static* entry = orr_hot_static_at(&world->hot.statics, &descs[i]);
        CHECK(entry->desc == &descs[i]);
        CHECK_EQ(entry->id, types[i].id);
        CHECK_EQ(orr_type_of(world, &descs[i]).id, types[i].id);
    }
    kit_end(&k);
}

// The library finds its own types by name and reads their values as its own structs.
ORR_TEST(type_with_a_name_of_the_library_and_another_declaration_is_refused)
{
    static const char* const names[] = {"orr_name", "orr_enabled",        "orr_tags",
                                        "orr_time", "orr_time_traveller", "orr_time_stretcher"};
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    const orr_field_desc field = {.name = "value", .type = ORR_TYPE(int32_t)};
    orr_entity bob = orr_create(world);
    for (uint32_t i = 0; i < 6; i++) {
        orr_type type = {55};
        const orr_type_desc desc = {.name = names[i], .fields = &field, .field_count = 1};
        CHECK_RESULT(orr_type_register(world, &desc, &type), ORR_ERR_CONFLICT);
        CHECK_CONTAINS(k.errors.text, "the library has a type of this name");
        CHECK_EQ(orr_type_of(world, &desc).id, 0);
        CHECK_EQ(type.id, 55);
        CHECK_EQ(orr_type_find(world, names[i]).id, 0);
    }
    k.errors.count = 0;
    CHECK_OK(orr_name_set(world, bob, (orr_entity){0}, "bob"));
    orr_type_desc same = *ORR_TYPE(orr_name); // As in another file, or from a file of types.
    CHECK_EQ(orr_type_of(world, &same).id, orr_type_find(world, "orr_name").id);
    kit_end(&k);
}

// So many descs that some share a place in the table, and that it grows while it is used.
ORR_TEST(type_of_each_of_many_descs_is_its_own)
{
    enum {
        COUNT = 400
    };
    static char names[COUNT][16];
    static orr_type_desc descs[COUNT];
    kit k = {0}, other = {0};
    orr_world *world = kit_begin(&k, NULL), *second = kit_begin(&other, NULL);
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "Kind%u", i);
        descs[i] = (orr_type_desc){.name = names[i], .kind = ORR_KIND_STRUCT, .align = 1};
        orr_type type = orr_type_of(world, &descs[i]);
        CHECK(type.id != 0);
        CHECK_EQ(orr_type_of(world, &descs[i]).id, type.id);
    }
    for (uint32_t i = COUNT; i-- > 0;) {
        orr_type type = orr_type_of(second, &descs[i]);
        CHECK_EQ(orr_type_find(second, names[i]).id, type.id);
        CHECK_EQ(orr_type_find(world, names[i]).id, orr_type_of(world, &descs[i]).id);
        CHECK_EQ(orr_type_of_far(world, &descs[i]).id, orr_type_of(world, &descs[i]).id);
        CHECK(type.id != orr_type_of(world, &descs[i]).id);
    }
    kit_end(&k);
    kit_end(&other);
}

ORR_TEST(type_of_the_library_from_a_copy_of_its_desc_is_the_same_type)
{
    for (uint64_t n = 0; n < 12; n++) {
        failing_alloc memory = {0};
        orr_world* world = orr_world_create(&(orr_world_desc){
            .allocator = failing_alloc_allocator(&memory), .log = {.level = ORR_LOG_OFF}});
        static orr_type_desc same;
        same = *ORR_TYPE(orr_name);
        failing_alloc_arm(&memory, n, false);
        orr_type type = orr_type_of(world, &same);
        failing_alloc_arm(&memory, 0, false);
        CHECK(type.id == 0 || n == 0 || type.id == orr_type_of(world, ORR_TYPE(orr_name)).id);
        CHECK(n != 0 || type.id != 0);
        orr_entity bob = orr_create_named(world, "bob");
        CHECK_EQ(orr_find(world, (orr_entity){0}, "bob").id, bob.id);
        CHECK_OK(orr_world_validate(world));
        orr_world_destroy(world);
        failing_alloc_check(&memory);
    }
}

ORR_TEST(type_limit_of_the_desc_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.types_max = 2});
    CHECK(KIT_TYPE(world, Position).id != 0);
    CHECK(KIT_TYPE(world, Velocity).id != 0);
    orr_type type = {55};
    CHECK_RESULT(orr_type_register(world, ORR_TYPE(Health), &type), ORR_ERR_CAPACITY);
    CHECK_EQ(type.id, 55);
    CHECK_EQ(KIT_TYPE(world, Health).id, 0);
    CHECK_EQ(KIT_TYPE(world, Position).id, orr_type_find(world, "Position").id);
    kit_end(&k);
}

ORR_TEST(create_refused_frees_the_index_pages_it_made)
{
    orr_world* world = orr_world_create(
        &(orr_world_desc){.memory_bytes_max = 2 << 20, .log = {.level = ORR_LOG_OFF}});
    orr_cluster cluster;
    CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){ORR_TYPES(world, Position)}, &cluster));
    CHECK(orr_create_in(world, cluster).id != 0);
    orr_memory_stats before, after;
    orr_world_memory_get(world, &before);
    // Not enough memory for the records; then enough for the records, but not for the columns.
    const uint32_t counts[2] = {1000000, 120000};
    for (int i = 0; i < 2; i++) {
        CHECK_RESULT(orr_create_many(world, cluster, counts[i], NULL, 0, NULL), ORR_ERR_MEMORY);
        CHECK_CONTAINS(orr_error_last(world), "orr_create_many");
        CHECK_CONTAINS(orr_error_last(world), i == 0 ? "records" : "rows");
        CHECK_CONTAINS(orr_error_last(world), "2097152");
        orr_world_memory_get(world, &after);
        CHECK_EQ(after.by_purpose[ORR_MEMORY_INDEX].blocks,
                 before.by_purpose[ORR_MEMORY_INDEX].blocks);
    }
    CHECK_OK(orr_create_many(world, cluster, 50000, NULL, 0, NULL));
    CHECK_OK(orr_world_validate(world));
    orr_world_destroy(world);
}

static void handler_that_fails_itself(void* user, orr_world* world, const orr_error* error)
{
    char before[512];
    int* depth = user;
    snprintf(before, sizeof before, "%s", error->text);
    if ((*depth)++ == 0) {
        CHECK_RESULT(orr_destroy(world, (orr_entity){0}), ORR_ERR_ENTITY);
    }
    CHECK_STR(error->text, before);
}

static void handler_that_advances(void* user, orr_world* world, const orr_error* error)
{
    uint32_t* refused = user;
    if (error->result == ORR_ERR_MEMORY) {
        uint64_t tick = orr_world_tick(world);
        orr_tick_advance(world);
        CHECK_EQ(orr_world_tick(world), tick);
        CHECK_CONTAINS(orr_error_last(world), "orr_tick_advance: not allowed in an error handler");
        ++*refused;
    }
}

// Every allocation of a batch call is refused in turn: the state may be half made in the handler.
ORR_TEST(error_handler_cannot_advance_the_tick)
{
    uint32_t refused = 0;
    for (uint64_t n = 1; n < 20; n++) {
        failing_alloc memory = {0};
        orr_world* world =
            orr_world_create(&(orr_world_desc){.allocator = failing_alloc_allocator(&memory),
                                               .on_error = handler_that_advances,
                                               .on_error_user = &refused});
        ORR_REGISTER(world, Position, Velocity);
        orr_entity list[8];
        for (uint32_t i = 0; i < 8; i++) {
            list[i] = orr_create(world);
            CHECK_OK(orr_set(world, list[i], Position, {1, 2, 3}));
        }
        failing_alloc_arm(&memory, n, false);
        (void)orr_component_add_many(world, list, 8, orr_type_find(world, "Velocity"), NULL);
        failing_alloc_arm(&memory, 0, false);
        CHECK_OK(orr_world_validate(world));
        orr_world_destroy(world);
    }
    CHECK(refused > 0);
}

ORR_TEST(error_handler_may_make_calls_that_are_refused_themselves)
{
    int depth = 0;
    orr_world* world = orr_world_create(&(orr_world_desc){
        .clusters_max = 1, .on_error = handler_that_fails_itself, .on_error_user = &depth});
    orr_entity bob = orr_create(world);
    CHECK_RESULT(orr_set(world, bob, Velocity, {1, 2}), ORR_ERR_CAPACITY);
    CHECK_CONTAINS(orr_error_last(world), "cluster");
    CHECK_EQ(depth, 2);
    orr_world_destroy(world);
}
