// SPDX-License-Identifier: MIT
// Working state of the search for the target cluster of an entity (target.c, target_stay.c).
#ifndef ORRI_STORE_CHANGE_TARGET_H
#define ORRI_STORE_CHANGE_TARGET_H

#include "store/change/change_detail.h"

// Types of an entity plus those that may be added before others are removed.
#define ORRI_TARGET_TYPES (2 * ORR_CLUSTER_TYPES_MAX)

// Counts the instances of one multiple type while the instance changes of a group are gone through.
typedef struct orri_target_tally {
    orr_type type;
    const orri_type* info;
    const orr_component_id* ids; // Ids of the instances that exist before.
    uint32_t existing;           // Instances that exist before.
    uint32_t count;              // Instances so far.
    // Instances a row has room for so far: doubled and halved like single adds and removes.
    uint32_t capacity;
    uint32_t added; // Instances that the group adds.
    uint32_t marks; // First mark of the existing instances in orri_change.marks.
    // 1 + how many existing instances the group removes; 0: not counted yet.
    uint32_t removing1;
    bool removes_all;     // The group removes all existing instances.
    bool last_removed;    // The last instance is removed, by instance change `change_last`,
    uint32_t change_last; // and the capacity before that change was `capacity_last`.
    uint32_t capacity_last;
} orri_target_tally;

// The search for one entity, or for all rows of a cluster.
typedef struct orri_target {
    orri_change* change;
    const orri_group* group;
    const orri_cluster* base; // Cluster with the types and tags before the change; NULL: none.
    bool creates;
    orr_entity entity;
    bool* instance_applies; // Part of orri_change.instance_applies for the group.
    orri_route* route;
    orr_type types[ORRI_TARGET_TYPES]; // Types so far, ascending.
    orr_tag tags[ORR_CLUSTER_TAGS_MAX + 1];
    uint16_t capacities[ORRI_TARGET_TYPES];  // By type: instances a row has room for.
    orr_type removed[ORR_CLUSTER_TYPES_MAX]; // Types that are to be removed.
    orri_target_tally tallies[ORRI_TARGET_TYPES];
    uint32_t type_count, tag_count, removed_count, tally_count;
    uint32_t types_limit;   // How many types fit before the removals; a type beyond it is skipped.
    uint32_t removed_types; // Types that were removed from `types`.
} orri_target;

// True when the entity has the type before the change.
static inline bool orri_target_base_has(const orri_target* t, orr_type type)
{
    return t->base != NULL && orri_cluster_find_column(t->base, type) >= 0;
}

// Starts, or restarts, the search with the types and tags of `base`, and forgets the skipped
// changes.
void orri_target_begin(orri_target* t);
// Records a change that is skipped for all rows of the route. False when refused (reported).
bool orri_target_skip(orri_target* t, orri_skip_reason why, orr_type type, orr_type other,
                      uint32_t number);
// The target cluster does not exist, and the world has clusters_max clusters: skips all changes
// that need another cluster. The entity stays in its cluster, or is created with the types and tags
// of `base`. Values of types it has may still be set.
orr_result orri_target_stay(orri_target* t);

#endif
