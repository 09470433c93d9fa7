// SPDX-License-Identifier: MIT
// A reader can always build a mirror: random changes by all public calls, a diff after each few,
// and for each reader a copy of what it selects, built from its messages only, which must equal the
// world.
#include "message/deliver/play_kit.h"

#include <stdlib.h>

ORR_TEST(mirrors_of_all_readers_equal_the_world) /* N0-24 N0-34 N0-49 */
{
    play* p = calloc(1, sizeof *p);
    play_begin(p, test_seed(), 0);
    uint32_t steps = test_rounds(1200, 300, 25000);
    for (uint32_t i = 0; i < steps; i++) {
        play_step(p);
        if (i % 500 == 0) {
            CHECK_OK(orr_world_validate(p->world));
        }
    }
    // Mirrors that received messages. A rare query may select no entity for a whole test.
    uint32_t active = 0;
    for (uint32_t i = 0; i < p->mirror_count; i++) {
        active += mirror_messages(p->mirrors[i]) > 0 && p->compared[i] > 0;
    }
    CHECK(test_slow() || active + 2 >= p->mirror_count);
    play_end(p);
    free(p);
}

// Structure is sent by the pipeline that changed it, values only by the owner of the type: after
// both diffs all readers know everything.
ORR_TEST(mirrors_of_two_pipelines_equal_the_world_after_both_diffs)
{
    play* p = calloc(1, sizeof *p);
    play_begin(p, test_seed(), 0);
    p->two = true;
    for (uint32_t i = 0; i < TYPES; i++) {
        orri_bit_set(p->bits[i % 2], orri_type_index(p->world, p->types[i]), true);
    }
    for (uint32_t i = 0; i < 2; i++) {
        p->foreign[i] = (orri_foreign){p->bits[i], ORRI_COUNT(p->bits[i])};
    }
    uint32_t steps = test_rounds(600, 150, 12000);
    for (uint32_t i = 0; i < steps; i++) {
        play_step(p);
    }
    play_end(p);
    free(p);
}

ORR_TEST(messages_depend_only_on_changes)
{
    uint64_t hashes[2];
    for (uint32_t round = 0; round < 2; round++) {
        play* p = calloc(1, sizeof *p);
        play_begin(p, test_seed() + 1, round == 0 ? 0x55 : 0xCC);
        for (uint32_t i = 0; i < 60; i++) {
            play_step(p);
        }
        hashes[round] = p->hash;
        play_end(p);
        free(p);
    }
    CHECK(hashes[0] == hashes[1]);
}
