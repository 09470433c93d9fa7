// SPDX-License-Identifier: MIT
/// @file store.h
/// A world: entities, their components and tags, in clusters of chunks of columns.
///
/// Entities with the same component types and the same tags are rows of one cluster. A cluster is a list
/// of chunks of ORR_CHUNK_CAPACITY rows; a chunk has one array (a block) per type. Rows are dense:
/// row r is in chunk r / ORR_CHUNK_CAPACITY at slot r % ORR_CHUNK_CAPACITY, a new row goes to the end, and a
/// removed one is replaced by the last. So an entity is known by its id; its address changes.
///
/// The short calls (orr_set, orr_get …) are macros over functions (orr_component_set …) that take an
/// orr_type. Every refusal returns an orr_result, changes nothing, and is told to the world's error
/// handler with entity and type by name.
///
/// Threads: one thread at a time may change a world; any number may read it while nobody changes it.
/// Pointers: a pointer into a world (a component, a column) is good until the next call that adds, removes
/// or moves rows, advances the tick, or hashes the world; for writing also only until orr_change_mark() or a loop over an
/// ordered query or one with pinned types begins. So do not add or remove while looping over columns: collect
/// the ids, then use a batch call. Values passed to orr_component_set() may lie in the world; those passed to
/// create, add and set calls for many, and the lists of entities given to them, must not.
/// References: an entity id in a component is plain data. When its target dies it stays as it is and is seen to be
/// dead (orr_alive()); storing a reference to an entity that is already dead is refused, except where it stood
/// before. A world tells its types from those of other worlds; entities only if the worlds' id_salts differ.
/// C++: everything here works in C++17 but orr_set() and ORR_TYPES(), which are C; use orr_put() and a plain array.
#ifndef ORRERY_STORE_H
#define ORRERY_STORE_H

#include <orrery/schema.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORR_CHUNK_CAPACITY    2048u       ///< Rows of a full chunk.
#define ORR_TYPES_MAX         4096u       ///< Component types of a world.
#define ORR_CLUSTER_TYPES_MAX 256u        ///< Types of one cluster.
#define ORR_CLUSTER_TAGS_MAX  64u         ///< Tags of one cluster.
#define ORR_TAGS_MAX          65536u      ///< Named tags of a world.
#define ORR_CLUSTERS_MAX      1048576u    ///< Clusters of a world.
#define ORR_CHUNKS_MAX        2097150u    ///< Chunks of a world.
#define ORR_ENTITIES_MAX      2147483648u ///< Entities of a world, without transient ones.
#define ORR_TRANSIENTS_MAX    268435456u  ///< Transient entities of a world.
#define ORR_SALT_MAX          127u        ///< Largest orr_world_desc.id_salt.

/// A world. Independent of every other one.
typedef struct orr_world orr_world;

/// Any 64-bit value of the user's, part of the identity of a cluster. One with a name can be saved.
typedef uint64_t orr_tag;

/// Names a cluster of one world. A deleted one is detected by its generation. All-zero is null.
typedef struct orr_cluster {
    uint32_t id, generation;
} orr_cluster;

/// Where an entity is. Goes stale when the entity moves or dies, which is detected.
typedef struct orr_address {
    orr_cluster cluster;
    uint32_t row;
    orr_entity entity;
} orr_address;

/// What a refused call wanted and why it was refused. Valid only during the handler's call.
typedef struct orr_error {
    orr_result result;
    orr_log_id id;
    const char* text; ///< One sentence: what, which entity and type, what to do.
} orr_error;

/// Hears of refusals. It may look at the world, but not change it: such calls are refused, and go to the log.
typedef void (*orr_error_handler)(void* user, orr_world* world, const orr_error* error);

#define ORR_WORKERS_MAX 64u

/// Threads of the program's own job system, for orr_world_desc.pool, in place of threads the world makes.
typedef struct orr_pool {
    void* user;
    /// Has `help(arg)` called `count` times, soon, each on another thread than the caller's. It returns when there is nothing more to
    /// do. Returns how many it will call, at most `count`. No tick depends on it: calls may come late, or never, which is said once in the
    /// log if none ever came; they may be too many, which is said once, and return at once then; and they may come after the world was
    /// destroyed: it waits for those that are under way, and later ones return without looking at anything (`arg` is no address).
    uint32_t (*start)(void* user, uint32_t count, void (*help)(void* arg), void* arg);
} orr_pool;

