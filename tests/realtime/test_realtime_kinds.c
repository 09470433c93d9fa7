// SPDX-License-Identifier: MIT
// Instances and pinned values of another pipeline in real time. Readers see whole ticks and never
// wait for a value; values are added and removed meanwhile; recordings, spectators, refused memory.
// Readers of `live` values wait, as for other live types.
#include "realtime/hard_kit.h"

ORR_STRUCT_EX(Sail, (.multiplicity = ORR_MULTIPLE), (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT_EX(Mast, (.storage = ORR_PINNED), (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT_EX(LiveSail, (.multiplicity = ORR_MULTIPLE, .live = true), (uint64_t, tick),
              (uint64_t, twice))
ORR_STRUCT_EX(LiveMast, (.storage = ORR_PINNED, .live = true), (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT_EX(Flag, (.transient = true), (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT_EX(Hold, (.storage = ORR_PINNED), (int64_t, gold), (int64_t, stowed), (int64_t, twice))
ORR_STRUCT(Ship, (uint64_t, number))
ORR_STRUCT(Log, (uint64_t, ticks), (uint64_t, sum))

enum {
    SHIPS = 3000,
    FRAMES = 20 // Frames that are drawn while a tick of the owner is blocked.
};

static _Atomic uint64_t drawn, missed;
static _Atomic bool sailing;   // The owner is inside a tick.
static _Atomic bool still;     // The owner is blocked in its tick,
static _Atomic uint32_t stood; // and how often it was.

// The owner blocks until the others have drawn. A reader that waited for its values would never
// finish. After some ticks the owner ends the run.
static void stand_still(const orr_run* run)
{
    uint64_t until = drawn + FRAMES;
    stood += still;
    for (uint32_t i = 0; stood > 0 && stood < 6 && drawn < until; i++) {
        hard_sleep(100000);
        if (i == 100000) { // Ten seconds; no machine needs that long.
            missed++;
            return;
        }
    }
    if (stood == 10) {
        orr_stop(run->world);
    }
}

// ---- the owner: at the end of its tick both fields agree ----------------------------------------

static void each_sail(orr_run* run, bool twice)
{
    ORR_EACH (it, orr_run_query(run)) {
        Sail* sails = orr_write(&it, Sail);
        orr_instances in = orr_instances_of(&it, Sail);
        for (uint32_t i = 0; i < it.count; i++) {
            for (uint32_t k = 0; k < in.counts[i]; k++) {
                Sail* sail = &sails[i * in.capacity + k];
                *sail = (Sail){run->tick, twice ? 2 * run->tick : sail->twice};
            }
        }
    }
}

static void hoist(orr_run* run)
{
    each_sail(run, false);
    stand_still(run);
    each_sail(run, true);
}

static void each_mast(orr_run* run, bool twice)
{
    ORR_EACH (it, orr_run_query(run)) {
        for (uint32_t i = 0; i < it.count; i++) {
            Mast* mast = orr_write_pinned(&it, Mast, i);
            *mast = (Mast){run->tick, twice ? 2 * run->tick : mast->twice};
        }
    }
}

static void raise(orr_run* run)
{
    each_mast(run, false);
    stand_still(run);
    each_mast(run, true);
}

// ---- readers ------------------------------------------------------------------------------------

typedef struct sight {
    uint64_t tick, count;
} sight;

// All values are of one tick, except values added since, which are 1.
static void see(sight* s, uint64_t tick, uint64_t twice)
{
    HARD_CHECK(twice == 2 * tick, "%u and %u: torn", (unsigned)tick, (unsigned)twice);
    HARD_CHECK(tick <= 1 || s->tick == 0 || s->tick == tick, "of ticks %u and %u", (unsigned)tick,
               (unsigned)s->tick);
    s->tick = tick > 1 ? tick : s->tick;
    s->count++;
}

static void note(orr_run* run, const sight* s)
{
    Log* log = orr_state(run, Log);
    HARD_CHECK(s->tick == 0 || s->tick >= log->ticks, "an older tick is seen");
    log->ticks = s->tick > log->ticks ? s->tick : log->ticks;
    log->sum = log->sum * 31 + s->tick * 7 + s->count;
    drawn++;
}

static void see_sails(orr_run* run, sight* s)
{
    ORR_EACH (it, orr_run_query(run)) {
        const Sail* sails = orr_read(&it, Sail);
        orr_instances in = orr_instances_of(&it, Sail);
        for (uint32_t i = 0; i < it.count; i++) {
            orr_entity ship = orr_iter_entity(&it, i);
            for (uint32_t k = 0; k < in.counts[i]; k++) {
                const Sail* sail = &sails[i * in.capacity + k];
                orr_component_ref ref = {ship, orr_type_of(run->world, ORR_TYPE(Sail)),
                                         in.ids[i * in.capacity + k]};
                see(s, sail->tick, sail->twice);
                HARD_CHECK(orr_ref_get(run->world, ref) == sail, "the value read by id differs");
            }
        }
    }
}

static void draw_sails(orr_run* run)
{
    sight s = {0};
    see_sails(run, &s);
    note(run, &s);
}

static void draw_masts(orr_run* run)
{
    sight s = {0};
    ORR_EACH (it, orr_run_query(run)) {
        for (uint32_t i = 0; i < it.count; i++) {
            const Mast* mast = orr_read_pinned(&it, Mast, i);
            see(&s, mast->tick, mast->twice);
            HARD_CHECK(orr_get(run->world, orr_iter_entity(&it, i), Mast) == mast,
                       "the value read by id differs");
        }
    }
    note(run, &s);
}

// By rows, which are prepared before it runs.
static void look_at_masts(orr_run* run)
{
    sight s = {0};
    for (uint32_t i = 0; i < run->count; i++) {
        const Mast* mast = orr_read_pinned(run, Mast, i);
        see(&s, mast->tick, mast->twice);
    }
}

// All ships, with an optional term.
static void draw_ships(orr_run* run)
{
    sight s = {0};
    ORR_EACH (it, orr_run_query(run)) {
        for (uint32_t i = 0; i < it.count; i++) {
            const Mast* mast = orr_read_pinned(&it, Mast, i);
            if (mast != NULL) {
                see(&s, mast->tick, mast->twice);
            }
        }
    }
    note(run, &s);
}

// ---- adding and removing ------------------------------------------------------------------------

static void refit(orr_run* run)
{
    orr_type sail = orr_type_of(run->world, ORR_TYPE(Sail));
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity ship = orr_iter_entity(run, i);
        switch (orr_random(run->tick, ship.id, 0, 0) % 64) {
        case 0:
            orr_send_add_type(run, ship, sail, &(Sail){1, 2}, NULL);
            break;
        case 1:
            orr_send_remove_type(run, ship, sail, 0);
            break;
        case 2:
            orr_send_add(run, ship, Mast, {1, 2});
            break;
        case 3:
            orr_send_remove(run, ship, Mast);
            break;
        case 4:
            orr_send_destroy(run, ship);
            break;
        case 5: {
            orr_entity fresh = orr_send_create(run);
            orr_send_add(run, fresh, Ship, {ship.id});
            orr_send_add(run, fresh, Mast, {1, 2});
            orr_send_add_type(run, fresh, sail, &(Sail){1, 2}, NULL);
            break;
        }
        default:
            break;
        }
    }
}

// ---- worlds -------------------------------------------------------------------------------------

static void launch(orr_world* world, uint32_t ships)
{
    ORR_REGISTER(world, Sail, Mast, LiveSail, LiveMast, Flag, Ship, Log);
    drawn = missed = 0;
    still = false;
    stood = 0;
    for (uint32_t i = 0; i < ships; i++) {
        orr_entity ship = orr_create(world);
        orr_set(world, ship, Ship, {i});
        orr_set(world, ship, Mast, {1, 2});
        for (uint32_t k = 0; k <= i % 3; k++) {
            orr_add_instance(world, ship, Sail, {1, 2});
        }
    }
}

static orr_world* sail_begin(kit* k, uint32_t workers, bool pinned, uint32_t ships)
{
    orr_world* world = hard_begin(k, workers);
    launch(world, ships);
    hard_pipe(world, "owner", 0, false);
    KIT_SYSTEM(world, .name = "owns", .pipeline = "owner", .once = true,
               .query = pinned ? "write Mast" : "write Sail", .run = pinned ? raise : hoist);
    return world;
}

static void sail_reader(orr_world* world, const char* name, const char* pipeline, bool pinned)
{
    KIT_SYSTEM(world, .name = name, .pipeline = pipeline, .once = true,
               .query = pinned ? "Mast" : "Sail", .by_id = pinned ? "Mast" : "Sail",
               .state = ORR_TYPE(Log), .run = pinned ? draw_masts : draw_sails);
}

static void never_waits(bool pinned)
{
    kit k;
    orr_world* world = sail_begin(&k, 0, pinned, SHIPS);
    sail_reader(world, "draws", "main", pinned);
    if (pinned) {
        KIT_SYSTEM(world, .name = "draws_all", .once = true, .query = "Ship, ?Mast",
                   .state = ORR_TYPE(Log), .run = draw_ships);
        KIT_SYSTEM(world, .name = "looks", .query = "Mast, Ship", .run = look_at_masts);
    }
    do { // Until all systems have begun, which needs structure.
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 3}));
    } while (hard_ticks(world, "owner") == 0);
    still = true;
    CHECK_OK(orr_realtime(world, NULL));
    orr_wait_stats stats;
    CHECK_OK(orr_wait_stats_get(world, orr_pipeline_find(world, "main"), &stats));
    CHECK_EQ(stats.lock_waits, 0);
    CHECK_EQ(missed, 0);
    const Log* log = orr_system_state(world, orr_system_find(world, "draws"));
    CHECK(log->ticks >= 3); // The reader saw several ticks.
    hard_end(&k);
}

ORR_TEST(realtime_reader_of_instances_sees_whole_ticks_and_never_waits)
{
    never_waits(false);
}

ORR_TEST(realtime_reader_of_pinned_values_sees_whole_ticks_and_never_waits)
{
    never_waits(true);
}

// ---- adding and removing, recorded --------------------------------------------------------------

static orr_world* refit_begin(kit* k, uint32_t workers, bool observed)
{
    orr_world* world = hard_begin(k, workers);
    launch(world, 500);
    hard_pipe(world, "sails", 333, false);
    hard_pipe(world, "masts", 0, false);
    hard_pipe(world, "view", 0, true);
    KIT_SYSTEM(world, .name = "hoist", .pipeline = "sails", .once = true, .query = "write Sail",
               .run = hoist);
    KIT_SYSTEM(world, .name = "raise", .pipeline = "masts", .once = true, .query = "write Mast",
               .run = raise);
    sail_reader(world, "masts_seen", "sails", true);
    sail_reader(world, "sails_seen", "masts", false);
    KIT_SYSTEM(world, .name = "refit", .query = "Ship", .creates = "Ship, Sail, Mast",
               .destroys = "Ship", .adds = "Sail, Mast", .removes = "Sail, Mast", .run = refit);
    if (observed) {
        KIT_SYSTEM(world, .name = "view_masts", .pipeline = "view", .once = true, .query = "Mast",
                   .by_id = "Mast", .state = ORR_TYPE(Log), .run = draw_masts);
        KIT_SYSTEM(world, .name = "view_sails", .pipeline = "view", .once = true, .query = "Sail",
                   .by_id = "Sail", .state = ORR_TYPE(Log), .run = draw_sails);
    }
    return world;
}

static orr_world* refit_plain(kit* k, uint32_t workers)
{
    return refit_begin(k, workers, false);
}

ORR_TEST(realtime_replay_of_added_and_removed_instances_and_pinned_values_has_the_recorded_hash)
{
    hard_replays_with_workers((hard_replay){.begin = refit_plain, .ticks = 40});
}

static void observed_replay(bool with_first)
{
    kit k;
    orr_recording* recording = orr_recording_create();
    uint64_t hash = 0;
    for (uint32_t i = 0; i < 2; i++) {
        orr_world* world = refit_begin(&k, 0, (i == 0) == with_first);
        orr_realtime_desc record = {.ticks = 30, .record = recording, .hashes = true};
        orr_realtime_desc replay = {.replay = recording};
        CHECK_OK(orr_realtime(world, i == 0 ? &record : &replay));
        hash = i == 0 ? orr_world_hash(world) : hash;
        CHECK(orr_world_hash(world) == hash);
        hard_end(&k);
    }
    orr_recording_destroy(recording);
}

ORR_TEST(realtime_recording_of_instances_and_pinned_values_does_not_depend_on_spectators)
{
    observed_replay(true);
    observed_replay(false);
}

// ---- values of spectators -----------------------------------------------------------------------

static void wave(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        Flag* flag = orr_write_pinned(run, Flag, i);
        if (flag == NULL) {
            orr_send_add(run, orr_iter_entity(run, i), Flag, {1, 2});
        } else if (orr_random(run->tick, i, 0, 0) % 16 == 0) {
            orr_send_remove(run, orr_iter_entity(run, i), Flag);
        } else {
            flag->tick = run->tick;
            flag->twice = 2 * run->tick;
        }
    }
}

static void watch_flags(orr_run* run)
{
    uint64_t newest = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        const Flag* flag = orr_read_pinned(run, Flag, i);
        HARD_CHECK(flag->twice == 2 * flag->tick, "a flag is torn");
        newest = flag->tick > newest ? flag->tick : newest;
    }
    drawn += newest > 1;
}

ORR_TEST(realtime_transient_values_of_one_spectator_are_published_to_another)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    launch(world, 300);
    hard_pipe(world, "waves", 0, true);
    hard_pipe(world, "watches", 0, true);
    KIT_SYSTEM(world, .name = "wave", .pipeline = "waves", .query = "Ship, ?write Flag",
               .adds = "Flag", .removes = "Flag", .run = wave);
    KIT_SYSTEM(world, .name = "watch", .pipeline = "watches", .query = "Flag", .run = watch_flags);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 60}));
    CHECK(drawn > 0);
    hard_end(&k);
}

