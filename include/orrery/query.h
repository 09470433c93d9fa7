// SPDX-License-Identifier: MIT
/// @file query.h
/// Asking the world: which entities have what, and their columns, at the speed of a plain loop.
///
///     orr_query* moving = orr_query_text(world, "write Position, Velocity, !Frozen");
///
///     ORR_EACH (it, moving) {                        // one run of rows after another
///         Position* p = orr_write(&it, Position);
///         const Velocity* v = orr_read(&it, Velocity);
///         for (uint32_t i = 0; i < it.count; i++) {
///             p[i].x += v[i].x;
///         }
///     }
///
/// A query is matched once, when it is made, and kept up to date as clusters come and go; make it once and keep it.
/// Clusters come in order of creation, rows in order. A component that is switched off counts as absent, an entity
/// that is switched off is passed over.
///
/// While an iteration is open, calls that create, destroy or move rows, or make or delete clusters, are refused
/// (ORR_ERR_STATE): collect ids, or use orr_query_add(), orr_query_remove() and orr_query_destroy_entities() afterwards.
/// Reading, writing values, pinned values included, and further iterations inside are allowed. Leaving ORR_EACH by break,
/// return or goto ends it. Several threads may iterate at once, also one query, as long as no two write one block.
#ifndef ORRERY_QUERY_H
#define ORRERY_QUERY_H

#include <orrery/kinds.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORR_TERMS_MAX      32u   ///< Terms of one query; queries and types of a combined one.
#define ORR_QUERY_TEXT_MAX 4096u ///< Bytes of a query as text.

/// A query of one world. Ends with orr_query_destroy() or with its world.
typedef struct orr_query orr_query;

/// What a term says about an entity.
typedef enum orr_term_kind {
    ORR_REQUIRED = 0, ///< It has the type (or tag).
    ORR_WITHOUT,      ///< It does not.
    ORR_OPTIONAL,     ///< Either way; the column is NULL where it does not. For types only.
    ORR_ANY,          ///< It has at least one of the ORR_ANY terms with the same `group`.
} orr_term_kind;

/// What the loop does with the column of a term.
typedef enum orr_access {
    ORR_READ = 0,
    ORR_WRITE, ///< orr_write() is allowed; asking it stamps the block as changed in this tick.
} orr_access;

/// Which switched-off components count.
typedef enum orr_state {
    ORR_ENABLED = 0, ///< One that is off counts as absent.
    ORR_DISABLED,    ///< It is there, and off. Of a multiple type: all instances are off.
    ORR_EITHER,      ///< It is there.
} orr_state;

/// One condition. The type, or else the tag. (Tag 0 cannot be asked for: a term of nothing is refused.)
typedef struct orr_term {
    orr_type type;
    orr_tag tag; ///< If `type` is null.
    orr_term_kind kind;
    orr_access access;
    orr_state state;
    bool
        changed; ///< Only blocks written since orr_each.since; of several such terms any. Not pinned.
    uint32_t group; ///< Of ORR_ANY.
} orr_term;

/// Terms of C types, registered at first use: .terms = ORR_TERMS(ORR_W(world, Position), ORR_R(world, Velocity),
/// ORR_NOT(world, Frozen))
#define ORR_TERM(world, type_, ...) ((orr_term){orr_type_of(world, ORR_TYPE(type_)), __VA_ARGS__})
#ifndef __cplusplus
#define ORR_R(world, type)              ORR_TERM(world, type, .access = ORR_READ)
#define ORR_W(world, type)              ORR_TERM(world, type, .access = ORR_WRITE)
#define ORR_NOT(world, type)            ORR_TERM(world, type, .kind = ORR_WITHOUT)
#define ORR_OPT(world, type)            ORR_TERM(world, type, .kind = ORR_OPTIONAL)
#define ORR_ANY_OF(world, type, group_) ORR_TERM(world, type, .kind = ORR_ANY, .group = (group_))
#define ORR_TAG(tag_)                   ((orr_term){.tag = (tag_)})
#define ORR_TERMS(...)                        \
    .terms = (const orr_term[]){__VA_ARGS__}, \
    .term_count = (uint32_t)(sizeof(orr_term[]){__VA_ARGS__} / sizeof(orr_term))
