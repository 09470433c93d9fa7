// SPDX-License-Identifier: MIT
// What observers send about transient entities. Nobody else sends any of that and nobody is told of it, so there is nothing to merge: records
// wait beside the lanes, and are done one after the other at the end of the system that sent them.
//
// Where memory is refused, what comes before was done; the next call goes on from there.
#include "message/lane.h"
#include "store/apart.h"
#include "store/pool.h"

// Plain values, 16 bytes at a time.
typedef struct aside_cell {
    _Alignas(16) uint8_t bytes[16];
} aside_cell;

typedef struct aside_record {
    orri_sent kind;
    orr_entity entity;
    const orri_type* info; // NULL: of the entity itself.
    uint32_t cell;         // Where its value begins, if that is plain.
    void* value;           // Otherwise: it. NULL: none.
} aside_record;

struct orri_asides {
    struct orri_asides* next;
    orri_rights* rights;
    aside_record* records;
    uint32_t count, capacity, done;
    aside_cell* cells;
    uint32_t cell_count, cell_capacity;
};

// ---- sending ---------------------------------------------------------------------------------------------------

static struct orri_asides* aside_of(orr_lane* lane)
{
    if (lane->asides == NULL && !lane->mute) {
        lane->asides =
            ORRI_ALLOC_ZERO(&lane->world->env, ORR_MEMORY_MESSAGE, struct orri_asides, 1);
    }
    return lane->asides;
}

static bool aside_keep_plain(orr_lane* lane, struct orri_asides* asides, aside_record* record,
                             const void* value)
{
    uint32_t size = record->info->info.size, cells = (size + 15) / 16;
    if (!ORRI_RESERVE(&lane->world->env, ORR_MEMORY_MESSAGE, &asides->cells, &asides->cell_capacity,
                      asides->cell_count + cells)) {
        return false;
    }
    record->cell = asides->cell_count;
    asides->cell_count += cells;
    memcpy(asides->cells[record->cell].bytes, value, size);
    return true;
}

static bool aside_keep(orr_lane* lane, struct orri_asides* asides, aside_record* record,
                       const void* value)
{
    if (value == NULL || record->info->info.size == 0) {
        return true;
    }
    const orr_type_info* info = &record->info->info;
    if (record->info->plain) {
        return aside_keep_plain(lane, asides, record, value);
    }
    record->value = orri_alloc(&lane->world->env, ORR_MEMORY_MESSAGE, info->size, ORRI_BLOCK_ALIGN);
    if (record->value != NULL && !orri_rows_copy(record->info, record->value, value, 1)) {
        orri_free(&lane->world->env, ORR_MEMORY_MESSAGE, record->value, info->size,
                  ORRI_BLOCK_ALIGN);
        record->value = NULL;
    }
    return record->value != NULL;
}

orr_result orri_aside_send(orr_lane* lane, orri_sent kind, orr_entity entity, const orri_type* info,
                           const void* value)
{
    struct orri_asides* asides = aside_of(lane);
    aside_record record = {.kind = kind, .entity = entity, .info = info};
    if (asides == NULL ||
        !ORRI_RESERVE(&lane->world->env, ORR_MEMORY_MESSAGE, &asides->records, &asides->capacity,
                      asides->count + 1) ||
        !aside_keep(lane, asides, &record, value)) {
        return orri_lane_refuse_memory(lane);
    }
    asides->records[asides->count++] = record;
    return ORR_OK;
}

orr_entity orri_aside_create(orr_lane* lane)
{
    uint64_t position = lane->base + lane->create_count;
    orr_entity entity = {0};
    if (ORR_UNLIKELY(lane->lanes->aside)) {
        entity = orri_lane_id(lane, NULL, 0);
    } else if (position <= UINT32_MAX) {
        entity = orri_apart_nth(lane->world, (uint32_t)position);
    }
    if (entity.id == 0) {
        (void)orri_refuse_ids(lane, "orr_send_create", 1);
    } else if (orri_aside_send(lane, ORRI_SENT_CREATE, entity, NULL, NULL) == ORR_OK) {
        lane->create_count++;
        return entity;
    }
    return (orr_entity){0};
}

orr_result orri_aside_refuse(orr_lane* lane, const char* call, orr_entity entity)
{
    orri_id_text name = orri_entity_format(lane->world, entity);
    lane->rights->counts.breaches++;
    return orri_refuse(&lane->world->env, ORR_ERR_STATE, ORR_LOG_ID_BREACH,
                       "%s: system '%s' is an observer's, and entity %s is of the simulation; an "
                       "observer destroys transient entities only",
                       call, lane->rights->name, name.text);
}

// ---- waiting -----------------------------------------------------------------------------------------------------

void orri_asides_close(struct orri_lanes* lanes, orr_lane* lane)
{
    struct orri_asides* asides = lane->asides;
    lane->asides = NULL;
    asides->rights = lane->rights;
    lane->rights->counts.sent += asides->count;
    *(lanes->aside_last != NULL ? &lanes->aside_last->next : &lanes->aside_first) = asides;
    lanes->aside_last = asides;
}