// ---- transactions on what another pipeline owns -------------------------------------------------

static _Atomic int64_t paid;

static void pay(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity ship = orr_iter_entity(run, i);
        int64_t amount = (int64_t)(orr_random(run->tick, ship.id, 1, 0) % 10);
        orr_transact(run, ORR_OP_ADD, ship, Hold, gold, amount);
        paid += amount;
    }
}

// Written by the owner: the amount paid so far, twice. Both fields are of one tick.
static void stow(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        Hold* hold = orr_write_pinned(run, Hold, i);
        hold->twice = 2 * hold->gold;
        hold->stowed = hold->gold;
    }
}

static void count_gold(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        const Hold* hold = orr_read_pinned(run, Hold, i);
        HARD_CHECK(hold->twice == 2 * hold->stowed && hold->gold >= hold->stowed, "torn");
    }
    drawn++;
}

static orr_world* pay_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    launch(world, 200);
    paid = 0;
    ORR_REGISTER(world, Hold);
    orr_query* ships = orr_query_text(world, "Ship");
    orr_entity all[200];
    uint32_t count = 0;
    ORR_EACH (it, ships) {
        orr_iter_entities(&it, all + count);
        count += it.count;
    }
    for (uint32_t i = 0; i < count; i++) {
        orr_set(world, all[i], Hold, {0, 0, 0});
    }
    orr_query_destroy(ships);
    hard_pipe(world, "owner", 0, false);
    hard_pipe(world, "reader", 500, false);
    KIT_SYSTEM(world, .name = "pays", .query = "Ship", .transacts = "Hold", .run = pay);
    KIT_SYSTEM(world, .name = "stows", .pipeline = "owner", .query = "write Hold", .run = stow);
    KIT_SYSTEM(world, .name = "counts", .pipeline = "reader", .query = "Hold", .run = count_gold);
    return world;
}

