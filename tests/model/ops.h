// SPDX-License-Identifier: MIT
// An interpreter of operations: reads bytes (from a random generator or from a fuzzer), turns them
// into one call of the store, does the same to the oracle, and checks the result of the call. Bytes
// may request anything: dead ids, foreign ids, stale clusters, lists with duplicates, refused
// memory; the interpreter knows the expected result.
#ifndef TEST_MODEL_OPS_H
#define TEST_MODEL_OPS_H

#include "model/ops_kinds.h"
#include "model/oracle.h"

#define OPS_TYPES_MAX    96u
#define OPS_TAGS_MAX     40u
#define OPS_VALUE_MAX    256u // Bytes of the largest value, in the world's or the oracle's form.
#define OPS_SHARES_MAX   4u
#define OPS_BATCH_MAX    5000u
#define OPS_QUERIES_MAX  12u
#define OPS_REFS_MAX     8u
#define OPS_BUNDLES_MAX  12u
#define OPS_MEMORIES_MAX 5u

#define OPS_BUNDLE_ITEMS_MAX 12u

// The fixed types, as bits of ops_shape.types.
enum {
    OPS_POSITION = 1 << 0,
    OPS_VELOCITY = 1 << 1,
    OPS_HEALTH = 1 << 2,
    OPS_PADDED = 1 << 3,
    OPS_BIG = 1 << 4,
    OPS_TINY = 1 << 5,
    OPS_LINK = 1 << 6,
    OPS_LABEL = 1 << 7,
    OPS_LIST = 1 << 8,
    OPS_CROWD = 1 << 9,
    OPS_TOKEN = 1 << 10,
    OPS_FROZEN = 1 << 11,
    OPS_MULTIPLE = 15 << 12, // Shard, Memo, Spark, Badge
    OPS_SHARD = 1 << 12,
    OPS_SPARK = 1 << 14,
    OPS_PINNED = 63 << 16, // Body, Loose, Sign, Rope, Ghost, Seen
    OPS_BODY = 1 << 16,
    OPS_GHOST = 1 << 20,
    OPS_INDEXED = 15 << 22, // Holder, Aimer, Memoir, Knot
    OPS_HOLDER = 1 << 22,
    OPS_AIMER = 1 << 23,
    OPS_NEEDS =
        31 << 26, // Engine, Turbo, Yin, Yang, Rider: with Velocity, Health, Shard and Holder
    OPS_ALL = 0x7FFFFFFF,
};

// The settings of a run. The same bytes with other settings are another run.
typedef struct ops_shape {
    const char* name;
    uint32_t types;         // Bit i: type i of the fixed ones (ops_types.c) is used.
    uint32_t made_types;    // Number of types without a C struct that are added.
    uint32_t later_types;   // Number of types registered during the run.
    uint32_t tags;          // Different tags in use.
    uint32_t cluster_tags;  // Most of them in a requested set.
    uint32_t entities_max;  // Alive at once, approximately.
    uint32_t batch_max;     // Rows of one bulk call.
    uint32_t entities_hard; // orr_world_desc.entities_max; 0: none.
    uint32_t clusters_hard; // orr_world_desc.clusters_max; 0: none.
    // Whole clusters and worlds are cleared this many times less often; 0: as often as the rest.
    uint32_t calm;
    bool refuse_memory;
    bool refuse_hooks;
    bool shares;
    // Snapshots are taken and restored once in this many operations; 1: often; 0: never.
    uint32_t history;
    bool names;
    bool queries;
    bool hash_seldom; // The hash is calculated at the end only.
    // Queries are created and evaluated with numbers of their own, and change nothing, so that runs
    // with and without them, and with others, make the same changes to the world.
    bool separate;
    uint64_t separate_seed;
} ops_shape;

typedef struct ops ops;

typedef struct ops_type {
    const char* name;
    // Creates a value in both forms. False when the world refused memory for it.
    bool (*make)(ops* s, uint32_t type, void* world_value, void* value);
    bool plain;                // May be written as bytes through a column.
    bool owned;                // Holds handles.
    bool hooked;               // A Token.
    const orr_type_desc* desc; // NULL: created at run time.
    const char* order;         // A field that entities can be ordered by; NULL: none.
} ops_type;

typedef struct ops_share ops_share;
typedef struct ops_query ops_query;
typedef struct ops_bundle ops_bundle;
typedef struct ops_memory ops_memory;

struct ops {
    kit kit;
    orr_world* world;
    orr_world* foreign; // Another salt: its ids must be refused.
    orr_entity foreign_id;
    const ops_shape* shape;
    oracle oracle;
    ops_type types[OPS_TYPES_MAX];
    uint32_t later_done; // Types registered during the run.
    orr_tag tags[OPS_TAGS_MAX];
    orr_type name_type; // orr_name, once the world knows it.

    // Bytes: given ones, or (data NULL) random ones.
    const uint8_t* data;
    size_t data_size, data_used;
    uint64_t seed, seed_used;
    uint64_t separate_used;
    bool separate; // Numbers come from the separate stream.
    bool ended;

    // Clusters by handle, as far as they were seen.
    orr_cluster clusters[4096];
    uint32_t cluster_count;
    orr_cluster stale[64];
    uint32_t stale_count;
    orr_address address; // Kept from earlier, with its expected place now.

