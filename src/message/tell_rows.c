// SPDX-License-Identifier: MIT
// Telling, third step: rows. Looks at the chunks whose row ids or enable bits were written since the last tell, at rows whose
// pinned types changed, and, for a reader that is new, at everything. A row whose head is as it was told, in a cluster
// of which each reader selects all rows or none, is passed over with one compare.
//
// Of each row that differs: who had selected it (before) and who does (after). From these follow all messages; once their batches
// are made, head, members and values are noted.
#include "message/told.h"

typedef struct rows_scan {
    orri_telling* tell;
    orri_cluster* cluster;
    orri_shape* shape;
    bool flat;                     // Every reader selects all rows or none.
    bool steady;                   // And was told so.
    bool switches;                 // Somebody is told of switches.
    const uint64_t *always, *some; // Readers that select all rows, and some.
    uint32_t multiple_old;         // For a shape before: instances are listed; 0: for none.
    bool multiple;
    uint64_t *before, *after;
} rows_scan;

// ---- what is there -----------------------------------------------------------------------------------------------

static void rows_match(rows_scan* s, const orri_told_cluster* record)
{
    const struct orri_told* told = s->tell->told;
    uint64_t fresh = 0;
    s->always = orri_match_all(record);
    s->some = orri_match_some(record);
    s->flat = !orri_set_any(s->some, told->words);
    for (uint32_t w = 0; w < told->words; w++) {
        fresh |= s->always[w] & told->fresh[w];
    }
    // Who went back may have been told otherwise: of bits that are not there any more.
    s->steady = s->flat && fresh == 0 && !s->tell->travels;
}

// Of 64 rows, which each reader selects.
static void rows_masks(const rows_scan* s, const orri_chunk* chunk, uint32_t word, uint64_t all)
{
    const struct orri_told* told = s->tell->told;
    for (uint32_t w = 0; w < told->words && !s->flat; w++) {
        for (uint64_t left = s->some[w]; left != 0; left &= left - 1) {
            orri_reader* reader = told->on[w * 64 + (uint32_t)__builtin_ctzll(left)];
            reader->mask = orri_query_mask(
                reader->query, orri_entry_leaves(reader->query, reader->map), chunk, word, all);
        }
    }
}

static void rows_sets(const rows_scan* s, uint32_t bit, uint32_t index, bool known)
{
    const struct orri_told* told = s->tell->told;
    for (uint32_t w = 0; w < told->words; w++) {
        s->before[w] = 0;
        s->after[w] = s->always[w];
        for (uint64_t left = s->flat ? 0 : s->some[w]; left != 0; left &= left - 1) {
            const orri_reader* reader = told->on[w * 64 + (uint32_t)__builtin_ctzll(left)];
            s->after[w] |= (reader->mask >> bit & 1) != 0 ? left & -left : 0;
        }
    }
    for (uint32_t r = 0; known && r < told->on_count; r++) {
        if (orri_bit_get(told->on[r]->members.words, index)) {
            orri_bit_set(s->before, r, true);
        }
    }
}

// True when the entity of a row got or lost a pinned type: one that the reader's query names, or (NULL) any.
static bool rows_gained(const rows_scan* s, const orri_chunk* chunk, uint32_t slot,
                        const orri_reader* reader)
{
    const orri_telling* tell = s->tell;
    bool gained = false;
    for (uint32_t p = 0; tell->gained != NULL && p < tell->pool_count && !gained; p++) {
        const uint64_t* rows = tell->gained[(size_t)p * tell->suspect_count + chunk->id];
        orr_type type = {tell->world->pool_list[p]->type->index1};
        gained = rows != NULL && orri_bit_get(rows, slot) &&
                 (reader == NULL || orri_reader_asks(reader, type));
    }
    return gained;
}

// Of readers that it enters or leaves without having moved: those of which the cause is a pinned type that it got or lost.
// @return how many of them; `*others`: for how many it was switched.
static uint32_t rows_split(const rows_scan* s, const orri_chunk* chunk, uint32_t slot,
                           uint64_t* gained, uint32_t* others)
{
    const struct orri_told* told = s->tell->told;
    uint32_t count = 0;
    *others = 0;
    memset(gained, 0, told->words * sizeof *gained);
    for (uint32_t r = 0; r < told->on_count; r++) {
        if (orri_bit_get(s->before, r) == orri_bit_get(s->after, r)) {
            continue;
        }
        if (rows_gained(s, chunk, slot, told->on[r])) {
            orri_bit_set(gained, r, true);
            count++;
        } else {
            (*others)++;
        }
    }
    return count;
}

