// SPDX-License-Identifier: MIT
// Entity ids that a set of command buffers withholds in advance (store/change/id_withhold.c), so
// that several pipelines can reserve ids at the same time.
//
//    withheld: │ reserved: by buffer 1 │ by buffer 2 │ … │ not reserved │
//            └ base of buffer 1      └ base of buffer 2
//
// Ids that replace provisional ones (provisional_ids.c) are reserved after those of all buffers.
//
// At the commit point the used ids are returned to the head of the free list, in the order of
// buffers, and the commit takes them from there like all others. Ids that were reserved and not
// used are reserved again.
#include "message/send/command_buffer.h"
#include "store/table/transient.h"

void orri_command_buffers_transient(struct orri_command_buffers* command_buffers)
{
    ORR_ASSERT(command_buffers->withholds && command_buffers->withheld_count == 0);
    command_buffers->transient_ids = true;
}

bool orri_command_buffers_withhold_ids(orr_world* world, uint32_t count)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    ORR_ASSERT(command_buffers->withholds);
    uint64_t wanted = command_buffers->reserved + count;
    if (wanted <= command_buffers->withheld_count) {
        return true;
    }
    if (wanted > UINT32_MAX ||
        !ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &command_buffers->withheld,
                      &command_buffers->withheld_capacity, (uint32_t)wanted)) {
        (void)orri_refuse_memory(&world->env, "reserving ids of entities to be created");
        return false;
    }
    uint32_t more = (uint32_t)wanted - command_buffers->withheld_count;
    orr_entity* ids = command_buffers->withheld + command_buffers->withheld_count;
    if (!(command_buffers->transient_ids ? orri_transient_withhold(world, ids, more)
                                         : orri_index_withhold(world, ids, more))) {
        return false;
    }
    command_buffers->withheld_count += more;
    return true;
}

uint32_t orri_command_buffers_withheld_left(const orr_world* world)
{
    const struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    return command_buffers->reserved < command_buffers->withheld_count
               ? command_buffers->withheld_count - (uint32_t)command_buffers->reserved
               : 0;
}

bool orri_command_ids_free(orr_world* world, struct orri_command_buffers* command_buffers)
{
    if (command_buffers->transient_ids) {
        orri_command_ids_forget_transient(command_buffers);
        orri_transient_return(world, command_buffers->withheld, command_buffers->withheld_count);
    } else if (!orri_index_return(world, command_buffers->withheld,
                                  command_buffers->withheld_count)) {
        return false;
    }
    command_buffers->withheld_count = 0;
    return true;
}

bool orri_command_buffers_return_ids(orr_world* world)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    ORR_ASSERT(command_buffers->reserved == 0 && command_buffers->first == NULL &&
               command_buffers->transient_first == NULL);
    return orri_command_ids_free(world, command_buffers);
}

// ---- at the commit point ------------------------------------------------------------------------

// The ids that a buffer has used: consecutive positions in `withheld`, twice.
typedef struct command_ids_used {
    uint64_t first[2];
    uint32_t count[2];
} command_ids_used;

// Spectators create transient entities, whose ids are returned one by one.
static command_ids_used command_ids_of(const orr_command_buffer* commands)
{
    uint32_t all = commands->rights->spectator ? 0 : commands->create_count;
    uint32_t early = all < commands->id_count ? all : commands->id_count;
    return (command_ids_used){{commands->base, commands->later_base}, {early, all - early}};
}

bool orri_command_ids_return(orri_merge* merge)
{
    const struct orri_command_buffers* command_buffers = merge->command_buffers;
    uint32_t count = 0;
    for (const orr_command_buffer* commands = command_buffers->first; commands != NULL;
         commands = commands->next) {
        command_ids_used used = command_ids_of(commands);
        count += used.count[0] + used.count[1];
    }
    merge->withheld_count = 0;
    if (count == 0) {
        return true;
    }
    merge->withheld = orri_merge_take(merge, count * sizeof *merge->withheld);
    if (merge->withheld == NULL) {
        (void)orri_refuse_memory(&merge->world->env, "returning reserved ids");
        return false;
    }
    uint32_t at = 0;
    for (const orr_command_buffer* commands = command_buffers->first; commands != NULL;
         commands = commands->next) {
        command_ids_used used = command_ids_of(commands);
        for (uint32_t i = 0; i < 2; i++) {
            if (used.count[i] > 0) {
                memcpy(merge->withheld + at, command_buffers->withheld + used.first[i],
                       used.count[i] * sizeof *merge->withheld);
                at += used.count[i];
            }
        }
    }
    if (!orri_index_return(merge->world, merge->withheld, count)) {
        return false;
    }
    merge->withheld_count = count;
    return true;
}

void orri_command_ids_retake(orri_merge* merge)
{
    // Cannot fail: they are still the first of the free list, and their index pages were just made
    // writable.
    bool withheld = orri_index_withhold(merge->world, merge->withheld, merge->withheld_count);
    ORR_ASSERT(withheld);
    (void)withheld;
}

