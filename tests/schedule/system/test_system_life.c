// SPDX-License-Identifier: MIT
// Adding, removing, enabling and disabling systems, and their callbacks, all at the beginning of a
// tick; and what systems may not do from inside.
#include "schedule/schedule.h"
#include "schedule/system_kit.h"

// ---- enabling, disabling, removing --------------------------------------------------------------

static void switch_other(orr_run* run)
{
    kit_run(run);
    if (run->tick == 2) {
        CHECK_OK(orr_system_enable(run->world, orr_system_find(run->world, "b"), false));
        CHECK(!orr_system_enabled(run->world, orr_system_find(run->world, "b")));
        CHECK_OK(orr_group_enable(run->world, "off", true));
    }
}

/* N0-35 */
ORR_TEST(system_enabled_or_disabled_from_inside_changes_at_the_next_tick)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "z", .group = "off");
    CHECK_OK(orr_group_enable(world, "off", false));
    KIT_SYSTEM(world, .name = "a", .query = "Position", .run = switch_other);
    NAMED(world, "b", .every = 1);
    KIT_STEP(world, 3);
    KIT_SAID("a b a b z a");
    kit_end(&k);
}

/* N0-35 */
ORR_TEST(system_added_enabled_or_removed_between_ticks_takes_effect_in_the_next_tick)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system a = NAMED(world, "a", .group = "g");
    orr_system b = NAMED(world, "b", .group = "g", .disabled = true);
    CHECK(orr_system_enabled(world, a) && !orr_system_enabled(world, b));
    KIT_STEP(world, 1);
    KIT_SAID("a");
    CHECK_OK(orr_system_enable(world, b, true));
    CHECK_OK(orr_system_enable(world, b, true));
    KIT_STEP(world, 1);
    KIT_SAID("a b");
    CHECK_OK(orr_group_enable(world, "g", false));
    KIT_STEP(world, 1);
    KIT_SAID("");
    CHECK_OK(orr_group_enable(world, "g", true));
    CHECK_OK(orr_system_remove(world, a));
    CHECK(!orr_system_enabled(world, a));
    CHECK_STR(orr_system_name(world, a), "a"); // Until the tick begins.
    CHECK_EQ(orr_system_find(world, "a").id, 0);
    CHECK_EQ(orr_system_next(world, (orr_system){0}).id, b.id);
    KIT_STEP(world, 1);
    KIT_SAID("b");
    CHECK_STR(orr_system_name(world, a), "");
    CHECK_EQ(k.errors.count, 0);

    CHECK_RESULT(orr_system_remove(world, a), ORR_ERR_ARGUMENT);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "is not a system of this world; it may have been removed");
    CHECK_RESULT(orr_system_enable(world, a, true), ORR_ERR_ARGUMENT);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "orr_system_enable");
    CHECK_RESULT(orr_system_enable(world, (orr_system){0}, true), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_group_enable(world, "nobody", true), ORR_ERR_ARGUMENT);
    KIT_ERROR(&k, ORR_ERR_ARGUMENT, "no system is in a group 'nobody'");
    CHECK_RESULT(orr_group_enable(world, NULL, true), ORR_ERR_ARGUMENT);
    orr_system_stats stats;
    CHECK_RESULT(orr_system_stats_get(world, a, &stats), ORR_ERR_ARGUMENT);
    k.errors = (kit_errors){0};
    // A slot is used again; the old handle stays stale.
    orr_system c = NAMED(world, "c", .every = 1);
    CHECK_EQ(c.id, a.id);
    CHECK(c.generation != a.generation);
    CHECK_STR(orr_system_name(world, a), "");
    kit_end(&k);
}

