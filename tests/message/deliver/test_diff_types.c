// SPDX-License-Identifier: MIT
// The diff of everything that is not a plain value in a chunk: enable bits, tags, names, instances,
// pinned values, texts, hooks.
#include "message/deliver/stage_kit.h"

// ---- enable bits, tags, names -------------------------------------------------------------------

ORR_TEST(enable_bits_are_sent_to_readers_that_name_them)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "either *, either Tiny, ?orr_enabled");
    orri_reader* plain = deliver_kit_reader(w, "either *, either Tiny");
    orr_entity a = orr_create(w), b = orr_create(w);
    orr_set(w, a, Tiny, {1});
    orr_set(w, b, Tiny, {2});
    CHECK_OK(orr_entity_enable(w, b, false));
    CHECK_OK(orr_component_enable(w, b, KIT_TYPE(w, Tiny), false));
    RECEIVES(r, "EntityAdded created 0v1 1v1 {Tiny} Tiny: {value: 1}, {value: 2}\n"
                "ComponentChanged enabled orr_enabled 1v1 -*\n"
                "ComponentChanged enabled orr_enabled 1v1 -Tiny\n");
    TAKES(plain, "EntityAdded created 0v1 1v1 {Tiny} Tiny: {value: 1}, {value: 2}\n");
    CHECK_OK(orr_component_enable(w, b, KIT_TYPE(w, Tiny), true));
    CHECK_OK(orr_entity_enable(w, a, false));
    RECEIVES(r, "ComponentChanged enabled orr_enabled 0v1 -*\n"
                "ComponentChanged enabled orr_enabled 1v1 +Tiny\n");
    CHECK_OK(orr_entity_enable(w, a, true));
    CHECK_OK(orr_entity_enable(w, a, false));
    RECEIVES(r, "");
    CHECK_OK(orr_entity_enable(w, a, true));
    orr_add(w, a, Frozen); // Enable bits are removed with their entity.
    orr_add(w, b, Frozen);
    RECEIVES(r, "ComponentChanged enabled orr_enabled 0v1 +*\n");
    // A component that is removed takes its enable bit along.
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Tiny), false));
    RECEIVES(r, "ComponentChanged enabled orr_enabled 0v1 -Tiny\n");
    orr_remove(w, a, Tiny);
    orr_set(w, a, Tiny, {1});
    RECEIVES(r, "ComponentChanged enabled orr_enabled 0v1 +Tiny\n");
    TAKES(plain, "");
    stage_end(&s);
}

ORR_TEST(second_reader_of_enable_bits_receives_what_is_disabled)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* first = deliver_kit_reader(w, "either *, ?orr_enabled, ?Tiny");
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {1});
    CHECK_OK(orr_entity_enable(w, a, false));
    (void)deliver_kit_diff(w, first);
    orri_reader* second =
        deliver_kit_reader_of(w, "either *, ?orr_enabled", false, DELIVER_KIT_ALL);
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Tiny), false));
    RECEIVES(second,
             "EntityAdded reader 0v1 {Tiny}\nComponentChanged enabled orr_enabled 0v1 -*\n");
    TAKES(first, "ComponentChanged enabled orr_enabled 0v1 -Tiny\n");
    CHECK_OK(orr_destroy(w, a));
    orr_entity b = orr_create(w); // The same index: nothing is off.
    orr_set(w, b, Tiny, {2});
    RECEIVES(first,
             "EntityAdded created 0v2 {Tiny} Tiny: {value: 2}\nEntityRemoved destroyed 0v1\n");
    stage_end(&s);
}

// There is room for a fourth instance, so that the row stays where it is and no enable bit is
// written: only the count changes.
ORR_TEST(entity_with_all_instances_disabled_enters_with_an_enabled_one)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Shot");
    orr_entity a = orr_create(w);
    for (int32_t i = 1; i <= 3; i++) {
        CHECK(orr_add_instance(w, a, Shot, {i, i}) != 0);
    }
    CHECK_OK(orr_instance_enable(w, a, KIT_TYPE(w, Shot), 0, false));
    RECEIVES(r, "");
    CHECK(orr_add_instance(w, a, Shot, {4, 4}) != 0);
    RECEIVES(r,
             "EntityAdded enabled 0v1 {Shot} Shot: 1 {power: 1, range: 1} 2 {power: 2, range: 2} "
             "3 {power: 3, range: 3} 4 {power: 4, range: 4}\n");
    stage_end(&s);
}

