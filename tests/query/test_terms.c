// SPDX-License-Identifier: MIT
// Queries as text: the terms of a text, their printed form, and the message for every mistake.
#include "query/query.h"
#include "support/store_kit.h"
#include "test.h"

ORR_STRUCT(Mass, (float, kg))
ORR_STRUCT(Armor, (int32_t, value))
ORR_STRUCT_EX(Body, (.storage = ORR_PINNED), (float, mass))
ORR_STRUCT(Parent, (orr_entity, entity, (.flags = ORR_FIELD_INDEXED)))
// A type may have the name of a keyword.
static const orr_type_desc orr_desc_write = {.name = "write"};
static const orr_type_desc orr_desc_either = {.name = "either"};
static const orr_type_desc orr_desc_dotted = {.name = "game.ui:Panel_2"};
ORR_DESCRIBED(write)
ORR_DESCRIBED(either)
ORR_DESCRIBED(dotted)

// ---- a world with types and tags ----------------------------------------------------------------

static orr_world* text_world(kit* k)
{
    orr_world* world = kit_begin(k, NULL);
    const orr_type_desc* descs[] = {ORR_TYPE(Position), ORR_TYPE(Velocity), ORR_TYPE(Health),
                                    ORR_TYPE(Armor),    ORR_TYPE(Frozen),   ORR_TYPE(Mass),
                                    ORR_TYPE(Body),     ORR_TYPE(write),    ORR_TYPE(either),
                                    ORR_TYPE(dotted),   ORR_TYPE(Parent),   ORR_TYPE(orr_name)};
    for (uint32_t i = 0; i < sizeof descs / sizeof descs[0]; i++) {
        CHECK(orr_type_of(world, descs[i]).id != 0);
    }
    CHECK_OK(orr_tag_register(world, 7, "level1"));
    CHECK_OK(orr_tag_register(world, 8, "boss"));
    return world;
}

typedef struct text_terms {
    orr_term terms[ORR_TERMS_MAX];
    uint32_t count;
    orr_enable_state entities;
} text_terms;

static orr_result text_parse(orr_world* world, const char* text, text_terms* out)
{
    return orri_terms_parse(world, "orr_query_text", text, out->terms, &out->count, &out->entities,
                            false);
}

static const char* text_print(const orr_world* world, const text_terms* terms)
{
    static char buffer[8192];
    size_t length =
        orri_terms_print(world, terms->terms, terms->count, terms->entities, buffer, sizeof buffer);
    CHECK(length < sizeof buffer && strlen(buffer) == length);
    return buffer;
}

// Compares terms. Group numbers of choices may differ if the same terms share a group.
static void text_check_equal(const text_terms* a, const text_terms* b)
{
    CHECK_EQ(a->count, b->count);
    CHECK_EQ(a->entities, b->entities);
    for (uint32_t i = 0; i < a->count; i++) {
        const orr_term *x = &a->terms[i], *y = &b->terms[i];
        CHECK_EQ(x->type.id, y->type.id);
        CHECK(x->type.id != 0 || x->tag == y->tag);
        CHECK_EQ(x->kind, y->kind);
        CHECK_EQ(x->access, y->access);
        CHECK_EQ(x->state, y->state);
        CHECK_EQ(x->changed, y->changed);
        for (uint32_t j = 0; j < i && x->kind == ORR_ANY; j++) {
            if (a->terms[j].kind == ORR_ANY) {
                CHECK_EQ(a->terms[j].group == x->group, b->terms[j].group == y->group);
            }
        }
    }
}

// ---- terms of a text ----------------------------------------------------------------------------

ORR_TEST(terms_of_every_kind_are_parsed) /* N0-21 N0-22 N0-23 */
{
    kit k = {0};
    orr_world* world = text_world(&k);
    text_terms t = {0};
    CHECK_OK(
        text_parse(world, "write Position, Velocity, !Frozen, ?Mass, #level1, Health|Armor", &t));
    CHECK_EQ(t.count, 7);
    CHECK_EQ(t.entities, ORR_ENABLED);
    CHECK_EQ(t.terms[0].type.id, KIT_TYPE(world, Position).id);
    CHECK_EQ(t.terms[0].kind, ORR_REQUIRED);
    CHECK_EQ(t.terms[0].access, ORR_WRITE);
    CHECK_EQ(t.terms[1].type.id, KIT_TYPE(world, Velocity).id);
    CHECK_EQ(t.terms[1].access, ORR_READ);
    CHECK_EQ(t.terms[1].state, ORR_ENABLED);
    CHECK(!t.terms[1].changed);
    CHECK_EQ(t.terms[2].kind, ORR_WITHOUT);
    CHECK_EQ(t.terms[2].type.id, KIT_TYPE(world, Frozen).id);
    CHECK_EQ(t.terms[3].kind, ORR_OPTIONAL);
    CHECK_EQ(t.terms[4].kind, ORR_REQUIRED);
    CHECK_EQ(t.terms[4].type.id, 0);
    CHECK_EQ(t.terms[4].tag, 7);
    CHECK_EQ(t.terms[5].kind, ORR_ANY);
    CHECK_EQ(t.terms[6].kind, ORR_ANY);
    CHECK_EQ(t.terms[5].group, t.terms[6].group);
    CHECK_EQ(t.terms[6].type.id, KIT_TYPE(world, Armor).id);
    kit_end(&k);
}

