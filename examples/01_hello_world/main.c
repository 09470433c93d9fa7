// SPDX-License-Identifier: MIT
// The smallest complete program: two component types, one entity, and a loop over columns.
//
// Component values are stored in plain arrays, one per type and chunk. A loop over entities is a
// loop over arrays.
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))

static void move(orr_world* world, orr_cluster cluster, float dt)
{
    orr_type position = orr_type_of(world, ORR_TYPE(Position));
    orr_type velocity = orr_type_of(world, ORR_TYPE(Velocity));
    uint32_t count;
    for (uint32_t chunk = 0; (count = orr_chunk_count(world, cluster, chunk)) > 0; chunk++) {
        Position* p = orr_column_write(world, cluster, chunk, position);
        const Velocity* v = orr_column_read(world, cluster, chunk, velocity);
        for (uint32_t i = 0; i < count; i++) {
            p[i].x += v[i].x * dt;
            p[i].y += v[i].y * dt;
        }
    }
}

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    orr_entity bob = orr_create(world);
    orr_set(world, bob, Position, {0, 0});
    orr_set(world, bob, Velocity, {1, 2});
    orr_print(world, bob);

    for (int tick = 0; tick < 64; tick++) { // One second at 64 ticks a second.
        orr_tick_advance(world);
        move(world, orr_entity_cluster(world, bob), 1.0f / 64);
    }
    orr_print(world, bob);

    orr_world_destroy(world);
    return 0;
}
