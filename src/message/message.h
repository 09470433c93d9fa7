// SPDX-License-Identifier: MIT
// Interface of the message module for the scheduler and the modules above it. README.md states the
// invariants (M1 to M15).
//
//   system ──send──> command buffer ─┐ end of system: values of entities without pending structure
//   system ──send──> command buffer ─┴ commit point: merge ──> groups ──> orri_change_set_apply()
//                                                                             │
//                     queues of readers <── shared batches <── diff <─────────┘ world and baseline
//
// Vocabulary:
//   command buffer  all commands that one call of a system's function sent, in the order of sending
//   command         one request: create, destroy, add, change, remove, tag, enable, name, event
//   structure       every command except ComponentChanged and events
//   baseline        the state that readers were last notified of, kept by entity
//   diff            compares the world with the baseline and produces messages. It therefore finds
//                   every difference: by a system, by a commit, or by a call between ticks.
//   spectator       a pipeline that only observes; it may create transient entities
#ifndef ORRI_MESSAGE_H
#define ORRI_MESSAGE_H

#include "base/bytes.h"
#include "query/query.h"
#include <orrery/message.h>

// ---- rights: what a system may send -------------------------------------------------------------

#define ORRI_REFUSED_TEXT 256 // Bytes of an error text that is kept, the zero included.

// Counters of a system. orr_system_stats is filled from them.
typedef struct orri_counts {
    uint64_t received;    // Entities in messages that the system took.
    uint64_t sent;        // Commands, transactions and events that it sent.
    uint64_t dropped;     // Commands, transactions and events without effect.
    uint64_t added_twice; // ComponentAdded for components that were there.
    // Imports from systems that were disabled. Any worker may count.
    _Atomic uint64_t stale_imports;
    uint64_t refused;            // Refused calls, violations included. Under the lock of refusals.
    _Atomic uint64_t violations; // Undeclared accesses and sends. Any worker may count.
} orri_counts;

// The types that another pipeline writes: one bit per type index.
typedef struct orri_foreign {
    uint64_t* bits;
    uint32_t words; // Length of `bits`.
} orri_foreign;

static inline bool orri_is_foreign(const orri_foreign* foreign, uint32_t type_index)
{
    return ORR_UNLIKELY(foreign != NULL && type_index / 64 < foreign->words) &&
           orri_bit_get(foreign->bits, type_index);
}

// The declarations of a system, as sending checks them. The scheduler fills the struct and keeps it
// as long as the system exists. Each bit set has one bit per type index; NULL means no type.
typedef struct orri_rights {
    const char* name; // Name of the system.
    orr_system system;
    uint32_t type_words; // Length of each bit set.
    const uint64_t *creates, *adds, *removes, *changes, *switches, *sends, *receives, *transacts,
        *atomics;
    bool may_create;          // .creates is set.
    uint32_t creates_max;     // Limit of creations in one command buffer; 0: none.
    bool may_destroy_any;     // .destroys selects every entity.
    bool may_switch_entities; // .switches contains "*".
    bool may_tag_any;         // .tags contains "*".
    bool may_rename;
    const orr_tag* tags; // Declared tags, ascending.
    uint32_t tag_count;
    const orr_query* destroys;  // Entities it may destroy; NULL: none, unless may_destroy_any.
    const char* destroys_text;  // Terms of `destroys` as the system declared them, for error texts.
    struct orri_reader* reader; // Its message queue; NULL: a direct system.
    struct orri_event_cursors*
        event_cursors;           // Its read positions in event queues; NULL: receives none.
    const orri_foreign* foreign; // Types that its pipeline does not own; NULL: none.
    orri_counts counts;
    // Result of the first refused call of the current tick, in the order of units and of calls in a
    // unit; ORR_OK: none was refused. `refused_unit` is its unit.
    orr_result refused;
    uint32_t refused_unit;
    char refused_text[ORRI_REFUSED_TEXT]; // Error text of `refused`.
    bool refused_memory; // Memory was refused to some call, not only to the first that was refused.
    // The first drop, in the order of orri_drop_order(): that number and, in the low byte, the
    // result. 0: none. Atomic, because atomic sections are dropped by several workers.
    _Atomic uint64_t dropped;
    bool drop_logged; // A drop was logged already: one line per system.
    bool in_units;    // The next buffer is for a unit of its rows, not for a whole call.
    bool spectator;   // Its pipeline only observes: it creates and destroys transient entities only
                      // (transient_send.c).
} orri_rights;

