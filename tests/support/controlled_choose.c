// SPDX-License-Identifier: MIT
// The strategies of the controlled scheduler: which fibers may run, and which one does.
//
// Depth first is a search without stored states: a schedule is run from the start; it follows the
// list of nodes and takes the first choice wherever the list ends. Afterwards the last node that
// has another choice takes it, and the nodes after it are dropped. A node is made only where there
// is more than one choice, and once the preemptions are used up there seldom is, so most points
// cost a few instructions.
#include "controlled_state.h"
#include <stdlib.h>

enum {
    SEEN_MAX = 1 << 23, // Places of the set of hashes; at most half of them are used.
};

// ---- which fibers may run -----------------------------------------------------------------------

static uint32_t choose_runnable(const controlled* c)
{
    uint32_t able = c->ready;
    for (uint32_t left = c->lagging; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        if ((c->slots[i].behind & c->ready) != 0) {
            able &= ~controlled_bit(i);
        }
    }
    return able != 0 ? able : c->ready;
}

// The fibers after the running one come first, so that the first choice is not always fiber 0.
static uint32_t choose_add(const controlled* c, uint32_t fibers, uint32_t how, uint8_t* codes,
                           uint32_t count)
{
    uint32_t low = fibers & (controlled_bit(c->running) - 1);
    for (uint32_t half = 0; half < 2; half++) {
        for (uint32_t left = half == 0 ? fibers & ~low : low; left != 0; left &= left - 1) {
            codes[count++] = (uint8_t)(how | (uint32_t)__builtin_ctz(left));
        }
    }
    return count;
}

static uint32_t choose_first_deadline(const controlled* c)
{
    uint32_t best = CONTROLLED_FIBERS_MAX;
    for (uint32_t left = c->timed; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        if (best == CONTROLLED_FIBERS_MAX || c->slots[i].deadline_ns < c->slots[best].deadline_ns) {
            best = i;
        }
    }
    return best;
}

// No fiber is ready. A spin that gives up does so now; else time passes; else it is a deadlock.
static uint32_t choose_forced(controlled* c, uint8_t* codes)
{
    uint32_t spinners = 0;
    for (uint32_t left = c->spinning; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        spinners |= c->slots[i].endless ? 0 : controlled_bit(i);
    }
    if (spinners != 0) {
        return choose_add(c, spinners, CODE_SPIN_OUT, codes, 0);
    }
    if (c->timed == 0) {
        controlled_stop(c, CONTROLLED_DEADLOCK);
    }
    codes[0] = (uint8_t)(CODE_TIMEOUT | choose_first_deadline(c));
    return 1;
}

// True if leaving the running fiber here is no preemption.
static bool choose_is_free(const controlled* c)
{
    return (c->ready & controlled_bit(c->running)) == 0 || c->slots[c->running].kind == PLACE_YIELD;
}

static uint32_t choose_earliest(const controlled* c)
{
    uint64_t first = UINT64_MAX;
    uint32_t found = 0;
    for (uint32_t left = c->timed; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        if (c->slots[i].deadline_ns < first) {
            first = c->slots[i].deadline_ns;
            found = 0;
        }
        found |= c->slots[i].deadline_ns == first ? controlled_bit(i) : 0;
    }
    return found;
}

static uint32_t choose_list(controlled* c, uint32_t preemptions_max, uint8_t* codes)
{
    const controlled_slot* me = &c->slots[c->running];
    uint32_t bit = controlled_bit(c->running), count = 0;
    bool is_free = choose_is_free(c);
    uint32_t able = choose_runnable(c);
    if (!is_free) {
        codes[count++] = (uint8_t)c->running;
    }
    if (is_free || c->preemptions < preemptions_max) {
        count = choose_add(c, able & ~bit, CODE_RUN, codes, count);
        if (c->spurious < c->desc.spurious_max) {
            count = choose_add(c, c->asleep, CODE_SPURIOUS, codes, count);
        }
        if (c->timeouts < c->desc.timeouts_max) {
            // If no fiber can run, time passes until the first deadline: the others are not due
            // yet.
            uint32_t timed = able != 0 ? c->timed : choose_earliest(c);
            count = choose_add(c, timed, CODE_TIMEOUT, codes, count);
        }
    }
    if (is_free && (able & bit) != 0) {
        codes[count++] = (uint8_t)c->running;
    }
    if (count == 0) {
        return choose_forced(c, codes);
    }
    if ((c->spinning & bit) != 0 && !me->endless && !c->desc.no_spin_out &&
        (me->behind & c->ready) == 0) {
        codes[count++] = (uint8_t)(CODE_SPIN_OUT | c->running);
    }
    return count;
}

