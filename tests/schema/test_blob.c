// SPDX-License-Identifier: MIT
// Owned strings and arrays: one blob for equal bytes, counted, young until collected, stale handles
// detected.
#include "fixture.h"

static bool same(orr_string a, orr_string b)
{
    return a.id == b.id && a.generation == b.generation;
}

static orr_string make(fixture* f, const void* data, uint32_t size, uint32_t element_size)
{
    orr_string out = {99, 99};
    CHECK(orri_blob_make(&f->schema, data, size, element_size, &out));
    return out;
}

ORR_TEST(blob_of_equal_bytes_is_shared)
{
    fixture f;
    fixture_begin(&f);
    orr_string a = fixture_string(&f, "hello"), b = fixture_string(&f, "hello");
    orr_string c = fixture_string(&f, "hellp"), d = fixture_string(&f, "hell");
    CHECK(same(a, b));
    CHECK(!same(a, c) && !same(a, d) && !same(c, d));
    CHECK_EQ(f.schema.blob_live, 3);
    const orri_blob* blob = orri_blob_at(&f.schema, a);
    CHECK_STR(blob->data, "hello"); // Zero-terminated.
    CHECK_EQ(blob->size, 5);
    CHECK_EQ((uintptr_t)blob->data % 16, 0);
    // The same bytes with another element size are another blob.
    CHECK(!same(make(&f, "abcd", 4, 1), make(&f, "abcd", 4, 4)));
    CHECK(same(make(&f, "abcd", 4, 4), make(&f, "abcd", 4, 4)));
    fixture_end(&f);
}

ORR_TEST(blob_of_no_bytes_is_null)
{
    fixture f;
    fixture_begin(&f);
    CHECK(same(make(&f, NULL, 0, 1), (orr_string){0}));
    CHECK(same(make(&f, "x", 0, 8), (orr_string){0}));
    CHECK(orri_blob_at(&f.schema, (orr_string){0}) == NULL);
    CHECK(orri_blob_at(&f.schema, (orr_string){1, 1}) == NULL);
    orri_blob_retain(&f.schema, (orr_string){0});
    orri_blob_release(&f.schema, (orr_string){5, 5});
    orri_blobs_collect(&f.schema);
    CHECK_EQ(f.schema.blob_live, 0);
    fixture_end(&f);
}

ORR_TEST(blob_of_invalid_size_is_refused)
{
    fixture f;
    fixture_begin(&f);
    orr_string out = {7, 7};
    CHECK(!orri_blob_make(&f.schema, NULL, 4, 1, &out));
    CHECK_REFUSED(&f, ORR_ERR_ARGUMENT, "at NULL");
    CHECK(!orri_blob_make(&f.schema, "abc", 3, 2, &out));
    CHECK_REFUSED(&f, ORR_ERR_ARGUMENT, "3 bytes cannot have elements of 2 bytes");
    CHECK(!orri_blob_make(&f.schema, "abc", 3, 0, &out));
    CHECK_REFUSED(&f, ORR_ERR_ARGUMENT, "elements of 0 bytes");
    CHECK(!orri_blob_make(&f.schema, "abc", ORR_BLOB_SIZE_MAX + 1, 1, &out));
    CHECK_REFUSED(&f, ORR_ERR_CAPACITY, "1073741825 bytes is larger than the limit, 1073741824");
    CHECK(same(out, (orr_string){7, 7}));
    fixture_end(&f);
}

