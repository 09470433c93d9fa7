// SPDX-License-Identifier: MIT
// Views: the published values that one pipeline sees, in the layout of the world: columns by chunk
// for loops, type tables for reading by id. Room is made when the view is created and in remaps, so
// that pinning only writes pointers.
#include "store/publish/publish_detail.h"
#include "store/world/commit_scope.h"

// ---- room ---------------------------------------------------------------------------------------

static size_t view_chunk_bytes(uint32_t count)
{
    return sizeof(orri_view_chunk) + count * sizeof(orri_column);
}

orri_view_chunk* orri_view_chunk_make(orri_view* view, const orri_chunk* chunk)
{
    uint32_t count = chunk->cluster->column_count;
    orri_view_chunk* entry = orri_alloc_zero(&view->publisher->world->env, ORR_MEMORY_PUBLISHED,
                                             view_chunk_bytes(count), _Alignof(orri_view_chunk));
    if (entry != NULL) {
        entry->count = count;
    }
    return entry;
}

void orri_view_chunk_free(orri_view* view, orri_view_chunk* entry)
{
    orri_free(&view->publisher->world->env, ORR_MEMORY_PUBLISHED, entry,
              entry != NULL ? view_chunk_bytes(entry->count) : 0, _Alignof(orri_view_chunk));
}

// Replaces the list of chunks by a larger one. Systems that walk other chunks may read the list at
// this moment; they use the old or the new one, so the old one is retired and freed later.
static bool view_reserve_chunks(orri_view* view, uint32_t room)
{
    orr_world* world = view->publisher->world;
    orri_view_chunk** old = view->chunks;
    orri_view_chunk** list =
        orri_retire_reserve(world)
            ? ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_PUBLISHED, orri_view_chunk*, room)
            : NULL;
    if (list == NULL) {
        return false;
    }
    if (old != NULL) {
        memcpy(list, old, view->capacity * sizeof *list);
    }
    __atomic_store_n(&view->chunks, list, __ATOMIC_RELEASE);
    if (old != NULL) {
        orri_retire(world, ORR_MEMORY_PUBLISHED, old, view->capacity * sizeof *old,
                    _Alignof(orri_view_chunk*));
    }
    __atomic_store_n(&view->capacity, room, __ATOMIC_RELEASE);
    return true;
}

// The tables grow before the list of chunks, so that all of them have room for view->capacity chunk
// ids. Tables of pinned types have one entry for each block of their pool instead.
bool orri_view_reserve(orri_view* view, uint32_t capacity)
{
    orri_env* env = &view->publisher->world->env;
    bool grows = capacity > view->capacity;
    uint32_t room = !grows                          ? view->capacity
                    : capacity > 2 * view->capacity ? capacity
                                                    : 2 * view->capacity;
    for (uint32_t t = 0; t < view->type_count; t++) {
        orr_hot_table* table = &view->types[t].table;
        bool pool = view->types[t].type->kind == ORRI_PUBLISHED_POOL;
        uint32_t old = table->capacity,
                 needed = pool ? orri_published_pool_blocks(view->publisher, view->types[t].type)
                               : room;
        if (needed <= old) {
            continue;
        }
        if (!ORRI_RESERVE(env, ORR_MEMORY_PUBLISHED, &table->data, &table->capacity, needed)) {
            return false;
        }
        memset(table->data + old, 0, (table->capacity - old) * sizeof *table->data);
    }
    return !grows || view_reserve_chunks(view, room);
}

// ---- columns ------------------------------------------------------------------------------------

bool orri_view_shows(const orri_view* view, const orri_chunk* chunk)
{
    for (uint32_t t = 0; t < view->type_count; t++) {
        if (orri_cluster_find_column(chunk->cluster, view->types[t].type->handle) >= 0) {
            return true;
        }
    }
    return false;
}

// Shows a block (NULL: none). `version` is the epoch in which this view got the block, not the one
// in which it was shown first: for a reader of this view it is new since then.
static void view_set(const orri_view* view, const orri_view_type* type, uint32_t id,
                     const orri_edition_block* block, uint64_t version)
{
    type->table.data[id] = block != NULL ? block->data : NULL;
    if (block != NULL && type->type->kind != ORRI_PUBLISHED_POOL) {
        view->chunks[id]->columns[block->column] =
            (orri_column){.data = block->data, .version = version, .tick = block->tick};
    }
}

