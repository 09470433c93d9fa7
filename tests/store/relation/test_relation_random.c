// SPDX-License-Identifier: MIT
// Indexed references at random: trees and cycles with all three policies, compared with a scan over
// all entities after every step; and with the Nth allocation refused, for every N.
#include "store/cow/share.h"
#include "store/world/world.h"
#include "support/store_kit.h"
#include "test.h"
#include <orrery/kinds.h>

#define INDEXED(policy) (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_##policy)

ORR_STRUCT(Parent, (orr_entity, entity, INDEXED(DESTROY)))
ORR_STRUCT(Owner, (uint32_t, weight), (orr_entity, one, INDEXED(CLEAR)),
           (orr_entity, slots, 3, INDEXED(CLEAR)))
ORR_STRUCT(Watch, (orr_entity, target, INDEXED(KEEP)))
ORR_STRUCT(Pair, (orr_entity, end, INDEXED(DESTROY)), (uint32_t, number))
ORR_STRUCT(Duo, (Pair, pairs, 2), (orr_string, text), (orr_entity, friend, INDEXED(CLEAR)))

enum {
    MOST = 40,
    TYPES = 5, // Parent, Owner, Watch, Duo, Position; the last has no references.
    REFERENCES = 9,
    MASKS = 1 << TYPES
};

// The model: the values that each entity of the world should have.
typedef struct model_entity {
    orr_entity id; // Null: free.
    bool has[TYPES], tagged, dying;
    Parent parent;
    Owner owner;
    Watch watch;
    Duo duo;
    Position position;
} model_entity;

typedef struct model {
    kit k;
    orr_world* world;
    orr_type types[TYPES];
    model_entity entities[MOST];
} model;

typedef struct reference {
    uint32_t type;
    orr_on_destroy policy;
    orr_entity* entity;
    const char* path;
} reference;

static void references_of(model_entity* b, reference out[REFERENCES])
{
    reference all[REFERENCES] = {{0, ORR_ON_DESTROY_DESTROY, &b->parent.entity, "entity"},
                                 {1, ORR_ON_DESTROY_CLEAR, &b->owner.one, "one"},
                                 {1, ORR_ON_DESTROY_CLEAR, &b->owner.slots[0], "slots[0]"},
                                 {1, ORR_ON_DESTROY_CLEAR, &b->owner.slots[1], "slots[1]"},
                                 {1, ORR_ON_DESTROY_CLEAR, &b->owner.slots[2], "slots[2]"},
                                 {2, ORR_ON_DESTROY_KEEP, &b->watch.target, "target"},
                                 {3, ORR_ON_DESTROY_DESTROY, &b->duo.pairs[0].end, "pairs[0].end"},
                                 {3, ORR_ON_DESTROY_DESTROY, &b->duo.pairs[1].end, "pairs[1].end"},
                                 {3, ORR_ON_DESTROY_CLEAR, &b->duo.friend, "friend"}};
    memcpy(out, all, sizeof all);
}

static void* value_of(model_entity* b, uint32_t type)
{
    void* values[TYPES] = {&b->parent, &b->owner, &b->watch, &b->duo, &b->position};
    return values[type];
}

static size_t size_of(uint32_t type)
{
    static const size_t sizes[TYPES] = {sizeof(Parent), sizeof(Owner), sizeof(Watch), sizeof(Duo),
                                        sizeof(Position)};
    return sizes[type];
}

// ---- the oracle ---------------------------------------------------------------------------------

static model_entity* model_entity_of(model* m, orr_entity entity)
{
    for (uint32_t i = 0; i < MOST; i++) {
        if (m->entities[i].id.id == entity.id && entity.id != 0) {
            return &m->entities[i];
        }
    }
    return NULL;
}

static uint32_t chance(uint32_t below)
{
    return (uint32_t)(test_random() % below);
}

