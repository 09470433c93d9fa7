// SPDX-License-Identifier: MIT
// What readers were told, and how differences become messages.
//
//   world ──versions──> rows that may differ ──compare with told──> runs ──deal──> batches ──> queues of readers
//                                                    ▲                │
//                                                    └───── told ─────┘ written once the batches are there
//
// Vocabulary: a *head* is what was told of an entity's identity: generation and shape; a *shape* is a set of types and tags; a
// *run* is some rows, one after another, whose entities have indexes one after another and to which the same happened;
// a *piece* is a list of runs that is told as a whole or not at all; a *view* is one reader's place in a batch.
//
// Invariants, outside of a tell:
// T1 A head has the generation of an entity that was alive at the last whole tell, or 0. Its shape counts it.
// T2 The bit of an entity in a reader's `members` says that it was told EntityAdded and not yet EntityRemoved.
// T3 A value in a told type is what was told of an entity if it is a member of a reader that tracks the type, and its shape
//    has it (of a pinned type: it is held). Otherwise it is anything.
// T4 Owned handles in told values that are held, and in batches, are counted in their blobs.
// T5 A batch has as many references as views that wait or are read.
// T6 Behind each page of heads stands how many of them have a generation.
// T7 The sets of readers of a cluster are what their queries' entries say, if their numbering and its count of bits are current.
#ifndef ORRI_MESSAGE_DELIVER_BASELINE_H
#define ORRI_MESSAGE_DELIVER_BASELINE_H

#include "message/message.h"

#define ORRI_BASELINE_BITS \
    9 // Values are kept in pages of so many entities: a rare type costs little.
#define ORRI_BASELINE_SIZE (1u << ORRI_BASELINE_BITS)
#define ORRI_BASELINE_MASK (ORRI_BASELINE_SIZE - 1)
#define ORRI_KINDS         5u
#define ORRI_SPARES        6u // Lists of spares.
// The world is told in sections of so many rows (of the dead: indexes), and what a section gives is one piece: a batch is large
// enough to be few, small enough to stay in the cache. Readers see it, so it may depend on nothing else (README.md, M12).
#define ORRI_SECTION_ROWS 16384u

// ---- shapes, heads (baseline.c) ----------------------------------------------------------------------------------

typedef struct orri_shape {
    uint64_t refs; // Heads, records of clusters, batches.
    uint32_t type_count, tag_count;
    uint32_t number1; // In told->shapes.
    orr_type* types;  // Ascending.
    orr_tag* tags;    // Ascending.
} orri_shape;

typedef struct orri_head {
    uint32_t generation; // 0: unknown.
    uint32_t shape1;
} orri_head;

// A cluster as the last tell saw it.
typedef struct orri_baseline_cluster {
    uint64_t sequence; // Of the cluster; another one: this is of one that is gone.
    orri_shape* shape;
    uint64_t* seen; // By type of the shape: up to which version its blocks were compared.
    // Readers that select all of its rows, then (behind `match_words`) those that select some: as their queries said when the
    // readers were numbered so, and the cluster had so many times got enable bits.
    uint64_t* match;
    uint64_t match_numbering;
    uint32_t match_words, match_bits;
    bool
        rebit; // It got or lost enable bits when the world went back: no version tells what was switched.
} orri_baseline_cluster;

// Instances of a multiple type on one entity.
typedef struct orri_baseline_cell {
    uint32_t count, capacity;
    uint8_t* values;
    uint32_t* ids;
    uint8_t* off; // 1: it was told to be off.
} orri_baseline_cell;

typedef struct orri_bitset {
    uint64_t* words; // By entity index. Zero where nothing was set.
    uint32_t count;
} orri_bitset;

// A type, of which somebody may be told.
typedef struct orri_baseline_type {
    const orri_type* type;
    bool pinned, multiple;
    bool exact;   // Values are equal when their bytes are.
    bool owned;   // Values hold handles.
    bool watched; // Pinned, and some reader's query depends on it.
    bool tracked; // By somebody.
    void** pages; // Of values or, of a multiple type, of orri_baseline_cell*.
    uint32_t page_capacity;
    orri_bitset
        held; // Of owned types: the value is counted. Of pinned ones: the entity was told to have it.
    orri_bitset off;  // Was told to be switched off.
    uint32_t* owners; // Of a pinned type: who had which slot; ORRI_INDEX_NONE: nobody.
    uint32_t owner_count;
    uint64_t mark;       // Of a pinned type: up to which version its blocks were looked at,
    uint64_t value_mark; // and its values told, also where it was not asked who has them.
    uint32_t* touched1;  // By id of chunk: which of told->touches.
    uint32_t touched_capacity;
} orri_baseline_type;

