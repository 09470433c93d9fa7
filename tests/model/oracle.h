// SPDX-License-Identifier: MIT
// The naive world: a list of entities, each with a list of values and a list of tags. It has no
// clusters, chunks, rows or sharing, so that its correctness can be seen by reading. It learns ids
// from the world it is compared with and checks that no id is used twice.
#ifndef TEST_MODEL_ORACLE_H
#define TEST_MODEL_ORACLE_H

#include <orrery/query.h>

typedef struct oracle oracle;

#define ORACLE_NEEDS_MAX 8u
#define ORACLE_NAME_MAX  16u

// An indexed reference inside a value.
typedef struct oracle_reference {
    uint32_t offset;
    orr_on_destroy on_destroy;
} oracle_reference;

// A type in the oracle. A value may have another form in the oracle than in the world (a text
// instead of a handle), so each type defines when the two are equal.
typedef struct oracle_type {
    orr_type type;
    uint32_t size;       // Of a value in the oracle; 0 for a marker.
    uint32_t world_size; // Of a value in the world.
    const void* preset;  // In the oracle's form; NULL: zero.
    // NULL: compared by schema.
    bool (*equal)(const orr_world* world, const void* world_value, const void* value);
    bool multiple, pinned;
    const oracle_reference* references; // Indexed references.
    uint32_t reference_count;
    uint32_t needs[ORACLE_NEEDS_MAX]; // All needed types, directly and indirectly.
    uint32_t needs_count;
} oracle_type;

typedef struct oracle_instance {
    orr_component_id id; // 0: not learnt from the world yet.
    bool on;
    void* value;
} oracle_instance;

typedef struct oracle_component {
    uint32_t type;    // Index of oracle.types.
    uint64_t written; // oracle.clock of the last write or enable change.
    uint64_t touched; // Of the last call that may have been one.
    // Of a unique type.
    bool on;
    void* value;
    const void* place; // Of a pinned type: the address where it was seen.
    // Of a multiple type, in order of addition.
    oracle_instance* instances;
    uint32_t instance_count;
} oracle_component;

typedef struct oracle_entity {
    orr_entity id;
    bool on;
    bool visited, dying;
    char name[ORACLE_NAME_MAX]; // "": none.
    orr_entity scope;
    uint32_t live_index;
    uint32_t component_count, tag_count;
    uint32_t reference_count; // Components with indexed references.
    uint64_t switched;        // oracle.clock of the last enable change of the entity itself,
    uint64_t touched;         // and of the last call that may have been one.
    oracle_component* components;
    orr_tag* tags;
} oracle_entity;

typedef struct oracle_seen {
    uint64_t id;
    oracle_entity* entity; // NULL: dead.
} oracle_seen;

#define ORACLE_TYPES_MAX 112u
#define ORACLE_DEAD_MAX  4096u

struct oracle {
    oracle_type types[ORACLE_TYPES_MAX];
    uint32_t type_count;
    oracle_entity** live;
    uint32_t live_count, live_capacity;
    uint64_t clock;          // Counts writes.
    uint64_t structure;      // Counts calls that may have moved a row.
    uint32_t reference_live; // Components with indexed references.
    // Every id ever seen; open addressing, 0 is empty.
    oracle_seen* seen;
    uint32_t seen_count, seen_capacity;
    orr_entity dead[ORACLE_DEAD_MAX]; // The most recent ones.
    uint64_t dead_count;
    // Clusters in the order in which they were first seen; updated by oracle_compare.
    orr_cluster* clusters;
    uint32_t cluster_count, cluster_capacity;
};

void* oracle_grow(void* data, uint32_t* capacity, uint32_t needed, size_t size);
void oracle_init(oracle* o);
void oracle_term(oracle* o);
// A full copy, and restoring the oracle from a copy, which stays unchanged. Types are not part of
// the state: the current types stay. Clocks never go back: values that differ count as written now.
void oracle_clone(const oracle* o, oracle* out);
void oracle_restore(oracle* o, const oracle* copy);
uint32_t oracle_type_add(oracle* o, const oracle_type* type);
// The index of a world's type; fails the test if there is none.
uint32_t oracle_type_index(const oracle* o, orr_type type);

