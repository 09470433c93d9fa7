// SPDX-License-Identifier: MIT
// The plan of a tick: where commit points are and why, one test per rule; its text and its graph.
#include "schedule/schedule_kit.h"
#include "support/pinned_kit.h"

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
         "'s' may change entities, and 'r' selects all of them");
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
    PAIR((.destroys = "Frozen"), (.query = "Position, !Frozen", .by_id = "Health"),
         "'s' may destroy what 'r' selects");
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
                         : "s, far, ['s' may destroy what 'r' selects], r, [the tick ends]");
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
}

ORR_TEST(plan_enables_commits_before_a_reader_of_enable_bits)
{
    PAIR((.switches = "Health"), (.kind = ORR_INDIRECT, .query = "Position, ?orr_enabled"),
         "'s' may enable or disable components, and 'r' is notified of it");
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
         "'s' may change tags that 'r' names");
    PAIR((.tags = "*"), (.kind = ORR_INDIRECT, .query = "Position, ?orr_tags"),
         "'s' may change tags that 'r' names");
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
    const char* reason = "'s' may change entities, and 'r' selects all of them";
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
              "        after weather: exports, then this one imports\n"
              "   4  aim (direct): Velocity; by_id Position\n"
              "        after move: writes Position, then this one reads it\n"
              "   5  collide (direct): write Position; sends Hit\n"
              "        after move: its .after\n"
              "        after aim: the other's .before\n"
              "        after aim: reads Position, then this one writes it\n"
              "        after move: writes Position, then this one writes it\n"
              "   -- deliver: 'collide' sends events Hit, which 'hurt' names\n"
              "   6  hurt (indirect): Health; receives Hit\n"
              "        after collide: its .after\n"
              "        after collide: sends events Hit, then this one receives them\n"
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
                         "        after first: writes Health, then this one reads it\n");
    CHECK_CONTAINS(text, "        after first: reads Velocity, then this one writes it\n");
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
    CHECK_STR(text,
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
              "    \"move\" -> \"draw\" [label=\"writes Position, then this one reads it\"];\n"
              "    \"commit 2\" [shape=diamond, label=\"commit 2\\nthe tick ends\"];\n"
              "    \"draw\" -> \"commit 2\" [style=dashed];\n"
              "}\n");
    CHECK_EQ(length, strlen(text));
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
