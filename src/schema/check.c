// SPDX-License-Identifier: MIT
// Checks descs. Each refusal names the type and the field, says what is wrong and what to do.
// Nothing is changed but build->result.
#include "base/scan.h"
#include "schema/detail.h"
#include <math.h>

// The type and the field that the build is at: "type Orc, field squad.leader".
static void check_place(const orri_build* build, orri_text* text)
{
    orri_text_add(text, "type %.*s", ORR_NAME_MAX, build->name);
    for (uint32_t i = 0; i < build->path_count; i++) {
        orri_text_add(text, "%s%.*s", i == 0 ? ", field " : ".", ORR_NAME_MAX, build->path[i]);
    }
}

bool orri_build_refuse(orri_build* build, orr_result result, const char* format, ...)
{
    char buffer[ORRI_ERROR_SIZE];
    orri_text text = {buffer, sizeof buffer, 0};
    check_place(build, &text);
    orri_text_add(&text, ": ");
    va_list args;
    va_start(args, format);
    orri_text_add_v(&text, format, args);
    va_end(args);
    orri_refuse(build->schema->env, result, ORR_LOG_ID_TYPE_REFUSED, "%s", buffer);
    build->result = result;
    return false;
}

bool orri_build_refuse_memory(orri_build* build)
{
    build->result = orri_refuse_memory(build->schema->env, "registering a type");
    return false;
}

static bool check_name(orri_build* build, const char* what, const char* name)
{
    if (name == NULL) {
        return orri_build_refuse(build, ORR_ERR_NAME, "%s has no name; give it one", what);
    }
    if (!orri_name_valid(name)) {
        return orri_build_refuse(
            build, ORR_ERR_NAME,
            "the name '%.*s' of %s is not allowed; use 1 to %d letters, digits, "
            "'_', '.' or ':', and no digit first%s",
            ORR_NAME_MAX + 1, name, what, ORR_NAME_MAX,
            strchr(name, '[') != NULL ? "; an array is a name and a count" : "");
    }
    return true;
}

// In a field name '.' and ':' are not allowed: ':' follows the name in text, '.' separates names in
// paths.
static bool check_field_name(orri_build* build, const char* name)
{
    if (!check_name(build, "a field", name)) {
        return false;
    }
    if (strpbrk(name, ".:") != NULL) {
        return orri_build_refuse(build, ORR_ERR_NAME,
                                 "a field name must not contain '.' or ':'; use letters, digits "
                                 "and '_'");
    }
    return true;
}

// 0 is allowed: the kind then determines the alignment.
static bool check_align(orri_build* build, const orr_type_desc* desc)
{
    uint32_t align = desc->align;
    if ((align & (align - 1)) != 0 || align > 64) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "the alignment %u is not a power of two from 1 to 64", align);
    }
    if (align != 0 && desc->size % align != 0) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "the size %u is not a multiple of the alignment %u", desc->size,
                                 align);
    }
    return true;
}

static bool check_size(orri_build* build, uint64_t size)
{
    if (size > ORR_VALUE_SIZE_MAX) {
        return orri_build_refuse(
            build, ORR_ERR_CAPACITY,
            "%llu bytes exceed the limit of a value (%u); keep large data in an orr_array of a "
            "component, or divide it among entities",
            (unsigned long long)size, ORR_VALUE_SIZE_MAX);
    }
    return true;
}

static bool check_struct(orri_build* build, const orr_type_desc* desc)
{
    if (desc->field_count > ORR_FIELDS_MAX) {
        return orri_build_refuse(build, ORR_ERR_CAPACITY,
                                 "%u fields exceed the limit of %u; nest structs",
                                 desc->field_count, ORR_FIELDS_MAX);
    }
    if (desc->field_count > 0 && desc->fields == NULL) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "fields is NULL but field_count is %u; set both or neither",
                                 desc->field_count);
    }
    if (desc->field_count == 0 && desc->size > 0) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "it has %u bytes but no fields; describe the fields, or make it "
                                 "ORR_KIND_OPAQUE with a codec",
                                 desc->size);
    }
    return true;
}

