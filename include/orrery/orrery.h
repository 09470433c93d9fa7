// SPDX-License-Identifier: MIT
/// @file orrery.h
/// Includes all headers of Orrery.
///
/// | header | contents |
/// |---|---|
/// | platform.h | table of operating system functions |
/// | base.h | results, assertions, memory, log, hash, random numbers |
/// | math.h | mathematical functions with equal bits on every machine |
/// | schema.h | component types and their fields |
/// | store.h | worlds, entities, components, tags, clusters; read this first |
/// | kinds.h | multiple and pinned components, references, names, singletons, bundles |
/// | query.h | finding and iterating entities |
/// | message.h | changes and events that systems send and receive |
/// | schedule.h | systems, pipelines, ticks, real time |
/// | history.h | remembering ticks and travelling back to them |
/// | traveller.h | history and playback of single entities |
/// | replay.h | recording and replaying runs |
#ifndef ORRERY_H
#define ORRERY_H

#include <orrery/base.h>
#include <orrery/history.h>
#include <orrery/kinds.h>
#include <orrery/math.h>
#include <orrery/message.h>
#include <orrery/platform.h>
#include <orrery/query.h>
#include <orrery/replay.h>
#include <orrery/schedule.h>
#include <orrery/schema.h>
#include <orrery/store.h>
#include <orrery/traveller.h>

#endif
