// SPDX-License-Identifier: MIT
// A system is a function over rows, with a query that declares what it reads and writes. Systems
// run once per tick, in the order in which they were added. In a world with a rate every tick has
// the same dt.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_MARKER(Frozen)

static void fall(orr_run* run) // called per run of up to 2048 consecutive rows
{
    Velocity* v = orr_write(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        v[i].y -= 10 * run->dt;
    }
}

static void move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    const Velocity* v = orr_read(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += v[i].x * run->dt;
        p[i].y += v[i].y * run->dt;
    }
}

int main(void)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.rate_hz = 64});

    // Names are resolved when the next tick begins, so the types may be registered later.
    orr_system falling = orr_system_add(
        world, &(orr_system_desc){.name = "fall", .query = "write Velocity, !Frozen", .run = fall});
    orr_system moving = orr_system_add(
        world,
        &(orr_system_desc){.name = "move", .query = "write Position, Velocity", .run = move});

    orr_entity stone = orr_create_named(world, "stone");
    orr_set(world, stone, Position, {0, 100});
    orr_set(world, stone, Velocity, {4, 0});
    orr_entity cloud = orr_create_named(world, "cloud");
    orr_set(world, cloud, Position, {0, 300});
    orr_set(world, cloud, Velocity, {1, 0});
    orr_add(world, cloud, Frozen);

    if (orr_step(world, 64) != ORR_OK) { // one second
        return 1;                        // refused; the log has the reason
    }
    printf("after %" PRIu64 " ticks:\n", orr_world_tick(world));
    orr_print(world, stone);
    orr_print(world, cloud);

    orr_system_enable(world, falling, false); // from the next tick on
    orr_step(world, 64);
    printf("another second, without falling:\n");
    orr_print(world, stone);
    orr_print(world, cloud);

    orr_system_stats stats;
    orr_system_stats_get(world, moving, &stats);
    printf("move ran in %" PRIu64 " ticks and got %" PRIu64 " rows\n", stats.ticks, stats.rows);
    orr_world_destroy(world); // also destroys its systems
    return 0;
}
