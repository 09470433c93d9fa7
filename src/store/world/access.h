// SPDX-License-Identifier: MIT
// Access checks: which data of a world a running system may read and write by calls. Every call of
// the store makes one of these checks before it accesses anything. While no system runs, or access
// checks are off, a check is one comparison.
//
// This header also holds the thread's context: which system the calling thread runs, with which
// clock and view, while systems run in parallel or in real time.
#ifndef ORRI_STORE_WORLD_ACCESS_H
#define ORRI_STORE_WORLD_ACCESS_H

#include "store/world/world.h"

// Access rights of a system. The bit sets are by type index; NULL: no type.
struct orri_access {
    const char* system; // Its name, for error texts.
    // Types of `.by_id`: of any entity, and in queries that it iterates itself.
    const uint64_t *by_id_read, *by_id_write;
    const orr_query* query; // Its own query; NULL: none.
    // Tags that queries it iterates itself may ask for.
    const orr_tag* by_id_tags;
    uint32_t by_id_tag_count;
    bool indirect; // It works by messages only, and may not access the world.
    // It belongs to a spectator pipeline, and sees transient entities.
    bool spectator;
    bool posted;   // Access of a transaction's function while it runs.
    bool section;  // Access of an atomic section while it runs.
    bool parallel; // Its rows are divided among several workers.
    // No other system of its pipeline runs meanwhile, and one worker calls it.
    bool alone;
    bool alone_realtime; // Real time: no system of any pipeline runs meanwhile.
    // It writes or sends types with owned fields, so it may create strings and arrays.
    bool owns;
    bool own_rows;                // `.own_rows`: it reads nothing but the rows it is called with.
    uint32_t type_count;          // Bits in each set.
    _Atomic uint64_t* violations; // Counter of refused accesses.
    // While a function of a transaction runs: the rights of the system that sent it. Else NULL.
    struct orri_rights* sender;
};

// Context of the calling thread, while systems run in parallel or in real time.
typedef struct orri_thread_context {
    const orr_world* world;    // World of the system that it runs; NULL: it runs none.
    const orri_access* access; // Of that system.
    const void* system;        // That system, of the schedule.
    // Type tables that reads by id may use, world->tables.capacity of them; NULL: `access` is asked
    // for each read.
    orr_hot_table** tables;
    // Real time: {tick, epoch} of the moment the system's group began; NULL: the world's own.
    const uint64_t* clock;
    // Real time: published values of other pipelines (publish.h); NULL: none.
    const struct orri_view* view;
    bool at_sync_point; // It runs posted calls while all pipelines stand between ticks.
    // The unit of rows that the system on this thread works on; 0 if it is not called by units.
    uint32_t unit;
    uint32_t loops; // Real time: open iterations of this thread.
    // Real time: era of iterations, as world->loops.era; NULL: the world's.
    const uint32_t* era;
    uint64_t since_view; // `changed` terms: version of the view that the system has seen last.
} orri_thread_context;
extern _Thread_local orri_thread_context orri_this_thread;

// Opens an iteration: structure does not change until it is closed. In real time each thread counts
// its own.
static inline void orri_loop_open(orr_world* world)
{
    if (ORR_UNLIKELY(world->realtime)) {
        orri_this_thread.loops++;
    } else {
        world->loops.iterating++;
    }
}
static inline void orri_loop_close(orr_world* world)
{
    if (ORR_UNLIKELY(world->realtime)) {
        orri_this_thread.loops -= orri_this_thread.loops > 0;
    } else {
        // A tick that began meanwhile has ended all loops.
        world->loops.iterating -= world->loops.iterating > 0;
    }
}

// Slow paths of the functions below. Out of line, since they would take more code in their callers
// than the rest.
ORRI_NOINLINE const struct orri_view* orri_view_here_slow(const orr_world* world);
ORRI_NOINLINE bool orri_access_checked_slow(const orr_world* world);

// Real time: true unless this thread runs at a sync point. Calls about the whole world are refused
// then.
static inline bool orri_between_sync_points(const orr_world* world)
{
    return ORR_UNLIKELY(world->realtime) &&
           !(orri_this_thread.world == world && orri_this_thread.at_sync_point);
}

// The published values of other pipelines that this thread reads; NULL: it reads all values as they
// are.
static inline const struct orri_view* orri_view_here(const orr_world* world)
{
    return ORR_UNLIKELY(world->realtime) ? orri_view_here_slow(world) : NULL;
}

// Stands in world->running.access between ticks while readers wait to be notified of a travel, so
// that checks of writes take their slow path. It restricts nothing.
extern const orri_access orri_access_pending;
// True when no running system has tables of its own: world->hot.tables are the world's.
static inline bool orri_access_none(const orr_world* world)
{
    return world->running.access == NULL || world->running.access == &orri_access_pending;
}
// From now on calls that change the world call `notify` first, until it has succeeded. NULL: readers
// were notified of the travel. Between ticks, or at a sync point.
void orri_travel_pending_set(orr_world* world, orr_result (*notify)(orr_world* world));
// Notifies readers of a travel if they were not yet. To be called before a change of the world.
// @return ORR_ERR_MEMORY (reported) if memory is still refused: then the world may not change.
ORRI_COLD orr_result orri_travel_notify(const orr_world* world, const char* call);
static inline orr_result orri_travel_notified(const orr_world* world, const char* call)
{
    return ORR_LIKELY(world->running.notify_travel == NULL) ? ORR_OK
                                                            : orri_travel_notify(world, call);
}

