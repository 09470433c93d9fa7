// SPDX-License-Identifier: MIT
// A sea with constant turnover: motes are created at wells, drift with the tide, gain and lose a
// charge, follow each other, rest and are destroyed; as many are created as were destroyed. Every
// tick exercises everything that parallel execution could get wrong: parallel systems that create,
// destroy, add, remove, enable, disable and tag; serial systems between them that read by id;
// indirect systems that receive the changes and send their own; events, transactions, reductions,
// random numbers, exports, three pipelines, and mathematics whose last bit matters. There are 1,000
// × scale entities, and their number stays constant.
//
// Every section ends with the function that adds its systems. A new kind of system is a new section
// and a call in churn_build(). Writes of many motes to one receiver go to their wells (Home.well,
// Well.fed).
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ORR_STRUCT(Well, (float, strength, (.preset = "1")), (uint32_t, born), (int64_t, fed),
           (float, warmth), (float, least, (.preset = "1e30")), (uint32_t, gifts), (uint32_t, last),
           (uint64_t, rites))
ORR_STRUCT(Home, (orr_entity, well))
ORR_STRUCT(Charge, (double, amount), (float, phase), (uint32_t, sparks))
ORR_STRUCT(Tide, (float, level), (float, angle), (uint64_t, draws))           // Exported by `tide`.
ORR_STRUCT(Census, (uint64_t, motes), (uint32_t, wells), (uint32_t, missing)) // By `census`.
ORR_STRUCT(Birth, (orr_entity, who), (orr_entity, well))
ORR_STRUCT(Death, (orr_entity, who), (uint32_t, age))
ORR_STRUCT(Spark, (orr_entity, who), (float, phase))
ORR_STRUCT(Heat, (double, sum), (float, most), (uint32_t, motes)) // Of all motes; by `heat`.
ORR_STRUCT(Log, (uint64_t, digest), (uint64_t, entries))

enum {
    CHURN_PER_WELL = 100, // Motes.
    CHURN_TAG = 81,       // This tag and the next.
    CHURN_BATCH = 500,
    CHURN_SPAN = 200 // Mean lifetime in ticks.
};
#define CHURN_WALL 512.0f
// Life runs in the world's pipeline; motion ticks more often, charges less often.
#define CHURN_MOTION "motion"
#define CHURN_SPARKS "sparks"

static void churn_note(Log* log, uint64_t a, uint64_t b)
{
    uint64_t found[3] = {a, b, log->digest};
    log->digest = orr_hash(found, sizeof found, 0);
    log->entries++;
}

// The bits of a value that must be equal to the last bit.
static uint64_t churn_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool churn_add(scenario_run* run, const orr_system_desc* desc)
{
    return orr_system_add(run->target.world, desc).id != 0;
}

// ---- state that other systems read --------------------------------------------------------------

static void churn_tide(orr_run* run) // Once.
{
    Tide* tide = orr_export(run, Tide);
    uint64_t random = orr_run_random(run, (orr_entity){0});
    tide->angle = (float)orr_fmod((double)run->tick * 0.01, 6.25);
    tide->level = orr_sinf(tide->angle) + orr_random_float(random) * 0.125f;
    tide->draws += random % 7;
}

// Runs once: counts entities and receives the destructions of the previous tick.
static void churn_census(orr_run* run)
{
    Census* census = orr_export(run, Census);
    const uint32_t* size = orr_run_settings(run);
    uint32_t died;
    const Death* dead = orr_events(run, Death, &died);
    *census = (Census){0};
    ORR_EACH (it, orr_run_query(run)) {
        *(orr_read(&it, Well) != NULL ? &census->wells : &census->missing) += it.count;
    }
    census->motes = census->missing;
    census->missing = census->motes < *size ? *size - (uint32_t)census->motes : 0;
    for (uint32_t i = 0; i < died; i++) {
        churn_note(orr_state(run, Log), dead[i].who.id, dead[i].age);
    }
}

