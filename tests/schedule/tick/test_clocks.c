// SPDX-License-Identifier: MIT
// The scenario `clocks` in lockstep. Its systems find no fault; every tick has the same hash, with
// any number of workers, with and without the pipeline that draws; and the systems find every fault
// that is planted.
#include "scenarios/clocks.h"
#include "schedule/schedule.h"
#include "support/store_kit.h"
#include "test.h"

enum {
    TICKS = 300
};

typedef struct three {
    kit k;
    clocks c;
    uint64_t hashes[TICKS];
} three;

static void three_begin(three* t, uint32_t workers, const clocks_desc* desc)
{
    *t = (three){0};
    orr_world* world =
        kit_begin(&t->k, &(orr_world_desc){.rate_hz = CLOCKS_LOGIC_HZ, .workers = workers});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    if (!clocks_build(&t->c, world, desc)) {
        test_fail(__FILE__, __LINE__, "clocks was refused: %s", orr_error_last(world));
    }
}

static void three_run(three* t, uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        if (orr_step(t->k.world, 1) != ORR_OK) {
            test_fail(__FILE__, __LINE__, "tick %u was refused: %s", i, orr_error_last(t->k.world));
        }
        t->hashes[i] = orr_world_hash(t->k.world);
    }
}

static void three_end(three* t)
{
    CHECK_STR(t->k.errors.text, "");
    kit_end(&t->k);
}

static void check_faultless(const clocks* c)
{
    for (uint32_t i = 0; i < CLOCKS_FAULTS; i++) {
        if (c->found[i] != 0) {
            test_fail(__FILE__, __LINE__, "%llu faults: %s", (unsigned long long)c->found[i],
                      clocks_fault_name((clocks_fault)i));
        }
    }
}

// The systems had work, and as many entities are created as destroyed.
static void check_worked(const three* t, uint32_t ticks)
{
    const clocks* c = &t->c;
    uint64_t rows = (uint64_t)c->desc.size * ticks, size = c->desc.size;
    uint64_t alive = orr_entity_count(t->k.world);
    CHECK(alive > size - size / 20 && alive <= size);
    CHECK(c->moved > 3 * rows && c->probed > 3 * rows && c->looked > rows - rows / 20);
    CHECK(c->desc.no_draw || c->drawn > rows);
    CHECK(c->born > rows / 250 && c->kicks > rows / 40);
    CHECK(c->hits > rows / 80 && c->heard + size / 32 > c->hits && c->heard <= c->hits);
    CHECK(c->felt > rows - rows / 20 && c->ached > rows / 10);
    CHECK(c->desc.no_draw || c->boomed + size / 16 > c->hits);
}

static void three_whole(three* t, uint32_t workers, const clocks_desc* desc, uint32_t ticks)
{
    three_begin(t, workers, desc);
    three_run(t, ticks);
    check_faultless(&t->c);
    check_worked(t, ticks);
    three_end(t);
}

static three serial, other;

ORR_TEST(clocks_with_any_number_of_workers_find_no_fault_and_have_one_hash_per_tick)
{
    uint32_t ticks = test_rounds(TICKS, 60, TICKS);
    three_whole(&serial, 0, &(clocks_desc){0}, ticks);
    static const uint32_t workers[] = {2, 8};
    for (uint32_t w = 0; w < 2; w++) {
        three_whole(&other, workers[w], &(clocks_desc){0}, ticks);
        CHECK(memcmp(serial.hashes, other.hashes, sizeof serial.hashes) == 0);
    }
}

// Several chunks.
ORR_TEST(clocks_of_many_entities_find_no_fault_and_have_one_hash_per_tick)
{
    uint32_t ticks = test_brief() ? 8 : test_rounds(60, 30, 200);
    three_whole(&serial, 0, &(clocks_desc){.size = 12000}, ticks);
    three_whole(&other, 3, &(clocks_desc){.size = 12000}, ticks);
    CHECK(memcmp(serial.hashes, other.hashes, sizeof serial.hashes) == 0);
}

ORR_TEST(clocks_without_drawing_and_with_faster_drawing_have_the_same_hashes)
{
    uint32_t ticks = test_rounds(100, 40, TICKS);
    three_whole(&serial, 0, &(clocks_desc){.size = 500}, ticks);
    three_whole(&other, 0, &(clocks_desc){.size = 500, .no_draw = true}, ticks);
    CHECK(memcmp(serial.hashes, other.hashes, sizeof serial.hashes) == 0);
    three_whole(&other, 2, &(clocks_desc){.size = 500, .draw_hz = 250}, ticks);
    CHECK(memcmp(serial.hashes, other.hashes, sizeof serial.hashes) == 0);
}

// ---- planted faults -----------------------------------------------------------------------------

typedef struct planted {
    clocks_plant plant;
    clocks_fault found;
} planted;

static const planted plants[] = {
    {CLOCKS_PLANT_HALF_ROWS, CLOCKS_UNEQUAL},  {CLOCKS_PLANT_HALF_TICK, CLOCKS_TORN},
    {CLOCKS_PLANT_OLD_ROWS, CLOCKS_BACKWARDS}, {CLOCKS_PLANT_HALF_HEAT, CLOCKS_TORN},
    {CLOCKS_PLANT_HALF_LOGIC, CLOCKS_TORN},    {CLOCKS_PLANT_HALF_KICK, CLOCKS_UNBALANCED},
    {CLOCKS_PLANT_HALF_SCAR, CLOCKS_TORN},     {CLOCKS_PLANT_EVENT, CLOCKS_EVENT}};

// In a tick that another pipeline reads: the pipeline's own next tick would find most faults, too.
static void check_found(uint32_t workers, const planted* p)
{
    bool physics = p->plant <= CLOCKS_PLANT_HALF_HEAT;
    three_begin(&other, workers,
                &(clocks_desc){.size = 500, .plant = p->plant, .plant_tick = physics ? 83 : 21});
    three_run(&other, 20);
    check_faultless(&other.c);
    three_run(&other, 3);
    if (other.c.found[p->found] == 0) {
        test_fail(__FILE__, __LINE__, "plant %d was not found as %s", (int)p->plant,
                  clocks_fault_name(p->found));
    }
    CHECK(clocks_faults(&other.c) > 0);
    three_end(&other);
}

ORR_TEST(clocks_with_a_planted_fault_find_it)
{
    CHECK_EQ(sizeof plants / sizeof plants[0], CLOCKS_PLANTS - 1);
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        check_found(0, &plants[i]);
        check_found(2, &plants[i]);
    }
}
