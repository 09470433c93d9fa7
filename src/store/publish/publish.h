// SPDX-License-Identifier: MIT
// Published values: values of a type as its owner last published them. In real time the pipeline
// that owns a type writes it in place while systems of other pipelines read it. The readers see
// whole ticks of the owner, in blocks that are never written.
//
//   owner, end of tick:     blocks written since ──copy──> new blocks ──> newest edition
//   reader, start of tick:  view ──pins──> newest edition of each type ──> columns, type tables
//
// Special cases:
//   - zero-copy: a type that a system overwrites completely is not copied. The edition shows the
//     live block itself, and the owner continues in another block (zero_copy.c).
//   - remap: after rows moved, all editions that some view sees are rebuilt row by row (remap.c).
//     An entity without a published value gets the live one.
//   - multiple types are remapped instance by instance (instances.c), pinned types slot by slot
//     (pinned.c).
//
// Vocabulary:
//   edition   all published blocks of one type at one moment, counted by the views that see it;
//             unchanged blocks are shared by several editions
//   view      the editions that one pipeline sees: one for each type it reads
//   stamp     a version: the epoch in which rows, instances or owners last changed
//
// Threads: a "quiet" call is made while no system runs (the structure of the world is held
// exclusively). A "turn" call is made by the pipeline whose turn it is, so by one thread at a time,
// while systems of any pipeline may run. Columns and tables of a view are read by the systems of
// its pipeline, and changed only by pinning and remapping, while none of them runs.
#ifndef ORRI_STORE_PUBLISH_PUBLISH_H
#define ORRI_STORE_PUBLISH_PUBLISH_H

#include "store/pool/pool.h"
#include "store/world/access.h"

typedef struct orri_publisher orri_publisher;
typedef struct orri_view orri_view;

// Creates the publisher of a world. NULL when refused (reported). Quiet.
orri_publisher* orri_publisher_create(orr_world* world);
// Destroys it with all views. Quiet. NULL is allowed.
void orri_publisher_destroy(orri_publisher* publisher);

// Publishes a type from now on; its first edition has the current values. Does nothing for a type
// that is published already. On refusal (reported) nothing is changed. Quiet.
ORR_NODISCARD orr_result orri_publish_add(orri_publisher* publisher, orr_type type);
// True when the type was added.
bool orri_published(const orri_publisher* publisher, orr_type type);

// ---- publishing in three steps, for types that were added ---------------------------------------

// 1. Copies the blocks that the owner wrote since the last edition (their version is newer than
// that of the copy). Called by the owner's thread beside systems of other pipelines, with the
// structure held for reading. Leaves out the blocks of step 2. On refusal (reported) nothing is
// changed, and the call may be repeated.
ORR_NODISCARD orr_result orri_publish_copy(orri_publisher* publisher, const orr_type* types,
                                           uint32_t count);
// 2. Adds the live blocks that are shown without a copy. Turn, with the structure held for reading.
// On refusal as in step 1.
ORR_NODISCARD orr_result orri_publish_zero_copy(orri_publisher* publisher, const orr_type* types,
                                                uint32_t count);
// 3. Makes the result the newest edition of all types at once. Turn. Cannot fail. Changed blocks
// get `version`, an epoch of the world (for changed-since queries), and `tick`, the owner's tick.
// Starts a new epoch, so that later writes of the owner are newer than what was copied.
void orri_publish_show(orri_publisher* publisher, const orr_type* types, uint32_t count,
                       uint64_t version, uint64_t tick);
// Tick of the newest edition of a type; 0: nothing was shown since the type was added.
uint64_t orri_published_tick(const orri_publisher* publisher, orr_type type);

// ---- zero-copy (zero_copy.c) --------------------------------------------------------------------

// Allows or forbids that live blocks of a type are shown without a copy: allowed when some system
// overwrites the type. The type was added and is plain. Multiple and pinned types, and types
// without bytes, are always copied. Forbidding detaches all live blocks that are shown, which can
// be refused (reported). Quiet.
ORR_NODISCARD orr_result orri_zero_copy_enable(orri_publisher* publisher, orr_type type, bool on);
bool orri_zero_copy_enabled(const orri_publisher* publisher, orr_type type);

// How a group of systems will write the values of a type in one cluster.
typedef enum orri_reclaim_how {
    ORRI_RECLAIM_NONE, // They do not write the values.
    // They write values and need the old ones: a replaced block gets a copy.
    ORRI_RECLAIM_COPY,
    // They write all values without reading: a replaced block has any values, and counts as
    // written.
    ORRI_RECLAIM_OVERWRITE,
} orri_reclaim_how;
typedef orri_reclaim_how (*orri_reclaim_ask)(void* user, const orri_cluster* cluster);
// Before a group of systems runs: prepares another block for every live block of the type that is
// shown and, according to `ask`, will be written. On refusal (reported) only orri_reclaim_end()
// with false may follow. Turn.
ORR_NODISCARD orr_result orri_reclaim(orri_publisher* publisher, orr_type type,
                                      orri_reclaim_ask ask, void* user);
