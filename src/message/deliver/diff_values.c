// SPDX-License-Identifier: MIT
// Step 2 of a diff: values of unique types in chunks. The hot path of a tick: after a direct system
// has written its columns, each block with a new version is compared with the baseline, and rows
// that differ become runs. Entities with consecutive indexes are compared and copied as arrays.
#include "message/deliver/baseline.h"

#define DIFF_VALUES_AHEAD 16u

// The comparison of one type.
typedef struct diff_values_scan {
    orri_diff* diff;
    orri_baseline_type* type;
    // Readers that get every row of the cluster; readers that get some; receivers of a row.
    uint64_t *all, *some, *row;
    bool uniform;         // `some` is empty.
    bool bits_changed;    // A travel added or removed enable bits of the cluster.
    bool by_row;          // Rows of the current chunk must be compared one by one.
    uint64_t rows_before; // Rows in the clusters before.
} diff_values_scan;

// Dispatches the run list and stores the values. False when refused (reported).
static bool diff_values_flush(const diff_values_scan* s)
{
    struct orri_baseline* baseline = s->diff->baseline;
    orri_runs* run_list = &baseline->run_list;
    if (run_list->run_count == 0) {
        return true;
    }
    memcpy(run_list->to, run_list->after,
           (size_t)run_list->run_count * baseline->words * sizeof *run_list->to);
    if (!orri_runs_dispatch(s->diff, &(orri_dispatch){.kind = ORR_COMPONENT_CHANGED,
                                                      .type = s->type->type,
                                                      .forced = ORR_CAUSE_WRITTEN})) {
        return false;
    }
    size_t size = s->type->type->info.size;
    for (uint32_t i = 0; i < run_list->run_count; i++) {
        const orri_run* run = &run_list->runs[i];
        if (run->listed) {
            orri_sparse_rows_put(run_list, run, (uint32_t)size);
            continue;
        }
        orri_baseline_put(s->type, run->index,
                          run->chunk->columns[run->column].data + run->slot * size, run->count);
    }
    orri_runs_keep(s->diff);
    return true;
}

// ---- receivers ----------------------------------------------------------------------------------

// Sets the readers of a cluster. Fresh readers get only some rows here: a refused diff may have
// sent them a part.
static void diff_values_readers(diff_values_scan* s, const orri_baseline_cluster* record,
                                const orri_cluster* cluster)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    const uint64_t* trackers = orri_baseline_trackers(baseline, s->type);
    const uint64_t *all = orri_match_all(record), *some = orri_match_some(record);
    for (uint32_t w = 0; w < baseline->words; w++) {
        uint64_t fresh = all[w] & trackers[w] & baseline->fresh[w];
        s->all[w] = all[w] & trackers[w] & ~fresh;
        s->some[w] = (some[w] & trackers[w]) | fresh;
        for (; fresh != 0; fresh &= fresh - 1) {
            orri_reader_match(baseline->on[w * 64 + (uint32_t)__builtin_ctzll(fresh)], cluster);
        }
    }
    s->uniform = !orri_set_any(s->some, baseline->words);
}

// Sets the receivers of a row: readers that know its value and still select it. An entity that is
// new, or has gained the type, is sent with its row.
static bool diff_values_row(const diff_values_scan* s, const orri_chunk* chunk, uint32_t slot,
                            uint32_t index)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    const orri_head* head = orri_head_at(baseline, index);
    orr_type type = {s->type->type->id};
    if (head->generation != orri_record_at(s->diff->world, index)->generation ||
        !orri_shape_has(orri_shape_at(baseline, head->shape1), type)) {
        return false;
    }
    for (uint32_t w = 0; w < baseline->words; w++) {
        s->row[w] = 0;
        for (uint64_t left = s->all[w]; left != 0; left &= left - 1) {
            const orri_reader* reader = baseline->on[w * 64 + (uint32_t)__builtin_ctzll(left)];
            s->row[w] |= orri_bitset_has(&reader->members, index) ? left & -left : 0;
        }
        for (uint64_t left = s->some[w]; left != 0; left &= left - 1) {
            const orri_reader* reader = baseline->on[w * 64 + (uint32_t)__builtin_ctzll(left)];
            s->row[w] |= orri_reader_knows(reader, chunk, slot, index) ? left & -left : 0;
        }
    }
    return orri_set_any(s->row, baseline->words);
}

