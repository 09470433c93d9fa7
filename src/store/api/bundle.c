// SPDX-License-Identifier: MIT
// Bundles are registered once, and then created, added and removed as a whole. Each of these moves
// a row once.
//
// Everything that can be refused is made before the move: values of new columns, and the items that
// a move does not bring (bundle_rest.c).
#include "store/api/bundle.h"
#include "store/relation/relation.h"
#include "store/table/required_types.h"
#include "store/world/access.h"

// ---- the register -------------------------------------------------------------------------------

// The slot of a name in the hash table, or the free one it would get. Bundles are never removed.
static uint32_t bundle_slot(const orri_bundles* bundles, const char* name)
{
    uint32_t mask = bundles->table_size - 1;
    uint32_t slot = (uint32_t)orr_hash(name, strlen(name), 0) & mask;
    while (bundles->table[slot] != 0 &&
           strcmp(bundles->list[bundles->table[slot] - 1]->name, name) != 0) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

const orri_bundle* orri_bundle_at(const orr_world* world, orr_bundle bundle)
{
    return bundle.id - 1 < world->bundles.count ? world->bundles.list[bundle.id - 1] : NULL;
}

const orri_bundle* orri_bundle_named(const orr_world* world, const char* name)
{
    return orri_bundle_at(world, orr_bundle_find(world, name));
}

orr_bundle orr_bundle_find(const orr_world* world, const char* name)
{
    ORR_ASSERT(world != NULL);
    const orri_bundles* bundles = &world->bundles;
    if (name == NULL || bundles->table_size == 0) {
        return (orr_bundle){0};
    }
    return (orr_bundle){bundles->table[bundle_slot(bundles, name)]};
}

// Keeps the table at most half full with one more bundle. False when refused (not reported).
static bool bundle_grow_table(orr_world* world)
{
    orri_bundles* bundles = &world->bundles;
    uint32_t old = bundles->table_size, size = old == 0 ? 16 : old * 2;
    if (bundles->count * 2 < old) {
        return true;
    }
    uint32_t* table = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SCHEMA, uint32_t, size);
    if (table == NULL) {
        return false;
    }
    ORRI_FREE(&world->env, ORR_MEMORY_SCHEMA, uint32_t, bundles->table, old);
    bundles->table = table;
    bundles->table_size = size;
    for (uint32_t i = 0; i < bundles->count; i++) {
        table[bundle_slot(bundles, bundles->list[i]->name)] = i + 1;
    }
    return true;
}

static void bundle_free(orr_world* world, orri_bundle* bundle)
{
    orri_bundle_clear(world, bundle);
    if (bundle->name != NULL) {
        orri_free(&world->env, ORR_MEMORY_SCHEMA, bundle->name, strlen(bundle->name) + 1, 1);
    }
    ORRI_FREE(&world->env, ORR_MEMORY_SCHEMA, orri_bundle, bundle, 1);
}

void orri_bundles_term(orr_world* world)
{
    while (world->bundles.count > 0) {
        bundle_free(world, world->bundles.list[--world->bundles.count]);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_SCHEMA, world->bundles.list, world->bundles.capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_SCHEMA, uint32_t, world->bundles.table,
              world->bundles.table_size);
}

// True when two bundles have the same items and tags in the same order.
static bool bundle_same(const orri_bundle* a, const orri_bundle* b)
{
    bool same =
        a->item_count == b->item_count && a->tag_count == b->tag_count &&
        (a->tag_count == 0 || memcmp(a->tags, b->tags, a->tag_count * sizeof *a->tags) == 0);
    for (uint32_t i = 0; same && i < a->item_count; i++) {
        const orri_bundle_item *x = &a->items[i], *y = &b->items[i];
        same = x->type == y->type && (x->value == NULL) == (y->value == NULL) &&
               (x->value == NULL || orr_value_compare(&x->type->info, x->value, y->value) == 0);
    }
    return same;
}

