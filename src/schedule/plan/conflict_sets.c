// SPDX-License-Identifier: MIT
// The conflicts of a large group, without comparing pairs. For each thing that systems may conflict
// on there is a set of the systems so far that access it: the readers of a type in a cluster, the
// systems of a name or group, the systems with the same `user`. A system waits for the sets that its
// rules in conflict.c name, then enters its own.
//
// When a system waits for a set of many members, a join takes their place in the set. So each
// member of a set costs one edge, and each system that waits for it a few.
#include "base/scan.h"
#include "schedule/plan/conflict_graph.h"

// Systems wait for so many members of a set directly; for more through a join.
#define CONFLICT_SETS_DIRECT 4u

typedef enum conflict_kind {
    CONFLICT_NAMED = 1, // Systems of a name or group.
    CONFLICT_BEFORE,    // Systems that list a name or group in .before.
    CONFLICT_IMPORTERS, // Systems that import from a system.
    CONFLICT_USER,      // Systems with a `user`.
    CONFLICT_MAIN,      // Systems with .main_thread.
    CONFLICT_IMPURE,    // Systems with .impure.
    // By type. `any`: also for entities that the query does not select.
    CONFLICT_READS,
    CONFLICT_READS_ANY,
    CONFLICT_ATOMIC,
    CONFLICT_WRITES,
    CONFLICT_WRITES_ANY,
    // By type and cluster; not `any`.
    CONFLICT_READS_IN,
    CONFLICT_WRITES_IN,
} conflict_kind;

typedef struct conflict_key {
    uint64_t kind; // conflict_kind, and type index << 8.
    uint64_t thing;
} conflict_key;

// Members are systems and joins, in a list of cells. Names are compared by hash: if two are equal,
// systems wait without need.
typedef struct conflict_set {
    conflict_key key; // kind 0: the slot is free.
    uint32_t first1;  // 1 + the first cell; 0: the set is empty.
    uint32_t count;
} conflict_set;

typedef struct conflict_cell {
    uint32_t member, next1;
} conflict_cell;

typedef struct conflict_sets {
    orri_conflict_graph* graph;
    orr_world* world;
    const orri_step* group; // [count]
    uint32_t count;
    uint32_t joins;     // Joins of other groups.
    uint32_t to;        // The system that is entered.
    bool refused;       // Memory was refused.
    conflict_set* sets; // Hash table with open addressing, at most half full.
    uint32_t set_count, set_size;
    conflict_cell* cells;
    uint32_t cell_count, cell_capacity;
    uint32_t cell_free1; // Free cells are a list.
    // By system and join: 1 + the last system or join that got an edge from it.
    uint32_t* marks;
    uint32_t mark_capacity;
    uint64_t *touched, *written; // Bits by type; written: some system of the group writes it.
} conflict_sets;

// ---- sets ---------------------------------------------------------------------------------------

static conflict_key conflict_key_make(conflict_kind kind, uint32_t type, uint64_t thing)
{
    return (conflict_key){(uint64_t)kind | (uint64_t)type << 8, thing};
}

// The slot of a key, or the free one it would get.
static conflict_set* conflict_sets_slot(conflict_set* sets, uint32_t size, conflict_key key)
{
    uint32_t slot = (uint32_t)orri_hash_word(orri_hash_word(0, key.kind), key.thing) & (size - 1);
    while (sets[slot].key.kind != 0 &&
           (sets[slot].key.kind != key.kind || sets[slot].key.thing != key.thing)) {
        slot = (slot + 1) & (size - 1);
    }
    return &sets[slot];
}

// NULL: the set is empty.
static conflict_set* conflict_sets_find(const conflict_sets* s, conflict_key key)
{
    s->world->schedule->set_lookups++;
    conflict_set* set = s->set_size > 0 ? conflict_sets_slot(s->sets, s->set_size, key) : NULL;
    return set != NULL && set->first1 != 0 ? set : NULL;
}

static bool conflict_sets_grow(conflict_sets* s)
{
    orri_env* env = &s->world->env;
    uint32_t old = s->set_size, size = old == 0 ? 256 : old * 2;
    if (s->set_count * 2 < old) {
        return true;
    }
    conflict_set* sets = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, conflict_set, size);
    if (sets == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < old; i++) {
        if (s->sets[i].key.kind != 0) {
            *conflict_sets_slot(sets, size, s->sets[i].key) = s->sets[i];
        }
    }
    ORRI_FREE(env, ORR_MEMORY_TEMP, conflict_set, s->sets, old);
    s->sets = sets;
    s->set_size = size;
    return true;
}

