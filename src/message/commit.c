// SPDX-License-Identifier: MIT
// Commits: what lanes hold is done to the world. Values at the end of the system that sent them, unless their entity has
// structure that waits; all the rest at the commit point, merged (merge.c) and made at once (store/apply.h). Everything
// that may be refused comes first; what is said and counted comes last.
#include "message/lane.h"
#include "store/pool.h"

// ---- what is said -------------------------------------------------------------------------------------------

void orri_note_drop(orr_lane* lane, const orri_strip* strip, uint32_t row, const char* why)
{
    if (lane->note.dropped++ == 0) {
        lane->note.why = why;
        lane->note.kind = strip->kind;
        lane->note.type = strip->type;
        lane->note.entity = strip->entities != NULL ? strip->entities[row] : (orr_entity){0};
    }
}

void orri_note_twice(orr_lane* lane, const orri_strip* strip, uint32_t row)
{
    if (lane->note.twice++ == 0) {
        lane->note.twice_type = strip->type;
        lane->note.twice_entity = strip->entities[row];
    }
}

void orri_say_drop(const orr_world* world, orri_rights* rights, const char* kind, orr_type type,
                   orr_entity entity, const char* why)
{
    if (__atomic_exchange_n(&rights->drop_said, true, __ATOMIC_RELAXED)) {
        return;
    }
    orri_id_text id = orri_entity_format(world, entity);
    bool typed = type.index1 != 0;
    orri_log(orri_env_of(world), ORR_LOG_ID_MESSAGE_DROPPED,
             "system '%s' sent %s%s%s%s%s, which has no effect: %s. More of it is counted "
             "(orr_system_stats), but not said",
             rights->name, kind, typed ? " of " : "", typed ? orri_type_label(world, type) : "",
             entity.id != 0 ? " for " : "", entity.id != 0 ? id.text : "", why);
}

ORRI_COLD static void commit_say_twice(const orr_world* world, const orr_lane* lane)
{
    orri_id_text id = orri_entity_format(world, lane->note.twice_entity);
    char more[48] = "";
    orri_text text = {more, sizeof more, 0};
    if (lane->note.twice > 1) {
        orri_text_add(&text, " (and %llu more)", (unsigned long long)(lane->note.twice - 1));
    }
    orri_log(orri_env_of(world), ORR_LOG_ID_ADDED_TWICE,
             "system '%s' sent ComponentAdded of %s for %s%s, which has it already: the value is "
             "set, nothing is added. Send ComponentChanged, or ask first",
             lane->rights->name, orri_type_label(world, lane->note.twice_type), id.text, more);
}

void orri_lane_say(const orr_lane* lane)
{
    const orr_world* world = lane->world;
    const orri_lane_note* note = &lane->note;
    if (ORR_UNLIKELY(note->dropped > 0)) {
        lane->rights->counts.dropped += note->dropped;
        orri_say_drop(world, lane->rights, orri_sent_name_of(note->kind), note->type, note->entity,
                      note->why);
    }
    if (ORR_UNLIKELY(note->twice > 0)) {
        commit_say_twice(world, lane);
    }
}

static void commit_left_out(void* user, uint32_t group, orr_entity entity, orr_type type,
                            const char* what)
{
    const orri_merge* merge = user;
    orri_rights* rights = merge->senders[group];
    rights->counts.dropped++;
    orri_say_drop(merge->world, rights, "a change", type, entity, what);
}

orr_result orri_refuse_commit(orr_world* world, const orri_rights* rights, bool others)
{
    orr_result result = orri_env_result(&world->env);
    char why[256];
    orri_text text = {why, sizeof why, 0};
    orri_text_add(&text, "%s", world->env.error_text);
    orri_text_cut(&text);
    return orri_refuse(&world->env, result, ORR_LOG_ID_COMMIT_REFUSED,
                       "what system '%s'%s sent cannot be done: %s. Nothing of it was done and "
                       "nothing is lost; make room and call again",
                       rights->name, others ? " and others" : "", why);
}

// Ids were out of line: they are put back at its head, and are given there.
static orr_result commit_apply_held(orri_merge* merge, const orri_apply_desc* desc)
{
    if (!orri_held_return(merge)) {
        return orri_env_result(&merge->world->env);
    }
    orr_result result = desc->count > 0 ? orri_apply(merge->world, desc) : ORR_OK;
    if (result != ORR_OK) {
        orri_held_retake(merge);
    }
    return result;
}

