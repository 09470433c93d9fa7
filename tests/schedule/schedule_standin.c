// SPDX-License-Identifier: MIT
// Readers that are told nothing, for tests of what hangs on them. Weak: real ones come first.
#include "schedule/schedule.h"

#define STANDIN __attribute__((weak))

struct orri_reader {
    const char* name;
};

STANDIN orri_reader* orri_reader_create(orr_world* world, const orri_reader_desc* desc)
{
    orri_reader* reader = ORRI_ALLOC(&world->env, ORR_MEMORY_MESSAGE, orri_reader, 1);
    if (reader == NULL) {
        (void)orri_refuse_memory(&world->env, "making a reader");
        return NULL;
    }
    reader->name = desc->name;
    return reader;
}

STANDIN void orri_reader_destroy(orr_world* world, orri_reader* reader)
{
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, orri_reader, reader, 1);
}

STANDIN void orri_reader_enable(orr_world* world, orri_reader* reader, bool on)
{
    (void)world, (void)reader, (void)on;
}

STANDIN const orr_message* orri_reader_next(orri_reader* reader)
{
    (void)reader;
    return NULL;
}

STANDIN void orri_reader_done(orri_reader* reader)
{
    (void)reader;
}
