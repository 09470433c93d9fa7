// SPDX-License-Identifier: MIT
// The state that readers were last notified of (the baseline), and how differences become messages.
//
//   world ──versions──> rows that may differ ──compare──> runs ──dispatch──> batches ──> queues
//                                                ▲          │
//                                            baseline <─────┘ updated once the batches exist
//
// Vocabulary:
//   head      the generation and shape of an entity, as readers know it
//   shape     a set of component types and tags
//   run       consecutive rows of one chunk with consecutive entity indexes, to which the same
//             happened
//   run list  the runs of one range of rows; dispatched completely or not at all
//   range     ORRI_DIFF_RANGE_ROWS rows of the world, by position; the end of a range ends a run
//             list, so that messages are cut at fixed places
//   batch     the arrays of one message, shared by all readers that receive the same rows
//   view      one reader's place in a batch
//
// README.md of this folder has the invariants (D1 to D8).
#ifndef ORRI_MESSAGE_DELIVER_BASELINE_H
#define ORRI_MESSAGE_DELIVER_BASELINE_H

#include "message/message.h"

// Baseline values are kept in pages of 512 entities, so that a rare type costs little.
#define ORRI_BASELINE_BITS 9
#define ORRI_BASELINE_SIZE (1u << ORRI_BASELINE_BITS)
#define ORRI_BASELINE_MASK (ORRI_BASELINE_SIZE - 1)
#define ORRI_KINDS         5u // Kinds of messages (orr_message_kind).
#define ORRI_SPARES        7u // Lists of spare batches, by size.
// Rows (for destroyed entities: indexes) per range. A batch is large enough that there are few, and
// small enough to stay in the cache. Readers see where messages are cut, so that the cut may depend
// on nothing else (M12).
#define ORRI_DIFF_RANGE_ROWS 16384u

// ---- shapes, heads (baseline.c) -----------------------------------------------------------------

typedef struct orri_shape {
    uint64_t refs; // Heads, cluster records, batches and pasts that use it.
    uint32_t type_count, tag_count;
    uint32_t number1; // 1 + index in baseline->shapes.
    orr_type* types;  // Ascending.
    orr_tag* tags;    // Ascending.
} orri_shape;

typedef struct orri_head {
    uint32_t generation; // 0: no reader knows the entity.
    uint32_t shape1;     // orri_shape.number1
} orri_head;

// A cluster as the last diff saw it.
typedef struct orri_baseline_cluster {
    uint64_t sequence; // Of the cluster. If it differs, this record is of a cluster that is gone.
    orri_shape* shape; // NULL: unused record.
    uint64_t* seen;    // By type of the shape: up to which version its blocks were compared.
    // Two sets of readers: those whose query selects all rows, then (after match_words words) those
    // that select some. Valid for these numbers of the readers and of enable-bit additions.
    uint64_t* match;
    uint64_t match_numbering;
    uint32_t match_words, match_bits;
    bool bits_changed; // A travel added or removed its enable bits: versions do not show which rows
                       // were enabled or disabled.
} orri_baseline_cluster;

// The instances of a multiple type that readers know of one entity.
typedef struct orri_baseline_cell {
    uint32_t count, capacity;
    uint8_t* values;
    uint32_t* ids;
    uint8_t* off; // 1: the instance is disabled in the baseline.
} orri_baseline_cell;

// A growing bit set by entity index; bits past `count` words are 0.
typedef struct orri_bitset {
    uint64_t* words;
    uint32_t count; // Words.
} orri_bitset;

// The baseline of one component type.
typedef struct orri_baseline_type {
    const orri_type* type;
    bool pinned, multiple;
    bool exact;   // Values are equal exactly if their bytes are.
    bool owned;   // Values hold owned handles.
    bool watched; // Pinned, and the result of a reader's query depends on it.
    bool tracked; // A reader tracks it.
    void** pages; // Of values; of a multiple type: of orri_baseline_cell*.
    uint32_t page_capacity;
    // Owned types: the value's handles are counted. Pinned types: readers know that the entity has
    // the type.
    orri_bitset present;
    orri_bitset off;  // The component is disabled in the baseline.
    uint32_t* owners; // Pinned types: entity index by slot at the last diff; ORRI_INDEX_NONE: free.
    uint32_t owner_count;
    uint64_t mark;         // Pinned types: version up to which owners were compared,
    uint64_t value_mark;   // and up to which values were, also by diffs that skip owners.
    uint32_t* dirty_note1; // By chunk id: 1 + index in baseline->dirty_notes; 0: none.
    uint32_t dirty_note1_capacity;
    uint32_t note_count, note1; // Its notes of dirty rows: number, and 1 + index of the last one.
} orri_baseline_type;

