// SPDX-License-Identifier: MIT
// Names of tags, and tags of entities. Tags are part of a cluster's identity, so tagging moves the
// row.
#include "store/world/access.h"

// ---- names --------------------------------------------------------------------------------------

// Two hash tables with open addressing, by name and by value. Entries are 1 + the index in the list
// of names; 0 is free. Names are never removed, except by a restore.

// The slot of a name, or the free one it would get.
static uint32_t tag_name_slot(const orr_world* world, const uint32_t* table, uint32_t size,
                              const char* name)
{
    uint32_t slot = (uint32_t)orr_hash(name, strlen(name), 0) & (size - 1);
    while (table[slot] != 0 && strcmp(world->tags.entries[table[slot] - 1].name, name) != 0) {
        slot = (slot + 1) & (size - 1);
    }
    return slot;
}

static uint32_t tag_value_slot(const orr_world* world, const uint32_t* table, uint32_t size,
                               orr_tag tag)
{
    uint32_t slot = (uint32_t)orri_hash_word(0, tag) & (size - 1);
    while (table[slot] != 0 && world->tags.entries[table[slot] - 1].tag != tag) {
        slot = (slot + 1) & (size - 1);
    }
    return slot;
}

static const orri_tag_entry* tag_by_name(const orr_world* world, const char* name)
{
    uint32_t size = world->tags.table_size;
    uint32_t id = size > 0 ? world->tags.names[tag_name_slot(world, world->tags.names, size, name)]
                           : 0;
    return id != 0 ? &world->tags.entries[id - 1] : NULL;
}

static const orri_tag_entry* tag_by_value(const orr_world* world, orr_tag tag)
{
    uint32_t size = world->tags.table_size;
    uint32_t id =
        size > 0 ? world->tags.values[tag_value_slot(world, world->tags.values, size, tag)] : 0;
    return id != 0 ? &world->tags.entries[id - 1] : NULL;
}

// Keeps both tables at most half full. False when refused (not reported).
static bool tag_grow_tables(orr_world* world)
{
    uint32_t old = world->tags.table_size, size = old == 0 ? 16 : old * 2;
    if (world->tags.count * 2 < old) {
        return true;
    }
    uint32_t* names = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SCHEMA, uint32_t, size);
    uint32_t* values = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SCHEMA, uint32_t, size);
    if (names == NULL || values == NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_SCHEMA, uint32_t, names, size);
        ORRI_FREE(&world->env, ORR_MEMORY_SCHEMA, uint32_t, values, size);
        return false;
    }
    for (uint32_t i = 0; i < world->tags.count; i++) {
        names[tag_name_slot(world, names, size, world->tags.entries[i].name)] = i + 1;
        values[tag_value_slot(world, values, size, world->tags.entries[i].tag)] = i + 1;
    }
    ORRI_FREE(&world->env, ORR_MEMORY_SCHEMA, uint32_t, world->tags.names, old);
    ORRI_FREE(&world->env, ORR_MEMORY_SCHEMA, uint32_t, world->tags.values, old);
    world->tags.names = names;
    world->tags.values = values;
    world->tags.table_size = size;
    return true;
}

void orri_tags_term(orr_world* world)
{
    for (uint32_t i = 0; i < world->tags.count; i++) {
        orri_free(&world->env, ORR_MEMORY_SCHEMA, world->tags.entries[i].name,
                  strlen(world->tags.entries[i].name) + 1, 1);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_SCHEMA, world->tags.entries, world->tags.capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_SCHEMA, uint32_t, world->tags.names, world->tags.table_size);
    ORRI_FREE(&world->env, ORR_MEMORY_SCHEMA, uint32_t, world->tags.values, world->tags.table_size);
}

