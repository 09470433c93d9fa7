// SPDX-License-Identifier: MIT
// Transactions in ticks: a thousand senders on one receiver, the same hash with any number of
// workers, the plan, what readers and the journal receive, ticks that are refused halfway.
#include "schedule/plan/plan_kit.h"
#include "schedule/schedule_kit.h"
#include <stdlib.h>

ORR_STRUCT(Score, (int64_t, points), (float, heat), (double, depth))
ORR_STRUCT(Aim, (orr_entity, target), (int32_t, power))
ORR_STRUCT_EX(Base, (.storage = ORR_PINNED), (int32_t, taken))

static orr_world* begin(kit* k, const orr_world_desc* desc)
{
    kit_line[0] = '\0';
    orr_world* world = kit_begin(k, desc);
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Score, Aim, Base);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    return world;
}

static orr_entity aimer(orr_world* world, orr_entity target, int32_t power)
{
    orr_entity entity = orr_create(world);
    CHECK_OK(orr_set(world, entity, Aim, {target, power}));
    return entity;
}

// ---- senders and receivers ----------------------------------------------------------------------

static void hit(orr_run* run)
{
    const Aim* aim = orr_read(run, Aim);
    for (uint32_t i = 0; i < run->count; i++) {
        CHECK_OK(orr_transact(run, ORR_OP_ADD, aim[i].target, Health, value, -aim[i].power));
    }
}

ORR_TEST(transact_a_thousand_senders_on_one_receiver_lose_no_write) /* N3-16 */
{
    static const uint32_t workers[] = {0, 1, 2, 3, 8, 32};
    for (uint32_t w = 0; w < ORRI_COUNT(workers); w++) {
        kit k;
        orr_world* world = begin(&k, &(orr_world_desc){.workers = workers[w]});
        orri_parallel_share(world, ORRI_SHARE_ALL, 0);
        orr_entity receiver = orr_create(world);
        CHECK_OK(orr_set(world, receiver, Health, {1000000, 0}));
        int32_t sum = 0;
        for (int32_t i = 0; i < 1000; i++) {
            orr_entity sender = aimer(world, receiver, i);
            sum += i;
            if (i % 3 == 0) { // Several clusters, and so several chunks.
                CHECK_OK(orr_add(world, sender, Velocity));
            }
        }
        KIT_SYSTEM(world, .name = "hit", .query = "Aim", .transacts = "Health", .run = hit,
                   .parallel = true);
        KIT_SYSTEM(world, .name = "hit_too", .query = "Aim", .transacts = "Health", .run = hit,
                   .parallel = true);
        KIT_STEP(world, 3);
        CHECK_EQ(orr_get(world, receiver, Health)->value, 1000000 - 6 * sum);
        kit_end(&k);
    }
}

#define FRAY_ROWS 10000u // Enough posts for other workers.

// ---- any number of workers ----------------------------------------------------------------------

static void sway(orr_run* run)
{
    Aim* aim = orr_write(run, Aim);
    const orr_entity* all = orr_run_settings(run);
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t random = orr_run_random(run, orr_iter_entity(run, i));
        aim[i].target = all[random % FRAY_ROWS];
        aim[i].power = (int32_t)(random >> 40) % 1000;
    }
}

static void heat_up(orr_run* run)
{
    const Aim* aim = orr_read(run, Aim);
    for (uint32_t i = 0; i < run->count; i++) {
        if (aim[i].target.id == 0) {
            continue; // New.
        }
        float share = (float)aim[i].power * 0.1f;
        CHECK_OK(orr_transact(run, ORR_OP_ADD, aim[i].target, Score, heat, share));
        CHECK_OK(orr_transact(run, ORR_OP_ADD, aim[i].target, Score, points, aim[i].power));
        if (aim[i].power % 97 == 0) {
            CHECK_OK(orr_transact(run, ORR_OP_SET, aim[i].target, Score, heat, 0.3f));
        }
    }
}

static void deepen(const orr_world* world, orr_entity target, void* value, const void* argument,
                   uint32_t size)
{
    (void)size;
    Score* score = value;
    (void)world;
    score->depth = score->depth * 0.5 + *(const int32_t*)argument + (double)(target.id % 7);
}

static void delve(orr_run* run)
{
    const Aim* aim = orr_read(run, Aim);
    orr_type base = orr_type_of(run->world, ORR_TYPE(Base));
    orr_type score = orr_type_of(run->world, ORR_TYPE(Score));
    for (uint32_t i = 0; i < run->count; i++) {
        int32_t one = 1;
        if (aim[i].target.id == 0) {
            continue;
        }
        CHECK_OK(orr_transact_field(run, ORR_OP_ADD, aim[i].target, base, 0, 0, 4, &one));
        if (aim[i].power % 5 == 0) {
            CHECK_OK(orr_transact_call(run, aim[i].target, score, 0, deepen, &aim[i].power,
                                       sizeof aim[i].power));
        }
    }
}

