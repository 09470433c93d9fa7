// SPDX-License-Identifier: MIT
// The same world on one thread and on several. Systems without common data overlap, the chunks of
// parallel systems are distributed among the workers, and the result is the same.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_STRUCT(Heat, (float, value))

static void move(orr_run* run) // parallel: called for each chunk, on any worker
{
    Position* p = orr_write(run, Position);
    const Velocity* v = orr_read(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += v[i].x * run->dt;
        p[i].y += v[i].y * run->dt;
    }
}

static void cool(orr_run* run) // shares no data with move: both overlap
{
    Heat* h = orr_write(run, Heat);
    for (uint32_t i = 0; i < run->count; i++) {
        h[i].value *= 0.99f;
    }
}

static void burn_out(orr_run* run) // its changes are applied when it has ended, in row order
{
    const Heat* h = orr_read(run, Heat);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_rng rng = orr_run_rng(run, orr_iter_entity(run, i)); // for this entity and this tick
        if (h[i].value < 1 && orr_rng_next(&rng) % 4 == 0) {
            orr_send_destroy(run, orr_iter_entity(run, i));
        }
    }
}

static uint64_t simulate(uint32_t workers)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.workers = workers, .rate_hz = 60});
    orr_system_add(world, &(orr_system_desc){.name = "move",
                                             .query = "write Position, Velocity",
                                             .parallel = true,
                                             .run = move});
    orr_system_add(
        world,
        &(orr_system_desc){.name = "cool", .query = "write Heat", .parallel = true, .run = cool});
    orr_system_add(world, &(orr_system_desc){.name = "burn_out",
                                             .query = "Heat",
                                             .parallel = true,
                                             .destroys = "Heat",
                                             .run = burn_out});
    for (uint32_t i = 0; i < 50000; i++) {
        orr_entity spark = orr_create(world);
        orr_set(world, spark, Position, {0, 0});
        orr_set(world, spark, Velocity, {(float)(i % 100), (float)(i / 100)});
        orr_set(world, spark, Heat, {(float)(i % 1000)});
    }
    orr_step(world, 100);
    uint64_t hash = orr_world_hash(world);
    printf("%u workers: %" PRIu64 " sparks left, hash %016" PRIx64 "\n", workers,
           orr_entity_count(world), hash);
    orr_world_destroy(world);
    return hash;
}

int main(void)
{
    uint64_t serial = simulate(0);
    return simulate(2) == serial && simulate(8) == serial ? 0 : 1;
}
