// SPDX-License-Identifier: MIT
// Merges the commands of one entity, in the order of sending, into one net change, by the table of
// docs/MESSAGES.md. It keeps a model of the entity: for each type that a command names, whether the
// entity had it, has it by now, and which value it gets.
#include "message/commit/merge_entity.h"
#include "store/pool/pool.h"

// The work space, allocated at first use. NULL when refused.
static struct orri_net_change* merge_entity_of(orri_merge* merge)
{
    if (merge->change == NULL) {
        merge->change =
            ORRI_ALLOC_ZERO(&merge->world->env, ORR_MEMORY_TEMP, struct orri_net_change, 1);
    }
    return merge->change;
}

void orri_net_change_end(orri_merge* merge)
{
    struct orri_net_change* change = merge->change;
    orri_env* env = &merge->world->env;
    if (change == NULL) {
        return;
    }
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->parts, change->part_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->instances, change->instance_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->known1, change->known_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->added, change->added_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->enabled, change->enabled_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->tags, change->tag_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->given, change->given_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->taken, change->taken_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->tags_on, change->tag_on_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->tags_off, change->tag_off_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->instance_changes, change->instance_change_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->enable_changes, change->enable_change_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->entities, change->entity_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, change->values, change->value_capacity);
    ORRI_FREE(env, ORR_MEMORY_TEMP, struct orri_net_change, change, 1);
    merge->change = NULL;
}

// ---- what the entity has ------------------------------------------------------------------------

uint32_t orri_net_change_instances(const orri_merge* merge, orr_type type,
                                   const orr_component_id** ids)
{
    *ids = NULL;
    return merge->change->alive
               ? orr_instances_get(merge->world, merge->change->entity, type, NULL, ids)
               : 0;
}

// Counts the existing instances of a multiple type; no command has named them yet.
static bool merge_entity_part_count(orri_merge* merge, orri_net_change_part* part)
{
    struct orri_net_change* change = merge->change;
    const orr_component_id* ids;
    part->count = orri_net_change_instances(merge, part->type, &ids);
    part->had = part->count > 0;
    part->known_first = change->known_count;
    if (!ORRI_NET_CHANGE_RESERVE(merge, &change->known1, &change->known_capacity,
                                 change->known_count + part->count)) {
        return false;
    }
    for (uint32_t i = 0; i < part->count; i++) {
        change->known1[change->known_count++] = 0;
    }
    return true;
}

// The part of a type, created if missing. NULL when memory is refused.
static orri_net_change_part* merge_entity_part_of(orri_merge* merge, orr_type type,
                                                  const orri_type* info)
{
    struct orri_net_change* change = merge->change;
    for (uint32_t i = 0; i < change->part_count; i++) {
        if (change->parts[i].type.id == type.id) {
            return &change->parts[i];
        }
    }
    if (!ORRI_NET_CHANGE_RESERVE(merge, &change->parts, &change->part_capacity,
                                 change->part_count + 1)) {
        return NULL;
    }
    orri_net_change_part* part = &change->parts[change->part_count];
    *part = (orri_net_change_part){.type = type, .info = info};
    if (info->info.multiplicity != ORR_MULTIPLE) {
        part->had = change->alive && orri_value_find(merge->world, change->entity, info) != NULL;
    } else if (!merge_entity_part_count(merge, part)) {
        return NULL;
    }
    part->present = part->had;
    change->part_count++;
    return part;
}

static orri_net_change_instance* merge_entity_instance_add(orri_merge* merge,
                                                           const orri_net_change_part* part,
                                                           orr_component_id id, bool fresh)
{
    struct orri_net_change* change = merge->change;
    if (!ORRI_NET_CHANGE_RESERVE(merge, &change->instances, &change->instance_capacity,
                                 change->instance_count + 1)) {
        return NULL;
    }
    change->instances[change->instance_count] = (orri_net_change_instance){
        .type = part->type, .id = id, .fresh = fresh, .part = (uint32_t)(part - change->parts)};
    return &change->instances[change->instance_count++];
}