ORR_TEST(blob_lives_until_collected_unless_counted)
{
    fixture f;
    fixture_begin(&f);
    orr_string kept = fixture_string(&f, "kept"), lost = fixture_string(&f, "lost");
    orri_blob_retain(&f.schema, kept);
    orri_blobs_collect(&f.schema);
    CHECK(orri_blob_at(&f.schema, kept) != NULL);
    CHECK(orri_blob_at(&f.schema, lost) == NULL);
    CHECK_EQ(f.schema.blob_live, 1);
    // Released: still readable until the next collect, and kept by another retain.
    orri_blob_release(&f.schema, kept);
    CHECK_STR(orri_blob_at(&f.schema, kept)->data, "kept");
    CHECK(same(fixture_string(&f, "kept"), kept));
    orri_blob_retain(&f.schema, kept);
    orri_blobs_collect(&f.schema);
    CHECK(orri_blob_at(&f.schema, kept) != NULL);
    orri_blob_retain(&f.schema, kept);
    orri_blob_release(&f.schema, kept);
    orri_blobs_collect(&f.schema);
    CHECK(orri_blob_at(&f.schema, kept) != NULL); // One count is left.
    orri_blob_release(&f.schema, kept);
    orri_blobs_collect(&f.schema);
    CHECK(orri_blob_at(&f.schema, kept) == NULL);
    orri_blobs_collect(&f.schema);
    CHECK_EQ(f.schema.blob_live, 0);
    CHECK_EQ(f.env.by_purpose[ORR_MEMORY_BLOB].bytes,
             f.schema.blob_capacity * sizeof(orri_blob) + f.schema.bucket_count * sizeof(uint32_t));
    fixture_end(&f);
}

ORR_TEST(blob_handle_of_a_reused_slot_is_stale)
{
    fixture f;
    fixture_begin(&f);
    orr_string old = fixture_string(&f, "old");
    orri_blobs_collect(&f.schema);
    orr_string fresh = fixture_string(&f, "new");
    CHECK_EQ(fresh.id, old.id);
    CHECK_EQ(fresh.generation, old.generation + 1);
    CHECK(orri_blob_at(&f.schema, old) == NULL);
    orri_blob_retain(&f.schema, old); // No effect.
    orri_blob_retain(&f.schema, fresh);
    orri_blob_release(&f.schema, old); // No effect.
    orri_blobs_collect(&f.schema);
    CHECK_STR(orri_blob_at(&f.schema, fresh)->data, "new");
    CHECK_EQ(orri_blob_at(&f.schema, fresh)->count, 1);
    fixture_end(&f);
}

ORR_TEST(blob_slot_whose_generation_would_wrap_is_retired)
{
    fixture f;
    fixture_begin(&f);
    orr_string a = fixture_string(&f, "a");
    f.schema.blobs[a.id - 1].generation = UINT32_MAX - 1;
    orri_blobs_collect(&f.schema);
    orr_string b = fixture_string(&f, "b");
    CHECK(same(b, (orr_string){a.id, UINT32_MAX}));
    orri_blobs_collect(&f.schema);
    CHECK(orri_blob_at(&f.schema, b) == NULL);
    CHECK_EQ(f.schema.blob_free, 0);
    orr_string c = fixture_string(&f, "c");
    CHECK(same(c, (orr_string){a.id + 1, 1}));
    CHECK_EQ(f.schema.blob_live, 1);
    fixture_end(&f);
}

ORR_TEST(blob_with_a_full_count_is_never_freed)
{
    fixture f;
    fixture_begin(&f);
    orr_string a = fixture_string(&f, "a");
    f.schema.blobs[a.id - 1].count = UINT32_MAX - 1;
    orri_blob_retain(&f.schema, a);
    orri_blob_retain(&f.schema, a);
    CHECK_EQ(orri_blob_at(&f.schema, a)->count, UINT32_MAX);
    orri_blob_release(&f.schema, a);
    orri_blob_release(&f.schema, a);
    CHECK_EQ(orri_blob_at(&f.schema, a)->count, UINT32_MAX);
    orri_blobs_collect(&f.schema);
    CHECK(orri_blob_at(&f.schema, a) != NULL);
    fixture_end(&f);
}

static uint32_t asserted;

static void assert_count(const char* condition, const char* file, int line, const char* function)
{
    (void)condition, (void)file, (void)line, (void)function;
    asserted++;
}

