// SPDX-License-Identifier: MIT
// The appender creates rows in runs within the last chunk of a cluster. The caller fills their
// columns directly, without a call for each row. Runs double in length up to a chunk, so that a
// short use leaves few unused rows to remove at its end.
#include "store/pool/pool.h"
#include "store/relation/relation.h"

#define APPENDER_RUN_FIRST 64u // Rows of the first run.

orr_result orr_append_begin(orr_world* world, orr_cluster handle, const orr_type* types,
                            uint32_t type_count, orr_appender* out)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_append_begin";
    if (out != NULL && out != world->append.open) {
        *out = (orr_appender){
            // If the call is refused, orr_append() refuses too and orr_append_end() does nothing.
            0};
    }
    orr_result result = orri_check_open(world, call);
    if (result != ORR_OK) {
        return result;
    }
    const orri_cluster* cluster = orri_cluster_at(world, handle);
    if (cluster == NULL) {
        return orri_refuse_cluster(world, call, handle);
    }
    if (out == NULL || (types == NULL && type_count > 0) || type_count > ORR_APPEND_TYPES_MAX) {
        return orri_refuse_argument(
            world, call,
            "out or types is NULL, or there are more than 16 types; pass both, and "
            "write the other columns with orr_column_write() afterwards");
    }
    for (uint32_t i = 0; i < type_count; i++) {
        const orri_type* type = orri_type_at(&world->schema, types[i]);
        if (type == NULL) {
            return orri_refuse_type(world, call, types[i]);
        }
        if (orri_type_pinned(type)) {
            return orri_refuse_pinned(world, call, types[i]);
        }
        if (orri_cluster_find_column(cluster, types[i]) < 0) {
            return orri_refuse(&world->env, ORR_ERR_ABSENT, ORR_LOG_ID_CALL_REFUSED,
                               "%s: the cluster does not have %s; leave the type out", call,
                               orri_type_label(world, types[i]));
        }
        if (orri_type_at(&world->schema, types[i])->info.multiplicity != ORR_UNIQUE) {
            return orri_refuse_multiple(world, call, types[i]);
        }
        if (orri_type_at(&world->schema, types[i])->indexed_count > 0) {
            return orri_refuse_in_place(world, call, orri_type_at(&world->schema, types[i]));
        }
    }
    if (world->append.entities == NULL) {
        world->append.entities =
            ORRI_ALLOC(&world->env, ORR_MEMORY_WORLD, orr_entity, ORR_CHUNK_CAPACITY);
        if (world->append.entities == NULL) {
            return orri_refuse_memory(&world->env, "opening an appender");
        }
    }
    *out = (orr_appender){.entities = world->append.entities,
                          .world = world,
                          .cluster = handle,
                          .type_count = type_count,
                          .run_next = APPENDER_RUN_FIRST};
    for (uint32_t i = 0; i < type_count; i++) {
        out->types[i] = types[i];
    }
    world->append.open = out;
    return ORR_OK;
}

bool orr_append_run(orr_appender* appender)
{
    orr_world* world = appender->world;
    if (world == NULL || world->append.open != appender) {
        return false; // Not begun, or ended.
    }
    ORR_ASSERT(appender->used == appender->count);
    orri_cluster* cluster = orri_cluster_at(world, appender->cluster);
    if (cluster->row_count == cluster->row_capacity &&
        !orri_cluster_reserve(world, cluster, appender->run_next)) {
        (void)orri_refuse_room(world, "orr_append");
        return false;
    }
    uint32_t row = cluster->row_count, slot = row & ORRI_SLOT_MASK;
    orri_chunk* chunk = orri_cluster_chunk_of(cluster, row);
    uint32_t count = chunk->capacity - slot;
    count = count < appender->run_next ? count : appender->run_next;
    // A run beyond the entity limit would be refused, although fewer rows are still possible.
    uint32_t left = world->index.free_count + (world->limits.entities - world->hot.count);
    count = count < left || left == 0 ? count : left;
    uint32_t fresh_before = world->hot.count;
    if (orri_rows_create(world, "orr_append", cluster, count, NULL, 0, world->append.entities) !=
        ORR_OK) {
        orri_cluster_trim(world, cluster);
        return false;
    }
    world->append.run_fresh = world->hot.count - fresh_before;
    for (uint32_t i = 0; i < appender->type_count; i++) {
        int32_t column = orri_cluster_find_column(cluster, appender->types[i]);
        appender->columns[i] = chunk->columns[column].data +
                               (size_t)slot * cluster->columns[column].size;
    }
    appender->used = 0;
    appender->count = count;
    appender->run_next = count * 2 < ORR_CHUNK_CAPACITY ? count * 2 : ORR_CHUNK_CAPACITY;
    return true;
}

void orr_append_end(orr_appender* appender)
{
    orr_world* world = appender->world;
    if (world == NULL) {
        return; // Not begun, or ended.
    }
    ORR_ASSERT(world->append.open == appender);
    orri_cluster* cluster = orri_cluster_at(world, appender->cluster);
    uint32_t unused = appender->count - appender->used;
    world->append.open = NULL;
    if (unused > 0) {
        uint32_t first = cluster->row_count - unused;
        if (world->relations.count != 0) {
            orri_relation_undo_rows(world, cluster, first, unused);
        }
        for (uint32_t c = 0; !cluster->plain && c < cluster->type_count; c++) {
            orri_column_destruct(cluster, c, first, unused);
        }
        orri_chunk* chunk = orri_cluster_chunk_of(cluster, first);
        // A hash or tick since the run was made has started a new epoch. The stamp makes the next
        // hash see that rows were removed.
        if (orri_chunk_prepare(world, chunk)) {
            orri_chunk_stamp(world, chunk);
        }
        orri_index_undo(world, chunk, first & ORRI_SLOT_MASK, unused, world->append.run_fresh);
        cluster->row_count = first;
        orri_rows_close(chunk, first & ORRI_SLOT_MASK, unused);
    }
    orri_cluster_trim(world, cluster);
    orri_index_trim(world);
    *appender = (orr_appender){0};
}

#undef APPENDER_RUN_FIRST
