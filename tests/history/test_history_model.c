// SPDX-License-Identifier: MIT
// A real-time world that remembers, travels back and fast-forwards under a controlled scheduler,
// which can switch threads at every point. Each schedule is recorded and replayed on a fresh world
// under a different schedule: the results must be equal. A schedule also fails if a system sees
// half a tick, if a remembered tick differs from the original, or on a deadlock.
#include "realtime/explore_kit.h"
#include <orrery/orrery.h>

ORR_STRUCT(Moon, (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT(Tide, (uint64_t, seen))

enum {
    ROWS = 2,
    MARKS = 64
};

typedef struct model {
    const orr_platform* platform;
    uint64_t hashes[MARKS]; // Hash of each tick when it was last seen.
    uint64_t sum;           // Sum of all results of calls: equal in a replay.
    uint64_t ahead;         // The last tick reached by fast-forward.
    uint32_t calls, looks;
} model;

static model* model_now;

static void model_point(void)
{
    ORRI_SCHED_POINT(model_now->platform, ORR_SCHED_STORE, model_now);
}

// Every row is inconsistent until it is completely written.
static void rise(orr_run* run)
{
    Moon* m = orr_write(run, Moon);
    for (uint32_t i = 0; i < run->count; i++) {
        m[i].tick = run->tick;
        model_point();
        m[i].twice = 2 * run->tick;
    }
}

static void flow(orr_run* run)
{
    const Moon* m = orr_read(run, Moon);
    Tide* t = orr_write(run, Tide);
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t tick = m[i].tick;
        model_point();
        controlled_check(m[i].tick == tick && m[i].twice == 2 * tick, "half a tick is seen");
        t[i].seen = t[i].seen * 31 + tick;
    }
}

static void look(orr_run* run)
{
    const Moon* m = orr_read(run, Moon);
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t tick = m[i].tick;
        model_point();
        controlled_check(m[i].tick == tick && m[i].twice == 2 * tick, "half a tick is drawn");
        model_now->looks++;
    }
}

static void draw_wait(void* user)
{
    (void)user;
    model_now->platform->sleep_ns(model_now->platform->user, 25000000);
}

static void model_go(orr_world* world, uint64_t tick)
{
    controlled_check(orr_time_travel(world, tick) == ORR_OK, "%s", orr_error_last(world));
    controlled_check(orr_world_tick(world) == tick, "the travel ended at another tick");
    model_now->sum = model_now->sum * 31 + orr_world_hash(world);
}

// Travels to the first remembered tick, fast-forwards from there, and returns to the start by
// remembered ticks, unless ticks ran.
static void wander(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    uint64_t now = orr_world_tick(world), hash = orr_world_hash(world);
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    // Unless the previous call, at the same sync point, fast-forwarded to this tick.
    controlled_check(orr_remembered(world, now) || now == model_now->ahead,
                     "the window has not moved");
    controlled_check(orr_remembered(world, now) || orr_remember(world) == ORR_OK, "remember");
    controlled_check(stats.ticks > 0 && stats.lost == 0, "something is lost");
    model_go(world, stats.tick_first);
    if (model_now->calls++ % 2 == 0) {
        model_go(world, now);
        controlled_check(orr_world_hash(world) == hash, "the restored tick has another hash");
    } else {
        model_now->ahead = stats.tick_first + 6;
        model_go(world, model_now->ahead);
    }
}

// Before other threads may have started: a replay does not wait for the later ones.
static void early(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    model_go(world, orr_world_tick(world) + 2);
}

static void post_wander(orr_run* run)
{
    if (orr_running(run->world) && run->tick <= 3) {
        (void)orr_post_exclusive(run->world, wander, NULL, 0);
    }
}

static void model_error(void* user, orr_world* world, const orr_error* error)
{
    (void)user, (void)world;
    // Ticks that ran after the end of the run request another call.
    controlled_check(strstr(error->text, "is ending") != NULL, "%s", error->text);
}

