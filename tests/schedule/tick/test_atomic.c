// SPDX-License-Identifier: MIT
// Atomic sections: no write is lost, whatever the number of workers and the way sections exclude
// each other; which systems overlap; what readers receive; refusals, by name.
#include "base/htm.h"
#include "schedule/plan/plan_kit.h"
#include "schedule/tick/atomic_kit.h"

static void lose_none(uint32_t workers, orri_atomic_section_mode way)
{
    kit k;
    orr_world* world = begin(&k, &(orr_world_desc){.workers = workers});
    uint32_t ticks = test_rounds(40, 10, 200);
    CHECK(orri_atomic_section_mode_set(world, way));
    orr_entity receiver = orr_create(world);
    CHECK_OK(orr_set(world, receiver, Score, {0}));
    int64_t sum = senders(world, receiver, 1000);
    KIT_SYSTEM(world, .name = "shoot", .query = "Aim", .atomics = "Score", .run = shoot,
               .parallel = true);
    KIT_SYSTEM(world, .name = "shoot_too", .query = "Aim", .atomics = "Score", .run = shoot,
               .parallel = true);
    KIT_SYSTEM(world, .name = "one_more", .query = "Aim", .atomics = "Score", .run = shoot);
    orri_parallel_share(world, ORRI_SHARE_ALL, 0); // As one unit on one worker,
    KIT_STEP(world, 2);
    orri_parallel_share(world, ORRI_SHARE_NOTHING, 0); // at the same time,
    KIT_STEP(world, 2);
    orri_parallel_share(world, ORRI_SHARE_RANDOM, 1); // and split.
    KIT_STEP(world, ticks);
    CHECK_EQ(orr_get(world, receiver, Score)->points, 3 * sum * (4 + ticks));
    uint64_t passed = orri_atomic_section_htm_count(world);
    CHECK(passed == 0 || (way != ORRI_ATOMIC_SECTION_MUTEX && orri_htm_works()));
    printf("  %u workers: %llu of %u sections by transactional memory\n", workers,
           (unsigned long long)passed, 3000 * (4 + ticks));
    kit_end(&k);
}

ORR_TEST(atomic_a_thousand_senders_on_one_receiver_lose_no_write) /* N3-15 */
{
    static const uint32_t workers[] = {0, 2, 8, 32};
    for (uint32_t w = 0; w < ORRI_COUNT(workers); w++) {
        lose_none(workers[w], ORRI_ATOMIC_SECTION_MUTEX);
        lose_none(workers[w], ORRI_ATOMIC_SECTION_HTM);
    }
}

// Both ways at once: sections that the processor aborts, and others that it does not.
static void add_loudly(void* value, void* user)
{
    add_points(value, user);
    if (((const Score*)value)->points % 3 == 0) {
        (void)remove("/nowhere/at/all"); // A system call.
    }
}

static void shoot_loudly(orr_run* run)
{
    const Aim* aim = orr_read(run, Aim);
    for (uint32_t i = 0; i < run->count; i++) {
        int32_t power = aim[i].power;
        CHECK_OK(orr_atomic_on(run, aim[i].target, Score, add_loudly, &power));
    }
}

ORR_TEST(atomic_sections_by_mutex_and_by_transactional_memory_exclude_each_other) /* N3-15 */
{
    kit k;
    orr_world* world = begin(&k, &(orr_world_desc){.workers = 4});
    CHECK(orri_atomic_section_mode_set(world, ORRI_ATOMIC_SECTION_HTM));
    orri_parallel_share(world, ORRI_SHARE_NOTHING, 0);
    orr_entity receiver = orr_create(world);
    CHECK_OK(orr_set(world, receiver, Score, {0}));
    int64_t sum = senders(world, receiver, 300);
    for (uint32_t i = 0; i < 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "s%u", i);
        KIT_SYSTEM(world, .name = name, .query = "Aim", .atomics = "Score", .run = shoot_loudly);
    }
    KIT_STEP(world, 10);
    CHECK_EQ(orr_get(world, receiver, Score)->points, 40 * sum);
    kit_end(&k);
}

// ---- targets of every kind ----------------------------------------------------------------------