static bool churn_views(scenario_run* run)
{
    return churn_add(run, &(orr_system_desc){.name = "tide",
                                             .once = true,
                                             .exports = ORR_TYPE(Tide),
                                             .run = churn_tide}) &&
           churn_add(run, &(orr_system_desc){.name = "census",
                                             .once = true,
                                             .query = "Place, ?Well",
                                             .receives = "Death",
                                             .exports = ORR_TYPE(Census),
                                             .state = ORR_TYPE(Log),
                                             .settings = &run->size,
                                             .run = churn_census});
}

// ---- born ---------------------------------------------------------------------------------------

static void churn_bear(orr_run* run, orr_entity well, const Place* place, uint64_t random)
{
    orr_entity mote = orr_send_create(run);
    float sine, cosine;
    orr_sincosf((float)(random >> 40) * 0.001f, &sine, &cosine);
    orr_send_add(run, mote, Place, {place->x + sine, place->y + cosine, 0});
    orr_send_add(run, mote, Motion, {sine * 8, cosine * 8, 0});
    orr_send_add(run, mote, Vigour, {(int32_t)(random >> 20 & 63) + 20, 0, TEMPER_CALM});
    orr_send_add(run, mote, Home, {well});
    if ((random >> 16 & 3) == 0) {
        orr_send_add(run, mote, Mass, {.value = orr_exp(-(double)sine), .kind = 3});
    }
    orr_send_event(run, Birth, {mote, well});
}

static void churn_spawn(orr_run* run) // At most one per well, until none is missing.
{
    const Census* census = orr_import(run, "census", Census);
    Well* well = orr_write(run, Well);
    const Place* place = orr_read(run, Place);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity self = orr_iter_entity(run, i);
        uint64_t random = orr_run_random(run, self);
        if (orr_random_below(random, census->wells) < census->missing) {
            well[i].born++;
            churn_bear(run, self, &place[i], random);
        }
    }
}

static void churn_burst(orr_run* run) // Once: creates many in one cluster, by columns.
{
    enum {
        COUNT = 16
    };
    Place places[COUNT];
    orr_entity motes[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t random = orr_random(run->tick, i, 0, 0);
        places[i] = (Place){orr_random_float(random) * 100, orr_random_float(random << 24), 0};
    }
    orr_cluster cluster = orr_cluster_find(
        run->world, &(orr_cluster_desc){ORR_TYPES(run->world, Place, Motion, Vigour, Home)});
    orr_column_data data = {orr_type_of(run->world, ORR_TYPE(Place)), places};
    if (orr_send_create_many(run, cluster, COUNT, &data, 1, motes) == ORR_OK) {
        for (uint32_t i = 0; i < COUNT; i++) {
            orr_send_event(run, Birth, {motes[i], {0}});
        }
    }
}

static bool churn_births(scenario_run* run)
{
    return churn_add(run, &(orr_system_desc){.name = "spawn",
                                             .parallel = true,
                                             .query = "write Well, Place",
                                             .imports = "census",
                                             .creates = "Place, Motion, Vigour, Home, Mass",
                                             .sends = "Birth",
                                             .run = churn_spawn}) &&
           churn_add(run, &(orr_system_desc){.name = "burst",
                                             .once = true,
                                             .every = 4,
                                             .creates = "Place, Motion, Vigour, Home",
                                             .creates_max = 16,
                                             .sends = "Birth",
                                             .run = churn_burst});
}

// ---- on the way: values of its own rows ---------------------------------------------------------

static void churn_drift(orr_run* run)
{
    const Tide* tide = orr_import(run, "tide", Tide);
    Place* place = orr_write(run, Place);
    Motion* motion = orr_write(run, Motion);
    for (uint32_t i = 0; i < run->count; i++) {
        float sine, cosine;
        orr_sincosf(tide->angle + place[i].x * 0.01f, &sine, &cosine);
        motion[i].x += (sine * tide->level - motion[i].x * 0.0625f) * run->dt;
        motion[i].y += (cosine - motion[i].y * 0.0625f) * run->dt;
        place[i].x += motion[i].x * run->dt;
        place[i].y += motion[i].y * run->dt;
        place[i].z = orr_sqrtf(motion[i].x * motion[i].x + motion[i].y * motion[i].y);
    }
}

