// SPDX-License-Identifier: MIT
// Lanes from the inside: what one run of a system sent, in columns.
//
//   lane ──> strips, one for each kind and type ──> entities[], ids[], values[]
//              └─ breaks: where in the order of sending the runs of its rows lie
//
// Vocabulary: a *strip* holds all records of a lane with the same kind and type, so that a million adds are one strip, and so are
// the adds of a system that creates, adds and adds for each of its rows. The *sequence* of a record is its number within the lane;
// it is not stored by record but by *break*: one for each time the sender came back to the strip. Strips with the
// same entities in the same order are *aligned*: they make one *bundle*.
#ifndef ORRI_MESSAGE_SEND_COMMAND_BUFFER_H
#define ORRI_MESSAGE_SEND_COMMAND_BUFFER_H

#include "message/message.h"
#include "store/change/change_set.h"
#include <stdatomic.h>

typedef enum orri_sent {
    ORRI_SENT_CREATE,
    ORRI_SENT_DESTROY,
    ORRI_SENT_ADD,
    ORRI_SENT_PRESET, // Added with its preset.
    ORRI_SENT_CHANGE,
    ORRI_SENT_REMOVE,
    ORRI_SENT_TAG_ON, // Values are orr_tag.
    ORRI_SENT_TAG_OFF,
    ORRI_SENT_ON, // Null type: the entity.
    ORRI_SENT_OFF,
    ORRI_SENT_NAME,  // Values are orri_sent_name.
    ORRI_SENT_EVENT, // No entities.
} orri_sent;

typedef struct orri_sent_name {
    orr_entity scope;
    uint64_t text1; // Where in the lane's texts, plus 1; 0: the name goes.
} orri_sent_name;

// Rows from `row` on were sent from `sequence` on.
typedef struct orri_break {
    uint32_t row, sequence;
} orri_break;

typedef struct orri_strip {
    orri_sent kind;
    orr_type type;
    uint32_t count, capacity; // Rows.
    orr_entity* entities;     // A null one was dealt with already.
    uint8_t* values;
    orr_component_id* ids; // NULL: no multiple type.
    uint32_t stride;       // Bytes of a value.
    bool quick;            // Values are bytes as they come: plain, nothing to clean or to check,
    bool swift;            // and so it is with whole records: no ids, not `own`, not `born_only`.
    bool born_only;        // For entities of this commit only: declared by `creates` alone.
    bool own;              // Of orr_send_create_many(): nothing else goes here,
    bool follows;          // and the entities are those of its creations, which has them.
    bool used;             // Holds, or held, rows of the present run.
    const orri_type* info; // NULL: no type.
    orr_cluster cluster;   // Of orr_send_create_many(): where to.
    uint8_t* block;        // Values, entities, ids. Stays with the strip when the lane is emptied.
    size_t block_size;
    size_t peak; // Bytes used at most since blocks were last looked at.
    orri_break* breaks;
    uint32_t break_count, break_capacity;
    uint32_t place; // In the lane's order.
    uint32_t next1; // In its bundle: slot + 1.
    bool bundled;   // In the bundle of an earlier strip.
} orri_strip;

// What happened to records of a lane in a commit that is not done yet: said, and counted, when it is.
typedef struct orri_command_buffer_note {
    uint64_t dropped, twice; // Dropped; added though it was there.
    const char* why;         // Of the first drop.
    orr_entity entity, twice_entity;
    orr_type type, twice_type;
    orri_sent kind;
} orri_command_buffer_note;

#define ORRI_COMMAND_BUFFER_RECENT 8
#define ORRI_COMMAND_BUFFER_RECENT_OF(kind, type) \
    (((uint32_t)(kind)*5 + (type).id) % ORRI_COMMAND_BUFFER_RECENT)

