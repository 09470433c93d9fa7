// SPDX-License-Identifier: MIT
// Systems of a world: added, enabled, disabled and removed, with effect from the next tick on.
// Their descs are resolved in resolve.c; plan/order.c and plan/plan.c decide when they run.
#include "base/scan.h"
#include "schedule/record/recording.h"

// Up to this many systems, a cycle is found when a system is added; with more, when a tick begins.
#define SYSTEM_ORDERED_MAX 256u

// ---- the schedule of a world --------------------------------------------------------------------

// The world ends: calls stop and destroy of all systems, and frees them.
static void system_end_all(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    // Last registered first: a system may depend on those before it.
    for (orri_system* system = schedule->last; system != NULL; system = system->prev) {
        // Of a half-done tick: callbacks have buffers of their own.
        orri_system_close_buffers(world, system);
        if (system->started) {
            orri_system_call_back(world, system, ORRI_LIFE_STOP);
        }
        if (system->created) {
            orri_system_call_back(world, system, ORRI_LIFE_DESTROY);
        }
    }
    while (schedule->last != NULL) {
        orri_system_drop(world, schedule->last);
    }
    orri_calls_free(world, orri_posts_take(schedule)); // Posted by the callbacks.
}

static void system_gone(orr_world* world)
{
    struct orri_schedule* schedule = world->schedule;
    schedule->now = NULL;
    world->context->busy = NULL;
    world->loops.iterating = 0;
    orri_lockstep_log_free(world); // The callbacks below belong to no tick.
    system_end_all(world);
    orri_parallel_end(world);
    if (schedule->journal != NULL) {
        orri_journal_destroy(world, schedule->journal);
    }
    if (schedule->trace != NULL) {
        orri_trace_close(world, schedule->trace);
    }
    orri_env* env = &world->env;
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, schedule->slots, schedule->slot_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, schedule->generations, schedule->generation_capacity);
    orri_system_names_free(world);
    orri_type_owners_free(world);
    orri_pipelines_free(world);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, schedule->notified, schedule->notified_words);
    if (schedule->lock_text != NULL) {
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, char, schedule->lock_text, schedule->lock_text_size);
    }
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, struct orri_schedule, schedule, 1);
    world->schedule = NULL;
    world->errors.note = NULL;
}

// True when the desc declares anything to send.
static bool system_sends(const orr_system_desc* desc)
{
    return desc->creates != NULL || desc->destroys != NULL || desc->adds != NULL ||
           desc->removes != NULL || desc->switches != NULL || desc->tags != NULL || desc->renames ||
           desc->sends != NULL || desc->changes != NULL || desc->transacts != NULL ||
           desc->atomics != NULL;
}

bool orri_system_knows_outside(const orri_system* system)
{
    const orr_system_desc* desc = &system->desc;
    return system->pipe->spectator || (desc->kind == ORR_INDIRECT && desc->user != NULL &&
                                       desc->state == NULL && desc->exports == NULL);
}

bool orri_system_outside(const orri_system* system)
{
    // An impure system sends: whether it runs is part of the state.
    return system->pipe->spectator || (orri_system_knows_outside(system) && !system->desc.impure);
}

static uint64_t system_hash(orr_world* world, uint64_t hash)
{
    for (const orri_system* system = world->schedule->first; system != NULL;
         system = system->next) {
        if (orri_system_outside(system)) {
            continue;
        }
        hash = orri_hash_word(hash, system->name_hash);
        hash = orri_hash_word(hash, system->tick_first);
        hash = orri_hash_word(hash, (uint64_t)system->removed << 3 |
                                        (uint64_t)system->started << 2 |
                                        (uint64_t)system->wanted << 1 | system->created);
        const orri_system_state* states[2] = {&system->state, &system->exports};
        for (uint32_t i = 0; i < 2; i++) {
            if (states[i]->data != NULL) {
                hash = orri_rows_hash(states[i]->type, states[i]->data, 1, hash);
            }
        }
        if (system->rights.reader != NULL && !orri_system_knows_outside(system)) {
            hash = orri_reader_hash(system->rights.reader, hash);
        }
    }
    hash = orri_transaction_hash(world, orri_pipelines_hash(world, hash));
    return orri_events_hash(world, hash);
}

