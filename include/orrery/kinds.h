// SPDX-License-Identifier: MIT
/// @file kinds.h
/// Special kinds of components and references: types with several instances per entity, pinned
/// types whose values never move, indexed references, names, singletons, bundles.
///
///     ORR_STRUCT_EX(Collider, (.multiplicity = ORR_MULTIPLE), (float, radius)) // any number
///     ORR_STRUCT_EX(Body, (.storage = ORR_PINNED), (float, mass))              // never moves
///     ORR_STRUCT_EX(Engine, (.needs = "Fuel, Position"), (float, power))       // adds both too
///     ORR_STRUCT(Parent, // destroying the parent destroys the entity with this component
///                (orr_entity, entity, (.flags = ORR_FIELD_INDEXED,
///                                      .on_destroy = ORR_ON_DESTROY_DESTROY)))
///
/// The rules of store.h for threads, pointers and refused calls apply. Only a pointer to a pinned
/// value stays valid longer: as long as the entity has the component.
#ifndef ORRERY_KINDS_H
#define ORRERY_KINDS_H

#include <orrery/store.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- multiple types: several instances per entity -----------------------------------------------

/// Id of one instance of a multiple type on its entity, given by a counter of the world. Ids are
/// neither saved nor hashed. 0 is no instance; it stands for the component of a unique type.
typedef uint32_t orr_component_id;

/// Most instances of one type on one entity. All of them together also have at most
/// ORR_VALUE_SIZE_MAX bytes.
#define ORR_INSTANCES_MAX 1024u

// A row of a cluster has room for 1, 2, 4, 8 … instances of each multiple type. This capacity is
// part of the identity of the cluster. It doubles when the row is full and halves when a quarter is
// used, so most additions move no row. Queries ignore the capacity, and it does not matter for
// matching how many instances an entity has.
//
// orr_component_add() adds an instance if there is none, orr_component_remove() removes all
// instances, orr_component_get() returns the first. orr_component_set() and orr_component_edit()
// are refused for multiple types: use the calls below, which also take unique types, with id 0.

/// Adds an instance after the existing ones. `value` NULL: the preset. Allocates.
/// @return the id of the instance; 0 if refused. A unique type is refused too, because its id would
/// be 0: use orr_component_set().
ORR_API orr_component_id orr_instance_add(orr_world* world, orr_entity entity, orr_type type,
                                          const void* value);
/// Adds an instance from an initialiser: orr_add_instance(world, bob, Collider, {.radius = 2}). As
/// orr_instance_add(). C only.
#ifndef __cplusplus
#define orr_add_instance(world, entity, type, ...)                                                \
    ORR_PP_CALL(type,                                                                             \
                orr_instance_add(world, entity, orr_type_of(world, ORR_TYPE(type)), &orr_value_), \
                __VA_ARGS__)
#endif
/// Removes one instance. The others keep their order. Removing the last instance removes the
/// component. Allocates.
/// @return ORR_ERR_ABSENT if the entity has no instance with this id.
ORR_API orr_result orr_instance_remove(orr_world* world, orr_entity entity, orr_type type,
                                       orr_component_id id);
/// Copies a value into an instance. Allocates.
/// @return ORR_ERR_ABSENT if the entity has no instance with this id.
ORR_API orr_result orr_instance_set(orr_world* world, orr_entity entity, orr_type type,
                                    orr_component_id id, const void* value);
/// Value of an instance, for reading; NULL if there is none. A dead entity is an error.
ORR_API const void* orr_instance_get(const orr_world* world, orr_entity entity, orr_type type,
                                     orr_component_id id);
/// Value of an instance, for writing in place; NULL if there is none, and where
/// orr_component_edit() is refused for lack of memory. Stamps the block.
ORR_API void* orr_instance_edit(orr_world* world, orr_entity entity, orr_type type,
                                orr_component_id id);
/// Enables or disables an instance; id 0: all instances. Allocates.
/// @return ORR_ERR_ABSENT if the entity has no instance with this id.
ORR_API orr_result orr_instance_enable(orr_world* world, orr_entity entity, orr_type type,
                                       orr_component_id id, bool on);
/// True if the entity has the instance and it is enabled.
ORR_API bool orr_instance_enabled(const orr_world* world, orr_entity entity, orr_type type,
                                  orr_component_id id);
/// All instances of a type on an entity. `*values` and `*ids` (both may be NULL) become arrays of
/// the values and ids, in the order in which instances were added. A unique type has at most one,
/// with id 0.
/// @return the number of instances.
ORR_API uint32_t orr_instances_get(const orr_world* world, orr_entity entity, orr_type type,
                                   const void** values, const orr_component_id** ids);