#define ORRI_DIRTY_ROWS_RUN 8u // Average length of a run of noted rows that pays.

// The rows of one block to which sent values were written (dirty_rows.c).
typedef struct orri_dirty_rows_note {
    uint64_t before;  // Version of the block before the first of these writes,
    uint64_t version; // and after the last. A different version: other writes happened too.
    uint32_t type_index, chunk;
    uint32_t rows;  // Writes; at least the number of set bits.
    uint32_t words; // A bit for each word of `bits` that is not zero.
    uint8_t* data;  // Of the column; valid while `version` is the current epoch.
    uint64_t bits[ORR_CHUNK_CAPACITY / 64]; // By slot.
} orri_dirty_rows_note;

// ---- runs, items (runs.c) -----------------------------------------------------------------------

// One component in a message that lists components instead of rows.
typedef struct orri_item {
    orr_component_id id;
    const void* value;
} orri_item;

typedef struct orri_run {
    orri_chunk* chunk; // NULL: the entities are destroyed.
    uint32_t slot;     // Of the first row.
    uint32_t index;    // Entity index of the first row. A run does not cross a page of values.
    uint32_t count;
    uint32_t column; // The column of the chunk whose values are sent.
    uint32_t shape1; // Shape in the baseline; 0: readers do not know the entities.
    orr_system source;
    uint32_t item, item_count; // Items that are sent instead of rows.
    uint8_t cause, kind; // orr_cause; orr_message_kind, where items of several kinds are listed.
    bool alone;          // Other rows do not join it.
    bool any_disabled;   // One row: something of it is disabled, now or in the baseline.
    bool listed; // Its rows are in run_list->sparse_rows from `item` on; `chunk` is that of one of
                 // them.
} orri_run;

// A row of a run that lists its rows (diff_sparse.c).
typedef struct orri_sparse_row {
    const uint8_t* value;
    uint8_t* baseline; // Address of its baseline value.
    uint32_t index;
} orri_sparse_row;

typedef struct orri_batch orri_batch;

// A run list: runs, and for each run three sets of readers (baseline->words words each): those that
// knew the entities, those whose query selects them now, those that receive the message.
typedef struct orri_runs {
    orri_run* runs;
    uint32_t run_count, run_capacity;
    uint64_t *before, *after, *to;
    orri_item* items;
    uint32_t item_count, item_capacity;
    orri_sparse_row* sparse_rows;
    uint32_t sparse_row_count, sparse_row_capacity;
    orri_batch *first[ORRI_KINDS], *last[ORRI_KINDS]; // Batches made of it.
} orri_runs;

// ---- readers (reader.c) -------------------------------------------------------------------------

typedef struct orri_message_view {
    struct orri_message_view* next; // In the reader's queue.
    orri_batch* batch;
    orri_reader* reader;
    const orr_message_column* columns; // EntityAdded: the columns of the types it tracks.
    uint32_t column_count;
} orri_message_view;

