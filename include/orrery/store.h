// SPDX-License-Identifier: MIT
/// @file store.h
/// The world: entities with components and tags, stored in clusters, chunks and columns.
///
/// Entities with the same component types and the same tags are rows of one cluster. A cluster is a
/// list of chunks of ORR_CHUNK_CAPACITY rows. A chunk has one array of values, a block, for each
/// type of the cluster. Rows are dense: row r is in chunk r / ORR_CHUNK_CAPACITY at slot r %
/// ORR_CHUNK_CAPACITY, a new row is appended at the end, and the last row fills the gap of a
/// removed row. The id of an entity never changes; its row and the address of its values do. Each
/// block stores the tick and the version of its last write: a call that writes *stamps* the block.
///
/// The short forms (orr_set, orr_get …) are macros for functions (orr_component_set …) that take an
/// orr_type. A refused call returns an orr_result, changes nothing, and passes an error text with
/// the names of the entity and the type to the world's error handler.
///
/// Threads: one thread at a time may change a world. Any number of threads may read it while no
/// thread changes it.
///
/// Memory: a call that may allocate says "Allocates.". In addition, the first write to a block that
/// a remembered tick (history.h) shares allocates memory for the old values. If that fails, the
/// write is made and the remembered tick is lost.
///
/// Pointers: a pointer into a world (to a component or a column) is valid until the next call that
/// adds, removes or moves rows, advances the tick or hashes the world. A pointer for writing also
/// becomes invalid when orr_change_mark() is called, or when a loop begins over a query that is
/// ordered or has pinned types. Do not add or remove rows while looping over columns: collect the
/// ids and use a batch call after the loop. A value passed to orr_component_set() may lie in the
/// world. Values and lists of entities passed to the create, add and set calls for many entities
/// must not.
///
/// References: an entity id in a component is plain data. When its target is destroyed the id stays
/// unchanged and orr_alive() is false for it. Storing the id of an entity that is already dead is
/// refused, except where the same id was stored before. A world always detects types of another
/// world; it detects entities of another world only if both worlds have different id_salts.
///
/// C++: this header is valid C++17. The macros orr_set(), orr_set_preset(), orr_preset(),
/// ORR_TYPES() and ORR_REGISTER() exist in C only; use orr_put(), orr_type_preset(), a plain array
/// and orr_type_of() instead.
#ifndef ORRERY_STORE_H
#define ORRERY_STORE_H

#include <orrery/schema.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORR_CHUNK_CAPACITY    2048u       ///< Rows of a full chunk.
#define ORR_TYPES_MAX         4096u       ///< Most component types of a world.
#define ORR_CLUSTER_TYPES_MAX 256u        ///< Most types of one cluster.
#define ORR_CLUSTER_TAGS_MAX  64u         ///< Most tags of one cluster.
#define ORR_TAGS_MAX          65536u      ///< Most named tags of a world.
#define ORR_CLUSTERS_MAX      1048576u    ///< Most clusters of a world.
#define ORR_CHUNKS_MAX        2097150u    ///< Most chunks of a world.
#define ORR_ENTITIES_MAX      2147483648u ///< Most entities of a world, without transient entities.
#define ORR_TRANSIENTS_MAX    268435456u  ///< Most transient entities of a world.
#define ORR_SALT_MAX          127u        ///< Largest orr_world_desc.id_salt.

/// A world. Worlds are independent of each other.
typedef struct orr_world orr_world;

/// A 64-bit value chosen by the user. The tags of an entity are part of the identity of its
/// cluster. Only a tag with a name (orr_tag_register()) can be saved. Tag 0 can be added to entities,
/// but no query can select it: begin with 1.
typedef uint64_t orr_tag;

/// Handle of a cluster of one world. The generation detects handles of deleted clusters. All-zero
/// is null.
typedef struct orr_cluster {
    uint32_t id, generation; ///< Number of the cluster (0 is null) and its generation.
} orr_cluster;

/// Place of an entity. The address becomes stale when the entity moves or is destroyed; calls that
/// take an address detect that.
typedef struct orr_address {
    orr_cluster cluster; ///< Cluster of the entity.
    uint32_t row;        ///< Row within the cluster.
    orr_entity entity;   ///< The entity.
} orr_address;

/// An error, as passed to an orr_error_handler. Valid only during the call of the handler.
typedef struct orr_error {
    orr_result result; ///< Result of the refused call.
    orr_log_id id;     ///< Kind of the error.
    const char* text;  ///< One sentence: the call, the entity and type, the reason, what to do.
} orr_error;

/// Called for every refused call, on the thread that made the call; never on two threads at once.
/// The handler may read the world. Calls that create, destroy, move or name entities, or run ticks,
/// are refused inside the handler. A refused call inside the handler calls the handler again, up to
/// 4 calls deep; errors inside the fourth call go to the log.
typedef void (*orr_error_handler)(void* user, orr_world* world, const orr_error* error);

