// SPDX-License-Identifier: MIT
// A simulation at 60 Hz, and a spectator that draws at a rate of its own. The spectator stores its
// own data in the world: a smoothed position of every ball, and sparks where a ball bounces. None
// of it is part of the simulation: the world has the same hash without the spectator.
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, y))
ORR_STRUCT(Velocity, (float, y))
ORR_STRUCT(Bounce, (float, speed)) // An event.
ORR_STRUCT_EX(Drawn, (.transient = true), (float, y))
ORR_STRUCT_EX(Spark, (.transient = true), (float, left))

// ---- the simulation -----------------------------------------------------------------------------

static void fall(orr_run* run)
{
    Position* p = orr_write(run, Position);
    Velocity* v = orr_write(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        v[i].y -= 10 * run->dt;
        p[i].y += v[i].y * run->dt;
        if (p[i].y < 0) {
            orr_send_event(run, Bounce, {v[i].y});
            p[i].y = 0;
            v[i].y *= -0.5f;
        }
    }
}

// ---- the spectator ------------------------------------------------------------------------------

static void welcome(orr_run* run) // every new entity gets a drawn position
{
    const Position* p = orr_read(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_send_add(run, orr_iter_entity(run, i), Drawn, {p[i].y});
    }
}

static void smooth(orr_run* run)
{
    const Position* p = orr_read(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        Drawn* drawn = orr_write_pinned(run, Drawn, i); // transient types are pinned
        drawn->y += (p[i].y - drawn->y) * 10 * run->dt;
        if (run->tick % 60 == 0) {
            printf("frame %3llu: drawn at %.2f m, is at %.2f m, %u sparks\n",
                   (unsigned long long)run->tick, (double)drawn->y, (double)p[i].y,
                   (unsigned)orr_transient_count(run->world));
        }
    }
}

static void strike(orr_run* run) // sparks are transient entities
{
    uint32_t count;
    const Bounce* bounces = orr_events(run, Bounce, &count);
    for (uint32_t i = 0; i < count; i++) {
        for (int n = 0; n < (int)-bounces[i].speed; n++) {
            orr_send_add(run, orr_send_create(run), Spark, {0.2f * (float)(n + 1)});
        }
    }
}

static void fade(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        Spark* spark = orr_write_pinned(run, Spark, i);
        spark->left -= run->dt;
        if (spark->left < 0) {
            orr_send_destroy(run, orr_iter_entity(run, i));
        }
    }
}

static void spectator_add(orr_world* world, double rate_hz)
{
    orr_pipeline_add(world,
                     &(orr_pipeline_desc){.name = "view", .rate_hz = rate_hz, .spectator = true});
    ORR_REGISTER(world, Drawn, Spark);
    orr_system_add(world, &(orr_system_desc){.name = "welcome",
                                             .pipeline = "view",
                                             .query = "Position, !Drawn",
                                             .adds = "Drawn",
                                             .run = welcome});
    orr_system_add(world, &(orr_system_desc){.name = "smooth",
                                             .pipeline = "view",
                                             .query = "write Drawn, Position",
                                             .run = smooth});
    orr_system_add(world, &(orr_system_desc){.name = "strike",
                                             .pipeline = "view",
                                             .once = true,
                                             .receives = "Bounce",
                                             .creates = "Spark",
                                             .run = strike});
    orr_system_add(world, &(orr_system_desc){.name = "fade",
                                             .pipeline = "view",
                                             .query = "write Spark",
                                             .destroys = "Spark",
                                             .run = fade});
}

// ---- both ---------------------------------------------------------------------------------------

static uint64_t three_seconds(double spectator_hz)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.rate_hz = 60});
    ORR_REGISTER(world, Position, Velocity, Bounce);
    // "?Bounce": the event may have no receiver.
    orr_system_add(world, &(orr_system_desc){.name = "fall",
                                             .query = "write Position, write Velocity",
                                             .sends = "?Bounce",
                                             .run = fall});
    if (spectator_hz > 0) {
        spectator_add(world, spectator_hz);
    }
    orr_entity ball = orr_create(world);
    orr_set(world, ball, Position, {5});
    orr_set(world, ball, Velocity, {0});
    orr_step(world, 180);
    uint64_t hash = orr_world_hash(world);
    orr_world_destroy(world);
    return hash;
}

int main(void)
{
    uint64_t watched = three_seconds(144);
    printf("\nWithout the spectator: %s\n",
           three_seconds(0) == watched ? "the same hash" : "another hash");

    orr_world* world = orr_world_create(&(orr_world_desc){.rate_hz = 60});
    ORR_REGISTER(world, Position, Drawn);
    printf("\nA system of the simulation that reads a transient type:\n");
    orr_system_add(
        world, &(orr_system_desc){.name = "cheat", .query = "write Position, Drawn", .run = fall});
    printf("%s\n", orr_error_last(world));
    orr_world_destroy(world);
}
