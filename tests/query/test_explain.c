// SPDX-License-Identifier: MIT
// Printed and explained queries, compared with texts written by hand.
#include "query/query.h"
#include "support/store_kit.h"
#include "test.h"

ORR_STRUCT(Mass, (float, kg))
ORR_STRUCT(Armor, (int32_t, value))
ORR_STRUCT_EX(Body, (.storage = ORR_PINNED), (float, mass))
ORR_STRUCT(Nested, (int32_t, numbers, 3), (Velocity, points, 3))

static const char* explained(const orr_query* query)
{
    static char buffer[16384];
    memset(buffer, 'x', sizeof buffer);
    size_t length = orr_query_explain(query, buffer, sizeof buffer);
    CHECK_EQ(strlen(buffer), length);
    CHECK_EQ(orr_query_explain(query, NULL, 0), length);
    return buffer;
}

static const char* printed(const orr_query* query)
{
    static char buffer[4096];
    memset(buffer, 'x', sizeof buffer);
    size_t length = orr_query_print(query, buffer, sizeof buffer);
    CHECK_EQ(strlen(buffer), length);
    CHECK_EQ(orr_query_print(query, NULL, 0), length);
    return buffer;
}

static void rows_make(orr_world* world, orr_cluster cluster, uint32_t count)
{
    CHECK_OK(orr_create_many(world, cluster, count, NULL, 0, NULL));
}

static orr_cluster cluster_tagged(orr_world* world, orr_type type, orr_tag tag)
{
    return kit_cluster(world, &type, type.id != 0, &tag, 1);
}

// ---- printing -----------------------------------------------------------------------------------

static bool no_cluster(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)user, (void)world, (void)cluster;
    return false;
}

static uint64_t one_group(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)user, (void)world, (void)cluster;
    return 1;
}

ORR_TEST(query_of_text_prints_as_text)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    (void)KIT_CLUSTER(world, Position, Velocity, Health, Armor, Frozen, Mass);
    CHECK_OK(orr_tag_register(world, 1, "level1"));
    orr_query* query = orr_query_text(
        world, "write Position,Velocity,!Frozen,?Mass,#level1,Health | Armor,either *");
    CHECK(query != NULL);
    CHECK_STR(printed(query),
              "write Position, Velocity, !Frozen, ?Mass, #level1, Health|Armor, either *");
    orr_query* everything = orr_query_create(world, NULL);
    CHECK_STR(printed(everything), "");
    char small[6];
    CHECK_EQ(orr_query_print(query, small, sizeof small), 73);
    CHECK_STR(small, "write");
    kit_end(&k);
}

ORR_TEST(query_with_predicate_order_or_group_prints_them_in_brackets)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    (void)KIT_CLUSTER(world, Position, Velocity, Nested);
    orr_query* query = orr_query_create(
        world,
        &(orr_query_desc){.text = "Position", .predicate = no_cluster, .group_by = one_group});
    CHECK_STR(printed(query), "Position [with a predicate] [in groups]");
    query = orr_query_create(world, &(orr_query_desc){.predicate = no_cluster});
    CHECK_STR(printed(query), "[with a predicate]");
    query =
        orr_query_create(world, &(orr_query_desc){.text = "Position", .order_by = "Position.x"});
    CHECK_STR(printed(query), "Position [in order of Position.x]");
    query = orr_query_create(world, &(orr_query_desc){.text = "Velocity, Position",
                                                      .order_by = "Position.z",
                                                      .order_descending = true});
    CHECK_STR(printed(query), "Velocity, Position [in descending order of Position.z]");
    query = orr_query_create(world,
                             &(orr_query_desc){.text = "Nested", .order_by = "Nested.points[2].y"});
    CHECK_STR(printed(query), "Nested [in order of Nested.points[2].y]");
    query = orr_query_create(world,
                             &(orr_query_desc){.text = "Nested", .order_by = "Nested.numbers[1]"});
    CHECK_STR(printed(query), "Nested [in order of Nested.numbers[1]]");
    // None of these can be parsed as terms.
    CHECK(orr_query_text(world, "Position [with a predicate]") == NULL);
    CHECK_CONTAINS(k.errors.text, "expected ',' or '|', found '['");
    kit_end(&k);
}

