// SPDX-License-Identifier: MIT
// The scenarios. Random numbers depend on keys (tick, purpose, count) only.
#include "scenario.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLACE,
    MOTION,
    VIGOUR,
    MASS,
    AIM,
    TITLE,
    ASLEEP
};
enum {
    SEED = 0x0552
};

// ---- small helpers ------------------------------------------------------------------------------

static uint64_t scenario_random(const scenario_run* run, uint64_t purpose, uint64_t number)
{
    return orr_random(SEED, run->tick, purpose, number);
}

// From -1 to 1, in steps that every compiler computes equally.
static float scenario_unit(const scenario_run* run, uint64_t purpose, uint64_t number)
{
    return orr_random_float(scenario_random(run, purpose, number)) * 2.0f - 1.0f;
}

static bool scenario_know(scenario_run* run, const orr_entity* entities, uint32_t count)
{
    uint32_t needed = run->entity_count + count;
    if (needed > run->entity_capacity) {
        uint32_t capacity = run->entity_capacity * 2 > needed ? run->entity_capacity * 2 : needed;
        orr_entity* grown = realloc(run->entities, sizeof *grown * capacity);
        if (grown == NULL) {
            return false;
        }
        run->entities = grown;
        run->entity_capacity = capacity;
    }
    memcpy(run->entities + run->entity_count, entities, sizeof *entities * count);
    run->entity_count = needed;
    return true;
}

static orr_entity scenario_pick(const scenario_run* run, uint64_t purpose, uint64_t number)
{
    uint64_t random = scenario_random(run, purpose, number);
    return run->entities[orr_random_below(random, run->entity_count)];
}

static void scenario_place(const scenario_run* run, uint64_t purpose, uint32_t count, Place* out)
{
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (Place){scenario_unit(run, purpose, i * 3u) * 100.0f,
                         scenario_unit(run, purpose, i * 3u + 1) * 100.0f,
                         scenario_unit(run, purpose, i * 3u + 2) * 10.0f};
    }
}

// Creates `count` entities with the types of a bit set and random places, in batches.
static bool scenario_spawn(scenario_run* run, uint32_t types, const orr_tag* tag, uint32_t count,
                           uint64_t purpose, bool know)
{
    enum {
        BATCH = 512
    };
    Place places[BATCH];
    orr_entity ids[BATCH];
    orr_type set[SCENARIO_TYPE_COUNT];
    orr_cluster_desc desc = {.types = set, .tags = tag, .tag_count = tag != NULL};
    for (uint32_t i = 0; i < SCENARIO_TYPE_COUNT; i++) {
        if (types >> i & 1) {
            set[desc.type_count++] = run->types[i];
        }
    }
    for (uint32_t done = 0, batch; done < count; done += batch) {
        batch = count - done < BATCH ? count - done : BATCH;
        scenario_place(run, purpose + done, batch, places);
        orr_column_data data = {run->types[PLACE], places};
        if (!run->target.create(run->target.self, &desc, batch, &data, types & 1, ids) ||
            (know && !scenario_know(run, ids, batch))) {
            return false;
        }
        run->changes++;
    }
    return true;
}

// ---- bodies -------------------------------------------------------------------------------------

#define DT 0.015625f // 1/64 s: a power of two, so nothing is rounded.

static void scenario_move(void* user, void* const* columns, uint32_t count)
{
    (void)user;
    Place* place = columns[0];
    const Motion* motion = columns[1];
    for (uint32_t i = 0; i < count; i++) {
        place[i].x += motion[i].x * DT;
        place[i].y += motion[i].y * DT;
        place[i].z += motion[i].z * DT;
    }
}

