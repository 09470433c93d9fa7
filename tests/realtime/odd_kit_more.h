// SPDX-License-Identifier: MIT
// More parts (odd_kit.h): orders, references, transactions, exports, readers, atomic sections,
// workers, systems that are enabled and disabled, live types.
#ifndef TEST_ODD_KIT_MORE_H
#define TEST_ODD_KIT_MORE_H

#include "realtime/odd_kit.h"

// ---- orders, loops, references, singletons ------------------------------------------------------

ORR_STRUCT(Depth, (float, z), (uint32_t, tick))
ORR_STRUCT(Parent,
           (orr_entity, of, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_DESTROY)))
ORR_STRUCT(Gravity, (uint64_t, g), (uint64_t, twice))
ORR_STRUCT(Mass, (uint32_t, m))

static void depth_write(orr_run* run)
{
    Depth* d = orr_write(run, Depth);
    for (uint32_t i = 0; i < run->count; i++) {
        d[i].z = (float)(orr_run_random(run, orr_iter_entity(run, i)) % 1000);
        d[i].tick = (uint32_t)run->tick;
    }
}

static void depth_ordered(orr_run* run)
{
    orr_query* const* query = orr_run_settings(run);
    float last = -1;
    uint32_t tick = 0;
    Sum* s = orr_state(run, Sum);
    ORR_EACH (it, *query) {
        const Depth* d = orr_read(&it, Depth);
        for (uint32_t i = 0; i < it.count; i++) {
            ODD_CHECK(d[i].z >= last, "the order is wrong: %g after %g", (double)d[i].z,
                      (double)last);
            ODD_CHECK(tick == 0 || d[i].tick == 0 || d[i].tick == tick,
                      "values of two ticks are seen");
            last = d[i].z;
            tick = d[i].tick != 0 ? d[i].tick : tick;
            s->sum = s->sum * 31 + (uint64_t)d[i].z;
        }
    }
}

static void depth_cross(orr_run* run)
{
    orr_query* const* query = orr_run_settings(run);
    Mass* m = orr_write(run, Mass);
    ORR_CROSS_RUN(pair, run, *query, ORR_PAIRS_ORDERED)
    {
        const Depth* d = orr_read(&pair.right, Depth);
        for (uint32_t j = 0; j < pair.right.count; j++) {
            m[0].m = m[0].m * 31 + (uint32_t)d[j].z;
        }
    }
}

static void depth_each(orr_run* run)
{
    orr_query* const* query = orr_run_settings(run);
    Sum* s = orr_state(run, Sum);
    orr_reader reader = orr_reader_make(run->world, orr_type_of(run->world, ORR_TYPE(Depth)));
    ORR_EACH (it, *query) {
        const Depth* d = orr_read(&it, Depth);
        for (uint32_t i = 0; i < it.count; i++) {
            const Depth* one = orr_get(run->world, orr_iter_entity(&it, i), Depth);
            const Depth* two = orr_reader_get(&reader, orr_iter_entity(&it, i));
            ODD_CHECK(one != NULL && one->z == d[i].z, "the value read by id differs");
            ODD_CHECK(two != NULL && two->z == d[i].z, "the value read by a reader differs");
            s->sum = s->sum * 31 + (uint64_t)d[i].z;
        }
    }
    const Gravity* g = orr_singleton(run->world, Gravity);
    ODD_CHECK(g == NULL || g->twice == 2 * g->g, "a singleton is torn");
    s->rows += g != NULL ? g->g : 0;
}

static void depth_gravity(orr_run* run)
{
    Gravity* g = orr_write(run, Gravity);
    g[0].g = run->tick;
    g[0].twice = 2 * run->tick;
}

static orr_query* depth_queries[3]; // Queries of one world at a time.

