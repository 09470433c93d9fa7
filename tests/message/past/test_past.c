// SPDX-License-Identifier: MIT
// Messages after a travel: readers that are part of the state continue as they did, whatever they
// received meanwhile; the others receive the difference, and nothing else.
#include "message/deliver/baseline.h"
#include "message/deliver/play_kit.h"
#include "support/memory_kit.h"

#include <stdlib.h>

enum {
    MEMORIES = 6
};

static void play_outside(play* p, uint32_t first)
{
    for (uint32_t i = first; i < p->mirror_count; i++) {
        mirror_reader(p->mirrors[i])->outside = true;
        mirror_loosen(p->mirrors[i]);
    }
    p->world->messages->baseline->stale = true;
}

// Forgets all memories.
static void play_forget(play* p, memory* memories, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        memory_forget(p->world, &memories[i]);
    }
}

// Sometimes memory is refused: then the world is as it was, or readers are notified later.
static bool play_back(play* p, memory* m)
{
    uint64_t now = orr_world_hash(p->world);
    if (draw(p, 3) == 0) {
        failing_alloc_arm(&p->k.memory, draw(p, 60) + 1, draw(p, 2) == 0);
    }
    orr_result result = memory_back(p->world, m);
    CHECK(result == ORR_OK || (result == ORR_ERR_MEMORY && p->k.memory.refused > 0));
    failing_alloc_arm(&p->k.memory, 0, false);
    if (result != ORR_OK) {
        CHECK_EQ(orr_world_hash(p->world), now);
        return false;
    }
    CHECK_OK(orri_messages_settle(p->world));
    return true;
}

ORR_TEST(mirrors_outside_after_every_travel_equal_the_world)
{
    play* p = calloc(1, sizeof *p);
    memory memories[MEMORIES] = {0};
    uint64_t hashes[MEMORIES] = {0};
    play_begin(p, test_seed(), 0);
    play_outside(p, 0);
    uint32_t steps = test_rounds(800, 200, 50000), travels = 0;
    for (uint32_t i = 0; i < steps; i++) {
        uint32_t at = (uint32_t)draw(p, MEMORIES);
        uint64_t what = draw(p, 6);
        if (what == 0) { // Perhaps before a complete diff.
            memory_forget(p->world, &memories[at]);
            CHECK(memory_take(p->world, &memories[at]));
            hashes[at] = orr_world_hash(p->world);
        } else if (what == 1 && memories[at].store != NULL) {
            if (!play_back(p, &memories[at])) {
                continue;
            }
            CHECK_EQ(orr_world_hash(p->world), hashes[at]);
            CHECK_OK(orr_world_validate(p->world));
            travels++;
            play_take(p, true);
            if (!orri_messages_past_whole(memories[at].messages)) {
                memset(p->behind, 0, sizeof p->behind);
                CHECK_OK(orri_diff_run(p->world, (orr_system){0, 0}, false)); // With all else.
                play_take(p, true);
            }
            play_compare(p);
        }
        if (draw(p, 2) == 0) {
            play_step(p);
        } else {
            play_change(p);
        }
    }
    CHECK(travels > steps / 50);
    play_forget(p, memories, MEMORIES);
    play_end(p);
    free(p);
}

// The hash of all messages from here on, in a fixed number of steps. (Mirrors cannot travel:
// messages are discarded.)
static uint64_t play_again(play* p, uint64_t* world_hash)
{
    p->drawn = 1000000;
    p->hash = 0;
    for (uint32_t i = 0; i < 4; i++) {
        for (uint64_t n = draw(p, 4); n > 0; n--) {
            play_change(p);
        }
        CHECK_OK(orri_diff_run(p->world, (orr_system){0, 0}, draw(p, 2) == 0));
        for (uint32_t r = 0; r < p->mirror_count; r++) {
            orri_reader* reader = mirror_reader(p->mirrors[r]);
            p->hash = orri_reader_hash(reader, p->hash);
            for (uint64_t n = draw(p, 6); n > 0 && orri_reader_next(reader) != NULL; n--) {
            }
            orri_reader_done(reader);
        }
    }
    *world_hash = orr_world_hash(p->world);
    return p->hash;
}

// Also with changes that had not been sent, and with waiting messages.
ORR_TEST(readers_of_the_state_after_a_travel_receive_the_same_again)
{
    uint32_t rounds = test_rounds(120, 30, 5000), incomplete = 0;
    play* p = calloc(1, sizeof *p);
    play_begin(p, test_seed(), 0);
    for (uint32_t i = 0; i < 10; i++) {
        play_step(p);
    }
    for (uint32_t i = 0; i < rounds; i++) {
        memory m;
        orr_entity ids[IDS];
        memcpy(ids, p->ids, sizeof ids);
        uint64_t then = orr_world_hash(p->world), before = p->drawn, worlds[2];
        CHECK(memory_take(p->world, &m));
        incomplete += !orri_messages_past_whole(m.messages);
        uint64_t received = play_again(p, &worlds[0]);
        if (draw(p, 2) == 0) { // Readers are disabled meanwhile.
            orri_reader_enable(p->world, mirror_reader(p->mirrors[i % p->mirror_count]), false);
        }
        CHECK_OK(memory_back(p->world, &m));
        CHECK_EQ(orr_world_hash(p->world), then);
        memcpy(p->ids, ids, sizeof ids);
        CHECK_EQ(play_again(p, &worlds[1]), received);
        CHECK_EQ(worlds[1], worlds[0]);
        CHECK_OK(orr_world_validate(p->world));
        memory_forget(p->world, &m);
        p->drawn = before + 7 * i;
        play_shrink(
            p); // Each round makes the same changes: with some seeds the world would only grow.
        for (uint64_t n = draw(p, 3); n > 0; n--) {
            play_change(p);
        }
    }
    CHECK(incomplete > rounds / 4);
    play_end(p);
    free(p);
}

