// SPDX-License-Identifier: MIT
// Published values of multiple and pinned types, rule by rule.
#include "store/api/reading_kit.h"
#include "store/publish/publish_kit.h"
#include "support/pinned_kit.h"
#include <orrery/query.h>

ORR_STRUCT_EX(Shot, (.multiplicity = ORR_MULTIPLE), (int32_t, number), (int32_t, twice))
ORR_STRUCT_EX(Charm, (.multiplicity = ORR_MULTIPLE, .hooks = &kit_token_hooks), (TokenCell, cell))

typedef struct kinds_fixture {
    fixture s;
    orr_world* world;
    orr_type shot, body;
    orri_view* view;
    reading r;
} kinds_fixture;

static void kinds_begin(kinds_fixture* c)
{
    fixture_begin(&c->s);
    c->world = c->s.world;
    c->shot = KIT_TYPE(c->world, Shot);
    c->body = KIT_TYPE(c->world, Body);
    c->view = NULL;
}

static void kinds_view(kinds_fixture* c)
{
    orr_type types[2] = {c->shot, c->body};
    CHECK_OK(orri_publish_add(c->s.publisher, c->shot));
    CHECK_OK(orri_publish_add(c->s.publisher, c->body));
    c->view = orri_view_create(c->s.publisher, types, 2);
    CHECK(c->view != NULL);
    CHECK_OK(orri_view_pin(c->view));
}

static void kinds_publish(kinds_fixture* c)
{
    orr_type types[2] = {c->shot, c->body};
    CHECK_OK(orri_publish_copy(c->s.publisher, types, 2));
    orri_publish_show(c->s.publisher, types, 2, c->world->epoch, ++c->s.tick);
}

static void kinds_remap(kinds_fixture* c)
{
    CHECK_OK(orri_publish_remap(c->s.publisher));
    CHECK(orri_publish_remapped(c->s.publisher));
    fixture_check(&c->s);
}

static void set_body(const kinds_fixture* c, orr_entity entity, int32_t mass)
{
    CHECK_OK(orr_component_set(c->world, entity, c->body, &(Body){mass, -mass}));
}

static orr_component_id add_shot(const kinds_fixture* c, orr_entity entity, int32_t number)
{
    orr_component_id id = orr_instance_add(c->world, entity, c->shot, &(Shot){number, 2 * number});
    CHECK(id != 0);
    return id;
}

static void set_shot(const kinds_fixture* c, orr_entity entity, orr_component_id id, int32_t number)
{
    CHECK_OK(orr_instance_set(c->world, entity, c->shot, id, &(Shot){number, 2 * number}));
}

// As a system of the view's pipeline sees it; -1: it has none.
static int32_t seen_body(kinds_fixture* c, orr_entity entity)
{
    reading_begin(&c->r, c->world, c->view, 0);
    const Body* body = orr_component_get(c->world, entity, c->body);
    int32_t mass = body != NULL ? body->mass : -1;
    CHECK(body == NULL || body->speed == -mass);
    reading_end(&c->r, c->world);
    return mass;
}

// Numbers of all its shots as one: 1, 2, 3 is 123; each is found by its id, too.
static int32_t seen_shots(kinds_fixture* c, orr_entity entity)
{
    reading_begin(&c->r, c->world, c->view, 0);
    const void* values;
    const orr_component_id* ids;
    uint32_t count = orr_instances_get(c->world, entity, c->shot, &values, &ids);
    int32_t all = 0;
    for (uint32_t i = 0; i < count; i++) {
        const Shot* shot = (const Shot*)values + i;
        CHECK_EQ(shot->twice, 2 * shot->number);
        CHECK(orr_instance_get(c->world, entity, c->shot, ids[i]) == shot);
        all = all * 10 + shot->number;
    }
    reading_end(&c->r, c->world);
    return all;
}

// ---- pinned -------------------------------------------------------------------------------------