/// Settings for orr_world_create(). All zero is a good world.
typedef struct orr_world_desc {
    orr_allocator allocator; ///< Default: the platform's memory.
    const orr_platform*
        platform; ///< Must outlive the world, and calls of `pool` that have not returned. Default orr_platform_default().
    orr_log_desc log;
    orr_error_handler on_error; ///< Default: one line to the log.
    void* on_error_user;
    uint64_t seed; ///< Start of the world's random numbers. Part of the state. Default 0.
    uint64_t memory_bytes_max; ///< Refuse to hold more. Default: no limit.
    uint32_t entities_max;     ///< Indexes in use at most. Default and most ORR_ENTITIES_MAX.
    uint32_t clusters_max;     ///< Default and most ORR_CLUSTERS_MAX (a commit: one more).
    uint32_t types_max;        ///< Default and most ORR_TYPES_MAX.
    uint32_t tags_max;         ///< Named ones. Default and most ORR_TAGS_MAX.
    double
        rate_hz; ///< Ticks per second of a fixed world: dt is always 1 / rate_hz. Default 0: continuous (schedule.h).
    /// Threads that run systems, the caller among them, no more than ORR_WORKERS_MAX are used; fewer than asked for is said once in the
    /// log. Default 0: the caller alone, in plain order; every other number gives
    /// the same results (schedule.h). The allocator must be good for several threads.
    uint32_t workers;
    orr_pool pool; ///< Threads of the program's own instead of new ones. Default: none.
    /// A system that runs longer is named in the log. If set, a thread is made that does nothing but look, with any number of workers;
    /// where there are no threads it is named when it has returned, and every tick is timed. Default 10 s, without that thread: other
    /// workers look while they wait; if there are none, it is named when it has returned, in ticks that are timed (every 16th).
    uint64_t stuck_ns;
    /// Systems may have atomic sections (orr_atomic()): their results may depend on how fast threads are. Default false: such a
    /// system is refused, and the same inputs give the same hashes with any number of workers.
    bool atomic_sections;
    uint32_t id_salt; ///< Worlds with different salts refuse each other's ids. Default 0.
} orr_world_desc;

/// How much of everything a world holds.
typedef struct orr_world_stats {
    uint64_t entities;
    uint64_t clusters;
    uint64_t chunks;
    uint64_t types;
    uint64_t tags;  ///< With a name.
    uint64_t blobs; ///< Owned strings and arrays.
    uint64_t bytes; ///< As orr_memory_stats.total.
} orr_world_stats;

// An option that changes the ABI would rename this symbol, so that a mismatch fails at link time.
#ifdef ORR_NO_ASSERT
#define orr_world_create orr_world_create_noassert
#endif

/// Creates a world. `desc` may be NULL. @return NULL when memory is refused or the desc is invalid (said
/// in the log). Allocates.
ORR_API orr_world* orr_world_create(const orr_world_desc* desc);
/// Destroys a world with everything in it; destruct hooks run, all memory is given back. NULL is allowed. Also while a tick is half
/// done. Not inside a loop over one of its queries; refused inside a system, in a tick that runs (from a hook), and from its error handler.
ORR_API void orr_world_destroy(orr_world* world);

/// The number of ticks advanced since creation.
ORR_API uint64_t orr_world_tick(const orr_world* world);
ORR_API uint64_t orr_world_seed(const orr_world* world);
/// Begins the next tick: later writes are stamped with it, owned strings nobody stored are freed. Pointers into the
/// world are no longer good for writing.
ORR_API void orr_tick_advance(orr_world* world);

