// SPDX-License-Identifier: MIT
// Steps of random programs about the time of single entities: slots that are saved, emptied and
// restored, travels of one entity ahead, playback. A state that was saved is compared with the state
// after it was restored.
#include "model/program_calls.h"

enum {
    SLOTS_MAX = 6,    // That a step leaves to an entity.
    SLOT_NUMBERS = 12 // Slots are numbered below this.
};

static const struct {
    const orr_type_desc* desc;
    program_kind owner; // The systems of one pipeline write it. PROGRAM_KIND_COUNT: no system does.
} stored[] = {
    {ORR_TYPE(Spot), PROGRAM_MOVE},   {ORR_TYPE(Speed), PROGRAM_PONG},
    {ORR_TYPE(Fuel), PROGRAM_BURN},   {ORR_TYPE(Note), PROGRAM_SCRIBE},
    {ORR_TYPE(Orb), PROGRAM_ORBS},    {ORR_TYPE(Root), PROGRAM_ROOTS},
    {ORR_TYPE(Kin), PROGRAM_KINSHIP}, {ORR_TYPE(Leash), PROGRAM_KIND_COUNT},
    {ORR_TYPE(Purse), PROGRAM_ECHO},  {ORR_TYPE(Friend), PROGRAM_KIND_COUNT},
    {ORR_TYPE(Gift), PROGRAM_GIVE},   {ORR_TYPE(Calm), PROGRAM_KIND_COUNT},
    {ORR_TYPE(Glaze), PROGRAM_PAINT},
};

enum {
    STORED = sizeof stored / sizeof *stored
};

// Types are registered when a file first names them, which allocates.
void program_time_prepare(program_run* r)
{
    if (!r->p->golden) {
        ORR_REGISTER(r->world, Fuel, Glaze, orr_time, orr_time_traveller, orr_time_stretcher);
    }
}

uint32_t program_time_type_count(void)
{
    return STORED;
}

program_kind program_time_owner(uint32_t n)
{
    return stored[n].owner;
}

const char* program_time_types(const program_system* s, char* out, size_t out_size)
{
    size_t length = 0;
    for (uint32_t i = 0; i < STORED; i++) {
        if (s->types >> i & 1) {
            length += (size_t)snprintf(out + length, out_size - length, "%s%s",
                                       length > 0 ? ", " : "", stored[i].desc->name);
        }
    }
    return length > 0 ? out : NULL;
}

static uint32_t roll(orr_rng* rng, uint32_t count)
{
    return (uint32_t)orr_rng_below(rng, count);
}

// Any entity, rather one that has slots.
static orr_entity time_pick(program_run* r, orr_rng* rng)
{
    orr_entity entity = program_pick(r, rng);
    for (uint32_t i = 0; i < 8 && roll(rng, 4) != 0; i++) {
        if (entity.id != 0 && orr_has(r->world, entity, orr_time_traveller)) {
            break;
        }
        entity = program_pick(r, rng);
    }
    return entity;
}

static void time_remember(program_run* r, orr_entity entity, uint64_t slot)
{
    if (!orr_has(r->world, entity, orr_time_traveller)) {
        DO(r, orr_add(r->world, entity, orr_time_traveller));
    }
    DO(r, orr_entity_remember(r->world, entity, slot));
}

// Saves the entity in a slot or, if it has many, empties one of them.
static void step_slot(program_run* r, orr_rng* rng, orr_entity entity)
{
    uint64_t slots[SLOT_NUMBERS + 1];
    uint32_t count = orr_entity_slots(r->world, entity, slots, SLOT_NUMBERS + 1);
    PROGRAM_CHECK(r, count <= SLOT_NUMBERS, "an entity has %u slots", count);
    uint32_t number = roll(rng, SLOT_NUMBERS);
    if (count >= SLOTS_MAX || (count > 0 && roll(rng, 5) == 0)) {
        DO(r, orr_entity_forget(r->world, entity, slots[number % count]));
        count -= 1;
    } else {
        bool there = false;
        for (uint32_t i = 0; i < count; i++) {
            there = there || slots[i] == number;
        }
        time_remember(r, entity, number);
        count += !there;
    }
    PROGRAM_CHECK(r, orr_entity_slots(r->world, entity, NULL, 0) == count,
                  "orr_entity_slots is not %u", count);
}

