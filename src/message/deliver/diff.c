// SPDX-License-Identifier: MIT
// The diff: finds every difference between the world and the baseline, whatever its cause, and
// delivers it as messages. Versions show what may have changed: of index pages (destroyed
// entities), of row ids and enable bits (entities that were created, moved, enabled or disabled),
// of columns and of blocks of pinned values. A reader's copy is therefore correct by construction,
// and nothing in the store has to report changes. A diff after nothing but sent values compares only
// the rows to which they were written, since those are noted (dirty_rows.c).
//
//    1. destroyed entities   2. values   3. rows: members, types, tags, enable bits   4. delivery
//
// Values come before rows: when an entity enters another reader, the baseline is then current for
// all readers that already know the entity. Each step works by run lists. A run list is dispatched,
// or (memory) it is not, and then the next call finds everything again.
#include "message/deliver/baseline.h"

// ---- beginning and end --------------------------------------------------------------------------

static void diff_begin_work(struct orri_baseline* baseline)
{
    orri_runs_clear(baseline);
    memset(baseline->fresh, 0, baseline->words * sizeof *baseline->fresh);
    baseline->fresh_any = false;
}

// Prepares everything a diff needs. False when refused (reported).
static bool diff_begin(orri_diff* diff)
{
    struct orri_baseline* baseline = diff->baseline;
    if (!orri_baseline_refresh(diff->world, baseline) || !orri_baseline_prepare(diff)) {
        return false;
    }
    orri_world_settle(diff->world);
    diff_begin_work(baseline);
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        if (baseline->on[r]->fresh) {
            orri_bit_set(baseline->fresh, r, true);
            baseline->fresh_any = true;
        }
    }
    return true;
}

void orri_diff_deliver(struct orri_baseline* baseline, bool travels)
{
    for (uint32_t n = 0; n < ORRI_KINDS; n++) {
        // EntityRemoved is the last kind.
        uint32_t k = travels ? (n + ORR_ENTITY_REMOVED) % ORRI_KINDS : n;
        orri_batch *made = baseline->out_first[k], *next;
        baseline->out_first[k] = baseline->out_last[k] = NULL;
        for (; made != NULL; made = next) {
            next = made->next;
            // The last view that is released frees the batch: nothing of it is touched afterwards.
            for (uint32_t v = 0, count = made->view_count; v < count; v++) {
                orri_reader_deliver(&made->views[v]);
            }
        }
    }
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        baseline->on[r]->overflowed = false;
    }
}

// Delivers what is complete and frees the work space.
static void diff_end(orri_diff* diff, bool done)
{
    struct orri_baseline* baseline = diff->baseline;
    orri_runs_abandon(diff);
    // Within a tick nothing else happens before the next call, so that readers can get one complete
    // diff. Elsewhere an entity that left a reader may be back by then: deliver now.
    if (done || diff->world->context->busy == NULL) {
        orri_diff_deliver(baseline, diff->travels);
    }
    orri_diff_suspects_free(diff);
    orri_spares_trim(diff->world, baseline, false);
    orri_dirty_rows_clear(baseline);
    baseline->quiet_mark = done ? baseline->quiet_mark : 0; // What was noted is forgotten.
    orri_epoch_end(diff->world);                            // Later writes get a larger version.
}

// ---- values -------------------------------------------------------------------------------------

// The values of one type, by the way it is stored.
static bool diff_type(orri_diff* diff, orri_baseline_type* type, const orr_query* query)
{
    if (type->pinned) {
        return orri_diff_pinned(diff, type);
    }
    return type->multiple ? orri_diff_instances(diff, type, query)
                          : orri_diff_values(diff, type, query);
}

static bool diff_all_values(orri_diff* diff)
{
    struct orri_baseline* baseline = diff->baseline;
    for (uint32_t t = 0; t < baseline->type_count; t++) {
        orri_baseline_type* type = &baseline->types[t];
        if (type->tracked && !orri_diff_skips(diff, type) && !diff_type(diff, type, NULL)) {
            return false;
        }
    }
    return true;
}

// While systems of other pipelines run: compares only types that this pipeline writes.
static bool diff_own_values(orri_diff* diff)
{
    struct orri_baseline* baseline = diff->baseline;
    bool done = true;
    for (uint32_t t = 0; done && t < baseline->type_count; t++) {
        orri_baseline_type* type = &baseline->types[t];
        if (type->tracked && !orri_is_foreign(diff->foreign, t)) {
            done = (!type->pinned || orri_diff_suspect(diff, type)) && diff_type(diff, type, NULL);
            orri_diff_suspects_free(diff);
        }
    }
    return done;
}

// ---- what was written ---------------------------------------------------------------------------

// In real time other pipelines write meanwhile.
bool orri_diff_quiet(const orr_world* world)
{
    const struct orri_baseline* baseline = world->messages->baseline;
    if (world->realtime) {
        return false;
    }
    orri_world_settle(world);
    return world->written <= baseline->quiet_mark && !baseline->stale &&
           baseline->type_count == world->schema.type_count;
}

