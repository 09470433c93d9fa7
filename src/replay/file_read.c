// SPDX-License-Identifier: MIT
// Reads a recording from a file (orr_recording_load()). The file is not trusted: every size and
// number is checked before use, and no more memory is allocated than the file has bytes. file.h has
// the layout.
#include "replay/file.h"
#include <inttypes.h>

// A file that is read.
typedef struct file_in {
    orr_world* world;
    orr_recording* recording;
    const char* path;
    orr_file file;
    uint64_t size, offset; // Bytes of the file; offset of the current block.
    uint32_t blocks;       // Blocks read so far: number of the current block.
    uint32_t kind;         // Of the current block.
    uint8_t* data;         // The current block, with its head and checksum.
    uint32_t capacity;
    orri_bytes_reader from;          // Reads the content of the current block.
    uint32_t tables;                 // One bit per kind of names that was read.
    bool headed, done;               // HEAD was read; DONE was read.
    uint64_t done_ticks, done_calls; // Numbers of DONE.
    uint64_t end_words;              // Numbers of ENDS read so far, five for each clock.
} file_in;

// ---- errors -------------------------------------------------------------------------------------

// Reports an error at a byte of the file.
static orr_result file_bad(const file_in* in, orr_result result, uint64_t at, const char* expected)
{
    return orri_refuse(&in->world->env, result, ORR_LOG_ID_CALL_REFUSED,
                       "orr_recording_load: '%.200s' at byte %" PRIu64 ": %s", in->path, at,
                       expected);
}

// Reports an error at the current byte of the current block.
static orr_result file_corrupt(const file_in* in, const char* expected)
{
    return file_bad(in, ORR_ERR_CORRUPT, in->offset + ORRI_FILE_BEFORE + in->from.at, expected);
}

static orr_result file_lacks_memory(const file_in* in)
{
    return orri_refuse_memory(&in->world->env, "loading a recording");
}

// ---- numbers ------------------------------------------------------------------------------------

// A number of `size` bytes, at most 8.
static uint64_t file_get(orri_bytes_reader* from, uint32_t size)
{
    const uint8_t* bytes = orri_bytes_take(from, size);
    uint64_t number = 0;
    for (uint32_t i = 0; bytes != NULL && i < size; i++) {
        number |= (uint64_t)bytes[i] << 8 * i;
    }
    return number;
}

// A number of variable length.
static uint64_t file_get_v(orri_bytes_reader* from)
{
    uint64_t number = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        uint64_t byte = file_get(from, 1);
        if (shift == 63 && byte > 1) {
            break;
        }
        number |= (byte & 0x7F) << shift;
        if (byte < 0x80) {
            return number;
        }
    }
    from->failed = true;
    return 0;
}

// ---- names --------------------------------------------------------------------------------------

static bool file_name_valid(const uint8_t* name, size_t size)
{
    return name != NULL && size > 0 && size <= 4096 && memchr(name, 0, size) == NULL;
}

// Adds a function of transactions to the list of a pipeline.
static bool file_in_function(const file_in* in, const char* name, uint64_t number)
{
    orri_command_bytes* kept = &in->recording->inputs[number];
    if (!ORRI_RESERVE(&in->recording->env, ORR_MEMORY_SYSTEM, &kept->functions,
                      &kept->function_capacity, kept->function_count + 1)) {
        return false;
    }
    kept->functions[kept->function_count++] = orri_transaction_named(in->world, name);
    return true;
}

static orr_result file_read_names(file_in* in, orri_lockstep_log_kind kind)
{
    orr_recording* recording = in->recording;
    uint64_t count = file_get_v(&in->from);
    if (in->tables & UINT32_C(1) << kind) {
        return file_corrupt(in, "a table of names occurs twice");
    }
    in->tables |= UINT32_C(1) << kind;
    for (uint64_t i = 0; !in->from.failed && i < count; i++) {
        size_t size = orri_bytes_size(&in->from, file_get_v(&in->from));
        const uint8_t* name = orri_bytes_take(&in->from, size);
        uint64_t word = file_get(&in->from, 8);
        bool good = file_name_valid(name, size) && !in->from.failed &&
                    (kind != ORRI_LOCKSTEP_LOG_PIPELINES || i < ORR_PIPELINES_MAX) &&
                    (kind != ORRI_LOCKSTEP_LOG_FUNCTIONS || word < ORR_PIPELINES_MAX);
        if (!good) {
            return file_corrupt(in, "a name was expected");
        }
        if (kind == ORRI_LOCKSTEP_LOG_PIPELINES && !orri_file_rate_possible(word)) {
            return file_corrupt(in, "the rate of a pipeline is negative, above 1,000,000 or not a "
                                    "number");
        }
        if (!orri_recording_name(recording, kind, (const char*)name, size, word) ||
            (kind == ORRI_LOCKSTEP_LOG_FUNCTIONS &&
             !file_in_function(in, recording->names[kind].names[i].name, word))) {
            return file_lacks_memory(in);
        }
    }
    return ORR_OK;
}

