// SPDX-License-Identifier: MIT
// Zero-copy publishing, rule by rule: live blocks are shown without a copy, replaced before they
// are overwritten, and copied before any other write.
#include "store/publish/publish_kit.h"
#include <orrery/query.h>

enum {
    ROWS = 3000, // A full chunk, and a part of one.
};

static orr_entity lent_rows[ROWS];

static void zero_copy_begin(fixture* s, uint32_t rows)
{
    fixture_begin(s);
    s->rows = lent_rows;
    for (uint32_t i = 0; i < rows; i++) {
        s->rows[i] = fixture_create(s, (int32_t)i);
    }
    s->cluster = orri_cluster_at(s->world, KIT_CLUSTER(s->world, Health));
    s->first = fixture_view(s);
    CHECK_OK(orri_zero_copy_enable(s->publisher, s->health, true));
    s->second = fixture_view(s);
}

static orri_reclaim_how fixture_reclaim_as(void* user, const orri_cluster* cluster)
{
    const fixture* s = user;
    CHECK(orri_cluster_find_column(cluster, s->health) >= 0);
    return s->how;
}

static orr_result fixture_reclaim(fixture* s, orri_reclaim_how how)
{
    s->how = how;
    orr_result result = orri_reclaim(s->publisher, s->health, fixture_reclaim_as, s);
    orri_reclaim_end(s->publisher, result == ORR_OK);
    return result;
}

static orri_chunk* chunk_of(const fixture* s, uint32_t row)
{
    return orri_place_chunk(s->world, orri_record_at(s->world, orri_id_index(s->rows[row]))->place);
}

static uint8_t* live_of(const fixture* s, uint32_t row)
{
    const orri_chunk* chunk = chunk_of(s, row);
    return chunk->columns[orri_cluster_find_column(chunk->cluster, s->health)].data;
}

// All rows, as a loop over the cluster does it.
static void fixture_write(fixture* s, int32_t value)
{
    for (uint32_t row = 0; row < s->cluster->row_count;) {
        uint32_t count = s->cluster->row_count - row;
        Health* h =
            orr_span_write(s->world, orri_cluster_handle(s->cluster), s->health, row, &count);
        CHECK(h != NULL);
        for (uint32_t i = 0; i < count; i++) {
            h[i] = (Health){value, (int32_t)(row + i)};
        }
        row += count;
    }
}

static orr_result fixture_show(fixture* s)
{
    orr_result result = orri_publish_copy(s->publisher, &s->health, 1);
    result = result == ORR_OK ? orri_publish_zero_copy(s->publisher, &s->health, 1) : result;
    if (result == ORR_OK) {
        orri_publish_show(s->publisher, &s->health, 1, s->world->epoch++, ++s->tick);
    }
    return result;
}

// A tick of a system that overwrites.
static void fixture_tick(fixture* s, int32_t value)
{
    CHECK_OK(fixture_reclaim(s, ORRI_RECLAIM_OVERWRITE));
    fixture_write(s, value);
    CHECK_OK(fixture_show(s));
    fixture_check(s);
}

static int32_t seen(const fixture* s, const orri_view* view, uint32_t row)
{
    uint32_t place = orri_record_at(s->world, orri_id_index(s->rows[row]))->place;
    const orr_hot_table* table = orri_view_table(view, s->health);
    const Health* values = (const Health*)(const void*)table->data[place >> ORRI_SLOT_BITS];
    return values[orri_place_slot(place)].value;
}

static int32_t live(const fixture* s, uint32_t row)
{
    return orr_get(s->world, s->rows[row], Health)->value;
}

// ---- together with snapshots --------------------------------------------------------------------

// A reader of a live block keeps it; a snapshot that has the block loses it when memory is refused,
// and never causes a write to be refused.
ORR_TEST(zero_copy_block_in_a_snapshot_is_lost_rather_than_a_write_refused)
{
    fixture s;
    zero_copy_begin(&s, 100);
    fixture_tick(&s, 1);
    fixture_tick(&s, 2);
    CHECK_OK(orri_view_pin(s.first));
    CHECK_OK(orri_view_pin(s.second));
    orri_chunk* chunk = chunk_of(&s, 0);
    uint32_t column = (uint32_t)orri_cluster_find_column(chunk->cluster, s.health);
    CHECK(live_of(&s, 0) == orri_published_block(s.publisher, s.health, chunk));
    orri_share* share = orri_share_column(s.world, chunk, column, ORRI_SHARE_HISTORY);
    CHECK(share != NULL && share->kind == ORRI_SHARE_FROZEN);
    orri_publisher_destroy(s.publisher);
    CHECK(share->kind == ORRI_SHARE_HISTORY && share->attached != NULL);
    failing_alloc_arm(&s.k.memory, 1, true);
    fixture_set(&s, s.rows[0], 3);
    failing_alloc_arm(&s.k.memory, 0, false);
    CHECK(share->lost);
    CHECK_EQ(live(&s, 0), 3);
    orri_share_release(s.world, share);
    CHECK_EQ(s.world->cow.live, 0);
    kit_end(&s.k);
}

