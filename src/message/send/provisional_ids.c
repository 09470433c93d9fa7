// SPDX-License-Identifier: MIT
// Provisional entity ids: the ids of creations beyond those that a command buffer has reserved. How
// many entities the buffers before it create is not known while systems run, so the final id is not
// known either. A provisional id has the dead bit, which no id of an entity has, so it never names
// an entity.
//
//    provisional id: │ dead bit, 31 bits of a hash of tick, system and run │ number of the creation │
//
// When the system has ended, before anything is done with its commands, all provisional ids of a
// buffer are replaced: in its commands, in the values they carry, and in its transactions. The new
// ids are the positions after everything that was reserved so far, in the order of buffers and of
// calls. All buffers of a group are open by then, so the positions do not depend on the number of
// workers.
#include "message/send/command_buffer.h"

// The hash keeps ids of different runs apart: an id that a system kept from an earlier run is
// dropped as the id of a dead entity.
uint32_t orri_provisional_half(const orr_command_buffer* commands)
{
    uint64_t hash = orri_hash_word(commands->world->tick, commands->rights->system.id);
    hash = orri_hash_word(hash, commands->base);
    return ORRI_DEAD | (uint32_t)(hash >> 32);
}

// The ids that replace the provisional ids of one buffer.
typedef struct provisional_map {
    const orr_entity* ids;
    uint32_t count;
    uint32_t half;
} provisional_map;

static orr_entity provisional_ids_find(void* user, orr_entity entity)
{
    const provisional_map* map = user;
    bool known = orri_id_generation(entity) == map->half && orri_id_index(entity) < map->count;
    return ORR_UNLIKELY(known) ? map->ids[orri_id_index(entity)] : entity;
}

bool orri_provisional_in_bytes(const orr_command_buffer* commands, const void* data, size_t size)
{
    uint32_t count = orri_command_buffer_provisional(commands);
    for (size_t at = 0; count > 0 && at + sizeof(orr_entity) <= size; at += sizeof(orr_entity)) {
        orr_entity entity;
        memcpy(&entity, (const uint8_t*)data + at, sizeof entity);
        if (orri_id_generation(entity) == commands->provisional_half &&
            orri_id_index(entity) < count) {
            return true;
        }
    }
    return false;
}

static void provisional_ids_replace_array(orri_command_array* array, provisional_map* map)
{
    for (uint32_t i = 0; array->entities != NULL && !array->shares_entities && i < array->count;
         i++) {
        array->entities[i] = provisional_ids_find(map, array->entities[i]);
    }
    if (array->kind == ORRI_COMMAND_NAME) {
        orri_command_name* names = (orri_command_name*)(void*)array->values;
        for (uint32_t i = 0; i < array->count; i++) {
            names[i].scope = provisional_ids_find(map, names[i].scope);
        }
    } else if (array->stride > 0 && array->info != NULL) {
        orri_values_entity_map(&array->info->info, array->values, array->count,
                               provisional_ids_find, map);
    }
}

static void provisional_ids_replace_buffer(orr_command_buffer* commands, provisional_map* map)
{
    for (uint32_t i = 0; i < commands->order_count; i++) {
        provisional_ids_replace_array(&commands->arrays[commands->order[i]], map);
    }
    orri_posts_entity_map(commands, provisional_ids_find, map);
}

// Reserves the next `count` ids. Returns false when refused (reported).
static bool provisional_ids_take(orr_world* world, struct orri_command_buffers* command_buffers,
                                 orr_entity* out, uint32_t count)
{
    if (ORR_UNLIKELY(command_buffers->withholds)) {
        if (!orri_command_buffers_withhold_ids(world, count)) {
            return false;
        }
        memcpy(out, command_buffers->withheld + command_buffers->reserved, count * sizeof *out);
        return true;
    }
    orri_index_cursor cursor = command_buffers->cursor;
    orri_free_samples_extend(world, command_buffers->reserved <= UINT32_MAX
                                        ? (uint32_t)command_buffers->reserved
                                        : UINT32_MAX);
    if (command_buffers->reserved <= UINT32_MAX &&
        orri_index_next(world, &cursor, (uint32_t)command_buffers->reserved, out, count)) {
        return true;
    }
    (void)orri_refuse(&world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_ENTITY_REFUSED,
                      "the world may have at most %u entities, and its systems create %u more than "
                      "it has room for; raise entities_max, or limit them by .creates_max",
                      world->limits.entities, count);
    return false;
}

bool orri_provisional_ids_replace(orr_world* world)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    uint64_t count = command_buffers->provisional;
    if (ORR_LIKELY(count == 0)) {
        return true;
    }
    orr_entity* ids = count <= UINT32_MAX ? orri_commit_arena_take(world, &command_buffers->arena,
                                                                   (size_t)count * sizeof *ids)
                                          : NULL;
    if (ids == NULL) {
        (void)orri_refuse_memory(&world->env, "giving ids to created entities");
    }
    bool taken = ids != NULL && provisional_ids_take(world, command_buffers, ids, (uint32_t)count);
    uint32_t at = 0;
    for (orr_command_buffer* commands = taken ? command_buffers->unseen : NULL; commands != NULL;
         commands = commands->next) {
        provisional_map map = {ids + at, orri_command_buffer_provisional(commands),
                               commands->provisional_half};
        if (map.count > 0 && commands->later_base == ORRI_PROVISIONAL_OPEN) {
            commands->later_base = command_buffers->reserved + at;
            provisional_ids_replace_buffer(commands, &map);
            at += map.count;
        }
    }
    ORR_ASSERT(!taken || at == count);
    command_buffers->reserved += at;
    command_buffers->provisional -= at;
    orri_commit_arena_reset(&command_buffers->arena);
    return taken;
}
