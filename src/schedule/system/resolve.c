// SPDX-License-Identifier: MIT
// Looks up the names in a system's desc: types, tags, terms, rights. Done once, when all names are
// known; at the latest when a tick begins. Lists are read by the query parser, so a system's desc
// has the syntax of queries.
#include "base/scan.h"
#include "schedule/schedule.h"
#include "store/table/required_types.h"
#include <stdio.h>

// The bit sets of a system, in the order of `bits`.
enum {
    RESOLVE_CREATES,
    RESOLVE_ADDS,
    RESOLVE_REMOVES,
    RESOLVE_CHANGES,
    RESOLVE_SWITCHES,
    RESOLVE_SENDS,
    RESOLVE_RECEIVES,
    RESOLVE_ANY_READ,
    RESOLVE_ANY_WRITE,
    RESOLVE_TRANSACTS,
    RESOLVE_ATOMICS,
    RESOLVE_OVERWRITES,
};
_Static_assert(RESOLVE_OVERWRITES + 1 == ORRI_BIT_SETS, "a set of bits for each");

// The terms of one text.
typedef struct resolve_terms {
    orr_term items[ORR_TERMS_MAX];
    uint32_t count;
    bool star; // The text has a '*'.
} resolve_terms;

static uint64_t* resolve_bits(const orri_system* system, uint32_t set)
{
    return system->bits + (size_t)set * system->rights.type_words;
}

static orr_result resolve_refuse(orr_world* world, const orri_system* system, const char* what)
{
    return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED, "system '%s': %s",
                       system->desc.name, what);
}

// ---- which names are known ----------------------------------------------------------------------

