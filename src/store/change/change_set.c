// SPDX-License-Identifier: MIT
// Change sets: everything that may be refused is prepared (change_detail.h says where), then all is made at once, or all is given
// back. What was left out, because it makes no sense, is told at the end.
#include "store/change/change_detail.h"
#include "store/relation/entity_name.h"

#include <stdio.h>

// ---- lists ---------------------------------------------------------------------------------------------------

bool orri_change_grow(orri_change* c, void** list, uint32_t* capacity, uint32_t needed, size_t size)
{
    if (orri_array_reserve(&c->world->env, ORR_MEMORY_TEMP, list, capacity, needed, size,
                           _Alignof(max_align_t))) {
        return true;
    }
    (void)orri_refuse_memory(&c->world->env, "preparing a change set");
    return false;
}

bool orri_change_leave(orri_change* c, orri_skipped left)
{
    if (!ORRI_CHANGE_ADD(c, c->lefts, c->left_count, c->left_capacity)) {
        return false;
    }
    c->lefts[c->left_count++] = left;
    return true;
}

// ---- refusals, held back ---------------------------------------------------------------------------------------

typedef struct change_set_held {
    orri_env_ear before;
    orr_result result;
    orr_log_id id;
    char text[ORRI_ERROR_SIZE];
} change_set_held;

static void change_set_keep_refusal(void* owner, orr_result result, orr_log_id id, const char* text)
{
    change_set_held* held = owner;
    held->result = result;
    held->id = id;
    snprintf(held->text, sizeof held->text, "%s", text);
}

// Of this thread: systems of other pipelines may be refused something at the same time.
static void change_set_hold(const orri_env* env, change_set_held* held)
{
    held->before = orri_ear_here;
    orri_ear_here = (orri_env_ear){env, change_set_keep_refusal, held};
}

static void change_set_let_go(const change_set_held* held)
{
    orri_ear_here = held->before;
}

// ---- beginning -------------------------------------------------------------------------------------------------

static bool change_set_alloc(orri_change* c)
{
    orri_env* env = &c->world->env;
    c->parts = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, orri_part, (size_t)c->desc->count + 1);
    for (uint32_t g = 0; c->parts != NULL && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        bool one = group->deed != ORRI_CHANGE_KIND_DESTROY && group->count > 0;
        ORR_ASSERT(group->count <= 1 || !one ||
                   (group->instance_count == 0 && group->switch_count == 0 && !group->renamed));
        c->place_count +=
            group->deed != ORRI_CHANGE_KIND_CREATE && group->places == NULL ? group->count : 0;
        c->create_count += group->deed == ORRI_CHANGE_KIND_CREATE ? group->count : 0;
        c->parts[g].deed_first = c->deed_count;
        c->parts[g].switch_first = c->switch_count;
        c->parts[g].text = c->text_count;
        c->deed_count += one ? group->instance_count : 0;
        c->switch_count += one ? group->switch_count : 0;
        c->text_count += one && group->renamed && group->name != NULL;
        c->name_count += one && group->renamed;
    }
    c->places = ORRI_ALLOC(env, ORR_MEMORY_TEMP, uint32_t, c->place_count);
    c->deeds = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, bool, c->deed_count);
    c->instances = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, void*, c->deed_count);
    c->switches = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, bool, c->switch_count);
    c->texts = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, orr_string, c->text_count);
    c->names = ORRI_ALLOC(env, ORR_MEMORY_TEMP, uint32_t, c->name_count);
    return c->parts != NULL && c->places != NULL && c->deeds != NULL && c->instances != NULL &&
           c->switches != NULL && c->texts != NULL && c->names != NULL &&
           ORRI_CHANGE_ADD(c, c->routes, c->route_count, c->route_capacity);
}

static orr_result change_set_route(orri_change* c)
{
    uint32_t* places = c->places;
    orr_result result = ORR_OK;
    for (uint32_t g = 0; result == ORR_OK && g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        bool looks = group->deed != ORRI_CHANGE_KIND_CREATE && group->places == NULL;
        c->parts[g].places = looks ? places : group->places;
        result = orri_change_route(c, g, looks ? places : NULL);
        places += looks ? group->count : 0;
    }
    return result;
}

