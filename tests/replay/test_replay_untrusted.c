// SPDX-License-Identifier: MIT
// Recordings from files are not trusted: sizes of the data of calls and transactions, and numbers
// that would stop the world, are refused with a text that names them.
#include "replay/file.h"
#include "replay/replay_kit.h"
#include <math.h>
#include <pthread.h>

// A recording, and the path of its file.
typedef struct saved {
    orr_recording* recording;
    const char* path;
} saved;

static saved saved_begin(const char* name)
{
    return (saved){orr_recording_create(), stage_path(name)};
}

static void saved_end(saved* to)
{
    orr_recording_destroy(to->recording);
    CHECK_EQ(remove(to->path), 0);
}

// Runs two ticks, ends the recording and saves it.
static void saved_record(saved* to, orr_world* world)
{
    CHECK_OK(orr_step(world, 2));
    CHECK_OK(orr_record_end(world));
    CHECK_OK(orr_recording_save(world, to->recording, to->path));
}

static orr_result saved_replay(const saved* from, orr_world* world)
{
    return orr_replay(world, from->recording, NULL, NULL);
}

// The call had this result, and an error text that contains `says`.
#define CHECK_REFUSED(k, call, result, says) \
    do {                                     \
        CHECK_RESULT(call, result);          \
        KIT_ERROR(k, result, says);          \
    } while (0)

// ---- sizes of the data of calls -----------------------------------------------------------------

static size_t passed; // The size that the last call received.

static void call_sized(orr_world* world, void* data, size_t size)
{
    (void)world, (void)data;
    passed = size;
}

// A world in which `call_sized` is registered with a size; ORR_SIZE_ANY: any.
static orr_world* sized_make(stage* s, size_t size)
{
    stage_make(s, &(orr_world_desc){.rate_hz = 60}, false);
    CHECK_OK(orr_call_register(s->world, "sized", call_sized, size));
    return s->world;
}

// Records a call with data of `size` bytes.
static void sized_record(saved* to, size_t size)
{
    stage s;
    dev = (device){0};
    sized_make(&s, ORR_SIZE_ANY);
    CHECK_OK(orr_record(s.world, to->recording, NULL));
    CHECK_OK(orr_post(s.world, call_sized, "twelve bytes", size));
    saved_record(to, s.world);
    CHECK_EQ(passed, size);
    stage_end(&s);
    dev.banned = true;
}

ORR_TEST(recorded_call_of_another_size_is_refused_when_it_is_loaded)
{
    saved f = saved_begin("sized");
    for (size_t size = 0; size <= 8; size += 4) {
        stage s;
        sized_record(&f, size);
        sized_make(&s, 4);
        orr_recording_stats stats;
        if (size == 4) {
            CHECK_OK(orr_recording_load(s.world, f.recording, f.path));
            CHECK_OK(saved_replay(&f, s.world));
            CHECK_EQ(passed, 4);
        } else {
            char says[64];
            snprintf(says, sizeof says, "'sized' has %u bytes of data", (unsigned)size);
            CHECK_RESULT(orr_recording_load(s.world, f.recording, f.path), ORR_ERR_CONFLICT);
            CHECK_CONTAINS(s.k.errors.text, says);
            CHECK_CONTAINS(s.k.errors.text, "registered with 4 bytes");
            orr_recording_stats_get(f.recording, &stats);
            CHECK_EQ(stats.ticks + stats.calls, 0);
            s.k.errors = (kit_errors){0};
        }
        stage_end(&s);
    }
    saved_end(&f);
}

ORR_TEST(recorded_call_of_another_size_is_refused_before_a_replay)
{
    saved f = saved_begin("sized_replay");
    stage s;
    sized_record(&f, 0);
    sized_make(&s, 4); // The recording was not loaded from a file.
    CHECK_REFUSED(&s.k, saved_replay(&f, s.world), ORR_ERR_CONFLICT, "'sized' has 0 bytes of data");
    CHECK_EQ(orr_world_tick(s.world), 0);
    stage_end(&s);
    stage_make(&s, &(orr_world_desc){.rate_hz = 60}, false); // Registered after it was loaded.
    CHECK_OK(orr_recording_load(s.world, f.recording, f.path));
    CHECK_OK(orr_call_register(s.world, "sized", call_sized, 4));
    CHECK_RESULT(saved_replay(&f, s.world), ORR_ERR_ABSENT);
    s.k.errors = (kit_errors){0};
    stage_end(&s);
    saved_end(&f);
}

