// SPDX-License-Identifier: MIT
// Creates random queries, and calculates their results by checking every entity.
#include "model/ops_query.h"

#include "test.h"

#include <stdlib.h>

#define QUERIES_KEPT 3u // They exist from the beginning to the end.

void ops_separate_begin(ops* s)
{
    s->separate = s->shape->separate;
}

void ops_separate_end(ops* s)
{
    s->separate = false;
}

// ---- terms that decide about whole clusters -----------------------------------------------------

static bool ops_predicate(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)user;
    orr_cluster_info info;
    return orr_cluster_info_get(world, cluster, &info) == ORR_OK &&
           (info.type_count + info.tag_count) % 3 != 1;
}

uint64_t ops_group_of(const orr_world* world, orr_cluster cluster)
{
    orr_cluster_info info;
    MODEL_CHECK(orr_cluster_info_get(world, cluster, &info) == ORR_OK);
    return 5 - (info.type_count + info.tag_count) % 3;
}

static uint64_t ops_group_by(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)user;
    return ops_group_of(world, cluster);
}

// ---- all entities -------------------------------------------------------------------------------

static ops_answer listing;
static const orr_world* listing_world;
static uint64_t listing_structure;

static void ops_answer_add(ops_answer* answer, ops_listed listed)
{
    answer->list =
        oracle_grow(answer->list, &answer->capacity, answer->count + 1, sizeof *answer->list);
    answer->list[answer->count++] = listed;
}

void ops_answer_free(ops_answer* answer)
{
    free(answer->list);
    *answer = (ops_answer){0};
}

static void ops_listing_cluster(ops* s, orr_cluster cluster)
{
    static orr_entity ids[ORR_CHUNK_CAPACITY];
    orr_cluster_info info = kit_info(s->world, cluster);
    for (uint32_t chunk = 0; chunk < info.chunk_count; chunk++) {
        uint32_t count = orr_chunk_entities(s->world, cluster, chunk, ids, ORR_CHUNK_CAPACITY);
        for (uint32_t i = 0; i < count; i++) {
            oracle_entity* entity = oracle_find(&s->oracle, ids[i]);
            MODEL_CHECK(entity != NULL);
            ops_answer_add(&listing, (ops_listed){entity, cluster, chunk * ORR_CHUNK_CAPACITY + i});
        }
    }
}

const ops_answer* ops_listing(ops* s)
{
    if (listing_world == s->world && listing_structure == s->oracle.structure) {
        return &listing;
    }
    listing.count = 0;
    orr_cluster cluster = orr_cluster_next(s->world, (orr_cluster){0, 0});
    for (; cluster.id != 0; cluster = orr_cluster_next(s->world, cluster)) {
        ops_listing_cluster(s, cluster);
    }
    MODEL_CHECK(listing.count == s->oracle.live_count);
    listing_world = s->world;
    listing_structure = s->oracle.structure;
    return &listing;
}

// ---- checking every entity ----------------------------------------------------------------------

static bool ops_state_is(bool on, orr_enable_state state)
{
    return state == ORR_EITHER || on == (state == ORR_ENABLED);
}

static bool ops_term_present(const ops* s, const orr_term* term, const oracle_entity* entity)
{
    if (term->type.id == 0) {
        return oracle_tag_has(entity, term->tag);
    }
    if (term->type.id == s->name_type.id) {
        return entity->name[0] != '\0' && ops_state_is(true, term->state);
    }
    const oracle_component* component =
        oracle_component_of(entity, oracle_type_index(&s->oracle, term->type));
    return component != NULL && ops_state_is(oracle_component_on(component), term->state);
}

static bool ops_group_matches(const ops* s, const ops_spec* spec, uint32_t group,
                              const oracle_entity* entity)
{
    for (uint32_t t = 0; t < spec->term_count; t++) {
        if (spec->terms[t].kind == ORR_ANY && spec->terms[t].group == group &&
            ops_term_present(s, &spec->terms[t], entity)) {
            return true;
        }
    }
    return false;
}

