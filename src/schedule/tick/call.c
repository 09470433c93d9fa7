// SPDX-License-Identifier: MIT
// Calling a system: its function for every run of rows, or once, with a command buffer to send
// into, while the access checks close the world to everything it did not declare.
#include "base/float.h"
#include "schedule/record/recording.h"
#include "store/publish/publish.h"

// ---- preparation --------------------------------------------------------------------------------

// True when the tables for reading by id match the world's.
static bool call_tables_fit(const orr_world* world, const orri_system* system)
{
    return system->tables != NULL && system->table_changes == world->tables.changes &&
           system->table_count == world->tables.capacity;
}

// Makes the tables that reads by id may see. Made again when types got their first clusters.
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
    orri_access_tables(world, &system->access, system->tables);
    const orri_view* view = world->realtime ? system->pipe->driven->view : NULL;
    for (uint32_t i = 0; view != NULL && i < world->tables.capacity; i++) {
        orr_type type = {world->schema.type_base + i};
        if (i < world->schema.type_count && orri_view_has(view, type) &&
            orri_right(system->access.by_id_read, &system->rights, i)) {
            system->tables[i] = orri_view_table(view, type);
        }
    }
    system->table_changes = world->tables.changes;
    return ORR_OK;
}

// Updates order and pinned set of the query, through the pipeline's view.
static bool call_refresh(const orr_world* world, const orri_system* system)
{
    if (ORR_LIKELY(!world->realtime)) {
        return orri_query_refresh(system->query);
    }
    // Within a turn, which has no view otherwise.
    orri_this_thread.view = system->pipe->driven->view;
    bool refreshed = orri_query_refresh(system->query);
    orri_this_thread.view = NULL;
    return refreshed;
}

// Reserves room for the command buffers of all calls until the next point: up to 3 for callbacks,
// and one for each unit.
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
    if (ORR_UNLIKELY(system->ordered) && result == ORR_OK && system->desc.kind == ORR_DIRECT &&
        !call_refresh(world, system)) {
        result = orri_env_result(&world->env);
    }
    bool in_units = (units || system->may_send || system->reduces) && system->by_rows &&
                    !system->ordered;
    bool reserve = in_units || system->reduces || system->command_buffer_capacity == 0;
    system->in_units = in_units;
    if (ORR_UNLIKELY(system->state_read_only)) {
        orri_system_state_copy(system);
    }
    return result == ORR_OK && reserve ? call_reserve(world, system) : result;
}

// ---- command buffers ----------------------------------------------------------------------------

// How many entity ids are reserved for a call that processes unit `unit`, or everything: its limit,
// or a likely number.
static uint32_t call_ids(const orri_system* system, uint32_t unit)
{
    const orr_query* query = system->query;
    if (system->creates_max != 0 || !system->rights.may_create) {
        return system->creates_max;
    }
    return system->in_units                ? orri_unit_rows(query, unit)
           : !system->by_rows              ? 1024
           : query->pinned_matches != NULL ? query->pinned_matches->visible
           : query->order != NULL          ? query->order->count
                                           : 1024; // A callback, before its first tick.
}

uint64_t orri_system_creates(const orri_system* system)
{
    uint64_t count = 0;
    uint32_t units = system->in_units && system->may_send ? system->query->unit_count : 1;
    for (uint32_t i = 0; system->rights.may_create && i < units; i++) {
        count += call_ids(system, i);
    }
    return count;
}

static orr_command_buffer* call_buffer_open(orr_world* world, orri_system* system,
                                            uint32_t creates_max)
{
    system->rights.in_units = system->in_units;
    return orri_command_buffer_open(world, &system->rights, creates_max);
}

// The command buffer of unit `unit`: opened in advance, or opened now.
static orr_command_buffer* call_buffer(orr_world* world, orri_system* system, uint32_t unit)
{
    if (system->ahead) {
        return system->command_buffers[system->command_buffer_ahead + unit];
    }
    orr_command_buffer* commands = call_buffer_open(world, system, call_ids(system, unit));
    orri_command_buffer_unit_set(commands, unit);
    return commands;
}

