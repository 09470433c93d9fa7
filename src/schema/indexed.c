// SPDX-License-Identifier: MIT
// The indexed references of a type as one flat list: those of nested structs and of every element
// of an array, by offset from the start of the value, with the path that names each.
#include "schema/detail.h"

// Number of indexed references in a field.
static uint32_t indexed_of_field(const orr_field_info* field)
{
    uint32_t items = field->count > 0 ? field->count : 1;
    bool itself = (field->attributes.flags & ORR_FIELD_INDEXED) != 0;
    return itself ? items : items * orri_type_of_info(field->type)->indexed_count;
}

// Builds a path such as "slots[2].owner" from the field, the element and the path within it.
static const char* indexed_path(orri_build* build, const orr_field_info* field, uint32_t item,
                                const char* rest)
{
    char buffer[ORR_DEPTH_MAX * (ORR_NAME_MAX + 16)];
    orri_text text = {buffer, sizeof buffer, 0};
    orri_text_add(&text, "%s", field->name);
    if (field->count > 0) {
        orri_text_add(&text, "[%u]", item);
    }
    if (rest != NULL) {
        orri_text_add(&text, ".%s", rest);
    }
    return orri_arena_text(build->schema->env, &build->arena, buffer);
}

static bool indexed_add(orri_build* build, const orr_field_info* field, uint32_t item,
                        const orri_indexed* inner, orri_indexed* out)
{
    *out = (orri_indexed){
        .offset = field->offset + item * field->type->size + (inner != NULL ? inner->offset : 0),
        .on_destroy = inner != NULL ? inner->on_destroy : field->attributes.on_destroy,
        .path = indexed_path(build, field, item, inner != NULL ? inner->path : NULL)};
    return out->path != NULL || orri_build_refuse_memory(build);
}

static bool indexed_add_field(orri_build* build, const orr_field_info* field, orri_indexed* out)
{
    const orri_type* type = orri_type_of_info(field->type);
    bool itself = (field->attributes.flags & ORR_FIELD_INDEXED) != 0;
    uint32_t per_item = itself ? 1 : type->indexed_count, count = indexed_of_field(field);
    for (uint32_t i = 0; i < count; i++) {
        const orri_indexed* inner = itself ? NULL : &type->indexed[i % per_item];
        if (!indexed_add(build, field, i / per_item, inner, &out[i])) {
            return false;
        }
    }
    return true;
}

bool orri_indexed_make(orri_build* build, orri_type* type)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->info.field_count; i++) {
        count += indexed_of_field(&type->info.fields[i]);
    }
    if (count == 0) {
        return true;
    }
    if (count > ORR_INDEXED_MAX) {
        return orri_build_refuse(build, ORR_ERR_CAPACITY,
                                 "%u indexed references exceed the limit of %u; create an entity "
                                 "per relation that refers to both sides",
                                 count, ORR_INDEXED_MAX);
    }
    orri_indexed* list = ORRI_ARENA(build->schema->env, &build->arena, orri_indexed, count);
    if (list == NULL) {
        return orri_build_refuse_memory(build);
    }
    uint16_t order[ORR_FIELDS_MAX];
    orri_flat_order(type, order);
    for (uint32_t i = 0, done = 0; i < type->info.field_count; i++) {
        const orr_field_info* field = &type->info.fields[order[i]];
        if (!indexed_add_field(build, field, list + done)) {
            return false;
        }
        done += indexed_of_field(field);
    }
    type->indexed = list;
    type->indexed_count = count;
    return true;
}
