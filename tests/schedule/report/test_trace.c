// SPDX-License-Identifier: MIT
// The Chrome trace: complete JSON that viewers accept, also when the disk is full.
#define _POSIX_C_SOURCE 200809L // setenv
#include "schedule/report/json_kit.h"
#include "schedule/schedule.h"
#include "support/fake_platform.h"
#include "support/store_kit.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>

// ---- a disk with one file -----------------------------------------------------------------------

enum {
    DISK_SIZE = 4 << 20
};

typedef struct disk {
    fake_platform fake; // First: table.user is the disk.
    uint8_t* bytes;
    uint64_t size, room; // Size of the file, and room on the disk.
    uint32_t opens, closes, writes, truncates;
    int open_error;
    char path[4096];
} disk;

static int disk_open(void* user, const char* path, orr_file_mode mode, orr_file* out)
{
    disk* d = user;
    if (d->open_error != 0) {
        return d->open_error;
    }
    CHECK_EQ(mode, ORR_FILE_TRUNCATE);
    snprintf(d->path, sizeof d->path, "%s", path);
    d->opens++;
    d->size = 0;
    out->handle = 9;
    return 0;
}

static void disk_close(void* user, orr_file file)
{
    CHECK_EQ(file.handle, 9);
    ((disk*)user)->closes++;
}

// A write that does not fit writes half of its bytes.
static int disk_write(void* user, orr_file file, uint64_t offset, const void* data, size_t size)
{
    disk* d = user;
    CHECK_EQ(file.handle, 9);
    CHECK(offset <= d->size);
    d->writes++;
    size_t part = offset + size <= d->room ? size : size / 2;
    memcpy(d->bytes + offset, data, part);
    d->size = offset + part;
    return part == size ? 0 : ENOSPC;
}

static int disk_truncate(void* user, orr_file file, uint64_t size)
{
    disk* d = user;
    CHECK_EQ(file.handle, 9);
    d->truncates++;
    d->size = size;
    return 0;
}

typedef struct drawing {
    kit k;
    orr_world* world;
    disk d;
} drawing;

static drawing* begin(void)
{
    drawing* w = calloc(1, sizeof *w);
    fake_platform_init(&w->d.fake);
    w->d.fake.table.file_open = disk_open;
    w->d.fake.table.file_close = disk_close;
    w->d.fake.table.file_write = disk_write;
    w->d.fake.table.file_truncate = disk_truncate;
    w->d.bytes = calloc(1, DISK_SIZE + 1);
    w->d.room = DISK_SIZE;
    w->world = kit_begin(&w->k, &(orr_world_desc){.platform = &w->d.fake.table});
    return w;
}

static void end(drawing* w)
{
    CHECK_EQ(w->d.opens, w->d.closes);
    kit_end(&w->k);
    free(w->d.bytes);
    free(w);
}

static const char* file(drawing* w)
{
    w->d.bytes[w->d.size] = '\0';
    return (const char*)w->d.bytes;
}

// ---- whole files --------------------------------------------------------------------------------

// The number of events of a complete file.
static uint32_t json_file(drawing* w)
{
    const char* text = file(w);
    CHECK_EQ(text[0], '[');
    CHECK_EQ(*json_space(json_value(text)), '\0');
    uint32_t count = 0;
    static const char event[] = "\"ph\": \"X\"";
    for (const char* at = text; *at != '\0';
         at++) { // Sanitizers read the whole string in strstr().
        count += *at == '"' && strncmp(at, event, sizeof event - 1) == 0;
    }
    return count;
}

// A file left by a process that died: with an end appended it is complete.
static uint32_t json_beginning(drawing* w)
{
    file(w);
    memcpy(w->d.bytes + w->d.size, "]", 2);
    w->d.size++;
    uint32_t count = json_file(w);
    w->d.size--;
    return count;
}

// ---- tests --------------------------------------------------------------------------------------