ORR_TEST(terms_words_set_access_state_and_changed)
{
    kit k = {0};
    orr_world* world = text_world(&k);
    text_terms t = {0};
    CHECK_OK(text_parse(world,
                        "disabled changed write Position, either Velocity, changed Health, read "
                        "Armor, ?write Mass, !either Frozen, !disabled Body, disabled *",
                        &t));
    CHECK_EQ(t.count, 7);
    CHECK_EQ(t.entities, ORR_DISABLED);
    CHECK_EQ(t.terms[0].state, ORR_DISABLED);
    CHECK_EQ(t.terms[0].access, ORR_WRITE);
    CHECK(t.terms[0].changed);
    CHECK_EQ(t.terms[1].state, ORR_EITHER);
    CHECK_EQ(t.terms[1].access, ORR_READ);
    CHECK(t.terms[2].changed && t.terms[2].access == ORR_READ);
    CHECK(!t.terms[3].changed && t.terms[3].access == ORR_READ);
    CHECK(t.terms[4].kind == ORR_OPTIONAL && t.terms[4].access == ORR_WRITE);
    CHECK(t.terms[5].kind == ORR_WITHOUT && t.terms[5].state == ORR_EITHER);
    CHECK(t.terms[6].kind == ORR_WITHOUT && t.terms[6].state == ORR_DISABLED);
    kit_end(&k);
}

// In a choice the words before the first name apply to all types except those with their own words.
ORR_TEST(terms_words_of_a_choice_apply_to_types_without_their_own)
{
    kit k = {0};
    orr_world* world = text_world(&k);
    text_terms t = {0};
    CHECK_OK(text_parse(world,
                        "write either Health|Armor|read Mass|changed Position|#boss|Velocity", &t));
    CHECK_EQ(t.count, 6);
    CHECK(t.terms[1].access == ORR_WRITE && t.terms[1].state == ORR_EITHER);
    CHECK(t.terms[2].access == ORR_READ && t.terms[2].state == ORR_ENABLED);
    CHECK(t.terms[3].access == ORR_READ && t.terms[3].changed);
    CHECK(t.terms[4].type.id == 0 && t.terms[4].tag == 8 && t.terms[4].access == ORR_READ &&
          t.terms[4].state == ORR_ENABLED);
    CHECK(t.terms[5].access == ORR_WRITE && t.terms[5].state == ORR_EITHER && !t.terms[5].changed);
    kit_end(&k);
}

