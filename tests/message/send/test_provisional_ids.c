// SPDX-License-Identifier: MIT
// Provisional entity ids: creations beyond the ids that a command buffer has reserved.
#include "message/command_kit.h"
#include "message/send/command_buffer.h"
#include "test.h"

typedef struct ids_test {
    command_kit k;
    orr_world* world;
    sender s[3];
} ids_test;

static void begin(ids_test* t)
{
    *t = (ids_test){0};
    t->world = command_kit_begin(&t->k, NULL);
    for (uint32_t i = 0; i < 3; i++) {
        static const char* const names[] = {"first", "second", "third"};
        sender_begin_free(&t->s[i], t->world, names[i], i + 1);
    }
}

static bool is_provisional(orr_entity entity)
{
    return (orri_id_generation(entity) & ORRI_DEAD) != 0;
}

static orr_entity counted(ids_test* t, orr_run* run, int32_t n)
{
    orr_entity entity = orr_send_create(run);
    CHECK(entity.id != 0);
    CHECK_OK(orr_send_add_type(run, entity, t->k.count, &(Count){n}, NULL));
    return entity;
}

// The entity with an index.
static orr_entity at(const ids_test* t, uint32_t index)
{
    return orri_id_make(index, orri_record_at(t->world, index)->generation);
}

// The live entity whose Count is n; null: none.
static orr_entity alive_of(const ids_test* t, int32_t n)
{
    for (uint32_t i = 0; i < t->world->hot.count; i++) {
        bool alive = orr_alive(t->world, at(t, i));
        const Count* count = alive ? orr_get(t->world, at(t, i), Count) : NULL;
        if (count != NULL && count->n == n) {
            return at(t, i);
        }
    }
    return (orr_entity){0};
}

ORR_TEST(provisional_ids_become_ids_in_the_order_of_buffers_after_the_reserved_ones)
{
    ids_test t;
    begin(&t);
    orr_run* runs[3];
    for (uint32_t i = 0; i < 3; i++) {
        runs[i] = sender_open_unlimited(&t.s[i], i);
    }
    for (uint32_t i = 3; i-- > 0;) { // The order of sending does not matter.
        for (uint32_t n = 0; n < 3; n++) {
            CHECK(is_provisional(counted(&t, runs[i], (int32_t)(10 * i + n))) == (n >= i));
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        sender_close(&t.s[i]);
    }
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_OK(sender_end(&t.s[i]));
    }
    CHECK_OK(orri_commit(t.world));
    // Reserved: one of buffer 1, two of buffer 2; then the others.
    static const int32_t expected[] = {10, 20, 21, 0, 1, 2, 11, 12, 22};
    for (uint32_t i = 0; i < 9; i++) {
        CHECK_EQ(alive_of(&t, expected[i]).id, at(&t, i).id);
    }
    CHECK_EQ(orr_entity_count(t.world), 9);
    CHECK_OK(orr_world_validate(t.world));
    command_kit_end(&t.k);
}

