// SPDX-License-Identifier: MIT
// Services that every part of a world uses: platform, memory, log and refusals. One env per world,
// at a fixed address. Functions of src/base that allocate, log or refuse take the env as their
// first argument.
#ifndef ORRI_BASE_ENV_H
#define ORRI_BASE_ENV_H

#include "base/sync.h"
#include <orrery/base.h>
#include <stdarg.h>
#include <stdatomic.h>

#define ORRI_ERROR_SIZE 512 // Bytes of an error text or a log line, the zero included.

typedef struct orri_mem_counter {
    _Atomic uint64_t bytes, bytes_peak, blocks;
} orri_mem_counter;

// The rate limit of one log id.
typedef struct orri_log_rate {
    uint64_t window_ns;  // When the current second began.
    uint32_t lines;      // Lines written in this second.
    uint64_t suppressed; // Lines suppressed since the last line that was written.
} orri_log_rate;

#define ORRI_LOG_KINDS 32 // Most kinds of lines that are distinguished in a second.

// The kinds of lines written in the current second. Lines of one id that differ in numbers alone are
// of one kind.
typedef struct orri_log_kinds {
    uint64_t window_ns; // When the current second began.
    uint32_t count;
    uint64_t hashes[ORRI_LOG_KINDS];
} orri_log_kinds;

// Positions of the log ids in ORR_LOG_ITEMS, and their number.
enum {
#define X(number, name, level, category) ORRI_LOG_INDEX_##name,
    ORR_LOG_ITEMS(X)
#undef X
    ORRI_LOG_ITEM_COUNT
};

typedef struct orri_env {
    const orr_platform* platform;
    orr_allocator allocator;
    const char* single_threaded; // Not 0: counters need no locked instructions. Never NULL.
    uint64_t bytes_max;          // Limit of total.bytes; 0: no limit.
    orri_mem_counter total;
    orri_mem_counter by_purpose[ORR_MEMORY_PURPOSE_COUNT];
    _Atomic uint64_t refusals; // Allocations that were refused.

    orr_log_level levels[ORR_LOG_CATEGORY_COUNT]; // Lines below the level are dropped.
    uint32_t lines_per_second;
    orr_log_sink sink;
    void* sink_user;
    // Protects `rates` and `kinds`. Not held while the sink runs, so a sink may log.
    orri_mutex rate_mutex;
    orri_log_rate rates[ORRI_LOG_ITEM_COUNT];
    orri_log_kinds kinds;

    // Called for every refusal; NULL: refusals are logged. Set by the owner of the env.
    void (*on_refusal)(void* owner, orr_result result, orr_log_id id, const char* text);
    void* on_refusal_owner;
    // Held while a refusal is handled, because several workers may refuse at the same time. The
    // handler may make a call that is refused, on the thread that holds the mutex.
    orri_mutex refusing;
    _Atomic(const void*)
        refusing_thread;              // Identifies the thread that holds `refusing`; NULL: none.
    char error_text[ORRI_ERROR_SIZE]; // Of the last refusal; "" if none.
} orri_env;

// Redirects refusals of one env on this thread: `handle` is called instead of the env's handler.
// Set by code that makes a call which may be refused and handles the refusal itself.
typedef struct orri_refusal_redirect {
    const orri_env* env; // NULL: refusals are not redirected.
    void (*handle)(void* owner, orr_result result, orr_log_id id, const char* text);
    void* owner;
} orri_refusal_redirect;
extern _Thread_local orri_refusal_redirect orri_redirect_here;

// Result of the last refusal on this thread, of any env.
extern _Thread_local orr_result orri_refused_last;
// True while an error handler or log sink runs that a refusal on this thread has called.
bool orri_refusing_here(const orri_env* env);

// `platform` NULL: the default platform. `allocator` NULL or with both functions NULL: the
// platform's memory.
void orri_env_init(orri_env* env, const orr_platform* platform, const orr_allocator* allocator,
                   uint64_t bytes_max, const orr_log_desc* log);

// ---- memory (mem.c): counted, limited, may be refused. Thread-safe if the allocator is. ---------

// Bytes of `count` items; SIZE_MAX, which every allocation refuses, when that does not fit.
static inline size_t orri_size_mul(size_t item_size, size_t count)
{
    size_t size;
    return __builtin_mul_overflow(item_size, count, &size) ? SIZE_MAX : size;
}

