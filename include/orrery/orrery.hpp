// SPDX-License-Identifier: MIT
/// @file orrery.hpp
/// Orrery in C++17: types and lambdas over the calls of orrery.h. Header-only, inline; allocates nothing, throws nothing.
///
///     ORR_STRUCT(Position, (float, x), (float, y))      // at namespace scope, in any namespace
///     ORR_STRUCT(Velocity, (float, x), (float, y))
///     ORR_STRUCT(Mass, (float, kg))
///     ORR_MARKER(Frozen)
///
///     orr::world world;                                 // destroyed at the end of its scope
///     orr_entity bob = world.create(Position{1, 2}, Velocity{3, 4});
///     world.set(bob, Mass{80});
///     const Position* where = world.get<Position>(bob);
///
///     auto moving = orr::make_query<orr::write<Position>, orr::read<Velocity>, orr::without<Frozen>,
///                                   orr::optional<Mass>>(world);
///     moving.each([](Position& p, const Velocity& v, const Mass* m) { … });                // every row
///     moving.each([](orr::entity e, Position& p, const Velocity& v, const Mass* m) { … }); // with its id
///     moving.spans([](orr::span s, Position* p, const Velocity* v, const Mass* m) {        // every run of rows
///         for (uint32_t i = 0; i < s.count(); i++) …
///     });
///
/// A function gets one argument per term, in order: `T&` of write<T>, `const T&` of read<T> (in spans `T*` and `const T*`),
/// a pointer that may be null of optional<T> and of what stands in any_of<…>, a range of all<…>. Of a
/// multiple type read<T> gives the first instance: take all<read<T>>, and always in spans. without<T>, tags and
/// required markers give none; an optional marker gives a bool. Asking to write what is declared read does not compile.
/// A function that returns bool ends the loop with false. Leaving a loop by an exception ends the iteration.
///
///     world.system("move").without<Frozen>().each([](orr::run& run, Position& p, const Velocity& v) { … });
///     world.step(60);
///
/// Systems, what they send and what they hear: system.hpp and run.hpp, which this one includes.
///
/// Refusals, threads and pointers are as store.h and query.h say. A world or query that was refused is null and false.
#ifndef ORRERY_ORRERY_HPP
#define ORRERY_ORRERY_HPP

#include <cstdint>
#include <orrery/orrery.h>
#include <tuple>
#include <type_traits>
#include <utility>

/// The desc of a component type, found by its argument's namespace. ORR_STRUCT, ORR_MARKER and ORR_ENUM declare it; for a
/// type with a desc of your own, write it beside the type.
inline const orr_type_desc* orr_desc_of(const orr_name*)
{
    return &orr_desc_orr_name;
}

namespace orr {

using entity = orr_entity;

// ---- types --------------------------------------------------------------------------------------------------------

namespace detail {

template <class T, class = void> struct has_desc : std::false_type {
};
template <class T>
struct has_desc<T, std::void_t<decltype(orr_desc_of(static_cast<const T*>(nullptr)))>>
    : std::true_type {
};

// A marker is declared and never defined.
template <class T, class = void> struct has_data : std::false_type {
};
template <class T> struct has_data<T, std::void_t<decltype(sizeof(T))>> : std::true_type {
};

} // namespace detail

/// The desc of a component type.
template <class T> const orr_type_desc* desc()
{
    static_assert(detail::has_desc<T>::value,
                  "orrery: this is no component type: declare it with ORR_STRUCT or ORR_MARKER");
    return orr_desc_of(static_cast<const T*>(nullptr));
}

/// The instances of a `multiple` type on one entity: `for (Collider& c : colliders)`.
template <class T> class instances {
  public:
    instances() = default;
    instances(T* values, const orr_component_id* ids, uint32_t count)
        : values_(values), ids_(ids), count_(count)
    {
    }
    T* begin() const
    {
        return values_;
    }
    T* end() const
    {
        return values_ + count_;
    }
    uint32_t size() const
    {
        return count_;
    }
    bool empty() const
    {
        return count_ == 0;
    }
    T& operator[](uint32_t i) const
    {
        return values_[i];
    }
    /// 0 for a unique type.
    orr_component_id id(uint32_t i) const
    {
        return ids_ != nullptr ? ids_[i] : 0;
    }

  private:
    T* values_ = nullptr;
    const orr_component_id* ids_ = nullptr;
    uint32_t count_ = 0;
};

// ---- terms --------------------------------------------------------------------------------------------------------

/// One term. Use the short names below.
template <class T, orr_term_kind Kind, orr_access Access, orr_state State = ORR_ENABLED,
          bool Changed = false, bool All = false, uint32_t Group = 0>
struct term {
    using type = T;
    static constexpr orr_term_kind kind = Kind;
    static constexpr orr_access access = Access;
    static constexpr bool all = All;

