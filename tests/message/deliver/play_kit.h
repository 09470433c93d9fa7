// SPDX-License-Identifier: MIT
// A world that is changed by chance, in every way the public calls know, told after each few, and for each reader a mirror: shared by tests of telling and of
// remembering.
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
    uint64_t hash; // Of everything that was told.
    orr_type types[TYPES];
    orr_cluster clusters[CLUSTERS];
    orr_entity ids[IDS];
    orr_query* writing;
    mirror* mirrors[20];
    bool lazy[20], behind[20];
    uint32_t compared[20];
    uint32_t mirror_count;
    // Two pipelines: which types the other one tells of.
    bool two;
    uint64_t bits[2][ORR_TYPES_MAX / 64];
    orri_foreign foreign[2];
} play;

uint64_t draw(play* p, uint64_t below);
void play_begin(play* p, uint64_t seed, uint8_t fresh_byte);
void play_end(play* p);
// A change of any kind. A loop over values, as that of a direct system.
void play_change(play* p);
void play_loop(play* p);
// Everything is told, at last; sometimes memory is refused before.
void play_tell(play* p);
// Messages are taken by mirrors, not always by those that are lazy; those that have all are compared.
void play_take(play* p, bool all);
void play_compare(play* p);
// Some changes, told and compared.
void play_step(play* p);

#endif