// ---- comparing ----------------------------------------------------------------------------------

// A bit for each of `count` values (at most 64) that differ. Words of 8 or 4 bytes: loops that the
// compiler can unroll.
#define DIFF_VALUES_DIFF(name, word, words)                                   \
    static uint64_t name(const uint8_t* a, const uint8_t* b, uint32_t count)  \
    {                                                                         \
        uint64_t mask = 0;                                                    \
        for (uint32_t i = 0; i < count;                                       \
             i++, a += sizeof(word) * (words), b += sizeof(word) * (words)) { \
            word x[words], y[words], any = 0;                                 \
            memcpy(x, a, sizeof x);                                           \
            memcpy(y, b, sizeof y);                                           \
            for (uint32_t w = 0; w < (words); w++) {                          \
                any |= x[w] ^ y[w];                                           \
            }                                                                 \
            mask |= (uint64_t)(any != 0) << i;                                \
        }                                                                     \
        return mask;                                                          \
    }
DIFF_VALUES_DIFF(values_diff_4, uint32_t, 1)
DIFF_VALUES_DIFF(values_diff_8, uint64_t, 1)
DIFF_VALUES_DIFF(values_diff_12, uint32_t, 3)
DIFF_VALUES_DIFF(values_diff_16, uint64_t, 2)
#undef DIFF_VALUES_DIFF

static uint64_t diff_values_diff(const orri_baseline_type* type, const uint8_t* a, const uint8_t* b,
                                 uint32_t count)
{
    uint32_t size = type->type->info.size;
    if (type->exact && size == 16) {
        return values_diff_16(a, b, count);
    }
    if (type->exact && size == 12) {
        return values_diff_12(a, b, count);
    }
    if (type->exact && size == 8) {
        return values_diff_8(a, b, count);
    }
    if (type->exact && size == 4) {
        return values_diff_4(a, b, count);
    }
    uint64_t mask = 0;
    for (uint32_t i = 0; i < count; i++, a += size, b += size) {
        mask |= (uint64_t)orri_baseline_differs(type, a, b) << i;
    }
    return mask;
}

static bool diff_values_push(const diff_values_scan* s, orri_run* run)
{
    struct orri_baseline* baseline = s->diff->baseline;
    if (!orri_runs_room(s->diff)) {
        return false;
    }
    orri_runs_push(baseline, run, NULL, s->by_row ? s->row : s->all);
    return true;
}

// Appends runs for the rows of `mask`; their indexes are consecutive.
static bool diff_values_differ(const diff_values_scan* s, orri_chunk* chunk, uint32_t column,
                               uint32_t slot, uint32_t index, uint64_t mask)
{
    bool single = s->by_row || s->diff->by_commit;
    while (mask != 0) {
        uint32_t first = (uint32_t)__builtin_ctzll(mask);
        uint64_t gap = ~(mask >> first);
        uint32_t count = single ? 1 : gap != 0 ? (uint32_t)__builtin_ctzll(gap) : 64;
        mask &= first + count < 64 ? UINT64_MAX << (first + count) : 0;
        if (s->by_row && !diff_values_row(s, chunk, slot + first, index + first)) {
            continue;
        }
        orri_run run = {.chunk = chunk,
                        .slot = slot + first,
                        .index = index + first,
                        .count = count,
                        .column = column,
                        .source = orri_diff_source(s->diff, index + first)};
        if (!diff_values_push(s, &run)) {
            return false;
        }
    }
    return true;
}

// Number of rows from here on, at most 64 and within one baseline page, with consecutive indexes.
static uint32_t diff_values_sequence(const uint32_t* ids, uint32_t rows)
{
    uint32_t first = ids[0], room = ORRI_BASELINE_SIZE - (first & ORRI_BASELINE_MASK);
    uint32_t most = rows < 64 ? rows : 64, n = 1;
    most = most < room ? most : room;
    if (most == 64 && ids[63] == first + 63) {
        uint32_t differ = 0;
        for (uint32_t i = 0; i < 64; i++) {
            differ |= ids[i] ^ (first + i);
        }
        if (ORR_LIKELY(differ == 0)) {
            return 64;
        }
    }
    while (n < most && ids[n] == first + n) {
        n++;
    }
    return n;
}

