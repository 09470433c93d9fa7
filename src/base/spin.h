// SPDX-License-Identifier: MIT
// Polling before sleeping, for threads that wait for other threads.
#ifndef ORRI_BASE_SPIN_H
#define ORRI_BASE_SPIN_H

#include <orrery/platform.h>

// Tells the core that this thread polls.
static inline void orri_spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Polls of about 50 µs, with orri_spin_pause() between them. That is longer than a turn in real
// time, or than the time between two runs of the workers in a tick, and as long as a wake-up takes:
// so waiting costs at most twice what the better of polling and sleeping costs.
#define ORRI_SPIN_MOST 1024u

// How long a thread polls before it sleeps. Polling is useless while the thread that is waited for
// does not run: because the machine has other work, or because it waits for long itself. So waits
// that end in sleep shorten the next ones, and only one in ORRI_SPIN_RETRY polls as long as at
// first, to learn whether that helps again. For one thread.
typedef struct orri_spin {
    uint32_t most, polls, waits;
} orri_spin;

#define ORRI_SPIN_LEAST 16u
#define ORRI_SPIN_RETRY 32u

// With one core there is nothing to poll for.
void orri_spin_init(orri_spin* spin, const orr_platform* platform);

// A wait begins: the number of polls before it sleeps.
static inline uint32_t orri_spin_begin(orri_spin* spin)
{
    return ++spin->waits % ORRI_SPIN_RETRY == 0 ? spin->most : spin->polls;
}

// The polls of a wait are over. `slept`: it was not.
static inline void orri_spin_end(orri_spin* spin, bool slept)
{
    spin->polls = !slept                          ? spin->most
                  : spin->polls > ORRI_SPIN_LEAST ? spin->polls / 4
                                                  : spin->polls;
}

#endif
