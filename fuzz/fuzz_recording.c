// SPDX-License-Identifier: MIT
// Feeds arbitrary bytes as a recording file. The first byte selects whether checksums are
// corrected, so that the code after the checksum test is reached.
//
// A recording that loads must print, save, load again and save to the same bytes, and can be cut
// and compared with itself. Lockstep recordings are replayed: the replay may be refused, and must
// leave a consistent world.
#include <orrery/orrery.h>
#include <stdlib.h>
#include <string.h>

ORR_STRUCT(FuzzSpot, (float, x), (uint32_t, n))
ORR_STRUCT(FuzzBang, (uint32_t, n))

enum {
    RECORDING_FILES = 3,
    RECORDING_MOST = 1 << 20,
};

// Files in memory: "0" is the input, the others are saved files.
typedef struct recording_file {
    uint8_t* data;
    size_t size;
} recording_file;
static recording_file files[RECORDING_FILES + 1];

static void recording_check(bool ok)
{
    if (!ok) {
        abort();
    }
}

static int recording_open(void* user, const char* path, orr_file_mode mode, orr_file* out)
{
    (void)user;
    bool part = strlen(path) > 1;
    uint32_t number = part ? RECORDING_FILES : (uint32_t)(path[0] - '0');
    recording_check(number <= RECORDING_FILES);
    if (mode == ORR_FILE_TRUNCATE) {
        files[number].size = 0;
    }
    out->handle1 = number + 1;
    return 0;
}

static void recording_close(void* user, orr_file file)
{
    (void)user, (void)file;
}

static int recording_read(void* user, orr_file file, uint64_t offset, void* data, size_t size,
                          size_t* out_size)
{
    (void)user;
    const recording_file* f = &files[file.handle1 - 1];
    size_t left = offset < f->size ? f->size - (size_t)offset : 0;
    *out_size = size < left ? size : left;
    if (*out_size > 0) {
        memcpy(data, f->data + offset, *out_size);
    }
    return 0;
}

static int recording_write(void* user, orr_file file, uint64_t offset, const void* data,
                           size_t size)
{
    (void)user;
    recording_file* f = &files[file.handle1 - 1];
    recording_check(offset == f->size);
    f->data = realloc(f->data, f->size + size + 1);
    recording_check(f->data != NULL);
    memcpy(f->data + f->size, data, size);
    f->size += size;
    return 0;
}

static int recording_size(void* user, orr_file file, uint64_t* out_size)
{
    (void)user;
    *out_size = files[file.handle1 - 1].size;
    return 0;
}

static int recording_sync(void* user, orr_file file)
{
    (void)user, (void)file;
    return 0;
}

static int recording_rename(void* user, const char* from, const char* to)
{
    (void)user, (void)from;
    recording_file* f = &files[to[0] - '0'];
    recording_file before = *f;
    *f = files[RECORDING_FILES];
    files[RECORDING_FILES] = before;
    return 0;
}

static int recording_remove(void* user, const char* path)
{
    (void)user, (void)path;
    return 0;
}

// ---- a world ------------------------------------------------------------------------------------

static void recording_sink(void* user, const orr_log_line* line)
{
    (void)user, (void)line;
}

static void recording_put(orr_world* world, void* data)
{
    (void)data;
    orr_entity entity = orr_create(world);
    orr_set(world, entity, FuzzSpot, {1, 2});
}

static void recording_device(orr_run* run)
{
    orr_write(run, FuzzSpot)[0].n++;
    orr_send_event(run, FuzzBang, {7});
    orr_entity entity = orr_send_create(run);
    orr_send_add(run, entity, FuzzSpot, {3, 4});
}

static void recording_hear(orr_run* run)
{
    uint32_t count;
    const FuzzBang* bangs = orr_events(run, FuzzBang, &count);
    for (uint32_t i = 0; i < count; i++) {
        orr_state(run, FuzzBang)->n += bangs[i].n;
    }
}

