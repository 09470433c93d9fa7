// SPDX-License-Identifier: MIT
// Command buffers of several pipelines at once: withheld ids, which pipeline gets which, and which
// are returned; shared transactions. By hand, and at random against a list of entities that must be
// alive.
#include "message/command_kit.h"
#include "message/send/command_buffer.h"
#include "message/transaction/transaction.h"
#include "store/cow/share.h"
#include "test.h"
#include <stdlib.h>

enum {
    SETS = 3
};

typedef struct buffers_test {
    command_kit k;
    orr_world* world;
    struct orri_command_buffers* sets[SETS];
    sender senders[SETS];
    uint64_t transacts[SENDER_WORDS];
} buffers_test;

static void begin(buffers_test* t, const orr_world_desc* desc)
{
    static const char* const names[SETS] = {"first", "second", "third"};
    memset(t, 0, sizeof *t);
    t->world = command_kit_begin(&t->k, desc);
    memset(t->transacts, 0xFF, sizeof t->transacts);
    for (uint32_t i = 0; i < SETS; i++) {
        t->sets[i] = orri_command_buffers_make(t->world);
        CHECK(t->sets[i] != NULL);
        sender_begin_free(&t->senders[i], t->world, names[i], i + 1);
        t->senders[i].rights.transacts = t->transacts;
    }
    t->world->realtime = true;
}

static void use(const buffers_test* t, uint32_t set)
{
    orri_command_buffers_use(t->world, t->sets[set]);
}

// As at a sync point: the whole world can be read.
static uint64_t hash_of(orr_world* world)
{
    bool realtime = world->realtime;
    world->realtime = false;
    CHECK_OK(orr_world_validate(world));
    uint64_t hash = orr_world_hash(world);
    world->realtime = realtime;
    CHECK(hash != 0);
    return hash;
}

static void end(buffers_test* t)
{
    for (uint32_t i = SETS; i-- > 0;) {
        use(t, i);
        CHECK(orri_command_buffers_return_ids(t->world));
        CHECK_EQ(orri_command_buffers_withheld_left(t->world), 0);
        orri_command_buffers_use(t->world, NULL);
        orri_command_buffers_destroy(t->world, t->sets[i]);
    }
    t->world->realtime = false;
    CHECK_OK(orr_world_validate(t->world));
    command_kit_end(&t->k);
}

static orr_run* opened(buffers_test* t, uint32_t set, uint32_t ids, uint32_t creates_max)
{
    use(t, set);
    CHECK(orri_command_buffers_withhold_ids(t->world, ids));
    return sender_open(&t->senders[set], creates_max);
}

static orr_result committed(buffers_test* t, uint32_t set)
{
    use(t, set);
    orr_result result = sender_end(&t->senders[set]);
    return result == ORR_OK ? orri_commit(t->world) : result;
}

static orr_entity created(orr_run* run, int32_t n)
{
    orr_entity entity = orr_send_create(run);
    CHECK(entity.id != 0);
    CHECK_OK(orr_send_add(run, entity, Count, {n}));
    return entity;
}

static int32_t count_of(const buffers_test* t, orr_entity entity)
{
    const Count* count = orr_get(t->world, entity, Count);
    return count != NULL ? count->n : -1;
}

// Free ids, the next one first.
static uint32_t line(const orr_world* world, uint32_t* out, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t i = world->index.free_first; i != ORRI_INDEX_NONE && count < most;
         i = orri_record_at(world, i)->place) {
        out[count++] = i;
    }
    return count;
}

// ---- withheld ids -------------------------------------------------------------------------------

static void some_free(orr_world* world, orr_entity* out, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        out[i] = orr_create(world);
    }
    for (uint32_t i = 0; i < count; i += 2) {
        CHECK_OK(orr_destroy(world, out[i]));
    }
}

