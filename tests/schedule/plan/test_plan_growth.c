// SPDX-License-Identifier: MIT
// Adding, ordering, planning and printing n systems: near-linear in n, whatever they declare.
#include "schedule/schedule.h"
#include "schedule/schedule_kit.h"
#include "support/growth_kit.h"
#include <orrery/history.h>

ORR_STRUCT(Ping, (int32_t, value))
ORR_STRUCT(Sum, (int32_t, value))

// Fills the declarations of system `i` of a measured world.
typedef void (*grow_declare)(orr_system_desc* desc, uint32_t i, char text[32]);
static grow_declare grow_declared;

// Checks a growth_work in worlds whose systems declare that.
#define CHECK_DECLARED(work, declare, n) \
    (grow_declared = declare, growth_check(__FILE__, __LINE__, #work " " #declare, work, n))

static orr_world* grow_begin_with(kit* k, uint32_t workers, uint32_t n)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.workers = workers, .atomic_sections = true});
    ORR_REGISTER(world, Position, Velocity, Ping);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS); // Full checks visit all states per system.
    for (uint32_t i = 0; i < n; i++) {
        char name[32], text[32] = "";
        snprintf(name, sizeof name, "s%u", i);
        orr_system_desc desc = {.name = name, .query = "write Position", .run = kit_run_nothing};
        grow_declared(&desc, i, text);
        CHECK(orr_system_add(world, &desc).id != 0);
    }
    return world;
}

static orr_world* grow_begin(kit* k, uint32_t n)
{
    return grow_begin_with(k, 0, n);
}

static void grow_step(growth_clock* clock_of, uint32_t n)
{
    kit k;
    orr_world* world = grow_begin(&k, n);
    growth_begin(clock_of);
    CHECK_OK(orr_step(world, 1));
    growth_end(clock_of);
    kit_end(&k);
}

static void declare_same(orr_system_desc* desc, uint32_t i, char text[32])
{
    (void)desc, (void)i, (void)text;
}

// ---- adding and finding -------------------------------------------------------------------------

static void add(growth_clock* clock_of, uint32_t n)
{
    kit k;
    growth_begin(clock_of);
    orr_world* world = grow_begin(&k, n);
    for (uint32_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "s%u", i);
        CHECK_EQ(orr_system_find(world, name).id, i + 1);
    }
    growth_end(clock_of);
    kit_end(&k);
}

static void declare_group(orr_system_desc* desc, uint32_t i, char text[32])
{
    snprintf(text, 32, "g%u", i);
    desc->group = text;
}

static void add_groups(growth_clock* clock_of, uint32_t n)
{
    kit k;
    growth_begin(clock_of);
    orr_world* world = grow_begin(&k, n);
    for (uint32_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "g%u", i);
        CHECK_OK(orr_group_enable(world, name, false));
    }
    growth_end(clock_of);
    kit_end(&k);
}

ORR_TEST(systems_are_added_and_found_in_near_linear_time)
{
    CHECK_DECLARED(add, declare_same, 3000);
    CHECK_DECLARED(add_groups, declare_group, 400);
}

// ---- ordering -----------------------------------------------------------------------------------

static void declare_after(orr_system_desc* desc, uint32_t i, char text[32])
{
    snprintf(text, 32, "s%u", i - 1);
    desc->after = i > 0 ? text : NULL;
}

static void declare_before(orr_system_desc* desc, uint32_t i, char text[32])
{
    snprintf(text, 32, "s%u", i - 1);
    desc->before = i > 0 ? text : NULL;
}

ORR_TEST(chain_of_systems_is_ordered_in_near_linear_time)
{
    CHECK_DECLARED(grow_step, declare_after, 500);
    CHECK_DECLARED(grow_step, declare_before, 500);
}

static void declare_after_group(orr_system_desc* desc, uint32_t i, char text[32])
{
    (void)text;
    *(i % 2 == 0 ? &desc->group : &desc->after) = "g";
}

static void declare_before_group(orr_system_desc* desc, uint32_t i, char text[32])
{
    (void)text;
    *(i % 2 == 0 ? &desc->group : &desc->before) = "g";
}

ORR_TEST(systems_after_and_before_a_group_are_ordered_in_near_linear_time)
{
    CHECK_DECLARED(grow_step, declare_after_group, 500);
    CHECK_DECLARED(grow_step, declare_before_group, 500);
}

// ---- planning -----------------------------------------------------------------------------------

static void declare_sends(orr_system_desc* desc, uint32_t i, char text[32])
{
    (void)text;
    desc->query = NULL;
    desc->once = true;
    *(i % 2 == 0 ? &desc->sends : &desc->receives) = "Ping";
}

static void declare_destroys(orr_system_desc* desc, uint32_t i, char text[32])
{
    (void)i, (void)text;
    desc->query = "Velocity";
    desc->destroys = "Position, !Velocity";
}

static void declare_adds(orr_system_desc* desc, uint32_t i, char text[32])
{
    (void)i, (void)text;
    desc->adds = "Velocity";
}

static void declare_tags(orr_system_desc* desc, uint32_t i, char text[32])
{
    snprintf(text, 32, "#%u", i + 1);
    desc->tags = text;
}

static void declare_reader(orr_system_desc* desc, uint32_t i, char text[32])
{
    (void)text;
    desc->kind = i % 16 == 0 ? ORR_INDIRECT : ORR_DIRECT;
    desc->query = i % 16 == 0 ? "Velocity" : "write Position";
}