// Puts the prepared blocks in place, or discards them (`done` false). Turn.
void orri_reclaim_end(orri_publisher* publisher, bool done);
// Bytes of values copied for publishing so far, without those that remapping copied.
uint64_t orri_publish_copied(const orri_publisher* publisher);
void orri_publish_count(orri_publisher* publisher, size_t bytes);

// ---- remap (remap.c) ----------------------------------------------------------------------------

// Rebuilds all editions after rows, instances, pinned values or chunks were added, removed or
// moved. Must be called after every change of structure, before any system runs. Costs one check of
// every chunk plus work for what changed. Blocks whose rows changed get an epoch that is larger
// than any before and smaller than any after. On refusal (reported) no system may run; calling
// again retries. Quiet.
ORR_NODISCARD orr_result orri_publish_remap(orri_publisher* publisher);

// ---- views (view.c) -----------------------------------------------------------------------------

// Creates the view of a pipeline that reads `types`, all of them added before. It shows no
// published values before its first pin. NULL when refused (reported). Quiet.
orri_view* orri_view_create(orri_publisher* publisher, const orr_type* types, uint32_t count);
void orri_view_destroy(orri_view* view);
// From now on the view shows the newest editions. Turn. On refusal (reported) it is unchanged.
ORR_NODISCARD orr_result orri_view_pin(orri_view* view);

// After the first pin of a view that replaces `before`, a view of the same pipeline: blocks that
// `before` showed already do not count as changed. NULL: the pipeline had no view; then blocks
// count as changed when their live block did. Quiet.
void orri_view_inherit(orri_view* view, const orri_view* before);
// The smallest live version among the blocks of a type that differ from those of the view, or that
// the view shows since an epoch after `since`. UINT64_MAX: none. Quiet.
uint64_t orri_view_unseen(const orri_view* view, orr_type type, uint64_t since);

// True when the view is pinned and shows published values of the type.
bool orri_view_has(const orri_view* view, orr_type type);
// Columns of a chunk as the view shows them, in the order of chunk->columns, without enable bits. A
// column of a type that the view has shows published data, and as version the epoch in which the
// view got it. All other columns show the data of the chunk with version 0; a writer gets the
// version from orr_iter_stamp(). NULL: the chunk has no type of the view, or nothing was pinned
// yet; use the chunk's own columns.
orri_column* orri_view_columns(const orri_view* view, const orri_chunk* chunk);
// Type table for reading a type of the view by entity id. Empty for multiple and pinned types, as
// in the world.
orr_hot_table* orri_view_table(const orri_view* view, orr_type type);
// The value of a pinned type of the view for an entity; NULL: the entity has none.
const uint8_t* orri_view_pinned(const orri_view* view, orr_type type, uint32_t index);
// The values of one block of the newest edition. NULL: the chunk has none, or the type is pinned.
const void* orri_published_block(const orri_publisher* publisher, orr_type type,
                                 const orri_chunk* chunk);

// For readers of values: the columns of a chunk as this thread sees them. Only the data; versions
// are valid only for types that orri_view_has().
static inline const orri_column* orri_columns_here(const orr_world* world, const orri_chunk* chunk)
{
    const orri_view* view = orri_view_here(world);
    const orri_column* columns = ORR_UNLIKELY(view != NULL) ? orri_view_columns(view, chunk) : NULL;
    return ORR_LIKELY(columns == NULL) ? chunk->columns : columns;
}

// The same as cells, of any type in columns; see orri_cells_at().
static inline orri_cells orri_cells_here(const orr_world* world, const orri_chunk* chunk,
                                         uint32_t column, uint32_t slot)
{
    orri_cells cells = orri_cells_at(chunk, column, slot);
    if (ORR_UNLIKELY(world->realtime)) {
        cells.data = orri_columns_here(world, chunk)[column].data + (size_t)slot * cells.size;
    }
    return cells;
}

// The same for a pinned value of an entity, by index; NULL: the entity has none.
static inline const uint8_t* orri_pinned_here(const orr_world* world, orr_type type, uint32_t index)
{
    const orri_view* view = orri_view_here(world);
    return ORR_UNLIKELY(view != NULL) && orri_view_has(view, type)
               ? orri_view_pinned(view, type, index)
               : orri_pool_get(orri_pool_find(world, type), index);
}

// Called after blocks of a chunk were replaced while its rows stayed: views take over the new
// addresses. Only columns that no other thread reads at this moment may have been replaced.
void orri_publish_moved(orri_publisher* publisher, const orri_chunk* chunk);
// The same for one column (or enable bits); reads nothing of the other columns.
void orri_publish_moved_column(orri_publisher* publisher, const orri_chunk* chunk, uint32_t column);

// ---- checks (validate.c) ------------------------------------------------------------------------

// True when nothing moved since the last remap. Quiet.
bool orri_publish_remapped(const orri_publisher* publisher);
// Checks the invariants of README.md; ORR_ERR_CORRUPT (reported) when one does not hold. Quiet.
ORR_NODISCARD orr_result orri_publisher_validate(orri_publisher* publisher);

#endif
