// SPDX-License-Identifier: MIT
// Internals of command buffers, for the files of this module: the commands that one run of a system
// sent, in columns; and the interfaces of the steps that read them (pending, merge, commit).
//
//   command buffer ──> command arrays, one per kind and type ──> entities[], ids[], values[]
//                        └─ sequence runs: positions of its rows in the order of sending
//
// Vocabulary:
//   command array  all commands of a buffer with the same kind and type. A million adds are one
//                  array; a system that sends create, add, add for every row fills three.
//   sequence       number of a command within its buffer. It is not stored per command but as
//                  runs: one for each time the sender came back to the array.
//   bundle         command arrays of one buffer with the same entities in the same order; such
//                  arrays are called aligned
//   mark           a bit per entity index: a waiting command mentions the entity
#ifndef ORRI_MESSAGE_SEND_COMMAND_BUFFER_H
#define ORRI_MESSAGE_SEND_COMMAND_BUFFER_H

#include "message/message.h"
#include "store/change/change_set.h"
#include <stdatomic.h>

// The order matters: merge.c tests ranges (ADD to CHANGE, ENABLE and above).
typedef enum orri_command_kind {
    ORRI_COMMAND_CREATE,
    ORRI_COMMAND_DESTROY,
    ORRI_COMMAND_ADD,        // Adds a component with a value.
    ORRI_COMMAND_ADD_PRESET, // Adds a component with the preset of its type.
    ORRI_COMMAND_CHANGE,
    ORRI_COMMAND_REMOVE,
    ORRI_COMMAND_TAG_ADD,    // Values are orr_tag.
    ORRI_COMMAND_TAG_REMOVE, // Values are orr_tag.
    ORRI_COMMAND_ENABLE,     // Null type: the entity itself.
    ORRI_COMMAND_DISABLE,    // Null type: the entity itself.
    ORRI_COMMAND_NAME,       // Values are orri_command_name.
    ORRI_COMMAND_EVENT,      // No entities.
} orri_command_kind;

typedef struct orri_command_name {
    orr_entity scope;
    uint64_t text1; // 1 + offset of the name in the buffer's `texts`; 0: removes the name.
} orri_command_name;

// Rows from `row` on were sent as number `sequence`, `sequence + 1`, … of the buffer.
typedef struct orri_sequence_run {
    uint32_t row, sequence;
} orri_sequence_run;

// All commands of one buffer with the same kind and type. Values, entities and ids are columns in
// one memory block, which stays with the array when the buffer is emptied.
typedef struct orri_command_array {
    orri_command_kind kind;
    orr_type type;            // Null: the kind has none.
    uint32_t count, capacity; // Rows.
    orr_entity* entities;     // A null entity: the command was already applied (M3).
    uint8_t* values;
    orr_component_id* ids; // Instance ids; NULL: the type is not multiple.
    uint32_t stride;       // Bytes of a value.
    bool plain_values;     // Values are copied as bytes: no hooks, no owned values, no padding, no
                           // ranges to check; or there are none.
    bool fast_append;      // plain_values, and rows have no ids, and neither `bulk` nor
                           // `created_only` is set: a send only stores entity and value.
    bool created_only;     // Only for entities of this commit: the type is declared in `creates`,
                           // not in `adds`.
    bool bulk;             // Made by orr_send_create_many(): other sends do not append to it.
    bool shares_entities;  // `entities` are those of the bulk creation it belongs to.
    bool used;             // Has, or had, rows of the current run.
    const orri_type* info; // NULL: no type.
    orr_cluster cluster;   // Target cluster of orr_send_create_many().
    uint8_t* block;        // Memory of values, entities and ids.
    size_t block_size;
    size_t peak; // Most bytes in use since the last orri_command_buffers_trim() that looked.
    orri_sequence_run* sequence_runs; // Ascending in both members (M2).
    uint32_t sequence_run_count, sequence_run_capacity;
    uint32_t order_index; // Index in the buffer's `order`.
    uint32_t next1;       // Next array of the bundle: slot + 1; 0: the last.
    bool bundled;         // Part of the bundle of an earlier array.
} orri_command_array;

