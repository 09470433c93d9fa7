// SPDX-License-Identifier: MIT
// A query as text, as from a config file, a console or a script. Errors state the column, the
// reason and the most similar name. orr_query_explain() shows which clusters match, and why others
// do not.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_STRUCT(Health, (int32_t, now))
ORR_STRUCT(Armor, (int32_t, now))
ORR_MARKER(Frozen)

enum {
    LEVEL_1 = 1
};

static void on_error(void* user, orr_world* world, const orr_error* error)
{
    (void)user, (void)world;
    printf("refused: %s\n", error->text);
}

// Creates entities with these types, inside or outside the level.
static bool some_make(orr_world* world, uint32_t count, bool in_level, orr_cluster_desc desc)
{
    orr_tag level = LEVEL_1;
    orr_cluster cluster;
    desc.tags = &level;
    desc.tag_count = in_level;
    return orr_cluster_get(world, &desc, &cluster) == ORR_OK &&
           orr_create_many(world, cluster, count, NULL, 0, NULL) == ORR_OK;
}
#define SOME(...) ((orr_cluster_desc){ORR_TYPES(world, __VA_ARGS__)})

int main(void)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.on_error = on_error});
    if (orr_tag_register(world, LEVEL_1, "level1") != ORR_OK ||
        !some_make(world, 20, true, SOME(Position, Velocity, Health, Armor)) || // knights
        !some_make(world, 4, true, SOME(Position, Velocity, Armor)) ||          // rolling shields
        !some_make(world, 5, true, SOME(Position, Velocity, Health, Frozen)) || // statues
        !some_make(world, 300, true, SOME(Position)) ||                         // rocks
        !some_make(world, 70, false, SOME(Position, Velocity, Health))) {       // elsewhere
        return 1;
    }

    printf("---- invalid queries\n");
    const char* wrong[] = {"write Position, Velocty, #level1", "Position, Velocity !Frozen",
                           "Position, #leve1", "write !Frozen"};
    for (int i = 0; i < 4; i++) {
        if (orr_query_text(world, wrong[i]) != NULL) {
            return 1;
        }
    }

    // A name is a type, # a tag; ! means without, ? optional, | at least one of these.
    orr_query* query =
        orr_query_text(world, "write Position, Velocity, #level1, !Frozen, Health|Armor");
    if (query == NULL) {
        return 1;
    }
    printf("---- a valid query finds %" PRIu64 "\n", orr_query_count(query));
    char text[2048];
    orr_query_explain(query, text, sizeof text);
    printf("%s\n", text);
    orr_world_destroy(world);
    return 0;
}
