// SPDX-License-Identifier: MIT
// Turns commands into groups of a change set. Commands of entities that are mentioned once stay in
// their columns: a command array, or a bundle of aligned ones, becomes a group by pointing into it.
// All other commands, and all that need a closer look, are merged by entity (merge_entity.c).
#include "message/send/command_buffer.h"
#include "store/pool/pool.h"

#define MERGE_PARTS_MAX 34 // Arrays of a bundle.

orri_merge orri_merge_begin(orr_world* world)
{
    return (orri_merge){.world = world, .command_buffers = orri_command_buffers_at(world)};
}

void orri_merge_end(orri_merge* merge)
{
    orri_env* env = &merge->world->env;
    orri_net_change_end(merge);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, merge->short_lived, merge->short_lived_capacity);
    if (merge->item_count > merge->command_buffers->item_peak) {
        merge->command_buffers->item_peak = merge->item_count;
    }
    orri_commit_arena_reset(&merge->command_buffers->arena);
}

void* orri_merge_take(orri_merge* merge, size_t size)
{
    return orri_commit_arena_take(merge->world, &merge->command_buffers->arena, size);
}

// Grows a list in the memory of the commit, which is freed at the end of the merge. False when
// memory is refused (not reported).
static bool merge_grow(orri_merge* merge, void** list, uint32_t* capacity, uint32_t needed,
                       size_t size)
{
    uint64_t more = 2 * (uint64_t)*capacity > needed ? 2 * (uint64_t)*capacity : needed;
    more = more < 8 ? 8 : more;
    void* to = more <= UINT32_MAX ? orri_merge_take(merge, orri_size_mul(size, (size_t)more))
                                  : NULL;
    if (to == NULL) {
        return false;
    }
    // Read and written as bytes: the caller's pointer is of another type.
    void* from;
    memcpy(&from, (const void*)list, sizeof from);
    if (*capacity > 0) {
        memcpy(to, from, *capacity * size);
    }
    memcpy((void*)list, &to, sizeof to);
    *capacity = (uint32_t)more;
    return true;
}

#define MERGE_RESERVE(merge, list, capacity, needed) \
    ((needed) <= *(capacity) ||                      \
     merge_grow(merge, (void**)(list), capacity, needed, sizeof **(list)))

bool orri_merge_buffer_add(orri_merge* merge, orr_command_buffer* commands)
{
    if (!MERGE_RESERVE(merge, &merge->refs, &merge->ref_capacity,
                       merge->ref_count + commands->order_count)) {
        return false;
    }
    merge->commands = commands;
    merge->buffer_first = merge->ref_count;
    merge->buffer_order = merge->order;
    merge->order += commands->record_count;
    for (uint32_t i = 0; i < commands->order_count; i++) {
        merge->refs[merge->ref_count++] =
            (orri_merge_ref){commands, &commands->arrays[commands->order[i]]};
    }
    return true;
}

bool orri_merge_item(orri_merge* merge, uint32_t place, uint32_t row)
{
    struct orri_command_buffers* command_buffers = merge->command_buffers;
    if (!ORRI_RESERVE(&merge->world->env, ORR_MEMORY_MESSAGE, &command_buffers->items,
                      &command_buffers->item_capacity, merge->item_count + 1)) {
        return false;
    }
    merge->items = command_buffers->items;
    const orri_command_array* array = merge->refs[merge->buffer_first + place].array;
    uint64_t order = merge->buffer_order + (array->sequence_run_count == 1
                                                ? array->sequence_runs[0].sequence + row
                                                : orri_command_array_sequence(array, row));
    merge->items[merge->item_count++] =
        (orri_ranked){(uint64_t)orri_id_index(array->entities[row]) << 32 | order,
                      merge->buffer_first + place, row};
    return true;
}

bool orri_merge_group(orri_merge* merge, const orri_group* group, orri_rights* sender)
{
    uint32_t needed = merge->group_count + 1;
    if (!MERGE_RESERVE(merge, &merge->groups, &merge->group_capacity, needed) ||
        !MERGE_RESERVE(merge, &merge->senders, &merge->sender_capacity, needed)) {
        return false;
    }
    merge->groups[merge->group_count] = *group;
    merge->senders[merge->group_count++] = sender;
    return true;
}

