// SPDX-License-Identifier: MIT
// Golden hashes: the world of each scenario after a fixed number of ticks has a hash that is the
// same for every compiler, optimisation level, machine and content of fresh memory, and holds
// exactly what the naive oracle holds.
//
// When the state's layout, the hash or a scenario is changed on purpose, the test fails and prints
// the new line for the table below; put it there and give the reason in the commit.
#include "model/oracle.h"
#include "scenarios/scenario.h"
#include "support/store_kit.h"
#include "test.h"

#include <stdlib.h>

typedef struct golden {
    const char* name;
    uint32_t scale, ticks;
    uint64_t hash;
} golden;

static const golden goldens[] = {
    {"levels", 4, 100, 0x13AB81E6BC5D03F1u},   {"stir", 2, 200, 0x36B4D7FD3D23A9C1u},
    {"swarm", 100, 20, 0x8EB38850C17C07E7u},   {"asking", 60, 90, 0x6D4B5758BA38ADD6u},
    {"working", 40, 200, 0xC158C0B26F9BCDA7u}, {"churn", 2, 100, 0xD8FA4E531814EEABu},
};

// ---- the oracle as a target ---------------------------------------------------------------------

// Every operation goes to the world and to the oracle; the oracle learns ids from the world.
typedef struct golden_pair {
    scenario_target world;
    oracle oracle;
} golden_pair;

typedef struct golden_title {
    char text[32];
} golden_title;

static bool golden_title_equal(const orr_world* world, const void* world_value, const void* value)
{
    const Title* title = world_value;
    return strcmp(orr_string_text(world, title->text), ((const golden_title*)value)->text) == 0;
}

// A value in the oracle's form.
static const void* golden_model(golden_pair* pair, uint32_t type, const void* value,
                                golden_title* title)
{
    if (pair->oracle.types[type].equal == NULL) {
        return value;
    }
    snprintf(title->text, sizeof title->text, "%s",
             orr_string_text(pair->world.world, ((const Title*)value)->text));
    return title;
}

static bool golden_create(void* self, const orr_cluster_desc* set, uint32_t count,
                          const orr_column_data* data, uint32_t data_count, orr_entity* out)
{
    golden_pair* pair = self;
    if (!pair->world.create(pair->world.self, set, count, data, data_count, out)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        oracle_entity* entity = oracle_create(&pair->oracle, out[i]);
        for (uint32_t t = 0; t < set->type_count; t++) {
            uint32_t type = oracle_type_index(&pair->oracle, set->types[t]);
            oracle_component_add(&pair->oracle, entity, type);
        }
        for (uint32_t t = 0; t < set->tag_count; t++) {
            oracle_tag_add(entity, set->tags[t]);
        }
        for (uint32_t d = 0; d < data_count; d++) {
            uint32_t type = oracle_type_index(&pair->oracle, data[d].type);
            size_t size = pair->oracle.types[type].world_size;
            golden_title title;
            oracle_component_set(
                &pair->oracle, entity, type,
                golden_model(pair, type, (const char*)data[d].values + i * size, &title));
        }
    }
    return true;
}

static oracle_entity* golden_find(golden_pair* pair, orr_entity entity)
{
    oracle_entity* found = oracle_find(&pair->oracle, entity);
    MODEL_CHECK(found != NULL);
    return found;
}

static bool golden_destroy(void* self, const orr_entity* entities, uint32_t count)
{
    golden_pair* pair = self;
    for (uint32_t i = 0; i < count; i++) {
        oracle_destroy(&pair->oracle, golden_find(pair, entities[i]));
    }
    return pair->world.destroy(pair->world.self, entities, count);
}

static bool golden_set(void* self, orr_entity entity, orr_type type, const void* value)
{
    golden_pair* pair = self;
    uint32_t index = oracle_type_index(&pair->oracle, type);
    golden_title title;
    oracle_entity* found = golden_find(pair, entity);
    if (pair->oracle.types[index].size == 0) {
        oracle_component_add(&pair->oracle, found, index);
    } else {
        oracle_component_set(&pair->oracle, found, index, golden_model(pair, index, value, &title));
    }
    return pair->world.set(pair->world.self, entity, type, value);
}

static bool golden_remove(void* self, orr_entity entity, orr_type type)
{
    golden_pair* pair = self;
    oracle_component_remove(&pair->oracle, golden_find(pair, entity),
                            oracle_type_index(&pair->oracle, type));
    return pair->world.remove(pair->world.self, entity, type);
}

