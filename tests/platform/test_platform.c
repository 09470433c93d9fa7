// SPDX-License-Identifier: MIT
// The default platform on the real system, in its own folder, which is removed again.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../test.h"

#include "../support/fake_platform.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS ((uint64_t)1000000)

static char folder[64];

// Creates the folder on first use; the last user of a name removes it.
static const char* path_of(const char* name)
{
    static char paths[4][128];
    static unsigned next;
    if (folder[0] == '\0') {
        strcpy(folder, "/tmp/orrery_test_XXXXXX");
        CHECK(mkdtemp(folder) != NULL);
    }
    char* path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

__attribute__((destructor)) static void folder_remove(void)
{
    if (folder[0] != '\0') {
        rmdir(folder);
    }
}

static const orr_platform* table(void)
{
    return orr_platform_default();
}

static orr_file file_opened(const char* path, orr_file_mode mode)
{
    orr_file file = {0};
    CHECK_EQ(table()->file_open(NULL, path, mode, &file), 0);
    CHECK(file.handle != 0);
    return file;
}

static void file_made(const char* path, const char* text)
{
    orr_file file = file_opened(path, ORR_FILE_TRUNCATE);
    CHECK_EQ(table()->file_write(NULL, file, 0, text, strlen(text)), 0);
    table()->file_close(NULL, file);
}

// The content of the file as a string; "?" if it cannot be opened.
static const char* file_text(const char* path)
{
    static char text[256];
    orr_file file;
    size_t size = 0;
    if (table()->file_open(NULL, path, ORR_FILE_READ, &file) != 0) {
        return "?";
    }
    CHECK_EQ(table()->file_read(NULL, file, 0, text, sizeof text - 1, &size), 0);
    table()->file_close(NULL, file);
    text[size] = '\0';
    return text;
}

// ---- memory -------------------------------------------------------------------------------------

ORR_TEST(memory_any_size_and_align_is_aligned_and_writable)
{
    for (size_t align = 1; align <= 65536; align *= 2) {
        for (size_t size = 1; size <= 4097; size = size * 2 + 1) {
            unsigned char* data = table()->memory_alloc(NULL, size, align);
            CHECK(data != NULL);
            CHECK_EQ((uintptr_t)data % align, 0);
            memset(data, 0xA5, size);
            table()->memory_free(NULL, data, size, align);
        }
    }
}

// Sanitizers end the program where malloc returns NULL.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED                                                           \
    (__has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
     __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

ORR_TEST(memory_more_than_available_returns_null)
{
    if (SANITIZED) {
        test_skip("sanitizers stop the program here");
    }
    CHECK(table()->memory_alloc(NULL, PTRDIFF_MAX, 64) == NULL);
    CHECK(table()->memory_alloc(NULL, PTRDIFF_MAX, 1) == NULL);
}

// ---- clock --------------------------------------------------------------------------------------

ORR_TEST(clock_read_twice_never_goes_back)
{
    uint64_t last = table()->clock_ns(NULL);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = table()->clock_ns(NULL);
        CHECK(now >= last);
        last = now;
    }
}

ORR_TEST(sleep_lasts_at_least_as_long_as_requested)
{
    uint64_t begin = table()->clock_ns(NULL);
    table()->sleep_ns(NULL, 5 * MS);
    CHECK(table()->clock_ns(NULL) - begin >= 5 * MS);
    table()->sleep_ns(NULL, 0);
}

ORR_TEST(fake_platform_sleep_advances_its_clock_and_nothing_else)
{
    fake_platform fake;
    fake_platform_init(&fake);
    CHECK_EQ(fake.table.clock_ns(fake.table.user), 0);
    fake.table.sleep_ns(fake.table.user, UINT64_C(3600000000000));
    CHECK_EQ(fake.table.clock_ns(fake.table.user), INT64_C(3600000000000));
    fake.now_ns = 7;
    CHECK_EQ(fake.table.clock_ns(fake.table.user), 7);
    CHECK_EQ(fake.clock_reads, 3);
    CHECK(fake.table.file_open == table()->file_open);
}

// ---- files --------------------------------------------------------------------------------------

ORR_TEST(file_written_at_offsets_reads_back)
{
    const char* path = path_of("offsets");
    char data[16] = {0};
    size_t size = 99;
    uint64_t total = 99;
    orr_file file = file_opened(path, ORR_FILE_EXCLUSIVE);
    CHECK_EQ(table()->file_size(NULL, file, &total), 0);
    CHECK_EQ(total, 0);
    CHECK_EQ(table()->file_write(NULL, file, 4, "efgh", 4), 0);
    CHECK_EQ(table()->file_write(NULL, file, 0, "abcd", 4), 0);
    CHECK_EQ(table()->file_write(NULL, file, 8, "", 0), 0);
    CHECK_EQ(table()->file_size(NULL, file, &total), 0);
    CHECK_EQ(total, 8);
    CHECK_EQ(table()->file_read(NULL, file, 2, data, 4, &size), 0);
    CHECK_EQ(size, 4);
    CHECK_STR(data, "cdef");
    CHECK_EQ(table()->file_sync(NULL, file), 0);
    table()->file_close(NULL, file);
    CHECK_EQ(table()->file_remove(NULL, path), 0);
}

ORR_TEST(file_read_past_its_end_is_short)
{
    const char* path = path_of("short");
    char data[16] = {0};
    size_t size = 99;
    file_made(path, "abc");
    orr_file file = file_opened(path, ORR_FILE_READ);
    CHECK_EQ(table()->file_read(NULL, file, 1, data, sizeof data, &size), 0);
    CHECK_EQ(size, 2);
    CHECK_EQ(table()->file_read(NULL, file, 1000, data, sizeof data, &size), 0);
    CHECK_EQ(size, 0);
    table()->file_close(NULL, file);
    CHECK_EQ(table()->file_remove(NULL, path), 0);
}

ORR_TEST(file_open_modes_keep_empty_or_refuse)
{
    const char* path = path_of("modes");
    orr_file file = {77};
    CHECK_EQ(table()->file_open(NULL, path, ORR_FILE_READ, &file), ENOENT);
    CHECK_EQ(file.handle, 77);
    file_made(path, "abc");
    table()->file_close(NULL, file_opened(path, ORR_FILE_WRITE));
    CHECK_STR(file_text(path), "abc");
    CHECK_EQ(table()->file_open(NULL, path, ORR_FILE_EXCLUSIVE, &file), EEXIST);
    CHECK_EQ(table()->file_open(NULL, path, (orr_file_mode)9, &file), EINVAL);
    CHECK_EQ(file.handle, 77);
    table()->file_close(NULL, file_opened(path, ORR_FILE_TRUNCATE));
    CHECK_STR(file_text(path), "");
    CHECK_EQ(table()->file_open(NULL, folder, ORR_FILE_WRITE, &file), EISDIR);
    CHECK_EQ(table()->file_remove(NULL, path), 0);
}

ORR_TEST(file_truncate_cuts_and_extends_with_zeros)
{
    const char* path = path_of("truncate");
    char data[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    size_t size = 0;
    file_made(path, "abcdef");
    orr_file file = file_opened(path, ORR_FILE_WRITE);
    CHECK_EQ(table()->file_truncate(NULL, file, 2), 0);
    CHECK_EQ(table()->file_truncate(NULL, file, 5), 0);
    CHECK_EQ(table()->file_read(NULL, file, 0, data, sizeof data, &size), 0);
    CHECK_EQ(size, 5);
    CHECK_EQ(memcmp(data, "ab\0\0\0", 5), 0);
    CHECK_EQ(table()->file_truncate(NULL, file, UINT64_MAX), EFBIG);
    table()->file_close(NULL, file);
    CHECK_EQ(table()->file_remove(NULL, path), 0);
}

ORR_TEST(file_misused_returns_the_error_and_leaves_outputs)
{
    const char* path = path_of("misused");
    char data[8];
    size_t size = 55;
    uint64_t total = 66;
    file_made(path, "abc");
    orr_file file = file_opened(path, ORR_FILE_READ), closed = {60000};
    CHECK_EQ(table()->file_write(NULL, file, 0, "x", 1), EBADF);
    CHECK_EQ(table()->file_write(NULL, file, UINT64_MAX, "x", 1), EFBIG);
    CHECK_EQ(table()->file_write(NULL, file, INT64_MAX, "x", 1), EFBIG);
    CHECK_EQ(table()->file_read(NULL, file, INT64_MAX, data, 8, &size), EOVERFLOW);
    CHECK_EQ(table()->file_truncate(NULL, file, 0), EINVAL);
    CHECK_EQ(table()->file_size(NULL, closed, &total), EBADF);
    CHECK_EQ(table()->file_sync(NULL, closed), EBADF);
    table()->file_close(NULL, file);
    file = file_opened(folder, ORR_FILE_READ);
    CHECK_EQ(table()->file_read(NULL, file, 0, data, 8, &size), EISDIR);
    table()->file_close(NULL, file);
    CHECK_EQ(size, 55);
    CHECK_EQ(total, 66);
    CHECK_EQ(table()->file_remove(NULL, path), 0);
    CHECK_EQ(table()->file_remove(NULL, path), ENOENT);
}

// The first write stops at the limit without an error; only a second call returns the reason.
ORR_TEST(file_write_cut_short_by_the_system_is_an_error)
{
    const char* path = path_of("limit");
    char data[100];
    memset(data, 'x', sizeof data);
    orr_file file = file_opened(path, ORR_FILE_TRUNCATE);
    struct rlimit before, limit;
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 60;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    int error = table()->file_write(NULL, file, 0, data, sizeof data);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_EQ(error, EFBIG);
    CHECK_EQ(table()->file_write(NULL, file, 0, data, sizeof data), 0);
    table()->file_close(NULL, file);
    CHECK_EQ(table()->file_remove(NULL, path), 0);
}

ORR_TEST(file_rename_replaces_the_target)
{
    const char *from = path_of("from"), *to = path_of("to");
    file_made(from, "new");
    file_made(to, "old");
    CHECK_EQ(table()->file_rename(NULL, from, to), 0);
    CHECK_STR(file_text(from), "?");
    CHECK_STR(file_text(to), "new");
    CHECK_EQ(table()->file_rename(NULL, from, to), ENOENT);
    CHECK_STR(file_text(to), "new");
    CHECK_EQ(table()->file_remove(NULL, to), 0);
}

ORR_TEST(file_rename_between_folders_and_in_the_working_folder_works)
{
    const char *from = path_of("one"), *inner = path_of("inner"), *to = path_of("inner/two");
    char here[256];
    CHECK(getcwd(here, sizeof here) != NULL);
    CHECK_EQ(mkdir(inner, 0777), 0);
    file_made(from, "text");
    CHECK_EQ(table()->file_rename(NULL, from, to), 0);
    CHECK_STR(file_text(to), "text");
    CHECK_EQ(chdir(inner), 0);
    int error = table()->file_rename(NULL, "two", "three");
    CHECK_EQ(chdir(here), 0);
    CHECK_EQ(error, 0);
    CHECK_EQ(table()->file_remove(NULL, path_of("inner/three")), 0);
    CHECK_EQ(rmdir(inner), 0);
}

ORR_TEST(file_calls_leave_no_descriptor_open)
{
    int before = dup(0);
    close(before);
    const char *from = path_of("leak"), *to = path_of("leak2");
    file_made(from, "text");
    CHECK_EQ(table()->file_rename(NULL, from, to), 0);
    CHECK_EQ(table()->file_remove(NULL, to), 0);
    int after = dup(0);
    close(after);
    CHECK_EQ(after, before);
}

ORR_TEST(file_handle_is_the_descriptor_plus_one)
{
    int next = dup(0);
    close(next);
    orr_file file = file_opened("/dev/null", ORR_FILE_READ);
    CHECK_EQ(file.handle, next + 1);
    CHECK(fcntl(next, F_GETFD) & FD_CLOEXEC);
    table()->file_close(NULL, file);
    CHECK_EQ(fcntl(next, F_GETFD), -1);
}

// ---- signals ------------------------------------------------------------------------------------

typedef struct knock {
    pthread_t target;
    const char* fifo; // Opened for writing after the signal; NULL: none.
} knock;

static void on_signal(int number)
{
    (void)number;
}

static void* knock_run(void* data)
{
    const knock* task = data;
    table()->sleep_ns(NULL, 10 * MS);
    pthread_kill(task->target, SIGUSR1);
    table()->sleep_ns(NULL, 10 * MS);
    if (task->fifo != NULL) {
        close(open(task->fifo, O_WRONLY));
    }
    return NULL;
}

// Without SA_RESTART: blocked calls return EINTR.
static pthread_t knock_start(knock* task)
{
    pthread_t thread;
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, NULL);
    task->target = pthread_self();
    CHECK_EQ(pthread_create(&thread, NULL, knock_run, task), 0);
    return thread;
}

ORR_TEST(sleep_interrupted_by_a_signal_continues)
{
    knock task = {.fifo = NULL};
    uint64_t begin = table()->clock_ns(NULL);
    pthread_t thread = knock_start(&task);
    table()->sleep_ns(NULL, 40 * MS);
    CHECK(table()->clock_ns(NULL) - begin >= 40 * MS);
    pthread_join(thread, NULL);
}

ORR_TEST(file_open_interrupted_by_a_signal_continues)
{
    knock task = {.fifo = path_of("fifo")};
    CHECK_EQ(mkfifo(task.fifo, 0600), 0);
    pthread_t thread = knock_start(&task);
    orr_file file = {0};
    int error = table()->file_open(NULL, task.fifo, ORR_FILE_READ, &file);
    pthread_join(thread, NULL);
    CHECK_EQ(error, 0);
    CHECK_EQ(table()->file_sync(NULL, file), EINVAL);
    table()->file_close(NULL, file);
    CHECK_EQ(table()->file_remove(NULL, task.fifo), 0);
}

// ---- threads ------------------------------------------------------------------------------------

static orr_thread thread_started(const char* name, void (*run)(void*), void* arg)
{
    orr_thread thread = {0};
    int error = table()->thread_create(NULL, name, run, arg, &thread);
    if (error == ENOTSUP) {
        CHECK_EQ(thread.handle, 0);
        table()->thread_join(NULL, thread);
        table()->thread_wait(NULL, arg, 0, 0);
        table()->thread_wake(NULL, arg, 1);
        test_skip("built without threads");
    }
    CHECK_EQ(error, 0);
    CHECK(thread.handle != 0);
    return thread;
}

static void thread_waits(void* arg)
{
    table()->thread_wait(NULL, arg, 0, 100 * MS);
}

ORR_TEST(single_threaded_is_not_claimed_beside_another_thread)
{
    _Atomic uint32_t word = 0;
    orr_thread thread = thread_started("beside", thread_waits, &word);
    bool claimed = table()->single_threaded != NULL && *table()->single_threaded != 0;
    atomic_store(&word, 1);
    table()->thread_wake(NULL, &word, 1);
    table()->thread_join(NULL, thread);
    CHECK(!claimed);
}

static void name_write(void* data)
{
    pthread_getname_np(pthread_self(), data, 64);
}

ORR_TEST(thread_created_runs_under_its_name_cut_to_15_bytes)
{
    char name[64] = "";
    table()->thread_join(NULL, thread_started("worker 1", name_write, name));
    CHECK_STR(name, "worker 1");
    table()->thread_join(NULL, thread_started("a-name-that-is-too-long", name_write, name));
    CHECK_STR(name, "a-name-that-is-");
    table()->thread_join(NULL, thread_started(NULL, name_write, name));
    CHECK_STR(name, "orrery");
}

ORR_TEST(thread_cores_follow_the_affinity_of_the_process)
{
    CHECK(table()->thread_cores(NULL) >= 1);
    table()->thread_yield(NULL);
    cpu_set_t before, one;
    CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
        }
    }
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    uint32_t cores = table()->thread_cores(NULL);
    CHECK_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    CHECK_EQ(cores, 1);
}

