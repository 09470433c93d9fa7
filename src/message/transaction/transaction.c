// SPDX-License-Identifier: MIT
// The calls that post transactions. Each appends a post to the stream of its type. Whether the
// system may post it, and whether the field exists, is checked when a verb is used for the first
// time in a run; afterwards a call costs little more than storing an id and a number.
#include "message/transaction/transaction.h"
#include "store/pool/pool.h"

// Verbs searched, from the last one back, before a new one is added.
#define TRANSACTION_LOOK     16u
#define TRANSACTION_ALIGN    16u   // Of arguments.
#define TRANSACTION_KEPT_MIN 1024u // Streams of at most this many posts are never trimmed.

// ---- blocks -------------------------------------------------------------------------------------

bool orri_posts_any(const struct orri_posts* posts)
{
    for (uint32_t i = 0; posts != NULL && i < posts->stream_count; i++) {
        if (posts->streams[i].count > 0) {
            return true;
        }
    }
    return false;
}

void orri_posts_open(struct orri_command_buffers* command_buffers, orr_command_buffer* commands)
{
    struct orri_command_buffers_shared* shared = command_buffers->shared;
    if (commands->posts == NULL && shared->posts_free != NULL && !commands->refuses_all) {
        commands->posts = shared->posts_free;
        shared->posts_free = commands->posts->next;
    }
}

// Empties a block; memory stays.
static void transaction_clear(struct orri_posts* posts)
{
    for (uint32_t i = 0; i < posts->stream_count; i++) {
        orri_stream* stream = &posts->streams[i];
        posts->peak = stream->count > posts->peak ? stream->count : posts->peak;
        stream->count = stream->verb_count = stream->run_count = 0;
        stream->calls = false;
    }
    posts->stream_count = posts->byte_count = 0;
    posts->last.stream = NULL;
    posts->command_buffers = NULL;
    posts->ready = false;
    posts->provisional = NULL;
}

// Puts a block on the free list.
static void transaction_free_up(struct orri_command_buffers_shared* shared,
                                struct orri_posts* posts)
{
    transaction_clear(posts);
    posts->next = shared->posts_free;
    shared->posts_free = posts;
}

void orri_posts_close(struct orri_command_buffers* command_buffers, orr_command_buffer* commands)
{
    struct orri_command_buffers_shared* shared = command_buffers->shared;
    struct orri_posts* posts = commands->posts;
    commands->posts = NULL;
    if (!orri_posts_any(posts)) {
        transaction_free_up(shared, posts);
        return;
    }
    for (uint32_t i = 0; i < posts->stream_count; i++) {
        commands->rights->counts.sent += posts->streams[i].count;
    }
    posts->rights = commands->rights;
    posts->unit = commands->unit;
    posts->provisional = orri_command_buffer_provisional(commands) > 0 ? commands : NULL;
    posts->command_buffers = command_buffers->withholds ? command_buffers : NULL;
    posts->next = NULL;
    if (shared->posted_last != NULL) {
        shared->posted_last->next = posts;
    } else {
        shared->posted = posts;
    }
    shared->posted_last = posts;
    shared->posts_used++;
    shared->posts_peak = shared->posts_peak > shared->posts_used ? shared->posts_peak
                                                                 : shared->posts_used;
}

void orri_posts_set_ready(struct orri_command_buffers* command_buffers)
{
    for (struct orri_posts* posts = command_buffers->shared->posted; posts != NULL;
         posts = posts->next) {
        posts->ready |= posts->command_buffers == command_buffers;
    }
}

void orri_posts_leave(struct orri_command_buffers* command_buffers)
{
    for (struct orri_posts* posts = command_buffers->shared->posted; posts != NULL;
         posts = posts->next) {
        posts->command_buffers = posts->command_buffers == command_buffers ? NULL
                                                                           : posts->command_buffers;
    }
}

void orri_posts_done(struct orri_command_buffers* command_buffers, struct orri_posts* posts)
{
    struct orri_command_buffers_shared* shared = command_buffers->shared;
    struct orri_posts **link = &shared->posted, *before = NULL;
    while (*link != posts) {
        before = *link;
        link = &before->next;
    }
    *link = posts->next;
    shared->posted_last = shared->posted_last == posts ? before : shared->posted_last;
    shared->posts_used--;
    transaction_free_up(shared, posts);
}

