// SPDX-License-Identifier: MIT
// Predicted ids: creations get the predicted ids in any order; ids that were skipped come next.
#include "store/change/change_set.h"
#include "store/cow/share.h"
#include "support/store_kit.h"
#include "test.h"

static orr_entity nth(const orr_world* world, uint32_t position)
{
    orri_index_cursor cursor = {0};
    return orri_index_nth(world, &cursor, position);
}

static void check_valid(kit* k)
{
    if (orr_world_validate(k->world) != ORR_OK) {
        test_fail(__FILE__, __LINE__, "%s", k->errors.text);
    }
}

// ---- ids given ahead ----------------------------------------------------------------------------

ORR_TEST(index_nth_predicts_the_next_ids)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.entities_max = 6});
    orr_entity e[6], promised[6];
    for (uint32_t i = 0; i < 4; i++) {
        e[i] = orr_create(world);
    }
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_OK(orr_destroy(world, e[i])); // The free list is 2, 1, 0.
    }
    orri_index_cursor cursor = {0};
    for (uint32_t i = 0; i < 5; i++) {
        promised[i] = orri_index_nth(world, &cursor, i);
    }
    CHECK_EQ((uint32_t)promised[0].id, 2);
    CHECK_EQ((uint32_t)promised[4].id, 5);
    CHECK_EQ(orri_index_nth(world, &cursor, 5).id, 0); // entities_max.
    CHECK_EQ(orri_index_nth(world, &cursor, UINT32_MAX).id, 0);
    CHECK_EQ(orri_index_nth(world, &cursor, 2).id, promised[2].id);
    CHECK_EQ(orri_index_nth(world, &cursor, 1).id, promised[1].id); // Back.
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_EQ(orr_create(world).id, promised[i].id);
    }
    CHECK_EQ(orr_create(world).id, 0);
    kit_end(&k);
}

// Sorted positions as runs. Returns their number.
static uint32_t runs_of(const uint32_t* positions, uint32_t count, orri_id_run* out)
{
    uint32_t runs = 0;
    for (uint32_t end = 0, i = 0; i < count; i++) {
        uint32_t least = UINT32_MAX;
        for (uint32_t k = 0; k < count; k++) {
            least = positions[k] >= end && positions[k] < least ? positions[k] : least;
        }
        if (runs > 0 && least == end && least % 2 == 0) { // Some runs meet.
            out[runs - 1].count++;
        } else {
            out[runs++] = (orri_id_run){least, 1, 0};
        }
        end = least + 1;
    }
    return runs;
}

// Promotes some positions and checks the ids that are given next.
static void check_promoted(uint32_t free_count, const uint32_t* positions, uint32_t count,
                           const uint32_t* expected, uint32_t expected_count, bool known)
{
    orri_id_run runs[8];
    uint32_t run_count = runs_of(positions, count, runs);
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity e[8], ids[8];
    for (uint32_t i = 0; i < free_count; i++) {
        e[i] = orr_create(world);
    }
    for (uint32_t i = free_count; i-- > 0;) {
        CHECK_OK(orr_destroy(world, e[i])); // The free list is 0, 1, 2 …
    }
    orri_share* page = free_count > 0 ? orri_share_page(world, 0, ORRI_SHARE_FROZEN)
                                      : NULL; // Held.
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = nth(world, positions[i]);
        CHECK_EQ((uint32_t)ids[i].id, positions[i]);
    }
    CHECK(orri_index_promote(world, ids, count, known ? runs : NULL, known ? run_count : 0));
    check_valid(&k);
    for (uint32_t i = 0; i < expected_count; i++) {
        orr_entity given = orr_create(world);
        CHECK_EQ((uint32_t)given.id, expected[i]);
        CHECK(i >= count || given.id == ids[i].id);
        check_valid(&k);
    }
    if (page != NULL) {
        orri_share_release(world, page);
    }
    kit_end(&k);
}

