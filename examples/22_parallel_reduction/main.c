// SPDX-License-Identifier: MIT
// One result from many workers: every chunk has its own partial sum. Partial sums are combined in
// pairs, in an order that does not depend on timing, so even floats are equal to the last bit.
#include <orrery/orrery.h>
#include <stdio.h>
#include <string.h>

ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_STRUCT(Motion, (float, energy), (float, fastest), (uint32_t, bodies))

static void measure(orr_run* run) // parallel: on any worker
{
    const Velocity* v = orr_read(run, Velocity);
    Motion* part = orr_export(run, Motion); // of this chunk; begins with the presets, here 0
    for (uint32_t i = 0; i < run->count; i++) {
        float speed2 = v[i].x * v[i].x + v[i].y * v[i].y;
        part->energy += 0.5f * speed2;
        part->fastest = speed2 > part->fastest ? speed2 : part->fastest;
        part->bodies++;
    }
}

static void combine(void* into, const void* part)
{
    Motion* a = into;
    const Motion* b = part;
    a->energy += b->energy;
    a->fastest = b->fastest > a->fastest ? b->fastest : a->fastest;
    a->bodies += b->bodies;
}

static void calm_down(orr_run* run) // runs later: sees the sum of all chunks
{
    const Motion* all = orr_import(run, "measure", Motion);
    Velocity* v = orr_write(run, Velocity);
    float keep = all->energy > 1000.0f ? 0.9f : 1.0f;
    for (uint32_t i = 0; i < run->count; i++) {
        v[i].x *= keep;
        v[i].y *= keep;
    }
}

static uint32_t simulate(uint32_t workers)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.workers = workers});
    orr_system measuring = orr_system_add(world, &(orr_system_desc){.name = "measure",
                                                                    .query = "Velocity",
                                                                    .run = measure,
                                                                    .exports = ORR_TYPE(Motion),
                                                                    .combine = combine,
                                                                    .parallel = true});
    orr_system_add(world, &(orr_system_desc){.name = "calm_down",
                                             .query = "write Velocity",
                                             .imports = "measure",
                                             .run = calm_down,
                                             .parallel = true});
    for (uint32_t i = 0; i < 30000; i++) {
        orr_set(world, orr_create(world), Velocity, {0.1f * (float)(i % 17), 0.3f});
    }
    orr_step(world, 10);
    const Motion* all = orr_system_exports(world, measuring);
    uint32_t bits;
    memcpy(&bits, &all->energy, sizeof bits);
    printf("%u workers: %u bodies, energy %.3f (%08x)\n", workers, all->bodies, (double)all->energy,
           bits);
    orr_world_destroy(world);
    return bits;
}

int main(void)
{
    uint32_t serial = simulate(0);
    return simulate(2) == serial && simulate(8) == serial ? 0 : 1;
}