// Commands of a buffer that have no effect in a commit that is not complete yet. They are counted
// and logged when the commit has succeeded.
typedef struct orri_command_buffer_note {
    uint64_t dropped;                // Commands without effect; the first one, by sequence number,
    uint32_t sequence;               // is described here and below.
    uint64_t twice;                  // ComponentAdded for a component that was there.
    const char* why;                 // Reason of the first drop.
    orr_result result;               // Its result.
    orr_entity entity, twice_entity; // Of the first drop; of the first double add.
    orr_type type, twice_type;
    orri_command_kind kind;
} orri_command_buffer_note;

// Size of a small cache that maps (kind, type) to the array used last.
#define ORRI_COMMAND_BUFFER_RECENT 8
#define ORRI_COMMAND_BUFFER_RECENT_OF(kind, type) \
    (((uint32_t)(kind)*5 + (type).id) % ORRI_COMMAND_BUFFER_RECENT)

// The commands that one run of a system sent. While the system runs, only its thread touches the
// buffer.
struct orr_command_buffer {
    orri_command_array* current; // Array of the last command; NULL: none yet.
    orr_world* world;
    struct orri_command_buffers* command_buffers; // The set it belongs to. While a system runs, the
                                                  // world's current set may be another one.
    orri_rights* rights;                          // Of the sending system.
    uint32_t unit;                                // Of the system's rows; 0: not called by units.
    bool open;                                    // The system's function is running.
    bool refuses_all; // The stand-in for lack of memory: every send is refused.
    bool marked;      // Its structure is in the marks.
    bool values_done; // orri_commit_values() has handled it.
    bool failed;      // A send was refused for lack of memory.
    // The run of commands being appended to `current`: its first row and its sequence number.
    uint32_t run_first;
    uint32_t sequence;
    orri_command_array* arrays; // Slots. They keep their memory from run to run.
    uint32_t array_count, array_capacity;
    // Slots in use, by first command. Results may depend on this order, never on slots (M6).
    uint32_t* order;
    uint32_t order_count, order_capacity;
    uint32_t recent[ORRI_COMMAND_BUFFER_RECENT]; // Slot + 1 by hash of kind and type; 0: none.
    // Entity ids. The first `id_count` creations have reserved ids, the others provisional ones
    // (provisional_ids.c).
    uint64_t base;         // Position of its first reserved id, in the free list or in `withheld`
                           // (M8).
    uint64_t later_base;   // Position of the first id that replaced a provisional one (M8h);
                           // ORRI_PROVISIONAL_OPEN: none was replaced yet.
    uint32_t id_count;     // Ids reserved.
    uint32_t creates_max;  // Most creations; UINT32_MAX: no limit.
    uint32_t create_count; // Creations sent.
    uint32_t provisional_half;             // Upper half of its provisional entity ids.
    orri_index_cursor cursor;              // Where the free list was read last.
    uint64_t instance_base;                // Position of its first instance id (M8e).
    uint32_t instance_max, instance_count; // Instance ids reserved, and given or passed over.
    char* texts;                           // Names, zero-terminated, one after another.
    uint32_t text_count, text_capacity;    // Bytes.
    // The arrays of the last orr_send_create_many(): 1 + index in `order`; 0: none.
    uint32_t bulk_first1;
    uint32_t bulk_count;
    uint64_t number;       // Number in the order of closing.
    uint32_t record_count; // Commands, set when the buffer is closed.
    orri_command_buffer_note note;
    struct orri_posts* posts; // Transactions (transaction/transaction.h); NULL: none.
    struct orri_transient_sends* transients; // Commands about transient entities
                                             // (transient_send.c); NULL: none.
    orr_command_buffer* next;                // In the list of waiting or of free buffers.
};

// A block of the arena; the memory follows the header.
typedef struct orri_commit_arena_block {
    struct orri_commit_arena_block* next;
    size_t size, used;
} orri_commit_arena_block;

// Memory of one commit. Blocks are kept from commit to commit.
typedef struct orri_commit_arena {
    orri_commit_arena_block *first, *now; // Blocks from `first` to `now` are in use; NULL: none.
    size_t peak, used;                    // Most bytes since the last trim; bytes now.
} orri_commit_arena;

