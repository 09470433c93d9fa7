// SPDX-License-Identifier: MIT
// Writing to other entities: a thousand archers hit one giant, from any worker, and no arrow is
// lost. Transactions are collected and applied in the order of systems, then chunks, then calls.
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Archer, (orr_entity, target), (int32_t, strength))
ORR_STRUCT(Giant, (int32_t, hp), (uint32_t, arrows), (float, fury), (int32_t, hardest))
ORR_STRUCT(Poison, (float, share))

static void shoot(orr_run* run) // parallel: two chunks may hit the same giant at the same time
{
    const Archer* a = orr_read(run, Archer);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_transact(run, ORR_OP_ADD, a[i].target, Giant, hp, -a[i].strength);
        orr_transact(run, ORR_OP_ADD, a[i].target, Giant, arrows, 1);
        orr_transact(run, ORR_OP_ADD, a[i].target, Giant, fury, 0.1f);
        orr_transact(run, ORR_OP_MAX, a[i].target, Giant, hardest, a[i].strength);
    }
}

// A custom transaction: its result depends on the current value.
static void weaken(const orr_world* world, orr_entity target, void* value, const void* argument,
                   uint32_t size)
{
    Giant* giant = value;
    (void)world;
    (void)target;
    (void)size;
    giant->hp -= (int32_t)((float)giant->hp * ((const Poison*)argument)->share);
}

static void poison(orr_run* run) // after shoot, so applied after all arrows
{
    const orr_entity* giant = orr_run_settings(run);
    Poison tenth = {0.1f};
    orr_transact_call(run, *giant, orr_type_of(run->world, ORR_TYPE(Giant)), 0, weaken, &tenth,
                      sizeof tenth);
}

static void look(orr_run* run) // reads Giant: runs after all transactions on it
{
    const Giant* g = orr_read(run, Giant);
    printf("%d hp, %u arrows, fury %.1f, hardest %d\n", g->hp, g->arrows, (double)g->fury,
           g->hardest);
}

int main(void)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.workers = 2});
    orr_entity giant = orr_create(world);
    orr_set(world, giant, Giant, {.hp = 100000});
    for (int32_t i = 0; i < 1000; i++) {
        orr_set(world, orr_create(world), Archer, {giant, i % 50});
    }
    orr_system_add(world, &(orr_system_desc){.name = "shoot",
                                             .query = "Archer",
                                             .parallel = true,
                                             .transacts = "Giant",
                                             .run = shoot});
    orr_system_add(world, &(orr_system_desc){.name = "poison",
                                             .once = true,
                                             .settings = &giant,
                                             .transacts = "Giant",
                                             .run = poison});
    orr_system_add(world, &(orr_system_desc){.name = "look", .query = "Giant", .run = look});
    orr_step(world, 2);
    orr_world_destroy(world);
}
