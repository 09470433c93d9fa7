// SPDX-License-Identifier: MIT
// orr_world_validate(): checks the invariants S1 to S19 of store/README.md on the whole world, as
// far as one moment shows them. A failure names the invariant and numbers that help to find it.
#include "store/api/bundle.h"
#include "store/change/change_set.h"
#include "store/cow/row_log.h"
#include "store/pool/pool.h"
#include "store/relation/entity_name.h"
#include "store/relation/relation.h"
#include "store/snapshot/blocks.h"
#include "store/table/required_types.h"
#include "store/world/access.h"

// `a_name`, `b_name`: what the numbers are; "" and 0 where a number would say nothing.
static orr_result validate_fail(orr_world* world, const char* invariant, const char* a_name,
                                uint64_t a, const char* b_name, uint64_t b)
{
    char numbers[128] = "";
    orri_text text = {numbers, sizeof numbers, 0};
    if (a_name[0] != '\0') {
        orri_text_add(&text, ": %s %llu", a_name, (unsigned long long)a);
    }
    if (b_name[0] != '\0') {
        orri_text_add(&text, ", %s %llu", b_name, (unsigned long long)b);
    }
    return orri_refuse(&world->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                       "orr_world_validate: invariant %s does not hold%s", invariant, numbers);
}

// ---- index --------------------------------------------------------------------------------------

// S2.
static orr_result validate_free_list(orr_world* world)
{
    const orri_index* index = &world->index;
    uint32_t count = 0;
    for (uint32_t i = index->free_first; i != ORRI_INDEX_NONE; count++) {
        if (i >= world->hot.count || count > index->free_count ||
            (orri_record_at(world, i)->generation & ORRI_DEAD) == 0) {
            return validate_fail(world, "S2 (free list)", "record", i, "position in the list",
                                 count);
        }
        i = orri_record_at(world, i)->place;
    }
    if (count != index->free_count) {
        return validate_fail(world, "S2 (free count)", "found", count, "counted",
                             index->free_count);
    }
    return orri_free_samples_sound(world) ? ORR_OK
                                          : validate_fail(world, "S2 (samples of the free list)",
                                                          "samples", index->sample_count, "", 0);
}

// True when a version is accounted for in the world (S7c).
static bool validate_written(const orr_world* world, uint64_t version)
{
    return version <= world->written || version <= world->noted;
}

// S1, and S7c and S8 for index pages.
static orr_result validate_records(orr_world* world)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < world->hot.count; i++) {
        orri_record record = *orri_record_at(world, i);
        if ((record.generation & 0x7F000000u) != world->salt ||
            (record.generation & ORRI_GENERATION_MASK) == 0) {
            return validate_fail(world, "S1 (generation)", "record", i, "generation",
                                 record.generation);
        }
        if ((record.generation & ORRI_DEAD) != 0) {
            continue;
        }
        live++;
        uint32_t id = record.place >> ORRI_SLOT_BITS;
        if (id == 0 || id >= world->chunks.count || world->chunks.list[id] == NULL) {
            return validate_fail(world, "S1 (place)", "record", i, "place", record.place);
        }
        const orri_chunk* chunk = world->chunks.list[id];
        uint32_t slot = orri_place_slot(record.place);
        if (slot >= orri_chunk_rows(chunk) || orri_chunk_ids(chunk)[slot] != i) {
            return validate_fail(world, "S1 (record and row agree)", "record", i, "place",
                                 record.place);
        }
    }
    for (uint32_t page = 0; page < world->index.page_count; page++) {
        const orri_page_meta* meta = &world->index.metas[page];
        if (meta->share != NULL &&
            (meta->share->attached != &meta->share || meta->share->data != world->hot.pages[page] ||
             meta->version == world->epoch ||
             !orri_row_log_valid(meta->share, orri_page_rows(world, page)))) {
            return validate_fail(world, "S8 (page)", "page", page, "version", meta->version);
        }
        if (!validate_written(world, meta->version)) {
            return validate_fail(world, "S7c (newest stamp)", "page", page, "version",
                                 meta->version);
        }
    }
    return live == world->index.live_count ? ORR_OK
                                           : validate_fail(world, "S1 (live count)", "found", live,
                                                           "counted", world->index.live_count);
}