static inline bool orri_right(const uint64_t* bits, const orri_rights* rights, uint32_t type_index)
{
    return bits != NULL && type_index / 64 < rights->type_words && orri_bit_get(bits, type_index);
}

// Notes that a call of the system was refused while it worked on `unit`. Call under the lock of
// refusals (orri_env.refusing).
void orri_rights_note_refused(orri_rights* rights, uint32_t unit, orr_result result,
                              const char* text);
// Counts and notes a command, transaction or section without effect. Not noted, and so no error of
// the tick, if another pipeline may have changed the entity since the system ran: if it owns the
// type, and in real time.
void orri_rights_note_dropped(const orr_world* world, orri_rights* rights, orr_type type,
                              uint64_t count, uint64_t order, orr_result result);
// The place of a drop among those of its system: by unit of rows, then by number of the command in
// the unit. Transactions have no number and come after the commands of their unit; what was dropped
// of merged changes of several units (ORRI_DROP_LAST) comes after all units.
#define ORRI_DROP_LAST ((uint64_t)-1 << 8)
static inline uint64_t orri_drop_order(uint32_t unit, uint32_t sequence)
{
    return (uint64_t)(unit < 0xfffffe ? unit + 1 : 0xfffffe) << 40 | (uint64_t)sequence << 8;
}
// The first thing that went wrong in the tick; ORR_OK: nothing. Forgets it. `*text` becomes the
// error text of a refused call, "" for a drop.
orr_result orri_rights_take_result(orri_rights* rights, const char** text);

// True when the system may add and remove the tag.
bool orri_may_tag(const orri_rights* rights, orr_tag tag);

// Refuses an undeclared send with ORR_ERR_STATE: counts a violation, names the system, the type and
// the entity, and says what to declare. `field` is the field of the system's desc, such as "adds".
ORRI_COLD orr_result orri_refuse_right(const orr_world* world, orri_rights* rights,
                                       const char* call, const char* field, orr_type type,
                                       orr_entity entity);

// ---- command buffers (send/command_buffer.c) ----------------------------------------------------

// Target of orr_run.commands. Every call of a system's function has one, even if the system sends
// nothing.
typedef struct orr_command_buffer orr_command_buffer;

