// SPDX-License-Identifier: MIT
// Ticks for one entity alone. That means something only where everything that happens to it happens within its own row: systems that send, reach others by
// id, keep state or hear of events would do half of what they do. They are refused by name.
#include "base/float.h"
#include "schedule/schedule.h"

// ---- what keeps an entity from going alone -----------------------------------------------------------------------------

// The first declaration of a system that is more than its own rows; NULL: none.
static const char* single_entity_more(const orri_system* system)
{
    const orr_system_desc* d = &system->desc;
    const struct {
        bool is;
        const char* what;
    } all[] = {
        {d->kind == ORR_INDIRECT, "is told by messages and sends (ORR_INDIRECT)"},
        {!system->by_rows, "is called once for all (.once)"},
        {d->by_id != NULL, "reaches others by id (.by_id)"},
        {d->creates != NULL, "creates (.creates)"},
        {d->destroys != NULL, "destroys (.destroys)"},
        {d->adds != NULL, "adds components (.adds)"},
        {d->removes != NULL, "removes components (.removes)"},
        {d->changes != NULL, "sends changes (.changes)"},
        {d->transacts != NULL, "transacts (.transacts)"},
        {d->atomics != NULL, "has atomic sections (.atomics)"},
        {d->switches != NULL, "switches (.switches)"},
        {d->tags != NULL, "changes tags (.tags)"},
        {d->renames, "gives names (.renames)"},
        {d->sends != NULL, "sends events (.sends)"},
        {d->receives != NULL, "receives events (.receives)"},
        {d->imports != NULL, "reads exports of others (.imports)"},
        {d->exports != NULL, "has exports (.exports)"},
        {d->state != NULL, "has state (.state)"},
        {d->impure || d->user != NULL, "has state outside of the world (.user)"},
        {system->query != NULL && system->query->has_changed, "asks what has changed"},
        {!system->met_start && (d->create != NULL || d->start != NULL), "has not begun yet"},
    };
    for (uint32_t i = 0; i < ORRI_COUNT(all); i++) {
        if (all[i].is) {
            return all[i].what;
        }
    }
    return NULL;
}

static bool single_entity_has(const orri_single_entity* solo, uint32_t type_index)
{
    orr_type type = {solo->world->schema.type_base + type_index};
    return orr_component_has(solo->world, solo->entity, type);
}

// A type of the entity that a system may change by id, whether its query selects the entity or not; null: none.
static orr_type single_entity_reached(const orri_single_entity* solo, const orri_system* system)
{
    const orri_rights* rights = &system->rights;
    const uint64_t* sets[] = {rights->changes, rights->removes,  rights->transacts,
                              rights->atomics, rights->switches, system->guard.by_id_write};
    for (uint32_t i = 0; i < solo->world->schema.type_count; i++) {
        for (uint32_t s = 0; s < ORRI_COUNT(sets); s++) {
            if (orri_right(sets[s], rights, i) && single_entity_has(solo, i)) {
                return (orr_type){solo->world->schema.type_base + i};
            }
        }
    }
    return (orr_type){0};
}

ORRI_COLD static orr_result single_entity_refuse(const orri_single_entity* solo,
                                                 const orri_system* system, const char* what)
{
    orri_id_text who = orri_entity_format(solo->world, solo->entity);
    return orri_refuse(&solo->world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                       "%s: entity %s cannot go ahead alone: system '%s' %s, and only systems that "
                       "touch their own "
                       "rows alone can be run for one entity; run the world (orr_step()), or "
                       "remember the state to "
                       "travel to",
                       solo->call, who.text, system->desc.name, what);
}

static orr_result single_entity_check_system(const orri_single_entity* solo,
                                             const orri_system* system)
{
    bool counts = !system->removed && system->wanted && !system->pipe->spectator &&
                  (solo->except == NULL || strcmp(system->desc.name, solo->except) != 0);
    if (!counts) {
        return ORR_OK;
    }
    orr_type reached = single_entity_reached(solo, system);
    if (reached.id != 0) {
        char words[ORR_NAME_MAX + 64];
        orri_text text = {words, sizeof words, 0};
        orri_text_add(&text, "may change its %s by id", orri_type_label(solo->world, reached));
        return single_entity_refuse(solo, system, words);
    }
    if (system->query == NULL || !orri_query_has(system->query, solo->entity)) {
        return ORR_OK;
    }
    // Who only listens is told of the difference in the next tick.
    if (system->desc.kind == ORR_INDIRECT && !system->may_send) {
        return ORR_OK;
    }
    const char* more = single_entity_more(system);
    if (more == NULL && system->pipe->index != 0) {
        more = "is in a pipeline with a clock of its own";
    }
    return more != NULL ? single_entity_refuse(solo, system, more) : ORR_OK;
}

orr_result orri_single_entity_check(const orri_single_entity* solo)
{
    orr_world* world = solo->world;
    orr_result result = orri_step_check(world, solo->call);
    if (result == ORR_OK) {
        result = orri_check_open(world, solo->call); // A tick is half done, or somebody loops.
    }
    if (result == ORR_OK && !orri_command_buffers_begin(world)) {
        result = ORR_ERR_MEMORY;
    }
    if (result == ORR_OK) {
        result = orri_plan_make(world); // Names are looked up.
    }
    for (const orri_system* system = world->schedule != NULL ? world->schedule->first : NULL;
         result == ORR_OK && system != NULL; system = system->next) {
        result = single_entity_check_system(solo, system);
    }
    return result;
}

// ---- a tick ------------------------------------------------------------------------------------------------------------

static bool single_entity_due(const orri_system* system, uint64_t tick)
{
    uint64_t first = system->tick_first != UINT64_MAX ? system->tick_first : system->pipe->tick + 1;
    return (tick - first) % system->every == 0;
}

static orr_result single_entity_call(const orri_single_entity* solo, orri_system* system,
                                     uint64_t tick)
{
    orr_world* world = solo->world;
    bool runs = system->desc.kind == ORR_DIRECT && system->by_rows && system->wanted &&
                !system->removed && single_entity_due(system, tick) &&
                orri_query_has(system->query, solo->entity);
    bool kept = system->query != NULL &&
                (system->query->order != NULL || system->query->working != NULL);
    if (!runs || (solo->except != NULL && strcmp(system->desc.name, solo->except) == 0)) {
        return ORR_OK;
    }
    if (kept && !orri_query_refresh(system->query)) {
        return orri_env_result(&world->env);
    }
    uint64_t violations = system->rights.counts.violations;
    orri_system_call_row(world, system, orri_id_index(solo->entity), tick);
    return system->rights.counts.violations == violations
               ? ORR_OK
               : single_entity_refuse(solo, system, "did what it did not declare (said before)");
}

orr_result orri_single_entity_tick(const orri_single_entity* solo, uint64_t ahead)
{
    orr_world* world = solo->world;
    orri_pipeline* pipe = world->schedule->pipelines[0];
    orri_float_mode mode = orri_float_mode_set();
    uint64_t tick = pipe->tick + ahead;
    orr_result result = ORR_OK;
    world->context->dt = pipe->interval;
    world->context->run_tick = tick;
    for (uint32_t i = 0; result == ORR_OK && i < pipe->step_count; i++) {
        if (pipe->steps[i].system != NULL) {
            result = single_entity_call(solo, pipe->steps[i].system, tick);
        }
    }
    world->context->dt = 0;
    world->context->run_tick = 0;
    orri_float_mode_restore(mode);
    return result;
}
