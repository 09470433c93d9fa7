// SPDX-License-Identifier: MIT
// The walk over all blocks of a world or of a snapshot, without allocation:
//
//     for (orri_blocks walk = orri_blocks_begin(world); orri_blocks_next(&walk);) {
//         use(&walk.block);
//     }
//
// Order, which is also the order of the world's hash:
//   1. index pages, ascending
//   2. clusters in order of creation; their chunks; all columns of a chunk in the order of
//      orri_chunk.columns, so enable bits come last
//   3. pools in order of types; their blocks, ascending
//
// A world and a snapshot that was just taken of it give equal blocks in the same order. The world
// or snapshot must not change during a walk.
#ifndef ORRI_STORE_SNAPSHOT_BLOCKS_H
#define ORRI_STORE_SNAPSHOT_BLOCKS_H

#include "store/pool/pool.h"
#include "store/snapshot/snapshot.h"

// README.md has a table of the kinds.
typedef enum orri_block_kind {
    ORRI_BLOCK_PAGE,
    ORRI_BLOCK_VALUES,
    ORRI_BLOCK_ROW_IDS,
    ORRI_BLOCK_COUNTS,
    ORRI_BLOCK_INSTANCE_IDS,
    ORRI_BLOCK_BITS,
    ORRI_BLOCK_POOL,
    ORRI_BLOCK_KIND_COUNT,
} orri_block_kind;

typedef struct orri_block {
    orri_block_kind kind;
    uint32_t cluster; // Index of the cluster. ORRI_INDEX_NONE: pages, pools, transient entities.
    uint32_t number;  // Of the chunk in its cluster, of the page, or of the block in its pool.
    uint32_t column;  // In orri_chunk.columns. 0: pages and pools.
    uint32_t rows;    // Rows of the chunk, records of the page, or slots of the block ever used.
    // Of values and of their enable bits; NULL: pages, row ids, counts, instance ids and the enable
    // bits of these.
    const orri_type* type;
    // The bytes of all rows; those of enable bits for a full chunk. 0: a column without memory,
    // that is, a marker or enable bits that are all on.
    size_t bytes;
    // NULL: a column without memory. In a snapshot also: the share does not have all its values in
    // one place (orri_row_log_read() reads them), or is LOST.
    const void* data;
    uint64_t tick; // World tick of the last write; 0: pages.
    // Pools: owner and free list link by slot; enable bits, NULL: all on. All are NULL for other
    // kinds and for a LOST share.
    const uint32_t *owners, *links;
    const uint64_t* enabled;
    // World: the attached share. Snapshot: its share. NULL: none. Pools have `pool_share`, all
    // other kinds `share`.
    orri_share* share;
    orri_pool_share* pool_share;
    const orri_chunk* chunk; // World: of a column; otherwise NULL.
    const orri_pool* pool;   // Pools; otherwise NULL.
} orri_block;

typedef struct orri_blocks {
    orri_block block; // The current block, once orri_blocks_next() has returned true.
    const orr_world* world;
    const orri_snapshot* snapshot; // NULL: the walk is over the world.
    bool transient;                // The walk includes transient data.
    // Position of the next block: page; cluster (world: pointer, snapshot: number), chunk, column;
    // pool, block of the pool.
    uint32_t page;
    const orri_cluster* cluster;
    uint32_t cluster_number, chunk, column;
    uint32_t pool, pool_block;
} orri_blocks;

// Begins a walk over the blocks that are state.
orri_blocks orri_blocks_begin(const orr_world* world);
// Begins a walk over these blocks, the row ids of transient entities (after all clusters) and the
// pools of transient types. Not over the index pages of transient entities.
orri_blocks orri_blocks_begin_all(const orr_world* world);
// Begins a walk over the blocks of a snapshot.
orri_blocks orri_blocks_begin_snapshot(const orri_snapshot* snapshot);
// Goes to the next block. False: there is none.
bool orri_blocks_next(orri_blocks* walk);

#endif
