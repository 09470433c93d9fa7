// SPDX-License-Identifier: MIT
// Worlds built once, shared by tests, benchmarks and examples. A scenario does not touch a world itself: it
// emits operations through a small table, so that the same scenario can run on a world, on a model of a
// world, or on both at once. (A `direct` one does: queries do not fit into a table.) Everything it does follows from its
// number of ticks and its scale.
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

/// Gets `count` values of each type asked for. The values may be changed where writing was asked for. Rows
/// come in any order and any grouping, so a body looks at one row at a time.
typedef void (*scenario_body)(void* user, void* const* columns, uint32_t count);

/// What a scenario can do. Each entry returns false when it was refused.
typedef struct scenario_target {
    void* self;
    orr_world* world; ///< Gives types, strings, tick; changed through the table only.
    bool (*create)(void* self, const orr_cluster_desc* set, uint32_t count,
                   const orr_column_data* data, uint32_t data_count, orr_entity* out);
    bool (*destroy)(void* self, const orr_entity* entities, uint32_t count);
    bool (*set)(void* self, orr_entity entity, orr_type type, const void* value);
    bool (*remove)(void* self, orr_entity entity, orr_type type);
    bool (*tag)(void* self, orr_entity entity, orr_tag tag, bool on);
    /// A null type: the entity itself.
    bool (*enable)(void* self, orr_entity entity, orr_type type, bool on);
    /// Deletes all clusters with a tag.
    bool (*unload)(void* self, orr_tag tag);
    /// Calls `body` for all entities that have the types; the first `write_count` are to be written.
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
    const char* what; ///< One line.
    bool (*build)(scenario_run* run);
    bool (*step)(scenario_run* run);
    bool direct;  ///< Calls the world, which must be a real one.
    bool systems; ///< It has systems: its tick is orr_step().
} scenario;

#define SCENARIO_QUERIES_MAX 12

/// A scenario at work.
struct scenario_run {
    const scenario* scenario;
    scenario_target target;
    uint32_t scale; ///< 1 is small: some hundreds of entities.
    uint32_t size;  ///< Of `churn`: how many entities are to be there.
    uint64_t tick;
    orr_type types[SCENARIO_TYPE_COUNT]; ///< Place, Motion, Vigour, Mass, Aim, Title, Asleep.
    orr_entity* entities;                ///< Those it may still change one by one.
    uint32_t entity_count, entity_capacity;
    orr_tag level_first, level_next; ///< Of `levels`: loaded are first … next - 1.
    uint64_t changes;                ///< Operations emitted.
    // Of a direct one.
    orr_query* queries[SCENARIO_QUERIES_MAX]; ///< End with their world.
    uint64_t mark;                            ///< orr_change_mark() of the last tick.
    uint64_t digest, noted;                   ///< Of everything that was asked, and how much.
};

extern const scenario scenario_asking;  ///< asking.c
extern const scenario scenario_working; ///< pinned_matches.c
extern const scenario scenario_churn;   ///< churn.c
extern const scenario* const scenario_list[];
extern const uint32_t scenario_count;

/// NULL if there is none of that name.
const scenario* scenario_find(const char* name);
/// Builds its world. False when an operation was refused.
bool scenario_begin(scenario_run* run, const scenario* what, const scenario_target* target,
                    uint32_t scale);
/// One tick of it, and the world's tick.
bool scenario_step(scenario_run* run);
/// Frees what the run holds itself.
void scenario_end(scenario_run* run);

#endif
