// SPDX-License-Identifier: MIT
// Calling a system: its function for every run of rows, or once, with a lane to send into, and the world closed to
// everything else.
#include "base/float.h"
#include "schedule/record/recording.h"
#include "store/publish/publish.h"

// ---- before ---------------------------------------------------------------------------------------------------------

static bool call_tables_fit(const orr_world* world, const orri_system* system)
{
    return system->tables != NULL && system->table_changes == world->tables.changes &&
           system->table_count == world->tables.capacity;
}

// What reading by id may see: made anew when types got their first clusters.
static orr_result call_tables(orr_world* world, orri_system* system)
{
    if (!system->by_id || call_tables_fit(world, system)) {
        return ORR_OK;
    }
    if (system->table_count != world->tables.capacity || system->tables == NULL) {
        orr_hot_table** tables =
            ORRI_ALLOC(&world->env, ORR_MEMORY_SYSTEM, orr_hot_table*, world->tables.capacity);
        if (tables == NULL) {
            return orri_refuse_memory(&world->env, "beginning a system");
        }
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orr_hot_table*, system->tables,
                  system->table_count);
        system->tables = tables;
        system->table_count = world->tables.capacity;
    }
    orri_access_tables(world, &system->guard, system->tables);
    const orri_view* view = world->realtime ? system->pipe->driven->view : NULL;
    for (uint32_t i = 0; view != NULL && i < world->tables.capacity; i++) {
        orr_type type = {world->schema.type_base + i};
        if (i < world->schema.type_count && orri_view_has(view, type) &&
            orri_right(system->guard.any_read, &system->rights, i)) {
            system->tables[i] = orri_view_table(view, type);
        }
    }
    system->table_changes = world->tables.changes;
    return ORR_OK;
}

// Order and working set, of what its pipeline sees.
static bool call_refresh(const orr_world* world, const orri_system* system)
{
    if (ORR_LIKELY(!world->realtime)) {
        return orri_query_refresh(system->query);
    }
    orri_here_now.view = system->pipe->driven->view; // On the floor: otherwise there is none.
    bool refreshed = orri_query_refresh(system->query);
    orri_here_now.view = NULL;
    return refreshed;
}

// Room for the lanes of all calls until the next point: those of callbacks, and one for each unit.
static orr_result call_reserve(orr_world* world, orri_system* system)
{
    if (system->in_units && !orri_units_ready(system->query)) {
        return orri_env_result(&world->env);
    }
    if (system->reduces && !orri_reduce_reserve(world, system)) {
        return orri_env_result(&world->env);
    }
    uint32_t most = 3 + (system->in_units ? system->query->unit_count : 0);
    return ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &system->command_buffers,
                        &system->command_buffer_capacity, most)
               ? ORR_OK
               : orri_refuse_memory(&world->env, "beginning a system");
}

orr_result orri_system_prepare(orr_world* world, orri_system* system, bool units)
{
    orr_result result = call_tables(world, system);
    if (ORR_UNLIKELY(system->kept) && result == ORR_OK && system->desc.kind == ORR_DIRECT &&
        !call_refresh(world, system)) {
        result = orri_env_result(&world->env);
    }
    bool in_units = (units || system->may_send || system->reduces) && system->by_rows &&
                    !system->kept;
    bool reserve = in_units || system->reduces || system->command_buffer_capacity == 0;
    system->in_units = in_units;
    if (ORR_UNLIKELY(system->holds)) {
        orri_system_state_hold(system);
    }
    return result == ORR_OK && reserve ? call_reserve(world, system) : result;
}

// ---- lanes ----------------------------------------------------------------------------------------------------------

// How many a call may create that is given unit `unit`, or everything.
static uint32_t call_most(const orri_system* system, uint32_t unit)
{
    const orr_query* query = system->query;
    if (system->creates_max != 0 || !system->rights.may_create) {
        return system->creates_max;
    }
    return system->in_units         ? orri_unit_rows(query, unit)
           : !system->by_rows       ? 1024
           : query->working != NULL ? query->working->visible
           : query->order != NULL   ? query->order->count
                                    : 1024; // A callback, before its first tick.
}

uint64_t orri_system_creates(const orri_system* system)
{
    uint64_t count = 0;
    uint32_t units = system->in_units && system->may_send ? system->query->unit_count : 1;
    for (uint32_t i = 0; system->rights.may_create && i < units; i++) {
        count += call_most(system, i);
    }
    return count;
}