static model_entity* any_entity(model* m)
{
    for (uint32_t i = 0; i < 200; i++) {
        model_entity* b = &m->entities[chance(MOST)];
        if (b->id.id != 0) {
            return b;
        }
    }
    return NULL;
}

static orr_entity any_target(model* m)
{
    model_entity* b = chance(4) > 0 ? any_entity(m) : NULL;
    return b != NULL ? b->id : (orr_entity){0};
}

static void fill(model* m, model_entity* b, uint32_t type)
{
    memset(value_of(b, type), 0, size_of(type));
    b->has[type] = true;
    reference all[REFERENCES];
    references_of(b, all);
    for (uint32_t i = 0; i < REFERENCES; i++) {
        if (all[i].type == type) {
            *all[i].entity = any_target(m);
        }
    }
    if (type == 1) {
        b->owner.weight = chance(100);
    }
}

// All entities that must be destroyed are marked `dying` first.
static void model_destroy(model* m)
{
    reference all[REFERENCES];
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < MOST; i++) {
            model_entity* b = &m->entities[i];
            references_of(b, all);
            for (uint32_t r = 0; r < REFERENCES && b->id.id != 0 && !b->dying; r++) {
                const model_entity* target = model_entity_of(m, *all[r].entity);
                b->dying = b->has[all[r].type] && all[r].policy == ORR_ON_DESTROY_DESTROY &&
                           target != NULL && target->dying;
                more = more || b->dying;
            }
        }
    }
    for (uint32_t i = 0; i < MOST; i++) {
        model_entity* b = &m->entities[i];
        references_of(b, all);
        for (uint32_t r = 0; r < REFERENCES && !b->dying; r++) {
            const model_entity* target = model_entity_of(m, *all[r].entity);
            if (all[r].policy == ORR_ON_DESTROY_CLEAR && target != NULL && target->dying) {
                *all[r].entity = (orr_entity){0};
            }
        }
    }
    for (uint32_t i = 0; i < MOST; i++) {
        if (m->entities[i].dying) {
            m->entities[i] = (model_entity){0};
        }
    }
}

static void check_referrers(model* m, orr_entity target, const reference* r)
{
    orr_entity expected[MOST], found[MOST];
    uint32_t count = 0;
    for (uint32_t index = 0; index < 4 * MOST; index++) { // Ascending, whatever the model's order.
        for (uint32_t i = 0; i < MOST; i++) {
            model_entity* b = &m->entities[i];
            if (b->id.id == 0 || (uint32_t)b->id.id != index || !b->has[r->type]) {
                continue;
            }
            reference all[REFERENCES];
            references_of(b, all);
            bool refers = false;
            for (uint32_t k = 0; k < REFERENCES; k++) {
                refers = refers || (all[k].type == r->type && all[k].entity->id == target.id &&
                                    (r->path == NULL || strcmp(r->path, all[k].path) == 0));
            }
            if (refers) {
                expected[count++] = b->id;
            }
        }
    }
    uint32_t room = chance(MOST);
    CHECK_EQ(orr_referrers_get(m->world, target, m->types[r->type], r->path, found, room), count);
    for (uint32_t i = 0; i < count && i < room; i++) {
        CHECK_EQ(found[i].id, expected[i].id);
    }
}

static void check_entity(model* m, model_entity* b)
{
    CHECK(orr_alive(m->world, b->id));
    for (uint32_t t = 0; t < TYPES; t++) {
        const void* value = orr_component_get(m->world, b->id, m->types[t]);
        CHECK_EQ(value != NULL, b->has[t]);
        CHECK(value == NULL || memcmp(value, value_of(b, t), size_of(t)) == 0);
    }
    reference all[REFERENCES];
    references_of(b, all);
    const reference* r = &all[chance(REFERENCES)];
    check_referrers(m, b->id, r);
    check_referrers(m, b->id, &(reference){r->type, 0, NULL, NULL});
}

