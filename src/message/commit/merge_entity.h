// SPDX-License-Identifier: MIT
// Internals of the merge of one entity: the model that merge_entity.c updates command by command,
// and from which merge_group.c makes a group of the change set.
#ifndef ORRI_MESSAGE_COMMIT_MERGE_ENTITY_H
#define ORRI_MESSAGE_COMMIT_MERGE_ENTITY_H

#include "message/send/command_buffer.h"
#include <orrery/kinds.h>

// A component type that a command of the entity names.
typedef struct orri_net_change_part {
    orr_type type;
    const orri_type* info;
    const void* value;    // Value to set, if `given`; NULL: the preset.
    bool had, present;    // The entity has the type: before the commit; after the commands so far.
    bool given;           // A value is to be set.
    bool removed;         // This commit removed it at least once.
    bool cleared;         // Multiple type: the commit removed all instances that were there.
    uint32_t count;       // Multiple type: instances after the commands so far.
    uint32_t known_first; // Multiple type: first entry in `known1`.
} orri_net_change_part;

// An instance of a multiple type that a command names.
typedef struct orri_net_change_instance {
    orr_type type;
    orr_component_id id; // Of a new instance: the id that its sender has; 0: the sender has none.
    bool fresh;          // A new instance.
    const void* value;   // Value to set; NULL: none, or the preset.
    bool removed;
    bool enable_set, on;   // Enabled or disabled by this commit; the last command counts.
    uint32_t part;         // Index in `parts`.
    uint32_t change_index; // Index in the group's instance changes, if it has one.
} orri_net_change_instance;

// A unique component, or the entity, to be enabled or disabled.
typedef struct orri_net_change_enabled {
    orr_type type; // Null: the entity.
    bool on;
} orri_net_change_enabled;

typedef struct orri_net_change_tag {
    orr_tag tag;
    bool on;    // Added, else removed.
    bool again; // Repeats an earlier entry of the tag, which has the final `on`.
} orri_net_change_tag;

// Work space of a merge. The arrays are reused for every entity.
struct orri_net_change {
    // The entity being merged.
    orr_entity entity;
    bool alive, created, destroyed, renamed;
    orri_command_name name;
    uint64_t name_rank; // Order among all renames of the commit.
    const orr_command_buffer* name_commands;
    orr_command_buffer* commands; // Buffer of the last command with an effect.
    orri_net_change_part* parts;
    uint32_t part_count, part_capacity;
    orri_net_change_instance* instances; // In the order in which commands first name them.
    uint32_t instance_count, instance_capacity;
    // Existing instances by part and position in the cell: 1 + index in `instances`; 0: not named.
    uint32_t* known1;
    uint32_t known_count, known_capacity;
    // New instances whose senders have their ids: indexes in `instances`, ascending by (type, id).
    uint32_t* added;
    uint32_t added_count, added_capacity;
    orri_net_change_enabled* enabled;
    uint32_t enabled_count, enabled_capacity;
    orri_net_change_tag* tags; // In the order of sending.
    uint32_t tag_count, tag_capacity;
    // Its group, before it is known whether it can join the open one.
    orri_given* given;
    uint32_t given_capacity;
    orr_type* taken;
    uint32_t taken_capacity;
    orr_tag *tags_on, *tags_off;
    uint32_t tag_on_capacity, tag_off_capacity;
    orri_instance_change* instance_changes;
    uint32_t instance_change_capacity;
    orri_enable_change* enable_changes;
    uint32_t enable_change_capacity;
    // The open group, which neighbouring entities with the same net change join.
    orri_group open;
    orri_rights* open_sender;
    orr_entity* entities;
    uint32_t entity_capacity;
    const uint8_t** values; // By entity, then by given type.
    uint32_t value_count, value_capacity;
};

#define ORRI_NET_CHANGE_RESERVE(merge, data, capacity, needed) \
    ORRI_RESERVE(&(merge)->world->env, ORR_MEMORY_TEMP, data, capacity, needed)

// Enables or disables a unique component or (null type) the entity; a later call overrides an
// earlier one. False when memory is refused.
bool orri_net_change_enable(orri_merge* merge, orr_type type, bool on);
// The instances of a multiple type that the entity has in the world.
uint32_t orri_net_change_instances(const orri_merge* merge, orr_type type,
                                   const orr_component_id** ids);
// Makes the group of the entity, and joins it with the open group if both are alike. False when
// memory is refused.
bool orri_net_change_finish(orri_merge* merge);

#endif