// Enters a parsed bundle under a name.
static orr_result bundle_enter(orr_world* world, const char* name, orri_bundle* bundle,
                               orr_bundle* out)
{
    size_t size = strlen(name) + 1;
    bundle->name = orri_alloc(&world->env, ORR_MEMORY_SCHEMA, size, 1);
    if (bundle->name != NULL) {
        memcpy(bundle->name, name, size);
    }
    if (bundle->name == NULL || !bundle_grow_table(world) ||
        !ORRI_RESERVE(&world->env, ORR_MEMORY_SCHEMA, &world->bundles.list,
                      &world->bundles.capacity, world->bundles.count + 1)) {
        return orri_refuse_memory(&world->env, "registering a bundle");
    }
    world->bundles.table[bundle_slot(&world->bundles, name)] = world->bundles.count + 1;
    world->bundles.list[world->bundles.count++] = bundle;
    out->id = world->bundles.count;
    return ORR_OK;
}

static orr_result bundle_check_name(const orr_world* world, const char* call, const char* name)
{
    if (!orri_name_valid(name)) {
        return orri_refuse(orri_env_of(world), ORR_ERR_NAME, ORR_LOG_ID_CALL_REFUSED,
                           "%s: the name '%.*s' is not allowed; use 1 to %d letters, digits, '_', "
                           "'.' or ':', and no digit first",
                           call, ORR_NAME_MAX + 1, name, ORR_NAME_MAX);
    }
    if (orr_type_find(world, name).id != 0) {
        return orri_refuse(orri_env_of(world), ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                           "%s: '%s' is a type; a bundle needs a name of its own", call, name);
    }
    return ORR_OK;
}

orr_result orr_bundle_register(orr_world* world, const char* name, const char* items,
                               orr_bundle* out)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_bundle_register";
    if (ORR_UNLIKELY(orri_access_checked(world))) {
        return orri_refuse_running(world, call);
    }
    if (name == NULL || items == NULL || out == NULL) {
        return orri_refuse_argument(world, call, "name, items or out is NULL");
    }
    orr_result result = bundle_check_name(world, call, name);
    if (result != ORR_OK) {
        return result;
    }
    orri_bundle* bundle = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SCHEMA, orri_bundle, 1);
    if (bundle == NULL) {
        return orri_refuse_memory(&world->env, "registering a bundle");
    }
    result = orri_bundle_parse(world, call, items, bundle);
    orr_bundle known = orr_bundle_find(world, name), made = known;
    if (result == ORR_OK && known.id == 0) {
        result = bundle_enter(world, name, bundle, &made);
    } else if (result == ORR_OK && !bundle_same(bundle, orri_bundle_at(world, known))) {
        result = orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                             "%s: bundle '%s' is registered with other items; use another name, "
                             "or the same items everywhere",
                             call, name);
    }
    if (result != ORR_OK || known.id != 0) {
        bundle_free(world, bundle);
    }
    if (result == ORR_OK) {
        *out = made;
    }
    return result;
}

// ---- sets of types and tags ---------------------------------------------------------------------

// Types and tags of a cluster plus those of a bundle, ascending.
typedef struct bundle_set {
    orr_type types[2 * ORR_CLUSTER_TYPES_MAX + 1];
    orr_tag tags[2 * ORR_CLUSTER_TAGS_MAX];
    uint32_t type_count, tag_count;
} bundle_set;

static void bundle_set_of_cluster(bundle_set* set, const orri_cluster* cluster)
{
    set->type_count = cluster->type_count;
    set->tag_count = cluster->tag_count;
    memcpy(set->types, cluster->types, cluster->type_count * sizeof *set->types);
    memcpy(set->tags, cluster->tags, cluster->tag_count * sizeof *set->tags);
}

static void bundle_set_add_tag(bundle_set* set, orr_tag tag)
{
    uint32_t at = set->tag_count;
    while (at > 0 && set->tags[at - 1] > tag) {
        at--;
    }
    if (at == 0 || set->tags[at - 1] != tag) {
        memmove(set->tags + at + 1, set->tags + at, (set->tag_count - at) * sizeof *set->tags);
        set->tags[at] = tag;
        set->tag_count++;
    }
}

static bool bundle_pinned(const orri_bundle_item* item)
{
    return item->type->info.storage == ORR_PINNED;
}

