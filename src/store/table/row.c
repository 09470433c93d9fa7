// SPDX-License-Identifier: MIT
// One row moves to another cluster, or is removed. Everything that may be refused is done first:
// room in the target, copies of shared blocks, construct and copy hooks. Then nothing can fail:
// values are moved, the cluster's last row fills the gap, and both records are written.
#include "store/relation/relation.h"

// ---- enable bits --------------------------------------------------------------------------------

// True when the source column has enable bits and the target column has none.
static bool row_bits_needed(const orri_transition* transition, uint32_t from, uint32_t to)
{
    return transition->from->columns[from].has_bits && !transition->to->columns[to].has_bits;
}

bool orri_transition_prepare_bits(orr_world* world, const orri_transition* transition)
{
    if (ORR_LIKELY(!transition->from->has_bits)) {
        return true;
    }
    for (uint32_t i = 0; i < transition->kept_count; i++) {
        if (row_bits_needed(transition, transition->kept[i].from, transition->kept[i].to) &&
            !orri_cluster_add_bits(world, transition->to, transition->kept[i].to)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < transition->resized_count; i++) {
        if (row_bits_needed(transition, transition->resized[i].from, transition->resized[i].to) &&
            !orri_cluster_add_bits(world, transition->to, transition->resized[i].to)) {
            return false;
        }
    }
    return !row_bits_needed(transition, transition->from->type_count, transition->to->type_count) ||
           orri_cluster_add_bits(world, transition->to, transition->to->type_count);
}

// Copies the enable bits of `count` rows of one column.
static void row_bits_column(orri_chunk* to, uint32_t to_column, uint32_t to_slot, orri_chunk* from,
                            uint32_t from_column, uint32_t from_slot, uint32_t count)
{
    uint64_t* target = (uint64_t*)(void*)orri_chunk_bits(to, to_column)->data;
    const uint64_t* source = (const uint64_t*)(void*)orri_chunk_bits(from, from_column)->data;
    uint32_t to_shift = to->cluster->columns[to_column].shift;
    uint32_t from_shift = from->cluster->columns[from_column].shift;
    if (target == NULL || source == NULL) {
        return;
    }
    if (ORR_LIKELY(to_shift == from_shift)) {
        orri_bits_copy(target, to_slot << to_shift, source, from_slot << from_shift,
                       count << to_shift);
        return;
    }
    // Bits past the last instance are on in both, so only the bits that both have room for are
    // copied.
    uint32_t both = 1u << (to_shift < from_shift ? to_shift : from_shift);
    for (uint32_t i = 0; i < count; i++) {
        orri_bits_copy(target, (to_slot + i) << to_shift, source, (from_slot + i) << from_shift,
                       both);
    }
}

void orri_transition_move_bits(const orri_transition* transition, orri_chunk* to, uint32_t to_slot,
                               orri_chunk* from, uint32_t from_slot, uint32_t count)
{
    for (uint32_t c = 0; c <= transition->to->type_count; c++) {
        uint64_t* target = (uint64_t*)(void*)orri_chunk_bits(to, c)->data;
        uint32_t shift = transition->to->columns[c].shift;
        if (target != NULL) {
            orri_bits_fill(target, to_slot << shift, count << shift, true);
        }
    }
    for (uint32_t i = 0; i < transition->resized_count; i++) {
        row_bits_column(to, transition->resized[i].to, to_slot, from, transition->resized[i].from,
                        from_slot, count);
    }
    for (uint32_t i = 0; i < transition->kept_count; i++) {
        row_bits_column(to, transition->kept[i].to, to_slot, from, transition->kept[i].from,
                        from_slot, count);
    }
    row_bits_column(to, transition->to->type_count, to_slot, from, transition->from->type_count,
                    from_slot, count);
}

// ---- constructing values ------------------------------------------------------------------------

void orri_column_destruct(orri_cluster* cluster, uint32_t column, uint32_t first, uint32_t count)
{
    const orri_type* type = cluster->columns[column].type;
    while (count > 0 && !type->plain) {
        uint32_t slot = first & ORRI_SLOT_MASK;
        uint32_t run = ORR_CHUNK_CAPACITY - slot < count ? ORR_CHUNK_CAPACITY - slot : count;
        orri_cells_destruct(orri_cells_at(orri_cluster_chunk_of(cluster, first), column, slot),
                            run);
        first += run;
        count -= run;
    }
}

bool orri_column_construct(orri_cluster* cluster, uint32_t column, uint32_t first, uint32_t count)
{
    uint32_t done = 0;
    while (done < count) {
        uint32_t slot = (first + done) & ORRI_SLOT_MASK;
        uint32_t left = count - done;
        uint32_t run = ORR_CHUNK_CAPACITY - slot < left ? ORR_CHUNK_CAPACITY - slot : left;
        if (!orri_cells_make(orri_cluster_chunk_of(cluster, first + done), column, slot, run,
                             NULL)) {
            orri_column_destruct(cluster, column, first, done);
            return false;
        }
        done += run;
    }
    return true;
}

// Constructs the value of an added column: a copy of `value`, or the preset.
static inline bool row_make_value(orri_chunk* chunk, uint32_t column, uint32_t slot,
                                  const void* value)
{
    const orri_cluster_column* entry = &chunk->cluster->columns[column];
    if (value != NULL && entry->type->trivial && !entry->type->info.has_padding &&
        entry->counts == 0) {
        orri_value_move(chunk->columns[column].data + (size_t)slot * entry->size, value,
                        entry->size);
        return true;
    }
    return orri_cells_make(chunk, column, slot, 1, value);
}

// Constructs the values of the added columns until a hook refuses. Returns how many were made.
static uint32_t row_make_new(const orri_transition* transition, orri_chunk* target, uint32_t slot,
                             const orri_type* value_type, const void* value)
{
    uint32_t i = 0;
    for (; i < transition->new_count; i++) {
        uint32_t c = transition->added[i];
        const orri_type* type = transition->to->columns[c].type;
        if (ORR_UNLIKELY(!row_make_value(target, c, slot, type == value_type ? value : NULL))) {
            break;
        }
    }
    return i;
}

// The first `made` values were made; then a hook refused, or there was no room for their links.
ORRI_COLD static orr_result row_refuse_new(orr_world* world, const char* call,
                                           const orri_transition* transition, orri_chunk* target,
                                           uint32_t made)
{
    orri_cluster* to = transition->to;
    for (uint32_t i = made; i-- > 0;) {
        orri_column_destruct(to, transition->added[i], to->row_count, 1);
    }
    orri_rows_close(target, to->row_count & ORRI_SLOT_MASK, 1);
    orri_cluster_trim(world, to);
    return made < transition->new_count
               ? orri_refuse_hook(world, call, to->columns[transition->added[made]].type)
               : orri_refuse_memory(&world->env, "linking indexed references");
}

// ---- moving and removing ------------------------------------------------------------------------

bool orri_row_prepare_remove(orr_world* world, orri_chunk* chunk, uint32_t index)
{
    const orri_cluster* cluster = chunk->cluster;
    uint32_t last_row = cluster->row_count - 1;
    orri_chunk* last = orri_cluster_chunk_of(cluster, last_row);
    if (ORR_LIKELY((chunk->share_count | last->share_count | world->index.share_count) == 0)) {
        return true;
    }
    uint32_t last_slot = last_row & ORRI_SLOT_MASK, last_index = orri_chunk_ids(last)[last_slot];
    uint32_t slot = orri_place_slot(orri_record_at(world, index)->place);
    return orri_chunk_prepare_rows(world, chunk, slot, 1) &&
           orri_chunk_prepare_rows(world, last, last_slot, 1) && orri_index_prepare(world, index) &&
           orri_index_prepare(world, last_index);
}

void orri_row_remove(orr_world* world, orri_chunk* chunk, uint32_t slot)
{
    orri_cluster* cluster = chunk->cluster;
    uint32_t last_row = cluster->row_count - 1;
    uint32_t last_slot = last_row & ORRI_SLOT_MASK;
    orri_chunk* last = orri_cluster_chunk_of(cluster, last_row);
    orri_chunk_stamp_rows(world, chunk);
    if (last != chunk || last_slot != slot) {
        orri_chunk_stamp_rows(world, last);
        orri_row_relocate(world, chunk, slot, last, last_slot);
    }
    cluster->row_count = last_row;
    orri_rows_close(last, last_slot, 1);
    if (ORR_UNLIKELY(last_slot == 0)) {
        orri_cluster_trim(world, cluster);
    }
}

// Moves the values of kept and resized columns.
static void row_keep(const orri_transition* transition, orri_chunk* target, uint32_t target_slot,
                     orri_chunk* chunk, uint32_t slot)
{
    for (uint32_t i = 0; i < transition->kept_count; i++) {
        orri_transition_pair pair = transition->kept[i];
        const orri_type* type = transition->plain ? NULL
                                                  : transition->from->columns[pair.from].type;
        if (ORR_LIKELY(type == NULL || type->plain)) {
            orri_value_move(target->columns[pair.to].data + (size_t)target_slot * pair.size,
                            chunk->columns[pair.from].data + (size_t)slot * pair.size, pair.size);
        } else {
            orri_cells_move(orri_cells_at(target, pair.to, target_slot),
                            orri_cells_at(chunk, pair.from, slot), 1);
        }
    }
    if (ORR_UNLIKELY(transition->resized_count > 0)) {
        orri_cells_resize(transition, target, target_slot, chunk, slot, 1);
    }
}

// Destructs the values of dropped columns.
static void row_drop(const orri_transition* transition, orri_chunk* chunk, uint32_t slot)
{
    for (uint32_t i = 0; !transition->dropped_plain && i < transition->dropped_count; i++) {
        orri_cells_destruct(orri_cells_at(chunk, transition->dropped[i], slot), 1);
    }
}

// Fills the row behind the last one of the target with the values of a row, and enters its links.
// Everything is prepared; only hooks and links may still be refused.
ORRI_NOINLINE static orr_result row_fill(orr_world* world, const char* call,
                                         const orri_transition* transition, orri_chunk* chunk,
                                         uint32_t slot, const orri_type* value_type,
                                         const void* value)
{
    orri_cluster* to = transition->to;
    uint32_t row = to->row_count, target_slot = row & ORRI_SLOT_MASK;
    uint32_t index = orri_chunk_ids(chunk)[slot];
    orri_chunk* target = orri_cluster_chunk_of(to, row);
    orri_rows_open(target, target_slot, 1);
    uint32_t made = row_make_new(transition, target, target_slot, value_type, value);
    if (ORR_UNLIKELY(
            made < transition->new_count ||
            (transition->indexed && !orri_relation_prepare_move(world, transition, row, index)))) {
        return row_refuse_new(world, call, transition, target, made);
    }
    orri_chunk_stamp_rows(world, target);
    row_keep(transition, target, target_slot, chunk, slot);
    row_drop(transition, chunk, slot);
    orri_chunk_ids(target)[target_slot] = index;
    if (ORR_UNLIKELY(to->has_bits)) {
        orri_transition_move_bits(transition, target, target_slot, chunk, slot, 1);
    }
    if (transition->indexed) {
        orri_relation_moved(world, transition, row, index);
    }
    to->row_count = row + 1;
    return ORR_OK;
}

// The same along a transition that is `words`, when the target was stamped: no hook, no link and no
// call.
static inline void row_fill_words(const orri_transition* transition, orri_chunk* target,
                                  uint32_t row, const orri_chunk* chunk, uint32_t slot,
                                  const orri_type* value_type, const void* value)
{
    orri_cluster* to = transition->to;
    uint32_t target_slot = row & ORRI_SLOT_MASK;
    orri_rows_open(target, target_slot, 1);
    for (uint32_t i = 0; i < transition->new_count; i++) {
        uint32_t c = transition->added[i];
        bool given = value != NULL && to->columns[c].type == value_type;
        orri_value_move_short(target->columns[c].data, target_slot, given ? value : orri_zeros, 0,
                              to->sizes[c]);
    }
    const orri_transition_pair *pair = transition->kept, *end = pair + transition->kept_count;
    for (; pair < end; pair++) {
        orri_value_move_short(target->columns[pair->to].data, target_slot,
                              chunk->columns[pair->from].data, slot, pair->size);
    }
    orri_chunk_ids(target)[target_slot] = orri_chunk_ids(chunk)[slot];
    to->row_count = row + 1;
}

// Prepares a row's move: room, copies of shared blocks, enable bits.
static orr_result row_prepare(orr_world* world, const char* call, const orri_transition* transition,
                              uint32_t index)
{
    orri_cluster* to = transition->to;
    if (ORR_UNLIKELY(to->row_count == to->row_capacity) && !orri_cluster_reserve(world, to, 1)) {
        return orri_refuse_room(world, call);
    }
    orri_chunk* chunk = orri_place_chunk(world, orri_record_at(world, index)->place);
    orri_chunk* target = orri_cluster_chunk_of(to, to->row_count);
    if (!orri_transition_prepare_bits(world, transition) ||
        !orri_chunk_prepare_rows(world, target, to->row_count & ORRI_SLOT_MASK, 1) ||
        !orri_row_prepare_remove(world, chunk, index)) {
        orri_cluster_trim(world, to);
        return orri_refuse_memory(&world->env, "preparing to move a row");
    }
    return ORR_OK;
}

// Prepares and moves a row. The value is copied first, because it may be in a block of the world
// that moves when the target cluster grows.
ORRI_COLD static orr_result row_prepare_and_move(orr_world* world, const char* call,
                                                 const orri_transition* transition, uint32_t index,
                                                 const orri_type* value_type, const void* value)
{
    _Alignas(ORRI_BLOCK_ALIGN) uint8_t small[256];
    size_t size = value != NULL ? value_type->info.size : 0;
    uint8_t* kept = small;
    if (size > sizeof small) {
        kept = orri_alloc(&world->env, ORR_MEMORY_TEMP, size, ORRI_BLOCK_ALIGN);
        if (kept == NULL) {
            return orri_refuse_memory(&world->env, "copying a value");
        }
    }
    if (size > 0) {
        memcpy(kept, value, size);
    }
    orr_result result = row_prepare(world, call, transition, index);
    uint32_t place = orri_record_at(world, index)->place, slot = orri_place_slot(place);
    orri_chunk* chunk = orri_place_chunk(world, place);
    uint32_t row = transition->to->row_count;
    if (result == ORR_OK) {
        result =
            row_fill(world, call, transition, chunk, slot, value_type, value != NULL ? kept : NULL);
    }
    if (ORR_LIKELY(result == ORR_OK)) {
        orri_row_remove(world, chunk, slot);
        orri_index_write(world, index)->place =
            orri_place_make(orri_cluster_chunk_of(transition->to, row), row & ORRI_SLOT_MASK);
    }
    if (size > sizeof small) {
        orri_free(&world->env, ORR_MEMORY_TEMP, kept, size, ORRI_BLOCK_ALIGN);
    }
    return result;
}

// Most rows need no preparation: there is room, and all that will be written was stamped in this
// epoch, so it is not shared.
orr_result orri_move_one(orr_world* world, const char* call, const orri_transition* transition,
                         orri_record* record, const orri_type* value_type, const void* value)
{
    orri_cluster *to = transition->to, *from = transition->from;
    uint32_t place = record->place, slot = orri_place_slot(place);
    uint32_t row = to->row_count, last_row = from->row_count - 1;
    orri_chunk* chunk = orri_place_chunk(world, place);
    orri_chunk* last = orri_cluster_chunk_of(from, last_row);
    uint32_t last_index = last->ids[last_row & ORRI_SLOT_MASK], index = chunk->ids[slot];
    orri_chunk* target = NULL;
    if (ORR_LIKELY(!from->has_bits && orri_row_stamped(world, chunk, last, index, last_index))) {
        target = orri_cluster_ready(world, to, row);
        if (target == NULL && orri_parked_ready(world, to)) {
            target = orri_cluster_chunk_of(to, row);
        }
    }
    if (ORR_UNLIKELY(target == NULL)) {
        return row_prepare_and_move(world, call, transition, index, value_type, value);
    }
    if (ORR_LIKELY(transition->words && !to->has_bits)) {
        row_fill_words(transition, target, row, chunk, slot, value_type, value);
    } else {
        orr_result result = row_fill(world, call, transition, chunk, slot, value_type, value);
        if (ORR_UNLIKELY(result != ORR_OK)) {
            return result;
        }
    }
    if (ORR_UNLIKELY(!from->direct)) {
        orri_row_remove(world, chunk, slot);
        record->place = orri_place_make(target, row & ORRI_SLOT_MASK);
        return ORR_OK;
    }
    record->place = orri_place_make(target, row & ORRI_SLOT_MASK);
    return orri_row_close_gap(world, from, chunk, place, last, last_row, last_index);
}
