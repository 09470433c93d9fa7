// SPDX-License-Identifier: MIT
// A small world for tests of systems: a few types, rows of Position, systems that note their name,
// and callbacks that note their calls.
#ifndef TEST_SYSTEM_KIT_H
#define TEST_SYSTEM_KIT_H

#include "schedule/schedule_kit.h"
#include "support/pinned_kit.h"

ORR_STRUCT(Count, (int32_t, value, (.preset = "7")), (int32_t, other))
ORR_STRUCT(Wind, (float, x, (.preset = "2")), (float, y))
ORR_STRUCT(Hit, (orr_entity, who), (int32_t, damage))

ORR_MAYBE_UNUSED static orr_world* begin(kit* k)
{
    kit_line[0] = '\0';
    orr_world* world = kit_begin(k, NULL);
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Hidden);
    return world;
}

ORR_MAYBE_UNUSED static orr_entity make(orr_world* world, float x)
{
    orr_entity entity = orr_create(world);
    CHECK_OK(orr_set(world, entity, Position, {x, 0, 0}));
    return entity;
}

// A world with one row.
ORR_MAYBE_UNUSED static orr_world* begin_rows(kit* k)
{
    orr_world* world = begin(k);
    make(world, 0);
    return world;
}

#define NAMED(world, system_name, ...) \
    KIT_SYSTEM(world, .name = system_name, .query = "Position", .run = kit_run, __VA_ARGS__)

// ---- callbacks as text: "a.create a.start" ------------------------------------------------------

ORR_MAYBE_UNUSED static void on_create(orr_run* run)
{
    kit_say_of(run, "create");
}

ORR_MAYBE_UNUSED static void on_start(orr_run* run)
{
    kit_say_of(run, "start");
}

ORR_MAYBE_UNUSED static void on_stop(orr_run* run)
{
    kit_say_of(run, "stop");
}

ORR_MAYBE_UNUSED static void on_destroy(orr_run* run)
{
    kit_say_of(run, "destroy");
}

#define WITH_LIFE .create = on_create, .start = on_start, .stop = on_stop, .destroy = on_destroy

#endif