static orr_query* combine(orr_world* world, orr_set_kind set, const orr_query* left,
                          const orr_query* right)
{
    orr_query* query =
        orr_query_create(world, &(orr_query_desc){.set = set, .left = left, .right = right});
    CHECK(query != NULL);
    return query;
}

ORR_TEST(query_of_sets_prints_its_operations) /* N4-08 */
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    (void)KIT_CLUSTER(world, Position, Velocity, Mass, Frozen);
    orr_query* a = orr_query_text(world, "Position, !Frozen");
    orr_query* b = orr_query_text(world, "Velocity");
    orr_query* c = orr_query_text(world, "Mass");
    orr_query* either = combine(world, ORR_UNION, a, b);
    CHECK_STR(printed(either), "(Position, !Frozen) or (Velocity)");
    CHECK_STR(printed(combine(world, ORR_INTERSECTION, a, b)),
              "(Position, !Frozen) and (Velocity)");
    CHECK_STR(printed(combine(world, ORR_DIFFERENCE, c, either)),
              "(Mass) but not ((Position, !Frozen) or (Velocity))");
    CHECK_STR(printed(combine(world, ORR_INTERSECTION, either, combine(world, ORR_UNION, c, b))),
              "((Position, !Frozen) or (Velocity)) and ((Mass) or (Velocity))");
    orr_query* refused =
        orr_query_create(world, &(orr_query_desc){.text = "Mass", .predicate = no_cluster});
    CHECK_STR(printed(combine(world, ORR_UNION, refused, orr_query_create(world, NULL))),
              "(Mass [with a predicate]) or ()");
    kit_end(&k);
}

// ---- explaining ---------------------------------------------------------------------------------

ORR_TEST(explain_lists_matching_clusters_and_reasons_for_the_others) /* N0-21 N0-22 N0-23 */
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK_OK(orr_tag_register(world, 1, "level1"));
    rows_make(world, KIT_CLUSTER(world, Position, Velocity), 100);
    rows_make(world, KIT_CLUSTER(world, Position, Velocity, Mass), 3000);
    rows_make(world, KIT_CLUSTER(world, Position, Velocity, Frozen), 30);
    rows_make(world, KIT_CLUSTER(world, Position), 1);
    rows_make(world, KIT_CLUSTER(world, Health), 2);
    (void)KIT_CLUSTER(world, Armor);
    rows_make(world, cluster_tagged(world, (orr_type){0}, 1), 4);
    rows_make(world, kit_cluster(world, NULL, 0, NULL, 0), 5);
    (void)KIT_CLUSTER(world, Position, Velocity, Health);
    orr_query* query = orr_query_text(world, "write Position, Velocity, !Frozen, ?Mass");
    CHECK_STR(explained(query), "query write Position, Velocity, !Frozen, ?Mass\n"
                                "matches 3100 rows in 3 clusters:\n"
                                "       100  Position, Velocity\n"
                                "      3000  Position, Velocity, Mass (with Mass)\n"
                                "         0  Position, Velocity, Health\n"
                                "passes over 42 rows in 5 clusters:\n"
                                "        30  Position, Velocity, Frozen: has Frozen\n"
                                "         1  Position: lacks Velocity\n"
                                "         2  Health: lacks Position\n"
                                "         4  #level1: lacks Position\n"
                                "         5  (nothing): lacks Position\n"
                                "1 more cluster has no rows");
    kit_end(&k);
}

ORR_TEST(explain_of_a_query_without_terms_or_in_an_empty_world_is_short)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_query* query = orr_query_create(world, &(orr_query_desc){.name = "all"});
    CHECK_STR(explained(query), "query \"all\" (every enabled entity)\n"
                                "matches 0 rows in 0 clusters");
    CHECK(orr_create(world).id != 0);
    CHECK_STR(explained(query), "query \"all\" (every enabled entity)\n"
                                "matches 1 row in 1 cluster:\n"
                                "         1  (nothing)");
    kit_end(&k);
}