static void part_orders(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Depth, Gravity, Mass, Core);
    odd_core(world);
    for (uint32_t i = 0; i < ODD_ROWS; i++) {
        orr_set(world, odd_entity(world, i), Depth, {0, 0});
        if (i < 3) {
            orr_set(world, odd_entity(world, i), Mass, {0});
        }
    }
    orr_set(world, orr_world_entity(world), Gravity, {0, 0});
    depth_queries[0] =
        orr_query_create(world, &(orr_query_desc){.text = "Depth", .order_by = "Depth.z"});
    depth_queries[1] = orr_query_text(world, "Depth");
    depth_queries[2] = orr_query_text(world, "Depth, Core");
    ODD_SYSTEM(world, .name = "depth_write", .pipeline = p.a, .query = "write Depth",
               .run = depth_write);
    ODD_SYSTEM(world, .name = "depth_gravity", .pipeline = p.a, .query = "write Gravity",
               .run = depth_gravity);
    ODD_SYSTEM(world, .name = "depth_ordered", .pipeline = p.b, .once = true, .by_id = "Depth",
               .alone = true, .state = ORR_TYPE(Sum), .settings = &depth_queries[0],
               .run = depth_ordered);
    ODD_SYSTEM(world, .name = "depth_cross", .pipeline = p.b, .query = "write Mass",
               .by_id = "Depth", .settings = &depth_queries[1], .run = depth_cross);
    ODD_SYSTEM(world, .name = "depth_each", .pipeline = p.c, .once = true,
               .by_id = "Depth, Core, Gravity", .state = ORR_TYPE(Sum),
               .settings = &depth_queries[2], .run = depth_each);
}

static void parent_change(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        uint64_t dice = orr_run_random(run, entity);
        const Parent* parent = orr_get(run->world, entity, Parent);
        if (dice % 8 == 0 && parent == NULL) {
            orr_entity child = orr_send_create(run);
            orr_send_add(run, child, Parent, {entity});
        } else if (dice % 8 == 1 && parent != NULL) {
            orr_send_change(run, entity, Parent, {{0}});
        } else if (dice % 16 == 2 && parent != NULL) {
            orr_send_destroy(run, entity);
        }
    }
}

static void parent_look(orr_run* run)
{
    Sum* s = orr_state(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i), out[8];
        uint32_t count = orr_referrers_get(run->world, entity,
                                           orr_type_of(run->world, ORR_TYPE(Parent)), "of", out, 8);
        s->sum = s->sum * 31 + count;
        for (uint32_t k = 0; k < count && k < 8; k++) {
            ODD_CHECK(orr_alive(run->world, out[k]), "a dead entity is among the referrers");
        }
    }
}

static void part_references(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Parent, Core);
    odd_core(world);
    ODD_SYSTEM(world, .name = "parent_change", .pipeline = p.a, .query = "Parent|Core",
               .by_id = "Parent", .creates = "Parent", .creates_max = 64, .changes = "Parent",
               .destroys = "Parent, !Core", .run = parent_change);
    ODD_SYSTEM(world, .name = "parent_look", .pipeline = p.b, .query = "Core", .by_id = "Parent",
               .state = ORR_TYPE(Sum), .run = parent_look);
}

// ---- transactions -------------------------------------------------------------------------------

ORR_STRUCT(Purse, (int64_t, gold), (int64_t, owned))
ORR_STRUCT_EX(Chest, (.live = true), (int64_t, gold))
ORR_STRUCT(Well, (int64_t, gold))
static _Atomic int64_t odd_gold[3];

static void purse_own(orr_run* run)
{
    Purse* p = orr_write(run, Purse);
    Chest* c = orr_write(run, Chest);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].owned++;
        c[i].gold = c[i].gold + 0;
    }
}

static void purse_read(orr_run* run)
{
    const Purse* p = orr_read(run, Purse);
    const Chest* c = orr_read(run, Chest);
    const Well* w = orr_read(run, Well);
    Sum* s = orr_state(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        s->sum = s->sum * 31 + (uint64_t)(p[i].gold + c[i].gold + w[i].gold);
    }
}

static void purse_double(const orr_world* world, orr_entity target, void* value,
                         const void* argument, uint32_t size)
{
    (void)world, (void)size;
    (void)target;
    ((Well*)value)->gold += *(const int64_t*)argument;
}

