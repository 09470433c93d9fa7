// SPDX-License-Identifier: MIT
// A colony run by systems only: direct systems by rows and once per tick, indirect systems with
// state, events and exports. They create, destroy, add, remove, tag, enable, disable and name,
// receive messages about all of it, and keep the messages in their states, so a different message
// changes the world's hash.
#include "scenario.h"

#include <stdio.h>

ORR_STRUCT(Nest, (int32_t, eggs), (uint32_t, laid))
ORR_STRUCT_EX(Wound, (.multiplicity = ORR_MULTIPLE), (int32_t, depth, (.preset = "1")))
ORR_STRUCT_EX(Den, (.storage = ORR_PINNED), (uint32_t, visits), (int32_t, warmth, (.preset = "20")))
ORR_MARKER(Sick)
ORR_STRUCT(Born, (orr_entity, who), (uint32_t, number))
ORR_STRUCT(Died, (orr_entity, who), (int32_t, age))
ORR_STRUCT(Sky, (float, wind, (.preset = "0.25")), (uint32_t, gusts)) // Exported by the weather.
ORR_STRUCT(Ledger, (uint64_t, digest), (uint64_t, entries), (int32_t, born), (int32_t, died))

enum {
    WORKING_TAG = 70 // This tag and the next two.
};

static void working_note(Ledger* ledger, uint64_t a, uint64_t b)
{
    uint64_t found[3] = {a, b, ledger->digest};
    ledger->digest = orr_hash(found, sizeof found, 0);
    ledger->entries++;
}

// ---- direct systems -----------------------------------------------------------------------------

static void working_weather(orr_run* run) // Once, every third tick.
{
    Sky* sky = orr_export(run, Sky);
    uint64_t random = orr_run_random(run, (orr_entity){0});
    sky->wind = orr_random_float(random) - 0.5f;
    sky->gusts += random % 5 == 0;
}

static void working_hatch(orr_run* run)
{
    Nest* nest = orr_write(run, Nest);
    const Place* place = orr_read(run, Place);
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t random = orr_run_random(run, orr_iter_entity(run, i));
        if (random % 4 != 0 || nest[i].eggs <= 0) {
            nest[i].eggs += random % 2 == 0;
            continue;
        }
        nest[i].eggs--;
        nest[i].laid++;
        orr_entity chick = orr_send_create(run);
        orr_send_add(run, chick, Place, {place[i].x, place[i].y, 1});
        orr_send_add(run, chick, Motion, {(float)(random >> 8 & 15) - 8, 1, 0});
        orr_send_add(run, chick, Vigour, {(int32_t)(random >> 16 & 31) + 10, 0, TEMPER_CALM});
        if (random >> 24 & 1) {
            orr_send_add_preset(run, chick, Den);
        }
        if ((random >> 25 & 7) == 0) {
            char name[32];
            snprintf(name, sizeof name, "chick%u_%u", (unsigned)run->tick, i);
            orr_send_name(run, chick, (orr_entity){0}, name);
        }
        orr_send_event(run, Born, {chick, nest[i].laid});
    }
}

static void working_fly(orr_run* run)
{
    const Sky* sky = orr_import(run, "weather", Sky);
    Place* place = orr_write(run, Place);
    const Motion* motion = orr_read(run, Motion);
    for (uint32_t i = 0; i < run->count; i++) {
        place[i].x += (motion[i].x + sky->wind) * run->dt;
        place[i].y += motion[i].y * run->dt;
    }
}

static void working_catch(orr_run* run) // Illness: adds, and reads others by id.
{
    const Vigour* vigour = orr_read(run, Vigour);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity self = orr_iter_entity(run, i);
        uint64_t random = orr_run_random(run, self);
        const Place* place = orr_get(run->world, self, Place);
        if (random % 16 == 0 && vigour[i].value > 5 && place != NULL && place->x < 3) {
            orr_send_add_preset(run, self, Sick);
            orr_send_add_type(run, self, orr_type_of(run->world, ORR_TYPE(Wound)),
                              &(Wound){(int32_t)(random >> 8 & 3)}, NULL);
        } else if (random % 16 == 1) {
            orr_send_tag(run, self, WORKING_TAG + (random >> 8) % 3, random >> 16 & 1);
        }
    }
}