ORR_TEST(withheld_ids_that_are_returned_leave_no_trace)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity made[8], withheld[4];
    some_free(world, made, 8);
    uint64_t hash = orr_world_hash(world);
    uint32_t before[8], after[8];
    CHECK_EQ(line(world, before, 8), 4);
    CHECK(before[0] == orri_id_index(made[6]) && before[3] == orri_id_index(made[0]));
    CHECK(orri_index_withhold(world, withheld, 2));
    CHECK_EQ(orri_id_index(withheld[0]), before[0]);
    CHECK_EQ(orri_id_index(withheld[1]), before[1]);
    CHECK_EQ(orri_id_generation(withheld[0]), orri_id_generation(made[6]) + 1);
    CHECK(!orr_alive(world, withheld[0]));
    CHECK_OK(orr_world_validate(world));
    CHECK(orri_index_withhold(world, withheld + 2, 1));
    // No entity gets them.
    orr_entity other = orr_create(world);
    CHECK_EQ(orri_id_index(other), before[3]);
    CHECK_OK(orr_destroy(world, other));
    CHECK(orri_index_return(world, withheld, 3));
    CHECK_EQ(line(world, after, 8), 4);
    CHECK(memcmp(before, after, 3 * sizeof *before) == 0);
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
    // Without the other entity: the same hash.
    kit_begin(&k, NULL);
    some_free(k.world, made, 8);
    CHECK(orri_index_withhold(k.world, withheld, 4));
    CHECK_EQ(k.world->index.free_count, 0);
    CHECK(orr_world_hash(k.world) != hash);
    CHECK(orri_index_return(k.world, withheld + 1, 3));
    CHECK(orri_index_return(k.world, withheld, 1));
    CHECK_EQ(orr_world_hash(k.world), hash);
    kit_end(&k);
}

ORR_TEST(withheld_ids_that_were_fresh_become_free)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.entities_max = 6});
    orr_entity made[2], withheld[4];
    some_free(world, made, 2);
    CHECK(orri_index_withhold(world, withheld, 4));
    CHECK_EQ(orri_id_index(withheld[0]), orri_id_index(made[0]));
    for (uint32_t i = 1; i < 4; i++) {
        CHECK_EQ(orri_id_index(withheld[i]), i + 1);
    }
    CHECK_EQ(world->hot.count, 5);
    CHECK_OK(orr_world_validate(world));
    // More than the world may have: none.
    CHECK(!orri_index_withhold(world, withheld, 2));
    CHECK_EQ(k.errors.result, ORR_ERR_CAPACITY);
    CHECK_EQ(world->hot.count, 5);
    CHECK(orri_index_return(world, withheld, 4));
    CHECK_EQ(world->index.free_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQ(orr_create(world).id, withheld[i].id);
    }
    CHECK_EQ(orri_id_index(orr_create(world)), 5);
    CHECK_EQ(orr_create(world).id, 0);
    kit_end(&k);
}

// A snapshot shares the page of the index: it is copied, or (memory) nothing is done.
ORR_TEST(withholding_ids_without_memory_is_all_or_nothing)
{
    for (uint32_t back = 0; back < 2; back++) {
        for (uint64_t n = 1;; n++) {
            kit k = {0};
            orr_world* world = kit_begin(&k, NULL);
            orr_entity made[8], withheld[5000];
            some_free(world, made, 8);
            CHECK(back == 0 || orri_index_withhold(world, withheld, 6));
            orr_tick_advance(world);
            orri_share* share = orri_share_page(world, 0, ORRI_SHARE_FROZEN);
            CHECK(share != NULL);
            uint64_t hash = orr_world_hash(world);
            failing_alloc_arm(&k.memory, n, false);
            bool done = back != 0 ? orri_index_return(world, withheld, 6)
                                  : orri_index_withhold(world, withheld, 5000);
            bool enough = k.memory.refused == 0;
            failing_alloc_arm(&k.memory, 0, false);
            CHECK_EQ(done, enough);
            CHECK(done || k.errors.result == ORR_ERR_MEMORY);
            CHECK(done || orr_world_hash(world) == hash);
            CHECK_OK(orr_world_validate(world));
            orri_share_release(world, share);
            kit_end(&k);
            if (enough) {
                CHECK(n > 1);
                break;
            }
        }
    }
}

// ---- command buffers ----------------------------------------------------------------------------

