// SPDX-License-Identifier: MIT
// Descs of the types that the library defines. orr_enabled and orr_tags are pseudo types: they
// stand for enable bits and tags in messages and declarations; every entity has them, and no entity
// stores them. Their structs are declared in message.h. The types of entity history and playback
// are declared in traveller.h.
#include "store/world/world.h"
#include <orrery/kinds.h>

extern ORR_API const orr_type_desc orr_desc_orr_enabled, orr_desc_orr_tags;
extern ORR_API const orr_type_desc orr_desc_orr_time, orr_desc_orr_time_traveller,
    orr_desc_orr_time_stretcher;

static const orr_field_desc pseudo_enabled_fields[] = {
    {.name = "type", .type = &orr_desc_uint32_t, .offset = 0},
    {.name = "on", .type = &orr_desc_uint32_t, .offset = 4},
};
const orr_type_desc orr_desc_orr_enabled = {.name = "orr_enabled",
                                            .size = 8,
                                            .align = 4,
                                            .fields = pseudo_enabled_fields,
                                            .field_count = 2};
const orr_type_desc orr_desc_orr_tags = {.name = "orr_tags", .align = 1};

// ---- entity history and playback ----------------------------------------------------------------

static const orr_field_desc pseudo_time_fields[] = {
    {.name = "origin", .type = &orr_desc_int64_t, .offset = 0, .attributes = {.unit = "ticks"}},
};
const orr_type_desc orr_desc_orr_time = {
    .name = "orr_time", .size = 8, .align = 8, .fields = pseudo_time_fields, .field_count = 1};

static const orr_field_desc pseudo_traveller_fields[] = {
    {.name = "memory",
     .type = &orr_desc_orr_array,
     .offset = 0,
     .count = 16,
     .attributes = {.element = &orr_desc_uint8_t}},
};
const orr_type_desc orr_desc_orr_time_traveller = {.name = "orr_time_traveller",
                                                   .size = 128,
                                                   .align = 4,
                                                   .fields = pseudo_traveller_fields,
                                                   .field_count = 1,
                                                   .settings = {.needs = "orr_time"}};

static const orr_label pseudo_stretch_labels[] = {
    {"MOVES", 0}, {"OUTSIDE_SLOTS", 1}, {"UNDECLARED_TYPE", 2}, {"REFUSED", 3}};
static const orr_type_desc pseudo_stretch_state = {.name = "orr_stretch_state",
                                                   .kind = ORR_KIND_ENUM,
                                                   .size = 4,
                                                   .align = 4,
                                                   .labels = pseudo_stretch_labels,
                                                   .label_count = 4};
static const orr_field_desc pseudo_stretcher_fields[] = {
    {.name = "position", .type = &orr_desc_double, .offset = 0, .attributes = {.unit = "ticks"}},
    {.name = "rate", .type = &orr_desc_double, .offset = 8},
    {.name = "push", .type = &orr_desc_double, .offset = 16},
    {.name = "drives", .type = &orr_desc_orr_entity, .offset = 24},
    {.name = "state", .type = &pseudo_stretch_state, .offset = 32},
};
const orr_type_desc orr_desc_orr_time_stretcher = {.name = "orr_time_stretcher",
                                                   .size = 40,
                                                   .align = 8,
                                                   .fields = pseudo_stretcher_fields,
                                                   .field_count = 5,
                                                   .settings = {.needs = "orr_time_traveller"}};

// ---- look-up and checks -------------------------------------------------------------------------

const orr_type_desc* orri_builtin_desc(const char* name)
{
    static const orr_type_desc* const all[] = {
        &orr_desc_orr_name, &orr_desc_orr_enabled,        &orr_desc_orr_tags,
        &orr_desc_orr_time, &orr_desc_orr_time_traveller, &orr_desc_orr_time_stretcher};
    for (uint32_t i = 0; i < ORRI_COUNT(all); i++) {
        if (strcmp(name, all[i]->name) == 0) {
            return all[i];
        }
    }
    return NULL;
}

bool orri_type_pseudo(const orri_type* type)
{
    const char* name = type->info.name;
    return strncmp(name, "orr_", 4) == 0 && (strcmp(name, orr_desc_orr_enabled.name) == 0 ||
                                             strcmp(name, orr_desc_orr_tags.name) == 0);
}

orr_result orri_refuse_pseudo(const orr_world* world, const char* call, const orri_type* type)
{
    bool tags = strcmp(type->info.name, orr_desc_orr_tags.name) == 0;
    return orri_refuse(orri_env_of(world), ORR_ERR_TYPE, ORR_LOG_ID_CALL_REFUSED,
                       "%s: %s stands for the %s that every entity has, and cannot be stored; use "
                       "%s",
                       call, type->info.name, tags ? "tags" : "enable bits",
                       tags ? "orr_tag_add() and orr_tag_remove()"
                            : "orr_entity_enable() and orr_enable()");
}