// Data that all sets of command buffers of a world share.
struct orri_command_buffers_shared {
    struct orri_command_buffers*
        all; // List of sets, the newest first; the world's own is the last.
    // Waiting transactions in the order of (system, run), and blocks that hold none.
    struct orri_posts *posted, *posted_last, *posts_free;
    uint32_t posts_used, posts_peak; // Waiting blocks; most since the last trim.
    orr_system transactor;           // Sender of the last applied transactions; null: several.
    orri_commit_arena apply_arena;   // Memory for applying transactions.
};

// A set of command buffers: the world's own, or that of one pipeline in real time.
struct orri_command_buffers {
    struct orri_command_buffers_shared* shared;
    struct orri_command_buffers* next; // In shared->all.

    // Entity ids. A set that withholds ids (command_ids.c) has taken them out of the free list in
    // advance and gives them by position in `withheld`. A set that does not gives ids by position
    // in the free list itself; no other set may create then.
    bool withholds;
    // Withheld ids are of transient entities. A used id is null in `withheld` until the commit
    // point.
    bool transient_ids;
    orr_entity* withheld;
    uint32_t withheld_count, withheld_capacity;
    uint32_t withheld_next;   // transient_ids: where the search for the next used id begins.
    uint64_t reserved;        // Ids reserved by buffers since the last commit point.
    uint64_t provisional;     // Provisional ids of waiting buffers that are not replaced yet.
    orri_index_cursor cursor; // The furthest cursor of the buffers closed since then.

    // Instance ids. Number of position 0 since the last commit point; in real time each set has a
    // range of its own, which begins at `instance_offset`. Positions reserved, and the end of those
    // that were given.
    uint32_t instance_first, instance_offset;
    uint64_t instances_reserved, instances_used;

    orr_command_buffer *first,
        *last;                      // Buffers with waiting commands, in the order of (system, run).
    orr_command_buffer* free;       // Free buffers, in the order in which they were last used.
    uint32_t used_count, used_peak; // Waiting buffers; most since the last trim.
    uint32_t turn;                  // Commits since the last trim that looked.
    uint64_t closed;                // Buffers with commands closed so far.
    // The first waiting buffer that orri_commit_values() has not handled, and its predecessor.
    orr_command_buffer *unseen, *seen_last;
    atomic_bool refused;      // A send was refused for lack of memory.
    bool overflowed;          // An event queue was full.
    orr_command_buffer spare; // Stand-in when a buffer cannot be allocated; refuses_all is set.

    // Marks: a bit per entity index, for all waiting commands. `seen`: mentioned by a bundle;
    // `multi`: mentioned by several bundles or twice by one; `created`: to be created. `touched`
    // has a bit for each page of 4096 entities with any mark, so that clearing costs what was
    // marked.
    uint64_t *seen, *multi, *created, *touched;
    uint32_t mark_words; // Length of `seen`, `multi` and `created`.
    bool marks_any, multi_any;
    bool marks_old; // The marks are those of the last commit, kept for orri_commit_source().

    // Senders of the last commit. With several senders, and only while there are readers, `sources`
    // has the last sender of each entity; valid where the entity is `seen`.
    orr_system* senders;
    uint32_t sender_count, sender_capacity;
    uint16_t* sources; // By entity index: index in `senders`.
    uint32_t source_capacity;

    bool merged; // The last commit point had something to merge: the marks are of that commit.
    // Waiting commands about transient entities, in the order of closing.
    struct orri_transient_sends *transient_first, *transient_last;

    orri_commit_arena arena; // Memory of one merge.
    orri_ranked* items;      // Commands that a merge handles by entity.
    uint32_t item_capacity, item_peak;
};

// The current set of command buffers; NULL: the world has no messages.
static inline struct orri_command_buffers* orri_command_buffers_at(const orr_world* world)
{
    if (world->messages == NULL) {
        return NULL;
    }
    struct orri_command_buffers* commands = world->context->commands;
    return commands != NULL ? commands : world->messages->command_buffers;
}