ORR_TEST(buffers_of_several_pipelines_reserve_different_ids)
{
    buffers_test t;
    begin(&t, NULL);
    orr_run* a = opened(&t, 0, 3, 3);
    orr_run* b = opened(&t, 1, 2, 2);
    orr_entity a1 = created(a, 1);
    orr_entity b1 = created(b, 11), b2 = created(b, 12);
    CHECK(a1.id != b1.id && a1.id != b2.id && b1.id != b2.id);
    // The second commits while the first sends.
    sender_close(&t.senders[1]);
    CHECK_OK(committed(&t, 1));
    orr_entity a2 = created(a, 2);
    CHECK(orr_alive(t.world, b1) && orr_alive(t.world, b2) && !orr_alive(t.world, a1));
    use(&t, 2); // Whichever set is current: a buffer knows its own set.
    orr_entity a3 = created(a, 3);
    CHECK_EQ(orr_send_create(a).id, 0);
    sender_close(&t.senders[0]);
    CHECK(!orri_commit_pending(t.world));
    use(&t, 0);
    CHECK(orri_commit_pending(t.world));
    CHECK_OK(orri_commit(t.world));
    CHECK_EQ(count_of(&t, a1), 1);
    CHECK_EQ(count_of(&t, a2), 2);
    CHECK_EQ(count_of(&t, a3), 3);
    CHECK_EQ(count_of(&t, b1), 11);
    CHECK_EQ(count_of(&t, b2), 12);
    CHECK_EQ(orr_entity_count(t.world), 5);
    end(&t);
}

ORR_TEST(buffers_keep_ids_that_were_reserved_and_not_used)
{
    buffers_test t;
    begin(&t, NULL);
    orr_run* run = opened(&t, 0, 5, 3);
    CHECK_EQ(orri_command_buffers_withheld_left(t.world), 2);
    orr_entity ids[5];
    memcpy(ids, t.sets[0]->withheld, sizeof ids);
    CHECK_EQ(created(run, 1).id, ids[0].id);
    sender_close(&t.senders[0]);
    run = sender_open(&t.senders[0], 2);
    CHECK_EQ(orri_command_buffers_withheld_left(t.world), 0);
    CHECK_EQ(created(run, 2).id, ids[3].id);
    sender_close(&t.senders[0]);
    CHECK_OK(committed(&t, 0));
    // Unused ids come first, in order.
    CHECK_EQ(orri_command_buffers_withheld_left(t.world), 3);
    CHECK(t.sets[0]->withheld[0].id == ids[1].id && t.sets[0]->withheld[1].id == ids[2].id &&
          t.sets[0]->withheld[2].id == ids[4].id);
    CHECK(orri_command_buffers_withhold_ids(t.world, 3));
    CHECK_EQ(orri_command_buffers_withheld_left(t.world), 3);
    CHECK(orri_command_buffers_withhold_ids(t.world, 4));
    CHECK_EQ(orri_command_buffers_withheld_left(t.world), 4);
    // A buffer that is opened and rewound.
    orri_ids_reserved reserved = orri_command_buffers_reserved(t.world);
    run = sender_open(&t.senders[0], 4);
    CHECK_EQ(orri_command_buffers_withheld_left(t.world), 0);
    sender_close(&t.senders[0]);
    orri_command_buffers_rewind(t.world, reserved);
    CHECK_EQ(orri_command_buffers_withheld_left(t.world), 4);
    // Many at once; then more than are withheld.
    run = sender_open(&t.senders[0], 100);
    orr_cluster cluster = KIT_CLUSTER(t.world, Count);
    Count counts[3] = {{21}, {22}, {23}};
    orr_column_data data = {t.k.count, counts};
    orr_entity many[3];
    CHECK_OK(orr_send_create_many(run, cluster, 3, &data, 1, many));
    CHECK(many[0].id == ids[1].id && many[1].id == ids[2].id && many[2].id == ids[4].id);
    CHECK_EQ(orr_send_create_many(run, cluster, 3, &data, 1, NULL), ORR_ERR_CAPACITY);
    CHECK(orr_send_create(run).id != 0);
    CHECK_EQ(orr_send_create(run).id, 0);
    CHECK_EQ(t.k.k.errors.result, ORR_ERR_CAPACITY);
    CHECK(strstr(t.k.k.errors.text, "first") != NULL);
    sender_close(&t.senders[0]);
    CHECK_OK(committed(&t, 0));
    CHECK_EQ(count_of(&t, many[2]), 23);
    CHECK_EQ(orri_command_buffers_withheld_left(t.world), 0);
    end(&t);
}

