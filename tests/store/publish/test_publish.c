// SPDX-License-Identifier: MIT
// Published values, rule by rule: which values are copied and shown, how moved rows are remapped,
// and that loops and reads by id in real time read the view.
#include "store/api/reading_kit.h"
#include "store/publish/publish_kit.h"
#include <orrery/query.h>

static void fixture_publish(fixture* s, orr_type type)
{
    CHECK_OK(orri_publish_copy(s->publisher, &type, 1));
    orri_publish_show(s->publisher, &type, 1, s->world->epoch, ++s->tick);
    fixture_check(s);
}

static void fixture_remap(fixture* s)
{
    CHECK_OK(orri_publish_remap(s->publisher));
    fixture_check(s);
}

static const void* view_value(const orri_view* view, const orr_world* world, orr_entity entity,
                              orr_type type)
{
    const orr_hot_table* table = orri_view_table(view, type);
    uint32_t place = orri_record_at(world, orri_id_index(entity))->place;
    uint32_t chunk = place >> ORRI_SLOT_BITS;
    if (chunk >= table->capacity || table->data[chunk] == NULL) {
        return NULL;
    }
    const orri_chunk* at = world->chunks.list[chunk];
    int32_t column = orri_cluster_find_column(at->cluster, type);
    CHECK(column >= 0);
    CHECK(orri_view_columns(view, at)[column].data == table->data[chunk]);
    return table->data[chunk] + (size_t)orri_place_slot(place) * table->size;
}

static int32_t seen(const fixture* s, const orri_view* view, orr_entity entity)
{
    const Health* health = view_value(view, s->world, entity, s->health);
    return health != NULL ? health->value : -1;
}

static const orri_chunk* chunk_of(const fixture* s, orr_entity entity)
{
    return orri_place_chunk(s->world, orri_record_at(s->world, orri_id_index(entity))->place);
}

// Creates `count` entities in a cluster, each with its number.
static orr_entity* fixture_create_many(fixture* s, orr_cluster cluster, uint32_t count)
{
    orr_entity* many = orri_alloc(&s->world->env, ORR_MEMORY_TEMP, count * sizeof *many, 8);
    CHECK_OK(orr_create_many(s->world, cluster, count, NULL, 0, many));
    for (uint32_t i = 0; i < count; i++) {
        fixture_set(s, many[i], (int32_t)i);
    }
    return many;
}

static void fixture_free_many(fixture* s, orr_entity* many, uint32_t count)
{
    orri_free(&s->world->env, ORR_MEMORY_TEMP, many, count * sizeof *many, 8);
}

static void seen_numbers(const fixture* s, const orri_view* view, const orr_entity* many,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ(seen(s, view, many[i]), i);
    }
}

// ---- adding -------------------------------------------------------------------------------------

ORR_TEST(type_unknown_is_refused_and_added_twice_is_published)
{
    fixture s;
    fixture_begin(&s);
    CHECK_RESULT(orri_publish_add(s.publisher, (orr_type){0}), ORR_ERR_TYPE);
    CHECK(!orri_published(s.publisher, s.health));
    CHECK_OK(orri_publish_add(s.publisher, s.health));
    CHECK_OK(orri_publish_add(s.publisher, s.health));
    CHECK(orri_published(s.publisher, s.health));
    fixture_end(&s);
}

ORR_TEST(type_added_is_published_with_its_current_values)
{
    fixture s;
    fixture_begin(&s);
    orr_entity entity = fixture_create(&s, 7);
    CHECK_OK(orri_publish_add(s.publisher, s.health));
    CHECK_EQ(orri_published_tick(s.publisher, s.health), 0);
    const Health* block = orri_published_block(s.publisher, s.health, chunk_of(&s, entity));
    CHECK_EQ(block[0].value, 7);
    orri_view* view = orri_view_create(s.publisher, &s.health, 1);
    CHECK(!orri_view_has(view, s.health));
    CHECK(orri_view_columns(view, chunk_of(&s, entity)) == NULL);
    fixture_check(&s);
    CHECK_OK(orri_view_pin(view));
    CHECK(orri_view_has(view, s.health) && !orri_view_has(view, s.velocity));
    CHECK_EQ(seen(&s, view, entity), 7);
    fixture_end(&s);
}

