// SPDX-License-Identifier: MIT
// Systems of random programs that write, and the descs of all systems. The actions of a system
// depend on its salt, on the tick and on the world alone.
#include "model/program_systems.h"

#include <stdarg.h>

_Atomic uint32_t program_faults, program_missing;
char program_fault_text[256];

void program_fault(const char* format, ...)
{
    if (atomic_fetch_add(&program_faults, 1) == 0) {
        va_list args;
        va_start(args, format);
        vsnprintf(program_fault_text, sizeof program_fault_text, format, args);
        va_end(args);
    }
}

// ---- systems that write -------------------------------------------------------------------------

static void run_move(orr_run* run)
{
    Spot* s = orr_write(run, Spot);
    const Speed* v = orr_read(run, Speed);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_rng rng = rng_of(run, orr_iter_entity(run, i));
        if (roll(&rng, 3) == 0) {
            s[i].x += v != NULL ? v[i].v : 1;
            s[i].y ^= roll(&rng, 64);
        }
    }
}

static void run_burn(orr_run* run)
{
    Fuel* f = orr_write(run, Fuel);
    const Spot* s = orr_read(run, Spot);
    for (uint32_t i = 0; i < run->count; i++) {
        f[i].litres = f[i].litres * 0.75f + (float)(s[i].x % 17) * run->dt;
        f[i].used += s[i].y & 3;
    }
}

// Changes the instance that the last run added.
static void orbs_change_kept(orr_run* run)
{
    Kept* kept = orr_state(run, Kept);
    if (kept->id != 0) {
        SEND(run, orr_send_change_type(run, kept->entity, TYPE(run, Orb), kept->id, &(Orb){77}));
    }
    *kept = (Kept){0};
}

static void run_orbs(orr_run* run)
{
    bool keeps = !((const program_settings*)orr_run_settings(run))->program->golden;
    if (keeps) {
        orbs_change_kept(run);
    }
    Orb* o = orr_write(run, Orb);
    orr_instances in = orr_instances_of(run, Orb);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        orr_rng rng = rng_of(run, entity);
        for (uint32_t k = 0; k < in.counts[i]; k++) {
            o[i * in.capacity + k].size += k + 1;
        }
        orr_component_id id = in.ids[i * in.capacity + roll(&rng, in.counts[i])];
        Orb value = {roll(&rng, 9)};
        switch (roll(&rng, 12)) {
        case 0:
            if (in.counts[i] < 6) {
                orr_component_id added = 0;
                SEND(run, orr_send_add_type(run, entity, TYPE(run, Orb), &value, &added));
                value.size += 100;
                if (keeps) {
                    *orr_state(run, Kept) = (Kept){entity, added};
                } else if (added != 0) { // Else there was no memory.
                    SEND(run, orr_send_change_type(run, entity, TYPE(run, Orb), added, &value));
                }
            }
            break;
        case 1:
            SEND(run, orr_send_remove_type(run, entity, TYPE(run, Orb), id));
            break;
        case 2:
            SEND(run, orr_send_change_type(run, entity, TYPE(run, Orb), id, &value));
            break;
        case 3:
            SEND_RANDOM(run, &rng,
                        orr_send_enable_type(run, entity, TYPE(run, Orb), id, roll(&rng, 2) == 0));
            break;
        default:
            break;
        }
    }
}

static void run_roots(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        orr_rng rng = rng_of(run, entity);
        Root* root = orr_write_pinned(run, Root, i);
        if (root == NULL) {
            program_fault("orr_write_pinned in roots is NULL");
            return;
        }
        root->depth += roll(&rng, 4);
        if (roll(&rng, 12) == 0) {
            SEND(run, orr_send_remove_type(run, entity, TYPE(run, Root), 0));
        }
    }
}

static void run_scribe(orr_run* run)
{
    ORR_EACH (it, orr_run_query(run)) {
        Note* n = orr_write(&it, Note);
        for (uint32_t i = 0; i < it.count; i++) {
            orr_rng rng = rng_of(run, orr_iter_entity(&it, i));
            if (roll(&rng, 3) == 0) {
                Note made = note_make(run->world, roll(&rng, 20));
                orr_string_assign(run->world, &n[i].text, made.text);
                orr_array_assign(run->world, &n[i].numbers, made.numbers);
                n[i].number = made.number;
            }
        }
    }
}

