// SPDX-License-Identifier: MIT
// The platform table for Linux and other POSIX systems. This is the only file of the library that
// calls the operating system; all others use the table at the end of this file. Files are accessed
// by offset (pread, pwrite), so an orr_file has no position that threads could disturb. Threads
// sleep on a word of memory: with a futex on Linux, elsewhere (and with ORR_PLATFORM_NO_FUTEX) with
// a condition variable chosen by the word's address. With ORR_NO_THREADS nothing of pthread is
// used.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // sched_getaffinity, pthread_setname_np. Only works before the first include.
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include <orrery/platform.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef ORR_NO_THREADS
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
// The raw futex call takes the kernel's timespec, which equals libc's only where long has 64 bits.
#if defined(__linux__) && defined(__LP64__) && !defined(ORR_PLATFORM_NO_FUTEX)
#define PLATFORM_FUTEX 1
#include <linux/futex.h>
#include <sys/syscall.h>
#else
#define PLATFORM_FUTEX 0
#endif
#endif

// A byte of libc; NULL: it has none.
#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define PLATFORM_SINGLE_THREADED (&__libc_single_threaded)
#endif
#endif
#ifndef PLATFORM_SINGLE_THREADED
#define PLATFORM_SINGLE_THREADED NULL
#endif

#define PLATFORM_SECOND_NS 1000000000u
// Bytes per read or write call: Linux transfers at most 2 GiB less a page, macOS refuses more than
// INT_MAX.
#define PLATFORM_IO_MAX ((size_t)1 << 30)

// ---- memory -------------------------------------------------------------------------------------

// Small blocks with a large alignment lie within a larger block of malloc(), whose address is stored
// before them. posix_memalign() cuts a block out of a larger one and frees both rests, which costs
// several times as much as malloc() and splits the heap. AddressSanitizer must know where a block
// ends, so there it is used for all sizes.
#if defined(__SANITIZE_ADDRESS__)
#define PLATFORM_PADDED_MAX 0u
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PLATFORM_PADDED_MAX 0u
#endif
#endif
#ifndef PLATFORM_PADDED_MAX
#define PLATFORM_PADDED_MAX 16384u
#endif

static bool platform_memory_padded(size_t size, size_t align)
{
    return size <= PLATFORM_PADDED_MAX && align <= 64;
}

static void* platform_memory_alloc(void* user, size_t size, size_t align)
{
    (void)user;
    if (align <= alignof(max_align_t)) {
        return malloc(size);
    }
    void* ptr = NULL;
    if (!platform_memory_padded(size, align)) {
        return posix_memalign(&ptr, align, size) == 0 ? ptr : NULL;
    }
    char* whole = malloc(size + align);
    if (whole == NULL) {
        return NULL;
    }
    // At least the size of a pointer is free before the block, since malloc() aligns to more.
    ptr = whole + align - ((uintptr_t)whole & (align - 1));
    memcpy((char*)ptr - sizeof whole, &whole, sizeof whole);
    return ptr;
}

static void platform_memory_free(void* user, void* ptr, size_t size, size_t align)
{
    (void)user;
    if (ptr != NULL && align > alignof(max_align_t) && platform_memory_padded(size, align)) {
        memcpy(&ptr, (const char*)ptr - sizeof ptr, sizeof ptr);
    }
    free(ptr);
}

// ---- clock --------------------------------------------------------------------------------------

static struct timespec platform_timespec(uint64_t duration_ns)
{
    return (struct timespec){.tv_sec = (time_t)(duration_ns / PLATFORM_SECOND_NS),
                             .tv_nsec = (long)(duration_ns % PLATFORM_SECOND_NS)};
}

static uint64_t platform_clock_ns(void* user)
{
    (void)user;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * PLATFORM_SECOND_NS + (uint64_t)now.tv_nsec;
}

static void platform_sleep_ns(void* user, uint64_t duration_ns)
{
    (void)user;
    struct timespec rest = platform_timespec(duration_ns);
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
    }
}

// ---- files --------------------------------------------------------------------------------------

static int platform_fd(orr_file file)
{
    return (int)(file.handle - 1);
}

static bool platform_range_fits(uint64_t offset, uint64_t size)
{
    const uint64_t offset_max = sizeof(off_t) == 8 ? INT64_MAX : INT32_MAX;
    return offset <= offset_max && size <= offset_max - offset;
}

