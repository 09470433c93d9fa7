// SPDX-License-Identifier: MIT
// Impure systems in recordings. They change a world from state outside of it. A replay makes the
// same changes without calling any of their functions.
#include "realtime/hard_kit.h"

#include "realtime/realtime.h"
#include <orrery/replay.h>
#include <stdio.h>
#include <unistd.h>

ORR_STRUCT(Mine, (uint64_t, number))
ORR_STRUCT(Small, (uint8_t, a), (uint16_t, b), (uint32_t, c))
ORR_STRUCT(Berry, (uint64_t, seen))
ORR_STRUCT(Hit, (uint64_t, number))
ORR_STRUCT(Whom, (orr_entity, whom, (.flags = ORR_FIELD_INDEXED)))
ORR_STRUCT_EX(Vine, (.live = true), (uint64_t, a), (uint64_t, b))
ORR_STRUCT_EX(Orb, (.multiplicity = ORR_MULTIPLE), (uint32_t, size))
ORR_STRUCT_EX(Root, (.storage = ORR_PINNED), (uint64_t, depth))
ORR_STRUCT(Sum, (uint64_t, sum), (uint64_t, count))

// State outside of the world: numbers that no replay could guess, and counters of calls.
typedef struct outside {
    _Atomic uint64_t seed;
    _Atomic uint32_t calls;
    bool banned; // In a replay no function may be called.
} outside;
static outside out;

static uint64_t outside_number(void)
{
    HARD_CHECK(!out.banned, "a replay called an impure system");
    out.calls++;
    return orr_random(atomic_fetch_add(&out.seed, 1), 1, 2, 3);
}

// ---- the impure systems -------------------------------------------------------------------------

static void engine(orr_run* run) // By rows, in place; events, state, exports.
{
    Tree* t = orr_write(run, Tree);
    Vine* v = orr_write(run, Vine);
    uint64_t number = outside_number();
    for (uint32_t i = 0; i < run->count; i++) {
        t[i] = (Tree){number + i, 2 * (number + i)};
        v[i].a = v[i].b = number ^ i;
    }
    orr_state(run, Mine)->number += number;
    orr_export(run, Sum)->sum = number;
    if (number % 3 == 0) {
        orr_send_event(run, Hit, {number});
    }
}

static void rarely(orr_run* run) // Writes some blocks only, or none.
{
    uint64_t number = outside_number();
    if (number % 4 == 0) {
        orr_write(run, Small)[0].c = (uint32_t)(number >> 8);
    }
}

static void reach(orr_run* run) // By id: pinned, multiple, live.
{
    orr_query* query = orr_run_query(run);
    uint64_t number = outside_number();
    orr_iter it;
    orr_iter_begin(&it, query, NULL);
    while (orr_iter_next(&it)) {
        for (uint32_t i = 0; i < it.count; i++) {
            orr_entity entity = orr_iter_entity(&it, i);
            Root* root = number % 2 == 0 ? orr_edit(run->world, entity, Root) : NULL;
            if (root != NULL) {
                root->depth += number;
            }
            const orr_component_id* ids;
            orr_type orb = orr_type_of(run->world, ORR_TYPE(Orb));
            if (orr_instances_get(run->world, entity, orb, NULL, &ids) > 0) {
                ((Orb*)orr_instance_edit(run->world, entity, orb, ids[0]))->size ^=
                    (uint32_t)number;
            }
        }
    }
    orr_iter_end(&it);
}

static void double_it(const orr_world* world, orr_entity target, void* value, const void* argument,
                      uint32_t size)
{
    (void)world, (void)size;
    (void)target;
    ((Fruit*)value)->seen = ((Fruit*)value)->seen * 3 + *(const uint64_t*)argument;
}

