// SPDX-License-Identifier: MIT
// Logs of rows, and shares that lean on each other. See row_log.h for what they promise.
#include "store/cow/row_log.h"

#include "store/world/access.h"

#define ROW_LOG_MIN 8 // Rows there is room for at first.

// Which rows of a block, or records of a page.
typedef struct row_log_set {
    uint64_t words[ORRI_PAGE_SIZE / 64];
} row_log_set;
_Static_assert(ORRI_PAGE_SIZE >= ORR_CHUNK_CAPACITY && ORRI_PAGE_SIZE <= UINT16_MAX + 1,
               "a set has room for all rows, and a log for their numbers");

// ---- memory --------------------------------------------------------------------------------------------------

static size_t row_log_size(uint32_t capacity, uint32_t row_size)
{
    return sizeof(orri_row_log) + (((size_t)capacity * row_size + 1) & ~(size_t)1) +
           capacity * sizeof(uint16_t);
}

static uint16_t* row_log_rows(orri_row_log* undo)
{
    return (uint16_t*)(uintptr_t)orri_row_log_rows(undo);
}

static uint8_t* row_log_value(orri_row_log* undo, uint32_t i)
{
    return undo->values + (size_t)i * undo->row_size;
}

static orri_row_log* row_log_make(orr_world* world, uint32_t capacity, uint32_t row_size)
{
    orri_row_log* undo = orri_alloc(&world->env, ORR_MEMORY_SHARE, row_log_size(capacity, row_size),
                                    ORRI_BLOCK_ALIGN);
    if (undo == NULL) {
        orri_refusal_pardon(&world->env);
        return NULL;
    }
    *undo = (orri_row_log){.capacity = capacity, .row_size = row_size};
    return undo;
}

static void row_log_free(orr_world* world, orri_row_log* undo)
{
    if (undo != NULL) {
        orri_free(&world->env, ORR_MEMORY_SHARE, undo, row_log_size(undo->capacity, undo->row_size),
                  ORRI_BLOCK_ALIGN);
    }
}

static uint32_t row_log_words(const orri_share* share)
{
    return (share->rows + 63) / 64;
}

static void row_log_marks_drop(orr_world* world, orri_share* share)
{
    if (share->marks != NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_SHARE, uint64_t, share->marks, row_log_words(share));
        share->marks = NULL;
    }
}

void orri_row_log_drop(orr_world* world, orri_share* share)
{
    row_log_free(world, share->undo);
    share->undo = NULL;
    row_log_marks_drop(world, share);
}

size_t orri_row_log_bytes(const orri_share* share)
{
    const orri_row_log* undo = share->undo;
    return (undo != NULL ? row_log_size(undo->capacity, undo->row_size) : 0) +
           (share->marks != NULL ? row_log_words(share) * sizeof *share->marks : 0);
}

// ---- logging -------------------------------------------------------------------------------------------------

void orri_row_log_allow(const orr_world* world, orri_share* share)
{
    bool plain = share->row_size > 0 && (share->type == NULL || share->type->plain);
    share->log_max = plain && share->size >= world->cow.row_log_least
                         ? share->rows >> world->cow.row_log_shift
                         : 0;
}

static bool row_log_marks_ready(orr_world* world, orri_share* share)
{
    if (ORR_LIKELY(share->marks != NULL)) {
        return true;
    }
    share->marks = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, uint64_t, row_log_words(share));
    if (share->marks == NULL) {
        orri_refusal_pardon(&world->env);
        return false;
    }
    for (uint32_t i = 0; share->undo != NULL && i < share->undo->count; i++) {
        orri_bit_set(share->marks, row_log_rows(share->undo)[i], true);
    }
    return true;
}

// Room for one more. The first time as much as the log before took.
static bool row_log_room(orr_world* world, orri_share* share)
{
    uint32_t limit = share->log_max;
    orri_row_log* undo = share->undo;
    const orri_row_log* last = share->lean_first != NULL ? share->lean_first->undo : NULL;
    uint32_t capacity = undo != NULL   ? undo->capacity * 2
                        : last != NULL ? last->count + last->count / 4
                                       : 0;
    capacity = capacity < ROW_LOG_MIN ? ROW_LOG_MIN : capacity;
    orri_row_log* more = row_log_make(world, capacity < limit ? capacity : limit, share->row_size);
    if (more == NULL) {
        return false;
    }
    if (undo != NULL) {
        memcpy(more->values, undo->values, (size_t)undo->count * undo->row_size);
        memcpy(row_log_rows(more), row_log_rows(undo), undo->count * sizeof(uint16_t));
        more->count = undo->count;
        row_log_free(world, undo);
    }
    share->undo = more;
    return true;
}