oracle_entity* oracle_create(oracle* o, orr_entity id);
// Also deletes all entities whose indexed references demand it; references with the policy "clear"
// become null.
void oracle_destroy(oracle* o, oracle_entity* entity);
void oracle_destroy_many(oracle* o, oracle_entity* const* list, uint32_t count);
void oracle_destroy_all(oracle* o);
// NULL for a dead or unknown entity.
oracle_entity* oracle_find(const oracle* o, orr_entity id);
// A copy under a new id.
oracle_entity* oracle_copy(oracle* o, const oracle_entity* source, orr_entity id);

// NULL if it has none.
oracle_component* oracle_component_of(const oracle_entity* entity, uint32_t type);
// Adds a component with its preset if missing, and the types it needs.
oracle_component* oracle_component_add(oracle* o, oracle_entity* entity, uint32_t type);
void oracle_component_remove(oracle* o, oracle_entity* entity, uint32_t type);
// Of a multiple type: the first instance.
void oracle_component_set(oracle* o, oracle_entity* entity, uint32_t type, const void* value);
void oracle_component_written(oracle* o, oracle_component* component);
// Enable and disable: an entity, a component with all its instances, one instance.
void oracle_entity_switch(oracle* o, oracle_entity* entity, bool on);
void oracle_component_switch(oracle* o, oracle_component* component, bool on);
void oracle_instance_switch(oracle* o, oracle_component* component, uint32_t i, bool on);
// True if another component of the entity needs this type.
bool oracle_component_needed(const oracle* o, const oracle_entity* entity, uint32_t type);
// The enable bit of the whole component; for a multiple type, whether some instance is enabled.
bool oracle_component_on(const oracle_component* component);
// Values of a component: one, or as many as there are instances.
uint32_t oracle_value_count(const oracle_component* component);
void* oracle_value_at(const oracle_component* component, uint32_t i);

// Adds an instance after the existing ones; `value` NULL: the preset.
oracle_instance* oracle_instance_add(oracle* o, oracle_entity* entity, uint32_t type,
                                     const void* value);
// Removing the last instance removes the component.
void oracle_instance_remove(oracle* o, oracle_entity* entity, uint32_t type, uint32_t i);
// Learns the ids that are not known yet; known ids must equal the world's.
void oracle_instances_learn(const oracle* o, const orr_world* world, const oracle_entity* entity,
                            oracle_component* component);

bool oracle_tag_has(const oracle_entity* entity, orr_tag tag);
void oracle_tag_add(oracle_entity* entity, orr_tag tag);
void oracle_tag_remove(oracle_entity* entity, orr_tag tag);
// The live entity of a name in a scope; NULL if there is none.
oracle_entity* oracle_named(const oracle* o, orr_entity scope, const char* name);
// True if the entity has exactly these types (except pinned ones) and tags.
bool oracle_entity_fits(const oracle* o, const oracle_entity* entity, const orr_type* types,
                        uint32_t type_count, const orr_tag* tags, uint32_t tag_count);

// True if a value in the world equals a value here.
bool oracle_value_equal(const oracle* o, const orr_world* world, uint32_t type,
                        const void* world_value, const void* value);
// Fails the test unless the world holds exactly what the oracle holds.
void oracle_compare(oracle* o, const orr_world* world);
// Removes a cluster from the expected list after the caller has deleted it.
void oracle_cluster_deleted(oracle* o, orr_cluster cluster);

// ---- failing with a place -----------------------------------------------------------------------

// Printed before the failure: which operation of which run.
typedef struct model_context {
    const char* shape;
    const char* operation;
    uint64_t number;
    char detail[300]; // Of a query: its terms. "": none.
} model_context;

extern model_context model_at;

_Noreturn void model_fail(const char* file, int line, const char* text);

#define MODEL_CHECK(condition) \
    ((condition) ? (void)0 : model_fail(__FILE__, __LINE__, #condition " is false"))

#endif
