// SPDX-License-Identifier: MIT
// orr_send_create_many(): ids and columns of values are each copied at once into bulk arrays. The
// arrays stay aligned, so that the commit takes them as one group. All or nothing.
#include "message/send/command_buffer.h"
#include "store/pool/pool.h"

// One call. Its arrays are consecutive in the buffer's `order`: the creations, then one for each
// column.
typedef struct send_many {
    orr_command_buffer* commands;
    const orri_cluster* cluster;
    uint32_t count;
    const orr_column_data* data;
    uint32_t data_count;
    uint32_t order_index; // Index of the creations in the buffer's `order`.
    uint32_t array_count;
} send_many;

// Array `i` of the call; 0 are the creations.
static orri_command_array* send_many_array(const send_many* m, uint32_t i)
{
    return &m->commands->arrays[m->commands->order[m->order_index + i]];
}

ORRI_COLD static orr_result send_many_refuse(const send_many* m, orr_result result, orr_type type,
                                             const char* what)
{
    return orri_refuse(&m->commands->world->env, result, ORR_LOG_ID_SEND_REFUSED,
                       "orr_send_create_many: system '%s': %s %s", m->commands->rights->name,
                       orri_type_label(m->commands->world, type), what);
}

// The data of a type among the first `end` columns; NULL: none.
static const orr_column_data* send_many_data_of(const send_many* m, uint32_t end, orr_type type)
{
    for (uint32_t i = 0; i < end; i++) {
        if (m->data[i].type.id == type.id) {
            return &m->data[i];
        }
    }
    return NULL;
}

static orr_result send_many_check_column(const send_many* m, uint32_t i)
{
    const orr_column_data* data = &m->data[i];
    const orri_type* info = orri_type_at(&m->commands->world->schema, data->type);
    const char* field;
    if (info == NULL) {
        return orri_refuse_type(m->commands->world, "orr_send_create_many", data->type);
    }
    if (orri_cluster_find_column(m->cluster, data->type) < 0) {
        return send_many_refuse(m, ORR_ERR_ABSENT, data->type,
                                "is given, but the cluster has no such column; leave it out");
    }
    if (data->values == NULL && info->info.size > 0) {
        return send_many_refuse(m, ORR_ERR_ARGUMENT, data->type,
                                "has no values; leave the type out for presets");
    }
    if (send_many_data_of(m, i, data->type) != NULL) {
        return send_many_refuse(m, ORR_ERR_ARGUMENT, data->type, "is given twice; give it once");
    }
    for (uint32_t row = 0; info->info.has_owned && row < m->count; row++) {
        const uint8_t* value = (const uint8_t*)data->values + (size_t)row * info->info.size;
        if (orri_value_owned_gone(info, value, &field)) {
            return send_many_refuse(
                m, ORR_ERR_ARGUMENT, data->type,
                "holds an owned string or array that no longer exists; make it again in the "
                "tick in which it is sent");
        }
    }
    orr_result result = ORR_OK;
    for (uint32_t row = 0; ORR_UNLIKELY(info->has_range) && result == ORR_OK && row < m->count;
         row++) {
        result = orri_check_range(m->commands->world, "orr_send_create_many", info, (orr_entity){0},
                                  (const uint8_t*)data->values + (size_t)row * info->info.size);
    }
    return result;
}

uint32_t orri_undeclared_type(const orr_world* world, const orri_rights* rights,
                              const orri_cluster* cluster)
{
    uint32_t c = 0;
    for (; c < cluster->type_count; c++) {
        uint32_t index = orri_type_index(world, cluster->types[c]);
        if (!orri_right(rights->creates, rights, index) &&
            !orri_right(rights->adds, rights, index)) {
            break;
        }
    }
    return c;
}

uint32_t orri_undeclared_tag(const orri_rights* rights, const orri_cluster* cluster)
{
    uint32_t t = 0;
    while (t < cluster->tag_count && orri_may_tag(rights, cluster->tags[t])) {
        t++;
    }
    return t;
}

