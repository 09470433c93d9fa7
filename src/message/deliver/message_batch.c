// SPDX-License-Identifier: MIT
// Batches: the contents of messages. One allocation holds the arrays, the views of readers and
// their lists of columns; it is freed when the last reader has released its view. Values are copied
// as bytes, without calling hooks. Owned handles are counted, so that texts stay readable.
#include "message/deliver/baseline.h"

// A bump allocator over the batch.
typedef struct message_batch_room {
    uint8_t* base;
    size_t used;
} message_batch_room;

static void* message_batch_take(message_batch_room* room, size_t size, size_t align)
{
    size_t at = (room->used + align - 1) & ~(align - 1);
    room->used = at + size;
    return room->base + at;
}

#define BATCH_TAKE(room, type, count) \
    ((type*)message_batch_take(room, sizeof(type) * (size_t)(count), _Alignof(type)))

// ---- counting -----------------------------------------------------------------------------------

static const orri_run* message_batch_run(const orri_diff* diff, const orri_batch_desc* desc,
                                         uint32_t pick)
{
    return &diff->baseline->run_list.runs[desc->picks[pick]];
}

static uint32_t message_batch_rows(const orri_diff* diff, const orri_batch_desc* desc)
{
    uint32_t rows = 0;
    for (uint32_t p = 0; p < desc->pick_count; p++) {
        const orri_run* run = message_batch_run(diff, desc, p);
        rows += desc->items ? run->item_count : run->count;
    }
    return rows;
}

static uint32_t message_batch_readers(const orri_diff* diff, const orri_batch_desc* desc)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < diff->baseline->words; w++) {
        count += (uint32_t)__builtin_popcountll(desc->receivers[w]);
    }
    return count;
}

// True when a receiver tracks the type.
static bool message_batch_wanted(const struct orri_baseline* baseline, const orri_batch_desc* desc,
                                 const orri_baseline_type* type)
{
    const uint64_t* trackers = orri_baseline_trackers(baseline, type);
    uint64_t any = 0;
    for (uint32_t w = 0; w < baseline->words; w++) {
        any |= trackers[w] & desc->receivers[w];
    }
    return any != 0;
}

// Number of values of a type that the entities have.
static uint32_t message_batch_count_values(const orri_diff* diff, const orri_batch_desc* desc,
                                           const orri_baseline_type* type, int32_t column,
                                           uint32_t rows)
{
    if (column >= 0 && !type->multiple) {
        return rows;
    }
    const orri_pool* pool = orri_pool_find(diff->world, (orr_type){type->type->id});
    uint32_t count = 0;
    for (uint32_t p = 0; p < desc->pick_count; p++) {
        const orri_run* run = message_batch_run(diff, desc, p);
        const uint16_t* counts =
            column >= 0 ? orri_cells_at(run->chunk, (uint32_t)column, run->slot).counts : NULL;
        for (uint32_t i = 0; i < run->count; i++) {
            count += column >= 0 ? counts[i] : orri_pool_get(pool, run->index + i) != NULL;
        }
    }
    return count;
}

static bool message_batch_add_column(orri_diff* diff, const orri_batch_desc* desc, orr_type type,
                                     int32_t column, uint32_t rows, uint32_t* count)
{
    struct orri_baseline* baseline = diff->baseline;
    const orri_baseline_type* found =
        orri_baseline_tracked(baseline, orri_type_index(diff->world, type));
    if (found == NULL || !message_batch_wanted(baseline, desc, found)) {
        return true;
    }
    uint32_t values = message_batch_count_values(diff, desc, found, column, rows);
    if (values == 0) {
        return true; // Pinned, and none of the entities has it.
    }
    if (!ORRI_RESERVE(&diff->world->env, ORR_MEMORY_MESSAGE, &baseline->columns,
                      &baseline->column_capacity, *count + 1)) {
        return false;
    }
    baseline->columns[(*count)++] =
        (orri_batch_column){.type = found, .column = column, .count = values};
    return true;
}

