// SPDX-License-Identifier: MIT
// The protocol of the locks, not their code (lock_theory_kit.h): every state that up to four
// systems on three resources can reach. In no state are conflicting locks held or all systems
// stuck, no system is overtaken against the rules, and no system waits for ever.
//
// States that differ only in the names of systems, or of resources of one kind, behave alike except
// for the names; so only one of them is searched (state_canonical). Starvation is searched with
// names kept, because in a cycle of states without names a different system could wait each time.
#include "lock/lock_realm_kit.h"

// The number of combinations of up to `systems` systems, each with a group's set and a structural
// step (any resources, or none).
static double realm_sets(const realm* of, uint32_t sets)
{
    double shapes = sets, all = 0, ways = 1;
    if (of->shape != REALM_LIBRARY) {
        shapes *= 1u << of->resources;
    } else {
        shapes *= 2;
    }
    for (uint32_t k = 1; k <= of->systems; k++) {
        ways = ways * (shapes + k - 1) / k;
        all += ways;
    }
    return all;
}

static void realm_never_deadlocks(realm of)
{
    uint32_t sets = realm_make(&of, OVERTAKE_BOUNDED);
    m.anonymous = true;
    uint64_t steps = m.steps;
    uint32_t deadlock = search_all(NULL);
    printf("  %u systems, %-36s %2u locksets, %12.0f sets of systems, %9u states, %10" PRIu64
           " steps\n",
           (unsigned)of.systems, of.name, (unsigned)sets, realm_sets(&of, sets),
           (unsigned)m.reached, m.steps - steps);
    CHECK_EQ(deadlock, UINT32_MAX);
}

/* N0-57 */
ORR_TEST(three_systems_on_three_resources_never_deadlock)
{
    realm_never_deadlocks((realm){"three live resources", 3, 3, 0, REALM_ANY});
    realm_never_deadlocks((realm){"two live, one plain", 3, 3, 1, REALM_ANY});
    realm_never_deadlocks((realm){"one live, two plain", 3, 3, 3, REALM_ANY});
    realm_never_deadlocks((realm){"three plain", 3, 3, 7, REALM_ANY});
}

ORR_TEST(four_systems_on_two_resources_never_deadlock)
{
    realm_never_deadlocks((realm){"two live resources", 4, 2, 0, REALM_ANY});
    realm_never_deadlocks((realm){"one live, one plain", 4, 2, 1, REALM_ANY});
    realm_never_deadlocks((realm){"two plain", 4, 2, 3, REALM_ANY});
}

ORR_TEST(four_systems_on_structure_and_two_types_never_deadlock)
{
    realm_never_deadlocks((realm){"as in the library", test_slow() ? 3 : 4, 3, 1, REALM_LIBRARY});
}

// Registry, index, rows of a cluster: any sets of these, among them those that the library takes
// (lock_sets.c). Then with values of a type instead of the index.
ORR_TEST(four_systems_on_registry_and_rows_never_deadlock)
{
    uint32_t systems = test_slow() ? 3 : 4;
    realm_never_deadlocks((realm){"registry, index, rows", systems, 3, 7, REALM_WITHIN});
    realm_never_deadlocks((realm){"registry, rows, a live type", systems, 3, 3, REALM_WITHIN});
}

/* N0-57 */
ORR_TEST(four_systems_on_three_resources_never_deadlock)
{
    if (!test_long() || test_slow()) {
        realm_never_deadlocks((realm){"three plain", test_slow() ? 3 : 4, 3, 7, REALM_ANY});
        return;
    }
    realm_never_deadlocks((realm){"three plain", 4, 3, 7, REALM_ANY});
    realm_never_deadlocks((realm){"one live, two plain", 4, 3, 3, REALM_ANY});
    realm_never_deadlocks((realm){"two live, one plain", 4, 3, 1, REALM_ANY});
    realm_never_deadlocks((realm){"three live resources", 4, 3, 0, REALM_ANY});
}
