// SPDX-License-Identifier: MIT
// Which clusters a change of structure has to itself, where systems run beside it (real time): it stays within these, or is refused before
// anything of it is done. So a commit need not wait for systems that walk other clusters.
#ifndef ORRI_STORE_WORLD_COMMIT_SCOPE_H
#define ORRI_STORE_WORLD_COMMIT_SCOPE_H

#include "store/world/world.h"

typedef struct orri_commit_scope {
    uint64_t* bits; // By cluster index.
    uint32_t words;
    uint32_t count;  // Clusters in it.
    bool recording;  // All of them are its own; those that it touches are noted.
    bool incomplete; // One could not be noted, for want of memory.
} orri_commit_scope;

static inline bool orri_commit_scope_has(const orri_commit_scope* scope, uint32_t cluster_index)
{
    return cluster_index / 64 < scope->words && orri_bit_get(scope->bits, cluster_index);
}
// Before a cluster is changed. False (reported): it is out of scope.
ORRI_COLD bool orri_commit_scope_touch_long(orr_world* world, const orri_cluster* cluster);
static inline bool orri_commit_scope_touch(orr_world* world, const orri_cluster* cluster)
{
    return ORR_LIKELY(world->change.commit_scope == NULL) ||
           orri_commit_scope_touch_long(world, cluster);
}
// Before clusters come, or queries match one anew. False (reported): systems of others walk what they matched.
ORRI_COLD bool orri_commit_scope_registry_long(orr_world* world);
static inline bool orri_commit_scope_registry(orr_world* world)
{
    return ORR_LIKELY(world->change.commit_scope == NULL) || orri_commit_scope_registry_long(world);
}
void orri_commit_scope_free(orr_world* world, orri_commit_scope* scope);

// ---- memory that others still read -----------------------------------------------------------------------------------------

// Lists that grew while systems may read them: in real time the old memory stays until nobody runs. False (silent): no room to note it, and
// nothing may be replaced.
bool orri_retire_reserve(orr_world* world);
// After that: gives it back, at once or later.
void orri_retire(orr_world* world, orr_memory_purpose purpose, void* memory, size_t size,
                 size_t align);
// Nobody runs.
void orri_retired_free(orr_world* world);

#endif
