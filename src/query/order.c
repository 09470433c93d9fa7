// SPDX-License-Identifier: MIT
// Sorted queries (order_by). The order is kept from one iteration to the next. A refresh tests each
// chunk: entities of unchanged chunks keep their items; items of changed chunks are removed, read
// again, sorted, and merged in. A refresh costs the changed rows and one pass over the order.
#include "query/query.h"
#include "store/publish/publish.h"

// ---- keys: values mapped to unsigned numbers of the same order ----------------------------------

static uint64_t order_signed(int64_t value)
{
    return (uint64_t)value ^ (uint64_t)1 << 63;
}

// -0 comes before 0. NaN gets the largest key, which no number has, and comes last in both
// directions.
static uint64_t order_double(double value)
{
    if (value != value) {
        return UINT64_MAX;
    }
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 != 0 ? ~bits : bits | (uint64_t)1 << 63;
}

static uint64_t order_unsigned_bytes(const uint8_t* from, uint32_t size)
{
    uint8_t b1;
    uint16_t b2;
    uint32_t b4;
    uint64_t b8;
    switch (size) {
    case 1:
        memcpy(&b1, from, 1);
        return b1;
    case 2:
        memcpy(&b2, from, 2);
        return b2;
    case 4:
        memcpy(&b4, from, 4);
        return b4;
    default:
        memcpy(&b8, from, 8);
        return b8;
    }
}

static uint64_t order_signed_bytes(const uint8_t* from, uint32_t size)
{
    uint64_t raw = order_unsigned_bytes(from, size);
    uint32_t shift = 64 - size * 8;
    // Sign extension by an arithmetic shift, which all supported compilers do.
    return order_signed((int64_t)(raw << shift) >> shift);
}

static uint64_t order_key(const orri_order* order, const uint8_t* value)
{
    const uint8_t* from = value + order->place.offset;
    uint32_t size = order->place.type->size;
    uint64_t key;
    float single;
    double full;
    switch (order->place.type->kind) {
    case ORR_KIND_F32:
        memcpy(&single, from, sizeof single);
        key = order_double((double)single);
        if (key == UINT64_MAX) {
            return key;
        }
        break;
    case ORR_KIND_F64:
        memcpy(&full, from, sizeof full);
        key = order_double(full);
        if (key == UINT64_MAX) {
            return key;
        }
        break;
    case ORR_KIND_I8:
    case ORR_KIND_I16:
    case ORR_KIND_I32:
    case ORR_KIND_I64:
    case ORR_KIND_ENUM:
        key = order_signed_bytes(from, size);
        break;
    default:
        key = order_unsigned_bytes(from, size);
        break;
    }
    return order->descending ? ~key : key;
}

// True if values of a kind can be sort keys.
static bool order_kind_allowed(orr_kind kind)
{
    return kind != ORR_KIND_STRUCT && kind != ORR_KIND_STRING && kind != ORR_KIND_ARRAY &&
           kind != ORR_KIND_OPAQUE;
}

// ---- creating -----------------------------------------------------------------------------------

static orr_result order_refuse(orr_query* query, const char* path, const char* what)
{
    return orri_refuse(&query->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_QUERY_REFUSED,
                       "orr_query_create: order_by \"%s\" %s", path, what);
}

// Finds the term of a path such as "Depth.z", and its field. Type names may have dots, so the
// longest type name that fits is used.
static const orr_term* order_term(const orr_query* query, const char* path, const char** field)
{
    const orr_term* found = NULL;
    size_t longest = 0;
    for (uint32_t t = 0; query->node_count == 1 && t < query->leaves[0].term_count; t++) {
        const orr_term* term = &query->leaves[0].terms[t];
        const orri_type* type = orri_type_at(&query->world->schema, term->type);
        size_t length = type != NULL ? strlen(type->info.name) : 0;
        if (length > longest && strncmp(path, type->info.name, length) == 0 &&
            path[length] == '.') {
            found = term;
            longest = length;
            *field = path + length + 1;
        }
    }
    return found;
}

orr_result orri_order_create(orr_query* query, const char* path, bool descending)
{
    const char* field = "";
    const orr_term* term = order_term(query, path, &field);
    const orri_type* type = term != NULL ? orri_type_at(&query->world->schema, term->type) : NULL;
    if (term == NULL || term->kind != ORR_REQUIRED) {
        return order_refuse(query, path,
                            "must be Type.field, where Type is a required term of the query");
    }
    if (type->info.storage == ORR_PINNED || type->info.multiplicity == ORR_MULTIPLE) {
        return order_refuse(query, path, "must name a type that is neither multiple nor pinned");
    }
    orr_field_place place;
    orr_result result = orr_field_find(&type->info, field, &place);
    if (result != ORR_OK) {
        return result;
    }
    if (place.count != 0 || !order_kind_allowed(place.type->kind)) {
        return order_refuse(query, path, "must name a single number, bool, character or entity");
    }
    query->order = ORRI_ALLOC_ZERO(&query->world->env, ORR_MEMORY_QUERY, orri_order, 1);
    if (query->order == NULL) {
        return orri_refuse_memory(&query->world->env, "creating a query");
    }
    query->order->type = term->type;
    query->order->place = place;
    query->order->descending = descending;
    return ORR_OK;
}

