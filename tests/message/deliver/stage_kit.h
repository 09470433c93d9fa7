// SPDX-License-Identifier: MIT
// Shared by the tests of the diff: a world with types of every kind, and short macros for expected
// messages.
#ifndef TEST_STAGE_KIT_H
#define TEST_STAGE_KIT_H

#include "message/deliver/deliver_kit.h"
#include "test.h"

typedef struct stage {
    kit k;
    orr_world* world;
} stage;

ORR_MAYBE_UNUSED static orr_world* stage_begin(stage* s)
{
    *s = (stage){0};
    s->world = kit_begin(&s->k, NULL);
    ORR_REGISTER(s->world, Position, Velocity, Health, Padded, Tiny, Label, Frozen, Token, Shot,
                 Note, Body, Sign, Seen, Parent);
    return s->world;
}

ORR_MAYBE_UNUSED static void stage_end(stage* s)
{
    kit_end(&s->k);
}

#define RECEIVES(reader, text) CHECK_STR(deliver_kit_diff(w, reader), text)
#define TAKES(reader, text)    CHECK_STR(deliver_kit_take(reader), text)

ORR_MAYBE_UNUSED static const orr_entity world_scope = {0};

#endif
