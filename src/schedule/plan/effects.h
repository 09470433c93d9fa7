// SPDX-License-Identifier: MIT
// The effects of the systems that a plan has placed so far: for each kind of effect and each type,
// the last step that may have it. So whether any earlier step has an effect on a system is found
// without comparing the system with each of them. The rules are in plan.c and delivery_deps.c.
#ifndef ORRI_EFFECTS_H
#define ORRI_EFFECTS_H

#include "schedule/schedule.h"

// Effects by type.
typedef enum orri_effect {
    ORRI_EFFECT_STRUCTURE, // It may create entities with the type, add, remove, enable or disable it.
    ORRI_EFFECT_CHANGES,   // It may send changes of values.
    ORRI_EFFECT_TRANSACTS,
    ORRI_EFFECT_SENDS, // Events.
    // It writes the type, of which readers are notified, in rows of its query; it has none of the
    // effects beyond its query (ORRI_STEP_BEYOND).
    ORRI_EFFECT_WRITES,
    ORRI_EFFECT_COUNT,
} orri_effect;

// Effects of a step as a whole.
typedef enum orri_step_effect {
    ORRI_STEP_STRUCTURAL, // It declares something that waits for a commit point.
    ORRI_STEP_DESTROYS,   // It has .destroys, of some entities or of any.
    ORRI_STEP_DESTROYS_ANY,
    ORRI_STEP_SWITCHES,
    ORRI_STEP_SWITCHES_ENTITIES,
    ORRI_STEP_TAGS,
    ORRI_STEP_TAGS_ANY,
    ORRI_STEP_RENAMES,
    ORRI_STEP_ALONE,         // It must be the only system of its group.
    ORRI_STEP_NOTIFIES,      // Readers may have to be notified before they run.
    ORRI_STEP_BEYOND,        // It sends changes, or writes values that its query does not select.
    ORRI_STEP_BEYOND_DIRECT, // The same, and not in atomic sections only.
    ORRI_STEP_EFFECT_COUNT,
} orri_step_effect;

// A tag that a step may change, or a set of entities that it may destroy.
typedef struct orri_effect_tag {
    orr_tag tag;
    uint32_t last1; // 0: the slot is free.
} orri_effect_tag;
typedef struct orri_effect_destroys {
    const orri_leaf* leaf;
    uint32_t last1;
} orri_effect_destroys;

typedef struct orri_effects {
    orr_world* world;
    uint32_t type_room; // Types that there is room for.
    // Everything named last1 is 1 + the last step with the effect; 0: none.
    uint32_t* last1; // [ORRI_EFFECT_COUNT * type_room]
    uint32_t step_last1[ORRI_STEP_EFFECT_COUNT];
    uint32_t structural_first; // The first structural step since the last commit point.
    orri_effect_tag* tags;     // Hash table with open addressing, at most half full.
    uint32_t tag_count, tag_size;
    orri_effect_destroys* destroys; // Each set of terms once.
    uint32_t destroys_count, destroys_capacity;
    uint64_t* touched; // Scratch: a bit for each type.
} orri_effects;

// False when refused (reported).
bool orri_effects_begin(orr_world* world, orri_effects* effects);
void orri_effects_end(orri_effects* effects);
// Forgets all steps: the plan of the next pipeline begins.
void orri_effects_reset(orri_effects* effects);

// Enters an effect of a step on all types of a bit set (NULL: none).
void orri_effects_enter_bits(orri_effects* effects, orri_effect effect, const uint64_t* bits,
                             uint32_t words, uint32_t step);
static inline void orri_effects_enter(orri_effects* effects, orri_effect effect, uint32_t type,
                                      uint32_t step)
{
    effects->last1[(size_t)effect * effects->type_room + type] = step + 1;
}
static inline void orri_effects_enter_step(orri_effects* effects, orri_step_effect effect, bool has,
                                           uint32_t step)
{
    effects->step_last1[effect] = has ? step + 1 : effects->step_last1[effect];
}
// Enters what a system may tag or destroy. False when refused (reported).
bool orri_effects_enter_tags(orri_effects* effects, const orri_system* system, uint32_t step);
bool orri_effects_enter_destroys(orri_effects* effects, const orri_leaf* leaf, uint32_t step);

// True when a step from `from` on has the effect.
static inline bool orri_effects_on(const orri_effects* effects, orri_effect effect, uint32_t type,
                                   uint32_t from)
{
    return effects->last1[(size_t)effect * effects->type_room + type] > from;
}
static inline bool orri_effects_any(const orri_effects* effects, orri_step_effect effect,
                                    uint32_t from)
{
    return effects->step_last1[effect] > from;
}
// The same for a type of a bit set (NULL: none).
bool orri_effects_on_bits(const orri_effects* effects, orri_effect effect, const uint64_t* bits,
                          uint32_t words, uint32_t from);
bool orri_effects_on_tag(const orri_effects* effects, orr_tag tag, uint32_t from);

// ---- delivery_deps.c ----------------------------------------------------------------------------

// Enters the effects of the system of a step that decide where groups end.
void orri_delivery_deps_enter(orri_effects* effects, const orri_system* system, uint32_t step);
// True when orri_delivery_deps_before() is true for the system and a step from `from` on; there is
// such a step.
bool orri_delivery_deps_any(const orri_effects* effects, uint32_t from, const orri_system* system);

#endif