// True when all creations are one group, of ids from the first position on: a strip has them in the order in which they were given. Who is
// spoken of twice comes by way of the items, sorted by index.
static bool commit_in_line(const orri_merge* merge)
{
    if (merge->item_count > 0) {
        return false;
    }
    const orri_group* found = NULL;
    uint64_t created = 0;
    bool first = true;
    for (uint32_t g = 0; g < merge->group_count; g++) {
        if (merge->groups[g].deed == ORRI_DEED_CREATE) {
            first = found == NULL;
            found = &merge->groups[g];
        }
        if (!first) {
            return false;
        }
    }
    for (const orr_lane* lane = merge->lanes->first; lane != NULL; lane = lane->next) {
        created += lane->create_count;
        first = first && (lane->create_count == 0 || lane->base == 0);
    }
    return first && found != NULL && found->count == created;
}

orr_result orri_merge_apply(orri_merge* merge)
{
    bool holds = merge->lanes->holds && merge->creates;
    if (merge->group_count == 0 && !holds) {
        return ORR_OK;
    }
    orri_apply_desc desc = {.call = "the commit",
                            .groups = merge->groups,
                            .count = merge->group_count,
                            .in_line = !holds && commit_in_line(merge),
                            .left_out = commit_left_out,
                            .user = merge};
    return ORR_UNLIKELY(holds) ? commit_apply_held(merge, &desc) : orri_apply(merge->world, &desc);
}

// ---- who sent -------------------------------------------------------------------------------------------------

// The number of a system among the senders; UINT32_MAX when memory is refused.
static uint32_t commit_sender(orr_world* world, struct orri_lanes* lanes, orr_system system)
{
    for (uint32_t i = lanes->sender_count; i-- > 0;) {
        if (lanes->senders[i].index1 == system.index1) {
            return i;
        }
    }
    if (lanes->sender_count > UINT16_MAX ||
        !ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &lanes->senders, &lanes->sender_capacity,
                      lanes->sender_count + 1)) {
        return UINT32_MAX;
    }
    lanes->senders[lanes->sender_count] = system;
    return lanes->sender_count++;
}

static void commit_sources_of(struct orri_lanes* lanes, const orr_lane* lane, uint32_t sender)
{
    for (uint32_t i = 0; i < lane->order_count; i++) {
        const orri_strip* strip = &lane->strips[lane->order[i]];
        for (uint32_t row = 0; strip->kind != ORRI_SENT_EVENT && row < strip->count; row++) {
            uint32_t index = orri_id_index(strip->entities[row]);
            if (strip->entities[row].id != 0 && index < lanes->source_capacity) {
                lanes->sources[index] = (uint16_t)sender;
            }
        }
    }
}

// Room to know who sent, before anything is done: what readers are told must not depend on a shortage.
static bool commit_sources_reserve(orr_world* world, struct orri_lanes* lanes)
{
    lanes->sender_count = 0;
    for (const orr_lane* lane = lanes->first; lane != NULL; lane = lane->next) {
        if (commit_sender(world, lanes, lane->rights->system) == UINT32_MAX) {
            return false;
        }
    }
    return lanes->sender_count < 2 || !orri_has_readers(world) ||
           ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &lanes->sources, &lanes->source_capacity,
                        lanes->mark_words * 64);
}

static void commit_sources(orr_world* world, struct orri_lanes* lanes)
{
    if (lanes->sender_count > 1 && !orri_has_readers(world)) {
        lanes->sender_count = 0; // Nobody will ask.
    }
    for (const orr_lane* lane = lanes->sender_count > 1 ? lanes->first : NULL; lane != NULL;
         lane = lane->next) {
        commit_sources_of(lanes, lane, commit_sender(world, lanes, lane->rights->system));
    }
}

bool orri_commit_sender(const orr_world* world, orr_system* out)
{
    const struct orri_lanes* lanes = orri_lanes_at(world);
    bool one = lanes != NULL && lanes->marks_old && lanes->sender_count == 1;
    *out = one ? lanes->senders[0] : (orr_system){0};
    return one;
}

orr_system orri_commit_source(const orr_world* world, uint32_t entity_index)
{
    const struct orri_lanes* lanes = orri_lanes_at(world);
    if (lanes == NULL || !lanes->marks_old || lanes->sender_count == 0 ||
        !orri_mark_get(lanes->seen, lanes->mark_words, entity_index)) {
        return (orr_system){0};
    }
    if (lanes->sender_count == 1) {
        return lanes->senders[0];
    }
    return entity_index < lanes->source_capacity ? lanes->senders[lanes->sources[entity_index]]
                                                 : (orr_system){0};
}

// ---- the commit point --------------------------------------------------------------------------------------------