ORR_TEST(buffers_that_are_abandoned_keep_their_ids)
{
    buffers_test t;
    begin(&t, NULL);
    orr_entity bob = orr_create(t.world);
    CHECK_OK(orr_set(t.world, bob, Count, {5}));
    orr_run* run = opened(&t, 0, 2, 2);
    orr_entity first = created(run, 1);
    CHECK_OK(orr_transact(run, ORR_OP_ADD, bob, Count, n, 1));
    sender_close(&t.senders[0]);
    run = opened(&t, 1, 0, 0);
    CHECK_OK(orr_transact(run, ORR_OP_ADD, bob, Count, n, 10));
    sender_close(&t.senders[1]);
    use(&t, 0);
    orri_commit_abandon(t.world);
    CHECK(!orr_alive(t.world, first));
    CHECK_EQ(orri_command_buffers_withheld_left(t.world), 2);
    // Transactions of the other are not dropped.
    CHECK_EQ(t.senders[0].rights.counts.dropped, 3);
    CHECK_EQ(t.senders[1].rights.counts.dropped, 0);
    use(&t, 1);
    bool changed;
    CHECK_OK(orri_transaction_commit(t.world, false, NULL, NULL, &changed));
    CHECK_EQ(count_of(&t, bob), 15);
    run = opened(&t, 0, 1, 1);
    CHECK_EQ(created(run, 2).id, first.id);
    sender_close(&t.senders[0]);
    CHECK_OK(committed(&t, 0));
    CHECK_EQ(count_of(&t, first), 2);
    end(&t);
}

ORR_TEST(buffers_create_and_destroy_in_one_commit)
{
    buffers_test t;
    begin(&t, NULL);
    orr_run* run = opened(&t, 0, 4, 4);
    orr_entity ids[4];
    for (uint32_t i = 0; i < 4; i++) {
        ids[i] = created(run, (int32_t)i);
    }
    CHECK_OK(orr_send_destroy(run, ids[1]));
    CHECK_OK(orr_send_destroy(run, ids[2]));
    sender_close(&t.senders[0]);
    CHECK_OK(committed(&t, 0));
    CHECK_EQ(orr_entity_count(t.world), 2);
    CHECK(count_of(&t, ids[0]) == 0 && count_of(&t, ids[3]) == 3);
    // Their ids are used: they come again with another generation.
    CHECK_EQ(orri_command_buffers_withheld_left(t.world), 0);
    CHECK(orri_command_buffers_withhold_ids(t.world, 2));
    CHECK_EQ(t.world->index.free_count, 0);
    CHECK_EQ(orri_id_index(t.sets[0]->withheld[0]), orri_id_index(ids[1]));
    CHECK_EQ(orri_id_generation(t.sets[0]->withheld[0]), orri_id_generation(ids[1]) + 1);
    end(&t);
}

// For every allocation: a refused commit has no effect, on ids neither, and can be repeated.
ORR_TEST(buffers_of_a_refused_commit_withhold_their_ids_again)
{
    for (uint64_t n = 1;; n++) {
        buffers_test t;
        begin(&t, NULL);
        orr_entity made[8], ids[6], other;
        some_free(t.world, made, 8);
        orr_run* run = opened(&t, 0, 6, 3);
        for (uint32_t i = 0; i < 2; i++) {
            ids[i] = created(run, (int32_t)i);
        }
        sender_close(&t.senders[0]);
        run = sender_open(&t.senders[0], 3);
        for (uint32_t i = 2; i < 5; i++) {
            ids[i] = created(run, (int32_t)i);
        }
        CHECK_OK(orr_send_destroy(run, ids[3]));
        sender_close(&t.senders[0]);
        run = opened(&t, 1, 1, 1);
        other = created(run, 99);
        sender_close(&t.senders[1]);
        use(&t, 0);
        CHECK_OK(sender_end(&t.senders[0]));
        orr_tick_advance(t.world);
        orri_share* share = orri_share_page(t.world, 0, ORRI_SHARE_FROZEN);
        uint64_t hash = hash_of(t.world);
        failing_alloc_arm(&t.k.k.memory, n, false);
        orr_result result = orri_commit(t.world);
        bool enough = t.k.k.memory.refused == 0;
        failing_alloc_arm(&t.k.k.memory, 0, false);
        CHECK(enough ? result == ORR_OK : true);
        if (result != ORR_OK) {
            CHECK_EQ(result, ORR_ERR_MEMORY);
            CHECK_EQ(hash_of(t.world), hash);
            CHECK_OK(committed(&t, 1));
            CHECK_OK(committed(&t, 0));
        } else {
            CHECK_OK(committed(&t, 1));
        }
        CHECK_EQ(count_of(&t, other), 99);
        for (int32_t i = 0; i < 5; i++) {
            CHECK_EQ(count_of(&t, ids[i]), i == 3 ? -1 : i);
        }
        orri_share_release(t.world, share);
        end(&t);
        if (enough) {
            CHECK(n > 3);
            break;
        }
    }
}

