// SPDX-License-Identifier: MIT
/// @file run.hpp
/// The argument of a system's function in C++: the calls of message.h and schedule.h with types.
/// orrery.hpp includes this header.
///
///     world.system("shoot").creates<Position, Bullet>().each(
///         [](orr::run& run, const Gun& gun, const Position& p) {
///             if (run.tick() % gun.wait == 0) {
///                 run.create(Position{p.x, p.y}, Bullet{60});
///             }
///         });
///
/// An orr::run is a view of the orr_run that the function was given, valid until the function
/// returns. Effects, errors and required declarations of a call are documented at the C call that
/// its comment names.
#if !defined(ORRERY_ORRERY_HPP)
#include <orrery/orrery.hpp> // Includes this one at its end.
#elif !defined(ORRERY_RUN_HPP)
#define ORRERY_RUN_HPP

namespace orr {

// ---- ranges -------------------------------------------------------------------------------------

/// An array of values, as a range: a column of a run, events, or the values of a message. Empty and
/// false if there are none.
template <class T> class values {
  public:
    /// An empty array.
    values() = default;
    /// An array of `count` values; empty if `first` is null.
    values(T* first, uint32_t count) : first_(first), count_(first != nullptr ? count : 0)
    {
    }
    /// The first value.
    T* begin() const
    {
        return first_;
    }
    /// Behind the last value.
    T* end() const
    {
        return first_ + count_;
    }
    /// The first value; null if there is no array.
    T* data() const
    {
        return first_;
    }
    /// Number of values.
    uint32_t size() const
    {
        return count_;
    }
    /// True if there are no values.
    bool empty() const
    {
        return count_ == 0;
    }
    /// True if there is an array.
    explicit operator bool() const
    {
        return first_ != nullptr;
    }
    /// Value `i`, which must be less than size().
    T& operator[](uint32_t i) const
    {
        return first_[i];
    }

  private:
    T* first_ = nullptr;
    uint32_t count_ = 0;
};

/// A message to an indirect system: an array of entities to which the same thing happened
/// (orr_message). Valid until the system's function returns.
class message {
  public:
    /// A view of `from`.
    explicit message(const orr_message* from) : message_(from)
    {
    }
    /// The kind of change that the message reports.
    orr_message_kind kind() const
    {
        return message_->kind;
    }
    /// Why it happened.
    orr_cause cause() const
    {
        return message_->cause;
    }
    /// Number of entities.
    uint32_t count() const
    {
        return message_->count;
    }
    /// The entities.
    orr::values<const orr_entity> entities() const
    {
        return {message_->entities, message_->count};
    }
    /// True if the message is about components of type T.
    template <class T> bool is() const
    {
        return orr_message_is_of(message_, desc<T>());
    }
    /// The values of type T, one per entity: orr_values(). Empty if the message has none.
    template <class T> orr::values<const T> values() const
    {
        return {static_cast<const T*>(orr_message_values(message_, desc<T>())), message_->count};
    }
    /// The values of entity `i` of an ORR_ENTITY_ADDED, for pinned and multiple types:
    /// orr_values_of().
    template <class T> orr::values<const T> values_of(uint32_t i) const
    {
        uint32_t count = 0;
        const void* first = orr_message_values_of(message_, desc<T>(), i, &count);
        return {static_cast<const T*>(first), count};
    }
    /// The message, for C calls.
    const orr_message* get() const
    {
        return message_;
    }
    /// The message, for C calls.
    operator const orr_message*() const
    {
        return message_;
    }
    /// Access to the fields of orr_message.
    const orr_message* operator->() const
    {
        return message_;
    }

  private:
    const orr_message* message_;
};

/// The message queue of an indirect system, as a range that takes the messages one by one:
/// `for (orr::message m : run.messages())`. Messages after a break stay for its next tick.
class messages {
  public:
    /// End of the queue.
    struct sentinel {};
    /// Takes the next message (orr_receive()) when it is made and when it is incremented.
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
    /// The queue of the running system.
    explicit messages(orr_run* run) : run_(run)
    {
    }
    /// Takes the first message.
    iterator begin() const
    {
        return iterator(run_);
    }
    /// End of the queue.
    sentinel end() const
    {
        return {};
    }

