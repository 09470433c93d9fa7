// SPDX-License-Identifier: MIT
// The names in a desc: they are looked up when the tick begins at the latest, refused with a clear
// error, and a refused lookup leaves nothing behind.
#include "schedule/system_kit.h"

ORR_STRUCT(Follow,
           (orr_entity, whom, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_CLEAR)))

// ---- names that are unknown when the tick begins ------------------------------------------------

typedef struct unknown {
    orr_system_desc desc;
    orr_result result;
    const char *words, *near;
} unknown;

static const unknown unknowns[] = {
    {{.query = "Positon"}, ORR_ERR_TYPE, "system 'x', .query", "Position"},
    {{.query = "Position, !Frosen"}, ORR_ERR_TYPE, "system 'x', .query", "Frozen"},
    {{.query = "Position, #leveel1"}, ORR_ERR_TYPE, "system 'x', .query", "level1"},
    {{.query = "Position", .by_id = "Healt"}, ORR_ERR_TYPE, "system 'x', .by_id", "Health"},
    {{.query = "Position", .creates = "Healt"}, ORR_ERR_TYPE, "system 'x', .creates", "Health"},
    {{.query = "Position", .destroys = "Healt"}, ORR_ERR_TYPE, "system 'x', .destroys", "Health"},
    {{.query = "Position", .adds = "Healt"}, ORR_ERR_TYPE, "system 'x', .adds", "Health"},
    {{.query = "Position", .removes = "Healt"}, ORR_ERR_TYPE, "system 'x', .removes", "Health"},
    {{.query = "Position", .switches = "Healt"}, ORR_ERR_TYPE, "system 'x', .switches", "Health"},
    {{.query = "Position", .tags = "#leveel1"}, ORR_ERR_TYPE, "system 'x', .tags", "level1"},
    {{.query = "Position", .sends = "Healt"}, ORR_ERR_TYPE, "system 'x', .sends", "Health"},
    {{.query = "Position", .once = true, .receives = "Healt"},
     ORR_ERR_TYPE,
     "system 'x', .receives",
     "Health"},
    {{.query = "Position", .before = "drow"},
     ORR_ERR_NAME,
     ".before: there is no system or group 'drow'",
     "draw"},
    {{.query = "Position", .after = "pictres"},
     ORR_ERR_NAME,
     ".after: there is no system or group 'pictres'",
     "pictures"},
    {{.query = "Position", .imports = "weathr"},
     ORR_ERR_NAME,
     ".imports: 'weathr' is no system",
     "weather"},
    {{.query = "Position", .imports = "draw"},
     ORR_ERR_NAME,
     ".imports: 'draw' exports nothing",
     "exports"},
};

ORR_TEST(unknown_names_of_a_system_refuse_the_tick_and_suggest_near_names)
{
    for (size_t i = 0; i < sizeof unknowns / sizeof unknowns[0]; i++) {
        kit k;
        orr_world* world = begin(&k);
        CHECK_OK(orr_tag_register(world, 11, "level1"));
        make(world, 0);
        KIT_SYSTEM(world, .name = "draw", .group = "pictures", .query = "Position", .run = kit_run);
        KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = kit_run,
                   .exports = ORR_TYPE(Wind));
        orr_system_desc desc = unknowns[i].desc;
        desc.name = "x";
        desc.run = kit_run;
        orr_system system = orr_system_add(world, &desc);
        if (system.id == 0) {
            test_fail(__FILE__, __LINE__, "desc %zu was refused at once: %s", i, k.errors.text);
        }
        // Twice: the refusal leaves nothing behind.
        for (uint32_t times = 0; times < 2; times++) {
            k.errors = (kit_errors){0};
            if (orr_step(world, 1) != unknowns[i].result) {
                test_fail(__FILE__, __LINE__, "desc %zu: %s", i, k.errors.text);
            }
            CHECK_CONTAINS(k.errors.text, unknowns[i].near);
            KIT_ERROR(&k, unknowns[i].result, unknowns[i].words);
            CHECK_EQ(orr_world_tick(world), 0);
            CHECK(!orr_tick_open(world));
        }
        KIT_SAID("");
        // Without the system the tick runs.
        CHECK_OK(orr_system_remove(world, system));
        KIT_STEP(world, 1);
        KIT_SAID("draw weather");
        CHECK_EQ(k.errors.count, 0);
        kit_end(&k);
    }
}

