// SPDX-License-Identifier: MIT
// Command buffers as bytes: what a run of a system sent and what it received, so that a replay can
// send the same without running the system. Types are encoded by index, entities and instances by
// id, functions of transactions by their index in a separate list. Decoding checks everything: the
// bytes may come from a damaged file.
#include "base/bytes.h"
#include "message/deliver/baseline.h"
#include "message/event/event.h"
#include "message/transaction/transaction.h"

enum {
    COMMAND_CODEC_CREATED_ONLY = 1,
    COMMAND_CODEC_BULK = 2,
};

// ---- command arrays -----------------------------------------------------------------------------

// 1 + index of a type; 0: no type.
static uint64_t command_codec_type(const orr_world* world, const orri_type* info)
{
    return info != NULL ? orri_type_index(world, (orr_type){info->id}) + UINT64_C(1) : 0;
}

// Looks up an encoded type; 0 is no type. False: there is no such type.
static bool command_codec_find(const orr_world* world, uint64_t id, const orri_type** out)
{
    *out = id > 0 && id <= world->schema.type_count ? world->schema.types[id - 1] : NULL;
    return id == 0 || *out != NULL;
}

static void command_codec_put_array(const orr_command_buffer* commands,
                                    const orri_command_array* array, orri_bytes* out)
{
    uint64_t flags = (array->created_only ? COMMAND_CODEC_CREATED_ONLY : 0) |
                     (array->bulk ? COMMAND_CODEC_BULK : 0);
    orri_bytes_put_word(out, array->kind | flags << 8);
    orri_bytes_put_word(out, command_codec_type(commands->world, array->info));
    orri_bytes_put_word(out, array->cluster.id | (uint64_t)array->cluster.generation << 32);
    orri_bytes_put_word(out, array->count | (uint64_t)array->sequence_run_count << 32);
    orri_bytes_put(out, array->sequence_runs,
                   array->sequence_run_count * sizeof *array->sequence_runs);
    orri_bytes_put(out, array->values, (size_t)array->count * array->stride);
    if (array->entities != NULL && !array->shares_entities) {
        orri_bytes_put(out, array->entities, array->count * sizeof *array->entities);
    }
    if (array->ids != NULL) {
        orri_bytes_put(out, array->ids, array->count * sizeof *array->ids);
    }
}

static bool command_codec_values(orri_command_array* array, const uint8_t* values, uint32_t count)
{
    if (array->stride == 0 || count == 0) {
        return true;
    }
    if (array->info == NULL || array->info->plain) {
        memcpy(array->values, values, (size_t)count * array->stride);
        return true;
    }
    return orri_rows_copy(array->info, array->values, values, count);
}

// True when the sequence runs begin at row 0, ascend and lie within the rows. Runs without rows are
// valid: refused sends leave them behind.
static bool command_codec_sequence_runs(const uint8_t* data, uint32_t sequence_runs, uint32_t count)
{
    orri_sequence_run last = {0};
    for (uint32_t i = 0; i < sequence_runs; i++) {
        orri_sequence_run at;
        memcpy(&at, data + i * sizeof at, sizeof at);
        bool follows = at.row >= last.row && at.sequence >= last.sequence;
        if (!follows || (i == 0 && at.row != 0) || at.row > count || at.sequence > UINT32_MAX / 2) {
            return false;
        }
        last = at;
    }
    return sequence_runs > 0 || count == 0;
}

// True when all names refer to texts of the buffer that are names of entities.
static bool command_codec_texts(const orr_command_buffer* commands, const uint8_t* values,
                                uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        orri_command_name name;
        memcpy(&name, values + i * sizeof name, sizeof name);
        if (name.text1 > commands->text_count ||
            (name.text1 != 0 && !orri_sent_name_valid(commands->texts + name.text1 - 1))) {
            return false;
        }
    }
    return true;
}

// True when the system may add and remove all tags.
static bool command_codec_tags(const orr_command_buffer* commands, const uint8_t* values,
                               uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        orr_tag tag;
        memcpy(&tag, values + i * sizeof tag, sizeof tag);
        if (!orri_may_tag(commands->rights, tag)) {
            return false;
        }
    }
    return true;
}

// True when the values of an array are allowed, as far as a send would check them.
static bool command_codec_check_values(const orr_command_buffer* commands,
                                       const orri_command_array* array, const uint8_t* values,
                                       uint32_t count)
{
    switch (array->kind) {
    case ORRI_COMMAND_NAME:
        return command_codec_texts(commands, values, count);
    case ORRI_COMMAND_TAG_ADD:
    case ORRI_COMMAND_TAG_REMOVE:
        return command_codec_tags(commands, values, count);
    default:
        return true;
    }
}