// ---- copying, showing, pinning ------------------------------------------------------------------

ORR_TEST(view_shows_the_edition_that_was_newest_at_its_pin)
{
    fixture s;
    fixture_begin(&s);
    orr_entity entity = fixture_create(&s, 1);
    CHECK_OK(orri_publish_add(s.publisher, s.health));
    orri_view* early = orri_view_create(s.publisher, &s.health, 1);
    orri_view* late = orri_view_create(s.publisher, &s.health, 1);
    CHECK_OK(orri_view_pin(early));
    fixture_set(&s, entity, 2);
    CHECK_OK(orri_publish_copy(s.publisher, &s.health, 1));
    CHECK_OK(orri_view_pin(late)); // Copied, but not shown.
    CHECK_EQ(seen(&s, late, entity), 1);
    fixture_check(&s);
    orri_publish_show(s.publisher, &s.health, 1, s.world->epoch, 5);
    CHECK_EQ(orri_published_tick(s.publisher, s.health), 5);
    CHECK_EQ(seen(&s, late, entity), 1);
    CHECK_OK(orri_view_pin(late));
    CHECK_EQ(seen(&s, late, entity), 2);
    CHECK_EQ(seen(&s, early, entity), 1);
    fixture_set(&s, entity, 3);
    CHECK_EQ(seen(&s, late, entity), 2);
    fixture_publish(&s, s.health);
    CHECK_OK(orri_view_pin(early)); // It never saw 2.
    CHECK_EQ(seen(&s, early, entity), 3);
    orri_view_destroy(late);
    fixture_end(&s);
}

ORR_TEST(copy_repeated_before_show_publishes_the_later_values)
{
    fixture s;
    fixture_begin(&s);
    orr_entity entity = fixture_create(&s, 1);
    CHECK_OK(orri_publish_add(s.publisher, s.health));
    orri_view* view = orri_view_create(s.publisher, &s.health, 1);
    CHECK_OK(orri_publish_copy(s.publisher, &s.health, 1));
    fixture_set(&s, entity, 2);
    fixture_publish(&s, s.health);
    CHECK_OK(orri_view_pin(view));
    CHECK_EQ(seen(&s, view, entity), 2);
    fixture_end(&s);
}

ORR_TEST(copy_takes_only_written_blocks_and_stamps_them)
{
    fixture s;
    fixture_begin(&s);
    orr_entity first = fixture_create(&s, 1);
    orr_entity other = orr_create_in(s.world, KIT_CLUSTER(s.world, Health, Velocity));
    CHECK_OK(orri_publish_add(s.publisher, s.health));
    fixture_publish(&s, s.health); // Values copied when it was added count as old.
    const void* kept = orri_published_block(s.publisher, s.health, chunk_of(&s, other));
    const void* old = orri_published_block(s.publisher, s.health, chunk_of(&s, first));
    fixture_set(&s, first, 2);
    CHECK_OK(orri_publish_copy(s.publisher, &s.health, 1));
    s.world->epoch = 1000;
    orri_publish_show(s.publisher, &s.health, 1, 1000, 77);
    CHECK(orri_published_block(s.publisher, s.health, chunk_of(&s, other)) == kept);
    CHECK(orri_published_block(s.publisher, s.health, chunk_of(&s, first)) != old);
    orri_view* view = orri_view_create(s.publisher, &s.health, 1);
    CHECK_OK(orri_view_pin(view));
    const orri_column* column = &orri_view_columns(view, chunk_of(&s, first))[0];
    CHECK_EQ(column->version, s.world->epoch); // The epoch of the show.
    CHECK_EQ(column->tick, 77);
    const orri_chunk* chunk = chunk_of(&s, other);
    int32_t health = orri_cluster_find_column(chunk->cluster, s.health);
    int32_t velocity = orri_cluster_find_column(chunk->cluster, s.velocity);
    CHECK(orri_view_columns(view, chunk)[health].data == kept);
    CHECK(orri_view_columns(view, chunk)[velocity].data == chunk->columns[velocity].data);
    CHECK_EQ(orri_view_columns(view, chunk)[velocity].version, 0);
    // Written twice, with a show between: both are seen, although no other write began an epoch.
    fixture_set(&s, first, 3);
    fixture_publish(&s, s.health);
    fixture_set(&s, first, 4);
    fixture_publish(&s, s.health);
    CHECK_OK(orri_view_pin(view));
    CHECK_EQ(seen(&s, view, first), 4);
    fixture_end(&s);
}