// The lane of unit `unit`: one that was opened ahead, or a new one.
static orr_command_buffer* call_buffer(orr_world* world, orri_system* system, uint32_t unit)
{
    return system->ahead
               ? system->command_buffers[system->command_buffer_ahead + unit]
               : orri_command_buffer_open(world, &system->rights, call_most(system, unit));
}

// A lane that is of no use goes back at once; the others wait for the point, where they are handed in by order.
static void call_buffer_done(orr_world* world, orri_system* system, orr_command_buffer* commands)
{
    bool used = orri_command_buffer_end(commands);
    if (system->ahead) {
        return;
    }
    // Callbacks between ticks: what they send is dealt with before the first group.
    bool waits = world->schedule->now == system->pipe && system->pipe->stage == ORRI_STAGE_STEPS;
    if (ORR_LIKELY(!used || !waits)) {
        orri_command_buffer_close(world, commands);
        return;
    }
    ORR_ASSERT(system->command_buffer_count < system->command_buffer_capacity);
    system->command_buffers[system->command_buffer_count++] = commands;
}

bool orri_system_open_ahead(orr_world* world, orri_system* system)
{
    uint32_t count = system->in_units && system->may_send ? system->query->unit_count : 1;
    bool real = true;
    system->ahead = true;
    system->command_buffer_ahead = system->command_buffer_count;
    for (uint32_t i = 0; real && i < count; i++) {
        bool none = system->in_units && !system->may_send;
        orr_command_buffer* commands =
            orri_command_buffer_open(world, &system->rights, none ? 0 : call_most(system, i));
        real = orri_command_buffer_real(commands);
        if (real) {
            system->command_buffers[system->command_buffer_count++] = commands;
        } else {
            orri_command_buffer_close(world, commands);
        }
    }
    return real;
}

void orri_system_take_back(orr_world* world, orri_system* system)
{
    while (system->ahead && system->command_buffer_count > system->command_buffer_ahead) {
        orr_command_buffer* commands = system->command_buffers[--system->command_buffer_count];
        (void)orri_command_buffer_end(commands);
        orri_command_buffer_close(world, commands);
    }
    system->ahead = false;
}

void orri_system_hand_in(orr_world* world, orri_system* system)
{
    for (uint32_t i = 0; i < system->command_buffer_count; i++) {
        orri_command_buffer_close(world, system->command_buffers[i]);
    }
    system->command_buffer_count = 0;
    system->ahead = false;
}

// ---- during ---------------------------------------------------------------------------------------------------------

static void call_enter(orr_world* world, orri_system* system)
{
    struct orri_schedule* schedule = world->schedule;
    schedule->running = system;
    world->running.in_system = true;
    // Structure stays as it is. Nobody else counts at this moment, so that no locked instruction is needed.
    atomic_store_explicit(&world->loops.iterating, 1, memory_order_relaxed);
    if (schedule->audit != ORR_ACCESS_CHECK_OFF) {
        // Callbacks come unprepared: without tables reading by id goes the long way.
        orri_access_enter(world, &system->guard,
                          call_tables_fit(world, system) ? system->tables : NULL);
    }
}

static void call_leave(orr_world* world)
{
    if (world->running.access != NULL) {
        orri_access_leave(world);
    }
    world->schedule->running = NULL;
    world->running.in_system = false;
    if (ORR_UNLIKELY(world->loops.iterating != 1)) {
        world->loops.era++; // It left a loop without ending it: that one has ended.
    }
    atomic_store_explicit(&world->loops.iterating, 0, memory_order_relaxed);
}

void orri_group_enter(orr_world* world, const orri_system* only)
{
    bool fits = only != NULL && call_tables_fit(world, only);
    world->running.in_system = true;
    orri_schema_freeze(&world->schema);
    atomic_store_explicit(&world->loops.iterating, 1, memory_order_relaxed);
    orri_access_parallel(world, world->schedule->audit != ORR_ACCESS_CHECK_OFF,
                         fits ? only->tables : NULL);
}

void orri_group_leave(orr_world* world)
{
    orri_access_alone(world);
    orri_schema_thaw(&world->schema);
    world->running.in_system = false;
    if (ORR_UNLIKELY(world->loops.iterating != 1)) {
        world->loops.era++;
    }
    atomic_store_explicit(&world->loops.iterating, 0, memory_order_relaxed);
}

