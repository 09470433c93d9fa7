// SPDX-License-Identifier: MIT
#include "store/apply.h"
#include "support/store_kit.h"
#include "test.h"
ORR_TEST(apply_placeholder)
{
}