/// Settings for orr_world_create(). All zero: the defaults.
typedef struct orr_world_desc {
    orr_allocator allocator; ///< Memory functions. Default: those of the platform.
    /// Operating system functions. Must stay valid until the world is destroyed and all calls of
    /// `pool` have returned. Default orr_platform_default().
    const orr_platform* platform;
    orr_log_desc log;           ///< Settings of the log.
    orr_error_handler on_error; ///< Called for every refused call. Default: a line in the log.
    void* on_error_user;        ///< Passed to on_error.
    uint64_t seed; ///< Seed of the world's random numbers. Part of the state. Default 0.
    uint64_t memory_bytes_max; ///< Limit of the world's memory, in bytes. Default 0: no limit.
    /// Most entity indexes in use. Default and upper limit ORR_ENTITIES_MAX.
    uint32_t entities_max;
    /// Most clusters. Default and upper limit ORR_CLUSTERS_MAX. A commit may create one cluster
    /// more.
    uint32_t clusters_max;
    uint32_t types_max; ///< Most types. Default and upper limit ORR_TYPES_MAX.
    uint32_t tags_max;  ///< Most named tags. Default and upper limit ORR_TAGS_MAX.
    /// Ticks per second of the first pipeline, at most 1,000,000: the time step is always 1 /
    /// rate_hz seconds. Default 0: continuous, the caller gives the time step of each tick
    /// (schedule.h).
    double rate_hz;
    /// Number of threads that run systems, including the calling thread, at most ORR_WORKERS_MAX.
    /// If fewer can be used, the log says so once. Every number gives the same results
    /// (schedule.h). With workers the allocator must be thread-safe. Default 0: the calling thread
    /// runs all systems, one after another.
    uint32_t workers;
    /// The program's own threads, used as workers. Default: the world creates threads.
    orr_pool pool;
    /// Time in nanoseconds after which the log names a system that has not returned. If set, one
    /// extra thread watches the systems, with any number of workers; on a platform without threads
    /// the system is named when it returns, and every tick is timed. Default 0: 10 seconds without
    /// an extra thread; idle workers watch. Without workers the system is named when it returns, in
    /// ticks that are timed (every 16th).
    uint64_t stuck_ns;
    /// Allows systems with atomic sections (orr_atomic()), whose results may depend on the speed of
    /// threads. Default false: such systems are refused, and equal inputs give equal hashes with
    /// any number of workers.
    bool atomic_sections;
    /// 0 to ORR_SALT_MAX. Worlds with different salts refuse each other's entity ids. Default 0.
    uint32_t id_salt;
} orr_world_desc;

/// Counts of a world (orr_world_stats_get()).
typedef struct orr_world_stats {
    uint64_t entities; ///< Entities, without transient entities.
    uint64_t clusters; ///< Clusters, also empty ones.
    uint64_t chunks;   ///< Chunks of all clusters.
    uint64_t types;    ///< Registered types.
    uint64_t tags;     ///< Tags with a name.
    uint64_t blobs;    ///< Owned strings and arrays.
    uint64_t bytes;    ///< Memory in use, as orr_memory_stats.total.bytes.
} orr_world_stats;

// A program and a library that disagree on ORR_NO_ASSERT fail to link, because the names differ.
#ifdef ORR_NO_ASSERT
#define orr_world_create orr_world_create_noassert
#endif

/// Creates a world. `desc` may be NULL: the defaults. Allocates.
/// @return NULL if there is no memory or the desc is invalid; the log says why.
ORR_API orr_world* orr_world_create(const orr_world_desc* desc);
/// Destroys a world and everything in it: calls destruct hooks and frees all memory. NULL is
/// allowed. Also allowed while a tick is half done (orr_tick_open()). Must not be called inside a
/// loop over a query of the world. Refused inside a system, while a tick runs (from a hook), in a
/// posted call, in functions passed to orr_run_until() and orr_replay(), and in an error handler.
ORR_API void orr_world_destroy(orr_world* world);

/// Number of ticks of all pipelines except spectators since the world was created. Travelling back
/// in time (history.h) restores an earlier number.
ORR_API uint64_t orr_world_tick(const orr_world* world);
/// Seed of the world (orr_world_desc.seed).
ORR_API uint64_t orr_world_seed(const orr_world* world);
/// Begins the next tick without running systems: later writes are stamped with the new tick, and
/// owned strings and arrays that are stored nowhere are freed. Pointers into the world become
/// invalid for writing. Refused, without effect, inside a system, while a tick is half done
/// (orr_tick_open()), and in an error handler.
ORR_API void orr_tick_advance(orr_world* world);

/// Hash of the whole state. Equal histories give equal hashes on every machine, with every compiler
/// and allocator. Takes time for the blocks that changed since the last call, because it caches the
/// hashes of blocks (therefore `world` is not const). Pointers into the world become invalid for
/// writing.
/// @return 0 if refused: inside a system, and in real time except at sync points
/// (orr_post_exclusive()).
ORR_API uint64_t orr_world_hash(orr_world* world);
/// Checks all invariants of the world. Slow; for tests and debugging. Not inside a system, nor in
/// an error handler called for a system: other threads may be writing. Allocates.
/// @return ORR_ERR_CORRUPT if an invariant is violated, which the error text names; ORR_ERR_STATE
/// inside a system, and in real time except at sync points (orr_post_exclusive()).
ORR_API orr_result orr_world_validate(orr_world* world);
/// Counts the contents of a world.
ORR_API void orr_world_stats_get(const orr_world* world, orr_world_stats* out);
/// Changes orr_world_desc.memory_bytes_max; 0: no limit. Frees nothing if more is already in use.
/// Also allowed while a tick is half done. Refused inside a system.
ORR_API void orr_world_memory_limit(orr_world* world, uint64_t bytes_max);
/// Memory in use, in total and by purpose. From any thread.
ORR_API void orr_world_memory_get(const orr_world* world, orr_memory_stats* out);
/// Text of the last error, on any thread; "" if there was none. Valid until the next error. Call it
/// while no other thread makes calls that may be refused.
ORR_API const char* orr_error_last(const orr_world* world);
/// Sets the threshold of one log category. Default: orr_log_desc.level. Call it while no other
/// thread logs.
ORR_API void orr_log_level_set(orr_world* world, orr_log_category category, orr_log_level level);
/// Writes a line to the world's log, with the id ORR_LOG_ID_USER_LINE. `format` is as for printf.
/// From any thread, if the sink allows it.
ORR_API void orr_log(orr_world* world, orr_log_level level, const char* format, ...)
    ORR_PRINTF(3, 4);

