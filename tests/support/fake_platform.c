// SPDX-License-Identifier: MIT
// The platform with a fake clock. The default entries ignore `user`, so the fake sets its own.
#include "fake_platform.h"

static uint64_t fake_clock_ns(void* user)
{
    fake_platform* fake = user;
    atomic_fetch_add(&fake->clock_reads, 1);
    return atomic_load(&fake->now_ns);
}

static void fake_sleep_ns(void* user, uint64_t duration_ns)
{
    fake_platform* fake = user;
    atomic_fetch_add(&fake->now_ns, duration_ns);
}

void fake_platform_init(fake_platform* fake)
{
    fake->table = *orr_platform_default();
    fake->table.user = fake;
    fake->table.clock_ns = fake_clock_ns;
    fake->table.sleep_ns = fake_sleep_ns;
    atomic_init(&fake->now_ns, 0);
    atomic_init(&fake->clock_reads, 0);
}
