// SPDX-License-Identifier: MIT
// The types of the model test and how a value of each is made, in the world's shape and in the oracle's.
#include "model/ops.h"
#include "test.h"

#include <stdlib.h>

// A text of its own, so that equal handles can be told from equal contents.
typedef struct ops_label {
    char text[8];
    int32_t number;
} ops_label;

typedef struct ops_list {
    uint32_t count;
    int32_t values[6];
} ops_list;

typedef struct ops_crowd {
    uint32_t count;
    orr_entity members[4];
} ops_crowd;

// ---- making values -------------------------------------------------------------------------------

static bool ops_make_plain(ops* s, uint32_t type, void* world_value, void* value)
{
    const oracle_type* t = &s->oracle.types[type];
    // Padding gets garbage too: the store must neither keep nor count it.
    ops_bytes(s, world_value, t->world_size);
    memcpy(value, world_value, t->world_size);
    return true;
}

static bool ops_make_marker(ops* s, uint32_t type, void* world_value, void* value)
{
    (void)s, (void)type, (void)world_value, (void)value;
    return true;
}

static bool ops_make_token(ops* s, uint32_t type, void* world_value, void* value)
{
    (void)type;
    uint32_t payload = ops_below(s, 256);
    *(Token*)world_value = kit_token(payload);
    *(uint32_t*)value = payload;
    return true;
}

static orr_entity ops_make_reference(ops* s)
{
    oracle_entity* target = ops_chance(s, 4) ? NULL : ops_pick(s);
    return target != NULL ? target->id : (orr_entity){0};
}

static bool ops_make_link(ops* s, uint32_t type, void* world_value, void* value)
{
    (void)type;
    Link link;
    ops_bytes(s, &link, sizeof link);
    link.target = ops_make_reference(s);
    memcpy(world_value, &link, sizeof link);
    memcpy(value, &link, sizeof link);
    return true;
}

// A handle that was refused for want of memory is the empty string; then the value is not used.
static bool ops_make_label(ops* s, uint32_t type, void* world_value, void* value)
{
    (void)type;
    ops_label model = {"", (int32_t)ops_below(s, 1000)};
    Label label = {{0, 0}, model.number};
    uint32_t length = ops_below(s, 3);
    for (uint32_t i = 0; i < length; i++) {
        model.text[i] = (char)('a' + ops_below(s, 6));
    }
    label.text = orr_string_make(s->world, model.text);
    memcpy(world_value, &label, sizeof label);
    memcpy(value, &model, sizeof model);
    return length == 0 || label.text.index1 != 0;
}

static bool ops_make_list(ops* s, uint32_t type, void* world_value, void* value)
{
    (void)type;
    ops_list model = {.count = ops_below(s, 7)};
    for (uint32_t i = 0; i < model.count; i++) {
        model.values[i] = (int32_t)ops_below(s, 3);
    }
    List list = {orr_array_make(s->world, model.values, model.count, sizeof(int32_t))};
    memcpy(world_value, &list, sizeof list);
    memcpy(value, &model, sizeof model);
    return model.count == 0 || list.numbers.index1 != 0;
}

static bool ops_make_crowd(ops* s, uint32_t type, void* world_value, void* value)
{
    (void)type;
    ops_crowd model = {.count = ops_below(s, 5)};
    for (uint32_t i = 0; i < model.count; i++) {
        model.members[i] = ops_make_reference(s);
    }
    Crowd crowd = {orr_array_make(s->world, model.members, model.count, sizeof(orr_entity))};
    memcpy(world_value, &crowd, sizeof crowd);
    memcpy(value, &model, sizeof model);
    return model.count == 0 || crowd.members.index1 != 0;
}

bool ops_make(ops* s, uint32_t type, void* world_value, void* value)
{
    if (s->types[type].make(s, type, world_value, value)) {
        s->done += s->types[type].owned; // A blob was made, which may show in the hash.
        return true;
    }
    MODEL_CHECK(s->armed && s->kit.memory.refused > 0);
    s->out_of_memory++;
    return false;
}

// ---- comparing values ----------------------------------------------------------------------------

