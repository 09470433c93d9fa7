// SPDX-License-Identifier: MIT
/// @file base.h
/// What every module stands on: results, assertions, memory, log, hash and random numbers.
///
/// Three kinds of failure, never blurred:
/// 1. A programmer's mistake inside a contract is an ORR_ASSERT, on in release where it is cheap.
/// 2. A refusal (memory, a limit, a dead id, a foreign file) is an orr_result. Outputs stay untouched,
///    the world stays as it was, and the world's error handler hears of it in words.
/// 3. Normal absence is false, NULL or a null id.
#ifndef ORRERY_BASE_H
#define ORRERY_BASE_H

#include <orrery/platform.h>

// Systems are compiled in the user's program, so the determinism contract reaches into it.
#ifdef __FAST_MATH__
#error "Orrery refuses -ffast-math: a world must give the same answer on every machine"
#endif

#ifdef __cplusplus
extern "C" {
#endif

// The contract of equal results: no fused multiply-add. For gcc it is a flag that pkg-config and CMake pass on.
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define ORR_VERSION_MAJOR 0
#define ORR_VERSION_MINOR 6
#define ORR_VERSION_PATCH 0

/// The library's version as "0.6.0"; compare with ORR_VERSION_* to see a header that does not fit.
ORR_API const char* orr_version(void);

// ---- results ----------------------------------------------------------------------------------

#define ORR_RESULTS(X)                                                                  \
    X(OK, "ok")                                                                         \
    X(ERR_MEMORY, "the allocator returned null or the world's memory limit is reached") \
    X(ERR_CAPACITY, "a limit of the library or of the world's desc was reached")        \
    X(ERR_ENTITY, "the entity is dead, null or of another world")                       \
    X(ERR_TYPE, "the component type is not registered in this world")                   \
    X(ERR_CLUSTER, "the cluster was deleted or is of another world")                    \
    X(ERR_ADDRESS, "the entity is no longer at this address")                           \
    X(ERR_ARGUMENT, "an argument is missing or outside its range")                      \
    X(ERR_NAME, "a name is empty, too long or has a character that is not allowed")     \
    X(ERR_CONFLICT, "the name is taken by something with another layout or value")      \
    X(ERR_FIELD, "the type has no such field")                                          \
    X(ERR_PARSE, "the text does not follow the schema")                                 \
    X(ERR_RANGE, "the value is outside the range its schema allows")                    \
    X(ERR_ABSENT, "the entity does not have this component")                            \
    X(ERR_HOOK, "a construct or copy hook of the type refused")                         \
    X(ERR_STATE, "the call is not allowed at this moment")                              \
    X(ERR_UNSUPPORTED, "not built into this version")                                   \
    X(ERR_CORRUPT, "an invariant does not hold")                                        \
    X(ERR_IO, "the system refused to read or write")                                    \
    X(ERR_FORMAT, "magic, version or layout hash differs")                              \
    X(ERR_PAST, "the tick, or the slot, is not remembered")

typedef enum orr_result {
#define X(name, text) ORR_##name,
    ORR_RESULTS(X)
#undef X
} orr_result;

/// "ORR_ERR_MEMORY" and the like. Never NULL, also for numbers that are no result.
ORR_API const char* orr_result_name(orr_result result);
/// One clause that says what the result means. Never NULL.
ORR_API const char* orr_result_text(orr_result result);

// ---- assertions -------------------------------------------------------------------------------

/// Hears of a broken assertion. May not return (longjmp, abort); if it returns, the call goes on.
typedef void (*orr_assert_handler)(const char* condition, const char* file, int line,
                                   const char* function);

/// Replaces the handler of the whole process; NULL restores the default, which prints and aborts.
/// @return the handler before.
ORR_API orr_assert_handler orr_assert_handler_set(orr_assert_handler handler);
ORR_API void orr_assert_failed(const char* condition, const char* file, int line,
                               const char* function);

/// States an invariant. On in release unless ORR_NO_ASSERT is defined. No side effects inside.
#ifdef ORR_NO_ASSERT
#define ORR_ASSERT(condition) ((void)0)
#else
#define ORR_ASSERT(condition) \
    (ORR_LIKELY(condition) ? (void)0 : orr_assert_failed(#condition, __FILE__, __LINE__, __func__))
#endif

/// The expensive kind: only with ORR_VALIDATE_ON (debug and sanitizer presets).
#ifdef ORR_VALIDATE_ON
#define ORR_VALIDATE(condition) ORR_ASSERT(condition)
#else
#define ORR_VALIDATE(condition) ((void)0)
#endif

// ---- memory -----------------------------------------------------------------------------------

/// Where a world's memory comes from. Both functions set, or both NULL (the platform's memory).
typedef struct orr_allocator {
    void* (*alloc)(void* user, size_t size, size_t align);          ///< NULL when refused.
    void (*free)(void* user, void* ptr, size_t size, size_t align); ///< What alloc was given.
    void* user;
} orr_allocator;

#define ORR_MEMORY_PURPOSES(X)                                                              \
    X(WORLD, "world")     /* the world itself, its tables and lists */                      \
    X(SCHEMA, "schema")   /* types, fields, names, tags */                                  \
    X(BLOB, "blob")       /* owned strings and arrays */                                    \
    X(INDEX, "index")     /* entity records */                                              \
    X(CLUSTER, "cluster") /* clusters, chunk headers, plans of moves */                     \
    X(COLUMN, "column")   /* component values, row ids, enable bits */                      \
    X(QUERY, "query")     /* queries, their lists of clusters, kept orders, working sets */ \
    X(MESSAGE, "message") /* what systems sent, batches, what readers were told, events */  \
    X(SYSTEM, "system")   /* systems, their state and exports, plans, journal, trace */     \
    X(SHARE, "share")     /* what is remembered of earlier states */                        \
    X(SHOWN, "shown")     /* what pipelines see of each other in real time */               \
    X(TEMP, "temp")       /* given back before the call returns */

/// What memory is used for. Every byte of a world is counted under one of these.
typedef enum orr_memory_purpose {
#define X(name, text) ORR_MEMORY_##name,
    ORR_MEMORY_PURPOSES(X)
#undef X
    ORR_MEMORY_PURPOSE_COUNT
} orr_memory_purpose;

/// Bytes and blocks held now, and the most bytes held at once.
typedef struct orr_memory_use {
    uint64_t bytes;
    uint64_t bytes_peak;
    uint64_t blocks; ///< Allocations not yet given back.
} orr_memory_use;

/// What a world holds, by purpose and in all.
typedef struct orr_memory_stats {
    orr_memory_use total;
    orr_memory_use by_purpose[ORR_MEMORY_PURPOSE_COUNT];
    uint64_t bytes_max; ///< The limit of the desc; 0: none.
} orr_memory_stats;

ORR_API const char* orr_memory_purpose_name(orr_memory_purpose purpose);

// ---- log --------------------------------------------------------------------------------------

typedef enum orr_log_level {
    ORR_LOG_DEFAULT = 0, ///< In a desc: ORR_LOG_INFO.
    ORR_LOG_TRACE,
    ORR_LOG_DEBUG,
    ORR_LOG_INFO,
    ORR_LOG_WARNING,
    ORR_LOG_ERROR,
    ORR_LOG_OFF, ///< As a threshold: nothing passes.
} orr_log_level;

#define ORR_LOG_CATEGORIES(X) \
    X(BASE, "base")           \
    X(SCHEMA, "schema")       \
    X(STORE, "store")         \
    X(QUERY, "query")         \
    X(MESSAGE, "message")     \
    X(SCHEDULE, "schedule")   \
    X(USER, "user")

typedef enum orr_log_category {
#define X(name, text) ORR_LOG_CATEGORY_##name,
    ORR_LOG_CATEGORIES(X)
#undef X
    ORR_LOG_CATEGORY_COUNT
} orr_log_category;

/// Every kind of line has a number that never changes its meaning: number, name, level, category.
#define ORR_LOG_ITEMS(X)                        \
    X(1001, MEMORY_REFUSED, ERROR, BASE)        \
    X(1002, LINES_SUPPRESSED, WARNING, BASE)    \
    X(2001, TYPE_REFUSED, ERROR, SCHEMA)        \
    X(2002, VALUE_REFUSED, ERROR, SCHEMA)       \
    X(2003, TYPE_REGISTERED, DEBUG, SCHEMA)     \
    X(3001, ENTITY_REFUSED, ERROR, STORE)       \
    X(3002, CLUSTER_REFUSED, ERROR, STORE)      \
    X(3003, CALL_REFUSED, ERROR, STORE)         \
    X(3004, SHARE_LOST, WARNING, STORE)         \
    X(3005, WORLD_CORRUPT, ERROR, STORE)        \
    X(3006, LEAK, WARNING, STORE)               \
    X(4001, QUERY_REFUSED, ERROR, QUERY)        \
    X(5001, SEND_REFUSED, ERROR, MESSAGE)       \
    X(5002, MESSAGE_DROPPED, WARNING, MESSAGE)  \
    X(5003, ADDED_TWICE, WARNING, MESSAGE)      \
    X(5004, COMMIT_REFUSED, ERROR, MESSAGE)     \
    X(5005, QUEUE_FULL, ERROR, MESSAGE)         \
    X(5006, SPECTATOR_LATE, WARNING, MESSAGE)   \
    X(6001, SYSTEM_REFUSED, ERROR, SCHEDULE)    \
    X(6002, BREACH, ERROR, SCHEDULE)            \
    X(6003, PLAN_REFUSED, ERROR, SCHEDULE)      \
    X(6004, TRACE_REFUSED, ERROR, SCHEDULE)     \
    X(6005, WORKERS_FEWER, WARNING, SCHEDULE)   \
    X(6006, SYSTEM_STUCK, WARNING, SCHEDULE)    \
    X(6008, HELP_MISSING, WARNING, SCHEDULE)    \
    X(6009, HELP_UNASKED, WARNING, SCHEDULE)    \
    X(6010, RECORDING_FULL, WARNING, SCHEDULE)  \
    X(6011, RECORDING_LACKS, WARNING, SCHEDULE) \
    X(6012, RECORDING_CUT, WARNING, SCHEDULE)   \
    X(6013, STRETCHER_IDLE, WARNING, SCHEDULE)  \
    X(9001, USER_LINE, INFO, USER)

typedef enum orr_log_id {
#define X(number, name, level, category) ORR_LOG_ID_##name = number,
    ORR_LOG_ITEMS(X)
#undef X
} orr_log_id;

/// One line as the sink gets it. Valid only during the call.
typedef struct orr_log_line {
    orr_log_level level;
    orr_log_category category;
    orr_log_id id;
    const char* text;    ///< No newline at the end.
    uint64_t suppressed; ///< Lines of this id held back by the rate limit since the last one.
} orr_log_line;

typedef void (*orr_log_sink)(void* user, const orr_log_line* line);

/// Settings of a world's log.
typedef struct orr_log_desc {
    orr_log_level level;       ///< Lines below are dropped. Default ORR_LOG_INFO.
    uint32_t lines_per_second; ///< Per id; further ones are counted, not shown. Default 16.
    orr_log_sink sink;         ///< Default: "orrery: error: text [store 3001]" on stderr.
    void* user;                ///< Passed to the sink.
} orr_log_desc;

ORR_API const char* orr_log_level_name(orr_log_level level);
ORR_API const char* orr_log_category_name(orr_log_category category);
/// "ENTITY_REFUSED" and the like; "?" for numbers that are no id.
ORR_API const char* orr_log_id_name(orr_log_id id);

// ---- hash and random numbers --------------------------------------------------------------------

/// Hash of bytes, equal on every machine and compiler. Not for secrets.
ORR_API uint64_t orr_hash(const void* data, size_t size, uint64_t seed);

/// A random number that depends on its keys alone: no hidden state, so the same for any order of
/// calls and any number of threads. Use (tick, system, entity) as keys.
ORR_API uint64_t orr_random(uint64_t seed, uint64_t key_a, uint64_t key_b, uint64_t key_c);
/// From 0 to count - 1, without bias that matters (less than count / 2^64). 0 when count is 0.
ORR_API uint64_t orr_random_below(uint64_t random, uint64_t count);
/// From 0 (included) to 1 (excluded), 24 bits.
ORR_API float orr_random_float(uint64_t random);
/// From 0 (included) to 1 (excluded), 53 bits.
ORR_API double orr_random_double(uint64_t random);

#ifdef __cplusplus
}
#endif

#endif
