// SPDX-License-Identifier: MIT
// Parser of query texts. One pass. Terms are collected in a local list and handed over when the
// whole text is read. Allocates only if the text is the first to name a built-in type, which is
// then registered.
//
//     text   = [ term { "," term } ]
//     term   = [ "!" | "?" ] ( member { "|" member } | word "*" )
//     member = { word } ( type | "#" ( tag | number ) )
//     word   = "read" | "write" | "changed" | "disabled" | "either"
//
// A word is a keyword only if a name follows, so that types may have these names. Words before the
// first member of a choice apply to all its types; a member with words of its own has only those:
// "write Health|read Armor".
#include "base/scan.h"
#include "query/query.h"

enum {
    TERMS_WORD_READ,
    TERMS_WORD_WRITE,
    TERMS_WORD_CHANGED,
    TERMS_WORD_DISABLED,
    TERMS_WORD_EITHER,
    TERMS_WORD_COUNT
};

static const char* const terms_words[TERMS_WORD_COUNT] = {"read", "write", "changed", "disabled",
                                                          "either"};

// The words before a name.
typedef struct terms_prefix {
    const char* words[TERMS_WORD_COUNT]; // Position of each word in the text; NULL: not there.
    const char* first;                   // Position of the first word; NULL: none.
} terms_prefix;

typedef struct terms_parser {
    orr_world* world;
    const char* call;                  // Public call, for error texts.
    const char* text;                  // The whole text.
    const char* at;                    // Next character.
    orr_term terms[ORR_TERMS_MAX];     // Terms given before the text, then those of the text.
    const char* places[ORR_TERMS_MAX]; // Positions of their names; NULL: given before the text.
    uint32_t count;                    // Number of `terms`.
    bool sends;                // "write" is allowed for all types: it means that changes are sent.
    orr_enable_state entities; // Enable state of the entities.
    const char* entities_at;   // Position of '*'; NULL: none.
    orr_result result;         // Result of a refused parse.
} terms_parser;

// ---- errors -------------------------------------------------------------------------------------

// Reports an error at a position of the text. Always returns false.
static bool terms_fail(terms_parser* p, orr_result result, const char* at, const char* format, ...)
    ORR_PRINTF(4, 5);

static bool terms_fail(terms_parser* p, orr_result result, const char* at, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    p->result = orri_refuse_at(orri_env_of(p->world), result, ORR_LOG_ID_QUERY_REFUSED, p->call,
                               p->text, at, format, args);
    va_end(args);
    return false;
}

// Reports what was expected at the current position, and what is there.
static bool terms_expected(terms_parser* p, const char* what)
{
    char found[ORRI_SCAN_FOUND_SIZE];
    return terms_fail(p, ORR_ERR_PARSE, p->at, "expected %s%s", what,
                      orri_scan_found(p->at, orri_scan_word(p->at), found));
}

static void terms_near_types(const orr_world* world, orri_near* near)
{
    for (uint32_t i = 0; i < world->schema.type_count; i++) {
        orri_near_offer(near, world->schema.types[i]->info.name);
    }
}

static void terms_near_tags(const orr_world* world, orri_near* near)
{
    for (uint32_t i = 0; i < world->tags.count; i++) {
        orri_near_offer(near, world->tags.entries[i].name);
    }
}

// ---- tokens -------------------------------------------------------------------------------------

// The keyword at the current position; TERMS_WORD_COUNT: none. A word is a keyword only if a name
// or sign follows.
static uint32_t terms_word_at(const terms_parser* p)
{
    size_t size = orri_scan_word(p->at);
    const char* next = orri_scan_blanks(p->at + size);
    uint32_t word = 0;
    while (word < TERMS_WORD_COUNT && !orri_scan_equals(p->at, size, terms_words[word])) {
        word++;
    }
    bool name_follows = orri_scan_word(next) > 0 ||
                        (*next != '\0' && strchr("#*!?", *next) != NULL);
    return name_follows ? word : TERMS_WORD_COUNT;
}

