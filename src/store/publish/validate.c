// SPDX-License-Identifier: MIT
// Checks the invariants P1 to P7 of published values (README.md).
#include "store/cow/share.h"
#include "store/publish/publish_detail.h"

ORRI_COLD static orr_result publish_validate_corrupt(const orri_publisher* publisher,
                                                     const orri_published_type* type, uint32_t id,
                                                     const char* what)
{
    return orri_refuse(&publisher->world->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                       "published values: %s, chunk or block %u: %s",
                       type != NULL ? type->type->info.name : "rows", (unsigned)id, what);
}

// True when the rows of a chunk changed since the last remap: then its blocks cannot be checked.
static bool publish_validate_stale(const orri_publisher* publisher, uint32_t id)
{
    const orri_chunk* chunk =
        id < publisher->world->chunks.count ? publisher->world->chunks.list[id] : NULL;
    const orri_tracked_chunk* tracked = &publisher->tracked[id];
    return chunk == NULL || chunk != tracked->chunk || chunk->stamp != tracked->stamp;
}

// P2: the tracked ids are those of the rows.
static orr_result publish_validate_rows(const orri_publisher* publisher, uint32_t id)
{
    const orr_world* world = publisher->world;
    const orri_tracked_chunk* tracked = &publisher->tracked[id];
    const orri_chunk* chunk = world->chunks.list[id];
    bool same = tracked->rows == orri_chunk_rows(chunk);
    for (uint32_t r = 0; same && r < tracked->rows; r++) {
        uint32_t index = orri_chunk_ids(chunk)[r];
        same = tracked->ids[r].id ==
               orri_id_make(index, orri_record_at(world, index)->generation).id;
    }
    return same ? ORR_OK
                : publish_validate_corrupt(publisher, NULL, id,
                                           "the rows differ from the tracked ids");
}

// P6: a block has the owner list of its type, which describes the live owners. With `stale` the
// live owners are not compared.
static orr_result publish_validate_owners(const orri_publisher* publisher,
                                          const orri_published_type* type,
                                          const orri_edition_block* block, uint32_t id, bool stale)
{
    const orri_owners* owners = orri_owner_list_at(type, id);
    if ((block != NULL) != (owners != NULL) ||
        (block != NULL && (block->owners != owners || block->rows != owners->rows))) {
        return publish_validate_corrupt(publisher, type, id,
                                        "a block and its owner list do not agree");
    }
    bool pool = type->kind == ORRI_PUBLISHED_POOL;
    bool right =
        block == NULL || stale ||
        (pool ? orri_published_pool_agree(publisher, type, id, owners)
              : orri_published_instances_agree(type, publisher->world->chunks.list[id], owners));
    return right ? ORR_OK
                 : publish_validate_corrupt(publisher, type, id,
                                            "an owner list differs from the live owners");
}

// P7: an edition has a block for exactly the used blocks of the pool.
static orr_result publish_validate_pool(const orri_publisher* publisher,
                                        const orri_published_type* type,
                                        const orri_edition* edition, uint32_t number)
{
    const orri_edition_block* block = orri_edition_at(edition, number);
    bool stale = orri_published_pool_stale(publisher, type);
    if (!stale && (block != NULL) != (number < orri_published_pool_blocks(publisher, type))) {
        return publish_validate_corrupt(publisher, type, number,
                                        "a block is missing, or there is one too many");
    }
    return publish_validate_owners(publisher, type, block, number, stale);
}

// P1, P2, P5, P6 for one block.
static orr_result publish_validate_block(const orri_publisher* publisher,
                                         const orri_published_type* type,
                                         const orri_edition* edition, uint32_t id)
{
    if (type->kind == ORRI_PUBLISHED_POOL) {
        return publish_validate_pool(publisher, type, edition, id);
    }
    const orri_edition_block* block = orri_edition_at(edition, id);
    const orri_tracked_chunk* tracked = &publisher->tracked[id];
    bool stale = tracked->chunk != NULL && publish_validate_stale(publisher, id);
    int32_t column =
        tracked->chunk != NULL && !stale
            ? orri_cluster_find_column(publisher->world->chunks.list[id]->cluster, type->handle)
            : -1;
    if (!stale && (block != NULL) != (column >= 0)) {
        return publish_validate_corrupt(publisher, type, id,
                                        "a block is missing, or there is one too many");
    }
    if (block != NULL &&
        (block->rows != tracked->rows || block->refs == 0 || (!stale && block->column != column))) {
        return publish_validate_corrupt(publisher, type, id,
                                        "a block has the wrong number of rows or column");
    }
    if (block != NULL && ((block->share != NULL) != (block->level == ORRI_EDITION_ZERO_COPY) ||
                          (block->share != NULL && block->share->data != block->data))) {
        return publish_validate_corrupt(publisher, type, id,
                                        "a zero-copy block does not have the data of its share");
    }
    if (type->kind != ORRI_PUBLISHED_CELLS) {
        return ORR_OK;
    }
    stale = stale || (block != NULL &&
                      orri_published_instances_stale(type, publisher->world->chunks.list[id]));
    return publish_validate_owners(publisher, type, block, id, stale);
}

