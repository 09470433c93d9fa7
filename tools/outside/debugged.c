// SPDX-License-Identifier: MIT
// A program that tools/check_gdb runs in a debugger. It stops in `look`, where gdb prints the values.
#include <orrery/orrery.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Label, (orr_string, text), (orr_entity, target))

typedef struct values {
    orr_world* world;
    orr_entity entity, old, none, salted;
    orr_type type, no_type, foreign;
    orr_cluster cluster, no_cluster;
    orr_system system, removed;
    orr_string string;
    Label label;
} values;

static void run(orr_run* run)
{
    (void)run;
}

__attribute__((noinline)) static void look(const values* v)
{
    __asm__ volatile("" : : "r"(v) : "memory");
}

int main(void)
{
    values v = {.world = orr_world_create(NULL),
                .salted = {7 | (uint64_t)3 << 56 | (uint64_t)2 << 32}};
    v.old = orr_create(v.world);
    orr_destroy(v.world, v.old);
    v.entity = orr_create(v.world);
    orr_set(v.world, v.entity, Position, {1, 2});
    v.string = orr_string_make(v.world, "a text");
    orr_set(v.world, v.entity, Label, {v.string, v.entity});
    v.label = *orr_get(v.world, v.entity, Label);
    v.type = orr_type_of(v.world, ORR_TYPE(Position));
    v.foreign.id = 1000000;
    v.cluster = orr_entity_cluster(v.world, v.entity);
    v.system = orr_system_add(
        v.world, &(orr_system_desc){.name = "move", .query = "write Position", .run = run});
    v.removed = v.system;
    v.removed.generation++;
    orr_step(v.world, 3);
    look(&v);
    orr_world_destroy(v.world);
}