// Rows of a block to which sent values were written (dirty_rows.c).
typedef struct orri_dirty_rows_note {
    uint64_t before;  // The block's version when the first was,
    uint64_t version; // and since the last. Another one: others wrote, too.
    uint32_t type_index, chunk;
    uint32_t rows;  // At least as many as there are bits.
    uint32_t words; // A bit for each of `bits` that is not zero.
    uint8_t* data;  // Of the column; good while `version` is the epoch.
    uint64_t bits[ORR_CHUNK_CAPACITY / 64];
} orri_dirty_rows_note;

// ---- runs, items, pieces (runs.c) ------------------------------------------------------------------------

typedef struct orri_item {
    orr_component_id id;
    const void* value;
} orri_item;

typedef struct orri_run {
    orri_chunk* chunk; // NULL: the entities are dead.
    uint32_t slot;
    uint32_t index; // Of the first entity. A run does not cross a page of values.
    uint32_t count;
    uint32_t column; // Whose values are sent.
    uint32_t shape1; // Told before; 0: nothing was.
    orr_system source;
    uint32_t item, item_count; // What is sent instead of a row of the column.
    uint8_t cause, kind;
    bool alone;    // Others do not join it.
    bool switched; // Of one row: something is, or was told to be, switched off.
    bool
        listed; // Its rows are anywhere, in piece->lones from `item` on; `chunk` is that of one of them.
} orri_run;

// A row of a run that lists them (diff_sparse.c).
typedef struct orri_sparse_rows {
    const uint8_t* value;
    uint8_t* told; // Where what was told of it is.
    uint32_t index;
} orri_sparse_rows;

typedef struct orri_batch orri_batch;

typedef struct orri_runs {
    orri_run* runs;
    uint32_t run_count, run_capacity;
    // By run, bits by number of reader, told->words each: who had selected the entities, who does, who gets the message.
    uint64_t *before, *after, *to;
    orri_item* items;
    uint32_t item_count, item_capacity;
    orri_sparse_rows* lones;
    uint32_t lone_count, lone_capacity;
    orri_batch *first[ORRI_KINDS], *last[ORRI_KINDS]; // Made of it.
} orri_runs;

// ---- readers (reader.c) ------------------------------------------------------------------------------------------

typedef struct orri_message_view {
    struct orri_message_view* next;
    orri_batch* batch;
    orri_reader* reader;
    const orr_message_column* columns;
    uint32_t column_count;
} orri_message_view;

struct orri_reader {
    orr_world* world;
    orri_reader *prev, *next; // All of the world, in order of creation.
    char* name;
    orr_query* query;
    orri_counts* counts;
    uint64_t queue_max;
    bool all_types;
    bool switches, tags; // It tracks orr_enabled, orr_tags.
    bool on;
    bool fresh;     // It must be told of everything.
    bool lost;      // The queue overflowed.
    bool shut;      // Likewise, in this tell.
    bool outside;   // No part of the state: when the world goes back, it is told the difference.
    uint64_t birth; // Its number among all that ever were: what is remembered is of it alone.
    orri_bitset members;
    uint32_t number;                        // In told->on.
    orri_match match;                       // Of the cluster at hand,
    const uint16_t* map;                    // the entry's map,
    uint64_t mask;                          // and of 64 rows at hand.
    orri_message_view *first, *last, *held; // The queue; what the system reads now.
    uint64_t queued;                        // Entities.
    // In real time: what a system that runs may take, out of the queue; `handed` from orri_reader_take() to orri_reader_done(). If the
    // queue is emptied meanwhile, what was not taken goes with it.
    orri_message_view* taken;
    bool handed, taken_void;
    orr_message message;
};

// A column of an EntityAdded under way.
typedef struct orri_batch_column {
    const orri_baseline_type* type;
    int32_t column; // In the cluster; -1: pinned.
    uint32_t count; // Of values.
    orr_message_column out;
} orri_batch_column;

// ---- everything --------------------------------------------------------------------------------------------------

