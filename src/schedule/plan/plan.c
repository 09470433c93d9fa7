// SPDX-License-Identifier: MIT
// The plan of a tick: systems in order, and points between them, placed by declarations alone:
// before the first later system that names what may have been changed, or may select a changed
// entity. So every run, serial or parallel, commits at the same places, whatever was sent.
#include "base/scan.h"
#include "schedule/plan/effects.h"

// Plans of at most this many systems are checked by comparing all pairs (ORR_VALIDATE).
#define PLAN_PAIRS_MAX 256u

// ---- which systems does a structural change concern? --------------------------------------------

static const orri_leaf* plan_leaf(const orri_system* system)
{
    return &system->query->leaves[0];
}

// True when the system's terms, .by_id or .atomics name the type.
static bool plan_names(const orr_world* world, const orri_system* system, uint32_t type_index)
{
    const orri_access* access = &system->access;
    if (access->by_id_read != NULL && type_index < access->type_count &&
        orri_bit_get(access->by_id_read, type_index)) {
        return true;
    }
    if (orri_right(system->rights.atomics, &system->rights, type_index)) {
        return true;
    }
    const orri_leaf* leaf = plan_leaf(system);
    for (uint32_t i = 0; i < leaf->term_count; i++) {
        if (leaf->terms[i].type.id != 0 &&
            orri_type_index(world, leaf->terms[i].type) == type_index) {
            return true;
        }
    }
    return false;
}

// The first type of a bit set that the system names; null: none.
static orr_type plan_named(const orr_world* world, const orri_system* system, const uint64_t* bits,
                           uint32_t words)
{
    for (uint32_t w = 0; bits != NULL && w < words; w++) {
        for (uint64_t left = bits[w]; left != 0; left &= left - 1) {
            uint32_t index = w * 64 + (uint32_t)__builtin_ctzll(left);
            if (plan_names(world, system, index)) {
                return (orr_type){world->schema.type_base + index};
            }
        }
    }
    return (orr_type){0};
}

// True when the query excludes every entity that has the type, or the tag, enabled.
static bool plan_excludes(const orri_leaf* leaf, orr_type type, orr_tag tag)
{
    for (uint32_t i = 0; i < leaf->term_count; i++) {
        const orr_term* term = &leaf->terms[i];
        // "!X" leaves entities whose X is disabled, "!disabled X" those whose X is enabled; only
        // "!either X" leaves none. But a required X is enabled, so "X" and "!X" never select the
        // same entity.
        if (term->kind == ORR_WITHOUT && term->state != ORR_DISABLED && term->type.id == type.id &&
            (type.id != 0 || term->tag == tag)) {
            return true;
        }
    }
    return false;
}

// True when no entity can be selected by both: one requires what the other excludes.
static bool plan_disjoint(const orri_leaf* a, const orri_leaf* b)
{
    for (uint32_t i = 0; i < a->term_count; i++) {
        const orr_term* term = &a->terms[i];
        if (term->kind == ORR_REQUIRED && term->state == ORR_ENABLED &&
            plan_excludes(b, term->type, term->tag)) {
            return true;
        }
    }
    return false;
}

// True when the sender may change a tag that the reader's terms, or its own queries, ask for.
static bool plan_tagged(const orri_system* sender, const orri_system* reader)
{
    const orri_leaf* leaf = plan_leaf(reader);
    for (uint32_t i = 0; i < leaf->term_count; i++) {
        if (leaf->terms[i].type.id == 0 && orri_may_tag(&sender->rights, leaf->terms[i].tag)) {
            return true;
        }
    }
    for (uint32_t i = 0; i < reader->access.by_id_tag_count; i++) {
        if (orri_may_tag(&sender->rights, reader->by_id_tags[i])) {
            return true;
        }
    }
    return false;
}

// True when the reader names a built-in type, for instance orr_tags.
static bool plan_tracks(const orr_world* world, const orri_system* reader, const char* name)
{
    orr_type type = orr_type_find(world, name);
    return type.id != 0 && plan_names(world, reader, orri_type_index(world, type));
}

