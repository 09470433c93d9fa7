// SPDX-License-Identifier: MIT
// Remap: after rows moved, published blocks are rebuilt so that every value is at the row of its
// entity again. The publisher keeps the entity ids of all rows as of the last remap. Where the live
// ids differ, blocks are rebuilt from the old ones, for every edition.
//
//   1. collect: find the chunks whose rows, instances or identity changed
//   2. prepare: reserve room in all lists and views
//   3. locate:  find the old place of every row, with a hash table of the rows that moved
//   4. build:   make the new blocks of all editions
//   5. swap:    put everything in place; cannot fail. A refusal before this step leaves no trace.
//
// Entities are compared with their generation: a dead entity and a new entity with its index are
// different, and the new entity has no old value.
#include "store/publish/publish_detail.h"

#define REMAP_AHEAD 8u // Distance, in chunks, at which chunk headers are prefetched.

// The entity of a row, with its generation.
static orr_entity remap_id(const orr_world* world, const orri_chunk* chunk, uint32_t row)
{
    uint32_t index = orri_chunk_ids(chunk)[row];
    return orri_id_make(index, orri_record_at(world, index)->generation);
}

// The column of a type in a chunk (NULL allowed); -1: none.
static int32_t remap_column(const orri_chunk* chunk, const orri_published_type* type)
{
    return chunk != NULL ? orri_cluster_find_column(chunk->cluster, type->handle) : -1;
}

// ---- collect ------------------------------------------------------------------------------------

// True when the chunk has a published type.
static bool remap_wanted(const orri_publisher* publisher, const orri_chunk* chunk)
{
    for (uint32_t t = 0; t < publisher->type_count; t++) {
        if (remap_column(chunk, publisher->types[t]) >= 0) {
            return true;
        }
    }
    return false;
}

// True when instances of a multiple type were added or removed, though the rows may be the same. A
// chunk without an owner list does not have the type.
static bool remap_instances_stale(const orri_publisher* publisher, const orri_chunk* chunk)
{
    for (uint32_t t = 0; t < publisher->type_count; t++) {
        const orri_published_type* type = publisher->types[t];
        if (type->kind == ORRI_PUBLISHED_CELLS && orri_owner_list_at(type, chunk->id) != NULL &&
            orri_published_instances_stale(type, chunk)) {
            return true;
        }
    }
    return false;
}

// Quick check: rows may have changed, the chunk is another one, or it has the added type. A chunk
// that never had rows has stamp 0, and every tracked chunk has another stamp. So another chunk in
// the same memory, with the same id, has a different stamp.
static bool remap_suspect(const orri_publisher* publisher, const orri_published_type* added,
                          const orri_chunk* chunk, const orri_tracked_chunk* old)
{
    if (chunk != old->chunk && (chunk == NULL || old->chunk != NULL)) {
        return true;
    }
    return chunk != NULL &&
           (chunk->stamp > publisher->remap_epoch || chunk->stamp < old->stamp ||
            (added != NULL && chunk->stamp != 0 && remap_column(chunk, added) >= 0) ||
            (ORR_UNLIKELY(publisher->cells) && old->chunk != NULL &&
             remap_instances_stale(publisher, chunk)));
}

// Compares the rows of a chunk with those of the last remap. Returns how many old rows have another
// entity now.
static uint32_t remap_compare(const orri_publisher* publisher, orri_remap_change* change)
{
    const orri_tracked_chunk* old = &publisher->tracked[change->id];
    uint32_t moved = 0;
    for (uint32_t r = 0; r < old->rows; r++) {
        moved += r >= change->rows ||
                 remap_id(publisher->world, change->chunk, r).id != old->ids[r].id;
    }
    change->same = moved == 0 && change->rows == old->rows;
    return moved;
}