// ---- looking at the world -----------------------------------------------------------------------

const void* orri_value_find(const orr_world* world, orr_entity entity, const orri_type* type)
{
    const orri_record* record = orri_record_find(world, entity);
    orr_type handle = {type->id};
    if (record == NULL) {
        return NULL;
    }
    if (orri_type_pinned(type)) {
        return orri_pool_get(orri_pool_find(world, handle), orri_id_index(entity));
    }
    const orri_chunk* chunk = orri_place_chunk(world, record->place);
    int32_t column = orri_table_column(world, orri_type_index(world, handle), chunk->id);
    return column >= 0 ? orri_cells_at(chunk, (uint32_t)column, orri_place_slot(record->place)).data
                       : NULL;
}

// Context of merge_accepts(), which orri_value_refers() calls for each entity in a value.
typedef struct merge_refers {
    const orr_world* world;
    const orri_type* type;
    const void* old;
    orr_entity wanted;
    bool created; // Entities that waiting commands create are accepted too.
} merge_refers;

static bool merge_is_another(void* user, orr_entity entity)
{
    return entity.id != ((const merge_refers*)user)->wanted.id;
}

// As everywhere in the store: a reference that the old value has may stay, even to a dead entity.
static bool merge_accepts(void* user, orr_entity entity)
{
    merge_refers* refers = user;
    const char* field;
    if (orri_record_find(refers->world, entity) != NULL ||
        (refers->type->info.transient && orri_transient_find(refers->world, entity) != NULL) ||
        (refers->created && orri_pending_created(refers->world, entity))) {
        return true;
    }
    refers->wanted = entity;
    return refers->old != NULL &&
           orri_value_entity_reject(refers->type, refers->old, merge_is_another, refers, &field)
                   .id == entity.id;
}

orri_refers orri_value_refers(const orr_world* world, const orri_type* type, const void* old,
                              const void* value)
{
    merge_refers refers = {.world = world, .type = type, .old = old};
    const char* field;
    if (!type->info.has_entities ||
        orri_value_entity_reject(type, value, merge_accepts, &refers, &field).id == 0) {
        return ORRI_REFERS_ALIVE;
    }
    refers.created = true;
    return orri_value_entity_reject(type, value, merge_accepts, &refers, &field).id == 0
               ? ORRI_REFERS_CREATED
               : ORRI_REFERS_DEAD;
}

// ---- bundles: rows that stay in columns ---------------------------------------------------------

// One array of a bundle.
typedef struct merge_part {
    const orri_command_array* array;
    uint32_t type_index;
    uint32_t chunk; // Cache of the last lookup: chunk id, and whether the chunk has the type.
    bool has;
    bool pinned, refers;
} merge_part;

// A bundle while its rows are looked at.
typedef struct merge_bundle {
    orri_merge* merge;
    const orri_command_array* head;
    merge_part parts[MERGE_PARTS_MAX];
    uint32_t part_count;
    bool creates;
    bool by_entity; // All rows must be merged by entity.
    bool quick;     // One check per chunk decides for all its live entities whether rows are clear.
    uint32_t* places; // By row: places of the clear rows, if `quick` and the entities are alive.
} merge_bundle;

// Adds an array to the bundle; decides whether rows can stay in columns.
static void merge_bundle_add(merge_bundle* b, const orri_command_array* array)
{
    merge_part* part = &b->parts[b->part_count++];
    *part = (merge_part){.array = array, .chunk = UINT32_MAX};
    if (array->info != NULL) {
        part->type_index = orri_type_index(b->merge->world, array->type);
        part->pinned = orri_type_pinned(array->info);
        part->refers = array->info->info.has_entities && array->kind != ORRI_COMMAND_REMOVE &&
                       array->kind != ORRI_COMMAND_ADD_PRESET;
    }
    bool adds = array->kind == ORRI_COMMAND_ADD || array->kind == ORRI_COMMAND_ADD_PRESET;
    bool inside = b->head->cluster.id == 0 || array->bulk;
    b->by_entity |= array->ids != NULL || array->kind >= ORRI_COMMAND_ENABLE ||
                    (b->creates && array != b->head && (!adds || !inside));
}

