// SPDX-License-Identifier: MIT
// Recording files: a saved recording is loaded; a damaged file is refused with the position.
#include "replay/file.h"
#include "replay/replay_kit.h"
#include "support/fake_platform.h"
#include <errno.h>
#include <stdlib.h>

// ---- files as bytes -----------------------------------------------------------------------------

typedef struct bytes {
    uint8_t* data;
    size_t size;
} bytes;

static bytes bytes_read(const char* path)
{
    bytes b = {0};
    FILE* file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    b.size = (size_t)ftell(file);
    rewind(file);
    b.data = malloc(b.size + 1);
    CHECK(b.data != NULL && fread(b.data, 1, b.size, file) == b.size);
    fclose(file);
    return b;
}

static void bytes_write(const char* path, const uint8_t* data, size_t size)
{
    FILE* file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(data, 1, size, file) == size);
    CHECK(fclose(file) == 0);
}

static bool file_there(const char* path)
{
    return access(path, F_OK) == 0;
}

// ---- a run in a file ----------------------------------------------------------------------------

typedef struct saved {
    const char* path;
    uint64_t hash, tick;
} saved;

static saved saved_run(const orr_world_desc* desc, uint64_t seed, uint32_t steps, const char* name)
{
    stage s;
    saved f = {.path = stage_path(name)};
    orr_recording* recording = orr_recording_create();
    stage_make(&s, desc, true);
    dev = (device){.number = seed};
    CHECK_OK(orr_record(s.world, recording, &(orr_record_desc){.hash_every = 3}));
    stage_run(&s, seed, steps);
    CHECK_OK(orr_record_end(s.world));
    CHECK_OK(orr_recording_save(s.world, recording, f.path));
    f.hash = orr_world_hash(s.world);
    f.tick = orr_world_tick(s.world);
    stage_end(&s);
    orr_recording_destroy(recording);
    dev = (device){.banned = true};
    return f;
}

ORR_TEST(saved_recording_loads_and_replays_to_the_same_world)
{
    for (uint32_t fixed = 0; fixed < 2; fixed++) {
        orr_world_desc desc = {.rate_hz = fixed ? 60 : 0};
        saved f = saved_run(&desc, test_seed(), 120, "round");
        for (uint32_t i = 0; i < 3; i++) {
            stage s;
            orr_recording* recording = orr_recording_create();
            desc.workers = (const uint32_t[]){0, 2, 8}[i];
            stage_make(&s, &desc, true);
            CHECK_OK(orr_recording_load(s.world, recording, f.path));
            CHECK_OK(orr_replay(s.world, recording, NULL, NULL));
            CHECK_STR(s.k.errors.text, "");
            CHECK(orr_world_hash(s.world) == f.hash);
            CHECK_EQ(orr_world_tick(s.world), f.tick);
            stage_end(&s);
            orr_recording_destroy(recording);
        }
        CHECK_EQ(remove(f.path), 0);
    }
}

ORR_TEST(loaded_recording_saved_again_is_the_same_file)
{
    saved f = saved_run(NULL, 3, 300, "again");
    const char* other = stage_path("again2");
    orr_world* world = orr_world_create(NULL); // Without types and systems.
    orr_recording* recording = orr_recording_create();
    CHECK_OK(orr_recording_load(world, recording, f.path));
    CHECK_OK(orr_recording_save(world, recording, other));
    bytes a = bytes_read(f.path), b = bytes_read(other);
    CHECK_EQ(a.size, b.size);
    CHECK(memcmp(a.data, b.data, a.size) == 0);
    CHECK(a.size > 2 * 65536); // Several blocks.
    free(a.data);
    free(b.data);
    orr_recorded_tick tick;
    orr_recorded_call call;
    CHECK(!orr_recording_tick(recording, 0, &tick));
    CHECK(!orr_recording_tick(recording, f.tick + 1, &tick));
    CHECK(orr_recording_tick(recording, 3, &tick));
    CHECK(tick.hashed && tick.tick == 3);
    CHECK(orr_recording_tick(recording, f.tick, &tick) && tick.hash == f.hash);
    CHECK(tick.pipeline[0] != '\0');
    CHECK(orr_recording_call(recording, 0, &call));
    CHECK(call.name[0] != '\0');
    CHECK(!orr_recording_call(recording, 1u << 30, &call));
    orr_recording_destroy(recording);
    orr_world_destroy(world);
    CHECK_EQ(remove(f.path) | remove(other), 0);
}

