// SPDX-License-Identifier: MIT
// The types of the model test, and how a value of each is created, in the world's form and in the
// oracle's.
#include "model/ops.h"
#include "test.h"

#include <stdlib.h>

// A text of its own, so that equal handles can be distinguished from equal contents.
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

// References are at the same offsets as in the world's form.
typedef struct ops_knot {
    orr_entity first, free;
    char text[sizeof(orr_string)];
    orr_entity rest[2];
} ops_knot;

_Static_assert(sizeof(ops_knot) == sizeof(Knot) && offsetof(ops_knot, rest) == offsetof(Knot, rest),
               "the oracle's Knot has its references where the world's has them");

// ---- creating values ----------------------------------------------------------------------------

static bool ops_make_plain(ops* s, uint32_t type, void* world_value, void* value)
{
    const oracle_type* t = &s->oracle.types[type];
    // Padding gets garbage too: the store must neither keep nor hash it.
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

// Bytes with references in some places.
static bool ops_make_references(ops* s, uint32_t type, void* world_value, void* value)
{
    const oracle_type* t = &s->oracle.types[type];
    ops_bytes(s, world_value, t->world_size);
    for (uint32_t i = 0; i < t->reference_count; i++) {
        orr_entity reference = ops_make_reference(s);
        memcpy((char*)world_value + t->references[i].offset, &reference, sizeof reference);
    }
    memcpy(value, world_value, t->world_size);
    return true;
}

static bool ops_make_knot(ops* s, uint32_t type, void* world_value, void* value)
{
    (void)type;
    ops_knot model = {.first = ops_make_reference(s), .free = ops_make_reference(s)};
    model.text[0] = (char)(ops_chance(s, 2) ? 'a' + ops_below(s, 6) : 0);
    model.rest[0] = ops_make_reference(s);
    model.rest[1] = ops_chance(s, 3) ? model.rest[0] : ops_make_reference(s);
    Knot knot = {model.first,
                 model.free,
                 orr_string_make(s->world, model.text),
                 {model.rest[0], model.rest[1]}};
    memcpy(world_value, &knot, sizeof knot);
    memcpy(value, &model, sizeof model);
    return model.text[0] == '\0' || knot.text.id != 0;
}

// A handle that was refused memory is the empty string; the value is then not used.
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
    return length == 0 || label.text.id != 0;
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
    return model.count == 0 || list.numbers.id != 0;
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
    return model.count == 0 || crowd.members.id != 0;
}

bool ops_make(ops* s, uint32_t type, void* world_value, void* value)
{
    if (s->types[type].make(s, type, world_value, value)) {
        s->done += s->types[type].owned; // A blob was created, which may change the hash.
        return true;
    }
    MODEL_CHECK(s->armed && s->kit.memory.refused > 0);
    s->out_of_memory++;
    return false;
}

// ---- comparing values ---------------------------------------------------------------------------

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

static bool ops_equal_knot(const orr_world* world, const void* world_value, const void* value)
{
    const Knot* knot = world_value;
    const ops_knot* model = value;
    return knot->first.id == model->first.id && knot->free.id == model->free.id &&
           knot->rest[0].id == model->rest[0].id && knot->rest[1].id == model->rest[1].id &&
           strcmp(orr_string_text(world, knot->text), model->text) == 0;
}

// ---- the fixed types ----------------------------------------------------------------------------

static const Health ops_health_preset = {100, 0};
static const Shard ops_shard_preset = {7, 0};
static const Body ops_body_preset = {10, 0};
static const Engine ops_engine_preset = {3};

static const oracle_reference ops_holder_references[] = {
    {offsetof(Holder, owner), ORR_ON_DESTROY_DESTROY}};
static const oracle_reference ops_aimer_references[] = {
    {0, ORR_ON_DESTROY_CLEAR}, {8, ORR_ON_DESTROY_CLEAR}, {16, ORR_ON_DESTROY_CLEAR}};
static const oracle_reference ops_memoir_references[] = {{0, ORR_ON_DESTROY_KEEP}};
static const oracle_reference ops_knot_references[] = {
    {offsetof(Knot, first), ORR_ON_DESTROY_CLEAR},
    {offsetof(Knot, rest), ORR_ON_DESTROY_DESTROY},
    {offsetof(Knot, rest) + sizeof(orr_entity), ORR_ON_DESTROY_DESTROY}};

typedef struct ops_fixed {
    const orr_type_desc* desc;
    uint32_t size; // In the oracle's form.
    ops_type type;
    const void* preset;
    bool (*equal)(const orr_world* world, const void* world_value, const void* value);
    const oracle_reference* references;
    uint32_t reference_count;
    const char* needs[3]; // Needed types by name; NULL after the last.
} ops_fixed;

