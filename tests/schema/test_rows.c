// SPDX-License-Identifier: MIT
// Rows in raw memory: constructed, destructed, moved, copied, hashed, counted; hooks are called as
// documented.
#include "fixture.h"
#include <math.h>
#include <stdlib.h>

ORR_STRUCT(Vec3, (float, x), (float, y), (float, z))
ORR_STRUCT(Mixed, (float, a), (uint32_t, b), (double, c), (float, d, 2))
ORR_STRUCT(Padded, (uint8_t, a), (double, b), (uint16_t, c))
ORR_STRUCT(Nested, (Padded, p, 2), (uint8_t, e), (Vec3, v))
ORR_STRUCT(Story, (uint8_t, kind), (orr_string, title, (.preset = "\"none\"")),
           (orr_string, parts, 2), (orr_array, numbers, (.element = ORR_TYPE(int))))
ORR_STRUCT(Counter, (int32_t, a, (.preset = "3")), (int32_t, b))
ORR_STRUCT(Plain, (uint32_t, a), (uint32_t, b))
ORR_MARKER(Frozen)

// ---- construct ----------------------------------------------------------------------------------

ORR_TEST(rows_constructed_hold_the_preset_in_every_row)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* counter = fixture_type(&f, ORR_TYPE(Counter));
    for (uint32_t count = 0; count < 20; count++) {
        Counter rows[21];
        memset(rows, 0xEE, sizeof rows);
        CHECK(orri_rows_construct(counter, rows, count));
        for (uint32_t i = 0; i < 21; i++) {
            CHECK_EQ(rows[i].a, i < count ? 3 : (int32_t)0xEEEEEEEE);
            CHECK_EQ(rows[i].b, i < count ? 0 : (int32_t)0xEEEEEEEE);
        }
    }
    const orri_type* plain = fixture_type(&f, ORR_TYPE(Plain));
    Plain rows[3];
    memset(rows, 0xEE, sizeof rows);
    CHECK(orri_rows_construct(plain, rows, 2));
    CHECK(rows[0].a == 0 && rows[1].b == 0 && rows[2].a == 0xEEEEEEEE);
    const orri_type* frozen = fixture_type(&f, ORR_TYPE(Frozen));
    CHECK(orri_rows_construct(frozen, NULL, 5));
    CHECK(orri_rows_copy(frozen, NULL, NULL, 5));
    orri_rows_move(frozen, NULL, NULL, 5);
    orri_rows_destruct(frozen, NULL, 5);
    CHECK_EQ(orri_rows_hash(frozen, NULL, 5, 1), orr_hash(NULL, 0, 1));
    fixture_end(&f);
}

/* N3-02: a plain C struct with no hooks is stored, moved and copied by memcpy. */
ORR_TEST(rows_of_plain_types_move_and_copy_as_bytes)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Mixed));
    CHECK(type->plain && !type->info.has_padding);
    Mixed from[10], to[11];
    memset(to, 0xEE, sizeof to);
    for (uint32_t i = 0; i < sizeof from; i++) {
        ((unsigned char*)from)[i] = (unsigned char)(i * 7);
    }
    CHECK(orri_rows_copy(type, to, from, 10));
    CHECK(memcmp(to, from, sizeof from) == 0);
    memset(to, 0xEE, sizeof to);
    orri_rows_move(type, to, from, 10);
    CHECK(memcmp(to, from, sizeof from) == 0);
    CHECK(((unsigned char*)to)[sizeof from] == 0xEE);
    fixture_end(&f);
}

// ---- owned handles ------------------------------------------------------------------------------

static uint32_t count_of(fixture* f, orr_string handle)
{
    const orri_blob* blob = orri_blob_at(&f->schema, handle);
    CHECK(blob != NULL);
    return blob->count;
}

