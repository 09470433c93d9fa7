// SPDX-License-Identifier: MIT
// Marks by entity: who is mentioned by what waits, who several times, who is to be created. They tell in one bit per entity
// whether a change of a value must wait, and which records may stay in columns when they are merged.
#include "message/lane.h"

#define MARKS_PAGE_WORDS  (ORRI_PAGE_SIZE / 64)
#define MARKS_ALIGNED_MAX 32 // Strips after a strip that are compared with it.

// ---- memory ---------------------------------------------------------------------------------------------------

static uint64_t* marks_grow(orr_world* world, const uint64_t* old, size_t old_words, size_t words)
{
    uint64_t* grown = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, uint64_t, words);
    if (grown != NULL && old_words > 0) {
        memcpy(grown, old, old_words * sizeof *grown);
    }
    return grown;
}

// Words of `touched`: a bit for each page.
static uint32_t marks_touched_words(uint32_t words)
{
    return words / (MARKS_PAGE_WORDS * 64) + 1;
}

static void marks_free(orr_world* world, struct orri_lanes* lanes)
{
    orri_env* env = &world->env;
    ORRI_FREE(env, ORR_MEMORY_MESSAGE, uint64_t, lanes->seen, lanes->mark_words);
    ORRI_FREE(env, ORR_MEMORY_MESSAGE, uint64_t, lanes->multi, lanes->mark_words);
    ORRI_FREE(env, ORR_MEMORY_MESSAGE, uint64_t, lanes->born, lanes->mark_words);
    ORRI_FREE(env, ORR_MEMORY_MESSAGE, uint64_t, lanes->touched,
              marks_touched_words(lanes->mark_words));
}

void orri_marks_clear(struct orri_lanes* lanes)
{
    uint32_t pages = lanes->marks_any ? lanes->mark_words / MARKS_PAGE_WORDS : 0;
    for (uint32_t page = 0; page < pages; page++) {
        if (orri_bit_get(lanes->touched, page)) {
            size_t first = (size_t)page * MARKS_PAGE_WORDS, size = MARKS_PAGE_WORDS * 8;
            memset(lanes->seen + first, 0, size);
            memset(lanes->multi + first, 0, size);
            memset(lanes->born + first, 0, size);
        } else if (lanes->touched[page >> 6] == 0) {
            page |= 63;
        }
    }
    if (lanes->marks_any) {
        memset(lanes->touched, 0, marks_touched_words(lanes->mark_words) * sizeof(uint64_t));
    }
    lanes->marks_any = lanes->multi_any = lanes->marks_old = false;
}

bool orri_marks_begin(orr_world* world)
{
    struct orri_lanes* lanes = orri_lanes_at(world);
    uint64_t most = (uint64_t)world->hot.count + lanes->reserved;
    most = most < ORR_ENTITIES_MAX ? most : ORR_ENTITIES_MAX;
    uint32_t words = (uint32_t)((most >> 6) + 1);
    if (lanes->marks_old) {
        orri_marks_clear(lanes);
    }
    if (words <= lanes->mark_words) {
        return true;
    }
    // Whole pages, and room for a quarter more.
    words = (words + words / 4 + MARKS_PAGE_WORDS - 1) / MARKS_PAGE_WORDS * MARKS_PAGE_WORDS;
    struct orri_lanes grown = {.mark_words = words};
    uint32_t old = lanes->mark_words, old_touched = old > 0 ? marks_touched_words(old) : 0;
    grown.seen = marks_grow(world, lanes->seen, old, words);
    grown.multi = marks_grow(world, lanes->multi, old, words);
    grown.born = marks_grow(world, lanes->born, old, words);
    grown.touched = marks_grow(world, lanes->touched, old_touched, marks_touched_words(words));
    if (grown.seen == NULL || grown.multi == NULL || grown.born == NULL || grown.touched == NULL) {
        marks_free(world, &grown);
        (void)orri_refuse_memory(&world->env, "marking what was sent");
        return false;
    }
    marks_free(world, lanes);
    lanes->seen = grown.seen;
    lanes->multi = grown.multi;
    lanes->born = grown.born;
    lanes->touched = grown.touched;
    lanes->mark_words = words;
    return true;
}