// Checks that every type and tag of the cluster is declared.
static orr_result send_many_check_rights(const send_many* m)
{
    const char* call = "orr_send_create_many";
    orr_world* world = m->commands->world;
    orri_rights* rights = m->commands->rights;
    orr_entity none = {0};
    if (!rights->may_create) {
        return orri_refuse_right(world, rights, call, "creates", (orr_type){0}, none);
    }
    uint32_t c = orri_undeclared_type(world, rights, m->cluster);
    if (c < m->cluster->type_count) {
        return orri_refuse_right(world, rights, call, "creates", m->cluster->types[c], none);
    }
    uint32_t t = orri_undeclared_tag(rights, m->cluster);
    if (t < m->cluster->tag_count) {
        return orri_refuse_tag(world, rights, call, m->cluster->tags[t], true, none);
    }
    return ORR_OK;
}

// ---- arrays -------------------------------------------------------------------------------------

// True for columns that get an array: those with data, and multiple types, whose instances are
// separate commands. Other columns get their preset from the cluster.
static bool send_many_column(const send_many* m, uint32_t c, orri_command_kind* kind)
{
    const orri_type* info = m->cluster->columns[c].type;
    bool given = send_many_data_of(m, m->data_count, m->cluster->types[c]) != NULL;
    *kind = given ? ORRI_COMMAND_ADD : ORRI_COMMAND_ADD_PRESET;
    return given || info->info.multiplicity == ORR_MULTIPLE;
}

// True when the arrays of the last call have the same cluster and columns: this call appends to
// them.
static bool send_many_continues(send_many* m)
{
    const orr_command_buffer* commands = m->commands;
    if (commands->bulk_first1 == 0) {
        return false;
    }
    m->order_index = commands->bulk_first1 - 1;
    orr_cluster cluster = send_many_array(m, 0)->cluster;
    bool same = cluster.id == m->cluster->index + 1;
    uint32_t count = 1;
    for (uint32_t c = 0; same && c < m->cluster->type_count; c++) {
        orri_command_kind kind;
        if (send_many_column(m, c, &kind)) {
            same = count < commands->bulk_count &&
                   send_many_array(m, count)->type.id == m->cluster->types[c].id &&
                   send_many_array(m, count)->kind == kind;
            count++;
        }
    }
    m->array_count = count;
    return same && count == commands->bulk_count;
}

static bool send_many_make_arrays(send_many* m)
{
    orri_command_kind kind;
    m->order_index = m->commands->order_count;
    m->array_count = 1;
    orri_command_array* array =
        orri_command_buffer_array_bulk(m->commands, ORRI_COMMAND_CREATE, (orr_type){0}, NULL);
    if (array != NULL) {
        array->cluster = orri_cluster_handle(m->cluster);
    }
    for (uint32_t c = 0; array != NULL && c < m->cluster->type_count; c++) {
        if (send_many_column(m, c, &kind)) {
            array = orri_command_buffer_array_bulk(m->commands, kind, m->cluster->types[c],
                                                   m->cluster->columns[c].type);
            m->array_count++;
        }
    }
    return array != NULL;
}

// All arrays use the entities of the first, which may have moved.
static void send_many_follow(const send_many* m)
{
    for (uint32_t i = 1; i < m->array_count; i++) {
        send_many_array(m, i)->entities = send_many_array(m, 0)->entities;
    }
}

static bool send_many_reserve_all(const send_many* m)
{
    for (uint32_t i = 0; i < m->array_count; i++) {
        orri_command_array* array = send_many_array(m, i);
        if (!orri_command_array_reserve(m->commands, array, m->count)) {
            return false;
        }
        if (!ORRI_RESERVE(&m->commands->world->env, ORR_MEMORY_MESSAGE, &array->sequence_runs,
                          &array->sequence_run_capacity, array->sequence_run_count + 1)) {
            (void)orri_command_buffer_refuse_memory(m->commands);
            return false;
        }
    }
    return true;
}

static bool send_many_reserve(const send_many* m)
{
    bool reserved = send_many_reserve_all(m);
    send_many_follow(m);
    return reserved;
}

// ---- filling ------------------------------------------------------------------------------------

static bool send_many_copy(const send_many* m, orri_command_array* array)
{
    if (array->kind != ORRI_COMMAND_ADD || array->stride == 0) {
        return true;
    }
    const void* values = send_many_data_of(m, m->data_count, array->type)->values;
    uint8_t* to = array->values + (size_t)array->count * array->stride;
    if (array->plain_values) {
        memcpy(to, values, (size_t)m->count * array->stride);
        return true;
    }
    return orri_rows_copy(array->info, to, values, m->count);
}