bool ops_spec_matches(const ops* s, const ops_spec* spec, const ops_listed* listed)
{
    if (spec->set != ORR_SET_NONE) {
        bool left = ops_spec_matches(s, spec->left, listed);
        bool right = ops_spec_matches(s, spec->right, listed);
        return spec->set == ORR_UNION          ? left || right
               : spec->set == ORR_INTERSECTION ? left && right
                                               : left && !right;
    }
    if (!ops_state_is(listed->entity->on, spec->entities) ||
        (spec->predicate && !ops_predicate(NULL, s->world, listed->cluster))) {
        return false;
    }
    for (uint32_t t = 0; t < spec->term_count; t++) {
        const orr_term* term = &spec->terms[t];
        bool holds = term->kind == ORR_REQUIRED  ? ops_term_present(s, term, listed->entity)
                     : term->kind == ORR_WITHOUT ? !ops_term_present(s, term, listed->entity)
                     : term->kind == ORR_ANY
                         ? ops_group_matches(s, spec, term->group, listed->entity)
                         : true;
        if (!holds) {
            return false;
        }
    }
    return true;
}

bool ops_spec_changed(const ops_spec* spec)
{
    for (uint32_t t = 0; t < spec->term_count; t++) {
        if (spec->terms[t].changed) {
            return true;
        }
    }
    return false;
}

static bool ops_written_since(const ops* s, const ops_spec* spec, const oracle_entity* entity,
                              uint64_t clock)
{
    for (uint32_t t = 0; t < spec->term_count; t++) {
        const oracle_component* component =
            spec->terms[t].changed
                ? oracle_component_of(entity, oracle_type_index(&s->oracle, spec->terms[t].type))
                : NULL;
        if (component == NULL) {
            continue;
        }
        if (component->written > clock || entity->switched > clock ||
            (spec->touched && (component->touched > clock || entity->touched > clock))) {
            return true;
        }
    }
    return false;
}

// ---- order --------------------------------------------------------------------------------------

static const ops_spec* sort_spec;
static orr_field_place sort_place;

// Numbers in their order of comparison: NaN after everything, -0 before 0.
static int ops_compare_double(double a, double b)
{
    bool a_nan = a != a, b_nan = b != b;
    if (a_nan || b_nan) {
        return a_nan - b_nan;
    }
    if (a == 0 && b == 0) {
        return (__builtin_signbit(b) != 0) - (__builtin_signbit(a) != 0);
    }
    return (a > b) - (a < b);
}

static int ops_compare_keys(const void* a, const void* b, const orr_field_place* place)
{
    union {
        float f;
        double d;
        int16_t i16;
        int32_t i32;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
    } x, y;
    memcpy(&x, (const char*)a + place->offset, place->type->size);
    memcpy(&y, (const char*)b + place->offset, place->type->size);
    switch (place->type->kind) {
    case ORR_KIND_F32:
        return ops_compare_double((double)x.f, (double)y.f);
    case ORR_KIND_F64:
        return ops_compare_double(x.d, y.d);
    case ORR_KIND_I16:
        return (x.i16 > y.i16) - (x.i16 < y.i16);
    case ORR_KIND_I32:
        return (x.i32 > y.i32) - (x.i32 < y.i32);
    case ORR_KIND_U8:
        return (x.u8 > y.u8) - (x.u8 < y.u8);
    case ORR_KIND_U16:
        return (x.u16 > y.u16) - (x.u16 < y.u16);
    case ORR_KIND_U32:
        return (x.u32 > y.u32) - (x.u32 < y.u32);
    default:
        MODEL_CHECK(place->type->size == sizeof x.u64);
        return (x.u64 > y.u64) - (x.u64 < y.u64);
    }
}

static bool ops_is_nan(const void* value, const orr_field_place* place)
{
    float single = 0;
    double full = 0;
    if (place->type->kind == ORR_KIND_F32) {
        memcpy(&single, (const char*)value + place->offset, sizeof single);
    } else if (place->type->kind == ORR_KIND_F64) {
        memcpy(&full, (const char*)value + place->offset, sizeof full);
    }
    return single != single || full != full;
}