struct orr_command_buffer {
    orri_strip* current; // Of the last record; NULL: none.
    orr_world* world;
    struct orri_command_buffers*
        command_buffers; // Whose it is: while a system runs the world's may be those of another pipeline.
    orri_rights* rights;
    bool open;
    bool mute;          // There was no memory for a lane: all is refused.
    bool marked;        // Its structure is in the marks.
    bool valued;        // orri_commit_values() is done with it.
    bool failed;        // Something was refused for want of memory.
    uint32_t run_first; // Row at which the run of `current` began,
    uint32_t sequence;  // and its sequence.
    orri_strip* strips; // Slots. They stay with the lane, with their memory.
    uint32_t strip_count, strip_capacity;
    uint32_t*
        order; // Slots in use, by first record. What follows from records must not depend on slots.
    uint32_t order_count, order_capacity;
    uint32_t recent[ORRI_COMMAND_BUFFER_RECENT]; // Slot + 1 by kind and type: where to look first.
    uint64_t base; // Position of its first id; of `held`, if there are such.
    uint32_t creates_max, create_count;
    orri_index_cursor cursor;
    uint32_t provisional_count;
    char* texts;
    uint32_t text_count, text_capacity;
    uint32_t many;       // orr_send_create_many(): 1 + place in `order` of the last call's strips,
    uint32_t many_count; // and their number.
    uint64_t number;     // In order of closing.
    uint32_t record_count; // When it was closed.
    orri_command_buffer_note note;
    struct orri_posts* posts;            // Transactions (transaction.h); NULL: none.
    struct orri_transient_sends* asides; // About transient entities (transient_send.c); NULL: none.
    orr_command_buffer* next;
};

// Memory of a commit: pieces that stay from one to the next.
typedef struct orri_commit_arena_piece {
    struct orri_commit_arena_piece* next;
    size_t size, used;
} orri_commit_arena_piece;

typedef struct orri_commit_arena {
    orri_commit_arena_piece *first, *now; // Filled from first to now.
    size_t peak, used;
} orri_commit_arena;

// What all lanes of a world have in common.
struct orri_command_buffers_shared {
    struct orri_command_buffers*
        all; // Those that were made last come first; the world's own is the last.
    // Transactions that wait, in order of (system, run); blocks that hold none; who did the last ones, and the memory of a commit of them.
    struct orri_posts *posted, *posted_last, *posts_free;
    uint32_t posts_used, posts_peak;
    orr_system transactor;
    orri_commit_arena tally;
};

struct orri_command_buffers {
    struct orri_command_buffers_shared* shared;
    struct orri_command_buffers* next;
    // Ids were taken out of line before they are promised (command_ids.c): positions are places in `held`. Otherwise they are those of
    // the line itself, which nobody but these lanes may use then.
    bool holds;
    bool
        aside; // Ids are of transient entities, and one that is used is null in `held` until the commit point.
    orr_entity* held;
    uint32_t held_count, held_capacity;
    uint32_t held_next;               // Likewise: where the next one is looked for that is used.
    orr_command_buffer *first, *last; // With records that wait, in order of (system, run).
    orr_command_buffer* free;         // In the order in which they were used last.
    uint32_t used_count,
        used_peak;   // Waiting ones, and how many at most since memory was last looked at.
    uint32_t turn;   // Commits since then.
    uint64_t closed; // Lanes ever closed with records.
    // The first that orri_commit_values() has not looked at, and the one before it; NULL: none.
    orr_command_buffer *unseen, *seen_last;
    uint64_t reserved;        // Positions of ids given to lanes since the last commit.
    orri_index_cursor cursor; // The furthest of the lanes closed since then.
    atomic_bool refused;
    bool overflowed;          // A queue of events was full.
    orr_command_buffer spare; // When there is no memory for another: mute.

    // Marks by entity index, for all records that wait: mentioned by some bundle, by several, created. `touched` has a bit for
    // each page of 4096 of them with any mark, so that clearing costs what was marked.
    uint64_t *seen, *multi, *born, *touched;
    uint32_t mark_words;
    bool marks_any, multi_any;
    bool marks_old; // They are of the last commit, kept for orri_commit_source().

    // Of the last commit: who sent. With several senders, and only while there are readers, also the last one by entity, good
    // where it is `seen`.
    orr_system* senders;
    uint32_t sender_count, sender_capacity;
    uint16_t* sources; // By entity index: which of the senders.
    uint32_t source_capacity;

    bool merged; // The last commit point had something to merge: the marks are of that.
    struct orri_transient_sends *aside_first,
        *aside_last; // What waits about transient entities, in order.