static void working_cure(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity self = orr_iter_entity(run, i);
        uint64_t random = orr_run_random(run, self);
        if (random % 3 == 0) {
            orr_send_remove(run, self, Sick);
            if (random >> 8 & 1) {
                orr_send_remove(run, self, Wound);
            }
        }
        orr_send_enable(run, self, Motion, random >> 9 & 1);
    }
}

static void working_doze(orr_run* run) // Once: disables and enables whole entities.
{
    ORR_EACH (it, orr_run_query(run)) {
        Vigour* vigour = orr_write(&it, Vigour);
        for (uint32_t i = 0; i < it.count; i++) {
            orr_entity self = orr_iter_entity(&it, i);
            uint64_t random = orr_run_random(run, self);
            if (random % 8 == 0) {
                orr_send_enable_type(run, self, (orr_type){0}, 0, random >> 8 & 1);
            }
            vigour[i].age++;
        }
    }
}

static void working_reap(orr_run* run)
{
    Vigour* vigour = orr_write(run, Vigour);
    for (uint32_t i = 0; i < run->count; i++) {
        vigour[i].value -= orr_read(run, Sick) != NULL ? 3 : 1;
        Den* den = orr_write_pinned(run, Den, i);
        if (den != NULL) {
            den->visits++;
        }
        if (vigour[i].value < 0) {
            orr_entity self = orr_iter_entity(run, i);
            orr_send_event(run, Died, {self, vigour[i].age});
            orr_send_destroy(run, self);
        }
    }
}

static void working_count(orr_run* run) // Once: reads events and the world.
{
    Ledger* ledger = orr_state(run, Ledger);
    uint32_t born, died;
    const Born* b = orr_events(run, Born, &born);
    const Died* d = orr_events(run, Died, &died);
    for (uint32_t i = 0; i < born; i++) {
        working_note(ledger, b[i].who.id, b[i].number);
    }
    for (uint32_t i = 0; i < died; i++) {
        working_note(ledger, d[i].who.id, (uint64_t)d[i].age);
    }
    ledger->born += (int32_t)born;
    ledger->died += (int32_t)died;
    ORR_EACH (it, orr_run_query(run)) {
        working_note(ledger, orr_iter_entity(&it, 0).id, it.count);
    }
}

// ---- indirect systems ---------------------------------------------------------------------------

static void working_listen(orr_run* run) // Receives messages about everything.
{
    Ledger* ledger = orr_state(run, Ledger);
    ORR_MESSAGES(m, run)
    {
        working_note(ledger, (uint64_t)m->kind << 8 | (uint64_t)m->cause, m->count);
        for (uint32_t i = 0; i < m->count; i++) {
            working_note(ledger, m->entities[i].id, m->tick);
        }
    }
}

static void working_nurse(orr_run* run) // Changes by commands only.
{
    Ledger* ledger = orr_state(run, Ledger);
    ORR_MESSAGES(m, run)
    {
        const Vigour* vigour = orr_values(m, Vigour);
        for (uint32_t i = 0; i < m->count; i++) {
            working_note(ledger, m->entities[i].id,
                         vigour != NULL ? (uint64_t)vigour[i].value : (uint64_t)m->kind);
            if (vigour != NULL && vigour[i].value == 2 && ledger->entries % 3 == 0) {
                orr_send_change(run, m->entities[i], Vigour, {15, vigour[i].age, TEMPER_WARY});
            }
        }
    }
}

static void working_begin(orr_run* run)
{
    Ledger* ledger = orr_state(run, Ledger);
    working_note(ledger, run->tick, 1);
}

// ---- the colony ---------------------------------------------------------------------------------

static bool working_add(scenario_run* run, const orr_system_desc* desc)
{
    return orr_system_add(run->target.world, desc).id != 0;
}