// Writes values beyond the counted rows. If a hook refuses, the values written before are
// destructed.
static orr_result send_many_values(const send_many* m)
{
    for (uint32_t i = 1; i < m->array_count; i++) {
        orri_command_array* array = send_many_array(m, i);
        if (send_many_copy(m, array)) {
            continue;
        }
        const orri_type* refused = array->info;
        while (--i > 0) {
            array = send_many_array(m, i);
            if (array->kind == ORRI_COMMAND_ADD && array->stride > 0) {
                orri_rows_destruct(array->info,
                                   array->values + (size_t)array->count * array->stride, m->count);
            }
        }
        return orri_refuse_hook(m->commands->world, "orr_send_create_many", refused);
    }
    return ORR_OK;
}

// Writes ids beyond the counted rows.
static orr_result send_many_ids(const send_many* m, orri_index_cursor* cursor)
{
    const orri_command_array* array = send_many_array(m, 0);
    bool all =
        orri_command_buffer_ids(m->commands, cursor, array->entities + array->count, m->count);
    return all ? ORR_OK : orri_refuse_ids(m->commands, "orr_send_create_many", m->count);
}

// Counts the rows. Cannot be refused: room for a sequence run was reserved.
static void send_many_count(const send_many* m)
{
    for (uint32_t i = 0; i < m->array_count; i++) {
        orri_command_array* array = send_many_array(m, i);
        (void)orri_command_buffer_turn(m->commands, array);
        for (uint32_t row = 0; array->ids != NULL && row < m->count; row++) {
            array->ids[array->count + row] = 0; // The sender did not request it.
        }
        array->count += m->count;
    }
}

// Everything that may be refused comes before the first count changes.
static orr_result send_many_fill(const send_many* m, orr_entity* out)
{
    orri_index_cursor cursor = m->commands->cursor;
    orr_result result = send_many_ids(m, &cursor);
    result = result == ORR_OK ? send_many_values(m) : result;
    if (result != ORR_OK) {
        return result;
    }
    const orr_entity* entities = send_many_array(m, 0)->entities + send_many_array(m, 0)->count;
    send_many_count(m);
    m->commands->cursor = cursor;
    m->commands->create_count += m->count;
    m->commands->bulk_first1 = m->order_index + 1;
    m->commands->bulk_count = m->array_count;
    if (out != NULL) {
        memcpy(out, entities, m->count * sizeof *out);
    }
    return ORR_OK;
}

orr_result orr_send_create_many(orr_run* run, orr_cluster cluster, uint32_t count,
                                const orr_column_data* data, uint32_t data_count, orr_entity* out)
{
    const char* call = "orr_send_create_many";
    orr_result result = orri_check_run(run, call);
    if (result != ORR_OK) {
        return result;
    }
    if (orri_command_buffer_rights(run->commands)->spectator) {
        return orri_refuse(&run->world->env, ORR_ERR_STATE, ORR_LOG_ID_SEND_REFUSED,
                           "%s: system '%s' belongs to a spectator, and transient entities are in "
                           "no cluster; use orr_send_create() and orr_send_add()",
                           call, orri_command_buffer_rights(run->commands)->name);
    }
    send_many m = {.commands = run->commands,
                   .cluster = orri_cluster_at(run->world, cluster),
                   .count = count,
                   .data = data,
                   .data_count = data_count};
    if (m.cluster == NULL) {
        return orri_refuse_cluster(run->world, call, cluster);
    }
    if (data == NULL && data_count > 0) {
        return orri_refuse_argument(run->world, call, "data is NULL");
    }
    result = send_many_check_rights(&m);
    for (uint32_t i = 0; result == ORR_OK && i < data_count; i++) {
        result = send_many_check_column(&m, i);
    }
    if (result != ORR_OK || count == 0) {
        return result;
    }
    if (count > m.commands->creates_max - m.commands->create_count) {
        return orri_refuse_ids(m.commands, call, count);
    }
    bool room = (send_many_continues(&m) || send_many_make_arrays(&m)) && send_many_reserve(&m);
    return room ? send_many_fill(&m, out) : ORR_ERR_MEMORY;
}