bool orri_row_log_add(orr_world* world, orri_share* share, uint32_t slot, uint32_t count)
{
    // Shares are counted on the floor, as in orri_share_detach_column().
    ORR_ASSERT(!world->realtime || orri_here_now.world != world || orri_here_now.clock == NULL);
    uint32_t limit = ORR_LIKELY(share->kind == ORRI_SHARE_HISTORY) ? share->log_max : 0;
    // Rows that came since are not the holder's. That something was written a log says, even one without rows.
    uint32_t end = slot + count < share->rows ? slot + count : share->rows;
    if (limit == 0 || count > limit || !row_log_marks_ready(world, share) ||
        (share->undo == NULL && !row_log_room(world, share))) {
        return false;
    }
    for (uint32_t row = slot; row < end; row++) {
        if (orri_bit_get(share->marks, row)) {
            continue;
        }
        if (share->undo->count == share->undo->capacity &&
            (share->undo->count >= limit || !row_log_room(world, share))) {
            return false;
        }
        orri_row_log* undo = share->undo;
        orri_bit_set(share->marks, row, true);
        row_log_rows(undo)[undo->count] = (uint16_t)row;
        orri_value_move(row_log_value(undo, undo->count++),
                        (const uint8_t*)share->data + (size_t)row * share->row_size,
                        share->row_size);
    }
    return true;
}

bool orri_row_log_has(const orri_share* share, uint32_t row)
{
    return row >= share->rows || (share->marks != NULL && orri_bit_get(share->marks, row));
}

void orri_row_log_apply(orr_world* world, orri_share* share, void* data)
{
    orri_row_log* undo = share->undo;
    for (uint32_t i = 0; undo != NULL && i < undo->count; i++) {
        orri_value_move((uint8_t*)data + (size_t)row_log_rows(undo)[i] * undo->row_size,
                        row_log_value(undo, i), undo->row_size);
    }
    orri_row_log_drop(world, share);
}

// ---- leaning -------------------------------------------------------------------------------------------------

static void row_log_lean(orri_share* share, orri_share* base)
{
    share->base = base;
    share->lean_prev = NULL;
    share->lean_next = base->lean_first;
    if (base->lean_first != NULL) {
        base->lean_first->lean_prev = share;
    }
    base->lean_first = share;
}

void orri_row_log_part(orri_share* share)
{
    if (share->base == NULL) {
        return;
    }
    *(share->lean_prev != NULL ? &share->lean_prev->lean_next : &share->base->lean_first) =
        share->lean_next;
    if (share->lean_next != NULL) {
        share->lean_next->lean_prev = share->lean_prev;
    }
    share->base = share->lean_prev = share->lean_next = NULL;
}

// One is attached in the place of another, which has nothing of the world any more.
static void row_log_attach(orri_share* share, orri_share* old)
{
    share->attached = old->attached;
    share->counter = old->counter;
    share->data = old->data;
    *share->attached = share;
    old->attached = NULL;
    old->counter = NULL;
    old->data = NULL;
}

void orri_row_log_supersede(orr_world* world, orri_share* old, orri_share* share)
{
    ORR_ASSERT(old->undo != NULL && old->frozen == 0);
    row_log_attach(share, old);
    row_log_lean(old, share);
    if (row_log_words(old) != row_log_words(share)) {
        row_log_marks_drop(world, old);
    } else if (old->marks != NULL) {
        share->marks = old->marks;
        old->marks = NULL;
        memset(share->marks, 0, row_log_words(old) * sizeof *share->marks);
    }
}

// ---- values --------------------------------------------------------------------------------------------------

// Rows of the root that no log has, in runs. There may be others behind them that are gone.
static void row_log_read_rest(const orri_share* share, const orri_share* root,
                              const row_log_set* seen, uint8_t* to)
{
    size_t size = share->row_size;
    for (uint32_t row = 0, end; row < share->rows; row = end + 1) {
        for (end = row; end < share->rows && !orri_bit_get(seen->words, end);) {
            end++;
        }
        memcpy(to + row * size, (const uint8_t*)root->data + row * size, (end - row) * size);
    }
}

