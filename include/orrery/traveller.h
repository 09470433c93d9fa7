// SPDX-License-Identifier: MIT
/// @file traveller.h
/// Time of single entities: the age of an entity; its state saved in numbered slots, and restored;
/// and playback of these slots, faster, slower or backwards.
///
///     orr_add(world, ball, orr_time_traveller); // adds orr_time, too
///     orr_entity_remember(world, ball, 0);      // saves its whole state in slot 0
///     orr_step(world, 10);
///     orr_entity_remember(world, ball, 10);
///     orr_entity_travel(world, ball, 0);        // restores it; the rest of the world is unchanged
///
///     orr_stretcher_add(world, NULL);           // once: the system that does the playback
///     orr_time_stretch(world, ball, 0.5);       // plays slot 0 to 10 in 20 ticks, interpolated
///
/// All of this is stored in components of the entity. So it is in the world's hash, is restored
/// when the world travels, and is copied with the entity. Call all functions of this header between
/// ticks, on the thread that drives the world. See docs/ENTITY_TIME.md.
#ifndef ORRERY_TRAVELLER_H
#define ORRERY_TRAVELLER_H

#include <orrery/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- age ----------------------------------------------------------------------------------------

/// Component: the age of an entity in ticks, since it got this component. Its preset is the world's
/// tick, so the age begins at 0 however the component is added. A copy of an entity (orr_copy())
/// begins at 0, too. Read the age with orr_time_of().
typedef struct orr_time {
    /// The world's tick at which the entity's time was 0. Negative for an entity that travelled
    /// ahead further than the world's tick.
    int64_t origin;
} orr_time;
/// Desc of orr_time.
extern ORR_API const orr_type_desc orr_desc_orr_time;
ORR_DESCRIBED(orr_time)

/// The entity's own time, in ticks of the world (of all pipelines except spectators). Inside a
/// system it is allowed where orr_component_get() of orr_time is.
/// @return 0, and an error in the log, for a dead entity and for an entity without orr_time.
ORR_API_HISTORY uint64_t orr_time_of(const orr_world* world, orr_entity entity);

// ---- slots --------------------------------------------------------------------------------------

#define ORR_TRAVELLER_BYTES_MAX (1u << 24) ///< Limit of bytes of all slots of one entity: 16 MiB.
#define ORR_TRAVELLER_PAGES     16u        ///< Number of arrays in which the slots are stored.

/// Component: the slots of an entity. Only an entity with this component can save its state.
/// Requires orr_time, which is added with it.
typedef struct orr_time_traveller {
    /// The slots in ascending order, several per array. Written only by orr_entity_remember() and
    /// orr_entity_forget().
    orr_array memory[ORR_TRAVELLER_PAGES];
} orr_time_traveller;
/// Desc of orr_time_traveller.
extern ORR_API const orr_type_desc orr_desc_orr_time_traveller;
ORR_DESCRIBED(orr_time_traveller)

/// Saves the state of an entity in a slot, and replaces the previous content of the slot. The state
/// is: all components with their values, instances and enable bits, pinned components included;
/// tags; and whether the entity is enabled. Not saved: its name, orr_time, orr_time_traveller,
/// orr_time_stretcher, and transient types. Any slot number may be used, whatever the entity's time
/// is. The cost is proportional to the bytes of all its slots divided by ORR_TRAVELLER_PAGES.
/// Allocates.
/// @return ORR_ERR_ABSENT without orr_time_traveller; ORR_ERR_TYPE if the entity has an opaque type
/// or a type with hooks (the log names it); ORR_ERR_CAPACITY above ORR_TRAVELLER_BYTES_MAX;
/// ORR_ERR_ENTITY, ORR_ERR_MEMORY, ORR_ERR_STATE. On error nothing changed.
ORR_API_HISTORY orr_result orr_entity_remember(orr_world* world, orr_entity entity, uint64_t slot);
/// Empties a slot. Allocates.
/// @return ORR_ERR_PAST if the slot is empty. Other errors as orr_entity_remember().
ORR_API_HISTORY orr_result orr_entity_forget(orr_world* world, orr_entity entity, uint64_t slot);
/// Lists the used slots, ascending. Writes at most `out_count` of them to `out`.
/// @return the number of used slots; 0 for an entity without orr_time_traveller.
ORR_API_HISTORY uint32_t orr_entity_slots(const orr_world* world, orr_entity entity, uint64_t* out,
                                          uint32_t out_count);

