// SPDX-License-Identifier: MIT
// The plan of a tick: where commit points are and why, one test per rule; its text and its graph.
#include "schedule/report/waits.h"
#include "schedule/schedule.h"
#include "schedule/schedule_kit.h"
#include "support/pinned_kit.h"
#include <stdlib.h>

ORR_STRUCT_EX(Engine, (.needs = "Fuel"), (int32_t, power))
ORR_STRUCT(Fuel, (int32_t, litres))
ORR_STRUCT(Hit, (orr_entity, who), (int32_t, damage))
ORR_STRUCT(Touch, (orr_entity, who))
ORR_STRUCT(Wind, (float, x))
ORR_STRUCT(Child,
           (orr_entity, parent, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_DESTROY)))
ORR_STRUCT(Fan,
           (orr_entity, idol, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_CLEAR)))

static orr_world* begin(kit* k)
{
    orr_world* world = kit_begin(k, NULL);
    ORR_REGISTER(world, Position, Velocity, Health, Frozen, Hidden, Fuel, Engine);
    CHECK_OK(orr_tag_register(world, 11, "level1"));
    CHECK_OK(orr_tag_register(world, 12, "level2"));
    return world;
}

#define ADD(world, system_name, ...) \
    KIT_SYSTEM(world, .name = system_name, .run = kit_run_nothing, __VA_ARGS__)

// The plan in one line: "a, [why], b, [the tick ends]".
static const char* plan_line(orr_world* world)
{
    static char line[2048];
    char text[4096];
    CHECK(orr_plan_print(world, text, sizeof text) < sizeof text);
    line[0] = '\0';
    for (char *at = text, *end; *at != '\0'; at = end + 1) {
        end = strchr(at, '\n');
        CHECK(end != NULL);
        *end = '\0';
        size_t length = strlen(line);
        const char* comma = length > 0 ? ", " : "";
        if (strncmp(at, "   -- commit: ", 14) == 0) {
            snprintf(line + length, sizeof line - length, "%s[%s]", comma, at + 14);
        } else if (strncmp(at, "   -- deliver: ", 15) == 0) {
            snprintf(line + length, sizeof line - length, "%s|", comma);
        } else if (at[0] == ' ' && strncmp(at, "        ", 8) != 0) {
            const char* name = at + 6;
            snprintf(line + length, sizeof line - length, "%s%.*s", comma,
                     (int)(strchr(name, ' ') - name), name);
        }
    }
    return line;
}