// ---- command_buffer.c: command arrays -----------------------------------------------------------

// The array of a kind and type, created if missing, as the buffer's current one. NULL when memory
// is refused (reported).
orri_command_array* orri_command_buffer_array(orr_command_buffer* commands, orri_command_kind kind,
                                              orr_type type, const orri_type* info);
// A new bulk array, to which no other send appends. All kinds except CREATE have no entities of
// their own: the caller sets them.
orri_command_array* orri_command_buffer_array_bulk(orr_command_buffer* commands,
                                                   orri_command_kind kind, orr_type type,
                                                   const orri_type* info);
// Makes the array current and begins a sequence run. False when memory is refused (not reported).
bool orri_command_buffer_turn(orr_command_buffer* commands, orri_command_array* array);
// Room for `more` rows. False when refused (reported).
bool orri_command_array_reserve(orr_command_buffer* commands, orri_command_array* array,
                                uint32_t more);
// Stores a text. Returns 1 + its offset in `texts`; 0 when refused (reported).
uint32_t orri_command_buffer_text(orr_command_buffer* commands, const char* text);
// True for the name of an entity: 1 to 255 bytes, without '/' and control characters (send.c).
bool orri_sent_name_valid(const char* name);
// Reports ORR_ERR_MEMORY for a send and sets `failed`.
ORRI_COLD orr_result orri_command_buffer_refuse_memory(orr_command_buffer* commands);
// The sequence number of a row.
uint32_t orri_command_array_sequence(const orri_command_array* array, uint32_t row);
// Number of commands in the buffer so far.
uint32_t orri_command_buffer_records(const orr_command_buffer* commands);
// Destructs the values of the array and removes all rows. Memory stays.
void orri_command_array_clear(orri_command_array* array);
// Moves waiting buffers without remaining commands (`all`: every waiting buffer) to the free list.
void orri_command_buffers_release(struct orri_command_buffers* command_buffers, bool all);
// Once per commit. Every 64 commits: frees memory that was less than a quarter full since then.
void orri_command_buffers_trim(orr_world* world);
// The first type, or tag, of a cluster that the system must not give to an entity that it creates;
// their number if there is none.
uint32_t orri_undeclared_type(const orr_world* world, const orri_rights* rights,
                              const orri_cluster* cluster);
uint32_t orri_undeclared_tag(const orri_rights* rights, const orri_cluster* cluster);

// As orri_refuse_right(), for adding (`on`) or removing a tag.
ORRI_COLD orr_result orri_refuse_tag(const orr_world* world, orri_rights* rights, const char* call,
                                     orr_tag tag, bool on, orr_entity entity);
// As orri_refuse_right(), for destroying an entity that .destroys does not select.
ORRI_COLD orr_result orri_refuse_destroy(const orr_world* world, orri_rights* rights,
                                         const char* call, orr_entity entity);
// The name of a kind of command in error messages, such as "ComponentAdded".
const char* orri_command_kind_name(orri_command_kind kind);

// ---- send.c, send_many.c ------------------------------------------------------------------------

// The id of creation number `n` after those the buffer has so far. Null when there is none.
orr_entity orri_command_buffer_id(const orr_command_buffer* commands, orri_index_cursor* cursor,
                                  uint32_t n);
// The ids of the next `count` creations. False when there are not as many.
bool orri_command_buffer_ids(const orr_command_buffer* commands, orri_index_cursor* cursor,
                             orr_entity* out, uint32_t count);
// Reports ORR_ERR_CAPACITY: more creations than creates_max, which counts as a violation, or than
// the world's entities_max.
ORRI_COLD orr_result orri_refuse_ids(orr_command_buffer* commands, const char* call,
                                     uint32_t count);

// ---- provisional_ids.c --------------------------------------------------------------------------

#define ORRI_PROVISIONAL_OPEN UINT64_MAX