ORR_TEST(provisional_ids_are_replaced_in_every_command)
{
    ids_test t;
    begin(&t);
    orr_entity old = orr_create(t.world);
    CHECK_OK(orr_set(t.world, old, Count, {-1}));
    orr_run* run = sender_open_unlimited(&t.s[0], 0);
    orr_entity a = counted(&t, run, 1), b = counted(&t, run, 2), gone = counted(&t, run, 3);
    CHECK_OK(orr_send_add_type(run, a, t.k.link, &(Link){b, 5}, NULL));
    CHECK_OK(orr_send_add_type(run, b, t.k.owner, &(Owner){a}, NULL));
    CHECK_OK(orr_send_add_type(run, old, t.k.link, &(Link){a, 6}, NULL));
    CHECK_OK(orr_send_add_type(run, a, t.k.collider, &(Collider){7}, NULL));
    CHECK_OK(orr_send_add_type(run, a, t.k.anchor, &(Anchor){8, 9}, NULL));
    CHECK_OK(orr_send_change_type(run, a, t.k.count, 0, &(Count){11}));
    CHECK_OK(orr_send_tag(run, b, 17, true));
    CHECK_OK(orr_send_name(run, a, (orr_entity){0}, "alpha"));
    CHECK_OK(orr_send_name(run, b, a, "beta"));
    CHECK_OK(orr_send_enable_type(run, b, t.k.count, 0, false));
    CHECK_OK(orr_send_remove_type(run, b, t.k.count, 0));
    CHECK_OK(orr_send_destroy(run, gone));
    sender_commit(&t.s[0]);
    orr_entity alpha = orr_get(t.world, old, Link)->target;
    CHECK(orr_alive(t.world, alpha) && !is_provisional(alpha));
    CHECK_EQ(orr_get(t.world, alpha, Count)->n, 11);
    CHECK_EQ(orr_get(t.world, alpha, Anchor)->y, 9);
    CHECK_EQ(orr_find(t.world, (orr_entity){0}, "alpha").id, alpha.id);
    orr_entity beta = orr_get(t.world, alpha, Link)->target;
    CHECK_EQ(orr_get(t.world, beta, Owner)->of.id, alpha.id);
    CHECK_EQ(orr_find(t.world, alpha, "beta").id, beta.id);
    CHECK(orr_tag_has(t.world, beta, 17) && !orr_has(t.world, beta, Count));
    CHECK_EQ(orr_entity_count(t.world), 3);
    CHECK_EQ(t.s[0].rights.counts.dropped, 0);
    CHECK(!orr_alive(t.world, a) && !orr_alive(t.world, b));
    command_kit_end(&t.k);
}

ORR_TEST(provisional_ids_of_a_bulk_creation_follow_its_reserved_ones)
{
    enum {
        COUNT = 100
    };
    ids_test t;
    begin(&t);
    orr_run* run = sender_open_unlimited(&t.s[0], 30);
    Count counts[COUNT];
    orr_entity ids[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        counts[i].n = i;
    }
    orr_cluster cluster = KIT_CLUSTER(t.world, Count);
    orr_column_data data = {t.k.count, counts};
    CHECK_OK(orr_send_create_many(run, cluster, COUNT, &data, 1, ids));
    CHECK(!is_provisional(ids[29]) && is_provisional(ids[30]));
    CHECK_OK(orr_send_create_many(run, cluster, COUNT, &data, 1, NULL));
    CHECK_OK(orr_send_add_type(run, ids[50], t.k.link, &(Link){ids[51], 1}, NULL));
    sender_commit(&t.s[0]);
    CHECK_EQ(orr_entity_count(t.world), 2 * COUNT);
    CHECK_EQ(t.s[0].rights.counts.dropped, 0);
    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        orr_entity entity = at(&t, i);
        CHECK_EQ(orr_get(t.world, entity, Count)->n, (int32_t)(i % COUNT));
        const Link* link = orr_get(t.world, entity, Link);
        CHECK((link != NULL) == (i == 50));
        CHECK(link == NULL || orri_id_index(link->target) == 51);
    }
    command_kit_end(&t.k);
}

