// SPDX-License-Identifier: MIT
// The baseline of components: the last value of each that readers received, in pages by entity
// index; for multiple types a cell per entity. Values are kept as bytes, without calling hooks.
// Owned handles are counted, so that an equal handle always means an equal text.
#include "message/deliver/baseline.h"

#define BASELINE_CELL_HEAD ORRI_BLOCK_ALIGN

// ---- which readers track which types ------------------------------------------------------------

// True when a type has an opaque field, at any depth.
static bool baseline_values_opaque(const orr_type_info* info)
{
    bool found = info->kind == ORR_KIND_OPAQUE;
    for (uint32_t f = 0; f < info->field_count && !found; f++) {
        found = baseline_values_opaque(info->fields[f].type);
    }
    return found;
}

// The baseline of a type with hooks is bytes that may have lost their meaning. Only bytes are
// compared, so that a value which was merely moved may be sent again.
static orri_baseline_type baseline_values_make(const orri_type* type)
{
    const orr_type_info* info = &type->info;
    return (orri_baseline_type){.type = type,
                                .pinned = info->storage == ORR_PINNED,
                                .multiple = info->multiplicity == ORR_MULTIPLE,
                                .exact = info->has_hooks ||
                                         (!info->has_padding && !baseline_values_opaque(info)),
                                .owned = info->has_owned};
}

// Marks the pinned types that a reader's query depends on.
static void baseline_values_watch(struct orri_baseline* baseline, const orri_reader* reader)
{
    const orr_query* query = reader->query;
    for (uint32_t l = 0; l < query->leaf_count; l++) {
        for (uint32_t t = 0; t < query->leaves[l].term_count; t++) {
            uint32_t index = orri_type_index(query->world, query->leaves[l].terms[t].type);
            if (index < baseline->type_count && baseline->types[index].pinned) {
                baseline->types[index].watched = true;
            }
        }
    }
}

// Room for all types and for the sets of readers. False when refused.
static bool baseline_values_reserve(orr_world* world, struct orri_baseline* baseline)
{
    uint32_t types = world->schema.type_count, words = (baseline->on_count + 63) / 64;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &baseline->types, &baseline->type_capacity,
                      types)) {
        return false;
    }
    for (uint32_t t = baseline->type_count; t < types; t++) {
        baseline->types[t] = baseline_values_make(world->schema.types[t]);
    }
    baseline->type_count = types;
    uint32_t needed = (types + 4) * words;
    if (needed > baseline->tracker_count) {
        uint64_t* trackers = ORRI_ALLOC(&world->env, ORR_MEMORY_MESSAGE, uint64_t, needed);
        if (trackers == NULL) {
            return false;
        }
        ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, uint64_t, baseline->trackers,
                  baseline->tracker_count);
        baseline->trackers = trackers;
        baseline->tracker_count = needed;
    }
    baseline->words = words;
    return orri_runs_prepare(world, baseline);
}

// Enters a reader into the sets of all types it tracks.
static void baseline_values_enter(struct orri_baseline* baseline, orri_reader* reader)
{
    baseline->enabled_any = baseline->enabled_any || reader->tracks_enabled;
    baseline->tag_any = baseline->tag_any || reader->tracks_tags;
    if (reader->tracks_enabled) {
        orri_bit_set(baseline->enabled_readers, reader->number, true);
    }
    if (reader->tracks_tags) {
        orri_bit_set(baseline->tag_readers, reader->number, true);
    }
    if (reader->outside) {
        orri_bit_set(baseline->outside_readers, reader->number, true);
    }
    for (uint32_t t = 0; t < baseline->type_count; t++) {
        orri_baseline_type* type = &baseline->types[t];
        if (orri_reader_tracks(reader, (orr_type){type->type->id})) {
            type->tracked = true;
            type->watched = type->watched || type->pinned;
            orri_bit_set(baseline->trackers + (size_t)t * baseline->words, reader->number, true);
        }
    }
    baseline_values_watch(baseline, reader);
}

bool orri_baseline_refresh(orr_world* world, struct orri_baseline* baseline)
{
    if (!baseline->stale && baseline->type_count == world->schema.type_count) {
        return true;
    }
    // Stale until everything is done: a refusal may come after some counts were raised.
    baseline->stale = true;
    if (!baseline_values_reserve(world, baseline)) {
        (void)orri_refuse_memory(&world->env, "listing which readers track which types");
        return false;
    }
    uint32_t words = baseline->words;
    memset(baseline->trackers, 0,
           (size_t)(baseline->type_count + 4) * words * sizeof *baseline->trackers);
    baseline->enabled_readers = baseline->trackers + (size_t)baseline->type_count * words;
    baseline->tag_readers = baseline->enabled_readers + words;
    baseline->fresh = baseline->tag_readers + words;
    baseline->outside_readers = baseline->fresh + words;
    baseline->enabled_any = baseline->tag_any = false;
    for (uint32_t t = 0; t < baseline->type_count; t++) {
        baseline->types[t].tracked = baseline->types[t].watched = false;
    }
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        baseline->on[r]->number = r;
        baseline_values_enter(baseline, baseline->on[r]);
    }
    for (uint32_t t = 0; t < baseline->type_count; t++) {
        orri_baseline_type* type = &baseline->types[t];
        if (!type->tracked && !type->watched) {
            orri_baseline_type_free(world, type);
        }
    }
    baseline->stale = false;
    baseline->numbering++;
    return true;
}

