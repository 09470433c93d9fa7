// SPDX-License-Identifier: MIT
// Systems of random programs that send. A send that is refused for lack of memory has no effect and
// is made again, so that a run with refused memory has the same result.
#include "model/program_systems.h"

// Types are registered when a file first names them, which allocates.
void program_systems_send_prepare(program_run* r)
{
    ORR_REGISTER(r->world, Spot, Speed, Fuel, Note, Orb, Root, Kin, Leash, Purse, Friend, Gift,
                 Weather, Calm, Ping, Tally, Total, Glow);
    if (!r->p->golden) {
        ORR_REGISTER(r->world, Glaze);
    }
}

// ---- a system that sends everything -------------------------------------------------------------

static void stir_create(orr_run* run, orr_rng* rng, orr_entity friend)
{
    orr_entity made = orr_send_create(run);
    if (made.id == 0) { // Refused for lack of memory, or beyond creates_max.
        made = orr_send_create(run);
    }
    if (made.id == 0) {
        atomic_fetch_add(&program_missing, 1);
        return;
    }
    SEND_RANDOM(run, rng, orr_send_add(run, made, Spot, {roll(rng, 50), roll(rng, 50)}));
    SEND(run, orr_send_add(run, made, Friend, {friend}));
    if (roll(rng, 2) == 0) {
        SEND(run, orr_send_add_preset(run, made, Fuel));
        SEND(run, orr_send_add(run, made, Purse, {5, 1}));
    }
    if (roll(rng, 2) == 0) {
        SEND_RANDOM(run, rng, orr_send_add(run, made, Root, {roll(rng, 5)}));
        SEND_RANDOM(run, rng, orr_send_add(run, made, Orb, {roll(rng, 5)}));
        SEND_RANDOM(run, rng, orr_send_tag(run, made, 1 + roll(rng, 3), true));
    }
}

static void stir_add(orr_run* run, orr_rng* rng, orr_entity entity)
{
    Note note;
    switch (roll(rng, 8)) {
    case 0:
        SEND_RANDOM(run, rng, orr_send_add(run, entity, Speed, {roll(rng, 9)}));
        break;
    case 1:
        SEND_RANDOM(run, rng, orr_send_add(run, entity, Purse, {(int32_t)roll(rng, 9), 2}));
        break;
    case 2:
        SEND_RANDOM(run, rng, orr_send_add(run, entity, Root, {roll(rng, 9)}));
        break;
    case 3:
        SEND_RANDOM(run, rng, orr_send_add(run, entity, Orb, {roll(rng, 9)}));
        break;
    case 4:
        note = note_make(run->world, roll(rng, 20));
        SEND(run, orr_send_put(run, entity, Note, &note));
        break;
    case 5:
        SEND(run, orr_send_add_preset(run, entity, Calm));
        break;
    case 6:
        SEND(run, orr_send_add_preset(run, entity, Gift));
        break;
    default:
        SEND(run, orr_send_add_preset(run, entity, Fuel));
        break;
    }
}

static void stir_remove(orr_run* run, orr_rng* rng, orr_entity entity)
{
    const orr_type_desc* const descs[] = {ORR_TYPE(Speed), ORR_TYPE(Purse), ORR_TYPE(Root),
                                          ORR_TYPE(Orb),   ORR_TYPE(Note),  ORR_TYPE(Calm),
                                          ORR_TYPE(Fuel),  ORR_TYPE(Gift),  ORR_TYPE(Spot)};
    SEND_RANDOM(run, rng, orr_send_remove_type(run, entity, type_of(run, descs[roll(rng, 9)]), 0));
}

