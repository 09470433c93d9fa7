// SPDX-License-Identifier: MIT
// A Chrome trace: a JSON file that shows when each system ran. It is an array of events. The format
// allows a missing end, so only whole events are ever written: the file of a process that died can
// be read.
#include "schedule/schedule.h"
#include <stdatomic.h>
#include <stdlib.h>

#define TRACE_BUFFER_SIZE 65536
#define TRACE_ROWS_MAX    1024 // Rows with a name; further rows have a number only.

struct orri_trace {
    orri_mutex busy; // Workers write at the same time.
    orri_env* env;
    char* path; // A copy.
    orr_file file;
    uint64_t offset;   // Bytes in the file.
    uint64_t begun_ns; // Time 0 of the trace.
    bool ended;        // A write failed: nothing more is written.
    bool separate;     // An event was written: the next begins with a comma.
    uint64_t rows_named[TRACE_ROWS_MAX / 64];
    size_t used; // Bytes of whole events in `buffer`.
    char buffer[TRACE_BUFFER_SIZE];
};

// ---- writing ------------------------------------------------------------------------------------

ORRI_COLD static void trace_fail(orri_trace* trace, int error)
{
    const orr_platform* platform = trace->env->platform;
    // Cuts off a half-written event, if the operating system allows. The rest of the file can be
    // read: it is the beginning of an array.
    (void)platform->file_truncate(platform->user, trace->file, trace->offset);
    platform->file_close(platform->user, trace->file);
    trace->ended = true;
    (void)orri_refuse(trace->env, ORR_ERR_IO, ORR_LOG_ID_TRACE_REFUSED,
                      "the trace %s ends here, because it could not be written: %s; free some disk "
                      "space, or choose another file with orr_trace_set() or ORR_TRACE",
                      trace->path, strerror(error));
}

static void trace_flush(orri_trace* trace)
{
    if (trace->ended || trace->used == 0) {
        return;
    }
    const orr_platform* platform = trace->env->platform;
    int error = platform->file_write(platform->user, trace->file, trace->offset, trace->buffer,
                                     trace->used);
    if (error != 0) {
        trace_fail(trace, error);
        return;
    }
    trace->offset += trace->used;
    trace->used = 0;
}

// ---- JSON ---------------------------------------------------------------------------------------

// A text in quotes. Names are ASCII; anything else becomes a question mark, which is JSON in any
// case.
static void trace_quote(orri_text* text, const char* words)
{
    orri_text_bytes(text, "\"", 1);
    for (const char* at = words; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\') {
            orri_text_add(text, "\\%c", c);
        } else if (c < 0x20) {
            orri_text_add(text, "\\u%04x", c);
        } else {
            orri_text_bytes(text, c < 0x7F ? at : "?", 1);
        }
    }
    orri_text_bytes(text, "\"", 1);
}

static void trace_time(orri_text* text, const char* key, uint64_t ns)
{
    orri_text_add(text, ", \"%s\": %llu.%03u", key, (unsigned long long)(ns / 1000),
                  (uint32_t)(ns % 1000));
}

// Begins an event after what is in the buffer.
static orri_text trace_event(orri_trace* trace)
{
    orri_text text = {trace->buffer + trace->used, TRACE_BUFFER_SIZE - trace->used, 0};
    orri_text_add(&text, trace->separate ? ",\n" : "[\n");
    return text;
}

// True when the event fitted into the buffer; otherwise the buffer is flushed, and the caller tries
// once more.
static bool trace_accept(orri_trace* trace, const orri_text* text)
{
    if (text->length >= text->size) {
        trace_flush(trace);
        return false;
    }
    trace->used += text->length;
    trace->separate = true;
    return true;
}

static void trace_write_name(orri_trace* trace, const char* what, uint32_t row, const char* name)
{
    for (uint32_t attempt = 0; attempt < 2 && !trace->ended; attempt++) {
        orri_text text = trace_event(trace);
        orri_text_add(
            &text,
            "{\"name\": \"%s\", \"ph\": \"M\", \"pid\": 1, \"tid\": %u, \"args\": {\"name\": ",
            what, row);
        trace_quote(&text, name);
        orri_text_add(&text, "}}");
        if (trace_accept(trace, &text)) {
            return;
        }
    }
}

// Names a row of the driving thread or a worker, once.
static void trace_name_row(orri_trace* trace, uint32_t row)
{
    if (row >= TRACE_ROWS_MAX || orri_bit_get(trace->rows_named, row)) {
        return;
    }
    orri_bit_set(trace->rows_named, row, true);
    char name[32];
    orri_text text = {name, sizeof name, 0};
    if (row == 0) {
        orri_text_add(&text, "driving thread");
    } else {
        orri_text_add(&text, "worker %u", row);
    }
    trace_write_name(trace, "thread_name", row, name);
}

static void trace_span(orri_trace* trace, const char* name, const char* category, uint32_t row,
                       uint64_t start_ns, uint64_t end_ns, const char* args)
{
    trace_name_row(trace, row);
    uint64_t start = start_ns > trace->begun_ns ? start_ns - trace->begun_ns : 0;
    uint64_t end = end_ns > trace->begun_ns ? end_ns - trace->begun_ns : 0;
    for (uint32_t attempt = 0; attempt < 2 && !trace->ended; attempt++) {
        orri_text text = trace_event(trace);
        orri_text_add(&text, "{\"name\": ");
        trace_quote(&text, name);
        orri_text_add(&text, ", \"cat\": ");
        trace_quote(&text, category);
        orri_text_add(&text, ", \"ph\": \"X\", \"pid\": 1, \"tid\": %u", row);
        trace_time(&text, "ts", start);
        trace_time(&text, "dur", end > start ? end - start : 0);
        if (args != NULL) {
            orri_text_add(&text, ", \"args\": {%s}", args);
        }
        orri_text_add(&text, "}");
        if (trace_accept(trace, &text)) {
            return; // An event larger than the buffer is left out.
        }
    }
}