void orri_order_destroy(orr_query* query)
{
    orri_env* env = &query->world->env;
    orri_order* order = query->order;
    if (order != NULL) {
        ORRI_FREE(env, ORR_MEMORY_QUERY, orri_ranked, order->items, order->capacity);
        ORRI_FREE(env, ORR_MEMORY_QUERY, orri_ranked, order->scratch, order->capacity);
        ORRI_RELEASE(env, ORR_MEMORY_QUERY, order->clean, order->clean_capacity);
        ORRI_FREE(env, ORR_MEMORY_QUERY, orri_order, order, 1);
        query->order = NULL;
    }
}

// ---- sorting ------------------------------------------------------------------------------------

static bool order_before(const orri_ranked* a, const orri_ranked* b)
{
    return a->key != b->key ? a->key < b->key : a->index < b->index;
}

// Merges a[0 … a_count) and b[0 … b_count) into `out`.
static void order_merge(const orri_ranked* a, uint32_t a_count, const orri_ranked* b,
                        uint32_t b_count, orri_ranked* out)
{
    uint32_t i = 0, k = 0, n = 0;
    while (i < a_count && k < b_count) {
        out[n++] = order_before(&b[k], &a[i]) ? b[k++] : a[i++];
    }
    while (i < a_count) {
        out[n++] = a[i++];
    }
    while (k < b_count) {
        out[n++] = b[k++];
    }
}

// Length of the sorted run at the beginning.
static uint32_t order_run(const orri_ranked* items, uint32_t count)
{
    uint32_t run = count > 0;
    while (run < count && !order_before(&items[run], &items[run - 1])) {
        run++;
    }
    return run;
}

// Natural merge sort: merges existing runs, so sorted input costs one pass.
void orri_ranked_sort(orri_ranked* items, uint32_t count, orri_ranked* scratch)
{
    while (order_run(items, count) < count) {
        for (uint32_t first = 0; first < count;) {
            uint32_t a = order_run(items + first, count - first);
            uint32_t b = order_run(items + first + a, count - first - a);
            order_merge(items + first, a, items + first + a, b, scratch + first);
            first += a + b;
        }
        memcpy(items, scratch, count * sizeof *items);
    }
}

// ---- refreshing ---------------------------------------------------------------------------------

// True if keys, rows and enable bits of a chunk are unchanged since the mark.
static bool order_chunk_clean(const orri_order* order, const orri_chunk* chunk)
{
    int32_t column = orri_cluster_find_column(chunk->cluster, order->type);
    if (chunk->columns[column].version > order->mark || chunk->stamp > order->mark) {
        return false;
    }
    // Enable bits and instance counts: a new enabled instance next to disabled ones makes the row
    // match.
    for (uint32_t c = chunk->cluster->type_count;
         chunk->cluster->has_bits && c < chunk->column_count; c++) {
        if (chunk->columns[c].version > order->mark) {
            return false;
        }
    }
    return true;
}

// True if no pool of the query's pinned terms changed since the mark. A change there can affect any
// row.
static bool order_pools_clean(const orr_query* query)
{
    for (uint32_t t = 0; query->by_row && t < query->leaves[0].term_count; t++) {
        const orri_pool* pool = orri_pool_find(query->world, query->leaves[0].terms[t].type);
        if (pool != NULL && pool->version > query->order->mark) {
            return false;
        }
    }
    return true;
}

// Sets the bits of unchanged chunks. True if the order must be repaired.
static bool order_mark_unchanged(orr_query* query, bool all_dirty)
{
    orri_order* order = query->order;
    bool any = false;
    uint32_t chunks = 0;
    memset(order->clean, 0, order->clean_capacity * sizeof *order->clean);
    for (uint32_t e = 0; e < query->entry_count; e++) {
        const orri_cluster* cluster = query->entries[e].cluster;
        for (uint32_t i = 0; cluster != NULL && i < cluster->chunk_count; i++) {
            const orri_chunk* chunk = cluster->chunks[i];
            chunks++;
            if (!all_dirty && order_chunk_clean(order, chunk)) {
                orri_bit_set(order->clean, chunk->id, true);
            } else {
                any = true;
            }
        }
    }
    any = any || chunks != order->chunk_count;
    order->chunk_count = chunks;
    return any;
}

// Rows of all matching clusters. The order never has more items.
static uint64_t order_rows(const orr_query* query)
{
    uint64_t rows = 0;
    for (uint32_t e = 0; e < query->entry_count; e++) {
        rows += query->entries[e].cluster != NULL ? query->entries[e].cluster->row_count : 0;
    }
    return rows;
}

