// SPDX-License-Identifier: MIT
// Golden hashes of the mathematical functions: the bits of their results over fixed arguments,
// equal for every compiler, optimisation level and machine. Half of the arguments are random bits
// (most of them huge or tiny, some NaN), half are from the range where the function is used.
//
// A function that is changed on purpose gets another hash; the test prints the new line. Worlds
// then differ from those of earlier versions: say so in CHANGELOG.md.
#include "test.h"

#include "base/math/detail.h"

typedef double (*golden_function)(double x, double y);
typedef float (*golden_function_float)(float x, float y);

#define GOLDEN_ONE(name)                            \
    static double golden_##name(double x, double y) \
    {                                               \
        (void)y;                                    \
        return orr_##name(x);                       \
    }                                               \
    static float golden_##name##f(float x, float y) \
    {                                               \
        (void)y;                                    \
        return orr_##name##f(x);                    \
    }
GOLDEN_ONE(sin)
GOLDEN_ONE(cos)
GOLDEN_ONE(tan)
GOLDEN_ONE(asin)
GOLDEN_ONE(acos)
GOLDEN_ONE(atan)
GOLDEN_ONE(exp)
GOLDEN_ONE(exp2)
GOLDEN_ONE(ln)
GOLDEN_ONE(log2)
GOLDEN_ONE(sqrt)
GOLDEN_ONE(floor)
GOLDEN_ONE(ceil)
GOLDEN_ONE(trunc)
GOLDEN_ONE(round)
GOLDEN_ONE(rint)
#undef GOLDEN_ONE

static double golden_sincos(double x, double y)
{
    double sine, cosine;
    orr_sincos(x, &sine, &cosine);
    return orri_math_bits(y) & 1 ? sine : cosine;
}

static float golden_sincosf(float x, float y)
{
    float sine, cosine;
    orr_sincosf(x, &sine, &cosine);
    return orri_math_bits_float(y) & 1 ? sine : cosine;
}

typedef struct golden {
    const char* name;
    golden_function one;
    golden_function_float single;
    double low, high;
    uint64_t hash, hash_float;
} golden;

#define GOLDEN(name, low, high, hash, hash_float)                           \
    {                                                                       \
#name, golden_##name, golden_##name##f, low, high, hash, hash_float \
    }
static const golden goldens[] = {
    GOLDEN(sin, -20, 20, 0xC455C19A85420572u, 0x50B7B7AA50F3B9A5u),
    GOLDEN(cos, -20, 20, 0x8E7C33CCEF2DA405u, 0x1919C84CA1D71504u),
    GOLDEN(sincos, -20, 20, 0x374560C28A229445u, 0x750855201CC82B5Au),
    GOLDEN(tan, -20, 20, 0xE1E760F9755A6A06u, 0xB0CC6BE89EAB198Fu),
    GOLDEN(asin, -1, 1, 0xCC1BB5F0FFBCA783u, 0xCF487C9DC61338F7u),
    GOLDEN(acos, -1, 1, 0xCDBE7BD9F8443B3Au, 0xDEA72BDECAF5460Eu),
    GOLDEN(atan, -4, 4, 0xEAD0058A76BE59ECu, 0x1F17D9E731E8BA23u),
    {"atan2", orr_atan2, orr_atan2f, -4, 4, 0x3F139E446195E891u, 0xB9F32C695D931263u},
    GOLDEN(exp, -100, 100, 0x4C1A150DCA163C2Bu, 0x2BDBE1B73B3774D1u),
    GOLDEN(exp2, -150, 150, 0xC60F98E29ADBD0B9u, 0x958046E072B4F603u),
    GOLDEN(ln, 0, 10, 0x20F6761DA90C7D12u, 0x24F54B0266741AD3u),
    GOLDEN(log2, 0, 10, 0xEB1F6C78FC329F83u, 0x229819D6B64C324Eu),
    {"pow", orr_pow, orr_powf, -2, 14, 0x9A84A5A2E7DACD56u, 0x8BF64CCDB9165CDDu},
    {"fmod", orr_fmod, orr_fmodf, -10, 10, 0x05CCAD8B76B197EAu, 0xC993134BAD6A6F62u},
    GOLDEN(sqrt, 0, 10, 0x525277AA05307957u, 0xBCE63BA96CD2E8B6u),
    GOLDEN(floor, -10, 10, 0x8A9B0012AFC096E2u, 0xCB2F226E840BD6E0u),
    GOLDEN(ceil, -10, 10, 0xF556A872EA353361u, 0x0A187A90D64CDEFDu),
    GOLDEN(trunc, -10, 10, 0x2CD5D55823054870u, 0xD9E9C5FD20CEA7BAu),
    GOLDEN(round, -10, 10, 0x97F996F080DD0958u, 0x84CEE834C288D8ADu),
    GOLDEN(rint, -10, 10, 0x2E77AF71DF62716Eu, 0xE81D8AD163B17BC2u),
};

enum {
    GOLDEN_ARGUMENTS = 40000
};

static double golden_argument(const golden* g, uint64_t i, uint64_t which)
{
    uint64_t random = orr_random(4, i, which, 0);
    if (i % 2 == 0) {
        return orri_math_double(random);
    }
    return g->low + (g->high - g->low) * orr_random_double(random);
}

static uint64_t golden_hash(const golden* g)
{
    uint64_t hash = 0;
    for (uint64_t i = 0; i < GOLDEN_ARGUMENTS; i++) {
        uint64_t bits = orri_math_bits(g->one(golden_argument(g, i, 1), golden_argument(g, i, 2)));
        hash = orri_hash_word(hash, bits);
    }
    return hash;
}

// Floats of random bits too, not only doubles converted to float.
static float golden_argument_float(const golden* g, uint64_t i, uint64_t which)
{
    if (i % 2 == 0) {
        uint32_t bits = (uint32_t)orr_random(5, i, which, 0);
        float x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    return (float)golden_argument(g, i, which);
}

static uint64_t golden_hash_float(const golden* g)
{
    uint64_t hash = 0;
    for (uint64_t i = 0; i < GOLDEN_ARGUMENTS; i++) {
        float value = g->single(golden_argument_float(g, i, 1), golden_argument_float(g, i, 2));
        hash = orri_hash_word(hash, orri_math_bits_float(value));
    }
    return hash;
}

/* N3-13 */
ORR_TEST(math_golden_results_are_the_same_bits_everywhere)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < ORRI_COUNT(goldens); i++) {
        const golden* g = &goldens[i];
        uint64_t hash = golden_hash(g), hash_float = golden_hash_float(g);
        if (hash != g->hash || hash_float != g->hash_float) {
            printf("  %s: %g, %g, 0x%016" PRIX64 ", 0x%016" PRIX64 "\n", g->name, g->low, g->high,
                   hash, hash_float);
            wrong++;
        }
    }
    if (wrong > 0) {
        test_fail(__FILE__, __LINE__, "%u functions give other bits, see above", wrong);
    }
}
