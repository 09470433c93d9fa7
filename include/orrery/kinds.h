// SPDX-License-Identifier: MIT
/// @file kinds.h
/// What an entity can have beside plain components: several of a kind, values that never move, a name, what it
/// is referred to by; and the shorthands for making it: bundles, singletons, types that bring others along.
///
///     ORR_STRUCT_EX(Collider, (.multiplicity = ORR_MULTIPLE), (float, radius))   // any number per entity
///     ORR_STRUCT_EX(Body, (.storage = ORR_PINNED), (float, mass))                // never moves
///     ORR_STRUCT_EX(Engine, (.needs = "Fuel, Position"), (float, power))         // brings these along
///     ORR_STRUCT(Parent, (orr_entity, entity, (.flags = ORR_FIELD_INDEXED,
///                                              .on_destroy = ORR_ON_DESTROY_DESTROY))) // children die with it
///
/// Threads, pointers and refusals are as store.h says. A pinned value is the exception: its pointer is good for
/// as long as the entity has the component.
#ifndef ORRERY_KINDS_H
#define ORRERY_KINDS_H

#include <orrery/store.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- several of a kind: `multiple` types --------------------------------------------------------------

/// Names one instance of a `multiple` type on its entity. Given by a counter of the world, never saved or hashed;
/// 0 is no instance, and stands for the component of a `unique` type.
typedef uint32_t orr_component_id;

#define ORR_INSTANCES_MAX \
    1024u ///< Of one type on one entity; also at most ORR_VALUE_SIZE_MAX bytes.

// A row of a cluster has room for 1, 2, 4, 8 … instances of each multiple type; this capacity is part of the
// cluster's identity. It doubles when full and halves at a quarter, so most additions move nothing. Queries do
// not see it: an entity with one instance matches like one with five. orr_component_add() adds an instance if there
// is none, orr_component_remove() removes all, orr_component_get() gives the first; set and edit are refused:
// use the calls below, which take unique types too, with id 0.

/// Adds an instance, after those there are. `value` NULL: the preset. @return its id; 0 when refused, which a unique
/// type is too, since its id would be 0: use orr_component_set(). Allocates.
ORR_API orr_component_id orr_instance_add(orr_world* world, orr_entity entity, orr_type type,
                                          const void* value);
/// The typed form: orr_add_instance(world, bob, Collider, {.radius = 2})
#ifndef __cplusplus
#define orr_add_instance(world, entity, type, ...) \
    orr_instance_add(world, entity, orr_type_of(world, ORR_TYPE(type)), &(const type)__VA_ARGS__)
#endif
/// Removes one instance; the others keep their order. The last one takes the component with it.
/// @return ORR_ERR_ABSENT if there is none of this id. Allocates.
ORR_API orr_result orr_instance_remove(orr_world* world, orr_entity entity, orr_type type,
                                       orr_component_id id);
/// @return ORR_ERR_ABSENT.
ORR_API orr_result orr_instance_set(orr_world* world, orr_entity entity, orr_type type,
                                    orr_component_id id, const void* value);
/// The value of one instance; NULL if there is none. A dead entity is an error.
ORR_API const void* orr_instance_get(const orr_world* world, orr_entity entity, orr_type type,
                                     orr_component_id id);
/// The same to change in place: stamps its block.
ORR_API void* orr_instance_edit(orr_world* world, orr_entity entity, orr_type type,
                                orr_component_id id);
/// Switches one instance off or on; id 0 means all of them. @return ORR_ERR_ABSENT. Allocates.
ORR_API orr_result orr_instance_enable(orr_world* world, orr_entity entity, orr_type type,
                                       orr_component_id id, bool on);
ORR_API bool orr_instance_enabled(const orr_world* world, orr_entity entity, orr_type type,
                                  orr_component_id id);
/// All instances: their number, and in `*values` and `*ids` (may be NULL) arrays of as many, in order of addition.
/// For a unique type at most one, whose id is 0.
ORR_API uint32_t orr_instances_get(const orr_world* world, orr_entity entity, orr_type type,
                                   const void** values, const orr_component_id** ids);