static merge_bundle merge_bundle_of(orri_merge* merge, const orri_command_array* head)
{
    merge_bundle b = {.merge = merge, .head = head, .creates = head->kind == ORRI_COMMAND_CREATE};
    merge_bundle_add(&b, head);
    for (const orri_command_array* s = head; s->next1 != 0 && b.part_count < MERGE_PARTS_MAX;) {
        s = &merge->commands->arrays[s->next1 - 1];
        merge_bundle_add(&b, s);
    }
    return b;
}

// True when the entity has the type of the part.
static inline bool merge_part_has(const orr_world* world, merge_part* part, uint32_t index,
                                  uint32_t place)
{
    if (ORR_UNLIKELY(part->pinned)) {
        return orri_pool_get(orri_pool_find(world, part->array->type), index) != NULL;
    }
    uint32_t chunk = place >> ORRI_SLOT_BITS;
    if (chunk != part->chunk) {
        part->chunk = chunk;
        part->has = orri_table_column(world, part->type_index, chunk) >= 0;
    }
    return part->has;
}

// True when the value of the row refers to no dead entity.
static bool merge_part_refers(const orr_world* world, const merge_part* part, orr_entity entity,
                              uint32_t row)
{
    const orri_command_array* array = part->array;
    const void* old = orri_value_find(world, entity, array->info);
    return orri_value_refers(world, array->info, old,
                             array->values + (size_t)row * array->stride) != ORRI_REFERS_DEAD;
}

// True when the row can be applied as it is: its entity is alive or created by this bundle, no
// other bundle mentions it, an added type is not there yet, and a changed type is.
static inline bool merge_row_clear(merge_bundle* b, uint32_t row)
{
    const orr_world* world = b->merge->world;
    const struct orri_command_buffers* command_buffers = b->merge->command_buffers;
    orr_entity entity = b->head->entities[row];
    uint32_t index = orri_id_index(entity);
    if (orri_pending_get(command_buffers->multi, command_buffers->mark_words, index)) {
        return false;
    }
    const orri_record* record = b->creates ? NULL : orri_record_find(world, entity);
    if (record == NULL && !b->creates) {
        return false;
    }
    for (uint32_t p = 0; p < b->part_count; p++) {
        merge_part* part = &b->parts[p];
        orri_command_kind kind = part->array->kind;
        if (record != NULL && kind >= ORRI_COMMAND_ADD && kind <= ORRI_COMMAND_CHANGE &&
            merge_part_has(world, part, index, record->place) != (kind == ORRI_COMMAND_CHANGE)) {
            return false;
        }
        if (ORR_UNLIKELY(part->refers) && !merge_part_refers(world, part, entity, row)) {
            return false;
        }
    }
    return true;
}

// Lists the types that the group adds, changes or removes.
static bool merge_group_types(const merge_bundle* b, uint32_t first, orri_group* group)
{
    orri_given* given = orri_merge_take(b->merge, b->part_count * sizeof *given);
    orr_type* taken = orri_merge_take(b->merge, b->part_count * sizeof *taken);
    if (given == NULL || taken == NULL) {
        return false;
    }
    group->given = given;
    group->taken = taken;
    for (uint32_t p = 0; p < b->part_count; p++) {
        const orri_command_array* array = b->parts[p].array;
        if (array->kind == ORRI_COMMAND_REMOVE) {
            taken[group->taken_count++] = array->type;
        } else if (array->kind != ORRI_COMMAND_CREATE) {
            const uint8_t* values = array->kind == ORRI_COMMAND_ADD_PRESET || array->stride == 0
                                        ? NULL
                                        : array->values + (size_t)first * array->stride;
            given[group->given_count++] = (orri_given){array->type, values};
        }
    }
    return true;
}

// Makes a group of `count` clear rows.
static bool merge_group_rows(const merge_bundle* b, uint32_t first, uint32_t count)
{
    const orri_command_array* head = b->head;
    orri_group group = {.kind = b->creates ? ORRI_CHANGE_KIND_CREATE : ORRI_CHANGE_KIND_CHANGE,
                        .entities = head->entities + first,
                        .count = count,
                        .places = b->places != NULL ? b->places + first : NULL,
                        .cluster = head->cluster};
    if (head->kind == ORRI_COMMAND_DESTROY) {
        group.kind = ORRI_CHANGE_KIND_DESTROY;
    } else if (head->kind == ORRI_COMMAND_TAG_ADD) {
        group.tags_on = (const orr_tag*)(const void*)head->values + first;
        group.tag_on_count = 1;
    } else if (head->kind == ORRI_COMMAND_TAG_REMOVE) {
        group.tags_off = (const orr_tag*)(const void*)head->values + first;
        group.tag_off_count = 1;
    } else if (!merge_group_types(b, first, &group)) {
        return false;
    }
    return orri_merge_group(b->merge, &group, b->merge->commands->rights);
}