struct orri_reader {
    orr_world* world;
    orri_reader *prev, *next; // All readers of the world, in the order of creation.
    char* name;
    orr_query* query;
    orri_counts* counts;
    uint64_t queue_max;
    bool all_types;
    bool tracks_enabled, tracks_tags; // Its query names orr_enabled; orr_tags.
    bool on;                          // Enabled.
    bool fresh;                       // It must receive everything it selects.
    bool lost;                        // The queue overflowed; cleared by orri_reader_lost().
    bool overflowed;                  // The queue overflowed while messages are being delivered.
    bool outside;        // Not part of the state: after a travel it receives the difference.
    uint64_t serial;     // Unique number in this world: a past belongs to one reader only.
    orri_bitset members; // Entities it knows (D2).
    uint32_t number;     // Index in baseline->on.
    orri_match match;    // Whether its query matches the current cluster,
    const uint16_t* map; // the entry's map,
    uint64_t mask;       // and which of the current 64 rows it selects.
    orri_message_view *first, *last; // The queue.
    orri_message_view* reading;      // Messages that the running system has taken.
    uint64_t queued;                 // Entities in the queue.
    // Real time: messages handed to the running system and not taken yet. `handed` is set from
    // orri_reader_take() to orri_reader_done(). `taken_void`: the queue was emptied meanwhile, and
    // the rest of `taken` is discarded too.
    orri_message_view* taken;
    bool handed, taken_void;
    orr_message message; // The view that the system took last, as it sees it.
};

// A column of an EntityAdded that is being built.
typedef struct orri_batch_column {
    const orri_baseline_type* type;
    int32_t column; // In the cluster; -1: pinned.
    uint32_t count; // Values.
    orr_message_column out;
} orri_batch_column;

// ---- everything ---------------------------------------------------------------------------------

// world->messages->baseline
struct orri_baseline {
    orri_reader *first, *last;
    orri_reader** on; // Enabled readers, in the order of creation.
    uint32_t on_count, on_capacity;
    uint32_t reader_count;     // All readers, also disabled ones.
    uint32_t words;            // Length of a set of readers.
    bool stale;                // Readers were enabled or disabled: sets of readers must be rebuilt.
    uint64_t numbering;        // Number of rebuilds.
    uint64_t serials;          // Serial numbers given to readers so far.
    orri_baseline_type* types; // By type index.
    uint32_t type_count, type_capacity;
    uint64_t* trackers; // [type_count * words]: readers that track a type; the sets below follow.
    uint32_t tracker_count;
    // Readers of orr_enabled and of orr_tags; fresh readers; readers outside of the state.
    uint64_t *enabled_readers, *tag_readers, *fresh, *outside_readers;
    bool enabled_any, tag_any, fresh_any; // The set is not empty.
    orri_head** heads; // Pages as those of the entity index, each with one more entry (D6).
    uint32_t head_count, head_capacity;
    orri_shape** shapes;
    uint32_t shape_count, shape_capacity;
    uint32_t* shape_free; // Free numbers.
    uint32_t shape_free_count, shape_free_capacity;
    orri_baseline_cluster* clusters; // By cluster index.
    uint32_t cluster_count;
    orri_bitset off;               // Entities that are disabled in the baseline.
    bool off_ever;                 // Something was disabled in the baseline at some time.
    uint64_t index_mark, row_mark; // Versions up to which index pages, and rows, were compared.
    // Everything that was stamped up to this epoch was compared with all readers; 0: unknown. If
    // the world's `written` is not larger, only noted rows can differ (D8).
    uint64_t quiet_mark;
    orri_runs run_list;
    uint32_t run_list_words; // `words` for which its sets were allocated.
    uint64_t* groups;        // Work space of dispatching: by reader, a bit for each run.
    uint32_t group_capacity, group_words;
    uint32_t* picks; // [run_list.run_capacity]: runs of one batch.
    uint64_t* set;   // [5 * words], work space: two sets for dispatching, three for the diff steps.
    orri_batch_column* columns; // Work space of message_batch.c.
    uint32_t column_capacity;
    // Batches that are made and not delivered: a refused diff continues with the next call, and
    // readers see one diff.
    orri_batch *out_first[ORRI_KINDS], *out_last[ORRI_KINDS];
    orri_batch*
        spares[ORRI_SPARES]; // Memory for future batches: [0] large ones, the others by size.
    orri_dirty_rows_note* dirty_notes; // Since the last diff; each is in dirty_note1 of its type.
    uint32_t dirty_note_count, dirty_note_capacity;
};