ORR_TEST(buffers_are_made_or_refused)
{
    for (uint64_t n = 1;; n++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        failing_alloc_arm(&k.memory, n, false);
        struct orri_command_buffers* command_buffers = orri_command_buffers_make(world);
        bool enough = k.memory.refused == 0;
        failing_alloc_arm(&k.memory, 0, false);
        CHECK_EQ(command_buffers != NULL, enough);
        CHECK(enough || k.errors.result == ORR_ERR_MEMORY);
        if (command_buffers != NULL) {
            orri_command_buffers_use(world, command_buffers);
            for (uint64_t h = 1; h < 20; h++) { // Ids: all, or none.
                failing_alloc_arm(&k.memory, h, false);
                bool withheld = orri_command_buffers_withhold_ids(world, 100);
                bool refused = k.memory.refused > 0;
                failing_alloc_arm(&k.memory, 0, false);
                CHECK_EQ(withheld, !refused);
                CHECK_EQ(orri_command_buffers_withheld_left(world), withheld ? 100 : 0);
                if (withheld) {
                    break;
                }
            }
            // The rest is freed with the world.
        }
        kit_end(&k);
        if (enough) {
            break;
        }
    }
}

// ---- spectators ---------------------------------------------------------------------------------

ORR_STRUCT_EX(Mark, (.storage = ORR_PINNED, .transient = true), (int32_t, n))

static int32_t mark_of(orr_world* world, orr_entity entity)
{
    const Mark* mark = orr_get(world, entity, Mark);
    return mark != NULL ? mark->n : -1;
}

static orr_entity marked(orr_run* run, int32_t n)
{
    orr_entity entity = orr_send_create(run);
    CHECK(entity.id != 0);
    CHECK_OK(orr_send_add(run, entity, Mark, {n}));
    return entity;
}

// Two spectators and the simulation.
ORR_TEST(buffers_of_spectators_withhold_ids_of_transient_entities)
{
    for (uint64_t n = 0; n < 12; n++) {
        buffers_test t;
        begin(&t, NULL);
        (void)KIT_TYPE(t.world, Mark);
        for (uint32_t i = 0; i < 2; i++) {
            t.senders[i].rights.spectator = true;
            orri_command_buffers_transient(t.sets[i]);
        }
        uint64_t hash = hash_of(t.world);
        orr_run* a = opened(&t, 0, 4, 3);
        orr_run* b = opened(&t, 1, 2, 2);
        orr_entity a1 = marked(a, 1), b1 = marked(b, 11), a2 = marked(a, 2), b2 = marked(b, 12);
        CHECK(a1.id != b1.id && a1.id != b2.id && a2.id != b1.id && a2.id != b2.id);
        CHECK_EQ(orr_send_create(b).id, 0);
        sender_close(&t.senders[1]);
        failing_alloc_arm(&t.k.k.memory, n, false); // 0: never.
        orr_result result = committed(&t, 1);
        CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
        failing_alloc_arm(&t.k.k.memory, 0, false);
        (void)hash_of(t.world);
        CHECK_OK(committed(&t, 1));
        CHECK(mark_of(t.world, b1) == 11 && mark_of(t.world, b2) == 12);
        sender_close(&t.senders[0]);
        CHECK_OK(committed(&t, 0));
        CHECK(mark_of(t.world, a1) == 1 && mark_of(t.world, a2) == 2);
        CHECK_EQ(orr_transient_count(t.world), 4);
        CHECK_EQ(orri_command_buffers_withheld_left(t.world), 2);
        // One is destroyed; its id comes again; ids that are abandoned stay withheld.
        a = sender_open(&t.senders[0], 2);
        CHECK_OK(orr_send_destroy(a, a1));
        orr_entity a3 = marked(a, 3);
        sender_close(&t.senders[0]);
        orri_commit_abandon(t.world);
        CHECK_EQ(orri_command_buffers_withheld_left(t.world), 2);
        a = sender_open(&t.senders[0], 2);
        CHECK_EQ(marked(a, 4).id, a3.id);
        CHECK_OK(orr_send_destroy(a, a1));
        sender_close(&t.senders[0]);
        CHECK_OK(committed(&t, 0));
        CHECK_EQ(mark_of(t.world, a3), 4);
        CHECK(!orr_transient(t.world, a1));
        CHECK_EQ(t.world->transient.count, 6);
        CHECK_EQ(t.world->transient.free_count, 1);
        CHECK_EQ(hash_of(t.world), hash);
        end(&t);
    }
}