    static orr_term make(orr_world* world)
    {
        orr_term out = {};
        out.type = orr_type_of(world, desc<T>());
        out.kind = Kind;
        out.access = Access;
        out.state = State;
        out.changed = Changed;
        out.group = Group;
        return out;
    }
};

template <orr_tag Tag, orr_term_kind Kind, uint32_t Group = 0> struct tag_term {
    static orr_term make(orr_world*)
    {
        orr_term out = {};
        out.tag = Tag;
        out.kind = Kind;
        out.group = Group;
        return out;
    }
};

template <class T> using read = term<T, ORR_REQUIRED, ORR_READ>;            ///< const T&
template <class T> using write = term<T, ORR_REQUIRED, ORR_WRITE>;          ///< T&
template <class T> using without = term<T, ORR_WITHOUT, ORR_READ>;          ///< no argument
template <class T> using optional = term<T, ORR_OPTIONAL, ORR_READ>;        ///< const T*
template <class T> using optional_write = term<T, ORR_OPTIONAL, ORR_WRITE>; ///< T*
template <orr_tag Tag> using tag = tag_term<Tag, ORR_REQUIRED>;             ///< no argument
template <orr_tag Tag> using without_tag = tag_term<Tag, ORR_WITHOUT>;      ///< no argument
/// At least one of these: any_of<read<Health>, write<Armor>, tag<7>>. Each type gives a pointer.
template <class... Terms> struct any_of {
};

namespace detail {

template <class Term> struct modify;
template <class T, orr_term_kind K, orr_access A, orr_state S, bool C, bool M, uint32_t G>
struct modify<term<T, K, A, S, C, M, G>> {
    using changed = term<T, K, A, S, true, M, G>;
    using disabled = term<T, K, A, ORR_DISABLED, C, M, G>;
    using either = term<T, K, A, ORR_EITHER, C, M, G>;
    using all = term<T, K, A, S, C, true, G>;
    template <uint32_t Group> using member = term<T, ORR_ANY, A, S, C, M, Group>;
    static constexpr bool plain = K == ORR_REQUIRED;
};
template <orr_tag T, orr_term_kind K, uint32_t G> struct modify<tag_term<T, K, G>> {
    template <uint32_t Group> using member = tag_term<T, ORR_ANY, Group>;
    static constexpr bool plain = K == ORR_REQUIRED;
};

template <class... Ts> struct list {
};

// Terms one after another, those of any_of with the number of their choice.
template <uint32_t Group, class Out, class... Terms> struct flatten {
    using type = Out;
};
template <uint32_t Group, class... Out, class Term, class... Rest>
struct flatten<Group, list<Out...>, Term, Rest...> : flatten<Group, list<Out..., Term>, Rest...> {
};
template <uint32_t Group, class... Out, class... Members, class... Rest>
struct flatten<Group, list<Out...>, any_of<Members...>, Rest...>
    : flatten<Group + 1, list<Out..., typename modify<Members>::template member<Group>...>,
              Rest...> {
    static_assert((modify<Members>::plain && ...),
                  "orrery: any_of<…> takes read<T>, write<T> and tag<N>");
};

} // namespace detail

/// Only blocks written since orr_each.since: changed<read<Position>>.
template <class Term> using changed = typename detail::modify<Term>::changed;
/// There, and switched off: disabled<read<Health>>.
template <class Term> using disabled = typename detail::modify<Term>::disabled;
/// There, on or off: either<read<Health>>, either<without<Health>>.
template <class Term> using either = typename detail::modify<Term>::either;
/// All instances of a `multiple` type: all<write<Collider>> gives instances<Collider>, all<read<Collider>>
/// instances<const Collider>. Empty where an optional type is not there.
template <class Term> using all = typename detail::modify<Term>::all;

// ---- columns: what a term hands out in a run of rows -------------------------------------------------------------------

/// A run of rows.
class span {
  public:
    explicit span(orr_iter& it) : it_(&it)
    {
    }
    uint32_t count() const
    {
        return it_->count;
    }
    orr_entity entity(uint32_t i) const
    {
        return orr_iter_entity(it_, i);
    }
    orr_cluster cluster() const
    {
        return orr_iter_cluster(it_, nullptr);
    }
    uint64_t group() const
    {
        return orr_iter_group(it_);
    }
    orr_iter* get() const
    {
        return it_;
    }

