// SPDX-License-Identifier: MIT
// One world in real time: a simulation 60 times a second, a spectator that draws as often as
// possible and a log twice a second, all at the same time. Another thread posts a call that creates
// a ball. The run is recorded, and a replay reaches the same hash.
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, y))
ORR_STRUCT(Velocity, (float, y))
ORR_STRUCT_EX(Drawn, (.transient = true), (float, y))

static void fall(orr_run* run) // "main", 60 times a second
{
    Position* p = orr_write(run, Position);
    Velocity* v = orr_write(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        v[i].y -= 10 * run->dt;
        p[i].y += v[i].y * run->dt;
        if (p[i].y < 0) {
            p[i].y = 0;
            v[i].y *= -0.9f;
        }
    }
}

static void draw(orr_run* run) // "view": reads the last complete tick, never waits
{
    const Position* p = orr_read(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        Drawn* drawn = orr_write_pinned(run, Drawn, i);
        drawn->y += (p[i].y - drawn->y) * 10 * run->dt;
    }
}

static void report(orr_run* run) // "log", twice a second
{
    const Position* p = orr_read(run, Position);
    unsigned above = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        above += p[i].y >= 0;
    }
    if (run->tick <= 3) { // On a busy machine "main" drops ticks, and there may be a fourth report.
        printf("%llu: %u balls above the ground\n", (unsigned long long)run->tick, above);
    }
}

static orr_world* build(void)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.rate_hz = 60});
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "view", .spectator = true});
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "log", .rate_hz = 2});
    orr_system_add(
        world,
        &(orr_system_desc){.name = "fall", .query = "write Position, write Velocity", .run = fall});
    orr_system_add(world, &(orr_system_desc){.name = "draw",
                                             .pipeline = "view",
                                             .query = "Position, write Drawn",
                                             .run = draw});
    orr_system_add(world,
                   &(orr_system_desc){
                       .name = "report", .pipeline = "log", .query = "Position", .run = report});
    for (int i = 0; i < 9; i++) {
        orr_entity ball = orr_create(world);
        orr_set(world, ball, Position, {(float)(10 + i)});
        orr_set(world, ball, Velocity, {0});
        orr_set(world, ball, Drawn, {0});
    }
    return world;
}

static void throw_in(orr_world* world, void* data, size_t size) // runs between two ticks
{
    (void)size;
    orr_entity ball = orr_create(world);
    orr_put(world, ball, Position, data);
    orr_set(world, ball, Velocity, {0});
}

static void from_outside(void* data) // as from a window or a network: at any time
{
    while (!orr_running(data)) {
        orr_platform_default()->thread_yield(NULL);
    }
    orr_post(data, throw_in, &(Position){20}, sizeof(Position));
}

int main(void)
{
    orr_recording* recording = orr_recording_create();
    orr_world* world = build();
    const orr_platform* platform = orr_platform_default();
    orr_thread thread;
    platform->thread_create(NULL, "outside", from_outside, world, &thread);
    orr_realtime(world, &(orr_realtime_desc){.ticks = 110, .record = recording, .hashes = true});
    platform->thread_join(NULL, thread);
    uint64_t hash = orr_world_hash(world);
    orr_world_destroy(world);

    printf("replay of the recording:\n");
    world = build();
    bool same = orr_realtime(world, &(orr_realtime_desc){.replay = recording}) == ORR_OK;
    printf("same hash: %s\n", same && orr_world_hash(world) == hash ? "yes" : "no");
    orr_world_destroy(world);
    orr_recording_destroy(recording);
}
