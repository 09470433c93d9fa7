// SPDX-License-Identifier: MIT
// Out of memory everywhere: a script of steps goes through the whole API. For every N the Nth
// allocation is refused, once or from then on. A refused step reports it, changes nothing and can
// be repeated; at the end everything is freed.
#include "store/cow/share.h"
#include "support/store_kit.h"
#include "test.h"

#include <stdlib.h>

enum {
    MANY = 2500
};

typedef struct script {
    kit k;
    orr_world* world;
    orr_type position, token, label, padded, tiny, made, list;
    orr_cluster plain, rich, other, tagged;
    orr_entity bob, eve, many[MANY];
    orr_string text;
    orr_array array;
    orr_appender appender;
    bool appending;
    orri_share* shares[64];
    uint32_t share_count;
} script;

static orr_result step_error(const script* s)
{
    return s->k.errors.result;
}

#define STEP_ID(s, call)   ((s)->bob = (call), (s)->bob.id != 0 ? ORR_OK : step_error(s))
#define STEP_PTR(s, call)  ((call) != NULL ? ORR_OK : step_error(s))
#define STEP_TYPE(s, call) (((call).id != 0) ? ORR_OK : step_error(s))

// ---- steps --------------------------------------------------------------------------------------

static orr_result step_types(script* s)
{
    s->position = KIT_TYPE(s->world, Position);
    return STEP_TYPE(s, s->position);
}

static orr_result step_type_hooked(script* s)
{
    return orr_type_register(s->world, ORR_TYPE(Token), &s->token);
}

static orr_result step_type_owned(script* s)
{
    return orr_type_register(s->world, ORR_TYPE(Label), &s->label);
}

static orr_result step_type_array(script* s)
{
    return orr_type_register(s->world, ORR_TYPE(List), &s->list);
}

static orr_result step_type_padded(script* s)
{
    return orr_type_register(s->world, ORR_TYPE(Padded), &s->padded);
}

static orr_result step_type_tiny(script* s)
{
    s->tiny = KIT_TYPE(s->world, Tiny);
    return STEP_TYPE(s, s->tiny);
}

// A name, a nested struct, an owned preset, labels: everything in a desc that needs memory.
static orr_result step_type_made(script* s)
{
    static const orr_label labels[] = {{"SLOW", 0}, {"FAST", 1}};
    static const orr_type_desc speed = {.name = "Speed",
                                        .kind = ORR_KIND_ENUM,
                                        .size = 4,
                                        .align = 4,
                                        .labels = labels,
                                        .label_count = 2};
    orr_field_desc fields[] = {
        {.name = "where", .type = ORR_TYPE(Position)},
        {.name = "speed", .type = &speed},
        {.name = "story", .type = ORR_TYPE(orr_string), .attributes = {.preset = "\"once\""}},
        {.name = "mass", .type = ORR_TYPE(float), .attributes = {.unit = "kg", .preset = "2"}}};
    orr_type_desc desc = {.name = "Made", .fields = fields, .field_count = 4};
    return orr_type_register(s->world, &desc, &s->made);
}

static orr_result step_tag_name(script* s)
{
    return orr_tag_register(s->world, 7, "seven");
}

static orr_result step_cluster_plain(script* s)
{
    return orr_cluster_get(s->world, &(orr_cluster_desc){&s->position, 1, NULL, 0, NULL},
                           &s->plain);
}

static orr_result step_cluster_rich(script* s)
{
    orr_type types[] = {s->position, s->token, s->label, s->made};
    return orr_cluster_get(s->world, &(orr_cluster_desc){types, 4, NULL, 0, NULL}, &s->rich);
}

static orr_result step_cluster_other(script* s)
{
    orr_type types[] = {s->token, s->padded};
    return orr_cluster_get(s->world, &(orr_cluster_desc){types, 2, NULL, 0, NULL}, &s->other);
}

static orr_result step_cluster_tagged(script* s)
{
    orr_type types[] = {s->position, s->token, s->label, s->made};
    orr_tag tag = 9;
    return orr_cluster_get(s->world, &(orr_cluster_desc){types, 4, &tag, 1, NULL}, &s->tagged);
}

static orr_result step_create(script* s)
{
    return STEP_ID(s, orr_create(s->world));
}

static orr_result step_create_eve(script* s)
{
    s->eve = orr_create(s->world);
    return s->eve.id != 0 ? ORR_OK : step_error(s);
}

static orr_result step_create_in(script* s)
{
    return STEP_ID(s, orr_create_in(s->world, s->rich));
}

static orr_result step_string(script* s)
{
    s->text = orr_string_make(s->world, "some text that is not short");
    return s->text.id != 0 ? ORR_OK : step_error(s);
}

