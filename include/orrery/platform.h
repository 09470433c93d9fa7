// SPDX-License-Identifier: MIT
/// @file platform.h
/// The table of operating system functions that Orrery calls.
///
/// The library calls the operating system only through this table. A test, a console port or a wasm
/// host replaces the operating system by passing its own table in orr_world_desc.platform.
///
/// Every function receives the table's `user` pointer first. A function that can fail returns 0 on
/// success, otherwise an errno value.
#ifndef ORRERY_PLATFORM_H
#define ORRERY_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Marks a function as exported from the library. Has an effect only if ORR_SHARED is defined.
#if defined(ORR_SHARED) && defined(__GNUC__)
#define ORR_API __attribute__((visibility("default")))
#else
#define ORR_API
#endif

/// Marks the functions of a module that a build can leave out: real time (ORR_NO_REALTIME), history
/// (ORR_NO_HISTORY), replay (ORR_NO_REPLAY). See docs/BUILDING.md. A call of a function that was
/// left out is an error of the compiler (gcc, clang) or of the linker.
#if defined(__has_attribute)
#if __has_attribute(error)
#define ORR_LEFT_OUT(option) __attribute__((error("Orrery was built without it: " option "=OFF")))
#endif
#endif
#ifndef ORR_LEFT_OUT
#define ORR_LEFT_OUT(option)
#endif
#ifdef ORR_NO_REALTIME
#define ORR_API_REALTIME ORR_LEFT_OUT("ORR_REALTIME")
#else
#define ORR_API_REALTIME ORR_API
#endif
#ifdef ORR_NO_HISTORY
#define ORR_API_HISTORY ORR_LEFT_OUT("ORR_HISTORY")
#else
#define ORR_API_HISTORY ORR_API
#endif
#ifdef ORR_NO_REPLAY
#define ORR_API_REPLAY ORR_LEFT_OUT("ORR_REPLAY")
#else
#define ORR_API_REPLAY ORR_API
#endif

/// Compiler attributes and hints. Compilers other than gcc and clang ignore them.
/// - ORR_NODISCARD: the compiler warns if the caller ignores the return value.
/// - ORR_PRINTF(f, a): argument f is a printf format, its arguments begin at argument a.
/// - ORR_MAYBE_UNUSED: no warning if the name is never used.
/// - ORR_LIKELY(x), ORR_UNLIKELY(x): the condition x is nearly always true, or nearly always false.
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

/// Handle of an open file. All-zero is null.
typedef struct orr_file {
    uint64_t handle; ///< Chosen by the platform, for example its own number plus 1. 0 is null.
} orr_file;

/// Handle of a running thread. All-zero is null.
typedef struct orr_thread {
    uint64_t handle; ///< Chosen by the platform. 0 is null.
} orr_thread;

/// How orr_platform.file_open opens a file. The file can be read in every mode.
typedef enum orr_file_mode {
    ORR_FILE_READ = 0,  ///< Read only. The file must exist.
    ORR_FILE_WRITE = 1, ///< Read and write. Creates the file if it is missing, keeps its content.
    ORR_FILE_TRUNCATE = 2,  ///< Read and write. Creates the file if it is missing, or empties it.
    ORR_FILE_EXCLUSIVE = 3, ///< Read and write. Creates the file; EEXIST if it already exists.
} orr_file_mode;

/// The operation that a thread is about to do when it calls orr_platform.sched_point. A test uses
/// sched points to decide which thread continues, and so to run every interleaving it wants to.
typedef enum orr_sched_kind {
    ORR_SCHED_LOAD = 1, ///< Read a shared atomic.
    ORR_SCHED_STORE,    ///< Write a shared atomic.
    ORR_SCHED_SPIN, ///< Repeat a spin loop. Continue this thread only after another has written.
    ORR_SCHED_WAIT, ///< Go to sleep.
    ORR_SCHED_WAKE, ///< Wake other threads.
} orr_sched_kind;

