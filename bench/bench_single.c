// SPDX-License-Identifier: MIT
// Calls for one entity, as README shows them: orr_create and orr_set, orr_add and orr_remove,
// orr_get, an indexed parent, and the first pass over a new query.
#include "bench.h"
#include <string.h>

ORR_MARKER(Lone)
ORR_STRUCT(Parent, (orr_entity, node, (.flags = ORR_FIELD_INDEXED)))

// ---- create_naive_2, create_in_2 ----------------------------------------------------------------

static void single_values_set(orr_world* world, orr_entity entity, uint32_t i)
{
    bool set = orr_set(world, entity, Position, {(float)i, 1.0f}) == ORR_OK &&
               orr_set(world, entity, Velocity, {1.0f, 2.0f}) == ORR_OK;
    if (!set) {
        bench_die("a component could not be set");
    }
}

static void single_create_2(bench_env* env)
{
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        env->ids[i] = orr_create(env->world);
        single_values_set(env->world, env->ids[i], i);
    }
}

static void single_create_in_2(bench_env* env)
{
    orr_cluster cluster = env->clusters[0];
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        env->ids[i] = orr_create_in(env->world, cluster);
        single_values_set(env->world, env->ids[i], i);
    }
}

static void single_create_2_limit(bench_env* env)
{
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        env->raw_ids[i] =
            raw_create_one(&env->raw, (Position){(float)i, 1.0f}, (Velocity){1.0f, 2.0f});
    }
}

static bench_sample single_create_2_ours(bench_env* env)
{
    return bench_life_measure(env, bench_world_open, single_create_2, bench_life_ours_digest);
}

static bench_sample single_create_in_2_ours(bench_env* env)
{
    return bench_life_measure(env, bench_world_open, single_create_in_2, bench_life_ours_digest);
}

static bench_sample single_create_2_raw(bench_env* env)
{
    return bench_life_measure(env, bench_life_clear, single_create_2_limit,
                              bench_life_limit_digest);
}

// ---- create_naive_6 -----------------------------------------------------------------------------

static raw_six single_six(uint32_t i)
{
    return (raw_six){{(float)i, 1.0f},   {1.0f, 2.0f},       {(float)i},
                     {0.125f, (float)i}, {(int64_t)i, 0.25}, {(int32_t)i, 100, 0}};
}

static void single_create_6(bench_env* env)
{
    orr_world* world = env->world;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        raw_six six = single_six(i);
        orr_entity entity = env->ids[i] = orr_create(world);
        bool set = orr_set(world, entity, Position, six.position) == ORR_OK &&
                   orr_set(world, entity, Velocity, six.velocity) == ORR_OK &&
                   orr_set(world, entity, Health, six.health) == ORR_OK &&
                   orr_set(world, entity, Acceleration, six.acceleration) == ORR_OK &&
                   orr_set(world, entity, Data, six.data) == ORR_OK &&
                   orr_set(world, entity, Life, six.life) == ORR_OK;
        if (!set) {
            bench_die("a component could not be set");
        }
    }
}

// The four values that the digest of positions does not cover, and the velocity.
static uint64_t single_six_sum(Velocity v, Health h, Acceleration a, Data d, Life life)
{
    return bench_float_bits(v.x + v.y) + bench_float_bits(h.value) * 3 +
           bench_float_bits(a.x + a.y) * 5 + (uint64_t)(d.count + (int64_t)(d.sum * 4)) * 7 +
           (uint64_t)(life.hp + life.most) * 11;
}

static uint64_t single_create_6_digest(bench_env* env)
{
    orr_world* world = env->world;
    uint64_t sum = bench_life_ours_digest(env);
    for (uint32_t i = 0; i < env->n; i++) {
        orr_entity e = env->ids[i];
        sum += single_six_sum(*orr_get(world, e, Velocity), *orr_get(world, e, Health),
                              *orr_get(world, e, Acceleration), *orr_get(world, e, Data),
                              *orr_get(world, e, Life));
    }
    return sum;
}

