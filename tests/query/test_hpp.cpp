// SPDX-License-Identifier: MIT
// The C++ layer: results have the types of the terms, and every iteration is ended.
#define _Noreturn [[noreturn]]
extern "C" {
#include "test.h"
}
#include <orrery/orrery.hpp>
#include <unordered_map>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_STRUCT(Mass, (float, kg))
ORR_STRUCT_EX(Collider, (.multiplicity = ORR_MULTIPLE), (float, radius))
ORR_STRUCT_EX(Body, (.storage = ORR_PINNED), (float, energy))
ORR_ENUM(Mood, CALM, ANGRY)
ORR_MARKER(Frozen)
namespace game {
ORR_STRUCT(Score, (int32_t, points))
ORR_MARKER(Hidden)
ORR_STRUCT(State, (int32_t, level, (.preset = "3")), (int32_t, lives))
} // namespace game
namespace physics {
ORR_STRUCT(State, (int32_t, level, (.preset = "3")), (int32_t, lives)) // As game::State.
} // namespace physics
extern "C" {
// A header shared by C and C++.
ORR_STRUCT(Shared, (int32_t, value))
ORR_STRUCT(SharedToo, (int32_t, value))
}

static void quiet(void*, orr_world*, const orr_error*)
{
}

static orr::world make_world()
{
    orr_world_desc desc = {};
    desc.on_error = quiet;
    orr::world world(desc);
    CHECK(world);
    return world;
}

// ---- the world ----------------------------------------------------------------------------------

ORR_TEST(hpp_types_are_found_in_any_namespace)
{
    CHECK_STR(orr::desc<Position>()->name, "Position");
    CHECK_STR(orr::desc<game::Score>()->name, "game::Score");
    CHECK_STR(orr::desc<game::Hidden>()->name, "game::Hidden");
    CHECK_STR(orr::desc<Shared>()->name, "Shared");
    CHECK_STR(orr::desc<Mood>()->name, "Mood");
    CHECK(orr::desc<orr_name>() == &orr_desc_orr_name);
    CHECK(orr::desc<Position>() == ORR_TYPE(Position));
}

static orr_result refused_with;

static void keep_result(void*, orr_world*, const orr_error* error)
{
    refused_with = error->result;
}

ORR_TEST(hpp_first_use_of_a_type_refused_memory_returns_memory)
{
    orr_world_desc desc = {};
    desc.on_error = keep_result;
    orr::world world(desc);
    orr_entity e = world.create();
    orr_world_memory_limit(world, 1);
    CHECK_RESULT(world.set(e, Position{1, 2}), ORR_ERR_MEMORY);
    CHECK_RESULT(world.add<Velocity>(e), ORR_ERR_MEMORY);
    CHECK_RESULT(world.enable<Mass>(e, false), ORR_ERR_MEMORY);
    CHECK(!world.register_types<Mass>());
    CHECK(world.create(Position{1, 2}).id == 0);
    CHECK_RESULT(refused_with, ORR_ERR_MEMORY);
    CHECK(!world.make_query<orr::read<Position>>());
    CHECK_RESULT(refused_with, ORR_ERR_MEMORY);
    CHECK(!world.system("mover").by_id<Position>().once([](orr::run&) {}));
    CHECK_RESULT(refused_with, ORR_ERR_MEMORY);
    orr_world_memory_limit(world, 0);
    CHECK_OK(world.set(e, Position{1, 2}));
    CHECK(world.make_query<orr::read<Position>>());
}

ORR_TEST(hpp_types_of_two_namespaces_with_one_name_are_two_types)
{
    orr::world world = make_world();
    orr_entity e = world.create(game::State{1, 2});
    CHECK(world.type<game::State>().id != world.type<physics::State>().id);
    CHECK(!world.has<physics::State>(e));
    CHECK_OK(world.set(e, physics::State{5, 6}));
    CHECK_EQ(world.get<game::State>(e)->level, 1);
    CHECK_EQ(world.get<physics::State>(e)->level, 5);
}

