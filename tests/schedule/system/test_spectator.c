// SPDX-License-Identifier: MIT
// Spectators: whatever they do, at whatever rate, the simulation has the same hash after each of
// its ticks as without them. Calls that would break that are refused by name.
#include "scenarios/scenario.h"
#include "schedule/schedule.h"
#include "schedule/schedule_kit.h"

enum {
    TICKS = 300, // In builds that are not slow.
    SCALE = 1
};

ORR_STRUCT_EX(Smooth, (.transient = true), (float, x), (float, y, (.preset = "2")), (uint32_t, age))
ORR_STRUCT_EX(Caption, (.transient = true), (orr_string, text), (uint32_t, seen))
ORR_STRUCT_EX(Follow, (.transient = true), (orr_entity, whom))
ORR_STRUCT_EX(Ghost, (.transient = true), (orr_entity, whom), (uint32_t, life, (.preset = "3")))
ORR_STRUCT(Received, (uint64_t, entities), (uint64_t, digest), (uint32_t, events))
ORR_STRUCT(Blip, (uint32_t, number))
// Of a mote of the simulation; many systems add to it.
ORR_STRUCT(Store, (float, sum), (uint32_t, count))

// Types of the scenario `churn`, by layout: spectators of this test find types by name.
ORR_STRUCT(Birth, (orr_entity, who), (orr_entity, well))
ORR_STRUCT(Spark, (orr_entity, who), (float, phase))
ORR_STRUCT(Home, (orr_entity, well))

// ---- more simulation ----------------------------------------------------------------------------

// Two systems write what spectators receive, and add floats to the same numbers: rounding shows the
// commit points of the tick.
static void sim_lift(orr_run* run)
{
    Motion* motion = orr_write(run, Motion);
    const Home* home = orr_read(run, Home);
    for (uint32_t i = 0; i < run->count; i++) {
        float part = orr_random_float(orr_run_random(run, orr_iter_entity(run, i))) * 1e3f;
        motion[i].z += part * 1e-6f;
        if (home[i].well.id == 0) {
            continue;
        }
        orr_transact(run, ORR_OP_ADD, home[i].well, Store, sum, part);
        orr_transact(run, ORR_OP_ADD, home[i].well, Store, sum, -part * 1e-5f);
    }
}

// Hashes also the number and sizes of its messages.
static void sim_receive(orr_run* run)
{
    Received* received = orr_state(run, Received);
    ORR_MESSAGES(m, run)
    {
        uint64_t words[] = {received->digest, (uint64_t)m->kind, (uint64_t)m->cause, m->count,
                            m->tick};
        received->digest = orr_hash(words, sizeof words, 0);
        received->entities += m->count;
    }
}

static void sim_add(orr_world* world)
{
    ORR_REGISTER(world, Store, Received);
    KIT_SYSTEM(world, .name = "lift_a", .pipeline = "motion", .query = "write Motion, Home",
               .transacts = "Store", .run = sim_lift);
    KIT_SYSTEM(world, .name = "lift_b", .pipeline = "motion", .query = "write Motion, Home",
               .transacts = "Store", .run = sim_lift);
    KIT_SYSTEM(world, .name = "hear_switches", .kind = ORR_INDIRECT,
               .query = "Vigour, ?orr_enabled, ?orr_tags", .state = ORR_TYPE(Received),
               .run = sim_receive);
    KIT_SYSTEM(world, .name = "hear_everything", .kind = ORR_INDIRECT, .state = ORR_TYPE(Received),
               .run = sim_receive);
}

// ---- spectators ---------------------------------------------------------------------------------

static uint64_t chance(const orr_run* run, orr_entity entity, uint64_t of)
{
    return orr_run_random(run, entity) % of;
}

// Messages and sends of spectators with a state outside of the world.
static uint64_t user_received, user_greeted;

static void view_greet(orr_run* run)
{
    const Place* place = orr_read(run, Place);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        if (chance(run, entity, 4) == 0) {
            CHECK_OK(orr_send_add(run, entity, Smooth, {place[i].x, place[i].y, 0}));
            user_greeted++;
        }
        if (chance(run, entity, 16) == 0) {
            CHECK_OK(orr_send_add_preset(run, entity, Caption));
            CHECK_OK(orr_send_add(run, entity, Follow, {entity}));
        }
    }
}

