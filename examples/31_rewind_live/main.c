// SPDX-License-Identifier: MIT
// Time travel of a world that runs in real time. The world is paused, moved along its remembered
// ticks like a slider, fast-forwarded, and resumed. All of this happens at a sync point: in a call
// posted by orr_post_exclusive(), which runs when all pipelines are between ticks.
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Ball, (float, meters), (float, speed), (uint32_t, frame))
ORR_STRUCT(Spin, (float, angle))

static orr_entity ball;

static void fly(orr_run* run) // 60 times a second, in the first pipeline
{
    Ball* b = orr_write(run, Ball);
    for (uint32_t i = 0; i < run->count; i++) {
        b[i].frame++;
        b[i].speed -= 10 * run->dt;
        b[i].meters += b[i].speed * run->dt;
        if (b[i].meters < 0) {
            b[i].meters = -b[i].meters;
            b[i].speed = -b[i].speed;
        }
    }
}

static void turn(orr_run* run) // 240 times a second
{
    Spin* s = orr_write(run, Spin);
    for (uint32_t i = 0; i < run->count; i++) {
        s[i].angle += 5 * run->dt;
    }
}

static void show(orr_world* world, const char* what)
{
    const Ball* b = orr_get(world, ball, Ball);
    printf("%-24s frame %3u |%*s\n", what, b->frame, (int)(b->meters * 8) + 1, "o");
}

// The world counts the ticks of both pipelines, but is remembered only after ticks of the first. To
// step by one frame, ask for the nearest remembered tick. Other ticks cannot be restored:
// travelling forward to them runs ticks, which drops the remembered future.
static bool step_back(orr_world* world)
{
    uint64_t before, after, now = orr_world_tick(world);
    orr_remembered_near(world, now - 1, &before, &after);
    return before != UINT64_MAX && orr_time_travel(world, before) == ORR_OK;
}

static bool step_forward(orr_world* world)
{
    uint64_t before, after, now = orr_world_tick(world);
    orr_remembered_near(world, now + 1, &before, &after);
    return after != UINT64_MAX && orr_time_travel(world, after) == ORR_OK;
}

// The slider of a debugger, or of a player who tries again.
static void scrub(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    uint64_t paused = orr_world_tick(world);
    orr_remember(world); // The window may drop its snapshots, but this one stays.
    orr_pause(world, true);
    show(world, "paused");
    for (int i = 1; i <= 25 && step_back(world); i++) {
        if (i % 5 == 0) {
            show(world, "back");
        }
    }
    for (int i = 1; i <= 20 && step_forward(world); i++) {
        if (i % 10 == 0) {
            show(world, "forward");
        }
    }
    orr_time_travel(world, paused);
    while (orr_get(world, ball, Ball)->frame < 90) { // Not remembered: runs ticks.
        orr_time_travel(world, orr_world_tick(world) + 1);
    }
    show(world, "fast-forward");
    orr_time_travel(world, paused);
    show(world, "back, resumed");
    orr_pause(world, false);
}

static void ask(orr_run* run)
{
    if (run->tick == 60 && orr_timeline(run->world) == 0) {
        orr_post_exclusive(run->world, scrub, NULL, 0); // From any thread or system.
    }
    if (run->tick == 100) {
        orr_stop(run->world);
    }
}

int main(void)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.rate_hz = 60});
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "fine", .rate_hz = 240});
    ORR_REGISTER(world, Ball, Spin);
    orr_system_add(world, &(orr_system_desc){.name = "fly", .query = "write Ball", .run = fly});
    orr_system_add(
        world,
        &(orr_system_desc){.name = "turn", .pipeline = "fine", .query = "write Spin", .run = turn});
    orr_system_add(world,
                   &(orr_system_desc){.name = "ask", .once = true, .impure = true, .run = ask});
    ball = orr_create(world);
    orr_set(world, ball, Ball, {4, 3, 0});
    orr_set(world, ball, Spin, {0});

    // All of the last 200 ticks of the world: about 40 frames.
    orr_history_set(world, &(orr_history_desc){.recent = 200});
    orr_time_scale_set(world, 10); // So that the example runs for less than a second.
    if (orr_realtime(world, NULL) == ORR_OK) {
        show(world, "stopped");
    }
    orr_world_destroy(world);
    return 0;
}