// Input text and canonical text. NULL: the same text.
ORR_TEST(terms_print_in_canonical_form)
{
    static const char* const rows[][2] = {
        {"", NULL},
        {" \t\r\n ", ""},
        {"Position", NULL},
        {"Position,Velocity", "Position, Velocity"},
        {"  Position\n,\tVelocity  ", "Position, Velocity"},
        {"! Frozen , ? Mass, # boss", "!Frozen, ?Mass, #boss"},
        {"disabled changed write Position", "write changed disabled Position"},
        {"read Position", "Position"},
        {"?write Mass", NULL},
        {"?changed Mass", NULL},
        {"!either Frozen", NULL},
        {"!disabled Health", NULL},
        {"Health | Armor", "Health|Armor"},
        {"Health|Armor, Velocity|Armor|Mass", NULL},
        {"write Health|Armor", NULL},
        {"write Health|write Armor", "write Health|Armor"},
        {"write Health|read Armor", NULL},
        {"Health|write Armor", NULL},
        {"write Health|read Armor|Mass", NULL},
        {"read Health|write Armor|write Mass", "Health|write Armor|write Mass"},
        {"disabled Health|either Armor|read Mass", NULL},
        {"#boss|write Health|write Armor", NULL},
        {"write Health|#boss|#12", NULL},
        {"#7, #8, #9, #0x10, #0XfF", "#level1, #boss, #9, #16, #255"},
        {"#18446744073709551615", NULL},
        {"#0xFFFFFFFFFFFFFFFF", "#18446744073709551615"},

        {"#007", "#level1"},
        {"!#boss", NULL},
        {"#boss|#level1", NULL},
        {"disabled *", NULL},
        {"either *,Position", "Position, either *"},
        {"write", NULL},
        {"write write", NULL},
        {"write,either", "write, either"},
        {"either write|either", "either write|either"},
        {"either either", NULL},
        {"write either", NULL},
        {"!write", NULL},
        {"write Health|read write", NULL},
        {"?write write", NULL},
        {"game.ui:Panel_2", NULL},
        {"Body, ?Mass", NULL},
    };
    kit k = {0};
    orr_world* world = text_world(&k);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        text_terms t = {0}, again = {0};
        CHECK_OK(text_parse(world, rows[i][0], &t));
        const char* printed = text_print(world, &t);
        CHECK_STR(printed, rows[i][1] != NULL ? rows[i][1] : rows[i][0]);
        CHECK_OK(text_parse(world, printed, &again));
        text_check_equal(&t, &again);
    }
    CHECK_EQ(k.errors.count, 0);
    kit_end(&k);
}

ORR_TEST(terms_print_like_snprintf)
{
    kit k = {0};
    orr_world* world = text_world(&k);
    text_terms t = {0};
    CHECK_OK(text_parse(world, "Position, Velocity", &t));
    CHECK_EQ(orri_terms_print(world, t.terms, t.count, ORR_ENABLED, NULL, 0), 18);
    char small[9] = "xxxxxxxx";
    CHECK_EQ(orri_terms_print(world, t.terms, t.count, ORR_ENABLED, small, sizeof small), 18);
    CHECK_STR(small, "Position");
    CHECK_EQ(orri_terms_print(world, t.terms, 0, ORR_ENABLED, small, sizeof small), 0);
    CHECK_STR(small, "");
    kit_end(&k);
}

// Terms that no text produces are printed by their meaning.
ORR_TEST(terms_built_by_hand_print_by_meaning)
{
    kit k = {0};
    orr_world* world = text_world(&k);
    orr_type position = KIT_TYPE(world, Position), health = KIT_TYPE(world, Health);
    text_terms t = {
        .count = 5,
        .terms = {{.type = position, .kind = ORR_ANY, .group = 9},
                  {.type = health, .kind = ORR_WITHOUT, .access = ORR_WRITE, .changed = true},
                  {.type = KIT_TYPE(world, Mass), .kind = ORR_ANY, .group = 9},
                  {.type = KIT_TYPE(world, Armor), .kind = ORR_ANY, .group = 1},
                  {.type = KIT_TYPE(world, Body), .kind = ORR_OPTIONAL, .state = ORR_EITHER}}};
    CHECK_STR(text_print(world, &t), "Position|Mass, !Health, Armor, ?Body");
    t = (text_terms){.count = 2, .terms = {{.type = {12345}}, {.tag = 3, .access = ORR_WRITE}}};
    CHECK_STR(text_print(world, &t), "(no type), #3");
    kit_end(&k);
}

ORR_TEST(terms_parsed_are_appended_to_earlier_terms)
{
    kit k = {0};
    orr_world* world = text_world(&k);
    text_terms t = {.count = 3,
                    .entities = ORR_EITHER,
                    .terms = {{.type = KIT_TYPE(world, Position)},
                              {.type = KIT_TYPE(world, Mass), .kind = ORR_ANY, .group = 1},
                              {.type = KIT_TYPE(world, Armor), .kind = ORR_ANY, .group = 0}}};
    text_terms before = t;
    CHECK_OK(text_parse(world, "Velocity|Health, Frozen|Mass, either *", &t));
    CHECK_EQ(t.count, 7);
    CHECK_EQ(t.terms[3].group, 2); // 0 and 1 are taken.
    CHECK_EQ(t.terms[5].group, 3);
    CHECK_EQ(t.entities, ORR_EITHER);
    t = before;
    CHECK_RESULT(text_parse(world, "Velocity, Position", &t), ORR_ERR_PARSE);
    CHECK_STR(k.errors.text,
              "orr_query_text: Position is named twice; the other is in `terms` of the desc\n"
              "    Velocity, Position\n"
              "              ^ column 11");
    CHECK_EQ(t.count, 3);
    CHECK_RESULT(text_parse(world, "disabled *", &t), ORR_ERR_PARSE);
    CHECK_CONTAINS(k.errors.text, "`entities` of the desc has another value");
    CHECK_EQ(memcmp(&t, &before, sizeof t), 0);
    kit_end(&k);
}

