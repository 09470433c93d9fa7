// SPDX-License-Identifier: MIT
// Memory of a commit: taken piece by piece, given back all at once, kept for the next commit. Fresh pages cost more than
// what is written to them.
#include "message/send/command_buffer.h"

#define COMMIT_ARENA_PIECE_MIN 65536u
#define COMMIT_ARENA_HEADER    64u // Of a piece, so that what follows is aligned.
_Static_assert(sizeof(orri_commit_arena_piece) <= COMMIT_ARENA_HEADER,
               "the header of a piece is a cache line");

static void* commit_arena_cut(orri_commit_arena_piece* piece, size_t size)
{
    size_t align = size >= 64 ? 64 : 16;
    size_t from = (piece->used + align - 1) & ~(align - 1);
    if (from > piece->size || size > piece->size - from) {
        return NULL;
    }
    piece->used = from + size;
    return (uint8_t*)piece + from;
}

static orri_commit_arena_piece* commit_arena_add(orr_world* world, orri_commit_arena* scratch,
                                                 size_t size)
{
    size_t whole = scratch->now != NULL ? scratch->now->size * 2 : COMMIT_ARENA_PIECE_MIN;
    if (size > SIZE_MAX / 4) {
        return NULL;
    }
    while (whole < size + 2 * COMMIT_ARENA_HEADER) {
        whole *= 2;
    }
    orri_commit_arena_piece* piece =
        orri_alloc(&world->env, ORR_MEMORY_MESSAGE, whole, ORRI_BLOCK_ALIGN);
    if (piece == NULL) {
        return NULL;
    }
    *piece = (orri_commit_arena_piece){NULL, whole, COMMIT_ARENA_HEADER};
    if (scratch->now != NULL) {
        piece->next = scratch->now->next;
        scratch->now->next = piece;
    } else {
        piece->next = scratch->first;
        scratch->first = piece;
    }
    return piece;
}

void* orri_commit_arena_take(orr_world* world, orri_commit_arena* scratch, size_t size)
{
    orri_commit_arena_piece* now = scratch->now != NULL ? scratch->now : scratch->first;
    for (; now != NULL; now = now->next) {
        void* taken = commit_arena_cut(now, size);
        scratch->now = now;
        if (taken != NULL) {
            scratch->used += size;
            return taken;
        }
    }
    now = commit_arena_add(world, scratch, size);
    if (now == NULL) {
        return NULL;
    }
    scratch->now = now;
    scratch->used += size;
    return commit_arena_cut(now, size);
}

void orri_commit_arena_reset(orri_commit_arena* scratch)
{
    scratch->peak = scratch->peak > scratch->used ? scratch->peak : scratch->used;
    scratch->used = 0;
    scratch->now = NULL;
    for (orri_commit_arena_piece* piece = scratch->first; piece != NULL; piece = piece->next) {
        piece->used = COMMIT_ARENA_HEADER;
    }
}

void orri_commit_arena_trim(orr_world* world, orri_commit_arena* scratch)
{
    size_t kept = 0;
    orri_commit_arena_piece** link = &scratch->first;
    while (*link != NULL) {
        orri_commit_arena_piece* piece = *link;
        kept += piece->size;
        if (piece->size > COMMIT_ARENA_PIECE_MIN && kept / 4 > scratch->peak) {
            *link = piece->next;
            orri_free(&world->env, ORR_MEMORY_MESSAGE, piece, piece->size, ORRI_BLOCK_ALIGN);
        } else {
            link = &piece->next;
        }
    }
    scratch->now = NULL;
    scratch->peak = 0;
}

void orri_commit_arena_term(orr_world* world, orri_commit_arena* scratch)
{
    while (scratch->first != NULL) {
        orri_commit_arena_piece* piece = scratch->first;
        scratch->first = piece->next;
        orri_free(&world->env, ORR_MEMORY_MESSAGE, piece, piece->size, ORRI_BLOCK_ALIGN);
    }
    scratch->now = NULL;
}

#undef COMMIT_ARENA_PIECE_MIN
#undef COMMIT_ARENA_HEADER
