// SPDX-License-Identifier: MIT
// Transactions from the inside: what one run of a system posted, and what doing it needs.
//
//   lane ──> posts ──> streams, one for each type ──> posts[]: target and number, in order of the calls
//                        └─ runs: from which post on which verb holds
//
// Vocabulary: a *post* is one transaction that waits; its *verb* says what is done, to which field. Posts of different types have
// nothing to do with each other, so that each type has a *stream* of its own: who hits and scores in turn fills two.
#ifndef ORRI_MESSAGE_TRANSACTION_TRANSACTION_H
#define ORRI_MESSAGE_TRANSACTION_TRANSACTION_H

#include "message/send/command_buffer.h"

typedef struct orri_post {
    orr_entity entity; // Null: dealt with already.
    uint64_t number;   // As the field; of a verb that is `far`: where in the block's bytes.
} orri_post;

typedef struct orri_verb {
    orr_transaction function; // NULL: an op on a field.
    orri_rights* rights;      // Who posted.
    orr_component_id id;
    uint32_t offset, size; // Of the field; of a function: of its argument.
    orr_op op;
    orr_kind kind; // Of the number.
    bool far;
} orri_verb;

// Posts from `first` on have this verb.
typedef struct orri_verb_run {
    uint32_t first, verb;
} orri_verb_run;

typedef struct orri_stream {
    orr_type type;
    const orri_type* info;
    orri_post* posts;
    uint32_t count, capacity;
    orri_verb* verbs;
    uint32_t verb_count, verb_capacity;
    orri_verb_run* runs;
    uint32_t run_count, run_capacity;
    uint32_t verb; // Of the last post.
    bool calls;    // Some verb is a function.
} orri_stream;

// What one lane posted. Memory stays when it is done.
struct orri_posts {
    struct orri_posts* next;
    orri_rights* rights;
    orri_stream* streams; // [stream_made], of which `stream_count` are in use.
    uint32_t stream_count, stream_made, stream_capacity;
    uint32_t current; // The stream of the last post.
    bool waits;       // While posts are done: some wait.
    // Lanes of a pipeline beside others; NULL: the world's. What they posted is not done by others before it is `ripe`: targets may be
    // created by structure that waits in these lanes.
    struct orri_command_buffers* command_buffers;
    bool ripe;
    uint32_t peak;  // Posts of a stream at most, since memory was last looked at.
    uint8_t* bytes; // Arguments, and values that are no number; 16-byte aligned.
    uint32_t byte_count, byte_capacity;
};

// What was posted: on whom, what, with which numbers and arguments. NULL: nothing. (transaction.c)
uint64_t orri_posts_hash(const struct orri_posts* posts, uint64_t hash);

// ---- stream.c: the posts of a type, in order ---------------------------------------------------------------------------------

// A stream that takes part.
typedef struct orri_post_part {
    struct orri_posts* posts;
    orri_stream* stream;
    uint32_t first; // Its first post, among all of the type.
    uint32_t verbs; // Its first verb, likewise.
    uint32_t done;  // Posts that have an effect.
} orri_post_part;

// Posts in a row with the same verb.
typedef struct orri_post_piece {
    const orri_post_part* part;
    const orri_post* posts;
    uint32_t first, count; // Among all of the type.
    uint32_t verb;         // Of the stream.
    uint32_t ahead;        // Posts of the stream from here on.
} orri_post_piece;

typedef struct orri_post_walk {
    uint32_t at, end, part, run;
} orri_post_walk;

// Posts [first, end) of all of the type. Every part has some.
orri_post_walk orri_post_walk_begin(const orri_post_part* parts, uint32_t part_count,
                                    uint32_t first, uint32_t end);
bool orri_post_walk_next(const orri_post_part* parts, orri_post_walk* walk, orri_post_piece* out);

// ---- op.c: doing it ------------------------------------------------------------------------------------------------------

// A post whose target was found.
typedef struct orri_op {
    uint32_t place; // Block << slot bits | slot.
    uint32_t verb;
    uint64_t number; // Of a verb that is `far`: the address.
} orri_op;

// Where the values of a type are.
typedef struct orri_op_site {
    orr_world* world;
    const orri_type* type;
    uint8_t* const* blocks; // By number: the values of a chunk, or of a block of a pool.
    uint32_t slot_bits;
    const struct orri_pool* pool; // NULL: in chunks.
} orri_op_site;

// Does some amends with the same verb, in order. Of different blocks on any thread, unless the verb is a function.
void orri_op_run(const orri_op_site* site, const orri_verb* verb, const orri_op* amends,
                 uint32_t count);
// The instance of a multiple type in a row of a chunk; NULL: it is not there.
uint8_t* orri_op_instance(const orr_world* world, const orri_type* type, uint32_t place,
                          orr_component_id id);

#endif
