// SPDX-License-Identifier: MIT
/// @file system.hpp
/// Systems in C++: the arguments of a lambda define what the system reads and writes. orrery.hpp
/// includes this header.
///
///     world.system("move").without<Frozen>().parallel().each(
///         [](orr::run& run, Position& p, const Velocity& v) { p.x += v.x * run.dt(); });
///     world.system("hit").sends<Hit>().transacts<Health>().each(
///         [](orr::run& run, const Arrow& a) {
///             run.transact<&Health::value>(orr::op::add, a.target, -5);
///             run.send(Hit{a.target});
///         });
///     world.system("sound").receives<Hit>().once([](orr::run& run) {
///         for (const Hit& hit : run.events<Hit>()) …
///     });
///     world.step(60);
///
/// A system is described by a chain of calls. The last call takes its function and adds it:
///
///     each         calls it for every row. Arguments: orr::run& and orr::entity, both optional, in
///                  this order; then one per component: `T&` writes, `const T&` reads, `T*` and
///                  `const T*` do the same for a component that may be missing (null then),
///                  instances<T> and instances<const T> are for a multiple type.
///     runs         calls it for every run of rows. Arguments: orr::run&, optional; then `T*` for a
///                  column to write and `const T*` for a column to read. Without column arguments
///                  use run.write<T>() and run.read<T>() for the terms of query<>().
///     once         calls it once per tick, with orr::run&. run.each() loops over query<>().
///     on_message   indirect system: calls it once per tick with orr::run&, or for every message
///                  with (orr::run&, orr::message). query<>() selects the entities and types.
///
/// query<…>() adds terms, as in make_query<…>(). A term of a type that is also an argument replaces
/// the term of the argument: query<changed<read<T>>>(). The lambda must capture nothing.
/// Declarations (creates<…>() and so on) take types, which are registered in the world, or a text.
/// The names of all calls are those of the fields of orr_system_desc, which documents them.
#if !defined(ORRERY_ORRERY_HPP)
#include <orrery/orrery.hpp> // Includes this one at its end.
#elif !defined(ORRERY_SYSTEM_HPP)
#define ORRERY_SYSTEM_HPP

#include <orrery/run.hpp>

namespace orr {

/// Handle of a system of one world. Converts to false if the system was refused.
class system {
  public:
    /// A null handle.
    system() = default;
    /// Handle of a system of `world`.
    system(orr_world* world, orr_system id) : world_(world), id_(id)
    {
    }
    /// False if the system was refused.
    explicit operator bool() const
    {
        return id_.id != 0;
    }
    /// The handle, for C calls.
    orr_system get() const
    {
        return id_;
    }
    /// The handle, for C calls.
    operator orr_system() const
    {
        return id_;
    }
    /// Its name; "" for a removed system.
    const char* name() const
    {
        return orr_system_name(world_, id_);
    }
    /// Enables or disables it from the next tick on: orr_system_enable().
    orr_result enable(bool on = true) const
    {
        return orr_system_enable(world_, id_, on);
    }
    /// True if it will run in the next tick in which it is due.
    bool enabled() const
    {
        return orr_system_enabled(world_, id_);
    }
    /// Removes it before the next tick: orr_system_remove().
    orr_result remove() const
    {
        return orr_system_remove(world_, id_);
    }
    /// Its statistics; all zero if it was refused or removed.
    orr_system_stats stats() const
    {
        orr_system_stats out = {};
        return orr_system_stats_get(world_, id_, &out) == ORR_OK ? out : orr_system_stats();
    }
    /// Its state, between ticks; NULL if it has none, or has not started yet.
    template <class T> const T* state() const
    {
        static_assert(detail::has_desc<T>::value, ORR_PP_NO_COMPONENT);
        return static_cast<const T*>(orr_system_state(world_, id_));
    }
    /// Its exports, between ticks; NULL if it has none, or has not started yet.
    template <class T> const T* exports() const
    {
        static_assert(detail::has_desc<T>::value, ORR_PP_NO_COMPONENT);
        return static_cast<const T*>(orr_system_exports(world_, id_));
    }

