// SPDX-License-Identifier: MIT
// Out of memory with queries in the world. A script of changes runs in a world with queries of
// every kind. For each step and every N the Nth allocation within it is refused, once or
// permanently. A refused step leaves the hash and all query results unchanged; a repeated step
// succeeds.
#include "query/query_kit.h"
#include "support/pinned_kit.h"
#include "test.h"

#include <stdlib.h>

ORR_STRUCT_EX(Shard, (.multiplicity = ORR_MULTIPLE), (int32_t, size, (.preset = "7")))
ORR_STRUCT(Holder,
           (orr_entity, owner, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_DESTROY)))
ORR_STRUCT_EX(Engine, (.needs = "Velocity"), (int32_t, power))

enum {
    MANY = 300,
    QUERIES = 10,
    ANSWERS = 4 * MANY
};

typedef struct oom_world {
    kit k;
    orr_world* world;
    orr_cluster cluster;
    orr_entity many[MANY], bob;
    orr_component_id shard;
    orr_bundle bundle;
    orr_query* queries[QUERIES];
    orr_query* made; // Created by a step.
    orr_entity answers[QUERIES][ANSWERS];
    uint32_t counts[QUERIES];
} oom_world;

#define TYPE(name) KIT_TYPE(h->world, name)

static orr_result oom_result(const oom_world* h, bool done)
{
    return done ? ORR_OK : h->k.errors.result;
}

static uint64_t oom_group(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)user;
    return 3 - kit_info(world, cluster).type_count % 3;
}

// ---- steps --------------------------------------------------------------------------------------

static orr_result step_cluster(oom_world* h)
{
    orr_type type = TYPE(Position);
    return orr_cluster_get(h->world, &(orr_cluster_desc){.types = &type, .type_count = 1},
                           &h->cluster);
}

static orr_result step_create_many(oom_world* h)
{
    return orr_create_many(h->world, h->cluster, MANY, NULL, 0, h->many);
}

static orr_result step_bob(oom_world* h)
{
    h->bob = orr_create(h->world);
    return oom_result(h, h->bob.id != 0);
}

static orr_result step_set(oom_world* h)
{
    return orr_set(h->world, h->bob, Position, {3, 1, 2});
}

static orr_result step_add_health(oom_world* h)
{
    return orr_add(h->world, h->bob, Health);
}

static orr_result step_tag(oom_world* h)
{
    return orr_tag_add(h->world, h->bob, 5);
}

static orr_result step_engine(oom_world* h)
{
    return orr_set(h->world, h->many[7], Engine, {4});
}

static orr_result step_switch_off(oom_world* h)
{
    return orr_enable(h->world, h->many[3], Position, false);
}

static orr_result step_entity_off(oom_world* h)
{
    return orr_entity_enable(h->world, h->many[4], false);
}

static orr_result step_pin(oom_world* h)
{
    return orr_set(h->world, h->many[5], Body, {1, 2});
}

static orr_result step_pin_many(oom_world* h)
{
    return orr_component_add_many(h->world, h->many + 10, 100, TYPE(Body), NULL);
}

static orr_result step_pin_hooked(oom_world* h)
{
    return orr_add(h->world, h->many[11], Ghost);
}

static orr_result step_pin_off(oom_world* h)
{
    return orr_enable(h->world, h->many[12], Body, false);
}

static orr_result step_instance(oom_world* h)
{
    h->shard = orr_instance_add(h->world, h->many[20], TYPE(Shard), &(Shard){1});
    return oom_result(h, h->shard != 0);
}

static orr_result step_instance_more(oom_world* h)
{
    return oom_result(h, orr_instance_add(h->world, h->many[20], TYPE(Shard), NULL) != 0);
}

static orr_result step_instance_off(oom_world* h)
{
    return orr_instance_enable(h->world, h->many[20], TYPE(Shard), h->shard, false);
}

static orr_result step_instance_gone(oom_world* h)
{
    return orr_instance_remove(h->world, h->many[20], TYPE(Shard), h->shard);
}