// Makes the set if there is none. NULL when refused.
static conflict_set* conflict_sets_get(conflict_sets* s, conflict_key key)
{
    s->world->schedule->set_lookups++;
    if (s->refused || !conflict_sets_grow(s)) {
        s->refused = true;
        return NULL;
    }
    conflict_set* set = conflict_sets_slot(s->sets, s->set_size, key);
    s->set_count += set->key.kind == 0;
    set->key = key;
    return set;
}

static void conflict_sets_push(conflict_sets* s, conflict_set* set, uint32_t member)
{
    uint32_t cell1 = s->cell_free1;
    if (cell1 != 0) {
        s->cell_free1 = s->cells[cell1 - 1].next1;
    } else if (ORRI_RESERVE(&s->world->env, ORR_MEMORY_TEMP, &s->cells, &s->cell_capacity,
                            s->cell_count + 1)) {
        cell1 = ++s->cell_count;
    } else {
        s->refused = true;
        return;
    }
    s->cells[cell1 - 1] = (conflict_cell){member, set->first1};
    set->first1 = cell1;
    set->count++;
}

static void conflict_sets_empty(conflict_sets* s, conflict_set* set)
{
    while (set->first1 != 0) {
        uint32_t cell1 = set->first1;
        set->first1 = s->cells[cell1 - 1].next1;
        s->cells[cell1 - 1].next1 = s->cell_free1;
        s->cell_free1 = cell1;
    }
    set->count = 0;
}

// ---- edges --------------------------------------------------------------------------------------

static void conflict_sets_edge(conflict_sets* s, uint32_t from, uint32_t to)
{
    orri_conflict_graph* graph = s->graph;
    if (s->marks[from] == to + 1) {
        return;
    }
    s->marks[from] = to + 1;
    if (!ORRI_RESERVE(&s->world->env, ORR_MEMORY_SYSTEM, &graph->edges, &graph->edge_capacity,
                      graph->edge_count + 1)) {
        s->refused = true;
        return;
    }
    graph->edges[graph->edge_count++] = (orri_conflict_edge){from, to};
}

static void conflict_sets_edges(conflict_sets* s, const conflict_set* set, uint32_t to)
{
    for (uint32_t cell1 = set->first1; cell1 != 0; cell1 = s->cells[cell1 - 1].next1) {
        conflict_sets_edge(s, s->cells[cell1 - 1].member, to);
    }
}

// A join takes the place of all members.
static void conflict_sets_join(conflict_sets* s, conflict_set* set)
{
    orri_conflict_graph* graph = s->graph;
    orri_env* env = &s->world->env;
    uint32_t join = s->count + graph->join_count - s->joins;
    if (!ORRI_RESERVE(env, ORR_MEMORY_SYSTEM, &graph->joins, &graph->join_capacity,
                      graph->join_count + 1) ||
        !ORRI_RESERVE(env, ORR_MEMORY_TEMP, &s->marks, &s->mark_capacity, join + 1)) {
        s->refused = true;
        return;
    }
    graph->joins[graph->join_count++] = s->to;
    s->marks[join] = 0;
    conflict_sets_edges(s, set, join);
    conflict_sets_empty(s, set);
    conflict_sets_push(s, set, join);
}

// The system waits for all members of a set.
static void conflict_sets_wait(conflict_sets* s, conflict_key key)
{
    conflict_set* set = conflict_sets_find(s, key);
    if (set != NULL && set->count > CONFLICT_SETS_DIRECT) {
        conflict_sets_join(s, set);
    }
    if (set != NULL) {
        conflict_sets_edges(s, set, s->to);
    }
}

// The system waits for all members. Systems that wait for it later need not: they wait for this
// one.
static void conflict_sets_take(conflict_sets* s, conflict_key key)
{
    conflict_set* set = conflict_sets_find(s, key);
    if (set != NULL) {
        conflict_sets_edges(s, set, s->to);
        conflict_sets_empty(s, set);
    }
}

static void conflict_sets_enter(conflict_sets* s, conflict_key key)
{
    conflict_set* set = conflict_sets_get(s, key);
    if (set != NULL) {
        conflict_sets_push(s, set, s->to);
    }
}

// The system conflicts with all systems of the set.
static void conflict_sets_chain(conflict_sets* s, conflict_key key)
{
    conflict_sets_take(s, key);
    conflict_sets_enter(s, key);
}

// ---- values -------------------------------------------------------------------------------------

static void conflict_sets_wait_type(conflict_sets* s, conflict_kind kind, uint32_t type)
{
    conflict_sets_wait(s, conflict_key_make(kind, type, 0));
}

