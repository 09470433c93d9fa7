// SPDX-License-Identifier: MIT
// Finds where two runs diverge (orr_desync_find()):
//
//   1. Recorded hashes show the last tick at which the runs agree, and the first one at which they
//      differ.
//   2. Both worlds go to the last tick at which they agree.
//   3. Both run tick by tick. After each step of a tick a note with the world's hash is taken.
//   4. The first note that differs names the system. world_diff.c then names the value.
#include "replay/desync.h"
#include "base/util.h"
#include "message/transaction/transaction.h"
#include "replay/replay.h"
#include <inttypes.h>
#include <orrery/history.h>
#include <stdio.h>

// The hash of a world at one step of a tick.
typedef struct desync_note {
    const orri_system* system; // NULL: before or between systems.
    const orri_pipeline* pipe;
    orri_probe_at at;
    uint64_t hash, tick; // `tick` is the pipeline's.
} desync_note;

// One of the two runs.
typedef struct desync_side {
    orri_probe probe; // First member: callbacks cast it back to the side.
    orr_world* world;
    const orr_recording* recording;
    desync_note* notes; // Of the current tick.
    uint32_t note_count, note_capacity;
    bool failed;    // No memory for notes.
    uint64_t ticks; // Ticks run so far.
    struct desync_side* other;
    orr_desync* out;
    // True for the first side. After its posted calls, and before its systems run, the other side
    // runs its tick (desync_outside()).
    bool leads;
    orr_result result; // Of the second side: the result of its tick.
} desync_side;

// ---- notes --------------------------------------------------------------------------------------

// Hash of changes that a system sent and that are not committed yet.
static uint64_t desync_commands_hash(const orr_command_buffer* commands, uint64_t hash)
{
    for (uint32_t i = 0; i < commands->order_count; i++) {
        const orri_command_array* array = &commands->arrays[commands->order[i]];
        hash = orri_hash_word(hash, (uint64_t)array->kind << 32 | array->count);
        hash = orri_hash_word(hash, array->info != NULL ? array->info->info.layout_hash : 0);
        if (array->entities != NULL) {
            hash = orr_hash(array->entities, array->count * sizeof *array->entities, hash);
        }
        if (array->values != NULL && array->stride > 0) {
            hash = array->info != NULL && array->stride == array->info->info.size
                       ? orri_rows_hash(array->info, array->values, array->count, hash)
                       : orr_hash(array->values, (size_t)array->count * array->stride, hash);
        }
    }
    if (commands->text_count > 0) {
        hash = orr_hash(commands->texts, commands->text_count, hash);
    }
    return orri_posts_hash(commands->posts, hash);
}

static orr_result desync_tick(desync_side* side, uint64_t tick);

// Compares the worlds after posted calls, before systems overwrite a difference. Both worlds must
// be at this step at the same time: so the second world runs its tick inside the first world's
// tick.
static void desync_outside(const desync_side* side, uint64_t hash)
{
    desync_side* other = side->other;
    if (side->leads) {
        other->result = desync_tick(other, side->world->tick);
    } else if (other->note_count == 1 && other->notes[0].hash != hash) {
        (void)orri_world_diff(other->world, side->world, "", side->out);
    }
}

static void desync_note_add(desync_side* side, const orri_system* system, orri_probe_at at,
                            uint64_t hash)
{
    side->failed |= !ORRI_RESERVE(&side->world->env, ORR_MEMORY_TEMP, &side->notes,
                                  &side->note_capacity, side->note_count + 1);
    if (!side->failed) {
        const orri_pipeline* pipe = side->world->schedule->now;
        side->notes[side->note_count++] = (desync_note){system, pipe, at, hash, pipe->tick};
    }
}

// Takes a note after each call of a transaction's function: only then its effect is visible.
static void desync_called(orr_world* world, const orri_rights* rights, const orri_type* type,
                          orr_entity target, const void* value)
{
    desync_side* side = (desync_side*)(void*)world->schedule->probe;
    const orri_system* system = orri_system_named(world, rights->name, strlen(rights->name));
    desync_note_add(side, system, ORRI_PROBE_CALLED, orri_rows_hash(type, value, 1, target.id));
}

