// SPDX-License-Identifier: MIT
// Creates and destroys worlds; their tick, statistics, log, types, owned strings and arrays.
#include "store/api/bundle.h"
#include "store/cow/row_log.h"
#include "store/pool/pool.h"
#include "store/relation/entity_name.h"
#include "store/table/transient.h"
#include "store/world/access.h"
#include "store/world/commit_scope.h"

// Error handlers that may be nested; refusals within the last one go to the log.
#define WORLD_HANDLERS 4

// Receives all refusals of the world: calls the error handler, or logs.
static void world_refused(void* owner, orr_result result, orr_log_id id, const char* text)
{
    orr_world* world = owner;
    if (world->errors.note != NULL && world->errors.in_handler == 0) {
        world->errors.note(world, result, id, text);
    }
    // A handler may read the world but not change it, because a commit may be in progress. The
    // limit stops a handler that causes errors itself from recursing forever.
    if (world->errors.handler != NULL && world->errors.in_handler < WORLD_HANDLERS) {
        orr_error error = {result, id, text};
        world->errors.in_handler++;
        world->errors.handler(world->errors.user, world, &error);
        world->errors.in_handler--;
    } else {
        orri_log(&world->env, id, "%s", text);
    }
}

// ---- creating and destroying --------------------------------------------------------------------

// A limit of the desc; 0 means the largest allowed value.
static uint32_t world_limit(uint32_t wanted, uint32_t most)
{
    return wanted == 0 ? most : wanted;
}

static orr_result world_check_desc(orri_env* env, const orr_world_desc* desc)
{
    const char* wrong = NULL;
    if ((desc->allocator.alloc == NULL) != (desc->allocator.free == NULL)) {
        wrong = "allocator needs both alloc and free, or none";
    } else if (desc->entities_max > ORR_ENTITIES_MAX) {
        wrong = "entities_max is above ORR_ENTITIES_MAX";
    } else if (desc->clusters_max > ORR_CLUSTERS_MAX) {
        wrong = "clusters_max is above ORR_CLUSTERS_MAX";
    } else if (desc->types_max > ORR_TYPES_MAX) {
        wrong = "types_max is above ORR_TYPES_MAX";
    } else if (desc->tags_max > ORR_TAGS_MAX) {
        wrong = "tags_max is above ORR_TAGS_MAX";
    } else if (!(desc->rate_hz >= 0 && desc->rate_hz <= 1e6)) {
        wrong = "rate_hz is negative, above 1,000,000 or not a number";
    } else if (desc->id_salt > ORR_SALT_MAX) {
        wrong = "id_salt is above ORR_SALT_MAX";
    }
    return wrong == NULL ? ORR_OK
                         : orri_refuse(env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                                       "orr_world_create: %s", wrong);
}

// Type numbers of different worlds differ, so that a world notices types of another one. The
// numbers are not part of state or hash.
static uint32_t world_type_base(void)
{
    static _Atomic uint32_t worlds;
    return (atomic_fetch_add(&worlds, 1) & 0xFFFFu) << 16 | 1;
}

static void world_init(orr_world* world, const orr_world_desc* desc)
{
    orri_schema_init(&world->schema, &world->env, world_limit(desc->types_max, ORR_TYPES_MAX));
    static const orr_hot_static none; // A table with one free entry.
    world->hot.statics = (orr_hot_statics){&none, 1, 0};
    world->schema.shown = &world->hot.statics;
    world->hot.type_base = world->schema.type_base = world_type_base();
    world->schema.clock = &world->tick;
    world->schema.own = orri_builtin_desc;
    world->epoch = 1;
    world->context = &world->own_context;
    world->cow.row_log_shift = ORRI_ROW_LOG_SHIFT;
    world->cow.row_log_least = ORRI_ROW_LOG_LEAST;
    world->loops.era = 1;
    world->seed = desc->seed;
    world->settings.rate_hz = desc->rate_hz;
    world->settings.atomic_sections = desc->atomic_sections;
    world->settings.workers = desc->workers;
    world->settings.pool = desc->pool;
    world->settings.stuck_ns = desc->stuck_ns;
    world->salt = desc->id_salt << ORRI_GENERATION_BITS;
    world->limits.entities = world_limit(desc->entities_max, ORR_ENTITIES_MAX);
    world->limits.clusters = world_limit(desc->clusters_max, ORR_CLUSTERS_MAX);
    world->limits.tags = world_limit(desc->tags_max, ORR_TAGS_MAX);
    world->chunks.count = 1; // Chunk id 0 is never used.
    orri_index_init(world);
    for (uint32_t level = 0; level < ORRI_LEVELS; level++) {
        orri_source_init(&world->chunks.row_small[level], orri_block_bytes(sizeof(uint32_t), level),
                         0);
    }
    orri_source_init(&world->chunks.bits, ORRI_BITS_BYTES, 0);
    world->errors.handler = desc->on_error;
    world->errors.user = desc->on_error_user;
    world->env.on_refusal = world_refused;
    world->env.on_refusal_owner = world;
}