static void smear(void* value, void* user)
{
    Padded* padded = value;
    memset(padded, *(const int32_t*)user, sizeof *padded);
    *padded = (Padded){.a = 1, .b = 2, .c = 3};
    memset((uint8_t*)value + 1, *(const int32_t*)user, 7); // Padding between a and b.
}

static void touch_all(orr_run* run)
{
    const targets* t = orr_run_settings(run);
    const Aim* aim = orr_read(run, Aim);
    orr_type cargo = orr_type_of(run->world, ORR_TYPE(Cargo));
    for (uint32_t i = 0; i < run->count; i++) {
        int32_t byte = (int32_t)run->tick + aim[i].power;
        CHECK_OK(orr_atomic_on(run, t->bob, Score, add_one, NULL));
        CHECK_OK(orr_atomic_on(run, t->bob, Base, add_one, NULL));
        CHECK_OK(orr_atomic(run, t->bob, cargo, t->crate, add_one, NULL));
        CHECK_OK(orr_atomic_on(run, t->bob, Padded, smear, &byte));
    }
}

static uint64_t touch_everything(orr_access_check audit, uint32_t workers)
{
    kit k;
    orr_world* world = begin(&k, &(orr_world_desc){.workers = workers});
    orr_access_check_set(world, audit);
    orri_parallel_share(world, ORRI_SHARE_RANDOM, 2);
    static targets t;
    t.bob = orr_create_named(world, "bob");
    CHECK_OK(orr_set(world, t.bob, Score, {0}));
    CHECK_OK(orr_set(world, t.bob, Base, {0}));
    CHECK_OK(orr_add(world, t.bob, Padded));
    t.other = orr_add_instance(world, t.bob, Cargo, {7});
    t.crate = orr_add_instance(world, t.bob, Cargo, {0});
    (void)senders(world, t.bob, 200);
    orr_system system = KIT_SYSTEM(world, .name = "touch", .query = "Aim", .settings = &t,
                                   .atomics = "Score, Base, Cargo, Padded", .run = touch_all,
                                   .parallel = true);
    KIT_STEP(world, 5);
    CHECK_STR(k.errors.text, "");
    CHECK_EQ(orr_get(world, t.bob, Score)->points, 1000);
    CHECK_EQ(orr_get(world, t.bob, Base)->taken, 1000);
    const Cargo* crate = orr_instance_get(world, t.bob, KIT_TYPE(world, Cargo), t.crate);
    const Cargo* other = orr_instance_get(world, t.bob, KIT_TYPE(world, Cargo), t.other);
    CHECK_EQ(crate->weight, 1000);
    CHECK_EQ(other->weight, 7);
    CHECK_EQ(kit_stats(world, system).violations, 0);
    uint64_t hash = orr_world_hash(world);
    kit_end(&k);
    return hash;
}

ORR_TEST(atomic_sections_reach_unique_pinned_multiple_and_padded_values) /* N3-15 */
{
    uint64_t hash = touch_everything(ORR_ACCESS_CHECK_CALLS, 0);
    // These results do not depend on the order, and neither does the hash, padding or not.
    CHECK_EQ(touch_everything(ORR_ACCESS_CHECK_FULL, 0), hash);
    CHECK_EQ(touch_everything(ORR_ACCESS_CHECK_CALLS, 4), hash);
    CHECK_EQ(touch_everything(ORR_ACCESS_CHECK_OFF, 4), hash);
}

static void miss(orr_run* run)
{
    const targets* t = orr_run_settings(run);
    orr_type cargo = orr_type_of(run->world, ORR_TYPE(Cargo));
    for (uint32_t i = 0; i < run->count; i++) {
        CHECK_OK(orr_atomic_on(run, t->bob, Score, add_one, NULL));
        CHECK_OK(orr_atomic_on(run, t->bob, Base, add_one, NULL));
        CHECK_OK(orr_atomic(run, t->bob, cargo, t->crate + 1, add_one, NULL));
    }
}

