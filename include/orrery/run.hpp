// SPDX-License-Identifier: MIT
/// @file run.hpp
/// What the function of a system has in C++: the calls of message.h and schedule.h with types. orrery.hpp includes it.
///
///     world.system("shoot").creates<Position, Bullet>().each([](orr::run& run, const Gun& gun, const Position& p) {
///         if (run.tick() % gun.wait == 0) {
///             run.create(Position{p.x, p.y}, Bullet{60});
///         }
///     });
///
/// An orr::run is a view of the orr_run that the function was given, good until it returns. What a call does, when it is refused and
/// what has to be declared for it stands with the C call of the same name.
#if !defined(ORRERY_ORRERY_HPP)
#include <orrery/orrery.hpp> // Includes this one at its end.
#elif !defined(ORRERY_RUN_HPP)
#define ORRERY_RUN_HPP

namespace orr {

// ---- ranges -------------------------------------------------------------------------------------------------------

/// Values one after another: a column of a run, events, the values of a message. Empty and false when there are none.
template <class T> class values {
  public:
    values() = default;
    values(T* first, uint32_t count) : first_(first), count_(first != nullptr ? count : 0)
    {
    }
    T* begin() const
    {
        return first_;
    }
    T* end() const
    {
        return first_ + count_;
    }
    T* data() const
    {
        return first_;
    }
    uint32_t size() const
    {
        return count_;
    }
    bool empty() const
    {
        return count_ == 0;
    }
    explicit operator bool() const
    {
        return first_ != nullptr;
    }
    T& operator[](uint32_t i) const
    {
        return first_[i];
    }

  private:
    T* first_ = nullptr;
    uint32_t count_ = 0;
};

/// A message to an indirect system: an array of entities to which the same happened.
class message {
  public:
    explicit message(const orr_message* from) : message_(from)
    {
    }
    orr_message_kind kind() const
    {
        return message_->kind;
    }
    orr_cause cause() const
    {
        return message_->cause;
    }
    uint32_t count() const
    {
        return message_->count;
    }
    orr::values<const orr_entity> entities() const
    {
        return {message_->entities, message_->count};
    }
    /// True if it is about components of this type.
    template <class T> bool is() const
    {
        return orr_message_is_of(message_, desc<T>());
    }
    /// The values of a type, one per entity. Empty if it has none.
    template <class T> orr::values<const T> values() const
    {
        return {static_cast<const T*>(orr_message_values(message_, desc<T>())), message_->count};
    }
    /// Those of entity `i` of an ORR_ENTITY_ADDED, of pinned and multiple types.
    template <class T> orr::values<const T> values_of(uint32_t i) const
    {
        uint32_t count = 0;
        const void* first = orr_message_values_of(message_, desc<T>(), i, &count);
        return {static_cast<const T*>(first), count};
    }
    const orr_message* get() const
    {
        return message_;
    }
    const orr_message* operator->() const
    {
        return message_;
    }

  private:
    const orr_message* message_;
};

/// The messages that wait for an indirect system, taken one by one: `for (orr::message m : run.messages())`. Those after a break
/// stay for its next tick.
class messages {
  public:
    struct sentinel {};
    class iterator {
      public:
        explicit iterator(orr_run* run) : run_(run), now_(orr_receive(run))
        {
        }
        message operator*() const
        {
            return message(now_);
        }
        iterator& operator++()
        {
            now_ = orr_receive(run_);
            return *this;
        }
        bool operator!=(sentinel) const
        {
            return now_ != nullptr;
        }

      private:
        orr_run* run_;
        const orr_message* now_;
    };
    explicit messages(orr_run* run) : run_(run)
    {
    }
    iterator begin() const
    {
        return iterator(run_);
    }
    sentinel end() const
    {
        return {};
    }

