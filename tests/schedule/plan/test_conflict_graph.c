// SPDX-License-Identifier: MIT
// The conflicts of a group as edges: the same whether pairs of systems are compared or sets are
// made, near-linear in number, and run by workers with the result of a serial run.
#include "schedule/plan/conflict_graph.h"
#include "schedule/schedule_kit.h"
#include "support/pinned_kit.h"

ORR_STRUCT(Sum, (int32_t, value))
ORR_STRUCT(Apple, (uint32_t, value))
ORR_STRUCT(Berry, (uint32_t, value))
ORR_STRUCT(Cherry, (uint32_t, value))

enum {
    SYSTEMS = 60,
    NODES_MAX = 256 // Systems and joins of a group.
};

// ---- random systems -----------------------------------------------------------------------------

// A name or a group; all edges by name lead from lower to higher numbers. Systems 15 k to 15 k + 14
// may be of group k.
static void pick_names(char* out, size_t size, uint32_t first, uint32_t last)
{
    out[0] = '\0';
    for (uint32_t i = 0; i < 2 && first < last; i++) {
        uint32_t one = first + (uint32_t)test_random() % (last - first);
        bool whole = one / 15 * 15 >= first && one / 15 * 15 + 15 <= last;
        size_t length = strlen(out);
        snprintf(out + length, size - length, "%s%s%u", i > 0 ? ", " : "",
                 whole && test_random() % 2 == 0 ? "?g" : "?s", one);
        char* group = strchr(out + length, 'g');
        if (group != NULL) {
            snprintf(group, size - (size_t)(group - out), "g%u", one / 15);
        }
        if (i > 0 && strncmp(out, out + length + 2, length) == 0 && out[2 * length + 2] == '\0') {
            out[length] = '\0'; // A list names nothing twice.
        }
    }
}

static void add_random(orr_world* world, uint32_t number, bool readers)
{
    static int users[3];
    char name[16], after[32], before[32], group[16], imports[16];
    snprintf(name, sizeof name, "s%u", number);
    snprintf(group, sizeof group, "g%u", number / 15);
    snprintf(imports, sizeof imports, "s%u", (uint32_t)test_random() % SYSTEMS);
    pick_names(after, sizeof after, 0, number);
    pick_names(before, sizeof before, number + 1, SYSTEMS);
    orr_system_desc desc = {.name = name, .run = kit_run_nothing, .exports = ORR_TYPE(Sum)};
    desc.kind = readers && test_random() % 12 == 0 ? ORR_INDIRECT : ORR_DIRECT;
    desc.query = KIT_PICK(1, "Position", "Position", "write Position", "write Position, Frozen",
                          "write Position, !Frozen", "Position, Hidden", "write Velocity, Hidden",
                          "?write Health, Position", "Velocity, Health", "write Health, !Hidden",
                          "Tiny", "?write Body, Position", "?Body, Velocity");
    if (desc.kind == ORR_DIRECT) {
        desc.by_id =
            KIT_PICK(6, "Position", "write Velocity", "Body", "write Body", "Health, Tiny");
        desc.atomics = KIT_PICK(6, "Health", "Position", "Tiny");
        desc.once = test_random() % 6 == 0;
        desc.main_thread = test_random() % 10 == 0;
        desc.impure = test_random() % 10 == 0;
    }
    // Systems that change the world have no state outside of it.
    bool changes = strstr(desc.query, "write") != NULL || desc.atomics != NULL ||
                   (desc.by_id != NULL && strstr(desc.by_id, "write") != NULL);
    desc.user = (desc.impure || !changes) && test_random() % 4 == 0 ? &users[test_random() % 3]
                                                                    : NULL;
    desc.group = test_random() % 2 == 0 ? group : NULL;
    desc.after = after[0] != '\0' && test_random() % 5 == 0 ? after : NULL;
    desc.before = before[0] != '\0' && test_random() % 5 == 0 ? before : NULL;
    desc.imports = imports[1] != '\0' && test_random() % 6 == 0 ? imports : NULL;
    desc.alone = !desc.main_thread && test_random() % 40 == 0;
    (void)kit_taken(world, orr_system_add(world, &desc), __FILE__, __LINE__);
}

