// SPDX-License-Identifier: MIT
// After a travel: gives the recorded entities their recorded baseline, so that the next diff finds
// the same differences as it would have found then.
#include "message/past/baseline_past.h"

// Everything that may be refused.
static bool baseline_restore_reserve(orr_world* world, struct orri_baseline* baseline,
                                     const orri_baseline_past* past)
{
    uint64_t last = past->entities[past->count - 1].index;
    bool done = orri_baseline_heads(world, baseline, last + 1) &&
                orri_bitset_reserve(world, &baseline->off, last + 1);
    for (uint32_t r = 0; done && r < baseline->on_count; r++) {
        done = orri_bitset_reserve(world, &baseline->on[r]->members, last + 1);
    }
    for (uint32_t i = 0; done && i < past->count; i++) {
        const orri_past_entity* entity = &past->entities[i];
        for (uint32_t v = 0; done && v < entity->value_count; v++) {
            const orri_past_value* value = &past->values[entity->value + v];
            orri_baseline_type* type = orri_baseline_tracked(baseline, value->type_index);
            if (type == NULL) {
                continue;
            }
            done = !value->off ||
                   orri_bitset_reserve(world, &type->off, (uint64_t)entity->index + 1);
            done = done && (!value->present ||
                            (type->multiple
                                 ? orri_baseline_room_cell(world, type, entity->index, value->count)
                                 : orri_baseline_room(world, type, entity->index)));
        }
    }
    for (uint32_t i = 0; done && i < past->owner_count; i++) {
        orri_baseline_type* type = &baseline->types[past->owners[i].type_index];
        uint32_t old = type->owner_count;
        done = ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &type->owners, &type->owner_count,
                            past->owners[i].count);
        for (uint32_t k = old; done && k < type->owner_count; k++) {
            type->owners[k] = ORRI_INDEX_NONE;
        }
    }
    if (!done) {
        (void)orri_refuse_memory(&world->env, "restoring changes that readers have not received");
    }
    return done;
}

// Readers outside of the state that know some of these entities receive EntityRemoved, and the next
// diff sends EntityAdded with all values: their baseline was the world, not what is restored here.
static bool baseline_restore_send_removed(orri_diff* diff, const orri_baseline_past* past)
{
    struct orri_baseline* baseline = diff->baseline;
    orri_runs* run_list = &baseline->run_list;
    uint64_t* before = baseline->set + 2 * baseline->words;
    orri_runs_clear(baseline);
    for (uint32_t i = 0; i < past->count; i++) {
        uint32_t index = past->entities[i].index;
        memset(before, 0, baseline->words * sizeof *before);
        for (uint32_t r = 0; r < baseline->on_count; r++) {
            bool knows = baseline->on[r]->outside &&
                         orri_bitset_has(&baseline->on[r]->members, index);
            orri_bit_set(before, r, knows);
            // The next diff compares the members of this reader, and sends EntityAdded again.
            baseline->on[r]->fresh = baseline->on[r]->fresh || knows;
        }
        if (!orri_set_any(before, baseline->words)) {
            continue;
        }
        if (!orri_runs_room(diff)) {
            return false;
        }
        orri_runs_push(baseline,
                       &(orri_run){.index = index,
                                   .count = 1,
                                   .shape1 = orri_head_at(baseline, index)->shape1},
                       before, before);
    }
    size_t words = (size_t)run_list->run_count * baseline->words;
    memcpy(run_list->to, run_list->before, words * sizeof *run_list->to);
    if (!orri_runs_dispatch(diff, &(orri_dispatch){.kind = ORR_ENTITY_REMOVED, .forced = -1})) {
        orri_runs_abandon(diff);
        return false;
    }
    orri_runs_keep(diff);
    orri_diff_deliver(baseline, false);
    return true;
}

// Removes everything that the baseline says of an entity.
static void baseline_restore_clear(orr_world* world, struct orri_baseline* baseline, uint32_t index)
{
    orri_head* head = orri_head_at(baseline, index);
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        orri_bitset_put(&baseline->on[r]->members, index, false);
    }
    orri_bitset_put(&baseline->off, index, false);
    if (head->generation == 0) {
        return;
    }
    orri_shape* shape = orri_shape_at(baseline, head->shape1);
    for (uint32_t i = 0; i < shape->type_count + world->pinned.count; i++) {
        bool pinned = i >= shape->type_count;
        orr_type id = pinned ? (orr_type){world->pinned.list[i - shape->type_count]->type->id}
                             : shape->types[i];
        orri_baseline_type* type = orri_baseline_tracked(baseline, orri_type_index(world, id));
        orri_baseline_cell* cell =
            type != NULL && type->multiple ? orri_baseline_cell_at(type, index) : NULL;
        if (cell != NULL) { // Keeps its room: the recorded values are stored there.
            orri_rows_release(type->type, cell->values, cell->count);
            cell->count = 0;
        } else if (type != NULL) {
            orri_baseline_drop(world, type, index);
        }
    }
    *head = (orri_head){0};
    (*orri_heads_known(baseline, index))--;
    orri_shape_release(world, baseline, shape, 1);
}

