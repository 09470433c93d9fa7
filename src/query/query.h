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

#include "base/sync.h"
#include "store/pool/pool.h"
#include "store/world/world.h"
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
} orri_leaf;

// Set algebra in postfix: leaf numbers and operations over the two before.
typedef struct orri_set_node {
    orr_set_kind set; // ORR_SET_NONE: the leaf.
    uint32_t leaf;
} orri_set_node;

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

// A chunk that has rows which may match: what workers share a query by.
typedef struct orri_unit {
    uint32_t entry, chunk;
} orri_unit;

struct orri_order;
struct orri_pinned_matches;

struct orr_query {
    orr_world* world;
    orr_query *prev, *next; // All queries of the world, in order of creation.
    char* name;             // Of the desc; NULL: none.
    orri_leaf* leaves;
    uint32_t leaf_count;
    orri_set_node* nodes;
    uint32_t node_count;
    orri_field* fields;
    orr_hot_field* hot_fields; // What the inline functions read of them.
    uint32_t field_count;
    uint64_t required_bloom; // As orri_cluster.type_bloom: of types in chunks that every match has.
    uint32_t map_stride;     // field_count + 1: the last one is the match.
    uint64_t (*group_by)(void* user, const orr_world* world, orr_cluster cluster);
    void* group_user;
    orri_entry* entries;
    uint16_t* maps;   // [entry_capacity * map_stride]
    uint64_t* groups; // [entry_capacity]; NULL without group_by.
    uint32_t entry_count, entry_capacity;
    uint32_t entry_dead; // Entries whose cluster is gone.
    uint64_t changes;    // Counts changes of the entries.
    bool by_row; // Rows may have to be looked at: some term asks for enable bits, pinned types …
    bool has_changed; // Some term is `changed`.
    struct orri_order* order;
    struct orri_pinned_matches* working;
    // The list of spans (run_cache.c).
    uint8_t* list;
    size_t list_stride; // Of a span with its cells.
    uint32_t list_count, list_capacity;
    _Atomic uint64_t list_structure; // queries->structure when it was made; 0: there is none.
    _Atomic uint64_t list_failed;    // Of which structure there can be none.
    _Atomic bool listing;            // Somebody makes it.
    // Its chunks in order (units.c).
    orri_unit* units;
    uint32_t unit_count, unit_capacity;
    uint64_t unit_structure,
        unit_changes;       // queries->structure and `changes` when they were counted; 0: never.
    bool units_listed;      // The list has one span for each, and is right.
    bool writes;            // Some field is written.
    _Atomic uint32_t owing; // Cells may have writes that are not stamped.
};

// What changed in a pool: indexes of entities that got or lost a value, or whose value was switched, for the queries whose
// working sets depend on it. So a change costs the same for any number of queries; each catches up when it is iterated. What
// grows longer than the pool is forgotten, and who had not read it begins anew.
typedef struct orri_watch {
    uint32_t readers; // Queries.
    uint32_t* log;
    uint32_t count, capacity;
    uint64_t base; // Number of the first entry: how many were forgotten.
} orri_watch;

// What a world keeps for this module. world->queries.
struct orri_queries {
    orr_query *first, *last;
    uint32_t count;
    uint64_t
        structure; // Counts changes of structure after which lists of spans were made anew. Begins at 1.
    orri_mutex settling; // Readers on several threads may find writes to stamp.
    orri_watch* watches; // By type index.
    uint32_t watch_capacity;
};

// ---- terms.c, query_print.c: text to terms and back --------------------------------------------------------

// Appends the terms of a text to terms[*count …], at most ORR_TERMS_MAX in all. `*entities` is set where the text
// says "disabled *" or "either *". Groups of any-of get numbers not used by the terms before. On refusal (reported, with
// the text, a caret line "^" under the character, what was expected, and near misses of type and tag names)
// nothing is changed. `sends`: "write" of types that are never written in place is taken, it means that changes are sent.
orr_result orri_terms_parse(orr_world* world, const char* call, const char* text, orr_term* terms,
                            uint32_t* count, orr_state* entities, bool sends);
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
// The same of a query; writes what each leaf says to out_leaves[leaf_count].
orri_match orri_query_match(const orr_query* query, const orri_cluster* cluster,
                            uint16_t* out_leaves);
