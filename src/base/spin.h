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

// Chooses how often a thread polls before it sleeps. Polling is useless while the awaited thread
// does not run, because the machine has other work or because that thread waits for long itself. So
// a wait that ended in sleep makes the next waits poll less often; one wait in ORRI_SPIN_RETRY polls
// at full length, to find out whether that helps again. Used by one thread.
typedef struct orri_spin {
    uint32_t most;  // Polls of a wait at full length; 0: one core.
    uint32_t polls; // Polls of the next wait.
    uint32_t waits; // Waits so far.
} orri_spin;

#define ORRI_SPIN_LEAST 16u
#define ORRI_SPIN_RETRY 32u

// With one core, waits do not poll.
void orri_spin_init(orri_spin* spin, const orr_platform* platform);

// A wait begins. Returns how often to poll before sleeping.
static inline uint32_t orri_spin_begin(orri_spin* spin)
{
    return ++spin->waits % ORRI_SPIN_RETRY == 0 ? spin->most : spin->polls;
}

// The thread has stopped polling. `slept`: what it waits for had not happened, so it sleeps.
static inline void orri_spin_end(orri_spin* spin, bool slept)
{
    spin->polls = !slept                          ? spin->most
                  : spin->polls > ORRI_SPIN_LEAST ? spin->polls / 4
                                                  : spin->polls;
}

#endif
