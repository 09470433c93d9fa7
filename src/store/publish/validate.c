// SPDX-License-Identifier: MIT
// The invariants of published values (publish_detail.h), checked.
#include "store/cow/share.h"
#include "store/publish/publish_detail.h"

ORRI_COLD static orr_result publish_validate_corrupt(const orri_publisher* publisher,
                                                     const orri_published_type* type, uint32_t id,
                                                     const char* what)
{
    return orri_refuse(&publisher->world->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                       "published values: %s, chunk %u: %s",
                       type != NULL ? type->type->info.name : "rows", (unsigned)id, what);
}

// Rows have changed since they were followed: nothing can be said of them.
static bool publish_validate_stale(const orri_publisher* publisher, uint32_t id)
{
    const orri_chunk* chunk =
        id < publisher->world->chunks.count ? publisher->world->chunks.list[id] : NULL;
    const orri_remapped* followed = &publisher->followed[id];
    return chunk == NULL || chunk != followed->chunk || chunk->stamp != followed->stamp;
}

static orr_result publish_validate_rows(const orri_publisher* publisher, uint32_t id)
{
    const orr_world* world = publisher->world;
    const orri_remapped* followed = &publisher->followed[id];
    const orri_chunk* chunk = world->chunks.list[id];
    bool same = followed->rows == orri_chunk_rows(chunk);
    for (uint32_t r = 0; same && r < followed->rows; r++) {
        uint32_t index = orri_chunk_ids(chunk)[r];
        same = followed->ids[r].id ==
               orri_id_make(index, orri_record_at(world, index)->generation).id;
    }
    return same ? ORR_OK
                : publish_validate_corrupt(publisher, NULL, id, "its rows are not those followed");
}

// Blocks with rolls have that of the type, which says what is there; `stale`: that cannot be said.
static orr_result publish_validate_roll(const orri_publisher* publisher,
                                        const orri_published_type* type,
                                        const orri_edition_block* block, uint32_t id, bool stale)
{
    const orri_owners* roll = orri_owners_at(type, id);
    if ((block != NULL) != (roll != NULL) ||
        (block != NULL && (block->roll != roll || block->rows != roll->rows))) {
        return publish_validate_corrupt(publisher, type, id, "a block and its roll do not agree");
    }
    bool pool = type->kind == ORRI_PUBLISHED_POOL;
    bool right = block == NULL || stale ||
                 (pool ? orri_published_pool_agrees(publisher, type, id, roll)
                       : orri_published_cell_agrees(type, publisher->world->chunks.list[id], roll));
    return right ? ORR_OK
                 : publish_validate_corrupt(publisher, type, id, "a roll is not as it was");
}

static orr_result publish_validate_pool(const orri_publisher* publisher,
                                        const orri_published_type* type,
                                        const orri_edition* edition, uint32_t number)
{
    const orri_edition_block* block = orri_edition_at(edition, number);
    bool stale = orri_published_pool_stale(publisher, type);
    if (!stale && (block != NULL) != (number < orri_published_pool_blocks(publisher, type))) {
        return publish_validate_corrupt(publisher, type, number, "a block is missing, or too many");
    }
    return publish_validate_roll(publisher, type, block, number, stale);
}

static orr_result publish_validate_block(const orri_publisher* publisher,
                                         const orri_published_type* type,
                                         const orri_edition* edition, uint32_t id)
{
    if (type->kind == ORRI_PUBLISHED_POOL) {
        return publish_validate_pool(publisher, type, edition, id);
    }
    const orri_edition_block* block = orri_edition_at(edition, id);
    const orri_remapped* followed = &publisher->followed[id];
    bool stale = followed->chunk != NULL && publish_validate_stale(publisher, id);
    int32_t column =
        followed->chunk != NULL && !stale
            ? orri_cluster_find_column(publisher->world->chunks.list[id]->cluster, type->handle)
            : -1;
    if (!stale && (block != NULL) != (column >= 0)) {
        return publish_validate_corrupt(publisher, type, id, "a block is missing, or one too many");
    }
    if (block != NULL && (block->rows != followed->rows || block->refs == 0 ||
                          (!stale && block->column != column))) {
        return publish_validate_corrupt(publisher, type, id, "a block has wrong rows or column");
    }
    if (block != NULL && ((block->share != NULL) != (block->level == ORRI_EDITION_LENT) ||
                          (block->share != NULL && block->share->data != block->data))) {
        return publish_validate_corrupt(publisher, type, id,
                                        "a lent block has not the data it had");
    }
    if (type->kind != ORRI_PUBLISHED_CELLS) {
        return ORR_OK;
    }
    stale = stale ||
            (block != NULL && orri_published_cell_stale(type, publisher->world->chunks.list[id]));
    return publish_validate_roll(publisher, type, block, id, stale);
}

