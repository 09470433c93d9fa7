// SPDX-License-Identifier: MIT
// Many net changes made at once: creations, moves by any set of types and tags, values, destructions. What a commit of
// messages comes down to. All or nothing: everything that may be refused comes first, without visible effect.
//
//   groups ──> per entity: row, cluster it goes to ──> room, plans, staged values ──> rows move in runs, gaps close once
//
// Ids of creations are given ahead (orri_index_nth) and taken here.
#ifndef ORRI_STORE_CHANGE_CHANGE_SET_H
#define ORRI_STORE_CHANGE_CHANGE_SET_H

#include "store/world/world.h"
#include <orrery/kinds.h>

// ---- ids given ahead (id_reserve.c) -----------------------------------------------------------------------

// Walks the order in which ids will be given: the free list from its head, then fresh indexes. Positions ascend; asking for
// one before the last costs a walk from the start. All-zero begins. Void as soon as anything is created or destroyed.
typedef struct orri_index_cursor {
    uint32_t position; // Of `next1`.
    uint32_t next1;    // Index + 1 of the free record there; 0: not begun, or past the free list.
} orri_index_cursor;

// The id that the creation at `position` (0: the next one) will get. Null past entities_max or the last index.
orr_entity orri_index_nth(const orr_world* world, orri_index_cursor* cursor, uint32_t position);
// Those of `count` positions, from one on. False when there are not as many.
bool orri_index_next(const orr_world* world, orri_index_cursor* cursor, uint32_t position,
                     orr_entity* out, uint32_t count);
// Makes the ids of some positions, in this order, those that will be given next. Skipped free ones keep their order behind
// them; skipped fresh ones below the largest become free, the lowest first in line after the given ones. False when memory
// is refused (reported), without effect. Nothing undoes it: it comes when nothing else can be refused any more.
bool orri_index_promote(orr_world* world, const orr_entity* ids, uint32_t count);

// ---- ids out of line (id_hold.c) --------------------------------------------------------------------------------

// Takes the next `count` ids out of line: free ones, then fresh ones, whose records are made. They are dead, on no list, and nobody gets them. All
// or nothing (reported). No system may run, here and below.
bool orri_index_hold(orr_world* world, orr_entity* out, uint32_t count);
// Puts some back at the head of the line, ids[0] first; those that were fresh are free ones now. False when refused (reported), which
// happens only where somebody holds pages of the index: nothing was done.
bool orri_index_unhold(orr_world* world, const orr_entity* ids, uint32_t count);

// ---- change sets (change_set.c) -------------------------------------------------------------------------------------

typedef enum orri_change_kind {
    ORRI_CHANGE_KIND_CREATE, // Entities with ids given ahead.
    ORRI_CHANGE_KIND_CHANGE, // Live ones.
    ORRI_CHANGE_KIND_DESTROY, // Live ones, with all who must go with them (relation.h). Nothing below counts.
} orri_change_kind;

// A type with one value for each entity of a group, one after another.
typedef struct orri_given {
    orr_type type;
    const uint8_t* values; // NULL: presets, also where it is there already.
} orri_given;

// An instance of a multiple type that comes (id 0; numbers are given in order), changes or goes.
typedef struct orri_instance_change {
    orr_type type;
    orr_component_id id;
    bool removed;
    const void* value; // NULL: the preset (id 0).
} orri_instance_change;

typedef struct orri_enable_change {
    orr_type type; // Null: the entity.
    // Of a multiple type; 0: all instances. ORRI_PROVISIONAL | n: the one that instances[n] of the group adds.
    orr_component_id id;
    bool on;
} orri_enable_change;

// Entities with the same change. Each entity stands in one group, once.
typedef struct orri_group {
    orri_change_kind deed;
    const orr_entity* entities; // [count]
    uint32_t count;
    // [count] Of live ones: the places in their records, if the caller has looked, and all are alive. NULL: they are looked up.
    const uint32_t* places;
    orr_cluster cluster; // Of a creation: where to; null: of `given` and `tags_on`.
    const orri_given*
        given; // Unique types, pinned ones too: set where the entity has it, added where it lacks it.
    uint32_t given_count;
    const orr_type* taken; // Removed where it has it; of multiple types all instances.
    uint32_t taken_count;
    const orr_tag *tags_on, *tags_off;
    uint32_t tag_on_count, tag_off_count;
    // In groups of one entity only. Of a type that is taken, the instances that come stay.
    const orri_instance_change* instances;
    uint32_t instance_count;
    const orri_enable_change* switches; // After everything else.
    uint32_t switch_count;
    bool renamed;
    orr_entity scope;
    const char* name; // NULL: its name goes.
    uint64_t
        name_rank; // Names are given in this order: a name may be free because an earlier one went.
} orri_group;

// Told of what was left out because it makes no sense, once everything else is done: `what` is a clause ("Position is needed
// by Body"), or because it does not fit: an entity has as many types, tags or instances as it can have, or would need a cluster
// more than clusters_max. Of types, `given` comes before `instances`, each in order, and what goes makes room; a type that does not fit
// with all it needs is left out. The last cluster goes to the first group and entity that needs one; later ones stay where they are,
// with their components and tags, or are created with those of `cluster` alone; values of what they have, pinned ones, names and
// switches are done all the same. Nothing else is left out; memory, other limits and hooks refuse the whole.
typedef struct orri_change_set_desc {
    const char* call; // For messages.
    const orri_group* groups;
    uint32_t count;
    // The ids of all creations were those of positions 0, 1, 2 …, in this order, when they were given ahead. If the first of them
    // is still the next one, so are the others: whatever is created or destroyed changes the head of the line for good.
    bool in_line;
    bool
        whole; // What would be left out is a refusal of the whole. (Names are not: they are given last.)
    void (*left_out)(void* user, uint32_t group, orr_entity entity, orr_type type,
                     const char* what);
    void* user;
} orri_change_set_desc;

// Makes all changes, or none (reported). In the notes' order: creations, additions, values, removals, destructions; but every
// row moves once, from where it is to where it belongs in the end. Consecutive rows of one group that go the same way go
// in runs. References in values are not checked: the caller did. The world must be open, and no system running.
orr_result orri_change_set_apply(orr_world* world, const orri_change_set_desc* desc);

#endif
