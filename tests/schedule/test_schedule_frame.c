// SPDX-License-Identifier: MIT
#include "schedule/schedule.h"
#include "support/store_kit.h"
#include "test.h"

ORR_TEST(schedules_of_a_world_end_with_it)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK(orri_schedule_of(world) != NULL);
    kit_end(&k);
}
