// SPDX-License-Identifier: MIT
/// @file system.hpp
/// Systems in C++: what one works on follows from the arguments of its lambda. orrery.hpp includes it.
///
///     world.system("move").without<Frozen>().parallel().each(
///         [](orr::run& run, Position& p, const Velocity& v) { p.x += v.x * run.dt(); });
///     world.system("hit").sends<Hit>().transacts<Health>().each([](orr::run& run, const Arrow& a) {
///         run.transact<&Health::value>(orr::op::add, a.target, -5);
///         run.send(Hit{a.target});
///     });
///     world.system("sound").receives<Hit>().once([](orr::run& run) {
///         for (const Hit& hit : run.events<Hit>()) …
///     });
///     world.step(60);
///
/// A system is described call by call and added by the last one, which takes its function:
///
///     each   for every row. Arguments: orr::run& and orr::entity if wanted, in this order; then `T&` writes, `const T&` reads, `T*` and
///            `const T*` the same where it is there (else null), instances<T> and instances<const T> of a multiple type.
///     runs   for every run of rows. Arguments: orr::run&; then `T*` writes and `const T*` reads the column, or none, and run.write<T>()
///            and run.read<T>() of what query<>() says.
///     once   once a tick, with orr::run& (run.each() loops over query<>()).
///     on_message   of an indirect system: once a tick with orr::run&, or for every message with (orr::run&, orr::message). It hears of query<>().
///
/// query<…>() adds terms as of make_query<…>(); one of a type that the lambda takes decides what it is given: query<changed<read<T>>>().
/// The lambda captures nothing, so that there is nothing to keep: its type makes the function that C calls. What a system
/// may do is declared by types (or as text), which become known to the world by that. All words are those of orr_system_desc.
#if !defined(ORRERY_ORRERY_HPP)
#include <orrery/orrery.hpp> // Includes this one at its end.
#elif !defined(ORRERY_SYSTEM_HPP)
#define ORRERY_SYSTEM_HPP

#include <orrery/run.hpp>

namespace orr {

/// A system of a world. False if it was refused.
class system {
  public:
    system() = default;
    system(orr_world* world, orr_system id) : world_(world), id_(id)
    {
    }
    explicit operator bool() const
    {
        return id_.id != 0;
    }
    orr_system get() const
    {
        return id_;
    }
    operator orr_system() const
    {
        return id_;
    }
    const char* name() const
    {
        return orr_system_name(world_, id_);
    }
    orr_result enable(bool on = true) const
    {
        return orr_system_enable(world_, id_, on);
    }
    bool enabled() const
    {
        return orr_system_enabled(world_, id_);
    }
    orr_result remove() const
    {
        return orr_system_remove(world_, id_);
    }
    /// All zero when it is refused.
    orr_system_stats stats() const
    {
        orr_system_stats out = {};
        return orr_system_stats_get(world_, id_, &out) == ORR_OK ? out : orr_system_stats();
    }
    /// Between ticks; NULL if it has none, or has not begun.
    template <class T> const T* state() const
    {
        return static_cast<const T*>(orr_system_state(world_, id_));
    }
    template <class T> const T* exports() const
    {
        return static_cast<const T*>(orr_system_exports(world_, id_));
    }

  private:
    orr_world* world_ = nullptr;
    orr_system id_ = {};
};

namespace detail {

// ---- declarations as text -----------------------------------------------------------------------------------------

using text_field = const char* orr_system_desc::*;

template <text_field Field, class... Items> struct declared {
};
struct as_text { // The field itself has it.
};

// Writes up to the end, and always a zero.
struct writer {
    char* at;
    char* end;
    bool known; // All types so far.
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
        out.known = orr_type_of(world, desc<T>()).id != 0 && out.known;
        out.put(desc<T>()->name);
    }
};
template <class T, orr_term_kind K, orr_access A, orr_state S, bool C, bool M, uint32_t G>
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
    static constexpr size_t most = ORR_NAME_MAX + 16; // With its words.
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

// What was declared for one field, of all the calls.
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

// The texts of all fields that take types, while the system is added.
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

    // False when the world refuses one of the types.
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

// ---- the functions that C calls --------------------------------------------------------------------------------------

// They end the program if a system throws: there is nobody above who could catch it.

template <class F, bool Run, bool Id, class List> struct row_loop;
template <class F, bool Run, bool Id, class... Terms> struct row_loop<F, Run, Id, list<Terms...>> {
    static_assert(std::is_void_v<typename signature<decltype(&F::operator())>::result>,
                  "orrery: the function of a system returns nothing");

    static void call(orr_run* it) noexcept
    {
        rows(it, column<Terms>(*it)...);
    }

    // Columns by value, as in loops<>.
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

    // With Loose what is declared read is taken for written: to say why a function does not fit.
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
        if constexpr (Run) {
            orr::run view(it);
            stateless<F>()(view, column<Terms>::all(*it)...);
        } else {
            stateless<F>()(column<Terms>::all(*it)...);
        }
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
    orr::run view(it);
    stateless<F>()(view);
}

template <class F> void told_call(orr_run* it) noexcept
{
    orr::run view(it);
    for (message m : view.messages()) {
        if constexpr (std::is_invocable_v<F&, orr::run&, message>) {
            stateless<F>()(view, m);
        } else {
            stateless<F>()(m);
        }
    }
}

template <class F, class T> void combine_call(void* into, const void* part) noexcept
{
    stateless<F>()(*static_cast<T*>(into), *static_cast<const T*>(part));
}

} // namespace detail

