// SPDX-License-Identifier: MIT
/// @file message.h
/// Messages: how systems change a world, and how they are notified of changes.
///
/// A system does not change the structure of the world directly. It sends changes. At the next
/// commit point of the tick all changes sent so far are merged to one net change per entity and
/// component, and applied. Systems that track the affected entities then receive messages: arrays
/// of entities and values, shared by all readers.
///
///     static void shoot(orr_run* run)
///     {
///         const Position* p = orr_read(run, Position);
///         for (uint32_t i = 0; i < run->count; i++) {
///             orr_entity bullet = orr_send_create(run); // the id is valid now, alive after commit
///             orr_send_add(run, bullet, Position, {p[i].x, p[i].y});
///         }
///     }
///
///     static void draw(orr_run* run) // an indirect system: it reads messages, not the world
///     {
///         ORR_MESSAGES (m, run) {
///             if (m->kind == ORR_ENTITY_ADDED) … orr_values(m, Position) …
///         }
///     }
///
/// Call the functions of this header only inside a system's function, with the `run` it was given
/// (exception: orr_events_limit()). A call that the system did not declare is refused with
/// ORR_ERR_STATE; the log names the system, the type and the entity. A change for an entity that is
/// dead at the commit is dropped, counted in orr_system_stats.dropped, and logged once per system.
/// docs/MESSAGES.md has the merge table and says when readers are notified.
#ifndef ORRERY_MESSAGE_H
#define ORRERY_MESSAGE_H

#include <orrery/query.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The argument of a system's function: the rows of this call, and the tick. Get columns with
/// orr_read(run, Position) and orr_write(run, Position), as in a loop over a query. Public fields:
/// `count` (rows), `dt` (seconds), `tick` (of the system's pipeline), `world`. Valid until the
/// function returns.
typedef orr_iter orr_run;

/// Handle of a system of one world. All-zero is null. A stale handle is detected by its generation.
typedef struct orr_system {
    uint32_t id, generation; ///< `id` 0 is null. `generation` changes when an id is used again.
} orr_system;

// ---- messages to readers ------------------------------------------------------------------------

/// Kind of change that a message reports. Messages of one commit come in this order; those about a
/// travel (ORR_CAUSE_TRAVEL) begin with ORR_ENTITY_REMOVED.
typedef enum orr_message_kind {
    /// The reader's query selects these entities from now on. The message has their components.
    ORR_ENTITY_ADDED = 0,
    ORR_COMPONENT_ADDED,   ///< Selected entities got a component.
    ORR_COMPONENT_CHANGED, ///< The value of a component is different.
    ORR_COMPONENT_REMOVED, ///< Selected entities lost a component.
    ORR_ENTITY_REMOVED,    ///< The reader's query no longer selects these entities.
} orr_message_kind;

/// Why an entity entered or left a query, or why a value changed. If several causes apply, the
/// message has the first of: created, destroyed, component, enabled.
typedef enum orr_cause {
    ORR_CAUSE_WRITTEN = 0, ///< A value was written or sent.
    ORR_CAUSE_CREATED,     ///< The entity was created.
    ORR_CAUSE_DESTROYED,   ///< The entity was destroyed.
    ORR_CAUSE_COMPONENT,   ///< The entity got or lost a component or a tag.
    ORR_CAUSE_ENABLED,     ///< The entity or a component was enabled or disabled.
    /// The reader is new or was enabled, and receives the current state. Also after a travel, for
    /// entities with changes that the reader had not received when the tick was remembered.
    ORR_CAUSE_READER,
    /// The world went to another tick (orr_time_travel()) and differs there. Only readers whose
    /// queue is not part of the world's state receive this cause: spectators, systems with a `user`
    /// pointer and without `state` and `exports`, and the journal.
    ORR_CAUSE_TRAVEL,
} orr_cause;

/// The values of one component type, for the entities of an ORR_ENTITY_ADDED message.
typedef struct orr_message_column {
    orr_type type;      ///< The component type.
    const void* values; ///< All values, one after another. NULL for a marker (a type without data).
    /// NULL: one value per entity. Otherwise (multiple and pinned types) the values of entity i are
    /// values[firsts[i]] to values[firsts[i + 1] - 1].
    const uint32_t* firsts;
    const orr_component_id* ids; ///< Instance ids, one per value. NULL: all ids are 0.
} orr_message_column;