// The ids of all creations, one after another.
static const orr_entity* change_set_ids(orri_change* c)
{
    uint32_t at = 0;
    for (uint32_t g = 0; g < c->desc->count; g++) {
        const orri_group* group = &c->desc->groups[g];
        if (group->deed != ORRI_CHANGE_KIND_CREATE || group->count == 0) {
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

static void change_set_say(const orri_change* c, const orri_skipped* left, orri_text* out);

// For who wants all or nothing.
static orr_result change_set_whole(orri_change* c)
{
    if (ORR_LIKELY(!c->desc->whole || c->left_count == 0)) {
        return ORR_OK;
    }
    const orri_skipped* left = &c->lefts[0];
    char words[ORRI_ERROR_SIZE / 2];
    orri_text text = {words, sizeof words, 0};
    change_set_say(c, left, &text);
    orri_id_text who = orri_entity_format(c->world, left->entity);
    return orri_refuse(&c->world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_CALL_REFUSED,
                       "%s: entity %s cannot be made so: %s", c->desc->call, who.text, words);
}

// Last of all that may be refused: nothing gives the ids' order back.
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
    if (c->desc->in_line && orri_index_nth(c->world, &cursor, 0).id == ids[0].id) {
        return orri_index_reserve(c->world, "creating entities", c->create_count);
    }
    return orri_index_promote(c->world, ids, c->create_count) ? ORR_OK
                                                              : orri_env_result(&c->world->env);
}

static orr_result change_set_prepare(orri_change* c)
{
    if (!change_set_alloc(c)) {
        return orri_refuse_memory(&c->world->env, "beginning a change set");
    }
    orr_result (*const steps[])(orri_change*) = {
        change_set_route, orri_change_reserve, orri_change_stage, orri_change_stage_extras,
        orri_change_link, change_set_whole,    change_set_promote};
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < ORRI_COUNT(steps); i++) {
        result = steps[i](c);
    }
    return result;
}

// ---- ending ----------------------------------------------------------------------------------------------------

static void change_set_clear_scratch(orri_change* c)
{
    for (uint32_t i = 0; i < c->cluster_count; i++) {
        orri_cluster* cluster = c->clusters[i];
        cluster->batch_count = cluster->batch_incoming = cluster->batch_tail = 0;
        cluster->batch_route = 0;
        cluster->batch_listed = false;
    }
}

// Gives everything back, the last first, so that numbers of clusters return as they came.
static void change_set_abandon(orri_change* c)
{
    orr_world* world = c->world;
    orri_change_unlink(c);
    orri_change_unstage_extras(c);
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

static void change_set_free_fallen(orri_change* c)
{
    orri_env* env = &c->world->env;
    uint32_t count = c->cascade.count - c->cascade.given_count;
    ORRI_FREE(env, ORR_MEMORY_TEMP, orr_entity, (void*)(uintptr_t)c->fallen.entities, count);
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint32_t, c->fallen_places, count);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->cascade.list, c->cascade.capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->late, c->late_capacity);
    if (c->ahead.bits != NULL) {
        ORRI_FREE(env, ORR_MEMORY_TEMP, uint64_t, c->ahead.bits, c->ahead.end / 64 + 1);
    }
}

static void change_set_free(orri_change* c)
{
    orri_env* env = &c->world->env;
    change_set_free_copies(c);
    change_set_free_fallen(c);
    if (c->instance_memory != NULL) {
        orri_free(env, ORR_MEMORY_TEMP, c->instance_memory, c->instance_size, ORRI_BLOCK_ALIGN);
    }
    ORRI_FREE(env, ORR_MEMORY_TEMP, orri_part, c->parts, (size_t)c->desc->count + 1);
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint32_t, c->places, c->place_count);
    ORRI_FREE(env, ORR_MEMORY_TEMP, bool, c->deeds, c->deed_count);
    ORRI_FREE(env, ORR_MEMORY_TEMP, void*, c->instances, c->deed_count);
    ORRI_FREE(env, ORR_MEMORY_TEMP, bool, c->switches, c->switch_count);
    ORRI_FREE(env, ORR_MEMORY_TEMP, orr_string, c->texts, c->text_count);
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint32_t, c->names, c->name_count);
    ORRI_FREE(env, ORR_MEMORY_TEMP, orr_entity, c->ids, c->create_count);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->routes, c->route_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->columns, c->column_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->clusters, c->cluster_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->created, c->created_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->route_lefts, c->route_left_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->made, c->made_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->fillings, c->filling_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, c->marks, c->mark_capacity);
}

