// SPDX-License-Identifier: MIT
// Systems in C++: the lambda's terms equal those of the plan, every call reaches the C call of its
// name with the right type, and ticks have the results computed by hand, with and without workers.
#define _Noreturn [[noreturn]]
extern "C" {
#include "test.h"
}
#include <orrery/orrery.hpp>
#include <stdexcept>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_STRUCT(Mass, (float, kg))
ORR_STRUCT(Health, (int32_t, max, (.preset = "100")), (int32_t, value, (.preset = "100")))
ORR_STRUCT(Grid, (float, cells, 4), (float, after), (orr_entity, last), (uint32_t, hits))
ORR_STRUCT(Aim, (orr_entity, target), (int32_t, power))
ORR_STRUCT(Hit, (orr_entity, who), (int32_t, power))
ORR_STRUCT(Count, (uint32_t, rows), (uint32_t, calls))
ORR_STRUCT_EX(Collider, (.multiplicity = ORR_MULTIPLE), (float, radius))
ORR_STRUCT_EX(Body, (.storage = ORR_PINNED), (float, energy))
ORR_MARKER(Frozen)
namespace game {
ORR_MARKER(Hidden)
}

static char last_error[512];

static void note(void*, orr_world*, const orr_error* error)
{
    snprintf(last_error, sizeof last_error, "%s", error->text);
}

static orr::world make_world(uint32_t workers = 0)
{
    orr_world_desc desc = {};
    desc.on_error = note;
    desc.workers = workers;
    desc.rate_hz = 64;
    desc.seed = 5;
    desc.atomic_sections = true;
    last_error[0] = '\0';
    orr::world world(desc);
    CHECK(world);
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    return world;
}

// Adds a system that must be accepted.
#define ADDED(...)                                                                   \
    do {                                                                             \
        if (!(__VA_ARGS__)) {                                                        \
            test_fail(__FILE__, __LINE__, "the system was refused: %s", last_error); \
        }                                                                            \
    } while (0)

static const char* plan_of(orr_world* world)
{
    static char text[4096];
    orr_plan_print(world, text, sizeof text);
    return text;
}

#define CHECK_PLAN(world, part)                                                                   \
    do {                                                                                          \
        const char* plan = plan_of(world);                                                        \
        if (strstr(plan, part) == nullptr) {                                                      \
            test_fail(__FILE__, __LINE__, "the plan has no '%s':\n%s%s", part, plan, last_error); \
        }                                                                                         \
    } while (0)

// ---- rows and runs ------------------------------------------------------------------------------

ORR_TEST(hpp_system_lambda_parameters_give_its_terms)
{
    orr::world world = make_world();
    orr_entity a = world.create(Position{1, 2}, Velocity{64, 128});
    orr_entity b = world.create(Position{1, 2}, Velocity{64, 0}, Mass{3});
    orr_entity c = world.create(Position{1, 2}, Velocity{64, 0});
    CHECK_OK(world.add<Frozen>(c));
    orr::system move = world.system("move").without<Frozen>().parallel().each(
        [](orr::run& run, Position& p, const Velocity& v, const Mass* m) {
            p.x += v.x * run.dt();
            p.y += m != nullptr ? m->kg : v.y * run.dt();
        });
    CHECK(move);
    CHECK_STR(move.name(), "move");
    CHECK_PLAN(world, "move (direct, parallel): !Frozen, write Position, Velocity, ?Mass\n");
    CHECK_OK(world.step(2));
    CHECK(world.get<Position>(a)->x == 3 && world.get<Position>(a)->y == 6);
    CHECK(world.get<Position>(b)->x == 3 && world.get<Position>(b)->y == 8);
    CHECK(world.get<Position>(c)->x == 1);
    orr_system_stats stats = move.stats();
    CHECK(stats.ticks == 2 && stats.rows == 4 && stats.violations == 0);
    CHECK_STR(last_error, "");
}

static void by_function(const orr::run& run, orr::entity e, Mass& m, Velocity v)
{
    m.kg = static_cast<float>(e.id == run.settings<orr::entity>()->id) + v.x;
}

ORR_TEST(hpp_system_takes_entities_copies_and_functions)
{
    orr::world world = make_world();
    orr_entity a = world.create(Mass{0}, Velocity{10, 0}), b = world.create(Mass{0}, Velocity{});
    ADDED(world.system("function").settings(&b).each<by_function>());
    ADDED(world.system("ids").by_id<Velocity>().each([](orr::run& run, orr::entity e, Mass& m) {
        m.kg += run.get<Velocity>(e)->x + static_cast<float>(run.tick());
        CHECK(run.alive(e) && run.world().alive(e));
    }));
    ADDED(world.system("only_ids").with<Velocity>().each([](orr::entity e) { CHECK(e.id != 0); }));
    CHECK_OK(world.step());
    CHECK_EQ(world.get<Mass>(a)->kg, 0 + 10 + 10 + 1);
    CHECK_EQ(world.get<Mass>(b)->kg, 1 + 0 + 0 + 1);
}