// Locked: workers write at the same time.
void orri_trace_name(orri_trace* trace, uint32_t row, const char* name)
{
    orri_mutex_lock(trace->env->platform, &trace->busy);
    trace_write_name(trace, "thread_name", row, name);
    orri_mutex_unlock(trace->env->platform, &trace->busy);
}

void orri_trace_span(orri_trace* trace, const char* name, const char* category, uint32_t row,
                     uint64_t start_ns, uint64_t end_ns, const char* args)
{
    orri_mutex_lock(trace->env->platform, &trace->busy);
    trace_span(trace, name, category, row, start_ns, end_ns, args);
    orri_mutex_unlock(trace->env->platform, &trace->busy);
}

// ---- begin and end ------------------------------------------------------------------------------

static void trace_free(orr_world* world, orri_trace* trace)
{
    orri_free(&world->env, ORR_MEMORY_SYSTEM, trace->path, strlen(trace->path) + 1, 1);
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_trace, trace, 1);
}

static orri_trace* trace_allocate(orr_world* world, const char* path)
{
    size_t size = strlen(path) + 1;
    orri_trace* trace = ORRI_ALLOC(&world->env, ORR_MEMORY_SYSTEM, orri_trace, 1);
    char* copy = trace != NULL ? orri_alloc(&world->env, ORR_MEMORY_SYSTEM, size, 1) : NULL;
    if (copy == NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_trace, trace, 1);
        (void)orri_refuse_memory(&world->env, "beginning a trace");
        return NULL;
    }
    memset(trace, 0, offsetof(orri_trace, buffer));
    memcpy(copy, path, size);
    trace->path = copy;
    trace->env = &world->env;
    return trace;
}

orri_trace* orri_trace_open(orr_world* world, const char* path)
{
    orri_trace* trace = trace_allocate(world, path);
    if (trace == NULL) {
        return NULL;
    }
    const orr_platform* platform = world->env.platform;
    int error = platform->file_open(platform->user, path, ORR_FILE_TRUNCATE, &trace->file);
    if (error != 0) {
        trace_free(world, trace);
        (void)orri_refuse(&world->env, ORR_ERR_IO, ORR_LOG_ID_TRACE_REFUSED,
                          "the trace %s cannot be written: %s; check that its folder exists and is "
                          "writable (orr_trace_set(), ORR_TRACE)",
                          path, strerror(error));
        return NULL;
    }
    trace->begun_ns = platform->clock_ns(platform->user);
    trace_write_name(trace, "process_name", 0, "Orrery");
    return trace;
}

void orri_trace_close(orr_world* world, orri_trace* trace)
{
    if (trace == NULL) {
        return;
    }
    static const char end[] = "\n]\n";
    if (trace->used + sizeof end > TRACE_BUFFER_SIZE) {
        trace_flush(trace);
    }
    if (!trace->ended) {
        memcpy(trace->buffer + trace->used, end, sizeof end - 1);
        trace->used += sizeof end - 1;
        trace_flush(trace);
    }
    if (!trace->ended) {
        world->env.platform->file_close(world->env.platform->user, trace->file);
    }
    trace_free(world, trace);
}

const char* orri_trace_env(orr_world* world, char* out, size_t out_size)
{
    static _Atomic uint32_t worlds; // Worlds of this process that asked.
    const char* path = getenv("ORR_TRACE");
    if (path == NULL || path[0] == '\0') {
        return NULL;
    }
    uint32_t number = atomic_fetch_add(&worlds, 1) + 1;
    orri_text text = {out, out_size, 0};
    orri_text_add(&text, "%s", path);
    if (number > 1) {
        orri_text_add(&text, ".%u", number);
    }
    if (text.length >= out_size) {
        (void)orri_refuse(
            &world->env, ORR_ERR_IO, ORR_LOG_ID_TRACE_REFUSED,
            "the path in ORR_TRACE has %zu bytes, so there is no trace; use at most %zu",
            text.length, out_size - 1);
        return NULL;
    }
    return out;
}

orr_result orri_check_between_ticks(const orr_world* world, const char* call)
{
    if (orri_access_checked(world)) {
        return orri_refuse_running(world, call);
    }
    return world->context->busy == NULL
               ? ORR_OK
               : orri_refuse(orri_env_of(world), ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                             "%s: not now, %s", call, world->context->busy);
}

orr_result orr_trace_set(orr_world* world, const char* path)
{
    ORR_ASSERT(world != NULL);
    orr_result result = orri_check_between_ticks(world, "orr_trace_set");
    struct orri_schedule* schedule = result == ORR_OK ? orri_schedule_of(world) : NULL;
    if (schedule == NULL) {
        return orri_env_result(&world->env);
    }
    // The old trace ends first: the new one may be the same file.
    orri_trace_close(world, schedule->trace);
    schedule->trace = path != NULL ? orri_trace_open(world, path) : NULL;
    return path == NULL || schedule->trace != NULL ? ORR_OK : orri_env_result(&world->env);
}

#undef TRACE_ROWS_MAX
#undef TRACE_BUFFER_SIZE
