// SPDX-License-Identifier: MIT
// The naive world: a list of entities, each with a list of values and a list of tags. No clusters, chunks,
// rows or sharing, so that it can be believed by reading it. It learns ids from the world it is compared
// with and checks that no id ever comes twice.
#ifndef TEST_MODEL_ORACLE_H
#define TEST_MODEL_ORACLE_H

#include <orrery/store.h>

typedef struct oracle oracle;

// A type as the oracle keeps it. A value in the oracle may have another shape than in the world (a text
// instead of a handle), so each type says when the two are equal.
typedef struct oracle_type {
    orr_type type;
    uint32_t size;       // Of a value in the oracle; 0 for a marker.
    uint32_t world_size; // Of a value in the world.
    const void* preset;  // In the oracle's shape; NULL: zero.
    // NULL: compared by schema.
    bool (*equal)(const orr_world* world, const void* world_value, const void* value);
} oracle_type;

typedef struct oracle_component {
    uint32_t type; // Index of oracle.types.
    bool on;
    void* value;
} oracle_component;

typedef struct oracle_entity {
    orr_entity id;
    bool on;
    bool visited;
    uint32_t live_index;
    uint32_t component_count, tag_count;
    oracle_component* components;
    orr_tag* tags;
} oracle_entity;

typedef struct oracle_seen {
    uint64_t id;
    oracle_entity* entity; // NULL: dead.
} oracle_seen;

#define ORACLE_TYPES_MAX 80u
#define ORACLE_DEAD_MAX  4096u

struct oracle {
    oracle_type types[ORACLE_TYPES_MAX];
    uint32_t type_count;
    oracle_entity** live;
    uint32_t live_count, live_capacity;
    // Every id ever seen; open addressing, 0 is empty.
    oracle_seen* seen;
    uint32_t seen_count, seen_capacity;
    orr_entity dead[ORACLE_DEAD_MAX]; // The last ones.
    uint64_t dead_count;
    // Clusters in the order they were first seen; kept by oracle_compare.
    orr_cluster* clusters;
    uint32_t cluster_count, cluster_capacity;
};

void oracle_init(oracle* o);
void oracle_term(oracle* o);
uint32_t oracle_type_add(oracle* o, const oracle_type* type);
// The index of a world's type; fails the test if it is none.
uint32_t oracle_type_index(const oracle* o, orr_type type);

oracle_entity* oracle_create(oracle* o, orr_entity id);
void oracle_destroy(oracle* o, oracle_entity* entity);
// NULL for a dead or unknown one.
oracle_entity* oracle_find(const oracle* o, orr_entity id);
// A copy under a new id.
oracle_entity* oracle_copy(oracle* o, const oracle_entity* source, orr_entity id);

// NULL if it has none.
oracle_component* oracle_component_of(const oracle_entity* entity, uint32_t type);
// Adds one with its preset if missing.
oracle_component* oracle_component_add(oracle* o, oracle_entity* entity, uint32_t type);
void oracle_component_remove(oracle_entity* entity, uint32_t type);
void oracle_component_set(oracle* o, oracle_entity* entity, uint32_t type, const void* value);

bool oracle_tag_has(const oracle_entity* entity, orr_tag tag);
void oracle_tag_add(oracle_entity* entity, orr_tag tag);
void oracle_tag_remove(oracle_entity* entity, orr_tag tag);
// True when the entity has exactly these types and tags.
bool oracle_entity_fits(const oracle* o, const oracle_entity* entity, const orr_type* types,
                        uint32_t type_count, const orr_tag* tags, uint32_t tag_count);

// True when a value in the world equals one here.
bool oracle_value_equal(const oracle* o, const orr_world* world, uint32_t type,
                        const void* world_value, const void* value);
// Fails the test unless the world holds exactly what the oracle holds.
void oracle_compare(oracle* o, const orr_world* world);
// Takes a cluster out of the expected list, when the caller has deleted it.
void oracle_cluster_deleted(oracle* o, orr_cluster cluster);

// ---- failing with a place ------------------------------------------------------------------------

// Printed before the failure: which operation of which run.
typedef struct model_context {
    const char* shape;
    const char* operation;
    uint64_t number;
} model_context;

extern model_context model_at;

_Noreturn void model_fail(const char* file, int line, const char* text);

#define MODEL_CHECK(condition) \
    ((condition) ? (void)0 : model_fail(__FILE__, __LINE__, #condition " is false"))

#endif
