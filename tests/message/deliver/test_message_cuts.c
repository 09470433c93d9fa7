// SPDX-License-Identifier: MIT
// How a reader's stream is cut into messages: the same whatever other readers exist, whatever was
// disabled and enabled meanwhile, and whether memory was refused. By hand, then at random: the same
// changes with and without all that.
#include "message/deliver/baseline.h"
#include "message/deliver/deliver_kit.h"
#include "test.h"
#include <orrery/schedule.h>

#include <stdlib.h>

// ---- what a reader received ---------------------------------------------------------------------

typedef struct cut {
    orr_message_kind kind;
    orr_cause cause;
    uint32_t source, count;
    char type[32]; // Its name: numbers depend on which reader named it first.
    uint64_t hash; // Of the entities, in order, and of how many columns there are.
} cut;

enum {
    CUTS_MAX = 8192
};

typedef struct cuts {
    cut items[CUTS_MAX];
    uint32_t count;
} cuts;

static void cuts_note(cuts* out, const orr_message* m)
{
    CHECK(out->count < CUTS_MAX);
    const orr_type_info* info = m->type.id != 0 ? orr_type_info_get(m->world, m->type) : NULL;
    cut* c = &out->items[out->count++];
    *c = (cut){m->kind, m->cause, m->system.id, m->count, "", m->column_count};
    c->hash = orr_hash(m->entities, m->count * sizeof *m->entities, c->hash);
    (void)snprintf(c->type, sizeof c->type, "%s", info != NULL ? info->name : "");
}

static void cuts_take(cuts* out, orri_reader* reader)
{
    for (const orr_message* m; (m = orri_reader_next(reader)) != NULL;) {
        cuts_note(out, m);
    }
}

static void cuts_compare(const cuts* a, const cuts* b)
{
    for (uint32_t i = 0; i < a->count && i < b->count; i++) {
        const cut *x = &a->items[i], *y = &b->items[i];
        CHECK_EQ((int)x->kind, (int)y->kind);
        CHECK_EQ((int)x->cause, (int)y->cause);
        CHECK_EQ(x->source, y->source);
        CHECK_STR(x->type, y->type);
        CHECK_EQ(x->count, y->count);
        CHECK(x->hash == y->hash);
    }
    CHECK_EQ(a->count, b->count);
}

// ---- computed by hand ---------------------------------------------------------------------------

enum {
    CUT_PLAIN,
    CUT_OTHERS,    // Other readers, of other rows, before and after this one.
    CUT_DESTROYED, // Another reader was created and destroyed.
    CUT_SWITCHED,  // A component and an entity were disabled and enabled again.
    CUT_REFUSED,   // Memory is refused, and the diff continues.
    CUT_VARIANTS,
};

typedef struct cut_world {
    kit k;
    orr_world* w;
    orri_reader* r;
    uint32_t variant;
    uint64_t refuse; // The Nth allocation.
} cut_world;

static void cut_begin(cut_world* c, uint32_t variant, const char* query)
{
    *c = (cut_world){.variant = variant};
    c->w = kit_begin(&c->k, NULL);
    ORR_REGISTER(c->w, Position, Velocity, Health, Padded, Tiny, Label, Frozen, Shot, Body, Sign);
    if (variant == CUT_OTHERS) {
        (void)deliver_kit_reader_of(c->w,
                                    "either *, ?Velocity, ?Health, ?Tiny, ?Shot, ?orr_enabled",
                                    false, DELIVER_KIT_ALL);
        (void)deliver_kit_reader_of(c->w, "Velocity, Health", false, DELIVER_KIT_ALL);
    }
    c->r = deliver_kit_reader_of(c->w, query, false, DELIVER_KIT_ALL);
    if (variant == CUT_OTHERS) {
        (void)deliver_kit_reader_of(c->w, "Velocity, !Health, ?Body, ?Tiny, ?orr_tags", false, 100);
        (void)deliver_kit_reader_of(c->w, "", true, DELIVER_KIT_ALL);
    }
}

static void cut_switch(cut_world* c, orr_entity id)
{
    if (c->variant == CUT_SWITCHED) {
        CHECK_OK(orr_component_enable(c->w, id, KIT_TYPE(c->w, Velocity), false));
        CHECK_OK(orr_component_enable(c->w, id, KIT_TYPE(c->w, Velocity), true));
        CHECK_OK(orr_entity_enable(c->w, id, false));
        CHECK_OK(orr_entity_enable(c->w, id, true));
    }
}