void orri_posts_abandon(struct orri_command_buffers* command_buffers)
{
    for (struct orri_posts *posts = command_buffers->shared->posted, *next; posts != NULL;
         posts = next) {
        next = posts->next;
        if (command_buffers->withholds && posts->command_buffers != command_buffers) {
            continue; // Of another pipeline, which continues.
        }
        for (uint32_t i = 0; i < posts->stream_count; i++) {
            for (uint32_t k = 0; k < posts->streams[i].count; k++) {
                posts->rights->counts.dropped += posts->streams[i].posts[k].entity.id != 0;
            }
        }
        orri_posts_done(command_buffers, posts);
    }
}

void orri_transaction_forget(orr_world* world, const orri_rights* rights)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    uint64_t dropped = 0;
    for (struct orri_posts *posts = command_buffers != NULL ? command_buffers->shared->posted
                                                            : NULL,
                           *next;
         posts != NULL; posts = next) {
        next = posts->next;
        if (posts->rights == rights) {
            for (uint32_t i = 0; i < posts->stream_count; i++) {
                for (uint32_t k = 0; k < posts->streams[i].count; k++) {
                    dropped += posts->streams[i].posts[k].entity.id != 0;
                }
            }
            orri_posts_done(command_buffers, posts);
        }
    }
    if (dropped > 0 && world->running.in_tick) { // Not when the world is destroyed.
        orri_log(&world->env, ORR_LOG_ID_MESSAGE_DROPPED,
                 "system '%s' is removed, and with it %llu transactions that wait for another "
                 "pipeline; let that pipeline tick first, or disable the system instead",
                 rights->name, (unsigned long long)dropped);
    }
}

static uint64_t transaction_hash_stream(const struct orri_posts* posts, const orri_stream* stream,
                                        uint64_t hash)
{
    hash = orri_hash_word(hash, stream->info->info.layout_hash);
    for (uint32_t i = 0, run = 0; i < stream->count; i++) {
        run += run + 1 < stream->run_count && stream->runs[run + 1].first <= i;
        const orri_verb* verb = &stream->verbs[stream->runs[run].verb];
        const orri_post* post = &stream->posts[i];
        if (post->entity.id == 0) {
            continue;
        }
        hash = orri_hash_word(hash, post->entity.id);
        hash = orri_hash_word(hash, (uint64_t)verb->op << 32 | verb->offset);
        hash = verb->in_bytes ? orr_hash(posts->bytes + post->number, verb->size, hash)
                              : orri_hash_word(hash, post->number);
    }
    return hash;
}

uint64_t orri_posts_hash(const struct orri_posts* posts, uint64_t hash)
{
    for (uint32_t i = 0; posts != NULL && i < posts->stream_count; i++) {
        hash = transaction_hash_stream(posts, &posts->streams[i], hash);
    }
    return hash;
}

uint64_t orri_transaction_hash(const orr_world* world, uint64_t hash)
{
    const struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    for (const struct orri_posts* posts = command_buffers != NULL ? command_buffers->shared->posted
                                                                  : NULL;
         posts != NULL; posts = posts->next) {
        if (posts->rights->spectator) {
            continue; // Spectators are not part of the state.
        }
        hash = orr_hash(posts->rights->name, strlen(posts->rights->name), hash);
        hash = orri_posts_hash(posts, hash);
    }
    return hash;
}

static void transaction_free_memory(orr_world* world, struct orri_posts* posts)
{
    orri_env* env = &world->env;
    for (uint32_t i = 0; i < posts->stream_made; i++) {
        orri_stream* stream = &posts->streams[i];
        ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, stream->posts, stream->capacity);
        ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, stream->verbs, stream->verb_capacity);
        ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, stream->runs, stream->run_capacity);
    }
    ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, posts->streams, posts->stream_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, posts->bytes, posts->byte_capacity);
    *posts = (struct orri_posts){.next = posts->next};
}

void orri_posts_free(orr_world* world, struct orri_posts* posts)
{
    while (posts != NULL) {
        struct orri_posts* next = posts->next;
        transaction_free_memory(world, posts);
        ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_posts, posts, 1);
        posts = next;
    }
}

