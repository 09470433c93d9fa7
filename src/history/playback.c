// SPDX-License-Identifier: MIT
// Playback: the system "orr_stretch", which moves entities through their slots, and its calls
// orr_time_stretch(), orr_time_derivate() and orr_stretcher_add().
#include "history/entity_history.h"
#include "schema/field_walk.h"
#include <stdio.h>

#define PLAYBACK_SYSTEM    "orr_stretch"
#define PLAYBACK_TYPES_MAX (ORR_TERMS_MAX - 1) // .by_id also has orr_time_stretcher.

// ---- the calls ----------------------------------------------------------------------------------

static bool playback_finite(double x)
{
    return x - x == 0;
}

// Checks that the call is allowed and the entity is alive. Errors are reported.
static orr_result playback_check(orr_world* world, const char* call, orr_entity entity,
                                 orr_type* type)
{
    orri_time_types types = {0};
    orr_result result = orri_traveller_begin(world, call, &types);
    *type = types.stretcher;
    return result == ORR_OK && orri_record_find(world, entity) == NULL
               ? orri_refuse_entity(world, call, entity, *type)
               : result;
}

// Position of a new stretcher: the entity's time; 0 if orr_time is added with the stretcher.
static double playback_begin(orr_world* world, orr_entity entity)
{
    return orr_has(world, entity, orr_time) ? (double)orr_time_of(world, entity) : 0;
}

// Warns once per world: without the system all calls succeed, and nothing moves.
static void playback_warn(orr_world* world, const char* call, orr_entity entity)
{
    const char* name = PLAYBACK_SYSTEM;
    if (world->stretch_warned || orri_system_named(world, name, strlen(name)) != NULL) {
        return;
    }
    world->stretch_warned = true;
    orri_id_text id_text = orri_entity_format(world, entity);
    orri_log(&world->env, ORR_LOG_ID_STRETCHER_IDLE,
             "%s: entity %s has a rate, but the world has no playback system; add it with "
             "orr_stretcher_add() (logged once)",
             call, id_text.text);
}

orr_result orr_time_stretch(orr_world* world, orr_entity entity, double rate)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_time_stretch";
    orr_type type;
    orr_result result = playback_check(world, call, entity, &type);
    if (result != ORR_OK) {
        return result;
    }
    if (!playback_finite(rate)) {
        orri_id_text id_text = orri_entity_format(world, entity);
        return orri_refuse(&world->env, ORR_ERR_RANGE, ORR_LOG_ID_CALL_REFUSED,
                           "%s: the rate for entity %s is not finite; pass a finite number", call,
                           id_text.text);
    }
    const orr_time_stretcher* now = orr_component_get(world, entity, type);
    orr_time_stretcher value =
        now != NULL ? *now : (orr_time_stretcher){.position = playback_begin(world, entity)};
    value.rate = rate;
    result = orr_component_set(world, entity, type, &value);
    if (result == ORR_OK && rate != 0) {
        playback_warn(world, call, entity);
    }
    return result;
}

static orr_result playback_check_has(orr_world* world, const char* call, orr_entity entity)
{
    orr_type type;
    orr_result result = playback_check(world, call, entity, &type);
    if (result != ORR_OK || orr_component_has(world, entity, type)) {
        return result;
    }
    orri_id_text id_text = orri_entity_format(world, entity);
    return orri_refuse(&world->env, ORR_ERR_ABSENT, ORR_LOG_ID_ENTITY_REFUSED,
                       "%s: entity %s has no orr_time_stretcher; set a rate first with "
                       "orr_time_stretch()",
                       call, id_text.text);
}

// The entity whose rate `entity` changes; null if it drives none.
static orr_entity playback_driven(orr_world* world, orr_entity entity)
{
    const orr_time_stretcher* stretcher =
        orr_alive(world, entity) ? orr_get(world, entity, orr_time_stretcher) : NULL;
    return stretcher != NULL ? stretcher->drives : (orr_entity){0};
}

