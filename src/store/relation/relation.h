// SPDX-License-Identifier: MIT
// Indexed references: for each target entity, the list of entities that refer to it. Kept by entity
// index, so that the lists stay valid when rows move. Types with fields of ORR_FIELD_INDEXED have
// one relation each.
//
//   element (type, offset):  target ──head──> referrer <──next, prev──> referrer …
//
// Terms: a *referrer* is an entity with a value that has an indexed field; the *target* is the
// entity in the field. An *element* is one indexed orr_entity within the values of a type (a field,
// or an element of an array field). A *link* is a referrer's node in the list of its target. Only
// live targets have lists: a null or dead reference has no link.
#ifndef ORRI_STORE_RELATION_RELATION_H
#define ORRI_STORE_RELATION_RELATION_H

#include "store/world/world.h"

// A referrer's node in the list of its target. All are entity indexes + 1; 0: none.
typedef struct orri_link {
    uint32_t target, next, prev;
} orri_link;

typedef struct orri_element {
    // orri_link by index of the referrer. A page exists only if the page of its marks exists.
    orri_pages links;
    orri_pages heads; // uint32_t by index of the target: first referrer + 1.
} orri_element;

typedef struct orri_relation {
    const orri_type* type;
    struct orri_relation* next; // List of all relations of the world.
    orri_element elements[];    // [type->indexed_count]
} orri_relation;

// The link of a referrer; NULL: its page does not exist.
static inline orri_link* orri_link_find(const orri_element* element, uint32_t index)
{
    uint32_t page = index >> ORRI_PAGE_BITS;
    orri_link* links = page < element->links.capacity ? element->links.list[page] : NULL;
    return links != NULL ? &links[index & ORRI_PAGE_MASK] : NULL;
}

// The head of a target's list; NULL: its page does not exist.
static inline uint32_t* orri_head_find(const orri_element* element, uint32_t index)
{
    uint32_t page = index >> ORRI_PAGE_BITS;
    uint32_t* heads = page < element->heads.capacity ? element->heads.list[page] : NULL;
    return heads != NULL ? &heads[index & ORRI_PAGE_MASK] : NULL;
}

// The first referrer of an entity + 1; 0: none.
static inline uint32_t orri_head_of(const orri_element* element, uint32_t index)
{
    const uint32_t* head = orri_head_find(element, index);
    return head != NULL ? *head : 0;
}

// The relation of a type; NULL: it has no indexed fields, or no cluster had it yet.
static inline orri_relation* orri_table_relation(const orr_world* world, const orri_type* type)
{
    uint32_t index = orri_type_index(world, (orr_type){type->id});
    return index < world->tables.capacity
               ? ((const orri_table*)(const void*)world->tables.list[index])->relation
               : NULL;
}

// Creates the relation of a type with indexed fields, which exists until the world is destroyed.
// NULL when refused (silent).
orri_relation* orri_relation_create(orr_world* world, const orri_type* type);
void orri_relations_term(orr_world* world);
// For restore.c. Reserve: makes sure that the entity `index` can be linked to `target` without
// failing. Rebuild: makes all links again from the values.
bool orri_relation_reserve(orr_world* world, orri_relation* relation, uint32_t e, uint32_t index,
                           uint32_t target);
void orri_relations_rebuild(orr_world* world);
// Frees all links: all entities were destroyed.
void orri_relations_reset(orr_world* world);

// ---- values are added, changed and removed ------------------------------------------------------

// The target of an element of a value, if it is alive or reserved by the change set; null
// otherwise.
orr_entity orri_relation_target(const orr_world* world, const orri_relation* relation, uint32_t e,
                                const void* value);
// Makes the pages for the link of one element.
ORRI_COLD bool orri_relation_prepare_slow(orr_world* world, orri_relation* relation, uint32_t e,
                                          uint32_t index, const void* value);