// ---- messages of a piece -------------------------------------------------------------------------------------------

static uint64_t* rows_to(const rows_scan* s, uint32_t run)
{
    return s->tell->told->piece.to + (size_t)run * s->tell->told->words;
}

static bool rows_deal_added(const rows_scan* s, bool fresh)
{
    const struct orri_told* told = s->tell->told;
    const orri_piece* piece = &told->piece;
    for (uint32_t i = 0; i < piece->run_count * told->words; i++) {
        uint64_t wanted = fresh ? told->fresh[i % told->words] : ~told->fresh[i % told->words];
        piece->to[i] = piece->after[i] & ~piece->before[i] & wanted;
    }
    return orri_piece_deal(s->tell, &(orri_deal){.kind = ORR_ENTITY_ADDED,
                                                 .shape = s->shape,
                                                 .forced = fresh ? ORR_CAUSE_READER : -1});
}

static bool rows_deal_left(const rows_scan* s)
{
    const struct orri_told* told = s->tell->told;
    const orri_piece* piece = &told->piece;
    for (uint32_t i = 0; i < piece->run_count * told->words; i++) {
        piece->to[i] = piece->before[i] & ~piece->after[i];
    }
    return orri_piece_deal(s->tell, &(orri_deal){.kind = ORR_ENTITY_REMOVED, .forced = -1});
}

// Readers of a set that stay with a run get its message.
static void rows_to_stay(const rows_scan* s, uint32_t run, const uint64_t* set)
{
    const struct orri_told* told = s->tell->told;
    const orri_piece* piece = &told->piece;
    uint64_t* to = rows_to(s, run);
    for (uint32_t w = 0; w < told->words; w++) {
        size_t i = (size_t)run * told->words + w;
        to[w] = set != NULL ? piece->before[i] & piece->after[i] & set[w] : 0;
    }
}

static const orri_shape* rows_old(const rows_scan* s, const orri_run* run)
{
    return run->shape1 != 0 ? orri_shape_at(s->tell->told, run->shape1) : NULL;
}

static bool rows_deal_tags(const rows_scan* s)
{
    const struct orri_told* told = s->tell->told;
    bool any = false;
    for (uint32_t i = 0; i < told->piece.run_count; i++) {
        const orri_shape* old = rows_old(s, &told->piece.runs[i]);
        bool differs = old != NULL && !orri_shape_same_tags(old, s->shape);
        rows_to_stay(s, i, differs ? told->taggers : NULL);
        any = any || differs;
    }
    orr_type tags = orr_type_find(s->tell->world, orr_desc_orr_tags.name);
    return !any || orri_piece_deal(s->tell,
                                   &(orri_deal){.kind = ORR_COMPONENT_CHANGED,
                                                .type = orri_type_at(&s->tell->world->schema, tags),
                                                .shape = s->shape,
                                                .forced = ORR_CAUSE_COMPONENT});
}

// The rows of runs that somebody gets become items: of a multiple type all instances, from the world or as told.
static bool rows_list_instances(const rows_scan* s, const orri_told_type* type, int32_t column)
{
    orri_piece* piece = &s->tell->told->piece;
    piece->item_count = 0;
    for (uint32_t i = 0; i < piece->run_count; i++) {
        orri_run* run = &piece->runs[i];
        run->item = piece->item_count;
        if (!orri_set_any(rows_to(s, i), s->tell->told->words)) {
            continue;
        }
        const orri_told_cell* cell = column < 0 ? orri_told_cell_at(type, run->index) : NULL;
        orri_told_instances now = {0};
        if (column >= 0) {
            now = orri_told_instances_at(run->chunk, (uint32_t)column, run->slot);
        } else if (cell != NULL) {
            now = (orri_told_instances){.count = cell->count, .ids = cell->ids};
        }
        for (uint32_t k = 0; k < now.count; k++) {
            const void* value = column >= 0 ? now.values + (size_t)k * type->type->info.size : NULL;
            if (!orri_piece_item(s->tell->world, piece, now.ids[k], value)) {
                return false;
            }
        }
        run->item_count = piece->item_count - run->item;
    }
    return true;
}