#endif

/// How two queries are combined.
typedef enum orr_set_kind {
    ORR_SET_NONE = 0,
    ORR_UNION,        ///< In either.
    ORR_INTERSECTION, ///< In both.
    ORR_DIFFERENCE,   ///< In the left, not in the right.
} orr_set_kind;

/// Describes a query. All zero matches every entity that is not switched off.
typedef struct orr_query_desc {
    const char* name; ///< For messages. Default: its text.
    /// As text: see orr_query_text(). Both forms may be given; their terms add up.
    const char* text;
    const orr_term* terms;
    uint32_t term_count;
    orr_state entities; ///< Of the entities themselves. Default: those that are on.
    /// Asked when a cluster appears, and perhaps again: the answer must depend on the cluster's types and tags alone.
    /// Structure cannot be changed in it.
    bool (*predicate)(void* user, const orr_world* world, orr_cluster cluster);
    /// Clusters are ordered by this key first, then by creation. As the predicate.
    uint64_t (*group_by)(void* user, const orr_world* world, orr_cluster cluster);
    /// Entities come in order of a number in a required, unique type: "Depth.z"; ties by index. Empty: as they lie. The
    /// order is kept and repaired where blocks changed since the last iteration; while a loop over the query is open it
    /// stays, also for loops inside: keys written there count from the next loop on.
    const char* order_by;
    bool order_descending;
    void* user; ///< For predicate and group_by.
    /// Combines the entities of two queries (which may be destroyed afterwards); terms, predicate, order and group above
    /// are not allowed then. The columns are those of both; where the cluster lacks one it is NULL.
    orr_set_kind set;
    const orr_query *left, *right;
} orr_query_desc;

/// Makes a query and matches it. NULL when refused. Allocates.
ORR_API orr_query* orr_query_create(orr_world* world, const orr_query_desc* desc);
/// Makes a query of text: terms with commas between.
///
///     Position          has it; a name is a type
///     write Position    has it, and its column may be written
///     !Frozen           does not have it              ?Mass       its column where there is one
///     Health|Armor      at least one of them          #level1     has the tag of this name; #17 of this number
///     disabled Health   has it, and it is off         either Health   has it, on or off
///     changed Position  only blocks written since the mark (orr_each.since)
///     disabled *, either *    entities that are off; all entities
///
/// Words go together: "write changed Position"; "!either Health" is not there, on or off. In a choice the words before the
/// first name hold for all its types, except where one has its own, of which `read` is the plainest: "write Health|read
/// Armor|#boss". A word is one only where another name follows: a type may be called `write`. A type is named once,
/// or else once in each of several choices.
/// The library's own types (orr_name, orr_tags, orr_enabled) are made known by being named.
/// NULL when refused: the error points at the character and names near misses. Allocates.
ORR_API orr_query* orr_query_text(orr_world* world, const char* text);
/// NULL is allowed. Refused (the query stays) while it is being iterated.
ORR_API void orr_query_destroy(orr_query* query);

/// Writes the query as text that makes the same (predicate, order and group cannot be said, sets are put in words). As
/// orr_value_print().
ORR_API size_t orr_query_print(const orr_query* query, char* out, size_t out_size);
/// Writes which clusters match, with their rows, and for each of the others the first term that fails. As
/// orr_value_print().
ORR_API size_t orr_query_explain(const orr_query* query, char* out, size_t out_size);
ORR_API orr_world* orr_query_world(const orr_query* query);

// ---- without a loop ------------------------------------------------------------------------------------------

/// How many entities match (`changed` does not count here).
ORR_API uint64_t orr_query_count(const orr_query* query);
/// True if the entity is among them. False for a dead one.
ORR_API bool orr_query_has(const orr_query* query, orr_entity entity);
/// The first; null if there is none.
ORR_API orr_entity orr_query_first(orr_query* query);
/// The only one. Null, and an error that says how many there are, if there is none or more than one.
ORR_API orr_entity orr_query_single(orr_query* query);
/// The one at a position, from 0, in order of iteration; null past the end. Costs by cluster, not by entity,
/// where whole clusters match.
ORR_API orr_entity orr_query_at(orr_query* query, uint64_t position);
/// Writes the entities from `first` on, at most `out_count`. @return how many were written.
ORR_API uint64_t orr_query_entities(orr_query* query, uint64_t first, orr_entity* out,
                                    uint64_t out_count);