  private:
    orr_run* run_;
};

// ---- operations of transactions -----------------------------------------------------------------

/// An orr_op as a type, for run.transact().
template <orr_op Op> struct op_constant {
};
/// Operations for run.transact(), as orr_op.
namespace op {
inline constexpr op_constant<ORR_OP_SET> set{}; ///< ORR_OP_SET
inline constexpr op_constant<ORR_OP_ADD> add{}; ///< ORR_OP_ADD
inline constexpr op_constant<ORR_OP_MIN> min{}; ///< ORR_OP_MIN
inline constexpr op_constant<ORR_OP_MAX> max{}; ///< ORR_OP_MAX
} // namespace op

class run;

namespace detail {

// ---- argument types of functions ----------------------------------------------------------------

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

// The argument types of a function object. They define the terms of the system, so they must be
// known at compile time: no generic lambdas.
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

// A function as an empty function object.
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

// An object of an empty, trivially copyable type. Its bytes have no meaning, so static storage of
// the right size serves as the object; a plain C function pointer can then call the lambda by its
// type.
template <class F> F& stateless()
{
    check_stateless<F>();
    alignas(F) static unsigned char room[sizeof(F)];
    return *reinterpret_cast<F*>(room);
}

// ---- arguments to terms -------------------------------------------------------------------------

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

// False when a run or an entity stands among the arguments that are components.
template <class List> struct in_order;
template <class... Args>
struct in_order<list<Args...>>
    : std::bool_constant<!((std::is_same_v<std::decay_t<Args>, orr_entity> ||
                            std::is_same_v<std::decay_t<Args>, run>) ||
                           ...)> {
};

// False when a marker stands among them: it is declared and never defined.
template <class T> struct component_of {
    using type = std::remove_cv_t<std::remove_pointer_t<std::remove_reference_t<T>>>;
};
template <class List> struct have_values;
template <class... Args>
struct have_values<list<Args...>>
    : std::bool_constant<((has_data<typename component_of<Args>::type>::value ||
                           !has_desc<typename component_of<Args>::type>::value) &&
                          ...)> {
};

// The term of an argument of each(): per row.
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

// The term of an argument of runs(): per run of rows, a pointer to the first row.
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
template <class T, orr_term_kind K, orr_access A, orr_enable_state S, bool C, bool M, uint32_t G>
struct names<term<T, K, A, S, C, M, G>, T> : std::bool_constant<K != ORR_WITHOUT> {
};

template <class Term> struct found {
    using type = Term;
};
// The first of the terms that gives a T; otherwise Otherwise.
template <class T, class Otherwise, class... Terms> struct find : found<Otherwise> {
};
template <class T, class Otherwise, class Term, class... Rest>
struct find<T, Otherwise, Term, Rest...>
    : std::conditional_t<names<Term, T>::value, found<Term>, find<T, Otherwise, Rest...>> {
};

// Joins the declared terms and the terms of the arguments (Asked). A declared term of the same type
// decides what the argument gets; terms of the other arguments are added.
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

// ---- members of components ----------------------------------------------------------------------

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

// The component type that a function of a transaction or section changes: its first argument.
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
void transaction(const orr_world* world, orr_entity, void* value, const void* argument,
                 uint32_t) noexcept
{
    thrown::guard(
        world, [&] { stateless<F>()(*static_cast<T*>(value), *static_cast<const A*>(argument)); },
        [] { return UINT64_MAX; }); // After the systems.
}
template <class F, class T>
void transaction_alone(const orr_world* world, orr_entity, void* value, const void*,
                       uint32_t) noexcept
{
    thrown::guard(
        world, [&] { stateless<F>()(*static_cast<T*>(value)); }, [] { return UINT64_MAX; });
}
template <class F, class T> void section(void* value, void* user) noexcept
{
    (*static_cast<F*>(user))(*static_cast<T*>(value));
}

} // namespace detail

// ---- a run --------------------------------------------------------------------------------------

/// The argument of a system's function. dt() and tick() cost nothing in a loop.
class run {
  public:
    /// A view of `from`.
    explicit run(orr_run* from) : run_(from), tick_(from->tick), dt_(from->dt)
    {
    }
    /// The orr_run, for C calls.
    orr_run* get() const
    {
        return run_;
    }
    /// The orr_run, for C calls.
    operator orr_run*() const
    {
        return run_;
    }
    /// Seconds of this tick.
    float dt() const
    {
        return dt_;
    }
    /// Number of this tick in the system's pipeline.
    uint64_t tick() const
    {
        return tick_;
    }
    /// Number of rows of this call.
    uint32_t count() const
    {
        return run_->count;
    }
    /// The entity of row `i`.
    orr_entity entity(uint32_t i) const
    {
        return orr_iter_entity(run_, i);
    }
    /// The world. Inside a system it accepts only declared accesses.
    world_view world() const
    {
        return world_view(run_->world);
    }
    /// A stream of random numbers from seed, tick, system and entity: orr_run_rng(). Draw with
    /// orr_rng_next(), orr_rng_below() or orr_rng_float().
    orr_rng rng(orr_entity e = orr_entity()) const
    {
        return orr_run_rng(run_, e);
    }
    /// The first number of rng(), the same in every call for this entity and tick.
    uint64_t random(orr_entity e = orr_entity()) const
    {
        return orr_run_random(run_, e);
    }