ORR_TEST(blob_released_more_often_than_retained_asserts_and_continues)
{
    fixture f;
    fixture_begin(&f);
    orr_string a = fixture_string(&f, "a");
    asserted = 0;
    orr_assert_handler before = orr_assert_handler_set(assert_count);
    orri_blob_release(&f.schema, a);
    orr_assert_handler_set(before);
#ifndef ORR_NO_ASSERT
    CHECK_EQ(asserted, 1);
#endif
    CHECK_EQ(orri_blob_at(&f.schema, a)->count, 0);
    fixture_end(&f);
}

ORR_TEST(blob_among_many_is_found_while_the_table_grows)
{
    fixture f;
    fixture_begin(&f);
    enum {
        COUNT = 3000
    };
    static orr_string handles[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        handles[i] = make(&f, &i, sizeof i, sizeof i);
        if (i % 3 != 0) {
            orri_blob_retain(&f.schema, handles[i]);
        }
    }
    orri_blobs_collect(&f.schema);
    CHECK_EQ(f.schema.blob_live, 2000);
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK((orri_blob_at(&f.schema, handles[i]) != NULL) == (i % 3 != 0));
        CHECK(same(make(&f, &i, sizeof i, sizeof i), handles[i]) == (i % 3 != 0));
    }
    CHECK_EQ(f.schema.blob_live, COUNT);
    CHECK_EQ(f.schema.blob_count, COUNT); // Slots were reused.
    fixture_end(&f);
}

// ---- determinism --------------------------------------------------------------------------------

// Creates, retains and releases as a list of numbers says; returns a hash of the handles.
static uint64_t blobs_play(fixture* f, uint64_t seed, uint32_t steps)
{
    enum {
        COUNT = 40
    };
    orr_string held[COUNT] = {{0}};
    uint64_t hash = 0;
    for (uint32_t i = 0; i < steps; i++) {
        uint64_t random = orr_random(seed, i, 0, 0);
        uint32_t at = (uint32_t)(random % COUNT), value = (uint32_t)(random >> 20) % 60;
        orr_string made = make(f, &value, sizeof value, sizeof value);
        if (random >> 60 < 10) {
            orri_blob_retain(&f->schema, made);
            orri_blob_release(&f->schema, held[at]);
            held[at] = made;
        }
        if (random >> 50 & 1) {
            orri_blobs_collect(&f->schema);
        }
        hash = orri_hash_word(hash, (uint64_t)made.id << 32 | made.generation);
    }
    // The handles that are held and the live blobs agree.
    orri_blobs_collect(&f->schema);
    uint32_t live = 0;
    for (uint32_t i = 0; i < f->schema.blob_count; i++) {
        uint32_t count = 0;
        for (uint32_t h = 0; h < COUNT; h++) {
            count += held[h].id == i + 1;
        }
        CHECK_EQ(f->schema.blobs[i].count, count);
        CHECK((f->schema.blobs[i].data != NULL) == (count > 0));
        live += count > 0;
    }
    CHECK_EQ(f->schema.blob_live, live);
    return hash;
}

ORR_TEST(blob_handles_are_equal_for_equal_calls)
{
    uint64_t seed = test_seed();
    fixture f, g;
    fixture_begin(&f);
    fixture_begin(&g);
    g.memory.fill = false;
    uint64_t a = blobs_play(&f, seed, 3000), b = blobs_play(&g, seed, 3000);
    CHECK_EQ(a, b);
    fixture_end(&f);
    fixture_end(&g);
}

// ---- memory -------------------------------------------------------------------------------------

ORR_TEST(blob_make_without_memory_has_no_effect_at_any_allocation)
{
    for (int for_good = 0; for_good < 2; for_good++) {
        fixture f;
        fixture_begin(&f);
        for (uint32_t i = 0; i < 300; i++) {
            for (uint64_t n = 1;; n++) {
                orr_string out = {7, 7};
                failing_alloc_arm(&f.memory, n, for_good != 0);
                bool made = orri_blob_make(&f.schema, &i, sizeof i, sizeof i, &out);
                failing_alloc_arm(&f.memory, 0, false);
                CHECK_EQ(f.schema.blob_live, i + made);
                if (made) {
                    CHECK(same(out, (orr_string){i + 1, 1}));
                    orri_blob_retain(&f.schema, out);
                    break;
                }
                CHECK(same(out, (orr_string){7, 7}));
                CHECK_REFUSED(&f, ORR_ERR_MEMORY, "creating an owned string or array");
            }
        }
        fixture_end(&f);
    }
}