ORR_TEST(explain_names_every_kind_of_failure)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    CHECK_OK(orr_tag_register(world, 1, "level1"));
    orr_cluster cluster = cluster_tagged(world, KIT_TYPE(world, Health), 1);
    rows_make(world, cluster, 2);
    (void)KIT_CLUSTER(world, Armor, Mass);
    static const char* const rows[][2] = {
        {"Armor", "lacks Armor"},
        {"#77", "lacks #77"},
        {"!Health", "has Health"},
        {"!either Health", "has Health"},
        {"!#level1", "has #level1"},
        {"Armor|Mass|#77", "has none of Armor|Mass|#77"},
        {"disabled Health|disabled Armor", "has none of Health|Armor in the required enable state"},
        {"disabled Health", "Health is enabled in all rows"},
        {"Health, disabled *", "all entities are enabled"},
        {"disabled Armor", "lacks Armor"},
        {"Health, Mass, Armor", "lacks Mass"},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        orr_query* query = orr_query_text(world, rows[i][0]);
        CHECK(query != NULL);
        char expected[96];
        snprintf(expected, sizeof expected, "\n         2  Health, #level1: %s", rows[i][1]);
        const char* text = explained(query);
        CHECK_CONTAINS(text, expected);
        CHECK_CONTAINS(text, "matches 0 rows in ");
        orr_query_destroy(query);
    }
    orr_query* query =
        orr_query_create(world, &(orr_query_desc){.text = "Health", .predicate = no_cluster});
    CHECK_CONTAINS(explained(query), "Health, #level1: is rejected by the predicate");
    kit_end(&k);
}

ORR_TEST(explain_counts_rows_with_disabled_components) /* N0-34 */
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity e[70];
    orr_cluster cluster = KIT_CLUSTER(world, Health, Armor);
    CHECK(KIT_TYPE(world, Mass).id != 0);
    CHECK_OK(orr_create_many(world, cluster, 70, NULL, 0, e));
    CHECK_OK(orr_enable(world, e[0], Health, false));
    CHECK_OK(orr_enable(world, e[69], Health, false));
    orr_query* on = orr_query_text(world, "Health");
    orr_query* off = orr_query_text(world, "disabled Health, ?Armor");
    orr_query* without = orr_query_text(world, "!Health");
    CHECK_CONTAINS(explained(on), "matches 68 rows in 1 cluster:\n"
                                  "        68  Health, Armor (of 70 rows)");
    CHECK_CONTAINS(explained(off), "\n         2  Health, Armor (of 70 rows, with Armor)");
    CHECK_CONTAINS(explained(without), "\n         2  Health, Armor (of 70 rows)");
    // All disabled: the reason is no longer the types.
    for (uint32_t i = 0; i < 70; i++) {
        CHECK_OK(orr_enable(world, e[i], Health, false));
    }
    CHECK_CONTAINS(explained(on), "passes over 70 rows in 1 cluster:\n"
                                  "        70  Health, Armor: Health is disabled in all rows");
    orr_query* choice = orr_query_text(world, "Health|Mass");
    CHECK_CONTAINS(explained(choice), ": has none of Health|Mass in the required enable state");
    for (uint32_t i = 0; i < 70; i++) {
        CHECK_OK(orr_enable(world, e[i], Health, true));
        CHECK_OK(orr_entity_enable(world, e[i], false));
    }
    CHECK_CONTAINS(explained(off), "Health is enabled in all rows");
    CHECK_CONTAINS(explained(without), "Health, Armor: has Health");
    CHECK_CONTAINS(explained(on), "Health, Armor: all entities are disabled");
    orr_query* hidden = orr_query_text(world, "!disabled Health, disabled *");
    CHECK_CONTAINS(explained(hidden), "matches 70 rows in 1 cluster");
    // Each term matches somewhere, both together nowhere.
    CHECK_OK(orr_entity_enable(world, e[0], true));
    CHECK_OK(orr_enable(world, e[0], Health, false));
    CHECK_CONTAINS(explained(on), "each term matches some rows, but no row matches all terms");
    CHECK_EQ(orr_query_count(on), 0);
    kit_end(&k);
}

