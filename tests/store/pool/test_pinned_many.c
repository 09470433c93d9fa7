// SPDX-License-Identifier: MIT
// Pinned types: batches, the hash, a random walk compared with a model, refused memory everywhere,
// corrupt pools.
#include "store/pool/pool.h"
#include "support/pinned_kit.h"
#include "test.h"

// ---- batches ------------------------------------------------------------------------------------

ORR_TEST(pinned_batch_adds_sets_gets_and_removes)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type body = KIT_TYPE(world, Body);
    orr_entity e[4];
    for (uint32_t i = 0; i < 4; i++) {
        e[i] = orr_create(world);
    }
    CHECK_OK(orr_set(world, e[1], Body, {7, 7}));
    CHECK_OK(orr_component_add_many(world, e, 4, body, NULL)); // Presets for those that lack it.
    CHECK_EQ(orr_get(world, e[0], Body)->mass, 10);
    CHECK_EQ(orr_get(world, e[1], Body)->mass, 7);
    Body values[4] = {{1, 0}, {2, 0}, {3, 0}, {4, 0}}, out[4] = {{0}};
    CHECK_OK(orr_component_remove_many(world, e + 2, 2, body));
    CHECK_OK(orr_component_add_many(world, e, 4, body, values)); // Sets all.
    CHECK_OK(orr_component_get_many(world, e, 4, body, out));
    CHECK_EQ(memcmp(out, values, sizeof out), 0);
    // Twice is allowed where nothing is added: the last one stays.
    CHECK_OK(orr_component_set_many(world, (orr_entity[]){e[0], e[0]}, 2, body, values));
    CHECK_EQ(orr_get(world, e[0], Body)->mass, 2);
    CHECK_OK(orr_component_get_many(world, (orr_entity[]){e[0], e[0]}, 2, body, out));
    CHECK_EQ(out[1].mass, 2);
    CHECK_OK(orr_component_remove_many(world, e, 4, body));
    CHECK_EQ(orr_pinned_count(world, body), 0);
    // No entity ever had it.
    CHECK_OK(orr_component_remove_many(world, e, 4, KIT_TYPE(world, Rope)));
    CHECK_OK(orr_component_set_many(world, e, 0, KIT_TYPE(world, Sign), values));
    CHECK_OK(orr_component_add_many(world, NULL, 0, body, NULL));
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(pinned_batch_is_refused_as_a_whole)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type body = KIT_TYPE(world, Body);
    orr_entity a = orr_create(world), b = orr_create(world), dead = orr_create(world);
    CHECK_OK(orr_name_set(world, b, (orr_entity){0}, "berta"));
    CHECK_OK(orr_destroy(world, dead));
    CHECK_OK(orr_set(world, a, Body, {1, 1}));
    uint64_t hash = orr_world_hash(world);
    Body values[3] = {{5, 5}, {6, 6}, {7, 7}};
    CHECK_RESULT(orr_component_add_many(world, (orr_entity[]){a, b, dead}, 3, body, values),
                 ORR_ERR_ENTITY);
    CHECK_RESULT(orr_component_add_many(world, (orr_entity[]){b, a, b}, 3, body, values),
                 ORR_ERR_ARGUMENT);
    CHECK_CONTAINS(k.errors.text, "entity berta (1v1) is listed twice");
    CHECK_RESULT(orr_component_add_many(world, (orr_entity[]){a, a}, 2, body, NULL),
                 ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_component_remove_many(world, (orr_entity[]){a, dead}, 2, body),
                 ORR_ERR_ENTITY);
    CHECK_RESULT(orr_component_remove_many(world, (orr_entity[]){a, a}, 2, body), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_component_set_many(world, (orr_entity[]){a, b}, 2, body, values),
                 ORR_ERR_ABSENT);
    CHECK_CONTAINS(k.errors.text, "entity berta (1v1) has no Body");
    CHECK_RESULT(orr_component_get_many(world, (orr_entity[]){a, b}, 2, body, values),
                 ORR_ERR_ABSENT);
    CHECK_RESULT(orr_component_set_many(world, &a, 1, body, NULL), ORR_ERR_ARGUMENT);
    CHECK_EQ(orr_world_hash(world), hash);
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}

