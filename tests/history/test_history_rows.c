// SPDX-License-Identifier: MIT
// A history of ticks in which systems write a few values each, by all kinds of access. Rows are
// logged instead of copying blocks (see the row log of the store), and travelling back and forward
// gives every tick as it was. A reader outside the world keeps a mirror, so that versions and dirty
// rows are checked, too.
#include "history/history_kit.h"

#define CROWD 3000u
#define TICKS 24u

typedef struct crowd {
    kit k;
    orr_world* world;
    orr_entity ids[CROWD];
    Health mirror[CROWD];
    uint64_t hashes[TICKS + 1];
} crowd;

static crowd c;

static uint32_t pick(uint64_t tick, uint32_t i)
{
    return (uint32_t)(orr_random(3, tick, i, 0) % CROWD);
}

static void send_some(orr_run* run)
{
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_OK(orr_send_change(run, c.ids[pick(run->tick, i)], Health, {(int32_t)run->tick, 1}));
    }
}

static void transact_some(orr_run* run)
{
    int32_t one = 1;
    for (uint32_t i = 5; i < 10; i++) {
        CHECK_OK(orr_transact_field(run, ORR_OP_ADD, c.ids[pick(run->tick, i)],
                                    orr_type_of(run->world, ORR_TYPE(Health)), 0,
                                    offsetof(Health, armour), sizeof one, &one));
    }
}

static void set_some(orr_run* run)
{
    for (uint32_t i = 10; i < 15; i++) {
        orr_edit(run->world, c.ids[pick(run->tick, i)], Velocity)->x += 1;
    }
}

static void mirror_take(orr_entity entity, const Health* value)
{
    for (uint32_t i = 0; i < CROWD; i++) { // Ids were given in order.
        uint32_t at = ((uint32_t)entity.id - (uint32_t)c.ids[0].id + i) % CROWD;
        if (c.ids[at].id == entity.id) {
            c.mirror[at] = *value;
            return;
        }
    }
    test_fail(__FILE__, __LINE__, "a message names an unknown entity");
}

static void mirror_receive(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        for (uint32_t i = 0; i < m->count; i++) {
            if (m->kind == ORR_ENTITY_ADDED) {
                mirror_take(m->entities[i], (const Health*)m->columns[0].values + i);
            } else if (m->kind == ORR_COMPONENT_CHANGED) {
                mirror_take(m->entities[i], (const Health*)m->values + i);
            }
        }
    }
}

static void crowd_begin(uint32_t workers)
{
    memset(&c, 0, sizeof c);
    c.world = kit_begin(&c.k, &(orr_world_desc){.workers = workers});
    ORR_REGISTER(c.world, Position, Velocity, Health);
    orr_cluster cluster = KIT_CLUSTER(c.world, Position, Velocity, Health);
    CHECK_OK(orr_create_many(c.world, cluster, CROWD, NULL, 0, c.ids));
    KIT_SYSTEM(c.world, .name = "send", .once = true, .changes = "Health", .run = send_some);
    KIT_SYSTEM(c.world, .name = "post", .once = true, .transacts = "Health", .run = transact_some);
    KIT_SYSTEM(c.world, .name = "set", .once = true, .by_id = "write Velocity", .run = set_some);
    KIT_SYSTEM(c.world, .name = "mirror", .kind = ORR_INDIRECT, .query = "Health",
               .run = mirror_receive, .user = &c);
}

static void mirror_check(void)
{
    for (uint32_t i = 0; i < CROWD; i++) {
        const Health* now = orr_get(c.world, c.ids[i], Health);
        CHECK_EQ(now->value, c.mirror[i].value);
        CHECK_EQ(now->armour, c.mirror[i].armour);
    }
}

static void crowd_run(bool remembers)
{
    for (uint64_t tick = orr_world_tick(c.world); tick < TICKS; tick++) {
        KIT_STEP(c.world, 1);
        uint64_t hash = orr_world_hash(c.world);
        CHECK(c.hashes[tick + 1] == 0 || c.hashes[tick + 1] == hash);
        c.hashes[tick + 1] = hash;
        if (remembers) {
            CHECK_OK(orr_remember(c.world));
        }
    }
}

ORR_TEST(history_of_few_writes_per_tick_logs_rows_instead_of_blocks)
{
    for (uint32_t workers = 0; workers < 3; workers += 2) {
        crowd_begin(workers);
        KIT_STEP(c.world, 1);
        CHECK_OK(orr_remember(c.world));
        KIT_STEP(c.world, 1);
        CHECK_OK(orr_remember(c.world));
        uint64_t before = stats_of(c.world).bytes;
        crowd_run(true);
        uint64_t per_tick = (stats_of(c.world).bytes - before) / (TICKS - 2);
        CHECK(per_tick < 8000); // A copy of the blocks of Health and Velocity takes 48,000.
        kit_end(&c.k);
    }
}