// As in a tick: a refused diff continues, and nothing is delivered before it is complete.
static void cut_diff(cut_world* c, const orr_query* written)
{
    if (c->variant == CUT_DESTROYED) {
        orri_reader* other = orri_reader_create(
            c->w, &(orri_reader_desc){.name = "other",
                                      .query = orr_query_text(c->w, "either *, Velocity, ?Health"),
                                      .queue_max = 10});
        orri_reader_enable(c->w, other, true);
        // This diff reports the change, not the diff of `written`.
        CHECK_OK(orri_diff_run(c->w, (orr_system){9, 1}, false));
        orri_reader_destroy(c->w, other);
        return;
    }
    c->w->context->busy = "a test";
    orr_result result;
    do {
        bool refuse = c->variant == CUT_REFUSED && c->refuse++ < 40;
        failing_alloc_arm(&c->k.memory, refuse ? c->refuse % 11 + 1 : 0, false);
        result = written != NULL ? orri_diff_written(c->w, written, (orr_system){9, 1})
                                 : orri_diff_run(c->w, (orr_system){9, 1}, false);
    } while (result != ORR_OK);
    failing_alloc_arm(&c->k.memory, 0, false);
    c->w->context->busy = NULL;
}

static void cut_expect(cut_world* c, const char* text)
{
    static const char* const kinds[] = {"added", "got", "changed", "lost", "removed"};
    char found[1024] = "";
    orri_text out = {found, sizeof found, 0};
    for (const orr_message* m; (m = orri_reader_next(c->r)) != NULL;) {
        orri_text_add(&out, "%s %u, ", kinds[m->kind], m->count);
    }
    CHECK_STR(found, text);
}

static void cut_write(cut_world* c, const orr_query* query, uint32_t step)
{
    uint32_t row = 0;
    ORR_EACH (it, (orr_query*)(uintptr_t)query) {
        Velocity* v = orr_write(&it, Velocity);
        for (uint32_t i = 0; i < it.count; i++, row++) {
            v[i].x += row % step == 0 ? 1 : 0;
        }
    }
    cut_diff(c, query);
}

// Three clusters of 30000, 5000 and 3 rows: for the values of a type, ranges begin with row 0, with
// row 16384, and with the first chunk past row 32767, which is the third of the second cluster (row
// 34096).
static void cut_ranges(uint32_t variant)
{
    static orr_entity ids[35003];
    cut_world c;
    cut_begin(&c, variant, "Velocity");
    orr_query* query = orr_query_text(c.w, "write Velocity");
    CHECK_OK(orr_create_many(c.w, KIT_CLUSTER(c.w, Velocity), 30000, NULL, 0, ids));
    CHECK_OK(orr_create_many(c.w, KIT_CLUSTER(c.w, Velocity, Health), 5000, NULL, 0, ids + 30000));
    CHECK_OK(orr_create_many(c.w, KIT_CLUSTER(c.w, Velocity, Tiny), 3, NULL, 0, ids + 35000));
    cut_switch(&c, ids[7]);
    cut_diff(&c, NULL);
    cut_expect(&c, "added 16384, added 13616, added 5000, added 3, ");
    cut_write(&c, query, 1);
    cut_expect(&c, "changed 16384, changed 17712, changed 907, ");
    cut_switch(&c, ids[20000]);
    cut_write(&c, query, 1000);
    cut_expect(&c, "changed 17, changed 18, changed 1, ");
    CHECK_OK(orr_destroy_many(c.w, ids + 16000, 1000));
    CHECK_OK(orr_component_remove_many(c.w, ids + 30000, 10, KIT_TYPE(c.w, Velocity)));
    cut_diff(&c, NULL);
    // By index: 16000 to 16383, 16384 to 16999; then entities that only left.
    cut_expect(&c, "removed 384, removed 616, removed 10, ");
    kit_end(&c.k);
}

ORR_TEST(stream_is_cut_by_ranges_of_the_world_only)
{
    for (uint32_t variant = 0; variant < CUT_VARIANTS; variant++) {
        cut_ranges(variant);
    }
}

// ---- senders by turns ---------------------------------------------------------------------------

static orr_entity turn_ids[6];
static char turn_text[512];

static void turn_even(orr_run* run)
{
    for (uint32_t i = 0; i < 6 && run->tick == 2; i += 2) {
        (void)orr_send_destroy(run, turn_ids[i]);
    }
}

