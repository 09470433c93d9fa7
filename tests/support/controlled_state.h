// SPDX-License-Identifier: MIT
// Internals that the files of the controlled scheduler share. Tests include controlled.h.
//
// Sets of fibers are bit masks. In a schedule exactly one of these holds for each created fiber:
//   bit in `ready`      it can run;
//   bit in `spinning`   it waits for a STORE of another fiber;
//   bit in `asleep`     it waits for a wake (also in `timed`: or for its deadline);
//   bit in `timed`      and not in `asleep`: it waits for its deadline;
//   `joins1` is set     it waits for the end of another fiber;
//   `done`              its function returned.
#ifndef ORR_CONTROLLED_STATE_H
#define ORR_CONTROLLED_STATE_H

#include "controlled.h"
#include "fiber.h"
#include <setjmp.h>

// The place of a fiber; the values of orr_sched_kind are used too.
enum {
    PLACE_START = 0,
    PLACE_JOIN = ORR_SCHED_WAKE + 1,
    PLACE_YIELD,
    PLACE_THREAD_WAIT, // In thread_wait.
    PLACE_SLEEP_NS,    // In sleep_ns.
    PLACE_WOKEN,       // Only in the trace: a wake reached this fiber.
};

// A choice: a fiber, and how it continues.
enum {
    CODE_FIBER = 0x1F,
    CODE_RUN = 0x00,
    CODE_SPIN_OUT = 0x20,
    CODE_TIMEOUT = 0x40,
    CODE_SPURIOUS = 0x60,
    CODE_WOKEN = 0x80,
    CODE_HOW = 0xE0,
    CODES_MAX = 3 * CONTROLLED_FIBERS_MAX,
    OUT_NEVER = UINT16_MAX, // Choices are made again only after the spin.
    THREAD_LOCALS_MAX = 8,
    THREAD_LOCAL_SIZE = 128,
    NAMES_MAX = 256,
};

typedef struct controlled_step {
    const void* word;
    uint16_t out_at; // For SPIN_OUT: choices are made again from this round on.
    uint8_t code;
    uint8_t kind; // The place of the fiber.
} controlled_step;

typedef struct controlled_slot {
    fiber context; // Reused from schedule to schedule.
    void (*run)(void* arg);
    void* arg;
    const void* word;
    uint64_t deadline_ns;
    uint64_t sleep_order; // Sleepers are listed in the order in which they went to sleep.
    uint32_t expected;    // The value it sleeps on.
    uint32_t joins1;      // 1 + the fiber it waits for.
    // Fairness, see controlled.h: fibers that could run, and that ran, since the last spin or
    // yield; fibers that go first.
    uint32_t could_run, ran, behind;
    uint32_t out_node; // The node of the search that chose the current spin.
    uint32_t out_spins;
    uint16_t out_at;
    bool out, out_loaded; // Spins out; a LOAD point was passed in this round.
    bool endless;         // Spun longer than any spin that gives up.
    bool yielded;         // could_run and ran are valid.
    bool live, done;
    uint8_t kind;
    char name[24];
    char locals[THREAD_LOCALS_MAX * THREAD_LOCAL_SIZE];
} controlled_slot;

// A place of the search with more than one choice.
typedef struct controlled_node {
    uint16_t count, index;
    uint16_t out_at; // For a spin: the last round, once known.
} controlled_node;

typedef struct controlled_block controlled_block;

typedef struct controlled {
    orr_platform table;
    controlled_desc desc; // With the defaults filled in.
    controlled_slot slots[CONTROLLED_FIBERS_MAX];
    fiber host;
    bool host_known, exploring;

    // One schedule.
    bool inside; // On a fiber.
    uint32_t slot_count, running;
    uint32_t ready, spinning, asleep, timed;
    uint32_t yielders, lagging; // Fibers with `yielded`, with `behind`.
    uint32_t preemptions, spurious, timeouts;
    uint64_t points, sleeps, now_ns;
    controlled_step* steps;
    uint32_t step_count, steps_room;
    controlled_block* blocks;
    struct {
        const void* word;
        const char* name;
        uint32_t index;
    } names[NAMES_MAX];
    uint32_t name_count;
    jmp_buf host_exit; // For a check that fails outside of the fibers.

    // The strategies.
    controlled_node* nodes;
    uint32_t node_count, node_room, depth;
    controlled_step* replay; // NULL: no replay.
    uint32_t replay_count, replay_at;
    uint64_t random, schedule; // State of the random numbers; number of this schedule.
    uint32_t priorities[CONTROLLED_FIBERS_MAX];
    uint64_t change_at[32];
    uint32_t out_rounds; // Of the last spin that continued alone to its end.
    uint64_t* seen;      // Hashes of schedules, to count different ones.
    uint64_t seen_room, seen_count;

    controlled_result result;
    char message[1024];
    char* failure; // FAILURE_SIZE bytes each.
    char* choices;
} controlled;

enum {
    FAILURE_SIZE = 1 << 18
};

static inline uint32_t controlled_bit(uint32_t index)
{
    return (uint32_t)1 << index;
}

// controlled.c: ends the schedule.
_Noreturn void controlled_stop(controlled* c, controlled_outcome outcome);

// controlled_choose.c: one schedule is begin, choices, end. False from end: there is no other
// schedule.
void controlled_choose_begin(controlled* c);
bool controlled_choose_end(controlled* c);
// Chooses the next fiber, applies the choice to the state and records it in the steps.
uint32_t controlled_choose_next(controlled* c);
// Chooses one of the sleepers; the caller wakes it.
uint32_t controlled_choose_woken(controlled* c, uint32_t sleepers);
// A spin that continued alone is over: whether it has to be tried with choices in its last round.
void controlled_choose_learn(controlled* c, const controlled_slot* slot);
void controlled_choose_forget(controlled* c);

// controlled_memory.c: entries of the table; bytes in use; freeing everything.
void* controlled_memory_alloc(void* user, size_t size, size_t align);
void controlled_memory_free(void* user, void* ptr, size_t size, size_t align);
size_t controlled_memory_held(const controlled* c, size_t* count);
void controlled_memory_reset(controlled* c);

// controlled_text.c
void controlled_note(controlled* c, uint32_t code, uint32_t kind, const void* word,
                     uint32_t out_at);
void controlled_text_choices(controlled* c);
void controlled_text_failure(controlled* c);
// False: not a list of choices.
bool controlled_text_parse(controlled* c, const char* text);

#endif
