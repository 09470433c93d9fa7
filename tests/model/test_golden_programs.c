// SPDX-License-Identifier: MIT
// Random programs (program.h) with golden hashes: every compiler, optimisation level and machine
// must reach them. A failure prints the new line for the table below; put it there if the change of
// results is intended, and give the reason in the commit. A change of the programs themselves
// changes the hashes, too.
#include "model/program.h"
#include "test.h"

#include <stdlib.h>

static const struct {
    uint64_t seed, hash;
} golden[] = {
    {1, 0x2766771e110a88ab}, {2, 0x143edb8476c8110c}, {3, 0xebe9dfade7e0eb0d},
    {4, 0x3909e7c4b7020ee5}, {5, 0xd65457336bdb55d4}, {6, 0x7d8977ce835d5f5f},
    {7, 0x8543d5c9dff236ff}, {8, 0x5346e85b445efe28},
};

ORR_TEST(random_programs_have_their_golden_hashes)
{
    program* p = malloc(sizeof *p);
    program_result* result = malloc(sizeof *result);
    uint32_t wrong = 0;
    CHECK(p != NULL && result != NULL);
    for (uint32_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        program_make_golden(p, golden[i].seed);
        program_verify(p, 2, result); // Straight, and with workers.
        if (result->failed || result->hash != golden[i].hash) {
            fprintf(stderr, "    {%" PRIu64 ", 0x%016" PRIx64 "}, %s\n", p->seed, result->hash,
                    result->text);
            wrong++;
        }
    }
    CHECK_EQ(wrong, 0);
    free(p);
    free(result);
}
