// SPDX-License-Identifier: MIT
// Memory of one commit: taken piece by piece, freed all at once, kept for the next commit. Fresh
// pages from the system would cost more than what is written to them.
#include "message/send/command_buffer.h"

#define COMMIT_ARENA_BLOCK_MIN 4096u
#define COMMIT_ARENA_HEADER    64u // Of a block, so that the memory after it is aligned.
_Static_assert(sizeof(orri_commit_arena_block) <= COMMIT_ARENA_HEADER,
               "the header of a block fits a cache line");

// Memory from one block; NULL: it has not enough left.
static void* commit_arena_cut(orri_commit_arena_block* block, size_t size)
{
    size_t align = size >= 64 ? 64 : 16;
    size_t from = (block->used + align - 1) & ~(align - 1);
    if (from > block->size || size > block->size - from) {
        return NULL;
    }
    block->used = from + size;
    return (uint8_t*)block + from;
}

// Inserts a new block after the current one, at least twice as large.
static orri_commit_arena_block* commit_arena_add(orr_world* world, orri_commit_arena* arena,
                                                 size_t size)
{
    size_t whole = arena->now != NULL ? arena->now->size * 2 : COMMIT_ARENA_BLOCK_MIN;
    if (size > SIZE_MAX / 4) {
        return NULL;
    }
    while (whole < size + 2 * COMMIT_ARENA_HEADER) {
        whole *= 2;
    }
    orri_commit_arena_block* block =
        orri_alloc(&world->env, ORR_MEMORY_MESSAGE, whole, ORRI_BLOCK_ALIGN);
    if (block == NULL) {
        return NULL;
    }
    *block = (orri_commit_arena_block){NULL, whole, COMMIT_ARENA_HEADER};
    if (arena->now != NULL) {
        block->next = arena->now->next;
        arena->now->next = block;
    } else {
        block->next = arena->first;
        arena->first = block;
    }
    return block;
}

void* orri_commit_arena_take(orr_world* world, orri_commit_arena* arena, size_t size)
{
    orri_commit_arena_block* now = arena->now != NULL ? arena->now : arena->first;
    for (; now != NULL; now = now->next) {
        void* taken = commit_arena_cut(now, size);
        arena->now = now;
        if (taken != NULL) {
            arena->used += size;
            return taken;
        }
    }
    now = commit_arena_add(world, arena, size);
    if (now == NULL) {
        return NULL;
    }
    arena->now = now;
    arena->used += size;
    return commit_arena_cut(now, size);
}

void orri_commit_arena_reset(orri_commit_arena* arena)
{
    arena->peak = arena->peak > arena->used ? arena->peak : arena->used;
    arena->used = 0;
    arena->now = NULL;
    for (orri_commit_arena_block* block = arena->first; block != NULL; block = block->next) {
        block->used = COMMIT_ARENA_HEADER;
    }
}

void orri_commit_arena_trim(orr_world* world, orri_commit_arena* arena)
{
    size_t kept = 0;
    orri_commit_arena_block** link = &arena->first;
    while (*link != NULL) {
        orri_commit_arena_block* block = *link;
        kept += block->size;
        if (block->size > COMMIT_ARENA_BLOCK_MIN && kept / 4 > arena->peak) {
            *link = block->next;
            orri_free(&world->env, ORR_MEMORY_MESSAGE, block, block->size, ORRI_BLOCK_ALIGN);
        } else {
            link = &block->next;
        }
    }
    arena->now = NULL;
    arena->peak = 0;
}

void orri_commit_arena_term(orr_world* world, orri_commit_arena* arena)
{
    while (arena->first != NULL) {
        orri_commit_arena_block* block = arena->first;
        arena->first = block->next;
        orri_free(&world->env, ORR_MEMORY_MESSAGE, block, block->size, ORRI_BLOCK_ALIGN);
    }
    arena->now = NULL;
}

#undef COMMIT_ARENA_BLOCK_MIN
#undef COMMIT_ARENA_HEADER