ORR_TEST(enable_bits_of_instances_and_pinned_values_are_sent)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "either *, ?Shot, ?Body, ?orr_enabled");
    orr_entity a = orr_create(w);
    orr_component_id one = orr_add_instance(w, a, Shot, {1, 1});
    orr_component_id two = orr_add_instance(w, a, Shot, {2, 2});
    CHECK_EQ(one + 1, two);
    CHECK_OK(orr_instance_enable(w, a, KIT_TYPE(w, Shot), two, false));
    orr_set(w, a, Body, {1, 1});
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Body), false));
    RECEIVES(r,
             "EntityAdded created 0v1 {Shot} Shot: 1 {power: 1, range: 1} 2 {power: 2, range: 2} "
             "Body: {mass: 1, speed: 1}\n"
             "ComponentChanged enabled orr_enabled 0v1/2 -Shot\n"
             "ComponentChanged enabled orr_enabled 0v1 -Body\n");
    CHECK_OK(orr_instance_enable(w, a, KIT_TYPE(w, Shot), 0, true));
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Body), true));
    RECEIVES(r, "ComponentChanged enabled orr_enabled 0v1/2 +Shot\n"
                "ComponentChanged enabled orr_enabled 0v1 +Body\n");
    // Instances keep their state in the baseline by id, whatever is removed before them.
    CHECK_OK(orr_instance_enable(w, a, KIT_TYPE(w, Shot), two, false));
    RECEIVES(r, "ComponentChanged enabled orr_enabled 0v1/2 -Shot\n");
    CHECK_OK(orr_instance_remove(w, a, KIT_TYPE(w, Shot), one));
    RECEIVES(r, "ComponentRemoved component Shot 0v1/1\n");
    CHECK_OK(orr_instance_enable(w, a, KIT_TYPE(w, Shot), two, true));
    RECEIVES(r, "ComponentChanged enabled orr_enabled 0v1/2 +Shot\n");
    // A new instance that is disabled at once: it is added, then disabled, once.
    orr_component_id three = orr_add_instance(w, a, Shot, {3, 3});
    CHECK_OK(orr_instance_enable(w, a, KIT_TYPE(w, Shot), three, false));
    RECEIVES(r, "ComponentAdded component Shot 0v1/3 {power: 3, range: 3}\n"
                "ComponentChanged enabled orr_enabled 0v1/3 -Shot\n");
    orr_add(w, a, Frozen);
    RECEIVES(r, "");
    orr_remove(w, a, Body);
    RECEIVES(r, "ComponentRemoved component Body 0v1\n");
    stage_end(&s);
}

ORR_TEST(tags_are_sent_to_readers_that_name_them)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Tiny, ?orr_tags");
    orri_reader* tagged = deliver_kit_reader(w, "#7");
    orr_entity a = orr_create(w), b = orr_create(w);
    orr_set(w, a, Tiny, {1});
    orr_set(w, b, Tiny, {2});
    CHECK_OK(orr_tag_add(w, b, 7));
    RECEIVES(r, "EntityAdded created 0v1 {Tiny} Tiny: {value: 1}\n"
                "EntityAdded created 1v1 {Tiny #7} Tiny: {value: 2}\n");
    TAKES(tagged, "EntityAdded created 1v1 {Tiny #7}\n");
    CHECK_OK(orr_tag_add(w, a, 7));
    CHECK_OK(orr_tag_add(w, b, 9));
    RECEIVES(r, "ComponentChanged component orr_tags 0v1 {#7}\n"
                "ComponentChanged component orr_tags 1v1 {#7 #9}\n");
    TAKES(tagged, "EntityAdded component 0v1 {Tiny #7}\n");
    CHECK_OK(orr_tag_remove(w, a, 7));
    CHECK_OK(orr_tag_add(w, a, 8));
    RECEIVES(r, "ComponentChanged component orr_tags 0v1 {#8}\n");
    TAKES(tagged, "EntityRemoved component 0v1\n");
    CHECK_OK(orr_tag_remove(w, b, 9));
    CHECK_OK(orr_tag_remove(w, b, 7));
    RECEIVES(r, "ComponentChanged component orr_tags 1v1 {}\n");
    TAKES(tagged, "EntityRemoved component 1v1\n");
    stage_end(&s);
}

