// SPDX-License-Identifier: MIT
// Runs in real time under the controlled scheduler: the number of schedules, and a check that each
// schedule passes.
#ifndef TEST_EXPLORE_KIT_H
#define TEST_EXPLORE_KIT_H

#include "base/sync.h"
#include "base/util.h"
#include "realtime/realtime.h"
#include "support/controlled.h"
#include "test.h"

ORR_MAYBE_UNUSED static uint64_t explore_share(uint64_t fast, uint64_t slow, uint64_t most)
{
    return test_long() && !test_slow() ? most : test_slow() ? slow : fast;
}

ORR_MAYBE_UNUSED static void explore(const char* name, void (*body)(const orr_platform*, void*),
                                     void* arg, controlled_strategy strategy, uint64_t schedules)
{
    controlled_thread_local(&orri_this_thread, sizeof orri_this_thread);
    controlled_thread_local(&orri_refused_last, sizeof orri_refused_last);
    controlled_result result = controlled_explore(&(controlled_desc){.name = name,
                                                                     .body = body,
                                                                     .arg = arg,
                                                                     .strategy = strategy,
                                                                     .preemptions_max = 1,
                                                                     .timeouts_max = 3,
                                                                     .steps_max = 200000,
                                                                     .cores = 1,
                                                                     .clock_step_ns = 1000,
                                                                     .schedules_max = schedules});
    CONTROLLED_PASS(result);
    printf("  %-28s %8" PRIu64 " schedules, %8" PRIu64 " distinct%s\n", name, result.schedules,
           result.distinct, result.exhausted ? ", exhaustive" : "");
    CHECK(result.distinct >= schedules / 4);
}

#endif
