// SPDX-License-Identifier: MIT
// Moves all rows of a cluster by handing over whole chunks. A chunk keeps its id, so no record
// changes. Blocks of kept columns pass to the new chunk header, and only blocks of new columns are
// made. Full chunks are inserted before the last, partial chunk of the target; rows of the source's
// own partial chunk move one by one.
#include "store/cow/share.h"
#include "store/relation/relation.h"

// A transfer of the first `count` chunks of transition->from to transition->to.
typedef struct transfer {
    orr_world* world;
    const orri_transition* transition;
    orri_chunk** chunks; // [count] New headers, with the blocks of new columns.
    uint32_t count;
    uint32_t made; // Headers that are made.
} transfer;

// Rows of the i-th chunk of the source.
static uint32_t transfer_chunk_rows(const transfer* t, uint32_t i)
{
    return orri_chunk_rows(t->transition->from->chunks[i]);
}

// True when the target has enable bits for a column and the source has none.
static bool transfer_bits_missing(const transfer* t, uint32_t to_column, int32_t from_column)
{
    return t->transition->to->columns[to_column].has_bits &&
           (from_column < 0 || !t->transition->from->columns[from_column].has_bits);
}

// The column of the source that becomes a column of the target; -1 if that column is new. Row ids,
// counts and instance ids are kept too.
static int32_t transfer_source_column(const transfer* t, uint32_t to_column)
{
    const orri_cluster* to = t->transition->to;
    if (to_column == to->type_count) {
        return (int32_t)t->transition->from->type_count;
    }
    if (to_column < to->type_count) {
        return orri_cluster_find_column(t->transition->from, to->types[to_column]);
    }
    for (uint32_t i = 0; i < t->transition->kept_count; i++) {
        if (t->transition->kept[i].to == to_column) {
            return t->transition->kept[i].from;
        }
    }
    return -1;
}

// Discards a new header with all values and blocks made for it.
static void transfer_give_header(transfer* t, orri_chunk* header, uint32_t rows)
{
    for (uint32_t c = 0; c < t->transition->to->type_count; c++) {
        if (header->columns[c].data != NULL && header->columns[c].version != 0) {
            orri_cells_destruct(orri_cells_at(header, c, 0), rows);
        }
    }
    for (uint32_t c = 0; c < header->column_count; c++) {
        orri_column_give(t->world, header, c);
    }
    orri_chunk_free(t->world, header);
}

// Takes blocks for new columns and for enable bits that the source lacks. `rows` of them become
// accessible.
static bool transfer_take_blocks(transfer* t, orri_chunk* header, uint32_t rows)
{
    const orri_cluster* to = t->transition->to;
    uint32_t wanted = t->count - t->made;
    for (uint32_t c = 0; c < to->column_count; c++) {
        int32_t source = transfer_source_column(t, c);
        if ((source < 0 && !orri_column_take(t->world, header, c, wanted)) ||
            (transfer_bits_missing(t, c, source) &&
             !orri_column_take(t->world, header, to->column_count + c, wanted))) {
            return false;
        }
        size_t bytes = source < 0 ? (size_t)rows * to->sizes[c] : 0;
        if (bytes > 0) {
            ORRI_UNPOISON(header->columns[c].data,
                          (bytes + ORRI_BLOCK_ALIGN - 1) & ~(size_t)(ORRI_BLOCK_ALIGN - 1));
        }
    }
    return true;
}

// Sets the links (indexed references) of new columns and clears those of dropped ones. With
// `prepare`: only allocates the pages for the links of new columns, which can be refused.
static bool transfer_relations(transfer* t, const orri_chunk* chunk, const orri_chunk* header,
                               bool prepare)
{
    const orri_transition* transition = t->transition;
    uint32_t rows = orri_chunk_rows(chunk);
    for (uint32_t i = 0; transition->indexed && !prepare && i < transition->dropped_count; i++) {
        orri_relation* relation = transition->from->columns[transition->dropped[i]].table->relation;
        for (uint32_t row = 0; relation != NULL && row < rows; row++) {
            orri_relation_set(t->world, relation, orri_chunk_ids(chunk)[row], NULL);
        }
    }
    for (uint32_t i = 0; transition->indexed && i < transition->new_count; i++) {
        uint32_t c = transition->added[i];
        orri_relation* relation = transition->to->columns[c].table->relation;
        for (uint32_t row = 0; relation != NULL && row < rows; row++) {
            uint32_t index = orri_chunk_ids(chunk)[row];
            const uint8_t* value = header->columns[c].data + (size_t)row * transition->to->sizes[c];
            if (prepare && !orri_relation_prepare(t->world, relation, index, value)) {
                return false;
            }
            if (!prepare) {
                orri_relation_set(t->world, relation, index, value);
            }
        }
    }
    return true;
}

