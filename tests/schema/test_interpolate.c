// SPDX-License-Identifier: MIT
// Interpolation of values, by the schema of each field.
#include "schema/field_walk.h"
#include "schema/fixture.h"
#include <orrery/math.h>

ORR_ENUM(Mood, CALM, ANGRY)
ORR_STRUCT(Vec2, (float, x), (double, y))
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_STRUCT(Quat, (double, x), (double, y), (double, z), (double, w))
ORR_STRUCT(Mix, (float, f), (double, d), (int32_t, i, (.interpolation = ORR_INTERPOLATION_LINEAR)),
           (int32_t, step), (bool, b), (Mood, mood), (char, name, 8), (Vec2, points, 2),
           (float, held, (.interpolation = ORR_INTERPOLATION_STEPWISE)),
           (Vec2, still, (.interpolation = ORR_INTERPOLATION_STEPWISE)), (float, array, 3))
ORR_STRUCT(Turn, (float, a, 4, (.flags = ORR_FIELD_QUATERNION)),
           (Quat, b, (.flags = ORR_FIELD_QUATERNION)))
ORR_STRUCT(Ints, (int8_t, i8, (.interpolation = ORR_INTERPOLATION_LINEAR)),
           (uint8_t, u8, (.interpolation = ORR_INTERPOLATION_LINEAR)),
           (int64_t, i64, (.interpolation = ORR_INTERPOLATION_LINEAR)),
           (uint64_t, u64, (.interpolation = ORR_INTERPOLATION_LINEAR)))

#define INTERPOLATE(type, value, later, share) \
    orri_value_interpolate(&fixture_type(&f, ORR_TYPE(type))->info, value, later, share)

ORR_TEST(interpolation_is_linear_for_numbers_and_stepwise_otherwise) /* N3-42 */
{
    fixture f;
    fixture_begin(&f);
    const Mix low = {0, 8, 10, 10, false, CALM, "low", {{0, 1}, {2, 3}}, 5, {1, 1}, {1, 2, 3}};
    const Mix high = {1, 16, 20, 20, true, ANGRY, "high", {{4, 5}, {6, 7}}, 6, {2, 2}, {5, 6, 7}};
    Mix mix = low;
    INTERPOLATE(Mix, &mix, &high, 0.25);
    CHECK(mix.f == 0.25f && mix.d == 10);
    CHECK_EQ(mix.i, 13); // 12.5 rounds to the later value.
    CHECK(mix.step == 10 && !mix.b && mix.mood == CALM && strcmp(mix.name, "low") == 0);
    CHECK(mix.points[0].x == 1 && mix.points[0].y == 2 && mix.points[1].x == 3 &&
          mix.points[1].y == 4);
    CHECK(mix.held == 5 && mix.still.x == 1 && mix.still.y == 1);
    CHECK(mix.array[0] == 2 && mix.array[1] == 3 && mix.array[2] == 4);
    mix = high;
    INTERPOLATE(Mix, &mix, &low, 0.25);
    CHECK(mix.f == 0.75f && mix.d == 14 && mix.i == 17 && mix.step == 20 && mix.mood == ANGRY);
    fixture_end(&f);
}

ORR_TEST(interpolation_of_integers_covers_their_whole_range)
{
    fixture f;
    fixture_begin(&f);
    const Ints low = {INT8_MIN, 0, INT64_MIN, 0}, high = {INT8_MAX, 255, INT64_MAX, UINT64_MAX};
    Ints mix = low;
    INTERPOLATE(Ints, &mix, &high, 0.5);
    CHECK_EQ(mix.i8, 0); // -128 + 127.5, rounded.
    CHECK_EQ(mix.u8, 128);
    CHECK(mix.i64 == 0 || mix.i64 == -1);
    CHECK(mix.u64 == 1ull << 63);
    mix = high;
    INTERPOLATE(Ints, &mix, &low, 0.5);
    CHECK_EQ(mix.i8, -1);
    CHECK_EQ(mix.u8, 127);
    mix = low;
    INTERPOLATE(Ints, &mix, &high, 1);
    CHECK(memcmp(&mix.u64, &high.u64, 8) == 0 && mix.i64 == INT64_MAX && mix.i8 == INT8_MAX);
    fixture_end(&f);
}

ORR_TEST(interpolation_to_nan_is_stepwise)
{
    fixture f;
    fixture_begin(&f);
    const float inf = (float)(1e300 * 1e300), none = inf - inf;
    Velocity a = {inf, 2}, b = {3, none};
    INTERPOLATE(Velocity, &a, &b, 0.5);
    CHECK(a.x == inf && a.y == 2);
    a = (Velocity){inf, 3e38f};
    b = (Velocity){inf, -3e38f};
    INTERPOLATE(Velocity, &a, &b, 0.5);
    CHECK(a.x == inf && a.y == 0);
    fixture_end(&f);
}

static bool near(double a, double b)
{
    return a - b < 1e-6 && b - a < 1e-6;
}

// A rotation around z in degrees.
static Turn turned(double degrees, double sign)
{
    double sine, cosine;
    orr_sincos(degrees * 3.14159265358979323846 / 360, &sine, &cosine);
    sine *= sign;
    cosine *= sign;
    return (Turn){{0, 0, (float)sine, (float)cosine}, {0, 0, sine, cosine}};
}

static void check_turn(const Turn* turn, double degrees, double sign)
{
    Turn expected = turned(degrees, sign);
    CHECK(near(turn->b.z, expected.b.z) && near(turn->b.w, expected.b.w));
    CHECK(near((double)turn->a[2], expected.b.z) && near((double)turn->a[3], expected.b.w));
    CHECK(near(turn->b.z * turn->b.z + turn->b.w * turn->b.w, 1));
}

ORR_TEST(interpolation_of_quaternions_is_spherical_and_normalised) /* N3-42 */
{
    fixture f;
    fixture_begin(&f);
    for (double share = 0; share <= 1; share += 0.125) {
        Turn a = turned(0, 1), b = turned(120, 1);
        INTERPOLATE(Turn, &a, &b, share);
        check_turn(&a, 120 * share, 1);
        a = turned(0, 1);
        b = turned(120, -1); // The same rotation with the other sign: still the shorter way.
        INTERPOLATE(Turn, &a, &b, share);
        check_turn(&a, 120 * share, 1);
        a = turned(10, 1);
        b = turned(10.5, 1); // So close that linear interpolation is used.
        INTERPOLATE(Turn, &a, &b, share);
        check_turn(&a, 10 + 0.5 * share, 1);
    }
    Turn a = turned(0, 1), b = turned(90, 3); // Not of length 1.
    INTERPOLATE(Turn, &a, &b, 0.5);
    check_turn(&a, 45, 1);
    Turn none = {0};
    a = turned(30, 1);
    INTERPOLATE(Turn, &a, &none, 0.5); // Not a rotation.
    check_turn(&a, 30, 1);
    fixture_end(&f);
}

#undef INTERPOLATE