ORR_TEST(rows_with_owned_fields_count_their_handles)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Story));
    CHECK(!type->plain);
    orr_string none = fixture_string(&f, "none");
    CHECK_EQ(count_of(&f, none), 1); // The preset's own.
    Story rows[3];
    CHECK(orri_rows_construct(type, rows, 3));
    CHECK_EQ(count_of(&f, none), 4);
    int numbers[] = {1, 2, 3};
    orr_string array = {0}, part = fixture_string(&f, "part");
    CHECK(orri_blob_make(&f.schema, numbers, sizeof numbers, sizeof(int), &array));
    Story value = {.title = none, .parts = {{0}, part}, .numbers = {array.id, array.generation}};
    Story copies[2];
    Story values[2] = {value, value};
    CHECK(orri_rows_copy(type, copies, values, 2));
    CHECK_EQ(count_of(&f, part), 2);
    CHECK_EQ(count_of(&f, array), 2);
    CHECK_EQ(count_of(&f, none), 6);
    Story moved[2];
    orri_rows_move(type, moved, copies, 2);
    CHECK_EQ(count_of(&f, part), 2); // Moving does not count.
    orri_rows_retain(type, moved, 2);
    CHECK_EQ(count_of(&f, part), 4);
    orri_rows_release(type, moved, 2);
    orri_rows_destruct(type, moved, 2);
    CHECK_EQ(count_of(&f, part), 0);
    CHECK_EQ(count_of(&f, none), 4);
    orri_rows_destruct(type, rows, 3);
    orri_blobs_collect(&f.schema);
    CHECK_EQ(f.schema.blob_live, 1); // The preset's.
    CHECK_EQ(count_of(&f, none), 1);
    fixture_end(&f);
}

// ---- hooks --------------------------------------------------------------------------------------

typedef struct hook_log {
    uint32_t constructs, destructs, moves, copies, rows;
    bool refuse_construct, refuse_copy;
    orr_string replace; // Stored in the title by the construct hook.
    uint32_t preset_kind;
} hook_log;

static bool hook_construct(void* user, void* rows, uint32_t count)
{
    hook_log* log = user;
    Story* story = rows;
    log->constructs++;
    log->rows += count;
    log->preset_kind = story[0].title.id != 0;
    for (uint32_t i = 0; i < count && log->replace.id != 0; i++) {
        story[i].title = log->replace;
    }
    return !log->refuse_construct;
}

static void hook_destruct(void* user, void* rows, uint32_t count)
{
    hook_log* log = user;
    log->destructs++;
    log->rows += count;
    memset(rows, 0xDD, sizeof(Story) * count);
}

static void hook_move(void* user, void* to, void* from, uint32_t count)
{
    hook_log* log = user;
    log->moves++;
    log->rows += count;
    memcpy(to, from, sizeof(Story) * count);
    memset(from, 0xDD, sizeof(Story) * count);
}

static bool hook_copy(void* user, void* to, const void* from, uint32_t count)
{
    hook_log* log = user;
    log->copies++;
    log->rows += count;
    if (!log->refuse_copy) {
        memcpy(to, from, sizeof(Story) * count);
    }
    return !log->refuse_copy;
}

static const orri_type* hooked_story(fixture* f, hook_log* log)
{
    static orr_hooks hooks;
    hooks = (orr_hooks){hook_construct, hook_destruct, hook_move, hook_copy, log};
    orr_type_desc desc = orr_desc_Story;
    desc.settings.hooks = &hooks;
    const orri_type* type = fixture_type(f, &desc);
    hooks = (orr_hooks){0}; // Was copied.
    return type;
}

