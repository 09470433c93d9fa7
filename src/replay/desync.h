// SPDX-License-Identifier: MIT
// Finds where two runs diverge: the tick and system (desync.c), and the value (world_diff.c).
#ifndef ORRI_REPLAY_DESYNC_H
#define ORRI_REPLAY_DESYNC_H

#include "schedule/record/recording.h"
#include <orrery/replay.h>

// Finds the first difference of two worlds, and fills the fields of `out` that describe it. With
// the name of a system only types that this system may change are compared; with "" everything is.
// False if no such difference was found.
bool orri_world_diff(orr_world* a, orr_world* b, const char* system, orr_desync* out);

#endif