orr_world* orr_world_create(const orr_world_desc* desc)
{
    static const orr_world_desc defaults = {0};
    const orr_world_desc* wanted = desc != NULL ? desc : &defaults;
    // The env in the world counts the world's own bytes, so it starts as a local copy.
    orri_env env;
    static const orr_allocator none = {0};
    bool half = (wanted->allocator.alloc == NULL) != (wanted->allocator.free == NULL);
    orri_env_init(&env, wanted->platform, half ? &none : &wanted->allocator,
                  wanted->memory_bytes_max, &wanted->log);
    if (world_check_desc(&env, wanted) != ORR_OK) {
        return NULL;
    }
    orr_world* world = ORRI_ALLOC_ZERO(&env, ORR_MEMORY_WORLD, orr_world, 1);
    if (world == NULL) {
        (void)orri_refuse_memory(&env, "creating a world");
        return NULL;
    }
    memcpy(&world->env, &env, sizeof env);
    world_init(world, wanted);
    return world;
}

// Refuses to destroy a world from a system, a tick, a posted call or an error handler: their callers
// use the world afterwards.
static orr_result world_destroy_check(orr_world* world)
{
    if (world->running.in_system) {
        return orri_refuse_running(world, "orr_world_destroy");
    }
    const char* why =
        world->errors.in_handler != 0 ? "not allowed in an error handler"
        : world->running.in_tick
            ? "a tick is under way; call it between ticks, in real time after orr_stop() and when "
              "orr_realtime() has returned"
        : world->running.in_callback
            ? "not allowed in a posted call, in on_tick of a replay, or in the function passed to "
              "orr_run_until(); destroy the world when the call that runs ticks has returned"
            : NULL;
    return why == NULL ? ORR_OK
                       : orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                                     "orr_world_destroy: %s", why);
}

void orr_world_destroy(orr_world* world)
{
    if (world == NULL) {
        return;
    }
    if (world_destroy_check(world) != ORR_OK) {
        return;
    }
    for (uint32_t i = ORRI_EXTENSION_COUNT; i-- > 0;) {
        if (world->extensions[i].gone != NULL) {
            world->extensions[i].gone(world);
        }
    }
    ORR_ASSERT(world->cow.live == 0);
    world->loops.iterating = 0;
    if (world->listener.world_gone != NULL) {
        world->listener.world_gone(world);
        world->listener = (orri_listener){0};
    }
    for (orri_cluster* cluster = world->clusters.first; cluster != NULL; cluster = cluster->next) {
        (void)orri_cluster_kill_rows(world, cluster);
    }
    orri_transient_term(world);
    orri_pools_term(world);
    orri_names_term(world);
    orri_clusters_term(world);
    ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, orri_transition*, world->transitions.pairs,
              world->transitions.bucket_count);
    ORRI_FREE(&world->env, ORR_MEMORY_CLUSTER, orri_transition*, world->transitions.edges,
              world->transitions.bucket_count);
    for (uint32_t level = 0; level < ORRI_LEVELS; level++) {
        orri_source_term(&world->chunks.row_small[level], &world->env);
    }
    orri_source_term(&world->chunks.bits, &world->env);
    orri_index_term(world);
    orri_retired_free(world);
    ORRI_RELEASE(&world->env, ORR_MEMORY_WORLD, world->chunks.list, world->chunks.capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_WORLD, world->chunks.free, world->chunks.free_capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_WORLD, orr_entity, world->append.entities,
              world->append.entities != NULL ? ORR_CHUNK_CAPACITY : 0);
    orri_tags_term(world);
    orri_bundles_term(world);
    orri_schema_term(&world->schema);
    orri_env env;
    memcpy(&env, &world->env, sizeof env);
    ORRI_FREE(&env, ORR_MEMORY_WORLD, orr_world, world, 1);
    orri_log_flush(&env);
    if (env.total.blocks != 0) {
        orri_log(&env, ORR_LOG_ID_LEAK, "orr_world_destroy: %llu memory blocks were not freed",
                 (unsigned long long)env.total.blocks);
    }
}

// ---- the tick -----------------------------------------------------------------------------------

uint64_t orr_world_tick(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    return orri_tick_now(world); // In real time, within a system: the tick when its group began.
}

uint64_t orr_world_seed(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    return world->seed;
}