// ---- without a copy -----------------------------------------------------------------------------

ORR_TEST(zero_copy_shows_the_live_block_of_an_overwritten_type)
{
    fixture s;
    zero_copy_begin(&s, ROWS);
    for (int32_t tick = 1; tick < 20; tick++) {
        fixture_tick(&s, tick);
        CHECK(orri_published_block(s.publisher, s.health, chunk_of(&s, 0)) == live_of(&s, 0));
        CHECK_OK(orri_view_pin(s.first));
        if (tick % 5 == 0) {
            CHECK_OK(orri_view_pin(s.second));
        }
        CHECK_EQ(seen(&s, s.first, 0), tick);
        CHECK_EQ(seen(&s, s.first, ROWS - 1), tick);
        CHECK_EQ(tick >= 5 ? seen(&s, s.second, ROWS - 1) : 0, tick / 5 * 5);
        CHECK_EQ(live(&s, 7), tick);
    }
    CHECK_EQ(orri_publish_copied(s.publisher), 0);
    fixture_end(&s);
}

ORR_TEST(zero_copy_blocks_without_readers_are_reused)
{
    fixture s;
    zero_copy_begin(&s, ROWS);
    for (int32_t tick = 1; tick < 5; tick++) {
        fixture_tick(&s, tick);
        CHECK_OK(orri_view_pin(s.first));
        CHECK_OK(orri_view_pin(s.second));
    }
    const uint8_t* before = live_of(&s, 0);
    failing_alloc_arm(&s.k.memory, 0, false);
    uint64_t bytes = s.k.memory.live_bytes;
    for (int32_t tick = 5; tick < 25; tick += 2) {
        fixture_tick(&s, tick);
        CHECK(live_of(&s, 0) != before);
        CHECK_OK(orri_view_pin(s.first));
        CHECK_OK(orri_view_pin(s.second));
        fixture_tick(&s, tick + 1);
        CHECK(live_of(&s, 0) == before);
        CHECK_OK(orri_view_pin(s.first));
        CHECK_OK(orri_view_pin(s.second));
    }
    CHECK(s.k.memory.live_bytes <= bytes + 1024);
    fixture_end(&s);
}

// ---- with a copy --------------------------------------------------------------------------------

ORR_TEST(zero_copy_writer_that_reads_gets_a_copy_and_later_ticks_are_copied)
{
    fixture s;
    uint64_t all = ROWS * sizeof(Health);
    zero_copy_begin(&s, ROWS);
    fixture_tick(&s, 1);
    CHECK_OK(orri_view_pin(s.first));
    CHECK_OK(fixture_reclaim(&s, ORRI_RECLAIM_COPY));
    CHECK_EQ(orri_publish_copied(s.publisher), all);
    CHECK_EQ(live(&s, 5), 1);
    fixture_write(&s, 2);
    CHECK_EQ(seen(&s, s.first, 5), 1);
    CHECK_OK(fixture_reclaim(
        &s, ORRI_RECLAIM_OVERWRITE)); // Not the first group: the decision against zero-copy stays.
    CHECK_OK(fixture_show(&s));
    CHECK_EQ(orri_publish_copied(s.publisher), 2 * all);
    CHECK(orri_published_block(s.publisher, s.health, chunk_of(&s, 0)) != live_of(&s, 0));
    CHECK_OK(orri_view_pin(s.first));
    CHECK_EQ(seen(&s, s.first, 5), 2);
    fixture_tick(&s, 3);
    CHECK_EQ(orri_publish_copied(s.publisher), 2 * all);
    fixture_end(&s);
}

ORR_TEST(zero_copy_block_written_by_id_is_copied_first)
{
    fixture s;
    zero_copy_begin(&s, 100);
    fixture_tick(&s, 1);
    CHECK_OK(orri_view_pin(s.first));
    CHECK_OK(orr_component_set(s.world, s.rows[3], s.health, &(Health){50, 0}));
    CHECK_EQ(seen(&s, s.first, 3), 1);
    CHECK_EQ(live(&s, 3), 50);
    CHECK_EQ(live(&s, 4), 1);
    CHECK_EQ(orri_publish_copied(s.publisher), 100 * sizeof(Health));
    fixture_check(&s);
    CHECK_OK(fixture_show(&s));
    CHECK_OK(orri_view_pin(s.first));
    CHECK_EQ(seen(&s, s.first, 3), 50);
    fixture_end(&s);
}

ORR_TEST(zero_copy_disabled_shows_no_live_blocks)
{
    fixture s;
    zero_copy_begin(&s, ROWS);
    fixture_tick(&s, 1);
    CHECK(chunk_of(&s, 0)->share_count == 1);
    CHECK_OK(orri_zero_copy_enable(s.publisher, s.health, false));
    CHECK(chunk_of(&s, 0)->share_count == 0);
    fixture_check(&s);
    fixture_write(&s, 2);
    CHECK_OK(fixture_show(&s));
    CHECK(orri_published_block(s.publisher, s.health, chunk_of(&s, 0)) != live_of(&s, 0));
    CHECK_EQ(seen(&s, s.first, 1), 1);
    fixture_end(&s);
}

