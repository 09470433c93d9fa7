// SPDX-License-Identifier: MIT
// Sent values of single rows are reported as those of whole blocks: the same messages, cut alike,
// in the same order. Two worlds make the same changes. One world has so many more entities, without
// a reader, that its sent changes count as few: there single rows are listed. In the other all rows
// of the blocks are compared. The messages of every reader are compared one by one.
#include "message/deliver/baseline.h"
#include "schedule/system_kit.h"

ORR_STRUCT(Quad, (float, v, 4))
ORR_STRUCT(Word, (uint32_t, value))

enum {
    FIRST = 9000, // Rows with all types; more than four chunks.
    SECOND = 2000,
    THIRD = 1000,
    ROWS = FIRST + SECOND + THIRD,
    EXTRA = 16000,
    SENT =
        440, // More than one of 32 in ROWS, and fewer in ROWS + EXTRA; less than one of 16 in each block.
    TYPES = 6,
    READERS = 4,
    HASHES = 256
};

typedef struct twin {
    kit k;
    uint8_t fill; // Content of padding.
    bool unsent;  // A send was refused.
    orr_entity ids[ROWS + 100];
    uint64_t hashes[READERS][HASHES]; // A hash for each message of a tick.
    uint32_t hash_count[READERS];
} twin;

// The changes that both worlds make in a tick.
static struct {
    uint32_t rows; // The number of ids.
    uint32_t at[TYPES][SENT], values[TYPES][SENT];
    uint32_t type_count;
    uint32_t written; // So many of the first rows, every other one, are written in place.
} script;

static twin twins[2];

// ---- systems ------------------------------------------------------------------------------------

static orr_type type_of(orr_world* world, uint32_t number)
{
    const orr_type types[TYPES] = {
        orr_type_of(world, ORR_TYPE(Position)), orr_type_of(world, ORR_TYPE(Velocity)),
        orr_type_of(world, ORR_TYPE(Quad)),     orr_type_of(world, ORR_TYPE(Word)),
        orr_type_of(world, ORR_TYPE(Padded)),   orr_type_of(world, ORR_TYPE(Big))};
    return types[number];
}

static const void* value_of(const twin* t, uint32_t number, uint32_t value)
{
    static union {
        float f[4];
        uint32_t word;
        Padded padded;
        Big big;
    } v;
    memset(&v, number == 4 ? t->fill : 0, sizeof v);
    if (number == 4) {
        v.padded.a = (uint8_t)value;
        v.padded.b = 2;
        v.padded.c = (uint16_t)(value / 2);
    } else if (number == 5) {
        v.big.words[29] = value; // Far from the beginning of the value.
    } else if (number == 3) {
        v.word = value;
    } else {
        v.f[number == 2 ? 3 : 1] = (float)value;
    }
    return &v;
}

static void send(orr_run* run)
{
    twin* t = orr_run_user(run);
    for (uint32_t i = 0; i < script.written; i++) {
        orr_edit(run->world, t->ids[2 * i], Position)->z += 1;
    }
    for (uint32_t n = 0; n < script.type_count; n++) {
        for (uint32_t i = 0; i < SENT; i++) {
            orr_result result = orr_send_change_type(run, t->ids[script.at[n][i]],
                                                     type_of(run->world, n), 0,
                                                     value_of(t, n, script.values[n][i]));
            t->unsent = t->unsent || result == ORR_ERR_MEMORY;
        }
    }
}

static void receive(orr_run* run)
{
    twin* t = orr_run_user(run);
    uint32_t reader = (uint32_t)(orr_system_name(run->world, orr_run_self(run))[0] - 'a');
    t->hash_count[reader] = 0;
    ORR_MESSAGES(m, run)
    {
        uint64_t hash = orr_hash(&m->count, sizeof m->count, m->kind);
        hash = orri_hash_word(orri_hash_word(hash, m->cause), m->system.id != 0);
        hash = orr_hash(m->entities, m->count * sizeof *m->entities, hash);
        if (m->values != NULL) {
            const orri_type* type = orri_type_at(&run->world->schema, m->type);
            hash = orri_rows_hash(type, m->values, m->count,
                                  orri_hash_word(hash, orri_type_index(run->world, m->type)));
        }
        CHECK(t->hash_count[reader] < HASHES);
        t->hashes[reader][t->hash_count[reader]++] = hash;
    }
}