// Creates the world's set of command buffers. To be called before the first one is opened.
// False when refused (reported).
bool orri_command_buffers_begin(orr_world* world);
// Opens the command buffer of the next run of a system. Buffers must be opened and closed in the
// order of runs. Never fails after orri_messages_of(): when memory is short, the send is refused
// instead. Reserves `ids` entity ids if the system may create. Creations beyond these get
// provisional ids, which are replaced when the system has ended (send/provisional_ids.c).
orr_command_buffer* orri_command_buffer_open(orr_world* world, orri_rights* rights, uint32_t ids);
// The run is for a unit of rows of the system. After opening it; without this it is unit 0.
void orri_command_buffer_unit_set(orr_command_buffer* commands, uint32_t unit);
// Number of provisional entity ids that a buffer has given.
uint32_t orri_command_buffer_provisional(const orr_command_buffer* commands);
// Hands the buffer in: its commands wait for the end of the system and for the commit point.
void orri_command_buffer_close(orr_world* world, orr_command_buffer* commands);
// The run is over: further sends are refused. Called on the thread that sent. Returns false when
// nothing was sent; such a buffer may be closed out of order.
bool orri_command_buffer_end(orr_command_buffer* commands);
// False for the shared stand-in that refuses everything because memory was short.
bool orri_command_buffer_real(const orr_command_buffer* commands);
// Numbers of ids reserved by opened buffers since the last commit point. Rewind returns to earlier
// numbers; allowed when no buffer that was opened since then has been used.
typedef struct orri_ids_reserved {
    uint64_t entities, instances;
} orri_ids_reserved;
orri_ids_reserved orri_command_buffers_reserved(const orr_world* world);
void orri_command_buffers_rewind(orr_world* world, orri_ids_reserved reserved);
// In real time each pipeline has its own set of command buffers beside the world's set. All sets
// share the waiting transactions. NULL when refused (reported). No system may be running.
struct orri_command_buffers* orri_command_buffers_make(orr_world* world);
// Marks the set as that of a spectator: the ids it withholds are ids of transient entities. To be
// called before any id is withheld. Without it, ids of transient entities are taken directly from
// the free list, which is correct only while one spectator at a time creates.
void orri_command_buffers_transient(struct orri_command_buffers* command_buffers);
// Makes the set current for this context; NULL: the world's own set. Open and waiting buffers stay
// in the set they belong to. Called by the pipeline that has its turn.
void orri_command_buffers_use(orr_world* world, struct orri_command_buffers* command_buffers);
// Destroys a set in which nothing waits and which is not current. Withheld ids go back to the free
// list. No system may be running. NULL is allowed.
void orri_command_buffers_destroy(orr_world* world, struct orri_command_buffers* command_buffers);
// Takes entity ids out of the free list in advance, so that `count` more than already reserved are
// withheld by the current set. Because they are out of the free list, commits of other pipelines do
// not change which ids this set gives. False when refused (reported). No system may be running.
bool orri_command_buffers_withhold_ids(orr_world* world, uint32_t count);
// Number of ids that are withheld and not reserved by a buffer.
uint32_t orri_command_buffers_withheld_left(const orr_world* world);
// Returns all withheld ids to the free list, in order. No id may be reserved. Refused (false,
// reported, nothing done) only when a page of the entity index is shared with a snapshot and cannot
// be copied. No system may be running.
bool orri_command_buffers_return_ids(orr_world* world);
// The rights of the system that sends into the buffer.
orri_rights* orri_command_buffer_rights(const orr_command_buffer* commands);
// ORR_OK if `run` belongs to a system whose function is running. Otherwise reports and returns
// ORR_ERR_STATE or ORR_ERR_ARGUMENT.
orr_result orri_check_run(const orr_run* run, const char* call);

// ---- send/command_codec.c: command buffers as bytes ---------------------------------------------

// Encoded command buffers. Functions of transactions cannot be bytes: the bytes hold indexes into
// `functions`.
typedef struct orri_command_bytes {
    orri_bytes bytes;
    orr_transaction* functions;
    uint32_t function_count, function_capacity;
} orri_command_bytes;

// Appends the commands of an open buffer. Types with owned values or hooks are not supported.
void orri_command_buffer_put(const orr_command_buffer* commands, orri_command_bytes* out);
// Decodes into an open, empty buffer: as if the system had sent the same. False when memory is
// refused (reported) or when the bytes are invalid.
bool orri_command_buffer_get(orr_command_buffer* commands, orri_bytes_reader* in,
                             const orri_command_bytes* encoded);
// Encodes and decodes how many of the available messages and events a system took. To be called
// after the system's function, before orri_reader_done() and orri_event_cursors_done().
void orri_received_put(const orr_world* world, const orri_rights* rights, orri_bytes* out);
void orri_received_get(const orr_world* world, const orri_rights* rights, orri_bytes_reader* in);

// ---- state of what waits ------------------------------------------------------------------------

