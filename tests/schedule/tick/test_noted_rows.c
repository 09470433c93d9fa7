// SPDX-License-Identifier: MIT
// A diff that only compares the rows to which values were sent makes the same messages as a diff of
// everything: the same values in the same order, cut at the same places. Two worlds run the same
// ticks. In one of them a call writes a value before each tick, of a type that no reader tracks, so
// that its diffs compare everything.
#include "message/deliver/baseline.h"
#include "schedule/system_kit.h"

enum {
    CLUSTERS = 4,
    ROWS = 9000, // Of each cluster: ranges end within clusters.
    ALL = CLUSTERS * ROWS,
    MOST = 600 // Changes per tick: few, as the end of a system sees them.
};

typedef struct noting {
    kit k;
    orr_entity ids[ALL];
    orr_entity extra; // Has the type that no reader tracks.
    uint32_t positions, velocities, stride, first;
    uint64_t messages_hash; // Hash of all messages.
    uint32_t messages;
} noting;

static noting pair[2];

// ---- systems ------------------------------------------------------------------------------------

static void send(orr_run* run)
{
    const noting* n = orr_run_user(run);
    for (uint32_t i = 0; i < n->positions; i++) {
        orr_send_change(run, n->ids[(n->first + i * n->stride) % ALL], Position,
                        {(float)i, (float)orr_world_tick(run->world), 1});
    }
    for (uint32_t i = 0; i < n->velocities; i++) {
        orr_send_change(run, n->ids[(n->first + i * n->stride) % ALL], Velocity,
                        {(float)i, (float)orr_world_tick(run->world)});
    }
}

static void receive(orr_run* run)
{
    noting* n = orr_run_user(run);
    ORR_MESSAGES(m, run)
    {
        uint64_t head[4] = {(uint64_t)m->kind, (uint64_t)m->cause, m->count, m->system.id};
        n->messages_hash = orr_hash(head, sizeof head, n->messages_hash);
        n->messages_hash = orr_hash(m->entities, m->count * sizeof *m->entities, n->messages_hash);
        const Position* p = orr_values(m, Position);
        const Velocity* v = orr_values(m, Velocity);
        if (p != NULL) {
            n->messages_hash = orr_hash(p, m->count * sizeof *p, n->messages_hash);
        }
        if (v != NULL) {
            n->messages_hash = orr_hash(v, m->count * sizeof *v, n->messages_hash);
        }
        n->messages++;
    }
}

static void noting_begin(noting* n, uint32_t readers)
{
    orr_world* w = kit_begin(&n->k, &(orr_world_desc){0});
    ORR_REGISTER(w, Position, Velocity, Frozen, Health);
    const orr_cluster clusters[CLUSTERS] = {
        KIT_CLUSTER(w, Position, Velocity), KIT_CLUSTER(w, Position),
        KIT_CLUSTER(w, Position, Velocity, Frozen), KIT_CLUSTER(w, Velocity)};
    for (uint32_t c = 0; c < CLUSTERS; c++) {
        CHECK_OK(orr_create_many(w, clusters[c], ROWS, NULL, 0, n->ids + c * ROWS));
    }
    n->extra = orr_create(w);
    CHECK_OK(orr_set(w, n->extra, Health, {0, 0}));
    KIT_SYSTEM(w, .name = "send", .kind = ORR_INDIRECT, .query = "?write Position, ?write Velocity",
               .run = send, .user = n, .impure = true);
    KIT_SYSTEM(w, .name = "receive", .kind = ORR_INDIRECT, .query = "Position, ?Velocity",
               .run = receive, .user = n);
    if (readers > 1) { // It selects some of the rows of a cluster, so rows are compared one by one.
        KIT_SYSTEM(w, .name = "receive_more", .kind = ORR_INDIRECT, .query = "Velocity, !Frozen",
                   .run = receive, .user = n);
    }
    KIT_STEP(w, 3);
}