// ---- what a slot stores -------------------------------------------------------------------------

static uint64_t value_hash(program_run* r, const orr_type_info* info, const void* value)
{
    if (info->size == 0) {
        return 1;
    }
    if (strcmp(info->name, "Friend") == 0) { // A reference to a dead entity is restored as null.
        orr_entity friend = ((const Friend*)value)->entity;
        return orr_alive(r->world, friend) ? friend.id : 0;
    }
    return orr_value_hash(info, value);
}

static uint64_t type_hash(program_run* r, orr_entity entity, orr_type type, uint64_t hash)
{
    const orr_type_info* info = orr_type_info_get(r->world, type);
    const void* values = NULL;
    const orr_component_id* ids = NULL;
    uint32_t count = orr_instances_get(r->world, entity, type, &values, &ids);
    for (uint32_t i = 0; i < count; i++) {
        orr_component_id id = info->multiplicity == ORR_MULTIPLE ? ids[i] : 0;
        uint64_t words[3] = {hash,
                             value_hash(r, info, (const uint8_t*)values + (size_t)i * info->size),
                             orr_instance_enabled(r->world, entity, type, id)};
        hash = orr_hash(words, sizeof words, type.id);
    }
    return hash;
}

// Of everything that a slot stores, except the ids of instances.
static uint64_t state_hash(program_run* r, orr_entity entity)
{
    orr_cluster_info info;
    uint64_t hash = orr_entity_enabled(r->world, entity);
    for (uint32_t i = 0; i < STORED; i++) {
        hash = type_hash(r, entity, orr_type_of(r->world, stored[i].desc), hash);
    }
    orr_result result = orr_cluster_info_get(r->world, orr_entity_cluster(r->world, entity), &info);
    expect(r, result, "orr_cluster_info_get");
    return orr_hash(info.tags, info.tag_count * sizeof(orr_tag), hash);
}

// ---- restoring ----------------------------------------------------------------------------------

static void disturb(program_run* r, orr_rng* rng, orr_entity entity)
{
    orr_type type = orr_type_of(r->world, stored[roll(rng, STORED)].desc);
    orr_tag tag = 1 + roll(rng, 3);
    switch (roll(rng, 6)) {
    case 0:
    case 1:
        program_set(r, rng, entity);
        break;
    case 2:
        DO(r, orr_component_remove(r->world, entity, type));
        break;
    case 3:
        program_orb(r, rng, entity);
        break;
    case 4:
        program_switch(r, rng, entity);
        break;
    default:
        if (roll(rng, 2) == 0) {
            DO(r, orr_tag_add(r->world, entity, tag));
        } else {
            DO(r, orr_tag_remove(r->world, entity, tag));
        }
        break;
    }
}

// Saves the entity, changes it, and restores it at once.
static void return_at_once(program_run* r, orr_rng* rng, orr_entity entity)
{
    uint64_t slot = roll(rng, SLOT_NUMBERS);
    uint64_t before = state_hash(r, entity);
    time_remember(r, entity, slot);
    PROGRAM_CHECK(r, state_hash(r, entity) == before, "orr_entity_remember changed an entity");
    for (uint32_t i = roll(rng, 6); i > 0; i--) {
        disturb(r, rng, entity);
    }
    DO(r, orr_entity_travel(r->world, entity, slot));
    PROGRAM_CHECK(r, state_hash(r, entity) == before, "slot %u does not restore what it stored",
                  (uint32_t)slot);
    PROGRAM_CHECK(r, orr_time_of(r->world, entity) == slot, "an entity is at time %u, not %u",
                  (uint32_t)orr_time_of(r->world, entity), (uint32_t)slot);
}