ORR_TEST(steady_state_allocates_nothing)
{
    fixture s;
    fixture_begin(&s);
    orr_entity* many = fixture_create_many(&s, KIT_CLUSTER(s.world, Health), 5000);
    CHECK_OK(orri_publish_add(s.publisher, s.health));
    orri_view* view = orri_view_create(s.publisher, &s.health, 1);
    for (int32_t round = 0; round < 20; round++) {
        if (round == 5) {
            failing_alloc_arm(&s.k.memory, 1, true);
        }
        for (uint32_t i = 0; i < 5000; i += 100) {
            fixture_set(&s, many[i], round);
        }
        CHECK_OK(orri_publish_copy(s.publisher, &s.health, 1));
        orri_publish_show(s.publisher, &s.health, 1, s.world->epoch, ++s.tick);
        CHECK_OK(orri_view_pin(view));
        CHECK_EQ(seen(&s, view, many[4900]), round);
    }
    CHECK_EQ(s.k.memory.requests, 0);
    failing_alloc_arm(&s.k.memory, 0, false);
    fixture_free_many(&s, many, 5000);
    fixture_end(&s);
}

// ---- values of every kind -----------------------------------------------------------------------

ORR_TEST(values_with_hooks_and_owned_strings_are_copied_and_destructed)
{
    fixture s;
    fixture_begin(&s);
    kit_tokens_reset();
    orr_type types[] = {s.token, s.label};
    orr_entity entity = orr_create_in(s.world, KIT_CLUSTER(s.world, Token, Label));
    Token token = kit_token(5);
    CHECK_OK(orr_component_set(s.world, entity, s.token, &token));
    Label label = {orr_string_make(s.world, "first"), 1};
    CHECK_OK(orr_component_set(s.world, entity, s.label, &label));
    CHECK_OK(orri_publish_add(s.publisher, s.token));
    CHECK_OK(orri_publish_add(s.publisher, s.label));
    orri_view* view = orri_view_create(s.publisher, types, 2);
    CHECK_OK(orri_view_pin(view));
    label = (Label){orr_string_make(s.world, "second"), 2};
    token = kit_token(6);
    CHECK_OK(orr_component_set(s.world, entity, s.token, &token));
    CHECK_OK(orr_component_set(s.world, entity, s.label, &label));
    orr_tick_advance(s.world); // The view still shows the first string.
    CHECK_OK(orri_publish_copy(s.publisher, types, 2));
    orri_publish_show(s.publisher, types, 2, s.world->epoch, 1);
    const Label* at = view_value(view, s.world, entity, s.label);
    CHECK_STR(orr_string_text(s.world, at->text), "first");
    const Token* shown = view_value(view, s.world, entity, s.token);
    CHECK(kit_token_sound(shown) && shown->cell.payload == 5);
    CHECK_OK(orri_view_pin(view));
    at = view_value(view, s.world, entity, s.label);
    CHECK_STR(orr_string_text(s.world, at->text), "second");
    CHECK_EQ(((const Token*)view_value(view, s.world, entity, s.token))->cell.payload, 6);
    // A hook refuses: nothing is shown, and the next try does.
    token = kit_token(7);
    CHECK_OK(orr_component_set(s.world, entity, s.token, &token));
    kit_tokens.refuse_after = 1;
    (void)orr_copy(s.world, entity); // Uses up the call that is not refused, or is refused itself.
    kit_tokens.refuse_after = 1;
    orr_result result = ORR_OK;
    for (uint32_t i = 0; i < 3 && result == ORR_OK; i++) {
        result = orri_publish_copy(s.publisher, types, 2);
    }
    kit_tokens.refuse_after = 0;
    CHECK(result == ORR_ERR_HOOK);
    CHECK_OK(orri_publish_remap(s.publisher));
    CHECK_OK(orri_publish_copy(s.publisher, types, 2));
    orri_publish_show(s.publisher, types, 2, s.world->epoch, 2);
    CHECK_OK(orri_view_pin(view));
    CHECK_EQ(((const Token*)view_value(view, s.world, entity, s.token))->cell.payload, 7);
    CHECK_EQ(kit_tokens.broken, 0);
    fixture_end(&s);
}