// One tick of both worlds.
static void noting_step(uint32_t positions, uint32_t velocities, uint32_t stride, uint32_t first)
{
    for (uint32_t i = 0; i < 2; i++) {
        noting* n = &pair[i];
        orr_world* w = n->k.world;
        n->positions = positions;
        n->velocities = velocities;
        n->stride = stride;
        n->first = first;
        if (i == 1) {
            CHECK_OK(orr_set(w, n->extra, Health, {(int32_t)orr_world_tick(w), 0}));
        }
        CHECK(orri_diff_quiet(w) == (i == 0)); // Only then the two compare different things.
        // Changes of a type that an entity lacks are dropped.
        orr_result result = orr_step(w, 1);
        CHECK(result == ORR_OK || result == ORR_ERR_ABSENT);
        n->k.errors = (kit_errors){0};
        CHECK(w->noted > 0);
    }
    CHECK_EQ(pair[0].messages, pair[1].messages);
    CHECK_EQ(pair[0].messages_hash, pair[1].messages_hash);
}

static void noting_play(uint32_t readers)
{
    memset(pair, 0, sizeof pair);
    noting_begin(&pair[0], readers);
    noting_begin(&pair[1], readers);
    noting_step(1, 0, 1, 17);         // One row of one block.
    noting_step(1, 1, 1, 2 * ROWS);   // Of two types.
    noting_step(40, 0, 1, 100);       // Neighbours.
    noting_step(40, 40, 1, 2040);     // In two blocks.
    noting_step(300, 0, 97, 5);       // In all clusters, in several ranges.
    noting_step(MOST, MOST, 1, 8700); // Many in a few blocks, across the end of a cluster.
    for (uint32_t i = 0; i < 12; i++) {
        noting_step((uint32_t)test_random() % MOST + 1, (uint32_t)test_random() % MOST,
                    (uint32_t)test_random() % 200 + 1, (uint32_t)test_random() % ALL);
    }
    uint32_t messages = pair[0].messages;
    noting_step(0, 0, 1, 0); // The last changes are read in this tick.
    noting_step(0, 0, 1, 0);
    CHECK(pair[0].messages <= messages + 16);
    kit_end(&pair[0].k);
    kit_end(&pair[1].k);
}

ORR_TEST(noted_rows_give_the_messages_of_a_diff_of_everything)
{
    noting_play(1);
}

ORR_TEST(noted_rows_give_several_readers_the_messages_of_a_diff_of_everything)
{
    noting_play(2);
}

// A tick in which nothing is written compares nothing, and says so; a write by any other way than a
// sent value ends that.
ORR_TEST(any_write_that_is_not_noted_makes_the_next_diff_look_at_everything)
{
    memset(pair, 0, sizeof pair);
    noting* n = &pair[0];
    noting_begin(n, 1);
    orr_world* w = n->k.world;
    CHECK(orri_diff_quiet(w));
    orr_entity e = n->ids[1];
    CHECK_OK(orr_set(w, e, Position, {5, 6, 7}));
    CHECK(!orri_diff_quiet(w));
    KIT_STEP(w, 2);
    CHECK(orri_diff_quiet(w));
    CHECK_OK(orr_entity_enable(w, e, false));
    CHECK(!orri_diff_quiet(w));
    KIT_STEP(w, 2);
    CHECK_OK(orr_destroy(w, e));
    CHECK(!orri_diff_quiet(w));
    KIT_STEP(w, 2);
    CHECK_OK(orr_remove(w, n->ids[2], Position));
    CHECK(!orri_diff_quiet(w));
    KIT_STEP(w, 2);
    CHECK(orri_diff_quiet(w));
    orr_query* query = orr_query_create(w, &(orr_query_desc){.text = "write Position"});
    ORR_EACH (it, query) {
        orr_write(&it, Position)[0].x += 1;
    }
    CHECK(!orri_diff_quiet(w));
    KIT_STEP(w, 2);
    CHECK(orri_diff_quiet(w));
    kit_end(&n->k);
}
