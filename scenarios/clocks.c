// SPDX-License-Identifier: MIT
// Three clocks in one world; see clocks.h.
// A row of Position is whole if x + y matches its tick and `echo` equals its tick: `move` writes x
// and tick, `settle` writes y and echo. A row of Health is whole if hp and wounds sum to 1000:
// `wound` and `mend`. A row with tick 0 is new: its owner has not processed it yet. Heat and Scars
// are read in place: they are inconsistent within a system and whole when it ends.
//
// Counting faults is not part of the simulation: nothing depends on the counts. Systems reach the
// counters through their settings.
#include "clocks.h"

#include <string.h>

ORR_STRUCT(Position, (int32_t, x), (int32_t, y), (uint32_t, tick), (uint32_t, echo))
ORR_STRUCT(Velocity, (int32_t, x), (int32_t, y), (uint32_t, tick), (uint32_t, kicks))
// `seen`: the tick of Position that logic saw last. `since`: 1 + the tick of physics when the row
// was first seen as new.
ORR_STRUCT(Health, (int32_t, hp, (.preset = "1000")), (int32_t, wounds), (uint32_t, tick),
           (uint32_t, echo), (uint32_t, seen), (uint32_t, since))
ORR_STRUCT_EX(Heat, (.live = true), (uint32_t, degrees), (uint32_t, tick), (uint32_t, check))
ORR_STRUCT_EX(Scar, (.multiplicity = ORR_MULTIPLE), (uint32_t, tick), (uint32_t, check))
ORR_STRUCT(Target, (orr_entity, who), (int32_t, near))
ORR_STRUCT_EX(Drawn, (.transient = true), (int32_t, x), (uint32_t, seen), (uint32_t, health_seen))
ORR_STRUCT(Hit, (orr_entity, who), (uint64_t, serial))

// Result of a pass over all rows, combined from parts: minimum and maximum tick of rows that are
// not new.
ORR_STRUCT(Span, (uint32_t, least, (.preset = "4294967295")), (uint32_t, most), (uint32_t, rows))
ORR_STRUCT(Roll, (int64_t, count), (uint64_t, messages)) // By messages.
ORR_STRUCT(Census, (uint32_t, alive))
ORR_STRUCT(Newest, (orr_entity, who, 16), (uint32_t, next)) // The newest entities; a ring.
ORR_STRUCT(Heard, (uint64_t, serial), (uint64_t, digest))   // The last event.

enum {
    CLOCKS_SIZE = 2000,
    CLOCKS_PLANT_TICK = 50,
    CLOCKS_WHOLE = 1000, // Sum of hp and wounds.
    CLOCKS_HARM = 5,     // Wounds per tick: a life takes 200 ticks of logic.
    CLOCKS_BIRTHS = 256, // Maximum per tick.
    CLOCKS_WALL = 1 << 20,
    CLOCKS_FAST = 1 << 12,
    CLOCKS_BATCH = 500
};

static void clocks_count(_Atomic uint64_t* counter, uint64_t more)
{
    if (more > 0) {
        atomic_fetch_add(counter, more);
    }
}

static clocks* clocks_of(const orr_run* run)
{
    return *(clocks* const*)orr_run_settings(run); // clocks.self
}

static void clocks_say(const orr_run* run, clocks_fault fault, uint64_t count)
{
    clocks_count(&clocks_of(run)->found[fault], count);
}

static bool clocks_planted(const orr_run* run, clocks_plant plant)
{
    const clocks_desc* desc = &clocks_of(run)->desc;
    return desc->plant == plant && run->tick == desc->plant_tick;
}

// Ticks as stored in rows: from 1.
static uint32_t clocks_now(const orr_run* run)
{
    return (uint32_t)run->tick + 1;
}

static int32_t clocks_sum(uint32_t tick)
{
    return (int32_t)(tick % 100003u * 7919u % 1000003u);
}

static void clocks_half(const orr_run* run)
{
    if (clocks_of(run)->desc.half != NULL) {
        clocks_of(run)->desc.half();
    }
}

