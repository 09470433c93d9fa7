// SPDX-License-Identifier: MIT
// RTM by the compilers' builtins, in functions that say they need it: so the library is built without any flag for it, and runs where
// there is none. The processor's word alone is not enough: firmware switches RTM off in ways that leave it standing, and emulators give
// up every transaction. So one is carried through before it counts.
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
#define HTM_EXPLICIT 0x1u // By the transaction itself, with a code.
#define HTM_RETRY    0x2u
#define HTM_CONFLICT 0x4u
#define HTM_HELD     0x5Au // The code.
#define HTM_TRIALS   16u   // An interrupt may end one of them.

enum {
    HTM_UNKNOWN,
    HTM_WORKS,
    HTM_FAILS,
};

static _Atomic int htm_state;

// What the processor says of itself, on a page: a and b of the four words.
static void htm_ask(uint32_t page, uint32_t* a, uint32_t* b)
{
    uint32_t c = 0, d = 0; // Of the page the first part.
    *a = page;
    *b = 0;
    __asm__ volatile("cpuid" : "+a"(*a), "+b"(*b), "+c"(c), "+d"(d));
}

static bool htm_said(void)
{
    uint32_t a, b;
    htm_ask(0, &a, &b);
    if (a < 7) {
        return false; // That is its last page.
    }
    htm_ask(7, &a, &b);
    return (b >> 11 & 1) != 0;
}

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
        for (uint32_t i = 0; htm_said() && !works && i < HTM_TRIALS; i++) {
            works = htm_trial(&word);
        }
        state = works ? HTM_WORKS : HTM_FAILS;
        atomic_store_explicit(&htm_state, state,
                              memory_order_relaxed); // Whoever asks finds the same.
    }
    return state == HTM_WORKS;
}

__attribute__((target("rtm"))) orri_htm_end orri_htm_try(const _Atomic uint32_t* word,
                                                         void (*function)(void* user), void* user)
{
    unsigned status = (unsigned)__builtin_ia32_xbegin();
    if (status == HTM_STARTED) {
        // Having read it, the transaction ends as soon as somebody takes the lock.
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

orri_htm_end orri_htm_try(const _Atomic uint32_t* word, void (*function)(void* user), void* user)
{
    (void)word;
    (void)function;
    (void)user;
    return ORRI_HTM_NEVER;
}

#endif

#undef HTM_NONE
