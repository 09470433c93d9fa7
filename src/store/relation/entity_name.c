// SPDX-License-Identifier: MIT
// Entity names: the built-in pinned component orr_name, and a hash table that finds it by scope and
// text. The components are state; the table is derived from them. Its entries are slots of the pool
// of names, which never move.
//
// Destroying a scope leaves the names in it as they are. Its id (with the generation) never comes
// back, so these names are never found and never in conflict with others.
#include "store/relation/entity_name.h"
#include "store/pool/pool.h"
#include "store/world/access.h"

static const orr_field_desc name_fields[] = {
    {.name = "scope", .type = &orr_desc_orr_entity, .offset = (uint32_t)offsetof(orr_name, scope)},
    {.name = "text", .type = &orr_desc_orr_string, .offset = (uint32_t)offsetof(orr_name, text)},
};
const orr_type_desc orr_desc_orr_name = {.name = "orr_name",
                                         .size = (uint32_t)sizeof(orr_name),
                                         .align = (uint32_t) _Alignof(orr_name),
                                         .fields = name_fields,
                                         .field_count = 2,
                                         .settings = {.storage = ORR_PINNED}};

// Hash table entry of a slot.
typedef struct name_link {
    uint64_t hash;
    uint32_t next; // Next in the same bucket: slot + 1; 0: end.
} name_link;

// An entity that is the scope of names, alive or not.
typedef struct name_scope {
    orr_entity entity;
    uint32_t count; // Names in it.
    uint32_t next;  // Next in the same bucket, or next free one: index + 1; 0: end.
} name_scope;

struct orri_names {
    orri_pool* pool;   // Of orr_name.
    uint32_t* buckets; // Slot + 1 of the first; bucket_count is a power of two, or 0.
    uint32_t bucket_count;
    name_link* links; // By slot.
    uint32_t link_capacity;
    uint32_t count;
    // All scopes that have names, found by their id: an entity that is no scope is above no other,
    // so naming it needs no walk up the scopes. There are at most as many scopes as names.
    uint32_t* scope_buckets; // [bucket_count]: index + 1 of the first.
    name_scope* scopes;      // [bucket_count]
    uint32_t scope_count;    // Used ones and free ones.
    uint32_t scope_free;     // Index + 1 of the first free one; 0: none.
    uint64_t walked;         // Scopes that searches for cycles visited; tests count them.
};

// ---- the hash table -----------------------------------------------------------------------------

static uint64_t name_hash(orr_entity scope, const char* text, size_t size)
{
    return orr_hash(text, size, scope.id);
}

static const orr_name* name_at(const orri_names* names, uint32_t slot)
{
    return (const orr_name*)(const void*)orri_pool_at(names->pool, slot);
}

// Finds a name. Returns its slot + 1; 0: no entity has it.
static uint32_t name_lookup(const orr_world* world, orr_entity scope, const char* text, size_t size)
{
    const orri_names* names = world->names;
    if (names == NULL || names->bucket_count == 0) {
        return 0;
    }
    uint64_t hash = name_hash(scope, text, size);
    uint32_t slot1 = names->buckets[hash & (names->bucket_count - 1)];
    for (; slot1 != 0; slot1 = names->links[slot1 - 1].next) {
        const orr_name* name = name_at(names, slot1 - 1);
        const orri_blob* blob = orri_blob_at(&world->schema, name->text);
        if (names->links[slot1 - 1].hash == hash && name->scope.id == scope.id && blob != NULL &&
            blob->size == size && memcmp(blob->data, text, size) == 0) {
            break;
        }
    }
    return slot1;
}

// The bucket of a scope.
static uint32_t* name_scope_bucket(const orri_names* names, orr_entity scope)
{
    return &names->scope_buckets[orr_hash(&scope.id, sizeof scope.id, 0) &
                                 (names->bucket_count - 1)];
}

// The link to a scope, from its bucket or the scope before it; to 0: it has no names.
static uint32_t* name_scope_link(const orri_names* names, orr_entity scope)
{
    uint32_t* link = name_scope_bucket(names, scope);
    while (*link != 0 && names->scopes[*link - 1].entity.id != scope.id) {
        link = &names->scopes[*link - 1].next;
    }
    return link;
}