// Adds all types of a bundle that are stored in chunks, the types they require, and its tags.
static orr_result bundle_set_add(orr_world* world, const char* call, const orri_bundle* bundle,
                                 bundle_set* set)
{
    for (uint32_t i = 0; i < bundle->item_count; i++) {
        const orri_bundle_item* item = &bundle->items[i];
        orr_type type = {item->type->id};
        orr_result result = bundle_pinned(item) ? ORR_OK : orri_check_storable(world, call, type);
        if (result == ORR_OK) {
            result = orri_required_types_resolve(world, call, type);
        }
        if (result == ORR_OK && set->type_count > ORR_CLUSTER_TYPES_MAX) {
            result = orri_refuse(
                &world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_CLUSTER_REFUSED,
                "%s: with bundle '%s' there would be more than %u types; remove some first", call,
                bundle->name, ORR_CLUSTER_TYPES_MAX);
        }
        if (result != ORR_OK) {
            return result;
        }
        if (!bundle_pinned(item)) {
            set->type_count = orri_types_insert(set->types, set->type_count, type);
        }
        set->type_count = orri_required_types_close(world, type, set->types, set->type_count);
    }
    for (uint32_t i = 0; i < bundle->tag_count; i++) {
        bundle_set_add_tag(set, bundle->tags[i]);
    }
    return ORR_OK;
}

static bool bundle_has_type(const orri_bundle* bundle, const orri_type* type)
{
    for (uint32_t i = 0; i < bundle->item_count; i++) {
        if (bundle->items[i].type == type) {
            return true;
        }
    }
    return false;
}

// Removes all types and tags of a bundle.
static void bundle_set_remove(bundle_set* set, const orri_bundle* bundle, const orri_schema* schema)
{
    uint32_t types = 0, tags = 0;
    for (uint32_t i = 0; i < set->type_count; i++) {
        if (!bundle_has_type(bundle, orri_type_at(schema, set->types[i]))) {
            set->types[types++] = set->types[i];
        }
    }
    for (uint32_t i = 0; i < set->tag_count; i++) {
        bool gone = false;
        for (uint32_t k = 0; k < bundle->tag_count; k++) {
            gone = gone || bundle->tags[k] == set->tags[i];
        }
        if (!gone) {
            set->tags[tags++] = set->tags[i];
        }
    }
    set->type_count = types;
    set->tag_count = tags;
}

// Finds or creates the cluster of a set. Types that `like` (may be NULL) has keep their capacity;
// others have room for the instances of `bundle` (may be NULL). NULL when refused (reported).
static orri_cluster* bundle_obtain(orr_world* world, const char* call, const bundle_set* set,
                                   const orri_cluster* like, const orri_bundle* bundle,
                                   bool* created)
{
    uint16_t capacities[ORR_CLUSTER_TYPES_MAX];
    for (uint32_t i = 0; i < set->type_count && i < ORR_CLUSTER_TYPES_MAX; i++) {
        int32_t column = like != NULL ? orri_cluster_find_column(like, set->types[i]) : -1;
        const orri_type* type = orri_type_at(&world->schema, set->types[i]);
        uint32_t count = 0;
        capacities[i] = 1;
        for (uint32_t k = 0; bundle != NULL && k < bundle->item_count; k++) {
            count += bundle->items[k].type == type;
        }
        while (capacities[i] < count) {
            capacities[i] = (uint16_t)(2 * capacities[i]);
        }
        capacities[i] = column >= 0 ? like->capacities[column] : capacities[i];
    }
    return orri_cluster_obtain_sized(world, call, set->types, capacities, set->type_count,
                                     set->tags, set->tag_count, created);
}

static const orri_bundle* bundle_find(const orr_world* world, const char* call, orr_bundle handle)
{
    const orri_bundle* bundle = orri_bundle_at(world, handle);
    if (bundle == NULL) {
        (void)orri_refuse_argument(world, call, "the bundle is null or belongs to another world");
    }
    return bundle;
}

// ---- creating -----------------------------------------------------------------------------------

// Arrays of values for orr_create_many().
typedef struct bundle_data {
    orr_column_data columns[ORR_CLUSTER_TYPES_MAX];
    uint32_t count;
} bundle_data;

static void bundle_data_free(orr_world* world, bundle_data* data, uint32_t rows)
{
    while (data->count-- > 0) {
        const orr_column_data* column = &data->columns[data->count];
        uint32_t size = orri_type_at(&world->schema, column->type)->info.size;
        orri_free(&world->env, ORR_MEMORY_TEMP, (void*)(uintptr_t)column->values,
                  orri_size_mul(size, rows), ORRI_BLOCK_ALIGN);
    }
}

