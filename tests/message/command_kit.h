// SPDX-License-Identifier: MIT
// Shared by the tests of command buffers and commits: a world with types of every kind, and
// senders: systems that consist only of what they may send.
#ifndef TEST_COMMAND_KIT_H
#define TEST_COMMAND_KIT_H

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

// A sender that may do nothing; the test sets the bits of its rights.
void sender_begin(sender* s, orr_world* world, const char* name, uint32_t number);
// A sender that may do everything.
void sender_begin_free(sender* s, orr_world* world, const char* name, uint32_t number);
void sender_may(sender* s, uint64_t* bits, orr_type type);
// One run: opens and closes the command buffer.
orr_run* sender_open(sender* s, uint32_t creates_max);
// The same without a limit: creations beyond `ids` get provisional ids.
orr_run* sender_open_unlimited(sender* s, uint32_t ids);
void sender_close(sender* s);
// The end of the system, after its last run.
orr_result sender_end(sender* s);
// Closes, ends and commits, and checks that each succeeds.
void sender_commit(sender* s);

// Lines of the log, as far as they fit.
typedef struct command_log {
    uint32_t count;
    orr_log_id ids[64];
    char texts[8][512];
} command_log;
void command_log_sink(void* user, const orr_log_line* line);
uint32_t command_log_count(const command_log* log, orr_log_id id);
// The first line with an id; "" if there is none.
const char* command_log_text(const command_log* log, orr_log_id id);

typedef struct command_kit {
    kit k;
    orr_world* world;
    command_log log;
    orr_type position, velocity, health, padded, tiny, label, link, token, frozen, collider, anchor,
        count, owner;
} command_kit;

orr_world* command_kit_begin(command_kit* k, const orr_world_desc* desc);
void command_kit_end(command_kit* k);

#endif