// The columns of an EntityAdded: types in chunks, then pinned types.
static bool message_batch_list_columns(orri_diff* diff, const orri_batch_desc* desc, uint32_t rows,
                                       uint32_t* count)
{
    bool done = true;
    for (uint32_t c = 0; done && c < desc->shape->type_count; c++) {
        done = message_batch_add_column(diff, desc, desc->shape->types[c], (int32_t)c, rows, count);
    }
    for (uint32_t p = 0; done && p < diff->world->pinned.count; p++) {
        const orri_pool* pool = diff->world->pinned.list[p];
        if (pool->live > 0) {
            done =
                message_batch_add_column(diff, desc, (orr_type){pool->type->id}, -1, rows, count);
        }
    }
    return done;
}

// ---- layout -------------------------------------------------------------------------------------

static void message_batch_lay_column(message_batch_room* room, orri_batch_column* column,
                                     uint32_t rows)
{
    const orr_type_info* info = &column->type->type->info;
    orr_message_column* out = &column->out;
    *out = (orr_message_column){.type = {column->type->type->id}};
    if (info->size > 0) {
        out->values =
            message_batch_take(room, (size_t)info->size * column->count, ORRI_BLOCK_ALIGN);
    }
    if (column->column < 0 || column->type->multiple) {
        out->firsts = BATCH_TAKE(room, uint32_t, rows + 1);
    }
    if (column->type->multiple) {
        out->ids = BATCH_TAKE(room, orr_component_id, column->count);
    }
}

static bool message_batch_has_values(const orri_batch_desc* desc)
{
    return desc->type != NULL && desc->type->info.size > 0 && desc->kind != ORR_COMPONENT_REMOVED;
}

// True when the message has instance ids: of a multiple type, or of enable bits of instances.
static bool message_batch_has_ids(const orri_diff* diff, const orri_batch_desc* desc)
{
    if (desc->type == NULL || !desc->items) {
        return false;
    }
    const orri_run* run = message_batch_run(diff, desc, 0);
    return desc->type->info.multiplicity == ORR_MULTIPLE ||
           diff->baseline->run_list.items[run->item].id != 0;
}

// Bytes of a batch: each array with what its alignment may cost.
static size_t message_batch_bytes(const orri_diff* diff, const orri_batch_desc* desc, uint32_t rows,
                                  uint32_t column_count, uint32_t readers)
{
    size_t bytes = sizeof(orri_batch) + readers * sizeof(orri_message_view) +
                   rows * sizeof(orr_entity) +
                   (size_t)column_count * (readers + 1) * sizeof(orr_message_column) + 32;
    if (message_batch_has_ids(diff, desc)) {
        bytes += rows * sizeof(orr_component_id);
    }
    if (message_batch_has_values(desc)) {
        bytes += (size_t)desc->type->info.size * rows + ORRI_BLOCK_ALIGN;
    }
    for (uint32_t c = 0; c < column_count; c++) {
        const orri_batch_column* column = &diff->baseline->columns[c];
        bool multiple = column->type->multiple, firsts = column->column < 0 || multiple;
        bytes += (size_t)column->type->type->info.size * column->count + ORRI_BLOCK_ALIGN +
                 (firsts ? (rows + (size_t)2) * sizeof(uint32_t) : 0) +
                 (multiple ? column->count * sizeof(orr_component_id) : 0);
    }
    return bytes;
}

// Lays out all arrays.
static void message_batch_lay(orri_diff* diff, const orri_batch_desc* desc,
                              message_batch_room* room, uint32_t rows, uint32_t column_count,
                              uint32_t readers, orri_batch* out)
{
    orr_message* m = &out->message;
    out->view_count = readers;
    out->views = BATCH_TAKE(room, orri_message_view, readers);
    m->entities = BATCH_TAKE(room, orr_entity, rows);
    if (message_batch_has_ids(diff, desc)) {
        m->ids = BATCH_TAKE(room, orr_component_id, rows);
    }
    if (message_batch_has_values(desc)) {
        m->values =
            message_batch_take(room, (size_t)desc->type->info.size * rows, ORRI_BLOCK_ALIGN);
    }
    for (uint32_t c = 0; c < column_count; c++) {
        message_batch_lay_column(room, &diff->baseline->columns[c], rows);
    }
    // The list of all columns, then one list for each reader.
    m->columns = BATCH_TAKE(room, orr_message_column, (size_t)column_count * (readers + 1));
    m->column_count = column_count;
}