static void view_smooth(orr_run* run)
{
    const Place* place = orr_read(run, Place);
    for (uint32_t i = 0; i < run->count; i++) {
        Smooth* smooth = orr_write_pinned(run, Smooth, i);
        smooth->x += (place[i].x - smooth->x) * 0.25f;
        smooth->y += (place[i].y - smooth->y) * 0.25f;
        smooth->age++;
    }
}

// Creates transient entities that follow motes, and each other.
static void view_spawn(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        if (chance(run, entity, 40) != 1) {
            continue;
        }
        orr_entity ghost = orr_send_create(run), second = orr_send_create(run);
        CHECK_OK(orr_send_add(run, ghost, Ghost, {entity, 5}));
        CHECK_OK(orr_send_add_preset(run, second, Ghost));
        CHECK_OK(orr_send_add_preset(run, second, Caption));
        CHECK_OK(orr_send_change(run, second, Ghost, {ghost, 9}));
        CHECK_OK(orr_send_add(run, entity, Follow, {ghost}));
        if (chance(run, entity, 80) == 1) {
            CHECK_OK(orr_send_destroy(run, second));
        }
    }
}

static void view_fade(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        Ghost* ghost = orr_write_pinned(run, Ghost, i);
        orr_entity entity = orr_iter_entity(run, i);
        CHECK(orr_alive(run->world, entity) && orr_transient(run->world, entity));
        if (ghost->life-- == 0) {
            CHECK_OK(orr_send_destroy(run, entity));
        } else if (ghost->life == 4) {
            CHECK_OK(orr_send_add(run, entity, Smooth, {1, 1, 1}));
            CHECK_OK(orr_send_enable(run, entity, Smooth, false));
        } else if (ghost->life == 2) {
            CHECK_OK(orr_send_remove(run, entity, Smooth));
        }
    }
}

static void view_caption(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        Caption* caption = orr_write_pinned(run, Caption, i);
        char text[32];
        snprintf(text, sizeof text, "seen %u", ++caption->seen % 10);
        orr_string_assign(run->world, &caption->text, orr_string_make(run->world, text));
    }
}

static void view_part(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        uint64_t dice = chance(run, entity, 12);
        if (dice == 0) {
            CHECK_OK(orr_send_remove(run, entity, Smooth));
        } else if (dice < 3) {
            CHECK_OK(orr_send_enable(run, entity, Smooth, dice == 1));
        } else if (dice == 3) {
            CHECK_OK(orr_send_change(run, entity, Smooth, {1, 2, 3}));
        } else if (dice == 4) {
            CHECK_OK(orr_transact(run, ORR_OP_ADD, entity, Smooth, age, 5));
        }
    }
}

static void view_receive(orr_run* run)
{
    Received* received = orr_state(run, Received);
    ORR_MESSAGES(m, run)
    {
        received->entities += m->count;
    }
}

static void view_receive_all(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        *(uint64_t*)orr_run_user(run) += m->count;
        if (m->kind == ORR_ENTITY_ADDED && m->count % 3 == 0) {
            CHECK_OK(orr_send_add(run, m->entities[0], Smooth, {1, 1, 1}));
        }
    }
}

static void view_events(orr_run* run)
{
    Received* received = orr_export(run, Received);
    uint32_t births, sparks;
    (void)orr_events(run, Birth, &births);
    (void)orr_events(run, Spark, &sparks);
    received->events += births + sparks;
    CHECK_OK(orr_send_event(run, Blip, {received->events}));
}

static void view_blips(orr_run* run)
{
    uint32_t count;
    (void)orr_events(run, Blip, &count);
    CHECK_EQ(count, 1);
    CHECK(orr_import(run, "view_events", Received) != NULL);
}

static orr_pipeline view_pipe(orr_world* world, double rate_hz)
{
    orr_pipeline pipe = orr_pipeline_add(
        world, &(orr_pipeline_desc){.name = "view", .rate_hz = rate_hz, .spectator = true});
    CHECK(pipe.id != 0);
    return pipe;
}

#define VIEW(world, ...) KIT_SYSTEM(world, .pipeline = "view", __VA_ARGS__)