// All kinds of records, in a random order.
static void device_one(orr_run* run, orr_entity entity, uint64_t number)
{
    orr_type orb = orr_type_of(run->world, ORR_TYPE(Orb));
    switch (number % 12) {
    case 0:
        orr_send_destroy(run, entity);
        break;
    case 1:
        orr_send_add(run, entity, Small, {(uint8_t)number, 2, 3});
        break;
    case 2:
        orr_send_remove(run, entity, Small);
        break;
    case 3:
        orr_send_tag(run, entity, 7, number & 64);
        break;
    case 4:
        orr_send_enable(run, entity, Fruit, number & 64);
        break;
    case 5: {
        char name[32];
        snprintf(name, sizeof name, "n%u", (unsigned)(number >> 20 & 0xFFF));
        orr_send_name(run, entity, (orr_entity){0}, number & 64 ? name : NULL);
        break;
    }
    case 6: { // Two instances, the first of which is changed and the second removed at times.
        orr_component_id first = 0, second = 0; // They stay 0 if the call is refused.
        orr_send_add_type(run, entity, orb, &(Orb){(uint32_t)number}, &first);
        orr_send_add_type(run, entity, orb, &(Orb){1}, &second);
        orr_send_change_type(run, entity, orb, first, &(Orb){(uint32_t)(number >> 32)});
        if (number & 64) {
            orr_send_remove_type(run, entity, orb, second);
        }
        break;
    }
    case 7:
        orr_send_add_preset(run, entity, Root);
        break;
    case 8:
        orr_transact(run, ORR_OP_ADD, entity, Fruit, seen, number >> 40);
        orr_transact(run, ORR_OP_MAX, entity, Small, b, (uint16_t)number);
        break;
    case 9:
        orr_transact_call(run, entity, orr_type_of(run->world, ORR_TYPE(Fruit)), 0, double_it,
                          &number, sizeof number);
        break;
    case 10:
        orr_send_change(run, entity, Whom, {entity});
        break;
    default:
        orr_send_enable_type(run, entity, (orr_type){0}, 0, number & 64);
        break;
    }
}

static orr_cluster trees_cluster;

static void device(orr_run* run)
{
    orr_entity ids[4096];
    orr_iter_entities(run, ids);
    uint64_t number = outside_number();
    for (uint32_t i = 0; i < run->count; i++) {
        number = orr_random(number, i, 0, 0);
        if (number >> 50 < 4000) {
            device_one(run, ids[i], number);
        }
    }
    if (number % 13 == 0) {
        orr_entity fresh = orr_send_create(run);
        orr_send_add(run, fresh, Tree, {number, 2 * number});
        orr_send_add(run, fresh, Fruit, {number});
        orr_send_add(run, fresh, Whom, {ids[0]});
        orr_send_add(run, fresh, Vine, {1, 1});
    }
    if (number % 17 == 0) {
        Fruit fruits[3] = {{number}, {2}, {3}};
        orr_column_data data = {orr_type_of(run->world, ORR_TYPE(Fruit)), fruits};
        orr_entity made[3] = {{0}};
        orr_send_create_many(run, trees_cluster, 3, &data, 1, made);
        orr_send_tag(run, made[1], 7, true);
    }
}

static void switcher(orr_run* run)
{
    uint64_t number = outside_number();
    if (number % 8 == 0) {
        orr_system_enable(run->world, orr_system_find(run->world, "sleeper"), number & 256);
        orr_group_enable(run->world, "night", number & 512);
    }
    orr_pause(run->world, false);
}

static void receive(orr_run* run) // Reads some of its messages, and sends.
{
    uint64_t number = outside_number();
    orr_entity whom = {0};
    for (uint64_t i = 0; i < number % 4; i++) {
        const orr_message* m = orr_receive(run);
        orr_state(run, Mine)->number += m != NULL ? m->count : 0;
        whom = m != NULL && m->kind != ORR_ENTITY_REMOVED ? m->entities[0] : whom;
    }
    uint32_t count = 0;
    const Hit* hits = number % 2 == 0 ? orr_events(run, Hit, &count) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        orr_state(run, Mine)->number ^= hits[i].number;
    }
    if (whom.id != 0) {
        orr_send_change(run, whom, Berry, {number});
    }
}