static void declare_imports(orr_system_desc* desc, uint32_t i, char text[32])
{
    snprintf(text, 32, "s%u", i - 1);
    desc->query = NULL;
    desc->once = true;
    desc->exports = ORR_TYPE(Sum);
    desc->imports = i > 0 ? text : NULL;
}

ORR_TEST(first_tick_of_systems_takes_near_linear_time)
{
    CHECK_DECLARED(grow_step, declare_same, 400);
    CHECK_DECLARED(grow_step, declare_sends, 400);
    CHECK_DECLARED(grow_step, declare_destroys, 400);
    CHECK_DECLARED(grow_step, declare_adds, 400);
    CHECK_DECLARED(grow_step, declare_tags, 400);
    CHECK_DECLARED(grow_step, declare_reader, 400);
    CHECK_DECLARED(grow_step, declare_imports, 400);
}

// ---- conflicts, with workers --------------------------------------------------------------------

static void declare_reads_between(orr_system_desc* desc, uint32_t i, char text[32])
{
    (void)text;
    desc->query = i % 100 == 0 ? "write Position" : "Position";
}

static void grow_step_workers(growth_clock* clock_of, uint32_t n)
{
    kit k;
    orr_world* world = grow_begin_with(&k, 1, n);
    (void)KIT_CLUSTER(world, Position);
    orri_parallel_share(world, ORRI_SHARE_NOTHING, 0); // Finds conflicts whatever the systems cost.
    growth_begin(clock_of);
    CHECK_OK(orr_step(world, 1));
    growth_end(clock_of);
    CHECK(world->schedule->set_lookups > 0);
    kit_end(&k);
}

ORR_TEST(first_tick_with_workers_takes_near_linear_time)
{
    CHECK_DECLARED(grow_step_workers, declare_reads_between, 400);
    CHECK_DECLARED(grow_step_workers, declare_after_group, 400);
}

// ---- shuffled orders ----------------------------------------------------------------------------

static void grow_step_shuffled(growth_clock* clock_of, uint32_t n)
{
    kit k;
    orr_world* world = grow_begin(&k, n);
    orri_shuffle_set(world, 7);
    CHECK_OK(orr_step(world, 1));
    growth_begin(clock_of);
    CHECK_OK(orr_step(world, 1));
    growth_end(clock_of);
    kit_end(&k);
}

ORR_TEST(shuffled_tick_takes_near_linear_time)
{
    CHECK_DECLARED(grow_step_shuffled, declare_same, 400);
    CHECK_DECLARED(grow_step_shuffled, declare_reads_between, 400);
    CHECK_DECLARED(grow_step_shuffled, declare_after_group, 400);
}

// ---- registered functions -----------------------------------------------------------------------

static void register_calls(growth_clock* clock_of, uint32_t n)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    growth_begin(clock_of);
    for (uint32_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%u", i);
        uintptr_t address = i / 2 * 16 + 16; // Never called.
        CHECK_OK(i % 2 == 0 ? orr_call_register(world, name, (orr_call)address, 0)
                            : orr_transaction_register(world, name, (orr_transaction)address, 0));
    }
    growth_end(clock_of);
    kit_end(&k);
}

ORR_TEST(functions_are_registered_in_near_linear_time)
{
    CHECK_NEAR_LINEAR(register_calls, 1000);
}

// ---- printing -----------------------------------------------------------------------------------

static void declare_reads(orr_system_desc* desc, uint32_t i, char text[32])
{
    (void)i, (void)text;
    desc->query = "Position";
}

static void print_plan(growth_clock* clock_of, uint32_t n)
{
    kit k;
    orr_world* world = grow_begin(&k, n);
    CHECK_OK(orr_step(world, 1));
    growth_begin(clock_of);
    CHECK(orr_plan_print(world, NULL, 0) > n);
    CHECK(orr_plan_graph(world, NULL, 0) > n);
    growth_end(clock_of);
    kit_end(&k);
}

// Half of them read what the others change in atomic sections.
static void declare_atomics(orr_system_desc* desc, uint32_t i, char text[32])
{
    (void)text;
    desc->query = i % 2 == 0 ? "Position" : "Velocity";
    desc->atomics = i % 2 == 0 ? NULL : "Position";
}

ORR_TEST(plan_is_printed_in_near_linear_time)
{
    CHECK_DECLARED(print_plan, declare_after_group, 200);
    CHECK_DECLARED(print_plan, declare_before_group, 200);
    CHECK_DECLARED(print_plan, declare_sends, 200);
    CHECK_DECLARED(print_plan, declare_atomics, 200);
    CHECK_DECLARED(print_plan, declare_same, 200);
    CHECK_DECLARED(print_plan, declare_reads, 200);
    CHECK_DECLARED(print_plan, declare_after, 200);
}

// ---- travelling ---------------------------------------------------------------------------------

static void travel(growth_clock* clock_of, uint32_t n)
{
    kit k;
    orr_world* world = grow_begin(&k, n);
    CHECK_OK(orr_step(world, 1));
    CHECK_OK(orr_remember(world));
    CHECK_OK(orr_step(world, 1));
    growth_begin(clock_of);
    CHECK_OK(orr_time_travel(world, 1));
    growth_end(clock_of);
    kit_end(&k);
}

ORR_TEST(travel_restores_systems_in_near_linear_time)
{
    // Each system is a group of its own. With fewer, all of it is in the cache.
    CHECK_DECLARED(travel, declare_adds, 1000);
}