static void desync_note_take(orri_probe* probe, orr_world* world, orri_probe_at at,
                             const orri_system* system)
{
    desync_side* side = (desync_side*)(void*)probe;
    uint64_t hash = orr_world_hash(world);
    for (uint32_t i = 0; at == ORRI_PROBE_RAN && i < system->command_buffer_count; i++) {
        hash = desync_commands_hash(system->command_buffers[i], hash);
    }
    desync_note_add(side, system, at, hash);
    if (at == ORRI_PROBE_OUTSIDE) {
        desync_outside(side, hash);
    }
}

static bool desync_note_same(const desync_note* a, const desync_note* b)
{
    bool same = (a->system == NULL) == (b->system == NULL) && a->at == b->at && a->hash == b->hash;
    return same && (a->system == NULL || a->system->name_hash == b->system->name_hash);
}

// The first note that differs; NULL if none does.
static const desync_note* desync_notes_differ(const desync_side* a, const desync_side* b)
{
    uint32_t count = a->note_count < b->note_count ? a->note_count : b->note_count;
    for (uint32_t i = 0; i < count; i++) {
        if (!desync_note_same(&a->notes[i], &b->notes[i])) {
            return &a->notes[i];
        }
    }
    return a->note_count != b->note_count ? (a->note_count > count ? a : b)->notes + count : NULL;
}

// ---- going to a tick ----------------------------------------------------------------------------

// Replays the recording up to a tick.
static orr_result desync_run(desync_side* side, uint64_t tick)
{
    orr_replay_report report = {0};
    orr_result result = ORR_OK;
    if (side->world->tick < tick) {
        result = orri_replay_run(side->world, side->recording,
                                 &(orr_replay_desc){.until_tick = tick, .no_verify = true},
                                 &report);
        side->ticks += report.ticks;
    }
    return result;
}

// Goes to a tick: from the latest remembered tick up to it, or from the world's current tick if
// that is nearer.
static orr_result desync_go_to(desync_side* side, uint64_t tick)
{
    orr_world* world = side->world;
    uint64_t from = tick, least = side->recording->begin_tick;
    while (from > least && from != world->tick && !orr_remembered(world, from)) {
        from--;
    }
    if (from != world->tick) {
        orr_result result =
            orr_remembered(world, from)
                ? orr_time_travel(world, from)
                : orri_refuse(
                      &world->env, ORR_ERR_PAST, ORR_LOG_ID_CALL_REFUSED,
                      "orr_desync_find: a world is at tick %" PRIu64
                      ", the runs agree up to tick %" PRIu64
                      ", and no tick up to that is remembered; pass a newly built world, or "
                      "remember ticks with orr_history_set()",
                      world->tick, tick);
        if (result != ORR_OK) {
            return result;
        }
    }
    return desync_run(side, tick);
}

// Runs the next tick, and takes notes.
static orr_result desync_tick(desync_side* side, uint64_t tick)
{
    struct orri_messages* messages = orri_messages_of(side->world);
    if (messages == NULL) {
        return ORR_ERR_MEMORY;
    }
    side->note_count = 0;
    side->world->schedule->probe = &side->probe;
    messages->called = desync_called;
    orr_result result = desync_run(side, tick);
    messages->called = NULL;
    side->world->schedule->probe = NULL;
    return result == ORR_OK && side->failed
               ? orri_refuse_memory(&side->world->env, "finding where two runs diverge")
               : result;
}

// Runs one tick of both sides. `*note` gets the first note that differs.
static orr_result desync_step(desync_side sides[2], uint64_t tick, const desync_note** note)
{
    orr_result result = desync_tick(&sides[0], tick);
    result = result == ORR_OK ? sides[1].result : result;
    if (result == ORR_OK) {
        ORR_ASSERT(sides[1].world->tick == tick);
        *note = desync_notes_differ(&sides[0], &sides[1]);
    }
    return result;
}

// ---- recorded hashes ----------------------------------------------------------------------------