// Access of the system that this thread runs. Not NULL when orri_access_checked().
const orri_access* orri_access_of(const orr_world* world);
// True when accesses of this thread are checked: it runs a system with access checks, or it runs
// none while systems run in parallel, and may then access nothing. The thread that has the turn in
// real time is not checked.
static inline bool orri_access_checked(const orr_world* world)
{
    return ORR_UNLIKELY(world->running.access != NULL) && orri_access_checked_slow(world);
}
// From now on systems may run on several threads, each between orri_this_thread_enter() and
// orri_this_thread_leave(). `checked`: with access checks. Reads by id use `tables` on every thread
// or, if NULL, the tables of the thread.
void orri_access_parallel(orr_world* world, bool checked, orr_hot_table** tables);
// Ends orri_access_parallel().
void orri_access_serial(orr_world* world);
// The calling thread runs a system from now on. Returns its context before (perhaps of a system of
// another world), which orri_this_thread_leave() restores.
static inline orri_thread_context orri_this_thread_enter(const orr_world* world,
                                                         const orri_access* access,
                                                         const void* system, orr_hot_table** tables)
{
    orri_thread_context before = orri_this_thread;
    orri_this_thread =
        (orri_thread_context){.world = world, .access = access, .system = system, .tables = tables};
    return before;
}
static inline void orri_this_thread_leave(orri_thread_context before)
{
    orri_this_thread = before;
}
// Sets the access of the one system that runs, while no others do. `tables`: the
// world->tables.capacity type tables that the inline functions of store.h may read; NULL: none.
void orri_access_enter(orr_world* world, const orri_access* access, orr_hot_table** tables);
void orri_access_leave(orr_world* world);
// Fills such tables for an access. Repeat it when world->tables.changes has changed.
void orri_access_tables(const orr_world* world, const orri_access* access, orr_hot_table** tables);
// True (reported) when the calling thread runs no system while the world runs in real time.
ORRI_COLD bool orri_access_foreign_thread(const orr_world* world, const char* call);

// The checks. Each returns true when the access is allowed; otherwise the violation is counted and
// reported. A write is also refused (reported, ORR_ERR_MEMORY) by orri_travel_notified(); its result
// is orri_env_result(). `call` is the public function's name; `entity` may be null. The _slow
// functions are the slow paths.

// Reads or writes a type by entity id.
ORRI_NOINLINE bool orri_access_reads_slow(const orr_world* world, const char* call, orr_type type,
                                          orr_entity entity);
ORRI_NOINLINE bool orri_access_writes_slow(const orr_world* world, const char* call, orr_type type,
                                           orr_entity entity);
// Reads names, tags or enable bits, which are declared as orr_name, orr_tags and orr_enabled.
ORRI_NOINLINE bool orri_access_builtin_slow(const orr_world* world, const char* call,
                                            const char* name, orr_entity entity);
// Asks where an entity is stored: allowed for systems that access anything by id.
ORRI_NOINLINE bool orri_access_places_slow(const orr_world* world, const char* call,
                                           orr_entity entity);
static inline bool orri_access_reads(const orr_world* world, const char* call, orr_type type,
                                     orr_entity entity)
{
    return ORR_LIKELY(!orri_access_checked(world)) ||
           orri_access_reads_slow(world, call, type, entity);
}
static inline bool orri_access_writes(const orr_world* world, const char* call, orr_type type,
                                      orr_entity entity)
{
    return ORR_LIKELY(world->running.access == NULL) ||
           orri_access_writes_slow(world, call, type, entity);
}
static inline bool orri_access_builtin(const orr_world* world, const char* call, const char* name,
                                       orr_entity entity)
{
    return ORR_LIKELY(!orri_access_checked(world)) ||
           orri_access_builtin_slow(world, call, name, entity);
}
// Creates strings or arrays, or changes their reference counts.
ORRI_NOINLINE bool orri_access_owns_slow(const orr_world* world, const char* call);
static inline bool orri_access_owns(const orr_world* world, const char* call)
{
    return ORR_LIKELY(!orri_access_checked(world)) || orri_access_owns_slow(world, call);
}
// Asks whether entities are alive, how many there are, which types they have, which clusters there
// are: refused only with `.own_rows`, and to threads that run no system in real time.
ORRI_NOINLINE bool orri_access_looks_slow(const orr_world* world, const char* call,
                                          orr_entity entity);
static inline bool orri_access_looks(const orr_world* world, const char* call, orr_entity entity)
{
    return ORR_LIKELY(!orri_access_checked(world)) || orri_access_looks_slow(world, call, entity);
}
static inline bool orri_access_places(const orr_world* world, const char* call, orr_entity entity)
{
    return ORR_LIKELY(!orri_access_checked(world)) || orri_access_places_slow(world, call, entity);
}
// Refuses a change of structure by a running system. Type and entity may be null.
ORRI_COLD orr_result orri_refuse_structure(const orr_world* world, const char* call, orr_type type,
                                           orr_entity entity);
// orri_check_open(), with type and entity in the error text.
static inline orr_result orri_check_open_of(const orr_world* world, const char* call, orr_type type,
                                            orr_entity entity)
{
    return ORR_LIKELY(!orri_access_checked(world))
               ? orri_check_open(world, call)
               : orri_refuse_structure(world, call, type, entity);
}
// Asks for a tag in a query.
ORRI_NOINLINE bool orri_access_tags_slow(const orr_world* world, const char* call, orr_tag tag);
static inline bool orri_access_tags(const orr_world* world, const char* call, orr_tag tag)
{
    return ORR_LIKELY(!orri_access_checked(world)) || orri_access_tags_slow(world, call, tag);
}
// Refuses a call that is not allowed inside a system, or in real time between sync points.
ORRI_COLD orr_result orri_refuse_running(const orr_world* world, const char* call);

#endif