static orr_result step_array(script* s)
{
    int32_t numbers[9] = {1, 2, 3};
    s->array = orr_array_make(s->world, numbers, 9, 4);
    return s->array.id != 0 ? ORR_OK : step_error(s);
}

static orr_result step_many_strings(script* s)
{
    char text[16];
    static uint32_t round; // New texts each time, so that a retry makes them all.
    snprintf(text, sizeof text, "number %u", ++round);
    return orr_string_make(s->world, text).id != 0 ? ORR_OK : step_error(s);
}

static orr_result step_create_many(script* s)
{
    static Token tokens[MANY];
    static Label labels[MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        tokens[i] = kit_token(i);
        labels[i] = (Label){s->text, (int32_t)i};
    }
    orr_column_data data[] = {{s->token, tokens}, {s->label, labels}};
    return orr_create_many(s->world, s->rich, MANY, data, 2, s->many);
}

static orr_result step_set_new(script* s)
{
    return orr_component_set(s->world, s->bob, s->tiny, &(Tiny){3});
}

static orr_result step_set_token(script* s)
{
    Token token = kit_token(5);
    return orr_component_set(s->world, s->bob, s->token, &token);
}

static orr_result step_set_label(script* s)
{
    return orr_component_set(s->world, s->bob, s->label, &(Label){s->text, 4});
}

static orr_result step_set_list(script* s)
{
    return orr_component_set(s->world, s->bob, s->list, &(List){s->array});
}

static orr_result step_type_big(script* s)
{
    return STEP_TYPE(s, KIT_TYPE(s->world, Big));
}

static orr_result step_set_big(script* s)
{
    static const Big value = {{1, 2, 3}};
    return orr_component_set(s->world, s->eve, KIT_TYPE(s->world, Big), &value);
}

static orr_result step_parse(script* s)
{
    _Alignas(8) uint8_t value[64] = {0};
    const orr_type_info* info = orr_type_info_get(s->world, s->label);
    return orr_value_parse(info, "{text: \"a new one from text\", number: 3}", value);
}

static orr_result step_add(script* s)
{
    return orr_component_add(s->world, s->eve, s->made);
}

static orr_result step_add_token(script* s)
{
    return orr_component_add(s->world, s->eve, s->token);
}

static orr_result step_remove(script* s)
{
    return orr_component_remove(s->world, s->bob, s->position);
}

static orr_result step_tag_add(script* s)
{
    return orr_tag_add(s->world, s->bob, 7);
}

static orr_result step_tag_remove(script* s)
{
    return orr_tag_remove(s->world, s->bob, 7);
}

static orr_result step_enable(script* s)
{
    return orr_component_enable(s->world, s->many[2100], s->position, false);
}

static orr_result step_enable_entity(script* s)
{
    return orr_entity_enable(s->world, s->many[5], false);
}

static orr_result step_move(script* s)
{
    return orr_entity_move(s->world, s->many[9], s->other);
}

static orr_result step_move_disabled(script* s)
{
    return orr_entity_move(s->world, s->many[2100], s->tagged);
}

static orr_result step_copy(script* s)
{
    return STEP_ID(s, orr_copy(s->world, s->many[20]));
}

static orr_result step_rows_move(script* s)
{
    return orr_rows_move(s->world, s->rich, 3, 2300, s->tagged);
}

static orr_result step_rows_move_all(script* s)
{
    return orr_rows_move_all(s->world, s->tagged, s->rich);
}

static orr_result step_rows_move_all_dropping(script* s)
{
    return orr_rows_move_all(s->world, s->rich, s->other);
}

static orr_result step_add_many(script* s)
{
    static Label labels[MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        labels[i] = (Label){s->text, (int32_t)i};
    }
    return orr_component_add_many(s->world, s->many, MANY, s->label, labels);
}

static orr_result step_add_many_presets(script* s)
{
    return orr_component_add_many(s->world, s->many, MANY, s->made, NULL);
}

static orr_result step_set_many(script* s)
{
    static Token tokens[MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        tokens[i] = kit_token(i * 2);
    }
    return orr_component_set_many(s->world, s->many, MANY, s->token, tokens);
}

static orr_result step_get_many(script* s)
{
    static Token tokens[MANY];
    return orr_component_get_many(s->world, s->many, MANY, s->token, tokens);
}

static orr_result step_remove_many(script* s)
{
    return orr_component_remove_many(s->world, s->many, MANY / 2, s->padded);
}

static orr_result step_destroy(script* s)
{
    return orr_alive(s->world, s->bob) ? orr_destroy(s->world, s->bob) : ORR_OK;
}

static orr_result step_destroy_many(script* s)
{
    return orr_alive(s->world, s->many[100]) ? orr_destroy_many(s->world, s->many + 100, 1000)
                                             : ORR_OK;
}