// ---- transactions -------------------------------------------------------------------------------

ORR_TEST(transactions_wait_for_the_structure_they_were_posted_with)
{
    buffers_test t;
    begin(&t, NULL);
    uint64_t bits[SENDER_WORDS] = {0}, none[SENDER_WORDS] = {0}, all[SENDER_WORDS];
    memset(all, 0xFF, sizeof all);
    orri_bit_set(bits, orri_type_index(t.world, t.k.count), true);
    orri_foreign foreign = {bits, SENDER_WORDS}, nothing = {none, SENDER_WORDS};
    orr_entity bob = orr_create(t.world);
    CHECK_OK(orr_set(t.world, bob, Count, {5}));
    CHECK_OK(orr_set(t.world, bob, Health, {10, 0}));
    // The first posts on a type of the second, to an entity that it creates.
    orr_run* run = opened(&t, 0, 1, 1);
    CHECK_OK(orr_transact(run, ORR_OP_ADD, bob, Count, n, 1));
    // The buffer is open: no other pipeline sees its posts.
    CHECK(!orri_transaction_pending(t.world));
    orr_entity eve = created(run, 100);
    CHECK_OK(orr_transact(run, ORR_OP_ADD, eve, Count, n, 2));
    CHECK_OK(orr_transact(run, ORR_OP_ADD, bob, Health, value, 3));
    sender_close(&t.senders[0]);
    CHECK(orri_transaction_pending(t.world));
    CHECK(orri_transaction_pending_for(t.world, &foreign)); // Health.
    CHECK(orri_transaction_pending_unowned(t.world, bits, SENDER_WORDS));
    CHECK(!orri_transaction_pending_unowned(t.world, all, SENDER_WORDS));
    CHECK(orri_transaction_pending_unowned(t.world, all, 0));
    bool changed;
    CHECK_OK(orri_transaction_commit(t.world, true, &foreign, NULL, &changed));
    CHECK(changed);
    CHECK_EQ(orr_get(t.world, bob, Health)->value, 13);
    CHECK(!orri_transaction_pending_for(t.world, &foreign));
    CHECK(!orri_transaction_pending_unowned(t.world, bits, SENDER_WORDS));
    CHECK_EQ(count_of(&t, bob), 5);
    // The second has its turn; the first has not committed.
    use(&t, 1);
    CHECK(!orri_transaction_pending_for(t.world, &nothing));
    CHECK(!orri_transaction_pending_for(t.world, NULL));
    CHECK_OK(orri_transaction_commit(t.world, false, &nothing, NULL, &changed));
    CHECK(!changed);
    CHECK_EQ(count_of(&t, bob), 5);
    CHECK_OK(committed(&t, 0));
    CHECK_EQ(count_of(&t, eve), 100);
    // Both are for the second to apply now, and its own come after.
    run = opened(&t, 1, 0, 0);
    CHECK(orri_transaction_pending_for(t.world, &nothing));
    CHECK_OK(orr_transact(run, ORR_OP_SET, bob, Count, n, 50));
    sender_close(&t.senders[1]);
    CHECK_OK(orri_transaction_commit(t.world, false, &nothing, NULL, &changed));
    CHECK(changed);
    CHECK_EQ(count_of(&t, bob), 50);
    CHECK_EQ(count_of(&t, eve), 102);
    CHECK(!orri_transaction_pending(t.world));
    CHECK_EQ(t.senders[0].rights.counts.dropped, 0);
    end(&t);
}