// ---- types --------------------------------------------------------------------------------------

/// Registers a type. Registering the same declaration again returns the same type: so a type that
/// several source files declare is one type. Two declarations are the same if name, layout, field
/// attributes (with presets) and settings are. Of hooks only their presence is compared, and the
/// functions of the first registration stay. Allocates.
/// @return ORR_ERR_CONFLICT if the name is registered with another declaration (the error text says
/// what differs); ORR_ERR_NAME, ORR_ERR_ARGUMENT, ORR_ERR_CAPACITY, ORR_ERR_MEMORY.
ORR_API ORR_NODISCARD orr_result orr_type_register(orr_world* world, const orr_type_desc* desc,
                                                   orr_type* out);
/// Type of a desc with static storage (ORR_TYPE), registered on first use. Null if the registration
/// is refused. Calls that are given the null type return ORR_ERR_TYPE; but ORR_ERR_MEMORY as long
/// as a type is not registered because its first use was refused memory. Inside a system the first
/// use is refused: name the type in the system's desc, or register it before (ORR_REGISTER()).
/// Allocates on first use. Defined inline at the end of this file.
static inline orr_type orr_type_of(orr_world* world, const orr_type_desc* static_desc);
/// Writes the presets of a type to `out`, which has room for a value; fields without a preset
/// become zero. The construct hook is not called. A type that is not of this world is an error and
/// leaves `out` unchanged.
/// @return `out`.
ORR_API void* orr_type_preset(const orr_world* world, orr_type type, void* out);
/// Type with a name; null if there is none.
ORR_API orr_type orr_type_find(const orr_world* world, const char* name);
/// Description of a type; NULL if it is not a type of this world. Lives as long as the world.
ORR_API const orr_type_info* orr_type_info_get(const orr_world* world, orr_type type);

// ---- tags ---------------------------------------------------------------------------------------

/// Gives a tag a name. A tag can be used without a name. Repeating a call is allowed. Allocates.
/// @return ORR_ERR_CONFLICT if the name belongs to another tag, or the tag has another name.
ORR_API ORR_NODISCARD orr_result orr_tag_register(orr_world* world, orr_tag tag, const char* name);
/// Finds a tag by its name. `out` may be NULL. @return false if there is none.
ORR_API bool orr_tag_find(const orr_world* world, const char* name, orr_tag* out);
/// Name of a tag; NULL if it has none.
ORR_API const char* orr_tag_name(const orr_world* world, orr_tag tag);

// ---- clusters -----------------------------------------------------------------------------------

/// Set of types and tags that identifies a cluster. The order does not matter. Listing a type or
/// tag twice is refused.
typedef struct orr_cluster_desc {
    const orr_type* types; ///< Component types, not pinned.
    uint32_t type_count;   ///< Number of `types`, at most ORR_CLUSTER_TYPES_MAX.
    const orr_tag* tags;   ///< Tags.
    uint32_t tag_count;    ///< Number of `tags`, at most ORR_CLUSTER_TAGS_MAX.
    /// Instances that a row has room for, one number for each type: a power of two for multiple
    /// types, 1 or 0 for unique types. Default NULL: 1 for each type.
    const uint16_t* capacities;
} orr_cluster_desc;

/// Initialises `types` and `type_count` of an orr_cluster_desc or orr_cluster_match from C types:
/// orr_cluster_get(world, &(orr_cluster_desc){ORR_TYPES(world, Position, Velocity)}, &cluster). C
/// only.
#ifndef __cplusplus
#define ORR_TYPES(world, ...)                                                     \
    .types = (const orr_type[]){ORR_PP_EACH(ORR_PP_TYPE_OF, world, __VA_ARGS__)}, \
    .type_count = ORR_PP_ITEMS(__VA_ARGS__)
#define ORR_PP_TYPE_OF(world, type) orr_type_of(world, ORR_TYPE(type)),
#endif

/// Description of a cluster. The arrays belong to the world and are valid until the cluster is
/// deleted.
typedef struct orr_cluster_info {
    const orr_type* types;      ///< Types, in the order of their registration.
    uint32_t type_count;        ///< Number of `types`.
    const orr_tag* tags;        ///< Tags, ascending.
    uint32_t tag_count;         ///< Number of `tags`.
    uint32_t row_count;         ///< Entities of the cluster.
    uint32_t chunk_count;       ///< Chunks of the cluster.
    const uint16_t* capacities; ///< For each type, instances a row has room for; 1 if unique.
} orr_cluster_info;

/// Gets the cluster of a set of types and tags and creates it if it is missing. A new cluster has
/// no chunks until its first entity is created. Allocates.
ORR_API ORR_NODISCARD orr_result orr_cluster_get(orr_world* world, const orr_cluster_desc* desc,
                                                 orr_cluster* out);
/// Cluster of a set of types and tags; null if there is none.
ORR_API orr_cluster orr_cluster_find(const orr_world* world, const orr_cluster_desc* desc);
/// Describes a cluster.
/// @return ORR_ERR_CLUSTER if the cluster is null, deleted or of another world.
ORR_API ORR_NODISCARD orr_result orr_cluster_info_get(const orr_world* world, orr_cluster cluster,
                                                      orr_cluster_info* out);