// ---- calls --------------------------------------------------------------------------------------

// The data of a call has another size than the registered one. Reports.
static orr_result file_wrong_size(const file_in* in, const orri_named* named, size_t size)
{
    return orri_refuse(&in->world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                       "orr_recording_load: '%.200s' at byte %" PRIu64 ": the call '%s' has %zu "
                       "bytes of data, but is registered with %zu bytes; load it with the program "
                       "that made the recording",
                       in->path, in->offset + ORRI_FILE_BEFORE + in->from.at, named->name, size,
                       named->size);
}

static orr_result file_read_call(file_in* in)
{
    orr_recording* recording = in->recording;
    const orri_lockstep_log_names* names = &recording->names[ORRI_LOCKSTEP_LOG_CALLS];
    uint64_t name = file_get_v(&in->from), sync = file_get(&in->from, 1);
    size_t size = orri_bytes_size(&in->from, file_get_v(&in->from));
    const uint8_t* data = orri_bytes_take(&in->from, size);
    if (data == NULL || name >= names->count || sync > 1) {
        return file_corrupt(in, "a call was expected: the index of a name, 0 or 1, size, bytes");
    }
    const orri_named* named = orri_call_named(in->world, names->names[name].name);
    if (!orri_named_accepts(named, size)) {
        return file_wrong_size(in, named, size);
    }
    orri_call* call = ORRI_RESERVE(&recording->env, ORR_MEMORY_SYSTEM, &recording->calls,
                                   &recording->call_capacity, recording->call_count + 1)
                          ? orri_call_make(&recording->env, named != NULL ? named->call : NULL,
                                           data, size, sync != 0)
                          : NULL;
    if (call == NULL) {
        return file_lacks_memory(in);
    }
    call->name = names->names[name].name;
    recording->calls[recording->call_count++] = call;
    return ORR_OK;
}

// ---- lockstep -----------------------------------------------------------------------------------

// Adds the hash of a tick.
static bool file_in_mark(orr_recording* recording, uint64_t tick, uint64_t hash)
{
    if (!ORRI_RESERVE(&recording->env, ORR_MEMORY_SYSTEM, &recording->marks,
                      &recording->mark_capacity, recording->mark_count + 1)) {
        return false;
    }
    recording->marks[recording->mark_count++] = (orri_lockstep_log_mark){tick, hash};
    return true;
}

// Reads calls and bytes of impure systems of a tick. They belong to the tick once it is appended.
static orr_result file_read_inputs(file_in* in, orri_lockstep_entry* entry)
{
    orri_bytes* inputs = &in->recording->inputs[0].bytes;
    uint64_t calls = file_get_v(&in->from);
    for (uint64_t i = 0; i < calls; i++) {
        orr_result result = file_read_call(in);
        if (result != ORR_OK) {
            return result;
        }
        entry->calls++;
    }
    size_t size = orri_bytes_size(&in->from, file_get_v(&in->from));
    const uint8_t* bytes = orri_bytes_take(&in->from, size);
    if (bytes == NULL || size > UINT32_MAX) {
        return file_corrupt(in, "bytes of impure systems were expected");
    }
    orri_bytes_put(inputs, bytes, size);
    entry->input_size = (uint32_t)size;
    return inputs->failed ? file_lacks_memory(in) : ORR_OK;
}

