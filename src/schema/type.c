// SPDX-License-Identifier: MIT
// The types of a world. A registration is built in its own arena, compared with a type of the same
// name, given its presets, and only then entered into the tables. Until that moment a refusal only
// frees the arena.
#include "base/scan.h"
#include "schema/detail.h"

void orri_schema_init(orri_schema* schema, orri_env* env, uint32_t type_max)
{
    *schema = (orri_schema){.env = env, .type_max = type_max, .type_base = 1};
}

void orri_schema_term(orri_schema* schema)
{
    orri_env* env = schema->env;
    for (uint32_t i = 0; i < schema->type_count; i++) {
        // The type is in its own arena, so the arena is copied before it is freed.
        orri_arena arena = schema->types[i]->detail->arena;
        orri_arena_free(env, &arena);
    }
    ORRI_RELEASE(env, ORR_MEMORY_SCHEMA, schema->types, schema->type_capacity);
    ORRI_FREE(env, ORR_MEMORY_SCHEMA, uint32_t, schema->names, schema->name_capacity);
    ORRI_FREE(env, ORR_MEMORY_SCHEMA, orr_hot_static, schema->static_memory,
              (size_t)2 * schema->static_capacity);
    orri_blobs_term(schema);
    *schema = (orri_schema){.env = env};
}

// ---- names --------------------------------------------------------------------------------------

// The place of a name in the table, or the empty place where it belongs.
static uint32_t* type_name_slot(const orri_schema* schema, uint32_t* names, uint32_t capacity,
                                const char* name)
{
    uint32_t at = (uint32_t)orr_hash(name, strlen(name), 0) & (capacity - 1);
    while (names[at] != 0 &&
           strcmp(schema->types[names[at] - schema->type_base]->info.name, name) != 0) {
        at = (at + 1) & (capacity - 1);
    }
    return &names[at];
}

// Makes room for one more name; the table is at most half full.
static bool type_names_reserve(orri_schema* schema)
{
    if ((schema->type_count + 1) * 2 <= schema->name_capacity) {
        return true;
    }
    uint32_t capacity = schema->name_capacity != 0 ? schema->name_capacity * 2 : 64;
    uint32_t* names = ORRI_ALLOC_ZERO(schema->env, ORR_MEMORY_SCHEMA, uint32_t, capacity);
    if (names == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < schema->type_count; i++) {
        *type_name_slot(schema, names, capacity, schema->types[i]->info.name) =
            schema->types[i]->id;
    }
    ORRI_FREE(schema->env, ORR_MEMORY_SCHEMA, uint32_t, schema->names, schema->name_capacity);
    schema->names = names;
    schema->name_capacity = capacity;
    return true;
}

orr_type orri_type_find(const orri_schema* schema, const char* name)
{
    if (name == NULL || schema->name_capacity == 0) {
        return (orr_type){0};
    }
    return (orr_type){*type_name_slot(schema, schema->names, schema->name_capacity, name)};
}

// ---- presets ------------------------------------------------------------------------------------

static bool type_preset_field(orri_build* build, const orr_type_desc* desc,
                              const orr_field_info* field, unsigned char* out)
{
    const orri_type* type = orri_type_of_info(field->type);
    if (field->attributes.preset == NULL) {
        for (uint32_t at = 0; type->preset != NULL && at < orri_field_size(field);
             at += type->info.size) {
            memcpy(out + at, type->preset, type->info.size);
        }
        return true;
    }
    orri_value_error error;
    if (!orri_value_read(type, field, field->attributes.preset, out, &error)) {
        orr_result result = error.result == ORR_ERR_MEMORY ? ORR_ERR_MEMORY : ORR_ERR_ARGUMENT;
        return orri_build_refuse(build, result, "the preset of field %s of %s cannot be read: %s",
                                 field->name, desc->name, error.text);
    }
    return true;
}