// Reverses at the walls.
static void scenario_bounce(void* user, void* const* columns, uint32_t count)
{
    (void)user;
    Motion* motion = columns[0];
    const Place* place = columns[1];
    for (uint32_t i = 0; i < count; i++) {
        if ((place[i].x > 100.0f && motion[i].x > 0) || (place[i].x < -100.0f && motion[i].x < 0)) {
            motion[i].x = -motion[i].x;
        }
        if ((place[i].y > 100.0f && motion[i].y > 0) || (place[i].y < -100.0f && motion[i].y < 0)) {
            motion[i].y = -motion[i].y;
        }
    }
}

static void scenario_age(void* user, void* const* columns, uint32_t count)
{
    (void)user;
    Vigour* vigour = columns[0];
    for (uint32_t i = 0; i < count; i++) {
        vigour[i].age++;
        vigour[i].value -= vigour[i].age % 7 == 0;
        vigour[i].temper = (Temper)(vigour[i].age / 16 % 3);
    }
}

// Computes the speed from the place, independently for each row.
static void scenario_start(void* user, void* const* columns, uint32_t count)
{
    (void)user;
    Motion* motion = columns[0];
    const Place* place = columns[1];
    for (uint32_t i = 0; i < count; i++) {
        motion[i] = (Motion){place[i].y * 0.5f, -place[i].x * 0.5f, 0.25f};
    }
}

// ---- levels: tags as levels, loaded and unloaded ------------------------------------------------

static bool levels_load(scenario_run* run)
{
    orr_tag level = run->level_next++;
    uint64_t purpose = 1000 + level * 100000;
    uint32_t n = 100 * run->scale;
    return scenario_spawn(run, 1 << PLACE, &level, n * 2, purpose, false) &&
           scenario_spawn(run, 1 << PLACE | 1 << MOTION | 1 << VIGOUR, &level, n, purpose + 10000,
                          false) &&
           scenario_spawn(run, 1 << PLACE | 1 << MASS | 1 << ASLEEP, &level, n / 2, purpose + 20000,
                          false);
}

static bool levels_build(scenario_run* run)
{
    run->level_first = run->level_next = 1;
    // Travellers belong to no level at first, then to one level after another.
    bool built = scenario_spawn(run, 1 << PLACE | 1 << MOTION, NULL, 10 * run->scale, 1, true);
    for (uint32_t i = 0; i < 4 && built; i++) {
        built = levels_load(run);
    }
    orr_type types[2] = {run->types[MOTION], run->types[PLACE]};
    return built && run->target.each(run->target.self, types, 2, 1, scenario_start, NULL);
}

// All travellers leave a level before it is unloaded; otherwise they would be deleted with it.
static bool levels_travel(scenario_run* run)
{
    for (uint32_t i = 0; i < run->entity_count; i++) {
        orr_tag from = run->level_first + (i + run->tick) % 3, to = from + 1;
        if (!run->target.tag(run->target.self, run->entities[i], from, false) ||
            !run->target.tag(run->target.self, run->entities[i], to, run->tick % 4 != 3)) {
            return false;
        }
        run->changes += 2;
    }
    return true;
}

static bool levels_step(scenario_run* run)
{
    const scenario_target* t = &run->target;
    orr_type move[2] = {run->types[PLACE], run->types[MOTION]};
    if (!t->each(t->self, move, 2, 1, scenario_move, NULL) ||
        !t->each(t->self, &run->types[VIGOUR], 1, 1, scenario_age, NULL) || !levels_travel(run)) {
        return false;
    }
    if (run->tick % 5 != 4) {
        return true;
    }
    for (uint32_t i = 0; i < run->entity_count; i++) {
        if (!t->tag(t->self, run->entities[i], run->level_first, false)) {
            return false;
        }
    }
    run->changes++;
    return t->unload(t->self, run->level_first++) && levels_load(run);
}

// ---- stir: everything changes all the time ------------------------------------------------------