// ---- mistakes -----------------------------------------------------------------------------------

typedef struct text_mistake {
    const char* text;
    uint32_t column; // Column of the caret, from 1.
    orr_result result;
    const char* words;
} text_mistake;

#define TYPE_ADVICE " (a C type is registered by its first use or by ORR_REGISTER())"
#define TAG_ADVICE  " (name a tag with orr_tag_register(), or write its number: '#17')"
#define STAR                                                                               \
    "'*' stands for the entities: 'disabled *' selects disabled entities, 'either *' all " \
    "entities; "                                                                           \
    "without '*' a query selects enabled entities"
#define OFF_TOO " has no meaning here; the column also has the disabled values"

static const text_mistake text_mistakes[] = {
    // Names.
    {"Position, Velocty", 11, ORR_ERR_TYPE,
     "no type 'Velocty'; did you mean 'Velocity'?" TYPE_ADVICE},
    {"Bogus", 1, ORR_ERR_TYPE, "no type 'Bogus'" TYPE_ADVICE},
    {"!  Frzen", 4, ORR_ERR_TYPE, "no type 'Frzen'; did you mean 'Frozen'?" TYPE_ADVICE},
    {"Health|Armro", 8, ORR_ERR_TYPE, "no type 'Armro'; did you mean 'Armor'?" TYPE_ADVICE},
    {"chnged Position", 1, ORR_ERR_TYPE, "no type 'chnged'; did you mean 'changed'?" TYPE_ADVICE},
    {"chnged", 1, ORR_ERR_TYPE, "no type 'chnged'" TYPE_ADVICE},
    {"read", 1, ORR_ERR_TYPE, "no type after 'read'; name it: 'read Position'"},
    {"Position, changed, Health", 11, ORR_ERR_TYPE,
     "no type after 'changed'; name it: 'changed Position'"},
    {"Wrute Position", 1, ORR_ERR_TYPE, "no type 'Wrute'; did you mean 'write'?" TYPE_ADVICE},
    {"not Health", 1, ORR_ERR_TYPE, "no type 'not'; to exclude a type write '!Position'"},
    {"Health, without Armor", 9, ORR_ERR_TYPE,
     "no type 'without'; to exclude a type write '!Position'"},
    {"boss", 1, ORR_ERR_TYPE, "no type 'boss'; it is a tag: write '#boss'"},
    {"#bos", 2, ORR_ERR_TYPE, "no tag has the name 'bos'; did you mean 'boss'?" TAG_ADVICE},
    {"#castle", 2, ORR_ERR_TYPE, "no tag has the name 'castle'" TAG_ADVICE},
    {"# Position", 3, ORR_ERR_TYPE,
     "no tag has the name 'Position'; it is a type: write it without '#'"},
    {"Position, 17", 11, ORR_ERR_PARSE,
     "a name does not begin with a digit; a tag has '#' before it: '#17'"},
    {"Position, Gr\xC3\xB6\xC3\x9F"
     "e",
     13, ORR_ERR_PARSE, "a name can have the letters a to z and A to Z, digits, '_', '.' and ':'"},
    {"\xC3\xA9t\xC3\xA9", 1, ORR_ERR_PARSE, "expected a type, or '#' and a tag"},
    {"#12z4", 4, ORR_ERR_PARSE,
     "'z' is not a digit; a tag is a name, or a number such as 17 or 0x1F"},
    {"#0x", 3, ORR_ERR_PARSE,
     "'x' is not a digit; a tag is a name, or a number such as 17 or 0x1F"},
    {"#0x1g", 5, ORR_ERR_PARSE,
     "'g' is not a digit; a tag is a name, or a number such as 17 or 0x1F"},
    {"#0", 2, ORR_ERR_PARSE, "a query cannot use tag 0: an all-zero term means no term"},
    {"#18446744073709551616", 2, ORR_ERR_PARSE, "the tag does not fit in 64 bits"},
    {"#0x10000000000000000", 2, ORR_ERR_PARSE, "the tag does not fit in 64 bits"},
    // Signs.
    {"Position Velocity", 10, ORR_ERR_PARSE, "expected ',' or '|', found 'Velocity'"},
    {"Position; Velocity", 9, ORR_ERR_PARSE, "expected ',' or '|', found ';'"},
    {"Position !Frozen", 10, ORR_ERR_PARSE, "expected ',' or '|', found '!'"},
    {"Position,,Velocity", 10, ORR_ERR_PARSE, "expected a type, or '#' and a tag, found ','"},
    {"Position, ", 11, ORR_ERR_PARSE, "expected a term after ',', found the end"},
    {",", 1, ORR_ERR_PARSE, "expected a type, or '#' and a tag, found ','"},
    {"!", 2, ORR_ERR_PARSE, "expected a type, or '#' and a tag, found the end"},
    {"#", 2, ORR_ERR_PARSE, "expected the name or number of a tag after '#', found the end"},
    {"#,", 2, ORR_ERR_PARSE, "expected the name or number of a tag after '#', found ','"},
    {"Position\x01", 9, ORR_ERR_PARSE, "expected ',' or '|'"},
    {"Health|", 8, ORR_ERR_PARSE, "expected a type, or '#' and a tag, after '|', found the end"},
    {"Health||Armor", 8, ORR_ERR_PARSE, "expected a type, or '#' and a tag, after '|', found '|'"},
    {"Health|!Armor", 8, ORR_ERR_PARSE, "expected a type, or '#' and a tag, after '|', found '!'"},
    {"Health|*", 8, ORR_ERR_PARSE, "expected a type, or '#' and a tag, after '|', found '*'"},
    {"!Health|Armor", 8, ORR_ERR_PARSE, "'!' applies to one name only; write '!A, !B'"},
    {"?Health |Armor", 9, ORR_ERR_PARSE, "'?' applies to one name only; write '?A, ?B'"},
    {"!!Frozen", 2, ORR_ERR_PARSE, "a term has at most one '!' or '?'"},
    {"! ?Frozen", 3, ORR_ERR_PARSE, "a term has at most one '!' or '?'"},
    {"write ?Mass", 7, ORR_ERR_PARSE, "'!' and '?' stand first in a term, before its words"},
    // Words.
    {"write write Position", 7, ORR_ERR_PARSE, "'write' is repeated"},
    {"Health|read read Armor", 13, ORR_ERR_PARSE, "'read' is repeated"},
    {"read changed write Mass", 14, ORR_ERR_PARSE,
     "'read' and 'write' exclude each other; 'write' allows reading too"},
    {"either disabled Mass", 8, ORR_ERR_PARSE,
     "'disabled' and 'either' exclude each other; 'disabled' means disabled only, 'either' means "
     "enabled or disabled"},
    {"!write Mass", 2, ORR_ERR_PARSE, "'!' excludes the type, so 'write' has no meaning here"},
    {"! either read Mass", 10, ORR_ERR_PARSE,
     "'!' excludes the type, so 'read' has no meaning here"},
    {"!changed Mass", 2, ORR_ERR_PARSE, "'!' excludes the type, so 'changed' has no meaning here"},
    {"?disabled Mass", 2, ORR_ERR_PARSE, "'?' selects no entities, so 'disabled'" OFF_TOO},
    {"?write either Mass", 8, ORR_ERR_PARSE, "'?' selects no entities, so 'either'" OFF_TOO},
    {"Mass, write #boss", 7, ORR_ERR_PARSE, "a tag has no value, so no word can stand before it"},
    {"Mass|either #boss", 6, ORR_ERR_PARSE, "a tag has no value, so no word can stand before it"},
    {"?#boss", 2, ORR_ERR_PARSE,
     "a tag has no column, so it cannot be optional; leave the term out"},
    {"write changed Body", 7, ORR_ERR_PARSE,
     "Body is pinned; 'changed' is tracked by chunk, so it cannot be used with pinned types"},
    {"Mass|changed write Parent", 14, ORR_ERR_PARSE,
     "Parent cannot be written in place, because the world keeps an index of it; between ticks use "
     "orr_set() after the loop, in a system orr_send_change() (.changes)"},
    {"write orr_name", 1, ORR_ERR_PARSE,
     "orr_name cannot be written in place, because the world keeps an index of it; between ticks "
     "use "
     "orr_name_set() "
     "after the loop, in a system orr_send_name() (.renames)"},
    // Terms for entities.
    {"*", 1, ORR_ERR_PARSE, STAR},
    {"!*", 2, ORR_ERR_PARSE, STAR},
    {"write disabled *", 16, ORR_ERR_PARSE, STAR},
    {"disabled *, Mass, either *", 26, ORR_ERR_PARSE, "'*' is repeated; the other is at column 10"},
    {"disabled * | Mass", 12, ORR_ERR_PARSE, "expected ',', found '|'"},
    // Duplicates.
    {"Mass, Mass", 7, ORR_ERR_PARSE, "Mass is named twice; the other is at column 1"},
    {"write Mass, ?Mass", 14, ORR_ERR_PARSE,
     "Mass is required and optional; the other is at column 7"},
    {"?Mass, ?Mass", 9, ORR_ERR_PARSE, "Mass is named twice; the other is at column 2"},
    {"Mass, !Mass", 8, ORR_ERR_PARSE,
     "Mass is included and excluded, which no entity can match; the other is at column 1"},
    {"!Mass, Armor|Mass", 14, ORR_ERR_PARSE,
     "Mass is included and excluded, which no entity can match; the other is at column 2"},
    {"!Mass, !Mass", 9, ORR_ERR_PARSE, "Mass is excluded twice; the other is at column 2"},
    {"?Mass, !Mass", 9, ORR_ERR_PARSE,
     "Mass is optional and excluded, so its column would always be missing; the other is at column "
     "2"},
    {"Mass|Armor|Mass", 12, ORR_ERR_PARSE, "Mass is twice in one choice; the other is at column 1"},
    {"Mass, Mass|Armor", 7, ORR_ERR_PARSE,
     "Mass is required, so a choice with it is always true; the other is at column 1"},
    {"Mass|Armor, ?Mass", 14, ORR_ERR_PARSE,
     "Mass is optional and in a choice, which already gives its column; the other is at column 1"},
    {"#boss, #8", 8, ORR_ERR_PARSE, "#boss is named twice; the other is at column 1"},
    {"#9, !#0x9", 6, ORR_ERR_PARSE,
     "#9 is included and excluded, which no entity can match; the other is at column 1"},
};