// Capacity of the largest stream.
static uint32_t transaction_room(const struct orri_posts* posts)
{
    uint32_t room = 0;
    for (uint32_t i = 0; i < posts->stream_made; i++) {
        uint32_t capacity = posts->streams[i].capacity;
        room = capacity > room ? capacity : room;
    }
    return room;
}

void orri_posts_trim(orr_world* world)
{
    struct orri_command_buffers_shared* shared = orri_command_buffers_at(world)->shared;
    uint32_t kept = shared->posts_peak + 1;
    struct orri_posts** link = &shared->posts_free;
    for (; *link != NULL && kept > 0; kept--, link = &(*link)->next) {
        uint32_t room = transaction_room(*link);
        if (room > TRANSACTION_KEPT_MIN && (*link)->peak < room / 4) {
            transaction_free_memory(world, *link);
        }
        (*link)->peak = 0;
    }
    orri_posts_free(world, *link);
    *link = NULL;
    shared->posts_peak = shared->posts_used;
    orri_commit_arena_trim(world, &shared->apply_arena);
}

void orri_posts_term(orr_world* world, struct orri_command_buffers_shared* shared)
{
    orri_posts_free(world, shared->posted);
    orri_posts_free(world, shared->posts_free);
    orri_commit_arena_term(world, &shared->apply_arena);
    shared->posted = shared->posted_last = shared->posts_free = NULL;
}

// ---- which field --------------------------------------------------------------------------------

// The field at some bytes of a value.
typedef struct transaction_field {
    const orr_type_info* type;
    uint32_t count;   // Elements, if it is a whole array; 0: a single field.
    const char* name; // Of the innermost field; "" if there is none.
    bool indexed;
} transaction_field;

// The field of a struct that contains an offset; NULL: padding.
static const orr_field_info* transaction_field_at(const orr_type_info* type, uint32_t offset)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const orr_field_info* field = &type->fields[i];
        uint32_t count = field->count > 0 ? field->count : 1;
        if (offset >= field->offset && offset - field->offset < field->type->size * count) {
            return field;
        }
    }
    return NULL;
}

// The field that occupies exactly these bytes; `type` is NULL if there is none.
static transaction_field transaction_find(const orr_type_info* type, uint32_t offset, uint32_t size)
{
    transaction_field found = {.name = ""};
    uint32_t depth = 0;
    while (size > 0 && depth++ <= ORR_DEPTH_MAX) {
        if (type->kind != ORR_KIND_STRUCT) {
            found.type = offset == 0 && size == type->size ? type : NULL;
            return found;
        }
        const orr_field_info* field = transaction_field_at(type, offset);
        if (field == NULL) {
            return found;
        }
        found.name = field->name;
        found.indexed = (field->attributes.flags & ORR_FIELD_INDEXED) != 0;
        offset -= field->offset;
        if (field->count > 0 && offset == 0 && size == field->type->size * field->count) {
            found.type = field->type;
            found.count = field->count;
            return found;
        }
        offset %= field->type->size;
        if (offset == 0 && size == field->type->size) {
            found.type = field->type;
            return found;
        }
        type = field->type;
    }
    return found;
}

// True when the bytes overlap an indexed reference.
static bool transaction_overlaps_indexed(const orri_type* type, uint32_t offset, uint32_t size)
{
    for (uint32_t i = 0; i < type->indexed_count; i++) {
        uint32_t at = type->indexed[i].offset;
        if (at < offset + size && offset < at + (uint32_t)sizeof(orr_entity)) {
            return true;
        }
    }
    return false;
}

// True when ORR_OP_SET may overwrite the bytes: nothing owned, hooked, opaque or indexed in them.
static bool transaction_settable(const orri_type* type, const transaction_field* field,
                                 uint32_t offset, uint32_t size)
{
    orr_kind kind = field->type->kind;
    return !field->type->has_owned && !field->type->has_hooks && kind != ORR_KIND_STRING &&
           kind != ORR_KIND_ARRAY && kind != ORR_KIND_OPAQUE &&
           !transaction_overlaps_indexed(type, offset, size);
}

// ---- replacing entities -------------------------------------------------------------------------

