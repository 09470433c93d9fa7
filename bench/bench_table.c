// SPDX-License-Identifier: MIT
// Which work is measured at which size, and how many times the limit it may cost.
#include "bench.h"

const bench_row bench_rows[] = {
    {&bench_create_empty, 1000000, 0, 10},
    {&bench_create_empty_bulk, 1000000, 0, 3},
    {&bench_create_2, 1000000, 0, 4},
    {&bench_create_2_bulk, 1000000, 0, 1.5},
    {&bench_destroy_ordered, 1000000, 0, 8},
    {&bench_destroy_shuffled, 1000000, 0, 2.5},
    {&bench_iterate_1, 1000000, 0, 1.05},
    {&bench_iterate_2, 1000, 0, 1.2},
    {&bench_iterate_2, 65536, 0, 1.05},
    {&bench_iterate_2, 1000000, 0, 1.05},
    {&bench_iterate_2, 10000000, 0, 1.05},
    {&bench_iterate_5, 1000000, 0, 1.05},
    {&bench_add_remove, 1000000, 0, 5.5},
    {&bench_add_remove_pinned, 1000000, 0, 6},
    {&bench_add_bulk, 1000000, 0, 0.3},
    {&bench_delete_cluster, 1000000, 0, 1.5},
    {&bench_toggle, 1000000, 0, 2},
    {&bench_add_remove_many, 1000000, 0, 4},
    {&bench_get, 65536, 0, 2},
    {&bench_get, 1000000, 0, 1.5},
    {&bench_fragmented, 65536, 4096, 1.6},
    {&bench_fragmented, 1000000, 4096, 1.3},
    {&bench_memory, 1000000, 0, 1.15},
    // Not among the goals of the design, but worth watching.
    {&bench_create_2_cold, 1000000, 0, 0},
    {&bench_destroy_many, 1000000, 0, 0},
    {&bench_set, 1000000, 0, 0},
    {&bench_set_many, 1000000, 0, 0},
    {&bench_add_remove_pinned_many, 1000000, 0, 0},
    {&bench_get_pinned, 1000000, 0, 0},
    {&bench_hash, 1000000, 0, 0.02},
    {&bench_world, 100, 0, 1},
    // Not ours: what the notes' linked lists would cost; the limit are our chunks.
    {&bench_list_fresh, 1000000, 0, 0},
    {&bench_list, 65536, 0, 0},
    {&bench_list, 1000000, 0, 0},
    {&bench_list_sparse, 1000000, 0, 0},
    // Linked lists, which we do not have; their limit is our chunks.
    {&bench_list_fresh, 1000000, 0, 0},
    {&bench_list, 65536, 0, 0},
    {&bench_list, 1000000, 0, 0},
    {&bench_list_sparse, 1000000, 0, 0},
    {NULL, 0, 0, 0}};