// ---- lists of systems ---------------------------------------------------------------------------

#define LONG_NAME "a23456789_123456789_123456789_123456789_123456789_123456789_1234"

// A list of .before, .after or .imports, and the words of the refusal.
typedef struct wrong_list {
    const char* text;
    orr_result result;
    const char* words;
} wrong_list;

static const wrong_list wrong_lists[] = {
    {"", ORR_ERR_PARSE, "it is empty"},
    {" \t\n", ORR_ERR_PARSE, "or leave the field NULL"},
    {",", ORR_ERR_PARSE, "expected the name of a system"},
    {"draw,", ORR_ERR_PARSE, "found the end"},
    {"draw, ", ORR_ERR_PARSE, "found the end"},
    {",draw", ORR_ERR_PARSE, "found ','"},
    {"draw,, weather", ORR_ERR_PARSE, "found ','"},
    {"draw weather", ORR_ERR_PARSE, "expected ',', found 'weather'"},
    {"draw; weather", ORR_ERR_PARSE, "expected ',', found ';'"},
    {"draw?", ORR_ERR_PARSE, "expected ',', found '?'"},
    {"*", ORR_ERR_PARSE, "found '*'"},
    {"!draw", ORR_ERR_PARSE, "found '!'"},
    {"dr\xC3\xA4w", ORR_ERR_PARSE, "expected ','"},
    {"2draw", ORR_ERR_NAME, "this is not a name"},
    {LONG_NAME, ORR_ERR_NAME, "this is not a name"},
    {"draw, weather, draw", ORR_ERR_PARSE, "'draw' is repeated; the other is at column 1"},
};

static const wrong_list wrong_maybe_lists[] = {
    {"?", ORR_ERR_PARSE, "expected the name of a system or group after '?'"},
    {"? draw", ORR_ERR_PARSE, "after '?'"},
    {"draw, ?", ORR_ERR_PARSE, "after '?', found the end"},
    {"??draw", ORR_ERR_PARSE, "after '?', found '?'"},
    {"?,draw", ORR_ERR_PARSE, "after '?', found ','"},
    {"?draw, draw", ORR_ERR_PARSE, "'draw' is repeated; the other is at column 2"},
};

// The list is refused when the system is added, and no system is left.
static void list_refused(const char* field, const wrong_list* wrong)
{
    kit k;
    orr_world* world = begin(&k);
    make(world, 0);
    KIT_SYSTEM(world, .name = "draw", .query = "Position", .run = kit_run,
               .exports = ORR_TYPE(Wind));
    KIT_SYSTEM(world, .name = "weather", .query = "Position", .run = kit_run,
               .exports = ORR_TYPE(Wind));
    orr_system_desc desc = {.name = "x", .query = "Position", .run = kit_run};
    char place[64];
    snprintf(place, sizeof place, "orr_system_add: system 'x', .%s", field);
    *(strcmp(field, "before") == 0  ? &desc.before
      : strcmp(field, "after") == 0 ? &desc.after
                                    : &desc.imports) = wrong->text;
    CHECK_EQ(orr_system_add(world, &desc).id, 0);
    CHECK_RESULT(k.errors.result, wrong->result);
    CHECK_CONTAINS(k.errors.text, place);
    CHECK_CONTAINS(k.errors.text, wrong->words);
    k.errors = (kit_errors){0};
    CHECK_EQ(orr_system_find(world, "x").id, 0);
    KIT_STEP(world, 1);
    KIT_SAID("draw weather");
    kit_end(&k);
}

ORR_TEST(lists_of_systems_with_empty_odd_or_repeated_names_are_refused)
{
    static const char* const fields[] = {"before", "after", "imports"};
    for (size_t i = 0; i < sizeof wrong_lists / sizeof wrong_lists[0]; i++) {
        for (size_t f = 0; f < 3; f++) {
            list_refused(fields[f], &wrong_lists[i]);
        }
    }
    for (size_t i = 0; i < sizeof wrong_maybe_lists / sizeof wrong_maybe_lists[0]; i++) {
        list_refused("before", &wrong_maybe_lists[i]);
        list_refused("after", &wrong_maybe_lists[i]);
    }
    list_refused("imports", &(wrong_list){"?draw", ORR_ERR_PARSE, "found '?'"});
}