static orr_result step_append_begin(script* s)
{
    orr_result result = orr_append_begin(s->world, s->rich, &s->position, 1, &s->appender);
    s->appending = result == ORR_OK;
    return result;
}

static orr_result step_append(script* s)
{
    return orr_append(&s->appender) != ORR_APPEND_NONE ? ORR_OK : step_error(s);
}

static orr_result step_append_fill(script* s)
{
    while (s->appender.used < s->appender.count) {
        (void)orr_append(&s->appender);
    }
    return step_append(s); // The next run.
}

static orr_result step_append_end(script* s)
{
    orr_append_end(&s->appender);
    s->appending = false;
    return ORR_OK;
}

static orr_result step_tick(script* s)
{
    orr_tick_advance(s->world);
    return ORR_OK;
}

static orr_result step_cluster_clear(script* s)
{
    return orr_cluster_clear(s->world, s->other);
}

static orr_result step_cluster_delete(script* s)
{
    orr_cluster_info info;
    return orr_cluster_info_get(s->world, s->other, &info) == ORR_OK
               ? orr_cluster_delete(s->world, s->other)
               : ORR_OK;
}

static orr_result step_destroy_all(script* s)
{
    return orr_entities_destroy_all(s->world);
}

// ---- steps while blocks are shared --------------------------------------------------------------

static orr_result step_hold(script* s)
{
    // Shares one more page or column per call, frozen; once all are shared, every write needs
    // memory.
    const orri_cluster* cluster = orri_cluster_at(s->world, s->rich);
    orri_share* share = NULL;
    if (s->share_count < s->world->index.page_count) {
        share = orri_share_page(s->world, s->share_count, ORRI_SHARE_FROZEN);
    } else {
        uint32_t number = s->share_count - s->world->index.page_count;
        orri_chunk* chunk = cluster->chunks[number / cluster->chunks[0]->column_count];
        share = orri_share_column(s->world, chunk, number % chunk->column_count, ORRI_SHARE_FROZEN);
    }
    if (share == NULL) {
        return step_error(s);
    }
    s->shares[s->share_count++] = share;
    return ORR_OK;
}

static orr_result step_hold_all(script* s)
{
    const orri_cluster* cluster = orri_cluster_at(s->world, s->rich);
    uint32_t all = s->world->index.page_count +
                   cluster->chunk_count * cluster->chunks[0]->column_count;
    while (s->share_count < all && s->share_count < 64) {
        orr_result result = step_hold(s);
        if (result != ORR_OK) {
            return result;
        }
    }
    return ORR_OK;
}

static orr_result step_column_write(script* s)
{
    return STEP_PTR(s, orr_column_write(s->world, s->rich, 0, s->position));
}

static orr_result step_span_write(script* s)
{
    uint32_t count = 1;
    return STEP_PTR(s, orr_span_write(s->world, s->rich, s->token, 0, &count));
}

static orr_result step_edit(script* s)
{
    return STEP_PTR(s, orr_component_edit(s->world, s->many[0], s->made));
}

static orr_result step_release(script* s)
{
    while (s->share_count > 0) {
        orri_share_release(s->world, s->shares[--s->share_count]);
    }
    return ORR_OK;
}

// ---- the script ---------------------------------------------------------------------------------

typedef struct step {
    const char* name;
    orr_result (*run)(script* s);
} step;

#define STEP(name)         \
    {                      \
#name, step_##name \
    }

static const step steps[] = {
    STEP(types),
    STEP(type_hooked),
    STEP(type_owned),
    STEP(type_array),
    STEP(type_padded),
    STEP(type_tiny),
    STEP(type_big),
    STEP(type_made),
    STEP(tag_name),
    STEP(cluster_plain),
    STEP(cluster_rich),
    STEP(cluster_other),
    STEP(cluster_tagged),
    STEP(create),
    STEP(create_eve),
    STEP(create_in),
    STEP(string),
    STEP(array),
    STEP(set_new),
    STEP(set_token),
    STEP(set_label),
    STEP(set_list),
    STEP(set_big),
    STEP(parse),
    STEP(add),
    STEP(add_token),
    STEP(remove),
    STEP(tag_add),
    STEP(tag_remove),
    STEP(create_many),
    STEP(many_strings),
    STEP(many_strings),
    STEP(many_strings),
    STEP(many_strings),
    STEP(many_strings),
    STEP(many_strings),
    STEP(tick),
    STEP(enable),
    STEP(enable_entity),
    STEP(move),
    STEP(move_disabled),
    STEP(copy),
    STEP(append_begin),
    STEP(append),
    STEP(append_fill),
    STEP(append_fill),
    STEP(append_fill),
    STEP(append_end),
    STEP(hold),
    STEP(hold_all),
    STEP(column_write),
    STEP(span_write),
    STEP(edit),
    STEP(set_many),
    STEP(enable),
    STEP(release),
    STEP(hold_all),
    STEP(rows_move),
    STEP(release),
    STEP(hold_all),
    STEP(destroy),
    STEP(create_in),
    STEP(rows_move_all),
    STEP(release),
    STEP(hold_all),
    STEP(destroy_many),
    STEP(release),
    STEP(copy),
    STEP(rows_move_all),
    STEP(hold_all),
    STEP(rows_move_all_dropping),
    STEP(release),
    STEP(string),
    STEP(create_many),
    STEP(add_many),
    STEP(add_many_presets),
    STEP(set_many),
    STEP(get_many),
    STEP(remove_many),
    STEP(rows_move_all_dropping),
    STEP(string),
    STEP(create_many),
    STEP(hold_all),
    STEP(cluster_clear),
    STEP(cluster_delete),
    STEP(destroy_all),
    STEP(release),
};