static bool check_label_value(orri_build* build, const orr_type_desc* desc, const orr_label* label)
{
    // With fewer than 8 bytes the value must fit. A mask of 8 bytes may use bit 63, the sign bit.
    uint32_t bits = desc->size * 8 - (desc->kind == ORR_KIND_ENUM ? 1 : 0);
    bool fits = true;
    if (desc->size < 8) {
        int64_t most = ((int64_t)1 << bits) - 1;
        int64_t least = desc->kind == ORR_KIND_ENUM ? -most - 1 : 0;
        fits = label->value >= least && label->value <= most;
    }
    return fits ||
           orri_build_refuse(build, ORR_ERR_ARGUMENT, "label %s = %lld does not fit %u bytes",
                             label->name, (long long)label->value, desc->size);
}

static bool check_label_unique(orri_build* build, const orr_type_desc* desc, uint32_t index)
{
    const orr_label* label = &desc->labels[index];
    for (uint32_t i = 0; i < index; i++) {
        const orr_label* other = &desc->labels[i];
        if (strcmp(label->name, other->name) == 0) {
            return orri_build_refuse(build, ORR_ERR_ARGUMENT, "two labels are called %s",
                                     label->name);
        }
        if (desc->kind == ORR_KIND_ENUM && label->value == other->value) {
            return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                     "labels %s and %s have the same value %lld; each value of an "
                                     "enum must have one label",
                                     other->name, label->name, (long long)label->value);
        }
    }
    return true;
}

static bool check_labelled(orri_build* build, const orr_type_desc* desc)
{
    if (desc->size != 1 && desc->size != 2 && desc->size != 4 && desc->size != 8) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "the size of an enum or mask is 1, 2, 4 or 8, not %u", desc->size);
    }
    if (desc->align != 0 && desc->align != desc->size) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "the alignment of an enum or mask of %u bytes is %u, not %u",
                                 desc->size, desc->size, desc->align);
    }
    uint32_t most = desc->kind == ORR_KIND_MASK ? 64 : ORR_LABELS_MAX;
    if (desc->label_count > most) {
        return orri_build_refuse(build, ORR_ERR_CAPACITY,
                                 "%u labels exceed the limit of %u; remove some", desc->label_count,
                                 most);
    }
    if (desc->label_count > 0 && desc->labels == NULL) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "labels is NULL but label_count is %u; set both or neither",
                                 desc->label_count);
    }
    for (uint32_t i = 0; i < desc->label_count; i++) {
        if (!check_name(build, "a label", desc->labels[i].name) ||
            !check_label_value(build, desc, &desc->labels[i]) ||
            !check_label_unique(build, desc, i)) {
            return false;
        }
    }
    return true;
}

static bool check_opaque(orri_build* build, const orr_type_desc* desc)
{
    if (desc->codec == NULL || desc->codec->print == NULL || desc->codec->parse == NULL) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "an opaque type needs a codec with print and parse");
    }
    if (desc->size == 0 || desc->align == 0) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "an opaque type needs its size and alignment");
    }
    return true;
}

static bool check_fixed(orri_build* build, const orr_type_desc* desc)
{
    uint32_t size = orri_kind_size(desc->kind), align = orri_kind_align(desc->kind);
    if ((desc->size != 0 && desc->size != size) || (desc->align != 0 && desc->align != align)) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "kind %s has %u bytes and alignment %u, not %u and %u",
                                 orr_kind_name(desc->kind), size, align, desc->size, desc->align);
    }
    return true;
}

static bool check_kind(orri_build* build, const orr_type_desc* desc)
{
    switch (desc->kind) {
    case ORR_KIND_STRUCT:
        return check_struct(build, desc);
    case ORR_KIND_ENUM:
    case ORR_KIND_MASK:
        return check_labelled(build, desc);
    case ORR_KIND_OPAQUE:
        return check_opaque(build, desc);
    default:
        return check_fixed(build, desc);
    }
}