ORR_TEST(recorded_call_of_any_size_receives_its_size)
{
    saved f = saved_begin("sized_any");
    for (size_t size = 0; size <= 12; size += 6) {
        stage s;
        sized_record(&f, size);
        sized_make(&s, ORR_SIZE_ANY);
        CHECK_OK(orr_recording_load(s.world, f.recording, f.path));
        passed = 99;
        CHECK_OK(saved_replay(&f, s.world));
        CHECK_EQ(passed, size);
        stage_end(&s);
    }
    saved_end(&f);
}

ORR_TEST(post_of_data_of_another_size_than_registered_is_refused)
{
    stage s;
    dev = (device){0};
    sized_make(&s, 4);
    CHECK_REFUSED(&s.k, orr_post(s.world, call_sized, "ab", 2), ORR_ERR_ARGUMENT,
                  "orr_post: the call 'sized' is registered with 4 bytes of "
                  "data, but 2 bytes were passed");
    CHECK_REFUSED(&s.k, orr_post_exclusive(s.world, call_sized, NULL, 0), ORR_ERR_ARGUMENT,
                  "orr_post_exclusive: the call 'sized'");
    passed = 99;
    CHECK_OK(orr_post(s.world, call_sized, "abc", 4));
    CHECK_OK(orr_post(s.world, call_nothing, NULL, 0)); // Not registered.
    CHECK_OK(orr_step(s.world, 1));
    CHECK_EQ(passed, 4);
    stage_end(&s);
}

static void call_one(orr_world* world, void* data, size_t size)
{
    (void)world, (void)data, (void)size;
}

static void call_two(orr_world* world, void* data, size_t size)
{
    (void)world, (void)data, (void)size;
}

static void* post_sized(void* arg)
{
    for (uint32_t i = 0; i < 200; i++) {
        CHECK_OK(orr_post(arg, call_sized, "abc", 4));
    }
    return NULL;
}

ORR_TEST(post_from_another_thread_while_calls_are_registered_is_checked)
{
    stage s;
    pthread_t thread;
    dev = (device){0};
    sized_make(&s, 4);
    CHECK(pthread_create(&thread, NULL, post_sized, s.world) == 0);
    CHECK_OK(orr_call_register(s.world, "one", call_one, 0));
    CHECK_OK(orr_call_register(s.world, "two", call_two, ORR_SIZE_ANY));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(orr_step(s.world, 1));
    stage_end(&s);
}

ORR_TEST(call_registered_again_with_another_size_is_refused)
{
    stage s;
    sized_make(&s, 4);
    CHECK_OK(orr_call_register(s.world, "sized", call_sized, 4));
    CHECK_REFUSED(&s.k, orr_call_register(s.world, "sized", call_sized, 5), ORR_ERR_CONFLICT,
                  "'sized' is registered with another size of its data");
    CHECK_RESULT(orr_call_register(s.world, "sized", call_sized, ORR_SIZE_ANY), ORR_ERR_CONFLICT);
    s.k.errors = (kit_errors){0};
    stage_end(&s);
}

// ---- sizes of the arguments of transactions -----------------------------------------------------

ORR_STRUCT(Sum, (uint64_t, total))

static uint32_t argument_size; // Passed by `contribute`, and where it goes.
static orr_entity sum_entity;
static uint32_t refused;

static void add_all(const orr_world* world, orr_entity target, void* value, const void* argument,
                    uint32_t size)
{
    (void)world, (void)target;
    passed = size;
    for (uint32_t i = 0; i < size; i++) {
        ((Sum*)value)->total += ((const uint8_t*)argument)[i];
    }
}