ORR_TEST(history_of_rows_restores_every_tick)
{
    for (uint32_t workers = 0; workers < 3; workers += 2) {
        crowd_begin(workers);
        crowd_run(false); // Reference run without a history.
        uint64_t straight[TICKS + 1];
        memcpy(straight, c.hashes, sizeof straight);
        kit_end(&c.k);
        crowd_begin(workers);
        memcpy(c.hashes, straight, sizeof straight);
        crowd_run(true);
        mirror_check();
        static const uint64_t visits[] = {3, 20, 11, 12, 2, TICKS, 4, 7};
        for (uint32_t i = 0; i < sizeof visits / sizeof visits[0]; i++) {
            CHECK_OK(orr_time_travel(c.world, visits[i]));
            CHECK_EQ(orr_world_hash(c.world), straight[visits[i]]);
            if (i % 3 == 1) {
                CHECK_OK(orr_forget(c.world, visits[i] - 1)); // From the middle.
            }
        }
        crowd_run(true); // From tick 7 on: a new timeline with equal ticks.
        mirror_check();
        CHECK_OK(orr_time_travel(c.world, 12));
        CHECK_EQ(orr_world_hash(c.world), straight[12]);
        KIT_STEP(c.world, 1);
        CHECK_EQ(orr_world_hash(c.world), straight[13]);
        mirror_check();
        CHECK_EQ(stats_of(c.world).lost, 0);
        kit_end(&c.k);
    }
}

// Entities are created, destroyed and changed one by one between ticks; each change can be undone.
ORR_TEST(history_of_single_edits_is_small_and_undoes_each)
{
    kit k;
    orr_world* world = begin(&k);
    orr_entity ids[500];
    orr_cluster cluster = KIT_CLUSTER(world, Position, Velocity, Big);
    CHECK_OK(orr_create_many(world, cluster, 500, NULL, 0, ids));
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 100}));
    uint64_t hashes[61];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i <= 60; i++) {
        orr_tick_advance(world);
        switch (i % 6) {
        case 0:
            CHECK_OK(orr_set(world, ids[i], Position, {(float)i, 0, 0}));
            break;
        case 1:
            CHECK_OK(orr_destroy(world, ids[i + 100]));
            break;
        case 2:
            CHECK(orr_create_in(world, cluster).id != 0);
            break;
        case 3:
            CHECK_OK(orr_remove(world, ids[i], Velocity));
            break;
        case 4:
            orr_edit(world, ids[499], Big)->words[3] = i;
            break;
        default:
            CHECK_OK(orr_set(world, ids[i - 2], Velocity, {1, 2}));
            break;
        }
        hashes[i] = orr_world_hash(world);
        bytes = i == 10 ? stats_of(world).bytes : bytes;
    }
    CHECK((stats_of(world).bytes - bytes) / 50 <
          8000); // The blocks have 130,000 bytes, a page 4,000.
    for (uint32_t i = 60; i-- > 10;) {
        CHECK_OK(orr_time_travel(world, i + 1));
        CHECK_EQ(orr_world_hash(world), hashes[i]);
    }
    for (uint32_t i = 11; i <= 60; i++) {
        CHECK_OK(orr_time_travel(world, i + 1));
        CHECK_EQ(orr_world_hash(world), hashes[i]);
    }
    CHECK_EQ(stats_of(world).lost, 0);
    kit_end(&k);
}

// ---- rows created and destroyed by commits ------------------------------------------------------

static void replace_some(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        if (orr_run_random(run, entity) % 1000 == 0) {
            orr_send_destroy(run, entity);
            orr_entity another = orr_send_create(run);
            orr_send_add(run, another, Position, {(float)run->tick, 0, 0});
            orr_send_add(run, another, Velocity, {1, 0});
            orr_send_add(run, another, Health, {(int32_t)run->tick, 2});
        }
    }
}

// Runs 40 ticks and travels between them. Returns the bytes of the history.
static uint64_t replace_run(uint32_t creates_max)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Position, Velocity, Health);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Velocity, Health);
    CHECK_OK(orr_create_many(world, cluster, CROWD, NULL, 0, NULL));
    KIT_SYSTEM(world, .name = "replace", .query = "Health", .run = replace_some,
               .creates = "Position, Velocity, Health", .creates_max = creates_max,
               .destroys = "Health");
    KIT_STEP(world, 20);
    CHECK_OK(orr_history_set(world, &(orr_history_desc){.recent = 100}));
    uint64_t hashes[41];
    hashes[0] = orr_world_hash(world);
    uint64_t begun = orr_world_tick(world);
    for (uint32_t i = 1; i <= 40; i++) {
        KIT_STEP(world, 1);
        hashes[i] = orr_world_hash(world);
    }
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t to = (uint32_t)(orr_random(9, i, 0, 0) % 41);
        CHECK_OK(orr_time_travel(world, begun + to));
        CHECK(orr_world_hash(world) == hashes[to]);
    }
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
    return stats.bytes;
}

// Three of three thousand rows per tick: rows are logged instead of copying all columns of their
// chunks. Reserving an id for every row costs nothing.
ORR_TEST(history_of_commits_costs_created_and_destroyed_rows)
{
    uint64_t few = replace_run(64), any = replace_run(0);
    // All columns of both chunks take 32 bytes per row, 36 with ids.
    CHECK(few < 40u * CROWD * 36 / 2);
    CHECK(any < few + few / 4);
}