// Parallel: each chunk sends its own commands.
static void scatter(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t number = outside_number();
        orr_export(run, Sum)->sum += number;
        if (number % 64 == 0) {
            orr_send_event(run, Hit, {number});
        }
    }
}

static void scatter_combine(void* into, const void* part)
{
    ((Sum*)into)->sum += ((const Sum*)part)->sum;
}

static void window(orr_run* run) // On the caller's thread.
{
    orr_send_event(run, Hit, {outside_number()});
}

static void life(orr_run* run)
{
    orr_entity entity = orr_send_create(run);
    orr_send_add(run, entity, Fruit, {outside_number()});
    Mine* mine = orr_state(run, Mine); // Also when the world ends with an open tick.
    HARD_CHECK(mine != NULL, "%s", orr_error_last(run->world));
    if (mine != NULL) {
        mine->number += 1000;
    }
    orr_system_enable(run->world, orr_system_find(run->world, "sleeper"), outside_number() & 1);
}

// ---- pure systems that depend on them -----------------------------------------------------------

static void wander(orr_run* run)
{
    const Tree* t = orr_read(run, Tree);
    const Vine* v = orr_read(run, Vine);
    Fruit* f = orr_write(run, Fruit);
    const Sum* sum = orr_import(run, "engine", Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(t[i].twice == 2 * t[i].tick, "a tree is torn");
        f[i].seen = f[i].seen * 31 + t[i].tick + v[i].a + sum->sum;
    }
}

static void sees_changed(orr_run* run)
{
    orr_state(run, Count)->count += run->count;
}

static void sees_all(orr_run* run)
{
    const Small* s = orr_read(run, Small);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_state(run, Count)->last = orr_state(run, Count)->last * 7 + s[i].b + s[i].c;
    }
}

static void sees_orbs(orr_run* run)
{
    orr_entity ids[4096];
    orr_iter_entities(run, ids);
    orr_type orb = orr_type_of(run->world, ORR_TYPE(Orb));
    for (uint32_t i = 0; i < run->count; i++) {
        const void* values;
        const orr_component_id* which;
        uint32_t count = orr_instances_get(run->world, ids[i], orb, &values, &which);
        for (uint32_t n = 0; n < count; n++) {
            orr_state(run, Count)->last = orr_state(run, Count)->last * 31 +
                                          ((const Orb*)values)[n].size + which[n];
        }
    }
}

static void sees_roots(orr_run* run)
{
    orr_entity ids[4096];
    orr_iter_entities(run, ids);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_state(run, Count)->last += orr_get(run->world, ids[i], Root)->depth;
    }
}

static void ticks(orr_run* run)
{
    orr_state(run, Count)->count++;
}

static void hits(orr_run* run)
{
    uint32_t count;
    const Hit* h = orr_events(run, Hit, &count);
    const Sum* sum = orr_import(run, "scatter", Sum);
    for (uint32_t i = 0; i < count; i++) {
        orr_state(run, Count)->last = orr_state(run, Count)->last * 31 + h[i].number + sum->sum;
    }
}

// ---- a world ------------------------------------------------------------------------------------

