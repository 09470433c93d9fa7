// SPDX-License-Identifier: MIT
// The order of systems: registration, before and after, groups, cycles.
#include "schedule/schedule.h"
#include "schedule/system_kit.h"

ORR_TEST(systems_run_in_order_of_registration)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "zeta", .every = 1);
    NAMED(world, "alpha", .every = 0);
    NAMED(world, "mid", .every = 1);
    KIT_STEP(world, 2);
    KIT_SAID("zeta alpha mid zeta alpha mid");
    orr_system at = orr_system_next(world, (orr_system){0});
    CHECK_STR(orr_system_name(world, at), "zeta");
    at = orr_system_next(world, at);
    CHECK_STR(orr_system_name(world, at), "alpha");
    at = orr_system_next(world, at);
    CHECK_STR(orr_system_name(world, at), "mid");
    CHECK_EQ(orr_system_next(world, at).id, 0);
    CHECK_EQ(orr_system_find(world, "mid").id, at.id);
    CHECK_EQ(orr_system_find(world, "none").id, 0);
    CHECK_EQ(orr_system_find(world, NULL).id, 0);
    CHECK_EQ(orr_system_next(world, (orr_system){77, 1}).id, 0);
    kit_end(&k);
}

ORR_TEST(systems_before_and_after_win_over_registration)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .after = "c");
    NAMED(world, "b", .every = 1);
    NAMED(world, "c", .every = 1);
    NAMED(world, "d", .before = " b , a ");
    KIT_STEP(world, 1);
    // Among the systems that may come next, the one registered first comes first: c waits for none,
    // b for d, a for c and d.
    KIT_SAID("c d a b");
    kit_end(&k);
}

// Names are compared whole.
ORR_TEST(systems_whose_names_share_a_prefix_are_distinguished)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .after = "move");
    NAMED(world, "mover", .group = "moves", .after = "a");
    NAMED(world, "b", .after = "mo");
    NAMED(world, "move", .group = "mo");
    KIT_STEP(world, 1);
    KIT_SAID("move a mover b");
    kit_end(&k);
}

// A group means its systems in the same pipeline, also if a system of another pipeline is in a group
// of this name and its own name begins with it.
ORR_TEST(group_of_two_pipelines_orders_the_systems_of_one)
{
    kit k;
    orr_world* world = begin_rows(&k);
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "other", .rate_hz = 60});
    NAMED(world, "mover", .group = "move", .pipeline = "other");
    NAMED(world, "a", .after = "move");
    NAMED(world, "walk", .group = "move");
    CHECK_OK(orr_step(world, 2));
    CHECK_STR(k.errors.text, "");
    CHECK(strstr(kit_line, "walk a") != NULL);
    kit_line[0] = 0;
    kit_end(&k);
}

ORR_TEST(systems_of_a_group_are_ordered_together)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "last", .after = "effects");
    NAMED(world, "spark", .group = "effects");
    NAMED(world, "smoke", .group = "effects");
    NAMED(world, "first", .before = "effects");
    KIT_STEP(world, 1);
    KIT_SAID("first spark smoke last");
    kit_end(&k);
}

// A system may name its own group: it does not wait for itself, whatever the lengths of the names.
ORR_TEST(system_after_its_own_group_does_not_wait_for_itself)
{
    kit k;
    orr_world* world = begin_rows(&k);
    // The name is as long as the group's name.
    NAMED(world, "tail", .group = "pack", .after = "pack");
    NAMED(world, "head", .group = "pack");
    NAMED(world, "longer", .group = "set", .before = "set");
    NAMED(world, "other", .group = "set");
    KIT_STEP(world, 1);
    KIT_SAID("head tail longer other");
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(systems_in_a_cycle_are_refused_with_the_cycle)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .after = "b");
    CHECK_EQ(KIT_ADD(world, .name = "b", .query = "Position", .run = kit_run, .after = "a").id, 0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT,
              "systems wait for each other in a cycle: 'a' after 'b' after 'a'; change .before or "
              ".after of one of them");
    // The cycle of three contains the last system added; the others stay.
    NAMED(world, "b", .after = "c");
    CHECK_EQ(KIT_ADD(world, .name = "c", .query = "Position", .run = kit_run, .after = "a").id, 0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'a' after 'b' after 'c' after 'a'");
    // A cycle of one.
    CHECK_EQ(KIT_ADD(world, .name = "me", .query = "Position", .run = kit_run, .after = "me").id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'me' after 'me'");
    NAMED(world, "c", .every = 1);
    KIT_STEP(world, 1);
    KIT_SAID("c b a");
    kit_end(&k);
}

ORR_TEST(systems_in_a_cycle_through_groups_are_refused)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "spark", .group = "effects", .after = "pictures");
    NAMED(world, "frame", .group = "pictures");
    CHECK_EQ(KIT_ADD(world, .name = "fade", .query = "Position", .run = kit_run,
                     .group = "pictures", .after = "effects")
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'fade' after 'spark' after 'fade'");
    CHECK_EQ(KIT_ADD(world, .name = "glow", .query = "Position", .run = kit_run, .group = "effects",
                     .before = "pictures", .after = "frame")
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'frame' after 'glow' after 'frame'");
    KIT_STEP(world, 1);
    KIT_SAID("frame spark");
    kit_end(&k);
}

// A name that is not registered yet may close a cycle later.
ORR_TEST(system_that_closes_a_cycle_of_earlier_systems_is_refused)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .after = "c");
    NAMED(world, "b", .after = "a");
    CHECK_EQ(
        KIT_ADD(world, .name = "c", .query = "Position", .run = kit_run, .group = "g", .after = "b")
            .id,
        0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'a' after 'c' after 'b' after 'a'");
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_NAME);
    KIT_ERROR(&k, ORR_ERR_NAME, "there is no system or group 'c'");
    kit_end(&k);
}

