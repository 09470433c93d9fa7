// SPDX-License-Identifier: MIT
/// @file orrery.h
/// All of Orrery. Begin with store.h.
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
