// SPDX-License-Identifier: MIT
// The locks under a controlled scheduler: two to four holders on three resources, with upgrades and
// structural steps, in all schedules with at most three preemptions (as many as time allows), then
// with random priorities. A schedule fails if conflicting locks are held, a reader is admitted
// while an upgrade waits, a waiter is overtaken against the rules, a waiter is left that could be
// granted, or no thread can continue.
#include "lock/lock_kit.h"

#include "support/controlled.h"

enum {
    MODEL_HOLDERS = 4,
    MODEL_RESOURCES = 3, // 0 is PLAIN, 1 and 2 are LIVE.
    NONE = ORRI_LOCK_MODES,
};

typedef struct model_shape {
    const char* name;
    uint32_t holders;
    struct {
        uint8_t modes[MODEL_RESOURCES];
        uint8_t structure[MODEL_RESOURCES]; // Of the structural step after it; NONE: not taken.
        uint8_t rounds;
    } holder[MODEL_HOLDERS];
    bool follow; // Grants in the order of a log: holder 0 last of all.
} model_shape;

typedef struct model model;

typedef struct model_thread {
    model* of;
    uint32_t number;
    orri_lock_holder* holder;
} model_thread;

// A waiter for a set, as it was at the last check.
typedef struct model_wait {
    bool waits, closed;            // Closed: every holder it found has released.
    uint32_t arrived;              // 1 is the first.
    uint64_t found[MODEL_HOLDERS]; // Takes of the holders it found; 0: had no set, or released it.
} model_wait;

struct model {
    const model_shape* shape;
    orr_platform table;
    const orr_platform* scheduler;
    orri_env env;
    orri_locks* locks;
    model_thread threads[MODEL_HOLDERS];
    uint8_t holds[MODEL_HOLDERS][MODEL_RESOURCES]; // Modes granted to each holder.
    uint32_t value[MODEL_RESOURCES], writes[MODEL_RESOURCES];
    // At the last check: readers of the resources that an upgrade waits for.
    uint64_t readers[MODEL_HOLDERS][MODEL_RESOURCES];
    bool upgrading[MODEL_HOLDERS];
    model_wait wait[MODEL_HOLDERS];
    uint64_t takes[MODEL_HOLDERS];
    uint32_t arrivals;
};

static model* model_now;
static uint64_t model_passes; // In all schedules.

// Between two sections under the mutex no waiter can be granted. In a controlled schedule no other
// thread runs here, so the table can be checked.
static void model_check_queue(orri_locks* locks)
{
    if (locks->waiting == NULL || locks->mutex.word != 0 || locks->follow != NULL) {
        return;
    }
    uint64_t round = orri_lock_round(locks);
    for (orri_lock_holder* h = locks->waiting; h != NULL; h = h->next) {
        controlled_check(orri_lock_blocked(locks, h, round) < h->count,
                         "holder %u could be granted and is not", h->number);
        orri_lock_claim(locks, h, round);
    }
}

// Readers only leave while an upgrade waits. Between two sched points there is at most one section
// under the mutex, so at every point the readers are compared with those at the previous point.
static void model_check(model* m)
{
    for (uint32_t h = 0; m->locks != NULL && h < m->shape->holders; h++) {
        const orri_lock_holder* holder = m->threads[h].holder;
        bool now = holder != NULL && holder->state == ORRI_LOCK_UPGRADING &&
                   m->locks->follow == NULL;
        for (uint32_t i = 0; now && i < holder->count; i++) {
            uint32_t r = holder->set[i].resource;
            uint64_t readers = m->locks->slots[r].word & ORRI_LOCK_ANY(R);
            if (holder->set[i].mode == I) {
                controlled_check(!m->upgrading[h] || readers <= m->readers[h][r],
                                 "a reader of %u was admitted while holder %u waits to upgrade", r,
                                 h);
                m->readers[h][r] = readers;
            }
        }
        m->upgrading[h] = now;
    }
}

// By the meaning of the modes, not by the table's words.
static bool model_compatible(uint32_t a, uint32_t b)
{
    return a == NONE || b == NONE || (a == R && b != X) || (b == R && a != X);
}

static bool model_has(const orri_lock_holder* holder)
{
    return holder->state == ORRI_LOCK_HELD || holder->state == ORRI_LOCK_UPGRADING;
}