// What a call was given.
typedef struct call_sum {
    uint64_t rows, runs;
} call_sum;

static void call_dress(const orri_system* system, orr_run* run)
{
    run->dt = system->pipe->dt;
    run->tick = system->pipe->tick;
}

// ---- the work itself --------------------------------------------------------------------------------------------------------

static inline void call_unit(const orri_system* system, orr_run* run, uint32_t unit)
{
    if (ORR_UNLIKELY(system->reduces)) {
        run->unit1 = unit + 1;
        orri_reduce_begin(system, unit);
    }
}

// A call without rows of its own.
static void call_alone(orr_world* world, orri_system* system, void (*function)(orr_run* run))
{
    static const uint32_t never = 0;
    orr_run run = {.world = world, .query = system->query, .era_now = &never};
    call_dress(system, &run);
    run.commands = call_buffer(world, system, 0);
    function(&run);
    call_buffer_done(world, system, run.commands);
}

// All runs with one lane: for who sends nothing, and where rows come in an order of their own.
static call_sum call_rows(orr_world* world, orri_system* system)
{
    orr_run run;
    call_sum sum = {0};
    orri_iter_open(&run, system->query, system->since);
    call_dress(system, &run);
    run.commands = call_buffer(world, system, 0);
    call_unit(system, &run, 0);
    // A list has its runs at hand: asking for more when they are through would cost as much as a small run.
    while ((run.span_left != 0 || !run.listed) && orr_iter_next(&run)) {
        sum.rows += run.count;
        sum.runs++;
        system->run(&run);
    }
    orri_iter_close(&run);
    call_buffer_done(world, system, run.commands);
    return sum;
}

// Units [first, last), for who sends nothing.
static call_sum call_silent_units(orr_world* world, orri_system* system, uint32_t first,
                                  uint32_t last)
{
    orr_run run;
    call_sum sum = {0};
    orri_iter_open_units(&run, system->query, system->since, first, last);
    call_dress(system, &run);
    run.commands = call_buffer(world, system, 0);
    for (uint32_t unit = first; unit < last; unit++) {
        call_unit(system, &run, unit);
        for (bool more = orri_iter_next_unit(&run, unit); more;
             more = !run.listed && orr_iter_next(&run)) {
            sum.rows += run.count;
            sum.runs++;
            system->run(&run);
        }
    }
    if (!system->ahead) { // Ahead there is one for all workers.
        call_buffer_done(world, system, run.commands);
    }
    return sum;
}

// Units [first, last), each with a lane of its own.
static call_sum call_units(orr_world* world, orri_system* system, uint32_t first, uint32_t last)
{
    orr_run run;
    call_sum sum = {0};
    orri_iter_open_units(&run, system->query, system->since, first, last);
    call_dress(system, &run);
    for (uint32_t unit = first; unit < last; unit++) {
        run.commands = call_buffer(world, system, unit);
        call_unit(system, &run, unit);
        for (bool more = orri_iter_next_unit(&run, unit); more;
             more = !run.listed && orr_iter_next(&run)) {
            sum.rows += run.count;
            sum.runs++;
            system->run(&run);
        }
        call_buffer_done(world, system, run.commands);
    }
    return sum;
}

static call_sum call_runs(orr_world* world, orri_system* system, uint32_t first, uint32_t last)
{
    if (system->in_units) {
        return system->may_send ? call_units(world, system, first, last)
                                : call_silent_units(world, system, first, last);
    }
    if (system->by_rows) {
        return call_rows(world, system);
    }
    call_alone(world, system, system->run);
    return (call_sum){0, 1};
}

static call_sum call_work(orr_world* world, orri_system* system, uint32_t first, uint32_t last)
{
    call_sum sum = call_runs(world, system, first, last);
    if (ORR_UNLIKELY(system->reduces)) {
        orri_reduce_end(system, system->in_units ? last - first : 1);
    }
    return sum;
}

void orri_system_settle(orr_world* world, const orri_system* system)
{
    const orr_query* query = system->query;
    if (system->in_units && !query->units_listed && (query->has_changed || query->writes)) {
        orri_world_settle(world);
    }
}