  private:
    orr_iter* it_;
};

/// The instances of all rows of a run, in spans: `for (Collider& c : colliders[i])`.
template <class T> class instance_column {
  public:
    instance_column(T* values, const orr_instances& info) : values_(values), info_(info)
    {
    }
    instances<T> operator[](uint32_t i) const
    {
        if (values_ == nullptr) {
            return {};
        }
        size_t first = static_cast<size_t>(i) * info_.capacity;
        return {values_ + first, info_.ids != nullptr ? info_.ids + first : nullptr,
                info_.counts != nullptr ? info_.counts[i] : 1u};
    }
    const orr_instances& info() const
    {
        return info_;
    }

  private:
    T* values_;
    orr_instances info_;
};

namespace detail {

enum class shape {
    none,
    reference,
    pointer,
    flag,
    instances
};

template <class Term> struct shape_of {
    static constexpr bool required = Term::kind == ORR_REQUIRED;
    static constexpr bool data = has_data<typename Term::type>::value;
    static constexpr shape value = Term::kind == ORR_WITHOUT ? shape::none
                                   : Term::all               ? shape::instances
                                   : data ? (required ? shape::reference : shape::pointer)
                                          : (required ? shape::none : shape::flag);
};
template <orr_tag T, orr_term_kind K, uint32_t G> struct shape_of<tag_term<T, K, G>> {
    static constexpr shape value = shape::none;
};

template <class Term> auto column_of(orr_iter& it)
{
    using T = typename Term::type;
    if constexpr (Term::access == ORR_WRITE) {
        return static_cast<T*>(orr_iter_write(&it, desc<T>()));
    } else {
        return static_cast<const T*>(orr_iter_read(&it, desc<T>()));
    }
}

template <class Term>
using value_of =
    std::conditional_t<Term::access == ORR_WRITE, typename Term::type, const typename Term::type>;

// The desc is a constant of the program, so for a type in chunks nothing of this is left in the loop.
template <class Term> bool is_pinned()
{
    const orr_type_settings& settings = desc<typename Term::type>()->settings;
    return settings.storage == ORR_PINNED || settings.transient;
}

// From row to row: a row of a multiple type has room for several, of which a term without all<> gives the first.
template <class Term> size_t step_of(orr_iter& it)
{
    const orr_type_desc* type = desc<typename Term::type>();
    return type->settings.multiplicity == ORR_MULTIPLE ? orr_iter_instances(&it, type).capacity : 1;
}

template <class Term, shape Shape = shape_of<Term>::value> struct column;

template <class Term> struct column<Term, shape::reference> {
    using value = value_of<Term>;
    using row = value&;
    using loose = typename Term::type&; // What a function that may write would be given.
    using run = value*;
    using loose_run = typename Term::type*;
    orr_iter* it;
    value* data;
    size_t step;
    explicit column(orr_iter& i)
        : it(&i), data(is_pinned<Term>() ? nullptr : column_of<Term>(i)), step(step_of<Term>(i))
    {
    }
    row at(uint32_t i) const
    {
        return is_pinned<Term>() ? *static_cast<value*>(orr_iter_pinned(
                                       it, desc<typename Term::type>(), Term::access, i))
                                 : data[i * step];
    }
    static run all(orr_iter& it)
    {
        return column_of<Term>(it);
    }
};

template <class Term> struct column<Term, shape::pointer> {
    using value = value_of<Term>;
    using row = value*;
    using loose = typename Term::type*;
    using run = value*;
    using loose_run = loose;
    orr_iter* it;
    value* data;
    size_t step;
    explicit column(orr_iter& i)
        : it(&i), data(is_pinned<Term>() ? nullptr : column_of<Term>(i)), step(step_of<Term>(i))
    {
    }
    row at(uint32_t i) const
    {
        return is_pinned<Term>() ? static_cast<value*>(orr_iter_pinned(
                                       it, desc<typename Term::type>(), Term::access, i))
               : data != nullptr ? data + i * step
                                 : nullptr;
    }
    static run all(orr_iter& it)
    {
        return column_of<Term>(it);
    }
};

template <class Term> struct column<Term, shape::flag> {
    using row = bool;
    using loose = bool;
    using run = bool;
    using loose_run = bool;
    bool data;
    explicit column(orr_iter& i) : data(all(i))
    {
    }
    row at(uint32_t) const
    {
        return data;
    }
    static run all(orr_iter& it)
    {
        return orr_iter_read(&it, desc<typename Term::type>()) != nullptr;
    }
};

template <class Term> struct column<Term, shape::instances> {
    using value = value_of<Term>;
    using row = instances<value>;
    using loose = instances<typename Term::type>;
    using run = instance_column<value>;
    using loose_run = instance_column<typename Term::type>;
    run data;
    explicit column(orr_iter& i) : data(all(i))
    {
    }
    row at(uint32_t i) const
    {
        return data[i];
    }
    static run all(orr_iter& it)
    {
        return {column_of<Term>(it), orr_iter_instances(&it, desc<typename Term::type>())};
    }
};

// The terms that hand something out.
template <class Out, class... Terms> struct columns_of {
    using type = Out;
};
template <class... Out, class Term, class... Rest>
struct columns_of<list<Out...>, Term, Rest...>
    : columns_of<std::conditional_t<shape_of<Term>::value == shape::none, list<Out...>,
                                    list<Out..., Term>>,
                 Rest...> {
};

// ---- calling the user's function ----------------------------------------------------------------------------------

// Calls it; false when it says that the loop is to end.
template <class F, class... Args> bool call(F& f, Args&&... args)
{
    if constexpr (std::is_same_v<std::invoke_result_t<F&, Args...>, bool>) {
        return f(std::forward<Args>(args)...);
    } else {
        f(std::forward<Args>(args)...);
        return true;
    }
}

// For a function that does not take the arguments: says why. `Loosely`: it would, if their const were taken off.
template <bool Loosely> constexpr void complain()
{
    static_assert(!Loosely,
                  "orrery: the function asks to write a term that the query declares read: take "
                  "const T&, const T* or instances<const T>, or declare it write<T>");
    static_assert(
        Loosely,
        "orrery: the function does not take what the terms give: one argument per term, in "
        "order (see the head of orrery.hpp)");
}

// An open iteration; ends with its scope, however that is left.
struct iteration {
    orr_iter it;
    iteration(orr_query* query, const orr_each* each)
    {
        orr_iter_begin(&it, query, each);
    }
    ~iteration()
    {
        orr_iter_end(&it);
    }
    iteration(const iteration&) = delete;
    iteration& operator=(const iteration&) = delete;
};

template <class List> struct loops;
template <class... Terms> struct loops<list<Terms...>> {
    template <class F>
    static constexpr bool alone = std::is_invocable_v<F&, typename column<Terms>::row...>;
    template <class F>
    static constexpr bool with_id =
        std::is_invocable_v<F&, orr_entity, typename column<Terms>::row...>;
    template <class F>
    static constexpr bool by_run = std::is_invocable_v<F&, span, typename column<Terms>::run...>;

    template <class F> static bool rows(orr_iter& it, F& f)
    {
        return rows_of(it, f, column<Terms>(it)...);
    }

    // Columns by value: nobody else sees them, so that their pointers stay in registers.
    template <class F> static bool rows_of(orr_iter& it, F& f, const column<Terms>... columns)
    {
        const uint32_t count = it.count;
        for (uint32_t i = 0; i < count; i++) {
            if constexpr (alone<F>) {
                if (!call(f, columns.at(i)...)) {
                    return false;
                }
            } else if (!call(f, orr_iter_entity(&it, i), columns.at(i)...)) {
                return false;
            }
        }
        return true;
    }

    // What a function that is not fitting would take is asked only then: asking instantiates it.
    template <class F> static void each(orr_query* query, const orr_each* settings, F& f)
    {
        if constexpr (alone<F> || with_id<F>) {
            iteration loop(query, settings);
            while (orr_iter_next(&loop.it) && rows(loop.it, f)) {
            }
        } else {
            complain<std::is_invocable_v<F&, typename column<Terms>::loose...> ||
                     std::is_invocable_v<F&, orr_entity, typename column<Terms>::loose...>>();
        }
    }

    template <class F> static void spans(orr_query* query, const orr_each* settings, F& f)
    {
        if constexpr (by_run<F>) {
            iteration loop(query, settings);
            while (orr_iter_next(&loop.it) &&
                   call(f, span(loop.it), column<Terms>::all(loop.it)...)) {
            }
        } else {
            complain<std::is_invocable_v<F&, span, typename column<Terms>::loose_run...>>();
        }
    }
};

} // namespace detail

// ---- queries ------------------------------------------------------------------------------------------------------

/// A query of these terms; owns its orr_query. Must end before its world does (or be released).
template <class... Terms> class query {
    using flat = typename detail::flatten<0, detail::list<>, Terms...>::type;

  public:
    query() = default;
    query(query&& other) noexcept : query_(other.release())
    {
    }
    query& operator=(query&& other) noexcept
    {
        if (this != &other) {
            orr_query_destroy(query_);
            query_ = other.release();
        }
        return *this;
    }
    ~query()
    {
        orr_query_destroy(query_);
    }

    /// `desc` adds what terms do not say (a name, a predicate, an order, text); its terms must be empty. Null when refused.
    static query make(orr_world* world, const orr_query_desc& desc = orr_query_desc())
    {
        return query(make_of(world, desc, flat()));
    }

    explicit operator bool() const
    {
        return query_ != nullptr;
    }
    orr_query* get() const
    {
        return query_;
    }
    /// Gives the orr_query away: it ends with orr_query_destroy() or with its world.
    orr_query* release()
    {
        return std::exchange(query_, nullptr);
    }

    /// Calls f for every row. See the head of this file.
    template <class F> void each(F&& f)
    {
        loop::each(query_, nullptr, f);
    }
    template <class F> void each(const orr_each& settings, F&& f)
    {
        loop::each(query_, &settings, f);
    }
    /// Calls f for every run of rows, with pointers to the first. Pinned types have no columns: use each().
    template <class F> void spans(F&& f)
    {
        loop::spans(query_, nullptr, f);
    }
    template <class F> void spans(const orr_each& settings, F&& f)
    {
        loop::spans(query_, &settings, f);
    }

    uint64_t count() const
    {
        return orr_query_count(query_);
    }
    bool has(orr_entity e) const
    {
        return orr_query_has(query_, e);
    }
    orr_entity first()
    {
        return orr_query_first(query_);
    }
    orr_entity single()
    {
        return orr_query_single(query_);
    }
    orr_entity at(uint64_t position)
    {
        return orr_query_at(query_, position);
    }

  private:
    template <class... Flat>
    static detail::loops<typename detail::columns_of<detail::list<>, Flat...>::type> loops_of(
        detail::list<Flat...>);
    using loop = decltype(loops_of(flat()));

    explicit query(orr_query* made) : query_(made)
    {
    }

    template <class... Flat>
    static orr_query* make_of(orr_world* world, const orr_query_desc& desc, detail::list<Flat...>)
    {
        static_assert(sizeof...(Flat) <= ORR_TERMS_MAX, "orrery: more than ORR_TERMS_MAX terms");
        ORR_ASSERT(desc.term_count == 0);
        const orr_term terms[sizeof...(Flat) + 1] = {Flat::make(world)..., orr_term()};
        orr_query_desc full = desc;
        full.terms = terms;
        full.term_count = sizeof...(Flat);
        return orr_query_create(world, &full);
    }

    orr_query* query_ = nullptr;
};

// ---- worlds -------------------------------------------------------------------------------------------------------

template <class Terms, class Declared> class system_builder; // system.hpp

/// A world that belongs to somebody else: the calls of store.h with types. Copy it freely.
class world_view {
  public:
    world_view(orr_world* world = nullptr) : world_(world)
    {
    }
    explicit operator bool() const
    {
        return world_ != nullptr;
    }
    orr_world* get() const
    {
        return world_;
    }
    operator orr_world*() const
    {
        return world_;
    }

