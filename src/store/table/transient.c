// SPDX-License-Identifier: MIT
// Transient entities: creating, destroying, components (transient.h). Nothing of this is in the
// world's hash.
#include "store/table/transient.h"
#include "store/pool/pool.h"
#include "store/world/access.h"

// ---- finding ------------------------------------------------------------------------------------

orri_record* orri_transient_find(const orr_world* world, orr_entity entity)
{
    uint32_t index = orri_id_index(entity);
    if (!orri_index_transient(index) || orri_transient_number(index) >= world->transient.count ||
        (orri_id_generation(entity) & ORRI_DEAD) != 0) {
        return NULL;
    }
    orri_record* record = orri_record_at(world, index);
    return record->generation == orri_id_generation(entity) ? record : NULL;
}

bool orri_transient_alive(const orr_world* world, orr_entity entity)
{
    const orri_access* access = orri_access_checked(world) ? orri_access_of(world) : NULL;
    return orri_transient_find(world, entity) != NULL && (access == NULL || access->spectator);
}

orr_entity orri_transient_nth(const orr_world* world, uint32_t position)
{
    const orri_transient* transient = &world->transient;
    if (position < transient->free_count) {
        uint32_t index = transient->free[transient->free_count - 1 - position];
        return orri_id_make(index, orri_record_at(world, index)->generation & ~ORRI_DEAD);
    }
    uint64_t number = (uint64_t)transient->count + (position - transient->free_count);
    return number < ORR_TRANSIENTS_MAX
               ? orri_id_make(orri_transient_index((uint32_t)number), world->salt | 1)
               : (orr_entity){0};
}

// ---- reserving: everything that may be refused --------------------------------------------------

// Adds a page of records before the first page of the index.
static bool transient_add_page(orr_world* world)
{
    orri_transient* transient = &world->transient;
    if (transient->page_count == transient->page_capacity &&
        !orri_index_pages(world, transient->page_capacity > 0 ? transient->page_capacity * 2 : 4,
                          world->index.page_capacity)) {
        return false;
    }
    orri_record* page = orri_alloc(&world->env, ORR_MEMORY_INDEX,
                                   sizeof(orri_record) * ORRI_PAGE_SIZE, ORRI_BLOCK_ALIGN);
    if (page == NULL) {
        return false;
    }
    transient->page_count++;
    world->hot.pages[-(ptrdiff_t)transient->page_count] = page;
    return true;
}

// Makes room for `count` records, and in the free list for all of them.
static bool transient_reserve(orr_world* world, uint32_t count)
{
    orri_transient* transient = &world->transient;
    // The first page has one record less: ORRI_INDEX_NONE is no index.
    while ((uint64_t)transient->page_count * ORRI_PAGE_SIZE < (uint64_t)count + 1) {
        if (!transient_add_page(world)) {
            return false;
        }
    }
    return ORRI_RESERVE(&world->env, ORR_MEMORY_INDEX, &transient->free, &transient->free_capacity,
                        count);
}

// Makes room for one more row in the cluster of transient entities, created if missing.
static bool transient_reserve_row(orr_world* world)
{
    orri_transient* transient = &world->transient;
    if (transient->cluster == NULL) {
        transient->cluster = orri_cluster_make_transient(world);
    }
    orri_cluster* cluster = transient->cluster;
    return cluster != NULL &&
           (cluster->row_count < cluster->row_capacity ||
            orri_cluster_reserve(world, cluster, 1)) &&
           orri_chunk_prepare(world, orri_cluster_chunk_of(cluster, cluster->row_count));
}

// ---- reserved ids -------------------------------------------------------------------------------

bool orri_transient_withhold(orr_world* world, orr_entity* out, uint32_t count)
{
    orri_transient* transient = &world->transient;
    uint32_t listed = count < transient->free_count ? count : transient->free_count,
             fresh = count - listed;
    if (fresh > ORR_TRANSIENTS_MAX - transient->count) {
        (void)orri_refuse(&world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_ENTITY_REFUSED,
                          "the world has %u transient entities, and ids for %u more are requested; "
                          "the limit is %u, destroy some first",
                          transient->live_count, count, (uint32_t)ORR_TRANSIENTS_MAX);
        return false;
    }
    if (fresh > 0 && !transient_reserve(world, transient->count + fresh)) {
        (void)orri_refuse_memory(&world->env, "making ids of transient entities");
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        out[i] = orri_transient_nth(world, 0);
        if (transient->free_count > 0) {
            transient->free_count--;
        } else {
            *orri_record_at(world, orri_transient_index(transient->count++)) =
                (orri_record){world->salt | 1 | ORRI_DEAD, 0};
        }
    }
    return true;
}

void orri_transient_return(orr_world* world, const orr_entity* ids, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;) { // The list has room for all.
        world->transient.free[world->transient.free_count++] = orri_id_index(ids[i]);
    }
}

// ---- creating and destroying --------------------------------------------------------------------

