// SPDX-License-Identifier: MIT
// A change set while it is applied (change_set.h), shared by the files that do it.
//
//   change_set.c   runs the steps, discards a refused set, reports skipped changes
//   target.c       finds the target cluster of an entity
//   route.c        finds the source and target cluster of all rows, makes room in the targets
//   stage.c        makes values in advance: outside the world, or in rows not visible yet
//   sparse.c       stages and applies pinned values, instances, names and enable bits
//   links.c        enters indexed references, and finds the entities that die by cascades
//   execute.c      applies the prepared set; nothing can be refused any more
//
// Everything before execute.c can be undone. Refusals are withheld until it is undone, so that an
// error handler never sees a world in between.
#ifndef ORRI_STORE_CHANGE_CHANGE_DETAIL_H
#define ORRI_STORE_CHANGE_CHANGE_DETAIL_H

#include "store/change/change_set.h"
#include "store/pool/pool.h"
#include "store/relation/relation.h"

// All rows of one group that go from one cluster to one other, in the order of the group.
typedef struct orri_route {
    uint32_t group;              // Index of the group; desc->count: the cascaded entities.
    orri_cluster* from;          // NULL: the rows are created.
    orri_cluster* to;            // Same as `from`: the rows stay. NULL: the rows are destroyed.
    orri_transition* transition; // NULL unless the rows move.
    uint32_t base;               // Row in `to` of the first entity, if rows come to it.
    uint32_t count;              // Rows of the route.
    uint32_t used;               // Rows that the current walk has passed.
    uint32_t columns;            // First entry in orri_change.columns: one for each given type.
    // Changes skipped for every entity of the route, in orri_change.route_skips.
    uint32_t skip_first, skip_count;
} orri_route;

// An entry of orri_change.columns: the column in `to` that a given value goes to, or one of these.
// Flag: the entity has the type already, so that its value is overwritten.
#define ORRI_GIVEN_HAS  0x8000u
#define ORRI_GIVEN_NONE 0xFFFFu // The type is pinned, or adding it is skipped.

// Why a single change is skipped. change_set.c has the texts.
typedef enum orri_skip_reason {
    ORRI_SKIP_NEEDED, // Removal of a type that `other` requires.
    // A value without instance id for a multiple type that the entity has already.
    ORRI_SKIP_MULTIPLE,
    ORRI_SKIP_UNIQUE,        // An instance of a unique type.
    ORRI_SKIP_INSTANCE,      // No instance with id `number`.
    ORRI_SKIP_INSTANCES_MAX, // The entity has as many instances as it can have.
    ORRI_SKIP_TAGS_MAX,      // The entity has ORR_CLUSTER_TAGS_MAX tags.
    ORRI_SKIP_TYPES_MAX,     // The entity would have more than ORR_CLUSTER_TYPES_MAX types.
    // The target cluster does not exist, and the world has clusters_max clusters.
    ORRI_SKIP_CLUSTERS_MAX,
    ORRI_SKIP_COMPONENT, // Enabling or disabling a component that the entity lacks.
    ORRI_SKIP_NAME_TYPE, // A value for the name component, which only naming calls may write.
    ORRI_SKIP_NAME,      // A name that cannot be assigned; `number` is an orri_name_result.
} orri_skip_reason;

// A skipped change. In route_skips `group` and `entity` are not set: it applies to all entities of
// the route.
typedef struct orri_skip {
    orri_skip_reason why;
    uint32_t group;
    orr_entity entity;
    orr_type type, other;
    uint32_t number;
} orri_skip;

// Staged values in rows that are not visible yet, of a type that must be destructed if the set is
// discarded.
typedef struct orri_made {
    orri_cluster* cluster;
    uint32_t column, first, count;
} orri_made;

// Staged copies, outside the world, of values of a given type that is not plain: for the entities
// of a group that have it already.
typedef struct orri_copies {
    uint32_t given; // Index in group->given.
    const orri_type* type;
    uint8_t* data;
    uint32_t count;    // Copies that were made.
    uint32_t used;     // Copies that links.c or execute.c have passed.
    uint32_t capacity; // Values that `data` has room for.
} orri_copies;