    /// The type, registered at first use.
    template <class T> orr_type type() const
    {
        return orr_type_of(world_, desc<T>());
    }
    /// Makes types known that texts will name: register_types<Hit, Frozen>(). False when one is refused.
    template <class... Ts> bool register_types() const
    {
        return ((type<Ts>().id != 0) && ...);
    }

    orr_entity create() const
    {
        return orr_create(world_);
    }
    /// Creates an entity with these components: create(Position{1, 2}, Velocity{}). Null when one is refused.
    template <class... Ts> orr_entity create(const Ts&... values) const
    {
        orr_entity e = orr_create(world_);
        if (e.id != 0 && !((put(e, values) == ORR_OK) && ...)) {
            orr_destroy(world_, e);
            e.id = 0;
        }
        return e;
    }
    orr_result destroy(orr_entity e) const
    {
        return orr_destroy(world_, e);
    }
    bool alive(orr_entity e) const
    {
        return orr_alive(world_, e);
    }

    template <class T> orr_result set(orr_entity e, const T& value) const
    {
        return orr_component_set(world_, e, type<T>(), &value);
    }
    /// NULL if the entity does not have it.
    template <class T> const T* get(orr_entity e) const
    {
        return static_cast<const T*>(orr_component_get(world_, e, type<T>()));
    }
    /// The same to change in place.
    template <class T> T* edit(orr_entity e) const
    {
        return static_cast<T*>(orr_component_edit(world_, e, type<T>()));
    }
    template <class T> orr_result add(orr_entity e) const
    {
        return orr_component_add(world_, e, type<T>());
    }
    template <class T> orr_result remove(orr_entity e) const
    {
        return orr_component_remove(world_, e, type<T>());
    }
    template <class T> bool has(orr_entity e) const
    {
        return orr_component_has(world_, e, type<T>());
    }
    template <class T> orr_result enable(orr_entity e, bool on = true) const
    {
        return orr_component_enable(world_, e, type<T>(), on);
    }
    template <class T> bool enabled(orr_entity e) const
    {
        return orr_component_enabled(world_, e, type<T>());
    }