static void contribute(orr_run* run) // Impure.
{
    const char* bytes = "some bytes for add_all";
    orr_type type = orr_type_of(run->world, ORR_TYPE(Sum));
    refused += orr_transact_call(run, sum_entity, type, 0, add_all, bytes, argument_size) != ORR_OK;
}

static orr_world* sum_make(kit* k, size_t size)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = 60});
    ORR_REGISTER(world, Sum);
    KIT_SYSTEM(world, .name = "contribute", .once = true, .run = contribute, .transacts = "Sum",
               .impure = true, .user = &passed);
    CHECK_OK(orr_transaction_register(world, "add_all", add_all, size));
    sum_entity = orr_create(world);
    CHECK_OK(orr_set(world, sum_entity, Sum, {0}));
    return world;
}

static void sum_record(saved* to, uint32_t size)
{
    kit k;
    orr_world* world = sum_make(&k, ORR_SIZE_ANY);
    argument_size = size;
    CHECK_OK(orr_record(world, to->recording, NULL));
    saved_record(to, world);
    CHECK_EQ(passed, size);
    kit_end(&k);
}

ORR_TEST(transaction_of_another_size_than_registered_is_refused)
{
    kit k;
    orr_world* world = sum_make(&k, 4);
    passed = 99, refused = 0, argument_size = 3;
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_ARGUMENT);
    CHECK_EQ(refused, 1);
    CHECK_EQ(passed, 99);
    CHECK_CONTAINS(k.errors.text, "system 'contribute'");
    CHECK_CONTAINS(k.errors.text, "the function 'add_all' is registered with 4 bytes of data, but "
                                  "3 bytes were passed");
    k.errors = (kit_errors){0};
    argument_size = 4;
    CHECK_OK(orr_step(world, 1));
    CHECK_EQ(passed, 4);
    kit_end(&k);
}

ORR_TEST(recorded_transaction_of_another_size_ends_the_replay)
{
    saved f = saved_begin("sum");
    for (uint32_t size = 0; size <= 8; size += 4) {
        kit k;
        sum_record(&f, size);
        orr_world* world = sum_make(&k, 4);
        CHECK_OK(orr_recording_load(world, f.recording, f.path));
        passed = 99;
        CHECK_RESULT(saved_replay(&f, world), size == 4 ? ORR_OK : ORR_ERR_CONFLICT);
        CHECK_EQ(passed, size == 4 ? 4 : 99);
        if (size != 4) {
            CHECK_EQ(k.errors.count, 2); // The size, then the end of the replay.
            CHECK_CONTAINS(k.errors.text, "impure systems did not run as recorded");
            k.errors = (kit_errors){0};
        }
        kit_end(&k);
    }
    saved_end(&f);
}

// The argument of a function is always in bytes. A file that says otherwise made the replay copy
// bytes behind a number.
ORR_TEST(recorded_transaction_whose_argument_is_a_number_is_refused)
{
    saved f = saved_begin("sum_number");
    kit k;
    sum_record(&f, 16);
    orri_bytes* bytes = &f.recording->inputs[0].bytes;
    const uint64_t size_word = UINT64_C(16) << 32; // Offset 0, size 16; then: in bytes.
    uint32_t found = 0;
    for (uint32_t at = 0; at + 16 <= bytes->count; at += 8) {
        uint64_t words[2];
        memcpy(words, bytes->data + at, sizeof words);
        if (words[0] == size_word && words[1] == 1) {
            bytes->data[at + 8] = 0;
            found++;
        }
    }
    CHECK_EQ(found, 2);
    orr_world* world = sum_make(&k, ORR_SIZE_ANY);
    passed = 99;
    CHECK_RESULT(saved_replay(&f, world), ORR_ERR_CONFLICT);
    CHECK_EQ(passed, 99);
    k.errors = (kit_errors){0};
    kit_end(&k);
    saved_end(&f);
}

// ---- numbers that would stop the world ----------------------------------------------------------