static void cool(orr_run* run)
{
    Score* score = orr_write(run, Score);
    for (uint32_t i = 0; i < run->count; i++) {
        score[i].heat *= 0.75f;
    }
}

static void shift(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        uint64_t random = orr_run_random(run, entity) % 400;
        if (random == 0) {
            (void)orr_send_destroy(run, entity);
            orr_entity fresh = orr_send_create(run);
            (void)orr_send_add(run, fresh, Score, {.points = 1});
            (void)orr_send_add_preset(run, fresh, Aim);
            (void)orr_transact(run, ORR_OP_ADD, fresh, Score, points, 1000);
        } else if (random < 4) {
            (void)orr_send_add_preset(run, entity, Frozen);
        } else if (random < 6) {
            (void)orr_send_remove(run, entity, Frozen);
        }
    }
}

typedef struct fray {
    kit k;
    orr_world* world;
    orr_entity* all;
} fray;

static void fray_begin(fray* f, uint32_t workers, orri_sharing sharing, bool calls)
{
    f->world = begin(&f->k, &(orr_world_desc){.seed = 5, .workers = workers});
    orri_parallel_share(f->world, sharing, 3 + test_seed());
    f->all = calloc(FRAY_ROWS, sizeof *f->all);
    CHECK_OK(
        orr_create_many(f->world, KIT_CLUSTER(f->world, Score, Aim), FRAY_ROWS, NULL, 0, f->all));
    for (uint32_t i = 0; i < FRAY_ROWS - 1; i += 7) {
        CHECK_OK(orr_add(f->world, f->all[i], Velocity));
        CHECK_OK(orr_add(f->world, f->all[i + 1], Base));
    }
    KIT_SYSTEM(f->world, .name = "sway", .query = "write Aim", .settings = f->all, .run = sway,
               .parallel = true);
    KIT_SYSTEM(f->world, .name = "heat", .query = "Aim", .transacts = "Score", .run = heat_up,
               .parallel = true);
    KIT_SYSTEM(f->world, .name = "shift", .query = "Aim", .creates = "Score, Aim",
               .destroys = "Aim", .adds = "Frozen", .removes = "Frozen", .transacts = "Score",
               .run = shift, .parallel = true);
    KIT_SYSTEM(f->world, .name = "heat_again", .query = "Aim, Velocity", .transacts = "Score",
               .run = heat_up, .parallel = true);
    if (calls) {
        KIT_SYSTEM(f->world, .name = "delve", .query = "Aim", .transacts = "Score, Base",
                   .run = delve, .parallel = true);
    }
    KIT_SYSTEM(f->world, .name = "cool", .query = "write Score", .run = cool, .parallel = true);
}

static void fray_end(fray* f)
{
    CHECK_STR(f->k.errors.text, "");
    kit_end(&f->k);
    free(f->all);
}

#define FRAY_TICKS 12u

static void fray_same(bool calls)
{
    static const uint32_t workers[] = {1, 2, 3, 8, 32};
    static const orri_sharing ways[] = {ORRI_SHARE_AUTO, ORRI_SHARE_ALL, ORRI_SHARE_RANDOM};
    uint64_t hashes[FRAY_TICKS];
    uint32_t ticks = test_slow() ? 4 : FRAY_TICKS;
    fray f;
    fray_begin(&f, 0, ORRI_SHARE_AUTO, calls);
    for (uint32_t i = 0; i < ticks; i++) {
        KIT_STEP_RESULT(f.world, 1, ORR_ERR_ENTITY);
        hashes[i] = orr_world_hash(f.world);
    }
    fray_end(&f);
    for (uint32_t w = 0; w < ORRI_COUNT(workers) * ORRI_COUNT(ways);
         w += test_brief() ? 2 : 1) { // A step of 2 has every number of workers and every way.
        fray_begin(&f, workers[w / ORRI_COUNT(ways)], ways[w % ORRI_COUNT(ways)], calls);
        for (uint32_t i = 0; i < ticks; i++) {
            KIT_STEP_RESULT(f.world, 1, ORR_ERR_ENTITY);
            if (orr_world_hash(f.world) != hashes[i]) {
                test_fail(__FILE__, __LINE__, "%u workers: tick %u differs",
                          workers[w / ORRI_COUNT(ways)], i);
            }
        }
        fray_end(&f);
    }
}