ORR_TEST(pinned_values_are_read_as_published)
{
    kinds_fixture c;
    kinds_begin(&c);
    orr_entity a = orr_create(c.world), b = orr_create(c.world);
    set_body(&c, a, 1);
    kinds_view(&c);
    set_body(&c, a, 2);
    CHECK_EQ(seen_body(&c, a), 1);
    CHECK_EQ(seen_body(&c, b), -1);
    kinds_publish(&c);
    CHECK_EQ(seen_body(&c, a), 1); // Until it pins.
    CHECK_OK(orri_view_pin(c.view));
    CHECK_EQ(seen_body(&c, a), 2);
    CHECK_EQ(orri_published_tick(c.s.publisher, c.body), 1);
    fixture_end(&c.s);
}

ORR_TEST(pinned_values_added_are_live_and_kept_ones_as_published)
{
    kinds_fixture c;
    kinds_begin(&c);
    orr_entity a = orr_create(c.world), b = orr_create(c.world), d = orr_create(c.world);
    set_body(&c, a, 1);
    set_body(&c, b, 2);
    kinds_view(&c);
    set_body(&c, a, 3);
    set_body(&c, b, 4);
    CHECK_OK(orr_component_remove(c.world, b, c.body));
    set_body(&c, d, 5); // In the slot that b had.
    CHECK(!orri_publish_remapped(c.s.publisher));
    kinds_remap(&c);
    CHECK_EQ(seen_body(&c, a), 1);
    CHECK_EQ(seen_body(&c, b), -1);
    CHECK_EQ(seen_body(&c, d), 5);
    // A dead entity, and the entity that has its index and slot now, are different.
    CHECK_OK(orr_destroy(c.world, d));
    orr_entity e = orr_create(c.world);
    CHECK_EQ(orri_id_index(e), orri_id_index(d));
    set_body(&c, e, 6);
    kinds_remap(&c);
    CHECK_EQ(seen_body(&c, e), 6);
    fixture_end(&c.s);
}

ORR_TEST(pinned_values_of_a_pool_created_later_are_remapped)
{
    kinds_fixture c;
    kinds_begin(&c);
    kinds_view(&c); // No entity has one.
    orr_entity a = orr_create(c.world);
    CHECK_EQ(seen_body(&c, a), -1);
    set_body(&c, a, 1);
    kinds_remap(&c);
    for (int32_t i = 0; i < 5000; i++) { // Several blocks.
        set_body(&c, orr_create(c.world), i);
    }
    kinds_remap(&c);
    set_body(&c, a, 2);
    CHECK_EQ(seen_body(&c, a), 1);
    kinds_publish(&c);
    CHECK_OK(orri_view_pin(c.view));
    CHECK_EQ(seen_body(&c, a), 2);
    fixture_end(&c.s);
}

ORR_TEST(pinned_blocks_that_were_not_written_are_not_copied)
{
    kinds_fixture c;
    kinds_begin(&c);
    orr_entity last = {0};
    for (int32_t i = 0; i < 5000; i++) {
        last = orr_create(c.world);
        set_body(&c, last, i);
    }
    kinds_view(&c);
    kinds_publish(&c);
    uint64_t copied = orri_publish_copied(c.s.publisher);
    CHECK_EQ(copied, 0); // First it is published as it is.
    set_body(&c, last, 7);
    kinds_publish(&c);
    copied = orri_publish_copied(c.s.publisher);
    CHECK(copied > 0 && copied <= ORR_CHUNK_CAPACITY * sizeof(Body));
    kinds_publish(&c);
    CHECK_EQ(orri_publish_copied(c.s.publisher), copied);
    fixture_end(&c.s);
}

static int32_t masses(orr_query* query)
{
    int32_t sum = 0;
    ORR_EACH (it, query) {
        for (uint32_t i = 0; i < it.count; i++) {
            const Body* body = orr_read_pinned(&it, Body, i);
            sum = sum * 10 + (body != NULL ? body->mass : 0);
        }
    }
    return sum;
}