ORR_TEST(terms_with_a_mistake_are_refused_with_message_and_caret)
{
    kit k = {0};
    orr_world* world = text_world(&k);
    for (uint32_t i = 0; i < sizeof text_mistakes / sizeof text_mistakes[0]; i++) {
        const text_mistake* m = &text_mistakes[i];
        text_terms t = {.count = 1, .terms = {{.tag = 77}}}, before = t;
        CHECK_RESULT(text_parse(world, m->text, &t), m->result);
        CHECK_EQ(memcmp(&t, &before, sizeof t), 0);
        CHECK_EQ(k.errors.count, i + 1);
        char shown[64], expected[512];
        snprintf(shown, sizeof shown, "%s", m->text);
        for (char* c = shown; *c != '\0'; c++) {
            *c = *c == '\x01' ? '?' : *c;
        }
        snprintf(expected, sizeof expected, "orr_query_text: %s\n    %s\n    %*s^ column %u",
                 m->words, shown, (int)m->column - 1, "", m->column);
        CHECK_STR(k.errors.text, expected);
        CHECK_STR(orr_error_last(world), expected);
    }
    kit_end(&k);
}

#undef TYPE_ADVICE
#undef TAG_ADVICE
#undef STAR
#undef OFF_TOO

ORR_TEST(terms_error_in_a_long_text_shows_a_part_around_the_caret)
{
    kit k = {0};
    orr_world* world = text_world(&k);
    text_terms t = {0};
    CHECK_RESULT(text_parse(world,
                            "write Position,\n\twrite Velocity, ?Mass, !Frozen,\n\t#level1, "
                            "Health|Armor, Bdy, #boss, #1, #2, #3, #4",
                            &t),
                 ORR_ERR_TYPE);
    CHECK_STR(k.errors.text,
              "orr_query_text: no type 'Bdy'; did you mean 'Body'? (a C type is registered by its "
              "first use or by ORR_REGISTER())\n"
              "    …?Mass, !Frozen,  #level1, Health|Armor, Bdy, #boss, #1, #2, …\n"
              "                                             ^ column 74");
    // Near the end the shown part begins earlier.
    CHECK_RESULT(text_parse(world,
                            "write Position, write Velocity, ?Mass, !Frozen, #level1, "
                            "Health|Armor, #boss !",
                            &t),
                 ORR_ERR_PARSE);
    CHECK_STR(k.errors.text,
              "orr_query_text: expected ',' or '|', found '!'\n"
              "    …ite Velocity, ?Mass, !Frozen, #level1, Health|Armor, #boss !\n"
              "                                                                ^ column 78");
    kit_end(&k);
}

