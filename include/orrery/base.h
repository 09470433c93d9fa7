// SPDX-License-Identifier: MIT
/// @file base.h
/// Results, assertions, memory, log, hash and random numbers, used by all other headers.
///
/// There are three kinds of failure:
/// 1. A programming error that breaks a contract fails an ORR_ASSERT. Cheap assertions are on in
///    release builds too.
/// 2. A refused call (no memory, a limit, a dead id, a file of another format) returns an
///    orr_result other than ORR_OK. The call leaves its outputs (unless its comment says otherwise)
///    and the world unchanged, and passes a text that explains the error to the world's error
///    handler (orr_world_desc.on_error).
/// 3. Normal absence is false, NULL or a null id, and is not an error.
#ifndef ORRERY_BASE_H
#define ORRERY_BASE_H

#include <orrery/platform.h>

// Systems are compiled as part of the user's program, so its flags must keep results equal too.
#ifdef __FAST_MATH__
#error "Orrery refuses -ffast-math: a world must give the same answer on every machine"
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Equal results on every machine require that no multiply-add is fused. For gcc this is the flag
// -ffp-contract=off, which pkg-config and CMake pass on to the user's program.
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/// Version of these headers. Compare with orr_version() to detect a library of another version.
#define ORR_VERSION_MAJOR 0
#define ORR_VERSION_MINOR 8
#define ORR_VERSION_PATCH 0

/// Version of the library as text, such as "0.8.0". Static storage.
ORR_API const char* orr_version(void);

// ---- results ----------------------------------------------------------------------------------

/// All results: name without the prefix ORR_, meaning. Numbers follow from the order, 0 is ORR_OK.
#define ORR_RESULTS(X)                                                                  \
    X(OK, "ok")                                                                         \
    X(ERR_MEMORY, "the allocator returned null or the world's memory limit is reached") \
    X(ERR_CAPACITY, "a limit of the library or of the world's desc is reached")         \
    X(ERR_ENTITY, "the entity is dead, null or of another world")                       \
    X(ERR_TYPE, "the component type is not registered in this world")                   \
    X(ERR_CLUSTER, "the cluster is deleted, null or of another world")                  \
    X(ERR_ADDRESS, "the entity is no longer at this address")                           \
    X(ERR_ARGUMENT, "an argument is missing or outside its range")                      \
    X(ERR_NAME, "a name is empty, too long or has a character that is not allowed")     \
    X(ERR_CONFLICT, "the name or value is already used by something else")              \
    X(ERR_FIELD, "the type has no such field")                                          \
    X(ERR_PARSE, "the text has a syntax error or does not fit the schema")              \
    X(ERR_RANGE, "the value is outside the range its schema allows")                    \
    X(ERR_ABSENT, "the entity does not have this component")                            \
    X(ERR_HOOK, "a construct or copy hook of the type returned false")                  \
    X(ERR_STATE, "the call is not allowed in the current state")                        \
    X(ERR_UNSUPPORTED, "this build of the library does not support the call")           \
    X(ERR_CORRUPT, "an internal invariant is violated")                                 \
    X(ERR_IO, "the operating system failed to read or write")                           \
    X(ERR_FORMAT, "the magic, version or layout hash of the data differs")              \
    X(ERR_PAST, "the tick or slot is not remembered")                                   \
    X(ERR_FAILED, "a function of the program reported a failure, or threw an exception")

/// Outcome of a call. See ORR_RESULTS for the meaning of each value.
typedef enum orr_result {
#define X(name, text) ORR_##name,
    ORR_RESULTS(X)
#undef X
} orr_result;

/// Name of a result, such as "ORR_ERR_MEMORY". Never NULL, also for invalid numbers.
ORR_API const char* orr_result_name(orr_result result);
/// Meaning of a result as one clause, from ORR_RESULTS. Never NULL.
ORR_API const char* orr_result_text(orr_result result);

// ---- assertions -------------------------------------------------------------------------------

/// Called when an assertion fails. It may leave by longjmp or abort; if it returns, the failed call
/// continues.
typedef void (*orr_assert_handler)(const char* condition, const char* file, int line,
                                   const char* function);

/// Replaces the assertion handler of the process, for all worlds. NULL restores the default, which
/// prints to stderr and aborts. From any thread.
/// @return the previous handler; NULL for the default.
ORR_API orr_assert_handler orr_assert_handler_set(orr_assert_handler handler);
/// Calls the assertion handler. Used by ORR_ASSERT.
ORR_API void orr_assert_failed(const char* condition, const char* file, int line,
                               const char* function);