static bool remap_add_change(orri_publisher* publisher, uint32_t id, orri_chunk* chunk,
                             uint32_t* moved)
{
    if (!ORRI_RESERVE(&publisher->world->env, ORR_MEMORY_PUBLISHED, &publisher->changes,
                      &publisher->change_capacity, publisher->change_count + 1)) {
        return false;
    }
    orri_remap_change* change = &publisher->changes[publisher->change_count++];
    *change = (orri_remap_change){
        .chunk = chunk, .id = id, .rows = chunk != NULL ? orri_chunk_rows(chunk) : 0};
    *moved += remap_compare(publisher, change);
    change->from = publisher->from_count;
    publisher->from_count += change->same ? 0 : change->rows;
    return true;
}

static bool remap_reserve_chunks(orri_publisher* publisher)
{
    uint32_t old = publisher->tracked_capacity;
    if (!ORRI_RESERVE(&publisher->world->env, ORR_MEMORY_PUBLISHED, &publisher->tracked,
                      &publisher->tracked_capacity, publisher->world->chunks.count)) {
        return false;
    }
    if (publisher->tracked_capacity > old) {
        memset(publisher->tracked + old, 0,
               (publisher->tracked_capacity - old) * sizeof *publisher->tracked);
    }
    return true;
}

// Collects the changed chunks. `*moved` counts the rows that are not where they were. False when
// refused (not reported).
static bool remap_collect(orri_publisher* publisher, const orri_published_type* added,
                          uint32_t* moved)
{
    const orr_world* world = publisher->world;
    publisher->change_count = publisher->from_count = 0;
    if (!remap_reserve_chunks(publisher)) {
        return false;
    }
    for (uint32_t id = 1; id < world->chunks.count; id++) {
        orri_chunk* chunk = world->chunks.list[id];
        const orri_tracked_chunk* old = &publisher->tracked[id];
        if (id + REMAP_AHEAD < world->chunks.count &&
            world->chunks.list[id + REMAP_AHEAD] != NULL) {
            __builtin_prefetch(&world->chunks.list[id + REMAP_AHEAD]->stamp);
        }
        if (ORR_LIKELY(!remap_suspect(publisher, added, chunk, old))) {
            continue;
        }
        bool wanted = chunk != NULL && chunk->stamp != 0 && remap_wanted(publisher, chunk);
        if ((wanted || old->chunk != NULL) &&
            !remap_add_change(publisher, id, wanted ? chunk : NULL, moved)) {
            return false;
        }
    }
    return true;
}

// ---- locate -------------------------------------------------------------------------------------

// The slot of an entity in the hash table, or the free one it would get.
static orri_remap_slot* remap_slot(const orri_publisher* publisher, uint32_t mask, uint64_t id)
{
    uint32_t i = (uint32_t)(id * 0x9E3779B97F4A7C15u >> 32) & mask;
    while (publisher->slots[i].id != 0 && publisher->slots[i].id != id) {
        i = (i + 1) & mask;
    }
    return &publisher->slots[i];
}

// Enters the old places of the rows that moved.
static void remap_enter_moved(orri_publisher* publisher, uint32_t mask,
                              const orri_remap_change* change)
{
    const orri_tracked_chunk* old = &publisher->tracked[change->id];
    for (uint32_t r = 0; r < old->rows; r++) {
        if (r >= change->rows ||
            remap_id(publisher->world, change->chunk, r).id != old->ids[r].id) {
            *remap_slot(publisher, mask, old->ids[r].id) =
                (orri_remap_slot){old->ids[r].id, change->id << ORRI_SLOT_BITS | r};
        }
    }
}

// Finds the old place of every row of a changed chunk.
static void remap_find_rows(orri_publisher* publisher, uint32_t mask,
                            const orri_remap_change* change)
{
    const orri_tracked_chunk* old = &publisher->tracked[change->id];
    uint32_t* from = publisher->from + change->from;
    for (uint32_t r = 0; r < change->rows; r++) {
        uint64_t id = remap_id(publisher->world, change->chunk, r).id;
        from[r] = r < old->rows && old->ids[r].id == id ? change->id << ORRI_SLOT_BITS | r
                                                        : remap_slot(publisher, mask, id)->place;
    }
}

