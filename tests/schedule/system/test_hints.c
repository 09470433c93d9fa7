// SPDX-License-Identifier: MIT
// Error texts say what to do, and doing that works: each case is a system that is refused
// something, the hint in the text, and the system that follows the hint.
#include "schedule/schedule_kit.h"
#include "support/pinned_kit.h"

ORR_STRUCT(Parent, (orr_entity, who, (.flags = ORR_FIELD_INDEXED)))
ORR_STRUCT(Depth, (float, z))

static struct {
    orr_entity bob;
    orr_query *depths, *sorted, *bodies;
} hint;

// ---- functions of systems -----------------------------------------------------------------------

static void hint_write_parent(orr_run* run)
{
    (void)orr_write(run, Parent);
}

static void hint_edit_parent(orr_run* run)
{
    (void)orr_edit(run->world, hint.bob, Parent);
}

static void hint_set_parent(orr_run* run)
{
    (void)orr_set(run->world, hint.bob, Parent, {hint.bob});
}

static void hint_send_parent(orr_run* run)
{
    CHECK_OK(orr_send_change(run, hint.bob, Parent, {hint.bob}));
}

static void hint_name_parent(orr_run* run)
{
    CHECK_OK(orr_send_name(run, hint.bob, (orr_entity){0}, "bob"));
}

static void hint_loop_own(orr_run* run)
{
    ORR_EACH (it, orr_run_query(run)) {
    }
}

static void hint_loop_depths(orr_run* run)
{
    (void)run;
    ORR_EACH (it, hint.depths) {
    }
}

static void hint_loop_sorted(orr_run* run)
{
    (void)run;
    ORR_EACH (it, hint.sorted) {
    }
}

static void hint_loop_bodies(orr_run* run)
{
    (void)run;
    ORR_EACH (it, hint.bodies) {
    }
}

static void hint_cluster(orr_run* run)
{
    (void)orr_entity_cluster(run->world, hint.bob);
}

static void hint_string(orr_run* run)
{
    (void)orr_string_make(run->world, "a string");
}

// ---- cases --------------------------------------------------------------------------------------

static void hint_world(kit* k)
{
    orr_world* world = kit_begin(k, NULL);
    ORR_REGISTER(world, Position, Velocity, Parent, Depth, Label, Body);
    hint.bob = orr_create(world);
    CHECK_OK(orr_set(world, hint.bob, Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, hint.bob, Depth, {1}));
    CHECK_OK(orr_set(world, hint.bob, Parent, {hint.bob}));
    CHECK_OK(orr_add(world, hint.bob, Body));
    hint.depths = orr_query_text(world, "Depth");
    hint.sorted =
        orr_query_create(world, &(orr_query_desc){.text = "Depth", .order_by = "Depth.z"});
    hint.bodies = orr_query_text(world, "Body");
}

// Adds the system and runs it. True if nothing was refused.
static bool hint_try(orr_system_desc desc, const char* text)
{
    kit k;
    hint_world(&k);
    desc.name = "sys";
    if (orr_system_add(k.world, &desc).id != 0) {
        (void)orr_step(k.world, 1);
    }
    bool fine = k.errors.count == 0;
    if (text != NULL) {
        CHECK(!fine);
        CHECK_CONTAINS(k.errors.text, text);
        CHECK_CONTAINS(k.errors.text, "sys");
    } else {
        CHECK_STR(k.errors.text, "");
    }
    kit_end(&k);
    return fine;
}

#define REFUSED(text, ...) CHECK(!hint_try((orr_system_desc){__VA_ARGS__}, text))
#define WORKS(...)         CHECK(hint_try((orr_system_desc){__VA_ARGS__}, NULL))

ORR_TEST(hint_for_an_indexed_type_in_a_query_is_to_send)
{
    const char* text = "Parent has indexed fields and is not written in place; send the change "
                       "(orr_send_change) and name the type in .changes";
    REFUSED(text, .query = "write Parent", .run = hint_write_parent);
    REFUSED(text, .query = "Parent", .run = hint_write_parent);
    WORKS(.query = "Parent", .changes = "Parent", .run = hint_send_parent);
    WORKS(.query = "write Parent", .run = hint_send_parent);
}