// Position in `added` of the first new instance that is not before (type, id). Ids mostly ascend in
// the order of sending, so the end is tried first.
static uint32_t merge_entity_added_lower(const struct orri_net_change* change, orr_type type,
                                         orr_component_id id)
{
    uint64_t key = (uint64_t)type.id << 32 | id;
    uint32_t low = 0, high = change->added_count;
    for (uint32_t middle = high - 1; low < high; middle = low + (high - low) / 2) {
        const orri_net_change_instance* seen = &change->instances[change->added[middle]];
        bool before = ((uint64_t)seen->type.id << 32 | seen->id) < key;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}

// A new instance by its id; NULL: none.
static orri_net_change_instance* merge_entity_added(const struct orri_net_change* change,
                                                    orr_type type, orr_component_id id)
{
    uint32_t at = merge_entity_added_lower(change, type, id);
    orri_net_change_instance* found =
        at < change->added_count ? &change->instances[change->added[at]] : NULL;
    return found != NULL && found->type.id == type.id && found->id == id ? found : NULL;
}

// Enters the newest instance into `added`, if its sender has its id. False when memory is refused.
static bool merge_entity_enter_added(orri_merge* merge)
{
    struct orri_net_change* change = merge->change;
    const orri_net_change_instance* instance = &change->instances[change->instance_count - 1];
    if (instance->id == 0) {
        return true;
    }
    if (!ORRI_NET_CHANGE_RESERVE(merge, &change->added, &change->added_capacity,
                                 change->added_count + 1)) {
        return false;
    }
    uint32_t at = merge_entity_added_lower(change, instance->type, instance->id);
    memmove(change->added + at + 1, change->added + at,
            (change->added_count - at) * sizeof *change->added);
    change->added[at] = change->instance_count - 1;
    change->added_count++;
    return true;
}

// An existing instance; NULL: none. `*out_failed`: memory was refused.
static orri_net_change_instance* merge_entity_known(orri_merge* merge,
                                                    const orri_net_change_part* part,
                                                    orr_component_id id, bool* out_failed)
{
    struct orri_net_change* change = merge->change;
    const orr_component_id* ids;
    uint32_t count = orri_net_change_instances(merge, part->type, &ids), i = 0;
    while (i < count && ids[i] != id) {
        i++;
    }
    if (i == count) {
        return NULL;
    }
    uint32_t* slot1 = &change->known1[part->known_first + i];
    if (*slot1 == 0) {
        if (part->cleared) {
            return NULL;
        }
        *out_failed = merge_entity_instance_add(merge, part, id, false) == NULL;
        *slot1 = *out_failed ? 0 : change->instance_count;
    }
    return *out_failed ? NULL : &change->instances[*slot1 - 1];
}

// An instance: a new one, or an existing one. NULL: there is none, or it was removed.
// `*out_failed`: memory was refused.
static orri_net_change_instance* merge_entity_instance_of(orri_merge* merge,
                                                          const orri_net_change_part* part,
                                                          orr_component_id id, bool* out_failed)
{
    orri_net_change_instance* found =
        (id & ORRI_INSTANCE_SENT) != 0 ? merge_entity_added(merge->change, part->type, id) : NULL;
    found = found != NULL ? found : merge_entity_known(merge, part, id, out_failed);
    return found != NULL && !found->removed ? found : NULL;
}

// ---- commands -----------------------------------------------------------------------------------

// One command of the entity.
typedef struct merge_entity_record {
    orr_command_buffer* commands;
    const orri_command_array* array;
    uint32_t row;
    orr_component_id id;
    const void* value; // NULL: the preset, or the kind has no value.
} merge_entity_record;

static merge_entity_record merge_entity_record_at(const orri_merge* merge, const orri_ranked* item)
{
    const orri_merge_ref* ref = &merge->refs[item->index];
    const orri_command_array* array = ref->array;
    merge_entity_record r = {.commands = ref->commands, .array = array, .row = item->chunk};
    r.id = array->ids != NULL ? array->ids[r.row] : 0;
    r.value = array->stride > 0 ? array->values + (size_t)r.row * array->stride : NULL;
    return r;
}

static void merge_entity_drop(const merge_entity_record* r, orr_result result, const char* why)
{
    orri_note_drop(r->commands, r->array, r->row, result, why);
}

// The component is not there. If this commit removed it, the command is ignored without a note: the
// sender could not know.
static void merge_entity_absent(const merge_entity_record* r, bool removed)
{
    if (!removed) {
        merge_entity_drop(r, ORR_ERR_ABSENT,
                          r->id != 0 ? "the entity does not have an instance with this id"
                                     : "the entity does not have this component");
    }
}

// True, with a note, when the value refers to a dead entity and must not be stored.
static bool merge_entity_refers_to_dead(const orri_merge* merge, const merge_entity_record* r,
                                        const orri_net_change_part* part)
{
    if (r->value == NULL || !part->info->info.has_entities) {
        return false;
    }
    const void* old = part->info->info.multiplicity == ORR_UNIQUE && merge->change->alive
                          ? orri_value_find(merge->world, merge->change->entity, part->info)
                          : NULL;
    if (orri_value_refers(merge->world, part->info, old, r->value) != ORRI_REFERS_DEAD) {
        return false;
    }
    merge_entity_drop(r, ORR_ERR_ENTITY, "its value refers to a dead entity");
    return true;
}

// Removes the enable change of a component that is removed.
static void merge_entity_forget_enabled(struct orri_net_change* change, orr_type type)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < change->enabled_count; i++) {
        if (change->enabled[i].type.id != type.id) {
            change->enabled[kept++] = change->enabled[i];
        }
    }
    change->enabled_count = kept;
}

