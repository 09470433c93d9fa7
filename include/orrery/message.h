// SPDX-License-Identifier: MIT
/// @file message.h
/// How systems change a world and hear of changes. A system sends what it wants changed; at a commit point of the tick
/// everything sent is merged to one net change per entity and component, and done. Whoever tracks the entities concerned
/// is told by messages: arrays of entities and values, shared by all readers.
///
///     static void shoot(orr_run* run)
///     {
///         const Position* p = orr_read(run, Position);
///         for (uint32_t i = 0; i < run->count; i++) {
///             orr_entity bullet = orr_send_create(run);          // its id is good at once; it lives after the commit
///             orr_send_add(run, bullet, Position, {p[i].x, p[i].y});
///         }
///     }
///
///     static void draw(orr_run* run)                             // an indirect system: it sees messages, not the world
///     {
///         ORR_MESSAGES (m, run) {
///             if (m->kind == ORR_ENTITY_ADDED) … orr_values(m, Position) …
///         }
///     }
///
/// All calls here are for the function of a system, with the `run` it was given. A call for what the system did not declare
/// is refused and named. What is sent for an entity that is dead at the commit is dropped, counted (orr_system_stats), and
/// said once per system. See docs/MESSAGES.md for the merge table and what a reader is told when.
#ifndef ORRERY_MESSAGE_H
#define ORRERY_MESSAGE_H

#include <orrery/query.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What the function of a system is given: the rows of this call, and the tick. Columns by orr_read(run, Position) and
/// orr_write(run, Position) as in a loop; `count` rows, `dt` seconds, `tick`, `world`.
typedef orr_iter orr_run;

/// A system of one world. All-zero is null.
typedef struct orr_system {
    uint32_t id, generation;
} orr_system;

// ---- what readers are told -------------------------------------------------------------------------------------

/// Messages of one commit come in this order.
typedef enum orr_message_kind {
    ORR_ENTITY_ADDED =
        0, ///< Entities that the reader's query selects from now on, with their components.
    ORR_COMPONENT_ADDED,   ///< Entities it selects got a component.
    ORR_COMPONENT_CHANGED, ///< A value is different.
    ORR_COMPONENT_REMOVED, ///< They lost one.
    ORR_ENTITY_REMOVED,    ///< Entities that it no longer selects.
} orr_message_kind;

/// Why an entity entered or left; of several causes the first that holds of these: created, destroyed, component, enabled.
typedef enum orr_cause {
    ORR_CAUSE_WRITTEN = 0, ///< A value was written or sent.
    ORR_CAUSE_CREATED,     ///< The entity was created.
    ORR_CAUSE_DESTROYED,
    ORR_CAUSE_COMPONENT, ///< It got or lost a component or tag.
    ORR_CAUSE_ENABLED,   ///< It, or a component, was switched on or off.
    ORR_CAUSE_READER,    ///< The reader is new, or was switched on: it is told what there is.
    ORR_CAUSE_TRAVEL, ///< The world went to another tick (orr_time_travel()), and is different there. For readers outside of the state.
} orr_cause;

/// The values of one type, of the entities of an ORR_ENTITY_ADDED.
typedef struct orr_message_column {
    orr_type type;
    const void* values; ///< One after another. NULL for a marker.
    /// NULL: one value per entity. Otherwise (multiple and pinned types) those of entity i are values[firsts[i]] to
    /// values[firsts[i + 1] - 1].
    const uint32_t* firsts;
    const orr_component_id* ids; ///< By value. NULL: all are 0.
} orr_message_column;

/// A message: an array of entities to which the same happened. Good until the system's function returns.
typedef struct orr_message {
    orr_message_kind kind;
    orr_cause cause;
    uint64_t tick;     ///< In which it happened.
    orr_system system; ///< Who did it; null: several, or a call from outside.
    uint32_t count;    ///< Entities; one may stand several times if it has several instances.
    const orr_entity* entities;
    // Of components.
    orr_type type;               ///< Null for ORR_ENTITY_ADDED and ORR_ENTITY_REMOVED.
    const orr_component_id* ids; ///< By entity. NULL: a unique type, all are 0.
    /// By entity. NULL: removed, a marker, or orr_tags. Of a type with hooks these are the bytes of the value, to look at.
    const void* values;
    // Of ORR_ENTITY_ADDED; the tags also of changes of orr_tags.
    const orr_type* types; ///< All types in chunks that they have.
    uint32_t type_count;
    const orr_tag* tags;
    uint32_t tag_count;
    const orr_message_column* columns; ///< Those the reader tracks.
    uint32_t column_count;
    orr_world* world;
} orr_message;

