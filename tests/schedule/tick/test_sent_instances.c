// SPDX-License-Identifier: MIT
// The id of an instance of a multiple type that a system sends is its id: in the same run, in other
// systems, after the commit, in later ticks, for any number of workers, and again after a travel.
#include "schedule/schedule_kit.h"
#include <orrery/history.h>

ORR_STRUCT_EX(Buff, (.multiplicity = ORR_MULTIPLE), (int32_t, power), (int32_t, given))
// The id is part of the state, so that the hash shows it.
ORR_STRUCT(Holder, (uint32_t, id), (int32_t, phase), (int32_t, power))

enum {
    ROWS = 5000, // Three chunks.
    TICKS = 9
};

typedef struct rings {
    kit k;
    orr_world* world;
    orr_system give, use;
    orr_entity rows[ROWS];
} rings;

// Some rows get two buffs, of which they keep the second.
static void rings_give(orr_run* run)
{
    Holder* holder = orr_write(run, Holder);
    orr_type type = KIT_TYPE(run->world, Buff);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        uint64_t random = orr_run_random(run, entity);
        if (holder[i].id != 0 || random % 3 == 0) {
            continue;
        }
        Buff buff = {(int32_t)(random % 100), (int32_t)run->tick};
        orr_component_id id = 0, other = 0;
        if (random % 5 == 0) {
            (void)orr_send_add_type(run, entity, type, &(Buff){-1, 0}, &other);
        }
        (void)orr_send_add_type(run, entity, type, &buff, NULL);
        (void)orr_send_add_type(run, entity, type, &buff, &id);
        buff.power++;
        (void)orr_send_change_type(run, entity, type, id, &buff);
        if (other != 0) {
            (void)orr_send_remove_type(run, entity, type, other);
        }
        holder[i] = (Holder){id, 0, buff.power};
    }
}

// In its first tick a buff is changed before it exists.
static void rings_use(orr_run* run)
{
    Holder* holder = orr_write(run, Holder);
    orr_type type = KIT_TYPE(run->world, Buff);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        if (holder[i].id == 0) {
            continue;
        }
        if (holder[i].phase++ < 3) {
            Buff buff = {holder[i].power += 10, holder[i].phase};
            (void)orr_send_change_type(run, entity, type, holder[i].id, &buff);
            (void)orr_send_enable_type(run, entity, type, holder[i].id, holder[i].phase != 2);
        } else {
            (void)orr_send_remove_type(run, entity, type, holder[i].id);
            holder[i].id = 0;
        }
    }
}

static void rings_begin(rings* r, uint32_t workers)
{
    r->world = kit_begin(&r->k, &(orr_world_desc){.seed = 7, .workers = workers});
    ORR_REGISTER(r->world, Buff, Holder);
    r->give = KIT_SYSTEM(r->world, .name = "give", .query = "write Holder", .adds = "Buff",
                         .changes = "Buff", .removes = "Buff", .parallel = true, .run = rings_give);
    r->use = KIT_SYSTEM(r->world, .name = "use", .query = "write Holder", .changes = "Buff",
                        .removes = "Buff", .switches = "Buff", .parallel = true, .run = rings_use);
    orr_cluster cluster = KIT_CLUSTER(r->world, Holder);
    CHECK_OK(orr_create_many(r->world, cluster, ROWS, NULL, 0, r->rows));
}

// Every id that a row keeps is that of an instance with the value that was sent last.
static void rings_check(const rings* r)
{
    uint32_t kept = 0, missing = 0, wrong = 0, enabled = 0;
    orr_type type = KIT_TYPE(r->world, Buff);
    for (uint32_t i = 0; i < ROWS; i++) {
        const Holder* holder = orr_get(r->world, r->rows[i], Holder);
        if (holder->id == 0) {
            continue;
        }
        const Buff* buff = orr_instance_get(r->world, r->rows[i], type, holder->id);
        kept++;
        missing += buff == NULL;
        wrong += buff != NULL && buff->power != holder->power;
        enabled += buff != NULL && orr_instance_enabled(r->world, r->rows[i], type, holder->id) !=
                                       (holder->phase != 2);
    }
    CHECK(kept > ROWS / 4);
    CHECK_EQ(missing, 0);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(enabled, 0);
    CHECK_EQ(kit_stats(r->world, r->give).dropped, 0);
    CHECK_EQ(kit_stats(r->world, r->use).dropped, 0);
}

ORR_TEST(sent_instance_keeps_its_id_after_the_commit)
{
    static rings r;
    rings_begin(&r, 0);
    uint32_t ticks = test_slow() ? 5 : TICKS; // A buff lives for four ticks.
    for (uint32_t tick = 0; tick < ticks; tick++) {
        KIT_STEP(r.world, 1);
        rings_check(&r);
    }
    CHECK_OK(orr_world_validate(r.world));
    CHECK_EQ(r.k.errors.count, 0);
    kit_end(&r.k);
}

ORR_TEST(sent_instance_has_the_same_id_for_any_number_of_workers)
{
    static rings r;
    static const uint32_t workers[] = {0, 1, 3};
    uint64_t hashes[TICKS] = {0};
    uint32_t ticks = test_slow() ? 5 : TICKS;
    for (uint32_t w = 0; w < 3; w++) {
        rings_begin(&r, workers[w]);
        for (uint32_t tick = 0; tick < ticks; tick++) {
            KIT_STEP(r.world, 1);
            uint64_t hash = orr_world_hash(r.world);
            CHECK(w == 0 || hashes[tick] == hash);
            hashes[tick] = hash;
        }
        rings_check(&r);
        kit_end(&r.k);
    }
}

ORR_TEST(sent_instance_has_the_same_id_after_a_travel)
{
    static rings r;
    rings_begin(&r, 2);
    KIT_STEP(r.world, 3);
    CHECK_OK(orr_remember(r.world));
    KIT_STEP(r.world, 5);
    uint64_t hash = orr_world_hash(r.world);
    CHECK_OK(orr_time_travel(r.world, 3));
    rings_check(&r);
    KIT_STEP(r.world, 5);
    CHECK_EQ(orr_world_hash(r.world), hash);
    rings_check(&r);
    kit_end(&r.k);
}

// ---- with transactions --------------------------------------------------------------------------

static void charge_once(orr_run* run)
{
    Holder* holder = orr_write(run, Holder);
    orr_type type = KIT_TYPE(run->world, Buff);
    int32_t more = 5;
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        orr_component_id id = holder[i].id;
        if (id == 0) {
            CHECK_OK(orr_send_add_type(run, entity, type, &(Buff){100, 0}, &id));
            holder[i].id = id;
        }
        CHECK_OK(orr_transact_field(run, ORR_OP_ADD, entity, type, id, offsetof(Buff, power),
                                    sizeof more, &more));
    }
}

ORR_TEST(sent_instance_takes_transactions_before_it_exists)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Buff, Holder);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_add(world, bob, Holder));
    KIT_SYSTEM(world, .name = "charge", .query = "write Holder", .adds = "Buff",
               .transacts = "Buff", .run = charge_once);
    for (int32_t tick = 1; tick <= 3; tick++) {
        KIT_STEP(world, 1);
        const Buff* buff =
            orr_instance_get(world, bob, KIT_TYPE(world, Buff), orr_get(world, bob, Holder)->id);
        CHECK(buff != NULL && buff->power == 100 + 5 * tick);
    }
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}
