// SPDX-License-Identifier: MIT
/// @file query.h
/// Queries: find the entities with given components and tags, and iterate their columns at the
/// speed of a plain loop.
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
/// A query is matched against all clusters when it is created, and kept up to date when clusters
/// are created and deleted. Create a query once and keep it. Iteration visits clusters in order of
/// creation and rows in order. A disabled component counts as absent. A disabled entity is skipped.
///
/// While an iteration is open, calls that create, destroy or move rows, or create or delete
/// clusters, return ORR_ERR_STATE. Collect ids and change the entities after the loop, or use
/// orr_query_add(), orr_query_remove() and orr_query_destroy_entities(). Allowed are reading,
/// writing values, also pinned ones, and nested iterations. Leaving ORR_EACH by break, return or
/// goto ends the iteration.
///
/// Threads: several threads may iterate at once, also over one query, if no two of them write the
/// same block. A query with an order or required pinned types is updated by the first iteration
/// after a change, during which no other thread may iterate it.
///
/// Memory: beginning an iteration allocates if the query must be updated or its runs are cached.
#ifndef ORRERY_QUERY_H
#define ORRERY_QUERY_H

#include <orrery/kinds.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORR_TERMS_MAX      32u   ///< Most terms of a query; most queries and types of a set.
#define ORR_QUERY_TEXT_MAX 4096u ///< Largest query text, in bytes.

/// A query of one world. Lives until orr_query_destroy() or the end of its world.
typedef struct orr_query orr_query;

/// Condition that a term states for an entity.
typedef enum orr_term_kind {
    ORR_REQUIRED = 0, ///< The entity has the type or tag.
    ORR_WITHOUT,      ///< The entity does not have the type or tag.
    ORR_OPTIONAL,     ///< No condition. The column is NULL where the type is missing. Types only.
    ORR_ANY,          ///< The entity has at least one of the ORR_ANY terms with the same `group`.
} orr_term_kind;

/// How a loop uses the column of a term.
typedef enum orr_access {
    ORR_READ = 0, ///< orr_read() only.
    ORR_WRITE,    ///< orr_write() too, which stamps the block as changed in this tick.
} orr_access;

/// Which enable state a term or query accepts.
typedef enum orr_enable_state {
    ORR_ENABLED = 0, ///< Present and enabled; a disabled one counts as absent.
    ORR_DISABLED,    ///< Present and disabled. For a multiple type: all instances are disabled.
    ORR_EITHER,      ///< Present, enabled or not.
} orr_enable_state;

/// One condition of a query, on a type or on a tag.
typedef struct orr_term {
    orr_type type;      ///< The type; null for a term on a tag.
    orr_tag tag;        ///< The tag, used if `type` is null. Not 0: an all-zero term is refused.
    orr_term_kind kind; ///< Default ORR_REQUIRED.
    orr_access access;  ///< Default ORR_READ. For types only.
    orr_enable_state state; ///< Default ORR_ENABLED. For types only.
    /// Visit only chunks whose block of this type was written since orr_each.since. If several terms
    /// are `changed`, one such block is enough. Enabling or disabling the component or the entity
    /// counts as a write. Not for pinned types.
    bool changed;
    uint32_t group; ///< Group of an ORR_ANY term.
} orr_term;

/// Terms of C types, which are registered on first use. In an orr_query_desc:
///
///     ORR_TERMS(ORR_W(world, Position), ORR_R(world, Velocity), ORR_NOT(world, Frozen))
///
/// - ORR_TERM: a term with any fields of orr_term.
/// - ORR_R, ORR_W: required, for reading; required, for writing.
/// - ORR_NOT, ORR_OPT: without; optional.
/// - ORR_ANY_OF: one of a group. ORR_TAG: required tag.
/// - ORR_TERMS: initialises `terms` and `term_count` from several terms.
///
/// All except ORR_TERM are C only.
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
    ORR_SET_NONE = 0, ///< Not combined.
    ORR_UNION,        ///< Entities that match either query.
    ORR_INTERSECTION, ///< Entities that match both queries.
    ORR_DIFFERENCE,   ///< Entities that match the left query and not the right one.
} orr_set_kind;