ORR_TEST(rows_hooks_receive_whole_ranges_and_handles_are_counted_in_addition)
{
    fixture f;
    fixture_begin(&f);
    hook_log log = {0};
    const orri_type* type = hooked_story(&f, &log);
    CHECK(type->info.has_hooks && !type->plain);
    orr_string none = fixture_string(&f, "none");
    Story rows[4], other[4];
    CHECK(orri_rows_construct(type, rows, 4));
    CHECK(log.constructs == 1 && log.rows == 4);
    CHECK_EQ(log.preset_kind, 1); // The rows held the presets when it was called.
    CHECK_EQ(count_of(&f, none), 5);
    CHECK(orri_rows_copy(type, other, rows, 4));
    CHECK(log.copies == 1 && log.rows == 8);
    CHECK_EQ(count_of(&f, none), 9);
    orri_rows_destruct(type, rows, 4);
    CHECK(log.destructs == 1 && log.rows == 12);
    CHECK_EQ(count_of(&f, none), 5);
    orri_rows_move(type, rows, other, 4);
    CHECK(log.moves == 1 && log.rows == 16);
    orri_rows_destruct(type, rows, 4);
    CHECK_EQ(count_of(&f, none), 1);
    fixture_end(&f);
}

ORR_TEST(rows_hook_that_refuses_leaves_nothing_counted)
{
    fixture f;
    fixture_begin(&f);
    hook_log log = {.refuse_construct = true};
    const orri_type* type = hooked_story(&f, &log);
    orr_string none = fixture_string(&f, "none");
    Story rows[2], other[2];
    CHECK(!orri_rows_construct(type, rows, 2));
    CHECK_EQ(count_of(&f, none), 1);
    log.refuse_construct = false;
    CHECK(orri_rows_construct(type, rows, 2));
    log.refuse_copy = true;
    memset(other, 0xEE, sizeof other);
    CHECK(!orri_rows_copy(type, other, rows, 2));
    CHECK_EQ(count_of(&f, none), 3);
    CHECK_EQ(((unsigned char*)other)[0], 0xEE);
    orri_rows_destruct(type, rows, 2);
    fixture_end(&f);
}

ORR_TEST(rows_construct_hook_may_replace_a_handle)
{
    fixture f;
    fixture_begin(&f);
    hook_log log = {.replace = fixture_string(&f, "mine")};
    const orri_type* type = hooked_story(&f, &log);
    Story rows[3];
    CHECK(orri_rows_construct(type, rows, 3));
    CHECK_EQ(count_of(&f, log.replace), 3);
    CHECK_EQ(count_of(&f, fixture_string(&f, "none")), 1);
    orri_rows_destruct(type, rows, 3);
    CHECK_EQ(count_of(&f, log.replace), 0);
    fixture_end(&f);
}

ORR_TEST(rows_hooks_that_are_not_set_are_memcpy_or_nothing)
{
    fixture f;
    fixture_begin(&f);
    hook_log log = {0};
    orr_hooks hooks = {.destruct = hook_destruct, .user = &log};
    orr_type_desc desc = orr_desc_Story;
    desc.settings.hooks = &hooks;
    const orri_type* type = fixture_type(&f, &desc);
    Story rows[2], copies[2], moved[2];
    CHECK(orri_rows_construct(type, rows, 2));
    CHECK(orri_rows_copy(type, copies, rows, 2));
    orri_rows_move(type, moved, copies, 2);
    CHECK_EQ(orr_value_compare(&type->info, &moved[1], &rows[1]), 0);
    orri_rows_destruct(type, rows, 2);
    orri_rows_destruct(type, moved, 2);
    CHECK_EQ(log.destructs, 2);
    hooks = (orr_hooks){.construct = hook_construct, .user = &log};
    desc.name = "OnlyConstruct";
    type = fixture_type(&f, &desc);
    CHECK(orri_rows_construct(type, rows, 1));
    orri_rows_destruct(type, rows, 1);
    CHECK_EQ(log.destructs, 2);
    fixture_end(&f);
}

// ---- padding ------------------------------------------------------------------------------------

