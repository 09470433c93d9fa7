// SPDX-License-Identifier: MIT
// An allocator for tests: refuses the Nth request, fills memory, and checks how memory is freed.
// All-zero is ready to use and behaves like malloc:
//
//     failing_alloc memory = {0};
//     orr_allocator allocator = failing_alloc_allocator(&memory);
//     for (uint64_t n = 1;; n++) {
//         failing_alloc_arm(&memory, n, false);
//         ... the call under test: must succeed, or refuse without a change ...
//         if (memory.refused == 0) {
//             break; // It needed fewer than n allocations.
//         }
//     }
//     failing_alloc_check(&memory); // Everything was freed, with the right sizes.
//
// Thread-safe, except for the settings, which are changed only while no call is in progress.
#ifndef ORR_FAILING_ALLOC_H
#define ORR_FAILING_ALLOC_H

#include <orrery/base.h>
#include <stdatomic.h>

typedef struct failing_alloc {
    // Settings.
    uint64_t fail_at;   // Refuse request number fail_at (from 1). 0: never.
    bool fail_for_good; // And all requests after it.
    bool quiet;         // Count mistakes and leaks without printing them.
    bool fill;          // Fill fresh and freed memory with the bytes below.
    uint8_t fresh_byte; // 0xAA or 0x55 reveal a read of memory that was never written.
    uint8_t freed_byte; // Reveals a read after free (without a sanitizer).

    // Counts, for reading.
    uint64_t requests; // Since the start or the last arm.
    uint64_t refused;  // Refused requests since then.
    uint64_t live_blocks, live_bytes;
    uint64_t mistakes; // Frees with a wrong size or align, of a foreign or freed block; overruns.

    // Private.
    struct failing_block* first; // Live blocks, newest first.
    atomic_flag busy;            // Clear when all-zero, with gcc and clang.
} failing_alloc;

orr_allocator failing_alloc_allocator(failing_alloc* memory);
// Restarts counting and refuses request number `fail_at` from now on (0: none), permanently or
// once.
void failing_alloc_arm(failing_alloc* memory, uint64_t fail_at, bool for_good);
// Prints the live blocks (the first few) and returns their number.
uint64_t failing_alloc_leaks(failing_alloc* memory);
// Fails the test if blocks are live or mistakes were made.
void failing_alloc_check(failing_alloc* memory);
// Frees all live blocks, for a test that continued after a failure.
void failing_alloc_reset(failing_alloc* memory);

#endif
