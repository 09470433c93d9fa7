// SPDX-License-Identifier: MIT
// Structs and functions that the files of the query module share. README.md states the invariants.
//
//   terms ──> leaf ──┐
//   terms ──> leaf ──┴─ nodes (set operations) ──> entries: matched clusters, each with a map from
//                                                  field to column
//
// Words:
// - leaf: a conjunction of terms. A query without set operations has one leaf.
// - field: a type whose column a loop can ask for.
// - entry: a cluster whose rows may match.
// - match: whether all rows of an entry match, or some. Enable bits and pinned types select some
//   rows.
// - run, span: contiguous rows of one chunk that match; a span is its description.
// - run cache: the list of all spans of a query, kept while no row moves.
// - unit: a chunk of an entry, the piece in which workers divide a query.
// - pinned set: the entities that have all pinned types that a query requires.
#ifndef ORRI_QUERY_H
#define ORRI_QUERY_H

#include "base/sync.h"
#include "store/pool/pool.h"
#include "store/world/world.h"
#include <orrery/query.h>

// In a map: the cluster lacks the field's type, or the type is pinned.
#define ORRI_COLUMN_NONE UINT16_MAX
#define ORRI_NODES_MAX   (2 * ORR_TERMS_MAX)       // Most nodes of a query.
#define ORRI_CHUNK_WORDS (ORR_CHUNK_CAPACITY / 64) // Words of 64 rows in a chunk.

// Which rows of a cluster match. The order of the values is used: minimum is "and", maximum is
// "or".
typedef enum orri_match {
    ORRI_MATCH_NONE = 0, // None.
    ORRI_MATCH_SOME,     // Possibly some: each row must be tested.
    ORRI_MATCH_ALL,      // All.
} orri_match;

// A conjunction of terms, with copies of the fields of the desc.
typedef struct orri_leaf {
    orr_term* terms; // [term_count]
    uint32_t term_count;
    orr_enable_state entities; // Enable state of the entities.
    bool (*predicate)(void* user, const orr_world* world, orr_cluster cluster); // NULL: none.
    void* user;                                                                 // For `predicate`.
} orri_leaf;

// A node of a set expression in postfix order: a leaf, or an operation on the two operands before
// it.
typedef struct orri_set_node {
    orr_set_kind set; // ORR_SET_NONE: a leaf.
    uint32_t leaf;    // Number of the leaf.
} orri_set_node;

// A type whose column a loop can ask for. Only types of terms that do not exclude.
typedef struct orri_field {
    orr_type type;
    const orri_type* info;
    orr_access access;     // ORR_WRITE if any term of the type writes.
    bool pinned, multiple; // Of the type.
} orri_field;

// A cluster whose rows may match.
typedef struct orri_entry {
    orri_cluster* cluster; // NULL: a gap, the cluster was deleted.
    uint64_t sequence;     // Of the cluster. Entries ascend by (group, sequence).
} orri_entry;

// A chunk of an entry. Workers divide a query by units.
typedef struct orri_unit {
    uint32_t entry, chunk; // Number of the entry; number of the chunk within the cluster.
} orri_unit;

struct orri_order;
struct orri_pinned_matches;

struct orr_query {
    orr_world* world;
    orr_query *prev, *next; // All queries of the world, in order of creation.
    char* name;             // From the desc; NULL: none.
    orri_leaf* leaves;      // [leaf_count]
    uint32_t leaf_count;
    orri_set_node* nodes; // [node_count], postfix. One node: no set operation.
    uint32_t node_count;
    orri_field* fields;        // [field_count]
    orr_hot_field* hot_fields; // [field_count], the part that inline functions read.
    uint32_t field_count;
    uint64_t required_bloom; // Bits of types in chunks that every match has, as in type_bloom.
    uint32_t map_stride;     // uint16_t of one entry's map: field_count + 1 + leaf_count.
    uint64_t (*group_by)(void* user, const orr_world* world, orr_cluster cluster); // NULL: none.
    void* group_user;                                                              // For group_by.
    orri_entry* entries; // [entry_capacity], ascending by (group, sequence), with gaps.
    uint16_t* maps;      // [entry_capacity * map_stride]
    uint64_t* groups;    // [entry_capacity], keys of group_by; NULL without group_by.
    uint32_t entry_count, entry_capacity;
    uint32_t entry_dead;      // Gaps among the entries.
    uint64_t changes;         // Grows with every change of the entries.
    bool by_row;              // Some term selects rows one by one: disabled, or a pinned type.
    bool has_changed;         // Some term is `changed`.
    struct orri_order* order; // Sorted entities; NULL: no order_by.
    struct orri_pinned_matches* pinned_matches; // The pinned set; NULL: no pinned type is required.
    // The run cache (run_cache.c).
    uint8_t* cache;      // [cache_capacity] spans, each followed by its cells.
    size_t cache_stride; // Bytes of a span with its cells.
    uint32_t cache_count, cache_capacity;
    _Atomic uint64_t cache_structure; // queries->structure of the cache; 0: there is none.
    _Atomic uint64_t cache_failed;    // queries->structure for which no cache can be made; 0: none.
    _Atomic bool cache_filling;       // A thread is filling the cache.
    // The units in order (units.c).
    orri_unit* units;
    uint32_t unit_count, unit_capacity;
    // queries->structure and `changes` when the units were listed; 0: never.
    uint64_t unit_structure, unit_changes;
    bool units_cached;          // The run cache is valid and has exactly one span for each unit.
    bool writes;                // Some field is written.
    _Atomic uint32_t unstamped; // Cells of the run cache may have writes that are not stamped yet.
};