static void view_add(orr_world* world, double rate_hz)
{
    view_pipe(world, rate_hz);
    ORR_REGISTER(world, Smooth, Caption, Follow, Ghost, Received, Blip);
    VIEW(world, .name = "view_spawn", .query = "Place, Motion", .creates = "Ghost, Caption",
         .creates_max = 4096, .parallel = true, .adds = "Follow", .changes = "Ghost",
         .destroys = "*", .run = view_spawn);
    VIEW(world, .name = "view_fade", .query = "write Ghost", .destroys = "Ghost", .adds = "Smooth",
         .removes = "Smooth", .switches = "Smooth", .run = view_fade);
    VIEW(world, .name = "view_greet", .query = "Place, !either Smooth, !Follow, !Caption",
         .adds = "Smooth, Caption, Follow", .run = view_greet);
    VIEW(world, .name = "view_smooth", .query = "write Smooth, Place", .run = view_smooth);
    VIEW(world, .name = "view_caption", .query = "write Caption", .run = view_caption);
    VIEW(world, .name = "view_part", .query = "either Smooth", .removes = "Smooth",
         .switches = "Smooth", .changes = "Smooth", .transacts = "Smooth", .run = view_part);
    VIEW(world, .name = "view_hear", .kind = ORR_INDIRECT,
         .query = "Motion, Place, Vigour, ?orr_enabled", .state = ORR_TYPE(Received),
         .run = view_receive);
    VIEW(world, .name = "view_hear_all", .kind = ORR_INDIRECT, .adds = "Smooth",
         .user = &user_received, .run = view_receive_all);
    VIEW(world, .name = "view_events", .once = true, .receives = "Birth, Spark", .sends = "Blip",
         .exports = ORR_TYPE(Received), .run = view_events);
    VIEW(world, .name = "view_blips", .once = true, .receives = "Blip", .imports = "view_events",
         .run = view_blips);
}

// ---- the same scenario with and without spectators ----------------------------------------------

typedef struct churn_test {
    double rate_hz; // Rate of the spectator; 0: continuous.
    uint32_t from;  // The tick in which it is added; TICKS: never.
    uint32_t until; // The tick in which it is removed; TICKS: never.
    uint32_t workers;
    bool outside_calls; // Calls from outside on transient types, too.
    kit k;
    scenario_run run;
} churn_test;

static uint64_t expected[TICKS * 4]; // By tick of the world.

static void churn_outside(orr_world* world, const scenario_run* run, uint32_t tick)
{
    orr_entity well = run->entities[tick % run->entity_count];
    orr_entity ghost = orr_create_transient(world);
    CHECK_OK(orr_set(world, ghost, Ghost, {well, 20}));
    CHECK_OK(orr_set(world, well, Smooth, {1, 2, tick}));
    CHECK_OK(orr_enable(world, well, Smooth, tick % 2 == 0));
    if (tick % 3 == 0) {
        CHECK_OK(orr_remove(world, well, Smooth));
    }
}

static void churn_remove_spectators(orr_world* world)
{
    static const char* const names[] = {"view_greet", "view_smooth", "view_hear", "view_blips",
                                        "view_events"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK_OK(orr_system_remove(world, orr_system_find(world, names[i])));
    }
}

static uint64_t churn_main_tick(orr_world* world)
{
    orr_pipeline_stats stats;
    CHECK_OK(orr_pipeline_stats_get(world, (orr_pipeline){1}, &stats));
    return stats.tick;
}

// Makes the calls from outside and one tick of "main", and stops after every tick of the simulation
// until then.
static void churn_tick(churn_test* s, uint32_t tick, bool first)
{
    orr_world* world = s->k.world;
    if (tick == s->from) {
        view_add(world, s->rate_hz);
    }
    if (tick == s->until) {
        churn_remove_spectators(world);
    }
    if (s->outside_calls) {
        churn_outside(world, &s->run, tick);
    }
    CHECK(s->run.scenario->step(&s->run));
    s->run.tick++;
    for (uint64_t before = churn_main_tick(world); churn_main_tick(world) == before;) {
        uint64_t world_tick = orr_world_tick(world);
        if (!test_ticks_ran(orr_run_until(world, world_tick + 1, NULL, NULL))) {
            test_fail(__FILE__, __LINE__, "tick %u was refused: %s", tick, s->k.errors.text);
        }
        uint64_t hash = orr_world_hash(world);
        expected[world_tick] = first ? hash : expected[world_tick];
        if (hash != expected[world_tick]) {
            test_fail(__FILE__, __LINE__, "spectator of %g Hz from tick %u on: tick %u differs",
                      s->rate_hz, s->from, (unsigned)world_tick);
        }
    }
}