static bool terms_take_words(terms_parser* p, terms_prefix* out)
{
    memset(out, 0, sizeof *out);
    for (;;) {
        p->at = orri_scan_blanks(p->at);
        uint32_t word = terms_word_at(p);
        if (word == TERMS_WORD_COUNT) {
            return true;
        }
        if (out->words[word] != NULL) {
            return terms_fail(p, ORR_ERR_PARSE, p->at, "'%s' is repeated", terms_words[word]);
        }
        out->words[word] = p->at;
        out->first = out->first != NULL ? out->first : p->at;
        if (out->words[TERMS_WORD_READ] != NULL && out->words[TERMS_WORD_WRITE] != NULL) {
            return terms_fail(p, ORR_ERR_PARSE, p->at,
                              "'read' and 'write' exclude each other; 'write' allows reading too");
        }
        if (out->words[TERMS_WORD_DISABLED] != NULL && out->words[TERMS_WORD_EITHER] != NULL) {
            return terms_fail(p, ORR_ERR_PARSE, p->at,
                              "'disabled' and 'either' exclude each other; 'disabled' means "
                              "disabled only, 'either' means enabled or disabled");
        }
        p->at += strlen(terms_words[word]);
    }
}

// ---- names --------------------------------------------------------------------------------------

static bool terms_unknown_type(terms_parser* p, const char* name, size_t size)
{
    orri_near near;
    orri_near_begin(&near, name, size);
    if (size <= ORR_NAME_MAX && orr_tag_find(p->world, near.name, NULL)) {
        return terms_fail(p, ORR_ERR_TYPE, name, "no type '%s'; it is a tag: write '#%s'",
                          near.name, near.name);
    }
    for (uint32_t i = 0; i < TERMS_WORD_COUNT; i++) {
        if (orri_scan_equals(name, size, terms_words[i])) {
            return terms_fail(p, ORR_ERR_TYPE, name, "no type after '%s'; name it: '%s Position'",
                              terms_words[i], terms_words[i]);
        }
    }
    if (orri_scan_equals(name, size, "not") || orri_scan_equals(name, size, "without")) {
        return terms_fail(p, ORR_ERR_TYPE, name,
                          "no type '%s'; to exclude a type write '!Position'", near.name);
    }
    if (orri_type_starved(&p->world->schema, name, size) != NULL) {
        return terms_fail(p, ORR_ERR_MEMORY, name,
                          "out of memory: the registration of '%s' was refused; register it again "
                          "when there is memory",
                          near.name);
    }
    terms_near_types(p->world, &near);
    const char* next = orri_scan_blanks(name + size);
    for (uint32_t i = 0; i < TERMS_WORD_COUNT && orri_scan_word(next) > 0; i++) {
        if (orr_type_find(p->world, terms_words[i]).id == 0) {
            orri_near_offer(&near, terms_words[i]);
        }
    }
    char words[ORRI_ERROR_SIZE] = "";
    orri_near_append(&near, &(orri_text){words, sizeof words, 0});
    return terms_fail(p, ORR_ERR_TYPE, name,
                      "no type '%s'%s (a C type is registered by its first use or by "
                      "ORR_REGISTER())",
                      near.name, words);
}

// Registers a built-in type that the text names. False if that is refused (reported).
static bool terms_builtin(terms_parser* p, const char* name, orr_type* out)
{
    const orr_type_desc* desc = orri_builtin_desc(name);
    if (desc == NULL) {
        return true;
    }
    p->result = orr_type_register(p->world, desc, out);
    return p->result == ORR_OK;
}

static bool terms_take_type(terms_parser* p, orr_type* out)
{
    const char* name = p->at;
    size_t size = orri_scan_word(name);
    if (orri_scan_is_digit(*name)) {
        return terms_fail(p, ORR_ERR_PARSE, name,
                          "a name does not begin with a digit; a tag has '#' before it: '#17'");
    }
    if ((unsigned char)name[size] >= 0x80) {
        return terms_fail(
            p, ORR_ERR_PARSE, name + size,
            "a name can have the letters a to z and A to Z, digits, '_', '.' and ':'");
    }
    char copy[ORR_NAME_MAX + 1];
    orri_scan_copy(copy, name, size);
    *out = orr_type_find(p->world, copy);
    if (out->id == 0 && !terms_builtin(p, copy, out)) {
        return false;
    }
    if (out->id == 0) {
        return terms_unknown_type(p, name, size);
    }
    p->at += size;
    return true;
}

static bool terms_take_number(terms_parser* p, size_t size, orr_tag* out)
{
    orri_scan_number number = orri_scan_decimal_or_hex(p->at, UINT64_MAX);
    if (!number.fits) {
        return terms_fail(p, ORR_ERR_PARSE, p->at, "the tag does not fit in 64 bits");
    }
    if (number.end < p->at + size) {
        return terms_fail(p, ORR_ERR_PARSE, number.end,
                          "'%c' is not a digit; a tag is a name, or a number such as 17 or 0x1F",
                          *number.end);
    }
    p->at = number.end;
    *out = number.value;
    return true;
}

