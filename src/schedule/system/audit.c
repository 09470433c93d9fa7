// SPDX-License-Identifier: MIT
// Full access checks (ORR_ACCESS_CHECK_FULL): data that a system may not write is copied before it
// runs and compared afterwards. So writes through read pointers, or through pointers kept from
// elsewhere, are found, reported and undone. For debugging: it copies the world.
#include "schedule/schedule.h"
#include "store/snapshot/blocks.h"

// Bytes that must be the same afterwards.
typedef struct audit_piece {
    uint8_t* data;
    uint8_t* copy;
    size_t size;
    uint32_t row_size;
    const orri_chunk* chunk;  // Of a column,
    const orri_pool* pool;    // of slot `slot` of a pool,
    const orri_system* owner; // or of a system's state or exports.
    uint32_t slot;
    const orri_type* type;
    uint32_t column; // Of a column.
    bool writable;   // It may be written, if the system asks for it in this run.
} audit_piece;

struct orri_audit_watch {
    audit_piece* pieces;
    uint32_t count, capacity;
    uint64_t epoch; // The epoch that began with the copies.
};

// ---- copying ------------------------------------------------------------------------------------

static bool audit_add(orr_world* world, orri_audit_watch* watch, audit_piece piece)
{
    if (piece.size == 0) {
        return true;
    }
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_TEMP, &watch->pieces, &watch->capacity,
                      watch->count + 1)) {
        return false;
    }
    piece.copy = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, uint8_t, piece.size);
    if (piece.copy == NULL) {
        return false;
    }
    memcpy(piece.copy, piece.data, piece.size);
    watch->pieces[watch->count++] = piece;
    return true;
}

// True when the system may write the column of a type in a cluster (`selected`: its query matches
// the cluster).
static bool audit_may_write(const orr_world* world, const orri_system* system, bool selected,
                            const orri_type* type)
{
    orr_type handle = {type->id};
    uint32_t index = orri_type_index(world, handle);
    if (system->access.by_id_write != NULL && index < system->access.type_count &&
        orri_bit_get(system->access.by_id_write, index)) {
        return true;
    }
    if (orri_right(system->rights.atomics, &system->rights, index)) {
        return true;
    }
    for (uint32_t f = 0; selected && f < system->query->field_count; f++) {
        if (system->query->fields[f].type.id == handle.id) {
            return system->query->fields[f].access == ORR_WRITE;
        }
    }
    return false;
}

// Copies the values of a block; pinned values one by one, unless they may be written.
static bool audit_copy_block(orr_world* world, const orri_system* system, orri_audit_watch* watch,
                             const orri_block* block)
{
    const orri_pool* pool = block->pool;
    bool selected =
        system->desc.kind == ORR_DIRECT &&
        (pool != NULL || orri_entries_find(system->query, block->chunk->cluster) != UINT32_MAX);
    bool writable = audit_may_write(world, system, selected, block->type);
    audit_piece piece = {.data = (uint8_t*)(uintptr_t)block->data,
                         .size = block->bytes,
                         .row_size = (uint32_t)(block->bytes / block->rows),
                         .chunk = block->chunk,
                         .column = block->column,
                         .writable = writable,
                         .type = block->type};
    if (pool == NULL) {
        return audit_add(world, watch, piece);
    }
    bool copied = true;
    piece.pool = pool;
    piece.size = pool->size;
    for (uint32_t i = 0; copied && !writable && i < block->rows; i++) {
        piece.slot = (block->number << pool->slot_bits) + i;
        piece.data = orri_pool_at(pool, piece.slot);
        copied = block->owners[i] == ORRI_INDEX_NONE || audit_add(world, watch, piece);
    }
    return copied;
}

static bool audit_copy_states(orr_world* world, const orri_system* system, orri_audit_watch* watch)
{
    bool copied = true;
    for (const orri_system* other = world->schedule->first; copied && other != NULL;
         other = other->next) {
        const orri_system_state* states[2] = {&other->state, &other->exports};
        // Not its own: the state of a parallel system is checked in every tick (state.c).
        for (uint32_t i = 0; copied && other != system && i < 2; i++) {
            if (states[i]->data != NULL) {
                copied = audit_add(world, watch,
                                   (audit_piece){.data = states[i]->data,
                                                 .size = states[i]->type->info.size,
                                                 .row_size = states[i]->type->info.size,
                                                 .owner = other,
                                                 .type = states[i]->type});
            }
        }
    }
    return copied;
}