// ---- describing a system ------------------------------------------------------------------------------------------------

/// What world.system("name") gives: see the head of this file. Does nothing until each(), runs(), once() or on_message().
template <class Terms, class Declared> class system_builder;
template <class... Terms, class... Declared>
class [[nodiscard]] system_builder<detail::list<Terms...>, detail::list<Declared...>> {
    using D = orr_system_desc;
    template <detail::text_field Field>
    using items = typename detail::items_of<Field, detail::list<>, Declared...>::type;

  public:
    system_builder(orr_world* world, const orr_system_desc& desc) : world_(world), desc_(desc)
    {
    }

    // What it works on, beside what its lambda takes.

    /// Terms: query<orr::changed<orr::read<T>>, orr::any_of<…>, orr::tag<7>>().
    template <class... More> auto query() const
    {
        return system_builder<detail::list<Terms..., More...>, detail::list<Declared...>>(world_,
                                                                                          desc_);
    }
    auto query(const char* text) const
    {
        return say<&D::query>(text);
    }
    /// Has these; for markers, and for columns that the function asks for by itself.
    template <class... Ts> auto with() const
    {
        return query<orr::read<Ts>...>();
    }
    template <class... Ts> auto without() const
    {
        return query<orr::without<Ts>...>();
    }
    /// By id, and in queries of its own: by_id<Position, orr::write<Health>, orr::tag<17>>().
    template <class... Items> auto by_id() const
    {
        return declare<&D::by_id, Items...>();
    }
    auto by_id(const char* text) const
    {
        return say<&D::by_id>(text);
    }

    // What it may send.

    template <class... Ts> auto creates() const
    {
        return declare<&D::creates, Ts...>();
    }
    auto creates(const char* text) const
    {
        return say<&D::creates>(text);
    }
    auto creates_max(uint32_t most) const
    {
        return with_value(&D::creates_max, most);
    }
    /// Terms: destroys<Bullet, orr::without<Player>>(); as text, "*": anything.
    template <class... Items> auto destroys() const
    {
        return declare<&D::destroys, Items...>();
    }
    auto destroys(const char* text) const
    {
        return say<&D::destroys>(text);
    }
    template <class... Ts> auto adds() const
    {
        return declare<&D::adds, Ts...>();
    }
    auto adds(const char* text) const
    {
        return say<&D::adds>(text);
    }
    template <class... Ts> auto removes() const
    {
        return declare<&D::removes, Ts...>();
    }
    auto removes(const char* text) const
    {
        return say<&D::removes>(text);
    }
    template <class... Ts> auto changes() const
    {
        return declare<&D::changes, Ts...>();
    }
    auto changes(const char* text) const
    {
        return say<&D::changes>(text);
    }
    template <class... Ts> auto transacts() const
    {
        return declare<&D::transacts, Ts...>();
    }
    auto transacts(const char* text) const
    {
        return say<&D::transacts>(text);
    }
    template <class... Ts> auto atomics() const
    {
        return declare<&D::atomics, Ts...>();
    }
    auto atomics(const char* text) const
    {
        return say<&D::atomics>(text);
    }
    /// Write terms of which it writes every row it is given, whatever was there.
    template <class... Ts> auto overwrites() const
    {
        return declare<&D::overwrites, Ts...>();
    }
    auto overwrites(const char* text) const
    {
        return say<&D::overwrites>(text);
    }
    /// As text, "*" among them: entities.
    template <class... Ts> auto switches() const
    {
        return declare<&D::switches, Ts...>();
    }
    auto switches(const char* text) const
    {
        return say<&D::switches>(text);
    }
    template <orr_tag... Tags> auto tags() const
    {
        return declare<&D::tags, orr::tag<Tags>...>();
    }
    auto tags(const char* text) const
    {
        return say<&D::tags>(text);
    }
    auto renames() const
    {
        return with_value(&D::renames, true);
    }
    /// sends<orr::optional<Hit>>(): there may be nobody who receives it.
    template <class... Ts> auto sends() const
    {
        return declare<&D::sends, Ts...>();
    }
    auto sends(const char* text) const
    {
        return say<&D::sends>(text);
    }
    /// A direct system that receives is called once().
    template <class... Ts> auto receives() const
    {
        return declare<&D::receives, Ts...>();
    }
    auto receives(const char* text) const
    {
        return say<&D::receives>(text);
    }