static const uint64_t FAR_NS = UINT64_C(1) << 62;

// A recording in a file, its path, and a copy that a test changes and saves.
typedef struct forged {
    stage s;
    orr_recording* recording;
    const char *path, *changed;
    bool realtime;
} forged;

static const orr_world_desc forged_desc = {.rate_hz = 200};

// Records in lockstep or in real time, both pipelines and both kinds of calls. The recording is
// loaded from its file again, so that it saves the names of the file.
static forged* forged_make(bool realtime)
{
    static forged f;
    f = (forged){.path = stage_path(realtime ? "forged_realtime" : "forged_lockstep"),
                 .changed = stage_path("forged_changed"),
                 .recording = orr_recording_create(),
                 .realtime = realtime};
    dev = (device){0};
    stage_make(&f.s, &forged_desc, true);
    CHECK_OK(orr_post_exclusive(f.s.world, call_nothing, NULL, 0));
    if (realtime) {
        orr_realtime_desc desc = {.record = f.recording, .ticks = 12, .hashes = true};
        CHECK_OK(orr_realtime(f.s.world, &desc));
    } else {
        CHECK_OK(orr_record(f.s.world, f.recording, &(orr_record_desc){.hash_every = 4}));
        CHECK_OK(orr_step(f.s.world, 12));
        CHECK_OK(orr_record_end(f.s.world));
    }
    CHECK_OK(orr_recording_save(f.s.world, f.recording, f.path));
    stage_end(&f.s);
    dev.banned = true;
    stage_make(&f.s, &forged_desc, true);
    CHECK_OK(orr_recording_load(f.s.world, f.recording, f.path));
    return &f;
}

static void forged_end(forged* f)
{
    stage_end(&f->s);
    orr_recording_destroy(f->recording);
    CHECK_EQ(remove(f->path) | remove(f->changed), 0);
}

// Saves the changed recording and loads it: refused, with a text that contains `says`. Then loads
// the recording without the change.
static void forged_refused(forged* f, const char* says)
{
    CHECK_OK(orr_recording_save(f->s.world, f->recording, f->changed));
    orr_result result = orr_recording_load(f->s.world, f->recording, f->changed);
    if (result != ORR_ERR_CORRUPT || strstr(f->s.k.errors.text, says) == NULL) {
        test_fail(__FILE__, __LINE__, "'%s': %s, '%s'", says, orr_result_name(result),
                  f->s.k.errors.text);
    }
    f->s.k.errors = (kit_errors){0};
    CHECK_OK(orr_recording_load(f->s.world, f->recording, f->path));
}

ORR_TEST(file_of_real_time_with_impossible_clocks_is_refused_when_it_is_loaded)
{
    forged* f = forged_make(true);
    orr_recording* r = f->recording;
    CHECK(r->ended_count > 10);
    r->ended[r->ended_count - 1].due_ns = FAR_NS;
    forged_refused(f, "clock");
    r->ended[3].due_ns = UINT64_MAX; // Never due.
    forged_refused(f, "clock");
    r->ended[3].due_ns = 0;
    r->ended[3].time_ns = FAR_NS;
    forged_refused(f, "clock");
    r->ended[3].time_ns = r->ended[3].due_ns = UINT64_MAX;
    forged_refused(f, "clock");
    r->ended[3].start_ns = UINT64_MAX;
    forged_refused(f, "clock");
    r->ended[3].ran = UINT64_MAX;
    forged_refused(f, "clock");
    r->ended[3].dropped = UINT64_MAX;
    forged_refused(f, "clock");
    r->time_ns = UINT64_MAX;
    forged_refused(f, "time");
    forged_end(f);
}

