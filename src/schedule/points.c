// SPDX-License-Identifier: MIT
// The plan of a tick: systems in order, and commit points between them, placed by declarations alone: before the first later
// system that names what may have been changed, or could meet an entity that was. So the serial run, and later every parallel
// one, commits at the same places whatever was sent.
#include "schedule/schedule.h"

// ---- who is concerned -----------------------------------------------------------------------------------------------

static const orri_leaf* points_leaf(const orri_system* system)
{
    return &system->query->leaves[0];
}

// True when a system's terms or `any` name a type, or it sees every type.
static bool points_names(const orr_world* world, const orri_system* system, uint32_t type_index)
{
    const orri_guard* guard = &system->guard;
    if (guard->any_read != NULL && type_index < guard->type_count &&
        orri_bit_get(guard->any_read, type_index)) {
        return true;
    }
    const orri_leaf* leaf = points_leaf(system);
    for (uint32_t i = 0; i < leaf->term_count; i++) {
        if (leaf->terms[i].type.index1 != 0 &&
            orri_type_index(world, leaf->terms[i].type) == type_index) {
            return true;
        }
    }
    return false;
}

// The first type of some bits that a system names; null if none.
static orr_type points_named(const orr_world* world, const orri_system* system,
                             const uint64_t* bits, uint32_t words)
{
    for (uint32_t w = 0; bits != NULL && w < words; w++) {
        for (uint64_t left = bits[w]; left != 0; left &= left - 1) {
            uint32_t index = w * 64 + (uint32_t)__builtin_ctzll(left);
            if (points_names(world, system, index)) {
                return (orr_type){world->schema.type_base + index};
            }
        }
    }
    return (orr_type){0};
}

static bool points_excludes(const orri_leaf* leaf, orr_type type, orr_tag tag)
{
    for (uint32_t i = 0; i < leaf->term_count; i++) {
        const orr_term* term = &leaf->terms[i];
        // "!X" leaves those whose X is off, "!disabled X" those whose X is on: only "!either X" leaves none. But X that is
        // required is on, so that "X" and "!X" never meet.
        if (term->kind == ORR_WITHOUT && term->state != ORR_DISABLED &&
            term->type.index1 == type.index1 && (type.index1 != 0 || term->tag == tag)) {
            return true;
        }
    }
    return false;
}

// True when nothing that one selects can be selected by the other: one requires what the other excludes.
static bool points_apart(const orri_leaf* a, const orri_leaf* b)
{
    for (uint32_t i = 0; i < a->term_count; i++) {
        const orr_term* term = &a->terms[i];
        if (term->kind == ORR_REQUIRED && term->state == ORR_ENABLED &&
            points_excludes(b, term->type, term->tag)) {
            return true;
        }
    }
    return false;
}

// True when a sender may change a tag that a reader's terms, or queries of its own, ask for.
static bool points_tagged(const orri_system* sender, const orri_system* reader)
{
    const orri_leaf* leaf = points_leaf(reader);
    for (uint32_t i = 0; i < leaf->term_count; i++) {
        if (leaf->terms[i].type.index1 == 0 && orri_may_tag(&sender->rights, leaf->terms[i].tag)) {
            return true;
        }
    }
    for (uint32_t i = 0; i < reader->guard.any_tag_count; i++) {
        if (orri_may_tag(&sender->rights, reader->any_tags[i])) {
            return true;
        }
    }
    return false;
}

static bool points_tracks(const orr_world* world, const orri_system* reader, const char* name)
{
    orr_type type = orr_type_find(world, name);
    return type.index1 != 0 && points_names(world, reader, orri_type_index(world, type));
}

// Whoever refers to the destroyed may go too, whatever else it has; or lose the reference.
static bool points_goes_along(const orr_world* world, const orri_system* reader)
{
    for (uint32_t t = 0; t < world->schema.type_count; t++) {
        const orri_type* type = world->schema.types[t];
        for (uint32_t i = 0; i < type->indexed_count; i++) {
            if (type->indexed[i].on_destroy == ORR_ON_DESTROY_DESTROY ||
                (type->indexed[i].on_destroy == ORR_ON_DESTROY_CLEAR &&
                 points_names(world, reader, t))) {
                return true;
            }
        }
    }
    return false;
}

