// SPDX-License-Identifier: MIT
/// @file platform.h
/// The operating system as Orrery sees it: one table of functions. The library makes no other call
/// to the system, so whoever replaces the table (a test, a console port, a wasm host) replaces all.
///
/// Every entry takes the table's `user` first. Entries that can fail return 0 or an errno value.
#ifndef ORRERY_PLATFORM_H
#define ORRERY_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(ORR_SHARED) && defined(__GNUC__)
#define ORR_API __attribute__((visibility("default")))
#else
#define ORR_API
#endif

#if defined(__GNUC__)
#define ORR_NODISCARD    __attribute__((warn_unused_result))
#define ORR_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define ORR_MAYBE_UNUSED __attribute__((unused))
#define ORR_LIKELY(x)    __builtin_expect(!!(x), 1)
#define ORR_UNLIKELY(x)  __builtin_expect(!!(x), 0)
#else
#define ORR_NODISCARD
#define ORR_PRINTF(f, a)
#define ORR_MAYBE_UNUSED
#define ORR_LIKELY(x)   (x)
#define ORR_UNLIKELY(x) (x)
#endif

/// An open file. All-zero is null.
typedef struct orr_file {
    uint64_t handle1;
} orr_file;

/// A running thread. All-zero is null.
typedef struct orr_thread {
    uint64_t handle1;
} orr_thread;

/// How orr_platform.file_open opens. Reading is always allowed.
typedef enum orr_file_mode {
    ORR_FILE_READ = 0,      ///< The file must exist.
    ORR_FILE_WRITE = 1,     ///< Created if missing, kept if there.
    ORR_FILE_TRUNCATE = 2,  ///< Created if missing, emptied if there.
    ORR_FILE_EXCLUSIVE = 3, ///< Created; EEXIST if it is there.
} orr_file_mode;

/// Where a thread stands when it reaches a sched point. A controlled scheduler decides there who
/// goes on; in normal runs the table's `sched_point` is NULL and the point costs one branch.
typedef enum orr_sched_kind {
    ORR_SCHED_LOAD = 1, ///< Before a shared atomic is read.
    ORR_SCHED_STORE,    ///< Before a shared atomic is written.
    ORR_SCHED_SPIN,     ///< Inside a spin: run again only after another thread wrote.
    ORR_SCHED_WAIT,     ///< Before going to sleep.
    ORR_SCHED_WAKE,     ///< Before waking others.
} orr_sched_kind;

/// The table. Zero-initialised entries are not allowed except where a comment says so; start from a
/// copy of orr_platform_default() and replace what you need. All entries may be called from any thread.
typedef struct orr_platform {
    void* user; ///< Passed to every entry. Default NULL.

    /// `align` is a power of two, at least 1; `size` is at least 1. NULL when refused.
    void* (*memory_alloc)(void* user, size_t size, size_t align);
    /// `size` and `align` are what memory_alloc was given. `ptr` is never NULL.
    void (*memory_free)(void* user, void* ptr, size_t size, size_t align);

    /// Nanoseconds of a clock that never goes back. Never read by simulation code.
    uint64_t (*clock_ns)(void* user);
    void (*sleep_ns)(void* user, uint64_t duration_ns);

    int (*file_open)(void* user, const char* path, orr_file_mode mode, orr_file* out);
    void (*file_close)(void* user, orr_file file);
    /// Reads at most `size` bytes at `offset`; `*out_size` is less only at the end of the file.
    int (*file_read)(void* user, orr_file file, uint64_t offset, void* data, size_t size,
                     size_t* out_size);
    /// Writes all of it, or returns an error; how much arrived is then unknown.
    int (*file_write)(void* user, orr_file file, uint64_t offset, const void* data, size_t size);
    int (*file_size)(void* user, orr_file file, uint64_t* out_size);
    int (*file_truncate)(void* user, orr_file file, uint64_t size);
    /// Returns when the bytes would survive a power cut.
    int (*file_sync)(void* user, orr_file file);
    /// Replaces `to`. Atomic; durable once the folder was synced, which this does.
    int (*file_rename)(void* user, const char* from, const char* to);
    int (*file_remove)(void* user, const char* path);

    /// EAGAIN when the system has no room; ENOTSUP on a platform without threads.
    int (*thread_create)(void* user, const char* name, void (*run)(void* arg), void* arg,
                         orr_thread* out);
    void (*thread_join)(void* user, orr_thread thread);
    void (*thread_yield)(void* user);
    /// Hardware threads this process may use, at least 1.
    uint32_t (*thread_cores)(void* user);
    /// Sleeps while `*word == expected`, until woken or `timeout_ns` has passed (UINT64_MAX: for ever).
    /// May return early: the caller looks again. `word` points at an atomic uint32_t.
    void (*thread_wait)(void* user, void* word, uint32_t expected, uint64_t timeout_ns);
    void (*thread_wake)(void* user, void* word, uint32_t count);

    /// NULL (the default): nothing. Otherwise called at every sched point.
    void (*sched_point)(void* user, orr_sched_kind kind, const void* word);
} orr_platform;

/// The table for the system this library was built for. Never changes.
ORR_API const orr_platform* orr_platform_default(void);

#ifdef __cplusplus
}
#endif

#endif
