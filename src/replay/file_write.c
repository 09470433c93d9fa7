// SPDX-License-Identifier: MIT
// Writes a recording to a file (orr_recording_save()). It is written to path.part, synced to disk,
// and then renamed to path, so that an existing file is replaced completely or not at all. file.h
// has the layout.
#include "replay/file.h"

// A file that is written.
typedef struct file_out {
    orr_world* world;
    const orr_recording* recording;
    const char* path;
    orr_file file;
    uint64_t offset;               // Bytes written so far.
    uint32_t blocks;               // Blocks written so far: number of the current block.
    uint32_t kind;                 // Of the current block.
    int error;                     // Error code of the platform; 0: none.
    orri_bytes bytes;              // The current block.
    orri_lockstep_log_names calls; // Names of calls in use; not copies.
} file_out;

// ---- numbers ------------------------------------------------------------------------------------

// A number of `size` bytes, at most 8.
static void file_put(file_out* out, uint64_t number, uint32_t size)
{
    uint8_t bytes[8];
    for (uint32_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(number >> 8 * i);
    }
    orri_bytes_put(&out->bytes, bytes, size);
}

// A number of variable length.
static void file_put_v(file_out* out, uint64_t number)
{
    for (; number >= 0x80; number >>= 7) {
        file_put(out, (number & 0x7F) | 0x80, 1);
    }
    file_put(out, number, 1);
}

static void file_put_text(file_out* out, const char* text)
{
    file_put_v(out, strlen(text));
    orri_bytes_put(&out->bytes, text, strlen(text));
}