ORR_TEST(rows_cleaned_or_copied_have_zero_padding_and_the_same_values)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Nested));
    Nested rows[3], copies[3], expected[3];
    memset(rows, 0xEE, sizeof rows);
    memset(expected, 0, sizeof expected);
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t p = 0; p < 2; p++) {
            rows[i].p[p].a = expected[i].p[p].a = (uint8_t)(i + 1);
            rows[i].p[p].b = expected[i].p[p].b = i + 0.5;
            rows[i].p[p].c = expected[i].p[p].c = (uint16_t)(i * 300);
        }
        rows[i].e = expected[i].e = 9;
        rows[i].v = expected[i].v = (Vec3){1, 2, 3};
    }
    memset(copies, 0x77, sizeof copies);
    CHECK(orri_rows_copy(type, copies, rows, 3));
    CHECK(memcmp(copies, expected, sizeof expected) == 0);
    orri_rows_clean(type, rows, 2);
    CHECK(memcmp(rows, expected, 2 * sizeof(Nested)) == 0);
    CHECK_EQ(((unsigned char*)&rows[2])[1], 0xEE); // Only the requested rows.
    fixture_end(&f);
}

// ---- hash ---------------------------------------------------------------------------------------

// The hash of rows with NaNs and dirty padding must equal that of their canonical copies, for any
// count.
static void check_canonical(const orri_type* type, unsigned char* dirty, const unsigned char* clean,
                            uint32_t count)
{
    for (uint32_t n = 0; n <= count; n += n < 8 ? 1 : 97) {
        CHECK_EQ(orri_rows_hash(type, dirty, n, 5), orri_rows_hash(type, clean, n, 5));
    }
    CHECK_EQ(orri_rows_hash(type, dirty, count, 5), orri_rows_hash(type, clean, count, 5));
    CHECK(orri_rows_hash(type, dirty, count, 5) != orri_rows_hash(type, dirty, count, 6));
    CHECK(orri_rows_hash(type, dirty, count, 5) != orri_rows_hash(type, dirty, count - 1, 5));
}

ORR_TEST(rows_hash_treats_all_nans_alike)
{
    fixture f;
    fixture_begin(&f);
    enum {
        COUNT = 2000
    };
    const orri_type* type = fixture_type(&f, ORR_TYPE(Vec3));
    static Vec3 a[COUNT], b[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        a[i] = b[i] = (Vec3){(float)i, -(float)i, (float)i / 3};
        if (i % 500 == 499) {
            uint32_t one = 0xFF800001u + i, other = 0x7FC00000;
            memcpy(&a[i].y, &one, 4);
            memcpy(&b[i].y, &other, 4);
        }
    }
    check_canonical(type, (unsigned char*)a, (unsigned char*)b, COUNT);
    const orri_type* mixed = fixture_type(&f, ORR_TYPE(Mixed));
    static Mixed c[COUNT], d[COUNT];
    memset(c, 0, sizeof c);
    for (uint32_t i = 0; i < COUNT; i++) {
        c[i] = (Mixed){.a = (float)i, .b = 0xFF800001u, .c = i, .d = {1, 2}};
        d[i] = c[i];
        if (i % 400 == 399) {
            uint64_t one = 0xFFFFFFFFFFFFFFFF, other = 0x7FF8000000000000;
            memcpy(&c[i].c, &one, 8);
            memcpy(&d[i].c, &other, 8);
            uint32_t small = 0x7F800001, quiet = 0x7FC00000;
            memcpy(&c[i].d[1], &small, 4);
            memcpy(&d[i].d[1], &quiet, 4);
        }
    }
    check_canonical(mixed, (unsigned char*)c, (unsigned char*)d, COUNT);
    CHECK_EQ(c[0].b, 0xFF800001u); // The rows themselves are unchanged.
    c[1000].b++;                   // Bits that only look like a NaN are an ordinary number.
    CHECK(orri_rows_hash(mixed, c, COUNT, 5) != orri_rows_hash(mixed, d, COUNT, 5));
    const orri_type* wide = fixture_type(&f, ORR_TYPE(double));
    double p[3] = {1, (double)NAN, (double)INFINITY}, q[3] = {1, -(double)NAN, (double)INFINITY};
    CHECK_EQ(orri_rows_hash(wide, p, 3, 0), orri_rows_hash(wide, q, 3, 0));
    q[2] = -(double)INFINITY;
    CHECK(orri_rows_hash(wide, p, 3, 0) != orri_rows_hash(wide, q, 3, 0));
    fixture_end(&f);
}