// One diff.
typedef struct orri_diff {
    orr_world* world;
    struct orri_baseline* baseline;
    orr_system source;           // The system that made the changes,
    bool by_commit;              // or: ask orri_commit_source() for each entity.
    const orri_foreign* foreign; // Types whose values other pipelines compare; NULL: none.
    uint64_t**
        suspects; // By chunk id, a bit per row: a pinned value may have changed. NULL: nowhere.
    uint64_t** gained; // By pool and chunk id, a bit per row: it got or lost the pinned type.
    uint32_t suspect_count, pool_count;
    uint64_t range; // Range of the rows in the run list.
    bool travels;   // After a travel: only readers outside of the state receive messages.
    // Compares values, not structure. Pinned values that came or went are left to the next diff of
    // structure, which compares the owners of slots: `pinned_left` is set.
    bool values_only, pinned_left;
} orri_diff;

// ---- baseline.c ---------------------------------------------------------------------------------

// The baseline of the world, allocated at first use. NULL when refused (reported).
struct orri_baseline* orri_baseline_of(orr_world* world);
// Delivers the batches that are made to the queues, in the order of their kinds. After a travel
// (`travels`) EntityRemoved comes first: entities of two timelines may have the same index. (diff.c)
void orri_diff_deliver(struct orri_baseline* baseline, bool travels);
// Room for the heads of `count` entities. False when refused (not reported).
bool orri_baseline_heads(orr_world* world, struct orri_baseline* baseline, uint64_t count);
// Room for the heads and members of all entities. False when refused (reported).
bool orri_baseline_prepare(orri_diff* diff);
// No reader is enabled any more: frees everything that is known of entities.
void orri_baseline_forget(orr_world* world, struct orri_baseline* baseline);
// The record of a cluster, created if missing. NULL when refused (reported).
orri_baseline_cluster* orri_baseline_cluster_of(orri_diff* diff, const orri_cluster* cluster);
// The same with current sets of readers. Readers that select some rows have `match` and `map` set
// for the cluster.
orri_baseline_cluster* orri_baseline_match(orri_diff* diff, const orri_cluster* cluster);
static inline const uint64_t* orri_match_all(const orri_baseline_cluster* record)
{
    return record->match;
}
static inline const uint64_t* orri_match_some(const orri_baseline_cluster* record)
{
    return record->match + record->match_words;
}
void orri_shape_release(orr_world* world, struct orri_baseline* baseline, orri_shape* shape,
                        uint64_t refs);
bool orri_shape_has(const orri_shape* shape, orr_type type);
bool orri_shape_same_tags(const orri_shape* a, const orri_shape* b);
bool orri_shape_same(const orri_shape* a, const orri_shape* b);

static inline orri_head* orri_head_at(const struct orri_baseline* baseline, uint32_t index)
{
    return &baseline->heads[index >> ORRI_PAGE_BITS][index & ORRI_PAGE_MASK];
}
// Number of known heads in the page of an entity (D6). A page with none, as after a large creation,
// need not be read.
static inline uint32_t* orri_heads_known(const struct orri_baseline* baseline, uint32_t index)
{
    return &baseline->heads[index >> ORRI_PAGE_BITS][ORRI_PAGE_SIZE].generation;
}
static inline orri_shape* orri_shape_at(const struct orri_baseline* baseline, uint32_t shape1)
{
    return baseline->shapes[shape1 - 1];
}
// Room for `bits` bits; new bits are 0. False when refused (not reported).
bool orri_bitset_reserve(orr_world* world, orri_bitset* set, uint64_t bits);
void orri_bitset_free(orr_world* world, orri_bitset* set);
static inline bool orri_bitset_has(const orri_bitset* set, uint32_t index)
{
    return index / 64 < set->count && orri_bit_get(set->words, index);
}
static inline void orri_bitset_put(orri_bitset* set, uint32_t index, bool on)
{
    if (on || index / 64 < set->count) {
        orri_bit_set(set->words, index, on);
    }
}

// ---- diff.c -------------------------------------------------------------------------------------

// After a travel: makes the baseline equal to the world. Readers outside of the state receive the
// difference; readers that are part of the state receive nothing. Refusal as for orri_diff_run().
orr_result orri_diff_travel(orr_world* world);
// True when nothing was written since the last diff of everything but rows that are noted.
bool orri_diff_quiet(const orr_world* world);

