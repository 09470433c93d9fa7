// SPDX-License-Identifier: MIT
// Ticks for one entity alone. That has a meaning only where everything that happens to the entity
// happens within its own row: systems that send, reach others by id, have state or receive events
// would do half of their work. Such systems are refused by name.
#include "base/float.h"
#include "schedule/schedule.h"

// ---- obstacles ----------------------------------------------------------------------------------

// The first declaration of a system that concerns more than its own rows; NULL: none.
static const char* single_entity_obstacle(const orri_system* system)
{
    const orr_system_desc* d = &system->desc;
    const struct {
        bool is;
        const char* what;
    } all[] = {
        {d->kind == ORR_INDIRECT, "receives messages and sends (ORR_INDIRECT)"},
        {!system->by_rows, "is called once per tick (.once)"},
        {d->by_id != NULL, "reaches others by id (.by_id)"},
        {d->creates != NULL, "creates (.creates)"},
        {d->destroys != NULL, "destroys (.destroys)"},
        {d->adds != NULL, "adds components (.adds)"},
        {d->removes != NULL, "removes components (.removes)"},
        {d->changes != NULL, "sends changes (.changes)"},
        {d->transacts != NULL, "transacts (.transacts)"},
        {d->atomics != NULL, "has atomic sections (.atomics)"},
        {d->switches != NULL, "enables or disables components (.switches)"},
        {d->tags != NULL, "changes tags (.tags)"},
        {d->renames, "changes names (.renames)"},
        {d->sends != NULL, "sends events (.sends)"},
        {d->receives != NULL, "receives events (.receives)"},
        {d->imports != NULL, "reads exports of others (.imports)"},
        {d->exports != NULL, "has exports (.exports)"},
        {d->state != NULL, "has state (.state)"},
        {d->impure || d->user != NULL, "has state outside the world (.user, .impure)"},
        {system->query != NULL && system->query->has_changed, "has 'changed' terms in its query"},
        {!system->start_called && (d->create != NULL || d->start != NULL), "has not begun yet"},
    };
    for (uint32_t i = 0; i < ORRI_COUNT(all); i++) {
        if (all[i].is) {
            return all[i].what;
        }
    }
    return NULL;
}

static bool single_entity_has(const orri_single_entity* single, uint32_t type_index)
{
    orr_type type = {single->world->schema.type_base + type_index};
    return orr_component_has(single->world, single->entity, type);
}

// A type of the entity that a system may change by id, whether its query selects the entity or not;
// null: none.
static orr_type single_entity_reached(const orri_single_entity* single, const orri_system* system)
{
    const orri_rights* rights = &system->rights;
    const uint64_t* sets[] = {rights->changes, rights->removes,  rights->transacts,
                              rights->atomics, rights->switches, system->access.by_id_write};
    for (uint32_t i = 0; i < single->world->schema.type_count; i++) {
        for (uint32_t s = 0; s < ORRI_COUNT(sets); s++) {
            if (orri_right(sets[s], rights, i) && single_entity_has(single, i)) {
                return (orr_type){single->world->schema.type_base + i};
            }
        }
    }
    return (orr_type){0};
}

ORRI_COLD static orr_result single_entity_refuse(const orri_single_entity* single,
                                                 const orri_system* system, const char* what)
{
    orri_id_text id_text = orri_entity_format(single->world, single->entity);
    return orri_refuse(&single->world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                       "%s: entity %s cannot be run alone: system '%s' %s, and only systems that "
                       "touch nothing but their own rows can be run for one entity; run the world "
                       "(orr_step()), or travel to a slot that has a state",
                       single->call, id_text.text, system->desc.name, what);
}