ORR_TEST(hpp_texts_name_types_with_their_namespace)
{
    orr::world world = make_world();
    world.register_types<game::State, physics::State>();
    orr_entity both = world.create(game::State{1, 2}, physics::State{3, 4});
    (void)world.create(game::State{7, 8});
    CHECK_EQ(orr_type_find(world, "game::State").id, world.type<game::State>().id);
    orr_query_desc desc = {};
    desc.text = "write game::State, physics::State";
    auto query = orr::make_query<>(world, desc);
    CHECK(query);
    CHECK_EQ(query.count(), 1);
    CHECK_EQ(query.first().id, both.id);
    orr_bundle bundle;
    CHECK_OK(
        orr_bundle_register(world, "start", "game::State {level: 9}, physics::State", &bundle));
    orr_entity made;
    CHECK_OK(orr_bundle_create(world, bundle, 1, &made));
    CHECK_EQ(world.get<game::State>(made)->level, 9);
    CHECK_EQ(world.get<physics::State>(made)->level, 3);
    char text[200];
    orr_entity_print(world, both, text, sizeof text);
    CHECK(strstr(text, "game::State {level: 1, lives: 2}, physics::State {level: 3,") != nullptr);
}

ORR_TEST(hpp_preset_is_a_value_with_the_presets)
{
    orr::world world = make_world();
    game::State state = world.preset<game::State>();
    CHECK_EQ(state.level, 3);
    CHECK_EQ(state.lives, 0);
    state.lives = 4;
    orr_entity e = world.create(state);
    CHECK_EQ(world.get<game::State>(e)->level, 3);
    CHECK_EQ(world.get<game::State>(e)->lives, 4);
}

ORR_TEST(hpp_ids_are_compared_and_hashed)
{
    orr::world world = make_world();
    orr::entity a = world.create(), b = world.create(), null = {};
    CHECK(a == a && !(a == b) && a != b && a != null && null == orr::entity{});
    std::unordered_map<orr::entity, int> mirror;
    mirror[a] = 1;
    mirror[b] = 2;
    CHECK_EQ(mirror.at(a), 1);
    CHECK_EQ(mirror.count(null), 0);
    CHECK(world.destroy(a) == ORR_OK);
    CHECK(world.create() != a); // The index is used again, with another generation.
}

ORR_TEST(hpp_components_are_set_read_changed_and_removed)
{
    orr::world world = make_world();
    orr_entity e = world.create(Position{1, 2}, game::Score{7});
    CHECK(world.alive(e));
    CHECK(world.get<Position>(e)->y == 2);
    CHECK_EQ(world.get<game::Score>(e)->points, 7);
    CHECK(world.get<Velocity>(e) == nullptr);
    CHECK_OK(world.set(e, Velocity{3, 4}));
    world.edit<Velocity>(e)->x = 5;
    CHECK(world.get<Velocity>(e)->x == 5);
    CHECK_OK(world.add<Frozen>(e));
    CHECK(world.has<Frozen>(e) && !world.has<game::Hidden>(e));
    CHECK_OK(world.enable<Velocity>(e, false));
    CHECK(!world.enabled<Velocity>(e));
    CHECK_OK(world.enable<Velocity>(e));
    CHECK(world.enabled<Velocity>(e));
    CHECK_OK(world.remove<Frozen>(e));
    CHECK(!world.has<Frozen>(e));
    CHECK_OK(world.destroy(e));
    CHECK(!world.alive(e));
    CHECK(orr_world_validate(world) == ORR_OK);
}

ORR_TEST(hpp_world_can_be_moved_and_viewed)
{
    orr::world first = make_world();
    orr_world* raw = first.get();
    orr::world second = std::move(first);
    CHECK(!first && second.get() == raw);
    first = std::move(second);
    CHECK(first.get() == raw && !second);
    orr::world& self = first;
    first = std::move(self);
    CHECK(first.get() == raw);
    orr::world_view view = first;
    orr_entity e = view.create();
    CHECK(first.alive(e));
    orr::world small([] {
        orr_world_desc desc = {};
        desc.on_error = quiet;
        desc.entities_max = 1;
        return desc;
    }());
    CHECK(small.create(Mass{1}).id != 0);
    CHECK(small.create(Mass{1}).id == 0);
}