/// Hash of the whole state: equal for equal histories on every machine, compiler and allocator; 0, refused, inside a system. Costs what
/// changed since the last call. Not const: it remembers the hashes of blocks, and pointers into the world are no longer
/// good for writing.
ORR_API uint64_t orr_world_hash(orr_world* world);
/// Checks every invariant. Slow: for tests and for suspicion. Not inside systems, nor error handlers they cause: others may be writing.
/// @return ORR_ERR_CORRUPT, with the broken invariant in the error; ORR_ERR_STATE inside a system.
ORR_API orr_result orr_world_validate(orr_world* world);
ORR_API void orr_world_stats_get(const orr_world* world, orr_world_stats* out);
/// Changes orr_world_desc.memory_bytes_max; 0: no limit. What is held already stays. Also while a tick is half done.
ORR_API void orr_world_memory_limit(orr_world* world, uint64_t bytes_max);
ORR_API void orr_world_memory_get(const orr_world* world, orr_memory_stats* out);
/// The text of the last refusal; "" when there was none. Overwritten by the next one.
ORR_API const char* orr_error_last(const orr_world* world);
/// Sets the threshold of one category. Default: the desc's level.
ORR_API void orr_log_level_set(orr_world* world, orr_log_category category, orr_log_level level);
/// Writes a line of the user's to the world's log.
ORR_API void orr_log(orr_world* world, orr_log_level level, const char* format, ...)
    ORR_PRINTF(3, 4);

// ---- types ----------------------------------------------------------------------------------------

/// Registers a type. The same name with the same layout gives the same type again; `settings` of the first
/// registration stay. Allocates.
/// @return ORR_ERR_CONFLICT for another layout under the name, ORR_ERR_NAME, ORR_ERR_ARGUMENT,
/// ORR_ERR_CAPACITY, ORR_ERR_MEMORY.
ORR_API ORR_NODISCARD orr_result orr_type_register(orr_world* world, const orr_type_desc* desc,
                                                   orr_type* out);
/// The type of a desc with static storage (ORR_TYPE), registered at first use. Null when refused.
ORR_API orr_type orr_type_of(orr_world* world, const orr_type_desc* static_desc);
/// The type of a name; null if there is none.
ORR_API orr_type orr_type_find(const orr_world* world, const char* name);
/// What the world knows of a type; NULL if it is none of this world.
ORR_API const orr_type_info* orr_type_info_get(const orr_world* world, orr_type type);

// ---- tags -----------------------------------------------------------------------------------------

/// Gives a tag a name. Naming it the same again is allowed. Tags need no name to be used. Allocates.
/// @return ORR_ERR_CONFLICT when the name or the value is taken.
ORR_API ORR_NODISCARD orr_result orr_tag_register(orr_world* world, orr_tag tag, const char* name);
/// Finds a tag by its name. False if there is none.
ORR_API bool orr_tag_find(const orr_world* world, const char* name, orr_tag* out);
/// The name of a tag; NULL if it has none.
ORR_API const char* orr_tag_name(const orr_world* world, orr_tag tag);

// ---- clusters -------------------------------------------------------------------------------------

/// A set of types and tags. Order does not matter; doubles are refused.
typedef struct orr_cluster_desc {
    const orr_type* types;
    uint32_t type_count;
    const orr_tag* tags;
    uint32_t tag_count;
    /// Instances a row has room for, per type: a power of two for `multiple` types, 1 or 0 for the others. Default
    /// NULL: 1 each.
    const uint16_t* capacities;
} orr_cluster_desc;

/// Fills the types of an orr_cluster_desc or orr_cluster_match, in C:
/// orr_cluster_get(world, &(orr_cluster_desc){ORR_TYPES(world, Position, Velocity)}, &cluster)
#ifndef __cplusplus
#define ORR_TYPES(world, ...)                                                     \
    .types = (const orr_type[]){ORR_PP_EACH(ORR_PP_TYPE_OF, world, __VA_ARGS__)}, \
    .type_count = ORR_PP_ITEMS(__VA_ARGS__)
#define ORR_PP_TYPE_OF(world, type) orr_type_of(world, ORR_TYPE(type)),
#endif

/// What a cluster is and holds. The arrays belong to the world and are good until it is deleted.
typedef struct orr_cluster_info {
    const orr_type* types; ///< In registration order.
    uint32_t type_count;
    const orr_tag* tags; ///< Ascending.
    uint32_t tag_count;
    uint32_t row_count;
    uint32_t chunk_count;
    const uint16_t* capacities; ///< Per type, instances a row has room for; 1 for unique types.
} orr_cluster_info;

/// The cluster of a set, created if missing. Chunks come with the first entity. Allocates.
ORR_API ORR_NODISCARD orr_result orr_cluster_get(orr_world* world, const orr_cluster_desc* desc,
                                                 orr_cluster* out);