// ---- filling ------------------------------------------------------------------------------------

static void message_batch_fill_rows(const orri_diff* diff, const orri_batch_desc* desc,
                                    orri_batch* made)
{
    orr_entity* entities = (orr_entity*)(uintptr_t)made->message.entities;
    uint8_t* values = (uint8_t*)(uintptr_t)made->message.values;
    for (uint32_t p = 0; p < desc->pick_count; p++) {
        const orri_run* run = message_batch_run(diff, desc, p);
        if (run->listed) {
            uint32_t size = desc->type->info.size;
            orri_sparse_rows_fill(diff, run, size, entities, values);
            entities += run->count;
            values += (size_t)run->count * size;
            continue;
        }
        orri_run_entities(diff, run, entities);
        entities += run->count;
        if (values != NULL) {
            size_t size = desc->type->info.size;
            memcpy(values, run->chunk->columns[run->column].data + run->slot * size,
                   run->count * size);
            values += run->count * size;
        }
    }
}

static void message_batch_fill_items(const orri_diff* diff, const orri_batch_desc* desc,
                                     orri_batch* made)
{
    orr_entity* entities = (orr_entity*)(uintptr_t)made->message.entities;
    orr_component_id* ids = (orr_component_id*)(uintptr_t)made->message.ids;
    uint8_t* values = (uint8_t*)(uintptr_t)made->message.values;
    uint32_t n = 0;
    for (uint32_t p = 0; p < desc->pick_count; p++) {
        const orri_run* run = message_batch_run(diff, desc, p);
        for (uint32_t i = 0; i < run->item_count; i++, n++) {
            const orri_item* item = &diff->baseline->run_list.items[run->item + i];
            orri_run_entities(diff, run, entities + n); // Its count is 1.
            if (ids != NULL) {
                ids[n] = item->id;
            }
            if (values != NULL) {
                memcpy(values + (size_t)n * desc->type->info.size, item->value,
                       desc->type->info.size);
            }
        }
    }
}

// Copies the instances of a run, cell by cell.
static uint32_t message_batch_fill_cells(const orri_run* run, const orri_batch_column* column,
                                         uint32_t row, uint32_t n)
{
    orri_cells cells = orri_cells_at(run->chunk, (uint32_t)column->column, run->slot);
    const orri_cluster_column* entry = &run->chunk->cluster->columns[column->column];
    const uint32_t* ids =
        (const uint32_t*)(const void*)run->chunk->columns[entry->counts + 1].data +
        ((size_t)run->slot << entry->shift);
    size_t size = cells.type->info.size;
    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t count = cells.counts[i];
        ((uint32_t*)(uintptr_t)column->out.firsts)[row + i] = n;
        memcpy((orr_component_id*)(uintptr_t)column->out.ids + n, ids + ((size_t)i << entry->shift),
               count * sizeof *ids);
        if (size > 0) {
            memcpy((uint8_t*)(uintptr_t)column->out.values + n * size,
                   cells.data + (size_t)i * cells.size, count * size);
        }
        n += count;
    }
    return n;
}

static uint32_t message_batch_fill_pinned(const orri_diff* diff, const orri_run* run,
                                          const orri_batch_column* column, uint32_t row, uint32_t n)
{
    const orri_pool* pool = orri_pool_find(diff->world, column->out.type);
    for (uint32_t i = 0; i < run->count; i++) {
        const uint8_t* value = orri_pool_get(pool, run->index + i);
        ((uint32_t*)(uintptr_t)column->out.firsts)[row + i] = n;
        if (value != NULL) {
            if (pool->size > 0) {
                memcpy((uint8_t*)(uintptr_t)column->out.values + (size_t)n * pool->size, value,
                       pool->size);
            }
            n++;
        }
    }
    return n;
}