/// Instances of a multiple type in the rows of a chunk or run. The values are in the column
/// (orr_column_read()), which has `capacity` values per row: the values of row i begin at i *
/// capacity. Values after the last instance of a row are zero bytes, so a loop for which zero is
/// neutral, such as a sum, may run over the whole capacity and ignore the counts.
typedef struct orr_instances {
    const uint16_t* counts;      ///< Instances of each row, 1 to capacity. NULL: a unique type.
    const orr_component_id* ids; ///< `capacity` per row. NULL: a unique type, all ids are 0.
    const uint64_t* enabled;     ///< `capacity` bits per row, lowest first. NULL: all enabled.
    uint32_t capacity;           ///< Instances that a row has room for.
} orr_instances;

/// Instances of a type in a chunk. All zero if there is no such chunk or column. For a unique type
/// `counts` is NULL and the capacity is 1.
ORR_API orr_instances orr_column_instances(const orr_world* world, orr_cluster cluster,
                                           uint32_t chunk, orr_type type);

// ---- pinned types: values that never move -------------------------------------------------------

// The values of a pinned type lie in a pool. Adding and removing a value moves nothing else, and a
// pointer from orr_component_get() or orr_component_edit() is valid until the component is removed.
// Writing through an old pointer does not stamp the value: call orr_component_edit() again before
// writing if readers detect changes, or if another pipeline reads the value in real time.
//
// A pinned type is not part of a cluster: calls on clusters refuse it, and a query that requires it
// walks a list of the entities that have it. All calls on components of entities take pinned types,
// and orr_copy() copies them. A pinned type cannot be multiple. Setting an existing value of a type
// with hooks calls the copy hook twice: for a temporary copy, then for the copy in place. The move
// hook is called only if the second copy is refused: it then moves the temporary copy into place.
// The memory of removed values is reused, and freed with the world.

/// Number of entities that have a pinned component. 0 for other types.
ORR_API uint32_t orr_pinned_count(const orr_world* world, orr_type type);

// ---- references to components -------------------------------------------------------------------

/// A checked reference to a component or instance. Plain data. Every use checks that the component
/// still exists. Valid only in this run of the program: instance ids are not saved.
typedef struct orr_component_ref {
    orr_entity entity;   ///< Entity that has the component.
    orr_type type;       ///< Type of the component.
    orr_component_id id; ///< Instance; 0 for unique types.
} orr_component_ref;

/// Value of the referenced component, for reading. NULL without an error if the entity is dead or
/// does not have the component or instance.
ORR_API const void* orr_ref_get(const orr_world* world, orr_component_ref ref);
/// As orr_ref_get(), for writing in place. Stamps the block. NULL also where orr_component_edit()
/// is refused for lack of memory.
ORR_API void* orr_ref_edit(orr_world* world, orr_component_ref ref);

// ---- indexed references between entities --------------------------------------------------------

// An orr_entity field with ORR_FIELD_INDEXED can be followed backwards, with orr_referrers_get().
// The world keeps an index of these references, so a type with such a field can only be written by
// calls that take values, such as orr_component_set(). Writing its column in place is refused:
// edit, column and span writes, write terms of queries, and appenders. The type must be unique and
// not pinned.
//
// When the referenced entity is destroyed, orr_field_attributes.on_destroy decides: the reference
// stays (ORR_ON_DESTROY_KEEP), becomes null (ORR_ON_DESTROY_CLEAR), or its entity is destroyed too
// (ORR_ON_DESTROY_DESTROY). The whole cascade is done, or refused without effect.

/// Finds the entities whose `type` value refers to `target` in the indexed field `field`, such as
/// "parent" or "slots[2]". `field` NULL: in any indexed field of the type; each entity is listed
/// once. Writes at most `out_count` entities, in ascending order of their index.
/// @return the number of all referrers; 0, with an error, if the field is not indexed.
ORR_API uint32_t orr_referrers_get(const orr_world* world, orr_entity target, orr_type type,
                                   const char* field, orr_entity* out, uint32_t out_count);

// ---- names --------------------------------------------------------------------------------------

/// Built-in pinned component that holds the name of an entity. Read it like any component. Only
/// orr_name_set() writes it: orr_component_set(), orr_component_edit() and orr_component_add()
/// refuse it; orr_component_remove() removes the name. orr_copy() does not copy it.
typedef struct orr_name {
    orr_entity scope; ///< Entity within which the name is unique; null: the world.
    orr_string text;  ///< The name.
} orr_name;
/// Desc of orr_name, for ORR_TYPE(orr_name).
extern ORR_API const orr_type_desc orr_desc_orr_name;
ORR_DESCRIBED(orr_name)