// `size` may be 0: the result is a non-NULL pointer to no memory, which must be freed with size 0.
void* orri_alloc(orri_env* env, orr_memory_purpose purpose, size_t size, size_t align);
void* orri_alloc_zero(orri_env* env, orr_memory_purpose purpose, size_t size, size_t align);
// Takes back the count of a refused allocation that did not change the world, so that no recording
// ends because of it.
static inline void orri_refusal_uncount(orri_env* env)
{
    atomic_fetch_sub_explicit(&env->refusals, 1, memory_order_relaxed);
}
// `ptr` may be NULL (nothing happens).
void orri_free(orri_env* env, orr_memory_purpose purpose, void* ptr, size_t size, size_t align);
void orri_mem_stats(const orri_env* env, orr_memory_stats* out);

#define ORRI_ALLOC(env, purpose, type, count) \
    ((type*)orri_alloc(env, purpose, orri_size_mul(sizeof(type), (size_t)(count)), _Alignof(type)))
#define ORRI_ALLOC_ZERO(env, purpose, type, count)                                      \
    ((type*)orri_alloc_zero(env, purpose, orri_size_mul(sizeof(type), (size_t)(count)), \
                            _Alignof(type)))
#define ORRI_FREE(env, purpose, type, ptr, count) \
    orri_free(env, purpose, ptr, orri_size_mul(sizeof(type), (size_t)(count)), _Alignof(type))

// Grows an array to at least `needed` items, at least doubling it; never shrinks. New items are not
// initialised. Returns false when memory is refused; `*data` and `*capacity` are untouched then.
bool orri_array_reserve(orri_env* env, orr_memory_purpose purpose, void** data, uint32_t* capacity,
                        uint32_t needed, size_t item_size, size_t align);
#define ORRI_RESERVE(env, purpose, data, capacity, needed)                               \
    ((uint32_t)(needed) <= *(capacity) ||                                                \
     orri_array_reserve(env, purpose, (void**)(data), capacity, needed, sizeof **(data), \
                        _Alignof(max_align_t)))
// Frees an array that ORRI_RESERVE has allocated.
#define ORRI_RELEASE(env, purpose, data, capacity) \
    orri_free(env, purpose, data, sizeof *(data) * (size_t)(capacity), _Alignof(max_align_t))

// ---- log (log.c) --------------------------------------------------------------------------------

// Level and category come from the id's entry in ORR_LOG_ITEMS. An unknown id counts as
// ORR_LOG_ID_USER_LINE. Lines are cut at ORRI_ERROR_SIZE bytes. From any thread, if the sink
// allows.
void orri_log(orri_env* env, orr_log_id id, const char* format, ...) ORR_PRINTF(3, 4);
// The same with a level, TRACE to ERROR; any other value: the id's level.
void orri_log_v(orri_env* env, orr_log_id id, orr_log_level level, const char* format, va_list args)
    ORR_PRINTF(4, 0);
// Writes one LINES_SUPPRESSED line with the numbers of suppressed lines that no later line has
// reported. Called at the end of a world.
void orri_log_flush(orri_env* env);
// The default sink.
void orri_log_sink_stderr(void* user, const orr_log_line* line);

// ---- refusing (env.c) ---------------------------------------------------------------------------

// Stores the text, passes it to the handler (or the log) and returns `result`. Never allocates.
// From any thread; refusals are handled one after the other. The handler may make a call that is
// refused, on the same thread.
orr_result orri_refuse(orri_env* env, orr_result result, orr_log_id id, const char* format, ...)
    ORR_PRINTF(4, 5);
// Result of the last refusal, for callers of functions that return NULL when refused.
static inline orr_result orri_env_result(const orri_env* env)
{
    (void)env;
    return orri_refused_last;
}
// The same for a mistake in a text: "call: message", the part of the text around `at`, and a caret
// under it.
orr_result orri_refuse_at(orri_env* env, orr_result result, orr_log_id id, const char* call,
                          const char* text, const char* at, const char* format, va_list args)
    ORR_PRINTF(7, 0);
// Stores a text as orri_refuse() does, but reports nothing: for a call that returns a refusal that
// was reported before.
void orri_error_text_set(orri_env* env, const char* format, ...) ORR_PRINTF(2, 3);
// Refuses with ORR_ERR_MEMORY: "out of memory while <doing>; …".
orr_result orri_refuse_memory(orri_env* env, const char* doing);

#endif