static uint32_t clocks_check(uint32_t degrees, uint32_t tick)
{
    return (degrees ^ 0x5bd1e995u) * 2654435761u + tick * 40503u;
}

// ---- whole rows ---------------------------------------------------------------------------------

static bool clocks_position_torn(const Position* p)
{
    return p->echo != p->tick || p->x + p->y != clocks_sum(p->tick);
}

static bool clocks_health_torn(const Health* h)
{
    return h->echo != h->tick || h->hp + h->wounds != CLOCKS_WHOLE;
}

static void clocks_span_add(Span* span, uint32_t tick)
{
    span->rows++;
    if (tick != 0) {
        span->least = tick < span->least ? tick : span->least;
        span->most = tick > span->most ? tick : span->most;
    }
}

static void clocks_span_combine(void* into, const void* part)
{
    Span* a = into;
    const Span* b = part;
    a->least = b->least < a->least ? b->least : a->least;
    a->most = b->most > a->most ? b->most : a->most;
    a->rows += b->rows;
}

// All rows of one pass must have the same tick.
static void clocks_span_check(const orr_run* run, const Span* span)
{
    clocks_say(run, CLOCKS_UNEQUAL, span->most != 0 && span->least != span->most);
}

// Events must arrive in the order of their serial numbers, each once.
static uint32_t clocks_hits_read(orr_run* run)
{
    Heard* heard = orr_state(run, Heard);
    uint32_t count, wrong = 0;
    const Hit* hits = orr_events(run, Hit, &count);
    for (uint32_t i = 0; i < count; i++) {
        wrong += hits[i].serial != heard->serial + 1;
        heard->serial = hits[i].serial;
        heard->digest = heard->digest * 31 + hits[i].who.id;
    }
    clocks_say(run, CLOCKS_EVENT, wrong);
    return count;
}

// ---- physics ------------------------------------------------------------------------------------

static void clocks_receive(orr_run* run)
{
    clocks_count(&clocks_of(run)->heard, clocks_hits_read(run));
}

static void clocks_bounce(Position* p, Velocity* v)
{
    v->x = v->x > CLOCKS_FAST ? CLOCKS_FAST : v->x < -CLOCKS_FAST ? -CLOCKS_FAST : v->x;
    bool out = p->x + v->x < 0 || p->x + v->x > CLOCKS_WALL;
    v->x = out ? -v->x : v->x;
    v->y = -v->x;
    p->x += v->x;
}

static void clocks_move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    Velocity* v = orr_write(run, Velocity);
    uint32_t now = clocks_now(run), torn = 0, unequal = 0, unbalanced = 0;
    bool half = clocks_planted(run, CLOCKS_PLANT_HALF_ROWS);
    bool old = clocks_planted(run, CLOCKS_PLANT_OLD_ROWS);
    for (uint32_t i = 0; i < run->count; i++) {
        torn += clocks_position_torn(&p[i]);
        unequal += (p[i].tick != 0 && p[i].tick != now - 1) || v[i].tick != p[i].tick;
        unbalanced += v[i].x + v[i].y != 0;
        if (half && i % 2 != 0) {
            continue;
        }
        clocks_bounce(&p[i], &v[i]);
        p[i].tick = v[i].tick = old ? now - 10 : now;
    }
    clocks_say(run, CLOCKS_TORN, torn);
    clocks_say(run, CLOCKS_UNEQUAL, unequal);
    clocks_say(run, CLOCKS_UNBALANCED, unbalanced);
    clocks_count(&clocks_of(run)->moved, run->count);
}

// Entities created since `move` wait for the next tick.
static void clocks_settle(orr_run* run)
{
    Position* p = orr_write(run, Position);
    if (clocks_planted(run, CLOCKS_PLANT_HALF_TICK)) {
        return;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].echo = p[i].tick;
        p[i].y = clocks_sum(p[i].tick) - p[i].x;
    }
}

