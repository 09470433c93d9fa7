// SPDX-License-Identifier: MIT
// Posting transactions: each call appends a post to the stream of its type. Whether a system may, and whether there is such a field,
// is asked when a verb is used for the first time in a run; from then on a call costs little more than storing id and number.
#include "message/transact.h"
#include "store/pool.h"

#define TRANSACT_LOOK     16u   // Verbs looked at, from the last one back, before there is another.
#define TRANSACT_ALIGN    16u   // Of arguments.
#define TRANSACT_KEPT_MIN 1024u // Posts of a stream whose memory is not worth a look.

// ---- blocks -----------------------------------------------------------------------------------------------------

bool orri_posts_any(const struct orri_posts* posts)
{
    for (uint32_t i = 0; posts != NULL && i < posts->stream_count; i++) {
        if (posts->streams[i].count > 0) {
            return true;
        }
    }
    return false;
}

void orri_posts_open(struct orri_lanes* lanes, orr_lane* lane)
{
    struct orri_lanes_shared* shared = lanes->shared;
    if (lane->posts == NULL && shared->posts_free != NULL && !lane->mute) {
        lane->posts = shared->posts_free;
        shared->posts_free = lane->posts->next;
    }
}

static void transact_clear(struct orri_posts* posts)
{
    for (uint32_t i = 0; i < posts->stream_count; i++) {
        orri_stream* stream = &posts->streams[i];
        posts->peak = stream->count > posts->peak ? stream->count : posts->peak;
        stream->count = stream->verb_count = stream->run_count = 0;
        stream->calls = false;
    }
    posts->stream_count = posts->current = posts->byte_count = 0;
    posts->lanes = NULL;
    posts->ripe = false;
}

static void transact_free_up(struct orri_lanes_shared* shared, struct orri_posts* posts)
{
    transact_clear(posts);
    posts->next = shared->posts_free;
    shared->posts_free = posts;
}

void orri_posts_close(struct orri_lanes* lanes, orr_lane* lane)
{
    struct orri_lanes_shared* shared = lanes->shared;
    struct orri_posts* posts = lane->posts;
    lane->posts = NULL;
    if (!orri_posts_any(posts)) {
        transact_free_up(shared, posts);
        return;
    }
    for (uint32_t i = 0; i < posts->stream_count; i++) {
        lane->rights->counts.sent += posts->streams[i].count;
    }
    posts->rights = lane->rights;
    posts->lanes = lanes->holds ? lanes : NULL;
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

void orri_posts_ripen(struct orri_lanes* lanes)
{
    for (struct orri_posts* posts = lanes->shared->posted; posts != NULL; posts = posts->next) {
        posts->ripe |= posts->lanes == lanes;
    }
}

void orri_posts_leave(struct orri_lanes* lanes)
{
    for (struct orri_posts* posts = lanes->shared->posted; posts != NULL; posts = posts->next) {
        posts->lanes = posts->lanes == lanes ? NULL : posts->lanes;
    }
}

void orri_posts_done(struct orri_lanes* lanes, struct orri_posts* posts)
{
    struct orri_lanes_shared* shared = lanes->shared;
    struct orri_posts **link = &shared->posted, *before = NULL;
    while (*link != posts) {
        before = *link;
        link = &before->next;
    }
    *link = posts->next;
    shared->posted_last = shared->posted_last == posts ? before : shared->posted_last;
    shared->posts_used--;
    transact_free_up(shared, posts);
}

void orri_posts_abandon(struct orri_lanes* lanes)
{
    for (struct orri_posts *posts = lanes->shared->posted, *next; posts != NULL; posts = next) {
        next = posts->next;
        if (lanes->holds && posts->lanes != lanes) {
            continue; // Of another pipeline, which goes on.
        }
        for (uint32_t i = 0; i < posts->stream_count; i++) {
            for (uint32_t k = 0; k < posts->streams[i].count; k++) {
                posts->rights->counts.dropped += posts->streams[i].posts[k].entity.id != 0;
            }
        }
        orri_posts_done(lanes, posts);
    }
}

void orri_transact_forget(orr_world* world, const orri_rights* rights)
{
    struct orri_lanes* lanes = orri_lanes_at(world);
    uint64_t dropped = 0;
    for (struct orri_posts *posts = lanes != NULL ? lanes->shared->posted : NULL, *next;
         posts != NULL; posts = next) {
        next = posts->next;
        if (posts->rights == rights) {
            for (uint32_t i = 0; i < posts->stream_count; i++) {
                for (uint32_t k = 0; k < posts->streams[i].count; k++) {
                    dropped += posts->streams[i].posts[k].entity.id != 0;
                }
            }
            orri_posts_done(lanes, posts);
        }
    }
    if (dropped > 0 && world->in_tick) { // Not when the world ends.
        orri_log(&world->env, ORR_LOG_ID_MESSAGE_DROPPED,
                 "system '%s' is removed, and with it %llu transactions that wait for another "
                 "pipeline; let that tick first, or switch the system off instead",
                 rights->name, (unsigned long long)dropped);
    }
}

static uint64_t transact_hash_stream(const struct orri_posts* posts, const orri_stream* stream,
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
        hash = verb->far ? orr_hash(posts->bytes + post->number, verb->size, hash)
                         : orri_hash_word(hash, post->number);
    }
    return hash;
}