// Fills publisher->from. False when refused (not reported).
static bool remap_locate(orri_publisher* publisher, uint32_t moved)
{
    uint32_t size = 16;
    while (size < 2 * moved) {
        size *= 2;
    }
    orri_env* env = &publisher->world->env;
    if (!ORRI_RESERVE(env, ORR_MEMORY_PUBLISHED, &publisher->slots, &publisher->slot_capacity,
                      size) ||
        !ORRI_RESERVE(env, ORR_MEMORY_PUBLISHED, &publisher->from, &publisher->from_capacity,
                      publisher->from_count)) {
        return false;
    }
    memset(publisher->slots, 0, size * sizeof *publisher->slots);
    for (uint32_t c = 0; c < publisher->change_count; c++) {
        remap_enter_moved(publisher, size - 1, &publisher->changes[c]);
    }
    for (uint32_t c = 0; c < publisher->change_count; c++) {
        if (!publisher->changes[c].same) {
            remap_find_rows(publisher, size - 1, &publisher->changes[c]);
        }
    }
    return true;
}

// ---- build --------------------------------------------------------------------------------------

// The value that an edition had at an old place; NULL: none.
static const uint8_t* remap_value(const orri_edition* edition, const orri_published_type* type,
                                  uint32_t place)
{
    const orri_edition_block* block = place != 0 ? orri_edition_at(edition, place >> ORRI_SLOT_BITS)
                                                 : NULL;
    return block != NULL ? block->data + (size_t)orri_place_slot(place) * type->size : NULL;
}

// Fills one block, in runs of rows whose values are adjacent. False when a hook refuses; then no
// value is left.
static bool remap_fill(const orri_publisher* publisher, const orri_published_type* type,
                       const orri_edition* edition, const orri_remap_change* change,
                       orri_edition_block* block)
{
    if (block->owners != NULL) {
        return orri_published_instances_fill(publisher, type, edition, change, block);
    }
    const uint32_t* from = change->same ? NULL : publisher->from + change->from;
    const uint8_t* live = change->chunk->columns[block->column].data;
    size_t size = type->size;
    bool all_live = true;
    for (uint32_t r = 0, run; r < change->rows; r += run) {
        const uint8_t* old = from != NULL ? remap_value(edition, type, from[r]) : NULL;
        run = 1;
        while (r + run < change->rows &&
               (old != NULL ? from[r + run] == from[r] + run && orri_place_slot(from[r + run]) != 0
                            : from == NULL || remap_value(edition, type, from[r + run]) == NULL)) {
            run++;
        }
        const uint8_t* values = old != NULL ? old : live + r * size;
        all_live = all_live && old == NULL;
        if (type->type->plain) {
            memcpy(block->data + r * size, values, run * size);
        } else if (!orri_rows_copy(type->type, block->data + r * size, values, run)) {
            orri_rows_destruct(type->type, block->data, r);
            return false;
        }
    }
    block->rows = change->rows;
    // A block of live values only is a copy of this version, and need not be copied again before
    // the next write.
    block->source = all_live ? change->chunk->columns[block->column].version : 0;
    return true;
}

// Rebuilds the block of a changed chunk for one edition. NULL when refused (reported).
static orri_edition_block* remap_build_block(orri_publisher* publisher, orri_published_type* type,
                                             const orri_edition* edition,
                                             const orri_remap_change* change, uint32_t column)
{
    const orri_owners* owners =
        type->kind == ORRI_PUBLISHED_CELLS ? type->owner_lists[change->id].next : NULL;
    orri_edition_block* block = orri_edition_block_take(
        publisher, type, owners != NULL ? orri_owners_values(owners) : change->rows);
    if (block == NULL) {
        (void)orri_refuse_memory(&publisher->world->env, "remapping published values");
        return NULL;
    }
    const orri_edition_block* old = orri_edition_at(edition, change->id);
    block->owners = owners;
    block->column = (uint16_t)column;
    block->tick = old != NULL ? old->tick : type->tick;
    block->zero_copy = old != NULL && old->zero_copy;
    block->decided = old != NULL && old->decided;
    if (!remap_fill(publisher, type, edition, change, block)) {
        orri_edition_block_drop(publisher, type, block);
        (void)orri_refuse_hook(publisher->world, "remapping published values", type->type);
        return NULL;
    }
    return block;
}