static orr_result step_name(oom_world* h)
{
    return orr_name_set(h->world, h->bob, (orr_entity){0}, "bob");
}

static orr_result step_name_below(oom_world* h)
{
    return orr_name_set(h->world, h->many[0], h->bob, "first");
}

static orr_result step_singleton(oom_world* h)
{
    return oom_result(h, orr_world_entity(h->world).id != 0);
}

static orr_result step_hold(oom_world* h)
{
    return orr_set(h->world, h->many[30], Holder, {h->many[31]});
}

static orr_result step_hold_many(oom_world* h)
{
    Holder holders[20];
    for (uint32_t i = 0; i < 20; i++) {
        holders[i].owner = h->many[50];
    }
    return orr_component_add_many(h->world, h->many + 60, 20, TYPE(Holder), holders);
}

static orr_result step_bundle(oom_world* h)
{
    return orr_bundle_register(h->world, "mixed", "Position {x: 2}, Shard, Shard {size: 2}, Body",
                               &h->bundle);
}

static orr_result step_bundle_create(oom_world* h)
{
    return orr_bundle_create(h->world, h->bundle, 12, NULL);
}

static orr_result step_bundle_add(oom_world* h)
{
    return orr_bundle_add(h->world, h->many[13], h->bundle);
}

static orr_result step_bundle_remove(oom_world* h)
{
    return orr_bundle_remove(h->world, h->many[13], h->bundle);
}

static orr_result step_copy(oom_world* h)
{
    return oom_result(h, orr_copy(h->world, h->many[20]).id != 0);
}

static orr_result step_query_text(oom_world* h)
{
    h->made = orr_query_text(h->world, "write Position, ?Velocity, Body|Shard|#5");
    return oom_result(h, h->made != NULL);
}

static orr_result step_query_set(oom_world* h)
{
    orr_query_desc desc = {.set = ORR_UNION, .left = h->queries[0], .right = h->queries[6]};
    h->made = orr_query_create(h->world, &desc);
    return oom_result(h, h->made != NULL);
}

static orr_result step_loop_sorted(oom_world* h)
{
    uint32_t errors = h->k.errors.count;
    ORR_EACH (it, h->queries[1]) {
    }
    return oom_result(h, h->k.errors.count == errors);
}

static orr_result step_loop_pinned(oom_world* h)
{
    uint32_t errors = h->k.errors.count;
    ORR_EACH (it, h->queries[3]) {
    }
    return oom_result(h, h->k.errors.count == errors);
}

static orr_result step_bulk_add_whole(oom_world* h)
{
    return orr_query_add(h->queries[8], TYPE(Tiny), &(Tiny){9});
}

static orr_result step_bulk_add_some(oom_world* h)
{
    return orr_query_add(h->queries[0], TYPE(Engine), &(Engine){6});
}

static orr_result step_bulk_add_pinned(oom_world* h)
{
    return orr_query_add(h->queries[0], TYPE(Ghost), NULL);
}

static orr_result step_bulk_add_instance(oom_world* h)
{
    return orr_query_add(h->queries[8], TYPE(Shard), &(Shard){5});
}

static orr_result step_bulk_remove(oom_world* h)
{
    return orr_query_remove(h->queries[8], TYPE(Tiny));
}

static orr_result step_bulk_remove_pinned(oom_world* h)
{
    return orr_query_remove(h->queries[0], TYPE(Body));
}

static orr_result step_destroy_owner(oom_world* h)
{
    return orr_destroy(h->world, h->many[50]); // Together with twenty others.
}

static orr_result step_bulk_destroy(oom_world* h)
{
    return orr_query_destroy_entities(h->queries[6]);
}

static orr_result step_clusters_delete(oom_world* h)
{
    orr_type type = TYPE(Engine);
    uint32_t count;
    return orr_clusters_delete(h->world, &(orr_cluster_match){.types = &type, .type_count = 1},
                               &count);
}

typedef struct oom_step {
    const char* name;
    orr_result (*run)(oom_world* h);
} oom_step;

