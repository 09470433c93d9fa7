// SPDX-License-Identifier: MIT
// Which locks are taken in real time, read from the lock trace; and what readers find when they
// have their locks.
#include "realtime/realtime.h"
#include "schedule/system_kit.h"
#include <stdatomic.h>

ORR_STRUCT_EX(Coal, (.live = true), (uint64_t, value))
ORR_STRUCT_EX(Iron, (.live = true), (uint64_t, value))
ORR_STRUCT(Steel, (uint64_t, value))

static char trace[1 << 20];

// The trace lines of a system, or of "commit", without numbers, in order. Further turns repeat the
// lines, so each line is listed once.
static const char* lines_of(const char* holder)
{
    static char out[4096];
    char want[64];
    out[0] = '\0';
    snprintf(want, sizeof want, ", %s: ", holder);
    for (char* line = trace; *line != '\0';) {
        char* end = strchr(line, '\n');
        *end = '\0';
        const char* at = strstr(line, want);
        if (at != NULL) {
            char text[128];
            snprintf(text, sizeof text, "%s; ", at + strlen(want));
            if (strstr(out, text) == NULL) {
                strncat(out, text, sizeof out - strlen(out) - 1);
            }
        }
        *end = '\n';
        line = end + 1;
    }
    return out;
}

static orr_world* begin_forge(kit* k)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.rate_hz = 1000});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    ORR_REGISTER(world, Coal, Iron, Steel);
    for (uint32_t i = 0; i < 3; i++) {
        orr_entity entity = orr_create(world);
        CHECK_OK(orr_set(world, entity, Coal, {0}));
        CHECK_OK(orr_set(world, entity, Iron, {0}));
        CHECK_OK(orr_set(world, entity, Steel, {0}));
    }
    CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "A", .rate_hz = 1000}).id != 0);
    CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "B", .rate_hz = 1000}).id != 0);
    return world;
}

static void run_forge(orr_world* world)
{
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 20, .lock_trace = 5000}));
    CHECK(orr_lock_trace_print(world, trace, sizeof trace) < sizeof trace);
}

// A run ends by the ticks of the first pipeline. On a busy machine the threads of other pipelines
// may not have ticked by then, so the world runs until the trace has lines of the system.
static void run_forge_until(orr_world* world, const char* system)
{
    uint32_t rounds = 0;
    do {
        run_forge(world);
    } while (lines_of(system)[0] == '\0' && ++rounds < 200);
    CHECK(rounds < 200);
}

static void nothing(orr_run* run)
{
    (void)run;
}

static void burn(orr_run* run)
{
    Coal* coal = orr_write(run, Coal);
    Steel* steel = orr_write(run, Steel);
    for (uint32_t i = 0; i < run->count; i++) {
        coal[i].value++;
        steel[i].value++;
    }
}

/* N0-06, N0-53, N0-02 */
ORR_TEST(realtime_direct_systems_take_read_and_exclusive_locks)
{
    kit k;
    orr_world* world = begin_forge(&k);
    // Coal and Iron are live, Steel is published; each type is read by the other pipeline.
    KIT_SYSTEM(world, .name = "burn", .pipeline = "A", .query = "write Coal, write Steel, Iron",
               .run = burn);
    KIT_SYSTEM(world, .name = "melt", .pipeline = "B", .query = "write Iron, Coal, Steel",
               .run = nothing);
    run_forge_until(world, "burn");
    // Locks between pipelines: structure for reading (the clusters that exist, the places of
    // entities), and live types by cluster. Within a pipeline: the grants of the plan, by type.
    CHECK_STR(lines_of("burn"), "registry read taken; "
                                "index read taken; "
                                "Coal of cluster 3 exclusive taken; "
                                "Iron of cluster 3 read taken; "
                                "Coal exclusive granted by plan; "
                                "Iron read granted by plan; "
                                "Steel exclusive granted by plan; "
                                "Coal exclusive released; "
                                "Iron read released; "
                                "Steel exclusive released; "
                                "Iron of cluster 3 read released; "
                                "registry read released; "
                                "index read released; "
                                "Coal of cluster 3 exclusive released; ");
    run_forge_until(world, "melt");
    CHECK_CONTAINS(lines_of("melt"), "Iron of cluster 3 exclusive taken");
    CHECK_CONTAINS(lines_of("melt"), "Coal of cluster 3 read taken");
    CHECK(strstr(lines_of("melt"), "Steel of cluster") == NULL); // Steel is published: no lock.
    kit_end(&k);
}

// ---- indirect systems ---------------------------------------------------------------------------

static void stoke(orr_run* run)
{
    for (const orr_message* m; (m = orr_receive(run)) != NULL;) {
        for (uint32_t i = 0; m->kind != ORR_ENTITY_REMOVED && i < m->count; i++) {
            orr_send_change(run, m->entities[i], Coal, {run->tick});
        }
    }
}

