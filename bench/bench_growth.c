// SPDX-License-Identifier: MIT
// Calls whose cost per item must not grow with the number of items: many systems, functions,
// clusters, bundles, names and remembered ticks (`--grow`). Plain arrays have no such calls, so there is
// no limit.
#include "bench.h"
#include <stdio.h>
#include <stdlib.h>

static void growth_require(bool condition, const orr_world* world)
{
    if (!condition) {
        bench_die("%s", orr_error_last(world));
    }
}

// ---- systems ------------------------------------------------------------------------------------

static void growth_run(orr_run* run)
{
    (void)run;
}

// A world with n systems that write one type. `chain`: each comes after the one before it.
static orr_world* growth_systems(uint32_t n, bool chain)
{
    orr_world* world = orr_world_create(&(orr_world_desc){0});
    orr_type_of(world, ORR_TYPE(Position));
    for (uint32_t i = 0; i < n; i++) {
        char name[16], after[16];
        snprintf(name, sizeof name, "s%u", i);
        snprintf(after, sizeof after, "s%u", i - 1);
        orr_system system =
            orr_system_add(world, &(orr_system_desc){.name = name,
                                                     .query = "write Position",
                                                     .after = chain && i > 0 ? after : NULL,
                                                     .run = growth_run});
        growth_require(system.id != 0, world);
    }
    return world;
}

static uint64_t growth_systems_add(uint32_t n)
{
    uint64_t start = bench_now_ns();
    orr_world* world = growth_systems(n, false);
    uint64_t ns = bench_since_ns(start);
    orr_world_destroy(world);
    return ns;
}

static uint64_t growth_step(orr_world* world)
{
    uint64_t start = bench_now_ns();
    growth_require(orr_step(world, 1) == ORR_OK, world);
    uint64_t ns = bench_since_ns(start);
    orr_world_destroy(world);
    return ns;
}

static uint64_t growth_tick_first(uint32_t n)
{
    return growth_step(growth_systems(n, false));
}

static uint64_t growth_tick_chain(uint32_t n)
{
    return growth_step(growth_systems(n, true));
}

// With workers conflicts are found, too: n readers between two writers.
static uint64_t growth_tick_readers(uint32_t n)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.workers = 2});
    orr_type type = orr_type_of(world, ORR_TYPE(Position));
    orr_cluster cluster;
    orr_cluster_desc types = {.types = &type, .type_count = 1};
    growth_require(orr_cluster_get(world, &types, &cluster) == ORR_OK, world);
    for (uint32_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%u", i);
        orr_system_desc desc = {.name = name,
                                .query = i % (n - 1) == 0 ? "write Position" : "Position",
                                .run = growth_run};
        growth_require(orr_system_add(world, &desc).id != 0, world);
    }
    return growth_step(world);
}

// A world of n systems: half of them come after a group of the others.
static orr_world* growth_group(uint32_t n, uint32_t workers)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.workers = workers});
    orr_type_of(world, ORR_TYPE(Position));
    for (uint32_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%u", i);
        orr_system_desc desc = {.name = name,
                                .query = "Position",
                                .group = i % 2 == 0 ? "g" : NULL,
                                .after = i % 2 == 0 ? NULL : "g",
                                .run = growth_run};
        growth_require(orr_system_add(world, &desc).id != 0, world);
    }
    return world;
}

// With workers systems wait for the group.
static uint64_t growth_tick_group(uint32_t n)
{
    return growth_step(growth_group(n, 2));
}

static uint64_t growth_print(orr_world* world, uint32_t n,
                             size_t (*print)(orr_world* world, char* out, size_t out_size))
{
    growth_require(orr_step(world, 1) == ORR_OK, world);
    uint64_t start = bench_now_ns();
    growth_require(print(world, NULL, 0) > n, world);
    uint64_t ns = bench_since_ns(start);
    orr_world_destroy(world);
    return ns;
}

static uint64_t growth_plan_print(uint32_t n)
{
    return growth_print(growth_systems(n, false), n, orr_plan_print);
}

