// SPDX-License-Identifier: MIT
// Memory of the table: a list of live blocks, so that an abandoned schedule leaves nothing behind.
#include "controlled_state.h"

struct controlled_block {
    controlled_block *previous, *next;
    void* memory; // The result of the base platform.
    size_t total, align;
    size_t size; // The requested size.
};

void* controlled_memory_alloc(void* user, size_t size, size_t align)
{
    controlled* c = user;
    if (align < _Alignof(controlled_block)) {
        align = _Alignof(controlled_block);
    }
    size_t ahead = (sizeof(controlled_block) + align - 1) / align * align, total = ahead + size;
    char* memory = total < size ? NULL
                                : c->desc.base->memory_alloc(c->desc.base->user, total, align);
    if (memory == NULL) {
        return NULL;
    }
    controlled_block* block = (controlled_block*)(void*)(memory + ahead) - 1;
    *block = (controlled_block){NULL, c->blocks, memory, total, align, size};
    if (c->blocks != NULL) {
        c->blocks->previous = block;
    }
    c->blocks = block;
    return memory + ahead;
}

static void memory_block_free(controlled* c, controlled_block* block)
{
    if (block->previous != NULL) {
        block->previous->next = block->next;
    } else {
        c->blocks = block->next;
    }
    if (block->next != NULL) {
        block->next->previous = block->previous;
    }
    c->desc.base->memory_free(c->desc.base->user, block->memory, block->total, block->align);
}

void controlled_memory_free(void* user, void* ptr, size_t size, size_t align)
{
    controlled* c = user;
    controlled_block* block = (controlled_block*)ptr - 1;
    (void)align;
    controlled_check(block->size == size, "given back as %zu bytes, taken as %zu", size,
                     block->size);
    memory_block_free(c, block);
}

size_t controlled_memory_held(const controlled* c, size_t* count)
{
    size_t size = 0;
    for (const controlled_block* block = c->blocks; block != NULL; block = block->next) {
        size += block->size;
        ++*count;
    }
    return size;
}

void controlled_memory_reset(controlled* c)
{
    while (c->blocks != NULL) {
        memory_block_free(c, c->blocks);
    }
}
