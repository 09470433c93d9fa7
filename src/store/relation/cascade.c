// SPDX-License-Identifier: MIT
// Cascades: the entities that are destroyed with a given one, because their indexed references say
// so, and the references that are cleared or kept.
//
//   1. The whole list is made, level by level, without recursion; entities on it are marked.
//   2. Everything that may be refused is prepared.
//   3. Links are removed, fields cleared and rows destroyed. This cannot fail.
#include "store/change/change_set.h"
#include "store/relation/relation.h"

// ---- the list -----------------------------------------------------------------------------------

// The marks of an index's page; NULL: no entity of this page is a referrer, so none can be found
// twice.
static uint64_t* cascade_marks(const orr_world* world, uint32_t index)
{
    uint32_t page = index >> ORRI_PAGE_BITS;
    return page < world->relations.marks.capacity ? world->relations.marks.list[page] : NULL;
}

bool orri_cascade_marked(const orr_world* world, uint32_t index)
{
    const uint64_t* marks = cascade_marks(world, index);
    return marks != NULL && orri_bit_get(marks, index & ORRI_PAGE_MASK);
}

static void cascade_mark(const orr_world* world, uint32_t index, bool on)
{
    uint64_t* marks = cascade_marks(world, index);
    if (marks != NULL) {
        orri_bit_set(marks, index & ORRI_PAGE_MASK, on);
    }
}

void orri_cascade_unmark(const orr_world* world, uint32_t index)
{
    cascade_mark(world, index, false);
}

// False for an entity that the change set will create.
static bool cascade_has_record(const orr_world* world, uint32_t index)
{
    return index < world->hot.count && (orri_record_at(world, index)->generation & ORRI_DEAD) == 0;
}

static bool cascade_add(orri_cascade* cascade, uint32_t index)
{
    if (!ORRI_RESERVE(&cascade->world->env, ORR_MEMORY_TEMP, &cascade->list, &cascade->capacity,
                      cascade->count + 1)) {
        return false;
    }
    cascade->list[cascade->count++] =
        orri_id_make(index, cascade_has_record(cascade->world, index)
                                ? orri_record_at(cascade->world, index)->generation
                                : 0); // Not known yet, and not used.
    cascade_mark(cascade->world, index, true);
    return true;
}

bool orri_cascade_add(orri_cascade* cascade, uint32_t index)
{
    return cascade_add(cascade, index);
}

// Adds the referrers of a target through one element.
static bool cascade_follow(orri_cascade* cascade, const orri_element* element, uint32_t target)
{
    for (uint32_t next = orri_head_of(element, target); next != 0;
         next = orri_link_find(element, next - 1)->next) {
        if (!orri_cascade_marked(cascade->world, next - 1) && !cascade_add(cascade, next - 1)) {
            return false;
        }
    }
    return true;
}

// Adds the referrers of a target through all elements that destroy.
static bool cascade_follow_all(orri_cascade* cascade, uint32_t target)
{
    for (const orri_relation* r = cascade->world->relations.first; r != NULL; r = r->next) {
        for (uint32_t e = 0; e < r->type->indexed_count; e++) {
            if (r->type->indexed[e].on_destroy == ORR_ON_DESTROY_DESTROY &&
                !cascade_follow(cascade, &r->elements[e], target)) {
                return false;
            }
        }
    }
    return true;
}

// Adds levels of referrers until no more follow. Each level is sorted, so that the order does not
// depend on the lists.
bool orri_cascade_spread(orri_cascade* cascade)
{
    bool ok = true;
    for (uint32_t first = 0, end = cascade->count; ok && first < end; end = cascade->count) {
        for (; ok && first < end; first++) {
            ok = cascade_follow_all(cascade, orri_id_index(cascade->list[first]));
        }
        orri_entities_sort(cascade->list + end, cascade->count - end);
    }
    return ok;
}