// The same where readers do not know all rows: bytes without meaning must not be read as a value.
static uint64_t diff_values_diff_known(const diff_values_scan* s, const orri_chunk* chunk,
                                       uint32_t column, uint32_t slot, uint32_t count)
{
    size_t size = s->type->type->info.size;
    uint32_t index = orri_chunk_ids(chunk)[slot];
    const uint8_t* data = chunk->columns[column].data + slot * size;
    const uint8_t* baseline = orri_baseline_at(s->type, index);
    uint64_t mask = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool differs = diff_values_row(s, chunk, slot + i, index + i) &&
                       orri_baseline_differs(s->type, data + i * size, baseline + i * size);
        mask |= (uint64_t)differs << i;
    }
    return mask;
}

// True when a reader may know one of these entities; new ones are skipped.
static bool diff_values_known(const diff_values_scan* s, uint32_t index, uint32_t count)
{
    const orri_head* heads = orri_head_at(s->diff->baseline, index);
    uint32_t known = 0;
    if (*orri_heads_known(s->diff->baseline, index) == 0) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        known |= heads[i].generation;
    }
    return known != 0;
}

// Compares rows with consecutive indexes.
static bool diff_values_rows(diff_values_scan* s, orri_chunk* chunk, uint32_t column, uint32_t slot,
                             uint32_t count)
{
    uint32_t index = orri_chunk_ids(chunk)[slot];
    const uint8_t* baseline = orri_baseline_at(s->type, index);
    if (baseline == NULL || (s->by_row && !diff_values_known(s, index, count))) {
        return true; // No reader knows them.
    }
    const uint8_t* data = chunk->columns[column].data + slot * (size_t)s->type->type->info.size;
    uint64_t mask = !s->by_row || s->type->exact
                        ? diff_values_diff(s->type, data, baseline, count)
                        : diff_values_diff_known(s, chunk, column, slot, count);
    return mask == 0 || diff_values_differ(s, chunk, column, slot, index, mask);
}

// Compares only the rows that were noted as written: neighbours as arrays, scattered rows one by one.
static bool diff_values_dirty(diff_values_scan* s, orri_chunk* chunk, uint32_t column,
                              const orri_dirty_rows_note* dirty)
{
    if (!s->by_row && !s->diff->by_commit && !orri_dirty_rows_dense(dirty)) {
        return orri_sparse_rows_push(s->diff, s->type, chunk, column, dirty, s->all);
    }
    const uint32_t* ids = orri_chunk_ids(chunk);
    for (uint32_t words = dirty->words; words != 0; words &= words - 1) {
        uint32_t word = (uint32_t)__builtin_ctz(words);
        for (uint64_t left = dirty->bits[word]; left != 0;) {
            uint32_t bit = (uint32_t)__builtin_ctzll(left), slot = word * 64 + bit;
            uint64_t gap = ~(left >> bit);
            uint32_t count = gap != 0 ? (uint32_t)__builtin_ctzll(gap) : 64;
            count = diff_values_sequence(ids + slot, count);
            if (!diff_values_rows(s, chunk, column, slot, count)) {
                return false;
            }
            left &= bit + count < 64 ? UINT64_MAX << (bit + count) : 0;
        }
    }
    return true;
}

static bool diff_values_chunk(diff_values_scan* s, orri_chunk* chunk, uint32_t column,
                              uint64_t seen)
{
    const uint32_t* ids = orri_chunk_ids(chunk);
    uint32_t rows = orri_chunk_rows(chunk);
    // If no row came, left or moved since the last complete diff, all heads are current. After a
    // travel some rows may have been disabled, in enable bits that do not exist any more.
    s->by_row = !s->uniform || s->bits_changed ||
                chunk->columns[chunk->cluster->type_count].version > s->diff->baseline->row_mark;
    const orri_dirty_rows_note* dirty =
        orri_dirty_rows_of(s->diff->baseline, s->type, chunk, column, seen);
    if (dirty != NULL) {
        return diff_values_dirty(s, chunk, column, dirty);
    }
    for (uint32_t slot = 0, count; slot < rows; slot += count) {
        count = diff_values_sequence(ids + slot, rows - slot);
        if (count == 1 && slot + DIFF_VALUES_AHEAD < rows) {
            // The values of rows that were moved around are anywhere in the baseline: prefetch
            // later ones.
            uint32_t ahead = ids[slot + DIFF_VALUES_AHEAD];
            __builtin_prefetch(orri_baseline_at(s->type, ahead), 1);
            __builtin_prefetch(orri_record_at(s->diff->world, ahead));
        }
        if (!diff_values_rows(s, chunk, column, slot, count)) {
            return false;
        }
    }
    return true;
}