// P3: how many editions have the block.
static uint32_t publish_validate_holders(const orri_published_type* type, uint32_t id,
                                         const orri_edition_block* block)
{
    uint32_t count = type->pending != NULL && orri_edition_at(type->pending, id) == block;
    for (const orri_edition* e = type->editions; e != NULL; e = e->next) {
        count += orri_edition_at(e, id) == block;
    }
    return count;
}

// P3 for an edition, and everything for its blocks.
static orr_result publish_validate_edition(const orri_publisher* publisher,
                                           const orri_published_type* type,
                                           const orri_edition* edition)
{
    uint32_t refs = edition == type->editions || edition == type->pending;
    for (const orri_view* view = publisher->views; view != NULL; view = view->next) {
        for (uint32_t t = 0; t < view->type_count; t++) {
            refs += view->types[t].edition == edition;
        }
    }
    if (refs != edition->refs || (edition != type->pending && edition->fresh != NULL)) {
        return publish_validate_corrupt(publisher, type, 0,
                                        "the reference count of an edition is wrong");
    }
    orr_result result = ORR_OK;
    uint32_t most = type->kind == ORRI_PUBLISHED_POOL ? edition->capacity
                                                      : publisher->tracked_capacity;
    for (uint32_t id = 0; result == ORR_OK && id < most; id++) {
        result = publish_validate_block(publisher, type, edition, id);
        const orri_edition_block* block = orri_edition_at(edition, id);
        if (result == ORR_OK && block != NULL &&
            block->refs != publish_validate_holders(type, id, block)) {
            result = publish_validate_corrupt(publisher, type, id,
                                              "the reference count of a block is wrong");
        }
    }
    return result;
}

// P5: without zero-copy no live block is shown. Otherwise a system's write would have to copy the
// block.
static orr_result publish_validate_zero_copy(const orri_publisher* publisher,
                                             const orri_published_type* type)
{
    bool valid = type->spare_count <= type->zero_copy_count;
    // Pinned types never use zero-copy, and their blocks are not in chunks.
    bool checks_blocks = !type->zero_copy && type->kind != ORRI_PUBLISHED_POOL;
    for (uint32_t id = 0; valid && checks_blocks && id < type->editions->capacity; id++) {
        const orri_edition_block* block = type->editions->blocks[id];
        bool comparable = block != NULL && !publish_validate_stale(publisher, id);
        const orri_share* share =
            comparable ? publisher->world->chunks.list[id]->columns[block->column].share : NULL;
        valid = share == NULL || share != block->share;
    }
    return valid ? ORR_OK
                 : publish_validate_corrupt(publisher, type, 0,
                                            "live blocks are shown although zero-copy is off");
}

static orr_result publish_validate_type(const orri_publisher* publisher,
                                        const orri_published_type* type)
{
    orr_result result =
        type->pending != NULL ? publish_validate_edition(publisher, type, type->pending) : ORR_OK;
    result = result == ORR_OK ? publish_validate_zero_copy(publisher, type) : result;
    for (const orri_edition* e = type->editions; result == ORR_OK && e != NULL; e = e->next) {
        result = publish_validate_edition(publisher, type, e);
    }
    uint32_t free = 0;
    for (uint32_t level = 0; level < ORRI_EDITION_CLASSES; level++) {
        for (const orri_edition_block* b = type->free[level]; b != NULL; b = b->next) {
            free += b->level == level;
        }
    }
    return result == ORR_OK && (free != type->free_count || free > type->block_count)
               ? publish_validate_corrupt(publisher, type, 0, "the number of free blocks is wrong")
               : result;
}

