// SPDX-License-Identifier: MIT
// Registered functions: found by name and by function as a search through all of them finds them.
#include "schedule/record/recording.h"
#include "schedule/schedule_kit.h"

enum {
    THINGS = 60 // Names, calls and transactions to choose from.
};

// Functions that are never called: only their addresses matter.
static orr_call call_number(uint32_t number)
{
    return (orr_call)(uintptr_t)(number * 16 + 16);
}

static orr_transaction transaction_number(uint32_t number)
{
    return (orr_transaction)(uintptr_t)(number * 16 + 16);
}

typedef struct entry {
    char name[16];
    orr_call call;
    orr_transaction transaction;
    size_t size;
} entry;

static const entry* entry_named(const entry* all, uint32_t count, const char* name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return &all[i];
        }
    }
    return NULL;
}

static const entry* entry_of(const entry* all, uint32_t count, orr_call call,
                             orr_transaction transaction)
{
    for (uint32_t i = 0; i < count; i++) {
        if (all[i].call == call && all[i].transaction == transaction) {
            return &all[i];
        }
    }
    return NULL;
}

static void check_found(const orr_world* world, const entry* all, uint32_t count)
{
    for (uint32_t i = 0; i < THINGS; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", i);
        const entry* named = entry_named(all, count, name);
        const orri_named* found = orri_call_named(world, name);
        CHECK_EQ(found != NULL, named != NULL && named->call != NULL);
        CHECK(found == NULL || (found->call == named->call && found->size == named->size));
        CHECK(orri_transaction_named(world, name) == (named != NULL ? named->transaction : NULL));
        const entry* call = entry_of(all, count, call_number(i), NULL);
        found = orri_call_registered(world, call_number(i));
        CHECK_EQ(found != NULL, call != NULL);
        CHECK(found == NULL || strcmp(found->name, call->name) == 0);
        const entry* transaction = entry_of(all, count, NULL, transaction_number(i));
        const char* text = orri_transaction_name(world, transaction_number(i));
        CHECK_EQ(text != NULL, transaction != NULL);
        CHECK(text == NULL || strcmp(text, transaction->name) == 0);
    }
    CHECK(orri_call_registered(world, NULL) == NULL);
    CHECK(orri_transaction_name(world, NULL) == NULL);
}

ORR_TEST(registered_functions_are_found_as_by_a_search_through_all)
{
    for (uint32_t round = 0; round < test_rounds(40, 8, 400); round++) {
        kit k;
        orr_world* world = kit_begin(&k, NULL);
        check_found(world, NULL, 0);
        entry all[THINGS * 2];
        uint32_t count = 0;
        for (uint32_t i = 0; i < 2 * THINGS; i++) {
            entry one = {.size = test_random() % 8 == 0 ? 8 : ORR_SIZE_ANY};
            uint32_t function = (uint32_t)test_random() % THINGS;
            // Often the name of the function's number, so that some are registered again.
            snprintf(one.name, sizeof one.name, "n%u",
                     test_random() % 2 == 0 ? function : (uint32_t)test_random() % THINGS);
            if (function % 2 == 0) {
                one.call = call_number(function);
            } else {
                one.transaction = transaction_number(function);
            }
            const entry* there = entry_named(all, count, one.name);
            const entry* has = entry_of(all, count, one.call, one.transaction);
            bool again = there != NULL && there == has && there->size == one.size;
            bool fresh = there == NULL && has == NULL;
            // A refused allocation has no effect.
            failing_alloc_arm(&k.memory, fresh ? 1 + test_random() % 5 : 0, false);
            orr_result result =
                one.call != NULL
                    ? orr_call_register(world, one.name, one.call, one.size)
                    : orr_transaction_register(world, one.name, one.transaction, one.size);
            failing_alloc_arm(&k.memory, 0, false);
            if (result != ORR_ERR_MEMORY) {
                CHECK_EQ(result, again || fresh ? ORR_OK : ORR_ERR_CONFLICT);
            }
            if (result == ORR_OK && fresh) {
                all[count++] = one;
            }
        }
        check_found(world, all, count);
        kit_end(&k);
    }
}