// Takes the blocks of new columns and makes their values. A column whose values are made gets
// version 1, so that transfer_give_header() destructs it.
static bool transfer_fill_header(transfer* t, orri_chunk* header, uint32_t rows, orr_result* result)
{
    if (!transfer_take_blocks(t, header, rows)) {
        *result = orri_refuse_memory(&t->world->env, "making new columns");
        return false;
    }
    for (uint32_t i = 0; i < t->transition->new_count; i++) {
        uint32_t c = t->transition->added[i];
        if (!orri_cells_make(header, c, 0, rows, NULL)) {
            *result =
                orri_refuse_hook(t->world, "orr_rows_move_all", t->transition->to->columns[c].type);
            return false;
        }
        header->columns[c].version = 1;
    }
    return true;
}

// Makes the new headers of all chunks: everything that can be refused.
static orr_result transfer_make(transfer* t)
{
    orri_cluster *from = t->transition->from, *to = t->transition->to;
    orr_result result = ORR_OK;
    for (t->made = 0; t->made < t->count; t->made++) {
        const orri_chunk* chunk = from->chunks[t->made];
        orri_chunk* header = orri_chunk_alloc(t->world, to);
        if (header == NULL) {
            return orri_refuse_memory(&t->world->env, "making chunk headers");
        }
        header->capacity = chunk->capacity;
        header->id = chunk->id;
        if (!orri_chunk_reserve_tables(t->world, to, chunk->id)) {
            orri_chunk_free(t->world, header);
            return orri_refuse_memory(&t->world->env, "making pages of a type table");
        }
        if (!transfer_fill_header(t, header, transfer_chunk_rows(t, t->made), &result)) {
            transfer_give_header(t, header, transfer_chunk_rows(t, t->made));
            return result;
        }
        if (!transfer_relations(t, chunk, header, true)) {
            transfer_give_header(t, header, transfer_chunk_rows(t, t->made));
            return orri_refuse_memory(&t->world->env, "indexing entity references");
        }
        t->chunks[t->made] = header;
    }
    return ORR_OK;
}

// Passes the block of one column to the new header, with the share that is attached to it, if any.
static void transfer_pass_column(orr_world* world, orri_chunk* to, uint32_t to_column,
                                 orri_chunk* from, uint32_t from_column)
{
    orri_column* source = &from->columns[from_column];
    orri_column* target = &to->columns[to_column];
    if (source->data == NULL && target->data != NULL) {
        // Enable bits that only the target has. A share of the missing bits has no data and is
        // detached.
        if (source->share != NULL) {
            orri_share_hand_over(world, from, from_column);
        }
        return;
    }
    *target = *source;
    orri_chunk_cold(to)[to_column] = orri_chunk_cold(from)[from_column];
    if (source->share != NULL) {
        source->share->attached = &target->share;
        source->share->counter = &to->share_count;
        from->share_count--;
        to->share_count++;
    }
    *source = (orri_column){0};
    orri_chunk_cold(from)[from_column] = (orri_column_cold){0};
}

// Stamps all columns of a chunk that was handed over. Blocks may still be shared, so a stamp of
// this epoch must not count as the right to write (S8): the caller starts a new epoch.
static void transfer_stamp(orr_world* world, orri_chunk* chunk)
{
    for (uint32_t c = 0; c < chunk->column_count; c++) {
        orri_column_cold* cold = &orri_chunk_cold(chunk)[c];
        bool hashed = cold->hash_version != 0 && cold->hash_version == chunk->columns[c].version;
        orri_column_stamp_one(world, chunk, c);
        cold->hash_version = hashed ? chunk->columns[c].version : 0;
    }
    chunk->stamp = world->epoch;
}