static orr_world* recording_world(void)
{
    static orr_platform table;
    table = *orr_platform_default();
    table.file_open = recording_open;
    table.file_close = recording_close;
    table.file_read = recording_read;
    table.file_write = recording_write;
    table.file_size = recording_size;
    table.file_sync = recording_sync;
    table.file_rename = recording_rename;
    table.file_remove = recording_remove;
    orr_world* world =
        orr_world_create(&(orr_world_desc){.platform = &table,
                                           .rate_hz = 60,
                                           .memory_bytes_max = 256 << 20,
                                           .log = {.sink = recording_sink, .lines_per_second = 1}});
    recording_check(world != NULL);
    ORR_REGISTER(world, FuzzSpot, FuzzBang);
    orr_system_add(world, &(orr_system_desc){.name = "device",
                                             .query = "write FuzzSpot",
                                             .run = recording_device,
                                             .creates = "FuzzSpot",
                                             .adds = "FuzzSpot",
                                             .sends = "FuzzBang",
                                             .creates_max = 4,
                                             .impure = true});
    orr_system_add(world, &(orr_system_desc){.name = "hear",
                                             .kind = ORR_INDIRECT,
                                             .run = recording_hear,
                                             .receives = "FuzzBang",
                                             .state = ORR_TYPE(FuzzBang)});
    recording_check(orr_call_register(world, "put", recording_put) == ORR_OK);
    recording_put(world, NULL);
    return world;
}

// ---- the input ----------------------------------------------------------------------------------

// Corrects the checksum of each complete block.
static void recording_mend(recording_file* f)
{
    uint64_t number = 0;
    for (size_t at = 16; at + 20 <= f->size; number++) {
        uint32_t size;
        memcpy(&size, f->data + at + 4, sizeof size);
        uint32_t head = (uint32_t)orr_hash(f->data + at, 8, number);
        memcpy(f->data + at + 8, &head, sizeof head);
        if (size > f->size - at - 20) {
            return;
        }
        uint64_t hash = orr_hash(f->data + at, 12 + (size_t)size, number);
        memcpy(f->data + at + 12 + size, &hash, sizeof hash);
        at += 20 + (size_t)size;
    }
}

static void recording_look(orr_world* world, orr_recording* recording)
{
    orr_recording_stats stats;
    orr_recorded_tick tick;
    orr_recorded_call call;
    orr_recording_difference difference;
    orr_recording_stats_get(recording, &stats);
    for (uint64_t i = 0; !stats.realtime && i < stats.ticks && i < 100; i++) {
        recording_check(orr_recording_tick(recording, stats.tick_first + 1 + i, &tick));
    }
    for (uint32_t i = 0; i < stats.calls && i < 100; i++) {
        recording_check(orr_recording_call(recording, i, &call) && call.name[0] != '\0');
    }
    if (orr_recording_compare(recording, recording, &difference) == ORR_OK) {
        recording_check(!difference.differ);
    }
    if (orr_recording_save(world, recording, "1") == ORR_OK) {
        recording_check(orr_recording_load(world, recording, "1") == ORR_OK);
        recording_check(orr_recording_save(world, recording, "2") == ORR_OK);
        recording_check(files[1].size == files[2].size &&
                        memcmp(files[1].data, files[2].data, files[1].size) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    if (size < 1 || size > RECORDING_MOST) {
        return 0;
    }
    orr_world* world = recording_world();
    orr_recording* recording = orr_recording_create();
    recording_check(recording != NULL);
    files[0].data = realloc(files[0].data, size);
    recording_check(files[0].data != NULL);
    memcpy(files[0].data, data + 1, size - 1);
    files[0].size = size - 1;
    if (data[0] & 1) {
        recording_mend(&files[0]);
    }
    if (orr_recording_load(world, recording, "0") == ORR_OK) {
        recording_look(world, recording);
        orr_result result = orr_replay(
            world, recording, &(orr_replay_desc){.no_verify = true, .until_tick = 64}, NULL);
        if (result == ORR_OK) {
            recording_check(orr_world_validate(world) == ORR_OK);
        }
    }
    orr_world_destroy(world);
    orr_recording_destroy(recording);
    return 0;
}