ORR_TEST(hpp_system_declared_terms_take_precedence)
{
    orr::world world = make_world();
    orr_entity a = world.create(Position{1, 0}, Mass{0}), b = world.create(Velocity{1, 0}, Mass{0});
    orr_entity c = world.create(Position{1, 0}, Mass{0});
    CHECK_OK(world.enable<Position>(a, false));
    ADDED(world.system("off").query<orr::disabled<orr::read<Position>>>().each(
        [](const Position& p, Mass& m) { m.kg += p.x; }));
    ADDED(world.system("choice")
              .query<orr::any_of<orr::disabled<orr::read<Position>>, orr::write<Velocity>>>()
              .each([](Velocity* v, Mass& m, const Position* p) {
                  m.kg += v != nullptr ? 10 : 100;
                  CHECK((v == nullptr) == (p != nullptr));
              }));
    CHECK_PLAN(world, "off (direct): disabled Position, write Mass\n");
    CHECK_OK(world.step());
    CHECK_EQ(world.get<Mass>(a)->kg, 101);
    CHECK_EQ(world.get<Mass>(b)->kg, 10);
    CHECK_EQ(world.get<Mass>(c)->kg, 0);
}

ORR_TEST(hpp_system_changed_terms_select_rows_others_wrote)
{
    orr::world world = make_world();
    orr_entity a = world.create(Position{1, 0}), counter = world.create(Count{});
    ADDED(world.system("look")
              .query<orr::changed<orr::read<Position>>>()
              .settings(&counter)
              .transacts<Count>()
              .each([](orr::run& run, const Position&) {
                  run.transact<&Count::rows>(orr::op::add, *run.settings<orr_entity>(), 1);
              }));
    CHECK_OK(world.step(3));
    CHECK_EQ(world.get<Count>(counter)->rows, 1);
    world.edit<Position>(a)->x = 2;
    CHECK_OK(world.step(3));
    CHECK_EQ(world.get<Count>(counter)->rows, 2);
}

ORR_TEST(hpp_system_runs_give_columns)
{
    orr::world world = make_world();
    orr_entity first = orr_entity(), last = orr_entity();
    for (int i = 0; i < 5000; i++) {
        last = world.create(Position{float(i), 0}, Velocity{1, 2});
        first = i == 0 ? last : first;
    }
    CHECK(
        world.system("pointers").parallel().runs([](orr::run& run, Position* p, const Velocity* v) {
            for (uint32_t i = 0; i < run.count(); i++) {
                p[i].x += v[i].x;
            }
        }));
    orr::system ranges =
        world.system("ranges")
            .query<orr::write<Position>, orr::read<Velocity>, orr::optional<Mass>>()
            .runs([](orr::run& run) {
                orr::values<const Velocity> v = run.read<Velocity>();
                uint32_t i = 0;
                for (Position& p : run.write<Position>()) {
                    CHECK(run.get()->count == v.size() && !v.empty());
                    p.y += v[i++].y;
                }
                CHECK(!run.read<Mass>() && run.read<Mass>().empty());
                CHECK(run.entity(0).id != 0 && v.data() == v.begin() && v);
            });
    CHECK(ranges);
    ADDED(world.system("maybe").query<orr::optional_write<Mass>>().runs(
        [](const Position*, Mass* m) { CHECK(m == nullptr); }));
    CHECK_PLAN(world, "pointers (direct, parallel): write Position, Velocity\n");
    CHECK_PLAN(world, "maybe (direct): ?write Mass, Position\n");
    CHECK_OK(world.step(2));
    CHECK(world.get<Position>(first)->x == 2 && world.get<Position>(first)->y == 4);
    CHECK(world.get<Position>(last)->x == 5001 && world.get<Position>(last)->y == 4);
    CHECK(ranges.stats().rows == 10000 && ranges.stats().runs >= 6);
    CHECK_STR(last_error, "");
}

ORR_TEST(hpp_system_gives_instances_and_pinned_values) /* N0-31 */
{
    orr::world world = make_world();
    orr_entity a = world.create(Position{1, 0}, Collider{1}, Body{5});
    CHECK(world.add_instance(a, Collider{10}) != 0);
    orr_entity b = world.create(Position{2, 0}, Collider{2});
    ADDED(world.system("grow").each([](Position& p, orr::instances<Collider> all) {
        for (Collider& c : all) {
            c.radius *= 2;
            p.y += c.radius;
        }
    }));
    ADDED(world.system("sum").each([](Position& p, orr::instances<const Collider> all) {
        p.y += static_cast<float>(all.size()) * 100;
    }));
    ADDED(world.system("heat").each([](const Position& p, Body& body) { body.energy += p.x; }));
    ADDED(world.system("columns").runs(
        [](Position* p, orr::instance_column<const Collider> all) { p[0].x += all[0][0].radius; }));
    ADDED(world.system("both").query<orr::all<orr::write<Collider>>, orr::write<Body>>().runs(
        [](orr::run& run) {
            for (uint32_t i = 0; i < run.count(); i++) {
                run.instances<Collider>()[i][0].radius += 1000;
                CHECK(run.instances<const Collider>()[i].size() == 2);
                run.pinned<Body>(i)->energy += 50;
                CHECK(run.pinned<const Body>(i)->energy == 56);
            }
        }));
    CHECK_OK(world.step());
    CHECK(world.get<Position>(a)->y == 222 && world.get<Position>(b)->y == 104);
    CHECK(world.get<Body>(a)->energy == 56);
    CHECK(world.all<Collider>(a)[0].radius == 1002 && world.all<Collider>(a)[1].radius == 20);
    CHECK(world.get<Position>(a)->x == 3);
    CHECK_STR(last_error, "");
}