// The reason for the commit point between a sender and a reader; NULL: there is none.
static void check_pair(const orr_system_desc* sender, const orr_system_desc* reader,
                       const char* reason)
{
    kit k;
    orr_world* world = begin(&k);
    orr_system_desc s = *sender, r = *reader;
    s.name = "s";
    r.name = "r";
    s.run = r.run = kit_run_nothing;
    s.query = s.query != NULL || s.terms != NULL ? s.query : "Velocity";
    kit_taken(world, orr_system_add(world, &s), __FILE__, __LINE__);
    kit_taken(world, orr_system_add(world, &r), __FILE__, __LINE__);
    char expected[512];
    if (reason != NULL) {
        snprintf(expected, sizeof expected, "s, [%s], r, [the tick ends]", reason);
    } else {
        snprintf(expected, sizeof expected, "s, r, [the tick ends]");
    }
    CHECK_STR(plan_line(world), expected);
    KIT_STEP(world, 1);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

#define PAIR(sender, reader, reason)                           \
    check_pair(&(const orr_system_desc){ORR_PP_UNPACK sender}, \
               &(const orr_system_desc){ORR_PP_UNPACK reader}, reason)
#ifndef ORR_PP_UNPACK
#define ORR_PP_UNPACK(...) __VA_ARGS__
#endif

// ---- one test per rule --------------------------------------------------------------------------

ORR_TEST(plan_without_structure_commits_only_at_the_end)
{
    PAIR((.query = "write Position"), (.query = "Position"), NULL);
    PAIR((.query = "write Position", .by_id = "write Health"), (.query = "Health"), NULL);
}

ORR_TEST(plan_creates_commits_before_a_system_that_names_a_created_type)
{
    const char* reason = "'s' may create entities with Position, which 'r' names";
    PAIR((.creates = "Position, Velocity"), (.query = "Position"), reason);
    PAIR((.creates = "Position"), (.query = "Health, ?Position"), reason);
    PAIR((.creates = "Position"), (.query = "Health, !Position"), reason);
    PAIR((.creates = "Position"), (.query = "Health|Position"), reason);
    PAIR((.creates = "Position"), (.query = "disabled Position"), reason);
    PAIR((.creates = "Position"), (.query = "Health", .by_id = "Position"), reason);
    PAIR((.creates = "Position"), (.by_id = "Position", .once = true), reason);
    PAIR((.creates = "Position"), (.kind = ORR_INDIRECT, .query = "Position"), reason);
    PAIR((.creates = "Position"), (.query = "Health"), NULL);
    PAIR((.creates = "Position"), (.by_id = "Health", .once = true), NULL);
    PAIR((.creates = "Position"), (.kind = ORR_INDIRECT, .query = "Health"), NULL);
}

ORR_TEST(plan_creates_without_types_commits_before_a_system_that_selects_everything)
{
    PAIR((.creates = ""), (.query = "Health"), NULL);
    PAIR((.creates = ""), (.query = "?Health"),
         "'s' may change entities, and 'r' requires no type of those that it selects");
}

ORR_TEST(plan_creates_and_adds_count_required_types)
{
    PAIR((.creates = "Engine"), (.query = "Fuel"),
         "'s' may create entities with Fuel, which 'r' names");
    PAIR((.adds = "Engine"), (.query = "Fuel"), "'s' may add Fuel, which 'r' names");
    PAIR((.removes = "Engine"), (.query = "Fuel"), NULL);
}

ORR_TEST(plan_adds_commits_before_a_system_that_names_the_type)
{
    PAIR((.adds = "Frozen"), (.query = "Frozen"), "'s' may add Frozen, which 'r' names");
    PAIR((.adds = "Frozen"), (.query = "Position, !Frozen"), "'s' may add Frozen, which 'r' names");
    PAIR((.adds = "Hidden, Frozen"), (.query = "Position, ?Frozen"),
         "'s' may add Frozen, which 'r' names");
    PAIR((.adds = "Frozen"), (.query = "Position"), NULL);
}

ORR_TEST(plan_removes_commits_before_a_system_that_names_the_type)
{
    PAIR((.removes = "Health"), (.query = "Health"), "'s' may remove Health, which 'r' names");
    PAIR((.removes = "Health"), (.query = "Position, !Health"),
         "'s' may remove Health, which 'r' names");
    PAIR((.removes = "Health"), (.query = "Position", .by_id = "Health"),
         "'s' may remove Health, which 'r' names");
    PAIR((.removes = "Health"), (.query = "Position"), NULL);
}

ORR_TEST(plan_destroys_commits_before_a_system_that_may_select_the_destroyed)
{
    const char* reason = "'s' may destroy what 'r' selects";
    PAIR((.destroys = "Position"), (.query = "Position"), reason);
    PAIR((.destroys = "Position"), (.query = "Health"), reason); // One entity may have both.
    PAIR((.destroys = "Position, !Frozen"), (.query = "Health"), reason);
    PAIR((.destroys = "Position"), (.kind = ORR_INDIRECT, .query = "Health"), reason);
    PAIR((.destroys = "#level1"), (.query = "#level2, Position"), reason); // It may have both tags.
}

ORR_TEST(plan_destroys_does_not_commit_before_a_system_that_never_selects_the_destroyed)
{
    PAIR((.destroys = "Position, !Frozen"), (.query = "Frozen"), NULL);
    PAIR((.destroys = "Frozen"), (.query = "Position, !Frozen"), NULL);
    PAIR((.destroys = "Frozen"), (.query = "Position, !either Frozen"), NULL);
    PAIR((.destroys = "#level1"), (.query = "Position, !#level1"), NULL);
    PAIR((.destroys = "Position, !#level1"), (.query = "Position, #level1"), NULL);
    // A term that excludes enabled components does not exclude disabled ones, and the other way
    // round.
    const char* reason = "'s' may destroy what 'r' selects";
    PAIR((.destroys = "disabled Frozen"), (.query = "Position, !Frozen"), reason);
    PAIR((.destroys = "either Frozen"), (.query = "Position, !Frozen"), reason);
    PAIR((.destroys = "Frozen"), (.query = "Position, !disabled Frozen"), reason);
    PAIR((.destroys = "?Frozen"), (.query = "Position, !Frozen"), reason);
    PAIR((.destroys = "Frozen|Hidden"), (.query = "Position, !Frozen"), reason);
    PAIR((.destroys = "#level1"), (.query = "Position, !#level2"), reason);
}

ORR_TEST(plan_destroys_anything_commits_before_every_system)
{
    const char* reason = "'s' may destroy what 'r' selects";
    PAIR((.destroys = "*"), (.query = "Position, !Frozen"), reason);
    PAIR((.destroys = "Frozen, *"), (.query = "Position, !Frozen"), reason);
}

ORR_TEST(plan_destroys_commits_before_a_system_that_reads_by_id)
{
    const char* reason = "'s' may destroy entities that 'r' reaches by id";
    PAIR((.destroys = "Frozen"), (.query = "Position, !Frozen", .by_id = "Health"), reason);
    PAIR((.destroys = "Frozen"), (.once = true, .by_id = "Health"), reason);
    PAIR((.destroys = "*"), (.once = true, .by_id = "Health"), reason);
}

// Without terms and .by_id a system selects nothing, but it can call orr_alive() and
// orr_entity_count().
ORR_TEST(plan_destroys_commits_before_a_system_without_a_query)
{
    const char* reason = "'s' may destroy entities, and 'r' may ask whether they are alive";
    PAIR((.destroys = "Frozen"), (.once = true), reason);
    PAIR((.destroys = "*"), (.once = true), reason);
}

// Entities destroyed by a cascade are not among the declared targets.
ORR_TEST(plan_destroys_counts_entities_that_are_destroyed_or_changed_by_a_cascade)
{
    for (uint32_t i = 0; i < 2; i++) {
        kit k;
        orr_world* world = begin(&k);
        if (i == 0) {
            ORR_REGISTER(world, Child);
        } else {
            ORR_REGISTER(world, Fan);
        }
        const char* other = i == 0 ? "Child, !Frozen" : "Fan, !Frozen";
        ADD(world, "s", .query = "Velocity", .destroys = "Frozen");
        ADD(world, "far", .query = "Position, !Frozen");
        ADD(world, "r", .query = other);
        // Any entity may be a child, and is destroyed; fans only lose a value.
        CHECK_STR(plan_line(world),
                  i == 0 ? "s, ['s' may destroy what 'far' selects], far, r, [the tick ends]"
                         : "s, far, ['s' may destroy entities, and so clear references that 'r' "
                           "names], r, [the tick ends]");
        kit_end(&k);
    }
}

ORR_TEST(plan_is_made_again_when_a_type_with_cascading_references_is_added)
{
    kit k;
    orr_world* world = begin(&k);
    ADD(world, "s", .query = "Velocity", .destroys = "Frozen");
    ADD(world, "far", .query = "Position, !Frozen");
    CHECK_STR(plan_line(world), "s, far, [the tick ends]");
    KIT_STEP(world, 1);
    ORR_REGISTER(world, Child);
    KIT_STEP(world, 1);
    CHECK_STR(plan_line(world), "s, ['s' may destroy what 'far' selects], far, [the tick ends]");
    kit_end(&k);
}

ORR_TEST(plan_enables_commits_before_a_system_that_names_the_type)
{
    PAIR((.switches = "Health"), (.query = "Health"),
         "'s' may enable or disable Health, which 'r' names");
    PAIR((.switches = "Health"), (.query = "Position, !Health"),
         "'s' may enable or disable Health, which 'r' names");
    PAIR((.switches = "Health"), (.query = "Position"), NULL);
}

ORR_TEST(plan_enables_of_entities_commits_before_every_system)
{
    PAIR((.switches = "*"), (.query = "Position"),
         "'s' may enable or disable entities that 'r' selects");
    PAIR((.switches = "Health, *"), (.query = "Position"),
         "'s' may enable or disable entities that 'r' selects");
    PAIR((.switches = "*"), (.once = true, .by_id = "Position"),
         "'s' may enable or disable entities that 'r' reaches by id");
    PAIR((.switches = "*"), (.kind = ORR_INDIRECT),
         "'s' may change entities, and 'r' requires no type of those that it selects");
    PAIR((.switches = "*"), (.once = true), NULL); // It sees no entity.
}

ORR_TEST(plan_enables_commits_before_a_reader_of_enable_bits)
{
    PAIR((.switches = "Health"), (.kind = ORR_INDIRECT, .query = "Position, ?orr_enabled"),
         "'s' may enable or disable components, and 'r' names orr_enabled");
    PAIR((.switches = "Health"), (.query = "Position", .by_id = "orr_enabled"),
         "'s' may enable or disable components, and 'r' names orr_enabled");
    PAIR((.adds = "Health"), (.kind = ORR_INDIRECT, .query = "Position, ?orr_enabled"), NULL);
}

ORR_TEST(plan_tags_commits_before_a_system_that_names_the_tag)
{
    const char* reason = "'s' may change tags that 'r' names";
    PAIR((.tags = "#level1"), (.query = "Position, #level1"), reason);
    PAIR((.tags = "#level2, #level1"), (.query = "Position, !#level1"), reason);
    PAIR((.tags = "*"), (.query = "Position, #level1"), reason);
    PAIR((.tags = "#level1"), (.query = "Position", .by_id = "Health, #level2, #level1"), reason);
    PAIR((.tags = "#level1"), (.query = "Position", .by_id = "Health, #level1, #level2"), reason);
    PAIR((.tags = "#level1"), (.query = "Position", .by_id = "Health, #level2"), NULL);
    PAIR((.tags = "#level1"), (.query = "Position, #level2"), NULL);
    PAIR((.tags = "#level1"), (.query = "Position"), NULL);
    PAIR((.tags = "*"), (.query = "Position"), NULL);
}

ORR_TEST(plan_tags_commits_before_a_reader_of_tags)
{
    PAIR((.tags = "#level1"), (.kind = ORR_INDIRECT, .query = "Position, ?orr_tags"),
         "'s' may change tags, and 'r' names orr_tags");
    PAIR((.tags = "*"), (.kind = ORR_INDIRECT, .query = "Position, ?orr_tags"),
         "'s' may change tags, and 'r' names orr_tags");
}

ORR_TEST(plan_renames_commits_before_a_system_that_reads_names)
{
    PAIR((.renames = true), (.query = "Position, ?orr_name"),
         "'s' may change names, which 'r' reads");
    PAIR((.renames = true), (.query = "Position", .by_id = "orr_name"),
         "'s' may change names, which 'r' reads");
    PAIR((.renames = true), (.query = "Position"), NULL);
}

ORR_TEST(plan_commits_after_any_structure_before_a_system_without_required_terms)
{
    const char* reason =
        "'s' may change entities, and 'r' requires no type of those that it selects";
    PAIR((.adds = "Frozen"), (.query = "?Health"), reason);
    PAIR((.tags = "#level1"), (.query = "?Health"), reason);
    PAIR((.removes = "Frozen"), (.kind = ORR_INDIRECT), reason);
    PAIR((.removes = "Frozen"), (.kind = ORR_INDIRECT, .query = "!Health"), reason);
    PAIR((.renames = true), (.kind = ORR_INDIRECT), reason);
    // A system that is called once, with only .by_id, selects nothing.
    PAIR((.adds = "Frozen"), (.once = true, .by_id = "Health"), NULL);
}

ORR_TEST(plan_sent_changes_that_may_wait_commit_before_a_system_that_names_the_type)
{
    kit k;
    orr_world* world = begin(&k);
    ADD(world, "freeze", .query = "Velocity", .adds = "Frozen");
    ADD(world, "hurt", .kind = ORR_INDIRECT, .query = "write Health");
    ADD(world, "draw", .query = "Position");
    ADD(world, "count", .query = "Health");
    CHECK_STR(plan_line(world),
              "freeze, hurt, draw, ['hurt' may have sent changes of Health, which "
              "'count' names], count, [the tick ends]");
    kit_end(&k);
    // Without structure before it, no change waits.
    world = begin(&k);
    ADD(world, "hurt", .kind = ORR_INDIRECT, .query = "write Health");
    ADD(world, "count", .query = "Health");
    CHECK_STR(plan_line(world), "hurt, |, count, [the tick ends]");
    kit_end(&k);
    PAIR((.kind = ORR_INDIRECT, .query = "write Health", .adds = "Frozen"), (.query = "Health"),
         "'s' may have sent changes of Health, which 'r' names");
}

// The first structural change decides whether a sent change may wait, not the last.
ORR_TEST(plan_sent_changes_may_wait_for_any_structure_before_them)
{
    kit k;
    orr_world* world = begin(&k);
    ADD(world, "freeze", .query = "Velocity", .adds = "Frozen");
    ADD(world, "hurt", .kind = ORR_INDIRECT, .query = "write Health");
    ADD(world, "thaw", .query = "Velocity", .removes = "Frozen");
    ADD(world, "count", .query = "Health");
    CHECK_STR(plan_line(world),
              "freeze, hurt, thaw, ['hurt' may have sent changes of Health, which "
              "'count' names], count, [the tick ends]");
    kit_end(&k);
}

// A system that writes in place leaves nothing to commit.
ORR_TEST(plan_direct_writes_commit_nothing)
{
    kit k;
    orr_world* world = begin(&k);
    ADD(world, "freeze", .query = "Velocity", .adds = "Frozen");
    ADD(world, "hurt", .query = "write Health");
    ADD(world, "count", .query = "Health");
    CHECK_STR(plan_line(world), "freeze, hurt, count, [the tick ends]");
    kit_end(&k);
}

// Types are bits: types of the second word count as those of the first.
ORR_TEST(plan_knows_types_past_the_first_sixty_four)
{
    kit k;
    orr_world* world = begin(&k);
    for (uint32_t i = 0; i < 70; i++) {
        char name[16];
        orr_type type;
        snprintf(name, sizeof name, "Late%u", i);
        CHECK_OK(orr_type_register(world, &(orr_type_desc){.name = name}, &type));
    }
    ADD(world, "a", .query = "Velocity", .adds = "Late69");
    ADD(world, "b", .query = "Position, Late1, Late5");
    ADD(world, "c", .query = "Position, Late69");
    CHECK_STR(plan_line(world), "a, b, ['a' may add Late69, which 'c' names], c, [the tick ends]");
    kit_end(&k);
}

// ---- several systems ----------------------------------------------------------------------------

ORR_TEST(plan_commits_once_for_all_pending_changes)
{
    kit k;
    orr_world* world = begin(&k);
    ADD(world, "a", .query = "Velocity", .adds = "Frozen");
    ADD(world, "b", .query = "Velocity", .adds = "Hidden");
    ADD(world, "c", .query = "Hidden");
    ADD(world, "d", .query = "Frozen"); // Committed before c.
    ADD(world, "e", .query = "Frozen", .removes = "Frozen");
    ADD(world, "f", .query = "Frozen");
    CHECK_STR(plan_line(world), "a, b, ['b' may add Hidden, which 'c' names], c, d, e, ['e' may "
                                "remove Frozen, which 'f' names], f, [the tick ends]");
    kit_end(&k);
}

ORR_TEST(plan_ignores_senders_that_come_later)
{
    kit k;
    orr_world* world = begin(&k);
    ADD(world, "reader", .query = "Frozen");
    ADD(world, "sender", .query = "Velocity", .adds = "Frozen");
    CHECK_STR(plan_line(world), "reader, sender, [the tick ends]");
    kit_end(&k);
}

ORR_TEST(plan_leaves_out_disabled_systems_and_follows_when_they_are_enabled)
{
    kit k;
    orr_world* world = begin(&k);
    orr_system a = ADD(world, "a", .query = "Velocity", .adds = "Frozen", .disabled = true);
    orr_system b = ADD(world, "b", .query = "Frozen");
    CHECK_STR(plan_line(world), "b, [the tick ends]");
    CHECK_OK(orr_system_enable(world, a, true));
    CHECK_STR(plan_line(world), "a, ['a' may add Frozen, which 'b' names], b, [the tick ends]");
    KIT_STEP(world, 1);
    CHECK_OK(orr_system_enable(world, b, false));
    CHECK_STR(plan_line(world), "a, [the tick ends]");
    CHECK_OK(orr_system_remove(world, a));
    CHECK_STR(plan_line(world), "[the tick ends]");
    kit_end(&k);
}

ORR_TEST(plan_of_a_world_without_systems_has_only_the_end)
{
    kit k;
    orr_world* world = begin(&k);
    CHECK_STR(plan_line(world), "[the tick ends]");
    kit_end(&k);
}

// ---- text and graph -----------------------------------------------------------------------------

static void add_game(orr_world* world)
{
    ORR_REGISTER(world, Hit);
    ADD(world, "spawn", .query = "Health", .creates = "Position, Velocity");
    ADD(world, "weather", .once = true, .by_id = "Fuel", .exports = ORR_TYPE(Wind), .every = 4,
        .main_thread = true);
    ADD(world, "move", .query = "write Position, Velocity, !Frozen", .parallel = true,
        .imports = "weather", .group = "physics");
    ADD(world, "collide", .query = "write Position", .sends = "Hit", .after = "physics");
    ADD(world, "hurt", .kind = ORR_INDIRECT, .query = "Health", .receives = "Hit",
        .after = "collide");
    ADD(world, "aim", .query = "Velocity", .by_id = "Position", .before = "collide");
}

ORR_TEST(plan_text_has_order_edges_and_reasons)
{
    kit k;
    orr_world* world = begin(&k);
    add_game(world);
    char text[4096];
    size_t length = orr_plan_print(world, text, sizeof text);
    CHECK_STR(text,
              "   1  spawn (direct): Health; creates Position, Velocity\n"
              "   2  weather (direct, once, every 4 ticks, main thread): by_id Fuel\n"
              "   -- commit: 'spawn' may create entities with Position, which 'move' names\n"
              "   3  move (direct, parallel): write Position, Velocity, !Frozen; imports weather\n"
              "        after weather: exports, then this system imports\n"
              "   4  aim (direct): Velocity; by_id Position\n"
              "        after move: writes Position, then this system reads it\n"
              "   5  collide (direct): write Position; sends Hit\n"
              "        after move: its .after\n"
              "        after aim: the other's .before\n"
              "        after aim: reads Position, then this system writes it\n"
              "        after move: writes Position, then this system writes it\n"
              "   -- deliver: 'collide' sends events Hit, which 'hurt' names\n"
              "   6  hurt (indirect): Health; receives Hit\n"
              "        after collide: its .after\n"
              "        after collide: sends events Hit, then this system receives them\n"
              "   -- commit: the tick ends\n");
    CHECK_EQ(length, strlen(text));
    CHECK_EQ(orr_plan_print(world, NULL, 0), length);
    char small[8];
    CHECK_EQ(orr_plan_print(world, small, sizeof small), length);
    CHECK_STR(small, "   1  s");
    kit_end(&k);
}

ORR_TEST(plan_text_has_types_reached_by_id_and_optional_names)
{
    kit k;
    orr_world* world = begin(&k);
    ADD(world, "last", .query = "Frozen", .after = "?first\v,\f?nobody\r");
    ADD(world, "first", .once = true, .by_id = "write Health, Velocity");
    ADD(world, "reader", .query = "Health");
    ADD(world, "writer", .query = "write Velocity");
    char text[4096];
    CHECK(orr_plan_print(world, text, sizeof text) < sizeof text);
    CHECK_CONTAINS(text, "last (direct): Frozen\n        after first: its .after\n");
    CHECK_CONTAINS(text, "reader (direct): Health\n"
                         "        after first: writes Health, then this system reads it\n");
    CHECK_CONTAINS(text, "        after first: reads Velocity, then this system writes it\n");
    kit_end(&k);
}

ORR_TEST(plan_graph_draws_systems_edges_and_commit_points)
{
    kit k;
    orr_world* world = begin(&k);
    ADD(world, "spawn", .query = "Health", .creates = "Position");
    ADD(world, "move", .query = "write Position");
    ADD(world, "draw", .kind = ORR_INDIRECT, .query = "Position", .after = "move");
    char text[4096];
    size_t length = orr_plan_graph(world, text, sizeof text);
    CHECK_STR(
        text,
        "digraph plan {\n"
        "    rankdir=LR;\n"
        "    node [shape=box];\n"
        "    \"spawn\";\n"
        "    \"commit 1\" [shape=diamond, label=\"commit 1\\n'spawn' may create entities "
        "with Position, which 'move' names\"];\n"
        "    \"spawn\" -> \"commit 1\" [style=dashed];\n"
        "    \"commit 1\" -> \"move\" [style=dashed];\n"
        "    \"move\";\n"
        "    \"draw\" [style=rounded];\n"
        "    \"move\" -> \"draw\" [label=\"its .after\"];\n"
        "    \"move\" -> \"draw\" [label=\"writes Position, of which this system is notified\"];\n"
        "    \"commit 2\" [shape=diamond, label=\"commit 2\\nthe tick ends\"];\n"
        "    \"draw\" -> \"commit 2\" [style=dashed];\n"
        "}\n");
    CHECK_EQ(length, strlen(text));
    kit_end(&k);
}

// Ten systems of group "g", and two that come after them.
static orr_world* begin_group(kit* k)
{
    orr_world* world = begin(k);
    for (uint32_t i = 0; i < 10; i++) {
        char name[8];
        snprintf(name, sizeof name, "s%u", i);
        ADD(world, name, .query = "Health", .group = "g");
    }
    ADD(world, "x", .query = "Health", .after = "g, s1");
    ADD(world, "y", .query = "write Health", .after = "g");
    return world;
}

ORR_TEST(plan_text_has_large_groups_as_a_whole)
{
    kit k;
    orr_world* world = begin_group(&k);
    char text[4096];
    (void)orr_plan_print(world, text, sizeof text);
    CHECK_CONTAINS(text,
                   "s9 (direct): Health\n"
                   "  11  x (direct): Health\n"
                   "        after each of 10 systems of group 'g' (s0, s1, s2, …): its .after\n"
                   "        after s1: its .after\n"
                   "  12  y (direct): write Health\n"
                   "        after each of 10 systems of group 'g' (s0, s1, s2, …): its .after\n"
                   "        after each of 11 systems (s0, s1, s2, …): reads Health, then "
                   "this system writes it\n"
                   "   -- commit: the tick ends\n");
    kit_end(&k);
}

ORR_TEST(plan_graph_draws_a_large_group_as_a_node)
{
    kit k;
    orr_world* world = begin_group(&k);
    char text[4096];
    (void)orr_plan_graph(world, text, sizeof text);
    CHECK_CONTAINS(text, "    \"x\";\n"
                         "    \"join 1\" [shape=ellipse, label=\"10 systems of group 'g'\"];\n"
                         "    \"s9\" -> \"join 1\";\n"
                         "    \"s8\" -> \"join 1\";\n");
    CHECK_CONTAINS(text, "    \"s0\" -> \"join 1\";\n"
                         "    \"join 1\" -> \"x\" [label=\"its .after\"];\n"
                         "    \"s1\" -> \"x\" [label=\"its .after\"];\n"
                         "    \"y\";\n"
                         "    \"join 1\" -> \"y\" [label=\"its .after\"];\n"
                         "    \"join 2\" [shape=ellipse, label=\"11 systems\"];\n"
                         "    \"x\" -> \"join 2\";\n");
    kit_end(&k);
}

// Each receiver waits for all senders before it: those of the receiver before it, and one more.
ORR_TEST(plan_graph_extends_the_node_of_a_set_that_grows)
{
    kit k;
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Hit);
    for (uint32_t i = 0; i < 11; i++) {
        char name[8];
        snprintf(name, sizeof name, "s%u", i);
        ADD(world, name, .query = "Health", .sends = "Hit");
        if (i >= 9) {
            snprintf(name, sizeof name, "r%u", i);
            ADD(world, name, .once = true, .receives = "Hit");
        }
    }
    char text[4096];
    (void)orr_plan_graph(world, text, sizeof text);
    CHECK_CONTAINS(text, "    \"join 1\" -> \"r9\" [label=\"sends events Hit, then this system "
                         "receives them\"];\n");
    CHECK_CONTAINS(text, "    \"join 2\" [shape=ellipse, label=\"11 systems\"];\n"
                         "    \"join 1\" -> \"join 2\";\n"
                         "    \"s10\" -> \"join 2\";\n"
                         "    \"join 2\" -> \"r10\" [label=\"sends events Hit, then this system "
                         "receives them\"];\n");
    kit_end(&k);
}