ORR_TEST(index_promote_moves_ids_to_the_head)
{
#define PROMOTED(free, positions, expected)                                                        \
    check_promoted(free, positions, ORRI_COUNT(positions), expected, ORRI_COUNT(expected), false); \
    check_promoted(free, positions, ORRI_COUNT(positions), expected, ORRI_COUNT(expected), true)
    // In order already: from the free list, fresh, both.
    PROMOTED(3, ((uint32_t[]){0, 1}), ((uint32_t[]){0, 1, 2, 3}));
    PROMOTED(0, ((uint32_t[]){0, 1}), ((uint32_t[]){0, 1, 2}));
    PROMOTED(2, ((uint32_t[]){0, 1, 2, 3}), ((uint32_t[]){0, 1, 2, 3, 4}));
    // The skipped ones of the free list keep their order behind.
    PROMOTED(5, ((uint32_t[]){3, 1}), ((uint32_t[]){3, 1, 0, 2, 4, 5}));
    PROMOTED(3, ((uint32_t[]){2}), ((uint32_t[]){2, 0, 1, 3}));
    // Skipped fresh ones below the largest are next, the lowest first.
    PROMOTED(0, ((uint32_t[]){4, 1}), ((uint32_t[]){4, 1, 0, 2, 3, 5}));
    PROMOTED(2, ((uint32_t[]){5, 1}), ((uint32_t[]){5, 1, 2, 3, 4, 0, 6}));
    // The free list is used up: the next ids are fresh.
    PROMOTED(2, ((uint32_t[]){1, 0, 2, 3}), ((uint32_t[]){1, 0, 2, 3, 4}));
    PROMOTED(1, ((uint32_t[]){2, 0, 1, 3, 4}), ((uint32_t[]){2, 0, 1, 3, 4, 5}));
    PROMOTED(1, ((uint32_t[]){3, 0, 1, 2}), ((uint32_t[]){3, 0, 1, 2, 4}));
#undef PROMOTED
}

ORR_TEST(index_promote_refuses_ids_not_in_the_queue)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.entities_max = 20});
    orr_entity bob = orr_create(world), dead = orr_create(world), ahead = nth(world, 3);
    CHECK_OK(orr_destroy(world, dead));
    uint64_t hash = orr_world_hash(world);
    orr_entity wrong[][2] = {{bob, ahead},
                             {dead, ahead},
                             {ahead, ahead},
                             {nth(world, 0), nth(world, 0)},
                             {{ahead.id + ((uint64_t)1 << 32)}, ahead},
                             {{(uint64_t)1 << 32 | 19}, {(uint64_t)1 << 32 | 20}}};
    for (uint32_t i = 0; i < ORRI_COUNT(wrong); i++) {
        orri_id_run runs[] = {{0, 1, 0}, {3, 1, 0}};
        CHECK(!orri_index_promote(world, wrong[i], 2, i % 2 == 0 ? runs : NULL, 2));
        CHECK_EQ(k.errors.result, i + 1 < ORRI_COUNT(wrong) ? ORR_ERR_ARGUMENT : ORR_ERR_CAPACITY);
        CHECK_EQ(orr_world_hash(world), hash);
        check_valid(&k);
    }
    kit_end(&k);
}

// Positions that are not those of the ids: they are searched.
ORR_TEST(index_promote_with_wrong_positions_searches_the_ids)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity e[10];
    for (uint32_t i = 0; i < 10; i++) {
        e[i] = orr_create(world);
    }
    for (uint32_t i = 10; i-- > 0;) {
        CHECK_OK(orr_destroy(world, e[i]));
    }
    orri_id_run runs[] = {{1, 1, 0}, {4, 2, 0}};
    orr_entity ids[] = {nth(world, 7), nth(world, 1), nth(world, 4)};
    CHECK(orri_index_promote(world, ids, 3, runs, 2));
    check_valid(&k);
    static const uint32_t expected[] = {7, 1, 4, 0, 2, 3, 5, 6, 8, 9, 10};
    for (uint32_t i = 0; i < ORRI_COUNT(expected); i++) {
        CHECK_EQ((uint32_t)orr_create(world).id, expected[i]);
    }
    kit_end(&k);
}

// ---- samples of the free list -------------------------------------------------------------------

enum {
    SAMPLES_MOST = 6000
};

// Two worlds with the same calls: `a` uses samples and positions, `b` walks along the free list.
typedef struct samples_test {
    kit a, b;
    orr_entity live[SAMPLES_MOST];
    uint32_t live_count;
    uint64_t seed, turn;
} samples_test;

static uint32_t below(samples_test* t, uint32_t n)
{
    return (uint32_t)orr_random_below(orr_random(t->seed, t->turn++, 0, 0), n);
}

static void samples_create(samples_test* t, uint32_t count)
{
    for (uint32_t i = 0; i < count && t->live_count < SAMPLES_MOST; i++) {
        orr_entity entity = orr_create(t->a.world);
        CHECK_EQ(orr_create(t->b.world).id, entity.id);
        t->live[t->live_count++] = entity;
    }
}

static void samples_destroy(samples_test* t, uint32_t count)
{
    for (uint32_t i = 0; i < count && t->live_count > 0; i++) {
        uint32_t at = below(t, t->live_count);
        CHECK_OK(orr_destroy(t->a.world, t->live[at]));
        CHECK_OK(orr_destroy(t->b.world, t->live[at]));
        t->live[at] = t->live[--t->live_count];
    }
}