/// The cluster of a set; null if there is none.
ORR_API orr_cluster orr_cluster_find(const orr_world* world, const orr_cluster_desc* desc);
/// @return ORR_ERR_CLUSTER.
ORR_API ORR_NODISCARD orr_result orr_cluster_info_get(const orr_world* world, orr_cluster cluster,
                                                      orr_cluster_info* out);
/// The cluster created after this one; the first for a null one; null at the end or for a deleted one.
ORR_API orr_cluster orr_cluster_next(const orr_world* world, orr_cluster cluster);

/// Which clusters orr_clusters_find() finds: those with all of `types` and `tags`, none of `without_types`
/// and `without_tags`, for which `predicate` is true. All zero finds every cluster.
typedef struct orr_cluster_match {
    const orr_type* types;
    uint32_t type_count;
    const orr_tag* tags;
    uint32_t tag_count;
    const orr_type* without_types;
    uint32_t without_type_count;
    const orr_tag* without_tags;
    uint32_t without_tag_count;
    bool (*predicate)(void* user, const orr_world* world, orr_cluster cluster); ///< Default: true.
    void* user;
} orr_cluster_match;

/// Finds clusters in creation order. Writes at most `out_count` of them; `out` may be NULL when that is 0.
/// @return how many match in all.
ORR_API uint32_t orr_clusters_find(const orr_world* world, const orr_cluster_match* match,
                                   orr_cluster* out, uint32_t out_count);

/// Destroys all entities of a cluster; the cluster stays. Costs by chunk where no hook needs a row.
ORR_API orr_result orr_cluster_clear(orr_world* world, orr_cluster cluster);
/// Destroys all entities of a cluster and the cluster; handles to it are stale.
ORR_API orr_result orr_cluster_delete(orr_world* world, orr_cluster cluster);
/// Deletes every cluster that matches, with its entities: unloads a level. `out_count` (may be NULL) gets how many.
/// All or nothing. An empty match deletes all clusters; a NULL one is refused.
ORR_API orr_result orr_clusters_delete(orr_world* world, const orr_cluster_match* match,
                                       uint32_t* out_count);
/// Destroys all entities of the world; clusters, types and tags stay.
ORR_API orr_result orr_entities_destroy_all(orr_world* world);

/// Rows of a chunk; 0 if there is no such chunk.
ORR_API uint32_t orr_chunk_count(const orr_world* world, orr_cluster cluster, uint32_t chunk);
/// Writes the entities of a chunk, at most `out_count`. @return how many were written.
ORR_API uint32_t orr_chunk_entities(const orr_world* world, orr_cluster cluster, uint32_t chunk,
                                    orr_entity* out, uint32_t out_count);
/// The raw array of a type in a chunk, to read. NULL if there is no such chunk or column. 64-byte aligned,
/// readable up to the next multiple of 64 bytes. A marker has a column without data: not NULL, not to be read.
ORR_API const void* orr_column_read(const orr_world* world, orr_cluster cluster, uint32_t chunk,
                                    orr_type type);
/// The same to write: stamps the block with the tick. NULL also when the block is held by a snapshot and
/// memory for a copy is refused.
ORR_API void* orr_column_write(orr_world* world, orr_cluster cluster, uint32_t chunk,
                               orr_type type);
/// The world tick of the last write to a block; 0 if there is none.
ORR_API uint64_t orr_column_tick(const orr_world* world, orr_cluster cluster, uint32_t chunk,
                                 orr_type type);
/// The version of a block: grows with every tick in which it is written, never goes back.
ORR_API uint64_t orr_column_version(const orr_world* world, orr_cluster cluster, uint32_t chunk,
                                    orr_type type);
/// Enable bits of a column, one per row (of a multiple type one per instance there is room for), least significant first;
/// NULL: all are on.
/// A null type, (orr_type){0}, gives the bits of the entities themselves.
ORR_API const uint64_t* orr_column_enabled(const orr_world* world, orr_cluster cluster,
                                           uint32_t chunk, orr_type type);

/// A run of rows that lie one after another in memory, across chunks where these are adjacent. `*count` says how
/// many rows from `row` on are wanted, and becomes how many there are in the run; 0 and NULL past the end or without
/// such a column. Calls for several types chain, each lowering the count:
///
///     for (uint32_t row = 0, n; row < info.row_count; row += n) {
///         n = info.row_count - row;
///         Position* p = orr_span_write(world, cluster, position, row, &n);
///         const Velocity* v = orr_span_read(world, cluster, velocity, row, &n);
///         for (uint32_t i = 0; i < n; i++) …
///
/// How far a run goes depends on memory, so go on until all wanted rows are done: a program that stopped where a run
/// ends would not be deterministic.
ORR_API const void* orr_span_read(const orr_world* world, orr_cluster cluster, orr_type type,
                                  uint32_t row, uint32_t* count);