struct orri_baseline {
    orri_reader *first, *last;
    orri_reader** on; // Those switched on, in order of creation.
    uint32_t on_count, on_capacity;
    uint32_t words;            // Of a set of readers.
    bool stale;                // Readers came or went: `types` and sets of readers must be renewed.
    uint64_t numbering;        // How often they were.
    uint64_t births;           // Readers that ever were.
    orri_baseline_type* types; // By type index.
    uint32_t type_count, type_capacity;
    uint64_t* trackers; // [type_count * words]: who tracks a type.
    uint32_t tracker_count;
    uint64_t *switchers, *taggers, *fresh, *outsiders; // [words] each.
    bool switch_any, tag_any, fresh_any;
    orri_head**
        heads; // In pages as those of the index; behind the last head how many of the page are known.
    uint32_t head_count, head_capacity;
    orri_shape** shapes;
    uint32_t shape_count, shape_capacity;
    uint32_t* shape_free;
    uint32_t shape_free_count, shape_free_capacity;
    orri_baseline_cluster* clusters; // By index of cluster.
    uint32_t cluster_count;
    orri_bitset off; // Entities that were told to be switched off.
    bool off_ever;   // Something was.
    uint64_t index_mark, row_mark;
    orri_runs piece;
    uint32_t piece_words; // For which its sets were made.
    uint64_t* groups;     // Scratch of dealing: by reader, a bit for each run.
    uint32_t group_capacity, group_words;
    uint32_t* picks; // [piece.run_capacity]
    uint64_t* set;   // [5 * words], scratch: two for dealing, three for who fills the piece.
    orri_batch_column* columns; // Scratch.
    uint32_t column_capacity;
    // Made, and not yet handed out: a tell that is refused goes on with the next call, and readers see one tell.
    orri_batch *out_first[ORRI_KINDS], *out_last[ORRI_KINDS];
    orri_batch* spares
        [ORRI_SPARES]; // Memory of batches, for the next ones: of large ones, of smaller ones by size.
    orri_dirty_rows_note* touches; // Since the last tell; each is in `touched1` of its type.
    uint32_t touch_count, touch_capacity;
};

typedef struct orri_diff {
    orr_world* world;
    struct orri_baseline* told;
    orr_system source;
    bool by_commit;
    const orri_foreign* foreign; // Types whose values others tell of; NULL: none.
    uint64_t**
        suspects;      // By chunk id, a bit for each row: something pinned changed. NULL: nowhere.
    uint64_t** gained; // By pool and chunk id: they got or lost its type.
    uint32_t suspect_count, pool_count;
    uint64_t section; // Of the rows in the piece.
    bool travels;     // The world went back: only readers outside of the state hear of it.
} orri_diff;

// ---- baseline.c ------------------------------------------------------------------------------------------------------

// Made at first use. NULL when refused (reported).
struct orri_baseline* orri_baseline_of(orr_world* world);
// What was made goes to the queues. (diff.c)
void orri_diff_hand_out(struct orri_baseline* told);
// Heads for entities up to a count. False when refused (not reported).
bool orri_baseline_heads(orr_world* world, struct orri_baseline* told, uint64_t count);
// Everything that a tell needs to note who was told. False when refused (reported).
bool orri_baseline_prepare(orri_diff* tell);
// Nobody listens any more: forgets everything.
void orri_baseline_forget(orr_world* world, struct orri_baseline* told);
// The record of a cluster; NULL when refused (reported).
orri_baseline_cluster* orri_baseline_cluster_of(orri_diff* tell, const orri_cluster* cluster);
// The same, with its sets of readers as they are now. What the queries say of its rows is known for those that select some.
orri_baseline_cluster* orri_baseline_match(orri_diff* tell, const orri_cluster* cluster);
static inline const uint64_t* orri_match_all(const orri_baseline_cluster* record)
{
    return record->match;
}
static inline const uint64_t* orri_match_some(const orri_baseline_cluster* record)
{
    return record->match + record->match_words;
}
void orri_shape_release(orr_world* world, struct orri_baseline* told, orri_shape* shape,
                        uint64_t refs);
bool orri_shape_has(const orri_shape* shape, orr_type type);
bool orri_shape_same_tags(const orri_shape* a, const orri_shape* b);
bool orri_shape_same(const orri_shape* a, const orri_shape* b);