// ---- baseline_values.c --------------------------------------------------------------------------

// Rebuilds the sets of readers after readers or types were added. False when refused (reported).
bool orri_baseline_refresh(orr_world* world, struct orri_baseline* baseline);
void orri_baseline_type_free(orr_world* world, orri_baseline_type* type);
// The baseline of a type; NULL: no reader tracks it.
static inline orri_baseline_type* orri_baseline_tracked(const struct orri_baseline* baseline,
                                                        uint32_t type_index)
{
    return type_index < baseline->type_count && baseline->types[type_index].tracked
               ? &baseline->types[type_index]
               : NULL;
}
static inline const uint64_t* orri_baseline_trackers(const struct orri_baseline* baseline,
                                                     const orri_baseline_type* type)
{
    return baseline->trackers + (size_t)(type - baseline->types) * baseline->words;
}
// Room for the values of the page of an entity; for `count` instances of a multiple type. False
// when refused (reported).
bool orri_baseline_room(orr_world* world, orri_baseline_type* type, uint32_t index);
bool orri_baseline_room_cell(orr_world* world, orri_baseline_type* type, uint32_t index,
                             uint32_t count);
// The baseline value of an entity; NULL: there is no page. See D3 for when it is valid.
static inline uint8_t* orri_baseline_at(const orri_baseline_type* type, uint32_t index)
{
    uint32_t page = index >> ORRI_BASELINE_BITS;
    return page < type->page_capacity && type->pages[page] != NULL
               ? (uint8_t*)type->pages[page] +
                     (size_t)(index & ORRI_BASELINE_MASK) * type->type->info.size
               : NULL;
}
orri_baseline_cell* orri_baseline_cell_at(const orri_baseline_type* type, uint32_t index);
// True when two values differ.
bool orri_baseline_differs(const orri_baseline_type* type, const void* a, const void* b);
// Stores the values of `count` consecutive entities; there is room.
void orri_baseline_put(orri_baseline_type* type, uint32_t index, const void* values,
                       uint32_t count);
typedef struct orri_baseline_instances {
    uint32_t count;
    const uint32_t* ids;
    const uint8_t* values;
} orri_baseline_instances;
// The instances of a row.
orri_baseline_instances orri_baseline_instances_at(const orri_chunk* chunk, uint32_t column,
                                                   uint32_t slot);
void orri_baseline_put_cell(orri_baseline_type* type, uint32_t index,
                            const orri_baseline_instances* now);
// The entity lost the type: releases what the baseline value holds.
void orri_baseline_drop(orr_world* world, orri_baseline_type* type, uint32_t index);

// ---- dirty_rows.c -------------------------------------------------------------------------------

// The caller will write rows of a column and note each with orri_dirty_rows_row(), in an epoch in
// which no other code writes the column. To be called before the column is stamped. Valid until the
// next call. NULL: memory is short (not reported); then all rows will be compared, which is only
// slower.
orri_dirty_rows_note* orri_dirty_rows_begin(orr_world* world, orri_baseline_type* type,
                                            const orri_chunk* chunk, uint32_t column);
