// SPDX-License-Identifier: MIT
// Publishing: memory of published blocks, editions and their reference counts, the published types,
// and the steps copy and show.
#include "store/pool/pool.h"
#include "store/publish/publish_detail.h"
#include "store/snapshot/snapshot.h"

#define PUBLISH_FREE_MIN 16u // Free blocks of a type that are always kept.

// ---- blocks -------------------------------------------------------------------------------------

static void publish_lock(orri_publisher* publisher)
{
    orri_mutex_lock(publisher->world->env.platform, &publisher->mutex);
}

static void publish_unlock(orri_publisher* publisher)
{
    orri_mutex_unlock(publisher->world->env.platform, &publisher->mutex);
}

// The smallest size class for `values` values.
static uint8_t publish_level(const orri_published_type* type, uint32_t values)
{
    bool rows = type->kind == ORRI_PUBLISHED_ROWS;
    uint8_t level = 0;
    for (uint32_t room = rows ? 16 : 1; room < values; room *= rows ? 4 : 2) {
        level++;
    }
    return level;
}

// Values that a size class has room for.
static size_t publish_level_values(const orri_published_type* type, uint32_t level)
{
    if (level == ORRI_EDITION_ZERO_COPY) {
        return 0;
    }
    if (type->kind != ORRI_PUBLISHED_ROWS) {
        return (size_t)1 << level;
    }
    return level == ORRI_EDITION_FULL ? ORR_CHUNK_CAPACITY : (size_t)16 << (2 * level);
}

// Bytes of header and values, in whole cache lines: vectorised loops may read to the end of the
// last line.
static size_t publish_block_bytes(const orri_published_type* type, uint32_t level)
{
    size_t bytes = publish_level_values(type, level) * type->size;
    return ORRI_EDITION_HEADER + ((bytes + ORRI_BLOCK_ALIGN - 1) & ~(size_t)(ORRI_BLOCK_ALIGN - 1));
}

static void publish_block_free(orri_publisher* publisher, const orri_published_type* type,
                               orri_edition_block* block)
{
    orri_free(&publisher->world->env, ORR_MEMORY_PUBLISHED, block,
              publish_block_bytes(type, block->level), ORRI_BLOCK_ALIGN);
}

// Takes a block off the free list; NULL: there is none.
static orri_edition_block* publish_block_reuse(orri_publisher* publisher, orri_published_type* type,
                                               uint32_t level)
{
    publish_lock(publisher);
    orri_edition_block* block = type->free[level];
    if (block != NULL) {
        type->free[level] = block->next;
        type->free_count--;
    }
    publish_unlock(publisher);
    return block;
}

static orri_edition_block* publish_block_take(orri_publisher* publisher, orri_published_type* type,
                                              uint8_t level)
{
    orri_edition_block* block = publish_block_reuse(publisher, type, level);
    if (block == NULL) {
        block = orri_alloc(&publisher->world->env, ORR_MEMORY_PUBLISHED,
                           publish_block_bytes(type, level), ORRI_BLOCK_ALIGN);
        if (block == NULL) {
            return NULL;
        }
        publish_lock(publisher);
        type->block_count++;
        publish_unlock(publisher);
    }
    *block = (orri_edition_block){.refs = 1, .level = level};
    return block;
}

orri_edition_block* orri_edition_block_take(orri_publisher* publisher, orri_published_type* type,
                                            uint32_t values)
{
    orri_edition_block* block = publish_block_take(publisher, type, publish_level(type, values));
    if (block != NULL) {
        block->data = type->size > 0 ? (uint8_t*)block + ORRI_EDITION_HEADER : orri_marker_byte;
    }
    return block;
}

orri_edition_block* orri_edition_block_take_zero_copy(orri_publisher* publisher,
                                                      orri_published_type* type)
{
    return publish_block_take(publisher, type, ORRI_EDITION_ZERO_COPY);
}

static void publish_block_destruct(const orri_published_type* type, const orri_edition_block* block)
{
    if (block->owners != NULL) {
        orri_owners_destruct(type, block->owners, block->data, block->rows);
    } else {
        orri_rows_destruct(type->type, block->data, block->rows);
    }
}