static inline orri_head* orri_head_at(const struct orri_baseline* told, uint32_t index)
{
    return &told->heads[index >> ORRI_PAGE_BITS][index & ORRI_PAGE_MASK];
}
// How many heads of the page of an entity are known. Pages that are all new, as after a large creation, need not be read.
static inline uint32_t* orri_heads_known(const struct orri_baseline* told, uint32_t index)
{
    return &told->heads[index >> ORRI_PAGE_BITS][ORRI_PAGE_SIZE].generation;
}
static inline orri_shape* orri_shape_at(const struct orri_baseline* told, uint32_t shape1)
{
    return told->shapes[shape1 - 1];
}
// Room for `bits` bits, new ones zero. False when refused (not reported).
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

// ---- diff.c ---------------------------------------------------------------------------------------------------------

// The world went back: what was told is as it is now. Readers that are part of the state hear nothing of it, the others what differs. As orri_diff_run().
orr_result orri_diff_travel(orr_world* world);

// ---- baseline_values.c ----------------------------------------------------------------------------------------------------

// Who tracks what, after readers or types have come. False when refused (reported).
bool orri_baseline_refresh(orr_world* world, struct orri_baseline* told);
void orri_baseline_type_free(orr_world* world, orri_baseline_type* type);
// NULL: nobody tracks it.
static inline orri_baseline_type* orri_baseline_tracked(const struct orri_baseline* told,
                                                        uint32_t type_index)
{
    return type_index < told->type_count && told->types[type_index].tracked
               ? &told->types[type_index]
               : NULL;
}
static inline const uint64_t* orri_baseline_trackers(const struct orri_baseline* told,
                                                     const orri_baseline_type* type)
{
    return told->trackers + (size_t)(type - told->types) * told->words;
}
// Room for the values of some entities of one page; of a multiple type for so many instances of the entity.
bool orri_baseline_room(orr_world* world, orri_baseline_type* type, uint32_t index);
bool orri_baseline_room_cell(orr_world* world, orri_baseline_type* type, uint32_t index,
                             uint32_t count);
// The value told; NULL: there is no page. Of a multiple type the cell; NULL: none.
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
// Notes values; there is room. Of a cell what was told to be off is kept by id.
void orri_baseline_put(orri_baseline_type* type, uint32_t index, const void* values,
                       uint32_t count);
typedef struct orri_baseline_instances {
    uint32_t count;
    const uint32_t* ids;
    const uint8_t* values;
} orri_baseline_instances;
// Those of a row.
orri_baseline_instances orri_baseline_instances_at(const orri_chunk* chunk, uint32_t column,
                                                   uint32_t slot);
void orri_baseline_put_cell(orri_baseline_type* type, uint32_t index,
                            const orri_baseline_instances* now);
// The entity lost it: gives back what the value holds.
void orri_baseline_drop(orr_world* world, orri_baseline_type* type, uint32_t index);

// ---- dirty_rows.c ---------------------------------------------------------------------------------------------------------

// Some rows of a column will be written, and noted by orri_dirty_rows_row(), in an epoch in which nobody else writes it; before it is stamped. Good until the next
// call. NULL: not noted, for want of memory (not reported); nothing is lost by that.
orri_dirty_rows_note* orri_dirty_rows_begin(orr_world* world, orri_baseline_type* type,
                                            const orri_chunk* chunk, uint32_t column);
static inline void orri_dirty_rows_row(orri_dirty_rows_note* touch, uint32_t slot)
{
    touch->bits[slot / 64] |= UINT64_C(1) << slot % 64;
    touch->words |= 1u << slot / 64;
    touch->rows++;
}
// Where those of a type are, for a loop that writes bytes, which might be anything. Good until the next orri_dirty_rows_begin().
typedef struct orri_dirty_rows_list {
    const uint32_t* touched1;
    orri_dirty_rows_note* all;
    uint64_t epoch;
    uint32_t capacity;
} orri_dirty_rows_list;
static inline orri_dirty_rows_list orri_dirty_rows_list_of(const orr_world* world,
                                                           const orri_baseline_type* type)
{
    return (orri_dirty_rows_list){type->touched1, world->messages->told->touches, world->epoch,
                                  type->touched_capacity};
}
// That of a chunk, if it was begun in this epoch, and its `data` is set; NULL: it was not.
static inline orri_dirty_rows_note* orri_dirty_rows_open(const orri_dirty_rows_list* touches,
                                                         uint32_t chunk)
{
    uint32_t number1 = chunk < touches->capacity ? touches->touched1[chunk] : 0;
    orri_dirty_rows_note* touch = number1 != 0 ? &touches->all[number1 - 1] : NULL;
    return touch != NULL && touch->version == touches->epoch ? touch : NULL;
}
// The only rows of a block that may differ, if all were told up to a version; NULL: any may.
const orri_dirty_rows_note* orri_dirty_rows_of(const struct orri_baseline* told,
                                               const orri_baseline_type* type,
                                               const orri_chunk* chunk, uint32_t column,
                                               uint64_t seen);
