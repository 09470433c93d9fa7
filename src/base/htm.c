// SPDX-License-Identifier: MIT
// RTM by compiler builtins, in functions with the target attribute "rtm": so the library is built
// without a compiler flag and runs on machines without RTM. The CPUID bit alone is not sufficient:
// firmware can disable RTM and leave the bit set, and emulators abort every transaction. So a
// transaction must succeed once before RTM is used.
#include "base/htm.h"
#include "base/util.h"
#include <stdatomic.h>

#if defined(__SANITIZE_THREAD__)
#define HTM_NONE
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HTM_NONE
#endif
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(HTM_NONE)

#define HTM_STARTED  0xFFFFFFFFu
#define HTM_EXPLICIT 0x1u  // Aborted by the transaction itself, with a code.
#define HTM_RETRY    0x2u  // The processor suggests another attempt.
#define HTM_CONFLICT 0x4u  // Another core accessed the same memory.
#define HTM_HELD     0x5Au // The abort code for "the lock is held".
#define HTM_TRIALS   16u   // Attempts; an interrupt may abort one of them.

// Result of the trial, found at the first call of orri_htm_works().
enum {
    HTM_UNKNOWN, // Not tried yet.
    HTM_WORKS,   // A transaction succeeded.
    HTM_FAILS,   // RTM is absent or every trial was aborted.
};

static _Atomic int htm_state;

// CPUID leaf `page`, subleaf 0: returns EAX and EBX.
static void htm_cpuid(uint32_t page, uint32_t* a, uint32_t* b)
{
    uint32_t c = 0, d = 0; // ECX selects the subleaf.
    *a = page;
    *b = 0;
    __asm__ volatile("cpuid" : "+a"(*a), "+b"(*b), "+c"(c), "+d"(d));
}

// True if CPUID reports RTM (leaf 7, EBX bit 11).
static bool htm_reported(void)
{
    uint32_t a, b;
    htm_cpuid(0, &a, &b);
    if (a < 7) {
        return false; // Leaf 7 does not exist.
    }
    htm_cpuid(7, &a, &b);
    return (b >> 11 & 1) != 0;
}

// True if a transaction is committed.
__attribute__((target("rtm"))) static bool htm_trial(volatile uint32_t* word)
{
    if ((unsigned)__builtin_ia32_xbegin() != HTM_STARTED) {
        return false;
    }
    *word = __builtin_ia32_xtest() != 0 ? 1 : 2;
    __builtin_ia32_xend();
    return *word == 1;
}

bool orri_htm_works(void)
{
    int state = atomic_load_explicit(&htm_state, memory_order_relaxed);
    if (state == HTM_UNKNOWN) {
        uint32_t word = 0;
        bool works = false;
        for (uint32_t i = 0; htm_reported() && !works && i < HTM_TRIALS; i++) {
            works = htm_trial(&word);
        }
        state = works ? HTM_WORKS : HTM_FAILS;
        // Threads that do this at the same time store the same result.
        atomic_store_explicit(&htm_state, state, memory_order_relaxed);
    }
    return state == HTM_WORKS;
}

__attribute__((target("rtm"))) orri_htm_result orri_htm_try(const _Atomic uint32_t* word,
                                                            void (*function)(void* user),
                                                            void* user)
{
    unsigned status = (unsigned)__builtin_ia32_xbegin();
    if (status == HTM_STARTED) {
        // The word is now in the read set: the transaction aborts when another thread takes the
        // lock.
        if (atomic_load_explicit(word, memory_order_relaxed) != 0) {
            __builtin_ia32_xabort(HTM_HELD);
        }
        function(user);
        __builtin_ia32_xend();
        return ORRI_HTM_DONE;
    }
    if ((status & HTM_EXPLICIT) != 0 && status >> 24 == HTM_HELD) {
        return ORRI_HTM_HELD;
    }
    return (status & (HTM_RETRY | HTM_CONFLICT)) != 0 ? ORRI_HTM_AGAIN : ORRI_HTM_NEVER;
}

#undef HTM_STARTED
#undef HTM_EXPLICIT
#undef HTM_RETRY
#undef HTM_CONFLICT
#undef HTM_HELD
#undef HTM_TRIALS

#else

bool orri_htm_works(void)
{
    return false;
}

orri_htm_result orri_htm_try(const _Atomic uint32_t* word, void (*function)(void* user), void* user)
{
    (void)word;
    (void)function;
    (void)user;
    return ORRI_HTM_NEVER;
}

#endif

#undef HTM_NONE