// Counts one more name in a scope. There is room: scopes are at most as many as names.
static void name_scope_enter(orri_names* names, orr_entity scope)
{
    if (scope.id == 0) {
        return; // The world is below no entity.
    }
    uint32_t* link = name_scope_link(names, scope);
    if (*link == 0) {
        uint32_t at = names->scope_free != 0 ? names->scope_free - 1 : names->scope_count++;
        ORR_ASSERT(at < names->bucket_count);
        names->scope_free = names->scope_free != 0 ? names->scopes[at].next : 0;
        names->scopes[at] = (name_scope){.entity = scope};
        *link = at + 1;
    }
    names->scopes[*link - 1].count++;
}

// Counts one name less in a scope.
static void name_scope_leave(orri_names* names, orr_entity scope)
{
    if (scope.id == 0) {
        return;
    }
    uint32_t *link = name_scope_link(names, scope), at1 = *link;
    ORR_ASSERT(at1 != 0);
    name_scope* entry = &names->scopes[at1 - 1];
    if (--entry->count == 0) {
        *link = entry->next;
        entry->next = names->scope_free;
        names->scope_free = at1;
    }
}

static void name_bucket_insert(orri_names* names, uint32_t slot)
{
    uint32_t* bucket = &names->buckets[names->links[slot].hash & (names->bucket_count - 1)];
    names->links[slot].next = *bucket;
    *bucket = slot + 1;
}

// Gives all scopes new buckets.
static void name_scopes_rehash(orri_names* names)
{
    for (uint32_t i = 0; i < names->scope_count; i++) {
        if (names->scopes[i].count > 0) { // Otherwise it is free.
            uint32_t* bucket = name_scope_bucket(names, names->scopes[i].entity);
            names->scopes[i].next = *bucket;
            *bucket = i + 1;
        }
    }
}

static void name_tables_free(orr_world* world, uint32_t* buckets, uint32_t* scope_buckets,
                             name_scope* scopes, uint32_t count)
{
    ORRI_FREE(&world->env, ORR_MEMORY_WORLD, uint32_t, buckets, count);
    ORRI_FREE(&world->env, ORR_MEMORY_WORLD, uint32_t, scope_buckets, count);
    ORRI_FREE(&world->env, ORR_MEMORY_WORLD, name_scope, scopes, count);
}

static bool name_grow_buckets(orr_world* world, orri_names* names)
{
    uint32_t old = names->bucket_count, count = old == 0 ? 16 : old * 2;
    uint32_t* buckets = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_WORLD, uint32_t, count);
    uint32_t* scope_buckets = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_WORLD, uint32_t, count);
    name_scope* scopes = ORRI_ALLOC(&world->env, ORR_MEMORY_WORLD, name_scope, count);
    if (buckets == NULL || scope_buckets == NULL || scopes == NULL) {
        name_tables_free(world, buckets, scope_buckets, scopes, count);
        return false;
    }
    uint32_t* old_buckets = names->buckets;
    if (names->scope_count > 0) {
        memcpy(scopes, names->scopes, names->scope_count * sizeof *scopes);
    }
    uint32_t* old_scope_buckets = names->scope_buckets;
    name_scope* old_scopes = names->scopes;
    names->buckets = buckets;
    names->scope_buckets = scope_buckets;
    names->scopes = scopes;
    names->bucket_count = count;
    name_scopes_rehash(names);
    for (uint32_t i = 0; i < old; i++) {
        for (uint32_t slot1 = old_buckets[i], next; slot1 != 0; slot1 = next) {
            next = names->links[slot1 - 1].next;
            name_bucket_insert(names, slot1 - 1);
        }
    }
    name_tables_free(world, old_buckets, old_scope_buckets, old_scopes, old);
    return true;
}

// Makes room in the table for `count` more names, in any slot of the pool. False: reported.
static bool name_reserve(orr_world* world, orri_names* names, uint32_t count)
{
    bool ok = true;
    while (ok && (uint64_t)names->count + count > names->bucket_count) {
        ok = name_grow_buckets(world, names);
    }
    if (ok && ORRI_RESERVE(&world->env, ORR_MEMORY_WORLD, &names->links, &names->link_capacity,
                           names->pool->slot_room)) {
        return true;
    }
    (void)orri_refuse_memory(&world->env, "making room for a name");
    return false;
}

void orri_name_enter(orr_world* world, uint32_t slot)
{
    orri_names* names = world->names;
    const orr_name* name = name_at(names, slot);
    const orri_blob* blob = orri_blob_at(&world->schema, name->text);
    names->links[slot].hash = name_hash(name->scope, blob->data, blob->size);
    name_bucket_insert(names, slot);
    name_scope_enter(names, name->scope);
    names->count++;
}