ORR_TEST(file_of_real_time_with_impossible_numbers_is_refused_when_it_is_loaded)
{
    forged* f = forged_make(true);
    orr_recording* r = f->recording;
    const float dts[] = {-1, NAN, INFINITY, 1e20f};
    for (uint32_t i = 0; i < 4; i++) {
        r->dts[2] = dts[i];
        forged_refused(f, "dt");
    }
    const double rates[] = {-1, NAN, INFINITY, 1e7};
    for (uint32_t i = 0; i < 4; i++) {
        memcpy(&r->names[ORRI_LOCKSTEP_LOG_PIPELINES].names[1].word, &rates[i], sizeof rates[i]);
        forged_refused(f, "rate");
    }
    CHECK(r->count_count > 0 && r->call_counts[0] == (1 << 1 | 1));
    r->call_counts[0] = 1 << 1; // An exclusive call while pipelines run.
    forged_refused(f, "exclusive");
    CHECK(r->grants.count > 0);
    r->grants.grants[0] = 2 << 1;
    forged_refused(f, "lock");
    r->ticks++;
    forged_refused(f, "ticks");
    r->hashed = false;
    forged_refused(f, "hashes");
    // One more clock than ticks. How many there are depends on the run: the array may be full.
    CHECK(ORRI_RESERVE(&r->env, ORR_MEMORY_SYSTEM, &r->ended, &r->ended_capacity,
                       r->ended_count + 1));
    r->ended[r->ended_count++] = r->ended[0];
    forged_refused(f, "clocks");
    forged_end(f);
}

ORR_TEST(file_of_lockstep_with_impossible_times_is_refused_when_it_is_loaded)
{
    forged* f = forged_make(false);
    orr_recording* r = f->recording;
    r->entries[4].due_ns = FAR_NS;
    forged_refused(f, "time");
    r->entries[4].due_ns = UINT64_MAX;
    forged_refused(f, "time");
    r->entries[4].first_ns = FAR_NS;
    forged_refused(f, "time");
    r->entries[4].time_ns = FAR_NS;
    forged_refused(f, "time");
    r->entries[4].time_ns = r->entries[4].due_ns = r->entries[4].first_ns = FAR_NS << 1;
    forged_refused(f, "time");
    r->entries[0].dt = NAN;
    forged_refused(f, "dt");
    r->entries[4].dt = -1;
    forged_refused(f, "dt");
    r->time_ns = FAR_NS << 1;
    forged_refused(f, "time");
    r->changed_tick1 = r->begin_tick + r->entry_count + 2;
    forged_refused(f, "changed");
    forged_end(f);
}

// Intervals of more than 31 years, whose ticks are due after the end of the world's clock.
ORR_TEST(file_of_lockstep_with_very_low_rates_loads_and_replays)
{
    const double rates[] = {1e-9, 3e-10, 1.5e-10, 1e-12, 1e-300};
    for (uint32_t i = 0; i < 5; i++) {
        kit k;
        saved f = saved_begin("slow");
        for (uint32_t replays = 0; replays < 2; replays++) {
            orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = rates[i]});
            if (replays) {
                CHECK_OK(orr_recording_load(world, f.recording, f.path));
                CHECK_OK(saved_replay(&f, world));
                CHECK_EQ(orr_world_tick(world), 3);
            } else {
                CHECK_OK(orr_record(world, f.recording, NULL));
                CHECK_OK(orr_step(world, 1));
                saved_record(&f, world);
            }
            CHECK_STR(k.errors.text, "");
            kit_end(&k);
        }
        saved_end(&f);
    }
}

// Times that are possible by themselves, and too far from the times of the world.
static void forged_shift(orr_recording* r, uint32_t first, uint64_t by_ns)
{
    for (uint32_t i = first; i < r->ended_count; i++) {
        r->ended[i].start_ns += by_ns;
        r->ended[i].due_ns += by_ns;
        r->ended[i].time_ns += by_ns;
    }
    for (uint32_t i = first; i < r->entry_count; i++) {
        r->entries[i].due_ns += by_ns;
        r->entries[i].first_ns += by_ns;
        r->entries[i].time_ns += by_ns;
    }
    r->time_ns += by_ns;
}

static orr_result forged_replay(forged* f)
{
    return f->realtime ? orr_realtime(f->s.world, &(orr_realtime_desc){.replay = f->recording})
                       : orr_replay(f->s.world, f->recording, NULL, NULL);
}