ORR_TEST(markers_are_published_without_values)
{
    fixture s;
    fixture_begin(&s);
    orr_entity entity = fixture_create(&s, 1);
    CHECK_OK(orr_component_add(s.world, entity, s.frozen));
    CHECK_OK(orri_publish_add(s.publisher, s.frozen));
    orri_view* view = orri_view_create(s.publisher, &s.frozen, 1);
    CHECK_OK(orri_view_pin(view));
    CHECK(view_value(view, s.world, entity, s.frozen) != NULL);
    fixture_publish(&s, s.frozen);
    CHECK_OK(orr_component_remove(s.world, entity, s.frozen));
    fixture_remap(&s);
    CHECK(orri_view_columns(view, chunk_of(&s, entity)) == NULL);
    CHECK(view_value(view, s.world, entity, s.frozen) == NULL);
    fixture_end(&s);
}

// ---- following ----------------------------------------------------------------------------------

ORR_TEST(rows_that_move_keep_their_published_values)
{
    fixture s;
    fixture_begin(&s);
    orr_entity a = fixture_create(&s, 1), b = fixture_create(&s, 2), c = fixture_create(&s, 3);
    orri_view* view = fixture_view(&s);
    fixture_set(&s, a, 10), fixture_set(&s, b, 20), fixture_set(&s, c, 30);
    fixture_publish(&s, s.health); // The view keeps its edition.
    fixture_set(&s, b, 200);
    CHECK_OK(orr_component_add(s.world, a, s.velocity)); // c fills the gap.
    fixture_remap(&s);
    CHECK_EQ(seen(&s, view, a), 1);
    CHECK_EQ(seen(&s, view, b), 2);
    CHECK_EQ(seen(&s, view, c), 3);
    orri_view* late = orri_view_create(s.publisher, &s.health, 1);
    CHECK_OK(orri_view_pin(late));
    CHECK_EQ(seen(&s, late, a), 10);
    CHECK_EQ(seen(&s, late, b), 20); // Not 200, which was not shown.
    CHECK_EQ(seen(&s, late, c), 30);
    fixture_publish(&s, s.health);
    CHECK_OK(orri_view_pin(late));
    CHECK_EQ(seen(&s, late, b), 200);
    CHECK_EQ(seen(&s, view, b), 2);
    fixture_end(&s);
}

ORR_TEST(entity_without_a_published_value_shows_the_live_value)
{
    fixture s;
    fixture_begin(&s);
    orr_entity a = fixture_create(&s, 1), bare = orr_create(s.world);
    orri_view* view = fixture_view(&s);
    fixture_set(&s, a, 9);
    orr_entity fresh = fixture_create(&s, 5);
    CHECK_OK(orr_component_set(s.world, bare, s.health, &(Health){6, 0}));
    fixture_remap(&s);
    CHECK_EQ(seen(&s, view, a), 1);
    CHECK_EQ(seen(&s, view, fresh), 5);
    CHECK_EQ(seen(&s, view, bare), 6);
    CHECK_OK(orr_component_remove(s.world, a, s.health));
    fixture_remap(&s);
    CHECK_EQ(seen(&s, view, a), -1);
    fixture_set(&s, fresh, 50);
    CHECK_OK(orr_component_set(s.world, a, s.health, &(Health){8, 0}));
    fixture_remap(&s);
    CHECK_EQ(seen(&s, view, a), 8);
    CHECK_EQ(seen(&s, view, fresh), 5);
    fixture_end(&s);
}