// True when the system declares this kind of command for the type, as every send checks. `info` is
// NULL for commands without a type. `created`: the command is for entities of this commit only.
static bool command_codec_declared(const orr_command_buffer* commands, orri_command_kind kind,
                                   const orri_type* info, bool created)
{
    const orri_rights* rights = commands->rights;
    uint32_t index = info != NULL ? orri_type_index(commands->world, (orr_type){info->id}) : 0;
    switch (kind) {
    case ORRI_COMMAND_CREATE:
        return info == NULL && rights->may_create;
    case ORRI_COMMAND_DESTROY:
        return info == NULL &&
               (rights->may_create || rights->may_destroy_any || rights->destroys != NULL);
    case ORRI_COMMAND_ADD:
    case ORRI_COMMAND_ADD_PRESET:
        return info != NULL && (orri_right(rights->adds, rights, index) ||
                                (created && orri_right(rights->creates, rights, index)));
    case ORRI_COMMAND_CHANGE:
        return info != NULL && orri_right(rights->changes, rights, index);
    case ORRI_COMMAND_REMOVE:
        return info != NULL && orri_right(rights->removes, rights, index);
    case ORRI_COMMAND_TAG_ADD:
    case ORRI_COMMAND_TAG_REMOVE:
        return info == NULL; // By tag: command_codec_tags().
    case ORRI_COMMAND_ENABLE:
    case ORRI_COMMAND_DISABLE:
        return info != NULL ? orri_right(rights->switches, rights, index)
                            : rights->may_switch_entities;
    case ORRI_COMMAND_NAME:
        return info == NULL && rights->may_rename;
    default:
        return info != NULL && orri_right(rights->sends, rights, index);
    }
}

// True when the count of rows is plausible: arrays that share entities have as many rows as the
// creations, the others bring their entities with them, and events are limited to 2^24.
static bool command_codec_counts(const orri_command_array* array, const orri_bytes_reader* in,
                                 uint32_t count, uint32_t created)
{
    return array->shares_entities              ? count == created
           : array->kind == ORRI_COMMAND_EVENT ? count <= UINT32_C(1) << 24
                                               : count <= (in->count - in->at) / sizeof(orr_entity);
}

// The entities of the last bulk creation, which the following arrays share; and which of the
// buffer's ids were created.
typedef struct command_codec_created {
    orr_entity* entities;
    uint32_t count;
    uint32_t ids;
    bool* used; // [ids]: the id was created by an earlier row.
} command_codec_created;

// True when every creation has an id of the buffer, in order and at most once.
static bool command_codec_check_created(const orr_command_buffer* commands,
                                        const orri_command_array* array,
                                        command_codec_created* created)
{
    orri_index_cursor cursor = {0};
    uint32_t n = 0;
    for (uint32_t row = 0; array->kind == ORRI_COMMAND_CREATE && row < array->count; row++, n++) {
        while (n < created->ids &&
               orri_command_buffer_id(commands, &cursor, n).id != array->entities[row].id) {
            n++;
        }
        if (n >= created->ids || created->used[n]) {
            return false;
        }
        created->used[n] = true;
    }
    return true;
}

// True when no entity of an array exists: they are created by this commit, or dead.
static bool command_codec_none_alive(const orr_command_buffer* commands,
                                     const orri_command_array* array)
{
    for (uint32_t row = 0; row < array->count; row++) {
        if (orri_record_find(commands->world, array->entities[row]) != NULL) {
            return false;
        }
    }
    return true;
}

// True when an array may name this cluster: only orr_send_create_many() does, for a cluster that
// exists and all of whose types and tags are declared.
static bool command_codec_check_cluster(const orr_command_buffer* commands,
                                        const orri_command_array* array)
{
    if (array->cluster.id == 0 && array->cluster.generation == 0) {
        return true;
    }
    const orri_cluster* cluster = orri_cluster_at(commands->world, array->cluster);
    return array->kind == ORRI_COMMAND_CREATE && array->bulk && cluster != NULL &&
           orri_undeclared_type(commands->world, commands->rights, cluster) ==
               cluster->type_count &&
           orri_undeclared_tag(commands->rights, cluster) == cluster->tag_count;
}