static bool stir_build(scenario_run* run)
{
    uint32_t n = 250 * run->scale;
    return scenario_spawn(run, 1 << PLACE, NULL, n, 1, true) &&
           scenario_spawn(run, 1 << PLACE | 1 << MOTION, NULL, n, 10001, true) &&
           scenario_spawn(run, 1 << PLACE | 1 << MOTION | 1 << VIGOUR, NULL, n, 20001, true) &&
           scenario_spawn(run, 1 << PLACE | 1 << MASS | 1 << TITLE, NULL, n, 30001, true);
}

static bool stir_destroy(scenario_run* run, uint32_t count)
{
    for (uint32_t i = 0; i < count && run->entity_count > 0; i++) {
        uint32_t at = (uint32_t)orr_random_below(scenario_random(run, 1, i), run->entity_count);
        orr_entity gone = run->entities[at];
        run->entities[at] = run->entities[--run->entity_count];
        if (!run->target.destroy(run->target.self, &gone, 1)) {
            return false;
        }
        run->changes++;
    }
    return true;
}

static bool stir_set(scenario_run* run, uint32_t number)
{
    static const char* const titles[] = {"", "knight", "baker", "a name that is rather long"};
    orr_entity entity = scenario_pick(run, 2, number);
    uint64_t random = scenario_random(run, 3, number);
    const scenario_target* t = &run->target;
    switch (random % 5) {
    case 0:
        return t->set(t->self, entity, run->types[MOTION],
                      &(Motion){scenario_unit(run, 4, number), 1.0f, 0});
    case 1:
        return t->set(t->self, entity, run->types[VIGOUR],
                      &(Vigour){(int32_t)(random >> 40), (uint16_t)number, TEMPER_WARY});
    case 2: {
        Mass mass;
        memset(&mass, (int)(random >> 32 & 0xFF), sizeof mass); // Padding must not matter.
        mass.value = (double)(random >> 40) * 0.125;
        mass.kind = (uint8_t)number;
        return t->set(t->self, entity, run->types[MASS], &mass);
    }
    case 3:
        return t->set(t->self, entity, run->types[AIM], &(Aim){scenario_pick(run, 5, number)});
    default:
        return t->set(t->self, entity, run->types[TITLE],
                      &(Title){orr_string_make(t->world, titles[random >> 33 & 3])});
    }
}

static bool stir_change(scenario_run* run, uint32_t number)
{
    const scenario_target* t = &run->target;
    uint64_t random = scenario_random(run, 6, number);
    orr_entity entity = scenario_pick(run, 7, number);
    run->changes++;
    switch (random % 8) {
    case 0:
        return t->remove(t->self, entity, run->types[MOTION + random / 8 % 6]);
    case 1:
        return t->tag(t->self, entity, random / 8 % 5, true);
    case 2:
        return t->tag(t->self, entity, random / 8 % 5, false);
    case 3:
        return t->enable(t->self, entity, (orr_type){0}, random / 8 % 2);
    case 4:
        return t->enable(t->self, entity, run->types[PLACE], random / 8 % 2);
    case 5:
        return t->set(t->self, entity, run->types[ASLEEP], NULL);
    default:
        return stir_set(run, number);
    }
}

static bool stir_step(scenario_run* run)
{
    const scenario_target* t = &run->target;
    uint32_t n = run->scale;
    bool done =
        stir_destroy(run, 10 * n) && scenario_spawn(run, 1 << PLACE, NULL, 4 * n, 100001, true) &&
        scenario_spawn(run, 1 << PLACE | 1 << MOTION | 1 << VIGOUR, NULL, 6 * n, 200001, true);
    for (uint32_t i = 0; i < 60 * n && done; i++) {
        done = stir_change(run, i);
    }
    orr_type move[2] = {run->types[PLACE], run->types[MOTION]};
    return done && t->each(t->self, move, 2, 1, scenario_move, NULL) &&
           t->each(t->self, &run->types[VIGOUR], 1, 1, scenario_age, NULL);
}

// ---- swarm: many movers in few clusters ---------------------------------------------------------