ORR_TEST(pinned_batch_with_hooks_is_made_in_place_or_not_at_all)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type ghost = KIT_TYPE(world, Ghost);
    orr_entity e[6];
    Ghost values[6];
    for (uint32_t i = 0; i < 6; i++) {
        e[i] = orr_create(world);
        values[i] = KIT_GHOST(100 + i);
    }
    CHECK_OK(orr_component_add_many(world, e, 3, ghost, values));
    CHECK_OK(orr_component_remove(world, e[1], ghost)); // One free slot, two owners.
    uint64_t hash = orr_world_hash(world);
    // e[0] and e[2] are staged, four are made: six calls may refuse before anything happens.
    for (uint32_t n = 1; n <= 6; n++) {
        kit_tokens.refuse_after = n;
        CHECK_RESULT(orr_component_add_many(world, e, 6, ghost, values), ORR_ERR_HOOK);
        CHECK_EQ(kit_tokens.live, 2);
        CHECK_EQ(orr_world_hash(world), hash);
    }
    for (uint32_t n = 1; n <= 2; n++) {
        kit_tokens.refuse_after = n;
        CHECK_RESULT(orr_component_set_many(world, (orr_entity[]){e[0], e[2]}, 2, ghost, values),
                     ORR_ERR_HOOK);
        CHECK_EQ(orr_world_hash(world), hash);
    }
    kit_tokens.refuse_after = 0;
    CHECK_OK(orr_component_add_many(world, e, 6, ghost, values));
    for (uint32_t i = 0; i < 6; i++) {
        CHECK_EQ(orr_get(world, e[i], Ghost)->cell.payload, 100 + i);
        CHECK(kit_token_sound((const Token*)(const void*)orr_get(world, e[i], Ghost)));
    }
    CHECK_OK(orr_component_set_many(world, e, 6, ghost, values));
    CHECK_EQ(kit_tokens.live, 6);
    CHECK_EQ(kit_tokens.moves, 0);
    kit_end(&k);
}

ORR_TEST(pinned_batch_gives_the_slots_that_single_calls_give)
{
    kit k = {0}, l = {0};
    orr_world *a = kit_begin(&k, NULL), *b = kit_begin(&l, NULL);
    orr_entity e[3000], f[3000];
    for (uint32_t i = 0; i < 3000; i++) {
        e[i] = orr_create(a);
        f[i] = orr_create(b);
    }
    for (uint32_t round = 0; round < 3; round++) {
        CHECK_OK(orr_component_add_many(a, e + round * 500, 2000, KIT_TYPE(a, Body), NULL));
        CHECK_OK(orr_component_remove_many(a, e + round * 700, 1000, KIT_TYPE(a, Body)));
        for (uint32_t i = 0; i < 2000; i++) {
            CHECK_OK(orr_add(b, f[round * 500 + i], Body));
        }
        for (uint32_t i = 0; i < 1000; i++) {
            CHECK_OK(orr_remove(b, f[round * 700 + i], Body));
        }
        CHECK_EQ(orr_world_hash(a), orr_world_hash(b));
    }
    kit_end(&k);
    kit_end(&l);
}

// ---- hash ---------------------------------------------------------------------------------------

static uint64_t history_hash(uint8_t fresh_byte)
{
    kit k = {.memory.fresh_byte = fresh_byte};
    orr_world* world = kit_begin(&k, NULL);
    uint64_t hash = 0;
    orr_entity e[100];
    for (uint32_t i = 0; i < 100; i++) {
        e[i] = orr_create(world);
        CHECK_OK(orr_set(world, e[i], Loose, {(uint8_t)i, i * 0.5, (uint16_t)i}));
        CHECK_OK(orr_set(world, e[i], Sign, {orr_string_make(world, i % 2 ? "odd" : "even"), 1}));
        CHECK_OK(orr_add(world, e[i], Seen));
        if (i % 3 == 0) {
            CHECK_OK(orr_remove(world, e[i / 2], Loose));
        }
        if (i % 7 == 0) {
            CHECK_OK(orr_enable(world, e[i], Sign, false));
            orr_tick_advance(world);
        }
        hash = orri_hash_word(hash, orr_world_hash(world));
    }
    kit_end(&k);
    return hash;
}

ORR_TEST(pinned_same_history_gives_the_same_hash_for_any_fresh_memory)
{
    uint64_t hash = history_hash(0xAA);
    CHECK_EQ(history_hash(0x55), hash);
    CHECK_EQ(history_hash(0x01), hash);
}