// ---- sending ------------------------------------------------------------------------------------

ORR_TEST(hpp_system_sends_every_kind_of_change)
{
    orr::world world = make_world();
    static orr_entity shooter, victim, other;
    shooter = world.create(Aim{}, Mass{1});
    victim = world.create(Health{100, 100});
    other = world.create(Velocity{1, 1}, Mass{2});
    CHECK_OK(world.add<Frozen>(other));
    ADDED(world.system("shoot")
              .creates<Position, Velocity>()
              .creates<Mass, Collider>()
              .creates_max(4)
              .destroys<Health, orr::without<Frozen>>()
              .adds<Position, Collider>()
              .removes<Frozen>()
              .changes<Mass>()
              .switches("Velocity, *")
              .tags<7, 8>()
              .renames()
              .each([](orr::run& run, orr::entity e, const Aim&) {
                  CHECK(run.create(Position{1, 2}, Velocity{3, 4}).id != 0);
                  orr_entity bare = run.create();
                  CHECK_OK(run.add(bare, Mass{9}));
                  CHECK(run.add_instance(bare, Collider{1}) != 0);
                  CHECK(run.add_instance(bare, Collider{2}) != 0);
                  CHECK_OK(run.name(bare, "bare"));
                  CHECK_OK(run.destroy(victim));
                  CHECK_OK(run.add(e, Position{5, 6}));
                  CHECK_OK(run.add<Collider>(other));
                  CHECK_OK(run.set(other, Mass{20}));
                  CHECK_OK(run.remove<Frozen>(other));
                  CHECK_OK(run.tag(e, 7));
                  CHECK_OK(run.tag(e, 8, true));
                  CHECK_OK(run.enable<Velocity>(other, false));
                  CHECK_OK(run.enable(other, false));
              }));
    CHECK_PLAN(world, "creates Position, Velocity, Mass, Collider");
    CHECK_OK(world.step());
    CHECK(!world.alive(victim));
    CHECK_EQ(orr_entity_count(world), 4);
    orr_entity bare = orr_find(world, orr_entity(), "bare");
    CHECK(world.get<Mass>(bare)->kg == 9 && world.all<Collider>(bare).size() == 2);
    CHECK(world.get<Position>(shooter)->x == 5);
    CHECK(orr_tag_has(world, shooter, 7) && orr_tag_has(world, shooter, 8));
    CHECK(world.has<Collider>(other) && !world.has<Frozen>(other));
    CHECK(world.get<Mass>(other)->kg == 20 && !world.enabled<Velocity>(other));
    CHECK(!orr_entity_enabled(world, other));
    auto born = world.make_query<orr::read<Position>, orr::read<Velocity>>();
    CHECK_EQ(born.count(), 1);
    CHECK(world.get<Velocity>(born.first())->y == 4);
    CHECK_STR(last_error, "");
}

ORR_TEST(hpp_system_undeclared_access_is_refused_and_named)
{
    orr::world world = make_world();
    CHECK(world.create(Aim{}).id != 0);
    CHECK((world.register_types<Mass>()));
    orr::system quiet = world.system("quiet").each([](orr::run& run, orr::entity e, const Aim&) {
        CHECK(run.create().id == 0 && run.create(Mass{1}).id == 0);
        CHECK(run.add(e, Mass{1}) == ORR_ERR_STATE);
        CHECK(run.add_instance(e, Mass{1}) == 0);
    });
    CHECK_RESULT(world.step(), ORR_ERR_STATE);
    CHECK_EQ(quiet.stats().violations, 4);
    CHECK(strstr(last_error, "quiet") != nullptr && strstr(last_error, "Mass") != nullptr);
}

ORR_TEST(hpp_system_refused_handle_is_false)
{
    orr::world world = make_world();
    ADDED(world.system("one").each([](const Mass&) {}));
    orr::system twice = world.system("one").each([](const Mass&) {});
    CHECK(!twice && twice.get().id == 0);
    CHECK_STR(twice.name(), "");
    CHECK_EQ(twice.stats().ticks, 0);
    CHECK(!world.system("nothing").each([](orr::run&) {}));
    CHECK(!orr::system());
    // A world that accepts no more types.
    orr_world_desc desc = {};
    desc.on_error = note;
    desc.types_max = 1;
    orr::world small(desc);
    CHECK(small.register_types<Mass>() && !small.register_types<Position>());
    CHECK(!small.system("add").adds<Position>().each([](const Mass&) {}));
    CHECK(!small.system("read").each([](const Mass&, const Velocity&) {}));
    CHECK(small.system("mass").adds<Mass>().each([](const Mass&) {}));
    CHECK_OK(small.step());
}

