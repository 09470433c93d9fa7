// SPDX-License-Identifier: MIT
#include "schedule/schedule.h"

static void system_gone(orr_world* world)
{
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, struct orri_schedule, world->schedule, 1);
    world->schedule = NULL;
}

struct orri_schedule* orri_schedule_of(orr_world* world)
{
    if (world->schedule == NULL) {
        world->schedule = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, struct orri_schedule, 1);
        if (world->schedule == NULL) {
            (void)orri_refuse_memory(&world->env, "beginning systems");
            return NULL;
        }
        world->tenants[ORRI_TENANT_SCHEDULE].gone = system_gone;
    }
    return world->schedule;
}
