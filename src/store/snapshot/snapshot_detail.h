// SPDX-License-Identifier: MIT
// The structure of a snapshot, for snapshot.c, restore.c and tests.
#ifndef ORRI_STORE_SNAPSHOT_SNAPSHOT_DETAIL_H
#define ORRI_STORE_SNAPSHOT_SNAPSHOT_DETAIL_H

#include "store/pool/pool.h"
#include "store/snapshot/snapshot.h"

// A column of a chunk.
typedef struct orri_column_node {
    // NULL: the column had no memory (a marker, or enable bits that were all on).
    orri_share* share;
    uint64_t tick; // World tick of the last write.
} orri_column_node;

// A chunk. The next snapshot takes the same node while all its shares are attached and clean, and
// all ticks are the same.
typedef struct orri_chunk_node {
    uint32_t refs;                 // Cluster nodes that have it.
    uint32_t id, number, capacity; // As in orri_chunk.
    uint32_t column_count;         // As in orri_chunk: with enable bits.
    uint64_t sequence;             // Sequence of its cluster.
    uint64_t round;                // Last byte count that included the node (orri_snapshot_bytes).
    uint64_t epoch; // It describes the blocks of values as they were up to this epoch.
    bool has_bits;  // It has enable bits.
    orri_column_node columns[];
} orri_chunk_node;

// A cluster: its identity and its rows. The sequence distinguishes it from every other cluster that
// ever existed.
typedef struct orri_cluster_node {
    uint32_t refs;              // Snapshots that have it.
    uint32_t index, generation; // Handle of the cluster.
    uint64_t sequence;
    uint64_t round; // As in orri_chunk_node.
    uint32_t row_count, type_count, tag_count, chunk_count;
    orri_chunk_node** chunks;
    orr_tag* tags;
    orr_type* types;
    uint16_t* capacities; // [type_count] Instances a row has room for.
    // [type_count + 1] The column has enable bits; the last one: of the entities.
    bool* has_bits;
} orri_cluster_node;

// The names of tags.
typedef struct orri_tags_node {
    uint32_t refs;
    uint64_t state; // world->tags.state: equal states have equal lists.
    uint64_t round; // As in orri_chunk_node.
    orri_tag_list list;
} orri_tags_node;

// Generation and free list link of a cluster number, used or not.
typedef struct orri_saved_slot {
    uint32_t generation, free_next;
} orri_saved_slot;

struct orri_snapshot {
    orr_world* world;
    uint64_t losses; // world->cow.losses when the snapshot was last known to be complete.
    bool lost;       // Some share is lost.
    uint64_t tick;
    orr_entity singleton;
    uint32_t instance_last, instance_sent;
    uint32_t entity_count, free_first, free_count, live_count; // As in the entity index.
    orri_share** pages;                                        // Pages of the entity index.
    uint32_t page_count;
    orri_cluster_node** clusters; // In order of creation.
    uint32_t cluster_count;
    orri_saved_slot* slots; // By cluster number.
    uint32_t slot_count, slot_free;
    orri_pool_node** pools; // In order of types, without transient ones, which are not state.
    uint32_t pool_count;
    orri_tags_node* tags;
};

// The newest node of everything, for the next snapshot. These pointers hold no reference: a node
// that ends clears its pointer. Exists while there are snapshots.
struct orri_snapshots {
    uint32_t count;           // Snapshots.
    orri_chunk_node** chunks; // By chunk id.
    uint32_t chunk_capacity;
    orri_cluster_node** clusters; // By cluster number.
    uint32_t cluster_capacity;
    orri_pool_node** pools; // By type index.
    uint32_t pool_capacity;
    orri_tags_node* tags;
};

#endif
