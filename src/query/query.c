// SPDX-License-Identifier: MIT
// Creating, refreshing and destroying queries. A query owns copies of everything that its desc
// points to. A query that combines two others owns copies of their leaves.
#include "query/query.h"
#include "store/world/access.h"

// ---- checking a desc ----------------------------------------------------------------------------

// A checked desc: all terms and fields of the new query, before anything is allocated.
typedef struct query_plan {
    orr_world* world;
    const char* call; // Public call, for error texts.
    const orr_query_desc* desc;
    orr_term terms[ORR_TERMS_MAX]; // Of `terms` and `text` of the desc.
    uint32_t term_count;
    orr_enable_state entities;
    orri_field fields[ORR_TERMS_MAX];
    uint32_t field_count;
} query_plan;

// Reports an error. `name` is the type that is wrong, or "".
static orr_result query_refuse(const query_plan* plan, orr_result result, const char* what,
                               const char* name)
{
    return orri_refuse(&plan->world->env, result, ORR_LOG_ID_QUERY_REFUSED, "%s: %s%s%s",
                       plan->call, name, name[0] != '\0' ? ": " : "", what);
}

static orr_result query_check_term(const query_plan* plan, const orr_term* term)
{
    if ((unsigned)term->kind > ORR_ANY || (unsigned)term->access > ORR_WRITE ||
        (unsigned)term->state > ORR_EITHER) {
        return query_refuse(plan, ORR_ERR_ARGUMENT, "a term has an invalid kind, access or state",
                            "");
    }
    if (term->type.id == 0 && term->tag == 0 &&
        orri_type_starved(&plan->world->schema, NULL, 0) != NULL) {
        return orri_refuse_type(plan->world, plan->call, term->type);
    }
    if (term->type.id == 0) {
        bool plain = term->access == ORR_READ && !term->changed && term->state == ORR_ENABLED;
        const char* wrong = term->tag == 0 ? "a term names neither a type nor a tag; was its type "
                                             "refused at registration? (tag 0 cannot be queried)"
                            : term->kind == ORR_OPTIONAL
                                ? "a tag cannot be optional; leave the term out"
                            : !plain ? "a term on a tag cannot have an access, state or changed"
                                     : NULL;
        return wrong == NULL ? ORR_OK : query_refuse(plan, ORR_ERR_ARGUMENT, wrong, "");
    }
    const orri_type* type = orri_type_at(&plan->world->schema, term->type);
    if (type == NULL) {
        return orri_refuse_type(plan->world, plan->call, term->type);
    }
    const char* wrong = NULL;
    bool stored = !orri_type_pseudo(type);
    if (!stored && ((term->kind != ORR_OPTIONAL && term->kind != ORR_REQUIRED) ||
                    term->access == ORR_WRITE || term->changed || term->state != ORR_ENABLED)) {
        wrong = "every entity counts as having it, and it has no column; name it only to receive "
                "its changes, with '?' before it";
    } else if (term->kind == ORR_WITHOUT && (term->access == ORR_WRITE || term->changed)) {
        wrong = "an excluded type cannot be written or changed";
    } else if (term->changed && type->info.storage == ORR_PINNED) {
        wrong = "a term on a pinned type cannot be changed: changes are tracked by chunk";
    } else if (term->kind == ORR_OPTIONAL && term->state == ORR_DISABLED) {
        wrong = "an optional term cannot require the disabled state";
    } else if (term->access == ORR_WRITE && orri_type_written_by_set(type)) {
        wrong = "a type with indexed references, or orr_name, cannot be written in place; read it "
                "here, and use orr_set() or orr_name_set() after the loop";
    }
    return wrong == NULL ? ORR_OK : query_refuse(plan, ORR_ERR_ARGUMENT, wrong, type->info.name);
}

