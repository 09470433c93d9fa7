// SPDX-License-Identifier: MIT
// Change sets: many net changes applied to the world at once. A net change of an entity is its
// creation, its destruction, or a new set of types, tags, values, instances, enable bits and name.
// Every commit of recorded commands ends as one change set.
//
// A change set is applied completely or not at all. Everything that can be refused is prepared
// first, without visible effect. Then every row moves once, directly to the cluster it belongs to
// in the end, and gaps in clusters are closed once.
//
//   groups ──> target cluster of each entity ──> room, values, links ──> rows move ──> gaps close
//
// Entities that a change set creates already have ids, which were predicted before (id_reserve.c)
// or withheld (id_withhold.c).
#ifndef ORRI_STORE_CHANGE_CHANGE_SET_H
#define ORRI_STORE_CHANGE_CHANGE_SET_H

#include "store/world/world.h"
#include <orrery/kinds.h>

// ---- predicted ids (id_reserve.c) ---------------------------------------------------------------
//
// The creation queue is the order in which the world gives ids to new entities: the free list from
// its head, then indexes that were never used. Position 0 is the next id. A system that records a
// creation learns the id by its position in the queue.

// Remembers where a walk along the creation queue stopped, so that ascending positions cost one
// step each. A position before the last one restarts the walk. A zero-initialised cursor is valid.
// Any creation or destruction invalidates the cursor.
typedef struct orri_index_cursor {
    uint32_t position; // Position of `next1` in the queue.
    // Index + 1 of the free record at `position`; 0: not started, or past the free list.
    uint32_t next1;
} orri_index_cursor;

// Consecutive positions of the queue.
typedef struct orri_id_run {
    uint32_t position, count;
    uint32_t before1; // Scratch of orri_index_promote().
} orri_id_run;

// Returns the id that the creation at `position` of the queue will get. Null when `position` is
// beyond the entity limit of the world (orr_world_desc.entities_max) or the last index.
orr_entity orri_index_nth(const orr_world* world, orri_index_cursor* cursor, uint32_t position);
// Writes the ids of `count` positions, from `position` on, to `out`. Returns false when the queue
// has fewer ids.
bool orri_index_next(const orr_world* world, orri_index_cursor* cursor, uint32_t position,
                     orr_entity* out, uint32_t count);
// Moves the given ids, in this order, to the head of the creation queue. Free ids that are skipped
// keep their order behind them. Unused indexes below the largest given one become free ids; the
// lowest of them comes first after the given ids. Returns false when memory is refused or an id is
// not in the queue (both reported); the world is then unchanged. The new order cannot be undone, so
// the call comes after everything else that can be refused.
//
// `runs` are the positions of the ids, ascending and without overlap, for speed: then the cost
// grows with the number of ids, not with the length of the free list. NULL, or positions that are
// not those of the ids: the whole free list is searched.
bool orri_index_promote(orr_world* world, const orr_entity* ids, uint32_t count, orri_id_run* runs,
                        uint32_t run_count);

// ---- samples of the free list (free_samples.c) --------------------------------------------------

#define ORRI_SAMPLE_STEP 64u // Positions from one sample to the next.

// Makes positions up to `position` of the free list quick to find. Memory may be refused (silent).
// No other thread may read the queue meanwhile.
void orri_free_samples_extend(orr_world* world, uint32_t position);
// Moves a cursor to the last known position at or before `position`, which is on the free list, if
// that is nearer than where the cursor is.
void orri_free_samples_seek(const orr_world* world, orri_index_cursor* cursor, uint32_t position);
// Records left the head of the free list and may come back with the same generation.
void orri_free_samples_cut(orr_world* world);
// Records at these positions (ascending) left the free list; free_count is still that of before.
void orri_free_samples_remove(orr_world* world, const orri_id_run* runs, uint32_t run_count);
// True when every valid sample is where it says. Walks along the whole list.
bool orri_free_samples_sound(const orr_world* world);
// How many ids of a run are on the free list.
static inline uint32_t orri_id_run_listed(const orr_world* world, const orri_id_run* run)
{
    uint32_t free_count = world->index.free_count;
    uint32_t left = run->position < free_count ? free_count - run->position : 0;
    return run->count < left ? run->count : left;
}

// ---- withheld ids (id_withhold.c) ---------------------------------------------------------------

// Takes the next `count` ids out of the creation queue: free ones first, then unused indexes, whose
// records are made. The records are dead and on no list, so no creation gets these ids. All or
// nothing (reported). No system may run meanwhile.
bool orri_index_withhold(orr_world* world, orr_entity* out, uint32_t count);
// Returns withheld ids to the head of the queue, ids[0] first. Indexes that were unused before are
// free ids from now on. Returns false when memory is refused (reported); that happens only while
// pages of the entity index are shared, and nothing is done then. No system may run meanwhile.
bool orri_index_return(orr_world* world, const orr_entity* ids, uint32_t count);

// ---- change sets (change_set.c) -----------------------------------------------------------------

typedef enum orri_change_kind {
    // The entities do not exist yet; their ids are predicted or withheld ones.
    ORRI_CHANGE_KIND_CREATE,
    ORRI_CHANGE_KIND_CHANGE, // The entities are alive and get other types, tags or values.
    // The entities are alive and die, with all that cascades reach (relation.h). All fields of the
    // group after `places` are ignored.
    ORRI_CHANGE_KIND_DESTROY,
} orri_change_kind;

// A type with one value for each entity of a group. The type is unique, or multiple and gets its
// first instance.
typedef struct orri_given {
    orr_type type;
    // One after another, in the order of the entities. NULL: all get the preset, also those that
    // have the type already.
    const uint8_t* values;
} orri_given;