// The reader is a spectator or part of the simulation; in the latter case its ticks are recorded.
static orr_world* model_build(const orr_platform* platform, bool spectator)
{
    orr_world* world = orr_world_create(
        &(orr_world_desc){.platform = platform, .rate_hz = 100, .on_error = model_error});
    ORR_REGISTER(world, Moon, Tide);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "a", .rate_hz = 200});
    orr_pipeline_add(
        world, &(orr_pipeline_desc){.name = "draw", .spectator = spectator, .wait = draw_wait});
    for (uint32_t i = 0; i < ROWS; i++) {
        orr_entity entity = orr_create(world);
        orr_set(world, entity, Moon, {0, 0});
        orr_set(world, entity, Tide, {i});
    }
    const orr_system_desc systems[] = {
        {.name = "ask", .once = true, .run = post_wander},
        {.name = "flow", .query = "Moon, write Tide", .run = flow},
        {.name = "rise", .pipeline = "a", .query = "write Moon", .run = rise},
        {.name = "look", .pipeline = "draw", .query = "Moon", .run = look},
    };
    for (uint32_t i = 0; i < ORRI_COUNT(systems); i++) {
        controlled_check(orr_system_add(world, &systems[i]).id != 0, "refused");
    }
    controlled_check(orr_history_set(world, &(orr_history_desc){.recent = 100}) == ORR_OK, "set");
    return world;
}

static void model_body(const orr_platform* platform, void* arg)
{
    uint64_t sum = 0, hash = 0;
    uint32_t calls = 0;
    orr_recording* recording = orr_recording_create();
    for (uint32_t i = 0; i < 2; i++) {
        model m = {.platform = platform};
        model_now = &m;
        orr_world* world = model_build(platform, *(const bool*)arg);
        if (i == 0) {
            controlled_check(orr_post_exclusive(world, early, NULL, 0) == ORR_OK, "posted");
        }
        orr_realtime_desc record = {.ticks = 3, .record = recording, .hashes = true};
        orr_result result =
            orr_realtime(world, i == 0 ? &record : &(orr_realtime_desc){.replay = recording});
        controlled_check(result == ORR_OK, "run %u: %s", i, orr_error_last(world));
        controlled_check(orr_world_validate(world) == ORR_OK, "%s", orr_error_last(world));
        sum = i == 0 ? m.sum : sum;
        hash = i == 0 ? orr_world_hash(world) : hash;
        calls = i == 0 ? m.calls : calls;
        controlled_check(calls >= 1 && m.calls == calls, "%u calls, and %u", calls, m.calls);
        controlled_check(m.sum == sum, "results of calls differ in the replay");
        controlled_check(orr_world_hash(world) == hash, "the replay has another hash");
        orr_world_destroy(world);
    }
    orr_recording_destroy(recording);
}

ORR_TEST(history_in_schedules_with_one_preemption_replays_to_the_same_world)
{
    explore("one preemption", model_body, &(bool){true}, CONTROLLED_DEPTH_FIRST,
            explore_share(2000, 40, 40000));
}

ORR_TEST(history_with_random_priorities_replays_to_the_same_world)
{
    explore("priorities", model_body, &(bool){true}, CONTROLLED_PRIORITIES,
            explore_share(2000, 40, 40000));
}

ORR_TEST(history_in_random_schedules_replays_to_the_same_world)
{
    explore("by chance", model_body, &(bool){true}, CONTROLLED_RANDOM,
            explore_share(1000, 40, 20000));
}

ORR_TEST(history_with_a_waiting_pipeline_replays_to_the_same_world)
{
    explore("waiting pipeline", model_body, &(bool){false}, CONTROLLED_PRIORITIES,
            explore_share(2000, 40, 40000));
    explore("waits, by chance", model_body, &(bool){false}, CONTROLLED_RANDOM,
            explore_share(1000, 40, 20000));
}