// ---- depth first --------------------------------------------------------------------------------

static controlled_node* choose_node(controlled* c)
{
    if (c->depth == c->node_count) {
        if (c->node_count == c->node_room) {
            c->node_room = c->node_room == 0 ? 1024 : c->node_room * 2;
            c->nodes = realloc(c->nodes, c->node_room * sizeof *c->nodes);
            if (c->nodes == NULL) {
                abort();
            }
        }
        c->nodes[c->node_count++] = (controlled_node){0};
    }
    return &c->nodes[c->depth++];
}

static uint32_t choose_way(controlled* c, uint32_t count)
{
    if (count == 1) {
        return 0;
    }
    controlled_node* node = choose_node(c);
    if (node->count == 0) {
        node->count = (uint16_t)count;
    } else if (node->count != count) {
        snprintf(c->message, sizeof c->message,
                 "the program went another way under the same choices (%u instead of %u at choice "
                 "%u): it depends on more than the schedule",
                 count, node->count, c->depth);
        controlled_stop(c, CONTROLLED_DIVERGED);
    }
    return node->index;
}

// First the whole spin without choices, which shows its number of rounds; then again with choices
// in the last round, if the spin reads anything there before it stores or sleeps.
static uint32_t choose_out_node(controlled* c, controlled_slot* slot)
{
    slot->out_node = c->depth;
    controlled_node* node = choose_node(c);
    if (node->count == 0) {
        node->count = 1;
    }
    return node->index == 0 ? (uint32_t)OUT_NEVER : node->out_at;
}

void controlled_choose_learn(controlled* c, const controlled_slot* slot)
{
    if (slot->out_at != OUT_NEVER || !slot->out_loaded || c->replay != NULL) {
        return;
    }
    c->out_rounds = slot->out_spins;
    if (c->desc.strategy == CONTROLLED_DEPTH_FIRST) {
        c->nodes[slot->out_node].count = 2;
        c->nodes[slot->out_node].out_at = (uint16_t)slot->out_spins;
    }
}

static uint32_t choose_depth_first(controlled* c)
{
    uint8_t codes[CODES_MAX];
    if (c->preemptions >= c->desc.preemptions_max && !choose_is_free(c)) {
        return c->running;
    }
    uint32_t count = choose_list(c, c->desc.preemptions_max, codes);
    return codes[choose_way(c, count)];
}

// ---- random -------------------------------------------------------------------------------------

static uint32_t choose_coin(controlled* c, uint32_t sides)
{
    c->random ^= c->random << 13;
    c->random ^= c->random >> 7;
    c->random ^= c->random << 17;
    return (uint32_t)((c->random * 0x2545F4914F6CDD1Du >> 32) * sides >> 32);
}

static uint32_t choose_random(controlled* c)
{
    uint8_t codes[CODES_MAX];
    uint32_t count = choose_list(c, UINT32_MAX, codes);
    return count == 1 || choose_coin(c, 2) == 0 ? codes[0] : codes[choose_coin(c, count)];
}

// A priority given at a change point is below all others; later points go lower.
static void choose_lower(controlled* c)
{
    for (uint32_t i = 0; i < c->desc.change_points; i++) {
        if (c->change_at[i] == c->step_count) {
            c->priorities[c->running] = c->desc.change_points - i;
        }
    }
}

static uint32_t choose_by_priority(controlled* c)
{
    uint8_t codes[CODES_MAX];
    choose_lower(c);
    uint32_t count = choose_list(c, UINT32_MAX, codes), best = CONTROLLED_FIBERS_MAX, others = 0;
    for (uint32_t i = 0; i < count; i++) {
        if ((codes[i] & CODE_HOW) != CODE_RUN) {
            others++;
        } else if (best == CONTROLLED_FIBERS_MAX || c->priorities[codes[i]] > c->priorities[best]) {
            best = codes[i];
        }
    }
    if (others > 0 && (others == count || choose_coin(c, 4) == 0)) {
        // The sleepers have no fixed place in the list.
        uint32_t pick = choose_coin(c, others);
        for (uint32_t i = 0; i < count; i++) {
            if ((codes[i] & CODE_HOW) != CODE_RUN && pick-- == 0) {
                return codes[i];
            }
        }
    }
    return best;
}

// ---- one given schedule -------------------------------------------------------------------------