static void churn_run(churn_test s, bool first)
{
    orr_world* world =
        kit_begin(&s.k, &(orr_world_desc){.seed = 5, .rate_hz = 60, .workers = s.workers});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    scenario_target target = scenario_target_world(world);
    CHECK(scenario_begin(&s.run, scenario_find("churn"), &target, SCALE));
    sim_add(world);
    for (uint32_t i = 0; i < s.run.entity_count; i++) {
        CHECK_OK(orr_add(world, s.run.entities[i], Store));
    }
    user_received = user_greeted = 0;
    uint32_t ticks = test_slow() ? 40 : TICKS;
    for (uint32_t tick = 0; tick < ticks; tick++) {
        churn_tick(&s, tick, first);
    }
    if (s.from < TICKS && !(s.rate_hz == 1 && test_slow())) { // The spectator ran often enough.
        CHECK(user_received > 100 && user_greeted > 10);
        CHECK(orr_transient_count(world) > 0 || test_slow());
    }
    CHECK_STR(s.k.errors.text, "");
    scenario_end(&s.run);
    kit_end(&s.k);
}

ORR_TEST(spectator_at_any_rate_changes_no_hash)
{
    churn_run((churn_test){.from = TICKS, .until = TICKS}, true);
    static const double rates[] = {1, 60, 1000, 0};
    for (size_t i = test_races()                  ? 3
                    : test_slow() && !test_long() ? 2
                                                  : 0;
         i < sizeof rates / sizeof rates[0]; i++) {
        churn_run((churn_test){.rate_hz = rates[i], .until = TICKS}, false);
    }
}

ORR_TEST(spectator_that_is_added_and_removed_changes_no_hash)
{
    churn_run((churn_test){.from = TICKS, .until = TICKS}, true);
    if (!test_brief()) { // Without workers.
        churn_run((churn_test){.rate_hz = 144, .from = 31, .until = TICKS}, false);
        churn_run((churn_test){.rate_hz = 144, .from = 20, .until = 150}, false);
        churn_run((churn_test){.rate_hz = 90, .until = TICKS, .outside_calls = true}, false);
    }
    churn_run((churn_test){.rate_hz = 90, .until = TICKS, .workers = 2}, false);
}

// ---- refusals -----------------------------------------------------------------------------------

static orr_world* refusal_begin(kit* k)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = 60, .atomic_sections = true});
    ORR_REGISTER(world, Position, Velocity, Health, Smooth, Follow, Blip, Received);
    view_pipe(world, 60);
    return world;
}

static void refusal_check(kit* k, const orr_system_desc* desc, const char* words)
{
    orr_system_desc whole = *desc;
    whole.name = "bad";
    whole.run = whole.run != NULL ? whole.run : kit_run_nothing;
    CHECK(orr_system_add(k->world, &whole).id == 0);
    KIT_ERROR(k, ORR_ERR_CONFLICT, "'bad'");
    CHECK(orr_system_add(k->world, &whole).id == 0);
    KIT_ERROR(k, ORR_ERR_CONFLICT, words);
}

#define REFUSED(k, words, ...) refusal_check(k, &(orr_system_desc){__VA_ARGS__}, words)

ORR_TEST(spectator_transient_type_named_by_simulation_is_refused)
{
    kit k = {0};
    orr_world* world = refusal_begin(&k);
    const orr_term term = {.type = KIT_TYPE(world, Smooth)};
    REFUSED(&k, "names Smooth in .query", .query = "Smooth");
    REFUSED(&k, "names Smooth in .query", .query = "Position, !Smooth");
    REFUSED(&k, "names Smooth in .query", .query = "Position, ?Smooth");
    REFUSED(&k, "names Smooth in .query", .query = "Position|Smooth");
    REFUSED(&k, "names Smooth in .query", .query = "Position", .terms = &term, .term_count = 1);
    REFUSED(&k, "names Smooth in .query", .kind = ORR_INDIRECT, .query = "Smooth");
    REFUSED(&k, "names Smooth in .by_id", .query = "Position", .by_id = "Smooth");
    REFUSED(&k, "names Smooth in .by_id", .query = "Position", .by_id = "write Smooth");
    REFUSED(&k, "names Smooth in .creates", .query = "Position", .creates = "Position, Smooth");
    REFUSED(&k, "names Smooth in .adds", .query = "Position", .adds = "Smooth");
    REFUSED(&k, "names Smooth in .removes", .query = "Position", .removes = "Smooth");
    REFUSED(&k, "names Smooth in .changes", .query = "Position", .changes = "Smooth");
    REFUSED(&k, "names Smooth in .switches", .query = "Position", .switches = "Smooth");
    REFUSED(&k, "names Smooth in .transacts", .query = "Position", .transacts = "Smooth");
    REFUSED(&k, "names Smooth in .atomics", .query = "Position", .atomics = "Smooth");
    REFUSED(&k, "names Smooth in .destroys", .query = "Position", .destroys = "Position, Smooth");
    REFUSED(&k, "names Smooth in .destroys", .query = "Position", .destroys = "!Smooth");
    kit_end(&k);
}

