// SPDX-License-Identifier: MIT
// A component that never moves. Values in chunks move when entities are created and destroyed; a
// `pinned` value does not. A physics engine, a driver or a C library may keep a plain pointer to it
// for as long as the entity has the component.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x))
ORR_STRUCT_EX(Body, (.storage = ORR_PINNED), (float, height), (float, speed))

// A third-party engine: it knows nothing of entities and keeps pointers to its bodies.
static Body* engine_bodies[4];
static int engine_count;

static void engine_step(void)
{
    for (int i = 0; i < engine_count; i++) {
        engine_bodies[i]->speed -= 10;
        engine_bodies[i]->height += engine_bodies[i]->speed;
    }
}

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    orr_query* bodies = orr_query_create(
        world, &(orr_query_desc){ORR_TERMS(ORR_W(world, Position), ORR_R(world, Body))});
    orr_cluster cluster = {0};
    orr_entity ids[1000];
    if (bodies == NULL ||
        orr_cluster_get(world, &(orr_cluster_desc){ORR_TYPES(world, Position)}, &cluster) ||
        orr_create_many(world, cluster, 1000, NULL, 0, ids) != ORR_OK) {
        return 1;
    }
    for (int i = 0; i < 3; i++) { // Three of the thousand get a body: 333, 666 and 999.
        orr_entity e = ids[333 * (i + 1)];
        orr_set(world, e, Body, {100 + 10 * (float)i, 0});
        engine_bodies[engine_count++] = orr_edit(world, e, Body);
    }
    const Position* position = orr_get(world, ids[999], Position);
    const Body* body = orr_get(world, ids[999], Body);

    orr_destroy_many(world, ids, 300); // rows from the end fill the gaps
    engine_step();                     // the engine's pointers are still valid
    printf("the Position of entity 999 has %s\n",
           position == orr_get(world, ids[999], Position) ? "stayed" : "moved");
    printf("its Body has %s\n", body == orr_get(world, ids[999], Body) ? "stayed" : "moved");

    // A query over a pinned type visits only the entities that have one: three, not seven hundred.
    printf("%" PRIu32 " of %" PRIu64 " entities have a Body:\n",
           orr_pinned_count(world, orr_type_of(world, ORR_TYPE(Body))), orr_entity_count(world));
    ORR_EACH (it, bodies) {
        Position* p = orr_write(&it, Position);
        for (uint32_t i = 0; i < it.count; i++) {
            const Body* b = orr_read_pinned(&it, Body, i); // one by one: there is no column
            p[i].x += b->height;
            orr_print(world, orr_iter_entity(&it, i));
        }
    }
    orr_world_destroy(world);
    return 0;
}
