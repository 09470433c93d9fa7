// SPDX-License-Identifier: MIT
// Links of one value: the hot part of relations. A set of an indexed reference removes the referrer
// from the list of the old target and puts it at the head of the list of the new one.
#include "store/relation/relation.h"

orr_entity orri_relation_target(const orr_world* world, const orri_relation* relation, uint32_t e,
                                const void* value)
{
    orr_entity target;
    memcpy(&target, (const uint8_t*)value + relation->type->indexed[e].offset, sizeof target);
    bool alive = orri_record_find(world, target) != NULL ||
                 (world->change.reserved_ids != NULL && orri_reserved_ids_has(world, target));
    return alive ? target : (orr_entity){0};
}

bool orri_relation_prepare_slow(orr_world* world, orri_relation* relation, uint32_t e,
                                uint32_t index, const void* value)
{
    orr_entity target = orri_relation_target(world, relation, e, value);
    return target.id == 0 ||
           orri_relation_reserve(world, relation, e, index, orri_id_index(target));
}

// Removes a referrer from the list of its target.
static inline void link_remove(const orri_element* element, orri_link* link)
{
    if (link->prev != 0) {
        orri_link_find(element, link->prev - 1)->next = link->next;
    } else {
        *orri_head_find(element, link->target - 1) = link->next;
    }
    if (link->next != 0) {
        orri_link_find(element, link->next - 1)->prev = link->prev;
    }
    *link = (orri_link){0};
}

void orri_link_cut(const orri_element* element, uint32_t index)
{
    orri_link* link = orri_link_find(element, index);
    if (link != NULL && link->target != 0) {
        link_remove(element, link);
    }
}

// Puts a referrer at the head of the list of a target.
static inline void link_enter(const orri_element* element, orri_link* link, uint32_t index,
                              uint32_t target)
{
    uint32_t* head = orri_head_find(element, target);
    *link = (orri_link){target + 1, *head, 0};
    if (*head != 0) {
        orri_link_find(element, *head - 1)->prev = index + 1;
    }
    *head = index + 1;
}

void orri_relation_set(orr_world* world, orri_relation* relation, uint32_t index, const void* value)
{
    for (uint32_t e = 0; e < relation->type->indexed_count; e++) {
        const orri_element* element = &relation->elements[e];
        orri_link* link = orri_link_find(element, index);
        if (link == NULL) {
            continue; // It never had a target, and gets none: no page was made for it.
        }
        if (link->target != 0) {
            link_remove(element, link);
        }
        orr_entity target = value != NULL ? orri_relation_target(world, relation, e, value)
                                          : (orr_entity){0};
        if (target.id != 0) {
            link_enter(element, link, index, orri_id_index(target));
        }
    }
}

void orri_relation_moved(orr_world* world, const orri_transition* transition, uint32_t row,
                         uint32_t index)
{
    for (uint32_t i = 0; i < transition->dropped_count; i++) {
        orri_relation* relation = transition->from->columns[transition->dropped[i]].table->relation;
        if (relation != NULL) {
            orri_relation_set(world, relation, index, NULL);
        }
    }
    for (uint32_t i = 0; i < transition->new_count; i++) {
        uint32_t c = transition->added[i];
        orri_relation* relation = transition->to->columns[c].table->relation;
        if (relation != NULL) {
            orri_relation_set(world, relation, index, orri_relation_value(transition->to, c, row));
        }
    }
}