struct orri_schedule* orri_schedule_of(orr_world* world)
{
    if (world->schedule == NULL) {
        struct orri_messages* messages = orri_messages_of(world);
        if (messages == NULL) {
            return NULL;
        }
        // Another thread may ask whether the world runs.
        __atomic_store_n(&world->schedule,
                         ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SYSTEM, struct orri_schedule, 1),
                         __ATOMIC_RELEASE);
        if (world->schedule == NULL) {
            (void)orri_refuse_memory(&world->env, "beginning systems");
            return NULL;
        }
        if (!orri_pipelines_begin(world)) {
            ORRI_RELEASE(&world->env, ORR_MEMORY_SYSTEM, world->schedule->pipelines,
                         world->schedule->pipeline_capacity);
            ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, struct orri_schedule, world->schedule, 1);
            world->schedule = NULL;
            return NULL;
        }
        orri_extension* extension = &world->extensions[ORRI_EXTENSION_SCHEDULE];
        extension->gone = system_gone;
        extension->hash = system_hash;
        world->errors.note = orri_refusal_note;
        orr_access_check_set(world, ORR_ACCESS_CHECK_DEFAULT);
#ifdef ORR_VALIDATE_ON
        world->schedule->shuffle = orri_shuffle_env();
#endif
        messages->system_name = orr_system_name;
        char path[1024];
        if (orri_trace_env(world, path, sizeof path) != NULL) {
            world->schedule->trace = orri_trace_open(world, path);
        }
    }
    return world->schedule;
}

// ---- finding ------------------------------------------------------------------------------------

orri_system* orri_system_at(const orr_world* world, orr_system handle)
{
    const struct orri_schedule* schedule = world->schedule;
    uint32_t index = handle.id - 1;
    if (schedule == NULL || index >= schedule->slot_count ||
        schedule->generations[index] != handle.generation) {
        return NULL;
    }
    return schedule->slots[index];
}

orr_system orr_system_find(const orr_world* world, const char* name)
{
    ORR_ASSERT(world != NULL);
    const orri_system* system = name != NULL ? orri_system_named(world, name, strlen(name)) : NULL;
    return system != NULL && !orri_spectator_hidden(world, system) ? system->handle
                                                                   : (orr_system){0};
}

orr_system orr_system_next(const orr_world* world, orr_system handle)
{
    ORR_ASSERT(world != NULL);
    if (world->schedule == NULL) {
        return (orr_system){0};
    }
    const orri_system* system = world->schedule->first;
    if (handle.id != 0) {
        system = orri_system_at(world, handle);
        system = system != NULL ? system->next : NULL;
    }
    while (system != NULL && (system->removed || orri_spectator_hidden(world, system))) {
        system = system->next;
    }
    return system != NULL ? system->handle : (orr_system){0};
}

const char* orr_system_name(const orr_world* world, orr_system handle)
{
    ORR_ASSERT(world != NULL);
    const orri_system* system = orri_system_at(world, handle);
    return system != NULL ? system->desc.name : "";
}

// ---- adding -------------------------------------------------------------------------------------

ORRI_COLD static orr_result system_refuse(orr_world* world, const char* name, const char* what)
{
    return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
                       "orr_system_add: system '%s': %s", name, what);
}

static bool system_blank(const char* text)
{
    return text == NULL || *orri_scan_blanks(text) == '\0';
}

// Checks .atomics: kind of the system, setting of the world. Makes what sections need.
static orr_result system_check_atomics(orr_world* world, const orr_system_desc* desc)
{
    if (desc->atomics == NULL) {
        return ORR_OK;
    }
    if (desc->kind != ORR_DIRECT) {
        return system_refuse(world, desc->name,
                             "an indirect system does not access the world; .atomics is for direct "
                             "systems, this one may transact (.transacts)");
    }
    if (!world->settings.atomic_sections) {
        return orri_refuse(
            &world->env, ORR_ERR_STATE, ORR_LOG_ID_SYSTEM_REFUSED,
            "orr_system_add: system '%s' has atomic sections (.atomics), whose results may depend "
            "on the speed of threads, and this world promises deterministic results; transact "
            "(.transacts), or set orr_world_desc.atomic_sections to give up the promise",
            desc->name);
    }
    return orri_atomic_sections_begin(world) ? ORR_OK : ORR_ERR_MEMORY;
}