// ---- events, transactions: the same with any number of workers ----------------------------------

static void add_battle(orr::world_view world, const orr_entity* boss)
{
    ADDED(world.system("sway").parallel().each([](orr::run& run, orr::entity e, Aim& aim) {
        orr_rng rng = run.rng(e);
        CHECK(rng.first == run.random(e));
        aim.power = static_cast<int32_t>(orr_rng_next(&rng) % 10);
    }));
    ADDED(world.system("hit").parallel().transacts<Health, Grid>().sends<Hit>().each(
        [](orr::run& run, orr::entity e, const Aim& aim) {
            CHECK_OK(run.transact<&Health::value>(orr::op::add, aim.target, -aim.power));
            CHECK_OK(run.transact<&Health::max>(orr::op::min, aim.target, 90 - aim.power));
            CHECK_OK(run.transact_at<&Grid::cells>(orr::op::max, aim.target, 2, float(aim.power)));
            CHECK_OK(run.transact<&Grid::last>(orr::op::set, aim.target, e));
            CHECK_OK(run.transact(
                aim.target, [](Grid& g, const int32_t& power) { g.hits += power > 0; }, aim.power));
            CHECK(run.transact_at<&Grid::cells>(orr::op::add, aim.target, 4, 1.0f) ==
                  ORR_ERR_FIELD);
            if (aim.power == 9) {
                CHECK_OK(run.send(Hit{aim.target, aim.power}));
            }
        }));
    CHECK(
        world.system("tally").receives<Hit>().state<Count>().settings(boss).once([](orr::run& run) {
            Count* count = run.state<Count>();
            for (const Hit& hit : run.events<Hit>()) {
                CHECK(hit.power == 9 && hit.who.id == run.settings<orr_entity>()->id);
                count->rows++;
            }
            count->calls++;
        }));
    ADDED(world.system("rest").transacts<Grid>().settings(boss).once([](orr::run& run) {
        CHECK_OK(run.transact(*run.settings<orr_entity>(), [](Grid& g) { g.cells[0] += 1; }));
    }));
}

struct battle {
    int32_t value, max;
    uint32_t hits, nines, most;
    orr_entity last;
};

// The same sums, computed by hand.
static battle expected_of(orr::world_view world)
{
    battle out = {0, 100, 0, 0, 0, orr_entity()};
    auto aims = world.make_query<orr::read<Aim>>();
    aims.each([&](orr::entity e, const Aim& aim) {
        out.value -= aim.power;
        out.max = 90 - aim.power < out.max ? 90 - aim.power : out.max;
        out.hits += aim.power > 0;
        out.nines += aim.power == 9;
        out.most = static_cast<uint32_t>(aim.power) > out.most ? uint32_t(aim.power) : out.most;
        out.last = e;
    });
    return out;
}

static void run_battle(uint32_t workers, uint64_t (&hashes)[4])
{
    orr::world world = make_world(workers);
    orr_entity boss = world.create(Health{100, 100000}, Grid{});
    for (int i = 0; i < 5000; i++) {
        orr_entity e = world.create(Aim{boss, 0});
        if (i % 3 == 0) {
            CHECK_OK(world.set(e, Velocity{}));
        }
    }
    add_battle(world, &boss);
    int32_t value = 100000;
    uint32_t hits = 0, nines = 0, tick = 0;
    for (uint64_t& hash : hashes) {
        CHECK_RESULT(world.step(), ORR_ERR_FIELD);
        battle one = expected_of(world);
        value += one.value;
        hits += one.hits;
        nines += one.nines;
        CHECK_EQ(world.get<Health>(boss)->value, value);
        CHECK_EQ(world.get<Health>(boss)->max, one.max);
        CHECK_EQ(world.get<Grid>(boss)->hits, hits);
        CHECK_EQ(world.get<Grid>(boss)->cells[2], one.most);
        CHECK_EQ(world.get<Grid>(boss)->cells[0], ++tick);
        CHECK(world.get<Grid>(boss)->last.id == one.last.id);
        orr::system tally(world, orr_system_find(world, "tally"));
        CHECK_EQ(tally.state<Count>()->rows, nines);
        CHECK_EQ(tally.state<Count>()->calls, tick);
        hash = orr_world_hash(world);
    }
    CHECK(nines > 1000);
}

ORR_TEST(hpp_system_transactions_and_events_give_the_same_hash_with_workers)
{
    uint64_t serial[4], shared[4];
    run_battle(0, serial);
    run_battle(2, shared);
    CHECK(memcmp(serial, shared, sizeof serial) == 0);
}