#define STEP(name)         \
    {                      \
#name, step_##name \
    }

static const oom_step steps[] = {
    STEP(cluster),       STEP(create_many),        STEP(bob),
    STEP(set),           STEP(add_health),         STEP(tag),
    STEP(engine),        STEP(switch_off),         STEP(entity_off),
    STEP(pin),           STEP(pin_many),           STEP(pin_hooked),
    STEP(pin_off),       STEP(instance),           STEP(instance_more),
    STEP(instance_more), STEP(instance_off),       STEP(instance_gone),
    STEP(name),          STEP(name_below),         STEP(singleton),
    STEP(hold),          STEP(hold_many),          STEP(bundle),
    STEP(bundle_create), STEP(bundle_add),         STEP(bundle_remove),
    STEP(copy),          STEP(query_text),         STEP(query_set),
    STEP(loop_sorted),   STEP(loop_pinned),        STEP(bulk_add_whole),
    STEP(bulk_add_some), STEP(bulk_add_pinned),    STEP(bulk_add_instance),
    STEP(bulk_remove),   STEP(bulk_remove_pinned), STEP(destroy_owner),
    STEP(bulk_destroy),  STEP(clusters_delete),
};

#undef STEP

// ---- the sweep ----------------------------------------------------------------------------------

static void oom_begin(oom_world* h)
{
    memset(h, 0, sizeof *h);
    h->world = kit_begin(&h->k, NULL);
    const orr_type_desc* descs[] = {ORR_TYPE(Position), ORR_TYPE(Velocity), ORR_TYPE(Health),
                                    ORR_TYPE(Tiny),     ORR_TYPE(Body),     ORR_TYPE(Ghost),
                                    ORR_TYPE(Shard),    ORR_TYPE(Holder),   ORR_TYPE(Engine)};
    for (uint32_t i = 0; i < sizeof descs / sizeof descs[0]; i++) {
        CHECK(orr_type_of(h->world, descs[i]).id != 0);
    }
    const orr_query_desc asked[QUERIES] = {
        {.text = "write Position, !Velocity"},
        {.text = "write Position", .order_by = "Position.x"},
        {.text = "Position|Health", .group_by = oom_group},
        {.text = "write Body, ?Ghost, Position"},
        {.text = "Shard, !Body"},
        {.text = "either *"},
        {.text = "Health|Engine|Ghost"},
        {.text = "disabled Position, either *"},
        {.text = "Holder"},
    };
    for (uint32_t q = 0; q + 1 < QUERIES; q++) {
        h->queries[q] = orr_query_create(h->world, &asked[q]);
        CHECK(h->queries[q] != NULL);
    }
    h->queries[QUERIES - 1] = orr_query_create(
        h->world,
        &(orr_query_desc){.set = ORR_DIFFERENCE, .left = h->queries[2], .right = h->queries[3]});
    CHECK(h->queries[QUERIES - 1] != NULL);
}

static void oom_ask(oom_world* h)
{
    for (uint32_t q = 0; q < QUERIES; q++) {
        h->counts[q] = (uint32_t)orr_query_entities(h->queries[q], 0, h->answers[q], ANSWERS);
        CHECK_EQ(orr_query_count(h->queries[q]), h->counts[q]);
    }
}

static void oom_compare(oom_world* h, const char* name)
{
    static orr_entity now[ANSWERS];
    for (uint32_t q = 0; q < QUERIES; q++) {
        uint64_t count = orr_query_entities(h->queries[q], 0, now, ANSWERS);
        if (count != h->counts[q] || memcmp(now, h->answers[q], sizeof now[0] * count) != 0) {
            test_fail(__FILE__, __LINE__, "step %s was refused, and query %u answers otherwise",
                      name, q);
        }
    }
}

