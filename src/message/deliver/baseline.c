// SPDX-License-Identifier: MIT
// The baseline of entities: which ones readers know, and with which types and tags. It is kept by
// entity index, so that every difference is found, whatever its cause, and once for all readers.
#include "message/deliver/baseline.h"

#define BASELINE_PAGE_BYTES (sizeof(orri_head) * (ORRI_PAGE_SIZE + 1))

// ---- bits by entity -----------------------------------------------------------------------------

bool orri_bitset_reserve(orr_world* world, orri_bitset* set, uint64_t bits)
{
    uint32_t needed = (uint32_t)((bits + 63) / 64), old = set->count;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &set->words, &set->count, needed)) {
        return false;
    }
    if (set->count > old) {
        memset(set->words + old, 0, (set->count - old) * sizeof *set->words);
    }
    return true;
}

void orri_bitset_free(orr_world* world, orri_bitset* set)
{
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, set->words, set->count);
    *set = (orri_bitset){0};
}

// ---- shapes -------------------------------------------------------------------------------------

static size_t baseline_shape_bytes(uint32_t type_count, uint32_t tag_count)
{
    return sizeof(orri_shape) + tag_count * sizeof(orr_tag) + type_count * sizeof(orr_type);
}

// Makes the shape of a cluster. Each cluster gets a shape of its own, because clusters are
// destroyed; equal shapes are recognised by comparing them.
static orri_shape* baseline_shape_make(orr_world* world, struct orri_baseline* baseline,
                                       const orri_cluster* cluster)
{
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &baseline->shapes, &baseline->shape_capacity,
                      baseline->shape_count + 1) ||
        !ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &baseline->shape_free,
                      &baseline->shape_free_capacity, baseline->shape_count + 1)) {
        return NULL;
    }
    orri_shape* shape = orri_alloc(&world->env, ORR_MEMORY_MESSAGE,
                                   baseline_shape_bytes(cluster->type_count, cluster->tag_count),
                                   _Alignof(max_align_t));
    if (shape == NULL) {
        return NULL;
    }
    orr_tag* tags = (orr_tag*)(void*)(shape + 1);
    orr_type* types = (orr_type*)(void*)(tags + cluster->tag_count);
    *shape = (orri_shape){.refs = 1,
                          .type_count = cluster->type_count,
                          .tag_count = cluster->tag_count,
                          .types = types,
                          .tags = tags};
    if (cluster->tag_count > 0) {
        memcpy(tags, cluster->tags, cluster->tag_count * sizeof *tags);
    }
    if (cluster->type_count > 0) {
        memcpy(types, cluster->types, cluster->type_count * sizeof *types);
    }
    shape->number1 = baseline->shape_free_count > 0
                         ? baseline->shape_free[--baseline->shape_free_count]
                         : ++baseline->shape_count;
    baseline->shapes[shape->number1 - 1] = shape;
    return shape;
}

void orri_shape_release(orr_world* world, struct orri_baseline* baseline, orri_shape* shape,
                        uint64_t refs)
{
    ORR_ASSERT(shape->refs >= refs);
    shape->refs -= refs;
    if (shape->refs == 0) {
        baseline->shapes[shape->number1 - 1] = NULL;
        baseline->shape_free[baseline->shape_free_count++] = shape->number1;
        orri_free(&world->env, ORR_MEMORY_MESSAGE, shape,
                  baseline_shape_bytes(shape->type_count, shape->tag_count), _Alignof(max_align_t));
    }
}

bool orri_shape_has(const orri_shape* shape, orr_type type)
{
    uint32_t low = 0, high = shape->type_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (shape->types[middle].id < type.id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < shape->type_count && shape->types[low].id == type.id;
}

bool orri_shape_same_tags(const orri_shape* a, const orri_shape* b)
{
    return a == b ||
           (a->tag_count == b->tag_count &&
            (a->tag_count == 0 || memcmp(a->tags, b->tags, a->tag_count * sizeof *a->tags) == 0));
}

bool orri_shape_same(const orri_shape* a, const orri_shape* b)
{
    return a == b || (orri_shape_same_tags(a, b) && a->type_count == b->type_count &&
                      (a->type_count == 0 ||
                       memcmp(a->types, b->types, a->type_count * sizeof *a->types) == 0));
}

// ---- clusters -----------------------------------------------------------------------------------

// Frees the record of a cluster.
static void baseline_cluster_drop(orr_world* world, struct orri_baseline* baseline,
                                  orri_baseline_cluster* record)
{
    if (record->shape != NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, record->seen,
                  record->shape->type_count);
        ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, record->match,
                  2 * record->match_words);
        orri_shape_release(world, baseline, record->shape, 1);
        *record = (orri_baseline_cluster){0};
    }
}