// The data that a view's table has for a type of the view.
static const uint8_t* publish_validate_shown(const orri_view* view, const orri_published_type* type,
                                             uint32_t id)
{
    uint32_t t = 0;
    while (view->types[t].type != type) {
        t++;
    }
    return view->types[t].table.data[id];
}

// P4: columns of a view show published data where the view has the type, and live data elsewhere.
static orr_result publish_validate_columns(const orri_view* view, uint32_t id)
{
    const orri_publisher* publisher = view->publisher;
    const orri_chunk* chunk = publisher->world->chunks.list[id];
    const orri_view_chunk* entry = view->chunks[id];
    if ((entry != NULL) != orri_view_shows(view, chunk)) {
        return publish_validate_corrupt(publisher, NULL, id,
                                        "a view shows a chunk without its types, or hides one");
    }
    for (uint32_t c = 0; entry != NULL && c < entry->count; c++) {
        const orri_type* type = chunk->cluster->columns[c].type;
        orr_type handle = {type != NULL ? type->id : 0};
        bool own = type != NULL && orri_view_has(view, handle);
        const orri_published_type* found = own ? orri_published_find(publisher, handle) : NULL;
        const uint8_t* data = own ? publish_validate_shown(view, found, id)
                                  : chunk->columns[c].data;
        if ((view->pinned || type == NULL) && entry->columns[c].data != data) {
            return publish_validate_corrupt(publisher, found, id,
                                            "a column of a view has the wrong data");
        }
    }
    return ORR_OK;
}

static orr_result publish_validate_view(const orri_view* view)
{
    const orri_publisher* publisher = view->publisher;
    orr_result result = ORR_OK;
    for (uint32_t t = 0; result == ORR_OK && t < view->type_count; t++) {
        const orri_view_type* type = &view->types[t];
        bool pool = type->type->kind == ORRI_PUBLISHED_POOL;
        for (uint32_t id = 0;
             result == ORR_OK && id < (pool ? type->table.capacity : view->capacity); id++) {
            const orri_edition_block* block =
                type->edition != NULL ? orri_edition_at(type->edition, id) : NULL;
            if (type->table.data[id] != (block != NULL ? block->data : NULL)) {
                result = publish_validate_corrupt(publisher, type->type, id,
                                                  "a type table of a view has the wrong data");
            }
        }
    }
    for (uint32_t id = 0; result == ORR_OK && id < view->capacity; id++) {
        bool tracked = id < publisher->tracked_capacity && publisher->tracked[id].chunk != NULL;
        if (!tracked && view->chunks[id] != NULL) {
            result = publish_validate_corrupt(publisher, NULL, id,
                                              "a view shows a chunk that is not tracked");
        } else if (tracked && !publish_validate_stale(publisher, id)) {
            result = publish_validate_columns(view, id);
        }
    }
    return result;
}

orr_result orri_publisher_validate(orri_publisher* publisher)
{
    orr_result result = ORR_OK;
    for (uint32_t id = 0; result == ORR_OK && id < publisher->tracked_capacity; id++) {
        if (publisher->tracked[id].chunk != NULL && !publish_validate_stale(publisher, id)) {
            result = publish_validate_rows(publisher, id);
        }
    }
    for (uint32_t t = 0; result == ORR_OK && t < publisher->type_count; t++) {
        result = publish_validate_type(publisher, publisher->types[t]);
    }
    for (const orri_view* v = publisher->views; result == ORR_OK && v != NULL; v = v->next) {
        result = publish_validate_view(v);
    }
    return result;
}

bool orri_publish_remapped(const orri_publisher* publisher)
{
    const orr_world* world = publisher->world;
    for (uint32_t t = 0; t < publisher->type_count; t++) {
        const orri_published_type* type = publisher->types[t];
        if (type->kind == ORRI_PUBLISHED_POOL && orri_published_pool_stale(publisher, type)) {
            return false;
        }
        for (uint32_t id = 1; id < world->chunks.count; id++) {
            const orri_chunk* chunk = world->chunks.list[id];
            bool published = chunk != NULL &&
                             orri_cluster_find_column(chunk->cluster, type->handle) >= 0;
            if (published &&
                (id >= publisher->tracked_capacity || publish_validate_stale(publisher, id) ||
                 (type->kind == ORRI_PUBLISHED_CELLS &&
                  orri_published_instances_stale(type, chunk)))) {
                return false;
            }
        }
    }
    return true;
}
