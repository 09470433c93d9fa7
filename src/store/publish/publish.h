// SPDX-License-Identifier: MIT
// Values as their owner last published them, of all types. In real time a type is written by one pipeline, in place, while systems of others read: they
// see whole ticks, in blocks of their own that nobody writes.
//
//   owner, tick's end:  live blocks written since ──copy──> new blocks ──> the newest publication of the type
//   reader, tick's begin: view ──pins──> the newest publication of each type it reads ──> columns and tables by chunk
//   types that are overwritten as a whole: the live block itself is shown (lent), and their owner goes on in another one, with any values
//   rows moved: all publications that somebody still sees follow, row by row; who had no value yet gets the live one
//   multiple types: likewise, instance by instance. Pinned ones: blocks of the pool, slot by slot
//
// Vocabulary: a *publication* is a type's blocks of one moment, counted by those who see it; blocks that did not change are shared by
// several of them. A *view* is what one pipeline sees: of each type it reads the publication it pinned last.
//
// Threads: "quiet" calls are for moments in which no system runs (structure is held exclusively); "floor" calls are made by one thread at a
// time, while systems of any pipeline run. A view's columns and tables are read by the systems of its pipeline, and changed by pin and follow
// alone, when none of these runs.
#ifndef ORRI_STORE_PUBLISH_PUBLISH_H
#define ORRI_STORE_PUBLISH_PUBLISH_H

#include "store/pool/pool.h"
#include "store/world/access.h"

typedef struct orri_publisher orri_publisher;
typedef struct orri_view orri_view;

// NULL when refused (reported). Quiet.
orri_publisher* orri_publisher_create(orr_world* world);
// With all views. Quiet. NULL: nothing.
void orri_publisher_destroy(orri_publisher* publisher);

// The type is published from now on: first as it is. A type that is already: nothing to do. On refusal (reported)
// nothing was done. Quiet.
ORR_NODISCARD orr_result orri_publish_add(orri_publisher* publisher, orr_type type);
bool orri_published(const orri_publisher* publisher, orr_type type);

// Two halves of publishing some types, which must have been added. First what their owner wrote since (blocks whose version is newer than
// what was copied last) is copied: by the owner's thread, beside systems of other pipelines, with structure held to read. On refusal
// (reported) nothing was done; calling again tries again.
ORR_NODISCARD orr_result orri_publish_copy(orri_publisher* publisher, const orr_type* types,
                                           uint32_t count);
// What is to be lent instead (see below) is left out by that, and lent here; floor, with structure held as before. Likewise on refusal.
ORR_NODISCARD orr_result orri_publish_lend(orri_publisher* publisher, const orr_type* types,
                                           uint32_t count);
// Then all of it becomes the newest publication at once; floor. Never fails. Blocks that changed carry `version`, an epoch of the world (for
// changed-since); `tick` is the owner's. Begins a new epoch: what the owner writes from now on is newer than what was copied.
void orri_publish_show(orri_publisher* publisher, const orr_type* types, uint32_t count,
                       uint64_t version, uint64_t tick);
// The tick that the newest publication of a type was shown with; 0: none since it was added.
uint64_t orri_published_tick(const orri_publisher* publisher, orr_type type);

// Whether a type (which was added, and is plain) may be lent: because some system overwrites it. Multiple and pinned ones never are. Off: nothing of it is lent afterwards, which may be
// refused (reported). Quiet.
ORR_NODISCARD orr_result orri_publish_lends(orri_publisher* publisher, orr_type type, bool on);
bool orri_publish_lending(const orri_publisher* publisher, orr_type type);
// Before systems run: what they do to a cluster's values of the type.
typedef enum orri_reclaim_how {
    ORRI_RECLAIM_NONE, // They do not write there.
    ORRI_RECLAIM_COPY, // They write, and need what is there.
    ORRI_RECLAIM_ANEW, // They write all of it, without a look: blocks may have any values, and count as written from now on.
} orri_reclaim_how;
typedef orri_reclaim_how (*orri_reclaim_ask)(void* user, const orri_cluster* cluster);
// Live blocks of the type that are lent get others in their place, as `ask` says of their cluster. This makes them ready; on refusal (reported)
// orri_reclaim_end() is all that is left to do. Floor.
ORR_NODISCARD orr_result orri_reclaim(orri_publisher* publisher, orr_type type,
                                      orri_reclaim_ask ask, void* user);