ORR_TEST(replay_with_times_far_from_those_of_the_world_is_refused_and_the_world_steps_on)
{
    for (uint32_t i = 0; i < 8; i++) {
        forged* f = forged_make(i % 2);
        bool all = i < 2, end = i >= 4, back = i >= 6;
        if (end) { // Only the time at the end.
            f->recording->time_ns = back ? 0 : FAR_NS;
        } else {
            forged_shift(f->recording, all ? 0 : 5, FAR_NS / 2);
        }
        CHECK_OK(orr_recording_save(f->s.world, f->recording, f->changed));
        CHECK_OK(orr_recording_load(f->s.world, f->recording, f->changed));
        orr_result result = forged_replay(f);
        if (back && !f->realtime) { // The end of a truncated recording is a due time.
            CHECK_OK(result);
        } else {
            CHECK_RESULT(result, ORR_ERR_CONFLICT);
            CHECK_CONTAINS(f->s.k.errors.text, "time of the world");
        }
        f->s.k.errors = (kit_errors){0};
        dev.banned = false;
        CHECK_OK(orr_step(f->s.world, 1)); // Does not run the ticks of 73 years first.
        CHECK_OK(orr_world_validate(f->s.world));
        f->s.k.errors = (kit_errors){0};
        forged_end(f);
    }
}

// ---- effects of impure systems that they did not declare ----------------------------------------

ORR_STRUCT(Mark, (uint32_t, n))
ORR_STRUCT(Beep, (uint32_t, n))
ORR_STRUCT_EX(Nail, (.storage = ORR_PINNED), (uint32_t, n))

static uint32_t overreach; // Which effect the system has.
static orr_entity marked;
static orr_cluster marked_cluster;

static void overreach_run(orr_run* run)
{
    switch (overreach) {
    case 0:
        orr_edit(run->world, marked, Mark)->n = 7;
        break;
    case 1:
        orr_edit(run->world, marked, Nail)->n = 7;
        break;
    case 2:
        orr_send_add(run, orr_send_create(run), Mark, {7});
        break;
    case 3:
        orr_send_destroy(run, marked);
        break;
    case 4:
        orr_send_add(run, marked, Beep, {7});
        break;
    case 5:
        orr_send_change(run, marked, Mark, {7});
        break;
    case 6:
        orr_send_remove(run, marked, Mark);
        break;
    case 7:
        orr_send_tag(run, marked, 3, true);
        break;
    case 8:
        orr_send_enable(run, marked, Mark, false);
        break;
    case 9:
        orr_send_name(run, marked, (orr_entity){0}, "marked");
        break;
    case 10:
        orr_send_event(run, Beep, {7});
        break;
    case 11:
        orr_send_create_many(run, marked_cluster, 1, NULL, 0, NULL);
        break;
    default:
        orr_send_enable_type(run, marked, (orr_type){0}, 0, false);
        break;
    }
}

// Declarations by effect.
static const orr_system_desc overreach_descs[] = {
    {.by_id = "write Mark"}, {.by_id = "write Nail"}, {.creates = "Mark", .creates_max = 1},
    {.destroys = "Mark"},    {.adds = "Beep"},        {.changes = "Mark"},
    {.removes = "Mark"},     {.tags = "#3"},          {.switches = "Mark"},
    {.renames = true},       {.sends = "?Beep"},      {.creates = "Mark"},
    {.switches = "*"},
};

static orr_world* overreach_make(kit* k, bool declares)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = 60});
    ORR_REGISTER(world, Mark, Nail, Beep);
    orr_system_desc desc = declares ? overreach_descs[overreach] : (orr_system_desc){0};
    desc.name = "overreach";
    desc.once = true;
    desc.run = overreach_run;
    desc.impure = true;
    desc.user = &overreach;
    if (orr_system_add(world, &desc).id == 0) {
        test_fail(__FILE__, __LINE__, "effect %u: %s", overreach, k->errors.text);
    }
    marked = orr_create(world);
    CHECK_OK(orr_set(world, marked, Mark, {1}));
    CHECK_OK(orr_set(world, marked, Nail, {1}));
    marked_cluster = orr_entity_cluster(world, marked);
    return world;
}