ORR_TEST(hint_for_an_indexed_type_by_id_is_to_send)
{
    const char* text = "Parent has indexed fields and is not written in place; send the change "
                       "(orr_send_change) and name the type in .changes";
    REFUSED(text, .query = "Position", .run = hint_edit_parent);
    REFUSED(text, .query = "Position", .by_id = "Parent", .run = hint_set_parent);
    REFUSED("in a system orr_send_change() (.changes)", .query = "Position",
            .by_id = "write Parent", .run = hint_edit_parent);
    REFUSED("in a system orr_send_name() (.renames)", .query = "Position",
            .by_id = "write orr_name", .run = hint_edit_parent);
    WORKS(.query = "Position", .changes = "Parent", .run = hint_send_parent);
    WORKS(.query = "Position", .renames = true, .run = hint_name_parent);
}

ORR_TEST(hint_for_an_indexed_type_between_ticks_is_to_set)
{
    kit k;
    hint_world(&k);
    CHECK(orr_query_text(k.world, "write Parent") == NULL);
    KIT_ERROR(&k, ORR_ERR_PARSE, "between ticks use orr_set() after the loop");
    CHECK(orr_query_text(k.world, "write orr_name") == NULL);
    KIT_ERROR(&k, ORR_ERR_PARSE, "between ticks use orr_name_set() after the loop");
    CHECK_OK(orr_set(k.world, hint.bob, Parent, {hint.bob}));
    kit_end(&k);
}

ORR_TEST(hint_for_a_loop_of_a_parallel_system_names_types_that_it_does_not_write)
{
    REFUSED("loop over a query of types that it does not write, and name them in .by_id; or "
            "remove .parallel",
            .query = "write Position", .parallel = true, .run = hint_loop_own);
    WORKS(.query = "write Position", .run = hint_loop_own);
    WORKS(.query = "write Position", .by_id = "Depth", .parallel = true, .run = hint_loop_depths);
    const char* text = "remove .parallel, or send the changes (.changes) and write it neither in "
                       ".query nor in .by_id";
    REFUSED(text, .query = "write Depth", .by_id = "Depth", .parallel = true,
            .run = hint_loop_depths);
    REFUSED(text, .query = "Position", .by_id = "write Depth", .parallel = true,
            .run = hint_loop_depths);
    WORKS(.query = "Depth", .by_id = "Depth", .changes = "Depth", .parallel = true,
          .run = hint_loop_depths);
    WORKS(.query = "write Depth", .by_id = "Depth", .run = hint_loop_depths);
}

ORR_TEST(hint_for_a_loop_over_a_sorted_query_is_alone_without_parallel)
{
    REFUSED("at the same time; set .alone", .query = "Position", .by_id = "Depth",
            .run = hint_loop_sorted);
    WORKS(.query = "Position", .by_id = "Depth", .alone = true, .run = hint_loop_sorted);
    REFUSED("remove .parallel and set .alone", .query = "Position", .by_id = "Depth",
            .parallel = true, .run = hint_loop_sorted);
    REFUSED("remove .parallel and set .alone", .query = "Position", .by_id = "Depth",
            .parallel = true, .alone = true, .run = hint_loop_sorted);
    REFUSED("remove .parallel and set .alone", .query = "Position", .by_id = "Body",
            .parallel = true, .run = hint_loop_bodies);
    WORKS(.query = "Position", .by_id = "Body", .alone = true, .run = hint_loop_bodies);
}

ORR_TEST(hint_for_places_of_entities_names_types)
{
    const char* text = "put the types that it needs into its .by_id";
    REFUSED(text, .once = true, .run = hint_cluster);
    REFUSED(text, .query = "Position", .run = hint_cluster);
    WORKS(.once = true, .by_id = "Position", .run = hint_cluster);
    WORKS(.query = "Position", .by_id = "Position", .run = hint_cluster);
}

ORR_TEST(hint_for_owned_values_names_the_fields_of_the_desc)
{
    REFUSED("name that type in .changes, .adds or .creates, or as a write term",
            .query = "Position", .run = hint_string);
    WORKS(.query = "Position", .changes = "Label", .run = hint_string);
    WORKS(.query = "Position, ?write Label", .run = hint_string);
}

ORR_TEST(hint_for_state_that_is_not_plain_leads_to_components)
{
    const char* text = "keep such values in a component, for example of the world's own entity "
                       "(orr_world_entity), and name its type in .by_id";
    REFUSED(text, .once = true, .state = ORR_TYPE(Label), .run = kit_run_nothing);
    REFUSED(text, .once = true, .exports = ORR_TYPE(Parent), .run = kit_run_nothing);
    WORKS(.once = true, .by_id = "write Label", .run = hint_string);
}
