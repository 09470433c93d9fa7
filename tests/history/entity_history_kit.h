// SPDX-License-Identifier: MIT
// Shared by the tests of entity histories.
#ifndef TEST_ENTITY_HISTORY_KIT_H
#define TEST_ENTITY_HISTORY_KIT_H

#include "schedule/system_kit.h"
#include <orrery/kinds.h>
#include <orrery/traveller.h>

ORR_STRUCT_EX(Wheel, (.multiplicity = ORR_MULTIPLE), (float, radius), (int32_t, teeth))

// The state of an entity as text, without its time, slots and stretcher.
ORR_MAYBE_UNUSED static const char* kit_state(const orr_world* world, orr_entity entity, char* out,
                                              size_t size)
{
    (void)orr_entity_print(world, entity, out, size);
    for (char* at; (at = strstr(out, "orr_time")) != NULL;) {
        char* end = strchr(at, '}') + 1;
        end += strncmp(end, ", ", 2) == 0 ? 2 : 0;
        memmove(at, end, strlen(end) + 1);
    }
    size_t length = strlen(out);
    if (length > 2 && strcmp(out + length - 2, ", ") == 0) {
        out[length - 2] = '\0';
    }
    return out;
}

#define KIT_STATE(world, entity, expected)                                                    \
    do {                                                                                      \
        char kit_state_text[4096];                                                            \
        CHECK_STR(kit_state(world, entity, kit_state_text, sizeof kit_state_text), expected); \
    } while (0)

ORR_MAYBE_UNUSED static orr_entity kit_traveller(orr_world* world, float x)
{
    orr_entity entity = make(world, x);
    CHECK_OK(orr_add(world, entity, orr_time_traveller));
    return entity;
}

#endif
