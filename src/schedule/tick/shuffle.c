// SPDX-License-Identifier: MIT
// A serial run in a random order each tick, among the orders that workers could take: systems of a
// group that do not conflict, and chunks of parallel systems, come in random order. Every such
// order has the same result, unless a system depends on something it did not declare. So hidden
// dependencies show without a second thread, and the seed reproduces them.
#include "schedule/schedule.h"
#include <stdlib.h>

// The state of a group while it is shuffled.
typedef struct shuffle_deck {
    orri_pipeline* pipe;
    uint32_t first; // First step of the group.
    uint32_t* left; // Steps of the group that have not run, in order.
    // By step of the group: how many steps before it conflict with it and have not run.
    uint32_t* waits;
    uint32_t* units; // Order of units of the running system.
    uint32_t count;
    uint64_t turn; // Random numbers drawn.
} shuffle_deck;

// A random number below `count`, by seed, tick and group.
static uint32_t shuffle_pick(shuffle_deck* deck, uint32_t count)
{
    uint64_t seed = deck->pipe->world->schedule->shuffle;
    return (uint32_t)(orr_random(seed, deck->pipe->tick, deck->first, deck->turn++) % count);
}

static orri_system* shuffle_system(const shuffle_deck* deck, uint32_t step)
{
    return deck->pipe->steps[deck->first + step].system;
}

// ---- systems ------------------------------------------------------------------------------------

static void shuffle_begin(shuffle_deck* deck, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++) {
        orri_system* system = shuffle_system(deck, i);
        if (!system->due) {
            continue;
        }
        deck->waits[i] = 0;
        for (uint32_t k = 0; k < deck->count; k++) {
            orri_system* before = shuffle_system(deck, deck->left[k]);
            deck->waits[i] += orri_conflict(deck->pipe->world, before, system);
        }
        deck->left[deck->count++] = i;
    }
}

// Takes a random step that waits for none.
static uint32_t shuffle_take(shuffle_deck* deck)
{
    uint32_t ready = 0;
    for (uint32_t k = 0; k < deck->count; k++) {
        ready += deck->waits[deck->left[k]] == 0;
    }
    ORR_ASSERT(ready > 0); // The first of them waits for none.
    uint32_t pick = shuffle_pick(deck, ready), at = 0;
    while (deck->waits[deck->left[at]] != 0 || pick-- > 0) {
        at++;
    }
    uint32_t step = deck->left[at];
    deck->count--;
    memmove(&deck->left[at], &deck->left[at + 1], (deck->count - at) * sizeof *deck->left);
    return step;
}

// A step has run: later steps wait for one less.
static void shuffle_done(shuffle_deck* deck, uint32_t step)
{
    for (uint32_t k = 0; k < deck->count; k++) {
        uint32_t later = deck->left[k];
        if (later > step) {
            deck->waits[later] -= orri_conflict(deck->pipe->world, shuffle_system(deck, step),
                                                shuffle_system(deck, later));
        }
    }
}

// ---- chunks -------------------------------------------------------------------------------------

// A random order of the system's units; NULL: ascending.
static const uint32_t* shuffle_units(shuffle_deck* deck, const orri_system* system)
{
    if (!system->desc.parallel || !system->in_units || system->unsplit ||
        system->query->unit_count == 0) {
        return NULL;
    }
    uint32_t count = system->query->unit_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = shuffle_pick(deck, i + 1);
        deck->units[i] = deck->units[at];
        deck->units[at] = i;
    }
    return deck->units;
}

// ---- running ------------------------------------------------------------------------------------

static uint32_t shuffle_units_most(const orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    uint32_t most = 0;
    for (uint32_t i = first; i < point; i++) {
        const orri_system* system = pipe->steps[i].system;
        if (system->due && system->in_units && system->query->unit_count > most) {
            most = system->query->unit_count;
        }
    }
    return most;
}

bool orri_shuffle_run(orri_pipeline* pipe, uint32_t first, uint32_t point)
{
    orr_world* world = pipe->world;
    if (ORR_LIKELY(world->schedule->shuffle == 0)) {
        return false;
    }
    uint32_t steps = point - first;
    size_t room = 2 * (size_t)steps + shuffle_units_most(pipe, first, point);
    uint32_t* words = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, uint32_t, room);
    if (words == NULL) {
        return false;
    }
    bool open = orri_group_open_ahead(pipe, first, point);
    if (open) {
        shuffle_deck deck = {pipe, first, words, words + steps, words + 2 * (size_t)steps, 0, 0};
        shuffle_begin(&deck, steps);
        while (deck.count > 0) {
            uint32_t step = shuffle_take(&deck);
            orri_system* system = shuffle_system(&deck, step);
            orri_group_run_one(world, system, shuffle_units(&deck, system));
            shuffle_done(&deck, step);
        }
    }
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, uint32_t, words, room);
    return open;
}

uint64_t orri_shuffle_env(void)
{
    const char* text = getenv("ORR_SHUFFLE");
    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    char* end;
    unsigned long long seed = strtoull(text, &end, 10);
    return *end == '\0' ? seed : orr_hash(text, strlen(text), 0);
}

void orri_shuffle_set(orr_world* world, uint64_t seed)
{
    if (orri_schedule_of(world) != NULL) {
        world->schedule->shuffle = seed;
    }
}