ORR_TEST(realtime_transactions_on_pinned_values_of_another_pipeline_lose_nothing)
{
    kit k;
    orr_world* world = pay_begin(&k, 2);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 60}));
    CHECK_OK(orr_system_enable(world, orr_system_find(world, "pays"), false));
    orr_pipeline_stats before, after;
    CHECK_OK(orr_pipeline_stats_get(world, orr_pipeline_find(world, "owner"), &before));
    do { // A transaction that waits for the owner is applied in the owner's next tick.
        CHECK_OK(orr_step(world, 1));
        CHECK_OK(orr_pipeline_stats_get(world, orr_pipeline_find(world, "owner"), &after));
    } while (after.tick < before.tick + 2);
    int64_t sum = 0;
    orr_query* holds = orr_query_text(world, "Hold");
    ORR_EACH (it, holds) {
        for (uint32_t i = 0; i < it.count; i++) {
            sum += orr_read_pinned(&it, Hold, i)->gold;
        }
    }
    CHECK_EQ(sum, paid);
    CHECK(sum > 0);
    hard_end(&k);
    hard_replays(&(hard_replay){.begin = pay_begin, .ticks = 40});
}

// ---- live values --------------------------------------------------------------------------------

static void live_write(orr_run* run)
{
    sailing = true;
    ORR_EACH (it, orr_run_query(run)) {
        LiveSail* sails = orr_write(&it, LiveSail);
        for (uint32_t i = 0; i < it.count; i++) {
            LiveMast* mast = orr_write_pinned(&it, LiveMast, i);
            sails[i].tick = mast->tick = run->tick;
            hard_sleep(200000);
            sails[i].twice = mast->twice = 2 * run->tick;
        }
    }
    sailing = false;
}