// The same, and removes the marks before a refusal is reported.
static bool cascade_spread(orri_cascade* cascade)
{
    bool ok = orri_cascade_spread(cascade);
    for (uint32_t i = 0; i < cascade->count; i++) {
        cascade_mark(cascade->world, orri_id_index(cascade->list[i]), false);
    }
    return ok;
}

// ---- references of entities that stay -----------------------------------------------------------

static orri_chunk* cascade_column(const orr_world* world, const orri_type* type, uint32_t index,
                                  uint32_t* column)
{
    orri_chunk* chunk = orri_place_chunk(world, orri_record_at(world, index)->place);
    *column =
        (uint32_t)orri_table_column(world, orri_type_index(world, (orr_type){type->id}), chunk->id);
    return chunk;
}

// Prepares the rows of all referrers whose reference to `target` is cleared. Referrers on the list
// are prepared, too, which does no harm; clusters that are cleared as a whole are skipped.
static bool cascade_prepare(orr_world* world, uint32_t target)
{
    for (const orri_relation* r = world->relations.first; r != NULL; r = r->next) {
        for (uint32_t e = 0; e < r->type->indexed_count; e++) {
            const orri_element* element = &r->elements[e];
            bool clears = r->type->indexed[e].on_destroy == ORR_ON_DESTROY_CLEAR;
            for (uint32_t next = clears ? orri_head_of(element, target) : 0; next != 0;
                 next = orri_link_find(element, next - 1)->next) {
                uint32_t column = UINT32_MAX;
                orri_chunk* chunk = cascade_has_record(world, next - 1)
                                        ? cascade_column(world, r->type, next - 1, &column)
                                        : NULL;
                // A referrer that is about to get the value has a new row, which is prepared
                // already.
                if (column != UINT32_MAX && !chunk->cluster->clearing &&
                    !orri_rows_prepare(world, chunk, column,
                                       orri_place_slot(orri_record_at(world, next - 1)->place),
                                       1)) {
                    return false;
                }
            }
        }
    }
    return true;
}

// Sets a reference to null. False: the block is shared, and its copy was refused memory.
static bool cascade_clear(orr_world* world, const orri_type* type, uint32_t e, uint32_t index)
{
    uint32_t column;
    orri_chunk* chunk = cascade_column(world, type, index, &column);
    uint32_t slot = orri_place_slot(orri_record_at(world, index)->place);
    uint8_t* data = orri_rows_write(world, chunk, column, slot, 1);
    if (data != NULL) {
        memset(data + (size_t)slot * type->info.size + type->indexed[e].offset, 0,
               sizeof(orr_entity));
    }
    return data != NULL;
}

// Removes all links to an entity, and clears the fields whose policy says so. `clear`: clears all
// fields.
static void cascade_release(orr_world* world, uint32_t target, bool clear)
{
    for (const orri_relation* r = world->relations.first; r != NULL; r = r->next) {
        for (uint32_t e = 0; e < r->type->indexed_count; e++) {
            bool clears = clear || r->type->indexed[e].on_destroy == ORR_ON_DESTROY_CLEAR;
            for (uint32_t next; (next = orri_head_of(&r->elements[e], target)) != 0;) {
                if (clears && !cascade_clear(world, r->type, e, next - 1)) {
                    break;
                }
                orri_link_cut(&r->elements[e], next - 1);
            }
        }
    }
}

// Entities of an appender's unused rows may have been referred to already. If the copy of a shared
// block is refused, the reference and its link stay: the next entity that gets this id is then its
// target.
void orri_relation_undo_rows(orr_world* world, const orri_cluster* cluster, uint32_t first,
                             uint32_t count)
{
    for (uint32_t row = first; row < first + count; row++) {
        const orri_chunk* chunk = orri_cluster_chunk_of(cluster, row);
        uint32_t index = orri_chunk_ids(chunk)[row & ORRI_SLOT_MASK];
        orri_relation_leave(world, cluster, index);
        cascade_release(world, index, true);
    }
}

// ---- destroying ---------------------------------------------------------------------------------