void orr_tick_advance(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    if (ORR_UNLIKELY(orri_access_checked(world))) {
        (void)orri_refuse_running(world, "orr_tick_advance");
        return;
    }
    const char* busy = world->context->busy;
    if (ORR_UNLIKELY(orri_in_error_handler(world))) { // The refused call may be half done.
        busy = "not allowed in an error handler; call it after the handler has returned";
    }
    if (ORR_UNLIKELY(busy != NULL)) {
        (void)orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                          "orr_tick_advance: %s", busy);
        return;
    }
    // Without systems, changes follow this call: so the last tick ends here and the next one
    // begins.
    if (world->tick_hooks.ended != NULL) {
        world->tick_hooks.ended(world);
    }
    if (world->tick_hooks.begins != NULL) {
        world->tick_hooks.begins(world);
    }
    orri_tick_advance(world);
}

void orri_tick_advance(orr_world* world)
{
    ORR_VALIDATE(world->append.open != NULL || world->realtime ||
                 orr_world_validate(world) == ORR_OK);
    orri_tick_advance_uncounted(world);
    world->tick++;
    if (ORR_LIKELY(!world->realtime)) { // In real time blobs are collected when no system runs.
        orri_blobs_collect(&world->schema);
    }
}

void orri_tick_advance_uncounted(orr_world* world)
{
    orri_epoch_end(world);
    if (ORR_UNLIKELY(world->realtime)) {
        return; // Loops of other pipelines continue.
    }
    // Ends loops that were left early; their iterators notice it by the era.
    if (world->loops.iterating != 0) {
        world->loops.iterating = 0;
    }
    world->loops.era++;
}

// ---- statistics and log -------------------------------------------------------------------------

void orr_world_stats_get(const orr_world* world, orr_world_stats* out)
{
    ORR_ASSERT(world != NULL);
    ORR_ASSERT(out != NULL);
    orr_memory_stats memory;
    orri_mem_stats(&world->env, &memory);
    *out = (orr_world_stats){.entities = world->index.live_count,
                             .clusters = world->clusters.count,
                             .chunks = orri_chunks_live(world),
                             .types = world->schema.type_count,
                             .tags = world->tags.count,
                             .blobs = world->schema.blob_live,
                             .bytes = memory.total.bytes};
}

void orr_world_memory_limit(orr_world* world, uint64_t bytes_max)
{
    ORR_ASSERT(world != NULL);
    if (orri_access_checked(world)) {
        (void)orri_refuse_running(world, "orr_world_memory_limit");
        return;
    }
    world->env.bytes_max = bytes_max;
}

void orr_world_memory_get(const orr_world* world, orr_memory_stats* out)
{
    ORR_ASSERT(world != NULL);
    orri_mem_stats(&world->env, out);
}

const char* orr_error_last(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    return world->env.error_text;
}

void orr_log_level_set(orr_world* world, orr_log_category category, orr_log_level level)
{
    ORR_ASSERT(world != NULL);
    ORR_ASSERT(category < ORR_LOG_CATEGORY_COUNT);
    if (category < ORR_LOG_CATEGORY_COUNT) {
        world->env.levels[category] = level == ORR_LOG_DEFAULT ? ORR_LOG_INFO : level;
    }
}

void orr_log(orr_world* world, orr_log_level level, const char* format, ...)
{
    ORR_ASSERT(world != NULL);
    va_list args;
    va_start(args, format);
    orri_log_v(&world->env, ORR_LOG_ID_USER_LINE, level, format, args);
    va_end(args);
}

// ---- types --------------------------------------------------------------------------------------

orr_result orr_type_register(orr_world* world, const orr_type_desc* desc, orr_type* out)
{
    ORR_ASSERT(world != NULL);
    if (ORR_UNLIKELY(orri_access_checked(world))) {
        return orri_refuse_running(world, "orr_type_register");
    }
    if (desc == NULL || out == NULL) {
        return orri_refuse_argument(world, "orr_type_register", "desc or out is NULL");
    }
    return orri_type_register(&world->schema, desc, out);
}

orr_type orr_type_of_far(orr_world* world, const orr_type_desc* static_desc)
{
    ORR_ASSERT(world != NULL);
    if (ORR_UNLIKELY(static_desc == NULL)) {
        (void)orri_refuse_argument(world, "orr_type_of", "the desc is NULL");
        return (orr_type){0};
    }
    orr_type known = orri_type_static_find(&world->schema, static_desc);
    if (ORR_LIKELY(known.id != 0)) {
        return known;
    }
    if (ORR_UNLIKELY(orri_access_checked(world)) &&
        orri_type_find(&world->schema, static_desc->name).id == 0) {
        if (orri_access_foreign_thread(world, "orr_type_of")) {
            return (orr_type){0};
        }
        (*orri_access_of(world)->violations)++;
        (void)orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                          "orr_type_of: system '%s' is the first to use %s, which is not "
                          "registered; name it in the "
                          "system's desc, or ORR_REGISTER() it before the first tick",
                          orri_access_of(world)->system, static_desc->name);
        return (orr_type){0};
    }
    return orri_type_static(&world->schema, static_desc);
}