ORR_TEST(trace_is_an_array_of_events)
{
    drawing* w = begin();
    w->d.fake.now_ns = 5000;
    orri_trace* trace = orri_trace_open(w->world, "run.json");
    CHECK(trace != NULL);
    CHECK_STR(w->d.path, "run.json");
    orri_trace_span(trace, "move", "system", 0, 6500, 9007, "\"rows\": 7");
    orri_trace_span(trace, "draw", "system", 2, 9007, 9007, NULL);
    orri_trace_span(trace, "tick", "tick", 0, 4000, 10000, NULL); // Begun before the trace: cut.
    orri_trace_span(trace, "odd", "tick", 0, 7000, 6000, NULL);
    CHECK_EQ(w->d.writes, 0); // All in the buffer.
    orri_trace_close(w->world, trace);
    CHECK_STR(file(w),
              "[\n"
              "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 0, \"args\": "
              "{\"name\": \"Orrery\"}},\n"
              "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 0, \"args\": "
              "{\"name\": \"driving thread\"}},\n"
              "{\"name\": \"move\", \"cat\": \"system\", \"ph\": \"X\", \"pid\": 1, \"tid\": 0, "
              "\"ts\": 1.500, \"dur\": 2.507, \"args\": {\"rows\": 7}},\n"
              "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 2, \"args\": "
              "{\"name\": \"worker 2\"}},\n"
              "{\"name\": \"draw\", \"cat\": \"system\", \"ph\": \"X\", \"pid\": 1, \"tid\": 2, "
              "\"ts\": 4.007, \"dur\": 0.000},\n"
              "{\"name\": \"tick\", \"cat\": \"tick\", \"ph\": \"X\", \"pid\": 1, \"tid\": 0, "
              "\"ts\": 0.000, \"dur\": 5.000},\n"
              "{\"name\": \"odd\", \"cat\": \"tick\", \"ph\": \"X\", \"pid\": 1, \"tid\": 0, "
              "\"ts\": 2.000, \"dur\": 0.000}\n]\n");
    CHECK_EQ(json_file(w), 4);
    end(w);
}

ORR_TEST(trace_escapes_names)
{
    drawing* w = begin();
    orri_trace* trace = orri_trace_open(w->world, "run.json");
    orri_trace_span(trace, "a\"b\\c\nd\x01\xC3\xA4\x7F", "x\"", 5000, 0, 1, NULL);
    orri_trace_close(w->world, trace);
    CHECK_CONTAINS(file(w), "\"a\\\"b\\\\c\\u000ad\\u0001???\", \"cat\": \"x\\\"\"");
    CHECK_EQ(json_file(w), 1);
    end(w);
}

ORR_TEST(trace_is_written_in_pieces_of_whole_events)
{
    drawing* w = begin();
    orri_trace* trace = orri_trace_open(w->world, "run.json");
    char args[200];
    uint32_t seen = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        snprintf(
            args, sizeof args, "\"n\": %u, \"fill\": \"%.*s\"", i, (int)(i % 97),
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
            "xxxxxxxxxxxxxx");
        uint32_t writes = w->d.writes;
        orri_trace_span(trace, "move", "system", i % 3, i, i + 1, args);
        if (w->d.writes != writes) {
            uint32_t now = json_beginning(w);
            CHECK(now > seen);
            seen = now;
        }
    }
    CHECK(w->d.writes > 10 && w->d.writes < 40); // Buffers are filled to the end.
    orri_trace_close(w->world, trace);
    CHECK_EQ(json_file(w), 10000);
    end(w);
}

ORR_TEST(trace_end_fits_whatever_the_buffer_holds)
{
    // Lengths near the end of the buffer, one by one: the last bytes fit, or take another write.
    char* args = calloc(1, 70000);
    for (uint32_t length = 65100; length < 65560; length += test_slow() ? 7 : 1) {
        drawing* w = begin();
        orri_trace* trace = orri_trace_open(w->world, "run.json");
        memset(args, 'x', length);
        memcpy(args, "\"f\": \"", 6);
        args[length - 1] = '"';
        args[length] = '\0';
        orri_trace_span(trace, "move", "system", 0, 0, 1, args);
        orri_trace_close(w->world, trace);
        uint32_t count = json_file(w);
        CHECK(count == 1 || (count == 0 && length > 65400)); // A larger event is left out.
        end(w);
    }
    free(args);
}