#define TYPE(T, SIZE, MAKE, PLAIN, OWNED, HOOKED, ORDER) \
    .desc = ORR_TYPE(T), .size = (SIZE),                 \
    .type = {#T, MAKE, PLAIN, OWNED, HOOKED, ORR_TYPE(T), ORDER}
#define PLAIN(T, ORDER) TYPE(T, sizeof(T), ops_make_plain, true, false, false, ORDER)
#define LABEL(T) \
    TYPE(T, sizeof(ops_label), ops_make_label, false, true, false, NULL), .equal = ops_equal_label
#define TOKEN(T) \
    TYPE(T, sizeof(uint32_t), ops_make_token, false, false, true, NULL), .equal = ops_equal_token
#define MARKER(T) TYPE(T, 0, ops_make_marker, false, false, false, NULL)
#define INDEXED(T, LIST)                                                \
    TYPE(T, sizeof(T), ops_make_references, false, false, false, NULL), \
        .references = (LIST), .reference_count = sizeof(LIST) / sizeof *(LIST)

// ops_shape.types counts in this order.
static const ops_fixed ops_fixed_types[] = {
    {PLAIN(Position, "x")},
    {PLAIN(Velocity, "y")},
    {PLAIN(Health, "value"), .preset = &ops_health_preset},
    {PLAIN(Padded, "b")},
    {PLAIN(Big, NULL)},
    {PLAIN(Tiny, "value")},
    {TYPE(Link, sizeof(Link), ops_make_link, true, false, false, "target")},
    {LABEL(Label)},
    {TYPE(List, sizeof(ops_list), ops_make_list, false, true, false, NULL),
     .equal = ops_equal_list},
    {TYPE(Crowd, sizeof(ops_crowd), ops_make_crowd, false, true, false, NULL),
     .equal = ops_equal_crowd},
    {TOKEN(Token)},
    {MARKER(Frozen)},
    {PLAIN(Shard, NULL), .preset = &ops_shard_preset},
    {LABEL(Memo)},
    {TOKEN(Spark)},
    {MARKER(Badge)},
    {PLAIN(Body, NULL), .preset = &ops_body_preset},
    {PLAIN(Loose, NULL)},
    {LABEL(Sign)},
    {TYPE(Rope, sizeof(Rope), ops_make_link, true, false, false, NULL)},
    {TOKEN(Ghost)},
    {MARKER(Seen)},
    {INDEXED(Holder, ops_holder_references)},
    {INDEXED(Aimer, ops_aimer_references)},
    {INDEXED(Memoir, ops_memoir_references)},
    {TYPE(Knot, sizeof(ops_knot), ops_make_knot, false, true, false, NULL), .equal = ops_equal_knot,
     .references = ops_knot_references, .reference_count = 3},
    {PLAIN(Engine, "power"), .preset = &ops_engine_preset, .needs = {"Velocity", "Turbo"}},
    {PLAIN(Turbo, "stage"), .needs = {"Health"}},
    {PLAIN(Yin, "depth"), .needs = {"Yang", "Shard"}},
    {PLAIN(Yang, "height"), .needs = {"Yin"}},
    {PLAIN(Rider, NULL), .needs = {"Holder"}},
};

#undef TYPE
#undef PLAIN
#undef LABEL
#undef TOKEN
#undef MARKER
#undef INDEXED

_Static_assert(sizeof(Link) == sizeof(Rope) && sizeof(Label) == sizeof(Memo) &&
                   sizeof(Label) == sizeof(Sign) && sizeof(Token) == sizeof(Spark) &&
                   sizeof(Token) == sizeof(Ghost),
               "made by the same functions");

static void ops_type_enter(ops* s, orr_type type, const ops_fixed* fixed, uint32_t world_size)
{
    const orr_type_desc* desc = fixed->desc;
    oracle_type entry = {.type = type,
                         .size = fixed->size,
                         .world_size = world_size,
                         .preset = fixed->preset,
                         .equal = fixed->equal,
                         .multiple = desc != NULL && desc->settings.multiplicity == ORR_MULTIPLE,
                         .pinned = desc != NULL && desc->settings.storage == ORR_PINNED,
                         .references = fixed->references,
                         .reference_count = fixed->reference_count};
    MODEL_CHECK(world_size <= OPS_VALUE_MAX && fixed->size <= OPS_VALUE_MAX);
    s->types[oracle_type_add(&s->oracle, &entry)] = fixed->type;
}

// Types without a C struct: 1 to 4 fields, so that many sizes and paddings occur.
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
        MODEL_CHECK(orr_type_find(s->world, name).id == 0);
        return;
    }
    uint32_t size = orr_type_info_get(s->world, type)->size;
    ops_type_enter(s, type,
                   &(ops_fixed){.size = size,
                                .type = {"Made", ops_make_plain, true, false, false, NULL,
                                         field_count > 1 && fields[1].count == 0 ? "b" : NULL}},
                   size);
    s->done++;
}

// ---- needs --------------------------------------------------------------------------------------

static uint32_t ops_type_named(const ops* s, const char* name)
{
    uint32_t i = 0;
    while (i < s->oracle.type_count && strcmp(s->types[i].name, name) != 0) {
        i++;
    }
    MODEL_CHECK(i < s->oracle.type_count); // Otherwise a shape lacks a needed type.
    return i;
}