// Repeats the values of all items that the creation of rows brings, once for each row. False when
// refused (not reported).
static bool bundle_data_make(orr_world* world, const orri_bundle* bundle, uint32_t rows,
                             bundle_data* data)
{
    data->count = 0;
    for (uint32_t i = 0; i < bundle->item_count; i++) {
        const orri_bundle_item* item = &bundle->items[i];
        if (item->value == NULL || orri_rest_has(bundle, i)) {
            continue;
        }
        uint32_t size = item->type->info.size;
        uint8_t* values =
            orri_alloc(&world->env, ORR_MEMORY_TEMP, orri_size_mul(size, rows), ORRI_BLOCK_ALIGN);
        if (values == NULL) {
            return false;
        }
        for (uint32_t row = 0; row < rows; row++) {
            memcpy(values + (size_t)row * size, item->value, size);
        }
        data->columns[data->count++] = (orr_column_data){{item->type->id}, values};
    }
    return true;
}

static orr_result bundle_create_rows(orr_world* world, const orri_bundle* bundle,
                                     orri_cluster* cluster, uint32_t count, orr_entity* out)
{
    bundle_data data;
    orr_result result = ORR_OK;
    if (!bundle_data_make(world, bundle, count, &data)) {
        result = orri_refuse_memory(&world->env, "creating entities of a bundle");
    } else {
        result = orr_create_many(world, orri_cluster_handle(cluster), count, data.columns,
                                 data.count, out);
    }
    bundle_data_free(world, &data, count);
    return result;
}

static orr_result bundle_create_all(orr_world* world, const orri_bundle* bundle,
                                    orri_cluster* cluster, uint32_t count, orr_entity* out)
{
    orri_rest rest = {.world = world, .call = "orr_bundle_create", .bundle = bundle, .rows = count};
    orr_result result = orri_rest_make(&rest);
    if (result != ORR_OK) {
        return result;
    }
    result = bundle_create_rows(world, bundle, cluster, count, out);
    if (result == ORR_OK) {
        orri_rest_put(&rest, out);
    } else {
        orri_rest_abandon(&rest);
    }
    return result;
}

// True when the bundle has items that the creation of rows does not bring.
static bool bundle_any_rest(const orri_bundle* bundle)
{
    for (uint32_t i = 0; i < bundle->item_count; i++) {
        if (orri_rest_has(bundle, i)) {
            return true;
        }
    }
    return false;
}

orr_result orr_bundle_create(orr_world* world, orr_bundle handle, uint32_t count, orr_entity* out)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_bundle_create";
    orr_result result = orri_check_open(world, call);
    const orri_bundle* bundle = result == ORR_OK ? bundle_find(world, call, handle) : NULL;
    if (bundle == NULL) {
        return result != ORR_OK ? result : ORR_ERR_ARGUMENT;
    }
    bundle_set set;
    set.type_count = set.tag_count = 0;
    result = bundle_set_add(world, call, bundle, &set);
    if (result != ORR_OK || count == 0) {
        return result;
    }
    bool created, keeps = out == NULL && bundle_any_rest(bundle);
    orr_entity* entities = keeps ? ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, orr_entity, count)
                                 : out;
    if (keeps && entities == NULL) {
        return orri_refuse_memory(&world->env, "creating entities of a bundle");
    }
    orri_cluster* cluster = bundle_obtain(world, call, &set, NULL, bundle, &created);
    result = cluster != NULL ? bundle_create_all(world, bundle, cluster, count, entities)
                             : orri_env_result(&world->env);
    if (result != ORR_OK && cluster != NULL && created) {
        orri_cluster_undo(world, cluster);
    }
    if (keeps) {
        ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orr_entity, entities, count);
    }
    return result;
}

// ---- adding -------------------------------------------------------------------------------------

// Adding a bundle to an entity: values of new columns are copied before the move and put in their
// places after it.
typedef struct bundle_move {
    orr_world* world;
    const orri_bundle* bundle;
    orr_entity entity;
    const orri_cluster* from;
    uint8_t* copies; // One after another, as aligned as a block.
    size_t size;
    uint32_t made; // Items whose copy is made, or that have none.
} bundle_move;

// Bytes of an item's copy; 0: the entity has the type, the item is the preset, or orri_rest_put()
// brings it.
static size_t bundle_copy_size(const bundle_move* m, uint32_t i)
{
    const orri_bundle_item* item = &m->bundle->items[i];
    bool copied = item->value != NULL && !orri_rest_has(m->bundle, i) &&
                  orri_cluster_find_column(m->from, (orr_type){item->type->id}) < 0;
    size_t size = ((size_t)item->type->info.size + ORRI_BLOCK_ALIGN - 1) &
                  ~(size_t)(ORRI_BLOCK_ALIGN - 1);
    return copied ? size : 0;
}