/// Describes a query. All zero matches every enabled entity.
typedef struct orr_query_desc {
    const char* name;          ///< Shown in error texts. Default: the query as text. Copied.
    const char* text;          ///< Terms as text, see orr_query_text(). Added to `terms`.
    const orr_term* terms;     ///< Terms. Copied.
    uint32_t term_count;       ///< Number of `terms`, at most ORR_TERMS_MAX.
    orr_enable_state entities; ///< Enable state of the entities. Default ORR_ENABLED.
    /// Further condition on clusters. Called for all clusters when the query is created, for each
    /// cluster that is created later, and possibly again. The result must depend on the types and
    /// tags of the cluster alone. The function cannot create, destroy or move entities. Default
    /// NULL: true.
    bool (*predicate)(void* user, const orr_world* world, orr_cluster cluster);
    /// Sorts clusters by this key, then by creation. Same rules as for `predicate`. Default NULL.
    uint64_t (*group_by)(void* user, const orr_world* world, orr_cluster cluster);
    /// Sorts entities by a number in a required, unique type that is not pinned, such as "Depth.z";
    /// entities with equal numbers are sorted by index. The order is kept between iterations and
    /// updated where blocks changed. It does not change while a loop over the query is open, nested
    /// loops included: keys written inside take effect in the next loop. Default NULL or "":
    /// storage order.
    const char* order_by;
    bool order_descending; ///< Largest number first. Default false.
    void* user;            ///< Passed to `predicate` and `group_by`.
    /// Combines the entities of `left` and `right`, which must have no `changed` terms; their order
    /// and groups have no effect. Both may be destroyed afterwards. Text, terms, entities,
    /// predicate, order and group must then be unset. The query has the columns of both; a column
    /// is NULL in clusters that lack the type.
    orr_set_kind set;
    const orr_query *left, *right; ///< Operands of `set`.
} orr_query_desc;

/// Creates a query and matches it against all clusters. `desc` may be NULL: every enabled entity.
/// NULL if refused. Allocates.
ORR_API orr_query* orr_query_create(orr_world* world, const orr_query_desc* desc);
/// Creates a query from text: terms separated by commas.
///
///     Position          has the type
///     write Position    has the type; its column may be written
///     !Frozen           does not have the type
///     ?Mass             no condition; the column is NULL where the type is missing
///     Health|Armor      has at least one of these types
///     #level1           has the tag with this name
///     #17               has the tag with this number
///     disabled Health   has the type, and it is disabled
///     either Health     has the type, enabled or disabled
///     changed Position  only blocks written since the mark (orr_each.since)
///     disabled *        disabled entities
///     either *          all entities, enabled or disabled
///
/// - Keywords can be combined: "write changed Position". "!either Health": does not have the type
///   at all.
/// - In an alternative (A|B) the keywords before the first name apply to all its types, except
///   types with keywords of their own. `read` is the default, and needed only for such a type:
///   "write Health|read Armor|#boss".
/// - A word is a keyword only if a name follows, so a type may be called `write`.
/// - A type may be named once, or once in each of several alternatives.
/// - Built-in types (orr_name, orr_tags, orr_enabled) need no registration.
///
/// NULL if refused; the error text shows the position and suggests similar names. Allocates.
ORR_API orr_query* orr_query_text(orr_world* world, const char* text);
/// Destroys a query. NULL is allowed. Refused, without effect, while an iteration is open in the
/// world.
ORR_API void orr_query_destroy(orr_query* query);

/// Brings a query with `order_by`, or with a required pinned type, up to date, as a loop does when
/// it begins. Loops and lookups after this call need no memory until the world changes. Without it,
/// a loop that is refused memory has no runs, and only the error handler is called. Not needed
/// inside a system: the tick reserves the memory before it calls the system, or stops there. No
/// effect on other queries. Allocates.
/// @return ORR_ERR_MEMORY; ORR_ERR_STATE inside a system that may not loop over the query.
ORR_API orr_result orr_query_prepare(orr_query* query);

/// Writes a query as text that creates an equal query. Predicate, order, group and sets have no
/// syntax and are described in words. Size and return value as for orr_value_print().
ORR_API size_t orr_query_print(const orr_query* query, char* out, size_t out_size);
/// Writes which clusters match, with the number of rows, and for each other cluster the first term
/// that fails. Slow; for debugging. Size and return value as for orr_value_print().
ORR_API size_t orr_query_explain(const orr_query* query, char* out, size_t out_size);
/// World of a query.
ORR_API orr_world* orr_query_world(const orr_query* query);

// ---- without a loop -----------------------------------------------------------------------------

