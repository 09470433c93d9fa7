// SPDX-License-Identifier: MIT
// A world whose run depends on everything that a recording must contain: calls from outside, two
// pipelines, a varying dt, and a device outside the world. Entities are created and destroyed, some
// on workers.
#ifndef TEST_REPLAY_KIT_H
#define TEST_REPLAY_KIT_H

#include "schedule/schedule_kit.h"
#include <orrery/orrery.h>
#include <stdio.h>
#include <unistd.h>

ORR_STRUCT(Body, (float, x), (float, v), (uint32_t, hits))
ORR_STRUCT(Ship, (uint32_t, shots))
ORR_STRUCT(Shot, (float, x), (uint32_t, left))
ORR_STRUCT(Boom, (uint32_t, strength))
ORR_STRUCT(Score, (uint64_t, sum), (uint32_t, booms))
ORR_STRUCT(Weather, (float, wind))

// State outside all worlds: a replay can neither predict nor read it.
typedef struct device {
    uint64_t number;
    uint32_t calls;
    bool banned;
} device;
static device dev;

static uint64_t device_read(void)
{
    CHECK(!dev.banned); // A replay does not call impure systems.
    dev.calls++;
    return orr_random(dev.number++, 3, 4, 5);
}

// ---- systems ------------------------------------------------------------------------------------

static void sense(orr_run* run) // Impure: writes, sends events, has state, transacts.
{
    Weather* weather = orr_write(run, Weather);
    uint64_t number = device_read();
    for (uint32_t i = 0; i < run->count; i++) {
        weather[i].wind = (float)(number % 97) / 8;
    }
    if (number % 3 == 0) {
        orr_send_event(run, Boom, {(uint32_t)(number % 11)});
    }
    orr_state(run, Score)->sum += number;
}

static void launch(orr_run* run) // Impure, once: creates.
{
    uint64_t number = device_read();
    for (uint32_t i = 0; i < number % 3; i++) {
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Shot, {(float)i, 3 + (uint32_t)(number >> 8) % 5});
    }
}

static void wander(orr_run* run)
{
    Body* body = orr_write(run, Body);
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t chance = orr_run_random(run, orr_iter_entity(run, i));
        body[i].v += (float)(chance % 7) - 3;
        body[i].x += body[i].v * run->dt;
    }
}

static void age(orr_run* run) // In the second pipeline.
{
    Shot* shot = orr_write(run, Shot);
    for (uint32_t i = 0; i < run->count; i++) {
        shot[i].x += run->dt;
        if (shot[i].left-- == 0) {
            orr_send_destroy(run, orr_iter_entity(run, i));
        }
    }
}

static void score(orr_run* run)
{
    uint32_t count;
    const Boom* booms = orr_events(run, Boom, &count);
    Score* sum = orr_state(run, Score);
    for (uint32_t i = 0; i < count; i++) {
        sum->sum += booms[i].strength;
        sum->booms++;
    }
}

// ---- calls --------------------------------------------------------------------------------------

typedef struct kick {
    uint64_t entity;
    float v;
    uint32_t pad;
} kick;

static void call_kick(orr_world* world, void* data, size_t size)
{
    (void)size;
    kick* k = data;
    Body* body = orr_alive(world, (orr_entity){k->entity})
                     ? orr_edit(world, (orr_entity){k->entity}, Body)
                     : NULL;
    if (body != NULL) {
        body->v += k->v;
        body->hits++;
    }
    memset(data, 0xEE, sizeof *k); // A call may overwrite its data.
}

static void call_spawn(orr_world* world, void* data, size_t size)
{
    (void)size;
    uint32_t count;
    memcpy(&count, data, sizeof count);
    for (uint32_t i = 0; i < count; i++) {
        orr_entity entity = orr_create(world);
        orr_set(world, entity, Body, {(float)i, 1, 0});
    }
}

static void call_nothing(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    orr_entity first = orr_create(world); // Uses up an id.
    orr_destroy(world, first);
}

// ---- the world ----------------------------------------------------------------------------------

