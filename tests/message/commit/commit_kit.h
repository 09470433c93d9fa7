// SPDX-License-Identifier: MIT
// Shared by the tests of commits: two systems that may do everything, and two entities with a
// Count.
#ifndef TEST_COMMIT_KIT_H
#define TEST_COMMIT_KIT_H

#include "message/command_kit.h"
#include "test.h"

typedef struct commit_test {
    command_kit k;
    orr_world* world;
    sender a, b;
    orr_entity bob, eve;
} commit_test;

ORR_MAYBE_UNUSED static void begin(commit_test* t)
{
    memset(t, 0, sizeof *t);
    t->world = command_kit_begin(&t->k, NULL);
    sender_begin_free(&t->a, t->world, "first", 1);
    sender_begin_free(&t->b, t->world, "second", 2);
    t->bob = orr_create_named(t->world, "bob");
    t->eve = orr_create_named(t->world, "eve");
    CHECK_OK(orr_set(t->world, t->bob, Count, {1}));
    CHECK_OK(orr_set(t->world, t->eve, Count, {2}));
}

ORR_MAYBE_UNUSED static int32_t count_of(const commit_test* t, orr_entity entity)
{
    return orr_get(t->world, entity, Count)->n;
}

ORR_MAYBE_UNUSED static orr_result change(sender* s, orr_entity entity, int32_t n)
{
    return orr_send_change(&s->run, entity, Count, {n});
}

#endif
