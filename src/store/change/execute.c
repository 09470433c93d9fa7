// SPDX-License-Identifier: MIT
// Applies a prepared change set; nothing can be refused any more. Ids are assigned, rows move in
// runs and leave holes, values are set. Then, once per cluster, holes are filled with rows from the
// tail and the tail is cut off.
#include "store/change/change_detail.h"

#define EXECUTE_AHEAD 16 // Distance, in entities, at which the targets of values are prefetched.

// ---- creating -----------------------------------------------------------------------------------

// Enables new rows and all of their components.
static void execute_bits_on(orri_chunk* chunk, uint32_t slot, uint32_t run)
{
    const orri_cluster* cluster = chunk->cluster;
    for (uint32_t c = 0; cluster->has_bits && c <= cluster->type_count; c++) {
        uint64_t* bits = (uint64_t*)(void*)orri_chunk_bits(chunk, c)->data;
        uint32_t shift = cluster->columns[c].shift;
        if (bits != NULL) {
            orri_bits_fill(bits, slot << shift, run << shift, true);
        }
    }
}

static void execute_create(orri_change* c, uint32_t g)
{
    const orri_group* group = &c->desc->groups[g];
    const orri_route* route = &c->routes[c->work[g].route_first];
    for (uint32_t done = 0, run; done < group->count; done += run) {
        uint32_t row = route->base + done, slot = row & ORRI_SLOT_MASK;
        orri_chunk* chunk = orri_cluster_chunk_of(route->to, row);
        run = ORR_CHUNK_CAPACITY - slot;
        run = run < group->count - done ? run : group->count - done;
        orri_chunk_stamp_rows(c->world, chunk);
        orri_index_give(c->world, chunk, slot, run, NULL);
        ORR_ASSERT(orri_chunk_ids(chunk)[slot] == orri_id_index(group->entities[done]));
        execute_bits_on(chunk, slot, run);
    }
}

// ---- values of rows that stay -------------------------------------------------------------------

// Prefetches the place of a value that is about to be written, if the type table covers its chunk.
static inline void execute_fetch(const orri_table* table, uint32_t place, uint32_t size)
{
    uint32_t id = place >> ORRI_SLOT_BITS;
    if (id < table->hot.capacity) {
        __builtin_prefetch(table->hot.data[id] + (size_t)orri_place_slot(place) * size, 1);
    }
}

// Fast path: copies plain values to rows that stay.
static void execute_values_plain(orri_change* c, uint32_t g, uint32_t k, const orri_type* type)
{
    orr_world* world = c->world;
    const orri_group* group = &c->desc->groups[g];
    const uint32_t* places = c->work[g].places;
    const uint8_t* values = group->given[k].values;
    uint32_t size = type->info.size, chunk_id = 0;
    uint32_t type_index = orri_type_index(world, group->given[k].type);
    const orri_table* table = (const orri_table*)(const void*)world->tables.list[type_index];
    uint8_t* data = NULL;
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t place = places[i];
        if (i + EXECUTE_AHEAD < group->count) {
            execute_fetch(table, places[i + EXECUTE_AHEAD], size);
        }
        if (place >> ORRI_SLOT_BITS != chunk_id) {
            chunk_id = place >> ORRI_SLOT_BITS;
            uint32_t column = (uint32_t)orri_table_column(world, type_index, chunk_id);
            data = orri_column_mark(world, world->chunks.list[chunk_id],
                                    column); // Its rows were prepared.
        }
        uint8_t* to = data + (size_t)orri_place_slot(place) * size;
        orri_value_move(to, values + (size_t)i * size, size);
        if (ORR_UNLIKELY(type->info.has_padding)) {
            orri_rows_clean(type, to, 1);
        }
    }
}

// Number of entities from item `i` on, at most `room`, whose rows are adjacent in one chunk.
static inline uint32_t execute_run(const uint32_t* places, uint32_t i, uint32_t count,
                                   uint32_t room)
{
    uint32_t place = places[i];
    if (i + 1 == count || places[i + 1] != place + 1) {
        return 1; // Most runs of a shuffled list.
    }
    uint32_t most = ORR_CHUNK_CAPACITY - orri_place_slot(place);
    most = most < room ? most : room;
    most = most < count - i ? most : count - i;
    uint32_t run = 1;
    while (run < most && places[i + run] == place + run) {
        run++;
    }
    return run;
}

// Overwrites the values of types that a run of rows has already; the rows may have moved before.
static void execute_overwrite(orri_change* c, uint32_t g, const orri_route* route,
                              orri_chunk* chunk, uint32_t slot, uint32_t i, uint32_t run)
{
    for (uint32_t k = 0; k < c->desc->groups[g].given_count; k++) {
        uint32_t column = c->columns[route->columns + k];
        if (column != ORRI_GIVEN_NONE && (column & ORRI_GIVEN_HAS) != 0) {
            orri_change_overwrite(c, g, k, chunk, column & ~ORRI_GIVEN_HAS, slot, i, run);
        }
    }
}