void orri_name_leave(orr_world* world, uint32_t slot)
{
    orri_names* names = world->names;
    uint32_t* link = &names->buckets[names->links[slot].hash & (names->bucket_count - 1)];
    while (*link != slot + 1) {
        link = &names->links[*link - 1].next;
    }
    *link = names->links[slot].next;
    name_scope_leave(names, name_at(names, slot)->scope);
    names->count--;
}

bool orri_names_room(orr_world* world, uint32_t count)
{
    return world->names == NULL || name_reserve(world, world->names, count);
}

void orri_names_rebuild(orr_world* world)
{
    orri_names* names = world->names;
    if (names == NULL || names->bucket_count == 0) {
        return;
    }
    memset(names->buckets, 0, names->bucket_count * sizeof *names->buckets);
    memset(names->scope_buckets, 0, names->bucket_count * sizeof *names->scope_buckets);
    names->count = names->scope_count = names->scope_free = 0;
    for (uint32_t slot = 0; slot < names->pool->slot_count; slot++) {
        if (orri_pool_owner(names->pool, slot) != ORRI_INDEX_NONE) {
            orri_name_enter(world, slot);
        }
    }
}

void orri_names_term(orr_world* world)
{
    orri_names* names = world->names;
    if (names != NULL) {
        name_tables_free(world, names->buckets, names->scope_buckets, names->scopes,
                         names->bucket_count);
        ORRI_RELEASE(&world->env, ORR_MEMORY_WORLD, names->links, names->link_capacity);
        ORRI_FREE(&world->env, ORR_MEMORY_WORLD, orri_names, names, 1);
        world->names = NULL;
    }
}

// Invariant S15b: every scope has an entry with the number of its names.
static bool name_scopes_valid(const orri_names* names)
{
    uint64_t scoped = 0, counted = 0;
    bool found = true;
    for (uint32_t slot = 0; slot < names->pool->slot_count; slot++) {
        orr_entity scope = {0};
        if (orri_pool_owner(names->pool, slot) != ORRI_INDEX_NONE) {
            scope = name_at(names, slot)->scope;
        }
        if (scope.id != 0) {
            scoped++;
            found = found && *name_scope_link(names, scope) != 0;
        }
    }
    for (uint32_t i = 0; i < names->scope_count; i++) {
        counted += names->scopes[i].count;
    }
    return found && scoped == counted;
}

orr_result orri_names_validate(orr_world* world)
{
    const orri_names* names = world->names;
    uint32_t count = 0;
    for (uint32_t slot = 0; names != NULL && slot < names->pool->slot_count; slot++) {
        if (orri_pool_owner(names->pool, slot) == ORRI_INDEX_NONE) {
            continue;
        }
        const orr_name* name = name_at(names, slot);
        const orri_blob* blob = orri_blob_at(&world->schema, name->text);
        count++;
        if (blob == NULL || name_lookup(world, name->scope, blob->data, blob->size) != slot + 1) {
            return orri_refuse(&world->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                               "orr_world_validate: invariant S15 (a name is found by its scope "
                               "and text) does not hold: slot %u",
                               slot);
        }
    }
    if (names != NULL && !name_scopes_valid(names)) {
        return orri_refuse(&world->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                           "orr_world_validate: invariant S15b (scopes count their names) does not "
                           "hold");
    }
    return names == NULL || count == names->count
               ? ORR_OK
               : orri_refuse(&world->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                             "orr_world_validate: invariant S15 (count of names) does not hold: "
                             "found %u, counted %u",
                             count, names->count);
}

// ---- reading ------------------------------------------------------------------------------------

static const orr_name* name_find(const orr_world* world, uint32_t index)
{
    return world->names != NULL
               ? (const orr_name*)(const void*)orri_pool_get(world->names->pool, index)
               : NULL;
}

const char* orri_name_of(const orr_world* world, uint32_t index)
{
    const orr_name* name = name_find(world, index);
    return name != NULL ? orr_string_text(world, name->text) : NULL;
}

const char* orr_name_get(const orr_world* world, orr_entity entity)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_builtin(world, "orr_name_get", "orr_name", entity)) {
        return "";
    }
    if (orri_record_find(world, entity) == NULL) {
        (void)orri_refuse_entity(world, "orr_name_get", entity, (orr_type){0});
        return "";
    }
    const char* name = orri_name_of(world, orri_id_index(entity));
    return name != NULL ? name : "";
}

