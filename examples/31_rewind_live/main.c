// SPDX-License-Identifier: MIT
// A world that runs by the clock on the wall, and is wound back while it does: paused, moved along what is remembered as with a slider, gone ahead faster than
// time, and let go again. Everything of this is done at meetings: calls that are posted, from any thread, and done where all pipelines stand between ticks.
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Height, (float, meters))
ORR_STRUCT(Speed, (float, up))

static orr_entity ball;

static void fly(orr_run* run)
{
    Height* h = orr_write(run, Height);
    Speed* s = orr_write(run, Speed);
    for (uint32_t i = 0; i < run->count; i++) {
        s[i].up -= 10 * run->dt;
        h[i].meters += s[i].up * run->dt;
        if (h[i].meters < 0) {
            h[i].meters = -h[i].meters;
            s[i].up = -s[i].up;
        }
    }
}

static void show(orr_world* world, const char* what)
{
    float meters = orr_get(world, ball, Height)->meters;
    printf("%-32s tick %3llu |%*s\n", what, (unsigned long long)orr_world_tick(world),
           (int)(meters * 8) + 1, "o");
}

// The slider of a debugger, or of a player who wants another try.
static void scrub(orr_world* world, void* data)
{
    (void)data;
    orr_pause(world, true); // Others who draw would go on meanwhile.
    show(world, "paused");
    for (uint64_t tick = 50; tick >= 30; tick -= 5) {
        orr_time_travel(world, tick);
        show(world, "back");
    }
    orr_time_travel(world, 55); // Remembered still: nothing is run.
    show(world, "forward, as it was");

    orr_history_stats stats;
    orr_time_travel(world, 90); // From 60 on it is not: thirty ticks are run, at once.
    orr_history_stats_get(world, &stats);
    show(world, "ahead of time");
    printf("%llu ticks were run for that\n", (unsigned long long)stats.ticks_run);

    orr_time_travel(world, 60);
    show(world, "back, and let go");
    orr_pause(world, false);
}

static void ask(orr_run* run)
{
    if (run->tick == 60 && orr_timeline(run->world) == 0) {
        orr_post_meeting(run->world, scrub, NULL, 0); // From any thread, or an impure system.
    }
    if (run->tick == 100) {
        orr_stop(run->world);
    }
}

int main(void)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.rate_hz = 60});
    ORR_REGISTER(world, Height, Speed);
    orr_system_add(
        world, &(orr_system_desc){.name = "fly", .query = "write Height, write Speed", .run = fly});
    orr_system_add(world,
                   &(orr_system_desc){.name = "ask", .once = true, .impure = true, .run = ask});
    ball = orr_create(world);
    orr_set(world, ball, Height, {4});
    orr_set(world, ball, Speed, {3});

    // Any of the last 40 ticks, and one of each twenty before.
    orr_history_set(world, &(orr_history_desc){.recent = 40, .every = 20});
    orr_time_wish(world, 10); // An example should not take a second.
    if (orr_realtime(world, NULL) == ORR_OK) {
        show(world, "when it was stopped");
    }
    orr_history_stats stats;
    orr_history_stats_get(world, &stats);
    printf("%u ticks are remembered, %llu to %llu; it went to one of them %llu times\n",
           stats.ticks, (unsigned long long)stats.tick_first, (unsigned long long)stats.tick_last,
           (unsigned long long)stats.travels);
    orr_world_destroy(world);
    return 0;
}
