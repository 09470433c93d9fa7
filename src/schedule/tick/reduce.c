// SPDX-License-Identifier: MIT
// Reductions: a parallel system with one result. Each unit (chunk) has a partial value of its own,
// which begins as the type's presets. When the last unit has ended, the partials are combined in
// pairs, in an order that depends on their number alone:
//
//     0 1 2 3 4      0+1  2+3  4      (0+1)+(2+3)  4      ((0+1)+(2+3))+4
//
// So a sum of floats has the same bits whichever worker did which unit, and when. The result is the
// export, written by the worker that ended last; the graph holds importers back until then.
#include "schedule/schedule.h"

#define REDUCE_LINE 64u // Partials of two workers never share a cache line.

static size_t reduce_stride(const orri_system* system)
{
    size_t size = system->exports.type->info.size;
    return (size + REDUCE_LINE - 1) / REDUCE_LINE * REDUCE_LINE;
}

// A system with ordered rows is one unit.
static uint32_t reduce_units(const orri_system* system)
{
    return system->in_units ? system->query->unit_count : 1;
}

static uint8_t* reduce_at(const orri_system* system, uint32_t unit)
{
    return system->partials + unit * reduce_stride(system);
}

// ---- memory -------------------------------------------------------------------------------------

bool orri_reduce_reserve(orr_world* world, orri_system* system)
{
    uint32_t units = reduce_units(system);
    if (units > system->partial_capacity) {
        uint64_t more = (uint64_t)system->partial_capacity * 2;
        uint32_t capacity = more > units && more <= UINT32_MAX ? (uint32_t)more : units;
        uint8_t* partials = orri_alloc_zero(&world->env, ORR_MEMORY_SYSTEM,
                                            orri_size_mul(reduce_stride(system), capacity),
                                            REDUCE_LINE);
        if (partials == NULL) {
            (void)orri_refuse_memory(&world->env, "making the partial values of a system");
            return false;
        }
        orri_reduce_free(world, system);
        system->partials = partials;
        system->partial_capacity = capacity;
    }
    system->partials_left = units;
    return true;
}

void orri_reduce_free(orr_world* world, orri_system* system)
{
    if (system->partials != NULL) {
        orri_free(&world->env, ORR_MEMORY_SYSTEM, system->partials,
                  reduce_stride(system) * system->partial_capacity, REDUCE_LINE);
    }
    system->partials = NULL;
    system->partial_capacity = 0;
}

// ---- units --------------------------------------------------------------------------------------

void orri_reduce_begin(const orri_system* system, uint32_t unit)
{
    orr_value_default(&system->exports.type->info, reduce_at(system, unit));
}

void* orri_reduce_partial(const orri_system* system, uint32_t unit)
{
    return reduce_at(system, unit);
}

// Combines all partials into the export; no units: the export is its presets.
static void reduce_combine(const orri_system* system)
{
    uint64_t units = reduce_units(system);
    for (uint64_t step = 1; step < units; step *= 2) {
        for (uint64_t i = 0; i + step < units; i += 2 * step) {
            system->desc.combine(reduce_at(system, (uint32_t)i),
                                 reduce_at(system, (uint32_t)(i + step)));
        }
    }
    const orr_type_info* info = &system->exports.type->info;
    if (units > 0) {
        memcpy(system->exports.data, reduce_at(system, 0), info->size);
    } else {
        orr_value_default(info, system->exports.data);
    }
}

// The worker that ends the last unit sees everything the others wrote: they decremented before.
void orri_reduce_end(orri_system* system, uint32_t units)
{
    if (units == reduce_units(system) || atomic_fetch_sub(&system->partials_left, units) == units) {
        reduce_combine(system);
    }
}

#undef REDUCE_LINE