static void audit_free(orr_world* world, orri_audit_watch* watch)
{
    orri_env* env = &world->env;
    for (uint32_t i = 0; i < watch->count; i++) {
        ORRI_FREE(env, ORR_MEMORY_TEMP, uint8_t, watch->pieces[i].copy, watch->pieces[i].size);
    }
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, watch->pieces, watch->capacity);
    ORRI_FREE(env, ORR_MEMORY_TEMP, orri_audit_watch, watch, 1);
}

orri_audit_watch* orri_audit_begin(orr_world* world, const orri_system* system)
{
    orri_audit_watch* watch = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_TEMP, orri_audit_watch, 1);
    if (watch == NULL) {
        return NULL;
    }
    orri_world_settle(world);
    watch->epoch = orri_epoch_next(world);
    bool copied = audit_copy_states(world, system, watch);
    for (orri_blocks walk = orri_blocks_begin_all(world); copied && orri_blocks_next(&walk);) {
        bool values = walk.block.kind == ORRI_BLOCK_VALUES || walk.block.kind == ORRI_BLOCK_POOL;
        copied = !values || walk.block.bytes == 0 ||
                 audit_copy_block(world, system, watch, &walk.block);
    }
    if (!copied) { // Without memory the system runs unchecked.
        audit_free(world, watch);
        return NULL;
    }
    return watch;
}

// ---- comparing ----------------------------------------------------------------------------------

// Offset of the first difference; SIZE_MAX: none. Padding may be anything.
static size_t audit_difference(const audit_piece* piece)
{
    bool padded = piece->type->info.has_padding;
    size_t step = padded ? piece->type->info.size : 1;
    if (!padded && memcmp(piece->data, piece->copy, piece->size) == 0) {
        return SIZE_MAX;
    }
    for (size_t at = 0; at < piece->size; at += step) {
        if (padded ? orr_value_compare(&piece->type->info, piece->data + at, piece->copy + at) != 0
                   : piece->data[at] != piece->copy[at]) {
            return at;
        }
    }
    return SIZE_MAX;
}

// Reports a violation: which system, value and owner.
static void audit_report(orr_world* world, orri_system* system, const audit_piece* piece, size_t at)
{
    uint32_t row = (uint32_t)(at / piece->row_size);
    if (piece->owner != NULL) {
        orri_refuse_undone(world, system,
                           "system '%s' wrote %s of system '%s', which is not its own (undone); "
                           "data of other systems is read-only",
                           system->desc.name, piece->type->info.name, piece->owner->desc.name);
        return;
    }
    uint32_t index = piece->chunk != NULL ? orri_chunk_ids(piece->chunk)[row]
                                          : orri_pool_owner(piece->pool, piece->slot);
    orr_entity entity = orri_id_make(index, orri_record_at(world, index)->generation);
    orri_id_text id_text = orri_entity_format(world, entity);
    if (!piece->writable && orri_type_written_by_set(piece->type)) {
        orri_refuse_undone(world, system, "system '%s' wrote %s of %s (undone): %s %s",
                           system->desc.name, piece->type->info.name, id_text.text,
                           piece->type->info.name, orri_in_place_hint(piece->type, true));
        return;
    }
    orri_refuse_undone(
        world, system,
        piece->writable
            ? "system '%s' wrote %s of %s through a pointer from an earlier tick or system "
              "(undone); "
              "ask orr_write() for %s in every run"
            : "system '%s' wrote %s of %s, which it did not declare to write (undone); make it "
              "\"write %s\" in its .query or .by_id, and use the pointer that orr_write() or "
              "orr_edit() gives",
        system->desc.name, piece->type->info.name, id_text.text, piece->type->info.name);
}

// True when the system asked for the block to write it: it was stamped in the epoch that began with
// the copies. (A system with `changed` terms has ended that epoch already.)
static bool audit_asked(const orri_audit_watch* watch, const audit_piece* piece)
{
    return piece->writable && piece->chunk->columns[piece->column].version >= watch->epoch;
}

void orri_audit_end(orr_world* world, orri_system* system, orri_audit_watch* watch)
{
    orri_world_settle(world);
    for (uint32_t i = 0; i < watch->count; i++) {
        const audit_piece* piece = &watch->pieces[i];
        size_t at = audit_difference(piece);
        if (at != SIZE_MAX && !audit_asked(watch, piece)) {
            audit_report(world, system, piece, at);
            memcpy(piece->data, piece->copy, piece->size);
        }
    }
    audit_free(world, watch);
}