// True for a word of the query syntax.
static bool resolve_word(const char* word)
{
    static const char* const words[] = {"read", "write", "disabled", "either", "changed"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

// The next name in a text, whatever it names; `*at` advances. False at the end. A name that is too
// long becomes empty.
static bool resolve_name_next(const char** at, char name[ORR_NAME_MAX + 1])
{
    while (**at != '\0' && orri_scan_word(*at) == 0) {
        ++*at;
    }
    size_t size = orri_scan_word(*at);
    orri_scan_copy(name, *at, size);
    *at += size;
    return size > 0;
}

#define RESOLVE_TEXTS 14 // Texts that name types and tags.

// The texts that name types and tags; none is NULL.
static void resolve_texts(const orr_system_desc* d, const char* out[RESOLVE_TEXTS])
{
    const char* texts[RESOLVE_TEXTS] = {
        d->query, d->by_id, d->creates,  d->destroys, d->adds,      d->removes, d->switches,
        d->tags,  d->sends, d->receives, d->changes,  d->transacts, d->atomics, d->overwrites};
    for (uint32_t i = 0; i < RESOLVE_TEXTS; i++) {
        out[i] = texts[i] != NULL ? texts[i] : "";
    }
}

static bool resolve_name_known(const orr_world* world, const char* name)
{
    orr_tag tag;
    return resolve_word(name) || orr_type_find(world, name).id != 0 ||
           orr_tag_find(world, name, &tag) ||
           (name[0] != '\0' && name[orri_scan_digits(name)] == '\0');
}

bool orri_system_resolvable(orr_world* world, const orri_system* system)
{
    const char* texts[RESOLVE_TEXTS];
    resolve_texts(&system->desc, texts);
    for (uint32_t i = 0; i < RESOLVE_TEXTS; i++) {
        char name[ORR_NAME_MAX + 1];
        for (const char* at = texts[i]; resolve_name_next(&at, name);) {
            if (!resolve_name_known(world, name)) {
                return false;
            }
        }
    }
    return true;
}

// Registers built-in types that the texts name. All of them now: bit sets have room for the types
// that exist when they are made.
static orr_result resolve_builtins(orr_world* world, const orri_system* system)
{
    const char* texts[RESOLVE_TEXTS];
    resolve_texts(&system->desc, texts);
    for (uint32_t i = 0; i < RESOLVE_TEXTS; i++) {
        char name[ORR_NAME_MAX + 1];
        for (const char* at = texts[i]; resolve_name_next(&at, name);) {
            const orr_type_desc* desc = orri_builtin_desc(name);
            if (desc != NULL && orr_type_of(world, desc).id == 0) {
                return orri_env_result(&world->env);
            }
        }
    }
    return ORR_OK;
}

// ---- texts to terms -----------------------------------------------------------------------------

// Writes the items of a list other than a single '*' to `rest`, which has room for the text.
static orr_result resolve_take_star(orr_world* world, const char* call, const char* text,
                                    char* rest, bool* star)
{
    orri_text out = {rest, ORR_QUERY_TEXT_MAX + 1, 0};
    for (const char* at = orri_scan_blanks(text); *at != '\0'; at = orri_scan_blanks(at)) {
        size_t size = strcspn(at, ",");
        bool is_star = *at == '*' && orri_scan_blanks(at + 1) == at + size;
        bool last = at[size] == ',' && *orri_scan_blanks(at + size + 1) == '\0';
        if (size == 0 || last || (is_star && *star)) {
            return orri_refuse(&world->env, ORR_ERR_PARSE, ORR_LOG_ID_SYSTEM_REFUSED,
                               "%s: %s, in \"%s\"", call,
                               size == 0 || last ? "a ',' without a name before and after it; "
                                                   "remove it"
                                                 : "'*' is repeated; remove one",
                               text);
        }
        *star |= is_star;
        if (!is_star) {
            orri_text_add(&out, "%s%.*s", out.length > 0 ? "," : "", (int)size, at);
        }
        at += size + (at[size] == ',');
    }
    return ORR_OK;
}

// Parses a text; items that are a single '*' are taken out first where they are allowed.
static orr_result resolve_parse(orr_world* world, const orri_system* system, const char* field,
                                const char* text, bool star, resolve_terms* out)
{
    memset(out, 0, sizeof *out);
    if (text == NULL) {
        return ORR_OK;
    }
    char call[ORR_NAME_MAX + 32], rest[ORR_QUERY_TEXT_MAX + 1];
    snprintf(call, sizeof call, "system '%s', .%s", system->desc.name, field);
    rest[0] = '\0';
    orr_result result = ORR_OK;
    if (star && strchr(text, '*') != NULL && strlen(text) < sizeof rest) { // Else refused below.
        result = resolve_take_star(world, call, text, rest, &out->star);
    }
    orr_enable_state entities = ORR_ENABLED;
    if (result == ORR_OK) {
        result = orri_terms_parse(world, call, out->star ? rest : text, out->items, &out->count,
                                  &entities, false);
    }
    if (result == ORR_OK && entities != ORR_ENABLED) {
        return resolve_refuse(world, system, "'*' with a word is for queries only");
    }
    return result;
}

// Parses a text of types only. `access`: "write" is allowed. `star`: '*' is allowed.
static orr_result resolve_types(orr_world* world, const orri_system* system, const char* field,
                                const char* text, bool access, bool star, resolve_terms* out)
{
    orr_result result = resolve_parse(world, system, field, text, star, out);
    for (uint32_t i = 0; result == ORR_OK && i < out->count; i++) {
        const orr_term* term = &out->items[i];
        bool maybe = term->kind == ORR_OPTIONAL && strcmp(field, "sends") == 0;
        bool plain = term->type.id != 0 && (term->kind == ORR_REQUIRED || maybe) &&
                     term->state == ORR_ENABLED && !term->changed &&
                     (access || term->access == ORR_READ);
        if (!plain) {
            return orri_refuse(&world->env, ORR_ERR_PARSE, ORR_LOG_ID_SYSTEM_REFUSED,
                               "system '%s': .%s is a list of types%s: \"%s\" has more than that",
                               system->desc.name, field,
                               access ? ", \"write\" before those it writes" : "", text);
        }
    }
    return result;
}

static void resolve_set(const orr_world* world, const orri_system* system, uint32_t set,
                        const resolve_terms* terms)
{
    for (uint32_t i = 0; i < terms->count; i++) {
        orri_bit_set(resolve_bits(system, set), orri_type_index(world, terms->items[i].type), true);
    }
}

// Parses a list of types into a bit set; `*right` points to it if the list is not empty.
static orr_result resolve_list(orr_world* world, orri_system* system, const char* field,
                               const char* text, uint32_t set, const uint64_t** right)
{
    resolve_terms terms;
    orr_result result = resolve_types(world, system, field, text, false, false, &terms);
    if (result == ORR_OK && terms.count > 0) {
        resolve_set(world, system, set, &terms);
        *right = resolve_bits(system, set);
    }
    return result;
}

// Adds the types that are required by those in the set.
static orr_result resolve_required(orr_world* world, const orri_system* system, uint32_t set)
{
    uint64_t* bits = resolve_bits(system, set);
    for (uint32_t i = 0; i < world->schema.type_count; i++) {
        if (!orri_bit_get(bits, i)) {
            continue;
        }
        orr_type type = {world->schema.type_base + i};
        orr_result result = orri_required_types_resolve(world, "orr_step", type);
        if (result != ORR_OK) {
            return result;
        }
        uint32_t count;
        const orr_type* needed = orri_required_types_of(world, type, &count);
        for (uint32_t n = 0; needed != NULL && n < count; n++) {
            orri_bit_set(bits, orri_type_index(world, needed[n]), true);
        }
    }
    return ORR_OK;
}

// ---- the query ----------------------------------------------------------------------------------

// Checks that the query fits the kind of the system.
static orr_result resolve_check_query(orr_world* world, const orri_system* system,
                                      const resolve_terms* terms)
{
    bool direct = system->desc.kind == ORR_DIRECT;
    bool any = false;
    for (uint32_t i = 0; i < terms->count; i++) {
        const orr_term* term = &terms->items[i];
        any |= term->kind != ORR_WITHOUT && term->type.id != 0;
        if (!direct && term->changed) {
            return resolve_refuse(
                world, system,
                "an indirect system is notified of changes; it has no 'changed' terms");
        }
        if (system->desc.once && term->changed) { // Its loops would visit everything.
            return resolve_refuse(
                world, system,
                "a system with .once is called in every tick, whatever changed; it has no "
                "'changed' terms: remove .once, or 'changed'");
        }
    }
    if (direct && !any && !system->desc.once) {
        return resolve_refuse(world, system,
                              "a direct system without required or optional types has no rows; "
                              "name in .query what it reads or writes");
    }
    return ORR_OK;
}

// Types with indexed fields are not written in place, but changes of them can be sent: "write"
// means that.
static void resolve_by_value(const orr_world* world, orri_system* system, resolve_terms* terms)
{
    system->sent_count = 0;
    for (uint32_t i = 0; i < terms->count; i++) {
        orr_term* term = &terms->items[i];
        const orri_type* type = orri_type_at(&world->schema, term->type);
        if (type != NULL && term->access == ORR_WRITE && orri_type_written_by_set(type)) {
            term->access = ORR_READ;
            system->sent[system->sent_count++] = term->type;
        }
    }
}

// Writes of a system with state outside the world are inputs of the run: it must be declared
// .impure.
static orr_result resolve_check_pure(orr_world* world, const orri_system* system,
                                     const resolve_terms* terms)
{
    bool outside = system->desc.user != NULL && !system->desc.impure && !system->pipe->spectator;
    for (uint32_t i = 0; outside && i < terms->count; i++) {
        if (terms->items[i].access == ORR_WRITE) {
            return resolve_refuse(
                world, system,
                "it has state outside the world (.user) and changes the world (\"write\"); keep "
                "the state in .state, declare it .impure, or pass constant data as .settings");
        }
    }
    return ORR_OK;
}

static orr_result resolve_query(orr_world* world, orri_system* system)
{
    resolve_terms terms;
    char call[ORR_NAME_MAX + 32];
    snprintf(call, sizeof call, "system '%s', .query", system->desc.name);
    memset(&terms, 0, sizeof terms);
    if (system->desc.term_count > 0) {
        memcpy(terms.items, system->desc.terms, system->desc.term_count * sizeof(orr_term));
        terms.count = system->desc.term_count;
    }
    orr_enable_state entities = ORR_ENABLED;
    orr_result result = ORR_OK;
    if (system->desc.query != NULL) {
        result = orri_terms_parse(world, call, system->desc.query, terms.items, &terms.count,
                                  &entities, true);
    }
    result = result == ORR_OK ? resolve_check_query(world, system, &terms) : result;
    if (result != ORR_OK) {
        return result;
    }
    result = resolve_check_pure(world, system, &terms);
    if (result != ORR_OK) {
        return result;
    }
    resolve_by_value(world, system, &terms);
    system->no_required = true;
    for (uint32_t i = 0; i < terms.count; i++) {
        system->no_required &= terms.items[i].kind != ORR_REQUIRED &&
                               terms.items[i].kind != ORR_ANY;
    }
    system->query = orr_query_create(world, &(orr_query_desc){.name = system->desc.name,
                                                              .terms = terms.items,
                                                              .term_count = terms.count,
                                                              .entities = entities});
    return system->query != NULL ? ORR_OK : orri_env_result(&world->env);
}

// The types whose changes it may send: its .changes, and types that can be changed in no other way.
// An indirect system has no other way at all, so its write terms count.
static orr_result resolve_changes(orr_world* world, orri_system* system)
{
    bool indirect = system->desc.kind == ORR_INDIRECT;
    for (uint32_t f = 0; f < system->query->field_count; f++) {
        if (indirect && system->query->fields[f].access == ORR_WRITE) {
            orri_bit_set(resolve_bits(system, RESOLVE_CHANGES),
                         orri_type_index(world, system->query->fields[f].type), true);
        }
    }
    for (uint32_t i = 0; i < system->sent_count; i++) {
        orri_bit_set(resolve_bits(system, RESOLVE_CHANGES), orri_type_index(world, system->sent[i]),
                     true);
    }
    system->rights.changes = resolve_bits(system, RESOLVE_CHANGES);
    return resolve_list(world, system, "changes", system->desc.changes, RESOLVE_CHANGES,
                        &system->rights.changes);
}

// True when its query writes the type.
static bool resolve_writes(const orri_system* system, orr_type type)
{
    for (uint32_t f = 0; f < system->query->field_count; f++) {
        if (system->query->fields[f].type.id == type.id) {
            return system->query->fields[f].access == ORR_WRITE;
        }
    }
    return false;
}

// The types of .by_id: bits to read and to write.
static orr_result resolve_any_types(orr_world* world, orri_system* system,
                                    const resolve_terms* terms)
{
    for (uint32_t i = 0; i < terms->count; i++) {
        uint32_t index = orri_type_index(world, terms->items[i].type);
        bool writes = terms->items[i].access == ORR_WRITE;
        orri_bit_set(resolve_bits(system, RESOLVE_ANY_READ), index, true);
        orri_bit_set(resolve_bits(system, RESOLVE_ANY_WRITE), index, writes);
        bool own = resolve_writes(system, terms->items[i].type);
        if (system->desc.parallel && (writes || own)) {
            return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
                               "system '%s': a parallel system may not write %s and reach it by "
                               "id: another worker could access the same value; remove .parallel, "
                               "or send the changes (.changes) and write it neither in .query nor "
                               "in .by_id",
                               system->desc.name, orri_type_label(world, terms->items[i].type));
        }
        if (writes) {
            system->access.by_id_write = resolve_bits(system, RESOLVE_ANY_WRITE);
        }
        system->access.by_id_read = resolve_bits(system, RESOLVE_ANY_READ);
    }
    return ORR_OK;
}

// Why atomic sections are not possible on a type; NULL: they are. A section writes any bytes.
static const char* resolve_no_section(const orri_type* type)
{
    return strncmp(type->info.name, "orr_", 4) == 0 ? "is a built-in type; send a change"
           : !type->plain
               ? "has owned strings, arrays, hooks or indexed fields, which a section could "
                 "break; transact on its number fields, or send a change"
           : type->info.size == 0 ? "has no fields"
                                  : NULL;
}

static orr_result resolve_atomics(orr_world* world, orri_system* system)
{
    resolve_terms terms;
    orr_result result =
        resolve_types(world, system, "atomics", system->desc.atomics, false, false, &terms);
    for (uint32_t i = 0; result == ORR_OK && i < terms.count; i++) {
        const orri_type* type = orri_type_at(&world->schema, terms.items[i].type);
        uint32_t index = orri_type_index(world, terms.items[i].type);
        const char* why = resolve_no_section(type);
        if (why != NULL) {
            return orri_refuse(&world->env, ORR_ERR_TYPE, ORR_LOG_ID_SYSTEM_REFUSED,
                               "system '%s', .atomics: %s %s", system->desc.name, type->info.name,
                               why);
        }
        if (system->desc.parallel && orri_touches(world, system, index, NULL) != ORRI_TOUCH_NONE) {
            return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
                               "system '%s': a parallel system may not have atomic sections on %s "
                               "and read or write it by .query or .by_id: another worker could "
                               "access the same value; read it in the section",
                               system->desc.name, type->info.name);
        }
    }
    if (result == ORR_OK && terms.count > 0) {
        resolve_set(world, system, RESOLVE_ATOMICS, &terms);
        system->rights.atomics = resolve_bits(system, RESOLVE_ATOMICS);
    }
    return result;
}