// Ends a list of blocks that no edition has: destructs their values and puts them on the free list.
// At most as many free blocks are kept as blocks are in use. A steady state needs that many when a
// type is copied completely while a view still sees the edition before.
static void publish_blocks_end(orri_publisher* publisher, orri_published_type* type,
                               orri_edition_block* dead)
{
    orri_edition_block* excess = NULL;
    for (orri_edition_block* b = type->type->plain ? NULL : dead; b != NULL; b = b->next) {
        publish_block_destruct(type, b);
    }
    for (orri_edition_block* b = dead; b != NULL; b = b->next) {
        if (ORR_UNLIKELY(b->share != NULL)) {
            orri_zero_copy_end(publisher, type, b);
        }
    }
    publish_lock(publisher);
    while (dead != NULL) {
        orri_edition_block* next = dead->next;
        uint32_t used = type->block_count - type->free_count;
        bool keep = type->free_count < PUBLISH_FREE_MIN || type->free_count < used;
        orri_edition_block** list = keep ? &type->free[dead->level] : &excess;
        dead->next = *list;
        *list = dead;
        type->free_count += keep;
        type->block_count -= !keep;
        dead = next;
    }
    publish_unlock(publisher);
    while (excess != NULL) {
        orri_edition_block* next = excess->next;
        publish_block_free(publisher, type, excess);
        excess = next;
    }
}

void orri_edition_block_drop(orri_publisher* publisher, orri_published_type* type,
                             orri_edition_block* block)
{
    publish_lock(publisher);
    bool dead = --block->refs == 0;
    publish_unlock(publisher);
    if (dead) {
        block->next = NULL;
        publish_blocks_end(publisher, type, block);
    }
}

// ---- editions -----------------------------------------------------------------------------------

bool orri_edition_reserve(orri_publisher* publisher, orri_edition* edition, uint32_t capacity)
{
    uint32_t old = edition->capacity;
    if (!ORRI_RESERVE(&publisher->world->env, ORR_MEMORY_PUBLISHED, &edition->blocks,
                      &edition->capacity, capacity)) {
        return false;
    }
    if (edition->capacity > old) {
        memset(edition->blocks + old, 0, (edition->capacity - old) * sizeof *edition->blocks);
    }
    return true;
}

static void publish_edition_free(orri_publisher* publisher, orri_edition* edition)
{
    if (edition->blocks != NULL) {
        ORRI_RELEASE(&publisher->world->env, ORR_MEMORY_PUBLISHED, edition->blocks,
                     edition->capacity);
    }
    ORRI_FREE(&publisher->world->env, ORR_MEMORY_PUBLISHED, orri_edition, edition, 1);
}

orri_edition* orri_edition_take(orri_publisher* publisher, orri_published_type* type,
                                uint32_t capacity)
{
    publish_lock(publisher);
    orri_edition* edition = type->spare;
    if (edition != NULL) {
        type->spare = edition->next;
    }
    publish_unlock(publisher);
    if (edition == NULL) {
        edition = ORRI_ALLOC_ZERO(&publisher->world->env, ORR_MEMORY_PUBLISHED, orri_edition, 1);
    }
    if (edition != NULL && !orri_edition_reserve(publisher, edition, capacity)) {
        publish_edition_free(publisher, edition);
        return NULL;
    }
    if (edition != NULL) {
        edition->refs = 1;
        edition->next = NULL;
    }
    return edition;
}

// Takes all blocks out of an edition and returns a list of those that no other edition has. Under
// the mutex.
static orri_edition_block* publish_edition_empty(orri_edition* edition)
{
    orri_edition_block* dead = NULL;
    for (uint32_t id = 0; id < edition->capacity; id++) {
        orri_edition_block* block = edition->blocks[id];
        edition->blocks[id] = NULL;
        if (block != NULL && --block->refs == 0) {
            block->next = dead;
            dead = block;
        }
    }
    edition->fresh = NULL;
    return dead;
}

static void publish_edition_unlink(orri_published_type* type, const orri_edition* edition)
{
    orri_edition** link = &type->editions;
    while (*link != NULL && *link != edition) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = edition->next;
    }
}

void orri_edition_retain(orri_publisher* publisher, orri_edition* edition)
{
    publish_lock(publisher);
    edition->refs++;
    publish_unlock(publisher);
}

void orri_edition_release(orri_publisher* publisher, orri_published_type* type,
                          orri_edition* edition)
{
    publish_lock(publisher);
    bool gone = --edition->refs == 0;
    orri_edition_block* dead = NULL;
    if (gone) {
        publish_edition_unlink(type, edition);
        dead = publish_edition_empty(edition);
        edition->next = type->spare;
        type->spare = edition;
    }
    publish_unlock(publisher);
    publish_blocks_end(publisher, type, dead);
}