// extra: 0 the columns of the limit, 1 to 4 their memory.
static void single_create_6_open(bench_env* env)
{
    raw_columns_six* six = env->extra[0] = bench_array(1, sizeof *six);
    six->healths = env->extra[1] = bench_array(env->n, sizeof(Health));
    six->accelerations = env->extra[2] = bench_array(env->n, sizeof(Acceleration));
    six->data = env->extra[3] = bench_array(env->n, sizeof(Data));
    six->lives = env->extra[4] = bench_array(env->n, sizeof(Life));
}

static void single_create_6_limit(bench_env* env)
{
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        raw_six six = single_six(i);
        env->raw_ids[i] = raw_create_one_six(&env->raw, env->extra[0], &six);
    }
}

static uint64_t single_create_6_limit_digest(bench_env* env)
{
    const raw_columns_six* six = env->extra[0];
    uint64_t sum = bench_life_limit_digest(env);
    for (uint32_t i = 0; i < env->n; i++) {
        sum += single_six_sum(env->raw.tables[0].velocities[i], six->healths[i],
                              six->accelerations[i], six->data[i], six->lives[i]);
    }
    return sum;
}

static bench_sample single_create_6_ours(bench_env* env)
{
    return bench_life_measure(env, bench_world_open, single_create_6, single_create_6_digest);
}

static bench_sample single_create_6_raw(bench_env* env)
{
    return bench_life_measure(env, bench_life_clear, single_create_6_limit,
                              single_create_6_limit_digest);
}

// ---- add_remove_lone ----------------------------------------------------------------------------

// The world is full of entities, but none has the types of the lone one.
static void single_lone_open(bench_env* env)
{
    bench_world_open(env);
    bench_world_fill(env);
    bench_change_raw_table_make(env);
    env->raw.tables[0].count = 1;
    env->ids[0] = orr_create(env->world);
    single_values_set(env->world, env->ids[0], 0);
    bench_expect(env, orr_set(env->world, env->ids[0], Data, {7, 0}), "the lone entity");
}

static bench_sample single_lone_ours(bench_env* env)
{
    orr_world* world = env->world;
    orr_entity entity = env->ids[0];
    uint32_t done = 0;
    orr_tick_advance(world);
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        done += orr_add(world, entity, Lone) == ORR_OK && orr_remove(world, entity, Lone) == ORR_OK;
    }
    uint64_t ns = bench_since_ns(start);
    bool whole = orr_get(world, entity, Data)->count == 7 && !orr_has(world, entity, Lone);
    return (bench_sample){ns, env->n,
                          done + whole + raw_digest(orr_get(world, entity, Position), 1)};
}

static bench_sample single_lone_limit(bench_env* env)
{
    uint64_t start = bench_now_ns();
    uint32_t done = raw_move_lone(&env->raw, env->raw_ids[0], env->n);
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, env->n, done + 1 + raw_store_digest(&env->raw)};
}

// ---- get_macro, get_many ------------------------------------------------------------------------

static float single_get_pass(orr_world* world, const orr_entity* ids, uint32_t count)
{
    float sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const Position* p = orr_get(world, ids[i], Position);
        if (p != NULL) {
            sum += p->x;
        }
    }
    return sum;
}

static bench_sample single_get_ours(bench_env* env)
{
    bench_sample sample = {0};
    uint64_t start = bench_now_ns();
    for (uint32_t round = bench_rounds(env->n); round > 0; round--) {
        sample.check += bench_float_bits(single_get_pass(env->world, env->ids_shuffled, env->n));
        sample.items += env->n;
    }
    sample.ns = bench_since_ns(start);
    return sample;
}

static void single_get_many_open(bench_env* env)
{
    bench_shuffled_open(env);
    env->extra[0] = bench_array(env->n, sizeof(Position));
}

