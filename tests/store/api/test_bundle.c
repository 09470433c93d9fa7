// SPDX-License-Identifier: MIT
// Bundles: named groups of components with values, groups within groups.
#include "store/world/world.h"
#include "support/growth_kit.h"
#include "support/store_kit.h"
#include "test.h"
#include <orrery/kinds.h>

ORR_MARKER(HitReceiver)
ORR_STRUCT(HitSender, (int32_t, damage, (.preset = "1")))
ORR_STRUCT(Life, (int32_t, now, (.preset = "100", .min = 0, .max = 1000)), (int32_t, most))
ORR_STRUCT(Poisoned, (float, per_second), (char, by, 16))
ORR_STRUCT_EX(Motor, (.needs = "Position"), (float, power))
ORR_STRUCT(Parent,
           (orr_entity, entity, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_DESTROY)))
ORR_ENUM(Mood, CALM, ANGRY)

static orr_world* begin(kit* k)
{
    orr_world* world = kit_begin(k, NULL);
    (void)KIT_TYPE(world, HitReceiver);
    (void)KIT_TYPE(world, HitSender);
    (void)KIT_TYPE(world, Life);
    (void)KIT_TYPE(world, Poisoned);
    (void)KIT_TYPE(world, Position);
    (void)KIT_TYPE(world, Motor);
    (void)KIT_TYPE(world, Parent);
    (void)KIT_TYPE(world, Label);
    (void)KIT_TYPE(world, Token);
    (void)KIT_TYPE(world, Tiny);
    (void)KIT_TYPE(world, Mood);
    CHECK_OK(orr_tag_register(world, 17, "level1"));
    return world;
}

static orr_bundle made(orr_world* world, const char* name, const char* items)
{
    orr_bundle bundle;
    CHECK_OK(orr_bundle_register(world, name, items, &bundle));
    return bundle;
}

static const char* printed(const orr_world* world, orr_bundle bundle)
{
    static char text[512];
    CHECK(orr_bundle_print(world, bundle, text, sizeof text) < sizeof text);
    return text;
}

/* N3-18 */
ORR_TEST(bundle_example_creates_fighters_and_monsters)
{
    kit k = {0};
    orr_world* world = begin(&k);
    made(world, "fighter", "HitReceiver, HitSender {damage: 3}, Life {now: 50}, Poisoned");
    orr_bundle monster = made(world, "monster", "fighter, Life {now: 80}, Position, #level1");
    CHECK_STR(printed(world, monster),
              "HitReceiver, HitSender {damage: 3}, Life {now: 80, most: 0}, "
              "Poisoned, Position, #level1");
    orr_entity monsters[3];
    CHECK_OK(orr_bundle_create(world, monster, 3, monsters));
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(orr_has(world, monsters[i], HitReceiver) && orr_has(world, monsters[i], Poisoned));
        CHECK_EQ(orr_get(world, monsters[i], HitSender)->damage, 3);
        CHECK_EQ(orr_get(world, monsters[i], Life)->now, 80);
        CHECK(orr_tag_has(world, monsters[i], 17));
    }
    orr_world_stats stats;
    orr_world_stats_get(world, &stats);
    CHECK_EQ(stats.clusters, 1); // One cluster, one creation.
    CHECK_OK(orr_bundle_create(world, orr_bundle_find(world, "fighter"), 2, NULL));
    CHECK_EQ(orr_entity_count(world), 5);
    CHECK_OK(orr_bundle_create(world, monster, 0, NULL));
    kit_end(&k);
}