bool orri_remap_reserve(orri_publisher* publisher, orri_edition* edition, uint32_t capacity,
                        uint32_t more)
{
    return orri_edition_reserve(publisher, edition, capacity) &&
           ORRI_RESERVE(&publisher->world->env, ORR_MEMORY_PUBLISHED, &publisher->made,
                        &publisher->made_capacity, publisher->made_count + more);
}

void orri_remap_add(orri_publisher* publisher, orri_edition* edition, uint32_t id,
                    orri_edition_block* block)
{
    publisher->made[publisher->made_count++] = (orri_remap_block){edition, block, id};
}

// True when the blocks of the type in a changed chunk stay valid.
static bool remap_unchanged(const orri_published_type* type, const orri_remap_change* change)
{
    return change->same &&
           (type->kind != ORRI_PUBLISHED_CELLS || !type->owner_lists[change->id].changes);
}

// Rebuilds all changed blocks of one edition. False when refused (reported), here and below.
static bool remap_build_edition(orri_publisher* publisher, orri_published_type* type,
                                orri_edition* edition)
{
    if (!orri_remap_reserve(publisher, edition, publisher->world->chunks.count,
                            publisher->change_count)) {
        (void)orri_refuse_memory(&publisher->world->env, "remapping published values");
        return false;
    }
    for (uint32_t c = 0; c < publisher->change_count; c++) {
        const orri_remap_change* change = &publisher->changes[c];
        int32_t column = remap_column(change->chunk, type);
        const orri_edition_block* old = edition->blocks[change->id];
        if (old == NULL ? column < 0 : column >= 0 && remap_unchanged(type, change)) {
            continue;
        }
        orri_edition_block* block =
            column >= 0 ? remap_build_block(publisher, type, edition, change, (uint32_t)column)
                        : NULL;
        if (column >= 0 && block == NULL) {
            return false;
        }
        orri_remap_add(publisher, edition, change->id, block);
    }
    return true;
}

// Makes the owner lists of a multiple type for all chunks whose rows or instances changed.
static bool remap_build_owner_lists(orri_publisher* publisher, orri_published_type* type)
{
    bool made = orri_owner_lists_reserve(publisher, type, publisher->world->chunks.count);
    for (uint32_t c = 0; made && c < publisher->change_count; c++) {
        const orri_remap_change* change = &publisher->changes[c];
        int32_t column = remap_column(change->chunk, type);
        orri_owner_list* place = &type->owner_lists[change->id];
        place->changes = column < 0 || !change->same ||
                         orri_published_instances_stale(type, change->chunk);
        if (column >= 0 && place->changes) {
            place->next =
                orri_published_instances_owners(publisher, type, change->chunk, (uint32_t)column);
            made = place->next != NULL;
        }
    }
    if (!made) {
        (void)orri_refuse_memory(&publisher->world->env, "remapping published values");
    }
    return made;
}

static bool remap_build_type(orri_publisher* publisher, orri_published_type* type)
{
    if (type->kind == ORRI_PUBLISHED_POOL) {
        return orri_remap_build_pool(publisher, type);
    }
    if (type->kind == ORRI_PUBLISHED_CELLS && !remap_build_owner_lists(publisher, type)) {
        return false;
    }
    bool built = type->pending == NULL || remap_build_edition(publisher, type, type->pending);
    for (orri_edition* e = type->editions; built && e != NULL; e = e->next) {
        built = remap_build_edition(publisher, type, e);
    }
    return built;
}

// Rebuilds the blocks of all types; publisher->made is ordered by type.
static bool remap_build(orri_publisher* publisher)
{
    publisher->made_count = 0;
    for (uint32_t t = 0; t < publisher->type_count; t++) {
        orri_published_type* type = publisher->types[t];
        type->made_first = publisher->made_count;
        bool built = remap_build_type(publisher, type);
        type->made_end = publisher->made_count;
        if (!built) {
            return false;
        }
    }
    return true;
}

