// SPDX-License-Identifier: MIT
// Runs a change set: prepares everything that can be refused, step by step (change_detail.h lists
// the files), then executes the set, or undoes all steps. At the end the skipped changes are
// reported.
#include "store/change/change_detail.h"
#include "store/relation/entity_name.h"

#include <stdio.h>

// ---- lists --------------------------------------------------------------------------------------

bool orri_change_grow(orri_change* c, void** list, uint32_t* capacity, uint32_t needed, size_t size)
{
    if (orri_array_reserve(&c->world->env, ORR_MEMORY_TEMP, list, capacity, needed, size,
                           _Alignof(max_align_t))) {
        return true;
    }
    (void)orri_refuse_memory(&c->world->env, "preparing a change set");
    return false;
}

bool orri_change_skip(orri_change* c, orri_skip skip)
{
    if (!ORRI_CHANGE_ADD(c, c->skips, c->skip_count, c->skip_capacity)) {
        return false;
    }
    c->skips[c->skip_count++] = skip;
    return true;
}

// ---- withheld refusals --------------------------------------------------------------------------

// The last refusal of this thread while a set is prepared. It is reported once the set is undone:
// an error handler may read the world, and must not see a world in between.
typedef struct change_set_refusal {
    orri_refusal_redirect before; // Redirect that was set before.
    orr_result result;
    orr_log_id id;
    char text[ORRI_ERROR_SIZE];
} change_set_refusal;

static void change_set_on_refusal(void* owner, orr_result result, orr_log_id id, const char* text)
{
    change_set_refusal* refusal = owner;
    refusal->result = result;
    refusal->id = id;
    snprintf(refusal->text, sizeof refusal->text, "%s", text);
}

// Captures the refusals of this thread only: systems of other pipelines may be refused something at
// the same time.
static void change_set_capture_begin(const orri_env* env, change_set_refusal* refusal)
{
    refusal->before = orri_redirect_here;
    orri_redirect_here = (orri_refusal_redirect){env, change_set_on_refusal, refusal};
}

static void change_set_capture_end(const change_set_refusal* refusal)
{
    orri_redirect_here = refusal->before;
}

// ---- beginning ----------------------------------------------------------------------------------

// Allocates the lists of changes that are not whole columns of rows.
static bool change_set_alloc_sparse(orri_change* c)
{
    orri_env* env = &c->world->env;
    if ((c->instance_count | c->enable_count | c->name_count) == 0) {
        return true;
    }
    c->instance_applies = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, bool, c->instance_count);
    c->instance_values = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, void*, c->instance_count);
    c->enable_applies = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, bool, c->enable_count);
    c->texts = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, orr_string, c->text_count);
    c->names = ORRI_ALLOC(env, ORR_MEMORY_TEMP, uint32_t, c->name_count);
    return c->instance_applies != NULL && c->instance_values != NULL && c->enable_applies != NULL &&
           c->texts != NULL && c->names != NULL;
}

// Counts what the groups need and allocates all lists of known size.
static bool change_set_alloc(orri_change* c)
{
    orri_env* env = &c->world->env;
    c->work = c->desc->count <= 1
                  ? c->work_one
                  : ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, orri_group_work, c->desc->count + 1);
    for (uint32_t g = 0; c->work != NULL && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        bool sparse = group->kind != ORRI_CHANGE_KIND_DESTROY && group->count > 0;
        bool creates = group->kind == ORRI_CHANGE_KIND_CREATE;
        ORR_ASSERT(group->count <= 1 || !sparse ||
                   ((group->instance_count == 0 || creates) && group->enable_count == 0 &&
                    !group->renamed));
        c->place_count += !creates && group->places == NULL ? group->count : 0;
        c->create_count += creates ? group->count : 0;
        c->work[g].instance_first = c->instance_count;
        c->work[g].enable_first = c->enable_count;
        c->work[g].text = c->text_count;
        c->instance_count += sparse ? group->instance_count : 0;
        c->enable_count += sparse ? group->enable_count : 0;
        c->text_count += sparse && group->renamed && group->name != NULL;
        c->name_count += sparse && group->renamed;
    }
    c->places = ORRI_ALLOC(env, ORR_MEMORY_TEMP, uint32_t, c->place_count);
    return c->work != NULL && c->places != NULL && change_set_alloc_sparse(c) &&
           ORRI_CHANGE_ADD(c, c->routes, c->route_count, c->route_capacity);
}

