// SPDX-License-Identifier: MIT
// Published values of multiple types. A row has a cell of instances; they are followed by their ids, in whatever row, and cell of whatever size, they
// lie now. Instances come and go without a row that moves: then only the stamp of their ids tells.
#include "store/publish/publish_detail.h"

// The live instances of a chunk.
typedef struct published_cell_live {
    const uint16_t* counts;
    const uint32_t* ids;
    uint64_t stamp; // Of the ids.
    uint8_t shift;
} published_cell_live;

static published_cell_live published_cell_live_at(const orri_chunk* chunk, uint32_t column)
{
    const orri_cluster_column* entry = &chunk->cluster->columns[column];
    return (published_cell_live){
        (const uint16_t*)(const void*)chunk->columns[entry->counts].data,
        (const uint32_t*)(const void*)chunk->columns[entry->counts + 1].data,
        chunk->columns[entry->counts + 1].version, entry->shift};
}

// ---- rolls --------------------------------------------------------------------------------------------------

bool orri_published_cell_stale(const orri_published_type* type, const orri_chunk* chunk)
{
    int32_t column = orri_cluster_find_column(chunk->cluster, type->handle);
    const orri_owners* roll = orri_owners_at(type, chunk->id);
    return column >= 0 &&
           (roll == NULL || roll->stamp != published_cell_live_at(chunk, (uint32_t)column).stamp);
}

orri_owners* orri_published_cell_owners(orri_publisher* publisher, const orri_published_type* type,
                                        const orri_chunk* chunk, uint32_t column)
{
    published_cell_live live = published_cell_live_at(chunk, column);
    orri_owners* roll = orri_owners_make(publisher, type, orri_chunk_rows(chunk), live.shift);
    if (roll != NULL) {
        roll->stamp = live.stamp;
        memcpy(roll->counts, live.counts, roll->rows * sizeof *roll->counts);
        memcpy(roll->ids, live.ids, orri_owners_values(roll) * sizeof *roll->ids);
    }
    return roll;
}

bool orri_published_cell_agrees(const orri_published_type* type, const orri_chunk* chunk,
                                const orri_owners* roll)
{
    int32_t column = orri_cluster_find_column(chunk->cluster, type->handle);
    if (column < 0 || roll == NULL || roll->rows != orri_chunk_rows(chunk)) {
        return false;
    }
    published_cell_live live = published_cell_live_at(chunk, (uint32_t)column);
    return roll->shift == live.shift &&
           memcmp(roll->counts, live.counts, roll->rows * sizeof *roll->counts) == 0 &&
           memcmp(roll->ids, live.ids, orri_owners_values(roll) * sizeof *roll->ids) == 0;
}

// ---- values -------------------------------------------------------------------------------------------------

// What an edition had for a row: NULL data: nothing.
typedef struct published_cell_past {
    const uint8_t* data;
    const uint32_t* ids;
    uint32_t count;
} published_cell_past;

static published_cell_past published_cell_past_at(const orri_published_type* type,
                                                  const orri_edition* edition, uint32_t place)
{
    const orri_edition_block* block = place != 0 ? orri_edition_at(edition, place >> ORRI_SLOT_BITS)
                                                 : NULL;
    if (block == NULL) {
        return (published_cell_past){0};
    }
    const orri_owners* roll = block->roll;
    size_t first = (size_t)orri_place_slot(place) << roll->shift;
    return (published_cell_past){block->data + first * type->size, roll->ids + first,
                                 roll->counts[orri_place_slot(place)]};
}

// The value of an instance, mostly at its own number or before; NULL: it had none.
static const uint8_t* published_cell_past_value(const orri_published_type* type,
                                                const published_cell_past* past, uint32_t id,
                                                uint32_t* near)
{
    for (uint32_t n = 0; n < past->count; n++) {
        uint32_t i = *near + n < past->count ? *near + n : *near + n - past->count;
        if (past->ids[i] == id) {
            *near = i + 1 < past->count ? i + 1 : 0;
            return past->data + (size_t)i * type->size;
        }
    }
    return NULL;
}

// One row; false when a hook refuses: then nothing of it is made.
static bool published_cell_fill_row(const orri_published_type* type,
                                    const published_cell_past* past, const uint32_t* ids,
                                    uint32_t count, const uint8_t* live, uint8_t* to,
                                    bool* all_live)
{
    uint32_t near = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t offset = (size_t)i * type->size;
        const uint8_t* old = published_cell_past_value(type, past, ids[i], &near);
        *all_live = *all_live && old == NULL;
        if (!orri_owners_copy_one(type, to + offset, old != NULL ? old : live + offset)) {
            orri_rows_destruct(type->type, to, i);
            return false;
        }
    }
    return true;
}

bool orri_published_cell_fill(const orri_publisher* publisher, const orri_published_type* type,
                              const orri_edition* edition, const orri_remap_change* change,
                              orri_edition_block* block)
{
    const orri_owners* roll = block->roll;
    const orri_column* live = &change->chunk->columns[block->column];
    bool all_live = true;
    for (uint32_t r = 0; r < roll->rows; r++) {
        size_t first = (size_t)r << roll->shift, offset = first * type->size;
        uint32_t count = roll->counts[r];
        published_cell_past past =
            published_cell_past_at(type, edition, orri_remap_from(publisher, change, r));
        if (!published_cell_fill_row(type, &past, roll->ids + first, count, live->data + offset,
                                     block->data + offset, &all_live)) {
            orri_owners_destruct(type, roll, block->data, r);
            return false;
        }
        if (type->size > 0) { // What lies past the last instance is zero, as it is there.
            memset(block->data + offset + (size_t)count * type->size, 0,
                   (((size_t)1 << roll->shift) - count) * type->size);
        }
    }
    block->rows = roll->rows;
    block->source = all_live ? live->version : 0;
    return true;
}