static orr_world* begin_random(kit* k)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.atomic_sections = true});
    ORR_REGISTER(world, Position, Velocity, Health, Tiny, Frozen, Hidden, Body, Sum);
    bool readers = test_random() % 4 == 0;
    for (uint32_t i = 0; i < SYSTEMS; i++) {
        add_random(world, i, readers);
    }
    orr_cluster gap = KIT_CLUSTER(world, Position, Tiny);
    (void)KIT_CLUSTER(world, Position);
    (void)KIT_CLUSTER(world, Position, Frozen);
    (void)KIT_CLUSTER(world, Position, Health, Hidden);
    (void)KIT_CLUSTER(world, Velocity, Hidden);
    if (test_random() % 2 == 0) {
        (void)KIT_CLUSTER(world, Velocity, Health, Position);
    }
    KIT_STEP(world, 1);
    if (test_random() % 2 == 0) {
        CHECK_OK(orr_cluster_delete(world, gap));
        KIT_STEP(world, 1);
    }
    return world;
}

// ---- comparing with all pairs -------------------------------------------------------------------

typedef struct node_set {
    uint64_t words[NODES_MAX / 64];
} node_set;

// For each node of a group: what it waits for, directly or not.
typedef struct closure {
    node_set reach[NODES_MAX];
    bool done[NODES_MAX];
} closure;

static void closure_add(closure* c, uint32_t from, uint32_t to)
{
    for (uint32_t w = 0; w < NODES_MAX / 64; w++) {
        c->reach[to].words[w] |= c->reach[from].words[w];
    }
    orri_bit_set(c->reach[to].words, from, true);
}

static void closure_node(closure* c, const orri_conflict_graph* graph,
                         const orri_conflict_group* group, uint32_t node)
{
    for (uint32_t e = group->edge_first; e < group->edge_last; e++) {
        if (graph->edges[e].to == node) {
            CHECK(c->done[graph->edges[e].from]); // A serial order exists.
            closure_add(c, graph->edges[e].from, node);
        }
    }
    c->done[node] = true;
}

static void check_group(const orri_pipeline* pipe, const orri_conflict_graph* graph, uint32_t first,
                        uint32_t point)
{
    static closure found, wanted;
    found = wanted = (closure){0};
    const orri_conflict_group* group = &graph->groups[first];
    uint32_t count = point - first, join = group->join_first;
    CHECK(count + group->join_last - group->join_first <= NODES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        for (; join < group->join_last && graph->joins[join] == i; join++) {
            closure_node(&found, graph, group, count + join - group->join_first);
        }
        closure_node(&found, graph, group, i);
        for (uint32_t k = 0; k < i; k++) {
            if (orri_conflict(pipe->world, pipe->steps[first + k].system,
                              pipe->steps[first + i].system)) {
                closure_add(&wanted, k, i);
            }
        }
        for (uint32_t k = 0; k < i; k++) {
            if (orri_bit_get(found.reach[i].words, k) != orri_bit_get(wanted.reach[i].words, k)) {
                test_fail(__FILE__, __LINE__, "%s and %s: %s",
                          pipe->steps[first + k].system->desc.name,
                          pipe->steps[first + i].system->desc.name,
                          orri_bit_get(wanted.reach[i].words, k) ? "not connected" : "connected");
            }
        }
    }
    CHECK_EQ(join, group->join_last);
}

ORR_TEST(conflicts_of_random_systems_are_those_of_all_pairs)
{
    uint32_t joins = 0;
    for (uint32_t round = 0; round < test_rounds(200, 40, 2000); round++) {
        kit k;
        orr_world* world = begin_random(&k);
        const orri_pipeline* pipe = world->schedule->pipelines[0];
        for (orri_conflict_by by = ORRI_CONFLICT_BY_COST; by <= ORRI_CONFLICT_BY_SETS; by++) {
            orri_conflict_graph graph = {0};
            CHECK(orri_conflict_graph_make(&graph, pipe, by));
            for (uint32_t i = 0; i < pipe->step_count; i++) {
                if (pipe->steps[i].system == NULL) {
                    check_group(pipe, &graph, pipe->steps[i].first, i);
                }
            }
            joins += graph.join_count;
            orri_conflict_graph_free(world, &graph);
        }
        kit_end(&k);
    }
    CHECK(joins > 0);
}

ORR_TEST(conflicts_without_memory_are_refused_and_leave_nothing)
{
    kit k;
    orr_world* world = begin_random(&k);
    const orri_pipeline* pipe = world->schedule->pipelines[0];
    uint32_t refused = 0;
    for (uint64_t n = 1, before = UINT64_MAX; before != refused; n++) {
        before = refused;
        orri_conflict_graph graph = {0};
        failing_alloc_arm(&k.memory, n, false);
        refused += !orri_conflict_graph_make(&graph, pipe, ORRI_CONFLICT_BY_SETS);
        failing_alloc_arm(&k.memory, 0, false);
        orri_conflict_graph_free(world, &graph);
    }
    CHECK(refused > 5);
    kit_end(&k);
}