static orr_result tag_check_name(orr_world* world, orr_tag tag, const char* name)
{
    if (name == NULL || !orri_name_valid(name)) {
        return orri_refuse(
            &world->env, ORR_ERR_NAME, ORR_LOG_ID_CALL_REFUSED,
            "orr_tag_register: the name '%.80s' is not allowed; use 1 to %d letters, "
            "digits, '_', '.' or ':', and no digit first",
            name != NULL ? name : "(NULL)", ORR_NAME_MAX);
    }
    const orri_tag_entry* same_name = tag_by_name(world, name);
    const orri_tag_entry* same_tag = tag_by_value(world, tag);
    if (same_name == NULL && same_tag != NULL) {
        return orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                           "orr_tag_register: tag %llu cannot be named '%s': it is already named "
                           "'%s', and a tag has one name; use that one",
                           (unsigned long long)tag, name, same_tag->name);
    }
    if (same_name != same_tag) {
        return orri_refuse(
            &world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
            "orr_tag_register: tag %llu cannot be named '%s': this is the name of tag "
            "%llu; choose another name",
            (unsigned long long)tag, name, (unsigned long long)same_name->tag);
    }
    return ORR_OK;
}

orr_result orr_tag_register(orr_world* world, orr_tag tag, const char* name)
{
    ORR_ASSERT(world != NULL);
    if (ORR_UNLIKELY(orri_access_checked(world))) {
        return orri_refuse_running(world, "orr_tag_register");
    }
    orr_result result = tag_check_name(world, tag, name);
    if (result != ORR_OK || tag_by_value(world, tag) != NULL) {
        return result;
    }
    if (world->tags.count >= world->limits.tags) {
        return orri_refuse(
            &world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_CALL_REFUSED,
            "orr_tag_register: '%s' would be named tag %u of at most %u; raise tags_max", name,
            world->tags.count + 1, world->limits.tags);
    }
    size_t size = strlen(name) + 1;
    char* copy = orri_alloc(&world->env, ORR_MEMORY_SCHEMA, size, 1);
    if (copy == NULL || !tag_grow_tables(world) ||
        !ORRI_RESERVE(&world->env, ORR_MEMORY_SCHEMA, &world->tags.entries, &world->tags.capacity,
                      world->tags.count + 1)) {
        orri_free(&world->env, ORR_MEMORY_SCHEMA, copy, size, 1);
        return orri_refuse_memory(&world->env, "naming a tag");
    }
    memcpy(copy, name, size);
    uint32_t table = world->tags.table_size;
    world->tags.entries[world->tags.count] = (orri_tag_entry){tag, copy};
    uint32_t by_name = tag_name_slot(world, world->tags.names, table, copy);
    uint32_t by_value = tag_value_slot(world, world->tags.values, table, tag);
    world->tags.names[by_name] = world->tags.values[by_value] = ++world->tags.count;
    world->tags.state = ++world->tags.states;
    return ORR_OK;
}

// ---- names in snapshots -------------------------------------------------------------------------

static void tag_entries_free(orr_world* world, orri_tag_entry* entries, uint32_t count,
                             uint32_t capacity)
{
    for (uint32_t i = 0; i < count; i++) {
        orri_free(&world->env, ORR_MEMORY_SCHEMA, entries[i].name, strlen(entries[i].name) + 1, 1);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_SCHEMA, entries, capacity);
}

bool orri_tags_copy(orr_world* world, const orri_tag_entry* entries, uint32_t count,
                    orri_tag_list* out)
{
    *out = (orri_tag_list){0};
    bool made = ORRI_RESERVE(&world->env, ORR_MEMORY_SCHEMA, &out->entries, &out->capacity, count);
    for (; made && out->count < count; out->count += made) {
        size_t size = strlen(entries[out->count].name) + 1;
        char* name = orri_alloc(&world->env, ORR_MEMORY_SCHEMA, size, 1);
        made = name != NULL;
        if (made) {
            memcpy(name, entries[out->count].name, size);
            out->entries[out->count] = (orri_tag_entry){entries[out->count].tag, name};
        }
    }
    if (!made) {
        orri_tags_drop(world, out);
    }
    return made;
}

void orri_tags_drop(orr_world* world, orri_tag_list* list)
{
    tag_entries_free(world, list->entries, list->count, list->capacity);
    *list = (orri_tag_list){0};
}

