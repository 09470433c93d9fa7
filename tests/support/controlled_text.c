// SPDX-License-Identifier: MIT
// Texts of the controlled scheduler: a schedule as a list of choices that can be replayed, and the
// report of a failure.
//
// A choice is the number of the fiber that runs, with `*N` if it runs N times. After the number:
// `x`, it spins out without further choices; `xN`, choices are made again from round N on; `t`, its
// timeout ended; `s`, a spurious wake-up. `wN`: fiber N is the one that a wake reaches.
#include "controlled_state.h"
#include <stdarg.h>
#include <stdlib.h>

void controlled_note(controlled* c, uint32_t code, uint32_t kind, const void* word, uint32_t out_at)
{
    if (c->step_count < c->steps_room) {
        c->steps[c->step_count++] = (controlled_step){
            .word = word, .out_at = (uint16_t)out_at, .code = (uint8_t)code, .kind = (uint8_t)kind};
    }
}

typedef struct text {
    char* data;
    size_t at;
} text;

ORR_PRINTF(2, 3) static void text_add(text* out, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(out->data + out->at, FAILURE_SIZE - out->at, format, args);
    va_end(args);
    out->at += size > 0 ? (size_t)size : 0;
    if (out->at >= FAILURE_SIZE) {
        out->at = FAILURE_SIZE - 1;
    }
}

// ---- choices ------------------------------------------------------------------------------------

static void text_choice(text* out, const controlled_step* step)
{
    uint32_t fiber_index = step->code & CODE_FIBER, how = step->code & CODE_HOW;
    if (out->at > 0) {
        text_add(out, " ");
    }
    if (how == CODE_WOKEN) {
        text_add(out, "w%u", fiber_index);
    } else if (how != CODE_SPIN_OUT) {
        text_add(out, "%u%s", fiber_index,
                 how == CODE_TIMEOUT    ? "t"
                 : how == CODE_SPURIOUS ? "s"
                                        : "");
    } else if (step->out_at == OUT_NEVER) {
        text_add(out, "%ux", fiber_index);
    } else {
        text_add(out, "%ux%u", fiber_index, step->out_at);
    }
}

void controlled_text_choices(controlled* c)
{
    text out = {c->choices, 0};
    c->choices[0] = 0;
    for (uint32_t i = 0, end = 0; i < c->step_count; i = end) {
        const controlled_step* step = &c->steps[i];
        for (end = i + 1; end < c->step_count && c->steps[end].code == step->code &&
                          c->steps[end].out_at == step->out_at;
             end++) {
        }
        text_choice(&out, step);
        if (end - i > 1) {
            text_add(&out, "*%u", end - i);
        }
    }
}

static bool text_number(const char** at, uint32_t max, uint32_t* number)
{
    char* end;
    unsigned long value = **at >= '0' && **at <= '9' ? strtoul(*at, &end, 10) : max + 1ul;
    if (value > max) {
        return false;
    }
    *at = end;
    *number = (uint32_t)value;
    return true;
}

// One item: "3", "w3", "3x", "3x64", "3t", "3s", each with an optional "*N".
static bool text_parse_item(const char** at, controlled_step* step, uint32_t* times)
{
    uint32_t fiber_index = 0, out_at = 0, how = CODE_RUN;
    if (**at == 'w') {
        ++*at;
        how = CODE_WOKEN;
    }
    if (!text_number(at, CODE_FIBER, &fiber_index)) {
        return false;
    }
    const char* found = **at != 0 && how == CODE_RUN ? strchr("xts", **at) : NULL;
    if (found != NULL) {
        ++*at;
        how = *found == 'x' ? CODE_SPIN_OUT : *found == 't' ? CODE_TIMEOUT : CODE_SPURIOUS;
    }
    if (how == CODE_SPIN_OUT && !text_number(at, OUT_NEVER, &out_at)) {
        out_at = OUT_NEVER;
    }
    *step = (controlled_step){.code = (uint8_t)(how | fiber_index), .out_at = (uint16_t)out_at};
    *times = 1;
    if (**at != '*') {
        return true;
    }
    ++*at;
    return text_number(at, 1u << 24, times);
}

bool controlled_text_parse(controlled* c, const char* words)
{
    uint32_t room = 0;
    c->replay_count = 0;
    c->replay = calloc(1, sizeof *c->replay);
    for (const char* at = words; *at != 0;) {
        controlled_step step;
        uint32_t times = 1;
        if (*at == ' ') {
            at++;
            continue;
        }
        if (!text_parse_item(&at, &step, &times) || (*at != ' ' && *at != 0)) {
            return false;
        }
        if (c->replay_count + times > room) {
            room = (c->replay_count + times) * 2;
            c->replay = realloc(c->replay, room * sizeof step);
        }
        for (uint32_t i = 0; i < times && c->replay != NULL; i++) {
            c->replay[c->replay_count++] = step;
        }
    }
    return c->replay != NULL;
}

// ---- names of words -----------------------------------------------------------------------------