ORR_TEST(lists_of_systems_may_have_blanks_and_be_long)
{
    kit k;
    orr_world* world = begin(&k);
    make(world, 0);
    KIT_SYSTEM(world, .name = "x", .query = "Position", .run = kit_run,
               .after = "\tdraw ,\n?missing , ?also:missing.2\v");
    char text[8000], *at = text;
    for (uint32_t i = 0; i < 500; i++) {
        at += snprintf(at, 16, "%s?n%u", i > 0 ? "," : "", i);
    }
    KIT_SYSTEM(world, .name = "draw", .query = "Position", .run = kit_run, .before = text);
    KIT_STEP(world, 1);
    KIT_SAID("draw x");
    snprintf(at, 16, ",?n77");
    CHECK_EQ(orr_system_add(world,
                            &(orr_system_desc){
                                .name = "y", .query = "Position", .run = kit_run, .before = text})
                 .id,
             0);
    KIT_ERROR(&k, ORR_ERR_PARSE, "'n77' is repeated");
    kit_end(&k);
}

ORR_TEST(list_of_systems_without_memory_adds_no_system)
{
    for (uint64_t n = 1, refused = 1; refused > 0; n++) {
        kit k;
        orr_world* world = begin(&k);
        KIT_SYSTEM(world, .name = "draw", .query = "Position", .run = kit_run);
        failing_alloc_arm(&k.memory, n, false);
        orr_system system = orr_system_add(world, &(orr_system_desc){.name = "x",
                                                                     .query = "Position",
                                                                     .run = kit_run,
                                                                     .before = "?a, ?b, ?c",
                                                                     .after = "draw"});
        refused = k.memory.refused;
        failing_alloc_arm(&k.memory, 0, false);
        CHECK((system.id == 0) == (refused > 0));
        CHECK(refused == 0 || k.errors.result == ORR_ERR_MEMORY);
        CHECK_EQ(orr_system_find(world, "x").id, system.id);
        kit_end(&k);
    }
}

// ---- lists with '*' -----------------------------------------------------------------------------

typedef struct wrong_star {
    orr_system_desc desc;
    const char* words;
} wrong_star;

static const wrong_star wrong_stars[] = {
    {{.switches = "*,"}, "system 'x', .switches: a ',' without a name"},
    {{.switches = "*,, Health"}, "a ',' without a name"},
    {{.switches = ", *"}, "a ',' without a name"},
    {{.switches = "*, Health, *"}, "'*' is repeated"},
    {{.destroys = "*, , Health"}, ".destroys: a ',' without a name"},
    {{.tags = "*, *"}, ".tags: '*' is repeated"},
    {{.switches = "*, Health, Health"}, "Health"},
};

ORR_TEST(lists_with_a_star_with_empty_or_repeated_items_are_refused)
{
    for (size_t i = 0; i < sizeof wrong_stars / sizeof wrong_stars[0]; i++) {
        kit k;
        orr_world* world = begin(&k);
        orr_system_desc desc = wrong_stars[i].desc;
        desc.name = "x";
        desc.once = true;
        desc.run = kit_run_nothing;
        CHECK_EQ(orr_system_add(world, &desc).id, 0);
        CHECK_CONTAINS(k.errors.text, wrong_stars[i].words);
        kit_end(&k);
    }
}

// A list was cut where it became too long, and the rest was not declared.
ORR_TEST(list_with_a_star_of_the_greatest_length_is_taken_whole)
{
    kit k;
    orr_world* world = begin(&k);
    char text[ORR_QUERY_TEXT_MAX + 2];
    memset(text, ' ', sizeof text);
    text[0] = '*';
    snprintf(text + ORR_QUERY_TEXT_MAX - 7, 8, ",Health");
    orr_system_desc desc = {.name = "x", .once = true, .run = kit_run_nothing, .switches = text};
    CHECK(orr_system_add(world, &desc).id != 0);
    memmove(text + 1, text, ORR_QUERY_TEXT_MAX + 1); // One too long.
    text[0] = ' ';
    desc.name = "y";
    CHECK_EQ(orr_system_add(world, &desc).id, 0);
    KIT_ERROR(&k, ORR_ERR_CAPACITY, "at most");
    kit_end(&k);
}