/// The instances of the rows of a chunk, beside the array of values (orr_column_read()), which has `capacity` values
/// per row: those of row i begin at i * capacity. Values past the last instance of a row are zero bytes: where zero is
/// neutral, as in a sum, a loop may run over the whole capacity without looking at the counts.
typedef struct orr_instances {
    const uint16_t* counts;      ///< Per row, 1 to capacity.
    const orr_component_id* ids; ///< `capacity` per row. NULL: a unique type, all ids are 0.
    const uint64_t*
        enabled; ///< `capacity` bits per row, least significant first; NULL: all are on.
    uint32_t capacity;
} orr_instances;

/// All zero if there is no such chunk or column. For a unique type the counts are NULL and the capacity is 1.
ORR_API orr_instances orr_column_instances(const orr_world* world, orr_cluster cluster,
                                           uint32_t chunk, orr_type type);

// ---- values that never move: `pinned` types ---------------------------------------------------------------

// A pinned value lies in a pool of its type; adding and removing it moves nothing else, and the pointer that
// orr_component_get() or orr_component_edit() gives is good until it is removed. (Writing through a kept pointer stamps
// nothing: ask orr_component_edit() again where somebody watches for changes, or reads it in real time from another
// pipeline.) A pinned type is not part of a cluster: cluster calls refuse it, queries walk a working set of those that have it. All calls for components of
// entities take pinned types; orr_copy() copies them too. They cannot be `multiple`. A value set anew is copied into its
// place, so its move hook is not called (except when a copy hook refuses what it has just accepted). Memory of
// removed values is kept for the next ones until the world ends.

/// How many entities have a pinned component. 0 for other types.
ORR_API uint32_t orr_pinned_count(const orr_world* world, orr_type type);

// ---- references to components -------------------------------------------------------------------------------

/// A component named from anywhere: checked at every use, never dangling. Plain data, good for this run only.
typedef struct orr_component_ref {
    orr_entity entity;
    orr_type type;
    orr_component_id id; ///< 0 for unique types.
} orr_component_ref;

/// The value; NULL without an error if the entity is dead or the component or instance is gone.
ORR_API const void* orr_ref_get(const orr_world* world, orr_component_ref ref);
/// The same to change in place.
ORR_API void* orr_ref_edit(orr_world* world, orr_component_ref ref);

// ---- references between entities: `indexed` fields -------------------------------------------------------------

// An orr_entity field with ORR_FIELD_INDEXED can be followed backwards: who refers to this entity? To keep that exact, a
// type with such a field is written by orr_component_set() and the calls that take values only; its column cannot be
// written in place (edit, column and span writes, write terms of queries and appenders are refused). Its type
// must be unique and in chunks. When the entity referred to is destroyed, `on_destroy` says what happens:
// the reference stays as it is (ORR_ON_DESTROY_KEEP, seen to be dead), becomes null (CLEAR), or the referrer is destroyed
// too (DESTROY). All of it is one change: done, or refused without effect.

/// Entities whose `type` value refers to `target` in the indexed field `field` ("parent", "slots[2]"; NULL: in any of its
/// indexed fields, each referrer once), in ascending index order. Writes at most `out_count`.
/// @return how many there are. 0, with an error, for a field that is not indexed.
ORR_API uint32_t orr_referrers_get(const orr_world* world, orr_entity target, orr_type type,
                                   const char* field, orr_entity* out, uint32_t out_count);

// ---- names ------------------------------------------------------------------------------------------------------

/// The built-in component behind names. Pinned, so that naming moves nothing. Read it like any component; it is written
/// by orr_name_set() only: orr_component_set(), edit and add refuse it, remove takes the name away. orr_copy() leaves it.
typedef struct orr_name {
    orr_entity scope; ///< Names are unique within a scope; null is the world.
    orr_string text;
} orr_name;
extern ORR_API const orr_type_desc orr_desc_orr_name;

#define ORR_ENTITY_NAME_MAX 255 ///< Bytes of a name; not empty, no '/', no control characters.

