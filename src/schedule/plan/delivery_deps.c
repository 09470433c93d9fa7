// SPDX-License-Identifier: MIT
// Decides where a group of systems ends. Values and events that systems sent are applied, and
// readers are notified, at the point after the group, in the order of systems. A later system that
// needs these effects cannot be in the group. Only declarations decide that, so every run has the
// same points.
#include "schedule/plan/effects.h"

// ---- types of which readers are notified --------------------------------------------------------

// Adds the types of a reader's query.
static void delivery_deps_track(orr_world* world, const orri_system* reader)
{
    struct orri_schedule* schedule = world->schedule;
    schedule->notified_any = true;
    schedule->notified_all |= reader->no_required;
    for (uint32_t f = 0; f < reader->query->field_count; f++) {
        orri_bit_set(schedule->notified, orri_type_index(world, reader->query->fields[f].type),
                     true);
    }
}

bool orri_notified_types_find(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    uint32_t words = world->schema.type_count / 64 + 1;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &schedule->notified,
                      &schedule->notified_words, words)) {
        (void)orri_refuse_memory(&world->env, "planning a tick");
        return false;
    }
    memset(schedule->notified, 0, schedule->notified_words * sizeof *schedule->notified);
    schedule->notified_any = schedule->notified_all = schedule->journal != NULL;
    // Points never depend on spectators: a spectator may receive several writes as one.
    for (const orri_system* system = schedule->first; system != NULL; system = system->next) {
        if (!system->removed && system->wanted && system->rights.reader != NULL &&
            !system->pipe->spectator) {
            delivery_deps_track(world, system);
        }
    }
    return true;
}

static bool delivery_deps_readers(const orr_world* world, uint32_t type_index)
{
    const struct orri_schedule* schedule = world->schedule;
    return schedule->notified_all ||
           (schedule->notified_any && type_index / 64 < schedule->notified_words &&
            orri_bit_get(schedule->notified, type_index));
}

// True when the system writes the type in place, and readers are notified of it.
static bool delivery_deps_writes(const orr_world* world, const orri_system* system,
                                 uint32_t type_index)
{
    return delivery_deps_readers(world, type_index) &&
           orri_touches(world, system, type_index, NULL) >= ORRI_TOUCH_ATOMIC;
}

// The first type that `system` writes in place, of which readers are notified, and that `both` (may
// be NULL) writes, too. Null: none.
static orr_type delivery_deps_writes_notified(const orr_world* world, const orri_system* system,
                                              const orri_system* both)
{
    for (uint32_t i = 0; world->schedule->notified_any && i < world->schema.type_count; i++) {
        if (delivery_deps_writes(world, system, i) &&
            (both == NULL || delivery_deps_writes(world, both, i))) {
            return (orr_type){world->schema.type_base + i};
        }
    }
    return (orr_type){0};
}

// ---- the rules ----------------------------------------------------------------------------------

// Values that `first` sent, and `second` reads or writes.
static bool delivery_deps_values(const orr_world* world, const orri_system* first,
                                 const orri_system* second, orri_reason* out)
{
    for (uint32_t i = 0; first->sends_changes && i < world->schema.type_count; i++) {
        if (orri_right(first->rights.changes, &first->rights, i) &&
            orri_touches(world, second, i, NULL) != ORRI_TOUCH_NONE) {
            out->what = "may have sent changes of";
            out->type = (orr_type){world->schema.type_base + i};
            return true;
        }
    }
    return false;
}

// Transactions are applied after the values of all systems of the group: a system that reads the
// type, writes it or sends changes of it comes after a point. Another system with transactions need
// not: all are applied in order.
static bool delivery_deps_transacts(const orr_world* world, const orri_system* first,
                                    const orri_system* second, orri_reason* out)
{
    for (uint32_t i = 0; first->transacts && i < world->schema.type_count; i++) {
        if (orri_right(first->rights.transacts, &first->rights, i) &&
            (orri_touches(world, second, i, NULL) != ORRI_TOUCH_NONE ||
             orri_right(second->rights.changes, &second->rights, i))) {
            out->what = "may have transacted on";
            out->type = (orr_type){world->schema.type_base + i};
            return true;
        }
    }
    return false;
}

// Events that `first` sends and `second` receives.
static bool delivery_deps_events(const orr_world* world, const orri_system* first,
                                 const orri_system* second, orri_reason* out)
{
    for (uint32_t i = 0; first->rights.sends != NULL && i < world->schema.type_count; i++) {
        if (orri_right(first->rights.sends, &first->rights, i) &&
            orri_right(second->rights.receives, &second->rights, i)) {
            out->what = "sends events";
            out->type = (orr_type){world->schema.type_base + i};
            return true;
        }
    }
    return false;
}

// True when the system writes notified types in atomic sections only.
static bool delivery_deps_only_atomic(const orr_world* world, const orri_system* system)
{
    bool only = system->atomic && !system->writes_by_id && !system->sends_changes;
    for (uint32_t i = 0; only && i < world->schema.type_count; i++) {
        only = !delivery_deps_readers(world, i) ||
               orri_touches(world, system, i, NULL) != ORRI_TOUCH_WRITES;
    }
    return only;
}

// True when `first` may have changed a value of a type that the reader `second` asks for.
static bool delivery_deps_concerns(const orr_world* world, const orri_system* first,
                                   const orri_system* second)
{
    for (uint32_t i = 0; i < world->schema.type_count; i++) {
        bool changed = orri_touches(world, first, i, NULL) >= ORRI_TOUCH_ATOMIC ||
                       orri_right(first->rights.changes, &first->rights, i) ||
                       orri_right(first->rights.transacts, &first->rights, i);
        if (changed &&
            (second->no_required || orri_touches(world, second, i, NULL) != ORRI_TOUCH_NONE)) {
            return true;
        }
    }
    return false;
}