// The same index, at the same row, with another generation.
ORR_TEST(entity_with_the_index_of_a_dead_one_does_not_get_its_value)
{
    fixture s;
    fixture_begin(&s);
    orr_entity a = fixture_create(&s, 1);
    orri_view* view = fixture_view(&s);
    CHECK_OK(orr_destroy(s.world, a));
    orr_entity b = fixture_create(&s, 2);
    CHECK_EQ(orri_id_index(a), orri_id_index(b));
    fixture_remap(&s);
    CHECK_EQ(seen(&s, view, b), 2);
    fixture_end(&s);
}

ORR_TEST(chunks_handed_over_to_another_cluster_are_remapped)
{
    fixture s;
    fixture_begin(&s);
    orr_cluster from = KIT_CLUSTER(s.world, Health),
                to = KIT_CLUSTER(s.world, Health, Padded, Frozen);
    orr_entity* many = fixture_create_many(&s, from, 3000);
    CHECK_OK(orri_publish_add(s.publisher, s.health));
    CHECK_OK(orri_publish_add(s.publisher, s.frozen));
    orri_view* view = orri_view_create(s.publisher, &s.health, 1);
    CHECK_OK(orri_view_pin(view));
    for (uint32_t i = 0; i < 3000; i++) {
        fixture_set(&s, many[i], -5);
    }
    CHECK_OK(orr_rows_move_all(s.world, from, to));
    fixture_remap(&s);
    seen_numbers(&s, view, many, 3000);
    CHECK_OK(orr_cluster_delete(s.world, to));
    fixture_remap(&s);
    // Ids of chunks are used again.
    orr_entity bare = orr_create_in(s.world, KIT_CLUSTER(s.world, Velocity));
    orr_entity next = fixture_create(&s, 4);
    fixture_remap(&s);
    CHECK_EQ(seen(&s, view, next), 4);
    CHECK(orri_view_columns(view, chunk_of(&s, bare)) == NULL);
    fixture_free_many(&s, many, 3000);
    fixture_end(&s);
}

// The end of one chunk and the beginning of the next are not adjacent in memory, although their
// places are consecutive.
ORR_TEST(rows_moved_from_two_chunks_keep_their_published_values)
{
    fixture s;
    fixture_begin(&s);
    orr_cluster from = KIT_CLUSTER(s.world, Health), to = KIT_CLUSTER(s.world, Health, Velocity);
    orr_entity* many = fixture_create_many(&s, from, 4096);
    orri_view* view = fixture_view(&s);
    CHECK_OK(orr_rows_move(s.world, from, 2040, 20, to));
    fixture_remap(&s);
    seen_numbers(&s, view, many, 4096);
    fixture_free_many(&s, many, 4096);
    fixture_end(&s);
}

ORR_TEST(rows_added_count_as_changed_and_the_pending_edition_is_remapped)
{
    fixture s;
    fixture_begin(&s);
    orr_entity a = fixture_create(&s, 1);
    orri_view* view = fixture_view(&s);
    fixture_set(&s, a, 2);
    CHECK_OK(orri_publish_copy(s.publisher, &s.health, 1));
    uint64_t before = s.world->epoch;
    orr_entity b = fixture_create(&s, 3);
    fixture_remap(&s);
    const orri_column* column = &orri_view_columns(view, chunk_of(&s, a))[0];
    CHECK(column->version > before && column->version < s.world->epoch);
    uint64_t version = s.world->epoch;
    orri_publish_show(s.publisher, &s.health, 1, version, 1);
    CHECK_OK(orri_view_pin(view));
    CHECK_EQ(seen(&s, view, a), 2);
    CHECK_EQ(seen(&s, view, b), 3);
    CHECK_EQ(orri_view_columns(view, chunk_of(&s, a))[0].version, s.world->epoch);
    CHECK(s.world->epoch > version);
    fixture_end(&s);
}