// The name that the body gave the word; else a letter, in the order of the trace.
static const char* text_word(const controlled* c, const void* word, char* room, size_t size)
{
    if (word == NULL) {
        return "";
    }
    for (uint32_t i = c->name_count; i-- > 0;) {
        if (c->names[i].word == word) {
            if (c->names[i].index == UINT32_MAX) {
                return c->names[i].name;
            }
            snprintf(room, size, "%s[%u]", c->names[i].name, c->names[i].index);
            return room;
        }
    }
    uint32_t number = 0;
    for (uint32_t i = 0; i < c->step_count && c->steps[i].word != word; i++) {
        bool fresh = c->steps[i].word != NULL;
        for (uint32_t j = 0; j < i && fresh; j++) {
            fresh = c->steps[j].word != c->steps[i].word;
        }
        number += fresh;
    }
    snprintf(room, size, number < 26 ? "word %c" : "word Z%u",
             number < 26 ? 'A' + (int)number : (int)number);
    return room;
}

static const char* text_kind(uint32_t kind)
{
    static const char* const names[] = {"start", "load",  "store", "spin",     "wait", "wake",
                                        "join",  "yield", "sleep", "sleep_ns", "woken"};
    return names[kind];
}

// ---- a failure ----------------------------------------------------------------------------------

static void text_place(const controlled* c, text* out, uint32_t index)
{
    const controlled_slot* slot = &c->slots[index];
    char room[64];
    const char* word = text_word(c, slot->word, room, sizeof room);
    text_add(out, "    %2u %-14s ", index, slot->name);
    if (slot->done) {
        text_add(out, "done\n");
    } else if (slot->joins1 != 0) {
        text_add(out, "joins %u %s\n", slot->joins1 - 1, c->slots[slot->joins1 - 1].name);
    } else if ((c->asleep & controlled_bit(index)) != 0) {
        text_add(out, "sleeps on %s while it is %u%s\n", word, slot->expected,
                 (c->timed & controlled_bit(index)) != 0 ? ", with a timeout" : "");
    } else if ((c->spinning & controlled_bit(index)) != 0) {
        text_add(out, "spins at %s, which no fiber changes\n", word);
    } else {
        text_add(out, "%s %s %s\n", index == c->running ? "runs, passed last" : "stands before",
                 text_kind(slot->kind), slot->kind == PLACE_START ? "" : word);
    }
}

static const char* text_how(uint32_t how)
{
    return how == CODE_SPIN_OUT   ? ", spins out"
           : how == CODE_TIMEOUT  ? ", timeout passed"
           : how == CODE_SPURIOUS ? ", for no reason"
                                  : "";
}

static bool text_same(const controlled_step* a, const controlled_step* b)
{
    return a->code == b->code && a->kind == b->kind && a->word == b->word;
}

// One line per step; equal steps become one line. Of long traces only the end.
static void text_trace(const controlled* c, text* out)
{
    uint32_t shown = 600, first = c->step_count > shown ? c->step_count - shown : 0;
    text_add(out, "  trace, %u steps%s:\n", c->step_count, first > 0 ? ", the last of them" : "");
    for (uint32_t i = first, end = 0; i < c->step_count; i = end) {
        const controlled_step* step = &c->steps[i];
        uint32_t index = step->code & CODE_FIBER;
        char room[64], times[24] = "";
        for (end = i + 1; end < c->step_count && text_same(step, &c->steps[end]); end++) {
        }
        if (end - i > 1) {
            snprintf(times, sizeof times, ", %u times", end - i);
        }
        bool again = i > first && (c->steps[i - 1].code & CODE_FIBER) == index;
        text_add(out, "    %5u  %2u %-14s %-8s %s%s%s\n", i + 1, index,
                 again ? "" : c->slots[index].name, text_kind(step->kind),
                 text_word(c, step->word, room, sizeof room), text_how(step->code & CODE_HOW),
                 times);
    }
}

static const char* text_outcome(controlled_outcome outcome)
{
    static const char* const names[] = {"passed",
                                        "check failed",
                                        "deadlock: no thread can continue",
                                        "livelock: too many steps",
                                        "the body returned while its threads run",
                                        "memory not given back",
                                        "diverged"};
    return names[outcome];
}

void controlled_text_failure(controlled* c)
{
    text out = {c->failure, 0};
    text_add(&out, "%s: %s%s%s\n", c->desc.name, text_outcome(c->result.outcome),
             c->message[0] != 0 ? ": " : "", c->message);
    for (uint32_t i = 0; i < c->slot_count; i++) {
        text_place(c, &out, i);
    }
    text_trace(c, &out);
    text_add(&out, "  schedule %" PRIu64, c->schedule + 1);
    if (c->desc.strategy != CONTROLLED_DEPTH_FIRST) {
        text_add(&out, " of seed %" PRIu64, c->desc.seed);
    }
    text_add(&out, "; repeat it with\n    ORR_SCHEDULE='%s:%s'\n", c->desc.name, c->choices);
}