static bool terms_unknown_tag(terms_parser* p, const char* name, size_t size)
{
    orri_near near;
    orri_near_begin(&near, name, size);
    if (size <= ORR_NAME_MAX && orr_type_find(p->world, near.name).id != 0) {
        return terms_fail(p, ORR_ERR_TYPE, name,
                          "no tag has the name '%s'; it is a type: write it without '#'",
                          near.name);
    }
    terms_near_tags(p->world, &near);
    char words[ORRI_ERROR_SIZE] = "";
    orri_near_append(&near, &(orri_text){words, sizeof words, 0});
    return terms_fail(
        p, ORR_ERR_TYPE, name,
        "no tag has the name '%s'%s (name a tag with orr_tag_register(), or write its "
        "number: '#17')",
        near.name, words);
}

static bool terms_take_named_tag(terms_parser* p, size_t size, orr_tag* out)
{
    char copy[ORR_NAME_MAX + 1];
    orri_scan_copy(copy, p->at, size);
    if (!orr_tag_find(p->world, copy, out)) {
        return terms_unknown_tag(p, p->at, size);
    }
    p->at += size;
    return true;
}

static bool terms_take_tag(terms_parser* p, orr_tag* out)
{
    p->at = orri_scan_blanks(p->at + 1); // After the '#'.
    const char* from = p->at;
    size_t size = orri_scan_word(from);
    if (size == 0) {
        return terms_expected(p, "the name or number of a tag after '#'");
    }
    if (!(orri_scan_is_digit(*from) ? terms_take_number(p, size, out)
                                    : terms_take_named_tag(p, size, out))) {
        return false;
    }
    return *out != 0 || terms_fail(p, ORR_ERR_PARSE, from,
                                   "a query cannot use tag 0: an all-zero term means no term");
}

// ---- contradictions between terms ---------------------------------------------------------------

// Reason why two terms on the same type or tag contradict each other; NULL: they do not.
static const char* terms_clash(const orr_term* a, const orr_term* b)
{
    bool without = a->kind == ORR_WITHOUT || b->kind == ORR_WITHOUT;
    bool any = a->kind == ORR_ANY || b->kind == ORR_ANY;
    if (a->kind == b->kind) {
        return a->kind == ORR_WITHOUT                       ? "is excluded twice"
               : a->kind == ORR_ANY && a->group == b->group ? "is twice in one choice"
               : a->kind == ORR_ANY                         ? NULL
                                                            : "is named twice";
    }
    if (a->kind == ORR_OPTIONAL || b->kind == ORR_OPTIONAL) {
        return without ? "is optional and excluded, so its column would always be missing"
               : any   ? "is optional and in a choice, which already gives its column"
                       : "is required and optional";
    }
    return without ? "is included and excluded, which no entity can match"
                   : "is required, so a choice with it is always true";
}

static bool terms_check_clash(terms_parser* p, const orr_term* term, const char* at)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const orr_term* other = &p->terms[i];
        bool same = other->type.id == term->type.id &&
                    (term->type.id != 0 || other->tag == term->tag);
        const char* why = same ? terms_clash(other, term) : NULL;
        if (why == NULL) {
            continue;
        }
        char buffer[ORR_NAME_MAX + 2];
        orri_text name = {buffer, sizeof buffer, 0};
        orri_term_print_name(p->world, term, &name);
        if (p->places[i] == NULL) {
            return terms_fail(p, ORR_ERR_PARSE, at, "%s %s; the other is in `terms` of the desc",
                              buffer, why);
        }
        return terms_fail(p, ORR_ERR_PARSE, at, "%s %s; the other is at column %zu", buffer, why,
                          (size_t)(p->places[i] - p->text) + 1);
    }
    return true;
}

static bool terms_add(terms_parser* p, const orr_term* term, const char* at)
{
    if (!terms_check_clash(p, term, at)) {
        return false;
    }
    if (p->count == ORR_TERMS_MAX) {
        return terms_fail(p, ORR_ERR_CAPACITY, at, "a query has at most %u terms", ORR_TERMS_MAX);
    }
    p->places[p->count] = at;
    p->terms[p->count++] = *term;
    return true;
}

// ---- terms --------------------------------------------------------------------------------------