static bool ops_equal_token(const orr_world* world, const void* world_value, const void* value)
{
    (void)world;
    const Token* token = world_value;
    return kit_token_sound(token) && token->cell.payload == *(const uint32_t*)value;
}

static bool ops_equal_label(const orr_world* world, const void* world_value, const void* value)
{
    const Label* label = world_value;
    const ops_label* model = value;
    return label->number == model->number &&
           strcmp(orr_string_text(world, label->text), model->text) == 0;
}

static bool ops_equal_array(const orr_world* world, orr_array array, const void* values,
                            uint32_t count, size_t size)
{
    uint32_t actual_count = 99;
    const void* actual = orr_array_values(world, array, &actual_count);
    return actual_count == count && (count == 0 || memcmp(actual, values, count * size) == 0);
}

static bool ops_equal_list(const orr_world* world, const void* world_value, const void* value)
{
    const ops_list* model = value;
    return ops_equal_array(world, ((const List*)world_value)->numbers, model->values, model->count,
                           sizeof model->values[0]);
}

static bool ops_equal_crowd(const orr_world* world, const void* world_value, const void* value)
{
    const ops_crowd* model = value;
    return ops_equal_array(world, ((const Crowd*)world_value)->members, model->members,
                           model->count, sizeof model->members[0]);
}

// ---- the fixed types -----------------------------------------------------------------------------

static const Health ops_health_preset = {100, 0};

typedef struct ops_fixed {
    const orr_type_desc* desc;
    uint32_t size; // In the oracle's shape.
    ops_type type;
    const void* preset;
    bool (*equal)(const orr_world* world, const void* world_value, const void* value);
} ops_fixed;

#define PLAIN(T)                                                                     \
    {                                                                                \
        ORR_TYPE(T), sizeof(T), {#T, ops_make_plain, true, false, false}, NULL, NULL \
    }

// The order is what ops_shape.types counts by.
static const ops_fixed ops_fixed_types[] = {
    PLAIN(Position),
    PLAIN(Velocity),
    {ORR_TYPE(Health),
     sizeof(Health),
     {"Health", ops_make_plain, true, false, false},
     &ops_health_preset,
     NULL},
    PLAIN(Padded),
    PLAIN(Big),
    PLAIN(Tiny),
    {ORR_TYPE(Link), sizeof(Link), {"Link", ops_make_link, true, false, false}, NULL, NULL},
    {ORR_TYPE(Label),
     sizeof(ops_label),
     {"Label", ops_make_label, false, true, false},
     NULL,
     ops_equal_label},
    {ORR_TYPE(List),
     sizeof(ops_list),
     {"List", ops_make_list, false, true, false},
     NULL,
     ops_equal_list},
    {ORR_TYPE(Crowd),
     sizeof(ops_crowd),
     {"Crowd", ops_make_crowd, false, true, false},
     NULL,
     ops_equal_crowd},
    {ORR_TYPE(Token),
     sizeof(uint32_t),
     {"Token", ops_make_token, false, false, true},
     NULL,
     ops_equal_token},
    {ORR_TYPE(Frozen), 0, {"Frozen", ops_make_marker, false, false, false}, NULL, NULL},
};

#undef PLAIN

static void ops_type_enter(ops* s, orr_type type, const ops_fixed* fixed, uint32_t world_size)
{
    oracle_type entry = {.type = type,
                         .size = fixed->size,
                         .world_size = world_size,
                         .preset = fixed->preset,
                         .equal = fixed->equal};
    MODEL_CHECK(world_size <= OPS_VALUE_MAX && fixed->size <= OPS_VALUE_MAX);
    s->types[oracle_type_add(&s->oracle, &entry)] = fixed->type;
}

// Types that no C struct stands behind: 1 to 4 fields, so that sizes and paddings of many kinds come up.
void ops_type_register_next(ops* s)
{
    static const orr_type_desc* const kinds[] = {ORR_TYPE(uint8_t), ORR_TYPE(uint32_t),
                                                 ORR_TYPE(uint64_t), ORR_TYPE(int16_t)};
    static const char* const names[] = {"a", "b", "c", "d"};
    uint32_t number = s->oracle.type_count;
    if (number >= OPS_TYPES_MAX) {
        return;
    }
    orr_field_desc fields[4];
    uint32_t field_count = 1 + number % 4;
    for (uint32_t i = 0; i < field_count; i++) {
        fields[i] = (orr_field_desc){.name = names[i],
                                     .type = kinds[(number * 7 + i * 5) / 3 % 4],
                                     .count = (number + i) % 5 == 0 ? 3 : 0};
    }
    char name[16];
    snprintf(name, sizeof name, "Made%u", number);
    orr_type type = {0};
    orr_type_desc desc = {.name = name, .fields = fields, .field_count = field_count};
    if (ops_refused(s, orr_type_register(s->world, &desc, &type))) {
        MODEL_CHECK(orr_type_find(s->world, name).index1 == 0);
        return;
    }
    uint32_t size = orr_type_info_get(s->world, type)->size;
    ops_type_enter(s, type,
                   &(ops_fixed){.size = size, .type = {"Made", ops_make_plain, true, false, false}},
                   size);
    s->done++;
}

void ops_types_begin(ops* s)
{
    for (uint32_t i = 0; i < sizeof ops_fixed_types / sizeof ops_fixed_types[0]; i++) {
        if (s->shape->types >> i & 1) {
            orr_type type = orr_type_of(s->world, ops_fixed_types[i].desc);
            MODEL_CHECK(type.index1 != 0);
            ops_type_enter(s, type, &ops_fixed_types[i], ops_fixed_types[i].desc->size);
        }
    }
    for (uint32_t i = 0; i < s->shape->made_types; i++) {
        ops_type_register_next(s);
    }
}

// ---- counting what hooks and handles must add up to ------------------------------------------------

uint64_t ops_tokens_expected(const ops* s)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < s->oracle.live_count; i++) {
        const oracle_entity* entity = s->oracle.live[i];
        for (uint32_t j = 0; j < entity->component_count; j++) {
            count += s->types[entity->components[j].type].hooked;
        }
    }
    return count;
}