static int ops_compare_ordered(const void* a, const void* b)
{
    const oracle_entity *x = ((const ops_listed*)a)->entity, *y = ((const ops_listed*)b)->entity;
    uint32_t type = sort_spec->order_type;
    int compared = ops_compare_keys(oracle_component_of(x, type)->value,
                                    oracle_component_of(y, type)->value, &sort_place);
    // NaNs come last in both directions.
    bool nan = ops_is_nan(oracle_component_of(x, type)->value, &sort_place) ||
               ops_is_nan(oracle_component_of(y, type)->value, &sort_place);
    compared = sort_spec->descending && !nan ? -compared : compared;
    uint32_t x_index = (uint32_t)x->id.id, y_index = (uint32_t)y->id.id;
    return compared != 0 ? compared : (x_index > y_index) - (x_index < y_index);
}

// Stable: entities of a group keep their order.
static void ops_answer_group(ops* s, ops_answer* answer)
{
    ops_answer sorted = {0};
    for (uint64_t group = 0; group < 8; group++) {
        for (uint32_t i = 0; i < answer->count; i++) {
            if (ops_group_of(s->world, answer->list[i].cluster) == group) {
                ops_answer_add(&sorted, answer->list[i]);
            }
        }
    }
    MODEL_CHECK(sorted.count == answer->count);
    ops_answer_free(answer);
    *answer = sorted;
}

void ops_answer_make(ops* s, const ops_spec* spec, const uint64_t* since, ops_answer* out)
{
    const ops_answer* all = ops_listing(s);
    *out = (ops_answer){0};
    for (uint32_t i = 0; i < all->count; i++) {
        if (ops_spec_matches(s, spec, &all->list[i]) &&
            (since == NULL || ops_written_since(s, spec, all->list[i].entity, *since))) {
            ops_answer_add(out, all->list[i]);
        }
    }
    if (spec->ordered && out->count > 0) {
        sort_spec = spec;
        MODEL_CHECK(
            orr_field_find(orr_type_info_get(s->world, s->oracle.types[spec->order_type].type),
                           s->types[spec->order_type].order, &sort_place) == ORR_OK);
        qsort(out->list, out->count, sizeof *out->list, ops_compare_ordered);
    } else if (spec->grouped && out->count > 0) {
        ops_answer_group(s, out);
    }
}

static uint32_t ops_field_add(ops_field* out, uint32_t count, ops_field field)
{
    for (uint32_t i = 0; i < count; i++) {
        if (out[i].type == field.type) {
            out[i].access = field.access == ORR_WRITE ? ORR_WRITE : out[i].access;
            return count;
        }
    }
    MODEL_CHECK(count < OPS_ASKED_MAX);
    out[count] = field;
    return count + 1;
}

static uint32_t ops_fields_collect(const ops* s, const ops_spec* spec, ops_field* out,
                                   uint32_t count)
{
    if (spec->set != ORR_SET_NONE) {
        count = ops_fields_collect(s, spec->left, out, count);
        return ops_fields_collect(s, spec->right, out, count);
    }
    uint32_t name = s->name_type.id;
    for (uint32_t t = 0; t < spec->term_count; t++) {
        const orr_term* term = &spec->terms[t];
        if (term->type.id != 0 && term->kind != ORR_WITHOUT) {
            uint32_t type = term->type.id == name ? UINT32_MAX
                                                  : oracle_type_index(&s->oracle, term->type);
            count = ops_field_add(out, count, (ops_field){type, term->access});
        }
    }
    return count;
}

uint32_t ops_spec_fields(const ops* s, const ops_spec* spec, ops_field* out)
{
    return ops_fields_collect(s, spec, out, 0);
}

// ---- creating -----------------------------------------------------------------------------------

static bool ops_term_clashes(const ops_spec* spec, const orr_term* term)
{
    for (uint32_t t = 0; t < spec->term_count; t++) {
        const orr_term* other = &spec->terms[t];
        bool choices = other->kind == ORR_ANY && term->kind == ORR_ANY &&
                       other->group != term->group;
        if (!choices && other->type.id == term->type.id && other->tag == term->tag) {
            return true;
        }
    }
    return false;
}

// Pinned types and types of recent entities occur more often than by chance among sixty types.
static uint32_t ops_term_type(ops* s)
{
    const oracle_entity* entity = ops_chance(s, 2) ? ops_pick(s) : NULL;
    return entity != NULL ? ops_pick_type_of(s, entity) : ops_pick_type(s);
}

