// SPDX-License-Identifier: MIT
// Multiple types with hooks and owned strings: hooks are called once for each instance; shared
// blocks keep their values; a refusal by a hook or of memory changes nothing.
#include "store/cow/share.h"
#include "support/store_kit.h"
#include "test.h"
#include <orrery/kinds.h>

ORR_STRUCT_EX(Charm, (.multiplicity = ORR_MULTIPLE, .hooks = &kit_token_hooks), (TokenCell, cell))
ORR_STRUCT_EX(Note, (.multiplicity = ORR_MULTIPLE), (orr_string, text), (int32_t, number))

static Charm charm(uint32_t payload)
{
    return (Charm){kit_token(payload).cell};
}

static orr_component_id add_charm(orr_world* world, orr_entity entity, uint32_t payload)
{
    Charm value = charm(payload);
    return orr_instance_add(world, entity, KIT_TYPE(world, Charm), &value);
}

static void check_charms(const orr_world* world, orr_entity entity, uint32_t count,
                         const uint32_t* payloads)
{
    const void* values;
    CHECK_EQ(orr_instances_get(world, entity, orr_type_find(world, "Charm"), &values, NULL), count);
    for (uint32_t i = 0; i < count; i++) {
        const Charm* value = (const Charm*)values + i;
        CHECK(kit_token_sound((const Token*)(const void*)value));
        CHECK_EQ(value->cell.payload, payloads[i]);
    }
}

ORR_TEST(multiple_hooks_construct_and_destruct_each_instance_once)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Charm);
    kit_tokens.payload_fresh = 7;
    orr_entity bob = orr_create(world);
    orr_component_id ids[6];
    for (uint32_t i = 0; i < 5; i++) {
        ids[i] = add_charm(world, bob, i);
    }
    ids[5] = orr_instance_add(world, bob, type, NULL);
    CHECK_EQ(kit_tokens.copies, 5);
    CHECK_EQ(kit_tokens.constructs, 1);
    CHECK_EQ(kit_tokens.destructs, 0);
    check_charms(world, bob, 6, (uint32_t[]){0, 1, 2, 3, 4, 7});
    Charm value = charm(30);
    CHECK_OK(orr_instance_set(world, bob, type, ids[3], &value));
    CHECK_EQ(kit_tokens.destructs, 1);
    CHECK_OK(orr_instance_remove(world, bob, type, ids[1]));
    CHECK_EQ(kit_tokens.destructs, 2);
    check_charms(world, bob, 5, (uint32_t[]){0, 2, 30, 4, 7});
    orr_entity copy = orr_copy(world, bob);
    CHECK_EQ(kit_tokens.live, 10);
    CHECK_OK(orr_component_add(world, bob, KIT_TYPE(world, Health)));
    CHECK_OK(orr_tag_add(world, copy, 4));
    check_charms(world, bob, 5, (uint32_t[]){0, 2, 30, 4, 7});
    check_charms(world, copy, 5, (uint32_t[]){0, 2, 30, 4, 7});
    CHECK_OK(orr_component_remove(world, bob, type));
    CHECK_EQ(kit_tokens.live, 5);
    CHECK_OK(orr_destroy(world, copy));
    CHECK_EQ(kit_tokens.live, 0);
    kit_end(&k);
}

ORR_TEST(multiple_hooks_of_many_rows_are_balanced)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Charm), health = KIT_TYPE(world, Health);
    enum {
        COUNT = 300
    };
    static orr_entity ids[COUNT];
    static Charm values[COUNT];
    orr_cluster cluster;
    CHECK_OK(
        orr_cluster_get(world, &(orr_cluster_desc){&type, 1, NULL, 0, (uint16_t[]){4}}, &cluster));
    for (uint32_t i = 0; i < COUNT; i++) {
        values[i] = charm(i);
    }
    orr_column_data data = {type, values};
    CHECK_OK(orr_create_many(world, cluster, COUNT, &data, 1, ids)); // Its block grows on the way.
    for (uint32_t i = 0; i < COUNT; i += 2) {
        CHECK(add_charm(world, ids[i], 1000 + i) != 0);
    }
    CHECK_OK(orr_component_add_many(world, ids, COUNT, health, NULL));
    CHECK_OK(orr_component_remove_many(world, ids, COUNT / 2, health));
    CHECK_OK(orr_destroy_many(world, ids + 10, 100));
    CHECK_OK(orr_component_remove_many(world, ids + 200, 50, type));
    CHECK_OK(orr_component_add_many(world, ids + 200, 50, type, values));
    CHECK_EQ(kit_tokens.live, 275);
    for (uint32_t i = 0; i < COUNT; i++) {
        if (i >= 200 && i < 250) {
            check_charms(world, ids[i], 1, (uint32_t[]){i - 200});
        } else if (i < 10 || i >= 110) {
            check_charms(world, ids[i], i % 2 == 0 ? 2 : 1, (uint32_t[]){i, 1000 + i});
        }
    }
    CHECK_OK(orr_cluster_clear(world, cluster));
    CHECK_OK(orr_entities_destroy_all(world));
    CHECK_EQ(kit_tokens.live, 0);
    CHECK_EQ(kit_tokens.broken, 0);
    kit_end(&k);
}