// Pinned types are not part of a cluster: explain counts rows.
ORR_TEST(explain_counts_the_rows_of_pinned_types)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity e[5];
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Position), 5, NULL, 0, e));
    rows_make(world, KIT_CLUSTER(world, Mass), 2);
    (void)KIT_CLUSTER(world, Armor);
    CHECK(KIT_TYPE(world, Body).id != 0);
    orr_query* query = orr_query_text(world, "Position, Body");
    orr_query* optional = orr_query_text(world, "Position, ?Body");
    orr_query* without = orr_query_text(world, "!Body");
    CHECK_STR(explained(query), "query Position, Body\n"
                                "matches 0 rows in 0 clusters\n"
                                "passes over 7 rows in 2 clusters:\n"
                                "         5  Position: lacks Body\n"
                                "         2  Mass: lacks Position\n"
                                "1 more cluster has no rows");
    CHECK_OK(orr_put(world, e[1], Body, &(Body){1}));
    CHECK_OK(orr_put(world, e[3], Body, &(Body){1}));
    CHECK_CONTAINS(explained(query), "matches 2 rows in 1 cluster:\n"
                                     "         2  Position (of 5 rows)");
    CHECK_CONTAINS(explained(optional), "\n         5  Position (with Body in 2 rows)\n");
    CHECK_CONTAINS(explained(without), "matches 5 rows in 2 clusters:\n"
                                       "         3  Position (of 5 rows)\n"
                                       "         2  Mass");
    CHECK_OK(orr_enable(world, e[1], Body, false));
    CHECK_OK(orr_enable(world, e[3], Body, false));
    CHECK_CONTAINS(explained(query), "5  Position: Body is disabled in all rows that have it");
    kit_end(&k);
}

ORR_TEST(explain_of_a_choice_names_the_types_present)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_entity e[3];
    CHECK_OK(orr_create_many(world, KIT_CLUSTER(world, Health, Armor), 3, NULL, 0, e));
    rows_make(world, KIT_CLUSTER(world, Health), 1);
    rows_make(world, cluster_tagged(world, KIT_TYPE(world, Mass), 9), 2);
    orr_query* query = orr_query_text(world, "Health|Armor|#9, changed Health|Mass");
    CHECK(query != NULL);
    CHECK_STR(explained(query), "query Health|Armor|#9, changed Health|Mass\n"
                                "matches 6 rows in 3 clusters:\n"
                                "         3  Health, Armor (with Health, Armor)\n"
                                "         1  Health (with Health)\n"
                                "         2  Mass, #9 (with #9, Mass)\n"
                                "`changed` is ignored here: an iteration skips blocks that were "
                                "not written since its mark");
    orr_query* optional = orr_query_text(world, "Health, ?Armor, ?Mass");
    CHECK_OK(orr_enable(world, e[0], Health, false));
    CHECK_OK(orr_enable(world, e[0], Armor, false));
    CHECK_STR(explained(optional), "query Health, ?Armor, ?Mass\n"
                                   "matches 3 rows in 2 clusters:\n"
                                   "         2  Health, Armor (of 3 rows, with Armor)\n"
                                   "         1  Health\n"
                                   "passes over 2 rows in 1 cluster:\n"
                                   "         2  Mass, #9: lacks Health");
    kit_end(&k);
}

