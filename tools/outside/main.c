// SPDX-License-Identifier: MIT
// An external project that tools/check_install builds against the installed library.
#include <orrery/orrery.h>
#include <stdio.h>
#include <string.h>

ORR_STRUCT(Position, (float, x), (float, y))

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    orr_entity entity = orr_create(world);
    orr_set(world, entity, Position, {1, 2});
    const Position* position = orr_get(world, entity, Position);
    printf("%g %g\n", (double)position->x, (double)position->y);
    orr_world_destroy(world);
    return strcmp(orr_version(), "") == 0;
}