// Imports are systems. A group of the same name is not imported from.
ORR_TEST(plan_text_names_no_group_for_an_import)
{
    kit k;
    orr_world* world = begin(&k);
    ADD(world, "a", .query = "Health", .group = "weather");
    ADD(world, "weather", .once = true, .exports = ORR_TYPE(Wind));
    ADD(world, "b", .query = "Health", .imports = "weather");
    char text[4096];
    (void)orr_plan_print(world, text, sizeof text);
    CHECK_CONTAINS(text, "b (direct): Health; imports weather\n"
                         "        after weather: exports, then this system imports\n"
                         "   -- commit: the tick ends\n");
    kit_end(&k);
}

ORR_TEST(plan_that_cannot_be_made_prints_the_error)
{
    kit k;
    orr_world* world = begin(&k);
    ADD(world, "a", .query = "Positon");
    char text[1024];
    (void)orr_plan_print(world, text, sizeof text);
    CHECK_CONTAINS(text, "no plan: system 'a', .query");
    CHECK_CONTAINS(text, "Position");
    (void)orr_plan_graph(world, text, sizeof text);
    CHECK_CONTAINS(text, "/* no plan: system 'a', .query");
    CHECK_CONTAINS(text, "}\n");
    kit_end(&k);
}

// Every allocation that a print makes may be refused: then the text is the refusal and nothing else.
ORR_TEST(plan_printed_without_memory_says_so)
{
    kit k;
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Hit);
    ADD(world, "spawn", .query = "Position", .sends = "Hit", .before = "draw", .group = "first");
    ADD(world, "move", .query = "write Position", .after = "first");
    ADD(world, "draw", .once = true, .by_id = "Position", .receives = "Hit");
    KIT_STEP(world, 1);
    char whole[2048], graph[2048], text[2048];
    (void)orr_plan_print(world, whole, sizeof whole);
    (void)orr_plan_graph(world, graph, sizeof graph);
    uint32_t refused = 0;
    for (uint64_t n = 1, before = 0; refused == 0 || refused > before; n++) {
        before = refused;
        failing_alloc_arm(&k.memory, n, false);
        (void)orr_plan_print(world, text, sizeof text);
        bool printed = strcmp(text, whole) == 0;
        CHECK(printed || strncmp(text, "no plan: out of memory", 22) == 0);
        failing_alloc_arm(&k.memory, n, false);
        (void)orr_plan_graph(world, text, sizeof text);
        CHECK_EQ(strcmp(text, graph) == 0, printed);
        CHECK(printed || strstr(text, "/* no plan: out of memory") != NULL);
        refused += !printed;
    }
    failing_alloc_arm(&k.memory, 0, false);
    CHECK(refused >= 4);
    kit_end(&k);
}