static void turn_odd(orr_run* run)
{
    for (uint32_t i = 1; i < 6 && run->tick == 2; i += 2) {
        (void)orr_send_destroy(run, turn_ids[i]);
    }
}

static void turn_receive(orr_run* run)
{
    orri_text out = {turn_text, sizeof turn_text, strlen(turn_text)};
    ORR_MESSAGES(m, run)
    {
        orri_text_add(&out, "%d %s:", (int)m->kind, orr_system_name(run->world, m->system));
        for (uint32_t i = 0; i < m->count; i++) {
            orri_text_add(&out, " %u", orri_id_index(m->entities[i]));
        }
        orri_text_add(&out, "\n");
    }
}

static void turn_ignored(orr_run* run)
{
    ORR_MESSAGES(m, run)
    {
        (void)m;
    }
}

// The first row has a pinned value that concerns only other readers.
static void turn_play(bool others)
{
    kit k;
    orr_world* w = kit_begin(&k, NULL);
    ORR_REGISTER(w, Velocity, Health, Sign);
    turn_text[0] = '\0';
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Velocity), 6, NULL, 0, turn_ids));
    CHECK_OK(orr_component_add(w, turn_ids[0], KIT_TYPE(w, Sign)));
    const orr_system_desc descs[] = {
        {.name = "other", .kind = ORR_INDIRECT, .query = "Velocity", .run = turn_ignored},
        {.name = "even",
         .query = "Health",
         .once = true,
         .run = turn_even,
         .destroys = "Velocity, !Health"},
        {.name = "odd",
         .query = "Health",
         .once = true,
         .run = turn_odd,
         .destroys = "Velocity, !Health"},
        {.name = "receiver",
         .kind = ORR_INDIRECT,
         .query = "Velocity, !Sign",
         .run = turn_receive}};
    for (uint32_t i = others ? 0 : 1; i < 4; i++) {
        CHECK(orr_system_add(w, &descs[i]).id != 0);
    }
    CHECK_OK(orr_step(w, 3));
    CHECK_STR(turn_text, "0 : 1 2 3 4 5\n"
                         "4 odd: 1 3 5\n"
                         "4 even: 2 4\n");
    kit_end(&k);
}

ORR_TEST(senders_in_turns_give_messages_in_the_order_of_the_readers_rows)
{
    turn_play(false);
    turn_play(true);
}

ORR_TEST(types_removed_are_sent_in_one_order_for_all_readers)
{
    for (uint32_t others = 0; others < 2; others++) {
        cut_world c;
        cut_begin(&c, CUT_PLAIN, "Velocity, ?Health, ?Tiny");
        orr_world* w = c.w;
        if (others == 1) {
            (void)deliver_kit_reader_of(w, "either *, ?Tiny", false, DELIVER_KIT_ALL);
        }
        orr_entity ids[3];
        CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Velocity, Tiny), 1, NULL, 0, &ids[0]));
        CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Velocity, Health), 1, NULL, 0, &ids[1]));
        CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Velocity, Tiny), 1, NULL, 0, &ids[2]));
        CHECK_OK(orr_entity_enable(w, ids[0], false));
        (void)deliver_kit_diff(w, c.r);
        orr_remove(w, ids[0], Tiny);
        orr_remove(w, ids[1], Health);
        orr_remove(w, ids[2], Tiny);
        CHECK_STR(deliver_kit_diff(w, c.r), "ComponentRemoved component Health 1v1\n"
                                            "ComponentRemoved component Tiny 2v1\n");
        kit_end(&c.k);
    }
}