/// The same to write: stamps every block of the run, and copies those a snapshot holds.
ORR_API void* orr_span_write(orr_world* world, orr_cluster cluster, orr_type type, uint32_t row,
                             uint32_t* count);

// ---- entities -------------------------------------------------------------------------------------

/// Initial values for a column of new rows: one value per row, one after another.
typedef struct orr_column_data {
    orr_type type;
    const void* values;
} orr_column_data;

/// Creates an entity without components. Null when refused. Allocates.
ORR_API orr_entity orr_create(orr_world* world);
/// Creates an entity in a cluster; its components have their presets. Null when refused. Allocates.
ORR_API orr_entity orr_create_in(orr_world* world, orr_cluster cluster);
/// Creates `count` entities in a cluster; columns not in `data` get presets. Values are copied. Of a multiple type each
/// gets one instance.
/// `out` may be NULL. All or nothing. Allocates.
ORR_API orr_result orr_create_many(orr_world* world, orr_cluster cluster, uint32_t count,
                                   const orr_column_data* data, uint32_t data_count,
                                   orr_entity* out);
/// Creates an entity with the components, tags and enable bits of another. Null when refused. Allocates.
ORR_API orr_entity orr_copy(orr_world* world, orr_entity source);
ORR_API orr_result orr_destroy(orr_world* world, orr_entity entity);
/// Destroys all or, if one is dead or listed twice, none.
ORR_API orr_result orr_destroy_many(orr_world* world, const orr_entity* entities, uint32_t count);
/// False for a dead, null or foreign id.
ORR_API bool orr_alive(const orr_world* world, orr_entity entity);
ORR_API uint64_t orr_entity_count(const orr_world* world);

// Transient entities: of who looks on (drawing, sound, tools), beside the simulation. They have components of transient types
// (orr_type_settings.transient) only, and no name, tags or switch of their own. Their ids are of a range of their own, so that the world is the same with
// and without them: they are not in its hash or its counts, and for systems of the simulation they are dead. Queries that require a
// transient type find them, after all others. docs/SPECTATORS.md.

/// Creates one; orr_destroy() destroys it. Null when refused. Between ticks; spectator systems send instead (orr_send_create()). Allocates.
ORR_API orr_entity orr_create_transient(orr_world* world);
/// True for a live transient entity.
ORR_API bool orr_transient(const orr_world* world, orr_entity entity);
ORR_API uint64_t orr_transient_count(const orr_world* world);

ORR_API ORR_NODISCARD orr_result orr_address_get(const orr_world* world, orr_entity entity,
                                                 orr_address* out);
/// True while the entity is alive and still there.
ORR_API bool orr_address_valid(const orr_world* world, const orr_address* address);
/// The value at an address; NULL if the address is stale or the entity lacks the type.
ORR_API const void* orr_address_read(const orr_world* world, const orr_address* address,
                                     orr_type type);
ORR_API void* orr_address_write(orr_world* world, const orr_address* address, orr_type type);
/// The cluster of an entity; null for a dead one.
ORR_API orr_cluster orr_entity_cluster(const orr_world* world, orr_entity entity);

/// Moves an entity to another cluster: new components get presets, dropped ones are destructed. This is
/// what all adding and removing of components and tags comes down to. Allocates.
ORR_API orr_result orr_entity_move(orr_world* world, orr_entity entity, orr_cluster to);
/// Moves rows first … first + count - 1 of a cluster to another. All or nothing. Allocates.
ORR_API orr_result orr_rows_move(orr_world* world, orr_cluster from, uint32_t first, uint32_t count,
                                 orr_cluster to);
/// Moves all rows; whole chunks are relinked, not copied. Allocates.
ORR_API orr_result orr_rows_move_all(orr_world* world, orr_cluster from, orr_cluster to);

/// A disabled entity keeps its place and its components; queries will skip it.
ORR_API orr_result orr_entity_enable(orr_world* world, orr_entity entity, bool on);
/// False also for a dead one.
ORR_API bool orr_entity_enabled(const orr_world* world, orr_entity entity);

