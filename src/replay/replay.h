// SPDX-License-Identifier: MIT
// Replays a recording in lockstep (replay.c).
#ifndef ORRI_REPLAY_REPLAY_H
#define ORRI_REPLAY_REPLAY_H

#include "schedule/record/recording.h"
#include <orrery/replay.h>

// As orr_replay(), but the result says only why the replay stopped. Refusals in its ticks are not
// returned.
orr_result orri_replay_run(orr_world* world, const orr_recording* recording,
                           const orr_replay_desc* desc, orr_replay_report* out);

#endif