ORR_TEST(recorded_effects_that_an_impure_system_does_not_declare_are_refused)
{
    uint32_t count = sizeof overreach_descs / sizeof overreach_descs[0];
    for (overreach = 0; overreach < count; overreach++) {
        kit k;
        orr_recording* recording = orr_recording_create();
        orr_world* world = overreach_make(&k, true);
        CHECK_OK(orr_record(world, recording, NULL));
        if (orr_step(world, 1) != ORR_OK) {
            test_fail(__FILE__, __LINE__, "effect %u: %s", overreach, k.errors.text);
        }
        CHECK_OK(orr_record_end(world));
        CHECK_STR(k.errors.text, "");
        kit_end(&k);
        for (uint32_t declares = 0; declares < 2; declares++) {
            world = overreach_make(&k, declares);
            orr_replay_desc desc = {.no_verify = true};
            orr_result result = orr_replay(world, recording, &desc, NULL);
            if (result != (declares ? ORR_OK : ORR_ERR_CONFLICT)) {
                test_fail(__FILE__, __LINE__, "effect %u, declared %u: %s", overreach, declares,
                          orr_result_name(result));
            }
            if (!declares) {
                CHECK_EQ(orr_get(world, marked, Mark)->n, 1);
                CHECK_EQ(orr_get(world, marked, Nail)->n, 1);
                CHECK(!orr_has(world, marked, Beep));
                k.errors = (kit_errors){0};
            }
            CHECK_OK(orr_world_validate(world));
            kit_end(&k);
        }
        orr_recording_destroy(recording);
    }
}

// Only creations in a cluster name a cluster. A file that said so of another command made the
// commit use a cluster that does not exist, or move the entity to one whose types are undeclared.
ORR_TEST(recorded_command_with_a_cluster_that_it_cannot_have_is_refused)
{
    static const uint32_t effects[] = {4, 5, 6, 7, 8}; // Adds, changes, removes, tags, enables.
    for (uint32_t i = 0; i < sizeof effects / sizeof effects[0]; i++) {
        kit k;
        overreach = effects[i];
        orr_recording* recording = orr_recording_create();
        orr_world* world = overreach_make(&k, true);
        uint64_t there = marked_cluster.id | (uint64_t)marked_cluster.generation << 32;
        CHECK_OK(orr_record(world, recording, NULL));
        CHECK_OK(orr_step(world, 1));
        CHECK_OK(orr_record_end(world));
        kit_end(&k);
        orri_bytes* bytes = &recording->inputs[0].bytes;
        const uint64_t clusters[] = {0, there, there + (UINT64_C(7) << 32), 1000,
                                     UINT64_C(1) << 32};
        for (uint32_t c = 0; c < sizeof clusters / sizeof clusters[0]; c++) {
            // The head of an array: kind and flags, type, cluster, 1 row in 1 run.
            uint32_t found = 0;
            for (uint32_t at = 0; at + 32 <= bytes->count; at += 8) {
                uint64_t words[4];
                memcpy(words, bytes->data + at, sizeof words);
                if (words[0] < 64 && words[1] < 64 && words[3] == (1 | UINT64_C(1) << 32) &&
                    (c == 0 ? words[2] == 0 : words[2] == clusters[c - 1])) {
                    memcpy(bytes->data + at + 16, &clusters[c], 8);
                    found++;
                }
            }
            CHECK_EQ(found, 1);
            world = overreach_make(&k, true);
            orr_replay_desc desc = {.no_verify = true};
            CHECK_RESULT(orr_replay(world, recording, &desc, NULL),
                         c == 0 ? ORR_OK : ORR_ERR_CONFLICT);
            k.errors = (kit_errors){0};
            CHECK_OK(orr_world_validate(world));
            kit_end(&k);
        }
        orr_recording_destroy(recording);
    }
}