// A function that replaces entities, and its first argument.
typedef struct transaction_map {
    orr_entity (*map)(void* user, orr_entity entity);
    void* user;
} transaction_map;

// Replaces entities in consecutive posts with the same verb. Arguments of functions are bytes
// without a type: they stay.
static void transaction_map_posts(const struct orri_posts* posts, const orri_stream* stream,
                                  const orri_verb* verb, uint32_t first, uint32_t end,
                                  transaction_map map)
{
    transaction_field field = {.name = ""};
    if (verb->function == NULL) {
        field = transaction_find(&stream->info->info, verb->offset, verb->size);
    }
    bool refers = field.type != NULL && field.type->has_entities;
    for (uint32_t i = first; i < end; i++) {
        orri_post* post = &stream->posts[i];
        post->entity = map.map(map.user, post->entity);
        if (refers && verb->in_bytes) {
            orri_values_entity_map(field.type, posts->bytes + post->number,
                                   field.count > 0 ? field.count : 1, map.map, map.user);
        } else if (refers) { // 8 bytes with an entity are nothing else.
            post->number = map.map(map.user, (orr_entity){post->number}).id;
        }
    }
}

void orri_posts_entity_map(const orr_command_buffer* commands,
                           orr_entity (*map)(void* user, orr_entity entity), void* user)
{
    struct orri_posts* posts = commands->command_buffers->shared->posted;
    while (posts != NULL && posts->provisional != commands) {
        posts = posts->next;
    }
    for (uint32_t i = 0; posts != NULL && i < posts->stream_count; i++) {
        const orri_stream* stream = &posts->streams[i];
        for (uint32_t r = 0; r < stream->run_count; r++) {
            uint32_t end = r + 1 < stream->run_count ? stream->runs[r + 1].first : stream->count;
            transaction_map_posts(posts, stream, &stream->verbs[stream->runs[r].verb],
                                  stream->runs[r].first, end, (transaction_map){map, user});
        }
    }
    if (posts != NULL) {
        posts->provisional = NULL;
    }
}

// ---- checks -------------------------------------------------------------------------------------

ORRI_COLD static orr_result transaction_refuse(const orr_command_buffer* commands,
                                               orr_result result, const char* call,
                                               const char* what)
{
    return orri_refuse(&commands->world->env, result, ORR_LOG_ID_SEND_REFUSED,
                       "%s: system '%s': %s", call, commands->rights->name, what);
}

static orr_result transaction_check_type(const orr_command_buffer* commands, const char* call,
                                         orr_type type, orr_component_id id, orr_entity entity)
{
    const orri_type* info = orri_type_at(&commands->world->schema, type);
    if (info == NULL) {
        return orri_refuse_type(commands->world, call, type);
    }
    if (!orri_right(commands->rights->transacts, commands->rights,
                    orri_type_index(commands->world, type))) {
        return orri_refuse_right(commands->world, commands->rights, call, "transacts", type,
                                 entity);
    }
    if (strncmp(info->info.name, "orr_", 4) == 0) {
        return transaction_refuse(commands, ORR_ERR_TYPE, call,
                                  "built-in types do not support transactions; send a change");
    }
    bool multiple = info->info.multiplicity == ORR_MULTIPLE;
    if (multiple ? id == 0 : id != 0) {
        return orri_refuse(&commands->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SEND_REFUSED,
                           "%s: system '%s': %s is %s, so its id %s", call, commands->rights->name,
                           info->info.name, multiple ? "a multiple type" : "a unique type",
                           multiple ? "must name an instance" : "must be 0");
    }
    return ORR_OK;
}

ORRI_COLD static orr_result transaction_refuse_field(const orr_command_buffer* commands,
                                                     const char* call, const orri_type* type,
                                                     const transaction_field* field,
                                                     uint32_t offset, uint32_t size,
                                                     const char* what)
{
    return orri_refuse(&commands->world->env, ORR_ERR_FIELD, ORR_LOG_ID_SEND_REFUSED,
                       "%s: system '%s': the %u bytes at %u of %s%s%s%s are %s", call,
                       commands->rights->name, size, offset, type->info.name,
                       field->name[0] != '\0' ? " (field " : "", field->name,
                       field->name[0] != '\0' ? ")" : "", what);
}