static void message_batch_fill_column(const orri_diff* diff, const orri_batch_desc* desc,
                                      const orri_batch_column* column, uint32_t rows)
{
    uint32_t row = 0, n = 0;
    size_t size = column->type->type->info.size;
    for (uint32_t p = 0; p < desc->pick_count; p++) {
        const orri_run* run = message_batch_run(diff, desc, p);
        if (column->column < 0) {
            n = message_batch_fill_pinned(diff, run, column, row, n);
        } else if (column->type->multiple) {
            n = message_batch_fill_cells(run, column, row, n);
        } else if (size > 0) {
            const uint8_t* from = orri_run_from_baseline(diff, run, column->type)
                                      ? orri_baseline_at(column->type, run->index)
                                      : run->chunk->columns[column->column].data + run->slot * size;
            memcpy((uint8_t*)(uintptr_t)column->out.values + row * size, from, run->count * size);
        }
        row += run->count;
    }
    if (column->out.firsts != NULL) {
        ((uint32_t*)(uintptr_t)column->out.firsts)[rows] = n;
    }
    if (column->type->owned) {
        orri_rows_retain(column->type->type, column->out.values, column->count);
    }
}

// Each reader's view lists only the columns of the types it tracks.
static void message_batch_fill_views(const orri_diff* diff, const orri_batch_desc* desc,
                                     orri_batch* made)
{
    const struct orri_baseline* baseline = diff->baseline;
    uint32_t columns = made->message.column_count, v = 0;
    orr_message_column* out = (orr_message_column*)(uintptr_t)made->message.columns;
    for (uint32_t c = 0; c < columns; c++) {
        out[c] = baseline->columns[c].out;
    }
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        if (!orri_bit_get(desc->receivers, r)) {
            continue;
        }
        out += columns;
        uint32_t count = 0;
        for (uint32_t c = 0; c < columns; c++) {
            if (orri_bit_get(orri_baseline_trackers(baseline, baseline->columns[c].type), r)) {
                out[count++] = baseline->columns[c].out;
            }
        }
        made->views[v++] = (orri_message_view){NULL, made, baseline->on[r], out, count};
    }
}

// ---- memory -------------------------------------------------------------------------------------

#define BATCH_SMALL 256u   // Half of the smallest size of a spare batch.
#define BATCH_LARGE 65536u // From here on batches are kept in one list whatever their size.

// The list of spares for a size: rounded up to 512 bytes, 1 KiB, 2 KiB, …; 0: large ones, with
// their exact size; ORRI_SPARES: none. Batches recur every tick: for large ones fresh memory costs
// more than filling it, for small ones the call of the allocator does.
static uint32_t message_batch_list(size_t bytes)
{
    uint32_t list = 1;
    if (bytes >= BATCH_LARGE) {
        return 0;
    }
    while (list < ORRI_SPARES && (size_t)BATCH_SMALL << list < bytes) {
        list++;
    }
    return list;
}

static orri_batch* message_batch_alloc(orr_world* world, size_t bytes)
{
    // With a memory limit nothing is kept that others may need, and sizes are not rounded up.
    uint32_t list = world->env.bytes_max == 0 ? message_batch_list(bytes) : ORRI_SPARES;
    orri_batch* none = NULL;
    orri_batch** link = list < ORRI_SPARES ? &world->messages->baseline->spares[list] : &none;
    bytes = list > 0 && list < ORRI_SPARES ? (size_t)BATCH_SMALL << list : bytes;
    while (*link != NULL) {
        orri_batch* spare = *link;
        if (spare->bytes >= bytes && spare->bytes / 2 <= bytes) {
            *link = spare->next;
            ORRI_UNPOISON(spare, spare->bytes);
            return spare;
        }
        link = &spare->next;
    }
    orri_batch* made = orri_alloc(&world->env, ORR_MEMORY_MESSAGE, bytes, ORRI_BLOCK_ALIGN);
    if (made != NULL) {
        made->bytes = bytes;
    }
    return made;
}

