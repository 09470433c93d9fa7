// SPDX-License-Identifier: MIT
// Enable bits of entities, components and instances, for readers that name orr_enabled. The
// baseline has one bit for each. A reader to which an entity is new is notified of everything that
// is disabled.
#include "message/deliver/baseline.h"

// Something that can be disabled: the entity (type NULL), a type in chunks, or (column -1) a pinned
// type.
typedef struct diff_enabled_what {
    orri_baseline_type* type;
    int32_t column;
} diff_enabled_what;

typedef struct diff_enabled_state {
    orr_component_id id;
    bool off, baseline_off; // Now; in the baseline.
} diff_enabled_state;

// True when a bit of a chunk's enable bits is off; without bits everything is enabled.
static bool diff_enabled_bit_off(const orri_chunk* chunk, uint32_t column, uint32_t bit)
{
    const uint64_t* bits =
        (const uint64_t*)(const void*)chunk->columns[chunk->column_count / 2 + column].data;
    return bits != NULL && !orri_bit_get(bits, bit);
}

static uint32_t diff_enabled_instances(const diff_enabled_what* what, const orri_chunk* chunk,
                                       uint32_t slot, uint32_t index, diff_enabled_state* out)
{
    uint32_t column = (uint32_t)what->column;
    const orri_cluster_column* entry = &chunk->cluster->columns[column];
    const uint32_t* ids = (const uint32_t*)(const void*)chunk->columns[entry->counts + 1].data +
                          ((size_t)slot << entry->shift);
    uint32_t count = orri_cells_at(chunk, column, slot).counts[0];
    const orri_baseline_cell* baseline = orri_baseline_cell_at(what->type, index);
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (diff_enabled_state){
            ids[i], diff_enabled_bit_off(chunk, column, (slot << entry->shift) + i), false};
        for (uint32_t k = 0; baseline != NULL && k < baseline->count; k++) {
            out[i].baseline_off = out[i].baseline_off ||
                                  (baseline->ids[k] == ids[i] && baseline->off[k] != 0);
        }
    }
    return count;
}

// The states now and in the baseline: one, or one per instance (at most ORR_INSTANCES_MAX). Returns
// their number.
static uint32_t diff_enabled_states(const orri_diff* diff, const diff_enabled_what* what,
                                    const orri_chunk* chunk, uint32_t slot, uint32_t index,
                                    diff_enabled_state* out)
{
    if (what->type == NULL) {
        *out = (diff_enabled_state){0,
                                    diff_enabled_bit_off(chunk, chunk->cluster->type_count, slot),
                                    orri_bitset_has(&diff->baseline->off, index)};
        return 1;
    }
    if (what->column >= 0 && what->type->multiple) {
        return diff_enabled_instances(what, chunk, slot, index, out);
    }
    *out = (diff_enabled_state){.baseline_off = orri_bitset_has(&what->type->off, index)};
    if (what->column >= 0) {
        out->off = diff_enabled_bit_off(chunk, (uint32_t)what->column, slot);
        return 1;
    }
    const orri_pool* pool = orri_pool_find(diff->world, (orr_type){what->type->type->id});
    out->off = !orri_pool_enabled(pool, index);
    return orri_pool_get(pool, index) != NULL ? 1 : 0;
}

// Iterates over everything that the entities of a shape can have disabled; number 0 is the entity.
// False at the end.
static bool diff_enabled_next(const orri_diff* diff, const orr_type* types, uint32_t type_count,
                              uint32_t* number, diff_enabled_what* out)
{
    const orr_world* world = diff->world;
    while (*number <= type_count + world->pinned.count) {
        uint32_t n = (*number)++;
        if (n == 0) {
            *out = (diff_enabled_what){NULL, 0};
            return true;
        }
        bool chunk = n <= type_count;
        orr_type type = chunk ? types[n - 1]
                              : (orr_type){world->pinned.list[n - 1 - type_count]->type->id};
        *out =
            (diff_enabled_what){orri_baseline_tracked(diff->baseline, orri_type_index(world, type)),
                                chunk ? (int32_t)n - 1 : -1};
        if (out->type != NULL) {
            return true;
        }
    }
    return false;
}

