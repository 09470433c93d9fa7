// SPDX-License-Identifier: MIT
// ORR_TEST_ALONE: it replaces functions of libc, and so cannot share a program with other tests.
// Rare events: calls interrupted by signals, partial reads and writes, no resources for a thread.
// The functions below replace those of libc in this program and produce these events on demand. Not
// built with sanitizers, which need these functions themselves.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64 // As in the platform, so that the same functions are replaced.
#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED                                                           \
    (__has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
     __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

#if SANITIZED

ORR_TEST(interrupted_calls_under_sanitizers_are_skipped)
{
    test_skip("sanitizers need libc as it is");
}

#else

// Behaviour of the next calls.
static struct {
    uint32_t interrupts; // Calls to interrupt before one succeeds.
    size_t piece;        // Most bytes per read or write. 0: no limit.
    bool stuck;          // Writes transfer nothing and return no error.
    int sync_errors[2];  // Results of the next calls of fsync; 0: success.
    uint32_t syncs;      // Calls of fsync.
    int open_error;
    bool no_affinity;
} plan;

static const orr_platform* table(void)
{
    return orr_platform_default();
}

static bool interrupted(void)
{
    if (plan.interrupts > 0) {
        plan.interrupts--;
        errno = EINTR;
        return true;
    }
    return false;
}

static size_t piece_of(size_t size)
{
    return plan.piece > 0 && plan.piece < size ? plan.piece : size;
}

ssize_t pread(int fd, void* data, size_t size, off_t offset)
{
    return interrupted() ? -1 : syscall(SYS_pread64, fd, data, piece_of(size), offset);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset)
{
    if (plan.stuck) {
        return 0;
    }
    return interrupted() ? -1 : syscall(SYS_pwrite64, fd, data, piece_of(size), offset);
}

int ftruncate(int fd, off_t size)
{
    return interrupted() ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

int fsync(int fd)
{
    (void)fd;
    uint32_t call = plan.syncs++;
    if (interrupted()) {
        return -1;
    }
    errno = call < 2 ? plan.sync_errors[call] : 0;
    return errno != 0 ? -1 : 0;
}

int open(const char* path, int flags, ...)
{
    if (plan.open_error != 0) {
        errno = plan.open_error;
        return -1;
    }
    return interrupted() ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0666);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attr, void* (*run)(void*), void* arg)
{
    (void)thread, (void)attr, (void)run, (void)arg;
    return EAGAIN;
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t* set)
{
    if (plan.no_affinity) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_sched_getaffinity, pid, size, set) < 0 ? -1 : 0;
}

static void plan_reset(void)
{
    memset(&plan, 0, sizeof plan);
}

static orr_file file_make(char path[64])
{
    plan_reset();
    strcpy(path, "/tmp/orrery_test_XXXXXX");
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    orr_file file = {0};
    CHECK_EQ(table()->file_open(NULL, path, ORR_FILE_WRITE, &file), 0);
    return file;
}

static void file_end(orr_file file, const char* path)
{
    plan_reset();
    table()->file_close(NULL, file);
    unlink(path);
}

ORR_TEST(file_in_pieces_and_interrupted_arrives_whole)
{
    char path[64], text[40] = "", wanted[] = "the quick brown fox jumps";
    size_t size = 0;
    orr_file file = file_make(path);
    plan.piece = 3;
    plan.interrupts = 2;
    CHECK_EQ(table()->file_write(NULL, file, 5, wanted, sizeof wanted), 0);
    CHECK_EQ(plan.interrupts, 0);
    plan.interrupts = 2;
    CHECK_EQ(table()->file_read(NULL, file, 5, text, sizeof text, &size), 0);
    CHECK_EQ(size, sizeof wanted);
    CHECK_STR(text, wanted);
    file_end(file, path);
}