/// Number of entities that match. Ignores `changed`.
ORR_API uint64_t orr_query_count(const orr_query* query);
/// True if the entity matches. False for a dead entity. Ignores `changed`.
ORR_API bool orr_query_has(const orr_query* query, orr_entity entity);
/// First entity in order of iteration; null if there is none.
ORR_API orr_entity orr_query_first(orr_query* query);
/// The only entity that matches. If none or more than one matches: null, and an error text with
/// their number.
ORR_API orr_entity orr_query_single(orr_query* query);
/// Entity at a position, counted from 0 in order of iteration; null past the end. Takes time per
/// run of rows, not per entity, where whole clusters match.
ORR_API orr_entity orr_query_at(orr_query* query, uint64_t position);
/// Writes entities in order of iteration from position `first` on, at most `out_count`.
/// @return the number of entities written.
ORR_API uint64_t orr_query_entities(orr_query* query, uint64_t first, orr_entity* out,
                                    uint64_t out_count);

// ---- changing all entities that match -----------------------------------------------------------

/// Adds a component with `value` (NULL: its preset) to every entity that matches and does not have
/// it. Existing components keep their values. Whole clusters are transferred without copying where
/// possible. All or nothing. Allocates.
ORR_API orr_result orr_query_add(orr_query* query, orr_type type, const void* value);
/// Removes a component from every entity that matches and has it. All or nothing. Allocates.
ORR_API orr_result orr_query_remove(orr_query* query, orr_type type);
/// Destroys every entity that matches. All or nothing. Allocates.
ORR_API orr_result orr_query_destroy_entities(orr_query* query);

// ---- iterating ----------------------------------------------------------------------------------

/// Returns a mark for orr_each.since: blocks written from now on count as changed since the mark.
/// Never 0, except if refused (inside a system). Pointers into the world become invalid for
/// writing. Call from one thread, while no other thread iterates.
ORR_API uint64_t orr_change_mark(orr_world* world);

/// Settings of an iteration. All zero: everything, in order.
typedef struct orr_each {
    uint64_t since;  ///< Mark for `changed` terms. Default 0: everything counts as changed.
    bool only_group; ///< Visit only clusters whose group_by key is `group`. Default false.
    uint64_t group;  ///< Key for `only_group`. Without group_by every key is 0.
} orr_each;

// The structs orr_hot_… are the parts of the library that the inline functions below read. They are
// not part of the API and may change with any version.

// A block of one type in a chunk.
typedef struct orr_hot_column {
    uint8_t* data;    // Values of the block.
    uint64_t version; // Epoch of the last write.
    uint64_t tick;    // World tick of the last write.
    void* share;      // Snapshot that shares the block; NULL: none.
} orr_hot_column;

// A run of rows within one chunk.
typedef struct orr_hot_span {
    orr_hot_column* columns; // Of the chunk.
    const uint16_t* map;  // By field: index in `columns`; UINT16_MAX: the cluster lacks the type.
    void* chunk;          // The chunk.
    uint32_t slot, count; // First row within the chunk, number of rows.
} orr_hot_span;

// The first members of a chunk.
typedef struct orr_hot_chunk {
    void* cluster;       // Cluster of the chunk.
    const uint32_t* ids; // Entity indexes of its rows.
} orr_hot_chunk;

// In a query's run cache each span is followed by one cell for each field. A write through the
// cache is noted in the cell; the block is stamped later.
typedef struct orr_hot_cell {
    uint8_t* data;          // Value of the span's first row; NULL: the cluster lacks the type.
    uint64_t tick, version; // Tick and epoch of the last write not yet stamped; version 0: none.
} orr_hot_cell;

// A type whose column a loop can ask for.
typedef struct orr_hot_field {
    const orr_type_desc* asked[3]; // Desc that was last used to read, to write, for a pinned value.
    void* const* pinned; // Pinned values by position in the pinned set; NULL: look in the pool.
    uint32_t size;       // Bytes of a value.
} orr_hot_field;

#define ORR_HOT_SPANS 16 // Spans that an iterator finds at a time.