// ---- random systems -----------------------------------------------------------------------------

// Adds a system with random declarations; some are refused.
static void add_random(orr_world* world, uint32_t number)
{
    char name[16], other[16];
    uint32_t named = (uint32_t)(test_random() % 30);
    snprintf(name, sizeof name, "s%u", number);
    snprintf(other, sizeof other, "?s%u", named);
    uint32_t kind = (uint32_t)(test_random() % 4);
    orr_system_desc desc = {.name = name, .run = kit_run_nothing};
    desc.kind = kind == 0 ? ORR_INDIRECT : ORR_DIRECT;
    desc.once = kind == 1;
    desc.query = KIT_PICK(1, "Position", "write Position", "Velocity, !Health",
                          "write Health, #level1", "?write Velocity, Fuel", "Engine, !#level2",
                          "orr_tags", "orr_name", "orr_enabled", "Fan, !Position");
    if (kind < 2 && test_random() % 3 == 0) {
        desc.query = KIT_PICK(2, "?Health");
    }
    desc.by_id = kind != 0 ? KIT_PICK(6, "Health", "write Fuel", "Position, #level2") : NULL;
    desc.creates = KIT_PICK(8, "Position", "Health, Fuel");
    desc.adds = KIT_PICK(8, "Velocity", "Engine");
    desc.removes = KIT_PICK(8, "Velocity", "Health");
    desc.changes = KIT_PICK(6, "Health", "Fuel, Position");
    desc.transacts = KIT_PICK(6, "Health", "Velocity");
    desc.atomics = kind != 0 ? KIT_PICK(6, "Fuel", "Health") : NULL;
    desc.switches = KIT_PICK(10, "Position", "*");
    desc.destroys = KIT_PICK(8, "*", "Position, !Velocity", "Health, !Position");
    desc.tags = KIT_PICK(8, "*", "#level1", "#level2");
    desc.renames = test_random() % 12 == 0;
    desc.sends = KIT_PICK(5, "?Hit", "?Touch, ?Hit");
    desc.receives = kind < 2 ? KIT_PICK(3, "Hit", "Touch") : NULL;
    desc.alone = test_random() % 16 == 0;
    bool early = number < 15; // Those of g1 may come before those of g2, so there are no cycles.
    desc.group = early ? KIT_PICK(2, "g1") : KIT_PICK(2, "g2");
    desc.after = named < number ? KIT_PICK(3, other) : early ? NULL : KIT_PICK(2, "?g1, ?g1");
    desc.before = named > number ? KIT_PICK(3, other) : early ? KIT_PICK(2, "?g2, ?g2") : NULL;
    (void)orr_system_add(world, &desc);
}