static void aside_forget(orr_world* world, aside_record* record)
{
    if (record->value != NULL) {
        orri_rows_destruct(record->info, record->value, 1);
        orri_free(&world->env, ORR_MEMORY_MESSAGE, record->value, record->info->info.size,
                  ORRI_BLOCK_ALIGN);
        record->value = NULL;
    }
}

void orri_asides_free(orr_world* world, struct orri_asides* asides)
{
    for (uint32_t i = asides->done; i < asides->count; i++) {
        aside_forget(world, &asides->records[i]);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, asides->records, asides->capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, asides->cells, asides->cell_capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_asides, asides, 1);
}

static void aside_pop(orr_world* world, struct orri_lanes* lanes)
{
    struct orri_asides* asides = lanes->aside_first;
    lanes->aside_first = asides->next;
    lanes->aside_last = asides->next != NULL ? lanes->aside_last : NULL;
    orri_asides_free(world, asides);
}

void orri_asides_abandon(orr_world* world, struct orri_lanes* lanes, bool counted)
{
    while (lanes->aside_first != NULL) {
        const struct orri_asides* asides = lanes->aside_first;
        if (counted) {
            asides->rights->counts.dropped += asides->count - asides->done;
        }
        aside_pop(world, lanes);
    }
}

// ---- doing it --------------------------------------------------------------------------------------------------------

// Why a record has no effect; NULL: it has one.
static const char* aside_void(const orr_world* world, const orri_rights* rights,
                              const aside_record* record, const void* value)
{
    if (record->kind == ORRI_SENT_CREATE) {
        return NULL;
    }
    if (orri_apart_find(world, record->entity) == NULL) {
        return "the entity is dead";
    }
    bool needs = record->kind == ORRI_SENT_CHANGE || record->kind == ORRI_SENT_ON ||
                 record->kind == ORRI_SENT_OFF;
    const void* old = NULL;
    if (record->info != NULL) {
        const orri_pool* pool = orri_pool_find(world, (orr_type){record->info->index1});
        old = orri_pool_get(pool, orri_id_index(record->entity));
    }
    if (needs && old == NULL) {
        return "the entity does not have it";
    }
    if (record->kind == ORRI_SENT_ADD && old != NULL &&
        orri_is_foreign(rights->foreign, record->info->index1 - world->schema.type_base)) {
        return "it has it already, and another pipeline writes this type";
    }
    return value != NULL && orri_value_refers(world, record->info, old, value) != ORRI_REFERS_ALIVE
               ? "it refers to an entity that is not alive"
               : NULL;
}

static orr_result aside_create(orr_world* world, const char* call, orr_entity entity)
{
    struct orri_lanes* lanes = orri_lanes_at(world);
    if (ORR_LIKELY(!lanes->aside)) {
        return orri_apart_create(world, call, entity);
    }
    orri_held_return_aside(world, entity);
    orr_result result = orri_apart_create(world, call, entity);
    orri_held_end_aside(world, lanes, entity, result == ORR_OK);
    return result;
}

static orr_result aside_do(orr_world* world, const aside_record* record, const void* value)
{
    const char* call = "the commit";
    switch (record->kind) {
    case ORRI_SENT_CREATE:
        return aside_create(world, call, record->entity);
    case ORRI_SENT_DESTROY:
        orri_apart_destroy(world, record->entity);
        return ORR_OK;
    case ORRI_SENT_ADD:
    case ORRI_SENT_CHANGE:
        return orri_pinned_set(world, call, record->entity, record->info, value);
    case ORRI_SENT_PRESET:
        return orri_pinned_add(world, call, record->entity, record->info);
    case ORRI_SENT_REMOVE:
        return orri_pinned_remove(world, call, record->entity, record->info);
    default:
        return orri_pinned_enable(world, call, record->entity, record->info,
                                  record->kind == ORRI_SENT_ON);
    }
}

static orr_result aside_commit_one(orr_world* world, struct orri_asides* asides,
                                   aside_record* record)
{
    bool plain = record->info != NULL && record->info->plain && record->info->info.size > 0 &&
                 (record->kind == ORRI_SENT_ADD || record->kind == ORRI_SENT_CHANGE);
    const void* value = plain ? asides->cells[record->cell].bytes : record->value;
    const char* why = aside_void(world, asides->rights, record, value);
    if (why != NULL) {
        asides->rights->counts.dropped++;
        orri_say_drop(world, asides->rights, orri_sent_name_of(record->kind),
                      (orr_type){record->info != NULL ? record->info->index1 : 0}, record->entity,
                      why);
        return ORR_OK;
    }
    return aside_do(world, record, value);
}

orr_result orri_asides_commit(orr_world* world)
{
    struct orri_lanes* lanes = orri_lanes_at(world);
    while (lanes->aside_first != NULL) {
        struct orri_asides* asides = lanes->aside_first;
        for (; asides->done < asides->count; asides->done++) {
            aside_record* record = &asides->records[asides->done];
            orr_result result = orri_check_open(world, "the commit");
            result = result == ORR_OK ? aside_commit_one(world, asides, record) : result;
            if (result != ORR_OK) {
                return orri_refuse_commit(world, asides->rights, false);
            }
            aside_forget(world, record);
        }
        aside_pop(world, lanes);
    }
    return ORR_OK;
}