static void impure_systems(orr_world* world)
{
    KIT_SYSTEM(world, .name = "engine", .pipeline = "a", .query = "write Tree, write Vine",
               .sends = "Hit", .state = ORR_TYPE(Mine), .exports = ORR_TYPE(Sum), .impure = true,
               .user = &out, .run = engine);
    KIT_SYSTEM(world, .name = "rarely", .query = "write Small", .impure = true, .user = &out,
               .run = rarely);
    KIT_SYSTEM(world, .name = "reach", .query = "Root", .once = true,
               .by_id = "write Root, write Orb", .impure = true, .user = &out, .run = reach);
    KIT_SYSTEM(world, .name = "device", .query = "Fruit",
               .creates = "Tree, Fruit, Whom, Vine, Berry", .destroys = "*",
               .adds = "Small, Orb, Root", .removes = "Small, Orb", .tags = "#7",
               .switches = "Fruit, *", .renames = true, .transacts = "Fruit, Small",
               .changes = "Whom, Orb", .impure = true, .user = &out, .run = device);
    KIT_SYSTEM(world, .name = "switcher", .once = true, .by_id = "Tree", .impure = true,
               .user = &out, .sends = "Hit", .run = switcher);
    KIT_SYSTEM(world, .name = "receiver_b", .kind = ORR_INDIRECT, .pipeline = "b",
               .query = "Tree, write Berry", .receives = "Hit", .state = ORR_TYPE(Mine),
               .impure = true, .user = &out, .run = receive);
    KIT_SYSTEM(world, .name = "scatter", .query = "Orb", .parallel = true, .sends = "Hit",
               .exports = ORR_TYPE(Sum), .combine = scatter_combine, .impure = true, .user = &out,
               .run = scatter);
    KIT_SYSTEM(world, .name = "window", .pipeline = "b", .once = true, .by_id = "Tree",
               .sends = "Hit", .main_thread = true, .impure = true, .user = &out, .run = window);
    KIT_SYSTEM(world, .name = "alive", .pipeline = "a", .once = true, .by_id = "Tree",
               .creates = "Fruit", .creates_max = 4, .state = ORR_TYPE(Mine), .impure = true,
               .user = &out, .create = life, .start = life, .stop = life, .destroy = life,
               .run = kit_run_nothing);
}

static orr_world* impure_begin(kit* k, uint32_t workers)
{
    orr_world* world = hard_begin(k, workers);
    orri_parallel_share(world, ORRI_SHARE_ALL, 0);
    ORR_REGISTER(world, Tree, Fruit, Berry, Small, Hit, Whom, Vine, Orb, Root, orr_name);
    hard_pipe(world, "a", 400, false);
    hard_pipe(world, "b", 300, false);
    trees_cluster = KIT_CLUSTER(world, Tree, Fruit, Vine, Berry, Whom);
    CHECK_OK(orr_create_many(world, trees_cluster, 60, NULL, 0, NULL));
    for (uint32_t i = 0; i < 20; i++) {
        orr_entity entity = orr_create(world);
        orr_set(world, entity, Small, {1, 2, 3});
        orr_set(world, entity, Fruit, {i});
        orr_set(world, entity, Root, {i});
        CHECK_OK(orr_component_add(world, entity, orr_type_of(world, ORR_TYPE(Orb))));
    }
    impure_systems(world);
    KIT_SYSTEM(world, .name = "wander", .pipeline = "b", .query = "Tree, Vine, write Fruit",
               .imports = "engine", .run = wander);
    KIT_SYSTEM(world, .name = "changed", .pipeline = "b", .query = "changed Tree",
               .state = ORR_TYPE(Count), .run = sees_changed);
    KIT_SYSTEM(world, .name = "changed_small", .query = "changed Small", .state = ORR_TYPE(Count),
               .run = sees_changed);
    KIT_SYSTEM(world, .name = "all", .query = "Small", .state = ORR_TYPE(Count), .run = sees_all);
    KIT_SYSTEM(world, .name = "orbs", .query = "Orb", .by_id = "Orb", .state = ORR_TYPE(Count),
               .run = sees_orbs);
    KIT_SYSTEM(world, .name = "roots", .query = "Root", .by_id = "Root", .state = ORR_TYPE(Count),
               .run = sees_roots);
    KIT_SYSTEM(world, .name = "sleeper", .pipeline = "b", .once = true, .by_id = "Tree",
               .state = ORR_TYPE(Count), .run = ticks);
    KIT_SYSTEM(world, .name = "nightly", .pipeline = "a", .group = "night", .once = true,
               .by_id = "Tree", .state = ORR_TYPE(Count), .run = ticks);
    KIT_SYSTEM(world, .name = "hits", .once = true, .receives = "Hit", .imports = "scatter",
               .state = ORR_TYPE(Count), .run = hits);
    KIT_SYSTEM(world, .name = "receiver", .kind = ORR_INDIRECT, .pipeline = "b",
               .query = "Fruit, ?Small, ?orr_tags, ?orr_enabled", .state = ORR_TYPE(Count),
               .run = tree_receive);
    return world;
}