// Refuses term `t` if an earlier term names the same type or tag, except in different choices.
static orr_result query_check_twice(const query_plan* plan, uint32_t t)
{
    const orr_term* term = &plan->terms[t];
    for (uint32_t i = 0; i < t; i++) {
        const orr_term* other = &plan->terms[i];
        bool choices = other->kind == ORR_ANY && term->kind == ORR_ANY &&
                       other->group != term->group;
        if (!choices && other->type.id == term->type.id && other->tag == term->tag) {
            const orri_type* type = orri_type_at(&plan->world->schema, term->type);
            return query_refuse(
                plan, ORR_ERR_ARGUMENT,
                "two terms name it; name it once, or once in each of several choices",
                type != NULL ? type->info.name : "a tag");
        }
    }
    return ORR_OK;
}

// Every entity has the pseudo types (orr_enabled, orr_tags), so a required term is the same as an
// optional one.
static void query_relax_pseudo(const query_plan* plan, orr_term* term)
{
    const orri_type* type = orri_type_at(&plan->world->schema, term->type);
    if (type != NULL && orri_type_pseudo(type)) {
        term->kind = ORR_OPTIONAL;
    }
}

// Collects and checks the terms of a query without a set operation.
static orr_result query_gather(query_plan* plan)
{
    const orr_query_desc* desc = plan->desc;
    if (desc->terms == NULL && desc->term_count > 0) {
        return query_refuse(plan, ORR_ERR_ARGUMENT,
                            "terms is NULL but term_count is not 0; set both or neither", "");
    }
    if (desc->term_count > ORR_TERMS_MAX) {
        return query_refuse(plan, ORR_ERR_CAPACITY, "more than ORR_TERMS_MAX terms; use fewer", "");
    }
    for (uint32_t t = 0; t < desc->term_count; t++) {
        plan->terms[t] = desc->terms[t];
        plan->terms[t].tag = desc->terms[t].type.id == 0 ? desc->terms[t].tag : 0;
    }
    plan->term_count = desc->term_count;
    plan->entities = desc->entities;
    if (desc->text != NULL) {
        orr_result result = orri_terms_parse(plan->world, plan->call, desc->text, plan->terms,
                                             &plan->term_count, &plan->entities, false);
        if (result != ORR_OK) {
            return result;
        }
    }
    for (uint32_t t = 0; t < plan->term_count; t++) {
        orr_result result = query_check_term(plan, &plan->terms[t]);
        result = result == ORR_OK ? query_check_twice(plan, t) : result;
        if (result != ORR_OK) {
            return result;
        }
        query_relax_pseudo(plan, &plan->terms[t]);
    }
    return (unsigned)plan->entities <= ORR_EITHER
               ? ORR_OK
               : query_refuse(plan, ORR_ERR_ARGUMENT, "entities is not a value of orr_enable_state",
                              "");
}

static orr_result query_check_set(const query_plan* plan)
{
    const orr_query_desc* desc = plan->desc;
    const char* wrong = NULL;
    if ((unsigned)desc->set > ORR_DIFFERENCE || desc->left == NULL || desc->right == NULL) {
        wrong = "a set needs ORR_UNION, ORR_INTERSECTION or ORR_DIFFERENCE, and left and right";
    } else if (desc->left->world != plan->world || desc->right->world != plan->world) {
        wrong = "left and right must be queries of this world";
    } else if (desc->text != NULL || desc->term_count > 0 || desc->predicate != NULL ||
               desc->order_by != NULL || desc->group_by != NULL || desc->entities != ORR_ENABLED) {
        wrong = "a set takes its terms, predicates and entities from left and right; leave text, "
                "terms, predicate, order_by, group_by and entities unset";
    } else if (desc->left->has_changed || desc->right->has_changed) {
        wrong = "queries with changed terms cannot be combined; remove `changed` from their terms";
    } else if (desc->left->leaf_count + desc->right->leaf_count > ORR_TERMS_MAX) {
        return query_refuse(plan, ORR_ERR_CAPACITY,
                            "more than ORR_TERMS_MAX queries in a set; combine fewer", "");
    }
    return wrong == NULL ? ORR_OK : query_refuse(plan, ORR_ERR_ARGUMENT, wrong, "");
}

// ---- fields: types whose columns a loop can use -------------------------------------------------