ORR_TEST(system_with_an_unknown_name_in_before_is_not_suggested_itself)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "spark", .before = "sparks");
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_NAME);
    KIT_ERROR(&k, ORR_ERR_NAME, "there is no system or group 'sparks' (");
    NAMED(world, "parks", .group = "g");
    CHECK_RESULT(orr_step(world, 1), ORR_ERR_NAME);
    KIT_ERROR(&k, ORR_ERR_NAME, "'sparks'; did you mean 'parks'? (");
    kit_end(&k);
}

static void write_value(orr_run* run)
{
    Health* h = orr_write(run, Health);
    for (uint32_t i = 0; i < run->count; i++) {
        h[i].value = h[i].value * 2 + 1;
    }
}

static void write_sum(orr_run* run)
{
    Health* h = orr_write(run, Health);
    for (uint32_t i = 0; i < run->count; i++) {
        h[i].value += 10;
    }
}

static void read_value(orr_run* run)
{
    const Health* h = orr_read(run, Health);
    *(int32_t*)orr_run_user(run) = h[0].value;
}

/* N2-28 */
ORR_TEST(system_ordered_after_all_writers_reads_what_all_wrote)
{
    kit k;
    orr_world* world = begin(&k);
    orr_entity bob = orr_create(world);
    CHECK_OK(orr_set(world, bob, Health, {5, 0}));
    int32_t seen = 0;
    KIT_SYSTEM(world, .name = "reader", .query = "Health", .run = read_value, .user = &seen,
               .after = "writers");
    KIT_SYSTEM(world, .name = "double", .group = "writers", .query = "write Health",
               .run = write_value);
    KIT_SYSTEM(world, .name = "sum", .group = "writers", .query = "write Health", .run = write_sum);
    KIT_STEP(world, 1);
    CHECK_EQ(seen, 21);
    kit_end(&k);
}

ORR_TEST(system_name_with_a_question_mark_may_be_missing)
{
    kit k;
    orr_world* world = begin_rows(&k);
    NAMED(world, "a", .after = "?b, ?nobody");
    orr_system b = NAMED(world, "b", .every = 1);
    KIT_STEP(world, 1);
    KIT_SAID("b a");
    CHECK_OK(orr_system_remove(world, b));
    KIT_STEP(world, 1);
    kit_end(&k);
}

// ---- large groups: edges lead through a join of the group ---------------------------------------

ORR_TEST(systems_in_a_cycle_through_large_groups_are_refused)
{
    kit k;
    orr_world* world = begin_rows(&k);
    for (uint32_t i = 0; i < 24; i++) {
        char name[16];
        snprintf(name, sizeof name, "%c%u", "lr"[i % 2], i / 2);
        NAMED(world, name, .group = i % 2 == 0 ? "left" : "right", .after = i == 1 ? "left" : NULL);
    }
    CHECK_EQ(KIT_ADD(world, .name = "late", .query = "Position", .run = kit_run, .group = "left",
                     .after = "right")
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "in a cycle: 'late' after 'r0' after 'late';");
    CHECK_EQ(KIT_ADD(world, .name = "both", .query = "Position", .run = kit_run, .before = "left",
                     .after = "right")
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_CONFLICT, "'both' after 'r0' after 'l0' after 'both'");
    KIT_STEP(world, 1);
    KIT_SAID("l0 l1 r1 l2 r2 l3 r3 l4 r4 l5 r5 l6 r6 l7 r7 l8 r8 l9 r9 l10 r10 l11 r0 r11");
    kit_end(&k);
}

// A system as the plain rules see it.
typedef struct plain {
    char name[8], group[8], before[24], after[24], pipeline[8];
    orr_system system; // Null: it was refused, or removed.
    bool placed;
} plain;

// The item of a list that names the system or its group. 2: by its own name.
static uint32_t plain_lists(const char* list, const plain* p)
{
    char copy[24];
    uint32_t lists = 0;
    snprintf(copy, sizeof copy, "%s", list);
    for (char* item = strtok(copy, ", ?"); item != NULL; item = strtok(NULL, ", ?")) {
        lists = strcmp(item, p->name) == 0                  ? 2
                : lists == 0 && strcmp(item, p->group) == 0 ? 1
                                                            : lists;
    }
    return lists;
}