// A pool that gets new pinned values. The values are made in the slots they will have.
typedef struct orri_pool_fill {
    orri_pool* pool;
    uint32_t count; // Values that the set adds.
    uint32_t made;  // Values that are made; 0 for a plain type.
    // All new slots have enable bits, because some value is disabled at once.
    bool bits_reserved;
    orri_pool_cursor cursor; // Slot of the next value.
} orri_pool_fill;

// Working state of one group.
typedef struct orri_group_work {
    const uint32_t* places; // [count] Places before anything moves; NULL: the group creates.
    uint32_t route_first, route_count;
    uint32_t instance_first; // First entry in `instance_applies` and `instance_values`.
    uint32_t enable_first;   // First entry in `enable_applies`.
    uint32_t text;           // Entry in `texts`.
    bool moves;              // Some row of the group moves.
    bool overwrites;         // Some given value overwrites a value in a column.
    uint32_t copies_first, copies_count;
} orri_group_work;

// A change set while it is applied. All lists are in ORR_MEMORY_TEMP.
typedef struct orri_change {
    orr_world* world;
    const orri_change_set_desc* desc;
    orri_group_work* work;       // [desc->count + 1]; the last one is for `cascaded`.
    orri_group_work work_one[2]; // `work` of a set with one group.
    orri_group cascaded;         // Entities that die by a cascade and are in no group of the set.
    uint32_t* places;            // Looked-up places of all groups that gave none.
    uint64_t place_count;
    orri_route* routes;
    uint16_t* columns;       // By route and given type (ORRI_GIVEN_HAS, ORRI_GIVEN_NONE).
    orri_cluster** clusters; // Clusters whose scratch fields (batch_*) are in use.
    orri_cluster** created;  // Clusters that the set created, in order of creation.
    orri_skip* route_skips;  // Skipped changes by route.
    orri_skip* skips;        // Skipped changes by entity, in the order in which they are reported.
    orri_made* made;
    orri_copies* copies;
    orri_pool_fill* pool_fills;
    bool* instance_applies; // By instance change: it is not skipped.
    bool* enable_applies;   // By enable change: it is not skipped.
    // Scratch of target.c, by multiple type and existing instance: the set removes it by id.
    bool* marks;
    void**
        instance_values; // By instance change: its staged values, one for each entity; NULL: none.
    orr_string* texts;   // By renaming: the staged text; null: the name is not allowed.
    uint8_t* instance_memory; // Memory of `instance_values`.
    uint64_t instance_size;
    uint32_t route_count, column_count, cluster_count, created_count, route_skip_count, skip_count,
        made_count, copies_count, pool_fill_count, instance_count, enable_count, text_count,
        name_count, mark_count;
    uint32_t* names; // Scratch of sparse.c: groups that rename, in the order of name_rank.
    uint32_t route_capacity, column_capacity, cluster_capacity, created_capacity,
        route_skip_capacity, skip_capacity, made_capacity, copies_capacity, pool_fill_capacity,
        mark_capacity;
    uint32_t* cascaded_places; // Places of `cascaded`.
    orri_cascade cascade;
    // Entities that a cascade destroys although the set creates or changes them. They are destroyed
    // one by one, after the rest.
    orr_entity* destroyed_last;
    uint32_t destroyed_last_count, destroyed_last_capacity;
    // Entities that the set creates: references to them count as references to live entities.
    orri_reserved_ids reserved;
    orr_entity* ids; // Ids of all creations in one list, if several groups create.
    uint32_t create_count;
    uint32_t instance_last; // world->instance_last before the set, to restore it.
    bool linked;            // The links of the set are entered (links.c).
} orri_change;

// Group `g` of the set; desc->count is the group of cascaded entities.
static inline const orri_group* orri_change_group(const orri_change* c, uint32_t g)
{
    return g < c->desc->count ? &c->desc->groups[g] : &c->cascaded;
}

// The i-th entity of a group that lists entities, or the places of live ones.
static inline orr_entity orri_change_entity(const orri_change* c, const orri_group* group,
                                            uint32_t i)
{
    if (ORR_LIKELY(group->entities != NULL)) {
        return group->entities[i];
    }
    const orri_chunk* chunk = orri_place_chunk(c->world, group->places[i]);
    uint32_t index = orri_chunk_ids(chunk)[orri_place_slot(group->places[i])];
    return orri_id_make(index, orri_record_at(c->world, index)->generation);
}