// Removes an index from the free list, or takes it as a fresh one; fresh indexes before it become
// free.
static void transient_take(orr_world* world, uint32_t index)
{
    orri_transient* transient = &world->transient;
    uint32_t number = orri_transient_number(index);
    for (; transient->count <= number; transient->count++) {
        uint32_t fresh = orri_transient_index(transient->count);
        *orri_record_at(world, fresh) = (orri_record){world->salt | 1 | ORRI_DEAD, 0};
        if (fresh != index) {
            transient->free[transient->free_count++] = fresh;
        } else {
            transient->count++;
            return;
        }
    }
    uint32_t at = transient->free_count - 1; // Usually near the end.
    while (transient->free[at] != index) {
        at--;
    }
    transient->free_count--;
    memmove(transient->free + at, transient->free + at + 1,
            (transient->free_count - at) * sizeof *transient->free);
}

// Adds the row and writes the record.
static void transient_enter(orr_world* world, orr_entity entity)
{
    orri_cluster* cluster = world->transient.cluster;
    uint32_t row = cluster->row_count, slot = row & ORRI_SLOT_MASK;
    orri_chunk* chunk = orri_cluster_chunk_of(cluster, row);
    orri_rows_open(chunk, slot, 1);
    orri_chunk_stamp(world, chunk);
    orri_chunk_ids(chunk)[slot] = orri_id_index(entity);
    *orri_record_at(world, orri_id_index(entity)) =
        (orri_record){orri_id_generation(entity), orri_place_make(chunk, slot)};
    cluster->row_count++;
    world->transient.live_count++;
}

orr_result orri_transient_create(orr_world* world, const char* call, orr_entity entity)
{
    if (entity.id == 0) {
        return orri_refuse(
            &world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_ENTITY_REFUSED,
            "%s: the world has %u transient entities, which is the limit; destroy some first", call,
            world->transient.live_count);
    }
    uint32_t number = orri_transient_number(orri_id_index(entity));
    uint32_t count = number < world->transient.count ? world->transient.count : number + 1;
    if (!transient_reserve(world, count) || !transient_reserve_row(world)) {
        return orri_refuse_memory(&world->env, "creating a transient entity");
    }
    transient_take(world, orri_id_index(entity));
    transient_enter(world, entity);
    return ORR_OK;
}

// Removes a row: the last row fills the gap.
static void transient_leave_row(orr_world* world, uint32_t place)
{
    orri_cluster* cluster = world->transient.cluster;
    uint32_t last_row = cluster->row_count - 1;
    orri_chunk* chunk = orri_place_chunk(world, place);
    orri_chunk* last = orri_cluster_chunk_of(cluster, last_row);
    orri_chunk_stamp(world, chunk);
    orri_chunk_stamp(world, last);
    (void)orri_row_close_gap(world, cluster, chunk, place, last, last_row,
                             last->ids[last_row & ORRI_SLOT_MASK]);
}

void orri_transient_destroy(orr_world* world, orr_entity entity)
{
    orri_transient* transient = &world->transient;
    uint32_t index = orri_id_index(entity);
    orri_record* record = orri_record_at(world, index);
    uint32_t place = record->place;
    if (world->pinned.live != 0) {
        orri_pinned_drop(world, &index, 1);
    }
    uint32_t generation = record->generation | ORRI_DEAD;
    transient->live_count--;
    if ((generation & ORRI_GENERATION_MASK) == ORRI_GENERATION_MAX) {
        orri_index_retire(record);
    } else {
        *record = (orri_record){generation + 1, 0};
        transient->free[transient->free_count++] = index;
    }
    transient_leave_row(world, place);
}

void orri_transient_term(orr_world* world)
{
    orri_transient* transient = &world->transient;
    while (transient->cluster != NULL && transient->cluster->row_count > 0) {
        uint32_t row = transient->cluster->row_count - 1;
        const orri_chunk* chunk = orri_cluster_chunk_of(transient->cluster, row);
        uint32_t index = orri_chunk_ids(chunk)[row & ORRI_SLOT_MASK];
        orri_transient_destroy(world,
                               orri_id_make(index, orri_record_at(world, index)->generation));
    }
    if (transient->cluster != NULL) {
        orri_cluster_free_transient(world, transient->cluster);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_INDEX, transient->free, transient->free_capacity);
    for (uint32_t i = 1; i <= transient->page_count; i++) {
        orri_free(&world->env, ORR_MEMORY_INDEX, world->hot.pages[-(ptrdiff_t)i],
                  sizeof(orri_record) * ORRI_PAGE_SIZE, ORRI_BLOCK_ALIGN);
    }
    // The list of pages itself is freed by orri_index_term().
    *transient = (orri_transient){.page_capacity = transient->page_capacity};
}

// ---- components ---------------------------------------------------------------------------------

orr_result orri_transient_check_type(const orr_world* world, const char* call, orr_entity entity,
                                     const orri_type* type)
{
    if (type->info.transient) {
        return ORR_OK;
    }
    orri_id_text name = orri_id_format(entity);
    return orri_refuse(orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_ENTITY_REFUSED,
                       "%s: entity %s is transient, and %s is not; a transient entity can have "
                       "components of transient types only",
                       call, name.text, type->info.name);
}

