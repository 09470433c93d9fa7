// SPDX-License-Identifier: MIT
// A part of worlds for tests of real time (odd_kit.h): instances and pinned values of every kind.
// One pipeline writes them, others read them in every way, while they are added and removed.
#ifndef TEST_ODD_KIT_KINDS_H
#define TEST_ODD_KIT_KINDS_H

#include "realtime/odd_kit.h"

ORR_STRUCT_EX(Rim, (.multiplicity = ORR_MULTIPLE, .hooks = &kit_token_hooks), (TokenCell, cell))
ORR_STRUCT_EX(Brand, (.multiplicity = ORR_MULTIPLE), (orr_string, text), (int32_t, number))
ORR_STRUCT_EX(Axle, (.multiplicity = ORR_MULTIPLE), (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT_EX(Hull, (.storage = ORR_PINNED), (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT_EX(Bell, (.storage = ORR_PINNED, .live = true), (uint64_t, tick), (uint64_t, twice))
ORR_STRUCT_EX(Cog, (.multiplicity = ORR_MULTIPLE, .live = true), (uint64_t, tick),
              (uint64_t, twice))

// ---- the owner ----------------------------------------------------------------------------------

static void kinds_write(orr_run* run)
{
    Axle* a = orr_write(run, Axle);
    orr_instances in = orr_instances_of(run, Axle);
    for (uint32_t i = 0; i < run->count; i++) {
        for (uint32_t k = 0; k < in.counts[i]; k++) {
            a[i * in.capacity + k] = (Axle){run->tick, 2 * run->tick};
        }
    }
}

static void kinds_write_live(orr_run* run)
{
    Cog* c = orr_write(run, Cog);
    orr_instances in = orr_instances_of(run, Cog);
    for (uint32_t i = 0; i < run->count; i++) {
        for (uint32_t k = 0; k < in.counts[i]; k++) {
            c[i * in.capacity + k] = (Cog){run->tick, 2 * run->tick};
        }
    }
}

static void kinds_write_pinned(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        *orr_write_pinned(run, Hull, i) = (Hull){run->tick, 2 * run->tick};
        Bell* bell = orr_write_pinned(run, Bell, i);
        if (bell != NULL) {
            *bell = (Bell){run->tick, 2 * run->tick};
        }
    }
}

static void kinds_write_texts(orr_run* run)
{
    char text[80];
    int32_t number = (int32_t)run->tick;
    label_text(text, sizeof text, number);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        Sign* sign = orr_run_random(run, entity) % 3 == 0 ? orr_edit(run->world, entity, Sign)
                                                          : NULL;
        if (sign != NULL) {
            orr_string_assign(run->world, &sign->text, orr_string_make(run->world, text));
            sign->number = number;
        }
    }
}

// ---- readers of other pipelines -----------------------------------------------------------------

// All values were written in one tick, except those added since: these are 1.
static void kinds_whole(const char* what, uint64_t tick, uint64_t twice, uint64_t* all)
{
    ODD_CHECK(twice == 2 * tick, "%s is torn", what);
    ODD_CHECK(tick <= 1 || *all == 0 || tick == *all, "%s of ticks %u and %u", what, (unsigned)tick,
              (unsigned)*all);
    *all = tick > 1 ? tick : *all;
}

static void kinds_read(orr_run* run)
{
    uint64_t axles = 0, cogs = 0;
    Sum* s = orr_state(run, Sum);
    ORR_EACH (it, orr_run_query(run)) {
        for (uint32_t i = 0; i < it.count; i++) {
            orr_entity entity = orr_iter_entity(&it, i);
            const void* values;
            const orr_component_id* ids;
            uint32_t count = orr_instances_get(
                run->world, entity, orr_type_of(run->world, ORR_TYPE(Axle)), &values, &ids);
            for (uint32_t k = 0; k < count; k++) {
                const Axle* axle = (const Axle*)values + k;
                orr_component_ref ref = {entity, orr_type_of(run->world, ORR_TYPE(Axle)), ids[k]};
                ODD_CHECK(orr_ref_get(run->world, ref) == axle, "the value read by id differs");
                kinds_whole("Axle", axle->tick, axle->twice, &axles);
                s->sum = s->sum * 31 + axle->tick;
            }
            count = orr_instances_get(run->world, entity, orr_type_of(run->world, ORR_TYPE(Cog)),
                                      &values, NULL);
            for (uint32_t k = 0; k < count; k++) {
                kinds_whole("Cog", ((const Cog*)values)[k].tick, ((const Cog*)values)[k].twice,
                            &cogs);
            }
            s->rows += count;
        }
    }
}

static void kinds_read_pinned(orr_run* run)
{
    uint64_t hulls = 0;
    Sum* s = orr_state(run, Sum);
    ORR_EACH (it, orr_run_query(run)) {
        for (uint32_t i = 0; i < it.count; i++) {
            const Hull* hull = orr_read_pinned(&it, Hull, i);
            const Bell* bell = orr_read_pinned(&it, Bell, i);
            kinds_whole("Hull", hull->tick, hull->twice, &hulls);
            ODD_CHECK(orr_get(run->world, orr_iter_entity(&it, i), Hull) == hull,
                      "the value read by id differs");
            if (bell != NULL) {
                uint64_t bells = 0; // A hull that was removed and added again is of an older tick.
                kinds_whole("Bell", bell->tick, bell->twice, &bells);
            }
            s->sum = s->sum * 31 + hull->tick + (bell != NULL ? bell->tick : 0);
            s->rows++;
        }
    }
}

static void kinds_read_texts(orr_run* run)
{
    Sum* s = orr_state(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        const Sign* sign = orr_get(run->world, entity, Sign);
        const Ghost* ghost = orr_get(run->world, entity, Ghost);
        const void* values;
        uint32_t count = orr_instances_get(run->world, entity,
                                           orr_type_of(run->world, ORR_TYPE(Brand)), &values, NULL);
        for (uint32_t k = 0; k < count; k++) {
            const Brand* brand = (const Brand*)values + k;
            label_look(run->world, &(Label){brand->text, brand->number});
        }
        if (sign != NULL) {
            label_look(run->world, &(Label){sign->text, sign->number});
            s->sum = s->sum * 31 + (uint32_t)sign->number;
        }
        s->sum = s->sum * 31 + (ghost != NULL ? ghost->cell.payload : 0);
        s->rows += count;
    }
}

// ---- adding and removing ------------------------------------------------------------------------

#define KINDS_TYPE(run, type) orr_type_of((run)->world, ORR_TYPE(type))

static void kinds_add(orr_run* run, orr_entity entity, uint64_t dice)
{
    char text[80];
    label_text(text, sizeof text, 1);
    switch (dice % 6) {
    case 0:
        orr_send_add_type(run, entity, KINDS_TYPE(run, Axle), &(Axle){1, 2}, NULL);
        break;
    case 1:
        orr_send_add_type(run, entity, KINDS_TYPE(run, Cog), &(Cog){1, 2}, NULL);
        break;
    case 2:
        orr_send_add(run, entity, Hull, {1, 2});
        break;
    case 3:
        orr_send_add(run, entity, Bell, {1, 2});
        break;
    case 4:
        orr_send_add(run, entity, Sign, {orr_string_make(run->world, text), 1});
        break;
    default:
        orr_send_add_type(run, entity, KINDS_TYPE(run, Brand),
                          &(Brand){orr_string_make(run->world, text), 1}, NULL);
        break;
    }
}

static void kinds_remove(orr_run* run, orr_entity entity, uint64_t dice)
{
    switch (dice % 6) {
    case 0:
        orr_send_remove_type(run, entity, KINDS_TYPE(run, Axle), 0);
        break;
    case 1:
        orr_send_remove_type(run, entity, KINDS_TYPE(run, Cog), 0);
        break;
    case 2:
        orr_send_remove(run, entity, Hull);
        break;
    case 3:
        orr_send_remove(run, entity, Bell);
        break;
    case 4:
        orr_send_remove(run, entity, Sign);
        break;
    default:
        orr_send_remove_type(run, entity, KINDS_TYPE(run, Brand), 0);
        break;
    }
}

static void kinds_churn(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        uint64_t dice = orr_run_random(run, entity);
        if (dice % 8 < 2) {
            kinds_add(run, entity, dice >> 8);
        } else if (dice % 8 == 2) {
            kinds_remove(run, entity, dice >> 8);
        }
    }
}

// Types with hooks are added and removed in a separate system: their copies may be refused.
static void kinds_churn_hooked(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        switch (orr_run_random(run, entity) % 16) {
        case 0:
            orr_send_add_preset(run, entity, Ghost);
            break;
        case 1:
            orr_send_remove(run, entity, Ghost);
            break;
        case 2:
            orr_send_add_type(run, entity, KINDS_TYPE(run, Rim), NULL, NULL);
            break;
        case 3:
            orr_send_remove_type(run, entity, KINDS_TYPE(run, Rim), 0);
            break;
        default:
            break;
        }
    }
}

