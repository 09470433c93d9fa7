// SPDX-License-Identifier: MIT
// Calls that steps of random programs make: they must succeed, and are repeated if memory is refused.
#ifndef TEST_PROGRAM_CALLS_H
#define TEST_PROGRAM_CALLS_H

#include "model/program.h"
#include "test.h"

static inline void expect(program_run* r, orr_result result, const char* call)
{
    PROGRAM_CHECK(r, result == ORR_OK, "step %u: %s is %s: %s", r->at, call,
                  orr_result_name(result), r->k.errors.text);
}

// A call that must succeed.
#define DO(r, call)                       \
    do {                                  \
        orr_result do_result;             \
        PROGRAM_CALL(r, do_result, call); \
        expect(r, do_result, #call);      \
    } while (0)

// A call that returns an id.
#define MAKE(r, out, call)                                                                      \
    do {                                                                                        \
        PROGRAM_CALL_ID(r, out, call);                                                          \
        PROGRAM_CHECK(r, (out).id != 0, "step %u: %s: %s", (r)->at, #call, (r)->k.errors.text); \
    } while (0)
#define PROGRAM_CALL_ID(r, out, call)              \
    do {                                           \
        program_arm(r);                            \
        (out) = (call);                            \
        if (program_refused(r) && (out).id == 0) { \
            program_unchanged(r, #call);           \
            (out) = (call);                        \
        }                                          \
    } while (0)

#endif