static bool merge_entity_create(orri_merge* merge, const merge_entity_record* r)
{
    struct orri_net_change* change = merge->change;
    const orri_cluster* cluster = orri_cluster_at(merge->world, r->array->cluster);
    change->created = true;
    if (cluster == NULL) {
        return true;
    }
    // The types of the cluster are given one by one, because other commands may add types.
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        const orri_type* info = cluster->columns[c].type;
        if (info->info.multiplicity == ORR_MULTIPLE) {
            continue; // Its instances are separate commands.
        }
        orri_net_change_part* part = merge_entity_part_of(merge, cluster->types[c], info);
        if (part == NULL) {
            return false;
        }
        part->present = part->given = true;
    }
    if (!ORRI_NET_CHANGE_RESERVE(merge, &change->tags, &change->tag_capacity, cluster->tag_count)) {
        return false;
    }
    for (uint32_t t = 0; t < cluster->tag_count; t++) {
        change->tags[change->tag_count++] = (orri_net_change_tag){cluster->tags[t], true, false};
    }
    return true;
}

// Limit of instances: the largest power of two within ORR_INSTANCES_MAX and ORR_VALUE_SIZE_MAX.
static uint32_t merge_entity_instances_max(const orri_type* info)
{
    uint32_t most = 1;
    while (most * 2 <= ORR_INSTANCES_MAX &&
           most * 2 * (uint64_t)info->info.size <= ORR_VALUE_SIZE_MAX) {
        most *= 2;
    }
    return most;
}

// True if an instance has the id that was given out for a new one. Sending avoids the ids of the
// world's instances in lockstep; in real time it cannot look at them.
static bool merge_entity_id_taken(const orri_merge* merge, orr_type type, orr_component_id id)
{
    const orr_component_id* ids;
    uint32_t count = id != 0 ? orri_net_change_instances(merge, type, &ids) : 0, i = 0;
    while (i < count && ids[i] != id) {
        i++;
    }
    return i < count || (id != 0 && merge_entity_added(merge->change, type, id) != NULL);
}

static bool merge_entity_add(orri_merge* merge, const merge_entity_record* r)
{
    orri_net_change_part* part = merge_entity_part_of(merge, r->array->type, r->array->info);
    if (part == NULL) {
        return false;
    }
    if (merge_entity_refers_to_dead(merge, r, part)) {
        return true;
    }
    if (part->info->info.multiplicity == ORR_UNIQUE) {
        if (part->present && orri_is_foreign(r->commands->rights->foreign,
                                             part->info->id - merge->world->schema.type_base)) {
            merge_entity_drop(r, ORR_ERR_CONFLICT,
                              "the entity already has it, and another pipeline owns the type");
            return true;
        }
        if (part->present && !r->array->bulk) {
            orri_note_twice(r->commands, r->array, r->row);
        }
        part->present = part->given = true;
        part->value = r->value;
        return true;
    }
    if (part->count >= merge_entity_instances_max(part->info)) {
        merge_entity_drop(r, ORR_ERR_CAPACITY, "the entity has the maximum number of instances");
        return true;
    }
    if (merge_entity_id_taken(merge, part->type, r->id)) {
        merge_entity_drop(r, ORR_ERR_CAPACITY,
                          "another instance of the entity has its id: two billion ids were given "
                          "out since then");
        return true;
    }
    orri_net_change_instance* instance = merge_entity_instance_add(merge, part, r->id, true);
    if (instance == NULL || !merge_entity_enter_added(merge)) {
        return false;
    }
    instance->value = r->value;
    part->present = true;
    part->count++;
    return true;
}