/// A message: an array of entities with the same kind of change. Read-only. Valid until the
/// system's function returns.
typedef struct orr_message {
    orr_message_kind kind; ///< Kind of change.
    orr_cause cause;       ///< Reason of the change.
    uint64_t tick;         ///< The world's tick (orr_world_tick()) in which it happened.
    orr_system system;     ///< The system that caused it. Null: several, or a call from outside.
    /// Number of entities. An entity with several instances may occur several times.
    uint32_t count;
    const orr_entity* entities; ///< [count] The entities.
    // Component messages.
    orr_type type;               ///< Null for ORR_ENTITY_ADDED and ORR_ENTITY_REMOVED.
    const orr_component_id* ids; ///< [count] Instance ids. NULL: a unique type, all ids are 0.
    /// [count] The new values. NULL if the component was removed, is a marker, or is orr_tags. For
    /// a type with hooks these are the raw bytes of the value: read them, do not keep or free them.
    const void* values;
    // ORR_ENTITY_ADDED. The tags are also set for changes of orr_tags.
    const orr_type* types; ///< [type_count] All types the entities have, except pinned types.
    uint32_t type_count;   ///< Number of types.
    const orr_tag* tags;   ///< [tag_count] All tags the entities have.
    uint32_t tag_count;    ///< Number of tags.
    const orr_message_column* columns; ///< [column_count] Values of the types the reader tracks.
    uint32_t column_count;             ///< Number of columns.
    orr_world* world;                  ///< The world of the entities.
} orr_message;

/// Built-in type for enable bits. A reader that names it ("?orr_enabled") receives
/// ORR_COMPONENT_CHANGED when a selected entity, or one of its components, is enabled or disabled.
/// Every entity counts as having orr_enabled. It cannot be stored in an entity.
typedef struct orr_enabled {
    /// The component type that was enabled or disabled. Null: the entity itself. The instance is in
    /// the message's `ids`.
    orr_type type;
    /// 1: enabled, 0: disabled. After ORR_ENTITY_ADDED only disabled entities, components and
    /// instances are reported.
    uint32_t on;
} orr_enabled;
/// Built-in type for tags. A reader that names it ("?orr_tags") receives ORR_COMPONENT_CHANGED when
/// the tags of a selected entity change; the message's `tags` has all tags. Every entity counts as
/// having orr_tags. It has no data and cannot be stored. (Names are an ordinary component:
/// "?orr_name".)
typedef struct orr_tags orr_tags;
/// Descs of the built-in types, for ORR_TYPE(orr_enabled) and ORR_TYPE(orr_tags).
extern ORR_API const orr_type_desc orr_desc_orr_enabled, orr_desc_orr_tags;
ORR_DESCRIBED(orr_enabled)
ORR_DESCRIBED(orr_tags)

/// Takes the next message from the queue of an indirect system. Messages that the system does not
/// take stay in the queue for its next tick.
/// @return the message; NULL when the queue is empty, and, with an error, in a direct system.
ORR_API const orr_message* orr_receive(orr_run* run);
/// Loops over all messages in the queue: ORR_MESSAGES (m, run) { … }
#define ORR_MESSAGES(m, run) for (const orr_message* m; (m = orr_receive(run)) != NULL;)

/// True if the message is about components of this type: orr_message_is(m, Position).
#define orr_message_is(m, type) orr_message_is_of(m, ORR_TYPE(type))
/// The values of a type in a message, one per entity: the values of a component message of that
/// type, or the column of an ORR_ENTITY_ADDED. NULL if the message has none, and for pinned and
/// multiple types of an ORR_ENTITY_ADDED (refused; use orr_values_of()).
#define orr_values(m, type) ORR_PP_READ(type, orr_message_values(m, ORR_TYPE(type)))
/// The values of entity `i` of an ORR_ENTITY_ADDED, and their number in `*count`. For pinned and
/// multiple types (orr_name is pinned), of which an entity may have none or several. NULL if the
/// entity has none.
#define orr_values_of(m, type, i, count) \
    ORR_PP_READ(type, orr_message_values_of(m, ORR_TYPE(type), i, count))
