// SPDX-License-Identifier: MIT
// Indexed references: the lists of referrers, and orr_referrers_get(). cascade.c handles the
// destruction of targets.
//
// Lists are in no order, and are sorted when they are read: keeping them sorted would make the cost
// of every set grow with the number of referrers.
#include "store/relation/relation.h"
#include "store/world/access.h"
#include <orrery/kinds.h>

#define RELATION_LINK_BYTES (ORRI_PAGE_SIZE * sizeof(orri_link))
#define RELATION_HEAD_BYTES (ORRI_PAGE_SIZE * sizeof(uint32_t))
#define RELATION_MARK_BYTES (ORRI_PAGE_SIZE / 8)

// ---- pages --------------------------------------------------------------------------------------

// Makes sure that the page of an index exists, zeroed.
static bool relation_page_make(orr_world* world, orri_pages* pages, uint32_t index, size_t bytes)
{
    uint32_t page = index >> ORRI_PAGE_BITS, old = pages->capacity;
    if (page < old && pages->list[page] != NULL) {
        return true;
    }
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_INDEX, &pages->list, &pages->capacity, page + 1)) {
        return false;
    }
    for (uint32_t i = old; i < pages->capacity; i++) {
        pages->list[i] = NULL;
    }
    pages->list[page] = orri_alloc_zero(&world->env, ORR_MEMORY_INDEX, bytes, ORRI_BLOCK_ALIGN);
    return pages->list[page] != NULL;
}

static void relation_pages_free(orr_world* world, orri_pages* pages, size_t bytes)
{
    for (uint32_t i = 0; i < pages->capacity; i++) {
        orri_free(&world->env, ORR_MEMORY_INDEX, pages->list[i], bytes, ORRI_BLOCK_ALIGN);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_INDEX, pages->list, pages->capacity);
    *pages = (orri_pages){0};
}

// ---- creating, clearing, rebuilding -------------------------------------------------------------

static size_t relation_bytes(const orri_type* type)
{
    return sizeof(orri_relation) + type->indexed_count * sizeof(orri_element);
}

orri_relation* orri_relation_create(orr_world* world, const orri_type* type)
{
    orri_relation* relation = orri_alloc_zero(&world->env, ORR_MEMORY_INDEX, relation_bytes(type),
                                              _Alignof(orri_relation));
    if (relation != NULL) {
        relation->type = type;
        relation->next = world->relations.first;
        world->relations.first = relation;
        world->relations.count++;
    }
    return relation;
}

void orri_relations_reset(orr_world* world)
{
    for (orri_relation* relation = world->relations.first; relation != NULL;
         relation = relation->next) {
        for (uint32_t e = 0; e < relation->type->indexed_count; e++) {
            relation_pages_free(world, &relation->elements[e].links, RELATION_LINK_BYTES);
            relation_pages_free(world, &relation->elements[e].heads, RELATION_HEAD_BYTES);
        }
    }
    relation_pages_free(world, &world->relations.marks, RELATION_MARK_BYTES);
}

bool orri_relation_reserve(orr_world* world, orri_relation* relation, uint32_t e, uint32_t index,
                           uint32_t target)
{
    orri_element* element = &relation->elements[e];
    return relation_page_make(world, &world->relations.marks, index, RELATION_MARK_BYTES) &&
           relation_page_make(world, &element->heads, target, RELATION_HEAD_BYTES) &&
           relation_page_make(world, &element->links, index, RELATION_LINK_BYTES);
}

static void relation_pages_clear(const orri_pages* pages, size_t bytes)
{
    for (uint32_t i = 0; i < pages->capacity; i++) {
        if (pages->list[i] != NULL) {
            memset(pages->list[i], 0, bytes);
        }
    }
}

void orri_relations_rebuild(orr_world* world)
{
    for (orri_relation* relation = world->relations.first; relation != NULL;
         relation = relation->next) {
        for (uint32_t e = 0; e < relation->type->indexed_count; e++) {
            relation_pages_clear(&relation->elements[e].links, RELATION_LINK_BYTES);
            relation_pages_clear(&relation->elements[e].heads, RELATION_HEAD_BYTES);
        }
    }
    for (orri_cluster* cluster = world->clusters.first; cluster != NULL; cluster = cluster->next) {
        if (cluster->indexed) {
            orri_relation_enter_rows(world, cluster, 0, cluster->row_count);
        }
    }
}