// Refuses settings that belong to another kind: they would be ignored, and the mistake would stay
// unnoticed.
static bool check_stray(orri_build* build, const orr_type_desc* desc)
{
    orr_kind kind = desc->kind;
    const char* stray = NULL;
    if (desc->field_count > 0 && kind != ORR_KIND_STRUCT) {
        stray = "fields";
    } else if (desc->label_count > 0 && kind != ORR_KIND_ENUM && kind != ORR_KIND_MASK) {
        stray = "labels";
    } else if (desc->codec != NULL && kind != ORR_KIND_OPAQUE) {
        stray = "codec";
    }
    return stray == NULL || orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                              "kind %s takes no %s; remove it from the desc",
                                              orr_kind_name(kind), stray);
}

// True if a name stands in the list before `at`, too.
static bool check_needs_repeat(const char* needs, const char* at, const char* name)
{
    const char* item;
    size_t size;
    while (orri_scan_item(&needs, &item, &size) && item < at) {
        if (orri_scan_equals(item, size, name)) {
            return true;
        }
    }
    return false;
}

static bool check_needs(orri_build* build, const char* needs)
{
    const char* at = needs != NULL ? needs : "";
    while (*at != '\0') {
        at = orri_scan_blanks(at);
        size_t size = orri_scan_token(at, ",");
        char name[ORR_NAME_MAX + 2] = "";
        orri_text_bytes(&(orri_text){name, sizeof name, 0}, at, size);
        if (!check_name(build, "a needed type", name)) {
            return false;
        }
        if (check_needs_repeat(needs, at, name)) {
            return orri_build_refuse(build, ORR_ERR_NAME, "needs has %s twice; remove one", name);
        }
        at = orri_scan_blanks(at + size);
        if (*at != '\0' && *at != ',') {
            return orri_build_refuse(build, ORR_ERR_NAME,
                                     "needs has no ',' after %s; write \"A, B\"", name);
        }
        if (*at == ',' && *orri_scan_blanks(at + 1) == '\0') {
            return orri_build_refuse(build, ORR_ERR_NAME, "needs has no name after the last ','");
        }
        at += *at == ',';
    }
    return true;
}

static bool check_settings(orri_build* build, const orr_type_settings* settings)
{
    if ((unsigned)settings->multiplicity > ORR_MULTIPLE) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "multiplicity %d is neither ORR_UNIQUE nor ORR_MULTIPLE",
                                 (int)settings->multiplicity);
    }
    if ((unsigned)settings->storage > ORR_PINNED) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "storage %d is neither ORR_CHUNK nor ORR_PINNED",
                                 (int)settings->storage);
    }
    bool pinned = settings->storage == ORR_PINNED || settings->transient;
    const char* as = settings->transient ? "transient" : "pinned";
    if (pinned && settings->multiplicity == ORR_MULTIPLE) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "it is declared %s and multiple, but a %s type has one value per "
                                 "entity; remove one of the two, or make each value an entity",
                                 as, as);
    }
    if (pinned && settings->needs != NULL && settings->needs[0] != '\0') {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "it is declared %s and needs other types, but needs apply to "
                                 "types in clusters and a %s type is outside of clusters. Use a "
                                 "bundle",
                                 as, as);
    }
    return check_needs(build, settings->needs);
}

bool orri_check_desc(orri_build* build, const orr_type_desc* desc)
{
    if (!check_name(build, "a type", desc->name)) {
        return false;
    }
    if ((unsigned)desc->kind >= ORR_KIND_COUNT) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT, "kind %d does not exist",
                                 (int)desc->kind);
    }
    return check_size(build, desc->size) && check_align(build, desc) && check_kind(build, desc) &&
           check_stray(build, desc) && check_settings(build, &desc->settings);
}