void orri_marks_term(orr_world* world, struct orri_lanes* lanes)
{
    marks_free(world, lanes);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, lanes->sources, lanes->source_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, lanes->senders, lanes->sender_capacity);
}

// ---- marking ----------------------------------------------------------------------------------------------------

// Strips that may stand in one bundle: nothing that ends the entity, one type once.
static bool marks_may_align(const orri_strip* strip)
{
    bool kind = strip->kind == ORRI_SENT_CREATE || strip->kind == ORRI_SENT_ADD ||
                strip->kind == ORRI_SENT_PRESET || strip->kind == ORRI_SENT_CHANGE ||
                strip->kind == ORRI_SENT_REMOVE;
    return kind && strip->ids == NULL && strip->count > 0;
}

static bool marks_aligned(const orri_strip* a, const orri_strip* b)
{
    uint32_t last = a->count - 1;
    return b->count == a->count && b->kind != ORRI_SENT_CREATE &&
           b->entities[0].id == a->entities[0].id && b->entities[last].id == a->entities[last].id &&
           marks_may_align(b) &&
           (a->entities == b->entities ||
            memcmp(a->entities, b->entities, a->count * sizeof *a->entities) == 0);
}

static bool marks_has_type(const orr_lane* lane, const orri_strip* head, const orri_strip* other)
{
    for (const orri_strip* s = head;; s = &lane->strips[s->next1 - 1]) {
        if (s->type.index1 == other->type.index1) {
            return true; // Creations have none: two of them are of different entities anyway.
        }
        if (s->next1 == 0) {
            return false;
        }
    }
}

static void marks_find_bundle(orr_lane* lane, uint32_t place)
{
    orri_strip* head = &lane->strips[lane->order[place]];
    orri_strip* tail = head;
    uint32_t end = place + 1 + MARKS_ALIGNED_MAX;
    bool structure = head->kind != ORRI_SENT_CHANGE;
    for (uint32_t i = place + 1; i < lane->order_count && i < end; i++) {
        orri_strip* other = &lane->strips[lane->order[i]];
        if (!other->bundled && other->count > 0 && other->kind != ORRI_SENT_EVENT &&
            marks_aligned(head, other) && !marks_has_type(lane, head, other)) {
            other->bundled = true;
            tail->next1 = lane->order[i] + 1;
            tail = other;
            structure |= other->kind != ORRI_SENT_CHANGE;
        }
    }
    // Changes alone wait for nobody: each strip stands for itself.
    for (orri_strip* s = head; !structure && s->next1 != 0;) {
        orri_strip* next = &lane->strips[s->next1 - 1];
        next->bundled = false;
        s->next1 = 0;
        s = next;
    }
}

static void marks_find_bundles(orr_lane* lane)
{
    for (uint32_t i = 0; i < lane->order_count; i++) {
        orri_strip* strip = &lane->strips[lane->order[i]];
        strip->next1 = 0;
        strip->bundled = false;
    }
    for (uint32_t i = 0; i < lane->order_count; i++) {
        const orri_strip* strip = &lane->strips[lane->order[i]];
        if (!strip->bundled && marks_may_align(strip)) {
            marks_find_bundle(lane, i);
        }
    }
}

static bool marks_is_structure(const orri_strip* strip)
{
    return strip->kind != ORRI_SENT_EVENT && (strip->kind != ORRI_SENT_CHANGE || strip->next1 != 0);
}

// Bits of one word, until another word's turn comes: neighbours cost one look at memory.
typedef struct marks_word {
    uint32_t word;
    uint64_t bits, again; // Mentioned; mentioned once more.
    bool born;
} marks_word;