// From the share itself on towards the root: whoever has a row first is right.
void orri_row_log_read(const orri_share* share, void* values)
{
    row_log_set seen = {{0}};
    const orri_share* root = share;
    for (const orri_share* at = share; at != NULL; root = at, at = at->base) {
        orri_row_log* undo = at->undo;
        for (uint32_t i = 0; undo != NULL && i < undo->count; i++) {
            uint32_t row = row_log_rows(undo)[i];
            if (row < share->rows && !orri_bit_get(seen.words, row)) {
                orri_bit_set(seen.words, row, true);
                orri_value_move((uint8_t*)values + (size_t)row * undo->row_size,
                                row_log_value(undo, i), undo->row_size);
            }
        }
    }
    row_log_read_rest(share, root, &seen, values);
}

static bool row_log_solidify(orr_world* world, orri_share* share)
{
    uint8_t* copy = orri_alloc(&world->env, ORR_MEMORY_SHARE, share->size, ORRI_BLOCK_ALIGN);
    if (copy == NULL) {
        orri_refusal_pardon(&world->env);
        return false;
    }
    orri_row_log_read(share, copy);
    orri_row_log_drop(world, share);
    share->data = copy;
    share->owned_size = share->size;
    share->align = ORRI_BLOCK_ALIGN;
    share->purpose = ORR_MEMORY_SHARE;
    orri_row_log_part(share);
    return true;
}

bool orri_row_log_solidify(orr_world* world, orri_share* share)
{
    orri_share* base = share->base;
    if (base == NULL) {
        return true;
    }
    if (!row_log_solidify(world, share)) {
        return false;
    }
    orri_share_settle(world, base);
    return true;
}

// ---- folding -------------------------------------------------------------------------------------------------

static void row_log_append(orri_row_log* undo, const orri_row_log* other, uint32_t i)
{
    row_log_rows(undo)[undo->count] = orri_row_log_rows(other)[i];
    orri_value_move(row_log_value(undo, undo->count++), other->values + (size_t)i * other->row_size,
                    undo->row_size);
}

// The rows of the base's log that the variant's own does not have are added to that. False when there would be too many, or memory is refused.
static bool row_log_merge(orr_world* world, orri_share* share, const orri_row_log* other)
{
    orri_row_log* undo = share->undo;
    row_log_set has = {{0}};
    uint32_t total = undo->count;
    for (uint32_t i = 0; i < undo->count; i++) {
        orri_bit_set(has.words, row_log_rows(undo)[i], true);
    }
    for (uint32_t i = 0; i < other->count; i++) {
        uint32_t row = orri_row_log_rows(other)[i];
        bool adds = row < share->rows && !orri_bit_get(has.words, row);
        total += adds;
        if (!adds) {
            orri_bit_set(has.words, row, true); // Not to be added below, either.
        }
    }
    // As long as it takes less than a copy: both logs were there before, so nothing grows by forgetting.
    if ((size_t)total * (share->row_size + sizeof(uint16_t)) >= share->size) {
        return false;
    }
    if (total > undo->capacity) {
        undo = row_log_make(world, total, share->row_size);
        if (undo == NULL) {
            return false;
        }
        for (uint32_t i = 0; i < share->undo->count; i++) {
            row_log_append(undo, share->undo, i);
        }
        row_log_free(world, share->undo);
        share->undo = undo;
    }
    for (uint32_t i = 0; i < other->count; i++) {
        if (!orri_bit_get(has.words, orri_row_log_rows(other)[i])) {
            row_log_append(undo, other, i);
        }
    }
    return true;
}

// The base has values of its own: they become the variant's. False when there is no room for all rows.
static bool row_log_inherit(orr_world* world, orri_share* share, orri_share* base)
{
    size_t room = base->extent != NULL ? base->extent->block_size : base->owned_size;
    if (share->size > room) {
        return false;
    }
    orri_row_log_part(share);
    ORRI_UNPOISON(base->data, share->size);
    share->data = base->data;
    share->extent = base->extent;
    share->owned_size = base->owned_size;
    share->align = base->align;
    share->purpose = base->purpose;
    base->data = NULL;
    base->extent = NULL;
    base->owned_size = 0;
    orri_row_log_apply(world, share, share->data);
    return true;
}

bool orri_row_log_fold(orr_world* world, orri_share* share)
{
    orri_share* one = share->lean_first;
    if (one->lean_next != NULL) {
        return false;
    }
    if (share->attached == NULL && share->base == NULL) {
        return row_log_inherit(world, one, share) || row_log_solidify(world, one);
    }
    if (share->undo != NULL && !row_log_merge(world, one, share->undo)) {
        return row_log_solidify(world, one);
    }
    orri_row_log_part(one);
    if (share->base != NULL) {
        row_log_lean(one, share->base);
    } else {
        row_log_attach(one, share);
    }
    return true;
}

