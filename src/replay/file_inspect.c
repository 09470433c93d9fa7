// SPDX-License-Identifier: MIT
// Inspects recordings: single ticks and calls, the first difference of two recordings, a summary as
// text.
#include "base/util.h"
#include "replay/file.h"
#include <inttypes.h>

static const char* file_inspect_pipeline(const orr_recording* recording, uint32_t number)
{
    const orri_lockstep_log_names* names = &recording->names[ORRI_LOCKSTEP_LOG_PIPELINES];
    return number < names->count ? names->names[number].name : "";
}

bool orr_recording_tick(const orr_recording* recording, uint64_t tick, orr_recorded_tick* out)
{
    ORR_ASSERT(recording != NULL && out != NULL);
    uint64_t index = tick - recording->begin_tick - 1;
    if (!recording->lockstep || tick <= recording->begin_tick || index >= recording->entry_count) {
        return false;
    }
    const orri_lockstep_entry* entry = &recording->entries[index];
    const orri_lockstep_log_mark* mark = orri_lockstep_log_mark_at(recording, tick);
    *out = (orr_recorded_tick){.tick = tick,
                               .pipeline = file_inspect_pipeline(recording, entry->number),
                               .pipeline_number = entry->number,
                               .dt = entry->dt,
                               .call_first = entry->call_at,
                               .call_count = entry->calls,
                               .input_size = entry->input_size,
                               .hashed = mark != NULL,
                               .hash = mark != NULL ? mark->hash : 0};
    return true;
}

bool orr_recording_call(const orr_recording* recording, uint32_t index, orr_recorded_call* out)
{
    ORR_ASSERT(recording != NULL && out != NULL);
    if (index >= recording->call_count) {
        return false;
    }
    const orri_call* call = recording->calls[index];
    *out = (orr_recorded_call){call->name != NULL ? call->name : "", call->data, call->size};
    return true;
}

// ---- comparing two recordings -------------------------------------------------------------------