// Refuses words that have no meaning after '!' or '?'.
static bool terms_check_words(terms_parser* p, char sign, const terms_prefix* prefix)
{
    for (uint32_t word = 0; sign != '\0' && word < TERMS_WORD_COUNT; word++) {
        bool state = word == TERMS_WORD_DISABLED || word == TERMS_WORD_EITHER;
        if (prefix->words[word] == NULL || (sign == '!') == state) {
            continue;
        }
        if (sign == '?') {
            return terms_fail(p, ORR_ERR_PARSE, prefix->words[word],
                              "'?' selects no entities, so '%s' has no meaning here; the column "
                              "also has the disabled values",
                              terms_words[word]);
        }
        return terms_fail(p, ORR_ERR_PARSE, prefix->words[word],
                          "'!' excludes the type, so '%s' has no meaning here", terms_words[word]);
    }
    return true;
}

static bool terms_apply_words(terms_parser* p, const terms_prefix* prefix, orr_term* term)
{
    term->access = prefix->words[TERMS_WORD_WRITE] != NULL ? ORR_WRITE : ORR_READ;
    term->changed = prefix->words[TERMS_WORD_CHANGED] != NULL;
    term->state = prefix->words[TERMS_WORD_DISABLED] != NULL ? ORR_DISABLED
                  : prefix->words[TERMS_WORD_EITHER] != NULL ? ORR_EITHER
                                                             : ORR_ENABLED;
    const orri_type* type = orri_type_at(&p->world->schema, term->type);
    if (term->changed && type->info.storage == ORR_PINNED) {
        return terms_fail(
            p, ORR_ERR_PARSE, prefix->words[TERMS_WORD_CHANGED],
            "%s is pinned; 'changed' is tracked by chunk, so it cannot be used with pinned types",
            type->info.name);
    }
    if (term->access == ORR_WRITE && orri_type_written_by_set(type) && !p->sends) {
        return terms_fail(
            p, ORR_ERR_PARSE, prefix->words[TERMS_WORD_WRITE],
            "%s cannot be written in place, because the world keeps an index of it; between ticks "
            "use %s after the loop, in a system %s",
            type->info.name, type->indexed_count > 0 ? "orr_set()" : "orr_name_set()",
            type->indexed_count > 0 ? "orr_send_change() (.changes)"
                                    : "orr_send_name() (.renames)");
    }
    return true;
}

static bool terms_group_used(const terms_parser* p, uint32_t group)
{
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->terms[i].kind == ORR_ANY && p->terms[i].group == group) {
            return true;
        }
    }
    return false;
}

// Adds a member as a term; as the first one of a choice if '|' follows.
static bool terms_end_member(terms_parser* p, orr_term* term, const char* at)
{
    p->at = orri_scan_blanks(p->at);
    if (*p->at == '|' && term->kind == ORR_REQUIRED) {
        term->kind = ORR_ANY;
        while (terms_group_used(p, term->group)) {
            term->group++;
        }
    }
    return terms_add(p, term, at);
}

// Reads one member. `shared` are the words before the first member of its choice; NULL: this is the
// first.
static bool terms_take_member(terms_parser* p, const terms_prefix* own, const terms_prefix* shared,
                              orr_term* term)
{
    const char* at = p->at;
    if (*at == '#') {
        if (own->first != NULL) {
            return terms_fail(p, ORR_ERR_PARSE, own->first,
                              "a tag has no value, so no word can stand before it");
        }
        if (term->kind == ORR_OPTIONAL) {
            return terms_fail(p, ORR_ERR_PARSE, at,
                              "a tag has no column, so it cannot be optional; leave the term out");
        }
        return terms_take_tag(p, &term->tag) && terms_end_member(p, term, at);
    }
    if (orri_scan_word(at) == 0) {
        return terms_expected(p, shared != NULL ? "a type, or '#' and a tag, after '|'"
                                                : "a type, or '#' and a tag");
    }
    const terms_prefix* words = own->first == NULL && shared != NULL ? shared : own;
    return terms_take_type(p, &term->type) && terms_apply_words(p, words, term) &&
           terms_end_member(p, term, at);
}

// Reads the members of a choice after the first.
static bool terms_take_choice(terms_parser* p, char sign, const terms_prefix* shared)
{
    if (sign != '\0') {
        return terms_fail(p, ORR_ERR_PARSE, p->at,
                          "'%c' applies to one name only; write '%cA, %cB'", sign, sign, sign);
    }
    uint32_t group = p->terms[p->count - 1].group;
    while (*p->at == '|') {
        p->at++;
        terms_prefix own;
        orr_term member = {.kind = ORR_ANY, .group = group};
        if (!terms_take_words(p, &own) || !terms_take_member(p, &own, shared, &member)) {
            return false;
        }
    }
    return true;
}

