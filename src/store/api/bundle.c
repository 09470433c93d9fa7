// SPDX-License-Identifier: MIT
// Bundles are registered once, and then created, added and removed as a whole. Each of these moves
// a row once. Creating and adding are change sets with one group (change/change_set.h).
#include "store/api/bundle.h"
#include "store/change/change_set.h"
#include "store/pool/pool.h"
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

// ---- what a bundle gives ------------------------------------------------------------------------

typedef struct bundle_gift_item {
    orri_instance_change instance;
    orri_given given;
} bundle_gift_item;

// The items that entities get, as a group of a change set.
typedef struct bundle_gift {
    orr_world* world;
    const char* call;
    const orri_bundle* bundle;
    const orri_cluster* from; // Cluster of the entity that gets the bundle; NULL: it is created.
    orri_group group;
    bundle_gift_item* items;         // [item_count] Memory of the two lists.
    orri_instance_change* instances; // Instances after the first.
    orri_given* given;               // Items that are the first of their type.
} bundle_gift;

// True when an entity gets the items of a type: it keeps those it has.
static bool bundle_gives(const bundle_gift* gift, const orri_bundle_item* item)
{
    orr_type type = {item->type->id};
    return gift->from == NULL ||
           (bundle_pinned(item) ? orri_pool_get(orri_pool_find(gift->world, type),
                                                orri_id_index(gift->group.entities[0])) == NULL
                                : orri_cluster_find_column(gift->from, type) < 0);
}

// Lists the first item of a type, with its value once for each entity.
static orr_result bundle_give_first(bundle_gift* gift, const orri_bundle_item* item)
{
    uint32_t size = item->type->info.size, count = gift->group.count;
    const uint8_t* values = item->value;
    if (values != NULL && count > 1) {
        uint8_t* copies = orri_alloc(&gift->world->env, ORR_MEMORY_TEMP, orri_size_mul(size, count),
                                     ORRI_BLOCK_ALIGN);
        if (copies == NULL) {
            return orri_refuse_memory(&gift->world->env, "making the values of a bundle");
        }
        for (uint32_t row = 0; row < count; row++) {
            memcpy(copies + (size_t)row * size, values, size);
        }
        values = copies;
    }
    gift->given[gift->group.given_count++] = (orri_given){{item->type->id}, values};
    return ORR_OK;
}

// Lists item `i`, if the entity gets it.
static orr_result bundle_give(bundle_gift* gift, uint32_t i)
{
    const orri_bundle_item* item = &gift->bundle->items[i];
    uint32_t first = 0;
    if (!bundle_gives(gift, item)) {
        return ORR_OK;
    }
    orr_result result = item->value != NULL ? orri_check_value(gift->world, gift->call, item->type,
                                                               (orr_entity){0}, NULL, item->value)
                                            : ORR_OK;
    while (gift->bundle->items[first].type != item->type) {
        first++;
    }
    if (result == ORR_OK && first == i) {
        result = bundle_give_first(gift, item);
    } else if (result == ORR_OK) {
        gift->instances[gift->group.instance_count++] =
            (orri_instance_change){.type = {item->type->id}, .value = item->value};
    }
    return result;
}

static void bundle_gift_free(bundle_gift* gift)
{
    orri_env* env = &gift->world->env;
    uint32_t count = gift->group.count;
    for (uint32_t k = 0; count > 1 && k < gift->group.given_count; k++) {
        const orri_given* given = &gift->given[k];
        uint32_t size = orri_type_at(&gift->world->schema, given->type)->info.size;
        orri_free(env, ORR_MEMORY_TEMP, (void*)(uintptr_t)given->values, orri_size_mul(size, count),
                  ORRI_BLOCK_ALIGN);
    }
    ORRI_FREE(env, ORR_MEMORY_TEMP, bundle_gift_item, gift->items, gift->bundle->item_count);
}

// Applies the group. A cluster created for it is undone when it is refused.
static orr_result bundle_gift_apply(bundle_gift* gift, const bundle_set* set)
{
    orr_world* world = gift->world;
    bool created;
    orri_cluster* to = bundle_obtain(world, gift->call, set, gift->from, gift->bundle, &created);
    if (to == NULL) {
        return orri_env_result(&world->env);
    }
    gift->group.cluster = orri_cluster_handle(to);
    gift->group.as_call = true;
    orri_change_set_desc desc = {
        .call = gift->call, .groups = &gift->group, .count = 1, .ids_in_order = true};
    orr_result result = orri_change_set_apply(world, &desc);
    if (result != ORR_OK && created) {
        orri_cluster_undo(world, to);
    }
    return result;
}