/// Writes an entity as text: `7v1: Position {x: 1, y: 2}, #level1`, or with its name instead of the id, if it has one
/// (kinds.h): `bob: Position {x: 1, y: 2}`. Pinned components follow the others. As orr_value_print().
ORR_API size_t orr_entity_print(const orr_world* world, orr_entity entity, char* out,
                                size_t out_size);
/// Prints an entity to stdout, with a newline.
ORR_API void orr_print(const orr_world* world, orr_entity entity);

// ---- components and tags of an entity --------------------------------------------------------------

/// Copies a value into a component, adding it if missing. References to dead entities in it are refused.
/// Allocates.
ORR_API orr_result orr_component_set(orr_world* world, orr_entity entity, orr_type type,
                                     const void* value);
/// Adds a component with its preset; ORR_OK if it is there already. Allocates.
ORR_API orr_result orr_component_add(orr_world* world, orr_entity entity, orr_type type);
/// Removes a component; ORR_OK if it is not there. Allocates.
ORR_API orr_result orr_component_remove(orr_world* world, orr_entity entity, orr_type type);
/// The value, or NULL if the entity does not have it. A dead id gives NULL and an error. Inline, see the end.
static inline const void* orr_component_get(const orr_world* world, orr_entity entity,
                                            orr_type type);
/// The value to change in place: stamps its block. NULL as above, or when memory for a copy is refused.
ORR_API void* orr_component_edit(orr_world* world, orr_entity entity, orr_type type);
/// False also for a dead one.
ORR_API bool orr_component_has(const orr_world* world, orr_entity entity, orr_type type);
/// Switches a component off or on without moving anything. @return ORR_ERR_ABSENT. Allocates.
ORR_API orr_result orr_component_enable(orr_world* world, orr_entity entity, orr_type type,
                                        bool on);
/// False also for a missing component or a dead entity.
ORR_API bool orr_component_enabled(const orr_world* world, orr_entity entity, orr_type type);

ORR_API orr_result orr_tag_add(orr_world* world, orr_entity entity, orr_tag tag);
ORR_API orr_result orr_tag_remove(orr_world* world, orr_entity entity, orr_tag tag);
ORR_API bool orr_tag_has(const orr_world* world, orr_entity entity, orr_tag tag);

// Batches. All or nothing; `values` is one value per entity, one after another. An entity listed twice is
// refused where it would move (add, remove, a set that adds), and allowed in get and in a set of what is there.

/// Adds a component to each that lacks it and sets it for all; `values` NULL: presets for those that lack it. Values of
/// a multiple type are refused if one has it already: which instance would be set?
ORR_API orr_result orr_component_add_many(orr_world* world, const orr_entity* entities,
                                          uint32_t count, orr_type type, const void* values);
ORR_API orr_result orr_component_remove_many(orr_world* world, const orr_entity* entities,
                                             uint32_t count, orr_type type);
/// Sets a component that all have. @return ORR_ERR_ABSENT.
ORR_API orr_result orr_component_set_many(orr_world* world, const orr_entity* entities,
                                          uint32_t count, orr_type type, const void* values);
/// Copies the bytes of a component that all have. @return ORR_ERR_ABSENT.
ORR_API orr_result orr_component_get_many(const orr_world* world, const orr_entity* entities,
                                          uint32_t count, orr_type type, void* out);

/// Registers C types now, so that texts (queries, bundles, needs) can name them: ORR_REGISTER(world, Position, Velocity);
#ifndef __cplusplus
#define ORR_REGISTER(world, ...) \
    ((void)(const orr_type[]){ORR_PP_EACH(ORR_PP_TYPE_OF, world, __VA_ARGS__)})
#endif

/// Typed short forms: orr_set(world, bob, Position, {1, 2}); orr_put(world, bob, Position, &position);
/// const Position* p = orr_get(world, bob, Position);
#ifndef __cplusplus
#define orr_set(world, entity, type, ...) \
    orr_component_set(world, entity, orr_type_of(world, ORR_TYPE(type)), &(const type)__VA_ARGS__)
#endif
/// The same with a pointer to a value, whose type is checked by the compiler.
#define orr_put(world, entity, type, pointer)                            \
    orr_component_set(world, entity, orr_type_of(world, ORR_TYPE(type)), \
                      1 ? (pointer) : (const type*)NULL)
