// SPDX-License-Identifier: MIT
// Records the refused calls of a system's tick. Error texts for undeclared sends: what the system
// did, and what to declare.
#include "message/send/command_buffer.h"
#include <stdio.h>

// ---- refused calls of a tick --------------------------------------------------------------------

void orri_rights_note_refused(orri_rights* rights, uint32_t unit, orr_result result,
                              const char* text)
{
    rights->counts.refused++;
    rights->refused_memory = rights->refused_memory || result == ORR_ERR_MEMORY;
    if (rights->refused == ORR_OK || unit < rights->refused_unit) {
        rights->refused = result;
        rights->refused_unit = unit;
        orri_text out = {rights->refused_text, sizeof rights->refused_text, 0};
        orri_text_add(&out, "%s", text);
        orri_text_cut(&out);
    }
}

void orri_rights_note_dropped(const orr_world* world, orri_rights* rights, orr_type type,
                              uint64_t count, uint64_t order, orr_result result)
{
    // Atomic: the sender may be running on another thread, in an atomic section without effect.
    __atomic_fetch_add(&rights->counts.dropped, count, __ATOMIC_RELAXED);
    bool foreign = type.id != 0 && orri_is_foreign(rights->foreign, orri_type_index(world, type));
    if (foreign || world->realtime) {
        return;
    }
    uint64_t drop = order | (uint64_t)result, first = atomic_load(&rights->dropped);
    while ((first == 0 || order < first >> 8 << 8) &&
           !atomic_compare_exchange_weak(&rights->dropped, &first, drop)) {
    }
    // Casts const away: what went wrong is not state.
    atomic_store(&((orr_world*)(uintptr_t)world)->errors.noted, true);
}

orr_result orri_rights_take_result(orri_rights* rights, const char** text)
{
    orr_result dropped = (orr_result)(atomic_exchange(&rights->dropped, 0) & 0xff);
    orr_result result = rights->refused != ORR_OK ? rights->refused : dropped;
    *text = rights->refused != ORR_OK ? rights->refused_text : "";
    rights->refused = ORR_OK;
    rights->refused_memory = false;
    return result;
}

// ---- error texts --------------------------------------------------------------------------------

// Texts for one field of a system's desc.
typedef struct rights_words {
    const char* field;
    const char* what; // The system's action; "%s" stands for the type.
    const char* remedy;
} rights_words;

static const rights_words rights_all[] = {
    {"creates", "sends ComponentAdded of %s",
     "add %s to its .adds, or to .creates if this commit creates the entity"},
    {"adds", "sends ComponentAdded of %s",
     "add %s to its .adds, or to .creates if this commit creates the entity"},
    {"removes", "sends ComponentRemoved of %s", "add %s to its .removes"},
    {"changes", "sends ComponentChanged of %s", "add %s to its .changes"},
    {"transacts", "transacts on %s", "add %s to its .transacts"},
    {"atomics", "has an atomic section on %s", "add %s to its .atomics"},
    {"query", "sends ComponentChanged of %s", "add 'write %s' to its .query"},
    {"switches", "enables or disables %s", "add %s to its .switches"},
    {"sends", "sends the event %s", "add %s to its .sends"},
    {"receives", "reads events of %s", "add %s to its .receives"},
    // Fields that are used without a type.
    {"renames", "sends a name", "set its .renames"},
};

// Other texts for these fields when there is no type.
static const rights_words rights_entity[] = {
    {"creates", "sends EntityAdded", "list the types of new entities in its .creates"},
    {"switches", "enables or disables an entity", "add * to its .switches"},
};

static const rights_words* rights_find(const char* field, bool typed)
{
    for (uint32_t i = 0; !typed && i < ORRI_COUNT(rights_entity); i++) {
        if (strcmp(rights_entity[i].field, field) == 0) {
            return &rights_entity[i];
        }
    }
    for (uint32_t i = 0; i < ORRI_COUNT(rights_all); i++) {
        if (strcmp(rights_all[i].field, field) == 0) {
            return &rights_all[i];
        }
    }
    return NULL;
}

// Appends `words` with `name` in place of its only "%s".
static void rights_put(orri_text* out, const char* words, const char* name)
{
    const char* gap = strstr(words, "%s");
    if (gap == NULL) {
        orri_text_add(out, "%s", words);
        return;
    }
    orri_text_bytes(out, words, (size_t)(gap - words));
    orri_text_add(out, "%s%s", name, gap + 2);
}

static orr_result rights_refuse(const orr_world* world, orri_rights* rights, const char* call,
                                const char* what, const char* remedy, orr_entity entity)
{
    rights->counts.violations++;
    orri_id_text id = orri_entity_format(world, entity);
    bool named = entity.id != 0;
    return orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                       "%s: system '%s' %s%s%s, which it did not declare; %s", call, rights->name,
                       what, named ? " for " : "", named ? id.text : "", remedy);
}

orr_result orri_refuse_right(const orr_world* world, orri_rights* rights, const char* call,
                             const char* field, orr_type type, orr_entity entity)
{
    const char* name = orri_type_label(world, type);
    const rights_words* words = rights_find(field, type.id != 0);
    char what[128], remedy[192];
    orri_text what_text = {what, sizeof what, 0}, remedy_text = {remedy, sizeof remedy, 0};
    if (words != NULL) {
        rights_put(&what_text, words->what, name);
        rights_put(&remedy_text, words->remedy, name);
    } else {
        orri_text_add(&what_text, "uses %s", name);
        orri_text_add(&remedy_text, "add %s to its .%s", name, field);
    }
    return rights_refuse(world, rights, call, what, remedy, entity);
}

orr_result orri_refuse_tag(const orr_world* world, orri_rights* rights, const char* call,
                           orr_tag tag, bool on, orr_entity entity)
{
    char name[96], what[160], remedy[160];
    orri_text text = {name, sizeof name, 0};
    orri_tag_print(world, tag, &text);
    snprintf(what, sizeof what, "%s %s", on ? "adds" : "removes", name);
    snprintf(remedy, sizeof remedy, "add %s to its .tags", name);
    return rights_refuse(world, rights, call, what, remedy, entity);
}

// The terms of .destroys are easily taken for a list of types like that of .creates: the text has to
// say that all of them must match.
orr_result orri_refuse_destroy(const orr_world* world, orri_rights* rights, const char* call,
                               orr_entity entity)
{
    char remedy[192];
    orri_text text = {remedy, sizeof remedy, 0};
    orri_text_add(&text, "let its .destroys select the entity");
    if (rights->destroys != NULL) {
        orri_text_add(&text,
                      "; \"%.64s\" does not: ',' means and, '|' means or, \"*\" is any entity",
                      rights->destroys_text);
    } else {
        orri_text_add(&text, ": \"A\" if it has A, \"A|B\" if it has A or B");
    }
    return rights_refuse(world, rights, call, "sends EntityRemoved", remedy, entity);
}