void orri_dirty_rows_clear(struct orri_baseline* told);

// ---- message_batch.c --------------------------------------------------------------------------------------------------

typedef struct orri_batch_plan {
    orr_message_kind kind;
    orr_cause cause;
    orr_system system;
    const orri_type* type; // NULL: of entities.
    orri_shape* shape;     // Of EntityAdded and of orr_tags.
    bool items;            // Runs have items, else rows.
    const uint32_t* picks; // Runs of the piece.
    uint32_t pick_count;
    const uint64_t* receivers;
} orri_batch_plan;

struct orri_batch {
    orri_batch* next; // In a list of what is to be handed out, or of spares.
    size_t bytes;
    uint64_t spare_tick; // When it became one.
    uint32_t refs, view_count;
    uint32_t order; // The first of its runs.
    const orri_type* type;
    orri_shape* shape; // NULL: none.
    orr_message message;
    orri_message_view* views;
};

// NULL when refused (reported).
orri_batch* orri_batch_build(orri_diff* tell, const orri_batch_plan* plan);
// One view less. Frees it with the last.
void orri_batch_release(orr_world* world, orri_batch* made);
void orri_batch_free(orr_world* world, orri_batch* made);
// Gives back spares that nobody wanted for a tick; or all.
void orri_spares_trim(orr_world* world, struct orri_baseline* told, bool all);
uint64_t orri_message_view_hash(const orr_world* world, const orri_message_view* view,
                                uint64_t hash);

// ---- runs.c ------------------------------------------------------------------------------------------------------

void orri_runs_clear(struct orri_baseline* told);
bool orri_runs_prepare(orr_world* world, struct orri_baseline* told);
void orri_runs_term(orr_world* world, struct orri_baseline* told);
// Room for the runs of one more row. False when refused (reported).
bool orri_runs_grow(orr_world* world, struct orri_baseline* told);
static inline bool orri_runs_room(orri_diff* tell)
{
    return ORR_LIKELY(tell->told->piece.run_count + 4 <= tell->told->piece.run_capacity) ||
           orri_runs_grow(tell->world, tell->told);
}
// The section of a chunk (by its number in the cluster) with so many rows in the clusters before.
static inline uint64_t orri_section(uint64_t rows_before, uint32_t chunk)
{
    return (rows_before + (uint64_t)chunk * ORR_CHUNK_CAPACITY) / ORRI_SECTION_ROWS;
}
// True when the piece holds rows of another section: it must be told before any of this one are pushed.
static inline bool orri_section_ends(orri_diff* tell, uint64_t section)
{
    bool ends = section != tell->section && tell->told->piece.run_count > 0;
    tell->section = section;
    return ends;
}
// Adds rows, with sets of readers (NULL: none); they join the run before where that is the same. There must be room.
void orri_runs_push(struct orri_baseline* told, const orri_run* run, const uint64_t* before,
                    const uint64_t* after);
// An item at the end of those of the last run's; false when refused (reported).
bool orri_runs_item(orr_world* world, orri_runs* piece, orr_component_id id, const void* value);
// Makes batches of the runs that somebody gets (piece->to), for all kinds of causes and sources in them; of each reader in the
// order of its first runs. `forced` (not negative) is the cause of all. False when refused (reported).
typedef struct orri_deal {
    orr_message_kind kind;
    const orri_type* type;
    orri_shape* shape;
    bool items;
    int forced;
} orri_deal;
bool orri_runs_deal(orri_diff* tell, const orri_deal* deal);
// What was made of the piece will be handed out; or is thrown away.
void orri_runs_keep(orri_diff* tell);
void orri_runs_abandon(orri_diff* tell);
// Who did what happened to an entity.
static inline orr_system orri_diff_source(const orri_diff* tell, uint32_t index)
{
    return tell->by_commit ? orri_commit_source(tell->world, index) : tell->source;
}

// ---- diff_sparse.c -------------------------------------------------------------------------------------------------------

