// SPDX-License-Identifier: MIT
// The raw limits: the same work on plain arrays, with nothing that the work does not need. Compiled
// separately from its callers, so that no known size or unused result can shorten a loop.
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <orrery/schema.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_STRUCT(Health, (float, value))
ORR_STRUCT(Acceleration, (float, x), (float, y))
ORR_STRUCT(Data, (int64_t, count), (double, sum))
ORR_STRUCT_EX(Anchor, (.storage = ORR_PINNED), (float, value)) // As Health, but pinned.

ORR_STRUCT_EX(Spot, (.multiplicity = ORR_MULTIPLE), (float, x), (float, y))

// For frame_7.
ORR_STRUCT(Life, (int32_t, hp), (int32_t, most), (uint32_t, status))
ORR_STRUCT(Harm, (int32_t, attack), (int32_t, defence))
ORR_STRUCT(Sprite, (uint32_t, glyph))

// For two_pipelines.
ORR_STRUCT(Spot3, (float, x), (float, y), (float, z))
ORR_STRUCT(Turn, (float, x), (float, y), (float, z), (float, w))

// The types of a cluster.
typedef struct raw_signature {
    uint64_t words[2];
} raw_signature;

// The record of an id. `row` is the next free index while the record is free; its top bit selects
// the table.
typedef struct raw_record {
    uint32_t row;
    uint32_t generation;
} raw_record;

#define RAW_TABLE_BIT 0x80000000u
#define RAW_NONE      UINT32_MAX

typedef struct raw_table {
    Position* positions;
    Velocity* velocities;
    Health* healths;  // Only in the second table.
    uint32_t* owners; // Index of the record of each row.
    uint32_t count;
} raw_table;

// An id is generation << 32 | index of the record.
typedef struct raw_store {
    raw_record* records;
    uint32_t free; // First free record, or RAW_NONE.
    raw_table tables[2];
    uint64_t* bits; // One per row of the first table.
    Acceleration* accelerations;
    Data* data;
    // A sparse set: position in the dense arrays by record; RAW_NONE without a value.
    uint32_t* sparse;
    uint32_t* dense_owners;
    Anchor* dense_values;
    uint32_t dense_count;
    raw_signature* signatures; // One per cluster.
    uint32_t* matched;
    uint64_t* versions; // One per chunk.
    Spot* spots;        // Four per entity.
} raw_store;

// A run of rows.
typedef struct raw_span {
    Position* positions;
    uint32_t count;
} raw_span;

// Loops shared by ours and the limit: the same machine code runs over both kinds of memory.
void raw_move_1(Position* p, uint32_t count);
void raw_move_2(Position* restrict p, const Velocity* restrict v, uint32_t count);
void raw_move_5(Position* restrict p, Velocity* restrict v, const Acceleration* restrict a,
                Health* restrict h, Data* restrict d, uint32_t count);
void raw_move_spans(const raw_span* spans, uint32_t span_count);

// The seven loops of a frame.
void raw_frame_move(Position* restrict p, const Velocity* restrict v, float dt, uint32_t count);
void raw_frame_data(Data* d, float dt, uint32_t count);
void raw_frame_steer(Velocity* restrict v, const Data* restrict d, const Position* restrict p,
                     uint32_t count);
void raw_frame_life(Life* life, uint32_t count);
void raw_frame_harm(Life* restrict life, const Harm* restrict harm, uint32_t count);
void raw_frame_sprite(Sprite* restrict sprite, const Life* restrict life, uint32_t count);
void raw_frame_draw(uint32_t* restrict picture, const Position* restrict p,
                    const Sprite* restrict sprite, uint32_t count);
#define RAW_PICTURE 4096u // Cells of the picture.

// A recorded add, applied later.
uint32_t raw_add_noted(raw_store* raw, const uint64_t* ids, uint64_t* restrict noted,
                       Health* restrict values, uint32_t count);

// A recorded sum, applied later.
typedef struct raw_note {
    uint64_t id;
    float amount;
} raw_note;

// For each target adds an amount to its x: records all sums, sorts them by target in a stable sort,
// and applies them. Uses two arrays of `count` sums. `bits` bits are enough for every index.
uint32_t raw_transact(raw_store* raw, const uint64_t* targets, const float* amounts, uint32_t count,
                      raw_note* restrict notes, raw_note* restrict sorted, uint32_t bits);