ORR_TEST(rows_hash_ignores_padding)
{
    fixture f;
    fixture_begin(&f);
    enum {
        COUNT = 300
    };
    const orri_type* type = fixture_type(&f, ORR_TYPE(Nested));
    static Nested dirty[COUNT], clean[COUNT];
    memset(dirty, 0xEE, sizeof dirty);
    memset(clean, 0, sizeof clean);
    for (uint32_t i = 0; i < COUNT; i++) {
        for (uint32_t p = 0; p < 2; p++) {
            dirty[i].p[p].a = clean[i].p[p].a = (uint8_t)i;
            dirty[i].p[p].b = clean[i].p[p].b = i;
            dirty[i].p[p].c = clean[i].p[p].c = (uint16_t)i;
        }
        dirty[i].e = clean[i].e = 1;
        dirty[i].v = clean[i].v = (Vec3){1, 2, (float)i};
    }
    check_canonical(type, (unsigned char*)dirty, (unsigned char*)clean, COUNT);
    // Every byte that is not padding counts.
    uint64_t hash = orri_rows_hash(type, clean, COUNT, 5);
    unsigned char* bytes = (unsigned char*)&clean[200];
    uint32_t seen = 0;
    for (uint32_t i = 0; i < sizeof(Nested); i++) {
        bytes[i] ^= 1;
        seen += orri_rows_hash(type, clean, COUNT, 5) != hash;
        bytes[i] ^= 1;
    }
    CHECK_EQ(seen, 2 * (1 + 8 + 2) + 1 + 12);
    fixture_end(&f);
}

ORR_STRUCT(Lists, (orr_array, padded, (.element = ORR_TYPE(Padded))),
           (orr_array, mixed, (.element = ORR_TYPE(Mixed))))

// Bytes between the fields of an element, and the kind of a NaN, are not part of its value.
ORR_TEST(rows_hash_ignores_padding_and_nan_bits_in_owned_arrays)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Lists));
    for (uint32_t count = 1; count < 40; count++) {
        Padded p[2][40];
        Mixed m[2][40] = {{{0}}};
        Lists lists[2] = {{{0}, {0}}};
        for (int k = 0; k < 2; k++) {
            memset(p[k], k == 0 ? 0 : 0xEE, sizeof p[k]);
            for (uint32_t i = 0; i < count; i++) {
                p[k][i].a = (uint8_t)i, p[k][i].b = i, p[k][i].c = (uint16_t)i;
                m[k][i].c = i % 3 == 0 ? i : k == 0 ? (double)NAN : -(double)NAN;
            }
            CHECK(orri_blob_make(&f.schema, p[k], count * (uint32_t)sizeof(Padded), sizeof(Padded),
                                 (orr_string*)(void*)&lists[k].padded));
            CHECK(orri_blob_make(&f.schema, m[k], count * (uint32_t)sizeof(Mixed), sizeof(Mixed),
                                 (orr_string*)(void*)&lists[k].mixed));
        }
        uint64_t hash = orri_rows_hash(type, &lists[0], 1, 5);
        CHECK_EQ(orri_rows_hash(type, &lists[1], 1, 5), hash);
        CHECK_EQ(orr_value_compare(&type->info, &lists[0], &lists[1]), 0);
        p[1][count - 1].c ^= 1; // Every value counts.
        CHECK(orri_blob_make(&f.schema, p[1], count * (uint32_t)sizeof(Padded), sizeof(Padded),
                             (orr_string*)(void*)&lists[1].padded));
        CHECK(orri_rows_hash(type, &lists[1], 1, 5) != hash);
    }
    fixture_end(&f);
}