// Discards everything that was built.
static void remap_discard(orri_publisher* publisher)
{
    for (uint32_t t = 0; t < publisher->type_count; t++) {
        orri_published_type* type = publisher->types[t];
        for (uint32_t m = type->made_first; m < type->made_end; m++) {
            if (publisher->made[m].block != NULL) {
                orri_edition_block_drop(publisher, type, publisher->made[m].block);
            }
        }
        type->made_first = type->made_end = 0;
        orri_owner_lists_discard(publisher, type);
    }
    for (uint32_t m = 0; m < publisher->made_view_count; m++) {
        orri_view_chunk_free(publisher->made_views[m].view, publisher->made_views[m].made);
    }
    publisher->made_count = publisher->made_view_count = 0;
}

// ---- prepare ------------------------------------------------------------------------------------

// Room for the new row ids of all changed chunks.
static bool remap_prepare_ids(orri_publisher* publisher)
{
    for (uint32_t c = 0; c < publisher->change_count; c++) {
        orri_tracked_chunk* tracked = &publisher->tracked[publisher->changes[c].id];
        if (!ORRI_RESERVE(&publisher->world->env, ORR_MEMORY_PUBLISHED, &tracked->ids,
                          &tracked->capacity, publisher->changes[c].rows)) {
            return false;
        }
    }
    return true;
}

// Makes columns for changed chunks for which the view has none, or another number of them.
static bool remap_prepare_view(orri_publisher* publisher, orri_view* view)
{
    if (!orri_view_reserve(view, publisher->world->chunks.count) ||
        !ORRI_RESERVE(&publisher->world->env, ORR_MEMORY_PUBLISHED, &publisher->made_views,
                      &publisher->made_view_capacity,
                      publisher->made_view_count + publisher->change_count)) {
        return false;
    }
    for (uint32_t c = 0; c < publisher->change_count; c++) {
        const orri_remap_change* change = &publisher->changes[c];
        const orri_view_chunk* old = view->chunks[change->id];
        if (change->chunk == NULL || !orri_view_shows(view, change->chunk) ||
            (old != NULL && old->count == change->chunk->cluster->column_count)) {
            continue;
        }
        orri_view_chunk* made = orri_view_chunk_make(view, change->chunk);
        if (made == NULL) {
            return false;
        }
        publisher->made_views[publisher->made_view_count++] =
            (orri_remap_view){view, made, change->id};
    }
    return true;
}

static bool remap_prepare(orri_publisher* publisher)
{
    publisher->made_view_count = 0;
    bool ready = remap_prepare_ids(publisher);
    for (orri_view* view = publisher->views; ready && view != NULL; view = view->next) {
        ready = remap_prepare_view(publisher, view);
    }
    return ready;
}

// ---- swap ---------------------------------------------------------------------------------------

// Puts the rebuilt blocks of a type into its editions.
static void remap_swap_type(orri_publisher* publisher, orri_published_type* type, uint64_t version)
{
    for (uint32_t m = type->made_first; m < type->made_end; m++) {
        const orri_remap_block* made = &publisher->made[m];
        orri_edition_block* old = made->edition->blocks[made->id];
        made->edition->blocks[made->id] = made->block;
        if (made->block != NULL) {
            made->block->version = version;
        }
        if (old != NULL) {
            orri_edition_block_drop(publisher, type, old);
        }
    }
    type->made_first = type->made_end = 0;
    orri_owner_lists_swap(publisher, type);
}

// A chunk that was handed over to another cluster as a whole keeps its blocks, but the column of
// the type may have another number.
static void remap_swap_columns(const orri_publisher* publisher, const orri_published_type* type,
                               const orri_edition* edition)
{
    if (type->kind == ORRI_PUBLISHED_POOL) {
        return;
    }
    for (uint32_t c = 0; c < publisher->change_count; c++) {
        const orri_remap_change* change = &publisher->changes[c];
        orri_edition_block* block = edition->blocks[change->id];
        if (block != NULL) {
            block->column = (uint16_t)remap_column(change->chunk, type);
        }
    }
}

