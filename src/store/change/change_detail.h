// SPDX-License-Identifier: MIT
// A change set under way (change_set.h), as the files that make it see it.
//
//   target.c    which cluster an entity belongs to        stage.c  values made ahead, outside or in rows nobody sees
//   route.c  which entities go from where to where
//   sparse.c  pinned values, instances, names, switches links.c  who refers to whom, and who dies with whom
//   execute.c  makes it all                              change_set.c  begins, ends, gives up
//
// Until execute.c begins, everything can be given back. Refusals are held back until that is done, so that nobody looks at a
// world in between.
#ifndef ORRI_STORE_CHANGE_CHANGE_DETAIL_H
#define ORRI_STORE_CHANGE_CHANGE_DETAIL_H

#include "store/change/change_set.h"
#include "store/pool/pool.h"
#include "store/relation/relation.h"

// Rows of one group that go from one cluster to one other, in the order of the group.
typedef struct orri_route {
    uint32_t group;
    orri_cluster* from;    // NULL: they are created.
    orri_cluster* to;      // The same: they stay. NULL: they are destroyed.
    orri_transition* plan; // NULL unless they move.
    uint32_t base;         // Row of the first in `to`, if they come to it.
    uint32_t count, used;
    uint32_t columns; // In orri_change.columns, one for each given type.
    uint32_t left_first, left_count;
} orri_route;

// Where a given value goes: a column of `to`, and whether the entity has it already.
#define ORRI_GIVEN_HAS  0x8000u
#define ORRI_GIVEN_NONE 0xFFFFu // Pinned, or left out.

typedef enum orri_skipped_why {
    ORRI_SKIPPED_NEEDED,
    ORRI_SKIPPED_MULTIPLE,
    ORRI_SKIPPED_UNIQUE,
    ORRI_SKIPPED_INSTANCE,
    ORRI_SKIPPED_INSTANCES_MAX,
    ORRI_SKIPPED_TAGS_MAX,
    ORRI_SKIPPED_TYPES_MAX,
    ORRI_SKIPPED_CLUSTERS_MAX,
    ORRI_SKIPPED_COMPONENT,
    ORRI_SKIPPED_NAME_TYPE,
    ORRI_SKIPPED_NAME, // `number` is an orri_name_result.
} orri_skipped_why;

// What was left out. Of a route: of all its entities.
typedef struct orri_skipped {
    orri_skipped_why why;
    uint32_t group;
    orr_entity entity;
    orr_type type, other;
    uint32_t number;
} orri_skipped;

// Values made in rows nobody sees, of types that must be destructed.
typedef struct orri_made {
    orri_cluster* cluster;
    uint32_t column, first, count;
} orri_made;

// Copies of the values of a given type, outside of the world: for those of a group that have it already.
typedef struct orri_copies {
    uint32_t given;
    const orri_type* type;
    uint8_t* data;
    uint32_t count, used, capacity;
} orri_copies;

// A pool that gets values: how many, and how many are made.
typedef struct orri_filling {
    orri_pool* pool;
    uint32_t count, made;
    bool switched; // Some are switched off at once.
    orri_pool_cursor cursor;
} orri_filling;

typedef struct orri_part {
    const uint32_t* places; // [count] before anything moved; NULL: the group creates.
    uint32_t route_first, route_count;
    uint32_t deed_first;   // In `deeds`.
    uint32_t switch_first; // In `switches`.
    uint32_t text;         // In `texts`.
    bool moves;            // Some row moves.
    uint32_t copies_first, copies_count;
} orri_part;