static orr_result file_read_tick(file_in* in, orri_lockstep_entry* last)
{
    orr_recording* recording = in->recording;
    uint64_t flags = file_get(&in->from, 1), number = file_get_v(&in->from);
    uint32_t dt;
    memcpy(&dt, &last->dt, sizeof dt);
    dt = flags & ORRI_FILE_SAME_DT ? dt : (uint32_t)file_get(&in->from, 4);
    orri_lockstep_entry entry = {.number = (uint32_t)number};
    memcpy(&entry.dt, &dt, sizeof dt);
    entry.due_ns = last->due_ns + orri_file_unzigzag(file_get_v(&in->from));
    entry.time_ns = entry.due_ns + orri_file_unzigzag(file_get_v(&in->from));
    entry.first_ns = entry.due_ns + orri_file_unzigzag(file_get_v(&in->from));
    if (in->from.failed || flags > (ORRI_FILE_HASHED | ORRI_FILE_SAME_DT) ||
        number >= recording->names[ORRI_LOCKSTEP_LOG_PIPELINES].count) {
        return file_corrupt(in, "a tick was expected");
    }
    const char* wrong = orri_file_check_tick(recording, &entry);
    if (wrong != NULL) {
        return file_corrupt(in, wrong);
    }
    orr_result result = file_read_inputs(in, &entry);
    uint64_t hash = flags & ORRI_FILE_HASHED ? file_get(&in->from, 8) : 0;
    if (result != ORR_OK || in->from.failed) {
        return result != ORR_OK ? result : file_corrupt(in, "a hash was expected");
    }
    if (!orri_lockstep_log_append(recording, &entry)) {
        return file_lacks_memory(in);
    }
    *last = entry;
    return !(flags & ORRI_FILE_HASHED) ||
                   file_in_mark(recording, recording->begin_tick + recording->entry_count, hash)
               ? ORR_OK
               : file_lacks_memory(in);
}

static orr_result file_read_ticks(file_in* in)
{
    orri_lockstep_entry last = {0};
    if (file_get_v(&in->from) != in->recording->entry_count || in->from.failed) {
        return file_corrupt(in, "ticks are missing, or occur twice");
    }
    orr_result result = ORR_OK;
    while (result == ORR_OK && in->from.at < in->from.count) {
        result = file_read_tick(in, &last);
    }
    return result;
}

// ---- real time ----------------------------------------------------------------------------------

static orr_result file_read_u32s(file_in* in, uint32_t** words, uint32_t* count, uint32_t* capacity)
{
    size_t more = in->from.count / 4;
    if (in->from.count % 4 != 0 || more > UINT32_MAX - *count) {
        return file_corrupt(in, "numbers of 4 bytes were expected");
    }
    if (!ORRI_RESERVE(&in->recording->env, ORR_MEMORY_SYSTEM, words, capacity,
                      *count + (uint32_t)more)) {
        return file_lacks_memory(in);
    }
    for (size_t i = 0; i < more; i++) {
        (*words)[(*count)++] = (uint32_t)file_get(&in->from, 4);
    }
    return ORR_OK;
}

static orr_result file_read_dts(file_in* in)
{
    orr_recording* r = in->recording;
    size_t more = in->from.count / 4;
    if (in->from.count % 4 != 0 || more > UINT32_MAX - r->dt_count) {
        return file_corrupt(in, "numbers of 4 bytes were expected");
    }
    if (!ORRI_RESERVE(&r->env, ORR_MEMORY_SYSTEM, &r->dts, &r->dt_capacity,
                      r->dt_count + (uint32_t)more)) {
        return file_lacks_memory(in);
    }
    for (size_t i = 0; i < more; i++) {
        uint32_t bits = (uint32_t)file_get(&in->from, 4);
        memcpy(&r->dts[r->dt_count++], &bits, sizeof bits);
    }
    return ORR_OK;
}

static orr_result file_read_hashes(file_in* in)
{
    orr_recording* r = in->recording;
    size_t more = in->from.count / 8;
    if (in->from.count % 8 != 0 || more > UINT32_MAX - r->hash_count) {
        return file_corrupt(in, "numbers of 8 bytes were expected");
    }
    if (!ORRI_RESERVE(&r->env, ORR_MEMORY_SYSTEM, &r->hashes, &r->hash_capacity,
                      r->hash_count + (uint32_t)more)) {
        return file_lacks_memory(in);
    }
    for (size_t i = 0; i < more; i++) {
        r->hashes[r->hash_count++] = file_get(&in->from, 8);
    }
    return ORR_OK;
}

// Reads clocks of five numbers each. A block may end within a clock.
static orr_result file_read_ends(file_in* in)
{
    orr_recording* r = in->recording;
    if (in->from.count % 8 != 0) {
        return file_corrupt(in, "numbers of 8 bytes were expected");
    }
    while (in->from.at < in->from.count) {
        uint32_t part = (uint32_t)(in->end_words % 5);
        if (part == 0) {
            if (!ORRI_RESERVE(&r->env, ORR_MEMORY_SYSTEM, &r->ended, &r->ended_capacity,
                              r->ended_count + 1)) {
                return file_lacks_memory(in);
            }
            r->ended[r->ended_count++] = (orri_realtime_log_clock){0};
        }
        orri_realtime_log_clock* clock = &r->ended[r->ended_count - 1];
        uint64_t* fields[5] = {&clock->start_ns, &clock->ran, &clock->due_ns, &clock->dropped,
                               &clock->time_ns};
        *fields[part] = file_get(&in->from, 8);
        in->end_words++;
    }
    return ORR_OK;
}