// Cannot fail: everything is prepared. First the listed entities stop being referrers, then
// references to them are cleared.
static void cascade_commit(void* user)
{
    const orri_cascade* cascade = user;
    orr_world* world = cascade->world;
    for (uint32_t i = 0; i < cascade->count; i++) {
        uint32_t index = orri_id_index(cascade->list[i]);
        orri_relation_leave(
            world, orri_place_chunk(world, orri_record_at(world, index)->place)->cluster, index);
    }
    for (uint32_t i = 0; i < cascade->count; i++) {
        cascade_release(world, orri_id_index(cascade->list[i]), false);
    }
}

void orri_cascade_commit(const orri_cascade* cascade)
{
    cascade_commit((void*)(uintptr_t)cascade);
}

bool orri_cascade_prepare(const orri_cascade* cascade)
{
    for (uint32_t i = 0; i < cascade->count; i++) {
        if (!cascade_prepare(cascade->world, orri_id_index(cascade->list[i]))) {
            return false;
        }
    }
    return true;
}

// The clusters of which those with `clearing` are cleared: one, or all of the world.
static orri_cluster* cascade_cluster_first(const orri_cascade* cascade)
{
    return cascade->only != NULL ? cascade->only : cascade->world->clusters.first;
}

static orri_cluster* cascade_cluster_next(const orri_cascade* cascade, const orri_cluster* cluster)
{
    return cascade->only != NULL ? NULL : cluster->next;
}

static void cascade_commit_clusters(void* user)
{
    const orri_cascade* cascade = user;
    cascade_commit(user);
    for (orri_cluster* cluster = cascade_cluster_first(cascade); cluster != NULL;
         cluster = cascade_cluster_next(cascade, cluster)) {
        if (cluster->clearing) {
            bool killed = orri_cluster_kill_rows(cascade->world, cluster);
            ORR_ASSERT(killed);
            (void)killed;
        }
    }
}

// Completes the list from the given entities, and prepares everything.
static orr_result cascade_complete(orri_cascade* cascade)
{
    cascade->given_count = cascade->count;
    if (!cascade_spread(cascade)) {
        return orri_refuse_memory(&cascade->world->env, "collecting the entities of a cascade");
    }
    return orri_cascade_prepare(cascade) ? ORR_OK : orri_env_result(&cascade->world->env);
}

static orr_result cascade_end(orri_cascade* cascade, orr_result result)
{
    ORRI_RELEASE(&cascade->world->env, ORR_MEMORY_TEMP, cascade->list, cascade->capacity);
    return result;
}

static bool cascade_add_cluster(orri_cascade* cascade, const orri_cluster* cluster)
{
    for (uint32_t row = 0; row < cluster->row_count; row++) {
        uint32_t index = orri_chunk_ids(orri_cluster_chunk_of(cluster, row))[row & ORRI_SLOT_MASK];
        if (!orri_index_prepare(cascade->world, index) || !cascade_add(cascade, index)) {
            return false;
        }
    }
    return true;
}

orr_result orri_relation_destroy_clusters(orr_world* world, const char* call, orri_cluster* only)
{
    orri_cascade cascade = {.world = world, .only = only};
    for (orri_cluster* cluster = cascade_cluster_first(&cascade); cluster != NULL;
         cluster = cascade_cluster_next(&cascade, cluster)) {
        if (cluster->clearing && !cascade_add_cluster(&cascade, cluster)) {
            for (uint32_t i = 0; i < cascade.count; i++) {
                cascade_mark(world, orri_id_index(cascade.list[i]), false);
            }
            return cascade_end(
                &cascade, orri_refuse_memory(&world->env, "collecting the entities of a cascade"));
        }
    }
    orr_result result = cascade_complete(&cascade);
    uint32_t more = cascade.count - cascade.given_count;
    if (result == ORR_OK && more == 0) {
        cascade_commit_clusters(&cascade);
    } else if (result == ORR_OK) {
        result = orri_destroy_list(world, call, cascade.list + cascade.given_count, more,
                                   cascade_commit_clusters, &cascade);
    }
    return cascade_end(&cascade, result);
}