// Adds the rows of a touch that differ to a run that lists them, all for the same readers, who were told of all of them. False when refused (reported).
bool orri_sparse_rows_push(orri_diff* tell, const orri_baseline_type* type, orri_chunk* chunk,
                           uint32_t column, const orri_dirty_rows_note* touch,
                           const uint64_t* readers);
// The entities and values of such a run; notes these as told.
void orri_sparse_rows_fill(const orri_diff* tell, const orri_run* run, uint32_t size,
                           orr_entity* entities, uint8_t* values);
void orri_sparse_rows_put(const orri_runs* piece, const orri_run* run, uint32_t size);

// ---- sets of readers ----------------------------------------------------------------------------------------------------

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
// True when some reader that stays (before and after), or (`enters`) comes, is in a set.
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

// ---- reader.c -----------------------------------------------------------------------------------------------------------

bool orri_reader_tracks(const orri_reader* reader, orr_type type);
// True when a term of its query names the type.
bool orri_reader_asks(const orri_reader* reader, orr_type type);
// Ends what waits.
void orri_reader_empty(orri_reader* reader);
// Forgets whom it was told of.
void orri_reader_forget(orri_reader* reader);
// Hands a view to its reader. A queue that grows too long is emptied, and said.
void orri_reader_deliver(orri_message_view* view);
// What a reader's query says of a cluster.
void orri_reader_match(orri_reader* reader, const orri_cluster* cluster);
// True when it was told of the entity of a row of that cluster, and selects it still. Who selects all rows is not asked.
static inline bool orri_reader_knows(const orri_reader* reader, const orri_chunk* chunk,
                                     uint32_t slot, uint32_t index)
{
    return orri_bitset_has(&reader->members, index) && reader->match != ORRI_MATCH_NONE &&
           (reader->match == ORRI_MATCH_ALL ||
            orri_query_row(reader->query, reader->map, chunk, slot));
}
void orri_reader_free(orr_world* world, orri_reader* reader);

// ---- diff_destroyed.c, diff_values.c, diff_instances.c, diff_rows.c: the steps of a tell. False when refused (reported) ----------------

bool orri_diff_dead(orri_diff* tell);
bool orri_diff_rows(orri_diff* tell);
// A type whose differences others tell of. What comes and goes without a row (instances, pinned values) is structure, and is told by whoever changes
// that; a value with hooks cannot be told as it was.
static inline bool orri_diff_skips(const orri_diff* tell, const orri_baseline_type* type)
{
    return ORR_UNLIKELY(tell->foreign != NULL) &&
           orri_is_foreign(tell->foreign, (uint32_t)(type - tell->told->types)) && !type->pinned &&
           !type->multiple && !type->type->info.has_hooks;
}
// True for such a type if somebody was told of it: then that is what whoever gets to know the entities of the run is told, so that all know the
// same until its owner tells of the difference.
bool orri_run_stale(const orri_diff* tell, const orri_run* run, const orri_baseline_type* type);
// Values in columns of a unique type in chunks; `query` (may be NULL): only of its clusters.
bool orri_diff_values(orri_diff* tell, orri_baseline_type* type, const orr_query* query);
// The entities of a run.
void orri_run_entities(const orri_diff* tell, const orri_run* run, orr_entity* out);
bool orri_diff_instances(orri_diff* tell, orri_baseline_type* type, const orr_query* query);
bool orri_diff_pinned(orri_diff* tell, orri_baseline_type* type);
// Rows whose pinned values may have changed; of one type, or (NULL) of all that matter.
bool orri_diff_suspect(orri_diff* tell, const orri_baseline_type* only);
void orri_diff_unsuspect(orri_diff* tell);
// Told now who has which slot.
bool orri_diff_owners_reserve(orri_diff* tell);
void orri_diff_owners_keep(orri_diff* tell);

// ---- diff_enabled.c ------------------------------------------------------------------------------------------------------

typedef enum orri_switching {
    ORRI_SWITCH_ON,      // All is on, and told so.
    ORRI_SWITCH_OFF,     // Something is off, and told so.
    ORRI_SWITCH_DIFFERS, // Something is not as it was told.
} orri_switching;

orri_switching orri_diff_switched(const orri_diff* tell, const orri_chunk* chunk, uint32_t slot,
                                  uint32_t index);
// The switches of a piece of rows of one shape: tells of them; notes those of a run.
bool orri_diff_switches(orri_diff* tell, const orri_shape* shape);
void orri_diff_switches_keep(orri_diff* tell, const orri_shape* shape, const orri_run* run);

#endif
