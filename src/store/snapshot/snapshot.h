// SPDX-License-Identifier: MIT
// The store at one moment, held while the world goes on, and gone back to.
//
//   snapshot ──> clusters in order ──> chunks ──> share of each column, its tick
//            ──> shares of index pages     ──> pools ──> shares of blocks     ──> lists that are state, as copies
//
// Nodes are counted: what did not change between two snapshots is one node of both, so taking one costs a look at each column.
#ifndef ORRI_STORE_SNAPSHOT_SNAPSHOT_H
#define ORRI_STORE_SNAPSHOT_SNAPSHOT_H

#include "store/cow/share.h"

typedef struct orri_snapshot orri_snapshot;
typedef struct orri_restore orri_restore;

// The world must be open, between ticks. NULL when refused (reported): nothing is held.
orri_snapshot* orri_snapshot_take(orr_world* world);
void orri_snapshot_release(orr_world* world, orri_snapshot* snapshot);
// True when a copy was refused since: it cannot be gone back to.
bool orri_snapshot_lost(const orri_snapshot* snapshot);
// True when what it keeps of its own holds S18. (What it shares with the world orr_world_validate() looks at.)
bool orri_snapshot_valid(const orri_snapshot* snapshot);
// True when the world is as it was then: nothing was written since it was taken, or gone back to.
bool orri_snapshot_same(orr_world* world, const orri_snapshot* snapshot);
// The same if it was so when epoch `mark` ended, whoever holds what by now: nothing was written since.
bool orri_snapshot_same_since(orr_world* world, const orri_snapshot* snapshot, uint64_t mark);
// Bytes that it keeps and the world does not have; and those it shares with the world. Nodes that several snapshots have are counted once if all of them are asked
// with the same `round`, a number that was never used before.
void orri_snapshot_bytes(const orri_snapshot* snapshot, uint64_t round, uint64_t* own,
                         uint64_t* shared);

// Going back, in two steps. All that may be refused: reported, no effect that can be seen.
orr_result orri_snapshot_restore_prepare(orr_world* world, orri_snapshot* snapshot,
                                         orri_restore** out);
// Nothing may be published. Everything that is state is as it was, and other snapshots are what they were. Versions go on: what is different counts as written now, in this epoch. Cannot
// fail. The listener hears of clusters and pinned values that come and go. Ends `way`.
void orri_snapshot_restore(orr_world* world, orri_restore* way);
// Or not after all.
void orri_snapshot_restore_cancel(orr_world* world, orri_restore* way);

#endif
