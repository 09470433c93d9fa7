// SPDX-License-Identifier: MIT
// Looking into recordings: their ticks and calls, where two of them differ, what there is in words.
#include "history/tape_file.h"

static const char* look_pipeline(const orr_recording* recording, uint32_t number)
{
    const orri_tape_names* names = &recording->names[ORRI_TAPE_PIPELINES];
    return number < names->count ? names->names[number].name : "";
}

bool orr_recording_tick(const orr_recording* recording, uint64_t tick, orr_recorded_tick* out)
{
    ORR_ASSERT(recording != NULL && out != NULL);
    uint64_t index = tick - recording->begin_tick - 1;
    if (!recording->lockstep || tick <= recording->begin_tick || index >= recording->taped_count) {
        return false;
    }
    const orri_taped* taped = &recording->taped[index];
    const orri_tape_mark* mark = orri_tape_mark_at(recording, tick);
    uint32_t calls;
    size_t inputs;
    orri_tape_place(recording, (uint32_t)index, &calls, &inputs);
    *out = (orr_recorded_tick){.tick = tick,
                               .pipeline = look_pipeline(recording, taped->number),
                               .pipeline_number = taped->number,
                               .dt = taped->dt,
                               .call_first = calls,
                               .call_count = taped->calls,
                               .input_size = taped->input_size,
                               .hashed = mark != NULL,
                               .hash = mark != NULL ? mark->hash : 0};
    return true;
}

bool orr_recording_call(const orr_recording* recording, uint32_t index, orr_recorded_call* out)
{
    ORR_ASSERT(recording != NULL && out != NULL);
    if (index >= recording->call_count) {
        return false;
    }
    const orri_call* call = recording->calls[index];
    *out = (orr_recorded_call){call->name != NULL ? call->name : "", call->data, call->size};
    return true;
}

// ---- two of them ------------------------------------------------------------------------------------------------------------

// Where they are in what ticks have.
typedef struct look_place {
    const orr_recording* recording;
    uint32_t call;
    size_t input;
} look_place;

static bool look_same_call(const orri_call* a, const orri_call* b)
{
    bool named = a->name != NULL && b->name != NULL;
    return (named ? strcmp(a->name, b->name) == 0 : a->call == b->call) && a->size == b->size &&
           a->meeting == b->meeting && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static bool look_same_calls(const look_place* a, const look_place* b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!look_same_call(a->recording->calls[a->call + i], b->recording->calls[b->call + i])) {
            return false;
        }
    }
    return true;
}

// NULL: their inputs are the same. Both go on behind it.
static const char* look_tick(look_place* a, look_place* b, uint32_t index)
{
    const orri_taped* x = &a->recording->taped[index];
    const orri_taped* y = &b->recording->taped[index];
    const uint8_t* xs = a->recording->inputs[0].bytes.data + a->input;
    const uint8_t* ys = b->recording->inputs[0].bytes.data + b->input;
    const char* what = NULL;
    if (x->number != y->number) {
        what = "which pipeline ticks";
    } else if (memcmp(&x->dt, &y->dt, sizeof x->dt) != 0 || x->due_ns != y->due_ns ||
               x->first_ns != y->first_ns) {
        what = "the time of the tick";
    } else if (x->calls != y->calls || !look_same_calls(a, b, x->calls)) {
        what = "the calls before it";
    } else if (x->input_size != y->input_size ||
               (x->input_size > 0 && memcmp(xs, ys, x->input_size) != 0)) {
        what = "what impure systems did";
    }
    a->call += x->calls;
    b->call += y->calls;
    a->input += x->input_size;
    b->input += y->input_size;
    return what;
}

static bool look_hashes(const orr_recording* a, const orr_recording* b, uint64_t tick,
                        orr_recording_difference* out)
{
    const orri_tape_mark* x = orri_tape_mark_at(a, tick);
    const orri_tape_mark* y = orri_tape_mark_at(b, tick);
    if (x == NULL || y == NULL || x->hash == y->hash) {
        return false;
    }
    *out = (orr_recording_difference){true, tick, "the hash", x->hash, y->hash};
    return true;
}

orr_result orr_recording_compare(const orr_recording* a, const orr_recording* b,
                                 orr_recording_difference* out)
{
    ORR_ASSERT(a != NULL && b != NULL && out != NULL);
    if (!a->lockstep || !b->lockstep) {
        return ORR_ERR_STATE;
    }
    *out = (orr_recording_difference){.what = ""};
    if (a->begin_tick != b->begin_tick) {
        *out = (orr_recording_difference){
            true, a->begin_tick < b->begin_tick ? a->begin_tick : b->begin_tick,
            "the tick they begin with", 0, 0};
        return ORR_OK;
    }
    look_place x = {a, 0, 0}, y = {b, 0, 0};
    uint32_t count = a->taped_count < b->taped_count ? a->taped_count : b->taped_count;
    if (look_hashes(a, b, a->begin_tick, out)) {
        return ORR_OK;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t tick = a->begin_tick + 1 + i;
        const char* what = look_tick(&x, &y, i);
        if (what != NULL) {
            *out = (orr_recording_difference){true, tick, what, 0, 0};
            return ORR_OK;
        }
        if (look_hashes(a, b, tick, out)) {
            return ORR_OK;
        }
    }
    return ORR_OK;
}
