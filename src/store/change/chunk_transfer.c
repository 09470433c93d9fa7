// SPDX-License-Identifier: MIT
// Moving all rows of a cluster by handing over whole chunks: a chunk keeps its id, so no record is touched;
// kept columns change owner, only new ones are made. Full chunks go before the target's last, partial one.
#include "store/cow/share.h"
#include "store/relation/relation.h"

typedef struct transfer {
    orr_world* world;
    const orri_transition* plan;
    orri_chunk** chunks; // New headers, with the new columns' blocks.
    uint32_t count;      // Chunks to hand over: the first ones of the source.
    uint32_t made;
} transfer;

static uint32_t transfer_chunk_rows(const transfer* r, uint32_t i)
{
    return orri_chunk_rows(r->plan->from->chunks[i]);
}

static bool transfer_bits_missing(const transfer* r, uint32_t to_column, int32_t from_column)
{
    return r->plan->to->columns[to_column].has_bits &&
           (from_column < 0 || !r->plan->from->columns[from_column].has_bits);
}

// The column of the source that a column of the target is; -1 if it is new. The row ids are kept too.
static int32_t transfer_source_column(const transfer* r, uint32_t to_column)
{
    const orri_cluster* to = r->plan->to;
    if (to_column == to->type_count) {
        return (int32_t)r->plan->from->type_count;
    }
    if (to_column < to->type_count) {
        return orri_cluster_find_column(r->plan->from, to->types[to_column]);
    }
    for (uint32_t i = 0; i < r->plan->kept_count; i++) {
        if (r->plan->kept[i].to == to_column) {
            return r->plan->kept[i].from;
        }
    }
    return -1;
}

static void transfer_give_header(transfer* r, orri_chunk* header, uint32_t rows)
{
    for (uint32_t c = 0; c < r->plan->to->type_count; c++) {
        if (header->columns[c].data != NULL && header->columns[c].version != 0) {
            orri_cells_destruct(orri_cells_at(header, c, 0), rows);
        }
    }
    for (uint32_t c = 0; c < header->column_count; c++) {
        orri_column_give(r->world, header, c);
    }
    orri_chunk_free(r->world, header);
}

