// SPDX-License-Identifier: MIT
#include "test.h"
ORR_TEST(nothing_yet)
{
}