// ---- room ---------------------------------------------------------------------------------------

static size_t baseline_values_page_bytes(const orri_baseline_type* type)
{
    return type->multiple ? ORRI_BASELINE_SIZE * sizeof(orri_baseline_cell*)
                          : (size_t)ORRI_BASELINE_SIZE * type->type->info.size;
}

static bool baseline_values_add_page(orr_world* world, orri_baseline_type* type, uint32_t page)
{
    uint32_t old = type->page_capacity;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &type->pages, &type->page_capacity,
                      page + 1)) {
        return false;
    }
    for (uint32_t i = old; i < type->page_capacity; i++) {
        type->pages[i] = NULL;
    }
    if (type->pages[page] == NULL) {
        size_t bytes = baseline_values_page_bytes(type);
        type->pages[page] =
            orri_alloc_zero(&world->env, ORR_MEMORY_MESSAGE, bytes, ORRI_BLOCK_ALIGN);
    }
    return type->pages[page] != NULL;
}

bool orri_baseline_room(orr_world* world, orri_baseline_type* type, uint32_t index)
{
    uint32_t page = index >> ORRI_BASELINE_BITS;
    bool there = page < type->page_capacity && type->pages[page] != NULL;
    if (ORR_UNLIKELY(!there) && !baseline_values_add_page(world, type, page)) {
        (void)orri_refuse_memory(&world->env, "storing values that were sent to readers");
        return false;
    }
    if ((type->owned || type->pinned) && !type->multiple &&
        !orri_bitset_reserve(world, &type->present, (uint64_t)(index | ORRI_BASELINE_MASK) + 1)) {
        (void)orri_refuse_memory(&world->env, "storing values that were sent to readers");
        return false;
    }
    return true;
}

// Bytes of the values of a cell, rounded up to 8.
static size_t baseline_cell_values(const orri_baseline_type* type, uint32_t capacity)
{
    return ((size_t)type->type->info.size * capacity + 7) & ~(size_t)7;
}

// A cell is one allocation: head, values, ids, enable states.
static size_t baseline_cell_bytes(const orri_baseline_type* type, uint32_t capacity)
{
    return BASELINE_CELL_HEAD + baseline_cell_values(type, capacity) + capacity * sizeof(uint32_t) +
           capacity;
}

static orri_baseline_cell** baseline_cell_place(const orri_baseline_type* type, uint32_t index)
{
    return (orri_baseline_cell**)type->pages[index >> ORRI_BASELINE_BITS] +
           (index & ORRI_BASELINE_MASK);
}

orri_baseline_cell* orri_baseline_cell_at(const orri_baseline_type* type, uint32_t index)
{
    uint32_t page = index >> ORRI_BASELINE_BITS;
    return page < type->page_capacity && type->pages[page] != NULL
               ? *baseline_cell_place(type, index)
               : NULL;
}

static orri_baseline_cell* baseline_cell_make(orr_world* world, const orri_baseline_type* type,
                                              uint32_t capacity)
{
    orri_baseline_cell* cell = orri_alloc(&world->env, ORR_MEMORY_MESSAGE,
                                          baseline_cell_bytes(type, capacity), ORRI_BLOCK_ALIGN);
    if (cell != NULL) {
        uint8_t* values = (uint8_t*)cell + BASELINE_CELL_HEAD;
        uint32_t* ids = (uint32_t*)(void*)(values + baseline_cell_values(type, capacity));
        *cell = (orri_baseline_cell){0, capacity, values, ids, (uint8_t*)(ids + capacity)};
    }
    return cell;
}

static void baseline_cell_free(orr_world* world, const orri_baseline_type* type,
                               orri_baseline_cell* cell)
{
    orri_free(&world->env, ORR_MEMORY_MESSAGE, cell, baseline_cell_bytes(type, cell->capacity),
              ORRI_BLOCK_ALIGN);
}

bool orri_baseline_room_cell(orr_world* world, orri_baseline_type* type, uint32_t index,
                             uint32_t count)
{
    if (!orri_baseline_room(world, type, index)) {
        return false;
    }
    orri_baseline_cell** place = baseline_cell_place(type, index);
    orri_baseline_cell* old = *place;
    if (old != NULL && old->capacity >= count) {
        return true;
    }
    uint32_t capacity = 1;
    while (capacity < count) {
        capacity *= 2;
    }
    orri_baseline_cell* cell = baseline_cell_make(world, type, capacity);
    if (cell == NULL) {
        (void)orri_refuse_memory(&world->env, "storing instances that were sent to readers");
        return false;
    }
    if (old != NULL) {
        cell->count = old->count;
        memcpy(cell->values, old->values, (size_t)old->count * type->type->info.size);
        memcpy(cell->ids, old->ids, old->count * sizeof *old->ids);
        memcpy(cell->off, old->off, old->count);
        baseline_cell_free(world, type, old);
    }
    *place = cell;
    return true;
}