  private:
    orr_run* run_;
};

// ---- what a transaction does ----------------------------------------------------------------------------------------

template <orr_op Op> struct op_constant {
};
/// For run.transact(): set, add, min, max.
namespace op {
inline constexpr op_constant<ORR_OP_SET> set{};
inline constexpr op_constant<ORR_OP_ADD> add{};
inline constexpr op_constant<ORR_OP_MIN> min{};
inline constexpr op_constant<ORR_OP_MAX> max{};
} // namespace op

class run;

namespace detail {

// ---- functions: what they take --------------------------------------------------------------------------------------

template <class F> struct signature;
template <class R, class... Args> struct signature<R (*)(Args...)> {
    using result = R;
    using arguments = list<Args...>;
};
template <class R, class... Args>
struct signature<R (*)(Args...) noexcept> : signature<R (*)(Args...)> {
};
template <class R, class C, class... Args>
struct signature<R (C::*)(Args...)> : signature<R (*)(Args...)> {
};
template <class R, class C, class... Args>
struct signature<R (C::*)(Args...) const> : signature<R (*)(Args...)> {
};
template <class R, class C, class... Args>
struct signature<R (C::*)(Args...) noexcept> : signature<R (*)(Args...)> {
};
template <class R, class C, class... Args>
struct signature<R (C::*)(Args...) const noexcept> : signature<R (*)(Args...)> {
};

template <class F, class = void> struct is_plain : std::false_type {
};
template <class F> struct is_plain<F, std::void_t<decltype(&F::operator())>> : std::true_type {
};

// Its arguments say what it works on, so they must be known without calling it.
template <class F> constexpr auto arguments_of()
{
    static_assert(
        is_plain<F>::value,
        "orrery: the function's arguments say what it works on: write their types "
        "(Position& p, const Velocity& v) instead of auto; give a function as each<move>()");
    if constexpr (is_plain<F>::value) {
        return typename signature<decltype(&F::operator())>::arguments();
    } else {
        return list<>();
    }
}

// A function of the program, as an object that is empty.
template <auto Function, class = decltype(Function)> struct constant;
template <auto Function, class R, class... Args> struct constant<Function, R (*)(Args...)> {
    R operator()(Args... args) const
    {
        return Function(static_cast<Args&&>(args)...);
    }
};
template <auto Function, class R, class... Args>
struct constant<Function, R (*)(Args...) noexcept> : constant<Function, R (*)(Args...)> {
};

template <class F> constexpr void check_stateless()
{
    static_assert(std::is_empty_v<F> && std::is_trivially_copyable_v<F>,
                  "orrery: the lambda of a system captures something, which would be state outside "
                  "of the world: "
                  "give it what stays as it is by .settings(&x), keep what changes in .state<T>(), "
                  "and reach what "
                  "is outside by .user(&x) with .impure(); a function is given as each<move>()");
}

// An object without state has nothing that its bytes could say, so any byte is one: the type of a lambda is all that is needed to
// call it, and C's pointer to a function is enough.
template <class F> F& stateless()
{
    check_stateless<F>();
    alignas(F) static unsigned char room[sizeof(F)];
    return *reinterpret_cast<F*>(room);
}

// ---- arguments to terms -----------------------------------------------------------------------------------------------

template <class List> struct drop_run {
    using rest = List;
    static constexpr bool found = false;
};
template <class... Rest> struct drop_run<list<run&, Rest...>> {
    using rest = list<Rest...>;
    static constexpr bool found = true;
};
template <class... Rest>
struct drop_run<list<const run&, Rest...>> : drop_run<list<run&, Rest...>> {
};
template <class... Rest> struct drop_run<list<run, Rest...>> : drop_run<list<run&, Rest...>> {
};

template <class List> struct drop_id {
    using rest = List;
    static constexpr bool found = false;
};
template <class... Rest> struct drop_id<list<orr_entity, Rest...>> {
    using rest = list<Rest...>;
    static constexpr bool found = true;
};

// Of a row.
template <class P> struct row_term { // By value: a copy.
    using type = read<P>;
};
template <class T> struct row_term<T&> {
    using type = write<T>;
};
template <class T> struct row_term<const T&> {
    using type = read<T>;
};
template <class T> struct row_term<T*> {
    using type = optional_write<T>;
};
template <class T> struct row_term<const T*> {
    using type = optional<T>;
};
template <class T> struct row_term<instances<T>> {
    using type = all<write<T>>;
};
template <class T> struct row_term<instances<const T>> {
    using type = all<read<T>>;
};

// Of a run of rows: pointers to the first.
template <class P> struct run_term {
    static_assert(!std::is_same_v<P, P>,
                  "orrery: runs() hands out columns: take T*, const T*, instance_column<T> or "
                  "instance_column<const T>");
    using type = read<std::remove_cv_t<std::remove_reference_t<P>>>;
};
template <class T> struct run_term<T*> {
    using type = write<T>;
};
template <class T> struct run_term<const T*> {
    using type = read<T>;
};
template <class T> struct run_term<instance_column<T>> {
    using type = all<write<T>>;
};
template <class T> struct run_term<instance_column<const T>> {
    using type = all<read<T>>;
};

template <class Term, class T> struct names : std::false_type {
};
template <class T, orr_term_kind K, orr_access A, orr_state S, bool C, bool M, uint32_t G>
struct names<term<T, K, A, S, C, M, G>, T> : std::bool_constant<K != ORR_WITHOUT> {
};

template <class Term> struct found {
    using type = Term;
};
// The first of the terms that hands out a T; else Otherwise.
template <class T, class Otherwise, class... Terms> struct find : found<Otherwise> {
};
template <class T, class Otherwise, class Term, class... Rest>
struct find<T, Otherwise, Term, Rest...>
    : std::conditional_t<names<Term, T>::value, found<Term>, find<T, Otherwise, Rest...>> {
};

// Terms that were declared come first and decide what an argument is given; those of the other arguments are added.
template <class Declared, class... Asked> struct resolve;
template <class... Declared, class... Asked> struct resolve<list<Declared...>, Asked...> {
    template <class Term>
    static constexpr int times = (0 + ... + (names<Asked, typename Term::type>::value ? 1 : 0));
    static_assert(((times<Asked> == 1) && ...), "orrery: the function takes a type twice");

    using given = list<typename find<typename Asked::type, Asked, Declared...>::type...>;

    template <class Out, class... Terms> struct added {
        using type = Out;
    };
    template <class... Out, class Term, class... Rest>
    struct added<list<Out...>, Term, Rest...>
        : added<std::conditional_t<
                    std::is_void_v<typename find<typename Term::type, void, Declared...>::type>,
                    list<Out..., Term>, list<Out...>>,
                Rest...> {
    };
    using terms = typename added<list<Declared...>, Asked...>::type;
};

template <class Declared, class... Args>
resolve<Declared, typename row_term<Args>::type...> resolve_rows(Declared, list<Args...>);
template <class Declared, class... Args>
resolve<Declared, typename run_term<Args>::type...> resolve_runs(Declared, list<Args...>);

// ---- members ------------------------------------------------------------------------------------------------------------

template <auto Member> struct member {
    static_assert(!sizeof(decltype(Member)*),
                  "orrery: transact<&Health::value>() takes a member of a component type");
};
template <class T, class V, V T::*Member> struct member<Member> {
    static_assert(!std::is_function_v<V>, "orrery: transact<>() takes a member that is a value");
    using owner = T;
    using value = std::remove_cv_t<V>;
    using element = std::remove_extent_t<value>;

    static uint32_t offset()
    {
        alignas(T) unsigned char room[sizeof(T)];
        const volatile T* object = reinterpret_cast<const volatile T*>(room);
        const volatile void* at = &(object->*Member);
        return static_cast<uint32_t>(static_cast<const volatile unsigned char*>(at) - room);
    }
};

template <orr_op Op, class V> constexpr void check_op()
{
    static_assert(!std::is_array_v<V>,
                  "orrery: this member is an array: transact_at<>() takes the index of an element");
    static_assert(Op == ORR_OP_SET || std::is_array_v<V> ||
                      (std::is_arithmetic_v<V> && !std::is_same_v<V, bool>),
                  "orrery: add, min and max are for numbers; this member is none");
}

// The function of a transaction or a section: what it changes.
template <class List> struct target {
    static_assert(!std::is_same_v<List, List>,
                  "orrery: the function changes its first argument: take T&");
    using type = orr_name;
};
template <class T, class... Rest> struct target<list<T&, Rest...>> {
    static_assert(!std::is_const_v<T>, "orrery: the function changes its first argument: take T&");
    using type = T;
    static constexpr bool alone = sizeof...(Rest) == 0;
};

template <class F, class T, class A>
void transaction(const orr_world*, orr_entity, void* value, const void* argument) noexcept
{
    stateless<F>()(*static_cast<T*>(value), *static_cast<const A*>(argument));
}
template <class F, class T>
void transaction_alone(const orr_world*, orr_entity, void* value, const void*) noexcept
{
    stateless<F>()(*static_cast<T*>(value));
}
template <class F, class T> void section(void* value, void* user) noexcept
{
    (*static_cast<F*>(user))(*static_cast<T*>(value));
}

} // namespace detail

// ---- a run ------------------------------------------------------------------------------------------------------------

/// What the function of a system is given. dt() and tick() cost nothing in a loop.
class run {
  public:
    explicit run(orr_run* from) : run_(from), tick_(from->tick), dt_(from->dt)
    {
    }
    orr_run* get() const
    {
        return run_;
    }
    float dt() const
    {
        return dt_;
    }
    uint64_t tick() const
    {
        return tick_;
    }
    uint32_t count() const
    {
        return run_->count;
    }
    orr_entity entity(uint32_t i) const
    {
        return orr_iter_entity(run_, i);
    }
    world_view world() const
    {
        return world_view(run_->world);
    }
    /// orr_run_random().
    uint64_t random(orr_entity e = orr_entity()) const
    {
        return orr_run_random(run_, e);
    }

