// SPDX-License-Identifier: MIT
// Marks by entity: which entities waiting commands mention, which several times, and which will be
// created. One bit per entity shows whether a changed value must wait, and whether commands can
// stay in columns when they are merged.
#include "message/send/command_buffer.h"

#define PENDING_PAGE_WORDS  (ORRI_PAGE_SIZE / 64)
#define PENDING_ALIGNED_MAX 32 // Following arrays that are compared with an array.

// ---- memory -------------------------------------------------------------------------------------

static uint64_t* pending_grow(orr_world* world, const uint64_t* old, size_t old_words, size_t words)
{
    uint64_t* grown = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, uint64_t, words);
    if (grown != NULL && old_words > 0) {
        memcpy(grown, old, old_words * sizeof *grown);
    }
    return grown;
}

// Words of `touched`: one bit per page.
static uint32_t pending_touched_words(uint32_t words)
{
    return words / (PENDING_PAGE_WORDS * 64) + 1;
}

static void pending_free(orr_world* world, struct orri_command_buffers* command_buffers)
{
    orri_env* env = &world->env;
    ORRI_FREE(env, ORR_MEMORY_MESSAGE, uint64_t, command_buffers->seen,
              command_buffers->mark_words);
    ORRI_FREE(env, ORR_MEMORY_MESSAGE, uint64_t, command_buffers->multi,
              command_buffers->mark_words);
    ORRI_FREE(env, ORR_MEMORY_MESSAGE, uint64_t, command_buffers->created,
              command_buffers->mark_words);
    ORRI_FREE(env, ORR_MEMORY_MESSAGE, uint64_t, command_buffers->touched,
              pending_touched_words(command_buffers->mark_words));
}

void orri_pending_clear(struct orri_command_buffers* command_buffers)
{
    uint32_t pages = command_buffers->marks_any ? command_buffers->mark_words / PENDING_PAGE_WORDS
                                                : 0;
    for (uint32_t page = 0; page < pages; page++) {
        if (orri_bit_get(command_buffers->touched, page)) {
            size_t first = (size_t)page * PENDING_PAGE_WORDS, size = PENDING_PAGE_WORDS * 8;
            memset(command_buffers->seen + first, 0, size);
            memset(command_buffers->multi + first, 0, size);
            memset(command_buffers->created + first, 0, size);
        } else if (command_buffers->touched[page >> 6] == 0) {
            page |= 63;
        }
    }
    if (command_buffers->marks_any) {
        memset(command_buffers->touched, 0,
               pending_touched_words(command_buffers->mark_words) * sizeof(uint64_t));
    }
    command_buffers->marks_any = command_buffers->multi_any = command_buffers->marks_old = false;
}

bool orri_pending_begin(orr_world* world)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    uint64_t most = (uint64_t)world->hot.count + command_buffers->reserved;
    most = most < ORR_ENTITIES_MAX ? most : ORR_ENTITIES_MAX;
    uint32_t words = (uint32_t)((most >> 6) + 1);
    if (command_buffers->marks_old) {
        orri_pending_clear(command_buffers);
    }
    if (words <= command_buffers->mark_words) {
        return true;
    }
    // Whole pages, and room for a quarter more.
    words = (words + words / 4 + PENDING_PAGE_WORDS - 1) / PENDING_PAGE_WORDS * PENDING_PAGE_WORDS;
    struct orri_command_buffers grown = {.mark_words = words};
    uint32_t old = command_buffers->mark_words,
             old_touched = old > 0 ? pending_touched_words(old) : 0;
    grown.seen = pending_grow(world, command_buffers->seen, old, words);
    grown.multi = pending_grow(world, command_buffers->multi, old, words);
    grown.created = pending_grow(world, command_buffers->created, old, words);
    grown.touched =
        pending_grow(world, command_buffers->touched, old_touched, pending_touched_words(words));
    if (grown.seen == NULL || grown.multi == NULL || grown.created == NULL ||
        grown.touched == NULL) {
        pending_free(world, &grown);
        (void)orri_refuse_memory(&world->env, "marking the entities of waiting commands");
        return false;
    }
    pending_free(world, command_buffers);
    command_buffers->seen = grown.seen;
    command_buffers->multi = grown.multi;
    command_buffers->created = grown.created;
    command_buffers->touched = grown.touched;
    command_buffers->mark_words = words;
    return true;
}