static bench_sample single_get_many(bench_env* env, bool ours)
{
    bench_sample sample = {0};
    Position* out = env->extra[0];
    memset(out, 0, sizeof *out * env->n);
    uint64_t start = bench_now_ns();
    for (uint32_t round = bench_rounds(env->n); round > 0; round--) {
        if (ours) {
            bench_expect(
                env,
                orr_component_get_many(env->world, env->ids_shuffled, env->n, env->position, out),
                "getting many");
        } else if (raw_get_many(&env->raw, env->raw_ids_shuffled, env->n, out) != env->n) {
            bench_die("an id of the limit is dead");
        }
        sample.items += env->n;
    }
    sample.ns = bench_since_ns(start);
    for (uint32_t i = 0; i < env->n; i++) {
        sample.check = sample.check * 31 + bench_float_bits(out[i].x); // In the order of the ids.
    }
    return sample;
}

static bench_sample single_get_many_ours(bench_env* env)
{
    return single_get_many(env, true);
}

static bench_sample single_get_many_limit(bench_env* env)
{
    return single_get_many(env, false);
}

// ---- tree_build: nodes are created one by one, each with its parent; each has five children ------

static void single_tree_build(bench_env* env)
{
    orr_world* world = env->world;
    orr_entity* ids = env->ids;
    int failed = 0;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        ids[i] = orr_create(world);
        failed |= (int)orr_set(world, ids[i], Position, {(float)i, 1.0f});
        if (i > 0) {
            failed |= (int)orr_set(world, ids[i], Parent, {ids[(i - 1) / 5]});
        }
    }
    if (failed != 0) {
        bench_die("a parent could not be set");
    }
}

// The children of every node, by their numbers: in a fresh world ids ascend with these.
static uint64_t single_tree_digest(bench_env* env)
{
    orr_type parent = orr_type_of(env->world, ORR_TYPE(Parent));
    uint64_t sum = bench_life_ours_digest(env);
    for (uint32_t i = 0; i < env->n; i++) {
        orr_entity children[8];
        uint32_t count = orr_referrers_get(env->world, env->ids[i], parent, NULL, children, 8);
        for (uint32_t c = 0; c < count && c < 8; c++) {
            uint64_t child = (uint32_t)children[c].id - (uint32_t)env->ids[0].id;
            sum += (uint64_t)(i + 1) * (child + 3) + 7;
        }
    }
    return sum;
}

static void single_tree_open(bench_env* env)
{
    env->extra[0] = bench_array(env->n, sizeof(raw_node));
}

static void single_tree_limit(bench_env* env)
{
    raw_node* nodes = env->extra[0];
    const raw_record* records = env->raw.records;
    uint64_t* ids = env->raw_ids;
    bool failed = false;
    for (uint32_t i = 0, n = env->n; i < n; i++) {
        ids[i] = raw_create_node(&env->raw, nodes, (Position){(float)i, 1.0f});
        if (i > 0) {
            failed |= !raw_parent_set(records, nodes, ids[i], ids[(i - 1) / 5]);
        }
    }
    if (failed) {
        bench_die("the limit could not set a parent");
    }
}

static uint64_t single_tree_limit_digest(bench_env* env)
{
    const raw_node* nodes = env->extra[0];
    uint64_t sum = bench_life_limit_digest(env);
    for (uint32_t i = 0; i < env->n; i++) {
        for (uint32_t c = nodes[i].first; c != RAW_NONE; c = nodes[c].next) {
            sum += (uint64_t)(i + 1) * (c + (uint64_t)3) + 7;
        }
    }
    return sum;
}

static bench_sample single_tree_ours(bench_env* env)
{
    return bench_life_measure(env, bench_world_open, single_tree_build, single_tree_digest);
}

static bench_sample single_tree_raw(bench_env* env)
{
    return bench_life_measure(env, bench_life_clear, single_tree_limit, single_tree_limit_digest);
}

// ---- query_first_pass ---------------------------------------------------------------------------

