// SPDX-License-Identifier: MIT
// Readers receive exactly the values that differ, whichever system wrote them and however few they
// are: sent changes that are few, many or equal to the old values, together with writes in place by
// systems and by calls between ticks, with rows that are created, destroyed and moved, and with
// refused memory. After every tick the mirror of an indirect system is compared with the world; the
// values it received are counted.
#include "schedule/system_kit.h"

enum {
    ROWS = 5000, // Three chunks.
    FEW = 40
};

typedef struct touching {
    kit k;
    orr_entity ids[ROWS + 1000];
    uint32_t count;
    uint32_t few, many;    // Changes that systems send in the next tick.
    uint32_t neighbours;   // Neighbouring rows of each chunk that a system sends.
    uint32_t written;      // One row in so many is written in place; 0: none.
    bool mixed;            // Both, by one system.
    bool same;             // The sent values equal the old ones.
    Position mirror[8192]; // By index.
    bool known[8192];      // Reported as present.
    uint64_t received;     // Values received;
    uint64_t idle;         // of these: equal to the old value.
} touching;

static touching t;

static uint32_t index_of(orr_entity entity)
{
    uint32_t index = (uint32_t)entity.id;
    CHECK(index < 8192);
    return index;
}

// ---- systems ------------------------------------------------------------------------------------

static void send_some(orr_run* run, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        orr_entity entity = t.ids[test_random() % t.count];
        const Position* now = orr_get(run->world, entity, Position);
        if (now == NULL) {
            continue;
        }
        float x = t.same ? now->x : (float)(test_random() % 1000);
        orr_send_change(run, entity, Position, {x, now->y, now->z});
    }
}

static void send_few(orr_run* run)
{
    send_some(run, t.few);
}

static void send_many(orr_run* run)
{
    send_some(run, t.many);
}

// Writes in place, and sends: both are reported when the system has ended.
static void write_some(orr_run* run)
{
    if (t.written == 0) {
        return;
    }
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].y += test_random() % t.written == 0;
        if (i == 7) {
            orr_send_change(run, orr_iter_entity(run, i), Position, {1, p[i].y, 2});
        }
    }
}

// Few changes from its first rows, many from its last: each run of rows has its own command buffer,
// and all are committed at the end of the system.
static void send_mixed(orr_run* run)
{
    if (t.mixed) {
        send_some(run, orr_iter_entity(run, 0).id == t.ids[0].id ? FEW : ROWS / 4);
    }
}

// Rows next to each other: of neighbouring entities or, after some were destroyed, of any.
static void send_neighbours(orr_run* run)
{
    const Position* p = orr_read(run, Position);
    for (uint32_t i = 60; i < 60 + t.neighbours && i < run->count; i++) {
        float x = t.same || i % 11 == 0 ? p[i].x : (float)(test_random() % 1000);
        orr_send_change(run, orr_iter_entity(run, i), Position, {x, p[i].y, p[i].z});
    }
}

static void receive(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        const Position* p = orr_values(m, Position);
        for (uint32_t i = 0; i < m->count; i++) {
            uint32_t index = index_of(m->entities[i]);
            t.known[index] = m->kind != ORR_ENTITY_REMOVED;
            if (m->kind == ORR_COMPONENT_CHANGED) {
                t.received++;
                t.idle += memcmp(&t.mirror[index], &p[i], sizeof *p) == 0;
            }
            if (p != NULL) {
                t.mirror[index] = p[i];
            }
        }
    }
}

// ---- world and mirror ---------------------------------------------------------------------------

static void touching_begin(uint32_t workers)
{
    t = (touching){.count = ROWS};
    orr_world* world = kit_begin(&t.k, &(orr_world_desc){.workers = workers});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    ORR_REGISTER(world, Position, Frozen);
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), ROWS, NULL, 0, t.ids));
    KIT_SYSTEM(world, .name = "few", .once = true, .by_id = "Position", .changes = "Position",
               .run = send_few);
    KIT_SYSTEM(world, .name = "write", .query = "write Position", .changes = "Position",
               .run = write_some);
    KIT_SYSTEM(world, .name = "mixed", .query = "Position", .by_id = "Position",
               .changes = "Position", .run = send_mixed);
    KIT_SYSTEM(world, .name = "neighbours", .query = "Position", .changes = "Position",
               .run = send_neighbours);
    KIT_SYSTEM(world, .name = "many", .once = true, .by_id = "Position", .changes = "Position",
               .run = send_many);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position", .run = receive,
               .user = &t);
    KIT_STEP(world, 1);
}

static void check_mirror(void)
{
    uint32_t known = 0, alive = 0;
    for (uint32_t i = 0; i < t.count; i++) {
        const Position* p = orr_alive(t.k.world, t.ids[i]) ? orr_get(t.k.world, t.ids[i], Position)
                                                           : NULL;
        if (p != NULL) {
            alive++;
            CHECK(t.known[index_of(t.ids[i])]);
            CHECK(memcmp(p, &t.mirror[index_of(t.ids[i])], sizeof *p) == 0);
        }
    }
    for (uint32_t i = 0; i < 8192; i++) {
        known += t.known[i];
    }
    CHECK_EQ(known, alive);
    CHECK_EQ(t.idle, 0); // Only differences.
}