static orr_result query_add_field(query_plan* plan, orr_type type, orr_access access)
{
    for (uint32_t f = 0; f < plan->field_count; f++) {
        if (plan->fields[f].type.id == type.id) {
            if (access == ORR_WRITE) {
                plan->fields[f].access = ORR_WRITE;
            }
            return ORR_OK;
        }
    }
    if (plan->field_count == ORR_TERMS_MAX) {
        return query_refuse(plan, ORR_ERR_CAPACITY,
                            "more than ORR_TERMS_MAX types in a set; combine fewer queries", "");
    }
    const orri_type* info = orri_type_at(&plan->world->schema, type);
    plan->fields[plan->field_count++] = (orri_field){type, info, access,
                                                     info->info.storage == ORR_PINNED,
                                                     info->info.multiplicity == ORR_MULTIPLE};
    return ORR_OK;
}

static orr_result query_gather_fields(query_plan* plan)
{
    orr_result result = ORR_OK;
    for (uint32_t t = 0; t < plan->term_count && result == ORR_OK; t++) {
        const orr_term* term = &plan->terms[t];
        if (term->type.id != 0 && term->kind != ORR_WITHOUT) {
            result = query_add_field(plan, term->type, term->access);
        }
    }
    const orr_query* sides[2] = {plan->desc->left, plan->desc->right};
    for (uint32_t s = 0; s < 2 && plan->desc->set != ORR_SET_NONE; s++) {
        for (uint32_t f = 0; f < sides[s]->field_count && result == ORR_OK; f++) {
            result = query_add_field(plan, sides[s]->fields[f].type, sides[s]->fields[f].access);
        }
    }
    return result;
}

// ---- creating -----------------------------------------------------------------------------------

static bool query_init_leaf(orr_query* query, uint32_t number, const orri_leaf* from)
{
    orri_leaf* leaf = &query->leaves[number];
    *leaf = *from;
    leaf->terms = ORRI_ALLOC(&query->world->env, ORR_MEMORY_QUERY, orr_term, from->term_count);
    if (leaf->terms == NULL) {
        leaf->term_count = 0;
        return false;
    }
    if (from->term_count > 0) {
        memcpy(leaf->terms, from->terms, from->term_count * sizeof *from->terms);
    }
    return true;
}

static bool query_init_terms(orr_query* query, const query_plan* plan)
{
    orri_leaf leaf = {(orr_term*)(uintptr_t)plan->terms, plan->term_count, plan->entities,
                      plan->desc->predicate, plan->desc->user};
    query->nodes[0] = (orri_set_node){ORR_SET_NONE, 0};
    return query_init_leaf(query, 0, &leaf);
}

static bool query_init_set(orr_query* query, const query_plan* plan)
{
    const orr_query* sides[2] = {plan->desc->left, plan->desc->right};
    uint32_t node = 0, leaf = 0;
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t n = 0; n < sides[s]->node_count; n++) {
            query->nodes[node] = sides[s]->nodes[n];
            query->nodes[node++].leaf += leaf;
        }
        for (uint32_t l = 0; l < sides[s]->leaf_count; l++) {
            if (!query_init_leaf(query, leaf++, &sides[s]->leaves[l])) {
                return false;
            }
        }
    }
    query->nodes[node] = (orri_set_node){plan->desc->set, 0};
    return true;
}

// Sets required_bloom, by_row and has_changed from the terms.
static void query_init_summary(orr_query* query)
{
    bool combined = query->node_count > 1;
    for (uint32_t l = 0; l < query->leaf_count; l++) {
        const orri_leaf* leaf = &query->leaves[l];
        query->by_row = query->by_row || leaf->entities == ORR_DISABLED;
        for (uint32_t t = 0; t < leaf->term_count; t++) {
            const orr_term* term = &leaf->terms[t];
            const orri_type* type = orri_type_at(&query->world->schema, term->type);
            bool pinned = type != NULL && type->info.storage == ORR_PINNED;
            query->by_row = query->by_row || term->state == ORR_DISABLED ||
                            (pinned && term->kind != ORR_OPTIONAL);
            query->has_changed = query->has_changed || term->changed;
            if (!combined && !pinned && term->kind == ORR_REQUIRED && type != NULL) {
                query->required_bloom |= (uint64_t)1 << (term->type.id & 63);
            }
        }
    }
}