static orr_term ops_term_make(ops* s)
{
    static const orr_term_kind kinds[] = {ORR_REQUIRED, ORR_REQUIRED, ORR_WITHOUT, ORR_OPTIONAL,
                                          ORR_ANY};
    orr_term term = {.kind = kinds[ops_below(s, 5)], .group = ops_below(s, 2)};
    orr_type name = s->name_type;
    if (term.kind != ORR_OPTIONAL && ops_chance(s, 5)) {
        term.tag = ops_pick_tag(s);
        term.tag = term.tag != 0 ? term.tag : 77; // Tag 0 cannot be used in a query.
        return term;
    }
    if (name.id != 0 && ops_chance(s, 12)) {
        term.type = name;
        return term;
    }
    uint32_t type = ops_term_type(s);
    const oracle_type* t = &s->oracle.types[type];
    term.type = t->type;
    term.state = (orr_enable_state)(ops_chance(s, 3) ? 1 + ops_below(s, 2) : 0);
    term.state = term.kind == ORR_OPTIONAL && term.state == ORR_DISABLED ? ORR_ENABLED : term.state;
    bool writes = ops_chance(s, 2), changed = ops_chance(s, 4);
    if (term.kind != ORR_WITHOUT) {
        term.access = writes && t->reference_count == 0 ? ORR_WRITE : ORR_READ;
        term.changed = changed && !t->pinned;
    }
    return term;
}

static void ops_spec_order(ops* s, ops_spec* spec)
{
    for (uint32_t t = 0; t < spec->term_count; t++) {
        const orr_term* term = &spec->terms[t];
        if (term->kind != ORR_REQUIRED || term->type.id == 0 || term->type.id == s->name_type.id) {
            continue;
        }
        uint32_t type = oracle_type_index(&s->oracle, term->type);
        if (s->types[type].order != NULL) {
            spec->ordered = true;
            spec->order_type = type;
            return;
        }
    }
}

static void ops_spec_make(ops* s, ops_spec* spec)
{
    *spec = (ops_spec){0};
    uint32_t wanted = ops_below(s, OPS_TERMS_MAX);
    for (uint32_t t = 0; t < wanted; t++) {
        orr_term term = ops_term_make(s);
        if (!ops_term_clashes(spec, &term)) {
            spec->terms[spec->term_count++] = term;
        }
    }
    spec->entities = (orr_enable_state)(ops_chance(s, 5) ? 1 + ops_below(s, 2) : 0);
    spec->predicate = ops_chance(s, 6);
    spec->grouped = ops_chance(s, 5);
    spec->descending = ops_chance(s, 3);
    if (ops_chance(s, 3)) {
        ops_spec_order(s, spec);
    }
}

static void ops_spec_free(ops_spec* spec)
{
    if (spec->set != ORR_SET_NONE) {
        ops_spec_free(spec->left);
        ops_spec_free(spec->right);
        free(spec->left);
        free(spec->right);
    }
}

// A copy of the terms of one side: a set takes terms, predicate and entities, not order and groups.
static ops_spec* ops_spec_copy(const ops_spec* from)
{
    ops_spec* copy = malloc(sizeof *copy);
    MODEL_CHECK(copy != NULL);
    *copy = *from;
    copy->grouped = copy->ordered = false;
    if (from->set != ORR_SET_NONE) {
        copy->left = ops_spec_copy(from->left);
        copy->right = ops_spec_copy(from->right);
    }
    return copy;
}

static orr_query* ops_query_build(ops* s, const ops_spec* spec)
{
    char order[64] = "";
    if (spec->ordered) {
        const orr_type_info* info =
            orr_type_info_get(s->world, s->oracle.types[spec->order_type].type);
        snprintf(order, sizeof order, "%s.%s", info->name, s->types[spec->order_type].order);
    }
    orr_query_desc desc = {.terms = spec->terms,
                           .term_count = spec->term_count,
                           .entities = spec->entities,
                           .predicate = spec->predicate ? ops_predicate : NULL,
                           .group_by = spec->grouped ? ops_group_by : NULL,
                           .order_by = spec->ordered ? order : NULL,
                           .order_descending = spec->descending};
    return orr_query_create(s->world, &desc);
}