// Why .overwrites is not possible; NULL: it is. Blocks can be replaced only if a value is nothing
// but its bytes.
static const char* resolve_no_overwrite(const orr_world* world, const orri_system* system,
                                        orr_type handle)
{
    const orri_type* type = orri_type_at(&world->schema, handle);
    bool any;
    (void)orri_touches(world, system, orri_type_index(world, handle), &any);
    return orri_type_pinned(type) ? "is pinned: there is no column to write"
           : type->info.multiplicity != ORR_UNIQUE
               ? "is multiple: rows differ in how many they have"
           : !type->plain
               ? "has owned strings, arrays, hooks or indexed fields, which end with the old value"
           : !resolve_writes(system, handle)
               ? "is not among its write terms; say \"write\" in .query"
           : any ? "is also named in .by_id or .atomics, which reads the old value; remove one of "
                   "them"
                 : NULL;
}

static orr_result resolve_overwrites(orr_world* world, orri_system* system)
{
    resolve_terms terms;
    orr_result result =
        resolve_types(world, system, "overwrites", system->desc.overwrites, false, false, &terms);
    for (uint32_t i = 0; result == ORR_OK && i < terms.count; i++) {
        const char* why = resolve_no_overwrite(world, system, terms.items[i].type);
        if (why != NULL) {
            return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
                               "system '%s', .overwrites: %s %s", system->desc.name,
                               orri_type_label(world, terms.items[i].type), why);
        }
    }
    if (result == ORR_OK && terms.count > 0) {
        resolve_set(world, system, RESOLVE_OVERWRITES, &terms);
        system->overwrites = resolve_bits(system, RESOLVE_OVERWRITES);
    }
    return result;
}