// The same system that makes a row inconsistent repairs it: readers are not locked out in between.
static void clocks_glow(orr_run* run)
{
    Heat* heat = orr_write(run, Heat);
    const Position* p = orr_read(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        heat[i].degrees = (uint32_t)p[i].x;
        heat[i].tick = clocks_now(run);
    }
    clocks_half(run);
    if (clocks_planted(run, CLOCKS_PLANT_HALF_HEAT)) {
        return;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        heat[i].check = clocks_check(heat[i].degrees, heat[i].tick);
    }
}

static void clocks_ache(orr_run* run)
{
    const Scar* scars = orr_read(run, Scar);
    orr_instances n = orr_instances_of(run, Scar);
    uint64_t torn = 0, count = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        for (uint32_t k = 0; k < n.counts[i]; k++, count++) {
            const Scar* scar = &scars[i * n.capacity + k];
            torn += scar->check != clocks_check(k, scar->tick);
        }
    }
    clocks_say(run, CLOCKS_TORN, torn);
    clocks_count(&clocks_of(run)->ached, count);
}

// Physics reads the types that logic writes.
static void clocks_probe(orr_run* run)
{
    Span* span = orr_export(run, Span);
    const Health* h = orr_read(run, Health);
    uint32_t torn = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        torn += clocks_health_torn(&h[i]);
        clocks_span_add(span, h[i].tick);
    }
    clocks_say(run, CLOCKS_TORN, torn);
    clocks_count(&clocks_of(run)->probed, run->count);
}

static void clocks_probed(orr_run* run)
{
    clocks_span_check(run, orr_import(run, "probe", Span));
}

// ---- logic: looking -----------------------------------------------------------------------------

static void clocks_gauge(orr_run* run)
{
    Span* span = orr_export(run, Span);
    const Position* p = orr_read(run, Position);
    const Velocity* v = orr_read(run, Velocity);
    uint32_t torn = 0, unequal = 0, unbalanced = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        torn += clocks_position_torn(&p[i]);
        unequal += v[i].tick != p[i].tick;
        unbalanced += v[i].x + v[i].y != 0;
        clocks_span_add(span, p[i].tick);
    }
    clocks_say(run, CLOCKS_TORN, torn);
    clocks_say(run, CLOCKS_UNEQUAL, unequal);
    clocks_say(run, CLOCKS_UNBALANCED, unbalanced);
    clocks_count(&clocks_of(run)->looked, run->count);
}

static void clocks_gauged(orr_run* run)
{
    clocks_span_check(run, orr_import(run, "gauge", Span));
}

static void clocks_roll(orr_run* run) // Indirect: counts entities by messages.
{
    Roll* roll = orr_export(run, Roll);
    ORR_MESSAGES(m, run)
    {
        int64_t count = (int64_t)m->count;
        roll->count += m->kind == ORR_ENTITY_ADDED     ? count
                       : m->kind == ORR_ENTITY_REMOVED ? -count
                                                       : 0;
        roll->messages++;
    }
}

static void clocks_census(orr_run* run)
{
    Census* census = orr_export(run, Census);
    census->alive = 0;
    ORR_EACH (it, orr_run_query(run)) {
        census->alive += it.count;
    }
    clocks_say(run, CLOCKS_ROLL, orr_import(run, "roll", Roll)->count != census->alive);
}

static void clocks_feel(orr_run* run) // Also used by draw.
{
    const Heat* heat = orr_read(run, Heat);
    uint64_t torn = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        torn += heat[i].tick != 0 && heat[i].check != clocks_check(heat[i].degrees, heat[i].tick);
    }
    clocks_say(run, CLOCKS_TORN, torn);
    clocks_count(&clocks_of(run)->felt, run->count);
}

// ---- logic: lives -------------------------------------------------------------------------------

// Compares a row of physics with its state when logic saw it last.
static void clocks_follow(const orr_run* run, Health* h, const Position* p, const Span* span)
{
    bool fresh = p->tick == 0;
    clocks_say(run, CLOCKS_BACKWARDS, p->tick < h->seen);
    clocks_say(run, CLOCKS_MOVED_ON, !fresh && p->tick != span->most);
    h->seen = p->tick;
    // Physics may be in the middle of its next tick when the row is created. The tick after that
    // must include the row.
    clocks_say(run, CLOCKS_FORGOTTEN, fresh && h->since != 0 && span->most >= h->since + 1);
    h->since = !fresh ? 0 : h->since == 0 ? span->most + 1 : h->since;
}