// Makes the record of a cluster; an old record of the same index is freed. False when refused.
static bool baseline_cluster_make(orr_world* world, struct orri_baseline* baseline,
                                  const orri_cluster* cluster)
{
    uint32_t old = baseline->cluster_count;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &baseline->clusters,
                      &baseline->cluster_count, cluster->index + 1)) {
        return false;
    }
    for (uint32_t i = old; i < baseline->cluster_count; i++) {
        baseline->clusters[i] = (orri_baseline_cluster){0};
    }
    orri_baseline_cluster* record = &baseline->clusters[cluster->index];
    baseline_cluster_drop(world, baseline, record);
    uint64_t* seen =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, uint64_t, cluster->type_count);
    orri_shape* shape = seen != NULL ? baseline_shape_make(world, baseline, cluster) : NULL;
    if (shape == NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, seen, cluster->type_count);
        return false;
    }
    *record = (orri_baseline_cluster){.sequence = cluster->sequence, .shape = shape, .seen = seen};
    return true;
}

orri_baseline_cluster* orri_baseline_cluster_of(orri_diff* diff, const orri_cluster* cluster)
{
    struct orri_baseline* baseline = diff->baseline;
    if (cluster->index >= baseline->cluster_count ||
        baseline->clusters[cluster->index].sequence != cluster->sequence) {
        if (!baseline_cluster_make(diff->world, baseline, cluster)) {
            (void)orri_refuse_memory(&diff->world->env, "preparing messages about a cluster");
            return NULL;
        }
    }
    return &baseline->clusters[cluster->index];
}

// ---- which readers select a cluster -------------------------------------------------------------

// Room for two sets of readers. False when refused (reported).
static bool baseline_match_room(orr_world* world, orri_baseline_cluster* record, uint32_t words)
{
    if (record->match_words == words) {
        return true;
    }
    uint64_t* match = ORRI_ALLOC(&world->env, ORR_MEMORY_MESSAGE, uint64_t, 2 * words);
    if (match == NULL) {
        (void)orri_refuse_memory(&world->env, "noting which readers select a cluster");
        return false;
    }
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, record->match, 2 * record->match_words);
    record->match = match;
    record->match_words = words;
    record->match_numbering = 0;
    return true;
}

// Asks all enabled readers' queries about the cluster.
static void baseline_match_fill(const struct orri_baseline* baseline, orri_baseline_cluster* record,
                                const orri_cluster* cluster)
{
    memset(record->match, 0, 2 * record->match_words * sizeof *record->match);
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        orri_reader* reader = baseline->on[r];
        orri_reader_match(reader, cluster);
        if (reader->match != ORRI_MATCH_NONE) {
            uint32_t set = reader->match == ORRI_MATCH_ALL ? 0 : record->match_words;
            orri_bit_set(record->match + set, r, true);
        }
    }
    record->match_numbering = baseline->numbering;
    record->match_bits = cluster->bits_added;
}

orri_baseline_cluster* orri_baseline_match(orri_diff* diff, const orri_cluster* cluster)
{
    struct orri_baseline* baseline = diff->baseline;
    orri_baseline_cluster* record = orri_baseline_cluster_of(diff, cluster);
    if (record == NULL || !baseline_match_room(diff->world, record, baseline->words)) {
        return NULL;
    }
    if (record->match_numbering != baseline->numbering ||
        record->match_bits != cluster->bits_added) {
        baseline_match_fill(baseline, record, cluster);
        return record;
    }
    for (uint32_t w = 0; w < baseline->words; w++) {
        for (uint64_t left = orri_match_some(record)[w]; left != 0; left &= left - 1) {
            orri_reader_match(baseline->on[w * 64 + (uint32_t)__builtin_ctzll(left)], cluster);
        }
    }
    return record;
}

// ---- heads --------------------------------------------------------------------------------------

