// SPDX-License-Identifier: MIT
// An indirect system: it does not see the world, it is told. First of everything its query selects, then of what changes. So
// it can keep a mirror in a form of its own: here a table of blips, as a renderer or a physics engine would have.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_MARKER(Hidden)

typedef struct radar {
    orr_entity ships[16];
    Position blips[16];
    uint32_t count;
} radar;

static uint32_t radar_find(const radar* r, orr_entity ship)
{
    uint32_t i = 0;
    while (i < r->count && r->ships[i].id != ship.id) {
        i++;
    }
    return i; // r->count: not there yet
}

static void listen(orr_run* run)
{
    radar* r = orr_run_user(run);
    ORR_MESSAGES(m, run)
    { // arrays of entities to which the same happened
        char text[200];
        orr_message_print(m, 3, text, sizeof text);
        printf("  %s\n", text);
        const Position* p = orr_values(m, Position); // NULL when the message has none
        for (uint32_t i = 0; i < m->count; i++) {
            uint32_t at = radar_find(r, m->entities[i]);
            if (m->kind == ORR_ENTITY_REMOVED) {
                r->count--;
                r->ships[at] = r->ships[r->count];
                r->blips[at] = r->blips[r->count];
            } else if (p != NULL) {
                r->count += m->kind == ORR_ENTITY_ADDED;
                r->ships[at] = m->entities[i];
                r->blips[at] = p[i];
            }
        }
    }
}

static void move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    const Velocity* v = orr_read(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += v[i].x;
        p[i].y += v[i].y;
    }
}

static void step(orr_world* world, const radar* r, const char* what)
{
    printf("%s:\n", what);
    if (orr_step(world, 1) != ORR_OK) {
        return;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        printf("  blip at %g %g\n", (double)r->blips[i].x, (double)r->blips[i].y);
    }
}

int main(void)
{
    radar screen = {0};
    orr_world* world = orr_world_create(NULL);
    // Nothing has them yet when the first tick begins, and systems name them by text only: so they are made known.
    orr_type_of(world, ORR_TYPE(Velocity));
    orr_type_of(world, ORR_TYPE(Hidden));
    orr_system_add(world, &(orr_system_desc){.name = "radar",
                                             .kind = ORR_INDIRECT,
                                             .query = "Position, !Hidden",
                                             .run = listen,
                                             .user = &screen,
                                             .after = "move"});
    orr_system_add(world, &(orr_system_desc){
                              .name = "move", .query = "write Position, Velocity", .run = move});
    orr_entity ship = orr_create_named(world, "ship");
    orr_set(world, ship, Position, {0, 0});
    orr_entity buoy = orr_create_named(world, "buoy");
    orr_set(world, buoy, Position, {5, 5});

    step(world, &screen, "it is told what there is");
    step(world, &screen, "nothing changed, so nothing is told");
    orr_set(world, ship, Velocity, {1, 0}); // not told: the radar does not ask for velocities
    step(world, &screen, "the ship moves");
    orr_add(world, ship, Hidden);
    step(world, &screen, "hidden, it leaves");
    orr_remove(world, ship, Hidden);
    step(world, &screen, "and comes back where it is by now");
    orr_destroy(world, buoy);
    step(world, &screen, "the buoy is gone");
    orr_world_destroy(world);
    return 0;
}
