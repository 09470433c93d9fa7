// SPDX-License-Identifier: MIT
// A query finds the entities that have certain components, and gives access to their columns. It
// finds the matching clusters when it is created, and is updated when clusters are created or
// deleted. Create queries at the start and keep them. A loop over a query is a loop over plain
// arrays.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_STRUCT(Mass, (float, kg))
ORR_MARKER(Frozen)

// Moves all entities except Frozen ones; entities with a Mass also fall.
static void move(orr_query* moving)
{
    ORR_EACH (it, moving) {
        Velocity* v = orr_write(&it, Velocity); // also marks this block as changed
        Position* p = orr_write(&it, Position);
        const Mass* m = orr_read(&it, Mass); // optional: NULL if these rows have none
        printf("  %" PRIu32 " %s a Mass\n", it.count, m != NULL ? "with" : "without");
        for (uint32_t i = 0; i < it.count; i++) {
            v[i].y -= m != NULL ? 10 : 0;
            p[i].x += v[i].x;
            p[i].y += v[i].y;
        }
    }
}

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    orr_query* moving = orr_query_create(
        world, &(orr_query_desc){.name = "moving",
                                 ORR_TERMS(ORR_W(world, Position), ORR_W(world, Velocity),
                                           ORR_OPT(world, Mass), ORR_NOT(world, Frozen))});
    if (moving == NULL) {
        return 1; // refused; the log has the reason
    }

    orr_entity stone = orr_create_named(world, "stone");
    orr_entity cloud = orr_create_named(world, "cloud");
    orr_entity icicle = orr_create_named(world, "icicle");
    orr_set(world, stone, Position, {0, 100});
    orr_set(world, stone, Velocity, {3, 0});
    orr_set(world, stone, Mass, {2});
    orr_set(world, cloud, Position, {0, 300});
    orr_set(world, cloud, Velocity, {1, 0});
    orr_set(world, icicle, Position, {5, 50});
    orr_set(world, icicle, Velocity, {0, 0});
    orr_set(world, icicle, Mass, {1});
    orr_add(world, icicle, Frozen);

    printf("first tick, the icicle is frozen:\n");
    move(moving);
    orr_remove(world, icicle, Frozen); // the query contains it from now on
    orr_tick_advance(world);
    printf("second tick, it is not:\n");
    move(moving);

    orr_print(world, stone);
    orr_print(world, cloud);
    orr_print(world, icicle);
    printf("%" PRIu64 " entities match; the first is ", orr_query_count(moving));
    orr_print(world, orr_query_first(moving));
    orr_world_destroy(world); // also destroys its queries
    return 0;
}
