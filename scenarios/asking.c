// SPDX-License-Identifier: MIT
// A fleet that is queried all the time: queries of every kind, ships with several pieces of cargo,
// pinned hulls, names, escorts that are destroyed with their leader, and bulk changes of all
// matching entities. The results of the queries, and their order, are written into the world, so a
// different result changes the world's hash.
#include "scenario.h"

#include <stdlib.h>
#include <string.h>

ORR_STRUCT_EX(Cargo, (.multiplicity = ORR_MULTIPLE), (int32_t, weight, (.preset = "2")),
              (uint8_t, kind))
ORR_STRUCT_EX(Hull, (.storage = ORR_PINNED), (int32_t, strength, (.preset = "40")),
              (uint32_t, waves))
ORR_STRUCT(Escort,
           (orr_entity, leader, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_DESTROY)),
           (orr_entity, rival, (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_CLEAR)))
ORR_STRUCT_EX(Sail, (.needs = "Motion"), (int32_t, area, (.preset = "5")))
ORR_STRUCT(Logbook, (uint64_t, digest), (uint64_t, entries))

#define FLEETS 4

enum {
    ASK_MOVING,  // Moves enabled entities.
    ASK_SORTED,  // Ordered by position; determines the order of waves.
    ASK_HULLS,   // Entities with a pinned type.
    ASK_LADEN,   // A multiple type.
    ASK_CHANGED, // Entities written since the last tick.
    ASK_GROUPED,
    ASK_LIGHT,  // A set of two other queries.
    ASK_ESCORT, // Pairs.
    ASK_SLEEPERS,
    ASK_OFF,
    ASK_COUNT
};

_Static_assert(ASK_COUNT <= SCENARIO_QUERIES_MAX, "raise SCENARIO_QUERIES_MAX");

// ---- small helpers ------------------------------------------------------------------------------

static uint64_t asking_random(const scenario_run* run, uint64_t purpose, uint64_t number)
{
    return orr_random(0xA5C, run->tick, purpose, number);
}

// Records a query result in the logbook.
static void asking_note(scenario_run* run, uint64_t found)
{
    run->digest = orr_hash(&found, sizeof found, run->digest);
    run->noted++;
}

static uint64_t asking_group(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)user;
    orr_cluster_info info;
    return orr_cluster_info_get(world, cluster, &info) == ORR_OK && info.tag_count > 0
               ? FLEETS - info.tags[0]
               : 99;
}

static bool asking_make(scenario_run* run, uint32_t place, const orr_query_desc* desc)
{
    run->queries[place] = orr_query_create(run->target.world, desc);
    return run->queries[place] != NULL;
}

static bool asking_queries(scenario_run* run)
{
    bool made =
        asking_make(run, ASK_MOVING, &(orr_query_desc){.text = "write Place, Motion, !Asleep"}) &&
        asking_make(
            run, ASK_SORTED,
            &(orr_query_desc){.text = "Place, write Hull, either Motion", .order_by = "Place.x"}) &&
        asking_make(run, ASK_HULLS, &(orr_query_desc){.text = "write Hull, ?Escort, either *"}) &&
        asking_make(run, ASK_LADEN, &(orr_query_desc){.text = "write Cargo, Place"}) &&
        asking_make(run, ASK_CHANGED, &(orr_query_desc){.text = "changed Motion, Sail|Cargo"}) &&
        asking_make(run, ASK_GROUPED,
                    &(orr_query_desc){.text = "Place, ?Cargo", .group_by = asking_group}) &&
        asking_make(run, ASK_ESCORT, &(orr_query_desc){.text = "Place, Escort"}) &&
        asking_make(run, ASK_SLEEPERS, &(orr_query_desc){.text = "Motion, #fleet1, !Asleep"}) &&
        asking_make(run, ASK_OFF, &(orr_query_desc){.text = "disabled *, Cargo"});
    return made && asking_make(run, ASK_LIGHT,
                               &(orr_query_desc){.set = ORR_DIFFERENCE,
                                                 .left = run->queries[ASK_MOVING],
                                                 .right = run->queries[ASK_LADEN]});
}

// ---- building -----------------------------------------------------------------------------------

static bool asking_bundles(scenario_run* run)
{
    orr_world* world = run->target.world;
    orr_bundle bundle;
    bool named = true;
    for (orr_tag fleet = 0; fleet < FLEETS; fleet++) {
        char name[16] = "fleet0";
        name[5] = (char)('0' + fleet);
        named = named && orr_tag_register(world, fleet + 1, name) == ORR_OK;
    }
    return named &&
           orr_bundle_register(world, "boat", "Place, Motion {x: 1, y: -1}, Hull", &bundle) ==
               ORR_OK &&
           orr_bundle_register(world, "trader", "boat, Cargo {weight: 7}, Cargo, #fleet1",
                               &bundle) == ORR_OK &&
           orr_bundle_register(world, "clipper", "boat, Sail {area: 9}, Hull {strength: 25}",
                               &bundle) == ORR_OK;
}