typedef struct stage {
    kit k;
    orr_world* world;
    orr_entity bodies[64];
    char log[4096]; // Log lines that are not errors.
} stage;

static void stage_sink(void* user, const orr_log_line* line)
{
    stage* s = user;
    size_t length = strlen(s->log);
    snprintf(s->log + length, sizeof s->log - length, "%s\n", line->text);
}

static void stage_systems(orr_world* world)
{
    KIT_SYSTEM(world, .name = "sense", .query = "write Weather", .run = sense, .sends = "Boom",
               .state = ORR_TYPE(Score), .impure = true, .user = &dev);
    KIT_SYSTEM(world, .name = "wander", .query = "write Body", .parallel = true, .run = wander);
    KIT_SYSTEM(world, .name = "launch", .once = true, .run = launch, .creates = "Shot",
               .adds = "Shot", .impure = true, .user = &dev);
    KIT_SYSTEM(world, .name = "score", .kind = ORR_INDIRECT, .run = score, .receives = "Boom",
               .state = ORR_TYPE(Score));
    KIT_SYSTEM(world, .name = "age", .pipeline = "physics", .query = "write Shot", .run = age,
               .destroys = "Shot");
}

static orr_world* stage_make(stage* s, const orr_world_desc* like, bool calls)
{
    orr_world_desc desc = like != NULL ? *like : (orr_world_desc){0};
    memset(s, 0, sizeof *s);
    desc.log = (orr_log_desc){.level = ORR_LOG_WARNING, .sink = stage_sink, .user = s};
    orr_world* world = s->world = kit_begin(&s->k, &desc);
    CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "physics", .rate_hz = 90}).id != 0);
    ORR_REGISTER(world, Body, Ship, Shot, Boom, Score, Weather);
    stage_systems(world);
    for (uint32_t i = 0; i < 64; i++) {
        s->bodies[i] = orr_create(world);
        CHECK_OK(orr_set(world, s->bodies[i], Body, {(float)i, 0, 0}));
    }
    CHECK_OK(orr_set(world, orr_create(world), Weather, {1}));
    if (calls) {
        CHECK_OK(orr_call_register(world, "kick", call_kick, sizeof(kick)));
        CHECK_OK(orr_call_register(world, "spawn", call_spawn, sizeof(uint32_t)));
        CHECK_OK(orr_call_register(world, "nothing", call_nothing, 0));
    }
    return world;
}

static void stage_end(stage* s)
{
    kit_end(&s->k);
}

// Random input, as from a player.
ORR_MAYBE_UNUSED static void stage_input(stage* s, uint64_t seed, uint64_t step)
{
    uint64_t chance = orr_random(seed, step, 1, 2);
    for (uint32_t i = 0; i < chance % 3; i++) {
        kick k = {s->bodies[(chance >> 8) % 64].id, (float)(chance >> 16 & 15), 0};
        CHECK_OK(orr_post(s->world, call_kick, &k, sizeof k));
    }
    if (chance % 16 == 5) {
        uint32_t count = (uint32_t)(chance >> 32) % 4;
        CHECK_OK(orr_post(s->world, call_spawn, &count, sizeof count));
    }
    if (chance % 16 == 6) {
        CHECK_OK(orr_post_exclusive(s->world, call_nothing, NULL, 0));
    }
}

// Runs `count` steps of all kinds.
ORR_MAYBE_UNUSED static void stage_run(stage* s, uint64_t seed, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++) {
        uint64_t chance = orr_random(seed, i, 7, 7);
        stage_input(s, seed, i);
        CHECK_OK(chance % 5 == 0 ? orr_step(s->world, 1 + (uint32_t)(chance >> 8) % 3)
                                 : orr_update(s->world, (chance >> 8) % 40000000));
    }
}

// A path that is unique to this process.
ORR_MAYBE_UNUSED static const char* stage_path(const char* name)
{
    static char path[2][200];
    static uint32_t at;
    at = !at;
    snprintf(path[at], sizeof path[at], "/tmp/orr_replay_%ld_%s", (long)getpid(), name);
    return path[at];
}

#endif