    // Columns. Of a multiple type take instances(), of a pinned one pinned().

    template <class T> values<const T> read() const
    {
        return {static_cast<const T*>(orr_iter_read(run_, desc<T>())), run_->count};
    }
    template <class T> values<T> write() const
    {
        return {static_cast<T*>(orr_iter_write(run_, desc<T>())), run_->count};
    }
    /// instances<const Collider>() to read, instances<Collider>() to write.
    template <class T> instance_column<T> instances() const
    {
        using plain = std::remove_const_t<T>;
        using term = std::conditional_t<std::is_const_v<T>, orr::read<plain>, orr::write<plain>>;
        return detail::column<orr::all<term>>::all(*run_);
    }
    /// pinned<const Body>(i) to read, pinned<Body>(i) to write; NULL where it is not there.
    template <class T> T* pinned(uint32_t i) const
    {
        return static_cast<T*>(orr_iter_pinned(run_, desc<std::remove_const_t<T>>(),
                                               std::is_const_v<T> ? ORR_READ : ORR_WRITE, i));
    }
    /// Of a system that is called once: calls f, which may capture, for every row of its query. Its arguments are as in each() of a
    /// system, with no run.
    template <class F> void each(F&& f) const
    {
        using plain = std::remove_reference_t<F>;
        using rest = typename detail::drop_id<decltype(detail::arguments_of<plain>())>::rest;
        using terms = typename decltype(detail::resolve_rows(detail::list<>(), rest()))::given;
        detail::loops<terms>::each(orr_run_query(run_), nullptr, f);
    }

