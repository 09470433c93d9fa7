// SPDX-License-Identifier: MIT
// Which of the world's histories this is.
#include "schedule/schedule.h"
#include <orrery/history.h>

uint64_t orr_timeline(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    return world->timeline;
}