static void clocks_wound(orr_run* run)
{
    const Span* span = orr_import(run, "gauge", Span);
    Health* h = orr_write(run, Health);
    const Position* p = orr_read(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        clocks_follow(run, &h[i], &p[i], span);
        h[i].wounds += CLOCKS_HARM;
        h[i].tick = clocks_now(run);
    }
}

static void clocks_mend(orr_run* run)
{
    Health* h = orr_write(run, Health);
    if (clocks_planted(run, CLOCKS_PLANT_HALF_LOGIC)) {
        return;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        h[i].hp = CLOCKS_WHOLE - h[i].wounds;
        h[i].echo = h[i].tick;
        if (h[i].hp <= 0) {
            orr_send_destroy(run, orr_iter_entity(run, i));
        }
    }
}

// Scars are added one by one and removed together.
static void clocks_scar(orr_run* run)
{
    const Scar* scars = orr_read(run, Scar);
    orr_instances n = scars != NULL ? orr_instances_of(run, Scar) : (orr_instances){0};
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity self = orr_iter_entity(run, i);
        uint32_t count = scars != NULL ? n.counts[i] : 0;
        if (orr_run_random(run, self) % 64 != 1) {
            continue;
        }
        if (count >= 3) {
            orr_send_remove(run, self, Scar);
        } else {
            orr_send_add(run, self, Scar, {0, clocks_check(count, 0)});
        }
    }
}

static void clocks_fester(orr_run* run)
{
    Scar* scars = orr_write(run, Scar);
    orr_instances n = orr_instances_of(run, Scar);
    bool half = clocks_planted(run, CLOCKS_PLANT_HALF_SCAR);
    for (uint32_t i = 0; i < run->count; i++) {
        for (uint32_t k = 0; k < n.counts[i]; k++) {
            scars[i * n.capacity + k].tick = clocks_now(run);
        }
    }
    clocks_half(run);
    for (uint32_t i = 0; i < run->count && !half; i++) {
        for (uint32_t k = 0; k < n.counts[i]; k++) {
            Scar* scar = &scars[i * n.capacity + k];
            scar->check = clocks_check(k, scar->tick);
        }
    }
}

// Creates many entities per tick, so that their number stays constant.
static void clocks_spawn(orr_run* run)
{
    const Census* census = orr_import(run, "census", Census);
    Newest* newest = orr_export(run, Newest);
    uint32_t size = clocks_of(run)->desc.size;
    uint32_t missing = census->alive < size ? size - census->alive : 0;
    missing = missing < CLOCKS_BIRTHS ? missing : CLOCKS_BIRTHS;
    for (uint32_t i = 0; i < missing; i++) {
        uint64_t random = orr_random(run->tick, i, 1, 0);
        int32_t x = (int32_t)orr_random_below(random, CLOCKS_WALL);
        int32_t speed = (int32_t)orr_random_below(random << 20, 2 * 64) - 64;
        orr_entity one = orr_send_create(run);
        orr_send_add(run, one, Position, {x, clocks_sum(0) - x, 0, 0});
        orr_send_add(run, one, Velocity, {speed, -speed, 0, 0});
        orr_send_add(run, one, Health, {.hp = CLOCKS_WHOLE});
        orr_send_add(run, one, Heat, {0});
        orr_send_add(run, one, Target, {newest->who[newest->next % 16], 0});
        newest->who[newest->next++ % 16] = one;
    }
    clocks_count(&clocks_of(run)->born, missing);
}

// ---- logic: targets -----------------------------------------------------------------------------

