// SPDX-License-Identifier: MIT
// Row logs, and shares that lean on each other. row_log.h explains both.
#include "store/cow/row_log.h"

#include "store/world/access.h"

#define ROW_LOG_MIN 8 // Smallest capacity of a log, in rows.

// A set of rows of a block, or of records of a page.
typedef struct row_log_set {
    uint64_t words[ORRI_PAGE_SIZE / 64];
} row_log_set;
_Static_assert(ORRI_PAGE_SIZE >= ORR_CHUNK_CAPACITY && ORRI_PAGE_SIZE <= UINT16_MAX + 1,
               "a set has room for all rows, and a log for their numbers");

// ---- memory -------------------------------------------------------------------------------------

// Bytes of a log: header, values padded to an even size, row numbers.
static size_t row_log_size(uint32_t capacity, uint32_t row_size)
{
    return sizeof(orri_row_log) + (((size_t)capacity * row_size + 1) & ~(size_t)1) +
           capacity * sizeof(uint16_t);
}

static uint16_t* row_log_rows(orri_row_log* log)
{
    return (uint16_t*)(uintptr_t)orri_row_log_rows(log);
}

static uint8_t* row_log_value(orri_row_log* log, uint32_t i)
{
    return log->values + (size_t)i * log->row_size;
}

static orri_row_log* row_log_make(orr_world* world, uint32_t capacity, uint32_t row_size)
{
    orri_row_log* log = orri_alloc(&world->env, ORR_MEMORY_SHARE, row_log_size(capacity, row_size),
                                   ORRI_BLOCK_ALIGN);
    if (log == NULL) {
        orri_refusal_uncount(&world->env);
        return NULL;
    }
    *log = (orri_row_log){.capacity = capacity, .row_size = row_size};
    return log;
}

static void row_log_free(orr_world* world, orri_row_log* log)
{
    if (log != NULL) {
        orri_free(&world->env, ORR_MEMORY_SHARE, log, row_log_size(log->capacity, log->row_size),
                  ORRI_BLOCK_ALIGN);
    }
}

// Words of a share's marks.
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
    row_log_free(world, share->log);
    share->log = NULL;
    row_log_marks_drop(world, share);
}

size_t orri_row_log_bytes(const orri_share* share)
{
    const orri_row_log* log = share->log;
    return (log != NULL ? row_log_size(log->capacity, log->row_size) : 0) +
           (share->marks != NULL ? row_log_words(share) * sizeof *share->marks : 0);
}

// ---- logging ------------------------------------------------------------------------------------

void orri_row_log_set_limit(const orr_world* world, orri_share* share)
{
    bool plain = share->row_size > 0 && (share->type == NULL || share->type->plain);
    share->log_max = plain && share->size >= world->cow.row_log_least
                         ? share->rows >> world->cow.row_log_shift
                         : 0;
}

// Makes the marks of an attached share from its log, if they do not exist yet.
static bool row_log_marks_ready(orr_world* world, orri_share* share)
{
    if (ORR_LIKELY(share->marks != NULL)) {
        return true;
    }
    share->marks = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, uint64_t, row_log_words(share));
    if (share->marks == NULL) {
        orri_refusal_uncount(&world->env);
        return false;
    }
    for (uint32_t i = 0; share->log != NULL && i < share->log->count; i++) {
        orri_bit_set(share->marks, row_log_rows(share->log)[i], true);
    }
    return true;
}

// Grows the log. A first log gets the size of the log before it (of the newest share that leans on
// this one) and a quarter more, since the same rows are often written again.
static bool row_log_room(orr_world* world, orri_share* share)
{
    uint32_t limit = share->log_max;
    orri_row_log* log = share->log;
    const orri_row_log* last = share->lean_first != NULL ? share->lean_first->log : NULL;
    uint32_t capacity = log != NULL    ? log->capacity * 2
                        : last != NULL ? last->count + last->count / 4
                                       : 0;
    capacity = capacity < ROW_LOG_MIN ? ROW_LOG_MIN : capacity;
    orri_row_log* larger =
        row_log_make(world, capacity < limit ? capacity : limit, share->row_size);
    if (larger == NULL) {
        return false;
    }
    if (log != NULL) {
        memcpy(larger->values, log->values, (size_t)log->count * log->row_size);
        memcpy(row_log_rows(larger), row_log_rows(log), log->count * sizeof(uint16_t));
        larger->count = log->count;
        row_log_free(world, log);
    }
    share->log = larger;
    return true;
}

