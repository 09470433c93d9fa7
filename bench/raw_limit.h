// SPDX-License-Identifier: MIT
// Shared by the files with limits: how a limit is compiled, and how an id is checked.
#ifndef BENCH_RAW_LIMIT_H
#define BENCH_RAW_LIMIT_H

#include "raw.h"

// Prevents gcc from specialising a limit for the sizes that its callers pass.
#if defined(__has_attribute)
#if __has_attribute(noipa)
#define RAW_LIMIT __attribute__((noipa))
#endif
#endif
#ifndef RAW_LIMIT
#define RAW_LIMIT __attribute__((noinline))
#endif

static inline uint64_t raw_id(uint32_t index, uint32_t generation)
{
    return (uint64_t)generation << 32 | index;
}

static inline bool raw_alive(const raw_record* record, uint64_t id)
{
    return record->generation == (uint32_t)(id >> 32);
}

// Moves a row to the end of another table and fills the gap with the last row.
static inline void raw_row_move(raw_record* records, raw_table* from, raw_table* to, uint32_t row,
                                uint32_t table_bit_from, uint32_t table_bit_to)
{
    uint32_t new_row = to->count++;
    uint32_t owner = from->owners[row];
    to->positions[new_row] = from->positions[row];
    to->velocities[new_row] = from->velocities[row];
    to->owners[new_row] = owner;
    uint32_t last = --from->count;
    uint32_t moved = from->owners[last];
    from->positions[row] = from->positions[last];
    from->velocities[row] = from->velocities[last];
    from->owners[row] = moved;
    records[moved].row = row | table_bit_from;
    records[owner].row = new_row | table_bit_to;
}

#endif