static bool merge_entity_change(orri_merge* merge, const merge_entity_record* r)
{
    orri_net_change_part* part = merge_entity_part_of(merge, r->array->type, r->array->info);
    bool failed = false;
    if (part == NULL) {
        return false;
    }
    if (part->info->info.multiplicity == ORR_UNIQUE) {
        if (!part->present) {
            merge_entity_absent(r, part->removed);
        } else if (!merge_entity_refers_to_dead(merge, r, part)) {
            part->given = true;
            part->value = r->value;
        }
        return true;
    }
    orri_net_change_instance* instance = merge_entity_instance_of(merge, part, r->id, &failed);
    if (instance == NULL && !failed) {
        merge_entity_absent(r, part->removed);
    } else if (!failed && !merge_entity_refers_to_dead(merge, r, part)) {
        instance->value = r->value;
    }
    return !failed;
}

// Removes a unique component, or all instances of a multiple type.
static bool merge_entity_remove_all(orri_merge* merge, orri_net_change_part* part)
{
    struct orri_net_change* change = merge->change;
    for (uint32_t i = 0; i < change->instance_count; i++) {
        if (change->instances[i].type.id == part->type.id) {
            change->instances[i].removed = true;
        }
    }
    merge_entity_forget_enabled(change, part->type);
    part->present = part->given = false;
    part->cleared = part->removed = true;
    part->count = 0;
    return true;
}

static bool merge_entity_remove(orri_merge* merge, const merge_entity_record* r)
{
    orri_net_change_part* part = merge_entity_part_of(merge, r->array->type, r->array->info);
    bool failed = false;
    if (part == NULL) {
        return false;
    }
    if (r->id == 0) {
        return merge_entity_remove_all(merge, part);
    }
    orri_net_change_instance* instance = merge_entity_instance_of(merge, part, r->id, &failed);
    if (instance != NULL) {
        instance->removed = part->removed = true;
        part->present = --part->count > 0;
    }
    return !failed;
}

static bool merge_entity_tag_record(orri_merge* merge, const merge_entity_record* r)
{
    struct orri_net_change* change = merge->change;
    orr_tag tag;
    memcpy(&tag, r->value, sizeof tag);
    bool on = r->array->kind == ORRI_COMMAND_TAG_ADD;
    if (!ORRI_NET_CHANGE_RESERVE(merge, &change->tags, &change->tag_capacity,
                                 change->tag_count + 1)) {
        return false;
    }
    change->tags[change->tag_count++] = (orri_net_change_tag){tag, on, false};
    return true;
}

bool orri_net_change_enable(orri_merge* merge, orr_type type, bool on)
{
    struct orri_net_change* change = merge->change;
    for (uint32_t i = 0; i < change->enabled_count; i++) {
        orri_net_change_enabled* s = &change->enabled[i];
        if (s->type.id == type.id) {
            s->on = on;
            return true;
        }
    }
    if (!ORRI_NET_CHANGE_RESERVE(merge, &change->enabled, &change->enabled_capacity,
                                 change->enabled_count + 1)) {
        return false;
    }
    change->enabled[change->enabled_count++] = (orri_net_change_enabled){type, on};
    return true;
}

static void merge_entity_enable_one(orri_net_change_instance* instance, bool on)
{
    instance->enable_set = true;
    instance->on = on;
}

// Enables or disables all instances that exist by now; instances that are added later are enabled.
static bool merge_entity_enable_all(orri_merge* merge, const orri_net_change_part* part, bool on)
{
    struct orri_net_change* change = merge->change;
    const orr_component_id* ids;
    uint32_t count = part->cleared ? 0 : orri_net_change_instances(merge, part->type, &ids);
    bool failed = false;
    for (uint32_t i = 0; !failed && i < count; i++) {
        uint32_t* slot1 = &change->known1[part->known_first + i];
        if (*slot1 == 0) {
            failed = merge_entity_instance_add(merge, part, ids[i], false) == NULL;
            *slot1 = failed ? 0 : change->instance_count;
        }
    }
    for (uint32_t i = 0; i < change->instance_count; i++) {
        orri_net_change_instance* instance = &change->instances[i];
        if (instance->type.id == part->type.id && !instance->removed) {
            merge_entity_enable_one(instance, on);
        }
    }
    return !failed;
}