static inline void orri_dirty_rows_row(orri_dirty_rows_note* dirty, uint32_t slot)
{
    dirty->bits[slot / 64] |= UINT64_C(1) << slot % 64;
    dirty->words |= 1u << slot / 64;
    dirty->rows++;
}
// Notes `count` rows of one word.
static inline void orri_dirty_rows_note_rows(orri_dirty_rows_note* dirty, uint32_t slot,
                                             uint32_t count)
{
    dirty->bits[slot / 64] |= UINT64_MAX >> (64 - count) << slot % 64;
    dirty->words |= 1u << slot / 64;
    dirty->rows += count;
}
// The notes of a type as a local copy of the pointers, for loops that write through byte pointers,
// which may alias everything. Valid until the next orri_dirty_rows_begin().
typedef struct orri_dirty_rows_list {
    const uint32_t* dirty_note1;
    orri_dirty_rows_note* all;
    uint64_t epoch;
    uint32_t capacity;
} orri_dirty_rows_list;
static inline orri_dirty_rows_list orri_dirty_rows_list_of(const orr_world* world,
                                                           const orri_baseline_type* type)
{
    return (orri_dirty_rows_list){type->dirty_note1, world->messages->baseline->dirty_notes,
                                  world->epoch, type->dirty_note1_capacity};
}
// The note of a chunk, if it was begun in this epoch and its `data` is set; else NULL.
static inline orri_dirty_rows_note* orri_dirty_rows_open(const orri_dirty_rows_list* dirty_notes,
                                                         uint32_t chunk)
{
    uint32_t number1 = chunk < dirty_notes->capacity ? dirty_notes->dirty_note1[chunk] : 0;
    orri_dirty_rows_note* dirty = number1 != 0 ? &dirty_notes->all[number1 - 1] : NULL;
    return dirty != NULL && dirty->version == dirty_notes->epoch ? dirty : NULL;
}
// True when most noted rows have noted neighbours: they are faster compared as arrays than one by one.
bool orri_dirty_rows_in_runs(const orri_dirty_rows_note* dirty);
static inline bool orri_dirty_rows_dense(const orri_dirty_rows_note* dirty)
{
    return dirty->rows >= ORRI_DIRTY_ROWS_RUN && orri_dirty_rows_in_runs(dirty);
}
// The only rows of a block that may differ, if the block was compared up to version `seen`. NULL:
// any row may differ.
const orri_dirty_rows_note* orri_dirty_rows_of(const struct orri_baseline* baseline,
                                               const orri_baseline_type* type,
                                               const orri_chunk* chunk, uint32_t column,
                                               uint64_t seen);
void orri_dirty_rows_clear(struct orri_baseline* baseline);

// ---- message_batch.c ----------------------------------------------------------------------------

// The parts of a batch to build.
typedef struct orri_batch_desc {
    orr_message_kind kind;
    orr_cause cause;
    orr_system system;
    const orri_type* type; // NULL: a message about entities.
    orri_shape* shape;     // EntityAdded and changes of orr_tags; else NULL.
    bool items;            // The runs' items are sent, else their rows.
    const uint32_t* picks; // Runs of the run list.
    uint32_t pick_count;
    const uint64_t* receivers; // Set of readers.
} orri_batch_desc;

// The arrays of one message. One allocation holds the struct, the arrays and the views.
struct orri_batch {
    orri_batch* next;    // In a list of batches to deliver, or of spares.
    size_t bytes;        // Of the allocation.
    uint64_t spare_tick; // Tick in which it became a spare.
    uint32_t refs, view_count;
    uint32_t order; // Its first run, by which batches are sorted.
    const orri_type* type;
    orri_shape* shape; // NULL: none.
    orr_message message;
    orri_message_view* views;
};

// Builds the batch and its views. NULL when refused (reported).
orri_batch* orri_batch_build(orri_diff* diff, const orri_batch_desc* desc);
// Releases one view; the last one frees the batch.
void orri_batch_release(orr_world* world, orri_batch* made);
void orri_batch_free(orr_world* world, orri_batch* made);
// Frees spare batches that were not used for a tick, or all.
void orri_spares_trim(orr_world* world, struct orri_baseline* baseline, bool all);
uint64_t orri_message_view_hash(const orr_world* world, const orri_message_view* view,
                                uint64_t hash);

// ---- runs.c -------------------------------------------------------------------------------------