static bool asking_spawn(scenario_run* run, const char* bundle, uint32_t count)
{
    orr_world* world = run->target.world;
    orr_entity* made = malloc(sizeof *made * (count + 1));
    bool done = made != NULL &&
                orr_bundle_create(world, orr_bundle_find(world, bundle), count, made) == ORR_OK;
    for (uint32_t i = 0; done && i < count; i++) {
        uint64_t random = asking_random(run, 1, made[i].id);
        Place place = {(float)(random & 1023) * 0.25f, (float)(random >> 10 & 1023) * 0.25f, 0};
        done = orr_component_set(world, made[i], run->types[0], &place) == ORR_OK;
    }
    free(made);
    run->changes += count;
    return done;
}

static bool asking_build(scenario_run* run)
{
    orr_world* world = run->target.world;
    const orr_type_desc* descs[] = {ORR_TYPE(Cargo), ORR_TYPE(Hull), ORR_TYPE(Escort),
                                    ORR_TYPE(Sail), ORR_TYPE(Logbook)};
    for (uint32_t i = 0; i < sizeof descs / sizeof descs[0]; i++) {
        if (orr_type_of(world, descs[i]).id == 0) {
            return false;
        }
    }
    return asking_bundles(run) && asking_spawn(run, "boat", 20 * run->scale) &&
           asking_spawn(run, "trader", 30 * run->scale) &&
           asking_spawn(run, "clipper", 20 * run->scale) && asking_queries(run);
}

// ---- a tick: reading and writing values ---------------------------------------------------------

static void asking_move(scenario_run* run)
{
    ORR_EACH (it, run->queries[ASK_MOVING]) {
        Place* place = orr_write(&it, Place);
        const Motion* motion = orr_read(&it, Motion);
        for (uint32_t i = 0; i < it.count; i++) {
            place[i].x += motion[i].x * 0.015625f;
            place[i].y += motion[i].y * 0.015625f;
        }
        asking_note(run, it.count);
    }
}

// The later in the order, the higher the wave: the state shows the order.
static void asking_waves(scenario_run* run)
{
    uint32_t rank = 0;
    ORR_EACH (it, run->queries[ASK_SORTED]) {
        for (uint32_t i = 0; i < it.count; i++, rank++) {
            Hull* hull = orr_write_pinned(&it, Hull, i);
            hull->waves = hull->waves * 3 + rank;
        }
    }
    asking_note(run, rank);
}

static void asking_load(scenario_run* run)
{
    ORR_EACH (it, run->queries[ASK_LADEN]) {
        Cargo* cargo = orr_write(&it, Cargo);
        orr_instances n = orr_instances_of(&it, Cargo);
        for (uint32_t i = 0; i < it.count; i++) {
            for (uint32_t k = 0; k < n.counts[i]; k++) {
                cargo[i * n.capacity + k].weight += orr_iter_instance_on(&it, &n, i, k) ? 1 : -1;
                cargo[i * n.capacity + k].kind = (uint8_t)k;
            }
        }
        asking_note(run, n.capacity);
    }
}

static void asking_look(scenario_run* run)
{
    ORR_EACH_OF (it, run->queries[ASK_CHANGED], .since = run->mark) {
        asking_note(run, orr_iter_entity(&it, it.count - 1).id);
    }
    run->mark = orr_change_mark(run->target.world);
    ORR_EACH (it, run->queries[ASK_GROUPED]) {
        asking_note(run, orr_iter_group(&it) * 1000 + (orr_read(&it, Cargo) != NULL));
    }
    uint64_t pairs = 0;
    ORR_CROSS (pair, run->queries[ASK_ESCORT], run->queries[ASK_ESCORT], ORR_PAIRS_ONCE) {
        const Place* a = orr_read(&pair.left, Place);
        const Place* b = orr_read(&pair.right, Place);
        for (uint32_t i = 0; i < pair.left.count; i++) {
            for (uint32_t k = orr_cross_from(&pair, i); k < pair.right.count; k++) {
                pairs += a[i].x - b[k].x < 8 && b[k].x - a[i].x < 8;
            }
        }
    }
    asking_note(run, pairs);
    asking_note(run, orr_query_count(run->queries[ASK_LIGHT]));
    asking_note(run, orr_query_at(run->queries[ASK_LIGHT], run->tick % 32).id);
}

// ---- a tick: structure --------------------------------------------------------------------------

// Some entities of a query, to be changed one by one.
static uint32_t asking_some(scenario_run* run, uint32_t query, orr_entity* out, uint32_t count)
{
    uint64_t all = orr_query_count(run->queries[query]);
    uint64_t first = all > 0 ? asking_random(run, 2, query) % all : 0;
    return (uint32_t)orr_query_entities(run->queries[query], first, out, count);
}