    orri_commit_arena scratch;
    orri_ranked* items; // Of a merge.
    uint32_t item_capacity, item_peak;
};

static inline struct orri_command_buffers* orri_command_buffers_at(const orr_world* world)
{
    if (world->messages == NULL) {
        return NULL;
    }
    struct orri_command_buffers* commands = world->context->commands;
    return commands != NULL ? commands : world->messages->command_buffers;
}

// ---- command_buffer.c: strips ----------------------------------------------------------------------------------------

// The strip of a kind and type, made if missing, as the lane's current one. NULL when memory is refused (reported).
orri_strip* orri_command_buffer_strip(orr_command_buffer* commands, orri_sent kind, orr_type type,
                                      const orri_type* info);
// A strip that nothing else will be put in. Any but one of creations has no entities of its own: whoever reserves sets them.
orri_strip* orri_command_buffer_strip_own(orr_command_buffer* commands, orri_sent kind,
                                          orr_type type, const orri_type* info);
// Makes it the one that is appended to. False when refused (silent).
bool orri_command_buffer_turn(orr_command_buffer* commands, orri_strip* strip);
// Room for more rows. False when refused (reported).
bool orri_strip_reserve(orr_command_buffer* commands, orri_strip* strip, uint32_t more);
// Keeps a text. 1 + where; 0 when refused (reported).
uint32_t orri_command_buffer_text(orr_command_buffer* commands, const char* text);
// Reports that memory was refused, and notes it.
ORRI_COLD orr_result orri_command_buffer_refuse_memory(orr_command_buffer* commands);
// The sequence of a row.
uint32_t orri_strip_sequence(const orri_strip* strip, uint32_t row);
// All rows of a lane so far.
uint32_t orri_command_buffer_records(const orr_command_buffer* commands);
// Destructs the values of a strip, and forgets its rows.
void orri_strip_clear(orri_strip* strip);
// Ends the waiting of a lane, or of all.
void orri_command_buffers_release(struct orri_command_buffers* command_buffers, bool all);
// Gives back memory that was not needed for a while. Once per commit. What was not a quarter full in the last 64 of them goes.
void orri_command_buffers_trim(orr_world* world);
// As orri_refuse_right(), of a tag.
ORRI_COLD orr_result orri_refuse_tag(const orr_world* world, orri_rights* rights, const char* call,
                                     orr_tag tag, bool on, orr_entity entity);
// What a kind of record is called: "ComponentAdded".
const char* orri_sent_name_of(orri_sent kind);

// ---- send.c, send_many.c -----------------------------------------------------------------------------------

// The id of the creation `n` after those of the lane so far. Null when there are no more.
orr_entity orri_command_buffer_id(const orr_command_buffer* commands, orri_index_cursor* cursor,
                                  uint32_t n);
// Those of the next `count`. False when there are not as many.
bool orri_command_buffer_ids(const orr_command_buffer* commands, orri_index_cursor* cursor,
                             orr_entity* out, uint32_t count);
// More creations than the system said, or than the world may have.
ORRI_COLD orr_result orri_refuse_ids(orr_command_buffer* commands, const char* call,
                                     uint32_t count);

// ---- transient_send.c: what spectators send about transient entities -----------------------------------------------------

// True when a record is kept there. (Sends of spectators go the long way, so that all of them ask.)
static inline bool orri_transient_send(const orr_command_buffer* commands, orr_entity entity)
{
    return ORR_UNLIKELY(commands->rights->aside) && (int32_t)orri_id_index(entity) < 0;
}
// All was checked. `info` NULL: of the entity; `value` NULL: none.
orr_result orri_transient_send_send(orr_command_buffer* commands, orri_sent kind, orr_entity entity,
                                    const orri_type* info, const void* value);
// Null when refused (reported).
orr_entity orri_transient_send_create(orr_command_buffer* commands);
// A spectator wants to destroy an entity of the simulation.
ORRI_COLD orr_result orri_transient_send_refuse(orr_command_buffer* commands, const char* call,
                                                orr_entity entity);
void orri_transient_sends_close(struct orri_command_buffers* command_buffers,
                                orr_command_buffer* commands);