static bool plain_before(const plain* a, const plain* b)
{
    if (a == b) {
        return plain_lists(a->after, a) == 2 || plain_lists(a->before, a) == 2;
    }
    return strcmp(a->pipeline, b->pipeline) == 0 &&
           (plain_lists(b->after, a) != 0 || plain_lists(a->before, b) != 0);
}

// The next system: the first that comes after none that is not placed. NULL: none.
static plain* plain_next(plain* all, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool free = all[i].system.id != 0 && !all[i].placed;
        for (uint32_t j = 0; free && j < count; j++) {
            free = all[j].system.id == 0 || all[j].placed || !plain_before(&all[j], &all[i]);
        }
        if (free) {
            return &all[i];
        }
    }
    return NULL;
}

// False: there is a cycle. `order` (may be NULL) is compared with the order by the plain rules.
static bool plain_order(plain* all, uint32_t count, orri_system* const* order)
{
    uint32_t listed = 0, placed = 0;
    for (uint32_t i = 0; i < count; i++) {
        listed += all[i].system.id != 0;
        all[i].placed = false;
    }
    for (plain* next; (next = plain_next(all, count)) != NULL; placed++) {
        next->placed = true;
        if (order != NULL) {
            CHECK_STR(order[placed]->desc.name, next->name);
        }
    }
    return placed == listed;
}

// "?g1, ?s17": systems are named within one pipeline only. Mostly systems of a higher number.
static void plain_list(char out[24], uint32_t number, uint32_t pipelines, bool higher)
{
    uint32_t low = higher ? number : 0, high = higher ? 60 : number + 1;
    uint32_t named = low + (uint32_t)test_random() % (high - low);
    named ^= (named ^ number) & (pipelines - 1); // Of the same pipeline.
    uint32_t group = (uint32_t)test_random() % 4;
    uint32_t form = (uint32_t)test_random() % 3;
    if (test_random() % 4 != 0) {
        out[0] = '\0';
    } else if (form == 2) {
        snprintf(out, 24, "?g%u, ?s%u", group, named);
    } else {
        snprintf(out, 24, form == 0 ? "?g%u" : "?s%u", form == 0 ? group : named);
    }
}

static void plain_add(orr_world* world, plain* all, uint32_t number, uint32_t pipelines)
{
    plain* p = &all[number];
    // Some systems have the name of a group.
    bool as_group = pipelines == 1 && number % 20 == 7;
    snprintf(p->name, sizeof p->name, "%c%u", as_group ? 'g' : 's',
             as_group ? number / 20 : number);
    if (test_random() % 2 == 0) {
        snprintf(p->group, sizeof p->group, "g%u", (uint32_t)test_random() % 4);
    }
    snprintf(p->pipeline, sizeof p->pipeline, "%s", number % pipelines == 0 ? "main" : "other");
    plain_list(p->before, number, pipelines, true);
    plain_list(p->after, number, pipelines, false);
    p->system =
        orr_system_add(world, &(orr_system_desc){.name = p->name,
                                                 .group = p->group[0] != '\0' ? p->group : NULL,
                                                 .query = "Position",
                                                 .pipeline = p->pipeline,
                                                 .before = p->before[0] != '\0' ? p->before : NULL,
                                                 .after = p->after[0] != '\0' ? p->after : NULL,
                                                 .run = kit_run_nothing});
}

ORR_TEST(order_of_random_systems_is_that_of_the_plain_rules)
{
    uint32_t added = 0, refused = 0;
    for (uint32_t round = 0; round < test_rounds(60, 12, 600); round++) {
        kit k;
        orr_world* world = begin_rows(&k);
        uint32_t pipelines = 1 + round % 2;
        if (pipelines == 2) {
            CHECK(orr_pipeline_add(world, &(orr_pipeline_desc){.name = "other"}).id != 0);
        }
        static plain all[60];
        memset(all, 0, sizeof all);
        for (uint32_t i = 0; i < 60; i++) {
            plain_add(world, all, i, pipelines);
            orri_system* order[60];
            uint32_t count;
            bool was_added = all[i].system.id != 0;
            if (was_added) {
                CHECK_OK(orri_system_order(world, false, order, &count));
            } else {
                all[i].system.id = 1; // As if it was added.
            }
            CHECK_EQ(plain_order(all, i + 1, was_added ? order : NULL), was_added);
            all[i].system.id = was_added ? all[i].system.id : 0;
            *(was_added ? &added : &refused) += 1;
            uint32_t old = (uint32_t)test_random() % (i + 1);
            if (test_random() % 6 == 0 && all[old].system.id != 0) {
                CHECK_OK(orr_system_remove(world, all[old].system));
                all[old].system.id = 0;
            }
        }
        kit_end(&k);
    }
    CHECK(added > refused && refused > 0);
}
