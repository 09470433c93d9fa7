// SPDX-License-Identifier: MIT
// Systems and messages on the calling thread: the cost of calling systems, a frame of seven
// systems, deferred adds, changes and new entities that are sent, applied and delivered. Limits:
// the same loops called directly; arrays copied into a store and once to every reader.
#include "bench.h"
#include <stdio.h>
#include <string.h>

static void systems_add(bench_env* env, const orr_system_desc* desc)
{
    if (orr_system_add(env->world, desc).id == 0) {
        bench_die("the system was refused: %s", orr_error_last(env->world));
    }
}

static void systems_step(bench_env* env)
{
    bench_expect(env, orr_step(env->world, 1), "a tick");
}

// ---- schedule: a hundred systems with next to nothing to do -------------------------------------

static void systems_tiny(orr_run* run)
{
    Health* h = orr_write(run, Health);
    for (uint32_t i = 0; i < run->count; i++) {
        h[i].value += 1;
    }
}

static void systems_tiny_raw(Health* h)
{
    h->value += 1;
}

static void systems_schedule_open(bench_env* env)
{
    bench_world_open(env);
    orr_entity one = orr_create(env->world);
    bench_expect(env, orr_set(env->world, one, Health, {0}), "an entity");
    env->ids[0] = one;
    for (uint32_t i = 0; i < env->n; i++) {
        char name[32];
        snprintf(name, sizeof name, "tiny_%u", i);
        systems_add(env,
                    &(orr_system_desc){.name = name, .query = "write Health", .run = systems_tiny});
    }
    systems_step(env);
    bench_expect(env, orr_set(env->world, one, Health, {0}), "an entity");
    env->extra[0] = bench_array(env->n, sizeof(void (*)(Health*)));
    env->extra[1] = bench_array(1, sizeof(Health));
    void (**calls)(Health*) = env->extra[0];
    for (uint32_t i = 0; i < env->n; i++) {
        calls[i] = systems_tiny_raw;
    }
}

static bench_sample systems_schedule_ours(bench_env* env)
{
    uint32_t rounds = 1000;
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0; i < rounds; i++) {
        systems_step(env);
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)rounds * env->n,
                          (uint64_t)orr_get(env->world, env->ids[0], Health)->value};
}

static bench_sample systems_schedule_limit(bench_env* env)
{
    void (*volatile * calls)(Health*) = (void (*volatile*)(Health*))env->extra[0];
    Health* h = env->extra[1];
    uint32_t rounds = 1000;
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0; i < rounds; i++) {
        for (uint32_t s = 0; s < env->n; s++) {
            calls[s](h);
        }
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, (uint64_t)rounds * env->n, (uint64_t)h->value};
}

const bench_work bench_schedule = {
    "schedule", "per system", systems_schedule_open, systems_schedule_ours, systems_schedule_limit,
};

static void systems_schedule_2_open(bench_env* env)
{
    bench_workers_use(env, 2);
    systems_schedule_open(env);
}

const bench_work bench_schedule_2 = {"schedule", "per system", systems_schedule_2_open,
                                     systems_schedule_ours, systems_schedule_limit};

// ---- frame_7 ------------------------------------------------------------------------------------

enum {
    SYSTEMS_LIFE,
    SYSTEMS_HARM,
    SYSTEMS_SPRITE,
    SYSTEMS_PICTURE,     // Picture of the limit.
    SYSTEMS_PICTURE_OWN, // Picture of ours.
};

static void systems_move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    raw_frame_move(p, orr_read(run, Velocity), run->dt, run->count);
}
static void systems_data(orr_run* run)
{
    raw_frame_data(orr_write(run, Data), run->dt, run->count);
}
static void systems_steer(orr_run* run)
{
    Velocity* v = orr_write(run, Velocity);
    const Data* d = orr_read(run, Data);
    raw_frame_steer(v, d, orr_read(run, Position), run->count);
}
static void systems_life(orr_run* run)
{
    raw_frame_life(orr_write(run, Life), run->count);
}
static void systems_harm(orr_run* run)
{
    Life* life = orr_write(run, Life);
    raw_frame_harm(life, orr_read(run, Harm), run->count);
}
static void systems_sprite(orr_run* run)
{
    Sprite* sprite = orr_write(run, Sprite);
    raw_frame_sprite(sprite, orr_read(run, Life), run->count);
}
static void systems_draw(orr_run* run)
{
    const Position* p = orr_read(run, Position);
    raw_frame_draw(orr_run_user(run), p, orr_read(run, Sprite), run->count);
}