ORR_TEST(hpp_refused_component_leaves_no_entity)
{
    orr_world_desc desc = {};
    desc.on_error = quiet;
    desc.types_max = 1;
    orr::world world(desc);
    CHECK(world.create(Mass{1}).id != 0);
    CHECK(world.create(Mass{1}, Position{}).id == 0);
    CHECK_EQ(orr_entity_count(world), 1);
}

// ---- loops --------------------------------------------------------------------------------------

ORR_TEST(hpp_each_gives_references_and_pointers) /* N0-21 N0-22 N0-23 */
{
    orr::world world = make_world();
    orr_entity a = world.create(Position{1, 1}, Velocity{10, 20});
    orr_entity b = world.create(Position{2, 2}, Velocity{1, 2}, Mass{80});
    orr_entity c = world.create(Position{3, 3}, Velocity{1, 2});
    CHECK_OK(world.add<Frozen>(c));
    auto moving = orr::make_query<orr::write<Position>, orr::read<Velocity>, orr::without<Frozen>,
                                  orr::optional<Mass>>(world);
    CHECK(moving);
    uint32_t rows = 0, masses = 0;
    moving.each([&](Position& p, const Velocity& v, const Mass* m) {
        p.x += v.x;
        p.y += v.y;
        rows++;
        masses += m != nullptr && m->kg == 80;
    });
    CHECK_EQ(rows, 2);
    CHECK_EQ(masses, 1);
    CHECK(world.get<Position>(a)->x == 11 && world.get<Position>(a)->y == 21);
    CHECK(world.get<Position>(b)->x == 3);
    CHECK(world.get<Position>(c)->x == 3);
    uint64_t ids = 0;
    moving.each([&](orr::entity e, Position&, const Velocity&, const Mass*) { ids += e.id; });
    CHECK(ids == a.id + b.id);
    // Fewer arguments than offered and generic arguments are accepted.
    moving.each([&](const Position& p, Velocity v, auto* m) {
        static_assert(std::is_same_v<decltype(m), const Mass*>);
        CHECK(p.x > 0 && v.x > 0);
    });
    CHECK_EQ(moving.count(), 2);
    CHECK(moving.has(a) && !moving.has(c));
    CHECK(moving.first().id == a.id && moving.at(1).id == b.id && moving.single().id == 0);
}

ORR_TEST(hpp_spans_give_columns) /* N3-03 */
{
    orr::world world = make_world();
    for (int i = 0; i < 5000; i++) {
        CHECK(world.create(Position{float(i), 0}, Velocity{1, 1}).id != 0);
    }
    auto moving =
        world.make_query<orr::write<Position>, orr::read<Velocity>, orr::optional<Mass>>();
    uint32_t rows = 0;
    moving.spans([&](orr::span s, Position* p, const Velocity* v, const Mass* m) {
        CHECK(m == nullptr);
        CHECK(s.cluster().id != 0 && s.group() == 0);
        CHECK(world.get<Position>(s.entity(0)) == p);
        for (uint32_t i = 0; i < s.count(); i++) {
            p[i].y = p[i].x + v[i].x;
        }
        rows += s.count();
    });
    CHECK_EQ(rows, 5000);
    float wrong = 0;
    moving.each([&](const Position& p, const Velocity&, const Mass*) { wrong += p.y - p.x - 1; });
    CHECK(wrong == 0);
}

ORR_TEST(hpp_loop_ends_when_the_function_returns_false_or_throws)
{
    orr::world world = make_world();
    for (int i = 0; i < 10; i++) {
        CHECK(world.create(Mass{float(i)}).id != 0);
    }
    auto query = world.make_query<orr::read<Mass>>();
    int seen = 0;
    query.each([&](const Mass& m) { return ++seen, m.kg < 3; });
    CHECK_EQ(seen, 4);
    query.spans([&](orr::span, const Mass*) { return false; });
    CHECK(world.create().id != 0); // No iteration is open any more.
    bool caught = false;
    try {
        query.each([](const Mass& m) {
            if (m.kg == 5) {
                throw 5;
            }
        });
    } catch (int) {
        caught = true;
    }
    CHECK(caught);
    CHECK(world.create().id != 0);
    // Inside a loop the structure must not change; loops may nest.
    int pairs = 0;
    query.each([&](const Mass&) {
        query.each([&](const Mass&) { pairs++; });
        CHECK(world.create().id == 0);
    });
    CHECK_EQ(pairs, 100);
}