// The clusters that the system's query selects and that have the type.
static void conflict_sets_clusters(conflict_sets* s, const orri_system* system, uint32_t type,
                                   bool writes)
{
    const orr_query* query = system->query;
    orr_type handle = {s->world->schema.type_base + type};
    for (uint32_t i = 0; !s->refused && i < query->entry_count; i++) {
        const orri_entry* entry = &query->entries[i];
        if (entry->cluster == NULL || orri_cluster_find_column(entry->cluster, handle) < 0) {
            continue;
        }
        conflict_key readers = conflict_key_make(CONFLICT_READS_IN, type, entry->sequence);
        conflict_key writers = conflict_key_make(CONFLICT_WRITES_IN, type, entry->sequence);
        if (writes) {
            conflict_sets_take(s, readers);
            conflict_sets_chain(s, writers);
        } else {
            conflict_sets_wait(s, writers);
            conflict_sets_enter(s, readers);
        }
    }
}

// Accesses conflict unless both read or both are atomic. Those that are not `any` conflict with each
// other only in a common cluster.
static void conflict_sets_type(conflict_sets* s, const orri_system* system, uint32_t type)
{
    bool any;
    orri_touch touch = orri_touches(s->world, system, type, &any);
    // Pinned values are stored together, whatever the clusters of their entities.
    any |= orri_type_pinned(s->world->schema.types[type]);
    if (touch == ORRI_TOUCH_NONE) {
        return;
    }
    conflict_kind kind = touch == ORRI_TOUCH_ATOMIC  ? CONFLICT_ATOMIC
                         : touch == ORRI_TOUCH_READS ? any ? CONFLICT_READS_ANY : CONFLICT_READS
                         : any                       ? CONFLICT_WRITES_ANY
                                                     : CONFLICT_WRITES;
    if (kind == CONFLICT_WRITES_ANY) {
        static const conflict_kind all[] = {CONFLICT_READS, CONFLICT_READS_ANY, CONFLICT_ATOMIC,
                                            CONFLICT_WRITES};
        for (size_t i = 0; i < ORRI_COUNT(all); i++) {
            conflict_sets_take(s, conflict_key_make(all[i], type, 0));
        }
        conflict_sets_chain(s, conflict_key_make(CONFLICT_WRITES_ANY, type, 0));
        return;
    }
    conflict_sets_wait_type(s, CONFLICT_WRITES_ANY, type);
    if (kind != CONFLICT_ATOMIC) {
        conflict_sets_wait_type(s, CONFLICT_ATOMIC, type);
    }
    if (kind == CONFLICT_ATOMIC || kind == CONFLICT_WRITES) {
        conflict_sets_wait_type(s, CONFLICT_READS_ANY, type);
    }
    if (kind == CONFLICT_ATOMIC) {
        conflict_sets_wait_type(s, CONFLICT_READS, type);
    }
    if (kind == CONFLICT_ATOMIC || kind == CONFLICT_READS_ANY) {
        conflict_sets_wait_type(s, CONFLICT_WRITES, type);
    }
    if (!any) {
        conflict_sets_clusters(s, system, type, kind == CONFLICT_WRITES);
    }
    conflict_sets_enter(s, conflict_key_make(kind, type, 0));
}

static void conflict_sets_values(conflict_sets* s, const orri_system* system)
{
    if (system->desc.kind == ORR_INDIRECT) {
        return;
    }
    orri_touched_types(s->world, system, s->touched);
    for (uint32_t w = 0; w <= s->world->schema.type_count / 64; w++) {
        for (uint64_t left = s->touched[w] & s->written[w]; left != 0; left &= left - 1) {
            conflict_sets_type(s, system, w * 64 + (uint32_t)__builtin_ctzll(left));
        }
    }
}

// Enters the types that some system of the group writes: no others can conflict.
static void conflict_sets_written(conflict_sets* s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const orri_system* system = s->group[i].system;
        if (system->desc.kind == ORR_INDIRECT) {
            continue;
        }
        orri_touched_types(s->world, system, s->touched);
        for (uint32_t w = 0; w <= s->world->schema.type_count / 64; w++) {
            for (uint64_t left = s->touched[w] & ~s->written[w]; left != 0; left &= left - 1) {
                uint32_t type = w * 64 + (uint32_t)__builtin_ctzll(left);
                if (orri_touches(s->world, system, type, NULL) >= ORRI_TOUCH_ATOMIC) {
                    orri_bit_set(s->written, type, true);
                }
            }
        }
    }
}

// ---- everything else ----------------------------------------------------------------------------