// ---- one row ------------------------------------------------------------------------------------

// True when nothing can be disabled, now or in the baseline: a shortcut.
static bool diff_enabled_all_on(const orri_diff* diff, const orri_cluster* cluster)
{
    const orr_world* world = diff->world;
    bool on = !cluster->has_bits && !diff->baseline->off_ever;
    for (uint32_t p = 0; on && p < world->pinned.count; p++) {
        const orri_pool* pool = world->pinned.list[p];
        for (uint32_t b = 0; on && b < pool->block_count; b++) {
            on = pool->blocks[b].enabled == NULL;
        }
    }
    return on;
}

orri_enabled_state orri_diff_enabled_row(const orri_diff* diff, const orri_chunk* chunk,
                                         uint32_t slot, uint32_t index)
{
    const orri_cluster* cluster = chunk->cluster;
    orri_enabled_state found = ORRI_ENABLED_ALL;
    diff_enabled_state states[ORR_INSTANCES_MAX];
    diff_enabled_what what;
    if (diff_enabled_all_on(diff, cluster)) {
        return found;
    }
    for (uint32_t n = 0; diff_enabled_next(diff, cluster->types, cluster->type_count, &n, &what);) {
        uint32_t count = diff_enabled_states(diff, &what, chunk, slot, index, states);
        for (uint32_t i = 0; i < count; i++) {
            if (states[i].off != states[i].baseline_off) {
                return ORRI_ENABLED_DIFFERS;
            }
            found = states[i].off ? ORRI_ENABLED_PARTLY : found;
        }
    }
    return found;
}

// ---- run lists ----------------------------------------------------------------------------------

// One pass over a run list.
typedef struct diff_enabled_scan {
    orri_diff* diff;
    diff_enabled_what what;
    bool enters;           // For readers to which the entity is new, else for readers that know it.
    orr_enabled values[2]; // Disabled, enabled.
} diff_enabled_scan;

// Sets the receivers of a run.
static void diff_enabled_readers(const diff_enabled_scan* s, uint32_t run)
{
    const struct orri_baseline* baseline = s->diff->baseline;
    const orri_runs* run_list = &baseline->run_list;
    const uint64_t* trackers = s->what.type != NULL ? orri_baseline_trackers(baseline, s->what.type)
                                                    : baseline->enabled_readers;
    for (uint32_t w = 0; w < baseline->words; w++) {
        size_t i = (size_t)run * baseline->words + w;
        uint64_t before = s->enters ? ~run_list->before[i] : run_list->before[i];
        run_list->to[i] = before & run_list->after[i] & trackers[w] & baseline->enabled_readers[w];
    }
}

// Lists the items of a run. A run without items has no receiver. False when refused (reported).
static bool diff_enabled_list(const diff_enabled_scan* s, uint32_t i)
{
    struct orri_baseline* baseline = s->diff->baseline;
    orri_run* run = &baseline->run_list.runs[i];
    uint64_t* to = baseline->run_list.to + (size_t)i * baseline->words;
    diff_enabled_state states[ORR_INSTANCES_MAX];
    diff_enabled_readers(s, i);
    run->item = baseline->run_list.item_count;
    run->item_count = 0;
    if (!run->any_disabled || !orri_set_any(to, baseline->words)) {
        memset(to, 0, baseline->words * sizeof *to);
        return true;
    }
    uint32_t count =
        diff_enabled_states(s->diff, &s->what, run->chunk, run->slot, run->index, states);
    for (uint32_t k = 0; k < count; k++) {
        if (s->enters ? states[k].off : states[k].off != states[k].baseline_off) {
            if (!orri_runs_item(s->diff->world, &baseline->run_list, states[k].id,
                                &s->values[!states[k].off])) {
                return false;
            }
            run->item_count++;
        }
    }
    if (run->item_count == 0) {
        memset(to, 0, baseline->words * sizeof *to);
    }
    return true;
}