// The longest possible message leaves room for the lines with the caret.
ORR_TEST(terms_error_always_has_its_caret)
{
    kit k = {0};
    orr_world* world = text_world(&k);
    static char name[64];
    memset(name, 'n', 63);
    orr_type_desc desc = {.name = name};
    orr_type type;
    for (uint32_t i = 0; i < 4; i++) {
        name[i] = 'm';
        CHECK_OK(orr_type_register(world, &desc, &type));
        name[i] = 'n';
    }
    char text[600];
    size_t length = 0;
    for (uint32_t i = 0; i < 40; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "#%u, ", 100 + i);
        if (i == 20) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%s, ", name);
        }
    }
    text_terms t = {0};
    CHECK_RESULT(text_parse(world, text, &t), ORR_ERR_TYPE);
    CHECK_CONTAINS(k.errors.text, "'; did you mean 'm");
    CHECK_CONTAINS(k.errors.text, "^ column 127");
    // Characters of four bytes, before and after the caret.
    length = 0;
    for (uint32_t i = 0; i < 100; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "\xF0\x9F\x98\x80");
    }
    CHECK_RESULT(text_parse(world, text, &t), ORR_ERR_PARSE);
    CHECK_CONTAINS(k.errors.text, "\n    ^ column 1");
    // Bytes that are not UTF-8.
    CHECK_RESULT(text_parse(world, "Mass\xFF\xC3", &t), ORR_ERR_PARSE);
    CHECK_CONTAINS(k.errors.text, "\n    Mass??\n        ^ column 5");
    kit_end(&k);
}