// A chunk that grows and a shared block that is written get other addresses; a view takes them
// over.
ORR_TEST(view_shows_live_columns_at_their_current_address)
{
    fixture s;
    fixture_begin(&s);
    orr_cluster cluster = KIT_CLUSTER(s.world, Health, Velocity);
    orr_entity entity = orr_create_in(s.world, cluster);
    orri_view* view = fixture_view(&s);
    orri_chunk* chunk =
        orri_place_chunk(s.world, orri_record_at(s.world, orri_id_index(entity))->place);
    const uint8_t* before = chunk->columns[1].data;
    CHECK(orri_cluster_reserve(s.world, chunk->cluster, 300));
    CHECK(chunk->columns[1].data != before);
    fixture_check(&s);
    int32_t velocity = orri_cluster_find_column(chunk->cluster, s.velocity);
    orri_share* share = orri_share_column(s.world, chunk, (uint32_t)velocity, ORRI_SHARE_FROZEN);
    CHECK_OK(orr_component_set(s.world, entity, s.velocity, &(Velocity){3, 4}));
    const Velocity* shown = (const void*)orri_view_columns(view, chunk)[velocity].data;
    CHECK(shown->x == 3);
    fixture_check(&s);
    orri_share_release(s.world, share);
    fixture_end(&s);
}

// ---- reading in real time -----------------------------------------------------------------------

static void reading_tables(reading* r, const fixture* s, const orri_view* view, orr_type type)
{
    r->tables[orri_type_index(s->world, type)] = orri_view_table(view, type);
}

ORR_TEST(query_reads_the_view_and_writes_live_values)
{
    fixture s;
    fixture_begin(&s);
    orr_entity a = orr_create_in(s.world, KIT_CLUSTER(s.world, Health, Velocity));
    fixture_set(&s, a, 1);
    orri_view* view = fixture_view(&s);
    orr_query* query = orr_query_text(s.world, "Health, write Velocity");
    orr_query* alone = orr_query_text(s.world, "Velocity");
    orr_query* sorted = orr_query_create(
        s.world, &(orr_query_desc){ORR_TERMS(ORR_R(s.world, Health)), .order_by = "Health.value"});
    CHECK(query != NULL && alone != NULL && sorted != NULL);
    fixture_set(&s, a, 2);
    reading r;
    reading_begin(&r, s.world, view, 0);
    for (uint32_t round = 0; round < 2; round++) { // The second time types are known.
        ORR_EACH (it, query) {
            CHECK_EQ(it.count, 1);
            CHECK_EQ(it.tick, 41);
            CHECK_EQ(orr_read(&it, Health)[0].value, 1);
            orr_write(&it, Velocity)[0].x = 6;
        }
    }
    ORR_EACH (it, alone) {
        CHECK(orr_read(&it, Velocity)[0].x == 6);
    }
    ORR_EACH (it, sorted) {
        CHECK_EQ(orr_read(&it, Health)[0].value, 1);
    }
    reading_end(&r, s.world);
    const orri_chunk* chunk = chunk_of(&s, a);
    int32_t velocity = orri_cluster_find_column(chunk->cluster, s.velocity);
    CHECK_EQ(chunk->columns[velocity].version, r.clock[1]);
    CHECK_EQ(chunk->columns[velocity].tick, 41);
    s.world->tick = 41; // The world reaches the tick of the write.
    ORR_EACH (it, query) {
        CHECK_EQ(orr_read(&it, Health)[0].value, 2);
    }
    fixture_end(&s);
}