// The row is merged by entity: one item for each array of the bundle.
static bool merge_row_items(const merge_bundle* b, uint32_t row)
{
    for (uint32_t p = 0; p < b->part_count; p++) {
        if (!orri_merge_item(b->merge, b->parts[p].array->order_index, row)) {
            return false;
        }
    }
    return true;
}

// Rows of one group must have the same tag.
static bool merge_same_tag(const orri_command_array* array, uint32_t a, uint32_t b)
{
    const orr_tag* tags = (const orr_tag*)(const void*)array->values;
    bool tagged = array->kind == ORRI_COMMAND_TAG_ADD || array->kind == ORRI_COMMAND_TAG_REMOVE;
    return !tagged || tags[a] == tags[b];
}

// True when all rows of a chunk have the types that the bundle changes, and lack those that it
// adds.
static bool merge_chunk_clear(const merge_bundle* b, uint32_t chunk)
{
    for (uint32_t p = 0; p < b->part_count; p++) {
        orri_command_kind kind = b->parts[p].array->kind;
        bool typed = kind >= ORRI_COMMAND_ADD && kind <= ORRI_COMMAND_CHANGE;
        if (typed && (orri_table_column(b->merge->world, b->parts[p].type_index, chunk) >= 0) !=
                         (kind == ORRI_COMMAND_CHANGE)) {
            return false;
        }
    }
    return true;
}

#define MERGE_SEQUENCE 64

// True when the next 64 rows have consecutive ids whose entities have consecutive places in one
// index page and one chunk, as entities have that were created together. Writes their places.
static inline bool merge_sequence(const orr_world* world, const orr_entity* entities,
                                  uint32_t* places)
{
    uint64_t first = entities[0].id, index = first & ORR_HOT_ID_MASK, differs = 0;
    uint32_t offset = index & ORRI_PAGE_MASK;
    if (entities[MERGE_SEQUENCE - 1].id != first + (MERGE_SEQUENCE - 1) ||
        offset + MERGE_SEQUENCE > ORRI_PAGE_SIZE || index + MERGE_SEQUENCE > world->hot.count) {
        return false;
    }
    const orri_record* records = &world->hot.pages[index >> ORRI_PAGE_BITS][offset];
    uint32_t generation = (uint32_t)(first >> 32), place = records[0].place, others = 0;
    for (uint32_t i = 0; i < MERGE_SEQUENCE; i++) {
        differs |= entities[i].id ^ (first + i);
        others |= (records[i].generation ^ generation) | (records[i].place ^ (place + i));
        places[i] = place + i;
    }
    return differs == 0 && others == 0 &&
           orri_place_slot(place) <= ORRI_SLOT_MASK + 1 - MERGE_SEQUENCE;
}

// The end of the clear rows from `row` on, for a quick bundle of live entities. This is
// merge_row_clear() as a short loop, since large commits spend their time here. The places are
// kept, because looking them up again would cost as much.
static uint32_t merge_clear_live(const merge_bundle* b, uint32_t row)
{
    const orr_world* world = b->merge->world;
    const uint64_t* multi = b->merge->command_buffers->multi_any ? b->merge->command_buffers->multi
                                                                 : NULL;
    const orr_entity* entities = b->head->entities;
    orri_record* const* pages = world->hot.pages;
    uint32_t count = b->head->count, ids = world->hot.count, chunk = UINT32_MAX;
    uint32_t* places = b->places;
    for (; row < count; row++) {
        uint64_t id = entities[row].id, index = id & ORR_HOT_ID_MASK;
        if (ORR_UNLIKELY(index >= ids || (multi != NULL && orri_bit_get(multi, (uint32_t)index)))) {
            break;
        }
        orri_record record = pages[index >> ORRI_PAGE_BITS][index & ORRI_PAGE_MASK];
        if (ORR_UNLIKELY(record.generation != id >> 32)) {
            break;
        }
        if (ORR_UNLIKELY(record.place >> ORRI_SLOT_BITS != chunk)) {
            chunk = record.place >> ORRI_SLOT_BITS;
            if (!merge_chunk_clear(b, chunk)) {
                break;
            }
        }
        places[row] = record.place;
        while (multi == NULL && count - row > MERGE_SEQUENCE + 1 &&
               merge_sequence(world, entities + row + 1, places + row + 1) &&
               places[row + 1] >> ORRI_SLOT_BITS == chunk) {
            row += MERGE_SEQUENCE;
        }
    }
    return row;
}

