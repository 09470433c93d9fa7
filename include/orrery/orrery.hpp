// SPDX-License-Identifier: MIT
/// @file orrery.hpp
/// Orrery in C++17: typed classes and lambdas over the C calls of orrery.h. Header-only and inline.
/// Allocates nothing itself and throws nothing of its own: only an exception that left a system is
/// thrown again, by step(), update() or realtime().
///
///     ORR_STRUCT(Position, (float, x), (float, y)) // at namespace scope, in any namespace
///     ORR_STRUCT(Velocity, (float, x), (float, y))
///     ORR_STRUCT(Mass, (float, kg))
///     ORR_MARKER(Frozen)
///
///     orr::world world; // destroyed at the end of its scope
///     orr_entity bob = world.create(Position{1, 2}, Velocity{3, 4});
///     world.set(bob, Mass{80});
///     const Position* where = world.get<Position>(bob);
///
///     auto moving = orr::make_query<orr::write<Position>, orr::read<Velocity>,
///                                   orr::without<Frozen>, orr::optional<Mass>>(world);
///     // for every row
///     moving.each([](Position& p, const Velocity& v, const Mass* m) { … });
///     // for every row, with its entity
///     moving.each([](orr::entity e, Position& p, const Velocity& v, const Mass* m) { … });
///     // for every run of rows
///     moving.spans([](orr::span s, Position* p, const Velocity* v, const Mass* m) {
///         for (uint32_t i = 0; i < s.count(); i++) …
///     });
///
/// The function of each() and spans() takes one argument per term, in the order of the terms:
///
///     term                       each()                  spans()
///     write<T>                   T&                      T*
///     read<T>                    const T&                const T*
///     optional<T>                const T*, may be null   const T*, may be null
///     optional_write<T>          T*, may be null         T*, may be null
///     read<T> in any_of<…>       const T*, may be null   const T*, may be null
///     write<T> in any_of<…>      T*, may be null         T*, may be null
///     all<read<T>>               instances<const T>      instance_column<const T>
///     all<write<T>>              instances<T>            instance_column<T>
///     optional<T> of a marker    bool                    bool
///     without<T>, tags, required markers: no argument
///
/// For a multiple type read<T> gives the first instance. Use all<read<T>> for all instances, and
/// always in spans(). A function that writes a term declared as read does not compile. A function
/// that returns bool ends the loop by returning false. An exception that leaves a loop ends the
/// iteration.
///
///     world.system("move").without<Frozen>().each(
///         [](orr::run& run, Position& p, const Velocity& v) { … });
///     world.step(60);
///
/// Systems, sending and receiving are in system.hpp and run.hpp, which this header includes.
///
/// Errors, threads and lifetimes of pointers are those of the C call of the same name (store.h,
/// query.h). A world or query that was refused is null and converts to false.
#ifndef ORRERY_ORRERY_HPP
#define ORRERY_ORRERY_HPP

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <orrery/orrery.h>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace orr {

/// Handle of an entity.
using entity = orr_entity;

// ---- exceptions ---------------------------------------------------------------------------------

namespace detail {

// Exceptions that left the functions of systems. C code runs between a system and the call that
// runs the tick, and an exception cannot pass it. So it is caught around the system and kept here,
// and the call of the world throws it again when the tick has ended.
class thrown {
  public:
    // Calls `f`. An exception is reported, so the C call that runs the tick returns it, and kept
    // for the world, unless one with a smaller order() is.
    template <class F, class Order>
    static void guard(const orr_world* world, F&& f, Order&& order) noexcept
    {
#if defined(__cpp_exceptions)
        try {
            f();
        } catch (const std::exception& e) {
            orr_error_report(world, "it threw an exception: %s", e.what());
            keep(world, order(), std::current_exception());
        } catch (...) {
            orr_error_report(world, "it threw an exception that is no std::exception");
            keep(world, order(), std::current_exception());
        }
#else
        (void)world, (void)order;
        f();
#endif
    }

    // Throws the exception that is kept for the world, if there is one.
    static void again(const orr_world* world)
    {
        if (count().load(std::memory_order_acquire) != 0) {
            std::exception_ptr error = take(world);
            if (error) {
                std::rethrow_exception(error);
            }
        }
    }

    // The world ends: drops its exception.
    static void drop(const orr_world* world) noexcept
    {
        if (count().load(std::memory_order_acquire) != 0) {
            (void)take(world);
        }
    }

  private:
    struct entry {
        const orr_world* world;
        uint64_t order;
        std::exception_ptr error;
    };

    static void keep(const orr_world* world, uint64_t order, std::exception_ptr error)
    {
        std::lock_guard<std::mutex> lock(mutex());
        for (entry& e : entries()) {
            if (e.world == world) {
                if (order < e.order) {
                    e = entry{world, order, std::move(error)};
                }
                return;
            }
        }
        entries().push_back(entry{world, order, std::move(error)});
        count().fetch_add(1, std::memory_order_release);
    }

    static std::exception_ptr take(const orr_world* world)
    {
        std::lock_guard<std::mutex> lock(mutex());
        for (std::size_t i = 0; i < entries().size(); i++) {
            if (entries()[i].world == world) {
                std::exception_ptr error = std::move(entries()[i].error);
                entries().erase(entries().begin() + static_cast<std::ptrdiff_t>(i));
                count().fetch_sub(1, std::memory_order_release);
                return error;
            }
        }
        return nullptr;
    }

    static std::mutex& mutex()
    {
        static std::mutex one;
        return one;
    }
    static std::vector<entry>& entries()
    {
        static std::vector<entry> all;
        return all;
    }
    static std::atomic<uint32_t>& count()
    {
        static std::atomic<uint32_t> number{0};
        return number;
    }
};

} // namespace detail

// ---- types --------------------------------------------------------------------------------------

namespace detail {

template <class T, class = void> struct has_desc : std::false_type {
};
template <class T>
struct has_desc<T, std::void_t<decltype(orr_desc_of(static_cast<const T*>(nullptr)))>>
    : std::true_type {
};

// The desc of T; null if there is none. The callers below check has_desc where the program names T,
// so that the error is short.
template <class T> const orr_type_desc* find_desc()
{
    if constexpr (has_desc<T>::value) {
        return orr_desc_of(static_cast<const T*>(nullptr));
    } else {
        return nullptr;
    }
}

#define ORR_PP_NO_COMPONENT \
    "orrery: this is no component type: declare it with ORR_STRUCT or ORR_MARKER"

#define ORR_PP_NO_TERM "orrery: this is no term: write orr::read<T> or orr::write<T> instead of T"

// False for a marker: it is declared and never defined.
template <class T, class = void> struct has_data : std::false_type {
};
template <class T> struct has_data<T, std::void_t<decltype(sizeof(T))>> : std::true_type {
};

} // namespace detail

/// Returns the desc of component type T: orr_desc_of(const T*), found by argument-dependent lookup.
/// ORR_STRUCT, ORR_MARKER, ORR_ENUM and ORR_DESCRIBED declare it.
template <class T> const orr_type_desc* desc()
{
    static_assert(detail::has_desc<T>::value, ORR_PP_NO_COMPONENT);
    return detail::find_desc<T>();
}

/// The instances of a `multiple` type of one entity, as a range: `for (Collider& c : colliders)`.
/// Valid as long as the pointers of the C call.
template <class T> class instances {
  public:
    /// An empty range.
    instances() = default;
    /// A range of `count` values. `ids` may be null: all ids are 0.
    instances(T* values, const orr_component_id* ids, uint32_t count)
        : values_(values), ids_(ids), count_(count)
    {
    }
    /// The first value.
    T* begin() const
    {
        return values_;
    }
    /// Behind the last value.
    T* end() const
    {
        return values_ + count_;
    }
    /// Number of instances.
    uint32_t size() const
    {
        return count_;
    }
    /// True if there are no instances.
    bool empty() const
    {
        return count_ == 0;
    }
    /// The value of instance `i`, which must be less than size().
    T& operator[](uint32_t i) const
    {
        return values_[i];
    }
    /// Id of instance `i`; 0 for a unique type.
    orr_component_id id(uint32_t i) const
    {
        return ids_ != nullptr ? ids_[i] : 0;
    }

  private:
    T* values_ = nullptr;
    const orr_component_id* ids_ = nullptr;
    uint32_t count_ = 0;
};

// ---- terms --------------------------------------------------------------------------------------

/// A term of a query, as a type. Use the short names below instead.
template <class T, orr_term_kind Kind, orr_access Access, orr_enable_state State = ORR_ENABLED,
          bool Changed = false, bool All = false, uint32_t Group = 0>
struct term {
    using type = T;                              ///< The component type.
    static constexpr orr_term_kind kind = Kind;  ///< Required, without, optional or any.
    static constexpr orr_access access = Access; ///< Read or write.
    static constexpr bool all = All;             ///< Gives all instances of a multiple type.

    /// The same term for the C calls. Registers T.
    static orr_term make(orr_world* world)
    {
        orr_term out = {};
        out.type = orr_type_of(world, detail::find_desc<T>());
        out.kind = Kind;
        out.access = Access;
        out.state = State;
        out.changed = Changed;
        out.group = Group;
        return out;
    }
};

/// A term about a tag, as a type. Use the short names below instead.
template <orr_tag Tag, orr_term_kind Kind, uint32_t Group = 0> struct tag_term {
    /// The same term for the C calls.
    static orr_term make(orr_world*)
    {
        orr_term out = {};
        out.tag = Tag;
        out.kind = Kind;
        out.group = Group;
        return out;
    }
};

// The short names. The comment is the argument that each() passes.
template <class T> using read = term<T, ORR_REQUIRED, ORR_READ>;            ///< const T&
template <class T> using write = term<T, ORR_REQUIRED, ORR_WRITE>;          ///< T&
template <class T> using without = term<T, ORR_WITHOUT, ORR_READ>;          ///< no argument
template <class T> using optional = term<T, ORR_OPTIONAL, ORR_READ>;        ///< const T*
template <class T> using optional_write = term<T, ORR_OPTIONAL, ORR_WRITE>; ///< T*
template <orr_tag Tag> using tag = tag_term<Tag, ORR_REQUIRED>;             ///< no argument
template <orr_tag Tag> using without_tag = tag_term<Tag, ORR_WITHOUT>;      ///< no argument
/// The entity has at least one of these: any_of<read<Health>, write<Armor>, tag<7>>. Each type
/// gives a pointer, null where the entity does not have it.
template <class... Terms> struct any_of {
};

namespace detail {

template <class Term> struct modify;
template <class T, orr_term_kind K, orr_access A, orr_enable_state S, bool C, bool M, uint32_t G>
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

// True if all types that a term, a choice, a declaration or a list of these names have a desc.
template <class T> struct known : has_desc<T> {
};
template <class T, orr_term_kind K, orr_access A, orr_enable_state S, bool C, bool M, uint32_t G>
struct known<term<T, K, A, S, C, M, G>> : has_desc<T> {
};
template <orr_tag T, orr_term_kind K, uint32_t G> struct known<tag_term<T, K, G>> : std::true_type {
};
template <class... Members> struct known<any_of<Members...>> : known<list<Members...>> {
};
template <class... Items>
struct known<list<Items...>> : std::bool_constant<(known<Items>::value && ...)> {
};

// True for what may stand in the list of terms of a query. A component alone is no term, because it
// does not say whether it is read or written.
template <class T> struct is_term : std::false_type {
};
template <class T, orr_term_kind K, orr_access A, orr_enable_state S, bool C, bool M, uint32_t G>
struct is_term<term<T, K, A, S, C, M, G>> : std::true_type {
};
template <orr_tag T, orr_term_kind K, uint32_t G>
struct is_term<tag_term<T, K, G>> : std::true_type {
};
template <class... Members> struct is_term<any_of<Members...>> : std::true_type {
};
// A type that is no term counts as read<T>, so that the compiler reports one error and not thirty.
template <class T> using as_term = std::conditional_t<is_term<T>::value, T, read<T>>;

// Expands any_of<…> in a list of terms; its members get the number of their group.
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

/// Selects only blocks of rows written since orr_each.since: changed<read<Position>>.
template <class Term> using changed = typename detail::modify<Term>::changed;
/// Selects components that are disabled: disabled<read<Health>>.
template <class Term> using disabled = typename detail::modify<Term>::disabled;
/// Selects enabled and disabled components: either<read<Health>>, either<without<Health>>.
template <class Term> using either = typename detail::modify<Term>::either;
/// Gives all instances of a `multiple` type: all<write<Collider>> gives instances<Collider>,
/// all<read<Collider>> gives instances<const Collider>. Empty if an optional type is missing.
template <class Term> using all = typename detail::modify<Term>::all;

// ---- columns: the argument that a term gives in a run of rows -----------------------------------

/// A run of rows: consecutive rows of one chunk. Valid during the call of the function.
class span {
  public:
    /// A view of an iteration's current run.
    explicit span(orr_iter& it) : it_(&it)
    {
    }
    /// Number of rows.
    uint32_t count() const
    {
        return it_->count;
    }
    /// The entity of row `i`.
    orr_entity entity(uint32_t i) const
    {
        return orr_iter_entity(it_, i);
    }
    /// The cluster of the rows.
    orr_cluster cluster() const
    {
        return orr_iter_cluster(it_, nullptr);
    }
    /// The group_by key of the cluster: orr_iter_group().
    uint64_t group() const
    {
        return orr_iter_group(it_);
    }
    /// The iteration, for C calls.
    orr_iter* get() const
    {
        return it_;
    }

  private:
    orr_iter* it_;
};

/// The instances of all rows of a run, for spans(): `for (Collider& c : colliders[i])`.
template <class T> class instance_column {
  public:
    /// `values` null: no row has instances.
    instance_column(T* values, const orr_instances& info) : values_(values), info_(info)
    {
    }
    /// The instances of row `i`.
    instances<T> operator[](uint32_t i) const
    {
        if (values_ == nullptr) {
            return {};
        }
        size_t first = static_cast<size_t>(i) * info_.capacity;
        return {values_ + first, info_.ids != nullptr ? info_.ids + first : nullptr,
                info_.counts != nullptr ? info_.counts[i] : 1u};
    }
    /// Counts, ids and capacity per row, as in orr_iter_instances().
    const orr_instances& info() const
    {
        return info_;
    }

  private:
    T* values_;
    orr_instances info_;
};

namespace detail {

// Kind of argument that a term gives.
enum class shape {
    none,      // No argument.
    reference, // T&: a required component.
    pointer,   // T*: a component that may be missing.
    flag,      // bool: a marker that may be missing.
    instances  // instances<T>: all<…>.
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
        return static_cast<T*>(orr_iter_write(&it, find_desc<T>()));
    } else {
        return static_cast<const T*>(orr_iter_read(&it, find_desc<T>()));
    }
}

template <class Term>
using value_of =
    std::conditional_t<Term::access == ORR_WRITE, typename Term::type, const typename Term::type>;

// True if the values are stored outside of chunks. The desc is a constant, so the compiler removes
// this check from loops over types in chunks.
template <class Term> bool is_pinned()
{
    const orr_type_settings& settings = find_desc<typename Term::type>()->settings;
    return settings.storage == ORR_PINNED || settings.transient;
}

// Distance of two rows, in values. A row of a multiple type has room for several values; a term
// without all<> gives the first.
template <class Term> size_t step_of(orr_iter& it)
{
    const orr_type_desc* type = find_desc<typename Term::type>();
    return type->settings.multiplicity == ORR_MULTIPLE ? orr_iter_instances(&it, type).capacity : 1;
}

template <class Term, shape Shape = shape_of<Term>::value> struct column;

template <class Term> struct column<Term, shape::reference> {
    using value = value_of<Term>;
    using row = value&;
    using loose = typename Term::type&; // The argument if the term were declared as write.
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
                                       it, find_desc<typename Term::type>(), Term::access, i))
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
                                       it, find_desc<typename Term::type>(), Term::access, i))
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
        return orr_iter_read(&it, find_desc<typename Term::type>()) != nullptr;
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
        return {column_of<Term>(it), orr_iter_instances(&it, find_desc<typename Term::type>())};
    }
};