// ---- both worlds --------------------------------------------------------------------------------

static void twin_begin(twin* t, bool few)
{
    orr_world* world = kit_begin(&t->k, NULL);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    t->fill = few ? 0x55 : 0xAA;
    ORR_REGISTER(world, Position, Velocity, Quad, Word, Padded, Big, Frozen, Hidden);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position, Velocity, Quad, Word, Padded, Big),
                             FIRST, NULL, 0, t->ids));
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position, Velocity), SECOND, NULL, 0,
                             t->ids + FIRST));
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position, Frozen), THIRD, NULL, 0,
                             t->ids + FIRST + SECOND));
    static orr_entity extra[EXTRA];
    if (few) {
        CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Hidden), EXTRA, NULL, 0, extra));
    }
    KIT_SYSTEM(world, .name = "send", .once = true, .by_id = "write Position, Velocity, Quad",
               .changes = "Position, Velocity, Quad, Word, Padded, Big", .run = send, .user = t,
               .impure = true);
    const char* queries[READERS] = {"Position", "Position, Velocity", "Position, Frozen",
                                    "Velocity, Quad, Word, Padded, Big"};
    for (uint32_t r = 0; r < READERS; r++) {
        char name[2] = {(char)('a' + r), 0};
        KIT_SYSTEM(world, .name = name, .kind = ORR_INDIRECT, .query = queries[r], .run = receive,
                   .user = t);
    }
}

static void begin_twins(void)
{
    memset(&script, 0, sizeof script);
    script.rows = ROWS;
    for (uint32_t i = 0; i < 2; i++) {
        memset(&twins[i], 0, sizeof twins[i]);
        twin_begin(&twins[i], i == 0);
        KIT_STEP(twins[i].k.world, 1);
    }
}

// Rows were listed in one world, and never in the other.
static void end_twins(void)
{
    CHECK(twins[0].k.world->messages->baseline->run_list.sparse_row_capacity > 0);
    CHECK_EQ(twins[1].k.world->messages->baseline->run_list.sparse_row_capacity, 0);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_OK(orr_world_validate(twins[i].k.world));
        kit_end(&twins[i].k);
    }
}

// Values for all types, spread over the rows that have them, except the first. Few distinct values,
// so many equal the old ones.
static void draw(uint32_t from)
{
    script.type_count = TYPES;
    for (uint32_t n = 0; n < TYPES; n++) {
        uint32_t end = n == 0 ? script.rows : n == 1 ? FIRST + SECOND : FIRST;
        for (uint32_t i = 0; i < SENT; i++) {
            script.at[n][i] = from + (uint32_t)(test_random() % (end - from));
            script.values[n][i] = (uint32_t)(test_random() % 4);
        }
    }
}

// One tick of both worlds; in the first one an allocation is refused (0: none).
static void step_twins(uint64_t fail_at)
{
    twins[0].unsent = false;
    orr_result results[2];
    for (uint32_t i = 0; i < 2; i++) {
        kit* k = &twins[i].k;
        memset(twins[i].hash_count, 0, sizeof twins[i].hash_count);
        failing_alloc_arm(&k->memory, i == 0 ? fail_at : 0, false);
        orr_result result = orr_step(k->world, 1);
        failing_alloc_arm(&k->memory, 0, false);
        if (orr_tick_open(k->world)) {
            result = orr_step(k->world, 1);
        }
        results[i] = result;
        k->errors = (kit_errors){0};
    }
    CHECK(results[1] == ORR_OK || results[1] == ORR_ERR_ENTITY); // A change of a dead entity.
    CHECK(results[0] == results[1] || (fail_at != 0 && results[0] == ORR_ERR_MEMORY));
    if (twins[0].unsent) {
        // Everything is sent again, and reported in this tick or the next.
        KIT_STEP(twins[0].k.world, 1);
        KIT_STEP(twins[0].k.world, 1);
        KIT_STEP(twins[1].k.world, 2);
        return;
    }
    for (uint32_t r = 0; r < READERS; r++) {
        CHECK_EQ(twins[0].hash_count[r], twins[1].hash_count[r]);
        CHECK(memcmp(twins[0].hashes[r], twins[1].hashes[r],
                     twins[0].hash_count[r] * sizeof twins[0].hashes[r][0]) == 0);
    }
}

