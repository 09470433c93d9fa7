// SPDX-License-Identifier: MIT
// What the tests of telling share: readers made of a query's text, what they were told as text, and mirrors: copies of what a
// reader selects, built of its messages alone and compared with the world.
#ifndef TEST_TELL_KIT_H
#define TEST_TELL_KIT_H

#include "message/message.h"
#include "support/pinned_kit.h"
#include "support/store_kit.h"

ORR_STRUCT_EX(Shot, (.multiplicity = ORR_MULTIPLE), (int32_t, power), (int32_t, range))
ORR_STRUCT_EX(Note, (.multiplicity = ORR_MULTIPLE), (orr_string, text), (int32_t, number))
ORR_STRUCT(Parent,
           (orr_entity, entity, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_DESTROY)))

#define TELL_KIT_ALL UINT64_MAX // A queue without a limit.

// A reader that is switched on and was told of what there is; or (the other) is yet to be told. The query ends with the world.
orri_reader* tell_kit_reader(orr_world* world, const char* query);
orri_reader* tell_kit_reader_of(orr_world* world, const char* query, bool all_types,
                                uint64_t queue_max);
// Tells, and what the reader takes then, one line for each message:
//   EntityAdded created 0v1 1v1 {Position Frozen #7} Position: {x: 1, …} {x: 2, …}
// "by 3" if a system did it. The text is good until the next call.
const char* tell_kit_take(orri_reader* reader);
const char* tell_kit_tell(orr_world* world, orri_reader* reader);

// ---- mirrors ---------------------------------------------------------------------------------------------------

typedef struct mirror mirror;

mirror* mirror_make(orr_world* world, const char* query, bool all_types, uint64_t queue_max);
orri_reader* mirror_reader(mirror* m);
// Instances of a multiple type are compared by id alone: when the world went back, those that come again stand where they stood.
void mirror_loosen(mirror* m);
void mirror_free(mirror* m);
// Takes all messages; each must be right for what the mirror has. Fails the test.
void mirror_take(mirror* m);
// The mirror is what the world has. Fails the test.
void mirror_compare(mirror* m);
// The reader was switched off, or lost its queue.
void mirror_clear(mirror* m);
uint64_t mirror_messages(const mirror* m);

#endif
