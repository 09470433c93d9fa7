// SPDX-License-Identifier: MIT
// Several threads iterate one query concurrently. Also run under TSan, which checks the bookkeeping
// of iterations, of descs on first use, and of stamps.
#include "query_kit.h"
#include "test.h"
#include <errno.h>

#define THREADS  4u
#define CLUSTERS 48u
#define PASSES   6u
#define TICKS    12u

ORR_STRUCT_EX(Collider, (.multiplicity = ORR_MULTIPLE), (float, radius))

static _Atomic uint32_t threads_ready; // Start barrier, so that all threads overlap.

typedef struct threads_task {
    orr_query* query;
    uint32_t number;
    void (*run)(struct threads_task* task);
    orr_query** user;
    uint64_t since;
    uint64_t rows, sum;
} threads_task;

static void threads_main(void* data)
{
    threads_task* task = data;
    threads_ready++;
    while (threads_ready < THREADS) {
        orr_platform_default()->thread_yield(NULL);
    }
    task->run(task);
}

// Runs a function on all threads concurrently, each with its own task; all receive the task data of
// the first.
static void threads_run(orr_query* query, void (*run)(threads_task*), threads_task* tasks)
{
    const orr_platform* platform = orr_platform_default();
    orr_thread threads[THREADS];
    threads_ready = 0;
    orr_tick_advance(orr_query_world(query)); // So that every written block is stamped.
    for (uint32_t t = 0; t < THREADS; t++) {
        tasks[t] = (threads_task){.query = query,
                                  .number = t,
                                  .run = run,
                                  .user = tasks[0].user,
                                  .since = tasks[0].since};
        if (platform->thread_create(NULL, "query", threads_main, &tasks[t], &threads[t]) ==
            ENOTSUP) {
            test_skip("built without threads");
        }
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        platform->thread_join(NULL, threads[t]);
    }
}

// Clusters of all sizes: from 1 row to more than one chunk.
static void threads_fill(orr_world* world)
{
    for (orr_tag tag = 1; tag <= CLUSTERS; tag++) {
        orr_type types[] = {KIT_TYPE(world, Position), KIT_TYPE(world, Velocity),
                            KIT_TYPE(world, Health)};
        orr_cluster cluster = kit_cluster(world, types, tag % 3 == 0 ? 3 : 2, &tag, 1);
        uint32_t rows = tag % 8 == 0 ? 5000 : (uint32_t)tag * 7;
        CHECK_OK(orr_create_many(world, cluster, rows, NULL, 0, NULL));
    }
}

static uint64_t threads_share(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)user;
    return kit_info(world, cluster).tags[0] % THREADS;
}

static void threads_move(orr_iter* it, threads_task* task)
{
    Position* p = orr_write(it, Position);
    const Velocity* v = orr_read(it, Velocity);
    for (uint32_t i = 0; i < it->count; i++) {
        p[i].x += v[i].x + (float)(i & 7);
        p[i].z += 1;
    }
    task->rows += it->count;
}

static void threads_move_share(threads_task* task)
{
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        ORR_EACH_OF (it, task->query, .only_group = true, .group = task->number) {
            threads_move(&it, task);
        }
    }
}

static orr_query* threads_query(orr_world* world)
{
    orr_query* query = orr_query_create(
        world, &(orr_query_desc){ORR_TERMS(ORR_W(world, Position), ORR_R(world, Velocity)),
                                 .group_by = threads_share});
    CHECK(query != NULL);
    return query;
}

ORR_TEST(clusters_of_one_query_written_by_several_threads_equal_one_thread) /* N1-20 */
{
    kit parallel = {0}, serial = {0};
    orr_world* world = kit_begin(&parallel, NULL);
    threads_fill(world);
    threads_task tasks[THREADS] = {{0}};
    threads_run(threads_query(world), threads_move_share, tasks);

    orr_world* other = kit_begin(&serial, NULL);
    threads_fill(other);
    orr_query* query = threads_query(other);
    orr_tick_advance(other);
    for (uint32_t t = 0; t < THREADS; t++) {
        threads_task alone = {.query = query, .number = t};
        threads_move_share(&alone);
        CHECK_EQ(alone.rows, tasks[t].rows);
        CHECK(alone.rows > 0);
    }
    CHECK_EQ(orr_world_hash(world), orr_world_hash(other));
    CHECK(orr_create(world).id != 0); // No iteration is open.
    kit_end(&serial);
    kit_end(&parallel);
}

// All rows, in nested iterations; some loops are left half-way.
static void threads_read_all(threads_task* task)
{
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        ORR_EACH (outer, task->query) {
            task->rows += outer.count;
            const Velocity* v = orr_read(&outer, Velocity);
            for (uint32_t i = 0; i < outer.count; i++) {
                task->sum += (uint64_t)v[i].y;
            }
            ORR_EACH (inner, task->query) {
                task->sum += orr_iter_entity(&inner, 0).id != 0;
                break;
            }
        }
        task->sum += orr_query_count(task->query);
    }
}

ORR_TEST(readers_of_one_query_do_not_disturb_each_other)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    threads_fill(world);
    orr_query* query = threads_query(world);
    threads_task tasks[THREADS] = {{0}}, alone = {.query = threads_query(world)};
    threads_run(query, threads_read_all, tasks);
    threads_read_all(&alone);
    CHECK_EQ(alone.rows, PASSES * orr_query_count(query));
    for (uint32_t t = 0; t < THREADS; t++) {
        CHECK_EQ(tasks[t].rows, alone.rows);
        CHECK_EQ(tasks[t].sum, alone.sum);
    }
    CHECK_OK(orr_query_destroy_entities(query));
    kit_end(&k);
}