// The types and tags of .by_id, which its own queries may name.
static orr_result resolve_any(orr_world* world, orri_system* system)
{
    resolve_terms all, types = {0};
    orr_result result = resolve_parse(world, system, "by_id", system->desc.by_id, false, &all);
    orr_tag tags[ORR_TERMS_MAX];
    uint32_t tag_count = 0;
    for (uint32_t i = 0; result == ORR_OK && i < all.count; i++) {
        const orr_term* term = &all.items[i];
        if (term->kind != ORR_REQUIRED || term->state != ORR_ENABLED || term->changed) {
            return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
                               "system '%s': .by_id is a list of types and tags, such as "
                               "\"Position, write Health, #17\": \"%.64s\" has more than that",
                               system->desc.name, system->desc.by_id);
        }
        if (term->type.id == 0) {
            tags[tag_count++] = term->tag;
        } else {
            types.items[types.count++] = *term;
        }
    }
    if (result != ORR_OK) {
        return result;
    }
    if (tag_count > 0) {
        system->by_id_tags = ORRI_ALLOC(&world->env, ORR_MEMORY_SYSTEM, orr_tag, tag_count);
        if (system->by_id_tags == NULL) {
            return orri_refuse_memory(&world->env, "looking up tags");
        }
        memcpy(system->by_id_tags, tags, tag_count * sizeof *tags);
        system->access.by_id_tags = system->by_id_tags;
        system->access.by_id_tag_count = tag_count;
    }
    result = resolve_check_pure(world, system, &types);
    return result == ORR_OK ? resolve_any_types(world, system, &types) : result;
}