static orr_entity name_owner(const orr_world* world, uint32_t slot)
{
    uint32_t index = orri_pool_owner(world->names->pool, slot);
    return orri_id_make(index, orri_record_at(world, index)->generation);
}

orr_entity orr_find(const orr_world* world, orr_entity scope, const char* path)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_builtin(world, "orr_find", "orr_name", scope)) {
        return (orr_entity){0};
    }
    orr_entity none = {0}, at = scope;
    if (path == NULL) {
        (void)orri_refuse_argument(world, "orr_find", "the path is NULL");
        return none;
    }
    if (scope.id != 0 && orri_record_find(world, scope) == NULL) {
        (void)orri_refuse_entity(world, "orr_find", scope, (orr_type){0});
        return none;
    }
    for (const char* segment = path;; segment++) {
        size_t size = strcspn(segment, "/");
        uint32_t slot1 = name_lookup(world, at, segment, size);
        if (slot1 == 0) {
            return none;
        }
        at = name_owner(world, slot1 - 1);
        segment += size;
        if (*segment == '\0') {
            return at;
        }
    }
}

// ---- paths --------------------------------------------------------------------------------------

// Writes a segment that ends at `end`, as far as it fits into the buffer. Returns where it starts.
static size_t name_path_put(char* out, size_t out_size, size_t end, const char* segment)
{
    size_t size = strlen(segment), begin = end - size;
    for (size_t i = begin; i < end && i + 1 < out_size; i++) {
        out[i] = segment[i - begin];
    }
    return begin;
}

// Walks from an entity up its scopes, to the world or to a scope that is dead or has no name, which
// is printed as its id. Returns the length. With `out`, also writes backwards from `length`, so
// that no depth needs memory.
static size_t name_path_walk(const orr_world* world, const orr_name* name, char* out,
                             size_t out_size, size_t length)
{
    size_t counted = 0;
    while (name != NULL) {
        const char* text = orr_string_text(world, name->text);
        orr_entity scope = name->scope;
        orri_id_text id = orri_id_format(scope);
        name = orri_record_find(world, scope) != NULL ? name_find(world, orri_id_index(scope))
                                                      : NULL;
        const char* parts[] = {text, scope.id != 0 ? "/" : "",
                               scope.id != 0 && name == NULL ? id.text : ""};
        for (uint32_t i = 0; i < ORRI_COUNT(parts); i++) {
            counted += strlen(parts[i]);
            if (out != NULL) {
                length = name_path_put(out, out_size, length, parts[i]);
            }
        }
    }
    return counted;
}

size_t orr_path_print(const orr_world* world, orr_entity entity, char* out, size_t out_size)
{
    ORR_ASSERT(world != NULL);
    size_t room = out != NULL ? out_size : 0, length = 0;
    if (!orri_access_builtin(world, "orr_path_print", "orr_name", entity)) {
        length = 0;
    } else if (orri_record_find(world, entity) == NULL) {
        (void)orri_refuse_entity(world, "orr_path_print", entity, (orr_type){0});
    } else {
        const orr_name* name = name_find(world, orri_id_index(entity));
        length = name_path_walk(world, name, NULL, 0, 0);
        if (room > 0) {
            (void)name_path_walk(world, name, out, room, length);
        }
    }
    if (room > 0) {
        out[length < room ? length : room - 1] = '\0';
    }
    return length;
}

// ---- naming -------------------------------------------------------------------------------------

orr_result orri_refuse_name_write(const orr_world* world, const char* call, orr_entity entity)
{
    orri_id_text name = orri_entity_format(world, entity);
    return orri_refuse(
        orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
        "%s: orr_name of entity %s can be written by orr_name_set() only, which keeps "
        "the look-up of names correct; call orr_name_set()",
        call, name.text);
}

bool orri_name_allowed(const char* name)
{
    size_t size = 0;
    while (size <= ORR_ENTITY_NAME_MAX && (unsigned char)name[size] >= 0x20 && name[size] != 0x7F &&
           name[size] != '/') {
        size++;
    }
    return size > 0 && size <= ORR_ENTITY_NAME_MAX && name[size] == '\0';
}

static orr_result name_check_text(orr_world* world, const char* call, const char* name)
{
    if (orri_name_allowed(name)) {
        return ORR_OK;
    }
    return orri_refuse(
        &world->env, ORR_ERR_NAME, ORR_LOG_ID_ENTITY_REFUSED,
        "%s: '%.63s' is not a valid name of an entity; use 1 to %d bytes without '/' "
        "and without control characters",
        call, name, ORR_ENTITY_NAME_MAX);
}