// One tick with the given allocation refused (0: none).
static void touching_step(uint64_t fail_at)
{
    failing_alloc_arm(&t.k.memory, fail_at, false);
    orr_result result = orr_step(t.k.world, 1);
    failing_alloc_arm(&t.k.memory, 0, false);
    while (orr_tick_open(t.k.world)) {
        result = orr_step(t.k.world, 1);
    }
    // A change of a dead entity may have been sent.
    CHECK(result == ORR_OK || result == ORR_ERR_ENTITY || fail_at != 0);
    t.k.errors = (kit_errors){0};
}

ORR_TEST(few_sent_changes_are_reported_and_nothing_else)
{
    touching_begin(0);
    t.received = 0;
    t.few = FEW;
    touching_step(0);
    check_mirror();
    CHECK(t.received > FEW / 2 && t.received <= FEW);
    t.same = true;
    t.received = 0;
    touching_step(0);
    CHECK_EQ(t.received, 0);
    kit_end(&t.k);
}

// Values written in place before are reported, too: the same blocks, and another epoch.
ORR_TEST(sent_changes_and_values_written_in_place_are_all_reported)
{
    touching_begin(0);
    t.received = 0;
    t.written = 3;
    touching_step(0);
    check_mirror();
    CHECK(t.received > ROWS / 4);
    t.few = t.many = FEW;
    touching_step(0);
    check_mirror();
    kit_end(&t.k);
}

ORR_TEST(sent_changes_few_and_many_of_one_system_are_all_reported)
{
    touching_begin(0);
    t.mixed = true;
    for (uint32_t i = 0; i < 4; i++) {
        touching_step(0);
        check_mirror();
    }
    kit_end(&t.k);
}

ORR_TEST(sent_changes_of_neighbouring_rows_are_reported_and_nothing_else)
{
    touching_begin(0);
    for (uint32_t round = 0; round < 4; round++) {
        t.neighbours = round == 0 ? 7 : 40 * round; // 40: in one word of bits, and in two.
        t.received = 0;
        touching_step(0);
        check_mirror();
        CHECK(t.received > 3 * t.neighbours / 2 && t.received <= 3 * t.neighbours);
        t.same = true;
        t.received = 0;
        touching_step(0);
        CHECK_EQ(t.received, 0);
        t.same = false;
        t.neighbours = 0;
        for (uint32_t i = 0; i < 50; i++) { // Later rows take their places.
            CHECK_OK(orr_destroy(t.k.world, t.ids[50 + round + i * 4]));
        }
        touching_step(0);
        check_mirror();
    }
    kit_end(&t.k);
}

// One step: what is sent, written, created, destroyed and moved is chosen at random.
static void stir_one(orr_world* world)
{
    t.few = test_random() % 2 == 0 ? (uint32_t)(test_random() % FEW) : 0;
    t.many = test_random() % 4 == 0 ? (uint32_t)(test_random() % ROWS) : 3;
    t.written = test_random() % 3 == 0 ? 5 : 0;
    t.mixed = test_random() % 4 == 0;
    t.neighbours = test_random() % 3 == 0 ? (uint32_t)(test_random() % 100) : 0;
    t.same = test_random() % 8 == 0;
    orr_entity one = t.ids[test_random() % t.count];
    switch (orr_alive(world, one) ? test_random() % 5 : 5) {
    case 0:
        CHECK_OK(orr_destroy(world, one));
        break;
    case 1:
        CHECK_OK(orr_add(world, one, Frozen));
        break;
    case 2:
        CHECK_OK(orr_set(world, one, Position, {5, 6, (float)t.received}));
        break;
    case 3:
        t.ids[t.count] = orr_create(world);
        CHECK_OK(orr_set(world, t.ids[t.count], Position, {1, 2, 3}));
        t.count++;
        break;
    default:
        break;
    }
}

static void stir(uint32_t workers, uint32_t ticks, bool refuse)
{
    touching_begin(workers);
    for (uint32_t i = 0; i < ticks; i++) {
        stir_one(t.k.world);
        touching_step(refuse ? 1 + test_random() % 40 : 0);
        check_mirror();
    }
    CHECK_OK(orr_world_validate(t.k.world));
    kit_end(&t.k);
}

ORR_TEST(mirror_of_random_writes_is_the_world_after_every_tick)
{
    (void)test_seed();
    uint32_t ticks = test_rounds(300, 40, 900);
    stir(0, ticks, false);
    stir(2, ticks, false);
}

ORR_TEST(mirror_of_random_writes_is_the_world_when_memory_is_refused)
{
    (void)test_seed();
    stir(0, test_rounds(300, 40, 900), true);
}