ORR_TEST(bundle_printed_registers_the_same)
{
    kit k = {0};
    orr_world* world = begin(&k);
    static const char* const items[] = {
        "",
        " \v Life \f ",
        "Life {}",
        "Life{now:1},Life",
        "Poisoned {by: \"a, b} \\\"#\", per_second: 1e9}, #level1 , # 99, #0x1F, #level1",
        "Label {text: \"owned {,}\", number: -4}, Mood ANGRY, HitReceiver {}",
        "Position {x: nan, y: -inf}, Parent {entity: null}"};
    static const char* const expected[] = {
        "",
        "Life",
        "Life {now: 100, most: 0}",
        "Life",
        "Poisoned {per_second: 1e+09, by: \"a, b} \\\"#\"}, #level1, #99, #31",
        "Label {text: \"owned {,}\", number: -4}, Mood ANGRY, HitReceiver",
        "Position {x: nan, y: -inf, z: 0}, Parent {entity: null}"};
    for (uint32_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        char name[8], text[256];
        snprintf(name, sizeof name, "b%u", i);
        orr_bundle bundle = made(world, name, items[i]);
        CHECK_STR(printed(world, bundle), expected[i]);
        CHECK_EQ(orr_bundle_find(world, name).id, bundle.id);
        CHECK_EQ(made(world, name, expected[i]).id, bundle.id);
        size_t length = orr_bundle_print(world, bundle, NULL, 0);
        for (size_t size = 1; size <= length + 1; size++) {
            CHECK_EQ(orr_bundle_print(world, bundle, text, size), length);
            CHECK(strlen(text) < size && memcmp(text, expected[i], strlen(text)) == 0);
        }
    }
    CHECK_EQ(orr_bundle_find(world, "b").id, 0);
    CHECK_EQ(orr_bundle_find(world, NULL).id, 0);
    orr_tick_advance(world); // The bundle holds its strings.
    orr_entity entity;
    CHECK_OK(orr_bundle_create(world, orr_bundle_find(world, "b5"), 1, &entity));
    CHECK_STR(orr_string_text(world, orr_get(world, entity, Label)->text), "owned {,}");
    CHECK_EQ(*orr_get(world, entity, Mood), ANGRY);
    kit_end(&k);
}

static void refuse_items(orr_world* world, kit* k, const char* items, orr_result result,
                         const char* words, const char* caret)
{
    orr_bundle bundle = {77};
    CHECK_RESULT(orr_bundle_register(world, "wrong", items, &bundle), result);
    CHECK_EQ(bundle.id, 77);
    CHECK_CONTAINS(k->errors.text, words);
    CHECK_CONTAINS(k->errors.text, caret);
    CHECK_EQ(orr_bundle_find(world, "wrong").id, 0);
}

ORR_TEST(bundle_text_error_reports_its_position)
{
    kit k = {0};
    orr_world* world = begin(&k);
    made(world, "fighter", "Life");
    refuse_items(world, &k, "Life, Lifr", ORR_ERR_TYPE,
                 "no type or bundle 'Lifr'; did you mean 'Life'", "\n          ^ column 7");
    refuse_items(world, &k, "figter", ORR_ERR_TYPE, "did you mean 'fighter'?", "^ column 1");
    refuse_items(world, &k, "Life, #levl1", ORR_ERR_TYPE, "did you mean 'level1'?", "^ column 8");
    refuse_items(world, &k, "Life, #Life", ORR_ERR_TYPE, "write it without '#'", "^ column 8");
    refuse_items(world, &k, "#fighter", ORR_ERR_TYPE, "write it without '#'", "^ column 2");
    refuse_items(world, &k, "level1", ORR_ERR_TYPE, "write '#' before it", "^ column 1");
    refuse_items(world, &k, "Life {noww: 3}", ORR_ERR_FIELD,
                 "Life: no field 'noww' in Life; did you", "^ column 7");
    refuse_items(world, &k, "Tiny, Life {now: 3000}", ORR_ERR_RANGE, "Life: ", "^ column 18");
    refuse_items(world, &k, "Life {now: 3", ORR_ERR_PARSE, "found the end", "^ column 13");
    refuse_items(world, &k, "Life 7", ORR_ERR_PARSE, "expected fields in { }, found '7'",
                 "^ column 6");
    refuse_items(world, &k, "Life {now: 3} 7", ORR_ERR_PARSE, "expected ',', found '7'",
                 "^ column 15");
    refuse_items(world, &k, "Life,", ORR_ERR_PARSE, "found the end", "^ column 6");
    refuse_items(world, &k, ",Life", ORR_ERR_PARSE, "found ','", "^ column 1");
    refuse_items(world, &k, "7", ORR_ERR_PARSE, "expected a type, a bundle", "^ column 1");
    refuse_items(world, &k, "\x01", ORR_ERR_PARSE, "expected a type, a bundle", "^ column 1");
    refuse_items(world, &k, "#", ORR_ERR_PARSE, "after '#'", "^ column 2");
    refuse_items(world, &k, "#12a", ORR_ERR_PARSE, "'a' is not a digit", "^ column 4");
    refuse_items(world, &k, "#18446744073709551616", ORR_ERR_PARSE, "64 bits", "^ column 2");
    refuse_items(world, &k, "fighter {now: 3}", ORR_ERR_PARSE, "',' after a bundle", "^ column 9");
    refuse_items(world, &k, "Label {text: \"gone\"}, Nobody", ORR_ERR_TYPE, "'Nobody'",
                 "^ column 23");
    char tags[400] = "#0";
    for (uint32_t i = 1; i <= ORR_CLUSTER_TAGS_MAX; i++) {
        snprintf(tags + strlen(tags), sizeof tags - strlen(tags), ",#%u", i);
    }
    refuse_items(world, &k, tags, ORR_ERR_CAPACITY, "more than 64 tags", "^ column");
    kit_end(&k);
}