static bool choose_is_possible(const controlled* c, uint32_t code)
{
    uint32_t bit = controlled_bit(code & CODE_FIBER);
    switch (code & CODE_HOW) {
    case CODE_RUN:
        return (c->ready & bit) != 0;
    case CODE_SPIN_OUT:
        return (c->spinning & bit) != 0;
    case CODE_TIMEOUT:
        return (c->timed & bit) != 0;
    case CODE_SPURIOUS:
        return (c->asleep & bit) != 0;
    }
    return false;
}

_Noreturn static void choose_diverged(controlled* c)
{
    snprintf(c->message, sizeof c->message, "choice %u of those given does not fit the program",
             c->replay_at);
    controlled_stop(c, CONTROLLED_DIVERGED);
}

static uint32_t choose_replayed(controlled* c, uint32_t* out_at)
{
    if (c->replay_at == c->replay_count) {
        uint8_t codes[CODES_MAX];
        choose_list(c, 0, codes);
        return codes[0];
    }
    const controlled_step* step = &c->replay[c->replay_at++];
    if (!choose_is_possible(c, step->code)) {
        choose_diverged(c);
    }
    *out_at = step->out_at;
    return step->code;
}

// ---- applying a choice --------------------------------------------------------------------------

// A fiber that had to let others run first is free again when they ran.
static void choose_be_fair(controlled* c, uint32_t next)
{
    for (uint32_t left = c->yielders; left != 0; left &= left - 1) {
        controlled_slot* slot = &c->slots[__builtin_ctz(left)];
        slot->could_run &= c->ready;
        slot->ran |= controlled_bit(next);
    }
    for (uint32_t left = c->lagging; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        c->slots[i].behind &= ~controlled_bit(next);
        if (c->slots[i].behind == 0 || i == next) {
            c->slots[i].behind = 0;
            c->lagging &= ~controlled_bit(i);
        }
    }
}

static void choose_spin_out(controlled* c, controlled_slot* slot, uint32_t out_at)
{
    slot->out = true;
    slot->out_loaded = false;
    slot->out_spins = 0;
    slot->out_at = (uint16_t)out_at;
    if (c->replay == NULL && c->desc.strategy == CONTROLLED_DEPTH_FIRST) {
        slot->out_at = (uint16_t)choose_out_node(c, slot);
    } else if (c->replay == NULL) {
        slot->out_at = (uint16_t)(choose_coin(c, 2) == 0 ? (uint32_t)OUT_NEVER : c->out_rounds);
    }
}

static void choose_wake(controlled* c, controlled_slot* slot, uint32_t how)
{
    uint32_t bit = controlled_bit((uint32_t)(slot - c->slots));
    c->spurious += how == CODE_SPURIOUS;
    c->timeouts += how == CODE_TIMEOUT && c->ready != 0;
    if (how == CODE_TIMEOUT && slot->deadline_ns > c->now_ns) {
        c->now_ns = slot->deadline_ns;
    }
    c->asleep &= ~bit;
    c->timed &= ~bit;
}

uint32_t controlled_choose_next(controlled* c)
{
    uint32_t out_at = 0, code = c->replay != NULL ? choose_replayed(c, &out_at)
                                : c->desc.strategy == CONTROLLED_DEPTH_FIRST ? choose_depth_first(c)
                                : c->desc.strategy == CONTROLLED_RANDOM      ? choose_random(c)
                                                                        : choose_by_priority(c);
    uint32_t next = code & CODE_FIBER, how = code & CODE_HOW, bit = controlled_bit(next);
    controlled_slot* slot = &c->slots[next];
    c->preemptions += next != c->running && !choose_is_free(c);
    if (how == CODE_SPIN_OUT) {
        choose_spin_out(c, slot, out_at);
        c->spinning &= ~bit;
    } else if (how != CODE_RUN) {
        choose_wake(c, slot, how);
    } else if (slot->kind == ORR_SCHED_STORE) {
        c->ready |= c->spinning;
        c->spinning = 0;
    }
    c->ready |= bit;
    if ((c->yielders | c->lagging) != 0) {
        choose_be_fair(c, next);
    }
    controlled_note(c, code, slot->kind, slot->word, how == CODE_SPIN_OUT ? slot->out_at : 0);
    return next;
}

// Sleepers in the order in which they went to sleep: the first choice is that of a fair system.
static uint32_t choose_sleepers(const controlled* c, uint32_t sleepers, uint8_t* list)
{
    uint32_t count = 0;
    for (uint32_t left = sleepers; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left), at = count++;
        for (; at > 0 && c->slots[list[at - 1]].sleep_order > c->slots[i].sleep_order; at--) {
            list[at] = list[at - 1];
        }
        list[at] = (uint8_t)i;
    }
    return count;
}

