// SPDX-License-Identifier: MIT
// Worlds shared by tests, benchmarks and examples. A scenario does not call a world: it emits
// operations through a small table, so that the same scenario can run on a world, on a model of a
// world, or on both. (A `direct` scenario calls the world: queries do not fit into the table.) The
// result depends only on the number of ticks and the scale.
//
//     scenario_run run;
//     scenario_target target = scenario_target_world(world);
//     scenario_begin(&run, scenario_find("churn"), &target, 1);
//     for (int i = 0; i < 200; i++) {
//         scenario_step(&run);
//     }
//     scenario_end(&run);    // The world stays.
#ifndef ORR_SCENARIO_H
#define ORR_SCENARIO_H

#include <orrery/orrery.h>

ORR_ENUM(Temper, TEMPER_CALM, TEMPER_WARY, TEMPER_ANGRY)
ORR_STRUCT(Place, (float, x, (.unit = "m")), (float, y, (.unit = "m")), (float, z, (.unit = "m")))
ORR_STRUCT(Motion, (float, x), (float, y), (float, z))
ORR_STRUCT(Vigour, (int32_t, value, (.preset = "100")), (uint16_t, age), (Temper, temper))
ORR_STRUCT(Mass, (double, value, (.preset = "1.5")), (uint8_t, kind)) // With padding.
ORR_STRUCT(Aim, (orr_entity, target))
ORR_STRUCT(Title, (orr_string, text))
ORR_MARKER(Asleep)

/// Receives `count` values of each requested type. Columns requested for writing may be changed.
/// Rows come in any order and grouping, so a body must process each row by itself.
typedef void (*scenario_body)(void* user, void* const* columns, uint32_t count);

/// The operations of a scenario. Each returns false when it was refused.
typedef struct scenario_target {
    void* self;
    orr_world* world; ///< For types, strings and tick; changed through the table only.
    bool (*create)(void* self, const orr_cluster_desc* set, uint32_t count,
                   const orr_column_data* data, uint32_t data_count, orr_entity* out);
    bool (*destroy)(void* self, const orr_entity* entities, uint32_t count);
    bool (*set)(void* self, orr_entity entity, orr_type type, const void* value);
    bool (*remove)(void* self, orr_entity entity, orr_type type);
    bool (*tag)(void* self, orr_entity entity, orr_tag tag, bool on);
    /// With a null type: the entity itself.
    bool (*enable)(void* self, orr_entity entity, orr_type type, bool on);
    /// Deletes all clusters with a tag.
    bool (*unload)(void* self, orr_tag tag);
    /// Calls `body` for all entities with these types; the first `write_count` types are written.
    bool (*each)(void* self, const orr_type* types, uint32_t type_count, uint32_t write_count,
                 scenario_body body, void* user);
    bool (*tick)(void* self);
} scenario_target;

/// The operations on a world.
scenario_target scenario_target_world(orr_world* world);

#define SCENARIO_TYPE_COUNT 7

typedef struct scenario_run scenario_run;

typedef struct scenario {
    const char* name;
    const char* what; ///< Description in one line.
    bool (*build)(scenario_run* run);
    bool (*step)(scenario_run* run);
    bool direct;  ///< Calls the world, which must be a real world.
    bool systems; ///< Has systems: its tick is orr_step().
} scenario;

#define SCENARIO_QUERIES_MAX 12

/// A running scenario.
struct scenario_run {
    const scenario* scenario;
    scenario_target target;
    uint32_t scale; ///< 1 is small: some hundreds of entities.
    uint32_t size;  ///< For `churn`: number of entities.
    uint64_t tick;
    orr_type types[SCENARIO_TYPE_COUNT]; ///< Place, Motion, Vigour, Mass, Aim, Title, Asleep.
    orr_entity* entities;                ///< Entities that it may still change one by one.
    uint32_t entity_count, entity_capacity;
    orr_tag level_first, level_next; ///< For `levels`: first … next - 1 are loaded.
    uint64_t changes;                ///< Number of operations emitted.
    // For direct scenarios.
    orr_query* queries[SCENARIO_QUERIES_MAX]; ///< Destroyed with their world.
    uint64_t mark;                            ///< orr_change_mark() of the last tick.
    uint64_t digest, noted;                   ///< Digest and number of all query results.
};

extern const scenario scenario_asking;  ///< asking.c
extern const scenario scenario_working; ///< working.c
extern const scenario scenario_churn;   ///< churn.c
extern const scenario* const scenario_list[];
extern const uint32_t scenario_count;

/// NULL if there is no scenario with that name.
const scenario* scenario_find(const char* name);
/// Builds the world. Returns false when an operation was refused.
bool scenario_begin(scenario_run* run, const scenario* what, const scenario_target* target,
                    uint32_t scale);
/// Runs one tick of the scenario and of the world.
bool scenario_step(scenario_run* run);
/// Frees the memory of the run itself.
void scenario_end(scenario_run* run);

#endif