static bool golden_tag(void* self, orr_entity entity, orr_tag tag, bool on)
{
    golden_pair* pair = self;
    if (on) {
        oracle_tag_add(golden_find(pair, entity), tag);
    } else {
        oracle_tag_remove(golden_find(pair, entity), tag);
    }
    return pair->world.tag(pair->world.self, entity, tag, on);
}

static bool golden_enable(void* self, orr_entity entity, orr_type type, bool on)
{
    golden_pair* pair = self;
    oracle_entity* found = golden_find(pair, entity);
    if (type.id == 0) {
        found->on = on;
    } else {
        oracle_component* component =
            oracle_component_of(found, oracle_type_index(&pair->oracle, type));
        if (component != NULL) {
            component->on = on;
        }
    }
    return pair->world.enable(pair->world.self, entity, type, on);
}

static bool golden_unload(void* self, orr_tag tag)
{
    golden_pair* pair = self;
    for (uint32_t i = pair->oracle.live_count; i > 0; i--) {
        if (oracle_tag_has(pair->oracle.live[i - 1], tag)) {
            oracle_destroy(&pair->oracle, pair->oracle.live[i - 1]);
        }
    }
    orr_cluster gone[256];
    orr_cluster_match match = {.tags = &tag, .tag_count = 1};
    uint32_t count = orr_clusters_find(pair->world.world, &match, gone, 256);
    MODEL_CHECK(count <= 256);
    for (uint32_t i = 0; i < count; i++) {
        oracle_cluster_deleted(&pair->oracle, gone[i]);
    }
    return pair->world.unload(pair->world.self, tag);
}

static bool golden_each(void* self, const orr_type* types, uint32_t type_count,
                        uint32_t write_count, scenario_body body, void* user)
{
    golden_pair* pair = self;
    uint32_t indexes[SCENARIO_TYPE_COUNT];
    for (uint32_t t = 0; t < type_count; t++) {
        indexes[t] = oracle_type_index(&pair->oracle, types[t]);
    }
    for (uint32_t i = 0; i < pair->oracle.live_count; i++) {
        void* columns[SCENARIO_TYPE_COUNT];
        uint32_t found = 0;
        for (; found < type_count; found++) {
            oracle_component* component = oracle_component_of(pair->oracle.live[i], indexes[found]);
            if (component == NULL) {
                break;
            }
            columns[found] = component->value;
        }
        if (found == type_count) {
            body(user, columns, 1);
        }
    }
    return pair->world.each(pair->world.self, types, type_count, write_count, body, user);
}

static bool golden_tick(void* self)
{
    golden_pair* pair = self;
    return pair->world.tick(pair->world.self);
}

static void golden_types(oracle* o, orr_world* world)
{
    static const Vigour vigour = {100, 0, TEMPER_CALM};
    static const Mass mass = {1.5, 0};
#define GOLDEN_TYPE(name, own, ...)                                                             \
    {                                                                                           \
        .type = orr_type_of(world, ORR_TYPE(name)), .size = own, .world_size = own, __VA_ARGS__ \
    }
    const oracle_type types[] = {GOLDEN_TYPE(Place, sizeof(Place), .preset = NULL),
                                 GOLDEN_TYPE(Motion, sizeof(Motion), .preset = NULL),
                                 GOLDEN_TYPE(Vigour, sizeof(Vigour), .preset = &vigour),
                                 GOLDEN_TYPE(Mass, sizeof(Mass), .preset = &mass),
                                 GOLDEN_TYPE(Aim, sizeof(Aim), .preset = NULL),
                                 {.type = orr_type_of(world, ORR_TYPE(Title)),
                                  .size = sizeof(golden_title),
                                  .world_size = sizeof(Title),
                                  .equal = golden_title_equal},
                                 GOLDEN_TYPE(Asleep, 0, .preset = NULL)};
#undef GOLDEN_TYPE
    for (uint32_t i = 0; i < SCENARIO_TYPE_COUNT; i++) {
        oracle_type_add(o, &types[i]);
    }
}

static scenario_target golden_target(golden_pair* pair)
{
    return (scenario_target){.self = pair,
                             .world = pair->world.world,
                             .create = golden_create,
                             .destroy = golden_destroy,
                             .set = golden_set,
                             .remove = golden_remove,
                             .tag = golden_tag,
                             .enable = golden_enable,
                             .unload = golden_unload,
                             .each = golden_each,
                             .tick = golden_tick};
}

// ---- runs ---------------------------------------------------------------------------------------