static void systems_frame_arrays(bench_env* env)
{
    raw_fill(&env->raw, env->positions, env->velocities, env->raw_ids, env->n);
    env->raw.data = bench_array(env->n, sizeof(Data));
    env->extra[SYSTEMS_LIFE] = bench_array(env->n, sizeof(Life));
    env->extra[SYSTEMS_HARM] = bench_array(env->n, sizeof(Harm));
    env->extra[SYSTEMS_SPRITE] = bench_array(env->n, sizeof(Sprite));
    env->extra[SYSTEMS_PICTURE] = bench_array(RAW_PICTURE, sizeof(uint32_t));
    env->extra[SYSTEMS_PICTURE_OWN] = bench_array(RAW_PICTURE, sizeof(uint32_t));
    Life* life = env->extra[SYSTEMS_LIFE];
    Harm* harm = env->extra[SYSTEMS_HARM];
    for (uint32_t i = 0; i < env->n; i++) {
        life[i] = (Life){100, 100, 0};
        harm[i] = (Harm){10, (int32_t)(i % 16)};
    }
}

static void systems_frame_open(bench_env* env)
{
    systems_frame_arrays(env);
    bench_world_open(env);
    orr_world* w = env->world;
    orr_type life = orr_type_of(w, ORR_TYPE(Life)), harm = orr_type_of(w, ORR_TYPE(Harm));
    orr_cluster cluster;
    bench_expect(
        env,
        orr_cluster_get(
            w, &(orr_cluster_desc){ORR_TYPES(w, Position, Velocity, Data, Life, Harm, Sprite)},
            &cluster),
        "a cluster of six");
    orr_column_data data[] = {{env->position, env->positions},
                              {env->velocity, env->velocities},
                              {life, env->extra[SYSTEMS_LIFE]},
                              {harm, env->extra[SYSTEMS_HARM]}};
    bench_expect(env, orr_create_many(w, cluster, env->n, data, 4, NULL), "filling it");
    static const struct {
        const char* name;
        const char* query;
        void (*run)(orr_run*);
    } systems[] = {{"move", "write Position, Velocity", systems_move},
                   {"data", "write Data", systems_data},
                   {"steer", "write Velocity, Data, Position", systems_steer},
                   {"life", "write Life", systems_life},
                   {"harm", "write Life, Harm", systems_harm},
                   {"sprite", "write Sprite, Life", systems_sprite}};
    for (uint32_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        systems_add(env, &(orr_system_desc){.name = systems[i].name,
                                            .query = systems[i].query,
                                            .run = systems[i].run,
                                            .parallel = true});
    }
    systems_add(env, &(orr_system_desc){.name = "draw",
                                        .query = "Position, Sprite",
                                        .run = systems_draw,
                                        .user = env->extra[SYSTEMS_PICTURE_OWN]});
}

static uint64_t systems_picture_digest(const uint32_t* picture)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < RAW_PICTURE; i++) {
        sum += (uint64_t)picture[i] * (i + 1);
    }
    return sum;
}

static bench_sample systems_frame_ours(bench_env* env)
{
    uint64_t start = bench_now_ns();
    systems_step(env);
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, env->n,
                          bench_world_digest(env) +
                              systems_picture_digest(env->extra[SYSTEMS_PICTURE_OWN])};
}

