// SPDX-License-Identifier: MIT
// Queries as the module sees them. README.md states the invariants.
//
//   terms ──> leaf ──┐
//   terms ──> leaf ──┴─ nodes (set algebra) ──> entries: matched clusters with a map field → column
//
// Vocabulary: a *leaf* is a conjunction of terms; a *field* is a type whose column can be asked for; an *entry* is a cluster
// that has rows which may match; its *match* says whether all of its rows do, or some, told by enable bits and pinned types.
#ifndef ORRI_QUERY_H
#define ORRI_QUERY_H

#include "store/pool.h"
#include "store/world.h"
#include <orrery/query.h>

#define ORRI_COLUMN_NONE \
    UINT16_MAX // In a map: the cluster lacks the field's type, or it is pinned.
#define ORRI_NODES_MAX   (2 * ORR_TERMS_MAX)
#define ORRI_CHUNK_WORDS (ORR_CHUNK_CAPACITY / 64)

typedef enum orri_match {
    ORRI_MATCH_NONE = 0,
    ORRI_MATCH_SOME, // Rows must be looked at.
    ORRI_MATCH_ALL,
} orri_match;

typedef struct orri_leaf {
    orr_term* terms; // [term_count]
    uint32_t term_count;
    orr_state entities;
    bool (*predicate)(void* user, const orr_world* world, orr_cluster cluster);
    void* user;
    uint64_t required_bloom; // Of the required types in chunks, as orri_cluster.type_bloom.
} orri_leaf;

// Set algebra in postfix: leaf numbers and operations over the two before.
typedef struct orri_node {
    orr_set set; // ORR_SET_NONE: the leaf.
    uint32_t leaf;
} orri_node;

typedef struct orri_field {
    orr_type type;
    const orri_type* info;
    orr_access access;
    bool pinned, multiple;
} orri_field;

typedef struct orri_entry {
    orri_cluster* cluster; // NULL: the cluster is gone.
    uint64_t sequence;     // Of the cluster: entries ascend by it (within a group).
} orri_entry;

struct orri_order;   // order.c: entities by key
struct orri_working; // working.c: entities with the pinned types

struct orr_query {
    orr_world* world;
    orr_query *prev, *next; // All queries of the world, in order of creation.
    char* name;             // Of the desc; NULL: none.
    orri_leaf* leaves;
    uint32_t leaf_count;
    orri_node* nodes;
    uint32_t node_count;
    orri_field* fields;
    uint32_t field_count;
    uint32_t map_stride; // field_count + 1: the last one is the match.
    uint64_t (*group_by)(void* user, const orr_world* world, orr_cluster cluster);
    void* group_user;
    orri_entry* entries;
    uint16_t* maps;   // [entry_capacity * map_stride]
    uint64_t* groups; // [entry_capacity]; NULL without group_by.
    uint32_t entry_count, entry_capacity;
    uint32_t entry_dead; // Entries whose cluster is gone.
    bool by_row; // Rows may have to be looked at: some term asks for enable bits, pinned types …
    bool has_changed; // Some term is `changed`.
    struct orri_order* order;
    struct orri_working* working;
    _Atomic uint32_t open; // Iterations.
};

// What a world keeps for this module. world->queries.
struct orri_queries {
    orr_query *first, *last;
    uint32_t count;
};

// ---- terms.c, query_print.c: text to terms and back --------------------------------------------------------

// Appends the terms of a text to terms[*count …], at most ORR_TERMS_MAX in all. `*entities` is set where the text
// says "disabled *" or "either *". Groups of any-of get numbers not used by the terms before. On refusal (reported, with
// the text, a caret line "^" under the character, what was expected, and near misses of type and tag names)
// nothing is changed.
orr_result orri_terms_parse(orr_world* world, const char* call, const char* text, orr_term* terms,
                            uint32_t* count, orr_state* entities);
// Writes terms as text; as orr_value_print(). Types by name, tags by name or number.
size_t orri_terms_print(const orr_world* world, const orr_term* terms, uint32_t count,
                        orr_state entities, char* out, size_t out_size);
// The same to the end of a text; a leaf with its predicate; a whole query; one term's type or tag alone.
void orri_terms_print_to(const orr_world* world, const orr_term* terms, uint32_t count,
                         orr_state entities, orri_text* out);
void orri_leaf_print(const orr_query* query, const orri_leaf* leaf, orri_text* out);
void orri_query_print_to(const orr_query* query, orri_text* out);
void orri_term_print_name(const orr_world* world, const orr_term* term, orri_text* out);
void orri_tag_print(const orr_world* world, orr_tag tag, orri_text* out);

// ---- match.c: clusters against leaves ------------------------------------------------------------------------

// What a leaf says about the rows of a cluster. `*failed` (may be NULL) gets the first term that fails, term_count for the
// predicate or the entities' state.
orri_match orri_leaf_match(const orr_world* world, const orri_leaf* leaf,
                           const orri_cluster* cluster, uint32_t* failed);
orri_match orri_query_match(const orr_query* query, const orri_cluster* cluster);
// Which of the 64 rows from 64 * word on of a chunk match: one bit each. Rows past the end are 0.
uint64_t orri_query_mask(const orr_query* query, const orri_chunk* chunk, uint32_t word);

#endif
