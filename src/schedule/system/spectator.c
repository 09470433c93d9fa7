// SPDX-License-Identifier: MIT
// Spectators: pipelines that only observe the simulation. They read everything and change only
// transient types and entities, which are hidden from the simulation. So its results are the same
// with any spectators, and with none. Checked when the names of a system are known, by declarations
// alone.
#include "schedule/schedule.h"

// A list of types in a desc.
typedef struct spectator_list {
    const char* field; // Its name in the desc.
    const uint64_t* bits;
} spectator_list;

#define SPECTATOR_LISTS 9

static void spectator_lists(const orri_system* system, spectator_list out[SPECTATOR_LISTS])
{
    const orri_rights* rights = &system->rights;
    const spectator_list lists[SPECTATOR_LISTS] = {
        {"creates", rights->creates},         {"adds", rights->adds},
        {"removes", rights->removes},         {"changes", rights->changes},
        {"switches", rights->switches},       {"transacts", rights->transacts},
        {"atomics", rights->atomics},         {"by_id", system->access.by_id_write},
        {"by_id", system->access.by_id_read},
    };
    memcpy(out, lists, sizeof lists);
}

// ---- systems of the simulation ------------------------------------------------------------------

ORRI_COLD static orr_result spectator_refuse_transient(orr_world* world, const orri_system* system,
                                                       const char* field, orr_type type)
{
    return orri_refuse(
        &world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_SYSTEM_REFUSED,
        "system '%s' of pipeline '%s' names %s in .%s, a transient type, which is hidden from the "
        "simulation; put the system into a spectator pipeline (.spectator), or declare the type "
        "without .transient",
        system->desc.name, system->pipe->name, orri_type_label(world, type), field);
}

// The first transient type in a query; null: none.
static orr_type spectator_find_transient(const orr_world* world, const orr_query* query)
{
    for (uint32_t l = 0; query != NULL && l < query->leaf_count; l++) {
        for (uint32_t t = 0; t < query->leaves[l].term_count; t++) {
            orr_type type = query->leaves[l].terms[t].type;
            const orri_type* info = orri_type_at(&world->schema, type);
            if (info != NULL && info->info.transient) {
                return type;
            }
        }
    }
    return (orr_type){0};
}

static orr_result spectator_check_simulation(orr_world* world, const orri_system* system)
{
    const orr_type asked = spectator_find_transient(world, system->query);
    const orr_type destroyed = spectator_find_transient(world, system->destroys);
    if (asked.id != 0 || destroyed.id != 0) {
        return asked.id != 0 ? spectator_refuse_transient(world, system, "query", asked)
                             : spectator_refuse_transient(world, system, "destroys", destroyed);
    }
    spectator_list lists[SPECTATOR_LISTS];
    spectator_lists(system, lists);
    for (uint32_t n = 0; n < SPECTATOR_LISTS; n++) {
        for (uint32_t i = 0; i < world->schema.type_count; i++) {
            if (world->schema.types[i]->info.transient &&
                orri_right(lists[n].bits, &system->rights, i)) {
                return spectator_refuse_transient(world, system, lists[n].field,
                                                  (orr_type){world->schema.type_base + i});
            }
        }
    }
    return ORR_OK;
}

// ---- systems of spectators ----------------------------------------------------------------------

ORRI_COLD static orr_result spectator_refuse_change(orr_world* world, const orri_system* system,
                                                    const char* field, const char* what)
{
    return orri_refuse(
        &world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_SYSTEM_REFUSED,
        "system '%s' of the spectator pipeline '%s': .%s %s, which is part of the simulation; a "
        "spectator changes only transient types and transient entities. Declare the type "
        ".transient, or put the system into a pipeline without .spectator",
        system->desc.name, system->pipe->name, field, what);
}

// Checks its lists of types, and the write terms of its query.
static orr_result spectator_check_types(orr_world* world, const orri_system* system)
{
    spectator_list lists[SPECTATOR_LISTS];
    spectator_lists(system, lists);
    for (uint32_t i = 0; i < world->schema.type_count; i++) {
        const orr_type_info* info = &world->schema.types[i]->info;
        const char* field = NULL;
        // The last list is what it may read: everything.
        for (uint32_t n = 0; n + 1 < SPECTATOR_LISTS && !info->transient; n++) {
            field = orri_right(lists[n].bits, &system->rights, i) ? lists[n].field : field;
        }
        for (uint32_t f = 0; f < system->query->field_count && !info->transient; f++) {
            const orri_field* asked = &system->query->fields[f];
            bool writes = asked->access == ORR_WRITE && orri_type_index(world, asked->type) == i;
            field = writes ? "query" : field;
        }
        if (field != NULL) {
            char what[ORR_NAME_MAX + 16];
            orri_text text = {what, sizeof what, 0};
            orri_text_add(&text, "changes %s", info->name);
            return spectator_refuse_change(world, system, field, what);
        }
    }
    return ORR_OK;
}