// To a slot of the entity: the same slot gives the same state twice.
static void step_return(program_run* r, orr_rng* rng, orr_entity entity)
{
    uint64_t slots[SLOT_NUMBERS];
    uint32_t count = orr_entity_slots(r->world, entity, slots, SLOT_NUMBERS);
    uint32_t number = roll(rng, SLOT_NUMBERS);
    if (count == 0 || (count < SLOTS_MAX && roll(rng, 3) == 0)) {
        return_at_once(r, rng, entity);
        return;
    }
    uint64_t slot = slots[number % count];
    DO(r, orr_entity_travel(r->world, entity, slot));
    uint64_t state = state_hash(r, entity);
    for (uint32_t i = roll(rng, 3); i > 0; i--) {
        disturb(r, rng, entity);
    }
    DO(r, orr_entity_travel(r->world, entity, slot));
    PROGRAM_CHECK(r, state_hash(r, entity) == state, "slot %u is restored in two ways",
                  (uint32_t)slot);
}

// ---- ahead, playback ----------------------------------------------------------------------------

// Runs ticks for this entity alone. Refused where another system may access it. A time that is past
// and has no slot is refused, too.
static void step_ahead(program_run* r, orr_rng* rng, orr_entity entity)
{
    if (!orr_has(r->world, entity, orr_time_traveller)) {
        DO(r, orr_add(r->world, entity, orr_time_traveller));
    }
    uint64_t now = orr_time_of(r->world, entity);
    uint64_t target = roll(rng, 4) == 0 ? now - now / 2 : now + 1 + roll(rng, 4);
    uint64_t before = state_hash(r, entity);
    orr_result result;
    PROGRAM_CALL(r, result, orr_entity_travel(r->world, entity, target));
    bool good = result == ORR_OK || (target > now && result == ORR_ERR_STATE) ||
                (target < now && result == ORR_ERR_PAST);
    PROGRAM_CHECK(r, good, "step %u: orr_entity_travel from time %u to %u is %s: %s", r->at,
                  (uint32_t)now, (uint32_t)target, orr_result_name(result), r->k.errors.text);
    PROGRAM_CHECK(r, result == ORR_OK || state_hash(r, entity) == before,
                  "a refused orr_entity_travel changed an entity");
    uint64_t then = orr_time_of(r->world, entity);
    PROGRAM_CHECK(r, then == (result == ORR_OK ? target : now),
                  "after orr_entity_travel from %u to %u (%s) an entity is at time %u",
                  (uint32_t)now, (uint32_t)target, orr_result_name(result), (uint32_t)then);
}

static void step_stretch(program_run* r, orr_rng* rng, orr_entity entity)
{
    static const double rates[] = {-1, -0.5, 0, 0.25, 0.5, 1, 1.5};
    double rate = rates[roll(rng, 7)];
    orr_entity other = time_pick(r, rng);
    float litres = (float)roll(rng, 50);
    orr_result result;
    switch (roll(rng, 6)) {
    case 0:
        DO(r, orr_remove(r->world, entity, orr_time_stretcher));
        break;
    case 1:
        PROGRAM_CALL(r, result, orr_time_derivate(r->world, entity, other));
        PROGRAM_CHECK(r, result == ORR_OK || result == ORR_ERR_ABSENT || result == ORR_ERR_ARGUMENT,
                      "step %u: orr_time_derivate is %s: %s", r->at, orr_result_name(result),
                      r->k.errors.text);
        break;
    case 2: // A place to play.
        DO(r, orr_time_stretch(r->world, entity, rate));
        time_remember(r, entity, 0);
        DO(r, orr_set(r->world, entity, Fuel, {litres, 1}));
        time_remember(r, entity, 9);
        DO(r, orr_entity_travel(r->world, entity, rate < 0 ? 9 : 0));
        break;
    default:
        DO(r, orr_time_stretch(r->world, entity, rate));
        break;
    }
}

void program_step_time(program_run* r, const program_step* step)
{
    orr_rng rng = {.first = step->dice};
    orr_entity entity = time_pick(r, &rng);
    if (entity.id == 0) {
        return;
    }
    switch (step->op) {
    case PROGRAM_OP_SLOT:
        step_slot(r, &rng, entity);
        break;
    case PROGRAM_OP_RETURN:
        step_return(r, &rng, entity);
        break;
    case PROGRAM_OP_AHEAD:
        step_ahead(r, &rng, entity);
        break;
    default:
        step_stretch(r, &rng, entity);
        break;
    }
}