// True when an entity is the scope of a name.
static bool name_is_scope(const orri_names* names, orr_entity entity)
{
    return names != NULL && names->bucket_count > 0 && *name_scope_link(names, entity) != 0;
}

// True when a scope is the entity itself or below it: the path would be a cycle. An entity without
// names in it is above nothing; one that stays in its scope is not moved below itself.
static bool name_scope_below(const orr_world* world, orr_entity entity, orr_entity scope)
{
    if (scope.id == 0 || scope.id == entity.id || !name_is_scope(world->names, entity)) {
        return scope.id != 0 && scope.id == entity.id;
    }
    const orr_name* own = name_find(world, orri_id_index(entity));
    if (own != NULL && own->scope.id == scope.id) {
        return false;
    }
    for (orr_entity at = scope; at.id != 0 && orri_record_find(world, at) != NULL;) {
        world->names->walked++;
        if (at.id == entity.id) {
            return true;
        }
        const orr_name* name = name_find(world, orri_id_index(at));
        at = name != NULL ? name->scope : (orr_entity){0};
    }
    return false;
}

uint64_t orri_names_walked(const orr_world* world)
{
    return world->names != NULL ? world->names->walked : 0;
}

static orr_result name_check_scope(orr_world* world, const char* call, orr_entity entity,
                                   orr_entity scope)
{
    if (scope.id != 0 && orri_record_find(world, scope) == NULL) {
        return orri_refuse_entity(world, call, scope, (orr_type){0});
    }
    if (name_scope_below(world, entity, scope)) {
        orri_id_text name = orri_entity_format(world, entity);
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_ENTITY_REFUSED,
                           "%s: entity %s cannot be named in a scope that is the entity itself "
                           "or below it; choose another scope",
                           call, name.text);
    }
    return ORR_OK;
}

static orr_result name_refuse_taken(orr_world* world, const char* call, const char* text,
                                    orr_entity owner)
{
    orri_id_text name = orri_entity_format(world, owner);
    return orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_ENTITY_REFUSED,
                       "%s: the name '%.63s' is taken in this scope by entity %s; choose another, "
                       "or rename that one first",
                       call, text, name.text);
}

// Creates the hash table and the pool of names, if missing.
static orr_result name_obtain(orr_world* world)
{
    if (world->names != NULL) {
        return ORR_OK;
    }
    const orri_type* type =
        orri_type_at(&world->schema, orri_type_static(&world->schema, &orr_desc_orr_name));
    if (type == NULL) {
        return orri_env_result(&world->env);
    }
    ORR_ASSERT(orri_type_pinned(type)); // Another declaration of orr_name conflicts with this one.
    orri_pool* pool = orri_pool_obtain(world, type);
    orri_names* names = pool != NULL ? ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_WORLD, orri_names, 1)
                                     : NULL;
    if (names == NULL) {
        return orri_refuse_memory(&world->env, "making the look-up of names");
    }
    names->pool = pool;
    world->names = names;
    return ORR_OK;
}

// Does everything that may be refused before the entity at `index` gets a name, and makes the text
// (`*out`).
static orr_result name_prepare(orr_world* world, uint32_t index, const char* text, orr_string* out)
{
    orr_result result = name_obtain(world);
    if (result != ORR_OK) {
        return result;
    }
    orri_pool* pool = world->names->pool;
    bool fresh = orri_pool_slot1(pool, index) == 0;
    if ((fresh &&
         (!orri_pool_reserve(world, pool, 1) || !orri_pool_reserve_page(world, pool, index))) ||
        !name_reserve(world, world->names, 1) ||
        !orri_blob_make(&world->schema, text, (uint32_t)strlen(text), 1, out)) {
        return orri_env_result(&world->env);
    }
    return ORR_OK;
}

// Gives an entity the prepared name. Renaming writes in place: the slot does not change.
static void name_commit(orr_world* world, uint32_t index, orr_name value)
{
    orri_pool* pool = world->names->pool;
    uint32_t slot1 = orri_pool_slot1(pool, index);
    if (slot1 == 0) {
        orri_pool_cursor cursor = orri_pool_cursor_begin(pool);
        bool made = orri_pool_make(pool, orri_pool_cursor_next(pool, &cursor), &value);
        ORR_ASSERT(made); // orr_name has no hooks that could refuse.
        (void)made;
        orri_pool_enter(world, pool, index);
        return;
    }
    orr_name* name = (orr_name*)(void*)orri_pool_write(world, pool, index);
    orri_name_leave(world, slot1 - 1);
    orri_blob_retain(&world->schema, value.text);
    orri_blob_release(&world->schema, name->text);
    *name = value;
    orri_name_enter(world, slot1 - 1);
}

