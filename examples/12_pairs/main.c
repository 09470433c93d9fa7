// SPDX-License-Identifier: MIT
// A cross product: all pairs of two queries, or of one query with itself. It is iterated in blocks,
// a run of rows against a run of rows, so the inner loops are plain loops over arrays in the cache.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Circle, (float, x), (float, y), (float, r))
ORR_STRUCT(Magnet, (float, strength))
ORR_STRUCT(Force, (float, x))

static bool touch(Circle a, Circle b)
{
    float x = a.x - b.x, y = a.y - b.y, r = a.r + b.r;
    return x * x + y * y < r * r;
}

// Each pair once: touching is symmetric.
static void touching_print(orr_query* circles)
{
    uint64_t tested = 0;
    ORR_CROSS (pair, circles, circles, ORR_PAIRS_ONCE) {
        const Circle* a = orr_read(&pair.left, Circle);
        const Circle* b = orr_read(&pair.right, Circle);
        for (uint32_t i = 0; i < pair.left.count; i++) {
            for (uint32_t j = orr_cross_from(&pair, i); j < pair.right.count; j++) {
                tested++;
                if (touch(a[i], b[j])) {
                    printf("  %g, %g touches %g, %g\n", (double)a[i].x, (double)a[i].y,
                           (double)b[j].x, (double)b[j].y);
                }
            }
        }
    }
    printf("tested %" PRIu64 " pairs\n", tested);
}

// Ordered pairs of two queries: every magnet pulls every other entity.
static void magnets_pull(orr_query* pulled, orr_query* magnets)
{
    ORR_CROSS (pair, pulled, magnets, ORR_PAIRS_ORDERED) {
        Force* f = orr_write(&pair.left, Force);
        const Circle* at = orr_read(&pair.left, Circle);
        const Circle* to = orr_read(&pair.right, Circle);
        const Magnet* m = orr_read(&pair.right, Magnet);
        for (uint32_t i = 0; i < pair.left.count; i++) {
            for (uint32_t j = 0; j < pair.right.count; j++) {
                if (!orr_cross_self(&pair, i, j)) { // a magnet does not pull itself
                    f[i].x += to[j].x > at[i].x ? m[j].strength : -m[j].strength;
                }
            }
        }
    }
}

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    orr_entity e[6];
    const Circle circles[6] = {{0, 0, 1}, {1, 1, 1}, {5, 5, 2}, {6, 6, 1}, {9, 0, 1}, {0, 9, 1}};
    for (int i = 0; i < 6; i++) {
        e[i] = orr_create(world);
        orr_put(world, e[i], Circle, &circles[i]);
        orr_add(world, e[i], Force);
    }
    orr_set(world, e[2], Magnet, {10}); // these two are now rows of another cluster
    orr_set(world, e[4], Magnet, {1});

    printf("of six circles\n");
    touching_print(orr_query_text(world, "Circle"));

    magnets_pull(orr_query_text(world, "Circle, write Force"),
                 orr_query_text(world, "Circle, Magnet"));
    printf("two magnets, at x 5 and 9, pull all others:\n");
    for (int i = 0; i < 6; i++) {
        printf("  at x %g: force %g\n", (double)orr_get(world, e[i], Circle)->x,
               (double)orr_get(world, e[i], Force)->x);
    }
    orr_world_destroy(world);
    return 0;
}