// The change of one instance of a multiple type.
//
//   id == 0, !removed    a new instance; its id is assigned when the set is applied, in order
//   id != 0, !removed    the instance gets another value
//   id != 0, removed     the instance is removed
//   id == 0, removed     all instances are removed; instances that the same group adds stay
typedef struct orri_instance_change {
    orr_type type;
    orr_component_id id;
    bool removed;
    const void* value; // NULL: the preset (new instances only).
    // Id of a new instance, which no instance of the entity has. 0: the next number.
    orr_component_id new_id;
} orri_instance_change;

// Enables or disables an entity, a component or an instance.
typedef struct orri_enable_change {
    orr_type type;       // Null: the entity itself.
    orr_component_id id; // Instance of a multiple type; 0: all instances, or see `added1`.
    bool on;
    uint32_t added1; // 1 + n: the instance that `instances[n]` of the group adds. 0: see `id`.
} orri_enable_change;

// Entities with the same net change. An entity is in at most one group of a set, and there once.
typedef struct orri_group {
    orri_change_kind kind;
    const orr_entity* entities; // [count]; NULL: those at `places`, which only move to `cluster`.
    uint32_t count;
    // [count] Places of live entities (chunk id and slot, as in their records), if the caller knows
    // them and all entities are alive. NULL: the change set looks them up, and refuses an entity
    // that is not alive.
    const uint32_t* places;
    // Creation: cluster whose types and tags the entity starts with. Null: none.
    // Change, or a creation with `as_call`: cluster that the entities go to, where the caller knows
    // it, with room for all added instances. Null: the cluster with the types and tags after the
    // change.
    orr_cluster cluster;
    // The group is the list of a call such as orr_destroy_many() or orr_component_add_many(): an
    // entity that is listed twice refuses the set. A change without `cluster` gives or takes exactly
    // one type, and what refuses the single call refuses the set.
    bool as_call;
    // Types that the entity gets: set where it has the type, added where it lacks it. Pinned types
    // are allowed.
    const orri_given* given;
    uint32_t given_count;
    bool keeps; // Entities keep the values of given types that they have already.
    // Types that are removed where the entity has them; of multiple types all instances.
    const orr_type* taken;
    uint32_t taken_count;
    const orr_tag *tags_on, *tags_off; // Tags to add and to remove.
    uint32_t tag_on_count, tag_off_count;
    // The fields below are allowed in groups of one entity only, but for instances that created
    // entities get. Instances added for a type that is also in `taken` stay.
    const orri_instance_change* instances;
    uint32_t instance_count;
    const orri_enable_change* enables; // Applied after everything else.
    uint32_t enable_count;
    bool renamed;     // The entity gets the name `name` in `scope`.
    orr_entity scope; // Null: the world's own scope.
    const char* name; // NULL: the entity loses its name.
    // Renamings are applied in ascending rank, because a name may become free by an earlier
    // renaming.
    uint64_t name_rank;
} orri_group;

// Settings of orri_change_set_apply().
//
// A single change that is impossible is skipped, and the rest of the set is applied. Skipped
// changes:
//   1. Changes without meaning, such as removing a type that another type needs, or changing an
//      instance that does not exist.
//   2. Changes that exceed a limit of the entity: types, tags, or instances of a type. Types of
//      `given` have precedence over types of `instances`, both in order; removed types make room
//      first. A type that does not fit together with all types it requires is skipped.
//   3. Moves to a cluster that does not exist when the world has clusters_max clusters. The last
//      free cluster goes to the first group, and the first entity in it, that needs one. Later
//      entities stay where they are, with their components and tags; new entities get those of
//      `cluster` only. Values of types they have, pinned values, names and enable bits are applied
//      anyway.
// Refused memory, all other limits and refusing hooks refuse the whole set.
typedef struct orri_change_set_desc {
    const char* call; // Name of the public call, for error texts.
    const orri_group* groups;
    uint32_t count;
    // The ids of all creations, in the order of the groups, were positions 0, 1, 2 … of the
    // creation queue when they were predicted. Then one comparison tells whether they still are: if
    // the first id is still the next one, so are the others, because every creation or destruction
    // changes the head of the queue for good.
    bool ids_in_order;
    // Positions of the ids of all creations when they were predicted, ascending; NULL: not known.
    // For speed only (orri_index_promote()).
    orri_id_run* id_runs;
    uint32_t id_run_count;
    // A change that would be skipped refuses the whole set with ORR_ERR_CAPACITY. Names are
    // excepted: whether a name is free is known only when it is assigned, after everything that can
    // be refused.
    bool strict;
    // Called for every skipped change, once the set is applied; may read the world. `what` is a
    // clause that gives the reason, for example "Position is needed by Body", and `result` the
    // result that a single call would have returned. NULL: not called.
    void (*on_skipped)(void* user, uint32_t group, orr_entity entity, orr_type type,
                       orr_result result, const char* what);
    // Called when nothing can be refused any more, before anything is done. Then the set destroys
    // only: the caller has found all entities that cascades destroy. NULL: not called.
    void (*before)(void* user);
    void* user; // First argument of `on_skipped` and `before`.
} orri_change_set_desc;

// Applies all changes, or none (reported). The result is that of creations, additions, values,
// removals and destructions, in this order, but every row moves once. Consecutive rows of a group
// with the same source and target cluster move in runs. The caller has checked the entity
// references in values. The world must be open (orri_check_open) and no system may run.
orr_result orri_change_set_apply(orr_world* world, const orri_change_set_desc* desc);
// A set with one group as_call that destroys all entities and those that cascades reach, or, with
// `before`, only the listed ones (api/batch.c).
orr_result orri_destroy_list(orr_world* world, const char* call, const orr_entity* entities,
                             uint32_t count, void (*before)(void* user), void* user);

#endif