ORR_TEST(multiple_hook_refusing_changes_nothing)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Charm);
    orr_entity bob = orr_create(world), eve = orr_create(world);
    orr_component_id first = add_charm(world, bob, 1);
    CHECK(add_charm(world, bob, 2) != 0);
    Charm value = charm(9);
    uint64_t hash = orr_world_hash(world);
    orr_world_stats before, after;
    orr_world_stats_get(world, &before);
    for (uint32_t way = 0; way < 6; way++) {
        kit_tokens.refuse_after = 1;
        if (way == 0) { // Full: a larger cluster would be needed.
            CHECK_EQ(add_charm(world, bob, 3), 0);
        } else if (way == 1) {
            CHECK_EQ(orr_instance_add(world, bob, type, NULL), 0);
        } else if (way == 2) {
            CHECK_RESULT(orr_instance_set(world, bob, type, first, &value), ORR_ERR_HOOK);
        } else if (way == 3) {
            CHECK_EQ(add_charm(world, eve, 3), 0); // The first one.
        } else if (way == 4) {
            kit_tokens.refuse_after = 1;
            CHECK_EQ(orr_copy(world, bob).id, 0);
        } else {
            CHECK_RESULT(orr_component_add(world, eve, type), ORR_ERR_HOOK);
        }
        CHECK_EQ(k.errors.result, ORR_ERR_HOOK);
        CHECK_EQ(kit_tokens.refuse_after, 0);
        orr_world_stats_get(world, &after);
        CHECK_EQ(after.clusters, before.clusters);
        CHECK(orr_world_hash(world) == hash);
        CHECK_OK(orr_world_validate(world));
    }
    CHECK(add_charm(world, bob, 3) != 0); // Now there is room for a fourth.
    hash = orr_world_hash(world);
    kit_tokens.refuse_after = 1;
    CHECK_EQ(add_charm(world, bob, 4), 0);
    CHECK(orr_world_hash(world) == hash);
    check_charms(world, bob, 3, (uint32_t[]){1, 2, 3});
    // In the middle of many: instances constructed before the refusal are destructed.
    orr_cluster cluster = orr_entity_cluster(world, bob);
    kit_tokens.refuse_after = 40;
    CHECK_RESULT(orr_create_many(world, cluster, 60, NULL, 0, NULL), ORR_ERR_HOOK);
    CHECK_EQ(kit_tokens.live, 3);
    kit_end(&k);
}

static orr_component_id add_note(orr_world* world, orr_entity entity, const char* text)
{
    return orr_instance_add(world, entity, KIT_TYPE(world, Note),
                            &(Note){orr_string_make(world, text), 1});
}

ORR_TEST(multiple_owned_strings_are_counted)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type type = KIT_TYPE(world, Note);
    orr_entity bob = orr_create(world);
    orr_component_id a = add_note(world, bob, "first note"), b = add_note(world, bob, "second");
    CHECK(add_note(world, bob, "first note") != 0);
    orr_tick_advance(world);
    orr_world_stats stats;
    orr_world_stats_get(world, &stats);
    CHECK_EQ(stats.blobs, 2);
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(orr_instance_remove(world, bob, type, a));
    CHECK_OK(orr_instance_set(world, bob, type, b, &(Note){orr_string_make(world, "other"), 2}));
    orr_entity eve = orr_copy(world, bob);
    CHECK_OK(orr_tag_add(world, eve, 1));
    orr_tick_advance(world);
    orr_world_stats_get(world, &stats);
    CHECK_EQ(stats.blobs, 2);
    const Note* note = orr_instance_get(world, bob, type, b);
    CHECK_STR(orr_string_text(world, note->text), "other");
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(orr_destroy(world, bob));
    CHECK_OK(orr_component_remove(world, eve, type));
    orr_tick_advance(world);
    orr_world_stats_get(world, &stats);
    CHECK_EQ(stats.blobs, 0);
    orr_string gone = orr_string_make(world, "gone soon");
    orr_tick_advance(world);
    CHECK_EQ(orr_instance_add(world, eve, type, &(Note){gone, 0}), 0);
    CHECK_EQ(k.errors.result, ORR_ERR_ARGUMENT);
    kit_end(&k);
}