static bench_sample systems_frame_limit(bench_env* env)
{
    raw_table* t = &env->raw.tables[0];
    Life* life = env->extra[SYSTEMS_LIFE];
    Sprite* sprite = env->extra[SYSTEMS_SPRITE];
    float dt = 1.0f / 60.0f;
    uint64_t start = bench_now_ns();
    raw_frame_move(t->positions, t->velocities, dt, env->n);
    raw_frame_data(env->raw.data, dt, env->n);
    raw_frame_steer(t->velocities, env->raw.data, t->positions, env->n);
    raw_frame_life(life, env->n);
    raw_frame_harm(life, env->extra[SYSTEMS_HARM], env->n);
    raw_frame_sprite(sprite, life, env->n);
    raw_frame_draw(env->extra[SYSTEMS_PICTURE], t->positions, sprite, env->n);
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, env->n,
                          raw_store_digest(&env->raw) +
                              systems_picture_digest(env->extra[SYSTEMS_PICTURE])};
}

const bench_work bench_frame_7 = {"frame_7", "per entity", systems_frame_open, systems_frame_ours,
                                  systems_frame_limit};

static void systems_frame_2_open(bench_env* env)
{
    bench_workers_use(env, 2);
    systems_frame_open(env);
}

const bench_work bench_frame_7_2 = {"frame_7", "per entity", systems_frame_2_open,
                                    systems_frame_ours, systems_frame_limit};

// Access checks enabled and disabled, in the same world.
static bench_sample systems_checks(bench_env* env, orr_access_check level)
{
    orr_access_check_set(env->world, level);
    bench_sample sample = systems_frame_ours(env);
    sample.check = 0;
    return sample;
}

static bench_sample systems_checks_on(bench_env* env)
{
    return systems_checks(env, ORR_ACCESS_CHECK_CALLS);
}

static bench_sample systems_checks_off(bench_env* env)
{
    return systems_checks(env, ORR_ACCESS_CHECK_OFF);
}

const bench_work bench_frame_checks = {"frame_checks", "per entity", systems_frame_open,
                                       systems_checks_on, systems_checks_off};

// ---- deferred_add -------------------------------------------------------------------------------

static void systems_send_adds(orr_run* run)
{
    orr_type health = orr_type_of(run->world, ORR_TYPE(Health));
    uint32_t first;
    (void)orr_iter_cluster(run, &first);
    for (uint32_t i = 0; i < run->count; i++) {
        Health h = {(float)(first + i)};
        (void)orr_send_add_type(run, orr_iter_entity(run, i), health, &h, NULL);
    }
}

static void systems_add_open(bench_env* env)
{
    raw_fill(&env->raw, env->positions, env->velocities, env->raw_ids, env->n);
    env->raw.tables[1].positions = bench_array(env->n, sizeof(Position));
    env->raw.tables[1].velocities = bench_array(env->n, sizeof(Velocity));
    env->raw.tables[1].healths = bench_array(env->n, sizeof(Health));
    env->raw.tables[1].owners = bench_array(env->n, sizeof(uint32_t));
    env->extra[0] = bench_array(env->n, sizeof(uint64_t));
    env->extra[1] = bench_array(env->n, sizeof(Health));
    bench_world_open(env);
    bench_world_fill(env);
    systems_add(env, &(orr_system_desc){.name = "send",
                                        .query = "Position, !Health",
                                        .run = systems_send_adds,
                                        .adds = "Health"});
}

static bench_sample systems_add_ours(bench_env* env)
{
    uint64_t start = bench_now_ns();
    systems_step(env);
    uint64_t ns = bench_since_ns(start);
    bench_sample sample = {ns, env->n, bench_world_digest(env)};
    bench_expect(env, orr_component_remove_many(env->world, env->ids, env->n, env->health),
                 "removing");
    return sample;
}

static bench_sample systems_add_limit(bench_env* env)
{
    uint64_t start = bench_now_ns();
    (void)raw_add_noted(&env->raw, env->raw_ids, env->extra[0], env->extra[1], env->n);
    uint64_t ns = bench_since_ns(start);
    bench_sample sample = {ns, env->n, raw_store_digest(&env->raw)};
    (void)raw_remove(&env->raw, env->raw_ids, env->n);
    return sample;
}