static void doubles(const orr_world* world, orr_entity target, void* value, const void* argument,
                    uint32_t size)
{
    (void)world, (void)size;
    (void)target;
    ((Count*)value)->n = ((Count*)value)->n * 2 + *(const int32_t*)argument;
}

ORR_TEST(transactions_outlive_their_command_buffers)
{
    buffers_test t;
    begin(&t, NULL);
    orr_entity bob = orr_create(t.world);
    CHECK_OK(orr_set(t.world, bob, Count, {5}));
    orr_run* run = opened(&t, 2, 3, 3);
    int32_t one = 1;
    CHECK_OK(orr_transact_call(run, bob, t.k.count, 0, doubles, &one, sizeof one));
    sender_close(&t.senders[2]);
    CHECK_OK(committed(&t, 2));
    use(&t, 0);
    orri_command_buffers_destroy(t.world, t.sets[2]); // With ids.
    t.sets[2] = orri_command_buffers_make(t.world);
    bool changed;
    CHECK_OK(orri_transaction_commit(t.world, false, NULL, NULL, &changed));
    CHECK_EQ(count_of(&t, bob), 11);
    CHECK_EQ(orri_transaction_source(t.world).id, 3);
    end(&t);
}

// ---- at random ----------------------------------------------------------------------------------

enum {
    MODEL_MOST = 4096,
    MODEL_STEPS = 1500
};

typedef enum model_state {
    MODEL_SENT, // Its creation waits.
    MODEL_LIVE,
    MODEL_DEAD,
    MODEL_NEVER, // Abandoned.
} model_state;

typedef struct model_entity {
    orr_entity id;
    model_state state;
    uint32_t set;
} model_entity;

typedef struct model_destroyed {
    uint32_t entity, set;
} model_destroyed;

typedef struct model {
    buffers_test t;
    uint64_t seed, turn;
    model_entity entities[MODEL_MOST];
    uint32_t count;
    model_destroyed destroys[MODEL_MOST];
    uint32_t destroy_count;
    bool open[SETS];
} model;

static uint32_t below(model* m, uint32_t n)
{
    return (uint32_t)orr_random_below(orr_random(m->seed, m->turn++, 0, 0), n);
}

static void model_given(model* m, uint32_t set, orr_entity id)
{
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->entities[i].state != MODEL_NEVER && m->entities[i].id.id == id.id) {
            test_fail(__FILE__, __LINE__, "seed %llu: an id was given twice",
                      (unsigned long long)m->seed);
        }
    }
    m->entities[m->count++] = (model_entity){id, MODEL_SENT, set};
}

static void model_create(model* m, uint32_t set)
{
    orr_run* run = &m->t.senders[set].run;
    uint32_t left = run->commands->creates_max - run->commands->create_count;
    if (left == 0) {
        return;
    }
    if (below(m, 2) == 0) {
        orr_entity id = created(run, (int32_t)m->count);
        model_given(m, set, id);
        return;
    }
    Count counts[5];
    orr_entity ids[5];
    uint32_t count = 1 + below(m, left < 5 ? left : 5);
    for (uint32_t i = 0; i < count; i++) {
        counts[i].n = (int32_t)(m->count + i);
    }
    CHECK_OK(orr_send_create_many(run, KIT_CLUSTER(m->t.world, Count), count,
                                  &(orr_column_data){m->t.k.count, counts}, 1, ids));
    for (uint32_t i = 0; i < count; i++) {
        model_given(m, set, ids[i]);
    }
}

static void model_destroy(model* m, uint32_t set)
{
    uint32_t i = m->count > 0 ? below(m, m->count) : 0;
    i = m->count > 40 && below(m, 2) == 0 ? m->count - 1 - below(m, 40) : i;
    if (m->count == 0 || m->destroy_count == MODEL_MOST) {
        return;
    }
    const model_entity* entity = &m->entities[i];
    if (entity->state == MODEL_LIVE || (entity->state == MODEL_SENT && entity->set == set)) {
        CHECK_OK(orr_send_destroy(&m->t.senders[set].run, entity->id));
        m->destroys[m->destroy_count++] = (model_destroyed){i, set};
    }
}