ORR_TEST(atomic_section_without_its_component_is_dropped_counted_and_reported_once)
{
    for (uint32_t workers = 0; workers <= 4; workers += 4) {
        kit k;
        orr_world* world = begin(&k, &(orr_world_desc){.workers = workers});
        orri_parallel_share(world, ORRI_SHARE_RANDOM, 2);
        static targets t;
        t.bob = orr_create(world);
        t.crate = orr_add_instance(world, t.bob, Cargo, {0});
        (void)senders(world, t.bob, 100);
        orr_system system = KIT_SYSTEM(world, .name = "miss", .query = "Aim", .settings = &t,
                                       .atomics = "Score, Base, Cargo", .run = miss,
                                       .parallel = true);
        uint64_t before = 0;
        CHECK_RESULT(kit_run_refused(world, 1), ORR_ERR_ABSENT);
        CHECK_EQ(kit_stats(world, system).dropped, 300);
        orr_cluster cluster = orr_entity_cluster(world, t.bob);
        before = orr_column_tick(world, cluster, 0, KIT_TYPE(world, Cargo));
        CHECK_RESULT(kit_run_refused(world, 1), ORR_ERR_ABSENT);
        CHECK_EQ(kit_stats(world, system).dropped, 600);
        CHECK_EQ(orr_column_tick(world, cluster, 0, KIT_TYPE(world, Cargo)), before);
        CHECK_OK(orr_destroy(world, t.bob));
        CHECK_RESULT(kit_run_refused(world, 1), ORR_ERR_ENTITY);
        CHECK_EQ(kit_stats(world, system).dropped, 900);
        CHECK_EQ(kit_stats(world, system).violations, 0);
        CHECK_STR(k.errors.text, "");
        kit_end(&k);
    }
}

// ---- which systems overlap ----------------------------------------------------------------------

static bool conflict(orr_world* world, orr_system a, orr_system b)
{
    const orri_system *first = orri_system_at(world, a), *second = orri_system_at(world, b);
    CHECK_OK(orri_plan_make(world));
    CHECK_EQ(orri_conflict(world, first, second), orri_conflict(world, second, first));
    return orri_conflict(world, first, second);
}

ORR_TEST(atomic_sections_on_one_type_overlap_and_other_accesses_wait) /* N3-15 */
{
    kit k;
    orr_world* world = begin(&k, NULL);
    (void)aimer(world, (orr_entity){0}, 1);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Health, {100, 0}));
    orr_system one = KIT_SYSTEM(world, .name = "one", .query = "Aim", .atomics = "Health",
                                .run = kit_run_nothing, .parallel = true);
    orr_system two = KIT_SYSTEM(world, .name = "two", .once = true, .atomics = "Score, Health",
                                .run = kit_run_nothing);
    orr_system reads =
        KIT_SYSTEM(world, .name = "reads", .query = "Health", .run = kit_run_nothing);
    orr_system writes =
        KIT_SYSTEM(world, .name = "writes", .query = "write Health", .run = kit_run_nothing);
    orr_system any = KIT_SYSTEM(world, .name = "any", .query = "Position", .by_id = "Health",
                                .run = kit_run_nothing);
    orr_system both = KIT_SYSTEM(world, .name = "both", .query = "Health", .atomics = "Health",
                                 .run = kit_run_nothing);
    orr_system other = KIT_SYSTEM(world, .name = "other", .query = "write Position",
                                  .atomics = "Base", .run = kit_run_nothing);
    CHECK(!conflict(world, one, two));
    CHECK(!conflict(world, one, other));
    CHECK(conflict(world, one, reads));
    CHECK(conflict(world, one, writes));
    CHECK(conflict(world, one, any));
    CHECK(conflict(world, one, both)); // It reads, too.
    CHECK(conflict(world, both, reads));
    char words[4096];
    orr_plan_print(world, words, sizeof words);
    CHECK_CONTAINS(words, "atomics Score, Health");
    CHECK_CONTAINS(words, "changes (.atomics) Health, then this system reads it");
    kit_end(&k);
}

// A later system sees, in the same chunk with the same rows, the writes of all chunks of an earlier
// one.
static void look(orr_run* run)
{
    const Score* score = orr_read(run, Score);
    Seen* seen = orr_write(run, Seen);
    for (uint32_t i = 0; i < run->count; i++) {
        seen[i].points = score[i].points;
    }
}

