// SPDX-License-Identifier: MIT
// Feeds arbitrary bytes as a recording file. The first byte selects whether checksums are
// corrected, so that the code after the checksum test is reached.
//
// A recording that loads must print, save, load again and save to the same bytes, and can be cut
// and compared with itself. It is replayed, in lockstep or in real time: the replay may be refused,
// must end, and must leave a consistent world that continues. Calls and functions of transactions
// check that they get data of the size that was declared, and read all of it.
#include <orrery/orrery.h>
#include <stdlib.h>
#include <string.h>

ORR_STRUCT(FuzzSpot, (float, x), (uint32_t, n))
ORR_STRUCT(FuzzBang, (uint32_t, n))
// Bytes of a file must never become the string.
ORR_STRUCT(FuzzText, (orr_string, text), (uint32_t, n))
ORR_STRUCT_EX(FuzzNail, (.storage = ORR_PINNED), (uint32_t, n))

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
    out->handle = number + 1;
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
    const recording_file* f = &files[file.handle - 1];
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
    recording_file* f = &files[file.handle - 1];
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
    *out_size = files[file.handle - 1].size;
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

static void recording_put(orr_world* world, void* data, size_t size)
{
    (void)data;
    recording_check(size == 0);
    orr_entity entity = orr_create(world);
    orr_set(world, entity, FuzzSpot, {1, 2});
}

// Data of a declared size.
static void recording_edit(orr_world* world, void* data, size_t size)
{
    uint64_t words[2];
    recording_check(size == sizeof words);
    memcpy(words, data, sizeof words);
    orr_entity entity = {words[0]};
    FuzzSpot* spot = orr_alive(world, entity) ? orr_edit(world, entity, FuzzSpot) : NULL;
    if (spot != NULL) {
        spot->n += (uint32_t)words[1];
    }
}

// Data of any size.
static void recording_sum(orr_world* world, void* data, size_t size)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < size; i++) {
        sum += ((const uint8_t*)data)[i];
    }
    orr_set(world, orr_create(world), FuzzSpot, {1, sum});
}

// Calls for sync points; elsewhere they are refused.
static void recording_remember(orr_world* world, void* data, size_t size)
{
    (void)data;
    recording_check(size == 0);
    (void)orr_remember(world);
}

static void recording_back(orr_world* world, void* data, size_t size)
{
    (void)data;
    recording_check(size == 0);
    (void)orr_time_travel(world, 0);
}

static void recording_transact(const orr_world* world, orr_entity target, void* value,
                               const void* argument, uint32_t size)
{
    (void)world, (void)target;
    uint32_t more;
    recording_check(size == sizeof more);
    memcpy(&more, argument, sizeof more);
    ((FuzzSpot*)value)->n += more;
}

static void recording_transact_any(const orr_world* world, orr_entity target, void* value,
                                   const void* argument, uint32_t size)
{
    (void)world, (void)target;
    for (uint32_t i = 0; i < size; i++) {
        ((FuzzSpot*)value)->n += ((const uint8_t*)argument)[i];
    }
}

// Sends commands of all kinds, a few in each tick.
static void recording_device(orr_run* run)
{
    orr_type spot = orr_type_of(run->world, ORR_TYPE(FuzzSpot));
    orr_write(run, FuzzSpot)[0].n++;
    orr_send_event(run, FuzzBang, {7});
    orr_entity entity = orr_send_create(run), first = orr_iter_entity(run, 0);
    orr_send_add(run, entity, FuzzSpot, {3, 4});
    switch (run->tick % 4) {
    case 0:
        orr_send_name(run, entity, (orr_entity){0}, "named");
        orr_send_add(run, first, FuzzNail, {5});
        break;
    case 1:
        orr_transact(run, ORR_OP_ADD, first, FuzzSpot, n, 3);
        orr_transact_call(run, first, spot, 0, recording_transact, &(uint32_t){6}, 4);
        orr_transact_call(run, first, spot, 0, recording_transact_any, "bytes", 5);
        break;
    case 2:
        orr_send_tag(run, first, 9, true);
        orr_send_change(run, first, FuzzSpot, {5, 6});
        orr_send_enable(run, entity, FuzzSpot, false);
        break;
    default:
        orr_send_remove(run, first, FuzzNail);
        orr_send_destroy(run, first);
        break;
    }
}