// ---- validate -----------------------------------------------------------------------------------

// Breaks one number, checks that validate finds it, and restores it.
#define CHECK_BREAKS(f, place, wrong, words)                               \
    do {                                                                   \
        uint32_t right = (uint32_t)(place);                                \
        (place) = (wrong);                                                 \
        CHECK_RESULT(orri_schema_validate(&(f)->schema), ORR_ERR_CORRUPT); \
        CHECK_REFUSED(f, ORR_ERR_CORRUPT, words);                          \
        (place) = right;                                                   \
        CHECK_OK(orri_schema_validate(&(f)->schema));                      \
    } while (0)

ORR_TEST(validate_finds_violated_invariants)
{
    fixture f;
    fixture_begin(&f);
    fixture_type(&f, ORR_TYPE(float));
    orri_type* type = f.schema.types[0];
    CHECK(orri_type_static(&f.schema, ORR_TYPE(float)).id == 1);
    fixture_string(&f, "gone1");
    fixture_string(&f, "gone2");
    orr_string kept = fixture_string(&f, "kept");
    orri_blob_retain(&f.schema, kept);
    orri_blobs_collect(&f.schema);
    orr_string young = fixture_string(&f, "young");
    orri_blob* counted = &f.schema.blobs[kept.id - 1];
    orri_blob* fresh = &f.schema.blobs[young.id - 1];
    orri_blob* freed = &f.schema.blobs[f.schema.blob_free - 1];
    CHECK_OK(orri_schema_validate(&f.schema));
    CHECK_BREAKS(&f, type->id, 2, "a type is not at the place of its number");
    for (uint32_t i = 0; i < f.schema.name_capacity; i++) {
        if (f.schema.names[i] != 0) {
            CHECK_BREAKS(&f, f.schema.names[i], 0, "a type is not found by its name");
        }
    }
    for (uint32_t i = 0; i < f.schema.static_capacity; i++) {
        orr_hot_static* entry = &f.schema.static_memory[f.schema.static_offset + i];
        if (entry->desc != NULL) {
            CHECK_BREAKS(&f, entry->id, 2, "a static desc leads to no type");
            CHECK_BREAKS(&f, entry->id, 0, "a static desc leads to no type");
        }
    }
    CHECK_BREAKS(&f, f.schema.static_displaced, 1, "displaced static descs are miscounted");
    CHECK_BREAKS(&f, freed->count, 1, "a free slot has a count or is young");
    CHECK_BREAKS(&f, counted->count, 0, "a blob with count 0 is not young");
    CHECK_BREAKS(&f, f.schema.blob_live, 3, "blob_live is wrong");
    CHECK_BREAKS(&f, f.schema.blob_young, kept.id, "the young list is too long");
    CHECK_BREAKS(&f, fresh->next, young.id, "the young list is too long");
    CHECK_BREAKS(&f, f.schema.blob_young, 0, "the young list is too short");
    CHECK_BREAKS(&f, f.schema.blob_free, kept.id, "the free list is too long");
    CHECK_BREAKS(&f, freed->next, f.schema.blob_free, "the free list is too long");
    uint32_t* bucket = &f.schema.buckets[counted->hash & (f.schema.bucket_count - 1)];
    CHECK_BREAKS(&f, *bucket, 0, "a blob is in no bucket");
    CHECK_BREAKS(&f, *bucket, f.schema.blob_free, "a blob is in the wrong bucket");
    CHECK_BREAKS(&f, counted->chained, kept.id, "a blob is in the wrong bucket");
    fixture_end(&f);
}