// True when commands wait for a commit.
bool orri_commit_pending(const orr_world* world);
// True when a send was refused for lack of memory since the last call. The tick then returns
// ORR_ERR_MEMORY.
bool orri_command_buffers_refused(orr_world* world);
// True when events were dropped since the last call because their queue was full.
bool orri_events_lost(orr_world* world);

// ---- commit/commit.c, commit/values.c -----------------------------------------------------------

// End of a system, after its last run: writes the changed values of entities without pending
// structure and appends events to their queues. On refusal (reported) nothing was done, and the
// call can be repeated. `*changed`: whether the world was changed.
orr_result orri_commit_values(orr_world* world, orri_rights* rights, bool* changed);
// Commit point: merges and applies every waiting command, after orri_commit_values() of all
// senders. Must be called at every commit point, even if nothing waits, because it releases the ids
// that were reserved and not used. On refusal (reported with the system and the remedy) nothing was
// done and everything still waits; the call can be repeated.
orr_result orri_commit(orr_world* world);
// The same when nothing waits. False: something waits, and nothing was done.
bool orri_commit_nothing(orr_world* world);
// Drops and counts everything that waits.
void orri_commit_abandon(orr_world* world);
// The system whose command the last commit applied to an entity; with several, the last one. Null:
// no system. Valid until the next send.
orr_system orri_commit_source(const orr_world* world, uint32_t entity_index);
// True when one system sent everything of the last commit. Then no lookup by entity is needed.
bool orri_commit_sender(const orr_world* world, orr_system* out);

// ---- transactions (transaction/transaction.c, transaction/apply.c) ------------------------------

// Worker threads for one parallel loop: `run` calls `work` for every item below `count`, on several
// threads, and returns when all calls have returned.
typedef struct orri_workers {
    void (*run)(void* user, uint32_t count, void (*work)(void* context, uint32_t item),
                void* context);
    void* user;
} orri_workers;

// True when a transaction waits.
bool orri_transaction_pending(const orr_world* world);
// True when orri_transaction_commit() with this `foreign` would apply a transaction now. In real
// time, transactions of another pipeline are not applied before that pipeline has committed, since
// the commit may create their targets.
bool orri_transaction_pending_for(const orr_world* world, const orri_foreign* foreign);
// True when a transaction waits on a type whose bit in `owned` (by type index) is not set: no
// pipeline would ever apply it.
bool orri_transaction_pending_unowned(const orr_world* world, const uint64_t* owned,
                                      uint32_t words);
// Applies the transactions of all closed buffers, in order. `early`: structure still waits;
// transactions on entities with pending structure keep waiting too. `foreign` (may be NULL):
// transactions on these types wait for the pipeline that owns the type. `workers` (may be NULL):
// threads to use; NULL uses the calling thread. `*changed`: whether the world was changed. On
// refusal (reported) nothing was done, and the call can be repeated.
orr_result orri_transaction_commit(orr_world* world, bool early, const orri_foreign* foreign,
                                   const orri_workers* workers, bool* changed);
// Drops the waiting transactions of a system that is being removed.
void orri_transaction_forget(orr_world* world, const orri_rights* rights);
// Hash of the waiting transactions: they are part of the world's state.
uint64_t orri_transaction_hash(const orr_world* world, uint64_t hash);
// The system that sent everything the last orri_transaction_commit() applied; null: several
// systems.
orr_system orri_transaction_source(const orr_world* world);

// ---- atomic sections (transaction/atomic_section.c) ---------------------------------------------

// Allocates the locks of atomic sections. To be called before the first system that declares
// .atomics is added. False when refused (reported).
bool orri_atomic_sections_begin(orr_world* world);
void orri_atomic_sections_term(orr_world* world);
// True while this thread is inside an atomic section, of any world.
bool orri_atomic_section_here(void);

// ---- readers (deliver/reader.c, deliver/diff.c) -------------------------------------------------

// An indirect system, or another recipient of messages, with its queue.
typedef struct orri_reader orri_reader;