/// Checks a condition and calls the assertion handler if it is false. On in release builds too,
/// unless ORR_NO_ASSERT is defined; then the condition is not evaluated, so it must have no side
/// effects.
#ifdef ORR_NO_ASSERT
#define ORR_ASSERT(condition) ((void)0)
#else
#define ORR_ASSERT(condition) \
    (ORR_LIKELY(condition) ? (void)0 : orr_assert_failed(#condition, __FILE__, __LINE__, __func__))
#endif

/// An ORR_ASSERT for expensive conditions. Checked only if ORR_VALIDATE_ON is defined, as the debug
/// and sanitizer presets do.
#ifdef ORR_VALIDATE_ON
#define ORR_VALIDATE(condition) ORR_ASSERT(condition)
#else
#define ORR_VALIDATE(condition) ((void)0)
#endif

// ---- memory -----------------------------------------------------------------------------------

/// Memory functions of a world. Set both functions, or leave both NULL to use the platform's
/// memory. A world with workers or in real time calls them from several threads at once.
typedef struct orr_allocator {
    /// Allocates `size` bytes, aligned to `align` (a power of two). @return NULL if there is no
    /// memory.
    void* (*alloc)(void* user, size_t size, size_t align);
    /// Frees memory. `size` and `align` are those of the alloc call.
    void (*free)(void* user, void* ptr, size_t size, size_t align);
    void* user; ///< Passed to both functions.
} orr_allocator;

/// All purposes of memory: name without the prefix ORR_MEMORY_, name as text.
#define ORR_MEMORY_PURPOSES(X)                                                               \
    X(WORLD, "world")         /* the world struct, its tables and lists */                   \
    X(SCHEMA, "schema")       /* types, fields, names, tags */                               \
    X(BLOB, "blob")           /* owned strings and arrays */                                 \
    X(INDEX, "index")         /* entity records: generation and place of each entity */      \
    X(CLUSTER, "cluster")     /* clusters, chunk headers, transitions between clusters */    \
    X(COLUMN, "column")       /* component values, row ids, enable bits */                   \
    X(QUERY, "query")         /* queries: matched clusters, cached runs, sorted entities */  \
    X(MESSAGE, "message")     /* command buffers, batches, baselines of readers, events */   \
    X(SYSTEM, "system")       /* systems, their state and exports, plans, journal, trace */  \
    X(SHARE, "share")         /* snapshots and history: blocks and rows of earlier states */ \
    X(PUBLISHED, "published") /* real time: values published to other pipelines */           \
    X(TEMP, "temp")           /* freed before the call returns */

/// Purpose of an allocation. Every byte of a world is counted under exactly one purpose.
typedef enum orr_memory_purpose {
#define X(name, text) ORR_MEMORY_##name,
    ORR_MEMORY_PURPOSES(X)
#undef X
    ORR_MEMORY_PURPOSE_COUNT ///< Number of purposes.
} orr_memory_purpose;

/// Memory in use, and its peak.
typedef struct orr_memory_use {
    uint64_t bytes;      ///< Bytes in use now.
    uint64_t bytes_peak; ///< Largest value that `bytes` ever had.
    uint64_t blocks;     ///< Allocations in use now.
} orr_memory_use;

/// Memory use of a world (orr_world_memory_get()).
typedef struct orr_memory_stats {
    orr_memory_use total;                                ///< Of all purposes together.
    orr_memory_use by_purpose[ORR_MEMORY_PURPOSE_COUNT]; ///< Indexed by orr_memory_purpose.
    uint64_t bytes_max; ///< Limit (orr_world_desc.memory_bytes_max), in bytes; 0: no limit.
} orr_memory_stats;

/// Name of a purpose, such as "column". "?" for an invalid number.
ORR_API const char* orr_memory_purpose_name(orr_memory_purpose purpose);

// ---- log --------------------------------------------------------------------------------------

/// Importance of a log line, ascending; also the threshold below which lines are dropped.
typedef enum orr_log_level {
    ORR_LOG_DEFAULT = 0, ///< As a threshold: ORR_LOG_INFO. As a line's level: that of its id.
    ORR_LOG_TRACE,       ///< Finest detail.
    ORR_LOG_DEBUG,       ///< Detail for debugging.
    ORR_LOG_INFO,        ///< Normal events. The default threshold.
    ORR_LOG_WARNING,     ///< The call succeeded, but something is probably wrong.
    ORR_LOG_ERROR,       ///< A call was refused.
    ORR_LOG_OFF,         ///< As a threshold only: drops all lines.
} orr_log_level;

/// All log categories: name without the prefix ORR_LOG_CATEGORY_, name as text.
#define ORR_LOG_CATEGORIES(X) \
    X(BASE, "base")           \
    X(SCHEMA, "schema")       \
    X(STORE, "store")         \
    X(QUERY, "query")         \
    X(MESSAGE, "message")     \
    X(SCHEDULE, "schedule")   \
    X(USER, "user")

/// Part of the library that a log line comes from. Each has its own threshold
/// (orr_log_level_set()).
typedef enum orr_log_category {
#define X(name, text) ORR_LOG_CATEGORY_##name,
    ORR_LOG_CATEGORIES(X)
#undef X
    ORR_LOG_CATEGORY_COUNT ///< Number of categories.
} orr_log_category;

/// All kinds of log lines: number, name without the prefix ORR_LOG_ID_, level, category. A number
/// never changes its meaning.
#define ORR_LOG_ITEMS(X)                                                                           \
    X(1001, MEMORY_REFUSED, ERROR, BASE)       /* no memory, or the memory limit is reached */     \
    X(1002, LINES_SUPPRESSED, WARNING, BASE)   /* the rate limit dropped lines */                  \
    X(2001, TYPE_REFUSED, ERROR, SCHEMA)       /* a type cannot be registered */                   \
    X(2002, VALUE_REFUSED, ERROR, SCHEMA)      /* a value, or its text, is invalid */              \
    X(2003, TYPE_REGISTERED, DEBUG, SCHEMA)    /* a type was registered */                         \
    X(3001, ENTITY_REFUSED, ERROR, STORE)      /* an entity id is dead, null or foreign */         \
    X(3002, CLUSTER_REFUSED, ERROR, STORE)     /* a cluster handle or desc is invalid */           \
    X(3003, CALL_REFUSED, ERROR, STORE)        /* another call of the store is refused */          \
    X(3004, SHARE_LOST, WARNING, STORE)        /* no memory to keep an earlier state */            \
    X(3005, WORLD_CORRUPT, ERROR, STORE)       /* orr_world_validate() found an error */           \
    X(3006, LEAK, WARNING, STORE)              /* memory was in use after destruction */           \
    X(4001, QUERY_REFUSED, ERROR, QUERY)       /* a query or loop is invalid */                    \
    X(5001, SEND_REFUSED, ERROR, MESSAGE)      /* a system may not send this message */            \
    X(5002, MESSAGE_DROPPED, WARNING, MESSAGE) /* a message has no effect */                       \
    X(5003, ADDED_TWICE, WARNING, MESSAGE)     /* an added component already exists */             \
    X(5004, COMMIT_REFUSED, ERROR, MESSAGE)    /* a commit cannot be applied */                    \
    X(5005, QUEUE_FULL, ERROR, MESSAGE)        /* an event queue is full */                        \
    X(5006, SPECTATOR_LATE, WARNING, MESSAGE)  /* a spectator missed events */                     \
    X(5007, TRAVEL_PENDING, WARNING, MESSAGE)  /* readers are notified of a travel later */        \
    X(6001, SYSTEM_REFUSED, ERROR, SCHEDULE)   /* a system or pipeline desc is invalid */          \
    X(6002, ACCESS_VIOLATION, ERROR, SCHEDULE) /* an access violation of a system */               \
    X(6003, PLAN_REFUSED, ERROR, SCHEDULE)     /* systems have no valid order or import */         \
    X(6004, TRACE_REFUSED, ERROR, SCHEDULE)    /* a trace cannot be written */                     \
    X(6005, WORKERS_FEWER, WARNING, SCHEDULE)  /* fewer workers than requested */                  \
    X(6006, SYSTEM_STUCK, WARNING, SCHEDULE)   /* a system runs too long */                        \
    X(6008, EXTERNAL_WORKERS_MISSING, WARNING, SCHEDULE) /* orr_pool.start made no calls */        \
    X(6009, EXTERNAL_CALL_UNEXPECTED, WARNING, SCHEDULE) /* orr_pool.start made too many calls */  \
    X(6010, RECORDING_FULL, WARNING, SCHEDULE)           /* a recording ended early */             \
    X(6011, RECORDING_INCOMPLETE, WARNING, SCHEDULE)     /* a change was not recorded */           \
    X(6012, RECORDING_CUT, WARNING, SCHEDULE)            /* a recording file is truncated */       \
    X(6013, STRETCHER_IDLE, WARNING, SCHEDULE)           /* playback has no system that runs it */ \
    X(6014, POST_LATE, WARNING, SCHEDULE)      /* a call was posted at the end of a run */         \
    X(6015, IMPORT_STALE, WARNING, SCHEDULE)   /* an import from a system that is disabled */      \
    X(6016, FAILURE_REPORTED, ERROR, SCHEDULE) /* orr_error_report(), or a C++ exception */        \
    X(9001, USER_LINE, INFO, USER)             /* orr_log() */

/// Kind of a log line or of an error. See ORR_LOG_ITEMS for the meaning of each value.
typedef enum orr_log_id {
#define X(number, name, level, category) ORR_LOG_ID_##name = number,
    ORR_LOG_ITEMS(X)
#undef X
} orr_log_id;

/// One log line, as passed to a sink. Valid only during the call of the sink.
typedef struct orr_log_line {
    orr_log_level level;       ///< Importance.
    orr_log_category category; ///< Part of the library.
    orr_log_id id;             ///< Kind of the line.
    const char* text;          ///< Zero-terminated, without a newline at the end.
    uint64_t suppressed;       ///< Lines of this id that the rate limit dropped since the last one.
} orr_log_line;

/// Receives the lines of a world's log. Called on the thread that logs, possibly from several
/// threads at once.
typedef void (*orr_log_sink)(void* user, const orr_log_line* line);

/// Settings of a world's log.
typedef struct orr_log_desc {
    orr_log_level level; ///< Lines below this level are dropped. Default ORR_LOG_INFO.
    /// Limit for each id. Further lines of the second are counted and dropped, except the first
    /// line of each kind. Lines are of one kind if they have the same id and their texts differ in
    /// digits only. At most 32 kinds are distinguished per second, of all ids together. Default 16.
    uint32_t lines_per_second;
    orr_log_sink sink; ///< Default: writes "orrery: error: text [store 3001]" to stderr.
    void* user;        ///< Passed to the sink.
} orr_log_desc;

/// Name of a level, such as "warning". "?" for an invalid number.
ORR_API const char* orr_log_level_name(orr_log_level level);
/// Name of a category, such as "store". "?" for an invalid number.
ORR_API const char* orr_log_category_name(orr_log_category category);
/// Name of an id, such as "ENTITY_REFUSED". "?" for an invalid number.
ORR_API const char* orr_log_id_name(orr_log_id id);

// ---- hash and random numbers --------------------------------------------------------------------

/// Hash of `size` bytes, equal on every machine and with every compiler. Not cryptographic.
ORR_API uint64_t orr_hash(const void* data, size_t size, uint64_t seed);

/// Random number of 64 bits that depends on the seed and the keys alone. There is no hidden state,
/// so results do not depend on the order of calls or the number of threads. Typical keys are tick,
/// system and entity. From any thread.
ORR_API uint64_t orr_random(uint64_t seed, uint64_t key_a, uint64_t key_b, uint64_t key_c);
/// Maps a random number of 64 bits to 0 … count - 1; 0 if count is 0. The bias is below count /
/// 2^64.
ORR_API uint64_t orr_random_below(uint64_t random, uint64_t count);
/// Maps a random number of 64 bits to [0, 1), with 24 random bits.
ORR_API float orr_random_float(uint64_t random);
/// Maps a random number of 64 bits to [0, 1), with 53 random bits.
ORR_API double orr_random_double(uint64_t random);

/// A stream of random numbers: a plain value of the caller. A copy continues with the same numbers.
/// Systems get one from orr_run_rng(). Elsewhere:
/// orr_rng rng = {.first = orr_random(seed, 1, 2, 3)}.
typedef struct orr_rng {
    uint64_t first; ///< The first number of the stream. It determines all others.
    uint64_t drawn; ///< How many numbers were drawn.
} orr_rng;

/// The next number of a stream: `first`, then orr_random(first, 1, 0, 0), then
/// orr_random(first, 2, 0, 0) and so on.
ORR_API uint64_t orr_rng_next(orr_rng* rng);
/// The next number of a stream, mapped to 0 … count - 1; 0 if count is 0.
ORR_API uint64_t orr_rng_below(orr_rng* rng, uint64_t count);
/// The next number of a stream, mapped to [0, 1).
ORR_API float orr_rng_float(orr_rng* rng);
/// The next number of a stream, mapped to [0, 1).
ORR_API double orr_rng_double(orr_rng* rng);

// ---- worker threads of the program --------------------------------------------------------------

#define ORR_WORKERS_MAX 64u ///< Most threads that run the systems of a world.

/// Connects a world to the program's own thread pool, for orr_world_desc.pool. The world then
/// creates no worker threads.
typedef struct orr_pool {
    void* user; ///< Passed to `start`.
    /// Schedules `count` asynchronous calls of help(arg), each on a thread other than the caller's.
    /// help() returns when there is no work left. Results never depend on these calls:
    /// - Calls may come late or never. If none ever comes, the log says so once.
    /// - A call beyond the number returned here returns at once. The log says so once.
    /// - Calls may come after the world was destroyed. orr_world_destroy() waits for the calls that
    ///   are running; later calls return without accessing memory of the world (`arg` is not an
    ///   address).
    /// @return the number of calls that will be made, at most `count`.
    uint32_t (*start)(void* user, uint32_t count, void (*help)(void* arg), void* arg);
} orr_pool;

#ifdef __cplusplus
}
#endif

#endif