ORR_TEST(pinned_hash_covers_values_owners_bits_free_slots_and_ticks)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity a = orr_create(world), b = orr_create(world), c = orr_create(world);
    uint64_t empty = orr_world_hash(world);
    (void)KIT_TYPE(world, Body); // A type no entity ever had.
    CHECK_EQ(orr_world_hash(world), empty);
    CHECK_OK(orr_set(world, a, Body, {1, 1}));
    uint64_t one = orr_world_hash(world);
    CHECK(one != empty);
    CHECK_EQ(orr_world_hash(world), one);
    orr_edit(world, a, Body)->speed = 2;
    uint64_t two = orr_world_hash(world);
    CHECK(two != one);
    CHECK_OK(orr_set(world, a, Body, {1, 1}));
    CHECK_EQ(orr_world_hash(world), one);
    CHECK_OK(orr_remove(world, a, Body));
    uint64_t gone = orr_world_hash(world);
    CHECK(gone != one && gone != empty); // The free slot is state.
    CHECK_OK(orr_set(world, b, Body, {1, 1}));
    CHECK(orr_world_hash(world) != one); // The owner is state.
    CHECK_OK(orr_remove(world, b, Body));
    CHECK_EQ(orr_world_hash(world), gone);
    // Two free slots: their order is state.
    CHECK_OK(orr_component_add_many(world, (orr_entity[]){a, b}, 2, KIT_TYPE(world, Body), NULL));
    CHECK_OK(orr_component_remove_many(world, (orr_entity[]){a, b}, 2, KIT_TYPE(world, Body)));
    uint64_t ab = orr_world_hash(world);
    CHECK_OK(orr_component_add_many(world, (orr_entity[]){b, a}, 2, KIT_TYPE(world, Body), NULL));
    CHECK_OK(orr_component_remove_many(world, (orr_entity[]){b, a}, 2, KIT_TYPE(world, Body)));
    CHECK(orr_world_hash(world) != ab);
    // Of three free slots with the same first slot, the order of the rest is state, too.
    orr_type rope = KIT_TYPE(world, Rope);
    CHECK_OK(orr_component_add_many(world, (orr_entity[]){a, b, c}, 3, rope, NULL));
    CHECK_OK(orr_component_remove_many(world, (orr_entity[]){a, b, c}, 3, rope));
    uint64_t abc = orr_world_hash(world);
    CHECK_OK(orr_component_add_many(world, (orr_entity[]){c, b, a}, 3, rope, NULL));
    CHECK_OK(orr_component_remove_many(world, (orr_entity[]){b, a, c}, 3, rope));
    CHECK(orr_world_hash(world) != abc);
    // The tick of a write is state, also if the write changes nothing.
    CHECK_OK(orr_set(world, c, Body, {1, 1}));
    orr_tick_advance(world);
    uint64_t before = orr_world_hash(world);
    (void)orr_edit(world, c, Body);
    CHECK(orr_world_hash(world) != before);
    kit_end(&k);
}

ORR_TEST(pinned_hash_of_a_block_is_kept_until_it_is_written)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Body, {1, 1}));
    uint64_t hash = orr_world_hash(world);
    Body* kept = orr_edit(world, bob, Body);
    hash = orr_world_hash(world);
    kept->mass = 2; // Through a kept pointer: stamps nothing, so the cached hash stays.
    CHECK_EQ(orr_world_hash(world), hash);
    orr_edit(world, bob, Body)->speed = 2;
    CHECK(orr_world_hash(world) != hash);
    kit_end(&k);
}

// ---- a random walk compared with a model --------------------------------------------------------

enum {
    WALKERS = 200
};

typedef struct walk_model {
    bool alive, body, ghost, body_off;
    int32_t mass;
    uint32_t payload;
    const void *body_at, *ghost_at;
} walk_model;

typedef struct walk {
    orr_world* world;
    orr_type body, ghost;
    orr_entity entities[WALKERS];
    walk_model models[WALKERS];
} walk;

static uint32_t walk_random(uint32_t below)
{
    return (uint32_t)(test_random() % below);
}