// ---- one entity at a time (raw_single.c) --------------------------------------------------------

// The six types of create_naive_6.
typedef struct raw_six {
    Position position;
    Velocity velocity;
    Health health;
    Acceleration acceleration;
    Data data;
    Life life;
} raw_six;

// Creates one entity with two values, in a recycled record if there is one. Returns its id.
uint64_t raw_create_one(raw_store* raw, Position p, Velocity v);
// The same with six values; the columns of the other four types are in `six`.
typedef struct raw_columns_six {
    Health* healths;
    Acceleration* accelerations;
    Data* data;
    Life* lives;
} raw_columns_six;
uint64_t raw_create_one_six(raw_store* raw, const raw_columns_six* six, const raw_six* values);
// Moves one row to the second table and back, `count` times. Returns the number of pairs.
uint32_t raw_move_lone(raw_store* raw, uint64_t id, uint32_t count);
// Copies the positions of some entities. Returns their number.
uint32_t raw_get_many(const raw_store* raw, const uint64_t* ids, uint32_t count,
                      Position* restrict out);

// A tree: each parent has a doubly linked list of its children, so that a child can leave it.
typedef struct raw_node {
    uint32_t parent, first, next, previous; // Indices of records; RAW_NONE: none.
} raw_node;
// Creates a node without a parent. Returns its id.
uint64_t raw_create_node(raw_store* raw, raw_node* nodes, Position p);
// Makes a node the first child of its parent. false if one of them is dead, or it has a parent.
bool raw_parent_set(const raw_record* records, raw_node* nodes, uint64_t child_id,
                    uint64_t parent_id);

// Lists the rows of the tables that have some. Returns the number of spans.
uint32_t raw_spans_list(const raw_table* const* tables, uint32_t count, raw_span* restrict out);

// Number of the `count` positions whose distance to `a` is less than 1.
uint32_t raw_near(Position a, const Position* b, uint32_t count);
// Writes the indices of the signatures that have all of `wanted`. Returns their number.
uint32_t raw_match(const raw_signature* signatures, uint32_t count, raw_signature wanted,
                   uint32_t* restrict out);
uint32_t raw_newer(const uint64_t* versions, uint32_t count, uint64_t since);
float raw_sum_4(const Spot* spots, uint32_t count, float sum);

void raw_create_empty(raw_record* restrict records, uint64_t* restrict ids, uint32_t count);
void raw_create_2(raw_store* raw, uint64_t* restrict ids, uint32_t count);
void raw_create_2_bulk(raw_store* raw, const raw_record* records, const Position* p,
                       const Velocity* v, const uint64_t* ids, uint64_t* out, uint32_t count);
// Return the number of live ids.
uint32_t raw_destroy(raw_store* raw, const uint64_t* ids, uint32_t count);
uint32_t raw_add(raw_store* raw, const uint64_t* ids, uint32_t count);
uint32_t raw_remove(raw_store* raw, const uint64_t* ids, uint32_t count);
uint32_t raw_sparse_add(raw_store* raw, const uint64_t* ids, uint32_t count);
uint32_t raw_sparse_remove(raw_store* raw, const uint64_t* ids, uint32_t count);
uint32_t raw_toggle(raw_store* raw, const uint64_t* ids, uint32_t count, bool on);
float raw_sparse_get(const raw_store* raw, const uint64_t* ids, uint32_t count);
float raw_get(const raw_store* raw, const uint64_t* ids, uint32_t count);
uint32_t raw_set(raw_store* raw, const uint64_t* ids, const Position* values, uint32_t count);
// Writes new values for some ids, at the places given by their records.
uint32_t raw_apply_spots(const raw_record* records, const uint64_t* ids,
                         const Spot3* restrict values, uint32_t count, Spot3* restrict column);
uint32_t raw_apply_turns(const raw_record* records, const uint64_t* ids,
                         const Turn* restrict values, uint32_t count, Turn* restrict column);
void raw_copy_columns(const raw_table* from, raw_table* to, uint32_t count);
void raw_free_records(raw_store* raw);

// Not timed: fills the first table and the records with n entities and returns their ids.
void raw_fill(raw_store* raw, const Position* p, const Velocity* v, uint64_t* ids, uint32_t count);
uint64_t raw_digest(const Position* p, uint32_t count);
uint64_t raw_store_digest(const raw_store* raw);

#endif
