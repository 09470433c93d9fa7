// SPDX-License-Identifier: MIT
// Where entities are stored. Entities with the same types and tags are rows of one cluster. A
// cluster is a list of chunks of 2048 rows. A chunk has one array per type. Removing a row moves
// the last row into the gap: rows stay dense, and an entity's address may change while its id does
// not.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))

#define STARS 5000

static void clusters_print(orr_world* world)
{
    orr_cluster cluster = {0};
    while ((cluster = orr_cluster_next(world, cluster)).id != 0) {
        orr_cluster_info info;
        if (orr_cluster_info_get(world, cluster, &info) != ORR_OK) {
            return;
        }
        printf("  cluster {");
        for (uint32_t i = 0; i < info.type_count; i++) {
            printf("%s%s", i > 0 ? ", " : "", orr_type_info_get(world, info.types[i])->name);
        }
        printf("}: %" PRIu32 " rows in chunks of", info.row_count);
        for (uint32_t chunk = 0; chunk < info.chunk_count; chunk++) {
            printf(" %" PRIu32, orr_chunk_count(world, cluster, chunk));
        }
        printf("%s\n", info.chunk_count == 0 ? " none" : "");
    }
}

static void address_print(orr_world* world, orr_entity entity, const char* name)
{
    orr_address address;
    if (orr_address_get(world, entity, &address) == ORR_OK) {
        printf("  %s is in row %" PRIu32 ": chunk %" PRIu32 ", slot %" PRIu32 "\n", name,
               address.row, address.row / ORR_CHUNK_CAPACITY, address.row % ORR_CHUNK_CAPACITY);
    }
}

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    orr_cluster stars = {0}, comets = {0};
    if (orr_cluster_get(world, &(orr_cluster_desc){ORR_TYPES(world, Position)}, &stars) != ORR_OK ||
        orr_cluster_get(world, &(orr_cluster_desc){ORR_TYPES(world, Position, Velocity)},
                        &comets)) {
        return 1;
    }
    static orr_entity ids[STARS];
    if (orr_create_many(world, stars, STARS, NULL, 0, ids) != ORR_OK) {
        return 1;
    }
    printf("5000 stars, created in one call:\n");
    clusters_print(world);
    address_print(world, ids[3000], "star 3000");
    address_print(world, ids[4999], "star 4999");

    orr_destroy(world, ids[3000]);
    printf("star 3000 is destroyed; the last row fills its gap:\n");
    address_print(world, ids[4999], "star 4999");

    orr_set(world, ids[7], Velocity, {1, 0});
    printf("star 7 gets a Velocity, so it moves to the other cluster:\n");
    clusters_print(world);

    if (orr_rows_move_all(world, stars, comets) != ORR_OK) {
        return 1;
    }
    printf("all other stars move there in one call:\n");
    clusters_print(world);
    orr_world_destroy(world);
    return 0;
}