ORR_TEST(queries_of_pinned_types_read_the_view)
{
    kinds_fixture c;
    kinds_begin(&c);
    orr_entity a[3];
    for (uint32_t i = 0; i < 3; i++) {
        a[i] = orr_create_in(c.world, KIT_CLUSTER(c.world, Health));
    }
    set_body(&c, a[0], 1);
    set_body(&c, a[2], 3);
    orr_query* all = orr_query_text(c.world, "Body");
    orr_query* some = orr_query_text(c.world, "Health, ?Body");
    orr_query* none = orr_query_text(c.world, "Health, !Body");
    CHECK(all != NULL && some != NULL && none != NULL);
    CHECK_EQ(masses(all), 13);
    kinds_view(&c);
    set_body(&c, a[0], 4);
    for (uint32_t round = 0; round < 2; round++) {
        CHECK_EQ(masses(all),
                 43); // Without a view the live value is read; alternating with a view.
        reading_begin(&c.r, c.world, c.view, 0);
        CHECK_EQ(masses(all), 13);
        CHECK_EQ(masses(some), 103);
        CHECK_EQ(orr_query_count(none), 1);
        reading_end(&c.r, c.world);
    }
    kinds_publish(&c);
    CHECK_OK(orri_view_pin(c.view));
    set_body(&c, a[1], 2);
    set_body(&c, a[0], 5);
    kinds_remap(&c);
    reading_begin(&c.r, c.world, c.view, 0);
    CHECK_EQ(masses(all), 423);
    CHECK_EQ(masses(some), 423);
    reading_end(&c.r, c.world);
    CHECK_EQ(masses(all), 523);
    fixture_end(&c.s);
}

// ---- multiple -----------------------------------------------------------------------------------

ORR_TEST(instances_are_read_as_published)
{
    kinds_fixture c;
    kinds_begin(&c);
    orr_entity a = orr_create(c.world);
    orr_component_id one = add_shot(&c, a, 1), two = add_shot(&c, a, 2);
    kinds_view(&c);
    set_shot(&c, a, one, 3);
    CHECK_EQ(seen_shots(&c, a), 12);
    kinds_publish(&c);
    CHECK_OK(orri_view_pin(c.view));
    CHECK_EQ(seen_shots(&c, a), 32);
    set_shot(&c, a, two, 9);
    CHECK_EQ(seen_shots(&c, a), 32);
    fixture_end(&c.s);
}

ORR_TEST(instances_added_are_live_and_kept_ones_as_published)
{
    kinds_fixture c;
    kinds_begin(&c);
    orr_entity a = orr_create(c.world), b = orr_create(c.world);
    orr_component_id ids[4];
    for (int32_t i = 0; i < 3; i++) {
        ids[i] = add_shot(&c, a, i + 1);
        (void)add_shot(&c, b, 5 + i);
    }
    kinds_view(&c);
    for (uint32_t i = 0; i < 3; i++) {
        set_shot(&c, a, ids[i], 9);
    }
    ids[3] = add_shot(&c, a, 4); // Where there is room: no row moves.
    CHECK(!orri_publish_remapped(c.s.publisher));
    kinds_remap(&c);
    CHECK_EQ(seen_shots(&c, a), 1234);
    CHECK_OK(orr_instance_remove(c.world, a, c.shot, ids[1]));
    kinds_remap(&c);
    CHECK_EQ(seen_shots(&c, a), 134);
    (void)add_shot(&c, a, 5);
    (void)add_shot(&c, a, 6); // A larger cell, in another cluster.
    kinds_remap(&c);
    CHECK_EQ(seen_shots(&c, a), 13456);
    CHECK_EQ(seen_shots(&c, b), 567);
    CHECK_OK(orr_instance_remove(c.world, a, c.shot, ids[0]));
    CHECK_OK(orr_instance_remove(c.world, a, c.shot, ids[2]));
    kinds_remap(&c);
    CHECK_EQ(seen_shots(&c, a), 456);
    CHECK_OK(orr_component_add(c.world, a, c.s.velocity));
    CHECK_OK(orr_destroy(c.world, b));
    kinds_remap(&c);
    CHECK_EQ(seen_shots(&c, a), 456);
    fixture_end(&c.s);
}

