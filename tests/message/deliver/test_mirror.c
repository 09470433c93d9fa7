// SPDX-License-Identifier: MIT
// A reader can always build a mirror: random changes of every kind the public calls know, told after each few, and for each
// reader a copy of what it selects, made of its messages alone, which must be what the world has.
#include "message/deliver/play_kit.h"

#include <stdlib.h>

ORR_TEST(mirrors_of_all_readers_are_what_the_world_has) /* N0-24 N0-34 N0-49 */
{
    play* p = calloc(1, sizeof *p);
    play_begin(p, test_seed(), 0);
    uint32_t steps = test_rounds(1200, 300, 100000);
    for (uint32_t i = 0; i < steps; i++) {
        play_step(p);
        if (i % 500 == 0) {
            CHECK_OK(orr_world_validate(p->world));
        }
    }
    uint32_t heard = 0; // A rare query may select nobody for a whole test.
    for (uint32_t i = 0; i < p->mirror_count; i++) {
        heard += mirror_messages(p->mirrors[i]) > 0 && p->compared[i] > 0;
    }
    CHECK(test_slow() || heard + 2 >= p->mirror_count);
    play_end(p);
    free(p);
}

// Whoever changes structure tells of it at once, of values only who owns the type: once both have told, all know all.
ORR_TEST(mirrors_of_two_pipelines_are_right_when_both_have_told)
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
    uint32_t steps = test_rounds(600, 150, 50000);
    for (uint32_t i = 0; i < steps; i++) {
        play_step(p);
    }
    play_end(p);
    free(p);
}

ORR_TEST(messages_depend_on_nothing_but_what_happened)
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