// Changes that stand alone are marked where they are found to wait, or here, when their system's end has not seen them.
static void commit_mark_changes(struct orri_lanes* lanes, orr_lane* lane)
{
    for (uint32_t i = 0; i < lane->order_count; i++) {
        const orri_strip* strip = &lane->strips[lane->order[i]];
        bool alone = strip->kind == ORRI_SENT_CHANGE && !strip->bundled && strip->next1 == 0;
        for (uint32_t row = 0; alone && row < strip->count; row++) {
            orri_mark(lanes, orri_id_index(strip->entities[row]));
        }
    }
    lane->valued = true;
}

static bool commit_mark(orr_world* world, struct orri_lanes* lanes)
{
    if (!orri_marks_begin(world)) {
        return false;
    }
    for (orr_lane* lane = lanes->first; lane != NULL; lane = lane->next) {
        if (!lane->marked) {
            orri_marks_add(lanes, lane);
        }
    }
    for (orr_lane* lane = lanes->first; lane != NULL; lane = lane->next) {
        if (!lane->valued) {
            commit_mark_changes(lanes, lane);
        }
    }
    return true;
}

static bool commit_merge(orri_merge* merge)
{
    for (orr_lane* lane = merge->lanes->first; lane != NULL; lane = lane->next) {
        lane->note = (orri_lane_note){0};
        if (!orri_merge_lane_add(merge, lane) || !orri_merge_records(merge)) {
            return false;
        }
    }
    return orri_merge_items(merge);
}

// They were created without anything a moment ago, in rows and pages that were written then: nothing can be refused.
static void commit_destroy_stillborn(const orri_merge* merge)
{
    for (uint32_t i = merge->stillborn_count; i-- > 0;) {
        orr_result result = orr_destroy(merge->world, merge->stillborn[i]);
        ORR_ASSERT(result == ORR_OK);
        (void)result;
    }
}

// Ids that were given ahead are taken, or go back to where they came from.
static void commit_reset(orr_world* world, struct orri_lanes* lanes)
{
    lanes->reserved = 0;
    lanes->cursor = (orri_index_cursor){0};
    if (ORR_UNLIKELY(lanes->holds)) {
        orri_posts_ripen(lanes);
    }
    if (ORR_UNLIKELY(lanes->aside)) {
        orri_held_forget_aside(lanes);
    }
    orri_lanes_trim(world);
}

orr_result orri_commit(orr_world* world)
{
    struct orri_lanes* lanes = orri_lanes_at(world);
    if (lanes == NULL) {
        return ORR_OK;
    }
    if (ORR_UNLIKELY(lanes->aside_first != NULL)) {
        orr_result result = orri_asides_commit(world);
        if (result != ORR_OK) {
            return result;
        }
    }
    if (lanes->first == NULL) {
        lanes->sender_count = 0;
        lanes->merged = false;
        commit_reset(world, lanes);
        return ORR_OK;
    }
    orri_merge merge = orri_merge_begin(world);
    merge.creates = true;
    orr_result result = ORR_ERR_MEMORY;
    if (commit_mark(world, lanes)) {
        result = commit_sources_reserve(world, lanes) && commit_merge(&merge)
                     ? orri_merge_apply(&merge)
                     : orri_refuse_memory(&world->env, "merging what systems sent");
    }
    if (result != ORR_OK) {
        orri_merge_end(&merge);
        return orri_refuse_commit(world, lanes->first->rights,
                                  lanes->first->rights != lanes->last->rights);
    }
    commit_destroy_stillborn(&merge);
    for (const orr_lane* lane = lanes->first; lane != NULL; lane = lane->next) {
        orri_lane_say(lane);
    }
    commit_sources(world, lanes);
    orri_merge_end(&merge);
    if (ORR_UNLIKELY(lanes->holds)) {
        orri_held_forget(lanes);
    }
    orri_lanes_release(lanes, true);
    lanes->marks_old = lanes->merged = true;
    commit_reset(world, lanes);
    return ORR_OK;
}

void orri_commit_abandon(orr_world* world)
{
    struct orri_lanes* lanes = orri_lanes_at(world);
    for (const orr_lane* lane = lanes != NULL ? lanes->first : NULL; lane != NULL;
         lane = lane->next) {
        lane->rights->counts.dropped += lane->record_count;
    }
    if (lanes != NULL) {
        orri_posts_abandon(lanes);
        orri_asides_abandon(world, lanes, true);
        orri_lanes_release(lanes, true);
        orri_marks_clear(lanes);
        lanes->marks_old = false;
        lanes->sender_count = 0;
        commit_reset(world, lanes);
    }
}