static void purse_pay(orr_run* run)
{
    const Core* c = orr_read(run, Core);
    (void)c;
    int64_t sum = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        int64_t amount = (int64_t)(orr_run_random(run, entity) % 10);
        orr_transact(run, ORR_OP_ADD, entity, Purse, gold, amount);
        orr_transact(run, ORR_OP_ADD, entity, Chest, gold, amount);
        orr_transact_call(run, entity, orr_type_of(run->world, ORR_TYPE(Well)), 0, purse_double,
                          &amount, sizeof amount);
        sum += amount;
    }
    if (run->tick % 4 == 0) {
        orr_entity fresh = orr_send_create(run);
        orr_send_add_preset(run, fresh, Purse);
        orr_send_add_preset(run, fresh, Chest);
        orr_send_add_preset(run, fresh, Well);
        orr_transact(run, ORR_OP_ADD, fresh, Purse, gold, 1);
        orr_transact(run, ORR_OP_ADD, fresh, Chest, gold, 1);
        orr_transact(run, ORR_OP_ADD, fresh, Well, gold, 1);
        sum++;
    }
    for (uint32_t i = 0; i < 3; i++) {
        atomic_fetch_add(&odd_gold[i], sum);
    }
}

static void part_transactions(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Purse, Chest, Well, Core);
    odd_core(world);
    for (uint32_t i = 0; i < ODD_ROWS; i++) {
        orr_set(world, odd_entity(world, i), Purse, {0, 0});
        orr_set(world, odd_entity(world, i), Chest, {0});
        orr_set(world, odd_entity(world, i), Well, {0});
    }
    for (uint32_t i = 0; i < 3; i++) {
        atomic_store(&odd_gold[i], 0);
    }
    ODD_SYSTEM(world, .name = "purse_own", .pipeline = p.a, .query = "write Purse, write Chest",
               .run = purse_own);
    ODD_SYSTEM(world, .name = "purse_read", .pipeline = p.b, .query = "Purse, Chest, Well",
               .state = ORR_TYPE(Sum), .run = purse_read);
    ODD_SYSTEM(world, .name = "purse_pay", .pipeline = p.c, .query = "Core",
               .transacts = "Purse, Chest, Well", .creates = "Purse, Chest, Well", .creates_max = 2,
               .parallel = true, .run = purse_pay);
    ODD_SYSTEM(world, .name = "purse_pay_too", .pipeline = p.b, .query = "Core",
               .transacts = "Purse, Chest, Well", .creates = "Purse, Chest, Well", .creates_max = 2,
               .run = purse_pay);
}

ORR_MAYBE_UNUSED static void odd_count_gold(orr_world* world)
{
    if (orr_system_find(world, "purse_pay").id == 0) {
        return;
    }
    int64_t sums[3] = {0};
    orr_query* query = orr_query_text(world, "Purse, Chest, Well");
    ORR_EACH (it, query) {
        for (uint32_t i = 0; i < it.count; i++) {
            sums[0] += orr_read(&it, Purse)[i].gold;
            sums[1] += orr_read(&it, Chest)[i].gold;
            sums[2] += orr_read(&it, Well)[i].gold;
        }
    }
    orr_query_destroy(query);
    for (uint32_t i = 0; i < 3; i++) {
        ODD_CHECK(sums[i] == atomic_load(&odd_gold[i]), "gold of type %u: %lld of %lld", i,
                  (long long)sums[i], (long long)atomic_load(&odd_gold[i]));
    }
}

// ---- exports ------------------------------------------------------------------------------------

static void total_add(void* into, const void* part)
{
    Sum* a = into;
    const Sum* b = part;
    a->rows += b->rows;
    a->sum += b->sum;
}

static void total_make(orr_run* run)
{
    const Core* c = orr_read(run, Core);
    Sum* s = orr_export(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        s->sum += c[i].number * run->tick;
        s->rows += run->tick;
    }
}

static void total_read(orr_run* run)
{
    const Sum* s = orr_import(run, "total_make", Sum);
    Sum* own = orr_state(run, Sum);
    ODD_CHECK(s->rows % ODD_ROWS == 0, "half an export: %u", (unsigned)s->rows);
    ODD_CHECK(s->sum == s->rows / ODD_ROWS * (ODD_ROWS * (ODD_ROWS - 1) / 2), "torn");
    own->sum = own->sum * 31 + s->sum;
    own->rows++;
}

static void part_exports(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Core);
    odd_core(world);
    ODD_SYSTEM(world, .name = "total_make", .pipeline = p.a, .query = "Core, orr_name",
               .exports = ORR_TYPE(Sum), .combine = total_add, .run = total_make);
    ODD_SYSTEM(world, .name = "total_read", .pipeline = p.b, .once = true, .imports = "total_make",
               .state = ORR_TYPE(Sum), .run = total_read);
    ODD_SYSTEM(world, .name = "total_too", .pipeline = p.c, .once = true, .imports = "total_make",
               .state = ORR_TYPE(Sum), .run = total_read);
}