static bool diff_enabled_dispatch(diff_enabled_scan* s)
{
    orri_runs* run_list = &s->diff->baseline->run_list;
    orr_type what = {s->what.type != NULL ? s->what.type->type->id : 0};
    orr_type enabled = orr_type_find(s->diff->world, orr_desc_orr_enabled.name);
    s->values[0] = (orr_enabled){what, 0};
    s->values[1] = (orr_enabled){what, 1};
    run_list->item_count = 0;
    for (uint32_t i = 0; i < run_list->run_count; i++) {
        if (!diff_enabled_list(s, i)) {
            return false;
        }
    }
    return run_list->item_count == 0 ||
           orri_runs_dispatch(
               s->diff, &(orri_dispatch){.kind = ORR_COMPONENT_CHANGED,
                                         .type = orri_type_at(&s->diff->world->schema, enabled),
                                         .items = true,
                                         .forced = ORR_CAUSE_ENABLED});
}

// Room for the bits that will be stored. False when refused (reported).
static bool diff_enabled_reserve(const orri_diff* diff, const diff_enabled_what* what)
{
    struct orri_baseline* baseline = diff->baseline;
    orri_bitset* set = what->type == NULL ? &baseline->off : &what->type->off;
    for (uint32_t i = 0; i < baseline->run_list.run_count; i++) {
        const orri_run* run = &baseline->run_list.runs[i];
        if (run->any_disabled && !orri_bitset_reserve(diff->world, set, (uint64_t)run->index + 1)) {
            (void)orri_refuse_memory(&diff->world->env,
                                     "storing enable bits that were sent to readers");
            return false;
        }
    }
    return true;
}

bool orri_diff_enabled(orri_diff* diff, const orri_shape* shape)
{
    const orri_runs* run_list = &diff->baseline->run_list;
    bool any = false;
    for (uint32_t i = 0; i < run_list->run_count && !any; i++) {
        any = run_list->runs[i].any_disabled;
    }
    diff_enabled_scan s = {.diff = diff};
    for (uint32_t n = 0;
         any && diff_enabled_next(diff, shape->types, shape->type_count, &n, &s.what);) {
        if (!(s.what.type != NULL && s.what.type->multiple) &&
            !diff_enabled_reserve(diff, &s.what)) {
            return false;
        }
        for (uint32_t pass = 0; pass < 2; pass++) {
            s.enters = pass == 1;
            if (!diff_enabled_dispatch(&s)) {
                return false;
            }
        }
    }
    return true;
}

// Stores the states of instances by id.
static void diff_enabled_keep_cell(const diff_enabled_what* what, const diff_enabled_state* states,
                                   uint32_t count, uint32_t index)
{
    orri_baseline_cell* cell = orri_baseline_cell_at(what->type, index);
    for (uint32_t i = 0; cell != NULL && i < count; i++) {
        for (uint32_t k = 0; k < cell->count; k++) {
            cell->off[k] = cell->ids[k] == states[i].id ? states[i].off : cell->off[k];
        }
    }
}

void orri_diff_enabled_keep(orri_diff* diff, const orri_shape* shape, const orri_run* run)
{
    diff_enabled_state states[ORR_INSTANCES_MAX];
    diff_enabled_what what;
    for (uint32_t n = 0; run->any_disabled &&
                         diff_enabled_next(diff, shape->types, shape->type_count, &n, &what);) {
        uint32_t count =
            diff_enabled_states(diff, &what, run->chunk, run->slot, run->index, states);
        if (what.type != NULL && what.type->multiple) {
            diff_enabled_keep_cell(&what, states, count, run->index);
        } else {
            orri_bitset_put(what.type == NULL ? &diff->baseline->off : &what.type->off, run->index,
                            count > 0 && states[0].off);
        }
    }
    diff->baseline->off_ever = diff->baseline->off_ever || run->any_disabled;
}
