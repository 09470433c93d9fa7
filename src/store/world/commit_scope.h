// SPDX-License-Identifier: MIT
// Commits beside running systems (real time). A commit scope is the set of clusters that a commit
// has locked for itself. The commit changes these clusters only, or is refused before anything of
// it is done and repeated while no system runs. So a commit need not wait for systems that iterate
// other clusters.
//
// Also here: memory that running systems may still read, which is freed later.
#ifndef ORRI_STORE_WORLD_COMMIT_SCOPE_H
#define ORRI_STORE_WORLD_COMMIT_SCOPE_H

#include "store/world/world.h"

// A scope is either recording (the commit may change all clusters; those it touches are noted for
// the next time) or a limit (it may change only the clusters noted before).
typedef struct orri_commit_scope {
    uint64_t* bits; // Clusters in the scope, by cluster index.
    uint32_t words; // Of `bits`.
    uint32_t count; // Clusters in the scope.
    bool recording;
    // A cluster could not be noted: out of memory. The scope cannot serve as a limit.
    bool incomplete;
} orri_commit_scope;

static inline bool orri_commit_scope_has(const orri_commit_scope* scope, uint32_t cluster_index)
{
    return cluster_index / 64 < scope->words && orri_bit_get(scope->bits, cluster_index);
}
// Call it before a cluster is changed. False (reported): the cluster is outside the scope of the
// commit.
ORRI_COLD bool orri_commit_scope_touch_slow(orr_world* world, const orri_cluster* cluster);
static inline bool orri_commit_scope_touch(orr_world* world, const orri_cluster* cluster)
{
    return ORR_LIKELY(world->change.commit_scope == NULL) ||
           orri_commit_scope_touch_slow(world, cluster);
}
// Call it before a cluster is created or gets enable bits: queries would match it, while running
// systems iterate their matches. False (reported): the commit is limited to its scope.
ORRI_COLD bool orri_commit_scope_registry_slow(orr_world* world);
static inline bool orri_commit_scope_registry(orr_world* world)
{
    return ORR_LIKELY(world->change.commit_scope == NULL) || orri_commit_scope_registry_slow(world);
}
void orri_commit_scope_free(orr_world* world, orri_commit_scope* scope);

// ---- memory that running systems may still read -------------------------------------------------

// A list that grows is replaced while systems may read the old memory. In lockstep the old memory
// is freed at once; in real time it stays until no system runs.
//
// Makes room for one more orri_retire(). False (silent): out of memory; the list must not be
// replaced.
bool orri_retire_reserve(orr_world* world);
// Frees memory now or, in real time, with orri_retired_free().
void orri_retire(orr_world* world, orr_memory_purpose purpose, void* memory, size_t size,
                 size_t align);
// Frees all retired memory. No system may run.
void orri_retired_free(orr_world* world);

#endif
