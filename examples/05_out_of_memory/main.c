// SPDX-License-Identifier: MIT
// Running out of memory is an error code, not a crash. A refused call changes nothing: the world
// stays valid and keeps working, and the same call succeeds when memory is available again.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>
#include <string.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))

#define BATCH 100000 // About 2.8 MB each.

static void on_error(void* user, orr_world* world, const orr_error* error)
{
    (void)world;
    ++*(int*)user;
    // Prints up to the ';': the number of allocated bytes after it may differ between machines.
    printf("  error: %.*s\n", (int)strcspn(error->text, ";"), error->text);
}

static void world_print(orr_world* world)
{
    printf("  %" PRIu64 " entities, the world is %s\n", orr_entity_count(world),
           orr_world_validate(world) == ORR_OK ? "valid" : "broken");
}

int main(void)
{
    int errors = 0;
    orr_world* world = orr_world_create(&(orr_world_desc){
        .memory_bytes_max = 4 << 20, .on_error = on_error, .on_error_user = &errors});
    orr_cluster ships = {0}, rocks = {0};
    if (orr_cluster_get(world, &(orr_cluster_desc){ORR_TYPES(world, Position, Velocity)}, &ships) ||
        orr_cluster_get(world, &(orr_cluster_desc){ORR_TYPES(world, Position)}, &rocks)) {
        return 1;
    }
    printf("100,000 rocks in a world limited to 4 MiB:\n");
    orr_result result = orr_create_many(world, rocks, BATCH, NULL, 0, NULL);
    printf("  %s\n", orr_result_name(result));
    world_print(world);

    printf("100,000 ships do not fit; none is created:\n");
    uint64_t hash = orr_world_hash(world);
    result = orr_create_many(world, ships, BATCH, NULL, 0, NULL);
    printf("  %s\n", orr_result_name(result));
    world_print(world);
    printf("  its hash has %s\n", orr_world_hash(world) == hash ? "not changed" : "changed");

    printf("without the rocks there is room:\n");
    orr_cluster_clear(world, rocks);
    result = orr_create_many(world, ships, BATCH, NULL, 0, NULL);
    printf("  %s\n", orr_result_name(result));
    world_print(world);
    printf("errors received: %d\n", errors);
    orr_world_destroy(world);
    return 0;
}
