// SPDX-License-Identifier: MIT
// Transient entities come, go, and get components: apart from all others (apart.h). Nothing of this is in the world's hash.
#include "store/apart.h"
#include "store/guard.h"
#include "store/pool.h"

// ---- finding ---------------------------------------------------------------------------------------------------

orri_record* orri_apart_find(const orr_world* world, orr_entity entity)
{
    uint32_t index = orri_id_index(entity);
    if (!orri_index_apart(index) || orri_apart_number(index) >= world->apart.count ||
        (orri_id_generation(entity) & ORRI_DEAD) != 0) {
        return NULL;
    }
    orri_record* record = orri_record_at(world, index);
    return record->generation == orri_id_generation(entity) ? record : NULL;
}

bool orri_apart_alive(const orr_world* world, orr_entity entity)
{
    const orri_guard* guard = orri_watched(world) ? orri_guard_of(world) : NULL;
    return orri_apart_find(world, entity) != NULL && (guard == NULL || guard->observer);
}

orr_entity orri_apart_nth(const orr_world* world, uint32_t position)
{
    const orri_apart* apart = &world->apart;
    if (position < apart->free_count) {
        uint32_t index = apart->free[apart->free_count - 1 - position];
        return orri_id_make(index, orri_record_at(world, index)->generation & ~ORRI_DEAD);
    }
    uint64_t number = (uint64_t)apart->count + (position - apart->free_count);
    return number < ORR_TRANSIENTS_MAX
               ? orri_id_make(orri_apart_index((uint32_t)number), world->salt | 1)
               : (orr_entity){0};
}

// ---- room: everything that may be refused ------------------------------------------------------------------------

static bool apart_add_page(orr_world* world)
{
    orri_apart* apart = &world->apart;
    if (apart->page_count == apart->page_capacity &&
        !orri_index_pages(world, apart->page_capacity > 0 ? apart->page_capacity * 2 : 4,
                          world->index.page_capacity)) {
        return false;
    }
    orri_record* page = orri_alloc(&world->env, ORR_MEMORY_INDEX,
                                   sizeof(orri_record) * ORRI_PAGE_SIZE, ORRI_BLOCK_ALIGN);
    if (page == NULL) {
        return false;
    }
    apart->page_count++;
    world->hot.pages[-(ptrdiff_t)apart->page_count] = page;
    return true;
}

// Records up to a number, and room to take all of them back.
static bool apart_reserve(orr_world* world, uint32_t count)
{
    orri_apart* apart = &world->apart;
    // The first page lacks the index that is none.
    while ((uint64_t)apart->page_count * ORRI_PAGE_SIZE < (uint64_t)count + 1) {
        if (!apart_add_page(world)) {
            return false;
        }
    }
    return ORRI_RESERVE(&world->env, ORR_MEMORY_INDEX, &apart->free, &apart->free_capacity, count);
}

static bool apart_reserve_row(orr_world* world)
{
    orri_apart* apart = &world->apart;
    if (apart->cluster == NULL) {
        apart->cluster = orri_cluster_make_apart(world);
    }
    orri_cluster* cluster = apart->cluster;
    return cluster != NULL &&
           (cluster->row_count < cluster->row_capacity ||
            orri_cluster_reserve(world, cluster, 1)) &&
           orri_chunk_prepare(world, orri_cluster_chunk_of(cluster, cluster->row_count));
}

// ---- out of line -----------------------------------------------------------------------------------------------

bool orri_apart_hold(orr_world* world, orr_entity* out, uint32_t count)
{
    orri_apart* apart = &world->apart;
    uint32_t listed = count < apart->free_count ? count : apart->free_count, fresh = count - listed;
    if (fresh > ORR_TRANSIENTS_MAX - apart->count) {
        (void)orri_refuse(&world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_ENTITY_REFUSED,
                          "the world has %u transient entities, and ids for %u more are wanted: "
                          "there can be %u",
                          apart->live_count, count, (uint32_t)ORR_TRANSIENTS_MAX);
        return false;
    }
    if (fresh > 0 && !apart_reserve(world, apart->count + fresh)) {
        (void)orri_refuse_memory(&world->env, "making ids of transient entities");
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        out[i] = orri_apart_nth(world, 0);
        if (apart->free_count > 0) {
            apart->free_count--;
        } else {
            *orri_record_at(world, orri_apart_index(apart->count++)) =
                (orri_record){world->salt | 1 | ORRI_DEAD, 0};
        }
    }
    return true;
}

void orri_apart_unhold(orr_world* world, const orr_entity* ids, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;) { // There is room for all.
        world->apart.free[world->apart.free_count++] = orri_id_index(ids[i]);
    }
}

// ---- coming and going -----------------------------------------------------------------------------------------------