static void model_close(model* m, uint32_t set)
{
    sender_close(&m->t.senders[set]);
    m->open[set] = false;
}

static void model_commit(model* m, uint32_t set, bool abandon)
{
    buffers_test* t = &m->t;
    use(t, set);
    if (abandon) {
        orri_commit_abandon(t->world);
    } else {
        failing_alloc_arm(&t->k.k.memory, below(m, 3) == 0 ? 1 + below(m, 12) : 0, false);
        orr_result result = committed(t, set);
        failing_alloc_arm(&t->k.k.memory, 0, false);
        if (result != ORR_OK) {
            CHECK_EQ(result, ORR_ERR_MEMORY);
            return; // All waits.
        }
    }
    CHECK_EQ(orri_command_buffers_reserved(t->world).entities, 0);
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->entities[i].state == MODEL_SENT && m->entities[i].set == set) {
            m->entities[i].state = abandon ? MODEL_NEVER : MODEL_LIVE;
        }
    }
    uint32_t kept = 0;
    for (uint32_t d = 0; d < m->destroy_count; d++) {
        if (m->destroys[d].set != set) {
            m->destroys[kept++] = m->destroys[d];
        } else if (!abandon) {
            m->entities[m->destroys[d].entity].state = MODEL_DEAD;
        }
    }
    m->destroy_count = kept;
}

static void model_check(model* m)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        bool alive = m->entities[i].state == MODEL_LIVE;
        live += alive;
        if (m->entities[i].state != MODEL_NEVER &&
            (orr_alive(m->t.world, m->entities[i].id) != alive ||
             (alive && count_of(&m->t, m->entities[i].id) != (int32_t)i))) {
            test_fail(__FILE__, __LINE__, "seed %llu: entity %u differs from the model",
                      (unsigned long long)m->seed, i);
        }
    }
    CHECK_EQ(orr_entity_count(m->t.world), live);
    // No id is lost: all are alive, free or withheld.
    uint32_t withheld = 0;
    for (uint32_t s = 0; s < SETS; s++) {
        withheld += m->t.sets[s]->withheld_count;
    }
    CHECK_EQ(m->t.world->hot.count, live + m->t.world->index.free_count + withheld);
    (void)hash_of(m->t.world);
}

static bool model_rests(const model* m, uint32_t set)
{
    use(&m->t, set);
    return !m->open[set] && !orri_commit_pending(m->t.world) &&
           orri_command_buffers_reserved(m->t.world).entities == 0;
}

static void model_step(model* m)
{
    uint32_t set = below(m, SETS), what = below(m, 10);
    if (!m->open[set] && what < 5) {
        uint32_t most = 1 + below(m, 11); // 0 would be no limit.
        (void)opened(&m->t, set, most + below(m, 5), most);
        m->open[set] = true;
    } else if (m->open[set] && what < 7) {
        model_create(m, set);
    } else if (m->open[set] && what < 9) {
        model_destroy(m, set);
    } else if (m->open[set]) {
        model_close(m, set);
    } else if (what < 9) {
        model_commit(m, set, what == 8);
    } else if (model_rests(m, set)) {
        CHECK(orri_command_buffers_return_ids(m->t.world));
    }
}

ORR_TEST(buffers_at_random_lose_no_id_and_give_none_twice)
{
    model* m = malloc(sizeof *m);
    for (uint32_t n = 0; n < 12; n++) {
        memset(m, 0, sizeof *m);
        begin(&m->t, NULL);
        m->seed = test_seed() + n;
        for (uint32_t i = 0; i < MODEL_STEPS && m->count + 8 < MODEL_MOST; i++) {
            model_step(m);
            if (i % 16 == 0) {
                model_check(m);
            }
        }
        for (uint32_t set = 0; set < SETS; set++) {
            if (m->open[set]) {
                model_close(m, set);
            }
            while (use(&m->t, set), orri_commit_pending(m->t.world)) {
                model_commit(m, set, false);
            }
            model_commit(m, set, false);
        }
        model_check(m);
        end(&m->t);
    }
    free(m);
}
