// SPDX-License-Identifier: MIT
// Limits of calls for one entity. Creating takes a call for each entity, on this side too: a loop
// that knows all of its entities in advance is the limit of the calls for many.
#include "raw_limit.h"

// Takes the first free record, or a new one, and gives it the next row of the first table.
static inline uint32_t raw_record_take(raw_store* raw, uint32_t row, uint64_t* id)
{
    uint32_t index = raw->free;
    raw_record* record = &raw->records[index != RAW_NONE ? index : row];
    if (index != RAW_NONE) {
        raw->free = record->row;
    } else {
        index = row;
        record->generation = 1;
    }
    record->row = row;
    *id = raw_id(index, record->generation);
    return index;
}

RAW_LIMIT uint64_t raw_create_one(raw_store* raw, Position p, Velocity v)
{
    raw_table* t = &raw->tables[0];
    uint64_t id;
    uint32_t row = t->count++;
    t->owners[row] = raw_record_take(raw, row, &id);
    t->positions[row] = p;
    t->velocities[row] = v;
    return id;
}

RAW_LIMIT uint64_t raw_create_one_six(raw_store* raw, const raw_columns_six* six,
                                      const raw_six* values)
{
    raw_table* t = &raw->tables[0];
    uint64_t id;
    uint32_t row = t->count++;
    t->owners[row] = raw_record_take(raw, row, &id);
    t->positions[row] = values->position;
    t->velocities[row] = values->velocity;
    six->healths[row] = values->health;
    six->accelerations[row] = values->acceleration;
    six->data[row] = values->data;
    six->lives[row] = values->life;
    return id;
}

RAW_LIMIT uint32_t raw_move_lone(raw_store* raw, uint64_t id, uint32_t count)
{
    raw_record* record = &raw->records[(uint32_t)id];
    uint32_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (raw_alive(record, id) && (record->row & RAW_TABLE_BIT) == 0) {
            raw_row_move(raw->records, &raw->tables[0], &raw->tables[1], record->row, 0,
                         RAW_TABLE_BIT);
        }
        if (raw_alive(record, id) && (record->row & RAW_TABLE_BIT) != 0) {
            raw_row_move(raw->records, &raw->tables[1], &raw->tables[0],
                         record->row & ~RAW_TABLE_BIT, RAW_TABLE_BIT, 0);
            done++;
        }
    }
    return done;
}

RAW_LIMIT uint32_t raw_get_many(const raw_store* raw, const uint64_t* ids, uint32_t count,
                                Position* restrict out)
{
    const raw_record* records = raw->records;
    const Position* p = raw->tables[0].positions;
    uint32_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        const raw_record* record = &records[(uint32_t)ids[i]];
        if (raw_alive(record, ids[i])) {
            out[i] = p[record->row];
            done++;
        }
    }
    return done;
}

RAW_LIMIT uint64_t raw_create_node(raw_store* raw, raw_node* nodes, Position p)
{
    raw_table* t = &raw->tables[0];
    uint64_t id;
    uint32_t row = t->count++;
    uint32_t index = t->owners[row] = raw_record_take(raw, row, &id);
    t->positions[row] = p;
    nodes[index] = (raw_node){RAW_NONE, RAW_NONE, RAW_NONE, RAW_NONE};
    return id;
}

RAW_LIMIT bool raw_parent_set(const raw_record* records, raw_node* nodes, uint64_t child_id,
                              uint64_t parent_id)
{
    uint32_t child = (uint32_t)child_id, parent = (uint32_t)parent_id;
    if (!raw_alive(&records[child], child_id) || !raw_alive(&records[parent], parent_id) ||
        nodes[child].parent != RAW_NONE) {
        return false;
    }
    uint32_t next = nodes[parent].first;
    nodes[child].parent = parent;
    nodes[child].next = next;
    if (next != RAW_NONE) {
        nodes[next].previous = child;
    }
    nodes[parent].first = child;
    return true;
}

RAW_LIMIT uint32_t raw_spans_list(const raw_table* const* tables, uint32_t count,
                                  raw_span* restrict out)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const raw_table* t = tables[i];
        if (t->count > 0) {
            out[used++] = (raw_span){t->positions, t->count};
        }
    }
    return used;
}