// ---- rows that move -----------------------------------------------------------------------------

ORR_TEST(zero_copy_rows_are_removed_and_added)
{
    fixture s;
    zero_copy_begin(&s, ROWS);
    fixture_tick(&s, 1);
    CHECK_OK(orri_view_pin(s.first));
    CHECK_OK(orr_destroy(s.world, s.rows[0]));
    CHECK_OK(orr_component_set(s.world, s.rows[9], KIT_TYPE(s.world, Velocity), &(Velocity){1, 2}));
    CHECK_OK(orri_publish_remap(s.publisher));
    fixture_check(&s);
    CHECK_EQ(seen(&s, s.first, ROWS - 1), 1);
    CHECK_EQ(seen(&s, s.first, 9), 1);
    CHECK_OK(fixture_reclaim(&s, ORRI_RECLAIM_OVERWRITE));
    fixture_write(&s, 2); // The values of one cluster; those of the other are lost.
    CHECK_OK(fixture_show(&s));
    CHECK_EQ(seen(&s, s.first, ROWS - 1), 1);
    CHECK_OK(orri_view_pin(s.first));
    CHECK_EQ(seen(&s, s.first, ROWS - 1), 2);
    for (uint32_t i = 1; i < ROWS; i++) {
        CHECK_OK(orr_destroy(s.world, s.rows[i]));
    }
    CHECK_OK(orri_publish_remap(s.publisher));
    fixture_end(&s);
}

// A chunk handed over to another cluster counts as written and is shown live again: two editions
// have one share.
ORR_TEST(zero_copy_block_shown_twice_is_kept_when_both_editions_end)
{
    fixture s;
    zero_copy_begin(&s, ORR_CHUNK_CAPACITY);
    fixture_tick(&s, 1);
    CHECK_OK(orri_view_pin(s.first));
    orr_query* query = orr_query_text(s.world, "Health");
    CHECK_OK(orr_query_add(query, KIT_TYPE(s.world, Velocity), &(Velocity){1, 2}));
    orr_query_destroy(query);
    CHECK_OK(orri_publish_remap(s.publisher));
    fixture_check(&s);
    s.cluster = chunk_of(&s, 0)->cluster;
    CHECK_OK(fixture_show(&s));
    CHECK_OK(orri_view_pin(s.second));
    CHECK_EQ(orri_publish_copied(s.publisher), 0);
    CHECK(orri_view_table(s.first, s.health)->data[chunk_of(&s, 0)->id] ==
          orri_view_table(s.second, s.health)->data[chunk_of(&s, 0)->id]);
    fixture_tick(&s, 2);
    CHECK_OK(orri_view_pin(s.first)); // One of the two editions ends.
    fixture_tick(&s, 3);
    fixture_tick(&s, 4);
    CHECK_EQ(seen(&s, s.second, 100), 1);
    CHECK_EQ(seen(&s, s.first, 100), 2);
    fixture_end(&s);
}

// ---- refusals -----------------------------------------------------------------------------------

ORR_TEST(zero_copy_and_reclaim_refused_change_nothing)
{
    for (uint64_t n = 1, done = 0; done < 3; n++) {
        fixture s;
        zero_copy_begin(&s, ROWS);
        fixture_tick(&s, 1);
        CHECK_OK(orri_view_pin(s.first));
        orri_reclaim_how how = n % 2 == 0 ? ORRI_RECLAIM_OVERWRITE : ORRI_RECLAIM_COPY;
        const uint8_t* before = live_of(&s, 0);
        failing_alloc_arm(&s.k.memory, (n + 1) / 2, false);
        orr_result result = fixture_reclaim(&s, how);
        bool refused = s.k.memory.refused > 0;
        CHECK_EQ(result, refused ? ORR_ERR_MEMORY : ORR_OK);
        CHECK_EQ(live_of(&s, 0) == before, refused);
        CHECK_EQ(live(&s, ROWS - 1), refused || how == ORRI_RECLAIM_COPY ? 1 : live(&s, ROWS - 1));
        failing_alloc_arm(&s.k.memory, 0, false);
        CHECK_OK(fixture_reclaim(&s, how));
        fixture_write(&s, 2);
        failing_alloc_arm(&s.k.memory, (n + 1) / 2, false);
        result = fixture_show(&s);
        CHECK_EQ(result, s.k.memory.refused > 0 ? ORR_ERR_MEMORY : ORR_OK);
        done = refused || s.k.memory.refused > 0 ? 0 : done + 1;
        failing_alloc_arm(&s.k.memory, 0, false);
        fixture_check(&s);
        CHECK_OK(fixture_show(&s));
        CHECK_EQ(seen(&s, s.first, 3), 1);
        CHECK_OK(orri_view_pin(s.first));
        CHECK_EQ(seen(&s, s.first, 3), 2);
        CHECK_EQ(live(&s, 3), 2);
        s.k.errors = (kit_errors){0};
        fixture_end(&s);
    }
}