/// The built-in types behind switches and tags. A reader that names them ("?orr_enabled, ?orr_tags") is told of switches and
/// tags of the entities it selects as ORR_COMPONENT_CHANGED. Every entity counts as having them. They cannot be stored. (A
/// name is a component as any other: "?orr_name".)
typedef struct orr_enabled {
    orr_type
        type;    ///< What was switched; null: the entity itself. Instances by the message's `ids`.
    uint32_t on; ///< 1 or 0. After ORR_ENTITY_ADDED what is on is not mentioned.
} orr_enabled;
typedef struct orr_tags orr_tags; // No data: the message has the tags.
extern ORR_API const orr_type_desc orr_desc_orr_enabled, orr_desc_orr_tags;

/// The next message to an indirect system, NULL when there is none. What it does not take stays for its next tick.
ORR_API const orr_message* orr_receive(orr_run* run);
/// The loop: ORR_MESSAGES (m, run) { … }
#define ORR_MESSAGES(m, run) for (const orr_message* m; (m = orr_receive(run)) != NULL;)

/// True if the message is about components of this type.
#define orr_message_is(m, type) orr_message_is_of(m, ORR_TYPE(type))
/// The values of a type in a message: of a component message of that type, or the column of an ORR_ENTITY_ADDED. NULL if it
/// has none.
#define orr_values(m, type) ((const type*)orr_message_values(m, ORR_TYPE(type)))
/// The values of entity `i` of an ORR_ENTITY_ADDED, and in `*count` how many: for pinned and multiple types (orr_name is pinned),
/// of which an entity may have none or several; orr_values() refuses these. NULL if it has none.
#define orr_values_of(m, type, i, count) \
    ((const type*)orr_message_values_of(m, ORR_TYPE(type), i, count))
ORR_API const void* orr_message_values_of(const orr_message* message, const orr_type_desc* desc,
                                          uint32_t i, uint32_t* count);
ORR_API bool orr_message_is_of(const orr_message* message, const orr_type_desc* desc);
ORR_API const void* orr_message_values(const orr_message* message, const orr_type_desc* desc);
/// The column of a type in an ORR_ENTITY_ADDED; NULL if it has none.
ORR_API const orr_message_column* orr_message_column_of(const orr_message* message, orr_type type);
/// Writes a message as text, at most its first `most` entities: "ComponentChanged Position by move: 7v1 {x: 1, y: 2}, …".
/// As orr_value_print().
ORR_API size_t orr_message_print(const orr_message* message, uint32_t most, char* out,
                                 size_t out_size);
/// "EntityAdded" and the like; "created" and the like. Never NULL.
ORR_API const char* orr_message_kind_name(orr_message_kind kind);
ORR_API const char* orr_cause_name(orr_cause cause);

// ---- sending changes -------------------------------------------------------------------------------------------

// Values are copied. Everything happens at a commit point, in the order of systems, of their runs and of the calls. Results:
// ORR_ERR_STATE when the system did not declare it (said, with system, type and entity), ORR_ERR_MEMORY, ORR_ERR_TYPE,
// ORR_ERR_ARGUMENT, ORR_ERR_CAPACITY.

/// EntityAdded: a new entity. The id may be stored and sent at once; it is alive after the commit. Declared by `creates`. Null
/// when refused, also when the system has used up its `creates_max`.
ORR_API orr_entity orr_send_create(orr_run* run);
/// Many, in a cluster, with columns of values, as orr_create_many(): the fastest way.
ORR_API orr_result orr_send_create_many(orr_run* run, orr_cluster cluster, uint32_t count,
                                        const orr_column_data* data, uint32_t data_count,
                                        orr_entity* out);
/// EntityRemoved. Declared by `destroys`.
ORR_API orr_result orr_send_destroy(orr_run* run, orr_entity entity);
/// ComponentAdded. `value` NULL: its preset. On a unique component that is there already the value is set, with a warning.
/// Declared by `adds`, or by `creates`. `out_id` (may be NULL) gets, of a multiple type, an id that is good for further calls of this run.
ORR_API orr_result orr_send_add_type(orr_run* run, orr_entity entity, orr_type type,
                                     const void* value, orr_component_id* out_id);
/// ComponentChanged: `id` 0 for a unique type. Ignored (and counted) if it is not there at the commit. Declared by `changes`; of an indirect system by a write term.
ORR_API orr_result orr_send_change_type(orr_run* run, orr_entity entity, orr_type type,
                                        orr_component_id id, const void* value);
/// Many: `values` one after another. `ids` NULL: a unique type.
ORR_API orr_result orr_send_change_many(orr_run* run, orr_type type, const orr_entity* entities,
                                        const orr_component_id* ids, uint32_t count,
                                        const void* values);