    // When and where it runs.

    auto parallel(bool on = true) const
    {
        return with_value(&D::parallel, on);
    }
    auto every(uint32_t ticks) const
    {
        return with_value(&D::every, ticks);
    }
    auto main_thread() const
    {
        return with_value(&D::main_thread, true);
    }
    auto alone() const
    {
        return with_value(&D::alone, true);
    }
    auto own_rows() const
    {
        return with_value(&D::own_rows, true);
    }
    auto disabled() const
    {
        return with_value(&D::disabled, true);
    }
    auto pipeline(const char* name) const
    {
        return say<&D::pipeline>(name);
    }
    auto before(const char* names) const
    {
        return say<&D::before>(names);
    }
    auto after(const char* names) const
    {
        return say<&D::after>(names);
    }
    auto group(const char* name) const
    {
        return say<&D::group>(name);
    }

    // What it keeps.

    template <class T> auto state() const
    {
        return with_value(&D::state, desc<T>());
    }
    template <class T> auto exports() const
    {
        return with_value(&D::exports, desc<T>());
    }
    /// exports<T>(), combined: combine([](Total& into, const Total& part) { into.sum += part.sum; }).
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
    auto imports(const char* systems) const
    {
        return say<&D::imports>(systems);
    }
    /// What stays as it is while the system exists, and stays where it is: run.settings<T>(). Not copied.
    template <class T> auto settings(const T* constant) const
    {
        return with_value(&D::settings, static_cast<const void*>(constant));
    }
    /// State outside of the world: run.user<T>(). Who writes or sends says impure() too.
    template <class T> auto user(T* outside) const
    {
        return with_value(&D::user, static_cast<void*>(outside));
    }
    auto impure() const
    {
        return with_value(&D::impure, true);
    }
    auto messages_max(uint32_t entities) const
    {
        return with_value(&D::messages_max, entities);
    }

    // Called once each, with orr::run&.

    template <class F> auto on_create(F) const
    {
        return with_value(&D::create, callback<F>());
    }
    template <class F> auto on_start(F) const
    {
        return with_value(&D::start, callback<F>());
    }
    template <class F> auto on_stop(F) const
    {
        return with_value(&D::stop, callback<F>());
    }
    template <class F> auto on_destroy(F) const
    {
        return with_value(&D::destroy, callback<F>());
    }

    // The last call: adds the system. The result is false when it is refused. Allocates.

    template <class F> system each(F) const
    {
        detail::check_stateless<F>();
        using run_arguments = detail::drop_run<decltype(detail::arguments_of<F>())>;
        using id_arguments = detail::drop_id<typename run_arguments::rest>;
        using resolved = decltype(detail::resolve_rows(flat(), typename id_arguments::rest()));
        using loop = detail::row_loop<F, run_arguments::found, id_arguments::found,
                                      typename resolved::given>;
        if constexpr (loop::template fits<false>()) {
            return add(typename resolved::terms(), loop::call);
        } else {
            detail::complain<loop::template fits<true>()>();
            return system();
        }
    }
    /// A function: each<move>().
    template <auto Function> system each() const
    {
        return each(detail::constant<Function>());
    }
    template <class F> system runs(F) const
    {
        detail::check_stateless<F>();
        using run_arguments = detail::drop_run<decltype(detail::arguments_of<F>())>;
        using resolved = decltype(detail::resolve_runs(flat(), typename run_arguments::rest()));
        using call = detail::run_call<F, run_arguments::found, typename resolved::given>;
        if constexpr (call::template fits<false>()) {
            return add(typename resolved::terms(), call::call);
        } else {
            detail::complain<call::template fits<true>()>();
            return system();
        }
    }
    template <auto Function> system runs() const
    {
        return runs(detail::constant<Function>());
    }
    template <class F> system once(F) const
    {
        return with_value(&D::once, true).add(flat(), callback<F>());
    }
    template <auto Function> system once() const
    {
        return once(detail::constant<Function>());
    }
    template <class F> system on_message(F) const
    {
        system_builder out = with_value(&D::kind, ORR_INDIRECT);
        if constexpr (std::is_invocable_v<F&, orr::run&, message> ||
                      std::is_invocable_v<F&, message>) {
            detail::check_stateless<F>();
            return out.add(flat(), detail::told_call<F>);
        } else {
            return out.add(flat(), callback<F>());
        }
    }
    template <auto Function> system on_message() const
    {
        return on_message(detail::constant<Function>());
    }

    /// As described so far, for what has no word here: change the desc, and go on with with_desc().
    const orr_system_desc& get_desc() const
    {
        return desc_;
    }
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
    template <class F> static auto callback()
    {
        detail::check_stateless<F>();
        static_assert(std::is_invocable_v<F&, orr::run&>,
                      "orrery: this function of a system takes an orr::run&");
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