static bool type_is_zero(const unsigned char* bytes, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

// Sets the preset of one node; the presets of its fields' types exist already.
static bool type_preset(orri_build* build, const orri_node* node)
{
    orri_type* type = node->type;
    const orr_type_info* info = &type->info;
    bool any = false;
    for (uint32_t i = 0; i < info->field_count; i++) {
        any |= info->fields[i].attributes.preset != NULL ||
               orri_type_of_info(info->fields[i].type)->preset != NULL;
    }
    if (!any) {
        return true;
    }
    unsigned char* preset =
        orri_arena_alloc(build->schema->env, &build->arena, info->size, info->align);
    if (preset == NULL) {
        return orri_build_refuse_memory(build);
    }
    for (uint32_t i = 0; i < info->field_count; i++) {
        const orr_field_info* field = &info->fields[i];
        if (!type_preset_field(build, node->desc, field, preset + field->offset)) {
            return false;
        }
    }
    if (!type_is_zero(preset, info->size)) {
        type->zero_preset = false;
        type->preset = preset;
    }
    return true;
}

static bool type_presets(orri_build* build)
{
    for (uint32_t i = 0; i < build->node_count; i++) {
        if (!type_preset(build, &build->nodes[i])) {
            return false;
        }
    }
    return true;
}

// ---- registering --------------------------------------------------------------------------------

// The type that already has the name, if its declaration is the same.
static bool type_agree(orri_build* build, const orri_type* type, orr_type known, orr_type* out)
{
    char buffer[256];
    orri_text difference = {buffer, sizeof buffer, 0};
    if (!orri_declaration_same(type, build->schema->types[known.id - build->schema->type_base],
                               &difference)) {
        return orri_build_refuse(build, ORR_ERR_CONFLICT,
                                 "the name is used by a type with another declaration: %s; use "
                                 "another name, or the same declaration everywhere (put it in a "
                                 "header)",
                                 buffer);
    }
    *out = known;
    return true;
}

static bool type_reserve(orri_build* build)
{
    orri_schema* schema = build->schema;
    if (schema->type_count >= schema->type_max) {
        return orri_build_refuse(
            build, ORR_ERR_CAPACITY,
            "the world has %u types, the limit; raise orr_world_desc.types_max",
            schema->type_count);
    }
    if (!ORRI_RESERVE(schema->env, ORR_MEMORY_SCHEMA, &schema->types, &schema->type_capacity,
                      schema->type_count + 1) ||
        !type_names_reserve(schema)) {
        return orri_build_refuse_memory(build);
    }
    return true;
}

// A type with `preset_is_tick` gets the current tick as its preset, whichever call creates the
// component.
static void type_preset_tick(const orri_schema* schema, orri_type* type)
{
    type->preset_is_tick = strcmp(type->info.name, "orr_time") == 0 &&
                           type->info.size == sizeof *schema->clock;
    if (type->preset_is_tick && schema->clock != NULL) {
        type->preset = schema->clock;
        type->zero_preset = false;
    }
}

// Enters the type into the tables. Cannot fail.
static orr_type type_enter(orri_build* build, orri_type* type)
{
    orri_schema* schema = build->schema;
    for (uint32_t i = 0; i < build->node_count; i++) {
        const orri_type* node = build->nodes[i].type;
        if (node->preset != NULL) {
            orri_rows_retain(node, node->preset, 1);
        }
    }
    type_preset_tick(schema, type);
    type->detail->arena = build->arena;
    type->id = schema->type_count + schema->type_base;
    schema->types[schema->type_count++] = type;
    *type_name_slot(schema, schema->names, schema->name_capacity, type->info.name) = type->id;
    orri_log(schema->env, ORR_LOG_ID_TYPE_REGISTERED,
             "type %s: %u bytes, %u fields, layout %016llx", type->info.name, type->info.size,
             type->info.field_count, (unsigned long long)type->info.layout_hash);
    return (orr_type){type->id};
}

// Indexed references are tracked per entity, which is exact only if no pointer can change a value
// unnoticed: so the type must be unique and in chunks.
static bool type_check_indexed(orri_build* build, const orri_type* type)
{
    return type->indexed_count == 0 ||
           (type->info.multiplicity == ORR_UNIQUE && type->info.storage == ORR_CHUNK) ||
           orri_build_refuse(build, ORR_ERR_ARGUMENT,
                             "it has the indexed reference %s, so it must be unique and in chunks, "
                             "not %s",
                             type->indexed[0].path,
                             type->info.transient               ? "transient"
                             : type->info.storage == ORR_PINNED ? "pinned"
                                                                : "multiple");
}

// The library finds its own types by name, and reads their values as its own structs. So another
// declaration of such a name is refused before the type of the library is registered, too.
static bool type_check_own(orri_build* build, const orr_type_desc* desc, const orri_type* type)
{
    orri_schema* schema = build->schema;
    const orr_type_desc* own = schema->own != NULL ? schema->own(type->info.name) : NULL;
    if (own == NULL || own == desc) {
        return true;
    }
    orri_build other = {.schema = schema, .name = own->name};
    const orri_type* was = orri_layout_build(&other, own, NULL);
    char buffer[256];
    orri_text difference = {buffer, sizeof buffer, 0};
    bool same = was != NULL && orri_declaration_same(type, was, &difference);
    ORRI_RELEASE(schema->env, ORR_MEMORY_TEMP, other.nodes, other.node_capacity);
    orri_arena_free(schema->env, &other.arena);
    if (was == NULL) {
        build->result = other.result;
        return false;
    }
    return same || orri_build_refuse(build, ORR_ERR_CONFLICT,
                                     "the library has a type of this name with another "
                                     "declaration: %s; use another name",
                                     buffer);
}

static bool type_build(orri_build* build, const orr_type_desc* desc, orr_type* out,
                       bool* out_entered)
{
    orri_type* type = orri_layout_build(build, desc, NULL);
    if (type == NULL || !type_check_indexed(build, type)) {
        return false;
    }
    orr_type known = orri_type_find(build->schema, type->info.name);
    if (known.id != 0) {
        return type_agree(build, type, known, out);
    }
    if (!type_check_own(build, desc, type) || !type_reserve(build) || !type_presets(build)) {
        return false;
    }
    *out = type_enter(build, type);
    *out_entered = true;
    return true;
}

orr_result orri_type_register(orri_schema* schema, const orr_type_desc* desc, orr_type* out)
{
    if (desc == NULL || out == NULL) {
        return orri_refuse(schema->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_TYPE_REFUSED,
                           "registering a type: %s is NULL", desc == NULL ? "desc" : "out");
    }
    orri_build build = {.schema = schema, .name = desc->name != NULL ? desc->name : "(no name)"};
    bool entered = false;
    orr_type type = {0};
    bool ok = type_build(&build, desc, &type, &entered);
    ORRI_RELEASE(schema->env, ORR_MEMORY_TEMP, build.nodes, build.node_capacity);
    if (!entered) {
        orri_arena_free(schema->env, &build.arena);
    }
    if (!ok) {
        return build.result;
    }
    *out = type;
    return ORR_OK;
}

// ---- static descs -------------------------------------------------------------------------------

#define TYPE_STATICS_FIRST    128u
#define TYPE_STATICS_SPREAD   16u  // Entries for each desc.
#define TYPE_STATICS_TRIES    32u  // Multipliers that are tried,
#define TYPE_STATICS_TRY_MOST 128u // with at most so many descs: with more, hardly any would do.
#define TYPE_MULTIPLIER       0x9E3779B97F4A7C15u

// The entry of a static desc, or the empty entry where it belongs.
static const orr_hot_static* type_static_slot(const orr_hot_statics* table,
                                              const orr_type_desc* desc)
{
    const orr_hot_static* entry = orr_hot_static_at(table, desc);
    while (entry->desc != desc && entry->desc != NULL) {
        entry = &table->entries[((uint32_t)(entry - table->entries) + 1) & table->mask];
    }
    return entry;
}

// Enters a desc. Returns 1 if it is not where orr_type_of() looks for it, else 0.
static uint32_t type_static_enter(const orr_hot_statics* table, orr_hot_static* entries,
                                  orr_hot_static fresh)
{
    const orr_hot_static* slot = type_static_slot(table, fresh.desc);
    entries[slot - table->entries] = fresh;
    return slot != orr_hot_static_at(table, fresh.desc);
}

// Copies a table into the empty one at `entries`. Returns the number of displaced descs.
ORRI_COLD static uint32_t type_statics_copy(const orr_hot_statics* from, const orr_hot_statics* to,
                                            orr_hot_static* entries)
{
    uint32_t displaced = 0;
    for (uint32_t i = 0; from->entries != NULL && i <= from->mask; i++) {
        if (from->entries[i].desc != NULL) {
            displaced += type_static_enter(to, entries, from->entries[i]);
        }
    }
    return displaced;
}

static void type_statics_use(orri_schema* schema, const orr_hot_statics* table, uint32_t displaced)
{
    schema->statics = *table;
    schema->static_displaced = displaced;
    if (schema->shown != NULL) {
        *schema->shown = *table;
    }
}

// Looks for a multiplier with which fewer descs, or none, are displaced. Addresses differ from run
// to run, so without it each run would find other types slow to look up.
ORRI_COLD static void type_statics_spread(orri_schema* schema)
{
    uint32_t capacity = schema->static_capacity;
    uint64_t multiplier = schema->statics.multiplier;
    for (uint32_t i = 0; i < TYPE_STATICS_TRIES && schema->static_displaced > 0 &&
                         schema->static_count <= TYPE_STATICS_TRY_MOST;
         i++) {
        multiplier *= TYPE_MULTIPLIER;
        uint32_t offset = capacity - schema->static_offset;
        orr_hot_static* entries = schema->static_memory + offset;
        memset(entries, 0, capacity * sizeof *entries);
        orr_hot_statics table = {entries, multiplier, capacity - 1};
        uint32_t displaced = type_statics_copy(&schema->statics, &table, entries);
        if (displaced < schema->static_displaced) {
            schema->static_offset = offset;
            type_statics_use(schema, &table, displaced);
        }
    }
}

// Makes room for one more static desc.
ORRI_COLD static bool type_statics_reserve(orri_schema* schema)
{
    uint32_t old = schema->static_capacity;
    if ((schema->static_count + 1) * TYPE_STATICS_SPREAD <= old) {
        return true;
    }
    uint32_t capacity = old != 0 ? old * 2 : TYPE_STATICS_FIRST;
    orr_hot_static* memory =
        ORRI_ALLOC_ZERO(schema->env, ORR_MEMORY_SCHEMA, orr_hot_static, (size_t)2 * capacity);
    if (memory == NULL) {
        return false;
    }
    orr_hot_statics table = {memory, TYPE_MULTIPLIER, capacity - 1};
    type_statics_use(schema, &table, type_statics_copy(&schema->statics, &table, memory));
    ORRI_FREE(schema->env, ORR_MEMORY_SCHEMA, orr_hot_static, schema->static_memory,
              (size_t)2 * old);
    schema->static_memory = memory;
    schema->static_offset = 0;
    schema->static_capacity = capacity;
    return true;
}

// Notes that memory was refused to a type. If there is no room for the name, later uses of the type
// are reported as ORR_ERR_TYPE.
static void type_starve(orri_schema* schema, const char* name)
{
    for (uint32_t i = 0; i < ORRI_STARVED_MAX; i++) {
        const char* noted = schema->starved[i];
        if (noted == NULL || noted == name || orri_type_find(schema, noted).id != 0) {
            schema->starved[i] = name;
            return;
        }
    }
}

const char* orri_type_starved(const orri_schema* schema, const char* name, size_t size)
{
    for (uint32_t i = 0; i < ORRI_STARVED_MAX && schema->starved[i] != NULL; i++) {
        const char* noted = schema->starved[i];
        if ((name == NULL || orri_scan_equals(name, size, noted)) &&
            orri_type_find(schema, noted).id == 0) {
            return noted;
        }
    }
    return NULL;
}

static orr_type type_static_add(orri_schema* schema, const orr_type_desc* desc)
{
    orr_type type;
    orr_result result = type_statics_reserve(schema)
                            ? orri_type_register(schema, desc, &type)
                            : orri_refuse_memory(schema->env, "registering a type");
    if (result != ORR_OK) {
        if (result == ORR_ERR_MEMORY && desc->name != NULL) {
            type_starve(schema, desc->name);
        }
        return (orr_type){0};
    }
    orr_hot_static* entries = schema->static_memory + schema->static_offset;
    schema->static_displaced +=
        type_static_enter(&schema->statics, entries, (orr_hot_static){desc, type.id});
    schema->static_count++;
    type_statics_spread(schema);
    return type;
}

// Looks a type up by name while the schema is frozen. The desc is entered into the table when the
// schema is thawed. orri_type_register() only compares the two declarations here.
static orr_type type_static_find_frozen(orri_schema* schema, const orr_type_desc* desc)
{
    orr_type type = desc->name != NULL ? orri_type_find(schema, desc->name) : (orr_type){0};
    if (type.id == 0) {
        (void)orri_refuse(schema->env, ORR_ERR_STATE, ORR_LOG_ID_TYPE_REFUSED,
                          "type %s is not registered, and types cannot be registered while systems "
                          "run; call ORR_REGISTER() before the first tick",
                          desc->name != NULL ? desc->name : "(no name)");
        return type;
    }
    for (uint32_t i = 0; i < ORRI_STATICS_MISSED; i++) {
        const orr_type_desc* none = NULL;
        if (atomic_compare_exchange_strong(&schema->missed[i], &none, desc) || none == desc) {
            break;
        }
    }
    return orri_type_register(schema, desc, &type) == ORR_OK ? type : (orr_type){0};
}

void orri_schema_freeze(orri_schema* schema)
{
    schema->frozen = true;
}

void orri_schema_thaw(orri_schema* schema)
{
    schema->frozen = false;
    for (uint32_t i = 0; i < ORRI_STATICS_MISSED; i++) {
        const orr_type_desc* desc = atomic_load_explicit(&schema->missed[i], memory_order_relaxed);
        if (ORR_UNLIKELY(desc != NULL)) {
            atomic_store_explicit(&schema->missed[i], NULL, memory_order_relaxed);
            (void)orri_type_static(schema, desc);
        }
    }
}

orr_type orri_type_static_find(const orri_schema* schema, const orr_type_desc* desc)
{
    if (ORR_LIKELY(schema->static_capacity != 0)) {
        const orr_hot_static* entry = type_static_slot(&schema->statics, desc);
        if (ORR_LIKELY(entry->desc == desc && desc != NULL)) {
            return (orr_type){entry->id};
        }
    }
    return (orr_type){0};
}

orr_type orri_type_static(orri_schema* schema, const orr_type_desc* desc)
{
    orr_type found = orri_type_static_find(schema, desc);
    if (ORR_LIKELY(found.id != 0)) {
        return found;
    }
    return ORR_UNLIKELY(schema->frozen) ? type_static_find_frozen(schema, desc)
                                        : type_static_add(schema, desc);
}