void orri_runs_clear(struct orri_baseline* baseline);
bool orri_runs_prepare(orr_world* world, struct orri_baseline* baseline);
void orri_runs_term(orr_world* world, struct orri_baseline* baseline);
// Doubles the room for runs. False when refused (reported).
bool orri_runs_grow(orr_world* world, struct orri_baseline* baseline);
// Room for the runs of one more row. False when refused (reported).
static inline bool orri_runs_room(orri_diff* diff)
{
    return ORR_LIKELY(diff->baseline->run_list.run_count + 4 <=
                      diff->baseline->run_list.run_capacity) ||
           orri_runs_grow(diff->world, diff->baseline);
}
// The range of a chunk: `chunk` is its number in its cluster, `rows_before` the rows of the
// clusters before it.
static inline uint64_t orri_diff_range(uint64_t rows_before, uint32_t chunk)
{
    return (rows_before + (uint64_t)chunk * ORR_CHUNK_CAPACITY) / ORRI_DIFF_RANGE_ROWS;
}
// Enters a range. True when the run list has rows of another range, which must be dispatched first.
static inline bool orri_diff_range_ends(orri_diff* diff, uint64_t section)
{
    bool ends = section != diff->range && diff->baseline->run_list.run_count > 0;
    diff->range = section;
    return ends;
}
// Appends rows with sets of readers (NULL: the empty set). They join the last run if it is alike
// and adjacent. There must be room.
void orri_runs_push(struct orri_baseline* baseline, const orri_run* run, const uint64_t* before,
                    const uint64_t* after);
// Appends an item to those of the last run. False when refused (reported).
bool orri_runs_item(orr_world* world, orri_runs* run_list, orr_component_id id, const void* value);
// Which messages to make of a run list.
typedef struct orri_dispatch {
    orr_message_kind kind;
    const orri_type* type;
    orri_shape* shape;
    bool items;
    int forced; // Cause of all messages (orr_cause); negative: the cause of each run.
} orri_dispatch;
// Makes batches of all runs with a receiver (run_list->to): one for each cause, source and set of
// receivers; those of one reader are in the order of their first runs. False when refused
// (reported).
bool orri_runs_dispatch(orri_diff* diff, const orri_dispatch* dispatch);
// Empties the run list: its batches will be delivered (keep), or are freed (abandon).
void orri_runs_keep(orri_diff* diff);
void orri_runs_abandon(orri_diff* diff);
// The system that changed an entity.
static inline orr_system orri_diff_source(const orri_diff* diff, uint32_t index)
{
    return diff->by_commit ? orri_commit_source(diff->world, index) : diff->source;
}

// ---- diff_sparse.c ------------------------------------------------------------------------------

// Appends the noted rows that differ to a run that lists its rows. All rows go to `readers`, which
// know every entity of the chunk. False when refused (reported).
bool orri_sparse_rows_push(orri_diff* diff, const orri_baseline_type* type, orri_chunk* chunk,
                           uint32_t column, const orri_dirty_rows_note* dirty,
                           const uint64_t* readers);
// Copies the entities and values of such a run into a batch; stores its values in the baseline.
void orri_sparse_rows_fill(const orri_diff* diff, const orri_run* run, uint32_t size,
                           orr_entity* entities, uint8_t* values);
void orri_sparse_rows_put(const orri_runs* run_list, const orri_run* run, uint32_t size);

// ---- sets of readers ----------------------------------------------------------------------------

static inline bool orri_set_any(const uint64_t* set, uint32_t words)
{
    uint64_t any = 0;
    for (uint32_t w = 0; w < words; w++) {
        any |= set[w];
    }
    return any != 0;
}
static inline bool orri_set_equal(const uint64_t* a, const uint64_t* b, uint32_t words)
{
    uint64_t differ = 0;
    for (uint32_t w = 0; w < words; w++) {
        differ |= a[w] ^ b[w];
    }
    return differ == 0;
}
// True when a reader of `set` is in `before` and in `after` (stays), or only in `after` (enters).
static inline bool orri_set_stays(const uint64_t* before, const uint64_t* after,
                                  const uint64_t* set, uint32_t words)
{
    uint64_t any = 0;
    for (uint32_t w = 0; w < words; w++) {
        any |= before[w] & after[w] & set[w];
    }
    return any != 0;
}
static inline bool orri_set_enters(const uint64_t* before, const uint64_t* after,
                                   const uint64_t* set, uint32_t words)
{
    uint64_t any = 0;
    for (uint32_t w = 0; w < words; w++) {
        any |= ~before[w] & after[w] & set[w];
    }
    return any != 0;
}

// ---- reader.c -----------------------------------------------------------------------------------