static orr_result bundle_copy_one(bundle_move* m, uint32_t i, uint8_t* copy)
{
    const orri_bundle_item* item = &m->bundle->items[i];
    const char* call = "orr_bundle_add";
    orr_result result = orri_check_references(m->world, call, item->type, NULL, item->value, 1);
    if (result != ORR_OK) {
        return result;
    }
    if (!orri_rows_copy(item->type, copy, item->value, 1)) {
        return orri_refuse_hook(m->world, call, item->type);
    }
    m->made = i + 1; // From here on bundle_copies_end() destructs the copy.
    orri_relation* relation = orri_table_relation(m->world, item->type);
    if (relation != NULL &&
        !orri_relation_prepare(m->world, relation, orri_id_index(m->entity), copy)) {
        return orri_refuse_memory(&m->world->env, "indexing entity references");
    }
    return ORR_OK;
}

static orr_result bundle_copy_values(bundle_move* m)
{
    for (uint32_t i = 0; i < m->bundle->item_count; i++) {
        m->size += bundle_copy_size(m, i);
    }
    m->copies = orri_alloc(&m->world->env, ORR_MEMORY_TEMP, m->size, ORRI_BLOCK_ALIGN);
    if (m->copies == NULL) {
        return orri_refuse_memory(&m->world->env, "adding a bundle");
    }
    size_t at = 0;
    for (uint32_t i = 0; i < m->bundle->item_count; i++) {
        size_t size = bundle_copy_size(m, i);
        orr_result result = size > 0 ? bundle_copy_one(m, i, m->copies + at) : ORR_OK;
        if (result != ORR_OK) {
            return result;
        }
        m->made = i + 1;
        at += size;
    }
    return ORR_OK;
}

// Replaces the preset by a copy. The row was just made and is not shared, so nothing can be
// refused.
static void bundle_put(const bundle_move* m, const orri_type* type, void* copy)
{
    orr_type handle = {type->id};
    const orri_record* record = orri_record_find(m->world, m->entity);
    orri_chunk* chunk = orri_place_chunk(m->world, record->place);
    int32_t column = orri_cluster_find_column(chunk->cluster, handle);
    uint32_t slot = orri_place_slot(record->place);
    uint8_t* data = orri_rows_write(m->world, chunk, (uint32_t)column, slot, 1);
    ORR_ASSERT(data != NULL);
    data += (size_t)slot * chunk->cluster->columns[column].size;
    orri_rows_destruct(type, data, 1);
    orri_rows_move(type, data, copy, 1);
    orri_relation* relation = orri_table_relation(m->world, type);
    if (relation != NULL) {
        orri_relation_set(m->world, relation, orri_id_index(m->entity), data);
    }
}

// Puts the copies in their places, or destructs them.
static void bundle_copies_end(bundle_move* m, bool put)
{
    size_t at = 0;
    for (uint32_t i = 0; i < m->made; i++) {
        size_t size = bundle_copy_size(m, i);
        const orri_type* type = m->bundle->items[i].type;
        if (size > 0 && put) {
            bundle_put(m, type, m->copies + at);
        } else if (size > 0) {
            orri_rows_destruct(type, m->copies + at, 1);
        }
        at += size;
    }
    orri_free(&m->world->env, ORR_MEMORY_TEMP, m->copies, m->size, ORRI_BLOCK_ALIGN);
}

// Moves one row. A cluster created for it is undone when the move is refused.
static orr_result bundle_move_row(orr_world* world, const char* call, orr_entity entity,
                                  orri_cluster* from, orri_cluster* to, bool created)
{
    if (from == to) {
        return ORR_OK;
    }
    const orri_transition* transition = orri_transition_pair_get(world, from, to);
    orr_result result = transition != NULL ? orri_move_one(world, call, transition,
                                                           orri_id_index(entity), NULL, NULL)
                                           : orri_env_result(&world->env);
    if (result != ORR_OK && created) {
        orri_cluster_undo(world, to);
    }
    return result;
}

