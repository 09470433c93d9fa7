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

// Its rows come in an order that the query keeps.
static bool call_kept(const orri_system* system)
{
    return system->query->order != NULL || system->query->working != NULL;
}

// How many it may create in a call that is given all rows.
static uint32_t call_most(const orri_system* system)
{
    const orr_query* query = system->query;
    return system->creates_max != 0 || !system->rights.may_create ? system->creates_max
           : query->working != NULL                               ? query->working->visible
           : query->order != NULL                                 ? query->order->count
                                                                  : 0;
}

// Room for the lanes of all calls until the next point: those of callbacks, and one for each unit.
static orr_result call_reserve(orr_world* world, orri_system* system)
{
    bool units = system->by_rows && !call_kept(system);
    if (units && !orri_units_ready(system->query)) {
        return orri_env_result(&world->env);
    }
    uint32_t most = 3 + (units ? system->query->unit_count : 0);
    return ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &system->lanes, &system->lane_capacity,
                        most)
               ? ORR_OK
               : orri_refuse_memory(&world->env, "beginning a system");
}

orr_result orri_system_prepare(orr_world* world, orri_system* system)
{
    orr_result result = call_tables(world, system);
    if (ORR_UNLIKELY(call_kept(system)) && result == ORR_OK && system->desc.kind == ORR_DIRECT &&
        !orri_query_refresh(system->query)) {
        result = orri_env_result(&world->env);
    }
    if (result == ORR_OK && (system->may_send || system->lane_capacity == 0)) {
        result = call_reserve(world, system);
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

// A lane that is of no use goes back at once; the others wait for the point, where they are handed in by order.
static void call_keep_lane(orr_world* world, orri_system* system, orr_lane* lane)
{
    if (ORR_LIKELY(!orri_lane_used(lane))) {
        orri_lane_close(world, lane);
        return;
    }
    ORR_ASSERT(system->lane_count < system->lane_capacity);
    system->lanes[system->lane_count++] = lane;
}

void orri_system_hand_in(orr_world* world, orri_system* system)
{
    for (uint32_t i = 0; i < system->lane_count; i++) {
        orri_lane_close(world, system->lanes[i]);
    }
    system->lane_count = 0;
}

// A call without rows of its own.
static orr_lane* call_alone(orr_world* world, orri_system* system, void (*function)(orr_run* run))
{
    static const uint32_t never = 0;
    orr_run run = {.world = world, .query = system->query, .era_now = &never};
    call_dress(world, &run);
    uint32_t most = system->creates_max != 0 ? system->creates_max : 1024;
    call_enter(world, system);
    run.lane = orri_lane_open(world, &system->rights, most);
    function(&run);
    call_leave(world);
    return run.lane;
}

// All runs with one lane: for who sends nothing, and where rows come in an order of their own.
static void call_rows(orr_world* world, orri_system* system)
{
    orr_run run;
    uint64_t rows = 0, runs = 0;
    orri_iter_open(&run, system->query, system->since);
    call_enter(world, system);
    call_dress(world, &run);
    run.lane = orri_lane_open(world, &system->rights, call_most(system));
    // A list has its runs at hand: asking for more when they are through would cost as much as a small run.
    while ((run.span_left != 0 || !run.listed) && orr_iter_next(&run)) {
        rows += run.count;
        runs++;
        system->run(&run);
    }
    orri_iter_close(&run);
    call_leave(world);
    call_keep_lane(world, system, run.lane);
    system->stats.rows += rows;
    system->stats.runs += runs;
}

// Who looks at stamps, or makes them at once: none of an earlier write may come later.
static void call_settle(const orr_query* query)
{
    if (!query->units_listed && (query->has_changed || query->writes)) {
        orri_world_settle(query->world);
    }
}

// Unit by unit, each with a lane of its own.
static void call_units(orr_world* world, orri_system* system)
{
    orr_query* query = system->query;
    orr_run run;
    uint64_t rows = 0, runs = 0;
    orri_iter_open_units(&run, query, system->since, 0, query->unit_count);
    call_settle(query);
    call_enter(world, system);
    call_dress(world, &run);
    for (uint32_t unit = 0; unit < query->unit_count; unit++) {
        uint32_t most = system->creates_max != 0 ? system->creates_max
                                                 : orri_unit_rows(query, unit);
        run.lane = orri_lane_open(world, &system->rights, most);
        for (bool more = orri_iter_next_unit(&run, unit); more;
             more = !run.listed && orr_iter_next(&run)) {
            rows += run.count;
            runs++;
            system->run(&run);
        }
        call_keep_lane(world, system, run.lane);
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
    if (system->by_rows && system->may_send && !call_kept(system)) {
        call_units(world, system);
    } else if (system->by_rows) {
        call_rows(world, system);
    } else {
        call_keep_lane(world, system, call_alone(world, system, system->run));
        system->stats.runs++;
    }
    if (ORR_UNLIKELY(system->query->has_changed)) {
        // What is written from now on is new to it; what it wrote itself is not.
        orri_world_settle(world);
        system->since = world->epoch++;
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
    if (callback == NULL) {
        return;
    }
    orr_lane* lane = call_alone(world, system, callback);
    if (world->schedule->stage == ORRI_STAGE_STEPS && world->schedule->open) {
        call_keep_lane(world, system, lane);
    } else {
        orri_lane_close(world, lane);
    }
}