// Takes an id out of those that are free; those between, that were never given, become free.
static void apart_take(orr_world* world, uint32_t index)
{
    orri_apart* apart = &world->apart;
    uint32_t number = orri_apart_number(index);
    for (; apart->count <= number; apart->count++) {
        uint32_t fresh = orri_apart_index(apart->count);
        *orri_record_at(world, fresh) = (orri_record){world->salt | 1 | ORRI_DEAD, 0};
        if (fresh != index) {
            apart->free[apart->free_count++] = fresh;
        } else {
            apart->count++;
            return;
        }
    }
    uint32_t at = apart->free_count - 1; // Mostly one of the last.
    while (apart->free[at] != index) {
        at--;
    }
    apart->free_count--;
    memmove(apart->free + at, apart->free + at + 1, (apart->free_count - at) * sizeof *apart->free);
}

static void apart_enter(orr_world* world, orr_entity entity)
{
    orri_cluster* cluster = world->apart.cluster;
    uint32_t row = cluster->row_count, slot = row & ORRI_SLOT_MASK;
    orri_chunk* chunk = orri_cluster_chunk_of(cluster, row);
    orri_rows_open(chunk, slot, 1);
    orri_chunk_stamp(world, chunk);
    orri_chunk_ids(chunk)[slot] = orri_id_index(entity);
    *orri_record_at(world, orri_id_index(entity)) =
        (orri_record){orri_id_generation(entity), orri_place_make(chunk, slot)};
    cluster->row_count++;
    world->apart.live_count++;
}

orr_result orri_apart_create(orr_world* world, const char* call, orr_entity entity)
{
    if (entity.id == 0) {
        return orri_refuse(&world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_ENTITY_REFUSED,
                           "%s: the world has %u transient entities, the most there can be", call,
                           world->apart.live_count);
    }
    uint32_t number = orri_apart_number(orri_id_index(entity));
    uint32_t count = number < world->apart.count ? world->apart.count : number + 1;
    if (!apart_reserve(world, count) || !apart_reserve_row(world)) {
        return orri_refuse_memory(&world->env, "creating a transient entity");
    }
    apart_take(world, orri_id_index(entity));
    apart_enter(world, entity);
    return ORR_OK;
}

// The last row comes to where this one was.
static void apart_leave_row(orr_world* world, uint32_t place)
{
    orri_cluster* cluster = world->apart.cluster;
    uint32_t last_row = cluster->row_count - 1;
    orri_chunk* chunk = orri_place_chunk(world, place);
    orri_chunk* last = orri_cluster_chunk_of(cluster, last_row);
    orri_chunk_stamp(world, chunk);
    orri_chunk_stamp(world, last);
    orri_row_close_gap(world, cluster, chunk, place, last, last_row);
}

void orri_apart_destroy(orr_world* world, orr_entity entity)
{
    orri_apart* apart = &world->apart;
    uint32_t index = orri_id_index(entity);
    orri_record* record = orri_record_at(world, index);
    uint32_t place = record->place;
    if (world->pinned_live != 0) {
        orri_pinned_drop(world, &index, 1);
    }
    uint32_t generation = record->generation | ORRI_DEAD;
    apart->live_count--;
    if ((generation & ORRI_GENERATION_MASK) == ORRI_GENERATION_MAX) {
        orri_index_retire(record);
    } else {
        *record = (orri_record){generation + 1, 0};
        apart->free[apart->free_count++] = index;
    }
    apart_leave_row(world, place);
}

void orri_apart_term(orr_world* world)
{
    orri_apart* apart = &world->apart;
    while (apart->cluster != NULL && apart->cluster->row_count > 0) {
        uint32_t row = apart->cluster->row_count - 1;
        const orri_chunk* chunk = orri_cluster_chunk_of(apart->cluster, row);
        uint32_t index = orri_chunk_ids(chunk)[row & ORRI_SLOT_MASK];
        orri_apart_destroy(world, orri_id_make(index, orri_record_at(world, index)->generation));
    }
    if (apart->cluster != NULL) {
        orri_cluster_free_apart(world, apart->cluster);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_INDEX, apart->free, apart->free_capacity);
    for (uint32_t i = 1; i <= apart->page_count; i++) {
        orri_free(&world->env, ORR_MEMORY_INDEX, world->hot.pages[-(ptrdiff_t)i],
                  sizeof(orri_record) * ORRI_PAGE_SIZE, ORRI_BLOCK_ALIGN);
    }
    // Room before the first page of the others goes with their list (orri_index_term()).
    *apart = (orri_apart){.page_capacity = apart->page_capacity};
}

// ---- components ------------------------------------------------------------------------------------------------------

orr_result orri_apart_check_type(const orr_world* world, const char* call, orr_entity entity,
                                 const orri_type* type)
{
    if (type->info.transient) {
        return ORR_OK;
    }
    orri_id_text name = orri_id_format(entity);
    return orri_refuse(orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_ENTITY_REFUSED,
                       "%s: entity %s is transient, and %s is not; a transient entity has "
                       "components of transient types only",
                       call, name.text, type->info.name);
}

