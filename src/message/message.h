// SPDX-License-Identifier: MIT
// Messages as the module and the scheduler see them. README.md states the invariants.
//
//   run ──send──> lane ──┐ system's end: values of entities without pending structure ──> store
//   run ──send──> lane ──┴─ commit point: merge ──> groups ──> orri_change_set_apply() ──> store
//                                                                                 │ what differs from what was told
//                                       readers' queues <── shared batches <── tell
//
// Vocabulary: a *lane* holds what one call of a system's function sent, in order; a *record* is one such thing; *structure* is
// every record but ComponentChanged. What readers were *told* is kept by entity, so that any difference can be found, whoever
// made it: a system, a commit, a call between ticks.
#ifndef ORRI_MESSAGE_H
#define ORRI_MESSAGE_H

#include "base/bytes.h"
#include "query/query.h"
#include <orrery/message.h>

// ---- rights: what a system may send ------------------------------------------------------------------------------

// Counted as it happens. orr_system_stats is made of it.
typedef struct orri_counts {
    uint64_t received, sent, dropped;
    _Atomic uint64_t violations; // By any worker.
} orri_counts;

// Types that another pipeline writes; by type index.
typedef struct orri_foreign {
    uint64_t* bits;
    uint32_t words;
} orri_foreign;

static inline bool orri_is_foreign(const orri_foreign* foreign, uint32_t type_index)
{
    return ORR_UNLIKELY(foreign != NULL && type_index / 64 < foreign->words) &&
           orri_bit_get(foreign->bits, type_index);
}

// Filled by the scheduler, which keeps it while the system lives. Bits by type index, `type_words` words; NULL: none.
typedef struct orri_rights {
    const char* name; // Of the system.
    orr_system system;
    uint32_t type_words;
    const uint64_t *creates, *adds, *removes, *changes, *switches, *sends, *receives, *transacts,
        *atomics;
    bool may_create, may_destroy_any, may_switch_entities, may_tag_any, may_rename;
    const orr_tag* tags; // Ascending.
    uint32_t tag_count;
    const orr_query* destroys;        // Targets; NULL: none, unless may_destroy_any.
    struct orri_reader* reader;       // Its queue; NULL: a direct system.
    struct orri_event_cursors* inbox; // Of events; NULL: none.
    const orri_foreign* foreign;      // To its pipeline; NULL: none.
    orri_counts counts;
    bool drop_said; // One line per system.
    bool
        aside; // Of a spectator: it creates and destroys transient entities only (transient_send.c).
} orri_rights;

static inline bool orri_right(const uint64_t* bits, const orri_rights* rights, uint32_t type_index)
{
    return bits != NULL && type_index / 64 < rights->type_words && orri_bit_get(bits, type_index);
}

// True when it may put the tag on or take it off.
bool orri_may_tag(const orri_rights* rights, orr_tag tag);

// Refuses a send that was not declared: counts, names system, type and entity, says what to declare. `field` is the name of the desc's
// field: "adds".
ORRI_COLD orr_result orri_refuse_right(const orr_world* world, orri_rights* rights,
                                       const char* call, const char* field, orr_type type,
                                       orr_entity entity);

// ---- lanes (command_buffer.c: sending) -----------------------------------------------------------------------------------------

// What orr_run.lane points at. Every run of a system has one, also of systems that send nothing.
typedef struct orr_command_buffer orr_command_buffer;

// Makes what lanes need, before the first is opened. False when refused (reported).
bool orri_command_buffers_begin(orr_world* world);
// Opens the lane of the next run of a system; runs follow in order of rows. Never fails, once orri_messages_of() was called: what
// cannot be kept is refused when it is sent. `creates_max` ids are reserved, if the system may create. Lanes close in order.
orr_command_buffer* orri_command_buffer_open(orr_world* world, orri_rights* rights,
                                             uint32_t creates_max);
