// SPDX-License-Identifier: MIT
#include "message/message.h"

void orri_events_term(orr_world* world)
{
    (void)world;
}
