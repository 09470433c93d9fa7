// SPDX-License-Identifier: MIT
#include "message/message.h"
#include "support/store_kit.h"
#include "test.h"

ORR_TEST(messages_of_a_world_end_with_it)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK(orri_messages_of(world) != NULL);
    kit_end(&k);
}