// Adds a page of heads, with one more entry that counts its known heads (D6).
static bool baseline_add_page(orr_world* world, struct orri_baseline* baseline)
{
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &baseline->heads, &baseline->head_capacity,
                      baseline->head_count + 1)) {
        return false;
    }
    orri_head* page =
        orri_alloc_zero(&world->env, ORR_MEMORY_MESSAGE, BASELINE_PAGE_BYTES, ORRI_BLOCK_ALIGN);
    if (page != NULL) {
        baseline->heads[baseline->head_count++] = page;
    }
    return page != NULL;
}

bool orri_baseline_heads(orr_world* world, struct orri_baseline* baseline, uint64_t count)
{
    uint32_t pages = (uint32_t)((count + ORRI_PAGE_MASK) >> ORRI_PAGE_BITS);
    bool done = true;
    while (done && baseline->head_count < pages) {
        done = baseline_add_page(world, baseline);
    }
    return done;
}

bool orri_baseline_prepare(orri_diff* diff)
{
    orr_world* world = diff->world;
    struct orri_baseline* baseline = diff->baseline;
    bool done = orri_baseline_heads(world, baseline, world->hot.count);
    for (uint32_t r = 0; done && r < baseline->on_count; r++) {
        done = orri_bitset_reserve(world, &baseline->on[r]->members, world->hot.count);
    }
    if (!done) {
        (void)orri_refuse_memory(&world->env, "making room for what readers know of entities");
    }
    return done;
}

// ---- beginning and end --------------------------------------------------------------------------

struct orri_baseline* orri_baseline_of(orr_world* world)
{
    struct orri_messages* messages = orri_messages_of(world);
    if (messages != NULL && messages->baseline == NULL) {
        messages->baseline =
            ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, struct orri_baseline, 1);
        if (messages->baseline == NULL) {
            (void)orri_refuse_memory(&world->env, "allocating the baseline of readers");
        }
    }
    return messages != NULL ? messages->baseline : NULL;
}

static void baseline_free_heads(orr_world* world, struct orri_baseline* baseline)
{
    for (uint32_t p = 0; p < baseline->head_count; p++) {
        for (uint32_t i = 0; i < ORRI_PAGE_SIZE; i++) {
            if (baseline->heads[p][i].generation != 0) {
                orri_shape_release(world, baseline,
                                   orri_shape_at(baseline, baseline->heads[p][i].shape1), 1);
            }
        }
        orri_free(&world->env, ORR_MEMORY_MESSAGE, baseline->heads[p], BASELINE_PAGE_BYTES,
                  ORRI_BLOCK_ALIGN);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, baseline->heads, baseline->head_capacity);
    baseline->heads = NULL;
    baseline->head_count = baseline->head_capacity = 0;
}

void orri_baseline_forget(orr_world* world, struct orri_baseline* baseline)
{
    orri_dirty_rows_clear(baseline);
    for (uint32_t t = 0; t < baseline->type_count; t++) {
        orri_baseline_type_free(world, &baseline->types[t]);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, baseline->dirty_notes,
                 baseline->dirty_note_capacity);
    baseline->dirty_notes = NULL;
    baseline->dirty_note_capacity = 0;
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, baseline->types, baseline->type_capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, baseline->trackers,
              baseline->tracker_count);
    baseline->types = NULL;
    baseline->trackers = NULL;
    baseline->type_count = baseline->type_capacity = baseline->tracker_count = 0;
    baseline_free_heads(world, baseline);
    for (uint32_t c = 0; c < baseline->cluster_count; c++) {
        baseline_cluster_drop(world, baseline, &baseline->clusters[c]);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, baseline->clusters, baseline->cluster_count);
    baseline->clusters = NULL;
    baseline->cluster_count = 0;
    orri_bitset_free(world, &baseline->off);
    orri_runs_term(world, baseline);
    orri_spares_trim(world, baseline, true);
    baseline->index_mark = baseline->row_mark = baseline->quiet_mark = 0;
    baseline->stale = true;
}

void orri_baseline_term(orr_world* world)
{
    struct orri_baseline* baseline = world->messages->baseline;
    if (baseline == NULL) {
        return;
    }
    orri_diff_deliver(baseline, false);
    while (baseline->first != NULL) {
        orri_reader_free(world, baseline->first);
    }
    orri_baseline_forget(world, baseline);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, baseline->on, baseline->on_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, baseline->shapes, baseline->shape_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, baseline->shape_free,
                 baseline->shape_free_capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_baseline, baseline, 1);
    world->messages->baseline = NULL;
}

#undef BASELINE_PAGE_BYTES