static bool points_destroys(const orr_world* world, const orri_system* sender,
                            const orri_system* reader)
{
    if (sender->rights.may_destroy_any) {
        return true;
    }
    return sender->destroys != NULL &&
           (reader->guard.any_read != NULL || points_goes_along(world, reader) ||
            (!points_apart(&sender->destroys->leaves[0], points_leaf(reader)) &&
             !points_apart(points_leaf(reader), &sender->destroys->leaves[0])));
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
                {rights->switches, "may switch"}};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        out->type = points_named(world, reader, sets[i].bits, rights->type_words);
        out->what = sets[i].what;
        if (out->type.index1 != 0) {
            return true;
        }
    }
    bool everything = reader->no_required &&
                      !(reader->desc.once && points_leaf(reader)->term_count == 0);
    if (everything && sender->structural) {
        out->what = "may change entities, and";
        out->rest = "selects all of them";
        return true;
    }
    if (points_destroys(world, sender, reader)) {
        out->what = "may destroy what";
        out->rest = "selects";
        return true;
    }
    if (rights->may_switch_entities) {
        out->what = "may switch entities that";
        out->rest = "selects";
        return true;
    }
    if (sender->desc.switches != NULL && points_tracks(world, reader, "orr_enabled")) {
        out->what = "may switch types, and";
        out->rest = "is told of it";
        return true;
    }
    if (points_tagged(sender, reader) || ((rights->may_tag_any || rights->tag_count > 0) &&
                                          points_tracks(world, reader, "orr_tags"))) {
        out->what = "may change tags that";
        out->rest = "names";
        return true;
    }
    if (rights->may_rename && points_tracks(world, reader, "orr_name")) {
        out->what = "may change names, which";
        out->rest = "reads";
        return true;
    }
    return false;
}

// Changes of values that were sent may wait for structure of their entity.
static bool points_waits(const orr_world* world, const orri_system* sender,
                         const orri_system* reader, orri_reason* out)
{
    orr_type type = points_named(world, reader, sender->rights.changes, sender->rights.type_words);
    *out = (orri_reason){
        .sender = sender, .reader = reader, .what = "may have sent changes of", .type = type};
    return type.index1 != 0;
}

// So may transactions; and what is sent of the type later must not be merged before them.
static bool points_owes(const orr_world* world, const orri_system* sender,
                        const orri_system* reader, orri_reason* out)
{
    const orri_rights* rights = &sender->rights;
    orr_type type = points_named(world, reader, rights->transacts, rights->type_words);
    for (uint32_t i = 0; sender->transacts && type.index1 == 0 && i < world->schema.type_count;
         i++) {
        if (orri_right(rights->transacts, rights, i) &&
            orri_right(reader->rights.changes, &reader->rights, i)) {
            type = (orr_type){world->schema.type_base + i};
        }
    }
    *out = (orri_reason){
        .sender = sender, .reader = reader, .what = "may have transacted on", .type = type};
    return type.index1 != 0;
}

// ---- placing -----------------------------------------------------------------------------------------------------------

static orr_result points_push(orr_world* world, orri_step step)
{
    struct orri_schedule* schedule = world->schedule;
    if (!ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &schedule->steps, &schedule->step_capacity,
                      schedule->step_count + 1)) {
        return orri_refuse_memory(&world->env, "planning a tick");
    }
    uint32_t at = schedule->step_count++;
    schedule->same &= at < schedule->step_last && schedule->steps[at].system == step.system;
    schedule->steps[at] = step;
    return ORR_OK;
}

// Ends the group that began at step `first`.
static orr_result points_end(orr_world* world, uint32_t first, bool commit,
                             const orri_reason* reason)
{
    orr_result result =
        points_push(world, (orri_step){.commit = commit, .first = first, .reason = *reason});
    if (result == ORR_OK) {
        world->schedule->steps[first].first =
            first < world->schedule->step_count - 1 ? world->schedule->step_count - 1 : first;
    }
    return result;
}

// Whether a system cannot be of the group that began at step `first`.
static bool points_apart_from(const orr_world* world, uint32_t first, const orri_system* system,
                              orri_reason* out)
{
    const struct orri_schedule* schedule = world->schedule;
    for (uint32_t i = first; i < schedule->step_count; i++) {
        if (orri_ends_before(world, schedule->steps[i].system, system, out)) {
            return true;
        }
    }
    return false;
}

// Whether a commit point is needed between the last one (at step `from`) and a system.
static bool points_needed(const orr_world* world, uint32_t from, const orri_system* reader,
                          orri_reason* out)
{
    const struct orri_schedule* schedule = world->schedule;
    bool structural = false;
    for (uint32_t i = from; i < schedule->step_count; i++) {
        const orri_system* sender = schedule->steps[i].system;
        if (sender == NULL) {
            continue;
        }
        structural |= sender->structural;
        if ((sender->structural && orri_affects(world, sender, reader, out)) ||
            (structural && points_waits(world, sender, reader, out))) {
            return true;
        }
    }
    // They are done at the end of their group: structure of a later system of it counts as well.
    for (uint32_t i = from; structural && i < schedule->step_count; i++) {
        const orri_system* sender = schedule->steps[i].system;
        if (sender != NULL && points_owes(world, sender, reader, out)) {
            return true;
        }
    }
    return false;
}