// ---- what it may send ---------------------------------------------------------------------------

static orr_result resolve_destroys(orr_world* world, orri_system* system)
{
    resolve_terms terms;
    orr_result result =
        resolve_parse(world, system, "destroys", system->desc.destroys, true, &terms);
    if (result != ORR_OK || system->desc.destroys == NULL) {
        return result;
    }
    if (!terms.star && terms.count == 0) {
        return resolve_refuse(world, system,
                              ".destroys is empty; name the types of the entities that it may "
                              "destroy, write \"*\" for any entity, or leave .destroys out");
    }
    system->rights.may_destroy_any = terms.star;
    if (!terms.star) {
        system->destroys = orr_query_create(world, &(orr_query_desc){.name = system->desc.name,
                                                                     .terms = terms.items,
                                                                     .term_count = terms.count,
                                                                     .entities = ORR_EITHER});
        system->rights.destroys = system->destroys;
        system->rights.destroys_text = system->desc.destroys;
        return system->destroys != NULL ? ORR_OK : orri_env_result(&world->env);
    }
    return ORR_OK;
}

static void resolve_sort_tags(orr_tag* tags, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t k = i; k > 0 && tags[k - 1] > tags[k]; k--) {
            orr_tag tag = tags[k];
            tags[k] = tags[k - 1];
            tags[k - 1] = tag;
        }
    }
}