ORR_TEST(trace_on_a_full_disk_is_reported_once_and_leaves_a_valid_beginning)
{
    for (uint32_t room = 0; room < 300000; room += 65000) {
        drawing* w = begin();
        w->d.room = room;
        orri_trace* trace = orri_trace_open(w->world, "full.json");
        CHECK(trace != NULL);
        for (uint32_t i = 0; i < 10000; i++) {
            orri_trace_span(trace, "move", "system", i % 3, i, i + 1, NULL);
        }
        CHECK_EQ(w->k.errors.count, 1);
        CHECK_RESULT(w->k.errors.result, ORR_ERR_IO);
        CHECK_EQ(w->k.errors.id, ORR_LOG_ID_TRACE_REFUSED);
        CHECK_CONTAINS(w->k.errors.text, "full.json");
        CHECK_CONTAINS(w->k.errors.text, strerror(ENOSPC));
        CHECK_EQ(w->d.closes, 1);
        CHECK_EQ(w->d.truncates, 1);
        orri_trace_close(w->world, trace);
        CHECK_EQ(w->k.errors.count, 1);
        if (room >= 65536) {
            CHECK(json_beginning(w) > 100);
        } else {
            CHECK_EQ(w->d.size, 0);
        }
        end(w);
    }
}

ORR_TEST(trace_on_a_disk_full_at_its_end_is_reported)
{
    drawing* w = begin();
    w->d.room = 10;
    orri_trace* trace = orri_trace_open(w->world, "full.json");
    orri_trace_span(trace, "move", "system", 0, 0, 1, NULL);
    CHECK_EQ(w->k.errors.count, 0);
    orri_trace_close(w->world, trace);
    CHECK_EQ(w->k.errors.count, 1);
    end(w);
}

ORR_TEST(trace_that_cannot_be_opened_is_refused)
{
    drawing* w = begin();
    w->d.open_error = EACCES;
    CHECK(orri_trace_open(w->world, "no/such") == NULL);
    CHECK_CONTAINS(w->k.errors.text, "the trace no/such cannot be written: ");
    CHECK_CONTAINS(w->k.errors.text, strerror(EACCES));
    CHECK_RESULT(orr_trace_set(w->world, "no/such"), ORR_ERR_IO);
    CHECK_OK(orr_trace_set(w->world, NULL));
    orri_trace_close(w->world, NULL);
    end(w);
}

ORR_TEST(trace_set_again_ends_the_previous_trace)
{
    drawing* w = begin();
    CHECK_OK(orr_trace_set(w->world, "a.json"));
    orri_trace_span(w->world->schedule->trace, "move", "system", 0, 0, 1, NULL);
    CHECK_OK(orr_trace_set(w->world, "a.json"));
    CHECK_EQ(w->d.opens, 2);
    CHECK_EQ(w->d.closes, 1);
    CHECK_OK(orr_trace_set(w->world, NULL));
    CHECK(w->world->schedule->trace == NULL);
    CHECK_EQ(json_file(w), 0);
    end(w);
}

ORR_TEST(trace_on_a_real_disk_is_whole)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    char path[64];
    snprintf(path, sizeof path, "/tmp/orr_test_trace_%llu.json",
             (unsigned long long)orr_platform_default()->clock_ns(NULL));
    CHECK_OK(orr_trace_set(world, path));
    uint64_t now = orr_platform_default()->clock_ns(NULL);
    orri_trace_span(world->schedule->trace, "move", "system", 0, now, now + 10, NULL);
    CHECK_OK(orr_trace_set(world, NULL));
    FILE* in = fopen(path, "rb");
    CHECK(in != NULL);
    char text[1000];
    size_t size = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    remove(path);
    text[size] = '\0';
    CHECK_EQ(*json_space(json_value(text)), '\0');
    CHECK_CONTAINS(text, "\"move\"");
    kit_end(&k);
}

