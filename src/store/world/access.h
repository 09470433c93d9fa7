// SPDX-License-Identifier: MIT
// What a running system may reach of a world. Calls of the store ask before they touch anything; without a access that is one comparison.
#ifndef ORRI_STORE_WORLD_ACCESS_H
#define ORRI_STORE_WORLD_ACCESS_H

#include "store/world/world.h"

// What the running system may do with the world (access.c). Bits by type index; NULL: none.
struct orri_access {
    const char* system;                       // Its name.
    const uint64_t *by_id_read, *by_id_write; // By id, of any entity, and in queries of its own.
    const orr_query* query;                   // Its own query; NULL: none.
    const orr_tag* by_id_tags;                // Tags that queries of its own may ask for.
    uint32_t by_id_tag_count;
    bool indirect;
    bool spectator;               // It looks on, and may know of transient entities.
    bool posted;                  // It is the function of a transaction that runs,
    bool section;                 // or an atomic section.
    bool parallel;                // Its runs go to several workers at once.
    bool alone;                   // Nobody runs beside it, and it is called by one worker.
    bool alone_realtime;          // The same in real time, of all pipelines.
    bool owns;                    // It changes values with owned strings or arrays.
    bool own_rows;                // It looks at nothing but the rows it is given.
    uint32_t type_count;          // Bits there are.
    _Atomic uint64_t* violations; // Counted here.
};

// What this thread does at this moment, while systems run side by side.
typedef struct orri_thread_context {
    const orr_world* world; // NULL: nothing.
    const orri_access* access;
    const void* system; // Of the schedule.
    orr_hot_table**
        tables; // What reading by id may see, world->tables.capacity of them; NULL: the access is asked.
    // In real time: tick and epoch as they were when the group began, side by side, and what this pipeline sees of values that others
    // write (publish.h). NULL: those of the world.
    const uint64_t* clock;
    const struct orri_view* view;
    bool at_sync_point;  // It does calls from outside where all pipelines stand between ticks.
    uint32_t loops;      // In real time: those that are open here,
    const uint32_t* era; // and what says which of them have ended. NULL: the world's.
    uint64_t since_view; // For `changed` terms, of what the view has: when the system looked last.
} orri_thread_context;
extern _Thread_local orri_thread_context orri_this_thread;

// Something is walked on from here on, so that structure stays as it is. In real time each thread counts for itself.
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
        world->loops.iterating--;
    }
}

// The rare halves of what follows, which would take more room in their callers than all the rest.
ORRI_COLD const struct orri_view* orri_view_here_far(const orr_world* world);
ORRI_COLD bool orri_access_checked_far(const orr_world* world);

// In real time: false for who was called where all pipelines stand between ticks. Elsewhere the world as a whole is not to be had.
static inline bool orri_between_sync_points(const orr_world* world)
{
    return ORR_UNLIKELY(world->realtime) &&
           !(orri_this_thread.world == world && orri_this_thread.at_sync_point);
}

// What this thread's pipeline sees of values that others write; NULL: everything as it is.
static inline const struct orri_view* orri_view_here(const orr_world* world)
{
    return ORR_UNLIKELY(world->realtime) ? orri_view_here_far(world) : NULL;
}