static bool file_inspect_same_call(const orri_call* a, const orri_call* b)
{
    bool named = a->name != NULL && b->name != NULL;
    return (named ? strcmp(a->name, b->name) == 0 : a->call == b->call) && a->size == b->size &&
           a->sync == b->sync && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static bool file_inspect_same_calls(orri_call* const* a, orri_call* const* b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!file_inspect_same_call(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

// Compares the inputs of one tick. Returns what differs; NULL if nothing does.
static const char* file_inspect_tick(const orr_recording* a, const orr_recording* b, uint32_t index)
{
    const orri_lockstep_entry* x = &a->entries[index];
    const orri_lockstep_entry* y = &b->entries[index];
    const uint8_t* xs = a->inputs[0].bytes.data;
    const uint8_t* ys = b->inputs[0].bytes.data;
    if (x->number != y->number) {
        return "which pipeline ticks";
    }
    if (memcmp(&x->dt, &y->dt, sizeof x->dt) != 0 || x->due_ns != y->due_ns ||
        x->first_ns != y->first_ns) {
        return "the time of the tick";
    }
    if (x->calls != y->calls ||
        (x->calls > 0 &&
         !file_inspect_same_calls(a->calls + x->call_at, b->calls + y->call_at, x->calls))) {
        return "the calls before it";
    }
    if (x->input_size != y->input_size ||
        (x->input_size > 0 && memcmp(xs + x->impure_at, ys + y->impure_at, x->input_size) != 0)) {
        return "what impure systems did";
    }
    return NULL;
}

// True, with `*out` filled, if both recordings have a hash of the tick and the hashes differ.
static bool file_inspect_hashes(const orr_recording* a, const orr_recording* b, uint64_t tick,
                                orr_recording_difference* out)
{
    const orri_lockstep_log_mark* x = orri_lockstep_log_mark_at(a, tick);
    const orri_lockstep_log_mark* y = orri_lockstep_log_mark_at(b, tick);
    if (x == NULL || y == NULL || x->hash == y->hash) {
        return false;
    }
    *out = (orr_recording_difference){true, tick, "the hash", x->hash, y->hash};
    return true;
}

// Refuses a comparison: one of the recordings is not of lockstep. Reported to that one.
static orr_result file_inspect_refuse(const orr_recording* a, const orr_recording* b)
{
    const orr_recording* wrong = a->lockstep ? b : a;
    orri_env* env = &((orr_recording*)(uintptr_t)wrong)->env;
    return orri_refuse(
        env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
        "orr_recording_compare: the %s recording is %s", wrong == a ? "first" : "second",
        wrong->turn_count == 0 ? "empty; record to it, or load it"
                               : "of a run in real time, whose ticks overlap; only recordings of "
                                 "lockstep can be compared");
}

orr_result orr_recording_compare(const orr_recording* a, const orr_recording* b,
                                 orr_recording_difference* out)
{
    ORR_ASSERT(a != NULL && b != NULL && out != NULL);
    if (!a->lockstep || !b->lockstep) {
        return file_inspect_refuse(a, b);
    }
    *out = (orr_recording_difference){.what = ""};
    if (a->begin_tick != b->begin_tick) {
        *out = (orr_recording_difference){
            true, a->begin_tick < b->begin_tick ? a->begin_tick : b->begin_tick,
            "the tick they begin with", 0, 0};
        return ORR_OK;
    }
    uint32_t count = a->entry_count < b->entry_count ? a->entry_count : b->entry_count;
    if (file_inspect_hashes(a, b, a->begin_tick, out)) {
        return ORR_OK;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t tick = a->begin_tick + 1 + i;
        const char* what = file_inspect_tick(a, b, i);
        if (what != NULL) {
            *out = (orr_recording_difference){true, tick, what, 0, 0};
            return ORR_OK;
        }
        if (file_inspect_hashes(a, b, tick, out)) {
            return ORR_OK;
        }
    }
    return ORR_OK;
}

// ---- as text ------------------------------------------------------------------------------------

static void file_inspect_print_names(const orr_recording* recording, orri_lockstep_log_kind kind,
                                     const char* title, orri_text* text)
{
    const orri_lockstep_log_names* names = &recording->names[kind];
    if (names->count == 0) {
        return;
    }
    orri_text_add(text, "%-10s", title);
    for (uint32_t i = 0; i < names->count; i++) {
        const orri_lockstep_log_name* name = &names->names[i];
        orri_text_add(text, "%s%s", i > 0 ? ", " : " ", name->name);
        if (kind == ORRI_LOCKSTEP_LOG_PIPELINES) {
            double rate;
            memcpy(&rate, &name->word, sizeof rate);
            if (rate > 0) {
                orri_text_add(text, " (%g Hz)", rate);
            } else {
                orri_text_add(text, " (continuous)");
            }
        }
        if (kind == ORRI_LOCKSTEP_LOG_SYSTEMS && name->word != 0) {
            orri_text_add(text, " (impure)");
        }
    }
    orri_text_add(text, "\n");
}

static void file_inspect_print_calls(const orr_recording* recording, orri_text* text)
{
    const orri_lockstep_log_names* names = &recording->names[ORRI_LOCKSTEP_LOG_CALLS];
    orri_text_add(text, "%-10s %u", "calls", recording->call_count);
    for (uint32_t n = 0; n < names->count; n++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < recording->call_count; i++) {
            count += recording->calls[i]->name == names->names[n].name;
        }
        orri_text_add(text, "%s%s %u", n == 0 ? ": " : ", ", names->names[n].name, count);
    }
    orri_text_add(text, "\n");
}

static void file_inspect_print_end(const orr_recording* recording, orri_text* text)
{
    const char* end = recording->cut       ? "its file was cut off"
                      : recording->full    ? "out of memory"
                      : recording->refused ? "something in the run was refused"
                                           : NULL;
    if (end != NULL) {
        orri_text_add(text, "%-10s early: %s\n", "ends", end);
    }
    if (recording->changed_tick1 != 0) {
        orri_text_add(text,
                      "%-10s after tick %" PRIu64
                      ", by something that is not recorded: a replay will differ\n",
                      "changed", recording->changed_tick1 - 1);
    }
}

size_t orr_recording_print(const orr_recording* recording, char* out, size_t out_size)
{
    ORR_ASSERT(recording != NULL && (out != NULL || out_size == 0));
    orri_text text = {out, out_size, 0};
    bool realtime = recording->turn_count > 0;
    size_t inputs = 0;
    for (uint32_t i = 0; i < ORR_PIPELINES_MAX; i++) {
        inputs += recording->inputs[i].bytes.count;
    }
    orri_text_add(&text, "%-10s %s\n", "of",
                  realtime              ? "a run in real time"
                  : recording->lockstep ? "lockstep"
                                        : "nothing");
    orri_text_add(&text, "%-10s %" PRIu64, "ticks", recording->ticks);
    if (recording->lockstep) {
        orri_text_add(&text, ", from %" PRIu64 " to %" PRIu64 " of the world\n",
                      recording->begin_tick, recording->begin_tick + recording->entry_count);
    } else {
        orri_text_add(&text, ", in %u turns\n", recording->turn_count);
    }
    orri_text_add(&text, "%-10s %u; %016" PRIx64 " at the beginning\n", "hashes",
                  recording->lockstep ? recording->mark_count : recording->hash_count,
                  recording->begin_hash);
    file_inspect_print_calls(recording, &text);
    orri_text_add(&text, "%-10s %zu bytes\n", "impure", inputs);
    file_inspect_print_names(recording, ORRI_LOCKSTEP_LOG_PIPELINES, "pipelines", &text);
    file_inspect_print_names(recording, ORRI_LOCKSTEP_LOG_SYSTEMS, "systems", &text);
    file_inspect_print_names(recording, ORRI_LOCKSTEP_LOG_TYPES, "types", &text);
    file_inspect_print_end(recording, &text);
    return text.length;
}