ORR_TEST(spectator_that_changes_the_simulation_is_refused)
{
    kit k = {0};
    refusal_begin(&k);
    REFUSED(&k, ".query changes Position", .pipeline = "view", .query = "write Position");
    REFUSED(&k, ".by_id changes Health", .pipeline = "view", .query = "Position",
            .by_id = "write Health");
    REFUSED(&k, ".creates changes Health", .pipeline = "view", .query = "Position",
            .creates = "Smooth, Health");
    REFUSED(&k, ".adds changes Health", .pipeline = "view", .query = "Position", .adds = "Health");
    REFUSED(&k, ".removes changes Health", .pipeline = "view", .query = "Position",
            .removes = "Health");
    REFUSED(&k, ".changes changes Health", .pipeline = "view", .query = "Position",
            .changes = "Health");
    REFUSED(&k, ".switches changes Health", .pipeline = "view", .query = "Position",
            .switches = "Health");
    REFUSED(&k, "enables or disables entities", .pipeline = "view", .query = "Position",
            .switches = "*");
    REFUSED(&k, ".transacts changes Health", .pipeline = "view", .query = "Position",
            .transacts = "Health");
    REFUSED(&k, ".atomics changes Health", .pipeline = "view", .query = "Position",
            .atomics = "Health");
    REFUSED(&k, "changes tags", .pipeline = "view", .query = "Position", .tags = "#7");
    REFUSED(&k, "changes tags", .pipeline = "view", .query = "Position", .tags = "*");
    REFUSED(&k, "changes names", .pipeline = "view", .query = "Position", .renames = true);
    REFUSED(&k, "'view'", .pipeline = "view", .kind = ORR_INDIRECT, .query = "write Position");
    REFUSED(&k, "of which no reader is notified", .pipeline = "view", .kind = ORR_INDIRECT,
            .query = "Smooth");
    kit_end(&k);
}

ORR_TEST(spectator_events_and_exports_do_not_reach_the_simulation)
{
    kit k = {0};
    orr_world* world = refusal_begin(&k);
    KIT_SYSTEM(world, .name = "late", .query = "Position", .run = kit_run_nothing);
    KIT_SYSTEM(world, .name = "ear", .once = true, .receives = "Blip", .run = kit_run_nothing);
    REFUSED(&k, "which system 'ear' of pipeline 'main' receives", .pipeline = "view",
            .query = "Position", .sends = "Blip");
    CHECK_OK(orr_system_remove(world, orr_system_find(world, "ear")));
    KIT_SYSTEM(world, .name = "mouth", .pipeline = "view", .once = true, .sends = "Blip",
               .run = view_events, .exports = ORR_TYPE(Received));
    REFUSED(&k, "system 'mouth' of the spectator pipeline 'view' sends events Blip", .once = true,
            .receives = "Blip");
    KIT_SYSTEM(world, .name = "nosy", .once = true, .imports = "mouth", .run = kit_run_nothing);
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_CONFLICT);
    KIT_ERROR(&k, ORR_ERR_CONFLICT,
              "system 'nosy' of pipeline 'main' imports from 'mouth' of the spectator");
    kit_end(&k);
}

static orr_system mover, looker, early;

static void switches_all(orr_run* run)
{
    CHECK_RESULT(orr_system_enable(run->world, mover, false), ORR_ERR_STATE);
    CHECK_RESULT(orr_group_enable(run->world, "bodies", false), ORR_ERR_STATE);
    CHECK(orr_system_enabled(run->world, early)); // The call had no effect.
    CHECK_OK(orr_system_enable(run->world, looker, false));
    orr_pause(run->world, true);
}

static void looks_around(orr_run* run)
{
    CHECK(orr_system_find(run->world, "looker").id == 0);
    CHECK(!orr_system_enabled(run->world, looker));
    CHECK(orr_system_next(run->world, mover).id == 0);
    CHECK(orr_system_find(run->world, "mover").id != 0);
}