// A buffer in which nothing was sent is closed at once; others are closed at the point, in order.
static void call_buffer_done(orr_world* world, orri_system* system, orr_command_buffer* commands)
{
    bool used = orri_command_buffer_end(commands);
    if (system->ahead) {
        return;
    }
    // Commands that callbacks send outside stage STEPS are applied before the first group.
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
            call_buffer_open(world, system, none ? 0 : call_ids(system, i));
        real = orri_command_buffer_real(commands);
        if (real) {
            orri_command_buffer_unit_set(commands, i);
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

uint64_t orri_system_provisional(const orri_system* system)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < system->command_buffer_count; i++) {
        count += orri_command_buffer_provisional(system->command_buffers[i]);
    }
    return count;
}

void orri_system_close_buffers(orr_world* world, orri_system* system)
{
    for (uint32_t i = 0; i < system->command_buffer_count; i++) {
        orri_command_buffer_close(world, system->command_buffers[i]);
    }
    system->command_buffer_count = 0;
    system->ahead = false;
}

// ---- entering and leaving a system --------------------------------------------------------------

// The driving thread runs a system, and no other system runs.
static void call_enter(orr_world* world, orri_system* system)
{
    struct orri_schedule* schedule = world->schedule;
    schedule->running = system;
    world->running.in_system = true;
    // Structure must not change. No other thread counts now, so a relaxed store will do.
    atomic_store_explicit(&world->loops.iterating, 1, memory_order_relaxed);
    if (schedule->audit != ORR_ACCESS_CHECK_OFF) {
        // Callbacks are called without preparation: without tables, reads by id take the checked
        // path.
        orri_access_enter(world, &system->access,
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
        world->loops.era++; // It returned without ending a loop: that loop has ended.
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
    orri_access_serial(world);
    orri_schema_thaw(&world->schema);
    world->running.in_system = false;
    if (ORR_UNLIKELY(world->loops.iterating != 1)) {
        world->loops.era++;
    }
    atomic_store_explicit(&world->loops.iterating, 0, memory_order_relaxed);
}

// Number of rows and runs that a call processed.
typedef struct call_sum {
    uint64_t rows, runs;
} call_sum;

// Sets dt and tick of a run.
static void call_run_fill(const orri_system* system, orr_run* run)
{
    run->dt = system->pipe->dt;
    run->tick = system->pipe->tick;
}

// A run without rows. The spans stay as they are: `now` points at none.
static void call_run_empty(orr_world* world, const orri_system* system, orr_run* run)
{
    static const uint32_t never = 0;
    memset(run, 0, offsetof(orr_run, spans));
    run->world = world;
    run->query = system->query;
    run->era_now = &never;
    call_run_fill(system, run);
}

// ---- running over rows --------------------------------------------------------------------------

// Begins a unit: refused calls are noted with its number, and a system with .combine has an export
// for it.
static inline void call_unit(const orri_system* system, orr_run* run, uint32_t unit)
{
    orri_this_thread.unit = unit;
    if (ORR_UNLIKELY(system->reduces)) {
        run->unit = unit + 1;
        orri_reduce_begin(system, unit);
    }
}

// A call without rows.
static void call_once(orr_world* world, orri_system* system, void (*function)(orr_run* run))
{
    orr_run run;
    call_run_empty(world, system, &run);
    run.commands = call_buffer(world, system, 0);
    orri_this_thread.unit = 0;
    function(&run);
    call_buffer_done(world, system, run.commands);
}

// All runs with one command buffer: for systems that send nothing, and where rows come in an order
// of their own.
static call_sum call_rows(orr_world* world, orri_system* system)
{
    orr_run run;
    call_sum sum = {0};
    orri_iter_open(&run, system->query, system->since);
    call_run_fill(system, &run);
    run.commands = call_buffer(world, system, 0);
    call_unit(system, &run, 0);
    // A cached run list knows its end: asking for another run would cost as much as a small run.
    while ((run.span_left != 0 || !run.listed) && orr_iter_next(&run)) {
        sum.rows += run.count;
        sum.runs++;
        system->run(&run);
    }
    orri_iter_close(&run);
    call_buffer_done(world, system, run.commands);
    return sum;
}

// Units [first, last) with one command buffer, for systems that send nothing.
static call_sum call_silent_units(orr_world* world, orri_system* system, uint32_t first,
                                  uint32_t last)
{
    orr_run run;
    call_sum sum = {0};
    orri_iter_open_units(&run, system->query, system->since, first, last);
    call_run_fill(system, &run);
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
    if (!system->ahead) { // Opened in advance there is one buffer for all workers.
        call_buffer_done(world, system, run.commands);
    }
    return sum;
}

// Units [first, last), each with a command buffer of its own.
static call_sum call_units(orr_world* world, orri_system* system, uint32_t first, uint32_t last)
{
    orr_run run;
    call_sum sum = {0};
    orri_iter_open_units(&run, system->query, system->since, first, last);
    call_run_fill(system, &run);
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
    call_once(world, system, system->run);
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
    if (system->in_units && !query->units_cached && (query->has_changed || query->writes)) {
        orri_world_settle(world);
    }
}

// Loops that the system left open are ended in the turn: other threads may read the era now.
static void call_here_leave(const orri_system* system, orri_thread_context before)
{
    if (ORR_UNLIKELY(orri_this_thread.loops != 0)) {
        __atomic_store_n(&system->pipe->driven->loop_left, true, __ATOMIC_RELAXED);
    }
    orri_this_thread_leave(before);
}

uint64_t orri_system_work(orr_world* world, orri_system* system, uint32_t first, uint32_t last,
                          uint32_t worker)
{
    uint64_t begun = orri_timing_now(system->pipe);
    bool watched = world->schedule->audit != ORR_ACCESS_CHECK_OFF || world->realtime;
    orri_thread_context before =
        orri_this_thread_enter(world, watched ? &system->access : NULL, system,
                               watched && call_tables_fit(world, system) ? system->tables : NULL);
    if (ORR_UNLIKELY(world->realtime)) {
        orri_this_thread.clock = system->pipe->driven->clock;
        orri_this_thread.view = system->pipe->driven->view;
        orri_this_thread.since_view = system->since;
        orri_this_thread.era = &system->pipe->driven->era;
    }
    call_sum sum = call_work(world, system, first, last);
    call_here_leave(system, before);
    (void)orri_float_mode_set(); // A library that it called may have changed it.
    __atomic_fetch_add(&system->stats.rows, sum.rows, __ATOMIC_RELAXED);
    __atomic_fetch_add(&system->stats.runs, sum.runs, __ATOMIC_RELAXED);
    if (ORR_UNLIKELY(begun != 0)) {
        orri_timing_worked(system, worker, begun, sum.rows,
                           system->in_units ? (orri_timing_units){first, last - first}
                                            : (orri_timing_units){0, 0});
    }
    return sum.rows;
}

// Messages, events and changes that were given to it count as read.
void orri_system_done(orr_world* world, orri_system* system)
{
    if (system->in_units && system->query->units_cached) {
        orri_run_cache_mark_unstamped(system->query);
    }
    if (ORR_UNLIKELY(system->query->has_changed)) {
        // Later writes are new to it; its own writes are not.
        orri_world_settle(world);
        // In real time others may have written since its group ended.
        system->since = ORR_LIKELY(!world->realtime) ? orri_epoch_end(world)
                                                     : system->pipe->driven->clock[1];
    }
    if (system->reads) {
        orri_reader_done(system->rights.reader);
    }
    if (system->event_cursors != NULL) {
        orri_event_cursors_done(world, system->event_cursors);
    }
}

// All units, in the given order; NULL: ascending.
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

// Call while a lockstep log is set: an impure system is recorded after its call, and in a replay it
// is not called.
ORRI_COLD static call_sum call_logged(orr_world* world, orri_system* system, const uint32_t* units)
{
    if (orri_impure_replays(system)) {
        orri_impure_replay(system);
        return (call_sum){0};
    }
    world->schedule->lockstep_log->epoch = world->epoch -
                                           1; // Rows in the row log count, too (row_log.h).
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
    call_sum sum =
        ORR_UNLIKELY(world->schedule->lockstep_log != NULL) ? call_logged(world, system, units)
        : ORR_LIKELY(units == NULL)
            ? call_work(world, system, 0, system->in_units ? system->query->unit_count : 0)
            : call_shuffled(world, system, units);
    call_leave(world);
    (void)orri_float_mode_set(); // A library that it called may have changed it.
    system->stats.rows += sum.rows;
    orri_system_done(world, system);
    // Apart from the rows counter, so that the compiler does not join the two updates: reading both
    // counters at once would wait for their last writes.
    system->stats.runs += sum.runs;
    if (watch != NULL) {
        orri_audit_end(world, system, watch);
    }
}

// One row. The system sends nothing (single_entity.c), so no buffer has to be closed.
static uint32_t call_row(orr_world* world, orri_system* system, uint32_t index, uint64_t tick)
{
    orr_run run;
    if (!orri_iter_open_row(&run, system->query, index)) {
        return 0;
    }
    run.dt = system->pipe->interval;
    run.tick = tick;
    run.commands = call_buffer(world, system, 0);
    orri_this_thread.unit = 0;
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

// Calls a callback; NULL: replays the recorded one.
ORRI_COLD static void call_back(orr_world* world, orri_system* system,
                                void (*callback)(orr_run* run))
{
    orr_run run;
    call_run_empty(world, system, &run);
    run.commands = call_buffer(world, system, 0);
    orri_this_thread.unit = 0;
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

// In a turn, with structure held exclusively.
ORRI_COLD static void call_back_realtime(orr_world* world, orri_system* system,
                                         void (*callback)(orr_run* run))
{
    orri_thread_context before = orri_this_thread_enter(world, &system->access, system, NULL);
    orri_this_thread.view = system->pipe->driven->view; // Whole ticks of other pipelines.
    orri_this_thread.era = &system->pipe->driven->era;
    call_back(world, system, callback);
    call_here_leave(system, before);
    world->schedule->driver->end_loops(system->pipe);
    if (system->pipe->stage != ORRI_STAGE_STEPS) {
        // Requests of an impure system, which are recorded.
        orri_system_apply_requests(world, system);
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
    if (system->request_count > 0 && system->pipe->stage != ORRI_STAGE_STEPS) {
        orri_system_apply_requests(world, system); // As in real time.
    }
}

ORRI_COLD static void call_back_life(orr_world* world, orri_system* system, orri_life life)
{
    void (*const callbacks[])(orr_run*) = {
        [ORRI_LIFE_CREATE] = system->desc.create,
        [ORRI_LIFE_START] = system->desc.start,
        [ORRI_LIFE_STOP] = system->desc.stop,
        [ORRI_LIFE_DESTROY] = system->desc.destroy,
    };
    if (ORR_UNLIKELY(orri_impure_replays(system))) {
        if (orri_impure_callback_recorded(system)) {
            call_back_in(world, system, NULL);
        }
        return;
    }
    // A callback that a replay did instead of the system was not called, so its counterpart is not
    // called either.
    bool begins = life == ORRI_LIFE_CREATE || life == ORRI_LIFE_START;
    bool* called = life == ORRI_LIFE_CREATE || life == ORRI_LIFE_DESTROY ? &system->create_called
                                                                         : &system->start_called;
    bool calls = callbacks[life] != NULL && *called != begins;
    *called = begins;
    if (calls) {
        call_back_in(world, system, callbacks[life]);
    }
}

ORRI_COLD void orri_system_call_back(orr_world* world, orri_system* system, orri_life life)
{
    // After a replay, and when a reader lost its queue, callbacks run between the preparation of a
    // system and its run, which is still made in units.
    bool in_units = system->in_units;
    system->in_units = false;
    call_back_life(world, system, life);
    system->in_units = in_units;
}

ORRI_COLD void orri_system_call_back_missed(orr_world* world, orri_system* system)
{
    if (!orri_impure_replays(system)) {
        orri_system_call_back(world, system, ORRI_LIFE_CREATE);
        orri_system_call_back(world, system, ORRI_LIFE_START);
    }
}
