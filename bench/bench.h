// SPDX-License-Identifier: MIT
// The benchmark program: a table of workloads. Each workload is measured together with its limit.
//
// The limit of a workload is the same work on plain, warm, contiguous arrays with the minimum
// bookkeeping of an entity store: a record of 8 bytes (row and generation) per entity, checked when
// an id is used. Orrery ("ours") and the limit run alternately in one process. Their results are
// compared after every repeat; the program stops if they differ.
#ifndef BENCH_H
#define BENCH_H

#include "raw.h"
#include <orrery/orrery.h>

#define BENCH_MARKERS  12   // Marker types; their combinations make up to 4096 clusters.
#define BENCH_CLUSTERS 4096 // Upper bound.

// Time and work of one repeat. The time is divided by `items`. `check` is a digest of the result
// and must be equal for ours and the limit (0 and 0 if there is nothing to compare).
typedef struct bench_sample {
    uint64_t ns;
    uint64_t items;
    uint64_t check;
} bench_sample;

// Everything a workload may need; unused members stay NULL. Freed by bench_env_close().
typedef struct bench_env {
    uint32_t n;
    uint32_t cluster_count; // At least 1.
    uint32_t workers;       // Workers of the world.
    uint32_t tick_items;    // Items per tick; the report then prints rates. 0: no rates.

    Position* positions; // Source data, n each.
    Velocity* velocities;
    orr_entity* ids; // Ours, in creation order and shuffled.
    orr_entity* ids_shuffled;
    uint64_t* raw_ids; // Ids of the limit.
    uint64_t* raw_ids_shuffled;
    raw_record* raw_records_source;

    orr_world* world;
    orr_query* query; // A query of the world; each workload defines its own.
    orr_type position, velocity, health, acceleration, data;
    orr_type markers[BENCH_MARKERS];
    orr_cluster* clusters;  // Clusters of Position, Velocity and markers.
    uint32_t* cluster_rows; // Rows of each cluster after bench_world_fill().

    raw_store raw;
    raw_span* raw_spans;
    void* extra[16]; // Memory of a workload, freed with free().
} bench_env;

// A kind of work, run at one or more sizes (bench_table.c).
typedef struct bench_work {
    const char* name;
    const char* what; // Description of an item.
    void (*open)(bench_env* env);
    bench_sample (*ours)(bench_env* env);
    bench_sample (*limit)(bench_env* env);
} bench_work;

typedef struct bench_row {
    const bench_work* work;
    uint32_t n;
    uint32_t clusters; // 0: one cluster, and the param is "".
    double goal;       // Maximum ratio of ours to the limit; 0: no goal.
} bench_row;

extern const bench_row bench_rows[]; // Terminated by a row without work.

extern const bench_work bench_create_empty, bench_create_empty_bulk, bench_create_2,
    bench_create_2_bulk, bench_create_2_cold, bench_destroy_ordered, bench_destroy_named,
    bench_destroy_shuffled, bench_delete_cluster, bench_memory, bench_destroy_many,
    bench_world; // bench_life.c
extern const bench_work bench_iterate_1, bench_iterate_2, bench_write_overhead, bench_iterate_5,
    bench_fragmented,
    bench_hash; // bench_iterate.c
extern const bench_work bench_add_remove, bench_add_remove_many, bench_add_bulk, bench_toggle,
    bench_get, bench_set, bench_set_many; // bench_change.c
extern const bench_work bench_add_remove_pinned, bench_add_remove_pinned_many,
    bench_get_pinned; // bench_pinned.c
extern const bench_work bench_list_fresh, bench_list;
extern const bench_work bench_list_sparse; // bench_lists.c

extern const bench_work bench_query_create, bench_change_scan, bench_change_scan_1,
    bench_write_tracked, bench_cross_product, bench_iterate_multiple,
    bench_iterate_multiple_counted, bench_pinned_queries_0, bench_pinned_queries_1,
    bench_pinned_queries_8, bench_pinned_queries_64; // bench_query.c

extern const bench_work bench_schedule, bench_frame_7, bench_frame_checks, bench_deferred_add,
    bench_changed_1, bench_changed_8, bench_added_1, bench_added_recycled,
    bench_spawn_whole; // bench_systems.c

extern const bench_work bench_transactions, bench_transactions_2; // bench_transact.c
extern const bench_work bench_schedule_2, bench_frame_7_2;        // bench_systems.c
extern const bench_work bench_update_alone, bench_update_pair, bench_disjoint_systems,
    bench_disjoint_clusters; // bench_workers.c

extern const bench_work bench_two_pipelines_1, bench_two_pipelines_100, bench_two_pipelines_1000,
    bench_two_pipelines_shuffled_1, bench_two_pipelines_shuffled_100,
    bench_two_pipelines_shuffled_1000;       // bench_pipelines.c
extern const bench_work bench_realtime_pair; // bench_realtime.c

extern const bench_work bench_remember_chunks, bench_remember_scattered, bench_travel_back,
    bench_memory_600;                   // bench_history.c
extern const bench_work bench_rollback; // bench_rollback.c

extern const bench_work bench_math, bench_math_float; // bench_math.c