// True if the chain of driven entities from `from` reaches `to`. The number of steps is limited,
// because a program may have written a cycle into the components.
static bool playback_reaches(orr_world* world, orr_entity from, orr_entity to)
{
    uint64_t steps = orr_entity_count(world);
    while (from.id != 0 && from.id != to.id && steps-- > 0) {
        from = playback_driven(world, from);
    }
    return from.id == to.id;
}

orr_result orr_time_derivate(orr_world* world, orr_entity stretcher, orr_entity of)
{
    ORR_ASSERT(world != NULL);
    const char* call = "orr_time_derivate";
    bool own = of.id == 0 || of.id == stretcher.id;
    orr_result result = playback_check_has(world, call, stretcher);
    if (result == ORR_OK && !own) {
        result = playback_check_has(world, call, of);
    }
    if (result != ORR_OK) {
        return result;
    }
    if (!own && playback_reaches(world, of, stretcher)) {
        orri_id_text a = orri_entity_format(world, stretcher), b = orri_entity_format(world, of);
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "%s: entity %s cannot drive %s, which already drives it, directly or "
                           "through others; end that first with orr_time_derivate()",
                           call, a.text, b.text);
    }
    orr_time_stretcher value = *orr_get(world, stretcher, orr_time_stretcher);
    value.drives = own ? (orr_entity){0} : of;
    return orr_put(world, stretcher, orr_time_stretcher, &value);
}

// ---- one step of one entity ---------------------------------------------------------------------

// One step of one entity.
typedef struct playback_move {
    orr_run* run;
    orr_entity entity;
    const orr_time_stretcher* stretcher;
    orri_entity_slots slots; // The slots of the entity.
    double target;           // The next position.
    // The error of this step. It is captured here, and reported only if the step before had another
    // one.
    orr_result result;
    char text[ORRI_ERROR_SIZE];
} playback_move;

static void playback_capture_error(void* owner, orr_result result, orr_log_id id, const char* text)
{
    (void)id;
    playback_move* m = owner;
    m->result = result;
    snprintf(m->text, sizeof m->text, "%s", text);
}

// Index of the last slot at or below the target. UINT32_MAX if the target is outside of the slots.
static uint32_t playback_slot(const playback_move* m)
{
    const orri_entity_slots* slots = &m->slots;
    uint32_t low = orri_entity_slots_below(slots, m->target);
    bool within = low > 0 && (low < slots->count ||
                              (double)orri_entity_slots_slot(slots, low - 1) == m->target);
    return within ? low - 1 : UINT32_MAX;
}

static orr_stretch_state playback_outside_slots(playback_move* m)
{
    char near[128];
    orri_text text = {near, sizeof near, 0};
    orri_entity_slots_near(&m->slots, m->target, &text);
    orri_id_text id_text = orri_entity_format(m->run->world, m->entity);
    m->result = ORR_ERR_PAST;
    snprintf(m->text, sizeof m->text,
             PLAYBACK_SYSTEM
             ": entity %s cannot move from %g to %g: %s; save slots on both sides of "
             "that position with orr_entity_remember(), or change its rate",
             id_text.text, m->stretcher->position, m->target, near);
    return ORR_STRETCH_OUTSIDE_SLOTS;
}

static orr_stretch_state playback_undeclared_type(playback_move* m, orr_type type)
{
    orri_id_text id_text = orri_entity_format(m->run->world, m->entity);
    m->result = ORR_ERR_TYPE;
    snprintf(m->text, sizeof m->text,
             PLAYBACK_SYSTEM ": %s of entity %s would change, but the system did not declare the "
                             "type; name it in orr_stretcher_desc.types",
             orri_type_label(m->run->world, type), id_text.text);
    return ORR_STRETCH_UNDECLARED_TYPE;
}