// ---- shared blocks -------------------------------------------------------------------------------

ORR_TEST(multiple_shared_blocks_keep_their_values)
{
    for (uint32_t round = 0; round < 12; round++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_type types[] = {KIT_TYPE(world, Charm), KIT_TYPE(world, Note)};
        orr_cluster cluster;
        CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){types, 2, NULL, 0, (uint16_t[]){4, 4}},
                                 &cluster));
        orr_entity bob = orr_create_in(world, cluster);
        CHECK(orr_create_in(world, cluster).id != 0);
        orr_component_id id = add_charm(world, bob, 5);
        CHECK(add_note(world, bob, "held") != 0);
        CHECK_OK(orr_instance_enable(world, bob, types[0], id, false));
        orri_chunk* chunk = orri_cluster_at(world, cluster)->chunks[0];
        orri_share_kind kind = round % 2 == 0 ? ORRI_SHARE_FROZEN : ORRI_SHARE_HISTORY;
        orri_share* shares[32];
        uint32_t count = chunk->column_count;
        CHECK_EQ(count, 14);
        for (uint32_t c = 0; c < count; c++) {
            shares[c] = orri_share_column(world, chunk, c, kind);
            CHECK(shares[c] != NULL);
        }
        switch (round / 2) {
        case 0:
            CHECK(add_charm(world, bob, 6) != 0);
            CHECK(add_note(world, bob, "new") != 0);
            break;
        case 1:
            CHECK_OK(orr_instance_remove(world, bob, types[0], id));
            break;
        case 2:
            CHECK_OK(orr_instance_enable(world, bob, types[0], id, true));
            break;
        case 3:
            CHECK_OK(orr_cluster_delete(world, cluster));
            break;
        case 4: {
            orr_cluster one;
            CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){types, 1, NULL, 0, (uint16_t[]){4}},
                                     &one));
            CHECK_OK(orr_rows_move_all(world, cluster, one));
            break;
        }
        default: {
            Charm value = charm(8);
            CHECK_OK(orr_instance_set(world, bob, types[0], id, &value));
            ((Note*)orr_column_write(world, cluster, 0, types[1]))[0].number = 3;
        }
        }
        const Charm* charms = shares[0]->data;
        const uint16_t* counts = shares[3]->data;
        const uint64_t* bits = shares[7]->data;
        CHECK_EQ(charms[1].cell.payload, 5);
        CHECK(kit_token_sound((const Token*)(const void*)&charms[1]));
        CHECK_EQ(counts[0], 2);
        CHECK_EQ(counts[1], 1);
        CHECK_EQ(bits[0] & 0xFF, 0xFD);
        CHECK_OK(orr_world_validate(world));
        for (uint32_t c = 0; c < count; c++) {
            orri_share_release(world, shares[c]);
        }
        kit_end(&k);
    }
}

// ---- out of memory -------------------------------------------------------------------------------

enum {
    MANY = 70,
    STEPS = 22
};

typedef struct script {
    kit k;
    orr_world* world;
    orr_type charm, note, health;
    orr_cluster wide, narrow;
    orr_entity bob, many[MANY];
    orr_component_id ids[8];
    orri_share* shares[64];
    uint32_t share_count;
} script;

static orr_result script_id(script* s, uint32_t i, orr_component_id id)
{
    s->ids[i] = id;
    return id != 0 ? ORR_OK : s->k.errors.result;
}

static orr_result script_hold(script* s)
{
    const orri_cluster* cluster = orri_cluster_at(s->world, s->wide);
    while (s->share_count < cluster->chunks[0]->column_count) {
        orri_share* share =
            orri_share_column(s->world, cluster->chunks[0], s->share_count, ORRI_SHARE_FROZEN);
        if (share == NULL) {
            return s->k.errors.result;
        }
        s->shares[s->share_count++] = share;
    }
    return ORR_OK;
}