static bool merge_entity_enable_record(orri_merge* merge, const merge_entity_record* r)
{
    bool on = r->array->kind == ORRI_COMMAND_ENABLE, failed = false;
    if (r->array->info == NULL) {
        return orri_net_change_enable(merge, (orr_type){0}, on);
    }
    const orri_net_change_part* part = merge_entity_part_of(merge, r->array->type, r->array->info);
    if (part == NULL) {
        return false;
    }
    if (!part->present) {
        merge_entity_absent(r, part->removed);
        return true;
    }
    if (part->info->info.multiplicity == ORR_UNIQUE) {
        return orri_net_change_enable(merge, part->type, on);
    }
    if (r->id == 0) {
        return merge_entity_enable_all(merge, part, on);
    }
    orri_net_change_instance* instance = merge_entity_instance_of(merge, part, r->id, &failed);
    if (instance != NULL) {
        merge_entity_enable_one(instance, on);
    } else if (!failed) {
        merge_entity_absent(r, part->removed);
    }
    return !failed;
}

static bool merge_entity_name_record(orri_merge* merge, const merge_entity_record* r)
{
    struct orri_net_change* change = merge->change;
    orri_command_name name;
    memcpy(&name, r->value, sizeof name);
    if (name.scope.id != 0 && orri_record_find(merge->world, name.scope) == NULL &&
        !orri_pending_created(merge->world, name.scope)) {
        merge_entity_drop(r, ORR_ERR_ENTITY, "the scope entity of the name is dead");
        return true;
    }
    change->renamed = true;
    change->name = name;
    change->name_commands = r->commands;
    change->name_rank = r->commands->number << 32 | r->row;
    return true;
}

// Updates the model by one command. False when memory is refused.
static bool merge_entity_apply(orri_merge* merge, const merge_entity_record* r)
{
    switch (r->array->kind) {
    case ORRI_COMMAND_CREATE:
        return merge_entity_create(merge, r);
    case ORRI_COMMAND_ADD:
    case ORRI_COMMAND_ADD_PRESET:
        return merge_entity_add(merge, r);
    case ORRI_COMMAND_CHANGE:
        return merge_entity_change(merge, r);
    case ORRI_COMMAND_REMOVE:
        return merge_entity_remove(merge, r);
    case ORRI_COMMAND_TAG_ADD:
    case ORRI_COMMAND_TAG_REMOVE:
        return merge_entity_tag_record(merge, r);
    case ORRI_COMMAND_ENABLE:
    case ORRI_COMMAND_DISABLE:
        return merge_entity_enable_record(merge, r);
    case ORRI_COMMAND_NAME:
        return merge_entity_name_record(merge, r);
    default:
        merge->change->destroyed = true;
        return true;
    }
}

// ---- one entity ---------------------------------------------------------------------------------

// Resets the model.
static void merge_entity_begin(orri_merge* merge, orr_entity entity)
{
    struct orri_net_change* change = merge->change;
    change->entity = entity;
    change->alive = orri_record_find(merge->world, entity) != NULL;
    change->created = change->destroyed = change->renamed = false;
    change->part_count = change->instance_count = change->enabled_count = change->tag_count = 0;
    change->known_count = change->added_count = 0;
    change->commands = NULL;
}

// Of several ids with the same index at most one can be alive or be created: the one to merge.
static orr_entity merge_entity_choose(const orri_merge* merge, const orri_ranked* items,
                                      uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        merge_entity_record r = merge_entity_record_at(merge, &items[i]);
        orr_entity entity = r.array->entities[r.row];
        if (r.array->kind == ORRI_COMMAND_CREATE ||
            orri_record_find(merge->world, entity) != NULL) {
            return entity;
        }
    }
    return (orr_entity){0};
}

bool orri_net_change_entity(orri_merge* merge, const orri_ranked* items, uint32_t count)
{
    struct orri_net_change* change = merge_entity_of(merge);
    if (change == NULL) {
        return false;
    }
    merge_entity_begin(merge, merge_entity_choose(merge, items, count));
    for (uint32_t i = 0; i < count; i++) {
        merge_entity_record r = merge_entity_record_at(merge, &items[i]);
        bool creates = r.array->kind == ORRI_COMMAND_CREATE;
        bool there = change->alive || change->created || creates;
        if (!there || r.array->entities[r.row].id != change->entity.id) {
            merge_entity_drop(&r, ORR_ERR_ENTITY, orri_dead_reason(r.array->entities[r.row]));
        } else if (!change->destroyed) {
            if (!merge_entity_apply(merge, &r)) {
                return false;
            }
            change->commands = r.commands;
        }
    }
    return change->commands == NULL || orri_net_change_finish(merge);
}
