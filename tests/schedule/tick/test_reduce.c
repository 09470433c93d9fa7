// SPDX-License-Identifier: MIT
// Reductions: partial values by chunk, combined over a tree that depends only on the number of
// chunks.
#include "schedule/schedule.h"
#include "schedule/system_kit.h"

ORR_STRUCT(Summary, (int64_t, sum), (int32_t, count), (int32_t, least, (.preset = "2147483647")),
           (int32_t, most, (.preset = "-2147483647")), (uint32_t, bars, 4))
ORR_STRUCT(Energy, (float, sum), (uint32_t, rows), (uint8_t, seen), (double, wide))

static void summarise(orr_run* run)
{
    const Health* health = orr_read(run, Health);
    Summary* part = orr_export(run, Summary);
    for (uint32_t i = 0; i < run->count; i++) {
        int32_t value = health[i].value;
        part->sum += value;
        part->count++;
        part->least = value < part->least ? value : part->least;
        part->most = value > part->most ? value : part->most;
        part->bars[(uint32_t)value / 25 % 4]++;
    }
}

static void combine_summaries(void* into, const void* part)
{
    Summary* a = into;
    const Summary* b = part;
    a->sum += b->sum;
    a->count += b->count;
    a->least = b->least < a->least ? b->least : a->least;
    a->most = b->most > a->most ? b->most : a->most;
    for (uint32_t i = 0; i < 4; i++) {
        a->bars[i] += b->bars[i];
    }
}

static void sum_up(orr_run* run)
{
    const Velocity* v = orr_read(run, Velocity);
    Energy* part = orr_export(run, Energy);
    for (uint32_t i = 0; i < run->count; i++) {
        part->sum += v[i].x;
        part->wide += (double)v[i].y;
    }
    part->rows += run->count;
    part->seen = 1;
}

static void combine_energy(void* into, const void* part)
{
    Energy* a = into;
    const Energy* b = part;
    a->sum += b->sum;
    a->wide += b->wide;
    a->rows += b->rows;
    a->seen |= b->seen;
}

#define SUMMARISE                                                                         \
    .name = "summary", .query = "Health", .run = summarise, .exports = ORR_TYPE(Summary), \
    .combine = combine_summaries

static orr_world* begin_with(kit* k, uint32_t workers, orri_sharing sharing, uint64_t seed)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.workers = workers});
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Hidden);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    if (workers > 0) {
        orri_parallel_share(world, sharing, seed);
    }
    return world;
}

static void make_healths(orr_world* world, uint32_t count, bool frozen)
{
    for (uint32_t i = 0; i < count; i++) {
        orr_entity entity = orr_create(world);
        CHECK_OK(orr_set(world, entity, Health, {(int32_t)(i % 100), 0}));
        if (frozen) {
            CHECK_OK(orr_add(world, entity, Frozen));
        }
    }
}

// ---- computed by hand ---------------------------------------------------------------------------

/* N3-04 */
ORR_TEST(reduction_of_three_clusters_has_sum_minimum_maximum_and_histogram)
{
    for (uint32_t workers = 0; workers < 4; workers++) {
        kit k;
        orr_world* world = begin_with(&k, workers, ORRI_SHARE_ALL, 0);
        make_healths(world, 5000, false); // 3 chunks: 50 times 0 to 99.
        make_healths(world, 100, true);   // 1 chunk: once.
        orr_entity outlier = orr_create(world);
        CHECK_OK(orr_set(world, outlier, Health, {-7, 0}));
        CHECK_OK(orr_set(world, outlier, Position, {0}));
        CHECK_OK(orr_set(world, outlier, Health, {1000, 0}));
        orr_system system = KIT_SYSTEM(world, SUMMARISE, .parallel = true);
        for (uint32_t tick = 0; tick < 3; tick++) { // Each tick begins anew.
            KIT_STEP(world, 1);
            const Summary* all = orr_system_exports(world, system);
            CHECK_EQ(all->sum, 51 * 4950 + 1000);
            CHECK_EQ(all->count, 5101);
            CHECK_EQ(all->least, 0);
            CHECK_EQ(all->most, 1000);
            CHECK_EQ(all->bars[0], 51 * 25 + 1); // 1000 / 25 % 4 is 0.
            CHECK_EQ(all->bars[1], 51 * 25);
            CHECK_EQ(all->bars[2], 51 * 25);
            CHECK_EQ(all->bars[3], 51 * 25);
        }
        CHECK_EQ(k.errors.count, 0);
        kit_end(&k);
    }
}

static char tree_words[512];

ORR_STRUCT(Words, (uint8_t, text, 64))