bool orri_row_log_add(orr_world* world, orri_share* share, uint32_t slot, uint32_t count)
{
    // Only the thread that has the turn, as in orri_share_detach_column().
    ORR_ASSERT(!world->realtime || orri_this_thread.world != world ||
               orri_this_thread.clock == NULL);
    uint32_t limit = ORR_LIKELY(share->kind == ORRI_SHARE_HISTORY) ? share->log_max : 0;
    // Rows added since are not part of the share. A log is made even if it stays empty: its
    // existence says that the block was written (orri_share_clean()).
    uint32_t end = slot + count < share->rows ? slot + count : share->rows;
    if (limit == 0 || count > limit || !row_log_marks_ready(world, share) ||
        (share->log == NULL && !row_log_room(world, share))) {
        return false;
    }
    for (uint32_t row = slot; row < end; row++) {
        if (orri_bit_get(share->marks, row)) {
            continue;
        }
        if (share->log->count == share->log->capacity &&
            (share->log->count >= limit || !row_log_room(world, share))) {
            return false;
        }
        orri_row_log* log = share->log;
        orri_bit_set(share->marks, row, true);
        row_log_rows(log)[log->count] = (uint16_t)row;
        orri_value_move(row_log_value(log, log->count++),
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
    orri_row_log* log = share->log;
    for (uint32_t i = 0; log != NULL && i < log->count; i++) {
        orri_value_move((uint8_t*)data + (size_t)row_log_rows(log)[i] * log->row_size,
                        row_log_value(log, i), log->row_size);
    }
    orri_row_log_drop(world, share);
}

// ---- leaning ------------------------------------------------------------------------------------

// Links a share to its base.
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

void orri_row_log_unlink(orri_share* share)
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

// Attaches a share in the place of `old`, which is detached and has no data.
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
    ORR_ASSERT(old->log != NULL && old->frozen == 0);
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

// ---- values -------------------------------------------------------------------------------------

// Copies the rows that are in no log from the root (the end of the chain of bases), in runs. Rows
// that the root no longer has are all in logs.
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

// Walks from the share towards the root. The first log that has a row decides.
void orri_row_log_read(const orri_share* share, void* values)
{
    row_log_set seen = {{0}};
    const orri_share* root = share;
    for (const orri_share* at = share; at != NULL; root = at, at = at->base) {
        orri_row_log* log = at->log;
        for (uint32_t i = 0; log != NULL && i < log->count; i++) {
            uint32_t row = row_log_rows(log)[i];
            if (row < share->rows && !orri_bit_get(seen.words, row)) {
                orri_bit_set(seen.words, row, true);
                orri_value_move((uint8_t*)values + (size_t)row * log->row_size,
                                row_log_value(log, i), log->row_size);
            }
        }
    }
    row_log_read_rest(share, root, &seen, values);
}

// Gives a share values of its own. The base is not collected.
static bool row_log_materialize(orr_world* world, orri_share* share)
{
    uint8_t* copy = orri_alloc(&world->env, ORR_MEMORY_SHARE, share->size, ORRI_BLOCK_ALIGN);
    if (copy == NULL) {
        orri_refusal_uncount(&world->env);
        return false;
    }
    orri_row_log_read(share, copy);
    orri_row_log_drop(world, share);
    share->data = copy;
    share->owned_size = share->size;
    share->align = ORRI_BLOCK_ALIGN;
    share->purpose = ORR_MEMORY_SHARE;
    orri_row_log_unlink(share);
    return true;
}

bool orri_row_log_materialize(orr_world* world, orri_share* share)
{
    orri_share* base = share->base;
    if (base == NULL) {
        return true;
    }
    if (!row_log_materialize(world, share)) {
        return false;
    }
    orri_share_collect(world, base);
    return true;
}

// ---- folding: a share without holders passes its values on --------------------------------------

// Appends entry `i` of another log.
static void row_log_append(orri_row_log* log, const orri_row_log* other, uint32_t i)
{
    row_log_rows(log)[log->count] = orri_row_log_rows(other)[i];
    orri_value_move(row_log_value(log, log->count++), other->values + (size_t)i * other->row_size,
                    log->row_size);
}

// Adds the rows of the base's log (`other`) that the log of the leaning share lacks. False: the log
// would be as large as a copy, or memory is refused.
static bool row_log_merge(orr_world* world, orri_share* share, const orri_row_log* other)
{
    orri_row_log* log = share->log;
    row_log_set has = {{0}};
    uint32_t total = log->count;
    for (uint32_t i = 0; i < log->count; i++) {
        orri_bit_set(has.words, row_log_rows(log)[i], true);
    }
    for (uint32_t i = 0; i < other->count; i++) {
        uint32_t row = orri_row_log_rows(other)[i];
        bool adds = row < share->rows && !orri_bit_get(has.words, row);
        total += adds;
        if (!adds) {
            orri_bit_set(has.words, row, true); // Skipped by the loop below, too.
        }
    }
    // Merge only while it takes less memory than a copy. Both logs exist already, so dropping a
    // snapshot never takes more memory than keeping it.
    if ((size_t)total * (share->row_size + sizeof(uint16_t)) >= share->size) {
        return false;
    }
    if (total > log->capacity) {
        log = row_log_make(world, total, share->row_size);
        if (log == NULL) {
            return false;
        }
        for (uint32_t i = 0; i < share->log->count; i++) {
            row_log_append(log, share->log, i);
        }
        row_log_free(world, share->log);
        share->log = log;
    }
    for (uint32_t i = 0; i < other->count; i++) {
        if (!orri_bit_get(has.words, orri_row_log_rows(other)[i])) {
            row_log_append(log, other, i);
        }
    }
    return true;
}

// The base is OWNED: its memory passes to the leaning share. False: the memory is too small for the
// share's rows.
static bool row_log_inherit(orr_world* world, orri_share* share, orri_share* base)
{
    size_t room = base->extent != NULL ? base->extent->block_size : base->owned_size;
    if (share->size > room) {
        return false;
    }
    orri_row_log_unlink(share);
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
    orri_share* leaning = share->lean_first;
    if (leaning->lean_next != NULL) {
        return false;
    }
    if (share->attached == NULL && share->base == NULL) {
        return row_log_inherit(world, leaning, share) || row_log_materialize(world, leaning);
    }
    if (share->log != NULL && !row_log_merge(world, leaning, share->log)) {
        return row_log_materialize(world, leaning);
    }
    orri_row_log_unlink(leaning);
    if (share->base != NULL) {
        row_log_lean(leaning, share->base);
    } else {
        row_log_attach(leaning, share);
    }
    return true;
}

void orri_row_log_lose(orr_world* world, orri_share* share)
{
    for (orri_share* one; (one = share->lean_first) != NULL;) {
        orri_row_log_unlink(one);
        for (orri_share* next; (next = one->lean_first) != NULL;) {
            orri_row_log_unlink(next);
            row_log_lean(next, share);
        }
        one->lost = true;
        world->cow.losses++;
        orri_row_log_drop(world, one);
        orri_share_collect(world, one);
    }
}

// ---- rewinding ----------------------------------------------------------------------------------

bool orri_row_log_can_rewind(const orri_share* share, const orri_share* attached)
{
    const orri_share* at = share;
    if (attached->kind == ORRI_SHARE_FROZEN) {
        return false; // A reader keeps a pointer to the block.
    }
    // Where the number of rows changed, the log lacks the rows that were added, so it cannot be
    // swapped.
    while (at != NULL && at != attached && at->base != NULL && at->base->rows == at->rows) {
        at = at->base;
    }
    return at == attached;
}

// Swaps two values, in pieces of 64 bytes.
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

// The world's block has the values of `base`, on which `share` leans. Swaps each logged row with
// the world's: now the block has the values of `share`, and `base` leans on `share` with the same
// log.
static void row_log_swap_base(orri_share* share, orri_share* base)
{
    orri_row_log* log = share->log;
    uint8_t* data = base->data;
    for (uint32_t i = 0; i < log->count; i++) {
        uint8_t *value = row_log_value(log, i),
                *live = data + (size_t)row_log_rows(log)[i] * log->row_size;
        row_log_swap(live, value, log->row_size);
    }
    orri_row_log_unlink(share);
    row_log_attach(share, base);
    share->log = NULL;
    base->log = log;
    row_log_lean(base, share);
}

void orri_row_log_rewind(orr_world* world, orri_share* share, orri_share* attached)
{
    orri_row_log_apply(world, attached, attached->data);
    // The path from the share up to the attached one is reversed, then walked down.
    orri_share* path = NULL;
    for (orri_share* at = share; at != attached; at = at->base) {
        at->path_next = path;
        path = at;
    }
    for (orri_share* next; path != NULL; path = next) {
        next = path->path_next;
        row_log_swap_base(path, path->base);
    }
    orri_share_collect(world, attached);
}

// ---- checking -----------------------------------------------------------------------------------

// Checks the log of a share. `rows`: rows of the block below; rows beyond must be in the log.
static bool row_log_log_valid(const orri_share* share, uint32_t rows)
{
    const orri_row_log* log = share->log;
    row_log_set seen = {{0}};
    if (log == NULL) {
        return share->base == NULL && (share->rows <= rows || share->row_size == 0);
    }
    if (log->count > log->capacity || log->row_size != share->row_size || share->frozen > 0 ||
        (share->attached == NULL && share->base == NULL)) {
        return false;
    }
    for (uint32_t i = 0; i < log->count; i++) {
        uint32_t row = orri_row_log_rows(log)[i];
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

// Walks the tree of leaning shares without recursion.
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