static void clocks_aim(orr_run* run)
{
    const Span* span = orr_import(run, "gauge", Span);
    const Newest* newest = orr_import(run, "spawn", Newest);
    Target* t = orr_write(run, Target);
    const Position* p = orr_read(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        bool alive = orr_alive(run->world, t[i].who);
        const Position* other = alive ? orr_get(run->world, t[i].who, Position) : NULL;
        if (other == NULL) {
            orr_entity self = orr_iter_entity(run, i);
            t[i] = (Target){newest->who[orr_run_random(run, self) % 16], 0};
            continue;
        }
        clocks_say(run, CLOCKS_TORN, clocks_position_torn(other));
        clocks_say(run, CLOCKS_MOVED_ON, other->tick != 0 && other->tick != span->most);
        t[i].near = other->x - p[i].x;
    }
}

// The transactions on one target are applied as a whole.
static void clocks_strike(orr_run* run)
{
    const Target* t = orr_read(run, Target);
    bool half = clocks_planted(run, CLOCKS_PLANT_HALF_KICK);
    uint64_t kicks = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t random = orr_run_random(run, orr_iter_entity(run, i));
        if (random % 16 == 0 && orr_alive(run->world, t[i].who)) {
            int32_t kick = t[i].near > 0 ? 16 : -16;
            orr_transact(run, ORR_OP_ADD, t[i].who, Velocity, x, kick);
            orr_transact(run, ORR_OP_ADD, t[i].who, Velocity, y, half ? 0 : -kick);
            orr_transact(run, ORR_OP_ADD, t[i].who, Velocity, kicks, 1);
            kicks++;
        }
    }
    clocks_count(&clocks_of(run)->kicks, kicks);
}

static void clocks_judge(orr_run* run)
{
    Heard* sent = orr_state(run, Heard);
    uint64_t before = sent->serial;
    sent->serial += clocks_planted(run, CLOCKS_PLANT_EVENT);
    ORR_EACH (it, orr_run_query(run)) {
        const Target* t = orr_read(&it, Target);
        for (uint32_t i = (uint32_t)run->tick % 61; i < it.count; i += 61) {
            orr_send_event(run, Hit, {t[i].who, ++sent->serial});
        }
    }
    clocks_count(&clocks_of(run)->hits, sent->serial - before);
}

// ---- drawing ------------------------------------------------------------------------------------

static void clocks_welcome(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_send_add(run, orr_iter_entity(run, i), Drawn, {0});
    }
}

static void clocks_glance(orr_run* run)
{
    Span* span = orr_export(run, Span);
    const Position* p = orr_read(run, Position);
    const Velocity* v = orr_read(run, Velocity);
    uint32_t torn = 0, unequal = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        torn += clocks_position_torn(&p[i]);
        unequal += v[i].tick != p[i].tick;
        clocks_span_add(span, p[i].tick);
    }
    clocks_say(run, CLOCKS_TORN, torn);
    clocks_say(run, CLOCKS_UNEQUAL, unequal);
}

static void clocks_paint(orr_run* run)
{
    const Position* p = orr_read(run, Position);
    const Health* h = orr_read(run, Health);
    const Span* span = orr_import(run, "glance", Span);
    for (uint32_t i = 0; i < run->count; i++) {
        Drawn* drawn = orr_write_pinned(run, Drawn, i);
        clocks_say(run, CLOCKS_TORN, clocks_position_torn(&p[i]) + clocks_health_torn(&h[i]));
        clocks_say(run, CLOCKS_BACKWARDS, p[i].tick < drawn->seen);
        clocks_say(run, CLOCKS_BACKWARDS, h[i].tick < drawn->health_seen);
        clocks_say(run, CLOCKS_MOVED_ON, p[i].tick != 0 && p[i].tick != span->most);
        *drawn = (Drawn){p[i].x, p[i].tick, h[i].tick};
    }
    clocks_count(&clocks_of(run)->drawn, run->count);
}

static void clocks_glanced(orr_run* run)
{
    clocks_span_check(run, orr_import(run, "glance", Span));
}

static void clocks_boom(orr_run* run)
{
    clocks_count(&clocks_of(run)->boomed, clocks_hits_read(run));
}

// ---- building -----------------------------------------------------------------------------------