void orri_command_buffer_close(orr_world* world, orr_command_buffer* commands);
// The run is over, nothing can be sent any more; by the thread that sent. False: nothing was, and it may be closed out of order.
bool orri_command_buffer_end(orr_command_buffer* commands);
// False: there was no memory for it.
bool orri_command_buffer_real(const orr_command_buffer* commands);
// Positions of ids given to lanes so far; and back to there, when no lane opened since has been used.
uint64_t orri_command_buffers_reserved(const orr_world* world);
void orri_command_buffers_rewind(orr_world* world, uint64_t reserved);
// Several pipelines at once have lanes of their own, beside the world's. Transactions that wait are in common. NULL when refused
// (reported). Quiet: no system runs.
struct orri_command_buffers* orri_command_buffers_make(orr_world* world);
// They are a spectator's, all of them: ids that are held are of transient entities. To be said before any are. (Without it ids of transient entities
// are those of the line itself: good as long as only one spectator at a time creates.)
void orri_command_buffers_aside(struct orri_command_buffers* command_buffers);
// From now on these are the world's; NULL: its own again. Lanes that are open, or wait, stay where they are. By who has the floor.
void orri_command_buffers_use(orr_world* world, struct orri_command_buffers* command_buffers);
// Nothing waits in them, and they are not in use. Ids that are held still are given back. Quiet. NULL: nothing.
void orri_command_buffers_destroy(orr_world* world, struct orri_command_buffers* command_buffers);
// Lanes that were made hold their ids: they are out of line before they are promised, so that positions mean the same whatever others commit.
// Tops up those in use, so that there are `count` beyond what is promised. False when refused (reported). Quiet.
bool orri_command_buffers_hold(orr_world* world, uint32_t count);
// Ids held and not promised.
uint32_t orri_command_buffers_held_left(const orr_world* world);
// Gives all back, first the first. Nothing may be promised. False when refused (reported; only where somebody holds pages of the index):
// nothing was done. Quiet.
bool orri_command_buffers_unhold(orr_world* world);
// Who sends; for calls that take an orr_run.
orri_rights* orri_command_buffer_rights(const orr_command_buffer* commands);
// ORR_OK if `run` is that of a system, with the system running; reports otherwise.
orr_result orri_check_run(const orr_run* run, const char* call);

// ---- command_codec.c: what was sent, as bytes ------------------------------------------------------------------------------

// Bytes, and beside them the functions that transactions call.
typedef struct orri_kept {
    orri_bytes bytes;
    orr_transaction* functions;
    uint32_t function_count, function_capacity;
} orri_kept;

// Appends what an open lane holds. Of types without owned values and hooks only.
void orri_command_buffer_put(const orr_command_buffer* commands, orri_kept* out);
// The same is sent by an open lane that is empty. False: memory was refused (reported), or these are no such bytes.
bool orri_command_buffer_get(orr_command_buffer* commands, orri_bytes_from* in,
                             const orri_kept* kept);
// Before orri_system_done(): which messages and events of those it had before it a system took.
void orri_heard_put(const orr_world* world, const orri_rights* rights, orri_bytes* out);
void orri_heard_get(const orr_world* world, const orri_rights* rights, orri_bytes_from* in);

// ---- what waits -----------------------------------------------------------------------------------------------------------

// True when some record waits for a commit.
bool orri_commit_pending(const orr_world* world);
// True when something of the lanes was refused for want of memory since the last call: the tick's result says so.
bool orri_command_buffers_refused(orr_world* world);
// The same when events were dropped because their queue was full.
bool orri_events_lost(orr_world* world);

// ---- commit.c, merge.c -------------------------------------------------------------------------------------------------

// After the last run of a system: changes of values whose entity has no pending structure are made; events go to their
// queues. On refusal (reported) nothing was done; calling again tries again. `*changed` tells whether anything was.
orr_result orri_commit_values(orr_world* world, orri_rights* rights, bool* changed);
// Commit point: merges and makes everything that waits, after orri_commit_values() of all who sent. To be called at every commit
// point, whether something waits or not: ids that were reserved and not used go back. On refusal (reported, with the system and what to do) nothing was done,
// and all is kept; calling again tries again.
orr_result orri_commit(orr_world* world);
// Drops, and counts, everything that waits.
void orri_commit_abandon(orr_world* world);
// Who sent what the last commit did to an entity: the last sender. Null: nobody. Good until something is sent.
orr_system orri_commit_source(const orr_world* world, uint32_t entity_index);
// True when all of the last commit was sent by one system: then it need not be asked entity by entity.
bool orri_commit_sender(const orr_world* world, orr_system* out);