// True when the values of a given type can take the fast path: the type is plain, and all rows of
// the group have it.
static bool execute_is_plain(const orri_change* c, uint32_t g, uint32_t k)
{
    const orri_given* given = &c->desc->groups[g].given[k];
    const orri_type* type = orri_type_at(&c->world->schema, given->type);
    const orri_group_work* work = &c->work[g];
    bool plain = type->plain && given->values != NULL && type->info.size > 0;
    for (uint32_t r = work->route_first; plain && r < work->route_first + work->route_count; r++) {
        uint32_t column = c->columns[c->routes[r].columns + k];
        plain = column != ORRI_GIVEN_NONE && (column & ORRI_GIVEN_HAS) != 0;
    }
    return plain;
}

// Sets the values of a group in which no row moves.
static void execute_values(orri_change* c, uint32_t g)
{
    const orri_group* group = &c->desc->groups[g];
    const orri_group_work* work = &c->work[g];
    bool plain = true;
    for (uint32_t k = 0; plain && k < group->given_count; k++) {
        plain = execute_is_plain(c, g, k);
    }
    for (uint32_t k = 0; plain && k < group->given_count; k++) {
        execute_values_plain(c, g, k, orri_type_at(&c->world->schema, group->given[k].type));
    }
    (void)orri_walk_begin(c, g);
    for (uint32_t i = 0, run; !plain && i < group->count; i += run) {
        orri_chunk* chunk = orri_place_chunk(c->world, work->places[i]);
        run = execute_run(work->places, i, group->count, ORR_CHUNK_CAPACITY);
        execute_overwrite(c, g, &c->routes[chunk->cluster->batch_route - 1], chunk,
                          orri_place_slot(work->places[i]), i, run);
    }
}

// ---- rows that move -----------------------------------------------------------------------------

// Moves the values that a run of rows keeps.
static void execute_keep(const orri_transition* transition, orri_chunk* target,
                         uint32_t target_slot, orri_chunk* chunk, uint32_t slot, uint32_t run)
{
    for (uint32_t i = 0; i < transition->kept_count; i++) {
        orri_transition_pair pair = transition->kept[i];
        uint8_t* to = target->columns[pair.to].data + (size_t)target_slot * pair.size;
        uint8_t* from = chunk->columns[pair.from].data + (size_t)slot * pair.size;
        const orri_type* type = transition->plain ? NULL
                                                  : transition->from->columns[pair.from].type;
        if (type != NULL && !type->plain) {
            orri_cells_move(orri_cells_at(target, pair.to, target_slot),
                            orri_cells_at(chunk, pair.from, slot), run);
        } else if (run == 1) {
            orri_value_move(to, from, pair.size);
        } else {
            memcpy(to, from, (size_t)run * pair.size);
        }
    }
    if (ORR_UNLIKELY(transition->resized_count > 0)) {
        orri_cells_resize(transition, target, target_slot, chunk, slot, run);
    }
}

// Destructs the values that a run of rows loses.
static void execute_drop(const orri_transition* transition, orri_chunk* chunk, uint32_t slot,
                         uint32_t run)
{
    for (uint32_t i = 0; !transition->dropped_plain && i < transition->dropped_count; i++) {
        orri_cells_destruct(orri_cells_at(chunk, transition->dropped[i], slot), run);
    }
}

// Sets plain values of columns that are new to the rows. Other values were staged in place.
static void execute_set_new(const orri_change* c, const orri_group* group, const orri_route* route,
                            orri_chunk* target, uint32_t slot, uint32_t i, uint32_t run)
{
    for (uint32_t k = 0; k < group->given_count; k++) {
        uint32_t column = c->columns[route->columns + k];
        const uint8_t* values = group->given[k].values;
        if ((column & ORRI_GIVEN_HAS) != 0 || values == NULL) {
            continue;
        }
        const orri_cluster_column* entry = &route->to->columns[column];
        size_t size = entry->type->info.size;
        if (!entry->type->plain) {
            continue;
        }
        if (ORR_UNLIKELY(entry->counts != 0)) {
            (void)orri_cells_make(target, column, slot, run, values + i * size); // No hook.
            continue;
        }
        uint8_t* to = target->columns[column].data + slot * size;
        if (run == 1) {
            orri_value_move(to, values + i * size, (uint32_t)size);
        } else {
            memcpy(to, values + i * size, run * size);
        }
        if (entry->type->info.has_padding) {
            orri_rows_clean(entry->type, to, run);
        }
    }
}