// Grows a list of the change set to `needed` items of `size` bytes. False when refused (reported).
bool orri_change_grow(orri_change* c, void** list, uint32_t* capacity, uint32_t needed,
                      size_t size);
// Makes room for one more item of a list. False when refused (reported).
#define ORRI_CHANGE_ADD(c, list, count, capacity) \
    ((count) < (capacity) ||                      \
     orri_change_grow(c, (void**)&(list), &(capacity), (count) + 1, sizeof *(list)))
// Records that a change of one entity is skipped. False when refused (reported).
bool orri_change_skip(orri_change* c, orri_skip skip);

// ---- walking the entities of a group ------------------------------------------------------------
//
// For everything but the hot loops of execute.c. One walk at a time: a walk uses the scratch fields
// of clusters.

typedef struct orri_walk {
    orri_change* change;
    const orri_group* group;
    const orri_group_work* work;
    uint32_t at; // Index in the group of the entity after the current one.
    orr_entity entity;
    orri_route* route;
    uint32_t place; // Place before anything moves; 0 for a creation.
    uint32_t row;   // Row in route->to, if the entity comes there.
} orri_walk;

orri_walk orri_walk_begin(orri_change* c, uint32_t g);
bool orri_walk_next(orri_walk* walk);

// ---- target.c -----------------------------------------------------------------------------------

// Finds the target cluster for the rows of group `g` that come from route->from (NULL: that are
// created), and creates it if needed. `entity` is one of them: rows of one cluster differ only in
// the number of their instances, and groups with instance changes have one entity. Fills the rest
// of the route and records the changes that are skipped for all of its rows.
orr_result orri_change_target(orri_change* c, uint32_t g, orr_entity entity, orri_route* route);
// True when group `g` adds an instance of the type.
bool orri_change_adds_instance(const orri_change* c, uint32_t g, orr_type type);
// True when group `g` removes all instances of the type and adds new ones.
bool orri_change_replaces_all(const orri_change* c, uint32_t g, orr_type type);

// ---- route.c ------------------------------------------------------------------------------------

// Finds the places of a group (written to `places`; NULL: they are known), its routes and their
// target clusters.
orr_result orri_change_route(orri_change* c, uint32_t g, uint32_t* places);
// The same for the cascaded entities.
orr_result orri_change_route_cascaded(orri_change* c);
// Makes room for all rows that come, and prepares all rows that leave or fill gaps for writing.
orr_result orri_change_reserve(orri_change* c);

// ---- stage.c ------------------------------------------------------------------------------------

orr_result orri_change_stage(orri_change* c);
// Destructs all staged values of columns.
void orri_change_unstage(orri_change* c);
// The staged copies of a given type; NULL: none.
orri_copies* orri_change_copies(orri_change* c, uint32_t g, uint32_t given);
// Overwrites `run` values of a given type from `slot` on, in rows that have it, with those of items
// `i`, `i` + 1 … of the group.
void orri_change_overwrite(orri_change* c, uint32_t g, uint32_t given, orri_chunk* chunk,
                           uint32_t column, uint32_t slot, uint32_t i, uint32_t run);

// ---- sparse.c -----------------------------------------------------------------------------------

orr_result orri_change_stage_sparse(orri_change* c);
// Destructs all staged pinned values and instances.
void orri_change_unstage_sparse(orri_change* c);
// Removes instances. Called before rows move, while each cell has room for what stays.
void orri_change_remove_instances(orri_change* c);
// Adds and overwrites instances and pinned values, assigns names and sets enable bits. Called after
// rows moved.
void orri_change_execute_sparse(orri_change* c);

// ---- links.c ------------------------------------------------------------------------------------

// Enters the indexed references of all new values, and finds the entities that die by cascades.
orr_result orri_change_link(orri_change* c);
// Restores the indexed references of the values in the rows.
void orri_change_unlink(orri_change* c);

// ---- execute.c ----------------------------------------------------------------------------------

// Applies the prepared set. Cannot fail.
void orri_change_execute(orri_change* c);

#endif