/* N0-03, N0-09, N0-51 */
ORR_TEST(realtime_indirect_systems_take_inclusive_locks_that_are_upgraded)
{
    kit k;
    orr_world* world = begin_forge(&k);
    KIT_SYSTEM(world, .name = "stoke", .kind = ORR_INDIRECT, .pipeline = "A",
               .query = "write Coal, Steel", .run = stoke);
    KIT_SYSTEM(world, .name = "look", .pipeline = "B", .query = "Coal", .run = nothing);
    run_forge_until(world, "stoke");
    const char* lines = lines_of("stoke");
    CHECK_CONTAINS(lines, "Coal of cluster 3 inclusive taken; ");
    // One lock, upgraded without a gap: it is not released before it is exclusive, and values are
    // written while it is exclusive.
    const char* upgraded = strstr(lines, "Coal of cluster 3 exclusive upgraded; ");
    const char* released = strstr(lines, "Coal of cluster 3 exclusive released; ");
    CHECK(upgraded != NULL && released != NULL && upgraded < released);
    CHECK(strstr(lines, "Coal of cluster 3 read") == NULL);
    // The system receives messages about Steel and never reads it.
    CHECK(strstr(lines, "Steel") == NULL);
    CHECK(strstr(lines, "Coal of cluster 3 inclusive released") == NULL);
    kit_end(&k);
}

// ---- commits ------------------------------------------------------------------------------------

static void replace(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_send_destroy(run, orr_iter_entity(run, i));
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Coal, {0});
        orr_send_add(run, entity, Steel, {0});
    }
}

/* N0-53, N0-55 */
ORR_TEST(realtime_commits_hold_structure_exclusively_and_nothing_else)
{
    kit k;
    orr_world* world = begin_forge(&k);
    KIT_SYSTEM(world, .name = "replace", .pipeline = "A", .query = "Steel", .run = replace,
               .creates = "Coal, Steel", .destroys = "Steel");
    KIT_SYSTEM(world, .name = "burn", .pipeline = "B", .query = "write Coal, write Steel",
               .run = burn);
    run_forge_until(world, "replace");
    CHECK_CONTAINS(lines_of("commit"), "registry exclusive taken; ");
    CHECK_CONTAINS(lines_of("commit"), "index exclusive taken; ");
    CHECK(strstr(lines_of("commit"), " of cluster ") == NULL);
    CHECK_CONTAINS(lines_of("replace"), "registry read taken; ");
    CHECK_CONTAINS(lines_of("replace"), "index read released; ");
    kit_end(&k);
}

// ---- values and messages under the locks --------------------------------------------------------

static _Atomic uint64_t made, faults, compared;
static uint64_t received, received_value;

static void create_one(orr_run* run)
{
    orr_send_add(run, orr_send_create(run), Steel, {run->tick});
}

// Its group begins after the commit: it has created one entity for each of its ticks.
static void count_made(orr_run* run)
{
    made = run->tick;
}

static void count_received(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        received += m->kind == ORR_ENTITY_ADDED ? m->count : 0;
    }
    // Messages about entities created before the system had its locks are among those it received.
    // While it holds its locks nothing is created.
    faults += received < made + 3;
    compared++;
}

/* N0-12 */
ORR_TEST(realtime_messages_until_the_locks_are_granted_are_received)
{
    kit k;
    made = faults = compared = received = 0;
    orr_world* world = begin_forge(&k);
    KIT_SYSTEM(world, .name = "create", .pipeline = "A", .once = true, .run = create_one,
               .creates = "Steel", .creates_max = 1);
    KIT_SYSTEM(world, .name = "count", .pipeline = "A", .once = true, .query = "Steel",
               .run = count_made);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .pipeline = "B", .query = "Steel",
               .run = count_received);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 200}));
    CHECK(made > 20 && compared > 20);
    CHECK_EQ(faults, 0);
    kit_end(&k);
}

static void listen(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        const Coal* coal = orr_values(m, Coal);
        received_value = coal != NULL && m->count > 0 ? coal[m->count - 1].value : received_value;
    }
}

static void peek(orr_run* run)
{
    const Coal* coal = orr_read(run, Coal);
    faults += coal[run->count - 1].value != received_value;
    compared++;
}

/* N0-52 */
ORR_TEST(realtime_locks_are_released_after_data_is_written_and_others_are_informed)
{
    kit k;
    faults = compared = received_value = 0;
    orr_world* world = begin_forge(&k);
    KIT_SYSTEM(world, .name = "burn", .pipeline = "A", .query = "write Coal, write Steel",
               .run = burn);
    // Values and messages become visible at one moment, under the lock: a system that sees a value
    // has received its message.
    KIT_SYSTEM(world, .name = "listen", .kind = ORR_INDIRECT, .pipeline = "B", .query = "Coal",
               .run = listen);
    KIT_SYSTEM(world, .name = "peek", .pipeline = "B", .query = "Coal", .run = peek);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 200}));
    CHECK(received_value > 20 && compared > 20);
    CHECK_EQ(faults, 0);
    kit_end(&k);
}