// True when the system writes beyond the rows of its query.
static bool delivery_deps_beyond(const orri_system* system)
{
    return system->sends_changes || system->writes_by_id || system->atomic;
}

// Readers must be notified of a write before the value is written again, or before a reader runs.
// After values were sent or written by id, everything that differs is reported as this system's: no
// other system may have written in between. But systems with only atomic sections may all be in one
// group: their changes are reported without a source (group.c).
static bool delivery_deps_diff(const orr_world* world, const orri_system* first,
                               const orri_system* second, orri_reason* out)
{
    bool beyond_query = delivery_deps_beyond(first);
    orr_type written = delivery_deps_writes_notified(world, first, NULL);
    if (second->rights.reader != NULL &&
        (written.id != 0 || first->sends_changes || first->transacts)) {
        bool concerns = delivery_deps_concerns(world, first, second);
        out->what = concerns ? "may have changed what" : "may have changed values, and";
        out->rest = concerns ? "is notified of" : "is notified of others";
        return true;
    }
    if (delivery_deps_only_atomic(world, first) && delivery_deps_only_atomic(world, second)) {
        return false;
    }
    orr_type again = delivery_deps_writes_notified(world, second, beyond_query ? NULL : first);
    if (again.id != 0 && (written.id != 0 || beyond_query)) {
        out->what = written.id != 0 ? "may have changed values of which readers are notified, as"
                                    : "may have sent values or written them by id, and";
        out->rest = written.id != 0 ? "may" : "writes values of which readers are notified";
        return true;
    }
    return false;
}

bool orri_delivery_deps_before(const orr_world* world, const orri_system* first,
                               const orri_system* second, orri_reason* out)
{
    *out = (orri_reason){.sender = first, .reader = second};
    if (first->alone != NULL || second->alone != NULL) {
        *out = (orri_reason){.sender = first->alone != NULL ? first : second};
        out->what = out->sender->alone;
        return true;
    }
    return delivery_deps_values(world, first, second, out) ||
           delivery_deps_transacts(world, first, second, out) ||
           delivery_deps_events(world, first, second, out) ||
           delivery_deps_diff(world, first, second, out);
}

// ---- the same by the effects of all earlier systems ---------------------------------------------

void orri_delivery_deps_enter(orri_effects* effects, const orri_system* system, uint32_t step)
{
    const orr_world* world = effects->world;
    bool beyond = delivery_deps_beyond(system), written = false;
    orri_touched_types(world, system, effects->touched);
    for (uint32_t w = 0; world->schedule->notified_any && w < effects->type_room / 64; w++) {
        for (uint64_t left = effects->touched[w]; left != 0; left &= left - 1) {
            uint32_t type = w * 64 + (uint32_t)__builtin_ctzll(left);
            if (delivery_deps_writes(world, system, type)) {
                written = true;
                if (!beyond) {
                    orri_effects_enter(effects, ORRI_EFFECT_WRITES, type, step);
                }
            }
        }
    }
    orri_effects_enter_bits(effects, ORRI_EFFECT_SENDS, system->rights.sends,
                            system->rights.type_words, step);
    orri_effects_enter_step(effects, ORRI_STEP_ALONE, system->alone != NULL, step);
    orri_effects_enter_step(effects, ORRI_STEP_NOTIFIES,
                            written || system->sends_changes || system->transacts, step);
    orri_effects_enter_step(effects, ORRI_STEP_BEYOND, beyond, step);
    orri_effects_enter_step(effects, ORRI_STEP_BEYOND_DIRECT,
                            beyond && !delivery_deps_only_atomic(world, system), step);
}

// True when the system writes a type, of which readers are notified, that it must not share with an
// earlier system: see delivery_deps_diff().
static bool delivery_deps_type_any(const orri_effects* effects, uint32_t from,
                                   const orri_system* system, uint32_t type)
{
    const orr_world* world = effects->world;
    return delivery_deps_writes(world, system, type) &&
           (orri_effects_on(effects, ORRI_EFFECT_WRITES, type, from) ||
            orri_effects_any(effects, ORRI_STEP_BEYOND_DIRECT, from) ||
            (orri_effects_any(effects, ORRI_STEP_BEYOND, from) &&
             !delivery_deps_only_atomic(world, system)));
}

bool orri_delivery_deps_any(const orri_effects* effects, uint32_t from, const orri_system* system)
{
    const orr_world* world = effects->world;
    const orri_rights* rights = &system->rights;
    if (system->alone != NULL || orri_effects_any(effects, ORRI_STEP_ALONE, from) ||
        (rights->reader != NULL && orri_effects_any(effects, ORRI_STEP_NOTIFIES, from)) ||
        orri_effects_on_bits(effects, ORRI_EFFECT_TRANSACTS, rights->changes, rights->type_words,
                             from) ||
        orri_effects_on_bits(effects, ORRI_EFFECT_SENDS, rights->receives, rights->type_words,
                             from)) {
        return true;
    }
    orri_touched_types(world, system, effects->touched);
    for (uint32_t w = 0; w < effects->type_room / 64; w++) {
        for (uint64_t left = effects->touched[w]; left != 0; left &= left - 1) {
            uint32_t type = w * 64 + (uint32_t)__builtin_ctzll(left);
            if (orri_effects_on(effects, ORRI_EFFECT_CHANGES, type, from) ||
                orri_effects_on(effects, ORRI_EFFECT_TRANSACTS, type, from) ||
                delivery_deps_type_any(effects, from, system, type)) {
                return true;
            }
        }
    }
    return false;
}
