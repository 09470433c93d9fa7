// SPDX-License-Identifier: MIT
// The commit point: all waiting commands are merged (merge.c) and applied at once
// (store/change/change_set.h). Values of entities without pending structure were already written at
// the end of the system that sent them (values.c). Everything that may be refused comes first;
// logging and counting come last.
#include "message/send/command_buffer.h"
#include "store/pool/pool.h"

#define COMMIT_TURN 64u // Commits between two trims.

// ---- logging ------------------------------------------------------------------------------------

void orri_note_drop(orr_command_buffer* commands, const orri_command_array* array, uint32_t row,
                    orr_result result, const char* why)
{
    uint32_t sequence = orri_command_array_sequence(array, row);
    if (commands->note.dropped++ == 0 || sequence < commands->note.sequence) {
        commands->note.sequence = sequence;
        commands->note.why = why;
        commands->note.result = result;
        commands->note.kind = array->kind;
        commands->note.type = array->type;
        commands->note.entity = array->entities != NULL ? array->entities[row] : (orr_entity){0};
    }
}

void orri_note_twice(orr_command_buffer* commands, const orri_command_array* array, uint32_t row)
{
    if (commands->note.twice++ == 0) {
        commands->note.twice_type = array->type;
        commands->note.twice_entity = array->entities[row];
    }
}

void orri_log_drop(const orr_world* world, orri_rights* rights, const char* kind, orr_type type,
                   orr_entity entity, const char* why)
{
    if (__atomic_exchange_n(&rights->drop_logged, true, __ATOMIC_RELAXED)) {
        return;
    }
    orri_id_text id = orri_entity_format(world, entity);
    bool typed = type.id != 0;
    orri_log(orri_env_of(world), ORR_LOG_ID_MESSAGE_DROPPED,
             "system '%s' sent %s%s%s%s%s, which has no effect: %s. Further drops are counted "
             "(orr_system_stats), but not logged",
             rights->name, kind, typed ? " of " : "", typed ? orri_type_label(world, type) : "",
             entity.id != 0 ? " for " : "", entity.id != 0 ? id.text : "", why);
}

// Logs ComponentAdded for components that were there: once per commit and buffer (run of the system).
ORRI_COLD static void commit_log_twice(const orr_world* world, const orr_command_buffer* commands)
{
    orri_id_text id = orri_entity_format(world, commands->note.twice_entity);
    char more[48] = "";
    orri_text text = {more, sizeof more, 0};
    if (commands->note.twice > 1) {
        orri_text_add(&text, " (and %llu more)", (unsigned long long)(commands->note.twice - 1));
    }
    const orri_type* type = orri_type_at(&world->schema, commands->note.twice_type);
    const char* label = orri_type_label(world, commands->note.twice_type);
    if (type != NULL && type->info.size == 0) { // A marker has no value to set.
        orri_log(orri_env_of(world), ORR_LOG_ID_ADDED_TWICE,
                 "system '%s' sent ComponentAdded of %s for %s%s, which already has it: nothing is "
                 "added. Exclude such entities by its .query (\"!%s\"), or check first (orr_has)",
                 commands->rights->name, label, id.text, more, label);
        return;
    }
    orri_log(orri_env_of(world), ORR_LOG_ID_ADDED_TWICE,
             "system '%s' sent ComponentAdded of %s for %s%s, which already has it: the value is "
             "set, nothing is added. Send a change (orr_send_change), or check first (orr_has)",
             commands->rights->name, label, id.text, more);
}

void orri_command_buffer_report(const orr_command_buffer* commands)
{
    const orr_world* world = commands->world;
    const orri_command_buffer_note* note = &commands->note;
    if (ORR_UNLIKELY(note->dropped > 0)) {
        orri_rights_note_dropped(world, commands->rights, note->type, note->dropped,
                                 orri_drop_order(commands->unit, note->sequence), note->result);
        orri_log_drop(world, commands->rights, orri_command_kind_name(note->kind), note->type,
                      note->entity, note->why);
    }
    if (ORR_UNLIKELY(note->twice > 0)) {
        commands->rights->counts.added_twice += note->twice;
        commit_log_twice(world, commands);
    }
}

// Called by the store for each part of a change set that it leaves out.
static void commit_left_out(void* user, uint32_t group, orr_entity entity, orr_type type,
                            orr_result result, const char* what)
{
    const orri_merge* merge = user;
    orri_rights* rights = merge->senders[group];
    orri_rights_note_dropped(merge->world, rights, type, 1, ORRI_DROP_LAST, result);
    orri_log_drop(merge->world, rights, "a change", type, entity, what);
}