// ---- turns --------------------------------------------------------------------------------------

static uint32_t turns_first, turns_last;

static void turns_note(orr_run* run)
{
    uint32_t turns = run->world->schedule->realtime->ticket;
    turns_first = run->tick == 1 ? turns : turns_first;
    turns_last = turns;
}

// Turns of one pipeline that finds all its locks free, in ten ticks.
static uint32_t turns_of_run(orr_recording* record)
{
    kit k;
    orr_world* world = kit_begin(&k, &(orr_world_desc){.rate_hz = 1000});
    ORR_REGISTER(world, Steel);
    KIT_SYSTEM(world, .name = "note", .once = true, .by_id = "Steel", .run = turns_note);
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.ticks = 11, .record = record}));
    kit_end(&k);
    return turns_last - turns_first;
}

// A spectator may hold the lock in a recorded run and not in its replay, or the other way round. So
// there a tick takes a new turn for each lock, granted at once or not.
ORR_TEST(realtime_free_lock_is_taken_without_a_new_turn_unless_recorded)
{
    CHECK_EQ(turns_of_run(NULL), 20); // To begin and prepare; and after the system.
    orr_recording* recording = orr_recording_create();
    CHECK(turns_of_run(recording) >= 30);
    orr_recording_destroy(recording);
}

// ---- lock sets as in the model of the locks -----------------------------------------------------

typedef struct taker {
    const char* name;
    uint32_t held, sets, commits;
    bool taking, commit, structure;
} taker;

// One line of the trace; `rest` follows the system's name.
static void taker_follow(taker* t, bool commit, const char* rest)
{
    bool structure = strncmp(rest, "registry ", 9) == 0 || strncmp(rest, "index ", 6) == 0;
    if (strstr(rest, " taken") != NULL) {
        if (!t->taking) {
            CHECK_EQ(t->held, 0); // A set is taken at once: nothing is held before.
            *t = (taker){.name = t->name, .sets = t->sets + 1, .commits = t->commits + commit};
        }
        t->taking = true;
        t->commit = commit;
        t->structure |= structure;
        CHECK(structure || !commit || strncmp(rest, "rows of cluster ", 16) == 0);
        t->held++;
        return;
    }
    if (t->taking) {
        // Every set contains structure. The set of a structural step contains nothing else.
        CHECK(t->structure);
    }
    t->taking = false;
    if (strstr(rest, " released") != NULL && (structure || strstr(rest, " of cluster ") != NULL)) {
        CHECK(t->held > 0);
        t->held--;
    }
}

static void takers_follow(taker takers[3])
{
    for (char* line = trace; *line != '\0'; line = strchr(line, '\n') + 1) {
        for (uint32_t i = 0; i < 3; i++) {
            char* name = strstr(line, takers[i].name);
            if (name != NULL && name < strchr(line, '\n')) {
                char* entry = name + strlen(takers[i].name);
                char text[128];
                snprintf(text, sizeof text, "%.*s", (int)(strchr(line, '\n') - entry), entry);
                const char* rest = strstr(text, ": ");
                CHECK(rest != NULL);
                taker_follow(&takers[i], strncmp(text, "commit: ", 8) == 0, rest + 2);
            }
        }
    }
}

static bool takers_seen(const taker takers[3])
{
    return takers[0].commits > 0 && takers[1].sets > 0 && takers[2].sets > 0;
}

static void forge_more(orr_run* run)
{
    orr_entity entity = orr_send_create(run);
    CHECK_OK(orr_send_add(run, entity, Coal, {run->tick}));
    CHECK_OK(orr_send_add(run, entity, Steel, {0}));
}

// The model searches sets that read structure or have it exclusively, and structural steps that
// take it exclusively and hold nothing else (test_lock_theory.c, "as in the library").
ORR_TEST(realtime_lock_sets_are_sets_of_the_model)
{
    kit k;
    orr_world* world = begin_forge(&k);
    taker takers[] = {{.name = " main, "}, {.name = " A, "}, {.name = " B, "}};
    KIT_SYSTEM(world, .name = "more", .once = true, .creates = "Coal, Steel", .creates_max = 1,
               .run = forge_more);
    KIT_SYSTEM(world, .name = "stoke", .kind = ORR_INDIRECT, .pipeline = "A",
               .query = "write Coal, Steel", .run = stoke);
    KIT_SYSTEM(world, .name = "melt", .pipeline = "B", .query = "write Iron, Coal, Steel",
               .run = nothing);
    // On a busy machine some pipelines do not tick in the first run; "more" runs in the first only.
    for (uint32_t round = 0; round < 200 && !takers_seen(takers); round++) {
        run_forge(world);
        takers_follow(takers);
    }
    CHECK(takers_seen(takers));
    kit_end(&k);
}