static void check(model* m)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < MOST; i++) {
        if (m->entities[i].id.id != 0) {
            count++;
            check_entity(m, &m->entities[i]);
        }
    }
    CHECK_EQ(orr_entity_count(m->world), count);
    CHECK_OK(orr_world_validate(m->world));
}

// ---- operations ---------------------------------------------------------------------------------

static orr_cluster cluster_of_mask(model* m, uint32_t mask, bool tagged)
{
    orr_type types[TYPES];
    uint32_t count = 0;
    for (uint32_t t = 0; t < TYPES; t++) {
        if ((mask >> t & 1) != 0) {
            types[count++] = m->types[t];
        }
    }
    orr_tag tag = 5;
    return kit_cluster(m->world, types, count, &tag, tagged);
}

// A list of different entities.
static uint32_t pick(model* m, model_entity** out, uint32_t most)
{
    uint32_t count = 0, first = chance(MOST);
    for (uint32_t i = 0; i < MOST && count < most; i++) {
        model_entity* b = &m->entities[(first + i * 7) % MOST];
        if (b->id.id != 0 && chance(3) > 0) {
            out[count++] = b;
        }
    }
    return count;
}

static void set_types(model_entity* b, uint32_t mask, bool tagged)
{
    for (uint32_t t = 0; t < TYPES; t++) {
        if (b->has[t] != ((mask >> t & 1) != 0)) {
            memset(value_of(b, t), 0, size_of(t));
            b->has[t] = !b->has[t];
        }
    }
    b->tagged = tagged;
}

static void do_create(model* m)
{
    model_entity* made[4];
    uint32_t count = 0, mask = chance(MASKS);
    for (uint32_t i = 0; i < MOST && count < 1 + chance(4); i++) {
        if (m->entities[i].id.id == 0) {
            made[count++] = &m->entities[i];
        }
    }
    if (count == 0) {
        return;
    }
    bool tagged = chance(2) > 0;
    static _Alignas(16) uint8_t values[TYPES][4 * sizeof(Duo)];
    orr_column_data data[TYPES];
    uint32_t data_count = 0;
    for (uint32_t t = 0; t < TYPES; t++) {
        bool given = chance(3) > 0;
        for (uint32_t i = 0; (mask >> t & 1) != 0 && i < count; i++) {
            if (given) {
                fill(m, made[i], t);
            }
            made[i]->has[t] = true;
            memcpy(values[t] + i * size_of(t), value_of(made[i], t), size_of(t));
        }
        if ((mask >> t & 1) != 0 && given) {
            data[data_count++] = (orr_column_data){m->types[t], values[t]};
        }
    }
    orr_entity out[4];
    CHECK_OK(
        orr_create_many(m->world, cluster_of_mask(m, mask, tagged), count, data, data_count, out));
    for (uint32_t i = 0; i < count; i++) {
        made[i]->id = out[i];
        made[i]->tagged = tagged;
    }
}

static void do_set(model* m)
{
    model_entity* b = any_entity(m);
    uint32_t t = chance(TYPES);
    if (b != NULL) {
        fill(m, b, t);
        CHECK_OK(orr_component_set(m->world, b->id, m->types[t], value_of(b, t)));
    }
}

static void do_many(model* m)
{
    model_entity* picked[8];
    orr_entity ids[8];
    static _Alignas(16) uint8_t values[8 * sizeof(Duo)];
    uint32_t count = pick(m, picked, 8), t = chance(TYPES), how = chance(4);
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = picked[i]->id;
        if (how == 0) { // Remove.
            memset(value_of(picked[i], t), 0, size_of(t));
            picked[i]->has[t] = false;
        } else if (how == 1) { // Add presets.
            picked[i]->has[t] = true;
        } else if (how == 2 || picked[i]->has[t]) { // Add, or set what is there.
            fill(m, picked[i], t);
        }
        memcpy(values + i * size_of(t), value_of(picked[i], t), size_of(t));
    }
    if (how == 0) {
        CHECK_OK(orr_component_remove_many(m->world, ids, count, m->types[t]));
    } else if (how < 3) {
        CHECK_OK(
            orr_component_add_many(m->world, ids, count, m->types[t], how == 1 ? NULL : values));
    } else {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (picked[i]->has[t]) {
                memmove(values + kept * size_of(t), values + i * size_of(t), size_of(t));
                ids[kept++] = ids[i];
            }
        }
        CHECK_OK(orr_component_set_many(m->world, ids, kept, m->types[t], values));
    }
}