static inline void marks_flush(struct orri_lanes* lanes, const marks_word* w)
{
    if (ORR_UNLIKELY(w->word >= lanes->mark_words)) {
        return; // Ids that never were: nobody is created with them before the commit.
    }
    uint64_t old = lanes->seen[w->word], again = (old & w->bits) | w->again;
    lanes->seen[w->word] = old | w->bits;
    if (w->born) {
        lanes->born[w->word] |= w->bits;
    }
    if (ORR_UNLIKELY(again != 0)) {
        lanes->multi[w->word] |= again;
        lanes->multi_any = true;
    }
    uint32_t page = w->word / MARKS_PAGE_WORDS;
    lanes->touched[page >> 6] |= (uint64_t)1 << (page & 63);
}

// True when 64 ids follow one another. Rows of a fresh cluster do, and so do most ids that are given at once.
static inline bool marks_sequence(const orr_entity* entities)
{
    uint64_t first = entities[0].id, differs = 0;
    if (entities[63].id != first + 63) {
        return false;
    }
    for (uint32_t i = 0; i < 64; i++) {
        differs |= entities[i].id ^ (first + i);
    }
    return differs == 0;
}

static void marks_add_entities(struct orri_lanes* lanes, const orr_entity* entities, uint32_t count,
                               bool born)
{
    marks_word w = {.word = orri_id_index(entities[0]) >> 6, .born = born};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = orri_id_index(entities[i]);
        uint64_t bit = (uint64_t)1 << (index & 63);
        if (index >> 6 != w.word) {
            marks_flush(lanes, &w);
            w = (marks_word){.word = index >> 6, .born = born};
            if (bit == 1 && count - i >= 64 && marks_sequence(entities + i)) {
                w.bits = UINT64_MAX;
                i += 63;
                continue;
            }
        }
        w.again |= w.bits & bit;
        w.bits |= bit;
    }
    marks_flush(lanes, &w);
}

void orri_mark(struct orri_lanes* lanes, uint32_t index)
{
    lanes->marks_any = true;
    marks_flush(lanes, &(marks_word){index >> 6, (uint64_t)1 << (index & 63), 0, false});
}

static void marks_add_strip(const orr_world* world, struct orri_lanes* lanes,
                            const orri_strip* strip)
{
    marks_add_entities(lanes, strip->entities, strip->count, strip->kind == ORRI_SENT_CREATE);
    for (uint32_t i = 0; strip->kind == ORRI_SENT_DESTROY && i < strip->count; i++) {
        if (orri_mark_born(world, strip->entities[i])) {
            orri_bit_set(lanes->born, orri_id_index(strip->entities[i]), false);
        }
    }
}

// Creations first: the same lane may destroy what it creates. A change that stands alone is no structure; one that is
// aligned with structure is marked with it.
void orri_marks_add(struct orri_lanes* lanes, orr_lane* lane)
{
    marks_find_bundles(lane);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < lane->order_count; i++) {
            orri_strip* strip = &lane->strips[lane->order[i]];
            if (strip->bundled || strip->count == 0 || !marks_is_structure(strip) ||
                (strip->kind == ORRI_SENT_CREATE) != (pass == 0)) {
                continue;
            }
            lanes->marks_any = true;
            marks_add_strip(lane->world, lanes, strip);
        }
    }
    lane->marked = true;
}

bool orri_mark_born(const orr_world* world, orr_entity entity)
{
    const struct orri_lanes* lanes = orri_lanes_at(world);
    uint32_t index = orri_id_index(entity), generation = world->salt | 1;
    if (lanes->marks_old || !orri_mark_get(lanes->born, lanes->mark_words, index)) {
        return false;
    }
    if (index < world->hot.count) {
        generation = orri_record_at(world, index)->generation & ~ORRI_DEAD;
    }
    return generation == orri_id_generation(entity);
}

#undef MARKS_PAGE_WORDS
#undef MARKS_ALIGNED_MAX