static orr_result transaction_check_field(const orr_command_buffer* commands, const char* call,
                                          const orri_type* type, orri_verb* verb)
{
    transaction_field field = transaction_find(&type->info, verb->offset, verb->size);
    const char* what = NULL;
    if ((uint32_t)verb->op > ORR_OP_MAX) {
        return transaction_refuse(commands, ORR_ERR_ARGUMENT, call,
                                  "an unknown operation; use an orr_op");
    }
    if (field.type == NULL) {
        what = "not a field; pass the offset and size of one";
    } else if (verb->op != ORR_OP_SET) {
        bool number = field.type->kind >= ORR_KIND_I8 && field.type->kind <= ORR_KIND_F64;
        what = !number || field.count > 0 ? "not a number; only ORR_OP_SET is allowed" : NULL;
    } else if (field.indexed || !transaction_settable(type, &field, verb->offset, verb->size)) {
        what = "an indexed reference, or owned, or opaque; send a change of the component";
    }
    if (what != NULL) {
        return transaction_refuse_field(commands, call, type, &field, verb->offset, verb->size,
                                        what);
    }
    verb->kind = field.type->kind;
    verb->in_bytes = verb->size > 8 || (verb->size & (verb->size - 1)) != 0;
    return ORR_OK;
}

// Checks the size of the argument against the registered one.
static orr_result transaction_check_size(const orr_command_buffer* commands, const char* call,
                                         const orri_verb* verb)
{
    const struct orri_messages* messages = commands->world->messages;
    const char* name = "";
    size_t size = verb->size;
    if (messages->declared == NULL ||
        !messages->declared(commands->world, verb->function, &name, &size) || size == verb->size) {
        return ORR_OK;
    }
    return orri_refuse(&commands->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SEND_REFUSED,
                       "%s: system '%s': the function '%s' is registered with %zu bytes of data, "
                       "but %u bytes were passed; pass the registered size",
                       call, commands->rights->name, name, size, verb->size);
}

static orr_result transaction_check_call(const orr_command_buffer* commands, const char* call,
                                         const orri_type* type, const orri_verb* verb)
{
    if (!type->plain) {
        return orri_refuse(
            &commands->world->env, ORR_ERR_TYPE, ORR_LOG_ID_SEND_REFUSED,
            "%s: system '%s': %s has owned strings, arrays, hooks or indexed fields, which a "
            "function could corrupt; use transactions on its number fields",
            call, commands->rights->name, type->info.name);
    }
    return transaction_check_size(commands, call, verb);
}

// ---- appending ----------------------------------------------------------------------------------

// True when two verbs do the same.
static bool transaction_same(const orri_verb* a, const orri_verb* b)
{
    return a->function == b->function && a->id == b->id && a->offset == b->offset &&
           a->size == b->size && a->op == b->op;
}

// Index of a verb among the stream's verbs; their number if it is new.
static uint32_t transaction_verb(const orri_stream* stream, const orri_verb* verb)
{
    for (uint32_t i = stream->verb_count, looks = 0; i-- > 0 && looks < TRANSACTION_LOOK; looks++) {
        if (transaction_same(&stream->verbs[i], verb)) {
            return i;
        }
    }
    return stream->verb_count;
}

static orri_stream* transaction_stream(struct orri_posts* posts, orr_type type)
{
    for (uint32_t i = 0; i < posts->stream_count; i++) {
        if (posts->streams[i].type.id == type.id) {
            return &posts->streams[i];
        }
    }
    return NULL;
}

static struct orri_posts* transaction_block(orr_command_buffer* commands)
{
    if (commands->posts == NULL && !commands->refuses_all) {
        commands->posts =
            ORRI_ALLOC_ZERO(&commands->world->env, ORR_MEMORY_MESSAGE, struct orri_posts, 1);
    }
    return commands->posts;
}