// Makes all values, moves the row, and puts the values in their places.
static orr_result bundle_add_to(bundle_move* m, orri_cluster* from, orri_cluster* to, bool created)
{
    orr_world* world = m->world;
    orri_rest rest = {.world = world,
                      .call = "orr_bundle_add",
                      .bundle = m->bundle,
                      .from = from,
                      .entity = m->entity,
                      .index = orri_id_index(m->entity),
                      .rows = 1};
    orr_result result = orri_rest_make(&rest);
    if (result != ORR_OK) {
        if (created) {
            orri_cluster_undo(world, to);
        }
        return result;
    }
    result = bundle_copy_values(m);
    if (result == ORR_OK) {
        result = bundle_move_row(world, "orr_bundle_add", m->entity, from, to, created);
    } else if (created) {
        orri_cluster_undo(world, to);
    }
    bundle_copies_end(m, result == ORR_OK);
    if (result == ORR_OK) {
        orri_rest_put(&rest, &m->entity);
    } else {
        orri_rest_abandon(&rest);
    }
    return result;
}

// Checks that adding and removing have in common.
static orr_result bundle_check(orr_world* world, const char* call, orr_entity entity,
                               orr_bundle handle, const orri_bundle** bundle)
{
    orr_result result = orri_check_open_of(world, call, (orr_type){0}, entity);
    if (result == ORR_OK && orri_record_find(world, entity) == NULL) {
        result = orri_refuse_entity(world, call, entity, (orr_type){0});
    }
    *bundle = result == ORR_OK ? bundle_find(world, call, handle) : NULL;
    return result == ORR_OK && *bundle == NULL ? ORR_ERR_ARGUMENT : result;
}

orr_result orr_bundle_add(orr_world* world, orr_entity entity, orr_bundle handle)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_bundle_add";
    bundle_move m = {.world = world, .entity = entity};
    orr_result result = bundle_check(world, call, entity, handle, &m.bundle);
    if (result != ORR_OK) {
        return result;
    }
    bundle_set set;
    bool created;
    orri_cluster* from = orri_place_chunk(world, orri_record_find(world, entity)->place)->cluster;
    bundle_set_of_cluster(&set, from);
    result = bundle_set_add(world, call, m.bundle, &set);
    if (result != ORR_OK) {
        return result;
    }
    orri_cluster* to = bundle_obtain(world, call, &set, from, m.bundle, &created);
    m.from = from;
    return to != NULL ? bundle_add_to(&m, from, to, created) : orri_env_result(&world->env);
}

// ---- removing -----------------------------------------------------------------------------------

// Refuses a removal when a remaining type, in chunks or pinned, requires a removed one.
static orr_result bundle_check_remove(const orr_world* world, const char* call, orr_entity entity,
                                      const orri_bundle* bundle, const bundle_set* kept)
{
    for (uint32_t i = 0; i < world->schema.type_count; i++) {
        const orri_type* info = world->schema.types[i];
        orr_type type = {info->id};
        orr_type missing = orri_required_types_missing(world, type, kept->types, kept->type_count);
        if (missing.id != 0 && !bundle_has_type(bundle, info) &&
            orr_component_has(world, entity, type)) {
            return orri_required_types_refuse(world, call, entity, missing, type);
        }
    }
    return ORR_OK;
}

orr_result orr_bundle_remove(orr_world* world, orr_entity entity, orr_bundle handle)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_bundle_remove";
    const orri_bundle* bundle;
    orr_result result = bundle_check(world, call, entity, handle, &bundle);
    if (result != ORR_OK) {
        return result;
    }
    bundle_set set;
    bool created = false;
    orri_cluster* from = orri_place_chunk(world, orri_record_find(world, entity)->place)->cluster;
    bundle_set_of_cluster(&set, from);
    bundle_set_remove(&set, bundle, &world->schema);
    result = bundle_check_remove(world, call, entity, bundle, &set);
    if (result != ORR_OK) {
        return result;
    }
    orri_cluster* to = bundle_obtain(world, call, &set, from, NULL, &created);
    result = to != NULL ? bundle_move_row(world, call, entity, from, to, created)
                        : orri_env_result(&world->env);
    for (uint32_t i = 0; result == ORR_OK && i < bundle->item_count; i++) {
        if (bundle_pinned(&bundle->items[i])) { // Cannot be refused: it needs no memory.
            result = orr_component_remove(world, entity, (orr_type){bundle->items[i].type->id});
        }
    }
    return result;
}