/// Largest entity name, in bytes. A name is not empty and has no '/' and no control characters.
#define ORR_ENTITY_NAME_MAX 255

/// Names or renames an entity. `name` NULL removes the name. Allocates.
/// @return ORR_ERR_CONFLICT if another entity in the scope has this name (the error text names it);
/// ORR_ERR_NAME; ORR_ERR_ARGUMENT if the scope is the entity itself or below it.
ORR_API orr_result orr_name_set(orr_world* world, orr_entity entity, orr_entity scope,
                                const char* name);
/// Name of an entity; "" if it has none. A dead id gives "" and an error. Valid until the entity is
/// renamed and the tick then advances.
ORR_API const char* orr_name_get(const orr_world* world, orr_entity entity);
/// Finds an entity by a path, such as "castle/door", relative to `scope` (null: the world). Null if
/// there is none. A path with an empty segment ("", "/castle", "castle//door", "castle/") finds
/// nothing. A dead scope is an error.
ORR_API orr_entity orr_find(const orr_world* world, orr_entity scope, const char* path);
/// Writes the path of an entity from the world, such as "castle/door", so that orr_find() finds it.
/// "" for an entity without a name. A scope that is dead or has no name is written as its id,
/// "7v1". A dead id gives "" and an error. Size and return value as for orr_value_print().
ORR_API size_t orr_path_print(const orr_world* world, orr_entity entity, char* out,
                              size_t out_size);
/// Creates an entity with a name in the world's scope. Null if refused. Allocates.
ORR_API orr_entity orr_create_named(orr_world* world, const char* name);

// ---- singletons ---------------------------------------------------------------------------------

/// The entity whose components are the world's singletons: orr_set(world, orr_world_entity(world),
/// Gravity, {9.81f}). It is created on first use, and again after it was destroyed; otherwise it is
/// an entity like any other. Null if refused. Allocates.
ORR_API orr_entity orr_world_entity(orr_world* world);
/// Value of a singleton, for reading; NULL if the world does not have it. Creates nothing.
ORR_API const void* orr_singleton_get(const orr_world* world, orr_type type);
/// const Gravity* g = orr_singleton(world, Gravity). As orr_singleton_get().
#define orr_singleton(world, type) \
    ORR_PP_READ(type, orr_singleton_get(world, orr_type_of(world, ORR_TYPE(type))))

// ---- bundles ------------------------------------------------------------------------------------

/// Handle of a bundle: a named group of components with values, tags and other bundles. All-zero is
/// null.
typedef struct orr_bundle {
    uint32_t id; ///< 0 is null.
} orr_bundle;

/// Registers a bundle with a name. Its items are given as text:
///
///     orr_bundle_register(world, "fighter", "HitSender {damage: 3}, Health", &fighter);
///     orr_bundle_register(world, "monster", "fighter, Health {now: 80}, #level1", &monster);
///
/// An item is a type with a value, or without one for its preset; a tag that has a name; or a
/// bundle, which stands for its items. A type listed again replaces the earlier value; a multiple
/// type listed again adds an instance. Registering the same name with the same items again returns
/// the same bundle. Allocates.
/// @return ORR_ERR_PARSE, ORR_ERR_TYPE, ORR_ERR_FIELD or ORR_ERR_RANGE (the error text shows the
/// position and suggests similar names); ORR_ERR_CONFLICT if the name has other items;
/// ORR_ERR_NAME.
ORR_API ORR_NODISCARD orr_result orr_bundle_register(orr_world* world, const char* name,
                                                     const char* items, orr_bundle* out);
/// Bundle with a name; null if there is none.
ORR_API orr_bundle orr_bundle_find(const orr_world* world, const char* name);
/// Creates `count` entities with all items of a bundle. `out` receives the ids and may be NULL. All
/// or nothing. Allocates.
ORR_API orr_result orr_bundle_create(orr_world* world, orr_bundle bundle, uint32_t count,
                                     orr_entity* out);
/// Adds the items of a bundle that an entity does not have. Existing components keep their values.
/// All or nothing. Allocates.
ORR_API orr_result orr_bundle_add(orr_world* world, orr_entity entity, orr_bundle bundle);
/// Removes the types and tags of a bundle that an entity has. All or nothing. Allocates.
ORR_API orr_result orr_bundle_remove(orr_world* world, orr_entity entity, orr_bundle bundle);
/// Writes the items of a bundle as text that registers the same items, with nested bundles
/// resolved. Size and return value as for orr_value_print().
ORR_API size_t orr_bundle_print(const orr_world* world, orr_bundle bundle, char* out,
                                size_t out_size);

#ifdef __cplusplus
}
#endif

#endif