ORR_TEST(system_calls_on_a_world_without_systems_find_nothing)
{
    kit k;
    orr_world* world = begin(&k);
    CHECK_EQ(orr_system_find(world, "a").id, 0);
    CHECK_EQ(orr_system_next(world, (orr_system){0}).id, 0);
    CHECK_STR(orr_system_name(world, (orr_system){1, 1}), "");
    CHECK(!orr_system_enabled(world, (orr_system){1, 1}));
    CHECK(orr_system_state(world, (orr_system){1, 1}) == NULL);
    CHECK(orr_system_exports(world, (orr_system){1, 1}) == NULL);
    CHECK_RESULT(orr_system_remove(world, (orr_system){1, 1}), ORR_ERR_ARGUMENT);
    CHECK_RESULT(orr_group_enable(world, "g", true), ORR_ERR_ARGUMENT);
    orr_system_stats stats;
    CHECK_RESULT(orr_system_stats_get(world, (orr_system){1, 1}, &stats), ORR_ERR_ARGUMENT);
    kit_end(&k);
}

/* N0-35 */
ORR_TEST(system_runs_only_if_it_and_its_group_are_enabled)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system a = NAMED(world, "a", .group = "g");
    NAMED(world, "b", .group = "g", .disabled = true);
    CHECK_OK(orr_group_enable(world, "g", false));
    orr_system c = NAMED(world, "c", .group = "g"); // Like the others.
    CHECK(!orr_system_enabled(world, a) && !orr_system_enabled(world, c));
    KIT_STEP(world, 1);
    CHECK_OK(orr_group_enable(world, "g", true));
    KIT_STEP(world, 1);
    KIT_SAID("a c"); // b was disabled itself.
    kit_end(&k);
}

// ---- a group that is disabled without memory ----------------------------------------------------

enum {
    MANY = 40
};

static struct {
    failing_alloc* memory;
    uint64_t fail_at; // In the second tick.
    uint64_t refused;
} many;

static void disable_many(orr_run* run)
{
    if (run->tick == 2) {
        failing_alloc_arm(many.memory, many.fail_at, false);
        orr_result result = orr_group_enable(run->world, "many", false);
        many.refused = many.memory->refused;
        failing_alloc_arm(many.memory, 0, false);
        CHECK_RESULT(result, many.refused > 0 ? ORR_ERR_MEMORY : ORR_OK);
    }
}

// Number of systems of the group that are disabled after the call.
static uint32_t count_disabled(uint64_t fail_at)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system systems[MANY];
    many.memory = &k.memory;
    many.fail_at = fail_at;
    KIT_SYSTEM(world, .name = "disable", .once = true, .run = disable_many);
    for (uint32_t i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%u", i);
        systems[i] =
            KIT_SYSTEM(world, .name = name, .once = true, .group = "many", .run = kit_run_nothing);
    }
    KIT_STEP(world, 1);
    KIT_STEP_RESULT(world, 1, fail_at > 0 && many.refused > 0 ? ORR_ERR_MEMORY : ORR_OK);
    uint32_t disabled = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        disabled += !orr_system_enabled(world, systems[i]);
    }
    k.errors = (kit_errors){0};
    kit_end(&k);
    return disabled;
}

// Whichever allocation is refused: all systems of the group are disabled, or none.
ORR_TEST(group_disabled_inside_a_system_without_memory_has_no_effect)
{
    uint64_t fail_at = 1;
    for (; fail_at < 100; fail_at++) {
        uint32_t disabled = count_disabled(fail_at);
        CHECK_EQ(disabled, many.refused > 0 ? 0 : MANY);
        if (many.refused == 0) {
            break;
        }
    }
    CHECK(fail_at > 1 && fail_at < 100);
}

// Enabled while its group is disabled: the system waits for the group. A group is removed with its
// last member.
ORR_TEST(group_disabled_holds_back_enabled_systems_and_ends_with_its_members)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system a = NAMED(world, "a", .group = "g", .disabled = true);
    CHECK_OK(orr_group_enable(world, "g", false));
    CHECK_OK(orr_system_enable(world, a, true));
    CHECK(!orr_system_enabled(world, a));
    KIT_STEP(world, 1);
    KIT_SAID("");
    CHECK_OK(orr_system_remove(world, a));
    orr_system b = NAMED(world, "b", .group = "g");
    CHECK(orr_system_enabled(world, b));
    KIT_STEP(world, 1);
    KIT_SAID("b");
    kit_end(&k);
}