// An entity that enters because it was enabled, while it gets a pinned type that only other readers
// name, enters by ORR_CAUSE_ENABLED.
ORR_TEST(cause_of_entering_is_that_of_the_readers_own_query)
{
    for (uint32_t others = 0; others < 2; others++) {
        cut_world c;
        cut_begin(&c, CUT_PLAIN, "Velocity, Body");
        orr_world* w = c.w;
        orri_reader* other = deliver_kit_reader_of(w, "Velocity, Sign", false, DELIVER_KIT_ALL);
        orri_reader_enable(w, other, others == 1);
        orr_entity id;
        CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Velocity), 1, NULL, 0, &id));
        orr_set(w, id, Body, {1, 2});
        CHECK_OK(orr_component_enable(w, id, KIT_TYPE(w, Velocity), false));
        CHECK_STR(deliver_kit_diff(w, c.r), "");
        CHECK_STR(deliver_kit_take(other), "");
        CHECK_OK(orr_component_enable(w, id, KIT_TYPE(w, Velocity), true));
        CHECK_OK(orr_component_add(w, id, KIT_TYPE(w, Sign)));
        CHECK_STR(deliver_kit_diff(w, c.r),
                  "EntityAdded enabled 0v1 {Velocity} Velocity: {x: 0, y: "
                  "0} Body: {mass: 1, speed: 2}\n");
        if (others == 1) {
            CHECK(strncmp(deliver_kit_take(other), "EntityAdded component 0v1 {Velocity}", 36) ==
                  0);
        }
        CHECK_OK(orr_component_enable(w, id, KIT_TYPE(w, Velocity), false));
        CHECK_OK(orr_component_remove(w, id, KIT_TYPE(w, Sign)));
        CHECK_STR(deliver_kit_diff(w, c.r), "EntityRemoved enabled 0v1\n");
        if (others == 1) {
            CHECK_STR(deliver_kit_take(other), "EntityRemoved component 0v1\n");
        }
        kit_end(&c.k);
    }
}

// ---- at random ----------------------------------------------------------------------------------

typedef struct cut_play {
    cut_world c;
    uint64_t draw;
    orr_entity* ids;
    uint32_t count;
    cuts* out;
} cut_play;

enum {
    CUT_ENTITIES = 20000
};

static uint64_t cut_draw(cut_play* p, uint64_t bound)
{
    p->draw = p->draw * 6364136223846793005u + 1442695040888963407u;
    return (p->draw >> 33) % bound;
}

// Consecutive entities from anywhere, every `step`th.
static void cut_change(cut_play* p)
{
    orr_world* w = p->c.w;
    uint64_t what = cut_draw(p, 9), first = cut_draw(p, p->count), step = cut_draw(p, 3) + 1;
    uint64_t count = cut_draw(p, 10) == 0 ? p->count : cut_draw(p, 400);
    for (uint64_t i = first; i < p->count && i < first + count * step; i += step) {
        orr_entity id = p->ids[i];
        if (!orr_alive(w, id)) {
            continue;
        }
        if (what < 2) {
            orr_set(w, id, Velocity, {(float)cut_draw(p, 5), 0});
        } else if (what == 2) {
            CHECK_OK(orr_component_add(w, id, KIT_TYPE(w, Health)));
        } else if (what == 3 && orr_has(w, id, Health)) {
            orr_remove(w, id, Health);
        } else if (what == 4) {
            CHECK_OK(orr_entity_enable(w, id, i % 2 == 0));
        } else if (what == 5) {
            orr_set(w, id, Body, {(int32_t)cut_draw(p, 3), 0});
        } else if (what == 6) {
            (void)orr_instance_add(w, id, KIT_TYPE(w, Shot), NULL);
        } else if (what == 7 && i < first + 50 * step) {
            CHECK_OK(orr_destroy(w, id));
        } else if (what == 8) {
            CHECK_OK(orr_tag_add(w, id, i % 3));
        }
    }
}

static void cut_play_one(cut_play* p, uint32_t variant, uint64_t seed)
{
    cut_begin(&p->c, variant, "Velocity, ?Health, ?Body, ?Shot, ?orr_enabled, ?orr_tags");
    orr_world* w = p->c.w;
    p->draw = seed;
    p->out->count = 0;
    CHECK_OK(orr_create_many(w, KIT_CLUSTER(w, Velocity), p->count, NULL, 0, p->ids));
    cut_switch(&p->c, p->ids[3]);
    for (uint32_t i = 0; i < (test_slow() ? 12u : 40u); i++) {
        cut_diff(&p->c, NULL);
        cuts_take(p->out, p->c.r);
        cut_change(p);
        cut_change(p);
    }
    kit_end(&p->c.k);
}

ORR_TEST(stream_is_cut_the_same_with_and_without_other_readers)
{
    cut_play* p = calloc(1, sizeof *p);
    cuts* outs = calloc(2, sizeof *outs);
    p->count = CUT_ENTITIES;
    p->ids = calloc(p->count, sizeof *p->ids);
    for (uint32_t variant = 0; variant < CUT_VARIANTS; variant++) {
        p->out = &outs[variant > 0];
        cut_play_one(p, variant, test_seed());
        if (variant > 0) {
            cuts_compare(&outs[0], &outs[1]);
        }
    }
    CHECK(outs[0].count > 10);
    free(p->ids);
    free(outs);
    free(p);
}