// Grows the items. False if there is no memory.
static bool order_grow(orr_query* query, uint64_t needed)
{
    orri_order* order = query->order;
    orri_env* env = &query->world->env;
    if (needed <= order->capacity) {
        return true;
    }
    uint64_t capacity =
        (uint64_t)order->capacity * 3 / 2 > needed ? (uint64_t)order->capacity * 3 / 2 : needed;
    if (capacity > UINT32_MAX) {
        return false;
    }
    orri_ranked* items = ORRI_ALLOC(env, ORR_MEMORY_QUERY, orri_ranked, capacity);
    orri_ranked* scratch = ORRI_ALLOC(env, ORR_MEMORY_QUERY, orri_ranked, capacity);
    if (items == NULL || scratch == NULL) {
        ORRI_FREE(env, ORR_MEMORY_QUERY, orri_ranked, items, capacity);
        ORRI_FREE(env, ORR_MEMORY_QUERY, orri_ranked, scratch, capacity);
        return false;
    }
    if (order->count > 0) {
        memcpy(items, order->items, order->count * sizeof *items);
    }
    ORRI_FREE(env, ORR_MEMORY_QUERY, orri_ranked, order->items, order->capacity);
    ORRI_FREE(env, ORR_MEMORY_QUERY, orri_ranked, order->scratch, order->capacity);
    order->items = items;
    order->scratch = scratch;
    order->capacity = (uint32_t)capacity;
    return true;
}

// Appends items for the matching rows of a chunk.
static void order_append(orr_query* query, const uint16_t* map, const orri_chunk* chunk)
{
    orri_order* order = query->order;
    int32_t column = orri_cluster_find_column(chunk->cluster, order->type);
    const uint8_t* data = orri_columns_here(query->world, chunk)[column].data;
    size_t size = chunk->cluster->columns[column].size;
    uint32_t rows = orri_chunk_rows(chunk);
    for (uint32_t word = 0; word * 64 < rows; word++) {
        uint32_t left = rows - word * 64;
        uint64_t mask = left < 64 ? ((uint64_t)1 << left) - 1 : UINT64_MAX;
        if (map[query->field_count] != ORRI_MATCH_ALL) {
            mask = orri_query_mask(query, orri_entry_leaves(query, map), chunk, word, mask);
        }
        for (; mask != 0; mask &= mask - 1) {
            uint32_t row = word * 64 + (uint32_t)__builtin_ctzll(mask);
            order->items[order->count++] = (orri_ranked){order_key(order, data + row * size),
                                                         orri_chunk_ids(chunk)[row], chunk->id};
        }
    }
}

// Removes the items of changed chunks, reads them again, sorts them, and merges them in.
static void order_repair(orr_query* query)
{
    orri_order* order = query->order;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < order->count; i++) {
        if (orri_bit_get(order->clean, order->items[i].chunk)) {
            order->items[kept++] = order->items[i];
        }
    }
    order->count = kept;
    for (uint32_t e = 0; e < query->entry_count; e++) {
        const orri_cluster* cluster = query->entries[e].cluster;
        for (uint32_t i = 0; cluster != NULL && i < cluster->chunk_count; i++) {
            if (!orri_bit_get(order->clean, cluster->chunks[i]->id)) {
                order_append(query, orri_entry_map(query, e), cluster->chunks[i]);
            }
        }
    }
    if (kept < order->count) {
        orri_ranked_sort(order->items + kept, order->count - kept, order->scratch);
    }
    if (kept > 0 && kept < order->count) {
        order_merge(order->items, kept, order->items + kept, order->count - kept, order->scratch);
        orri_ranked* merged = order->scratch;
        order->scratch = order->items;
        order->items = merged;
    }
}

// True if a loop over the order is open. Loops of an earlier era ended with their tick.
static bool order_is_open(const orr_query* query)
{
    return query->order->open != 0 && query->order->open_era == query->world->loops.era;
}

void orri_order_open(orr_query* query)
{
    if (!order_is_open(query)) {
        query->order->open = 0;
        query->order->open_era = query->world->loops.era;
    }
    query->order->open++;
}

void orri_order_close(orr_query* query)
{
    query->order->open--;
}

bool orri_order_reserve(orr_query* query)
{
    orri_order* order = query->order;
    orri_env* env = &query->world->env;
    uint32_t words = query->world->chunks.count / 64 + 1;
    if (ORRI_RESERVE(env, ORR_MEMORY_QUERY, &order->clean, &order->clean_capacity, words) &&
        order_grow(query, order_rows(query))) {
        return true;
    }
    (void)orri_refuse_memory(env, "bringing a query's order up to date");
    return false;
}

bool orri_order_refresh(orr_query* query)
{
    orri_order* order = query->order;
    orr_world* world = query->world;
    if (order_is_open(query)) {
        return true;
    }
    orri_world_settle(world);
    if (!orri_order_reserve(query)) {
        return false;
    }
    // If another pipeline publishes the key, all values can change between two refreshes; no mark
    // shows that.
    const orri_view* view = orri_view_here(world);
    bool seen = view != NULL && orri_view_has(view, order->type);
    bool fresh = order->mark != 0 && !seen && order_pools_clean(query);
    bool dirty = order_mark_unchanged(query, !fresh);
    if (dirty || !fresh || order->entries_mark != query->changes) {
        order_repair(query);
        order->entries_mark = query->changes;
        order->mark = seen ? 0 : orri_version_mark(world); // No mark for published values.
    }
    return true;
}