ORR_TEST(saved_recording_can_be_cut_and_continued)
{
    orr_world_desc desc = {.rate_hz = 60};
    saved f = saved_run(&desc, 8, 100, "cut");
    stage s;
    orr_recording* recording = orr_recording_create();
    stage_make(&s, &desc, true);
    CHECK_OK(orr_recording_load(s.world, recording, f.path));
    CHECK_OK(orr_recording_cut(recording, 41));
    CHECK_OK(orr_replay(s.world, recording, NULL, NULL));
    CHECK_OK(orr_record(s.world, recording, &(orr_record_desc){.append = true}));
    dev = (device){.number = 1};
    stage_run(&s, 99, 50);
    CHECK_OK(orr_record_end(s.world));
    CHECK_OK(orr_recording_save(s.world, recording, f.path));
    uint64_t hash = orr_world_hash(s.world);
    stage_end(&s);
    dev.banned = true;
    stage_make(&s, &desc, true);
    CHECK_OK(orr_recording_load(s.world, recording, f.path));
    CHECK_OK(orr_replay(s.world, recording, NULL, NULL));
    CHECK(orr_world_hash(s.world) == hash);
    stage_end(&s);
    orr_recording_destroy(recording);
    CHECK_EQ(remove(f.path), 0);
}

// ---- names --------------------------------------------------------------------------------------

ORR_TEST(call_without_a_name_is_not_saved_and_the_file_stays)
{
    stage s;
    const char* path = stage_path("nameless");
    orr_recording* recording = orr_recording_create();
    bytes_write(path, (const uint8_t*)"old", 3);
    stage_make(&s, NULL, false);
    dev = (device){0};
    CHECK_OK(orr_record(s.world, recording, NULL));
    CHECK_OK(orr_post(s.world, call_nothing, NULL, 0));
    CHECK_OK(orr_step(s.world, 1));
    CHECK_OK(orr_record_end(s.world));
    CHECK_RESULT(orr_recording_save(s.world, recording, path), ORR_ERR_NAME);
    CHECK_CONTAINS(s.k.errors.text, "orr_call_register()");
    bytes b = bytes_read(path);
    CHECK_EQ(b.size, 3);
    free(b.data);
    CHECK_OK(orr_call_register(s.world, "nothing", call_nothing, 0)); // Not too late.
    CHECK_OK(orr_recording_save(s.world, recording, path));
    stage_end(&s);
    // A world without the name can load the recording, but not replay it.
    stage_make(&s, NULL, false);
    CHECK_OK(orr_recording_load(s.world, recording, path));
    CHECK_RESULT(orr_replay(s.world, recording, NULL, NULL), ORR_ERR_ABSENT);
    CHECK_CONTAINS(s.k.errors.text, "'nothing'");
    stage_end(&s);
    orr_recording_destroy(recording);
    CHECK_EQ(remove(path), 0);
}

ORR_STRUCT(Newer, (uint32_t, a))

ORR_TEST(replay_with_other_types_or_pipelines_is_refused_with_their_names)
{
    saved f = saved_run(NULL, 8, 5, "types");
    orr_recording* recording = orr_recording_create();
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Newer);
    CHECK_OK(orr_recording_load(world, recording, f.path));
    CHECK_RESULT(orr_replay(world, recording, &(orr_replay_desc){.no_verify = true}, NULL),
                 ORR_ERR_CONFLICT);
    CHECK_CONTAINS(k.errors.text, "Newer");
    kit_end(&k);
    world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Body, Ship, Shot, Boom, Score, Weather);
    CHECK_RESULT(orr_replay(world, recording, &(orr_replay_desc){.no_verify = true}, NULL),
                 ORR_ERR_CONFLICT);
    CHECK_CONTAINS(k.errors.text, "physics");
    kit_end(&k);
    orr_recording_destroy(recording);
    CHECK_EQ(remove(f.path), 0);
}

