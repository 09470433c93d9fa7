// SPDX-License-Identifier: MIT
// A system that writes a type it declares as read, through a cast. The expensive checks of a debug build find and undo the
// write; other builds keep it. Prints the value afterwards.
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Health, (int32_t, points))

static void cheat(orr_run* run)
{
    ((Health*)(uintptr_t)orr_read(run, Health))->points = 2;
}

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    orr_entity entity = orr_create(world);
    orr_set(world, entity, Health, {1});
    orr_system_add(world, &(orr_system_desc){.name = "cheat", .query = "Health", .run = cheat});
    orr_step(world, 1);
    printf("%d\n", (int)orr_get(world, entity, Health)->points);
    orr_world_destroy(world);
}