// One entity at a time (bench_single.c, bench_single_system.c).
extern const bench_work bench_create_naive_2, bench_create_naive_6, bench_create_in_2,
    bench_add_remove_lone, bench_get_macro, bench_get_many, bench_tree_build,
    bench_query_first_pass; // bench_single.c
extern const bench_work bench_add_notified, bench_add_hooked,
    bench_deferred_preset; // bench_single_system.c
extern const bench_work bench_create_bulk_recycled, bench_create_empty_recycled; // bench_life.c
extern const bench_work bench_add_remove_macro, bench_get_reader;                // bench_change.c
extern const bench_work bench_add_remove_pinned_macro;                           // bench_pinned.c

// Shared by the rows that create or destroy (bench_life.c): several rounds of an untimed part, a
// timed part and a digest.
typedef void (*bench_part)(bench_env* env);
bench_sample bench_life_measure(bench_env* env, bench_part before, bench_part timed,
                                uint64_t (*digest)(bench_env* env));
// Number and ids of the entities, and their positions.
uint64_t bench_life_ours_digest(bench_env* env);
uint64_t bench_life_limit_digest(bench_env* env);
// Empties the first table and the records of the limit.
void bench_life_clear(bench_env* env);

// Shared by the rows about access by id and moves (bench_change.c).
void bench_change_raw_table_make(bench_env* env); // The second table of the limit.
void bench_shuffled_open(bench_env* env);         // A filled world, and ids in shuffled order.
bench_sample bench_get_limit(bench_env* env);
uint64_t bench_float_bits(float value);

// Shared by the rows about pinned types (bench_pinned.c).
void bench_pinned_open(bench_env* env);
bench_sample bench_pinned_ours(bench_env* env);
bench_sample bench_pinned_limit(bench_env* env);

// ---- for workloads (bench_env.c) ----------------------------------------------------------------

// Start time of a timed section: CPU time of this thread, or wall time with workers.
// bench_since_ns() returns the time since then, without the cost of reading the clock.
uint64_t bench_now_ns(void);
uint64_t bench_since_ns(uint64_t start_ns);
// Prints the message and exits.
_Noreturn void bench_die(const char* format, ...) ORR_PRINTF(1, 2);
// Exits with the world's error text unless the result is ORR_OK.
void bench_expect(const bench_env* env, orr_result result, const char* doing);
// Warm memory: 64-byte aligned, every page touched. Freed with free().
void* bench_array(size_t count, size_t size);
// Number of repetitions of n items inside one timed section that makes the clock's cost negligible.
uint32_t bench_rounds(uint32_t n);

// true: freed memory stays with the process, so that neither side pays for the first touch of a
// page. false: freed memory returns to the system at once. Requires support of the C library.
// Initially true.
void bench_heap_warm(bool warm);

// Copies the ids in shuffled order. The order is the same for every call with the same count.
void bench_shuffle(uint64_t* to, const uint64_t* from, uint32_t count);
// The cluster of Position, Velocity, the markers selected by the bits of `index`, and optionally
// Health.
orr_cluster bench_cluster_get(bench_env* env, uint32_t index, bool with_health);
// Sets the number of workers of ours. Times are wall times from then on. Call before
// bench_world_open().
void bench_workers_use(bench_env* env, uint32_t workers);
// Creates a world with all types and the clusters of Position and Velocity, without entities.
void bench_world_open(bench_env* env);
// Adds n entities with the source data, cluster by cluster, and fills `ids`.
void bench_world_fill(bench_env* env);
void bench_world_close(bench_env* env);
// First row (of all n) of a cluster's share; share c is [share(c), share(c + 1)).
uint32_t bench_share(const bench_env* env, uint32_t cluster);
// Sum of the bits of all positions of the world. Independent of the order of rows.
uint64_t bench_world_digest(bench_env* env);
// `clusters` 0 means one cluster.
void bench_env_open(bench_env* env, const bench_work* work, uint32_t n, uint32_t clusters);
void bench_env_close(bench_env* env);

// ---- measuring (bench_measure.c) ----------------------------------------------------------------

// Best of all repeats.
typedef struct bench_figures {
    double ns; // Per item.
    double limit_ns;
    double ratio;
    uint32_t workers;    // Workers of ours.
    uint32_t tick_items; // See bench_env.tick_items.
} bench_figures;

bench_figures bench_measure(const bench_work* work, uint32_t n, uint32_t clusters,
                            uint32_t repeats);

// ---- reports (bench_report.c, bench_grow.c) -----------------------------------------------------

void bench_param_text(const bench_row* row, const bench_figures* figures, char out[32]);
void bench_head_print(uint32_t repeats);
void bench_table_head_print(void);
void bench_table_row_print(const bench_row* row, const bench_figures* figures);
// Writes rows and figures as JSON. Exits when the file cannot be written.
void bench_json_write(const char* path, const bench_row* rows, const bench_figures* figures,
                      uint32_t count);
void bench_grow_print(uint32_t repeats);

// A call without a limit whose cost per item is shown by `--grow` (bench_growth.c).
typedef struct bench_growth {
    const char* name;
    uint64_t (*ns)(uint32_t n); // Time of n items.
} bench_growth;
extern const bench_growth bench_growths[]; // Terminated by one without a name.
// bench_waits.c: waiting times in real time, over `ticks` ticks of each case.
void bench_waits_print(uint32_t ticks);

#endif