/// ComponentRemoved: of a multiple type `id` 0 means all instances. Declared by `removes`.
ORR_API orr_result orr_send_remove_type(orr_run* run, orr_entity entity, orr_type type,
                                        orr_component_id id);
/// Puts a tag on or takes it off. Declared by `tags`.
ORR_API orr_result orr_send_tag(orr_run* run, orr_entity entity, orr_tag tag, bool on);
/// Switches a component on or off, or (null type) the entity; of a multiple type `id` 0 means all instances. Declared by
/// `switches`.
ORR_API orr_result orr_send_enable_type(orr_run* run, orr_entity entity, orr_type type,
                                        orr_component_id id, bool on);
/// Names an entity; NULL takes its name away. As orr_name_set(); a name that is taken at the commit is refused there, and said.
/// Declared by `renames`.
ORR_API orr_result orr_send_name(orr_run* run, orr_entity entity, orr_entity scope,
                                 const char* name);

/// Typed short forms: orr_send_add(run, bob, Position, {1, 2}); orr_send_change(run, bob, Position, {1, 2});
/// orr_send_remove(run, bob, Position). In C++, and for run-time types, use the calls above.
#ifndef __cplusplus
#define orr_send_add(run, entity, type, ...)                                  \
    orr_send_add_type(run, entity, orr_type_of((run)->world, ORR_TYPE(type)), \
                      &(const type)__VA_ARGS__, NULL)
#define orr_send_change(run, entity, type, ...)                                     \
    orr_send_change_type(run, entity, orr_type_of((run)->world, ORR_TYPE(type)), 0, \
                         &(const type)__VA_ARGS__)
#endif
/// The same with a pointer to a value, whose type the compiler checks; also in C++.
#define orr_send_put(run, entity, type, pointer)                              \
    orr_send_add_type(run, entity, orr_type_of((run)->world, ORR_TYPE(type)), \
                      1 ? (pointer) : (const type*)NULL, NULL)
#define orr_send_change_put(run, entity, type, pointer)                             \
    orr_send_change_type(run, entity, orr_type_of((run)->world, ORR_TYPE(type)), 0, \
                         1 ? (pointer) : (const type*)NULL)
/// Adds with the preset.
#define orr_send_add_preset(run, entity, type) \
    orr_send_add_type(run, entity, orr_type_of((run)->world, ORR_TYPE(type)), NULL, NULL)
#define orr_send_remove(run, entity, type) \
    orr_send_remove_type(run, entity, orr_type_of((run)->world, ORR_TYPE(type)), 0)
#define orr_send_enable(run, entity, type, on) \
    orr_send_enable_type(run, entity, orr_type_of((run)->world, ORR_TYPE(type)), 0, on)

// ---- writing to others: transactions ------------------------------------------------------------------------------

// Any number of systems, on any number of workers, may do something to one number of one component of somebody else: hits,
// scores, loads. Nothing is done at once: transactions are collected, and at the next point done one after the other, those on one target in
// the order of systems, of their chunks of rows and of the calls, after whatever else the point does to it; so no write is lost and
// the number of workers never shows. Declared by `transacts`, whatever the kind of system. Systems that only transact on a type do not wait for each
// other; one that reads, writes or changes the type later in the tick sees them done.
//
// On an entity that is created or whose structure changes in this tick they wait for the commit, and are done after it. For a dead target, or
// one without the component: dropped and counted, as a change that was sent.

/// What is done to a number. Of integers ADD wraps around. Floats are added one after the other, in the order above. MIN and MAX keep the field where the two are equal
/// (-0 and 0, too), leave out a NaN that is sent, and replace a NaN that is there. SET is for any plain field;
/// a reference is stored as it is, dead or alive.
typedef enum orr_op {
    ORR_OP_SET,
    ORR_OP_ADD,
    ORR_OP_MIN, ///< The field becomes the smaller of itself and the number.
    ORR_OP_MAX,
} orr_op;

/// One field: `offset` and `size` say which, `number` is as the field is (copied). `id` 0 for a unique type. Numbers within structs and
/// arrays are fields, too. ORR_ERR_FIELD: there is none, or the op is not for it; owned strings, arrays, opaque values and indexed
/// references are never.
ORR_API orr_result orr_transact_field(orr_run* run, orr_op op, orr_entity target, orr_type type,
                                      orr_component_id id, uint32_t offset, uint32_t size,
                                      const void* number);
/// What a transaction of your own does: changes `value`, a component of `target`, by a copy of the argument. It sees nothing else
/// of the world, and keeps nothing outside. Called on the thread that drives the world.
typedef void (*orr_transaction)(const orr_world* world, orr_entity target, void* value,
                                const void* argument);
