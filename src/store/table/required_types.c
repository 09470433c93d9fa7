// SPDX-License-Identifier: MIT
// Types that require other types. The names in a type's `needs` are resolved, transitively, when
// the type is first stored; from then on every cluster that has the type has all required types.
#include "store/table/required_types.h"
#include "base/scan.h"

// Types that a type requires, by type index. A type that requires nothing may have no entry.
struct orri_required_types {
    orr_type* types; // Ascending, without the type itself.
    uint32_t count;
    bool resolved;
    bool needed; // A resolved type requires this one.
};

// The entry of a type; NULL: none.
static orri_required_types* required_entry(const orr_world* world, uint32_t type_index)
{
    return type_index < world->required.capacity ? &world->required.list[type_index] : NULL;
}

// ---- resolving ----------------------------------------------------------------------------------

// The list of a type that is being resolved; types[0] is the type itself.
typedef struct required_list {
    orr_world* world;
    const char* call;
    orr_type types[ORR_CLUSTER_TYPES_MAX];
    uint32_t count;
} required_list;

// Reports a name that is not registered, with the most similar registered name.
ORRI_COLD static orr_result required_refuse_unknown(const required_list* list,
                                                    const orri_type* type, const char* name,
                                                    size_t size)
{
    const orri_schema* schema = &list->world->schema;
    orri_near near;
    orri_near_begin(&near, name, size);
    if (orri_type_starved(schema, name, size) != NULL) {
        return orri_refuse(&list->world->env, ORR_ERR_MEMORY, ORR_LOG_ID_MEMORY_REFUSED,
                           "%s: out of memory: %s needs '%s', whose registration was refused; "
                           "register it again when there is memory",
                           list->call, type->info.name, near.name);
    }
    for (uint32_t i = 0; i < schema->type_count; i++) {
        orri_near_offer(&near, schema->types[i]->info.name);
    }
    char words[ORRI_ERROR_SIZE / 2] = "";
    orri_near_append(&near, &(orri_text){words, sizeof words, 0});
    return orri_refuse(&list->world->env, ORR_ERR_TYPE, ORR_LOG_ID_CALL_REFUSED,
                       "%s: %s needs '%s', which is not registered%s; register it before %s is "
                       "first used",
                       list->call, type->info.name, near.name, words, type->info.name);
}

// Appends the type of a name, if it is not in the list yet.
static orr_result required_add(required_list* list, const orri_type* type, const char* name,
                               size_t size)
{
    char copy[ORR_NAME_MAX + 1]; // Registration has refused longer names.
    orri_scan_copy(copy, name, size);
    orr_type found = orri_type_find(&list->world->schema, copy);
    const orr_type_desc* own = found.id == 0 ? orri_builtin_desc(copy) : NULL;
    if (own != NULL) { // Types of the library are registered when they are first named.
        orr_result result = orri_type_register(&list->world->schema, own, &found);
        if (result != ORR_OK) {
            return result;
        }
    }
    if (found.id == 0) {
        return required_refuse_unknown(list, type, name, size);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->types[i].id == found.id) {
            return ORR_OK;
        }
    }
    const orri_type* needed = orri_type_at(&list->world->schema, found);
    if (orri_type_pseudo(needed)) {
        return orri_refuse(&list->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "%s: %s needs %s, which every entity has and none stores; remove it "
                           "from .needs",
                           list->call, type->info.name, copy);
    }
    if (needed->info.storage == ORR_PINNED) {
        return orri_refuse(&list->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "%s: %s needs %s, which is pinned; remove it from .needs (only types in "
                           "chunks can be needed)",
                           list->call, type->info.name, copy);
    }
    if (list->count == ORR_CLUSTER_TYPES_MAX) {
        return orri_refuse(
            &list->world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_CALL_REFUSED,
            "%s: %s and the types it needs are more than %u types; shorten its .needs", list->call,
            orri_type_label(list->world, list->types[0]), ORR_CLUSTER_TYPES_MAX);
    }
    list->types[list->count++] = found;
    return ORR_OK;
}

// Appends the types that one type names in its `needs`.
static orr_result required_add_all(required_list* list, orr_type type)
{
    const orri_type* found = orri_type_at(&list->world->schema, type);
    const char *at = found->info.needs, *name;
    size_t size;
    orr_result result = ORR_OK;
    while (result == ORR_OK && orri_scan_item(&at, &name, &size)) {
        result = required_add(list, found, name, size);
    }
    return result;
}

uint32_t orri_types_insert(orr_type* types, uint32_t count, orr_type type)
{
    uint32_t at = count;
    while (at > 0 && types[at - 1].id > type.id) {
        at--;
    }
    if (at > 0 && types[at - 1].id == type.id) {
        return count;
    }
    memmove(types + at + 1, types + at, (count - at) * sizeof *types);
    types[at] = type;
    return count + 1;
}

// Makes room for an entry of every registered type.
static bool required_reserve(orr_world* world)
{
    uint32_t old = world->required.capacity;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_CLUSTER, &world->required.list,
                      &world->required.capacity, world->schema.type_count)) {
        return false;
    }
    for (uint32_t i = old; i < world->required.capacity; i++) {
        world->required.list[i] = (orri_required_types){0};
    }
    return true;
}