static void churn_wrap(orr_run* run) // Wraps positions around the world.
{
    Place* place = orr_write(run, Place);
    for (uint32_t i = 0; i < run->count; i++) {
        place[i].x -= orr_rintf(place[i].x / (2 * CHURN_WALL)) * (2 * CHURN_WALL);
        place[i].y -= orr_rintf(place[i].y / (2 * CHURN_WALL)) * (2 * CHURN_WALL);
    }
}

static void churn_burn(orr_run* run) // Ages; a random part dies.
{
    Vigour* vigour = orr_write(run, Vigour);
    const Mass* mass = orr_read(run, Mass);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity self = orr_iter_entity(run, i);
        uint64_t random = orr_run_random(run, self);
        vigour[i].age++;
        vigour[i].value -= (random & 7) == 0 ? 1 + (mass != NULL) : 0;
        if (random >> 32 < UINT32_MAX / CHURN_SPAN) {
            orr_send_event(run, Death, {self, vigour[i].age});
            orr_send_destroy(run, self);
        }
    }
}

static void churn_weigh(orr_run* run) // Serial, on a type with padding.
{
    Mass* mass = orr_write(run, Mass);
    const Vigour* vigour = orr_read(run, Vigour);
    for (uint32_t i = 0; i < run->count; i++) {
        mass[i].value = orr_ln(mass[i].value + 1.75) + orr_log2((double)vigour[i].age + 2) * 0.125;
        mass[i].kind = (uint8_t)(mass[i].kind * 5u + (mass[i].value > 1));
    }
}

static bool churn_bodies(scenario_run* run)
{
    return churn_add(run, &(orr_system_desc){.name = "drift",
                                             .pipeline = CHURN_MOTION,
                                             .parallel = true,
                                             .query = "write Place, write Motion, !Asleep",
                                             .imports = "tide",
                                             .run = churn_drift}) &&
           churn_add(run, &(orr_system_desc){.name = "wrap",
                                             .pipeline = CHURN_MOTION,
                                             .parallel = true,
                                             .query = "write Place, Motion",
                                             .run = churn_wrap}) &&
           churn_add(run, &(orr_system_desc){.name = "burn",
                                             .parallel = true,
                                             .query = "write Vigour, ?Mass",
                                             .destroys = "Vigour, !Well",
                                             .sends = "Death",
                                             .run = churn_burn}) &&
           churn_add(run, &(orr_system_desc){
                              .name = "weigh", .query = "write Mass, Vigour", .run = churn_weigh});
}

// ---- from cluster to cluster --------------------------------------------------------------------

static void churn_charge(orr_run* run)
{
    const Place* place = orr_read(run, Place);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity self = orr_iter_entity(run, i);
        uint64_t random = orr_run_random(run, self);
        if (random % 128 == 0) {
            double far = orr_pow((double)(place[i].x * place[i].x) + 1, 0.3);
            orr_send_add(run, self, Charge, {far, orr_atan2f(place[i].y, place[i].x), 0});
        }
    }
}

static void churn_spark(orr_run* run)
{
    Charge* charge = orr_write(run, Charge);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity self = orr_iter_entity(run, i);
        charge[i].phase = orr_fmodf(charge[i].phase + 0.75f, 6.25f);
        charge[i].amount *= 0.90625 + 0.03125 * orr_cos((double)charge[i].phase);
        if (charge[i].amount < 0.5) {
            orr_send_remove(run, self, Charge);
        } else if (orr_run_random(run, self) % 64 == 0) {
            charge[i].sparks++;
            orr_send_event(run, Spark, {self, charge[i].phase});
        }
    }
}

static void churn_rest(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity self = orr_iter_entity(run, i);
        uint64_t random = orr_run_random(run, self);
        if (random % 256 == 0) {
            orr_send_add_preset(run, self, Asleep);
        } else if (random % 1024 == 1) {
            orr_send_tag(run, self, CHURN_TAG + (random >> 16 & 1), random >> 17 & 1);
        }
    }
}