// ---- damage -------------------------------------------------------------------------------------

ORR_TEST(truncated_file_gives_its_complete_blocks)
{
    saved f = saved_run(NULL, 13, 300, "short");
    bytes b = bytes_read(f.path);
    orr_recording* recording = orr_recording_create();
    uint64_t last = UINT64_MAX;
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    for (size_t size = b.size - 1; size > 0; size -= size > 20000 && test_races() ? 19997
                                                     : size > 2000                ? 1997
                                                     : size > 100                 ? 13
                                                                                  : 1) {
        bytes_write(f.path, b.data, size);
        orr_result result = orr_recording_load(world, recording, f.path);
        orr_recording_stats stats;
        orr_recording_stats_get(recording, &stats);
        CHECK(stats.ticks <= last && stats.ticks < f.tick + 1);
        last = stats.ticks;
        CHECK(result == ORR_OK ? stats.cut : stats.ticks == 0);
        CHECK(result == ORR_OK || result == ORR_ERR_CORRUPT || result == ORR_ERR_FORMAT);
        if (size == b.size - 1) {
            CHECK_EQ(stats.ticks, f.tick); // Only the end block is missing.
        }
    }
    kit_end(&k);
    // The remaining beginning is replayed.
    stage s;
    bytes_write(f.path, b.data, b.size / 2);
    stage_make(&s, NULL, true);
    CHECK_OK(orr_recording_load(s.world, recording, f.path));
    CHECK_OK(orr_replay(s.world, recording, NULL, NULL));
    CHECK(orr_world_tick(s.world) > 10);
    stage_end(&s);
    free(b.data);
    orr_recording_destroy(recording);
    CHECK_EQ(remove(f.path), 0);
}

ORR_TEST(file_with_a_wrong_byte_is_refused_with_the_position)
{
    saved f = saved_run(NULL, 13, 30, "wrong");
    bytes b = bytes_read(f.path);
    orr_recording* recording = orr_recording_create();
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    for (size_t at = 0; at < b.size; at += at < 400 ? 1 : 1 + test_random() % 200) {
        uint8_t bit = (uint8_t)(1u << test_random() % 8);
        b.data[at] ^= bit;
        bytes_write(f.path, b.data, b.size);
        orr_result result = orr_recording_load(world, recording, f.path);
        orr_recording_stats stats;
        orr_recording_stats_get(recording, &stats);
        CHECK(result == ORR_ERR_CORRUPT || result == ORR_ERR_FORMAT);
        CHECK_EQ(stats.ticks, 0);
        CHECK_CONTAINS(k.errors.text, f.path);
        b.data[at] ^= bit;
    }
    bytes_write(f.path, b.data, b.size);
    CHECK_OK(orr_recording_load(world, recording, f.path));
    b.data = realloc(b.data, b.size + 1);
    CHECK(b.data != NULL);
    b.data[b.size] = 0;
    bytes_write(f.path, b.data, b.size + 1); // Trailing data.
    CHECK_RESULT(orr_recording_load(world, recording, f.path), ORR_ERR_CORRUPT);
    CHECK_EQ(remove(f.path), 0);
    CHECK_RESULT(orr_recording_load(world, recording, f.path), ORR_ERR_IO);
    kit_end(&k);
    free(b.data);
    orr_recording_destroy(recording);
}

// ---- forged files -------------------------------------------------------------------------------