// True if one holds something that conflicts with what the other wants; `at_last`: or will conflict
// after the upgrade. `only_reads`: and it only reads what conflicts.
static bool model_blocks(const orri_lock_holder* has, const orri_lock_holder* wants, bool at_last,
                         bool* only_reads)
{
    bool off = false;
    *only_reads = true;
    for (uint32_t i = 0; model_has(has) && i < has->count; i++) {
        for (uint32_t j = 0; j < wants->count; j++) {
            uint32_t mode = orri_lock_mode_now(has, &has->set[i]);
            mode = at_last && mode == I ? X : mode;
            if (has->set[i].resource == wants->set[j].resource && mode != ORRI_LOCK_MODES &&
                !model_compatible(mode, wants->set[j].mode)) {
                off = true;
                *only_reads &= mode == R;
            }
        }
    }
    return off;
}

// A waiter for a set sees the holders it found leave. Once they are gone, no holder that came later
// is granted a lock that it waits for; before that only readers are. The section under the mutex
// since the last check may have made grants, which are judged by the table it left.
static void model_check_wait(model* m, uint32_t h, const bool* waited)
{
    model_wait* wait = &m->wait[h];
    const orri_lock_holder* me = m->threads[h].holder;
    bool before = wait->waits, reads, left = false;
    wait->waits = me->state == ORRI_LOCK_ASKING && m->locks->follow == NULL;
    if (!wait->waits) {
        return;
    }
    if (!before) {
        *wait = (model_wait){.waits = true, .arrived = ++m->arrivals};
    }
    for (uint32_t j = 0; j < m->shape->holders; j++) {
        const orri_lock_holder* other = m->threads[j].holder;
        uint64_t take = j != h && model_has(other) ? other->takes : 0;
        wait->found[j] = !before || wait->found[j] == take ? take : 0;
        left |= wait->found[j] != 0 && model_blocks(other, me, false, &reads);
    }
    wait->closed |= !left;
    for (uint32_t j = 0; before && j < m->shape->holders; j++) {
        const orri_lock_holder* other = m->threads[j].holder;
        bool later = !waited[j] || m->wait[j].arrived > wait->arrived;
        if (other->takes != m->takes[j] && later && model_blocks(other, me, true, &reads)) {
            controlled_check(reads && !wait->closed, "holder %u overtakes %u", j, h);
            model_passes++;
        }
    }
}

static void model_check_waits(model* m)
{
    bool waited[MODEL_HOLDERS];
    for (uint32_t h = 0; h < m->shape->holders; h++) {
        waited[h] = m->wait[h].waits;
        if (m->locks == NULL || m->threads[h].holder == NULL) {
            return; // Still being created.
        }
    }
    for (uint32_t h = 0; h < m->shape->holders; h++) {
        model_check_wait(m, h, waited);
    }
    for (uint32_t h = 0; h < m->shape->holders; h++) {
        m->takes[h] = m->threads[h].holder->takes;
    }
}

static void model_point(void* user, orr_sched_kind kind, const void* word)
{
    model_check(model_now);
    model_check_waits(model_now);
    if (model_now->locks != NULL) {
        model_check_queue(model_now->locks);
    }
    model_now->scheduler->sched_point(user, kind, word);
}

static void model_lock(model_thread* me, uint32_t resource, uint32_t mode)
{
    model* m = me->of;
    m->holds[me->number][resource] = (uint8_t)mode;
    for (uint32_t i = 0; i < m->shape->holders; i++) {
        controlled_check(i == me->number || model_compatible(mode, m->holds[i][resource]),
                         "resource %u: %u has it in mode %u, %u in mode %u", resource, me->number,
                         mode, i, m->holds[i][resource]);
    }
}

// Adds one to each value that it may write, in two steps with a sched point between.
static void model_write(model_thread* me, const orri_lock* set, uint32_t count, bool upgraded)
{
    model* m = me->of;
    uint32_t before[MODEL_RESOURCES];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t mode = upgraded && set[i].mode == I ? X : set[i].mode;
        if (!upgraded || set[i].mode == I) {
            model_lock(me, set[i].resource, mode);
        }
        before[i] = m->value[set[i].resource];
    }
    ORRI_SCHED_POINT(&m->table, ORR_SCHED_LOAD, &m->value);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t r = set[i].resource;
        if (upgraded ? set[i].mode == I : set[i].mode == X) {
            controlled_check(m->value[r] == before[i], "an update of %u is lost", r);
            m->value[r]++;
            m->writes[r]++;
        } else if (!upgraded && set[i].mode == R) {
            controlled_check(m->value[r] == before[i], "%u was written under a reader", r);
        }
    }
}

static void model_drop(model_thread* me, bool reads_only)
{
    for (uint32_t r = 0; r < MODEL_RESOURCES; r++) {
        uint8_t* mode = &me->of->holds[me->number][r];
        if (!reads_only || (*mode == R && r > 0)) {
            *mode = NONE;
        }
    }
}

