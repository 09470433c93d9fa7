// SPDX-License-Identifier: MIT
// Builds a type from its desc: a node for each desc that can be reached, offsets as a C compiler
// would choose them, the hash of a layout, and the first difference between two layouts.
#include "schema/detail.h"

// ---- a node and its copies ----------------------------------------------------------------------

static bool layout_copy_labels(orri_build* build, const orr_type_desc* desc, orri_type* type)
{
    orri_env* env = build->schema->env;
    orr_label* labels = ORRI_ARENA(env, &build->arena, orr_label, desc->label_count);
    if (labels == NULL) {
        return orri_build_refuse_memory(build);
    }
    for (uint32_t i = 0; i < desc->label_count; i++) {
        labels[i].name = orri_arena_text(env, &build->arena, desc->labels[i].name);
        labels[i].value = desc->labels[i].value;
        if (labels[i].name == NULL) {
            return orri_build_refuse_memory(build);
        }
    }
    type->info.labels = labels;
    type->info.label_count = desc->label_count;
    return true;
}

static void layout_copy_settings(const orr_type_desc* desc, orri_type* type)
{
    const orr_type_settings* settings = &desc->settings;
    type->info.version = settings->version != 0 ? settings->version : 1;
    type->info.multiplicity = settings->multiplicity;
    type->info.storage = settings->transient ? ORR_PINNED : settings->storage;
    type->info.transient = settings->transient;
    type->info.live = settings->live;
    if (settings->hooks != NULL) {
        type->hooks = *settings->hooks;
        type->info.has_hooks = type->hooks.construct != NULL || type->hooks.destruct != NULL ||
                               type->hooks.move != NULL || type->hooks.copy != NULL;
    }
    if (desc->codec != NULL) {
        type->codec = *desc->codec;
    }
}

static orri_type* layout_make(orri_build* build, const orr_type_desc* desc)
{
    orri_env* env = build->schema->env;
    orri_type* type = ORRI_ARENA(env, &build->arena, orri_type, 1);
    orri_type_detail* detail = ORRI_ARENA(env, &build->arena, orri_type_detail, 1);
    const char* name = orri_arena_text(env, &build->arena, desc->name);
    const char* needs = desc->settings.needs != NULL ? desc->settings.needs : "";
    needs = orri_arena_text(env, &build->arena, needs);
    if (type == NULL || detail == NULL || name == NULL || needs == NULL) {
        orri_build_refuse_memory(build);
        return NULL;
    }
    type->schema = build->schema;
    type->detail = detail;
    type->info.name = name;
    type->info.needs = needs;
    type->info.kind = desc->kind;
    uint32_t size = orri_kind_size(desc->kind), align = orri_kind_align(desc->kind);
    type->info.size = size != 0 ? size : desc->size;
    type->info.align = align != 0 ? align : desc->align != 0 ? desc->align : desc->size;
    layout_copy_settings(desc, type);
    return layout_copy_labels(build, desc, type) ? type : NULL;
}

// ---- fields -------------------------------------------------------------------------------------

// Copies one text attribute; NULL stays NULL.
static bool layout_copy_text(orri_build* build, const char** text)
{
    if (*text == NULL) {
        return true;
    }
    *text = orri_arena_text(build->schema->env, &build->arena, *text);
    return *text != NULL || orri_build_refuse_memory(build);
}

static bool layout_field(orri_build* build, const orr_type_desc* desc, uint32_t index,
                         orr_field_info* info)
{
    if (!orri_check_field(build, desc, index)) {
        return false;
    }
    const orr_field_desc* field = &desc->fields[index];
    const orri_type* type = orri_layout_build(build, field->type, field->attributes.element);
    if (type == NULL) {
        return false;
    }
    *info = (orr_field_info){
        .name = field->name,
        .type = &type->info,
        .offset = field->offset,
        .count = field->count,
        .attributes = field->attributes,
        .element = type->detail->element != NULL ? &type->detail->element->info : NULL,
    };
    info->attributes.element = NULL;
    return layout_copy_text(build, &info->name) &&
           layout_copy_text(build, &info->attributes.unit) &&
           layout_copy_text(build, &info->attributes.preset) &&
           orri_check_field_type(build, field, info);
}

