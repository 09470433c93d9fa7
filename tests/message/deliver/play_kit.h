// SPDX-License-Identifier: MIT
// A world with random changes, by all public calls, a diff after each few, and for each reader a
// mirror: shared by tests of the diff and of the past.
#ifndef TEST_PLAY_KIT_H
#define TEST_PLAY_KIT_H

#include "message/deliver/deliver_kit.h"
#include "test.h"

enum {
    IDS = 200,
    TYPES = 17,
    CLUSTERS = 12
};

typedef struct play {
    kit k;
    orr_world* world;
    uint64_t seed, drawn;
    uint64_t hash; // Of all messages.
    orr_type types[TYPES];
    orr_cluster clusters[CLUSTERS];
    orr_entity ids[IDS];
    orr_query* writing;
    mirror* mirrors[20];
    bool lazy[20], behind[20];
    uint32_t compared[20];
    uint32_t mirror_count;
    // Two pipelines: the types that the other one owns.
    bool two;
    uint64_t bits[2][ORR_TYPES_MAX / 64];
    orri_foreign foreign[2];
} play;

uint64_t draw(play* p, uint64_t below);
void play_begin(play* p, uint64_t seed, uint8_t fresh_byte);
void play_end(play* p);
// A change of any kind.
void play_change(play* p);
// Writes values in a loop, like a direct system.
void play_loop(play* p);
// A complete diff; sometimes memory is refused first.
void play_diff(play* p);
// Mirrors take messages, lazy ones not always unless `all`.
void play_take(play* p, bool all);
// Compares mirrors that have taken everything and did not lose their queue.
void play_compare(play* p);
// A world that has grown is made small again, in one of several ways.
void play_shrink(play* p);
// Some changes, a diff and a comparison.
void play_step(play* p);

#endif