static void do_move(model* m)
{
    model_entity* b = any_entity(m);
    if (b == NULL) {
        return;
    }
    uint32_t mask = chance(MASKS), how = chance(4);
    bool tagged = chance(2) > 0;
    orr_cluster from = orr_entity_cluster(m->world, b->id), to = cluster_of_mask(m, mask, tagged);
    if (how == 0) {
        CHECK_OK(tagged ? orr_tag_add(m->world, b->id, 5) : orr_tag_remove(m->world, b->id, 5));
        b->tagged = tagged;
        return;
    }
    orr_entity rows[MOST] = {b->id};
    uint32_t count = 1, first = 0;
    if (how == 1) {
        CHECK_OK(orr_entity_move(m->world, b->id, to));
    } else {
        count = orr_chunk_entities(m->world, from, 0, rows, MOST);
        first = how == 2 ? chance(count) : 0;
        count = how == 2 ? 1 + chance(count - first) : count;
        CHECK_OK(how == 2 ? orr_rows_move(m->world, from, first, count, to)
                          : orr_rows_move_all(m->world, from, to));
    }
    for (uint32_t i = 0; i < count; i++) {
        set_types(model_entity_of(m, rows[first + i]), mask, tagged);
    }
}

static void do_copy(model* m)
{
    model_entity* b = any_entity(m);
    for (uint32_t i = 0; b != NULL && i < MOST; i++) {
        if (m->entities[i].id.id == 0) {
            m->entities[i] = *b;
            m->entities[i].id = orr_copy(m->world, b->id);
            return;
        }
    }
}

static void do_destroy(model* m)
{
    model_entity* picked[3];
    orr_entity ids[3];
    uint32_t count = pick(m, picked, 1 + chance(3));
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = picked[i]->id;
        picked[i]->dying = true;
    }
    if (count > 0) {
        CHECK_OK(count == 1 ? orr_destroy(m->world, ids[0])
                            : orr_destroy_many(m->world, ids, count));
    }
    model_destroy(m);
}

static void do_destroy_cluster(model* m)
{
    model_entity* b = any_entity(m);
    uint32_t how = chance(8);
    if (b == NULL) {
        return;
    }
    orr_cluster cluster = orr_entity_cluster(m->world, b->id);
    uint32_t t = chance(TYPES);
    for (uint32_t i = 0; i < MOST; i++) {
        model_entity* other = &m->entities[i];
        orr_cluster its = orr_entity_cluster(m->world, other->id);
        other->dying = other->id.id != 0 && (how == 0 || (how == 1 ? other->has[t] && other->tagged
                                                                   : its.id == cluster.id));
    }
    orr_tag tag = 5;
    orr_cluster_match match = {
        .types = &m->types[t], .type_count = 1, .tags = &tag, .tag_count = 1};
    CHECK_OK(how == 0   ? orr_entities_destroy_all(m->world)
             : how == 1 ? orr_clusters_delete(m->world, &match, NULL)
             : how < 5  ? orr_cluster_clear(m->world, cluster)
                        : orr_cluster_delete(m->world, cluster));
    model_destroy(m);
}