typedef struct orri_reader_desc {
    const char* name;   // For error messages. Copied.
    orr_query* query;   // Selects the entities; its fields are the tracked types. Not owned; must
                        // outlive the reader.
    bool all_types;     // The query requires no type: every type is tracked. Changes of enable bits
                        // and of tags are still sent only if the query names orr_enabled, orr_tags.
    uint64_t queue_max; // Limit of entities in waiting messages.
    orri_counts* counts; // `received` is incremented. NULL: nothing is counted.
    bool outside;        // Not part of the world's state (past/past.h).
} orri_reader_desc;

// Creates a reader. It starts disabled. NULL when refused (reported).
orri_reader* orri_reader_create(orr_world* world, const orri_reader_desc* desc);
void orri_reader_destroy(orr_world* world, orri_reader* reader);
// Enabled: the next diff sends it everything it selects, with ORR_CAUSE_READER. Disabled: its queue
// is emptied and its set of known entities is cleared.
void orri_reader_enable(orr_world* world, orri_reader* reader, bool on);
// Real time only: hands the waiting messages to the system before it runs. orri_reader_next()
// returns only these until orri_reader_done(). They do not count as queued meanwhile. Called by the
// pipeline that has its turn.
void orri_reader_take(orri_reader* reader);
// The next message, or NULL. Releases the previous one (in real time all are released by
// orri_reader_done()).
const orr_message* orri_reader_next(orri_reader* reader);
// The system's function returned: releases its messages. Messages that were handed over and not
// taken go back to the front of the queue.
void orri_reader_done(orri_reader* reader);
// Number of entities in waiting messages.
uint64_t orri_reader_queued(const orri_reader* reader);
// True when the queue overflowed since the last call. It was emptied, and the next diff sends
// everything again.
bool orri_reader_lost(orri_reader* reader);
// Hash of the waiting messages.
uint64_t orri_reader_hash(const orri_reader* reader, uint64_t hash);

// True when an enabled reader tracks the type.
bool orri_tracked(const orr_world* world, orr_type type);
// Sends every difference between the world and the baseline to the readers. `source` is the system
// that made the changes; with `by_commit` orri_commit_source() is asked for each entity instead.
// On refusal (reported) the finished part is in the baseline, and the next call finds the rest.
// Within a tick nothing is delivered before the diff is complete, so that readers see one diff.
orr_result orri_diff_run(orr_world* world, orr_system source, bool by_commit);
// The same after a direct system: only the columns of the query's write terms can differ.
orr_result orri_diff_written(orr_world* world, const orr_query* query, orr_system source);
// The same for one pipeline in real time. Values of types in `foreign` (NULL: none) are left to the
// pipeline that owns the type. Without `structure` only values of the other types are compared, and
// systems of other pipelines may run meanwhile. With `structure` no system may run: destroyed
// entities, rows, and all pinned, multiple and hooked types are compared as well. A reader to which
// an entity is new receives foreign values from the baseline if another reader knows them, so that
// all readers know the same; otherwise it receives the current value.
orr_result orri_diff_own(orr_world* world, orr_system source, bool by_commit,
                         const orri_foreign* foreign, bool structure);
// True when a reader is enabled.
static inline bool orri_has_readers(const orr_world* world);
// True when an enabled reader must receive everything: the next diff visits all rows and values.
bool orri_readers_fresh(const orr_world* world);
// The same for readers that are part of the world's state only.
bool orri_state_readers_fresh(const orr_world* world);
// The same for one reader.
bool orri_reader_fresh(const orri_reader* reader);

// ---- events (event/event.c, event/event_cursor.c) -----------------------------------------------

// The cursor set of a system: its read position in the queue of each event type it receives.
typedef struct orri_event_cursors orri_event_cursors;

// Creates the cursor set of a system that receives `types`. It starts disabled. NULL when refused
// (reported).
orri_event_cursors* orri_event_cursors_create(orr_world* world, const orr_type* types,
                                              uint32_t count);