// ---- comparing ----------------------------------------------------------------------------------

bool orri_baseline_differs(const orri_baseline_type* type, const void* a, const void* b)
{
    return type->exact ? memcmp(a, b, type->type->info.size) != 0
                       : orr_value_compare(&type->type->info, a, b) != 0;
}

// ---- storing ------------------------------------------------------------------------------------

// Stores values whose owned handles are counted.
static void baseline_values_put_present(orri_baseline_type* type, uint32_t index,
                                        const uint8_t* values, uint32_t count)
{
    uint32_t size = type->type->info.size;
    for (uint32_t i = 0; i < count; i++, values += size) {
        uint8_t* baseline = orri_baseline_at(type, index + i);
        // First the new value, then the old one: the reference of an unchanged text never drops to
        // zero.
        orri_rows_retain(type->type, values, 1);
        if (orri_bitset_has(&type->present, index + i)) {
            orri_rows_release(type->type, baseline, 1);
        }
        if (size > 0) {
            memcpy(baseline, values, size);
        }
        orri_bitset_put(&type->present, index + i, true);
    }
}

void orri_baseline_put(orri_baseline_type* type, uint32_t index, const void* values, uint32_t count)
{
    size_t size = (size_t)type->type->info.size * count;
    if (ORR_UNLIKELY(type->owned || type->pinned)) {
        baseline_values_put_present(type, index, values, count);
    } else if (size > 0) {
        memcpy(orri_baseline_at(type, index), values, size);
    }
}

orri_baseline_instances orri_baseline_instances_at(const orri_chunk* chunk, uint32_t column,
                                                   uint32_t slot)
{
    const orri_cluster_column* entry = &chunk->cluster->columns[column];
    orri_cells cells = orri_cells_at(chunk, column, slot);
    const uint32_t* ids = (const uint32_t*)(const void*)chunk->columns[entry->counts + 1].data;
    return (orri_baseline_instances){cells.counts[0], ids + ((size_t)slot << entry->shift),
                                     cells.data};
}

// Instances keep their enable state by id. Ids and values of the cell are still the old ones here.
static void baseline_cell_keep_off(orri_baseline_cell* cell, const orri_baseline_instances* now)
{
    uint8_t off[ORR_INSTANCES_MAX];
    for (uint32_t i = 0; i < now->count; i++) {
        uint32_t k = 0;
        while (k < cell->count && cell->ids[k] != now->ids[i]) {
            k++;
        }
        off[i] = k < cell->count ? cell->off[k] : 0;
    }
    memcpy(cell->off, off, now->count);
}

void orri_baseline_put_cell(orri_baseline_type* type, uint32_t index,
                            const orri_baseline_instances* now)
{
    orri_baseline_cell* cell = *baseline_cell_place(type, index);
    ORR_ASSERT(cell->capacity >= now->count);
    orri_rows_retain(type->type, now->values, now->count);
    orri_rows_release(type->type, cell->values, cell->count);
    baseline_cell_keep_off(cell, now);
    memcpy(cell->values, now->values, (size_t)now->count * type->type->info.size);
    memcpy(cell->ids, now->ids, now->count * sizeof *now->ids);
    cell->count = now->count;
}

void orri_baseline_drop(orr_world* world, orri_baseline_type* type, uint32_t index)
{
    orri_bitset_put(&type->off, index, false);
    if (type->multiple) {
        orri_baseline_cell* cell = orri_baseline_cell_at(type, index);
        if (cell != NULL) {
            orri_rows_release(type->type, cell->values, cell->count);
            *baseline_cell_place(type, index) = NULL;
            baseline_cell_free(world, type, cell);
        }
    } else if (orri_bitset_has(&type->present, index)) {
        orri_rows_release(type->type, orri_baseline_at(type, index), 1);
        orri_bitset_put(&type->present, index, false);
    }
}

// Releases the values of one page.
static void baseline_values_release(orr_world* world, orri_baseline_type* type, uint32_t page)
{
    for (uint32_t i = 0; i < ORRI_BASELINE_SIZE && (type->multiple || type->owned); i++) {
        orri_baseline_drop(world, type, page << ORRI_BASELINE_BITS | i);
    }
}

void orri_baseline_type_free(orr_world* world, orri_baseline_type* type)
{
    for (uint32_t p = 0; p < type->page_capacity; p++) {
        if (type->pages[p] != NULL) {
            baseline_values_release(world, type, p);
            orri_free(&world->env, ORR_MEMORY_MESSAGE, type->pages[p],
                      baseline_values_page_bytes(type), ORRI_BLOCK_ALIGN);
        }
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, type->pages, type->page_capacity);
    orri_bitset_free(world, &type->present);
    orri_bitset_free(world, &type->off);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, type->owners, type->owner_count);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, type->dirty_note1, type->dirty_note1_capacity);
    type->pages = NULL;
    type->owners = type->dirty_note1 = NULL;
    type->page_capacity = type->owner_count = type->dirty_note1_capacity = 0;
    type->mark = type->value_mark = 0;
}

#undef BASELINE_CELL_HEAD