/// `argument` (16-byte aligned when it is handed out; may be NULL if `size` is 0) is copied. For plain types: nothing owned, indexed or hooked.
ORR_API orr_result orr_transact_call(orr_run* run, orr_entity target, orr_type type,
                                     orr_component_id id, orr_transaction function,
                                     const void* argument, uint32_t size);
/// Typed: orr_transact(run, ORR_OP_ADD, target, Health, hp, -5). The value is converted to what the member is. In C++, for instances and for run-time
/// types use the calls above.
#ifndef __cplusplus
#define orr_transact(run, op, target, type, member, ...)                                          \
    orr_transact_field(run, op, target, orr_type_of((run)->world, ORR_TYPE(type)), 0,             \
                       (uint32_t)offsetof(type, member), (uint32_t)sizeof(((type*)NULL)->member), \
                       &((const type){.member = __VA_ARGS__}).member)
#endif

// ---- writing to others at once: atomic sections --------------------------------------------------------------------

// A function of yours changes a component of somebody else now, on the worker that calls, while nobody else is in a section on the same component of the
// same entity; what it does is seen by the next section on it. Declared by `atomics`. Systems with sections on a type run beside each
// other, and a parallel one is shared out; nobody who reads or writes the type in another way runs beside them.
//
// No write is lost, but which section comes first depends on time: what does not come out the same in every order (a float sum, the last
// one who wrote, whatever a section returns through `user`) differs from run to run. So this is outside of the promise of one hash for any number of workers; a world has to allow it
// (orr_world_desc.atomic_sections). Where transactions (above) will do, they are better.

/// What a section does with the value. It sees and does nothing else of the world (what schedule.h calls free is free), and returns: no
/// longjmp, no exception. Keep it short: others may wait for it. It may be called again after a try that was undone altogether, `user` with
/// it.
typedef void (*orr_section)(void* value, void* user);
/// Calls the section, before it returns. `id` 0 for a unique type. Inside a section another one is refused and named, whatever its
/// world: one component of one entity is held at a time. For a dead target, or one without the component: not called, ORR_OK, and counted as a
/// change that was sent and dropped. Types with owned strings, arrays, hooks or indexed fields, without fields, and the library's own have none (refused when the
/// system is added). ORR_ERR_STATE: not declared, or nested. ORR_ERR_MEMORY: somebody holds the state as it was, and the block could not
/// be copied; nothing was done.
ORR_API orr_result orr_atomic(orr_run* run, orr_entity target, orr_type type, orr_component_id id,
                              orr_section section, void* user);
/// Typed: orr_atomic_on(run, target, Health, hurt, &damage).
#define orr_atomic_on(run, target, type, section, user) \
    orr_atomic(run, target, orr_type_of((run)->world, ORR_TYPE(type)), 0, section, user)

// ---- events ----------------------------------------------------------------------------------------------------

// What is not a change of state: "these two touched". A type declared with a schema, sent by systems that declare it
// (`sends`), read by systems that declare it (`receives`): each reader gets each event once, in the order of systems, runs
// and calls; in the same tick if it runs later, in the next one otherwise. Events nobody has read yet are state. Types with
// owned strings, arrays or hooks are refused.

#define ORR_EVENTS_MAX \
    1048576u ///< Unread ones of a type; more are refused. orr_events_limit() changes it.

/// Sends an event: orr_send_event(run, Hit, {.a = a, .b = b}).
#ifndef __cplusplus
#define orr_send_event(run, type, ...) \
    orr_send_event_type(run, orr_type_of((run)->world, ORR_TYPE(type)), &(const type)__VA_ARGS__)
#endif
#define orr_send_event_put(run, type, pointer)                          \
    orr_send_event_type(run, orr_type_of((run)->world, ORR_TYPE(type)), \
                        1 ? (pointer) : (const type*)NULL)
ORR_API orr_result orr_send_event_type(orr_run* run, orr_type type, const void* value);
/// All events of a type that this system was not given before, one after another; `*count` of them. Asking again in the same
/// run gives the same. NULL if there are none. What it does not ask for waits.
#define orr_events(run, type, count) \
    ((const type*)orr_events_type(run, orr_type_of((run)->world, ORR_TYPE(type)), count))
ORR_API const void* orr_events_type(orr_run* run, orr_type type, uint32_t* count);
/// How many unread events of a type there may be. 0, and the default: ORR_EVENTS_MAX.
ORR_API orr_result orr_events_limit(orr_world* world, orr_type type, uint32_t most);

#ifdef __cplusplus
}
#endif

#endif