// A world with random systems; in some, all that refers to a destroyed entity is destroyed.
static orr_world* begin_random(kit* k)
{
    orr_world* world = kit_begin(k, &(orr_world_desc){.atomic_sections = true});
    ORR_REGISTER(world, Position, Velocity, Health, Fuel, Engine, Hit, Touch, Fan);
    if (test_random() % 4 == 0) {
        ORR_REGISTER(world, Child);
    }
    CHECK_OK(orr_tag_register(world, 11, "level1"));
    CHECK_OK(orr_tag_register(world, 12, "level2"));
    for (uint32_t i = 0; i < 30; i++) {
        add_random(world, i);
    }
    return world;
}

// A system runs in the group that began at step `group`; the last commit point is before step
// `from`.
static void check_points(const orr_world* world, const orri_step* steps, uint32_t from,
                         uint32_t group, uint32_t at)
{
    for (uint32_t i = from; i < at; i++) {
        orri_reason reason;
        const orri_system* sender = steps[i].system;
        CHECK(sender == NULL || !sender->structural ||
              !orri_affects(world, sender, steps[at].system, &reason)); // T4a
        CHECK(i < group ||
              !orri_delivery_deps_before(world, sender, steps[at].system, &reason)); // T4b
    }
}

// Points are placed by the effects of all earlier systems together. Here each pair is compared.
ORR_TEST(plan_of_random_systems_has_a_point_between_each_pair_that_needs_one)
{
    for (uint32_t round = 0; round < test_rounds(200, 40, 2000); round++) {
        kit k;
        orr_world* world = begin_random(&k);
        KIT_STEP(world, 1);
        const orri_pipeline* pipe = world->schedule->pipelines[0];
        for (uint32_t i = 0, from = 0, group = 0; i < pipe->step_count; i++) {
            if (pipe->steps[i].system != NULL) {
                check_points(world, pipe->steps, from, group, i);
                continue;
            }
            group = i + 1;
            from = pipe->steps[i].commit ? i + 1 : from;
            const orri_reason* why = &pipe->steps[i].reason;
            orri_reason reason;
            CHECK(pipe->steps[i].commit || why->reader == NULL ||
                  orri_delivery_deps_before(world, why->sender, why->reader, &reason));
        }
        kit_end(&k);
    }
}

