// SPDX-License-Identifier: MIT
// Shared by the tests of the diff: readers made from the text of a query, their messages as text,
// and mirrors: copies of what a reader selects, built from its messages only and compared with the
// world.
#ifndef TEST_DELIVER_KIT_H
#define TEST_DELIVER_KIT_H

#include "message/message.h"
#include "support/pinned_kit.h"
#include "support/store_kit.h"

ORR_STRUCT_EX(Shot, (.multiplicity = ORR_MULTIPLE), (int32_t, power), (int32_t, range))
ORR_STRUCT_EX(Note, (.multiplicity = ORR_MULTIPLE), (orr_string, text), (int32_t, number))
ORR_STRUCT(Parent,
           (orr_entity, entity, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_DESTROY)))

#define DELIVER_KIT_ALL UINT64_MAX // A queue without a limit.

// Creates an enabled reader. deliver_kit_reader() also runs a diff, so that the reader is no longer
// new. The query is destroyed with the world.
orri_reader* deliver_kit_reader(orr_world* world, const char* query);
orri_reader* deliver_kit_reader_of(orr_world* world, const char* query, bool all_types,
                                   uint64_t queue_max);
// Runs a diff and returns what the reader takes, one line for each message:
//   EntityAdded created 0v1 1v1 {Position Frozen #7} Position: {x: 1, …} {x: 2, …}
// "by 3" if a system did it. The text is valid until the next call.
const char* deliver_kit_take(orri_reader* reader);
const char* deliver_kit_diff(orr_world* world, orri_reader* reader);

// ---- mirrors ------------------------------------------------------------------------------------

typedef struct mirror mirror;

mirror* mirror_make(orr_world* world, const char* query, bool all_types, uint64_t queue_max);
orri_reader* mirror_reader(mirror* m);
// Compares instances of a multiple type by id only: after a travel, restored instances are at their
// old positions.
void mirror_loosen(mirror* m);
void mirror_free(mirror* m);
// Takes all messages; each must fit the mirror. Fails the test otherwise.
void mirror_take(mirror* m);
// The mirror equals the world. Fails the test otherwise.
void mirror_compare(mirror* m);
// The reader was disabled, or lost its queue.
void mirror_clear(mirror* m);
uint64_t mirror_messages(const mirror* m);

#endif