void* orr_type_preset(const orr_world* world, orr_type type, void* out)
{
    ORR_ASSERT(world != NULL && out != NULL);
    const orri_type* found = orri_type_at(&world->schema, type);
    if (found == NULL) {
        (void)orri_refuse_type(world, "orr_type_preset", type);
    } else {
        orr_value_default(&found->info, out);
    }
    return out;
}

orr_type orr_type_find(const orr_world* world, const char* name)
{
    ORR_ASSERT(world != NULL);
    return name != NULL ? orri_type_find(&world->schema, name) : (orr_type){0};
}

const orr_type_info* orr_type_info_get(const orr_world* world, orr_type type)
{
    ORR_ASSERT(world != NULL);
    const orri_type* found = orri_type_at(&world->schema, type);
    return found != NULL ? &found->info : NULL;
}

// ---- owned strings and arrays -------------------------------------------------------------------

orr_string orr_string_make(orr_world* world, const char* text)
{
    ORR_ASSERT(world != NULL);
    orr_string out = {0};
    if (!orri_access_owns(world, "orr_string_make")) {
        return out;
    }
    if (text == NULL) {
        (void)orri_refuse_argument(world, "orr_string_make", "the text is NULL");
        return out;
    }
    size_t size = strlen(text);
    if (size > ORR_BLOB_SIZE_MAX) {
        (void)orri_refuse(
            &world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_VALUE_REFUSED,
            "orr_string_make: the text has %zu bytes; at most %u are allowed, divide it", size,
            ORR_BLOB_SIZE_MAX);
    } else if (size > 0) {
        (void)orri_blob_make(&world->schema, text, (uint32_t)size, 1, &out);
    }
    return out;
}

const char* orr_string_text(const orr_world* world, orr_string string)
{
    ORR_ASSERT(world != NULL);
    const orri_blob* blob = orri_blob_at(&world->schema, string);
    return blob != NULL ? blob->data : "";
}

// True for a null handle or an existing string or array. A stale handle is refused, because its
// number may be reused.
static bool world_handle_usable(orr_world* world, const char* call, orr_string handle)
{
    if (handle.id == 0 || orri_blob_at(&world->schema, handle) != NULL) {
        return true;
    }
    (void)orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_VALUE_REFUSED,
                      "%s: the string or array was freed, or is of another world; store it in the "
                      "tick in which it was made",
                      call);
    return false;
}

void orr_string_assign(orr_world* world, orr_string* field, orr_string value)
{
    ORR_ASSERT(world != NULL && field != NULL);
    if (world_handle_usable(world, "orr_string_assign", value)) {
        orri_blob_retain(&world->schema, value);
        orri_blob_release(&world->schema, *field);
        *field = value;
    }
}

orr_array orr_array_make(orr_world* world, const void* values, uint32_t count,
                         uint32_t element_size)
{
    ORR_ASSERT(world != NULL);
    orr_string out = {0};
    if (!orri_access_owns(world, "orr_array_make")) {
        return (orr_array){0};
    }
    if (count > 0 && (values == NULL || element_size == 0)) {
        (void)orri_refuse_argument(world, "orr_array_make",
                                   "values is NULL or element_size is 0; pass both");
    } else if ((uint64_t)count * element_size > ORR_BLOB_SIZE_MAX) {
        (void)orri_refuse(
            &world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_VALUE_REFUSED,
            "orr_array_make: %u values of %u bytes; at most %u bytes in all are allowed, divide it",
            count, element_size, ORR_BLOB_SIZE_MAX);
    } else if (count > 0) {
        (void)orri_blob_make(&world->schema, values, count * element_size, element_size, &out);
    }
    return (orr_array){out.id, out.generation};
}

const void* orr_array_values(const orr_world* world, orr_array array, uint32_t* count)
{
    ORR_ASSERT(world != NULL);
    const orri_blob* blob = orri_blob_at(&world->schema, (orr_string){array.id, array.generation});
    if (count != NULL) {
        *count = blob != NULL ? blob->size / blob->element_size : 0;
    }
    return blob != NULL ? blob->data : NULL;
}

void orr_array_assign(orr_world* world, orr_array* field, orr_array value)
{
    ORR_ASSERT(world != NULL && field != NULL);
    orr_string handle = {value.id, value.generation};
    if (world_handle_usable(world, "orr_array_assign", handle)) {
        orri_blob_retain(&world->schema, handle);
        orri_blob_release(&world->schema, (orr_string){field->id, field->generation});
        *field = value;
    }
}

#undef WORLD_HANDLERS