/// Walks all clusters in order of creation: the cluster created after `cluster`, or the first one
/// if `cluster` is null. Null at the end, and for a deleted cluster.
ORR_API orr_cluster orr_cluster_next(const orr_world* world, orr_cluster cluster);

/// Condition on clusters, for orr_clusters_find() and orr_clusters_delete(). A cluster matches if
/// it has all of `types` and `tags`, none of `without_types` and `without_tags`, and `predicate`
/// returns true. All zero matches every cluster.
typedef struct orr_cluster_match {
    const orr_type* types;         ///< Types that the cluster has.
    uint32_t type_count;           ///< Number of `types`.
    const orr_tag* tags;           ///< Tags that the cluster has.
    uint32_t tag_count;            ///< Number of `tags`.
    const orr_type* without_types; ///< Types that the cluster does not have.
    uint32_t without_type_count;   ///< Number of `without_types`.
    const orr_tag* without_tags;   ///< Tags that the cluster does not have.
    uint32_t without_tag_count;    ///< Number of `without_tags`.
    /// Further condition. It may read the world, but not change it. Default NULL: true.
    bool (*predicate)(void* user, const orr_world* world, orr_cluster cluster);
    void* user; ///< Passed to `predicate`.
} orr_cluster_match;

/// Finds clusters in order of creation. Writes at most `out_count` of them; `out` may be NULL if
/// out_count is 0.
/// @return the number of all clusters that match.
ORR_API uint32_t orr_clusters_find(const orr_world* world, const orr_cluster_match* match,
                                   orr_cluster* out, uint32_t out_count);

/// Destroys all entities of a cluster. The cluster stays. Takes time per chunk, not per row, unless
/// a hook must be called for each row. Frees all memory of rows; a cluster that loses its entities
/// one by one keeps some for the next one. Allocates.
ORR_API orr_result orr_cluster_clear(orr_world* world, orr_cluster cluster);
/// Destroys all entities of a cluster and deletes the cluster. Its handles become stale. Allocates.
ORR_API orr_result orr_cluster_delete(orr_world* world, orr_cluster cluster);
/// Deletes all clusters that match, with their entities, for example to unload a level.
/// `*out_count` (may be NULL) becomes the number of deleted clusters. All or nothing. An all-zero
/// match deletes every cluster; a NULL match is refused. Allocates.
ORR_API orr_result orr_clusters_delete(orr_world* world, const orr_cluster_match* match,
                                       uint32_t* out_count);
/// Destroys all entities of the world. Clusters, types and tags stay. Allocates.
ORR_API orr_result orr_entities_destroy_all(orr_world* world);

/// Number of rows of a chunk; 0 if there is no such chunk.
ORR_API uint32_t orr_chunk_count(const orr_world* world, orr_cluster cluster, uint32_t chunk);
/// Writes the entities of a chunk in order of their rows, at most `out_count`.
/// @return the number of entities written.
ORR_API uint32_t orr_chunk_entities(const orr_world* world, orr_cluster cluster, uint32_t chunk,
                                    orr_entity* out, uint32_t out_count);
/// Values of a type in a chunk, for reading. NULL if there is no such chunk or column. The array is
/// 64-byte aligned and readable up to the next multiple of 64 bytes. The column of a marker is not
/// NULL but has no data to read.
ORR_API const void* orr_column_read(const orr_world* world, orr_cluster cluster, uint32_t chunk,
                                    orr_type type);
/// Values of a type in a chunk, for writing. Stamps the block with the current tick. NULL as for
/// orr_column_read(), and in real time if the block is published to other pipelines and there is no
/// memory for a copy.
ORR_API void* orr_column_write(orr_world* world, orr_cluster cluster, uint32_t chunk,
                               orr_type type);
/// World tick in which a block was last written; 0 if there is no such block.
ORR_API uint64_t orr_column_tick(const orr_world* world, orr_cluster cluster, uint32_t chunk,
                                 orr_type type);
/// Version of a block. It grows with every tick in which the block is written and never decreases.
/// 0 if there is no such block.
ORR_API uint64_t orr_column_version(const orr_world* world, orr_cluster cluster, uint32_t chunk,
                                    orr_type type);
/// Enable bits of a column, least significant bit first: one per row, for a multiple type one per
/// instance that a row has room for. NULL: all are enabled. With a null type, (orr_type){0}: the
/// enable bits of the entities.
ORR_API const uint64_t* orr_column_enabled(const orr_world* world, orr_cluster cluster,
                                           uint32_t chunk, orr_type type);

/// Values of a type in rows that are contiguous in memory, also across chunks that are adjacent. On
/// entry `*count` is the number of rows wanted from `row` on; on return it is the number of rows in
/// the run. Returns NULL and sets `*count` to 0 past the end, if there is no such column, or if
/// refused. Calls for several types can share one count, since each call can only lower it:
///
///     for (uint32_t row = 0, n; row < info.row_count; row += n) {
///         n = info.row_count - row;
///         Position* p = orr_span_write(world, cluster, position, row, &n);
///         const Velocity* v = orr_span_read(world, cluster, velocity, row, &n);
///         if (p == NULL || v == NULL) break; // refused
///         for (uint32_t i = 0; i < n; i++) …
///
/// The length of a run depends on memory. Continue until all rows are done: a program whose results
/// depend on where a run ends is not deterministic.
ORR_API const void* orr_span_read(const orr_world* world, orr_cluster cluster, orr_type type,
                                  uint32_t row, uint32_t* count);