// ---- readers ------------------------------------------------------------------------------------

ORR_STRUCT(Leaf, (uint64_t, tick))
enum {
    MIRROR = 512
};
ORR_STRUCT(Mirror, (uint64_t, ids, MIRROR), (uint64_t, ticks, MIRROR), (uint64_t, changes_received))

static void leaf_grow(orr_run* run)
{
    Leaf* l = orr_write(run, Leaf);
    for (uint32_t i = 0; i < run->count; i++) {
        if (orr_run_random(run, orr_iter_entity(run, i)) % 2 == 0) {
            l[i].tick = run->tick;
        }
    }
}

static void leaf_churn(orr_run* run)
{
    if (run->tick % 2 == 0) {
        orr_entity entity = orr_send_create(run);
        orr_send_add(run, entity, Leaf, {run->tick});
    }
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        if (orr_run_random(run, entity) % (2 * ODD_ROWS) == 0) {
            orr_send_destroy(run, entity);
        }
    }
}

// The slot of an entity; a free slot if it has none; MIRROR if no slot is free.
static uint32_t mirror_find(const Mirror* m, orr_entity entity)
{
    uint32_t free = MIRROR;
    for (uint32_t i = 0; i < MIRROR; i++) {
        if (m->ids[i] == entity.id) {
            return i;
        }
        free = m->ids[i] == 0 && free == MIRROR ? i : free;
    }
    return free;
}

static void mirror_set(Mirror* m, orr_entity entity, uint64_t tick, bool there)
{
    uint32_t at = mirror_find(m, entity);
    if (at < MIRROR) {
        m->ids[at] = there ? entity.id : 0;
        m->ticks[at] = there ? tick : 0;
    }
}

static void leaf_mirror(orr_run* run)
{
    Mirror* mirror = orr_state(run, Mirror);
    const uint32_t* every = orr_run_settings(run);
    if (run->tick % *every != 0) {
        return; // Leaves its messages unread in this tick.
    }
    ORR_MESSAGES(m, run)
    {
        const Leaf* l = m->kind == ORR_ENTITY_REMOVED || m->kind == ORR_COMPONENT_REMOVED
                            ? NULL
                            : orr_values(m, Leaf);
        mirror->changes_received += m->kind == ORR_COMPONENT_CHANGED;
        for (uint32_t i = 0; i < m->count; i++) {
            mirror_set(mirror, m->entities[i], l != NULL ? l[i].tick : 0,
                       m->kind != ORR_ENTITY_REMOVED);
        }
    }
}

static const uint32_t leaf_every[2] = {1, 7};

static void part_readers(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Leaf);
    for (uint32_t i = 0; i < ODD_ROWS; i++) {
        orr_set(world, orr_create(world), Leaf, {0});
    }
    ODD_SYSTEM(world, .name = "leaf_grow", .pipeline = p.a, .query = "write Leaf",
               .run = leaf_grow);
    ODD_SYSTEM(world, .name = "leaf_churn", .pipeline = p.c, .query = "Leaf", .creates = "Leaf",
               .creates_max = 2, .destroys = "Leaf", .run = leaf_churn);
    ODD_SYSTEM(world, .name = "leaf_mirror", .kind = ORR_INDIRECT, .pipeline = p.b, .query = "Leaf",
               .state = ORR_TYPE(Mirror), .settings = &leaf_every[0], .run = leaf_mirror);
    ODD_SYSTEM(world, .name = "leaf_lazy", .kind = ORR_INDIRECT, .pipeline = p.b, .query = "Leaf",
               .messages_max = 100, .state = ORR_TYPE(Mirror), .settings = &leaf_every[1],
               .run = leaf_mirror);
}