// One type, of the cluster (column) or no longer (-1), in the runs whose shape before lacks or has it.
static bool rows_deal_type(const rows_scan* s, const orri_told_type* type, int32_t column)
{
    const struct orri_told* told = s->tell->told;
    orr_type id = {type->type->index1};
    bool any = false;
    for (uint32_t i = 0; i < told->piece.run_count; i++) {
        orri_run* run = &told->piece.runs[i];
        const orri_shape* old = rows_old(s, run);
        bool differs = old != NULL && orri_shape_has(old, id) != (column >= 0);
        run->column = (uint32_t)column;
        rows_to_stay(s, i, differs ? orri_told_trackers(told, type) : NULL);
        any = any || (differs && orri_set_any(rows_to(s, i), told->words));
    }
    if (!any) {
        return true;
    }
    if (type->multiple && !rows_list_instances(s, type, column)) {
        return false;
    }
    return orri_piece_deal(
        s->tell, &(orri_deal){.kind = column >= 0 ? ORR_COMPONENT_ADDED : ORR_COMPONENT_REMOVED,
                              .type = type->type,
                              .items = type->multiple,
                              .forced = ORR_CAUSE_COMPONENT});
}

static orri_told_type* rows_tracked(const rows_scan* s, orr_type type)
{
    return orri_told_tracked(s->tell->told, orri_type_index(s->tell->world, type));
}

// Types that the entities got. Most pieces have none: their shape was told, or nothing was.
static bool rows_deal_got(const rows_scan* s)
{
    for (uint32_t c = 0; c < s->shape->type_count; c++) {
        const orri_told_type* type = rows_tracked(s, s->shape->types[c]);
        if (type != NULL && !rows_deal_type(s, type, (int32_t)c)) {
            return false;
        }
    }
    return true;
}

// The first type past `after` that some of them lost; null: there is none.
static orr_type rows_next_lost(const rows_scan* s, orr_type after)
{
    const orri_piece* piece = &s->tell->told->piece;
    uint32_t last = 0;
    orr_type next = {0};
    for (uint32_t i = 0; i < piece->run_count; i++) {
        const orri_shape* old = rows_old(s, &piece->runs[i]);
        if (old == NULL || old == s->shape || piece->runs[i].shape1 == last) {
            continue;
        }
        last = piece->runs[i].shape1;
        for (uint32_t t = 0; t < old->type_count; t++) {
            orr_type type = old->types[t];
            if (type.index1 > after.index1 && (next.index1 == 0 || type.index1 < next.index1) &&
                rows_tracked(s, type) != NULL && !orri_shape_has(s->shape, type)) {
                next = type;
            }
        }
    }
    return next;
}

// Types that they lost, in the order of types as those they got: not in the order in which rows show them, since not every
// reader has every row.
static bool rows_deal_lost(const rows_scan* s)
{
    orr_type type = rows_next_lost(s, (orr_type){0});
    while (type.index1 != 0) {
        if (!rows_deal_type(s, rows_tracked(s, type), -1)) {
            return false;
        }
        type = rows_next_lost(s, type);
    }
    return true;
}

// True when some row was told as something else and is still with somebody.
static bool rows_reshaped(const rows_scan* s)
{
    const struct orri_told* told = s->tell->told;
    for (uint32_t i = 0; i < told->piece.run_count; i++) {
        const orri_run* run = &told->piece.runs[i];
        if (run->shape1 != 0 && run->shape1 != s->shape->number1) {
            return true;
        }
    }
    return false;
}

static bool rows_deal(const rows_scan* s)
{
    return rows_deal_added(s, false) && (!s->tell->told->fresh_any || rows_deal_added(s, true)) &&
           (!rows_reshaped(s) || (rows_deal_got(s) && rows_deal_lost(s) &&
                                  (!s->tell->told->tag_any || rows_deal_tags(s)))) &&
           (!s->switches || orri_tell_switches(s->tell, s->shape)) && rows_deal_left(s);
}

// ---- noting ----------------------------------------------------------------------------------------------------------

bool orri_run_stale(const orri_telling* tell, const orri_run* run, const orri_told_type* type)
{
    const struct orri_told* told = tell->told;
    if (!orri_tell_skips(tell, type) || run->shape1 == 0 ||
        !orri_shape_has(orri_shape_at(told, run->shape1), (orr_type){type->type->index1})) {
        return false;
    }
    const uint64_t* trackers = orri_told_trackers(told, type);
    bool known = false;
    for (uint32_t r = 0; r < told->on_count && !known; r++) {
        known = orri_bit_get(trackers, r) && orri_bitset_has(&told->on[r]->members, run->index);
    }
    return known;
}