/// As orr_span_read(), for writing. Stamps every block of the run. NULL also as for
/// orr_column_write().
ORR_API void* orr_span_write(orr_world* world, orr_cluster cluster, orr_type type, uint32_t row,
                             uint32_t* count);

// ---- entities -----------------------------------------------------------------------------------

/// Initial values of one type for new rows: an array with one value per row.
typedef struct orr_column_data {
    orr_type type;      ///< A type of the cluster.
    const void* values; ///< One value per row.
} orr_column_data;

/// Creates an entity without components. Null if refused. Allocates.
ORR_API orr_entity orr_create(orr_world* world);
/// Creates an entity in a cluster. Its components have their presets. Null if refused. Allocates.
ORR_API orr_entity orr_create_in(orr_world* world, orr_cluster cluster);
/// Creates `count` entities in a cluster. Types that `data` does not list get their presets; values
/// are copied. Each entity gets one instance of a multiple type. `out` receives the ids and may be
/// NULL. All or nothing. Allocates.
ORR_API orr_result orr_create_many(orr_world* world, orr_cluster cluster, uint32_t count,
                                   const orr_column_data* data, uint32_t data_count,
                                   orr_entity* out);
/// Creates an entity with copies of the components, tags and enable bits of another. Null if
/// refused. Allocates.
ORR_API orr_entity orr_copy(orr_world* world, orr_entity source);
/// Destroys an entity. Allocates.
/// @return ORR_ERR_ENTITY if it is dead, null or of another world.
ORR_API orr_result orr_destroy(orr_world* world, orr_entity entity);
/// Destroys several entities, or none of them if one is dead or listed twice. Allocates.
ORR_API orr_result orr_destroy_many(orr_world* world, const orr_entity* entities, uint32_t count);
/// True if the entity is alive. False for a dead or null id, and for an id of a world with another
/// id_salt.
ORR_API bool orr_alive(const orr_world* world, orr_entity entity);
/// Number of living entities, without transient entities.
ORR_API uint64_t orr_entity_count(const orr_world* world);

// Transient entities belong to drawing, sound and tools, not to the simulation. They can only have
// components of transient types (orr_type_settings.transient), and no name, tags or enable bit of
// their own. Their ids come from a separate range and they are not part of the world's hash and
// counts, so the simulation is the same with and without them. Systems of the simulation see them
// as dead. Queries that require a transient type find them, after all other entities. See
// docs/SPECTATORS.md.

/// Creates a transient entity; orr_destroy() destroys it. Call between ticks. Systems of spectator
/// pipelines use orr_send_create() instead. Null if refused. Allocates.
ORR_API orr_entity orr_create_transient(orr_world* world);
/// True for a living transient entity.
ORR_API bool orr_transient(const orr_world* world, orr_entity entity);
/// Number of living transient entities.
ORR_API uint64_t orr_transient_count(const orr_world* world);

/// Gets the address of an entity.
/// @return ORR_ERR_ENTITY if it is dead, null or of another world.
ORR_API ORR_NODISCARD orr_result orr_address_get(const orr_world* world, orr_entity entity,
                                                 orr_address* out);
/// True while the entity is alive and at this address.
ORR_API bool orr_address_valid(const orr_world* world, const orr_address* address);
/// Value of a component at an address, for reading. NULL if the address is stale or the entity does
/// not have the type.
ORR_API const void* orr_address_read(const orr_world* world, const orr_address* address,
                                     orr_type type);
/// As orr_address_read(), for writing. Stamps the block. NULL also where orr_component_edit() is
/// refused.
ORR_API void* orr_address_write(orr_world* world, const orr_address* address, orr_type type);
/// Cluster of an entity; null for a dead one.
ORR_API orr_cluster orr_entity_cluster(const orr_world* world, orr_entity entity);

/// Moves an entity to another cluster. Components that only the new cluster has get their presets,
/// components that only the old cluster has are destructed. Adding and removing components and tags
/// is done by such moves. Allocates.
ORR_API orr_result orr_entity_move(orr_world* world, orr_entity entity, orr_cluster to);
/// Moves the rows first … first + count - 1 of a cluster to another cluster. All or nothing.
/// Allocates.
ORR_API orr_result orr_rows_move(orr_world* world, orr_cluster from, uint32_t first, uint32_t count,
                                 orr_cluster to);
/// Moves all rows of a cluster to another. All or nothing. Whole chunks are transferred without
/// copying. Allocates.
ORR_API orr_result orr_rows_move_all(orr_world* world, orr_cluster from, orr_cluster to);

/// Enables or disables an entity. A disabled entity keeps its place and its components; queries
/// skip it. Allocates.
ORR_API orr_result orr_entity_enable(orr_world* world, orr_entity entity, bool on);
/// True if the entity is alive and enabled.
ORR_API bool orr_entity_enabled(const orr_world* world, orr_entity entity);

/// Writes an entity as text: `7v1: Position {x: 1, y: 2}, #level1`, or with its name (kinds.h) in
/// place of the id: `bob: Position {x: 1, y: 2}`. Pinned components come after the others, tags
/// come last. Other texts: `7v1: (off) …` for a disabled entity, `7v1: (nothing)` for one without
/// components and tags, `7v1: not alive`. Size, return value and allocation as for
/// orr_value_print().
ORR_API size_t orr_entity_print(const orr_world* world, orr_entity entity, char* out,
                                size_t out_size);
/// Prints an entity and a newline to stdout, as orr_entity_print(). A text of more than 1023 bytes
/// is cut if there is no memory for it. Allocates.
ORR_API void orr_print(const orr_world* world, orr_entity entity);

// ---- components and tags of an entity -----------------------------------------------------------