static orr_result file_read_posts(file_in* in)
{
    orr_result result = ORR_OK;
    while (result == ORR_OK && in->from.at < in->from.count) {
        result = file_read_call(in);
    }
    return result;
}

static orr_result file_read_piece(file_in* in)
{
    uint64_t number = file_get(&in->from, 4);
    if (in->from.failed || number >= ORR_PIPELINES_MAX) {
        return file_corrupt(in, "the number of a pipeline was expected");
    }
    orri_bytes* inputs = &in->recording->inputs[number].bytes;
    size_t size = in->from.count - in->from.at;
    orri_bytes_put(inputs, orri_bytes_take(&in->from, size), size);
    return inputs->failed ? file_lacks_memory(in) : ORR_OK;
}

static orr_result file_read_realtime(file_in* in)
{
    orr_recording* r = in->recording;
    switch (in->kind) {
    case ORRI_BLOCK_TURN:
        return file_read_u32s(in, &r->turns, &r->turn_count, &r->turn_capacity);
    case ORRI_BLOCK_DTIM:
        return file_read_dts(in);
    case ORRI_BLOCK_CCNT:
        return file_read_u32s(in, &r->call_counts, &r->count_count, &r->count_capacity);
    case ORRI_BLOCK_GRNT:
        return file_read_u32s(in, &r->grants.grants, &r->grants.count, &r->grants.capacity);
    case ORRI_BLOCK_HASH:
        return file_read_hashes(in);
    case ORRI_BLOCK_ENDS:
        return file_read_ends(in);
    case ORRI_BLOCK_BUDG:
        return file_read_u32s(in, &r->budgets, &r->budget_count, &r->budget_capacity);
    case ORRI_BLOCK_POST:
        return file_read_posts(in);
    case ORRI_BLOCK_INPT:
        return file_read_piece(in);
    default:
        return file_bad(in, ORR_ERR_FORMAT, in->offset, "the kind of this block is unknown");
    }
}

// ---- blocks -------------------------------------------------------------------------------------

static orr_result file_read_head(file_in* in)
{
    orr_recording* recording = in->recording;
    recording->begin_tick = file_get(&in->from, 8);
    recording->begin_hash = file_get(&in->from, 8);
    uint64_t hashed = file_get(&in->from, 1);
    if (in->from.failed || hashed > 1 || in->headed ||
        recording->begin_tick > UINT64_MAX - UINT32_MAX) {
        return file_corrupt(in, "the tick and the hash of the beginning were expected");
    }
    recording->hashed = hashed != 0;
    in->headed = true;
    return !recording->lockstep ||
                   file_in_mark(recording, recording->begin_tick, recording->begin_hash)
               ? ORR_OK
               : file_lacks_memory(in);
}

// Checks a recording that was read to its end. Returns the first mistake as text; NULL: none.
static const char* file_check_done(const orr_recording* recording, uint64_t end_words)
{
    uint64_t last = recording->begin_tick + recording->entry_count;
    if (recording->time_ns > ORRI_TIME_MAX_NS) {
        return "the time at the end is after the end of the world's clock";
    }
    if (recording->changed_tick1 > last + 1) {
        return "the world was changed after a tick that the recording does not have";
    }
    if (!recording->lockstep && end_words % 5 != 0) {
        return "a clock is incomplete";
    }
    return recording->lockstep ? NULL : orri_file_check_realtime(recording);
}

static orr_result file_read_done(file_in* in)
{
    orr_recording* recording = in->recording;
    in->done_ticks = file_get(&in->from, 8);
    in->done_calls = file_get(&in->from, 8);
    recording->time_ns = file_get(&in->from, 8);
    uint64_t flags = file_get(&in->from, 1);
    recording->changed_tick1 = file_get(&in->from, 8);
    recording->full = flags & ORRI_FILE_FULL;
    recording->refused = flags & ORRI_FILE_REFUSED;
    bool same = (!recording->lockstep || in->done_ticks == recording->entry_count) &&
                in->done_calls == recording->call_count;
    if (in->from.failed || !same || flags > (ORRI_FILE_FULL | ORRI_FILE_REFUSED)) {
        return file_corrupt(in, "the end was expected, with the numbers of ticks and calls read");
    }
    recording->ticks = in->done_ticks;
    in->done = true;
    const char* wrong = file_check_done(recording, in->end_words);
    return wrong == NULL ? ORR_OK : file_bad(in, ORR_ERR_CORRUPT, in->offset, wrong);
}

