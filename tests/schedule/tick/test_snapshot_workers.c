// SPDX-License-Identifier: MIT
// Workers write blocks that snapshots share: columns of one chunk by several systems at the same
// time, values of one pool block by several workers. Each snapshot keeps its values, whichever
// worker writes first. Also run under TSan.
#include "schedule/schedule_kit.h"
#include "store/snapshot/snapshot.h"
#include "support/pinned_kit.h"
#include "test.h"

#define ROWS  6000u
#define TICKS 12u
#define HELD  3u

static void move_position(orr_run* run)
{
    Position* p = orr_write(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += 1;
    }
}

static void move_velocity(orr_run* run)
{
    Velocity* v = orr_write(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        v[i].x += 2;
    }
}

static void number_labels(orr_run* run)
{
    Label* label = orr_write(run, Label);
    for (uint32_t i = 0; i < run->count; i++) {
        label[i].number += 3;
    }
}

static void spend_tokens(orr_run* run)
{
    Token* token = orr_write(run, Token);
    for (uint32_t i = 0; i < run->count; i++) {
        token[i].cell.payload += 4;
    }
}

static void speed_bodies(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_write_pinned(run, Body, i)->speed += 5;
    }
}

static void sign_signs(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_write_pinned(run, Sign, i)->number += 6;
    }
}

static orr_world* begin(kit* k, uint32_t workers, orr_entity* ids)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.workers = workers});
    ORR_REGISTER(world, Position, Velocity, Label, Token, Body, Sign);
    orr_cluster cluster = KIT_CLUSTER(world, Position, Velocity, Label, Token);
    CHECK_OK(orr_create_many(world, cluster, ROWS, NULL, 0, ids));
    orr_string text = orr_string_make(world, "text");
    for (uint32_t i = 0; i < ROWS; i++) {
        CHECK_OK(orr_set(world, ids[i], Label, {text, 0}));
        if (i % 2 == 0) {
            CHECK_OK(orr_set(world, ids[i], Body, {1, 0}));
            CHECK_OK(orr_set(world, ids[i], Sign, {text, 0}));
        }
    }
    KIT_SYSTEM(world, .name = "positions", .query = "write Position", .run = move_position,
               .parallel = true);
    KIT_SYSTEM(world, .name = "velocities", .query = "write Velocity", .run = move_velocity);
    KIT_SYSTEM(world, .name = "labels", .query = "write Label", .run = number_labels,
               .parallel = true);
    KIT_SYSTEM(world, .name = "tokens", .query = "write Token", .run = spend_tokens,
               .parallel = true);
    KIT_SYSTEM(world, .name = "bodies", .query = "Position, write Body", .run = speed_bodies,
               .parallel = true);
    KIT_SYSTEM(world, .name = "signs", .query = "Position, write Sign", .run = sign_signs,
               .parallel = true);
    return world;
}

// Every value is a multiple of the number of steps.
static void check(orr_world* world, const orr_entity* ids, uint32_t steps)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t payload = orr_get(world, ids[0], Token)->cell.payload;
        CHECK_EQ(orr_get(world, ids[i], Position)->x, (float)steps);
        CHECK_EQ(orr_get(world, ids[i], Velocity)->x, (float)(2 * steps));
        CHECK_EQ(orr_get(world, ids[i], Label)->number, (int32_t)(3 * steps));
        CHECK_EQ(orr_get(world, ids[i], Token)->cell.payload, payload);
        if (i % 2 == 0) {
            CHECK_EQ(orr_get(world, ids[i], Body)->speed, (int32_t)(5 * steps));
            CHECK_EQ(orr_get(world, ids[i], Sign)->number, (int32_t)(6 * steps));
        }
    }
}

static void run_with(uint32_t workers)
{
    static orr_entity ids[ROWS];
    kit k = {0};
    orr_world* world = begin(&k, workers, ids);
    orri_snapshot* held[HELD] = {NULL};
    uint32_t steps_of[HELD] = {0}, steps = 0;
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        uint32_t place = tick % HELD;
        if (held[place] != NULL) {
            orri_snapshot_release(world, held[place]);
        }
        held[place] = orri_snapshot_take(world);
        CHECK(held[place] != NULL);
        steps_of[place] = steps;
        CHECK_OK(orr_step(world, 1));
        steps++;
        check(world, ids, steps);
        if (tick % 4 == 3) {
            uint32_t back = (tick + 1) % HELD; // The oldest.
            orri_restore* way = NULL;
            CHECK(!orri_snapshot_lost(held[back]));
            CHECK_OK(orri_snapshot_restore_prepare(world, held[back], &way));
            orri_snapshot_restore(world, way);
            steps = steps_of[back];
            check(world, ids, steps);
            CHECK_OK(orr_world_validate(world));
        }
    }
    for (uint32_t i = 0; i < HELD; i++) {
        orri_snapshot_release(world, held[i]);
    }
    kit_end(&k);
}

ORR_TEST(snapshot_keeps_its_values_while_workers_write)
{
    run_with(0);
    run_with(2);
    run_with(4);
}

#undef ROWS
#undef TICKS
#undef HELD