static void stir_row(orr_run* run, orr_rng* rng, orr_entity entity, orr_entity friend)
{
    orr_entity target = roll(rng, 3) == 0 && friend.id != 0 ? friend : entity; // May be dead.
    char name[16];
    switch (roll(rng, 13)) {
    case 0:
        stir_create(run, rng, entity);
        break;
    case 12:
        SEND(run, orr_send_create_many(run, orr_iter_cluster(run, NULL), 1, NULL, 0, NULL));
        break;
    case 1:
    case 2:
    case 3:
        stir_add(run, rng, target);
        break;
    case 4:
    case 5:
        stir_remove(run, rng, target);
        break;
    case 6:
        SEND_RANDOM(run, rng, orr_send_tag(run, target, 1 + roll(rng, 3), roll(rng, 2) == 0));
        break;
    case 7:
        SEND_RANDOM(run, rng,
                    orr_send_enable_type(run, target, TYPE(run, Spot), 0, roll(rng, 2) == 0));
        break;
    case 8:
        SEND_RANDOM(run, rng,
                    orr_send_enable_type(run, target, (orr_type){0}, 0, roll(rng, 3) != 0));
        break;
    case 9:
        SEND(run, orr_send_destroy(run, target));
        break;
    case 10:
        snprintf(name, sizeof name, "n%u", roll(rng, 30));
        SEND_RANDOM(run, rng,
                    orr_send_name(run, target, (orr_entity){0}, roll(rng, 3) == 0 ? NULL : name));
        break;
    default:
        SEND_RANDOM(run, rng,
                    orr_send_enable_type(run, target, TYPE(run, Orb), 0, roll(rng, 2) == 0));
        break;
    }
}

void program_run_stir(orr_run* run)
{
    const Friend* f = orr_read(run, Friend);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        orr_rng rng = rng_of(run, entity);
        if (roll(&rng, 6) == 0) {
            stir_row(run, &rng, entity, f != NULL ? f[i].entity : (orr_entity){0});
        }
    }
}

void program_run_kinship(orr_run* run)
{
    const Friend* f = orr_read(run, Friend);
    const Kin* k = orr_read(run, Kin);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        orr_rng rng = rng_of(run, entity);
        bool there = orr_alive(run->world, f[i].entity);
        switch (roll(&rng, 8)) {
        case 0:
            if (there && k == NULL) {
                SEND_RANDOM(run, &rng,
                            orr_send_add(run, entity, Kin, {f[i].entity, roll(&rng, 4)}));
            }
            break;
        case 1:
            if (there && k != NULL) {
                SEND(run, orr_send_change(run, entity, Kin, {f[i].entity, k[i].degree + 1}));
            }
            break;
        case 2:
            if (there && f[i].entity.id != entity.id) {
                SEND(run, orr_send_add(run, entity, Leash, {f[i].entity}));
            }
            break;
        case 3:
            SEND(run, orr_send_remove(run, entity, Leash));
            break;
        case 4:
            SEND(run, orr_send_remove(run, entity, Kin));
            break;
        default:
            break;
        }
    }
}

// ---- events, transactions, exports --------------------------------------------------------------

void program_run_ping(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        orr_rng rng = rng_of(run, entity);
        if (roll(&rng, 4) == 0) {
            SEND_RANDOM(run, &rng, orr_send_event(run, Ping, {entity, roll(&rng, 100)}));
        }
    }
}

void program_run_pong(orr_run* run)
{
    uint32_t count;
    const Ping* pings = orr_events(run, Ping, &count);
    for (uint32_t i = 0; i < count; i++) {
        Speed* v = orr_alive(run->world, pings[i].from) ? orr_edit(run->world, pings[i].from, Speed)
                                                        : NULL;
        if (v != NULL) {
            v->v = (v->v * 3 + pings[i].number) & 15;
        }
    }
}

static void trade_mix(const orr_world* world, orr_entity target, void* value, const void* argument,
                      uint32_t size)
{
    (void)size;
    (void)world, (void)target;
    Purse* purse = value;
    uint32_t number;
    memcpy(&number, argument, sizeof number);
    purse->coins = purse->coins * 31 + number;
}

void program_run_trade(orr_run* run)
{
    const Friend* f = orr_read(run, Friend);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        orr_rng rng = rng_of(run, entity);
        orr_entity target = f[i].entity.id != 0 ? f[i].entity : entity;
        int32_t number = (int32_t)roll(&rng, 20) - 10;
        switch (roll(&rng, 10)) {
        case 0:
            SEND(run, orr_transact(run, ORR_OP_ADD, target, Purse, gold, number));
            break;
        case 1:
            SEND(run, orr_transact(run, ORR_OP_MAX, target, Purse, gold, number));
            break;
        case 2:
            SEND(run, orr_transact(run, ORR_OP_SET, target, Purse, gold, number));
            break;
        case 3: {
            uint32_t argument = (uint32_t)number;
            SEND(run, orr_transact_call(run, target, TYPE(run, Purse), 0, trade_mix, &argument,
                                        sizeof argument));
            break;
        }
        default:
            break;
        }
    }
}