ORR_TEST(names_are_sent_like_other_components)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Tiny, ?orr_name");
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {1});
    CHECK_OK(orr_name_set(w, a, world_scope, "bob"));
    RECEIVES(r, "EntityAdded created 0v1 {Tiny} Tiny: {value: 1} orr_name: {scope: null, text: "
                "\"bob\"}\n");
    CHECK_OK(orr_name_set(w, a, world_scope, "eve"));
    RECEIVES(r, "ComponentChanged written orr_name 0v1 {scope: null, text: \"eve\"}\n");
    CHECK_OK(orr_name_set(w, a, world_scope, "tom"));
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    CHECK_OK(orr_name_set(w, a, world_scope, NULL));
    orr_tick_advance(w); // The message still waits, so its text is kept.
    RECEIVES(r, "ComponentChanged written orr_name 0v1 {scope: null, text: \"tom\"}\n"
                "ComponentRemoved component orr_name 0v1\n");
    stage_end(&s);
}

ORR_TEST(types_orr_enabled_and_orr_tags_cannot_be_stored)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orr_query* query = orr_query_text(w, "orr_enabled, orr_tags, ?orr_name"); // Registers them.
    CHECK(query != NULL);
    orr_entity a = orr_create(w);
    CHECK_EQ(orr_query_count(query), 1); // Every entity counts as having them.
    orr_type enabled = KIT_TYPE(w, orr_enabled), tags = KIT_TYPE(w, orr_tags);
    CHECK_RESULT(orr_component_set(w, a, enabled, &(orr_enabled){{1}, 1}), ORR_ERR_TYPE);
    CHECK_CONTAINS(s.k.errors.text, "orr_enable()");
    CHECK_RESULT(orr_component_add(w, a, tags), ORR_ERR_TYPE);
    CHECK_CONTAINS(s.k.errors.text, "orr_tag_add()");
    CHECK_RESULT(orr_component_add_many(w, &a, 1, tags, NULL), ORR_ERR_TYPE);
    orr_cluster cluster;
    CHECK_RESULT(
        orr_cluster_get(w, &(orr_cluster_desc){.types = &enabled, .type_count = 1}, &cluster),
        ORR_ERR_TYPE);
    orr_bundle bundle;
    CHECK_OK(orr_bundle_register(w, "odd", "orr_tags", &bundle));
    CHECK_RESULT(orr_bundle_create(w, bundle, 1, NULL), ORR_ERR_TYPE);
    CHECK(!orr_component_has(w, a, enabled));
    CHECK(orr_query_text(w, "!orr_tags") == NULL);
    CHECK_CONTAINS(s.k.errors.text, "every entity counts as having it");
    CHECK(orr_query_text(w, "?write orr_enabled") == NULL);
    CHECK(orr_query_text(w, "Tiny|orr_tags") == NULL);
    stage_end(&s);
}

// ---- several of a kind, pinned, markers, texts, hooks -------------------------------------------

ORR_TEST(instances_are_sent_by_id)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Tiny, ?Shot");
    orr_type shot = KIT_TYPE(w, Shot);
    orr_entity a = orr_create(w);
    orr_set(w, a, Tiny, {1});
    RECEIVES(r, "EntityAdded created 0v1 {Tiny} Tiny: {value: 1}\n");
    for (int32_t i = 1; i <= 3; i++) {
        CHECK_EQ(orr_instance_add(w, a, shot, &(Shot){i, i}), i);
    }
    RECEIVES(r,
             "ComponentAdded component Shot 0v1/1 {power: 1, range: 1} 0v1/2 {power: 2, range: 2} "
             "0v1/3 {power: 3, range: 3}\n");
    CHECK_OK(orr_instance_remove(w, a, shot, 2));
    CHECK_OK(orr_instance_set(w, a, shot, 3, &(Shot){9, 9}));
    CHECK_EQ(orr_instance_add(w, a, shot, &(Shot){4, 4}), 4);
    RECEIVES(r, "ComponentAdded component Shot 0v1/4 {power: 4, range: 4}\n"
                "ComponentChanged written Shot 0v1/3 {power: 9, range: 9}\n"
                "ComponentRemoved component Shot 0v1/2\n");
    orr_remove(w, a, Shot);
    RECEIVES(r, "ComponentRemoved component Shot 0v1/1 0v1/3 0v1/4\n");
    stage_end(&s);
}