static orr_result file_read_block(file_in* in)
{
    static const uint32_t kinds[ORRI_LOCKSTEP_LOG_KINDS] = {
        ORRI_BLOCK_TYPE, ORRI_BLOCK_PIPE, ORRI_BLOCK_SYST, ORRI_BLOCK_CALL, ORRI_BLOCK_FUNC};
    if (in->done || in->headed != (in->kind != ORRI_BLOCK_HEAD)) {
        return file_bad(in, ORR_ERR_CORRUPT, in->offset,
                        in->done ? "the end was expected" : "the head was expected, once");
    }
    if (in->kind == ORRI_BLOCK_HEAD) {
        return file_read_head(in);
    }
    for (uint32_t kind = 0; kind < ORRI_LOCKSTEP_LOG_KINDS; kind++) {
        if (in->kind == kinds[kind]) {
            return file_read_names(in, (orri_lockstep_log_kind)kind);
        }
    }
    if (in->kind == ORRI_BLOCK_DONE) {
        return file_read_done(in);
    }
    if (in->recording->lockstep) {
        return in->kind == ORRI_BLOCK_TICK
                   ? file_read_ticks(in)
                   : file_bad(in, ORR_ERR_FORMAT, in->offset, "the kind of this block is unknown");
    }
    return file_read_realtime(in);
}

static orr_result file_bad_file(const file_in* in, int error)
{
    return orri_refuse(&in->world->env, ORR_ERR_IO, ORR_LOG_ID_CALL_REFUSED,
                       "orr_recording_load: '%.200s' could not be read: %s", in->path,
                       strerror(error));
}

// Size of the next block in bytes, with its head and checksum; 0 if the file ends before the block
// does. `*result` gets any other error.
static uint32_t file_load_size(file_in* in, orr_result* result)
{
    const orr_platform* platform = in->world->env.platform;
    uint64_t left = in->size - in->offset;
    uint8_t head[ORRI_FILE_BEFORE];
    size_t got = 0;
    int error = left < sizeof head ? 0
                                   : platform->file_read(platform->user, in->file, in->offset, head,
                                                         sizeof head, &got);
    if (error != 0) {
        *result = file_bad_file(in, error);
    }
    if (error != 0 || got < sizeof head) {
        return 0;
    }
    orri_bytes_reader from = {head, sizeof head, 0, false};
    in->kind = (uint32_t)file_get(&from, 4);
    uint64_t whole = file_get(&from, 4) + ORRI_FILE_AROUND;
    if (file_get(&from, 4) != orri_file_head_hash(head, in->blocks)) {
        *result = file_bad(in, ORR_ERR_CORRUPT, in->offset,
                           "the checksum of kind and size of this block is wrong: the file is "
                           "damaged");
    } else if (whole <= left && whole > UINT32_MAX) {
        *result = file_lacks_memory(in);
    }
    return *result == ORR_OK && whole <= left ? (uint32_t)whole : 0;
}

// Reads the next block. False if the file ends before the block does. `*result` gets any other
// error.
static bool file_load_block(file_in* in, orr_result* result)
{
    const orr_platform* platform = in->world->env.platform;
    uint32_t whole = file_load_size(in, result);
    if (whole == 0) {
        return *result != ORR_OK;
    }
    if (!ORRI_RESERVE(&in->world->env, ORR_MEMORY_TEMP, &in->data, &in->capacity, whole)) {
        *result = file_lacks_memory(in);
        return true;
    }
    size_t got = 0;
    int error = platform->file_read(platform->user, in->file, in->offset, in->data, whole, &got);
    if (error == 0 && got < whole) {
        return false;
    }
    orri_bytes_reader end = {in->data, whole, whole - 8, false};
    if (error != 0) {
        *result = file_bad_file(in, error);
    } else if (file_get(&end, 8) != orr_hash(in->data, whole - 8, in->blocks)) {
        *result = file_bad(in, ORR_ERR_CORRUPT, in->offset,
                           "the checksum of this block is wrong: the file is damaged");
    }
    in->from = (orri_bytes_reader){in->data + ORRI_FILE_BEFORE, whole - ORRI_FILE_AROUND, 0, false};
    return true;
}