static void walk_check(walk* w)
{
    uint32_t bodies = 0, ghosts = 0;
    for (uint32_t i = 0; i < WALKERS; i++) {
        const walk_model* m = &w->models[i];
        orr_entity entity = w->entities[i];
        CHECK_EQ(orr_alive(w->world, entity), m->alive);
        CHECK_EQ(orr_component_has(w->world, entity, w->body), m->body);
        CHECK_EQ(orr_component_enabled(w->world, entity, w->body), m->body && !m->body_off);
        if (m->body) {
            CHECK(orr_get(w->world, entity, Body) == m->body_at);
            CHECK_EQ(orr_get(w->world, entity, Body)->mass, m->mass);
        }
        if (m->ghost) {
            CHECK(orr_get(w->world, entity, Ghost) == m->ghost_at);
            CHECK_EQ(orr_get(w->world, entity, Ghost)->cell.payload, m->payload);
        }
        bodies += m->body;
        ghosts += m->ghost;
    }
    CHECK_EQ(orr_pinned_count(w->world, w->body), bodies);
    CHECK_EQ(orr_pinned_count(w->world, w->ghost), ghosts);
    CHECK_EQ(kit_tokens.live, ghosts);
    CHECK_OK(orr_world_validate(w->world));
}

static void walk_body(walk* w, uint32_t i, uint32_t what)
{
    walk_model* m = &w->models[i];
    orr_entity entity = w->entities[i];
    int32_t mass = (int32_t)walk_random(1000);
    if (what == 0) {
        CHECK_OK(orr_set(w->world, entity, Body, {mass, 0}));
        m->mass = mass;
        m->body_off = m->body && m->body_off;
        m->body = true;
    } else if (what == 1) {
        CHECK_OK(orr_add(w->world, entity, Body));
        m->mass = m->body ? m->mass : 10;
        m->body = true;
    } else if (what == 2) {
        CHECK_OK(orr_remove(w->world, entity, Body));
        m->body = m->body_off = false;
    } else if (m->body) {
        CHECK_OK(orr_enable(w->world, entity, Body, !m->body_off ? false : true));
        m->body_off = !m->body_off;
    }
    m->body_at = m->body ? (const void*)orr_get(w->world, entity, Body) : NULL;
}

static void walk_ghost(walk* w, uint32_t i, bool set)
{
    walk_model* m = &w->models[i];
    orr_entity entity = w->entities[i];
    uint32_t payload = walk_random(1000);
    if (set) {
        CHECK_OK(orr_component_set(w->world, entity, w->ghost, &KIT_GHOST(payload)));
        m->payload = payload;
    } else {
        CHECK_OK(orr_component_remove(w->world, entity, w->ghost));
    }
    m->ghost = set;
    m->ghost_at = set ? (const void*)orr_get(w->world, entity, Ghost) : NULL;
}

// A run of entities at once.
static void walk_batch(walk* w, bool add)
{
    orr_entity list[WALKERS];
    uint32_t which[WALKERS], count = 0;
    Body values[WALKERS];
    for (uint32_t i = walk_random(WALKERS); i < WALKERS; i += 1 + walk_random(9)) {
        if (w->models[i].alive) {
            values[count] = (Body){(int32_t)i, 0};
            which[count] = i;
            list[count++] = w->entities[i];
        }
    }
    CHECK_OK(add ? orr_component_add_many(w->world, list, count, w->body, values)
                 : orr_component_remove_many(w->world, list, count, w->body));
    for (uint32_t n = 0; n < count; n++) {
        walk_model* m = &w->models[which[n]];
        m->body_off = add && m->body && m->body_off;
        m->body = add;
        m->mass = (int32_t)which[n];
        m->body_at = add ? (const void*)orr_get(w->world, list[n], Body) : NULL;
    }
}

static void walk_life(walk* w, uint32_t i)
{
    walk_model* m = &w->models[i];
    if (m->alive) {
        CHECK_OK(orr_destroy(w->world, w->entities[i]));
        *m = (walk_model){0};
    } else {
        uint32_t from = walk_random(WALKERS);
        bool copy = w->models[from].alive && from != i;
        *m = copy ? w->models[from] : (walk_model){.alive = true};
        w->entities[i] = copy ? orr_copy(w->world, w->entities[from]) : orr_create(w->world);
        CHECK(w->entities[i].id != 0);
        m->body_at = m->body ? (const void*)orr_get(w->world, w->entities[i], Body) : NULL;
        m->ghost_at = m->ghost ? (const void*)orr_get(w->world, w->entities[i], Ghost) : NULL;
    }
}