// ---- clusters -----------------------------------------------------------------------------------

// S5 to S9 for one column or its enable bits.
static orr_result validate_column(orr_world* world, orri_chunk* chunk, uint32_t c)
{
    const orri_cluster* cluster = chunk->cluster;
    const orri_column* column = &chunk->columns[c];
    const orri_extent* extent = orri_chunk_cold(chunk)[c].extent;
    uint32_t types = cluster->type_count, columns = cluster->column_count;
    if (column->version > world->epoch || column->tick > world->tick) {
        return validate_fail(world, "S7 (stamps)", "chunk", chunk->id, "column", c);
    }
    if (column->share != NULL &&
        (column->share->attached != &column->share || column->share->data != column->data ||
         column->version == world->epoch ||
         !orri_row_log_valid(column->share, orri_chunk_rows(chunk)))) {
        return validate_fail(world, "S8 (share)", "chunk", chunk->id, "column", c);
    }
    if (!validate_written(world, column->version)) {
        return validate_fail(world, "S7c (newest stamp)", "chunk", chunk->id, "column", c);
    }
    if (c >= columns) {
        bool has_bits = cluster->columns[c - columns].has_bits;
        return has_bits == (column->data != NULL)
                   ? ORR_OK
                   : validate_fail(world, "S9 (bits)", "chunk", chunk->id, "column", c);
    }
    if (cluster->columns[c].size > 0 &&
        (extent == NULL || (uintptr_t)column->data % ORRI_BLOCK_ALIGN != 0)) {
        return validate_fail(world, "S5 (block)", "chunk", chunk->id, "column", c);
    }
    if (column->version > cluster->columns[c].version) {
        return validate_fail(world, "S7 (cluster's version)", "chunk", chunk->id, "column", c);
    }
    if (c < types && (orri_table_column(world, orri_type_index(world, cluster->types[c]),
                                        chunk->id) != (int32_t)c ||
                      (chunk->id < cluster->columns[c].table->hot.capacity &&
                       cluster->columns[c].table->hot.data[chunk->id] != column->data))) {
        return validate_fail(world, "S6 (type table)", "chunk", chunk->id, "column", c);
    }
    return ORR_OK;
}