// The type of a call for a transient entity; NULL (reported): there is something wrong.
static const orri_type* apart_type(const orr_world* world, const char* call, orr_entity entity,
                                   orr_type type, orr_result* result)
{
    const orri_type* found = orri_type_at(&world->schema, type);
    *result = !orri_apart_alive(world, entity) ? orri_refuse_entity(world, call, entity, type)
              : found == NULL                  ? orri_refuse_type(world, call, type)
                                               : orri_apart_check_type(world, call, entity, found);
    return *result == ORR_OK ? found : NULL;
}

orr_result orri_apart_set(orr_world* world, const char* call, orr_entity entity, orr_type type,
                          const void* value)
{
    orr_result result;
    const orri_type* found = apart_type(world, call, entity, type, &result);
    if (found == NULL) {
        return result;
    }
    if (value == NULL && found->info.size > 0) {
        return orri_refuse_argument(world, call, "the value is NULL; add it for the preset");
    }
    const orri_pool* pool = orri_pool_find(world, type);
    result =
        orri_check_value(world, call, found, orri_pool_get(pool, orri_id_index(entity)), value);
    return result == ORR_OK ? orri_pinned_set(world, call, entity, found, value) : result;
}

orr_result orri_apart_edge(orr_world* world, const char* call, orr_entity entity, orr_type type,
                           bool add)
{
    orr_result result;
    const orri_type* found = apart_type(world, call, entity, type, &result);
    if (found == NULL) {
        return result;
    }
    if (orri_watched(world)) {
        return orri_refuse_structure(world, call, type, entity);
    }
    return add ? orri_pinned_add(world, call, entity, found)
               : orri_pinned_remove(world, call, entity, found);
}

orr_result orri_apart_enable(orr_world* world, const char* call, orr_entity entity, orr_type type,
                             bool on)
{
    orr_result result;
    const orri_type* found = apart_type(world, call, entity, type, &result);
    return found != NULL ? orri_pinned_enable(world, call, entity, found, on) : result;
}

// ---- from outside ----------------------------------------------------------------------------------------------------

orr_entity orr_create_transient(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_create_transient";
    orr_entity entity = {0};
    if (orri_check_open_of(world, call, (orr_type){0}, entity) == ORR_OK) {
        entity = orri_apart_nth(world, 0);
        entity = orri_apart_create(world, call, entity) == ORR_OK ? entity : (orr_entity){0};
    }
    return entity;
}

bool orr_transient(const orr_world* world, orr_entity entity)
{
    ORR_ASSERT(world != NULL);
    return orri_apart_alive(world, entity);
}

uint64_t orr_transient_count(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    const orri_guard* guard = orri_watched(world) ? orri_guard_of(world) : NULL;
    return guard == NULL || guard->observer ? world->apart.live_count : 0;
}

// ---- validation --------------------------------------------------------------------------------------------------------

static orr_result apart_fail(orr_world* world, const char* what, uint32_t where)
{
    return orri_refuse(&world->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                       "orr_world_validate: invariant S17 (%s) of transient entities does not hold "
                       "(%u)",
                       what, where);
}

static orr_result apart_validate_rows(orr_world* world)
{
    const orri_cluster* cluster = world->apart.cluster;
    for (uint32_t row = 0; cluster != NULL && row < cluster->row_count; row++) {
        const orri_chunk* chunk = orri_cluster_chunk_of(cluster, row);
        uint32_t index = orri_chunk_ids(chunk)[row & ORRI_SLOT_MASK];
        if (!orri_index_apart(index) || orri_apart_number(index) >= world->apart.count) {
            return apart_fail(world, "rows are of transient entities", row);
        }
        const orri_record* record = orri_record_at(world, index);
        if ((record->generation & ORRI_DEAD) != 0 ||
            record->place != orri_place_make(chunk, row & ORRI_SLOT_MASK)) {
            return apart_fail(world, "row and record agree", row);
        }
    }
    return ORR_OK;
}

orr_result orri_apart_validate(orr_world* world)
{
    const orri_apart* apart = &world->apart;
    uint32_t rows = apart->cluster != NULL ? apart->cluster->row_count : 0, live = 0;
    if (rows != apart->live_count) {
        return apart_fail(world, "a row for each", rows);
    }
    for (uint32_t n = 0; n < apart->count; n++) {
        live += (orri_record_at(world, orri_apart_index(n))->generation & ORRI_DEAD) == 0;
    }
    if (live != apart->live_count || apart->free_count + live > apart->count ||
        apart->count > apart->free_capacity) {
        return apart_fail(world, "counts", live);
    }
    for (uint32_t i = 0; i < apart->free_count; i++) {
        if ((orri_record_at(world, apart->free[i])->generation & ORRI_DEAD) == 0) {
            return apart_fail(world, "the free are dead", i);
        }
    }
    return apart_validate_rows(world);
}