void orri_transient_sends_free(orr_world* world, struct orri_transient_sends* asides);
// Drops what waits. `counted`: whoever sent it is still there, and is told.
void orri_transient_sends_abandon(orr_world* world, struct orri_command_buffers* command_buffers,
                                  bool counted);
// Does what waits, in order. On refusal (reported) the rest waits; calling again goes on.
orr_result orri_transient_sends_commit(orr_world* world);

// ---- pending.c -------------------------------------------------------------------------------------------------

// Before marking: forgets those of the last commit, makes room for all entities, those to be created too. False when refused
// (reported).
bool orri_pending_begin(orr_world* world);
// Finds the bundles of a lane and marks its structure. There must be room.
void orri_pending_add(struct orri_command_buffers* command_buffers, orr_command_buffer* commands);
// Marks an entity once more.
void orri_pending_mark(struct orri_command_buffers* command_buffers, uint32_t index);
void orri_pending_clear(struct orri_command_buffers* command_buffers);
void orri_pending_term(orr_world* world, struct orri_command_buffers* command_buffers);
static inline bool orri_pending_get(const uint64_t* marks, uint32_t words, uint32_t index)
{
    return index >> 6 < words && orri_bit_get(marks, index);
}
// True for an id that a record which waits creates, and none destroys.
bool orri_pending_mark_born(const orr_world* world, orr_entity entity);

// ---- arena.c ---------------------------------------------------------------------------------------------------

// Memory until the next reset, 64-byte aligned where `size` is 64 or more, else 16; NULL when refused (silent).
void* orri_commit_arena_take(orr_world* world, orri_commit_arena* scratch, size_t size);
void orri_commit_arena_reset(orri_commit_arena* scratch);
// Frees the pieces past what was used at most since the last call.
void orri_commit_arena_trim(orr_world* world, orri_commit_arena* scratch);
void orri_commit_arena_term(orr_world* world, orri_commit_arena* scratch);

// ---- merge.c, merge_entity.c: records to groups ------------------------------------------------------------------------------

// A strip that takes part.
typedef struct orri_merge_ref {
    orr_command_buffer* commands;
    orri_strip* strip;
} orri_merge_ref;

typedef struct orri_merge {
    orr_world* world;
    struct orri_command_buffers* command_buffers;
    orri_merge_ref* refs; // In order of lanes, and of first records.
    uint32_t ref_count, ref_capacity;
    orr_command_buffer* commands; // The one added last,
    uint32_t lane_first;          // its first ref,
    uint32_t lane_order;          // and the order of its first record;
    uint32_t order;               // of the next one's.
    // Records that go through the merge by entity: key is (entity index, order), index the ref, chunk the row.
    orri_ranked* items; // Of the lanes: their memory stays.
    uint32_t item_count;
    orri_group* groups;
    orri_rights** senders; // By group.
    uint32_t group_count, group_capacity, sender_capacity;
    orr_entity* stillborn; // Created and destroyed by the same commit.
    uint32_t stillborn_count, stillborn_capacity;
    struct orri_net_change* net;
    bool creates;     // At the commit point: creations take part.
    orr_entity* held; // Their ids that were put back in line (command_ids.c).
    uint32_t held_count;
} orri_merge;

orri_merge orri_merge_begin(orr_world* world);
void orri_merge_end(orri_merge* merge);
// A lane takes part; lanes come in order. All of what follows: false when memory is refused (silent).
bool orri_merge_lane_add(orri_merge* merge, orr_command_buffer* commands);
// A record of the lane added last goes through the merge by entity. `place` is that of its strip in the lane's order.
bool orri_merge_item(orri_merge* merge, uint32_t place, uint32_t row);
// All records of the lane added last: those of entities mentioned once become groups at once, the others items.
bool orri_merge_records(orri_merge* merge);
// Items become groups.
bool orri_merge_items(orri_merge* merge);
// Another group.
bool orri_merge_group(orri_merge* merge, const orri_group* group, orri_rights* sender);
void* orri_merge_take(orri_merge* merge, size_t size);
// What a value refers to: all alive (or as in `old`, may be NULL), or all of that or to be created by what waits, or not.
typedef enum orri_refers {
    ORRI_REFERS_ALIVE,
    ORRI_REFERS_BORN,
    ORRI_REFERS_DEAD,
} orri_refers;
orri_refers orri_value_refers(const orr_world* world, const orri_type* type, const void* old,
                              const void* value);
