// SPDX-License-Identifier: MIT
// A real-time world with values of every kind: published, live, pinned and owned values, and rows
// that are created and destroyed.
#ifndef TEST_EVERYTHING_KIT_H
#define TEST_EVERYTHING_KIT_H

#include "realtime/hard_kit.h"
#include <orrery/history.h>

ORR_STRUCT_EX(Pin, (.storage = ORR_PINNED), (uint64_t, v))
ORR_STRUCT_EX(Cable, (.live = true), (uint64_t, x), (uint64_t, twice))
ORR_STRUCT(Leaf, (uint64_t, tick))

#define PATIENCE_NS UINT64_C(20000000000) // The machine may be busy.

enum {
    ROWS = 40
};

static void all_pin(orr_run* run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        orr_write_pinned(run, Pin, i)->v += run->tick;
    }
}

static void all_pin_read(orr_run* run)
{
    Leaf* leaf = orr_write(run, Leaf);
    for (uint32_t i = 0; i < run->count; i++) {
        leaf[i].tick = leaf[i].tick * 31 + orr_read_pinned(run, Pin, i)->v;
    }
}

static void all_cable(orr_run* run)
{
    Cable* c = orr_write(run, Cable);
    for (uint32_t i = 0; i < run->count; i++) {
        c[i].x += run->tick;
        c[i].twice = 2 * c[i].x;
    }
}

static void all_cable_read(orr_run* run)
{
    const Cable* c = orr_read(run, Cable);
    for (uint32_t i = 0; i < run->count; i++) {
        HARD_CHECK(c[i].twice == 2 * c[i].x, "a cable is torn");
    }
}

static void all_text(orr_run* run)
{
    Text* t = orr_write(run, Text);
    for (uint32_t i = 0; i < run->count; i++) {
        char text[32];
        snprintf(text, sizeof text, "%llu", (unsigned long long)run->tick);
        orr_string made = orr_string_make(run->world, text);
        if (orr_string_text(run->world, made)[0] != '\0') { // Memory was available.
            orr_string_assign(run->world, &t[i].text, made);
            t[i].number = (uint32_t)run->tick;
        }
    }
}

static void all_text_read(orr_run* run)
{
    const Text* t = orr_read(run, Text);
    for (uint32_t i = 0; i < run->count; i++) {
        char text[32];
        snprintf(text, sizeof text, "%u", t[i].number);
        HARD_CHECK(t[i].number == 0 || strcmp(orr_string_text(run->world, t[i].text), text) == 0,
                   "a text is torn");
    }
}

// Pipeline "a" overwrites all trees without reading them, "b" reads them; the first pipeline
// creates and destroys some.
ORR_MAYBE_UNUSED static void all_add_with(orr_world* world, void (*trees)(orr_world*, uint32_t))
{
    trees(world, ROWS);
    ORR_REGISTER(world, Pin, Cable, Text, Leaf);
    for (uint32_t i = 0; i < ROWS; i++) {
        orr_entity entity = orr_create(world);
        orr_set(world, entity, Pin, {i});
        orr_set(world, entity, Cable, {0, 0});
        orr_set(world, entity, Leaf, {i});
        CHECK_OK(orr_add(world, entity, Text));
    }
    KIT_SYSTEM(world, .name = "pin", .pipeline = "a", .query = "write Pin", .run = all_pin);
    KIT_SYSTEM(world, .name = "pin_read", .pipeline = "b", .query = "Pin, write Leaf",
               .run = all_pin_read);
    KIT_SYSTEM(world, .name = "cable", .pipeline = "a", .query = "write Cable", .run = all_cable);
    KIT_SYSTEM(world, .name = "cable_read", .pipeline = "b", .query = "Cable",
               .run = all_cable_read);
    KIT_SYSTEM(world, .name = "text", .pipeline = "a", .query = "write Text", .run = all_text);
    KIT_SYSTEM(world, .name = "text_read", .pipeline = "b", .query = "Text", .run = all_text_read);
}

ORR_MAYBE_UNUSED static void all_add(orr_world* world)
{
    all_add_with(world, trees_add);
}

// ---- an impure system ---------------------------------------------------------------------------

ORR_STRUCT(Gift, (uint64_t, number))

static uint64_t impure_number; // Outside the world: never restored.

static void impure_give(orr_run* run)
{
    Gift* g = orr_write(run, Gift);
    for (uint32_t i = 0; i < run->count; i++) {
        g[i].number = g[i].number * 31 + impure_number++;
    }
    orr_state(run, Count)->count = impure_number;
}

ORR_MAYBE_UNUSED static void gift_add(orr_world* world)
{
    ORR_REGISTER(world, Gift);
    for (uint32_t i = 0; i < ROWS; i++) {
        orr_set(world, orr_create(world), Gift, {i});
    }
    KIT_SYSTEM(world, .name = "give", .pipeline = "a", .query = "write Gift", .impure = true,
               .state = ORR_TYPE(Count), .run = impure_give);
}

// ---- a mirror of trees, built from messages -----------------------------------------------------

enum {
    MIRROR_MOST = 4096
};

static struct {
    orr_entity entities[MIRROR_MOST];
    uint64_t ticks[MIRROR_MOST];
} mirror;

ORR_MAYBE_UNUSED static void mirror_receive(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        const Tree* values = m->kind == ORR_ENTITY_REMOVED ? NULL : orr_values(m, Tree);
        for (uint32_t i = 0; i < m->count; i++) {
            uint32_t index = (uint32_t)m->entities[i].id;
            HARD_CHECK(index < MIRROR_MOST, "the index exceeds the mirror");
            bool there = mirror.entities[index].id == m->entities[i].id;
            HARD_CHECK(there == (m->kind != ORR_ENTITY_ADDED),
                       "the message contradicts an earlier message");
            mirror.entities[index] = m->kind != ORR_ENTITY_REMOVED ? m->entities[i]
                                                                   : (orr_entity){0};
            mirror.ticks[index] = values != NULL ? values[i].tick : mirror.ticks[index];
        }
    }
}

ORR_MAYBE_UNUSED static void mirror_check(orr_world* world)
{
    uint32_t count = 0;
    orr_query* query = orr_query_text(world, "Tree");
    ORR_EACH (it, query) {
        const Tree* t = orr_read(&it, Tree);
        for (uint32_t i = 0; i < it.count; i++) {
            orr_entity entity = orr_iter_entity(&it, i);
            CHECK_EQ(mirror.entities[(uint32_t)entity.id].id, entity.id);
            CHECK_EQ(mirror.ticks[(uint32_t)entity.id], t[i].tick);
        }
        count += it.count;
    }
    orr_query_destroy(query);
    for (uint32_t i = 0; i < MIRROR_MOST; i++) {
        count -= mirror.entities[i].id != 0;
    }
    CHECK_EQ(count, 0);
}

#endif