// Finds the fresh blocks of the pending edition again: all that the newest edition does not have.
static void remap_collect_fresh(const orri_published_type* type)
{
    orri_edition* pending = type->pending;
    pending->fresh = NULL;
    for (uint32_t id = 0; id < pending->capacity; id++) {
        orri_edition_block* block = pending->blocks[id];
        if (block != NULL && block != orri_edition_at(type->editions, id)) {
            block->next = pending->fresh;
            pending->fresh = block;
        }
    }
}

// Remembers the rows of a changed chunk as of this remap.
static void remap_track_rows(orri_publisher* publisher, const orri_remap_change* change)
{
    orri_tracked_chunk* tracked = &publisher->tracked[change->id];
    const orri_chunk* chunk = change->chunk;
    tracked->rows = change->rows;
    tracked->chunk = chunk;
    tracked->stamp = chunk != NULL ? chunk->stamp : 0;
    for (uint32_t r = 0; r < change->rows && !change->same; r++) {
        tracked->ids[r] = remap_id(publisher->world, chunk, r);
    }
    if (chunk == NULL && tracked->ids != NULL) {
        ORRI_RELEASE(&publisher->world->env, ORR_MEMORY_PUBLISHED, tracked->ids, tracked->capacity);
        tracked->ids = NULL;
        tracked->capacity = 0;
    }
}

static void remap_swap_views(orri_publisher* publisher)
{
    uint32_t m = 0;
    for (orri_view* view = publisher->views; view != NULL; view = view->next) {
        for (uint32_t c = 0; c < publisher->change_count; c++) {
            const orri_remap_change* change = &publisher->changes[c];
            const orri_remap_view* next = m < publisher->made_view_count ? &publisher->made_views[m]
                                                                         : NULL;
            bool made = next != NULL && next->view == view && next->id == change->id;
            orri_view_refresh(view, change->id, change->chunk, made ? next->made : NULL);
            m += made;
        }
        orri_view_refresh_pools(view);
    }
}

static void remap_swap(orri_publisher* publisher, uint64_t version)
{
    for (uint32_t t = 0; t < publisher->type_count; t++) {
        orri_published_type* type = publisher->types[t];
        remap_swap_type(publisher, type, version);
        for (const orri_edition* e = type->editions; e != NULL; e = e->next) {
            remap_swap_columns(publisher, type, e);
        }
        if (type->pending != NULL) {
            remap_swap_columns(publisher, type, type->pending);
            remap_collect_fresh(type);
        }
    }
    for (uint32_t c = 0; c < publisher->change_count; c++) {
        remap_track_rows(publisher, &publisher->changes[c]);
    }
    remap_swap_views(publisher);
}

// True when owners of some published pinned type changed.
static bool remap_pools_stale(const orri_publisher* publisher)
{
    for (uint32_t t = 0; t < publisher->type_count; t++) {
        const orri_published_type* type = publisher->types[t];
        if (type->kind == ORRI_PUBLISHED_POOL && orri_published_pool_stale(publisher, type)) {
            return true;
        }
    }
    return false;
}

orr_result orri_remap_run(orri_publisher* publisher, const orri_published_type* added)
{
    uint32_t moved = 0;
    orr_world* world = publisher->world;
    if (!remap_collect(publisher, added, &moved)) {
        return orri_refuse_memory(&world->env, "remapping published values");
    }
    if (publisher->change_count > 0 || remap_pools_stale(publisher)) {
        if (!remap_prepare(publisher) || !remap_locate(publisher, moved)) {
            remap_discard(publisher);
            return orri_refuse_memory(&world->env, "remapping published values");
        }
        if (!remap_build(publisher)) {
            remap_discard(publisher);
            return orri_env_result(&world->env);
        }
        // The new blocks get an epoch that is larger than the marks of all readers, and smaller
        // than that of later writes.
        (void)orri_epoch_end(world);
        remap_swap(publisher, world->epoch);
    }
    publisher->remap_epoch = orri_epoch_end(world);
    return ORR_OK;
}

orr_result orri_publish_remap(orri_publisher* publisher)
{
    return orri_remap_run(publisher, NULL);
}

#undef REMAP_AHEAD