typedef struct ops_content {
    char kind;
    uint8_t size;
    uint8_t bytes[38];
} ops_content;

static int ops_content_compare(const void* a, const void* b)
{
    return memcmp(a, b, sizeof(ops_content));
}

static bool ops_content_of(const ops* s, const oracle_component* component, ops_content* out)
{
    memset(out, 0, sizeof *out);
    const char* name = s->types[component->type].name;
    if (strcmp(name, "Label") == 0) {
        const ops_label* label = component->value;
        out->kind = 1;
        out->size = (uint8_t)strlen(label->text);
        memcpy(out->bytes, label->text, out->size);
    } else if (strcmp(name, "List") == 0) {
        const ops_list* list = component->value;
        out->kind = 4;
        out->size = (uint8_t)(list->count * sizeof list->values[0]);
        memcpy(out->bytes, list->values, out->size);
    } else if (strcmp(name, "Crowd") == 0) {
        const ops_crowd* crowd = component->value;
        out->kind = 8;
        out->size = (uint8_t)(crowd->count * sizeof crowd->members[0]);
        memcpy(out->bytes, crowd->members, out->size);
    }
    return out->size > 0;
}

uint32_t ops_blobs_expected(const ops* s)
{
    uint32_t count = 0, capacity = 0, distinct = 0;
    ops_content* all = NULL;
    for (uint32_t i = 0; i < s->oracle.live_count; i++) {
        const oracle_entity* entity = s->oracle.live[i];
        for (uint32_t j = 0; j < entity->component_count; j++) {
            if (count == capacity) {
                capacity = capacity != 0 ? capacity * 2 : 256;
                all = realloc(all, sizeof *all * capacity);
                MODEL_CHECK(all != NULL);
            }
            count += s->types[entity->components[j].type].owned &&
                     ops_content_of(s, &entity->components[j], &all[count]);
        }
    }
    if (count > 0) {
        qsort(all, count, sizeof *all, ops_content_compare);
    }
    for (uint32_t i = 0; i < count; i++) {
        distinct += i == 0 || ops_content_compare(&all[i - 1], &all[i]) != 0;
    }
    free(all);
    return distinct;
}
