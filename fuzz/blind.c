// SPDX-License-Identifier: MIT
// Runs a fuzz target without libFuzzer: first on every seed, then on seeds that are changed at
// random. It needs no coverage data, so it works with any compiler and with the library of the
// stage `asan`. libFuzzer finds more; `./dev fuzz` and `./dev test --long` use it.
//
//     fuzz_NAME [--seconds N] [--seed N] [--artifact FILE] [FILE or FOLDER…]
//
// Without --seconds only the given files run, which repeats a failure. If the target fails, its
// input is written to the artifact.
#define _POSIX_C_SOURCE 200809L // scandir, clock_gettime
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

enum {
    BLIND_SEEDS_MAX = 256,
    BLIND_SIZE_MAX = 4096,
    BLIND_SEED_SIZE_MAX = 1 << 20
};

typedef struct blind_input {
    uint8_t* data;
    size_t size;
} blind_input;

static blind_input blind_seeds[BLIND_SEEDS_MAX];
static size_t blind_seed_count;
static uint64_t blind_state = 1;
static const char* blind_artifact = "failed_input";
// The input of the running call, for the signal handler.
static const uint8_t* volatile blind_data;
static volatile size_t blind_size;

// splitmix64
static uint64_t blind_random(void)
{
    uint64_t x = blind_state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static size_t blind_below(size_t limit)
{
    return (size_t)(blind_random() % limit);
}

static void blind_die(const char* what, const char* name)
{
    fprintf(stderr, "%s %s: %s\n", what, name, strerror(errno));
    exit(2);
}

// Async-signal-safe. Sanitizers abort when their options have abort_on_error=1.
static void blind_failed(int signal_number)
{
    int file = open(blind_artifact, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    size_t done = 0;
    while (file >= 0 && done < blind_size) {
        ssize_t n = write(file, blind_data + done, blind_size - done);
        if (n <= 0) {
            break;
        }
        done += (size_t)n;
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

// The input is copied to memory of its exact size, so that ASan detects reads behind it.
static void blind_run(const uint8_t* data, size_t size)
{
    uint8_t* copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) {
        blind_die("cannot allocate", "an input");
    }
    if (size > 0) {
        memcpy(copy, data, size);
    }
    blind_data = copy;
    blind_size = size;
    alarm(25); // A hang is a failure: SIGALRM.
    LLVMFuzzerTestOneInput(copy, size);
    alarm(0);
    free(copy);
}

static void blind_read_file(const char* name)
{
    FILE* file = fopen(name, "rb");
    if (file == NULL) {
        blind_die("cannot open", name);
    }
    uint8_t* data = malloc(BLIND_SEED_SIZE_MAX);
    if (data == NULL || blind_seed_count == BLIND_SEEDS_MAX) {
        errno = data == NULL ? ENOMEM : E2BIG;
        blind_die("cannot keep", name);
    }
    size_t size = fread(data, 1, BLIND_SEED_SIZE_MAX, file);
    if (ferror(file) != 0 || fgetc(file) != EOF) {
        errno = ferror(file) != 0 ? EIO : EFBIG;
        blind_die("cannot read", name);
    }
    fclose(file);
    blind_seeds[blind_seed_count++] = (blind_input){data, size};
}

static int blind_is_visible(const struct dirent* entry)
{
    return entry->d_name[0] != '.';
}

static void blind_read(const char* name)
{
    struct stat info;
    if (stat(name, &info) != 0) {
        blind_die("cannot find", name);
    }
    if (!S_ISDIR(info.st_mode)) {
        blind_read_file(name);
        return;
    }
    struct dirent** entries = NULL;
    int count = scandir(name, &entries, blind_is_visible, alphasort);
    if (count < 0) {
        blind_die("cannot list", name);
    }
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", name, entries[i]->d_name);
        blind_read_file(path);
        free(entries[i]);
    }
    free(entries);
}

static size_t blind_start(uint8_t* data)
{
    if (blind_seed_count > 0 && blind_below(8) != 0) {
        const blind_input* seed = &blind_seeds[blind_below(blind_seed_count)];
        size_t size = seed->size < BLIND_SIZE_MAX ? seed->size : BLIND_SIZE_MAX;
        memcpy(data, seed->data, size);
        return size;
    }
    size_t size = blind_below(BLIND_SIZE_MAX / 8);
    for (size_t i = 0; i < size; i++) {
        data[i] = (uint8_t)blind_random();
    }
    return size;
}

// Opens a gap of random bytes, or copies of bytes of the input.
static size_t blind_insert(uint8_t* data, size_t size)
{
    size_t count = 1 + blind_below(16);
    if (size + count > BLIND_SIZE_MAX) {
        return size;
    }
    size_t at = blind_below(size + 1), from = blind_below(size + 1);
    int repeat = size > count && blind_below(2) == 0;
    memmove(data + at + count, data + at, size - at);
    for (size_t i = 0; i < count; i++) {
        data[at + i] = repeat ? data[(from + i) % size] : (uint8_t)blind_random();
    }
    return size + count;
}

static size_t blind_erase(uint8_t* data, size_t size)
{
    size_t at = blind_below(size), count = 1 + blind_below(16);
    if (count > size - at) {
        count = size - at;
    }
    memmove(data + at, data + at + count, size - at - count);
    return size - count;
}

// Overwrites 1, 2, 4 or 8 bytes with a number at a limit.
static void blind_overwrite(uint8_t* data, size_t size)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       0x7F,
                                       0x80,
                                       0xFF,
                                       0x7FFF,
                                       0xFFFF,
                                       0x7FFFFFFF,
                                       0x80000000,
                                       0xFFFFFFFF,
                                       INT64_MAX,
                                       UINT64_MAX,
                                       16,
                                       2048,
                                       1 << 20,
                                       UINT64_C(1) << 31,
                                       UINT64_MAX - 7,
                                       UINT64_C(1) << 62};
    uint64_t number = numbers[blind_below(sizeof numbers / sizeof numbers[0])];
    size_t width = (size_t)1 << blind_below(4), at = blind_below(size);
    for (size_t i = 0; i < width && at + i < size; i++) {
        data[at + i] = (uint8_t)(number >> 8 * i);
    }
}