// The hash tables never shrink, so they have room for any earlier list.
void orri_tags_put(orr_world* world, orri_tag_list* list, uint64_t state)
{
    tag_entries_free(world, world->tags.entries, world->tags.count, world->tags.capacity);
    world->tags.entries = list->entries;
    world->tags.count = list->count;
    world->tags.capacity = list->capacity;
    world->tags.state = state;
    *list = (orri_tag_list){0};
    uint32_t size = world->tags.table_size;
    if (size > 0) {
        memset(world->tags.names, 0, size * sizeof *world->tags.names);
        memset(world->tags.values, 0, size * sizeof *world->tags.values);
    }
    for (uint32_t i = 0; i < world->tags.count; i++) {
        const orri_tag_entry* entry = &world->tags.entries[i];
        world->tags.names[tag_name_slot(world, world->tags.names, size, entry->name)] = i + 1;
        world->tags.values[tag_value_slot(world, world->tags.values, size, entry->tag)] = i + 1;
    }
}

bool orr_tag_find(const orr_world* world, const char* name, orr_tag* out)
{
    ORR_ASSERT(world != NULL);
    const orri_tag_entry* entry = name != NULL ? tag_by_name(world, name) : NULL;
    if (entry != NULL && out != NULL) {
        *out = entry->tag;
    }
    return entry != NULL;
}

const char* orr_tag_name(const orr_world* world, orr_tag tag)
{
    ORR_ASSERT(world != NULL);
    const orri_tag_entry* entry = tag_by_value(world, tag);
    return entry != NULL ? entry->name : NULL;
}

// ---- tags of entities ---------------------------------------------------------------------------

// Writes the tags of a cluster plus one, ascending.
static uint32_t tag_list_with(const orri_cluster* from, orr_tag tag, orr_tag* out)
{
    uint32_t count = 0;
    for (; count < from->tag_count && from->tags[count] < tag; count++) {
        out[count] = from->tags[count];
    }
    out[count] = tag;
    for (uint32_t i = count; i < from->tag_count; i++) {
        out[i + 1] = from->tags[i];
    }
    return from->tag_count + 1;
}

// Writes the tags of a cluster without one.
static uint32_t tag_list_without(const orri_cluster* from, orr_tag tag, orr_tag* out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < from->tag_count; i++) {
        if (from->tags[i] != tag) {
            out[count++] = from->tags[i];
        }
    }
    return count;
}

// Adds or removes a tag by moving the row.
static orr_result tag_change(orr_world* world, const char* call, orr_entity entity, orr_tag tag,
                             bool add)
{
    // A system that may not change rows may not read the record either.
    if (ORR_UNLIKELY(orri_access_checked(world))) {
        return orri_refuse_structure(world, call, (orr_type){0}, entity);
    }
    orri_record* record = orri_record_find(world, entity);
    if (record == NULL) {
        return orri_refuse_entity(world, call, entity, (orr_type){0});
    }
    orri_cluster* from = orri_place_chunk(world, record->place)->cluster;
    if (orri_cluster_has_tag(from, tag) == add) {
        return ORR_OK;
    }
    orr_result result = orri_check_open(world, call);
    if (result != ORR_OK) {
        return result;
    }
    orr_tag tags[ORR_CLUSTER_TAGS_MAX + 1];
    uint32_t count = add ? tag_list_with(from, tag, tags) : tag_list_without(from, tag, tags);
    bool created;
    orri_cluster* to = orri_cluster_obtain_like(world, call, from, from->types, from->type_count,
                                                tags, count, &created);
    if (to == NULL) {
        return orri_env_result(&world->env);
    }
    const orri_transition* transition = orri_transition_pair_get(world, from, to);
    result = transition != NULL ? orri_move_one(world, call, transition, record, NULL, NULL)
                                : orri_env_result(&world->env);
    if (result != ORR_OK && created) {
        orri_cluster_undo(world, to);
    }
    return result;
}

orr_result orr_tag_add(orr_world* world, orr_entity entity, orr_tag tag)
{
    ORR_ASSERT(world != NULL);
    return tag_change(world, "orr_tag_add", entity, tag, true);
}

orr_result orr_tag_remove(orr_world* world, orr_entity entity, orr_tag tag)
{
    ORR_ASSERT(world != NULL);
    return tag_change(world, "orr_tag_remove", entity, tag, false);
}

bool orr_tag_has(const orr_world* world, orr_entity entity, orr_tag tag)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_builtin(world, "orr_tag_has", "orr_tags", entity)) {
        return false;
    }
    const orri_record* record = orri_record_find(world, entity);
    return record != NULL &&
           orri_cluster_has_tag(orri_place_chunk(world, record->place)->cluster, tag);
}