static orr_result spectator_check_spectator(orr_world* world, const orri_system* system)
{
    const orri_rights* rights = &system->rights;
    if (rights->may_tag_any || rights->tag_count > 0) {
        return spectator_refuse_change(world, system, "tags", "changes tags");
    }
    if (rights->may_rename) {
        return spectator_refuse_change(world, system, "renames", "changes names");
    }
    if (rights->may_switch_entities) {
        return spectator_refuse_change(world, system, "switches",
                                       "enables or disables entities (\"*\")");
    }
    orr_type transient = system->desc.kind == ORR_INDIRECT
                             ? spectator_find_transient(world, system->query)
                             : (orr_type){0};
    if (transient.id != 0) {
        return orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_SYSTEM_REFUSED,
                           "system '%s' asks for messages about %s, a transient type, of which no "
                           "reader is notified; let a direct system read it",
                           system->desc.name, orri_type_label(world, transient));
    }
    return spectator_check_types(world, system);
}

// ---- between the two ----------------------------------------------------------------------------

// True when the world has systems on the other side that an event of the system could cross to, or
// come from.
static bool spectator_events_cross(const orr_world* world, const orri_system* system)
{
    const struct orri_schedule* schedule = world->schedule;
    bool spectator = system->pipe->spectator, several = false;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        several |= schedule->pipelines[i]->spectator != spectator;
    }
    return several && (spectator ? system->rights.sends : system->rights.receives) != NULL;
}

// Events of a spectator are received by spectators only.
static orr_result spectator_check_events(orr_world* world, const orri_system* system)
{
    if (!spectator_events_cross(world, system)) {
        return ORR_OK;
    }
    for (const orri_system* other = world->schedule->first; other != NULL; other = other->next) {
        if (other->removed || other->pipe->spectator == system->pipe->spectator) {
            continue;
        }
        const orri_system* sender = system->pipe->spectator ? system : other;
        const orri_system* receiver = system->pipe->spectator ? other : system;
        for (uint32_t i = 0; i < world->schema.type_count; i++) {
            if (orri_right(sender->rights.sends, &sender->rights, i) &&
                orri_right(receiver->rights.receives, &receiver->rights, i)) {
                return orri_refuse(
                    &world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_SYSTEM_REFUSED,
                    "system '%s' of the spectator pipeline '%s' sends events %s, which system '%s' "
                    "of pipeline '%s' receives; events of a spectator are for spectators only. "
                    "Pass input of the user to the simulation with orr_post() or between ticks",
                    sender->desc.name, sender->pipe->name, world->schema.types[i]->info.name,
                    receiver->desc.name, receiver->pipe->name);
            }
        }
    }
    return ORR_OK;
}

orr_result orri_spectator_check(orr_world* world, const orri_system* system)
{
    orr_result result = system->pipe->spectator ? spectator_check_spectator(world, system)
                                                : spectator_check_simulation(world, system);
    return result == ORR_OK ? spectator_check_events(world, system) : result;
}

orr_result orri_spectator_import(orr_world* world, const orri_system* system,
                                 const orri_system* from)
{
    if (system->pipe->spectator || !from->pipe->spectator) {
        return ORR_OK;
    }
    return orri_refuse(
        &world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_PLAN_REFUSED,
        "system '%s' of pipeline '%s' imports from '%s' of the spectator pipeline '%s', which is "
        "hidden from the simulation; put the exporting system into a pipeline without .spectator",
        system->desc.name, system->pipe->name, from->desc.name, from->pipe->name);
}

bool orri_spectator_refuses(orr_world* world, orri_system* by, const char* what,
                            const orri_system* target)
{
    if (ORR_LIKELY(by == NULL || !by->pipe->spectator) ||
        (target != NULL && target->pipe->spectator)) {
        return false;
    }
    by->rights.counts.violations++;
    (void)orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
                      "system '%s' of the spectator pipeline '%s' %s %s%s%s; a spectator may not "
                      "affect the simulation: do it with orr_post(), or between ticks",
                      by->desc.name, by->pipe->name, what, target != NULL ? "'" : "the world",
                      target != NULL ? target->desc.name : "", target != NULL ? "'" : "");
    return true;
}

bool orri_spectator_hidden(const orr_world* world, const orri_system* system)
{
    if (ORR_LIKELY(!system->pipe->spectator)) {
        return false;
    }
    const orri_system* here = orri_system_here(world);
    return here != NULL && !here->pipe->spectator;
}

#undef SPECTATOR_LISTS