static void impure_replays(uint32_t workers, uint64_t ticks_wanted)
{
    kit k;
    orr_recording* recording = orr_recording_create();
    out.banned = false;
    atomic_store(&out.seed, 12345);
    orr_world* world = impure_begin(&k, workers);
    orr_realtime_desc desc = {.ticks = ticks_wanted, .record = recording, .hashes = true};
    if (orr_realtime(world, &desc) != ORR_OK) {
        test_fail(__FILE__, __LINE__, "the run: %s", k.errors.text);
    }
    uint64_t hash = orr_world_hash(world);
    CHECK(atomic_load(&out.calls) > ticks_wanted);
    CHECK_OK(orr_world_validate(world));
    k.errors = (kit_errors){0}; // Some random sends cannot be applied.
    hard_end(&k);
    for (uint32_t i = 0; i < 2; i++) {
        world = impure_begin(&k, i == 0 ? workers : 3 - workers);
        out.banned = true;
        atomic_store(&out.seed, 99);
        orr_result result = orr_realtime(world, &(orr_realtime_desc){.replay = recording});
        if (result != ORR_OK) {
            test_fail(__FILE__, __LINE__, "the replay: %s", k.errors.text);
        }
        CHECK(orr_world_hash(world) == hash);
        CHECK_OK(orr_world_validate(world));
        k.errors = (kit_errors){0};
        hard_end(&k); // The end of the world calls none of their functions, either.
        out.banned = false;
    }
    orr_recording_destroy(recording);
}

ORR_TEST(recording_replays_impure_systems)
{
    impure_replays(0, 60);
}

ORR_TEST(recording_replays_impure_systems_with_workers)
{
    impure_replays(3, 60);
}

// ---- the same in lockstep -----------------------------------------------------------------------

// Recorded, saved, and replayed with other numbers of workers.
static void impure_lockstep(uint32_t workers, uint32_t others, uint32_t ticks_wanted)
{
    kit k;
    char path[64];
    snprintf(path, sizeof path, "/tmp/orr_impure_%ld_%u_%u", (long)getpid(), workers, others);
    orr_recording* recording = orr_recording_create();
    out = (outside){.seed = 1};
    orr_world* world = impure_begin(&k, workers);
    CHECK_OK(orr_transaction_register(world, "double_it", double_it, sizeof(uint64_t)));
    CHECK_OK(orr_record(world, recording, &(orr_record_desc){.hash_every = 1}));
    CHECK_RESULT(orr_step(world, ticks_wanted), ORR_ERR_ABSENT); // Of a random send.
    CHECK_OK(orr_record_end(world));
    CHECK_OK(orr_recording_save(world, recording, path));
    uint64_t hash = orr_world_hash(world);
    uint32_t calls = out.calls;
    CHECK(calls > ticks_wanted);
    k.errors = (kit_errors){0}; // Some random sends cannot be applied.
    hard_end(&k);
    for (uint32_t i = 0; i < 2; i++) {
        out.banned = true;
        world = impure_begin(&k, others);
        CHECK_OK(orr_transaction_register(world, "double_it", double_it, sizeof(uint64_t)));
        CHECK_OK(i == 0 ? ORR_OK : orr_recording_load(world, recording, path));
        if (orr_replay(world, recording, NULL, NULL) != ORR_ERR_ABSENT) { // As the run.
            test_fail(__FILE__, __LINE__, "the replay: %s", k.errors.text);
        }
        CHECK(orr_world_hash(world) == hash);
        k.errors = (kit_errors){0};
        hard_end(&k);
        out.banned = false;
    }
    orr_recording_destroy(recording);
    CHECK_EQ(remove(path), 0);
}