void orri_pending_term(orr_world* world, struct orri_command_buffers* command_buffers)
{
    pending_free(world, command_buffers);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, command_buffers->sources,
                 command_buffers->source_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, command_buffers->senders,
                 command_buffers->sender_capacity);
}

// ---- marking ------------------------------------------------------------------------------------

// True for arrays that can be part of a bundle: no kind that ends the entity, no instances.
static bool pending_may_align(const orri_command_array* array)
{
    bool kind = array->kind == ORRI_COMMAND_CREATE || array->kind == ORRI_COMMAND_ADD ||
                array->kind == ORRI_COMMAND_ADD_PRESET || array->kind == ORRI_COMMAND_CHANGE ||
                array->kind == ORRI_COMMAND_REMOVE;
    return kind && array->ids == NULL && array->count > 0;
}

// True when both arrays have the same entities in the same order.
static bool pending_aligned(const orri_command_array* a, const orri_command_array* b)
{
    uint32_t last = a->count - 1;
    return b->count == a->count && b->kind != ORRI_COMMAND_CREATE &&
           b->entities[0].id == a->entities[0].id && b->entities[last].id == a->entities[last].id &&
           pending_may_align(b) &&
           (a->entities == b->entities ||
            memcmp(a->entities, b->entities, a->count * sizeof *a->entities) == 0);
}

// True when the bundle already has the type: a type occurs once in a bundle.
static bool pending_has_type(const orr_command_buffer* commands, const orri_command_array* head,
                             const orri_command_array* other)
{
    for (const orri_command_array* s = head;; s = &commands->arrays[s->next1 - 1]) {
        if (s->type.id == other->type.id) {
            return true; // Creations have no type; two creations have different entities anyway.
        }
        if (s->next1 == 0) {
            return false;
        }
    }
}

// Links the arrays that are aligned with the array at `place`.
static void pending_find_bundle(orr_command_buffer* commands, uint32_t place)
{
    orri_command_array* head = &commands->arrays[commands->order[place]];
    orri_command_array* tail = head;
    uint32_t end = place + 1 + PENDING_ALIGNED_MAX;
    bool structure = head->kind != ORRI_COMMAND_CHANGE;
    for (uint32_t i = place + 1; i < commands->order_count && i < end; i++) {
        orri_command_array* other = &commands->arrays[commands->order[i]];
        if (!other->bundled && other->count > 0 && other->kind != ORRI_COMMAND_EVENT &&
            pending_aligned(head, other) && !pending_has_type(commands, head, other)) {
            other->bundled = true;
            tail->next1 = commands->order[i] + 1;
            tail = other;
            structure |= other->kind != ORRI_COMMAND_CHANGE;
        }
    }
    // Changes without structure need not wait: each array stands for itself.
    for (orri_command_array* s = head; !structure && s->next1 != 0;) {
        orri_command_array* next = &commands->arrays[s->next1 - 1];
        next->bundled = false;
        s->next1 = 0;
        s = next;
    }
}

// True when the buffer has structure: only with it can there be bundles.
static bool pending_has_structure(const orr_command_buffer* commands)
{
    bool structure = false;
    for (uint32_t i = 0; i < commands->order_count && !structure; i++) {
        const orri_command_array* array = &commands->arrays[commands->order[i]];
        structure = array->kind != ORRI_COMMAND_CHANGE && array->kind != ORRI_COMMAND_EVENT &&
                    array->count > 0;
    }
    return structure;
}

static void pending_find_bundles(orr_command_buffer* commands, bool structure)
{
    for (uint32_t i = 0; i < commands->order_count; i++) {
        orri_command_array* array = &commands->arrays[commands->order[i]];
        array->next1 = 0;
        array->bundled = false;
    }
    for (uint32_t i = 0; structure && i < commands->order_count; i++) {
        const orri_command_array* array = &commands->arrays[commands->order[i]];
        if (!array->bundled && pending_may_align(array)) {
            pending_find_bundle(commands, i);
        }
    }
}

static bool pending_is_structure(const orri_command_array* array)
{
    return array->kind != ORRI_COMMAND_EVENT &&
           (array->kind != ORRI_COMMAND_CHANGE || array->next1 != 0);
}

