// SPDX-License-Identifier: MIT
// Queries of the model test. A query is stored as plain terms, so that its result can be calculated
// by checking every entity of the oracle. Only the order of the result comes from the world, from
// its public walk over clusters and chunks.
#ifndef TEST_MODEL_OPS_QUERY_H
#define TEST_MODEL_OPS_QUERY_H

#include "model/ops.h"

#define OPS_TERMS_MAX 6u
#define OPS_ASKED_MAX 24u // Fields of one query, sets included.

// The terms of a query.
typedef struct ops_spec {
    orr_term terms[OPS_TERMS_MAX];
    uint32_t term_count;
    orr_enable_state entities;
    bool predicate, grouped, ordered, descending;
    bool touched;        // Changed-since returns all rows that may have changed.
    uint32_t order_type; // If ordered, by the field of ops_type.order.
    orr_set_kind set;
    struct ops_spec *left, *right; // Of a set; owned.
} ops_spec;

struct ops_query {
    orr_query* query;
    ops_spec spec;
    uint64_t mark;        // An orr_change_mark(),
    uint64_t clock;       // and at that moment oracle.clock,
    uint64_t structure;   // oracle.structure,
    uint64_t refusals;    // and the number of refusals.
    uint64_t refused_ask; // Evaluated when memory was refused.
};

// A type whose column a query returns.
typedef struct ops_field {
    uint32_t type; // Index of oracle.types; UINT32_MAX: orr_name.
    orr_access access;
} ops_field;

// Entities with their place, in order of clusters and rows.
typedef struct ops_listed {
    oracle_entity* entity;
    orr_cluster cluster;
    uint32_t row;
} ops_listed;

typedef struct ops_answer {
    ops_listed* list;
    uint32_t count, capacity;
} ops_answer;

// All entities. Valid until something moves.
const ops_answer* ops_listing(ops* s);
// The expected result of the query, in order. `since` NULL: everything counts as changed; otherwise
// only what the oracle knows to have been written after that clock.
void ops_answer_make(ops* s, const ops_spec* spec, const uint64_t* since, ops_answer* out);
void ops_answer_free(ops_answer* answer);
bool ops_spec_matches(const ops* s, const ops_spec* spec, const ops_listed* listed);
uint32_t ops_spec_fields(const ops* s, const ops_spec* spec, ops_field* out);
bool ops_spec_changed(const ops_spec* spec);
uint64_t ops_group_of(const orr_world* world, orr_cluster cluster);

// Later changes count as new from now on.
void ops_query_mark(ops* s, ops_query* q);
// A live query; NULL if there is none.
ops_query* ops_query_pick(ops* s);
// Compares everything that can be read from a query. Memory is not refused meanwhile.
void ops_query_compare(ops* s, ops_query* q);
// A run of a loop: its entities, columns, pinned values and instances must be those of `rows`.
void ops_query_check_run(ops* s, const ops_query* q, orr_iter* it, const ops_listed* rows);
// Numbers from a separate stream, so that the changes of a run do not depend on them; see
// ops_shape.separate.
void ops_separate_begin(ops* s);
void ops_separate_end(ops* s);

#endif