// Decodes the state at the target: one slot, or the interpolation of the two slots around it.
static orr_result playback_decode(const playback_move* m, uint32_t slot, orri_decoded* out)
{
    orr_world* world = m->run->world;
    orr_result result =
        orri_entity_decode(world, PLAYBACK_SYSTEM, orri_entity_slots_image(&m->slots, slot), out);
    double first = (double)orri_entity_slots_slot(&m->slots, slot);
    if (result != ORR_OK || first == m->target) {
        return result;
    }
    double second = (double)orri_entity_slots_slot(&m->slots, slot + 1);
    orri_decoded later;
    result = orri_entity_decode(world, PLAYBACK_SYSTEM,
                                orri_entity_slots_image(&m->slots, slot + 1), &later);
    if (result == ORR_OK) {
        orri_decoded_interpolate(out, &later, (m->target - first) / (second - first));
        orri_decoded_free(&later);
    } else {
        orri_decoded_free(out);
    }
    return result;
}

// Makes the step. Returns what becomes orr_time_stretcher.state.
static orr_stretch_state playback_step(playback_move* m)
{
    uint32_t slot = playback_slot(m);
    if (slot == UINT32_MAX) {
        return playback_outside_slots(m);
    }
    orri_decoded decoded;
    if (playback_decode(m, slot, &decoded) != ORR_OK) {
        return ORR_STRETCH_REFUSED;
    }
    orr_type undeclared;
    orr_result result = orri_decoded_send(&decoded, m->run, m->entity, &undeclared);
    orri_decoded_free(&decoded);
    return result == ORR_OK     ? ORR_STRETCH_MOVES
           : undeclared.id != 0 ? playback_undeclared_type(m, undeclared)
                                : ORR_STRETCH_REFUSED;
}

// Makes the step and captures its errors. An error that repeats tick after tick is reported once.
static orr_stretch_state playback_try(playback_move* m)
{
    orri_env* env = &m->run->world->env;
    orri_refusal_redirect before = orri_redirect_here;
    orri_redirect_here = (orri_refusal_redirect){env, playback_capture_error, m};
    orr_stretch_state state = playback_step(m);
    orri_redirect_here = before;
    if (state != ORR_STRETCH_MOVES && state != m->stretcher->state) {
        (void)orri_refuse(env, m->result, ORR_LOG_ID_CALL_REFUSED, "%s", m->text);
    }
    return state;
}

// The whole part of a position, as a time. A program may have written any value into the component,
// so it is clamped to 0 … UINT64_MAX.
static uint64_t playback_time(double position)
{
    const double end = 18446744073709551616.0; // 2^64
    return position >= end ? UINT64_MAX : position > 0 ? (uint64_t)position : 0;
}

static void playback_row(orr_run* run, orr_entity entity, orr_time_stretcher* stretcher,
                         orr_time* time, const orr_time_traveller* traveller)
{
    orr_world* world = run->world;
    playback_move move = {.run = run,
                          .entity = entity,
                          .stretcher = stretcher,
                          .slots = orri_entity_slots_in(&world->schema, traveller),
                          .target = stretcher->position + stretcher->rate};
    // A stretcher with rate 0 and without slots has no state to take.
    bool idle = stretcher->drives.id != 0 || (stretcher->rate == 0 && move.slots.count == 0);
    orr_stretch_state state = idle ? ORR_STRETCH_MOVES : playback_try(&move);
    if (state == ORR_STRETCH_MOVES && !idle) {
        stretcher->position = move.target;
    }
    if (stretcher->drives.id == 0) { // The entity's time follows the position, also when it stays.
        time->origin = (int64_t)(orri_tick_now(world) - playback_time(stretcher->position));
    }
    stretcher->state = state;
    stretcher->rate += stretcher->push;
}

// ---- the system ---------------------------------------------------------------------------------

// Sets all pushes to 0.
static void playback_reset(orr_query* query)
{
    ORR_EACH (it, query) {
        orr_time_stretcher* s = orr_write(&it, orr_time_stretcher);
        for (uint32_t i = 0; i < it.count; i++) {
            s[i].push = 0;
        }
    }
}

