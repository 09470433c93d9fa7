// SPDX-License-Identifier: MIT
// Finds the first difference of two worlds that should be equal. Compared in this order: clusters,
// their chunks, rows, components and fields; then pinned values; then states and exports of
// systems.
#include "replay/desync.h"
#include "store/pool/pool.h"
#include <stdio.h>

typedef struct world_diff_worlds {
    orr_world *a, *b;
    const orri_system* system; // Compare only types that it may change. NULL: everything.
    orr_desync* out;
} world_diff_worlds;

// True if values of the type are compared: the system may have changed them.
static bool world_diff_at(const world_diff_worlds* w, uint32_t type_index)
{
    if (w->system == NULL) {
        return true;
    }
    const orri_rights* rights = &w->system->rights;
    return orri_right(rights->creates, rights, type_index) ||
           orri_right(rights->adds, rights, type_index) ||
           orri_right(rights->changes, rights, type_index) ||
           orri_right(rights->transacts, rights, type_index) ||
           (w->system->desc.kind == ORR_DIRECT &&
            orri_touches(w->a, w->system, type_index, NULL) >= ORRI_TOUCH_ATOMIC);
}

// ---- values -------------------------------------------------------------------------------------

// Finds the innermost field that differs. Appends its path to `out->field`, and writes both values.
static void world_diff_field(const world_diff_worlds* w, const orr_type_info* type,
                             const uint8_t* a, const uint8_t* b)
{
    orr_desync* out = w->out;
    for (uint32_t f = 0; f < type->field_count; f++) {
        const orr_field_info* field = &type->fields[f];
        uint32_t count = field->count > 0 ? field->count : 1;
        for (uint32_t i = 0; i < count; i++) {
            size_t at = field->offset + (size_t)i * field->type->size;
            if (orr_value_hash(field->type, a + at) == orr_value_hash(field->type, b + at)) {
                continue;
            }
            size_t length = strlen(out->field);
            int used = snprintf(out->field + length, sizeof out->field - length, "%s%s",
                                length > 0 ? "." : "", field->name);
            length += used > 0 ? (size_t)used : 0;
            if (field->count > 0 && length < sizeof out->field) {
                snprintf(out->field + length, sizeof out->field - length, "[%u]", i);
            }
            world_diff_field(w, field->type, a + at, b + at);
            return;
        }
    }
    (void)orr_value_print(type, a, out->value_a, sizeof out->value_a);
    (void)orr_value_print(type, b, out->value_b, sizeof out->value_b);
}

// Compares two values of types that should be equal. In a world that was built differently the
// layout may differ. True if the values differ.
static bool world_diff_value(const world_diff_worlds* w, const orri_type* type,
                             const orri_type* other, const uint8_t* a, const uint8_t* b,
                             const char* what)
{
    bool alike = type->info.layout_hash == other->info.layout_hash;
    if (alike && orri_rows_hash(type, a, 1, 0) == orri_rows_hash(type, b, 1, 0)) {
        return false;
    }
    w->out->what = what;
    snprintf(w->out->component, sizeof w->out->component, "%s", type->info.name);
    if (alike) {
        world_diff_field(w, &type->info, a, b);
    }
    return true;
}

// ---- clusters -----------------------------------------------------------------------------------

static orr_entity world_diff_entity(const orr_world* world, uint32_t index)
{
    return orri_id_make(index, orri_record_at(world, index)->generation);
}

static void world_diff_place(const world_diff_worlds* w, const orri_cluster* cluster,
                             uint32_t chunk, orr_entity entity)
{
    w->out->cluster = cluster->index;
    w->out->chunk = chunk;
    w->out->entity = entity;
}

// Finds the first instance that differs; a unique type has one.
static void world_diff_cell(const world_diff_worlds* w, orri_cells a, orri_cells b)
{
    uint32_t size = a.type->info.size, count = 1;
    bool several = a.counts != NULL && b.counts != NULL;
    if (several) {
        count = *a.counts < *b.counts ? *a.counts : *b.counts;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (several) {
            snprintf(w->out->field, sizeof w->out->field, "[%u]", i);
        }
        if (world_diff_value(w, a.type, b.type, a.data + (size_t)i * size,
                             b.data + (size_t)i * size, "a value")) {
            return;
        }
    }
    ORR_ASSERT(several && *a.counts != *b.counts);
    w->out->field[0] = '\0';
    w->out->what = "the number of instances of a component";
    snprintf(w->out->component, sizeof w->out->component, "%s", a.type->info.name);
    snprintf(w->out->value_a, sizeof w->out->value_a, "%u", *a.counts);
    snprintf(w->out->value_b, sizeof w->out->value_b, "%u", *b.counts);
}

static bool world_diff_column(const world_diff_worlds* w, const orri_chunk* x, const orri_chunk* y,
                              uint32_t column)
{
    const orri_cluster* cluster = x->cluster;
    uint32_t rows = orri_chunk_rows(x);
    if (orri_cells_hash(orri_cells_at(x, column, 0), rows, 0) ==
        orri_cells_hash(orri_cells_at(y, column, 0), rows, 0)) {
        return false;
    }
    for (uint32_t row = 0; row < rows; row++) {
        orri_cells a = orri_cells_at(x, column, row), b = orri_cells_at(y, column, row);
        if (orri_cells_hash(a, 1, 0) == orri_cells_hash(b, 1, 0)) {
            continue;
        }
        world_diff_place(w, cluster, x->number, world_diff_entity(w->a, x->ids[row]));
        world_diff_cell(w, a, b);
        return true;
    }
    return false;
}