void orri_relations_term(orr_world* world)
{
    orri_relations_reset(world);
    for (orri_relation *relation = world->relations.first, *next; relation != NULL;
         relation = next) {
        next = relation->next;
        orri_free(&world->env, ORR_MEMORY_INDEX, relation, relation_bytes(relation->type),
                  _Alignof(orri_relation));
    }
    world->relations.first = NULL;
    world->relations.count = 0;
}

// ---- rows ---------------------------------------------------------------------------------------

// Advances `*column` to the next type with indexed references. Returns its relation; NULL at the
// end.
static orri_relation* relation_next(const orri_cluster* cluster, uint32_t* column)
{
    while (*column < cluster->type_count && cluster->columns[*column].table->relation == NULL) {
        ++*column;
    }
    return *column < cluster->type_count ? cluster->columns[*column].table->relation : NULL;
}

static uint32_t relation_index(const orri_cluster* cluster, uint32_t row)
{
    return orri_chunk_ids(orri_cluster_chunk_of(cluster, row))[row & ORRI_SLOT_MASK];
}

// Walks the ids as orri_index_give() will give them out: from the free list first, then fresh ones.
bool orri_relation_prepare_rows(orr_world* world, const orri_cluster* cluster, uint32_t first,
                                uint32_t count)
{
    uint32_t free_next = world->index.free_first, fresh = world->hot.count;
    for (uint32_t row = first; row < first + count; row++) {
        uint32_t index = free_next;
        if (index != ORRI_INDEX_NONE) {
            free_next = orri_record_at(world, index)->place;
        } else {
            index = fresh++;
        }
        orri_relation* relation;
        for (uint32_t c = 0; (relation = relation_next(cluster, &c)) != NULL; c++) {
            if (!orri_relation_prepare(world, relation, index,
                                       orri_relation_value(cluster, c, row))) {
                return false;
            }
        }
    }
    return true;
}

void orri_relation_enter_rows(orr_world* world, const orri_cluster* cluster, uint32_t first,
                              uint32_t count)
{
    orri_relation* relation;
    for (uint32_t c = 0; (relation = relation_next(cluster, &c)) != NULL; c++) {
        for (uint32_t row = first; row < first + count; row++) {
            orri_relation_set(world, relation, relation_index(cluster, row),
                              orri_relation_value(cluster, c, row));
        }
    }
}

bool orri_relation_prepare_move(orr_world* world, const orri_transition* transition, uint32_t row,
                                uint32_t index)
{
    for (uint32_t i = 0; i < transition->new_count; i++) {
        uint32_t c = transition->added[i];
        orri_relation* relation = transition->to->columns[c].table->relation;
        if (relation != NULL &&
            !orri_relation_prepare(world, relation, index,
                                   orri_relation_value(transition->to, c, row))) {
            return false;
        }
    }
    return true;
}

void orri_relation_leave(orr_world* world, const orri_cluster* cluster, uint32_t index)
{
    orri_relation* relation;
    for (uint32_t c = 0; (relation = relation_next(cluster, &c)) != NULL; c++) {
        orri_relation_set(world, relation, index, NULL);
    }
}

bool orri_relation_referred(const orr_world* world, uint32_t index)
{
    for (const orri_relation* r = world->relations.first; r != NULL; r = r->next) {
        for (uint32_t e = 0; e < r->type->indexed_count; e++) {
            if (orri_head_of(&r->elements[e], index) != 0) {
                return true;
            }
        }
    }
    return false;
}

// ---- reading ------------------------------------------------------------------------------------

// Restores a heap with the largest index on top, in which only the element at `at` is out of order.
static void relation_sink(orr_entity* heap, uint32_t count, uint32_t at)
{
    orr_entity entity = heap[at];
    for (uint64_t child; (child = 2 * (uint64_t)at + 1) < count; at = (uint32_t)child) {
        if (child + 1 < count && orri_id_index(heap[child]) < orri_id_index(heap[child + 1])) {
            child++;
        }
        if (orri_id_index(heap[child]) <= orri_id_index(entity)) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = entity;
}

static void relation_heap(orr_entity* entities, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;) {
        relation_sink(entities, count, i);
    }
}

// Heap sort: needs no memory, and its worst case is n log n.
void orri_entities_sort(orr_entity* entities, uint32_t count)
{
    relation_heap(entities, count);
    for (uint32_t i = count; i-- > 1;) {
        orr_entity last = entities[i];
        entities[i] = entities[0];
        entities[0] = last;
        relation_sink(entities, i, 0);
    }
}

