// SPDX-License-Identifier: MIT
// 07_query in C++17: types instead of macros, lambdas instead of loops, the same calls underneath.
// The terms of the query determine the arguments of a lambda. A lambda that takes a non-const
// reference to a type that is only read does not compile.
#include <cstdio>
#include <orrery/orrery.hpp>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_STRUCT(Mass, (float, kg))
ORR_MARKER(Frozen)

int main()
{
    orr::world world; // destroyed at the end of its scope
    auto moving = orr::make_query<orr::write<Position>, orr::write<Velocity>, orr::optional<Mass>,
                                  orr::without<Frozen>>(world);
    if (!moving) {
        return 1; // refused; the log has the reason
    }

    orr::entity stone = world.create(Position{0, 100}, Velocity{3, 0}, Mass{2});
    orr::entity cloud = world.create(Position{0, 300}, Velocity{1, 0});
    orr::entity icicle = world.create(Position{5, 50}, Velocity{0, 0}, Mass{1});
    world.add<Frozen>(icicle);
    orr_name_set(world, stone, orr::entity{},
                 "stone"); // orr::world converts to orr_world*
    orr_name_set(world, cloud, orr::entity{}, "cloud");
    orr_name_set(world, icicle, orr::entity{}, "icicle");

    for (int tick = 0; tick < 2; tick++) {
        moving.each([](Position& p, Velocity& v, const Mass* m) { // one argument per term
            v.y -= m != nullptr ? 10.0f : 0.0f;
            p.x += v.x;
            p.y += v.y;
        });
        world.remove<Frozen>(icicle);
        orr_tick_advance(world);
    }
    for (orr::entity e : {stone, cloud, icicle}) {
        orr_print(world, e);
    }

    // The id may be the first argument. A lambda that returns false ends the loop.
    moving.each([&](orr::entity e, const Position& p, const Velocity&, const Mass*) {
        std::printf("%s is at height %g\n", orr_name_get(world, e), static_cast<double>(p.y));
        return p.y > 100;
    });

    // Runs of rows, for loops that the compiler can vectorise.
    float sum = 0;
    moving.spans([&](orr::span rows, const Position* p, const Velocity*, const Mass*) {
        for (uint32_t i = 0; i < rows.count(); i++) {
            sum += p[i].x;
        }
    });
    std::printf("the x of all %u add up to %g\n", static_cast<unsigned>(moving.count()),
                static_cast<double>(sum));
    return 0;
}
