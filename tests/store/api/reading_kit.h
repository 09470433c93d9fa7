// SPDX-License-Identifier: MIT
// Reading in real time, as a system of the pipeline that has a view.
#ifndef TEST_READING_KIT_H
#define TEST_READING_KIT_H

#include "store/publish/publish.h"
#include "test.h"

typedef struct reading {
    orri_access access;
    uint64_t bits[4];
    _Atomic uint64_t violations;
    uint64_t clock[2];
    orr_hot_table* tables[256];
    orri_thread_context before;
} reading;

static void reading_begin(reading* r, orr_world* world, const orri_view* view, uint64_t since_view)
{
    memset(r, 0, sizeof *r);
    memset(r->bits, 0xFF, sizeof r->bits);
    r->access = (orri_access){.system = "reader",
                              .by_id_read = r->bits,
                              .by_id_write = r->bits,
                              .type_count = 256,
                              .alone = true,
                              .alone_realtime = true,
                              .violations = &r->violations};
    r->clock[0] = 41;
    r->clock[1] = world->epoch;
    world->realtime = true;
    orri_access_parallel(world, true, NULL);
    CHECK(world->tables.capacity <= 256);
    orri_access_tables(world, &r->access, r->tables);
    r->before = orri_this_thread_enter(world, &r->access, r, r->tables);
    orri_this_thread.clock = r->clock;
    orri_this_thread.view = view;
    orri_this_thread.since_view = since_view;
}

static void reading_end(reading* r, orr_world* world)
{
    orri_this_thread_leave(r->before);
    orri_access_serial(world);
    world->realtime = false;
    CHECK_EQ(r->violations, 0);
}

#endif