// Checks .parallel and .combine.
static orr_result system_check_parallel(orr_world* world, const orr_system_desc* desc)
{
    bool direct = desc->kind == ORR_DIRECT;
    if (desc->parallel && (desc->once || !direct)) {
        return system_refuse(
            world, desc->name,
            "only a direct system that is called per run of rows can be .parallel");
    }
    if (desc->parallel && desc->exports != NULL && desc->combine == NULL) {
        return system_refuse(world, desc->name,
                             "a parallel system with .exports needs a function that combines the "
                             "values of its chunks: set .combine");
    }
    if (desc->combine != NULL && desc->exports == NULL) {
        return system_refuse(world, desc->name,
                             ".combine without .exports; set .exports to the type of the values "
                             "that it combines");
    }
    if (desc->combine != NULL && (desc->once || !direct)) {
        return system_refuse(world, desc->name,
                             "only a direct system that is called per run of rows has values to "
                             ".combine; a system that is called once writes its exports itself");
    }
    return ORR_OK;
}

// Checks a desc as far as possible without looking up names. Reports.
static orr_result system_check(orr_world* world, const orr_system_desc* desc, bool spectator)
{
    const char* name = desc->name;
    bool direct = desc->kind == ORR_DIRECT;
    if (desc->kind != ORR_DIRECT && desc->kind != ORR_INDIRECT) {
        return system_refuse(
            world, name,
            "its kind is neither ORR_DIRECT nor ORR_INDIRECT; set .kind to one of them");
    }
    if (desc->run == NULL) {
        return system_refuse(world, name, "it has no function; set .run");
    }
    if (desc->term_count > 0 && desc->terms == NULL) {
        return system_refuse(world, name, ".term_count without .terms; set both or neither");
    }
    if (desc->term_count > ORR_TERMS_MAX) {
        return system_refuse(world, name, "it has more than ORR_TERMS_MAX terms");
    }
    if (desc->group != NULL && !orri_name_valid(desc->group)) {
        return system_refuse(world, name,
                             ".group is no name; use letters, digits, '_', '.' and ':'");
    }
    bool queried = !system_blank(desc->query) || desc->term_count > 0;
    if (direct && !queried && !desc->once) {
        return system_refuse(world, name,
                             "a direct system needs required or optional terms; set .query to what "
                             "it works on, or .once to call it once per tick, without rows");
    }
    if (direct && !desc->once && desc->receives != NULL) {
        return system_refuse(world, name,
                             "it is called for every run of rows, and would receive the same "
                             "events each time; set .once for a system that receives events");
    }
    if (!direct && desc->by_id != NULL) {
        return system_refuse(
            world, name,
            "an indirect system does not access the world; .by_id is for direct systems");
    }
    orr_result result = system_check_parallel(world, desc);
    if (result == ORR_OK) {
        result = orri_name_lists_check(world, desc);
    }
    if (result != ORR_OK) {
        return result;
    }
    // Actions of a spectator are not inputs of the simulation: it may have any state.
    if (desc->user != NULL && system_sends(desc) && !desc->impure && !spectator) {
        return system_refuse(
            world, name,
            "it has state outside the world (.user) and sends changes; keep the state in .state, "
            "declare it .impure, or pass constant data as .settings");
    }
    if (desc->overwrites != NULL && (desc->once || !direct)) {
        return system_refuse(world, name,
                             "only a direct system that is called per run of rows has rows to "
                             "overwrite; remove .overwrites");
    }
    if (desc->own_rows && (desc->once || !direct || desc->by_id != NULL || system_sends(desc))) {
        return system_refuse(world, name,
                             "only a direct system that is called per run of rows, has no .by_id "
                             "and sends nothing may declare .own_rows; remove .own_rows");
    }
    return system_check_atomics(world, desc);
}

static bool system_text_copy(orr_world* world, const char** text)
{
    if (*text == NULL) {
        return true;
    }
    size_t size = strlen(*text) + 1;
    char* copy = ORRI_ALLOC(&world->env, ORR_MEMORY_SYSTEM, char, size);
    if (copy != NULL) {
        memcpy(copy, *text, size);
    }
    *text = copy;
    return copy != NULL;
}

static void system_text_free(orr_world* world, const char* text)
{
    if (text != NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_SYSTEM, char, (char*)(uintptr_t)text, strlen(text) + 1);
    }
}