void ops_query_mark(ops* s, ops_query* q)
{
    q->mark = orr_change_mark(s->world);
    q->clock = s->oracle.clock;
    q->structure = s->oracle.structure;
    q->refusals = s->refusals + s->out_of_memory;
}

// Takes ownership of the spec. False when memory was refused.
static bool ops_query_enter(ops* s, uint32_t place, orr_query* query, ops_spec* spec)
{
    if (query == NULL) {
        (void)ops_refused(s, ops_last_result(s));
        ops_spec_free(spec);
        return false;
    }
    MODEL_CHECK(orr_query_world(query) == s->world);
    ops_query* q = calloc(1, sizeof *q);
    MODEL_CHECK(q != NULL && s->queries[place] == NULL);
    q->query = query;
    q->spec = *spec;
    ops_query_mark(s, q);
    s->queries[place] = q;
    return true;
}

static void ops_query_drop(ops* s, uint32_t place)
{
    ops_query* q = s->queries[place];
    if (q != NULL) {
        orr_query_destroy(q->query);
        ops_spec_free(&q->spec);
        free(q);
        s->queries[place] = NULL;
    }
}

static uint32_t ops_query_place(ops* s)
{
    return QUERIES_KEPT + ops_below(s, OPS_QUERIES_MAX - QUERIES_KEPT);
}

ops_query* ops_query_pick(ops* s)
{
    uint32_t first = ops_below(s, OPS_QUERIES_MAX);
    for (uint32_t i = 0; i < OPS_QUERIES_MAX; i++) {
        if (s->queries[(first + i) % OPS_QUERIES_MAX] != NULL) {
            return s->queries[(first + i) % OPS_QUERIES_MAX];
        }
    }
    return NULL;
}

static bool ops_queries_wanted(ops* s)
{
    ops_separate_begin(s);
    return s->shape->queries;
}

// ---- operations ---------------------------------------------------------------------------------

static void op_query_create(ops* s)
{
    if (ops_queries_wanted(s)) {
        ops_spec spec;
        uint32_t place = ops_query_place(s);
        ops_spec_make(s, &spec);
        ops_query_drop(s, place);
        ops_query_enter(s, place, ops_query_build(s, &spec), &spec);
    }
    ops_separate_end(s);
}

static uint32_t ops_spec_depth(const ops_spec* spec)
{
    if (spec->set == ORR_SET_NONE) {
        return 0;
    }
    uint32_t left = ops_spec_depth(spec->left), right = ops_spec_depth(spec->right);
    return 1 + (left > right ? left : right);
}

static void ops_query_combine(ops* s, uint32_t place, orr_set_kind set, const ops_query* left,
                              const ops_query* right)
{
    orr_query_desc desc = {.set = set, .left = left->query, .right = right->query};
    orr_query* query = orr_query_create(s->world, &desc);
    if (ops_spec_changed(&left->spec) || ops_spec_changed(&right->spec)) {
        MODEL_CHECK(query == NULL);
        ops_refused_as(s, ops_last_result(s), ORR_ERR_ARGUMENT);
        return;
    }
    ops_spec spec = {
        .set = set, .left = ops_spec_copy(&left->spec), .right = ops_spec_copy(&right->spec)};
    ops_query_enter(s, place, query, &spec);
}

static void op_query_set(ops* s)
{
    if (ops_queries_wanted(s)) {
        ops_query *left = ops_query_pick(s), *right = ops_query_pick(s);
        orr_set_kind set = (orr_set_kind)(1 + ops_below(s, 3));
        uint32_t place = ops_query_place(s);
        if (left != NULL && right != NULL && s->queries[place] == NULL &&
            ops_spec_depth(&left->spec) < 2 && ops_spec_depth(&right->spec) < 2) {
            ops_query_combine(s, place, set, left, right);
        }
    }
    ops_separate_end(s);
}

// A type in several choices, one of which may have it alone: the text form says that directly and
// refuses the other.
static bool ops_spec_repeats(const ops_spec* spec)
{
    for (uint32_t t = 0; t < spec->term_count; t++) {
        for (uint32_t i = 0; i < t; i++) {
            if (spec->terms[i].type.id == spec->terms[t].type.id &&
                spec->terms[i].tag == spec->terms[t].tag) {
                return true;
            }
        }
    }
    return false;
}

