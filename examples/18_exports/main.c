// SPDX-License-Identifier: MIT
// A system can have a state of its own, and exports that other systems may read. Both are values of
// registered types and part of the world: they begin with their presets, are hashed, and are
// restored when the world travels back in time.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Season, (uint32_t, days_left, (.preset = "2")), (uint32_t, number))
ORR_STRUCT(Wind, (float, x), (float, y, (.preset = "1")))
ORR_STRUCT(Log, (uint32_t, days), (float, way))

// Two days of wind from one side, two from the other.
static void weather(orr_run* run)
{
    Season* season = orr_state(run, Season); // private to this system
    Wind* wind = orr_export(run, Wind);      // written here, read by others
    if (season->days_left == 0) {
        *season = (Season){.days_left = 2, .number = season->number + 1};
    }
    season->days_left--;
    wind->x = season->number % 2 == 0 ? 3 : -1;
}

static void sail(orr_run* run) // once per tick: it counts days, not runs of rows
{
    const Wind* wind = orr_import(run, "weather", Wind); // NULL if not declared in .imports
    Log* log = orr_state(run, Log);
    ORR_EACH (it, orr_run_query(run)) {
        Position* p = orr_write(&it, Position);
        for (uint32_t i = 0; i < it.count; i++) {
            p[i].x += wind->x;
            p[i].y += wind->y;
        }
    }
    log->days++;
    log->way += wind->x < 0 ? -wind->x : wind->x;
}

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    orr_system clouds = orr_system_add(world, &(orr_system_desc){.name = "weather",
                                                                 .once = true,
                                                                 .run = weather,
                                                                 .state = ORR_TYPE(Season),
                                                                 .exports = ORR_TYPE(Wind)});
    orr_system sailing = orr_system_add(world, &(orr_system_desc){.name = "sail",
                                                                  .query = "write Position",
                                                                  .once = true,
                                                                  .run = sail,
                                                                  .state = ORR_TYPE(Log),
                                                                  .imports = "weather"});
    orr_entity ship = orr_create_named(world, "ship");
    orr_set(world, ship, Position, {0, 0});

    for (uint32_t day = 1; day <= 5; day++) {
        if (orr_step(world, 1) != ORR_OK) {
            return 1;
        }
        const Wind* wind = orr_system_exports(world, clouds); // readable between ticks
        printf("day %" PRIu32 ", wind %g %g: ", day, (double)wind->x, (double)wind->y);
        orr_print(world, ship);
    }
    const Log* log = orr_system_state(world, sailing);
    printf("%" PRIu32 " days, %g miles of x\n", log->days, (double)log->way);

    // State is part of the hash: worlds with equal components but unequal state have unequal
    // hashes.
    uint64_t hash = orr_world_hash(world);
    orr_step(world, 1);
    printf("the hash %s\n", orr_world_hash(world) != hash ? "has changed" : "is the same");
    orr_world_destroy(world);
    return 0;
}