ORR_TEST(rows_hash_of_values_larger_than_a_piece_is_canonical_too)
{
    fixture f;
    fixture_begin(&f);
    orr_field_desc fields[] = {
        {.name = "a", .type = ORR_TYPE(uint8_t), .count = 4093}, // Padding across the first border.
        {.name = "d", .type = ORR_TYPE(double), .count = 1000},
        {.name = "n", .type = ORR_TYPE(Padded), .count = 100},
        {.name = "f", .type = ORR_TYPE(float), .count = 9000},
    };
    orr_type_desc desc = {.name = "Huge", .fields = fields, .field_count = 4};
    const orri_type* type = fixture_type(&f, &desc);
    CHECK(type->info.size > 40000);
    size_t size = type->info.size;
    unsigned char *a = malloc(2 * size), *b = malloc(2 * size);
    CHECK(a != NULL && b != NULL);
    memset(a, 0xFF, 2 * size); // All floats are NaN, all padding is dirty.
    memset(b, 0xFF, 2 * size);
    for (uint32_t row = 0; row < 2; row++) {
        for (uint32_t i = 0; i < 1000; i++) {
            uint64_t nan64 = 0x7FF8000000000000;
            memcpy(b + row * size + type->info.fields[1].offset + i * 8, &nan64, 8);
        }
        for (uint32_t i = 0; i < 100; i++) {
            uint64_t nan64 = 0x7FF8000000000000;
            memcpy(b + row * size + type->info.fields[2].offset + i * sizeof(Padded) +
                       offsetof(Padded, b),
                   &nan64, 8);
        }
        for (uint32_t i = 0; i < 9000; i++) {
            uint32_t nan32 = 0x7FC00000;
            memcpy(b + row * size + type->info.fields[3].offset + i * 4, &nan32, 4);
        }
    }
    orri_rows_clean(type, b, 2);
    uint64_t hash = orri_rows_hash(type, a, 2, 0);
    CHECK_EQ(hash, orri_rows_hash(type, b, 2, 0));
    CHECK(hash != orri_rows_hash(type, a, 1, 0));
    a[size + size - 8] = 0; // Still a NaN.
    CHECK_EQ(hash, orri_rows_hash(type, a, 2, 0));
    memset(a + 2 * size - 4, 0, 4);
    CHECK(hash != orri_rows_hash(type, a, 2, 0));
    free(a);
    free(b);
    fixture_end(&f);
}

ORR_TEST(rows_hash_of_a_large_value_ignores_padding_across_a_border)
{
    fixture f;
    fixture_begin(&f);
    orr_field_desc fields[] = {
        {.name = "a", .type = ORR_TYPE(uint8_t), .count = 4090},
        {.name = "b", .type = ORR_TYPE(uint8_t), .count = 4092, .offset = 4100},
        {.name = "c", .type = ORR_TYPE(uint8_t), .offset = 8193},
    };
    orr_type_desc desc = {.name = "Holes", .size = 8200, .fields = fields, .field_count = 3};
    const orri_type* type = fixture_type(&f, &desc);
    static unsigned char row[8200];
    memset(row, 0x11, sizeof row);
    uint64_t hash = orri_rows_hash(type, row, 1, 0);
    for (uint32_t i = 4080; i < 8200; i += i == 4110 ? 8180 - 4110 : 1) {
        bool hole = (i >= 4090 && i < 4100) || i == 8192 || i > 8193;
        row[i] ^= 1;
        CHECK((orri_rows_hash(type, row, 1, 0) == hash) == hole);
        row[i] ^= 1;
    }
    fixture_end(&f);
}

ORR_TEST(rows_hash_of_plain_bytes_is_the_hash_of_the_bytes)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Plain));
    CHECK(type->canonical_bytes);
    Plain rows[3] = {{1, 2}, {3, 4}, {5, 6}};
    CHECK_EQ(orri_rows_hash(type, rows, 3, 9), orr_hash(rows, sizeof rows, 9));
    fixture_end(&f);
}