/// An open iteration, on the caller's stack. Must not be copied. Also the argument of a system's
/// function (orr_run). `count`, `dt`, `tick` and `world` are public; the other members are private
/// and may change with any version.
typedef struct orr_iter {
    uint32_t count;                      ///< Rows of the current run, 1 to ORR_CHUNK_CAPACITY.
    float dt;                            ///< In a system: time step of this tick, in seconds.
    uint64_t tick;                       ///< In a system: tick of its pipeline.
    orr_world* world;                    ///< World of the query.
    struct orr_command_buffer* commands; // In a system: buffer of sent changes. NULL in a loop.
    uint32_t field_count;                // Number of `fields`.
    uint32_t unit;         // In a system with `combine`: number of the run's chunk, from 1; else 0.
    orr_hot_span* now;     // Current run; NULL: none yet.
    orr_hot_field* fields; // Of the query.
    const uint64_t* clock; // Current tick and epoch. A block with this epoch is stamped.
    bool listed;           // Spans come from the run cache; otherwise from `spans`.
    bool counted;          // Counted in the world's open iterations.
    uint32_t span_left;    // Spans after the current one.
    size_t span_stride;    // Bytes from one span to the next.
    orr_hot_span* next;    // Next span.
    const uint32_t* era_now;           // Current era of iterations; grows with each tick.
    uint32_t era;                      // Era in which the iteration began; 0: ended.
    uint32_t entry, entry_end;         // Next matched cluster, and the end.
    uint32_t chunk, chunk_end, slot;   // Next chunk and row within the cluster, and the last chunk.
    uint32_t mask_word;                // Number, from 1, of the 64 rows in `mask`; 0: none.
    uint64_t mask;                     // One bit per row: it matches.
    uint64_t position;                 // In a sorted or pinned set: position of the next run,
    uint64_t pinned_first;             // and of the current run.
    orr_query* query;                  // The query.
    orr_each each;                     // Settings of the iteration.
    orr_hot_span spans[ORR_HOT_SPANS]; // Spans found ahead.
} orr_iter;

/// Opens an iteration. `each` may be NULL: the defaults. A refused iteration has no runs. After
/// orr_query_prepare() it is not refused for lack of memory.
/// @return `it`.
ORR_API orr_iter* orr_iter_begin(orr_iter* it, orr_query* query, const orr_each* each);
/// Ends an iteration. Allowed at any time and more than once. orr_iter_next() ends it before it
/// returns false, ORR_EACH when the loop is left. An iteration that is still open ends with the
/// tick.
ORR_API void orr_iter_end(orr_iter* it);
/// Slow path of orr_iter_next(): finds the next spans. @return false at the end.
ORR_API bool orr_iter_fill(orr_iter* it);

/// Advances to the next run of rows. @return false at the end.
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

/// Loops over the runs of a query: ORR_EACH (it, query) { … }. ORR_EACH_OF takes settings of
/// orr_each: ORR_EACH_OF (it, query, .since = mark) { … }. ORR_EACH_OF is C only.
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
// Calls `function` when the variable goes out of scope. Compilers other than gcc and clang cannot
// do that: with them, leave a loop at its end only, or call orr_iter_end() before leaving it.
#if defined(__GNUC__)
#define ORR_PP_ENDED(function) __attribute__((cleanup(function)))
#else
#define ORR_PP_ENDED(function)
#endif

/// Column of a type in the current run, `count` values: orr_read(&it, Velocity), orr_write(&it,
/// Position). NULL if the cluster lacks the type of an optional or any-of term. A type that the
/// query does not name, writing with a read term, and a pinned type are programming errors: NULL
/// and an assertion. The column of a marker is not NULL but has no data.
#define orr_read(it, type)  ORR_PP_READ(type, orr_iter_read(it, ORR_TYPE(type)))
#define orr_write(it, type) ORR_PP_WRITE(type, orr_iter_write(it, ORR_TYPE(type)))

/// Value of a pinned type in row `i` of the current run; NULL if the entity lacks the type of an
/// optional or any-of term. orr_write_pinned() needs a write term and stamps the value.
#define orr_read_pinned(it, type, i) \
    ORR_PP_READ(type, orr_iter_pinned(it, ORR_TYPE(type), ORR_READ, i))
#define orr_write_pinned(it, type, i) \
    ORR_PP_WRITE(type, orr_iter_pinned(it, ORR_TYPE(type), ORR_WRITE, i))

/// Instances of a multiple type in the current run (orr_instances). orr_read() and orr_write()
/// return the values; those of row i are values[i * n.capacity] to values[i * n.capacity +
/// n.counts[i] - 1]. The member `enabled` begins at the first row of the chunk, not of the run: use
/// orr_iter_instance_on().
#define orr_instances_of(it, type) orr_iter_instances(it, ORR_TYPE(type))