// ---- traces of whole ticks ----------------------------------------------------------------------

static void spawn(orr_run* run)
{
    if (run->tick == 2) {
        CHECK(orr_send_create(run).id != 0);
    }
}

static void do_nothing(orr_run* run)
{
    (void)run;
}

// How often a text occurs in the file.
static uint32_t times(drawing* w, const char* part)
{
    uint32_t count = 0;
    for (const char* at = file(w); (at = strstr(at, part)) != NULL; at++) {
        count++;
    }
    return count;
}

ORR_TEST(trace_has_a_span_for_each_system_commit_and_tick)
{
    drawing* w = begin();
    orr_world* world = w->world;
    ORR_REGISTER(world, Position);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 7, NULL, 0, NULL));
    CHECK(orr_system_add(world,
                         &(orr_system_desc){.name = "look", .query = "Position", .run = do_nothing})
              .id != 0);
    CHECK(orr_system_add(world,
                         &(orr_system_desc){
                             .name = "spawn", .once = true, .creates = "Position", .run = spawn})
              .id != 0);
    CHECK(orr_system_add(world, &(orr_system_desc){.name = "hear",
                                                   .kind = ORR_INDIRECT,
                                                   .query = "Position",
                                                   .run = do_nothing})
              .id != 0);
    CHECK_OK(orr_step(world, 1)); // Before the trace is set.
    CHECK_OK(orr_trace_set(world, "run.json"));
    CHECK_OK(orr_step(world, 3));
    CHECK_OK(orr_trace_set(world, NULL));
    (void)json_file(w);
    // Rows of one tick.
    CHECK_EQ(times(w, "\"look\""), 3);
    CHECK_EQ(times(w, "\"rows\": 7"), 3);
    CHECK_EQ(times(w, "\"rows\""), 3);
    CHECK_EQ(times(w, "\"spawn\""), 3);
    CHECK_EQ(times(w, "\"name\": \"commit\""), 1); // In the tick in which something was sent.
    CHECK_EQ(times(w, "\"name\": \"tick\""), 3);
    CHECK_EQ(times(w, "\"tick\": 1"), 0);
    CHECK_EQ(times(w, "\"name\": \"deliver\""), 6); // Two per tick: one before "hear".
    CHECK_EQ(times(w, "\"tick\": 4"), 9); // Three systems, a delivery after each, and the tick.
    end(w);
}

ORR_TEST(trace_out_of_memory_has_no_effect)
{
    for (uint64_t n = 1;; n++) {
        drawing* w = begin();
        failing_alloc_arm(&w->k.memory, n, false);
        orr_result result = orr_trace_set(w->world, "a.json");
        uint64_t refused = w->k.memory.refused;
        CHECK_RESULT(result, refused > 0 ? ORR_ERR_MEMORY : ORR_OK);
        CHECK_EQ(w->d.opens, refused > 0 ? 0 : 1);
        CHECK_OK(orr_trace_set(w->world, NULL));
        end(w);
        if (refused == 0) {
            CHECK(n > 2);
            break;
        }
    }
}

ORR_TEST(trace_of_the_environment_has_a_file_for_each_world)
{
    drawing* w = begin();
    char path[64];
    unsetenv("ORR_TRACE");
    CHECK(orri_trace_env(w->world, path, sizeof path) == NULL);
    setenv("ORR_TRACE", "", 1);
    CHECK(orri_trace_env(w->world, path, sizeof path) == NULL);
    setenv("ORR_TRACE", "run.json", 1);
    CHECK_STR(orri_trace_env(w->world, path, sizeof path), "run.json");
    CHECK_STR(orri_trace_env(w->world, path, sizeof path), "run.json.2");
    CHECK_STR(orri_trace_env(w->world, path, sizeof path), "run.json.3");
    CHECK_EQ(w->k.errors.count, 0);
    CHECK(orri_trace_env(w->world, path, 10) == NULL);
    CHECK_CONTAINS(w->k.errors.text, "ORR_TRACE");
    unsetenv("ORR_TRACE");
    end(w);
}