static void kinds_turn(orr_run* run)
{
    Rim* rims = orr_write(run, Rim);
    orr_instances in = orr_instances_of(run, Rim);
    for (uint32_t i = 0; i < run->count; i++) {
        for (uint32_t k = 0; k < in.counts[i]; k++) {
            rims[i * in.capacity + k].cell.payload = (uint32_t)run->tick;
        }
    }
}

static void kinds_write_ghosts(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_write_pinned(run, Ghost, i)->cell.payload = (uint32_t)run->tick;
    }
}

static void kinds_count_rims(orr_run* run)
{
    const Rim* rims = orr_read(run, Rim);
    orr_instances in = orr_instances_of(run, Rim);
    Sum* s = orr_state(run, Sum);
    for (uint32_t i = 0; i < run->count; i++) {
        for (uint32_t k = 0; k < in.counts[i]; k++) {
            s->sum = s->sum * 31 + rims[i * in.capacity + k].cell.payload;
        }
    }
}

#undef KINDS_TYPE

static void kinds_begin(orr_world* world)
{
    ORR_REGISTER(world, Rim, Brand, Axle, Hull, Bell, Cog, Sign, Ghost, Core);
    odd_core(world);
    for (uint32_t i = 0; i < ODD_ROWS; i++) {
        orr_entity entity = odd_entity(world, i);
        orr_set(world, entity, Hull, {1, 2});
        for (uint32_t k = 0; k < i % 4; k++) {
            orr_add_instance(world, entity, Axle, {1, 2});
            orr_add_instance(world, entity, Cog, {1, 2});
        }
        if (i % 2 == 0) {
            orr_set(world, entity, Bell, {1, 2});
            orr_add(world, entity, Ghost);
        }
    }
}