// Finds the routes of all groups.
static orr_result change_set_route(orri_change* c)
{
    uint32_t* places = c->places;
    orr_result result = ORR_OK;
    for (uint32_t g = 0; result == ORR_OK && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        bool lookup = group->kind != ORRI_CHANGE_KIND_CREATE && group->places == NULL;
        c->work[g].places = lookup ? places : group->places;
        result = orri_change_route(c, g, lookup ? places : NULL);
        places += lookup ? group->count : 0;
    }
    return result;
}

// The ids of all creations, one after another. NULL when refused (reported).
static const orr_entity* change_set_ids(orri_change* c)
{
    uint32_t at = 0;
    for (uint32_t g = 0; g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        if (group->kind != ORRI_CHANGE_KIND_CREATE || group->count == 0) {
            continue;
        }
        if (group->count == c->create_count) {
            return group->entities;
        }
        if (c->ids == NULL) {
            c->ids = ORRI_ALLOC(&c->world->env, ORR_MEMORY_TEMP, orr_entity, c->create_count);
        }
        if (c->ids == NULL) {
            (void)orri_refuse_memory(&c->world->env, "creating entities");
            return NULL;
        }
        memcpy(c->ids + at, group->entities, group->count * sizeof *c->ids);
        at += group->count;
    }
    return c->ids;
}

static void change_set_explain(const orri_change* c, const orri_skip* skip, orri_text* out);

// Refuses a strict set with the first skipped change as the reason.
static orr_result change_set_check_strict(orri_change* c)
{
    if (ORR_LIKELY(!c->desc->strict || c->skip_count == 0)) {
        return ORR_OK;
    }
    const orri_skip* skip = &c->skips[0];
    char reason[ORRI_ERROR_SIZE / 2];
    orri_text text = {reason, sizeof reason, 0};
    change_set_explain(c, skip, &text);
    orri_id_text name = orri_entity_format(c->world, skip->entity);
    return orri_refuse(&c->world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_CALL_REFUSED,
                       "%s: entity %s cannot be changed: %s", c->desc->call, name.text, reason);
}

// Moves the ids of all creations to the head of the creation queue. This is the last step that can
// be refused, because the former order of the queue cannot be restored.
static orr_result change_set_promote(orri_change* c)
{
    if (c->create_count == 0) {
        return ORR_OK;
    }
    const orr_entity* ids = change_set_ids(c);
    if (ids == NULL) {
        return ORR_ERR_MEMORY;
    }
    orri_index_cursor cursor = {0};
    if (c->desc->ids_in_order && orri_index_nth(c->world, &cursor, 0).id == ids[0].id) {
        return orri_index_reserve(c->world, "creating entities", c->create_count);
    }
    bool promoted =
        orri_index_promote(c->world, ids, c->create_count, c->desc->id_runs, c->desc->id_run_count);
    return promoted ? ORR_OK : orri_env_result(&c->world->env);
}

// Runs all steps that can be refused, in order.
static orr_result change_set_prepare(orri_change* c)
{
    if (!change_set_alloc(c)) {
        return orri_refuse_memory(&c->world->env, "starting a change set");
    }
    orr_result (*const steps[])(orri_change*) = {
        change_set_route, orri_change_reserve,     orri_change_stage, orri_change_stage_sparse,
        orri_change_link, change_set_check_strict, change_set_promote};
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < ORRI_COUNT(steps); i++) {
        result = steps[i](c);
    }
    return result;
}

// ---- ending -------------------------------------------------------------------------------------

// Scratch fields of clusters are 0 outside of a batch or change set (S10).
static void change_set_clear_scratch(orri_change* c)
{
    for (uint32_t i = 0; i < c->cluster_count; i++) {
        orri_cluster* cluster = c->clusters[i];
        cluster->batch_count = cluster->batch_incoming = cluster->batch_tail = 0;
        cluster->batch_route = 0;
        cluster->batch_listed = false;
    }
}

// Undoes all steps, the last one first: then the free list of cluster numbers is as before, which
// is state.
static void change_set_abandon(orri_change* c)
{
    orr_world* world = c->world;
    orri_change_unlink(c);
    orri_change_unstage_sparse(c);
    orri_change_unstage(c);
    for (uint32_t i = 0; i < c->cluster_count; i++) {
        orri_cluster* to = c->clusters[i];
        if (to->batch_incoming == 0) {
            continue;
        }
        orri_cluster_trim(world, to);
        if (to->row_count < to->row_capacity && to->chunk_count > 0) {
            orri_chunk* last = to->chunks[to->chunk_count - 1];
            uint32_t rows = orri_chunk_rows(last);
            orri_rows_close(last, rows, last->capacity - rows);
        }
    }
    change_set_clear_scratch(c);
    for (uint32_t i = c->created_count; i-- > 0;) {
        orri_cluster_undo(world, c->created[i]);
    }
    world->instance_last = c->instance_last;
    orri_index_trim(world);
}

