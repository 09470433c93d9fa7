// SPDX-License-Identifier: MIT
// The plan of a world's first pipeline as a short line.
#ifndef TEST_PLAN_KIT_H
#define TEST_PLAN_KIT_H

#include "schedule/schedule.h"
#include "test.h"

// The plan in short form: names of systems, | for a point, ! for a commit point.
ORR_MAYBE_UNUSED static void plan_line(orr_world* world, char* out, size_t size)
{
    CHECK_OK(orri_plan_make(world));
    out[0] = '\0';
    for (uint32_t i = 0; i < world->schedule->pipelines[0]->step_count; i++) {
        const orri_step* step = &world->schedule->pipelines[0]->steps[i];
        size_t length = strlen(out);
        snprintf(out + length, size - length, "%s%s", length > 0 ? " " : "",
                 step->system != NULL ? step->system->desc.name
                 : step->commit       ? "!"
                                      : "|");
    }
}

#define PLAN(world, expected)                  \
    do {                                       \
        char plan_[512];                       \
        plan_line(world, plan_, sizeof plan_); \
        CHECK_STR(plan_, expected);            \
    } while (0)

#endif