// Upper half of the provisional entity ids of a buffer that is opened now.
uint32_t orri_provisional_half(const orr_command_buffer* commands);
// Provisional id of creation number `n` of the buffer, which is at least `id_count`.
static inline orr_entity orri_provisional_id(const orr_command_buffer* commands, uint32_t n)
{
    return orri_id_make(n - commands->id_count, commands->provisional_half);
}
// True for a provisional id of any run.
static inline bool orri_is_provisional(orr_entity entity)
{
    return (orri_id_generation(entity) & ORRI_DEAD) != 0;
}
// Why a change for an entity that is not alive has no effect.
static inline const char* orri_dead_reason(orr_entity entity)
{
    return orri_is_provisional(entity) ? "its provisional id was kept from another run; set "
                                         ".creates_max for ids that are final at once"
                                       : "the entity is dead";
}
// True if 8 bytes of the data, at a multiple of 8, are a provisional id of the buffer.
bool orri_provisional_in_bytes(const orr_command_buffer* commands, const void* data, size_t size);
// Replaces the provisional ids of all waiting buffers by ids of entities, in the order of buffers.
// Called before anything is done with the commands of a buffer. False when refused (reported): then
// nothing was done, and the call can be repeated. A set that withholds ids may have to withhold
// more: then no system may be running (orri_command_buffers_withheld_left()).
bool orri_provisional_ids_replace(orr_world* world);

// ---- transient_send.c: commands of spectators about transient entities --------------------------

// True when a command about the entity is kept by transient_send.c. Arrays of spectators never have
// plain_values, so that every send of a spectator comes to this test.
static inline bool orri_is_transient_send(const orr_command_buffer* commands, orr_entity entity)
{
    return ORR_UNLIKELY(commands->rights->spectator) && (int32_t)orri_id_index(entity) < 0;
}
// Appends a checked command. `info` NULL: about the entity itself; `value` NULL: none.
orr_result orri_transient_send_add(orr_command_buffer* commands, orri_command_kind kind,
                                   orr_entity entity, const orri_type* info, const void* value);
// Sends the creation of a transient entity. Null when refused (reported).
orr_entity orri_transient_send_create(orr_command_buffer* commands);
// Refuses with ORR_ERR_STATE: a spectator tries to destroy an entity of the simulation.
ORRI_COLD orr_result orri_transient_send_refuse(orr_command_buffer* commands, const char* call,
                                                orr_entity entity);
// The buffer is closed: its commands about transient entities wait.
void orri_transient_sends_close(struct orri_command_buffers* command_buffers,
                                orr_command_buffer* commands);
void orri_transient_sends_free(orr_world* world, struct orri_transient_sends* transients);
// Drops what waits. `counted`: the senders still exist and the drops are counted for them.
void orri_transient_sends_abandon(orr_world* world, struct orri_command_buffers* command_buffers,
                                  bool counted);
// Applies what waits, in order. On refusal (reported) the rest waits; the next call continues.
orr_result orri_transient_sends_commit(orr_world* world);

// ---- commit/pending.c: marks --------------------------------------------------------------------

// Prepares marking: clears the marks of the last commit and makes room for all entities, including
// those to be created. False when refused (reported).
bool orri_pending_begin(orr_world* world);
// Finds the bundles of a buffer and marks its structure. orri_pending_begin() has made room.
void orri_pending_add(struct orri_command_buffers* command_buffers, orr_command_buffer* commands);
// Marks an entity once more.
void orri_pending_mark(struct orri_command_buffers* command_buffers, uint32_t index);
void orri_pending_clear(struct orri_command_buffers* command_buffers);
void orri_pending_term(orr_world* world, struct orri_command_buffers* command_buffers);
static inline bool orri_pending_get(const uint64_t* marks, uint32_t words, uint32_t index)
{
    return index >> 6 < words && orri_bit_get(marks, index);
}
// True for the id of an entity that a waiting command creates and no waiting command destroys (M5).
bool orri_pending_created(const orr_world* world, orr_entity entity);

// ---- commit/arena.c -----------------------------------------------------------------------------

// Memory until the next reset; aligned to 64 bytes if `size` is at least 64, else to 16. NULL when
// refused (not reported).
void* orri_commit_arena_take(orr_world* world, orri_commit_arena* arena, size_t size);
void orri_commit_arena_reset(orri_commit_arena* arena);
// Frees blocks beyond four times the peak since the last call.
void orri_commit_arena_trim(orr_world* world, orri_commit_arena* arena);
void orri_commit_arena_term(orr_world* world, orri_commit_arena* arena);