static void layout_inherit(orri_type* type, const orri_type* child)
{
    type->info.has_floats |= child->info.has_floats;
    type->info.has_entities |= child->info.has_entities;
    type->info.has_owned |= child->info.has_owned;
    const orri_type* element = child->detail->element;
    type->has_range |= child->has_range || (element != NULL && element->has_range);
    uint32_t height = child->detail->height + 1;
    type->detail->height = type->detail->height > height ? type->detail->height : height;
}

static bool layout_fields(orri_build* build, const orr_type_desc* desc, orri_type* type)
{
    orri_env* env = build->schema->env;
    orr_field_info* fields = ORRI_ARENA(env, &build->arena, orr_field_info, desc->field_count);
    if (fields == NULL) {
        return orri_build_refuse_memory(build);
    }
    type->info.fields = fields;
    type->info.field_count = desc->field_count;
    type->detail->height = 1;
    for (uint32_t i = 0; i < desc->field_count; i++) {
        build->path[build->path_count++] = desc->fields[i].name != NULL ? desc->fields[i].name
                                                                        : "(no name)";
        if (!layout_field(build, desc, i, &fields[i])) {
            return false;
        }
        build->path_count--;
        layout_inherit(type, orri_type_of_info(fields[i].type));
        type->has_range |= fields[i].attributes.min < fields[i].attributes.max;
    }
    return true;
}

// ---- offsets ------------------------------------------------------------------------------------

static uint32_t layout_align_up(uint32_t offset, uint32_t align)
{
    return (offset + align - 1) & ~(align - 1);
}

static uint32_t layout_natural_align(const orri_type* type)
{
    uint32_t align = 1;
    for (uint32_t i = 0; i < type->info.field_count; i++) {
        uint32_t wanted = type->info.fields[i].type->align;
        align = wanted > align ? wanted : align;
    }
    return align;
}

static bool layout_too_large(orri_build* build)
{
    return orri_build_refuse(build, ORR_ERR_CAPACITY,
                             "the fields exceed the limit of a value, %u bytes; keep large data in "
                             "an orr_array of a component, or divide it among entities",
                             ORR_VALUE_SIZE_MAX);
}

// Places the fields in the order of the desc, as a C compiler does.
static bool layout_choose_offsets(orri_build* build, orri_type* type)
{
    // The cast is safe: the info is const for users of the type, and the build still owns it.
    orr_field_info* fields = (orr_field_info*)(void*)type->info.fields;
    uint32_t end = 0;
    for (uint32_t i = 0; i < type->info.field_count; i++) {
        fields[i].offset = layout_align_up(end, fields[i].type->align);
        end = fields[i].offset + orri_field_size(&fields[i]);
        if (end > ORR_VALUE_SIZE_MAX) {
            return layout_too_large(build);
        }
    }
    type->info.size = layout_align_up(end, type->info.align);
    return type->info.size <= ORR_VALUE_SIZE_MAX || layout_too_large(build);
}

static bool layout_check_offset(orri_build* build, const orri_type* type,
                                const orr_field_info* field)
{
    if (field->offset % field->type->align != 0) {
        return orri_build_refuse(
            build, ORR_ERR_ARGUMENT,
            "field %s at offset %u is not aligned to %u; packed structs are not "
            "supported",
            field->name, field->offset, field->type->align);
    }
    uint64_t end = (uint64_t)field->offset + orri_field_size(field);
    if (end > type->info.size) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "field %s ends at byte %llu, beyond the size %u", field->name,
                                 (unsigned long long)end, type->info.size);
    }
    return true;
}

static bool layout_check_offsets(orri_build* build, const orri_type* type)
{
    uint16_t order[ORR_FIELDS_MAX];
    orri_flat_order(type, order);
    for (uint32_t i = 0; i < type->info.field_count; i++) {
        const orr_field_info* field = &type->info.fields[order[i]];
        if (!layout_check_offset(build, type, field)) {
            return false;
        }
        const orr_field_info* before = i > 0 ? &type->info.fields[order[i - 1]] : NULL;
        if (before != NULL && before->offset + orri_field_size(before) > field->offset) {
            return orri_build_refuse(build, ORR_ERR_ARGUMENT, "fields %s and %s overlap",
                                     before->name, field->name);
        }
    }
    return true;
}