// True when a destroy may have this effect on entities with references to the destroyed one. Any
// entity may be destroyed with it, whatever else it has; a cleared reference concerns only systems
// that name its type.
static bool plan_cascades(const orr_world* world, const orri_system* reader,
                          orr_on_destroy on_destroy)
{
    for (uint32_t t = 0; t < world->schema.type_count; t++) {
        const orri_type* type = world->schema.types[t];
        for (uint32_t i = 0; i < type->indexed_count; i++) {
            if (type->indexed[i].on_destroy == on_destroy &&
                (on_destroy == ORR_ON_DESTROY_DESTROY || plan_names(world, reader, t))) {
                return true;
            }
        }
    }
    return false;
}

// True when the reader accesses entities by id, or in queries of its own.
static bool plan_reaches(const orri_system* reader)
{
    return reader->access.by_id_read != NULL || reader->atomic;
}

// True when the reader may select an entity that the sender destroys.
static bool plan_selects_destroyed(const orr_world* world, const orri_system* sender,
                                   const orri_system* reader)
{
    const orri_leaf* leaf = plan_leaf(reader);
    const orri_leaf* destroyed = sender->destroys != NULL ? &sender->destroys->leaves[0] : NULL;
    return leaf->term_count > 0 &&
           (destroyed == NULL || plan_cascades(world, reader, ORR_ON_DESTROY_DESTROY) ||
            (!plan_disjoint(destroyed, leaf) && !plan_disjoint(leaf, destroyed)));
}

// A system without terms and .by_id selects nothing, but orr_alive() and orr_entity_count() are
// open to it.
static bool plan_destroys(const orr_world* world, const orri_system* sender,
                          const orri_system* reader, orri_reason* out)
{
    if (!sender->rights.may_destroy_any && sender->destroys == NULL) {
        return false;
    }
    if (plan_selects_destroyed(world, sender, reader)) {
        out->what = "may destroy what";
        out->rest = "selects";
    } else if (plan_reaches(reader)) {
        out->what = "may destroy entities that";
        out->rest = "reaches by id";
    } else if (plan_cascades(world, reader, ORR_ON_DESTROY_CLEAR)) {
        out->what = "may destroy entities, and so clear references that";
        out->rest = "names";
    } else if (plan_leaf(reader)->term_count == 0) {
        out->what = "may destroy entities, and";
        out->rest = "may ask whether they are alive";
    } else {
        return false;
    }
    return true;
}

static bool plan_enables_entities(const orri_system* sender, const orri_system* reader,
                                  orri_reason* out)
{
    bool selects = plan_leaf(reader)->term_count > 0;
    out->what = "may enable or disable entities that";
    out->rest = selects ? "selects" : "reaches by id";
    return sender->rights.may_switch_entities && (selects || plan_reaches(reader));
}

static bool plan_changes_tags(const orr_world* world, const orri_system* sender,
                              const orri_system* reader, orri_reason* out)
{
    if (plan_tagged(sender, reader)) {
        out->what = "may change tags that";
        out->rest = "names";
        return true;
    }
    out->what = "may change tags, and";
    out->rest = "names orr_tags";
    return (sender->rights.may_tag_any || sender->rights.tag_count > 0) &&
           plan_tracks(world, reader, "orr_tags");
}

// True when the reader selects all entities.
static bool plan_everything(const orri_system* reader)
{
    return reader->no_required && !(reader->desc.once && plan_leaf(reader)->term_count == 0);
}

bool orri_affects(const orr_world* world, const orri_system* sender, const orri_system* reader,
                  orri_reason* out)
{
    const orri_rights* rights = &sender->rights;
    *out = (orri_reason){.sender = sender, .reader = reader};
    const struct {
        const uint64_t* bits;
        const char* what;
    } sets[] = {{rights->creates, "may create entities with"},
                {rights->adds, "may add"},
                {rights->removes, "may remove"},
                {rights->switches, "may enable or disable"}};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        out->type = plan_named(world, reader, sets[i].bits, rights->type_words);
        out->what = sets[i].what;
        if (out->type.id != 0) {
            return true;
        }
    }
    if (plan_everything(reader) && sender->structural) {
        out->what = "may change entities, and";
        out->rest = "requires no type of those that it selects";
        return true;
    }
    if (plan_destroys(world, sender, reader, out) || plan_enables_entities(sender, reader, out)) {
        return true;
    }
    if (sender->desc.switches != NULL && plan_tracks(world, reader, "orr_enabled")) {
        out->what = "may enable or disable components, and";
        out->rest = "names orr_enabled";
        return true;
    }
    if (plan_changes_tags(world, sender, reader, out)) {
        return true;
    }
    if (rights->may_rename && plan_tracks(world, reader, "orr_name")) {
        out->what = "may change names, which";
        out->rest = "reads";
        return true;
    }
    return false;
}