ORR_TEST(terms_beyond_the_limits_are_refused)
{
    kit k = {0};
    orr_world* world = text_world(&k);
    text_terms t = {0};
    char many[256];
    size_t length = 0;
    for (uint32_t i = 0; i < ORR_TERMS_MAX; i++) {
        length += (size_t)snprintf(many + length, sizeof many - length, "%s#%u", i > 0 ? "," : "",
                                   i + 100);
    }
    CHECK_OK(text_parse(world, many, &t));
    CHECK_EQ(t.count, ORR_TERMS_MAX);
    snprintf(many + length, sizeof many - length, ", Mass");
    t.count = 0;
    CHECK_RESULT(text_parse(world, many, &t), ORR_ERR_CAPACITY);
    CHECK_CONTAINS(k.errors.text, "orr_query_text: a query has at most 32 terms\n");
    CHECK_CONTAINS(k.errors.text, "^ column 162");
    CHECK_EQ(t.count, 0);

    static char longest[ORR_QUERY_TEXT_MAX + 2];
    memset(longest, ' ', sizeof longest - 1);
    memcpy(longest, "Position", 8);
    longest[ORR_QUERY_TEXT_MAX] = '\0';
    CHECK_OK(text_parse(world, longest, &t));
    CHECK_EQ(t.count, 1);
    longest[ORR_QUERY_TEXT_MAX] = ' ';
    t.count = 0;
    CHECK_RESULT(text_parse(world, longest, &t), ORR_ERR_CAPACITY);
    CHECK_CONTAINS(k.errors.text,
                   "orr_query_text: a query's text has at most 4096 bytes; it begins "
                   "'Position  ");
    kit_end(&k);
}

// A world without memory still parses texts and reports mistakes.
ORR_TEST(terms_need_no_memory)
{
    kit k = {0};
    orr_world* world = text_world(&k);
    failing_alloc_arm(&k.memory, 1, true);
    text_terms t = {0};
    CHECK_OK(text_parse(world, "write Position, Health|Armor, #boss", &t));
    CHECK_STR(text_print(world, &t), "write Position, Health|Armor, #boss");
    CHECK_RESULT(text_parse(world, "Velocty", &t), ORR_ERR_TYPE);
    CHECK_RESULT(text_parse(world, "#bos", &t), ORR_ERR_TYPE);
    CHECK_EQ(k.memory.requests, 0);
    failing_alloc_arm(&k.memory, 0, false);
    kit_end(&k);
}

// ---- print and parse ----------------------------------------------------------------------------