ORR_TEST(recording_of_lockstep_replays_impure_systems)
{
    if (!test_brief()) { // Without workers while it records.
        impure_lockstep(0, 0, 80);
        impure_lockstep(0, 3, 40);
    }
    impure_lockstep(3, 0, 40);
}

// ---- systems that cannot be recorded ------------------------------------------------------------

static void writes_text(orr_run* run)
{
    (void)run;
}

static void add_text(orr_world* world, void* data, size_t size)
{
    (void)data, (void)size;
    KIT_SYSTEM(world, .name = "typist", .query = "Fruit", .adds = "Text", .impure = true,
               .user = &out, .run = writes_text);
}

static void post_text(orr_run* run)
{
    if (run->tick == 5) {
        (void)orr_post_exclusive(run->world, add_text, NULL, 0);
    }
}

ORR_TEST(recording_of_an_impure_system_that_makes_strings_is_refused_by_name)
{
    kit k;
    static const orr_system_desc descs[] = {
        {.query = "write Text"},
        {.query = "Fruit", .adds = "Text"},
        {.query = "Fruit", .changes = "Text"},
        {.once = true, .by_id = "Fruit", .creates = "Text"},
    };
    for (uint32_t i = 0; i < 4; i++) {
        orr_recording* recording = orr_recording_create();
        orr_world* world = hard_begin(&k, 0);
        ORR_REGISTER(world, Fruit, Text);
        orr_system_desc desc = descs[i];
        desc.name = "typist";
        desc.impure = true;
        desc.user = &out;
        desc.run = writes_text;
        CHECK(orr_system_add(world, &desc).id != 0);
        orr_realtime_desc how = {.ticks = 2, .record = recording};
        CHECK_RESULT(orr_realtime(world, &how), ORR_ERR_TYPE);
        CHECK_CONTAINS(k.errors.text, "typist");
        KIT_ERROR(&k, ORR_ERR_TYPE, "Text");
        how.record = NULL; // Without a recording it is accepted.
        CHECK_OK(orr_realtime(world, &how));
        hard_end(&k);
        orr_recording_destroy(recording);
    }
}

// A system added at a sync point ends the recording, not the run.
ORR_TEST(recording_ends_where_an_impure_system_that_cannot_be_recorded_is_added)
{
    kit k;
    orr_recording* recording = orr_recording_create();
    for (uint32_t i = 0; i < 2; i++) {
        orr_world* world = hard_begin(&k, 0);
        ORR_REGISTER(world, Fruit, Text);
        KIT_SYSTEM(world, .name = "post", .once = true, .by_id = "Fruit", .run = post_text);
        orr_realtime_desc how = {.ticks = 10, .hashes = true};
        how.record = i == 0 ? recording : NULL;
        how.replay = i == 0 ? NULL : recording;
        CHECK_OK(orr_realtime(world, &how));
        orr_pipeline_stats stats;
        CHECK_OK(orr_pipeline_stats_get(world, (orr_pipeline){1}, &stats));
        CHECK_EQ(stats.tick, i == 0 ? 10 : 5);
        if (i == 0) {
            KIT_ERROR(&k, ORR_ERR_TYPE, "typist");
        }
        hard_end(&k);
    }
    orr_recording_stats stats;
    orr_recording_stats_get(recording, &stats);
    CHECK(stats.refused && !stats.full);
    orr_recording_destroy(recording);
}

// ---- life ---------------------------------------------------------------------------------------

static char life_line[64];