ORR_TEST(hpp_system_atomic_sections_lose_no_write)
{
    for (uint32_t workers : {0u, 2u}) {
        orr::world world = make_world(workers);
        orr_entity boss = world.create(Count{});
        for (int i = 0; i < 5000; i++) {
            CHECK(world.create(Aim{boss, i % 7}).id != 0);
        }
        ADDED(world.system("press").parallel().atomics<Count>().each(
            [](orr::run& run, const Aim& aim) {
                uint32_t power = static_cast<uint32_t>(aim.power);
                CHECK_OK(run.atomic(aim.target, [&](Count& c) { c.rows += power, c.calls++; }));
            }));
        CHECK_OK(world.step());
        CHECK_EQ(world.get<Count>(boss)->calls, 5000);
        CHECK_EQ(world.get<Count>(boss)->rows, 714 * 21 + 0 + 1);
    }
}

// ---- messages -----------------------------------------------------------------------------------

struct radar {
    uint32_t added, changed, removed, ended, calls;
    float sum;
    uint32_t colliders;
};

ORR_TEST(hpp_system_receives_messages)
{
    orr::world world = make_world();
    radar all = {}, one = {};
    ADDED(world.system("move").each([](Position& p, const Velocity& v) { p.x += v.x; }));
    ADDED(world.system("radar")
              .query<orr::read<Position>, orr::without<game::Hidden>>()
              .user(&all)
              .on_message([](orr::run& run) {
                  radar* r = run.user<radar>();
                  r->calls++;
                  for (orr::message m : run.messages()) {
                      CHECK(m.entities().size() == m.count() && m->count == m.get()->count);
                      r->added += m.kind() == ORR_ENTITY_ADDED ? m.count() : 0;
                      r->removed += m.kind() == ORR_ENTITY_REMOVED ? m.count() : 0;
                      r->changed += m.is<Position>() ? m.count() : 0;
                      for (const Position& p : m.values<Position>()) {
                          r->sum += p.x;
                      }
                      CHECK(!m.values<Velocity>());
                  }
              }));
    ADDED(world.system("each").with<Collider>().user(&one).on_message(
        [](orr::run& run, orr::message m) {
            radar* r = run.user<radar>();
            r->calls++;
            r->added += m.kind() == ORR_ENTITY_ADDED && m.cause() == ORR_CAUSE_CREATED;
            for (uint32_t i = 0; m.kind() == ORR_ENTITY_ADDED && i < m.count(); i++) {
                r->colliders += m.values_of<Collider>(i).size();
            }
        }));
    ADDED(world.system("plain").with<Mass>().on_message(
        [](orr::message m) { CHECK(m.count() == 1); }));
    orr_entity a = world.create(Position{1, 0}, Velocity{10, 0}), b = world.create(Position{2, 0});
    orr_entity c = world.create(Collider{1}, Mass{1});
    CHECK(world.add_instance(c, Collider{2}) != 0);
    CHECK_OK(world.step());
    // Messages about entities present when the tick begins (1 and 2), then about the move (11).
    CHECK(all.added == 2 && all.sum == 14 && all.changed == 1);
    CHECK(one.colliders == 2 && one.calls == 1);
    CHECK_OK(world.step());
    CHECK(all.changed == 2 && all.sum == 35);
    CHECK_OK(world.add<game::Hidden>(a));
    CHECK_OK(world.destroy(b));
    CHECK_OK(world.step());
    CHECK(all.removed == 2 && all.calls == 3);
    CHECK_STR(last_error, "");
}

ORR_TEST(hpp_run_and_message_are_accepted_by_calls_of_c)
{
    orr::world world = make_world();
    char text[64] = "";
    ADDED(
        world.system("draw").with<Mass>().user(text).on_message([](orr::run& run, orr::message m) {
            CHECK(orr_run_user(run) == run.user<char>());
            orr_message_print(m, 1, run.user<char>(), 64);
        }));
    ADDED(world.system("end").destroys<Mass>().each([](orr::run& run, orr::entity e, const Mass&) {
        CHECK_EQ(orr_run_rng(run, e).first, run.rng(e).first);
        CHECK_OK(orr_send_destroy(run, e));
    }));
    orr_entity a = world.create(Mass{1});
    CHECK_OK(world.step());
    CHECK(!world.alive(a));
    CHECK_CONTAINS(text, "EntityAdded");
    CHECK_STR(last_error, "");
}

ORR_TEST(hpp_system_messages_after_a_break_stay)
{
    orr::world world = make_world();
    radar r = {};
    ADDED(world.system("slow").with<Mass>().user(&r).on_message([](orr::run& run) {
        for (orr::message m : run.messages()) {
            run.user<radar>()->added += m.count();
            break;
        }
    }));
    CHECK_OK(world.step());
    CHECK(world.create(Mass{1}).id != 0);
    CHECK(world.create(Mass{1}, Position{}).id != 0);
    CHECK_OK(world.step());
    CHECK_EQ(r.added, 1);
    CHECK_OK(world.step());
    CHECK_EQ(r.added, 2);
}

// ---- state, exports, when a system runs ---------------------------------------------------------