// True when the value of a type is to be noted: somebody hears of it now, and nobody was told of it before.
static bool rows_notes(const rows_scan* s, uint32_t i, const orri_told_type* type)
{
    const struct orri_told* told = s->tell->told;
    if (ORR_UNLIKELY(orri_run_stale(s->tell, &told->piece.runs[i], type))) {
        return false;
    }
    const uint64_t* before = told->piece.before + (size_t)i * told->words;
    const uint64_t* after = told->piece.after + (size_t)i * told->words;
    const uint64_t* trackers = orri_told_trackers(told, type);
    const orri_shape* old = rows_old(s, &told->piece.runs[i]);
    bool had = old != NULL && (type->pinned || orri_shape_has(old, (orr_type){type->type->index1}));
    bool stays = orri_set_stays(before, after, trackers, told->words);
    return stays ? !had : orri_set_enters(before, after, trackers, told->words);
}

static bool rows_reserve_type(const rows_scan* s, orri_told_type* type, uint32_t column)
{
    const orri_piece* piece = &s->tell->told->piece;
    for (uint32_t i = 0; i < piece->run_count; i++) {
        const orri_run* run = &piece->runs[i];
        if (!rows_notes(s, i, type)) {
            continue;
        }
        const uint16_t* counts =
            type->multiple ? orri_cells_at(run->chunk, column, run->slot).counts : NULL;
        for (uint32_t k = 0; counts != NULL && k < run->count; k++) {
            if (!orri_told_room_cell(s->tell->world, type, run->index + k, counts[k])) {
                return false;
            }
        }
        if (counts == NULL && !orri_told_room(s->tell->world, type, run->index)) {
            return false;
        }
    }
    return true;
}

static bool rows_reserve_pinned(const rows_scan* s, orri_told_type* type, const orri_pool* pool)
{
    const orri_piece* piece = &s->tell->told->piece;
    for (uint32_t i = 0; i < piece->run_count; i++) {
        const orri_run* run = &piece->runs[i];
        bool any = false;
        for (uint32_t k = 0; k < run->count && !any && rows_notes(s, i, type); k++) {
            any = orri_pool_slot1(pool, run->index + k) != 0;
        }
        if (any && !orri_told_room(s->tell->world, type, run->index)) {
            return false;
        }
    }
    return true;
}

static bool rows_reserve(const rows_scan* s)
{
    orr_world* world = s->tell->world;
    for (uint32_t c = 0; c < s->shape->type_count; c++) {
        orri_told_type* type = rows_tracked(s, s->shape->types[c]);
        if (type != NULL && !rows_reserve_type(s, type, c)) {
            return false;
        }
    }
    for (uint32_t p = 0; p < world->pool_count; p++) {
        const orri_pool* pool = world->pool_list[p];
        orri_told_type* type = rows_tracked(s, (orr_type){pool->type->index1});
        if (type != NULL && pool->live > 0 && !rows_reserve_pinned(s, type, pool)) {
            return false;
        }
    }
    return true;
}

static void rows_keep_type(const orri_run* run, orri_told_type* type, uint32_t column)
{
    if (!type->multiple) {
        orri_told_put(type, run->index, orri_cells_at(run->chunk, column, run->slot).data,
                      run->count);
        return;
    }
    for (uint32_t k = 0; k < run->count; k++) {
        orri_told_instances now = orri_told_instances_at(run->chunk, column, run->slot + k);
        orri_told_put_cell(type, run->index + k, &now);
    }
}

static void rows_keep_pinned(const rows_scan* s, const orri_run* run, orri_told_type* type,
                             const orri_pool* pool)
{
    for (uint32_t k = 0; k < run->count; k++) {
        const uint8_t* value = orri_pool_get(pool, run->index + k);
        if (value != NULL) {
            orri_told_put(type, run->index + k, value, 1);
        } else {
            orri_told_drop(s->tell->world, type, run->index + k);
        }
    }
}