// Stores the resolved list of a type, and marks the types in it as required.
static orr_result required_keep(const required_list* list)
{
    orr_world* world = list->world;
    uint32_t count = list->count - 1;
    orr_type* types = ORRI_ALLOC(&world->env, ORR_MEMORY_CLUSTER, orr_type, count);
    if (types == NULL || !required_reserve(world)) {
        ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, orr_type, types, count);
        return orri_refuse_memory(&world->env, "resolving what a type needs");
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = orri_type_index(world, list->types[i + 1]);
        (void)orri_types_insert(types, i, list->types[i + 1]);
        world->required.list[index].needed = true;
        if (index < world->tables.capacity && world->tables.list[index] != &orri_table_none.hot) {
            ((orri_table*)(void*)world->tables.list[index])->needed = true;
        }
    }
    orri_required_types* entry = &world->required.list[orri_type_index(world, list->types[0])];
    *entry = (orri_required_types){types, count, true, entry->needed};
    return ORR_OK;
}

orr_result orri_required_types_resolve(orr_world* world, const char* call, orr_type type)
{
    const orri_required_types* entry = required_entry(world, orri_type_index(world, type));
    if (orri_type_at(&world->schema, type)->info.needs[0] == '\0' ||
        (entry != NULL && entry->resolved)) {
        return ORR_OK;
    }
    required_list list;
    list.world = world;
    list.call = call;
    list.types[0] = type;
    list.count = 1;
    for (uint32_t i = 0; i < list.count; i++) {
        orr_result result = required_add_all(&list, list.types[i]);
        if (result != ORR_OK) {
            return result;
        }
    }
    return required_keep(&list);
}

const orr_type* orri_required_types_of(const orr_world* world, orr_type type, uint32_t* count)
{
    const orri_required_types* entry = required_entry(world, orri_type_index(world, type));
    *count = entry != NULL ? entry->count : 0;
    return *count > 0 ? entry->types : NULL;
}

bool orri_required_types_needed(const orr_world* world, uint32_t type_index)
{
    const orri_required_types* entry = required_entry(world, type_index);
    return entry != NULL && entry->needed;
}

void orri_required_types_term(orr_world* world)
{
    for (uint32_t i = 0; i < world->required.capacity; i++) {
        ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, orr_type, world->required.list[i].types,
                  world->required.list[i].count);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_CLUSTER, world->required.list, world->required.capacity);
    world->required.list = NULL;
    world->required.capacity = 0;
}

// ---- sets of types ------------------------------------------------------------------------------

uint32_t orri_required_types_close(const orr_world* world, orr_type type, orr_type* types,
                                   uint32_t count)
{
    uint32_t needed;
    const orr_type* needs = orri_required_types_of(world, type, &needed);
    for (uint32_t i = 0; i < needed; i++) {
        count = orri_types_insert(types, count, needs[i]);
    }
    return count;
}

// True when a list has a type.
static bool required_has(const orr_type* types, uint32_t count, orr_type type)
{
    for (uint32_t i = 0; i < count; i++) {
        if (types[i].id == type.id) {
            return true;
        }
    }
    return false;
}

// True when a resolved type requires another.
static bool required_type(const orr_world* world, orr_type type, orr_type other)
{
    uint32_t count;
    const orr_type* needs = orri_required_types_of(world, type, &count);
    return required_has(needs, count, other);
}

orr_type orri_required_types_missing(const orr_world* world, orr_type type, const orr_type* types,
                                     uint32_t count)
{
    uint32_t needed;
    const orr_type* needs = orri_required_types_of(world, type, &needed);
    for (uint32_t i = 0; i < needed; i++) {
        if (!required_has(types, count, needs[i])) {
            return needs[i];
        }
    }
    return (orr_type){0};
}

orr_result orri_required_types_check_set(orr_world* world, const char* call, const orr_type* types,
                                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        orr_result result = orri_required_types_resolve(world, call, types[i]);
        if (result != ORR_OK) {
            return result;
        }
        orr_type missing = orri_required_types_missing(world, types[i], types, count);
        if (missing.id != 0) {
            return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CLUSTER_REFUSED,
                               "%s: %s needs %s, which is not among the types; add it", call,
                               orri_type_label(world, types[i]), orri_type_label(world, missing));
        }
    }
    return ORR_OK;
}

// ---- removing -----------------------------------------------------------------------------------

// The first type of a cluster that requires `type`; null: none.
static orr_type required_dependent(const orr_world* world, const orri_cluster* cluster,
                                   orr_type type)
{
    for (uint32_t i = 0; i < cluster->type_count; i++) {
        if (required_type(world, cluster->types[i], type)) {
            return cluster->types[i];
        }
    }
    return (orr_type){0};
}

orr_result orri_required_types_check_remove(const orr_world* world, const char* call,
                                            const orri_cluster* cluster, orr_entity entity,
                                            orr_type type)
{
    if (!orri_required_types_needed(world, orri_type_index(world, type))) {
        return ORR_OK;
    }
    orr_type dependent = required_dependent(world, cluster, type);
    return dependent.id != 0 ? orri_required_types_refuse(world, call, entity, type, dependent)
                             : ORR_OK;
}

orr_result orri_required_types_refuse(const orr_world* world, const char* call, orr_entity entity,
                                      orr_type type, orr_type dependent)
{
    const char *name = orri_type_label(world, type), *by = orri_type_label(world, dependent);
    orri_id_text id = orri_entity_format(world, entity);
    const char *of = entity.id != 0 ? " of entity " : "",
               *entity_text = entity.id != 0 ? id.text : "";
    if (required_type(world, type, dependent)) {
        return orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                           "%s: %s%s%s is needed by %s, and needs it too; remove both at once, "
                           "with orr_bundle_remove() or orr_entity_move()",
                           call, name, of, entity_text, by);
    }
    return orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                       "%s: %s%s%s is needed by %s; remove %s first", call, name, of, entity_text,
                       by, by);
}
