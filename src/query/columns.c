// SPDX-License-Identifier: MIT
// Access to the current run of a loop: columns, pinned values, instances, entities. The public
// header has the common case inline. This file has the first use of each type and everything that
// is not a plain column.
#include "query/query.h"
#include "store/publish/publish.h"

// The current span; NULL and an error if there is none. `type` is the type that the caller wants,
// for the error text; null: none.
static const orr_hot_span* columns_span(const orr_iter* it, orr_type type)
{
    if (it->now == NULL && it->commands != NULL) {
        bool checked = orri_access_checked(it->world);
        bool indirect = checked && orri_access_of(it->world)->indirect;
        if (checked) {
            (*orri_access_of(it->world)->violations)++;
        }
        (void)orri_refuse(
            orri_env_of(it->world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
            "system '%s' asks its run for %s, but the system is %s and its run has no "
            "rows; %s",
            checked ? orri_access_of(it->world)->system : "?",
            type.id != 0 ? orri_type_label(it->world, type) : "rows",
            indirect ? "indirect" : "called once",
            indirect ? "read messages with orr_receive() or ORR_MESSAGES, or set its "
                       ".kind to ORR_DIRECT"
                     : "loop over its query: ORR_EACH (it, orr_run_query(run))");
        return NULL;
    }
    ORR_ASSERT(it->now != NULL && it->era == *it->era_now);
    return it->now != NULL && it->era == *it->era_now ? it->now : NULL;
}

// Reports a programming error in a loop. Outside of systems an assertion fails too.
ORRI_COLD static void columns_refuse(const orr_iter* it, const char* call, const char* type,
                                     const char* what)
{
    if (orri_access_checked(it->world)) {
        bool at = it->now != NULL && it->count > 0;
        orri_id_text id =
            orri_entity_format(it->world, at ? orr_iter_entity(it, 0) : (orr_entity){0});
        (*orri_access_of(it->world)->violations)++;
        (void)orri_refuse(orri_env_of(it->world), ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                          "%s: system '%s'%s%s: %s %s", call, orri_access_of(it->world)->system,
                          at ? ", at the rows from " : "", at ? id.text : "", type, what);
        return;
    }
    char text[128];
    (void)orr_query_print(it->query, text, sizeof text);
    (void)orri_refuse(orri_env_of(it->world), ORR_ERR_ARGUMENT, ORR_LOG_ID_QUERY_REFUSED,
                      "%s: query \"%s\": %s %s", call,
                      it->query->name != NULL ? it->query->name : text, type, what);
    ORR_ASSERT(false && "a loop uses a type that its query does not have; see the error before");
}

// Number of the field of a type; -1 if the query has none.
static int32_t columns_field(const orr_iter* it, orr_type type)
{
    for (uint32_t f = 0; f < it->field_count; f++) {
        if (it->query->fields[f].type.id == type.id) {
            return (int32_t)f;
        }
    }
    return -1;
}

// Number of the field of a type; -1, reported, if the query does not allow this access.
static int32_t columns_checked(const orr_iter* it, const char* call, orr_type type,
                               orr_access access, bool pinned)
{
    const orri_type* info = orri_type_at(&it->world->schema, type);
    const char* name = info != NULL ? info->info.name : "a type that is not registered";
    int32_t field = columns_field(it, type);
    if (field < 0) {
        columns_refuse(it, call, name, "is not a term of the query; add a term for it");
    } else if (access == ORR_WRITE && orri_type_written_by_set(info)) {
        columns_refuse(it, call, name, orri_in_place_hint(info, orri_access_checked(it->world)));
    } else if (access == ORR_WRITE && it->query->fields[field].access != ORR_WRITE) {
        columns_refuse(it, call, name, "is a read term; make it a write term (\"write …\")");
    } else if (pinned && !it->query->fields[field].pinned) {
        columns_refuse(it, call, name, "is not pinned; use orr_read() or orr_write()");
    } else if (!pinned && it->query->fields[field].pinned) {
        columns_refuse(it, call, name,
                       "is pinned and has no column; use orr_read_pinned() or "
                       "orr_write_pinned()");
    } else {
        return field;
    }
    return -1;
}

static size_t columns_stride(const orr_hot_span* span, uint32_t column)
{
    return ((const orri_chunk*)span->chunk)->cluster->columns[column].size;
}

static const void* columns_read(const orr_iter* it, uint32_t field)
{
    const orr_hot_span* span = it->now;
    uint16_t column = span->map[field];
    return column != ORRI_COLUMN_NONE
               ? span->columns[column].data + span->slot * columns_stride(span, column)
               : NULL;
}

void* orr_iter_stamp(orr_iter* it, uint32_t field)
{
    const orr_hot_span* span = it->now;
    uint16_t column = span->map[field];
    orri_chunk* chunk = span->chunk;
    orri_column* entry = &chunk->columns[column];
    if (ORR_LIKELY(entry->share == NULL)) {
        orri_written_note(it->world, it->clock[1]);
        entry->version = it->clock[1];
        entry->tick = it->clock[0];
        // Threads that write other chunks of the cluster store the same epoch at the same time.
        __atomic_store_n(&chunk->cluster->columns[column].version, it->clock[1], __ATOMIC_RELAXED);
    } else if (orri_column_write(it->world, chunk, column) == NULL) {
        return NULL;
    }
    return entry->data + span->slot * columns_stride(span, column);
}

static void* columns_write(orr_iter* it, uint32_t field)
{
    return it->now->map[field] != ORRI_COLUMN_NONE ? orr_iter_stamp(it, field) : NULL;
}

// ---- by type ------------------------------------------------------------------------------------

const void* orr_iter_read_type(orr_iter* it, orr_type type)
{
    ORR_ASSERT(it != NULL);
    int32_t field = columns_span(it, type) != NULL
                        ? columns_checked(it, "orr_read", type, ORR_READ, false)
                        : -1;
    return field >= 0 ? columns_read(it, (uint32_t)field) : NULL;
}

void* orr_iter_write_type(orr_iter* it, orr_type type)
{
    ORR_ASSERT(it != NULL);
    int32_t field = columns_span(it, type) != NULL
                        ? columns_checked(it, "orr_write", type, ORR_WRITE, false)
                        : -1;
    return field >= 0 ? columns_write(it, (uint32_t)field) : NULL;
}

// True if a desc has the same layout as a registered type.
static bool columns_agrees(const orr_type_desc* desc, const orr_type_info* info, uint32_t depth)
{
    bool same = desc->kind == info->kind && (desc->size == 0 || desc->size == info->size) &&
                desc->field_count == info->field_count && depth < ORR_DEPTH_MAX;
    for (uint32_t i = 0; same && i < desc->field_count; i++) {
        const orr_field_desc* field = &desc->fields[i];
        const orr_field_info* known = &info->fields[i];
        same = strcmp(field->name, known->name) == 0 && field->count == known->count &&
               (desc->size == 0 || field->offset == known->offset) &&
               columns_agrees(field->type, known->type, depth + 1);
    }
    return same;
}

// The type of a desc. Does not register it, because a loop may run on any thread. Null, reported,
// if the world has no such type.
static orr_type columns_type(const orr_iter* it, const char* call, const orr_type_desc* desc)
{
    orr_type type = orri_type_find(&it->world->schema, desc->name);
    const orri_type* info = orri_type_at(&it->world->schema, type);
    bool same = info != NULL && columns_agrees(desc, &info->info, 0);
    if (!same) {
        columns_refuse(it, call, desc->name,
                       info != NULL
                           ? "is registered with another layout in this world"
                           : "is not registered in this world; add a term for it to the query");
    }
    return same ? type : (orr_type){0};
}

// Stores the desc with which a plain column was asked for, so that the inline functions find it
// next time.
static void columns_remember(orr_iter* it, orr_access access, orr_type type,
                             const orr_type_desc* desc)
{
    int32_t field = columns_field(it, type);
    if (field >= 0 && !it->query->fields[field].multiple && !it->query->fields[field].pinned &&
        access <= it->query->fields[field].access) {
        __atomic_store_n(&it->fields[field].asked[access], desc, __ATOMIC_RELAXED);
    }
}

const void* orr_iter_read_first(orr_iter* it, const orr_type_desc* desc)
{
    ORR_ASSERT(it != NULL && desc != NULL);
    orr_type type = columns_type(it, "orr_read", desc);
    columns_remember(it, ORR_READ, type, desc);
    return type.id != 0 ? orr_iter_read_type(it, type) : NULL;
}

void* orr_iter_write_first(orr_iter* it, const orr_type_desc* desc)
{
    ORR_ASSERT(it != NULL && desc != NULL);
    orr_type type = columns_type(it, "orr_write", desc);
    columns_remember(it, ORR_WRITE, type, desc);
    return type.id != 0 ? orr_iter_write_type(it, type) : NULL;
}

// ---- entities -----------------------------------------------------------------------------------

// Entity index of a row of a span.
static uint32_t columns_index(const orr_hot_span* span, uint32_t i)
{
    return orri_chunk_ids(span->chunk)[span->slot + i];
}

_Static_assert(offsetof(orr_hot_chunk, ids) == offsetof(orri_chunk, ids) &&
                   offsetof(orr_hot_chunk, cluster) == offsetof(orri_chunk, cluster),
               "orr_hot_chunk must have the layout of orri_chunk");

orr_entity orr_iter_entity_none(const orr_iter* it, uint32_t i)
{
    ORR_ASSERT(it != NULL);
    (void)columns_span(it, (orr_type){0});
    ORR_ASSERT((it->count == 0 || i < it->count) &&
               "the row is not one of the run's it->count rows");
    (void)i;
    return (orr_entity){0};
}

void orr_iter_entities(const orr_iter* it, orr_entity* out)
{
    ORR_ASSERT(it != NULL && out != NULL);
    for (uint32_t i = 0; i < it->count; i++) {
        out[i] = orr_iter_entity(it, i);
    }
}

orr_cluster orr_iter_cluster(const orr_iter* it, uint32_t* out_row)
{
    ORR_ASSERT(it != NULL);
    const orr_hot_span* span = columns_span(it, (orr_type){0});
    if (span == NULL) {
        return (orr_cluster){0};
    }
    const orri_chunk* chunk = span->chunk;
    if (out_row != NULL) {
        *out_row = chunk->number * ORR_CHUNK_CAPACITY + span->slot;
    }
    return orri_cluster_handle(chunk->cluster);
}

uint64_t orr_iter_group(const orr_iter* it)
{
    ORR_ASSERT(it != NULL);
    const orr_hot_span* span = columns_span(it, (orr_type){0});
    if (span == NULL || it->query->groups == NULL) {
        return 0;
    }
    uint32_t entry = (uint32_t)((size_t)(span->map - it->query->maps) / it->query->map_stride);
    return it->query->groups[entry];
}

// ---- pinned and multiple ------------------------------------------------------------------------

void* orr_iter_pinned_at(orr_iter* it, uint32_t field, orr_access access, uint32_t i)
{
    ORR_ASSERT(it != NULL && i < it->count && field < it->field_count);
    orri_field* asked = &it->query->fields[field];
    const orr_hot_span* span = columns_span(it, asked->type);
    if (span == NULL || i >= it->count ||
        (access == ORR_WRITE &&
         columns_checked(it, "orr_write_pinned", asked->type, access, true) < 0)) {
        return NULL;
    }
    orri_pool* pool = orri_pool_find(it->world, asked->type);
    uint32_t index = columns_index(span, i);
    if (access == ORR_READ || pool == NULL) {
        return (void*)(uintptr_t)orri_pinned_here(it->world, asked->type, index);
    }
    return orri_pool_write(it->world, pool, index);
}

void* orr_iter_pinned_first(orr_iter* it, const orr_type_desc* desc, orr_access access, uint32_t i)
{
    ORR_ASSERT(it != NULL && desc != NULL);
    const char* call = access == ORR_WRITE ? "orr_write_pinned" : "orr_read_pinned";
    orr_type type = columns_type(it, call, desc);
    int32_t field = type.id != 0 ? columns_checked(it, call, type, access, true) : -1;
    if (field < 0) {
        return NULL;
    }
    __atomic_store_n(&it->fields[field].asked[2], desc, __ATOMIC_RELAXED);
    return orr_iter_pinned(it, desc, access, i);
}

orr_instances orr_iter_instances(orr_iter* it, const orr_type_desc* desc)
{
    ORR_ASSERT(it != NULL && desc != NULL);
    orr_type type = columns_type(it, "orr_instances_of", desc);
    const orr_hot_span* span = type.id != 0 ? columns_span(it, type) : NULL;
    int32_t field = span != NULL ? columns_checked(it, "orr_instances_of", type, ORR_READ, false)
                                 : -1;
    if (field < 0 || span->map[field] == ORRI_COLUMN_NONE) {
        return (orr_instances){0};
    }
    orri_chunk* chunk = span->chunk;
    uint32_t column = span->map[field], counts = chunk->cluster->columns[column].counts;
    orr_instances instances = {
        .enabled = (const uint64_t*)(void*)orri_chunk_bits(chunk, column)->data,
        .capacity = chunk->cluster->capacities[column]};
    if (counts != 0) {
        instances.counts = (const uint16_t*)(void*)chunk->columns[counts].data + span->slot;
        instances.ids = (const uint32_t*)(void*)chunk->columns[counts + 1].data +
                        (size_t)span->slot * instances.capacity;
    }
    return instances;
}

bool orr_iter_instance_on(const orr_iter* it, const orr_instances* instances, uint32_t i,
                          uint32_t instance)
{
    ORR_ASSERT(it != NULL && instances != NULL && instance < instances->capacity);
    const orr_hot_span* span = columns_span(it, (orr_type){0});
    return instances->enabled == NULL || span == NULL ||
           orri_bit_get(instances->enabled, (span->slot + i) * instances->capacity + instance);
}