static bool working_directs(scenario_run* run)
{
    return working_add(run, &(orr_system_desc){.name = "weather",
                                               .query = "?Nest",
                                               .once = true,
                                               .every = 3,
                                               .exports = ORR_TYPE(Sky),
                                               .run = working_weather}) &&
           working_add(run, &(orr_system_desc){.name = "hatch",
                                               .parallel = true,
                                               .query = "write Nest, Place",
                                               .creates = "Place, Motion, Vigour, Den",
                                               .renames = true,
                                               .sends = "Born",
                                               .run = working_hatch}) &&
           working_add(run, &(orr_system_desc){.name = "reap",
                                               .parallel = true,
                                               .query = "write Vigour, ?Sick, ?write Den, !Nest",
                                               .destroys = "Vigour, !Nest",
                                               .sends = "Died",
                                               .after = "bodies",
                                               .run = working_reap}) &&
           working_add(run, &(orr_system_desc){.name = "fly",
                                               .query = "write Place, Motion, !Asleep",
                                               .parallel = true,
                                               .imports = "weather",
                                               .group = "bodies",
                                               .run = working_fly}) &&
           working_add(run, &(orr_system_desc){.name = "catch",
                                               .parallel = true,
                                               .query = "Vigour, !Sick",
                                               .by_id = "Place",
                                               .adds = "Sick, Wound",
                                               .tags = "#70, #71, #72",
                                               .group = "bodies",
                                               .run = working_catch}) &&
           working_add(run, &(orr_system_desc){.name = "cure",
                                               .parallel = true,
                                               .query = "Sick, ?Wound, !#70, either Motion",
                                               .removes = "Sick, Wound",
                                               .switches = "Motion",
                                               .group = "bodies",
                                               .run = working_cure}) &&
           working_add(run, &(orr_system_desc){.name = "doze",
                                               .query = "write Vigour, either *",
                                               .once = true,
                                               .switches = "*",
                                               .every = 2,
                                               .run = working_doze});
}

static bool working_others(scenario_run* run)
{
    return working_add(run, &(orr_system_desc){.name = "nurse",
                                               .kind = ORR_INDIRECT,
                                               .query = "write Vigour, !Nest",
                                               .state = ORR_TYPE(Ledger),
                                               .run = working_nurse}) &&
           working_add(run, &(orr_system_desc){.name = "count",
                                               .query = "Vigour, ?Wound",
                                               .once = true,
                                               .receives = "Born, Died",
                                               .state = ORR_TYPE(Ledger),
                                               .start = working_begin,
                                               .run = working_count}) &&
           working_add(run, &(orr_system_desc){.name = "listen",
                                               .kind = ORR_INDIRECT,
                                               .query = "?orr_tags, ?orr_enabled, ?orr_name",
                                               .state = ORR_TYPE(Ledger),
                                               .start = working_begin,
                                               .run = working_listen});
}

static bool working_build(scenario_run* run)
{
    orr_world* world = run->target.world;
    ORR_REGISTER(world, Nest, Wound, Den, Sick, Born, Died);
    for (uint32_t i = 0; i < run->scale; i++) {
        orr_entity nest = orr_create(world);
        if (orr_set(world, nest, Place, {(float)(i % 8), (float)(i / 8), 0}) != ORR_OK ||
            orr_set(world, nest, Nest, {(int32_t)(i % 3), 0}) != ORR_OK) {
            return false;
        }
    }
    return working_directs(run) && working_others(run);
}

// Between ticks: creates entities from outside; enables, disables, removes and re-adds systems.
static bool working_step(scenario_run* run)
{
    orr_world* world = run->target.world;
    bool done = true;
    if (run->tick % 7 == 3) {
        orr_entity stranger = orr_create(world);
        done = orr_set(world, stranger, Vigour, {12, 1, TEMPER_ANGRY}) == ORR_OK &&
               (run->tick % 2 != 0 || orr_add(world, stranger, Nest) == ORR_OK) &&
               orr_set(world, stranger, Place, {1, (float)run->tick, 0}) == ORR_OK;
    }
    if (run->tick % 20 == 10) {
        done = done && orr_group_enable(world, "bodies", run->tick % 40 == 30) == ORR_OK;
    }
    if (run->tick % 50 == 25) {
        orr_system listen = orr_system_find(world, "listen");
        done = done && orr_system_enable(world, listen, run->tick % 100 == 75) == ORR_OK;
    }
    if (run->tick == 90) {
        done = done && orr_system_remove(world, orr_system_find(world, "nurse")) == ORR_OK;
    } else if (run->tick == 120) {
        done = done && working_add(run, &(orr_system_desc){.name = "nurse",
                                                           .kind = ORR_INDIRECT,
                                                           .query = "write Vigour",
                                                           .state = ORR_TYPE(Ledger),
                                                           .run = working_nurse});
    }
    run->noted = orr_entity_count(world);
    return done;
}

const scenario scenario_working = {
    "working",      "systems of every kind, whose states keep what they heard",
    working_build,  working_step,
    .direct = true, .systems = true};