// What the entities of a run no longer have is no longer told.
static void rows_keep_lost(const rows_scan* s, const orri_run* run)
{
    const orri_shape* old = rows_old(s, run);
    for (uint32_t t = 0; old != NULL && old != s->shape && t < old->type_count; t++) {
        orri_told_type* type = rows_tracked(s, old->types[t]);
        if (type != NULL && !orri_shape_has(s->shape, old->types[t])) {
            for (uint32_t k = 0; k < run->count; k++) {
                orri_told_drop(s->tell->world, type, run->index + k);
            }
        }
    }
}

static void rows_keep_values(const rows_scan* s, uint32_t i)
{
    const orri_run* run = &s->tell->told->piece.runs[i];
    const orr_world* world = s->tell->world;
    for (uint32_t c = 0; c < s->shape->type_count; c++) {
        orri_told_type* type = rows_tracked(s, s->shape->types[c]);
        if (type != NULL && rows_notes(s, i, type)) {
            rows_keep_type(run, type, c);
        }
    }
    for (uint32_t p = 0; p < world->pool_count; p++) {
        const orri_pool* pool = world->pool_list[p];
        orri_told_type* type = rows_tracked(s, (orr_type){pool->type->index1});
        if (type != NULL && rows_notes(s, i, type)) {
            rows_keep_pinned(s, run, type, pool);
        }
    }
}

static void rows_keep_heads(const rows_scan* s, const orri_run* run)
{
    struct orri_told* told = s->tell->told;
    if (run->shape1 == s->shape->number1) {
        return;
    }
    orri_head* heads = orri_head_at(told, run->index);
    const orri_record* records = orri_record_at(s->tell->world, run->index);
    for (uint32_t k = 0; k < run->count; k++) {
        heads[k] = (orri_head){records[k].generation, s->shape->number1};
    }
    s->shape->refs += run->count;
    *orri_heads_known(told, run->index) += run->shape1 == 0 ? run->count : 0;
    if (run->shape1 != 0) {
        orri_shape_release(s->tell->world, told, orri_shape_at(told, run->shape1), run->count);
    }
}

static void rows_keep_members(const rows_scan* s, uint32_t i)
{
    struct orri_told* told = s->tell->told;
    const orri_run* run = &told->piece.runs[i];
    for (uint32_t w = 0; w < told->words; w++) {
        uint64_t before = told->piece.before[(size_t)i * told->words + w];
        uint64_t after = told->piece.after[(size_t)i * told->words + w];
        for (uint64_t left = before ^ after; left != 0; left &= left - 1) {
            uint32_t bit = (uint32_t)__builtin_ctzll(left);
            orri_reader* reader = told->on[w * 64 + bit];
            bool enters = (after >> bit & 1) != 0;
            orri_bits_fill(reader->members.words, run->index, run->count, enters);
        }
    }
}

static bool rows_flush(const rows_scan* s)
{
    orri_piece* piece = &s->tell->told->piece;
    if (piece->run_count == 0) {
        return true;
    }
    if (!rows_reserve(s) || !rows_deal(s)) {
        return false;
    }
    for (uint32_t i = 0; i < piece->run_count; i++) {
        const orri_run* run = &piece->runs[i];
        rows_keep_lost(s, run);
        rows_keep_values(s, i);
        if (s->switches) {
            orri_tell_switches_keep(s->tell, s->shape, run);
        }
        rows_keep_members(s, i);
        rows_keep_heads(s, run); // Last: it may end the shape before.
    }
    orri_piece_keep(s->tell);
    return true;
}

// ---- looking ------------------------------------------------------------------------------------------------------------

// True when a shape has a multiple type that somebody tracks: then runs are of one row, since instances are listed by row.
static bool rows_multiple(const rows_scan* s, const orri_shape* shape)
{
    bool found = false;
    for (uint32_t t = 0; t < shape->type_count && !found; t++) {
        const orri_told_type* type = rows_tracked(s, shape->types[t]);
        found = type != NULL && type->multiple;
    }
    return found;
}

static bool rows_alone(rows_scan* s, uint32_t old)
{
    if (s->multiple_old != old) { // Mostly rows come from one shape after another.
        s->multiple_old = old;
        s->multiple = rows_multiple(s, s->shape) ||
                      rows_multiple(s, orri_shape_at(s->tell->told, old));
    }
    return s->multiple;
}