// Decodes everything after the head of an array.
static bool command_codec_fill(orr_command_buffer* commands, orri_command_array* array,
                               orri_bytes_reader* in, command_codec_created* created)
{
    uint64_t word = orri_bytes_word(in);
    uint32_t count = (uint32_t)word, sequence_runs = (uint32_t)(word >> 32);
    const uint8_t* from = orri_bytes_take(in, sequence_runs * sizeof *array->sequence_runs);
    const uint8_t* values = orri_bytes_take(in, (size_t)count * array->stride);
    bool good = !in->failed && command_codec_sequence_runs(from, sequence_runs, count) &&
                command_codec_counts(array, in, count, created->count) &&
                command_codec_check_values(commands, array, values, count);
    bool room = good && orri_command_array_reserve(commands, array, count) &&
                ORRI_RESERVE(&commands->world->env, ORR_MEMORY_MESSAGE, &array->sequence_runs,
                             &array->sequence_run_capacity, sequence_runs);
    if (!room || !command_codec_values(array, values, count)) {
        return false;
    }
    if (sequence_runs > 0) {
        memcpy(array->sequence_runs, from, sequence_runs * sizeof *array->sequence_runs);
    }
    array->sequence_run_count = sequence_runs;
    const uint8_t* entities = array->entities != NULL && !array->shares_entities
                                  ? orri_bytes_take(in, count * sizeof *array->entities)
                                  : NULL;
    const uint8_t* ids = array->ids != NULL ? orri_bytes_take(in, count * sizeof *array->ids)
                                            : NULL;
    if (entities != NULL && count > 0) {
        memcpy(array->entities, entities, count * sizeof *array->entities);
    }
    if (ids != NULL && count > 0) {
        memcpy(array->ids, ids, count * sizeof *array->ids);
    }
    array->count = count; // From here on the values are destructed with the array.
    array->entities = array->shares_entities ? created->entities : array->entities;
    if (array->bulk && !array->shares_entities) {
        created->entities = array->entities;
        created->count = count;
    }
    return !in->failed && command_codec_check_created(commands, array, created) &&
           (!array->created_only || command_codec_none_alive(commands, array));
}

static bool command_codec_get_array(orr_command_buffer* commands, orri_bytes_reader* in,
                                    command_codec_created* created)
{
    const orri_type* info;
    uint64_t head = orri_bytes_word(in);
    orri_command_kind kind = (orri_command_kind)(head & 0xFF);
    bool known = command_codec_find(commands->world, orri_bytes_word(in), &info) &&
                 (head & 0xFF) <= ORRI_COMMAND_EVENT;
    uint64_t cluster = orri_bytes_word(in);
    bool plain = info == NULL || (!info->info.has_owned && !info->info.has_hooks);
    bool created_only = (head >> 8 & COMMAND_CODEC_CREATED_ONLY) != 0;
    bool own = (head >> 8 & COMMAND_CODEC_BULK) != 0;
    bool adds = kind == ORRI_COMMAND_ADD || kind == ORRI_COMMAND_ADD_PRESET;
    if (in->failed || !known || !plain || (created_only && !adds) ||
        !command_codec_declared(commands, kind, info, created_only || own)) {
        return false;
    }
    orr_type type = {info != NULL ? info->id : 0};
    orri_command_array* array = own ? orri_command_buffer_array_bulk(commands, kind, type, info)
                                    : orri_command_buffer_array(commands, kind, type, info);
    if (array == NULL || array->count > 0) { // The array occurs twice.
        return false;
    }
    array->created_only = created_only;
    array->cluster = (orr_cluster){(uint32_t)cluster, (uint32_t)(cluster >> 32)};
    return command_codec_check_cluster(commands, array) &&
           command_codec_fill(commands, array, in, created);
}

// ---- transactions -------------------------------------------------------------------------------

// 1 + index of the function in the list, appended if missing. 0: no function, or memory is refused.
static uint64_t command_codec_function(orri_command_bytes* out, orr_transaction function)
{
    uint32_t at = 0;
    while (at < out->function_count && out->functions[at] != function) {
        at++;
    }
    if (function == NULL || out->bytes.failed) {
        return 0;
    }
    if (at == out->function_count) {
        if (!ORRI_RESERVE(out->bytes.env, ORR_MEMORY_SYSTEM, &out->functions,
                          &out->function_capacity, at + 1)) {
            out->bytes.failed = true;
            return 0;
        }
        out->functions[out->function_count++] = function;
    }
    return at + UINT64_C(1);
}

static void command_codec_put_verb(orri_command_bytes* out, const orri_verb* verb)
{
    orri_bytes_put_word(&out->bytes, command_codec_function(out, verb->function));
    orri_bytes_put_word(&out->bytes, verb->id);
    orri_bytes_put_word(&out->bytes, verb->offset | (uint64_t)verb->size << 32);
    orri_bytes_put_word(&out->bytes, (uint64_t)verb->op << 1 | verb->in_bytes);
}