ORR_TEST(spectator_cannot_enable_or_pause_the_simulation)
{
    kit k = {0};
    orr_world* world = refusal_begin(&k);
    early = KIT_SYSTEM(world, .name = "early", .pipeline = "view", .once = true, .group = "bodies",
                       .run = kit_run_nothing);
    mover =
        KIT_SYSTEM(world, .name = "mover", .once = true, .group = "bodies", .run = looks_around);
    looker = KIT_SYSTEM(world, .name = "looker", .pipeline = "view", .once = true,
                        .group = "bodies", .start = switches_all, .run = switches_all);
    KIT_STEP_REFUSED(world, 2);
    CHECK_EQ(kit_stats(world, looker).violations, 6);
    KIT_ERROR(&k, ORR_ERR_STATE, "'looker' of the spectator pipeline 'view' pauses the world");
    KIT_STEP(world, 2);
    CHECK(orr_system_enabled(world, mover) && !orr_system_enabled(world, looker) &&
          !orr_paused(world));
    CHECK_EQ(kit_stats(world, mover).ticks, 4);
    CHECK_EQ(kit_stats(world, looker).ticks, 1);
    // From outside a group is disabled as a whole. A system that joins it takes the state of the
    // members of its kind.
    CHECK_OK(orr_group_enable(world, "bodies", false));
    CHECK(!orr_system_enabled(world, mover));
    kit_end(&k);
}

static void sends_blip(orr_run* run)
{
    CHECK_OK(orr_send_event(run, Blip, {7}));
    CHECK_OK(orr_send_event(run, Blip, {8}));
}

static uint32_t blips;

static void counts_blips(orr_run* run)
{
    uint32_t count;
    const Blip* blip = orr_events(run, Blip, &count);
    CHECK(count == 0 || blip[0].number == 7);
    blips += count;
}

static const char* events_words(const orr_world* world)
{
    static char words[512];
    orr_system stats = orr_system_find(world, "counts");
    snprintf(words, sizeof words, "%u of %u", blips, (unsigned)kit_stats(world, stats).ticks);
    return words;
}

ORR_TEST(spectator_that_does_not_read_events_loses_only_its_own)
{
    for (int simulated = 0; simulated < 2; simulated++) {
        kit k = {0};
        orr_world* world = refusal_begin(&k);
        blips = 0;
        KIT_SYSTEM(world, .name = "sends", .once = true, .sends = "?\v Blip", .run = sends_blip);
        KIT_STEP(world, 1); // Without a spectator.
        CHECK_OK(orr_events_limit(world, KIT_TYPE(world, Blip), simulated ? 2 : 1));
        uint64_t hash = orr_world_hash(world);
        KIT_SYSTEM(world, .name = "deaf", .pipeline = "view", .once = true, .receives = "Blip",
                   .run = kit_run_nothing);
        KIT_SYSTEM(world, .name = "counts", .pipeline = simulated ? NULL : "view", .once = true,
                   .receives = "Blip", .run = counts_blips);
        CHECK(simulated || orr_world_hash(world) == hash);
        KIT_STEP(world, 4);
        CHECK_STR(events_words(world), simulated ? "8 of 4" : "0 of 4");
        CHECK_STR(k.errors.text, "");
        kit_end(&k);
    }
}

ORR_TEST(spectator_changes_neither_plan_nor_clock_of_the_simulation)
{
    char before[2048], after[2048];
    kit k = {0};
    orr_world* world = refusal_begin(&k);
    KIT_SYSTEM(world, .name = "one", .query = "write Position", .run = kit_run_nothing);
    KIT_SYSTEM(world, .name = "two", .query = "write Position", .run = kit_run_nothing);
    orr_plan_print(world, before, sizeof before);
    KIT_SYSTEM(world, .name = "watcher", .pipeline = "view", .kind = ORR_INDIRECT,
               .query = "Position", .run = kit_note_messages);
    orr_plan_print(world, after, sizeof after);
    char* view = strstr(after, "watcher");
    CHECK(view != NULL && strlen(before) > 20);
    CHECK(strncmp(before, after, strlen(before) / 2) == 0);
    orr_pipeline slow = orr_pipeline_add(
        world, &(orr_pipeline_desc){.name = "slow", .rate_hz = 0.01, .spectator = true});
    orr_pipeline_stats stats;
    CHECK_OK(orr_pipeline_stats_get(world, slow, &stats));
    CHECK(stats.spectator);
    KIT_STEP(world, 3);
    CHECK_EQ(orr_world_tick(world), 3);
    orr_pipeline late =
        orr_pipeline_add(world, &(orr_pipeline_desc){.name = "late", .rate_hz = 10});
    CHECK_OK(orr_pipeline_stats_get(world, late, &stats));
    CHECK_EQ(stats.due_ns, 150000000);
    CHECK(!stats.spectator);
    kit_end(&k);
}