// Moves the row ids of a run, marks its old rows as holes, and updates the records. Pages of
// records are looked up only where the page changes.
static void execute_ids(orr_world* world, uint32_t* ids, uint32_t* target_ids, uint32_t place,
                        uint32_t run)
{
    uint32_t page = ORRI_INDEX_NONE;
    orri_record* records = NULL;
    for (uint32_t k = 0; k < run; k++) {
        uint32_t id = ids[k];
        ORR_ASSERT(id != ORRI_INDEX_NONE); // Otherwise the entity is listed twice.
        if (id >> ORRI_PAGE_BITS != page) {
            page = id >> ORRI_PAGE_BITS;
            records = orri_index_write(world, id) - (id & ORRI_PAGE_MASK);
        }
        records[id & ORRI_PAGE_MASK].place = place + k;
        target_ids[k] = id;
        ids[k] = ORRI_INDEX_NONE;
    }
}

// Moves a run of rows to its target and leaves holes.
static void execute_move_run(orri_change* c, const orri_group* group, const orri_route* route,
                             orri_chunk* target, uint32_t target_slot, uint32_t place, uint32_t i,
                             uint32_t run)
{
    orr_world* world = c->world;
    const orri_transition* transition = route->transition;
    orri_chunk* chunk = orri_place_chunk(world, place);
    uint32_t slot = orri_place_slot(place);
    orri_chunk_stamp_rows(world, chunk);
    orri_chunk_stamp_rows(world, target);
    execute_keep(transition, target, target_slot, chunk, slot, run);
    execute_drop(transition, chunk, slot, run);
    execute_set_new(c, group, route, target, target_slot, i, run);
    if (ORR_UNLIKELY(transition->to->has_bits)) {
        orri_transition_move_bits(transition, target, target_slot, chunk, slot, run);
    }
    execute_ids(world, orri_chunk_ids(chunk) + slot, orri_chunk_ids(target) + target_slot,
                orri_place_make(target, target_slot), run);
}

// Moves the rows of a group and overwrites values, run by run.
static void execute_group(orri_change* c, uint32_t g)
{
    const orri_group* group = &c->desc->groups[g];
    const uint32_t* places = c->work[g].places;
    (void)orri_walk_begin(c, g);
    for (uint32_t i = 0, run; i < group->count; i += run) {
        orri_chunk* chunk = orri_place_chunk(c->world, places[i]);
        orri_route* route = &c->routes[chunk->cluster->batch_route - 1];
        uint32_t slot = orri_place_slot(places[i]), room = ORR_CHUNK_CAPACITY;
        if (route->transition != NULL) {
            uint32_t row = route->base + route->used;
            chunk = orri_cluster_chunk_of(route->to, row);
            slot = row & ORRI_SLOT_MASK;
            room -= slot;
        }
        run = execute_run(places, i, group->count, room);
        if (route->transition != NULL) {
            execute_move_run(c, group, route, chunk, slot, places[i], i, run);
            route->used += run;
        }
        if (c->work[g].overwrites) {
            execute_overwrite(c, g, route, chunk, slot, i, run);
        }
    }
}

// ---- destroying ---------------------------------------------------------------------------------

// Destroys the entities of a group and leaves holes.
static void execute_destroy(orri_change* c, uint32_t g)
{
    const uint32_t* places = c->work[g].places;
    uint32_t count = orri_change_group(c, g)->count;
    for (uint32_t i = 0, run; i < count; i += run) {
        orri_chunk* chunk = orri_place_chunk(c->world, places[i]);
        const orri_cluster* cluster = chunk->cluster;
        uint32_t slot = orri_place_slot(places[i]);
        run = execute_run(places, i, count, ORR_CHUNK_CAPACITY);
        orri_chunk_stamp_rows(c->world, chunk);
        for (uint32_t column = 0; !cluster->plain && column < cluster->type_count; column++) {
            orri_cells_destruct(orri_cells_at(chunk, column, slot), run);
        }
        uint32_t* ids = orri_chunk_ids(chunk) + slot;
        bool ended = run == 1 && c->world->pinned.live == 0 &&
                     orri_index_kill_one(c->world, ids[0], orri_index_write(c->world, ids[0]));
        if (!ended) {
            orri_index_kill(c->world, ids, run);
        }
        for (uint32_t k = 0; k < run; k++) {
            ids[k] = ORRI_INDEX_NONE;
        }
    }
}

// Destroys the entities that the set created or changed although a cascade destroys them.
static void execute_destroy_last(orri_change* c)
{
    for (uint32_t i = 0; i < c->destroyed_last_count; i++) {
        uint32_t index = orri_id_index(c->destroyed_last[i]);
        uint32_t place = orri_record_at(c->world, index)->place;
        orri_chunk* chunk = orri_place_chunk(c->world, place);
        orri_index_kill(c->world, &index, 1);
        for (uint32_t column = 0; column < chunk->cluster->type_count; column++) {
            orri_cells_destruct(orri_cells_at(chunk, column, orri_place_slot(place)), 1);
        }
        orri_row_remove(c->world, chunk, orri_place_slot(place));
    }
}