// Log of changes of one pinned type, for the queries whose pinned sets depend on it: indexes of
// entities that got or lost a value, or whose value was enabled or disabled. A change costs the
// same for any number of queries; each query reads the log when it is iterated. A full log whose
// capacity is at least 4096 and twice the values of the pool is discarded instead of grown; queries
// that had not read it rebuild their sets.
typedef struct orri_watch {
    uint32_t readers; // Queries that depend on the type.
    uint32_t* log;
    uint32_t count, capacity; // Of `log`.
    uint64_t base;            // Number of discarded changes: the number of log[0].
} orri_watch;

// State of this module in a world: world->queries.
struct orri_queries {
    orr_query *first, *last; // All queries, in order of creation.
    uint32_t count;          // Number of queries.
    uint32_t refreshed;      // Queries with an order or a pinned set.
    uint64_t structure;      // Grows before rows move, if a run cache or units exist. Begins at 1.
    orri_mutex settling; // Held while writes are stamped: several readers may need that at once.
    orri_watch* watches; // By type index.
    uint32_t watch_capacity;
};

// ---- terms.c, query_print.c: text to terms and back ---------------------------------------------

// Appends the terms of a text to terms[*count …], at most ORR_TERMS_MAX in total. Sets `*entities`
// if the text has "disabled *" or "either *". Groups of choices get numbers that no term before
// uses. With `sends`, "write" is allowed for types that cannot be written in place: it means that
// changes are sent. If refused (reported with the text, a caret under the position, what was
// expected, and similar names), nothing is changed.
orr_result orri_terms_parse(orr_world* world, const char* call, const char* text, orr_term* terms,
                            uint32_t* count, orr_enable_state* entities, bool sends);
// Writes terms as text, types by name, tags by name or number. Size and return value as
// orr_value_print().
size_t orri_terms_print(const orr_world* world, const orr_term* terms, uint32_t count,
                        orr_enable_state entities, char* out, size_t out_size);
// Append to a text: terms; a leaf and whether it has a predicate; a whole query; the type or tag of
// one term; a tag.
void orri_terms_print_to(const orr_world* world, const orr_term* terms, uint32_t count,
                         orr_enable_state entities, orri_text* out);
void orri_leaf_print(const orr_query* query, const orri_leaf* leaf, orri_text* out);
void orri_query_print_to(const orr_query* query, orri_text* out);
void orri_term_print_name(const orr_world* world, const orr_term* term, orri_text* out);
void orri_tag_print(const orr_world* world, orr_tag tag, orri_text* out);

// ---- match.c: clusters against leaves -----------------------------------------------------------

// Matches a cluster against a leaf. `*failed` (may be NULL) becomes the first term that fails;
// term_count means the predicate or the enable state of the entities.
orri_match orri_leaf_match(const orr_world* world, const orri_leaf* leaf,
                           const orri_cluster* cluster, uint32_t* failed);
// Matches a cluster against a query. Writes the orri_match of each leaf to out_leaves[leaf_count].
orri_match orri_query_match(const orr_query* query, const orri_cluster* cluster,
                            uint16_t* out_leaves);
// Tests 64 rows of a chunk, from row 64 * word on. `rows` has a bit for each row to test; the
// result has the bits of those that match. `matches` is the orri_match of each leaf for the
// cluster.
uint64_t orri_query_mask(const orr_query* query, const uint16_t* matches, const orri_chunk* chunk,
                         uint32_t word, uint64_t rows);

// True if the entity has a value in a pool, in the given enable state. `pool` may be NULL.
static inline bool orri_pinned_has(const orri_pool* pool, uint32_t index, orr_enable_state state)
{
    bool there = pool != NULL && orri_pool_slot1(pool, index) != 0;
    return there &&
           (state == ORR_EITHER || orri_pool_enabled(pool, index) == (state == ORR_ENABLED));
}

