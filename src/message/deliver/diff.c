// SPDX-License-Identifier: MIT
// Telling: finds every difference between the world and what readers were told, whoever made it, and hands it out as
// messages. What may have changed is found by versions: of index pages (who died), of row ids and enable bits (who came,
// went, moved or was switched), of columns and of blocks of pinned values. So a reader's mirror is right by construction,
// and nothing in the store has to report anything.
//
//   1. the dead     2. values     3. rows: who enters and leaves which reader, types, tags, switches     4. hand out
//
// Values come before rows: then what was told of an entity is what all who know it know, and whoever enters knows no less.
// Each step tells piece by piece; a piece is told, or (memory) is not, and then all is found again by the next call.
#include "message/deliver/baseline.h"

// ---- beginning and end ----------------------------------------------------------------------------------------

static bool diff_begin(orri_diff* tell)
{
    struct orri_baseline* told = tell->told;
    if (!orri_baseline_refresh(tell->world, told) || !orri_baseline_prepare(tell)) {
        return false;
    }
    orri_world_settle(tell->world);
    orri_runs_clear(told);
    memset(told->fresh, 0, told->words * sizeof *told->fresh);
    told->fresh_any = false;
    for (uint32_t r = 0; r < told->on_count; r++) {
        if (told->on[r]->fresh) {
            orri_bit_set(told->fresh, r, true);
            told->fresh_any = true;
        }
    }
    return true;
}

void orri_diff_hand_out(struct orri_baseline* told)
{
    for (uint32_t k = 0; k < ORRI_KINDS; k++) {
        orri_batch *made = told->out_first[k], *next;
        told->out_first[k] = told->out_last[k] = NULL;
        for (; made != NULL; made = next) {
            next = made->next;
            // The last view that is released frees the batch: nothing of it is touched afterwards.
            for (uint32_t v = 0, count = made->view_count; v < count; v++) {
                orri_reader_deliver(&made->views[v]);
            }
        }
    }
    for (uint32_t r = 0; r < told->on_count; r++) {
        told->on[r]->shut = false;
    }
}

static void diff_end(orri_diff* tell, bool done)
{
    struct orri_baseline* told = tell->told;
    orri_runs_abandon(tell);
    // In a tick nothing happens before the next call: readers will see one tell. Elsewhere who left may be back by then.
    if (done || tell->world->context->busy == NULL) {
        orri_diff_hand_out(told);
    }
    orri_diff_unsuspect(tell);
    orri_spares_trim(tell->world, told, false);
    orri_dirty_rows_clear(told);
    orri_epoch_end(tell->world); // What is written from now on has a larger version.
}

// ---- values ------------------------------------------------------------------------------------------------------

static bool diff_type(orri_diff* tell, orri_baseline_type* type, const orr_query* query)
{
    if (type->pinned) {
        return orri_diff_pinned(tell, type);
    }
    return type->multiple ? orri_diff_instances(tell, type, query)
                          : orri_diff_values(tell, type, query);
}

static bool diff_all_values(orri_diff* tell)
{
    struct orri_baseline* told = tell->told;
    for (uint32_t t = 0; t < told->type_count; t++) {
        orri_baseline_type* type = &told->types[t];
        if (type->tracked && !orri_diff_skips(tell, type) && !diff_type(tell, type, NULL)) {
            return false;
        }
    }
    return true;
}

// While systems of other pipelines run: nothing but what this one wrote.
static bool diff_own_values(orri_diff* tell)
{
    struct orri_baseline* told = tell->told;
    bool done = true;
    for (uint32_t t = 0; done && t < told->type_count; t++) {
        orri_baseline_type* type = &told->types[t];
        if (type->tracked && !orri_is_foreign(tell->foreign, t)) {
            done = (!type->pinned || orri_diff_suspect(tell, type)) && diff_type(tell, type, NULL);
            orri_diff_unsuspect(tell);
        }
    }
    return done;
}

// ---- the calls ---------------------------------------------------------------------------------------------------