  private:
    orr_world* world_ = nullptr;
    orr_system id_ = {};
};

namespace detail {

// ---- declarations as text -----------------------------------------------------------------------

// A field of orr_system_desc that takes a list as text.
using text_field = const char* orr_system_desc::*;

// Items declared for a field.
template <text_field Field, class... Items> struct declared {
};
struct as_text { // Item: the declaration was given as text, in the field itself.
};

// Writes text into a buffer, truncates at its end, always terminates.
struct writer {
    char* at;
    char* end;
    bool known; // True while all types could be registered.
    void put(char c)
    {
        if (at < end) {
            *at++ = c;
        }
        *at = '\0';
    }
    void put(const char* text)
    {
        for (; *text != '\0'; text++) {
            put(*text);
        }
    }
    void put_number(uint64_t number)
    {
        if (number > 9) {
            put_number(number / 10);
        }
        put(static_cast<char>('0' + number % 10));
    }
};

template <class T> struct item {
    static void write(orr_world* world, writer& out)
    {
        out.known = orr_type_of(world, find_desc<T>()).id != 0 && out.known;
        out.put(find_desc<T>()->name);
    }
};
template <class T, orr_term_kind K, orr_access A, orr_enable_state S, bool C, bool M, uint32_t G>
struct item<term<T, K, A, S, C, M, G>> {
    static_assert(K != ORR_ANY && S == ORR_ENABLED && !C && !M,
                  "orrery: a declaration takes T, read<T>, write<T>, without<T> and tag<N>");
    static void write(orr_world* world, writer& out)
    {
        out.put(K == ORR_WITHOUT ? "!" : K == ORR_OPTIONAL ? "?" : A == ORR_WRITE ? "write " : "");
        item<T>::write(world, out);
    }
};
template <orr_tag Tag, orr_term_kind K, uint32_t G> struct item<tag_term<Tag, K, G>> {
    static void write(orr_world*, writer& out)
    {
        out.put(K == ORR_WITHOUT ? "!#" : "#");
        out.put_number(Tag);
    }
};

template <class T> struct is_optional : std::false_type {
};
template <class T, orr_access A> struct is_optional<term<T, ORR_OPTIONAL, A>> : std::true_type {
};

template <class List> struct item_text;
template <> struct item_text<list<>> {
    bool fill(orr_world*, const char*&)
    {
        return true;
    }
};
template <> struct item_text<list<as_text>> : item_text<list<>> {
};
template <class... Items> struct item_text<list<Items...>> {
    static constexpr size_t most = ORR_NAME_MAX + 16; // A name, and "write " or a tag.
    char text[sizeof...(Items) * most + 1];
    bool fill(orr_world* world, const char*& field)
    {
        writer out = {text, text + sizeof text - 1, true};
        (write<Items>(world, out), ...);
        field = text;
        return out.known;
    }
    template <class Item> void write(orr_world* world, writer& out)
    {
        out.put(out.at == text ? "" : ", ");
        item<Item>::write(world, out);
    }
};

template <text_field A, text_field B> struct same_field : std::bool_constant<A == B> {
};

// All items declared for one field.
template <text_field Field, class Out, class... Declared> struct items_of {
    using type = Out;
};
template <text_field Field, class... Out, text_field Other, class... Items, class... Rest>
struct items_of<Field, list<Out...>, declared<Other, Items...>, Rest...>
    : items_of<
          Field,
          std::conditional_t<same_field<Field, Other>::value, list<Out..., Items...>, list<Out...>>,
          Rest...> {
};

template <class List> struct has_text : std::false_type {
};
template <class... Items>
struct has_text<list<Items...>> : std::bool_constant<(std::is_same_v<Items, as_text> || ...)> {
};

// Texts of all fields that take types, used while the system is added.
template <class... Declared> struct texts {
    template <text_field Field>
    using of = item_text<typename items_of<Field, list<>, Declared...>::type>;
    of<&orr_system_desc::by_id> by_id;
    of<&orr_system_desc::creates> creates;
    of<&orr_system_desc::destroys> destroys;
    of<&orr_system_desc::adds> adds;
    of<&orr_system_desc::removes> removes;
    of<&orr_system_desc::changes> changes;
    of<&orr_system_desc::transacts> transacts;
    of<&orr_system_desc::atomics> atomics;
    of<&orr_system_desc::overwrites> overwrites;
    of<&orr_system_desc::switches> switches;
    of<&orr_system_desc::tags> tags;
    of<&orr_system_desc::sends> sends;
    of<&orr_system_desc::receives> receives;

    // Fills the fields of `out`. False if the world refuses a type.
    bool fill(orr_world* world, orr_system_desc& out)
    {
        return by_id.fill(world, out.by_id) && creates.fill(world, out.creates) &&
               destroys.fill(world, out.destroys) && adds.fill(world, out.adds) &&
               removes.fill(world, out.removes) && changes.fill(world, out.changes) &&
               transacts.fill(world, out.transacts) && atomics.fill(world, out.atomics) &&
               overwrites.fill(world, out.overwrites) && switches.fill(world, out.switches) &&
               tags.fill(world, out.tags) && sends.fill(world, out.sends) &&
               receives.fill(world, out.receives);
    }
};

// ---- the functions that C calls -----------------------------------------------------------------

// Calls the function of a system. An exception waits until the tick has ended (detail::thrown); of
// several the one of the system registered first counts, of its runs always the same one.
// In real time the run ends.
template <class F> void guard(const orr_run* it, F&& f) noexcept
{
    thrown::guard(it->world, std::forward<F>(f), [it] {
        bool rows = it->count > 0 && it->now != nullptr;
        orr_stop(it->world);
        return uint64_t(orr_run_self(it).id) << 32 |
               (rows ? orr_iter_entity(it, 0).id & UINT32_MAX : 0);
    });
}

template <class F, bool Run, bool Id, class List> struct row_loop;
template <class F, bool Run, bool Id, class... Terms> struct row_loop<F, Run, Id, list<Terms...>> {
    static_assert(std::is_void_v<typename signature<decltype(&F::operator())>::result>,
                  "orrery: the function of a system returns nothing");

    static void call(orr_run* it) noexcept
    {
        guard(it, [&] { rows(it, column<Terms>(*it)...); });
    }

    // Columns are passed by value, as in loops<>.
    static void rows(orr_run* it, const column<Terms>... columns)
    {
        F& f = stateless<F>();
        orr::run view(it);
        const uint32_t count = it->count;
        for (uint32_t i = 0; i < count; i++) {
            if constexpr (Run && Id) {
                f(view, orr_iter_entity(it, i), columns.at(i)...);
            } else if constexpr (Run) {
                f(view, columns.at(i)...);
            } else if constexpr (Id) {
                f(orr_iter_entity(it, i), columns.at(i)...);
            } else {
                f(columns.at(i)...);
            }
        }
    }

    // True if the function accepts the arguments. Loose: if all terms were declared as write; tells
    // why a function does not fit.
    template <bool Loose> static constexpr bool fits()
    {
        return fits_with(list<std::conditional_t<Loose, typename column<Terms>::loose,
                                                 typename column<Terms>::row>...>());
    }
    template <class... Rows> static constexpr bool fits_with(list<Rows...>)
    {
        return Run && Id ? std::is_invocable_v<F&, orr::run&, orr_entity, Rows...>
               : Run     ? std::is_invocable_v<F&, orr::run&, Rows...>
               : Id      ? std::is_invocable_v<F&, orr_entity, Rows...>
                         : std::is_invocable_v<F&, Rows...>;
    }
};

template <class F, bool Run, class List> struct run_call;
template <class F, bool Run, class... Terms> struct run_call<F, Run, list<Terms...>> {
    static void call(orr_run* it) noexcept
    {
        guard(it, [&] {
            if constexpr (Run) {
                orr::run view(it);
                stateless<F>()(view, column<Terms>::all(*it)...);
            } else {
                stateless<F>()(column<Terms>::all(*it)...);
            }
        });
    }
    template <bool Loose> static constexpr bool fits()
    {
        return fits_with(list<std::conditional_t<Loose, typename column<Terms>::loose_run,
                                                 typename column<Terms>::run>...>());
    }
    template <class... Runs> static constexpr bool fits_with(list<Runs...>)
    {
        return Run ? std::is_invocable_v<F&, orr::run&, Runs...> : std::is_invocable_v<F&, Runs...>;
    }
};

template <class F> void once_call(orr_run* it) noexcept
{
    guard(it, [&] {
        orr::run view(it);
        stateless<F>()(view);
    });
}

template <class F> void message_call(orr_run* it) noexcept
{
    guard(it, [&] {
        orr::run view(it);
        for (message m : view.messages()) {
            if constexpr (std::is_invocable_v<F&, orr::run&, message>) {
                stateless<F>()(view, m);
            } else {
                stateless<F>()(m);
            }
        }
    });
}

template <class F, class T> void combine_call(void* into, const void* part) noexcept
{
    stateless<F>()(*static_cast<T*>(into), *static_cast<const T*>(part));
}

} // namespace detail

// ---- describing a system ------------------------------------------------------------------------

/// Result of world.system("name"); see the top of this file. Does nothing until each(), runs(),
/// once() or on_message(). Immutable: each call returns a new builder.
template <class Terms, class Declared> class system_builder;
template <class... Terms, class... Declared>
class [[nodiscard]] system_builder<detail::list<Terms...>, detail::list<Declared...>> {
    static_assert((detail::known<Terms>::value && ...), ORR_PP_NO_COMPONENT);
    using D = orr_system_desc;
    template <detail::text_field Field>
    using items = typename detail::items_of<Field, detail::list<>, Declared...>::type;