static bool validate_zero(const uint8_t* bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

// S16 for one cell: its count, the bytes past the last instance, ids and enable bits.
static bool validate_cell(orri_chunk* chunk, uint32_t c, uint32_t slot)
{
    const orri_cluster_column* entry = &chunk->cluster->columns[c];
    orri_cells cell = orri_cells_at(chunk, c, slot);
    const uint32_t* ids = (const uint32_t*)(void*)chunk->columns[entry->counts + 1].data +
                          ((size_t)slot << entry->shift);
    const uint64_t* bits = (const uint64_t*)(void*)orri_chunk_bits(chunk, c)->data;
    uint32_t count = *cell.counts, room = 1u << entry->shift;
    if (count == 0 || count > room) {
        return false;
    }
    size_t used = (size_t)count * cell.type->info.size;
    bool valid =
        validate_zero(cell.data + used, cell.size - used) &&
        (bits == NULL || orri_bits_all(bits, (slot << entry->shift) + count, room - count));
    for (uint32_t i = 0; valid && i < room; i++) {
        valid = (ids[i] != 0) == (i < count);
        for (uint32_t k = 0; valid && ids[i] != 0 && k < i; k++) {
            valid = ids[i] != ids[k];
        }
    }
    return valid;
}

static orr_result validate_cells(orr_world* world, orri_chunk* chunk)
{
    const orri_cluster* cluster = chunk->cluster;
    for (uint32_t c = 0; c < cluster->type_count; c++) {
        const orri_cluster_column* entry = &cluster->columns[c];
        bool multiple = entry->type->info.multiplicity == ORR_MULTIPLE;
        if (multiple != (entry->counts != 0) || cluster->capacities[c] != 1u << entry->shift ||
            cluster->sizes[c] != entry->type->info.size << entry->shift ||
            (multiple && entry->table->hot.capacity != 0)) {
            return validate_fail(world, "S16 (capacity)", "cluster", cluster->index, "column", c);
        }
        for (uint32_t slot = 0; multiple && slot < orri_chunk_rows(chunk); slot++) {
            if (!validate_cell(chunk, c, slot)) {
                return validate_fail(world, "S16 (instances)", "chunk", chunk->id, "row", slot);
            }
        }
    }
    return ORR_OK;
}

static orr_result validate_chunk(orr_world* world, orri_cluster* cluster, uint32_t number)
{
    orri_chunk* chunk = cluster->chunks[number];
    if (chunk->cluster != cluster || chunk->number != number ||
        world->chunks.list[chunk->id] != chunk ||
        chunk->column_count != 2 * cluster->column_count) {
        return validate_fail(world, "S4 (chunk)", "cluster", cluster->index, "number of the chunk",
                             number);
    }
    if (orri_chunk_rows(chunk) == 0 || orri_chunk_rows(chunk) > chunk->capacity ||
        (number > 0 && chunk->capacity != ORR_CHUNK_CAPACITY)) {
        return validate_fail(world, "S4 (rows)", "cluster", cluster->index, "number of the chunk",
                             number);
    }
    uint32_t shares = 0;
    for (uint32_t c = 0; c < chunk->column_count; c++) {
        shares += chunk->columns[c].share != NULL;
        orr_result result = validate_column(world, chunk, c);
        if (result != ORR_OK) {
            return result;
        }
    }
    return shares == chunk->share_count ? validate_cells(world, chunk)
                                        : validate_fail(world, "S8 (share count)", "found", shares,
                                                        "counted", chunk->share_count);
}

// S3 and S13.
static orr_result validate_identity(orr_world* world, const orri_cluster* cluster)
{
    for (uint32_t i = 0; i < cluster->type_count; i++) {
        if ((i > 0 && cluster->types[i - 1].id >= cluster->types[i].id) ||
            orri_type_at(&world->schema, cluster->types[i]) != cluster->columns[i].type) {
            return validate_fail(world, "S3 (types)", "cluster", cluster->index,
                                 "position of the type", i);
        }
        if (orri_required_types_missing(world, cluster->types[i], cluster->types,
                                        cluster->type_count)
                .id != 0) {
            return validate_fail(world, "S13 (needs)", "cluster", cluster->index,
                                 "position of the type", i);
        }
    }
    for (uint32_t i = 1; i < cluster->tag_count; i++) {
        if (cluster->tags[i - 1] >= cluster->tags[i]) {
            return validate_fail(world, "S3 (tags)", "cluster", cluster->index,
                                 "position of the tag", i);
        }
    }
    return orri_cluster_lookup_sized(world, cluster->types, cluster->capacities,
                                     cluster->type_count, cluster->tags,
                                     cluster->tag_count) == cluster
               ? ORR_OK
               : validate_fail(world, "S3 (one cluster per set)", "cluster", cluster->index, "", 0);
}

// S3, S4, S10, and everything for its chunks.
static orr_result validate_cluster(orr_world* world, orri_cluster* cluster)
{
    orr_result result = validate_identity(world, cluster);
    uint64_t chunks = ((uint64_t)cluster->row_count + ORR_CHUNK_CAPACITY - 1) >> ORRI_SLOT_BITS;
    if (result == ORR_OK &&
        cluster->chunk_first != (cluster->chunk_count > 0 ? cluster->chunks[0] : NULL)) {
        result = validate_fail(world, "S4 (first chunk)", "cluster", cluster->index, "", 0);
    }
    if (result == ORR_OK && cluster->chunk_count != chunks) {
        result = validate_fail(world, "S4 (chunks)", "found", cluster->chunk_count,
                               "needed for the rows", chunks);
    }
    if (result == ORR_OK && world->clusters.slots[cluster->index].cluster != cluster) {
        result = validate_fail(world, "S3 (slot)", "cluster", cluster->index, "", 0);
    }
    if (result == ORR_OK && (cluster->batch_count | cluster->batch_incoming | cluster->batch_route |
                             cluster->batch_listed) != 0) {
        result = validate_fail(world, "S10 (scratch)", "cluster", cluster->index,
                               "entities in the batch", cluster->batch_count);
    }
    if (result == ORR_OK && !orri_parked_valid(world, cluster)) {
        result = validate_fail(world, "S4c (parked chunk)", "cluster", cluster->index, "chunks",
                               cluster->chunk_count);
    }
    for (uint32_t i = 0; result == ORR_OK && i < cluster->chunk_count; i++) {
        result = validate_chunk(world, cluster, i);
    }
    return result;
}

// S6c: a list ascends, and each of its clusters has the type. Returns their number, or
// ORRI_INDEX_NONE.
static uint32_t validate_table_clusters(const orri_table* table)
{
    uint32_t gaps = 0;
    for (uint32_t i = 0; i < table->cluster_count; i++) {
        const orri_table_cluster* entry = &table->clusters[i];
        bool ascends = i == 0 || table->clusters[i - 1].sequence < entry->sequence;
        bool has = entry->cluster == NULL ||
                   (entry->cluster->sequence == entry->sequence &&
                    entry->column < entry->cluster->type_count &&
                    entry->cluster->columns[entry->column].table == table);
        gaps += entry->cluster == NULL;
        if (!ascends || !has) {
            return ORRI_INDEX_NONE;
        }
    }
    return gaps == table->gap_count ? table->cluster_count - gaps : ORRI_INDEX_NONE;
}

static orr_result validate_tables(orr_world* world)
{
    uint64_t listed = 0, columns = 0;
    for (uint32_t i = 0; i < world->tables.capacity; i++) {
        const orri_table* table = (const orri_table*)(const void*)world->tables.list[i];
        uint32_t count = validate_table_clusters(table);
        if (count == ORRI_INDEX_NONE) {
            return validate_fail(world, "S6c (list of clusters)", "type", i, "", 0);
        }
        listed += count;
    }
    for (const orri_cluster* cluster = world->clusters.first; cluster != NULL;
         cluster = cluster->next) {
        columns += cluster->type_count;
    }
    return listed == columns ? ORR_OK
                             : validate_fail(world, "S6c (lists of clusters)", "listed", listed,
                                             "columns", columns);
}

static orr_result validate_clusters(orr_world* world)
{
    uint32_t count = 0;
    uint64_t rows = 0, chunks = 0;
    for (orri_cluster* cluster = world->clusters.first; cluster != NULL; cluster = cluster->next) {
        orr_result result = validate_cluster(world, cluster);
        if (result != ORR_OK) {
            return result;
        }
        count++;
        rows += cluster->row_count;
        chunks += cluster->chunk_count;
    }
    if (count != world->clusters.count || rows != world->index.live_count) {
        return validate_fail(world, "S3 (count), S1 (rows)", "clusters", count, "rows", rows);
    }
    orr_result result = orri_transient_validate(world);
    if (result != ORR_OK) {
        return result;
    }
    chunks += world->transient.cluster != NULL ? world->transient.cluster->chunk_count : 0;
    if (!orri_parked_list_valid(world)) {
        return validate_fail(world, "S4c (list of parked chunks)", "chunks",
                             world->chunks.parked_count, "bytes", world->chunks.parked_bytes);
    }
    uint64_t held = orri_chunks_live(world);
    return chunks == held ? ORR_OK
                          : validate_fail(world, "S4 (directory)", "in clusters", chunks,
                                          "in the directory", held);
}

// ---- S11: the count of a blob is the number of stored handles -----------------------------------

// Adds the owned handles of a value to the counts by blob. False for a handle whose blob is gone.
static bool validate_count_value(const orri_schema* schema, const orr_type_info* info,
                                 const uint8_t* value, uint32_t* counts)
{
    if (info->kind == ORR_KIND_STRING || info->kind == ORR_KIND_ARRAY) {
        orr_string handle;
        memcpy(&handle, value, sizeof handle);
        if (handle.id != 0 && orri_blob_at(schema, handle) == NULL) {
            return false;
        }
        counts[handle.id]++;
        return true;
    }
    for (uint32_t f = 0; f < info->field_count; f++) {
        const orr_field_info* field = &info->fields[f];
        uint32_t items = field->count == 0 ? 1 : field->count;
        for (uint32_t i = 0; field->type->has_owned && i < items; i++) {
            size_t offset = field->offset + (size_t)i * field->type->size;
            if (!validate_count_value(schema, field->type, value + offset, counts)) {
                return false;
            }
        }
    }
    return true;
}

static bool validate_count_rows(const orri_type* type, const uint8_t* rows, uint32_t count,
                                uint32_t* counts)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!validate_count_value(type->schema, &type->info, rows + (size_t)i * type->info.size,
                                  counts)) {
            return false;
        }
    }
    return true;
}