uint64_t orri_posts_hash(const struct orri_posts* posts, uint64_t hash)
{
    for (uint32_t i = 0; posts != NULL && i < posts->stream_count; i++) {
        hash = transact_hash_stream(posts, &posts->streams[i], hash);
    }
    return hash;
}

uint64_t orri_transact_hash(const orr_world* world, uint64_t hash)
{
    const struct orri_lanes* lanes = orri_lanes_at(world);
    for (const struct orri_posts* posts = lanes != NULL ? lanes->shared->posted : NULL;
         posts != NULL; posts = posts->next) {
        if (posts->rights->aside) {
            continue; // Of an observer.
        }
        hash = orr_hash(posts->rights->name, strlen(posts->rights->name), hash);
        hash = orri_posts_hash(posts, hash);
    }
    return hash;
}

static void transact_free_memory(orr_world* world, struct orri_posts* posts)
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
        transact_free_memory(world, posts);
        ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_posts, posts, 1);
        posts = next;
    }
}

static uint32_t transact_room(const struct orri_posts* posts)
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
    struct orri_lanes_shared* shared = orri_lanes_at(world)->shared;
    uint32_t kept = shared->posts_peak + 1;
    struct orri_posts** link = &shared->posts_free;
    for (; *link != NULL && kept > 0; kept--, link = &(*link)->next) {
        uint32_t room = transact_room(*link);
        if (room > TRANSACT_KEPT_MIN && (*link)->peak < room / 4) {
            transact_free_memory(world, *link);
        }
        (*link)->peak = 0;
    }
    orri_posts_free(world, *link);
    *link = NULL;
    shared->posts_peak = shared->posts_used;
    orri_scratch_trim(world, &shared->tally);
}

void orri_posts_term(orr_world* world, struct orri_lanes_shared* shared)
{
    orri_posts_free(world, shared->posted);
    orri_posts_free(world, shared->posts_free);
    orri_scratch_term(world, &shared->tally);
    shared->posted = shared->posted_last = shared->posts_free = NULL;
}

// ---- which field ------------------------------------------------------------------------------------------------

// What lies at some bytes of a value.
typedef struct transact_field {
    const orr_type_info* type;
    uint32_t count;   // Elements, of an array as a whole; 0: one.
    const char* name; // Of the innermost field there; "" if there is none.
    bool indexed;
} transact_field;

static const orr_field_info* transact_field_at(const orr_type_info* type, uint32_t offset)
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

