// SPDX-License-Identifier: MIT
// Three rates in one world: physics 120 times a second, logic 30 times, logging once. Each is a
// pipeline. A type is written by one pipeline and may be read by all.
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x))
ORR_STRUCT(Velocity, (float, x))
ORR_STRUCT(Engine, (float, push))

static void physics(orr_run* run) // dt is 1/120 s, always
{
    Position* p = orr_write(run, Position);
    Velocity* v = orr_write(run, Velocity);
    const Engine* e = orr_read(run, Engine);
    for (uint32_t i = 0; i < run->count; i++) {
        v[i].x += e[i].push * run->dt;
        p[i].x += v[i].x * run->dt;
    }
}

static void pilot(orr_run* run) // turns round at 10 m and flies back
{
    Engine* e = orr_write(run, Engine);
    const Position* p = orr_read(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        e[i].push = p[i].x < 10 ? 4 : -4;
    }
}

static void report(orr_run* run)
{
    const Position* p = orr_read(run, Position);
    const Velocity* v = orr_read(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        printf("%2llu s: at %6.2f m, %6.2f m/s\n", (unsigned long long)run->tick, (double)p[i].x,
               (double)v[i].x);
    }
}

int main(void)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.rate_hz = 30}); // rate of "main": logic
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "physics", .rate_hz = 120});
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "log", .rate_hz = 1});

    orr_system_add(world, &(orr_system_desc){
                              .name = "pilot", .query = "write Engine, Position", .run = pilot});
    orr_system_add(world, &(orr_system_desc){.name = "physics",
                                             .query = "write Position, write Velocity, Engine",
                                             .run = physics,
                                             .pipeline = "physics"});
    orr_system_add(world, &(orr_system_desc){.name = "report",
                                             .query = "Position, Velocity",
                                             .run = report,
                                             .pipeline = "log"});

    orr_entity ship = orr_create(world);
    orr_set(world, ship, Position, {0});
    orr_set(world, ship, Velocity, {0});
    orr_set(world, ship, Engine, {0});

    orr_step(world, 8 * 30 + 1); // ticks of "main"; the others run when they are due

    // Two pipelines cannot write one type: the result would depend on timing.
    printf("\nA second pipeline that writes Position:\n");
    orr_system_add(
        world, &(orr_system_desc){
                   .name = "nudge", .query = "write Position", .run = pilot, .pipeline = "log"});
    printf("%s\n", orr_error_last(world));
    orr_world_destroy(world);
}
