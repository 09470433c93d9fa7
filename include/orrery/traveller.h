// SPDX-License-Identifier: MIT
/// @file traveller.h
/// Time of single entities: how old one is, states of it that are remembered in slots and gone back to, and a time of its own that runs faster, slower
/// or backwards, through remembered states.
///
///     orr_add(world, ball, orr_time_traveller);          // brings orr_time along
///     orr_entity_remember(world, ball, 0);               // its whole state, in slot 0
///     orr_step(world, 10);
///     orr_entity_remember(world, ball, 10);
///     orr_entity_travel(world, ball, 0);                 // as it was; the rest of the world stays
///
///     orr_stretcher_add(world, NULL);                    // once: the system that moves stretchers
///     orr_time_stretch(world, ball, 0.5);                // slot 0 to slot 10 in 20 ticks, what is between made of both
///
/// Everything is in components of the entity: hashed, gone back to with the world, copied with the entity. Calls are for between ticks, on the thread that
/// drives the world. See docs/ENTITY_TIME.md.
#ifndef ORRERY_TRAVELLER_H
#define ORRERY_TRAVELLER_H

#include <orrery/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- time -----------------------------------------------------------------------------------------------------------

/// How old an entity is: ticks since it was created or, if it got this later, since then. A component as any other; its preset is the world's tick, so
/// whatever creates or adds it begins at 0. A copy of an entity (orr_copy()) begins at 0, too.
typedef struct orr_time {
    int64_t
        origin; ///< The world's tick when its time was 0; less than 0 for one that has travelled far ahead.
} orr_time;
extern ORR_API const orr_type_desc orr_desc_orr_time;
ORR_PP_DESC_OF(orr_time)

/// Its own time, in ticks of the world: of all pipelines, if there are several. 0, and an error, for a dead one and one without orr_time. Inside systems
/// as orr_component_get().
ORR_API uint64_t orr_time_of(const orr_world* world, orr_entity entity);

// ---- remembering and travelling ---------------------------------------------------------------------------------------

#define ORR_TRAVELLER_BYTES_MAX (1u << 24) ///< Of all that one entity remembers.
#define ORR_TRAVELLER_PAGES     16u        ///< In so many pieces.

/// Makes an entity one that can remember itself. Needs orr_time, which comes with it.
typedef struct orr_time_traveller {
    /// Slots in order, some in each page. Written by orr_entity_remember() and orr_entity_forget() only.
    orr_array memory[ORR_TRAVELLER_PAGES];
} orr_time_traveller;
extern ORR_API const orr_type_desc orr_desc_orr_time_traveller;
ORR_PP_DESC_OF(orr_time_traveller)

/// Remembers the state of an entity in a slot, in place of what was there: all components with their values, instances and switches, pinned ones too, its
/// tags, and whether it is on. Not its name, its time, what it remembers and how it is stretched, nor transient types. Any slot may be used, whatever the
/// entity's time is. Costs as much as what it remembers, divided by ORR_TRAVELLER_PAGES. Allocates.
/// @return ORR_ERR_ABSENT without orr_time_traveller; ORR_ERR_TYPE if it has an opaque type or one with hooks (named); ORR_ERR_CAPACITY beyond
/// ORR_TRAVELLER_BYTES_MAX; ORR_ERR_MEMORY, ORR_ERR_STATE: nothing has changed.
ORR_API orr_result orr_entity_remember(orr_world* world, orr_entity entity, uint64_t slot);
/// Forgets a slot. ORR_ERR_PAST if there is nothing in it; else as above. Allocates.
ORR_API orr_result orr_entity_forget(orr_world* world, orr_entity entity, uint64_t slot);
/// The slots there are, ascending; writes at most `out_count`. @return how many there are: 0 for one that is no traveller.
ORR_API uint32_t orr_entity_slots(const orr_world* world, orr_entity entity, uint64_t* out,
                                  uint32_t out_count);