// The field that takes up these bytes and no others; a null type if there is none.
static transact_field transact_find(const orr_type_info* type, uint32_t offset, uint32_t size)
{
    transact_field found = {.name = ""};
    uint32_t depth = 0;
    while (size > 0 && depth++ <= ORR_DEPTH_MAX) {
        if (type->kind != ORR_KIND_STRUCT) {
            found.type = offset == 0 && size == type->size ? type : NULL;
            return found;
        }
        const orr_field_info* field = transact_field_at(type, offset);
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

static bool transact_overlaps_indexed(const orri_type* type, uint32_t offset, uint32_t size)
{
    for (uint32_t i = 0; i < type->indexed_count; i++) {
        uint32_t at = type->indexed[i].offset;
        if (at < offset + size && offset < at + (uint32_t)sizeof(orr_entity)) {
            return true;
        }
    }
    return false;
}

// A struct may have anything in it; what it has, its type says.
static bool transact_settable(const orri_type* type, const transact_field* field, uint32_t offset,
                              uint32_t size)
{
    orr_kind kind = field->type->kind;
    return !field->type->has_owned && !field->type->has_hooks && kind != ORR_KIND_STRING &&
           kind != ORR_KIND_ARRAY && kind != ORR_KIND_OPAQUE &&
           !transact_overlaps_indexed(type, offset, size);
}

// ---- what is refused --------------------------------------------------------------------------------------------

ORRI_COLD static orr_result transact_refuse(const orr_lane* lane, orr_result result,
                                            const char* call, const char* what)
{
    return orri_refuse(&lane->world->env, result, ORR_LOG_ID_SEND_REFUSED, "%s: system '%s': %s",
                       call, lane->rights->name, what);
}

static orr_result transact_check_type(const orr_lane* lane, const char* call, orr_type type,
                                      orr_component_id id, orr_entity entity)
{
    const orri_type* info = orri_type_at(&lane->world->schema, type);
    if (info == NULL) {
        return orri_refuse_type(lane->world, call, type);
    }
    if (!orri_right(lane->rights->transacts, lane->rights, orri_type_index(lane->world, type))) {
        return orri_refuse_right(lane->world, lane->rights, call, "transacts", type, entity);
    }
    if (strncmp(info->info.name, "orr_", 4) == 0) {
        return transact_refuse(lane, ORR_ERR_TYPE, call,
                               "the library's own types are not transacted on; send a change");
    }
    bool multiple = info->info.multiplicity == ORR_MULTIPLE;
    if (multiple ? id == 0 || (id & ORRI_PROVISIONAL) != 0 : id != 0) {
        return orri_refuse(&lane->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SEND_REFUSED,
                           "%s: system '%s': %s is %s, so its id %s", call, lane->rights->name,
                           info->info.name, multiple ? "a multiple type" : "unique",
                           multiple ? "must be that of an instance that is there" : "is 0");
    }
    return ORR_OK;
}

ORRI_COLD static orr_result transact_refuse_field(const orr_lane* lane, const char* call,
                                                  const orri_type* type,
                                                  const transact_field* field, uint32_t offset,
                                                  uint32_t size, const char* what)
{
    return orri_refuse(&lane->world->env, ORR_ERR_FIELD, ORR_LOG_ID_SEND_REFUSED,
                       "%s: system '%s': the %u bytes at %u of %s%s%s%s are %s", call,
                       lane->rights->name, size, offset, type->info.name,
                       field->name[0] != '\0' ? " (field " : "", field->name,
                       field->name[0] != '\0' ? ")" : "", what);
}

static orr_result transact_check_field(const orr_lane* lane, const char* call,
                                       const orri_type* type, orri_verb* verb)
{
    transact_field field = transact_find(&type->info, verb->offset, verb->size);
    const char* what = NULL;
    if ((uint32_t)verb->op > ORR_OP_MAX) {
        return transact_refuse(lane, ORR_ERR_ARGUMENT, call, "there is no such op");
    }
    if (field.type == NULL) {
        what = "no field; give offset and size of one";
    } else if (verb->op != ORR_OP_SET) {
        bool number = field.type->kind >= ORR_KIND_I8 && field.type->kind <= ORR_KIND_F64;
        what = !number || field.count > 0 ? "not a number; only ORR_OP_SET is for it" : NULL;
    } else if (field.indexed || !transact_settable(type, &field, verb->offset, verb->size)) {
        what = "an indexed reference, or owned, or opaque; send a change of the component";
    }
    if (what != NULL) {
        return transact_refuse_field(lane, call, type, &field, verb->offset, verb->size, what);
    }
    verb->kind = field.type->kind;
    verb->far = verb->size > 8 || (verb->size & (verb->size - 1)) != 0;
    return ORR_OK;
}

static orr_result transact_check_call(const orr_lane* lane, const char* call, const orri_type* type)
{
    if (!type->plain) {
        return orri_refuse(&lane->world->env, ORR_ERR_TYPE, ORR_LOG_ID_SEND_REFUSED,
                           "%s: system '%s': %s has owned strings, arrays, hooks or indexed "
                           "fields, which a function could break; transact on its number fields",
                           call, lane->rights->name, type->info.name);
    }
    return ORR_OK;
}

// ---- appending --------------------------------------------------------------------------------------------------

static bool transact_same(const orri_verb* a, const orri_verb* b)
{
    return a->function == b->function && a->id == b->id && a->offset == b->offset &&
           a->size == b->size && a->op == b->op;
}

// Where it stands among the stream's verbs; their number if it must be another.
static uint32_t transact_verb(const orri_stream* stream, const orri_verb* verb)
{
    for (uint32_t i = stream->verb_count, looks = 0; i-- > 0 && looks < TRANSACT_LOOK; looks++) {
        if (transact_same(&stream->verbs[i], verb)) {
            return i;
        }
    }
    return stream->verb_count;
}

static orri_stream* transact_stream(struct orri_posts* posts, orr_type type)
{
    for (uint32_t i = 0; i < posts->stream_count; i++) {
        if (posts->streams[i].type.index1 == type.index1) {
            posts->current = i;
            return &posts->streams[i];
        }
    }
    return NULL;
}

static struct orri_posts* transact_block(orr_lane* lane)
{
    if (lane->posts == NULL && !lane->mute) {
        lane->posts = ORRI_ALLOC_ZERO(&lane->world->env, ORR_MEMORY_MESSAGE, struct orri_posts, 1);
    }
    return lane->posts;
}

// The stream of a type, made if missing. NULL when memory is refused (silent): without effect but room.
static orri_stream* transact_obtain(orr_lane* lane, orr_type type, const orri_type* info)
{
    struct orri_posts* posts = transact_block(lane);
    orri_stream* stream = posts != NULL ? transact_stream(posts, type) : NULL;
    if (stream != NULL || posts == NULL) {
        return stream;
    }
    if (posts->stream_count == posts->stream_made) {
        if (!ORRI_RESERVE(&lane->world->env, ORR_MEMORY_MESSAGE, &posts->streams,
                          &posts->stream_capacity, posts->stream_made + 1)) {
            return NULL;
        }
        posts->streams[posts->stream_made++] = (orri_stream){0};
    }
    posts->current = posts->stream_count;
    stream = &posts->streams[posts->stream_count++];
    stream->type = type;
    stream->info = info;
    return stream;
}

static bool transact_reserve(orr_lane* lane, orri_stream* stream, uint32_t verb, uint32_t bytes)
{
    orri_env* env = &lane->world->env;
    struct orri_posts* posts = lane->posts;
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

// Copies bytes behind those of the block, which has room. Where they are.
static uint64_t transact_keep(struct orri_posts* posts, const void* data, uint32_t size)
{
    uint32_t at = posts->byte_count;
    if (size > 0) {
        memcpy(posts->bytes + at, data, size);
    }
    posts->byte_count += (size + TRANSACT_ALIGN - 1) & ~(TRANSACT_ALIGN - 1);
    return at;
}

// Everything that may be refused comes before anything that counts.
static orr_result transact_append(orr_lane* lane, orr_entity target, orr_type type,
                                  const orri_type* info, const orri_verb* verb, const void* data)
{
    orri_stream* stream = transact_obtain(lane, type, info);
    uint32_t number = stream != NULL ? transact_verb(stream, verb) : 0;
    uint32_t bytes = !verb->far                                 ? 0
                     : verb->size > UINT32_MAX - TRANSACT_ALIGN ? UINT32_MAX
                                                                : verb->size + TRANSACT_ALIGN;
    if (stream == NULL || !transact_reserve(lane, stream, number, bytes)) {
        return orri_lane_refuse_memory(lane);
    }
    if (number == stream->verb_count) {
        stream->verbs[stream->verb_count++] = *verb;
        stream->verbs[number].rights = lane->rights;
        stream->calls |= verb->function != NULL;
    }
    if (stream->run_count == 0 || stream->verb != number) {
        stream->runs[stream->run_count++] = (orri_verb_run){stream->count, number};
        stream->verb = number;
    }
    stream->posts[stream->count++] =
        (orri_post){target, verb->far ? transact_keep(lane->posts, data, verb->size)
                                      : orri_load_unsigned(data, verb->size)};
    return ORR_OK;
}

// ---- the calls --------------------------------------------------------------------------------------------------

static orr_lane* transact_lane(const orr_run* run, const char* call, orr_result* result)
{
    if (ORR_LIKELY(run != NULL && run->lane != NULL && run->lane->open)) {
        return run->lane;
    }
    *result = orri_check_run(run, call);
    return NULL;
}

ORRI_ASIDE static orr_result transact_long(orr_lane* lane, const char* call, orr_entity target,
                                           orr_type type, orri_verb* verb, const void* data,
                                           bool calls)
{
    if (target.id == 0) {
        return transact_refuse(
            lane, ORR_ERR_ARGUMENT, call,
            "the target is null: a reference that was never set, or a creation that was refused");
    }
    if (data == NULL && (!calls || verb->size > 0)) {
        return transact_refuse(lane, ORR_ERR_ARGUMENT, call,
                               calls ? "the argument is NULL" : "the number is NULL");
    }
    const orri_type* info = orri_type_at(&lane->world->schema, type);
    orri_stream* stream = lane->posts != NULL ? transact_stream(lane->posts, type) : NULL;
    uint32_t known = stream != NULL ? transact_verb(stream, verb) : 0;
    if (stream != NULL && known < stream->verb_count) {
        verb->kind = stream->verbs[known].kind;
        verb->far = stream->verbs[known].far;
        return transact_append(lane, target, type, info, verb, data);
    }
    orr_result result = transact_check_type(lane, call, type, verb->id, target);
    if (result == ORR_OK) {
        result = calls ? transact_check_call(lane, call, info)
                       : transact_check_field(lane, call, info, verb);
    }
    return result == ORR_OK ? transact_append(lane, target, type, info, verb, data) : result;
}

orr_result orr_transact_field(orr_run* run, orr_op op, orr_entity target, orr_type type,
                              orr_component_id id, uint32_t offset, uint32_t size,
                              const void* number)
{
    const char* call = "orr_transact_field";
    orr_result result = ORR_OK;
    orr_lane* lane = transact_lane(run, call, &result);
    if (ORR_UNLIKELY(lane == NULL)) {
        return result;
    }
    struct orri_posts* posts = lane->posts;
    orri_stream* stream = posts != NULL && posts->stream_count > 0 ? &posts->streams[posts->current]
                                                                   : NULL;
    if (ORR_LIKELY(stream != NULL && stream->type.index1 == type.index1 && stream->count > 0 &&
                   stream->count < stream->capacity && target.id != 0 && number != NULL)) {
        const orri_verb* verb = &stream->verbs[stream->verb];
        if (ORR_LIKELY(verb->op == op && verb->offset == offset && verb->size == size &&
                       verb->id == id && !verb->far)) {
            stream->posts[stream->count++] = (orri_post){target, orri_load_unsigned(number, size)};
            return ORR_OK;
        }
    }
    orri_verb verb = {.id = id, .offset = offset, .size = size, .op = op};
    return transact_long(lane, call, target, type, &verb, number, false);
}

orr_result orr_transact_call(orr_run* run, orr_entity target, orr_type type, orr_component_id id,
                             orr_transaction function, const void* argument, uint32_t size)
{
    const char* call = "orr_transact_call";
    orr_result result = ORR_OK;
    orr_lane* lane = transact_lane(run, call, &result);
    if (lane == NULL) {
        return result;
    }
    if (function == NULL) {
        return transact_refuse(lane, ORR_ERR_ARGUMENT, call, "the function is NULL");
    }
    orri_verb verb = {.function = function, .id = id, .size = size, .far = true};
    return transact_long(lane, call, target, type, &verb, argument, true);
}

#undef TRANSACT_LOOK
#undef TRANSACT_ALIGN
#undef TRANSACT_KEPT_MIN