ORR_TEST(atomic_sections_end_before_a_later_system_reads_the_type_in_any_chunk)
{
    kit k;
    orr_world* world = begin(&k, &(orr_world_desc){.workers = 2});
    orri_parallel_share(world, ORRI_SHARE_ALL, 0);
    orr_entity all[64], last = {0};
    for (uint32_t i = 0; i < 64; i++) {
        all[i] = aimer(world, last, 1);
        CHECK_OK(orr_set(world, all[i], Score, {0}));
        CHECK_OK(orr_set(world, all[i], Seen, {0}));
        CHECK_OK(orr_tag_add(world, all[i], i));
        last = all[0];
    }
    CHECK_OK(orr_set(world, all[0], Aim, {all[63], 1}));
    KIT_SYSTEM(world, .name = "shoot", .query = "Aim, ?Seen", .atomics = "Score", .run = shoot,
               .parallel = true);
    KIT_SYSTEM(world, .name = "look", .query = "Score, write Seen", .run = look, .parallel = true);
    for (int64_t tick = 1; tick <= 20; tick++) {
        KIT_STEP(world, 1);
        CHECK_EQ(orr_get(world, all[0], Seen)->points, 63 * tick);
        CHECK_EQ(orr_get(world, all[63], Seen)->points, tick);
    }
    kit_end(&k);
}

static void arm(orr_run* run)
{
    const orr_entity* bob = orr_run_settings(run);
    if (run->tick == 1) {
        CHECK_OK(orr_send_add(run, *bob, Health, {100, 0}));
    }
}

ORR_TEST(atomic_sections_reach_components_added_earlier_in_the_tick)
{
    kit k;
    orr_world* world = begin(&k, NULL);
    static orr_entity bob;
    bob = orr_create(world);
    (void)aimer(world, bob, 5);
    KIT_SYSTEM(world, .name = "arm", .once = true, .adds = "Health", .settings = &bob, .run = arm);
    orr_system system =
        KIT_SYSTEM(world, .name = "hit", .query = "Aim", .atomics = "Health", .run = hit);
    KIT_STEP(world, 1);
    CHECK_EQ(orr_get(world, bob, Health)->value, 95);
    CHECK_EQ(kit_stats(world, system).dropped, 0);
    kit_end(&k);
}

ORR_TEST(atomic_sections_set_the_owner_of_their_types)
{
    kit k;
    orr_world* world = begin(&k, NULL);
    CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "fast", .rate_hz = 120}).id != 0);
    KIT_SYSTEM(world, .name = "hit", .query = "Aim", .atomics = "Health", .run = hit);
    CHECK_EQ(KIT_ADD(world, .name = "heal", .query = "write Health", .pipeline = "fast",
                     .run = kit_run_nothing)
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "writes Health, which pipeline 'main' owns since system 'hit'");
    CHECK_EQ(KIT_ADD(world, .name = "hit_too", .once = true, .atomics = "Health",
                     .pipeline = "fast", .run = kit_run_nothing)
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'hit_too' of pipeline 'fast' writes Health");
    kit_end(&k);
}

// ---- readers ------------------------------------------------------------------------------------

static void count_changed(orr_run* run)
{
    char word[32];
    snprintf(word, sizeof word, "changed:%u", run->count);
    kit_say(word);
}

static void wane(orr_run* run)
{
    Seen* seen = orr_write(run, Seen);
    for (uint32_t i = 0; i < run->count; i++) {
        seen[i].points--;
    }
}