ORR_TEST(bundle_name_in_use_or_invalid_is_refused)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_bundle bundle, fighter = made(world, "fighter", "Life");
    CHECK_RESULT(orr_bundle_register(world, "Life", "Tiny", &bundle), ORR_ERR_CONFLICT);
    CHECK_CONTAINS(k.errors.text, "'Life' is a type");
    CHECK_RESULT(orr_bundle_register(world, "fighter", "Tiny", &bundle), ORR_ERR_CONFLICT);
    CHECK_RESULT(orr_bundle_register(world, "fighter", "Life {now: 3}", &bundle), ORR_ERR_CONFLICT);
    CHECK_RESULT(orr_bundle_register(world, "fighter", "Life, #3", &bundle), ORR_ERR_CONFLICT);
    CHECK_RESULT(orr_bundle_register(world, "7", "Tiny", &bundle), ORR_ERR_NAME);
    CHECK_RESULT(orr_bundle_register(world, "", "Tiny", &bundle), ORR_ERR_NAME);
    CHECK_RESULT(orr_bundle_register(world, NULL, "Tiny", &bundle), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_bundle_register(world, "a", NULL, &bundle), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_bundle_register(world, "a", "Tiny", NULL), ORR_ERR_ARGUMENT);
    // A type that comes later with the bundle's name makes the name ambiguous.
    orr_type type;
    CHECK_OK(orr_type_register(world, &(orr_type_desc){.name = "fighter"}, &type));
    CHECK_RESULT(orr_bundle_register(world, "b", "Tiny, fighter", &bundle), ORR_ERR_CONFLICT);
    CHECK_CONTAINS(k.errors.text, "'fighter' is the name of a type and of a bundle");
    CHECK_RESULT(orr_bundle_create(world, (orr_bundle){0}, 1, NULL), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_bundle_create(world, (orr_bundle){9}, 1, NULL), ORR_ERR_ARGUMENT);
    CHECK_EQ(orr_bundle_print(world, (orr_bundle){9}, NULL, 0), 0);
    CHECK_OK(orr_bundle_create(world, fighter, 1, NULL));
    kit_end(&k);
}

ORR_TEST(bundle_add_adds_missing_types_in_one_move)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_bundle bundle = made(
        world, "car", "Motor {power: 5}, Life {now: 9}, Label {text: \"car\"}, Token, #level1");
    orr_entity a = orr_create(world);
    CHECK_OK(orr_set(world, a, Life, {77, 1}));
    orr_world_stats before, after;
    orr_world_stats_get(world, &before);
    CHECK_OK(orr_bundle_add(world, a, bundle));
    orr_world_stats_get(world, &after);
    CHECK_EQ(after.clusters, before.clusters + 1);
    CHECK_EQ(orr_get(world, a, Life)->now, 77); // Existing values are kept.
    CHECK(orr_get(world, a, Motor)->power == 5);
    CHECK(orr_has(world, a, Position)); // Needed by the motor.
    CHECK_STR(orr_string_text(world, orr_get(world, a, Label)->text), "car");
    CHECK(kit_token_sound(orr_get(world, a, Token)) && orr_tag_has(world, a, 17));
    CHECK_OK(orr_bundle_add(world, a, bundle)); // Nothing is missing.
    CHECK_OK(orr_set(world, a, Tiny, {3}));
    CHECK_OK(orr_world_validate(world));
    CHECK_OK(orr_bundle_remove(world, a, bundle));
    CHECK(!orr_has(world, a, Motor) && !orr_has(world, a, Life) && !orr_has(world, a, Token));
    CHECK(!orr_tag_has(world, a, 17));
    CHECK(orr_has(world, a, Position)); // Not part of the bundle.
    CHECK_EQ(orr_get(world, a, Tiny)->value, 3);
    CHECK_OK(orr_bundle_remove(world, a, bundle)); // It has none of the types.
    CHECK_OK(orr_destroy(world, a));
    CHECK_RESULT(orr_bundle_add(world, a, bundle), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_bundle_remove(world, a, bundle), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_bundle_add(world, orr_create(world), (orr_bundle){0}), ORR_ERR_ARGUMENT);
    kit_end(&k);
}