static void say_chunk(orr_run* run)
{
    Words* words = orr_export(run, Words);
    uint32_t row;
    (void)orr_iter_cluster(run, &row);
    words->text[0] = (uint8_t)('0' + row / ORR_CHUNK_CAPACITY);
}

static void combine_words(void* into, const void* part)
{
    Words* a = into;
    const Words* b = part;
    char text[160];
    snprintf(text, sizeof text, "(%.60s+%.60s)", (const char*)a->text, (const char*)b->text);
    memset(a->text, 0, sizeof a->text);
    memcpy(a->text, text, strlen(text));
}

ORR_TEST(reduction_tree_depends_only_on_the_number_of_chunks)
{
    static const char* const expected[] = {"",
                                           "0",
                                           "(0+1)",
                                           "((0+1)+2)",
                                           "((0+1)+(2+3))",
                                           "(((0+1)+(2+3))+4)",
                                           "(((0+1)+(2+3))+(4+5))",
                                           "(((0+1)+(2+3))+((4+5)+6))",
                                           "(((0+1)+(2+3))+((4+5)+(6+7)))",
                                           "((((0+1)+(2+3))+((4+5)+(6+7)))+8)"};
    static const uint32_t workers[] = {0, 1, 2, 3, 8};
    for (uint32_t w = 0; w < 5; w++) {
        kit k;
        orr_world* world = begin_with(&k, workers[w], ORRI_SHARE_ALL, 0);
        orr_system system = KIT_SYSTEM(world, .name = "words", .query = "Health", .run = say_chunk,
                                       .exports = ORR_TYPE(Words), .combine = combine_words,
                                       .parallel = true);
        for (uint32_t chunks = 0; chunks < 10; chunks++) {
            KIT_STEP(world, 1);
            const Words* words = orr_system_exports(world, system);
            snprintf(tree_words, sizeof tree_words, "%.64s", (const char*)words->text);
            CHECK_STR(tree_words, expected[chunks]);
            // One more chunk of one row; then it is filled.
            make_healths(world, chunks == 0 ? 1 : ORR_CHUNK_CAPACITY, false);
        }
        CHECK_EQ(k.errors.count, 0);
        kit_end(&k);
    }
}

// ---- floats, bit by bit -------------------------------------------------------------------------

#define TICKS 6u

static void stir(orr_run* run)
{
    Velocity* v = orr_write(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t r = orr_run_random(run, orr_iter_entity(run, i));
        float size = (float)(1 << (r & 15));
        v[i].x = ((float)(r >> 40) / 16777216.0f - 0.25f) * size;
        v[i].y = v[i].x * 0.1f;
    }
}

static void look_before(orr_run* run)
{
    const Energy* energy = orr_import(run, "energy", Energy);
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].y = energy->sum;
    }
}

static void look_after(orr_run* run)
{
    const Energy* energy = orr_import(run, "energy", Energy);
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x = energy->sum;
        p[i].z = (float)energy->rows;
    }
}

// Has the same chunks as the system it imports from: they must not be batched chunk by chunk.
static void look_closely(orr_run* run)
{
    const Energy* energy = orr_import(run, "energy", Energy);
    Velocity* v = orr_write(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        v[i].y = energy->sum;
    }
}

typedef struct scene {
    kit k;
    orr_world* world;
    orr_system energy;
} scene;

static void scene_begin(scene* s, uint32_t workers, orri_sharing sharing, uint64_t seed,
                        bool parallel)
{
    s->world = begin_with(&s->k, workers, sharing, seed);
    for (uint32_t i = 0; i < 9 * ORR_CHUNK_CAPACITY + 77; i++) {
        orr_entity entity = orr_create(s->world);
        CHECK_OK(orr_set(s->world, entity, Velocity, {0, 0}));
        if (i % 3 != 0) {
            CHECK_OK(orr_set(s->world, entity, Position, {0, 0, 0}));
        }
    }
    KIT_SYSTEM(s->world, .name = "before", .query = "write Position, Velocity", .run = look_before,
               .imports = "energy", .parallel = true);
    KIT_SYSTEM(s->world, .name = "stir", .query = "write Velocity", .run = stir, .parallel = true);
    s->energy = KIT_SYSTEM(s->world, .name = "energy", .query = "Velocity", .run = sum_up,
                           .exports = ORR_TYPE(Energy), .combine = combine_energy,
                           .parallel = parallel);
    KIT_SYSTEM(s->world, .name = "close", .query = "write Velocity", .run = look_closely,
               .imports = "energy", .parallel = true);
    KIT_SYSTEM(s->world, .name = "after", .query = "write Position, Velocity", .run = look_after,
               .imports = "energy", .parallel = true);
}

