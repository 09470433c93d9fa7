// SPDX-License-Identifier: MIT
// Recordings of real time: without observers, up to a refusal, from a tick that was open, within limits.
#include "hard_kit.h"

ORR_TEST(recording_empty)
{
    CHECK(true);
}
