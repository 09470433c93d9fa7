// SPDX-License-Identifier: MIT
// A lock table with a few holders: resources 0 to 3 are PLAIN, 4 to 7 LIVE.
#ifndef ORR_LOCK_KIT_H
#define ORR_LOCK_KIT_H

#include "test.h"

#include "base/util.h"
#include "lock/lock_detail.h"
#include "support/failing_alloc.h"
#include "support/fake_platform.h"

enum {
    KIT_HOLDERS = 5,
    R = ORRI_LOCK_READ,
    I = ORRI_LOCK_INCLUSIVE,
    X = ORRI_LOCK_EXCLUSIVE,
    RW = ORRI_LOCK_READ_WITHIN,
    WW = ORRI_LOCK_WRITE_WITHIN,
};

typedef struct lock_kit {
    fake_platform fake;
    failing_alloc memory;
    orri_env env;
    orri_locks* locks;
    orri_lock_holder* h[KIT_HOLDERS];
} lock_kit;

static inline void kit_quiet(void* user, const orr_log_line* line)
{
    (void)user;
    (void)line;
}

// False: refused.
static inline bool kit_fill(lock_kit* kit)
{
    uint32_t first = 99;
    kit->locks = orri_locks_create(&kit->env);
    bool made = kit->locks != NULL &&
                orri_locks_add(kit->locks, 4, ORRI_LOCK_PLAIN, &first) == ORR_OK && first == 0 &&
                orri_locks_add(kit->locks, 4, ORRI_LOCK_LIVE, &first) == ORR_OK && first == 4;
    for (uint32_t i = 0; made && i < KIT_HOLDERS; i++) {
        made = orri_lock_holder_create(kit->locks, i + 1, &kit->h[i]) == ORR_OK;
    }
    return made;
}

static inline void kit_init(lock_kit* kit)
{
    *kit = (lock_kit){0};
    fake_platform_init(&kit->fake);
    orr_allocator allocator = failing_alloc_allocator(&kit->memory);
    orri_env_init(&kit->env, &kit->fake.table, &allocator, 0, &(orr_log_desc){.sink = kit_quiet});
    CHECK(kit_fill(kit));
}

static inline void kit_free(lock_kit* kit)
{
    CHECK_OK(orri_locks_validate(kit->locks));
    for (uint32_t i = 0; i < orri_locks_count(kit->locks); i++) {
        CHECK_EQ(kit->locks->slots[i].word & ~ORRI_LOCK_IS_LIVE, 0);
    }
    orri_locks_destroy(kit->locks);
    failing_alloc_check(&kit->memory);
}

#define SET(...) \
    ((const orri_lock[]){__VA_ARGS__}), (uint32_t)ORRI_COUNT(((const orri_lock[]){__VA_ARGS__}))
#define ASK(holder, ...) orri_lock_ask(holder, 0, SET(__VA_ARGS__))

#endif