// A row that differs. If it is switched for some and gains a pinned type for others it is two runs, since causes differ.
static bool rows_push(const rows_scan* s, orri_run* run, bool moved)
{
    struct orri_told* told = s->tell->told;
    uint32_t words = told->words, others = 0;
    if (!orri_piece_room(s->tell)) {
        return false;
    }
    if (run->shape1 != 0 && !moved && rows_gained(s, run->chunk, run->slot, NULL)) {
        uint64_t *gained = told->set, *part = told->set + words; // Both free until it is dealt.
        run->cause = rows_split(s, run->chunk, run->slot, gained, &others) > 0 ? ORR_CAUSE_COMPONENT
                                                                               : ORR_CAUSE_ENABLED;
        if (run->cause == ORR_CAUSE_COMPONENT && others > 0) {
            for (uint32_t w = 0; w < words; w++) {
                part[w] = s->after[w] & gained[w];
                s->after[w] &= ~gained[w];
                gained[w] &= s->before[w];
                s->before[w] &= ~gained[w];
            }
            orri_piece_push(told, run, gained, part);
            run->cause = ORR_CAUSE_ENABLED;
            run->shape1 = s->shape->number1; // The first has noted that by then.
        }
    }
    orri_piece_push(told, run, s->before, s->after);
    return true;
}

static orr_cause rows_cause(bool known, bool moved)
{
    if (!known) {
        return ORR_CAUSE_CREATED;
    }
    return moved ? ORR_CAUSE_COMPONENT : ORR_CAUSE_ENABLED;
}

static bool rows_row(rows_scan* s, orri_chunk* chunk, uint32_t slot)
{
    const struct orri_told* told = s->tell->told;
    uint32_t index = orri_chunk_ids(chunk)[slot];
    const orri_record* record = orri_record_at(s->tell->world, index);
    const orri_head* head = orri_head_at(told, index);
    bool known = head->generation == record->generation;
    bool same = known && head->shape1 == s->shape->number1;
    orri_switching switched = s->switches ? orri_tell_switched(s->tell, chunk, slot, index)
                                          : ORRI_SWITCH_ON;
    if (same && s->steady && switched != ORRI_SWITCH_DIFFERS) {
        return true;
    }
    rows_sets(s, slot & 63, index, known);
    if (same && switched != ORRI_SWITCH_DIFFERS &&
        orri_set_equal(s->before, s->after, told->words)) {
        return true;
    }
    bool moved = known && !same && !orri_shape_same(orri_shape_at(told, head->shape1), s->shape);
    return rows_push(s,
                     &(orri_run){.chunk = chunk,
                                 .slot = slot,
                                 .index = index,
                                 .count = 1,
                                 .shape1 = known ? head->shape1 : 0,
                                 .cause = (uint8_t)rows_cause(known, moved),
                                 .source = orri_tell_source(s->tell, index),
                                 .alone = switched != ORRI_SWITCH_ON ||
                                          (known && !same && rows_alone(s, head->shape1)),
                                 .switched = switched != ORRI_SWITCH_ON},
                     moved);
}

// How many rows from here on, at most `most`, are of new entities with indexes that follow each other: what bulk creation
// leaves behind.
static uint32_t rows_count_new(const rows_scan* s, const orri_chunk* chunk, uint32_t slot,
                               uint32_t most)
{
    const uint32_t* ids = orri_chunk_ids(chunk) + slot;
    const orri_head* heads = orri_head_at(s->tell->told, ids[0]);
    uint32_t room = ORRI_TOLD_SIZE - (ids[0] & ORRI_TOLD_MASK), n = 0;
    most = s->tell->by_commit ? 1 : most < room ? most : room;
    bool none = *orri_heads_known(s->tell->told, ids[0]) == 0;
    while (n < most && ids[n] == ids[0] + n && (none || heads[n].generation == 0)) {
        n++;
    }
    return n;
}

static bool rows_push_new(rows_scan* s, orri_chunk* chunk, uint32_t slot, uint32_t count)
{
    struct orri_told* told = s->tell->told;
    uint32_t index = orri_chunk_ids(chunk)[slot];
    memset(s->before, 0, told->words * sizeof *s->before);
    if (!orri_piece_room(s->tell)) {
        return false;
    }
    orri_piece_push(told,
                    &(orri_run){.chunk = chunk,
                                .slot = slot,
                                .index = index,
                                .count = count,
                                .cause = ORR_CAUSE_CREATED,
                                .source = orri_tell_source(s->tell, index)},
                    s->before, s->always);
    return true;
}