enum {
    ROUNDS = 2000
};

typedef struct ping {
    _Atomic uint32_t word; // Even: the turn of main; odd: of the other thread.
    uint32_t plain;        // Protected by the turns.
} ping;

static void turn_take(ping* game, uint32_t parity)
{
    uint32_t word;
    while (((word = atomic_load(&game->word)) & 1) != parity) {
        table()->thread_wait(NULL, &game->word, word, UINT64_MAX);
    }
    game->plain++;
    atomic_store(&game->word, word + 1);
    table()->thread_wake(NULL, &game->word, 1);
}

static void ping_run(void* data)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        turn_take(data, 1);
    }
}

ORR_TEST(thread_wait_and_wake_alternate_between_two_threads)
{
    ping game = {0};
    orr_thread thread = thread_started("ping", ping_run, &game);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        turn_take(&game, 0);
    }
    table()->thread_join(NULL, thread);
    CHECK_EQ(game.plain, 2 * ROUNDS);
}

ORR_TEST(thread_wait_returns_when_the_word_differs_or_time_is_up)
{
    _Atomic uint32_t word = 5;
    table()->thread_wait(NULL, &word, 4, UINT64_MAX);
    uint64_t begin = table()->clock_ns(NULL);
    table()->thread_wait(NULL, &word, 5, 2 * MS);
    CHECK(table()->clock_ns(NULL) - begin < 2000 * MS);
    table()->thread_wake(NULL, &word, 1); // No thread sleeps.
}