// Sent values may wait for a structural change of their entity.
static bool plan_waits_value(const orr_world* world, const orri_system* sender,
                             const orri_system* reader, orri_reason* out)
{
    orr_type type = plan_named(world, reader, sender->rights.changes, sender->rights.type_words);
    *out = (orri_reason){
        .sender = sender, .reader = reader, .what = "may have sent changes of", .type = type};
    return type.id != 0;
}

// So may transactions; and later changes of the type must not be merged before them.
static bool plan_waits_transaction(const orr_world* world, const orri_system* sender,
                                   const orri_system* reader, orri_reason* out)
{
    const orri_rights* rights = &sender->rights;
    orr_type type = plan_named(world, reader, rights->transacts, rights->type_words);
    for (uint32_t i = 0; sender->transacts && type.id == 0 && i < world->schema.type_count; i++) {
        if (orri_right(rights->transacts, rights, i) &&
            orri_right(reader->rights.changes, &reader->rights, i)) {
            type = (orr_type){world->schema.type_base + i};
        }
    }
    *out = (orri_reason){
        .sender = sender, .reader = reader, .what = "may have transacted on", .type = type};
    return type.id != 0;
}

// ---- placing points -----------------------------------------------------------------------------

static orr_result plan_push(orri_pipeline* pipe, orri_step step)
{
    orr_world* world = pipe->world;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &pipe->steps, &pipe->step_capacity,
                      pipe->step_count + 1)) {
        return orri_refuse_memory(&world->env, "planning a tick");
    }
    uint32_t at = pipe->step_count++;
    pipe->steps_same &= at < pipe->step_count_before && pipe->steps[at].system == step.system;
    pipe->steps[at] = step;
    return ORR_OK;
}

// Ends the group that began at step `first` with a point.
static orr_result plan_end(orri_pipeline* pipe, uint32_t first, bool commit,
                           const orri_reason* reason)
{
    orr_result result =
        plan_push(pipe, (orri_step){.commit = commit, .first = first, .reason = *reason});
    if (result == ORR_OK) {
        pipe->steps[first].first = first < pipe->step_count - 1 ? pipe->step_count - 1 : first;
    }
    return result;
}

// A system of the group that began at step `first` with which the system cannot be in one group.
static bool plan_find_split(const orri_pipeline* pipe, uint32_t first, const orri_system* system,
                            orri_reason* out)
{
    const orr_world* world = pipe->world;
    for (uint32_t i = first; i < pipe->step_count; i++) {
        world->schedule->paired++;
        if (orri_delivery_deps_before(world, pipe->steps[i].system, system, out)) {
            return true;
        }
    }
    return false;
}

// A system after the last commit point (before step `from`) because of which the reader needs
// another one.
static bool plan_find_need(const orri_pipeline* pipe, uint32_t from, const orri_system* reader,
                           orri_reason* out)
{
    const orr_world* world = pipe->world;
    bool structural = false;
    for (uint32_t i = from; i < pipe->step_count; i++) {
        const orri_system* sender = pipe->steps[i].system;
        if (sender == NULL) {
            continue;
        }
        world->schedule->paired++;
        structural |= sender->structural;
        if ((sender->structural && orri_affects(world, sender, reader, out)) ||
            (structural && plan_waits_value(world, sender, reader, out))) {
            return true;
        }
    }
    // Transactions are applied at the end of their group: structural changes of later systems of
    // the group count, too.
    for (uint32_t i = from; structural && i < pipe->step_count; i++) {
        const orri_system* sender = pipe->steps[i].system;
        if (sender != NULL && plan_waits_transaction(world, sender, reader, out)) {
            return true;
        }
    }
    return false;
}