// The version of a column that the view shows already; 0: it shows another block. A block that
// stays is not new.
static uint64_t view_version(const orri_view* view, const orri_view_type* type, uint32_t id)
{
    const orri_edition_block* block =
        type->edition != NULL && id < view->capacity ? orri_edition_at(type->edition, id) : NULL;
    const orri_view_chunk* entry = block != NULL ? view->chunks[id] : NULL;
    return entry != NULL && block->column < entry->count &&
                   entry->columns[block->column].data == block->data
               ? entry->columns[block->column].version
               : 0;
}

void orri_view_refresh(orri_view* view, uint32_t id, const orri_chunk* chunk, orri_view_chunk* made)
{
    bool shows = chunk != NULL && orri_view_shows(view, chunk);
    if (!shows || made != NULL) {
        orri_view_chunk_free(view, view->chunks[id]);
        view->chunks[id] = made;
    }
    orri_view_chunk* entry = view->chunks[id];
    for (uint32_t c = 0; entry != NULL && c < entry->count; c++) {
        orr_type type = {c < chunk->cluster->type_count ? chunk->cluster->columns[c].type->id : 0};
        if (type.id == 0 || !orri_view_has(view, type)) {
            entry->columns[c] = (orri_column){.data = chunk->columns[c].data};
        }
    }
    if (entry != NULL) {
        entry->sequence = chunk->cluster->sequence;
    }
    for (uint32_t t = 0; t < view->type_count; t++) {
        const orri_view_type* type = &view->types[t];
        if (type->edition != NULL && type->type->kind != ORRI_PUBLISHED_POOL) {
            uint64_t version = view_version(view, type, id);
            view_set(view, type, id, orri_edition_at(type->edition, id),
                     version != 0 ? version : view->publisher->world->epoch);
        }
    }
}

void orri_view_refresh_pools(orri_view* view)
{
    for (uint32_t t = 0; t < view->type_count; t++) {
        const orri_view_type* type = &view->types[t];
        bool pool = type->edition != NULL && type->type->kind == ORRI_PUBLISHED_POOL;
        for (uint32_t i = 0; pool && i < type->table.capacity; i++) {
            view_set(view, type, i, orri_edition_at(type->edition, i), 0);
        }
    }
}

// Takes over new addresses of live columns. Columns of types that the view has are published and
// stay.
static void view_move(const orri_view* view, const orri_chunk* chunk)
{
    orri_view_chunk* entry = chunk->id < view->capacity ? view->chunks[chunk->id] : NULL;
    if (entry == NULL || entry->sequence != chunk->cluster->sequence) {
        return; // The chunk is new since the last remap.
    }
    for (uint32_t c = 0; c < chunk->cluster->type_count; c++) {
        orr_type type = {chunk->cluster->columns[c].type->id};
        if (!orri_view_has(view, type) && entry->columns[c].data != chunk->columns[c].data) {
            entry->columns[c].data = chunk->columns[c].data;
        }
    }
    for (uint32_t c = chunk->cluster->type_count; c < entry->count; c++) {
        if (entry->columns[c].data != chunk->columns[c].data) {
            entry->columns[c].data = chunk->columns[c].data;
        }
    }
}

void orri_publish_moved_column(orri_publisher* publisher, const orri_chunk* chunk, uint32_t column)
{
    const orri_cluster* cluster = chunk->cluster;
    for (const orri_view* view = publisher->views; view != NULL && column < cluster->column_count;
         view = view->next) {
        orri_view_chunk* entry = chunk->id < view->capacity ? view->chunks[chunk->id] : NULL;
        const orri_type* type = cluster->columns[column].type;
        if (entry != NULL && entry->sequence == cluster->sequence &&
            (type == NULL || !orri_view_has(view, (orr_type){type->id}))) {
            entry->columns[column].data = chunk->columns[column].data;
        }
    }
}

void orri_publish_moved(orri_publisher* publisher, const orri_chunk* chunk)
{
    for (const orri_view* view = publisher->views; view != NULL; view = view->next) {
        view_move(view, chunk);
    }
}

// ---- making -------------------------------------------------------------------------------------

static void view_free(orri_view* view)
{
    orri_publisher* publisher = view->publisher;
    orri_env* env = &publisher->world->env;
    for (uint32_t t = 0; view->types != NULL && t < view->type_count; t++) {
        orri_view_type* type = &view->types[t];
        if (type->edition != NULL) {
            orri_edition_release(publisher, type->type, type->edition);
        }
        if (type->table.data != NULL) {
            ORRI_RELEASE(env, ORR_MEMORY_PUBLISHED, type->table.data, type->table.capacity);
        }
    }
    for (uint32_t id = 0; id < view->capacity; id++) {
        orri_view_chunk_free(view, view->chunks[id]);
    }
    ORRI_FREE(env, ORR_MEMORY_PUBLISHED, orri_view_chunk*, view->chunks, view->capacity);
    ORRI_FREE(env, ORR_MEMORY_PUBLISHED, orri_view_type, view->types, view->type_count);
    ORRI_FREE(env, ORR_MEMORY_PUBLISHED, uint16_t, view->slots1, view->slot_count);
    ORRI_FREE(env, ORR_MEMORY_PUBLISHED, orri_view, view, 1);
}