// ---- transient entities do not exist for the simulation -----------------------------------------

static void blind(orr_run* run)
{
    const orr_entity* ghost = orr_run_settings(run);
    CHECK(!orr_alive(run->world, *ghost) && !orr_transient(run->world, *ghost));
    CHECK_EQ(orr_transient_count(run->world), 0);
    CHECK_OK(orr_send_destroy(run, *ghost));
    CHECK_OK(orr_send_add(run, *ghost, Velocity, {1, 1}));
    CHECK_OK(orr_send_change(run, *ghost, Position, {1, 1, 1}));
    CHECK_OK(orr_send_tag(run, *ghost, 7, true));
    CHECK_OK(orr_transact(run, ORR_OP_ADD, *ghost, Position, x, 1));
    CHECK(orr_get(run->world, *ghost, Position) == NULL);
}

static void sees(orr_run* run)
{
    const orr_entity* ghost = orr_run_settings(run);
    CHECK(orr_alive(run->world, *ghost) && orr_transient(run->world, *ghost));
    CHECK_EQ(orr_transient_count(run->world), 1);
    CHECK(orr_get(run->world, *ghost, Ghost)->life == 7);
    CHECK_RESULT(orr_send_destroy(run, ghost[1]), ORR_ERR_STATE);
}

ORR_TEST(spectator_entities_are_dead_for_the_simulation)
{
    kit k = {0};
    orr_world* world = refusal_begin(&k);
    ORR_REGISTER(world, Ghost);
    orr_entity pair[2] = {orr_create_transient(world), orr_create(world)};
    CHECK_OK(orr_set(world, pair[0], Ghost, {pair[1], 7}));
    orr_system blindly = KIT_SYSTEM(world, .name = "blind", .once = true, .by_id = "Position",
                                    .destroys = "*", .adds = "Velocity", .changes = "Position",
                                    .tags = "*", .transacts = "Position", .settings = pair,
                                    .run = blind);
    orr_system seeing = KIT_SYSTEM(world, .name = "sees", .pipeline = "view", .once = true,
                                   .by_id = "Ghost", .destroys = "*", .settings = pair,
                                   .run = sees);
    KIT_STEP_REFUSED(world, 2);
    CHECK_EQ(kit_stats(world, blindly).dropped, 2 * 5);
    CHECK_EQ(kit_stats(world, seeing).ticks, 1);
    CHECK_EQ(kit_stats(world, seeing).violations, 1);
    CHECK_CONTAINS(k.errors.text, "hidden from the simulation");
    CHECK(orr_alive(world, pair[0]) && orr_get(world, pair[0], Ghost)->life == 7);
    kit_end(&k);
}

// ---- sends of spectators about transient entities -----------------------------------------------

static uint32_t life_step;

static void life(orr_run* run)
{
    static orr_entity a, b;
    orr_world* world = run->world;
    switch (life_step++) {
    case 0:
        a = orr_send_create(run);
        b = orr_send_create(run);
        CHECK(a.id != 0 && b.id != a.id && !orr_alive(world, a));
        CHECK_OK(orr_send_add(run, a, Ghost, {b, 1}));
        CHECK_OK(orr_send_add(run, b, Ghost, {a, 2}));
        CHECK(orr_send_create(run).id == 0); // creates_max is 2.
        break;
    case 1:
        CHECK(orr_alive(world, a) && orr_get(world, b, Ghost)->whom.id == a.id);
        CHECK_OK(orr_send_change(run, a, Ghost, {{0}, 6}));
        CHECK_OK(orr_send_change(run, a, Smooth, {1, 1, 1})); // It has no Smooth.
        CHECK_OK(orr_send_add(run, a, Caption, {orr_string_make(world, "boo"), 1}));
        // A reference to a dead entity.
        CHECK_OK(orr_send_add(run, b, Follow, {{a.id + (UINT64_C(1) << 32)}}));
        CHECK_OK(orr_send_enable(run, a, Ghost, false));
        CHECK_RESULT(orr_send_create_many(run, (orr_cluster){0}, 1, NULL, 0, NULL), ORR_ERR_STATE);
        break;
    case 2:
        CHECK(orr_get(world, a, Ghost)->life == 6 && !orr_enabled(world, a, Ghost));
        CHECK_STR(orr_string_text(world, orr_get(world, a, Caption)->text), "boo");
        CHECK(!orr_has(world, b, Follow));
        CHECK_OK(orr_send_destroy(run, a));
        CHECK_OK(orr_send_remove(run, b, Ghost));
        CHECK_OK(orr_send_change(run, a, Ghost, {{0}, 7})); // Dead by then.
        break;
    default:
        CHECK(!orr_alive(world, a) && orr_alive(world, b) && !orr_has(world, b, Ghost));
    }
}