// ---- publisher and types ------------------------------------------------------------------------

orri_publisher* orri_publisher_create(orr_world* world)
{
    ORR_ASSERT(world->publisher == NULL);
    orri_publisher* publisher =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_PUBLISHED, orri_publisher, 1);
    if (publisher == NULL) {
        (void)orri_refuse_memory(&world->env, "publishing values");
        return NULL;
    }
    (void)orri_parked_release_all(world);
    publisher->world = world;
    world->publisher = publisher;
    return publisher;
}

static void publish_type_free(orri_publisher* publisher, orri_published_type* type)
{
    if (type->pending != NULL) {
        orri_edition_release(publisher, type, type->pending);
    }
    while (type->editions != NULL) {
        type->editions->refs = 1; // All views are destroyed.
        orri_edition_release(publisher, type, type->editions);
    }
    orri_owner_lists_free(publisher, type);
    orri_zero_copy_trim(publisher, type, 0);
    while (type->spare != NULL) {
        orri_edition* next = type->spare->next;
        publish_edition_free(publisher, type->spare);
        type->spare = next;
    }
    for (uint32_t level = 0; level < ORRI_EDITION_CLASSES; level++) {
        while (type->free[level] != NULL) {
            orri_edition_block* next = type->free[level]->next;
            publish_block_free(publisher, type, type->free[level]);
            type->free[level] = next;
        }
    }
    ORRI_FREE(&publisher->world->env, ORR_MEMORY_PUBLISHED, orri_published_type, type, 1);
}

// Frees an array of the publisher, if there is one.
#define PUBLISH_GIVE(p, data, capacity)                                                   \
    ((p)->data != NULL                                                                    \
         ? ORRI_RELEASE(&(p)->world->env, ORR_MEMORY_PUBLISHED, (p)->data, (p)->capacity) \
         : (void)0)

void orri_publisher_destroy(orri_publisher* publisher)
{
    if (publisher == NULL) {
        return;
    }
    orr_world* world = publisher->world;
    while (publisher->views != NULL) {
        orri_view_destroy(publisher->views);
    }
    for (uint32_t t = 0; t < publisher->type_count; t++) {
        publish_type_free(publisher, publisher->types[t]);
    }
    for (uint32_t id = 0; id < publisher->tracked_capacity; id++) {
        PUBLISH_GIVE(publisher, tracked[id].ids, tracked[id].capacity);
    }
    PUBLISH_GIVE(publisher, tracked, tracked_capacity);
    PUBLISH_GIVE(publisher, types, type_capacity);
    PUBLISH_GIVE(publisher, changes, change_capacity);
    PUBLISH_GIVE(publisher, made, made_capacity);
    PUBLISH_GIVE(publisher, made_views, made_view_capacity);
    PUBLISH_GIVE(publisher, from, from_capacity);
    PUBLISH_GIVE(publisher, slots, slot_capacity);
    PUBLISH_GIVE(publisher, reclaimed, reclaimed_capacity);
    world->publisher = NULL;
    ORRI_FREE(&world->env, ORR_MEMORY_PUBLISHED, orri_publisher, publisher, 1);
}

orri_published_type* orri_published_find(const orri_publisher* publisher, orr_type type)
{
    for (uint32_t t = 0; t < publisher->type_count; t++) {
        if (publisher->types[t]->handle.id == type.id) {
            return publisher->types[t];
        }
    }
    return NULL;
}

bool orri_published(const orri_publisher* publisher, orr_type type)
{
    return orri_published_find(publisher, type) != NULL;
}

// Checks that a type can be published.
static orr_result publish_check(const orr_world* world, orr_type type)
{
    const orri_type* found = orri_type_at(&world->schema, type);
    if (found == NULL) {
        return orri_refuse_type(world, "publishing a type", type);
    }
    return !orri_type_pseudo(found)
               ? ORR_OK
               : orri_refuse(
                     orri_env_of(world), ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                     "publishing a type: %s has no stored values, so it cannot be published",
                     found->info.name);
}