// Of the system this thread runs. Not NULL where orri_access_checked().
const orri_access* orri_access_of(const orr_world* world);
// True when this thread runs a system that is watched; or, while systems run side by side, none of them: then nothing is allowed. In real
// time the thread that has the floor is not watched.
static inline bool orri_access_checked(const orr_world* world)
{
    return ORR_UNLIKELY(world->running.access != NULL) && orri_access_checked_far(world);
}
// Systems may run on several threads from now on, each between orri_this_thread_enter() and orri_this_thread_leave(). `watched`: with guards; reading by
// id finds what `tables` (may be NULL) have for all of them, and otherwise the thread's own.
void orri_access_parallel(orr_world* world, bool watched, orr_hot_table** tables);
void orri_access_serial(orr_world* world);
// What the thread did before, a system of another world perhaps, is returned, and taken up again at the end.
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
// While it runs. `tables` (may be NULL: no types) are those the inline functions may see, world->tables.capacity of them.
void orri_access_enter(orr_world* world, const orri_access* access, orr_hot_table** tables);
void orri_access_leave(orr_world* world);
// Fills such tables. To be done again when world->tables.changes has changed.
void orri_access_tables(const orr_world* world, const orri_access* access, orr_hot_table** tables);
// True when it is a thread of the program's own that reaches for a world in real time: reported.
ORRI_COLD bool orri_access_foreign_thread(const orr_world* world, const char* call);
// True when allowed; otherwise the breach is reported and counted. `entity` may be null.
ORRI_COLD bool orri_access_reads_long(const orr_world* world, const char* call, orr_type type,
                                      orr_entity entity);
ORRI_COLD bool orri_access_writes_long(const orr_world* world, const char* call, orr_type type,
                                       orr_entity entity);
// What stands for names, tags and switches: orr_name, orr_tags, orr_enabled.
ORRI_COLD bool orri_access_builtin_long(const orr_world* world, const char* call, const char* name,
                                        orr_entity entity);
// Where entities are: for who reaches something by id.
ORRI_COLD bool orri_access_places_long(const orr_world* world, const char* call, orr_entity entity);
static inline bool orri_access_reads(const orr_world* world, const char* call, orr_type type,
                                     orr_entity entity)
{
    return ORR_LIKELY(!orri_access_checked(world)) ||
           orri_access_reads_long(world, call, type, entity);
}
static inline bool orri_access_writes(const orr_world* world, const char* call, orr_type type,
                                      orr_entity entity)
{
    return ORR_LIKELY(!orri_access_checked(world)) ||
           orri_access_writes_long(world, call, type, entity);
}
static inline bool orri_access_builtin(const orr_world* world, const char* call, const char* name,
                                       orr_entity entity)
{
    return ORR_LIKELY(!orri_access_checked(world)) ||
           orri_access_builtin_long(world, call, name, entity);
}
// Making and counting strings and arrays.
ORRI_COLD bool orri_access_owns_long(const orr_world* world, const char* call);
static inline bool orri_access_owns(const orr_world* world, const char* call)
{
    return ORR_LIKELY(!orri_access_checked(world)) || orri_access_owns_long(world, call);
}
// Looking at whatever there is: whether entities live, how many, what they have.
ORRI_COLD bool orri_access_looks_long(const orr_world* world, const char* call, orr_entity entity);
static inline bool orri_access_looks(const orr_world* world, const char* call, orr_entity entity)
{
    return ORR_LIKELY(!orri_access_checked(world)) || orri_access_looks_long(world, call, entity);
}
static inline bool orri_access_places(const orr_world* world, const char* call, orr_entity entity)
{
    return ORR_LIKELY(!orri_access_checked(world)) || orri_access_places_long(world, call, entity);
}
// A running system changes structure; both may be null.
ORRI_COLD orr_result orri_refuse_structure(const orr_world* world, const char* call, orr_type type,
                                           orr_entity entity);
// As orri_check_open(), and names what it is about.
static inline orr_result orri_check_open_of(const orr_world* world, const char* call, orr_type type,
                                            orr_entity entity)
{
    return ORR_LIKELY(!orri_access_checked(world))
               ? orri_check_open(world, call)
               : orri_refuse_structure(world, call, type, entity);
}
// The same for a tag that a query asks for.
ORRI_COLD bool orri_access_tags_long(const orr_world* world, const char* call, orr_tag tag);
static inline bool orri_access_tags(const orr_world* world, const char* call, orr_tag tag)
{
    return ORR_LIKELY(!orri_access_checked(world)) || orri_access_tags_long(world, call, tag);
}
// For calls that make no sense inside a system.
ORRI_COLD orr_result orri_refuse_running(const orr_world* world, const char* call);

#endif