// Up to `most` terms that a text can express: choices of two or more, each type once.
static void text_random_terms(orr_world* world, text_terms* out)
{
    orr_type types[16];
    uint32_t type_count = 0;
    for (uint32_t i = 0; i < world->schema.type_count && type_count < 16; i++) {
        types[type_count++] = (orr_type){world->schema.type_base + i};
    }
    for (uint32_t i = type_count; i > 1; i--) { // Shuffled.
        uint32_t j = (uint32_t)(test_random() % i);
        orr_type swapped = types[i - 1];
        types[i - 1] = types[j];
        types[j] = swapped;
    }
    *out = (text_terms){.entities = (orr_enable_state)(test_random() % 3)};
    uint32_t wanted = (uint32_t)(test_random() % type_count), choice = 0;
    orr_tag tag = 5;
    for (uint32_t i = 0; i < wanted; i++) {
        uint64_t bits = test_random();
        orr_term* term = &out->terms[out->count++];
        bool tagged = bits % 4 == 0;
        tag += 1 + (bits >> 8) % 3;
        *term = (orr_term){.type = tagged ? (orr_type){0} : types[i], .tag = tagged ? tag : 0};
        const orri_type* type = tagged ? NULL : orri_type_at(&world->schema, types[i]);
        bool pinned = !tagged && type->info.storage == ORR_PINNED;
        bool fixed = !tagged && orri_type_written_by_set(type);
        term->kind = (orr_term_kind)((bits >> 16) % (tagged ? 2 : 3));
        if (choice > 0 || ((bits >> 20) % 3 == 0 && i + 1 < wanted)) {
            term->kind = ORR_ANY;
            choice = choice > 0 ? choice - 1 : 1 + (uint32_t)((bits >> 24) % (wanted - i - 1));
            term->group = out->count + 100;
            if (out->count > 1 && out->terms[out->count - 2].kind == ORR_ANY && choice < 99 &&
                (bits >> 28) % 8 != 0) {
                term->group = out->terms[out->count - 2].group;
            }
        }
        if (!tagged) {
            term->access = (bits >> 32) % 2 != 0 && term->kind != ORR_WITHOUT && !fixed ? ORR_WRITE
                                                                                        : ORR_READ;
            term->changed = (bits >> 36) % 4 == 0 && term->kind != ORR_WITHOUT && !pinned;
            term->state = term->kind != ORR_OPTIONAL ? (orr_enable_state)((bits >> 40) % 3)
                                                     : ORR_ENABLED;
        }
    }
    // A choice of one is a required term.
    for (uint32_t i = 0; i < out->count; i++) {
        uint32_t same = 0;
        for (uint32_t j = 0; j < out->count; j++) {
            same += out->terms[j].kind == ORR_ANY && out->terms[j].group == out->terms[i].group;
        }
        if (out->terms[i].kind == ORR_ANY && same < 2) {
            out->terms[i].kind = ORR_REQUIRED;
            out->terms[i].group = 0;
        }
    }
}

ORR_TEST(random_terms_print_as_text_of_the_same_terms)
{
    kit k = {0};
    orr_world* world = text_world(&k);
    for (uint32_t round = 0; round < (test_long() ? 1000000u : 20000u); round++) {
        text_terms terms, again = {0};
        text_random_terms(world, &terms);
        CHECK_OK(text_parse(world, text_print(world, &terms), &again));
        text_check_equal(&terms, &again);
    }
    kit_end(&k);
}

ORR_TEST(terms_of_random_tokens_are_refused_or_print_back)
{
    static const char* const tokens[] = {
        "Position", "Velocity", "Health", "Armor",  "Mass", "Body",  "write",   "either",
        "changed",  "disabled", "read",   "|",      "|",    ",",     ",",       ",",
        ",",        "!",        "?",      "#boss",  "#17",  "#0x1F", "#level1", "*",
        " ",        " ",        "\n",     "Frozen", "#",    "Bogus", "\xC3\xB6"};
    kit k = {0};
    orr_world* world = text_world(&k);
    uint32_t parsed = 0;
    for (uint32_t round = 0; round < (test_long() ? 1000000u : 40000u); round++) {
        char text[128];
        orri_text out = {text, sizeof text, 0};
        uint32_t count = (uint32_t)(test_random() % 9);
        orri_text_add(&out, "%s", "");
        for (uint32_t i = 0; i < count; i++) {
            orri_text_add(&out, "%s%s", tokens[test_random() % (sizeof tokens / sizeof tokens[0])],
                          test_random() % 2 != 0 ? " " : "");
        }
        text_terms terms = {0}, again = {0};
        if (text_parse(world, text, &terms) == ORR_OK) {
            CHECK_OK(text_parse(world, text_print(world, &terms), &again));
            text_check_equal(&terms, &again);
            parsed++;
        } else {
            CHECK_EQ(terms.count, 0);
            CHECK_CONTAINS(k.errors.text, "^ column ");
        }
    }
    CHECK(parsed > 1000);
    kit_end(&k);
}