  public:
    /// Begins with the fields of `desc`.
    system_builder(orr_world* world, const orr_system_desc& desc) : world_(world), desc_(desc)
    {
    }

    // Types it accesses in addition to the arguments of its lambda.

    /// Adds terms: query<orr::changed<orr::read<T>>, orr::any_of<…>, orr::tag<7>>().
    template <class... More> auto query() const
    {
        static_assert((detail::is_term<More>::value && ...), ORR_PP_NO_TERM);
        return system_builder<detail::list<Terms..., detail::as_term<More>...>,
                              detail::list<Declared...>>(world_, desc_);
    }
    /// Terms as text, as orr_query_text().
    auto query(const char* text) const
    {
        return say<&D::query>(text);
    }
    /// Requires these types, for reading: for markers, and for columns that the function gets with
    /// run.read<T>().
    template <class... Ts> auto with() const
    {
        return query<orr::read<Ts>...>();
    }
    /// Excludes entities with these types.
    template <class... Ts> auto without() const
    {
        return query<orr::without<Ts>...>();
    }
    /// Types accessed by entity id or in other queries: by_id<Position, orr::write<Health>,
    /// orr::tag<17>>().
    template <class... Items> auto by_id() const
    {
        return declare<&D::by_id, Items...>();
    }
    /// The same as text, with commas.
    auto by_id(const char* text) const
    {
        return say<&D::by_id>(text);
    }