// ---- commit/merge.c, commit/merge_entity.c: commands to groups of a change set ------------------

// A command array that takes part in a merge.
typedef struct orri_merge_ref {
    orr_command_buffer* commands;
    orri_command_array* array;
} orri_merge_ref;

// One merge: command buffers in, groups of one change set out.
typedef struct orri_merge {
    orr_world* world;
    struct orri_command_buffers* command_buffers;
    orri_merge_ref* refs; // In the order of buffers, then of first commands.
    uint32_t ref_count, ref_capacity;
    orr_command_buffer* commands; // The buffer added last:
    uint32_t buffer_first;        // its first ref,
    uint32_t buffer_order;        // and the merge-wide number of its first command.
    uint32_t order;               // Number of the first command of the next buffer.
    // Commands that are merged by entity. key: entity index and number; index: ref; chunk: row.
    orri_ranked* items; // Memory of the set of command buffers; it stays.
    uint32_t item_count;
    orri_group* groups;
    orri_rights** senders; // By group: whose drops are counted.
    uint32_t group_count, group_capacity, sender_capacity;
    orr_entity* short_lived; // Entities created and destroyed by the same commit.
    uint32_t short_lived_count, short_lived_capacity;
    struct orri_net_change* change; // Work space of merge_entity.c; NULL: not needed so far.
    bool creates;                   // At the commit point: creations take part.
    orr_entity* withheld; // Withheld ids that were returned to the free list (command_ids.c).
    uint32_t withheld_count;
} orri_merge;

orri_merge orri_merge_begin(orr_world* world);
void orri_merge_end(orri_merge* merge);
// Adds a buffer; buffers must be added in order. This and the following functions return false when
// memory is refused (not reported).
bool orri_merge_buffer_add(orri_merge* merge, orr_command_buffer* commands);
// A command of the buffer added last is merged by entity. `place` is its array's order_index.
bool orri_merge_item(orri_merge* merge, uint32_t place, uint32_t row);
// All commands of the buffer added last: commands of entities mentioned once become groups that
// point into the arrays, the others become items.
bool orri_merge_records(orri_merge* merge);
// Merges the items by entity into groups.
bool orri_merge_items(orri_merge* merge);
// Appends a group.
bool orri_merge_group(orri_merge* merge, const orri_group* group, orri_rights* sender);
// Memory until the end of the merge.
void* orri_merge_take(orri_merge* merge, size_t size);

// State of the entities that a value refers to.
typedef enum orri_refers {
    ORRI_REFERS_ALIVE,   // All are alive, or the old value refers to the same dead entities.
    ORRI_REFERS_CREATED, // As above, except that some will be created by waiting commands.
    ORRI_REFERS_DEAD,    // Some are dead.
} orri_refers;
// `old` is the value it replaces; may be NULL.
orri_refers orri_value_refers(const orr_world* world, const orri_type* type, const void* old,
                              const void* value);
// The entity's value of a unique type. NULL if it has none or is dead. Reports nothing.
const void* orri_value_find(const orr_world* world, orr_entity entity, const orri_type* type);
// Notes that a command has no effect, or added a component that was there. Reported at the end of
// the commit by orri_command_buffer_report().
void orri_note_drop(orr_command_buffer* commands, const orri_command_array* array, uint32_t row,
                    orr_result result, const char* why);
void orri_note_twice(orr_command_buffer* commands, const orri_command_array* array, uint32_t row);

// ---- commit/commit.c: shared with values.c ------------------------------------------------------

// Applies all groups, or none (reported).
orr_result orri_merge_apply(orri_merge* merge);
// Counts and logs the notes of a buffer.
void orri_command_buffer_report(const orr_command_buffer* commands);
// Reports that the commands of a system (`others`: and of other systems) cannot be applied: the
// text of the last refusal, and the remedy.
ORRI_COLD orr_result orri_refuse_commit(orr_world* world, const orri_rights* rights, bool others);
// Logs a dropped command, once per system. The caller counts it.
ORRI_COLD void orri_log_drop(const orr_world* world, orri_rights* rights, const char* kind,
                             orr_type type, orr_entity entity, const char* why);