ORR_TEST(pinned_values_are_sent)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Tiny, ?Body, ?Seen");
    orri_reader* with = deliver_kit_reader(w, "Body");
    orri_reader* without = deliver_kit_reader(w, "Tiny, !Body");
    orr_entity a = orr_create(w), b = orr_create(w);
    orr_set(w, a, Tiny, {1});
    orr_set(w, b, Tiny, {2});
    orr_set(w, a, Body, {5, 6});
    RECEIVES(r, "EntityAdded created 0v1 1v1 {Tiny} Tiny: {value: 1}, {value: 2} Body: {mass: 5, "
                "speed: 6}, -\n");
    TAKES(with, "EntityAdded created 0v1 {Tiny} Body: {mass: 5, speed: 6}\n");
    TAKES(without, "EntityAdded created 1v1 {Tiny} Tiny: {value: 2}\n");
    orr_edit(w, a, Body)->mass = 7;
    orr_add(w, b, Body);
    orr_add(w, b, Seen);
    RECEIVES(r, "ComponentAdded component Body 1v1 {mass: 10, speed: 0}\n"
                "ComponentAdded component Seen 1v1\n"
                "ComponentChanged written Body 0v1 {mass: 7, speed: 6}\n");
    TAKES(with, "EntityAdded component 1v1 {Tiny} Body: {mass: 10, speed: 0}\n"
                "ComponentChanged written Body 0v1 {mass: 7, speed: 6}\n");
    TAKES(without, "EntityRemoved component 1v1\n");
    // A slot of the pool changes its owner: the new and the old owner are reported.
    orr_remove(w, a, Body);
    orr_remove(w, b, Body);
    orr_set(w, a, Body, {10, 0});
    RECEIVES(r, "ComponentChanged written Body 0v1 {mass: 10, speed: 0}\n"
                "ComponentRemoved component Body 1v1\n");
    TAKES(with, "ComponentChanged written Body 0v1 {mass: 10, speed: 0}\n"
                "EntityRemoved component 1v1\n");
    TAKES(without, "EntityAdded component 1v1 {Tiny} Tiny: {value: 2}\n");
    CHECK_OK(orr_component_enable(w, a, KIT_TYPE(w, Body), false));
    RECEIVES(with, "EntityRemoved enabled 0v1\n");
    CHECK_OK(orr_destroy(w, a));
    RECEIVES(with, "");
    stage_end(&s);
}

ORR_TEST(texts_in_messages_stay_readable)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Label, ?Sign, ?Note");
    orr_entity a = orr_create(w);
    orr_set(w, a, Label, {orr_string_make(w, "one"), 1});
    orr_set(w, a, Sign, {orr_string_make(w, "wood"), 1});
    (void)orr_add_instance(w, a, Note, {orr_string_make(w, "la"), 1});
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    orr_set(w, a, Label, {orr_string_make(w, "two"), 2});
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    CHECK_OK(orr_destroy(w, a));
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    orr_tick_advance(w);
    orr_world_stats stats;
    orr_world_stats_get(w, &stats);
    CHECK_EQ(stats.blobs, 4);
    TAKES(r,
          "EntityAdded created 0v1 {Label Note} Label: {text: \"one\", number: 1} Note: 1 {text: "
          "\"la\", number: 1} Sign: {text: \"wood\", number: 1}\n"
          "ComponentChanged written Label 0v1 {text: \"two\", number: 2}\n"
          "EntityRemoved destroyed 0v1\n");
    orr_tick_advance(w);
    orr_world_stats_get(w, &stats);
    CHECK_EQ(stats.blobs, 0); // The last text was freed with the last message.
    stage_end(&s);
}

ORR_TEST(text_equal_to_the_old_one_is_no_change)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Label");
    orr_entity a = orr_create(w);
    orr_set(w, a, Label, {orr_string_make(w, "one"), 1});
    (void)deliver_kit_diff(w, r);
    orr_set(w, a, Label, {orr_string_make(w, "two"), 1});
    orr_tick_advance(w);
    orr_set(w, a, Label, {orr_string_make(w, "one"), 1});
    RECEIVES(r, "");
    stage_end(&s);
}

ORR_TEST(values_with_hooks_are_sent_as_bytes)
{
    stage s;
    orr_world* w = stage_begin(&s);
    orri_reader* r = deliver_kit_reader(w, "Token");
    orr_entity a = orr_create(w);
    Token value = kit_token(5);
    CHECK_OK(orr_component_set(w, a, KIT_TYPE(w, Token), &value));
    uint64_t made = kit_tokens.constructs + kit_tokens.copies;
    CHECK_OK(orri_diff_run(w, (orr_system){0, 0}, false));
    const orr_message* m = orri_reader_next(r);
    CHECK(m != NULL && orr_values(m, Token)->cell.payload == 5);
    CHECK_EQ(kit_tokens.constructs + kit_tokens.copies, made); // No hook was called.
    CHECK(orri_reader_next(r) == NULL);
    stage_end(&s);
}