// Copies the texts and terms of the desc. Copies for which memory was refused are NULL.
static bool system_copy_desc(orr_world* world, orr_system_desc* desc)
{
    bool copied = true;
#define X(field) copied = system_text_copy(world, &desc->field) && copied;
    ORRI_SYSTEM_TEXTS(X)
#undef X
    if (desc->term_count > 0) {
        orr_term* terms = ORRI_ALLOC(&world->env, ORR_MEMORY_SYSTEM, orr_term, desc->term_count);
        if (terms != NULL) {
            memcpy(terms, desc->terms, desc->term_count * sizeof *terms);
        }
        desc->terms = terms;
        copied = terms != NULL && copied;
    }
    return copied;
}

void orri_system_free(orr_world* world, orri_system* system)
{
    orri_env* env = &world->env;
    orri_system_close_buffers(world, system);
    orri_transaction_forget(world, &system->rights);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, system->command_buffers, system->command_buffer_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_SYSTEM, system->requests, system->request_capacity);
    orri_system_unresolve(world, system);
    orri_system_state_free(world, &system->state);
    orri_system_state_free(world, &system->exports);
    orri_system_state_free(world, &system->state_before);
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orr_hot_table*, system->tables, system->table_count);
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_system*, system->imports, system->import_count);
    ORRI_FREE(env, ORR_MEMORY_SYSTEM, orri_import_note, system->import_notes,
              system->import_note_count);
    if (system->desc.terms != NULL) {
        ORRI_FREE(env, ORR_MEMORY_SYSTEM, orr_term, (orr_term*)(uintptr_t)system->desc.terms,
                  system->desc.term_count);
    }
#define X(field) system_text_free(world, system->desc.field);
    ORRI_SYSTEM_TEXTS(X)
#undef X
    orri_free(env, ORR_MEMORY_SYSTEM, system, sizeof *system, ORRI_BLOCK_ALIGN);
}

// The enable flag of a group that a new system joins: that of its other systems, but not across the
// border between simulation and spectators.
static bool system_group_on(const orr_world* world, const char* group, bool spectator)
{
    const orri_system* other = group != NULL ? orri_system_group_first(world, group, strlen(group))
                                             : NULL;
    while (other != NULL && (other->removed || other->pipe->spectator != spectator)) {
        other = other->group_next;
    }
    return other == NULL || other->group_on;
}

static orri_system* system_make(orr_world* world, const orr_system_desc* desc, orri_pipeline* pipe)
{
    orri_system* system =
        orri_alloc_zero(&world->env, ORR_MEMORY_SYSTEM, sizeof *system, ORRI_BLOCK_ALIGN);
    if (system == NULL) {
        (void)orri_refuse_memory(&world->env, "adding a system");
        return NULL;
    }
    system->desc = *desc;
    system->pipe = pipe;
    system->self_on = !desc->disabled;
    system->group_on = system_group_on(world, desc->group, pipe->spectator);
    system->wanted = system->self_on && system->group_on;
    system->stopped1 = ++world->schedule->stops;
    system->tick_first = UINT64_MAX;
    system->desc.every = system->every = desc->every != 0 ? desc->every : 1;
    system->run = desc->run;
    system->creates_max = desc->creates_max;
    system->by_rows = desc->kind == ORR_DIRECT && !desc->once;
    system->reduces = desc->combine != NULL;
    if (!system_copy_desc(world, &system->desc)) {
        (void)orri_refuse_memory(&world->env, "adding a system");
        orri_system_free(world, system);
        return NULL;
    }
    system->name_hash = orr_hash(system->desc.name, strlen(system->desc.name), 0);
    return system;
}

// The pipeline that a desc names; NULL (reported): there is none.
static orri_pipeline* system_pipe(orr_world* world, const orr_system_desc* desc)
{
    if (desc->pipeline == NULL) {
        return world->schedule->pipelines[0];
    }
    orri_pipeline* pipe = orri_pipeline_named(world, desc->pipeline);
    if (pipe == NULL) {
        orri_near near;
        orri_near_begin(&near, desc->pipeline, strlen(desc->pipeline));
        for (uint32_t i = 0; i < world->schedule->pipeline_count; i++) {
            orri_near_offer(&near, world->schedule->pipelines[i]->name);
        }
        char words[256];
        orri_text text = {words, sizeof words, 0};
        words[0] = '\0';
        orri_near_append(&near, &text);
        (void)orri_refuse(&world->env, ORR_ERR_NAME, ORR_LOG_ID_SYSTEM_REFUSED,
                          "orr_system_add: system '%s': there is no pipeline '%.80s'%s; call "
                          "orr_pipeline_add() first",
                          desc->name, desc->pipeline, words);
    }
    return pipe;
}