/// The call behind orr_values_of().
ORR_API const void* orr_message_values_of(const orr_message* message, const orr_type_desc* desc,
                                          uint32_t i, uint32_t* count);
/// The call behind orr_message_is().
ORR_API bool orr_message_is_of(const orr_message* message, const orr_type_desc* desc);
/// The call behind orr_values().
ORR_API const void* orr_message_values(const orr_message* message, const orr_type_desc* desc);
/// The column of a type in an ORR_ENTITY_ADDED; NULL if the message has none.
ORR_API const orr_message_column* orr_message_column_of(const orr_message* message, orr_type type);
/// Writes a message as text, with at most its first `most` entities: "ComponentChanged Position by
/// move: 7v1 {x: 1, y: 2}, …". Buffer and result as orr_value_print().
ORR_API size_t orr_message_print(const orr_message* message, uint32_t most, char* out,
                                 size_t out_size);
/// Name of a message kind: "EntityAdded". Never NULL.
ORR_API const char* orr_message_kind_name(orr_message_kind kind);
/// Name of a cause: "created". Never NULL.
ORR_API const char* orr_cause_name(orr_cause cause);

// ---- sending changes ----------------------------------------------------------------------------

// Values are copied; all calls that send may allocate. A change takes effect at a commit point.
// Changes are applied in the order of systems, then of a system's runs, then of calls, whatever the
// number of workers. Results:
//
//   ORR_ERR_STATE      the system did not declare the change (logged with system, type and entity)
//   ORR_ERR_MEMORY     no memory to record the change
//   ORR_ERR_TYPE       the type is not registered in this world, or cannot be sent
//   ORR_ERR_ARGUMENT   an argument is missing or outside its range
//   ORR_ERR_CAPACITY   a limit was reached, for example `creates_max`

/// Creates an entity (EntityAdded). The entity is alive after the commit. Declared by `creates`.
///
/// The returned id can be used at once in everything that the same run sends: as the entity of a
/// change or transaction, as a name's scope, in fields of values and events. The first ids of a
/// chunk, as many as are reserved (orr_system_desc.creates_max), may also be stored elsewhere: in
/// rows, states, exports. All further ids are provisional: when the system has ended, the final id
/// replaces them in everything that was sent. A copy of a provisional id elsewhere never names an
/// entity. Calls that send one in an owned array, or (at a multiple of 8 bytes) in the argument of
/// orr_transact_call(), return ORR_ERR_ENTITY, because they would not be replaced there.
/// @return null when refused, also when the system has used up its `creates_max`.
ORR_API orr_entity orr_send_create(orr_run* run);
/// Creates `count` entities in a cluster, with columns of values, as orr_create_many(). The fastest
/// way to create. Declared by `creates`. `out` (may be NULL) gets the ids, as orr_send_create().
ORR_API orr_result orr_send_create_many(orr_run* run, orr_cluster cluster, uint32_t count,
                                        const orr_column_data* data, uint32_t data_count,
                                        orr_entity* out);
/// Destroys an entity (EntityRemoved). Declared by `destroys`.
ORR_API orr_result orr_send_destroy(orr_run* run, orr_entity entity);
/// Adds a component (ComponentAdded). `value` NULL: the type's preset. If the entity already has a
/// unique component of this type, its value is set, and a warning is logged; if another pipeline
/// owns the type, the addition is dropped instead. Declared by `adds` or by `creates`. `out_id`
/// gets the id of the new instance of a multiple type, 0 for other types. It is the id that the
/// instance has after the commit, and can be used at once in all calls that send. NULL: the id is
/// not needed. A run with rows gets at most 16384 ids, other calls of the system's functions
/// 262144; then ORR_ERR_CAPACITY.
ORR_API orr_result orr_send_add_type(orr_run* run, orr_entity entity, orr_type type,
                                     const void* value, orr_component_id* out_id);
/// Sets the value of an existing component (ComponentChanged). `id` is 0 for a unique type. Dropped
/// and counted if the component does not exist at the commit. Declared by `changes`; by an indirect
/// system by a write term in its query.
ORR_API orr_result orr_send_change_type(orr_run* run, orr_entity entity, orr_type type,
                                        orr_component_id id, const void* value);