// ---- transactions (transaction.c, apply.c) -------------------------------------------------------------------------------------

// Workers, for a while: `run` calls `work` for every item below `count`, on several threads, and returns when all is done.
typedef struct orri_hands {
    void (*run)(void* user, uint32_t count, void (*work)(void* context, uint32_t item),
                void* context);
    void* user;
} orri_hands;

// True when some transaction waits.
bool orri_transaction_pending(const orr_world* world);
// Some that orri_transaction_commit() with this `foreign` would do, now: with lanes of several pipelines, what another one posted waits until that
// one has committed (its targets may be created by it).
bool orri_transaction_pending_for(const orr_world* world, const orri_foreign* foreign);
// Some on a type whose bit is not set in `owned`, by type index: no pipeline will do it.
bool orri_transaction_pending_unowned(const orr_world* world, const uint64_t* owned,
                                      uint32_t words);
// Does all transactions of lanes that were closed, in order. `early`: structure waits still, and those on entities that it is about wait
// with it. Those on `foreign` types (NULL: none) wait for the pipeline that writes them. `hands` NULL: on this thread. `*changed` tells whether anything was done. On refusal (reported) nothing was done; calling again
// tries again.
orr_result orri_transaction_commit(orr_world* world, bool early, const orri_foreign* foreign,
                                   const orri_hands* hands, bool* changed);
// A system goes: what it posted and waits for another pipeline is dropped.
void orri_transaction_forget(orr_world* world, const orri_rights* rights);
// What waits for another pipeline is state.
uint64_t orri_transaction_hash(const orr_world* world, uint64_t hash);
// Who did what the last one did; null: several.
orr_system orri_transaction_source(const orr_world* world);

// ---- atomic sections (atomic_section.c) ---------------------------------------------------------------------------------------------

// What they need, made before the first system that has some is added. False when refused (reported).
bool orri_atomic_sections_begin(orr_world* world);
void orri_atomic_sections_term(orr_world* world);
// True while this thread is in one, of any world.
bool orri_atomic_section_here(void);

// ---- diff.c: readers ------------------------------------------------------------------------------------------------

typedef struct orri_reader orri_reader;

typedef struct orri_reader_desc {
    const char* name; // For words. Kept.
    orr_query*
        query; // Whom it selects, and the types it tracks: its fields. Not owned; lives as long.
    // No required term: it tracks every type there is; but of switches and tags it is told only if it names them.
    bool all_types;
    uint64_t queue_max;  // Entities in messages that wait.
    orri_counts* counts; // `received` grows.
    bool outside;        // No part of the world's state (past.h).
} orri_reader_desc;

// A reader that begins switched off and knows nothing. NULL when refused (reported).
orri_reader* orri_reader_create(orr_world* world, const orri_reader_desc* desc);
void orri_reader_destroy(orr_world* world, orri_reader* reader);
// On: the next tell gives it everything it selects, as ORR_CAUSE_READER. Off: it forgets, its queue is emptied.
void orri_reader_enable(orr_world* world, orri_reader* reader, bool on);
// In real time, before the system runs, by who has the floor: what waits is handed to it, and is all that orri_reader_next() gives until
// orri_reader_done(). It does not count as waiting meanwhile.
void orri_reader_take(orri_reader* reader);
// The next message; the one before is given back (in real time with all others, when it is done). NULL: none.
const orr_message* orri_reader_next(orri_reader* reader);
// The system's function returned: the last message is given back. What was handed to it and not taken waits again, before what came since.
void orri_reader_done(orri_reader* reader);
uint64_t orri_reader_queued(const orri_reader* reader); // Entities.
// The queue overflowed since the last call: it was emptied, and the reader will be told anew.
bool orri_reader_lost(orri_reader* reader);
uint64_t orri_reader_hash(const orri_reader* reader, uint64_t hash);