orr_result orri_refuse_commit(orr_world* world, const orri_rights* rights, bool others)
{
    orr_result result = orri_env_result(&world->env);
    char why[256];
    orri_text text = {why, sizeof why, 0};
    orri_text_add(&text, "%s", world->env.error_text);
    orri_text_cut(&text);
    return orri_refuse(&world->env, result, ORR_LOG_ID_COMMIT_REFUSED,
                       "the commands of system '%s'%s cannot be applied: %s. Nothing was applied "
                       "and nothing is lost; free memory or raise the limit, and call again",
                       rights->name, others ? " and others" : "", why);
}

// Held ids are returned to the head of the free list, where the change set takes them. On refusal
// they are withheld again.
static orr_result commit_apply_withheld(orri_merge* merge, const orri_change_set_desc* desc)
{
    if (!orri_command_ids_return(merge)) {
        return orri_env_result(&merge->world->env);
    }
    orr_result result = desc->count > 0 ? orri_change_set_apply(merge->world, desc) : ORR_OK;
    if (result != ORR_OK) {
        orri_command_ids_retake(merge);
    }
    return result;
}

// True when all creations are one group that takes ids from the first position on. A command array
// has them in the order in which they were given. Entities that are mentioned twice become items,
// which are sorted by index instead.
static bool commit_ids_in_order(const orri_merge* merge)
{
    if (merge->item_count > 0) {
        return false;
    }
    const orri_group* found = NULL;
    uint64_t created = 0;
    bool first = true;
    for (uint32_t g = 0; g < merge->group_count; g++) {
        if (merge->groups[g].kind == ORRI_CHANGE_KIND_CREATE) {
            first = found == NULL;
            found = &merge->groups[g];
        }
        if (!first) {
            return false;
        }
    }
    for (const orr_command_buffer* commands = merge->command_buffers->first; commands != NULL;
         commands = commands->next) {
        created += commands->create_count;
        first = first && (commands->create_count == 0 || commands->base == 0) &&
                (orri_command_buffer_provisional(commands) == 0 ||
                 commands->later_base == commands->id_count);
    }
    return first && found != NULL && found->count == created;
}

// Positions of all created ids in the creation queue: reserved ones and later ones each ascend in
// the order of buffers. NULL: there are none, or memory is refused.
static orri_id_run* commit_id_runs(orri_merge* merge, uint32_t* count)
{
    const orr_command_buffer *reserved = merge->command_buffers->first, *later = reserved;
    uint32_t most = 0;
    for (const orr_command_buffer* commands = reserved; commands != NULL;
         commands = commands->next) {
        most += commands->create_count > 0 ? 2 : 0;
    }
    *count = 0;
    orri_id_run* runs = most > 0 ? orri_merge_take(merge, most * sizeof *runs) : NULL;
    while (runs != NULL) {
        while (reserved != NULL && (reserved->create_count == 0 || reserved->id_count == 0)) {
            reserved = reserved->next;
        }
        while (later != NULL && orri_command_buffer_provisional(later) == 0) {
            later = later->next;
        }
        if (reserved == NULL && later == NULL) {
            break;
        }
        if (later == NULL || (reserved != NULL && reserved->base < later->later_base)) {
            uint32_t used = reserved->create_count < reserved->id_count ? reserved->create_count
                                                                        : reserved->id_count;
            runs[(*count)++] = (orri_id_run){(uint32_t)reserved->base, used, 0};
            reserved = reserved->next;
        } else {
            runs[(*count)++] = (orri_id_run){(uint32_t)later->later_base,
                                             orri_command_buffer_provisional(later), 0};
            later = later->next;
        }
    }
    return runs;
}

orr_result orri_merge_apply(orri_merge* merge)
{
    bool withholds = merge->command_buffers->withholds && merge->creates;
    if (merge->group_count == 0 && !withholds) {
        return ORR_OK;
    }
    orri_change_set_desc desc = {.call = "the commit",
                                 .groups = merge->groups,
                                 .count = merge->group_count,
                                 .ids_in_order = !withholds && commit_ids_in_order(merge),
                                 .on_skipped = commit_left_out,
                                 .user = merge};
    if (!withholds && merge->creates && !desc.ids_in_order) {
        desc.id_runs = commit_id_runs(merge, &desc.id_run_count);
    }
    return ORR_UNLIKELY(withholds) ? commit_apply_withheld(merge, &desc)
                                   : orri_change_set_apply(merge->world, &desc);
}

// ---- senders ------------------------------------------------------------------------------------