// ---- transaction/transaction.c: blocks of transactions ------------------------------------------

// Gives a free block to a buffer whose system may transact, if there is one.
void orri_posts_open(struct orri_command_buffers* command_buffers, orr_command_buffer* commands);
// Takes the block of a buffer that is closed: it waits, or it is free again if it is empty.
void orri_posts_close(struct orri_command_buffers* command_buffers, orr_command_buffer* commands);
// True when the block has transactions. NULL is allowed.
bool orri_posts_any(const struct orri_posts* posts);
// A waiting block was applied: it is free again.
void orri_posts_done(struct orri_command_buffers* command_buffers, struct orri_posts* posts);
// Drops and counts waiting transactions; a set that withholds ids drops only its own.
void orri_posts_abandon(struct orri_command_buffers* command_buffers);
// The set has committed the structure sent with its transactions: other pipelines may apply them
// now.
void orri_posts_set_ready(struct orri_command_buffers* command_buffers);
// The set is destroyed; its transactions stay.
void orri_posts_leave(struct orri_command_buffers* command_buffers);
// Replaces entities in the waiting transactions of a buffer: targets, and fields of operands.
void orri_posts_entity_map(const orr_command_buffer* commands,
                           orr_entity (*map)(void* user, orr_entity entity), void* user);
void orri_posts_trim(orr_world* world);
// Frees a list of blocks that is in no list of the world. NULL is allowed.
void orri_posts_free(orr_world* world, struct orri_posts* posts);
void orri_posts_term(orr_world* world, struct orri_command_buffers_shared* shared);

// ---- command_ids.c: entity ids withheld in advance ----------------------------------------------

// Returns the ids of all waiting creations to the head of the free list, in the order of buffers,
// so that the commit can create the entities there. False when refused (reported): nothing was
// done.
bool orri_command_ids_return(orri_merge* merge);
// Returns all withheld ids. False when refused (reported).
bool orri_command_ids_free(orr_world* world, struct orri_command_buffers* command_buffers);
// The commit was refused: takes the returned ids out of the free list again.
void orri_command_ids_retake(orri_merge* merge);
// The commit succeeded: removes the used ids from `withheld`; the others stay, in order.
void orri_command_ids_forget(struct orri_command_buffers* command_buffers);
// The same for one transient entity: returns its id; then takes it again (`created` false) or marks
// it as used.
void orri_command_ids_return_transient(orr_world* world, orr_entity entity);
void orri_command_ids_end_transient(orr_world* world, struct orri_command_buffers* command_buffers,
                                    orr_entity entity, bool created);
// At the commit point: removes the used ids from `withheld`.
void orri_command_ids_forget_transient(struct orri_command_buffers* command_buffers);

// Ids of instances (M8e). Numbers in the range of a set: in real time several sets give ids at the
// same time.
#define ORRI_INSTANCE_RANGE UINT32_C(0x8000000)
// Reserves ids for a buffer that is opened.
void orri_command_ids_reserve_instances(orr_command_buffer* commands);
// The next id of a buffer for an instance of the entity, after the first `*count`; 0: none is left.
// `*count` becomes the value that the buffer's instance_count gets if the command is stored.
orr_component_id orri_command_ids_instance(const orr_command_buffer* commands, orr_entity entity,
                                           orr_type type, uint32_t* count);
// At the commit point: the numbers of used ids are not given again.
void orri_command_ids_end_instances(orr_world* world, struct orri_command_buffers* command_buffers);

// ---- commit/merge_entity.c, commit/merge_group.c ------------------------------------------------

// Merges the commands of one entity, in order, into one net change.
bool orri_net_change_entity(orri_merge* merge, const orri_ranked* items, uint32_t count);
// Closes the open group that neighbouring entities share.
bool orri_net_change_groups(orri_merge* merge);
void orri_net_change_end(orri_merge* merge);

#endif
