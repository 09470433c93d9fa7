// SPDX-License-Identifier: MIT
// Worlds made of parts (odd_kit.h, odd_kit_more.h, odd_kit_kinds.h). The parts and their pipelines
// are given, or chosen at random.
#ifndef TEST_ODD_WORLD_KIT_H
#define TEST_ODD_WORLD_KIT_H

#include "realtime/odd_kit_kinds.h"
#include "realtime/odd_kit_more.h"

typedef struct odd_desc {
    uint32_t workers;
    orr_access_check audit;
    uint32_t ticks;
    uint64_t seed;
    uint32_t pipes;    // Besides the first pipeline. 0: 2.
    uint64_t parts;    // Bits of the parts to use.
    const char* trace; // Path of the trace file.
    bool journal;
} odd_desc;

static const struct {
    const char* name;
    odd_part part;
} odd_parts[] = {
    {"strings", part_strings},
    {"hooks", part_hooks},
    {"multiple", part_multiple},
    {"pinned", part_pinned},
    {"switches", part_switches},
    {"changed", part_changed},
    {"orders", part_orders},
    {"references", part_references},
    {"transactions", part_transactions},
    {"exports", part_exports},
    {"readers", part_readers},
    {"sections", part_sections},
    {"parallel", part_parallel},
    {"systems", part_systems},
    {"live", part_live},
    {"kinds", part_kinds},
};
enum {
    ODD_PARTS = sizeof odd_parts / sizeof *odd_parts,
    ODD_UNRECORDED = 1 << 11 // Atomic sections of a parallel system cannot be recorded.
};

static const char* odd_pipe(char* out, const odd_desc* desc, uint64_t dice)
{
    uint32_t pipes = desc->pipes != 0 ? desc->pipes : 2;
    uint32_t at = (uint32_t)(dice % (pipes + 1));
    snprintf(out, 16, "pipe_%u", at);
    return at == 0 ? "main" : out;
}

static orr_world* odd_begin(kit* k, const odd_desc* desc)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = 200,
                                                      .workers = desc->workers,
                                                      .seed = desc->seed,
                                                      .atomic_sections = true});
    orr_access_check_set(world, desc->audit != ORR_ACCESS_CHECK_DEFAULT ? desc->audit
                                                                        : ORR_ACCESS_CHECK_CALLS);
    uint32_t pipes = desc->pipes != 0 ? desc->pipes : 2;
    for (uint32_t i = 1; i <= pipes; i++) {
        char name[16];
        snprintf(name, sizeof name, "pipe_%u", i);
        double rate = desc->seed == 0 ? 200 + 100 * i
                                      : (double)(50 + orr_random(desc->seed, i, 1, 0) % 500);
        bool continuous = desc->seed != 0 && orr_random(desc->seed, i, 2, 0) % 5 == 0;
        orr_pipeline_desc pipe = {.name = name, .rate_hz = continuous ? 0 : rate};
        CHECK(orr_pipeline_add(world, &pipe).id != 0);
    }
    for (uint32_t i = 0; i < ODD_PARTS; i++) {
        if ((desc->parts >> i & 1) != 0) {
            char names[3][16];
            uint64_t dice = desc->seed != 0 ? orr_random(desc->seed, i, 3, 0) : i;
            odd_pipes p = {odd_pipe(names[0], desc, dice), odd_pipe(names[1], desc, dice + 1),
                           odd_pipe(names[2], desc, dice + 2 + (dice >> 32 & 1))};
            odd_parts[i].part(world, p);
        }
    }
    if (desc->journal) {
        CHECK_OK(orr_journal_set(world, 500));
        orr_stats_time_all(world, true);
    }
    if (desc->trace != NULL) {
        CHECK_OK(orr_trace_set(world, desc->trace));
    }
    CHECK_STR(k->errors.text, "");
    return world;
}

static void odd_end(kit* k)
{
    if (atomic_load(&odd_faults) != 0) {
        test_fail(__FILE__, __LINE__, "%u faults", (unsigned)atomic_load(&odd_faults));
        atomic_store(&odd_faults, 0);
    }
    if (strstr(k->errors.text, "the message queue of system 'leaf_lazy'") == NULL) {
        CHECK_STR(k->errors.text, "");
    }
    kit_end(k);
}

// Runs until everything that was sent has arrived.
static void odd_settle(orr_world* world)
{
    static const char* const names[] = {"purse_pay", "purse_pay_too", "leaf_grow", "leaf_churn"};
    for (uint32_t i = 0; i < 4; i++) {
        orr_system system = orr_system_find(world, names[i]);
        if (system.id != 0) {
            CHECK_OK(orr_system_enable(world, system, false));
        }
    }
    CHECK(test_ticks_ran(orr_step(world, 40)));
}

// A world of random parts, pipelines and workers. Prints its choice.
ORR_MAYBE_UNUSED static odd_desc odd_by_chance(uint64_t seed)
{
    uint64_t parts = orr_random(seed, 7, 0, 0) & orr_random(seed, 8, 0, 0);
    parts = (parts & ((UINT64_C(1) << ODD_PARTS) - 1) & ~(uint64_t)ODD_UNRECORDED) | 1 << seed % 11;
    odd_desc desc = {.workers = (uint32_t)(seed % 3) * 2,
                     .seed = seed,
                     .parts = parts,
                     .pipes = 1 + (uint32_t)(orr_random(seed, 9, 0, 0) % 4)};
    printf("    seed %llu: parts %llx, %u pipelines, %u workers\n", (unsigned long long)seed,
           (unsigned long long)parts, desc.pipes + 1, desc.workers);
    return desc;
}

#endif
