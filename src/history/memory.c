// SPDX-License-Identifier: MIT
// What an entity remembers: images by slot, in one blob of its traveller. Blobs do not change, so one more slot is a new blob; in return a memory is
// shared by copies of the entity and by snapshots of the world, is hashed once, and goes with its last holder.
//
//   count, {slot, end of its image} …, images
#include "history/image.h"

#define MEMORY_ENTRY 16u

orri_memory orri_memory_in(const orri_schema* schema, const orr_time_traveller* traveller)
{
    orr_string handle = {traveller->memory.index1, traveller->memory.generation};
    const orri_blob* blob = orri_blob_at(schema, handle);
    uint64_t count = 0;
    if (blob != NULL && blob->size >= sizeof count) {
        memcpy(&count, blob->data, sizeof count);
    }
    // The bytes are the library's own; if somebody wrote others, nothing is remembered.
    if (count == 0 || count > (blob->size - sizeof count) / MEMORY_ENTRY) {
        return (orri_memory){0};
    }
    return (orri_memory){blob->data, blob->size, (uint32_t)count};
}

orri_memory orri_memory_of(const orr_world* world, orr_entity entity)
{
    orr_type type = orri_type_find(&world->schema, "orr_time_traveller");
    const uint8_t* value = NULL;
    const orr_component_id* ids;
    if (type.index1 == 0 ||
        orri_frame_current(world, entity, orri_type_at(&world->schema, type), &value, &ids) == 0) {
        return (orri_memory){0};
    }
    return orri_memory_in(&world->schema, (const orr_time_traveller*)(const void*)value);
}

static uint64_t memory_word(const orri_memory* memory, uint32_t i, uint32_t word)
{
    uint64_t value;
    memcpy(&value, memory->data + 8 + (size_t)i * MEMORY_ENTRY + word * 8, sizeof value);
    return value;
}

uint64_t orri_memory_slot(const orri_memory* memory, uint32_t i)
{
    ORR_ASSERT(i < memory->count);
    return memory_word(memory, i, 0);
}

// Where an image begins: behind the one before.
static uint64_t memory_begin(const orri_memory* memory, uint32_t i)
{
    return i > 0 ? memory_word(memory, i - 1, 1) : 8 + (uint64_t)memory->count * MEMORY_ENTRY;
}

orri_bytes_from orri_memory_image(const orri_memory* memory, uint32_t i)
{
    ORR_ASSERT(i < memory->count);
    uint64_t begin = memory_begin(memory, i), end = memory_word(memory, i, 1);
    if (begin > end || end > memory->size) {
        return (orri_bytes_from){.failed = true};
    }
    return (orri_bytes_from){.data = memory->data + begin, .count = (size_t)(end - begin)};
}

uint32_t orri_memory_find(const orri_memory* memory, uint64_t slot, bool* found)
{
    uint32_t low = 0, high = memory->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (orri_memory_slot(memory, middle) < slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *found = low < memory->count && orri_memory_slot(memory, low) == slot;
    return low;
}

// ---- one slot more or less ------------------------------------------------------------------------------------------------

// What the new memory has at a place: an image of the old one, or the new one.
typedef struct memory_change {
    const orri_memory* old;
    const orri_bytes* image; // NULL: a slot goes.
    uint64_t slot;
    uint32_t at; // Its place.
    bool found;
} memory_change;

static uint32_t memory_count(const memory_change* c)
{
    return c->image != NULL ? c->old->count + !c->found : c->old->count - c->found;
}

// The place in the old one of what is at place `i` of the new one.
static uint32_t memory_before(const memory_change* c, uint32_t i)
{
    bool shifted = c->image != NULL ? i > c->at && !c->found : i >= c->at && c->found;
    return !shifted ? i : c->image != NULL ? i - 1 : i + 1;
}

static orri_bytes_from memory_at(const memory_change* c, uint32_t i)
{
    if (c->image != NULL && i == c->at) {
        return (orri_bytes_from){.data = c->image->data, .count = c->image->count};
    }
    return orri_memory_image(c->old, memory_before(c, i));
}

bool orri_memory_put(const orri_memory* memory, uint64_t slot, const orri_bytes* image,
                     orri_bytes* out)
{
    memory_change c = {memory, image, slot, 0, false};
    c.at = orri_memory_find(memory, slot, &c.found);
    uint32_t count = memory_count(&c);
    uint64_t end = 8 + (uint64_t)count * MEMORY_ENTRY;
    orri_bytes_put_word(out, count);
    for (uint32_t i = 0; i < count; i++) {
        end += memory_at(&c, i).count;
        bool is_new = image != NULL && i == c.at;
        orri_bytes_put_word(out, is_new ? slot : orri_memory_slot(memory, memory_before(&c, i)));
        orri_bytes_put_word(out, end);
    }
    for (uint32_t i = 0; i < count; i++) {
        orri_bytes_from part = memory_at(&c, i);
        orri_bytes_put(out, part.data, part.count);
    }
    if (out->failed) {
        (void)orri_refuse_memory(out->env, "remembering an entity");
    }
    return !out->failed;
}

// ---- words ----------------------------------------------------------------------------------------------------------------

#define MEMORY_SHOWN 8u

void orri_memory_words(const orri_type* type, const void* value, orri_text* out)
{
    orri_memory memory = orri_memory_in(type->schema, value);
    orri_text_add(out, "{slots: [");
    for (uint32_t i = 0; i < memory.count; i++) {
        bool shown = memory.count <= MEMORY_SHOWN || i < MEMORY_SHOWN - 1 || i == memory.count - 1;
        if (shown) {
            orri_text_add(out, "%s%llu", i > 0 ? ", " : "",
                          (unsigned long long)orri_memory_slot(&memory, i));
        } else if (i == MEMORY_SHOWN - 1) {
            orri_text_add(out, ", …");
        }
    }
    orri_text_add(out, "], count: %u, bytes: %u}", memory.count, memory.size);
}

void orri_memory_near(const orri_memory* memory, double place, orri_text* out)
{
    uint32_t at = 0;
    while (at < memory->count && (double)orri_memory_slot(memory, at) <= place) {
        at++;
    }
    unsigned long long below = at > 0 ? orri_memory_slot(memory, at - 1) : 0;
    unsigned long long above = at < memory->count ? orri_memory_slot(memory, at) : 0;
    if (memory->count == 0) {
        orri_text_add(out, "it remembers nothing");
    } else if (at == 0) {
        orri_text_add(out, "the first slot it remembers is %llu", above);
    } else if (at == memory->count) {
        orri_text_add(out, "the last slot it remembers is %llu", below);
    } else {
        orri_text_add(out, "the nearest slots it remembers are %llu and %llu", below, above);
    }
}

#undef MEMORY_ENTRY
#undef MEMORY_SHOWN