// After all messages were delivered the mirror equals the world.
static void odd_compare_mirror(orr_world* world)
{
    orr_system system = orr_system_find(world, "leaf_mirror");
    const Mirror* m = system.id != 0 ? orr_system_state(world, system) : NULL;
    if (m == NULL) {
        return;
    }
    uint64_t there = 0, seen = 0;
    orr_query* query = orr_query_text(world, "Leaf");
    ORR_EACH (it, query) {
        for (uint32_t i = 0; i < it.count; i++) {
            uint32_t at = mirror_find(m, orr_iter_entity(&it, i));
            bool found = at < MIRROR && m->ids[at] != 0;
            ODD_CHECK(found, "an entity is not in the mirror");
            ODD_CHECK(!found || m->ticks[at] == orr_read(&it, Leaf)[i].tick,
                      "the mirror has another value");
            there++;
        }
    }
    orr_query_destroy(query);
    for (uint32_t i = 0; i < MIRROR; i++) {
        seen += m->ids[i] != 0;
    }
    ODD_CHECK(there == seen, "the mirror has %u entities, the world %u", (unsigned)seen,
              (unsigned)there);
}

// ---- atomic sections ----------------------------------------------------------------------------

ORR_STRUCT(Pot, (uint64_t, soup), (uint64_t, twice))

static void pot_fill(void* value, void* user)
{
    Pot* pot = value;
    pot->soup += *(const uint64_t*)user;
    pot->twice = 2 * pot->soup;
}

static void pot_cook(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t more = orr_run_random(run, orr_iter_entity(run, i)) % 10;
        orr_atomic_on(run, orr_iter_entity(run, i), Pot, pot_fill, &more);
    }
}

static void pot_taste(orr_run* run)
{
    const Pot* pot = orr_read(run, Pot);
    Sum* s = orr_state(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        ODD_CHECK(pot[i].twice == 2 * pot[i].soup, "a pot is torn");
        s->sum = s->sum * 31 + pot[i].soup;
    }
}

static void part_sections(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Pot, Core);
    odd_core(world);
    for (uint32_t i = 0; i < ODD_ROWS; i++) {
        orr_set(world, odd_entity(world, i), Pot, {0, 0});
    }
    ODD_SYSTEM(world, .name = "pot_cook", .pipeline = p.a, .query = "Core", .atomics = "Pot",
               .run = pot_cook);
    ODD_SYSTEM(world, .name = "pot_cook_too", .pipeline = p.a, .query = "Core", .atomics = "Pot",
               .parallel = true, .run = pot_cook);
    ODD_SYSTEM(world, .name = "pot_taste", .pipeline = p.b, .query = "Pot", .state = ORR_TYPE(Sum),
               .run = pot_taste);
}

// ---- parallel systems of two pipelines, printing ------------------------------------------------

ORR_STRUCT(Ant, (uint64_t, steps), (uint64_t, twice))
ORR_STRUCT(Bee, (uint64_t, seen), (uint64_t, twice))

static void ant_walk(orr_run* run)
{
    Ant* a = orr_write(run, Ant);
    const Bee* b = orr_read(run, Bee);
    for (uint32_t i = 0; i < run->count; i++) {
        ODD_CHECK(b[i].twice == 2 * b[i].seen, "a bee is torn");
        a[i].steps += 1 + b[i].seen % 3;
        a[i].twice = 2 * a[i].steps;
    }
}

static void bee_fly(orr_run* run)
{
    Bee* b = orr_write(run, Bee);
    const Ant* a = orr_read(run, Ant);
    for (uint32_t i = 0; i < run->count; i++) {
        ODD_CHECK(a[i].twice == 2 * a[i].steps, "an ant is torn");
        b[i].seen = b[i].seen * 31 + a[i].steps;
        b[i].twice = 2 * b[i].seen;
    }
}

static void bee_print(orr_run* run)
{
    char text[400];
    for (uint32_t i = 0; i < run->count && i < 2; i++) {
        ODD_CHECK(orr_entity_print(run->world, orr_iter_entity(run, i), text, sizeof text) > 0,
                  "nothing is printed");
    }
}

static void part_parallel(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Ant, Bee);
    orr_cluster cluster = KIT_CLUSTER(world, Ant, Bee);
    CHECK_OK(orr_create_many(world, cluster, 6000, NULL, 0, NULL));
    ODD_SYSTEM(world, .name = "ant_walk", .pipeline = p.a, .query = "write Ant, Bee",
               .parallel = true, .run = ant_walk);
    ODD_SYSTEM(world, .name = "bee_fly", .pipeline = p.b, .query = "write Bee, Ant",
               .parallel = true, .run = bee_fly);
    ODD_SYSTEM(world, .name = "bee_print", .pipeline = p.b, .query = "Bee", .run = bee_print);
}