// ---- entries.c: which clusters match ------------------------------------------------------------

// Matches all clusters of the world. False if refused (reported).
bool orri_entries_build(orr_query* query);
// Frees the entries.
void orri_entries_term(orr_query* query);
// Reserves memory for `count` more entries. False if refused (reported).
bool orri_entries_room(orr_query* query, uint32_t count);
// Matches one cluster that is new or got enable bits. False if refused (reported).
bool orri_entries_match(orr_query* query, orri_cluster* cluster);
// Removes the entry of a cluster that is deleted.
void orri_entries_drop(orr_query* query, const orri_cluster* cluster);
// Number of a cluster's entry; UINT32_MAX if there is none.
uint32_t orri_entries_find(const orr_query* query, const orri_cluster* cluster);

// Map of an entry: the column of each field, then the orri_match of the query, then that of each
// leaf.
static inline const uint16_t* orri_entry_map(const orr_query* query, uint32_t entry)
{
    return query->maps + (size_t)entry * query->map_stride;
}
// orri_match of an entry.
static inline orri_match orri_entry_match(const orr_query* query, uint32_t entry)
{
    return (orri_match)orri_entry_map(query, entry)[query->field_count];
}
// Part of a map with the orri_match of each leaf.
static inline const uint16_t* orri_entry_leaves(const orr_query* query, const uint16_t* map)
{
    return map + query->field_count + 1;
}

// ---- order.c: entities sorted by a key ----------------------------------------------------------

// An entity with its sort key.
typedef struct orri_ranked {
    uint64_t key;   // Compared as an unsigned number.
    uint32_t index; // Of the entity; decides between equal keys.
    uint32_t chunk; // Id of its chunk when the key was read.
} orri_ranked;

// The entities of a query with order_by, sorted.
typedef struct orri_order {
    orr_type type;         // Type that has the key.
    orr_field_place place; // Place of the key in the type.
    bool descending;
    orri_ranked* items;   // [count], sorted.
    orri_ranked* scratch; // For merging; same capacity as `items`.
    uint32_t count, capacity;
    uint64_t* clean;         // One bit per chunk id: nothing changed in the chunk since the mark.
    uint32_t clean_capacity; // Words of `clean`.
    uint32_t chunk_count;    // Chunks that matched at the mark. Detects a chunk that was freed.
    uint64_t mark;           // Epoch at which the order was valid; 0: never.
    uint64_t entries_mark;   // query->changes at the mark.
    // Open loops over the order in the current era. The order does not change while there are any,
    // because loops walk it by position.
    _Atomic uint32_t open, open_era;
} orri_order;

// Creates the order of a query from orr_query_desc.order_by.
orr_result orri_order_create(orr_query* query, const char* path, bool descending);
void orri_order_destroy(orr_query* query);
// Takes the memory that orri_order_refresh() may need until rows are created or clusters change.
// False if refused (reported).
bool orri_order_reserve(orr_query* query);
// Brings the order up to date. False if refused (reported).
bool orri_order_refresh(orr_query* query);
// A loop over the order begins or ends.
void orri_order_open(orr_query* query);
void orri_order_close(orr_query* query);
// Sorts by key, then index. `scratch` has room for `count` items.
void orri_ranked_sort(orri_ranked* items, uint32_t count, orri_ranked* scratch);

// ---- pinned_matches.c: entities with the required pinned types ----------------------------------

// A pinned type that every member of the set has.
typedef struct orri_required {
    orr_type type;
    orr_enable_state state; // Enable state that the term asks for.
    uint64_t seen;          // Number of changes of the type that were read from its log.
} orri_required;

// Position + 1 of each entity in the set, in pages by entity index (for transient entities by
// number); 0: not a member.
typedef struct orri_positions {
    uint32_t** pages;
    uint32_t capacity; // Number of `pages`.
} orri_positions;

// The pinned set of a query: the entities that have all required pinned types.
typedef struct orri_pinned_matches {
    orri_required* required; // [required_count]
    uint32_t required_count;
    orri_ranked* items;   // Members. After a refresh by entry and row; then those without an entry.
    orri_ranked* scratch; // For sorting; same capacity as `items`.
    uint32_t count, capacity;
    uint32_t visible;               // Members in matching clusters: the first ones after a refresh.
    orri_positions positions[2];    // Of entities of the simulation, and of transient entities.
    void** pointers[ORR_TERMS_MAX]; // By field, [capacity]: values of a required type; NULL: other.
    bool built;                     // The set is complete; from then on the logs are sufficient.
    bool dirty;                     // Members were added, removed or moved since the last refresh.
    bool viewed;                 // Some `pointers` are to values that another pipeline published.
    uint64_t mark, entries_mark; // Epoch and query->changes of the last refresh.
} orri_pinned_matches;