// Sets the checksum of every block from its content.
static void bytes_forge(bytes b)
{
    uint32_t number = 0;
    for (size_t at = 16; at + 20 <= b.size; number++) {
        uint32_t size;
        memcpy(&size, b.data + at + 4, sizeof size);
        if (size > b.size - at - 20) {
            return;
        }
        uint32_t head = orri_file_head_hash(b.data + at, number);
        memcpy(b.data + at + 8, &head, sizeof head);
        uint64_t hash = orr_hash(b.data + at, (size_t)size + 12, number);
        memcpy(b.data + at + 12 + size, &hash, sizeof hash);
        at += (size_t)size + 20;
    }
}

// Calls without data, because the effect of wrong data is up to the call.
static saved forge_run(const orr_world_desc* desc)
{
    stage s;
    saved f = {.path = stage_path("forged")};
    orr_recording* recording = orr_recording_create();
    stage_make(&s, desc, true);
    dev = (device){.number = 5};
    CHECK_OK(orr_record(s.world, recording, &(orr_record_desc){.hash_every = 3}));
    for (uint32_t i = 0; i < 12; i++) {
        CHECK_OK(orr_post(s.world, call_nothing, NULL, 0));
        CHECK_OK(orr_step(s.world, 1));
    }
    CHECK_OK(orr_record_end(s.world));
    CHECK_OK(orr_recording_save(s.world, recording, f.path));
    stage_end(&s);
    orr_recording_destroy(recording);
    return f;
}

ORR_TEST(file_with_wrong_bytes_and_right_checksums_does_no_harm)
{
    dev = (device){0};
    saved f = forge_run(NULL);
    bytes b = bytes_read(f.path);
    orr_recording* recording = orr_recording_create();
    uint8_t* whole = malloc(b.size);
    CHECK(whole != NULL);
    memcpy(whole, b.data, b.size);
    uint32_t loaded = 0;
    for (uint32_t round = 0; round < test_rounds(300, 80, 3000); round++) {
        stage s;
        memcpy(b.data, whole, b.size);
        for (uint32_t n = 0; n < 1 + round % 4; n++) {
            size_t at = 16 + test_random() % (b.size - 16);
            b.data[at] = (uint8_t)(round % 3 == 0 ? 0xFF : test_random());
        }
        bytes_forge(b);
        bytes_write(f.path, b.data, b.size);
        dev = (device){.banned = true};
        stage_make(&s, NULL, true);
        if (orr_recording_load(s.world, recording, f.path) == ORR_OK) {
            char text[4096];
            orr_recording_print(recording, text, sizeof text);
            orr_recorded_tick tick;
            for (uint64_t t = 0; t < 40; t++) {
                (void)orr_recording_tick(recording, t, &tick);
            }
            (void)orr_replay(s.world, recording, &(orr_replay_desc){.no_verify = true}, NULL);
            CHECK_OK(orr_world_validate(s.world));
            loaded++;
        }
        s.k.errors = (kit_errors){0};
        stage_end(&s);
    }
    CHECK(loaded > 5);
    free(whole);
    free(b.data);
    orr_recording_destroy(recording);
    CHECK_EQ(remove(f.path), 0);
}

// ---- disks and memory ---------------------------------------------------------------------------

// A disk with room for a number of bytes, and other failures.
typedef struct disk {
    fake_platform fake;
    uint64_t room;
    bool no_sync, no_rename;
} disk;
static disk small;

static int disk_write(void* user, orr_file file, uint64_t offset, const void* data, size_t size)
{
    if (size > small.room) {
        return ENOSPC;
    }
    small.room -= size;
    return orr_platform_default()->file_write(user, file, offset, data, size);
}

static int disk_sync(void* user, orr_file file)
{
    return small.no_sync ? EIO : orr_platform_default()->file_sync(user, file);
}

static int disk_rename(void* user, const char* from, const char* to)
{
    return small.no_rename ? EACCES : orr_platform_default()->file_rename(user, from, to);
}

