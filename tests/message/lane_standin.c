// SPDX-License-Identifier: MIT
// Lanes of which only the sender is known, for tests of what hangs on a run. Weak: real ones come first.
#include "message/message.h"

struct orr_lane {
    orri_rights* rights;
};

#define STANDIN __attribute__((weak))

STANDIN orr_lane* orri_lane_open(orr_world* world, orri_rights* rights, uint32_t creates_max)
{
    static orr_lane lanes[64];
    static uint32_t next;
    (void)world, (void)creates_max;
    orr_lane* lane = &lanes[next++ % ORRI_COUNT(lanes)];
    lane->rights = rights;
    return lane;
}

STANDIN void orri_lane_close(orr_world* world, orr_lane* lane)
{
    (void)world, (void)lane;
}

STANDIN orri_rights* orri_lane_rights(const orr_lane* lane)
{
    return lane->rights;
}

STANDIN orr_result orri_check_run(const orr_run* run, const char* call)
{
    return run->lane != NULL ? ORR_OK : orri_refuse_argument(run->world, call, "not in a system");
}