ORR_TEST(bundle_remove_of_a_needed_type_is_refused)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_bundle place = made(world, "place", "Position"),
               both = made(world, "both", "Motor, Position");
    orr_entity a;
    CHECK_OK(orr_bundle_create(world, both, 1, &a));
    CHECK_RESULT(orr_bundle_remove(world, a, place), ORR_ERR_STATE);
    CHECK_CONTAINS(k.errors.text, "Position of entity 0v1 is needed by Motor; remove Motor first");
    CHECK_OK(orr_bundle_remove(world, a, both));
    CHECK_EQ(kit_info(world, orr_entity_cluster(world, a)).type_count, 0);
    kit_end(&k);
}

ORR_TEST(bundle_with_references_is_indexed_and_checked)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_entity root = orr_create(world), a = orr_create(world), out[3];
    CHECK_EQ(root.id, (uint64_t)1 << 32);
    orr_bundle child = made(world, "child", "Parent {entity: 0v1}");
    CHECK_OK(orr_bundle_create(world, child, 2, NULL));
    CHECK_OK(orr_bundle_add(world, a, child));
    CHECK_EQ(orr_referrers_get(world, root, KIT_TYPE(world, Parent), NULL, out, 3), 3);
    CHECK_OK(orr_bundle_remove(world, a, child));
    CHECK_OK(orr_destroy(world, root));
    CHECK_EQ(orr_entity_count(world), 1);
    uint64_t before = orr_world_hash(world);
    CHECK_RESULT(orr_bundle_create(world, child, 2, NULL), ORR_ERR_ENTITY);
    CHECK_RESULT(orr_bundle_add(world, a, child), ORR_ERR_ENTITY);
    CHECK_CONTAINS(k.errors.text, "refers to entity 0v1, which is not alive");
    CHECK_EQ(orr_world_hash(world), before);
    kit_end(&k);
}

ORR_TEST(bundle_calls_are_refused_while_an_appender_is_open)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_bundle bundle = made(world, "thing", "Tiny {value: 3}");
    orr_entity a = orr_create(world);
    orr_appender appender;
    CHECK_OK(orr_append_begin(world, KIT_CLUSTER(world, Tiny), NULL, 0, &appender));
    CHECK_RESULT(orr_bundle_create(world, bundle, 1, NULL), ORR_ERR_STATE);
    CHECK_RESULT(orr_bundle_add(world, a, bundle), ORR_ERR_STATE);
    CHECK_RESULT(orr_bundle_remove(world, a, bundle), ORR_ERR_STATE);
    made(world, "other", "thing, #4"); // Registering moves nothing.
    orr_append_end(&appender);
    kit_end(&k);
}

// Bundles are not state: worlds with and without them have the same hash.
ORR_TEST(bundle_is_not_part_of_the_hash)
{
    kit a = {0}, b = {0};
    orr_world *first = begin(&a), *second = begin(&b);
    orr_bundle bundle = made(first, "thing", "Tiny {value: 3}, Life");
    CHECK_EQ(orr_world_hash(first), orr_world_hash(second));
    orr_entity one;
    CHECK_OK(orr_bundle_create(first, bundle, 1, &one));
    orr_cluster cluster = KIT_CLUSTER(second, Tiny, Life);
    Tiny tiny = {3};
    CHECK_OK(orr_create_many(second, cluster, 1, &(orr_column_data){KIT_TYPE(second, Tiny), &tiny},
                             1, NULL));
    CHECK_EQ(orr_world_hash(first), orr_world_hash(second));
    kit_end(&b);
    kit_end(&a);
}

