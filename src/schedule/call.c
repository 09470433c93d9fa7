// SPDX-License-Identifier: MIT
// Calling a system: its function for every run of rows, or once, with a lane to send into, and the world closed to
// everything else.
#include "schedule/schedule.h"

// ---- before ---------------------------------------------------------------------------------------------------------

static bool call_tables_fit(const orr_world* world, const orri_system* system)
{
    return system->tables != NULL && system->table_changes == world->table_changes &&
           system->table_count == world->table_capacity;
}

// What reading by id may see: made anew when types got their first clusters.
static orr_result call_tables(orr_world* world, orri_system* system)
{
    if (system->guard.any_read == NULL || call_tables_fit(world, system)) {
        return ORR_OK;
    }
    if (system->table_count != world->table_capacity || system->tables == NULL) {
        orr_hot_table** tables =
            ORRI_ALLOC(&world->env, ORR_MEMORY_SYSTEM, orr_hot_table*, world->table_capacity);
        if (tables == NULL) {
            return orri_refuse_memory(&world->env, "beginning a system");
        }
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orr_hot_table*, system->tables,
                  system->table_count);
        system->tables = tables;
        system->table_count = world->table_capacity;
    }
    orri_guard_tables(world, &system->guard, system->tables);
    system->table_changes = world->table_changes;
    return ORR_OK;
}

orr_result orri_system_prepare(orr_world* world, orri_system* system)
{
    orr_result result = call_tables(world, system);
    const orr_query* query = system->query;
    bool kept = query->order != NULL || query->working != NULL;
    if (ORR_UNLIKELY(kept) && result == ORR_OK && system->desc.kind == ORR_DIRECT &&
        !orri_query_refresh(system->query)) {
        result = orri_env_result(&world->env);
    }
    return result;
}

// ---- during ---------------------------------------------------------------------------------------------------------

static void call_enter(orr_world* world, orri_system* system)
{
    struct orri_schedule* schedule = world->schedule;
    schedule->running = system;
    world->in_system = true;
    // Structure stays as it is. Nobody else counts at this moment, so that no locked instruction is needed.
    atomic_store_explicit(&world->iterating, 1, memory_order_relaxed);
    if (schedule->police != ORR_POLICE_OFF) {
        // Callbacks come unprepared: without tables reading by id goes the long way.
        orri_guard_enter(world, &system->guard,
                         call_tables_fit(world, system) ? system->tables : NULL);
    }
}

static void call_leave(orr_world* world)
{
    if (world->guard != NULL) {
        orri_guard_leave(world);
    }
    world->schedule->running = NULL;
    world->in_system = false;
    if (ORR_UNLIKELY(world->iterating != 1)) {
        world->iteration_era++; // It left a loop without ending it: that one has ended.
    }
    atomic_store_explicit(&world->iterating, 0, memory_order_relaxed);
}

static void call_dress(const orr_world* world, orr_run* run)
{
    run->dt = world->dt;
    run->tick = world->tick;
}

// A call without rows of its own.
static void call_alone(orr_world* world, orri_system* system, void (*function)(orr_run* run))
{
    static const uint32_t never = 0;
    orr_run run = {.world = world, .query = system->query, .era_now = &never};
    call_dress(world, &run);
    uint32_t most = system->creates_max != 0 ? system->creates_max : 1024;
    call_enter(world, system);
    run.lane = orri_lane_open(world, &system->rights, most);
    function(&run);
    orri_lane_close(world, run.lane);
    call_leave(world);
}

static void call_rows(orr_world* world, orri_system* system)
{
    orr_run run;
    uint64_t rows = 0, runs = 0;
    orri_iter_open(&run, system->query);
    call_enter(world, system);
    call_dress(world, &run);
    // Who sends nothing needs no lane for each run.
    orr_lane* lane = system->may_send ? NULL : orri_lane_open(world, &system->rights, 0);
    run.lane = lane;
    // A list has its runs at hand: asking for more when they are through would cost as much as a small run.
    while ((run.span_left != 0 || !run.listed) && orr_iter_next(&run)) {
        uint32_t count = run.count;
        if (lane == NULL) {
            uint32_t most = system->creates_max != 0 ? system->creates_max : count;
            run.lane = orri_lane_open(world, &system->rights, most);
        }
        system->run(&run);
        if (lane == NULL) {
            orri_lane_close(world, run.lane);
        }
        rows += count;
        runs++;
    }
    if (lane != NULL) {
        orri_lane_close(world, lane);
    }
    orri_iter_close(&run);
    call_leave(world);
    system->stats.rows += rows;
    system->stats.runs += runs;
}

void orri_system_call(orr_world* world, orri_system* system)
{
    orri_police_watch* watch = ORR_UNLIKELY(world->schedule->police == ORR_POLICE_FULL)
                                   ? orri_police_begin(world, system)
                                   : NULL;
    if (system->by_rows) {
        call_rows(world, system);
    } else {
        call_alone(world, system, system->run);
        system->stats.runs++;
    }
    if (system->rights.reader != NULL) {
        orri_reader_done(system->rights.reader);
    }
    if (system->inbox != NULL) {
        orri_inbox_done(world, system->inbox);
    }
    if (watch != NULL) {
        orri_police_end(world, system, watch);
    }
}

void orri_system_call_back(orr_world* world, orri_system* system, void (*callback)(orr_run* run))
{
    if (callback != NULL) {
        call_alone(world, system, callback);
    }
}