ORR_TEST(instances_with_hooks_are_destructed_once)
{
    kinds_fixture c;
    kinds_begin(&c);
    kit_tokens_reset();
    orr_type charm = KIT_TYPE(c.world, Charm), ghost = KIT_TYPE(c.world, Ghost);
    orr_entity a = orr_create(c.world);
    CHECK_OK(orr_component_set(c.world, a, ghost, &KIT_GHOST(7)));
    orr_component_id id = orr_instance_add(c.world, a, charm, &KIT_GHOST(1));
    CHECK_OK(orri_publish_add(c.s.publisher, charm));
    CHECK_OK(orri_publish_add(c.s.publisher, ghost));
    for (uint32_t i = 0; i < 20; i++) {
        orr_type types[2] = {charm, ghost};
        CHECK(orr_instance_add(c.world, a, charm, &KIT_GHOST(2 + i)) != 0);
        if (i % 3 == 0) {
            CHECK_OK(orr_instance_remove(c.world, a, charm, id));
            id = orr_instance_add(c.world, a, charm, &KIT_GHOST(100 + i));
            CHECK_OK(orr_component_remove(c.world, a, ghost));
            CHECK_OK(orr_component_set(c.world, a, ghost, &KIT_GHOST(8)));
        }
        kinds_remap(&c);
        CHECK_OK(orri_publish_copy(c.s.publisher, types, 2));
        orri_publish_show(c.s.publisher, types, 2, c.world->epoch, i + 1);
    }
    CHECK_EQ(kit_tokens.broken, 0);
    fixture_end(&c.s);
}

static int32_t numbers(orr_query* query)
{
    int32_t all = 0;
    ORR_EACH (it, query) {
        const Shot* shots = orr_read(&it, Shot);
        orr_instances in = orr_instances_of(&it, Shot);
        for (uint32_t i = 0; i < it.count; i++) {
            for (uint32_t k = 0; k < in.counts[i]; k++) {
                all = all * 10 + shots[i * in.capacity + k].number;
            }
        }
    }
    return all;
}

ORR_TEST(queries_of_multiple_types_read_the_view)
{
    kinds_fixture c;
    kinds_begin(&c);
    orr_entity a = orr_create(c.world), b = orr_create(c.world);
    (void)add_shot(&c, a, 1);
    orr_component_id two = add_shot(&c, a, 2);
    (void)add_shot(&c, b, 3);
    (void)add_shot(&c, b, 4);
    orr_query* all = orr_query_text(c.world, "Shot");
    orr_query* changed = orr_query_text(c.world, "changed Shot");
    CHECK(all != NULL && changed != NULL);
    kinds_view(&c);
    uint64_t since = c.world->epoch++;
    set_shot(&c, a, two, 9);
    CHECK_EQ(numbers(all), 1934);
    for (uint32_t round = 0; round < 2; round++) {
        uint32_t count = 0;
        reading_begin(&c.r, c.world, c.view, since);
        CHECK_EQ(numbers(all), round == 0 ? 1234 : 1934);
        ORR_EACH_OF (it, changed, .since = 1) {
            count += it.count;
        }
        CHECK_EQ(count, round == 0 ? 0 : 2);
        reading_end(&c.r, c.world);
        kinds_publish(&c);
        CHECK_OK(orri_view_pin(c.view));
    }
    fixture_end(&c.s);
}

// ---- both ---------------------------------------------------------------------------------------