ORR_TEST(hpp_terms_of_every_kind_match_as_in_c)
{
    orr::world world = make_world();
    orr_entity a = world.create(Position{1, 0}), b = world.create(Velocity{2, 0});
    orr_entity c = world.create(Position{3, 0}, Velocity{4, 0}), d = world.create(Mass{5});
    CHECK_OK(orr_tag_add(world, d, 7));
    CHECK_OK(world.add<Frozen>(c));
    auto any = world.make_query<orr::any_of<orr::read<Position>, orr::write<Velocity>, orr::tag<7>>,
                                orr::optional<Frozen>>();
    CHECK(any);
    float sum = 0;
    int frozen = 0;
    any.each([&](orr::entity e, const Position* p, Velocity* v, bool is_frozen) {
        sum += p != nullptr ? p->x : 0;
        sum += v != nullptr ? v->x : 0;
        CHECK((p == nullptr && v == nullptr) == (e.id == d.id));
        frozen += is_frozen;
    });
    CHECK(sum == 10);
    CHECK_EQ(frozen, 1);
    char text[128];
    orr_query_print(any.get(), text, sizeof text);
    CHECK_STR(text, "Position|write Velocity|#7, ?Frozen");

    CHECK_OK(world.enable<Position>(a, false));
    int off = 0, both = 0, none = 0;
    auto disabled = world.make_query<orr::disabled<orr::read<Position>>>();
    disabled.each([&](orr::entity e, const Position&) { off += e.id == a.id ? 1 : 100; });
    auto either = world.make_query<orr::either<orr::write<Position>>, orr::without_tag<7>>();
    either.each([&](Position&) { both++; });
    auto without = world.make_query<orr::either<orr::without<Position>>, orr::without<Mass>>();
    without.each([&](orr::entity e) { none += e.id == b.id ? 1 : 100; });
    CHECK_EQ(off, 1);
    CHECK_EQ(both, 2);
    CHECK_EQ(none, 1);

    auto marked = world.make_query<orr::read<Frozen>, orr::optional_write<Velocity>>();
    marked.each([&](Velocity* v) { v->x = 9; });
    CHECK(world.get<Velocity>(c)->x == 9);
}

ORR_TEST(hpp_changed_terms_with_a_mark_match_later_writes)
{
    orr::world world = make_world();
    CHECK(world.create(Position{1, 0}).id != 0);
    orr_entity b = world.create(Position{2, 0}, Mass{1});
    auto query = world.make_query<orr::changed<orr::read<Position>>>();
    orr_each since = {};
    since.since = orr_change_mark(world);
    world.edit<Position>(b)->x = 5;
    int seen = 0;
    query.each(since, [&](const Position& p) { seen += p.x == 5 ? 1 : 100; });
    CHECK_EQ(seen, 1);
    query.spans(since, [&](orr::span s, const Position*) { seen += int(s.count()); });
    CHECK_EQ(seen, 2);
}

ORR_TEST(hpp_query_with_a_desc_uses_its_order_and_text)
{
    orr::world world = make_world();
    for (int i = 0; i < 5; i++) {
        CHECK(world.create(Position{float((i * 3) % 5), 0}, Mass{1}).id != 0);
    }
    CHECK(world.create(Position{7, 0}).id != 0);
    orr_query_desc desc = {};
    desc.order_by = "Position.x";
    desc.text = "Mass";
    auto query = orr::make_query<orr::read<Position>>(world, desc);
    CHECK(query);
    float next = 0;
    query.each([&](const Position& p) { CHECK(p.x == next++); });
    CHECK(next == 5);
    desc.text = "Mss";
    CHECK(!orr::make_query<orr::read<Position>>(world, desc));
    auto moved = std::move(query);
    CHECK(moved && !query);
    query = std::move(moved);
    CHECK(query && !moved);
    orr_query_destroy(query.release());
    CHECK(!query);
}