static orr_result resolve_tags(orr_world* world, orri_system* system)
{
    resolve_terms terms;
    orr_result result = resolve_parse(world, system, "tags", system->desc.tags, true, &terms);
    if (result != ORR_OK) {
        return result;
    }
    system->rights.may_tag_any = terms.star;
    if (terms.count == 0) {
        return ORR_OK;
    }
    orr_tag* tags = ORRI_ALLOC(&world->env, ORR_MEMORY_SYSTEM, orr_tag, terms.count);
    if (tags == NULL) {
        return orri_refuse_memory(&world->env, "looking up tags");
    }
    system->tags = tags;
    system->rights.tags = tags;
    system->rights.tag_count = terms.count;
    for (uint32_t i = 0; i < terms.count; i++) {
        if (terms.items[i].type.id != 0 || terms.items[i].kind != ORR_REQUIRED) {
            return resolve_refuse(world, system, ".tags is a list of tags: \"#level1, #17\"");
        }
        tags[i] = terms.items[i].tag;
    }
    resolve_sort_tags(tags, terms.count);
    return ORR_OK;
}

static orr_result resolve_switches(orr_world* world, orri_system* system)
{
    resolve_terms terms;
    orr_result result =
        resolve_types(world, system, "switches", system->desc.switches, false, true, &terms);
    if (result == ORR_OK) {
        system->rights.may_switch_entities = terms.star;
        resolve_set(world, system, RESOLVE_SWITCHES, &terms);
        system->rights.switches = resolve_bits(system, RESOLVE_SWITCHES);
    }
    return result;
}

static orr_result resolve_sends(orr_world* world, orri_system* system)
{
    const orr_system_desc* d = &system->desc;
    orri_rights* rights = &system->rights;
    orr_result result =
        resolve_list(world, system, "creates", d->creates, RESOLVE_CREATES, &rights->creates);
    if (result == ORR_OK) {
        result = resolve_list(world, system, "adds", d->adds, RESOLVE_ADDS, &rights->adds);
    }
    if (result == ORR_OK) {
        result =
            resolve_list(world, system, "removes", d->removes, RESOLVE_REMOVES, &rights->removes);
    }
    if (result == ORR_OK) {
        result = resolve_list(world, system, "transacts", d->transacts, RESOLVE_TRANSACTS,
                              &rights->transacts);
    }
    if (result == ORR_OK) {
        result = resolve_required(world, system, RESOLVE_CREATES);
    }
    if (result == ORR_OK) {
        result = resolve_required(world, system, RESOLVE_ADDS);
    }
    if (result == ORR_OK) {
        result = resolve_switches(world, system);
    }
    if (result == ORR_OK) {
        result = resolve_destroys(world, system);
    }
    if (result == ORR_OK) {
        result = resolve_tags(world, system);
    }
    rights->may_create = d->creates != NULL;
    rights->may_rename = d->renames;
    system->structural = d->creates != NULL || d->destroys != NULL || d->adds != NULL ||
                         d->removes != NULL || d->switches != NULL || d->tags != NULL || d->renames;
    return result;
}

// ---- events, state, messages --------------------------------------------------------------------

// Event types that it sends and receives; makes its event cursors.
static orr_result resolve_events(orr_world* world, orri_system* system)
{
    resolve_terms terms;
    orr_type types[ORR_TERMS_MAX];
    orr_result result = resolve_list(world, system, "sends", system->desc.sends, RESOLVE_SENDS,
                                     &system->rights.sends);
    if (result == ORR_OK) {
        result =
            resolve_types(world, system, "receives", system->desc.receives, false, false, &terms);
    }
    for (uint32_t i = 0; result == ORR_OK && i < world->schema.type_count; i++) {
        if (system->rights.sends != NULL && orri_bit_get(system->rights.sends, i)) {
            result =
                orri_event_check(world, system->desc.name, (orr_type){world->schema.type_base + i});
        }
    }
    for (uint32_t i = 0; result == ORR_OK && i < terms.count; i++) {
        types[i] = terms.items[i].type;
        result = orri_event_check(world, system->desc.name, types[i]);
    }
    if (result != ORR_OK || terms.count == 0) {
        return result;
    }
    resolve_set(world, system, RESOLVE_RECEIVES, &terms);
    system->rights.receives = resolve_bits(system, RESOLVE_RECEIVES);
    system->event_cursors = orri_event_cursors_create(world, types, terms.count);
    system->rights.event_cursors = system->event_cursors;
    if (system->event_cursors != NULL) {
        orri_event_cursors_name(system->event_cursors, system->desc.name);
        if (orri_system_outside(system)) {
            orri_event_cursors_spectator(system->event_cursors);
        }
    }
    return system->event_cursors != NULL ? ORR_OK : orri_env_result(&world->env);
}