void program_run_sum(orr_run* run)
{
    const Purse* purse = orr_read(run, Purse);
    Total* total = orr_export(run, Total);
    for (uint32_t i = 0; i < run->count; i++) {
        total->sum = total->sum * 31 + (uint32_t)purse[i].gold;
    }
}

void program_sum_combine(void* into, const void* part)
{
    ((Total*)into)->sum = ((Total*)into)->sum * 7 + ((const Total*)part)->sum;
}

void program_run_wind(orr_run* run)
{
    Weather* w = orr_write(run, Weather);
    const Total* total = orr_import(run, "sum", Total);
    for (uint32_t i = 0; i < run->count; i++) {
        w[i].wind += (uint32_t)total->sum % 5;
    }
}

// ---- atomic sections, rows that are overwritten -------------------------------------------------

// Sums, so that the order of sections, which depends on timing, has no effect.
static void mine_purse(void* value, void* user)
{
    ((Purse*)value)->coins += *(const uint32_t*)user;
}

static void mine_root(void* value, void* user)
{
    ((Root*)value)->depth += *(const uint32_t*)user;
}

static void dig_orb(void* value, void* user)
{
    ((Orb*)value)->size += *(const uint32_t*)user;
}

// Sections on components of other entities, which may be dead or lack them.
void program_run_mine(orr_run* run)
{
    const Spot* spot = orr_read(run, Spot);
    const Friend* f = orr_read(run, Friend);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        orr_rng rng = rng_of(run, entity);
        orr_entity target = f[i].entity.id != 0 ? f[i].entity : entity;
        uint32_t number = 1 + spot[i].x % 7;
        switch (roll(&rng, 6)) {
        case 0:
        case 1:
            SEND(run, orr_atomic_on(run, target, Purse, mine_purse, &number));
            break;
        case 2:
            SEND(run, orr_atomic_on(run, target, Root, mine_root, &number));
            break;
        default:
            break;
        }
    }
}

void program_run_dig(orr_run* run)
{
    orr_instances in = orr_instances_of(run, Orb);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        orr_rng rng = rng_of(run, entity);
        orr_component_id id = in.ids[i * in.capacity + roll(&rng, in.counts[i])];
        uint32_t number = roll(&rng, 9);
        if (roll(&rng, 4) == 0) {
            SEND(run, orr_atomic(run, entity, TYPE(run, Orb), id, dig_orb, &number));
        }
    }
}

// Does not depend on the old values.
void program_run_paint(orr_run* run)
{
    Glaze* g = orr_write(run, Glaze);
    const Spot* s = orr_read(run, Spot);
    for (uint32_t i = 0; i < run->count; i++) {
        g[i] = (Glaze){s[i].x * 3 + (uint32_t)run->tick, s[i].y};
    }
}

// ---- indirect systems ---------------------------------------------------------------------------

// Changes that callbacks send take effect before the first system of the tick.
static void echo_create_entity(orr_run* run, uint32_t x)
{
    orr_entity made = orr_send_create(run);
    made = made.id != 0 ? made : orr_send_create(run);
    if (made.id == 0) {
        atomic_fetch_add(&program_missing, 1);
        return;
    }
    SEND(run, orr_send_add(run, made, Spot, {x, 1}));
}

void program_echo_start(orr_run* run)
{
    orr_state(run, Tally)->starts++;
    echo_create_entity(run, 1);
}

void program_echo_stop(orr_run* run)
{
    echo_create_entity(run, 2);
}

void program_run_echo(orr_run* run)
{
    Tally* t = orr_state(run, Tally);
    uint32_t count;
    const Ping* pings = orr_events(run, Ping, &count);
    for (uint32_t i = 0; i < count; i++) {
        t->sum = t->sum * 31 + pings[i].number;
    }
    ORR_MESSAGES(m, run)
    {
        t->count += m->count;
        for (uint32_t i = 0; i < m->count; i++) {
            t->sum = t->sum * 31 + m->entities[i].id + (uint64_t)m->kind * 7 + (uint64_t)m->cause;
        }
        if (m->kind == ORR_COMPONENT_CHANGED && orr_message_is(m, Spot)) {
            const Spot* spot = orr_values(m, Spot);
            for (uint32_t i = 0; i < m->count; i++) {
                if (spot[i].x % 4 == 0) {
                    SEND(run, orr_send_change(run, m->entities[i], Purse, {1, spot[i].x}));
                }
            }
        }
    }
}