static bool check_attributes(orri_build* build, const orr_field_desc* field)
{
    const orr_field_attributes* attributes = &field->attributes;
    uint32_t known = ORR_FIELD_QUATERNION | ORR_FIELD_SPATIAL_KEY | ORR_FIELD_UNSAVED |
                     ORR_FIELD_INDEXED;
    if ((attributes->flags & ~known) != 0) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT, "flags have an unknown bit: 0x%x",
                                 attributes->flags & ~known);
    }
    if ((unsigned)attributes->on_destroy > ORR_ON_DESTROY_DESTROY) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT, "on_destroy %d does not exist",
                                 (int)attributes->on_destroy);
    }
    if (attributes->on_destroy != ORR_ON_DESTROY_KEEP &&
        (attributes->flags & ORR_FIELD_INDEXED) == 0) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "on_destroy applies to indexed references only; set "
                                 "ORR_FIELD_INDEXED too");
    }
    if ((unsigned)attributes->interpolation > ORR_INTERPOLATION_STEPWISE) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT, "interpolation %d does not exist",
                                 (int)attributes->interpolation);
    }
    if (isnan(attributes->min) || isnan(attributes->max) || attributes->min > attributes->max) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT, "min %g is not below max %g",
                                 attributes->min, attributes->max);
    }
    bool zero = attributes->min <= 0 && attributes->max >= 0;
    if (attributes->preset == NULL && attributes->element == NULL && !zero) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "its range is %g to %g, but without a preset it begins as 0; add "
                                 ".preset",
                                 attributes->min, attributes->max);
    }
    return true;
}

bool orri_check_field(orri_build* build, const orr_type_desc* desc, uint32_t index)
{
    const orr_field_desc* field = &desc->fields[index];
    if (!check_field_name(build, field->name)) {
        return false;
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(desc->fields[i].name, field->name) == 0) {
            return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                     "two fields of %s have this name; rename one", desc->name);
        }
    }
    if (field->type == NULL) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "type is NULL; set ORR_TYPE(...) or a desc");
    }
    bool is_array = field->type->kind == ORR_KIND_ARRAY;
    if (is_array != (field->attributes.element != NULL)) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT, "%s",
                                 is_array ? "an orr_array needs the attribute element, the type of "
                                            "its elements, such as (.element = "
                                            "ORR_TYPE(orr_entity))"
                                          : "the attribute element is only for an orr_array");
    }
    return check_attributes(build, field);
}

// True for an array of four floats, or a struct of four floats of one width.
static bool check_is_quaternion(const orr_field_info* info)
{
    const orri_type* type = orri_type_of_info(info->type);
    if (orri_kind_is_float(type->info.kind)) {
        return info->count == 4;
    }
    return type->info.kind == ORR_KIND_STRUCT && type->detail->floats_only &&
           type->detail->floats[0].count == 4;
}

static bool check_element(orri_build* build, const orr_type_info* element)
{
    if (orri_type_of_info(element)->indexed_count > 0) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "the element %s of an orr_array has indexed references, which are "
                                 "not allowed in owned arrays",
                                 element->name);
    }
    if (element->size == 0 || element->has_owned || element->has_hooks) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "the element %s of an orr_array must have a size above 0, no "
                                 "hooks, and no orr_string or orr_array in it",
                                 element->name);
    }
    if (element->align > 16) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "the element %s of an orr_array is aligned to %u; the limit is 16",
                                 element->name, element->align);
    }
    return true;
}

bool orri_check_field_type(orri_build* build, const orr_field_desc* field,
                           const orr_field_info* info)
{
    const orr_type_info* type = info->type;
    if (info->element != NULL && !check_element(build, info->element)) {
        return false;
    }
    if (type->size == 0) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "%s has no data, so it cannot be a field; use a bool", type->name);
    }
    if (type->has_hooks) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "%s has hooks, which only whole components may have; set them on "
                                 "the outermost type instead",
                                 type->name);
    }
    if (!check_size(build, (uint64_t)type->size * (field->count > 1 ? field->count : 1))) {
        return false;
    }
    if ((field->attributes.flags & ORR_FIELD_QUATERNION) != 0 && !check_is_quaternion(info)) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "a quaternion is four floats or four doubles, x y z w");
    }
    if ((field->attributes.flags & ORR_FIELD_INDEXED) != 0 && type->kind != ORR_KIND_ENTITY) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "only an orr_entity, or an array of them, can be indexed; this is "
                                 "%s",
                                 type->name);
    }
    orr_kind kind = info->element != NULL ? info->element->kind : type->kind;
    if (field->attributes.min < field->attributes.max && !orri_kind_is_integer(kind) &&
        !orri_kind_is_float(kind)) {
        return orri_build_refuse(build, ORR_ERR_ARGUMENT,
                                 "it has a range (min, max) but is not a number");
    }
    return true;
}