typedef struct clocks_part {
    const char* name;
    void (*run)(orr_run* run);
    const char* query;
    bool once, parallel, indirect;
    const char *by_id, *imports, *creates, *destroys, *adds, *removes, *transacts, *sends,
        *receives;
    const orr_type_desc *state, *exports;
} clocks_part;

static const clocks_part clocks_physics[] = {
    {"hear", clocks_receive, .once = true, .receives = "Hit", .state = ORR_TYPE(Heard)},
    {"move", clocks_move, "write Position, write Velocity", .parallel = true},
    {"settle", clocks_settle, "write Position", .parallel = true},
    {"glow", clocks_glow, "write Heat, Position", .parallel = true},
    {"ache", clocks_ache, "Scar", .parallel = true},
    {"probe", clocks_probe, "Health", .parallel = true, .exports = ORR_TYPE(Span)},
    {"probed", clocks_probed, .once = true, .imports = "probe"}};

static const clocks_part clocks_logic[] = {
    {"gauge", clocks_gauge, "Position, Velocity", .parallel = true, .exports = ORR_TYPE(Span)},
    {"gauged", clocks_gauged, .once = true, .imports = "gauge"},
    {"roll", clocks_roll, "Target", .indirect = true, .exports = ORR_TYPE(Roll)},
    {"census", clocks_census, "Target", .once = true, .imports = "roll",
     .exports = ORR_TYPE(Census)},
    {"wound", clocks_wound, "write Health, Position", .parallel = true, .imports = "gauge"},
    {"feel", clocks_feel, "Heat", .parallel = true},
    {"scar", clocks_scar, "?Scar, Target", .adds = "Scar", .removes = "Scar"},
    {"fester", clocks_fester, "write Scar", .parallel = true},
    {"mend", clocks_mend, "write Health", .parallel = true, .destroys = "Health"},
    {"aim", clocks_aim, "write Target, Position", .parallel = true, .by_id = "Position",
     .imports = "gauge, spawn"},
    {"strike", clocks_strike, "Target", .parallel = true, .transacts = "Velocity"},
    {"judge", clocks_judge, "Target", .once = true, .sends = "Hit", .state = ORR_TYPE(Heard)},
    {"spawn", clocks_spawn, .once = true, .imports = "census",
     .creates = "Position, Velocity, Health, Heat, Target", .exports = ORR_TYPE(Newest)}};

static const clocks_part clocks_draw[] = {
    {"welcome", clocks_welcome, "Position, !Drawn", .adds = "Drawn"},
    {"glance", clocks_glance, "Position, Velocity", .parallel = true, .exports = ORR_TYPE(Span)},
    {"warm", clocks_feel, "Heat", .parallel = true},
    {"glanced", clocks_glanced, .once = true, .imports = "glance"},
    {"paint", clocks_paint, "write Drawn, Position, Health", .parallel = true, .imports = "glance"},
    {"boom", clocks_boom, .once = true, .receives = "Hit", .state = ORR_TYPE(Heard)}};

static bool clocks_parts_add(orr_world* world, clocks* const* self, const char* pipeline,
                             const clocks_part* parts, size_t count)
{
    bool done = true;
    for (size_t i = 0; i < count && done; i++) {
        const clocks_part* p = &parts[i];
        bool sums = p->parallel && p->exports != NULL;
        orr_system_desc desc = {.name = p->name,
                                .kind = p->indirect ? ORR_INDIRECT : ORR_DIRECT,
                                .run = p->run,
                                .query = p->query,
                                .once = p->once,
                                .parallel = p->parallel,
                                .by_id = p->by_id,
                                .imports = p->imports,
                                .creates = p->creates,
                                .destroys = p->destroys,
                                .adds = p->adds,
                                .removes = p->removes,
                                .transacts = p->transacts,
                                .sends = p->sends,
                                .receives = p->receives,
                                .state = p->state,
                                .exports = p->exports,
                                .combine = sums ? clocks_span_combine : NULL,
                                .pipeline = pipeline,
                                .settings = self};
        done = orr_system_add(world, &desc).id != 0;
    }
    return done;
}