// ---- the file -----------------------------------------------------------------------------------

static orr_result file_read_begin(file_in* in)
{
    const orr_platform* platform = in->world->env.platform;
    uint8_t head[16];
    size_t got = 0;
    int error = platform->file_size(platform->user, in->file, &in->size);
    error = error != 0 ? error
                       : platform->file_read(platform->user, in->file, 0, head, sizeof head, &got);
    if (error != 0) {
        return file_bad_file(in, error);
    }
    orri_bytes_reader from = {head, got, 8, got < 8};
    uint64_t version = file_get(&from, 4), kind = file_get(&from, 4);
    if (from.failed || memcmp(head, ORRI_FILE_MAGIC, 8) != 0) {
        return file_bad(in, ORR_ERR_FORMAT, 0, "the file is not a recording");
    }
    if (version != ORRI_FILE_VERSION || kind > 1) {
        return orri_refuse(&in->world->env, ORR_ERR_FORMAT, ORR_LOG_ID_CALL_REFUSED,
                           "orr_recording_load: '%.200s' has version %u and kind %u; this library "
                           "reads version %u, kinds 0 and 1",
                           in->path, (unsigned)version, (unsigned)kind, ORRI_FILE_VERSION);
    }
    in->recording->lockstep = kind == 0;
    in->offset = sizeof head;
    return ORR_OK;
}

// The file was cut off: ends the recording with the last whole block, and warns.
static void file_read_cut(const file_in* in)
{
    orr_recording* recording = in->recording;
    uint32_t count = recording->entry_count;
    recording->cut = true;
    recording->time_ns = count > 0 ? recording->entries[count - 1].due_ns : 0;
    orri_log(&in->world->env, ORR_LOG_ID_RECORDING_CUT,
             "orr_recording_load: '%.200s' was cut off at byte %" PRIu64
             ": the recording ends after tick %" PRIu64 " of the world, with %u ticks",
             in->path, in->size, recording->begin_tick + count, count);
}

static orr_result file_read_all(file_in* in)
{
    orr_result result = file_read_begin(in);
    while (result == ORR_OK && in->offset < in->size) {
        if (!file_load_block(in, &result)) {
            break; // The file was cut off.
        }
        result = result == ORR_OK ? file_read_block(in) : result;
        if (result == ORR_OK && in->from.at != in->from.count) {
            result = file_corrupt(in, "the block should end here");
        }
        in->offset += in->from.count + ORRI_FILE_AROUND;
        in->blocks++;
    }
    if (result != ORR_OK || in->done) {
        return result == ORR_OK && in->offset != in->size
                   ? file_bad(in, ORR_ERR_CORRUPT, in->offset, "the end was expected")
                   : result;
    }
    if (!in->recording->lockstep || !in->headed) {
        return file_bad(in, ORR_ERR_CORRUPT, in->offset,
                        "the file was cut off here; a recording of real time must be complete");
    }
    file_read_cut(in);
    return ORR_OK;
}

orr_result orr_recording_load(orr_world* world, orr_recording* recording, const char* path)
{
    ORR_ASSERT(world != NULL && recording != NULL);
    orr_result result = orri_step_check(world, "orr_recording_load");
    const char* busy = orri_recording_busy(recording);
    if (result != ORR_OK || path == NULL || busy != NULL) {
        return result != ORR_OK
                   ? result
                   : orri_refuse(&world->env, path == NULL ? ORR_ERR_ARGUMENT : ORR_ERR_STATE,
                                 ORR_LOG_ID_CALL_REFUSED, "orr_recording_load: %s",
                                 path == NULL ? "the path is NULL; pass a path" : busy);
    }
    const orr_platform* platform = world->env.platform;
    file_in in = {.world = world, .recording = recording, .path = path};
    orri_recording_clear(recording);
    int error = platform->file_open(platform->user, path, ORR_FILE_READ, &in.file);
    if (error != 0) {
        return orri_refuse(&world->env, ORR_ERR_IO, ORR_LOG_ID_CALL_REFUSED,
                           "orr_recording_load: '%.200s' could not be opened: %s", path,
                           strerror(error));
    }
    result = file_read_all(&in);
    platform->file_close(platform->user, in.file);
    ORRI_RELEASE(&world->env, ORR_MEMORY_TEMP, in.data, in.capacity);
    if (result != ORR_OK) {
        orri_recording_clear(recording);
    }
    return result;
}