static orr_result points_place(orr_world* world, orri_system* const* order, uint32_t count)
{
    struct orri_schedule* schedule = world->schedule;
    schedule->step_last = schedule->step_count;
    schedule->step_count = 0;
    schedule->same =
        !schedule->stale; // Otherwise another system may have the address of one that went.
    orri_reason reason;
    uint32_t from = 0, group = 0;
    orr_result result = orri_told_find(world) ? ORR_OK : ORR_ERR_MEMORY;
    for (uint32_t i = 0; result == ORR_OK && i < count; i++) {
        if (!order[i]->wanted) {
            continue;
        }
        if (points_needed(world, from, order[i], &reason)) {
            result = points_end(world, group, true, &reason);
            from = group = schedule->step_count;
        } else if (points_apart_from(world, group, order[i], &reason)) {
            result = points_end(world, group, false, &reason);
            group = schedule->step_count;
        }
        if (result == ORR_OK) {
            order[i]->order = schedule->step_count - group;
            result = points_push(world, (orri_step){.system = order[i]});
        }
    }
    reason = (orri_reason){.what = "the tick ends"};
    return result == ORR_OK ? points_end(world, group, true, &reason) : result;
}

// ---- other systems that are named ----------------------------------------------------------------------------------------

ORRI_COLD static orr_result points_refuse_import(orr_world* world, const orri_system* system,
                                                 const char* name, size_t size, const char* what)
{
    orri_near near;
    orri_near_begin(&near, name, size);
    for (const orri_system* other = world->schedule->first; other != NULL; other = other->next) {
        if (other->desc.exports != NULL) {
            orri_near_offer(&near, other->desc.name);
        }
    }
    char words[256];
    orri_text text = {words, sizeof words, 0};
    words[0] = '\0';
    orri_near_say(&near, &text);
    return orri_refuse(&world->env, ORR_ERR_NAME, ORR_LOG_ID_PLAN_REFUSED,
                       "system '%s', .imports: '%.*s' %s%s", system->desc.name, (int)size, name,
                       what, words);
}

static orr_result points_import(orr_world* world, orri_system* system)
{
    ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_system*, system->imports, system->import_count);
    system->imports = NULL;
    system->import_count = 0;
    uint32_t count = 0;
    const char *at = system->desc.imports != NULL ? system->desc.imports : "", *item;
    size_t size;
    for (const char* from = at; orri_list_next(&from, &item, &size);) {
        count++;
    }
    if (count == 0) {
        return ORR_OK;
    }
    system->imports = ORRI_ALLOC(&world->env, ORR_MEMORY_SYSTEM, orri_system*, count);
    if (system->imports == NULL) {
        return orri_refuse_memory(&world->env, "planning a tick");
    }
    system->import_count = count;
    for (uint32_t i = 0; orri_list_next(&at, &item, &size); i++) {
        orri_system* other = orri_system_named(world, item, size);
        if (other == NULL || other->desc.exports == NULL) {
            ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, orri_system*, system->imports, count);
            system->imports = NULL;
            system->import_count = 0;
            return points_refuse_import(world, system, item, size,
                                        other == NULL ? "is no system" : "exports nothing");
        }
        system->imports[i] = other;
    }
    return ORR_OK;
}

// An event that nobody reads would wait for ever.
static orr_result points_check_events(orr_world* world, const orri_system* sender)
{
    for (uint32_t i = 0; sender->rights.sends != NULL && i < world->schema.type_count; i++) {
        if (!orri_right(sender->rights.sends, &sender->rights, i)) {
            continue;
        }
        bool read = false;
        for (const orri_system* other = world->schedule->first; !read && other != NULL;
             other = other->next) {
            read = !other->removed && orri_right(other->rights.receives, &other->rights, i);
        }
        if (!read) {
            return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_PLAN_REFUSED,
                               "system '%s' sends events %s, which no system receives; put it into "
                               "the .receives of one, or "
                               "take it out of .sends",
                               sender->desc.name,
                               orri_type_label(world, (orr_type){world->schema.type_base + i}));
        }
    }
    return ORR_OK;
}

static orr_result points_look_up(orr_world* world)
{
    orr_result result = ORR_OK;
    for (orri_system* system = world->schedule->first; result == ORR_OK && system != NULL;
         system = system->next) {
        if (!system->removed) {
            result = orri_system_resolve(world, system);
            result = result == ORR_OK ? points_import(world, system) : result;
        }
    }
    for (const orri_system* system = world->schedule->first; result == ORR_OK && system != NULL;
         system = system->next) {
        result = system->removed ? ORR_OK : points_check_events(world, system);
    }
    return result;
}

orr_result orri_plan_make(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    // A new type may have fields through which others go along with the destroyed.
    if (!schedule->stale && schedule->step_types == world->schema.type_count) {
        return ORR_OK;
    }
    orr_result result = points_look_up(world);
    if (result != ORR_OK) {
        return result;
    }
    uint32_t room = schedule->system_count, count = 0;
    orri_system** order = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, orri_system*, room);
    if (order == NULL) {
        return orri_refuse_memory(&world->env, "planning a tick");
    }
    result = orri_sequence(world, true, order, &count);
    if (result == ORR_OK) {
        result = points_place(world, order, count);
    }
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orri_system*, order, room);
    schedule->plans++;
    schedule->stale = result != ORR_OK;
    schedule->step_types = world->schema.type_count;
    // Types alone came: they have no cluster, and if they moved no point the systems conflict as before.
    if (!schedule->same || schedule->step_count != schedule->step_last) {
        orri_abreast_forget(world);
    }
    schedule->renewed |= result == ORR_OK;
    return result;
}
