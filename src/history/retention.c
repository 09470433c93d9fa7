// SPDX-License-Identifier: MIT
// Retention: remembers ticks automatically by the settings of orr_history_set() (the rules), and
// forgets them again. It keeps the most recent ticks and, of older ticks, one per interval, within
// a limit of bytes. Only memories that were made automatically are forgotten here.
#include "history/history.h"
#include "realtime/realtime.h"

// A tick that begins starts another timeline: memories of later ticks are no longer its future.
void orri_history_tick_begins(orr_world* world)
{
    struct orri_history* history = world->history;
    uint32_t first = orri_history_find(history, world->tick + 1);
    history->lost_tick1 = 0;
    if (ORR_UNLIKELY(first < history->memory_count)) {
        orri_history_drop(world, first, history->memory_count - first);
    }
}

static bool retention_on(const orr_history_desc* rules)
{
    return rules->recent != 0 || rules->every != 0;
}

// True if no automatic memory before index `at` is in the same interval of `every` ticks. The first
// one that exists counts, not the tick that `every` divides: in real time not every tick is
// remembered, and some are lost.
static bool retention_first(const struct orri_history* history, uint32_t at, uint64_t tick)
{
    uint64_t every = history->rules.every;
    while (at > 0 && !history->memories[at - 1].automatic) {
        at--;
    }
    return every != 0 && (at == 0 || history->memories[at - 1].tick / every < tick / every);
}

// Forgets automatic memories that left the window of recent ticks since the last call, except the
// first one of each interval. Newest first, so that shares that lean on a freed one find their next
// base nearby.
static void retention_forget_old(orr_world* world)
{
    struct orri_history* history = world->history;
    const orr_history_desc* rules = &history->rules;
    uint64_t oldest = world->tick > rules->recent ? world->tick - rules->recent : 0;
    uint32_t first = orri_history_find(history, history->thinned_to);
    for (uint32_t i = orri_history_find(history, oldest); i-- > first;) {
        const orri_memory* memory = &history->memories[i];
        if (memory->automatic && !retention_first(history, i, memory->tick)) {
            orri_history_drop(world, i, 1);
            history->forgotten++;
        }
    }
    history->thinned_to = oldest;
}

// Forgets the oldest automatic memory before index `end`. False if there is none.
static bool retention_forget_oldest(orr_world* world, uint32_t end)
{
    struct orri_history* history = world->history;
    for (uint32_t i = 0; i < end; i++) {
        if (history->memories[i].automatic) {
            orri_history_drop(world, i, 1);
            history->forgotten++;
            return true;
        }
    }
    return false;
}

// Forgets the oldest automatic memories until the limit of bytes holds; the newest stays. A replay
// forgets as many as were forgotten in the recorded run, because the number of bytes depends on
// spectators.
static void retention_keep_budget(orr_world* world)
{
    struct orri_history* history = world->history;
    uint64_t most = history->rules.bytes_max;
    uint32_t dropped = 0, recorded;
    if (most == 0) {
        return;
    }
    bool replays = orri_replay_budget(world, &recorded);
    while (history->memory_count > 0 &&
           (replays ? dropped < recorded : orri_history_bytes(world) > most) &&
           retention_forget_oldest(world, history->memory_count - 1)) {
        dropped++;
    }
    orri_realtime_log_budget(world, dropped);
}

// True if the rules want the current tick.
static bool retention_want(const orr_world* world)
{
    const struct orri_history* history = world->history;
    return history->rules.recent != 0 ||
           retention_first(history, orri_history_find(history, world->tick), world->tick);
}

void orri_history_tick_ended(orr_world* world)
{
    struct orri_history* history = world->history;
    orri_history_sweep(world);
    if (!retention_on(&history->rules)) {
        return;
    }
    if (retention_want(world) && orri_history_keep(world, true) != ORR_OK) {
        history->lost++; // An allocation failed: the oldest is freed, so that the world has memory.
        (void)retention_forget_oldest(world, history->memory_count);
    }
    retention_forget_old(world);
    retention_keep_budget(world);
}

bool orri_history_tick_wanted(const orr_world* world)
{
    const orr_history_desc* rules = &world->history->rules;
    uint32_t interval = rules->sync_every > 0 ? rules->sync_every : 1;
    return retention_on(rules) && world->schedule->pipelines[0]->tick % interval == 0 &&
           retention_want(world);
}

void orri_history_sync_point(orr_world* world)
{
    orri_history_sweep(world);
    if (orri_history_at(world, world->tick) == NULL) { // Otherwise no tick ran since.
        orri_history_tick_ended(world);
    }
}

void orri_history_keep_now(orr_world* world)
{
    const struct orri_history* history = world->history;
    const orri_memory* now =
        history != NULL && history->rules.recent != 0 ? orri_history_at(world, world->tick) : NULL;
    bool wanted = history != NULL && history->rules.recent != 0 &&
                  (now == NULL || (now->automatic && !orri_snapshot_same(world, now->store)));
    if (wanted && orri_history_keep(world, true) != ORR_OK) {
        world->history->lost++;
    }
}

orr_result orr_history_set(orr_world* world, const orr_history_desc* desc)
{
    ORR_ASSERT(world != NULL);
    orr_result result = orri_step_between(world, "orr_history_set");
    if (result != ORR_OK) {
        return result;
    }
    if (desc == NULL) {
        return orri_refuse_argument(world, "orr_history_set", "the desc is NULL");
    }
    struct orri_history* history = orri_history_of(world);
    if (history == NULL) {
        return ORR_ERR_MEMORY;
    }
    if (retention_on(desc) && orri_history_at(world, world->tick) == NULL) {
        result = orri_history_keep(world, true);
    }
    if (result == ORR_OK) {
        history->rules = *desc;
        history->thinned_to = 0;
        retention_forget_old(world);
        retention_keep_budget(world);
        while (!retention_on(desc) && retention_forget_oldest(world, history->memory_count)) {
        }
    }
    return result;
}