// ---- create, start, stop, destroy ---------------------------------------------------------------

ORR_TEST(system_life_callbacks_run_when_a_tick_begins)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system a = NAMED(world, "a", WITH_LIFE);
    orr_system b = NAMED(world, "b", WITH_LIFE, .disabled = true);
    KIT_SAID("");
    KIT_STEP(world, 1);
    KIT_SAID("a.create a.start b.create a");
    CHECK_OK(orr_system_enable(world, b, true));
    KIT_SAID("");
    KIT_STEP(world, 2);
    KIT_SAID("b.start a b a b");
    // Disabled and enabled again before a tick: no callback.
    CHECK_OK(orr_system_enable(world, a, false));
    CHECK_OK(orr_system_enable(world, a, true));
    KIT_STEP(world, 1);
    KIT_SAID("a b");
    CHECK_OK(orr_system_enable(world, a, false));
    KIT_STEP(world, 1);
    KIT_SAID("a.stop b");
    // Removed while disabled: no second stop. Systems stop before others start, the last one first.
    CHECK_OK(orr_system_remove(world, a));
    CHECK_OK(orr_system_remove(world, b));
    NAMED(world, "c", WITH_LIFE);
    KIT_STEP(world, 1);
    KIT_SAID("b.stop b.destroy a.destroy c.create c.start c");
    kit_end(&k);
    KIT_SAID("c.stop c.destroy");
}

ORR_TEST(system_life_ends_with_the_world_in_reverse_order)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", WITH_LIFE);
    NAMED(world, "b", WITH_LIFE, .disabled = true);
    NAMED(world, "c", WITH_LIFE);
    KIT_STEP(world, 1);
    NAMED(world, "never", WITH_LIFE);
    kit_line[0] = '\0';
    kit_end(&k);
    KIT_SAID("c.stop c.destroy b.destroy a.stop a.destroy");
}

static void disable_b(orr_run* run)
{
    CHECK_OK(orr_system_enable(run->world, orr_system_find(run->world, "b"), false));
}

// Disabled before it was started: it must not run.
ORR_TEST(system_disabled_by_a_callback_does_not_run_without_its_start)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .start = disable_b);
    NAMED(world, "b", WITH_LIFE);
    KIT_STEP(world, 2);
    KIT_SAID("b.create a a");
    kit_end(&k);
}

// Disabled by a callback while another system is removed: takes effect in the next tick.
ORR_TEST(system_disabled_by_a_callback_stops_in_the_next_tick)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system gone = NAMED(world, "gone", WITH_LIFE);
    NAMED(world, "b", WITH_LIFE);
    KIT_STEP(world, 1);
    kit_line[0] = '\0';
    CHECK_OK(orr_system_remove(world, gone));
    NAMED(world, "c", .start = disable_b);
    KIT_STEP(world, 1);
    KIT_SAID("gone.stop gone.destroy b c");
    KIT_STEP(world, 1);
    KIT_SAID("b.stop c");
    kit_end(&k);
}

ORR_TEST(system_removed_before_its_first_tick_has_no_callbacks)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system known = NAMED(world, "known", WITH_LIFE);
    orr_system unknown = KIT_SYSTEM(world, .name = "unknown", .query = "Nothing", .run = kit_run,
                                    WITH_LIFE, .creates = "Nothing");
    CHECK_OK(orr_system_remove(world, known));
    CHECK_OK(orr_system_remove(world, unknown));
    KIT_STEP(world, 1);
    KIT_SAID("");
    CHECK_STR(orr_system_name(world, known), "");
    CHECK_EQ(orr_system_next(world, (orr_system){0}).id, 0);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