// Counts the handles of a block of values. Handles past the last instance of a multiple type are
// null and not counted; free slots of a pool have no values.
static bool validate_count_block(const orri_block* block, uint32_t* counts)
{
    const orri_type* type = block->type;
    const uint8_t* values = block->data;
    if (block->owners == NULL) {
        return validate_count_rows(type, values, (uint32_t)(block->bytes / type->info.size),
                                   counts);
    }
    bool found = true;
    for (uint32_t slot = 0; found && slot < block->rows; slot++) {
        found = block->owners[slot] == ORRI_INDEX_NONE ||
                validate_count_rows(type, values + (size_t)slot * type->info.size, 1, counts);
    }
    return found;
}

static bool validate_count_bundles(const orr_world* world, uint32_t* counts)
{
    for (uint32_t b = 0; b < world->bundles.count; b++) {
        for (uint32_t i = 0; i < world->bundles.list[b]->item_count; i++) {
            const orri_bundle_item* item = &world->bundles.list[b]->items[i];
            if (item->value != NULL && item->type->info.has_owned &&
                !validate_count_rows(item->type, item->value, 1, counts)) {
                return false;
            }
        }
    }
    return true;
}

static bool validate_count_all(const orr_world* world, uint32_t* counts)
{
    for (orri_blocks walk = orri_blocks_begin_all(world); orri_blocks_next(&walk);) {
        bool values = walk.block.kind == ORRI_BLOCK_VALUES || walk.block.kind == ORRI_BLOCK_POOL;
        if (values && walk.block.type->info.has_owned &&
            !validate_count_block(&walk.block, counts)) {
            return false;
        }
    }
    return validate_count_bundles(world, counts);
}