// A free slot; the number of slots if there is none.
static uint32_t system_slot(const struct orri_schedule* schedule)
{
    uint32_t index = schedule->slot_free;
    while (index < schedule->slot_count && schedule->slots[index] != NULL) {
        index++;
    }
    return index;
}

// Enters a system into the lists.
static bool system_enter(orr_world* world, orri_system* system)
{
    struct orri_schedule* schedule = world->schedule;
    uint32_t index = system_slot(schedule);
    if (index >= ORR_SYSTEMS_MAX) {
        (void)orri_refuse(&world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_SYSTEM_REFUSED,
                          "orr_system_add: a world has at most %u systems; remove one first",
                          ORR_SYSTEMS_MAX);
        return false;
    }
    if (!orri_system_names_reserve(world)) {
        (void)orri_refuse_memory(&world->env, "adding a system");
        return false;
    }
    if (index == schedule->slot_count) {
        if (!ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &schedule->slots,
                          &schedule->slot_capacity, index + 1) ||
            !ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &schedule->generations,
                          &schedule->generation_capacity, index + 1)) {
            (void)orri_refuse_memory(&world->env, "adding a system");
            return false;
        }
        schedule->generations[index] = 1;
        schedule->slot_count++;
    }
    schedule->slots[index] = system;
    schedule->slot_free = index + 1;
    system->number = ++schedule->number_last;
    system->handle = (orr_system){index + 1, schedule->generations[index]};
    system->prev = schedule->last;
    *(schedule->last != NULL ? &schedule->last->next : &schedule->first) = system;
    schedule->last = system;
    schedule->system_count++;
    orri_system_names_enter(schedule, system);
    schedule->stale = true;
    return true;
}

void orri_system_drop(orr_world* world, orri_system* system)
{
    orri_exports_release(world, system);
    struct orri_schedule* schedule = world->schedule;
    orri_system_names_leave(schedule, system);
    *(system->prev != NULL ? &system->prev->next : &schedule->first) = system->next;
    *(system->next != NULL ? &system->next->prev : &schedule->last) = system->prev;
    uint32_t slot = system->handle.id - 1;
    schedule->slots[slot] = NULL;
    schedule->slot_free = slot < schedule->slot_free ? slot : schedule->slot_free;
    schedule->generations[slot]++;
    schedule->system_count--;
    schedule->stale = true;
    orri_system_free(world, system);
}

// The running system that makes the call, which is a violation; NULL: none.
static const orri_system* system_violation(const orr_world* world)
{
    orri_system* running = orri_system_here(world);
    if (running != NULL) {
        running->rights.counts.violations++;
    }
    return running;
}

// Refuses errors that can be found before the next tick: a wrong query, a cycle.
static bool system_try(orr_world* world, orri_system* system)
{
    if (orri_system_states_make(world, system) != ORR_OK ||
        (orri_system_resolvable(world, system) && orri_system_resolve(world, system) != ORR_OK)) {
        return false;
    }
    if (world->schedule->system_count > SYSTEM_ORDERED_MAX) {
        // Sorting all systems for each new one would be too slow: the next tick reports a cycle.
        return true;
    }
    uint32_t count;
    orri_system** order =
        ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, orri_system*, world->schedule->system_count);
    if (order == NULL) {
        (void)orri_refuse_memory(&world->env, "ordering systems");
        return false;
    }
    orr_result result = orri_system_order(world, false, order, &count);
    ORRI_FREE(&world->env, ORR_MEMORY_TEMP, orri_system*, order, world->schedule->system_count);
    return result == ORR_OK;
}

ORRI_COLD static orr_result system_refuse_realtime(orr_world* world, const char* call,
                                                   const char* name, const char* done)
{
    return orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_SYSTEM_REFUSED,
                       "%s: system '%s' cannot be %s while the world runs in real time, except at "
                       "a sync point: post it with orr_post_exclusive()",
                       call, name, done);
}

