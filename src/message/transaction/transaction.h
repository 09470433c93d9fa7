// SPDX-License-Identifier: MIT
// Internals of transactions: the posts of one run of a system, and the types needed to apply them.
//
//   command buffer ──> posts ──> streams, one per type ──> posts[]: target, number; in call order
//                                  └─ runs: from which post on which verb holds
//
// Vocabulary:
//   post    one waiting transaction
//   verb    the effect of a post: an operation on a field, or a function
//   stream  the posts of one type. Posts on different types are independent, so that a system that
//           alternates between two types fills two streams.
#ifndef ORRI_MESSAGE_TRANSACTION_TRANSACTION_H
#define ORRI_MESSAGE_TRANSACTION_TRANSACTION_H

#include "message/send/command_buffer.h"

typedef struct orri_post {
    orr_entity entity; // Target; null: already applied.
    uint64_t number;   // Operand in the kind of the field; of a verb that is `in_bytes`: its offset
                       // in the block's `bytes`.
} orri_post;

typedef struct orri_verb {
    orr_transaction function; // NULL: `op` on a field.
    orri_rights* rights;      // Of the sender.
    orr_component_id id;      // Instance of a multiple type; else 0.
    uint32_t offset, size;    // Of the field. Of a function: size of its argument.
    orr_op op;
    orr_kind kind; // Of the field.
    bool in_bytes; // The operand is not a number of at most 8 bytes, or is an argument.
} orri_verb;

// Posts from `first` on have verb number `verb`.
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
    uint32_t verb; // Verb of the last post.
    bool calls;    // A verb is a function.
} orri_stream;

// A block: the posts of one command buffer. Its memory is kept when it becomes free.
struct orri_posts {
    struct orri_posts* next;
    orri_rights* rights;
    uint32_t unit;        // Of the buffer to which they belong.
    orri_stream* streams; // [stream_made], of which `stream_count` are in use.
    uint32_t stream_count, stream_made, stream_capacity;
    // The verb of the last post and its stream, which the next post most often has too. NULL: there
    // is none, or its operand is in `bytes`.
    struct {
        orri_stream* stream;
        orr_type type;
        orr_component_id id;
        uint32_t offset, size;
        orr_op op;
    } last;
    bool waits; // While transactions are applied: some posts of the block keep waiting.
    // The set of a pipeline in real time; NULL: the world's own. Other pipelines do not apply its
    // posts before they are `ready`: waiting structure of the same set may create the targets.
    struct orri_command_buffers* command_buffers;
    bool ready;
    const orr_command_buffer* provisional; // Buffer whose provisional entity ids the posts may
                                           // name, until they are replaced; NULL: none.
    uint32_t peak;                         // Most posts of a stream since the last trim.
    uint8_t* bytes; // Arguments, and operands that are not numbers; each aligned to 16 bytes.
    uint32_t byte_count, byte_capacity;
};

// Hash of targets, verbs, numbers and arguments. NULL is allowed. (transaction.c)
uint64_t orri_posts_hash(const struct orri_posts* posts, uint64_t hash);

// ---- stream.c: the posts of one type, in order --------------------------------------------------

// One stream among all streams of the type.
typedef struct orri_post_part {
    struct orri_posts* posts;
    orri_stream* stream;
    uint32_t first; // Number of its first post among all posts of the type.
    uint32_t verbs; // Index of its first verb among all verbs of the type.
    uint32_t done;  // Posts that had an effect.
} orri_post_part;

// Consecutive posts with the same verb.
typedef struct orri_post_span {
    const orri_post_part* part;
    const orri_post* posts;
    uint32_t first, count; // Numbers among all posts of the type.
    uint32_t verb;         // Index in the stream.
    uint32_t ahead;        // Posts of the stream from here to its end, for prefetching.
} orri_post_span;

// Iterator over posts.
typedef struct orri_post_walk {
    uint32_t at, end, part, run;
} orri_post_walk;

// Iterates over posts [first, end) of all posts of the type. No part may be empty.
orri_post_walk orri_post_walk_begin(const orri_post_part* parts, uint32_t part_count,
                                    uint32_t first, uint32_t end);
bool orri_post_walk_next(const orri_post_part* parts, orri_post_walk* walk, orri_post_span* out);

// ---- op.c: applying posts -----------------------------------------------------------------------

// A post on its way to the value.
typedef struct orri_op {
    uint64_t
        target; // The id of the entity; once it was found, the place: block << slot_bits | slot.
    uint64_t number; // Of a verb that is `in_bytes`: the address.
} orri_op;

// Where the values of a type are stored.
typedef struct orri_op_site {
    orr_world* world;
    const orri_type* type;
    uint8_t* const* blocks; // By block number: the values of a chunk, or of a block of a pool.
    uint32_t slot_bits;
    const struct orri_pool* pool; // Pinned types; NULL: the type is stored in chunks.
} orri_op_site;

// Applies operations with the same verb, in order. Different blocks may be handled by different
// threads, unless the verb is a function.
void orri_op_run(const orri_op_site* site, const orri_verb* verb, const orri_op* ops,
                 uint32_t count);
// An instance of a multiple type in a row of a chunk; NULL: there is no such instance.
uint8_t* orri_op_instance(const orr_world* world, const orri_type* type, uint32_t place,
                          orr_component_id id);

#endif
