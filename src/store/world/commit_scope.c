// SPDX-License-Identifier: MIT
// Commit scopes and retired memory (commit_scope.h).
#include "store/world/commit_scope.h"

ORRI_COLD static bool commit_scope_refuse(orr_world* world, const char* what)
{
    (void)orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                      "a commit that was made while systems run %s; no action is needed: it is "
                      "repeated while no system runs",
                      what);
    return false;
}

// Adds a cluster to the scope.
static void commit_scope_note(orr_world* world, orri_commit_scope* scope, uint32_t index)
{
    uint32_t old = scope->words;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &scope->bits, &scope->words,
                      index / 64 + 1)) {
        scope->incomplete = true; // The next commits wait for all systems.
        return;
    }
    for (uint32_t w = old; w < scope->words; w++) {
        scope->bits[w] = 0;
    }
    scope->count += !orri_bit_get(scope->bits, index);
    orri_bit_set(scope->bits, index, true);
}

bool orri_commit_scope_touch_slow(orr_world* world, const orri_cluster* cluster)
{
    orri_commit_scope* scope = world->change.commit_scope;
    if (cluster->transient || orri_commit_scope_has(scope, cluster->index)) {
        return !cluster->transient || scope->recording ||
               commit_scope_refuse(world, "changes transient entities");
    }
    if (!scope->recording) {
        return commit_scope_refuse(world, "changes a cluster outside its scope");
    }
    commit_scope_note(world, scope, cluster->index);
    return true;
}

bool orri_commit_scope_registry_slow(orr_world* world)
{
    return world->change.commit_scope->recording ||
           commit_scope_refuse(world, "would create a cluster");
}

void orri_commit_scope_free(orr_world* world, orri_commit_scope* scope)
{
    ORRI_RELEASE(&world->env, ORR_MEMORY_SYSTEM, scope->bits, scope->words);
    *scope = (orri_commit_scope){0};
}

// ---- memory that running systems may still read -------------------------------------------------

bool orri_retire_reserve(orr_world* world)
{
    return !world->realtime ||
           ORRI_RESERVE(&world->env, ORR_MEMORY_TEMP, &world->change.retired,
                        &world->change.retired_capacity, world->change.retired_count + 1);
}

void orri_retire(orr_world* world, orr_memory_purpose purpose, void* memory, size_t size,
                 size_t align)
{
    if (!world->realtime) {
        orri_free(&world->env, purpose, memory, size, align);
        return;
    }
    ORR_ASSERT(world->change.retired_count < world->change.retired_capacity);
    world->change.retired[world->change.retired_count++] =
        (orri_retired){memory, size, align, purpose};
}

void orri_retired_free(orr_world* world)
{
    while (world->change.retired_count > 0) {
        const orri_retired* last = &world->change.retired[--world->change.retired_count];
        orri_free(&world->env, last->purpose, last->memory, last->size, last->align);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_TEMP, world->change.retired,
                 world->change.retired_capacity);
    world->change.retired = NULL;
    world->change.retired_capacity = 0;
}