// Keeps the memory of a batch as a spare, or frees it.
static void message_batch_give(orr_world* world, orri_batch* made)
{
    struct orri_baseline* baseline = world->messages->baseline;
    uint32_t list = message_batch_list(made->bytes);
    // False if it was made under a memory limit.
    bool whole = list == 0 || made->bytes == (size_t)BATCH_SMALL << list;
    if (list == ORRI_SPARES || !whole || world->env.bytes_max != 0 || baseline->on_count == 0) {
        orri_free(&world->env, ORR_MEMORY_MESSAGE, made, made->bytes, ORRI_BLOCK_ALIGN);
        return;
    }
    made->spare_tick = world->tick;
    made->next = baseline->spares[list];
    baseline->spares[list] = made;
    ORRI_POISON(made + 1, made->bytes - sizeof *made);
}

void orri_spares_trim(orr_world* world, struct orri_baseline* baseline, bool all)
{
    for (uint32_t list = 0; list < ORRI_SPARES; list++) {
        orri_batch** link = &baseline->spares[list];
        while (*link != NULL) {
            orri_batch* spare = *link;
            if (all || spare->spare_tick + 1 < world->tick) {
                *link = spare->next;
                ORRI_UNPOISON(spare, spare->bytes);
                orri_free(&world->env, ORR_MEMORY_MESSAGE, spare, spare->bytes, ORRI_BLOCK_ALIGN);
            } else {
                link = &spare->next;
            }
        }
    }
}

#undef BATCH_SMALL
#undef BATCH_LARGE

// ---- building and freeing -----------------------------------------------------------------------

static void message_batch_fill(const orri_diff* diff, const orri_batch_desc* desc, orri_batch* made)
{
    orr_message* m = &made->message;
    m->kind = desc->kind;
    m->cause = desc->cause;
    m->tick = diff->world->tick;
    m->system = desc->system;
    m->world = diff->world;
    m->type = (orr_type){desc->type != NULL ? desc->type->id : 0};
    if (desc->shape != NULL) {
        desc->shape->refs++;
        m->types = desc->kind == ORR_ENTITY_ADDED ? desc->shape->types : NULL;
        m->type_count = desc->kind == ORR_ENTITY_ADDED ? desc->shape->type_count : 0;
        m->tags = desc->shape->tags;
        m->tag_count = desc->shape->tag_count;
    }
    if (desc->items) {
        message_batch_fill_items(diff, desc, made);
    } else {
        message_batch_fill_rows(diff, desc, made);
    }
    for (uint32_t c = 0; c < m->column_count; c++) {
        message_batch_fill_column(diff, desc, &diff->baseline->columns[c], m->count);
    }
    message_batch_fill_views(diff, desc, made);
    if (made->type != NULL && made->type->info.has_owned && m->values != NULL) {
        orri_rows_retain(made->type, m->values, m->count);
    }
}

orri_batch* orri_batch_build(orri_diff* diff, const orri_batch_desc* desc)
{
    uint32_t rows = message_batch_rows(diff, desc), columns = 0;
    bool listed = desc->kind != ORR_ENTITY_ADDED ||
                  message_batch_list_columns(diff, desc, rows, &columns);
    uint32_t readers = message_batch_readers(diff, desc);
    size_t bytes = listed ? message_batch_bytes(diff, desc, rows, columns, readers) : 0;
    orri_batch* made = listed ? message_batch_alloc(diff->world, bytes) : NULL;
    if (made == NULL) {
        (void)orri_refuse_memory(&diff->world->env, "building a message");
        return NULL;
    }
    *made = (orri_batch){.bytes = made->bytes, .type = desc->type, .shape = desc->shape};
    made->message.count = rows;
    message_batch_room room = {(uint8_t*)made, sizeof(orri_batch)};
    message_batch_lay(diff, desc, &room, rows, columns, readers, made);
    ORR_ASSERT(room.used <= bytes);
    made->refs = made->view_count;
    message_batch_fill(diff, desc, made);
    return made;
}

// Without `firsts` every entity has one value.
static uint32_t message_batch_column_values(const orr_message* m, const orr_message_column* column)
{
    return column->firsts != NULL ? column->firsts[m->count] : m->count;
}

