// SPDX-License-Identifier: MIT
// Types that stand for something else: orr_enabled for switches, orr_tags for tags. Messages about these carry them; every
// entity counts as having them, and none stores them. The structs are declared in message.h.
#include "store/world.h"
#include <orrery/kinds.h>

extern ORR_API const orr_type_desc orr_desc_orr_enabled, orr_desc_orr_tags;

static const orr_field_desc virtual_enabled_fields[] = {
    {.name = "type", .type = &orr_desc_uint32_t, .offset = 0},
    {.name = "on", .type = &orr_desc_uint32_t, .offset = 4},
};
const orr_type_desc orr_desc_orr_enabled = {.name = "orr_enabled",
                                            .size = 8,
                                            .align = 4,
                                            .fields = virtual_enabled_fields,
                                            .field_count = 2};
const orr_type_desc orr_desc_orr_tags = {.name = "orr_tags", .align = 1};

const orr_type_desc* orri_builtin_desc(const char* name)
{
    static const orr_type_desc* const all[] = {&orr_desc_orr_name, &orr_desc_orr_enabled,
                                               &orr_desc_orr_tags};
    for (uint32_t i = 0; i < ORRI_COUNT(all); i++) {
        if (strcmp(name, all[i]->name) == 0) {
            return all[i];
        }
    }
    return NULL;
}

bool orri_type_virtual(const orri_type* type)
{
    const char* name = type->info.name;
    return strncmp(name, "orr_", 4) == 0 && (strcmp(name, orr_desc_orr_enabled.name) == 0 ||
                                             strcmp(name, orr_desc_orr_tags.name) == 0);
}

orr_result orri_refuse_virtual(const orr_world* world, const char* call, const orri_type* type)
{
    bool tags = strcmp(type->info.name, orr_desc_orr_tags.name) == 0;
    return orri_refuse(orri_env_of(world), ORR_ERR_TYPE, ORR_LOG_ID_CALL_REFUSED,
                       "%s: %s stands for the %s that every entity has, and cannot be stored; use "
                       "%s",
                       call, type->info.name, tags ? "tags" : "switches",
                       tags ? "orr_tag_add() and orr_tag_remove()"
                            : "orr_entity_enable() and orr_component_enable()");
}