static uint64_t file_float_bits(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

// ---- blocks -------------------------------------------------------------------------------------

static void file_begin_block(file_out* out, uint32_t kind)
{
    out->kind = kind;
    out->bytes.count = 0;
    file_put(out, kind, 4);
    file_put(out, 0, 8); // Size and hash, filled in by file_end_block().
}

// Fills in size and hashes, and writes the block.
static void file_end_block(file_out* out)
{
    if (out->bytes.failed || out->error != 0) {
        return;
    }
    uint32_t size = out->bytes.count - ORRI_FILE_BEFORE;
    for (uint32_t i = 0; i < 4; i++) {
        out->bytes.data[4 + i] = (uint8_t)(size >> 8 * i);
    }
    uint32_t hash = orri_file_head_hash(out->bytes.data, out->blocks);
    for (uint32_t i = 0; i < 4; i++) {
        out->bytes.data[8 + i] = (uint8_t)(hash >> 8 * i);
    }
    file_put(out, orr_hash(out->bytes.data, out->bytes.count, out->blocks++), 8);
    if (!out->bytes.failed) {
        const orr_platform* platform = out->world->env.platform;
        out->error = platform->file_write(platform->user, out->file, out->offset, out->bytes.data,
                                          out->bytes.count);
        out->offset += out->bytes.count;
    }
}

static void file_write_head(file_out* out)
{
    const orr_recording* recording = out->recording;
    out->bytes.count = 0;
    orri_bytes_put(&out->bytes, ORRI_FILE_MAGIC, 8);
    file_put(out, ORRI_FILE_VERSION, 4);
    file_put(out, !recording->lockstep, 4);
    if (!out->bytes.failed) {
        const orr_platform* platform = out->world->env.platform;
        out->error =
            platform->file_write(platform->user, out->file, 0, out->bytes.data, out->bytes.count);
        out->offset = out->bytes.count;
    }
    file_begin_block(out, ORRI_BLOCK_HEAD);
    file_put(out, recording->begin_tick, 8);
    file_put(out, recording->begin_hash, 8);
    file_put(out, recording->hashed, 1);
    file_end_block(out);
}

// ---- names --------------------------------------------------------------------------------------

static void file_put_name(file_out* out, const char* name, uint64_t word)
{
    file_put_text(out, name);
    file_put(out, word, 8);
}

static void file_put_types(file_out* out)
{
    const orri_schema* schema = &out->world->schema;
    file_put_v(out, schema->type_count);
    for (uint32_t i = 0; i < schema->type_count; i++) {
        file_put_name(out, schema->types[i]->info.name, schema->types[i]->info.layout_hash);
    }
}

static void file_put_pipelines(file_out* out)
{
    uint32_t count = 0;
    while (orri_lockstep_log_pipeline(out->world, count) != NULL) {
        count++;
    }
    file_put_v(out, count);
    for (uint32_t i = 0; i < count; i++) {
        const orri_pipeline* pipe = orri_lockstep_log_pipeline(out->world, i);
        uint64_t bits;
        memcpy(&bits, &pipe->rate_hz, sizeof bits);
        file_put_name(out, pipe->name, bits);
    }
}

static void file_put_systems(file_out* out)
{
    uint32_t count = 0;
    const orri_system* first = out->world->schedule->first;
    for (const orri_system* system = first; system != NULL; system = system->next) {
        count += !system->pipe->spectator;
    }
    file_put_v(out, count);
    for (const orri_system* system = first; system != NULL; system = system->next) {
        if (!system->pipe->spectator) {
            file_put_name(out, system->desc.name, system->desc.impure);
        }
    }
}

static void file_put_functions(file_out* out)
{
    uint64_t count = 0;
    for (uint32_t p = 0; p < ORR_PIPELINES_MAX; p++) {
        count += out->recording->inputs[p].function_count;
    }
    file_put_v(out, count);
    for (uint32_t p = 0; p < ORR_PIPELINES_MAX; p++) {
        const orri_command_bytes* kept = &out->recording->inputs[p];
        for (uint32_t i = 0; i < kept->function_count; i++) {
            const char* name = orri_recording_function(out->recording, p, i);
            file_put_name(
                out, name != NULL ? name : orri_transaction_name(out->world, kept->functions[i]),
                p);
        }
    }
}

// Writes the tables of names. A recording that was loaded from a file keeps the names of that file;
// otherwise the world supplies them.
static void file_write_names(file_out* out)
{
    static const uint32_t kinds[ORRI_LOCKSTEP_LOG_KINDS] = {
        ORRI_BLOCK_TYPE, ORRI_BLOCK_PIPE, ORRI_BLOCK_SYST, ORRI_BLOCK_CALL, ORRI_BLOCK_FUNC};
    static void (*const put[ORRI_LOCKSTEP_LOG_KINDS])(file_out*) = {
        file_put_types, file_put_pipelines, file_put_systems, NULL, file_put_functions};
    for (uint32_t kind = 0; kind < ORRI_LOCKSTEP_LOG_KINDS; kind++) {
        const orri_lockstep_log_names* names =
            kind == ORRI_LOCKSTEP_LOG_CALLS ? &out->calls : &out->recording->names[kind];
        file_begin_block(out, kinds[kind]);
        if (put[kind] != NULL && (names->count == 0 || kind == ORRI_LOCKSTEP_LOG_FUNCTIONS)) {
            put[kind](out);
        } else {
            file_put_v(out, names->count);
            for (uint32_t i = 0; i < names->count; i++) {
                file_put_name(out, names->names[i].name, names->names[i].word);
            }
        }
        file_end_block(out);
    }
}

static const char* file_call_name(const file_out* out, const orri_call* call)
{
    const orri_named* named = call->name == NULL ? orri_call_registered(out->world, call->call)
                                                 : NULL;
    return named != NULL ? named->name : call->name;
}

// Index of a name among those in use; their number if it is new.
static uint32_t file_call_number(const file_out* out, const char* name)
{
    uint32_t number = 0;
    while (number < out->calls.count && strcmp(out->calls.names[number].name, name) != 0) {
        number++;
    }
    return number;
}

// Collects the names of all recorded calls, and checks that functions of transactions have names.
// Errors are reported.
static orr_result file_find_names(file_out* out)
{
    const orr_recording* recording = out->recording;
    orri_env* env = &out->world->env;
    for (uint32_t i = 0; i < recording->call_count; i++) {
        const char* name = file_call_name(out, recording->calls[i]);
        if (name == NULL) {
            return orri_refuse(env, ORR_ERR_NAME, ORR_LOG_ID_CALL_REFUSED,
                               "orr_recording_save: call %u of the recording has no name; name all "
                               "posted calls with orr_call_register()",
                               i);
        }
        uint32_t number = file_call_number(out, name);
        if (number == out->calls.count) {
            if (!ORRI_RESERVE(env, ORR_MEMORY_TEMP, &out->calls.names, &out->calls.capacity,
                              number + 1)) {
                return orri_refuse_memory(env, "saving a recording");
            }
            out->calls.names[out->calls.count++] =
                (orri_lockstep_log_name){(char*)(uintptr_t)name, 0};
        }
    }
    for (uint32_t p = 0; p < ORR_PIPELINES_MAX; p++) {
        const orri_command_bytes* kept = &recording->inputs[p];
        for (uint32_t i = 0; i < kept->function_count; i++) {
            if (orri_recording_function(recording, p, i) == NULL &&
                orri_transaction_name(out->world, kept->functions[i]) == NULL) {
                return orri_refuse(env, ORR_ERR_NAME, ORR_LOG_ID_CALL_REFUSED,
                                   "orr_recording_save: a function that an impure system passes to "
                                   "orr_transact_call() has no name; name it with "
                                   "orr_transaction_register()");
            }
        }
    }
    return ORR_OK;
}

// ---- lockstep -----------------------------------------------------------------------------------

static void file_put_call(file_out* out, const orri_call* call)
{
    file_put_v(out, file_call_number(out, file_call_name(out, call)));
    file_put(out, call->sync, 1);
    file_put_v(out, call->size);
    orri_bytes_put(&out->bytes, call->data, call->size);
}

// `last` is the tick before it in the block; all zero if it is the first.
static void file_put_tick(file_out* out, uint32_t index, const orri_lockstep_entry* last)
{
    const orr_recording* recording = out->recording;
    const orri_lockstep_entry* entry = &recording->entries[index];
    const orri_lockstep_log_mark* mark =
        orri_lockstep_log_mark_at(recording, recording->begin_tick + index + 1);
    bool same_dt = file_float_bits(entry->dt) == file_float_bits(last->dt);
    file_put(out, (mark != NULL ? ORRI_FILE_HASHED : 0) | (same_dt ? ORRI_FILE_SAME_DT : 0), 1);
    file_put_v(out, entry->number);
    if (!same_dt) {
        file_put(out, file_float_bits(entry->dt), 4);
    }
    file_put_v(out, orri_file_zigzag(entry->due_ns - last->due_ns));
    file_put_v(out, orri_file_zigzag(entry->time_ns - entry->due_ns));
    file_put_v(out, orri_file_zigzag(entry->first_ns - entry->due_ns));
    file_put_v(out, entry->calls);
    for (uint32_t i = 0; i < entry->calls; i++) {
        file_put_call(out, recording->calls[entry->call_at + i]);
    }
    file_put_v(out, entry->input_size);
    if (entry->input_size > 0) {
        orri_bytes_put(&out->bytes, recording->inputs[0].bytes.data + entry->impure_at,
                       entry->input_size);
    }
    if (mark != NULL) {
        file_put(out, mark->hash, 8);
    }
}

static void file_write_ticks(file_out* out)
{
    const orr_recording* recording = out->recording;
    const orri_lockstep_entry none = {0};
    for (uint32_t index = 0; index < recording->entry_count;) {
        file_begin_block(out, ORRI_BLOCK_TICK);
        file_put_v(out, index);
        const orri_lockstep_entry* last = &none;
        for (uint32_t n = 0; n < ORRI_FILE_TICKS && index < recording->entry_count &&
                             out->bytes.count < ORRI_FILE_PIECE && !out->bytes.failed;
             n++) {
            file_put_tick(out, index, last);
            last = &recording->entries[index++];
        }
        file_end_block(out);
        if (out->bytes.failed || out->error != 0) {
            return;
        }
    }
}

// ---- real time ----------------------------------------------------------------------------------

// Writes an array of numbers of `width` bytes, 4 or 8, in as many blocks as needed.
static void file_write_numbers(file_out* out, uint32_t kind, const void* numbers, size_t count,
                               uint32_t width)
{
    const uint8_t* next = numbers;
    for (size_t i = 0; i < count;) {
        file_begin_block(out, kind);
        for (uint32_t n = 0; n < ORRI_FILE_PIECE / width && i < count; n++, i++, next += width) {
            uint32_t half = 0;
            uint64_t whole = 0;
            memcpy(width == 4 ? (void*)&half : (void*)&whole, next, width);
            file_put(out, width == 4 ? half : whole, width);
        }
        file_end_block(out);
    }
}

static void file_write_posts(file_out* out)
{
    for (uint32_t i = 0; i < out->recording->call_count;) {
        file_begin_block(out, ORRI_BLOCK_POST);
        while (i < out->recording->call_count && out->bytes.count < ORRI_FILE_PIECE) {
            file_put_call(out, out->recording->calls[i++]);
            if (out->bytes.failed) {
                return;
            }
        }
        file_end_block(out);
    }
}

static void file_write_inputs(file_out* out)
{
    for (uint32_t p = 0; p < ORR_PIPELINES_MAX; p++) {
        const orri_bytes* bytes = &out->recording->inputs[p].bytes;
        for (uint32_t at = 0; at < bytes->count;) {
            uint32_t size = bytes->count - at < ORRI_FILE_PIECE ? bytes->count - at
                                                                : ORRI_FILE_PIECE;
            file_begin_block(out, ORRI_BLOCK_INPT);
            file_put(out, p, 4);
            orri_bytes_put(&out->bytes, bytes->data + at, size);
            file_end_block(out);
            at += size;
        }
    }
}

static void file_write_realtime(file_out* out)
{
    const orr_recording* r = out->recording;
    _Static_assert(sizeof(orri_realtime_log_clock) == 5 * sizeof(uint64_t),
                   "orri_realtime_log_clock changed: change ENDS in file.h, and the version");
    file_write_numbers(out, ORRI_BLOCK_TURN, r->turns, r->turn_count, 4);
    file_write_numbers(out, ORRI_BLOCK_DTIM, r->dts, r->dt_count, 4);
    file_write_numbers(out, ORRI_BLOCK_CCNT, r->call_counts, r->count_count, 4);
    file_write_numbers(out, ORRI_BLOCK_GRNT, r->grants.grants, r->grants.count, 4);
    file_write_numbers(out, ORRI_BLOCK_HASH, r->hashes, r->hash_count, 8);
    file_write_numbers(out, ORRI_BLOCK_ENDS, r->ended, 5 * (size_t)r->ended_count, 8);
    file_write_numbers(out, ORRI_BLOCK_BUDG, r->budgets, r->budget_count, 4);
    file_write_posts(out);
    file_write_inputs(out);
}

// ---- the file -----------------------------------------------------------------------------------

static void file_write_done(file_out* out)
{
    const orr_recording* recording = out->recording;
    file_begin_block(out, ORRI_BLOCK_DONE);
    file_put(out, recording->ticks, 8);
    file_put(out, recording->call_count, 8);
    file_put(out, recording->time_ns, 8);
    file_put(out,
             (recording->full ? ORRI_FILE_FULL : 0) | (recording->refused ? ORRI_FILE_REFUSED : 0),
             1);
    file_put(out, recording->changed_tick1, 8);
    file_end_block(out);
}

static orr_result file_refuse_file(const file_out* out, const char* what)
{
    return orri_refuse(&out->world->env, ORR_ERR_IO, ORR_LOG_ID_CALL_REFUSED,
                       "orr_recording_save: '%.200s' could not be %s: %s; an existing file is "
                       "unchanged",
                       out->path, what, strerror(out->error));
}

// Writes the whole recording to the open file, and syncs it.
static orr_result file_write_all(file_out* out)
{
    const orr_platform* platform = out->world->env.platform;
    file_write_head(out);
    file_write_names(out);
    if (out->recording->lockstep) {
        file_write_ticks(out);
    } else {
        file_write_realtime(out);
    }
    file_write_done(out);
    if (out->bytes.failed) {
        return orri_refuse_memory(&out->world->env, "saving a recording");
    }
    if (out->error == 0) {
        out->error = platform->file_sync(platform->user, out->file);
    }
    return out->error == 0 ? ORR_OK : file_refuse_file(out, "written");
}

static orr_result file_save(file_out* out, const char* part_path)
{
    const orr_platform* platform = out->world->env.platform;
    out->error = platform->file_open(platform->user, part_path, ORR_FILE_TRUNCATE, &out->file);
    if (out->error != 0) {
        return file_refuse_file(out, "created");
    }
    orr_result result = file_write_all(out);
    platform->file_close(platform->user, out->file);
    if (result == ORR_OK) {
        out->error = platform->file_rename(platform->user, part_path, out->path);
        result = out->error == 0 ? ORR_OK : file_refuse_file(out, "replaced");
    }
    if (result != ORR_OK) {
        (void)platform->file_remove(platform->user, part_path);
    }
    return result;
}

static orr_result file_check_save(orr_world* world, const orr_recording* recording,
                                  const char* path)
{
    const char* wrong = NULL;
    if (path == NULL || path[0] == '\0') {
        wrong = "the path is empty; pass a path";
    } else if (!recording->lockstep && recording->turn_count == 0) {
        wrong = "the recording is empty; record to it, or load it";
    } else if (world->schedule->now != NULL) {
        wrong = "a tick is half done; finish it with orr_step()";
    }
    return wrong == NULL ? ORR_OK
                         : orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                                       "orr_recording_save: %s", wrong);
}

orr_result orr_recording_save(orr_world* world, const orr_recording* recording, const char* path)
{
    ORR_ASSERT(world != NULL && recording != NULL);
    orr_result result = orri_step_check(world, "orr_recording_save");
    result = result == ORR_OK ? file_check_save(world, recording, path) : result;
    if (result != ORR_OK) {
        return result;
    }
    orri_env* env = &world->env;
    file_out out = {.world = world, .recording = recording, .path = path, .bytes = {.env = env}};
    result = file_find_names(&out);
    size_t size = strlen(path) + sizeof ".part";
    char* part_path = result == ORR_OK ? ORRI_ALLOC(env, ORR_MEMORY_TEMP, char, size) : NULL;
    if (part_path != NULL) {
        memcpy(part_path, path, strlen(path));
        memcpy(part_path + strlen(path), ".part", sizeof ".part");
        result = file_save(&out, part_path);
        ORRI_FREE(env, ORR_MEMORY_TEMP, char, part_path, size);
    } else if (result == ORR_OK) {
        result = orri_refuse_memory(env, "saving a recording");
    }
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, out.bytes.data, out.bytes.capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, out.calls.names, out.calls.capacity);
    return result;
}
