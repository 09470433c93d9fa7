// SPDX-License-Identifier: MIT
// Tags as levels. A tag is a number chosen by the program. It is part of a cluster's identity, so
// the entities of one level are stored together and found together. Deleting the clusters of a
// level unloads it, at a cost per chunk, not per entity.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Health, (float, value, (.preset = "100")))

enum {
    FOREST = 1,
    CAVE = 2
};

static void level_print(const orr_world* world, orr_tag level)
{
    uint32_t count = 0, rows = 0;
    orr_cluster_match match = {.tags = &level, .tag_count = 1};
    orr_cluster clusters[16];
    uint32_t found = orr_clusters_find(world, &match, clusters, 16);
    for (; count < found && count < 16; count++) {
        orr_cluster_info info;
        if (orr_cluster_info_get(world, clusters[count], &info) == ORR_OK) {
            rows += info.row_count;
        }
    }
    printf("  %s: %" PRIu32 " entities, clusters: %" PRIu32 "\n", orr_tag_name(world, level), rows,
           found);
}

static void level_unload(orr_world* world, orr_tag level)
{
    orr_clusters_delete(world, &(orr_cluster_match){.tags = &level, .tag_count = 1}, NULL);
}

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    if (orr_tag_register(world, FOREST, "forest") != ORR_OK ||
        orr_tag_register(world, CAVE, "cave") != ORR_OK) {
        return 1;
    }
    orr_tag forest = FOREST, cave = CAVE;
    orr_cluster trees = {0}, bats = {0};
    orr_cluster_desc tree_desc = {ORR_TYPES(world, Position), .tags = &forest, .tag_count = 1};
    orr_cluster_desc bat_desc = {ORR_TYPES(world, Position, Health), .tags = &cave, .tag_count = 1};
    orr_entity tree, bat;
    if (orr_cluster_get(world, &tree_desc, &trees) != ORR_OK ||
        orr_cluster_get(world, &bat_desc, &bats) != ORR_OK ||
        orr_create_many(world, trees, 10000, NULL, 0, NULL) != ORR_OK ||
        orr_create_many(world, bats, 300, NULL, 0, NULL) != ORR_OK) {
        return 1;
    }
    tree = orr_create_in(world, trees);
    bat = orr_create_in(world, bats);

    orr_entity hero = orr_create(world);
    orr_set(world, hero, Position, {3, 4});
    orr_add(world, hero, Health);
    orr_tag_add(world, hero, FOREST);
    printf("the hero is in the forest:\n");
    level_print(world, FOREST);
    level_print(world, CAVE);

    orr_tag_remove(world, hero, FOREST);
    orr_tag_add(world, hero, CAVE);
    level_unload(world, FOREST);
    printf("the hero walks into the cave, the forest is unloaded:\n");
    level_print(world, FOREST);
    level_print(world, CAVE);
    printf("  a tree is %s, a bat is %s\n", orr_alive(world, tree) ? "alive" : "gone",
           orr_alive(world, bat) ? "alive" : "gone");
    orr_print(world, hero);
    orr_world_destroy(world);
    return 0;
}