ORR_TEST(save_to_a_full_disk_is_refused_and_leaves_no_half_file)
{
    stage s;
    char beside[300];
    const char* path = stage_path("full");
    snprintf(beside, sizeof beside, "%s.part", path);
    memset(&small, 0, sizeof small);
    fake_platform_init(&small.fake);
    small.fake.table.file_write = disk_write;
    small.fake.table.file_sync = disk_sync;
    small.fake.table.file_rename = disk_rename;
    orr_recording* recording = orr_recording_create();
    bytes_write(path, (const uint8_t*)"old", 3);
    stage_make(&s, &(orr_world_desc){.platform = &small.fake.table}, true);
    dev = (device){0};
    CHECK_OK(orr_record(s.world, recording, NULL));
    stage_run(&s, 1, 50);
    CHECK_OK(orr_record_end(s.world));
    for (uint32_t i = 0; i < 8; i++) {
        small.room = i < 6 ? (const uint64_t[]){0, 15, 16, 100, 2000, 20000}[i] : UINT64_MAX / 2;
        small.no_sync = i == 6;
        small.no_rename = i == 7;
        CHECK_RESULT(orr_recording_save(s.world, recording, path), ORR_ERR_IO);
        CHECK_CONTAINS(s.k.errors.text, "an existing file is unchanged");
        CHECK(!file_there(beside));
        bytes b = bytes_read(path);
        CHECK(b.size == 3 && memcmp(b.data, "old", 3) == 0);
        free(b.data);
    }
    small.no_rename = false;
    CHECK_OK(orr_recording_save(s.world, recording, path));
    CHECK(!file_there(beside));
    CHECK_RESULT(orr_recording_save(s.world, recording, "/nowhere/at/all"), ORR_ERR_IO);
    stage_end(&s);
    orr_recording_destroy(recording);
    CHECK_EQ(remove(path), 0);
}

ORR_TEST(save_load_and_replay_without_memory_are_refused_and_can_be_repeated)
{
    orr_world_desc desc = {.rate_hz = 60};
    saved f = saved_run(&desc, 31, 20, "memory");
    const char* other = stage_path("memory2");
    stage s;
    orr_recording* recording = orr_recording_create();
    stage_make(&s, &desc, true);
    for (uint64_t n = 1;; n++) {
        failing_alloc_arm(&s.k.memory, n, false);
        orr_result result = orr_recording_load(s.world, recording, f.path);
        CHECK(result == ORR_OK || (result == ORR_ERR_MEMORY && s.k.memory.refused > 0));
        if (s.k.memory.refused == 0) {
            break;
        }
    }
    for (uint64_t n = 1;; n++) {
        failing_alloc_arm(&s.k.memory, n, false);
        orr_result result = orr_recording_save(s.world, recording, other);
        CHECK(result == ORR_OK || (result == ORR_ERR_MEMORY && s.k.memory.refused > 0));
        CHECK(result == ORR_OK || !file_there(other));
        if (s.k.memory.refused == 0) {
            break;
        }
    }
    failing_alloc_arm(&s.k.memory, 0, false);
    stage_end(&s);
    // Execution continues after each refusal, also within a tick. If an input was refused memory,
    // the world differs, which is detected.
    uint32_t gone_on = 0, found = 0, stride = test_slow() && !test_long() ? 3 : 1;
    for (uint64_t n = 1;; n += stride) {
        stage_make(&s, &desc, true);
        failing_alloc_arm(&s.k.memory, n, false);
        orr_result result = orr_replay(s.world, recording, NULL, NULL);
        uint64_t refused = s.k.memory.refused;
        failing_alloc_arm(&s.k.memory, 0, false);
        result = result == ORR_ERR_MEMORY ? orr_replay(s.world, recording, NULL, NULL) : result;
        CHECK(result == ORR_OK || refused > 0);
        CHECK(result != ORR_OK || orr_world_hash(s.world) == f.hash);
        gone_on += result == ORR_OK && refused > 0;
        found += result != ORR_OK;
        stage_end(&s);
        if (refused == 0) {
            break;
        }
    }
    CHECK(gone_on > 20 && found < gone_on);
    stage_make(&s, &desc, true);
    stage_end(&s);
    orr_recording_destroy(recording);
    CHECK_EQ(remove(f.path) | remove(other), 0);
}