static bool layout_offsets(orri_build* build, const orr_type_desc* desc, orri_type* type)
{
    uint32_t natural = layout_natural_align(type);
    type->info.align = desc->align != 0 ? desc->align : natural;
    if (type->info.align < natural) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "the alignment %u is less than a field's, %u; leave it 0",
                                 type->info.align, natural);
    }
    if (desc->size == 0) {
        return layout_choose_offsets(build, type);
    }
    if (desc->size % type->info.align != 0) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "the size %u is not a multiple of the alignment %u", desc->size,
                                 type->info.align);
    }
    return layout_check_offsets(build, type);
}

// ---- hash of a layout ---------------------------------------------------------------------------

static uint64_t layout_hash_text(uint64_t h, const char* text)
{
    return orr_hash(text, strlen(text), h);
}

// Built-in kinds hash without their name, so int and int32_t are equal. Attributes are not part of
// the layout.
static uint64_t layout_hash(const orri_type* type)
{
    const orr_type_info* info = &type->info;
    uint64_t h = orri_hash_word((uint64_t)info->kind, (uint64_t)info->size << 32 | info->align);
    if (orri_kind_size(info->kind) == 0) {
        h = layout_hash_text(h, info->name);
    }
    if (type->detail->element != NULL) {
        h = orri_hash_word(h, type->detail->element->info.layout_hash);
    }
    for (uint32_t i = 0; i < info->field_count; i++) {
        const orr_field_info* field = &info->fields[i];
        h = layout_hash_text(h, field->name);
        h = orri_hash_word(h, (uint64_t)field->offset << 32 | field->count);
        h = orri_hash_word(h, field->type->layout_hash);
    }
    for (uint32_t i = 0; i < info->label_count; i++) {
        h = layout_hash_text(h, info->labels[i].name);
        h = orri_hash_word(h, (uint64_t)info->labels[i].value);
    }
    return h;
}

// ---- building -----------------------------------------------------------------------------------

static bool layout_remember(orri_build* build, const orr_type_desc* desc,
                            const orr_type_desc* element, orri_type* type)
{
    if (!ORRI_RESERVE(build->schema->env, ORR_MEMORY_TEMP, &build->nodes, &build->node_capacity,
                      build->node_count + 1)) {
        return orri_build_refuse_memory(build);
    }
    build->nodes[build->node_count++] = (orri_node){desc, element, type};
    return true;
}

// Sets the members that follow from kind, fields and lists.
static bool layout_finish(orri_build* build, orri_type* type)
{
    orr_type_info* info = &type->info;
    const orri_type* element = type->detail->element;
    info->has_floats |= orri_kind_is_float(info->kind);
    info->has_entities |= info->kind == ORR_KIND_ENTITY;
    info->has_entities |= element != NULL && element->info.has_entities;
    info->has_owned |= info->kind == ORR_KIND_STRING || info->kind == ORR_KIND_ARRAY;
    if (!orri_flat_make(build, type) || !orri_indexed_make(build, type)) {
        return false;
    }
    info->has_padding = type->detail->gap_count > 0;
    info->layout_hash = layout_hash(type);
    type->trivial = !info->has_hooks && !info->has_owned;
    type->plain = type->trivial && type->indexed_count == 0;
    type->zero_preset = true;
    type->canonical_bytes = !info->has_padding && !info->has_floats && !info->has_owned &&
                            type->detail->opaque_count == 0;
    return true;
}

// Checks the nesting depth at the place of the build; `height` includes the new struct.
static bool layout_depth_allowed(orri_build* build, uint32_t height)
{
    return build->depth + height <= ORR_DEPTH_MAX ||
           orri_build_refuse(build, ORR_ERR_CAPACITY, "structs are nested deeper than %d",
                             ORR_DEPTH_MAX);
}

// Returns the node of a desc that was built before. *out_refused: the desc contains itself or is
// nested too deep here.
static orri_type* layout_known(orri_build* build, const orr_type_desc* desc,
                               const orr_type_desc* element, bool* out_refused)
{
    for (uint32_t i = 0; i < build->depth; i++) {
        if (build->stack[i] == desc) {
            *out_refused = !orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                              "%s contains itself; refer to an entity instead",
                                              desc->name);
            return NULL;
        }
    }
    for (uint32_t i = 0; i < build->node_count; i++) {
        const orri_node* node = &build->nodes[i];
        if (node->desc == desc && node->element == element) {
            *out_refused = !layout_depth_allowed(build, node->type->detail->height);
            return node->type;
        }
    }
    return NULL;
}