static orr_system life_add(orr_world* world)
{
    life_step = 0;
    ORR_REGISTER(world, Ghost, Caption, Follow);
    return KIT_SYSTEM(world, .name = "life", .pipeline = "view", .once = true,
                      .by_id = "Ghost, Caption, Follow", .creates = "Ghost", .creates_max = 2,
                      .adds = "Caption, Follow", .removes = "Ghost", .changes = "Ghost, Smooth",
                      .switches = "Ghost", .destroys = "*", .run = life);
}

ORR_TEST(spectator_sends_create_change_and_destroy_transient_entities)
{
    kit k = {0};
    orr_world* world = refusal_begin(&k);
    orr_system system = life_add(world);
    // More entities than .creates_max; a call that spectators may not make; a dead entity.
    static const orr_result results[6] = {ORR_ERR_CAPACITY, ORR_ERR_STATE, ORR_ERR_ENTITY};
    uint64_t hashes[6];
    KIT_STEP(world, 1);
    for (uint32_t i = 0; i < 6; i++) {
        hashes[i] = orr_world_hash(world);
        KIT_STEP_RESULT(world, 1, results[i]);
        CHECK_OK(orr_world_validate(world));
    }
    CHECK(life_step >= 5);
    CHECK_EQ(orr_transient_count(world), 1);
    CHECK_EQ(orr_entity_count(world), 0);
    CHECK_EQ(kit_stats(world, system).dropped, 3);
    CHECK(hashes[0] != hashes[1]); // The tick is part of the hash.
    kit_end(&k);
}

static void view_spawn_one(orr_run* run)
{
    orr_entity ghost = orr_send_create(run);
    if (ghost.id != 0) {
        (void)orr_send_add(run, ghost, Ghost, {ghost, 1});
    }
}

// For every N the Nth allocation is refused once: the tick continues when it is called again, or
// returns what is missing.
ORR_TEST(spectator_refused_memory_continues)
{
    for (uint64_t n = 1, refused = 1; refused > 0; n++) {
        kit k = {0};
        orr_world* world = refusal_begin(&k);
        KIT_STEP(world, 1);
        ORR_REGISTER(world, Ghost, Smooth);
        failing_alloc_arm(&k.memory, n, false);
        orr_pipeline extra = orr_pipeline_add(
            world, &(orr_pipeline_desc){.name = "extra", .rate_hz = 60, .spectator = true});
        orr_system system = orr_system_add(world, &(orr_system_desc){.name = "spawn",
                                                                     .pipeline = "extra",
                                                                     .once = true,
                                                                     .creates = "Ghost",
                                                                     .run = view_spawn_one});
        orr_result result = ORR_OK;
        for (uint32_t i = 0; extra.id != 0 && system.id != 0 && i < 3; i++) {
            result = orr_step(world, 1);
            CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
        }
        refused = k.memory.refused;
        failing_alloc_arm(&k.memory, 0, false);
        KIT_STEP(world, 3);
        CHECK(orr_world_tick(world) <= 7 && orr_world_tick(world) >= 4);
        CHECK(refused > 0 || orr_transient_count(world) == orr_world_tick(world) - 2);
        CHECK_OK(orr_world_validate(world));
        kit_end(&k);
    }
}

// However slow a spectator is, a program that was stopped for a while does not run the missed time.
ORR_TEST(spectator_does_not_extend_the_time_that_counts)
{
    for (int watched = 0; watched < 2; watched++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_pipeline_add(world, &(orr_pipeline_desc){.name = "ten", .rate_hz = 10});
        orr_system ten = KIT_SYSTEM(world, .name = "ten", .pipeline = "ten", .once = true,
                                    .run = kit_run_nothing);
        if (watched) {
            orr_pipeline_add(
                world, &(orr_pipeline_desc){.name = "slow", .rate_hz = 0.1, .spectator = true});
        }
        CHECK_OK(orr_update(world, 2000000000));
        CHECK_EQ(kit_stats(world, ten).ticks, 2);
        kit_end(&k);
    }
}
