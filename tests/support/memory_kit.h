// SPDX-License-Identifier: MIT
// Takes a snapshot of a world and restores it, with the three modules that do so.
#ifndef TEST_MEMORY_KIT_H
#define TEST_MEMORY_KIT_H

#include "history/schedule_past.h"
#include "message/past/past.h"
#include "store/snapshot/snapshot.h"
#include "test.h"

typedef struct memory {
    orri_snapshot* store;
    orri_messages_past* messages;
    orri_schedule_past* schedule;
} memory;

ORR_MAYBE_UNUSED static void memory_forget(orr_world* world, memory* m)
{
    if (m->store != NULL) {
        orri_snapshot_release(world, m->store);
    }
    orri_messages_forget(world, m->messages);
    orri_schedule_forget(world, m->schedule);
    *m = (memory){0};
}

// False when refused: nothing is kept.
ORR_MAYBE_UNUSED static bool memory_take(orr_world* world, memory* out)
{
    memory m = {.store = orri_snapshot_take(world)};
    m.messages = m.store != NULL ? orri_messages_remember(world) : NULL;
    m.schedule = m.messages != NULL ? orri_schedule_remember(world) : NULL;
    if (m.schedule == NULL) {
        memory_forget(world, &m);
        return false;
    }
    *out = m;
    return true;
}

ORR_MAYBE_UNUSED static orr_result memory_back(orr_world* world, memory* m)
{
    orri_restore* way = NULL;
    orr_result result = orri_schedule_restore_prepare(world, m->schedule);
    result = result == ORR_OK ? orri_messages_restore_prepare(world, m->messages) : result;
    if (result != ORR_OK) {
        return result;
    }
    result = orri_snapshot_restore_prepare(world, m->store, &way);
    if (result != ORR_OK) {
        orri_messages_restore_cancel(world);
        return result;
    }
    orri_snapshot_restore(world, way);
    orri_messages_restore(world, m->messages);
    orri_schedule_restore(world, m->schedule);
    return ORR_OK;
}

#endif
