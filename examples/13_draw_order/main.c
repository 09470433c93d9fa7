// SPDX-License-Identifier: MIT
// Sorted iteration and groups. Sprites are drawn back to front: a query returns its entities sorted
// by a field and keeps that order, so that only changed entities are sorted again. Groups sort
// whole clusters by a key that the program computes from their types and tags, without reading
// rows.
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Sprite, (char, picture, 8), (float, depth))

// Tags as layers, drawn in this order.
enum {
    SKY = 1,
    GROUND = 2,
    SCREEN = 3
};

static orr_entity sprite_make(orr_world* world, orr_tag layer, const char* picture, float depth)
{
    Sprite sprite = {.depth = depth};
    snprintf(sprite.picture, sizeof sprite.picture, "%s", picture);
    orr_entity e = orr_create(world);
    orr_tag_add(world, e, layer);
    orr_put(world, e, Sprite, &sprite);
    return e;
}

static void draw(orr_query* query, const char* title)
{
    printf("%s", title);
    ORR_EACH (it, query) {
        const Sprite* s = orr_read(&it, Sprite);
        for (uint32_t i = 0; i < it.count; i++) {
            printf(" %s", s[i].picture);
        }
    }
    printf("\n");
}

// Called once per cluster. The result may depend only on the cluster's types and tags.
static uint64_t layer_of(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)user;
    orr_cluster_info info;
    return orr_cluster_info_get(world, cluster, &info) == ORR_OK ? info.tags[0] : 0;
}

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    sprite_make(world, SCREEN, "score", 0);
    sprite_make(world, GROUND, "tree", 7);
    sprite_make(world, SKY, "cloud", 90);
    orr_entity hero = sprite_make(world, GROUND, "hero", 1);
    sprite_make(world, GROUND, "hill", 20);
    sprite_make(world, SKY, "moon", 99);

    orr_query* plain = orr_query_text(world, "Sprite");
    orr_query* layers =
        orr_query_create(world, &(orr_query_desc){.text = "Sprite", .group_by = layer_of});
    orr_query* sorted = orr_query_create(
        world,
        &(orr_query_desc){.text = "Sprite", .order_by = "Sprite.depth", .order_descending = true});
    if (plain == NULL || layers == NULL || sorted == NULL) {
        return 1;
    }
    draw(plain, "in storage order:  ");
    draw(layers, "layer by layer:    ");
    printf("the ground alone:  ");
    ORR_EACH_OF (it, layers, .only_group = true, .group = GROUND) {
        const Sprite* s = orr_read(&it, Sprite);
        for (uint32_t i = 0; i < it.count; i++) {
            printf(" %s", s[i].picture);
        }
    }
    printf("\n");
    draw(sorted, "back to front:     ");

    orr_edit(world, hero, Sprite)->depth = 8; // The next loop updates the order.
    draw(sorted, "hero behind a tree:");
    orr_world_destroy(world);
    return 0;
}