/// Copies a value into a component and adds the component if it is missing. A value that refers to
/// a dead entity, or with a number outside the range of its field, is refused. Allocates.
ORR_API orr_result orr_component_set(orr_world* world, orr_entity entity, orr_type type,
                                     const void* value);
/// Adds a component with its preset. ORR_OK if the entity already has it. Allocates.
ORR_API orr_result orr_component_add(orr_world* world, orr_entity entity, orr_type type);
/// Removes a component. ORR_OK if the entity does not have it. Allocates.
ORR_API orr_result orr_component_remove(orr_world* world, orr_entity entity, orr_type type);
/// Value of a component, for reading; NULL if the entity does not have it. A dead id gives NULL and
/// an error. Defined inline at the end of this file.
static inline const void* orr_component_get(const orr_world* world, orr_entity entity,
                                            orr_type type);
/// Value of a component, for writing in place. Stamps the block. NULL as for orr_component_get(),
/// and in real time if the block is published to other pipelines and there is no memory for a copy.
ORR_API void* orr_component_edit(orr_world* world, orr_entity entity, orr_type type);
/// True if the entity is alive and has the component, enabled or not.
ORR_API bool orr_component_has(const orr_world* world, orr_entity entity, orr_type type);
/// Enables or disables a component. The value stays and no row moves. Allocates.
/// @return ORR_ERR_ABSENT if the entity does not have the component.
ORR_API orr_result orr_component_enable(orr_world* world, orr_entity entity, orr_type type,
                                        bool on);
/// True if the entity is alive, has the component, and the component is enabled.
ORR_API bool orr_component_enabled(const orr_world* world, orr_entity entity, orr_type type);

/// Adds a tag to an entity. ORR_OK if the entity already has it. Allocates.
ORR_API orr_result orr_tag_add(orr_world* world, orr_entity entity, orr_tag tag);
/// Removes a tag from an entity. ORR_OK if the entity does not have it. Allocates.
ORR_API orr_result orr_tag_remove(orr_world* world, orr_entity entity, orr_tag tag);
/// True if the entity is alive and has the tag.
ORR_API bool orr_tag_has(const orr_world* world, orr_entity entity, orr_tag tag);

// Batch calls. All or nothing. `values` is an array with one value per entity. Calls that move rows
// (add, remove, and a set that adds) refuse an entity that is listed twice; get, and a set of
// components that exist, allow it.

/// Adds a component to each entity that does not have it, and sets it for all. With `values` NULL
/// it adds presets and changes no existing value. Values of a multiple type are refused if an
/// entity already has the type, because it would not be clear which instance to set. Allocates.
ORR_API orr_result orr_component_add_many(orr_world* world, const orr_entity* entities,
                                          uint32_t count, orr_type type, const void* values);
/// Removes a component from each entity that has it. Allocates.
ORR_API orr_result orr_component_remove_many(orr_world* world, const orr_entity* entities,
                                             uint32_t count, orr_type type);
/// Sets a component of several entities. Allocates.
/// @return ORR_ERR_ABSENT if an entity does not have the component.
ORR_API orr_result orr_component_set_many(orr_world* world, const orr_entity* entities,
                                          uint32_t count, orr_type type, const void* values);
/// Copies the component values of several entities to `out`. After a refusal `out` has the values
/// of the entities before the one that was refused; the rest is unchanged.
/// @return ORR_ERR_ABSENT if an entity does not have the component.
ORR_API orr_result orr_component_get_many(const orr_world* world, const orr_entity* entities,
                                          uint32_t count, orr_type type, void* out);

/// Registers C types, so that texts (queries, bundles, needs) can use their names:
/// ORR_REGISTER(world, Position, Velocity). C only.
#ifndef __cplusplus
#define ORR_REGISTER(world, ...) \
    ((void)(const orr_type[]){ORR_PP_EACH(ORR_PP_TYPE_OF, world, __VA_ARGS__)})
#endif

/// Sets a component from an initialiser or from a value of the type: orr_set(world, bob, Position,
/// {1, 2}), orr_set(world, bob, Position, p). As orr_component_set(). C only. Fields that an
/// initialiser leaves out become zero, as in any C initialiser, also if they have a preset. To
/// begin with the presets, use orr_set_preset().
#ifndef __cplusplus
#define orr_set(world, entity, type, ...)                                                          \
    ORR_PP_CALL(type,                                                                              \
                orr_component_set(world, entity, orr_type_of(world, ORR_TYPE(type)), &orr_value_), \
                __VA_ARGS__)
#endif
/// A value with the presets of its type: Health h = orr_preset(world, Health). Zero, with an error,
/// if the type is refused. As orr_type_preset(). C only.
#ifndef __cplusplus
#define orr_preset(world, type) \
    (*(const type*)orr_type_preset(world, orr_type_of(world, ORR_TYPE(type)), &(type){0}))
#endif
/// Sets a component from the presets of its type and the fields given here: orr_set_preset(world,
/// bob, Health, .now = 50, .armor[1] = 3). All other fields get their presets, also if the entity
/// already has the component. As orr_component_set(). C only. A value with a comma in braces needs
/// parentheses: .place = ((Vec2){1, 2}).
#ifndef __cplusplus
#define orr_set_preset(world, entity, type, ...)                                       \
    __extension__({                                                                    \
        const orr_type orr_type_ = orr_type_of(world, ORR_TYPE(type));                 \
        type orr_value_ = *(const type*)orr_type_preset(world, orr_type_, &(type){0}); \
        ORR_PP_EACH(ORR_PP_ASSIGN, orr_value_, __VA_ARGS__)                            \
        orr_component_set(world, entity, orr_type_, &orr_value_);                      \
    })