// ---- near-linear --------------------------------------------------------------------------------

typedef struct graph_case {
    const char* name;
    // Fills in what system `i` of n declares.
    void (*declare)(orr_system_desc* desc, uint32_t i, uint32_t n, char text[32]);
    bool clusters; // n clusters, the tag of each is its number.
} graph_case;

static void declare_readers(orr_system_desc* desc, uint32_t i, uint32_t n, char text[32])
{
    (void)text;
    desc->query = i == 0 || i == n - 1 ? "write Position" : "Position";
}

static void declare_after(orr_system_desc* desc, uint32_t i, uint32_t n, char text[32])
{
    (void)text;
    *(i < n / 2 ? &desc->group : &desc->after) = "g";
}

static void declare_before(orr_system_desc* desc, uint32_t i, uint32_t n, char text[32])
{
    (void)text;
    *(i < n / 2 ? &desc->before : &desc->group) = "g";
}

static void declare_by_id(orr_system_desc* desc, uint32_t i, uint32_t n, char text[32])
{
    (void)text;
    desc->query = "Velocity";
    *(i < n / 2 ? &desc->atomics : &desc->by_id) = "Position";
}

static void declare_in_turn(orr_system_desc* desc, uint32_t i, uint32_t n, char text[32])
{
    (void)n, (void)text;
    desc->query = "Velocity";
    *(i % 2 == 0 ? &desc->atomics : &desc->by_id) = "Position";
}

static void declare_user(orr_system_desc* desc, uint32_t i, uint32_t n, char text[32])
{
    static int user;
    (void)i, (void)n, (void)text;
    desc->user = &user;
}

static void declare_imports(orr_system_desc* desc, uint32_t i, uint32_t n, char text[32])
{
    snprintf(text, 32, "s%u", n / 2);
    desc->exports = ORR_TYPE(Sum);
    desc->imports = i != n / 2 ? text : NULL;
}

static void declare_clusters(orr_system_desc* desc, uint32_t i, uint32_t n, char text[32])
{
    (void)n;
    snprintf(text, 32, "write Position, #%u", i + 1);
    desc->query = text;
}

static const graph_case graph_cases[] = {
    {"readers between two writers", declare_readers, false},
    {"after a group", declare_after, false},
    {"before a group", declare_before, false},
    {"atomic sections, then reads by id", declare_by_id, false},
    {"atomic sections and reads by id in turn", declare_in_turn, false},
    {"one user", declare_user, false},
    {"imports from one system", declare_imports, false},
    {"writers of one cluster each", declare_clusters, true},
};

// Cost of ordering n systems and of finding their conflicts, as counts: pairs compared, sets looked
// up, edges and joins made. Counts do not depend on the machine.
typedef struct graph_cost {
    uint64_t order, conflicts;
} graph_cost;

static graph_cost count_cost(const graph_case* which, uint32_t n)
{
    kit k;
    orr_world* world = kit_begin(&k, &(orr_world_desc){.atomic_sections = true});
    ORR_REGISTER(world, Position, Velocity, Sum);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    orr_type position = KIT_TYPE(world, Position);
    (void)KIT_CLUSTER(world, Position);
    for (orr_tag tag = 1; which->clusters && tag <= n; tag++) {
        (void)kit_cluster(world, &position, 1, &tag, 1);
    }
    for (uint32_t i = 0; i < n; i++) {
        char name[16], text[32] = "";
        snprintf(name, sizeof name, "s%u", i);
        orr_system_desc desc = {.name = name, .query = "Position", .run = kit_run_nothing};
        which->declare(&desc, i, n, text);
        CHECK(orr_system_add(world, &desc).id != 0);
    }
    const struct orri_schedule* schedule = world->schedule;
    uint64_t before = schedule->order_edges;
    KIT_STEP(world, 1);
    graph_cost cost = {.order = schedule->order_edges - before};
    before = schedule->compared + schedule->set_lookups;
    orri_conflict_graph graph = {0};
    CHECK(orri_conflict_graph_make(&graph, schedule->pipelines[0], ORRI_CONFLICT_BY_COST));
    cost.conflicts = schedule->compared + schedule->set_lookups - before + graph.edge_count +
                     graph.join_count;
    CHECK_EQ(schedule->pipelines[0]->step_count, n + 1); // All are in one group.
    orri_conflict_graph_free(world, &graph);
    kit_end(&k);
    return cost;
}