// Compares the noted rows: nothing else can differ. The order is that of a diff of everything.
static orr_result diff_noted(orri_diff* diff)
{
    struct orri_baseline* baseline = diff->baseline;
    bool done = true;
    diff_begin_work(baseline);
    for (uint32_t t = 0; done && t < baseline->type_count; t++) {
        orri_baseline_type* type = &baseline->types[t];
        done = type->note_count == 0 || orri_diff_values_noted(diff, type);
    }
    orr_result result = done ? ORR_OK : orri_env_result(&diff->world->env);
    diff_end(diff, done);
    return result;
}

// ---- calls --------------------------------------------------------------------------------------

// Heads and members equal the world now.
static void diff_settle_rows(orri_diff* diff)
{
    struct orri_baseline* baseline = diff->baseline;
    baseline->row_mark = diff->world->epoch;
    // After a travel the baseline may yet be changed to what readers knew then.
    bool all = diff->foreign == NULL && !diff->travels && !diff->world->realtime;
    baseline->quiet_mark = all ? diff->world->epoch : 0;
    for (uint32_t r = 0; r < baseline->on_count; r++) {
        baseline->on[r]->fresh = false;
    }
    orri_diff_owners_keep(diff);
}

orr_result orri_diff_run(orr_world* world, orr_system source, bool by_commit)
{
    return orri_diff_own(world, source, by_commit, NULL, true);
}

// All steps, in order. False when refused (reported).
static bool diff_structure(orri_diff* diff)
{
    bool done = orri_diff_destroyed(diff) && orri_diff_owners_reserve(diff) &&
                orri_diff_suspect(diff, NULL) && diff_all_values(diff) && orri_diff_rows(diff);
    if (done) {
        diff_settle_rows(diff);
    }
    return done;
}

static orr_result diff_do(orri_diff* diff, bool structure)
{
    if (!diff_begin(diff)) {
        return orri_env_result(&diff->world->env);
    }
    bool done = structure ? diff_structure(diff) : diff_own_values(diff);
    orr_result result = done ? ORR_OK : orri_env_result(&diff->world->env);
    diff_end(diff, done);
    return result;
}

orr_result orri_diff_own(orr_world* world, orr_system source, bool by_commit,
                         const orri_foreign* foreign, bool structure)
{
    if (!orri_has_readers(world)) {
        return ORR_OK;
    }
    bool quiet = orri_diff_quiet(world);
    if (quiet && world->messages->baseline->dirty_note_count == 0) {
        return ORR_OK;
    }
    orri_diff diff = {.world = world,
                      .baseline = world->messages->baseline,
                      .source = source,
                      .by_commit = by_commit,
                      .foreign = foreign,
                      .values_only = !structure};
    return quiet ? diff_noted(&diff) : diff_do(&diff, structure);
}

// Only a travel makes a cluster lose enable bits. New clusters are compared anyway.
static void diff_find_bits(const orr_world* world, const struct orri_baseline* baseline)
{
    for (const orri_cluster* c = world->clusters.first; c != NULL; c = c->next) {
        orri_baseline_cluster* record =
            c->index < baseline->cluster_count ? &baseline->clusters[c->index] : NULL;
        if (record != NULL && record->shape != NULL && record->match_bits != c->bits_added) {
            record->bits_changed = true;
        }
    }
}

static void diff_forget_bits(const struct orri_baseline* baseline)
{
    for (uint32_t i = 0; i < baseline->cluster_count; i++) {
        baseline->clusters[i].bits_changed = false;
    }
}

orr_result orri_diff_travel(orr_world* world)
{
    if (!orri_has_readers(world)) {
        return ORR_OK;
    }
    struct orri_baseline* baseline = world->messages->baseline;
    orri_dirty_rows_clear(baseline); // The notes are about the abandoned timeline.
    diff_find_bits(world, baseline);
    // A restored cluster may have the same count of enable bits, but other bits.
    baseline->numbering++;
    orr_result result =
        diff_do(&(orri_diff){.world = world, .baseline = baseline, .travels = true}, true);
    if (result == ORR_OK) {
        diff_forget_bits(baseline);
    }
    return result;
}

// The baseline of a type that the system wrote; NULL: not written, or not tracked.
static orri_baseline_type* diff_written_type(const orri_diff* diff, const orri_field* field)
{
    return field->access == ORR_WRITE
               ? orri_baseline_tracked(diff->baseline, orri_type_index(diff->world, field->type))
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
    if (!orri_has_readers(world)) {
        return ORR_OK;
    }
    const struct orri_baseline* baseline = world->messages->baseline;
    bool noted = baseline->dirty_note_count > 0;
    if ((!noted && world->loops.unstamped == 0 && orri_diff_quiet(world)) ||
        !diff_written_any(world, query)) {
        return ORR_OK;
    }
    if (orri_diff_quiet(world) && !noted) {
        return ORR_OK;
    }
    orri_diff diff = {.world = world,
                      .baseline = world->messages->baseline,
                      .source = source,
                      .values_only = true};
    if (!diff_begin(&diff)) {
        return orri_env_result(&world->env);
    }
    bool done = true;
    for (uint32_t f = 0; done && f < query->field_count; f++) {
        orri_baseline_type* type = diff_written_type(&diff, &query->fields[f]);
        if (type != NULL) {
            done = (!type->pinned || orri_diff_suspect(&diff, type)) &&
                   diff_type(&diff, type, query);
            orri_diff_suspects_free(&diff);
        }
    }
    orr_result result = done ? ORR_OK : orri_env_result(&world->env);
    diff_end(&diff, done);
    return result;
}