const bench_work bench_deferred_add = {"deferred_add", "per add", systems_add_open,
                                       systems_add_ours, systems_add_limit};

// ---- messages_changed ---------------------------------------------------------------------------

// The copy a reader keeps: an array of ids and an array of values, as received.
typedef struct systems_mirror {
    orr_entity* ids;
    Data* values;
    uint32_t count, capacity;
} systems_mirror;

static void systems_take(systems_mirror* mirror, const orr_message* m, const Data* values)
{
    // The first run receives the whole world and the first changes.
    mirror->count = mirror->count + m->count <= mirror->capacity ? mirror->count : 0;
    memcpy(mirror->ids + mirror->count, m->entities, m->count * sizeof *mirror->ids);
    memcpy(mirror->values + mirror->count, values, m->count * sizeof *mirror->values);
    mirror->count += m->count;
}

static void systems_read(orr_run* run)
{
    systems_mirror* mirror = orr_run_user(run);
    mirror->count = 0;
    ORR_MESSAGES(m, run)
    {
        const Data* values = orr_values(m, Data);
        if (values != NULL) {
            systems_take(mirror, m, values);
        }
    }
}

// The sender is also the first reader.
typedef struct systems_sender {
    systems_mirror mirror; // Must be first.
    bench_env* env;
    Data* next;
} systems_sender;

static void systems_send_changes(orr_run* run)
{
    systems_read(run);
    systems_sender* sender = orr_run_user(run);
    orr_type data = orr_type_of(run->world, ORR_TYPE(Data));
    for (uint32_t i = 0; i < sender->env->n; i++) {
        Data d = {sender->next[i].count, (double)run->tick};
        (void)orr_send_change_type(run, sender->env->ids[i], data, 0, &d);
    }
}

static systems_mirror systems_mirror_make(bench_env* env, uint32_t extra)
{
    env->extra[extra] = bench_array(env->n, sizeof(orr_entity));
    env->extra[extra + 1] = bench_array(env->n, sizeof(Data));
    return (systems_mirror){env->extra[extra], env->extra[extra + 1], 0, env->n};
}

// extra: 0 sender, 1 its data, 2 and 3 the sender's mirror, 4 and 5 the mirror that the other
// readers share (in each tick each of them copies everything), 6 the limit's store of ids, 7 the
// limit's mirror.
static void systems_changed_open(bench_env* env, uint32_t readers)
{
    systems_sender* sender = env->extra[0] = bench_array(1, sizeof(systems_sender));
    Data* next = env->extra[1] = bench_array(env->n, sizeof(Data));
    *sender = (systems_sender){systems_mirror_make(env, 2), env, next};
    env->raw.data = bench_array(env->n, sizeof(Data));
    env->extra[6] = bench_array(env->n, sizeof(uint64_t));
    bench_world_open(env);
    orr_cluster cluster;
    bench_expect(
        env,
        orr_cluster_get(env->world, &(orr_cluster_desc){ORR_TYPES(env->world, Data)}, &cluster),
        "a cluster");
    for (uint32_t i = 0; i < env->n; i++) {
        next[i] = (Data){i, 0};
    }
    orr_column_data data = {env->data, next};
    bench_expect(env, orr_create_many(env->world, cluster, env->n, &data, 1, env->ids),
                 "filling it");
    systems_add(env, &(orr_system_desc){.name = "sender",
                                        .kind = ORR_INDIRECT,
                                        .query = "write Data",
                                        .run = systems_send_changes,
                                        .user = sender,
                                        .impure = true});
    systems_mirror* shared = env->extra[7] = bench_array(1, sizeof(systems_mirror));
    *shared = systems_mirror_make(env, 4);
    for (uint32_t i = 1; i < readers; i++) {
        char name[32];
        snprintf(name, sizeof name, "reader_%u", i);
        systems_add(env, &(orr_system_desc){.name = name,
                                            .kind = ORR_INDIRECT,
                                            .query = "Data",
                                            .run = systems_read,
                                            .user = shared});
    }
    systems_step(env);
}

