// SPDX-License-Identifier: MIT
// Systems, the plan of a tick, and how it runs. README.md states the invariants.
#ifndef ORRI_SCHEDULE_H
#define ORRI_SCHEDULE_H

#include "message/message.h"
#include <orrery/schedule.h>

// ---- trace.c: a Chrome trace ---------------------------------------------------------------------------------------

typedef struct orri_trace orri_trace;

// Creates the file and writes its beginning. NULL when refused (reported: path and what the system said).
orri_trace* orri_trace_open(orr_world* world, const char* path);
// One span of work on a row of the picture (`lane` 0: the driving thread). `args` (may be NULL) is the inside of a JSON
// object: "\"rows\": 7". Names are escaped. Never fails: when the file cannot be written that is said once, and it ends.
void orri_trace_span(orri_trace* trace, const char* name, const char* category, uint32_t lane,
                     uint64_t start_ns, uint64_t end_ns, const char* args);
// Writes the end, closes the file, frees it. The file is whole JSON then.
void orri_trace_close(orr_world* world, orri_trace* trace);
// The path for one more world of this process, from the environment's ORR_TRACE: the path itself for the first that asks,
// "path.2" for the next. NULL: none is wanted, or it is too long (reported).
const char* orri_trace_env(orr_world* world, char* out, size_t out_size);
// ORR_OK unless a tick is under way (reported).
orr_result orri_check_between_ticks(const orr_world* world, const char* call);

// ---- journal.c: who changed what ---------------------------------------------------------------------------------------

typedef struct orri_journal orri_journal;

// Takes what its reader was told into the ring. Called after every tell while there is a journal.
void orri_journal_drain(orr_world* world, orri_journal* journal);
// One message of these.
void orri_journal_take(orri_journal* journal, const orr_message* message);
void orri_journal_destroy(orr_world* world, orri_journal* journal);

// ---- what a world keeps for this module: world->schedule ------------------------------------------------------------

struct orri_schedule {
    orri_trace* trace;
    orri_journal* journal;
};

// Made at first use, with the tenant's functions; NULL when refused (reported).
struct orri_schedule* orri_schedule_of(orr_world* world);

#endif