    // Changes it may send.

    /// Types that created entities may have.
    template <class... Ts> auto creates() const
    {
        return declare<&D::creates, Ts...>();
    }
    /// The same as text, with commas.
    auto creates(const char* text) const
    {
        return say<&D::creates>(text);
    }
    /// Limit of entities created per chunk of rows; default none. See orr_system_desc.creates_max.
    auto creates_max(uint32_t most) const
    {
        return with_value(&D::creates_max, most);
    }
    /// Terms of entities it destroys, all of which must match: destroys<Bullet,
    /// orr::without<Player>>(). As text "Bullet|Rock": entities with either; "*": any entity.
    template <class... Items> auto destroys() const
    {
        return declare<&D::destroys, Items...>();
    }
    /// The same as text, with commas.
    auto destroys(const char* text) const
    {
        return say<&D::destroys>(text);
    }
    /// Types of components it adds.
    template <class... Ts> auto adds() const
    {
        return declare<&D::adds, Ts...>();
    }
    /// The same as text, with commas.
    auto adds(const char* text) const
    {
        return say<&D::adds>(text);
    }
    /// Types of components it removes.
    template <class... Ts> auto removes() const
    {
        return declare<&D::removes, Ts...>();
    }
    /// The same as text, with commas.
    auto removes(const char* text) const
    {
        return say<&D::removes>(text);
    }
    /// Types whose values it sends.
    template <class... Ts> auto changes() const
    {
        return declare<&D::changes, Ts...>();
    }
    /// The same as text, with commas.
    auto changes(const char* text) const
    {
        return say<&D::changes>(text);
    }
    /// Types it transacts on.
    template <class... Ts> auto transacts() const
    {
        return declare<&D::transacts, Ts...>();
    }
    /// The same as text, with commas.
    auto transacts(const char* text) const
    {
        return say<&D::transacts>(text);
    }
    /// Types it changes in atomic sections.
    template <class... Ts> auto atomics() const
    {
        return declare<&D::atomics, Ts...>();
    }
    /// The same as text, with commas.
    auto atomics(const char* text) const
    {
        return say<&D::atomics>(text);
    }
    /// Write terms of which it writes every row it is given, whatever the old value.
    template <class... Ts> auto overwrites() const
    {
        return declare<&D::overwrites, Ts...>();
    }
    /// The same as text, with commas.
    auto overwrites(const char* text) const
    {
        return say<&D::overwrites>(text);
    }
    /// Types of components it enables or disables. As text, "*" in the list: entities.
    template <class... Ts> auto switches() const
    {
        return declare<&D::switches, Ts...>();
    }
    /// The same as text, with commas.
    auto switches(const char* text) const
    {
        return say<&D::switches>(text);
    }
    /// Tags it adds or removes: tags<17>(). As text, "*": any tag.
    template <orr_tag... Tags> auto tags() const
    {
        return declare<&D::tags, orr::tag<Tags>...>();
    }
    /// The same as text, with commas.
    auto tags(const char* text) const
    {
        return say<&D::tags>(text);
    }
    /// It changes names of entities.
    auto renames() const
    {
        return with_value(&D::renames, true);
    }
    /// Event types it sends. sends<orr::optional<Hit>>(): no error if no system receives Hit.
    template <class... Ts> auto sends() const
    {
        return declare<&D::sends, Ts...>();
    }
    /// The same as text, with commas.
    auto sends(const char* text) const
    {
        return say<&D::sends>(text);
    }
    /// Event types it receives. A direct system that receives uses once().
    template <class... Ts> auto receives() const
    {
        return declare<&D::receives, Ts...>();
    }
    /// The same as text, with commas.
    auto receives(const char* text) const
    {
        return say<&D::receives>(text);
    }