// ---- everything that matches, at once ---------------------------------------------------------------------------

/// Adds a component to every entity that matches and lacks it, with `value` (NULL: its preset); one that has it keeps its
/// value. Whole clusters are relinked, not copied. All or nothing. Allocates.
ORR_API orr_result orr_query_add(orr_query* query, orr_type type, const void* value);
/// Removes a component from every entity that matches and has it. All or nothing. Allocates.
ORR_API orr_result orr_query_remove(orr_query* query, orr_type type);
/// Destroys every entity that matches. All or nothing.
ORR_API orr_result orr_query_destroy_entities(orr_query* query);

// ---- iterating ------------------------------------------------------------------------------------------------------

/// A point in the order of writes, for orr_each.since: blocks written from now on come after it. Pointers into the world are no
/// longer good for writing. For one thread, while nobody else iterates.
ORR_API uint64_t orr_change_mark(orr_world* world);

/// How to iterate. All zero: everything, in order.
typedef struct orr_each {
    uint64_t
        since; ///< For `changed` terms: an orr_change_mark(). Default: everything counts as changed.
    bool only_group; ///< Only clusters of `group`.
    uint64_t group;
} orr_each;

typedef struct orr_hot_column {
    uint8_t* data;
    uint64_t version;
    uint64_t tick;
    void* share;
} orr_hot_column;

typedef struct orr_hot_span {
    orr_hot_column* columns; // Of the chunk.
    const uint16_t* map;     // By field: index in `columns`; UINT16_MAX: the cluster lacks it.
    void* chunk;
    uint32_t slot, count; // Rows.
} orr_hot_span;

typedef struct orr_hot_chunk { // How a chunk begins.
    void* cluster;
    const uint32_t* ids; // Indexes of the entities of its rows.
} orr_hot_chunk;

// In a query's list of spans each is followed by one of these per field.
typedef struct orr_hot_cell {
    uint8_t* data;          // Of the span's first row; NULL: the cluster lacks the field.
    uint64_t tick, version; // When it was written last and not yet stamped; version 0: never.
} orr_hot_cell;

typedef struct orr_hot_field {
    const orr_type_desc*
        asked[3];        // Under which desc it was asked for last, to read, to write, pinned.
    void* const* pinned; // Values of a working set's entities; NULL: ask the pool.
    uint32_t size;       // Bytes from row to row.
} orr_hot_field;

#define ORR_HOT_SPANS 16

/// An open iteration, on the caller's stack; not to be copied. `count` and `world` are for you; the rest changes with any version.
typedef struct orr_iter {
    uint32_t count; ///< Rows of this run, 1 to ORR_CHUNK_CAPACITY.
    float dt;       ///< Of a system's run: seconds of this tick.
    uint64_t tick;  ///< Of a system's run: the tick of its pipeline.
    orr_world* world;
    struct orr_command_buffer* commands; // Of a system's run: where it sends. NULL in a loop.
    uint32_t field_count;
    uint32_t unit1; // Of a run of a system that combines: 1 + the number of its chunk; else 0.
    orr_hot_span* now;
    orr_hot_field* fields;
    const uint64_t*
        clock;          // The world's tick and epoch; a block of this version was stamped already.
    bool listed;        // Spans come from the query's list; else from `spans`.
    bool counted;       // Among the world's open iterations.
    uint32_t span_left; // After this one.
    size_t span_stride; // Bytes.
    orr_hot_span* next;
    const uint32_t* era_now;         // The world's.
    uint32_t era;                    // Of the world's iterations when it began; 0: ended.
    uint32_t entry, entry_end;       // Next cluster, and the one before which to stop.
    uint32_t chunk, chunk_end, slot; // Within it.
    uint32_t mask_word1;             // 1 + the word of 64 rows whose matching rows `mask` tells.
    uint64_t mask;                   //
    uint64_t position;               // In a working set or a kept order: of the next run,
    uint64_t pinned_first;           // and of this one.
    orr_query* query;
    orr_each each;
    orr_hot_span spans[ORR_HOT_SPANS];
} orr_iter;