ORR_TEST(pinned_random_walk_equals_the_model)
{
    kit k = {0};
    static walk w;
    memset(&w, 0, sizeof w);
    w.world = kit_begin(&k, NULL);
    w.body = KIT_TYPE(w.world, Body);
    w.ghost = KIT_TYPE(w.world, Ghost);
    for (uint32_t step = 0; step < 20000; step++) {
        uint32_t i = walk_random(WALKERS), what = walk_random(100);
        if (what < 25 || !w.models[i].alive) {
            walk_life(&w, i);
        } else if (what < 65) {
            walk_body(&w, i, what % 4);
        } else if (what < 90) {
            walk_ghost(&w, i, what % 2 == 0);
        } else if (what < 92) {
            walk_batch(&w, what == 90);
        } else if (what < 95) { // The entity moves, its pinned values do not.
            CHECK_OK(orr_tag_add(w.world, w.entities[i], walk_random(5)));
        } else if (what < 97) {
            orr_tick_advance(w.world);
        }
        if (step % 200 == 0) {
            walk_check(&w);
        }
    }
    walk_check(&w);
    CHECK_EQ(kit_tokens.moves, 0);
    kit_end(&k);
}

// ---- out of memory ------------------------------------------------------------------------------

typedef struct sweep {
    kit k;
    orr_world* world;
    orr_type body, ghost, huge;
    orr_entity e[40];
    orr_entity made;
} sweep;

static orr_result sweep_add(sweep* s)
{
    return orr_component_add(s->world, s->e[0], s->body);
}

static orr_result sweep_set(sweep* s)
{
    return orr_component_set(s->world, s->e[1], s->ghost, &KIT_GHOST(1));
}

static orr_result sweep_set_again(sweep* s)
{
    return orr_component_set(s->world, s->e[1], s->ghost, &KIT_GHOST(2));
}

static orr_result sweep_enable(sweep* s)
{
    return orr_component_enable(s->world, s->e[1], s->ghost, false);
}

static orr_result sweep_copy(sweep* s)
{
    s->made = orr_copy(s->world, s->e[1]);
    return s->made.id != 0 ? ORR_OK : s->k.errors.result;
}

static orr_result sweep_add_many(sweep* s)
{
    Ghost values[40];
    for (uint32_t i = 0; i < 40; i++) {
        values[i] = KIT_GHOST(i);
    }
    return orr_component_add_many(s->world, s->e, 40, s->ghost, values);
}

static orr_result sweep_set_many(sweep* s)
{
    Ghost values[40];
    for (uint32_t i = 0; i < 40; i++) {
        values[i] = KIT_GHOST(2 * i);
    }
    return orr_component_set_many(s->world, s->e, 40, s->ghost, values);
}

static orr_result sweep_huge(sweep* s)
{
    return orr_component_add_many(s->world, s->e, 3, s->huge, NULL);
}

static orr_result sweep_huge_set(sweep* s)
{
    static const Huge value = {{1}};
    return orr_put(s->world, s->e[5], Huge, &value);
}

static orr_result sweep_name(sweep* s)
{
    return orr_name_set(s->world, s->e[2], s->e[3], "a name");
}

static orr_result sweep_rename(sweep* s)
{
    return orr_name_set(s->world, s->e[2], (orr_entity){0}, "another name");
}

static orr_result sweep_create_named(sweep* s)
{
    s->made = orr_create_named(s->world, "made with a name");
    return s->made.id != 0 ? ORR_OK : s->k.errors.result;
}

static orr_result sweep_names(sweep* s)
{
    char text[32];
    static uint32_t round;
    snprintf(text, sizeof text, "name %u", ++round);
    return orr_name_set(s->world, s->e[round % 40], (orr_entity){0}, text);
}

static orr_result sweep_singleton(sweep* s)
{
    return orr_world_entity(s->world).id != 0 ? ORR_OK : s->k.errors.result;
}