    // When and where it runs.

    /// Runs of rows may be shared among several workers.
    auto parallel(bool on = true) const
    {
        return with_value(&D::parallel, on);
    }
    /// Runs in every Nth tick. Default 1.
    auto every(uint32_t ticks) const
    {
        return with_value(&D::every, ticks);
    }
    /// Runs only on the thread that drives the world.
    auto main_thread() const
    {
        return with_value(&D::main_thread, true);
    }
    /// Runs exclusively: no other system runs at the same time.
    auto alone() const
    {
        return with_value(&D::alone, true);
    }
    /// Accesses nothing but the rows it is given; see orr_system_desc.own_rows.
    auto own_rows() const
    {
        return with_value(&D::own_rows, true);
    }
    /// Starts disabled.
    auto disabled() const
    {
        return with_value(&D::disabled, true);
    }
    /// Name of its pipeline. Default: the world's first.
    auto pipeline(const char* name) const
    {
        return say<&D::pipeline>(name);
    }
    /// Systems or groups that run after it: "draw, ?sound".
    auto before(const char* names) const
    {
        return say<&D::before>(names);
    }
    /// Systems or groups that run before it.
    auto after(const char* names) const
    {
        return say<&D::after>(names);
    }
    /// Name shared by systems that are ordered and enabled together.
    auto group(const char* name) const
    {
        return say<&D::group>(name);
    }

    // State, exports and pointers.