ORR_TEST(transact_every_tick_has_the_same_hash_for_any_number_of_workers) /* N3-17 */
{
    fray_same(false);
}

ORR_TEST(transact_functions_give_the_same_hash_for_any_number_of_workers) /* N3-17 */
{
    fray_same(true);
}

// ---- conflicts and commit points ----------------------------------------------------------------

ORR_TEST(transact_systems_on_one_type_overlap_and_others_wait_for_them)
{
    kit k;
    orr_world* world = begin(&k, NULL);
    KIT_SYSTEM(world, .name = "watch", .query = "Health", .run = kit_run_nothing);
    KIT_SYSTEM(world, .name = "harm", .query = "write Health", .run = kit_run_nothing);
    orr_system one =
        KIT_SYSTEM(world, .name = "hit", .query = "Aim", .transacts = "Health", .run = hit);
    orr_system two = KIT_SYSTEM(world, .name = "hit_too", .query = "Aim",
                                .transacts = "Health, Score", .run = hit);
    KIT_SYSTEM(world, .name = "else", .query = "write Position", .run = kit_run_nothing);
    PLAN(world, "watch harm hit hit_too else !");
    CHECK(!orri_conflict(world, orri_system_at(world, one), orri_system_at(world, two)));
    orr_system reads =
        KIT_SYSTEM(world, .name = "reads", .query = "Health", .run = kit_run_nothing);
    PLAN(world, "watch harm hit hit_too else | reads !");
    char words[1024];
    orr_plan_print(world, words, sizeof words);
    CHECK_CONTAINS(words, "'hit' may have transacted on Health");
    CHECK_OK(orr_system_remove(world, reads));
    KIT_SYSTEM(world, .name = "any", .once = true, .by_id = "write Score", .run = kit_run_nothing);
    KIT_SYSTEM(world, .name = "sends", .once = true, .changes = "Health", .run = kit_run_nothing);
    KIT_SYSTEM(world, .name = "hears", .kind = ORR_INDIRECT, .query = "Health",
               .run = kit_note_messages);
    KIT_STEP(world, 1);
    PLAN(world, "watch harm hit hit_too else | any sends | hears !");
    kit_end(&k);
}

ORR_TEST(transact_that_may_wait_for_structure_is_committed_before_it_is_read)
{
    kit k;
    orr_world* world = begin(&k, NULL);
    KIT_SYSTEM(world, .name = "hit", .query = "Aim", .transacts = "Health", .run = hit);
    KIT_SYSTEM(world, .name = "freeze", .query = "Aim", .adds = "Frozen", .run = kit_run_nothing);
    KIT_SYSTEM(world, .name = "heals", .once = true, .changes = "Health", .run = kit_run_nothing);
    KIT_SYSTEM(world, .name = "reads", .query = "Health", .run = kit_run_nothing);
    PLAN(world, "hit freeze ! heals | reads !");
    kit_end(&k);
}

static void heal(orr_run* run)
{
    orr_entity* bob = orr_run_user(run);
    CHECK_OK(orr_send_change(run, *bob, Health, {500, 0}));
}

static void freeze(orr_run* run)
{
    orr_entity* bob = orr_run_user(run);
    CHECK_OK(orr_send_add_preset(run, *bob, Frozen));
}

ORR_TEST(transact_and_changes_of_one_component_follow_the_declared_order)
{
    kit k;
    orr_world* world = begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Health, {100, 0}));
    (void)aimer(world, bob, 1);
    orr_system_desc changes = {
        .once = true, .changes = "Health", .impure = true, .user = &bob, .run = heal};
    KIT_SYSTEM(world, .name = "hit", .query = "Aim", .transacts = "Health", .run = hit);
    // Bob's structure is pending, so both wait.
    KIT_SYSTEM(world, .name = "freeze", .once = true, .adds = "Frozen", .impure = true,
               .user = &bob, .run = freeze);
    changes.name = "heal";
    CHECK(orr_system_add(world, &changes).id != 0);
    KIT_STEP(world, 1);
    CHECK_EQ(orr_get(world, bob, Health)->value, 500);
    KIT_SYSTEM(world, .name = "hit_after", .query = "Aim", .transacts = "Health", .run = hit);
    KIT_STEP(world, 1);
    CHECK_EQ(orr_get(world, bob, Health)->value, 499);
    kit_end(&k);
}

// ---- readers ------------------------------------------------------------------------------------

static void changed_say(orr_run* run)
{
    char word[32];
    snprintf(word, sizeof word, "changed:%u", run->count);
    kit_say(word);
}

