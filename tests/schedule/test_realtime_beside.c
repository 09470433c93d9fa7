// SPDX-License-Identifier: MIT
// Who overlaps whom in real time, besides what the world guards: things outside of it that systems of several pipelines reach; and where a
// pipeline may wait without holding anybody up.
#include "schedule/hard_kit.h"
#include "schedule/meet_kit.h"
#include "support/failing_alloc.h"

// ---- the same thing outside ----------------------------------------------------------------------------------------------------

static room beside_room;
static meeting beside_meeting;
static _Atomic uint32_t beside_begun;

static void beside_visit(orr_run* run)
{
    (void)run;
    visit(&beside_room);
}

// Ten times each, when all three have begun: beginning needs structure alone.
static void beside_meet(orr_run* run)
{
    uint32_t* met = orr_run_user(run);
    beside_begun += run->tick == 1;
    if (beside_begun == 3 && *met < 10) {
        ++*met;
        meet(&beside_meeting);
    }
}

static orr_world* beside_begin(kit* k)
{
    orr_world* world = hard_begin(k, 0);
    hard_pipe(world, "a", 0, false);
    hard_pipe(world, "b", 0, true);
    beside_room = (room){0};
    beside_meeting = (meeting){0};
    beside_begun = 0;
    return world;
}

static void beside_stop(orr_run* run)
{
    if (beside_room.visits >= 600) {
        orr_stop(run->world);
    }
}

static const char* beside_trace(kit* k)
{
    static char text[200000];
    (void)orr_lock_trace_print(k->world, text, sizeof text);
    return text;
}

ORR_TEST(beside_systems_of_two_pipelines_with_one_user_never_overlap)
{
    kit k;
    uint32_t shared = 0, other = 0;
    orr_world* world = beside_begin(&k);
    KIT_SYSTEM(world, .name = "stop", .once = true, .user = &other, .run = beside_stop);
    KIT_SYSTEM(world, .name = "one", .once = true, .pipeline = "a", .user = &shared,
               .run = beside_visit);
    KIT_SYSTEM(world, .name = "two", .once = true, .pipeline = "b", .user = &shared,
               .run = beside_visit);
    KIT_SYSTEM(world, .name = "three", .once = true, .pipeline = "b", .user = &shared,
               .run = beside_visit);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.lock_trace = 50}));
    CHECK_EQ(beside_room.crowded, 0);
    CHECK_CONTAINS(beside_trace(&k), "a, one: .user of one exclusive taken");
    CHECK_CONTAINS(beside_trace(&k), "b, two: .user of one exclusive taken");
    CHECK(strstr(beside_trace(&k), ".user of stop") == NULL); // Nobody else has it.
    hard_end(&k);
}

ORR_TEST(beside_impure_systems_of_two_pipelines_never_overlap)
{
    kit k;
    orr_world* world = beside_begin(&k);
    ORR_REGISTER(world, Tree);
    KIT_SYSTEM(world, .name = "stop", .once = true, .run = beside_stop);
    KIT_SYSTEM(world, .name = "one", .once = true, .pipeline = "a", .impure = true,
               .run = beside_visit);
    KIT_SYSTEM(world, .name = "two", .once = true, .impure = true, .run = beside_visit);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.lock_trace = 50}));
    CHECK_EQ(beside_room.crowded, 0);
    CHECK_CONTAINS(beside_trace(&k), "a, one: what is impure exclusive taken");
    hard_end(&k);
}

static void beside_stop_met(orr_run* run)
{
    beside_begun += run->tick == 1;
    if (beside_meeting.come >= 20 || beside_meeting.missed > 0) {
        orr_stop(run->world);
    }
}

// Each has its own, one of them is impure: nothing keeps them apart, and no lock is made for it.
ORR_TEST(beside_systems_that_share_nothing_overlap)
{
    kit k;
    uint32_t one = 0, two = 0;
    orr_world* world = beside_begin(&k);
    KIT_SYSTEM(world, .name = "stop", .once = true, .run = beside_stop_met);
    KIT_SYSTEM(world, .name = "one", .once = true, .pipeline = "a", .user = &one, .impure = true,
               .run = beside_meet);
    KIT_SYSTEM(world, .name = "two", .once = true, .pipeline = "b", .user = &two,
               .run = beside_meet);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.lock_trace = 50}));
    CHECK_EQ(beside_meeting.missed, 0);
    CHECK_EQ(beside_meeting.come, 20);
    CHECK(strstr(beside_trace(&k), ".user") == NULL);
    CHECK(strstr(beside_trace(&k), "impure") == NULL);
    hard_end(&k);
}