/// The functions. To replace some of them, copy orr_platform_default() and change the copy. Every
/// function must be set, except `sched_point`. Every function may be called from any thread.
typedef struct orr_platform {
    void* user; ///< Passed to every function. Default NULL.

    /// Allocates `size` bytes (at least 1), aligned to `align` (a power of two, at least 1).
    /// @return NULL if there is no memory.
    void* (*memory_alloc)(void* user, size_t size, size_t align);
    /// Frees memory. `ptr` is not NULL; `size` and `align` are those of the memory_alloc call.
    void (*memory_free)(void* user, void* ptr, size_t size, size_t align);

    /// Time of a monotonic clock, in nanoseconds from any start. Simulation code never reads it.
    uint64_t (*clock_ns)(void* user);
    /// Blocks the calling thread for at least `duration_ns` nanoseconds.
    void (*sleep_ns)(void* user, uint64_t duration_ns);

    /// Opens a file. `path` is zero-terminated.
    int (*file_open)(void* user, const char* path, orr_file_mode mode, orr_file* out);
    /// Closes a file. The handle is invalid afterwards.
    void (*file_close)(void* user, orr_file file);
    /// Reads `size` bytes at `offset`. `*out_size` is less than `size` only at the end of the file.
    int (*file_read)(void* user, orr_file file, uint64_t offset, void* data, size_t size,
                     size_t* out_size);
    /// Writes `size` bytes at `offset`. After an error any part of the bytes may have been written.
    int (*file_write)(void* user, orr_file file, uint64_t offset, const void* data, size_t size);
    /// Sets `*out_size` to the size of the file in bytes.
    int (*file_size)(void* user, orr_file file, uint64_t* out_size);
    /// Cuts the file to `size` bytes, or extends it with zeros.
    int (*file_truncate)(void* user, orr_file file, uint64_t size);
    /// Returns when everything written to the file would survive a power failure.
    int (*file_sync)(void* user, orr_file file);
    /// Renames a file atomically; an existing file `to` is replaced. Also syncs the folders, so the
    /// rename survives a power failure once the call returns. If only the sync failed, the result is
    /// an error although the file was renamed.
    int (*file_rename)(void* user, const char* from, const char* to);
    /// Deletes a file.
    int (*file_remove)(void* user, const char* path);

    /// Starts a thread that calls run(arg). `name` is shown by debuggers and may be shortened.
    /// @return EAGAIN if the system cannot create another thread, ENOTSUP on a platform without
    /// threads.
    int (*thread_create)(void* user, const char* name, void (*run)(void* arg), void* arg,
                         orr_thread* out);
    /// Waits until the thread has ended and frees it. Called exactly once for each thread.
    void (*thread_join)(void* user, orr_thread thread);
    /// Lets another thread run on this core.
    void (*thread_yield)(void* user);
    /// Number of hardware threads that this process may use, at least 1.
    uint32_t (*thread_cores)(void* user);
    /// Sleeps while `*word == expected`, until thread_wake is called for `word` or `timeout_ns`
    /// have passed (UINT64_MAX: no timeout). May return early for any reason: the caller checks
    /// `*word` again. `word` points at an atomic uint32_t.
    void (*thread_wait)(void* user, void* word, uint32_t expected, uint64_t timeout_ns);
    /// Wakes at least `count` threads that sleep on `word`, or all of them if there are fewer.
    void (*thread_wake)(void* user, void* word, uint32_t count);

    /// Called before every operation of orr_sched_kind on `word`, for tests that control the
    /// scheduling. Default NULL: nothing is called, and a sched point costs one branch.
    void (*sched_point)(void* user, orr_sched_kind kind, const void* word);
    /// Points at a byte that is not 0 while the process has one thread. Counters then change without
    /// locked instructions. Default NULL: not known.
    const char* single_threaded;
} orr_platform;

/// The table of the operating system for which this library was built. It never changes.
ORR_API const orr_platform* orr_platform_default(void);

#ifdef __cplusplus
}
#endif

#endif