// ---- filling the gaps ---------------------------------------------------------------------------

// Fills a hole with the last row that remains.
static void execute_fill_hole(orr_world* world, orri_chunk* chunk, uint32_t slot)
{
    orri_cluster* cluster = chunk->cluster;
    uint32_t tail = cluster->batch_tail;
    orri_chunk* last;
    do {
        tail--;
        last = orri_cluster_chunk_of(cluster, tail);
    } while (orri_chunk_ids(last)[tail & ORRI_SLOT_MASK] == ORRI_INDEX_NONE);
    cluster->batch_tail = tail;
    orri_chunk_stamp_rows(world, last);
    orri_row_relocate(world, chunk, slot, last, tail & ORRI_SLOT_MASK);
}

// Removes the rows at the end, which have left.
static void execute_cut(orr_world* world, orri_cluster* cluster)
{
    uint32_t rows = cluster->row_count - cluster->batch_count;
    orri_chunk* last = rows > 0 ? orri_cluster_chunk_of(cluster, rows - 1) : NULL;
    uint32_t before = last != NULL ? orri_chunk_rows(last) : 0;
    cluster->row_count = rows;
    if (last != NULL) {
        orri_rows_close(last, orri_chunk_rows(last), before - orri_chunk_rows(last));
    }
    orri_cluster_trim(world, cluster);
}

// Fills the holes that a group left. Holes beyond the new end of a cluster need no filling.
static void execute_fill(orri_change* c, uint32_t g)
{
    const orri_group_work* work = &c->work[g];
    const uint32_t* places = work->places;
    uint32_t count = orri_change_group(c, g)->count;
    bool stays = false; // Some rows of the group stay.
    for (uint32_t r = work->route_first; r < work->route_first + work->route_count; r++) {
        stays = stays || c->routes[r].to == c->routes[r].from;
    }
    (void)orri_walk_begin(c, g);
    for (uint32_t i = 0; i < count; i++) {
        orri_chunk* chunk = orri_place_chunk(c->world, places[i]);
        const orri_cluster* cluster = chunk->cluster;
        uint32_t row = chunk->number * ORR_CHUNK_CAPACITY + orri_place_slot(places[i]);
        if (row < cluster->row_count - cluster->batch_count &&
            (!stays || c->routes[cluster->batch_route - 1].to != cluster)) {
            execute_fill_hole(c->world, chunk, orri_place_slot(places[i]));
        }
    }
}

// Fills all holes and cuts the clusters.
static void execute_close(orri_change* c)
{
    bool fills = false;
    for (uint32_t i = 0; i < c->cluster_count; i++) {
        orri_cluster* cluster = c->clusters[i];
        cluster->batch_tail = cluster->row_count;
        fills = fills || (cluster->batch_count > 0 && cluster->batch_count < cluster->row_count);
    }
    for (uint32_t g = 0; fills && g <= c->desc->count; g++) {
        if (c->work[g].moves && c->work[g].places != NULL) {
            execute_fill(c, g);
        }
    }
    for (uint32_t i = 0; i < c->cluster_count; i++) {
        if (c->clusters[i]->batch_count > 0) {
            execute_cut(c->world, c->clusters[i]);
        }
    }
}

void orri_change_execute(orri_change* c)
{
    uint32_t count = c->desc->count;
    if (c->desc->before != NULL) {
        c->desc->before(c->desc->user);
    }
    for (uint32_t g = 0; g < count; g++) {
        if (c->desc->groups[g].kind == ORRI_CHANGE_KIND_CREATE) {
            execute_create(c, g);
        }
    }
    orri_change_remove_instances(c);
    for (uint32_t g = 0; g < count; g++) {
        if (c->desc->groups[g].kind == ORRI_CHANGE_KIND_CHANGE && c->work[g].moves) {
            execute_group(c, g);
        } else if (c->work[g].overwrites) {
            execute_values(c, g);
        }
    }
    for (uint32_t i = 0; i < c->cluster_count; i++) {
        // Not written without need: in real time, values may change while other pipelines loop over
        // the cluster.
        if (c->clusters[i]->batch_incoming > 0) {
            c->clusters[i]->row_count += c->clusters[i]->batch_incoming;
        }
    }
    orri_change_execute_sparse(c);
    orri_cascade_commit(&c->cascade);
    for (uint32_t g = 0; g <= count; g++) {
        if (orri_change_group(c, g)->kind == ORRI_CHANGE_KIND_DESTROY) {
            execute_destroy(c, g);
        }
    }
    execute_close(c);
    execute_destroy_last(c);
}

#undef EXECUTE_AHEAD
