// SPDX-License-Identifier: MIT
// Systems of the lock model that have names, and their schedule as text.
#ifndef ORR_LOCK_MESSAGE_KIT_H
#define ORR_LOCK_MESSAGE_KIT_H

#include "lock/lock_theory_kit.h"

// ---- the schedule as text -----------------------------------------------------------------------

static const char* const mode_names[] = {"", "read", "inclusive", "exclusive"};

static inline void print_set(orri_text* out, const char* const* names, uint32_t set)
{
    const char* between = "";
    for (uint32_t r = 0; r < RESOURCES; r++) {
        if (mode_of(set, r) != N) {
            orri_text_add(out, "%s%s %s", between, names[r], mode_names[mode_of(set, r)]);
            between = ", ";
        }
    }
}

// The resource that a system waits for, and its holder.
static inline void print_reason(const state* s, uint32_t system, const char* const* names,
                                orri_text* out)
{
    for (uint32_t r = 0; r < RESOURCES; r++) {
        for (uint32_t j = 0; j < m.count; j++) {
            uint32_t mode = mode_of(held_of(s, j), r);
            uint32_t mine = mode_of(wanted_of(s, system), r);
            if (j != system && conflict[mine][mode]) {
                orri_text_add(out, "waits for %s %s: %s has it %s", names[r], mode_names[mine],
                              m.names[j], mode_names[mode]);
                return;
            }
        }
    }
    orri_text_add(out, "waits for its turn");
}

static inline void print_step(uint32_t system, const state* before, const state* after,
                              const char* const* names, orri_text* out)
{
    uint32_t at = before->at[system];
    at = m.nodes[at].kind == OP_IDLE ? m.first[m.from[system]] : at;
    orri_text_add(out, "%s ", m.names[system]);
    if (waits(after, system)) {
        print_reason(after, system, names, out);
    } else if (m.nodes[at].kind == OP_TAKE) {
        orri_text_add(out, "takes ");
        print_set(out, names, m.nodes[at].wanted);
        for (uint32_t i = 0; i < after->waiting; i++) {
            if (conflict[m.nodes[at].wanted][wanted_of(after, after->queue[i])]) {
                orri_text_add(out, ", overtaking %s", m.names[after->queue[i]]);
            }
        }
    } else {
        static const char* const words[] = {[OP_READS_END] = "releases its reads",
                                            [OP_UPGRADE] = "upgrades",
                                            [OP_RELEASE] = "releases"};
        orri_text_add(out, "%s", words[m.nodes[at].kind]);
    }
    orri_text_add(out, "\n");
}

// The system whose step leads from one state to the other; a first node counts as idle.
static inline uint32_t step_between(const state* before, uint64_t after)
{
    for (uint32_t i = 0; i < m.count; i++) {
        state s = *before;
        if (kind_of(&s, i) == OP_IDLE) {
            s.at[i] = m.first[m.from[i]];
        }
        if (waits(&s, i) || kind_of(&s, i) == OP_END) {
            continue;
        }
        step(&s, i);
        for (uint32_t k = 0; k < m.out_count; k++) {
            if (state_pack(&m.out[k]) == after) {
                return i;
            }
        }
    }
    return UINT32_MAX;
}

static inline void print_from(uint64_t from, uint64_t to, const char* const* names, orri_text* out)
{
    state before = state_unpack(from), after = state_unpack(to);
    print_step(step_between(&before, to), &before, &after, names, out);
}

static inline void print_path(uint32_t at, const char* const* names, orri_text* out)
{
    if (m.parents[at] != UINT32_MAX) {
        print_path(m.parents[at], names, out);
        print_from(m.states[m.parents[at]], m.states[at], names, out);
    }
}

// ---- nodes of a system --------------------------------------------------------------------------

typedef enum rules {
    RULES_OURS,
    RULES_READS_KEPT,     // Reads are not released before an upgrade.
    RULES_STRUCTURE_KEPT, // The structural step keeps the system's locks.
} rules;

// The nodes of a system, or a group, and the structural step after it (0: none), run once. `plain`:
// bits of resources.
static inline void system_once(uint32_t system, const char* name, uint32_t set, uint32_t structure,
                               uint32_t plain, rules rule)
{
    uint32_t held = set;
    m.names[system] = name;
    m.starts[system] = node_add(OP_TAKE, 0, set);
    if (raised[set] != set) {
        if (without_reads(set, plain) != set && rule != RULES_READS_KEPT) {
            node_add(OP_READS_END, set, 0);
            held = without_reads(set, plain);
        }
        node_add(OP_UPGRADE, held, raised[held]);
        held = raised[held];
    }
    if (structure != 0) {
        if (rule != RULES_STRUCTURE_KEPT) {
            node_add(OP_RELEASE, held, 0);
            held = 0;
        }
        node_add(OP_TAKE, held, structure);
        held = joined(held, structure);
    }
    node_add(OP_RELEASE, held, 0);
    node_add(OP_END, 0, 0);
}

#endif