// Compares the hashes that both recordings have: the first one that differs, and the last one
// before that agrees. False if none differs.
static bool desync_marks(const orr_recording* a, const orr_recording* b, uint64_t* agreed,
                         uint64_t* differs)
{
    *agreed = a->begin_tick;
    for (uint32_t i = 0, j = 0; i < a->mark_count && j < b->mark_count;) {
        const orri_lockstep_log_mark *x = &a->marks[i], *y = &b->marks[j];
        if (x->tick == y->tick && x->hash != y->hash) {
            *differs = x->tick;
            return true;
        }
        *agreed = x->tick == y->tick ? x->tick : *agreed;
        i += x->tick <= y->tick;
        j += y->tick <= x->tick;
    }
    return false;
}

// The worlds are equal at a tick where the recordings differ: one run was not reproduced. Reports
// which.
static orr_result desync_check_hashes(const desync_side sides[2], uint64_t tick)
{
    for (uint32_t i = 0; i < 2; i++) {
        orr_world* world = sides[i].world;
        const orri_lockstep_log_mark* mark = orri_lockstep_log_mark_at(sides[i].recording, tick);
        uint64_t hash = orr_world_hash(world);
        if (hash != mark->hash) {
            return orri_refuse(&world->env, ORR_ERR_CONFLICT, ORR_LOG_ID_CALL_REFUSED,
                               "orr_desync_find: the %s world, run again, has the hash %016" PRIx64
                               " after tick %" PRIu64 ", not %016" PRIx64
                               " as recorded: the run depends on something that is not recorded",
                               i == 0 ? "first" : "second", hash, tick, mark->hash);
        }
    }
    return ORR_OK;
}

// ---- the search ---------------------------------------------------------------------------------

// Fills system, pipeline and `when`. `note` NULL: the worlds differ before the first tick.
static void desync_describe(const desync_note* note, orr_desync* out)
{
    static const char* const when[] = {
        [ORRI_PROBE_OUTSIDE] = "before systems ran: by posted calls, or changes sent before",
        [ORRI_PROBE_RAN] = "when it ran",
        [ORRI_PROBE_ENDED] = "when the changes it sent were applied",
        [ORRI_PROBE_CALLED] = "when a function of its transactions was called",
        [ORRI_PROBE_POINT] = "when changes of systems were committed",
    };
    out->when = note != NULL ? when[note->at] : "before it";
    if (note != NULL) {
        snprintf(out->pipeline, sizeof out->pipeline, "%s", note->pipe->name);
        out->pipeline_tick = note->tick;
    }
    snprintf(out->system, sizeof out->system, "%s",
             note != NULL && note->system != NULL ? note->system->desc.name : "");
}

static orr_result desync_search(desync_side sides[2], uint64_t differs, orr_desync* out)
{
    const desync_note* note = NULL;
    orr_result result = ORR_OK;
    for (uint32_t i = 0; result == ORR_OK && i < 2; i++) {
        result = desync_go_to(&sides[i], out->agreed_tick);
    }
    bool same = result == ORR_OK &&
                orr_world_hash(sides[0].world) == orr_world_hash(sides[1].world);
    uint64_t tick = out->agreed_tick;
    while (result == ORR_OK && same && note == NULL && tick < differs) {
        result = desync_step(sides, ++tick, &note);
    }
    if (result == ORR_OK && same && note == NULL) {
        result = desync_check_hashes(sides, differs);
    }
    if (result != ORR_OK) {
        return result;
    }
    out->differ = true;
    out->tick = tick;
    desync_describe(note, out);
    out->hash_a = orr_world_hash(sides[0].world);
    out->hash_b = orr_world_hash(sides[1].world);
    bool seen = note != NULL && note->at == ORRI_PROBE_OUTSIDE;
    if (!seen && !orri_world_diff(sides[0].world, sides[1].world, out->system, out)) {
        (void)orri_world_diff(sides[0].world, sides[1].world, "", out);
    }
    return ORR_OK;
}

static orr_result desync_check(orr_world* world, const orr_recording* recording)
{
    orr_result result = orri_step_check(world, "orr_desync_find");
    const char* wrong = NULL;
    if (!recording->lockstep || recording->in_use) {
        wrong = "both recordings must be finished recordings of lockstep";
    } else if (world->schedule->lockstep_log != NULL || world->schedule->now != NULL) {
        wrong = "a world is recorded, or in the middle of a tick; end the recording with "
                "orr_record_end(), or finish the tick with orr_step()";
    }
    return result == ORR_OK && wrong != NULL
               ? orri_refuse(&world->env, ORR_ERR_STATE, ORR_LOG_ID_CALL_REFUSED,
                             "orr_desync_find: %s", wrong)
               : result;
}