// Loops that it left are ended on the floor: others may read the era now.
static void call_here_leave(const orri_system* system, orri_here before)
{
    if (ORR_UNLIKELY(orri_here_now.loops != 0)) {
        __atomic_store_n(&system->pipe->driven->loop_left, true, __ATOMIC_RELAXED);
    }
    orri_here_leave(before);
}

uint64_t orri_system_work(orr_world* world, orri_system* system, uint32_t first, uint32_t last,
                          uint32_t worker)
{
    uint64_t begun = orri_timing_now(system->pipe);
    bool watched = world->schedule->audit != ORR_ACCESS_CHECK_OFF || world->realtime;
    orri_here before =
        orri_here_enter(world, watched ? &system->guard : NULL, system,
                        watched && call_tables_fit(world, system) ? system->tables : NULL);
    if (ORR_UNLIKELY(world->realtime)) {
        orri_here_now.clock = system->pipe->driven->clock;
        orri_here_now.view = system->pipe->driven->view;
        orri_here_now.since_view = system->since;
        orri_here_now.era = &system->pipe->driven->era;
    }
    call_sum sum = call_work(world, system, first, last);
    call_here_leave(system, before);
    (void)orri_float_mode_set(); // A library it called may have changed it.
    __atomic_fetch_add(&system->stats.rows, sum.rows, __ATOMIC_RELAXED);
    __atomic_fetch_add(&system->stats.runs, sum.runs, __ATOMIC_RELAXED);
    if (ORR_UNLIKELY(begun != 0)) {
        orri_timing_worked(system, worker, begun, sum.rows,
                           system->in_units ? (orri_timing_units){first, last - first}
                                            : (orri_timing_units){0, 0});
    }
    return sum.rows;
}

// What was handed out to it counts as read.
void orri_system_done(orr_world* world, orri_system* system)
{
    if (system->in_units && system->query->units_listed) {
        orri_run_cache_owe(system->query);
    }
    if (ORR_UNLIKELY(system->query->has_changed)) {
        // What is written from now on is new to it; what it wrote itself is not.
        orri_world_settle(world);
        // In real time others may have written since its group ended.
        system->since = ORR_LIKELY(!world->realtime) ? orri_epoch_end(world)
                                                     : system->pipe->driven->clock[1];
    }
    if (system->reads) {
        orri_reader_done(system->rights.reader);
    }
    if (system->inbox != NULL) {
        orri_event_cursors_done(world, system->inbox);
    }
}

// Units in an order of its own; NULL: all, one after the other.
static call_sum call_shuffled(orr_world* world, orri_system* system, const uint32_t* units)
{
    uint32_t count = system->in_units ? system->query->unit_count : 0;
    if (ORR_LIKELY(units == NULL)) {
        return call_work(world, system, 0, count);
    }
    call_sum sum = {0};
    for (uint32_t i = 0; i < count; i++) {
        call_sum more = call_work(world, system, units[i], units[i] + 1);
        sum.rows += more.rows;
        sum.runs += more.runs;
    }
    return sum;
}

// An impure one in a recording is looked at, in a replay it is not called.
ORRI_COLD static call_sum call_taped(orr_world* world, orri_system* system, const uint32_t* units)
{
    if (orri_impure_replays(system)) {
        orri_impure_replay(system);
        return (call_sum){0};
    }
    world->schedule->tape->epoch = world->epoch - 1; // Rows that were logged count (row_log.h).
    call_sum sum = call_shuffled(world, system, units);
    if (orri_impure_records(system)) {
        orri_impure_record(system, NULL);
    }
    return sum;
}

void orri_system_call(orr_world* world, orri_system* system, const uint32_t* units)
{
    orri_audit_watch* watch = ORR_UNLIKELY(world->schedule->audit == ORR_ACCESS_CHECK_FULL)
                                  ? orri_audit_begin(world, system)
                                  : NULL;
    orri_system_settle(world, system);
    call_enter(world, system);
    call_sum sum = ORR_UNLIKELY(world->schedule->tape != NULL)
                       ? call_taped(world, system, units)
                       : call_shuffled(world, system, units);
    call_leave(world);
    (void)orri_float_mode_set(); // A library it called may have changed it.
    system->stats.rows += sum.rows;
    orri_system_done(world, system);
    system->stats.runs +=
        sum.runs; // Apart from the rows: both at once would be read before they are written.
    if (watch != NULL) {
        orri_audit_end(world, system, watch);
    }
}

