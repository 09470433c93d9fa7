// SPDX-License-Identifier: MIT
// A system that creates and destroys entities. Inside a tick a system does not change structure but
// sends changes. They are merged and applied at a commit point, before the first later system that
// could see them. The id of a new entity is valid at once.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x))
ORR_STRUCT(Velocity, (float, x))
ORR_STRUCT(Gun, (uint32_t, wait), (orr_entity, last))
ORR_STRUCT(Bullet, (uint32_t, ticks_left, (.preset = "3")))
ORR_MARKER(Spent)

static void shoot(orr_run* run) // every second tick
{
    Gun* gun = orr_write(run, Gun);
    const Position* p = orr_read(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        if (gun[i].wait > 0) {
            gun[i].wait--;
            continue;
        }
        orr_entity bullet = orr_send_create(run);
        orr_send_add(run, bullet, Position, {p[i].x});
        orr_send_add(run, bullet, Velocity, {10});
        orr_send_add_preset(run, bullet, Bullet);
        gun[i] = (Gun){.wait = 1, .last = bullet}; // the id can be stored before the entity exists
    }
}

static void move(orr_run* run) // also moves bullets of this tick: a commit point precedes it
{
    Position* p = orr_write(run, Position);
    const Velocity* v = orr_read(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += v[i].x;
    }
}

static void age(orr_run* run)
{
    Bullet* bullet = orr_write(run, Bullet);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity self = orr_iter_entity(run, i);
        bullet[i].ticks_left--;
        if (bullet[i].ticks_left == 1) {
            orr_send_add_preset(run, self, Spent);
            orr_send_remove(run, self, Velocity); // merged: the row moves once
        } else if (bullet[i].ticks_left == 0) {
            orr_send_destroy(run, self);
        }
    }
}

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    // Systems use these types only by name, and no entity has them yet: register them here.
    orr_type_of(world, ORR_TYPE(Velocity));
    orr_type_of(world, ORR_TYPE(Bullet));
    orr_type_of(world, ORR_TYPE(Spent));
    orr_system_add(world, &(orr_system_desc){.name = "shoot",
                                             .query = "write Gun, Position",
                                             .run = shoot,
                                             .creates = "Position, Velocity, Bullet"});
    orr_system_add(world, &(orr_system_desc){
                              .name = "move", .query = "write Position, Velocity", .run = move});
    orr_system aging = orr_system_add(world, &(orr_system_desc){.name = "age",
                                                                .query = "write Bullet",
                                                                .run = age,
                                                                .adds = "Spent",
                                                                .removes = "Velocity",
                                                                .destroys = "Bullet"});
    orr_entity cannon = orr_create_named(world, "cannon");
    orr_set(world, cannon, Position, {1});
    orr_set(world, cannon, Gun, {0});

    orr_query* bullets = orr_query_text(world, "Bullet, Position, ?Spent");
    for (uint32_t tick = 1; tick <= 6; tick++) {
        if (orr_step(world, 1) != ORR_OK) {
            return 1;
        }
        printf("after tick %" PRIu32 ":", tick);
        ORR_EACH (it, bullets) {
            const Position* p = orr_read(&it, Position);
            for (uint32_t i = 0; i < it.count; i++) {
                printf(" %g%s", (double)p[i].x, orr_read(&it, Spent) != NULL ? " (spent)" : "");
            }
        }
        printf("\n");
    }
    orr_entity last = orr_get(world, cannon, Gun)->last;
    printf("the last bullet is %s\n", orr_alive(world, last) ? "alive" : "destroyed");
    orr_system_stats stats;
    orr_system_stats_get(world, aging, &stats);
    printf("age sent %" PRIu64 " changes, %" PRIu64 " were dropped\n", stats.sent, stats.dropped);
    orr_world_destroy(world);
    return 0;
}