    // Columns. Use instances() for a multiple type, pinned() for a pinned type.

    /// The column of T for reading; empty if it is missing.
    template <class T> values<const T> read() const
    {
        return {static_cast<const T*>(orr_iter_read(run_, desc<T>())), run_->count};
    }
    /// The column of T for writing; empty if it is missing.
    template <class T> values<T> write() const
    {
        return {static_cast<T*>(orr_iter_write(run_, desc<T>())), run_->count};
    }
    /// Instances of all rows: instances<const Collider>() for reading, instances<Collider>() for
    /// writing.
    template <class T> instance_column<T> instances() const
    {
        using plain = std::remove_const_t<T>;
        using term = std::conditional_t<std::is_const_v<T>, orr::read<plain>, orr::write<plain>>;
        return detail::column<orr::all<term>>::all(*run_);
    }
    /// Pinned value of row `i`: pinned<const Body>(i) for reading, pinned<Body>(i) for writing;
    /// NULL if the row has none.
    template <class T> T* pinned(uint32_t i) const
    {
        return static_cast<T*>(orr_iter_pinned(run_, desc<std::remove_const_t<T>>(),
                                               std::is_const_v<T> ? ORR_READ : ORR_WRITE, i));
    }
    /// For a system that is called once: calls f for every row of its query. f may capture. Its
    /// arguments are those of each() of a system, without the run.
    template <class F> void each(F&& f) const
    {
        using plain = std::remove_reference_t<F>;
        using rest = typename detail::drop_id<decltype(detail::arguments_of<plain>())>::rest;
        using terms = typename decltype(detail::resolve_rows(detail::list<>(), rest()))::given;
        detail::loops<terms>::each(orr_run_query(run_), nullptr, f);
    }

    // Other entities, declared by by_id<>().

    /// A component for reading: orr_component_get(). NULL if the entity does not have it.
    template <class T> const T* get(orr_entity e) const
    {
        return world().get<T>(e);
    }
    /// A component for writing in place: orr_component_edit().
    template <class T> T* edit(orr_entity e) const
    {
        return world().edit<T>(e);
    }
    /// The value of a singleton for reading; NULL if the world has none.
    template <class T> const T* singleton() const
    {
        return world().singleton<T>();
    }
    /// True if the entity is alive. Needs no declaration.
    bool alive(orr_entity e) const
    {
        return orr_alive(run_->world, e);
    }

    // Sending changes. They take effect at a commit point.

    /// Creates an entity: orr_send_create(). Null when refused.
    orr_entity create() const
    {
        return orr_send_create(run_);
    }
    /// Creates an entity with components: create(Position{1, 2}, Velocity{}). If the entity is
    /// refused, the result is null and nothing is sent. A refused component is logged and missing.
    template <class... Ts> orr_entity create(const Ts&... components) const
    {
        orr_entity e = orr_send_create(run_);
        if (e.id != 0) {
            (static_cast<void>(add(e, components)), ...);
        }
        return e;
    }
    /// Destroys an entity: orr_send_destroy().
    orr_result destroy(orr_entity e) const
    {
        return orr_send_destroy(run_, e);
    }
    /// Adds a component: orr_send_add_type().
    template <class T> orr_result add(orr_entity e, const T& value) const
    {
        return orr_send_add_type(run_, e, type<T>(), &value, nullptr);
    }
    /// Adds a component with its preset.
    template <class T> orr_result add(orr_entity e) const
    {
        return orr_send_add_type(run_, e, type<T>(), nullptr, nullptr);
    }
    /// Adds an instance of a multiple type. Returns the id that it has from now on; 0 when refused.
    /// If the id is not needed, use add(): the number of ids per run is limited.
    template <class T> orr_component_id add_instance(orr_entity e, const T& value) const
    {
        orr_component_id id = 0;
        return orr_send_add_type(run_, e, type<T>(), &value, &id) == ORR_OK ? id : 0;
    }
    /// Sets the value of an existing component: orr_send_change_type().
    template <class T> orr_result set(orr_entity e, const T& value, orr_component_id id = 0) const
    {
        return orr_send_change_type(run_, e, type<T>(), id, &value);
    }
    /// Removes a component: orr_send_remove_type().
    template <class T> orr_result remove(orr_entity e, orr_component_id id = 0) const
    {
        return orr_send_remove_type(run_, e, type<T>(), id);
    }
    /// Enables or disables a component: orr_send_enable_type().
    template <class T>
    orr_result enable(orr_entity e, bool on = true, orr_component_id id = 0) const
    {
        return orr_send_enable_type(run_, e, orr_pp_type_refused(type<T>()), id, on);
    }
    /// Enables or disables the entity itself.
    orr_result enable(orr_entity e, bool on = true) const
    {
        return orr_send_enable_type(run_, e, orr_type(), 0, on);
    }
    /// Adds or removes a tag: orr_send_tag().
    orr_result tag(orr_entity e, orr_tag number, bool on = true) const
    {
        return orr_send_tag(run_, e, number, on);
    }
    /// Names an entity: orr_send_name(). `text` null removes its name.
    orr_result name(orr_entity e, const char* text, orr_entity scope = orr_entity()) const
    {
        return orr_send_name(run_, e, scope, text);
    }

