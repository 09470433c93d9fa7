// SPDX-License-Identifier: MIT
// Memory of one registration: many small pieces that are freed together, so that a registration
// that is refused half-way only has to free the arena.
#include "schema/detail.h"

#define ARENA_BLOCK_SIZE 2048u
#define ARENA_ALIGN      64u // Alignment of a block: the greatest of a value; presets are in here.

struct orri_arena_block {
    orri_arena_block* next;
    size_t size, used; // Bytes, this header included.
};

static void* arena_take(orri_arena_block* block, size_t size, size_t align)
{
    size_t from = (block->used + align - 1) & ~(align - 1);
    if (from > block->size || size > block->size - from) {
        return NULL;
    }
    block->used = from + size;
    return (unsigned char*)block + from;
}

void* orri_arena_alloc(orri_env* env, orri_arena* arena, size_t size, size_t align)
{
    ORR_ASSERT(align <= ARENA_ALIGN);
    void* ptr = arena->first != NULL ? arena_take(arena->first, size, align) : NULL;
    if (ptr != NULL) {
        return ptr;
    }
    size_t header = sizeof(orri_arena_block) + ARENA_ALIGN;
    size_t whole = size + header > ARENA_BLOCK_SIZE ? size + header : ARENA_BLOCK_SIZE;
    orri_arena_block* block = orri_alloc_zero(env, ORR_MEMORY_SCHEMA, whole, ARENA_ALIGN);
    if (block == NULL) {
        return NULL;
    }
    *block = (orri_arena_block){arena->first, whole, sizeof *block};
    arena->first = block;
    return arena_take(block, size, align);
}

const char* orri_arena_text(orri_env* env, orri_arena* arena, const char* text)
{
    size_t size = strlen(text) + 1;
    char* copy = orri_arena_alloc(env, arena, size, 1);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

void orri_arena_free(orri_env* env, orri_arena* arena)
{
    orri_arena_block* block = arena->first;
    while (block != NULL) {
        orri_arena_block* next = block->next;
        orri_free(env, ORR_MEMORY_SCHEMA, block, block->size, ARENA_ALIGN);
        block = next;
    }
    arena->first = NULL;
}

#undef ARENA_BLOCK_SIZE
#undef ARENA_ALIGN