// The row is its own, and it sends nothing (single_entity.c): nothing is left to be handed in.
static uint32_t call_row(orr_world* world, orri_system* system, uint32_t index, uint64_t tick)
{
    orr_run run;
    if (!orri_iter_open_row(&run, system->query, index)) {
        return 0;
    }
    run.dt = system->pipe->interval;
    run.tick = tick;
    run.commands = call_buffer(world, system, 0);
    system->run(&run);
    call_buffer_done(world, system, run.commands);
    orri_iter_close(&run);
    return 1;
}

void orri_system_call_row(orr_world* world, orri_system* system, uint32_t index, uint64_t tick)
{
    orri_audit_watch* watch =
        world->schedule->audit == ORR_ACCESS_CHECK_FULL ? orri_audit_begin(world, system) : NULL;
    system->in_units = false;
    call_enter(world, system);
    uint32_t rows = call_row(world, system, index, tick);
    call_leave(world);
    (void)orri_float_mode_set();
    system->stats.rows += rows;
    system->stats.runs += rows;
    if (watch != NULL) {
        orri_audit_end(world, system, watch);
    }
}

// A callback, in the guard it needs; NULL: what is recorded of it.
ORRI_COLD static void call_back(orr_world* world, orri_system* system,
                                void (*callback)(orr_run* run))
{
    static const uint32_t never = 0;
    orr_run run = {.world = world, .query = system->query, .era_now = &never};
    call_dress(system, &run);
    run.commands = call_buffer(world, system, 0);
    if (callback == NULL) {
        orri_impure_replay_callback(system, run.commands);
    } else {
        callback(&run);
    }
    if (ORR_UNLIKELY(orri_impure_records(system))) {
        orri_impure_record(system, run.commands);
    }
    call_buffer_done(world, system, run.commands);
}

// On the floor, with nobody beside it.
ORRI_COLD static void call_back_realtime(orr_world* world, orri_system* system,
                                         void (*callback)(orr_run* run))
{
    orri_here before = orri_here_enter(world, &system->guard, system, NULL);
    orri_here_now.view = system->pipe->driven->view; // Whole ticks of others.
    orri_here_now.era = &system->pipe->driven->era;
    call_back(world, system, callback);
    call_here_leave(system, before);
    world->schedule->driver->end_loops(system->pipe);
    if (system->pipe->stage != ORRI_STAGE_STEPS) {
        orri_system_grant(world, system); // Of an impure one, which records what it switches.
    }
}

ORRI_COLD static void call_back_in(orr_world* world, orri_system* system,
                                   void (*callback)(orr_run* run))
{
    if (ORR_UNLIKELY(world->realtime)) {
        call_back_realtime(world, system, callback);
        return;
    }
    call_enter(world, system);
    call_back(world, system, callback);
    call_leave(world);
    if (system->wish_count > 0 && system->pipe->stage != ORRI_STAGE_STEPS) {
        orri_system_grant(world, system); // As in real time.
    }
}

ORRI_COLD void orri_system_call_back(orr_world* world, orri_system* system, orri_life life)
{
    void (*const callbacks[])(orr_run*) = {
        [ORRI_LIFE_CREATE] = system->desc.create,
        [ORRI_LIFE_START] = system->desc.start,
        [ORRI_LIFE_STOP] = system->desc.stop,
        [ORRI_LIFE_DESTROY] = system->desc.destroy,
    };
    system->in_units = false;
    if (ORR_UNLIKELY(orri_impure_replays(system))) {
        if (orri_impure_waits(system)) {
            call_back_in(world, system, NULL);
        }
        return;
    }
    // What was not begun, since a replay did it, is not ended either.
    bool begins = life == ORRI_LIFE_CREATE || life == ORRI_LIFE_START;
    bool* met = life == ORRI_LIFE_CREATE || life == ORRI_LIFE_DESTROY ? &system->met_create
                                                                      : &system->met_start;
    bool calls = callbacks[life] != NULL && *met != begins;
    *met = begins;
    if (!calls) {
        return;
    }
    call_back_in(world, system, callbacks[life]);
}

ORRI_COLD void orri_system_return(orr_world* world, orri_system* system)
{
    if (!orri_impure_replays(system)) {
        orri_system_call_back(world, system, ORRI_LIFE_CREATE);
        orri_system_call_back(world, system, ORRI_LIFE_START);
    }
}
