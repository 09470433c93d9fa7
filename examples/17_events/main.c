// SPDX-License-Identifier: MIT
// Events report something that happened and is not a change of state. An event is a value of a
// type. Systems declare the event types they send (.sends) and receive (.receives). Each receiver
// gets each event once, in an order that is the same in every run.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x))
ORR_STRUCT(Velocity, (float, x))
ORR_STRUCT(Health, (int32_t, points, (.preset = "3")))
ORR_STRUCT(Bounce, (orr_entity, who), (float, speed)) // an event is a plain struct

// Between two walls, at 0 and 10.
static void move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    Velocity* v = orr_write(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += v[i].x;
        if (p[i].x <= 0 || p[i].x >= 10) {
            orr_send_event(run, Bounce, {.who = orr_iter_entity(run, i), .speed = v[i].x});
            v[i].x = -v[i].x;
        }
    }
}

static void hurt(orr_run* run) // runs after `move`: receives the events of this tick
{
    uint32_t count;
    const Bounce* bounces = orr_events(run, Bounce, &count);
    for (uint32_t i = 0; i < count; i++) {
        Health* health = orr_edit(run->world, bounces[i].who, Health);
        if (health != NULL) {
            health->points--;
        }
    }
}

static void report(orr_run* run) // every fifth tick: receives all events since its last run
{
    uint32_t count;
    const Bounce* bounces = orr_events(run, Bounce, &count);
    printf("tick %" PRIu64 ": %" PRIu32 " bounces\n", run->tick, count);
    for (uint32_t i = 0; i < count; i++) {
        printf("  %s wall, speed %g\n", bounces[i].speed < 0 ? "left" : "right",
               (double)bounces[i].speed);
    }
}

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    orr_type_of(world, ORR_TYPE(Bounce)); // systems use it only by name: register it
    orr_system_add(world, &(orr_system_desc){.name = "move",
                                             .query = "write Position, write Velocity",
                                             .run = move,
                                             .sends = "Bounce"});
    // .once: called once a tick, not per run of rows. .by_id: writes Health of any entity.
    orr_system_add(world, &(orr_system_desc){.name = "hurt",
                                             .query = "write Health",
                                             .once = true,
                                             .run = hurt,
                                             .by_id = "write Health",
                                             .receives = "Bounce"});
    orr_system_add(world, &(orr_system_desc){.name = "report",
                                             .query = "Health",
                                             .once = true,
                                             .every = 5,
                                             .run = report,
                                             .receives = "Bounce"});

    orr_entity ball = orr_create_named(world, "ball");
    orr_set(world, ball, Position, {2});
    orr_set(world, ball, Velocity, {2});
    orr_add(world, ball, Health);
    orr_entity bolt = orr_create_named(world, "bolt");
    orr_set(world, bolt, Position, {2});
    orr_set(world, bolt, Velocity, {-1});
    orr_add(world, bolt, Health);

    if (orr_step(world, 12) != ORR_OK) {
        return 1;
    }
    orr_print(world, ball);
    orr_print(world, bolt);
    orr_world_destroy(world);
    return 0;
}