// Removes null entries from `withheld`; the order stays.
static void command_ids_close_up(struct orri_command_buffers* command_buffers)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < command_buffers->withheld_count; i++) {
        if (command_buffers->withheld[i].id != 0) {
            command_buffers->withheld[kept++] = command_buffers->withheld[i];
        }
    }
    command_buffers->withheld_count = kept;
}

void orri_command_ids_forget(struct orri_command_buffers* command_buffers)
{
    for (const orr_command_buffer* commands = command_buffers->first; commands != NULL;
         commands = commands->next) {
        command_ids_used used = command_ids_of(commands);
        for (uint32_t i = 0; i < 2; i++) {
            if (used.count[i] > 0) {
                memset(command_buffers->withheld + used.first[i], 0,
                       used.count[i] * sizeof *command_buffers->withheld);
            }
        }
    }
    command_ids_close_up(command_buffers);
}

// ---- ids of transient entities, one by one ------------------------------------------------------

void orri_command_ids_return_transient(orr_world* world, orr_entity entity)
{
    orri_transient_return(world, &entity, 1);
}

void orri_command_ids_end_transient(orr_world* world, struct orri_command_buffers* command_buffers,
                                    orr_entity entity, bool created)
{
    orr_entity again;
    if (!created) {
        bool withheld =
            orri_transient_withhold(world, &again, 1); // It is the first of the free list.
        ORR_ASSERT(withheld && again.id == entity.id);
        (void)withheld;
        return;
    }
    // Entities are created in the order of `withheld`: the search begins after the last one found.
    for (uint32_t i = 0; i < command_buffers->withheld_count; i++) {
        uint32_t at = (command_buffers->withheld_next + i) % command_buffers->withheld_count;
        if (command_buffers->withheld[at].id == entity.id) {
            command_buffers->withheld[at].id = 0;
            command_buffers->withheld_next = at + 1;
            return;
        }
    }
}

void orri_command_ids_forget_transient(struct orri_command_buffers* command_buffers)
{
    command_ids_close_up(command_buffers);
    command_buffers->withheld_next = 0;
}

// ---- ids of instances of multiple types ---------------------------------------------------------

// Ids that are reserved for each buffer whose system may add components: numbers without memory.
#define COMMAND_IDS_OF_UNIT UINT32_C(0x4000)
#define COMMAND_IDS_OF_CALL UINT32_C(0x40000)
#define COMMAND_IDS_MASK    (ORRI_INSTANCE_SENT - 1)

void orri_command_ids_reserve_instances(orr_command_buffer* commands)
{
    const orri_rights* rights = commands->rights;
    struct orri_command_buffers* command_buffers = commands->command_buffers;
    if (command_buffers->instances_reserved == 0) {
        command_buffers->instance_first = commands->world->instance_sent +
                                          command_buffers->instance_offset;
    }
    // In real time the range of a set ends where that of the next set begins.
    uint64_t most = command_buffers->withholds ? ORRI_INSTANCE_RANGE : COMMAND_IDS_MASK;
    uint32_t count = rights->spectator  ? 0
                     : rights->in_units ? COMMAND_IDS_OF_UNIT
                                        : COMMAND_IDS_OF_CALL;
    commands->instance_base = command_buffers->instances_reserved;
    commands->instance_max = commands->instance_base + count <= most ? count : 0;
    command_buffers->instances_reserved += commands->instance_max;
}

// True when an instance that the entity has of the type has this id. In real time other pipelines
// may move the entity now; then the commit looks.
static bool command_ids_taken(const orr_world* world, orr_entity entity, orr_type type,
                              orr_component_id id)
{
    const orr_component_id* ids;
    uint32_t count = !world->realtime && orri_record_find(world, entity) != NULL
                         ? orri_instances_of(world, orri_id_index(entity), type, &ids)
                         : 0;
    while (count > 0 && ids[count - 1] != id) {
        count--;
    }
    return count > 0;
}

orr_component_id orri_command_ids_instance(const orr_command_buffer* commands, orr_entity entity,
                                           orr_type type, uint32_t* count)
{
    uint64_t first = commands->command_buffers->instance_first + commands->instance_base;
    while (*count < commands->instance_max) {
        uint32_t number = (uint32_t)(first + (*count)++) & COMMAND_IDS_MASK;
        if (!command_ids_taken(commands->world, entity, type, ORRI_INSTANCE_SENT | number)) {
            return ORRI_INSTANCE_SENT | number;
        }
    }
    return 0;
}

void orri_command_ids_end_instances(orr_world* world, struct orri_command_buffers* command_buffers)
{
    world->instance_sent = (world->instance_sent + (uint32_t)command_buffers->instances_used) &
                           COMMAND_IDS_MASK;
    command_buffers->instances_reserved = command_buffers->instances_used = 0;
}

#undef COMMAND_IDS_OF_UNIT
#undef COMMAND_IDS_OF_CALL
#undef COMMAND_IDS_MASK