// Hands over the i-th chunk: drops columns, passes kept blocks, and enters the new header in the
// tables.
static void transfer_pass_chunk(transfer* t, uint32_t i)
{
    orr_world* world = t->world;
    orri_cluster *from = t->transition->from, *to = t->transition->to;
    orri_chunk *chunk = from->chunks[i], *header = t->chunks[i];
    uint32_t rows = orri_chunk_rows(chunk);
    (void)transfer_relations(t, chunk, header, false);
    orri_chunk_leave(chunk);
    for (uint32_t c = 0; c < t->transition->dropped_count; c++) {
        uint32_t column = t->transition->dropped[c], counts = from->columns[column].counts;
        if (!from->columns[column].type->plain && !orri_column_shared(chunk, column)) {
            orri_cells_destruct(orri_cells_at(chunk, column, 0), rows);
        }
        orri_column_give(world, chunk, column);
        orri_column_give(world, chunk, from->column_count + column);
        // Even the enable bits of counts and instance ids, which have no memory, may have a share.
        for (uint32_t k = counts; counts != 0 && k < counts + 2; k++) {
            orri_column_give(world, chunk, k);
            orri_column_give(world, chunk, from->column_count + k);
        }
    }
    for (uint32_t c = 0; c < to->column_count; c++) {
        int32_t source = transfer_source_column(t, c);
        if (source >= 0) {
            transfer_pass_column(world, header, c, chunk, (uint32_t)source);
            transfer_pass_column(world, header, to->column_count + c, chunk,
                                 from->column_count + (uint32_t)source);
        }
    }
    ORR_ASSERT(chunk->share_count == 0);
    world->chunks.list[header->id] = header;
    orri_chunk_free(world, chunk);
    orri_chunk_enter(header);
    transfer_stamp(world, header);
}

// Chunks [0, count) of the source become chunks of the target. Cannot fail.
static void transfer_commit(transfer* t)
{
    orri_cluster *from = t->transition->from, *to = t->transition->to;
    uint32_t position = to->row_count >> ORRI_SLOT_BITS, rows = 0;
    if (to->row_count > 0) {
        orri_cluster_trim(t->world,
                          // Drops room made in advance. (An empty cluster would drop its enable
                          // bits.)
                          to);
    }
    orri_parked_release(t->world, to);
    memmove(to->chunks + position + t->count, to->chunks + position,
            (to->chunk_count - position) * sizeof *to->chunks);
    for (uint32_t i = 0; i < t->count; i++) {
        rows += transfer_chunk_rows(t, i);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        transfer_pass_chunk(t, i);
        to->chunks[position + i] = t->chunks[i];
    }
    to->chunk_count += t->count;
    for (uint32_t i = position; i < to->chunk_count; i++) {
        to->chunks[i]->number = i;
    }
    to->row_count += rows;
    from->chunk_count -= t->count;
    memmove(from->chunks, from->chunks + t->count, from->chunk_count * sizeof *from->chunks);
    for (uint32_t i = 0; i < from->chunk_count; i++) {
        from->chunks[i]->number = i;
    }
    from->row_count -= rows;
    for (uint32_t c = 0; c < from->column_count; c++) {
        from->columns[c].version = t->world->epoch;
    }
    orri_epoch_end(t->world);
    orri_cluster_trim(t->world, from);
    orri_cluster_trim(t->world, to);
}

// Makes room in the target's list of chunks, grows its first chunk to full size if others follow,
// and adds missing enable bits.
static orr_result transfer_prepare_target(transfer* t)
{
    orri_cluster* to = t->transition->to;
    if ((to->row_count > 0 && !orri_cluster_reserve(t->world, to, ORR_CHUNK_CAPACITY)) ||
        !ORRI_RESERVE(&t->world->env, ORR_MEMORY_CLUSTER, &to->chunks, &to->chunk_capacity,
                      to->chunk_count + t->count + 1) ||
        !orri_transition_prepare_bits(t->world, t->transition)) {
        return orri_refuse_memory(&t->world->env, "making room in a cluster");
    }
    return ORR_OK;
}

