// SPDX-License-Identifier: MIT
// How a change set finds the cluster of an entity, from the inside (target.c, target_stay.c).
#ifndef ORRI_STORE_CHANGE_TARGET_H
#define ORRI_STORE_CHANGE_TARGET_H

#include "store/change/change_detail.h"

// What an entity has, and what may come to it before something goes.
#define ORRI_TARGET_TYPES (2 * ORR_CLUSTER_TYPES_MAX)

typedef struct orri_target_tally {
    orr_type type;
    const orri_type* info;
    const orr_component_id* ids; // Those there are.
    uint32_t existing, count, capacity;
    uint32_t added;
    uint32_t marks; // Where in orri_change.marks those there are begin.
    uint32_t going; // How many of them go, if asked for: plus 1.
    bool all;       // All that exist go.
    bool gone;      // The last one goes, by this deed; before it the room was this:
    uint32_t deed_last, capacity_last;
} orri_target_tally;

// Under way for one entity, or for all rows of a cluster.
typedef struct orri_target {
    orri_change* change;
    const orri_group* group;
    const orri_cluster* base; // What it has; NULL: nothing.
    bool creates;
    orr_entity entity;
    bool* deeds; // Of the group.
    orri_route* route;
    orr_type types[ORRI_TARGET_TYPES];
    orr_tag tags[ORR_CLUSTER_TAGS_MAX + 1];
    uint16_t capacities[ORRI_TARGET_TYPES];
    orr_type goes[ORR_CLUSTER_TYPES_MAX];
    orri_target_tally tallies[ORRI_TARGET_TYPES];
    uint32_t type_count, tag_count, goes_count, tally_count;
    uint32_t types_most; // As long as nothing goes: what does not fit is left out.
    uint32_t gone_count; // Types that went.
} orri_target;

static inline bool orri_target_base_has(const orri_target* m, orr_type type)
{
    return m->base != NULL && orri_cluster_find_column(m->base, type) >= 0;
}

// Begins, or begins anew, with what the entity has.
void orri_target_begin(orri_target* m);
// Notes what is left out for all rows of the route. False when refused (reported).
bool orri_target_leave(orri_target* m, orri_skipped_why why, orr_type type, orr_type other,
                       uint32_t number);
// There is no cluster for the set, and none may be made: what would take the entity there is left out, and it stays where it
// is, or is created with what the cluster has that it was to be created in. What it has may still be set.
orr_result orri_target_stay(orri_target* m);

#endif