static void use_state_in_stop(orr_run* run)
{
    Count* count = orr_state(run, Count);
    CHECK(count != NULL);
    count->value += 100;
    const Wind* wind = orr_import(run, "weather", Wind);
    CHECK(wind != NULL);
    kit_say(wind->x == 2 ? "two" : "other");
}

// Both are removed at once: the exporter still exists when the importer's destroy callback runs.
ORR_TEST(removed_system_reads_its_imports_in_its_last_callback)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system weather = NAMED(world, "weather", .exports = ORR_TYPE(Wind));
    orr_system b = NAMED(world, "b", .imports = "weather", .state = ORR_TYPE(Count),
                         .stop = use_state_in_stop, .destroy = use_state_in_stop);
    KIT_STEP(world, 1);
    CHECK_OK(orr_system_remove(world, weather));
    CHECK_OK(orr_system_remove(world, b));
    KIT_STEP(world, 1);
    KIT_SAID("weather b two two");
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// Changes that callbacks send are committed before the first system runs.
static orr_entity sent_to;

static void send_all(orr_run* run)
{
    orr_entity made = orr_send_create(run);
    CHECK(made.id != 0);
    CHECK_OK(orr_send_add(run, made, Position, {42, 0, 0}));
    CHECK_OK(orr_send_change(run, sent_to, Health, {run->tick == 2 ? 1 : 2, 0}));
    CHECK_OK(orr_send_event(run, Hit, {sent_to, 5}));
}

static void receive_hits(orr_run* run)
{
    uint32_t count;
    const Hit* hits = orr_events(run, Hit, &count);
    int32_t* sum = orr_run_user(run);
    for (uint32_t i = 0; i < count; i++) {
        *sum += hits[i].damage;
    }
    ORR_EACH (it, orr_run_query(run)) {
        kit_say(orr_read(&it, Health)->value == 1 ? "one" : "two");
    }
}

static void receive_changes(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        if (m->kind == ORR_COMPONENT_CHANGED) {
            kit_say("changed");
        }
    }
}

ORR_TEST(system_callbacks_send_changes_and_events)
{
    kit k;
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Hit);
    int32_t sum = 0;
    sent_to = orr_create(world);
    CHECK_OK(orr_set(world, sent_to, Health, {100, 0}));
    KIT_SYSTEM(world, .name = "hear", .query = "Health", .once = true, .receives = "Hit",
               .run = receive_hits, .user = &sum);
    KIT_SYSTEM(world, .name = "changes", .kind = ORR_INDIRECT, .query = "Health",
               .run = receive_changes);
    KIT_STEP(world, 1);
    KIT_SAID("two");
    orr_system sender = KIT_SYSTEM(world, .name = "send", .once = true, .changes = "Health",
                                   .creates = "Position", .sends = "Hit", .run = kit_run_nothing,
                                   .start = send_all, .destroy = send_all);
    KIT_STEP(world, 1);
    KIT_SAID("one changed");
    CHECK_EQ(sum, 5);
    CHECK_EQ(orr_entity_count(world), 2);
    CHECK_EQ(kit_stats(world, sender).sent, 4);
    KIT_STEP(world, 1);
    KIT_SAID("one");
    // Sends of its last callback, when the system itself is being removed.
    CHECK_OK(orr_system_remove(world, sender));
    KIT_STEP(world, 1);
    KIT_SAID("two changed");
    CHECK_EQ(sum, 10);
    CHECK_EQ(orr_entity_count(world), 3);
    CHECK_STR(k.errors.text, "");
    // And at the end of the world, when there is no reader.
    KIT_SYSTEM(world, .name = "send", .once = true, .changes = "Health", .creates = "Position",
               .sends = "Hit", .run = kit_run_nothing, .stop = send_all);
    KIT_STEP(world, 1);
    kit_end(&k);
}

static void send_hit(orr_run* run)
{
    CHECK_OK(orr_send_event(run, Hit, {sent_to, 3}));
}