/// Sets the values of `count` components: `values` has one value per entity, one after another.
/// `ids` has one instance id per entity; NULL for a unique type. Otherwise as
/// orr_send_change_type().
ORR_API orr_result orr_send_change_many(orr_run* run, orr_type type, const orr_entity* entities,
                                        const orr_component_id* ids, uint32_t count,
                                        const void* values);
/// Removes a component (ComponentRemoved). For a multiple type `id` 0 removes all instances.
/// Declared by `removes`.
ORR_API orr_result orr_send_remove_type(orr_run* run, orr_entity entity, orr_type type,
                                        orr_component_id id);
/// Adds a tag to an entity (`on` true) or removes it. Declared by `tags`.
ORR_API orr_result orr_send_tag(orr_run* run, orr_entity entity, orr_tag tag, bool on);
/// Enables or disables a component; with a null type the entity itself. For a multiple type `id` 0
/// means all instances. Declared by `switches`.
ORR_API orr_result orr_send_enable_type(orr_run* run, orr_entity entity, orr_type type,
                                        orr_component_id id, bool on);
/// Names an entity, as orr_name_set(); `name` NULL removes its name. If the name is taken at the
/// commit, the change is refused there and logged. Declared by `renames`.
ORR_API orr_result orr_send_name(orr_run* run, orr_entity entity, orr_entity scope,
                                 const char* name);

#ifndef __cplusplus
/// Typed form of orr_send_add_type(): orr_send_add(run, bob, Position, {1, 2}). C only; in C++ and
/// for run-time types use the call itself.
#define orr_send_add(run, entity, type, ...)                                              \
    ORR_PP_CALL(type,                                                                     \
                orr_send_add_type(run, entity, orr_type_of((run)->world, ORR_TYPE(type)), \
                                  &orr_value_, NULL),                                     \
                __VA_ARGS__)
/// Typed form of orr_send_change_type() for a unique type:
/// orr_send_change(run, bob, Position, {1, 2}). C only.
#define orr_send_change(run, entity, type, ...)                                                 \
    ORR_PP_CALL(type,                                                                           \
                orr_send_change_type(run, entity, orr_type_of((run)->world, ORR_TYPE(type)), 0, \
                                     &orr_value_),                                              \
                __VA_ARGS__)
#endif
/// As orr_send_add(), with a pointer to a value whose type the compiler checks. C and C++.
#define orr_send_put(run, entity, type, pointer)                              \
    orr_send_add_type(run, entity, orr_type_of((run)->world, ORR_TYPE(type)), \
                      1 ? (pointer) : (const type*)NULL, NULL)
/// As orr_send_change(), with a pointer to a value whose type the compiler checks. C and C++.
#define orr_send_change_put(run, entity, type, pointer)                             \
    orr_send_change_type(run, entity, orr_type_of((run)->world, ORR_TYPE(type)), 0, \
                         1 ? (pointer) : (const type*)NULL)
/// Adds a component with the type's preset.
#define orr_send_add_preset(run, entity, type) \
    orr_send_add_type(run, entity, orr_type_of((run)->world, ORR_TYPE(type)), NULL, NULL)
/// Removes a component; all instances of a multiple type.
#define orr_send_remove(run, entity, type) \
    orr_send_remove_type(run, entity, orr_type_of((run)->world, ORR_TYPE(type)), 0)
/// Enables or disables a component; all instances of a multiple type. Never the entity, also if the
/// type cannot be registered.
#define orr_send_enable(run, entity, type, on) \
    orr_send_enable_type(run, entity,          \
                         orr_pp_type_refused(orr_type_of((run)->world, ORR_TYPE(type))), 0, on)
/// The type; for a null type one that every call refuses, where null has a meaning.
static inline orr_type orr_pp_type_refused(orr_type type)
{
    orr_type out = type;
    out.id = type.id != 0 ? type.id : UINT32_MAX;
    return out;
}

// ---- transactions -------------------------------------------------------------------------------