static void systems_changed_open_1(bench_env* env)
{
    systems_changed_open(env, 1);
}

static void systems_changed_open_8(bench_env* env)
{
    systems_changed_open(env, 8);
}

static bench_sample systems_changed_ours(bench_env* env)
{
    uint64_t start = bench_now_ns();
    systems_step(env);
    uint64_t ns = bench_since_ns(start);
    const Data* last = orr_get(env->world, env->ids[env->n - 1], Data);
    return (bench_sample){ns, env->n, (uint64_t)last->count};
}

// Recorded by the sender, copied into the store and to every reader.
static bench_sample systems_changed_limit(bench_env* env, uint32_t readers)
{
    static double tick = 0;
    systems_sender* sender = env->extra[0];
    systems_mirror* shared = env->extra[7];
    uint64_t* ids = env->extra[6];
    Data* noted = shared->values;
    uint64_t start = bench_now_ns();
    tick += 1;
    for (uint32_t i = 0; i < env->n; i++) {
        ids[i] = env->raw_ids[i];
        noted[i] = (Data){sender->next[i].count, tick};
    }
    memcpy(env->raw.data, noted, env->n * sizeof(Data));
    for (uint32_t r = 0; r < readers; r++) {
        memcpy(sender->mirror.ids, ids, env->n * sizeof *ids);
        memcpy(sender->mirror.values, noted, env->n * sizeof(Data));
    }
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, env->n, (uint64_t)env->raw.data[env->n - 1].count};
}

static bench_sample systems_changed_limit_1(bench_env* env)
{
    return systems_changed_limit(env, 1);
}

static bench_sample systems_changed_limit_8(bench_env* env)
{
    return systems_changed_limit(env, 8);
}

const bench_work bench_changed_1 = {"messages_changed", "per change, 1 reader",
                                    systems_changed_open_1, systems_changed_ours,
                                    systems_changed_limit_1};
const bench_work bench_changed_8 = {"messages_changed", "per change, 8 readers",
                                    systems_changed_open_8, systems_changed_ours,
                                    systems_changed_limit_8};

// ---- messages_added -----------------------------------------------------------------------------

typedef struct systems_spawner {
    bench_env* env;
    orr_cluster cluster;
    bool whole;    // One message with all components; otherwise they are added afterwards.
    bool quiet;    // Creates nothing in this tick.
    bool recycled; // Ids are reused in the order in which their entities died: descending.
} systems_spawner;

static void systems_spawn(orr_run* run)
{
    const systems_spawner* spawner = orr_run_user(run);
    bench_env* env = spawner->env;
    if (spawner->quiet) {
        return;
    }
    if (spawner->whole) {
        orr_column_data data[] = {{env->position, env->positions},
                                  {env->velocity, env->velocities}};
        (void)orr_send_create_many(run, spawner->cluster, env->n, data, 2, env->ids);
        return;
    }
    for (uint32_t i = 0; i < env->n; i++) {
        env->ids[i] = orr_send_create(run);
        (void)orr_send_add_type(run, env->ids[i], env->position, &env->positions[i], NULL);
        (void)orr_send_add_type(run, env->ids[i], env->velocity, &env->velocities[i], NULL);
    }
}

// extra: 0 spawner, 1 to 3 the reader's mirror, 4 the limit's ids.
static void systems_spawn_read(orr_run* run)
{
    bench_env* env = orr_run_user(run);
    uint32_t count = 0;
    ORR_MESSAGES(m, run)
    {
        const Position* p = orr_values(m, Position);
        const Velocity* v = orr_values(m, Velocity);
        if (m->kind == ORR_ENTITY_ADDED && p != NULL && v != NULL) {
            memcpy((orr_entity*)env->extra[1] + count, m->entities, m->count * sizeof(orr_entity));
            memcpy((Position*)env->extra[2] + count, p, m->count * sizeof *p);
            memcpy((Velocity*)env->extra[3] + count, v, m->count * sizeof *v);
            count += m->count;
        }
    }
}