static void churn_wake(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity self = orr_iter_entity(run, i);
        if (orr_run_random(run, self) % 16 == 0) {
            orr_send_remove(run, self, Asleep);
        }
    }
}

static void churn_blink(orr_run* run) // Disables motion for a while.
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity self = orr_iter_entity(run, i);
        uint64_t random = orr_run_random(run, self);
        if (random % 64 == 0) {
            orr_send_enable(run, self, Charge, random >> 8 & 1);
        }
    }
}

static bool churn_moves(scenario_run* run)
{
    return churn_add(run, &(orr_system_desc){.name = "charge",
                                             .pipeline = CHURN_SPARKS,
                                             .parallel = true,
                                             .query = "Place, Vigour, !either Charge",
                                             .adds = "Charge",
                                             .run = churn_charge}) &&
           churn_add(run, &(orr_system_desc){.name = "spark",
                                             .pipeline = CHURN_SPARKS,
                                             .parallel = true,
                                             .query = "write Charge",
                                             .removes = "Charge",
                                             .sends = "Spark",
                                             .run = churn_spark}) &&
           churn_add(run, &(orr_system_desc){.name = "rest",
                                             .pipeline = CHURN_SPARKS,
                                             .parallel = true,
                                             .query = "Motion, Vigour, !Asleep",
                                             .adds = "Asleep",
                                             .tags = "#81, #82",
                                             .run = churn_rest}) &&
           churn_add(run, &(orr_system_desc){.name = "wake",
                                             .pipeline = CHURN_SPARKS,
                                             .parallel = true,
                                             .query = "Asleep",
                                             .removes = "Asleep",
                                             .run = churn_wake}) &&
           churn_add(run, &(orr_system_desc){.name = "blink",
                                             .pipeline = CHURN_SPARKS,
                                             .parallel = true,
                                             .query = "either Charge, #81",
                                             .switches = "Charge",
                                             .run = churn_blink});
}

// ---- reading other entities ---------------------------------------------------------------------

static void churn_bind(orr_run* run) // Once: a mote that sparks follows the previous one.
{
    uint32_t count;
    const Spark* spark = orr_events(run, Spark, &count);
    for (uint32_t i = 1; i < count; i++) {
        if (orr_get(run->world, spark[i].who, Aim) == NULL) {
            orr_send_add(run, spark[i].who, Aim, {spark[i - 1].who});
        }
    }
}

static void churn_pull(orr_run* run)
{
    Motion* motion = orr_write(run, Motion);
    const Aim* aim = orr_read(run, Aim);
    const Home* home = orr_read(run, Home);
    for (uint32_t i = 0; i < run->count; i++) {
        bool lost = !orr_alive(run->world, aim[i].target);
        orr_entity to = lost ? home[i].well : aim[i].target;
        const Place* goal = orr_alive(run->world, to) ? orr_get(run->world, to, Place) : NULL;
        if (goal != NULL) {
            motion[i].x += goal->x * 0.001f;
            motion[i].z = goal->z;
        }
        if (lost) {
            orr_send_remove(run, orr_iter_entity(run, i), Aim);
        }
    }
}

static void churn_feed(orr_run* run) // Serial: writes by id.
{
    const Charge* charge = orr_read(run, Charge);
    const Home* home = orr_read(run, Home);
    for (uint32_t i = 0; i < run->count; i++) {
        if (charge[i].sparks % 4 == 3 && orr_alive(run->world, home[i].well)) {
            Well* well = orr_edit(run->world, home[i].well, Well);
            well->fed = well->fed * 3 + (int64_t)(charge[i].amount * 1024) % 1000003;
            well->fed %= 1000000007;
        }
    }
}