// Adds the rate of each driving stretcher to the push of its target. All rates are still those of
// the beginning of the tick (H6).
static void playback_push(orr_query* query)
{
    orr_world* world = orr_query_world(query);
    ORR_EACH (it, query) {
        const orr_time_stretcher* s = orr_read(&it, orr_time_stretcher);
        for (uint32_t i = 0; i < it.count; i++) {
            bool pushes = s[i].drives.id != 0 && orr_alive(world, s[i].drives) &&
                          orr_has(world, s[i].drives, orr_time_stretcher);
            orr_time_stretcher* target = pushes ? orr_edit(world, s[i].drives, orr_time_stretcher)
                                                : NULL;
            if (target != NULL) {
                target->push += s[i].rate;
            }
        }
    }
}

static void playback_run(orr_run* run)
{
    orr_query* query = orr_run_query(run);
    playback_reset(query);
    playback_push(query);
    ORR_EACH (it, query) {
        orr_time_stretcher* s = orr_write(&it, orr_time_stretcher);
        orr_time* t = orr_write(&it, orr_time);
        const orr_time_traveller* m = orr_read(&it, orr_time_traveller);
        for (uint32_t i = 0; i < it.count; i++) {
            playback_row(run, orr_iter_entity(&it, i), &s[i], &t[i], &m[i]);
        }
    }
}

// Writes the names of all types that can be saved in slots. False (reported) if there are too many.
static bool playback_types(const orr_world* world, orri_text* out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->schema.type_count; i++) {
        const orri_type* type = world->schema.types[i];
        if (orri_encode_skips(type) || orri_type_pseudo(type) || type->info.has_hooks ||
            !orri_field_walk_plain(&type->info)) {
            continue;
        }
        orri_text_add(out, "%s%s", count++ > 0 ? ", " : "", type->info.name);
    }
    if (count > PLAYBACK_TYPES_MAX) {
        (void)orri_refuse(
            orri_env_of(world), ORR_ERR_CAPACITY, ORR_LOG_ID_SYSTEM_REFUSED,
            "orr_stretcher_add: the world has %u types that playback could change, the limit "
            "is %u; name the types that it changes in orr_stretcher_desc.types",
            count, PLAYBACK_TYPES_MAX);
    }
    return count <= PLAYBACK_TYPES_MAX;
}

orr_system orr_stretcher_add(orr_world* world, const orr_stretcher_desc* desc)
{
    ORR_ASSERT(world != NULL);
    static const orr_stretcher_desc none = {0};
    char types[ORR_QUERY_TEXT_MAX], any[ORR_QUERY_TEXT_MAX + 64], switches[ORR_QUERY_TEXT_MAX + 16];
    orri_text text = {types, sizeof types, 0};
    desc = desc != NULL ? desc : &none;
    types[0] = '\0';
    if (desc->types != NULL && strlen(desc->types) >= sizeof types) {
        (void)orri_refuse(&world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_SYSTEM_REFUSED,
                          "orr_stretcher_add: orr_stretcher_desc.types has %zu bytes, the limit is "
                          "%zu; name fewer types",
                          strlen(desc->types), sizeof types - 1);
        return (orr_system){0};
    }
    if (desc->types != NULL) {
        orri_text_add(&text, "%s", desc->types);
    } else if (!playback_types(world, &text)) {
        return (orr_system){0};
    }
    const char* between = types[0] != '\0' ? ", " : "";
    snprintf(any, sizeof any, "write orr_time_stretcher%s%s", between, types);
    snprintf(switches, sizeof switches, "*%s%s", between, types);
    const char* some = types[0] != '\0' ? types : NULL;
    return orr_system_add(world, &(orr_system_desc){.name = PLAYBACK_SYSTEM,
                                                    .query = "write orr_time_stretcher, write "
                                                             "orr_time, orr_time_traveller",
                                                    .run = playback_run,
                                                    .once = true,
                                                    .alone = true,
                                                    .by_id = any,
                                                    .adds = some,
                                                    .removes = some,
                                                    .changes = some,
                                                    .switches = switches,
                                                    .tags = "*",
                                                    .pipeline = desc->pipeline,
                                                    .before = desc->before,
                                                    .after = desc->after});
}

#undef PLAYBACK_SYSTEM
#undef PLAYBACK_TYPES_MAX
