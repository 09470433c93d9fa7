// SPDX-License-Identifier: MIT
// Names, bundles, required types and relations in a small scene. A castle is found by its name, its
// doors by their paths. The doors are created from a bundle, refer to the castle by an indexed
// reference, and are destroyed with it.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Health, (float, now, (.preset = "100")), (float, max, (.preset = "100")))
ORR_STRUCT_EX(Hinge, (.needs = "Position"), (float, angle)) // adding a Hinge adds a Position
ORR_STRUCT(PartOf,
           (orr_entity, whole, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_DESTROY)))
ORR_STRUCT(Gravity, (float, g))

static void on_error(void* user, orr_world* world, const orr_error* error)
{
    (void)user, (void)world;
    printf("refused: %s\n", error->text);
}

static orr_entity door_make(orr_world* world, orr_bundle bundle, orr_entity castle,
                            const char* name)
{
    orr_entity door = {0};
    if (orr_bundle_create(world, bundle, 1, &door) == ORR_OK) {
        orr_name_set(world, door, castle, name); // unique within the castle
        orr_set(world, door, PartOf, {castle});
    }
    return door;
}

static void parts_print(orr_world* world, orr_entity castle)
{
    orr_type part_of = orr_type_of(world, ORR_TYPE(PartOf));
    orr_entity parts[8];
    uint32_t count = orr_referrers_get(world, castle, part_of, "whole", parts, 8);
    printf("the castle has %" PRIu32 " parts:", count);
    for (uint32_t i = 0; i < count && i < 8; i++) {
        char path[64];
        orr_path_print(world, parts[i], path, sizeof path);
        printf(" %s", path);
    }
    printf("\n");
}

int main(void)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.on_error = on_error});
    ORR_REGISTER(world, Position, Health, Hinge); // types must be known before text can name them
    orr_bundle solid, door;
    if (orr_bundle_register(world, "solid", "Position, Health", &solid) != ORR_OK ||
        orr_bundle_register(world, "door", "solid, Health {now: 30, max: 30}, Hinge", &door) !=
            ORR_OK) {
        return 1;
    }
    char text[256];
    orr_bundle_print(world, door, text, sizeof text);
    printf("a door is: %s\n", text);

    orr_entity castle = orr_create_named(world, "castle");
    orr_bundle_add(world, castle, solid);
    orr_entity gate = door_make(world, door, castle, "gate");
    door_make(world, door, castle, "postern");
    orr_print(world, gate);
    parts_print(world, castle);

    orr_entity postern = orr_find(world, (orr_entity){0}, "castle/postern");
    orr_edit(world, postern, Health)->now = 5;
    printf("the postern has %g health left\n", (double)orr_get(world, postern, Health)->now);

    // Invalid changes are refused with an explanation.
    orr_remove(world, gate, Position);
    orr_name_set(world, postern, castle, "gate");

    // A singleton: a component of the world's own entity.
    orr_set(world, orr_world_entity(world), Gravity, {9.81f});
    printf("gravity is %g\n", (double)orr_singleton(world, Gravity)->g);

    uint64_t before = orr_entity_count(world);
    orr_destroy(world, castle);
    printf("the castle falls: %" PRIu64 " entities gone, the gate is %s\n",
           before - orr_entity_count(world), orr_alive(world, gate) ? "alive" : "gone");
    orr_world_destroy(world);
    return 0;
}