void orri_event_cursors_destroy(orr_world* world, orri_event_cursors* set);
// Sets the system's name, for error messages. Not copied.
void orri_event_cursors_name(orri_event_cursors* set, const char* name);
// Marks the cursor set as a spectator's: events that wait only for it are not hashed, and it loses
// unread events when a queue would otherwise be full because of it.
void orri_event_cursors_spectator(orri_event_cursors* set);
// Enabled: receives events from now on. Disabled: no event is kept for it.
void orri_event_cursors_enable(orr_world* world, orri_event_cursors* set, bool on);
// Real time only: copies the waiting events before the system runs. The system sees only the copy
// until orri_event_cursors_done(). False when refused (reported): nothing was copied, the system
// sees no events. NULL is allowed. Called by the pipeline that has its turn.
bool orri_event_cursors_take(orr_world* world, orri_event_cursors* set);
// The system's function returned: the events that it received count as read. Later ones are for
// its next run.
void orri_event_cursors_done(orr_world* world, orri_event_cursors* set);
// Reserve makes room for `count` events of a type: all that will be appended until the next
// reserve. False when refused (reported, with the name of the sending system). Append then cannot
// fail.
bool orri_events_reserve(orr_world* world, orr_type type, uint32_t count, const char* sender);
void orri_events_append(orr_world* world, orr_type type, const void* values, uint32_t count);
// Returns ORR_ERR_TYPE (reported) for types that cannot be events.
orr_result orri_event_check(const orr_world* world, const char* call, orr_type type);
// Hash of the events that wait for systems of the simulation.
uint64_t orri_events_hash(const orr_world* world, uint64_t hash);
// Checks the invariants of all event queues. ORR_ERR_CORRUPT (reported) when one is violated.
orr_result orri_events_validate(orr_world* world);
void orri_events_term(orr_world* world);

// ---- what a world keeps for this module: world->messages ----------------------------------------

struct orri_command_buffers; // send/command_buffer.h
struct orri_baseline;        // deliver/baseline.h
struct orri_events;          // event/event.h
struct orri_atomic_sections; // transaction/atomic_section.c
struct orri_posts;           // transaction/transaction.h
struct orri_messages_past;   // past/past.h

struct orri_messages {
    struct orri_command_buffers* command_buffers; // The world's own set; a context may use another.
    struct orri_baseline* baseline;               // NULL: there never was a reader.
    struct orri_events* events;                   // NULL: no event type is in use.
    struct orri_atomic_sections* sections;        // NULL: no system declares .atomics.
    // Travel back in time (past/past.c): the prepared copy of the transactions that will wait, and
    // the past that readers were not notified of yet because memory was refused.
    struct orri_posts* posts_ready;
    struct orri_messages_past* unsettled;
    uint32_t readers; // Enabled readers.
    // Name of a system for messages, "" when the system was removed. Set by the scheduler; NULL:
    // there are no systems.
    const char* (*system_name)(const orr_world* world, orr_system system);
    // The name and the declared size of the argument of a function of transactions; false: no size
    // was declared. Set by the scheduler; NULL: no function is registered.
    bool (*declared)(const orr_world* world, orr_transaction function, const char** name,
                     size_t* size);
    // Called after each function of a transaction; NULL: not set. Set by the desync search.
    void (*called)(orr_world* world, const orri_rights* rights, const orri_type* type,
                   orr_entity target, const void* value);
};

// The module's part of the world. Allocated at first use together with its hooks in the world
// (validate, gone). NULL when refused (reported).
struct orri_messages* orri_messages_of(orr_world* world);
void orri_command_buffers_term(orr_world* world);
void orri_baseline_term(orr_world* world);

static inline bool orri_has_readers(const orr_world* world)
{
    return world->messages != NULL && world->messages->readers > 0;
}

#endif