// ---- multiple and pinned types ------------------------------------------------------------------

ORR_STRUCT_EX(Collider, (.multiplicity = ORR_MULTIPLE), (float, radius, (.preset = "1")))
ORR_STRUCT_EX(Body, (.storage = ORR_PINNED), (float, mass, (.preset = "4")), (orr_string, text))
ORR_STRUCT_EX(Charm, (.multiplicity = ORR_MULTIPLE, .hooks = &kit_token_hooks), (TokenCell, cell))
ORR_STRUCT_EX(Ghost, (.storage = ORR_PINNED, .hooks = &kit_token_hooks), (TokenCell, cell))

static float radius_of(const orr_world* world, orr_entity entity, uint32_t i, uint32_t* count)
{
    const void* values;
    *count = orr_instances_get(world, entity, orr_type_find(world, "Collider"), &values, NULL);
    return i < *count ? ((const Collider*)values)[i].radius : -1;
}

ORR_TEST(bundle_with_multiple_types_gives_all_instances)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_type collider = KIT_TYPE(world, Collider);
    made(world, "ball", "Collider {radius: 2}, Life");
    orr_bundle bundle = made(world, "snowman", "ball, Collider {radius: 3}, Collider, ball");
    CHECK_STR(printed(world, bundle), "Collider {radius: 2}, Life, Collider {radius: 3}, Collider, "
                                      "Collider {radius: 2}");
    orr_entity made_many[3], has = orr_create(world), lacks = orr_create(world);
    CHECK_OK(orr_bundle_create(world, bundle, 3, made_many));
    CHECK_OK(orr_bundle_create(world, bundle, 1, NULL));
    CHECK(orr_instance_add(world, has, collider, &(Collider){9}) != 0);
    CHECK_OK(orr_bundle_add(world, has, bundle));
    CHECK_OK(orr_bundle_add(world, lacks, bundle));
    static const float expected[4] = {2, 3, 1, 2};
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t count;
        CHECK(radius_of(world, made_many[i % 3], i, &count) == expected[i] && count == 4);
        CHECK(radius_of(world, lacks, i, &count) == expected[i] && count == 4);
    }
    uint32_t count;
    CHECK(radius_of(world, has, 0, &count) == 9 && count == 1); // Existing instances are kept.
    CHECK_OK(orr_bundle_remove(world, lacks, bundle));
    CHECK(!orr_component_has(world, lacks, collider) && !orr_has(world, lacks, Life));
    CHECK_OK(orr_world_validate(world));
    char name[8] = "c0", text[16]; // Doubling: 2, 4 … 1024 instances, and then no more.
    made(world, name, "Collider, Collider");
    for (uint32_t i = 1; i < 10; i++) {
        snprintf(text, sizeof text, "c%u, c%u", i - 1, i - 1);
        snprintf(name, sizeof name, "c%u", i);
        made(world, name, text);
    }
    refuse_items(world, &k, "Life, c9, c9", ORR_ERR_CAPACITY,
                 "more than 1024 instances of Collider", "^ column 11");
    kit_end(&k);
}

ORR_TEST(bundle_with_pinned_types_sets_them)
{
    kit k = {0};
    orr_world* world = begin(&k);
    orr_type body = KIT_TYPE(world, Body);
    orr_bundle bundle = made(world, "stone", "Body {mass: 7, text: \"heavy\"}, Tiny {value: 1}");
    orr_entity stones[2], a = orr_create(world);
    CHECK_OK(orr_bundle_create(world, bundle, 2, stones));
    CHECK_OK(orr_bundle_create(world, bundle, 1, NULL));
    CHECK_EQ(orr_pinned_count(world, body), 3);
    CHECK(orr_get(world, stones[1], Body)->mass == 7);
    CHECK_STR(orr_string_text(world, orr_get(world, stones[1], Body)->text), "heavy");
    CHECK_OK(orr_add(world, a, Body));
    const Body* pinned = orr_get(world, a, Body);
    CHECK_OK(orr_bundle_add(world, a, bundle));
    CHECK(pinned == orr_get(world, a, Body) && pinned->mass == 4);
    CHECK_OK(orr_bundle_remove(world, a, bundle));
    CHECK(!orr_has(world, a, Body) && !orr_has(world, a, Tiny));
    CHECK_OK(orr_bundle_add(world, a, bundle));
    CHECK(orr_get(world, a, Body)->mass == 7);
    CHECK_OK(orr_world_validate(world));
    kit_end(&k);
}