// A plain assignment to an owned field in a column makes the count wrong. Presets, messages, shares
// and published values hold handles too: while they exist, a count may be larger than the number of
// stored handles.
static orr_result validate_owned(orr_world* world)
{
    const orri_schema* schema = &world->schema;
    uint32_t* counts =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_TEMP, uint32_t, schema->blob_count + 1);
    if (counts == NULL) {
        return ORR_OK; // Without memory the check is skipped.
    }
    bool presets = false;
    for (uint32_t i = 0; i < schema->type_count; i++) {
        presets = presets || (schema->types[i]->info.has_owned && schema->types[i]->preset != NULL);
    }
    bool others = presets || world->cow.live > 0 || world->messages != NULL ||
                  world->publisher != NULL;
    orr_result result = ORR_OK;
    if (!validate_count_all(world, counts)) {
        result = validate_fail(world,
                               "S11 (an owned handle in a column is gone; assign with "
                               "orr_string_assign)",
                               "", 0, "", 0);
    }
    for (uint32_t i = 0; result == ORR_OK && i < schema->blob_count; i++) {
        uint32_t counted = schema->blobs[i].data != NULL ? schema->blobs[i].count : 0;
        uint32_t stored = counts[i + 1];
        if (counted != stored && counted != UINT32_MAX && !(others && counted > stored)) {
            result = validate_fail(world,
                                   "S11 (owned handles counted; assign with "
                                   "orr_string_assign)",
                                   "stored", stored, "counted", counted);
        }
    }
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, uint32_t, counts, schema->blob_count + 1);
    return result;
}

// ---- S12: links of indexed references agree with the columns, in both directions ----------------