// ---- the same by the effects of all earlier systems ---------------------------------------------

// Enters the effects of the system of a step that decide where commit points stand; the last one is
// before step `from`. False when refused (reported).
static bool plan_enter_effects(orri_effects* effects, const orri_system* system, uint32_t from,
                               uint32_t step)
{
    const orri_rights* rights = &system->rights;
    const uint64_t* const structure[] = {rights->creates, rights->adds, rights->removes,
                                         rights->switches};
    for (size_t i = 0; i < ORRI_COUNT(structure); i++) {
        orri_effects_enter_bits(effects, ORRI_EFFECT_STRUCTURE, structure[i], rights->type_words,
                                step);
    }
    orri_effects_enter_bits(effects, ORRI_EFFECT_CHANGES, rights->changes, rights->type_words,
                            step);
    orri_effects_enter_bits(effects, ORRI_EFFECT_TRANSACTS, rights->transacts, rights->type_words,
                            step);
    if (system->structural && !orri_effects_any(effects, ORRI_STEP_STRUCTURAL, from)) {
        effects->structural_first = step;
    }
    bool destroys = system->destroys != NULL;
    orri_effects_enter_step(effects, ORRI_STEP_STRUCTURAL, system->structural, step);
    orri_effects_enter_step(effects, ORRI_STEP_DESTROYS, destroys || rights->may_destroy_any, step);
    orri_effects_enter_step(effects, ORRI_STEP_DESTROYS_ANY, !destroys && rights->may_destroy_any,
                            step);
    orri_effects_enter_step(effects, ORRI_STEP_SWITCHES, system->desc.switches != NULL, step);
    orri_effects_enter_step(effects, ORRI_STEP_SWITCHES_ENTITIES, rights->may_switch_entities,
                            step);
    orri_effects_enter_step(effects, ORRI_STEP_RENAMES, rights->may_rename, step);
    return (!destroys ||
            orri_effects_enter_destroys(effects, &system->destroys->leaves[0], step)) &&
           orri_effects_enter_tags(effects, system, step);
}

// True when a structural change, or a value or transaction that waits for one, concerns a type.
static bool plan_type_pending(const orri_effects* effects, uint32_t from, uint32_t type)
{
    return orri_effects_on(effects, ORRI_EFFECT_STRUCTURE, type, from) ||
           orri_effects_on(effects, ORRI_EFFECT_CHANGES, type, effects->structural_first) ||
           orri_effects_on(effects, ORRI_EFFECT_TRANSACTS, type, from);
}

// The same for the types of a bit set (NULL: none).
static bool plan_bits_pending(const orri_effects* effects, uint32_t from, const uint64_t* bits,
                              uint32_t words)
{
    return orri_effects_on_bits(effects, ORRI_EFFECT_STRUCTURE, bits, words, from) ||
           orri_effects_on_bits(effects, ORRI_EFFECT_CHANGES, bits, words,
                                effects->structural_first) ||
           orri_effects_on_bits(effects, ORRI_EFFECT_TRANSACTS, bits, words, from);
}

// The same for the types that the reader names, as plan_names() defines it.
static bool plan_names_pending(const orri_effects* effects, uint32_t from,
                               const orri_system* reader)
{
    const orri_leaf* leaf = plan_leaf(reader);
    for (uint32_t i = 0; i < leaf->term_count; i++) {
        orr_type type = leaf->terms[i].type;
        if (type.id != 0 &&
            plan_type_pending(effects, from, orri_type_index(effects->world, type))) {
            return true;
        }
    }
    uint32_t words = reader->rights.type_words;
    return plan_bits_pending(effects, from, reader->access.by_id_read, words) ||
           plan_bits_pending(effects, from, reader->rights.atomics, words) ||
           orri_effects_on_bits(effects, ORRI_EFFECT_TRANSACTS, reader->rights.changes, words,
                                from);
}