static void systems_spawn_open(bench_env* env, bool whole)
{
    raw_fill(&env->raw, env->positions, env->velocities, env->raw_ids, env->n);
    systems_spawner* spawner = env->extra[0] = bench_array(1, sizeof(systems_spawner));
    env->extra[1] = bench_array(env->n, sizeof(orr_entity));
    env->extra[2] = bench_array(env->n, sizeof(Position));
    env->extra[3] = bench_array(env->n, sizeof(Velocity));
    env->extra[4] = bench_array(env->n, sizeof(uint64_t));
    bench_world_open(env);
    *spawner = (systems_spawner){env, env->clusters[0], whole, false, false};
    systems_add(env, &(orr_system_desc){.name = "spawn",
                                        .by_id = "Position",
                                        .once = true,
                                        .run = systems_spawn,
                                        .creates = "Position, Velocity",
                                        .creates_max = env->n,
                                        .user = spawner,
                                        .impure = true});
    systems_add(env, &(orr_system_desc){.name = "reader",
                                        .kind = ORR_INDIRECT,
                                        .query = "Position, Velocity",
                                        .run = systems_spawn_read,
                                        .user = env});
}

static void systems_added_open(bench_env* env)
{
    systems_spawn_open(env, true);
}

static bench_sample systems_added_ours(bench_env* env)
{
    systems_spawner* spawner = env->extra[0];
    uint64_t start = bench_now_ns();
    systems_step(env);
    uint64_t ns = bench_since_ns(start);
    bench_sample sample = {ns, env->n, bench_world_digest(env)};
    // The reader receives the destruction in a tick that is not counted.
    if (spawner->recycled) {
        bench_expect(env, orr_entities_destroy_all(env->world), "destroying");
    } else { // In reverse, so that ids are ascending again, as in a fresh world.
        for (uint32_t i = 0; i < env->n / 2; i++) {
            orr_entity first = env->ids[i];
            env->ids[i] = env->ids[env->n - 1 - i];
            env->ids[env->n - 1 - i] = first;
        }
        bench_expect(env, orr_destroy_many(env->world, env->ids, env->n), "destroying");
    }
    spawner->quiet = true;
    systems_step(env);
    spawner->quiet = false;
    return sample;
}

static bench_sample systems_added_limit(bench_env* env)
{
    raw_table* t = &env->raw.tables[0];
    uint64_t start = bench_now_ns();
    memcpy(env->extra[4], env->raw_ids, env->n * sizeof(uint64_t));
    memcpy(t->positions, env->positions, env->n * sizeof(Position));
    memcpy(t->velocities, env->velocities, env->n * sizeof(Velocity));
    memcpy(env->extra[1], env->extra[4], env->n * sizeof(uint64_t));
    memcpy(env->extra[2], t->positions, env->n * sizeof(Position));
    memcpy(env->extra[3], t->velocities, env->n * sizeof(Velocity));
    uint64_t ns = bench_since_ns(start);
    return (bench_sample){ns, env->n, raw_store_digest(&env->raw)};
}

const bench_work bench_added_1 = {"messages_added", "per entity, 1 reader", systems_added_open,
                                  systems_added_ours, systems_added_limit};

static void systems_recycled_open(bench_env* env)
{
    systems_spawn_open(env, true);
    ((systems_spawner*)env->extra[0])->recycled = true;
}

const bench_work bench_added_recycled = {"messages_added_recycled", "per entity, 1 reader",
                                         systems_recycled_open, systems_added_ours,
                                         systems_added_limit};

// One message with all components, compared with an entity and its components one after another:
// N0-50.
static bench_sample systems_whole(bench_env* env, bool whole)
{
    systems_spawner* spawner = env->extra[0];
    spawner->whole = whole;
    return systems_added_ours(env);
}

static bench_sample systems_whole_ours(bench_env* env)
{
    return systems_whole(env, true);
}

static bench_sample systems_whole_limit(bench_env* env)
{
    return systems_whole(env, false);
}

const bench_work bench_spawn_whole = {"spawn_whole", "per entity; limit: by parts",
                                      systems_added_open, systems_whole_ours, systems_whole_limit};