// A transaction changes a component of any entity by an operation (add, min, max, set, or a
// function) instead of a whole value. Any number of systems, on any number of workers, may send
// transactions on the same component: hits, scores, loads. No write is lost, and the number of
// workers does not change the result.
//
// Transactions are collected and applied at the next point of the plan (a commit or deliver point,
// orr_plan_print()), after all other changes that this point makes to the component. Transactions
// on one target are applied one after another, in the order of systems, then of their chunks of
// rows, then of calls. If the target is created in this tick, or its structure changes, its
// transactions are applied after that commit.
//
// Any kind of system may transact; it declares the types in `transacts`. Systems that only transact
// on a type do not wait for each other. A system that reads, writes or changes the type later in
// the tick sees the results. A transaction for a dead target, or for a target without the
// component, is dropped and counted, like other sent changes.

/// Operation of a transaction on one field. Floats are added one after another, in the order above.
typedef enum orr_op {
    ORR_OP_SET, ///< Sets any plain field. A reference is stored as given, dead or alive.
    ORR_OP_ADD, ///< Adds a number. Integers wrap around.
    /// Sets the field to the smaller of the field and the number. Equal values (also -0 and 0) keep
    /// the field. A NaN that is sent is ignored; a NaN in the field is replaced.
    ORR_OP_MIN,
    ORR_OP_MAX, ///< Sets the field to the larger of the two; equal values and NaN as ORR_OP_MIN.
} orr_op;

/// Sends a transaction on one field, given by `offset` and `size` in bytes. `number` points to a
/// value of the field's type, which is copied. `id` is 0 for a unique type. Numbers inside structs
/// and fixed arrays are fields, too.
/// @return ORR_ERR_FIELD if there is no such field, or the operation does not apply to it. Owned
/// strings, owned arrays, opaque values and indexed references are always refused. Other results as
/// for all changes (see "sending changes").
ORR_API orr_result orr_transact_field(orr_run* run, orr_op op, orr_entity target, orr_type type,
                                      orr_component_id id, uint32_t offset, uint32_t size,
                                      const void* number);
/// Function of a transaction: changes `value`, a component of `target`, using a copy of the
/// argument, which has `size` bytes. It must not read or write anything else of the world, nor keep
/// state outside. Called on the thread that drives the world. In a replay the argument may come
/// from a file: read no more than `size` bytes, or declare the size (orr_transaction_register()).
typedef void (*orr_transaction)(const orr_world* world, orr_entity target, void* value,
                                const void* argument, uint32_t size);
/// Sends a transaction that calls `function`. `size` bytes of `argument` are copied; the copy is
/// aligned to 16 bytes. `argument` may be NULL if `size` is 0. Only for plain types: no owned
/// fields, no indexed fields, no hooks. `id` is 0 for a unique type.
/// @return ORR_ERR_ARGUMENT if the function was registered with another size
/// (orr_transaction_register()). Other results as for all changes (see "sending changes").
ORR_API orr_result orr_transact_call(orr_run* run, orr_entity target, orr_type type,
                                     orr_component_id id, orr_transaction function,
                                     const void* argument, uint32_t size);
#ifndef __cplusplus
/// Typed form of orr_transact_field(): orr_transact(run, ORR_OP_ADD, target, Health, hp, -5). The
/// value is converted to the member's type. C only; in C++, for instances and for run-time types
/// use the call itself.
#define orr_transact(run, op, target, type, member, ...)                                          \
    orr_transact_field(run, op, target, orr_type_of((run)->world, ORR_TYPE(type)), 0,             \
                       (uint32_t)offsetof(type, member), (uint32_t)sizeof(((type*)NULL)->member), \
                       &((const type){.member = __VA_ARGS__}).member)
#endif

// ---- atomic sections ----------------------------------------------------------------------------

// An atomic section changes a component of any entity at once, on the worker that calls. No other
// section on the same component of the same entity runs meanwhile; the next section on it sees the
// result. Declared by `atomics`. Systems with sections on a type may run at the same time, also on
// several workers each if they are parallel. No system that reads or writes the type in another way
// runs at the same time.
//
// No write is lost, but the order of sections depends on timing. Results that depend on the order
// (a sum of floats, the last writer, a value that a section returns through `user`) differ each
// time the program is executed. The promise of one hash for any number of workers does not hold for
// them, so a world must allow sections (orr_world_desc.atomic_sections). Prefer transactions
// (above) where they are sufficient.