#define orr_get(world, entity, type) \
    ((const type*)orr_component_get(world, entity, orr_type_of(world, ORR_TYPE(type))))
#define orr_edit(world, entity, type) \
    ((type*)orr_component_edit(world, entity, orr_type_of(world, ORR_TYPE(type))))
#define orr_add(world, entity, type) \
    orr_component_add(world, entity, orr_type_of(world, ORR_TYPE(type)))
#define orr_remove(world, entity, type) \
    orr_component_remove(world, entity, orr_type_of(world, ORR_TYPE(type)))
#define orr_has(world, entity, type) \
    orr_component_has(world, entity, orr_type_of(world, ORR_TYPE(type)))
#define orr_enabled(world, entity, type) \
    orr_component_enabled(world, entity, orr_type_of(world, ORR_TYPE(type)))
#define orr_enable(world, entity, type, on) \
    orr_component_enable(world, entity, orr_type_of(world, ORR_TYPE(type)), on)

// ---- appending ------------------------------------------------------------------------------------

#define ORR_APPEND_TYPES_MAX 16u ///< Columns an appender hands out.

/// Creates entities one by one at the speed of a bulk call: rows are made in runs, the caller fills
/// columns directly (owned strings with orr_string_assign()). Between begin and end, calls that add, remove or move rows
/// are refused (ORR_ERR_STATE); reading, writing values and making strings are allowed. Until the end, rows made ahead
/// count as entities.
///
///     orr_appender a;
///     orr_append_begin(world, cluster, (orr_type[]){position, velocity}, 2, &a);
///     while (...) {
///         uint32_t i = orr_append(&a);            // ORR_APPEND_NONE when refused
///         ((Position*)a.columns[0])[i] = ...;
///         ids[n++] = a.entities[i];
///     }
///     orr_append_end(&a);
typedef struct orr_appender {
    void* columns[ORR_APPEND_TYPES_MAX]; ///< Of the current run, in the order of the types given.
    const orr_entity* entities;          ///< Of the current run.
    uint32_t used, count;                ///< Rows of the current run taken, and in all.
    orr_world* world;
    orr_cluster cluster;
    orr_type types[ORR_APPEND_TYPES_MAX];
    uint32_t type_count;
    uint32_t run_next; ///< How many rows to make next time.
} orr_appender;

#define ORR_APPEND_NONE UINT32_MAX

/// Starts appending to a cluster. Components hold their presets until written. Allocates.
ORR_API ORR_NODISCARD orr_result orr_append_begin(orr_world* world, orr_cluster cluster,
                                                  const orr_type* types, uint32_t type_count,
                                                  orr_appender* out);
/// Makes the next run. Called by orr_append(). False when refused.
ORR_API bool orr_append_run(orr_appender* appender);
/// Ends appending; rows not taken are undone, as if their ids had never been given. Twice does no harm.
ORR_API void orr_append_end(orr_appender* appender);

/// Takes the next row. @return its index in `columns` and `entities`, or ORR_APPEND_NONE when refused.
static inline uint32_t orr_append(orr_appender* appender)
{
    if (ORR_UNLIKELY(appender->used == appender->count) && !orr_append_run(appender)) {
        return ORR_APPEND_NONE;
    }
    return appender->used++;
}

// ---- owned strings and arrays -----------------------------------------------------------------------

/// Makes a string; the same text gives the same handle. Null (the empty string) when refused. Allocates.
ORR_API orr_string orr_string_make(orr_world* world, const char* text);
/// Its text; "" for null or a string that is gone.
ORR_API const char* orr_string_text(const orr_world* world, orr_string string);
/// Changes an owned string inside a value that is in the world (a column, an orr_edit pointer). A plain
/// assignment there would not be counted. Values passed to set, add and create are counted by the call.
ORR_API void orr_string_assign(orr_world* world, orr_string* field, orr_string value);
/// Makes an array of `count` values of `element_size` bytes. Null when refused. Allocates.
ORR_API orr_array orr_array_make(orr_world* world, const void* values, uint32_t count,
                                 uint32_t element_size);
/// Its values, 16-byte aligned, and their number; NULL and 0 for null or an array that is gone.
ORR_API const void* orr_array_values(const orr_world* world, orr_array array, uint32_t* count);
/// As orr_string_assign().
ORR_API void orr_array_assign(orr_world* world, orr_array* field, orr_array value);