// Checks entity and type of a component call. NULL: refused (reported), with the code in `*result`.
static const orri_type* transient_type(const orr_world* world, const char* call, orr_entity entity,
                                       orr_type type, orr_result* result)
{
    const orri_type* found = orri_type_at(&world->schema, type);
    *result = !orri_transient_alive(world, entity) ? orri_refuse_entity(world, call, entity, type)
              : found == NULL                      ? orri_refuse_type(world, call, type)
                              : orri_transient_check_type(world, call, entity, found);
    return *result == ORR_OK ? found : NULL;
}

orr_result orri_transient_set(orr_world* world, const char* call, orr_entity entity, orr_type type,
                              const void* value)
{
    orr_result result;
    const orri_type* found = transient_type(world, call, entity, type, &result);
    if (found == NULL) {
        return result;
    }
    if (value == NULL && found->info.size > 0) {
        return orri_refuse_argument(world, call,
                                    "the value is NULL; call orr_add() for the preset");
    }
    const orri_pool* pool = orri_pool_find(world, type);
    result = orri_check_value(world, call, found, entity,
                              orri_pool_get(pool, orri_id_index(entity)), value);
    return result == ORR_OK ? orri_pinned_set(world, call, entity, found, value) : result;
}

orr_result orri_transient_edge(orr_world* world, const char* call, orr_entity entity, orr_type type,
                               bool add)
{
    orr_result result;
    const orri_type* found = transient_type(world, call, entity, type, &result);
    if (found == NULL) {
        return result;
    }
    if (orri_access_checked(world)) {
        return orri_refuse_structure(world, call, type, entity);
    }
    return add ? orri_pinned_add(world, call, entity, found)
               : orri_pinned_remove(world, call, entity, found);
}

orr_result orri_transient_enable(orr_world* world, const char* call, orr_entity entity,
                                 orr_type type, bool on)
{
    orr_result result;
    const orri_type* found = transient_type(world, call, entity, type, &result);
    return found != NULL ? orri_pinned_enable(world, call, entity, found, on) : result;
}

// ---- public calls -------------------------------------------------------------------------------

orr_entity orr_create_transient(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_create_transient";
    orr_entity entity = {0};
    if (orri_check_open_of(world, call, (orr_type){0}, entity) == ORR_OK) {
        entity = orri_transient_nth(world, 0);
        entity = orri_transient_create(world, call, entity) == ORR_OK ? entity : (orr_entity){0};
    }
    return entity;
}

bool orr_transient(const orr_world* world, orr_entity entity)
{
    ORR_ASSERT(world != NULL);
    return orri_transient_alive(world, entity);
}

uint64_t orr_transient_count(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    const orri_access* access = orri_access_checked(world) ? orri_access_of(world) : NULL;
    return access == NULL || access->spectator ? world->transient.live_count : 0;
}

// ---- validation ---------------------------------------------------------------------------------

// Reports a violation of invariant S17.
static orr_result transient_fail(orr_world* world, const char* what, const char* number_name,
                                 uint32_t number)
{
    return orri_refuse(&world->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                       "orr_world_validate: invariant S17 (%s) of transient entities does not "
                       "hold: %s %u",
                       what, number_name, number);
}

static orr_result transient_validate_rows(orr_world* world)
{
    const orri_cluster* cluster = world->transient.cluster;
    for (uint32_t row = 0; cluster != NULL && row < cluster->row_count; row++) {
        const orri_chunk* chunk = orri_cluster_chunk_of(cluster, row);
        uint32_t index = orri_chunk_ids(chunk)[row & ORRI_SLOT_MASK];
        if (!orri_index_transient(index) ||
            orri_transient_number(index) >= world->transient.count) {
            return transient_fail(world, "rows are of transient entities", "row", row);
        }
        const orri_record* record = orri_record_at(world, index);
        if ((record->generation & ORRI_DEAD) != 0 ||
            record->place != orri_place_make(chunk, row & ORRI_SLOT_MASK)) {
            return transient_fail(world, "row and record agree", "row", row);
        }
    }
    return ORR_OK;
}

orr_result orri_transient_validate(orr_world* world)
{
    const orri_transient* transient = &world->transient;
    uint32_t rows = transient->cluster != NULL ? transient->cluster->row_count : 0, live = 0;
    if (rows != transient->live_count) {
        return transient_fail(world, "one row per live entity", "rows", rows);
    }
    for (uint32_t n = 0; n < transient->count; n++) {
        live += (orri_record_at(world, orri_transient_index(n))->generation & ORRI_DEAD) == 0;
    }
    if (live != transient->live_count || transient->free_count + live > transient->count ||
        transient->count > transient->free_capacity) {
        return transient_fail(world, "counts", "live entities", live);
    }
    for (uint32_t i = 0; i < transient->free_count; i++) {
        if ((orri_record_at(world, transient->free[i])->generation & ORRI_DEAD) == 0) {
            return transient_fail(world, "free indexes are dead", "position in the list", i);
        }
    }
    return transient_validate_rows(world);
}