ORR_TEST(all_reading_calls_read_the_view)
{
    kinds_fixture c;
    kinds_begin(&c);
    orr_entity a = orr_create_in(c.world, KIT_CLUSTER(c.world, Health));
    orr_component_id id = add_shot(&c, a, 1);
    set_body(&c, a, 2);
    kinds_view(&c);
    set_shot(&c, a, id, 8);
    set_body(&c, a, 9);
    orr_address address;
    CHECK_OK(orr_address_get(c.world, a, &address));
    orr_cluster cluster = orr_entity_cluster(c.world, a);
    orr_component_ref shot = {.entity = a, .type = c.shot, .id = id};
    orr_component_ref body = {.entity = a, .type = c.body};
    char text[256];
    reading_begin(&c.r, c.world, c.view, 0);
    for (uint32_t round = 0; round < 2; round++) { // The second time with tables of the view.
        CHECK_EQ(((const Shot*)orr_ref_get(c.world, shot))->number, 1);
        CHECK_EQ(((const Body*)orr_ref_get(c.world, body))->mass, 2);
        CHECK_EQ(((const Shot*)orr_component_get(c.world, a, c.shot))->number, 1);
        CHECK_EQ(((const Shot*)orr_address_read(c.world, &address, c.shot))->number, 1);
        CHECK_EQ(((const Body*)orr_address_read(c.world, &address, c.body))->mass, 2);
        CHECK_EQ(((const Shot*)orr_column_read(c.world, cluster, 0, c.shot))->number, 1);
        orr_reader shots = orr_reader_make(c.world, c.shot),
                   bodies = orr_reader_make(c.world, c.body);
        CHECK_EQ(((const Shot*)orr_reader_get(&shots, a))->number, 1);
        CHECK_EQ(((const Body*)orr_reader_get(&bodies, a))->mass, 2);
        Body out;
        CHECK_OK(orr_component_get_many(c.world, &a, 1, c.body, &out));
        CHECK_EQ(out.mass, 2);
        (void)orr_entity_print(c.world, a, text, sizeof text);
        CHECK_CONTAINS(text, "Shot [{number: 1, twice: 2}]");
        CHECK_CONTAINS(text, "Body {mass: 2, speed: -2}");
        c.r.tables[orri_type_index(c.world, c.shot)] = orri_view_table(c.view, c.shot);
        c.r.tables[orri_type_index(c.world, c.body)] = orri_view_table(c.view, c.body);
    }
    reading_end(&c.r, c.world);
    CHECK_EQ(((const Shot*)orr_ref_get(c.world, shot))->number, 8);
    CHECK_EQ(((const Body*)orr_ref_get(c.world, body))->mass, 9);
    fixture_end(&c.s);
}

ORR_TEST(enable_bits_are_visible_at_once)
{
    kinds_fixture c;
    kinds_begin(&c);
    orr_entity a = orr_create(c.world);
    orr_component_id id = add_shot(&c, a, 1);
    set_body(&c, a, 2);
    kinds_view(&c);
    CHECK_OK(orr_instance_enable(c.world, a, c.shot, id, false));
    CHECK_OK(orr_component_enable(c.world, a, c.body, false));
    kinds_remap(&c);
    reading_begin(&c.r, c.world, c.view, 0);
    CHECK(!orr_instance_enabled(c.world, a, c.shot, id));
    CHECK(!orr_component_enabled(c.world, a, c.body));
    reading_end(&c.r, c.world);
    CHECK_EQ(seen_shots(&c, a), 1);
    CHECK_EQ(seen_body(&c, a), 2);
    fixture_end(&c.s);
}

ORR_TEST(steady_state_of_all_kinds_allocates_nothing)
{
    kinds_fixture c;
    kinds_begin(&c);
    orr_entity a = orr_create(c.world);
    orr_component_id id = add_shot(&c, a, 1);
    set_body(&c, a, 1);
    kinds_view(&c);
    for (int32_t i = 0; i < 8; i++) {
        if (i == 4) {
            failing_alloc_arm(&c.s.k.memory, 1, true);
        }
        set_shot(&c, a, id, i);
        set_body(&c, a, i);
        kinds_publish(&c);
        CHECK_OK(orri_view_pin(c.view));
        CHECK_EQ(seen_shots(&c, a), i);
        CHECK_EQ(seen_body(&c, a), i);
    }
    failing_alloc_arm(&c.s.k.memory, 0, false);
    fixture_end(&c.s);
}
