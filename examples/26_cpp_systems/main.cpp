// SPDX-License-Identifier: MIT
// Systems in C++17: the arguments of the lambda define the query. T& writes, const T& reads, const
// T* is optional. Types declare what the system may send.
#include <cstdio>
#include <orrery/orrery.hpp>

ORR_STRUCT(Position, (float, x))
ORR_STRUCT(Velocity, (float, x))
ORR_STRUCT(Wind, (float, x))
ORR_STRUCT(Health, (int32_t, value))
ORR_STRUCT(Archer, (orr_entity, target), (uint32_t, arrows))
ORR_STRUCT(Arrow, (orr_entity, target))
ORR_STRUCT(Hit, (orr_entity, who))
ORR_STRUCT(Score, (uint32_t, hits))
ORR_MARKER(Frozen)

int main()
{
    orr_world_desc desc = {};
    desc.rate_hz = 8; // dt is 1/8 s
    desc.workers = 2;
    orr::world world(desc);
    const Wind wind = {5};

    world.system("shoot").creates<Position, Velocity, Arrow>().each(
        [](orr::run& run, Archer& archer, const Position& p) {
            if (archer.arrows > 0) {
                archer.arrows--;
                run.create(Position{p.x}, Velocity{19}, Arrow{archer.target});
            }
        });
    world.system("move").without<Frozen>().parallel().settings(&wind).each(
        [](orr::run& run, Position& p, const Velocity& v, const Arrow* arrow) {
            p.x += (v.x + (arrow != nullptr ? run.settings<Wind>()->x : 0)) * run.dt();
        });
    world.system("hit")
        .parallel()
        .by_id<Position>() // of the target
        .transacts<Health>()
        .destroys<Arrow>()
        .sends<Hit>()
        .query<orr::read<Arrow>, orr::read<Position>>()
        .runs([](orr::run& run) { // a run of rows at a time
            orr::values<const Position> p = run.read<Position>();
            orr::values<const Arrow> arrows = run.read<Arrow>();
            for (uint32_t i = 0; i < run.count(); i++) {
                if (p[i].x >= run.get<Position>(arrows[i].target)->x) {
                    run.transact<&Health::value>(orr::op::add, arrows[i].target, -5);
                    run.send(Hit{arrows[i].target});
                    run.destroy(run.entity(i));
                }
            }
        });
    orr::system score = world.system("score").receives<Hit>().state<Score>().once(
        [](orr::run& run) { run.state<Score>()->hits += run.events<Hit>().size(); });
    world.system("watch").query<orr::read<Health>>().on_message([](orr::run& run, orr::message m) {
        for (const Health& h : m.values<Health>()) { // an indirect system: it receives messages
            std::printf("tick %u: %s %d\n", static_cast<unsigned>(run.tick()),
                        m.is<Health>() ? "health is now" : "new entity with health",
                        static_cast<int>(h.value));
        }
    });
    if (!score) {
        return 1; // refused; the log has the reason
    }

    orr::entity giant = world.create(Position{8}, Velocity{-8}, Health{100});
    orr::entity statue = world.create(Position{4}, Velocity{9}, Health{50});
    world.add<Frozen>(statue);
    world.create(Position{0}, Archer{giant, 2});
    world.create(Position{1}, Archer{statue, 1});
    for (int tick = 0; tick < 3; tick++) {
        if (world.step() != ORR_OK) {
            return 1;
        }
        std::printf("giant at %g, statue at %g, %u hits\n",
                    static_cast<double>(world.get<Position>(giant)->x),
                    static_cast<double>(world.get<Position>(statue)->x),
                    score.state<Score>()->hits);
    }
    return 0;
}