typedef struct gate {
    _Atomic uint32_t word, through;
} gate;

static void gate_run(void* data)
{
    gate* door = data;
    while (atomic_load(&door->word) == 0) {
        table()->thread_wait(NULL, &door->word, 0, UINT64_MAX);
    }
    atomic_fetch_add(&door->through, 1);
}

ORR_TEST(thread_wake_of_all_wakes_all)
{
    gate door = {0};
    orr_thread threads[4];
    for (int i = 0; i < 4; i++) {
        threads[i] = thread_started("gate", gate_run, &door);
    }
    table()->sleep_ns(NULL, 10 * MS); // Most likely all sleep by now; correct in any case.
    CHECK_EQ(atomic_load(&door.through), 0);
    atomic_store(&door.word, 1);
    table()->thread_wake(NULL, &door.word, UINT32_MAX);
    for (int i = 0; i < 4; i++) {
        table()->thread_join(NULL, threads[i]);
    }
    CHECK_EQ(atomic_load(&door.through), 4);
}

ORR_TEST(default_table_has_every_function_except_the_sched_point)
{
    const orr_platform* platform = table();
    CHECK(platform == orr_platform_default());
    CHECK(platform->user == NULL && platform->sched_point == NULL);
    void (*entries[(offsetof(orr_platform, sched_point) - sizeof(void*)) / sizeof(void*)])(void);
    memcpy(entries, (const char*)platform + sizeof(void*), sizeof entries);
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        CHECK(entries[i] != NULL);
    }
}