// ---- impure, life of systems, refused accesses --------------------------------------------------

// Its input is a function of the tick, so that runs can be compared. A replay must not call it.
void program_run_give(orr_run* run)
{
    uint32_t* calls = orr_run_user(run);
    ++*calls;
    Gift* g = orr_write(run, Gift);
    Tally* t = orr_state(run, Tally);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        uint64_t input = orr_random(run->tick, entity.id, 5, 0);
        g[i].number = g[i].number * 31 + (uint32_t)(input & 255);
        t->sum += input;
        if (input % 9 == 0) {
            SEND(run, orr_send_remove(run, entity, Gift));
        } else if (input % 9 == 1) {
            SEND(run, orr_send_event(run, Ping, {entity, (uint32_t)(input >> 20 & 63)}));
        } else if (input % 9 == 2) {
            SEND(run, orr_transact(run, ORR_OP_ADD, entity, Purse, gold, 3));
        }
    }
}

// Enables or disables the system before it in the program.
void program_run_toggle(orr_run* run)
{
    const program_settings* s = orr_run_settings(run);
    uint64_t number = (uint64_t)(s->system - s->program->systems);
    orr_system other = number > 0
                           ? orr_system_find(run->world, s->program->systems[number - 1].name)
                           : (orr_system){0};
    if (other.id != 0) {
        bool on = orr_run_random(run, (orr_entity){0}) % 3 != 0;
        SEND(run, orr_system_enable(run->world, other, on));
    }
}

static void trespass_expect(const orr_run* run, bool refused, const char* call)
{
    if (!refused) {
        program_fault("%s in system '%s' was not refused", call,
                      orr_system_name(run->world, orr_run_self(run)));
    }
}

#define TRESPASS(run, refused) trespass_expect(run, refused, #refused)

void program_run_trespass(orr_run* run)
{
    orr_entity entity = orr_iter_entity(run, 0);
    orr_rng rng = rng_of(run, entity);
    Fuel fuel = {1, 1};
    switch (roll(&rng, 10)) {
    case 0:
        TRESPASS(run, orr_write(run, Spot) == NULL);
        break;
    case 1:
        TRESPASS(run, orr_send_change(run, entity, Spot, {1, 1}) == ORR_ERR_STATE);
        break;
    case 2:
        TRESPASS(run, orr_send_add(run, entity, Fuel, {1, 1}) == ORR_ERR_STATE);
        break;
    case 3:
        TRESPASS(run, orr_send_destroy(run, entity) == ORR_ERR_STATE);
        break;
    case 4:
        TRESPASS(run, orr_send_create(run).id == 0);
        break;
    case 5:
        TRESPASS(run, orr_send_event(run, Ping, {entity, 1}) == ORR_ERR_STATE);
        break;
    case 6:
        TRESPASS(run, orr_put(run->world, entity, Fuel, &fuel) == ORR_ERR_STATE);
        break;
    case 7:
        TRESPASS(run, orr_edit(run->world, entity, Fuel) == NULL);
        break;
    case 8:
        TRESPASS(run, orr_transact(run, ORR_OP_ADD, entity, Purse, gold, 1) == ORR_ERR_STATE);
        break;
    default:
        TRESPASS(run, orr_destroy(run->world, entity) == ORR_ERR_STATE);
        break;
    }
}

// ---- a spectator --------------------------------------------------------------------------------

void program_run_glow(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        orr_rng rng = rng_of(run, entity);
        switch (roll(&rng, 10)) {
        case 0:
            SEND_RANDOM(run, &rng, orr_send_add(run, entity, Glow, {roll(&rng, 9)}));
            break;
        case 1:
            SEND(run, orr_send_remove(run, entity, Glow));
            break;
        case 2: {
            orr_entity made = orr_send_create(run);
            if (made.id != 0) {
                SEND(run, orr_send_add(run, made, Glow, {1}));
                if (roll(&rng, 4) != 0) {
                    SEND(run, orr_send_destroy(run, made));
                }
            }
            break;
        }
        default:
            break;
        }
    }
}
