// SPDX-License-Identifier: MIT
// A world's memory: every block comes from the world's allocator and is counted under its purpose
// and in the total. Counters are relaxed atomics: each one is correct by itself at any time, and
// while no call is in progress the purposes add up to the total.
#include "base/env.h"
#include "base/util.h"

static void mem_peak(orri_mem_counter* counter, uint64_t bytes)
{
    uint64_t peak = atomic_load_explicit(&counter->bytes_peak, memory_order_relaxed);
    while (peak < bytes &&
           !atomic_compare_exchange_weak_explicit(&counter->bytes_peak, &peak, bytes,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

static void mem_uncount(orri_mem_counter* counter, uint64_t size)
{
    atomic_fetch_sub_explicit(&counter->bytes, size, memory_order_relaxed);
    atomic_fetch_sub_explicit(&counter->blocks, 1, memory_order_relaxed);
}

// Counts the bytes before they are requested from the allocator, so that threads that allocate at
// the same time cannot exceed the limit together. *out receives the new total.
static bool mem_reserve(orri_env* env, uint64_t size, uint64_t* out)
{
    uint64_t bytes = atomic_load_explicit(&env->total.bytes, memory_order_relaxed);
    do {
        if (env->bytes_max != 0 && (bytes > env->bytes_max || size > env->bytes_max - bytes)) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&env->total.bytes, &bytes, bytes + size,
                                                    memory_order_relaxed, memory_order_relaxed));
    *out = bytes + size;
    return true;
}

static void mem_count(orri_env* env, orr_memory_purpose purpose, uint64_t size, uint64_t total)
{
    orri_mem_counter* counter = &env->by_purpose[purpose];
    uint64_t before = atomic_fetch_add_explicit(&counter->bytes, size, memory_order_relaxed);
    mem_peak(counter, before + size);
    mem_peak(&env->total, total);
    atomic_fetch_add_explicit(&counter->blocks, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&env->total.blocks, 1, memory_order_relaxed);
}

// The address that represents a block of 0 bytes: aligned, not NULL, and a fault when accessed.
static void* mem_nothing(size_t align)
{
    return (void*)(uintptr_t)align;
}

void* orri_alloc(orri_env* env, orr_memory_purpose purpose, size_t size, size_t align)
{
    ORR_ASSERT((unsigned)purpose < ORR_MEMORY_PURPOSE_COUNT);
    ORR_ASSERT(align > 0 && (align & (align - 1)) == 0);
    if (size == 0) {
        return mem_nothing(align);
    }
    uint64_t total;
    if (size > PTRDIFF_MAX || !mem_reserve(env, size, &total)) {
        atomic_fetch_add_explicit(&env->refusals, 1, memory_order_relaxed);
        return NULL;
    }
    void* ptr = env->allocator.alloc(env->allocator.user, size, align);
    if (ptr == NULL) {
        atomic_fetch_sub_explicit(&env->total.bytes, size, memory_order_relaxed);
        atomic_fetch_add_explicit(&env->refusals, 1, memory_order_relaxed);
        return NULL;
    }
    ORR_ASSERT(((uintptr_t)ptr & (align - 1)) == 0);
    mem_count(env, purpose, size, total);
    return ptr;
}

void* orri_alloc_zero(orri_env* env, orr_memory_purpose purpose, size_t size, size_t align)
{
    void* ptr = orri_alloc(env, purpose, size, align);
    if (ptr != NULL && size > 0) {
        memset(ptr, 0, size);
    }
    return ptr;
}

void orri_free(orri_env* env, orr_memory_purpose purpose, void* ptr, size_t size, size_t align)
{
    if (ptr == NULL || size == 0) {
        return;
    }
    ORR_ASSERT((unsigned)purpose < ORR_MEMORY_PURPOSE_COUNT);
    ORR_ASSERT(atomic_load_explicit(&env->by_purpose[purpose].bytes, memory_order_relaxed) >= size);
    env->allocator.free(env->allocator.user, ptr, size, align);
    mem_uncount(&env->by_purpose[purpose], size);
    mem_uncount(&env->total, size);
}

static orr_memory_use mem_use(const orri_mem_counter* counter)
{
    return (orr_memory_use){
        .bytes = atomic_load_explicit(&counter->bytes, memory_order_relaxed),
        .bytes_peak = atomic_load_explicit(&counter->bytes_peak, memory_order_relaxed),
        .blocks = atomic_load_explicit(&counter->blocks, memory_order_relaxed),
    };
}

void orri_mem_stats(const orri_env* env, orr_memory_stats* out)
{
    out->total = mem_use(&env->total);
    for (uint32_t i = 0; i < ORR_MEMORY_PURPOSE_COUNT; i++) {
        out->by_purpose[i] = mem_use(&env->by_purpose[i]);
    }
    out->bytes_max = env->bytes_max;
}

static uint32_t mem_capacity_next(uint32_t capacity, uint32_t needed)
{
    uint32_t doubled = capacity > UINT32_MAX / 2 ? UINT32_MAX : capacity * 2;
    uint32_t next = doubled > needed ? doubled : needed;
    return next < 8 ? 8 : next;
}

// `data` points to a pointer of another type. That pointer is read and written as bytes, so that
// the compiler does not assume that the two types never alias.
bool orri_array_reserve(orri_env* env, orr_memory_purpose purpose, void** data, uint32_t* capacity,
                        uint32_t needed, size_t item_size, size_t align)
{
    if (needed <= *capacity) {
        return true;
    }
    uint32_t next = mem_capacity_next(*capacity, needed);
    void* to = orri_alloc(env, purpose, orri_size_mul(item_size, next), align);
    if (to == NULL) {
        return false;
    }
    void* from;
    memcpy(&from, (const void*)data, sizeof from);
    size_t size = orri_size_mul(item_size, *capacity);
    if (size > 0) {
        memcpy(to, from, size);
        orri_free(env, purpose, from, size, align);
    }
    memcpy((void*)data, &to, sizeof to);
    *capacity = next;
    return true;
}