static bool rows_word(rows_scan* s, orri_chunk* chunk, uint32_t word, uint64_t wanted)
{
    uint32_t rows = orri_chunk_rows(chunk) - word * 64;
    rows_masks(s, chunk, word, rows < 64 ? ((uint64_t)1 << rows) - 1 : UINT64_MAX);
    for (uint64_t left = wanted; left != 0;) {
        uint32_t bit = (uint32_t)__builtin_ctzll(left), slot = word * 64 + bit;
        uint64_t gap = ~(left >> bit);
        uint32_t most = gap != 0 ? (uint32_t)__builtin_ctzll(gap) : 64;
        uint32_t count = s->flat && !s->switches ? rows_count_new(s, chunk, slot, most) : 0;
        if (!(count > 0 ? rows_push_new(s, chunk, slot, count) : rows_row(s, chunk, slot))) {
            return false;
        }
        uint32_t next = bit + (count > 0 ? count : 1);
        left &= next < 64 ? UINT64_MAX << next : 0;
    }
    return true;
}

// Whether a row can be selected now that was not, or the other way round, without having moved: something was switched; or a
// row whose instances are all off got one that is on, which writes no bit.
static bool rows_bits_written(const rows_scan* s, const orri_chunk* chunk)
{
    const orri_cluster* cluster = s->cluster;
    uint64_t mark = s->tell->told->row_mark;
    bool written = false;
    for (uint32_t c = 0; cluster->has_bits && c <= cluster->type_count; c++) {
        uint32_t counts = c < cluster->type_count ? cluster->columns[c].counts : 0;
        written = written || chunk->columns[cluster->column_count + c].version > mark ||
                  (counts != 0 && chunk->columns[counts].version > mark);
    }
    return written;
}

static bool rows_chunk(rows_scan* s, orri_chunk* chunk, bool all)
{
    const orri_telling* tell = s->tell;
    uint32_t rows = orri_chunk_rows(chunk);
    const uint64_t* suspects = tell->suspects != NULL ? tell->suspects[chunk->id] : NULL;
    all = all || chunk->columns[s->cluster->type_count].version > tell->told->row_mark ||
          rows_bits_written(s, chunk);
    for (uint32_t word = 0; word * 64 < rows && (all || suspects != NULL); word++) {
        uint32_t left = rows - word * 64;
        uint64_t wanted = left < 64 ? ((uint64_t)1 << left) - 1 : UINT64_MAX;
        wanted &= all ? UINT64_MAX : suspects[word];
        if (wanted != 0 && !rows_word(s, chunk, word, wanted)) {
            return false;
        }
    }
    return true;
}

// True when a reader that must be told of everything selects rows of the cluster.
static bool rows_for_fresh(const rows_scan* s)
{
    const struct orri_told* told = s->tell->told;
    uint64_t any = 0;
    for (uint32_t w = 0; told->fresh_any && w < told->words; w++) {
        any |= told->fresh[w] & (s->always[w] | s->some[w]);
    }
    return any != 0;
}

static bool rows_cluster(rows_scan* s, orri_cluster* cluster)
{
    const struct orri_told* told = s->tell->told;
    if (cluster->row_count == 0 ||
        (cluster->columns[cluster->type_count].version <= told->row_mark && !cluster->has_bits &&
         !told->fresh_any && s->tell->suspects == NULL && !s->tell->travels)) {
        return true;
    }
    const orri_told_cluster* record = orri_told_match(s->tell, cluster);
    if (record == NULL) {
        return false;
    }
    s->cluster = cluster;
    s->shape = record->shape;
    s->multiple_old = 0;
    rows_match(s, record);
    bool all = rows_for_fresh(s) || record->rebit;
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        if ((orri_section_ends(s->tell, orri_section(0, i)) && !rows_flush(s)) ||
            !rows_chunk(s, cluster->chunks[i], all)) {
            return false;
        }
    }
    return rows_flush(s);
}

bool orri_tell_rows(orri_telling* tell)
{
    struct orri_told* told = tell->told;
    rows_scan s = {.tell = tell,
                   .switches = told->switch_any,
                   .before = told->set + 2 * told->words,
                   .after = told->set + 3 * told->words};
    bool done = true;
    for (orri_cluster* c = tell->world->cluster_first; done && c != NULL; c = c->next) {
        done = rows_cluster(&s, c);
    }
    return done;
}