// The text of a query creates a query with the same result, where everything can be expressed as
// text.
static void op_query_text(ops* s)
{
    ops_query* q = ops_queries_wanted(s) ? ops_query_pick(s) : NULL;
    uint32_t place = ops_query_place(s);
    if (q != NULL && s->queries[place] == NULL) {
        char text[1024];
        size_t length = orr_query_print(q->query, text, sizeof text);
        MODEL_CHECK(strlen(text) == (length < sizeof text ? length : sizeof text - 1));
        bool sayable = q->spec.set == ORR_SET_NONE && !q->spec.predicate && !q->spec.grouped &&
                       !q->spec.ordered && length < sizeof text && !ops_spec_repeats(&q->spec);
        if (sayable) {
            ops_spec spec = q->spec;
            ops_query_enter(s, place, orr_query_text(s->world, text), &spec);
        }
        length = orr_query_explain(q->query, text, sizeof text);
        MODEL_CHECK(strlen(text) == (length < sizeof text ? length : sizeof text - 1));
    }
    ops_separate_end(s);
}

static void op_query_destroy(ops* s)
{
    if (ops_queries_wanted(s)) {
        ops_query_drop(s, ops_query_place(s));
    }
    ops_separate_end(s);
}

static void op_query_mark(ops* s)
{
    ops_query* q = ops_queries_wanted(s) ? ops_query_pick(s) : NULL;
    if (q != NULL) {
        ops_query_mark(s, q);
    }
    ops_separate_end(s);
}

static void op_query_compare(ops* s)
{
    ops_query* q = ops_queries_wanted(s) ? ops_query_pick(s) : NULL;
    if (q != NULL && (s->oracle.live_count < 500 || ops_chance(s, 20))) {
        ops_query_compare(s, q);
    }
    ops_separate_end(s);
}

// ---- the frame ----------------------------------------------------------------------------------

// Queries for the whole run begin with an empty world.
void ops_queries_begin(ops* s)
{
    listing_world = NULL;
    for (uint32_t i = 0; ops_queries_wanted(s) && i < QUERIES_KEPT; i++) {
        ops_spec spec;
        ops_spec_make(s, &spec);
        // A few tries: a fuzzer whose bytes are used up always draws the same.
        for (uint32_t tries = 0; spec.term_count == 0 && i > 0 && tries < 8; tries++) {
            ops_spec_make(s, &spec);
        }
        ops_query_enter(s, i, ops_query_build(s, &spec), &spec);
    }
    ops_separate_end(s);
}

// Checks use the separate stream: whether a check is made must not change the following operations.
void ops_queries_check_one(ops* s)
{
    s->separate = true;
    ops_query* q = ops_query_pick(s);
    if (q != NULL && (s->oracle.live_count < 500 || ops_chance(s, 20))) {
        ops_query_compare(s, q);
    }
    ops_separate_end(s);
}

void ops_queries_check(ops* s)
{
    s->separate = true;
    for (uint32_t i = 0; i < OPS_QUERIES_MAX; i++) {
        if (s->queries[i] != NULL) {
            ops_query_compare(s, s->queries[i]);
        }
    }
    ops_separate_end(s);
}

void ops_queries_end(ops* s)
{
    // Some are destroyed with their world.
    for (uint32_t i = 0; i < OPS_QUERIES_MAX; i++) {
        if (s->queries[i] != NULL && i % 2 == 0) {
            ops_query_drop(s, i);
        } else if (s->queries[i] != NULL) {
            ops_spec_free(&s->queries[i]->spec);
            free(s->queries[i]);
            s->queries[i] = NULL;
        }
    }
    ops_answer_free(&listing);
    listing_world = NULL;
}

const ops_entry ops_query_table[] = {
    {"query_create", 12, op_query_create},
    {"query_set", 5, op_query_set},
    {"query_text", 4, op_query_text},
    {"query_destroy", 4, op_query_destroy},
    {"query_mark", 10, op_query_mark},
    {"query_compare", 30, op_query_compare},
    {NULL, 0, NULL},
};