// Index of a system among the senders; UINT32_MAX when memory is refused.
static uint32_t commit_sender(orr_world* world, struct orri_command_buffers* command_buffers,
                              orr_system system)
{
    for (uint32_t i = command_buffers->sender_count; i-- > 0;) {
        if (command_buffers->senders[i].id == system.id) {
            return i;
        }
    }
    if (command_buffers->sender_count > UINT16_MAX ||
        !ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &command_buffers->senders,
                      &command_buffers->sender_capacity, command_buffers->sender_count + 1)) {
        return UINT32_MAX;
    }
    command_buffers->senders[command_buffers->sender_count] = system;
    return command_buffers->sender_count++;
}

// Notes the sender for all entities that a buffer mentions.
static void commit_sources_of(struct orri_command_buffers* command_buffers,
                              const orr_command_buffer* commands, uint32_t sender)
{
    for (uint32_t i = 0; i < commands->order_count; i++) {
        const orri_command_array* array = &commands->arrays[commands->order[i]];
        for (uint32_t row = 0; array->kind != ORRI_COMMAND_EVENT && row < array->count; row++) {
            uint32_t index = orri_id_index(array->entities[row]);
            if (array->entities[row].id != 0 && index < command_buffers->source_capacity) {
                command_buffers->sources[index] = (uint16_t)sender;
            }
        }
    }
}

// Makes room for the senders before anything is applied: the messages of readers must not depend on
// a shortage of memory.
static bool commit_sources_reserve(orr_world* world, struct orri_command_buffers* command_buffers)
{
    command_buffers->sender_count = 0;
    for (const orr_command_buffer* commands = command_buffers->first; commands != NULL;
         commands = commands->next) {
        if (commit_sender(world, command_buffers, commands->rights->system) == UINT32_MAX) {
            return false;
        }
    }
    return command_buffers->sender_count < 2 || !orri_has_readers(world) ||
           ORRI_RESERVE(&world->env, ORR_MEMORY_MESSAGE, &command_buffers->sources,
                        &command_buffers->source_capacity, command_buffers->mark_words * 64);
}

// With several senders: notes the last sender of each entity, in the order of buffers.
static void commit_sources(orr_world* world, struct orri_command_buffers* command_buffers)
{
    if (command_buffers->sender_count > 1 && !orri_has_readers(world)) {
        command_buffers->sender_count = 0; // No reader will ask.
    }
    for (const orr_command_buffer* commands =
             command_buffers->sender_count > 1 ? command_buffers->first : NULL;
         commands != NULL; commands = commands->next) {
        commit_sources_of(command_buffers, commands,
                          commit_sender(world, command_buffers, commands->rights->system));
    }
}

bool orri_commit_sender(const orr_world* world, orr_system* out)
{
    const struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    bool one = command_buffers != NULL && command_buffers->marks_old &&
               command_buffers->sender_count == 1;
    *out = one ? command_buffers->senders[0] : (orr_system){0};
    return one;
}

orr_system orri_commit_source(const orr_world* world, uint32_t entity_index)
{
    const struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    if (command_buffers == NULL || !command_buffers->marks_old ||
        command_buffers->sender_count == 0 ||
        !orri_pending_get(command_buffers->seen, command_buffers->mark_words, entity_index)) {
        return (orr_system){0};
    }
    if (command_buffers->sender_count == 1) {
        return command_buffers->senders[0];
    }
    return entity_index < command_buffers->source_capacity
               ? command_buffers->senders[command_buffers->sources[entity_index]]
               : (orr_system){0};
}

// ---- the commit point ---------------------------------------------------------------------------

// Marks changes outside of bundles. Usually values.c does this when it finds that a change must
// wait; here for buffers that the end of a system has not handled.
static void commit_mark_changes(struct orri_command_buffers* command_buffers,
                                orr_command_buffer* commands)
{
    for (uint32_t i = 0; i < commands->order_count; i++) {
        const orri_command_array* array = &commands->arrays[commands->order[i]];
        bool alone = array->kind == ORRI_COMMAND_CHANGE && !array->bundled && array->next1 == 0;
        for (uint32_t row = 0; alone && row < array->count; row++) {
            orri_pending_mark(command_buffers, orri_id_index(array->entities[row]));
        }
    }
    commands->values_done = true;
}