static bool swarm_build(scenario_run* run)
{
    uint32_t n = 500 * run->scale;
    orr_type types[2] = {run->types[MOTION], run->types[PLACE]};
    return scenario_spawn(run, 1 << PLACE | 1 << MOTION, NULL, n, 1, false) &&
           scenario_spawn(run, 1 << PLACE | 1 << MOTION | 1 << MASS, NULL, n / 2, 1000001, false) &&
           scenario_spawn(run, 1 << PLACE | 1 << MOTION | 1 << VIGOUR, NULL, n / 2, 2000001,
                          true) &&
           run->target.each(run->target.self, types, 2, 1, scenario_start, NULL);
}

static bool swarm_step(scenario_run* run)
{
    const scenario_target* t = &run->target;
    orr_type move[2] = {run->types[PLACE], run->types[MOTION]};
    orr_type bounce[2] = {run->types[MOTION], run->types[PLACE]};
    // Some gain or lose Mass, which moves them between clusters.
    for (uint32_t i = 0; i < 1 + run->scale / 4; i++) {
        orr_entity entity = scenario_pick(run, 1, i);
        bool heavy = scenario_random(run, 2, i) & 1;
        if (heavy ? !t->set(t->self, entity, run->types[MASS], &(Mass){.value = 3, .kind = 1})
                  : !t->remove(t->self, entity, run->types[MASS])) {
            return false;
        }
        run->changes++;
    }
    return t->each(t->self, move, 2, 1, scenario_move, NULL) &&
           t->each(t->self, bounce, 2, 1, scenario_bounce, NULL);
}

// ---- running ------------------------------------------------------------------------------------

static const scenario scenario_levels = {
    "levels",     "levels as tags, loaded and unloaded, with travellers between them",
    levels_build, levels_step,
    false,        false};
static const scenario scenario_stir = {
    "stir",     "spawning, destroying, changing components, tags and bits all the time",
    stir_build, stir_step,
    false,      false};
static const scenario scenario_swarm = {
    "swarm", "many movers in few clusters", swarm_build, swarm_step, false, false};

const scenario* const scenario_list[] = {&scenario_levels, &scenario_stir,    &scenario_swarm,
                                         &scenario_asking, &scenario_working, &scenario_churn};

const uint32_t scenario_count = sizeof scenario_list / sizeof scenario_list[0];

const scenario* scenario_find(const char* name)
{
    for (uint32_t i = 0; i < scenario_count; i++) {
        if (strcmp(scenario_list[i]->name, name) == 0) {
            return scenario_list[i];
        }
    }
    return NULL;
}

bool scenario_begin(scenario_run* run, const scenario* what, const scenario_target* target,
                    uint32_t scale)
{
    static const orr_type_desc* const descs[SCENARIO_TYPE_COUNT] = {
        ORR_TYPE(Place), ORR_TYPE(Motion), ORR_TYPE(Vigour), ORR_TYPE(Mass),
        ORR_TYPE(Aim),   ORR_TYPE(Title),  ORR_TYPE(Asleep)};
    *run = (scenario_run){.scenario = what, .target = *target, .scale = scale};
    for (uint32_t i = 0; i < SCENARIO_TYPE_COUNT; i++) {
        run->types[i] = orr_type_of(target->world, descs[i]);
        if (run->types[i].id == 0) {
            return false;
        }
    }
    return what->build(run);
}

// Systems of scenarios send changes to entities that may have died, and names that may be taken.
static bool scenario_tick(orr_world* world)
{
    orr_result result = orr_step(world, 1);
    return result == ORR_OK || result == ORR_ERR_ENTITY || result == ORR_ERR_ABSENT ||
           result == ORR_ERR_CONFLICT;
}

bool scenario_step(scenario_run* run)
{
    bool done = run->scenario->step(run) &&
                (run->scenario->systems ? scenario_tick(run->target.world)
                                        : run->target.tick(run->target.self));
    run->tick++;
    return done;
}

void scenario_end(scenario_run* run)
{
    free(run->entities);
    *run = (scenario_run){0};
}
