// SPDX-License-Identifier: MIT
// An allocator for tests: fails the Nth request, fills memory, and checks what is given back. All-zero is
// ready to use and behaves like malloc:
//
//     failing_alloc memory = {0};
//     orr_allocator allocator = failing_alloc_allocator(&memory);
//     for (uint64_t n = 1;; n++) {
//         failing_alloc_arm(&memory, n, false);
//         ... the call under test: must succeed, or refuse and change nothing ...
//         if (memory.refused == 0) {
//             break; // It needed fewer than n allocations.
//         }
//     }
//     failing_alloc_check(&memory); // Everything came back, and as it was asked for.
//
// Thread-safe, except for the settings, which are for quiet moments.
#ifndef ORR_FAILING_ALLOC_H
#define ORR_FAILING_ALLOC_H

#include <orrery/base.h>
#include <stdatomic.h>

typedef struct failing_alloc {
    // Settings.
    uint64_t fail_at;   // Refuse request number fail_at (from 1). 0: never.
    bool fail_for_good; // And all after it.
    bool quiet;         // Count mistakes and leaks without printing them.
    bool fill;          // Fill fresh and freed memory with the bytes below.
    uint8_t fresh_byte; // 0xAA or 0x55 show a read of memory that was never written.
    uint8_t freed_byte; // Shows a read after free (where no sanitizer does).

    // Counts, for reading.
    uint64_t requests; // Since the start or the last arm.
    uint64_t refused;  // Since then.
    uint64_t live_blocks, live_bytes;
    uint64_t mistakes; // Frees with another size or align, of a foreign or freed block, overruns.

    // Private.
    struct failing_block* first; // Live blocks, newest first.
    atomic_flag busy;            // Clear when all-zero, with gcc and clang.
} failing_alloc;

orr_allocator failing_alloc_allocator(failing_alloc* memory);
// Starts counting again and refuses request number `fail_at` from now (0: none), for good or once.
void failing_alloc_arm(failing_alloc* memory, uint64_t fail_at, bool for_good);
// Prints the live blocks (the first few) and returns how many there are.
uint64_t failing_alloc_leaks(failing_alloc* memory);
// Fails the test when blocks are live or mistakes were made.
void failing_alloc_check(failing_alloc* memory);
// Gives back all live blocks, for a test that went on after a failure.
void failing_alloc_reset(failing_alloc* memory);

#endif