ORR_TEST(changed_since_uses_versions_of_the_view)
{
    fixture s;
    fixture_begin(&s);
    orr_entity a = fixture_create(&s, 1);
    CHECK_OK(orri_publish_add(s.publisher, s.health));
    orri_view* view = orri_view_create(s.publisher, &s.health, 1);
    fixture_publish(&s, s.health);
    uint64_t pinned = s.world->epoch;
    CHECK_OK(orri_view_pin(view));
    orr_query* query = orr_query_text(s.world, "changed Health");
    CHECK(query != NULL);
    fixture_set(&s, a, 2); // Live, and not shown.
    reading r;
    for (uint32_t round = 0; round < 3; round++) {
        if (round == 1) {
            CHECK_OK(orri_publish_copy(s.publisher, &s.health, 1));
            orri_publish_show(s.publisher, &s.health, 1, ++s.world->epoch, ++s.tick);
            CHECK_OK(orri_view_pin(view));
        }
        reading_begin(&r, s.world, view, round < 2 ? pinned : s.world->epoch);
        uint32_t count = 0;
        ORR_EACH_OF (it, query, .since = 1) {
            count += it.count;
        }
        CHECK_EQ(count, round == 1);
        count = 0;
        ORR_EACH (it, query) { // Without a mark everything counts as changed.
            count += it.count;
        }
        CHECK_EQ(count, 1);
        reading_end(&r, s.world);
    }
    fixture_end(&s);
}

ORR_TEST(reads_by_id_never_bypass_the_view)
{
    fixture s;
    fixture_begin(&s);
    orr_entity a = fixture_create(&s, 1),
               lacks = orr_create_in(s.world, KIT_CLUSTER(s.world, Velocity));
    orri_view* view = fixture_view(&s);
    fixture_set(&s, a, 2);
    orr_entity dead = fixture_create(&s, 3);
    CHECK_OK(orr_destroy(s.world, dead));
    fixture_remap(&s);
    orr_address address;
    CHECK_OK(orr_address_get(s.world, a, &address));
    orr_cluster cluster = orr_entity_cluster(s.world, a);
    reading r;
    for (uint32_t round = 0; round < 2;
         round++) { // With the tables of the world, and with the view's.
        reading_begin(&r, s.world, view, 0);
        if (round == 1) {
            reading_tables(&r, &s, view, s.health);
            CHECK_EQ(((const Health*)orr_component_get(s.world, a, s.health))->value, 1);
            orr_reader reader = orr_reader_make(s.world, s.health);
            CHECK_EQ(((const Health*)orr_reader_get(&reader, a))->value, 1);
            CHECK(orr_reader_get(&reader, lacks) == NULL);
            CHECK(orr_component_get(s.world, lacks, s.health) == NULL);
        }
        r.tables[orri_type_index(s.world, s.health)] = &orri_table_none.hot;
        CHECK_EQ(((const Health*)orr_component_get(s.world, a, s.health))->value, 1);
        CHECK_EQ(((const Health*)orr_reader_get_far(s.world, s.health, a))->value, 1);
        CHECK_EQ(((const Health*)orr_address_read(s.world, &address, s.health))->value, 1);
        CHECK_EQ(((const Health*)orr_column_read(s.world, cluster, 0, s.health))->value, 1);
        uint32_t count = 10;
        const Health* span = orr_span_read(s.world, cluster, s.health, 0, &count);
        CHECK(count == 1 && span->value == 1);
        Health out;
        CHECK_OK(orr_component_get_many(s.world, &a, 1, s.health, &out));
        CHECK_EQ(out.value, 1);
        CHECK(orr_component_has(s.world, a, s.health));
        CHECK(!orr_component_has(s.world, lacks, s.health));
        CHECK(orr_component_get(s.world, lacks, s.health) == NULL);
        CHECK_EQ(s.k.errors.count, round);
        CHECK(orr_component_get(s.world, dead, s.health) == NULL);
        CHECK_EQ(s.k.errors.count, round + 1);
        const orri_column* column = &orri_view_columns(view, chunk_of(&s, a))[0];
        CHECK_EQ(orr_column_version(s.world, cluster, 0, s.health), column->version);
        CHECK_EQ(orr_column_tick(s.world, cluster, 0, s.health), column->tick);
        // Its writes by id are stamped with its own clock.
        CHECK_OK(orr_component_set(s.world, lacks, s.velocity, &(Velocity){1, 1}));
        CHECK_EQ(chunk_of(&s, lacks)->columns[0].version, r.clock[1]);
        CHECK_EQ(chunk_of(&s, lacks)->columns[0].tick, 41);
        reading_end(&r, s.world);
        s.world->tick = 41;
    }
    fixture_end(&s);
}