// Enable bits that did not exist are removed by the travel, and no row moves: a disabled entity is
// enabled again, and comes with the value it had.
ORR_TEST(reader_outside_receives_an_entity_that_was_disabled_once)
{
    kit k;
    memory m;
    orr_world* world = kit_begin(&k, NULL);
    (void)KIT_TYPE(world, Position);
    orr_entity e = orr_create(world), other = orr_create(world);
    CHECK_OK(orr_set(world, e, Position, {1, 0, 0}));
    CHECK_OK(orr_set(world, other, Position, {5, 0, 0}));
    mirror* seen = mirror_make(world, "Position", false, DELIVER_KIT_ALL);
    mirror_reader(seen)->outside = true;
    CHECK_OK(orri_diff_run(world, (orr_system){0, 0}, false));
    CHECK(memory_take(world, &m));
    CHECK_OK(orr_set(world, e, Position, {2, 0, 0}));
    CHECK_OK(orri_diff_run(world, (orr_system){0, 0}, false));
    CHECK_OK(orr_entity_enable(world, e, false));
    CHECK_OK(orri_diff_run(world, (orr_system){0, 0}, false));
    mirror_take(seen);
    mirror_compare(seen);
    CHECK_OK(memory_back(world, &m));
    CHECK_STR(deliver_kit_take(mirror_reader(seen)),
              "EntityAdded travel 0v1 {Position} Position: {x: 1, y: 0, z: 0}\n");
    CHECK_OK(memory_back(world, &m)); // Nothing differs.
    CHECK_STR(deliver_kit_take(mirror_reader(seen)), "");
    memory_forget(world, &m);
    orri_reader_destroy(world, mirror_reader(seen));
    mirror_free(seen);
    kit_end(&k);
}

// One change that no reader has received, of every kind, when the world is remembered.
static void unsent_change(orr_world* world, orr_entity bob, uint32_t kind)
{
    switch (kind) {
    case 0:
        CHECK_OK(orr_set(world, bob, Position, {5, 6, 7}));
        break;
    case 1:
        CHECK_OK(orr_set(world, bob, Velocity, {1, 1}));
        break;
    case 2:
        CHECK_OK(orr_set(world, bob, Body, {3, 3}));
        break;
    case 3:
        CHECK(orr_add_instance(world, bob, Shot, {3, 3}) != 0);
        break;
    case 4:
        CHECK_OK(orr_tag_add(world, bob, 9));
        break;
    case 5:
        CHECK_OK(orr_entity_enable(world, bob, false));
        break;
    case 6:
        CHECK_OK(orr_name_set(world, bob, (orr_entity){0}, "bob"));
        break;
    case 7:
        CHECK_OK(orr_destroy(world, bob));
        break;
    case 8:
        CHECK_OK(orr_remove(world, bob, Position));
        break;
    default:
        CHECK_OK(orr_set(world, orr_create(world), Position, {8, 8, 8}));
    }
}

ORR_TEST(reader_outside_knows_all_entities_after_a_travel_to_a_change_it_had_not_received)
{
    for (uint32_t kind = 0; kind < 10; kind++) {
        for (uint32_t others = 0; others < 2; others++) { // With a reader of the state, too.
            kit k = {0};
            orr_world* world = kit_begin(&k, NULL);
            ORR_REGISTER(world, Position, Velocity, Body, Shot);
            orr_entity bob = orr_create(world);
            CHECK_OK(orr_set(world, bob, Position, {1, 2, 3}));
            CHECK_OK(orr_set(world, orr_create(world), Position, {4, 4, 4}));
            CHECK(orr_add_instance(world, bob, Shot, {1, 1}) != 0);
            mirror* inside = others != 0 ? mirror_make(world, "Position, ?Shot", false, 1000)
                                         : NULL;
            mirror* seen = mirror_make(world, "Position, ?Velocity, ?Shot, ?Body", true, 1000);
            mirror_reader(seen)->outside = true;
            mirror_loosen(seen);
            world->messages->baseline->stale = true;
            CHECK_OK(orri_diff_run(world, (orr_system){0, 0}, false));
            mirror_take(seen);
            mirror_compare(seen);
            unsent_change(world, bob, kind);
            memory m = {0};
            CHECK(memory_take(world, &m));
            for (uint32_t travel = 0; travel < 2; travel++) {
                CHECK_OK(memory_back(world, &m));
                CHECK_OK(orri_messages_settle(world));
                mirror_take(seen);
                CHECK_OK(orri_diff_run(world, (orr_system){0, 0}, false));
                mirror_take(seen);
                mirror_compare(seen);
                CHECK_OK(orr_set(world, orr_create(world), Position, {9, 9, 9}));
                CHECK_OK(orri_diff_run(world, (orr_system){0, 0}, false));
                mirror_take(seen);
                mirror_compare(seen);
            }
            memory_forget(world, &m);
            orri_reader_destroy(world, mirror_reader(seen));
            mirror_free(seen);
            if (inside != NULL) {
                orri_reader_destroy(world, mirror_reader(inside));
                mirror_free(inside);
            }
            kit_end(&k);
        }
    }
}