// Finds an entity of the chunk that is dead in the other world. False if there is none.
static bool world_diff_alone(const world_diff_worlds* w, const orri_chunk* chunk, bool first)
{
    const orr_world* here = first ? w->a : w->b;
    const orr_world* there = first ? w->b : w->a;
    for (uint32_t row = 0; row < orri_chunk_rows(chunk); row++) {
        orr_entity entity = world_diff_entity(here, chunk->ids[row]);
        if (orri_record_find(there, entity) == NULL) {
            world_diff_place(w, chunk->cluster, chunk->number, entity);
            w->out->what = first ? "an entity that only the first has"
                                 : "an entity that only the second has";
            return true;
        }
    }
    return false;
}

static bool world_diff_rows(const world_diff_worlds* w, const orri_chunk* x, const orri_chunk* y)
{
    uint32_t xs = orri_chunk_rows(x), ys = orri_chunk_rows(y), row = 0;
    while (row < xs && row < ys && x->ids[row] == y->ids[row]) {
        row++;
    }
    if (row == xs && row == ys) {
        return false;
    }
    if (!world_diff_alone(w, x, true) && !world_diff_alone(w, y, false)) {
        const orri_chunk* chunk = row < xs ? x : y;
        world_diff_place(w, chunk->cluster, chunk->number,
                         world_diff_entity(row < xs ? w->a : w->b, chunk->ids[row]));
        w->out->what = "which entities are here, and in which order";
    }
    return true;
}

static bool world_diff_chunk(const world_diff_worlds* w, const orri_chunk* x, const orri_chunk* y)
{
    if (world_diff_rows(w, x, y)) {
        return true;
    }
    for (uint32_t c = 0; c < x->cluster->type_count; c++) {
        if (world_diff_at(w, orri_type_index(w->a, x->cluster->types[c])) &&
            world_diff_column(w, x, y, c)) {
            return true;
        }
    }
    return false;
}

static bool world_diff_clusters(const world_diff_worlds* w)
{
    const orri_cluster *x = w->a->clusters.first, *y = w->b->clusters.first;
    for (; x != NULL && y != NULL; x = x->next, y = y->next) {
        if (x->identity_hash != y->identity_hash) {
            break;
        }
        uint32_t chunks = x->chunk_count < y->chunk_count ? x->chunk_count : y->chunk_count;
        for (uint32_t i = 0; i < chunks; i++) {
            if (world_diff_chunk(w, x->chunks[i], y->chunks[i])) {
                return true;
            }
        }
        if (x->chunk_count != y->chunk_count) {
            bool first = x->chunk_count > chunks;
            const orri_chunk* chunk = (first ? x : y)->chunks[chunks];
            if (!world_diff_alone(w, chunk, first)) {
                world_diff_place(w, x, chunks,
                                 world_diff_entity(first ? w->a : w->b, chunk->ids[0]));
                w->out->what = "which entities are here, and in which order";
            }
            return true;
        }
    }
    if (x == NULL && y == NULL) {
        return false;
    }
    w->out->what = "a cluster: the set of types of its entities";
    w->out->cluster = x != NULL ? x->index : y->index;
    return true;
}

// ---- pinned values and systems ------------------------------------------------------------------

static bool world_diff_pools(const world_diff_worlds* w)
{
    for (uint32_t p = 0; p < w->a->pinned.count && p < w->b->pinned.count; p++) {
        const orri_pool *x = w->a->pinned.list[p], *y = w->b->pinned.list[p];
        uint32_t slots = x->slot_count < y->slot_count ? x->slot_count : y->slot_count;
        bool same = strcmp(x->type->info.name, y->type->info.name) == 0;
        if (!same || !world_diff_at(w, orri_type_index(w->a, (orr_type){x->type->id}))) {
            continue;
        }
        for (uint32_t slot = 0; slot < slots; slot++) {
            uint32_t owner = orri_pool_owner(x, slot);
            if (owner != ORRI_INDEX_NONE && owner == orri_pool_owner(y, slot) &&
                world_diff_value(w, x->type, y->type, orri_pool_at(x, slot), orri_pool_at(y, slot),
                                 "a pinned value")) {
                w->out->entity = world_diff_entity(w->a, owner);
                return true;
            }
        }
    }
    return false;
}

static bool world_diff_states(const world_diff_worlds* w)
{
    const orri_system *x = w->a->schedule->first, *y = w->b->schedule->first;
    for (; x != NULL && y != NULL; x = x->next, y = y->next) {
        const orri_system_state* xs[2] = {&x->state, &x->exports};
        const orri_system_state* ys[2] = {&y->state, &y->exports};
        for (uint32_t i = 0; i < 2; i++) {
            if (xs[i]->data != NULL && ys[i]->data != NULL &&
                world_diff_value(w, xs[i]->type, ys[i]->type, xs[i]->data, ys[i]->data,
                                 i == 0 ? "the state of a system" : "exports of a system")) {
                return true;
            }
        }
    }
    return false;
}

bool orri_world_diff(orr_world* a, orr_world* b, const char* system, orr_desync* out)
{
    const orri_system* by = system[0] != '\0' ? orri_system_named(a, system, strlen(system)) : NULL;
    world_diff_worlds w = {a, b, by, out};
    out->component[0] = out->field[0] = out->value_a[0] = out->value_b[0] = '\0';
    if (world_diff_clusters(&w) || world_diff_pools(&w) || world_diff_states(&w)) {
        const orr_world* has = orri_record_find(a, out->entity) != NULL ? a : b;
        snprintf(out->entity_text, sizeof out->entity_text, "%s",
                 out->entity.id != 0 ? orri_entity_format(has, out->entity).text : "");
        return true;
    }
    out->what = "something other than values: change ticks, free ids, or the content of queues";
    return false;
}