static void part_kinds(orr_world* world, odd_pipes p)
{
    kinds_begin(world);
    ODD_SYSTEM(world, .name = "kinds_write", .pipeline = p.a, .query = "write Axle",
               .run = kinds_write);
    ODD_SYSTEM(world, .name = "kinds_write_live", .pipeline = p.a, .query = "write Cog",
               .run = kinds_write_live);
    ODD_SYSTEM(world, .name = "kinds_write_pinned", .pipeline = p.a,
               .query = "write Hull, ?write Bell", .run = kinds_write_pinned);
    ODD_SYSTEM(world, .name = "kinds_write_texts", .pipeline = p.b, .query = "Core",
               .by_id = "write Sign, write Brand", .run = kinds_write_texts);
    ODD_SYSTEM(world, .name = "kinds_turn", .pipeline = p.b, .query = "write Rim",
               .run = kinds_turn);
    ODD_SYSTEM(world, .name = "kinds_write_ghosts", .pipeline = p.b, .query = "write Ghost",
               .run = kinds_write_ghosts);
    ODD_SYSTEM(world, .name = "kinds_read", .pipeline = p.b, .once = true, .query = "Core",
               .by_id = "Axle, Cog", .state = ORR_TYPE(Sum), .run = kinds_read);
    ODD_SYSTEM(world, .name = "kinds_read_pinned", .pipeline = p.c, .once = true,
               .query = "Hull, ?Bell", .by_id = "Hull", .state = ORR_TYPE(Sum),
               .run = kinds_read_pinned);
    ODD_SYSTEM(world, .name = "kinds_read_texts", .pipeline = p.c, .query = "Core",
               .by_id = "Sign, Ghost, Brand", .state = ORR_TYPE(Sum), .run = kinds_read_texts);
    ODD_SYSTEM(world, .name = "kinds_count_rims", .pipeline = p.a, .query = "Rim",
               .state = ORR_TYPE(Sum), .run = kinds_count_rims);
    ODD_SYSTEM(world, .name = "kinds_churn", .pipeline = p.c, .query = "Core",
               .adds = "Axle, Cog, Hull, Bell, Sign, Brand",
               .removes = "Axle, Cog, Hull, Bell, Sign, Brand", .run = kinds_churn);
    ODD_SYSTEM(world, .name = "kinds_churn_hooked", .pipeline = p.c, .query = "Core",
               .adds = "Ghost, Rim", .removes = "Ghost, Rim", .run = kinds_churn_hooked);
}

#endif