static void change_set_free_copies(orri_change* c)
{
    for (uint32_t i = 0; i < c->copies_count; i++) {
        orri_free(&c->world->env, ORR_MEMORY_TEMP, c->copies[i].data,
                  orri_size_mul(c->copies[i].type->info.size, c->copies[i].capacity),
                  ORRI_BLOCK_ALIGN);
    }
    ORRI_RELEASE(&c->world->env, ORR_MEMORY_TEMP, c->copies, c->copies_capacity);
}

static void change_set_free_cascade(orri_change* c)
{
    orri_env* env = &c->world->env;
    uint32_t count = c->cascade.count - c->cascade.given_count;
    ORRI_FREE(env, ORR_MEMORY_TEMP, orr_entity, (void*)(uintptr_t)c->cascaded.entities, count);
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint32_t, c->cascaded_places, count);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->cascade.list, c->cascade.capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->destroyed_last, c->destroyed_last_capacity);
    if (c->reserved.bits != NULL) {
        ORRI_FREE(env, ORR_MEMORY_TEMP, uint64_t, c->reserved.bits, c->reserved.end / 64 + 1);
    }
}

static void change_set_free(orri_change* c)
{
    orri_env* env = &c->world->env;
    change_set_free_copies(c);
    change_set_free_cascade(c);
    if (c->instance_memory != NULL) {
        orri_free(env, ORR_MEMORY_TEMP, c->instance_memory, (size_t)c->instance_size,
                  ORRI_BLOCK_ALIGN);
    }
    if (c->work != c->work_one) {
        ORRI_FREE(env, ORR_MEMORY_TEMP, orri_group_work, c->work, c->desc->count + 1);
    }
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint32_t, c->places, c->place_count);
    if ((c->instance_count | c->enable_count | c->name_count) != 0) {
        ORRI_FREE(env, ORR_MEMORY_TEMP, bool, c->instance_applies, c->instance_count);
        ORRI_FREE(env, ORR_MEMORY_TEMP, void*, c->instance_values, c->instance_count);
        ORRI_FREE(env, ORR_MEMORY_TEMP, bool, c->enable_applies, c->enable_count);
        ORRI_FREE(env, ORR_MEMORY_TEMP, orr_string, c->texts, c->text_count);
        ORRI_FREE(env, ORR_MEMORY_TEMP, uint32_t, c->names, c->name_count);
    }
    ORRI_FREE(env, ORR_MEMORY_TEMP, orr_entity, c->ids, c->create_count);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->routes, c->route_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->columns, c->column_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->clusters, c->cluster_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->created, c->created_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->route_skips, c->route_skip_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->made, c->made_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->pool_fills, c->pool_fill_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->marks, c->mark_capacity);
}

// ---- skipped changes ----------------------------------------------------------------------------

static void change_set_explain_name(const orri_change* c, const orri_skip* skip, orri_text* out)
{
    static const char* const before[] = {[ORRI_NAME_INVALID] = "",
                                         [ORRI_NAME_SCOPE_DEAD] = "the scope of the name ",
                                         [ORRI_NAME_SCOPE_BELOW] = "the scope of the name ",
                                         [ORRI_NAME_TAKEN] = "the name "};
    static const char* const after[] = {
        [ORRI_NAME_INVALID] = "is not a valid entity name",
        [ORRI_NAME_SCOPE_DEAD] = "is dead",
        [ORRI_NAME_SCOPE_BELOW] = "is the entity itself or below it",
        [ORRI_NAME_TAKEN] = "is taken in its scope"};
    orri_text_add(out, "%s'%.63s' %s", before[skip->number], c->desc->groups[skip->group].name,
                  after[skip->number]);
}