ORR_TEST(conflicts_and_order_of_n_systems_cost_little_more_than_n)
{
    for (size_t i = 0; i < ORRI_COUNT(graph_cases); i++) {
        graph_cost few = count_cost(&graph_cases[i], 100), many = count_cost(&graph_cases[i], 1600);
        if (many.order > 18 * (few.order + 10) || many.conflicts > 18 * few.conflicts) {
            test_fail(__FILE__, __LINE__, "%s: order %llu, then %llu; conflicts %llu, then %llu",
                      graph_cases[i].name, (unsigned long long)few.order,
                      (unsigned long long)many.order, (unsigned long long)few.conflicts,
                      (unsigned long long)many.conflicts);
        }
    }
}

// ---- running ------------------------------------------------------------------------------------

// Declarations and actions of a system of the next test.
typedef struct mixer {
    char name[16];
    const char *query, *group, *after;
    uint32_t salt;
} mixer;

// Depends on the order in which systems write.
static void mix(orr_run* run)
{
    const mixer* m = orr_run_settings(run);
    Apple* apples = m->query[6] == 'A' ? orr_write(run, Apple) : NULL;
    Berry* berries = m->query[6] == 'B' ? orr_write(run, Berry) : NULL;
    const Cherry* cherries = orr_read(run, Cherry);
    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t* value = apples != NULL ? &apples[i].value : &berries[i].value;
        *value = *value * 31 + cherries[i].value + m->salt;
    }
}

static uint64_t mixed(const mixer* mixers, const orr_world_desc* desc, orri_sharing sharing)
{
    kit k;
    orr_world* world = kit_begin(&k, desc);
    ORR_REGISTER(world, Apple, Berry, Cherry, Frozen);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    orr_cluster clusters[] = {KIT_CLUSTER(world, Apple, Cherry), KIT_CLUSTER(world, Berry, Cherry),
                              KIT_CLUSTER(world, Apple, Berry, Cherry, Frozen)};
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_OK(orr_create_many(world, clusters[i], 40, NULL, 0, NULL));
    }
    for (uint32_t i = 0; i < SYSTEMS; i++) {
        KIT_SYSTEM(world, .name = mixers[i].name, .query = mixers[i].query, .run = mix,
                   .group = mixers[i].group, .after = mixers[i].after, .settings = &mixers[i]);
    }
    if (desc->workers > 0) {
        orri_parallel_share(world, sharing, mixers[0].salt);
    }
    KIT_STEP(world, 5);
    CHECK(desc->workers == 0 || world->schedule->set_lookups > 0);
    CHECK_EQ(k.errors.count, 0);
    uint64_t hash = orr_world_hash(world);
    kit_end(&k);
    return hash;
}

ORR_TEST(large_groups_on_workers_have_the_result_of_a_serial_run)
{
    static const orri_sharing sharings[] = {ORRI_SHARE_NOTHING, ORRI_SHARE_ALL, ORRI_SHARE_RANDOM};
    for (uint32_t round = 0; round < test_rounds(20, 6, 200); round++) {
        static mixer mixers[SYSTEMS];
        for (uint32_t i = 0; i < SYSTEMS; i++) {
            mixers[i].query = KIT_PICK(1, "write Apple, Cherry", "write Berry, Cherry",
                                       "write Apple, Cherry, Frozen",
                                       "write Berry, Cherry, !Frozen");
            // Systems of the last third come after groups of the others.
            mixers[i].group = i < SYSTEMS * 2 / 3 ? KIT_PICK(1, "g1", "g2") : NULL;
            mixers[i].after = i >= SYSTEMS * 2 / 3 ? KIT_PICK(2, "?g1", "?g2", "?g1, ?g2") : NULL;
            mixers[i].salt = (uint32_t)test_random();
            snprintf(mixers[i].name, sizeof mixers[i].name, "s%u", i);
        }
        uint64_t hash = mixed(mixers, &(orr_world_desc){.workers = 0}, ORRI_SHARE_AUTO);
        for (uint32_t i = 0; i < 3; i++) {
            CHECK_EQ(mixed(mixers, &(orr_world_desc){.workers = 1}, sharings[i]), hash);
            CHECK_EQ(mixed(mixers, &(orr_world_desc){.workers = 3}, sharings[i]), hash);
        }
    }
}
