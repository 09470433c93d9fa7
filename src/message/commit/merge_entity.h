// SPDX-License-Identifier: MIT
// The merge of one entity from the inside: the model that merge_entity.c keeps while it reads records, and merge_group.c makes groups of.
#ifndef ORRI_MESSAGE_COMMIT_MERGE_ENTITY_H
#define ORRI_MESSAGE_COMMIT_MERGE_ENTITY_H

#include "message/send/command_buffer.h"
#include <orrery/kinds.h>

// A type that is spoken of.
typedef struct orri_net_change_part {
    orr_type type;
    const orri_type* info;
    const void* value; // To be set, if `given`; NULL: the preset.
    bool had, present; // Before the commit; by now.
    bool given;
    bool removed;   // By this commit, once at least.
    bool cleared;   // Of a multiple type: all instances there were.
    uint32_t count; // Of a multiple type: instances by now,
    uint32_t spots; // and where in `spots` those that were there before the commit begin.
} orri_net_change_part;

// An instance of a multiple type that is spoken of.
typedef struct orri_net_change_instance {
    orr_type type;
    orr_component_id id;                // Of one that is there; provisional of one that comes,
    const orr_command_buffer* commands; // which is good in its lane only. NULL: it is there.
    const void* value;
    bool removed;
    bool switched, on; // The last word counts.
    uint32_t part;     // In `parts`.
    uint32_t deed;     // Of the group, if it is one.
} orri_net_change_instance;

typedef struct orri_net_change_switch {
    orr_type type; // Null: the entity. Of unique types.
    bool on;
} orri_net_change_switch;

typedef struct orri_net_change_tag {
    orr_tag tag;
    bool on;
    bool again; // The tag was spoken of before, there the last word stands.
} orri_net_change_tag;

struct orri_net_change {
    // The entity.
    orr_entity entity;
    bool alive, born, destroyed, renamed;
    orri_sent_name name;
    uint64_t name_rank; // In order of sending.
    const orr_command_buffer* name_lane;
    orr_command_buffer* commands; // Of the last record with an effect.
    orri_net_change_part* parts;
    uint32_t part_count, part_capacity;
    orri_net_change_instance* instances; // In the order in which they were first spoken of.
    uint32_t instance_count, instance_capacity;
    uint32_t*
        spots; // By part and place in its cell: where in `instances`, plus 1; 0: nobody spoke of it yet.
    uint32_t spot_count, spot_capacity;
    uint32_t*
        comers; // Where in `instances` those are that come: ascending by lane and id, as they were sent.
    uint32_t comer_count, comer_capacity;
    orri_net_change_switch* switches;
    uint32_t switch_count, switch_capacity;
    orri_net_change_tag* tags; // As they were sent.
    uint32_t tag_count, tag_capacity;
    // Its group, before it is known whether it shares one. Arrays are reused.
    orri_given* given;
    uint32_t given_capacity;
    orr_type* taken;
    uint32_t taken_capacity;
    orr_tag *tags_on, *tags_off;
    uint32_t tag_on_capacity, tag_off_capacity;
    orri_instance_change* deeds;
    uint32_t deed_capacity;
    orri_enable_change* flips;
    uint32_t flip_capacity;
    // The group that is open: neighbours join it. Values by entity, then by given type.
    orri_group open;
    orri_rights* open_sender;
    orr_entity* entities;
    uint32_t entity_capacity;
    const uint8_t** values;
    uint32_t value_count, value_capacity;
};

#define ORRI_NET_CHANGE_RESERVE(merge, data, capacity, needed) \
    ORRI_RESERVE(&(merge)->world->env, ORR_MEMORY_TEMP, data, capacity, needed)

// Switches a unique component, or (null type) the entity: the last word counts. False when memory is refused.
bool orri_net_change_flip(orri_merge* merge, orr_type type, bool on);
// The instances of a multiple type that the entity has in the world.
uint32_t orri_net_change_instances(const orri_merge* merge, orr_type type,
                                   const orr_component_id** ids);
// Makes the group of the entity, and puts it with its like. False when memory is refused.
bool orri_net_change_finish(orri_merge* merge);

#endif