void orri_run_entities(const orri_diff* diff, const orri_run* run, orr_entity* out)
{
    uint64_t index = run->index;
    if (run->chunk != NULL) {
        const orri_record* records = orri_record_at(diff->world, run->index);
        for (uint32_t i = 0; i < run->count; i++) {
            out[i].id = (uint64_t)records[i].generation << 32 | (index + i);
        }
        return;
    }
    const orri_head* heads =
        orri_head_at(diff->baseline, run->index); // Destroyed: the generation in the baseline.
    for (uint32_t i = 0; i < run->count; i++) {
        out[i].id = (uint64_t)heads[i].generation << 32 | (index + i);
    }
}

// ---- clusters -----------------------------------------------------------------------------------

// Finds the readers of a cluster. NULL when refused (reported). `*any` false: no reader receives
// its values.
static orri_baseline_cluster* diff_values_enter(diff_values_scan* s, const orri_cluster* cluster,
                                                bool* any)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    orri_baseline_cluster* record = orri_baseline_match(s->diff, cluster);
    if (record == NULL) {
        return NULL;
    }
    s->bits_changed = record->bits_changed;
    diff_values_readers(s, record, cluster);
    *any = orri_set_any(s->all, baseline->words) || !s->uniform;
    return record;
}

// Clusters share a run list up to the end of a range: a thousand small clusters are not a thousand
// messages.
static bool diff_values_cluster(diff_values_scan* s, orri_cluster* cluster, uint32_t column)
{
    const orri_baseline_cluster* record = orri_baseline_cluster_of(s->diff, cluster);
    if (record == NULL) {
        return false;
    }
    if (cluster->columns[column].version <= record->seen[column]) {
        return true;
    }
    bool any;
    record = diff_values_enter(s, cluster, &any);
    if (record == NULL || !any) {
        return record != NULL;
    }
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        orri_chunk* chunk = cluster->chunks[i];
        if (chunk->columns[column].version <= record->seen[column]) {
            continue;
        }
        if (orri_diff_range_ends(s->diff, orri_diff_range(s->rows_before, i)) &&
            !diff_values_flush(s)) {
            return false;
        }
        if (!diff_values_chunk(s, chunk, column, record->seen[column])) {
            return false;
        }
    }
    return true;
}

static bool diff_values_of_table(diff_values_scan* s, const orri_table* table)
{
    const orri_table_cluster* entry;
    for (uint32_t i = 0; (entry = orri_table_next(table, &i)) != NULL;) {
        if (entry->cluster->row_count > 0 &&
            !diff_values_cluster(s, entry->cluster, entry->column)) {
            return false;
        }
        s->rows_before += entry->cluster->row_count;
    }
    return diff_values_flush(s);
}

static uint32_t diff_values_field(const orr_query* query, const orri_baseline_type* type)
{
    uint32_t f = 0;
    while (query->fields[f].type.id != type->type->id) {
        f++;
    }
    return f;
}

static bool diff_values_of_query(diff_values_scan* s, const orr_query* query)
{
    uint32_t field = diff_values_field(query, s->type);
    for (uint32_t e = 0; e < query->entry_count; e++) {
        orri_cluster* cluster = query->entries[e].cluster;
        uint32_t column = orri_entry_map(query, e)[field];
        if (cluster == NULL || column == ORRI_COLUMN_NONE || cluster->row_count == 0) {
            continue;
        }
        if (!diff_values_cluster(s, cluster, column)) {
            return false;
        }
        s->rows_before += cluster->row_count;
    }
    return diff_values_flush(s);
}

// Everything was compared: only later writes are new.
static void diff_values_seen(const orri_diff* diff, const orri_cluster* cluster, uint32_t column)
{
    orri_baseline_cluster* record = cluster->index < diff->baseline->cluster_count
                                        ? &diff->baseline->clusters[cluster->index]
                                        : NULL;
    if (record != NULL && record->sequence == cluster->sequence) {
        record->seen[column] = diff->world->epoch;
    }
}

