// SPDX-License-Identifier: MIT
// What every part of a world shares: platform, memory, log and the way to refuse. One per world, at a
// fixed address. Everything in src/base that needs memory or words takes it first.
#ifndef ORRI_BASE_ENV_H
#define ORRI_BASE_ENV_H

#include "base/sync.h"
#include <orrery/base.h>
#include <stdarg.h>
#include <stdatomic.h>

#define ORRI_ERROR_SIZE 512

typedef struct orri_mem_counter {
    _Atomic uint64_t bytes, bytes_peak, blocks;
} orri_mem_counter;

typedef struct orri_log_rate {
    uint64_t window_ns;  // When the current second began.
    uint32_t lines;      // Shown in it.
    uint64_t suppressed; // Held back since the last line shown.
} orri_log_rate;

// Number of ORR_LOG_ITEMS.
enum {
#define X(number, name, level, category) ORRI_LOG_INDEX_##name,
    ORR_LOG_ITEMS(X)
#undef X
    ORRI_LOG_ITEM_COUNT
};

typedef struct orri_env {
    const orr_platform* platform;
    orr_allocator allocator;
    uint64_t bytes_max; // 0: no limit.
    orri_mem_counter total;
    orri_mem_counter by_purpose[ORR_MEMORY_PURPOSE_COUNT];
    _Atomic uint64_t refusals; // Allocations that were refused.

    orr_log_level levels[ORR_LOG_CATEGORY_COUNT];
    uint32_t lines_per_second;
    orr_log_sink sink;
    void* sink_user;
    orri_mutex rate_mutex; // Around `rates`; never held while the sink runs, so a sink may log.
    orri_log_rate rates[ORRI_LOG_ITEM_COUNT];

    // Told of every refusal; NULL: the log. Filled by the owner of the env.
    void (*on_refusal)(void* owner, orr_result result, orr_log_id id, const char* text);
    void* on_refusal_owner;
    // Workers may refuse at the same time: one after the other. Who is told may be refused itself, on the thread that holds it.
    orri_mutex refusing;
    _Atomic(const void*) refusing_thread;
    char error_text[ORRI_ERROR_SIZE]; // Of the last refusal; "" if none.
} orri_env;

// Refusals of an env on this thread alone, held back by who calls something that may be refused: he is told instead.
typedef struct orri_env_ear {
    const orri_env* env; // NULL: none.
    void (*hear)(void* owner, orr_result result, orr_log_id id, const char* text);
    void* owner;
} orri_env_ear;
extern _Thread_local orri_env_ear orri_ear_here;

// Of the last refusal on this thread, whatever the env.
extern _Thread_local orr_result orri_refused_last;
// True in an error handler, or a sink, that this thread's refusal called.
bool orri_refusing_here(const orri_env* env);

// `platform` NULL: the default one. An allocator with both functions NULL: the platform's memory.
void orri_env_init(orri_env* env, const orr_platform* platform, const orr_allocator* allocator,
                   uint64_t bytes_max, const orr_log_desc* log);

// ---- memory (mem.c): counted, limited, may be refused. Thread-safe if the allocator is. ----------

// Bytes of `count` items; SIZE_MAX, which every allocation refuses, when that does not fit.
static inline size_t orri_size_mul(size_t item_size, size_t count)
{
    size_t size;
    return __builtin_mul_overflow(item_size, count, &size) ? SIZE_MAX : size;
}

// size may be 0: returns a non-NULL pointer that must be freed with size 0 (nothing is allocated).
void* orri_alloc(orri_env* env, orr_memory_purpose purpose, size_t size, size_t align);
void* orri_alloc_zero(orri_env* env, orr_memory_purpose purpose, size_t size, size_t align);
// After a refusal that makes nothing of the world another: it does not count, so that no recording ends because of it.
static inline void orri_refusal_pardon(orri_env* env)
{
    atomic_fetch_sub_explicit(&env->refusals, 1, memory_order_relaxed);
}
// ptr may be NULL (nothing happens).
void orri_free(orri_env* env, orr_memory_purpose purpose, void* ptr, size_t size, size_t align);
void orri_mem_stats(const orri_env* env, orr_memory_stats* out);

#define ORRI_ALLOC(env, purpose, type, count) \
    ((type*)orri_alloc(env, purpose, orri_size_mul(sizeof(type), (size_t)(count)), _Alignof(type)))
#define ORRI_ALLOC_ZERO(env, purpose, type, count)                                      \
    ((type*)orri_alloc_zero(env, purpose, orri_size_mul(sizeof(type), (size_t)(count)), \
                            _Alignof(type)))
#define ORRI_FREE(env, purpose, type, ptr, count) \
    orri_free(env, purpose, ptr, orri_size_mul(sizeof(type), (size_t)(count)), _Alignof(type))

// Grows an array to hold `needed` items at least (doubling, never shrinking). `*data` and `*capacity` are
// untouched when memory is refused. New items are not initialised. False when refused.
bool orri_array_reserve(orri_env* env, orr_memory_purpose purpose, void** data, uint32_t* capacity,
                        uint32_t needed, size_t item_size, size_t align);
#define ORRI_RESERVE(env, purpose, data, capacity, needed)                               \
    ((uint32_t)(needed) <= *(capacity) ||                                                \
     orri_array_reserve(env, purpose, (void**)(data), capacity, needed, sizeof **(data), \
                        _Alignof(max_align_t)))
// Frees what ORRI_RESERVE made.
#define ORRI_RELEASE(env, purpose, data, capacity) \
    orri_free(env, purpose, data, sizeof *(data) * (size_t)(capacity), _Alignof(max_align_t))

// ---- log (log.c) ------------------------------------------------------------------------------

// Level and category come from the id's entry in ORR_LOG_ITEMS. An id that is not there is taken as
// ORR_LOG_ID_USER_LINE. Lines are cut at ORRI_ERROR_SIZE bytes. From any thread, if the sink allows.
void orri_log(orri_env* env, orr_log_id id, const char* format, ...) ORR_PRINTF(3, 4);
// With a level of its own, TRACE to ERROR; any other: the id's.
void orri_log_v(orri_env* env, orr_log_id id, orr_log_level level, const char* format, va_list args)
    ORR_PRINTF(4, 0);
// Tells, in one LINES_SUPPRESSED line, of lines that were held back and that no later line has reported.
// For the end of a world.
void orri_log_flush(orri_env* env);
// The default sink.
void orri_log_sink_stderr(void* user, const orr_log_line* line);

// ---- refusing (env.c) ---------------------------------------------------------------------------

// Keeps the text, tells the owner (or the log) and returns `result`. Never allocates. From any thread: one refusal after the
// other. Who is told may be refused itself, on the same thread.
orr_result orri_refuse(orri_env* env, orr_result result, orr_log_id id, const char* format, ...)
    ORR_PRINTF(4, 5);
// The result of the last refusal, for callers of functions that return NULL when they refused.
static inline orr_result orri_env_result(const orri_env* env)
{
    (void)env;
    return orri_refused_last;
}
// The same for a mistake in a text: "call: words", the part of the text around `at`, and a caret under it.
orr_result orri_refuse_at(orri_env* env, orr_result result, orr_log_id id, const char* call,
                          const char* text, const char* at, const char* format, va_list args)
    ORR_PRINTF(7, 0);
// "out of memory while <doing>": ORR_ERR_MEMORY.
orr_result orri_refuse_memory(orri_env* env, const char* doing);

#endif