static conflict_key conflict_sets_name_key(conflict_kind kind, const char* name, size_t size)
{
    return conflict_key_make(kind, 0, orr_hash(name, size, 0));
}

// Calls `with` for each name of a list of `before` or `after`.
static void conflict_sets_list(conflict_sets* s, const char* list, conflict_kind kind,
                               void (*with)(conflict_sets* s, conflict_key key))
{
    const char *at = list != NULL ? list : "", *item;
    size_t size;
    while (orri_scan_item(&at, &item, &size)) {
        bool maybe = *item == '?';
        with(s, conflict_sets_name_key(kind, item + maybe, size - maybe));
    }
}

// Calls `with` for the name and the group of a system.
static void conflict_sets_own_names(conflict_sets* s, const orri_system* system, conflict_kind kind,
                                    void (*with)(conflict_sets* s, conflict_key key))
{
    const char *name = system->desc.name, *group = system->desc.group;
    with(s, conflict_sets_name_key(kind, name, strlen(name)));
    if (group != NULL) {
        with(s, conflict_sets_name_key(kind, group, strlen(group)));
    }
}

static void conflict_sets_names(conflict_sets* s, const orri_system* system)
{
    conflict_sets_list(s, system->desc.after, CONFLICT_NAMED, conflict_sets_wait);
    conflict_sets_own_names(s, system, CONFLICT_BEFORE, conflict_sets_wait);
    conflict_sets_own_names(s, system, CONFLICT_NAMED, conflict_sets_enter);
    conflict_sets_list(s, system->desc.before, CONFLICT_BEFORE, conflict_sets_enter);
}

static void conflict_sets_imports(conflict_sets* s, const orri_system* system)
{
    conflict_sets_wait(s, conflict_key_make(CONFLICT_IMPORTERS, 0, system->number));
    for (uint32_t i = 0; i < system->import_count; i++) {
        const orri_system* other = system->imports[i];
        if (other->order < s->to && s->group[other->order].system == other) {
            conflict_sets_edge(s, other->order, s->to);
        }
        conflict_sets_enter(s, conflict_key_make(CONFLICT_IMPORTERS, 0, other->number));
    }
}

// Systems that may use the same things outside the world.
static void conflict_sets_outside(conflict_sets* s, const orri_system* system)
{
    if (system->desc.main_thread) {
        conflict_sets_chain(s, conflict_key_make(CONFLICT_MAIN, 0, 0));
    }
    if (system->desc.impure) {
        conflict_sets_chain(s, conflict_key_make(CONFLICT_IMPURE, 0, 0));
    }
    if (system->desc.user != NULL) {
        conflict_sets_chain(
            s, conflict_key_make(CONFLICT_USER, 0, (uint64_t)(uintptr_t)system->desc.user));
    }
}

static bool conflict_sets_begin(conflict_sets* s, uint32_t words)
{
    orri_env* env = &s->world->env;
    s->touched = ORRI_ALLOC(env, ORR_MEMORY_TEMP, uint64_t, words);
    s->written = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, uint64_t, words);
    if (s->touched == NULL || s->written == NULL ||
        !ORRI_RESERVE(env, ORR_MEMORY_TEMP, &s->marks, &s->mark_capacity, s->count)) {
        return false;
    }
    memset(s->marks, 0, s->count * sizeof *s->marks);
    return true;
}

static void conflict_sets_end(conflict_sets* s, uint32_t words)
{
    orri_env* env = &s->world->env;
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint64_t, s->touched, words);
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint64_t, s->written, words);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, s->marks, s->mark_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, s->cells, s->cell_capacity);
    ORRI_FREE(env, ORR_MEMORY_TEMP, conflict_set, s->sets, s->set_size);
}

bool orri_conflict_sets_find(orri_conflict_graph* graph, const orri_pipeline* pipe, uint32_t first,
                             uint32_t point)
{
    conflict_sets s = {.graph = graph,
                       .world = pipe->world,
                       .group = &pipe->steps[first],
                       .count = point - first,
                       .joins = graph->join_count};
    uint32_t words = s.world->schema.type_count / 64 + 1;
    s.refused = !conflict_sets_begin(&s, words);
    if (!s.refused) {
        conflict_sets_written(&s);
    }
    for (; !s.refused && s.to < s.count; s.to++) {
        const orri_system* system = s.group[s.to].system;
        conflict_sets_outside(&s, system);
        conflict_sets_names(&s, system);
        conflict_sets_imports(&s, system);
        conflict_sets_values(&s, system);
    }
    conflict_sets_end(&s, words);
    return !s.refused;
}

#undef CONFLICT_SETS_DIRECT
