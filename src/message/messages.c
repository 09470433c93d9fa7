// SPDX-License-Identifier: MIT
// The module's part of a world (world->messages): allocated at first use, freed with the world.
#include "message/past/past.h"
#include "message/send/command_buffer.h"

// Frees everything; called by the store when the world is destroyed.
static void messages_gone(orr_world* world)
{
    orri_messages_restore_cancel(world);
    orri_messages_settled_term(world);
    orri_command_buffers_term(world);
    orri_baseline_term(world);
    orri_events_term(world);
    orri_atomic_sections_term(world);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_messages, world->messages, 1);
    world->messages = NULL;
}

struct orri_messages* orri_messages_of(orr_world* world)
{
    if (world->messages == NULL) {
        world->messages = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, struct orri_messages, 1);
        if (world->messages == NULL) {
            (void)orri_refuse_memory(&world->env, "allocating the messages of a world");
            return NULL;
        }
        world->extensions[ORRI_EXTENSION_MESSAGES].gone = messages_gone;
        world->extensions[ORRI_EXTENSION_MESSAGES].validate = orri_events_validate;
        // Now, so that opening a command buffer is never refused.
        if (!orri_command_buffers_begin(world)) {
            messages_gone(world);
            world->extensions[ORRI_EXTENSION_MESSAGES] = (orri_extension){0};
        }
    }
    return world->messages;
}
