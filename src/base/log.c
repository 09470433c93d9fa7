// SPDX-License-Identifier: MIT
// The log. Each line has an id; the id gives its level and category. Each id has its own budget of
// lines per second, so that an error in a loop does not hide lines of other ids. Over the budget the
// first line of each kind is written all the same, so that it does not hide other errors of its own
// id either: the other mistakes of a new system, for example. Further lines are counted.
#include "base/env.h"
#include "base/util.h"
#include <inttypes.h>
#include <stdio.h>

#define LOG_WINDOW_NS 1000000000u

typedef struct log_item {
    orr_log_id id;
    orr_log_level level;
    orr_log_category category;
    const char* name;
} log_item;

static const log_item log_items[] = {
#define X(number, name, level, category) \
    {ORR_LOG_ID_##name, ORR_LOG_##level, ORR_LOG_CATEGORY_##category, #name},
    ORR_LOG_ITEMS(X)
#undef X
};

// Position of the id in log_items; ORRI_LOG_ITEM_COUNT if it is unknown.
static uint32_t log_index(orr_log_id id)
{
    switch (id) {
#define X(number, name, level, category) \
    case ORR_LOG_ID_##name:              \
        return ORRI_LOG_INDEX_##name;
        ORR_LOG_ITEMS(X)
#undef X
    }
    return ORRI_LOG_ITEM_COUNT;
}

const char* orr_log_level_name(orr_log_level level)
{
    static const char* const names[] = {"default", "trace", "debug", "info",
                                        "warning", "error", "off"};
    return (unsigned)level < ORRI_COUNT(names) ? names[level] : "?";
}

const char* orr_log_category_name(orr_log_category category)
{
    static const char* const names[] = {
#define X(name, text) text,
        ORR_LOG_CATEGORIES(X)
#undef X
    };
    return (unsigned)category < ORRI_COUNT(names) ? names[category] : "?";
}

const char* orr_log_id_name(orr_log_id id)
{
    uint32_t index = log_index(id);
    return index < ORRI_LOG_ITEM_COUNT ? log_items[index].name : "?";
}

// One stdio call per line, so that lines of several threads do not mix.
void orri_log_sink_stderr(void* user, const orr_log_line* line)
{
    (void)user;
    char more[48] = "";
    if (line->suppressed > 0) {
        snprintf(more, sizeof more, " (%" PRIu64 " more suppressed)", line->suppressed);
    }
    fprintf(stderr, "orrery: %s: %s [%s %d]%s\n", orr_log_level_name(line->level), line->text,
            orr_log_category_name(line->category), (int)line->id, more);
}

// Hash of an id and a text without its numbers: "7v1 is dead" and "12v3 is dead" are of one kind.
static uint64_t log_kind(uint32_t index, const char* text)
{
    uint64_t hash = (0xCBF29CE484222325u ^ index) * 0x100000001B3u; // FNV-1a
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') {
            hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
        }
    }
    return hash;
}

// True if no line of this kind was written in this second. Notes the kind. When there is no room for
// another kind, all kinds count as known.
static bool log_kind_is_new(orri_log_kinds* kinds, uint64_t kind, uint64_t now)
{
    if (kinds->count == 0 || now - kinds->window_ns >= LOG_WINDOW_NS) {
        kinds->window_ns = now;
        kinds->count = 0;
    }
    for (uint32_t i = 0; i < kinds->count; i++) {
        if (kinds->hashes[i] == kind) {
            return false;
        }
    }
    if (kinds->count == ORRI_LOG_KINDS) {
        return false;
    }
    kinds->hashes[kinds->count++] = kind;
    return true;
}

// True if a line of this id may be written now; *out then receives the number of lines suppressed
// before it.
static bool log_admit(orri_env* env, uint32_t index, const char* text, uint64_t* out)
{
    uint64_t now = env->platform->clock_ns(env->platform->user);
    uint64_t kind = log_kind(index, text);
    orri_mutex_lock(env->platform, &env->rate_mutex);
    orri_log_rate* rate = &env->rates[index];
    if (rate->lines == 0 || now - rate->window_ns >= LOG_WINDOW_NS) {
        rate->window_ns = now;
        rate->lines = 0;
    }
    bool shown = log_kind_is_new(&env->kinds, kind, now) || rate->lines < env->lines_per_second;
    if (shown) {
        rate->lines++;
        *out = rate->suppressed;
        rate->suppressed = 0;
    } else {
        rate->suppressed++;
    }
    orri_mutex_unlock(env->platform, &env->rate_mutex);
    return shown;
}

// Removes newlines at the end.
static void log_trim(char* text)
{
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\n') {
        text[--length] = '\0';
    }
}

void orri_log_v(orri_env* env, orr_log_id id, orr_log_level level, const char* format, va_list args)
{
    uint32_t index = log_index(id);
    index = index < ORRI_LOG_ITEM_COUNT ? index : ORRI_LOG_INDEX_USER_LINE;
    const log_item* item = &log_items[index];
    bool own_level = level > ORR_LOG_DEFAULT && level < ORR_LOG_OFF;
    orr_log_line line = {
        .level = own_level ? level : item->level, .category = item->category, .id = item->id};
    if (line.level < env->levels[item->category]) {
        return;
    }
    char buffer[ORRI_ERROR_SIZE];
    orri_text text = {buffer, sizeof buffer, 0};
    orri_text_add_v(&text, format, args);
    orri_text_cut(&text);
    log_trim(buffer);
    if (!log_admit(env, index, buffer, &line.suppressed)) {
        return;
    }
    line.text = buffer;
    env->sink(env->sink_user, &line);
}

void orri_log(orri_env* env, orr_log_id id, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    orri_log_v(env, id, ORR_LOG_DEFAULT, format, args);
    va_end(args);
}

// Appends the numbers of suppressed lines to a text and clears them. False when there are none.
static bool log_rates_take(orri_env* env, orri_text* text)
{
    bool any = false;
    orri_mutex_lock(env->platform, &env->rate_mutex);
    for (uint32_t i = 0; i < ORRI_LOG_ITEM_COUNT; i++) {
        uint64_t count = env->rates[i].suppressed;
        if (count > 0) {
            orri_text_add(text, "%s %s %" PRIu64,
                          any ? "," : "lines suppressed by the rate limit:", log_items[i].name,
                          count);
            env->rates[i].suppressed = 0;
            any = true;
        }
    }
    orri_mutex_unlock(env->platform, &env->rate_mutex);
    return any;
}

// Ignores the rate limit, so that no suppressed line goes unreported.
void orri_log_flush(orri_env* env)
{
    char buffer[ORRI_ERROR_SIZE];
    orri_text text = {buffer, sizeof buffer, 0};
    const log_item* item = &log_items[ORRI_LOG_INDEX_LINES_SUPPRESSED];
    if (log_rates_take(env, &text) && item->level >= env->levels[item->category]) {
        orri_text_cut(&text);
        orr_log_line line = {item->level, item->category, item->id, buffer, 0};
        env->sink(env->sink_user, &line);
    }
}

#undef LOG_WINDOW_NS
