// SPDX-License-Identifier: MIT
// Iterating keeps the structure of a world as it is.
#include "query/query.h"
#include "support/store_kit.h"
#include "test.h"

ORR_TEST(structure_is_refused_while_somebody_iterates)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity entity = orr_create(world);
    world->iterating++;
    CHECK_EQ(orr_create(world).id, 0);
    CHECK_EQ(orr_destroy(world, entity), ORR_ERR_STATE);
    world->iterating--;
    CHECK_OK(orr_destroy(world, entity));
    kit_end(&k);
}