static orri_published_type* publish_type_make(orri_publisher* publisher, orr_type handle)
{
    orr_world* world = publisher->world;
    orri_published_type* type =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_PUBLISHED, orri_published_type, 1);
    if (type == NULL) {
        return NULL;
    }
    type->handle = handle;
    type->type = orri_type_at(&world->schema, handle);
    type->size = type->type->info.size;
    type->kind = orri_type_pinned(type->type)                    ? ORRI_PUBLISHED_POOL
                 : type->type->info.multiplicity == ORR_MULTIPLE ? ORRI_PUBLISHED_CELLS
                                                                 : ORRI_PUBLISHED_ROWS;
    type->editions = orri_edition_take(publisher, type,
                                       type->kind != ORRI_PUBLISHED_POOL ? world->chunks.count : 0);
    if (type->editions == NULL ||
        !ORRI_RESERVE(&world->env, ORR_MEMORY_PUBLISHED, &publisher->types,
                      &publisher->type_capacity, publisher->type_count + 1)) {
        publish_type_free(publisher, type);
        return NULL;
    }
    publisher->types[publisher->type_count++] = type;
    publisher->cells |= type->kind == ORRI_PUBLISHED_CELLS;
    return type;
}

orr_result orri_publish_add(orri_publisher* publisher, orr_type type)
{
    if (orri_published(publisher, type)) {
        return ORR_OK;
    }
    orr_result result = publish_check(publisher->world, type);
    if (result != ORR_OK) {
        return result;
    }
    orri_published_type* added = publish_type_make(publisher, type);
    if (added == NULL) {
        return orri_refuse_memory(&publisher->world->env, "publishing a type");
    }
    result = orri_remap_run(publisher, added);
    if (result != ORR_OK) {
        publisher->type_count--;
        publish_type_free(publisher, added);
    }
    return result;
}

// ---- copying ------------------------------------------------------------------------------------

// The live block that a published block is a copy of.
typedef struct publish_source {
    const uint8_t* data;
    uint64_t version;
    uint32_t rows;
} publish_source;

static publish_source publish_source_at(const orri_publisher* publisher,
                                        const orri_published_type* type, uint32_t id,
                                        const orri_edition_block* old)
{
    if (type->kind == ORRI_PUBLISHED_POOL) {
        const orri_pool_block* live = &orri_pool_find(publisher->world, type->handle)->blocks[id];
        return (publish_source){live->data, live->version, old->rows};
    }
    const orri_chunk* chunk = publisher->world->chunks.list[id];
    const orri_column* live = &chunk->columns[old->column];
    return (publish_source){live->data, live->version, orri_chunk_rows(chunk)};
}

static bool publish_copy_values(const orri_published_type* type, const orri_edition_block* block,
                                const publish_source* source)
{
    if (block->owners != NULL) {
        return orri_owners_copy(type, block->owners, block->data, source->data);
    }
    if (type->type->plain) {
        memcpy(block->data, source->data, (size_t)source->rows * type->size);
        return true;
    }
    return orri_rows_copy(type->type, block->data, source->data, source->rows);
}

// Copies a live block. NULL when refused (reported).
static orri_edition_block* publish_copy_block(orri_publisher* publisher, orri_published_type* type,
                                              const orri_edition_block* old,
                                              const publish_source* source)
{
    uint32_t values = old->owners != NULL ? orri_owners_values(old->owners) : source->rows;
    orri_edition_block* block = orri_edition_block_take(publisher, type, values);
    if (block == NULL) {
        (void)orri_refuse_memory(&publisher->world->env, "publishing values");
        return NULL;
    }
    block->owners = old->owners;
    if (!publish_copy_values(type, block, source)) {
        orri_edition_block_drop(publisher, type, block);
        (void)orri_refuse_hook(publisher->world, "publishing values", type->type);
        return NULL;
    }
    orri_publish_count(publisher, (size_t)values * type->size);
    block->rows = source->rows;
    block->column = old->column;
    block->source = source->version;
    return block;
}

