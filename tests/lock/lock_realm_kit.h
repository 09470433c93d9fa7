// SPDX-License-Identifier: MIT
// All sets of systems in one model of the locks.
//
// Instead of one search per set of systems there is one search for all of them. A system that has
// released holds nothing, is not in the queue, and blocks no waiter: its state equals that of a
// system that has not begun. So a group of systems and the structural step after it are two walks,
// each from a take to its release, and a structural step walks like a direct system that writes the
// resources that the step takes. In a *realm* every system that holds nothing begins with any set
// of the realm. Every run of every combination of up to four systems, each with any structural step
// or none, is a run in the realm (and so is any longer run). A statement that holds in every state
// of the realm holds in every state of all of them.
#ifndef ORR_LOCK_REALM_KIT_H
#define ORR_LOCK_REALM_KIT_H

#include "lock/lock_theory_kit.h"

typedef enum realm_shape {
    REALM_ANY, // Any sets.
    // Resource 0 is structure: groups read it or hold it exclusively, structural steps hold it
    // exclusively and nothing else.
    REALM_LIBRARY,
    REALM_WITHIN, // Resource 0 is the registry (lock_theory_kit.h).
} realm_shape;

typedef struct realm {
    const char* name;
    uint32_t systems, resources;
    uint32_t plain; // Bits of resources that are never inclusive and whose reads are kept.
    realm_shape shape;
} realm;

static inline bool realm_has(const realm* of, uint32_t set)
{
    for (uint32_t r = 0; r < RESOURCES; r++) {
        uint32_t mode = mode_of(set, r);
        bool group = of->shape == REALM_WITHIN && r == 0;
        if ((r >= of->resources && mode != N) ||
            ((of->plain >> r & 1) != 0 && mode == I && !group)) {
            return false;
        }
    }
    if (of->shape == REALM_WITHIN && mode_of(set, 0) == X && set != MODES(X, X, X)) {
        return false;
    }
    return set != 0 && (of->shape != REALM_LIBRARY || mode_of(set, 0) != N);
}

// Nodes of sets: the set that is held, and the next operation. After its reads are released, or
// after its upgrade, a holder equals a holder that took its remaining set, and uses the nodes of
// that set.
static uint8_t realm_node[2][SETS]; // Taken; held.

static inline void realm_hold(uint32_t plain, uint32_t set)
{
    uint32_t less = without_reads(set, plain);
    if (set == 0 || realm_node[1][set] != 0) {
        return;
    }
    if (raised[set] == set) {
        realm_node[1][set] = node_add(OP_RELEASE, set, 0);
        m.nodes[realm_node[1][set]].next = 0;
        return;
    }
    uint32_t then = less != set ? less : raised[set];
    realm_hold(plain, then);
    realm_node[1][set] =
        node_add(less != set ? OP_READS_END : OP_UPGRADE, set, less != set ? 0 : raised[set]);
    m.nodes[realm_node[1][set]].next = realm_node[1][then];
}

static inline uint8_t set_permuted(uint32_t set, const uint8_t* order)
{
    uint32_t to = 0;
    for (uint32_t r = 0; r < RESOURCES; r++) {
        to |= mode_of(set, r) << (2 * order[r]);
    }
    return (uint8_t)to;
}

// Orders of resources that keep the kind of each.
static inline void realm_twins(const realm* of)
{
    static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    m.twin_count = 0;
    for (uint32_t o = 0; o < 6; o++) {
        bool same = true;
        for (uint32_t r = 0; r < RESOURCES; r++) {
            uint32_t to = orders[o][r];
            same &= (of->plain >> r & 1) == (of->plain >> to & 1) &&
                    (r < of->resources) == (to < of->resources) &&
                    (of->shape == REALM_ANY || (r == 0) == (to == 0));
        }
        for (uint32_t set = 1; same && set < SETS; set++) {
            for (uint32_t k = 0; k < 2; k++) {
                m.twins[m.twin_count][realm_node[k][set]] =
                    realm_node[k][set_permuted(set, orders[o])];
            }
        }
        m.twins[m.twin_count][0] = 0;
        m.twin_count += same;
    }
}

// Returns the number of sets to begin with.
static inline uint32_t realm_make(const realm* of, overtaking passes)
{
    uint32_t count = 0;
    within = of->shape == REALM_WITHIN;
    model_begin(of->systems, passes);
    memset(realm_node, 0, sizeof realm_node);
    node_add(OP_IDLE, 0, 0);
    for (uint32_t set = 1; set < SETS; set++) {
        if (realm_has(of, set)) {
            realm_hold(of->plain, set);
            realm_node[0][set] = m.first[count++] = node_add(OP_TAKE, 0, set);
            m.nodes[realm_node[0][set]].next = realm_node[1][set];
        }
    }
    for (uint32_t i = 0; i < SYSTEMS; i++) {
        m.starts[i] = 0;
        m.from[i] = 0;
        m.to[i] = count;
        m.names[i] = "system";
    }
    realm_twins(of);
    return count;
}

#endif