orr_system orr_system_add(orr_world* world, const orr_system_desc* desc)
{
    ORR_ASSERT(world != NULL);
    static const orr_system none = {0};
    if (desc == NULL || desc->name == NULL || !orri_name_valid(desc->name)) {
        (void)orri_refuse(
            &world->env, ORR_ERR_NAME, ORR_LOG_ID_SYSTEM_REFUSED,
            "orr_system_add: a system needs a name of letters, digits, '_', '.' and ':'%s%.80s",
            desc != NULL && desc->name != NULL ? "; this is not a name: " : "",
            desc != NULL && desc->name != NULL ? desc->name : "");
        return none;
    }
    struct orri_schedule* schedule = orri_schedule_of(world);
    if (schedule == NULL) {
        return none;
    }
    if (orri_between_sync_points(world)) {
        (void)system_refuse_realtime(world, "orr_system_add", desc->name, "added");
        return none;
    }
    if (schedule->now != NULL) {
        const orri_system* running = system_violation(world);
        (void)orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_SYSTEM_REFUSED,
                          "orr_system_add: system '%s' cannot be added while a tick is under "
                          "way%s%s%s; add it between "
                          "ticks",
                          desc->name, running != NULL ? " (in '" : "",
                          running != NULL ? running->desc.name : "", running != NULL ? "')" : "");
        return none;
    }
    const orri_system* there = orri_system_named(world, desc->name, strlen(desc->name));
    if (there != NULL) {
        (void)orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_SYSTEM_REFUSED,
                          "orr_system_add: there is a system '%s' already, in pipeline '%s'; give "
                          "this one another name, or remove the other first (orr_system_remove())",
                          desc->name, there->pipe->name);
        return none;
    }
    orri_pipeline* pipe = system_pipe(world, desc);
    bool fits = pipe != NULL && system_check(world, desc, pipe->spectator) == ORR_OK;
    orri_system* system = fits ? system_make(world, desc, pipe) : NULL;
    if (system == NULL) {
        return none;
    }
    if (!system_enter(world, system)) {
        orri_system_free(world, system);
        return none;
    }
    if (!system_try(world, system) || !orri_type_owners_take(world, system)) {
        orri_system_drop(world, system);
        return none;
    }
    return system->handle;
}

// ---- removing and switching ---------------------------------------------------------------------

ORRI_COLD static orr_result system_refuse_handle(orr_world* world, const char* call,
                                                 orr_system handle)
{
    return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
                       "%s: %uv%u is not a system of this world; it may have been removed", call,
                       handle.id, handle.generation);
}

orr_result orr_system_remove(orr_world* world, orr_system handle)
{
    ORR_ASSERT(world != NULL);
    orri_system* system = orri_system_at(world, handle);
    if (system == NULL || system->removed) {
        return system_refuse_handle(world, "orr_system_remove", handle);
    }
    if (orri_between_sync_points(world)) {
        return system_refuse_realtime(world, "orr_system_remove", system->desc.name, "removed");
    }
    if (world->schedule->now != NULL) {
        const orri_system* running = system_violation(world);
        return orri_refuse(
            &world->env, ORR_ERR_STATE, ORR_LOG_ID_SYSTEM_REFUSED,
            "orr_system_remove: system '%s' cannot be removed while a tick is under way%s%s%s; "
            "disable it with orr_system_enable(), and remove it between ticks",
            system->desc.name, running != NULL ? " (in '" : "",
            running != NULL ? running->desc.name : "", running != NULL ? "')" : "");
    }
    system->removed = true;
    world->schedule->stale = true;
    return ORR_OK;
}

_Thread_local const orr_world* orri_tick_here;

orri_system* orri_system_here(const orr_world* world)
{
    bool here = orri_this_thread.world == world && world->running.parallel;
    if (ORR_UNLIKELY(world->schedule == NULL)) {
        return NULL; // There never was a system.
    }
    return here ? (orri_system*)(uintptr_t)orri_this_thread.system : world->schedule->running;
}

// True if requests of the running system (NULL: none runs) wait until its command buffers are
// closed: then they are applied, in the order of systems.
static bool system_requests_wait(const orri_system* by)
{
    return by != NULL && (orri_impure_records(by) || by->pipe->stage == ORRI_STAGE_STEPS);
}

