// SPDX-License-Identifier: MIT
// The lock table compared with its model (lock_theory_kit.h): up to four systems take random sets,
// release reads, upgrade and release, in random order. After each step the holders, the queue and
// the blockers must equal one of the model's successors. So the code behaves as the model that is
// searched.
#include "lock/lock_realm_kit.h"

#include "lock/lock_detail.h"
#include "support/fake_platform.h"

typedef struct agree {
    fake_platform fake;
    orri_env env;
    orri_locks* locks;
    orri_lock_holder* h[SYSTEMS];
    orri_lock sets[SYSTEMS][RESOURCES];
    uint64_t waits, passes;
} agree;

static uint32_t any_below(uint32_t count)
{
    return (uint32_t)(test_random() % count);
}

static void agree_begin(agree* a, uint32_t plain)
{
    uint32_t first;
    fake_platform_init(&a->fake);
    orri_env_init(&a->env, &a->fake.table, NULL, 0, NULL);
    a->locks = orri_locks_create(&a->env);
    for (uint32_t r = 0; r < RESOURCES; r++) {
        CHECK_OK(
            orri_locks_add(a->locks, 1, plain >> r & 1 ? ORRI_LOCK_PLAIN : ORRI_LOCK_LIVE, &first));
        CHECK_EQ(first, r);
    }
    for (uint32_t i = 0; i < SYSTEMS; i++) {
        CHECK_OK(orri_lock_holder_create(a->locks, i, &a->h[i]));
    }
}

// The call that corresponds to the model's step from this node.
static void agree_act(agree* a, uint32_t system, const node* at)
{
    orri_lock_holder* holder = a->h[system];
    uint32_t count = 0;
    switch (at->kind) {
    case OP_TAKE:
        for (uint32_t r = 0; r < RESOURCES; r++) {
            if (mode_of(at->wanted, r) != N) {
                a->sets[system][count++] = (orri_lock){r, mode_of(at->wanted, r) - R};
            }
        }
        a->waits += !orri_lock_ask(holder, 0, a->sets[system], count);
        break;
    case OP_READS_END:
        orri_lock_reads_end(holder);
        break;
    case OP_UPGRADE:
        a->waits += !orri_lock_upgrade_ask(holder);
        break;
    default:
        orri_lock_release(holder);
    }
}

// The locks of a holder, as a set of the model.
static uint32_t agree_held(const orri_lock_holder* holder)
{
    uint32_t set = 0;
    bool has = holder->state == ORRI_LOCK_HELD || holder->state == ORRI_LOCK_UPGRADING;
    for (uint32_t i = 0; has && i < holder->count; i++) {
        uint32_t mode = orri_lock_mode_now(holder, &holder->set[i]);
        set |= (mode == ORRI_LOCK_MODES ? (uint32_t)N : mode + R) << (2 * holder->set[i].resource);
    }
    return set;
}

static bool agree_is(const agree* a, const state* s)
{
    uint32_t place = 0;
    for (const orri_lock_holder* h = a->locks->waiting; h != NULL; h = h->next, place++) {
        if (place >= s->waiting || s->queue[place] != h->number ||
            (s->older[h->number] != 0) != (h->blocker != NULL)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < SYSTEMS; i++) {
        if (held_of(s, i) != agree_held(a->h[i])) {
            return false;
        }
    }
    return place == s->waiting;
}

static state agree_step(agree* a, const state* before)
{
    state s = *before;
    uint32_t system = any_below(SYSTEMS);
    while (waits(&s, system)) {
        system = (system + 1) % SYSTEMS;
    }
    if (kind_of(&s, system) == OP_IDLE) {
        s.at[system] = m.first[any_below(m.to[system])];
    }
    a->fake.now_ns += any_below(100);
    agree_act(a, system, &m.nodes[s.at[system]]);
    step(&s, system);
    a->passes += m.out_count > 1;
    uint32_t k = 0;
    while (k < m.out_count && !agree_is(a, &m.out[k])) {
        k++;
    }
    CHECK(k < m.out_count);
    for (uint32_t i = 0; i < SYSTEMS; i++) {
        if (!waits(&m.out[k], i)) {
            CHECK(orri_lock_ready(a->h[i]));
            orri_lock_wait(a->h[i]);
        }
    }
    return m.out[k];
}

ORR_TEST(table_behaves_as_its_model)
{
    uint64_t waited = 0, passes = 0;
    for (uint32_t round = 0; round < test_rounds(1000, 40, 100000); round++) {
        agree a = {0};
        realm of = {"any", SYSTEMS, RESOURCES, round % 8, REALM_ANY};
        realm_make(&of, OVERTAKE_BOUNDED);
        agree_begin(&a, of.plain);
        state s = {0};
        for (uint32_t i = 0; i < 200; i++) {
            s = agree_step(&a, &s);
        }
        CHECK_OK(orri_locks_validate(a.locks));
        for (uint32_t k = 0; k < SYSTEMS; k++) { // Each holder releases, which grants the next one.
            for (uint32_t i = 0; i < SYSTEMS; i++) {
                if (a.h[i]->state == ORRI_LOCK_HELD) {
                    orri_lock_wait(a.h[i]);
                    orri_lock_release(a.h[i]);
                }
            }
        }
        waited += a.waits;
        passes += a.passes;
        orri_locks_destroy(a.locks);
    }
    printf("  %" PRIu64 " waits, %" PRIu64 " times a waiter could be overtaken\n", waited, passes);
    CHECK(passes > waited / 100);
}
