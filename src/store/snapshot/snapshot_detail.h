// SPDX-License-Identifier: MIT
// What a snapshot is made of. For snapshot.c, restore.c and tests.
#ifndef ORRI_STORE_SNAPSHOT_SNAPSHOT_DETAIL_H
#define ORRI_STORE_SNAPSHOT_SNAPSHOT_DETAIL_H

#include "store/pool/pool.h"
#include "store/snapshot/snapshot.h"

// `share` is NULL where the column had no memory: markers, enable bits that were all on.
typedef struct orri_column_node {
    orri_share* share;
    uint64_t tick;
} orri_column_node;

// A chunk. Good for the next snapshot too while all its shares are attached and all ticks the same.
typedef struct orri_chunk_node {
    uint32_t refs;
    uint32_t id, number, capacity;
    uint32_t column_count;
    uint64_t sequence; // Of its cluster.
    uint64_t round;
    orri_column_node columns[];
} orri_chunk_node;

// A cluster: what it was made of, and its rows. Its sequence tells it from any other there ever was.
typedef struct orri_cluster_node {
    uint32_t refs;
    uint32_t index, generation;
    uint64_t sequence;
    uint64_t round;
    uint32_t row_count, type_count, tag_count, chunk_count;
    orri_chunk_node** chunks;
    orr_tag* tags;
    orr_type* types;
    uint16_t* capacities;
    bool* has_bits; // [type_count + 1]
} orri_cluster_node;

typedef struct orri_tags_node {
    uint32_t refs;
    uint64_t state; // world->tags.state.
    uint64_t round;
    orri_tag_list list;
} orri_tags_node;

typedef struct orri_slot_note {
    uint32_t generation, free_next;
} orri_slot_note;

struct orri_snapshot {
    orr_world* world;
    uint64_t losses; // world->cow.losses when it was last seen to be whole.
    bool lost;
    uint64_t tick;
    orr_entity singleton;
    uint32_t instance_last;
    uint32_t entity_count, free_first, free_count, live_count; // Of the index.
    orri_share** pages;
    uint32_t page_count;
    orri_cluster_node** clusters; // In order of creation.
    uint32_t cluster_count;
    orri_slot_note* slots;
    uint32_t slot_count, slot_free;
    orri_pool_node** pools; // In order of types. Transient ones are not state.
    uint32_t pool_count;
    orri_tags_node* tags;
};

// The newest node of each thing, held by nobody here: a node that goes takes itself out. Lives as long as there are snapshots.
struct orri_snapshots {
    uint32_t count;
    orri_chunk_node** chunks; // By chunk id.
    uint32_t chunk_capacity;
    orri_cluster_node** clusters; // By number.
    uint32_t cluster_capacity;
    orri_pool_node** pools; // By type index.
    uint32_t pool_capacity;
    orri_tags_node* tags;
};

#endif