ORR_TEST(hpp_system_exports_are_combined_and_imported)
{
    for (uint32_t workers : {0u, 2u}) {
        orr::world world = make_world(workers);
        for (int i = 0; i < 5000; i++) {
            CHECK(world.create(Mass{float(i % 10)}).id != 0);
        }
        orr::system sum = world.system("sum")
                              .parallel()
                              .combine([](Count& into, const Count& part) {
                                  into.rows += part.rows;
                                  into.calls += part.calls;
                              })
                              .runs([](orr::run& run, const Mass* m) {
                                  Count* part = run.exports<Count>();
                                  for (uint32_t i = 0; i < run.count(); i++) {
                                      part->rows += static_cast<uint32_t>(m[i].kg);
                                  }
                                  part->calls++;
                              });
        CHECK(sum);
        orr::system show =
            world.system("show").imports("sum").exports<Mass>().once([](orr::run& run) {
                run.exports<Mass>()->kg += static_cast<float>(run.imports<Count>("sum")->rows);
            });
        CHECK(show);
        CHECK_OK(world.step(2));
        CHECK_EQ(sum.exports<Count>()->rows, 22500);
        CHECK_EQ(sum.exports<Count>()->calls, 3);
        CHECK_EQ(show.exports<Mass>()->kg, 45000);
        CHECK_STR(last_error, "");
    }
}

ORR_TEST(hpp_system_once_loops_over_its_query)
{
    orr::world world = make_world();
    orr_entity a = world.create(Position{1, 0}, Mass{2}), b = world.create(Position{3, 0});
    CHECK_OK(world.set(orr_world_entity(world), Velocity{7, 0}));
    ADDED(world.system("loop")
              .query<orr::write<Position>, orr::optional<Mass>>()
              .by_id<Velocity>()
              .once([](orr::run& run) {
                  float sum = 0;
                  run.each([&](orr::entity e, Position& p, const Mass* m) {
                      p.y = m != nullptr ? m->kg : run.singleton<Velocity>()->x;
                      sum += p.x;
                      CHECK(run.alive(e));
                  });
                  CHECK(sum == 4);
              }));
    CHECK_OK(world.step());
    CHECK(world.get<Position>(a)->y == 2 && world.get<Position>(b)->y == 7);
}

ORR_TEST(hpp_system_edits_others_by_id)
{
    orr::world world = make_world();
    orr_entity boss = world.create(Mass{1}), a = world.create(Aim{boss, 4});
    CHECK_OK(orr_tag_add(world, boss, 17));
    auto marked = world.make_query<orr::read<Mass>, orr::tag<17>>();
    orr_query* query = marked.get();
    ADDED(world.system("edit").by_id<orr::write<Mass>, orr::tag<17>>().settings(query).each(
        [](orr::run& run, const Aim& aim) {
            run.edit<Mass>(aim.target)->kg += static_cast<float>(aim.power);
            ORR_EACH (it, const_cast<orr_query*>(run.settings<orr_query>())) {
                CHECK(orr_read(&it, Mass)->kg == 5);
            }
        }));
    CHECK_PLAN(world, "edit (direct): Aim; by_id write Mass, #17");
    CHECK_OK(world.step());
    CHECK_EQ(world.get<Mass>(boss)->kg, 5);
    CHECK(world.alive(a));
    CHECK_STR(last_error, "");
}

static char said[64];
static void say(const char* word)
{
    strncat(said, word, sizeof said - strlen(said) - 1);
}

ORR_TEST(hpp_system_without_structure_declares_it)
{
    orr::world world = make_world();
    CHECK(world.create(Mass{1}).id != 0);
    ADDED(world.system("age").own_rows().each([](Mass& mass) { mass.kg += 1; }));
    CHECK_PLAN(world, "age (direct, own rows): write Mass");
}

ORR_TEST(hpp_system_order_groups_rates_and_life)
{
    orr::world world = make_world();
    said[0] = '\0';
    CHECK(world.create(Mass{1}).id != 0);
    CHECK(world.pipeline("slow", 32).id != 0);
    CHECK(world.pipeline("slow").id == 0);
    ADDED(world.system("c").group("late").once([](orr::run&) { say("c"); }));
    ADDED(world.system("b").before("late").after("?a").once([](orr::run&) { say("b"); }));
    ADDED(world.system("a").before("b").every(2).main_thread().each([](const Mass&) { say("a"); }));
    orr::system d = world.system("d").disabled().alone().once([](orr::run&) { say("d"); });
    ADDED(world.system("s").pipeline("slow").once([](orr::run&) { say("s"); }));
    ADDED(world.system("life")
              .on_create([](orr::run&) { say("<"); })
              .on_start([](orr::run&) { say("("); })
              .on_stop([](orr::run&) { say(")"); })
              .on_destroy([](orr::run&) { say(">"); })
              .once([](orr::run&) { say("."); }));
    CHECK(!d.enabled());
    CHECK_OK(world.step(2));
    CHECK_STR(said, "<(abc.bc.");
    said[0] = '\0';
    CHECK_OK(d.enable());
    CHECK_OK(orr_system_remove(world, orr_system_find(world, "life")));
    CHECK_OK(world.step());
    // The first tick of the slow pipeline is due with the second tick of the others, which run
    // first.
    CHECK(strstr(said, "abcd") != nullptr && strstr(said, ")>") != nullptr);
    CHECK(strchr(said, 's') != nullptr && strchr(said, 's') < strchr(said, 'a'));
    said[0] = '\0';
    CHECK_OK(d.enable(false));
    CHECK_OK(d.remove());
    CHECK_OK(world.update(15625000));
    CHECK(strstr(said, "bc") != nullptr && strchr(said, 'd') == nullptr);
}