/* Golden: the same for gcc and clang at every level, for ever. */
ORR_TEST(rows_hash_is_stable)
{
    fixture f;
    fixture_begin(&f);
    static Vec3 vec[1000];
    static Nested nested[200];
    memset(nested, 0x5A, sizeof nested);
    for (uint32_t i = 0; i < 1000; i++) {
        vec[i] = (Vec3){(float)i, (float)i * 0.5f, i % 7 == 0 ? NAN : -0.0f};
    }
    CHECK_EQ(orri_rows_hash(fixture_type(&f, ORR_TYPE(Vec3)), vec, 1000, 1),
             (int64_t)0xee24795d79cd6ef4);
    CHECK_EQ(orri_rows_hash(fixture_type(&f, ORR_TYPE(Nested)), nested, 200, 1),
             (int64_t)0x37f32f14f4bf3753);
    fixture_end(&f);
}

ORR_TEST(rows_hash_covers_the_content_of_owned_handles_and_not_their_numbers)
{
    fixture f, g;
    fixture_begin(&f);
    fixture_begin(&g);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Story));
    const orri_type* other = fixture_type(&g, ORR_TYPE(Story));
    Story a, b;
    orr_value_default(&type->info, &a);
    b = a;
    CHECK_EQ(orri_rows_hash(type, &a, 1, 0), orri_rows_hash(type, &b, 1, 0));
    b.parts[1] = fixture_string(&f, "x");
    CHECK(orri_rows_hash(type, &a, 1, 0) != orri_rows_hash(type, &b, 1, 0));
    // In another world "x" has another number, because more blobs were created before it.
    Story c;
    orr_value_default(&other->info, &c);
    fixture_string(&g, "first");
    c.parts[1] = fixture_string(&g, "x");
    CHECK(c.parts[1].id != b.parts[1].id);
    CHECK_EQ(orri_rows_hash(other, &c, 1, 0), orri_rows_hash(type, &b, 1, 0));
    c.parts[1] = fixture_string(&g, "y");
    CHECK(orri_rows_hash(other, &c, 1, 0) != orri_rows_hash(type, &b, 1, 0));
    fixture_end(&f);
    fixture_end(&g);
}

static size_t codec_print(void* user, const void* value, char* out, size_t size)
{
    (void)user, (void)value;
    return (size_t)snprintf(out, size, "?");
}

static bool codec_parse(void* user, const char* text, void* out)
{
    (void)user, (void)text, (void)out;
    return true;
}

static uint64_t codec_hash(void* user, const void* value)
{
    (void)user;
    return *(const uint32_t*)value % 10;
}

ORR_TEST(rows_hash_uses_the_codec_of_opaque_values)
{
    fixture f;
    fixture_begin(&f);
    orr_codec codec = {.print = codec_print, .parse = codec_parse, .hash = codec_hash};
    orr_type_desc opaque = {
        .name = "Opaque", .kind = ORR_KIND_OPAQUE, .size = 4, .align = 4, .codec = &codec};
    orr_field_desc fields[] = {{.name = "n", .type = ORR_TYPE(int)},
                               {.name = "o", .type = &opaque, .count = 2},
                               {.name = "fill", .type = ORR_TYPE(char), .count = 8}};
    orr_type_desc desc = {.name = "T", .fields = fields, .field_count = 3};
    const orri_type* small = fixture_type(&f, &desc);
    desc.name = "Large";
    fields[2].count = 9000;
    const orri_type* large = fixture_type(&f, &desc);
    static uint32_t rows[5000];
    for (uint32_t i = 0; i < 2; i++) {
        const orri_type* type = i == 0 ? small : large;
        uint32_t step = type->info.size / 4;
        memset(rows, 0, sizeof rows);
        uint64_t hash = orri_rows_hash(type, rows, 2, 0);
        rows[step + 1] = 10;
        CHECK_EQ(orri_rows_hash(type, rows, 2, 0), hash);
        rows[step + 1] = 11;
        CHECK(orri_rows_hash(type, rows, 2, 0) != hash);
        rows[step + 1] = 0;
        rows[step] = 10;
        CHECK(orri_rows_hash(type, rows, 2, 0) != hash);
    }
    fixture_end(&f);
}