// The reasons why a system waits, as lines.
typedef struct reasons {
    char lines[512][112];
    uint32_t count;
    uint32_t many; // Sets that were reported as a whole; each member is a line.
} reasons;

static void reasons_add(void* user, const orri_system* from, const orri_system* to, const char* why)
{
    reasons* r = user;
    CHECK(r->count < ORRI_COUNT(r->lines));
    snprintf(r->lines[r->count++], sizeof r->lines[0], "%s %s: %s", from->desc.name, to->desc.name,
             why);
}

static void reasons_add_many(void* user, const orri_plan_waits* waits, orri_waits_set* set,
                             const orri_system* to, const char* why)
{
    const orri_step* steps = waits->pipe->steps;
    uint32_t count = 0, steps_last[ORRI_WAITS_SHOWN] = {0};
    for (uint32_t link1 = set->last1; link1 != 0; link1 = waits->links[link1 - 1].before1) {
        steps_last[count++ % ORRI_WAITS_SHOWN] = waits->links[link1 - 1].step;
        reasons_add(user, steps[waits->links[link1 - 1].step].system, to, why);
    }
    CHECK_EQ(set->count, count);
    CHECK(count > ORRI_WAITS_EACH_MAX);
    for (uint32_t i = 0; i < ORRI_WAITS_SHOWN; i++) { // The last of the list are the first steps.
        CHECK_EQ(set->first[i], steps_last[(count - 1 - i) % ORRI_WAITS_SHOWN]);
    }
    ((reasons*)user)->many++;
}