static orr_result (*const sweep_steps[])(sweep*) = {
    sweep_add,      sweep_set,   sweep_set_again, sweep_enable, sweep_copy,   sweep_add_many,
    sweep_set_many, sweep_huge,  sweep_huge_set,  sweep_name,   sweep_rename, sweep_create_named,
    sweep_names,    sweep_names, sweep_names,     sweep_names,  sweep_names,  sweep_names,
    sweep_names,    sweep_names, sweep_names,     sweep_names,  sweep_names,  sweep_names,
    sweep_names,    sweep_names, sweep_names,     sweep_names,  sweep_names,  sweep_singleton};

static void sweep_open(sweep* s)
{
    memset(s, 0, sizeof *s);
    s->world = kit_begin(&s->k, NULL);
    s->body = KIT_TYPE(s->world, Body);
    s->ghost = KIT_TYPE(s->world, Ghost);
    s->huge = KIT_TYPE(s->world, Huge);
    for (uint32_t i = 0; i < 40; i++) {
        s->e[i] = orr_create(s->world);
    }
}

// True when something was refused.
static bool sweep_run(uint64_t nth)
{
    static sweep s;
    sweep_open(&s);
    failing_alloc_arm(&s.k.memory, nth, false);
    bool any = false;
    for (size_t i = 0; i < sizeof sweep_steps / sizeof sweep_steps[0]; i++) {
        uint64_t hash = orr_world_hash(s.world), count = orr_entity_count(s.world);
        uint64_t tokens = kit_tokens.live;
        orr_result result = sweep_steps[i](&s);
        if (result != ORR_OK) {
            any = true;
            CHECK_RESULT(result, ORR_ERR_MEMORY);
            CHECK_EQ(orr_world_hash(s.world), hash);
            CHECK_EQ(orr_entity_count(s.world), count);
            CHECK_EQ(kit_tokens.live, tokens);
            CHECK_OK(orr_world_validate(s.world));
            CHECK_OK(sweep_steps[i](&s)); // Repeated, it succeeds.
        }
    }
    any |= s.k.memory.refused > 0;
    kit_end(&s.k);
    return any;
}

ORR_TEST(pinned_every_allocation_refused_changes_nothing_and_can_be_repeated)
{
    uint64_t nth = 1;
    while (sweep_run(nth)) {
        nth++;
    }
    CHECK(nth > 30);
}

// ---- corrupt pools ------------------------------------------------------------------------------

ORR_TEST(pinned_validation_finds_broken_pools)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity e[4];
    for (uint32_t i = 0; i < 4; i++) {
        e[i] = orr_create(world);
        CHECK_OK(orr_add(world, e[i], Body));
    }
    CHECK_OK(orr_enable(world, e[0], Body, false));
    CHECK_OK(orr_remove(world, e[3], Body));
    orri_pool* pool = orri_pool_find(world, KIT_TYPE(world, Body));
    struct {
        uint32_t* at;
        uint32_t wrong;
        const char* words;
    } breaks[] = {
        {&pool->live, 7, "live count"},
        {&pool->blocks[0].owners[1], 2, "owner and page agree"},
        {&pool->blocks[0].owners[1], 77, "owners are alive"},
        {&pool->pages[0][9], 1, "page and owner agree"},
        {&pool->pages[0][9], 99, "page and owner agree"},
        {&pool->free_first, 2, "free list"},
        {&pool->free_first, 0, "free count"},
        {&pool->links[3], 4, "free list"},
        {&pool->slot_room, 5, "room"},
    };
    for (size_t i = 0; i < sizeof breaks / sizeof breaks[0]; i++) {
        uint32_t right = *breaks[i].at;
        *breaks[i].at = breaks[i].wrong;
        CHECK_RESULT(orr_world_validate(world), ORR_ERR_CORRUPT);
        CHECK_CONTAINS(k.errors.text, "S14");
        CHECK_CONTAINS(k.errors.text, breaks[i].words);
        *breaks[i].at = right;
        CHECK_OK(orr_world_validate(world));
    }
    pool->blocks[0].enabled[0] = 0;
    CHECK_RESULT(orr_world_validate(world), ORR_ERR_CORRUPT);
    pool->blocks[0].enabled[0] = UINT64_MAX;
    world->pinned.live++;
    CHECK_RESULT(orr_world_validate(world), ORR_ERR_CORRUPT);
    world->pinned.live--;
    pool->blocks[0].version += 100;
    CHECK_RESULT(orr_world_validate(world), ORR_ERR_CORRUPT);
    pool->blocks[0].version -= 100;
    kit_end(&k);
}