typedef struct orri_change {
    orr_world* world;
    const orri_change_set_desc* desc;
    orri_part* parts;  // [desc->count + 1], the last one for those who die with others.
    orri_group fallen; // Those.
    uint32_t* places;
    uint64_t place_count;
    orri_route* routes;
    uint16_t* columns;
    orri_cluster** clusters; // Whose scratch is in use.
    orri_cluster** created;
    orri_skipped *route_lefts, *lefts;
    orri_made* made;
    orri_copies* copies;
    orri_filling* fillings;
    bool *deeds, *switches; // By instance deed, and by switch: it is to be done.
    bool*
        marks; // Of one aim: by multiple type and place in its cell: the instance goes, by its id.
    void** instances;  // By instance deed: its value, made; NULL: none.
    orr_string* texts; // By renaming.
    uint8_t* instance_memory;
    size_t instance_size;
    uint32_t route_count, column_count, cluster_count, created_count, route_left_count, left_count,
        made_count, copies_count, filling_count, deed_count, switch_count, text_count, name_count,
        mark_count;
    uint32_t* names; // Scratch: groups that are renamed, in order.
    uint32_t route_capacity, column_capacity, cluster_capacity, created_capacity,
        route_left_capacity, left_capacity, made_capacity, copies_capacity, filling_capacity,
        mark_capacity;
    uint32_t* fallen_places;
    orri_cascade cascade;
    orr_entity* late; // Those of the doomed that change or are created first.
    uint32_t late_count, late_capacity;
    orri_reserved_ids ahead;
    orr_entity* ids; // Of all creations, if there are several groups of them.
    uint32_t create_count;
    uint32_t instance_last; // Of the world, before.
    bool linked;
} orri_change;

static inline const orri_group* orri_change_group(const orri_change* c, uint32_t g)
{
    return g < c->desc->count ? &c->desc->groups[g] : &c->fallen;
}

// Room for one more in a list of a change. False when refused (reported).
bool orri_change_grow(orri_change* c, void** list, uint32_t* capacity, uint32_t needed,
                      size_t size);
#define ORRI_CHANGE_ADD(c, list, count, capacity) \
    ((count) < (capacity) ||                      \
     orri_change_grow(c, (void**)&(list), &(capacity), (count) + 1, sizeof *(list)))
// Notes what was left out. False when refused (reported).
bool orri_change_leave(orri_change* c, orri_skipped left);

// ---- walking the entities of a group, for all but the hot loops ---------------------------------------------

typedef struct orri_walk {
    orri_change* change;
    const orri_group* group;
    const orri_part* part;
    uint32_t at; // Behind the current one.
    orr_entity entity;
    orri_route* route;
    uint32_t place; // Before; of a creation 0.
    uint32_t row;   // In route->to, if it comes there.
} orri_walk;

// One walk at a time: it uses the scratch of clusters.
orri_walk orri_walk_begin(orri_change* c, uint32_t g);
bool orri_walk_next(orri_walk* walk);

// ---- target.c ----------------------------------------------------------------------------------------------------

// Finds where rows of a group go that come from route->from (NULL: that are created); `entity` is one of them. Fills the rest of
// the route, and notes what is left out for all of them.
orr_result orri_change_aim(orri_change* c, uint32_t g, orr_entity entity, orri_route* route);
// True when an instance of the type comes by a deed of the group; and when that replaces all there are.
bool orri_change_adds_instance(const orri_change* c, uint32_t g, orr_type type);
bool orri_change_takes_all(const orri_change* c, uint32_t g, orr_type type);

// ---- route.c --------------------------------------------------------------------------------------------------

// Finds places (to be written to `places`; NULL: they are known) and routes of a group, and the clusters they lead to.
orr_result orri_change_route(orri_change* c, uint32_t g, uint32_t* places);
// The same for those who die with others.
orr_result orri_change_route_fallen(orri_change* c);
// Makes room for all rows that come, and sees to it that all rows that go or fill gaps may.
orr_result orri_change_reserve(orri_change* c);

// ---- stage.c --------------------------------------------------------------------------------------------------

orr_result orri_change_stage(orri_change* c);
void orri_change_unstage(orri_change* c);
// The copies of a given type; NULL: none.
orri_copies* orri_change_copies(orri_change* c, uint32_t g, uint32_t given);
// Values of a given type for rows that have it: item `i` of the group and those after it.
void orri_change_overwrite(orri_change* c, uint32_t g, uint32_t given, orri_chunk* chunk,
                           uint32_t column, uint32_t slot, uint32_t i, uint32_t run);

// ---- sparse.c --------------------------------------------------------------------------------------------------

orr_result orri_change_stage_extras(orri_change* c);
void orri_change_unstage_extras(orri_change* c);
// Before rows move: instances that go. After it: all else.
void orri_change_take_instances(orri_change* c);
void orri_change_make_extras(orri_change* c);

// ---- links.c --------------------------------------------------------------------------------------------------

orr_result orri_change_link(orri_change* c);
void orri_change_unlink(orri_change* c);

// ---- execute.c --------------------------------------------------------------------------------------------------

void orri_change_make(orri_change* c);

#endif