static bool layout_struct(orri_build* build, const orr_type_desc* desc, orri_type* type)
{
    if (!layout_depth_allowed(build, 1)) {
        return false;
    }
    build->stack[build->depth++] = desc;
    bool ok = layout_fields(build, desc, type) && layout_offsets(build, desc, type);
    build->depth--;
    return ok;
}

static bool layout_parts(orri_build* build, const orr_type_desc* desc, const orr_type_desc* element,
                         orri_type* type)
{
    if (desc->kind == ORR_KIND_STRUCT) {
        return layout_struct(build, desc, type);
    }
    if (desc->kind == ORR_KIND_ARRAY) {
        if (element == NULL) {
            return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                     "an orr_array must be a field of a struct, with the attribute "
                                     "element");
        }
        type->detail->element = orri_layout_build(build, element, NULL);
        return type->detail->element != NULL;
    }
    return true;
}

orri_type* orri_layout_build(orri_build* build, const orr_type_desc* desc,
                             const orr_type_desc* element)
{
    bool refused = false;
    orri_type* known = layout_known(build, desc, element, &refused);
    if (known != NULL || refused) {
        return refused ? NULL : known;
    }
    if (!orri_check_desc(build, desc)) {
        return NULL;
    }
    orri_type* type = layout_make(build, desc);
    bool ok = type != NULL && layout_parts(build, desc, element, type) &&
              layout_finish(build, type) && layout_remember(build, desc, element, type);
    return ok ? type : NULL;
}

// ---- difference of two layouts ------------------------------------------------------------------

static bool layout_differ(orri_text* text, const char* what, uint32_t is, uint32_t was)
{
    if (is != was) {
        orri_text_add(text, "%s is %u and was %u", what, is, was);
    }
    return is != was;
}

static bool layout_differ_name(orri_text* text, const char* what, const char* is, const char* was)
{
    bool differ = strcmp(is, was) != 0;
    if (differ) {
        orri_text_add(text, "%s is %s and was %s", what, is, was);
    }
    return differ;
}

static bool layout_differ_field(orri_text* text, const orr_field_info* is,
                                const orr_field_info* was)
{
    if (layout_differ_name(text, "field", is->name, was->name)) {
        return true;
    }
    orri_text_add(text, "field %s: ", is->name);
    if (!orri_layout_same(orri_type_of_info(is->type), orri_type_of_info(was->type), text) ||
        layout_differ(text, "count", is->count, was->count) ||
        layout_differ(text, "offset", is->offset, was->offset)) {
        return true;
    }
    return false;
}

static bool layout_differ_fields(orri_text* text, const orr_type_info* is, const orr_type_info* was)
{
    size_t length = text->length;
    for (uint32_t i = 0; i < is->field_count && i < was->field_count; i++) {
        if (layout_differ_field(text, &is->fields[i], &was->fields[i])) {
            return true;
        }
        text->length = length; // The field is equal: removes its name from the text.
    }
    return layout_differ(text, "the number of fields", is->field_count, was->field_count);
}

static bool layout_differ_labels(orri_text* text, const orr_type_info* is, const orr_type_info* was)
{
    for (uint32_t i = 0; i < is->label_count && i < was->label_count; i++) {
        const orr_label *a = &is->labels[i], *b = &was->labels[i];
        if (layout_differ_name(text, "label", a->name, b->name)) {
            return true;
        }
        if (a->value != b->value) {
            orri_text_add(text, "label %s is %lld and was %lld", a->name, (long long)a->value,
                          (long long)b->value);
            return true;
        }
    }
    return layout_differ(text, "the number of labels", is->label_count, was->label_count);
}

bool orri_layout_same(const orri_type* is, const orri_type* was, orri_text* difference)
{
    const orr_type_info *a = &is->info, *b = &was->info;
    if (a->layout_hash == b->layout_hash) {
        return true;
    }
    if (layout_differ_name(difference, "kind", orr_kind_name(a->kind), orr_kind_name(b->kind)) ||
        layout_differ_name(difference, "type", a->name, b->name) ||
        layout_differ_fields(difference, a, b) || layout_differ_labels(difference, a, b) ||
        layout_differ(difference, "size", a->size, b->size) ||
        layout_differ(difference, "alignment", a->align, b->align)) {
        return false;
    }
    orri_text_add(difference, "element: ");
    return orri_layout_same(is->detail->element, was->detail->element, difference);
}
