// SPDX-License-Identifier: MIT
// The posts of one type in ranges of entities, for the files of this folder.
#ifndef ORRI_MESSAGE_TRANSACTION_RANGES_H
#define ORRI_MESSAGE_TRANSACTION_RANGES_H

#include "message/transaction/transaction.h"

// Special values of places: the post is not applied now.
#define ORRI_PLACE_DONE  UINT32_MAX
#define ORRI_PLACE_WAITS (UINT32_MAX - 1)
#define ORRI_PLACE_DEAD  (UINT32_MAX - 2)
// The target does not have the component. The smallest special value.
#define ORRI_PLACE_ABSENT (UINT32_MAX - 3)

// States of a block of values.
enum {
    ORRI_BLOCK_UNKNOWN,
    ORRI_BLOCK_LACKS,    // The chunk has no such column.
    ORRI_BLOCK_TARGETED, // A post has its target in the block.
};

// All transactions on one type.
typedef struct orri_post_ranges {
    orr_world* world;
    struct orri_command_buffers* command_buffers;
    const orri_workers* workers; // NULL: the calling thread only.
    const uint64_t* marks;       // Entities with pending structure; NULL: none.
    uint32_t type_index;
    orri_op_site site;
    orri_post_part* parts;
    uint32_t part_count;
    uint32_t count; // Number of posts.
    orri_verb* verbs;
    uint32_t verb_count;
    orri_op* ops;       // Slice by slice, and within a slice range by range.
    uint32_t* ends;     // By slice and range: end of the ops.
    bool* skips;        // By range: some ops are not applied now.
    uint32_t* op_verbs; // By op: its verb; NULL: all have the same.
    uint8_t* states;    // By block.
    uint8_t** blocks;   // By block: address of the values, once it is stamped.
    uint32_t block_count;
    uint32_t slice_count, slice_posts, range_count, range_shift;
    bool calls;
    bool at_once; // A range is applied when its targets are found: nothing else has to be done for
                  // all ranges in between.
    bool merged;  // The commit has merged structure: marks are of entities that it changed.
} orri_post_ranges;

// Distributes all posts to their ranges.
void orri_post_ranges_distribute(const orri_post_ranges* ranges);
// Finds all targets, unless they are found when they are applied (`at_once`).
void orri_post_ranges_find(const orri_post_ranges* ranges);
// Applies all ranges. Cannot be refused.
void orri_post_ranges_apply(const orri_post_ranges* ranges);
// Where the target of a post is, or a special value. `verb` NULL: of any instance.
uint32_t orri_post_place(const orri_post_ranges* ranges, orr_entity entity, const orri_verb* verb);

#endif