void orri_row_log_lose(orr_world* world, orri_share* share)
{
    for (orri_share* one; (one = share->lean_first) != NULL;) {
        orri_row_log_part(one);
        for (orri_share* next; (next = one->lean_first) != NULL;) {
            orri_row_log_part(next);
            row_log_lean(next, share);
        }
        one->lost = true;
        world->cow.losses++;
        orri_row_log_drop(world, one);
        orri_share_settle(world, one);
    }
}

// ---- going back ----------------------------------------------------------------------------------------------

bool orri_row_log_reaches(const orri_share* share, const orri_share* attached)
{
    const orri_share* at = share;
    if (attached->kind == ORRI_SHARE_FROZEN) {
        return false; // Somebody has a pointer to its values.
    }
    // Where rows came or went, a log lacks those that came: it cannot be turned round.
    while (at != NULL && at != attached && at->base != NULL && at->base->rows == at->rows) {
        at = at->base;
    }
    return at == attached;
}

static void row_log_swap(uint8_t* a, uint8_t* b, uint32_t size)
{
    uint8_t piece[64];
    for (uint32_t at = 0, step; at < size; at += step) {
        step = size - at < sizeof piece ? size - at : (uint32_t)sizeof piece;
        memcpy(piece, a + at, step);
        memcpy(a + at, b + at, step);
        memcpy(b + at, piece, step);
    }
}

// The world has what `base` is. From now on it has what `share` is, which leans on that.
static void row_log_turn(orri_share* share, orri_share* base)
{
    orri_row_log* undo = share->undo;
    uint8_t* data = base->data;
    for (uint32_t i = 0; i < undo->count; i++) {
        uint8_t *value = row_log_value(undo, i),
                *live = data + (size_t)row_log_rows(undo)[i] * undo->row_size;
        row_log_swap(live, value, undo->row_size);
    }
    orri_row_log_part(share);
    row_log_attach(share, base);
    share->undo = NULL;
    base->undo = undo;
    row_log_lean(base, share);
}

void orri_row_log_return(orr_world* world, orri_share* share, orri_share* attached)
{
    orri_row_log_apply(world, attached, attached->data);
    // From the world on down to the share: the way is noted from its end.
    orri_share* way = NULL;
    for (orri_share* at = share; at != attached; at = at->base) {
        at->way = way;
        way = at;
    }
    for (orri_share* next; way != NULL; way = next) {
        next = way->way;
        row_log_turn(way, way->base);
    }
    orri_share_settle(world, attached);
}

// ---- checking ------------------------------------------------------------------------------------------------

// `rows` is how many the block below has: the others must be in the log.
static bool row_log_log_valid(const orri_share* share, uint32_t rows)
{
    const orri_row_log* undo = share->undo;
    row_log_set seen = {{0}};
    if (undo == NULL) {
        return share->base == NULL && (share->rows <= rows || share->row_size == 0);
    }
    if (undo->count > undo->capacity || undo->row_size != share->row_size || share->frozen > 0 ||
        (share->attached == NULL && share->base == NULL)) {
        return false;
    }
    for (uint32_t i = 0; i < undo->count; i++) {
        uint32_t row = orri_row_log_rows(undo)[i];
        if (row >= share->rows || orri_bit_get(seen.words, row)) {
            return false;
        }
        orri_bit_set(seen.words, row, true);
    }
    for (uint32_t row = rows; row < share->rows; row++) {
        if (!orri_bit_get(seen.words, row)) {
            return false;
        }
    }
    return share->marks == NULL ||
           memcmp(share->marks, seen.words, row_log_words(share) * sizeof *share->marks) == 0;
}

static bool row_log_one_valid(const orri_share* share, uint32_t rows)
{
    bool leans = share->base != NULL;
    return row_log_log_valid(share, leans ? share->base->rows : rows) &&
           (share->refs > 0 || share->lean_first != NULL) &&
           !(leans && (share->attached != NULL || share->data != NULL || share->lost ||
                       share->marks != NULL));
}

bool orri_row_log_valid(const orri_share* share, uint32_t rows)
{
    const orri_share* at = share;
    while (row_log_one_valid(at, rows)) {
        if (at->lean_first != NULL) {
            if (at->lean_first->base != at || at->lean_first->lean_prev != NULL) {
                return false;
            }
            at = at->lean_first;
            continue;
        }
        while (at != share && at->lean_next == NULL) {
            at = at->base;
        }
        if (at == share) {
            return true;
        }
        if (at->lean_next->base != at->base || at->lean_next->lean_prev != at) {
            return false;
        }
        at = at->lean_next;
    }
    return false;
}