static bool query_init_name(orr_query* query, const char* name)
{
    if (name == NULL) {
        return true;
    }
    size_t size = strlen(name) + 1;
    query->name = orri_alloc(&query->world->env, ORR_MEMORY_QUERY, size, 1);
    if (query->name != NULL) {
        memcpy(query->name, name, size);
    }
    return query->name != NULL;
}

static bool query_init(orr_query* query, const query_plan* plan)
{
    orri_env* env = &query->world->env;
    const orr_query_desc* desc = plan->desc;
    bool set = desc->set != ORR_SET_NONE;
    uint32_t leaves = set ? desc->left->leaf_count + desc->right->leaf_count : 1;
    uint32_t nodes = set ? desc->left->node_count + desc->right->node_count + 1 : 1;
    query->leaves = ORRI_ALLOC_ZERO(env, ORR_MEMORY_QUERY, orri_leaf, leaves);
    query->leaf_count = query->leaves != NULL ? leaves : 0;
    query->nodes = ORRI_ALLOC(env, ORR_MEMORY_QUERY, orri_set_node, nodes);
    query->node_count = query->nodes != NULL ? nodes : 0;
    query->fields = ORRI_ALLOC(env, ORR_MEMORY_QUERY, orri_field, plan->field_count);
    query->hot_fields = ORRI_ALLOC_ZERO(env, ORR_MEMORY_QUERY, orr_hot_field, plan->field_count);
    query->field_count = plan->field_count;
    if (query->leaves == NULL || query->nodes == NULL || query->fields == NULL ||
        query->hot_fields == NULL || !query_init_name(query, desc->name) ||
        !(set ? query_init_set(query, plan) : query_init_terms(query, plan))) {
        (void)orri_refuse_memory(env, "creating a query");
        return false;
    }
    if (plan->field_count > 0) {
        memcpy(query->fields, plan->fields, plan->field_count * sizeof *plan->fields);
    }
    for (uint32_t f = 0; f < plan->field_count; f++) {
        query->hot_fields[f].size = plan->fields[f].info->info.size;
        query->writes = query->writes || plan->fields[f].access == ORR_WRITE;
    }
    query->map_stride = query->field_count + 1 + query->leaf_count;
    query->cache_stride = sizeof(orr_hot_span) + query->field_count * sizeof(orr_hot_cell);
    query->group_by = desc->group_by;
    query->group_user = desc->user;
    query_init_summary(query);
    return orri_entries_build(query);
}

static void query_free(orr_query* query)
{
    orri_env* env = &query->world->env;
    orri_order_destroy(query);
    orri_pinned_matches_destroy(query);
    orri_run_cache_term(query);
    orri_units_term(query);
    orri_entries_term(query);
    for (uint32_t l = 0; l < query->leaf_count; l++) {
        ORRI_FREE(env, ORR_MEMORY_QUERY, orr_term, query->leaves[l].terms,
                  query->leaves[l].term_count);
    }
    ORRI_FREE(env, ORR_MEMORY_QUERY, orri_leaf, query->leaves, query->leaf_count);
    ORRI_FREE(env, ORR_MEMORY_QUERY, orri_set_node, query->nodes, query->node_count);
    ORRI_FREE(env, ORR_MEMORY_QUERY, orri_field, query->fields, query->field_count);
    ORRI_FREE(env, ORR_MEMORY_QUERY, orr_hot_field, query->hot_fields, query->field_count);
    if (query->name != NULL) {
        orri_free(env, ORR_MEMORY_QUERY, query->name, strlen(query->name) + 1, 1);
    }
    ORRI_FREE(env, ORR_MEMORY_QUERY, orr_query, query, 1);
}

// True if every entity of the query has some pinned type. Then the pinned set is iterated, not the
// clusters.
static bool query_requires_pinned(const orr_query* query)
{
    bool found = false;
    for (uint32_t t = 0; query->node_count == 1 && t < query->leaves[0].term_count; t++) {
        const orr_term* term = &query->leaves[0].terms[t];
        const orri_type* type = orri_type_at(&query->world->schema, term->type);
        found = found ||
                (type != NULL && term->kind == ORR_REQUIRED && type->info.storage == ORR_PINNED);
    }
    return found && !query->has_changed;
}

