// SPDX-License-Identifier: MIT
// What is remembered of a world, forgotten, and gone back to.
#include "schedule/system_kit.h"
#include <orrery/history.h>

ORR_TEST(timeline_of_a_new_world_is_0)
{
    orr_world* world = orr_world_create(NULL);
    CHECK_EQ(orr_timeline(world), 0);
    orr_world_destroy(world);
}