ORR_TEST(system_may_name_types_and_systems_registered_later)
{
    kit k;
    kit_line[0] = '\0';
    orr_world* world = kit_begin(&k, NULL);
    KIT_SYSTEM(world, .name = "late", .query = "Position", .after = "later", .imports = "later",
               .run = kit_run);
    CHECK(orr_step(world, 1) != ORR_OK);
    k.errors = (kit_errors){0};
    make(world, 0);
    KIT_SYSTEM(world, .name = "later", .query = "Position", .run = kit_run,
               .exports = ORR_TYPE(Wind));
    KIT_STEP(world, 1);
    KIT_SAID("later late");
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(system_may_be_the_first_to_name_types_of_the_library)
{
    kit k;
    orr_world* world = begin(&k);
    // Two types less than a whole word of bits: a third would be in the next word.
    orr_world_stats stats;
    for (orr_world_stats_get(world, &stats); stats.types % 64 != 62;
         orr_world_stats_get(world, &stats)) {
        char name[32];
        snprintf(name, sizeof name, "Filler%u", (uint32_t)stats.types);
        orr_type type;
        CHECK_OK(orr_type_register(world, &(orr_type_desc){.name = name}, &type));
    }
    KIT_SYSTEM(world, .name = "x", .once = true, .run = kit_run_nothing, .adds = "orr_name",
               .removes = "orr_tags, orr_enabled");
    KIT_STEP(world, 1);
    kit_end(&k);
}

// ---- queries of systems -------------------------------------------------------------------------

static void count_rows(orr_run* run)
{
    *(uint32_t*)orr_run_user(run) += run->count;
}

ORR_TEST(system_terms_and_query_text_form_one_query)
{
    kit k;
    orr_world* world = begin(&k);
    orr_entity both = make(world, 0);
    CHECK_OK(orr_set(world, both, Velocity, {1, 1}));
    make(world, 1);
    CHECK_OK(orr_set(world, orr_create(world), Velocity, {1, 1}));
    orr_term term = {.type = KIT_TYPE(world, Velocity)};
    uint32_t rows[2] = {0};
    KIT_SYSTEM(world, .name = "both", .query = "Position", .terms = &term, .term_count = 1,
               .run = count_rows, .user = &rows[0]);
    KIT_SYSTEM(world, .name = "one", .terms = &term, .term_count = 1, .run = count_rows,
               .user = &rows[1]);
    KIT_STEP(world, 1);
    CHECK_EQ(rows[0], 1);
    CHECK_EQ(rows[1], 2);
    kit_end(&k);
}

ORR_TEST(system_query_selects_entities)
{
    kit k;
    orr_world* world = begin(&k);
    make(world, 0);
    CHECK_OK(orr_entity_enable(world, make(world, 1), false));
    CHECK_OK(orr_entity_enable(world, make(world, 2), false));
    static const char* const queries[3] = {"Position", "disabled *, Position",
                                           "either *, Position"};
    uint32_t rows[3] = {0};
    for (uint32_t i = 0; i < 3; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        KIT_SYSTEM(world, .name = name, .query = queries[i], .run = count_rows, .user = &rows[i]);
    }
    KIT_STEP(world, 1);
    CHECK_EQ(rows[0], 1);
    CHECK_EQ(rows[1], 2);
    CHECK_EQ(rows[2], 3);
    kit_end(&k);
}

// An any-of term is a required term: the reader receives messages about its types only.
ORR_TEST(system_with_an_any_of_term_tracks_only_its_types)
{
    kit k;
    orr_world* world = begin(&k);
    orr_entity bob = make(world, 0);
    CHECK_OK(orr_set(world, bob, Health, {1, 1}));
    KIT_SYSTEM(world, .name = "hear", .kind = ORR_INDIRECT, .query = "Position | Velocity",
               .run = kit_note_messages);
    KIT_SYSTEM(world, .name = "all", .kind = ORR_INDIRECT, .run = kit_note_messages);
    KIT_STEP(world, 1);
    KIT_SAID("EntityAdded:reader:1: EntityAdded:reader:1:");
    CHECK_OK(orr_set(world, bob, Health, {2, 2}));
    KIT_STEP(world, 1);
    KIT_SAID("ComponentChanged:Health:1:");
    kit_end(&k);
}

// ---- declared sends -----------------------------------------------------------------------------

static orr_entity target;

static void destroy_target(orr_run* run)
{
    CHECK_OK(orr_send_destroy(run, target));
}

ORR_TEST(system_destroys_named_entities_also_when_disabled)
{
    kit k;
    orr_world* world = begin_rows(&k);
    target = make(world, 1);
    CHECK_OK(orr_entity_enable(world, target, false));
    KIT_SYSTEM(world, .name = "reap", .once = true, .destroys = "Position", .run = destroy_target);
    KIT_STEP(world, 1);
    CHECK(!orr_alive(world, target));
    CHECK_EQ(orr_entity_count(world), 1);
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

static void follow_self(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        CHECK_OK(orr_send_change(run, entity, Follow, {entity}));
    }
    CHECK(orr_read(run, Follow) != NULL);
    CHECK(orr_write(run, Follow) == NULL); // The type has an index: it is never written in place.
}

// "write" of a type with indexed fields means that the system sends changes of it.
ORR_TEST(system_writes_indexed_fields_by_sending)
{
    kit k;
    orr_world* world = begin(&k);
    orr_entity a = orr_create(world), b = orr_create(world);
    CHECK_OK(orr_set(world, a, Follow, {b}));
    CHECK_EQ(orr_referrers_get(world, a, KIT_TYPE(world, Follow), NULL, NULL, 0), 0);
    orr_system system =
        KIT_SYSTEM(world, .name = "follow", .query = "write Follow", .run = follow_self);
    KIT_STEP_REFUSED(world, 1);
    CHECK(orr_get(world, a, Follow)->whom.id == a.id);
    CHECK_EQ(orr_referrers_get(world, a, KIT_TYPE(world, Follow), NULL, NULL, 0), 1);
    CHECK_EQ(kit_stats(world, system).sent, 1);
    kit_end(&k);
}

static orr_type late[70];

static void add_late(orr_run* run)
{
    for (uint32_t i = 60; i < 70; i++) {
        bool declared = i == 63 || i == 69;
        CHECK_RESULT(orr_send_add_type(run, target, late[i], NULL, NULL),
                     declared ? ORR_OK : ORR_ERR_STATE);
        CHECK_RESULT(orr_send_remove_type(run, target, late[i], 0), ORR_ERR_STATE);
    }
}

// Rights are bits by type: more types than one word holds.
ORR_TEST(system_names_types_past_the_first_sixty_four)
{
    kit k;
    orr_world* world = begin(&k);
    target = make(world, 0);
    for (uint32_t i = 0; i < 70; i++) {
        char name[16];
        snprintf(name, sizeof name, "Late%u", i);
        CHECK_OK(orr_type_register(world, &(orr_type_desc){.name = name}, &late[i]));
    }
    orr_system system =
        KIT_SYSTEM(world, .name = "add", .once = true, .adds = "Late63, Late69", .run = add_late);
    KIT_STEP_REFUSED(world, 1);
    CHECK(orr_component_has(world, target, late[63]) && orr_component_has(world, target, late[69]));
    CHECK(!orr_component_has(world, target, late[62]));
    CHECK_EQ(kit_stats(world, system).violations, 18);
    kit_end(&k);
}

static void get_late(orr_run* run)
{
    for (uint32_t i = 50; i < 70; i++) {
        CHECK_EQ(orr_component_has(run->world, target, late[i]), i == 55 || i == 58 || i == 69);
    }
    kit_run(run);
}

// The same for types that are read by id.
ORR_TEST(system_reads_types_past_the_first_sixty_four)
{
    kit k;
    orr_world* world = begin(&k);
    target = make(world, 0);
    for (uint32_t i = 0; i < 70; i++) {
        char name[16];
        snprintf(name, sizeof name, "Late%u", i);
        CHECK_OK(orr_type_register(world, &(orr_type_desc){.name = name}, &late[i]));
        CHECK_OK(orr_component_add(world, target, late[i]));
    }
    orr_system system = KIT_SYSTEM(world, .name = "get", .once = true,
                                   .by_id = "Late55, Late58, Late69", .run = get_late);
    KIT_STEP_REFUSED(world, 1);
    KIT_SAID("get");
    CHECK_EQ(kit_stats(world, system).violations, 17);
    kit_end(&k);
}

ORR_TEST(system_events_with_strings_or_indexed_references_are_refused)
{
    kit k;
    orr_world* world = begin(&k);
    ORR_REGISTER(world, Label, Follow);
    CHECK_EQ(KIT_ADD(world, .name = "x", .once = true, .run = kit_run, .sends = "Label").id, 0);
    KIT_ERROR(&k, ORR_ERR_TYPE, "x: Label cannot be an event: it has owned strings");
    CHECK_EQ(KIT_ADD(world, .name = "x", .once = true, .run = kit_run, .receives = "Follow").id, 0);
    KIT_ERROR(&k, ORR_ERR_TYPE, "x: Follow cannot be an event: it has indexed references");
    kit_end(&k);
}

// ---- a lookup that is refused -------------------------------------------------------------------

ORR_TEST(system_lookup_may_be_refused_again_and_again)
{
    kit k;
    orr_world* world = begin(&k);
    orr_entity a = orr_create(world);
    CHECK_OK(orr_set(world, a, Follow, {a}));
    orr_system system = KIT_SYSTEM(world, .name = "follow", .query = "write Follow",
                                   .adds = "Unknown", .run = follow_self);
    for (uint32_t i = 0; i < 2 * ORR_TERMS_MAX; i++) {
        CHECK_RESULT(orr_step(world, 1), ORR_ERR_TYPE);
    }
    CHECK_OK(orr_type_register(world, &(orr_type_desc){.name = "Unknown"}, &late[0]));
    KIT_STEP_REFUSED(world, 1);
    CHECK_EQ(kit_stats(world, system).sent, 1);
    kit_end(&k);
}

// Everything that a lookup allocates.
static orr_world* begin_unknown(kit* k)
{
    kit_line[0] = '\0';
    orr_world* world = kit_begin(k, NULL);
    KIT_SYSTEM(world, .name = "direct", .query = "write Position", .by_id = "Health, #7, #8",
               .creates = "Position", .destroys = "Health", .tags = "#9, #7", .sends = "Hit",
               .state = ORR_TYPE(Count), .exports = ORR_TYPE(Wind), .run = kit_run_nothing);
    KIT_SYSTEM(world, .name = "indirect", .kind = ORR_INDIRECT, .query = "write Health",
               .adds = "Frozen", .destroys = "Position", .tags = "#1", .sends = "Hit",
               .receives = "Hit", .imports = "direct", .state = ORR_TYPE(Count),
               .run = kit_run_nothing);
    ORR_REGISTER(world, Position, Health, Frozen, Hit);
    CHECK_EQ(k->errors.count, 0);
    return world;
}

// Refused at any allocation; then tried again, removed, or ended with its world.
ORR_TEST(system_lookup_without_memory_leaves_nothing_behind)
{
    for (uint32_t after = 0; after < 3; after++) {
        uint64_t n = 1;
        for (bool refused = true; refused; n++) {
            kit k;
            orr_world* world = begin_unknown(&k);
            failing_alloc_arm(&k.memory, n, false);
            orr_result result = orr_step(world, 1);
            refused = k.memory.refused > 0;
            failing_alloc_arm(&k.memory, 0, false);
            CHECK(result == ORR_OK || (refused && result == ORR_ERR_MEMORY));
            if (after == 0) {
                KIT_STEP(world, 2);
            } else if (after == 1) {
                if (!orr_tick_open(world)) {
                    CHECK_OK(orr_system_remove(world, orr_system_find(world, "direct")));
                    CHECK_OK(orr_system_remove(world, orr_system_find(world, "indirect")));
                }
                KIT_STEP(world, 2);
            }
            kit_end(&k);
        }
        CHECK(n > 20);
    }
}