    // Transactions and atomic sections on any entity.

    /// Sends a transaction on a member: transact<&Health::value>(orr::op::add, target, -5). The
    /// number is converted to the member's type. See orr_transact_field().
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
    /// Sends a transaction on an element of an array member:
    /// transact_at<&Grid::cells>(orr::op::max, target, 3, 1.5f). An index past its end is
    /// ORR_ERR_FIELD.
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
    /// Sends a transaction that calls f: transact(target, [](Giant& g, const Poison& p) { … },
    /// Poison{3}). f must capture nothing. The argument is copied. See orr_transact_call().
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
    /// As above, without an argument.
    template <class F> orr_result transact(orr_entity target, F) const
    {
        using T = typename detail::target<decltype(detail::arguments_of<F>())>::type;
        detail::check_stateless<F>();
        return orr_transact_call(run_, target, type<T>(), 0, detail::transaction_alone<F, T>,
                                 nullptr, 0);
    }
    /// Runs an atomic section: atomic(target, [&](Health& h) { … }). f may capture, because it is
    /// called before this returns. See orr_atomic().
    template <class F> orr_result atomic(orr_entity target, F&& f, orr_component_id id = 0) const
    {
        using plain = std::remove_reference_t<F>;
        using T = typename detail::target<decltype(detail::arguments_of<plain>())>::type;
        void* user = const_cast<void*>(static_cast<const void*>(&f));
        return orr_atomic(run_, target, type<T>(), id, detail::section<plain, T>, user);
    }

    // Events and messages.

    /// Sends an event: orr_send_event_type().
    template <class T> orr_result send(const T& event) const
    {
        return orr_send_event_type(run_, type<T>(), &event);
    }
    /// The events of type T that this system has not received yet: orr_events().
    template <class T> values<const T> events() const
    {
        uint32_t count = 0;
        const void* first = orr_events_type(run_, type<T>(), &count);
        return {static_cast<const T*>(first), count};
    }
    /// The message queue of an indirect system.
    orr::messages messages() const
    {
        return orr::messages(run_);
    }

    // State and exports of the system. NULL if it has none of type T.

    /// The system's state. A parallel system may only read it.
    template <class T> T* state() const
    {
        return static_cast<T*>(orr_run_state(run_, desc<T>()));
    }
    /// The system's exports, for writing: orr_export().
    template <class T> T* exports() const
    {
        return static_cast<T*>(orr_run_export(run_, desc<T>()));
    }
    /// The exports of another system, for reading: orr_import().
    template <class T> const T* imports(const char* system) const
    {
        return static_cast<const T*>(orr_run_import(run_, system, desc<T>()));
    }
    /// The system's settings; the type is not checked.
    template <class T> const T* settings() const
    {
        return static_cast<const T*>(orr_run_settings(run_));
    }
    /// The system's user pointer; the type is not checked.
    template <class T> T* user() const
    {
        return static_cast<T*>(orr_run_user(run_));
    }

  private:
    template <class T> orr_type type() const
    {
        static_assert(detail::has_desc<T>::value, ORR_PP_NO_COMPONENT);
        return orr_type_of(run_->world, detail::find_desc<T>());
    }

    orr_run* run_;
    // Copies of the fields of orr_run: the compiler would reload those for every row, because a
    // store to a column may alias them.
    uint64_t tick_;
    float dt_;
};

} // namespace orr

#endif