// The stream of a type, created if missing. NULL when memory is refused (not reported); then only
// room was added.
static orri_stream* transaction_obtain(orr_command_buffer* commands, orr_type type,
                                       const orri_type* info)
{
    struct orri_posts* posts = transaction_block(commands);
    orri_stream* stream = posts != NULL ? transaction_stream(posts, type) : NULL;
    if (stream != NULL || posts == NULL) {
        return stream;
    }
    if (posts->stream_count == posts->stream_made) {
        if (!ORRI_RESERVE(&commands->world->env, ORR_MEMORY_MESSAGE, &posts->streams,
                          &posts->stream_capacity, posts->stream_made + 1)) {
            return NULL;
        }
        posts->last.stream = NULL; // It may have moved.
        posts->streams[posts->stream_made++] = (orri_stream){0};
    }
    stream = &posts->streams[posts->stream_count++];
    stream->type = type;
    stream->info = info;
    return stream;
}

static bool transaction_reserve(orr_command_buffer* commands, orri_stream* stream, uint32_t verb,
                                uint32_t bytes)
{
    orri_env* env = &commands->world->env;
    struct orri_posts* posts = commands->posts;
    return stream->count < UINT32_MAX - 1 && bytes <= UINT32_MAX - posts->byte_count &&
           ORRI_RESERVE(env, ORR_MEMORY_MESSAGE, &stream->posts, &stream->capacity,
                        stream->count + 1) &&
           ORRI_RESERVE(env, ORR_MEMORY_MESSAGE, &stream->verbs, &stream->verb_capacity,
                        verb + 1) &&
           ORRI_RESERVE(env, ORR_MEMORY_MESSAGE, &stream->runs, &stream->run_capacity,
                        stream->run_count + 1) &&
           ORRI_RESERVE(env, ORR_MEMORY_MESSAGE, &posts->bytes, &posts->byte_capacity,
                        posts->byte_count + bytes);
}

// Copies bytes to the end of the block, which has room. Returns their offset.
static uint64_t transaction_keep(struct orri_posts* posts, const void* data, uint32_t size)
{
    uint32_t at = posts->byte_count;
    if (size > 0) {
        memcpy(posts->bytes + at, data, size);
    }
    posts->byte_count += (size + TRANSACTION_ALIGN - 1) & ~(TRANSACTION_ALIGN - 1);
    return at;
}

// Everything that may be refused comes before the first count changes.
static orr_result transaction_append(orr_command_buffer* commands, orr_entity target, orr_type type,
                                     const orri_type* info, const orri_verb* verb, const void* data)
{
    orri_stream* stream = transaction_obtain(commands, type, info);
    uint32_t number = stream != NULL ? transaction_verb(stream, verb) : 0;
    uint32_t bytes = !verb->in_bytes                               ? 0
                     : verb->size > UINT32_MAX - TRANSACTION_ALIGN ? UINT32_MAX
                                                                   : verb->size + TRANSACTION_ALIGN;
    if (stream == NULL || !transaction_reserve(commands, stream, number, bytes)) {
        return orri_command_buffer_refuse_memory(commands);
    }
    if (number == stream->verb_count) {
        stream->verbs[stream->verb_count++] = *verb;
        stream->verbs[number].rights = commands->rights;
        stream->calls |= verb->function != NULL;
    }
    if (stream->run_count == 0 || stream->verb != number) {
        stream->runs[stream->run_count++] = (orri_verb_run){stream->count, number};
        stream->verb = number;
    }
    stream->posts[stream->count++] =
        (orri_post){target, verb->in_bytes ? transaction_keep(commands->posts, data, verb->size)
                                           : orri_load_unsigned(data, verb->size)};
    struct orri_posts* posts = commands->posts;
    posts->last.stream = verb->in_bytes ? NULL : stream;
    posts->last.type = type;
    posts->last.id = verb->id;
    posts->last.offset = verb->offset;
    posts->last.size = verb->size;
    posts->last.op = verb->op;
    return ORR_OK;
}

// ---- calls --------------------------------------------------------------------------------------

// The open command buffer of a run. NULL: there is none (reported in `*result`).
static orr_command_buffer* transaction_buffer(const orr_run* run, const char* call,
                                              orr_result* result)
{
    if (ORR_LIKELY(run != NULL && run->commands != NULL && run->commands->open)) {
        return run->commands;
    }
    *result = orri_check_run(run, call);
    return NULL;
}