static const ops_fixed* ops_fixed_of(const ops* s, uint32_t type)
{
    const ops_fixed* found = NULL;
    for (uint32_t i = 0; i < sizeof ops_fixed_types / sizeof ops_fixed_types[0]; i++) {
        found = ops_fixed_types[i].desc == s->types[type].desc ? &ops_fixed_types[i] : found;
    }
    return found;
}

static void ops_needs_add(ops* s, oracle_type* t, uint32_t self, uint32_t type)
{
    bool there = type == self;
    for (uint32_t i = 0; i < t->needs_count; i++) {
        there |= t->needs[i] == type;
    }
    if (!there) {
        MODEL_CHECK(t->needs_count < ORACLE_NEEDS_MAX);
        t->needs[t->needs_count++] = type;
        const ops_fixed* fixed = ops_fixed_of(s, type);
        for (uint32_t i = 0; fixed != NULL && i < 3 && fixed->needs[i] != NULL; i++) {
            ops_needs_add(s, t, self, ops_type_named(s, fixed->needs[i]));
        }
    }
}

void ops_types_begin(ops* s)
{
    for (uint32_t i = 0; i < sizeof ops_fixed_types / sizeof ops_fixed_types[0]; i++) {
        if (s->shape->types >> i & 1) {
            orr_type type = orr_type_of(s->world, ops_fixed_types[i].desc);
            MODEL_CHECK(type.id != 0);
            ops_type_enter(s, type, &ops_fixed_types[i], ops_fixed_types[i].desc->size);
        }
    }
    for (uint32_t t = 0; t < s->oracle.type_count; t++) {
        const ops_fixed* fixed = ops_fixed_of(s, t);
        for (uint32_t i = 0; i < 3 && fixed->needs[i] != NULL; i++) {
            ops_needs_add(s, &s->oracle.types[t], t, ops_type_named(s, fixed->needs[i]));
        }
    }
    for (uint32_t i = 0; i < s->shape->made_types; i++) {
        ops_type_register_next(s);
    }
}

// ---- expected numbers of tokens and blobs -------------------------------------------------------

uint64_t ops_tokens_expected(const ops* s)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < s->oracle.live_count; i++) {
        const oracle_entity* entity = s->oracle.live[i];
        for (uint32_t j = 0; j < entity->component_count; j++) {
            const oracle_component* component = &entity->components[j];
            count += s->types[component->type].hooked ? oracle_value_count(component) : 0;
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

static void ops_content_text(const char* text, ops_content* out)
{
    out->kind = 1;
    out->size = (uint8_t)strlen(text);
    memcpy(out->bytes, text, out->size);
}

static bool ops_content_of(const ops* s, uint32_t type, const void* value, ops_content* out)
{
    bool (*make)(ops*, uint32_t, void*, void*) = s->types[type].make;
    memset(out, 0, sizeof *out);
    if (make == ops_make_label) {
        ops_content_text(((const ops_label*)value)->text, out);
    } else if (make == ops_make_knot) {
        ops_content_text(((const ops_knot*)value)->text, out);
    } else if (make == ops_make_list) {
        const ops_list* list = value;
        out->kind = 4;
        out->size = (uint8_t)(list->count * sizeof list->values[0]);
        memcpy(out->bytes, list->values, out->size);
    } else if (make == ops_make_crowd) {
        const ops_crowd* crowd = value;
        out->kind = 8;
        out->size = (uint8_t)(crowd->count * sizeof crowd->members[0]);
        memcpy(out->bytes, crowd->members, out->size);
    }
    return out->size > 0;
}

typedef struct ops_contents {
    ops_content* all;
    uint32_t count, capacity;
} ops_contents;

static ops_content* ops_contents_next(ops_contents* contents)
{
    contents->all =
        oracle_grow(contents->all, &contents->capacity, contents->count + 1, sizeof *contents->all);
    return &contents->all[contents->count];
}

static void ops_contents_collect(const ops* s, const oracle_entity* entity, ops_contents* contents)
{
    for (uint32_t j = 0; j < entity->component_count; j++) {
        const oracle_component* component = &entity->components[j];
        uint32_t values = s->types[component->type].owned ? oracle_value_count(component) : 0;
        for (uint32_t k = 0; k < values; k++) {
            contents->count += ops_content_of(s, component->type, oracle_value_at(component, k),
                                              ops_contents_next(contents));
        }
    }
    if (entity->name[0] != '\0') {
        ops_content* content = ops_contents_next(contents);
        memset(content, 0, sizeof *content);
        ops_content_text(entity->name, content);
        contents->count++;
    }
}

uint32_t ops_blobs_expected(const ops* s)
{
    ops_contents contents = {0};
    uint32_t distinct = 0;
    for (uint32_t i = 0; i < s->oracle.live_count; i++) {
        ops_contents_collect(s, s->oracle.live[i], &contents);
    }
    if (contents.count > 0) {
        qsort(contents.all, contents.count, sizeof *contents.all, ops_content_compare);
    }
    for (uint32_t i = 0; i < contents.count; i++) {
        distinct += i == 0 || ops_content_compare(&contents.all[i - 1], &contents.all[i]) != 0;
    }
    free(contents.all);
    return distinct;
}