ORR_TEST(atomic_sections_reach_readers_and_changed_terms_with_their_author) /* N3-15 */
{
    for (uint32_t workers = 0; workers <= 2; workers += 2) {
        kit k;
        orr_world* world = begin(&k, &(orr_world_desc){.workers = workers});
        orr_entity bob = orr_create(world), eve = orr_create(world);
        CHECK_OK(orr_set(world, bob, Health, {100, 0}));
        CHECK_OK(orr_set(world, eve, Health, {100, 0}));
        CHECK_OK(orr_set(world, eve, Base, {0}));
        (void)aimer(world, bob, 5);
        KIT_SYSTEM(world, .name = "hit", .query = "Aim", .atomics = "Health", .run = hit,
                   .parallel = true);
        KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Health",
                   .run = kit_note_messages);
        KIT_SYSTEM(world, .name = "changed", .query = "changed Health, !Base",
                   .run = count_changed);
        PLAN(world, "hit | hear | changed !");
        KIT_STEP(world, 1);
        kit_line[0] = '\0';
        KIT_STEP(world, 1);
        KIT_SAID("ComponentChanged:Health:1:hit changed:1");
        CHECK_EQ(orr_get(world, bob, Health)->value, 90);
        CHECK_EQ(orr_column_tick(world, orr_entity_cluster(world, bob), 0, KIT_TYPE(world, Health)),
                 orr_world_tick(world));
        // Two systems of one group at the same time: the message names no system.
        KIT_SYSTEM(world, .name = "hit_too", .query = "Aim", .atomics = "Health", .run = hit,
                   .before = "hear, changed");
        PLAN(world, "hit hit_too | hear | changed !");
        KIT_STEP(world, 1);
        KIT_SAID("ComponentChanged:Health:1: changed:1");
        kit_end(&k);
    }
}

ORR_TEST(atomic_sections_are_reported_separately_from_other_writes)
{
    kit k;
    orr_world* world = begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Health, {100, 0}));
    CHECK_OK(orr_set(world, bob, Seen, {0}));
    CHECK_OK(orr_set(world, bob, Score, {0}));
    (void)aimer(world, bob, 5);
    // Score has no reader, but every difference is reported after it.
    KIT_SYSTEM(world, .name = "shoot", .query = "Aim", .atomics = "Score", .run = shoot);
    KIT_SYSTEM(world, .name = "wane", .query = "write Seen", .run = wane);
    KIT_SYSTEM(world, .name = "hit", .query = "Aim", .atomics = "Health", .run = hit);
    KIT_SYSTEM(world, .name = "wane_too", .query = "write Seen", .run = wane);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Health, Seen",
               .run = kit_note_messages);
    PLAN(world, "shoot | wane hit | wane_too | hear !");
    KIT_STEP(world, 1);
    kit_line[0] = '\0';
    KIT_STEP(world, 1);
    KIT_SAID("ComponentChanged:Seen:1:wane ComponentChanged:Health:1:hit "
             "ComponentChanged:Seen:1:wane_too");
    kit_end(&k);
}

static void write_any(orr_run* run)
{
    const orr_entity* bob = orr_run_settings(run);
    CHECK_OK(orr_set(run->world, *bob, Score, {.points = (int64_t)run->tick}));
}

ORR_TEST(system_that_writes_an_unread_type_by_id_is_not_reported_as_source_of_more)
{
    kit k;
    orr_world* world = begin(&k, NULL);
    static orr_entity bob;
    bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Seen, {0}));
    CHECK_OK(orr_set(world, bob, Score, {0}));
    KIT_SYSTEM(world, .name = "by_id", .once = true, .by_id = "write Score", .settings = &bob,
               .run = write_any);
    KIT_SYSTEM(world, .name = "wane", .query = "write Seen", .run = wane);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Seen",
               .run = kit_note_messages);
    KIT_STEP(world, 1);
    kit_line[0] = '\0';
    KIT_STEP(world, 1);
    KIT_SAID("ComponentChanged:Seen:1:wane");
    kit_end(&k);
}

static void start_shot(orr_run* run)
{
    const orr_entity* bob = orr_run_settings(run);
    int32_t power = 3;
    CHECK_OK(orr_atomic_on(run, *bob, Health, hurt, &power));
}

ORR_TEST(atomic_sections_work_in_a_start_callback)
{
    kit k;
    orr_world* world = begin(&k, NULL);
    static orr_entity bob;
    bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Health, {100, 0}));
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Health",
               .run = kit_note_messages);
    KIT_STEP(world, 1);
    kit_line[0] = '\0';
    KIT_SYSTEM(world, .name = "start", .once = true, .atomics = "Health", .settings = &bob,
               .start = start_shot, .run = kit_run_nothing);
    KIT_STEP(world, 1);
    KIT_SAID("ComponentChanged:Health:1:");
    CHECK_EQ(orr_get(world, bob, Health)->value, 97);
    kit_end(&k);
}