// Makes room for requests of the running system. `target`: one of them, for the error text.
static orr_result system_requests_reserve(orr_world* world, orri_system* by,
                                          const orri_system* target, uint32_t count)
{
    if (!system_requests_wait(by)) {
        return ORR_OK;
    }
    if (by->desc.parallel) {
        by->rights.counts.violations++;
        return orri_refuse(
            &world->env, ORR_ERR_STATE, ORR_LOG_ID_ACCESS_VIOLATION,
            "system '%s' is parallel and enables or disables '%s', but its runs have no order; "
            "send an event to a system that is not parallel, and do it there",
            by->desc.name, target->desc.name);
    }
    return ORRI_RESERVE(&world->env, ORR_MEMORY_SYSTEM, &by->requests, &by->request_capacity,
                        by->request_count + count)
               ? ORR_OK
               : orri_refuse_memory(&world->env, "enabling or disabling systems");
}

static void system_enable_set(orr_world* world, const orri_system_request* request)
{
    orri_system* system = request->target;
    bool* on = request->group ? &system->group_on : &system->self_on;
    world->schedule->stale |= *on != request->on;
    world->schedule->switched |= *on != request->on && !system->pipe->spectator;
    // In real time other threads may read it.
    __atomic_store_n(on, request->on, __ATOMIC_RELAXED);
    system->wanted = system->self_on && system->group_on;
}

void orri_system_apply_requests(orr_world* world, orri_system* system)
{
    for (uint32_t i = 0; i < system->request_count; i++) {
        system_enable_set(world, &system->requests[i]);
    }
    system->request_count = 0;
    if (ORR_UNLIKELY(system->pause != 0)) {
        world->schedule->paused = system->pause == ORRI_PAUSE_ON;
        system->pause = 0;
    }
}

// Enables or disables a system: now, or at the point of the running system, which has room for the
// request.
static void system_set(orr_world* world, orri_system* by, orri_system_request request)
{
    if (system_requests_wait(by)) {
        by->requests[by->request_count++] = request;
    } else {
        system_enable_set(world, &request);
    }
}

orr_result orr_system_enable(orr_world* world, orr_system handle, bool on)
{
    ORR_ASSERT(world != NULL);
    orri_system* system = orri_system_at(world, handle);
    if (system == NULL || system->removed) {
        return system_refuse_handle(world, "orr_system_enable", handle);
    }
    orri_system* by = orri_system_here(world);
    if (orri_spectator_refuses(world, by, "enables or disables", system)) {
        return ORR_ERR_STATE;
    }
    orr_result result = system_requests_reserve(world, by, system, 1);
    if (result == ORR_OK) {
        system_set(world, by, (orri_system_request){system, false, on});
    }
    return result;
}

orr_result orr_group_enable(orr_world* world, const char* group, bool on)
{
    ORR_ASSERT(world != NULL);
    orri_system* first = group != NULL ? orri_system_group_first(world, group, strlen(group))
                                       : NULL;
    orri_system* by = orri_system_here(world);
    // All members are checked before the first is set: a refused call has no effect.
    uint32_t count = 0;
    const orri_system* one = NULL;
    for (const orri_system* system = first; system != NULL; system = system->group_next) {
        if (!system->removed && orri_spectator_refuses(world, by, "enables or disables", system)) {
            return ORR_ERR_STATE;
        }
        count += !system->removed;
        one = one == NULL && !system->removed ? system : one;
    }
    if (count == 0) {
        return orri_refuse(&world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_SYSTEM_REFUSED,
                           "orr_group_enable: no system is in a group '%s'; check the name, or "
                           "set .group",
                           group != NULL ? group : "(null)");
    }
    orr_result result = system_requests_reserve(world, by, one, count);
    for (orri_system* system = first; result == ORR_OK && system != NULL;
         system = system->group_next) {
        if (!system->removed) {
            system_set(world, by, (orri_system_request){system, true, on});
        }
    }
    return result;
}

bool orr_system_enabled(const orr_world* world, orr_system handle)
{
    ORR_ASSERT(world != NULL);
    const orri_system* system = orri_system_at(world, handle);
    if (system == NULL || system->removed || orri_spectator_hidden(world, system)) {
        return false;
    }
    bool self = __atomic_load_n(&system->self_on, __ATOMIC_RELAXED);
    bool group = __atomic_load_n(&system->group_on, __ATOMIC_RELAXED);
    const orri_system* by = orri_system_here(world);
    for (uint32_t i = 0; by != NULL && i < by->request_count; i++) {
        const orri_system_request* request = &by->requests[i];
        if (request->target == system) {
            *(request->group ? &group : &self) = request->on;
        }
    }
    return self && group;
}

#undef SYSTEM_ORDERED_MAX