static int platform_open(const char* path, int flags, int* out)
{
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        return errno;
    }
    *out = fd;
    return 0;
}

static int platform_file_open(void* user, const char* path, orr_file_mode mode, orr_file* out)
{
    (void)user;
    int flags = O_RDONLY;
    switch (mode) {
    case ORR_FILE_READ:
        break;
    case ORR_FILE_WRITE:
        flags = O_RDWR | O_CREAT;
        break;
    case ORR_FILE_TRUNCATE:
        flags = O_RDWR | O_CREAT | O_TRUNC;
        break;
    case ORR_FILE_EXCLUSIVE:
        flags = O_RDWR | O_CREAT | O_EXCL;
        break;
    default:
        return EINVAL;
    }
    int fd = -1;
    int error = platform_open(path, flags, &fd);
    if (error == 0) {
        out->handle = (uint64_t)fd + 1;
    }
    return error;
}

// Never repeated after EINTR: on Linux the descriptor is closed by then, and another thread may
// have opened a file with the same number.
static void platform_file_close(void* user, orr_file file)
{
    (void)user;
    close(platform_fd(file));
}

static int platform_file_read(void* user, orr_file file, uint64_t offset, void* data, size_t size,
                              size_t* out_size)
{
    (void)user;
    if (!platform_range_fits(offset, size)) {
        return EOVERFLOW;
    }
    size_t done = 0;
    while (done < size) {
        size_t part = size - done < PLATFORM_IO_MAX ? size - done : PLATFORM_IO_MAX;
        ssize_t got =
            pread(platform_fd(file), (unsigned char*)data + done, part, (off_t)(offset + done));
        if (got == 0) {
            break;
        }
        if (got > 0) {
            done += (size_t)got;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    *out_size = done;
    return 0;
}

static int platform_file_write(void* user, orr_file file, uint64_t offset, const void* data,
                               size_t size)
{
    (void)user;
    if (!platform_range_fits(offset, size)) {
        return EFBIG;
    }
    size_t done = 0;
    while (done < size) {
        size_t part = size - done < PLATFORM_IO_MAX ? size - done : PLATFORM_IO_MAX;
        ssize_t put = pwrite(platform_fd(file), (const unsigned char*)data + done, part,
                             (off_t)(offset + done));
        if (put > 0) {
            done += (size_t)put;
        } else if (put == 0) {
            return EIO; // No progress and no error code: an error is better than an endless loop.
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

static int platform_file_size(void* user, orr_file file, uint64_t* out_size)
{
    (void)user;
    struct stat info = {0}; // MSan does not know that fstat fills it.
    if (fstat(platform_fd(file), &info) != 0) {
        return errno;
    }
    *out_size = (uint64_t)info.st_size;
    return 0;
}

static int platform_file_truncate(void* user, orr_file file, uint64_t size)
{
    (void)user;
    if (!platform_range_fits(size, 0)) {
        return EFBIG;
    }
    int result;
    do {
        result = ftruncate(platform_fd(file), (off_t)size);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

static int platform_sync(int fd)
{
    int result;
    do {
#ifdef __APPLE__
        result = fcntl(fd, F_FULLFSYNC); // On macOS fsync() does not flush the drive's cache.
#else
        result = fsync(fd);
#endif
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

static int platform_file_sync(void* user, orr_file file)
{
    (void)user;
    return platform_sync(platform_fd(file));
}

// Bytes of the folder part of `path`, without the last slash except for the root. 0: the working
// folder.
static size_t platform_folder_size(const char* path)
{
    const char* slash = strrchr(path, '/');
    return slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
}

static int platform_folder_sync(const char* path)
{
    char folder[PATH_MAX];
    size_t size = platform_folder_size(path);
    if (size >= sizeof folder) {
        return ENAMETOOLONG;
    }
    memcpy(folder, size > 0 ? path : ".", size > 0 ? size : 1);
    folder[size > 0 ? size : 1] = '\0';
    int fd = -1;
    int error = platform_open(folder, O_RDONLY, &fd);
    if (error != 0) {
        return error;
    }
    error = platform_sync(fd);
    close(fd);
    // Some file systems cannot sync a folder and return EINVAL; no stronger guarantee exists there.
    return error == EINVAL ? 0 : error;
}

static int platform_file_rename(void* user, const char* from, const char* to)
{
    (void)user;
    if (rename(from, to) != 0) {
        return errno;
    }
    int error = platform_folder_sync(to);
    size_t size = platform_folder_size(to);
    bool same_folder = size == platform_folder_size(from) && memcmp(from, to, size) == 0;
    return error != 0 || same_folder ? error : platform_folder_sync(from);
}

static int platform_file_remove(void* user, const char* path)
{
    (void)user;
    return unlink(path) == 0 ? 0 : errno;
}

// ---- threads ------------------------------------------------------------------------------------

#ifdef ORR_NO_THREADS

static int platform_thread_create(void* user, const char* name, void (*run)(void* arg), void* arg,
                                  orr_thread* out)
{
    (void)user, (void)name, (void)run, (void)arg, (void)out;
    return ENOTSUP;
}

static void platform_thread_join(void* user, orr_thread thread)
{
    (void)user, (void)thread;
}

static void platform_thread_yield(void* user)
{
    (void)user;
}

static uint32_t platform_thread_cores(void* user)
{
    (void)user;
    return 1;
}

// Returns at once: early returns are allowed, and no other thread could wake the only one.
static void platform_thread_wait(void* user, void* word, uint32_t expected, uint64_t timeout_ns)
{
    (void)user, (void)word, (void)expected, (void)timeout_ns;
}

static void platform_thread_wake(void* user, void* word, uint32_t count)
{
    (void)user, (void)word, (void)count;
}

#else

_Static_assert(sizeof(pthread_t) <= sizeof(uint64_t), "orr_thread.handle holds a pthread_t");

// Arguments of a new thread; allocated by the creator, freed by the thread.
typedef struct platform_start {
    void (*run)(void* arg);
    void* arg;
    char name[16]; // Linux allows 15 bytes and a zero.
} platform_start;

static void* platform_thread_main(void* data)
{
    platform_start start = *(platform_start*)data;
    free(data);
#if defined(__linux__)
    pthread_setname_np(pthread_self(), start.name);
#elif defined(__APPLE__)
    pthread_setname_np(start.name);
#endif
    start.run(start.arg);
    return NULL;
}

static int platform_thread_create(void* user, const char* name, void (*run)(void* arg), void* arg,
                                  orr_thread* out)
{
    (void)user;
    platform_start* start = malloc(sizeof *start);
    if (start == NULL) {
        return EAGAIN;
    }
    *start = (platform_start){.run = run, .arg = arg};
    snprintf(start->name, sizeof start->name, "%s", name != NULL ? name : "orrery");
    pthread_t thread;
    int error = pthread_create(&thread, NULL, platform_thread_main, start);
    if (error != 0) {
        free(start);
        return error;
    }
    uint64_t handle = 0;
    memcpy(&handle, &thread, sizeof thread);
    out->handle = handle;
    return 0;
}

static void platform_thread_join(void* user, orr_thread thread)
{
    (void)user;
    pthread_t id;
    memcpy(&id, &thread.handle, sizeof id);
    pthread_join(id, NULL);
}

static void platform_thread_yield(void* user)
{
    (void)user;
    sched_yield();
}

#ifdef __linux__

// The size of the kernel's CPU mask is unknown: sched_getaffinity() returns EINVAL until the mask
// is large enough.
static uint32_t platform_thread_cores(void* user)
{
    (void)user;
    for (size_t cpus = CPU_SETSIZE; cpus <= (size_t)CPU_SETSIZE * 64; cpus *= 2) {
        cpu_set_t* set = CPU_ALLOC(cpus);
        size_t size = CPU_ALLOC_SIZE(cpus);
        if (set == NULL) {
            break;
        }
        int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0) {
            return (uint32_t)count;
        }
    }
    return 1;
}

#else

static uint32_t platform_thread_cores(void* user)
{
    (void)user;
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (uint32_t)count : 1;
}

#endif

#if PLATFORM_FUTEX

static void platform_thread_wait(void* user, void* word, uint32_t expected, uint64_t timeout_ns)
{
    (void)user;
    struct timespec timeout = platform_timespec(timeout_ns);
    // The result does not matter (woken, word changed, timeout, signal): the caller checks its word.
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected,
            timeout_ns == UINT64_MAX ? NULL : &timeout, NULL, 0);
}

static void platform_thread_wake(void* user, void* word, uint32_t count)
{
    (void)user;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count < INT_MAX ? (int)count : INT_MAX, NULL, NULL,
            0);
}

#else

// Words are hashed to 16 buckets; all threads that sleep on words of a bucket share one condition,
// and each checks its own word after a wake-up. The buckets are the only static state of the
// platform, shared by all worlds; they hold no values.
typedef struct platform_bucket {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} platform_bucket;

#define PLATFORM_BUCKET                                     \
    {                                                       \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER \
    }
#define PLATFORM_BUCKETS_4 PLATFORM_BUCKET, PLATFORM_BUCKET, PLATFORM_BUCKET, PLATFORM_BUCKET
static platform_bucket platform_buckets[16] = {PLATFORM_BUCKETS_4, PLATFORM_BUCKETS_4,
                                               PLATFORM_BUCKETS_4, PLATFORM_BUCKETS_4};

static platform_bucket* platform_bucket_of(const void* word)
{
    uint64_t key = (uint64_t)(uintptr_t)word * 0x9E3779B97F4A7C15u;
    return &platform_buckets[key >> 60];
}

static void platform_bucket_wait(platform_bucket* bucket, uint64_t timeout_ns)
{
    if (timeout_ns >= (uint64_t)INT64_MAX / 2) {
        pthread_cond_wait(&bucket->changed, &bucket->mutex);
        return;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now); // The clock of statically initialised conditions.
    uint64_t now_ns = (uint64_t)now.tv_sec * PLATFORM_SECOND_NS + (uint64_t)now.tv_nsec;
    struct timespec until = platform_timespec(now_ns + timeout_ns);
    pthread_cond_timedwait(&bucket->changed, &bucket->mutex, &until);
}

// The word is read under the bucket's mutex, and a waker locks the mutex after it wrote the word.
// So either the sleeper reads the new value, or the waker's broadcast reaches the sleeper.
static void platform_thread_wait(void* user, void* word, uint32_t expected, uint64_t timeout_ns)
{
    (void)user;
    platform_bucket* bucket = platform_bucket_of(word);
    pthread_mutex_lock(&bucket->mutex);
    if (atomic_load((_Atomic uint32_t*)word) == expected) {
        platform_bucket_wait(bucket, timeout_ns);
    }
    pthread_mutex_unlock(&bucket->mutex);
}

// Wakes all threads of the bucket, not `count`: a signal could wake a thread of another word.
static void platform_thread_wake(void* user, void* word, uint32_t count)
{
    (void)user, (void)count;
    platform_bucket* bucket = platform_bucket_of(word);
    pthread_mutex_lock(&bucket->mutex);
    pthread_cond_broadcast(&bucket->changed);
    pthread_mutex_unlock(&bucket->mutex);
}

#endif
#endif

// ---- the table ----------------------------------------------------------------------------------

const orr_platform* orr_platform_default(void)
{
    static const orr_platform table = {
        .memory_alloc = platform_memory_alloc,
        .memory_free = platform_memory_free,
        .clock_ns = platform_clock_ns,
        .sleep_ns = platform_sleep_ns,
        .file_open = platform_file_open,
        .file_close = platform_file_close,
        .file_read = platform_file_read,
        .file_write = platform_file_write,
        .file_size = platform_file_size,
        .file_truncate = platform_file_truncate,
        .file_sync = platform_file_sync,
        .file_rename = platform_file_rename,
        .file_remove = platform_file_remove,
        .thread_create = platform_thread_create,
        .thread_join = platform_thread_join,
        .thread_yield = platform_thread_yield,
        .thread_cores = platform_thread_cores,
        .thread_wait = platform_thread_wait,
        .thread_wake = platform_thread_wake,
        .single_threaded = PLATFORM_SINGLE_THREADED,
    };
    return &table;
}

#undef PLATFORM_PADDED_MAX
#undef PLATFORM_SINGLE_THREADED
#undef PLATFORM_FUTEX
#undef PLATFORM_SECOND_NS
#undef PLATFORM_IO_MAX
#undef PLATFORM_BUCKET
#undef PLATFORM_BUCKETS_4