// True when it is notified of changes of the type.
bool orri_reader_tracks(const orri_reader* reader, orr_type type);
// True when a term of its query names the type.
bool orri_reader_names(const orri_reader* reader, orr_type type);
// Empties the queue.
void orri_reader_empty(orri_reader* reader);
// Clears `members` and makes it fresh.
void orri_reader_forget(orri_reader* reader);
// Appends a view to its reader's queue. A queue that would exceed its limit is emptied, which is
// reported.
void orri_reader_deliver(orri_message_view* view);
// Sets `match` and `map` to what the reader's query says of a cluster.
void orri_reader_match(orri_reader* reader, const orri_cluster* cluster);
// True when it knows the entity of a row and still selects it. `match` must be set for the cluster.
static inline bool orri_reader_knows(const orri_reader* reader, const orri_chunk* chunk,
                                     uint32_t slot, uint32_t index)
{
    return orri_bitset_has(&reader->members, index) && reader->match != ORRI_MATCH_NONE &&
           (reader->match == ORRI_MATCH_ALL ||
            orri_query_row(reader->query, reader->map, chunk, slot));
}
void orri_reader_free(orr_world* world, orri_reader* reader);

// ---- diff_destroyed.c, diff_values.c, diff_instances.c, diff_rows.c: the steps of a diff --------

// All steps return false when refused (reported).

bool orri_diff_destroyed(orri_diff* diff);
bool orri_diff_rows(orri_diff* diff);
// True when another pipeline compares the values of the type. Instances and pinned values come and
// go without a change of rows: they are structure, which every diff with `structure` compares. The
// baseline of a type with hooks may be stale bytes, so that it cannot be sent in place of the value
// either.
static inline bool orri_diff_skips(const orri_diff* diff, const orri_baseline_type* type)
{
    return ORR_UNLIKELY(diff->foreign != NULL) &&
           orri_is_foreign(diff->foreign, (uint32_t)(type - diff->baseline->types)) &&
           !type->pinned && !type->multiple && !type->type->info.has_hooks;
}
// True for a foreign type if a reader knows the value of the run's entities. Then a reader to which
// the entities are new receives the baseline value, so that all readers know the same until the
// owner of the type sends the difference.
bool orri_run_from_baseline(const orri_diff* diff, const orri_run* run,
                            const orri_baseline_type* type);
// Values of a unique type in chunks. `query` (may be NULL): only the clusters it matches.
bool orri_diff_values(orri_diff* diff, orri_baseline_type* type, const orr_query* query);
// Only the noted rows of the type.
bool orri_diff_values_noted(orri_diff* diff, orri_baseline_type* type);
// Writes the ids of a run's entities.
void orri_run_entities(const orri_diff* diff, const orri_run* run, orr_entity* out);
// Instances of a multiple type; values of a pinned type.
bool orri_diff_instances(orri_diff* diff, orri_baseline_type* type, const orr_query* query);
bool orri_diff_pinned(orri_diff* diff, orri_baseline_type* type);
// Finds the rows whose pinned values may have changed (diff->suspects): of one type, or of all
// watched types (NULL).
bool orri_diff_suspect(orri_diff* diff, const orri_baseline_type* only);
void orri_diff_suspects_free(orri_diff* diff);
// Stores which entity has which slot of the pinned types; reserve makes room first.
bool orri_diff_owners_reserve(orri_diff* diff);
void orri_diff_owners_keep(orri_diff* diff);

// ---- diff_enabled.c -----------------------------------------------------------------------------

typedef enum orri_enabled_state {
    ORRI_ENABLED_ALL,     // Everything is enabled, in the baseline too.
    ORRI_ENABLED_PARTLY,  // Something is disabled, and readers know it.
    ORRI_ENABLED_DIFFERS, // Something differs from the baseline.
} orri_enabled_state;

// Compares the enable bits of a row with the baseline.
orri_enabled_state orri_diff_enabled_row(const orri_diff* diff, const orri_chunk* chunk,
                                         uint32_t slot, uint32_t index);
// Dispatches changes of enable bits of a run list whose rows have one shape; stores those of a run
// in the baseline.
bool orri_diff_enabled(orri_diff* diff, const orri_shape* shape);
void orri_diff_enabled_keep(orri_diff* diff, const orri_shape* shape, const orri_run* run);

#endif