static void life_say(char letter)
{
    size_t size = strlen(life_line);
    life_line[size] = letter;
    life_line[size + 1] = '\0';
}
static void life_create(orr_run* run)
{
    (void)run;
    life_say('c');
}
static void life_start(orr_run* run)
{
    orr_state(run, Mine)->number += 5;
    life_say('s');
}
static void life_run(orr_run* run)
{
    if (strchr(life_line, 'r') == NULL) {
        life_say('r');
    }
    orr_state(run, Mine)->number++;
}
static void life_stop(orr_run* run)
{
    (void)run;
    life_say('p');
}
static void life_destroy(orr_run* run)
{
    (void)run;
    life_say('d');
}

static orr_world* life_begin(kit* k)
{
    orr_world* world = hard_begin(k, 0);
    ORR_REGISTER(world, Fruit);
    life_line[0] = '\0';
    KIT_SYSTEM(world, .name = "engine", .once = true, .by_id = "Fruit", .state = ORR_TYPE(Mine),
               .impure = true, .user = &out, .run = life_run, .create = life_create,
               .start = life_start, .stop = life_stop, .destroy = life_destroy);
    return world;
}

// A system that a replay did not call starts when it runs itself, and stops only if it was started.
ORR_TEST(recording_impure_system_starts_when_it_runs_itself)
{
    kit k;
    orr_recording* recording = orr_recording_create();
    orr_world* world = life_begin(&k);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 5, .record = recording}));
    CHECK_STR(life_line, "csr");
    hard_end(&k);
    CHECK_STR(life_line, "csrpd");
    for (uint32_t i = 0; i < 4; i++) {
        world = life_begin(&k);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = recording}));
        CHECK_STR(life_line, "");
        const Mine* mine = orr_system_state(world, orr_system_find(world, "engine"));
        CHECK_EQ(mine->number, 10);
        if (i == 1) {
            KIT_STEP(world, 2);
        } else if (i == 2) {
            CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 2}));
        } else if (i == 3) { // A system that is removed before it ran is not started.
            CHECK_OK(orr_system_remove(world, orr_system_find(world, "engine")));
            KIT_STEP(world, 2);
        }
        CHECK_STR(life_line, i == 0 || i == 3 ? "" : "csr");
        hard_end(&k);
        CHECK_STR(life_line, i == 0 || i == 3 ? "" : "csrpd");
    }
    orr_recording_destroy(recording);
}

// ---- an impure system without rows --------------------------------------------------------------

static void rowless(orr_run* run)
{
    uint64_t number = outside_number();
    orr_write(run, Small)[0].c = (uint32_t)number;
    orr_state(run, Mine)->number += number;
    orr_send_tag(run, orr_iter_entity(run, 0), 7, number & 1);
}

// A row appears in the third tick and disappears in the sixth; the system is disabled meanwhile.
static void rowless_change(orr_world* world, void* data, size_t size)
{
    (void)size;
    (void)data;
    uint64_t tick = orr_world_tick(world);
    CHECK_OK(orr_system_enable(world, orr_system_find(world, "rowless"), tick % 4 != 0));
    if (tick == 2) {
        CHECK_OK(orr_set(world, orr_create_named(world, "row"), Small, {1, 2, 3}));
    } else if (tick == 5) {
        CHECK_OK(orr_destroy(world, orr_find(world, (orr_entity){0}, "row")));
    }
}

ORR_TEST(recording_of_an_impure_system_without_rows_replays)
{
    orr_recording* recording = orr_recording_create();
    uint64_t hashes[2];
    for (uint32_t i = 0; i < 2; i++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        out = (outside){.seed = 5, .banned = i == 1};
        ORR_REGISTER(world, Small, Mine);
        KIT_SYSTEM(world, .name = "rowless", .query = "write Small", .tags = "*", .impure = true,
                   .state = ORR_TYPE(Mine), .run = rowless);
        if (i == 0) {
            CHECK_OK(orr_record(world, recording, &(orr_record_desc){.hash_every = 1}));
            for (uint32_t tick = 0; tick < 9; tick++) {
                CHECK_OK(orr_post(world, rowless_change, NULL, 0));
                CHECK_OK(orr_step(world, 1));
            }
            CHECK_OK(orr_record_end(world));
        } else if (orr_replay(world, recording, NULL, NULL) != ORR_OK) {
            test_fail(__FILE__, __LINE__, "%s", k.errors.text);
        }
        hashes[i] = orr_world_hash(world);
        kit_end(&k);
    }
    CHECK(hashes[0] == hashes[1]);
    orr_recording_destroy(recording);
    out = (outside){0};
}