// ---- memory and hooks refused ------------------------------------------------------------------------

typedef struct scene {
    kit k;
    orr_world* world;
    orr_bundle bundle;
    orr_entity a, root;
} scene;

static orr_result do_register(scene* s)
{
    orr_bundle out;
    return orr_bundle_register(s->world, "second",
                               "first, Label {text: \"another text\"}, Poisoned {by: \"x\"}, #9",
                               &out);
}

static orr_result do_create(scene* s)
{
    return orr_bundle_create(s->world, s->bundle, 5, NULL);
}

static orr_result do_add(scene* s)
{
    return orr_bundle_add(s->world, s->a, s->bundle);
}

static orr_result do_remove(scene* s)
{
    return orr_bundle_remove(s->world, s->root, s->bundle);
}

static const char plain_items[] = "Life {now: 3}, Token, Label {text: \"some text\"}, "
                                  "Motor {power: 1}, Parent {entity: 0v1}, #level1";
// Pinned values, and instances after the first, with hooks and owned strings: they are not created
// by moving the row.
static const char other_items[] =
    "Tiny, Collider, Collider {radius: 5}, Charm, Body, Token, Charm, "
    "Ghost, Collider, Life {now: 3}";

// Memory is refused once, or (`for_good`) from then on: undoing the call must not need memory.
static void sweep(orr_result (*step)(scene* s), const char* items, bool by_hook, bool for_good)
{
    orr_result result = ORR_ERR_MEMORY;
    for (uint32_t n = 1; result != ORR_OK; n++) {
        scene s = {0};
        s.world = begin(&s.k);
        (void)KIT_TYPE(s.world, Collider), (void)KIT_TYPE(s.world, Body);
        (void)KIT_TYPE(s.world, Charm), (void)KIT_TYPE(s.world, Ghost);
        s.root = orr_create(s.world);
        s.bundle = made(s.world, "first", items);
        s.a = orr_create(s.world);
        CHECK_OK(orr_add(s.world, s.a, Life));
        CHECK_OK(orr_add(s.world, s.root, Life));
        uint64_t before = orr_world_hash(s.world);
        if (by_hook) {
            kit_tokens.refuse_after = n;
        } else {
            failing_alloc_arm(&s.k.memory, n, for_good);
        }
        result = step(&s);
        kit_tokens.refuse_after = 0;
        failing_alloc_arm(&s.k.memory, 0, false);
        if (result != ORR_OK) {
            CHECK_RESULT(result, by_hook ? ORR_ERR_HOOK : ORR_ERR_MEMORY);
            CHECK_EQ(orr_world_hash(s.world), before);
            CHECK_OK(orr_world_validate(s.world));
            CHECK_OK(step(&s));
        }
        CHECK_OK(orr_world_validate(s.world));
        kit_end(&s.k);
    }
}

ORR_TEST(bundle_refused_memory_or_hook_changes_nothing)
{
    sweep(do_register, plain_items, false, false);
    sweep(do_create, plain_items, false, false);
    sweep(do_add, plain_items, false, false);
    sweep(do_remove, plain_items, false, false);
    sweep(do_create, plain_items, true, false);
    sweep(do_add, plain_items, true, false);
}

ORR_TEST(bundle_with_pinned_or_multiple_types_refused_changes_nothing)
{
    for (uint32_t for_good = 0; for_good < 2; for_good++) {
        sweep(do_create, other_items, false, for_good);
        sweep(do_add, other_items, false, for_good);
        sweep(do_remove, other_items, false, for_good);
    }
    sweep(do_create, other_items, true, false);
    sweep(do_add, other_items, true, false);
}