/// Opens an iteration. `each` may be NULL. @return `it`.
ORR_API orr_iter* orr_iter_begin(orr_iter* it, orr_query* query, const orr_each* each);
/// Ends an iteration: allowed at any time, twice does no harm. orr_iter_next() does so when it returns false, ORR_EACH
/// when it is left; one that was left open ends with the tick.
ORR_API void orr_iter_end(orr_iter* it);
/// For orr_iter_next(): makes the next spans. False at the end.
ORR_API bool orr_iter_fill(orr_iter* it);

/// Goes on to the next run of rows. False when there is none.
static inline bool orr_iter_next(orr_iter* it)
{
    if (ORR_UNLIKELY(it->span_left == 0 || *it->era_now != it->era) && !orr_iter_fill(it)) {
        return false;
    }
    it->now = it->next;
    it->next = (orr_hot_span*)(void*)((char*)it->next + it->span_stride);
    it->span_left--;
    it->count = it->now->count;
    return true;
}

/// The loop: ORR_EACH (it, query) { … }, or with settings ORR_EACH_OF (it, query, .since = mark) { … }.
#define ORR_EACH(it, query)                                                \
    for (orr_iter it ORR_PP_ENDED(orr_iter_end),                           \
         *orr_pp_##it ORR_MAYBE_UNUSED = orr_iter_begin(&it, query, NULL); \
         orr_iter_next(&it);)
#ifndef __cplusplus
#define ORR_EACH_OF(it, query, ...)                                                               \
    for (orr_iter it ORR_PP_ENDED(orr_iter_end), *orr_pp_##it ORR_MAYBE_UNUSED = orr_iter_begin(  \
                                                     &it, query, &(const orr_each){__VA_ARGS__}); \
         orr_iter_next(&it);)
#endif
#if defined(__GNUC__)
#define ORR_PP_ENDED(function) __attribute__((cleanup(function)))
#else
#define ORR_PP_ENDED(function) // Leave the loop at its end, or call orr_iter_end() before.
#endif

/// The column of a type in this run, `count` values: orr_write(&it, Position), orr_read(&it, Velocity). NULL for an optional
/// term (or one of several) that the cluster lacks. A type the query does not name, writing what it reads, or a pinned type
/// is an assertion, and NULL. A marker's column is not NULL and not to be read.
#define orr_read(it, type)  ((const type*)orr_iter_read(it, ORR_TYPE(type)))
#define orr_write(it, type) ((type*)orr_iter_write(it, ORR_TYPE(type)))

/// The value of a pinned type in a row of this run; NULL for an optional term where the entity lacks it. Writing through it
/// needs a `write` term and stamps the block.
#define orr_read_pinned(it, type, i)  ((const type*)orr_iter_pinned(it, ORR_TYPE(type), ORR_READ, i))
#define orr_write_pinned(it, type, i) ((type*)orr_iter_pinned(it, ORR_TYPE(type), ORR_WRITE, i))

/// The instances of a multiple type, beside the values that orr_read() and orr_write() give: those of row i are
/// values[i * n.capacity] to values[i * n.capacity + n.counts[i] - 1]. `enabled` is NULL or begins at the chunk's first row:
/// use orr_iter_instance_on().
#define orr_instances_of(it, type) orr_iter_instances(it, ORR_TYPE(type))

// For the macros: the long ways.
ORR_API const void* orr_iter_read_first(orr_iter* it, const orr_type_desc* desc);
ORR_API void* orr_iter_write_first(orr_iter* it, const orr_type_desc* desc);
ORR_API void* orr_iter_stamp(orr_iter* it, uint32_t field);
ORR_API void* orr_iter_pinned_first(orr_iter* it, const orr_type_desc* desc, orr_access access,
                                    uint32_t i);
ORR_API void* orr_iter_pinned_at(orr_iter* it, uint32_t field, orr_access access, uint32_t i);
ORR_API orr_instances orr_iter_instances(orr_iter* it, const orr_type_desc* desc);
ORR_API bool orr_iter_instance_on(const orr_iter* it, const orr_instances* instances, uint32_t i,
                                  uint32_t instance);