    ops_share* shares[OPS_SHARES_MAX];
    ops_query* queries[OPS_QUERIES_MAX];  // The first ones exist for the whole run.
    orr_component_ref refs[OPS_REFS_MAX]; // Kept from earlier.
    ops_bundle* bundles[OPS_BUNDLES_MAX];
    uint32_t bundle_count;
    ops_memory* memories[OPS_MEMORIES_MAX];
    uint64_t travels, memories_lost;
    orr_entity singleton; // If it was requested before.
    bool armed;           // Memory may be refused during this operation.
    bool hooks_armed;
    uint64_t done;     // Calls that changed the world.
    uint64_t refusals; // Calls that were refused as expected.
    uint64_t out_of_memory;
    uint32_t live_peak;    // Most entities at once.
    uint32_t rows_peak;    // Most rows of one cluster at a check.
    uint64_t checked_hash; // Refusals after which the hash was compared.
    uint64_t asked;        // Queries compared with the oracle.
    uint64_t matched;      // Entities they returned.
    uint64_t pairs;        // Pairs of cross products.
};

// `data` NULL: random bytes from the seed, without end.
void ops_begin(ops* s, const ops_shape* shape, uint64_t seed, const uint8_t* data, size_t size,
               uint8_t fill);
// Runs one operation. False when the bytes have ended.
bool ops_step(ops* s);
// Compares world and oracle, counts tokens and blobs, validates.
void ops_check(ops* s);
// Checks once more, destroys the world and checks for leaks. Returns the world's last hash.
uint64_t ops_end(ops* s);

// ---- shared by the ops_*.c ----------------------------------------------------------------------

uint32_t ops_below(ops* s, uint32_t count);
bool ops_chance(ops* s, uint32_t one_in);
// Bytes for any value.
void ops_bytes(ops* s, void* out, size_t size);

oracle_entity* ops_pick(ops* s);      // NULL if no entity is alive.
orr_cluster ops_pick_cluster(ops* s); // Null if there is none.
void ops_cluster_seen(ops* s, orr_cluster cluster);
void ops_cluster_gone(ops* s, orr_cluster cluster);
uint32_t ops_pick_type(ops* s);
// A type that can be part of a cluster.
uint32_t ops_pick_chunk_type(ops* s);
// Mostly a type that the entity has.
uint32_t ops_pick_type_of(ops* s, const oracle_entity* entity);
orr_tag ops_pick_tag(ops* s);
// Up to `count` different entities; returns their number. `out` and `ids` must have room.
uint32_t ops_pick_many(ops* s, oracle_entity** out, orr_entity* ids, uint32_t count);
bool ops_room_for(const ops* s, uint32_t count);

// True if the call was refused for a planned reason (memory, a hook, a limit of the desc): then
// nothing may have changed. Fails the test for any other refusal.
bool ops_refused(ops* s, orr_result result);
// The call must be refused with `expected` (or with ORR_ERR_MEMORY).
void ops_refused_as(ops* s, orr_result result, orr_result expected);
// The result of a call that would write a value in place where values must be passed: multiple
// types and indexed references.
void ops_refused_in_place(ops* s, uint32_t type);
// The result of a call that returned nothing, from the error handler.
orr_result ops_last_result(const ops* s);

// Creates a value of a type in both forms.
bool ops_make(ops* s, uint32_t type, void* world_value, void* value);
void ops_types_begin(ops* s);
void ops_type_register_next(ops* s);
// Number of distinct owned strings and arrays in the oracle.
uint32_t ops_blobs_expected(const ops* s);
uint64_t ops_tokens_expected(const ops* s);

// Moves an entity of the oracle to a cluster's set.
void ops_oracle_move(ops* s, oracle_entity* entity, const orr_cluster_info* to);
oracle_entity* ops_oracle_create_in(ops* s, orr_entity id, const orr_cluster_info* info);
// True if the row of an entity has room for its instances of multiple types in a cluster.
bool ops_fits(const ops* s, const oracle_entity* entity, const orr_cluster_info* to);
// Writes a new value to a place in the world that holds the value of a component.
void ops_write_through(ops* s, uint32_t type, void* place, oracle_component* component, uint32_t i);
// The ids of rows first … first + count - 1 of a cluster.
void ops_rows_read(ops* s, orr_cluster cluster, uint32_t first, uint32_t count, orr_entity* out);

typedef struct ops_entry {
    const char* name;
    uint32_t weight;
    void (*run)(ops* s);
} ops_entry;

extern const ops_entry ops_entity_table[], ops_cluster_table[], ops_batch_table[],
    ops_world_table[], ops_kind_table[], ops_query_table[], ops_loop_table[], ops_bulk_table[],
    ops_bundle_table[], ops_history_table[];

// Saves the whole state of a run, and restores it: NULL, or false, when refused.
ops_memory* ops_remember(ops* s);
bool ops_travel(ops* s, ops_memory* memory);
void ops_forget(ops* s, ops_memory* memory);
void ops_memories_release(ops* s);
uint64_t ops_memories_tokens(const ops* s, uint64_t round); // Tokens that only snapshots hold.

void ops_bundles_end(ops* s);
void ops_queries_begin(ops* s);
void ops_queries_check(ops* s);     // All of them, in every way.
void ops_queries_check_one(ops* s); // One of them, briefly.
void ops_queries_end(ops* s);

void ops_shares_check(ops* s);
void ops_shares_release(ops* s);
uint64_t ops_shares_tokens(const ops* s, uint64_t round); // Tokens that only shares hold.
// Tokens of a detached share; 0 if it was counted in this round.
struct orri_share;
uint64_t ops_share_tokens(struct orri_share* share, uint64_t round);

#endif