static uint64_t golden_run(const golden* g, uint8_t fill)
{
    kit k = {0};
    k.memory.fresh_byte = fill;
    orr_world* world = kit_begin(&k, &(orr_world_desc){.seed = 11});
    scenario_target target = scenario_target_world(world);
    scenario_run run;
    CHECK(scenario_begin(&run, scenario_find(g->name), &target, g->scale));
    for (uint32_t i = 0; i < g->ticks; i++) {
        CHECK(scenario_step(&run));
    }
    uint64_t hash = orr_world_hash(world);
    scenario_end(&run);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
    return hash;
}

// A scenario that calls the world itself is checked by validation only.
static uint64_t golden_run_validated(const golden* g)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.seed = 11});
    scenario_target target = scenario_target_world(world);
    scenario_run run;
    CHECK(scenario_begin(&run, scenario_find(g->name), &target, g->scale));
    for (uint32_t i = 0; i < g->ticks; i++) {
        if (!scenario_step(&run)) {
            test_fail(__FILE__, __LINE__, "tick %u was refused: %s", i, orr_error_last(world));
        }
        if (i % 10 == 0) {
            CHECK_OK(orr_world_validate(world));
            (void)orr_world_hash(world);
        }
    }
    uint64_t hash = orr_world_hash(world);
    orr_world_stats stats;
    orr_world_stats_get(world, &stats);
    printf("  %s: %u entities in %u clusters after %u ticks, %u answers noted\n", g->name,
           (unsigned)stats.entities, (unsigned)stats.clusters, g->ticks, (unsigned)run.noted);
    scenario_end(&run);
    kit_end(&k);
    return hash;
}

static uint64_t golden_run_with_oracle(const golden* g)
{
    kit k = {0};
    static golden_pair pair;
    orr_world* world = kit_begin(&k, &(orr_world_desc){.seed = 11});
    pair.world = scenario_target_world(world);
    oracle_init(&pair.oracle);
    golden_types(&pair.oracle, world);
    scenario_target target = golden_target(&pair);
    scenario_run run;
    CHECK(scenario_begin(&run, scenario_find(g->name), &target, g->scale));
    oracle_compare(&pair.oracle, world);
    for (uint32_t i = 0; i < g->ticks; i++) {
        CHECK(scenario_step(&run));
        if (i % 10 == 0) {
            model_at = (model_context){.shape = g->name, .operation = "step", .number = i};
            oracle_compare(&pair.oracle, world);
            CHECK_OK(orr_world_validate(world));
            (void)orr_world_hash(world); // Reading it in between must not matter.
        }
    }
    oracle_compare(&pair.oracle, world);
    uint64_t hash = orr_world_hash(world);
    printf("  %s: %u entities in %u clusters after %u ticks\n", g->name, pair.oracle.live_count,
           pair.oracle.cluster_count, g->ticks);
    scenario_end(&run);
    oracle_term(&pair.oracle);
    kit_end(&k);
    model_at.operation = NULL;
    return hash;
}

static void golden_check(const char* name)
{
    for (size_t i = 0; i < sizeof goldens / sizeof goldens[0]; i++) {
        const golden* g = &goldens[i];
        if (strcmp(g->name, name) != 0) {
            continue;
        }
        uint64_t hash = scenario_find(name)->direct ? golden_run_validated(g)
                                                    : golden_run_with_oracle(g);
        CHECK_EQ(golden_run(g, 0xAA), hash);
        CHECK_EQ(golden_run(g, 0x55), hash);
        if (hash != g->hash) {
            test_fail(__FILE__, __LINE__,
                      "the golden hash is another now:\n    {\"%s\", %u, %u, 0x%016" PRIX64 "u},",
                      g->name, g->scale, g->ticks, hash);
        }
        return;
    }
    CHECK(false);
}

/* N1-15 */
ORR_TEST(golden_levels_has_its_hash_and_equals_the_oracle)
{
    golden_check("levels");
}

ORR_TEST(golden_stir_has_its_hash_and_equals_the_oracle)
{
    golden_check("stir");
}

ORR_TEST(golden_swarm_has_its_hash_and_equals_the_oracle)
{
    golden_check("swarm");
}

ORR_TEST(golden_asking_has_its_hash)
{
    golden_check("asking");
}

ORR_TEST(golden_working_has_its_hash)
{
    golden_check("working");
}

ORR_TEST(golden_churn_has_its_hash)
{
    golden_check("churn");
}

ORR_TEST(golden_table_has_every_scenario)
{
    CHECK_EQ(sizeof goldens / sizeof goldens[0], scenario_count);
    for (uint32_t i = 0; i < scenario_count; i++) {
        CHECK_STR(goldens[i].name, scenario_list[i]->name);
    }
    CHECK(scenario_find("nothing") == NULL);
}