// Makes sure that the links of an entity's value can be made without failing. False when refused
// (silent). Mostly all pages exist, and whether the target is alive does not matter.
static inline bool orri_relation_prepare(orr_world* world, orri_relation* relation, uint32_t index,
                                         const void* value)
{
    for (uint32_t e = 0; e < relation->type->indexed_count; e++) {
        orr_entity target;
        memcpy(&target, (const uint8_t*)value + relation->type->indexed[e].offset, sizeof target);
        const orri_element* element = &relation->elements[e];
        bool ready = target.id == 0 || (orri_link_find(element, index) != NULL &&
                                        orri_head_find(element, orri_id_index(target)) != NULL);
        if (!ready && !orri_relation_prepare_slow(world, relation, e, index, value)) {
            return false;
        }
    }
    return true;
}
// Replaces the links of an entity by those of its new value. NULL: the value was removed.
void orri_relation_set(orr_world* world, orri_relation* relation, uint32_t index,
                       const void* value);

// The same for new rows of a cluster, whose values are constructed. Prepare: before the entities
// get their ids …
bool orri_relation_prepare_rows(orr_world* world, const orri_cluster* cluster, uint32_t first,
                                uint32_t count);
// … and enter: afterwards.
void orri_relation_enter_rows(orr_world* world, const orri_cluster* cluster, uint32_t first,
                              uint32_t count);
// Removes the links of rows that are undone, and clears references to their entities.
void orri_relation_undo_rows(orr_world* world, const orri_cluster* cluster, uint32_t first,
                             uint32_t count);

// The value of a row of a unique column.
static inline const void* orri_relation_value(const orri_cluster* cluster, uint32_t column,
                                              uint32_t row)
{
    return orri_cluster_chunk_of(cluster, row)->columns[column].data +
           (size_t)(row & ORRI_SLOT_MASK) * cluster->columns[column].size;
}

// One row moves along a transition; the values of the added columns are in `row` of the target.
bool orri_relation_prepare_move(orr_world* world, const orri_transition* transition, uint32_t row,
                                uint32_t index);
void orri_relation_moved(orr_world* world, const orri_transition* transition, uint32_t row,
                         uint32_t index);

// ---- destroying ---------------------------------------------------------------------------------

// Removes a referrer from the list it is in, if any.
void orri_link_cut(const orri_element* element, uint32_t index);
// Sorts ascending by index, in place.
void orri_entities_sort(orr_entity* entities, uint32_t count);
// True when an entity has referrers.
bool orri_relation_referred(const orr_world* world, uint32_t index);
// Removes the links of an entity's own values, before it is destroyed.
void orri_relation_leave(orr_world* world, const orri_cluster* cluster, uint32_t index);
// Destroys all rows of the clusters marked `clearing` (of `only`; NULL: of all clusters) and their
// cascade: all entities whose references say ORR_ON_DESTROY_DESTROY, breadth first, each level
// ascending by index. Clears references with ORR_ON_DESTROY_CLEAR to any of them. All or nothing.
orr_result orri_relation_destroy_clusters(orr_world* world, const char* call, orri_cluster* only);

// Entities that are destroyed together: first the given ones, then those that follow by references.
typedef struct orri_cascade {
    orr_world* world;
    orr_entity* list;
    uint32_t count, capacity, given_count;
    orri_cluster* only; // The only cluster that may be marked `clearing`; NULL: any may be.
} orri_cascade;

// For change sets, where referrers may have no row yet. Add: puts one entity on the list and marks
// it. Spread: adds all entities that follow, and leaves them marked. False when refused (silent).
bool orri_cascade_add(orri_cascade* cascade, uint32_t index);
bool orri_cascade_spread(orri_cascade* cascade);
bool orri_cascade_marked(const orr_world* world, uint32_t index);
void orri_cascade_unmark(const orr_world* world, uint32_t index);
// Makes sure that references to the listed entities can be cleared. False: reported.
bool orri_cascade_prepare(const orri_cascade* cascade);
// Removes all links from and to the listed entities, and clears references. Before their rows are
// removed.
void orri_cascade_commit(const orri_cascade* cascade);
#endif