/// Restores the state of an entity from a slot, and sets its time to the slot's number. Instances
/// of multiple types keep their ids by position: the first saved value goes to the first instance
/// that the entity has now, and so on. References to entities that died since become null. Nothing
/// else of the world changes. Allocates.
///
/// If the slot is empty, the number is compared with the entity's time:
/// - ahead: the entity alone is updated, tick by tick, as running ticks would update it. All
///   systems that select it must belong to the first pipeline and access nothing but their own
///   rows. If any other system selects the entity, or may change it by id, the result is
///   ORR_ERR_STATE, and the log names the system.
/// - equal: nothing happens.
/// - past: ORR_ERR_PAST; the log names the nearest used slots.
/// @return ORR_ERR_ABSENT without orr_time_traveller; ORR_ERR_FORMAT if a saved type is not
/// registered or has another layout now; ORR_ERR_CAPACITY if its saved components and tags exceed
/// the world's limits; ORR_ERR_ARGUMENT if the time is more than UINT32_MAX ticks ahead;
/// ORR_ERR_ENTITY, ORR_ERR_MEMORY, ORR_ERR_STATE. On error the entity is unchanged.
ORR_API_HISTORY orr_result orr_entity_travel(orr_world* world, orr_entity entity, uint64_t slot);

// ---- playback -----------------------------------------------------------------------------------

/// Result of the last step of a playback.
typedef enum orr_stretch_state {
    ORR_STRETCH_MOVES = 0,       ///< The step succeeded, or there was nothing to do.
    ORR_STRETCH_OUTSIDE_SLOTS,   ///< The next position is not between two slots.
    ORR_STRETCH_UNDECLARED_TYPE, ///< orr_stretcher_desc.types lacks a type that would change.
    ORR_STRETCH_REFUSED,         ///< Out of memory, or a saved type is not registered as it was.
} orr_stretch_state;

/// Component: plays back the slots of an entity. In each tick the position moves by the rate, and
/// the entity gets the state between the two slots around the position: floating-point numbers are
/// interpolated linearly, quaternions spherically, everything else is as in the lower slot
/// (orr_field_attributes.interpolation changes this per field). Requires orr_time_traveller, which
/// is added with it. If a step is not possible, the entity keeps its state, position and time; the
/// reason is logged once, and each tick tries again.
typedef struct orr_time_stretcher {
    double position; ///< In the entity's own time.
    double rate;     ///< Added to the position in each tick. Any finite number, also 0 or negative.
    /// Sum of the rates of all stretchers that drive this one; added to `rate` in the last tick.
    /// Written by the system.
    double push;
    /// The entity whose rate this stretcher changes (orr_time_derivate()). Null: it plays back its
    /// own entity.
    orr_entity drives;
    orr_stretch_state state; ///< Result of the last step. Written by the system.
} orr_time_stretcher;
/// Desc of orr_time_stretcher.
extern ORR_API const orr_type_desc orr_desc_orr_time_stretcher;
ORR_DESCRIBED(orr_time_stretcher)

/// Sets the playback rate of an entity. Adds orr_time_stretcher if it is missing, with the entity's
/// time as position. This saves no state: slots must exist where the position goes. Inside systems
/// write the component instead. If the world has no system from orr_stretcher_add(), a warning is
/// logged once. Allocates.
/// @return ORR_ERR_RANGE if the rate is not finite; ORR_ERR_ENTITY, ORR_ERR_MEMORY, ORR_ERR_STATE.
ORR_API_HISTORY orr_result orr_time_stretch(orr_world* world, orr_entity entity, double rate);
/// Makes entity `stretcher` drive entity `of`: from now on the rate of `stretcher` is added, in
/// each tick, to the rate of `of`, as an acceleration. The rate of an entity that drives
/// `stretcher` is a jerk. An entity that drives another entity is not played back. With `of` null
/// or equal to `stretcher`, `stretcher` drives no entity and is played back again. Several entities
/// may drive the same entity. All steps use the rates at the beginning of the tick: with rate v and
/// acceleration a, after n ticks the position has moved by n v + a n (n - 1) / 2. Allocates.
/// @return ORR_ERR_ABSENT if one of the entities has no orr_time_stretcher; ORR_ERR_ARGUMENT for a
/// cycle; ORR_ERR_ENTITY, ORR_ERR_MEMORY, ORR_ERR_STATE.
ORR_API_HISTORY orr_result orr_time_derivate(orr_world* world, orr_entity stretcher, orr_entity of);

/// Settings of the playback system.
typedef struct orr_stretcher_desc {
    /// Types that playback may change, as text: "Position, Rotation". At most 31. Default: all
    /// types registered now that can be saved in slots.
    const char* types;
    /// The pipeline of the system, as in orr_system_desc. It must be the pipeline that writes the
    /// types above. Default: the world's first.
    const char* pipeline;
    const char* before; ///< As in orr_system_desc.
    const char* after;  ///< As in orr_system_desc.
} orr_stretcher_desc;
/// Adds the system "orr_stretch", which does the playback of all entities with orr_time_stretcher.
/// `desc` may be NULL. Systems that would also move these entities exclude them with
/// "!orr_time_stretcher", or run before "orr_stretch". Allocates.
/// @return null when refused.
ORR_API_HISTORY orr_system orr_stretcher_add(orr_world* world, const orr_stretcher_desc* desc);

#ifdef __cplusplus
}
#endif

#endif