// ---- what is inline -----------------------------------------------------------------------------------
// Reading a component by id is the one call made so often, and so short, that calling it would cost as much as
// doing it. These structs are the part of a world it reads. They are no API: they change with any version.

typedef struct orr_hot_record {
    uint32_t generation, place;
} orr_hot_record;

// The index of an id, and the bit that no id has: an id with it is larger than any count.
#define ORR_HOT_ID_MASK 0x80000000FFFFFFFFu

typedef struct orr_hot_table {
    uint8_t** data; // By chunk; NULL: the chunk lacks the type.
    uint32_t capacity, size;
} orr_hot_table;

typedef struct orr_hot_world {
    orr_hot_record** pages; // By index / 4096, as signed numbers.
    orr_hot_table** tables; // By type index.
    uint32_t count, table_capacity;
    uint32_t type_base; // Of the first type. Each world has its own.
} orr_hot_world;

/// For orr_component_get(): the value in a chunk that is not in the table; or NULL, and says why there is nothing.
ORR_API const void* orr_component_get_far(const orr_world* world, orr_entity entity, orr_type type);

static inline const void* orr_component_get(const orr_world* world, orr_entity entity,
                                            orr_type type)
{
    const orr_hot_world* hot = (const orr_hot_world*)(const void*)world;
    uint64_t index = entity.id & ORR_HOT_ID_MASK;
    uint32_t type_index = type.id - hot->type_base;
    if (ORR_LIKELY(index < hot->count && type_index < hot->table_capacity)) {
        orr_hot_record record = hot->pages[index >> 12][index & 4095];
        const orr_hot_table* table = hot->tables[type_index];
        uint32_t chunk = record.place / ORR_CHUNK_CAPACITY;
        if (ORR_LIKELY(record.generation == entity.id >> 32 && chunk < table->capacity)) {
            const uint8_t* data = table->data[chunk];
            if (ORR_LIKELY(data != NULL)) {
                return data + (size_t)(record.place % ORR_CHUNK_CAPACITY) * table->size;
            }
        }
    }
    return orr_component_get_far(world, entity, type);
}

/// A type made ready for many reads by id in a loop. Good until the next call that adds, removes or moves rows.
typedef struct orr_reader {
    orr_hot_record* const* pages;
    uint8_t* const* data;
    uint32_t count, capacity, size;
    orr_type type;
    const orr_world* world;
} orr_reader;

/// For orr_reader_get(): chunks that are not in the table. By value, so that a reader stays in registers.
ORR_API const void* orr_reader_get_far(const orr_world* world, orr_type type, orr_entity entity);

/// For orr_reader_make(): while systems run on several threads, each has tables of its own.
ORR_API orr_reader orr_reader_make_far(const orr_world* world, orr_type type);

/// Makes a type ready. A type that no entity has, or that is none of this world, gives a reader that finds nothing.
static inline orr_reader orr_reader_make(const orr_world* world, orr_type type)
{
    const orr_hot_world* hot = (const orr_hot_world*)(const void*)world;
    if (ORR_UNLIKELY(type.id - hot->type_base >= hot->table_capacity)) {
        return orr_reader_make_far(world, type);
    }
    const orr_hot_table* table = hot->tables[type.id - hot->type_base];
    orr_reader reader = {hot->pages,  table->data, hot->count, table->capacity,
                         table->size, type,        world};
    return reader;
}

/// As orr_component_get(), but a dead id is NULL without an error.
static inline const void* orr_reader_get(const orr_reader* reader, orr_entity entity)
{
    uint64_t index = entity.id & ORR_HOT_ID_MASK;
    if (ORR_UNLIKELY(index >= reader->count)) {
        return NULL;
    }
    orr_hot_record record = reader->pages[index >> 12][index & 4095];
    uint32_t chunk = record.place / ORR_CHUNK_CAPACITY;
    if (ORR_UNLIKELY(record.generation != entity.id >> 32 || chunk >= reader->capacity)) {
        return orr_reader_get_far(reader->world, reader->type, entity);
    }
    const uint8_t* data = reader->data[chunk];
    return ORR_LIKELY(data != NULL)
               ? data + (size_t)(record.place % ORR_CHUNK_CAPACITY) * reader->size
               : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