static bool churn_ties(scenario_run* run)
{
    return churn_add(run, &(orr_system_desc){.name = "bind",
                                             .pipeline = CHURN_SPARKS,
                                             .once = true,
                                             .receives = "Spark",
                                             .by_id = "Aim",
                                             .adds = "Aim",
                                             .run = churn_bind}) &&
           churn_add(run, &(orr_system_desc){.name = "pull",
                                             .pipeline = CHURN_MOTION,
                                             .parallel = true,
                                             .query = "write Motion, Aim, Home",
                                             .by_id = "Place",
                                             .removes = "Aim",
                                             .run = churn_pull}) &&
           churn_add(run, &(orr_system_desc){.name = "feed",
                                             .query = "Charge, Home, Aim",
                                             .by_id = "write Well",
                                             .run = churn_feed});
}

// ---- many to one: transactions and reductions ---------------------------------------------------

static void churn_rite(const orr_world* world, orr_entity target, void* value, const void* argument,
                       uint32_t size)
{
    (void)world, (void)size;
    uint64_t found[3] = {((Well*)value)->rites, target.id, *(const uint64_t*)argument};
    ((Well*)value)->rites = orr_hash(found, sizeof found, 0);
}

static void churn_gift(
    orr_run* run) // To its well. Float sums and the last writer depend on the order.
{
    const Heat* heat = orr_import(run, "heat", Heat);
    const Home* home = orr_read(run, Home);
    const Motion* motion = orr_read(run, Motion);
    orr_type well = orr_type_of(run->world, ORR_TYPE(Well));
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity self = orr_iter_entity(run, i), to = home[i].well;
        uint64_t random = orr_run_random(run, self);
        if (random % 8 != 0 || to.id == 0) {
            continue;
        }
        orr_transact(run, ORR_OP_ADD, to, Well, warmth, motion[i].x * 0.37f + heat->most * 0.001f);
        orr_transact(run, ORR_OP_MIN, to, Well, least, motion[i].y);
        orr_transact(run, ORR_OP_ADD, to, Well, gifts, 1);
        orr_transact(run, ORR_OP_SET, to, Well, last, (uint32_t)self.id);
        if (random % 64 == 8) {
            (void)orr_transact_call(run, to, well, 0, churn_rite, &random, sizeof random);
        }
    }
}

static void churn_tithe(orr_run* run) // A second sender at the same time; serial.
{
    const Home* home = orr_read(run, Home);
    const Mass* mass = orr_read(run, Mass);
    for (uint32_t i = 0; i < run->count; i++) {
        if (mass[i].kind % 8 == 3 && home[i].well.id != 0) {
            orr_transact(run, ORR_OP_ADD, home[i].well, Well, warmth, (float)mass[i].value);
            orr_transact(run, ORR_OP_MAX, home[i].well, Well, last, (uint32_t)mass[i].kind << 8);
        }
    }
}

static void churn_heat(orr_run* run)
{
    Heat* heat = orr_export(run, Heat);
    const Place* place = orr_read(run, Place);
    for (uint32_t i = 0; i < run->count; i++) {
        heat->sum += (double)(place[i].z * 1.1f) + (double)place[i].x;
        heat->most = place[i].z > heat->most ? place[i].z : heat->most;
        heat->motes++;
    }
}

static void churn_heat_combine(void* into, const void* part)
{
    Heat* a = into;
    const Heat* b = part;
    a->sum += b->sum;
    a->most = b->most > a->most ? b->most : a->most;
    a->motes += b->motes;
}

static bool churn_gifts(scenario_run* run)
{
    return churn_add(run, &(orr_system_desc){.name = "heat",
                                             .pipeline = CHURN_MOTION,
                                             .parallel = true,
                                             .query = "Place, Motion",
                                             .exports = ORR_TYPE(Heat),
                                             .combine = churn_heat_combine,
                                             .run = churn_heat}) &&
           churn_add(run, &(orr_system_desc){.name = "gift",
                                             .pipeline = CHURN_MOTION,
                                             .parallel = true,
                                             .query = "Home, Motion",
                                             .imports = "heat",
                                             .transacts = "Well",
                                             .run = churn_gift}) &&
           churn_add(run, &(orr_system_desc){.name = "tithe",
                                             .query = "Home, Mass",
                                             .transacts = "Well",
                                             .run = churn_tithe});
}