// True when an earlier system may destroy an entity that concerns the reader: see plan_destroys().
static bool plan_destroys_pending(const orri_effects* effects, uint32_t from,
                                  const orri_system* reader)
{
    if (!orri_effects_any(effects, ORRI_STEP_DESTROYS, from)) {
        return false;
    }
    if (plan_leaf(reader)->term_count == 0 || plan_reaches(reader) ||
        orri_effects_any(effects, ORRI_STEP_DESTROYS_ANY, from) ||
        plan_cascades(effects->world, reader, ORR_ON_DESTROY_DESTROY) ||
        plan_cascades(effects->world, reader, ORR_ON_DESTROY_CLEAR)) {
        return true;
    }
    for (uint32_t i = 0; i < effects->destroys_count; i++) {
        const orri_effect_destroys* destroys = &effects->destroys[i];
        if (destroys->last1 > from && !plan_disjoint(destroys->leaf, plan_leaf(reader)) &&
            !plan_disjoint(plan_leaf(reader), destroys->leaf)) {
            return true;
        }
    }
    return false;
}

// True when an earlier system may change a tag that the reader names: see plan_tagged().
static bool plan_tags_pending(const orri_effects* effects, uint32_t from, const orri_system* reader)
{
    if (!orri_effects_any(effects, ORRI_STEP_TAGS, from)) {
        return false;
    }
    const orri_leaf* leaf = plan_leaf(reader);
    for (uint32_t i = 0; i < leaf->term_count; i++) {
        if (leaf->terms[i].type.id == 0 && orri_effects_on_tag(effects, leaf->terms[i].tag, from)) {
            return true;
        }
    }
    for (uint32_t i = 0; i < reader->access.by_id_tag_count; i++) {
        if (orri_effects_on_tag(effects, reader->by_id_tags[i], from)) {
            return true;
        }
    }
    return plan_tracks(effects->world, reader, "orr_tags");
}

// True when plan_find_need() finds a system.
static bool plan_needed(const orri_effects* effects, uint32_t from, const orri_system* reader)
{
    if (!orri_effects_any(effects, ORRI_STEP_STRUCTURAL, from)) {
        return false; // Values and transactions wait for nothing.
    }
    const orr_world* world = effects->world;
    return plan_names_pending(effects, from, reader) || plan_everything(reader) ||
           plan_destroys_pending(effects, from, reader) ||
           (orri_effects_any(effects, ORRI_STEP_SWITCHES_ENTITIES, from) &&
            (plan_leaf(reader)->term_count > 0 || plan_reaches(reader))) ||
           (orri_effects_any(effects, ORRI_STEP_SWITCHES, from) &&
            plan_tracks(world, reader, "orr_enabled")) ||
           plan_tags_pending(effects, from, reader) ||
           (orri_effects_any(effects, ORRI_STEP_RENAMES, from) &&
            plan_tracks(world, reader, "orr_name"));
}

// Enters all effects of the system that was placed at the last step. False when refused (reported).
static bool plan_placed(orri_effects* effects, const orri_pipeline* pipe, uint32_t from)
{
    uint32_t step = pipe->step_count - 1;
    orri_delivery_deps_enter(effects, pipe->steps[step].system, step);
    return plan_enter_effects(effects, pipe->steps[step].system, from, step);
}

static orr_result plan_place(orri_pipeline* pipe, orri_effects* effects, orri_system* const* order,
                             uint32_t count)
{
    orri_effects_reset(effects);
    pipe->step_count_before = pipe->step_count;
    pipe->step_count = 0;
    // If systems changed, another system may have the address of a freed one.
    pipe->steps_same = !pipe->world->schedule->stale;
    orri_reason reason;
    uint32_t from = 0, group = 0;
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < count; i++) {
        if (!order[i]->wanted || order[i]->pipe != pipe) {
            continue;
        }
        // Pairs are compared only to find the reason of a point, so a plan costs one comparison per
        // system.
        bool needed = plan_needed(effects, from, order[i]);
        bool splits = !needed && group < pipe->step_count &&
                      orri_delivery_deps_any(effects, group, order[i]);
        ORR_VALIDATE(count > PLAN_PAIRS_MAX ||
                     plan_find_need(pipe, from, order[i], &reason) == needed);
        ORR_VALIDATE(count > PLAN_PAIRS_MAX || needed ||
                     plan_find_split(pipe, group, order[i], &reason) == splits);
        if (needed && plan_find_need(pipe, from, order[i], &reason)) {
            result = plan_end(pipe, group, true, &reason);
            from = group = pipe->step_count;
        } else if (splits && plan_find_split(pipe, group, order[i], &reason)) {
            result = plan_end(pipe, group, false, &reason);
            group = pipe->step_count;
        }
        if (result == ORR_OK) {
            order[i]->order = pipe->step_count - group;
            result = plan_push(pipe, (orri_step){.system = order[i]});
        }
        if (result == ORR_OK && !plan_placed(effects, pipe, from)) {
            result = ORR_ERR_MEMORY;
        }
    }
    reason = (orri_reason){.what = "the tick ends"};
    return result == ORR_OK ? plan_end(pipe, group, true, &reason) : result;
}