static void model_begin(model* m, uint8_t fresh_byte)
{
    *m = (model){.k.memory.fresh_byte = fresh_byte};
    m->world = kit_begin(&m->k, NULL);
    m->types[0] = KIT_TYPE(m->world, Parent);
    m->types[1] = KIT_TYPE(m->world, Owner);
    m->types[2] = KIT_TYPE(m->world, Watch);
    m->types[3] = KIT_TYPE(m->world, Duo);
    m->types[4] = KIT_TYPE(m->world, Position);
}

static void model_step(model* m)
{
    static void (*const steps[])(model*) = {do_create, do_create, do_create, do_set,    do_set,
                                            do_set,    do_many,   do_many,   do_many,   do_move,
                                            do_move,   do_move,   do_copy,   do_destroy};
    uint32_t which = chance(3 * ORRI_COUNT(steps));
    if (which == 0) {
        do_destroy_cluster(m);
    } else if (which == 1) {
        orr_tick_advance(m->world);
    } else {
        steps[which % ORRI_COUNT(steps)](m);
    }
}

ORR_TEST(relation_random_changes_agree_with_a_scan)
{
    static model m;
    model_begin(&m, 0);
    for (uint32_t i = 0; i < (test_long() ? 50000u : 3000u); i++) {
        model_step(&m);
        check(&m);
    }
    CHECK_EQ(m.k.errors.count, 0);
    kit_end(&m.k);
}

// Two worlds with the same history, from memory of different contents, have the same hash and the
// same lists.
ORR_TEST(relation_same_history_gives_the_same_hash)
{
    static model m;
    uint64_t hashes[2];
    for (uint32_t run = 0; run < 2; run++) {
        model_begin(&m, run == 0 ? 0xAA : 0x55);
        orr_entity rows[64];
        orr_cluster cluster = cluster_of_mask(&m, 1, false);
        CHECK_OK(orr_create_many(m.world, cluster, 64, NULL, 0, rows));
        for (uint32_t i = 0; i < 400; i++) {
            uint32_t a = (uint32_t)orr_random_below(orr_random(7, i, 0, 0), 64);
            uint32_t b = (uint32_t)orr_random_below(orr_random(7, i, 1, 0), 64);
            if (!orr_alive(m.world, rows[a])) {
                rows[a] = orr_create_in(m.world, cluster);
            } else if (i % 16 == 0) {
                CHECK_OK(orr_destroy(m.world, rows[a]));
            } else if (orr_alive(m.world, rows[b])) {
                CHECK_OK(orr_set(m.world, rows[a], Parent, {rows[b]}));
            }
        }
        hashes[run] = orr_world_hash(m.world);
        kit_end(&m.k);
    }
    CHECK_EQ(hashes[0], hashes[1]);
}

// ---- memory refused -----------------------------------------------------------------------------

// A small world with everything in it, and the entities that steps use.
typedef struct scene {
    model m;
    orr_world* world;
    orr_entity root, child, owner, loose[3], found;
    orr_cluster home, bare;
    orri_share* share;
} scene;

static orr_result scene_set(scene* s)
{
    return orr_set(s->world, s->owner, Owner, {9, s->child, {s->root, s->owner, s->loose[0]}});
}

static orr_result scene_set_new(scene* s)
{
    return orr_set(s->world, s->loose[1], Duo, {.pairs = {{s->root, 1}, {s->child, 2}}});
}

static orr_result scene_create(scene* s)
{
    Parent parents[2] = {{s->root}, {s->loose[2]}};
    return orr_create_many(s->world, s->home, 2, &(orr_column_data){s->m.types[0], parents}, 1,
                           NULL);
}

static orr_result scene_add_many(scene* s)
{
    Watch values[4] = {{s->root}, {s->child}, {s->owner}, {s->loose[0]}};
    orr_entity ids[4] = {s->loose[0], s->owner, s->child, s->loose[1]};
    return orr_component_add_many(s->world, ids, 4, s->m.types[2], values);
}

static orr_result scene_set_many(scene* s)
{
    Parent values[2] = {{s->loose[0]}, {s->loose[1]}};
    orr_entity ids[2] = {s->child, s->found};
    return orr_component_set_many(s->world, ids, 2, s->m.types[0], values);
}