// extra: 0 the tables of the limit, one per cluster, 1 their addresses.
static void single_pass_open(bench_env* env)
{
    bench_world_open(env);
    bench_world_fill(env);
    env->raw_spans = bench_array(env->cluster_count, sizeof(raw_span));
    raw_table* tables = env->extra[0] = bench_array(env->cluster_count, sizeof(raw_table));
    const raw_table** list = env->extra[1] = bench_array(env->cluster_count, sizeof(raw_table*));
    for (uint32_t c = 0; c < env->cluster_count; c++) {
        uint32_t first = bench_share(env, c);
        tables[c] = (raw_table){.positions = env->raw.tables[0].positions + first,
                                .count = bench_share(env, c + 1) - first};
        list[c] = &tables[c];
    }
}

#define SINGLE_PASSES 16

// Each pass has a query of its own. Its creation is not timed: that is query_create.
static bench_sample single_pass_ours(bench_env* env)
{
    bench_sample sample = {.items = (uint64_t)env->cluster_count * SINGLE_PASSES};
    for (uint32_t i = 0; i < SINGLE_PASSES; i++) {
        orr_tick_advance(env->world);
        orr_term term = {.type = env->position, .access = ORR_WRITE};
        orr_query* query =
            orr_query_create(env->world, &(orr_query_desc){.terms = &term, .term_count = 1});
        if (query == NULL) {
            bench_die("the query was refused: %s", orr_error_last(env->world));
        }
        uint64_t start = bench_now_ns();
        ORR_EACH (it, query) {
            Position* p = orr_write(&it, Position);
            for (uint32_t row = 0; row < it.count; row++) {
                p[row].x += 1.0f;
                p[row].y += 1.0f;
            }
        }
        sample.ns += bench_since_ns(start);
        orr_query_destroy(query);
    }
    sample.check = bench_world_digest(env);
    return sample;
}

static bench_sample single_pass_limit(bench_env* env)
{
    bench_sample sample = {.items = (uint64_t)env->cluster_count * SINGLE_PASSES};
    for (uint32_t i = 0; i < SINGLE_PASSES; i++) {
        uint64_t start = bench_now_ns();
        uint32_t count = raw_spans_list(env->extra[1], env->cluster_count, env->raw_spans);
        raw_move_spans(env->raw_spans, count);
        sample.ns += bench_since_ns(start);
    }
    sample.check = raw_store_digest(&env->raw);
    return sample;
}

// ---- offered features ---------------------------------------------------------------------------

const bench_work bench_create_naive_2 = {"create_naive_2", "entity by orr_create and two orr_set",
                                         NULL, single_create_2_ours, single_create_2_raw};
const bench_work bench_create_naive_6 = {"create_naive_6", "entity by orr_create and six orr_set",
                                         single_create_6_open, single_create_6_ours,
                                         single_create_6_raw};
const bench_work bench_create_in_2 = {"create_in_2", "entity by orr_create_in and two orr_set",
                                      NULL, single_create_in_2_ours, single_create_2_raw};
const bench_work bench_add_remove_lone = {
    "add_remove_lone", "marker added and removed, alone in its clusters; per pair",
    single_lone_open, single_lone_ours, single_lone_limit};
const bench_work bench_get_macro = {"get_macro", "Position read by orr_get, shuffled",
                                    bench_shuffled_open, single_get_ours, bench_get_limit};
const bench_work bench_get_many = {"get_many", "Position copied in one call, shuffled",
                                   single_get_many_open, single_get_many_ours,
                                   single_get_many_limit};
const bench_work bench_tree_build = {"tree_build",
                                     "node by orr_create, orr_set of a value and of its parent",
                                     single_tree_open, single_tree_ours, single_tree_raw};
const bench_work bench_query_first_pass = {"query_first_pass",
                                           "cluster in the first pass over a new query",
                                           single_pass_open, single_pass_ours, single_pass_limit};