uint32_t controlled_choose_woken(controlled* c, uint32_t sleepers)
{
    uint8_t list[CONTROLLED_FIBERS_MAX] = {0};
    uint32_t count = choose_sleepers(c, sleepers, list), woken = list[0];
    if (c->replay != NULL && c->replay_at < c->replay_count) {
        const controlled_step* step = &c->replay[c->replay_at++];
        woken = step->code & CODE_FIBER;
        if ((step->code & CODE_HOW) != CODE_WOKEN || (sleepers & controlled_bit(woken)) == 0) {
            choose_diverged(c);
        }
    } else if (c->replay == NULL) {
        woken = list[c->desc.strategy == CONTROLLED_DEPTH_FIRST ? choose_way(c, count)
                                                                : choose_coin(c, count)];
    }
    controlled_note(c, CODE_WOKEN | woken, PLACE_WOKEN, c->slots[woken].word, 0);
    return woken;
}

// ---- from one schedule to the next --------------------------------------------------------------

void controlled_choose_begin(controlled* c)
{
    c->depth = 0;
    c->replay_at = 0;
    if (c->replay != NULL || c->desc.strategy == CONTROLLED_DEPTH_FIRST) {
        return;
    }
    c->random = orr_random(c->desc.seed, c->schedule, 0, 0) | 1;
    for (uint32_t i = 0; i < CONTROLLED_FIBERS_MAX; i++) {
        c->priorities[i] = choose_coin(c, 1u << 30) + 64;
    }
    // The range of change points: the length of the last schedule and a little more. The longest
    // schedule would be a bad measure, since a single spin can be longer than all the rest.
    uint32_t reach = c->schedule == 0 ? 64 : c->step_count * 5 / 4 + 8;
    for (uint32_t i = 0; i < c->desc.change_points; i++) {
        c->change_at[i] = choose_coin(c, reach);
    }
}

static uint64_t choose_hash(const controlled* c)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (uint32_t i = 0; i < c->step_count; i++) {
        hash = (hash ^ c->steps[i].code) * 0x100000001B3u;
        hash ^= hash >> 29;
    }
    return hash | 1;
}

static void choose_seen_grow(controlled* c)
{
    uint64_t room = c->seen_room == 0 ? 1024 : c->seen_room * 2;
    uint64_t* seen = calloc(room, sizeof *seen);
    if (seen == NULL) {
        abort();
    }
    for (uint64_t i = 0; i < c->seen_room; i++) {
        if (c->seen[i] != 0) {
            uint64_t at = (c->seen[i] >> 8) & (room - 1);
            while (seen[at] != 0) {
                at = (at + 1) & (room - 1);
            }
            seen[at] = c->seen[i];
        }
    }
    free(c->seen);
    c->seen = seen;
    c->seen_room = room;
}

// True for a schedule that was not run before. Once the set is full, no schedule counts as new.
static bool choose_is_new(controlled* c)
{
    if (c->seen_count * 2 >= c->seen_room) {
        if (c->seen_room == SEEN_MAX) {
            return false;
        }
        choose_seen_grow(c);
    }
    uint64_t hash = choose_hash(c), at = (hash >> 8) & (c->seen_room - 1);
    for (; c->seen[at] != 0; at = (at + 1) & (c->seen_room - 1)) {
        if (c->seen[at] == hash) {
            return false;
        }
    }
    c->seen[at] = hash;
    c->seen_count++;
    return true;
}

bool controlled_choose_end(controlled* c)
{
    if (c->replay != NULL) {
        c->result.distinct = 1;
        return false;
    }
    if (c->desc.strategy != CONTROLLED_DEPTH_FIRST) {
        c->result.distinct += choose_is_new(c);
        return true;
    }
    c->result.distinct++;
    c->node_count = c->depth;
    while (c->node_count > 0 &&
           c->nodes[c->node_count - 1].index + 1 >= c->nodes[c->node_count - 1].count) {
        c->node_count--;
    }
    c->result.exhausted = c->node_count == 0;
    if (c->node_count > 0) {
        c->nodes[c->node_count - 1].index++;
    }
    return c->node_count > 0;
}

void controlled_choose_forget(controlled* c)
{
    free(c->nodes);
    free(c->seen);
    free(c->replay);
    c->nodes = NULL;
    c->seen = NULL;
    c->replay = NULL;
    c->node_count = c->node_room = c->replay_count = 0;
    c->seen_room = c->seen_count = 0;
    c->out_rounds = 0;
}