static int reasons_compare(const void* a, const void* b)
{
    return strcmp(a, b);
}

// Sets are reported before single systems: then the order is not compared.
static void check_reasons(reasons* found, reasons* expected)
{
    if (found->many > 0) {
        qsort(found->lines, found->count, sizeof found->lines[0], reasons_compare);
        qsort(expected->lines, expected->count, sizeof expected->lines[0], reasons_compare);
    }
    for (uint32_t i = 0; i < found->count && i < expected->count; i++) {
        CHECK_STR(found->lines[i], expected->lines[i]);
    }
    CHECK_EQ(found->count, expected->count);
}

static bool pair_imports(const orri_system* importer, const orri_system* exporter)
{
    bool imports = false;
    for (uint32_t i = 0; i < importer->import_count; i++) {
        imports |= importer->imports[i] == exporter;
    }
    return imports;
}

// Reasons by name, by comparing the pair.
static void pair_names(const orr_world* world, const orri_system* from, const orri_system* to,
                       reasons* out)
{
    const struct {
        bool has;
        const char* why;
    } lists[] = {{orri_system_lists(to->desc.after, from), "its .after"},
                 {orri_system_lists(from->desc.before, to), "the other's .before"},
                 {pair_imports(to, from), "exports, then this system imports"},
                 {pair_imports(from, to), "imports, then this system exports"}};
    for (size_t i = 0; i < ORRI_COUNT(lists); i++) {
        if (lists[i].has) {
            reasons_add(out, from, to, lists[i].why);
        }
    }
    for (uint32_t t = 0; t < world->schema.type_count; t++) {
        if (orri_right(from->rights.sends, &from->rights, t) &&
            orri_right(to->rights.receives, &to->rights, t)) {
            char why[160];
            snprintf(why, sizeof why, "sends events %s, then this system receives them",
                     orri_type_label(world, (orr_type){world->schema.type_base + t}));
            reasons_add(out, from, to, why);
        }
    }
}

// Reasons by the accesses of a pair to a type. False: no earlier system is a reason.
static bool pair_type(const orr_world* world, const orri_system* from, const orri_system* to,
                      uint32_t type, reasons* out)
{
    static const char* const touches[] = {"", "reads", "changes (.atomics)", "writes"};
    const char* name = orri_type_label(world, (orr_type){world->schema.type_base + type});
    orri_touch mine = orri_touches(world, to, type, NULL);
    // An indirect system accesses no values.
    orri_touch theirs = from != NULL && from->desc.kind == ORR_DIRECT
                            ? orri_touches(world, from, type, NULL)
                            : ORRI_TOUCH_NONE;
    if (mine == ORRI_TOUCH_NONE || theirs == ORRI_TOUCH_NONE) {
        return mine != ORRI_TOUCH_NONE;
    }
    char why[160];
    if (to->desc.kind == ORR_INDIRECT) {
        if (theirs >= ORRI_TOUCH_ATOMIC) {
            snprintf(why, sizeof why, "writes %s, of which this system is notified", name);
            reasons_add(out, from, to, why);
        }
        return theirs < ORRI_TOUCH_ATOMIC;
    }
    if (theirs != mine || theirs == ORRI_TOUCH_WRITES) {
        snprintf(why, sizeof why, "%s %s, then this system %s it", touches[theirs], name,
                 touches[mine]);
        reasons_add(out, from, to, why);
    }
    return theirs != ORRI_TOUCH_WRITES;
}

// The reasons of the system of a step, by comparing it with all earlier ones.
static void pair_reasons(const orri_pipeline* pipe, uint32_t at, reasons* out)
{
    const orri_step* steps = pipe->steps;
    for (uint32_t i = 0; i < at; i++) {
        if (steps[i].system != NULL) {
            pair_names(pipe->world, steps[i].system, steps[at].system, out);
        }
    }
    for (uint32_t t = 0; t < pipe->world->schema.type_count; t++) {
        for (uint32_t i = at; i-- > 0;) {
            if (!pair_type(pipe->world, steps[i].system, steps[at].system, t, out)) {
                break;
            }
        }
    }
}