orr_result orr_desync_find(orr_world* a, const orr_recording* recording_a, orr_world* b,
                           const orr_recording* recording_b, orr_desync* out)
{
    ORR_ASSERT(a != NULL && b != NULL && out != NULL);
    ORR_ASSERT(recording_a != NULL && recording_b != NULL);
    *out = (orr_desync){.when = "", .what = ""};
    if (a == b) {
        return orri_refuse(&a->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                           "orr_desync_find: both worlds are the same world; build another one in "
                           "the same way for the second recording");
    }
    desync_side sides[2] = {{.probe = {desync_note_take}, .world = a, .recording = recording_a},
                            {.probe = {desync_note_take}, .world = b, .recording = recording_b}};
    for (uint32_t i = 0; i < 2; i++) {
        sides[i].other = &sides[!i];
        sides[i].out = out;
        sides[i].leads = i == 0;
    }
    orr_result result = desync_check(a, recording_a);
    result = result == ORR_OK ? desync_check(b, recording_b) : result;
    if (result == ORR_OK && recording_a->begin_tick != recording_b->begin_tick) {
        result = orri_refuse(&a->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_CALL_REFUSED,
                             "orr_desync_find: the recordings begin with different ticks, %" PRIu64
                             " and %" PRIu64 "; record both runs from the same tick on",
                             recording_a->begin_tick, recording_b->begin_tick);
    }
    if (result != ORR_OK) {
        return result;
    }
    uint64_t differs;
    if (!desync_marks(recording_a, recording_b, &out->agreed_tick, &differs)) {
        out->looked = true;
        return ORR_OK;
    }
    result = desync_search(sides, differs, out);
    out->looked = result == ORR_OK;
    for (uint32_t i = 0; i < 2; i++) {
        orri_env* env = &sides[i].world->env;
        ORRI_RELEASE(env, ORR_MEMORY_TEMP, sides[i].notes, sides[i].note_capacity);
    }
    out->ticks_a = sides[0].ticks;
    out->ticks_b = sides[1].ticks;
    return result;
}

size_t orr_desync_print(const orr_desync* desync, char* out, size_t out_size)
{
    ORR_ASSERT(desync != NULL && (out != NULL || out_size == 0));
    orri_text text = {out, out_size, 0};
    if (!desync->looked) {
        orri_text_add(&text, "not compared: orr_desync_find() was refused");
        return text.length;
    }
    if (!desync->differ) {
        orri_text_add(&text, "nothing that both recorded differs, up to tick %" PRIu64,
                      desync->agreed_tick);
        return text.length;
    }
    orri_text_add(&text, "tick %" PRIu64 " differs", desync->tick);
    if (desync->agreed_tick < desync->tick) {
        orri_text_add(&text, " (%" PRIu64 " agrees)", desync->agreed_tick);
    }
    if (desync->pipeline[0] != '\0' && desync->pipeline_tick != desync->tick) {
        orri_text_add(&text, ", tick %" PRIu64 " of pipeline '%s'", desync->pipeline_tick,
                      desync->pipeline);
    }
    orri_text_add(&text, desync->system[0] != '\0' ? ": system '%s' %s" : ": %s%s", desync->system,
                  desync->when);
    orri_text_add(&text, "; %s", desync->what);
    bool typed = desync->component[0] != '\0';
    if (typed) {
        bool dot = desync->field[0] != '\0' && desync->field[0] != '[';
        orri_text_add(&text, ": %s%s%s", desync->component, dot ? "." : "", desync->field);
    }
    if (desync->entity.id != 0) {
        orri_text_add(&text, "%s%s, cluster %u, chunk %u", typed ? " of " : ": ",
                      desync->entity_text, desync->cluster, desync->chunk);
    }
    if (desync->value_a[0] != '\0') {
        orri_text_add(&text, ": %s and %s", desync->value_a, desync->value_b);
    }
    orri_text_add(&text, "; %" PRIu64 " and %" PRIu64 " ticks were run again", desync->ticks_a,
                  desync->ticks_b);
    return text.length;
}
