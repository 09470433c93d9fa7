// SPDX-License-Identifier: MIT
// Readers, until there are any. Weak: real ones come first.
#include "message/message.h"

__attribute__((weak)) bool orri_has_readers(const orr_world* world)
{
    (void)world;
    return true;
}