static uint32_t model_set(const uint8_t* modes, orri_lock* out)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < MODEL_RESOURCES; r++) {
        if (modes[r] != NONE) {
            out[count++] = (orri_lock){r, modes[r]};
        }
    }
    return count;
}

static void model_run(void* arg)
{
    model_thread* me = arg;
    const model_shape* shape = me->of->shape;
    for (uint32_t round = 0; round < shape->holder[me->number].rounds; round++) {
        orri_lock set[MODEL_RESOURCES];
        uint32_t count = model_set(shape->holder[me->number].modes, set);
        orri_lock_take(me->holder, 0, set, count);
        model_write(me, set, count, false);
        model_drop(me, true);
        orri_lock_reads_end(me->holder);
        orri_lock_upgrade(me->holder);
        model_write(me, set, count, true);
        model_drop(me, false);
        orri_lock_release(me->holder);
        count = model_set(shape->holder[me->number].structure, set);
        if (count > 0) {
            orri_lock_take(me->holder, 0, set, count);
            model_write(me, set, count, false);
            model_drop(me, false);
            orri_lock_release(me->holder);
        }
    }
}

static void model_log(void* user, const orr_log_line* line)
{
    (void)user;
    controlled_check(false, "%s", line->text);
}

static void model_make(model* m)
{
    uint32_t first;
    m->locks = orri_locks_create(&m->env);
    controlled_check(orri_locks_add(m->locks, 1, ORRI_LOCK_PLAIN, &first) == ORR_OK &&
                         orri_locks_add(m->locks, 2, ORRI_LOCK_LIVE, &first) == ORR_OK,
                     "no table");
    memset(m->holds, NONE, sizeof m->holds);
    controlled_name(&m->locks->mutex.word, "mutex");
    for (uint32_t i = 0; i < m->shape->holders; i++) {
        m->threads[i].of = m;
        m->threads[i].number = i;
        controlled_check(orri_lock_holder_create(m->locks, i, &m->threads[i].holder) == ORR_OK,
                         "no holder");
        controlled_name_at(&m->threads[i].holder->word, "holder", i);
    }
}

static void model_body(const orr_platform* platform, void* arg)
{
    model m = {.shape = arg, .scheduler = platform, .table = *platform};
    model_now = &m;
    m.table.sched_point = model_point;
    orri_env_init(&m.env, &m.table, NULL, 0, &(orr_log_desc){.sink = model_log});
    model_make(&m);
    // A take and an upgrade each, the last holder first.
    uint32_t turns[2 * MODEL_HOLDERS];
    orri_lock_log log = {.grants = turns};
    for (uint32_t i = m.shape->holders; m.shape->follow && i > 0; i--) {
        turns[log.count++] = (i - 1) << 1;
        turns[log.count++] = (i - 1) << 1 | 1;
    }
    if (m.shape->follow) {
        orri_locks_follow(m.locks, &log);
    }
    orr_thread threads[MODEL_HOLDERS];
    for (uint32_t i = 1; i < m.shape->holders; i++) {
        threads[i] = controlled_start(platform, "holder", model_run, &m.threads[i]);
    }
    model_run(&m.threads[0]);
    for (uint32_t i = 1; i < m.shape->holders; i++) {
        controlled_join(platform, threads[i]);
    }
    for (uint32_t r = 0; r < MODEL_RESOURCES; r++) {
        controlled_check(m.value[r] == m.writes[r], "%u of %u updates", m.value[r], m.writes[r]);
    }
    controlled_check(orri_locks_follow_end(m.locks) == ORR_OK, "not followed");
    controlled_check(orri_locks_validate(m.locks) == ORR_OK, "%s", m.env.error_text);
    controlled_check(m.locks->waiting == NULL, "a waiter is left in the queue");
    orri_locks_destroy(m.locks);
}

#define NOTHING          \
    {                    \
        NONE, NONE, NONE \
    }

