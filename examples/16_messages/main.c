// SPDX-License-Identifier: MIT
// An indirect system does not access the world: it receives messages. First it receives everything
// its query selects, then the changes. So it can keep a mirror in its own format: here a table of
// blips, as a renderer or a physics engine would have.
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
    return i; // r->count if the table does not have the ship
}

static void receive(orr_run* run)
{
    radar* r = orr_run_user(run);
    ORR_MESSAGES(m, run)
    { // one message: an array of entities with the same change
        char text[200];
        orr_message_print(m, 3, text, sizeof text);
        printf("  %s\n", text);
        const Position* p = orr_values(m, Position); // NULL if the message has none
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
    // Systems use these types only by name, and no entity has them yet: register them here.
    orr_type_of(world, ORR_TYPE(Velocity));
    orr_type_of(world, ORR_TYPE(Hidden));
    orr_system_add(world, &(orr_system_desc){.name = "radar",
                                             .kind = ORR_INDIRECT,
                                             .query = "Position, !Hidden",
                                             .run = receive,
                                             .user = &screen,
                                             .after = "move"});
    orr_system_add(world, &(orr_system_desc){
                              .name = "move", .query = "write Position, Velocity", .run = move});
    orr_entity ship = orr_create_named(world, "ship");
    orr_set(world, ship, Position, {0, 0});
    orr_entity buoy = orr_create_named(world, "buoy");
    orr_set(world, buoy, Position, {5, 5});

    step(world, &screen, "the first tick sends the present state");
    step(world, &screen, "no change, no message");
    orr_set(world, ship, Velocity, {1, 0}); // no message: the radar's query has no Velocity
    step(world, &screen, "the ship moves");
    orr_add(world, ship, Hidden);
    step(world, &screen, "a hidden ship leaves the query");
    orr_remove(world, ship, Hidden);
    step(world, &screen, "it returns, at its new position");
    orr_destroy(world, buoy);
    step(world, &screen, "the buoy is destroyed");
    orr_world_destroy(world);
    return 0;
}
