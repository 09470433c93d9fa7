// SPDX-License-Identifier: MIT
// The scene of the tests of access checks: bob, an entity with everything; systems of all flavours
// that may or may not access bob; and the expected error for each violation.
#ifndef TEST_AUDIT_KIT_H
#define TEST_AUDIT_KIT_H

#include "schedule/schedule_kit.h"
#include "support/pinned_kit.h"

ORR_STRUCT_EX(Cargo, (.multiplicity = ORR_MULTIPLE), (int32_t, weight, (.preset = "2")))
ORR_STRUCT(Follow,
           (orr_entity, whom, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_CLEAR)))
ORR_STRUCT(Unseen, (int32_t, value)) // Not registered.
ORR_STRUCT(Hit, (orr_entity, who), (int32_t, damage))
ORR_STRUCT(Wind, (float, x, (.preset = "2")))
ORR_STRUCT(Count, (int32_t, value, (.preset = "7")))

// ---- the scene ----------------------------------------------------------------------------------

// Flavours of the system that violates its declaration.
typedef enum flavour {
    NO_MATCH = 1, // Direct, with a type that bob lacks.
    READER = 2,   // Declared all types of bob to read.
    WRITER = 4,   // Declared all types of bob to write.
    ONCE = 8,     // Direct, called once, with a type in .by_id.
    INDIRECT = 16,
    ALL_FLAVOURS = 31,
    NOT_READERS = NO_MATCH | ONCE | INDIRECT,
    NOT_WRITERS = NOT_READERS | READER,
} flavour;

#define BOBS_TYPES  "Position, Health, Cargo, Body, Follow, orr_name, orr_tags, orr_enabled"
#define BOBS_WRITES "write Position, write Health, write Cargo, write Body, Follow"

typedef struct scene {
    kit k;
    orr_world* world;
    orr_entity bob, eve, single;
    orr_type position, health, cargo, body, follow, velocity, tiny, hit;
    orr_component_id crate;
    orr_cluster cluster, other; // The cluster of bob, and an empty one.
    orr_query *reading, *writing, *leaving_out, *tagged, *nothing;
    orr_bundle bundle;
    orr_address address;
    void (*violation)(orr_run* run);
} scene;

ORR_MAYBE_UNUSED static scene s;

ORR_MAYBE_UNUSED static void call_violation(orr_run* run)
{
    if (s.violation != NULL) {
        s.violation(run);
    }
}

ORR_MAYBE_UNUSED static void make_bob(orr_world* world)
{
    s.bob = orr_create_named(world, "bob");
    CHECK_OK(orr_set(world, s.bob, Position, {1, 2, 3}));
    CHECK_OK(orr_set(world, s.bob, Health, {50, 1}));
    s.crate = orr_add_instance(world, s.bob, Cargo, {4});
    CHECK(orr_add_instance(world, s.bob, Cargo, {5}) != 0);
    CHECK_OK(orr_set(world, s.bob, Body, {.mass = 3}));
    CHECK_OK(orr_set(world, s.bob, Follow, {s.eve}));
    CHECK_OK(orr_tag_add(world, s.bob, 5));
}

ORR_MAYBE_UNUSED static void make_queries(orr_world* world)
{
    s.reading = orr_query_text(world, "Position");
    s.writing = orr_query_text(world, "write Position");
    s.leaving_out = orr_query_text(world, "Velocity, !Position");
    s.tagged = orr_query_text(world, "Velocity, !#5");
    s.nothing = orr_query_text(world, "");
}

ORR_MAYBE_UNUSED static orr_world* begin(void)
{
    memset(&s, 0, sizeof s);
    orr_world* world = s.world = kit_begin(&s.k, NULL);
    ORR_REGISTER(world, Position, Velocity, Health, Cargo, Body, Follow, Tiny, Frozen, Hit);
    s.eve = orr_create_named(world, "eve");
    CHECK_OK(orr_set(world, s.eve, Velocity, {1, 1}));
    make_bob(world);
    s.single = orr_world_entity(world);
    CHECK_OK(orr_set(world, s.single, Health, {9, 9}));
    s.position = KIT_TYPE(world, Position);
    s.health = KIT_TYPE(world, Health);
    s.cargo = KIT_TYPE(world, Cargo);
    s.body = KIT_TYPE(world, Body);
    s.follow = KIT_TYPE(world, Follow);
    s.velocity = KIT_TYPE(world, Velocity);
    s.tiny = KIT_TYPE(world, Tiny);
    s.hit = KIT_TYPE(world, Hit);
    s.cluster = orr_entity_cluster(world, s.bob);
    s.other = KIT_CLUSTER(world, Tiny);
    CHECK_OK(orr_bundle_register(world, "small", "Tiny", &s.bundle));
    CHECK_OK(orr_address_get(world, s.bob, &s.address));
    make_queries(world);
    CHECK_EQ(s.k.errors.count, 0);
    return world;
}

