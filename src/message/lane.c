// SPDX-License-Identifier: MIT
#include "message/message.h"

void orri_lanes_term(orr_world* world)
{
    (void)world;
}