// Starts the next edition with copies of the blocks that changed. Without changes there is no next
// edition. False when refused (reported).
static bool publish_copy_fresh(orri_publisher* publisher, orri_published_type* type)
{
    const orri_edition* newest = type->editions;
    for (uint32_t id = 0; id < newest->capacity; id++) {
        const orri_edition_block* old = newest->blocks[id];
        if (old == NULL) {
            continue;
        }
        publish_source source = publish_source_at(publisher, type, id, old);
        if (ORR_LIKELY(source.version == old->source) ||
            (ORR_UNLIKELY(type->zero_copy) &&
             orri_zero_copy_wanted(type, old, publisher->world,
                                   publisher->world->chunks.list[id]))) {
            continue;
        }
        if (type->making == NULL) {
            type->making = orri_edition_take(publisher, type, newest->capacity);
            if (type->making == NULL) {
                (void)orri_refuse_memory(&publisher->world->env, "publishing values");
                return false;
            }
        }
        orri_edition_block* block = publish_copy_block(publisher, type, old, &source);
        if (block == NULL) {
            return false;
        }
        block->zero_copy = old->zero_copy;
        block->next = type->making->fresh;
        type->making->fresh = block;
        type->making->blocks[id] = block;
    }
    return true;
}

void orri_edition_complete(orri_publisher* publisher, const orri_published_type* type)
{
    const orri_edition* newest = type->editions;
    orri_edition* making = type->making;
    publish_lock(publisher);
    for (uint32_t id = 0; id < newest->capacity; id++) {
        if (newest->blocks[id] != NULL && making->blocks[id] == NULL) {
            making->blocks[id] = newest->blocks[id];
            making->blocks[id]->refs++;
        }
    }
    publish_unlock(publisher);
}

void orri_edition_discard(orri_publisher* publisher, orri_published_type* type)
{
    if (type->making != NULL) {
        orri_edition_release(publisher, type, type->making);
        type->making = NULL;
    }
}

// Completes the edition in the making, which becomes the pending one.
static void publish_copy_keep(orri_publisher* publisher, orri_published_type* type)
{
    if (type->pending != NULL) {
        orri_edition_release(publisher, type, type->pending);
    }
    if (type->making != NULL) {
        orri_edition_complete(publisher, type);
    }
    type->pending = type->making;
    type->making = NULL;
}

orr_result orri_publish_copy(orri_publisher* publisher, const orr_type* types, uint32_t count)
{
    bool copied = true;
    for (uint32_t i = 0; copied && i < count; i++) {
        orri_published_type* type = orri_published_find(publisher, types[i]);
        ORR_ASSERT(type != NULL);
        copied = publish_copy_fresh(publisher, type);
    }
    for (uint32_t i = 0; i < count; i++) {
        orri_published_type* type = orri_published_find(publisher, types[i]);
        if (copied) {
            publish_copy_keep(publisher, type);
        } else {
            orri_edition_discard(publisher, type);
        }
    }
    return copied ? ORR_OK : orri_env_result(&publisher->world->env);
}

// ---- showing ------------------------------------------------------------------------------------

// Makes the pending edition of a type the newest one.
static void publish_show_type(orri_publisher* publisher, orri_published_type* type,
                              uint64_t version, uint64_t tick)
{
    orri_edition *shown = type->pending, *before = type->editions;
    type->tick = tick;
    if (shown == NULL) {
        return;
    }
    for (orri_edition_block* b = shown->fresh; b != NULL; b = b->next) {
        b->version = version;
        b->tick = tick;
    }
    shown->fresh = NULL;
    type->pending = NULL;
    publish_lock(publisher);
    shown->next = before;
    type->editions = shown;
    publish_unlock(publisher);
    orri_edition_release(publisher, type, before);
}

void orri_publish_show(orri_publisher* publisher, const orr_type* types, uint32_t count,
                       uint64_t version, uint64_t tick)
{
    for (uint32_t i = 0; i < count; i++) {
        orri_published_type* type = orri_published_find(publisher, types[i]);
        ORR_ASSERT(type != NULL);
        publish_show_type(publisher, type, version, tick);
    }
    orri_epoch_end(publisher->world);
}

uint64_t orri_published_tick(const orri_publisher* publisher, orr_type type)
{
    const orri_published_type* found = orri_published_find(publisher, type);
    return found != NULL ? found->tick : 0;
}

const void* orri_published_block(const orri_publisher* publisher, orr_type type,
                                 const orri_chunk* chunk)
{
    const orri_published_type* found = orri_published_find(publisher, type);
    const orri_edition_block* block = found != NULL && found->kind != ORRI_PUBLISHED_POOL
                                          ? orri_edition_at(found->editions, chunk->id)
                                          : NULL;
    return block != NULL ? block->data : NULL;
}

#undef PUBLISH_FREE_MIN
#undef PUBLISH_GIVE
