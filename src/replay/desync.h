// SPDX-License-Identifier: MIT
// Where two runs part: in which tick and system (desync.c), and in what (world_diff.c).
#ifndef ORRI_REPLAY_DESYNC_H
#define ORRI_REPLAY_DESYNC_H

#include "schedule/record/recording.h"
#include <orrery/replay.h>

// Finds the first difference of two worlds: among what a system may change (its name, "": none), or among everything. Fills what it is about. False: there
// is none of this kind.
bool orri_world_diff(orr_world* a, orr_world* b, const char* system, orr_desync* out);

#endif