/// Slow path of orr_read(): the first use of a desc, and errors.
ORR_API const void* orr_iter_read_first(orr_iter* it, const orr_type_desc* desc);
/// Slow path of orr_write(): the first use of a desc, and errors.
ORR_API void* orr_iter_write_first(orr_iter* it, const orr_type_desc* desc);
/// Slow path of orr_write(): stamps the block of a field. @return the column; NULL as for
/// orr_column_write().
ORR_API void* orr_iter_stamp(orr_iter* it, uint32_t field);
/// Slow path of orr_read_pinned() and orr_write_pinned(): the first use of a desc, and errors.
ORR_API void* orr_iter_pinned_first(orr_iter* it, const orr_type_desc* desc, orr_access access,
                                    uint32_t i);
/// Slow path of orr_read_pinned() and orr_write_pinned(): looks in the pool.
ORR_API void* orr_iter_pinned_at(orr_iter* it, uint32_t field, orr_access access, uint32_t i);
/// Function behind orr_instances_of(). All zero if the cluster lacks the type.
ORR_API orr_instances orr_iter_instances(orr_iter* it, const orr_type_desc* desc);
/// True if an instance (0 to capacity - 1) of row `i` of the current run is enabled.
ORR_API bool orr_iter_instance_on(const orr_iter* it, const orr_instances* instances, uint32_t i,
                                  uint32_t instance);

/// Column of a type in the current run, for types without a C struct. As orr_read() and
/// orr_write().
ORR_API const void* orr_iter_read_type(orr_iter* it, orr_type type);
ORR_API void* orr_iter_write_type(orr_iter* it, orr_type type);

/// Entity of row `i` of the current run. Null, and an error, if there is no such row.
static inline orr_entity orr_iter_entity(const orr_iter* it, uint32_t i);
/// Writes the entities of the current run, `count` of them.
ORR_API void orr_iter_entities(const orr_iter* it, orr_entity* out);
/// Cluster of the current run. `*out_row` (may be NULL) becomes its first row within the cluster.
ORR_API orr_cluster orr_iter_cluster(const orr_iter* it, uint32_t* out_row);
/// group_by key of the current run's cluster; 0 without group_by.
ORR_API uint64_t orr_iter_group(const orr_iter* it);

// Desc that was last used for a field in one of three ways: 0 read, 1 write, 2 pinned. Loops on
// several threads may store it at once; each of the stored values is valid.
static inline const orr_type_desc* orr_iter_asked(const orr_iter* it, uint32_t field, uint32_t way)
{
#if defined(__GNUC__)
    return __atomic_load_n(&it->fields[field].asked[way], __ATOMIC_RELAXED);
#else
    return it->fields[field].asked[way];
#endif
}

// Notes a write in a cell. Another thread may be stamping the blocks of other cells at this moment.
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

/// Slow path of orr_iter_entity(): reports that there is no such row or no run, and returns null.
ORR_API orr_entity orr_iter_entity_none(const orr_iter* it, uint32_t i);

static inline orr_entity orr_iter_entity(const orr_iter* it, uint32_t i)
{
    if (ORR_UNLIKELY(i >= it->count || it->now == NULL || *it->era_now != it->era)) {
        return orr_iter_entity_none(it, i);
    }
    uint32_t index = ((const orr_hot_chunk*)it->now->chunk)->ids[it->now->slot + i];
    const orr_hot_world* hot = (const orr_hot_world*)(const void*)it->world;
    // Transient entities have negative page numbers.
    int32_t page = (int32_t)index >> 12;
    // In real time another thread may replace the page table by a larger one.
#if defined(__GNUC__)
    orr_hot_record* const* pages = __atomic_load_n(&hot->pages, __ATOMIC_ACQUIRE);
#else
    orr_hot_record* const* pages = hot->pages;
#endif
    orr_entity entity = {(uint64_t)pages[page][index & 4095].generation << 32 | index};
    return entity;
}

/// Function behind orr_read().
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