    /// Type of its state, which is part of the world.
    template <class T> auto state() const
    {
        return with_value(&D::state, desc<T>());
    }
    /// Type of a value that other systems may import.
    template <class T> auto exports() const
    {
        return with_value(&D::exports, desc<T>());
    }
    /// Sets exports<T>() and how exports of chunks are combined:
    /// combine([](Total& into, const Total& part) { into.sum += part.sum; }).
    template <class F> auto combine(F) const
    {
        using T = typename detail::target<decltype(detail::arguments_of<F>())>::type;
        static_assert(std::is_invocable_v<F&, T&, const T&>,
                      "orrery: the function that combines takes T& and const T&");
        detail::check_stateless<F>();
        system_builder out = with_value(&D::exports, desc<T>());
        out.desc_.combine = detail::combine_call<F, T>;
        return out;
    }
    /// Systems whose exports it reads.
    auto imports(const char* systems) const
    {
        return say<&D::imports>(systems);
    }
    /// Constant data for run.settings<T>(). Not copied; it must stay alive and unchanged while the
    /// system exists.
    template <class T> auto settings(const T* constant) const
    {
        return with_value(&D::settings, static_cast<const void*>(constant));
    }
    /// State outside of the world, for run.user<T>(). A system of the simulation that also writes
    /// or sends must be impure().
    template <class T> auto user(T* outside) const
    {
        return with_value(&D::user, static_cast<void*>(outside));
    }
    /// Its results are an input: recorded, and not computed again in a replay.
    auto impure() const
    {
        return with_value(&D::impure, true);
    }
    /// Limit of unread entities in its message queue. Default 16,777,216.
    auto messages_max(uint32_t entities) const
    {
        return with_value(&D::messages_max, entities);
    }

    // Callbacks with orr::run&, called between ticks.

    /// Called when the system takes effect.
    template <class F> auto on_create(F) const
    {
        return with_value(&D::create, callback<F>());
    }
    /// Called before its first tick, and each time after it was enabled.
    template <class F> auto on_start(F) const
    {
        return with_value(&D::start, callback<F>());
    }
    /// Called after it was disabled or removed, and when its world ends.
    template <class F> auto on_stop(F) const
    {
        return with_value(&D::stop, callback<F>());
    }
    /// Called when it is removed or its world ends, after on_stop.
    template <class F> auto on_destroy(F) const
    {
        return with_value(&D::destroy, callback<F>());
    }

    // The last call of the chain adds the system. The result is false if it is refused. Allocates.

    /// Adds a system whose function is called for every row.
    template <class F> system each(F) const
    {
        detail::check_stateless<F>();
        using run_arguments = detail::drop_run<decltype(detail::arguments_of<F>())>;
        using id_arguments = detail::drop_id<typename run_arguments::rest>;
        constexpr bool in_order = detail::in_order<typename id_arguments::rest>::value;
        constexpr bool have_values = detail::have_values<typename id_arguments::rest>::value;
        static_assert(in_order,
                      "orrery: orr::run& comes first, then orr::entity, then the components");
        static_assert(have_values, "orrery: the function takes a marker, which has no value: write "
                                   ".with<Marker>() or .without<Marker>() before .each() instead");
        if constexpr (in_order && have_values) {
            return each_row<F, run_arguments::found, id_arguments::found>(
                typename id_arguments::rest());
        } else {
            return system();
        }
    }
    /// The same with a function: each<move>().
    template <auto Function> system each() const
    {
        return each(detail::constant<Function>());
    }
    /// Adds a system whose function is called for every run of rows.
    template <class F> system runs(F) const
    {
        detail::check_stateless<F>();
        using run_arguments = detail::drop_run<decltype(detail::arguments_of<F>())>;
        using resolved = decltype(detail::resolve_runs(flat(), typename run_arguments::rest()));
        static_assert(detail::known<typename resolved::given>::value, ORR_PP_NO_COMPONENT);
        using call = detail::run_call<F, run_arguments::found, typename resolved::given>;
        if constexpr (call::template fits<false>()) {
            return add(typename resolved::terms(), call::call);
        } else {
            detail::complain<call::template fits<true>()>();
            return system();
        }
    }
    /// The same with a function: runs<move>().
    template <auto Function> system runs() const
    {
        return runs(detail::constant<Function>());
    }
    /// Adds a system whose function is called once per tick.
    template <class F> system once(F) const
    {
        return with_value(&D::once, true).add(flat(), callback<F>());
    }
    /// The same with a function: once<tally>().
    template <auto Function> system once() const
    {
        return once(detail::constant<Function>());
    }
    /// Adds an indirect system; its function is called for every message, or once per tick.
    template <class F> system on_message(F) const
    {
        system_builder out = with_value(&D::kind, ORR_INDIRECT);
        if constexpr (std::is_invocable_v<F&, orr::run&, message> ||
                      std::is_invocable_v<F&, message>) {
            detail::check_stateless<F>();
            return out.add(flat(), detail::message_call<F>);
        } else {
            return out.add(flat(), callback<F>());
        }
    }
    /// The same with a function: on_message<watch>().
    template <auto Function> system on_message() const
    {
        return on_message(detail::constant<Function>());
    }