// The same for creations: only a second mention makes a row unclear.
static uint32_t merge_clear_created(const merge_bundle* b, uint32_t row)
{
    const struct orri_command_buffers* command_buffers = b->merge->command_buffers;
    if (!command_buffers->multi_any) {
        return b->head->count;
    }
    while (row < b->head->count &&
           !orri_bit_get(command_buffers->multi, orri_id_index(b->head->entities[row]))) {
        row++;
    }
    return row;
}

// Decides whether the quick check applies. False when memory is refused.
static bool merge_bundle_begin(merge_bundle* b)
{
    orri_command_kind kind = b->head->kind;
    b->quick = !b->by_entity && kind != ORRI_COMMAND_TAG_ADD && kind != ORRI_COMMAND_TAG_REMOVE;
    for (uint32_t p = 0; p < b->part_count; p++) {
        b->quick = b->quick && !b->parts[p].refers && (b->creates || !b->parts[p].pinned);
    }
    if (b->quick && !b->creates) {
        b->places = orri_merge_take(b->merge, b->head->count * sizeof *b->places);
        return b->places != NULL;
    }
    return true;
}

// Splits the rows into runs of clear rows, which become groups, and items.
static bool merge_bundle_rows(merge_bundle* b)
{
    const orri_command_array* head = b->head;
    uint32_t first = 0; // First row of the current run of clear rows.
    for (uint32_t row = 0; row < head->count; row++) {
        if (b->quick) {
            row = b->creates ? merge_clear_created(b, row) : merge_clear_live(b, row);
        }
        if (row == head->count) {
            break;
        }
        bool done = head->entities[row].id == 0;
        bool clear = !done && !b->by_entity && !b->quick && merge_row_clear(b, row);
        if (ORR_LIKELY(clear && merge_same_tag(head, first, row))) {
            continue;
        }
        if (first < row && !merge_group_rows(b, first, row - first)) {
            return false;
        }
        if (!done && !clear && !merge_row_items(b, row)) {
            return false;
        }
        first = clear ? row : row + 1;
    }
    return first == head->count || merge_group_rows(b, first, head->count - first);
}

bool orri_merge_records(orri_merge* merge)
{
    const orr_command_buffer* commands = merge->commands;
    for (uint32_t i = 0; i < commands->order_count; i++) {
        const orri_command_array* array = &commands->arrays[commands->order[i]];
        if (array->count == 0 || array->bundled || array->kind == ORRI_COMMAND_EVENT) {
            continue;
        }
        merge_bundle b = merge_bundle_of(merge, array);
        if (!merge_bundle_begin(&b) || !merge_bundle_rows(&b)) {
            return false;
        }
    }
    return true;
}

// ---- items --------------------------------------------------------------------------------------

bool orri_merge_items(orri_merge* merge)
{
    if (merge->item_count == 0) {
        return true;
    }
    orri_ranked* sorting = orri_merge_take(merge, merge->item_count * sizeof *sorting);
    if (sorting == NULL) {
        return false;
    }
    orri_ranked_sort(merge->items, merge->item_count, sorting);
    for (uint32_t first = 0, end; first < merge->item_count; first = end) {
        uint64_t index = merge->items[first].key >> 32;
        for (end = first + 1; end < merge->item_count && merge->items[end].key >> 32 == index;) {
            end++;
        }
        if (!orri_net_change_entity(merge, merge->items + first, end - first)) {
            return false;
        }
    }
    return orri_net_change_groups(merge);
}

#undef MERGE_PARTS_MAX
#undef MERGE_RESERVE
#undef MERGE_SEQUENCE