ORR_TEST(explain_of_a_set_explains_each_side) /* N4-08 */
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    rows_make(world, KIT_CLUSTER(world, Position), 3);
    rows_make(world, KIT_CLUSTER(world, Position, Velocity), 4);
    rows_make(world, KIT_CLUSTER(world, Velocity), 5);
    rows_make(world, KIT_CLUSTER(world, Mass), 6);
    orr_query* a = orr_query_text(world, "Position");
    orr_query* b = orr_query_text(world, "Velocity");
    CHECK_STR(explained(combine(world, ORR_DIFFERENCE, a, b)),
              "query (Position) but not (Velocity)\n"
              "  (1) is Position\n"
              "  (2) is Velocity\n"
              "matches 3 rows in 1 cluster:\n"
              "         3  Position\n"
              "passes over 15 rows in 3 clusters:\n"
              "         4  Position, Velocity: (1) matches; (2) matches\n"
              "         5  Velocity: (1) lacks Position; (2) matches\n"
              "         6  Mass: (1) lacks Position; (2) lacks Velocity");
    kit_end(&k);
}

// More than 16 clusters: the matching ones are cut off, the others are summarised by reason.
ORR_TEST(explain_of_many_clusters_stays_short)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    for (orr_tag tag = 1; tag <= 20; tag++) {
        rows_make(world, cluster_tagged(world, KIT_TYPE(world, Position), tag), 2);
        rows_make(world, cluster_tagged(world, KIT_TYPE(world, Mass), tag), 1);
    }
    rows_make(world, KIT_CLUSTER(world, Position, Frozen), 7);
    orr_query* query = orr_query_text(world, "Position, !Frozen");
    const char* text = explained(query);
    CHECK_CONTAINS(text, "query Position, !Frozen\n"
                         "matches 40 rows in 20 clusters:\n"
                         "         2  Position, #1\n");
    CHECK_CONTAINS(text, "\n         2  Position, #16\n"
                         "         …  and 8 rows in 4 clusters more\n"
                         "passes over 27 rows in 21 clusters:\n"
                         "        20  in 20 clusters: lacks Position; such as Mass, #1\n"
                         "         7  in 1 cluster: has Frozen; such as Position, Frozen");
    kit_end(&k);
}

// More reasons than lines.
ORR_TEST(explain_of_many_reasons_stays_short)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_term terms[20];
    for (uint32_t i = 0; i < 20; i++) {
        rows_make(world, cluster_tagged(world, KIT_TYPE(world, Position), i + 1), i + 1);
        terms[i] = (orr_term){.tag = i + 1, .kind = ORR_WITHOUT};
    }
    orr_query* query = orr_query_create(world, &(orr_query_desc){.terms = terms, .term_count = 20});
    CHECK_CONTAINS(explained(query), "passes over 210 rows in 20 clusters:\n"
                                     "         1  in 1 cluster: has #1; such as Position, #1\n");
    CHECK_CONTAINS(explained(query), "        16  in 1 cluster: has #16; such as Position, #16\n"
                                     "         …  and 74 rows in 4 clusters more");
    kit_end(&k);
}

ORR_TEST(explain_cuts_a_cluster_with_many_types)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_type types[60];
    static char name[] = "AnEverydayType00";
    for (uint32_t i = 0; i < 60; i++) {
        name[14] = (char)('0' + i / 10), name[15] = (char)('0' + i % 10);
        CHECK_OK(orr_type_register(world, &(orr_type_desc){.name = name}, &types[i]));
    }
    rows_make(world, kit_cluster(world, types, 60, NULL, 0), 1);
    orr_query* query = orr_query_text(world, "AnEverydayType00");
    CHECK_CONTAINS(explained(query), "\n         1  AnEverydayType00, AnEverydayType01, ");
    CHECK_CONTAINS(explained(query), "AnEverydayType06…");
    kit_end(&k);
}

ORR_TEST(explain_needs_no_memory)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    rows_make(world, KIT_CLUSTER(world, Position, Velocity), 100);
    rows_make(world, KIT_CLUSTER(world, Position), 100);
    orr_query* query = orr_query_text(world, "Position, !Velocity");
    failing_alloc_arm(&k.memory, 1, true);
    CHECK_CONTAINS(explained(query), "has Velocity");
    CHECK_STR(printed(query), "Position, !Velocity");
    CHECK_EQ(k.memory.requests, 0);
    failing_alloc_arm(&k.memory, 0, false);
    kit_end(&k);
}