static void view_take_types(orri_view* view, const orr_type* types)
{
    const orr_world* world = view->publisher->world;
    for (uint32_t t = 0; t < view->type_count; t++) {
        orri_published_type* type = orri_published_find(view->publisher, types[t]);
        ORR_ASSERT(type != NULL && "a view's types are published first");
        view->types[t].type = type;
        view->types[t].table.size = type->size;
        view->slots1[orri_type_index(world, types[t])] = (uint16_t)(t + 1);
    }
}

static bool view_take_chunks(orri_view* view)
{
    const orri_publisher* publisher = view->publisher;
    const orr_world* world = publisher->world;
    if (!orri_view_reserve(view, world->chunks.count)) {
        return false;
    }
    for (uint32_t id = 1; id < world->chunks.count; id++) {
        if (publisher->tracked[id].chunk != NULL && orri_view_shows(view, world->chunks.list[id])) {
            orri_view_chunk* entry = orri_view_chunk_make(view, world->chunks.list[id]);
            if (entry == NULL) {
                return false;
            }
            orri_view_refresh(view, id, world->chunks.list[id], entry);
        }
    }
    return true;
}

// 1 + the largest type index of the view.
static uint32_t view_slots(const orri_publisher* publisher, const orr_type* types, uint32_t count)
{
    uint32_t slots = 0;
    for (uint32_t t = 0; t < count; t++) {
        uint32_t index = orri_type_index(publisher->world, types[t]);
        slots = index >= slots ? index + 1 : slots;
    }
    return slots;
}

static orri_view* view_alloc(orri_publisher* publisher, const orr_type* types, uint32_t count)
{
    orri_env* env = &publisher->world->env;
    orri_view* view = ORRI_ALLOC_ZERO(env, ORR_MEMORY_PUBLISHED, orri_view, 1);
    if (view == NULL) {
        return NULL;
    }
    uint32_t slots = view_slots(publisher, types, count);
    *view = (orri_view){.publisher = publisher, .type_count = count, .slot_count = slots};
    view->types = ORRI_ALLOC_ZERO(env, ORR_MEMORY_PUBLISHED, orri_view_type, count);
    view->slots1 = ORRI_ALLOC_ZERO(env, ORR_MEMORY_PUBLISHED, uint16_t, slots);
    if (view->types == NULL || view->slots1 == NULL) {
        view_free(view);
        return NULL;
    }
    return view;
}

orri_view* orri_view_create(orri_publisher* publisher, const orr_type* types, uint32_t count)
{
    if (orri_publish_remap(publisher) != ORR_OK) {
        return NULL;
    }
    orri_view* view = view_alloc(publisher, types, count);
    if (view != NULL) {
        view_take_types(view, types);
        if (view_take_chunks(view)) {
            view->next = publisher->views;
            publisher->views = view;
            return view;
        }
        view_free(view);
    }
    (void)orri_refuse_memory(&publisher->world->env, "making a view of published values");
    return NULL;
}

void orri_view_destroy(orri_view* view)
{
    if (view == NULL) {
        return;
    }
    orri_view** link = &view->publisher->views;
    while (*link != view) {
        link = &(*link)->next;
    }
    *link = view->next;
    view_free(view);
}

// ---- pinning ------------------------------------------------------------------------------------

// Shows the newest edition of a type: only blocks that differ are set.
static void view_pin_type(orri_view* view, orri_view_type* type)
{
    orri_publisher* publisher = view->publisher;
    orri_edition *before = type->edition, *newest = type->type->editions;
    if (before == newest) {
        return;
    }
    orri_edition_retain(publisher, newest);
    for (uint32_t id = 0; id < newest->capacity; id++) {
        const orri_edition_block* block = newest->blocks[id];
        if (block != NULL && (before == NULL || block != orri_edition_at(before, id))) {
            view_set(view, type, id, block, publisher->world->epoch);
        }
    }
    type->edition = newest;
    if (before != NULL) {
        orri_edition_release(publisher, type->type, before);
    }
}