// An event of a callback is delivered before the first system runs, although its own system is the
// last.
ORR_TEST(system_callback_sends_events_to_earlier_systems)
{
    kit k;
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Hit);
    int32_t sum = 0;
    KIT_SYSTEM(world, .name = "hear", .query = "Health", .once = true, .receives = "Hit",
               .run = receive_hits, .user = &sum);
    KIT_STEP(world, 1);
    orr_system sender = KIT_SYSTEM(world, .name = "send", .once = true, .sends = "Hit",
                                   .run = kit_run_nothing, .start = send_hit, .destroy = send_hit);
    KIT_STEP(world, 1);
    CHECK_EQ(sum, 3);
    CHECK_OK(orr_system_remove(world, sender));
    KIT_STEP(world, 1);
    CHECK_EQ(sum, 6);
    kit_end(&k);
}

static void send_hit_and_value(orr_run* run)
{
    send_hit(run);
    int32_t value = *orr_system_name(run->world, orr_run_self(run)) == 'a' ? 5 : 6;
    CHECK_OK(orr_send_change(run, sent_to, Health, {value, 0}));
}

// Sends of several callbacks all count, in the order of their systems.
ORR_TEST(system_callbacks_of_several_systems_send_events_and_changes)
{
    kit k;
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Hit);
    int32_t sum = 0;
    sent_to = orr_create(world);
    CHECK_OK(orr_set(world, sent_to, Health, {100, 0}));
    KIT_SYSTEM(world, .name = "hear", .once = true, .receives = "Hit", .query = "Health",
               .run = receive_hits, .user = &sum);
    KIT_STEP(world, 1);
    orr_system a = KIT_SYSTEM(world, .name = "a", .once = true, .changes = "Health", .sends = "Hit",
                              .run = kit_run_nothing, .create = send_hit,
                              .start = send_hit_and_value);
    orr_system b = KIT_SYSTEM(world, .name = "b", .once = true, .changes = "Health", .sends = "Hit",
                              .run = kit_run_nothing, .create = send_hit,
                              .start = send_hit_and_value);
    KIT_STEP(world, 1);
    CHECK_EQ(sum, 12);
    CHECK_EQ(orr_get(world, sent_to, Health)->value, 6);
    CHECK_EQ(kit_stats(world, a).sent, 3);
    CHECK_EQ(kit_stats(world, b).sent, 3);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// Types registered after the system was prepared are not visible to it by id.
typedef struct late_types {
    orr_entity entity;
    orr_type last;
} late_types;

static void read_late(orr_run* run)
{
    const late_types* late = orr_run_user(run);
    CHECK(orr_component_get(run->world, late->entity, late->last) == NULL);
    CHECK(orr_get(run->world, late->entity, Position) != NULL);
    kit_say_of(run, "stop");
}

ORR_TEST(system_callback_after_new_types_reads_only_declared_types_by_id)
{
    kit k;
    orr_world* world = begin(&k);
    late_types late = {.entity = make(world, 1)};
    orr_system system = KIT_SYSTEM(world, .name = "a", .query = "Position", .by_id = "Position",
                                   .run = kit_run, .stop = read_late, .user = &late);
    KIT_STEP(world, 1);
    for (uint32_t i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "Late%u", i);
        orr_field_desc field = {.name = "value", .type = ORR_TYPE(int32_t)};
        CHECK_OK(orr_type_register(
            world, &(orr_type_desc){.name = name, .fields = &field, .field_count = 1}, &late.last));
        int32_t value = 5;
        if (i % 100 == 99) {
            CHECK_OK(orr_component_set(world, late.entity, late.last, &value));
        }
    }
    CHECK_OK(orr_system_enable(world, system, false));
    KIT_STEP_REFUSED(world, 1);
    KIT_SAID("a a.stop");
    KIT_ERROR(&k, ORR_ERR_STATE, "orr_get: system 'a' accesses Late299 of ");
    kit_end(&k);
}

