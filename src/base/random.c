// SPDX-License-Identifier: MIT
// Random numbers by key. The seed and the keys are mixed in one after the other. Each step is a
// bijection in the key and in the state before, so two draws that differ in a single key never
// coincide. The values are part of recorded runs: never change them.
#include "base/util.h"

// The first 64 fractional bits of the square roots of 3, 7 and 11.
#define RANDOM_A 0xBB67AE8584CAA73Bu
#define RANDOM_B 0xA54FF53A5F1D36F1u
#define RANDOM_C 0x510E527FADE682D1u

static uint64_t random_step(uint64_t state, uint64_t key)
{
    state = (state ^ key) * RANDOM_A;
    return state ^ state >> 32;
}

uint64_t orr_random(uint64_t seed, uint64_t key_a, uint64_t key_b, uint64_t key_c)
{
    // Starts with a constant, so that a zero seed and zero keys do not give a zero state.
    uint64_t state = random_step(RANDOM_B, seed);
    state = random_step(state, key_a);
    state = random_step(state, key_b);
    state = random_step(state, key_c);
    state *= RANDOM_B;
    state = (state ^ state >> 29) * RANDOM_C;
    return state ^ state >> 32;
}

uint64_t orr_random_below(uint64_t random, uint64_t count)
{
    __extension__ typedef unsigned __int128 random_u128;
    return (uint64_t)(((random_u128)random * count) >> 64);
}

float orr_random_float(uint64_t random)
{
    return (float)(random >> 40) * 0x1p-24f;
}

double orr_random_double(uint64_t random)
{
    return (double)(random >> 11) * 0x1p-53;
}

uint64_t orr_rng_next(orr_rng* rng)
{
    uint64_t drawn = rng->drawn++;
    return drawn == 0 ? rng->first : orr_random(rng->first, drawn, 0, 0);
}

uint64_t orr_rng_below(orr_rng* rng, uint64_t count)
{
    return orr_random_below(orr_rng_next(rng), count);
}

float orr_rng_float(orr_rng* rng)
{
    return orr_random_float(orr_rng_next(rng));
}

double orr_rng_double(orr_rng* rng)
{
    return orr_random_double(orr_rng_next(rng));
}

#undef RANDOM_A
#undef RANDOM_B
#undef RANDOM_C