static void baseline_restore_put_value(const orr_world* world, const orri_baseline_past* past,
                                       const orri_past_value* value, orri_baseline_type* type,
                                       uint32_t index)
{
    const uint8_t* bytes = past->bytes + value->at;
    orri_bitset_put(&type->off, index, value->off);
    orri_baseline_instances now = value->same
                                      ? orri_instances_now(world, type, index)
                                      : (orri_baseline_instances){value->count, NULL, bytes};
    if (!value->present || now.count != value->count) {
        return;
    }
    if (!type->multiple) {
        orri_baseline_put(type, index, now.values, 1);
        return;
    }
    size_t values = ((size_t)value->count * type->type->info.size + 15) & ~(size_t)15;
    size_t ids = (value->count * sizeof(uint32_t) + 15) & ~(size_t)15;
    orri_baseline_instances then = {value->count, (const uint32_t*)(const void*)(bytes + values),
                                    now.values};
    orri_baseline_put_cell(type, index, &then);
    memcpy(orri_baseline_cell_at(type, index)->off, bytes + values + ids, value->count);
}

static void baseline_restore_put_members(struct orri_baseline* baseline,
                                         const orri_baseline_past* past, uint32_t i)
{
    const uint64_t* set = past->words > 0 ? past->members + (size_t)i * past->words : NULL;
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        for (uint32_t n = 0; n < past->reader_count && !baseline->on[r]->fresh; n++) {
            if (past->serials[n] == baseline->on[r]->serial && orri_bit_get(set, n)) {
                orri_bitset_put(&baseline->on[r]->members, past->entities[i].index, true);
            }
        }
    }
}

// Restores one entity.
static void baseline_restore_put(orr_world* world, struct orri_baseline* baseline,
                                 const orri_baseline_past* past, uint32_t i)
{
    const orri_past_entity* entity = &past->entities[i];
    baseline_restore_clear(world, baseline, entity->index);
    baseline_restore_put_members(baseline, past, i);
    orri_bitset_put(&baseline->off, entity->index, entity->off);
    baseline->off_ever = baseline->off_ever || entity->off;
    if (entity->generation == 0) {
        return;
    }
    *orri_head_at(baseline, entity->index) =
        (orri_head){entity->generation, entity->shape->number1};
    (*orri_heads_known(baseline, entity->index))++;
    entity->shape->refs++;
    for (uint32_t v = 0; v < entity->value_count; v++) {
        const orri_past_value* value = &past->values[entity->value + v];
        orri_baseline_type* type = orri_baseline_tracked(baseline, value->type_index);
        baseline->off_ever = baseline->off_ever || value->off;
        if (type != NULL) {
            baseline_restore_put_value(world, past, value, type, entity->index);
        }
    }
}

// Resets all marks: the next diff compares everything.
static void baseline_restore_unmark(struct orri_baseline* baseline)
{
    baseline->index_mark = baseline->row_mark = baseline->quiet_mark = 0;
    for (uint32_t t = 0; t < baseline->type_count; t++) {
        baseline->types[t].mark = baseline->types[t].value_mark = 0;
    }
    for (uint32_t c = 0; c < baseline->cluster_count; c++) {
        const orri_baseline_cluster* record = &baseline->clusters[c];
        if (record->shape != NULL && record->shape->type_count > 0) {
            memset(record->seen, 0, record->shape->type_count * sizeof *record->seen);
        }
    }
}

bool orri_baseline_restore(orr_world* world, const orri_baseline_past* past)
{
    if (past == NULL || past->count == 0 || !orri_has_readers(world)) {
        return true;
    }
    orri_diff diff = {.world = world, .baseline = world->messages->baseline, .travels = true};
    if (!baseline_restore_reserve(world, diff.baseline, past) ||
        !baseline_restore_send_removed(&diff, past)) {
        return false;
    }
    for (uint32_t i = 0; i < past->count; i++) {
        baseline_restore_put(world, diff.baseline, past, i);
    }
    for (uint32_t i = 0; i < past->owner_count; i++) {
        const orri_past_owners* owners = &past->owners[i];
        orri_baseline_type* type = &diff.baseline->types[owners->type_index];
        for (uint32_t k = 0; k < type->owner_count; k++) {
            type->owners[k] = k < owners->count ? owners->owners[k] : ORRI_INDEX_NONE;
        }
    }
    baseline_restore_unmark(diff.baseline);
    return true;
}