// Which of `rows`, a bit for each of the 64 rows from 64 * word on of a chunk, match. `matches` is what the leaves say.
uint64_t orri_query_mask(const orr_query* query, const uint16_t* matches, const orri_chunk* chunk,
                         uint32_t word, uint64_t rows);

// True when the entity has a value in a pool, in this state. `pool` may be NULL.
static inline bool orri_pinned_has(const orri_pool* pool, uint32_t index, orr_state state)
{
    bool there = pool != NULL && orri_pool_slot1(pool, index) != 0;
    return there &&
           (state == ORR_EITHER || orri_pool_enabled(pool, index) == (state == ORR_ENABLED));
}

// ---- entries.c: which clusters match -----------------------------------------------------------------------------

// Matches all clusters of the world. False when refused (reported).
bool orri_entries_build(orr_query* query);
void orri_entries_term(orr_query* query);
// Matches one cluster that is new or has changed.
bool orri_entries_room(orr_query* query, uint32_t count);
bool orri_entries_match(orr_query* query, orri_cluster* cluster);
void orri_entries_drop(orr_query* query, const orri_cluster* cluster);
// The entry of a cluster; UINT32_MAX if it does not match.
uint32_t orri_entries_find(const orr_query* query, const orri_cluster* cluster);

// An entry's map: columns by field, then what the query and each of its leaves say.
static inline const uint16_t* orri_entry_map(const orr_query* query, uint32_t entry)
{
    return query->maps + (size_t)entry * query->map_stride;
}
static inline orri_match orri_entry_match(const orr_query* query, uint32_t entry)
{
    return (orri_match)orri_entry_map(query, entry)[query->field_count];
}
static inline const uint16_t* orri_entry_leaves(const orr_query* query, const uint16_t* map)
{
    return map + query->field_count + 1;
}

// ---- order.c: entities in order of a key ---------------------------------------------------------------------------

typedef struct orri_ranked {
    uint64_t key;
    uint32_t index; // Of the entity; breaks ties.
    uint32_t chunk; // Id of its chunk when it was ranked.
} orri_ranked;

typedef struct orri_order {
    orr_type type;
    orr_field_place place;
    bool descending;
    orri_ranked* items;
    orri_ranked* scratch; // The same capacity.
    uint32_t count, capacity;
    uint64_t* clean;         // By chunk id: nothing changed there since the mark.
    uint32_t clean_capacity; // Words.
    uint32_t chunk_count;  // Chunks that matched at the mark: one that is gone shows nowhere else.
    uint64_t mark;         // Epoch at which the order was right; 0: never.
    uint64_t entries_mark; // query->changes then.
    // Loops over it that are open, of this era: it stays as it is meanwhile, since they walk it by position.
    _Atomic uint32_t open, open_era;
} orri_order;

orr_result orri_order_create(orr_query* query, const char* path, bool descending);
void orri_order_destroy(orr_query* query);
// Brings the order up to date. False when refused (reported).
bool orri_order_refresh(orr_query* query);
// A loop over it begins or ends.
void orri_order_open(orr_query* query);
void orri_order_close(orr_query* query);
// Sorts by key, then index. `scratch` has as many items.
void orri_ranked_sort(orri_ranked* items, uint32_t count, orri_ranked* scratch);

// ---- pinned_matches.c: entities with the pinned types ---------------------------------------------------------------------

// A term that decides who is a member, and how far its pool's changes were read.
typedef struct orri_required {
    orr_type type;
    orr_state state;
    uint64_t seen;
} orri_required;

// By entity index (of transient ones by number), in pages: position + 1; 0: no member.
typedef struct orri_positions {
    uint32_t** pages;
    uint32_t capacity;
} orri_positions;

