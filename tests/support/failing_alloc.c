// SPDX-License-Identifier: MIT
// Each block has a header before it (size, align, request) and a few bytes after it that must not
// change. Mistakes are printed and counted at once, but fail the test only in
// failing_alloc_check(), because free may run on any thread.
#include "failing_alloc.h"

#include "../test.h"
#include <stdlib.h>

#define BLOCK_LIVE 0x4C49564542304F4Bu
#define BLOCK_DEAD 0xDEADDEADDEADDEADu
#define TAIL_SIZE  8
#define TAIL_BYTE  0xB7

typedef struct failing_block {
    struct failing_block *next, **link; // `link` is the pointer that points here.
    void* base;                         // The result of malloc.
    size_t size, align;
    uint64_t request;
    uint64_t magic; // Last member: directly before the bytes.
} failing_block;

static void block_lock(failing_alloc* memory)
{
    while (atomic_flag_test_and_set_explicit(&memory->busy, memory_order_acquire)) {
    }
}

static void block_unlock(failing_alloc* memory)
{
    atomic_flag_clear_explicit(&memory->busy, memory_order_release);
}

static bool block_refused(failing_alloc* memory)
{
    memory->requests++;
    bool refused = memory->fail_at != 0 &&
                   (memory->requests == memory->fail_at ||
                    (memory->fail_for_good && memory->requests > memory->fail_at));
    memory->refused += refused;
    return refused;
}

// The header is directly before the bytes; `align` more bytes are allocated so that the bytes can
// be moved up.
static failing_block* block_create(size_t size, size_t align)
{
    size_t step = align < _Alignof(failing_block) ? _Alignof(failing_block) : align;
    unsigned char* base = malloc(sizeof(failing_block) + step + size + TAIL_SIZE);
    if (base == NULL) {
        return NULL;
    }
    uintptr_t at = ((uintptr_t)base + sizeof(failing_block) + step - 1) & ~(uintptr_t)(step - 1);
    unsigned char* data = base + (at - (uintptr_t)base);
    failing_block* block = (failing_block*)(void*)data - 1;
    *block = (failing_block){.base = base, .size = size, .align = align, .magic = BLOCK_LIVE};
    memset(data + size, TAIL_BYTE, TAIL_SIZE);
    return block;
}

static void block_link(failing_alloc* memory, failing_block* block)
{
    block->request = memory->requests;
    block->next = memory->first;
    block->link = &memory->first;
    if (block->next != NULL) {
        block->next->link = &block->next;
    }
    memory->first = block;
    memory->live_blocks++;
    memory->live_bytes += block->size;
}

static void block_unlink(failing_alloc* memory, failing_block* block)
{
    *block->link = block->next;
    if (block->next != NULL) {
        block->next->link = block->link;
    }
    memory->live_blocks--;
    memory->live_bytes -= block->size;
    block->magic = BLOCK_DEAD;
}

static void* failing_alloc_alloc(void* user, size_t size, size_t align)
{
    failing_alloc* memory = user;
    block_lock(memory);
    failing_block* block = block_refused(memory) ? NULL : block_create(size, align);
    if (block != NULL) {
        block_link(memory, block);
        if (memory->fill) {
            memset(block + 1, memory->fresh_byte, size);
        }
    }
    block_unlock(memory);
    return block != NULL ? block + 1 : NULL;
}

static void block_print(const failing_alloc* memory, const failing_block* block, const char* what)
{
    if (!memory->quiet) {
        fprintf(stderr, "failing_alloc: %s (%zu bytes, align %zu, request %" PRIu64 ")\n", what,
                block->size, block->align, block->request);
    }
}

static void block_mistake(failing_alloc* memory, const failing_block* block, const char* what)
{
    memory->mistakes++;
    block_print(memory, block, what);
}

static void block_tail_check(failing_alloc* memory, const failing_block* block)
{
    const unsigned char* tail = (const unsigned char*)(block + 1) + block->size;
    for (size_t i = 0; i < TAIL_SIZE; i++) {
        if (tail[i] != TAIL_BYTE) {
            block_mistake(memory, block, "bytes behind the block were written");
            return;
        }
    }
}

static void failing_alloc_free(void* user, void* ptr, size_t size, size_t align)
{
    failing_alloc* memory = user;
    failing_block* block = (failing_block*)ptr - 1;
    block_lock(memory);
    if (block->magic != BLOCK_LIVE) {
        block_mistake(memory, &(failing_block){.size = size, .align = align},
                      "free of no live block");
        block_unlock(memory);
        return;
    }
    if (size != block->size || align != block->align) {
        block_mistake(memory, block, "free with another size or align");
    }
    block_tail_check(memory, block);
    if (memory->fill) {
        memset(ptr, memory->freed_byte, block->size);
    }
    block_unlink(memory, block);
    block_unlock(memory);
    free(block->base);
}

orr_allocator failing_alloc_allocator(failing_alloc* memory)
{
    return (orr_allocator){failing_alloc_alloc, failing_alloc_free, memory};
}

void failing_alloc_arm(failing_alloc* memory, uint64_t fail_at, bool for_good)
{
    memory->fail_at = fail_at;
    memory->fail_for_good = for_good;
    memory->requests = 0;
    memory->refused = 0;
}

uint64_t failing_alloc_leaks(failing_alloc* memory)
{
    int shown = 0;
    for (const failing_block* block = memory->first; block != NULL && shown < 8;
         block = block->next) {
        block_print(memory, block, "live block");
        shown++;
    }
    return memory->live_blocks;
}

void failing_alloc_check(failing_alloc* memory)
{
    CHECK_EQ(memory->mistakes, 0);
    CHECK_EQ(failing_alloc_leaks(memory), 0);
    CHECK_EQ(memory->live_bytes, 0);
}

void failing_alloc_reset(failing_alloc* memory)
{
    while (memory->first != NULL) {
        failing_block* block = memory->first;
        block_unlink(memory, block);
        free(block->base);
    }
    failing_alloc_arm(memory, 0, false);
}