// ---- tests --------------------------------------------------------------------------------------

ORR_TEST(sparse_rows_are_reported_as_whole_blocks_are)
{
    (void)test_seed();
    begin_twins();
    for (uint32_t i = 0, ticks = test_rounds(40, 8, 200); i < ticks; i++) {
        draw(0);
        step_twins(0);
        CHECK(twins[0].hash_count[0] > 0 && twins[0].hash_count[3] >= 5);
        step_twins(0); // The same values again: nothing differs.
        CHECK_EQ(twins[0].hash_count[0] + twins[0].hash_count[1] + twins[0].hash_count[2] +
                     twins[0].hash_count[3],
                 0);
    }
    end_twins();
}

// One entity that is destroyed, moved or set from outside, in both worlds.
static void stir(void)
{
    uint32_t at = (uint32_t)(test_random() % script.rows);
    uint64_t what = test_random() % 4;
    for (uint32_t i = 0; i < 2; i++) {
        orr_world* world = twins[i].k.world;
        orr_entity one = twins[i].ids[at];
        bool alive = orr_alive(world, one);
        if (what == 0 && alive) {
            CHECK_OK(orr_destroy(world, one));
        } else if (what == 1 && alive) {
            CHECK_OK(orr_add(world, one, Frozen));
        } else if (what == 2 && alive) {
            CHECK_OK(orr_set(world, one, Position, {5, 6, 7}));
        }
    }
}

ORR_TEST(sparse_rows_with_structural_changes_and_writes_are_reported_as_whole_blocks_are)
{
    (void)test_seed();
    begin_twins();
    for (uint32_t i = 0, ticks = test_rounds(60, 10, 300); i < ticks; i++) {
        draw(0);
        script.written = test_random() % 3 == 0 ? (uint32_t)(test_random() % 900) : 0;
        for (uint64_t times = test_random() % 3; times > 0; times--) {
            stir();
        }
        for (uint32_t w = 0; w < script.written; w++) {
            script.written = orr_alive(twins[0].k.world, twins[0].ids[2 * w]) ? script.written : w;
        }
        step_twins(0);
    }
    end_twins();
}

// So many runs that the list of runs must grow for a system that lists its rows.
ORR_TEST(sparse_rows_after_many_runs_are_reported_with_any_refused_allocation)
{
    (void)test_seed();
    for (uint64_t fail_at = 0; fail_at < 12; fail_at++) {
        begin_twins();
        draw(2048);
        step_twins(0); // Lists and strips have their memory.
        draw(2048);
        script.written = 509; // Room grows by four; there is room for 512.
        step_twins(fail_at);
        end_twins();
    }
}

ORR_TEST(sparse_rows_are_reported_with_any_refused_allocation)
{
    (void)test_seed();
    for (uint32_t round = 0, rounds = test_rounds(6, 2, 20); round < rounds; round++) {
        begin_twins(); // Nothing is cached: every allocation of a tick can be refused.
        for (uint64_t fail_at = 1 + round; fail_at < 40; fail_at += 1 + rounds) {
            draw(0);
            step_twins(fail_at);
        }
        end_twins();
    }
}

// Memory of messages is kept for later messages, except under a limit, and except memory allocated
// under a limit.
ORR_TEST(sparse_rows_are_reported_with_a_memory_limit_and_without)
{
    (void)test_seed();
    begin_twins();
    orr_world* world = twins[0].k.world;
    for (uint32_t i = 0; i < 24; i++) {
        orr_world_memory_limit(world, i / 3 % 2 == 0 ? 0 : UINT64_C(1) << 40);
        draw(0);
        step_twins(0);
        uint32_t spares = 0;
        for (uint32_t s = 1; s < ORRI_SPARES; s++) {
            spares += world->messages->baseline->spares[s] != NULL;
        }
        CHECK(i / 3 % 2 == 0 || spares == 0 || i % 3 == 0);
        CHECK(i / 3 % 2 == 1 || spares > 0 || i % 3 == 0);
    }
    end_twins();
}