// ---- two threads --------------------------------------------------------------------------------

enum {
    ROWS = 5000
};

typedef struct two_threads {
    fixture s;
    orri_mutex lock;
    orri_view* view;
    _Atomic bool done;
    uint32_t rounds, torn, ticks;
} two_threads;

static void two_threads_read(void* arg)
{
    two_threads* d = arg;
    const orr_platform* platform = d->s.world->env.platform;
    int32_t last = -1;
    do { // At least once, however late a busy machine starts this thread.
        orri_mutex_lock(platform, &d->lock);
        orr_result result = orri_view_pin(d->view);
        orri_mutex_unlock(platform, &d->lock);
        d->torn += result != ORR_OK;
        int32_t value = -1;
        const orr_world* world = d->s.world;
        for (uint32_t id = 1; id < world->chunks.count; id++) {
            const orri_chunk* chunk = world->chunks.list[id];
            const orri_column* columns = orri_view_columns(d->view, chunk);
            for (uint32_t r = 0; r < orri_chunk_rows(chunk); r++) {
                int32_t at = ((const Health*)(const void*)columns[0].data)[r].value;
                value = value < 0 ? at : value;
                d->torn += at != value;
            }
        }
        d->torn += value < last;
        d->ticks += value != last;
        last = value;
    } while (!d->done);
}

// The owner writes in place and publishes, the other reads what it pinned: every view shows one
// tick.
ORR_TEST(reader_sees_whole_ticks_while_the_owner_writes)
{
    static two_threads d;
    d = (two_threads){.rounds = test_rounds(300, 60, 3000)};
    fixture_begin(&d.s);
    orr_world* world = d.s.world;
    orr_cluster cluster = KIT_CLUSTER(world, Health);
    CHECK_OK(orr_create_many(world, cluster, ROWS, NULL, 0, NULL));
    CHECK_OK(orri_publish_add(d.s.publisher, d.s.health));
    d.view = orri_view_create(d.s.publisher, &d.s.health, 1);
    world->realtime = true;
    const orr_platform* platform = world->env.platform;
    orr_thread thread;
    CHECK_EQ(platform->thread_create(platform->user, "reader", two_threads_read, &d, &thread), 0);
    orri_thread_context before = orri_this_thread;
    for (uint32_t round = 0; round < d.rounds; round++) {
        orri_mutex_lock(platform, &d.lock);
        uint64_t clock[2] = {round, world->epoch};
        orri_mutex_unlock(platform, &d.lock);
        orri_this_thread = (orri_thread_context){.world = world, .clock = clock};
        for (uint32_t c = 0; c * ORR_CHUNK_CAPACITY < ROWS; c++) {
            Health* column = orr_column_write(world, cluster, c, d.s.health);
            for (uint32_t r = 0; r < orr_chunk_count(world, cluster, c); r++) {
                column[r].value = 1000 + (int32_t)round;
            }
        }
        CHECK_OK(orri_publish_copy(d.s.publisher, &d.s.health, 1));
        orri_this_thread = before;
        orri_mutex_lock(platform, &d.lock);
        orri_publish_show(d.s.publisher, &d.s.health, 1, world->epoch, round);
        orri_mutex_unlock(platform, &d.lock);
    }
    d.done = true;
    platform->thread_join(platform->user, thread);
    world->realtime = false;
    world->tick = d.rounds;
    CHECK_EQ(d.torn, 0);
    CHECK(d.ticks > 0);
    fixture_end(&d.s);
}