// How many editions have the block.
static uint32_t publish_validate_holders(const orri_published_type* type, uint32_t id,
                                         const orri_edition_block* block)
{
    uint32_t count = type->pending != NULL && orri_edition_at(type->pending, id) == block;
    for (const orri_edition* e = type->editions; e != NULL; e = e->next) {
        count += orri_edition_at(e, id) == block;
    }
    return count;
}

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
        return publish_validate_corrupt(publisher, type, 0, "an edition is counted wrongly");
    }
    orr_result result = ORR_OK;
    uint32_t most = type->kind == ORRI_PUBLISHED_POOL ? edition->capacity
                                                      : publisher->followed_capacity;
    for (uint32_t id = 0; result == ORR_OK && id < most; id++) {
        result = publish_validate_block(publisher, type, edition, id);
        const orri_edition_block* block = orri_edition_at(edition, id);
        if (result == ORR_OK && block != NULL &&
            block->refs != publish_validate_holders(type, id, block)) {
            result = publish_validate_corrupt(publisher, type, id, "a block is counted wrongly");
        }
    }
    return result;
}

// A live block that is held where nobody may hold one would be copied in the midst of a system.
static orr_result publish_validate_lent(const orri_publisher* publisher,
                                        const orri_published_type* type)
{
    bool right = type->kept_count <= type->lent_count;
    // Of pinned types nothing is lent, and blocks are those of the pool.
    bool looks = !type->lends && type->kind != ORRI_PUBLISHED_POOL;
    for (uint32_t id = 0; right && looks && id < type->editions->capacity; id++) {
        const orri_edition_block* block = type->editions->blocks[id];
        bool there = block != NULL && !publish_validate_stale(publisher, id);
        const orri_share* share =
            there ? publisher->world->chunks.list[id]->columns[block->column].share : NULL;
        right = share == NULL || share != block->share;
    }
    return right ? ORR_OK
                 : publish_validate_corrupt(publisher, type, 0, "blocks are lent that may not be");
}

static orr_result publish_validate_type(const orri_publisher* publisher,
                                        const orri_published_type* type)
{
    orr_result result =
        type->pending != NULL ? publish_validate_edition(publisher, type, type->pending) : ORR_OK;
    result = result == ORR_OK ? publish_validate_lent(publisher, type) : result;
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
               ? publish_validate_corrupt(publisher, type, 0, "free blocks are counted wrongly")
               : result;
}

// What a view has of a type.
static const uint8_t* publish_validate_seen(const orri_view* view, const orri_published_type* type,
                                            uint32_t id)
{
    uint32_t t = 0;
    while (view->types[t].type != type) {
        t++;
    }
    return view->types[t].table.data[id];
}

// Columns of one chunk: published where the view has the type, live elsewhere.
static orr_result publish_validate_columns(const orri_view* view, uint32_t id)
{
    const orri_publisher* publisher = view->publisher;
    const orri_chunk* chunk = publisher->world->chunks.list[id];
    const orri_view_chunk* entry = view->chunks[id];
    if ((entry != NULL) != orri_view_shows(view, chunk)) {
        return publish_validate_corrupt(publisher, NULL, id, "a view shows it wrongly");
    }
    for (uint32_t c = 0; entry != NULL && c < entry->count; c++) {
        const orri_type* type = chunk->cluster->columns[c].type;
        orr_type handle = {type != NULL ? type->id : 0};
        bool own = type != NULL && orri_view_has(view, handle);
        const orri_published_type* found = own ? orri_published_find(publisher, handle) : NULL;
        const uint8_t* data = own ? publish_validate_seen(view, found, id) : chunk->columns[c].data;
        if ((view->pinned || type == NULL) && entry->columns[c].data != data) {
            return publish_validate_corrupt(publisher, found, id, "a view's column is elsewhere");
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
                result =
                    publish_validate_corrupt(publisher, type->type, id, "a view's table is wrong");
            }
        }
    }
    for (uint32_t id = 0; result == ORR_OK && id < view->capacity; id++) {
        bool followed = id < publisher->followed_capacity && publisher->followed[id].chunk != NULL;
        if (!followed && view->chunks[id] != NULL) {
            result = publish_validate_corrupt(publisher, NULL, id, "a view shows what is gone");
        } else if (followed && !publish_validate_stale(publisher, id)) {
            result = publish_validate_columns(view, id);
        }
    }
    return result;
}

orr_result orri_publisher_validate(orri_publisher* publisher)
{
    orr_result result = ORR_OK;
    for (uint32_t id = 0; result == ORR_OK && id < publisher->followed_capacity; id++) {
        if (publisher->followed[id].chunk != NULL && !publish_validate_stale(publisher, id)) {
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
                (id >= publisher->followed_capacity || publish_validate_stale(publisher, id) ||
                 (type->kind == ORRI_PUBLISHED_CELLS && orri_published_cell_stale(type, chunk)))) {
                return false;
            }
        }
    }
    return true;
}