typedef struct orri_pinned_matches {
    orri_required* required; // [required_count]
    uint32_t required_count;
    orri_ranked*
        items; // The members. After a refresh in order of entry and row, those in other clusters last.
    orri_ranked* scratch;
    uint32_t count, capacity;
    uint32_t visible;            // How many are in matching clusters.
    orri_positions positions[2]; // Of entities of the simulation, and of transient ones.
    void** pointers
        [ORR_TERMS_MAX]; // By field, [capacity]: values of required types; NULL: another field.
    bool built;          // From then on changes are enough.
    bool dirty;          // Members came, went or changed place since the last refresh.
    bool viewed;         // Some pointers are to what a pipeline saw of another.
    uint64_t mark, entries_mark;
} orri_pinned_matches;

bool orri_pinned_matches_create(orr_query* query);
void orri_pinned_matches_destroy(orr_query* query);
// Brings members, order and pointers up to date. False when refused (reported).
bool orri_pinned_matches_refresh(orr_query* query);
// How many entities match, whether or not the set is up to date.
uint64_t orri_pinned_matches_count(const orr_query* query);

// ---- listen.c: told by the store ----------------------------------------------------------------------------------

// From now on the query is kept up to date. False when refused (reported).
bool orri_listen(orr_world* world, orr_query* query);
void orri_unlisten(orr_query* query);
// The changes of a pinned type that some query depends on.
orri_watch* orri_watch_of(const orr_world* world, orr_type type);

// ---- run_cache.c: where the rows lie, kept while they lie there ---------------------------------------------------------

// True when the list is right, or was made so.
bool orri_run_cache_ready(orr_query* query);
void orri_run_cache_term(orr_query* query);
// Says that cells may have writes to stamp: when a loop over the list begins, and when it has ended.
void orri_run_cache_owe(orr_query* query);
void orri_run_caches_forget(orr_world* world); // listener.structure_change
void orri_run_caches_settle(orr_world* world); // listener.settle
void orri_run_cache_settle(orr_query* query);

// ---- units.c: the chunks of a query, by number ------------------------------------------------------------------------

// Counts them, if structure has changed since. False when refused (reported). Not for queries with a kept order or a working set. They stay as they
// are until structure changes.
bool orri_units_ready(orr_query* query);
void orri_units_term(orr_query* query);
// Rows of a unit's chunk, whether they match or not.
uint32_t orri_unit_rows(const orr_query* query, uint32_t unit);

// ---- iterate.c ------------------------------------------------------------------------------------------------------

// Opens an iteration that is not counted, for who counts for itself right after, or keeps structure as it is by other means;
// the query was refreshed.
void orri_iter_open(orr_iter* it, orr_query* query, uint64_t since);
void orri_iter_close(orr_iter* it);
// The same over units [first, last) only, by any thread; they were made ready, as stamps were. Where units_listed, orr_iter_next() goes through all of
// them; otherwise they are opened one by one.
void orri_iter_open_units(orr_iter* it, orr_query* query, uint64_t since, uint32_t first,
                          uint32_t last);
// Goes on to the first run of the next unit, which is `unit`. False: none of its rows match; go on to the next.
bool orri_iter_next_unit(orr_iter* it, uint32_t unit);
// The same with one run of one row, which is open already: that of an entity, by index. False: the query does not select it. It was refreshed; who opens
// it keeps structure as it is, and ends it by orri_iter_close().
bool orri_iter_open_row(orr_iter* it, orr_query* query, uint32_t index);
// True when the running system, if there is one, may look at the query; reports otherwise.
bool orri_query_allowed(const orr_query* query, const char* call);
// The same for going through its rows, which a parallel system may not with every query.
bool orri_query_loops(const orr_query* query, const char* call);
// Back to the first row.
void orri_iter_rewind(orr_iter* it);
// True when a row matches; `map` is its entry's.
bool orri_query_row(const orr_query* query, const uint16_t* map, const orri_chunk* chunk,
                    uint32_t slot);

// ---- lookup.c ------------------------------------------------------------------------------------------------------

// As orr_query_has(), for the library itself.
bool orri_query_has(const orr_query* query, orr_entity entity);
// Rows of a cluster that match; `matches` is what the leaves say.
uint64_t orri_query_count_rows(const orr_query* query, const uint16_t* matches,
                               const orri_cluster* cluster);

// ---- query.c -----------------------------------------------------------------------------------------------------------

// Brings order or working set up to date. False when refused (reported).
bool orri_query_refresh(orr_query* query);
void orri_query_free(orr_query* query);

#endif