// Promotes few ids from positions far apart, and creates some of them.
static void samples_promote(samples_test* t)
{
    orri_id_run runs[6];
    orr_entity ids[64];
    uint32_t run_count = 1 + below(t, 6), count = 0, position = below(t, 200);
    orri_index_cursor cursor = {0};
    for (uint32_t r = 0; r < run_count; r++) {
        runs[r] = (orri_id_run){position, 1 + below(t, 8), 0};
        orri_free_samples_extend(t->a.world, position);
        for (uint32_t i = 0; i < runs[r].count; i++) {
            ids[count] = orri_index_nth(t->a.world, &cursor, position + i);
            CHECK_EQ(nth(t->b.world, position + i).id, ids[count].id);
            count++;
        }
        position += runs[r].count + below(t, 3) * below(t, 700);
    }
    for (uint32_t i = count; i-- > 1;) { // The order of creation is another one.
        uint32_t k = below(t, i + 1);
        orr_entity id = ids[i];
        ids[i] = ids[k];
        ids[k] = id;
    }
    bool shared = below(t, 3) == 0 && t->a.world->index.page_count > 0;
    orri_share* page = shared ? orri_share_page(t->a.world, 0, ORRI_SHARE_FROZEN) : NULL;
    CHECK(orri_index_promote(t->a.world, ids, count, runs, run_count));
    CHECK(orri_index_promote(t->b.world, ids, count, NULL, 0));
    if (page != NULL) {
        orri_share_release(t->a.world, page);
    }
    samples_create(t, count);
}

static void samples_withhold(samples_test* t)
{
    orr_entity ids[300], other[300];
    uint32_t count = 1 + below(t, 300), first = below(t, count);
    CHECK(orri_index_withhold(t->a.world, ids, count));
    CHECK(orri_index_withhold(t->b.world, other, count));
    CHECK(memcmp(ids, other, count * sizeof *ids) == 0);
    samples_destroy(t, below(t, 300));
    CHECK(orri_index_return(t->a.world, ids + first, count - first));
    CHECK(orri_index_return(t->b.world, ids + first, count - first));
    CHECK(orri_index_return(t->a.world, ids, first));
    CHECK(orri_index_return(t->b.world, ids, first));
}

ORR_TEST(free_samples_never_change_which_ids_are_given)
{
    for (uint64_t round = 0; round < test_rounds(20, 4, 400); round++) {
        samples_test t = {.seed = test_seed() + round};
        (void)kit_begin(&t.a, NULL);
        (void)kit_begin(&t.b, NULL);
        samples_create(&t, SAMPLES_MOST);
        for (uint32_t step = 0; step < 60; step++) {
            switch (below(&t, 5)) {
            case 0:
                samples_create(&t, below(&t, 1500));
                break;
            case 1:
                samples_destroy(&t, below(&t, 1500));
                break;
            case 2:
                samples_withhold(&t);
                break;
            default:
                samples_promote(&t);
            }
            CHECK(orr_world_hash(t.a.world) == orr_world_hash(t.b.world));
            CHECK(orri_free_samples_sound(t.a.world));
        }
        check_valid(&t.a);
        kit_end(&t.a);
        kit_end(&t.b);
    }
}

// Few creations from a long free list, again and again: no walk gets long, so the cost does not
// grow with the list.
ORR_TEST(free_samples_keep_walks_short)
{
    enum {
        LIST = 20000,
        GAP = 2000
    };
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    static orr_entity e[LIST];
    for (uint32_t i = 0; i < LIST; i++) {
        e[i] = orr_create(world);
    }
    for (uint32_t i = 0; i < LIST; i++) {
        CHECK_OK(orr_destroy(world, e[i]));
    }
    uint32_t made = 0;
    for (uint32_t round = 0; round < 100; round++) {
        orri_id_run runs[LIST / GAP];
        orr_entity ids[LIST / GAP];
        orri_free_samples_extend(world, LIST - 1);
        made += world->index.samples_lost == 0;
        for (uint32_t i = 0; i < LIST / GAP; i++) {
            uint32_t position = i * GAP + round % 7;
            orri_index_cursor near = {0};
            if (position < world->index.free_count) {
                orri_free_samples_seek(world, &near, position);
                CHECK(position < 2 * ORRI_SAMPLE_STEP ||
                      (near.next1 != 0 && position - near.position < 8 * ORRI_SAMPLE_STEP));
            }
            runs[i] = (orri_id_run){position, 1, 0};
            ids[i] = nth(world, position);
        }
        CHECK(orri_index_promote(world, ids, LIST / GAP, runs, LIST / GAP));
        for (uint32_t i = 0; i < LIST / GAP; i++) {
            CHECK_EQ(orr_create(world).id, ids[i].id);
        }
    }
    CHECK(made < 20); // They are seldom made again.
    check_valid(&k);
    kit_end(&k);
}
