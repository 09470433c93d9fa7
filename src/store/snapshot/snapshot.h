// SPDX-License-Identifier: MIT
// Snapshots: the state of the store at one moment, kept while the world continues, and restored
// later.
//
//   snapshot ──> clusters in order of creation ──> chunks ──> share and tick of each column
//            ──> shares of index pages
//            ──> pools of pinned types ──> shares of their blocks
//            ──> copies of the small lists that are state: tag names, cluster numbers, counters
//
// A snapshot shares memory with the world copy-on-write (cow/share.h). Its nodes are counted: a
// node whose data did not change between two snapshots belongs to both, so taking a snapshot costs
// one comparison for each column.
#ifndef ORRI_STORE_SNAPSHOT_SNAPSHOT_H
#define ORRI_STORE_SNAPSHOT_SNAPSHOT_H

#include "store/cow/share.h"

typedef struct orri_snapshot orri_snapshot;
typedef struct orri_restore orri_restore; // A restore that is prepared.

// Takes a snapshot. The world must be open and between ticks. NULL when refused (reported); then
// nothing is shared.
orri_snapshot* orri_snapshot_take(orr_world* world);
void orri_snapshot_release(orr_world* world, orri_snapshot* snapshot);
// True when memory for a copy was refused since: the snapshot cannot be restored any more.
bool orri_snapshot_lost(const orri_snapshot* snapshot);
// True when the data that only the snapshot has satisfies S18. (orr_world_validate() checks the
// data that the world has.)
bool orri_snapshot_valid(const orri_snapshot* snapshot);
// True when nothing was written since the snapshot was taken or restored.
bool orri_snapshot_same(orr_world* world, const orri_snapshot* snapshot);
// True when nothing was written since epoch `mark` ended. The caller knows that the world equalled
// the snapshot then; unlike orri_snapshot_same(), the shares may have passed to other snapshots
// since.
bool orri_snapshot_same_since(orr_world* world, const orri_snapshot* snapshot, uint64_t mark);
// Bytes that the snapshot keeps and the world does not have (`own`), and bytes that it shares with
// the world (`shared`). To count nodes of several snapshots once, ask all of them with the same
// `round`, a number that was never used before.
void orri_snapshot_bytes(const orri_snapshot* snapshot, uint64_t round, uint64_t* own,
                         uint64_t* shared);

// Restoring, in two steps. 1. Does everything that can be refused (reported, ORR_ERR_MEMORY;
// ORR_ERR_PAST for a lost snapshot), without visible effect.
orr_result orri_snapshot_restore_prepare(orr_world* world, orri_snapshot* snapshot,
                                         orri_restore** out);
// 2. Restores the state. Cannot fail. The world must have no publisher. Other snapshots keep their
// state. Versions do not go back: what differs counts as written in the current epoch. The listener
// is notified of clusters and pinned values that are added and removed. Frees `restore`.
void orri_snapshot_restore(orr_world* world, orri_restore* restore);
// Instead of 2: discards the prepared restore.
void orri_snapshot_restore_cancel(orr_world* world, orri_restore* restore);

#endif