/// By type, for run-time types. As orr_read() and orr_write().
ORR_API const void* orr_iter_read_type(orr_iter* it, orr_type type);
ORR_API void* orr_iter_write_type(orr_iter* it, orr_type type);

/// The entity of row `i` of this run. Inline, see below.
static inline orr_entity orr_iter_entity(const orr_iter* it, uint32_t i);
/// The entities of this run; writes `count` of them.
ORR_API void orr_iter_entities(const orr_iter* it, orr_entity* out);
/// Cluster and first row of this run.
ORR_API orr_cluster orr_iter_cluster(const orr_iter* it, uint32_t* out_row);
/// The group_by key of this run's cluster.
ORR_API uint64_t orr_iter_group(const orr_iter* it);

// Loops on several threads may tell one query of their descs at once: any of them will do.
static inline const orr_type_desc* orr_iter_asked(const orr_iter* it, uint32_t field, uint32_t way)
{
#if defined(__GNUC__)
    return __atomic_load_n(&it->fields[field].asked[way], __ATOMIC_RELAXED);
#else
    return it->fields[field].asked[way];
#endif
}

// A reader of changes of other types, on another thread, may be collecting what was noted.
static inline void orr_hot_note(orr_hot_cell* cell, uint64_t tick, uint64_t version)
{
#if defined(__GNUC__)
    __atomic_store_n(&cell->tick, tick, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->version, version, __ATOMIC_RELEASE);
#else
    cell->tick = tick;
    cell->version = version;
#endif
}

/// For orr_iter_entity(): no such row, or no run; says so, and gives null.
ORR_API orr_entity orr_iter_entity_none(const orr_iter* it, uint32_t i);

static inline orr_entity orr_iter_entity(const orr_iter* it, uint32_t i)
{
    if (ORR_UNLIKELY(i >= it->count || it->now == NULL || *it->era_now != it->era)) {
        return orr_iter_entity_none(it, i);
    }
    uint32_t index = ((const orr_hot_chunk*)it->now->chunk)->ids[it->now->slot + i];
    const orr_hot_world* hot = (const orr_hot_world*)(const void*)it->world;
    // Pages of transient entities come before the first.
    int32_t page = (int32_t)index >> 12;
    // In real time the list may be replaced meanwhile by a longer one.
#if defined(__GNUC__)
    orr_hot_record* const* pages = __atomic_load_n(&hot->pages, __ATOMIC_ACQUIRE);
#else
    orr_hot_record* const* pages = hot->pages;
#endif
    orr_entity entity = {(uint64_t)pages[page][index & 4095].generation << 32 | index};
    return entity;
}

static inline const void* orr_iter_read(orr_iter* it, const orr_type_desc* desc)
{
    for (uint32_t f = 0; f < it->field_count; f++) {
        if (orr_iter_asked(it, f, 0) == desc && ORR_LIKELY(*it->era_now == it->era)) {
            orr_hot_span* now = it->now;
            if (ORR_LIKELY(it->listed)) {
                return ((const orr_hot_cell*)(const void*)(now + 1))[f].data;
            }
            uint16_t column = now->map[f];
            return ORR_LIKELY(column != UINT16_MAX)
                       ? now->columns[column].data + (size_t)now->slot * it->fields[f].size
                       : NULL;
        }
    }
    return orr_iter_read_first(it, desc);
}

static inline void* orr_iter_write(orr_iter* it, const orr_type_desc* desc)
{
    for (uint32_t f = 0; f < it->field_count; f++) {
        if (orr_iter_asked(it, f, 1) == desc && ORR_LIKELY(*it->era_now == it->era)) {
            orr_hot_span* now = it->now;
            if (ORR_LIKELY(it->listed)) {
                // The block is stamped when somebody looks at stamps; until then the list remembers.
                orr_hot_cell* cell = (orr_hot_cell*)(void*)(now + 1) + f;
                orr_hot_note(cell, it->clock[0], it->clock[1]);
                return cell->data;
            }
            uint16_t column = now->map[f];
            if (ORR_UNLIKELY(column == UINT16_MAX)) {
                return NULL;
            }
            const orr_hot_column* hot = &now->columns[column];
            // A block that was stamped in this epoch: nothing to do.
            return ORR_LIKELY(hot->version == it->clock[1])
                       ? hot->data + (size_t)now->slot * it->fields[f].size
                       : orr_iter_stamp(it, f);
        }
    }
    return orr_iter_write_first(it, desc);
}