// From now on heads and members are as the world is.
static void diff_settle_rows(orri_diff* tell)
{
    struct orri_baseline* told = tell->told;
    told->row_mark = tell->world->epoch;
    for (uint32_t r = 0; r < told->on_count; r++) {
        told->on[r]->fresh = false;
    }
    orri_diff_owners_keep(tell);
}

orr_result orri_diff_run(orr_world* world, orr_system source, bool by_commit)
{
    return orri_diff_own(world, source, by_commit, NULL, true);
}

static bool diff_structure(orri_diff* tell)
{
    bool done = orri_diff_dead(tell) && orri_diff_owners_reserve(tell) &&
                orri_diff_suspect(tell, NULL) && diff_all_values(tell) && orri_diff_rows(tell);
    if (done) {
        diff_settle_rows(tell);
    }
    return done;
}

static orr_result diff_do(orri_diff* tell, bool structure)
{
    if (!diff_begin(tell)) {
        return orri_env_result(&tell->world->env);
    }
    bool done = structure ? diff_structure(tell) : diff_own_values(tell);
    orr_result result = done ? ORR_OK : orri_env_result(&tell->world->env);
    diff_end(tell, done);
    return result;
}

orr_result orri_diff_own(orr_world* world, orr_system source, bool by_commit,
                         const orri_foreign* foreign, bool structure)
{
    if (!orri_has_readers(world)) {
        return ORR_OK;
    }
    orri_diff tell = {.world = world,
                      .told = world->messages->told,
                      .source = source,
                      .by_commit = by_commit,
                      .foreign = foreign};
    return diff_do(&tell, structure);
}

// Only in going back does a cluster lose its enable bits. Clusters that are new are looked at anyway.
static void diff_find_bits(const orr_world* world, const struct orri_baseline* told)
{
    for (const orri_cluster* c = world->clusters.first; c != NULL; c = c->next) {
        orri_baseline_cluster* record = c->index < told->cluster_count ? &told->clusters[c->index]
                                                                       : NULL;
        if (record != NULL && record->shape != NULL && record->match_bits != c->bits_added) {
            record->rebit = true;
        }
    }
}

static void diff_forget_bits(const struct orri_baseline* told)
{
    for (uint32_t i = 0; i < told->cluster_count; i++) {
        told->clusters[i].rebit = false;
    }
}

orr_result orri_diff_travel(orr_world* world)
{
    if (!orri_has_readers(world)) {
        return ORR_OK;
    }
    struct orri_baseline* told = world->messages->told;
    orri_dirty_rows_clear(told); // They are of rows that were written.
    diff_find_bits(world, told);
    told->numbering++; // A cluster that came back may have got its bits as often, and others.
    orr_result result = diff_do(&(orri_diff){.world = world, .told = told, .travels = true}, true);
    if (result == ORR_OK) {
        diff_forget_bits(told);
    }
    return result;
}

static orri_baseline_type* diff_written_type(const orri_diff* tell, const orri_field* field)
{
    return field->access == ORR_WRITE
               ? orri_baseline_tracked(tell->told, orri_type_index(tell->world, field->type))
               : NULL;
}

static bool diff_written_any(const orr_world* world, const orr_query* query)
{
    bool any = false;
    for (uint32_t f = 0; f < query->field_count && !any; f++) {
        any = query->fields[f].access == ORR_WRITE && orri_tracked(world, query->fields[f].type);
    }
    return any;
}

orr_result orri_diff_written(orr_world* world, const orr_query* query, orr_system source)
{
    if (!orri_has_readers(world) || !diff_written_any(world, query)) {
        return ORR_OK;
    }
    orri_diff tell = {.world = world, .told = world->messages->told, .source = source};
    if (!diff_begin(&tell)) {
        return orri_env_result(&world->env);
    }
    bool done = true;
    for (uint32_t f = 0; done && f < query->field_count; f++) {
        orri_baseline_type* type = diff_written_type(&tell, &query->fields[f]);
        if (type != NULL) {
            done = (!type->pinned || orri_diff_suspect(&tell, type)) &&
                   diff_type(&tell, type, query);
            orri_diff_unsuspect(&tell);
        }
    }
    orr_result result = done ? ORR_OK : orri_env_result(&world->env);
    diff_end(&tell, done);
    return result;
}