static void run_order(orr_run* run)
{
    const program_settings* s = orr_run_settings(run);
    uint32_t place = 0, last = 0;
    ORR_EACH (it, s->ordered) {
        const Spot* spot = orr_read(&it, Spot);
        for (uint32_t i = 0; i < it.count; i++) {
            Speed* v = orr_edit(run->world, orr_iter_entity(&it, i), Speed);
            if (spot[i].x < last) {
                program_fault("an ordered loop is not in order");
            }
            last = spot[i].x;
            if (v != NULL) {
                v->v = (v->v + place++) & 15;
            }
        }
    }
}

static void run_changed(orr_run* run)
{
    const Spot* spot = orr_read(run, Spot);
    Tally* t = orr_state(run, Tally);
    for (uint32_t i = 0; i < run->count; i++) {
        t->sum = t->sum * 31 + spot[i].x;
        t->count++;
    }
}

// ---- adding systems -----------------------------------------------------------------------------

static const char* const ALL =
    "Spot, Speed, Fuel, Note, Orb, Root, Purse, Friend, Gift, Calm, Kin, "
    "Leash, Weather";
static const char* const ALL_LATER =
    "Spot, Speed, Fuel, Note, Orb, Root, Purse, Friend, Gift, Calm, Kin, "
    "Leash, Weather, Glaze, orr_time, orr_time_traveller, orr_time_stretcher";

static const orr_system_desc descs[PROGRAM_KIND_COUNT] = {
    [PROGRAM_MOVE] = {.query = "write Spot, ?Speed, !Calm", .run = run_move, .parallel = true},
    [PROGRAM_BURN] = {.query = "write Fuel, Spot", .run = run_burn, .parallel = true},
    [PROGRAM_STIR] = {.query = "Spot, ?Friend",
                      .run = program_run_stir,
                      .adds = "Spot, Speed, Fuel, Note, Orb, Root, Purse, Friend, Gift, Calm",
                      .removes = "Spot, Speed, Fuel, Note, Orb, Root, Purse, Friend, Gift, Calm",
                      .switches = "Spot, Orb, *",
                      .destroys = "*",
                      .tags = "*",
                      .creates_max = 8,
                      .renames = true},
    [PROGRAM_ORBS] = {.query = "write Orb",
                      .run = run_orbs,
                      .adds = "Orb",
                      .removes = "Orb",
                      .changes = "Orb",
                      .switches = "Orb"},
    [PROGRAM_ROOTS] = {.query = "write Root", .run = run_roots, .removes = "Root"},
    [PROGRAM_SCRIBE] = {.query = "write Note", .run = run_scribe, .once = true},
    [PROGRAM_PING] = {.query = "Spot", .run = program_run_ping, .sends = "?Ping"},
    [PROGRAM_PONG] = {.run = program_run_pong,
                      .once = true,
                      .receives = "Ping",
                      .by_id = "write Speed"},
    [PROGRAM_TRADE] = {.query = "Spot, Friend", .run = program_run_trade, .transacts = "Purse"},
    [PROGRAM_SUM] = {.query = "Purse",
                     .run = program_run_sum,
                     .exports = ORR_TYPE(Total),
                     .combine = program_sum_combine,
                     .parallel = true},
    [PROGRAM_WIND] = {.query = "write Weather", .run = program_run_wind, .imports = "sum"},
    [PROGRAM_KINSHIP] = {.query = "Friend, ?Kin",
                         .run = program_run_kinship,
                         .adds = "Kin, Leash",
                         .removes = "Kin, Leash",
                         .changes = "Kin"},
    [PROGRAM_ORDER] = {.run = run_order, .once = true, .alone = true, .by_id = "Spot, write Speed"},
    [PROGRAM_CHANGED] = {.query = "changed Spot", .run = run_changed, .state = ORR_TYPE(Tally)},
    [PROGRAM_ECHO] = {.kind = ORR_INDIRECT,
                      .query = "Spot, ?write Purse, ?Orb",
                      .run = program_run_echo,
                      .start = program_echo_start,
                      .stop = program_echo_stop,
                      .creates = "Spot",
                      .creates_max = 2,
                      .receives = "Ping",
                      .state = ORR_TYPE(Tally)},
    [PROGRAM_LEDGER] = {.kind = ORR_INDIRECT,
                        .query = "Spot, ?Purse, !Calm",
                        .run = program_ledger_receive,
                        .start = program_ledger_start,
                        .state = ORR_TYPE(Ledger)},
    [PROGRAM_GIVE] = {.query = "write Gift",
                      .run = program_run_give,
                      .impure = true,
                      .state = ORR_TYPE(Tally),
                      .removes = "Gift",
                      .sends = "?Ping",
                      .transacts = "Purse"},
    [PROGRAM_TOGGLE] = {.run = program_run_toggle, .once = true},
    [PROGRAM_TRESPASS] = {.query = "Spot", .run = program_run_trespass},
    [PROGRAM_GLOW] = {.query = "Spot",
                      .run = program_run_glow,
                      .adds = "Glow",
                      .removes = "Glow",
                      .creates = "Glow",
                      .destroys = "*",
                      .creates_max = 2},
    [PROGRAM_SPY] = {.kind = ORR_INDIRECT,
                     .query = "either *, ?orr_tags, ?orr_enabled",
                     .run = program_mirror_receive,
                     .start = program_mirror_start},
    [PROGRAM_WATCH] = {.kind = ORR_INDIRECT,
                       .query = "either *, ?orr_tags, ?orr_enabled",
                       .run = program_mirror_receive,
                       .start = program_mirror_start},
    [PROGRAM_MINE] = {.query = "Spot, Friend", .run = program_run_mine, .atomics = "Purse, Root"},
    [PROGRAM_DIG] = {.query = "Orb", .run = program_run_dig, .atomics = "Orb"},
    [PROGRAM_PAINT] = {.query = "write Glaze, Spot",
                       .run = program_run_paint,
                       .parallel = true,
                       .overwrites = "Glaze",
                       .own_rows = true},
};