// Sends from two buffers and fails the request number n of their end and commit. Returns the hash.
static uint64_t refused_run(uint64_t n, bool* refused)
{
    ids_test t;
    begin(&t);
    orr_entity old = orr_create(t.world);
    CHECK_OK(orr_set(t.world, old, Link, {{0}, 0}));
    uint64_t before = orr_world_hash(t.world);
    for (uint32_t s = 0; s < 2; s++) {
        orr_run* run = sender_open_unlimited(&t.s[s], 4);
        orr_entity last = {0};
        for (int32_t i = 0; i < 300; i++) {
            orr_entity entity = counted(&t, run, i);
            CHECK_OK(orr_send_add_type(run, entity, t.k.link, &(Link){last, (uint32_t)i}, NULL));
            last = entity;
        }
        CHECK_OK(orr_send_change_type(run, old, t.k.link, 0, &(Link){last, 1}));
    }
    sender_close(&t.s[0]);
    sender_close(&t.s[1]);
    failing_alloc_arm(&t.k.k.memory, n, false);
    orr_result result = sender_end(&t.s[0]);
    result = result == ORR_OK ? sender_end(&t.s[1]) : result;
    result = result == ORR_OK ? orri_commit(t.world) : result;
    *refused = t.k.k.memory.refused > 0;
    failing_alloc_arm(&t.k.k.memory, 0, false);
    if (result != ORR_OK) {
        CHECK_EQ(result, ORR_ERR_MEMORY);
        CHECK(orr_world_hash(t.world) == before);
        CHECK_OK(sender_end(&t.s[0]));
        CHECK_OK(sender_end(&t.s[1]));
        CHECK_OK(orri_commit(t.world));
    }
    CHECK_OK(orr_world_validate(t.world));
    CHECK_EQ(orr_entity_count(t.world), 601);
    CHECK_EQ(t.s[0].rights.counts.dropped + t.s[1].rights.counts.dropped, 0);
    CHECK(orr_alive(t.world, orr_get(t.world, old, Link)->target));
    uint64_t hash = orr_world_hash(t.world);
    command_kit_end(&t.k);
    return hash;
}

ORR_TEST(provisional_ids_refused_commit_changes_nothing_and_can_be_repeated)
{
    bool refused = true;
    uint64_t expected = refused_run(0, &refused);
    refused = true;
    for (uint64_t n = 1; refused; n++) {
        CHECK(refused_run(n, &refused) == expected);
    }
}

ORR_TEST(provisional_ids_of_abandoned_commands_leave_no_trace)
{
    ids_test t;
    begin(&t);
    uint64_t hash = orr_world_hash(t.world);
    (void)counted(&t, sender_open_unlimited(&t.s[0], 0), 1);
    sender_close(&t.s[0]);
    orri_commit_abandon(t.world);
    CHECK(orr_world_hash(t.world) == hash);
    (void)counted(&t, sender_open_unlimited(&t.s[0], 0), 2);
    sender_commit(&t.s[0]);
    CHECK_EQ(alive_of(&t, 2).id, at(&t, 0).id);
    command_kit_end(&t.k);
}

ORR_TEST(provisional_ids_survive_encoding)
{
    ids_test t;
    begin(&t);
    orri_command_bytes bytes = {.bytes = {.env = &t.world->env}};
    for (uint32_t pass = 0; pass < 2; pass++) {
        orr_run* run = sender_open_unlimited(&t.s[0], 0);
        if (pass == 0) {
            orr_entity last = {0};
            for (int32_t i = 0; i < 7; i++) {
                orr_entity entity = counted(&t, run, i);
                CHECK_OK(orr_send_add_type(run, entity, t.k.link, &(Link){last, 1}, NULL));
                last = entity;
            }
            orri_command_buffer_put(run->commands, &bytes);
            CHECK(!bytes.bytes.failed);
        } else {
            orri_bytes_reader in = {bytes.bytes.data, bytes.bytes.count, 0, false};
            CHECK(orri_command_buffer_get(run->commands, &in, &bytes));
        }
        sender_close(&t.s[0]);
        CHECK_OK(sender_end(&t.s[0]));
        CHECK_OK(orri_commit(t.world));
        CHECK_EQ(orr_entity_count(t.world), 7);
        for (int32_t i = 1; i < 7; i++) {
            const Link* link = orr_get(t.world, alive_of(&t, i), Link);
            CHECK_EQ(orr_get(t.world, link->target, Count)->n, i - 1);
        }
        for (int32_t i = 0; i < 7; i++) {
            CHECK_OK(orr_destroy(t.world, alive_of(&t, i)));
        }
    }
    ORRI_RELEASE(bytes.bytes.env, ORR_MEMORY_SYSTEM, bytes.bytes.data, bytes.bytes.capacity);
    command_kit_end(&t.k);
}