ORR_TEST(file_write_without_progress_is_an_error)
{
    char path[64];
    orr_file file = file_make(path);
    plan.stuck = true;
    CHECK_EQ(table()->file_write(NULL, file, 0, "abc", 3), EIO);
    file_end(file, path);
}

ORR_TEST(file_truncate_open_and_sync_continue_after_an_interrupt)
{
    char path[64];
    uint64_t size = 0;
    orr_file file = file_make(path), second = {0};
    plan.interrupts = 3;
    CHECK_EQ(table()->file_truncate(NULL, file, 99), 0);
    CHECK_EQ(table()->file_size(NULL, file, &size), 0);
    CHECK_EQ(size, 99);
    plan.interrupts = 3;
    CHECK_EQ(table()->file_open(NULL, path, ORR_FILE_READ, &second), 0);
    table()->file_close(NULL, second);
    plan.interrupts = 3;
    plan.syncs = 0;
    CHECK_EQ(table()->file_sync(NULL, file), 0);
    CHECK_EQ(plan.syncs, 4);
    plan.syncs = 0;
    plan.sync_errors[0] = ENOSPC;
    CHECK_EQ(table()->file_sync(NULL, file), ENOSPC);
    file_end(file, path);
}

// Renames within the folder, returns the result of the rename, and restores the old name.
static int rename_result(const char* path, uint32_t* out_syncs)
{
    char other[80];
    snprintf(other, sizeof other, "%s_2", path);
    plan.syncs = 0;
    int error = table()->file_rename(NULL, path, other);
    *out_syncs = plan.syncs;
    CHECK_EQ(rename(other, path), 0);
    return error;
}

ORR_TEST(file_rename_syncs_the_folder_and_reports_a_failed_sync)
{
    char path[64];
    uint32_t syncs = 0;
    orr_file file = file_make(path);
    CHECK_EQ(rename_result(path, &syncs), 0);
    CHECK_EQ(syncs, 1);
    plan.sync_errors[0] = EINVAL; // A file system that cannot sync folders.
    CHECK_EQ(rename_result(path, &syncs), 0);
    plan.sync_errors[0] = EIO;
    CHECK_EQ(rename_result(path, &syncs), EIO);
    plan.sync_errors[0] = 0;
    plan.open_error = EACCES;
    CHECK_EQ(rename_result(path, &syncs), EACCES);
    CHECK_EQ(syncs, 0);
    file_end(file, path);
}

ORR_TEST(file_rename_between_folders_syncs_both)
{
    char path[64], folder[] = "/tmp/orrery_test_XXXXXX", to[64];
    orr_file file = file_make(path);
    CHECK(mkdtemp(folder) != NULL);
    snprintf(to, sizeof to, "%s/moved", folder);
    plan.sync_errors[1] = EDQUOT; // Of the second folder.
    CHECK_EQ(table()->file_rename(NULL, path, to), EDQUOT);
    CHECK_EQ(plan.syncs, 2);
    file_end(file, to);
    CHECK_EQ(rmdir(folder), 0);
}

ORR_TEST(file_rename_to_too_long_a_path_is_refused)
{
    char path[64];
    static char to[9000];
    orr_file file = file_make(path);
    memset(to, '/', sizeof to - 1);
    CHECK_EQ(table()->file_rename(NULL, path, to), ENAMETOOLONG);
    file_end(file, path);
}

static void nothing_run(void* arg)
{
    (void)arg;
}

ORR_TEST(thread_without_resources_is_refused_and_leaves_the_output)
{
    orr_thread thread = {5};
    int error = table()->thread_create(NULL, "none", nothing_run, NULL, &thread);
    CHECK(error == EAGAIN || error == ENOTSUP);
    CHECK_EQ(thread.handle, 5);
}

ORR_TEST(thread_cores_that_cannot_be_counted_are_one)
{
    plan_reset();
    plan.no_affinity = true;
    CHECK_EQ(table()->thread_cores(NULL), 1);
    plan_reset();
}

#endif
