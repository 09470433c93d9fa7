// SPDX-License-Identifier: MIT
// The default platform with a clock that only a test advances. Sleeping advances it at once.
//
//     fake_platform fake;
//     fake_platform_init(&fake);
//     fake.now_ns += 1000;       // `&fake.table` is the platform; replace further entries in it.
#ifndef ORR_FAKE_PLATFORM_H
#define ORR_FAKE_PLATFORM_H

#include <orrery/platform.h>
#include <stdatomic.h>

typedef struct fake_platform {
    orr_platform table; // table.user is the fake_platform.
    _Atomic uint64_t now_ns;
    _Atomic uint64_t clock_reads; // Calls of clock_ns.
} fake_platform;

// The clock begins at 0. The struct must not move.
void fake_platform_init(fake_platform* fake);

#endif