ORR_MAYBE_UNUSED static orr_system add_culprit(orr_world* world, flavour flavour_bit)
{
    orr_system_desc desc = {.name = "culprit", .query = "Velocity", .run = call_violation};
    switch (flavour_bit) {
    case READER:
        desc.query = "Velocity, ?Position, ?Health, ?Cargo, ?Body, ?Follow";
        desc.by_id = BOBS_TYPES;
        break;
    case WRITER:
        desc.query = "Velocity, ?write Position, ?write Health, ?write Cargo, ?write Body, ?Follow";
        desc.by_id = BOBS_WRITES ", orr_name, orr_tags, orr_enabled";
        desc.changes = "Position, Health";
        break;
    case ONCE:
        desc.once = true;
        desc.by_id = "Velocity";
        break;
    case INDIRECT:
        desc.kind = ORR_INDIRECT;
        break;
    default:
        break;
    }
    KIT_SYSTEM(world, .name = "weather", .query = "Velocity", .once = true, .run = kit_run_nothing,
               .exports = ORR_TYPE(Wind), .state = ORR_TYPE(Count), .receives = "Hit");
    return kit_taken(world, orr_system_add(world, &desc), __FILE__, __LINE__);
}

// ---- violations ---------------------------------------------------------------------------------

typedef struct violation {
    const char* call; // In the error.
    void (*function)(orr_run* run);
    const char* type;   // In the error; NULL: the error names no type.
    const char* entity; // Likewise.
    uint32_t flavours;  // The flavours for which it is a violation.
} violation;

ORR_MAYBE_UNUSED static uint64_t hash_without_violation(flavour flavour_bit)
{
    orr_world* world = begin();
    add_culprit(world, flavour_bit);
    KIT_STEP(world, 1);
    CHECK_STR(s.k.errors.text, "");
    uint64_t hash = orr_world_hash(world);
    kit_end(&s.k);
    return hash;
}

// Describes what is wrong with the handling of a violation; NULL: nothing.
ORR_MAYBE_UNUSED static const char* verdict(const violation* b, orr_system culprit, uint64_t hash)
{
    orr_world* world = s.world;
    const char* text = s.k.errors.text;
    const char* wrong = s.k.errors.count == 0                              ? "not noticed"
                        : s.k.errors.count > 1                             ? "said more than once"
                        : kit_stats(world, culprit).violations != 1        ? "not counted once"
                        : strstr(text, "'culprit'") == NULL                ? "without the system"
                        : strstr(text, b->call) == NULL                    ? "without the call"
                        : b->type != NULL && strstr(text, b->type) == NULL ? "without the type"
                        : b->entity != NULL && strstr(text, b->entity) == NULL
                            ? "without the entity"
                        : orr_world_hash(world) != hash ? "not without effect"
                                                        : NULL;
    return wrong;
}

// Runs all violations of a table for all flavours: each is named, counted once and without effect.
// @return how many there were.
ORR_MAYBE_UNUSED static uint32_t check_violations(const violation* violations, size_t count)
{
    uint32_t planted = 0, missed = 0;
    for (uint32_t flavour_bit = NO_MATCH; flavour_bit < ALL_FLAVOURS; flavour_bit *= 2) {
        uint64_t hash = hash_without_violation((flavour)flavour_bit);
        for (size_t i = 0; i < count; i++) {
            const violation* b = &violations[i];
            if ((b->flavours & flavour_bit) == 0) {
                continue;
            }
            orr_world* world = begin();
            orr_system culprit = add_culprit(world, (flavour)flavour_bit);
            s.violation = b->function;
            KIT_STEP_REFUSED(world, 1);
            const char* wrong = verdict(b, culprit, hash);
            planted++;
            if (wrong != NULL) {
                missed++;
                printf("  violation %zu (%s, %s%s%s) of a system of flavour %u: %s: \"%s\"\n", i,
                       b->call, b->type != NULL ? b->type : "", b->entity != NULL ? " of " : "",
                       b->entity != NULL ? b->entity : "", flavour_bit, wrong, s.k.errors.text);
            }
            kit_end(&s.k);
        }
    }
    printf("  %u violations planted\n", planted);
    CHECK_EQ(missed, 0);
    return planted;
}

#endif