// Random bundles of random types, nested, compared with sets of bits with values.
ORR_TEST(bundle_random_changes_agree_with_sets)
{
    enum {
        COUNT = 6,
        BUNDLES = 20
    };
    static const char* const names[COUNT] = {"Life",     "HitSender", "Poisoned",
                                             "Position", "Motor",     "Tiny"};
    kit k = {0};
    orr_world* world = begin(&k);
    struct {
        bool has[COUNT];
        uint32_t damage; // Of the HitSender.
    } model[BUNDLES] = {0};
    orr_bundle bundles[BUNDLES];
    for (uint32_t i = 0; i < BUNDLES; i++) {
        char text[512] = "", name[8];
        uint32_t items = (uint32_t)(test_random() % 5);
        for (uint32_t j = 0; j < items; j++) {
            uint32_t t = (uint32_t)(test_random() % COUNT), length = (uint32_t)strlen(text);
            const char* comma = j > 0 ? ", " : "";
            if (i > 0 && test_random() % 3 == 0) {
                uint32_t other = (uint32_t)(test_random() % i);
                snprintf(text + length, sizeof text - length, "%sb%u", comma, other);
                for (uint32_t c = 0; c < COUNT; c++) {
                    model[i].has[c] = model[i].has[c] || model[other].has[c];
                }
                model[i].damage = model[other].has[1] ? model[other].damage : model[i].damage;
            } else if (t == 1) {
                model[i].damage = (uint32_t)(test_random() % 50);
                snprintf(text + length, sizeof text - length, "%sHitSender {damage: %u}", comma,
                         model[i].damage);
            } else {
                snprintf(text + length, sizeof text - length, "%s%s", comma, names[t]);
            }
            model[i].has[t] = model[i].has[t] || text[length + strlen(comma)] != 'b';
        }
        snprintf(name, sizeof name, "b%u", i);
        bundles[i] = made(world, name, text);
    }
    orr_type types[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        types[i] = orr_type_find(world, names[i]);
    }
    bool has[COUNT] = {0};
    int32_t damage = 0;
    orr_entity a = orr_create(world);
    for (uint32_t step = 0; step < 500; step++) {
        uint32_t i = (uint32_t)(test_random() % BUNDLES);
        if (test_random() % 2 == 0) {
            CHECK_OK(orr_bundle_add(world, a, bundles[i]));
            damage = model[i].has[1] && !has[1] ? (int32_t)model[i].damage : damage;
            for (uint32_t c = 0; c < COUNT; c++) {
                has[c] = has[c] || model[i].has[c];
            }
            has[3] = has[3] || has[4]; // A motor needs a position.
        } else {
            bool refused = has[3] && has[4] && model[i].has[3] && !model[i].has[4];
            CHECK_RESULT(orr_bundle_remove(world, a, bundles[i]), refused ? ORR_ERR_STATE : ORR_OK);
            for (uint32_t c = 0; c < COUNT && !refused; c++) {
                has[c] = has[c] && !model[i].has[c];
            }
        }
        for (uint32_t c = 0; c < COUNT; c++) {
            CHECK_EQ(orr_component_has(world, a, types[c]), has[c]);
        }
        CHECK(!has[1] || orr_get(world, a, HitSender)->damage == damage);
    }
    kit_end(&k);
}

// ---- growth -------------------------------------------------------------------------------------

// Each bundle contains the one before it.
static void register_nested(growth_clock* clock_of, uint32_t n)
{
    kit k;
    orr_world* world = kit_begin(&k, NULL);
    ORR_REGISTER(world, Position);
    orr_bundle bundle;
    char name[16] = "Position", next[16];
    growth_begin(clock_of);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(next, sizeof next, "b%u", i);
        CHECK_OK(orr_bundle_register(world, next, name, &bundle));
        CHECK_EQ(orr_bundle_find(world, next).id, i + 1);
        memcpy(name, next, sizeof name);
    }
    growth_end(clock_of);
    kit_end(&k);
}

ORR_TEST(bundles_are_registered_and_found_in_near_linear_time)
{
    CHECK_NEAR_LINEAR(register_nested, 500);
}