// Gives the bundle to all entities of the group. Their types and tags will be those of `set`.
static orr_result bundle_give_all(bundle_gift* gift, const bundle_set* set)
{
    orr_world* world = gift->world;
    uint32_t count = gift->bundle->item_count;
    gift->items = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, bundle_gift_item, count);
    if (gift->items == NULL) {
        return orri_refuse_memory(&world->env, "making the values of a bundle");
    }
    gift->instances = (orri_instance_change*)(void*)gift->items;
    gift->given = (orri_given*)(void*)(gift->instances + count);
    gift->group.instances = gift->instances;
    gift->group.given = gift->given;
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < count; i++) {
        result = bundle_give(gift, i);
    }
    if (result == ORR_OK) {
        result = bundle_gift_apply(gift, set);
    }
    bundle_gift_free(gift);
    return result;
}

// ---- creating -----------------------------------------------------------------------------------

// Creates entities with the next ids.
static orr_result bundle_create(bundle_gift* gift, const bundle_set* set, orr_entity* ids)
{
    orr_world* world = gift->world;
    orri_index_cursor cursor = {0};
    orr_result result = orri_index_reserve(world, gift->call, gift->group.count);
    if (result == ORR_OK) {
        bool next = orri_index_next(world, &cursor, 0, ids, gift->group.count);
        ORR_ASSERT(next);
        gift->group.entities = ids;
        result = bundle_give_all(gift, set);
    }
    if (result != ORR_OK) {
        orri_index_trim(world);
    }
    return result;
}

orr_result orr_bundle_create(orr_world* world, orr_bundle handle, uint32_t count, orr_entity* out)
{
    ORR_ASSERT(world != NULL);
    bundle_gift gift = {.world = world, .call = "orr_bundle_create", .group.count = count};
    orr_result result = orri_check_open(world, gift.call);
    gift.bundle = result == ORR_OK ? bundle_find(world, gift.call, handle) : NULL;
    if (gift.bundle == NULL) {
        return result != ORR_OK ? result : ORR_ERR_ARGUMENT;
    }
    bundle_set set;
    set.type_count = set.tag_count = 0;
    result = bundle_set_add(world, gift.call, gift.bundle, &set);
    if (result != ORR_OK || count == 0) {
        return result;
    }
    orr_entity one, *ids = &one;
    if (count > 1) {
        ids = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, orr_entity, count);
    }
    result = ids != NULL ? bundle_create(&gift, &set, ids)
                         : orri_refuse_memory(&world->env, "creating entities of a bundle");
    if (result == ORR_OK && out != NULL) {
        memcpy(out, ids, count * sizeof *ids);
    }
    if (count > 1) {
        ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orr_entity, ids, count);
    }
    return result;
}

// ---- adding -------------------------------------------------------------------------------------

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
    bundle_gift gift = {.world = world,
                        .call = "orr_bundle_add",
                        .group = {ORRI_CHANGE_KIND_CHANGE, .entities = &entity, .count = 1}};
    bundle_set set;
    orr_result result = bundle_check(world, gift.call, entity, handle, &gift.bundle);
    if (result != ORR_OK) {
        return result;
    }
    gift.from = orri_place_chunk(world, orri_record_find(world, entity)->place)->cluster;
    bundle_set_of_cluster(&set, gift.from);
    result = bundle_set_add(world, gift.call, gift.bundle, &set);
    return result == ORR_OK ? bundle_give_all(&gift, &set) : result;
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

// Moves the row of an entity. A cluster created for it is undone when it is refused.
static orr_result bundle_move(orr_world* world, const char* call, orr_entity entity,
                              orri_cluster* from, orri_cluster* to, bool created)
{
    if (from == to) {
        return ORR_OK;
    }
    const orri_transition* transition = orri_transition_pair_get(world, from, to);
    orr_result result =
        transition != NULL ? orri_move_one(world, call, transition,
                                           orri_record_at(world, orri_id_index(entity)), NULL, NULL)
                           : orri_env_result(&world->env);
    if (result != ORR_OK && created) {
        orri_cluster_undo(world, to);
    }
    return result;
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
    result = to != NULL ? bundle_move(world, call, entity, from, to, created)
                        : orri_env_result(&world->env);
    for (uint32_t i = 0; result == ORR_OK && i < bundle->item_count; i++) {
        orri_pool* pool = orri_pool_find(world, (orr_type){bundle->items[i].type->id});
        if (pool != NULL) { // No type needs a pinned one.
            orri_pool_remove(world, pool, orri_id_index(entity));
        }
    }
    return result;
}