static orr_result scene_copy(scene* s)
{
    return orr_copy(s->world, s->owner).id != 0 ? ORR_OK : s->m.k.errors.result;
}

static orr_result scene_move_all(scene* s)
{
    return orr_rows_move_all(s->world, s->home, s->bare);
}

static orr_result scene_remove(scene* s)
{
    return orr_remove(s->world, s->child, Parent);
}

static orr_result scene_destroy(scene* s)
{
    return orr_destroy(s->world, s->root);
}

static orr_result scene_clear(scene* s)
{
    return orr_cluster_clear(s->world, s->bare);
}

static orr_result scene_delete(scene* s)
{
    return orr_clusters_delete(
        s->world, &(orr_cluster_match){.types = &s->m.types[4], .type_count = 1}, NULL);
}

// root <- child <- found; the owner refers to all, is far away by index, and its block is shared.
static void scene_begin(scene* s)
{
    model_begin(&s->m, 0);
    s->world = s->m.world;
    s->bare = KIT_CLUSTER(s->world, Position);
    s->home = KIT_CLUSTER(s->world, Parent);
    s->root = orr_create_in(s->world, s->bare);
    s->child = orr_create(s->world);
    s->found = orr_create(s->world);
    CHECK_OK(orr_set(s->world, s->child, Parent, {s->root}));
    CHECK_OK(orr_set(s->world, s->found, Parent, {s->child}));
    CHECK_OK(orr_create_many(s->world, s->bare, 3, NULL, 0, s->loose));
    CHECK_OK(orr_component_remove(s->world, s->loose[2], s->m.types[4]));
    s->owner = orr_create(s->world);
    CHECK_OK(orr_set(s->world, s->owner, Owner, {1, s->child, {s->found, s->root, {0}}}));
    orr_entity far[5000];
    CHECK_OK(orr_create_many(s->world, s->bare, 5000, NULL, 0, far));
    CHECK_OK(orr_set(s->world, far[4999], Owner, {2, s->found, {far[0], {0}, {0}}}));
    (void)orr_world_hash(s->world);
    orr_cluster cluster = orr_entity_cluster(s->world, s->owner);
    orri_chunk* chunk = orri_cluster_at(s->world, cluster)->chunks[0];
    s->share = orri_share_column(s->world, chunk, 0, ORRI_SHARE_FROZEN);
}

static void scene_sweep(orr_result (*step)(scene* s), bool for_good)
{
    static scene s;
    orr_result result = ORR_ERR_MEMORY;
    for (uint64_t n = 1; result != ORR_OK; n++) {
        scene_begin(&s);
        uint64_t before = orr_world_hash(s.world);
        failing_alloc_arm(&s.m.k.memory, n, for_good);
        result = step(&s);
        bool refused = s.m.k.memory.refused > 0;
        failing_alloc_arm(&s.m.k.memory, 0, false);
        if (result != ORR_OK) {
            CHECK(refused);
            CHECK_RESULT(result, ORR_ERR_MEMORY);
            CHECK_EQ(orr_world_hash(s.world), before);
        }
        CHECK_OK(orr_world_validate(s.world));
        CHECK_OK(result == ORR_OK ? ORR_OK : step(&s)); // A refused step can be repeated.
        orri_share_release(s.world, s.share);
        kit_end(&s.m.k);
    }
}

ORR_TEST(relation_refused_memory_changes_nothing)
{
    static orr_result (*const all[])(scene*) = {
        scene_set,      scene_set_new, scene_create,  scene_add_many, scene_set_many, scene_copy,
        scene_move_all, scene_remove,  scene_destroy, scene_clear,    scene_delete};
    for (uint32_t i = 0; i < 2 * ORRI_COUNT(all); i++) {
        scene_sweep(all[i / 2], i % 2 == 1);
    }
}