// Then it is done, or not. Floor.
void orri_reclaim_end(orri_publisher* publisher, bool done);
// Bytes of values that were copied because of what is published, but not where rows moved.
uint64_t orri_publish_copied(const orri_publisher* publisher);
void orri_publish_count(orri_publisher* publisher, size_t bytes);

// Rows, instances or pinned values came, went or moved, or chunks did: everything that is published follows. To be called after every change of structure, before any
// system runs. Costs what changed, and a look at every chunk. On refusal (reported) no system may run; calling again goes on. Blocks whose
// rows changed carry an epoch that is larger than any before, and smaller than any after. Quiet.
ORR_NODISCARD orr_result orri_publish_remap(orri_publisher* publisher);

// What a pipeline sees of `types` (added before). It sees nothing before the first pin. NULL when refused (reported). Quiet.
orri_view* orri_view_create(orri_publisher* publisher, const orr_type* types, uint32_t count);
void orri_view_destroy(orri_view* view);
// From now on it sees the newest publications. Floor. On refusal (reported) it sees what it saw.
ORR_NODISCARD orr_result orri_view_pin(orri_view* view);

// After its first pin: what `before` (may be NULL: nobody looked yet), a view of the same pipeline, had already is no news in this one. Quiet.
void orri_view_inherit(orri_view* view, const orri_view* before);
// The live version of the earliest block of a type that is not as the view has it, or that the view has since an epoch after `since`; UINT64_MAX:
// none. Quiet.
uint64_t orri_view_unseen(const orri_view* view, orr_type type, uint64_t since);

// True when the view has something of its own for the type.
bool orri_view_has(const orri_view* view, orr_type type);
// Columns of a chunk as the view sees them: as chunk->columns (without bits), with published data where the view has the type, and for a version the
// epoch in which the view got it.
// Of all others the data of the chunk, and version 0: who writes asks orr_iter_stamp(). NULL: the chunk has nothing that the view has, or
// nothing was pinned yet; take its own.
orri_column* orri_view_columns(const orri_view* view, const orri_chunk* chunk);
// What reading by id finds of a type the view has. Of multiple and pinned ones nothing: they have none elsewhere either.
orr_hot_table* orri_view_table(const orri_view* view, orr_type type);
// The value of an entity, of a pinned type the view has; NULL: it has none.
const uint8_t* orri_view_pinned(const orri_view* view, orr_type type, uint32_t index);
// The values of one published block: NULL if the chunk has none, or the type is pinned.
const void* orri_published_block(const orri_publisher* publisher, orr_type type,
                                 const orri_chunk* chunk);

// For who reads values: the columns of a chunk as this thread sees them. Data alone: versions are for orri_view_has() types only.
static inline const orri_column* orri_columns_here(const orr_world* world, const orri_chunk* chunk)
{
    const orri_view* view = orri_view_here(world);
    const orri_column* columns = ORR_UNLIKELY(view != NULL) ? orri_view_columns(view, chunk) : NULL;
    return ORR_LIKELY(columns == NULL) ? chunk->columns : columns;
}

// The same for cells, of any type: as orri_cells_at().
static inline orri_cells orri_cells_here(const orr_world* world, const orri_chunk* chunk,
                                         uint32_t column, uint32_t slot)
{
    orri_cells cells = orri_cells_at(chunk, column, slot);
    if (ORR_UNLIKELY(world->realtime)) {
        cells.data = orri_columns_here(world, chunk)[column].data + (size_t)slot * cells.size;
    }
    return cells;
}

// The same for a pinned value of an entity, by index; NULL: it has none.
static inline const uint8_t* orri_pinned_here(const orr_world* world, orr_type type, uint32_t index)
{
    const orri_view* view = orri_view_here(world);
    return ORR_UNLIKELY(view != NULL) && orri_view_has(view, type)
               ? orri_view_pinned(view, type, index)
               : orri_pool_get(orri_pool_find(world, type), index);
}

// The blocks of a chunk lie elsewhere now, its rows are the same: views look there. Called by who moves them; only columns that nobody
// else reads at this moment have moved.
void orri_publish_moved(orri_publisher* publisher, const orri_chunk* chunk);
// The same for one column (or bits), without a look at the others.
void orri_publish_moved_column(orri_publisher* publisher, const orri_chunk* chunk, uint32_t column);

// True when nothing has moved since it was followed. For checks. Quiet.
bool orri_publish_remapped(const orri_publisher* publisher);
// Invariants; ORR_ERR_CORRUPT (reported). Quiet.
ORR_NODISCARD orr_result orri_publisher_validate(orri_publisher* publisher);

#endif