// Runs the steps before one step, then this step with its nth allocation refused. `asked`: lists,
// orders and pinned sets were built before. Returns false if the step needs fewer allocations.
static bool oom_run(uint32_t last, uint64_t nth, bool for_good, bool asked, uint64_t expected)
{
    static oom_world h;
    oom_begin(&h);
    for (uint32_t i = 0; i < last; i++) {
        CHECK_OK(steps[i].run(&h));
    }
    uint64_t before = orr_world_hash(h.world);
    if (asked) {
        oom_ask(&h);
    }
    failing_alloc_arm(&h.k.memory, nth, for_good);
    orr_result result = steps[last].run(&h);
    bool refused = h.k.memory.refused > 0;
    failing_alloc_arm(&h.k.memory, 0, false);
    if (result != ORR_OK) {
        CHECK(refused);
        if (result != ORR_ERR_MEMORY || orr_world_hash(h.world) != before) {
            test_fail(__FILE__, __LINE__, "step %s, allocation %u: %s, %s", steps[last].name,
                      (unsigned)nth, orr_result_name(result), h.k.errors.text);
        }
        CHECK_OK(orr_world_validate(h.world));
        if (asked) {
            oom_compare(&h, steps[last].name);
        }
        CHECK_OK(steps[last].run(&h));
    }
    CHECK_EQ(orr_world_hash(h.world), expected);
    oom_ask(&h);
    kit_end(&h.k);
    return refused;
}

static uint64_t oom_hash_after(uint32_t last)
{
    static oom_world h;
    oom_begin(&h);
    for (uint32_t i = 0; i <= last; i++) {
        CHECK_OK(steps[i].run(&h));
    }
    uint64_t hash = orr_world_hash(h.world);
    kit_end(&h.k);
    return hash;
}

static void oom_sweep(bool for_good, bool asked)
{
    uint32_t refused = 0;
    for (uint32_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        uint64_t expected = oom_hash_after(i), nth = 1;
        while (oom_run(i, nth, for_good, asked, expected)) {
            nth++;
        }
        refused += (uint32_t)(nth - 1);
    }
    printf("  %u allocations refused, one after the other\n", refused);
    CHECK(refused > 100);
}

ORR_TEST(oom_once_leaves_hash_and_results_and_can_be_repeated)
{
    oom_sweep(false, true);
}

ORR_TEST(oom_permanent_leaves_hash_and_results)
{
    oom_sweep(true, true);
}

ORR_TEST(oom_before_first_iteration_leaves_the_hash)
{
    oom_sweep(false, false);
}

// Refuses the Nth allocation of orr_query_prepare(). False if it needed fewer.
static bool oom_prepare(const orr_query_desc* desc, uint64_t nth)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Position, Body);
    orr_entity many[MANY];
    orr_query* query = orr_query_create(world, desc);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), MANY, NULL, 0, many));
    CHECK_OK(orr_component_add_many(world, many, MANY, KIT_TYPE(world, Body), NULL));
    failing_alloc_arm(&k.memory, nth, true);
    orr_result result = orr_query_prepare(query);
    bool refused = k.memory.refused > 0;
    CHECK_RESULT(result, refused ? ORR_ERR_MEMORY : ORR_OK);
    if (refused) { // The number of entities is not known, so the text must not give one.
        CHECK_EQ(orr_query_single(query).id, 0);
        CHECK_CONTAINS(k.errors.text, "out of memory");
        failing_alloc_arm(&k.memory, 0, false);
        CHECK_OK(orr_query_prepare(query));
        failing_alloc_arm(&k.memory, 1, true);
    }
    uint32_t rows = 0;
    ORR_EACH (it, query) {
        rows += it.count;
    }
    failing_alloc_arm(&k.memory, 0, false);
    CHECK_EQ(rows, MANY);
    kit_end(&k);
    return refused;
}

ORR_TEST(query_prepare_returns_refused_memory_and_loops_after_it_need_none)
{
    const orr_query_desc descs[] = {{.text = "Position", .order_by = "Position.x"},
                                    {.text = "Body"}};
    for (uint32_t d = 0; d < 2; d++) {
        uint64_t nth = 1;
        while (oom_prepare(&descs[d], nth)) {
            nth++;
        }
        CHECK(nth > 2);
    }
}

#undef TYPE