bool orri_pinned_matches_create(orr_query* query);
void orri_pinned_matches_destroy(orr_query* query);
// Brings the members up to date, which takes all memory that orri_pinned_matches_refresh() may need
// until pinned values are added, removed, enabled or disabled. False if refused (reported).
bool orri_pinned_matches_reserve(orr_query* query);
// Brings members, order and pointers up to date. False if refused (reported).
bool orri_pinned_matches_refresh(orr_query* query);
// Number of entities that match, also if the set is not up to date.
uint64_t orri_pinned_matches_count(const orr_query* query);

// ---- listen.c: notifications from the store -----------------------------------------------------

// Adds a query to the world's list, so that it is kept up to date. False if refused (reported).
bool orri_listen(orr_world* world, orr_query* query);
void orri_unlisten(orr_query* query);
// Log of changes of a pinned type; NULL: no query ever needed it.
orri_watch* orri_watch_of(const orr_world* world, orr_type type);

// ---- run_cache.c: spans kept while no row moves -------------------------------------------------

// True if the run cache is valid or could be filled.
bool orri_run_cache_ready(orr_query* query);
void orri_run_cache_term(orr_query* query);
// Notes that cells may have writes to stamp. Called when a loop over the cache begins and when it
// ends.
void orri_run_cache_mark_unstamped(orr_query* query);
void orri_run_caches_forget(orr_world* world); // listener.structure_change
void orri_run_caches_settle(orr_world* world); // listener.settle
// Stamps the writes noted in the cells of one query.
void orri_run_cache_settle(orr_query* query);

// ---- units.c: the chunks of a query, by number --------------------------------------------------

// Lists the units again if rows moved since. They stay valid until rows move. Not for queries with
// an order or a pinned set. False if refused (reported).
bool orri_units_ready(orr_query* query);
void orri_units_term(orr_query* query);
// Number of rows of a unit's chunk, whether they match or not.
uint32_t orri_unit_rows(const orr_query* query, uint32_t unit);

// ---- iterate.c: iterators -----------------------------------------------------------------------

// Opens an iteration that is not counted as open. The caller counts it, or prevents that rows move
// in another way, and has refreshed the query.
void orri_iter_open(orr_iter* it, orr_query* query, uint64_t since);
void orri_iter_close(orr_iter* it);
// Opens an iteration over the units [first, last), from any thread. The caller has prepared units
// and stamps. With units_cached, orr_iter_next() visits all of them; otherwise use
// orri_iter_next_unit().
void orri_iter_open_units(orr_iter* it, orr_query* query, uint64_t since, uint32_t first,
                          uint32_t last);
// Advances to the first run of `unit`, which is the next one. False: no row of the unit matches.
bool orri_iter_next_unit(orr_iter* it, uint32_t unit);
// Opens an iteration over one row, that of the entity with this index; the row is the current run.
// The caller has refreshed the query, prevents that rows move, and calls orri_iter_close(). False:
// the query does not select the entity.
bool orri_iter_open_row(orr_iter* it, orr_query* query, uint32_t index);
// True if no system runs, or the running system may use the query. Reports a violation otherwise.
bool orri_query_allowed(const orr_query* query, const char* call);
// As orri_query_allowed(), for iterating: parallel systems may not iterate every query.
bool orri_query_loop_allowed(const orr_query* query, const char* call);
// Moves an iteration back to the first row.
void orri_iter_rewind(orr_iter* it);
// True if a row matches. `map` is the map of its entry.
bool orri_query_row(const orr_query* query, const uint16_t* map, const orri_chunk* chunk,
                    uint32_t slot);

// ---- lookup.c -----------------------------------------------------------------------------------

// As orr_query_has(), without the access check.
bool orri_query_has(const orr_query* query, orr_entity entity);
// Number of rows of a cluster that match. `matches` is the orri_match of each leaf.
uint64_t orri_query_count_rows(const orr_query* query, const uint16_t* matches,
                               const orri_cluster* cluster);

// ---- query.c ------------------------------------------------------------------------------------

// Brings the order or the pinned set up to date. False if refused (reported).
bool orri_query_refresh(orr_query* query);
// For all queries of the world with an order or a pinned set: takes the memory that refreshing them
// may need while structure does not change, so that no loop of a system can be refused memory. No
// loop is open. False if refused (reported).
bool orri_queries_reserve(orr_world* world);
// Frees a query that is in no list.
void orri_query_free(orr_query* query);

#endif