// The long path: checks a verb that is new in this run, then appends.
ORRI_NOINLINE static orr_result transaction_slow(orr_command_buffer* commands, const char* call,
                                                 orr_entity target, orr_type type, orri_verb* verb,
                                                 const void* data, bool calls)
{
    if (target.id == 0) {
        return transaction_refuse(
            commands, ORR_ERR_ARGUMENT, call,
            "the target is null: a reference that was never set, or a creation that was refused");
    }
    if (data == NULL && (!calls || verb->size > 0)) {
        return transaction_refuse(commands, ORR_ERR_ARGUMENT, call,
                                  calls ? "the argument is NULL" : "the number is NULL");
    }
    if (ORR_UNLIKELY(calls && orri_provisional_in_bytes(commands, data, verb->size))) {
        return transaction_refuse(
            commands, ORR_ERR_ENTITY, call,
            "the argument has the provisional id of a creation, which would name no entity; set "
            ".creates_max of the system to the number of entities it creates, so that their ids "
            "are final at once");
    }
    const orri_type* info = orri_type_at(&commands->world->schema, type);
    orri_stream* stream = commands->posts != NULL ? transaction_stream(commands->posts, type)
                                                  : NULL;
    uint32_t known = stream != NULL ? transaction_verb(stream, verb) : 0;
    if (stream != NULL && known < stream->verb_count) {
        verb->kind = stream->verbs[known].kind;
        verb->in_bytes = stream->verbs[known].in_bytes;
        return transaction_append(commands, target, type, info, verb, data);
    }
    orr_result result = transaction_check_type(commands, call, type, verb->id, target);
    if (result == ORR_OK) {
        result = calls ? transaction_check_call(commands, call, info, verb)
                       : transaction_check_field(commands, call, info, verb);
    }
    return result == ORR_OK ? transaction_append(commands, target, type, info, verb, data) : result;
}

ORRI_NOINLINE static orr_result transaction_field_slow(orr_run* run, orr_op op, orr_entity target,
                                                       orr_type type, orr_component_id id,
                                                       uint32_t offset, uint32_t size,
                                                       const void* number)
{
    orr_result result = ORR_OK;
    orr_command_buffer* commands = transaction_buffer(run, "orr_transact", &result);
    if (commands == NULL) {
        return result;
    }
    orri_verb verb = {.id = id, .offset = offset, .size = size, .op = op};
    return transaction_slow(commands, "orr_transact", target, type, &verb, number, false);
}

// The short path: what the last post of the run did, on another target.
orr_result orr_transact_field(orr_run* run, orr_op op, orr_entity target, orr_type type,
                              orr_component_id id, uint32_t offset, uint32_t size,
                              const void* number)
{
    bool open = run != NULL && run->commands != NULL && run->commands->open;
    struct orri_posts* posts = ORR_LIKELY(open) ? run->commands->posts : NULL;
    orri_stream* stream = ORR_LIKELY(posts != NULL) ? posts->last.stream : NULL;
    if (ORR_LIKELY(stream != NULL && posts->last.type.id == type.id && posts->last.op == op &&
                   posts->last.offset == offset && posts->last.size == size &&
                   posts->last.id == id && target.id != 0 && number != NULL &&
                   stream->count < stream->capacity)) {
        orri_post* post = &stream->posts[stream->count++];
        post->entity = target;
        post->number = ORR_LIKELY(size == 4) ? orri_load_unsigned(number, 4)
                                             : orri_load_unsigned(number, size);
        return ORR_OK;
    }
    return transaction_field_slow(run, op, target, type, id, offset, size, number);
}

orr_result orr_transact_call(orr_run* run, orr_entity target, orr_type type, orr_component_id id,
                             orr_transaction function, const void* argument, uint32_t size)
{
    const char* call = "orr_transact_call";
    orr_result result = ORR_OK;
    orr_command_buffer* commands = transaction_buffer(run, call, &result);
    if (commands == NULL) {
        return result;
    }
    if (function == NULL) {
        return transaction_refuse(commands, ORR_ERR_ARGUMENT, call, "the function is NULL");
    }
    orri_verb verb = {.function = function, .id = id, .size = size, .in_bytes = true};
    return transaction_slow(commands, call, target, type, &verb, argument, true);
}

#undef TRANSACTION_LOOK
#undef TRANSACTION_ALIGN
#undef TRANSACTION_KEPT_MIN