/// Makes the entity as it was remembered in the slot; its time is the slot's number then. Instances keep their ids by position. References to entities
/// that have died since become null. Nothing else of the world changes.
/// Without a state in the slot: to a time that lies ahead the entity is updated alone, tick by tick, which is what running a tick does to it; only
/// through systems that touch nothing but their own rows: any other that selects it, or may change it by id, is refused by name (ORR_ERR_STATE).
/// To its own time: nothing happens. To a time that is past: ORR_ERR_PAST, which names the nearest slots.
/// @return ORR_ERR_ABSENT, ORR_ERR_FORMAT (a type is not as it was), ORR_ERR_CAPACITY (its old components and tags do not fit the world's limits),
/// ORR_ERR_ARGUMENT (more than UINT32_MAX ticks ahead), ORR_ERR_MEMORY, ORR_ERR_STATE: the entity is as it was. Allocates.
ORR_API orr_result orr_entity_travel(orr_world* world, orr_entity entity, uint64_t slot);

// ---- stretching ---------------------------------------------------------------------------------------------------------

/// How the last move of a stretcher went.
typedef enum orr_stretch_state {
    ORR_STRETCH_MOVES = 0,
    ORR_STRETCH_LACKS,   ///< Not enough is remembered where it would be.
    ORR_STRETCH_BARRED,  ///< A type would change that orr_stretcher_desc.types does not name.
    ORR_STRETCH_REFUSED, ///< Memory, or a remembered type that is not as it was.
} orr_stretch_state;

/// Plays what an entity remembers. In each tick the position moves by the rate, and the entity becomes what lies there between two slots: numbers with a
/// fraction in proportion, quaternions around the sphere, the rest as in the lower slot (orr_field_attributes.interpolation says otherwise). Needs
/// orr_time_traveller, which comes with it. Where it cannot go it stays, with all its state and its time, says why once, and tries again in each tick.
typedef struct orr_time_stretcher {
    double position; ///< In the entity's own time.
    double rate;     ///< Added to the position in each tick: also with a fraction, 0, or less.
    double
        push; ///< Added to the rate in the last tick, by those that drive it. Written by the system.
    orr_entity
        drives; ///< Whose stretcher this one is the derivative of; null: it moves its own entity.
    orr_stretch_state state; ///< Written by the system.
} orr_time_stretcher;
extern ORR_API const orr_type_desc orr_desc_orr_time_stretcher;
ORR_PP_DESC_OF(orr_time_stretcher)

/// Sets the rate, finite, of an entity's stretcher; it is added if there is none, at the entity's time. ORR_ERR_RANGE for others. Systems write the component
/// instead. Nothing is remembered by this: for where it goes, states must be there. A world without the
/// system of orr_stretcher_add() is warned of in the log, once. Allocates.
ORR_API orr_result orr_time_stretch(orr_world* world, orr_entity entity, double rate);
/// From now on the rate of `stretcher` is added, in each tick, to the rate of `of`: it is its acceleration, and what drives it its jerk. `of` null, or the
/// same: it moves its own entity again. Several may drive one. ORR_ERR_ABSENT without stretchers, ORR_ERR_ARGUMENT for a cycle (said). Everything moves
/// by what there was when the tick began: with rate v and acceleration a, after n ticks the position is further by n v + a n (n - 1) / 2.
ORR_API orr_result orr_time_derivate(orr_world* world, orr_entity stretcher, orr_entity of);

typedef struct orr_stretcher_desc {
    /// Types it may change: "Position, Rotation", at most 31. Default: all that can be remembered and are registered now.
    const char* types;
    const char* pipeline; ///< As in orr_system_desc, as what follows. It writes the types above.
    const char* before;
    const char* after;
} orr_stretcher_desc;
/// Adds the system "orr_stretch", which moves all stretchers; `desc` may be NULL. Systems that would move a stretched entity too say `!orr_time_stretcher`, or come before it. Null when refused.
ORR_API orr_system orr_stretcher_add(orr_world* world, const orr_stretcher_desc* desc);

#ifdef __cplusplus
}
#endif

#endif
