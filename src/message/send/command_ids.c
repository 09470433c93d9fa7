// SPDX-License-Identifier: MIT
// Entity ids that a set of command buffers holds in advance (store/change/id_reserve.c), so that
// several pipelines can reserve ids at the same time.
//
//    held: │ reserved: by buffer 1 │ by buffer 2 │ … │ not reserved │
//            └ base of buffer 1      └ base of buffer 2
//
// At the commit point the used ids are returned to the head of the free list, in the order of
// buffers, and the commit takes them from there like all others. Ids that were reserved and not
// used are reserved again.
#include "message/send/command_buffer.h"
#include "store/table/transient.h"

void orri_command_buffers_transient(struct orri_command_buffers* command_buffers)
{
    ORR_ASSERT(command_buffers->holds && command_buffers->held_count == 0);
    command_buffers->transient_ids = true;
}

bool orri_command_buffers_hold(orr_world* world, uint32_t count)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    ORR_ASSERT(command_buffers->holds);
    uint64_t wanted = command_buffers->reserved + count;
    if (wanted <= command_buffers->held_count) {
        return true;
    }
    if (wanted > UINT32_MAX ||
        !ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &command_buffers->held,
                      &command_buffers->held_capacity, (uint32_t)wanted)) {
        (void)orri_refuse_memory(&world->env, "reserving ids of entities to be created");
        return false;
    }
    uint32_t more = (uint32_t)wanted - command_buffers->held_count;
    orr_entity* ids = command_buffers->held + command_buffers->held_count;
    if (!(command_buffers->transient_ids ? orri_transient_hold(world, ids, more)
                                         : orri_index_hold(world, ids, more))) {
        return false;
    }
    command_buffers->held_count += more;
    return true;
}

uint32_t orri_command_buffers_held_left(const orr_world* world)
{
    const struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    return command_buffers->reserved < command_buffers->held_count
               ? command_buffers->held_count - (uint32_t)command_buffers->reserved
               : 0;
}

bool orri_command_ids_free(orr_world* world, struct orri_command_buffers* command_buffers)
{
    if (command_buffers->transient_ids) {
        orri_command_ids_forget_transient(command_buffers);
        orri_transient_unhold(world, command_buffers->held, command_buffers->held_count);
    } else if (!orri_index_unhold(world, command_buffers->held, command_buffers->held_count)) {
        return false;
    }
    command_buffers->held_count = 0;
    return true;
}

bool orri_command_buffers_unhold(orr_world* world)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    ORR_ASSERT(command_buffers->reserved == 0 && command_buffers->first == NULL &&
               command_buffers->transient_first == NULL);
    return orri_command_ids_free(world, command_buffers);
}

// ---- at the commit point ------------------------------------------------------------------------

// Ids that a buffer has used. Spectators create transient entities, whose ids are returned one by
// one.
static uint32_t command_ids_used(const orr_command_buffer* commands)
{
    return commands->rights->spectator ? 0 : commands->create_count;
}

bool orri_command_ids_return(orri_merge* merge)
{
    const struct orri_command_buffers* command_buffers = merge->command_buffers;
    uint32_t count = 0;
    for (const orr_command_buffer* commands = command_buffers->first; commands != NULL;
         commands = commands->next) {
        count += command_ids_used(commands);
    }
    merge->held_count = 0;
    if (count == 0) {
        return true;
    }
    merge->held = orri_merge_take(merge, count * sizeof *merge->held);
    if (merge->held == NULL) {
        (void)orri_refuse_memory(&merge->world->env, "returning reserved ids");
        return false;
    }
    uint32_t at = 0;
    for (const orr_command_buffer* commands = command_buffers->first; commands != NULL;
         commands = commands->next) {
        uint32_t used = command_ids_used(commands);
        if (used > 0) {
            memcpy(merge->held + at, command_buffers->held + commands->base,
                   used * sizeof *merge->held);
            at += used;
        }
    }
    if (!orri_index_unhold(merge->world, merge->held, count)) {
        return false;
    }
    merge->held_count = count;
    return true;
}

void orri_command_ids_retake(orri_merge* merge)
{
    // Cannot fail: they are still the first of the free list, and their index pages were just made
    // writable.
    bool held = orri_index_hold(merge->world, merge->held, merge->held_count);
    ORR_ASSERT(held);
    (void)held;
}

// Removes null entries from `held`; the order stays.
static void command_ids_close_up(struct orri_command_buffers* command_buffers)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < command_buffers->held_count; i++) {
        if (command_buffers->held[i].id != 0) {
            command_buffers->held[kept++] = command_buffers->held[i];
        }
    }
    command_buffers->held_count = kept;
}

void orri_command_ids_forget(struct orri_command_buffers* command_buffers)
{
    for (const orr_command_buffer* commands = command_buffers->first; commands != NULL;
         commands = commands->next) {
        for (uint32_t i = 0; i < command_ids_used(commands); i++) {
            command_buffers->held[commands->base + i].id = 0;
        }
    }
    command_ids_close_up(command_buffers);
}

// ---- ids of transient entities, one by one ------------------------------------------------------

void orri_command_ids_return_transient(orr_world* world, orr_entity entity)
{
    orri_transient_unhold(world, &entity, 1);
}

void orri_command_ids_end_transient(orr_world* world, struct orri_command_buffers* command_buffers,
                                    orr_entity entity, bool created)
{
    orr_entity again;
    if (!created) {
        bool held = orri_transient_hold(world, &again, 1); // It is the first of the free list.
        ORR_ASSERT(held && again.id == entity.id);
        (void)held;
        return;
    }
    // Entities are created in the order of `held`: the search begins after the last one found.
    for (uint32_t i = 0; i < command_buffers->held_count; i++) {
        uint32_t at = (command_buffers->held_next + i) % command_buffers->held_count;
        if (command_buffers->held[at].id == entity.id) {
            command_buffers->held[at].id = 0;
            command_buffers->held_next = at + 1;
            return;
        }
    }
}

void orri_command_ids_forget_transient(struct orri_command_buffers* command_buffers)
{
    command_ids_close_up(command_buffers);
    command_buffers->held_next = 0;
}