// True when some reader that is on tracks the type.
bool orri_tracked(const orr_world* world, orr_type type);
// Tells all readers of everything that differs from what they were told. `source` did it; `by_commit`: ask
// orri_commit_source(). On refusal (reported) those told already are told, the rest is found by the next call; in a tick
// nothing is handed out before that is done, so that readers see one tell.
orr_result orri_diff_run(orr_world* world, orr_system source, bool by_commit);
// The same when only columns of the query's write terms can differ: after a direct system.
orr_result orri_diff_written(orr_world* world, const orr_query* query, orr_system source);
// For a pipeline beside others: values of types in `foreign` (NULL: none) are for their owner to tell of, whose marks stay where they are. Without
// `structure` nothing is looked at but values of the other types; systems of other pipelines may run. With it, none runs: the dead and
// rows are told as well, and all of pinned, multiple and hooked types. Who gets to know an entity is told what all
// who know it know of a foreign type; of what nobody knows, how it is.
orr_result orri_diff_own(orr_world* world, orr_system source, bool by_commit,
                         const orri_foreign* foreign, bool structure);
// True when there is anybody to tell.
bool orri_has_readers(const orr_world* world);
// True when one of them must be told of everything: who tells looks at all rows then, and all their values.
bool orri_readers_fresh(const orr_world* world);

// ---- events (event.c) ------------------------------------------------------------------------------------------------

typedef struct orri_event_cursors
    orri_event_cursors; // Where a system has read to, for each type it receives.

// The inbox of a system that receives `types`; it begins switched off. NULL when refused (reported).
orri_event_cursors* orri_event_cursors_create(orr_world* world, const orr_type* types,
                                              uint32_t count);
void orri_event_cursors_destroy(orr_world* world, orri_event_cursors* inbox);
// Whose it is, for words. Not copied.
void orri_event_cursors_name(orri_event_cursors* inbox, const char* name);
// It is a spectator's: what waits for it is not hashed, and it loses events where a queue would be full because of it.
void orri_event_cursors_aside(orri_event_cursors* inbox);
// From now on (on) it gets what is sent; off: what waits does not wait for it.
void orri_event_cursors_enable(orr_world* world, orri_event_cursors* inbox, bool on);
// In real time, before the system runs, by who has the floor: what waits is copied, and is all that it is shown until orri_event_cursors_done(). False when
// refused (reported): nothing was done, it is shown nothing. NULL: nothing to do.
bool orri_event_cursors_take(orr_world* world, orri_event_cursors* inbox);
// The system's function returned: what it was shown counts as read. What came since is for its next run.
void orri_event_cursors_done(orr_world* world, orri_event_cursors* inbox);
// Events of a lane go to their queue, in order. False when refused (reported). `count` is all of the type that will be appended
// until the next reserve.
bool orri_events_reserve(orr_world* world, orr_type type, uint32_t count);
void orri_events_append(orr_world* world, orr_type type, const void* values, uint32_t count);
// Refuses types that cannot be events (reported).
orr_result orri_event_check(const orr_world* world, const char* call, orr_type type);
uint64_t orri_events_hash(const orr_world* world, uint64_t hash);
orr_result orri_events_validate(orr_world* world);
void orri_events_term(orr_world* world);

// ---- what a world keeps for this module: world->messages ---------------------------------------------------------------

struct orri_command_buffers; // command_buffer.c
struct orri_baseline;        // diff.c
struct orri_events;          // event.c
struct orri_atomic_sections; // atomic_section.c
struct orri_posts;           // transaction.h
struct orri_messages_past;   // past.h

struct orri_messages {
    struct orri_command_buffers* command_buffers; // In use: of the pipeline that has the floor.
    struct orri_baseline* told;
    struct orri_events* events;
    struct orri_atomic_sections* sections; // NULL: no system has any.
    // Of going back (past.c): what will wait, made ready; and where the world went, if readers could not be told for want of memory.
    struct orri_posts* posts_ready;
    struct orri_messages_past* unsettled;
    // The name of a system, "" of one that is gone: for words. Filled by the scheduler; NULL: there are none.
    const char* (*system_name)(const orr_world* world, orr_system system);
    // After each call of a function of transactions; NULL: nobody wants to know. Set by who looks where two runs part.
    void (*called)(orr_world* world, const orri_rights* rights, const orri_type* type,
                   orr_entity target, const void* value);
};

// Made at first use, with the tenant's functions; NULL when refused (reported).
struct orri_messages* orri_messages_of(orr_world* world);
void orri_command_buffers_term(orr_world* world);
void orri_baseline_term(orr_world* world);

#endif