orr_result orri_view_pin(orri_view* view)
{
    for (uint32_t t = 0; t < view->type_count; t++) {
        view_pin_type(view, &view->types[t]);
    }
    view->pinned = true;
    return ORR_OK;
}

// ---- changed since ------------------------------------------------------------------------------

void orri_view_inherit(orri_view* view, const orri_view* before)
{
    const orr_world* world = view->publisher->world;
    for (uint32_t t = 0; t < view->type_count; t++) {
        const orri_view_type* type = &view->types[t];
        if (type->type->kind == ORRI_PUBLISHED_POOL) {
            continue; // A view keeps no versions of pinned types.
        }
        uint32_t index = orri_type_index(world, type->type->handle);
        uint32_t slot1 = before != NULL && index < before->slot_count ? before->slots1[index] : 0;
        for (uint32_t id = 0; id < type->edition->capacity; id++) {
            const orri_edition_block* block = type->edition->blocks[id];
            if (block == NULL) {
                continue;
            }
            const orri_view_type* old = slot1 != 0 ? &before->types[slot1 - 1] : NULL;
            bool same = old != NULL && old->edition != NULL &&
                        orri_edition_at(old->edition, id) == block;
            uint64_t version = before == NULL ? block->source
                               : same         ? view_version(before, old, id)
                                              : 0;
            if (version != 0) {
                view->chunks[id]->columns[block->column].version = version;
            }
        }
    }
}

uint64_t orri_view_unseen(const orri_view* view, orr_type handle, uint64_t since)
{
    const orr_world* world = view->publisher->world;
    uint32_t index = orri_type_index(world, handle);
    uint32_t slot1 = index < view->slot_count ? view->slots1[index] : 0;
    const orri_view_type* type = slot1 != 0 ? &view->types[slot1 - 1] : NULL;
    uint64_t first = UINT64_MAX;
    bool any = type != NULL && type->edition != NULL && type->type->kind != ORRI_PUBLISHED_POOL;
    for (uint32_t id = 0; any && id < type->edition->capacity; id++) {
        const orri_edition_block* block = type->edition->blocks[id];
        const orri_chunk* chunk = block != NULL && id < world->chunks.count ? world->chunks.list[id]
                                                                            : NULL;
        if (chunk == NULL || block->column >= chunk->cluster->type_count) {
            continue;
        }
        uint64_t live = chunk->columns[block->column].version;
        if ((live != block->source || view_version(view, type, id) > since) && live < first) {
            first = live;
        }
    }
    return first;
}

// ---- reading ------------------------------------------------------------------------------------

// The entry of a type in a view; NULL: the view does not have it.
static const orri_view_type* view_type(const orri_view* view, orr_type type)
{
    uint32_t index = orri_type_index(view->publisher->world, type);
    uint32_t slot1 = index < view->slot_count ? view->slots1[index] : 0;
    return slot1 != 0 ? &view->types[slot1 - 1] : NULL;
}

bool orri_view_has(const orri_view* view, orr_type type)
{
    return view->pinned && view_type(view, type) != NULL;
}

orri_column* orri_view_columns(const orri_view* view, const orri_chunk* chunk)
{
    if (!view->pinned || chunk->id >= __atomic_load_n(&view->capacity, __ATOMIC_ACQUIRE)) {
        return NULL;
    }
    orri_view_chunk* entry = __atomic_load_n(&view->chunks, __ATOMIC_ACQUIRE)[chunk->id];
    return entry != NULL ? entry->columns : NULL;
}

orr_hot_table* orri_view_table(const orri_view* view, orr_type type)
{
    const orri_view_type* found = view_type(view, type);
    if (found != NULL && found->type->kind != ORRI_PUBLISHED_ROWS) {
        return &orri_table_none.hot;
    }
    return found != NULL ? (orr_hot_table*)(uintptr_t)&found->table : NULL;
}

const uint8_t* orri_view_pinned(const orri_view* view, orr_type type, uint32_t index)
{
    const orri_pool* pool = orri_pool_find(view->publisher->world, type);
    uint32_t slot1 = pool != NULL ? orri_pool_slot1(pool, index) : 0;
    if (slot1 == 0) {
        return NULL;
    }
    const orr_hot_table* table = &view_type(view, type)->table;
    uint32_t number = (slot1 - 1) >> pool->slot_bits;
    ORR_ASSERT(number < table->capacity && table->data[number] != NULL);
    return table->data[number] + (size_t)orri_pool_within(pool, slot1 - 1) * pool->size;
}