void orri_batch_free(orr_world* world, orri_batch* made)
{
    const orr_message* m = &made->message;
    if (made->type != NULL && made->type->info.has_owned && m->values != NULL) {
        orri_rows_release(made->type, (void*)(uintptr_t)m->values, m->count);
    }
    for (uint32_t c = 0; c < m->column_count; c++) {
        const orri_type* type = orri_type_at(&world->schema, m->columns[c].type);
        if (type->info.has_owned) {
            orri_rows_release(type, (void*)(uintptr_t)m->columns[c].values,
                              message_batch_column_values(m, &m->columns[c]));
        }
    }
    if (made->shape != NULL) {
        orri_shape_release(world, world->messages->baseline, made->shape, 1);
    }
    message_batch_give(world, made);
}

void orri_batch_release(orr_world* world, orri_batch* made)
{
    ORR_ASSERT(made->refs > 0);
    if (--made->refs == 0) {
        orri_batch_free(world, made);
    }
}

// ---- hash ---------------------------------------------------------------------------------------

static uint64_t message_batch_hash_name(const orr_world* world, orr_type type, uint64_t hash)
{
    const orri_type* found = orri_type_at(&world->schema, type);
    return found != NULL ? orr_hash(found->info.name, strlen(found->info.name), hash)
                         : orri_hash_word(hash, 0);
}

// Hashes the properties that all rows of a message share. Type ids differ from world to world, so
// that names are hashed. Instance ids are not part of the state.
static uint64_t message_batch_hash_head(const orr_world* world, const orri_message_view* view)
{
    const orr_message* m = &view->batch->message;
    uint64_t hash = orri_hash_word(m->tick, (uint64_t)m->kind << 32 | (uint64_t)m->cause);
    hash = message_batch_hash_name(world, m->type, hash);
    for (uint32_t t = 0; t < m->type_count; t++) {
        hash = message_batch_hash_name(world, m->types[t], hash);
    }
    for (uint32_t c = 0; c < view->column_count; c++) {
        hash = message_batch_hash_name(world, view->columns[c].type, hash);
    }
    return m->tag_count > 0 ? orr_hash(m->tags, m->tag_count * sizeof *m->tags, hash) : hash;
}

static uint64_t message_batch_hash_columns(const orr_world* world, const orri_message_view* view,
                                           uint32_t row, uint64_t hash)
{
    for (uint32_t c = 0; c < view->column_count; c++) {
        const orr_message_column* column = &view->columns[c];
        const orri_type* type = orri_type_at(&world->schema, column->type);
        uint32_t first = column->firsts != NULL ? column->firsts[row] : row;
        uint32_t count = column->firsts != NULL ? column->firsts[row + 1] - first : 1;
        hash = orri_hash_word(hash, count);
        if (column->values != NULL && count > 0) {
            hash = orri_rows_hash(type,
                                  (const uint8_t*)column->values + (size_t)first * type->info.size,
                                  count, hash);
        }
    }
    return hash;
}

// Hashes row by row: how a stream is cut into messages is not part of the state.
uint64_t orri_message_view_hash(const orr_world* world, const orri_message_view* view,
                                uint64_t hash)
{
    const orr_message* m = &view->batch->message;
    const orri_type* type = view->batch->type;
    uint64_t head = message_batch_hash_head(world, view);
    for (uint32_t i = 0; i < m->count; i++) {
        hash = orri_hash_word(orri_hash_word(hash, head), m->entities[i].id);
        if (m->values != NULL && orri_type_pseudo(type)) {
            const orr_enabled* value = (const orr_enabled*)m->values + i;
            hash = message_batch_hash_name(world, value->type, orri_hash_word(hash, value->on));
        } else if (m->values != NULL) {
            hash = orri_rows_hash(type, (const uint8_t*)m->values + (size_t)i * type->info.size, 1,
                                  hash);
        }
        hash = message_batch_hash_columns(world, view, i, hash);
    }
    return hash;
}

#undef BATCH_TAKE