void program_systems_prepare(program_run* r)
{
    orr_world* world = r->world;
    ORR_REGISTER(world, Spot, Speed, Fuel, Note, Orb, Root, Kin, Leash, Purse, Friend, Gift,
                 Weather, Calm, Ping, Tally, Total, Ledger, orr_name, orr_tags, orr_enabled, Glow);
    if (!r->p->golden) {
        ORR_REGISTER(world, Glaze, Kept);
    }
    program_systems_send_prepare(r);
    for (uint32_t i = 0; i < r->p->system_count; i++) {
        r->settings[i] = (program_settings){.system = &r->p->systems[i], .program = r->p};
        if (r->p->systems[i].kind == PROGRAM_ORDER) {
            r->settings[i].ordered =
                orr_query_create(world, &(orr_query_desc){.text = "Spot", .order_by = "Spot.x"});
            PROGRAM_CHECK(r, r->settings[i].ordered != NULL, "%s", r->k.errors.text);
        }
    }
}

static orr_system system_add(program_run* r, const program_system* s, const orr_system_desc* desc)
{
    char types[200];
    return s->kind != PROGRAM_STRETCH
               ? orr_system_add(r->world, desc)
               : orr_stretcher_add(r->world, &(orr_stretcher_desc){.types = program_time_types(
                                                                       s, types, sizeof types),
                                                                   .pipeline = desc->pipeline,
                                                                   .before = desc->before});
}

bool program_system_add(program_run* r, uint32_t number)
{
    const program_system* s = &r->p->systems[number];
    orr_system_desc desc = descs[s->kind];
    bool watches = s->kind == PROGRAM_WATCH || s->kind == PROGRAM_SPY;
    bool last = watches || s->kind == PROGRAM_LEDGER; // Runs after all other systems.
    desc.name = s->name;
    desc.pipeline = r->p->pipelines[s->pipeline].name;
    desc.settings = &r->settings[number];
    desc.every = s->every;
    desc.parallel = desc.parallel && s->parallel;
    desc.group = last ? "watchers" : s->group;
    // A queue that is full is emptied, and the ledger begins anew.
    desc.messages_max = s->kind == PROGRAM_LEDGER && s->salt % 4 == 0 ? 200 : 0;
    if (!r->p->golden && s->kind == PROGRAM_ORBS) {
        desc.state = ORR_TYPE(Kept);
    }
    desc.before = last ? NULL : "?watchers";
    if (s->kind == PROGRAM_STIR || s->kind == PROGRAM_TRADE || s->kind == PROGRAM_PING) {
        desc.parallel = s->parallel;
        desc.creates = s->kind != PROGRAM_STIR ? NULL : r->p->golden ? ALL : ALL_LATER;
    }
    if (watches) {
        desc.user = r->mirrors[s->kind == PROGRAM_SPY];
    } else if (s->kind == PROGRAM_GIVE) {
        desc.user = &r->gifts;
    }
    if (s->kind == PROGRAM_MINE) {
        desc.parallel = s->parallel;
    } else if (s->kind == PROGRAM_PAINT) {
        desc.main_thread = !s->parallel;
    }
    orr_system made;
    program_arm(r);
    made = system_add(r, s, &desc);
    if (program_refused(r) && made.id == 0) {
        program_unchanged(r, "orr_system_add");
        made = system_add(r, s, &desc);
    }
    return made.id != 0;
}
