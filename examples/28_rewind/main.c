// SPDX-License-Identifier: MIT
// Time travel. First a small world goes back in time and runs again, once unchanged and once with a
// change. Then a single entity has a time of its own: its states are stored in slots and played
// back at any rate.
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_STRUCT(Bounces,
           (int32_t, count)) // Integers are not interpolated: they are as in the lower slot.

static void fly(orr_run* run)
{
    Position* p = orr_write(run, Position);
    Velocity* v = orr_write(run, Velocity);
    Bounces* b = orr_write(run, Bounces);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += v[i].x;
        p[i].y += v[i].y;
        v[i].y -= 1;
        if (p[i].y < 0) {
            p[i].y = -p[i].y;
            v[i].y = -v[i].y;
            b[i].count++;
        }
    }
}

static void show(orr_world* world, orr_entity ball)
{
    const orr_time_stretcher* s = orr_get(world, ball, orr_time_stretcher);
    const Position* p = orr_get(world, ball, Position);
    printf("%4llu | %5.2f | %8.2f | (%5.2f, %5.2f) | %d\n",
           (unsigned long long)orr_world_tick(world), s->rate, s->position, (double)p->x,
           (double)p->y, (int)orr_get(world, ball, Bounces)->count);
}

static void play(orr_world* world, orr_entity ball, double rate, int ticks)
{
    orr_time_stretch(world, ball, rate);
    for (int i = 0; i < ticks; i++) {
        orr_step(world, 1);
        show(world, ball);
    }
}

// A ball flies for 10 ticks and stores its state in every second one. Then it is played back
// slower, backwards, and with acceleration.
static void playback(void)
{
    orr_world* world = orr_world_create(NULL);
    ORR_REGISTER(world, Position, Velocity, Bounces);
    orr_system_add(world, &(orr_system_desc){.name = "fly",
                                             .query = "write Position, write Velocity, "
                                                      "write Bounces, !orr_time_stretcher",
                                             .run = fly});
    orr_stretcher_add(world, NULL); // The playback system.

    orr_entity ball = orr_create_named(world, "ball");
    orr_set(world, ball, Position, {0, 0});
    orr_set(world, ball, Velocity, {1, 3});
    orr_set(world, ball, Bounces, {0});
    orr_add(world, ball, orr_time_traveller);
    for (int i = 0; i <= 8; i += 2) {
        orr_entity_remember(world, ball, orr_time_of(world, ball));
        orr_step(world, 2);
    }
    orr_print(world, ball);

    orr_entity_travel(world, ball, 6); // Restores slot 6.
    printf("\ntick |  rate | its time | position       | bounces\n");
    play(world, ball, 0.5, 4);
    play(world, ball, -1.25, 4);
    play(world, ball, 0, 1);

    orr_entity foot = orr_create_named(world, "foot"); // Its rate is added to the ball's rate.
    orr_time_stretch(world, foot, 0.5);
    orr_time_derivate(world, foot, ball);
    play(world, ball, 0, 4);

    orr_step(world, 4); // Beyond the last slot playback stops, with one error in the log.
    show(world, ball);
    orr_world_destroy(world);
}

// ---- time travel of a world -------------------------------------------------------------------

static void draw(orr_world* world)
{
    char line[33] = "................................";
    orr_query* all = orr_query_text(world, "Position");
    ORR_EACH (it, all) {
        const Position* p = orr_read(&it, Position);
        for (uint32_t i = 0; i < it.count; i++) {
            if (p[i].x >= 0 && p[i].x < 32) {
                line[(int)p[i].x] = p[i].y > 4 ? '\'' : p[i].y > 1 ? 'o' : '_';
            }
        }
    }
    orr_query_destroy(all);
    printf("tick %2llu  %s\n", (unsigned long long)orr_world_tick(world), line);
}

static void run(orr_world* world, int ticks)
{
    for (int i = 0; i < ticks; i++) {
        orr_step(world, 1);
        draw(world);
    }
}

static void rewind_world(void)
{
    orr_world* world = orr_world_create(NULL);
    orr_system_add(world,
                   &(orr_system_desc){.name = "fly",
                                      .query = "write Position, write Velocity, write Bounces",
                                      .run = fly});
    orr_entity balls[4];
    for (int i = 0; i < 4; i++) {
        balls[i] = orr_create(world);
        orr_set(world, balls[i], Position, {(float)i * 5, (float)i});
        orr_set(world, balls[i], Velocity, {1 + (float)i * 0.5f, 2});
        orr_set(world, balls[i], Bounces, {0});
    }
    orr_history_set(world, &(orr_history_desc){.recent = 100}); // Every tick is remembered.
    draw(world);
    run(world, 6);

    printf("back\n");
    for (uint64_t tick = 5; tick >= 2; tick--) {
        orr_time_travel(world, tick);
        draw(world);
    }
    printf("forward: the same again\n");
    run(world, 3);

    printf("back to 2, without one ball: another future\n");
    orr_time_travel(world, 2);
    orr_destroy(world, balls[3]);
    run(world, 3);
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    printf("%u ticks remembered, %llu to %llu; went back %llu times\n\n", stats.ticks,
           (unsigned long long)stats.tick_first, (unsigned long long)stats.tick_last,
           (unsigned long long)stats.travels);
    orr_world_destroy(world);
}

int main(void)
{
    rewind_world();
    playback();
    return 0;
}