#define ORR_PP_ASSIGN(value, field) value field;
#endif
/// Sets a component from a pointer, whose type the compiler checks: orr_put(world, bob, Position,
/// &p). As orr_component_set().
#define orr_put(world, entity, type, pointer)                            \
    orr_component_set(world, entity, orr_type_of(world, ORR_TYPE(type)), \
                      1 ? (pointer) : (const type*)NULL)
/// const Position* p = orr_get(world, bob, Position). As orr_component_get().
#define orr_get(world, entity, type) \
    ORR_PP_READ(type, orr_component_get(world, entity, orr_type_of(world, ORR_TYPE(type))))
/// Position* p = orr_edit(world, bob, Position). As orr_component_edit().
#define orr_edit(world, entity, type) \
    ORR_PP_WRITE(type, orr_component_edit(world, entity, orr_type_of(world, ORR_TYPE(type))))
/// orr_add(world, bob, Position). As orr_component_add().
#define orr_add(world, entity, type) \
    orr_component_add(world, entity, orr_type_of(world, ORR_TYPE(type)))
/// orr_remove(world, bob, Position). As orr_component_remove().
#define orr_remove(world, entity, type) \
    orr_component_remove(world, entity, orr_type_of(world, ORR_TYPE(type)))
/// orr_has(world, bob, Position). As orr_component_has().
#define orr_has(world, entity, type) \
    orr_component_has(world, entity, orr_type_of(world, ORR_TYPE(type)))
/// orr_enabled(world, bob, Position). As orr_component_enabled().
#define orr_enabled(world, entity, type) \
    orr_component_enabled(world, entity, orr_type_of(world, ORR_TYPE(type)))
/// orr_enable(world, bob, Position, false). As orr_component_enable().
#define orr_enable(world, entity, type, on) \
    orr_component_enable(world, entity, orr_type_of(world, ORR_TYPE(type)), on)

// ---- appending ----------------------------------------------------------------------------------

#define ORR_APPEND_TYPES_MAX 16u ///< Most columns that an appender gives access to.

/// An open appender: creates entities one at a time at the cost of a bulk call. The appender
/// creates rows in runs, and the caller writes the columns directly (owned strings with
/// orr_string_assign()). Between begin and end, calls that add, remove or move rows return
/// ORR_ERR_STATE; reading, writing values and making strings are allowed. Rows created ahead count
/// as entities until the end.
///
///     orr_appender a;
///     orr_append_begin(world, cluster, (orr_type[]){position, velocity}, 2, &a);
///     while (...) {
///         uint32_t i = orr_append(&a);            // ORR_APPEND_NONE if refused
///         ((Position*)a.columns[0])[i] = ...;
///         ids[n++] = a.entities[i];
///     }
///     orr_append_end(&a);
typedef struct orr_appender {
    void* columns[ORR_APPEND_TYPES_MAX];  ///< Values of the current run, in the order of the types.
    const orr_entity* entities;           ///< Ids of the current run.
    uint32_t used, count;                 ///< Rows of the current run: taken, and all.
    orr_world* world;                     ///< Private. NULL: not open.
    orr_cluster cluster;                  ///< Private. Cluster that gets the rows.
    orr_type types[ORR_APPEND_TYPES_MAX]; ///< Private. Types of `columns`.
    uint32_t type_count;                  ///< Private. Number of `types`.
    uint32_t run_next;                    ///< Private. Rows of the next run.
} orr_appender;

#define ORR_APPEND_NONE UINT32_MAX ///< Returned by orr_append() if refused.

/// Opens an appender for a cluster. New components have their presets until they are written. A
/// world has at most one open appender. `types` are unique types of the cluster without indexed
/// references. If refused, `*out` becomes a closed appender: orr_append() is refused, and
/// orr_append_end() has no effect. Allocates.
ORR_API ORR_NODISCARD orr_result orr_append_begin(orr_world* world, orr_cluster cluster,
                                                  const orr_type* types, uint32_t type_count,
                                                  orr_appender* out);
/// Creates the next run of rows. Called by orr_append(). Allocates. @return false if refused.
ORR_API bool orr_append_run(orr_appender* appender);
/// Closes an appender and undoes the rows that were not taken, as if their ids had never been
/// given. Closing twice is allowed.
ORR_API void orr_append_end(orr_appender* appender);

/// Takes the next row. Allocates when a new run is needed.
/// @return its index in `columns` and `entities`; ORR_APPEND_NONE if refused.
static inline uint32_t orr_append(orr_appender* appender)
{
    if (ORR_UNLIKELY(appender->used == appender->count) && !orr_append_run(appender)) {
        return ORR_APPEND_NONE;
    }
    return appender->used++;
}

// ---- owned strings and arrays -------------------------------------------------------------------

/// Makes an owned string. Equal texts give equal handles. Null, which is the empty string, if
/// refused. Allocates.
ORR_API orr_string orr_string_make(orr_world* world, const char* text);
/// Text of a string; "" for null or a string that was freed.
ORR_API const char* orr_string_text(const orr_world* world, orr_string string);
/// Assigns a string to a field of a value that lies in the world (in a column, or behind an
/// orr_edit() pointer). A plain assignment there would not be counted, and the string would be
/// freed too early. Calls that take values (set, add, create) count the strings in them. A string
/// that was freed is an error and leaves the field unchanged.
ORR_API void orr_string_assign(orr_world* world, orr_string* field, orr_string value);
/// Makes an owned array of `count` values of `element_size` bytes each. Null if refused. Allocates.
ORR_API orr_array orr_array_make(orr_world* world, const void* values, uint32_t count,
                                 uint32_t element_size);