static void live_read(orr_run* run)
{
    HARD_CHECK(!sailing, "the reader of a live value did not wait");
    ORR_EACH (it, orr_run_query(run)) {
        const LiveSail* sails = orr_read(&it, LiveSail);
        for (uint32_t i = 0; i < it.count; i++) {
            const LiveMast* mast = orr_read_pinned(&it, LiveMast, i);
            HARD_CHECK(mast->tick == sails[i].tick && mast->twice == 2 * mast->tick, "torn");
            HARD_CHECK(sails[i].twice == 2 * sails[i].tick, "torn");
        }
    }
    HARD_CHECK(!sailing, "the owner did not wait for the reader");
    drawn++;
}

ORR_TEST(realtime_readers_of_live_instances_and_pinned_values_wait)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    launch(world, 0);
    for (uint32_t i = 0; i < 4; i++) {
        orr_entity ship = orr_create(world);
        orr_add_instance(world, ship, LiveSail, {0, 0});
        orr_set(world, ship, LiveMast, {0, 0});
    }
    hard_pipe(world, "owner", 0, false);
    KIT_SYSTEM(world, .name = "writes", .pipeline = "owner", .once = true,
               .query = "write LiveSail, write LiveMast", .run = live_write);
    KIT_SYSTEM(world, .name = "reads", .once = true, .query = "LiveSail, LiveMast",
               .run = live_read);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 100}));
    orr_wait_stats stats;
    CHECK_OK(orr_wait_stats_get(world, orr_pipeline_find(world, "main"), &stats));
    CHECK(stats.lock_waits > 0 && drawn > 0);
    hard_end(&k);
}