    // Others, declared by by_id<>().

    template <class T> const T* get(orr_entity e) const
    {
        return world().get<T>(e);
    }
    template <class T> T* edit(orr_entity e) const
    {
        return world().edit<T>(e);
    }
    template <class T> const T* singleton() const
    {
        return world().singleton<T>();
    }
    bool alive(orr_entity e) const
    {
        return orr_alive(run_->world, e);
    }

    // Sending changes: they happen at a commit point.

    orr_entity create() const
    {
        return orr_send_create(run_);
    }
    /// create(Position{1, 2}, Velocity{}). Null, and nothing is sent, when the entity is refused; a refused component is missing, and
    /// said.
    template <class... Ts> orr_entity create(const Ts&... components) const
    {
        orr_entity e = orr_send_create(run_);
        if (e.id != 0) {
            (static_cast<void>(add(e, components)), ...);
        }
        return e;
    }
    orr_result destroy(orr_entity e) const
    {
        return orr_send_destroy(run_, e);
    }
    template <class T> orr_result add(orr_entity e, const T& value) const
    {
        return orr_send_add_type(run_, e, type<T>(), &value, nullptr);
    }
    /// With its preset.
    template <class T> orr_result add(orr_entity e) const
    {
        return orr_send_add_type(run_, e, type<T>(), nullptr, nullptr);
    }
    /// One more instance of a multiple type; its id is good for further calls of this run. 0 when refused.
    template <class T> orr_component_id add_instance(orr_entity e, const T& value) const
    {
        orr_component_id id = 0;
        return orr_send_add_type(run_, e, type<T>(), &value, &id) == ORR_OK ? id : 0;
    }
    /// orr_send_change_type(): a component that is there.
    template <class T> orr_result set(orr_entity e, const T& value, orr_component_id id = 0) const
    {
        return orr_send_change_type(run_, e, type<T>(), id, &value);
    }
    template <class T> orr_result remove(orr_entity e, orr_component_id id = 0) const
    {
        return orr_send_remove_type(run_, e, type<T>(), id);
    }
    template <class T>
    orr_result enable(orr_entity e, bool on = true, orr_component_id id = 0) const
    {
        return orr_send_enable_type(run_, e, type<T>(), id, on);
    }
    /// The entity itself.
    orr_result enable(orr_entity e, bool on = true) const
    {
        return orr_send_enable_type(run_, e, orr_type(), 0, on);
    }
    orr_result tag(orr_entity e, orr_tag number, bool on = true) const
    {
        return orr_send_tag(run_, e, number, on);
    }
    orr_result name(orr_entity e, const char* text, orr_entity scope = orr_entity()) const
    {
        return orr_send_name(run_, e, scope, text);
    }

