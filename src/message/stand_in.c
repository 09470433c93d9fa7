// SPDX-License-Identifier: MIT
// Stands in for lanes and commits until these are here: weak, so that the real ones win.
#include "message/message.h"

__attribute__((weak)) orri_rights* orri_lane_rights(const orr_lane* lane)
{
    return (orri_rights*)(uintptr_t)lane;
}

__attribute__((weak)) orr_result orri_check_run(const orr_run* run, const char* call)
{
    return run->lane != NULL ? ORR_OK : orri_refuse_argument(run->world, call, "no system runs");
}

__attribute__((weak)) orr_system orri_commit_source(const orr_world* world, uint32_t entity_index)
{
    (void)world, (void)entity_index;
    return (orr_system){0, 0};
}
