// SPDX-License-Identifier: MIT
// Systems in real time that create more entities than ids were reserved for them: the ids are given
// when their group ends, and a replay gives the same ones.
#include "schedule/schedule_kit.h"
#include <orrery/orrery.h>

ORR_STRUCT(NestA, (uint32_t, brood))
ORR_STRUCT(NestB, (uint32_t, brood))
ORR_STRUCT(ChickA, (orr_entity, mother), (orr_entity, next), (uint32_t, age))
ORR_STRUCT(ChickB, (orr_entity, mother), (orr_entity, next), (uint32_t, age))

// Memory may be refused: sends may be refused, too.
static bool scarce;

static void sent(orr_result result)
{
    CHECK(result == ORR_OK || scarce);
}

#define HATCH(Nest, Chick)                                                                     \
    static void hatch_##Nest(orr_run* run)                                                     \
    {                                                                                          \
        const Nest* nests = orr_read(run, Nest);                                               \
        for (uint32_t i = 0; i < run->count; i++) {                                            \
            orr_entity last = {0};                                                             \
            for (uint32_t n = 0; n < nests[i].brood + run->tick % 3; n++) {                    \
                orr_entity chick = orr_send_create(run);                                       \
                CHECK(chick.id != 0 || scarce);                                                \
                if (chick.id != 0) {                                                           \
                    sent(orr_send_add(run, chick, Chick, {orr_iter_entity(run, i), last, 0})); \
                    last = chick;                                                              \
                }                                                                              \
            }                                                                                  \
        }                                                                                      \
    }                                                                                          \
    static void age_##Nest(orr_run* run)                                                       \
    {                                                                                          \
        Chick* chicks = orr_write(run, Chick);                                                 \
        for (uint32_t i = 0; i < run->count; i++) {                                            \
            CHECK(chicks[i].next.id == 0 || orr_alive(run->world, chicks[i].next));            \
            if (++chicks[i].age > 4) {                                                         \
                sent(orr_send_destroy(run, orr_iter_entity(run, i)));                          \
            }                                                                                  \
        }                                                                                      \
    }

HATCH(NestA, ChickA)
HATCH(NestB, ChickB)

static orr_world* begin(kit* k, uint32_t workers)
{
    *k = (kit){0};
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = 500, .workers = workers});
    ORR_REGISTER(world, NestA, NestB, ChickA, ChickB);
    CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "A", .rate_hz = 500}).id != 0);
    CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "B", .rate_hz = 300}).id != 0);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_OK(orr_set(world, orr_create(world), NestA, {5 + i}));
        CHECK_OK(orr_set(world, orr_create(world), NestB, {9 - i}));
    }
    KIT_SYSTEM(world, .name = "hatch_a", .pipeline = "A", .query = "NestA", .creates = "ChickA",
               .run = hatch_NestA);
    KIT_SYSTEM(world, .name = "age_a", .pipeline = "A", .query = "write ChickA",
               .destroys = "ChickA", .run = age_NestA);
    KIT_SYSTEM(world, .name = "hatch_b", .pipeline = "B", .query = "NestB", .creates = "ChickB",
               .run = hatch_NestB);
    KIT_SYSTEM(world, .name = "age_b", .pipeline = "B", .query = "write ChickB",
               .destroys = "ChickB", .run = age_NestB);
    return world;
}

ORR_TEST(realtime_creates_beyond_the_reserved_ids_replay_to_the_same_world)
{
    for (uint32_t workers = 0; workers <= 2; workers += 2) {
        kit k;
        orr_world* world = begin(&k, workers);
        orr_recording* recording = orr_recording_create();
        CHECK_OK(orr_realtime(
            world, &(orr_realtime_desc){.ticks = 40, .record = recording, .hashes = true}));
        CHECK_STR(k.errors.text, "");
        CHECK(orr_entity_count(world) > 30);
        uint64_t hash = orr_world_hash(world);
        kit_end(&k);
        world = begin(&k, workers);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = recording}));
        CHECK_STR(k.errors.text, "");
        CHECK(orr_world_hash(world) == hash);
        kit_end(&k);
        orr_recording_destroy(recording);
    }
}

// Memory is refused somewhere: the run ends with an error or not, and the next one goes on.
ORR_TEST(realtime_creates_refused_halfway_go_on)
{
    bool refused = true;
    for (uint64_t n = 1; refused && n < 100000; n += test_brief() ? 7 : 1) {
        kit k;
        orr_world* world = begin(&k, 0);
        scarce = true;
        failing_alloc_arm(&k.memory, n, false);
        orr_result result = orr_realtime(world, &(orr_realtime_desc){.ticks = 4});
        refused = k.memory.refused > 0;
        failing_alloc_arm(&k.memory, 0, false);
        scarce = false;
        CHECK(result == ORR_OK || result == ORR_ERR_MEMORY);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 4}));
        CHECK_OK(orr_world_validate(world));
        kit_end(&k);
    }
    CHECK(!refused);
}