// ---- memory -------------------------------------------------------------------------------------

// Memory of the recording is refused: it is full at some point, and right up to there.
ORR_TEST(recording_impure_without_memory_replays_up_to_its_end)
{
    uint32_t full = 0;
    for (uint64_t bytes = 12000; bytes < 3000000; bytes = bytes * 8 / 5) {
        kit k;
        orr_recording* recording = orr_recording_create();
        recording->env.bytes_max = bytes;
        orr_world* world = impure_begin(&k, 0);
        CHECK_OK(orr_realtime(
            world, &(orr_realtime_desc){.ticks = 20, .record = recording, .hashes = true}));
        orr_recording_stats stats;
        orr_recording_stats_get(recording, &stats);
        full += stats.full;
        k.errors = (kit_errors){0};
        hard_end(&k);
        world = impure_begin(&k, 0);
        out.banned = true;
        orr_result result = orr_realtime(world, &(orr_realtime_desc){.replay = recording});
        if (result != ORR_OK) {
            test_fail(__FILE__, __LINE__, "%u bytes: %s", (unsigned)bytes, k.errors.text);
        }
        out.banned = false;
        k.errors = (kit_errors){0};
        hard_end(&k);
        orr_recording_destroy(recording);
    }
    CHECK(full > 2);
}

// Memory of the world is refused, in the recorded run or in the replay: the refusal is returned,
// nothing is torn, no memory leaks.
static void impure_refused_memory(bool replay)
{
    uint32_t refused = 0;
    bool reached = true;
    for (uint64_t n = 1; reached && n < 6000; n += test_long() ? 3 : test_races() ? 181 : 61) {
        kit k;
        orr_recording* recording = orr_recording_create();
        for (uint32_t pass = 0; pass < 2; pass++) {
            orr_world* world = impure_begin(&k, 0);
            bool refuses = (pass == 1) == replay;
            out.banned = pass == 1;
            failing_alloc_arm(&k.memory, refuses ? n : 0, false);
            orr_realtime_desc desc = {.ticks = 4, .hashes = true};
            desc.record = pass == 0 ? recording : NULL;
            desc.replay = pass == 0 ? NULL : recording;
            orr_result result = orr_realtime(world, &desc);
            reached = refuses ? k.memory.refused > 0 : reached;
            failing_alloc_arm(&k.memory, 0, false);
            refused += result == ORR_ERR_MEMORY;
            // (A replay that lacks something differs from the recording, and may report it.)
            if (!test_ticks_ran(result) && !(refuses && (replay || result == ORR_ERR_MEMORY))) {
                test_fail(__FILE__, __LINE__, "refused at %u, pass %u: %s", (unsigned)n, pass,
                          k.errors.text);
            }
            CHECK_OK(orr_world_validate(world));
            k.errors = (kit_errors){0};
            out.banned = false;
            hard_end(&k);
        }
        orr_recording_destroy(recording);
    }
    // Some refusals hit a send of a system, and the run continues. With the seven moments that race
    // tests use, four to six end the run.
    CHECK(refused > (test_races() ? 1u : 3u));
}

ORR_TEST(recording_impure_run_with_refused_memory_replays)
{
    impure_refused_memory(false);
}

ORR_TEST(recording_impure_replay_with_refused_memory_returns_it)
{
    impure_refused_memory(true);
}