// A run lies within one chunk, so threads may share the chunks of one cluster.
static void threads_move_chunks(threads_task* task)
{
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        uint32_t run = 0;
        ORR_EACH (it, task->query) {
            orr_platform_default()->thread_yield(
                NULL); // The others write meanwhile, even on one core.
            if (run++ % THREADS == task->number) {
                Position* p = orr_write(&it, Position);
                for (uint32_t i = 0; i < it.count; i++) {
                    p[i].x += 1;
                }
                task->rows += it.count;
            }
        }
    }
}

ORR_TEST(chunks_of_one_cluster_are_written_by_several_threads) /* N1-20 */
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    uint32_t rows = 9 * ORR_CHUNK_CAPACITY + 100;
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position, Collider), rows, NULL, 0, NULL));
    orr_query* query = orr_query_create(
        world, &(orr_query_desc){ORR_TERMS(ORR_W(world, Position), ORR_R(world, Collider))});
    threads_task tasks[THREADS] = {{0}};
    for (uint32_t tick = 0; tick < TICKS; tick++) { // A race of stamps shows in some ticks only.
        threads_run(query, threads_move_chunks, tasks);
        uint64_t moved = 0;
        for (uint32_t t = 0; t < THREADS; t++) {
            moved += tasks[t].rows;
        }
        CHECK_EQ(moved, (uint64_t)rows * PASSES);
    }
    ORR_EACH (it, query) {
        const Position* p = orr_read(&it, Position);
        for (uint32_t i = 0; i < it.count; i++) {
            CHECK_EQ(p[i].x, TICKS * PASSES);
        }
    }
    kit_end(&k);
}

// Thread 0 writes Position. The others search for changes of Health, which no thread writes.
static void threads_write_or_search(threads_task* task)
{
    orr_query** queries = task->user;
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        orr_platform_default()->thread_yield(NULL);
        if (task->number == 0) {
            ORR_EACH (it, queries[0]) {
                threads_move(&it, task);
            }
        } else {
            ORR_EACH_OF (it, queries[1], .since = task->since) {
                task->rows += it.count;
            }
        }
    }
}

ORR_TEST(readers_of_changes_and_a_writer_of_another_type_run_concurrently)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    threads_fill(world);
    orr_query* queries[2] = {threads_query(world), orr_query_text(world, "changed Health")};
    CHECK(queries[1] != NULL);
    orr_entity hurt = orr_query_first(queries[1]);
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        uint64_t since = orr_change_mark(world);
        orr_edit(world, hurt, Health)->value = (int32_t)tick;
        threads_task tasks[THREADS] = {{.user = queries, .since = since}};
        threads_run(queries[0], threads_write_or_search, tasks);
        for (uint32_t t = 1; t < THREADS; t++) {
            CHECK_EQ(tasks[t].rows, PASSES * kit_rows(world, orr_entity_cluster(world, hurt)));
        }
    }
    kit_end(&k);
}

// ---- writes concurrent with a reader of changes -------------------------------------------------

#define LOST_ROUNDS 4000u

typedef struct threads_concurrent {
    orr_query* reader;
    _Atomic uint32_t asked, done;
    _Atomic bool stop;
} threads_concurrent;

// Searches for changes of another type each time, while deferred stamps are applied.
static void threads_search(void* data)
{
    threads_concurrent* b = data;
    for (uint32_t round = 0; !b->stop;) {
        if (b->asked == round) {
            orr_platform_default()->thread_yield(NULL);
            continue;
        }
        ORR_EACH (it, b->reader) {
            CHECK(it.count > 0);
        }
        b->done = ++round;
    }
}

ORR_TEST(write_concurrent_with_a_reader_of_changes_is_never_lost)
{
    query_kit k;
    query_kit_begin(&k);
    orr_cluster cluster = KIT_CLUSTER(k.world, Position);
    CHECK_OK(orr_create_many(k.world, cluster, 4, NULL, 0, NULL));
    CHECK_OK(orr_create_many(k.world, KIT_CLUSTER(k.world, Velocity), 1, NULL, 0, NULL));
    orr_query* writer = orr_query_text(k.world, "write Position");
    threads_concurrent b = {.reader = orr_query_text(k.world, "changed Velocity")};
    orr_thread thread;
    if (orr_platform_default()->thread_create(NULL, "look", threads_search, &b, &thread) ==
        ENOTSUP) {
        test_skip("built without threads");
    }
    uint32_t lost = 0;
    for (uint32_t round = 1; round <= LOST_ROUNDS; round++) {
        orr_tick_advance(k.world);
        ORR_EACH (it, writer) {
            (void)orr_write(&it, Position);
        }
        orr_tick_advance(k.world);
        b.asked = round;
        for (volatile uint32_t wait = 0; wait < round * 7 % 80; wait++) {
        }
        ORR_EACH (it, writer) {
            orr_write(&it, Position)[0].x = (float)round;
        }
        while (b.done != round) {
            orr_platform_default()->thread_yield(NULL);
        }
        lost += orr_column_tick(k.world, cluster, 0, k.types[0]) != orr_world_tick(k.world);
    }
    b.stop = true;
    orr_platform_default()->thread_join(NULL, thread);
    CHECK_EQ(lost, 0);
    query_kit_end(&k);
}

#undef LOST_ROUNDS