// True when the link of one value leads to its target, and the list of the target back to it.
static bool validate_link(const orr_world* world, const orri_relation* relation, uint32_t e,
                          uint32_t index, const void* value)
{
    const orri_element* element = &relation->elements[e];
    orr_entity target = orri_relation_target(world, relation, e, value);
    const orri_link* link = orri_link_find(element, index);
    if (link == NULL || target.id == 0) {
        return target.id == 0 && (link == NULL || link->target == 0);
    }
    uint32_t before = link->prev != 0 ? orri_link_find(element, link->prev - 1)->next
                                      : orri_head_of(element, orri_id_index(target));
    return link->target == orri_id_index(target) + 1 && before == index + 1 &&
           (link->next == 0 || orri_link_find(element, link->next - 1)->prev == index + 1);
}

// Checks the links of all values of a type. Returns their number, or ORRI_INDEX_NONE if one is
// wrong.
static uint32_t validate_links(const orr_world* world, const orri_relation* relation, uint32_t e)
{
    const orri_table* table = (const orri_table*)(const void*)world->tables
                                  .list[orri_type_index(world, (orr_type){relation->type->id})];
    uint32_t count = 0;
    const orri_table_cluster* entry;
    for (uint32_t i = 0; (entry = orri_table_next(table, &i)) != NULL;) {
        for (uint32_t row = 0; row < entry->cluster->row_count; row++) {
            const orri_chunk* chunk = orri_cluster_chunk_of(entry->cluster, row);
            uint32_t slot = row & ORRI_SLOT_MASK;
            const uint8_t* value = chunk->columns[entry->column].data +
                                   (size_t)slot * relation->type->info.size;
            if (!validate_link(world, relation, e, orri_chunk_ids(chunk)[slot], value)) {
                return ORRI_INDEX_NONE;
            }
            count += orri_relation_target(world, relation, e, value).id != 0;
        }
    }
    return count;
}

static orr_result validate_element(orr_world* world, const orri_relation* relation, uint32_t e)
{
    const orri_element* element = &relation->elements[e];
    uint32_t links = 0, firsts = 0, heads = 0;
    for (uint32_t i = 0; i < world->hot.count; i++) {
        const orri_link* link = orri_link_find(element, i);
        links += link != NULL && link->target != 0;
        firsts += link != NULL && link->target != 0 && link->prev == 0;
        heads += orri_head_of(element, i) != 0;
    }
    if (validate_links(world, relation, e) != links) {
        return validate_fail(world, "S12 (indexed references)", "type", relation->type->id,
                             "indexed field", e);
    }
    return firsts == heads
               ? ORR_OK
               : validate_fail(world, "S12 (referrers)", "first links", firsts, "heads", heads);
}

static orr_result validate_relations(orr_world* world)
{
    orr_result result = ORR_OK;
    for (const orri_relation* r = world->relations.first; r != NULL && result == ORR_OK;
         r = r->next) {
        for (uint32_t e = 0; result == ORR_OK && e < r->type->indexed_count; e++) {
            result = validate_element(world, r, e);
        }
    }
    for (uint32_t p = 0; result == ORR_OK && p < world->relations.marks.capacity; p++) {
        const uint64_t* marks = world->relations.marks.list[p];
        for (uint32_t i = 0; marks != NULL && i < ORRI_PAGE_SIZE / 64; i++) {
            if (marks[i] != 0) {
                return validate_fail(world, "S12 (scratch)", "page", p, "word", i);
            }
        }
    }
    return result;
}

orr_result orr_world_validate(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    if (ORR_UNLIKELY(world->running.in_system || orri_access_checked(world) ||
                     orri_between_sync_points(world))) {
        return orri_refuse_running(world, "orr_world_validate");
    }
    orri_world_settle(world);
    orr_result result = validate_free_list(world);
    if (result == ORR_OK) {
        result = validate_clusters(world);
    }
    result = result == ORR_OK ? validate_tables(world) : result;
    if (result == ORR_OK) {
        result = validate_records(world);
    }
    if (result == ORR_OK) {
        result = orri_pools_validate(world);
    }
    if (result == ORR_OK) {
        result = orri_names_validate(world);
    }
    if (result == ORR_OK) {
        result = validate_owned(world);
    }
    result = result == ORR_OK ? validate_relations(world) : result;
    for (uint32_t i = 0; result == ORR_OK && i < ORRI_EXTENSION_COUNT; i++) {
        if (world->extensions[i].validate != NULL) {
            result = world->extensions[i].validate(world);
        }
    }
    return result;
}