// Hands over all full chunks and moves the remaining rows.
static orr_result transfer_run(transfer* t, orri_transition* transition)
{
    orri_cluster* from = transition->from;
    uint32_t rest = from->row_count > t->count * ORR_CHUNK_CAPACITY
                        ? from->row_count - t->count * ORR_CHUNK_CAPACITY
                        : 0;
    orr_result result = transfer_prepare_target(t);
    if (result == ORR_OK) {
        result = transfer_make(t);
    }
    if (result == ORR_OK && rest > 0) {
        result = orri_rows_move_range(t->world, "orr_rows_move_all", transition,
                                      t->count * ORR_CHUNK_CAPACITY, rest);
    }
    if (result == ORR_OK) {
        transfer_commit(t);
    } else {
        while (t->made-- > 0) {
            transfer_give_header(t, t->chunks[t->made], transfer_chunk_rows(t, t->made));
        }
        orri_cluster_trim(t->world, transition->to);
    }
    return result;
}

orr_result orr_rows_move_all(orr_world* world, orr_cluster from, orr_cluster to)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_rows_move_all";
    orri_cluster *source, *target;
    orr_result result = orri_check_move(world, call, from, to, &source, &target);
    if (result != ORR_OK) {
        return result;
    }
    if (source == target || source->row_count == 0) {
        return ORR_OK;
    }
    orri_transition* transition = orri_transition_pair_get(world, source, target);
    if (transition == NULL) {
        return orri_env_result(&world->env);
    }
    result = orri_cells_fit(world, call, transition, 0, source->row_count);
    if (result != ORR_OK) {
        return result;
    }
    bool all = target->row_count == 0;
    uint32_t count = all ? source->chunk_count : source->row_count >> ORRI_SLOT_BITS;
    // Rows of another size must be copied one by one.
    if (count == 0 || transition->resized_count > 0) {
        return orri_rows_move_range(world, call, transition, 0, source->row_count);
    }
    transfer t = {.world = world, .transition = transition, .count = count};
    t.chunks = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, orri_chunk*, count);
    if (t.chunks == NULL) {
        return orri_refuse_memory(&world->env, "transferring chunks between clusters");
    }
    result = transfer_run(&t, transition);
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orri_chunk*, t.chunks, count);
    return result;
}

// ---- many clusters at once ----------------------------------------------------------------------

// Prepares the transfer of all chunks of one cluster to an empty one.
static orr_result transfer_begin(transfer* t, orr_world* world, const orri_transition* transition)
{
    *t = (transfer){
        .world = world, .transition = transition, .count = transition->from->chunk_count};
    t->chunks = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, orri_chunk*, t->count);
    if (t->chunks == NULL) {
        t->count = 0;
        return orri_refuse_memory(&world->env, "transferring chunks between clusters");
    }
    orr_result result = transfer_prepare_target(t);
    return result == ORR_OK ? transfer_make(t) : result;
}

// Undoes transfer_begin().
static void transfer_abandon(transfer* t)
{
    while (t->made-- > 0) {
        transfer_give_header(t, t->chunks[t->made], transfer_chunk_rows(t, t->made));
    }
    orri_cluster_trim(t->world, t->transition->to);
}

orr_result orri_chunk_transfer_many(orr_world* world, orri_transition* const* transitions,
                                    uint32_t count)
{
    transfer* all = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_TEMP, transfer, count);
    if (all == NULL) {
        return orri_refuse_memory(&world->env, "transferring chunks between clusters");
    }
    orr_result result = ORR_OK;
    uint32_t begun = 0;
    for (; begun < count && result == ORR_OK; begun++) {
        ORR_ASSERT(transitions[begun]->to->row_count == 0);
        result = transfer_begin(&all[begun], world, transitions[begun]);
    }
    for (uint32_t i = 0; i < begun; i++) {
        if (result == ORR_OK) {
            transfer_commit(&all[i]);
        } else {
            transfer_abandon(&all[i]);
        }
        ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orri_chunk*, all[i].chunks, all[i].count);
    }
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, transfer, all, count);
    return result;
}