// The value of a unique type that an entity has; NULL if it has none, or is dead. Silent.
const void* orri_value_there(const orr_world* world, orr_entity entity, const orri_type* type);
// Notes for the commit's end that a record has no effect.
void orri_note_drop(orr_command_buffer* commands, const orri_strip* strip, uint32_t row,
                    const char* why);
void orri_note_twice(orr_command_buffer* commands, const orri_strip* strip, uint32_t row);

// ---- commit.c: shared with values.c -------------------------------------------------------------------------------------

// Makes all groups, or none (reported).
orr_result orri_merge_apply(orri_merge* merge);
// Counts and says what has no effect.
void orri_command_buffer_say(const orr_command_buffer* commands);
// Reports why what a system sent cannot be done: the words of the last refusal, and what to do.
ORRI_COLD orr_result orri_refuse_commit(orr_world* world, const orri_rights* rights, bool others);

// Counts are the caller's. One line per system: "sent ComponentChanged of Count for bob, which has no effect: …".
ORRI_COLD void orri_say_drop(const orr_world* world, orri_rights* rights, const char* kind,
                             orr_type type, orr_entity entity, const char* why);

// ---- transaction.c: blocks of transactions --------------------------------------------------------------------------------------

// The block of a lane that may transact, if one is at hand.
void orri_posts_open(struct orri_command_buffers* command_buffers, orr_command_buffer* commands);
// Takes the block of a lane that is closed: it waits, or is free again.
void orri_posts_close(struct orri_command_buffers* command_buffers, orr_command_buffer* commands);
// True when something was posted.
bool orri_posts_any(const struct orri_posts* posts);
// What waits is done: its block is free again. Or given up, and counted; where ids are held only what these lanes posted.
void orri_posts_done(struct orri_command_buffers* command_buffers, struct orri_posts* posts);
void orri_posts_abandon(struct orri_command_buffers* command_buffers);
// The structure that was sent beside what these lanes posted is there: others may do it now.
void orri_posts_ripen(struct orri_command_buffers* command_buffers);
// The lanes go, what they posted stays.
void orri_posts_leave(struct orri_command_buffers* command_buffers);
void orri_posts_trim(orr_world* world);
// Blocks that are in no list of the world's. NULL: none.
void orri_posts_free(orr_world* world, struct orri_posts* posts);
void orri_posts_term(orr_world* world, struct orri_command_buffers_shared* shared);

// ---- command_ids.c: ids taken out of line ---------------------------------------------------------------------------------------

// The ids of all creations that wait are put back in line, in order of lanes. False when refused (reported): nothing was done.
bool orri_command_ids_return(orri_merge* merge);
// All that is held goes back. False when refused (reported).
bool orri_command_ids_free(orr_world* world, struct orri_command_buffers* command_buffers);
// What was put back is taken again: nothing was created.
void orri_command_ids_retake(orri_merge* merge);
// What was put back is given: the others stay, in order.
void orri_command_ids_forget(struct orri_command_buffers* command_buffers);
// The same for one that a spectator creates: it is put back, and (false: nothing was created) taken again, or given.
void orri_command_ids_return_aside(orr_world* world, orr_entity entity);
void orri_command_ids_end_aside(orr_world* world, struct orri_command_buffers* command_buffers,
                                orr_entity entity, bool created);
// At the commit point: those that are used go.
void orri_command_ids_forget_aside(struct orri_command_buffers* command_buffers);

// ---- merge_entity.c, merge_group.c ---------------------------------------------------------------------------------------------------

// Merges the records of one entity, in order, to one net change.
bool orri_net_change_entity(orri_merge* merge, const orri_ranked* items, uint32_t count);
// Closes the group that is open for neighbours.
bool orri_net_change_groups(orri_merge* merge);
void orri_net_change_end(orri_merge* merge);

#endif