ORR_TEST(transact_is_reported_as_a_written_value)
{
    kit k;
    orr_world* world = begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Health, {100, 0}));
    (void)aimer(world, bob, 1);
    CHECK_OK(orr_journal_set(world, 16));
    orr_system first =
        KIT_SYSTEM(world, .name = "hit", .query = "Aim", .transacts = "Health", .run = hit);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Health",
               .run = kit_note_messages);
    KIT_SYSTEM(world, .name = "changed", .query = "changed Health", .run = changed_say);
    KIT_STEP(world, 1);
    KIT_SAID("EntityAdded:reader:1: ComponentChanged:Health:1:hit changed:1");
    KIT_STEP(world, 1);
    KIT_SAID("ComponentChanged:Health:1:hit changed:1");
    orr_journal_entry entry;
    CHECK(orr_journal_get(world, bob, &entry, 1) > 0);
    CHECK_EQ(entry.system.id, first.id);
    CHECK_EQ(entry.kind, ORR_COMPONENT_CHANGED);
    // By two systems of one group: the message names no system.
    KIT_SYSTEM(world, .name = "hit_too", .query = "Aim", .transacts = "Health", .run = hit,
               .before = "hear, changed");
    KIT_STEP(world, 1);
    KIT_SAID("ComponentChanged:Health:1: changed:1");
    CHECK(orr_journal_get(world, bob, &entry, 1) > 0);
    CHECK_EQ(entry.system.id, 0);
    CHECK_OK(orr_destroy(world, bob));
    KIT_STEP_RESULT(world, 1, ORR_ERR_ENTITY);
    KIT_SAID("EntityRemoved:destroyed:1:");
    CHECK_EQ(kit_stats(world, first).dropped, 1);
    CHECK_EQ(kit_stats(world, first).sent, 4);
    kit_end(&k);
}

static void write_notified(orr_run* run)
{
    Health* health = orr_write(run, Health);
    for (uint32_t i = 0; i < run->count; i++) {
        health[i].armour++;
    }
}

ORR_TEST(transact_with_a_writer_of_the_group_is_reported_separately)
{
    kit k;
    orr_world* world = begin(&k, NULL);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    CHECK_OK(orr_set(world, bob, Health, {100, 0}));
    CHECK_OK(orr_set(world, eve, Score, {0}));
    (void)aimer(world, bob, 1);
    KIT_SYSTEM(world, .name = "write", .query = "write Health", .run = write_notified);
    KIT_SYSTEM(world, .name = "hit", .query = "Aim", .transacts = "Health", .run = hit);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Health",
               .run = kit_note_messages);
    PLAN(world, "write hit | hear !");
    KIT_STEP(world, 1);
    kit_line[0] = '\0';
    KIT_STEP(world, 1);
    KIT_SAID("ComponentChanged:Health:1:write ComponentChanged:Health:1:hit");
    kit_end(&k);
}

// A mirror kept by messages.
static Score mirror[FRAY_ROWS * 4];

static void reflect(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        const Score* values = m->kind == ORR_ENTITY_REMOVED ? NULL : orr_values(m, Score);
        for (uint32_t i = 0; values != NULL && i < m->count; i++) {
            uint32_t index = (uint32_t)m->entities[i].id;
            CHECK(index < ORRI_COUNT(mirror));
            mirror[index] = values[i];
        }
    }
}

ORR_TEST(transact_keeps_a_mirror_equal)
{
    for (uint32_t workers = 0; workers <= 2; workers += 2) {
        fray f;
        fray_begin(&f, workers, ORRI_SHARE_ALL, true);
        KIT_SYSTEM(f.world, .name = "reflect", .kind = ORR_INDIRECT, .query = "Score",
                   .run = reflect);
        memset(mirror, 0, sizeof mirror);
        orr_query* query = orr_query_text(f.world, "Score");
        for (uint32_t i = 0; i < 5; i++) {
            KIT_STEP_RESULT(f.world, 1, ORR_ERR_ENTITY);
            ORR_EACH (it, query) {
                const Score* score = orr_read(&it, Score);
                for (uint32_t r = 0; r < it.count; r++) {
                    uint32_t index = (uint32_t)orr_iter_entity(&it, r).id;
                    CHECK(memcmp(&mirror[index].points, &score[r].points, 8) == 0);
                    CHECK(mirror[index].heat == score[r].heat);
                    CHECK(mirror[index].depth == score[r].depth);
                }
            }
        }
        orr_query_destroy(query);
        fray_end(&f);
    }
}

// ---- callbacks and access checks ----------------------------------------------------------------

static void begin_hit(orr_run* run)
{
    const orr_entity* bob = orr_run_settings(run);
    CHECK_OK(orr_transact(run, ORR_OP_ADD, *bob, Health, armour, 5));
}