/// Function of an atomic section: reads and changes `value`. It must not access anything else of
/// the world, except by the calls that schedule.h lists as always allowed. It must return: no
/// longjmp, no exception. Keep it short, other sections may wait for it. It may be called again,
/// with the same `user`, after an attempt whose writes were all undone.
typedef void (*orr_section)(void* value, void* user);
/// Calls `section` on a component of `target` before it returns. `id` is 0 for a unique type. If
/// the target is dead or lacks the component, the section is not called, the result is ORR_OK, and
/// the call is counted as a dropped change. Types with owned strings, arrays, hooks or indexed
/// fields, types without fields, and the library's own types are refused when the system is added.
/// @return ORR_ERR_STATE if the type is not declared, or inside another section, of this world or
/// any other. ORR_ERR_MEMORY if, in real time, the block is published to other pipelines and there
/// is no memory for a copy: nothing was done. A remembered tick that shares the block never causes
/// an error: without memory for the old values that tick is lost (history.h).
ORR_API orr_result orr_atomic(orr_run* run, orr_entity target, orr_type type, orr_component_id id,
                              orr_section section, void* user);
/// Typed form of orr_atomic() for a unique type: orr_atomic_on(run, target, Health, hurt, &damage).
#define orr_atomic_on(run, target, type, section, user) \
    orr_atomic(run, target, orr_type_of((run)->world, ORR_TYPE(type)), 0, section, user)

// ---- events -------------------------------------------------------------------------------------

// An event reports something that is not a change of state: "these two touched". An event is a
// value of a type with a schema. Systems that declare it in `sends` send it; systems that declare
// it in `receives` read it. Each reader gets each event once, in the order of systems, runs and
// calls: in the same tick if the reader runs later, otherwise in the next tick. Unread events are
// part of the world's state. Types with owned strings, arrays or hooks are refused.

/// Default limit of unread events of one type. If the events of a type that a system sent in a tick
/// do not all fit, all of them are dropped, counted and logged, and orr_step() returns
/// ORR_ERR_CAPACITY. orr_events_limit() changes the limit.
#define ORR_EVENTS_MAX 1048576u

#ifndef __cplusplus
/// Sends an event: orr_send_event(run, Hit, {.a = a, .b = b}). C only.
#define orr_send_event(run, type, ...)                                                            \
    ORR_PP_CALL(type,                                                                             \
                orr_send_event_type(run, orr_type_of((run)->world, ORR_TYPE(type)), &orr_value_), \
                __VA_ARGS__)
#endif
/// As orr_send_event(), with a pointer to a value whose type the compiler checks. C and C++.
#define orr_send_event_put(run, type, pointer)                          \
    orr_send_event_type(run, orr_type_of((run)->world, ORR_TYPE(type)), \
                        1 ? (pointer) : (const type*)NULL)
/// Sends an event of a type. `value` is copied. Results as for changes (see "sending changes").
ORR_API orr_result orr_send_event_type(orr_run* run, orr_type type, const void* value);
/// All events of a type that this system has not received yet, as an array: const Hit* hits =
/// orr_events(run, Hit, &count). A second call in the same run returns the same events. Events of
/// types that the system does not ask for stay unread. NULL if there are none. Valid until the
/// system's function returns.
#define orr_events(run, type, count) \
    ORR_PP_READ(type, orr_events_type(run, orr_type_of((run)->world, ORR_TYPE(type)), count))
/// The call behind orr_events(). `*count` gets the number of events.
ORR_API const void* orr_events_type(orr_run* run, orr_type type, uint32_t* count);
/// Sets the limit of unread events of a type. `most` 0: ORR_EVENTS_MAX, the default. Call between
/// ticks, on the thread that drives the world. Allocates.
/// @return ORR_ERR_TYPE if the type is not registered or cannot be an event; ORR_ERR_STATE inside a
/// system; ORR_ERR_MEMORY.
ORR_API orr_result orr_events_limit(orr_world* world, orr_type type, uint32_t most);

#ifdef __cplusplus
}
#endif

#endif