// ---- from inside --------------------------------------------------------------------------------

static void meddle(orr_run* run)
{
    orr_world* world = run->world;
    CHECK_EQ(KIT_ADD(world, .name = "new", .query = "Position", .run = kit_run).id, 0);
    CHECK_CONTAINS(orr_error_last(world),
                   "system 'new' cannot be added while a tick is under way (in 'meddle')");
    CHECK_RESULT(orr_system_remove(world, orr_run_self(run)), ORR_ERR_STATE);
    CHECK_CONTAINS(orr_error_last(world),
                   "system 'meddle' cannot be removed while a tick is under way");
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_STATE);
    CHECK_CONTAINS(orr_error_last(world), "orr_step: not allowed inside a system ('meddle')");
    CHECK_RESULT(orr_update(world, 1), ORR_ERR_STATE);
    CHECK_RESULT(orr_run_until(world, 100, NULL, NULL), ORR_ERR_STATE);
    char text[512];
    CHECK(orr_plan_print(world, text, sizeof text) > 0); // Printing is allowed.
    kit_run(run);
}

ORR_TEST(system_that_adds_removes_or_steps_from_inside_is_refused)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system system = KIT_SYSTEM(world, .name = "meddle", .query = "Position", .run = meddle);
    KIT_STEP_REFUSED(world, 1);
    KIT_SAID("meddle");
    CHECK_EQ(k.errors.count, 5);
    CHECK_EQ(kit_stats(world, system).violations, 5);
    CHECK_EQ(orr_world_tick(world), 1);
    kit_end(&k);
}

static void create_two(orr_run* run)
{
    for (int i = 0; i < 2; i++) {
        CHECK_OK(orr_send_add(run, orr_send_create(run), Velocity, {1, 2}));
    }
}

// Rows are not counted yet: callbacks may create as many as a system that is called once.
ORR_TEST(system_callbacks_of_a_system_called_by_rows_create)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_system system = KIT_SYSTEM(world, .name = "a", .query = "Position", .creates = "Velocity",
                                   .run = kit_run, .create = create_two, .start = create_two,
                                   .stop = create_two);
    KIT_STEP(world, 1);
    CHECK_EQ(orr_entity_count(world), 5);
    CHECK_OK(orr_system_remove(world, system));
    KIT_STEP(world, 1);
    CHECK_EQ(orr_entity_count(world), 7);
    kit_end(&k);
}

static void look_at_the_plan(orr_run* run)
{
    char text[512];
    kit_run(run);
    CHECK_OK(orr_system_enable(run->world, orr_system_find(run->world, "b"), run->tick > 1));
    CHECK(orr_plan_print(run->world, text, sizeof text) > 0);
    CHECK_CONTAINS(text, "b (direct)");
}

// The printed plan is the plan of this tick, and does not change.
ORR_TEST(system_that_prints_the_plan_does_not_change_it)
{
    kit k;
    orr_world* world = begin_rows(&k);
    KIT_SYSTEM(world, .name = "a", .once = true, .run = look_at_the_plan);
    NAMED(world, "b", .every = 1);
    NAMED(world, "c", .every = 1);
    KIT_STEP(world, 1);
    KIT_SAID("a b c");
    kit_end(&k);
}

static void destroy_world(orr_run* run)
{
    orr_world_destroy(run->world);
}

ORR_TEST(system_cannot_destroy_its_world)
{
    kit k;
    orr_world* world = begin_rows(&k);
    KIT_SYSTEM(world, .name = "end", .once = true, .run = destroy_world);
    KIT_STEP_REFUSED(world, 1);
    KIT_ERROR(&k, ORR_ERR_STATE, "orr_world_destroy: not allowed inside a system ('end')");
    kit_end(&k);
}

ORR_TEST(systems_of_a_world_end_with_it)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK(orri_schedule_of(world) != NULL);
    kit_end(&k);
}