static void send_undeclared(orr_run* run)
{
    const orr_entity* bob = orr_run_settings(run);
    CHECK_RESULT(orr_transact(run, ORR_OP_ADD, *bob, Score, points, 5), ORR_ERR_STATE);
}

ORR_TEST(transact_that_is_not_declared_is_refused_and_named)
{
    kit k;
    orr_world* world = begin(&k, NULL);
    orr_entity bob = orr_create_named(world, "bob");
    CHECK_OK(orr_set(world, bob, Health, {100, 0}));
    orr_system system = KIT_SYSTEM(world, .name = "reach", .once = true, .transacts = "Health",
                                   .settings = &bob, .start = begin_hit, .run = send_undeclared);
    KIT_STEP_REFUSED(world, 1);
    KIT_ERROR(
        &k, ORR_ERR_STATE,
        "system 'reach' transacts on Score for bob (0v1), which it did not declare; add Score to "
        "its .transacts");
    CHECK_EQ(kit_stats(world, system).violations, 1);
    CHECK_EQ(orr_get(world, bob, Health)->armour, 5); // Sent when it started.
    // Names are looked up as in every text.
    orr_system wrong = KIT_SYSTEM(world, .name = "wrong", .once = true, .transacts = "Helth",
                                  .run = kit_run_nothing);
    CHECK(orr_step(world, 1) != ORR_OK);
    KIT_ERROR(&k, ORR_ERR_TYPE, "'wrong', .transacts");
    CHECK_OK(orr_system_remove(world, wrong));
    CHECK_EQ(KIT_ADD(world, .name = "user", .once = true, .transacts = "Health", .user = &bob,
                     .run = kit_run_nothing)
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, ".impure");
    KIT_STEP_REFUSED(world, 1);
    kit_end(&k);
}

// ---- out of memory ------------------------------------------------------------------------------

static void short_receive(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        (void)m;
    }
}

// The calls may be refused; the tick returns it.
static void short_hit(orr_run* run)
{
    const Aim* aim = orr_read(run, Aim);
    for (uint32_t i = 0; i < run->count; i++) {
        (void)orr_transact(run, ORR_OP_ADD, aim[i].target, Health, value, -aim[i].power);
    }
}

static orr_world* short_begin(kit* k, uint32_t workers)
{
    orr_world* world = begin(k, &(orr_world_desc){.seed = 2, .workers = workers});
    orr_entity targets[40];
    for (uint32_t i = 0; i < 40; i++) {
        targets[i] = orr_create(world);
        CHECK_OK(orr_set(world, targets[i], Score, {0}));
        CHECK_OK(orr_set(world, targets[i], Health, {100, 0}));
        CHECK_OK(orr_set(world, targets[i], Aim, {targets[i / 2], (int32_t)i}));
    }
    KIT_SYSTEM(world, .name = "hit", .query = "Aim", .transacts = "Health", .run = short_hit);
    KIT_SYSTEM(world, .name = "shift", .query = "Aim", .creates = "Score, Aim", .destroys = "Aim",
               .adds = "Frozen", .removes = "Frozen", .transacts = "Score", .run = shift);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Health, ?Score",
               .run = short_receive);
    KIT_SYSTEM(world, .name = "hit_too", .query = "Aim", .transacts = "Health", .run = short_hit);
    return world;
}

// Continues after a refusal. False: a sent change is lost, which was reported.
static bool short_steps(orr_world* world, uint32_t count)
{
    uint64_t tick = world->tick + count;
    while (world->tick < tick || orr_tick_open(world)) {
        orr_result result = orr_step(world, 1);
        if (result != ORR_OK && !orr_tick_open(world) && world->tick > 0 &&
            strstr(orr_error_last(world), "lacks that change") != NULL) {
            return false;
        }
    }
    return true;
}

ORR_TEST(transact_ticks_with_refused_memory_continue_with_the_same_hash)
{
    kit k;
    orr_world* world = short_begin(&k, 0);
    KIT_STEP(world, 4);
    uint64_t expected = orr_world_hash(world);
    kit_end(&k);
    uint64_t refused = 1;
    uint32_t equal = 0;
    for (uint64_t n = 1; refused > 0; n++) {
        world = short_begin(&k, 0);
        failing_alloc_arm(&k.memory, n, false);
        bool whole = short_steps(world, 4);
        refused = k.memory.refused;
        if (whole) {
            equal++;
            CHECK_EQ(orr_world_hash(world), expected);
        }
        kit_end(&k);
    }
    CHECK(equal > 20);
}