static void scene_end(scene* s)
{
    CHECK_STR(s->k.errors.text, "");
    kit_end(&s->k);
}

// The tree of the header: the left part is the largest power of two that leaves a rest.
static float oracle_tree(const float* parts, uint32_t count)
{
    if (count <= 1) {
        return count == 1 ? parts[0] : 0.0f;
    }
    uint32_t half = 1;
    while (half * 2 < count) {
        half *= 2;
    }
    return oracle_tree(parts, half) + oracle_tree(parts + half, count - half);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// The values of the chunks, summed outside of systems: by the tree, and in plain order.
static void check_oracle(const scene* s)
{
    float parts[64], plain = 0;
    uint32_t count = 0, rows = 0;
    orr_query* query = orr_query_text(s->world, "Velocity");
    ORR_EACH (it, query) {
        const Velocity* v = orr_read(&it, Velocity);
        float sum = 0;
        for (uint32_t i = 0; i < it.count; i++) {
            sum += v[i].x;
            plain += v[i].x;
        }
        parts[count++] = sum;
        rows += it.count;
    }
    orr_query_destroy(query);
    const Energy* energy = orr_system_exports(s->world, s->energy);
    CHECK_EQ(bits_of(energy->sum), bits_of(oracle_tree(parts, count)));
    CHECK(bits_of(energy->sum) != bits_of(plain)); // Otherwise this test would show nothing.
    CHECK_EQ(energy->rows, rows);
    CHECK_EQ(energy->seen, 1);
}

/* N3-13 */
ORR_TEST(reduction_of_floats_has_the_same_bits_with_any_workers)
{
    static const uint32_t workers[] = {0, 1, 2, 3, 8, 32};
    static const orri_sharing sharings[] = {ORRI_SHARE_AUTO, ORRI_SHARE_NOTHING, ORRI_SHARE_ALL,
                                            ORRI_SHARE_RANDOM};
    uint64_t hashes[TICKS];
    uint32_t bits[TICKS];
    scene s;
    scene_begin(&s, 0, ORRI_SHARE_AUTO, 0, false);
    for (uint32_t i = 0; i < TICKS; i++) {
        KIT_STEP(s.world, 1);
        check_oracle(&s);
        hashes[i] = orr_world_hash(s.world);
        bits[i] = bits_of(((const Energy*)orr_system_exports(s.world, s.energy))->sum);
    }
    scene_end(&s);
    for (uint32_t w = 0; w < 6 * 4 * 2;
         w += test_brief()  ? 11
              : test_slow() ? 5
                            : 1) { // A step of 5 reaches all of them over time.
        scene_begin(&s, workers[w % 6], sharings[w / 6 % 4], test_random(), w / 24 != 0);
        for (uint32_t i = 0; i < TICKS; i++) {
            KIT_STEP(s.world, 1);
            uint32_t is = bits_of(((const Energy*)orr_system_exports(s.world, s.energy))->sum);
            if (is != bits[i] || orr_world_hash(s.world) != hashes[i]) {
                test_fail(__FILE__, __LINE__, "tick %u, %u workers, sharing %d: %08x, not %08x", i,
                          workers[w % 6], (int)sharings[w / 6 % 4], is, bits[i]);
            }
        }
        scene_end(&s);
    }
}

// ---- nothing to combine -------------------------------------------------------------------------

ORR_TEST(reduction_of_no_rows_is_the_preset)
{
    for (uint32_t workers = 0; workers < 4; workers++) {
        kit k;
        orr_world* world = begin_with(&k, workers, ORRI_SHARE_ALL, 0);
        orr_system system = KIT_SYSTEM(world, SUMMARISE, .parallel = true);
        orr_entity one = orr_create(world);
        for (uint32_t tick = 0; tick < 6; tick++) {
            bool there = tick % 2 == 1;
            if (there) {
                CHECK_OK(orr_set(world, one, Health, {5, 0}));
            }
            KIT_STEP(world, 1);
            const Summary* all = orr_system_exports(world, system);
            CHECK_EQ(all->sum, there ? 5 : 0);
            CHECK_EQ(all->least, there ? 5 : 2147483647);
            CHECK_EQ(all->most, there ? 5 : -2147483647);
            if (there) {
                CHECK_OK(orr_remove(world, one, Health));
            }
        }
        kit_end(&k);
    }
}

ORR_TEST(reduction_leaves_out_disabled_rows)
{
    for (uint32_t workers = 0; workers < 3; workers++) {
        kit k;
        orr_world* world = begin_with(&k, workers, ORRI_SHARE_ALL, 0);
        orr_entity all[3 * ORR_CHUNK_CAPACITY];
        for (uint32_t i = 0; i < 3 * ORR_CHUNK_CAPACITY; i++) {
            all[i] = orr_create(world);
            CHECK_OK(orr_set(world, all[i], Health, {1, 0}));
            bool off = i / ORR_CHUNK_CAPACITY == 1 || i % 7 == 0; // A chunk, and single rows.
            if (off) {
                CHECK_OK(orr_entity_enable(world, all[i], false));
            }
        }
        orr_system system = KIT_SYSTEM(world, SUMMARISE, .parallel = true);
        KIT_STEP(world, 2);
        int32_t expected = 0;
        for (uint32_t i = 0; i < 3 * ORR_CHUNK_CAPACITY; i++) {
            expected += i / ORR_CHUNK_CAPACITY != 1 && i % 7 != 0;
        }
        CHECK_EQ(((const Summary*)orr_system_exports(world, system))->count, expected);
        kit_end(&k);
    }
}

static void weigh(orr_run* run)
{
    Summary* part = orr_export(run, Summary);
    for (uint32_t i = 0; i < run->count; i++) {
        part->sum += orr_read_pinned(run, Body, i)->mass;
        part->count++;
    }
}

ORR_TEST(reduction_of_a_pinned_set_has_one_part)
{
    for (uint32_t workers = 0; workers < 3; workers++) {
        kit k;
        orr_world* world = begin_with(&k, workers, ORRI_SHARE_ALL, 0);
        ORR_REGISTER(world, Body);
        orr_system system = KIT_SYSTEM(world, .name = "weigh", .query = "Body", .run = weigh,
                                       .exports = ORR_TYPE(Summary), .combine = combine_summaries,
                                       .parallel = true);
        KIT_STEP(world, 1);
        CHECK_EQ(((const Summary*)orr_system_exports(world, system))->least, 2147483647);
        for (uint32_t i = 0; i < 3000; i++) {
            CHECK_OK(orr_set(world, orr_create(world), Body, {(int32_t)i, 0}));
        }
        KIT_STEP(world, 2);
        const Summary* all = orr_system_exports(world, system);
        CHECK_EQ(all->sum, 2999 * 1500);
        CHECK_EQ(all->count, 3000);
        CHECK_EQ(k.errors.count, 0);
        kit_end(&k);
    }
}

// ---- with other features ------------------------------------------------------------------------

static void begin_with_42(orr_run* run)
{
    orr_export(run, Summary)->sum = 42;
}

ORR_TEST(reduction_callbacks_write_exports_that_others_read)
{
    kit k;
    orr_world* world = begin_with(&k, 0, ORRI_SHARE_AUTO, 0);
    make_healths(world, 10, false);
    orr_system system = KIT_SYSTEM(world, SUMMARISE, .parallel = true, .start = begin_with_42,
                                   .every = 2, .disabled = true);
    KIT_STEP(world, 1);
    CHECK_EQ(((const Summary*)orr_system_exports(world, system))->sum, 0);
    CHECK_OK(orr_system_enable(world, system, true));
    KIT_STEP(world, 1);
    CHECK_EQ(((const Summary*)orr_system_exports(world, system))->sum, 45);
    make_healths(world, 2, false);
    KIT_STEP(world, 1); // Not due: the export stays.
    CHECK_EQ(((const Summary*)orr_system_exports(world, system))->sum, 45);
    KIT_STEP(world, 1);
    CHECK_EQ(((const Summary*)orr_system_exports(world, system))->sum, 46);
    kit_end(&k);
}

static void sum_and_send(orr_run* run)
{
    summarise(run);
    for (uint32_t i = 0; i < run->count; i += 97) {
        CHECK_OK(orr_send_add_preset(run, orr_iter_entity(run, i), Hidden));
    }
}

ORR_TEST(reduction_and_sends_work_in_one_system)
{
    uint64_t expected = 0;
    for (uint32_t workers = 0; workers < 4; workers++) {
        kit k;
        orr_world* world = begin_with(&k, workers, ORRI_SHARE_ALL, 0);
        make_healths(world, 9000, false);
        orr_system system = KIT_SYSTEM(world, .name = "summary", .query = "Health, !Hidden",
                                       .run = sum_and_send, .exports = ORR_TYPE(Summary),
                                       .combine = combine_summaries, .parallel = true,
                                       .adds = "Hidden");
        KIT_STEP(world, 4);
        const Summary* all = orr_system_exports(world, system);
        CHECK(all->count > 8000 && all->count < 9000);
        expected = workers == 0 ? orr_world_hash(world) : expected;
        CHECK_EQ(orr_world_hash(world), expected);
        CHECK_EQ(k.errors.count, 0);
        kit_end(&k);
    }
}

ORR_TEST(reduction_refused_memory_stops_the_tick_and_continues)
{
    for (uint32_t workers = 0; workers < 3; workers += 2) {
        uint64_t expected = 0, refused = 0;
        for (uint64_t n = 0; n < 40; n++) {
            kit k;
            orr_world* world = begin_with(&k, workers, ORRI_SHARE_ALL, 0);
            make_healths(world, 100, false);
            orr_system system = KIT_SYSTEM(world, SUMMARISE, .parallel = true);
            KIT_STEP(world, 1);
            int64_t before = ((const Summary*)orr_system_exports(world, system))->sum;
            make_healths(world, 3 * ORR_CHUNK_CAPACITY, false);
            failing_alloc_arm(&k.memory, n, false);
            orr_result result = orr_step(world, 1);
            failing_alloc_arm(&k.memory, 0, false);
            if (result != ORR_OK) {
                refused++;
                CHECK_RESULT(result, ORR_ERR_MEMORY);
                if (orr_tick_open(world)) { // It has not run: no value was written.
                    CHECK_EQ(((const Summary*)orr_system_exports(world, system))->sum, before);
                }
                CHECK_OK(orr_step(world, 1));
            }
            expected = n == 0 ? orr_world_hash(world) : expected;
            CHECK_EQ(orr_world_hash(world), expected);
            kit_end(&k);
        }
        CHECK(refused > 0);
    }
}

// ---- refusals -----------------------------------------------------------------------------------

ORR_TEST(reduction_with_an_invalid_desc_is_refused)
{
    kit k;
    orr_world* world = begin_with(&k, 0, ORRI_SHARE_AUTO, 0);
    CHECK_EQ(KIT_ADD(world, .name = "x", .query = "Health", .run = summarise,
                     .combine = combine_summaries)
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "system 'x': .combine without .exports; set .exports to the");
    CHECK_EQ(KIT_ADD(world, SUMMARISE, .once = true).id, 0);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "only a direct system that is called per run of rows has");
    CHECK_EQ(KIT_ADD(world, SUMMARISE, .kind = ORR_INDIRECT).id, 0);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "only a direct system that is called per run of rows has");
    kit_end(&k);
}

