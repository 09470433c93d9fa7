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

STANDIN uint64_t orri_reader_hash(const orri_reader* reader, uint64_t hash)
{
    (void)reader;
    return hash;
}

STANDIN bool orri_reader_lost(orri_reader* reader)
{
    (void)reader;
    return false;
}

STANDIN uint64_t orri_reader_queued(const orri_reader* reader)
{
    (void)reader;
    return 0;
}

STANDIN bool orri_has_readers(const orr_world* world)
{
    (void)world;
    return false;
}

STANDIN orr_result orri_tell(orr_world* world, orr_system source, bool by_commit)
{
    (void)world, (void)source, (void)by_commit;
    return ORR_OK;
}

STANDIN orr_result orri_tell_written(orr_world* world, const orr_query* query, orr_system source)
{
    (void)world, (void)query, (void)source;
    return ORR_OK;
}

STANDIN const orr_type_desc orr_desc_orr_enabled = {.name = "orr_enabled", .align = 1};
STANDIN const orr_type_desc orr_desc_orr_tags = {.name = "orr_tags", .align = 1};