// ---- receiving messages -------------------------------------------------------------------------

static void churn_mirror(orr_run* run) // Indirect: receives all charges, changes some.
{
    Log* log = orr_state(run, Log);
    ORR_MESSAGES(m, run)
    {
        const Charge* charge = orr_values(m, Charge);
        churn_note(log, (uint64_t)m->kind << 8 | (uint64_t)m->cause, m->count);
        for (uint32_t i = 0; i < m->count; i++) {
            log->digest ^= m->entities[i].id * (2 * i + 1);
            if (charge == NULL) {
                continue;
            }
            log->digest += churn_bits(charge[i].amount) * (2 * i + 1);
            if (charge[i].sparks == 6) {
                orr_send_change(run, m->entities[i], Charge, {4, charge[i].phase, 7});
            }
        }
    }
}

static void churn_keeper(orr_run* run) // Indirect: receives all followers, removes some.
{
    Log* log = orr_state(run, Log);
    ORR_MESSAGES(m, run)
    {
        for (uint32_t i = 0; i < m->count; i++) {
            churn_note(log, m->entities[i].id, (uint64_t)m->kind << 8 | (uint64_t)m->cause);
            if (m->kind == ORR_ENTITY_ADDED && log->entries % 16 == 0) {
                orr_send_destroy(run, m->entities[i]);
            }
        }
    }
}

static void churn_chronicle(orr_run* run) // Once: all events of this tick, in order.
{
    Log* log = orr_state(run, Log);
    uint32_t count;
    const Birth* birth = orr_events(run, Birth, &count);
    for (uint32_t i = 0; i < count; i++) {
        churn_note(log, birth[i].who.id, birth[i].well.id);
    }
    const Death* death = orr_events(run, Death, &count);
    for (uint32_t i = 0; i < count; i++) {
        churn_note(log, death[i].who.id, death[i].age);
    }
    const Spark* spark = orr_events(run, Spark, &count);
    for (uint32_t i = 0; i < count; i++) {
        churn_note(log, spark[i].who.id, churn_bits((double)spark[i].phase));
    }
}

static void churn_title(orr_run* run) // Runs exclusively: creates strings.
{
    Title* title = orr_write(run, Title);
    const Well* well = orr_read(run, Well);
    for (uint32_t i = 0; i < run->count; i++) {
        char text[32];
        snprintf(text, sizeof text, "well %u", (unsigned)well[i].born);
        orr_string_assign(run->world, &title[i].text, orr_string_make(run->world, text));
    }
}

static bool churn_hearers(scenario_run* run)
{
    return churn_add(run, &(orr_system_desc){.name = "mirror",
                                             .pipeline = CHURN_SPARKS,
                                             .kind = ORR_INDIRECT,
                                             .query = "write Charge",
                                             .state = ORR_TYPE(Log),
                                             .run = churn_mirror}) &&
           churn_add(run, &(orr_system_desc){.name = "keeper",
                                             .kind = ORR_INDIRECT,
                                             .query = "Aim",
                                             .destroys = "Aim",
                                             .state = ORR_TYPE(Log),
                                             .run = churn_keeper}) &&
           churn_add(run, &(orr_system_desc){.name = "chronicle",
                                             .once = true,
                                             .receives = "Birth, Death, Spark",
                                             .state = ORR_TYPE(Log),
                                             .run = churn_chronicle}) &&
           churn_add(run, &(orr_system_desc){.name = "title",
                                             .every = 16,
                                             .query = "write Title, Well",
                                             .run = churn_title});
}

// ---- the sea ------------------------------------------------------------------------------------

static float churn_unit(uint64_t random)
{
    return orr_random_float(random) * 2 - 1;
}