// Entities of every age, so that about the same number dies in every tick.
static bool clocks_fill(orr_world* world, uint32_t size)
{
    orr_cluster cluster;
    if (orr_cluster_get(
            world, &(orr_cluster_desc){ORR_TYPES(world, Position, Velocity, Health, Heat, Target)},
            &cluster) != ORR_OK) {
        return false;
    }
    Position p[CLOCKS_BATCH];
    Velocity v[CLOCKS_BATCH];
    Health h[CLOCKS_BATCH];
    orr_column_data data[] = {{orr_type_of(world, ORR_TYPE(Position)), p},
                              {orr_type_of(world, ORR_TYPE(Velocity)), v},
                              {orr_type_of(world, ORR_TYPE(Health)), h}};
    for (uint32_t done = 0, batch; done < size; done += batch) {
        batch = size - done < CLOCKS_BATCH ? size - done : CLOCKS_BATCH;
        for (uint32_t i = 0; i < batch; i++) {
            uint64_t random = orr_random(done + i, 2, 0, 0);
            int32_t x = (int32_t)orr_random_below(random, CLOCKS_WALL);
            int32_t speed = (int32_t)orr_random_below(random << 20, 2 * 64) - 64;
            int32_t wounds = (int32_t)((uint64_t)(done + i) * CLOCKS_WHOLE / size);
            p[i] = (Position){x, clocks_sum(0) - x, 0, 0};
            v[i] = (Velocity){speed, -speed, 0, 0};
            h[i] = (Health){.hp = CLOCKS_WHOLE - wounds, .wounds = wounds};
        }
        if (orr_create_many(world, cluster, batch, data, 3, NULL) != ORR_OK) {
            return false;
        }
    }
    return true;
}

#define CLOCKS_COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool clocks_draw_add(clocks* c, orr_world* world)
{
    orr_pipeline_desc desc = {.name = CLOCKS_DRAW, .rate_hz = c->desc.draw_hz, .spectator = true};
    ORR_REGISTER(world, Drawn);
    return orr_pipeline_add(world, &desc).id != 0 &&
           clocks_parts_add(world, &c->self, CLOCKS_DRAW, clocks_draw, CLOCKS_COUNT(clocks_draw));
}

bool clocks_build(clocks* c, orr_world* world, const clocks_desc* desc)
{
    memset(c, 0, sizeof *c);
    c->desc = *desc;
    c->self = c;
    c->desc.size = desc->size != 0 ? desc->size : CLOCKS_SIZE;
    c->desc.physics_hz = desc->physics_hz > 0 ? desc->physics_hz : CLOCKS_PHYSICS_HZ;
    c->desc.plant_tick = desc->plant_tick != 0 ? desc->plant_tick : CLOCKS_PLANT_TICK;
    ORR_REGISTER(world, Position, Velocity, Health, Heat, Scar, Target, Hit);
    orr_pipeline_desc physics = {.name = CLOCKS_PHYSICS, .rate_hz = c->desc.physics_hz};
    return orr_pipeline_add(world, &physics).id != 0 && clocks_fill(world, c->desc.size) &&
           clocks_parts_add(world, &c->self, CLOCKS_PHYSICS, clocks_physics,
                            CLOCKS_COUNT(clocks_physics)) &&
           clocks_parts_add(world, &c->self, NULL, clocks_logic, CLOCKS_COUNT(clocks_logic)) &&
           (c->desc.no_draw || clocks_draw_add(c, world));
}

#undef CLOCKS_COUNT

uint64_t clocks_faults(const clocks* c)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CLOCKS_FAULTS; i++) {
        sum += atomic_load(&c->found[i]);
    }
    return sum;
}

const char* clocks_fault_name(clocks_fault fault)
{
    static const char* const names[CLOCKS_FAULTS] = {
        "torn", "unequal", "backwards", "forgotten", "moved on", "unbalanced", "event", "roll"};
    return fault < CLOCKS_FAULTS ? names[fault] : "unknown";
}
