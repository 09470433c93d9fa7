// SPDX-License-Identifier: MIT
// Memory of a commit: taken piece by piece, given back all at once, kept for the next commit. Fresh pages cost more than
// what is written to them.
#include "message/lane.h"

#define SCRATCH_PIECE_MIN 65536u
#define SCRATCH_HEADER    64u // Of a piece, so that what follows is aligned.
_Static_assert(sizeof(orri_scratch_piece) <= SCRATCH_HEADER,
               "the header of a piece is a cache line");

static void* scratch_cut(orri_scratch_piece* piece, size_t size)
{
    size_t align = size >= 64 ? 64 : 16;
    size_t from = (piece->used + align - 1) & ~(align - 1);
    if (from > piece->size || size > piece->size - from) {
        return NULL;
    }
    piece->used = from + size;
    return (uint8_t*)piece + from;
}

static orri_scratch_piece* scratch_add(orr_world* world, orri_scratch* scratch, size_t size)
{
    size_t whole = scratch->now != NULL ? scratch->now->size * 2 : SCRATCH_PIECE_MIN;
    if (size > SIZE_MAX / 4) {
        return NULL;
    }
    while (whole < size + 2 * SCRATCH_HEADER) {
        whole *= 2;
    }
    orri_scratch_piece* piece =
        orri_alloc(&world->env, ORR_MEMORY_MESSAGE, whole, ORRI_BLOCK_ALIGN);
    if (piece == NULL) {
        return NULL;
    }
    *piece = (orri_scratch_piece){NULL, whole, SCRATCH_HEADER};
    if (scratch->now != NULL) {
        piece->next = scratch->now->next;
        scratch->now->next = piece;
    } else {
        piece->next = scratch->first;
        scratch->first = piece;
    }
    return piece;
}

void* orri_scratch_take(orr_world* world, orri_scratch* scratch, size_t size)
{
    orri_scratch_piece* now = scratch->now != NULL ? scratch->now : scratch->first;
    for (; now != NULL; now = now->next) {
        void* taken = scratch_cut(now, size);
        scratch->now = now;
        if (taken != NULL) {
            scratch->used += size;
            return taken;
        }
    }
    now = scratch_add(world, scratch, size);
    if (now == NULL) {
        return NULL;
    }
    scratch->now = now;
    scratch->used += size;
    return scratch_cut(now, size);
}

void orri_scratch_reset(orri_scratch* scratch)
{
    scratch->peak = scratch->peak > scratch->used ? scratch->peak : scratch->used;
    scratch->used = 0;
    scratch->now = NULL;
    for (orri_scratch_piece* piece = scratch->first; piece != NULL; piece = piece->next) {
        piece->used = SCRATCH_HEADER;
    }
}

void orri_scratch_trim(orr_world* world, orri_scratch* scratch)
{
    size_t kept = 0;
    orri_scratch_piece** link = &scratch->first;
    while (*link != NULL) {
        orri_scratch_piece* piece = *link;
        kept += piece->size;
        if (piece->size > SCRATCH_PIECE_MIN && kept / 4 > scratch->peak) {
            *link = piece->next;
            orri_free(&world->env, ORR_MEMORY_MESSAGE, piece, piece->size, ORRI_BLOCK_ALIGN);
        } else {
            link = &piece->next;
        }
    }
    scratch->now = NULL;
    scratch->peak = 0;
}

void orri_scratch_term(orr_world* world, orri_scratch* scratch)
{
    while (scratch->first != NULL) {
        orri_scratch_piece* piece = scratch->first;
        scratch->first = piece->next;
        orri_free(&world->env, ORR_MEMORY_MESSAGE, piece, piece->size, ORRI_BLOCK_ALIGN);
    }
    scratch->now = NULL;
}

#undef SCRATCH_PIECE_MIN
#undef SCRATCH_HEADER
