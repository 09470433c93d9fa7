// SPDX-License-Identifier: MIT
// The benchmark program: a table of workloads, each measured beside its limit.
//
// The limit of a workload is the same work on plain, warm, contiguous arrays with the least bookkeeping an
// entity store cannot do without: a record of 8 bytes (row and generation) per entity, checked when an id is
// used. Ours and the limit run in one process, in turns, and what they did is compared after every repeat: a
// program that is fast because it forgot its work is stopped.
#ifndef BENCH_H
#define BENCH_H

#include "raw.h"
#include <orrery/orrery.h>

#define BENCH_MARKERS  12   // Marker types; their combinations make up to 4096 clusters.
#define BENCH_CLUSTERS 4096 // At most.

// What one repeat took and did. `items` is what the time is divided by; `check` is a digest of the result that
// must be equal for ours and the limit (0 and 0 where there is nothing to compare).
typedef struct bench_sample {
    uint64_t ns;
    uint64_t items;
    uint64_t check;
} bench_sample;

// Everything a workload may need; what it does not need stays NULL. Freed by bench_env_close().
typedef struct bench_env {
    uint32_t n;
    uint32_t cluster_count; // At least 1.
    uint32_t workers;       // Of the world.
    uint32_t tick_items;    // Items of a tick: then the report says rates, too. 0: it does not.

    Position* positions; // Source data, n each.
    Velocity* velocities;
    orr_entity* ids; // Ours: creation order and shuffled.
    orr_entity* ids_shuffled;
    uint64_t* raw_ids; // The limit's.
    uint64_t* raw_ids_shuffled;
    raw_record* raw_records_source;

    orr_world* world;
    orr_query* query; // Of the world; what it asks is the workload's matter.
    orr_type position, velocity, health, acceleration, data;
    orr_type markers[BENCH_MARKERS];
    orr_cluster* clusters;  // Of Position, Velocity and markers.
    uint32_t* cluster_rows; // Of each, after bench_world_fill().

    raw_store raw;
    raw_span* raw_spans;
    void* extra[16]; // Of a workload: freed with free().
} bench_env;

// A kind of work. It is run at one or several sizes (bench_table.c).
typedef struct bench_work {
    const char* name;
    const char* what; // What an item is.
    void (*open)(bench_env* env);
    bench_sample (*ours)(bench_env* env);
    bench_sample (*limit)(bench_env* env);
} bench_work;

typedef struct bench_row {
    const bench_work* work;
    uint32_t n;
    uint32_t clusters; // 0: one, and the param is "".
    double goal;       // At most so many times the limit; 0: none.
} bench_row;

extern const bench_row bench_rows[]; // Ended by a row without work.

extern const bench_work bench_create_empty, bench_create_empty_bulk, bench_create_2,
    bench_create_2_bulk, bench_create_2_cold, bench_destroy_ordered, bench_destroy_shuffled,
    bench_delete_cluster, bench_memory, bench_destroy_many, bench_world; // bench_life.c
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

extern const bench_work bench_two_pipelines; // bench_pipelines.c

extern const bench_work bench_remember_chunks, bench_remember_scattered, bench_travel_back,
    bench_memory_600;                   // bench_history.c
extern const bench_work bench_rollback; // bench_rollback.c

extern const bench_work bench_math, bench_math_float; // bench_math.c

// Shared by the rows about pinned types (bench_pinned.c).
void bench_pinned_open(bench_env* env);
bench_sample bench_pinned_ours(bench_env* env);
bench_sample bench_pinned_limit(bench_env* env);

// ---- for workloads (bench_env.c) --------------------------------------------------------------------

// Time of this thread (the wall's, where there are workers), for the start of a timed section; and what passed since, without the
// clock's own cost.
uint64_t bench_now_ns(void);
uint64_t bench_since_ns(uint64_t start_ns);
// Says what is wrong and ends the program.
_Noreturn void bench_die(const char* format, ...) ORR_PRINTF(1, 2);
// Ends the program, with the world's own words, unless the result is ORR_OK.
void bench_expect(const bench_env* env, orr_result result, const char* doing);
// Warm memory, 64-byte aligned, every page touched. Freed with free().
void* bench_array(size_t count, size_t size);
// How often to repeat the work on n items inside one timed section, so that the clock does not matter.
uint32_t bench_rounds(uint32_t n);

// Whether freed memory stays with the process (so that neither side pays for the first touch of a page) or
// goes back to the system, what is free now at once. Where the C library lets us choose. Warm at first.
void bench_heap_warm(bool warm);

// The ids in another order: the same one for every call with the same count.
void bench_shuffle(uint64_t* to, const uint64_t* from, uint32_t count);
// The cluster of Position, Velocity, the markers of the bits of `index`, and perhaps Health.
orr_cluster bench_cluster_get(bench_env* env, uint32_t index, bool with_health);
// Ours is to have so many workers; times are the wall's from now on. Before bench_world_open().
void bench_workers_use(bench_env* env, uint32_t workers);
// A fresh world with all types and clusters of Position and Velocity, and no entities.
void bench_world_open(bench_env* env);
// Adds n entities with the source data, cluster by cluster; fills ids.
void bench_world_fill(bench_env* env);
void bench_world_close(bench_env* env);
// First row (of all n) of a cluster's share, so that share c is [share(c), share(c + 1)).
uint32_t bench_share(const bench_env* env, uint32_t cluster);
// Sum of the bits of all positions of the world: does not depend on the order of rows.
uint64_t bench_world_digest(bench_env* env);
// `clusters` 0 is one.
void bench_env_open(bench_env* env, const bench_work* work, uint32_t n, uint32_t clusters);
void bench_env_close(bench_env* env);

// ---- measuring (bench_measure.c) ---------------------------------------------------------------------------

// Best of all repeats.
typedef struct bench_figures {
    double ns; // Per item.
    double limit_ns;
    double ratio;
    uint32_t workers;    // Of ours.
    uint32_t tick_items; // As bench_env.tick_items.
} bench_figures;

bench_figures bench_measure(const bench_work* work, uint32_t n, uint32_t clusters,
                            uint32_t repeats);

// ---- reports (bench_report.c, bench_grow.c) -----------------------------------------------------------------

void bench_param_text(const bench_row* row, const bench_figures* figures, char out[32]);
void bench_head_print(uint32_t repeats);
void bench_table_head_print(void);
void bench_table_row_print(const bench_row* row, const bench_figures* figures);
// Writes rows and figures as JSON; ends the program when the file cannot be written.
void bench_json_write(const char* path, const bench_row* rows, const bench_figures* figures,
                      uint32_t count);
void bench_grow_print(uint32_t repeats);
// bench_waits.c: real time; so many ticks of each case.
void bench_waits_print(uint32_t ticks);

#endif