    /// Adds one more instance of a `multiple` type. 0 when refused.
    template <class T> orr_component_id add_instance(orr_entity e, const T& value) const
    {
        return orr_instance_add(world_, e, type<T>(), &value);
    }
    /// All instances, to read; for a unique type at most one.
    template <class T> instances<const T> all(orr_entity e) const
    {
        const void* values = nullptr;
        const orr_component_id* ids = nullptr;
        uint32_t count = orr_instances_get(world_, e, type<T>(), &values, &ids);
        return {static_cast<const T*>(values), ids, count};
    }
    /// The value of a singleton; NULL if the world has none.
    template <class T> const T* singleton() const
    {
        return static_cast<const T*>(orr_singleton_get(world_, type<T>()));
    }

    template <class... Terms> query<Terms...> make_query() const
    {
        return query<Terms...>::make(world_);
    }

    /// Describes a system, added by the last call: system("move").each([](Position& p, const Velocity& v) { … }). See system.hpp.
    system_builder<detail::list<>, detail::list<>> system(const char* name) const;
    /// A pipeline with a clock of its own; rate_hz 0: continuous. Null when refused.
    orr_pipeline pipeline(const char* name, double rate_hz = 0) const
    {
        orr_pipeline_desc desc = {};
        desc.name = name;
        desc.rate_hz = rate_hz;
        return pipeline(desc);
    }
    orr_pipeline pipeline(const orr_pipeline_desc& desc) const
    {
        return orr_pipeline_add(world_, &desc);
    }
    orr_result step(uint32_t ticks = 1) const
    {
        return orr_step(world_, ticks);
    }
    orr_result update(uint64_t elapsed_ns) const
    {
        return orr_update(world_, elapsed_ns);
    }