// Completes the marks with all buffers that the end of a system has not handled.
static bool commit_mark(orr_world* world, struct orri_command_buffers* command_buffers)
{
    if (!orri_pending_begin(world)) {
        return false;
    }
    for (orr_command_buffer* commands = command_buffers->first; commands != NULL;
         commands = commands->next) {
        if (!commands->marked) {
            orri_pending_add(command_buffers, commands);
        }
    }
    for (orr_command_buffer* commands = command_buffers->first; commands != NULL;
         commands = commands->next) {
        if (!commands->values_done) {
            commit_mark_changes(command_buffers, commands);
        }
    }
    return true;
}

static bool commit_merge(orri_merge* merge)
{
    for (orr_command_buffer* commands = merge->command_buffers->first; commands != NULL;
         commands = commands->next) {
        commands->note = (orri_command_buffer_note){0};
        if (!orri_merge_buffer_add(merge, commands) || !orri_merge_records(merge)) {
            return false;
        }
    }
    return orri_merge_items(merge);
}

// Cannot be refused: they were just created without components, in rows and pages that are
// writable.
static void commit_destroy_short_lived(const orri_merge* merge)
{
    for (uint32_t i = merge->short_lived_count; i-- > 0;) {
        orr_result result = orr_destroy(merge->world, merge->short_lived[i]);
        ORR_ASSERT(result == ORR_OK);
        (void)result;
    }
}

// Releases reserved ids, and trims memory.
static void commit_reset(orr_world* world, struct orri_command_buffers* command_buffers)
{
    command_buffers->reserved = command_buffers->provisional = 0;
    if (command_buffers->instances_reserved != 0) {
        orri_command_ids_end_instances(world, command_buffers);
    }
    command_buffers->cursor = (orri_index_cursor){0};
    if (ORR_UNLIKELY(command_buffers->withholds)) {
        orri_posts_set_ready(command_buffers);
    }
    if (ORR_UNLIKELY(command_buffers->transient_ids)) {
        orri_command_ids_forget_transient(command_buffers);
    }
    if (++command_buffers->turn == COMMIT_TURN) {
        command_buffers->turn = 0;
        orri_command_buffers_trim(world);
    }
}

bool orri_commit_nothing(orr_world* world)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    if (command_buffers == NULL) {
        return true;
    }
    if (command_buffers->first != NULL || command_buffers->transient_first != NULL) {
        return false;
    }
    command_buffers->sender_count = 0;
    command_buffers->merged = false;
    commit_reset(world, command_buffers);
    return true;
}

orr_result orri_commit(orr_world* world)
{
    if (orri_commit_nothing(world)) {
        return ORR_OK;
    }
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    if (ORR_UNLIKELY(command_buffers->transient_first != NULL)) {
        orr_result result = orri_transient_sends_commit(world);
        if (result != ORR_OK) {
            return result;
        }
    }
    if (orri_commit_nothing(world)) {
        return ORR_OK;
    }
    bool replaced = orri_provisional_ids_replace(world);
    orri_merge merge = orri_merge_begin(world);
    merge.creates = true;
    orr_result result = ORR_ERR_MEMORY;
    if (replaced && commit_mark(world, command_buffers)) {
        result = commit_sources_reserve(world, command_buffers) && commit_merge(&merge)
                     ? orri_merge_apply(&merge)
                     : orri_refuse_memory(&world->env, "merging the commands of systems");
    }
    if (result != ORR_OK) {
        orri_merge_end(&merge);
        return orri_refuse_commit(world, command_buffers->first->rights,
                                  command_buffers->first->rights != command_buffers->last->rights);
    }
    commit_destroy_short_lived(&merge);
    for (const orr_command_buffer* commands = command_buffers->first; commands != NULL;
         commands = commands->next) {
        orri_command_buffer_report(commands);
    }
    commit_sources(world, command_buffers);
    orri_merge_end(&merge);
    if (ORR_UNLIKELY(command_buffers->withholds)) {
        orri_command_ids_forget(command_buffers);
    }
    orri_command_buffers_release(command_buffers, true);
    command_buffers->marks_old = command_buffers->merged = true;
    commit_reset(world, command_buffers);
    return ORR_OK;
}

void orri_commit_abandon(orr_world* world)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    for (const orr_command_buffer* commands = command_buffers != NULL ? command_buffers->first
                                                                      : NULL;
         commands != NULL; commands = commands->next) {
        commands->rights->counts.dropped += commands->record_count;
    }
    if (command_buffers != NULL) {
        orri_posts_abandon(command_buffers);
        orri_transient_sends_abandon(world, command_buffers, true);
        orri_command_buffers_release(command_buffers, true);
        orri_pending_clear(command_buffers);
        command_buffers->marks_old = false;
        command_buffers->sender_count = 0;
        commit_reset(world, command_buffers);
    }
}

#undef COMMIT_TURN