// Writes the reason why a change is skipped, as a clause.
static void change_set_explain(const orri_change* c, const orri_skip* skip, orri_text* out)
{
    const char* type = orri_type_label(c->world, skip->type);
    switch (skip->why) {
    case ORRI_SKIP_NEEDED:
        orri_text_add(out, "%s is needed by %s", type, orri_type_label(c->world, skip->other));
        break;
    case ORRI_SKIP_MULTIPLE:
        orri_text_add(out, "%s is multiple and the entity has instances; give an instance id",
                      type);
        break;
    case ORRI_SKIP_UNIQUE:
        orri_text_add(out, "%s is unique and has no instances", type);
        break;
    case ORRI_SKIP_INSTANCE:
        orri_text_add(out, "the entity has no %s with id %u", type, skip->number);
        break;
    case ORRI_SKIP_INSTANCES_MAX:
        orri_text_add(out, "the entity has as many instances of %s as it can have", type);
        break;
    case ORRI_SKIP_TAGS_MAX:
        orri_text_add(out, "the entity has %u tags, as many as it can have", ORR_CLUSTER_TAGS_MAX);
        break;
    case ORRI_SKIP_TYPES_MAX:
        orri_text_add(out, "with %s the entity would have more than %u types", type,
                      ORR_CLUSTER_TYPES_MAX);
        break;
    case ORRI_SKIP_CLUSTERS_MAX:
        orri_text_add(out,
                      "no cluster has its components and tags, and the world has %u clusters, as "
                      "many as it may have; raise clusters_max",
                      c->world->limits.clusters);
        break;
    case ORRI_SKIP_COMPONENT:
        orri_text_add(out, "the entity has no %s", type);
        break;
    case ORRI_SKIP_NAME_TYPE:
        orri_text_add(out, "%s is set by naming the entity only", type);
        break;
    case ORRI_SKIP_NAME:
        change_set_explain_name(c, skip, out);
        break;
    }
}

// Result that a call for this single change would have returned.
static orr_result change_set_skip_result(const orri_skip* skip)
{
    static const orr_result results[] = {
        [ORRI_SKIP_NEEDED] = ORR_ERR_CONFLICT,        [ORRI_SKIP_MULTIPLE] = ORR_ERR_ARGUMENT,
        [ORRI_SKIP_UNIQUE] = ORR_ERR_ARGUMENT,        [ORRI_SKIP_INSTANCE] = ORR_ERR_ABSENT,
        [ORRI_SKIP_INSTANCES_MAX] = ORR_ERR_CAPACITY, [ORRI_SKIP_TAGS_MAX] = ORR_ERR_CAPACITY,
        [ORRI_SKIP_TYPES_MAX] = ORR_ERR_CAPACITY,     [ORRI_SKIP_CLUSTERS_MAX] = ORR_ERR_CAPACITY,
        [ORRI_SKIP_COMPONENT] = ORR_ERR_ABSENT,       [ORRI_SKIP_NAME_TYPE] = ORR_ERR_ARGUMENT,
        [ORRI_SKIP_NAME] = ORR_ERR_CONFLICT,
    };
    bool dead_scope = skip->why == ORRI_SKIP_NAME && skip->number == ORRI_NAME_SCOPE_DEAD;
    bool invalid = skip->why == ORRI_SKIP_NAME && skip->number == ORRI_NAME_INVALID;
    return dead_scope ? ORR_ERR_ENTITY : invalid ? ORR_ERR_NAME : results[skip->why];
}

// The callback may read the world: the set is applied completely.
static void change_set_report_skips(const orri_change* c)
{
    for (uint32_t i = 0; c->desc->on_skipped != NULL && i < c->skip_count; i++) {
        const orri_skip* skip = &c->skips[i];
        char words[ORRI_ERROR_SIZE / 2];
        orri_text text = {words, sizeof words, 0};
        change_set_explain(c, skip, &text);
        c->desc->on_skipped(c->desc->user, skip->group, skip->entity, skip->type,
                            change_set_skip_result(skip), words);
    }
}

orr_result orri_change_set_apply(orr_world* world, const orri_change_set_desc* desc)
{
    orr_result result = orri_check_open(world, desc->call);
    if (result != ORR_OK) {
        return result;
    }
    orri_change c = {.world = world, .desc = desc, .instance_last = world->instance_last};
    change_set_refusal refusal; // Large, so it is not zeroed.
    refusal.result = ORR_OK;
    c.cascade.world = world;
    change_set_capture_begin(&world->env, &refusal);
    result = change_set_prepare(&c);
    if (result == ORR_OK) {
        orri_change_execute(&c);
        change_set_clear_scratch(&c);
    } else {
        change_set_abandon(&c);
    }
    change_set_free(&c);
    change_set_capture_end(&refusal);
    if (result == ORR_OK) {
        change_set_report_skips(&c);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_TEMP, c.skips, c.skip_capacity);
    if (result != ORR_OK) {
        ORR_ASSERT(refusal.result != ORR_OK);
        result = orri_refuse(&world->env, refusal.result, refusal.id, "%s", refusal.text);
    }
    return result;
}