ORR_TEST(hpp_multiple_types_are_ranges) /* N0-31 */
{
    orr::world world = make_world();
    orr_entity a = world.create(Position{1, 0}, Collider{1}), b = world.create(Collider{2});
    orr_component_id second = world.add_instance(a, Collider{10});
    CHECK(second != 0);
    CHECK_EQ(world.all<Collider>(a).size(), 2);
    CHECK_EQ(world.all<Collider>(a).id(1), second);
    CHECK(world.all<Velocity>(a).empty());
    CHECK_EQ(world.all<Position>(a).size(), 1);
    CHECK_EQ(world.all<Position>(a).id(0), 0);
    auto query = world.make_query<orr::all<orr::write<Collider>>>();
    query.each([&](orr::instances<Collider> colliders) {
        for (Collider& c : colliders) {
            c.radius *= 2;
        }
    });
    float sum = 0;
    auto reading = world.make_query<orr::all<orr::read<Collider>>, orr::optional<Position>>();
    reading.each([&](orr::entity e, orr::instances<const Collider> colliders, const Position*) {
        CHECK_EQ(colliders.size(), e.id == a.id ? 2 : 1);
        CHECK(e.id != b.id || colliders[0].radius == 4);
        for (const Collider& c : colliders) {
            sum += c.radius;
        }
    });
    CHECK(sum == 26);
    reading.spans(
        [&](orr::span s, orr::instance_column<const Collider> colliders, const Position*) {
            for (uint32_t i = 0; i < s.count(); i++) {
                sum -= colliders[i][colliders[i].size() - 1].radius;
                CHECK(colliders[i].id(0) != 0);
                CHECK(colliders.info().capacity >= colliders[i].size());
            }
        });
    CHECK(sum == 2);
    auto optional = world.make_query<orr::read<Position>, orr::all<orr::optional<Collider>>>();
    CHECK(world.create(Position{2, 0}).id != 0);
    int empty = 0;
    optional.each([&](const Position&, orr::instances<const Collider> colliders) {
        empty += colliders.empty();
    });
    CHECK_EQ(empty, 1);
}

ORR_TEST(hpp_multiple_type_without_all_gives_the_first_instance)
{
    orr::world world;
    for (int i = 0; i < 3; i++) {
        orr_entity e = world.create(Position{static_cast<float>(i), 0});
        world.add_instance(e, Collider{static_cast<float>(10 * i + 1)});
        world.add_instance(e, Collider{static_cast<float>(10 * i + 2)});
    }
    auto query = world.make_query<orr::read<Position>, orr::write<Collider>>();
    int rows = 0;
    query.each([&](const Position& p, Collider& c) {
        CHECK_EQ(c.radius, 10 * p.x + 1);
        c.radius = 0;
        rows++;
    });
    CHECK_EQ(rows, 3);
    auto optional = world.make_query<orr::read<Position>, orr::optional<Collider>>();
    optional.each([&](const Position&, const Collider* c) { CHECK_EQ(c->radius, 0); });
    float sum = 0;
    auto all = world.make_query<orr::all<orr::read<Collider>>>();
    all.each([&](orr::instances<const Collider> colliders) {
        for (const Collider& c : colliders) {
            sum += c.radius;
        }
    });
    CHECK_EQ(sum, 2 + 12 + 22);
}

ORR_TEST(hpp_pinned_types_are_references)
{
    orr::world world = make_world();
    orr_entity a = world.create(Position{1, 0}, Body{5}), b = world.create(Position{2, 0});
    const Body* kept = world.get<Body>(a);
    auto query = world.make_query<orr::read<Position>, orr::write<Body>>();
    int rows = 0;
    query.each([&](const Position&, Body& body) { body.energy++, rows++; });
    CHECK_EQ(rows, 1);
    CHECK(world.get<Body>(a) == kept && kept->energy == 6);
    auto optional = world.make_query<orr::read<Position>, orr::optional<Body>>();
    optional.each([&](orr::entity e, const Position&, const Body* body) {
        CHECK((body == nullptr) == (e.id == b.id));
        rows++;
    });
    CHECK_EQ(rows, 3);
}

ORR_TEST(hpp_singletons_are_read_by_type)
{
    orr::world world = make_world();
    CHECK(world.singleton<Mass>() == nullptr);
    CHECK_OK(world.set(orr_world_entity(world), Mass{3}));
    CHECK(world.singleton<Mass>()->kg == 3);
}