/// Names an entity, or renames it. NULL takes its name away. @return ORR_ERR_CONFLICT if the scope has another
/// entity of this name (said which), ORR_ERR_NAME, ORR_ERR_ARGUMENT if the scope is the entity itself or below
/// it. Allocates.
ORR_API orr_result orr_name_set(orr_world* world, orr_entity entity, orr_entity scope,
                                const char* name);
/// Its name; "" if it has none. A dead id gives "" and an error. Good until the entity is renamed and the tick advances.
ORR_API const char* orr_name_get(const orr_world* world, orr_entity entity);
/// The entity of a path, such as "castle/door", from `scope` (null: the world) down; null if there is none. Empty
/// segments ("", "/castle", "castle//door", "castle/") find nothing. A dead scope is an error.
ORR_API orr_entity orr_find(const orr_world* world, orr_entity scope, const char* path);
/// Writes the path of an entity, such that orr_find() from the world finds it: "castle/door". "" for an entity
/// without a name. A scope that died, or has no name, shows as "7v1" in its place. A dead id gives "" and an error. As
/// orr_value_print().
ORR_API size_t orr_path_print(const orr_world* world, orr_entity entity, char* out,
                              size_t out_size);
/// Creates an entity with a name in the world's scope. Null when refused. Allocates.
ORR_API orr_entity orr_create_named(orr_world* world, const char* name);

// ---- singletons ---------------------------------------------------------------------------------------------------

/// The world's own entity, whose components are the singletons: created at first use, again after it was destroyed. An
/// entity like any other: orr_set(world, orr_world_entity(world), Gravity, {9.81f}). Null when refused. Allocates.
ORR_API orr_entity orr_world_entity(orr_world* world);
/// The value of a singleton; NULL if the world has none. Creates nothing.
ORR_API const void* orr_singleton_get(const orr_world* world, orr_type type);
#define orr_singleton(world, type) \
    ((const type*)orr_singleton_get(world, orr_type_of(world, ORR_TYPE(type))))

// ---- bundles ------------------------------------------------------------------------------------------------------

/// A named group of components with values, made of types, tags and other bundles. All-zero is null.
typedef struct orr_bundle {
    uint32_t id;
} orr_bundle;

/// Registers a bundle under a name, with its items as text:
///
///     orr_bundle_register(world, "fighter", "HitReceiver, HitSender {damage: 3}, Health {now: 50}", &fighter);
///     orr_bundle_register(world, "monster", "fighter, Health {now: 80}, Position, #level1", &monster);
///
/// An item is a type, with a value or with its preset; a tag that has a name; or a bundle, whose items come in its place.
/// A type given again replaces the value before; a multiple type given again is one more instance. The same name
/// with the same items gives the same bundle. @return ORR_ERR_PARSE, ORR_ERR_TYPE, ORR_ERR_FIELD, ORR_ERR_RANGE (the
/// error points at the character and names near misses), ORR_ERR_CONFLICT, ORR_ERR_NAME. Allocates.
ORR_API ORR_NODISCARD orr_result orr_bundle_register(orr_world* world, const char* name,
                                                     const char* items, orr_bundle* out);
/// Null if there is none.
ORR_API orr_bundle orr_bundle_find(const orr_world* world, const char* name);
/// Creates `count` entities with everything the bundle has. `out` may be NULL. All or nothing. Allocates.
ORR_API orr_result orr_bundle_create(orr_world* world, orr_bundle bundle, uint32_t count,
                                     orr_entity* out);
/// Gives an entity what it lacks of a bundle; what it has keeps its value. All or nothing. Allocates.
ORR_API orr_result orr_bundle_add(orr_world* world, orr_entity entity, orr_bundle bundle);
/// Removes all types and tags of a bundle from an entity, those it has. All or nothing. Allocates.
ORR_API orr_result orr_bundle_remove(orr_world* world, orr_entity entity, orr_bundle bundle);
/// Writes what the bundle holds, nested ones resolved, as text that registers the same. As orr_value_print().
ORR_API size_t orr_bundle_print(const orr_world* world, orr_bundle bundle, char* out,
                                size_t out_size);

#ifdef __cplusplus
}
#endif

#endif