// A search for referrers. `out` is a heap of the referrers with the smallest indexes so far.
typedef struct relation_search {
    const orr_world* world;
    const orri_relation* relation;
    uint32_t target;
    uint32_t begin, end; // Range of offsets of the elements to search.
    orr_entity* out;
    uint32_t out_count, found; // Room in `out`; referrers found in all.
} relation_search;

static bool relation_search_covers(const relation_search* search, uint32_t e)
{
    uint32_t offset = search->relation->type->indexed[e].offset;
    return offset >= search->begin && offset < search->end;
}

// True when a referrer was found through an earlier element: each referrer counts once.
static bool relation_found_before(const relation_search* search, uint32_t index, uint32_t e)
{
    while (e-- > 0) {
        const orri_link* link = orri_link_find(&search->relation->elements[e], index);
        if (relation_search_covers(search, e) && link != NULL &&
            link->target == search->target + 1) {
            return true;
        }
    }
    return false;
}

// Counts a referrer, and keeps it if it is among the out_count smallest.
static void relation_offer(relation_search* search, uint32_t index)
{
    orr_entity entity = orri_id_make(index, orri_record_at(search->world, index)->generation);
    if (search->found < search->out_count) {
        search->out[search->found] = entity;
        if (search->found + 1 == search->out_count) {
            relation_heap(search->out, search->out_count);
        }
    } else if (search->out_count > 0 && index < orri_id_index(search->out[0])) {
        search->out[0] = entity;
        relation_sink(search->out, search->out_count, 0);
    }
    search->found++;
}

static uint32_t relation_search_run(relation_search* search)
{
    for (uint32_t e = 0; e < search->relation->type->indexed_count; e++) {
        const orri_element* element = &search->relation->elements[e];
        uint32_t next = relation_search_covers(search, e) ? orri_head_of(element, search->target)
                                                          : 0;
        while (next != 0) {
            if (!relation_found_before(search, next - 1, e)) {
                relation_offer(search, next - 1);
            }
            next = orri_link_find(element, next - 1)->next;
        }
    }
    uint32_t written = search->found < search->out_count ? search->found : search->out_count;
    orri_entities_sort(search->out, written);
    return search->found;
}

// The range of bytes of a field (NULL: of the whole value). False (reported): no indexed element is
// in it.
static bool relation_field_range(const orr_world* world, const orri_type* type, const char* field,
                                 uint32_t* begin, uint32_t* end)
{
    *begin = 0;
    *end = type->info.size;
    if (field != NULL) {
        orr_field_place place;
        if (orr_field_find(&type->info, field, &place) != ORR_OK) {
            return false;
        }
        *begin = place.offset;
        *end = place.offset + place.type->size * (place.count > 0 ? place.count : 1);
    }
    for (uint32_t e = 0; e < type->indexed_count; e++) {
        if (type->indexed[e].offset >= *begin && type->indexed[e].offset < *end) {
            return true;
        }
    }
    (void)orri_refuse(orri_env_of(world), ORR_ERR_FIELD, ORR_LOG_ID_CALL_REFUSED,
                      "orr_referrers_get: %s%s%s is not indexed; set ORR_FIELD_INDEXED where the "
                      "type is declared",
                      type->info.name, field != NULL ? "." : "", field != NULL ? field : "");
    return false;
}

uint32_t orr_referrers_get(const orr_world* world, orr_entity target, orr_type type,
                           const char* field, orr_entity* out, uint32_t out_count)
{
    ORR_ASSERT(world != NULL);
    if (!orri_access_reads(world, "orr_referrers_get", type, target)) {
        return 0;
    }
    const orri_type* found = orri_type_at(&world->schema, type);
    relation_search search = {.world = world,
                              .target = orri_id_index(target),
                              .out = out,
                              .out_count = out != NULL ? out_count : 0};
    if (found == NULL) {
        (void)orri_refuse_type(world, "orr_referrers_get", type);
        return 0;
    }
    if (out == NULL && out_count > 0) {
        (void)orri_refuse_argument(world, "orr_referrers_get", "out is NULL");
        return 0;
    }
    if (!relation_field_range(world, found, field, &search.begin, &search.end)) {
        return 0;
    }
    if (orri_record_find(world, target) == NULL) {
        (void)orri_refuse_entity(world, "orr_referrers_get", target, (orr_type){0});
        return 0;
    }
    search.relation = orri_table_relation(world, found);
    return search.relation != NULL ? relation_search_run(&search) : 0;
}

#undef RELATION_LINK_BYTES
#undef RELATION_HEAD_BYTES
#undef RELATION_MARK_BYTES