// Makes a state or export value.
static orr_result resolve_state(orr_world* world, orri_system* system, const orr_type_desc* desc,
                                const char* field, orri_system_state* out)
{
    if (desc == NULL || out->data != NULL) {
        return ORR_OK;
    }
    orr_type type = orr_type_of(world, desc);
    const orri_type* found = orri_type_at(&world->schema, type);
    if (found == NULL) {
        return orri_env_result(&world->env);
    }
    if (!found->plain) {
        return orri_refuse(&world->env, ORR_ERR_UNSUPPORTED, ORR_LOG_ID_SYSTEM_REFUSED,
                           "system '%s': .%s is %s, which has owned strings, arrays, hooks or "
                           "indexed fields; state and exports must be plain data: keep such "
                           "values in a component, for example of the world's own entity "
                           "(orr_world_entity), and name its type in .by_id",
                           system->desc.name, field, found->info.name);
    }
    return orri_system_state_make(world, out, found) ? ORR_OK : ORR_ERR_MEMORY;
}

orr_result orri_system_states_make(orr_world* world, orri_system* system)
{
    orr_result result = resolve_state(world, system, system->desc.state, "state", &system->state);
    system->state_read_only = system->desc.parallel && system->state.data != NULL;
    if (result == ORR_OK && system->state_read_only && system->state_before.data == NULL) {
        bool made = orri_system_state_make(world, &system->state_before, system->state.type);
        result = made ? ORR_OK : ORR_ERR_MEMORY;
    }
    return result == ORR_OK
               ? resolve_state(world, system, system->desc.exports, "exports", &system->exports)
               : result;
}

// Makes the message reader of an indirect system.
static orr_result resolve_reader(orr_world* world, orri_system* system)
{
    if (system->desc.kind != ORR_INDIRECT) {
        return ORR_OK;
    }
    uint64_t most = system->desc.messages_max != 0 ? system->desc.messages_max : 16777216u;
    system->rights.reader = orri_reader_create(
        world, &(orri_reader_desc){.name = system->desc.name,
                                   .query = system->query,
                                   .all_types = system->no_required,
                                   .queue_max = most,
                                   .counts = &system->rights.counts,
                                   .outside = orri_system_knows_outside(system)});
    system->reads = system->rights.reader != NULL;
    return system->reads ? ORR_OK : orri_env_result(&world->env);
}

// ---- all of a desc ------------------------------------------------------------------------------

static orr_result resolve_all(orr_world* world, orri_system* system)
{
    orr_result result = resolve_builtins(world, system);
    if (result == ORR_OK) {
        result = resolve_query(world, system);
    }
    // While systems run no type can be registered.
    if (result == ORR_OK && system->desc.renames &&
        orr_type_of(world, &orr_desc_orr_name).id == 0) {
        result = orri_env_result(&world->env);
    }
    if (result != ORR_OK) {
        return result;
    }
    uint32_t words = world->schema.type_count / 64 + 1;
    system->bits =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, uint64_t, (size_t)words * ORRI_BIT_SETS);
    if (system->bits == NULL) {
        return orri_refuse_memory(&world->env, "looking up the names of a system");
    }
    system->rights.type_words = words;
    system->access.type_count = words * 64;
    result = resolve_changes(world, system);
    result = result == ORR_OK ? resolve_any(world, system) : result;
    result = result == ORR_OK ? resolve_atomics(world, system) : result;
    system->atomic = system->rights.atomics != NULL;
    result = result == ORR_OK ? resolve_overwrites(world, system) : result;
    if (result == ORR_OK) {
        result = resolve_sends(world, system);
    }
    if (result == ORR_OK) {
        result = resolve_events(world, system);
    }
    return result == ORR_OK ? resolve_reader(world, system) : result;
}