    /// The fields set so far. For a field without a call here: copy the desc, change it, and
    /// continue with with_desc().
    const orr_system_desc& get_desc() const
    {
        return desc_;
    }
    /// Continues with these fields.
    system_builder with_desc(const orr_system_desc& desc) const
    {
        return system_builder(world_, desc);
    }

  private:
    template <class, class> friend class system_builder;
    using flat = typename detail::flatten<0, detail::list<>, Terms...>::type;

    template <class V, class W> system_builder with_value(V D::*field, W value) const
    {
        system_builder out = *this;
        out.desc_.*field = value;
        return out;
    }
    template <detail::text_field Field, class... Items> auto declare() const
    {
        static_assert(sizeof...(Items) > 0, "orrery: a declaration names types");
        static_assert((detail::known<Items>::value && ...), ORR_PP_NO_COMPONENT);
        static_assert(detail::same_field<Field, &D::sends>::value ||
                          !(detail::is_optional<Items>::value || ...),
                      "orrery: a declaration takes no optional<T>, except sends<>()");
        static_assert(
            !detail::has_text<items<Field>>::value,
            "orrery: this was declared as text already: say all of it as text or by types");
        return system_builder<detail::list<Terms...>,
                              detail::list<Declared..., detail::declared<Field, Items...>>>(world_,
                                                                                            desc_);
    }
    template <detail::text_field Field> auto say(const char* text) const
    {
        static_assert(std::is_same_v<items<Field>, detail::list<>>,
                      "orrery: this was declared already: a text is given once, with commas");
        system_builder<detail::list<Terms...>,
                       detail::list<Declared..., detail::declared<Field, detail::as_text>>>
            out(world_, desc_);
        out.desc_.*Field = text;
        return out;
    }
    template <class F, bool Run, bool Id, class Rest> system each_row(Rest) const
    {
        using resolved = decltype(detail::resolve_rows(flat(), Rest()));
        static_assert(detail::known<typename resolved::given>::value, ORR_PP_NO_COMPONENT);
        using loop = detail::row_loop<F, Run, Id, typename resolved::given>;
        if constexpr (loop::template fits<false>()) {
            return add(typename resolved::terms(), loop::call);
        } else {
            detail::complain<loop::template fits<true>()>();
            return system();
        }
    }
    template <class F> static auto callback()
    {
        detail::check_stateless<F>();
        static_assert(std::is_invocable_v<F&, orr::run&>,
                      "orrery: this function of a system takes an orr::run& and nothing else; "
                      "each() gives it components");
        return detail::once_call<F>;
    }

    template <class... Flat> system add(detail::list<Flat...>, void (*function)(orr_run*)) const
    {
        static_assert(sizeof...(Flat) <= ORR_TERMS_MAX, "orrery: more than ORR_TERMS_MAX terms");
        const orr_term terms[sizeof...(Flat) + 1] = {Flat::make(world_)..., orr_term()};
        detail::texts<Declared...> texts;
        orr_system_desc full = desc_;
        if (!texts.fill(world_, full)) {
            return system();
        }
        full.terms = terms;
        full.term_count = sizeof...(Flat);
        full.run = function;
        return system(world_, orr_system_add(world_, &full));
    }

    orr_world* world_;
    orr_system_desc desc_;
};

inline system_builder<detail::list<>, detail::list<>> world_view::system(const char* name) const
{
    orr_system_desc desc = {};
    desc.name = name;
    return {world_, desc};
}

} // namespace orr

#endif