// Takes blocks for new columns and missing bits.
static bool transfer_take_blocks(transfer* r, orri_chunk* header, uint32_t rows)
{
    const orri_cluster* to = r->plan->to;
    uint32_t wanted = r->count - r->made;
    for (uint32_t c = 0; c < to->column_count; c++) {
        int32_t source = transfer_source_column(r, c);
        if ((source < 0 && !orri_column_take(r->world, header, c, wanted)) ||
            (transfer_bits_missing(r, c, source) &&
             !orri_column_take(r->world, header, to->column_count + c, wanted))) {
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

// Enters what new columns refer to (or makes sure that this can be done), and takes out what dropped ones did.
static bool transfer_relations(transfer* r, const orri_chunk* chunk, const orri_chunk* header,
                               bool prepare)
{
    const orri_transition* plan = r->plan;
    uint32_t rows = orri_chunk_rows(chunk);
    for (uint32_t i = 0; plan->indexed && !prepare && i < plan->dropped_count; i++) {
        orri_relation* relation = plan->from->columns[plan->dropped[i]].table->relation;
        for (uint32_t row = 0; relation != NULL && row < rows; row++) {
            orri_relation_set(r->world, relation, orri_chunk_ids(chunk)[row], NULL);
        }
    }
    for (uint32_t i = 0; plan->indexed && i < plan->new_count; i++) {
        uint32_t c = plan->added[i];
        orri_relation* relation = plan->to->columns[c].table->relation;
        for (uint32_t row = 0; relation != NULL && row < rows; row++) {
            uint32_t index = orri_chunk_ids(chunk)[row];
            const uint8_t* value = header->columns[c].data + (size_t)row * plan->to->sizes[c];
            if (prepare && !orri_relation_prepare(r->world, relation, index, value)) {
                return false;
            }
            if (!prepare) {
                orri_relation_set(r->world, relation, index, value);
            }
        }
    }
    return true;
}

// Blocks for what is new, and the values. A column whose values are made has a version.
static bool transfer_fill_header(transfer* r, orri_chunk* header, uint32_t rows, orr_result* result)
{
    if (!transfer_take_blocks(r, header, rows)) {
        *result = orri_refuse_memory(&r->world->env, "making new columns");
        return false;
    }
    for (uint32_t i = 0; i < r->plan->new_count; i++) {
        uint32_t c = r->plan->added[i];
        if (!orri_cells_make(header, c, 0, rows, NULL)) {
            *result = orri_refuse_hook(r->world, "orr_rows_move_all", r->plan->to->columns[c].type);
            return false;
        }
        header->columns[c].version = 1;
    }
    return true;
}

static orr_result transfer_make(transfer* r)
{
    orri_cluster *from = r->plan->from, *to = r->plan->to;
    orr_result result = ORR_OK;
    for (r->made = 0; r->made < r->count; r->made++) {
        const orri_chunk* chunk = from->chunks[r->made];
        orri_chunk* header = orri_chunk_alloc(r->world, to);
        if (header == NULL) {
            return orri_refuse_memory(&r->world->env, "making chunk headers");
        }
        header->capacity = chunk->capacity;
        header->id = chunk->id;
        if (!orri_chunk_reserve_tables(r->world, to, chunk->id)) {
            orri_chunk_free(r->world, header);
            return orri_refuse_memory(&r->world->env, "making pages of a type table");
        }
        if (!transfer_fill_header(r, header, transfer_chunk_rows(r, r->made), &result)) {
            transfer_give_header(r, header, transfer_chunk_rows(r, r->made));
            return result;
        }
        if (!transfer_relations(r, chunk, header, true)) {
            transfer_give_header(r, header, transfer_chunk_rows(r, r->made));
            return orri_refuse_memory(&r->world->env, "keeping who refers to whom");
        }
        r->chunks[r->made] = header;
    }
    return ORR_OK;
}

// Hands one column's block over, with its holder if it has one.
static void transfer_pass_column(orr_world* world, orri_chunk* to, uint32_t to_column,
                                 orri_chunk* from, uint32_t from_column)
{
    orri_column* source = &from->columns[from_column];
    orri_column* target = &to->columns[to_column];
    if (source->data == NULL && target->data != NULL) {
        // Enable bits that only the target has. Who holds their absence holds nothing.
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

// Stamps what was handed over. Nobody may take a stamp of this epoch for the right to write, since blocks may still
// be held: the caller opens a new epoch.
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

static void transfer_pass_chunk(transfer* r, uint32_t i)
{
    orr_world* world = r->world;
    orri_cluster *from = r->plan->from, *to = r->plan->to;
    orri_chunk *chunk = from->chunks[i], *header = r->chunks[i];
    uint32_t rows = orri_chunk_rows(chunk);
    (void)transfer_relations(r, chunk, header, false);
    orri_chunk_leave(chunk);
    for (uint32_t c = 0; c < r->plan->dropped_count; c++) {
        uint32_t column = r->plan->dropped[c], counts = from->columns[column].counts;
        if (!from->columns[column].type->plain && !orri_column_shared(chunk, column)) {
            orri_cells_destruct(orri_cells_at(chunk, column, 0), rows);
        }
        orri_column_give(world, chunk, column);
        orri_column_give(world, chunk, from->column_count + column);
        // Somebody may hold even the bits that counts and ids do not have.
        for (uint32_t k = counts; counts != 0 && k < counts + 2; k++) {
            orri_column_give(world, chunk, k);
            orri_column_give(world, chunk, from->column_count + k);
        }
    }
    for (uint32_t c = 0; c < to->column_count; c++) {
        int32_t source = transfer_source_column(r, c);
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

// Everything is there: chunks [0, count) of the source become chunks of the target.
static void transfer_commit(transfer* r)
{
    orri_cluster *from = r->plan->from, *to = r->plan->to;
    uint32_t position = to->row_count >> ORRI_SLOT_BITS, rows = 0;
    if (to->row_count > 0) {
        orri_cluster_trim(r->world,
                          to); // Room made in advance. (An empty one would forget its bits.)
    }
    memmove(to->chunks + position + r->count, to->chunks + position,
            (to->chunk_count - position) * sizeof *to->chunks);
    for (uint32_t i = 0; i < r->count; i++) {
        rows += transfer_chunk_rows(r, i);
    }
    for (uint32_t i = 0; i < r->count; i++) {
        transfer_pass_chunk(r, i);
        to->chunks[position + i] = r->chunks[i];
    }
    to->chunk_count += r->count;
    for (uint32_t i = position; i < to->chunk_count; i++) {
        to->chunks[i]->number = i;
    }
    to->row_count += rows;
    from->chunk_count -= r->count;
    memmove(from->chunks, from->chunks + r->count, from->chunk_count * sizeof *from->chunks);
    for (uint32_t i = 0; i < from->chunk_count; i++) {
        from->chunks[i]->number = i;
    }
    from->row_count -= rows;
    for (uint32_t c = 0; c < from->column_count; c++) {
        from->columns[c].version = r->world->epoch;
    }
    orri_epoch_end(r->world);
    orri_cluster_trim(r->world, from);
    orri_cluster_trim(r->world, to);
}

// Room in the target's list, its first chunk full if others are to follow, and the enable bits.
static orr_result transfer_prepare_target(transfer* r)
{
    orri_cluster* to = r->plan->to;
    if ((to->row_count > 0 && !orri_cluster_reserve(r->world, to, ORR_CHUNK_CAPACITY)) ||
        !ORRI_RESERVE(&r->world->env, ORR_MEMORY_CLUSTER, &to->chunks, &to->chunk_capacity,
                      to->chunk_count + r->count + 1) ||
        !orri_transition_prepare_bits(r->world, r->plan)) {
        return orri_refuse_memory(&r->world->env, "making room in a cluster");
    }
    return ORR_OK;
}

static orr_result transfer_run(transfer* r, orri_transition* plan)
{
    orri_cluster* from = plan->from;
    uint32_t rest = from->row_count > r->count * ORR_CHUNK_CAPACITY
                        ? from->row_count - r->count * ORR_CHUNK_CAPACITY
                        : 0;
    orr_result result = transfer_prepare_target(r);
    if (result == ORR_OK) {
        result = transfer_make(r);
    }
    if (result == ORR_OK && rest > 0) {
        result = orri_rows_move_range(r->world, "orr_rows_move_all", plan,
                                      r->count * ORR_CHUNK_CAPACITY, rest);
    }
    if (result == ORR_OK) {
        transfer_commit(r);
    } else {
        while (r->made-- > 0) {
            transfer_give_header(r, r->chunks[r->made], transfer_chunk_rows(r, r->made));
        }
        orri_cluster_trim(r->world, plan->to);
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
    orri_transition* plan = orri_transition_pair_get(world, source, target);
    if (plan == NULL) {
        return orri_env_result(&world->env);
    }
    result = orri_cells_fit(world, call, plan, 0, source->row_count);
    if (result != ORR_OK) {
        return result;
    }
    bool all = target->row_count == 0;
    uint32_t count = all ? source->chunk_count : source->row_count >> ORRI_SLOT_BITS;
    // Where a row has another size, rows must be copied.
    if (count == 0 || plan->resized_count > 0) {
        return orri_rows_move_range(world, call, plan, 0, source->row_count);
    }
    transfer r = {.world = world, .plan = plan, .count = count};
    r.chunks = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, orri_chunk*, count);
    if (r.chunks == NULL) {
        return orri_refuse_memory(&world->env, "handing chunks over");
    }
    result = transfer_run(&r, plan);
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orri_chunk*, r.chunks, count);
    return result;
}

// ---- many clusters at once -------------------------------------------------------------------------------

static orr_result transfer_begin(transfer* r, orr_world* world, const orri_transition* plan)
{
    *r = (transfer){.world = world, .plan = plan, .count = plan->from->chunk_count};
    r->chunks = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, orri_chunk*, r->count);
    if (r->chunks == NULL) {
        r->count = 0;
        return orri_refuse_memory(&world->env, "handing chunks over");
    }
    orr_result result = transfer_prepare_target(r);
    return result == ORR_OK ? transfer_make(r) : result;
}

static void transfer_abandon(transfer* r)
{
    while (r->made-- > 0) {
        transfer_give_header(r, r->chunks[r->made], transfer_chunk_rows(r, r->made));
    }
    orri_cluster_trim(r->world, r->plan->to);
}

orr_result orri_chunk_transfer_many(orr_world* world, orri_transition* const* plans, uint32_t count)
{
    transfer* all = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_TEMP, transfer, count);
    if (all == NULL) {
        return orri_refuse_memory(&world->env, "handing chunks over");
    }
    orr_result result = ORR_OK;
    uint32_t begun = 0;
    for (; begun < count && result == ORR_OK; begun++) {
        ORR_ASSERT(plans[begun]->to->row_count == 0);
        result = transfer_begin(&all[begun], world, plans[begun]);
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
