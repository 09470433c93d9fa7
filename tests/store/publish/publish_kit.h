// SPDX-License-Identifier: MIT
// Shared by tests of published values: a world with a publisher, and views of one type.
#ifndef TEST_PUBLISH_KIT_H
#define TEST_PUBLISH_KIT_H

#include "store/cow/share.h"
#include "store/publish/publish.h"
#include "support/store_kit.h"
#include "test.h"

typedef struct fixture {
    kit k;
    orr_world* world;
    orri_publisher* publisher;
    orr_type health, velocity, frozen, label, token;
    uint64_t tick;
    // For zero-copy tests: the rows that are overwritten, how, and the view that reads them.
    orri_cluster* cluster;
    orr_entity* rows;
    orri_view *first, *second;
    orri_reclaim_how how;
} fixture;

static void fixture_begin(fixture* s)
{
    *s = (fixture){0};
    s->world = kit_begin(&s->k, NULL);
    s->health = KIT_TYPE(s->world, Health);
    s->velocity = KIT_TYPE(s->world, Velocity);
    s->frozen = KIT_TYPE(s->world, Frozen);
    s->label = KIT_TYPE(s->world, Label);
    s->token = KIT_TYPE(s->world, Token);
    s->publisher = orri_publisher_create(s->world);
    CHECK(s->publisher != NULL);
}

static void fixture_check(fixture* s)
{
    CHECK_OK(orri_publisher_validate(s->publisher));
    CHECK_OK(orr_world_validate(s->world));
}

static void fixture_end(fixture* s)
{
    fixture_check(s);
    orri_publisher_destroy(s->publisher);
    CHECK_EQ(s->world->cow.live, 0);
    kit_end(&s->k);
}

static void fixture_set(fixture* s, orr_entity entity, int32_t value)
{
    CHECK_OK(orr_component_set(s->world, entity, s->health, &(Health){value, 0}));
}

ORR_MAYBE_UNUSED static orr_entity fixture_create(fixture* s, int32_t value)
{
    orr_entity entity = orr_create_in(s->world, KIT_CLUSTER(s->world, Health));
    fixture_set(s, entity, value);
    return entity;
}

// A view of Health as it is now; the type is published from now on.
ORR_MAYBE_UNUSED static orri_view* fixture_view(fixture* s)
{
    CHECK_OK(orri_publish_add(s->publisher, s->health));
    orri_view* view = orri_view_create(s->publisher, &s->health, 1);
    CHECK(view != NULL);
    CHECK_OK(orri_view_pin(view));
    return view;
}

#endif