static size_t blind_change(uint8_t* data, size_t size)
{
    if (size == 0) {
        return blind_insert(data, size);
    }
    switch (blind_below(6)) {
    case 0:
        data[blind_below(size)] ^= (uint8_t)(1U << blind_below(8));
        return size;
    case 1:
        data[blind_below(size)] = (uint8_t)blind_random();
        return size;
    case 2:
        blind_overwrite(data, size);
        return size;
    case 3:
        return blind_erase(data, size);
    case 4:
        return blind_below(8) == 0 ? blind_below(size) : size; // Truncated, now and then.
    default:
        return blind_insert(data, size);
    }
}

static uint64_t blind_run_random(double seconds)
{
    static uint8_t data[BLIND_SIZE_MAX];
    struct timespec begin, now;
    uint64_t count = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        size_t size = blind_start(data);
        for (size_t changes = 1 + blind_below(8); changes > 0; changes--) {
            size = blind_change(data, size);
        }
        blind_run(data, size);
        count++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) <
             seconds);
    return count;
}

int main(int argc, char** argv)
{
    double seconds = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
            seconds = strtod(argv[++i], NULL);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            blind_state = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--artifact") == 0 && i + 1 < argc) {
            blind_artifact = argv[++i];
        } else {
            blind_read(argv[i]);
        }
    }
    const int signals[] = {SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        signal(signals[i], blind_failed);
    }
    uint64_t seed = blind_state;
    for (size_t i = 0; i < blind_seed_count; i++) {
        blind_run(blind_seeds[i].data, blind_seeds[i].size);
    }
    uint64_t count = seconds > 0 ? blind_run_random(seconds) : 0;
    printf("%zu seeds and %llu changed inputs (--seed %llu), no failure\n", blind_seed_count,
           (unsigned long long)count, (unsigned long long)seed);
    for (size_t i = 0; i < blind_seed_count; i++) {
        free(blind_seeds[i].data);
    }
    return 0;
}