ORR_TEST(hpp_system_accepts_strings)
{
    orr::world world = make_world();
    CHECK((world.register_types<Position, Velocity, Mass, Health, Frozen, Hit, Count>()));
    CHECK_OK(orr_tag_register(world, 11, "level1"));
    ADDED(world.system("all")
              .query("Position, !Frozen, #level1")
              .by_id("Velocity")
              .creates("Position")
              .destroys("*")
              .adds("Frozen")
              .removes("Mass")
              .changes("Mass")
              .transacts("Health")
              .switches("Position")
              .tags("#level1")
              .sends("Hit")
              .user(&world)
              .impure()
              .each([](Velocity& v) { v.x = 1; }));
    ADDED(world.system("receiver")
              .receives("Hit")
              .messages_max(9)
              .by_id<orr::tag<17>>()
              .once([](orr::run&) {}));
    ADDED(world.system("loud").sends<Hit, orr::optional<Count>>().each([](const Mass&) {}));
    ADDED(world.system("section").atomics("Count").each([](const Mass&) {}));
    CHECK_PLAN(world, "creates Position");
    CHECK_PLAN(world, "receiver");
    CHECK_PLAN(world, "loud (direct): Mass; sends Hit, ?Count\n");
    CHECK_OK(world.step());
    auto builder = world.system("more");
    orr_system_desc desc = builder.get_desc();
    desc.every = 3;
    CHECK(builder.with_desc(desc).each([](const Mass&) {}));
    CHECK_PLAN(world, "more (direct, every 3 ticks): Mass\n");
}

// ---- exceptions ---------------------------------------------------------------------------------

struct broken {
    int code;
};

// libstdc++ is not compiled with MSan, which then reports its std::exception_ptr.
static void skip_under_msan()
{
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
    test_skip("MSan does not know exceptions of libstdc++");
#endif
#endif
}

// Number that step() throws; 0: it throws nothing.
static int thrown_by(const orr::world& world, uint32_t ticks = 1)
{
    try {
        CHECK_OK(world.step(ticks));
    } catch (const broken& b) {
        return b.code;
    }
    return 0;
}

static uint32_t after_throw;

ORR_TEST(hpp_exception_of_a_system_ends_its_run_and_leaves_step_after_the_tick)
{
    skip_under_msan();
    for (uint32_t workers = 0; workers < 4; workers++) {
        orr::world world = make_world(workers);
        after_throw = 0;
        for (int i = 0; i < 5000; i++) {
            orr_entity e = orr_create(world);
            CHECK_OK(world.set(e, Position{float(i), 0}));
            CHECK_OK(world.set(e, Velocity{1, 0}));
        }
        ADDED(world.system("move").parallel().each([](Position& p, const Velocity& v) {
            p.x += v.x;
            if (p.x == 4000) {
                throw broken{1};
            }
            if (p.x == 3000) {
                throw broken{2};
            }
        }));
        ADDED(world.system("late").once([](orr::run&) { throw broken{3}; }));
        ADDED(world.system("count").once([](orr::run&) { after_throw++; }));
        // The same exception for any number of workers, and the tick went on.
        CHECK_EQ(thrown_by(world), 2);
        CHECK_EQ(after_throw, 1);
        CHECK_EQ(orr_world_tick(world), 1);
        CHECK_OK(orr_world_validate(world));
        CHECK_OK(orr_system_enable(world, orr_system_find(world, "late"), false));
        CHECK_EQ(thrown_by(world, 3), 2);
        CHECK_EQ(after_throw, 4);
        CHECK_OK(orr_system_enable(world, orr_system_find(world, "move"), false));
        CHECK_EQ(thrown_by(world), 0);
    }
}

ORR_TEST(hpp_exception_ends_a_run_in_real_time_and_can_be_asked_for)
{
    skip_under_msan();
    orr::world world = make_world();
    ADDED(world.system("boom").once([](orr::run& run) {
        if (run.tick() == 3) {
            throw broken{4};
        }
    }));
    int code = 0;
    try {
        CHECK_OK(world.realtime());
    } catch (const broken& b) {
        code = b.code;
    }
    CHECK_EQ(code, 4);
    // By the C API nothing is thrown until the program asks.
    orr::world other = make_world();
    ADDED(other.system("boom").once([](orr::run&) { throw broken{5}; }));
    CHECK_RESULT(orr_step(other, 1), ORR_ERR_FAILED);
    code = 0;
    try {
        other.rethrow();
    } catch (const broken& b) {
        code = b.code;
    }
    CHECK_EQ(code, 5);
    other.rethrow();                                  // Once.
    CHECK_RESULT(orr_step(other, 1), ORR_ERR_FAILED); // It ends with the world.
}

// ---- exceptions in ticks that a call of the C API runs ------------------------------------------