// ---- references ---------------------------------------------------------------------------------

typedef struct asked {
    uint64_t reject;
    uint32_t count;
} asked;

static bool accept(void* user, orr_entity entity)
{
    asked* a = user;
    a->count++;
    CHECK(entity.id != 0);
    return entity.id != a->reject;
}

ORR_STRUCT(Bond, (float, strength), (orr_entity, with))
ORR_STRUCT(Social, (int32_t, age), (orr_entity, boss), (orr_entity, team, 3), (Bond, bonds, 2),
           (orr_array, all, (.element = ORR_TYPE(Bond))),
           (orr_array, ids, 2, (.element = ORR_TYPE(orr_entity))))

/* N2-07: references to entities, single and as arrays, are known to the schema. */
ORR_TEST(rows_references_are_found_in_every_place)
{
    fixture f;
    fixture_begin(&f);
    const orri_type* type = fixture_type(&f, ORR_TYPE(Social));
    Social value = {.boss = {1}, .team = {{2}, {0}, {3}}, .bonds = {{1, {4}}, {1, {5}}}};
    Bond all[2] = {{1, {6}}, {1, {7}}};
    orr_entity ids[2] = {{8}, {9}};
    orr_string handle = {0};
    CHECK(orri_blob_make(&f.schema, all, sizeof all, sizeof all[0], &handle));
    value.all = (orr_array){handle.id, handle.generation};
    CHECK(orri_blob_make(&f.schema, ids, sizeof ids, sizeof ids[0], &handle));
    value.ids[1] = (orr_array){handle.id, handle.generation};
    static const char* const fields[] = {"boss", "team", "team", "bonds", "bonds",
                                         "all",  "all",  "ids",  "ids"};
    for (uint64_t i = 1; i <= 9; i++) {
        asked a = {i, 0};
        const char* field = NULL;
        CHECK_EQ(orri_value_entity_reject(type, &value, accept, &a, &field).id, i);
        CHECK_STR(field, fields[i - 1]);
        CHECK_EQ(a.count, i); // The first, in order; nulls are skipped.
        CHECK_EQ(orri_value_entity_reject(type, &value, accept, &a, NULL).id, i);
    }
    asked none = {0, 0};
    const char* field = "untouched";
    CHECK_EQ(orri_value_entity_reject(type, &value, accept, &none, &field).id, 0);
    CHECK_EQ(none.count, 9);
    CHECK_STR(field, "untouched");
    // Elements of another size cannot be checked.
    CHECK(orri_blob_make(&f.schema, "xxxx", 4, 4, &handle));
    value.all = (orr_array){handle.id, handle.generation};
    none.count = 0;
    CHECK_EQ(orri_value_entity_reject(type, &value, accept, &none, &field).id, 0);
    CHECK_EQ(none.count, 7);
    const orri_type* entity = fixture_type(&f, ORR_TYPE(orr_entity));
    asked a = {5, 0};
    CHECK_EQ(orri_value_entity_reject(entity, &(orr_entity){5}, accept, &a, &field).id, 5);
    CHECK_STR(field, "orr_entity");
    CHECK_EQ(orri_value_entity_reject(entity, &(orr_entity){6}, accept, &a, NULL).id, 0);
    const orri_type* plain = fixture_type(&f, ORR_TYPE(int));
    CHECK_EQ(orri_value_entity_reject(plain, &(int){5}, accept, &a, NULL).id, 0);
    fixture_end(&f);
}