static uint64_t growth_plan_print_group(uint32_t n)
{
    return growth_print(growth_group(n, 0), n, orr_plan_print);
}

static uint64_t growth_plan_graph_group(uint32_t n)
{
    return growth_print(growth_group(n, 0), n, orr_plan_graph);
}

// ---- functions ----------------------------------------------------------------------------------

static uint64_t growth_call_register(uint32_t n)
{
    orr_world* world = orr_world_create(&(orr_world_desc){0});
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        orr_call call = (orr_call)(uintptr_t)(i * 16 + 16); // Never called.
        growth_require(orr_call_register(world, name, call, 0) == ORR_OK, world);
    }
    uint64_t ns = bench_since_ns(start);
    orr_world_destroy(world);
    return ns;
}

// ---- clusters, bundles, names, remembered ticks -------------------------------------------------

static uint64_t growth_clusters_delete(uint32_t n)
{
    orr_world* world = orr_world_create(&(orr_world_desc){0});
    orr_type type = orr_type_of(world, ORR_TYPE(Position));
    orr_cluster* clusters = malloc(n * sizeof *clusters);
    for (uint32_t i = 0; clusters != NULL && i < n; i++) {
        orr_tag tag = i;
        orr_cluster_desc desc = {.types = &type, .type_count = 1, .tags = &tag, .tag_count = 1};
        growth_require(orr_cluster_get(world, &desc, &clusters[i]) == ORR_OK, world);
    }
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0; clusters != NULL && i < n; i++) {
        growth_require(orr_cluster_delete(world, clusters[i]) == ORR_OK, world);
    }
    uint64_t ns = bench_since_ns(start);
    free(clusters);
    orr_world_destroy(world);
    return ns;
}

// Each bundle contains the one before it.
static uint64_t growth_bundles(uint32_t n)
{
    orr_world* world = orr_world_create(&(orr_world_desc){0});
    orr_type_of(world, ORR_TYPE(Position));
    orr_bundle bundle;
    char items[16] = "Position";
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "b%u", i);
        growth_require(orr_bundle_register(world, name, items, &bundle) == ORR_OK, world);
        snprintf(items, sizeof items, "b%u", i);
    }
    uint64_t ns = bench_since_ns(start);
    orr_world_destroy(world);
    return ns;
}

static uint64_t growth_forget(uint32_t n)
{
    orr_world* world = orr_world_create(&(orr_world_desc){0});
    orr_entity entity = orr_create(world);
    for (uint32_t i = 0; i < n; i++) {
        orr_tick_advance(world);
        orr_set(world, entity, Position, {(float)i, 0});
        growth_require(orr_remember(world) == ORR_OK, world);
    }
    uint64_t start = bench_now_ns();
    for (uint32_t i = 1; i <= n; i++) {
        growth_require(orr_forget(world, i) == ORR_OK, world);
    }
    uint64_t ns = bench_since_ns(start);
    orr_world_destroy(world);
    return ns;
}

// Each entity is named in the scope of the one before it.
static uint64_t growth_names(uint32_t n)
{
    orr_world* world = orr_world_create(&(orr_world_desc){0});
    orr_entity above = {0};
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0; i < n; i++) {
        orr_entity entity = orr_create(world);
        growth_require(orr_name_set(world, entity, above, "a") == ORR_OK, world);
        above = entity;
    }
    uint64_t ns = bench_since_ns(start);
    orr_world_destroy(world);
    return ns;
}

const bench_growth bench_growths[] = {
    {"system_add", growth_systems_add},
    {"tick_first", growth_tick_first},
    {"tick_first_chain", growth_tick_chain},
    {"tick_first_readers", growth_tick_readers},
    {"tick_first_group", growth_tick_group},
    {"plan_print", growth_plan_print},
    {"plan_print_group", growth_plan_print_group},
    {"plan_graph_group", growth_plan_graph_group},
    {"call_register", growth_call_register},
    {"cluster_delete", growth_clusters_delete},
    {"bundle_nested", growth_bundles},
    {"name_chain", growth_names},
    {"forget_oldest", growth_forget},
    {NULL, NULL},
};