/// Function behind orr_write().
static inline void* orr_iter_write(orr_iter* it, const orr_type_desc* desc)
{
    for (uint32_t f = 0; f < it->field_count; f++) {
        if (orr_iter_asked(it, f, 1) == desc && ORR_LIKELY(*it->era_now == it->era)) {
            orr_hot_span* now = it->now;
            if (ORR_LIKELY(it->listed)) {
                // The block is stamped before the next read of stamps; until then the cell keeps
                // it.
                orr_hot_cell* cell = (orr_hot_cell*)(void*)(now + 1) + f;
                orr_hot_note(cell, it->clock[0], it->clock[1]);
                return cell->data;
            }
            uint16_t column = now->map[f];
            if (ORR_UNLIKELY(column == UINT16_MAX)) {
                return NULL;
            }
            const orr_hot_column* hot = &now->columns[column];
            // A block that is already stamped with the current epoch needs no new stamp.
            return ORR_LIKELY(hot->version == it->clock[1])
                       ? hot->data + (size_t)now->slot * it->fields[f].size
                       : orr_iter_stamp(it, f);
        }
    }
    return orr_iter_write_first(it, desc);
}

/// Function behind orr_read_pinned() and orr_write_pinned().
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

// ---- pairs --------------------------------------------------------------------------------------

/// Which pairs a cross product visits.
typedef enum orr_pairs {
    ORR_PAIRS_ONCE = 0, ///< Each pair of different entities once, as (a, b) or as (b, a).
    ORR_PAIRS_ORDERED,  ///< Both (a, b) and (b, a), also (a, a).
} orr_pairs;

/// An open cross product of two queries. It pairs runs of the left query with runs of the right
/// query, chunk by chunk, so that both stay in the cache.
///
///     ORR_CROSS (pair, bodies, bodies, ORR_PAIRS_ONCE) {
///         const Position* a = orr_read(&pair.left, Position);
///         const Position* b = orr_read(&pair.right, Position);
///         for (uint32_t i = 0; i < pair.left.count; i++) {
///             for (uint32_t j = orr_cross_from(&pair, i); j < pair.right.count; j++) {
///                 if (!orr_cross_self(&pair, i, j)) …   // needed only for ordered pairs
typedef struct orr_cross {
    orr_iter left, right; ///< Current runs, for orr_read() and orr_write().
    orr_pairs pairs;      ///< As given.
    bool same;            ///< Both runs are the same rows.
    bool overlap;         // Private. Some cluster matches both queries.
    bool begun;           // Private. The left side has a run.
    bool of_run;          // Private. The left side is the run of a system (orr_cross_run()).
} orr_cross;

/// Opens a cross product of two queries of one world. ORR_PAIRS_ONCE is refused for two different
/// queries that share clusters, if one of them selects rows one by one (by enable bits, pinned
/// types, or a set of such) or is ordered: a pair could not be distinguished from its mirror. A
/// refused cross product has no runs.
/// @return `cross`.
ORR_API orr_cross* orr_cross_begin(orr_cross* cross, orr_query* left, orr_query* right,
                                   orr_pairs pairs);
/// Opens a cross product inside a system: the rows of its current run (left) with all rows of a
/// query (right). A parallel system pairs each of its runs separately, on several workers. The
/// system writes columns of its run and reads columns of the query, which must be different types:
/// the types of the query are declared in the system's `by_id`, and a parallel system may not write
/// those. Create the query before the system runs and pass it as settings or user. The query must
/// have no order and no required pinned types. With ORR_PAIRS_ONCE each pair of a row of the system
/// and a row of the query is visited once.
/// @return `cross`.
ORR_API orr_cross* orr_cross_run(orr_cross* cross, const orr_iter* run, orr_query* right,
                                 orr_pairs pairs);
/// Advances to the next pair of runs. @return false at the end.
ORR_API bool orr_cross_next(orr_cross* cross);
/// Ends a cross product. Allowed at any time and more than once.
ORR_API void orr_cross_end(orr_cross* cross);

/// First row of the right run to pair with row `i` of the left run.
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

/// Loops over the pairs of runs of two queries: ORR_CROSS (pair, left, right, ORR_PAIRS_ONCE) { …
/// }.
#define ORR_CROSS(pair, left, right, pairs)                                            \
    for (orr_cross pair ORR_PP_ENDED(orr_cross_end),                                   \
         *orr_pp_##pair ORR_MAYBE_UNUSED = orr_cross_begin(&pair, left, right, pairs); \
         orr_cross_next(&pair);)

/// Loops over the pairs of a system's run and a query. As orr_cross_run().
#define ORR_CROSS_RUN(pair, run, right, pairs)                                      \
    for (orr_cross pair ORR_PP_ENDED(orr_cross_end),                                \
         *orr_pp_##pair ORR_MAYBE_UNUSED = orr_cross_run(&pair, run, right, pairs); \
         orr_cross_next(&pair);)

#ifdef __cplusplus
}
#endif

#endif
