// SPDX-License-Identifier: MIT
// A world's memory: every block comes from the world's allocator and is counted under its purpose
// and in the total. Counters are relaxed atomics: each one is correct by itself at any time, and
// while no call is in progress the purposes add up to the total.
#include "base/env.h"
#include "base/util.h"

// Adds to a counter; to subtract, adds the negative number. `alone`: the process has one thread. A
// locked instruction costs as much as a small allocation.
static inline uint64_t mem_add(_Atomic uint64_t* counter, uint64_t more, bool alone)
{
    if (alone) {
        uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
        atomic_store_explicit(counter, before + more, memory_order_relaxed);
        return before;
    }
    return atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

static void mem_peak(orri_mem_counter* counter, uint64_t bytes)
{
    uint64_t peak = atomic_load_explicit(&counter->bytes_peak, memory_order_relaxed);
    while (peak < bytes &&
           !atomic_compare_exchange_weak_explicit(&counter->bytes_peak, &peak, bytes,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

static inline void mem_uncount(orri_mem_counter* counter, uint64_t size, bool alone)
{
    mem_add(&counter->bytes, 0 - size, alone);
    mem_add(&counter->blocks, UINT64_MAX, alone);
}

// Counts the bytes before they are requested from the allocator, so that threads that allocate at
// the same time cannot exceed the limit together. *out receives the new total.
static bool mem_reserve(orri_env* env, uint64_t size, bool alone, uint64_t* out)
{
    if (ORR_LIKELY(env->bytes_max == 0)) {
        *out = mem_add(&env->total.bytes, size, alone) + size;
        return true;
    }
    uint64_t bytes = atomic_load_explicit(&env->total.bytes, memory_order_relaxed);
    do {
        if (bytes > env->bytes_max || size > env->bytes_max - bytes) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&env->total.bytes, &bytes, bytes + size,
                                                    memory_order_relaxed, memory_order_relaxed));
    *out = bytes + size;
    return true;
}

static inline void mem_count(orri_env* env, orri_mem_counter* counter, uint64_t size, bool alone,
                             uint64_t total)
{
    mem_peak(counter, mem_add(&counter->bytes, size, alone) + size);
    mem_peak(&env->total, total);
    mem_add(&counter->blocks, 1, alone);
    mem_add(&env->total.blocks, 1, alone);
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
    bool alone = *env->single_threaded != 0;
    uint64_t total;
    if (size > PTRDIFF_MAX || !mem_reserve(env, size, alone, &total)) {
        atomic_fetch_add_explicit(&env->refusals, 1, memory_order_relaxed);
        return NULL;
    }
    void* ptr = env->allocator.alloc(env->allocator.user, size, align);
    if (ptr == NULL) {
        mem_add(&env->total.bytes, 0 - (uint64_t)size, *env->single_threaded != 0);
        atomic_fetch_add_explicit(&env->refusals, 1, memory_order_relaxed);
        return NULL;
    }
    ORR_ASSERT(((uintptr_t)ptr & (align - 1)) == 0);
    // Asked again: the allocator may have started a thread.
    mem_count(env, &env->by_purpose[purpose], size, *env->single_threaded != 0, total);
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
    bool alone = *env->single_threaded != 0;
    mem_uncount(&env->by_purpose[purpose], size, alone);
    mem_uncount(&env->total, size, alone);
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