ORR_TEST(parallel_system_that_exports_needs_a_combine_function)
{
    kit k;
    orr_world* world = begin_with(&k, 0, ORRI_SHARE_AUTO, 0);
    CHECK_EQ(KIT_ADD(world, .name = "summary", .query = "Health", .run = summarise,
                     .exports = ORR_TYPE(Summary), .parallel = true)
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT,
              "system 'summary': a parallel system with .exports needs a function");
    kit_end(&k);
}

static void count_wrongly(orr_run* run)
{
    orr_state(run, Summary)->sum += run->count;
}

// Also with ORR_ACCESS_CHECK_CALLS, and with any number of workers: concurrent writes to the state
// are undone.
ORR_TEST(parallel_system_that_writes_its_state_is_named_and_undone)
{
    static const uint32_t workers[] = {0, 2, 8};
    for (uint32_t i = 0; i < ORRI_COUNT(workers); i++) {
        for (uint32_t full = 0; full < 2; full++) {
            kit k;
            orr_world* world = begin_with(&k, workers[i], ORRI_SHARE_NOTHING, 0);
            orr_access_check_set(world, full != 0 ? ORR_ACCESS_CHECK_FULL : ORR_ACCESS_CHECK_CALLS);
            make_healths(world, 10, false);
            orr_system system = KIT_SYSTEM(world, .name = "count", .query = "Health",
                                           .run = count_wrongly, .state = ORR_TYPE(Summary),
                                           .parallel = true);
            CHECK_RESULT(kit_run_refused(world, 2), ORR_ERR_STATE);
            CHECK_CONTAINS(orr_error_last(world), "tick 1 ran, but system 'count' was refused");
            CHECK_CONTAINS(orr_error_last(world), "wrote Summary, its state (undone)");
            CHECK_EQ(kit_stats(world, system).violations, 2);
            CHECK_EQ(((const Summary*)orr_system_state(world, system))->sum, 0);
            KIT_ERROR(&k, ORR_ERR_STATE, "system 'count' wrote Summary, its state (undone)");
            kit_end(&k);
        }
    }
}