static void command_codec_put_posts(const orr_command_buffer* commands, orri_command_bytes* out)
{
    const struct orri_posts* posts = commands->posts;
    uint32_t streams = posts != NULL ? posts->stream_count : 0;
    orri_bytes_put_word(&out->bytes, streams);
    for (uint32_t i = 0; i < streams; i++) {
        const orri_stream* stream = &posts->streams[i];
        orri_bytes_put_word(&out->bytes, command_codec_type(commands->world, stream->info));
        orri_bytes_put_word(&out->bytes, stream->run_count);
        for (uint32_t r = 0; r < stream->run_count; r++) {
            const orri_verb* verb = &stream->verbs[stream->runs[r].verb];
            uint32_t first = stream->runs[r].first;
            uint32_t end = r + 1 < stream->run_count ? stream->runs[r + 1].first : stream->count;
            command_codec_put_verb(out, verb);
            orri_bytes_put_word(&out->bytes, end - first);
            for (uint32_t p = first; p < end; p++) {
                const orri_post* post = &stream->posts[p];
                orri_bytes_put_word(&out->bytes, post->entity.id);
                if (verb->in_bytes) {
                    orri_bytes_put(&out->bytes, posts->bytes + post->number, verb->size);
                } else {
                    orri_bytes_put_word(&out->bytes, post->number);
                }
            }
        }
    }
}

// Decodes consecutive posts with the same verb by posting them again.
static bool command_codec_get_run(orr_command_buffer* commands, orri_bytes_reader* in,
                                  const orri_command_bytes* encoded, orr_type type)
{
    orr_run run = {.world = commands->world, .commands = commands};
    uint64_t function = orri_bytes_word(in);
    orr_component_id id = (orr_component_id)orri_bytes_word(in);
    uint64_t place = orri_bytes_word(in), how = orri_bytes_word(in), count = orri_bytes_word(in);
    uint32_t offset = (uint32_t)place, size = (uint32_t)(place >> 32);
    bool in_bytes = how & 1;
    // A number has at most 8 bytes; the argument of a function is never a number.
    bool good = function <= encoded->function_count && how >> 1 <= ORR_OP_MAX &&
                (in_bytes || (function == 0 && size <= sizeof(uint64_t)));
    orr_result result = good ? ORR_OK : ORR_ERR_FORMAT;
    for (uint64_t i = 0; result == ORR_OK && !in->failed && i < count; i++) {
        orr_entity target = {orri_bytes_word(in)};
        uint64_t aligned = 0;
        const uint8_t* data = orri_bytes_take(in, in_bytes ? size : sizeof(uint64_t));
        if (data == NULL) {
            return false;
        }
        if (!in_bytes) {
            uint64_t number;
            memcpy(&number, data, sizeof number);
            orri_store(&aligned, size, number);
            data = (const uint8_t*)&aligned;
        }
        result = function != 0 ? orr_transact_call(&run, target, type, id,
                                                   encoded->functions[function - 1], data, size)
                               : orr_transact_field(&run, (orr_op)(how >> 1), target, type, id,
                                                    offset, size, data);
    }
    return result == ORR_OK && !in->failed;
}

static bool command_codec_get_posts(orr_command_buffer* commands, orri_bytes_reader* in,
                                    const orri_command_bytes* encoded)
{
    const orri_type* info;
    uint64_t streams = orri_bytes_word(in);
    bool good = !in->failed;
    for (uint64_t i = 0; good && i < streams; i++) {
        good = command_codec_find(commands->world, orri_bytes_word(in), &info) && info != NULL;
        uint64_t runs = orri_bytes_word(in);
        for (uint64_t r = 0; good && r < runs; r++) {
            good = command_codec_get_run(commands, in, encoded, (orr_type){info->id});
        }
    }
    return good;
}

// ---- command buffers ----------------------------------------------------------------------------

// True when the creations have ids that the buffer has reserved, in order.
static bool command_codec_ids_reserved(const orr_command_buffer* commands,
                                       const orri_command_array* array, uint32_t creates)
{
    orri_index_cursor cursor = commands->cursor;
    uint32_t n = 0;
    for (uint32_t row = 0; row < array->count; row++) {
        bool found = false;
        while (!found && n < creates) {
            found = orri_command_buffer_id(commands, &cursor, n++).id == array->entities[row].id;
        }
        if (!found || array->entities[row].id == 0) {
            return false;
        }
    }
    return true;
}