static orr_result script_release(script* s)
{
    while (s->share_count > 0) {
        orri_share_release(s->world, s->shares[--s->share_count]);
    }
    return ORR_OK;
}

static orr_result script_cluster(script* s, uint16_t capacity, orr_cluster* out)
{
    orr_type types[] = {s->charm, s->note};
    return orr_cluster_get(
        s->world, &(orr_cluster_desc){types, 2, NULL, 0, (uint16_t[]){capacity, capacity}}, out);
}

static orr_result script_step(script* s, uint32_t step)
{
    orr_world* world = s->world;
    Charm value = charm(step);
    switch (step) {
    case 0:
        return orr_type_register(world, ORR_TYPE(Charm), &s->charm);
    case 1:
        return orr_type_register(world, ORR_TYPE(Note), &s->note);
    case 2:
        return orr_type_register(world, ORR_TYPE(Health), &s->health);
    case 3:
        return script_cluster(s, 4, &s->wide);
    case 4:
        return script_cluster(s, 1, &s->narrow);
    case 5:
        s->bob = orr_create(world);
        return s->bob.id != 0 ? ORR_OK : s->k.errors.result;
    case 6:
        return script_id(s, 0, orr_instance_add(world, s->bob, s->charm, &value));
    case 7:
        return script_id(s, 1, orr_instance_add(world, s->bob, s->charm, &value));
    case 8:
        return script_id(s, 2, orr_instance_add(world, s->bob, s->charm, NULL));
    case 9:
        return orr_instance_enable(world, s->bob, s->charm, s->ids[1], false);
    case 10:
        return orr_component_add(world, s->bob, s->health);
    case 11:
        return orr_create_many(world, s->wide, MANY, NULL, 0, s->many);
    case 12:
        return script_hold(s);
    case 13:
        return script_id(s, 3, orr_instance_add(world, s->many[3], s->charm, &value));
    case 14:
        return orr_instance_enable(world, s->many[3], s->charm, s->ids[3], false);
    case 15:
        return orr_instance_set(world, s->many[3], s->charm, s->ids[3], &value);
    case 16:
        return orr_instance_remove(world, s->many[3], s->charm, s->ids[3]);
    case 17:
        return orr_rows_move_all(world, s->wide, s->narrow);
    case 18:
        return script_release(s);
    case 19:
        return orr_copy(world, s->bob).id != 0 ? ORR_OK : s->k.errors.result;
    case 20:
        return orr_instance_remove(world, s->bob, s->charm, s->ids[0]);
    default:
        return orr_component_remove_many(world, s->many, MANY, s->note);
    }
}

static void script_check(script* s, uint32_t step, uint64_t hash, const orr_world_stats* before)
{
    orr_world_stats after;
    orr_world_stats_get(s->world, &after);
    CHECK_EQ(s->k.errors.result, ORR_ERR_MEMORY);
    if (orr_world_hash(s->world) != hash || after.clusters != before->clusters ||
        after.entities != before->entities || orr_world_validate(s->world) != ORR_OK) {
        test_fail(__FILE__, __LINE__, "step %u was refused, and the world is another", step);
    }
}

// True when some allocation was refused.
static bool script_run(uint64_t nth)
{
    static script s;
    memset(&s, 0, sizeof s);
    s.world = kit_begin(&s.k, NULL);
    failing_alloc_arm(&s.k.memory, nth, false);
    for (uint32_t step = 0; step < STEPS; step++) {
        orr_world_stats before;
        orr_world_stats_get(s.world, &before);
        uint64_t hash = orr_world_hash(s.world);
        if (script_step(&s, step) != ORR_OK) {
            script_check(&s, step, hash, &before);
            CHECK_OK(script_step(&s, step)); // It can be repeated.
        }
    }
    bool refused = s.k.memory.refused > 0;
    failing_alloc_arm(&s.k.memory, 0, false);
    (void)script_release(&s);
    kit_end(&s.k);
    return refused;
}

ORR_TEST(multiple_every_allocation_refused_once_changes_nothing)
{
    uint64_t nth = 1;
    while (script_run(nth)) {
        nth++;
    }
    CHECK(nth > 60);
}