  protected:
    template <class T> orr_result put(orr_entity e, const T& value) const
    {
        return desc<T>()->settings.multiplicity == ORR_MULTIPLE
                   ? (add_instance(e, value) != 0 ? ORR_OK : ORR_ERR_STATE)
                   : set(e, value);
    }

    orr_world* world_;
};

/// A world of its own, destroyed at the end of its scope.
class world : public world_view {
  public:
    world() : world_view(orr_world_create(nullptr))
    {
    }
    explicit world(const orr_world_desc& desc) : world_view(orr_world_create(&desc))
    {
    }
    world(world&& other) noexcept : world_view(std::exchange(other.world_, nullptr))
    {
    }
    world& operator=(world&& other) noexcept
    {
        if (this != &other) {
            orr_world_destroy(world_);
            world_ = std::exchange(other.world_, nullptr);
        }
        return *this;
    }
    ~world()
    {
        orr_world_destroy(world_);
    }
};

/// Makes a query of these terms. Null (false) when refused. Allocates.
template <class... Terms> query<Terms...> make_query(orr_world* world)
{
    return query<Terms...>::make(world);
}
template <class... Terms> query<Terms...> make_query(orr_world* world, const orr_query_desc& desc)
{
    return query<Terms...>::make(world, desc);
}

} // namespace orr

#include <orrery/run.hpp>
#include <orrery/system.hpp>

#endif