// ---- what was left out -----------------------------------------------------------------------------------------

static void change_set_say_name(const orri_change* c, const orri_skipped* left, orri_text* out)
{
    static const char* const before[] = {[ORRI_NAME_INVALID] = "",
                                         [ORRI_NAME_SCOPE_DEAD] = "the scope of its name ",
                                         [ORRI_NAME_SCOPE_BELOW] = "the scope of its name ",
                                         [ORRI_NAME_TAKEN] = "the name "};
    static const char* const after[] = {
        [ORRI_NAME_INVALID] = "is no name for an entity",
        [ORRI_NAME_SCOPE_DEAD] = "is dead",
        [ORRI_NAME_SCOPE_BELOW] = "is the entity itself or below it",
        [ORRI_NAME_TAKEN] = "is taken in its scope"};
    orri_text_add(out, "%s'%.63s' %s", before[left->number], c->desc->groups[left->group].name,
                  after[left->number]);
}

static void change_set_say(const orri_change* c, const orri_skipped* left, orri_text* out)
{
    const char* type = orri_type_label(c->world, left->type);
    switch (left->why) {
    case ORRI_SKIPPED_NEEDED:
        orri_text_add(out, "%s is needed by %s", type, orri_type_label(c->world, left->other));
        break;
    case ORRI_SKIPPED_MULTIPLE:
        orri_text_add(out, "%s is multiple, and it has some already", type);
        break;
    case ORRI_SKIPPED_UNIQUE:
        orri_text_add(out, "%s is unique and has no instances", type);
        break;
    case ORRI_SKIPPED_INSTANCE:
        orri_text_add(out, "it has no %s with id %u", type, left->number);
        break;
    case ORRI_SKIPPED_INSTANCES_MAX:
        orri_text_add(out, "it has as many of %s as it can have", type);
        break;
    case ORRI_SKIPPED_TAGS_MAX:
        orri_text_add(out, "it has %u tags, as many as it can have", ORR_CLUSTER_TAGS_MAX);
        break;
    case ORRI_SKIPPED_TYPES_MAX:
        orri_text_add(out, "with %s it would have more than %u types, the most it can have", type,
                      ORR_CLUSTER_TYPES_MAX);
        break;
    case ORRI_SKIPPED_CLUSTERS_MAX:
        orri_text_add(out,
                      "it would be the first with its components and tags, and the world has %u "
                      "clusters, as many as it may have; raise clusters_max",
                      c->world->limits.clusters);
        break;
    case ORRI_SKIPPED_COMPONENT:
        orri_text_add(out, "it has no %s", type);
        break;
    case ORRI_SKIPPED_NAME_TYPE:
        orri_text_add(out, "%s is written by naming only", type);
        break;
    case ORRI_SKIPPED_NAME:
        change_set_say_name(c, left, out);
        break;
    }
}

// The callback may look at the world, which is done with.
static void change_set_tell(const orri_change* c)
{
    for (uint32_t i = 0; c->desc->left_out != NULL && i < c->left_count; i++) {
        const orri_skipped* left = &c->lefts[i];
        char words[ORRI_ERROR_SIZE / 2];
        orri_text text = {words, sizeof words, 0};
        change_set_say(c, left, &text);
        c->desc->left_out(c->desc->user, left->group, left->entity, left->type, words);
    }
}

orr_result orri_change_set_apply(orr_world* world, const orri_change_set_desc* desc)
{
    orr_result result = orri_check_open(world, desc->call);
    if (result != ORR_OK) {
        return result;
    }
    orri_change c = {.world = world, .desc = desc, .instance_last = world->instance_last};
    change_set_held held = {.result = ORR_OK};
    c.cascade.world = world;
    change_set_hold(&world->env, &held);
    result = change_set_prepare(&c);
    if (result == ORR_OK) {
        orri_change_make(&c);
        change_set_clear_scratch(&c);
    } else {
        change_set_abandon(&c);
    }
    change_set_free(&c);
    change_set_let_go(&held);
    if (result == ORR_OK) {
        change_set_tell(&c);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_TEMP, c.lefts, c.left_capacity);
    if (result != ORR_OK) {
        ORR_ASSERT(held.result != ORR_OK);
        result = orri_refuse(&world->env, held.result, held.id, "%s", held.text);
    }
    return result;
}