static void diff_values_all_seen(const diff_values_scan* s, const orri_table* table,
                                 const orr_query* query)
{
    uint32_t field = query != NULL ? diff_values_field(query, s->type) : 0;
    const orri_table_cluster* entry;
    for (uint32_t i = 0; query == NULL && (entry = orri_table_next(table, &i)) != NULL;) {
        diff_values_seen(s->diff, entry->cluster, entry->column);
    }
    for (uint32_t e = 0; query != NULL && e < query->entry_count; e++) {
        const orri_cluster* cluster = query->entries[e].cluster;
        uint32_t column = orri_entry_map(query, e)[field];
        if (cluster != NULL && column != ORRI_COLUMN_NONE) {
            diff_values_seen(s->diff, cluster, column);
        }
    }
}

bool orri_diff_values(orri_diff* diff, orri_baseline_type* type, const orr_query* query)
{
    struct orri_baseline* baseline = diff->baseline;
    uint32_t index = (uint32_t)(type - baseline->types), words = baseline->words;
    if (type->type->info.size == 0 || index >= diff->world->tables.capacity) {
        return true; // A type without values, or one that no cluster has.
    }
    const orri_table* table = (const orri_table*)(const void*)diff->world->tables.list[index];
    uint64_t* sets = baseline->set + 2 * words;
    diff_values_scan s = {
        .diff = diff, .type = type, .all = sets, .some = sets + words, .row = sets + 2 * words};
    bool done = query != NULL ? diff_values_of_query(&s, query) : diff_values_of_table(&s, table);
    if (done) {
        diff_values_all_seen(&s, table, query);
    }
    return done;
}

// ---- noted rows ---------------------------------------------------------------------------------

// One chunk, without a look at others.
static bool diff_values_of_note(diff_values_scan* s, const orri_dirty_rows_note* note)
{
    orri_chunk* chunk = s->diff->world->chunks.list[note->chunk];
    uint32_t column = (uint32_t)orri_table_column(s->diff->world, note->type_index, chunk->id);
    bool any;
    orri_baseline_cluster* record = diff_values_enter(s, chunk->cluster, &any);
    if (record == NULL || (any && (!diff_values_chunk(s, chunk, column, record->seen[column]) ||
                                   !diff_values_flush(s)))) {
        return false;
    }
    record->seen[column] = s->diff->world->epoch;
    return true;
}

// Several chunks: ranges are counted over all clusters, but those that were not written since the
// last diff are passed over.
static bool diff_values_of_notes(diff_values_scan* s, const orri_table* table)
{
    const orri_table_cluster* entry;
    uint64_t mark = s->diff->baseline->quiet_mark;
    for (uint32_t i = 0; (entry = orri_table_next(table, &i)) != NULL;) {
        if (entry->cluster->columns[entry->column].version > mark &&
            !diff_values_cluster(s, entry->cluster, entry->column)) {
            return false;
        }
        s->rows_before += entry->cluster->row_count;
    }
    if (!diff_values_flush(s)) {
        return false;
    }
    for (uint32_t i = 0; (entry = orri_table_next(table, &i)) != NULL;) {
        if (entry->cluster->columns[entry->column].version > mark) {
            diff_values_seen(s->diff, entry->cluster, entry->column);
        }
    }
    return true;
}

bool orri_diff_values_noted(orri_diff* diff, orri_baseline_type* type)
{
    const struct orri_baseline* baseline = diff->baseline;
    uint64_t* sets = baseline->set + 2 * baseline->words;
    diff_values_scan s = {.diff = diff,
                          .type = type,
                          .all = sets,
                          .some = sets + baseline->words,
                          .row = sets + 2 * baseline->words};
    uint32_t index = (uint32_t)(type - baseline->types);
    if (type->type->info.size == 0) {
        return true;
    }
    return type->note_count == 1
               ? diff_values_of_note(&s, &baseline->dirty_notes[type->note1 - 1])
               : diff_values_of_notes(
                     &s, (const orri_table*)(const void*)diff->world->tables.list[index]);
}

#undef DIFF_VALUES_AHEAD