// Creates `count` motes, each with one of the wells as home.
static bool churn_motes(scenario_run* run, orr_cluster cluster, uint32_t count, uint64_t purpose)
{
    Place places[CHURN_BATCH];
    Motion motions[CHURN_BATCH];
    Home homes[CHURN_BATCH];
    orr_column_data data[] = {{run->types[0], places},
                              {run->types[1], motions},
                              {orr_type_of(run->target.world, ORR_TYPE(Home)), homes}};
    for (uint32_t done = 0, batch; done < count; done += batch) {
        batch = count - done < CHURN_BATCH ? count - done : CHURN_BATCH;
        for (uint32_t i = 0; i < batch; i++) {
            uint64_t random = orr_random(purpose, done + i, run->tick, 0);
            places[i] =
                (Place){churn_unit(random) * CHURN_WALL, churn_unit(random << 20) * CHURN_WALL, 0};
            motions[i] = (Motion){places[i].y * 0.125f, -places[i].x * 0.125f, 0};
            homes[i].well = run->entities[(done + i) % run->entity_count];
        }
        if (orr_create_many(run->target.world, cluster, batch, data, 3, NULL) != ORR_OK) {
            return false;
        }
    }
    return true;
}

static bool churn_wells(scenario_run* run)
{
    orr_world* world = run->target.world;
    uint32_t count = run->size / CHURN_PER_WELL;
    run->entities = calloc(count, sizeof *run->entities);
    if (run->entities == NULL) {
        return false;
    }
    for (; run->entity_count < count; run->entity_count++) {
        uint32_t i = run->entity_count;
        orr_entity well = orr_create(world);
        run->entities[i] = well;
        if (orr_set(world, well, Place, {(float)(i % 32) * 32 - 512, (float)(i / 32) * 32, 0}) !=
                ORR_OK ||
            orr_add(world, well, Well) != ORR_OK || orr_add(world, well, Title) != ORR_OK) {
            return false;
        }
    }
    return true;
}

static bool churn_fill(scenario_run* run)
{
    orr_world* world = run->target.world;
    orr_cluster plain, heavy;
    return churn_wells(run) &&
           orr_cluster_get(world,
                           &(orr_cluster_desc){ORR_TYPES(world, Place, Motion, Vigour, Home)},
                           &plain) == ORR_OK &&
           orr_cluster_get(world,
                           &(orr_cluster_desc){ORR_TYPES(world, Place, Motion, Vigour, Home, Mass)},
                           &heavy) == ORR_OK &&
           churn_motes(run, plain, run->size - run->size / 4, 1) &&
           churn_motes(run, heavy, run->size / 4, 2);
}

static bool churn_clocks(scenario_run* run)
{
    orr_world* world = run->target.world;
    return orr_pipeline_add(world, &(orr_pipeline_desc){.name = CHURN_MOTION, .rate_hz = 90}).id !=
               0 &&
           orr_pipeline_add(world, &(orr_pipeline_desc){.name = CHURN_SPARKS, .rate_hz = 40}).id !=
               0;
}

static bool churn_build(scenario_run* run)
{
    orr_world* world = run->target.world;
    run->size = run->scale * 1000;
    ORR_REGISTER(world, Well, Home, Charge, Birth, Death, Spark);
    return churn_clocks(run) && churn_fill(run) && churn_views(run) && churn_births(run) &&
           churn_bodies(run) && churn_moves(run) && churn_ties(run) && churn_gifts(run) &&
           churn_hearers(run);
}

// Between ticks: creates entities from outside and enables or disables systems.
static bool churn_step(scenario_run* run)
{
    orr_world* world = run->target.world;
    bool done = true;
    if (run->tick % 32 == 17) {
        orr_cluster plain = orr_cluster_find(
            world, &(orr_cluster_desc){ORR_TYPES(world, Place, Motion, Vigour, Home)});
        done = churn_motes(run, plain, 20 * run->scale / 10, 3);
    }
    if (run->tick % 40 == 25) {
        orr_system rest = orr_system_find(world, "rest");
        done = done && orr_system_enable(world, rest, run->tick % 80 != 25) == ORR_OK;
    }
    run->noted = orr_entity_count(world);
    return done;
}

const scenario scenario_churn = {"churn",     "a sea of motes that come, change and go by systems",
                                 churn_build, churn_step,
                                 true,        true};
