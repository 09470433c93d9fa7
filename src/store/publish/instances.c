// SPDX-License-Identifier: MIT
// Published values of multiple types. A row has a cell with several instances. A remap finds the
// old value of an instance by its id, whatever the row and the size of the cell are now. Instances
// can be added and removed without moving a row; then only the version of the instance ids shows
// the change.
#include "store/publish/publish_detail.h"

// The live instances of a chunk.
typedef struct published_instances_live {
    const uint16_t* counts;
    const uint32_t* ids;
    uint64_t stamp; // Version of the ids.
    uint8_t shift;
} published_instances_live;

static published_instances_live published_instances_live_at(const orri_chunk* chunk,
                                                            uint32_t column)
{
    const orri_cluster_column* entry = &chunk->cluster->columns[column];
    return (published_instances_live){
        (const uint16_t*)(const void*)chunk->columns[entry->counts].data,
        (const uint32_t*)(const void*)chunk->columns[entry->counts + 1].data,
        chunk->columns[entry->counts + 1].version, entry->shift};
}

// ---- owner lists --------------------------------------------------------------------------------

bool orri_published_instances_stale(const orri_published_type* type, const orri_chunk* chunk)
{
    int32_t column = orri_cluster_find_column(chunk->cluster, type->handle);
    const orri_owners* owners = orri_owner_list_at(type, chunk->id);
    return column >= 0 &&
           (owners == NULL ||
            owners->stamp != published_instances_live_at(chunk, (uint32_t)column).stamp);
}

orri_owners* orri_published_instances_owners(orri_publisher* publisher,
                                             const orri_published_type* type,
                                             const orri_chunk* chunk, uint32_t column)
{
    published_instances_live live = published_instances_live_at(chunk, column);
    orri_owners* owners = orri_owners_make(publisher, type, orri_chunk_rows(chunk), live.shift);
    if (owners != NULL) {
        owners->stamp = live.stamp;
        memcpy(owners->counts, live.counts, owners->rows * sizeof *owners->counts);
        memcpy(owners->ids, live.ids, orri_owners_values(owners) * sizeof *owners->ids);
    }
    return owners;
}

bool orri_published_instances_agree(const orri_published_type* type, const orri_chunk* chunk,
                                    const orri_owners* owners)
{
    int32_t column = orri_cluster_find_column(chunk->cluster, type->handle);
    if (column < 0 || owners == NULL || owners->rows != orri_chunk_rows(chunk)) {
        return false;
    }
    published_instances_live live = published_instances_live_at(chunk, (uint32_t)column);
    return owners->shift == live.shift &&
           memcmp(owners->counts, live.counts, owners->rows * sizeof *owners->counts) == 0 &&
           memcmp(owners->ids, live.ids, orri_owners_values(owners) * sizeof *owners->ids) == 0;
}

// ---- values -------------------------------------------------------------------------------------

// The instances that an edition had for a row; data is NULL: none.
typedef struct published_instances_past {
    const uint8_t* data;
    const uint32_t* ids;
    uint32_t count;
} published_instances_past;

static published_instances_past published_instances_past_at(const orri_published_type* type,
                                                            const orri_edition* edition,
                                                            uint32_t place)
{
    const orri_edition_block* block = place != 0 ? orri_edition_at(edition, place >> ORRI_SLOT_BITS)
                                                 : NULL;
    if (block == NULL) {
        return (published_instances_past){0};
    }
    const orri_owners* owners = block->owners;
    size_t first = (size_t)orri_place_slot(place) << owners->shift;
    return (published_instances_past){block->data + first * type->size, owners->ids + first,
                                      owners->counts[orri_place_slot(place)]};
}

// The old value of an instance; NULL: it had none. Instances mostly keep their order, so the search
// starts at `*near`, after the instance found last.
static const uint8_t* published_instances_past_value(const orri_published_type* type,
                                                     const published_instances_past* past,
                                                     uint32_t id, uint32_t* near)
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

// Fills one row. `*all_live` is cleared when a value is not the live one. False when a hook
// refuses; then no value of the row is left.
static bool published_instances_fill_row(const orri_published_type* type,
                                         const published_instances_past* past, const uint32_t* ids,
                                         uint32_t count, const uint8_t* live, uint8_t* to,
                                         bool* all_live)
{
    uint32_t near = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t offset = (size_t)i * type->size;
        const uint8_t* old = published_instances_past_value(type, past, ids[i], &near);
        *all_live = *all_live && old == NULL;
        if (!orri_owners_copy_one(type, to + offset, old != NULL ? old : live + offset)) {
            orri_rows_destruct(type->type, to, i);
            return false;
        }
    }
    return true;
}

bool orri_published_instances_fill(const orri_publisher* publisher, const orri_published_type* type,
                                   const orri_edition* edition, const orri_remap_change* change,
                                   orri_edition_block* block)
{
    const orri_owners* owners = block->owners;
    const orri_column* live = &change->chunk->columns[block->column];
    bool all_live = true;
    for (uint32_t r = 0; r < owners->rows; r++) {
        size_t first = (size_t)r << owners->shift, offset = first * type->size;
        uint32_t count = owners->counts[r];
        published_instances_past past =
            published_instances_past_at(type, edition, orri_remap_from(publisher, change, r));
        if (!published_instances_fill_row(type, &past, owners->ids + first, count,
                                          live->data + offset, block->data + offset, &all_live)) {
            orri_owners_destruct(type, owners, block->data, r);
            return false;
        }
        if (type->size > 0) { // Bytes past the last instance are zero, as in the live cell (S16).
            memset(block->data + offset + (size_t)count * type->size, 0,
                   (((size_t)1 << owners->shift) - count) * type->size);
        }
    }
    block->rows = owners->rows;
    block->source = all_live ? live->version : 0;
    return true;
}
