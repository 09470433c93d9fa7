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
#include "message/told.h"

// ---- beginning and end ----------------------------------------------------------------------------------------

static bool tell_begin(orri_telling* tell)
{
    struct orri_told* told = tell->told;
    if (!orri_told_refresh(tell->world, told) || !orri_told_prepare(tell)) {
        return false;
    }
    orri_world_settle(tell->world);
    orri_piece_clear(told);
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

void orri_told_hand_out(struct orri_told* told)
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

static void tell_end(orri_telling* tell, bool done)
{
    struct orri_told* told = tell->told;
    orri_piece_abandon(tell);
    // In a tick nothing happens before the next call: readers will see one tell. Elsewhere who left may be back by then.
    if (done || tell->world->busy == NULL) {
        orri_told_hand_out(told);
    }
    orri_tell_unsuspect(tell);
    orri_spares_trim(tell->world, told, false);
    orri_touches_clear(told);
    orri_epoch_end(tell->world); // What is written from now on has a larger version.
}

// ---- values ------------------------------------------------------------------------------------------------------

static bool tell_type(orri_telling* tell, orri_told_type* type, const orr_query* query)
{
    if (type->pinned) {
        return orri_tell_pinned(tell, type);
    }
    return type->multiple ? orri_tell_instances(tell, type, query)
                          : orri_tell_values(tell, type, query);
}

static bool tell_all_values(orri_telling* tell)
{
    struct orri_told* told = tell->told;
    for (uint32_t t = 0; t < told->type_count; t++) {
        orri_told_type* type = &told->types[t];
        if (type->tracked && !orri_tell_skips(tell, type) && !tell_type(tell, type, NULL)) {
            return false;
        }
    }
    return true;
}

// While systems of other pipelines run: nothing but what this one wrote.
static bool tell_own_values(orri_telling* tell)
{
    struct orri_told* told = tell->told;
    bool done = true;
    for (uint32_t t = 0; done && t < told->type_count; t++) {
        orri_told_type* type = &told->types[t];
        if (type->tracked && !orri_is_foreign(tell->foreign, t)) {
            done = (!type->pinned || orri_tell_suspect(tell, type)) && tell_type(tell, type, NULL);
            orri_tell_unsuspect(tell);
        }
    }
    return done;
}

// ---- the calls ---------------------------------------------------------------------------------------------------

// From now on heads and members are as the world is.
static void tell_settle_rows(orri_telling* tell)
{
    struct orri_told* told = tell->told;
    told->row_mark = tell->world->epoch;
    for (uint32_t r = 0; r < told->on_count; r++) {
        told->on[r]->fresh = false;
    }
    orri_tell_owners_keep(tell);
}

orr_result orri_tell(orr_world* world, orr_system source, bool by_commit)
{
    return orri_tell_own(world, source, by_commit, NULL, true);
}

static bool tell_structure(orri_telling* tell)
{
    bool done = orri_tell_dead(tell) && orri_tell_owners_reserve(tell) &&
                orri_tell_suspect(tell, NULL) && tell_all_values(tell) && orri_tell_rows(tell);
    if (done) {
        tell_settle_rows(tell);
    }
    return done;
}

static orr_result tell_do(orri_telling* tell, bool structure)
{
    if (!tell_begin(tell)) {
        return orri_env_result(&tell->world->env);
    }
    bool done = structure ? tell_structure(tell) : tell_own_values(tell);
    orr_result result = done ? ORR_OK : orri_env_result(&tell->world->env);
    tell_end(tell, done);
    return result;
}

orr_result orri_tell_own(orr_world* world, orr_system source, bool by_commit,
                         const orri_foreign* foreign, bool structure)
{
    if (!orri_has_readers(world)) {
        return ORR_OK;
    }
    orri_telling tell = {.world = world,
                         .told = world->messages->told,
                         .source = source,
                         .by_commit = by_commit,
                         .foreign = foreign};
    return tell_do(&tell, structure);
}

// Only in going back does a cluster lose its enable bits. Clusters that are new are looked at anyway.
static void tell_find_bits(const orr_world* world, const struct orri_told* told)
{
    for (const orri_cluster* c = world->cluster_first; c != NULL; c = c->next) {
        orri_told_cluster* record = c->index < told->cluster_count ? &told->clusters[c->index]
                                                                   : NULL;
        if (record != NULL && record->shape != NULL && record->match_bits != c->bits_added) {
            record->rebit = true;
        }
    }
}

static void tell_forget_bits(const struct orri_told* told)
{
    for (uint32_t i = 0; i < told->cluster_count; i++) {
        told->clusters[i].rebit = false;
    }
}

orr_result orri_tell_travel(orr_world* world)
{
    if (!orri_has_readers(world)) {
        return ORR_OK;
    }
    struct orri_told* told = world->messages->told;
    orri_touches_clear(told); // They are of rows that were written.
    tell_find_bits(world, told);
    told->numbering++; // A cluster that came back may have got its bits as often, and others.
    orr_result result =
        tell_do(&(orri_telling){.world = world, .told = told, .travels = true}, true);
    if (result == ORR_OK) {
        tell_forget_bits(told);
    }
    return result;
}

static orri_told_type* tell_written_type(const orri_telling* tell, const orri_field* field)
{
    return field->access == ORR_WRITE
               ? orri_told_tracked(tell->told, orri_type_index(tell->world, field->type))
               : NULL;
}

static bool tell_written_any(const orr_world* world, const orr_query* query)
{
    bool any = false;
    for (uint32_t f = 0; f < query->field_count && !any; f++) {
        any = query->fields[f].access == ORR_WRITE && orri_tracked(world, query->fields[f].type);
    }
    return any;
}

orr_result orri_tell_written(orr_world* world, const orr_query* query, orr_system source)
{
    if (!orri_has_readers(world) || !tell_written_any(world, query)) {
        return ORR_OK;
    }
    orri_telling tell = {.world = world, .told = world->messages->told, .source = source};
    if (!tell_begin(&tell)) {
        return orri_env_result(&world->env);
    }
    bool done = true;
    for (uint32_t f = 0; done && f < query->field_count; f++) {
        orri_told_type* type = tell_written_type(&tell, &query->fields[f]);
        if (type != NULL) {
            done = (!type->pinned || orri_tell_suspect(&tell, type)) &&
                   tell_type(&tell, type, query);
            orri_tell_unsuspect(&tell);
        }
    }
    orr_result result = done ? ORR_OK : orri_env_result(&world->env);
    tell_end(&tell, done);
    return result;
}
