// SPDX-License-Identifier: MIT
// Where two runs part: in which tick and system (desync.c), and in what (desync_look.c).
#ifndef ORRI_HISTORY_DESYNC_H
#define ORRI_HISTORY_DESYNC_H

#include "schedule/tape.h"
#include <orrery/replay.h>

// Finds the first difference of two worlds: among what a system may change (its name, "": none), or among everything. Fills what it is about. False: there
// is none of this kind.
bool orri_desync_look(orr_world* a, orr_world* b, const char* system, orr_desync* out);

#endif