void orri_command_buffer_put(const orr_command_buffer* commands, orri_command_bytes* out)
{
    orri_bytes_put_word(&out->bytes,
                        commands->create_count | (uint64_t)commands->instance_count << 32);
    orri_bytes_put_word(&out->bytes, commands->text_count | (uint64_t)commands->order_count << 32);
    orri_bytes_put_word(&out->bytes, orri_command_buffer_records(commands));
    orri_bytes_put(&out->bytes, commands->texts, commands->text_count);
    for (uint32_t i = 0; i < commands->order_count; i++) {
        command_codec_put_array(commands, &commands->arrays[commands->order[i]], &out->bytes);
    }
    command_codec_put_posts(commands, out);
}

bool orri_command_buffer_get(orr_command_buffer* commands, orri_bytes_reader* in,
                             const orri_command_bytes* encoded)
{
    uint64_t ids = orri_bytes_word(in), counts = orri_bytes_word(in);
    uint32_t records = (uint32_t)orri_bytes_word(in), texts = (uint32_t)counts;
    const uint8_t* text = orri_bytes_take(in, texts);
    bool ends = texts == 0 || (text != NULL && text[texts - 1] == '\0');
    // A creation has an entity among the bytes that follow.
    bool good = !in->failed && ends && (uint32_t)ids <= commands->creates_max &&
                (uint32_t)ids <= (in->count - in->at) / sizeof(orr_entity) &&
                ids >> 32 <= commands->instance_max;
    if (good && !ORRI_RESERVE(&commands->world->env, ORR_MEMORY_MESSAGE, &commands->texts,
                              &commands->text_capacity, texts)) {
        (void)orri_command_buffer_refuse_memory(commands);
        return false;
    }
    if (good && texts > 0) {
        memcpy(commands->texts, text, texts);
        commands->text_count = texts;
    }
    command_codec_created created = {.ids = good ? (uint32_t)ids : 0};
    created.used = ORRI_ALLOC_ZERO(&commands->world->env, ORR_MEMORY_TEMP, bool, created.ids);
    if (created.used == NULL) {
        (void)orri_command_buffer_refuse_memory(commands);
        return false;
    }
    for (uint32_t i = 0; good && i < counts >> 32; i++) {
        good = command_codec_get_array(commands, in, &created);
    }
    ORRI_FREE(&commands->world->env, ORR_MEMORY_TEMP, bool, created.used, created.ids);
    commands->current = NULL;
    commands->sequence = records;
    for (uint32_t i = 0; good && i < commands->order_count; i++) {
        const orri_command_array* array = &commands->arrays[commands->order[i]];
        good = array->kind != ORRI_COMMAND_CREATE ||
               command_codec_ids_reserved(commands, array, (uint32_t)ids);
    }
    for (uint32_t i = 0; !good && i < commands->order_count; i++) {
        commands->arrays[commands->order[i]].count = 0; // Nothing of it is applied.
    }
    if (!good) {
        commands->sequence = 0;
        return false;
    }
    commands->create_count = (uint32_t)ids;
    commands->instance_count = (uint32_t)(ids >> 32);
    return good && command_codec_get_posts(commands, in, encoded);
}

// ---- received messages and events ---------------------------------------------------------------

// Number of messages the system has not taken: in real time of those handed to it, in lockstep of
// its queue.
static uint64_t command_codec_untaken(const orr_world* world, const orri_reader* reader)
{
    uint64_t count = 0;
    const orri_message_view* view = reader == NULL    ? NULL
                                    : world->realtime ? reader->taken
                                                      : reader->first;
    for (; view != NULL; view = view->next) {
        count++;
    }
    return count;
}

void orri_received_put(const orr_world* world, const orri_rights* rights, orri_bytes* out)
{
    orri_bytes_put_word(out, command_codec_untaken(world, rights->reader));
    for (uint32_t i = 0; rights->event_cursors != NULL && i < rights->event_cursors->count; i++) {
        orri_bytes_put_word(out, rights->event_cursors->cursors[i].asked);
    }
}

void orri_received_get(const orr_world* world, const orri_rights* rights, orri_bytes_reader* in)
{
    uint64_t left = orri_bytes_word(in), there = command_codec_untaken(world, rights->reader);
    for (; there > left; there--) {
        (void)orri_reader_next(rights->reader);
    }
    for (uint32_t i = 0; rights->event_cursors != NULL && i < rights->event_cursors->count; i++) {
        orri_cursor* cursor = &rights->event_cursors->cursors[i];
        cursor->asked = orri_bytes_word(in) != 0 && (world->realtime || rights->event_cursors->on);
        if (cursor->asked && !world->realtime) {
            cursor->shown = orri_event_end(cursor->queue);
        }
    }
}