static const model_shape shapes[] = {
    {"two writers", 2, {{{R, X, NONE}, NOTHING, 2}, {{R, X, NONE}, NOTHING, 2}}, false},
    {"upgrade beside readers",
     3,
     {{{R, I, NONE}, NOTHING, 1}, {{R, R, NONE}, NOTHING, 1}, {{R, R, NONE}, NOTHING, 1}},
     false},
    {"two groups, each reads what the other writes",
     2,
     {{{R, I, R}, NOTHING, 2}, {{R, R, I}, NOTHING, 2}},
     false},
    {"groups and structure",
     2,
     {{{R, I, R}, {X, NONE, NONE}, 1}, {{R, R, I}, {X, NONE, NONE}, 1}},
     false},
    {"one releases three",
     4,
     {{{X, X, X}, NOTHING, 1},
      {{R, R, NONE}, NOTHING, 1},
      {{R, NONE, X}, NOTHING, 1},
      {{R, R, NONE}, NOTHING, 1}},
     false},
    {"sets that cross",
     3,
     {{{NONE, X, X}, NOTHING, 1}, {{X, X, NONE}, NOTHING, 1}, {{X, NONE, X}, NOTHING, 1}},
     false},
    {"three groups and structure",
     3,
     {{{R, I, R}, {X, NONE, NONE}, 1}, {{R, R, I}, {X, X, NONE}, 1}, {{R, R, R}, {X, NONE, X}, 1}},
     false},
    {"upgrade, readers and a queued reader",
     4,
     {{{NONE, I, NONE}, NOTHING, 1},
      {{NONE, R, NONE}, NOTHING, 1},
      {{NONE, NONE, X}, NOTHING, 1},
      {{NONE, R, R}, NOTHING, 1}},
     false},
    {"four of all kinds",
     4,
     {{{R, X, R}, NOTHING, 1},
      {{R, NONE, I}, {X, NONE, NONE}, 1},
      {{R, R, NONE}, NOTHING, 1},
      {{NONE, I, R}, NOTHING, 1}},
     false},
    {"a reader overtakes a commit",
     3,
     {{{R, NONE, NONE}, NOTHING, 1}, {{X, NONE, NONE}, NOTHING, 1}, {{R, NONE, NONE}, NOTHING, 1}},
     false},
    {"readers pass a commit",
     4,
     {{{R, NONE, NONE}, NOTHING, 1},
      {{R, NONE, NONE}, NOTHING, 2},
      {{X, NONE, NONE}, NOTHING, 1},
      {{R, X, NONE}, NOTHING, 1}},
     false},
    {"readers pass a writer and stop at an upgrade",
     4,
     {{{R, I, R}, NOTHING, 1},
      {{R, NONE, R}, NOTHING, 2},
      {{NONE, NONE, X}, NOTHING, 1},
      {{X, NONE, R}, NOTHING, 1}},
     false},
    {"inclusive behind a reader of two",
     3,
     {{{NONE, R, R}, NOTHING, 1}, {{NONE, I, NONE}, NOTHING, 1}, {{NONE, NONE, I}, NOTHING, 1}},
     false},
    {"three in the order of a log",
     3,
     {{{R, I, NONE}, NOTHING, 1}, {{R, R, I}, NOTHING, 1}, {{R, I, R}, NOTHING, 1}},
     true},
};

static uint64_t model_explore(controlled_strategy strategy, uint64_t schedules)
{
    uint64_t all = 0;
    model_passes = 0;
    for (uint32_t i = 0; i < ORRI_COUNT(shapes); i++) {
        controlled_result result =
            controlled_explore(&(controlled_desc){.name = shapes[i].name,
                                                  .body = model_body,
                                                  .arg = (void*)(uintptr_t)&shapes[i],
                                                  .strategy = strategy,
                                                  .preemptions_max = 3,
                                                  .schedules_max = schedules});
        CONTROLLED_PASS(result);
        printf("  %-46s %8" PRIu64 " schedules, %8" PRIu64 " distinct%s\n", shapes[i].name,
               result.schedules, result.distinct, result.exhausted ? ", all there are" : "");
        all += result.schedules;
    }
    printf("  %" PRIu64 " schedules, %" PRIu64 " times overtaken\n", all, model_passes);
    CHECK(model_passes > 0 || test_slow()); // A few schedules by depth do not reach it.
    return all;
}

// `--long` runs ten million schedules of both kinds together.
static uint64_t model_share(uint64_t fast, uint64_t slow, uint64_t most)
{
    return test_long() && !test_slow() ? most : test_slow() ? slow : fast;
}

/* N0-57 */
ORR_TEST(locks_in_all_schedules_of_three_preemptions_are_correct)
{
    uint64_t all = model_explore(CONTROLLED_DEPTH_FIRST, model_share(40000, 1500, 1000000));
    CHECK(all >= model_share(100000, 10000, 4000000));
}

ORR_TEST(locks_with_random_priorities_are_correct)
{
    uint64_t all = model_explore(CONTROLLED_PRIORITIES, model_share(20000, 1000, 700000));
    CHECK(all >= model_share(100000, 10000, 6000000));
}