orr_result orr_name_set(orr_world* world, orr_entity entity, orr_entity scope, const char* name)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_name_set";
    uint32_t index = orri_id_index(entity);
    orr_result result = orri_check_open_of(world, call, (orr_type){0}, entity);
    if (result != ORR_OK) {
        return result;
    }
    if (orri_record_find(world, entity) == NULL) {
        return orri_refuse_entity(world, call, entity, (orr_type){0});
    }
    if (name == NULL) {
        orri_name_drop(world, index);
        return ORR_OK;
    }
    result = name_check_text(world, call, name);
    if (result == ORR_OK) {
        result = name_check_scope(world, call, entity, scope);
    }
    uint32_t slot1 = result == ORR_OK ? name_lookup(world, scope, name, strlen(name)) : 0;
    if (slot1 != 0) {
        orr_entity owner = name_owner(world, slot1 - 1);
        return owner.id == entity.id ? ORR_OK : name_refuse_taken(world, call, name, owner);
    }
    orr_name value = {.scope = scope};
    if (result == ORR_OK) {
        result = name_prepare(world, index, name, &value.text);
    }
    if (result == ORR_OK) {
        name_commit(world, index, value);
    }
    return result;
}

orr_entity orr_create_named(orr_world* world, const char* name)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_create_named";
    orr_entity none = {0};
    if (orri_check_open(world, call) != ORR_OK) {
        return none;
    }
    if (name == NULL) {
        (void)orri_refuse_argument(world, call, "the name is NULL; use orr_create()");
        return none;
    }
    if (name_check_text(world, call, name) != ORR_OK) {
        return none;
    }
    uint32_t slot1 = name_lookup(world, none, name, strlen(name));
    if (slot1 != 0) {
        (void)name_refuse_taken(world, call, name, name_owner(world, slot1 - 1));
        return none;
    }
    // Prepares the name for the index that comes next, so that nothing can be refused once the
    // entity exists.
    orr_name value = {.scope = none};
    uint32_t next = world->index.free_first;
    next = next != ORRI_INDEX_NONE ? next : world->hot.count;
    orr_entity entity = none;
    if (name_prepare(world, next, name, &value.text) == ORR_OK) {
        entity = orr_create(world);
    }
    if (entity.id != 0) {
        name_commit(world, orri_id_index(entity), value);
    }
    return entity;
}

// ---- change sets --------------------------------------------------------------------------------

orr_result orri_names_reserve(orr_world* world, uint32_t count)
{
    orr_result result = name_obtain(world);
    return result != ORR_OK || (orri_pool_reserve(world, world->names->pool, count) &&
                                name_reserve(world, world->names, count))
               ? result
               : orri_env_result(&world->env);
}

bool orri_name_stage(orr_world* world, uint32_t index, const char* text, orr_string* out)
{
    return orri_pool_reserve_page(world, world->names->pool, index) &&
           orri_blob_make(&world->schema, text, (uint32_t)strlen(text), 1, out);
}

orri_name_result orri_name_put(orr_world* world, orr_entity entity, orr_entity scope,
                               orr_string staged)
{
    uint32_t index = orri_id_index(entity);
    const orri_blob* blob = orri_blob_at(&world->schema, staged);
    if (scope.id != 0 && orri_record_find(world, scope) == NULL) {
        return ORRI_NAME_SCOPE_DEAD;
    }
    if (name_scope_below(world, entity, scope)) {
        return ORRI_NAME_SCOPE_BELOW;
    }
    uint32_t slot1 = name_lookup(world, scope, blob->data, blob->size);
    if (slot1 != 0) {
        return name_owner(world, slot1 - 1).id == entity.id ? ORRI_NAME_OK : ORRI_NAME_TAKEN;
    }
    name_commit(world, index, (orr_name){.scope = scope, .text = staged});
    return ORRI_NAME_OK;
}

void orri_name_drop(orr_world* world, uint32_t index)
{
    if (world->names != NULL) {
        orri_pool_remove(world, world->names->pool, index);
    }
}