ORR_TEST(plan_of_random_systems_prints_the_reasons_of_each_pair)
{
    static reasons found, expected;
    uint32_t many = 0, rounds = test_rounds(200, 40, 2000);
    // Large sets are rare; each run of the test has some.
    for (uint32_t round = 0; round < rounds || many == 0; round++) {
        CHECK(round < 100 * rounds);
        kit k;
        orr_world* world = begin_random(&k);
        KIT_STEP(world, 1);
        const orri_pipeline* pipe = world->schedule->pipelines[0];
        orri_plan_waits waits = {
            .reason = reasons_add, .reason_many = reasons_add_many, .user = &found};
        CHECK(orri_waits_begin(&waits, pipe));
        for (uint32_t i = 0; i < pipe->step_count; i++) {
            if (pipe->steps[i].system != NULL) {
                found.count = found.many = expected.count = 0;
                CHECK(orri_waits_step(&waits, i));
                pair_reasons(pipe, i, &expected);
                check_reasons(&found, &expected);
                many += found.many;
            }
        }
        orri_waits_end(&waits);
        kit_end(&k);
    }
}

// ---- events -------------------------------------------------------------------------------------

ORR_TEST(plan_with_events_that_no_system_receives_is_refused)
{
    kit k;
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Hit, Touch);
    ADD(world, "collide", .query = "Position", .sends = "Touch, Hit");
    ADD(world, "hear", .query = "Position", .once = true, .receives = "Touch");
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_STATE);
    KIT_ERROR(&k, ORR_ERR_STATE,
              "system 'collide' sends events Hit, which no system receives; put it into the "
              ".receives of one, take it out of .sends, or write \"?Hit\" there");
    CHECK_EQ(orr_world_tick(world), 0);
    orr_system hurt = ADD(world, "hurt", .query = "Position", .once = true, .receives = "Hit");
    KIT_STEP(world, 1);
    CHECK_OK(orr_system_remove(world, hurt));
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_STATE);
    CHECK_EQ(orr_world_tick(world), 1);
    kit_end(&k);
}

// A disabled system is still a reader.
ORR_TEST(plan_with_events_for_a_disabled_system_is_made)
{
    kit k;
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Hit);
    ADD(world, "collide", .query = "Position", .sends = "Hit");
    ADD(world, "hurt", .query = "Position", .once = true, .receives = "Hit", .disabled = true);
    KIT_STEP(world, 1);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

// ---- reasons of points that commit nothing ------------------------------------------------------

// Checks the text of orr_plan_print() about a system `s` and a later system `r`, in a world with a
// reader of Position.
static void check_split(const orr_system_desc* first, const orr_system_desc* second,
                        const char* reason)
{
    kit k;
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Hit, Label, Body);
    orr_system_desc s = *first, r = *second;
    s.name = "s";
    r.name = "r";
    s.run = r.run = kit_run_nothing;
    kit_taken(world, orr_system_add(world, &s), __FILE__, __LINE__);
    kit_taken(world, orr_system_add(world, &r), __FILE__, __LINE__);
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position",
               .run = kit_run_nothing);
    char text[4096];
    (void)orr_plan_print(world, text, sizeof text);
    CHECK_CONTAINS(text, reason);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

#define SPLIT(first, second, reason)                           \
    check_split(&(const orr_system_desc){ORR_PP_UNPACK first}, \
                &(const orr_system_desc){ORR_PP_UNPACK second}, reason)

ORR_TEST(plan_reason_of_a_point_is_true)
{
    SPLIT((.query = "Position", .changes = "Health"), (.query = "Health"),
          "'s' may have sent changes of Health, which 'r' names");
    SPLIT((.query = "Position", .transacts = "Health"), (.query = "Health"),
          "'s' may have transacted on Health, which 'r' names");
    SPLIT((.query = "Health", .sends = "Hit"), (.once = true, .receives = "Hit"),
          "'s' sends events Hit, which 'r' names");
    SPLIT((.query = "write Position"), (.kind = ORR_INDIRECT, .query = "Position"),
          "'s' may have changed what 'r' is notified of");
    SPLIT((.query = "Health", .changes = "Position"), (.kind = ORR_INDIRECT, .query = "Position"),
          "'s' may have sent changes of Position, which 'r' names");
    // A reader of other types: it is not notified of what was changed.
    SPLIT((.query = "write Position"), (.kind = ORR_INDIRECT, .query = "Health"),
          "'s' may have changed values, and 'r' is notified of others");
    SPLIT((.query = "Position", .changes = "Velocity"), (.kind = ORR_INDIRECT, .query = "Health"),
          "'s' may have changed values, and 'r' is notified of others");
    SPLIT((.query = "write Position"), (.query = "write Position"),
          "'s' may have changed values of which readers are notified, as 'r' may");
    // No reader is notified of Velocity.
    SPLIT((.query = "Health", .by_id = "write Velocity"), (.query = "write Position"),
          "'s' may have sent values or written them by id, and 'r' writes values of which readers "
          "are notified");
}

ORR_TEST(plan_reason_of_a_system_alone_is_true)
{
    SPLIT((.query = "Health"), (.query = "Velocity", .alone = true),
          "'r' runs alone: it declares .alone");
    SPLIT((.query = "Health"), (.query = "changed Velocity"),
          "'r' runs alone: it has 'changed' terms");
    SPLIT((.query = "Health", .adds = "Label"), (.query = "Velocity"),
          "'s' runs alone: it writes or sends values with strings, arrays or hooks");
    SPLIT((.query = "write Label"), (.query = "Velocity"),
          "'s' runs alone: it writes or sends values with strings, arrays or hooks");
    SPLIT((.query = "Body"), (.query = "Velocity"),
          "'s' runs alone: its rows are ordered or pinned");
}

// It receives messages and sends changes: the order of accesses does not concern it.
ORR_TEST(plan_gives_no_access_as_a_reason_for_an_indirect_system)
{
    kit k;
    orr_world* world = begin(&k);
    ADD(world, "move", .query = "write Position");
    ADD(world, "hear", .kind = ORR_INDIRECT, .query = "Position, write Health");
    ADD(world, "push", .query = "write Position");
    ADD(world, "heal", .query = "write Health");
    char text[4096];
    (void)orr_plan_print(world, text, sizeof text);
    CHECK_CONTAINS(text, "after move: writes Position, then this system writes it");
    CHECK_CONTAINS(text, "after move: writes Position, of which this system is notified");
    CHECK(strstr(text, "this system reads it") == NULL);
    CHECK(strstr(text, "after hear") == NULL);
    kit_end(&k);
}