static orr_result single_entity_check_system(const orri_single_entity* single,
                                             const orri_system* system)
{
    bool counts = !system->removed && system->wanted && !system->pipe->spectator &&
                  (single->except == NULL || strcmp(system->desc.name, single->except) != 0);
    if (!counts) {
        return ORR_OK;
    }
    orr_type reached = single_entity_reached(single, system);
    if (reached.id != 0) {
        char words[ORR_NAME_MAX + 64];
        orri_text text = {words, sizeof words, 0};
        orri_text_add(&text, "may change its %s by id", orri_type_label(single->world, reached));
        return single_entity_refuse(single, system, words);
    }
    if (system->query == NULL || !orri_query_has(system->query, single->entity)) {
        return ORR_OK;
    }
    // A system that only receives messages is notified of the difference in the next tick.
    if (system->desc.kind == ORR_INDIRECT && !system->may_send) {
        return ORR_OK;
    }
    const char* more = single_entity_obstacle(system);
    if (more == NULL && system->pipe->index != 0) {
        more = "is in a pipeline with a clock of its own";
    }
    return more != NULL ? single_entity_refuse(single, system, more) : ORR_OK;
}

orr_result orri_single_entity_check(const orri_single_entity* single)
{
    orr_world* world = single->world;
    orr_result result = orri_step_check(world, single->call);
    if (result == ORR_OK) {
        // A tick is half done, or a loop is open.
        result = orri_check_open(world, single->call);
    }
    if (result == ORR_OK && !orri_command_buffers_begin(world)) {
        result = ORR_ERR_MEMORY;
    }
    if (result == ORR_OK) {
        result = orri_plan_make(world); // Looks up names.
    }
    for (const orri_system* system = world->schedule != NULL ? world->schedule->first : NULL;
         result == ORR_OK && system != NULL; system = system->next) {
        result = single_entity_check_system(single, system);
    }
    return result;
}

// ---- a tick -------------------------------------------------------------------------------------

static bool single_entity_due(const orri_system* system, uint64_t tick)
{
    uint64_t first = system->tick_first != UINT64_MAX ? system->tick_first : system->pipe->tick + 1;
    return (tick - first) % system->every == 0;
}

static orr_result single_entity_call(const orri_single_entity* single, orri_system* system,
                                     uint64_t tick)
{
    orr_world* world = single->world;
    bool runs = system->desc.kind == ORR_DIRECT && system->by_rows && system->wanted &&
                !system->removed && single_entity_due(system, tick) &&
                orri_query_has(system->query, single->entity);
    bool kept = system->query != NULL &&
                (system->query->order != NULL || system->query->pinned_matches != NULL);
    if (!runs || (single->except != NULL && strcmp(system->desc.name, single->except) == 0)) {
        return ORR_OK;
    }
    if (kept && !orri_query_refresh(system->query)) {
        return orri_env_result(&world->env);
    }
    uint64_t violations = system->rights.counts.violations;
    orri_system_call_row(world, system, orri_id_index(single->entity), tick);
    bool memory = system->rights.refused_memory;
    const char* text;
    (void)orri_rights_take_result(&system->rights, &text); // It is no mistake of the next tick.
    if (ORR_UNLIKELY(memory)) {
        return ORR_ERR_MEMORY; // Reported before.
    }
    return system->rights.counts.violations == violations
               ? ORR_OK
               : single_entity_refuse(single, system,
                                      "violated its declarations (reported before)");
}

orr_result orri_single_entity_tick(const orri_single_entity* single, uint64_t ahead)
{
    orr_world* world = single->world;
    orri_pipeline* pipe = world->schedule->pipelines[0];
    orri_float_mode mode = orri_float_mode_set();
    uint64_t tick = pipe->tick + ahead;
    orr_result result = ORR_OK;
    world->context->dt = pipe->interval;
    world->context->run_tick = tick;
    const orr_world* here = orri_tick_here;
    orri_tick_here = world; // Systems run as in a tick: what is refused is noted as theirs.
    for (uint32_t i = 0; result == ORR_OK && i < pipe->step_count; i++) {
        if (pipe->steps[i].system != NULL) {
            result = single_entity_call(single, pipe->steps[i].system, tick);
        }
    }
    orri_tick_here = here;
    world->context->dt = 0;
    world->context->run_tick = 0;
    orri_float_mode_restore(mode);
    return result;
}
