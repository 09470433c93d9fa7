// SPDX-License-Identifier: MIT
// Checks the lists of names in a desc (.before, .after, .imports) when the system is added. Later the
// lists are only split at their commas, so an item that names nothing would have no effect.
#include "base/scan.h"
#include "schedule/schedule.h"
#include <stdio.h>

typedef struct name_list {
    orr_world* world;
    char call[ORR_NAME_MAX + 48]; // For error texts.
    const char* text;
    bool maybe;         // "?name" is allowed.
    const char** names; // The names so far: open addressing, at most half full.
    uint32_t size;      // A power of two.
} name_list;

ORRI_COLD static bool name_list_refuse(const name_list* list, orr_result result, const char* at,
                                       const char* format, ...) ORR_PRINTF(4, 5);

// Reports an error at a position of the text. Always returns false.
ORRI_COLD static bool name_list_refuse(const name_list* list, orr_result result, const char* at,
                                       const char* format, ...)
{
    va_list args;
    va_start(args, format);
    (void)orri_refuse_at(&list->world->env, result, ORR_LOG_ID_SYSTEM_REFUSED, list->call,
                         list->text, at, format, args);
    va_end(args);
    return false;
}

// Enters a name. False (reported) if it is in the list already.
static bool name_list_enter(const name_list* list, const char* name, size_t size)
{
    uint32_t at = (uint32_t)orr_hash(name, size, 0) & (list->size - 1);
    for (; list->names[at] != NULL; at = (at + 1) & (list->size - 1)) {
        const char* other = list->names[at];
        if (orri_scan_word(other) == size && memcmp(other, name, size) == 0) {
            return name_list_refuse(list, ORR_ERR_PARSE, name,
                                    "'%.*s' is repeated; the other is at column %zu; remove one",
                                    (int)size, name, (size_t)(other - list->text) + 1);
        }
    }
    list->names[at] = name;
    return true;
}

// Checks one item, from `at` to the next comma or the end. `*end` receives where it ends.
static bool name_list_item(const name_list* list, const char* at, const char** end)
{
    char copy[ORRI_NAME_MAX + 1], found[ORRI_SCAN_FOUND_SIZE];
    const char* name = list->maybe && *at == '?' ? at + 1 : at;
    const char* what = list->maybe ? "the name of a system or group" : "the name of a system";
    size_t size = orri_scan_word(name);
    if (size == 0) {
        return name_list_refuse(list, ORR_ERR_PARSE, name, "expected %s%s%s", what,
                                name > at ? " after '?'" : "", orri_scan_found(name, 0, found));
    }
    orri_scan_copy(copy, name, size);
    if (!orri_name_valid(copy)) {
        return name_list_refuse(list, ORR_ERR_NAME, name,
                                "this is not a name; use 1 to %d letters, digits, '_', '.' and "
                                "':', and no digit first",
                                ORR_NAME_MAX);
    }
    *end = orri_scan_blanks(name + size);
    if (**end != ',' && **end != '\0') {
        return name_list_refuse(list, ORR_ERR_PARSE, *end, "expected ','%s",
                                orri_scan_found(*end, orri_scan_word(*end), found));
    }
    return name_list_enter(list, name, size);
}

static bool name_list_items(const name_list* list)
{
    const char* at = orri_scan_blanks(list->text);
    if (*at == '\0') {
        return name_list_refuse(list, ORR_ERR_PARSE, at,
                                "it is empty; name a %s, or leave the field NULL",
                                list->maybe ? "system or group" : "system");
    }
    for (;; at = orri_scan_blanks(at + 1)) { // After a comma there is another item.
        if (!name_list_item(list, at, &at)) {
            return false;
        }
        if (*at == '\0') {
            return true;
        }
    }
}

static orr_result name_list_check(orr_world* world, const char* system, const char* field,
                                  const char* text, bool maybe)
{
    if (text == NULL) {
        return ORR_OK;
    }
    name_list list = {.world = world, .text = text, .maybe = maybe, .size = 4};
    (void)snprintf(list.call, sizeof list.call, "orr_system_add: system '%s', .%s", system, field);
    uint32_t count = 1;
    for (const char* at = text; (at = strchr(at, ',')) != NULL; at++) {
        count++;
    }
    while (list.size < count * 2) {
        list.size *= 2;
    }
    list.names = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_TEMP, const char*, list.size);
    if (list.names == NULL) {
        return orri_refuse_memory(&world->env, "adding a system");
    }
    bool sound = name_list_items(&list);
    orr_result result = sound ? ORR_OK : orri_env_result(&world->env);
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, const char*, list.names, list.size);
    return result;
}

orr_result orri_name_lists_check(orr_world* world, const orr_system_desc* desc)
{
    orr_result result = name_list_check(world, desc->name, "before", desc->before, true);
    if (result == ORR_OK) {
        result = name_list_check(world, desc->name, "after", desc->after, true);
    }
    return result == ORR_OK ? name_list_check(world, desc->name, "imports", desc->imports, false)
                            : result;
}