// ---- changes that are sent ----------------------------------------------------------------------

// Changes of instances are committed at the end of the system, while other pipelines run.
static void trim(orr_run* run)
{
    orr_type type = orr_type_of(run->world, ORR_TYPE(Sail));
    orr_instances in = orr_instances_of(run, Sail);
    for (uint32_t i = 0; i < run->count; i++) {
        for (uint32_t k = 0; k < in.counts[i]; k++) {
            CHECK_OK(orr_send_change_type(run, orr_iter_entity(run, i), type,
                                          in.ids[i * in.capacity + k],
                                          &(Sail){run->tick, 2 * run->tick}));
        }
    }
}

static void count_ships(orr_run* run)
{
    uint64_t sum = 0;
    for (uint32_t round = 0; round < 20; round++) {
        ORR_EACH (it, orr_run_query(run)) {
            const Ship* ship = orr_read(&it, Ship);
            for (uint32_t i = 0; i < it.count; i++) {
                sum += ship[i].number;
            }
        }
    }
    HARD_CHECK(sum == UINT64_C(20) * 3 * 50, "%u", (unsigned)sum);
    drawn++;
}

// The thread sanitizer checks that a change of values writes nothing that loops over rows read.
ORR_TEST(realtime_changes_of_instances_are_committed_beside_loops_over_their_rows)
{
    kit k;
    orr_world* world = hard_begin(&k, 0);
    for (uint32_t i = 0; i < 50; i++) {
        orr_entity ship = orr_create(world);
        CHECK_OK(orr_set(world, ship, Ship, {3}));
        orr_add_instance(world, ship, Sail, {0, 0});
        orr_add_instance(world, ship, Sail, {0, 0});
    }
    drawn = 0;
    hard_pipe(world, "owner", 0, false);
    KIT_SYSTEM(world, .name = "trim", .pipeline = "owner", .query = "Sail", .changes = "Sail",
               .run = trim);
    KIT_SYSTEM(world, .name = "count", .once = true, .query = "Ship", .run = count_ships);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 200}));
    CHECK(drawn > 0);
    CHECK_OK(orr_world_validate(world));
    hard_end(&k);
}

// ---- memory -------------------------------------------------------------------------------------

ORR_TEST(realtime_instances_and_pinned_values_stay_whole_whatever_memory_is_refused)
{
    uint64_t refused = 1, step = test_slow() ? 17 : 3;
    for (uint64_t n = 1; refused > 0; n += step) {
        kit k;
        orr_world* world = refit_begin(&k, 0, true);
        failing_alloc_arm(&k.memory, n, n % 3 == 0);
        orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 3});
        refused = k.memory.refused;
        failing_alloc_arm(&k.memory, 0, false);
        CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
        CHECK_OK(kit_realtime_recover(world, 3));
        CHECK_OK(orr_world_validate(world));
        k.errors = (kit_errors){0};
        hard_end(&k);
    }
}