static inline void* orr_iter_pinned(orr_iter* it, const orr_type_desc* desc, orr_access access,
                                    uint32_t i)
{
    for (uint32_t f = 0; f < it->field_count; f++) {
        if (orr_iter_asked(it, f, 2) == desc && ORR_LIKELY(*it->era_now == it->era)) {
            return access == ORR_READ && it->fields[f].pinned != NULL
                       ? it->fields[f].pinned[it->pinned_first + i]
                       : orr_iter_pinned_at(it, f, access, i);
        }
    }
    return orr_iter_pinned_first(it, desc, access, i);
}

// ---- pairs --------------------------------------------------------------------------------------------------------

/// Which pairs of a cross product come.
typedef enum orr_pairs {
    ORR_PAIRS_ONCE = 0, ///< Each pair of different entities once, in one order or the other.
    ORR_PAIRS_ORDERED,  ///< (a, b) and (b, a).
} orr_pairs;

/// An open cross product: runs of the left query against runs of the right, chunk by chunk, so that both stay in the
/// cache.
///
///     ORR_CROSS (pair, bodies, bodies, ORR_PAIRS_ONCE) {
///         const Position* a = orr_read(&pair.left, Position);
///         const Position* b = orr_read(&pair.right, Position);
///         for (uint32_t i = 0; i < pair.left.count; i++) {
///             for (uint32_t j = orr_cross_from(&pair, i); j < pair.right.count; j++) {
///                 if (!orr_cross_self(&pair, i, j)) …   // needed for ordered pairs only
typedef struct orr_cross {
    orr_iter left, right;
    orr_pairs pairs;
    bool same;    ///< Both runs are the same rows.
    bool overlap; // Some cluster is in both.
    bool begun;
    bool of_run; // The left side is a run of a system.
} orr_cross;

/// Opens a cross product of two queries of one world. Pairs once of two different queries whose rows are chosen one by one
/// (disabled components, pinned types, sets of such) are refused: a pair could not be told from its mirror.
/// @return `cross`.
ORR_API orr_cross* orr_cross_begin(orr_cross* cross, orr_query* left, orr_query* right,
                                   orr_pairs pairs);
/// Inside a system: the rows of its run, to the left, with all rows of a query. Every run does its own part, so that a parallel
/// system's go to several workers; it writes columns of its run and reads those of the query, which must be others: types of the
/// query stand in the system's `by_id`, and a parallel system may not write those. The query is made before (settings, user); not with
/// an order or pinned types. Pairs once: of the system's rows and the query's.
ORR_API orr_cross* orr_cross_run(orr_cross* cross, const orr_iter* run, orr_query* right,
                                 orr_pairs pairs);
ORR_API bool orr_cross_next(orr_cross* cross);
ORR_API void orr_cross_end(orr_cross* cross);

/// First row of the right run that pairs with row `i` of the left one.
static inline uint32_t orr_cross_from(const orr_cross* cross, uint32_t i)
{
    return cross->same && cross->pairs == ORR_PAIRS_ONCE ? i + 1 : 0;
}
/// True if both rows are the same entity.
static inline bool orr_cross_self(const orr_cross* cross, uint32_t i, uint32_t j)
{
    return cross->left.now->chunk == cross->right.now->chunk &&
           cross->left.now->slot + i == cross->right.now->slot + j;
}

#define ORR_CROSS(pair, left, right, pairs)                                            \
    for (orr_cross pair ORR_PP_ENDED(orr_cross_end),                                   \
         *orr_pp_##pair ORR_MAYBE_UNUSED = orr_cross_begin(&pair, left, right, pairs); \
         orr_cross_next(&pair);)

#define ORR_CROSS_RUN(pair, run, right, pairs)                                      \
    for (orr_cross pair ORR_PP_ENDED(orr_cross_end),                                \
         *orr_pp_##pair ORR_MAYBE_UNUSED = orr_cross_run(&pair, run, right, pairs); \
         orr_cross_next(&pair);)

#ifdef __cplusplus
}
#endif

#endif