// ---- imports and events -------------------------------------------------------------------------

ORRI_COLD static orr_result plan_refuse_import(orr_world* world, const orri_system* system,
                                               const char* name, size_t size, const char* what)
{
    orri_near near;
    orri_near_begin(&near, name, size);
    for (const orri_system* other = world->schedule->first; other != NULL; other = other->next) {
        if (other->desc.exports != NULL && !other->removed) {
            orri_near_offer(&near, other->desc.name);
        }
    }
    char words[256];
    orri_text text = {words, sizeof words, 0};
    words[0] = '\0';
    orri_near_append(&near, &text);
    return orri_refuse(&world->env, ORR_ERR_NAME, ORR_LOG_ID_PLAN_REFUSED,
                       "system '%s', .imports: '%.*s' %s%s", system->desc.name, (int)size, name,
                       what, words);
}

// Looks up the imports of a system.
static orr_result plan_import(orr_world* world, orri_system* system)
{
    orri_exports_release(world, system);
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_system*, system->imports, system->import_count);
    system->imports = NULL;
    system->import_count = 0;
    uint32_t count = 0;
    const char *at = system->desc.imports != NULL ? system->desc.imports : "", *item;
    size_t size;
    for (const char* from = at; orri_scan_item(&from, &item, &size);) {
        count++;
    }
    if (count == 0) {
        return ORR_OK;
    }
    system->imports = ORRI_ALLOC(&world->env, ORR_MEMORY_SYSTEM, orri_system*, count);
    if (system->import_notes == NULL) { // The list never changes.
        system->import_notes =
            ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, orri_import_note, count);
        system->import_note_count = system->import_notes != NULL ? count : 0;
    }
    if (system->imports == NULL || system->import_notes == NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_system*, system->imports, count);
        system->imports = NULL;
        return orri_refuse_memory(&world->env, "planning a tick");
    }
    system->import_count = count;
    for (uint32_t i = 0; orri_scan_item(&at, &item, &size); i++) {
        orri_system* other = orri_system_named(world, item, size);
        if (other == NULL || other->desc.exports == NULL) {
            ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_system*, system->imports, count);
            system->imports = NULL;
            system->import_count = 0;
            return plan_refuse_import(world, system, item, size,
                                      other == NULL ? "is no system; name a system with .exports"
                                                    : "exports nothing; add .exports to it");
        }
        system->imports[i] = other;
    }
    for (uint32_t i = 0; i < count; i++) {
        orr_result result = orri_spectator_import(world, system, system->imports[i]);
        if (result != ORR_OK) {
            return result;
        }
    }
    return ORR_OK;
}

// True when .sends has "?type": it need not be received.
static bool plan_sends_maybe(const orri_system* sender, const char* type)
{
    const char *at = sender->desc.sends, *item;
    size_t size;
    while (orri_scan_item(&at, &item, &size)) {
        const char* name = *item == '?' ? orri_scan_blanks(item + 1) : "";
        if (orri_scan_equals(name, orri_scan_word(name), type)) {
            return true;
        }
    }
    return false;
}