static bool asking_sink(scenario_run* run)
{
    orr_entity gone[512];
    uint32_t count = 0;
    ORR_EACH (it, run->queries[ASK_HULLS]) {
        for (uint32_t i = 0; i < it.count; i++) {
            Hull* hull = orr_write_pinned(&it, Hull, i);
            hull->strength -= orr_read(&it, Escort) != NULL ? 2 : 1;
            if (hull->strength <= 0 && count < 512) {
                gone[count++] = orr_iter_entity(&it, i);
            }
        }
    }
    run->changes += count;
    asking_note(run, count);
    // Together with their escorts.
    return orr_destroy_many(run->target.world, gone, count) == ORR_OK;
}

static bool asking_stow(scenario_run* run)
{
    orr_world* world = run->target.world;
    orr_type cargo = orr_type_of(world, ORR_TYPE(Cargo));
    orr_entity ships[16];
    uint32_t count = asking_some(run, ASK_LADEN, ships, 16);
    bool done = true;
    for (uint32_t i = 0; i < count && done; i++) {
        const orr_component_id* ids;
        uint32_t pieces = orr_instances_get(world, ships[i], cargo, NULL, &ids);
        orr_component_id id = ids[asking_random(run, 3, i) % pieces];
        switch (asking_random(run, 4, i) % 4) {
        case 0:
            done = orr_instance_remove(world, ships[i], cargo, id) == ORR_OK;
            break;
        case 1:
            done = orr_instance_enable(world, ships[i], cargo, id, i % 2) == ORR_OK;
            break;
        default:
            done = orr_instance_add(world, ships[i], cargo, &(Cargo){(int32_t)i, 1}) != 0;
            break;
        }
    }
    run->changes += count;
    return done;
}

static bool asking_name(scenario_run* run)
{
    orr_world* world = run->target.world;
    orr_entity ships[4];
    uint32_t count = asking_some(run, ASK_MOVING, ships, 4);
    char name[8] = "ship0";
    name[4] = (char)('0' + run->tick % 8);
    orr_entity holder = orr_find(world, (orr_entity){0}, name);
    asking_note(run, holder.id);
    bool done = holder.id == 0 || orr_name_set(world, holder, (orr_entity){0}, NULL) == ORR_OK;
    if (count > 1 && done) {
        char path[32];
        done = orr_name_set(world, ships[0], (orr_entity){0}, name) == ORR_OK &&
               (orr_find(world, ships[0], "tender").id != 0 ||
                orr_name_set(world, ships[1], ships[0], "tender") == ORR_OK);
        asking_note(run, orr_path_print(world, ships[1], path, sizeof path));
    }
    return done;
}

static bool asking_escort(scenario_run* run)
{
    orr_world* world = run->target.world;
    orr_type escort = orr_type_of(world, ORR_TYPE(Escort));
    orr_entity ships[8];
    uint32_t count = asking_some(run, ASK_SORTED, ships, 8);
    bool done = true;
    for (uint32_t i = 1; i < count && done; i++) {
        done = orr_component_set(world, ships[i], escort,
                                 &(Escort){i % 2 ? ships[0] : (orr_entity){0}, ships[i - 1]}) ==
               ORR_OK;
    }
    asking_note(run, count > 0 ? orr_referrers_get(world, ships[0], escort, "leader", NULL, 0) : 0);
    return done && (count == 0 || run->tick % 3 != 0 || orr_copy(world, ships[count - 1]).id != 0);
}

static bool asking_all(scenario_run* run)
{
    orr_world* world = run->target.world;
    orr_type asleep = orr_type_of(world, ORR_TYPE(Asleep)),
             sail = orr_type_of(world, ORR_TYPE(Sail));
    orr_entity ships[6];
    uint32_t count = asking_some(run, ASK_LADEN, ships, 6);
    bool done = true;
    for (uint32_t i = 0; i < count && done; i++) {
        done = orr_entity_enable(world, ships[i], i % 3 != 0) == ORR_OK;
    }
    switch (run->tick % 6) {
    case 1:
        return done && orr_query_add(run->queries[ASK_SLEEPERS], asleep, NULL) == ORR_OK;
    case 3:
        return done && orr_query_remove(run->queries[ASK_GROUPED], asleep) == ORR_OK;
    case 4:
        return done && orr_query_add(run->queries[ASK_LADEN], sail, &(Sail){11}) == ORR_OK;
    case 5:
        return done && orr_query_destroy_entities(run->queries[ASK_OFF]) == ORR_OK;
    default:
        return done;
    }
}

static bool asking_log(scenario_run* run)
{
    orr_world* world = run->target.world;
    orr_entity self = orr_world_entity(world);
    Logbook book = {run->digest, run->noted};
    return self.id != 0 &&
           orr_component_set(world, self, orr_type_of(world, ORR_TYPE(Logbook)), &book) == ORR_OK;
}

static bool asking_step(scenario_run* run)
{
    asking_move(run);
    asking_waves(run);
    asking_load(run);
    asking_look(run);
    return asking_sink(run) && asking_stow(run) && asking_name(run) && asking_escort(run) &&
           asking_all(run) && asking_spawn(run, run->tick % 2 ? "trader" : "clipper", run->scale) &&
           asking_log(run);
}

const scenario scenario_asking = {"asking",
                                  "queries of every kind, whose answers are written into the world",
                                  asking_build, asking_step, .direct = true};