// The terms that give an argument.
template <class Out, class... Terms> struct columns_of {
    using type = Out;
};
template <class... Out, class Term, class... Rest>
struct columns_of<list<Out...>, Term, Rest...>
    : columns_of<std::conditional_t<shape_of<Term>::value == shape::none, list<Out...>,
                                    list<Out..., Term>>,
                 Rest...> {
};

// ---- calling the user's function ----------------------------------------------------------------

// Calls the function. Returns false if the function returns false, which ends the loop.
template <class F, class... Args> bool call(F& f, Args&&... args)
{
    if constexpr (std::is_same_v<std::invoke_result_t<F&, Args...>, bool>) {
        return f(std::forward<Args>(args)...);
    } else {
        f(std::forward<Args>(args)...);
        return true;
    }
}

// Compile error for a function that does not accept the arguments. `Loosely`: the function would
// accept them without their const.
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

// An open iteration. Ends with its scope, also when an exception leaves it.
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

    // Columns are passed by value: without an alias their pointers stay in registers.
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

    // The reason is computed only if the function does not fit, because that instantiates it.
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

// ---- queries ------------------------------------------------------------------------------------

/// A query with these terms. Owns its orr_query. Must be destroyed (or released) before its world.
/// Movable, not copyable.
template <class... Terms> class query {
    static_assert((detail::known<Terms>::value && ...), ORR_PP_NO_COMPONENT);
    static_assert((detail::is_term<Terms>::value && ...), ORR_PP_NO_TERM);
    using flat = typename detail::flatten<0, detail::list<>, detail::as_term<Terms>...>::type;

  public:
    /// A null query.
    query() = default;
    /// Takes over the orr_query; `other` is null afterwards.
    query(query&& other) noexcept : query_(other.release())
    {
    }
    /// Destroys its own orr_query and takes over that of `other`.
    query& operator=(query&& other) noexcept
    {
        if (this != &other) {
            orr_query_destroy(query_);
            query_ = other.release();
        }
        return *this;
    }
    /// Destroys the orr_query.
    ~query()
    {
        orr_query_destroy(query_);
    }

    /// Creates a query. `desc` adds a name, a predicate, an order or text; its `terms` must be
    /// empty. Null when refused. Allocates.
    static query make(orr_world* world, const orr_query_desc& desc = orr_query_desc())
    {
        return query(make_of(world, desc, flat()));
    }

    /// False if the query was refused, moved from or released.
    explicit operator bool() const
    {
        return query_ != nullptr;
    }
    /// The orr_query, for C calls.
    orr_query* get() const
    {
        return query_;
    }
    /// Gives up ownership. The orr_query ends with orr_query_destroy() or with its world.
    orr_query* release()
    {
        return std::exchange(query_, nullptr);
    }

    /// Calls f for every row. The top of this file lists its arguments.
    template <class F> void each(F&& f)
    {
        loop::each(query_, nullptr, f);
    }
    /// As above, with settings of the iteration (orr_iter_begin()).
    template <class F> void each(const orr_each& settings, F&& f)
    {
        loop::each(query_, &settings, f);
    }
    /// Calls f for every run of rows, with pointers to the first row. Pinned types have no columns;
    /// use each() for them.
    template <class F> void spans(F&& f)
    {
        loop::spans(query_, nullptr, f);
    }
    /// As above, with settings of the iteration (orr_iter_begin()).
    template <class F> void spans(const orr_each& settings, F&& f)
    {
        loop::spans(query_, &settings, f);
    }

    /// Brings an order or pinned set up to date, so that loops need no memory: orr_query_prepare().
    orr_result prepare()
    {
        return orr_query_prepare(query_);
    }
    /// Number of selected entities: orr_query_count().
    uint64_t count() const
    {
        return orr_query_count(query_);
    }
    /// True if the query selects the entity: orr_query_has().
    bool has(orr_entity e) const
    {
        return orr_query_has(query_, e);
    }
    /// The first entity, or null: orr_query_first().
    orr_entity first()
    {
        return orr_query_first(query_);
    }
    /// The only entity; null, and an error, otherwise: orr_query_single().
    orr_entity single()
    {
        return orr_query_single(query_);
    }
    /// The entity at a position of the iteration, from 0; null past the end: orr_query_at().
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

// ---- worlds -------------------------------------------------------------------------------------

template <class Terms, class Declared> class system_builder; // system.hpp

/// A view of a world that it does not own: the calls of store.h with types. Cheap to copy.
class world_view {
  public:
    /// A view of `world`, which must outlive the view.
    world_view(orr_world* world = nullptr) : world_(world)
    {
    }
    /// False for null, for example if the world was refused.
    explicit operator bool() const
    {
        return world_ != nullptr;
    }
    /// The world, for C calls.
    orr_world* get() const
    {
        return world_;
    }
    /// The world, for C calls.
    operator orr_world*() const
    {
        return world_;
    }

    /// The type T in this world. Registers it at first use.
    template <class T> orr_type type() const
    {
        static_assert(detail::has_desc<T>::value, ORR_PP_NO_COMPONENT);
        return orr_type_of(world_, detail::find_desc<T>());
    }
    /// Registers types that texts will name: register_types<Hit, Frozen>(). False if one is
    /// refused.
    template <class... Ts> bool register_types() const
    {
        return ((type<Ts>().id != 0) && ...);
    }

    /// A value with the presets of its type: orr_type_preset(). Zero, with an error, if the type is
    /// refused.
    template <class T> T preset() const
    {
        T out = {};
        orr_type_preset(world_, type<T>(), &out);
        return out;
    }

    /// Creates an entity without components. Null when refused. Allocates.
    orr_entity create() const
    {
        return orr_create(world_);
    }
    /// Creates an entity with these components: create(Position{1, 2}, Velocity{}). Null if the
    /// entity or a component is refused. Allocates.
    template <class... Ts> orr_entity create(const Ts&... values) const
    {
        orr_entity e = orr_create(world_);
        if (e.id != 0 && !((put(e, values) == ORR_OK) && ...)) {
            orr_destroy(world_, e);
            e.id = 0;
        }
        return e;
    }
    /// Destroys an entity: orr_destroy().
    orr_result destroy(orr_entity e) const
    {
        return orr_destroy(world_, e);
    }
    /// True if the entity is alive: orr_alive().
    bool alive(orr_entity e) const
    {
        return orr_alive(world_, e);
    }

    /// Sets a component, and adds it if it is missing: orr_component_set(). Fields that an
    /// initialiser leaves out are zero, also if they have a preset: set(e, Health{50}). To begin
    /// with the presets, change a value of preset<Health>().
    template <class T> orr_result set(orr_entity e, const T& value) const
    {
        return orr_component_set(world_, e, type<T>(), &value);
    }
    /// The component's value, for reading: orr_component_get(). NULL if the entity does not have
    /// it.
    template <class T> const T* get(orr_entity e) const
    {
        return static_cast<const T*>(orr_component_get(world_, e, type<T>()));
    }
    /// The component's value, for writing in place: orr_component_edit().
    template <class T> T* edit(orr_entity e) const
    {
        return static_cast<T*>(orr_component_edit(world_, e, type<T>()));
    }
    /// Adds a component with its preset: orr_component_add().
    template <class T> orr_result add(orr_entity e) const
    {
        return orr_component_add(world_, e, type<T>());
    }
    /// Removes a component: orr_component_remove().
    template <class T> orr_result remove(orr_entity e) const
    {
        return orr_component_remove(world_, e, type<T>());
    }
    /// True if the entity has the component: orr_component_has().
    template <class T> bool has(orr_entity e) const
    {
        return orr_component_has(world_, e, type<T>());
    }
    /// Enables or disables a component: orr_component_enable().
    template <class T> orr_result enable(orr_entity e, bool on = true) const
    {
        return orr_component_enable(world_, e, type<T>(), on);
    }
    /// True if the component is enabled: orr_component_enabled().
    template <class T> bool enabled(orr_entity e) const
    {
        return orr_component_enabled(world_, e, type<T>());
    }

    /// Adds an instance of a `multiple` type. Returns its id, 0 when refused.
    template <class T> orr_component_id add_instance(orr_entity e, const T& value) const
    {
        return orr_instance_add(world_, e, type<T>(), &value);
    }
    /// All instances, for reading; for a unique type at most one.
    template <class T> instances<const T> all(orr_entity e) const
    {
        const void* values = nullptr;
        const orr_component_id* ids = nullptr;
        uint32_t count = orr_instances_get(world_, e, type<T>(), &values, &ids);
        return {static_cast<const T*>(values), ids, count};
    }
    /// The value of a singleton, for reading; NULL if the world has none.
    template <class T> const T* singleton() const
    {
        return static_cast<const T*>(orr_singleton_get(world_, type<T>()));
    }

    /// Creates a query with these terms. Null when refused. Allocates.
    template <class... Terms> query<Terms...> make_query() const
    {
        return query<Terms...>::make(world_);
    }

    /// Begins the description of a system, which its last call adds:
    /// system("move").each([](Position& p, const Velocity& v) { … }). See system.hpp.
    system_builder<detail::list<>, detail::list<>> system(const char* name) const;
    /// Adds a pipeline with a rate in ticks per second; 0: continuous. Null when refused.
    orr_pipeline pipeline(const char* name, double rate_hz = 0) const
    {
        orr_pipeline_desc desc = {};
        desc.name = name;
        desc.rate_hz = rate_hz;
        return pipeline(desc);
    }
    /// Adds a pipeline: orr_pipeline_add().
    orr_pipeline pipeline(const orr_pipeline_desc& desc) const
    {
        return orr_pipeline_add(world_, &desc);
    }
    /// Runs ticks: orr_step(). If a system throws, its run ends there, the ticks go on to their
    /// end, and then the exception is thrown again here: that of the system registered first.
    orr_result step(uint32_t ticks = 1) const
    {
        return ended(orr_step(world_, ticks));
    }
    /// Advances the world by nanoseconds: orr_update(). Throws as step().
    orr_result update(uint64_t elapsed_ns) const
    {
        return ended(orr_update(world_, elapsed_ns));
    }
    /// Runs all pipelines in real time: orr_realtime(). A system that throws ends the run, and its
    /// exception is thrown again here.
    orr_result realtime(const orr_realtime_desc& desc = {}) const
    {
        return ended(orr_realtime(world_, &desc));
    }
    /// Throws the exception of a system, if one was thrown since the last step(), update() or
    /// realtime(). For programs that run ticks by calls of the C API, which return ORR_ERR_FAILED.
    void rethrow() const
    {
        detail::thrown::again(world_);
    }

  protected:
    orr_result ended(orr_result result) const
    {
        detail::thrown::again(world_);
        return result;
    }

    // Sets a unique component, or adds an instance of a multiple type.
    template <class T> orr_result put(orr_entity e, const T& value) const
    {
        orr_type type_of_value = type<T>();
        return detail::find_desc<T>()->settings.multiplicity != ORR_MULTIPLE
                   ? orr_component_set(world_, e, type_of_value, &value)
               : orr_instance_add(world_, e, type_of_value, &value) != 0 ? ORR_OK
                                                                         : ORR_ERR_STATE;
    }

    orr_world* world_;
};

/// A world that it owns, and destroys at the end of its scope. Movable, not copyable.
class world : public world_view {
  public:
    /// Creates a world with default settings. Null when refused.
    world() : world_view(orr_world_create(nullptr))
    {
    }
    /// Creates a world: orr_world_create(). Null when refused.
    explicit world(const orr_world_desc& desc) : world_view(orr_world_create(&desc))
    {
    }
    /// Takes over the world; `other` is null afterwards.
    world(world&& other) noexcept : world_view(std::exchange(other.world_, nullptr))
    {
    }
    /// Destroys its own world and takes over that of `other`.
    world& operator=(world&& other) noexcept
    {
        if (this != &other) {
            end();
            world_ = std::exchange(other.world_, nullptr);
        }
        return *this;
    }
    /// Destroys the world.
    ~world()
    {
        end();
    }

  private:
    void end() noexcept
    {
        orr_world_destroy(world_);
        detail::thrown::drop(world_);
    }
};

/// Creates a query with these terms. Null (false) when refused. Allocates.
template <class... Terms> query<Terms...> make_query(orr_world* world)
{
    return query<Terms...>::make(world);
}
/// As above; `desc` adds a name, a predicate, an order or text.
template <class... Terms> query<Terms...> make_query(orr_world* world, const orr_query_desc& desc)
{
    return query<Terms...>::make(world, desc);
}

} // namespace orr

/// True if both are the id of the same entity, or both are null.
inline bool operator==(orr_entity a, orr_entity b)
{
    return a.id == b.id;
}
/// False if both are the id of the same entity, or both are null.
inline bool operator!=(orr_entity a, orr_entity b)
{
    return a.id != b.id;
}
/// Hash of an id, for std::unordered_map and std::unordered_set. For std::map compare `id`.
template <> struct std::hash<orr_entity> {
    /// Hash of the id.
    size_t operator()(orr_entity entity) const noexcept
    {
        return std::hash<uint64_t>()(entity.id);
    }
};

#include <orrery/run.hpp>
#include <orrery/system.hpp>

#endif