// An event type that no system receives is a mistake. `received`: bits of the types that systems
// receive.
static orr_result plan_check_events(orr_world* world, const orri_system* sender,
                                    const uint64_t* received)
{
    for (uint32_t i = 0; sender->rights.sends != NULL && i < world->schema.type_count; i++) {
        if (orri_right(sender->rights.sends, &sender->rights, i) && !orri_bit_get(received, i) &&
            !plan_sends_maybe(sender, world->schema.types[i]->info.name)) {
            return orri_refuse(
                &world->env, ORR_ERR_STATE, ORR_LOG_ID_PLAN_REFUSED,
                "system '%s' sends events %s, which no system receives; put it into "
                "the .receives of one, take it out of .sends, or write \"?%s\" there if "
                "there may be none",
                sender->desc.name, world->schema.types[i]->info.name,
                world->schema.types[i]->info.name);
        }
    }
    return ORR_OK;
}

// Checks the events of all systems.
static orr_result plan_check_all_events(orr_world* world)
{
    uint32_t words = world->schema.type_count / 64 + 1;
    uint64_t* received = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_TEMP, uint64_t, words);
    if (received == NULL) {
        return orri_refuse_memory(&world->env, "planning a tick");
    }
    const orri_system* first = world->schedule->first;
    for (const orri_system* system = first; system != NULL; system = system->next) {
        const uint64_t* bits = system->removed ? NULL : system->rights.receives;
        for (uint32_t w = 0; bits != NULL && w < system->rights.type_words; w++) {
            received[w] |= bits[w];
        }
    }
    orr_result result = ORR_OK;
    for (const orri_system* system = first; result == ORR_OK && system != NULL;
         system = system->next) {
        result = system->removed ? ORR_OK : plan_check_events(world, system, received);
    }
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, uint64_t, received, words);
    return result;
}

// Resolves all systems, their imports and events.
static orr_result plan_look_up(orr_world* world)
{
    orr_result result = ORR_OK;
    for (orri_system* system = world->schedule->first; result == ORR_OK && system != NULL;
         system = system->next) {
        if (!system->removed) {
            result = orri_system_resolve(world, system);
            result = result == ORR_OK ? plan_import(world, system) : result;
        }
    }
    return result == ORR_OK ? plan_check_all_events(world) : result;
}

// Makes the plans of all pipelines.
static orr_result plan_place_all(orr_world* world, orri_system* const* order, uint32_t count)
{
    const struct orri_schedule* schedule = world->schedule;
    orri_effects effects;
    if (!orri_effects_begin(world, &effects)) {
        return ORR_ERR_MEMORY;
    }
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < schedule->pipeline_count; i++) {
        result = plan_place(schedule->pipelines[i], &effects, order, count);
    }
    orri_effects_end(&effects);
    return result;
}

orr_result orri_plan_make(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    // A new type may have reference fields, through which a destroy cascades.
    if (!schedule->stale && schedule->step_types == world->schema.type_count) {
        return ORR_OK;
    }
    orr_result result = plan_look_up(world);
    if (result != ORR_OK) {
        return result;
    }
    uint32_t room = schedule->system_count, count = 0;
    orri_system** order = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, orri_system*, room);
    if (order == NULL) {
        return orri_refuse_memory(&world->env, "planning a tick");
    }
    result = orri_system_order(world, true, order, &count);
    if (result == ORR_OK && !(orri_notified_types_find(world) && orri_type_owners_sort(world))) {
        result = ORR_ERR_MEMORY;
    }
    result = result == ORR_OK ? plan_place_all(world, order, count) : result;
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orri_system*, order, room);
    schedule->plans++;
    schedule->stale = result != ORR_OK;
    schedule->switched = schedule->switched && schedule->stale;
    schedule->step_types = world->schema.type_count;
    for (uint32_t i = 0; i < schedule->pipeline_count; i++) {
        orri_pipeline* pipe = schedule->pipelines[i];
        // If only types were added, they have no cluster yet; if no step changed, conflicts are the
        // same.
        if (result != ORR_OK || !pipe->steps_same || pipe->step_count != pipe->step_count_before) {
            orri_conflicts_invalidate(pipe);
        }
        pipe->replanned |= result == ORR_OK;
    }
    return result;
}

#undef PLAN_PAIRS_MAX