    // Writing to others.

    /// transact<&Health::value>(orr::op::add, target, -5). The number is converted to what the member is.
    template <auto Member, orr_op Op>
    orr_result transact(op_constant<Op>, orr_entity target,
                        const typename detail::member<Member>::element& number,
                        orr_component_id id = 0) const
    {
        using member = detail::member<Member>;
        detail::check_op<Op, typename member::value>();
        return orr_transact_field(run_, Op, target, type<typename member::owner>(), id,
                                  member::offset(), sizeof(typename member::value), &number);
    }
    /// transact_at<&Grid::cells>(orr::op::max, target, 3, 1.5f): of a member that is an array. An index past its end is ORR_ERR_FIELD.
    template <auto Member, orr_op Op>
    orr_result transact_at(op_constant<Op>, orr_entity target, uint32_t index,
                           const typename detail::member<Member>::element& number,
                           orr_component_id id = 0) const
    {
        using member = detail::member<Member>;
        using value = typename member::value;
        using element = typename member::element;
        static_assert(std::is_array_v<value>, "orrery: this member is no array: use transact<>()");
        detail::check_op<Op, element>();
        uint32_t size = sizeof(element);
        uint32_t offset = index < std::extent_v<value> ? member::offset() + index * size
                                                       : uint32_t{sizeof(typename member::owner)};
        return orr_transact_field(run_, Op, target, type<typename member::owner>(), id, offset,
                                  size, &number);
    }
    /// A transaction of your own: transact(target, [](Giant& g, const Poison& p) { … }, Poison{3}). It captures nothing; the argument is
    /// copied.
    template <class F, class A>
    orr_result transact(orr_entity target, F, const A& argument, orr_component_id id = 0) const
    {
        using T = typename detail::target<decltype(detail::arguments_of<F>())>::type;
        detail::check_stateless<F>();
        static_assert(std::is_trivially_copyable_v<A> && alignof(A) <= 16,
                      "orrery: the argument of a transaction is copied as bytes");
        static_assert(std::is_invocable_v<F&, T&, const A&>,
                      "orrery: the function of a transaction takes T& and const A&");
        return orr_transact_call(run_, target, type<T>(), id, detail::transaction<F, T, A>,
                                 &argument, sizeof(A));
    }
    template <class F> orr_result transact(orr_entity target, F) const
    {
        using T = typename detail::target<decltype(detail::arguments_of<F>())>::type;
        detail::check_stateless<F>();
        return orr_transact_call(run_, target, type<T>(), 0, detail::transaction_alone<F, T>,
                                 nullptr, 0);
    }
    /// orr_atomic(): atomic(target, [&](Health& h) { … }), at once. It may capture: it is called before this returns.
    template <class F> orr_result atomic(orr_entity target, F&& f, orr_component_id id = 0) const
    {
        using plain = std::remove_reference_t<F>;
        using T = typename detail::target<decltype(detail::arguments_of<plain>())>::type;
        void* user = const_cast<void*>(static_cast<const void*>(&f));
        return orr_atomic(run_, target, type<T>(), id, detail::section<plain, T>, user);
    }

    // Events and messages.

    template <class T> orr_result send(const T& event) const
    {
        return orr_send_event_type(run_, type<T>(), &event);
    }
    /// Those that this system was not given before.
    template <class T> values<const T> events() const
    {
        uint32_t count = 0;
        const void* first = orr_events_type(run_, type<T>(), &count);
        return {static_cast<const T*>(first), count};
    }
    orr::messages messages() const
    {
        return orr::messages(run_);
    }

    // What the system keeps and shows. NULL when it has none.

    template <class T> T* state() const
    {
        return static_cast<T*>(orr_run_state(run_, desc<T>()));
    }
    template <class T> T* exports() const
    {
        return static_cast<T*>(orr_run_export(run_, desc<T>()));
    }
    template <class T> const T* imports(const char* system) const
    {
        return static_cast<const T*>(orr_run_import(run_, system, desc<T>()));
    }
    template <class T> const T* settings() const
    {
        return static_cast<const T*>(orr_run_settings(run_));
    }
    template <class T> T* user() const
    {
        return static_cast<T*>(orr_run_user(run_));
    }

  private:
    template <class T> orr_type type() const
    {
        return orr_type_of(run_->world, desc<T>());
    }

    orr_run* run_;
    uint64_t
        tick_; // Copies: a store to a column could else be one to them, and they would be loaded for every row.
    float dt_;
};

} // namespace orr

#endif