void orri_system_unresolve(orr_world* world, orri_system* system)
{
    orri_env* env = &world->env;
    if (system->rights.reader != NULL) {
        orri_reader_destroy(world, system->rights.reader);
        system->reads = false;
    }
    if (system->event_cursors != NULL) {
        orri_event_cursors_destroy(world, system->event_cursors);
    }
    orr_query_destroy(system->query);
    orr_query_destroy(system->destroys);
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, uint64_t, system->bits,
              (size_t)system->rights.type_words * ORRI_BIT_SETS);
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orr_tag, system->tags, system->rights.tag_count);
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orr_tag, system->by_id_tags, system->access.by_id_tag_count);
    orri_reduce_free(world, system);
    system->query = system->destroys = NULL;
    system->bits = NULL;
    system->overwrites = NULL;
    system->tags = NULL;
    system->by_id_tags = NULL;
    system->event_cursors = NULL;
    system->rights = (orri_rights){0};
    system->access = (orri_access){0};
}

// True when a type in the set has owned strings or arrays, whose counts are the world's and are
// changed in order, or hooks, which are the program's code.
static bool resolve_has_owned(const orr_world* world, const orri_system* system,
                              const uint64_t* bits)
{
    for (uint32_t i = 0; bits != NULL && i < world->schema.type_count; i++) {
        if (orri_right(bits, &system->rights, i) &&
            (world->schema.types[i]->info.has_owned || world->schema.types[i]->info.has_hooks)) {
            return true;
        }
    }
    return false;
}

// True when the system may change such values: it is never split over workers.
static bool resolve_changes_owned(const orr_world* world, const orri_system* system)
{
    const orri_rights* rights = &system->rights;
    bool owns = resolve_has_owned(world, system, rights->creates) ||
                resolve_has_owned(world, system, rights->adds) ||
                resolve_has_owned(world, system, rights->changes) ||
                resolve_has_owned(world, system, system->access.by_id_write);
    for (uint32_t f = 0; f < system->query->field_count; f++) {
        owns |= system->query->fields[f].access == ORR_WRITE &&
                system->query->fields[f].info->info.has_owned;
    }
    return owns;
}

// Why the system must be the only one of its group; NULL: it need not be.
static const char* resolve_alone(const orri_system* system)
{
    return system->unsplit ? "runs alone: it writes or sends values with strings, arrays or hooks"
           : system->query->has_changed ? "runs alone: it has 'changed' terms"
           : system->desc.kind == ORR_DIRECT && system->ordered
               ? "runs alone: its rows are ordered or pinned"
           : system->desc.alone ? "runs alone: it declares .alone"
                                : NULL;
}

orr_result orri_system_resolve(orr_world* world, orri_system* system)
{
    if (system->resolved) {
        return ORR_OK;
    }
    orr_result result = resolve_all(world, system);
    result = result == ORR_OK ? orri_spectator_check(world, system) : result;
    if (result != ORR_OK) {
        orri_system_unresolve(world, system);
        return result;
    }
    system->rights.name = system->access.system = system->desc.name;
    system->rights.foreign = &system->pipe->foreign;
    system->rights.creates_max = system->creates_max;
    system->rights.system = system->handle;
    bool looped = system->desc.kind == ORR_DIRECT && system->query->leaves[0].term_count > 0;
    system->access.query = looped ? system->query : NULL;
    system->access.violations = &system->rights.counts.violations;
    system->access.indirect = system->desc.kind == ORR_INDIRECT;
    system->access.spectator = system->rights.spectator = system->pipe->spectator;
    system->access.parallel = system->desc.parallel;
    system->writes_by_id = system->access.by_id_write != NULL;
    system->by_id = system->access.by_id_read != NULL;
    system->ordered = system->query->order != NULL || system->query->pinned_matches != NULL;
    system->sends_changes = false;
    for (uint32_t w = 0; w < system->rights.type_words; w++) {
        system->sends_changes |= system->rights.changes[w] != 0;
    }
    system->transacts = system->rights.transacts != NULL;
    system->may_send = system->structural || system->rights.sends != NULL ||
                       system->sends_changes || system->transacts;
    system->unsplit = resolve_changes_owned(world, system);
    system->access.owns = system->unsplit;
    system->access.own_rows = system->desc.own_rows;
    system->alone = resolve_alone(system);
    system->access.alone = system->alone != NULL && !system->desc.parallel;
    system->access.alone_realtime = system->access.alone && system->desc.alone;
    system->resolved = true;
    return ORR_OK;
}

#undef RESOLVE_TEXTS