#undef STEP
#undef STEP_ID
#undef STEP_PTR
#undef STEP_TYPE

static void script_unchanged(script* s, const char* name, uint64_t hash,
                             const orr_world_stats* before)
{
    orr_world_stats after;
    orr_world_stats_get(s->world, &after);
    if (orr_world_hash(s->world) != hash || after.entities != before->entities ||
        after.clusters != before->clusters || after.types != before->types ||
        after.tags != before->tags) {
        test_fail(__FILE__, __LINE__, "step %s was refused, and the world is another", name);
    }
    if (orr_world_validate(s->world) != ORR_OK) {
        test_fail(__FILE__, __LINE__, "after the refused step %s: %s", name, s->k.errors.text);
    }
}

// True when the step was refused.
static bool script_step(script* s, const step* st)
{
    orr_world_stats before;
    orr_world_stats_get(s->world, &before);
    uint64_t hash = orr_world_hash(s->world), refused = s->k.memory.refused;
    uint32_t errors = s->k.errors.count;
    orr_result result = st->run(s);
    if (result == ORR_OK) {
        return false;
    }
    if (result != ORR_ERR_MEMORY || s->k.memory.refused == refused) {
        test_fail(__FILE__, __LINE__, "step %s: %s (%s)", st->name, orr_result_name(result),
                  s->k.errors.text);
    }
    CHECK(s->k.errors.count > errors); // Every refusal is reported.
    // Sharing several blocks takes several calls; the successful ones stay shared.
    script_unchanged(s, st->name, hash, &before);
    return true;
}

static void script_end(script* s)
{
    failing_alloc_arm(&s->k.memory, 0, false);
    if (s->appending) {
        orr_append_end(&s->appender);
    }
    (void)step_release(s);
    kit_end(&s->k);
}

// Runs the script with the nth allocation refused. False when it needs fewer.
static bool script_run(uint64_t nth, bool for_good)
{
    static script s;
    memset(&s, 0, sizeof s);
    s.world = kit_begin(&s.k, NULL);
    failing_alloc_arm(&s.k.memory, nth, for_good);
    bool refused = false;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (script_step(&s, &steps[i])) {
            refused = true;
            if (for_good) {
                break;
            }
            if (script_step(&s, &steps[i])) {
                test_fail(__FILE__, __LINE__, "step %s was refused again", steps[i].name);
            }
        }
    }
    refused |= s.k.memory.refused > 0;
    script_end(&s);
    return refused;
}

static void script_run_all(bool for_good)
{
    uint64_t nth = 1;
    while (script_run(nth, for_good)) {
        nth++;
    }
    printf("  %" PRIu64 " allocations refused, one after the other\n", nth - 1);
    CHECK(nth > 100);
}

ORR_TEST(oom_script_without_refusals_runs_through)
{
    CHECK(!script_run(1000000, false));
}

ORR_TEST(oom_every_allocation_refused_once_changes_nothing_and_can_be_repeated)
{
    script_run_all(false);
}

ORR_TEST(oom_every_allocation_refused_permanently_changes_nothing_and_all_is_freed)
{
    script_run_all(true);
}

// The world's own limit is a refusal like the allocator's.
ORR_TEST(oom_by_the_limit_of_the_world_changes_nothing)
{
    for (uint64_t limit = 20000; limit < 3000000; limit += limit / 8) {
        static script s;
        memset(&s, 0, sizeof s);
        s.world = kit_begin(&s.k, &(orr_world_desc){.memory_bytes_max = limit});
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
            uint64_t hash = orr_world_hash(s.world);
            orr_world_stats before;
            orr_world_stats_get(s.world, &before);
            if (steps[i].run(&s) != ORR_OK) {
                CHECK_EQ(s.k.errors.result, ORR_ERR_MEMORY);
                script_unchanged(&s, steps[i].name, hash, &before);
                break;
            }
            CHECK(s.k.memory.live_bytes <= limit);
        }
        script_end(&s);
    }
}
