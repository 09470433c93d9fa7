// SPDX-License-Identifier: MIT
// What the tests of lanes and commits share: a world with types of every kind, and senders, which are systems of which there is
// nothing but what they may send.
#ifndef TEST_LANE_KIT_H
#define TEST_LANE_KIT_H

#include "message/message.h"
#include "support/store_kit.h"

ORR_STRUCT_EX(Collider, (.multiplicity = ORR_MULTIPLE), (int32_t, radius))
ORR_STRUCT_EX(Anchor, (.storage = ORR_PINNED), (int32_t, x), (int32_t, y))
ORR_STRUCT(Count, (int32_t, n))
ORR_STRUCT(Owner,
           (orr_entity, of, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_CLEAR)))

enum {
    SENDER_WORDS = ORR_TYPES_MAX / 64
};

typedef struct sender {
    orri_rights rights;
    uint64_t creates[SENDER_WORDS], adds[SENDER_WORDS], removes[SENDER_WORDS],
        changes[SENDER_WORDS], switches[SENDER_WORDS], sends[SENDER_WORDS];
    orr_run run;
    orr_world* world;
} sender;

// One that may do nothing; the bits of its rights are its own to set.
void sender_begin(sender* s, orr_world* world, const char* name, uint32_t number);
// One that may do everything.
void sender_begin_free(sender* s, orr_world* world, const char* name, uint32_t number);
void sender_may(sender* s, uint64_t* bits, orr_type type);
// A run: lane open, and closed.
orr_run* sender_open(sender* s, uint32_t creates_max);
void sender_close(sender* s);
// After its last run.
orr_result sender_end(sender* s);
// Closes, ends and commits, and checks that it all went well.
void sender_commit(sender* s);

// Lines of the log, as far as they fit.
typedef struct lane_log {
    uint32_t count;
    orr_log_id ids[64];
    char texts[8][512];
} lane_log;
void lane_log_sink(void* user, const orr_log_line* line);
uint32_t lane_log_count(const lane_log* log, orr_log_id id);
// The first line of an id; "" if there is none.
const char* lane_log_text(const lane_log* log, orr_log_id id);

typedef struct lane_kit {
    kit k;
    orr_world* world;
    lane_log log;
    orr_type position, velocity, health, padded, tiny, label, link, token, frozen, collider, anchor,
        count, owner;
} lane_kit;

orr_world* lane_kit_begin(lane_kit* k, const orr_world_desc* desc);
void lane_kit_end(lane_kit* k);

#endif
