// SPDX-License-Identifier: MIT
// A run is recorded to a file with the inputs of the player, replayed with equal hashes, and
// replayed to its middle, from where it continues differently. Then two runs should be equal but
// are not: the program finds the first difference, down to the field.
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (double, x))
ORR_STRUCT(Velocity, (double, x))

typedef struct Push { // An input of the player: plain bytes that a file can hold.
    uint64_t entity;
    double by;
} Push;

static void push(orr_world* world, void* data, size_t size) // applies the input; posted by play()
{
    (void)size; // sizeof(Push): data of another size is refused, see build().
    const Push* p = data;
    Velocity* v = orr_edit(world, (orr_entity){p->entity}, Velocity);
    if (v != NULL) {
        v->x += p->by;
    }
}

static void move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    const Velocity* v = orr_read(run, Velocity);
    const bool* wrong = orr_run_settings(run);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += v[i].x * run->dt;
        if (*wrong && run->tick == 700 && i == 2) {
            p[i].x += 1e-12; // The error to be found.
        }
    }
}

static orr_world* build(orr_entity balls[4], const bool* wrong) // the same world each time
{
    orr_world* world = orr_world_create(&(orr_world_desc){.rate_hz = 64});
    ORR_REGISTER(world, Position, Velocity);
    orr_system_add(world, &(orr_system_desc){.name = "move",
                                             .query = "write Position, Velocity",
                                             .settings = wrong,
                                             .run = move});
    orr_call_register(world, "push", push, sizeof(Push)); // name and size of the data in files
    for (int i = 0; i < 4; i++) {
        balls[i] = orr_create(world);
        orr_set(world, balls[i], Position, {i});
        orr_set(world, balls[i], Velocity, {1});
    }
    return world;
}

// The player pushes one of the balls now and then.
static void play(orr_world* world, const orr_entity balls[4], int ticks)
{
    for (int i = 0; i < ticks; i++) {
        if (i % 100 == 50) {
            orr_post(world, push, &(Push){balls[i / 100 % 4].id, 0.25}, sizeof(Push));
        }
        orr_step(world, 1);
    }
}

static void say(orr_world* world, const char* what, orr_entity ball)
{
    printf("%-28s tick %4llu, the first ball at %g\n", what,
           (unsigned long long)orr_world_tick(world), orr_get(world, ball, Position)->x);
}

int main(void)
{
    static const bool right = false, wrong = true;
    const char* path = "replay_example.orr";
    orr_entity balls[4];
    orr_recording *one = orr_recording_create(), *two = orr_recording_create();

    orr_world* world = build(balls, &right);
    orr_record(world, one, &(orr_record_desc){.hash_every = 64});
    play(world, balls, 1000);
    orr_record_end(world);
    orr_recording_save(world, one, path);
    say(world, "recorded:", balls[0]);
    orr_world_destroy(world);

    world = build(balls, &right);
    orr_replay_report report;
    orr_recording_load(world, one, path);
    orr_result result = orr_replay(world, one, NULL, &report);
    say(world, "replayed from the file:", balls[0]);
    printf("%28s %s, %llu hashes compared\n", "", orr_result_name(result),
           (unsigned long long)report.verified);
    orr_world_destroy(world);

    world = build(balls, &right);
    orr_replay(world, one, &(orr_replay_desc){.until_tick = 500}, NULL);
    orr_step(world, 500); // Without further input.
    say(world, "from tick 500 without input:", balls[0]);
    orr_world_destroy(world);

    // As on another machine: equal inputs, another result.
    orr_world* other = build(balls, &wrong);
    orr_history_set(other, &(orr_history_desc){.every = 256});
    orr_record(other, two, &(orr_record_desc){.hash_every = 64});
    play(other, balls, 1000);
    orr_record_end(other);

    world = build(balls, &right);
    orr_history_set(world, &(orr_history_desc){.every = 256});
    orr_replay(world, one, NULL, NULL);
    orr_desync desync;
    char text[1024];
    if (orr_desync_find(world, one, other, two, &desync) == ORR_OK) {
        orr_desync_print(&desync, text, sizeof text);
        printf("\n%s\n", text);
    }
    orr_world_destroy(world);
    orr_world_destroy(other);
    orr_recording_destroy(one);
    orr_recording_destroy(two);
    remove(path);
    return 0;
}