// Bits of one word, collected before they are written: neighbouring entities cost one memory
// access.
typedef struct pending_word {
    uint32_t word;
    uint64_t bits, again; // Mentioned; mentioned again within the word.
    bool created;
} pending_word;

// Writes the collected bits; a bit that was set before is marked `multi`.
static inline void pending_flush(struct orri_command_buffers* command_buffers,
                                 const pending_word* w)
{
    if (ORR_UNLIKELY(w->word >= command_buffers->mark_words)) {
        return; // Ids that never existed: no entity has them before the commit.
    }
    uint64_t old = command_buffers->seen[w->word], again = (old & w->bits) | w->again;
    command_buffers->seen[w->word] = old | w->bits;
    if (w->created) {
        command_buffers->created[w->word] |= w->bits;
    }
    if (ORR_UNLIKELY(again != 0)) {
        command_buffers->multi[w->word] |= again;
        command_buffers->multi_any = true;
    }
    uint32_t page = w->word / PENDING_PAGE_WORDS;
    command_buffers->touched[page >> 6] |= (uint64_t)1 << (page & 63);
}

// True when 64 ids are consecutive, as those of a new cluster and most ids that are reserved
// together.
static inline bool pending_sequence(const orr_entity* entities)
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

static void pending_add_entities(struct orri_command_buffers* command_buffers,
                                 const orr_entity* entities, uint32_t count, bool created)
{
    pending_word w = {.word = orri_id_index(entities[0]) >> 6, .created = created};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = orri_id_index(entities[i]);
        uint64_t bit = (uint64_t)1 << (index & 63);
        if (index >> 6 != w.word) {
            pending_flush(command_buffers, &w);
            w = (pending_word){.word = index >> 6, .created = created};
            if (bit == 1 && count - i >= 64 && pending_sequence(entities + i)) {
                w.bits = UINT64_MAX;
                i += 63;
                continue;
            }
        }
        w.again |= w.bits & bit;
        w.bits |= bit;
    }
    pending_flush(command_buffers, &w);
}

void orri_pending_mark(struct orri_command_buffers* command_buffers, uint32_t index)
{
    command_buffers->marks_any = true;
    pending_flush(command_buffers,
                  &(pending_word){index >> 6, (uint64_t)1 << (index & 63), 0, false});
}

// Marks the entities of an array; a destruction ends the mark `created`.
static void pending_add_array(const orr_world* world, struct orri_command_buffers* command_buffers,
                              const orri_command_array* array)
{
    pending_add_entities(command_buffers, array->entities, array->count,
                         array->kind == ORRI_COMMAND_CREATE);
    for (uint32_t i = 0; array->kind == ORRI_COMMAND_DESTROY && i < array->count; i++) {
        if (orri_pending_created(world, array->entities[i])) {
            orri_bit_set(command_buffers->created, orri_id_index(array->entities[i]), false);
        }
    }
}

// Creations first, because the same buffer may destroy what it creates. A change outside of bundles
// is not structure; a change in a bundle with structure is marked with it.
void orri_pending_add(struct orri_command_buffers* command_buffers, orr_command_buffer* commands)
{
    bool structure = pending_has_structure(commands);
    pending_find_bundles(commands, structure);
    for (int pass = 0; structure && pass < 2; pass++) {
        for (uint32_t i = 0; i < commands->order_count; i++) {
            orri_command_array* array = &commands->arrays[commands->order[i]];
            if (array->bundled || array->count == 0 || !pending_is_structure(array) ||
                (array->kind == ORRI_COMMAND_CREATE) != (pass == 0)) {
                continue;
            }
            command_buffers->marks_any = true;
            pending_add_array(commands->world, command_buffers, array);
        }
    }
    commands->marked = true;
}

bool orri_pending_created(const orr_world* world, orr_entity entity)
{
    const struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    uint32_t index = orri_id_index(entity), generation = world->salt | 1;
    if (command_buffers->marks_old ||
        !orri_pending_get(command_buffers->created, command_buffers->mark_words, index)) {
        return false;
    }
    if (index < world->hot.count) {
        generation = orri_record_at(world, index)->generation & ~ORRI_DEAD;
    }
    return generation == orri_id_generation(entity);
}

#undef PENDING_PAGE_WORDS
#undef PENDING_ALIGNED_MAX