static uint64_t refused_of(const orr::world& world, const char* name)
{
    orr_system_stats stats;
    CHECK_OK(orr_system_stats_get(world, orr_system_find(world, name), &stats));
    return stats.refused;
}

static void says(const orr::world& world, const char* system, const char* what)
{
    CHECK_CONTAINS(orr_error_last(world), system);
    CHECK_CONTAINS(orr_error_last(world), what);
}

// Two systems that throw: in every tick, and in tick 2 alone.
static orr::world make_throwing(uint32_t workers)
{
    orr::world world = make_world(workers);
    for (int i = 0; i < 5000; i++) {
        orr_entity e = orr_create(world);
        CHECK_OK(world.set(e, Position{float(i), 0}));
    }
    ADDED(world.system("odd").once([](orr::run& run) {
        if (run.tick() == 2) {
            throw 7;
        }
    }));
    ADDED(world.system("far").parallel().each([](Position& p) {
        if (p.x == 3000 || p.x == 4500) {
            throw std::runtime_error(p.x == 3000 ? "too far" : "much too far");
        }
    }));
    return world;
}

ORR_TEST(hpp_exception_is_returned_by_calls_of_c_and_thrown_by_the_next_step)
{
    skip_under_msan();
    for (uint32_t workers = 0; workers < 4; workers++) {
        orr::world world = make_throwing(workers);
        CHECK_RESULT(orr_step(world, 1), ORR_ERR_FAILED);
        says(world, "system 'far' failed: it threw an exception: too far", "ORR_ERR_FAILED");
        CHECK_EQ(refused_of(world, "far"), 2);
        CHECK_RESULT(orr_step(world, 1), ORR_ERR_FAILED);
        says(world, "system 'odd' failed: ", "an exception that is no std::exception");
        CHECK_RESULT(orr_update(world, 20000000), ORR_ERR_FAILED);
        CHECK_RESULT(orr_run_until(world, 5, nullptr, nullptr), ORR_ERR_FAILED);
        CHECK_EQ(orr_world_tick(world), 5);
        CHECK_OK(orr_system_enable(world, orr_system_find(world, "far"), false));
        CHECK_OK(orr_step(world, 1));
        int code = 0;
        try {
            (void)world.step();
        } catch (int i) {
            code = i;
        }
        CHECK_EQ(code, 7); // That of the system registered first.
        CHECK_OK(world.step());
        CHECK_OK(orr_world_validate(world));
    }
}

ORR_TEST(hpp_exception_is_returned_by_a_replay)
{
    skip_under_msan();
    orr_recording* recording = orr_recording_create();
    {
        orr::world world = make_throwing(0);
        orr_record_desc desc = {};
        CHECK_OK(orr_record(world, recording, &desc));
        CHECK_RESULT(orr_step(world, 3), ORR_ERR_FAILED);
        CHECK_OK(orr_record_end(world));
    }
    orr::world world = make_throwing(2);
    orr_replay_report report;
    CHECK_RESULT(orr_replay(world, recording, nullptr, &report), ORR_ERR_FAILED);
    says(world, "system 'far' failed: ", "too far");
    CHECK_EQ(report.ticks, 3);
    orr_recording_destroy(recording);
}

ORR_TEST(hpp_exception_in_real_time_is_returned_by_the_call_of_c)
{
    skip_under_msan();
    orr::world world = make_throwing(0);
    orr_result result = orr_realtime(world, nullptr);
    if (result == ORR_ERR_UNSUPPORTED) {
        test_skip("built without threads");
    }
    CHECK_RESULT(result, ORR_ERR_FAILED);
    says(world, "system 'far' failed: ", "too far");
    CHECK_EQ(orr_world_tick(world), 1); // It ended the run.
}

// A transaction of the system's own pipeline, and one on a type that another pipeline owns.
ORR_TEST(hpp_exception_of_a_transaction_is_returned_by_calls_of_c)
{
    skip_under_msan();
    for (int foreign = 0; foreign < 2; foreign++) {
        orr::world world = make_world();
        static orr_entity rock;
        rock = world.create(Mass{1});
        CHECK(world.pipeline("other", 60).id != 0);
        if (foreign != 0) {
            ADDED(world.system("owner").pipeline("other").each([](Mass&) {}));
        }
        ADDED(world.system("hit").transacts<Mass>().once([](orr::run& run) {
            auto hit = [](Mass& m, const float& kg) {
                m.kg += kg;
                if (kg < 0) {
                    throw std::runtime_error("negative mass");
                }
            };
            CHECK_OK(run.transact(rock, hit, run.tick() == 1 ? -1.0f : 1.0f));
        }));
        CHECK_RESULT(orr_step(world, 3), ORR_ERR_FAILED);
        says(world, "a transaction of system 'hit' failed: ", "negative mass");
        CHECK_EQ(refused_of(world, "hit"), 1);
        CHECK_OK(orr_step(world, 2));
        try {
            world.rethrow();
            CHECK(false);
        } catch (const std::runtime_error& e) {
            CHECK_STR(e.what(), "negative mass");
        }
    }
}
