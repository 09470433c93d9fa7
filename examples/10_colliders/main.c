// SPDX-License-Identifier: MIT
// Several components of one type on one entity: a `multiple` type. Each instance has an id, which
// stays the same when others are added and removed. All instances of an entity are stored next to
// each other in its row, so a loop over them is a loop over an array.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT_EX(Collider, (.multiplicity = ORR_MULTIPLE), (float, x), (float, y), (float, radius))

static void colliders_print(orr_world* world, orr_query* query, const char* title)
{
    printf("%s\n", title);
    ORR_EACH (it, query) {
        const Position* p = orr_read(&it, Position);
        const Collider* c = orr_read(&it, Collider); // `capacity` values per row
        orr_instances n = orr_instances_of(&it, Collider);
        for (uint32_t i = 0; i < it.count; i++) {
            char name[32];
            orr_path_print(world, orr_iter_entity(&it, i), name, sizeof name);
            printf("  %s has %u, room for %" PRIu32 ":", name, n.counts[i], n.capacity);
            for (uint32_t k = 0; k < n.counts[i]; k++) {
                const Collider* one = &c[i * n.capacity + k];
                printf(" #%" PRIu32 " at %g, %g", n.ids[i * n.capacity + k],
                       (double)(p[i].x + one->x), (double)(p[i].y + one->y));
                printf("%s", orr_iter_instance_on(&it, &n, i, k) ? "" : " (off)");
            }
            printf("\n");
        }
    }
}

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    orr_type collider = orr_type_of(world, ORR_TYPE(Collider));
    orr_query* query = orr_query_create(
        world, &(orr_query_desc){ORR_TERMS(ORR_R(world, Position), ORR_R(world, Collider))});
    if (query == NULL) {
        return 1;
    }

    orr_entity ball = orr_create_named(world, "ball"), crab = orr_create_named(world, "crab");
    orr_set(world, ball, Position, {0, 0});
    orr_set(world, crab, Position, {10, 0});
    orr_instance_add(world, ball, collider, &(Collider){0, 0, 1});
    orr_component_id left = orr_instance_add(world, crab, collider, &(Collider){-2, 1, 0.5f});
    orr_component_id body = orr_instance_add(world, crab, collider, &(Collider){0, 0, 1.5f});
    orr_component_id right = orr_instance_add(world, crab, collider, &(Collider){2, 1, 0.5f});
    colliders_print(world, query, "a ball, and a crab with a body and two claws:");

    // Change one instance by its id, disable one, remove one. The others keep order and ids.
    orr_instance_set(world, crab, collider, right, &(Collider){3, 1, 0.8f});
    orr_instance_enable(world, crab, collider, body, false);
    orr_instance_remove(world, crab, collider, left);
    colliders_print(world, query, "the crab loses its left claw and pulls its body in:");

    // The instances of one entity, without a query.
    const void* values;
    uint32_t count = orr_instances_get(world, crab, collider, &values, NULL);
    printf("the last collider of the crab has radius %g\n",
           (double)((const Collider*)values)[count - 1].radius);
    orr_print(world, crab);
    orr_world_destroy(world);
    return 0;
}