/// Values of an array, 16-byte aligned; `*count` becomes their number. NULL and 0 for null or an
/// array that was freed.
ORR_API const void* orr_array_values(const orr_world* world, orr_array array, uint32_t* count);
/// Assigns an array to a field of a value that lies in the world. As orr_string_assign().
ORR_API void orr_array_assign(orr_world* world, orr_array* field, orr_array value);

// ---- inline access by id ------------------------------------------------------------------------
// Programs read components by id so often that a function call would cost as much as the read
// itself. The structs below are the parts of a world that the inline functions read. They are not
// part of the API and may change with any version.

// Record of an entity. `place` is its chunk and row; `generation` is the upper half of its id.
typedef struct orr_hot_record {
    uint32_t generation, place;
} orr_hot_record;

// Bits of an id that give the index of its record. The top bit is 0 in every valid id; an invalid
// id with that bit gives an index above every count.
#define ORR_HOT_ID_MASK 0x80000000FFFFFFFFu

// Columns of one type.
typedef struct orr_hot_table {
    uint8_t** data;          // By chunk id: the block of the type; NULL if the chunk lacks it.
    uint32_t capacity, size; // Number of `data`; bytes of a value.
} orr_hot_table;

// First member of a world.
typedef struct orr_hot_world {
    orr_hot_record** pages; // Records, 4096 per page; transient entities have pages below 0.
    orr_hot_table** tables; // By type index.
    uint32_t count, table_capacity; // Number of records; number of `tables`.
    uint32_t type_base;             // Id of the first type. Different for each world.
    orr_hot_statics statics;
} orr_hot_world;

/// Slow path of orr_type_of(), for the first use of a desc, and for descs whose place in the table
/// is taken.
ORR_API orr_type orr_type_of_far(orr_world* world, const orr_type_desc* static_desc);

static inline orr_type orr_type_of(orr_world* world, const orr_type_desc* static_desc)
{
    const orr_hot_world* hot = (const orr_hot_world*)(const void*)world;
    const orr_hot_static* entry = orr_hot_static_at(&hot->statics, static_desc);
    if (ORR_LIKELY(entry->desc == static_desc) && static_desc != NULL) {
        orr_type type = {entry->id};
        return type;
    }
    return orr_type_of_far(world, static_desc);
}

/// Slow path of orr_component_get(), for chunks that are not in the table. @return NULL if there is
/// no value; a dead entity is an error.
ORR_API const void* orr_component_get_far(const orr_world* world, orr_entity entity, orr_type type);

static inline const void* orr_component_get(const orr_world* world, orr_entity entity,
                                            orr_type type)
{
    const orr_hot_world* hot = (const orr_hot_world*)(const void*)world;
    uint64_t index = entity.id & ORR_HOT_ID_MASK;
    uint32_t type_index = type.id - hot->type_base;
    if (ORR_LIKELY(index < hot->count && type_index < hot->table_capacity)) {
        const orr_hot_record* record = &hot->pages[index >> 12][index & 4095];
        const orr_hot_table* table = hot->tables[type_index];
        uint32_t place = record->place, chunk = place / ORR_CHUNK_CAPACITY;
        if (ORR_LIKELY(record->generation == (uint32_t)(entity.id >> 32) &&
                       chunk < table->capacity)) {
            const uint8_t* data = table->data[chunk];
            if (ORR_LIKELY(data != NULL)) {
                return data + (size_t)(place % ORR_CHUNK_CAPACITY) * table->size;
            }
        }
    }
    return orr_component_get_far(world, entity, type);
}

/// Fast access to one type by entity id, for many reads in a loop. Valid until the next call that
/// adds, removes or moves rows. All fields are private.
typedef struct orr_reader {
    orr_hot_record* const* pages;   ///< Records of the entities.
    uint8_t* const* data;           ///< Blocks of the type, by chunk id.
    uint32_t count, capacity, size; ///< Number of records, number of blocks, bytes of a value.
    orr_type type;                  ///< The type.
    const orr_world* world;         ///< The world.
} orr_reader;

/// Slow path of orr_reader_get(). Takes its arguments by value, so that a reader can stay in
/// registers.
ORR_API const void* orr_reader_get_far(const orr_world* world, orr_type type, orr_entity entity);

/// Slow path of orr_reader_make(). While systems run on several threads, each thread has its own
/// tables.
ORR_API orr_reader orr_reader_make_far(const orr_world* world, orr_type type);

/// Makes a reader for a type. If no entity has the type, or it is not a type of this world, the
/// reader finds nothing.
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

/// Value of the reader's type; NULL if the entity does not have it. A dead id gives NULL without an
/// error.
static inline const void* orr_reader_get(const orr_reader* reader, orr_entity entity)
{
    uint64_t index = entity.id & ORR_HOT_ID_MASK;
    if (ORR_UNLIKELY(index >= reader->count)) {
        return NULL;
    }
    const orr_hot_record* record = &reader->pages[index >> 12][index & 4095];
    uint32_t place = record->place, chunk = place / ORR_CHUNK_CAPACITY;
    if (ORR_UNLIKELY(record->generation != (uint32_t)(entity.id >> 32) ||
                     chunk >= reader->capacity)) {
        return orr_reader_get_far(reader->world, reader->type, entity);
    }
    const uint8_t* data = reader->data[chunk];
    return ORR_LIKELY(data != NULL) ? data + (size_t)(place % ORR_CHUNK_CAPACITY) * reader->size
                                    : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