static orr_query* query_make(const query_plan* plan)
{
    orr_world* world = plan->world;
    orr_query* query = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_QUERY, orr_query, 1);
    if (query == NULL) {
        (void)orri_refuse_memory(&world->env, "creating a query");
        return NULL;
    }
    query->world = world;
    bool ordered = plan->desc->order_by != NULL && plan->desc->order_by[0] != '\0';
    bool made = query_init(query, plan);
    if (made && ordered) {
        made = orri_order_create(query, plan->desc->order_by, plan->desc->order_descending) ==
               ORR_OK;
    } else if (made && query_requires_pinned(query)) {
        made = orri_pinned_matches_create(query);
    }
    if (!made || !orri_listen(world, query)) {
        query_free(query);
        return NULL;
    }
    return query;
}

static orr_query* query_create(orr_world* world, const char* call, const orr_query_desc* desc)
{
    if (ORR_UNLIKELY(orri_access_checked(world))) {
        (void)orri_refuse_running(world, call);
        return NULL;
    }
    query_plan plan = {.world = world, .call = call, .desc = desc};
    orr_result result = desc->set == ORR_SET_NONE ? query_gather(&plan) : query_check_set(&plan);
    result = result == ORR_OK ? query_gather_fields(&plan) : result;
    return result == ORR_OK ? query_make(&plan) : NULL;
}

orr_query* orr_query_create(orr_world* world, const orr_query_desc* desc)
{
    ORR_ASSERT(world != NULL);
    static const orr_query_desc all = {0};
    return query_create(world, "orr_query_create", desc != NULL ? desc : &all);
}

orr_query* orr_query_text(orr_world* world, const char* text)
{
    ORR_ASSERT(world != NULL);
    if (text == NULL) {
        (void)orri_refuse_argument(world, "orr_query_text", "the text is NULL");
        return NULL;
    }
    return query_create(world, "orr_query_text", &(orr_query_desc){.text = text});
}

void orr_query_destroy(orr_query* query)
{
    if (query == NULL) {
        return;
    }
    if (query->world->loops.iterating != 0 &&
        orri_check_open(query->world, "orr_query_destroy") != ORR_OK) {
        return;
    }
    orri_world_settle(query->world);
    orri_unlisten(query);
    query_free(query);
}

void orri_query_free(orr_query* query)
{
    query_free(query);
}

orr_world* orr_query_world(const orr_query* query)
{
    ORR_ASSERT(query != NULL);
    return query->world;
}

bool orri_query_refresh(orr_query* query)
{
    if (query->order != NULL) {
        return orri_order_refresh(query);
    }
    return query->pinned_matches == NULL || orri_pinned_matches_refresh(query);
}

bool orri_queries_reserve(orr_world* world)
{
    orr_query* query =
        world->queries != NULL && world->queries->refreshed > 0 ? world->queries->first : NULL;
    bool reserved = true;
    for (; reserved && query != NULL; query = query->next) {
        if (query->order != NULL) {
            reserved = orri_order_reserve(query);
        } else if (query->pinned_matches != NULL) {
            reserved = orri_pinned_matches_reserve(query);
        }
    }
    return reserved;
}

orr_result orr_query_prepare(orr_query* query)
{
    ORR_ASSERT(query != NULL);
    bool kept = query->order != NULL || query->pinned_matches != NULL;
    if (ORR_UNLIKELY(orri_access_checked(query->world)) &&
        !orri_query_loop_allowed(query, "orr_query_prepare")) {
        return ORR_ERR_STATE;
    }
    return !kept || orri_query_refresh(query) ? ORR_OK : ORR_ERR_MEMORY;
}

uint64_t orr_change_mark(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    if (ORR_UNLIKELY(orri_access_checked(world))) {
        (void)orri_refuse_running(world, "orr_change_mark");
        return 0;
    }
    return orri_epoch_end(world);
}
