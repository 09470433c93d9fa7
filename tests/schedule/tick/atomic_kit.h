// SPDX-License-Identifier: MIT
// Shared by tests of atomic sections: types of every kind, sections, and systems that use them.
#ifndef TEST_ATOMIC_KIT_H
#define TEST_ATOMIC_KIT_H

#include "message/transaction/atomic_section.h"
#include "schedule/schedule.h"
#include "schedule/schedule_kit.h"

ORR_STRUCT(Score, (int64_t, points), (float, heat), (double, depth))
ORR_STRUCT(Aim, (orr_entity, target), (int32_t, power))
ORR_STRUCT(Seen, (int64_t, points))
ORR_STRUCT_EX(Base, (.storage = ORR_PINNED), (int64_t, taken))
ORR_STRUCT_EX(Cargo, (.multiplicity = ORR_MULTIPLE), (int64_t, weight))
ORR_STRUCT(Follow,
           (orr_entity, whom, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_CLEAR)))

ORR_MAYBE_UNUSED static orr_world* begin(kit* k, const orr_world_desc* desc)
{
    kit_line[0] = '\0';
    orr_world_desc d = desc != NULL ? *desc : (orr_world_desc){0};
    d.atomic_sections = true;
    orr_world* world = kit_begin(k, &d);
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Padded, Label, Token, Score, Aim, Seen,
                 Base, Cargo, Follow);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    return world;
}

ORR_MAYBE_UNUSED static orr_entity aimer(orr_world* world, orr_entity target, int32_t power)
{
    orr_entity entity = orr_create(world);
    CHECK_OK(orr_set(world, entity, Aim, {target, power}));
    return entity;
}

// ---- sections -----------------------------------------------------------------------------------

// Slow enough for other threads to run between the read and the write, if they can.
ORR_MAYBE_UNUSED static void add_slowly(void* value, void* user)
{
    Score* score = value;
    int64_t points = score->points;
    for (volatile int i = 0; i < 20; i++) {
    }
    score->points = points + *(const int32_t*)user;
}

ORR_MAYBE_UNUSED static void add_points(void* value, void* user)
{
    ((Score*)value)->points += *(const int32_t*)user;
}

ORR_MAYBE_UNUSED static void hurt(void* value, void* user)
{
    ((Health*)value)->value -= *(const int32_t*)user;
}

ORR_MAYBE_UNUSED static void shoot(orr_run* run)
{
    const Aim* aim = orr_read(run, Aim);
    for (uint32_t i = 0; i < run->count; i++) {
        int32_t power = aim[i].power;
        CHECK_OK(orr_atomic_on(run, aim[i].target, Score, add_slowly, &power));
    }
}

ORR_MAYBE_UNUSED static void hit(orr_run* run)
{
    const Aim* aim = orr_read(run, Aim);
    for (uint32_t i = 0; i < run->count; i++) {
        int32_t power = aim[i].power;
        CHECK_OK(orr_atomic_on(run, aim[i].target, Health, hurt, &power));
    }
}

// Senders in many clusters, and so in many chunks. Returns the sum of their powers.
ORR_MAYBE_UNUSED static int64_t senders(orr_world* world, orr_entity receiver, uint32_t count)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        orr_entity sender = aimer(world, receiver, (int32_t)i);
        CHECK_OK(orr_tag_add(world, sender, i % 20));
        sum += i;
    }
    return sum;
}

typedef struct targets {
    orr_entity bob;
    orr_component_id crate, other;
} targets;

ORR_MAYBE_UNUSED static void add_one(void* value, void* user)
{
    (void)user;
    ++*(int64_t*)value; // The first field of each type.
}

#endif
