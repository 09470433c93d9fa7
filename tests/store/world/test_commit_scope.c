// SPDX-License-Identifier: MIT
// Retired memory: lists that are replaced while systems may read them. (Commit scopes:
// tests/realtime/test_realtime_commit_scope.c.)
#include "store/world/commit_scope.h"
#include "support/store_kit.h"
#include "test.h"

static orr_world* scope_begin(kit* k)
{
    orr_world* world = kit_begin(k, NULL);
    (void)orr_create(world);
    return world;
}

static bool longer_list(orr_world* world)
{
    return orri_index_pages(world, world->transient.page_capacity, 2 * world->index.page_capacity);
}

ORR_TEST(list_replaced_in_real_time_is_freed_when_no_system_runs)
{
    kit k;
    orr_world* world = scope_begin(&k);
    orri_record** old = world->hot.pages;
    orri_record* page = old[0];
    uint64_t blocks = k.memory.live_blocks;
    world->realtime = true;
    CHECK(longer_list(world));
    CHECK(world->hot.pages != old && world->hot.pages[0] == page);
    CHECK_EQ(world->change.retired_count, 1);
    CHECK_EQ(k.memory.live_blocks, blocks + 2); // The old list, and the list of retired lists.
    CHECK(old[0] == page);
    world->realtime = false;
    orri_retired_free(world);
    CHECK_EQ(k.memory.live_blocks, blocks);
    kit_end(&k);
}

ORR_TEST(list_replaced_in_lockstep_is_freed_at_once)
{
    kit k;
    orr_world* world = scope_begin(&k);
    uint64_t blocks = k.memory.live_blocks;
    CHECK(longer_list(world));
    CHECK_EQ(world->change.retired_count, 0);
    CHECK_EQ(k.memory.live_blocks, blocks);
    kit_end(&k);
}

ORR_TEST(list_without_memory_for_retiring_is_not_replaced)
{
    kit k;
    orr_world* world = scope_begin(&k);
    orri_record** old = world->hot.pages;
    world->realtime = true;
    for (uint64_t n = 1; n <= 2; n++) {
        failing_alloc_arm(&k.memory, n, false);
        CHECK(!longer_list(world));
        CHECK_EQ(k.memory.refused, 1);
        CHECK(world->hot.pages == old);
        CHECK_EQ(world->change.retired_count, 0);
    }
    failing_alloc_arm(&k.memory, 0, false);
    world->realtime = false;
    orri_retired_free(world);
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}