// ---- enabling and disabling systems -------------------------------------------------------------

static void switch_others(orr_run* run)
{
    orr_system other = orr_system_find(run->world, "switched");
    orr_system_enable(run->world, other, run->tick % 3 != 0);
    orr_group_enable(run->world, "switched_group", run->tick % 5 != 0);
}

static void switched(orr_run* run)
{
    orr_state(run, Sum)->rows += run->tick;
}

static void part_systems(orr_world* world, odd_pipes p)
{
    ODD_SYSTEM(world, .name = "switch_others", .pipeline = p.a, .once = true, .run = switch_others);
    ODD_SYSTEM(world, .name = "switched", .pipeline = p.b, .once = true, .state = ORR_TYPE(Sum),
               .run = switched);
    ODD_SYSTEM(world, .name = "switched_1", .pipeline = p.b, .group = "switched_group",
               .once = true, .state = ORR_TYPE(Sum), .run = switched);
    ODD_SYSTEM(world, .name = "switched_2", .pipeline = p.a, .group = "switched_group",
               .once = true, .state = ORR_TYPE(Sum), .run = switched);
}

// ---- live types, indirect writers, the caller's thread ------------------------------------------

ORR_STRUCT_EX(Vine, (.live = true), (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT(Moss, (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT(Stone, (uint64_t, seen))

static void vine_grow(orr_run* run)
{
    const Place* n = orr_read(run, Place);
    if (orr_random(run->tick, n[0].number, 6, 0) % 4 == 0) {
        Vine* v = orr_write(run, Vine);
        v[0].tick = run->tick;
        v[0].twice = 2 * run->tick;
    }
}

static void vine_changed(orr_run* run)
{
    const Place* n = orr_read(run, Place);
    const Vine* v = orr_read(run, Vine);
    Inks* s = orr_state(run, Inks);
    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t at = n[i].number;
        ODD_CHECK(v[i].twice == 2 * v[i].tick, "a vine is torn");
        ODD_CHECK(s->given[at] == 0 || s->last[at] != v[i].tick, "vine %u is seen twice at %u",
                  (unsigned)v[i].tick, at);
        s->last[at] = v[i].tick;
        s->given[at]++;
    }
}

static void moss_spread(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        const Moss* values = m->kind <= ORR_COMPONENT_CHANGED ? orr_values(m, Moss) : NULL;
        for (uint32_t i = 0; values != NULL && i < m->count; i++) {
            if (values[i].tick < run->tick) {
                orr_send_change(run, m->entities[i], Moss, {run->tick, 2 * run->tick});
            }
        }
    }
}

static void moss_look(orr_run* run)
{
    const Moss* moss = orr_read(run, Moss);
    Stone* stone = orr_write(run, Stone);
    for (uint32_t i = 0; i < run->count; i++) {
        ODD_CHECK(moss[i].twice == 2 * moss[i].tick, "moss is torn");
        stone[i].seen = stone[i].seen * 31 + moss[i].tick;
    }
}

static void part_live(orr_world* world, odd_pipes p)
{
    ORR_REGISTER(world, Vine, Place, Moss, Stone);
    for (uint32_t i = 0; i < INKS; i++) {
        orr_entity entity = orr_create(world);
        orr_set(world, entity, Vine, {0, 0});
        orr_set(world, entity, Place, {i});
        orr_set(world, entity, Moss, {0, 0});
        orr_set(world, entity, Stone, {0});
        orr_tag_add(world, entity, (orr_tag){900 + i});
    }
    ODD_SYSTEM(world, .name = "vine_grow", .pipeline = p.a, .query = "write Vine, Place",
               .main_thread = true, .run = vine_grow);
    ODD_SYSTEM(world, .name = "vine_changed", .pipeline = p.b, .query = "changed Vine, Place",
               .state = ORR_TYPE(Inks), .run = vine_changed);
    ODD_SYSTEM(world, .name = "moss_spread", .kind = ORR_INDIRECT, .pipeline = p.a,
               .query = "write Moss", .run = moss_spread);
    ODD_SYSTEM(world, .name = "moss_look", .pipeline = p.b, .query = "Moss, write Stone",
               .main_thread = true, .run = moss_look);
}

#endif
