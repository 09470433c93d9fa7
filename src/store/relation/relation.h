// SPDX-License-Identifier: MIT
// Who refers to whom through indexed fields, kept by entity index, so that rows may move as they like.
//
//   element (type, offset):  target ──head──> referrer <──next, prev──> referrer …
//
// Vocabulary: an *element* is one orr_entity within the values of a type; a *link* is the part of a list that belongs to a
// referrer. Only live targets have lists: a reference that is null or dead has no link.
#ifndef ORRI_STORE_RELATION_RELATION_H
#define ORRI_STORE_RELATION_RELATION_H

#include "store/world/world.h"

// All are entity indexes plus 1; 0 is none.
typedef struct orri_link {
    uint32_t target, next, prev;
} orri_link;

typedef struct orri_element {
    orri_pages links; // orri_link, of referrers.
    orri_pages heads; // uint32_t, of targets: the first referrer, plus 1.
} orri_element;

typedef struct orri_relation {
    const orri_type* type;
    struct orri_relation* next; // All of the world.
    orri_element elements[];    // [type->indexed_count]
} orri_relation;

static inline orri_link* orri_link_find(const orri_element* element, uint32_t index)
{
    uint32_t page = index >> ORRI_PAGE_BITS;
    orri_link* links = page < element->links.capacity ? element->links.list[page] : NULL;
    return links != NULL ? &links[index & ORRI_PAGE_MASK] : NULL;
}

static inline uint32_t* orri_head_find(const orri_element* element, uint32_t index)
{
    uint32_t page = index >> ORRI_PAGE_BITS;
    uint32_t* heads = page < element->heads.capacity ? element->heads.list[page] : NULL;
    return heads != NULL ? &heads[index & ORRI_PAGE_MASK] : NULL;
}

// The first referrer of an entity, plus 1; 0 if there is none.
static inline uint32_t orri_head_of(const orri_element* element, uint32_t index)
{
    const uint32_t* head = orri_head_find(element, index);
    return head != NULL ? *head : 0;
}

// The relation of a type; NULL if it has no indexed fields or no cluster had it yet.
static inline orri_relation* orri_table_relation(const orr_world* world, const orri_type* type)
{
    uint32_t index = orri_type_index(world, (orr_type){type->id});
    return index < world->tables.capacity
               ? ((const orri_table*)(const void*)world->tables.list[index])->relation
               : NULL;
}

// The relation of a type with indexed fields, kept with its table until the world ends. NULL when refused (silent).
orri_relation* orri_relation_create(orr_world* world, const orri_type* type);
void orri_relations_term(orr_world* world);
// For going back: makes sure that one may refer to another; then finds all links anew.
bool orri_relation_reserve(orr_world* world, orri_relation* relation, uint32_t e, uint32_t index,
                           uint32_t target);
void orri_relations_rebuild(orr_world* world);
// Forgets all links: nobody is left.
void orri_relations_reset(orr_world* world);

// ---- values come, change and go ----------------------------------------------------------------------------

// What an element of a value refers to, if that is alive; null otherwise.
orr_entity orri_relation_target(const orr_world* world, const orri_relation* relation, uint32_t e,
                                const void* value);
// Makes sure that an entity's value can be entered without fail. False when refused (silent).
bool orri_relation_prepare(orr_world* world, orri_relation* relation, uint32_t index,
                           const void* value);
// Enters what an entity's value refers to, instead of what it was. NULL: the value is gone.
void orri_relation_set(orr_world* world, orri_relation* relation, uint32_t index,
                       const void* value);

// The same for rows of a cluster: values that lie there already, for entities that are still to be made …
bool orri_relation_prepare_rows(orr_world* world, const orri_cluster* cluster, uint32_t first,
                                uint32_t count);
// … and that have been made, or go.
void orri_relation_enter_rows(orr_world* world, const orri_cluster* cluster, uint32_t first,
                              uint32_t count);
// Rows that are undone, as if they had never been: who refers to them already no longer does.
void orri_relation_undo_rows(orr_world* world, const orri_cluster* cluster, uint32_t first,
                             uint32_t count);

// One row goes along a transition: the values of the added columns lie in `row` of the target.
bool orri_relation_prepare_move(orr_world* world, const orri_transition* transition, uint32_t row,
                                uint32_t index);
void orri_relation_moved(orr_world* world, const orri_transition* transition, uint32_t row,
                         uint32_t index);

// ---- destroying ----------------------------------------------------------------------------------------

// Takes a referrer out of the list it is in; nothing if it is in none.
void orri_link_cut(const orri_element* element, uint32_t index);
// Ascending by index, in place.
void orri_entities_sort(orr_entity* entities, uint32_t count);
// True when somebody refers to the entity.
bool orri_relation_referred(const orr_world* world, uint32_t index);
// An entity goes whom nobody refers to.
void orri_relation_leave(orr_world* world, const orri_cluster* cluster, uint32_t index);
// Destroys entities, those that must go with them (breadth first, each level by ascending index), and clears what
// referred to any of them. All or nothing.
orr_result orri_relation_destroy(orr_world* world, const char* call, const orr_entity* entities,
                                 uint32_t count);
// The same for all rows of the clusters marked `doomed`.
orr_result orri_relation_destroy_clusters(orr_world* world, const char* call);

// Those who die together: the ones given first, then who goes with them.
typedef struct orri_cascade {
    orr_world* world;
    orr_entity* list;
    uint32_t count, capacity, given_count;
} orri_cascade;

// For change sets, in which referrers may be on their way to their rows: adds one to the list; adds who goes with them, and
// leaves all of them marked. False when refused (silent).
bool orri_cascade_add(orri_cascade* cascade, uint32_t index);
bool orri_cascade_spread(orri_cascade* cascade);
bool orri_cascade_marked(const orr_world* world, uint32_t index);
void orri_cascade_unmark(const orr_world* world, uint32_t index);
// Makes sure that what refers to them can be cleared. False: reported.
bool orri_cascade_prepare(const orri_cascade* cascade);
// Nobody refers to them, nor they to anybody, any more. Before their rows go.
void orri_cascade_commit(const orri_cascade* cascade);
#endif