static void recording_age(orr_run* run) // In the second pipeline.
{
    FuzzNail* nails = orr_state(run, FuzzNail);
    nails->n++;
    uint32_t count;
    const FuzzBang* bangs = orr_events(run, FuzzBang, &count);
    for (uint32_t i = 0; i < count; i++) {
        nails->n += bangs[i].n;
    }
}

static void recording_receive(orr_run* run)
{
    uint32_t count;
    const FuzzBang* bangs = orr_events(run, FuzzBang, &count);
    for (uint32_t i = 0; i < count; i++) {
        orr_state(run, FuzzBang)->n += bangs[i].n;
    }
}

static void recording_systems(orr_world* world)
{
    recording_check(
        orr_pipeline_add(world, &(orr_pipeline_desc){.name = "second", .rate_hz = 500}).id != 0);
    orr_system_desc device = {.name = "device",
                              .query = "write FuzzSpot",
                              .run = recording_device,
                              .creates = "FuzzSpot",
                              .adds = "FuzzSpot, FuzzNail",
                              .removes = "FuzzNail",
                              .changes = "FuzzSpot",
                              .destroys = "FuzzSpot",
                              .switches = "FuzzSpot",
                              .transacts = "FuzzSpot",
                              .tags = "*",
                              .sends = "FuzzBang",
                              .renames = true,
                              .creates_max = 4,
                              .impure = true};
    recording_check(orr_system_add(world, &device).id != 0);
    orr_system_desc hear = {.name = "hear",
                            .kind = ORR_INDIRECT,
                            .run = recording_receive,
                            .receives = "FuzzBang",
                            .state = ORR_TYPE(FuzzBang)};
    recording_check(orr_system_add(world, &hear).id != 0);
    orr_system_desc age = {.name = "age",
                           .pipeline = "second",
                           .kind = ORR_INDIRECT,
                           .run = recording_age,
                           .receives = "FuzzBang",
                           .state = ORR_TYPE(FuzzNail)};
    recording_check(orr_system_add(world, &age).id != 0);
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
                                           .rate_hz = 1000,
                                           .memory_bytes_max = 256 << 20,
                                           .log = {.sink = recording_sink, .lines_per_second = 1}});
    recording_check(world != NULL);
    ORR_REGISTER(world, FuzzSpot, FuzzBang, FuzzText, FuzzNail);
    recording_systems(world);
    recording_check(orr_call_register(world, "put", recording_put, 0) == ORR_OK);
    recording_check(orr_call_register(world, "edit", recording_edit, 16) == ORR_OK);
    recording_check(orr_call_register(world, "sum", recording_sum, ORR_SIZE_ANY) == ORR_OK);
    recording_check(orr_call_register(world, "remember", recording_remember, 0) == ORR_OK);
    recording_check(orr_call_register(world, "back", recording_back, 0) == ORR_OK);
    recording_check(orr_transaction_register(world, "four", recording_transact, 4) == ORR_OK);
    recording_check(orr_transaction_register(world, "any", recording_transact_any, ORR_SIZE_ANY) ==
                    ORR_OK);
    recording_put(world, NULL, 0);
    orr_entity entity = orr_create(world);
    orr_set(world, entity, FuzzText, {orr_string_make(world, "a text that is not in any file"), 1});
    return world;
}

// ---- the input ----------------------------------------------------------------------------------

// Corrects the checksum of each complete block.
static void recording_fix_checksums(recording_file* f)
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

static void recording_inspect(orr_world* world, orr_recording* recording)
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

// Replays at most 64 ticks, for at most a second; then runs the world for a moment by the clock.
static void recording_replay(orr_world* world, const orr_recording* recording)
{
    orr_recording_stats stats;
    orr_recording_stats_get(recording, &stats);
    orr_realtime_desc replay = {.replay = recording, .ticks = 64, .for_ns = 1000000000};
    (void)(stats.realtime
               ? orr_realtime(world, &replay)
               : orr_replay(world, recording,
                            &(orr_replay_desc){.no_verify = true, .until_tick = 64}, NULL));
    recording_check(orr_tick_open(world) || orr_world_validate(world) == ORR_OK);
    (void)orr_realtime(world, &(orr_realtime_desc){.ticks = 1, .for_ns = 2000000});
    recording_check(orr_tick_open(world) || orr_world_validate(world) == ORR_OK);
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
        recording_fix_checksums(&files[0]);
    }
    if (orr_recording_load(world, recording, "0") == ORR_OK) {
        recording_inspect(world, recording);
        recording_replay(world, recording);
    }
    orr_world_destroy(world);
    orr_recording_destroy(recording);
    return 0;
}