static bool terms_take_entities(terms_parser* p, char sign, const terms_prefix* prefix)
{
    bool off = prefix->words[TERMS_WORD_DISABLED] != NULL;
    bool either = prefix->words[TERMS_WORD_EITHER] != NULL;
    bool more = prefix->words[TERMS_WORD_READ] != NULL || prefix->words[TERMS_WORD_WRITE] != NULL ||
                prefix->words[TERMS_WORD_CHANGED] != NULL;
    if (sign != '\0' || more || !(off || either)) {
        return terms_fail(p, ORR_ERR_PARSE, p->at,
                          "'*' stands for the entities: 'disabled *' selects disabled entities, "
                          "'either *' all entities; without '*' a query selects enabled entities");
    }
    orr_enable_state state = off ? ORR_DISABLED : ORR_EITHER;
    if (p->entities_at != NULL) {
        return terms_fail(p, ORR_ERR_PARSE, p->at, "'*' is repeated; the other is at column %zu",
                          (size_t)(p->entities_at - p->text) + 1);
    }
    if (p->entities != ORR_ENABLED && p->entities != state) {
        return terms_fail(p, ORR_ERR_PARSE, p->at, "`entities` of the desc has another value");
    }
    p->entities = state;
    p->entities_at = p->at;
    p->at = orri_scan_blanks(p->at + 1);
    return *p->at == ',' || *p->at == '\0' || terms_expected(p, "','");
}

static bool terms_take_term(terms_parser* p)
{
    char sign = *p->at == '!' || *p->at == '?' ? *p->at : '\0';
    p->at += sign != '\0';
    terms_prefix prefix;
    if (!terms_take_words(p, &prefix)) {
        return false;
    }
    if (*p->at == '!' || *p->at == '?') {
        return terms_fail(p, ORR_ERR_PARSE, p->at, "%s",
                          sign != '\0' ? "a term has at most one '!' or '?'"
                                       : "'!' and '?' stand first in a term, before its words");
    }
    if (*p->at == '*') {
        return terms_take_entities(p, sign, &prefix);
    }
    orr_term term = {.kind = sign == '!' ? ORR_WITHOUT : sign == '?' ? ORR_OPTIONAL : ORR_REQUIRED};
    if (!terms_check_words(p, sign, &prefix) || !terms_take_member(p, &prefix, NULL, &term)) {
        return false;
    }
    return *p->at != '|' || terms_take_choice(p, sign, &prefix);
}

static bool terms_take_all(terms_parser* p)
{
    p->at = orri_scan_blanks(p->at);
    while (*p->at != '\0') {
        if (!terms_take_term(p)) {
            return false;
        }
        if (*p->at == '\0') {
            return true;
        }
        if (*p->at != ',') {
            return terms_expected(p, "',' or '|'");
        }
        p->at = orri_scan_blanks(p->at + 1);
        if (*p->at == '\0') {
            return terms_expected(p, "a term after ','");
        }
    }
    return true;
}

orr_result orri_terms_parse(orr_world* world, const char* call, const char* text, orr_term* terms,
                            uint32_t* count, orr_enable_state* entities, bool sends)
{
    ORR_ASSERT(text != NULL && *count <= ORR_TERMS_MAX);
    // memchr() stops at the zero and reads nothing behind it.
    if (memchr(text, '\0', ORR_QUERY_TEXT_MAX + 1) == NULL) {
        return orri_refuse(orri_env_of(world), ORR_ERR_CAPACITY, ORR_LOG_ID_QUERY_REFUSED,
                           "%s: a query's text has at most %u bytes; it begins '%.40s'", call,
                           ORR_QUERY_TEXT_MAX, text);
    }
    terms_parser p = {.world = world,
                      .call = call,
                      .text = text,
                      .at = text,
                      .count = *count,
                      .sends = sends,
                      .entities = *entities};
    memcpy(p.terms, terms, *count * sizeof *terms);
    if (!terms_take_all(&p)) {
        return p.result;
    }
    memcpy(terms, p.terms, p.count * sizeof *terms);
    *count = p.count;
    *entities = p.entities;
    return ORR_OK;
}
