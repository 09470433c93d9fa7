// SPDX-License-Identifier: MIT
// The entries of the table, and the course of a schedule. There is one state per process: fibers
// run on one thread, and their stacks are kept from one exploration to the next.
#include "controlled.h"

#include "controlled_state.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

static controlled controlled_only;

static struct {
    void* variable;
    size_t size;
    char first[THREAD_LOCAL_SIZE];
} controlled_locals[THREAD_LOCALS_MAX];
static uint32_t controlled_local_count;

// ---- switching fibers ---------------------------------------------------------------------------

static void controlled_locals_save(controlled_slot* slot)
{
    for (uint32_t i = 0; i < controlled_local_count; i++) {
        memcpy(slot->locals + (size_t)i * THREAD_LOCAL_SIZE, controlled_locals[i].variable,
               controlled_locals[i].size);
    }
}

static void controlled_locals_load(const controlled_slot* slot)
{
    for (uint32_t i = 0; i < controlled_local_count; i++) {
        memcpy(controlled_locals[i].variable, slot->locals + (size_t)i * THREAD_LOCAL_SIZE,
               controlled_locals[i].size);
    }
}

void controlled_stop(controlled* c, controlled_outcome outcome)
{
    c->result.outcome = outcome;
    if (!c->inside) {
        longjmp(c->host_exit, 1);
    }
    c->slots[c->running].live = true; // Even if it had ended: it never returns from here.
    fiber_switch(&c->slots[c->running].context, &c->host);
    abort();
}

// Ends a step of the running fiber. Returns when the fiber is chosen again.
static void controlled_turn(controlled* c)
{
    uint32_t before = c->running, next = controlled_choose_next(c);
    if (next == before) {
        return;
    }
    controlled_locals_save(&c->slots[before]);
    controlled_locals_load(&c->slots[next]);
    c->slots[next].live = true;
    c->running = next;
    fiber_switch(&c->slots[before].context, &c->slots[next].context);
}

static void controlled_count(controlled* c)
{
    if (++c->points > c->desc.steps_max) {
        controlled_stop(c, CONTROLLED_LIVELOCK);
    }
}

// At its second spin or yield a fiber lets those run first that could have run since the first one.
static void controlled_let_others(controlled* c, controlled_slot* me)
{
    uint32_t bit = controlled_bit(c->running);
    if (me->yielded) {
        me->behind |= me->could_run & ~me->ran & ~bit;
        c->lagging |= me->behind != 0 ? bit : 0;
    }
    me->yielded = true;
    c->yielders |= bit;
    me->could_run = c->ready & ~bit;
    me->ran = 0;
}

// A point inside a spin that continues alone. False: no choice is made here.
static bool controlled_out_point(controlled* c, controlled_slot* me, orr_sched_kind kind)
{
    if (kind == ORR_SCHED_SPIN) {
        me->out_loaded = false;
        if (++me->out_spins > c->desc.spins_max) {
            me->out = false;
            me->endless = true;
            return true;
        }
        return me->out_spins >= me->out_at;
    }
    if (kind == ORR_SCHED_LOAD) {
        me->out_loaded = true;
        return me->out_spins >= me->out_at;
    }
    controlled_choose_learn(c, me);
    me->out = false;
    return true;
}

static void controlled_point(void* user, orr_sched_kind kind, const void* word)
{
    controlled* c = user;
    if (!c->inside) {
        return;
    }
    controlled_slot* me = &c->slots[c->running];
    me->kind = (uint8_t)kind;
    me->word = word;
    controlled_count(c);
    if (me->out && !controlled_out_point(c, me, kind)) {
        return;
    }
    if (kind == ORR_SCHED_SPIN && !me->out) {
        controlled_let_others(c, me);
        c->ready &= ~controlled_bit(c->running);
        c->spinning |= controlled_bit(c->running);
    } else {
        me->endless = false;
    }
    controlled_turn(c);
}

// ---- threads ------------------------------------------------------------------------------------

// Ends a spin that continued alone, for calls that wait and are not points.
static controlled_slot* controlled_place(controlled* c, uint32_t kind, const void* word)
{
    controlled_slot* me = &c->slots[c->running];
    controlled_count(c);
    if (me->out) {
        controlled_choose_learn(c, me);
        me->out = false;
    }
    me->kind = (uint8_t)kind;
    me->word = word;
    return me;
}

static void controlled_done(controlled* c, controlled_slot* me)
{
    uint32_t index = (uint32_t)(me - c->slots), unfinished = 0;
    me->done = true;
    c->ready &= ~controlled_bit(index);
    for (uint32_t i = 0; i < c->slot_count; i++) {
        unfinished += !c->slots[i].done;
        if (c->slots[i].joins1 == index + 1) {
            c->slots[i].joins1 = 0;
            c->ready |= controlled_bit(i);
        }
    }
    if (index == 0 && unfinished > 0) {
        controlled_stop(c, CONTROLLED_RETURNED_EARLY);
    }
    me->live = false;
    if (index == 0) {
        fiber_switch(&me->context, &c->host);
    } else {
        controlled_turn(c);
    }
}

// A fiber is reused in each schedule that has a thread of its number.
static void controlled_run(void* arg)
{
    controlled* c = &controlled_only;
    controlled_slot* me = arg;
    if (me == c->slots) {
        c->desc.body(&c->table, c->desc.arg);
    } else {
        me->run(me->arg);
    }
    controlled_done(c, me);
}

static bool controlled_slot_open(controlled* c, const char* name, void (*run)(void*), void* arg)
{
    controlled_slot* slot = &c->slots[c->slot_count];
    fiber context = slot->context;
    if (context.run == NULL && !fiber_open(&context, c->desc.stack_size, controlled_run, slot)) {
        return false;
    }
    memset(slot, 0, offsetof(controlled_slot, name));
    slot->context = context;
    slot->run = run;
    slot->arg = arg;
    snprintf(slot->name, sizeof slot->name, "%s", name != NULL ? name : "");
    for (uint32_t i = 0; i < controlled_local_count; i++) {
        memcpy(slot->locals + (size_t)i * THREAD_LOCAL_SIZE, controlled_locals[i].first,
               THREAD_LOCAL_SIZE);
    }
    c->ready |= controlled_bit(c->slot_count++);
    return true;
}

static int controlled_thread_create(void* user, const char* name, void (*run)(void* arg), void* arg,
                                    orr_thread* out)
{
    controlled* c = user;
    if (!c->inside || c->slot_count > c->desc.threads_max ||
        !controlled_slot_open(c, name, run, arg)) {
        return EAGAIN;
    }
    out->handle = c->slot_count - 1;
    return 0;
}

static void controlled_thread_join(void* user, orr_thread thread)
{
    controlled* c = user;
    controlled_check(c->inside && thread.handle > 0 && thread.handle < c->slot_count,
                     "no such thread: %llu", (unsigned long long)thread.handle);
    if (c->slots[thread.handle].done) {
        return;
    }
    controlled_slot* me = controlled_place(c, PLACE_JOIN, NULL);
    me->joins1 = (uint32_t)thread.handle + 1;
    c->ready &= ~controlled_bit(c->running);
    controlled_turn(c);
}

static void controlled_thread_yield(void* user)
{
    controlled* c = user;
    if (c->inside) {
        controlled_let_others(c, controlled_place(c, PLACE_YIELD, NULL));
        controlled_turn(c);
    }
}

static uint32_t controlled_thread_cores(void* user)
{
    const controlled* c = user;
    return c->desc.cores;
}

// ---- sleep and time -----------------------------------------------------------------------------

static void controlled_until(controlled* c, controlled_slot* me, uint64_t duration_ns)
{
    if (duration_ns != UINT64_MAX) {
        me->deadline_ns = c->now_ns + duration_ns;
        c->timed |= controlled_bit(c->running);
    }
}

static void controlled_thread_wait(void* user, void* word, uint32_t expected, uint64_t timeout_ns)
{
    controlled* c = user;
    if (!c->inside) {
        return;
    }
    controlled_slot* me = controlled_place(c, PLACE_THREAD_WAIT, word);
    if (__atomic_load_n((const uint32_t*)word, __ATOMIC_SEQ_CST) != expected) {
        return;
    }
    me->expected = expected;
    me->sleep_order = c->sleeps++;
    c->ready &= ~controlled_bit(c->running);
    c->asleep |= controlled_bit(c->running);
    controlled_until(c, me, timeout_ns);
    controlled_turn(c);
}

static uint32_t controlled_sleepers_of(const controlled* c, const void* word)
{
    uint32_t sleepers = 0;
    for (uint32_t left = c->asleep; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        sleepers |= c->slots[i].word == word ? controlled_bit(i) : 0;
    }
    return sleepers;
}

static void controlled_thread_wake(void* user, void* word, uint32_t count)
{
    controlled* c = user;
    uint32_t sleepers = c->inside ? controlled_sleepers_of(c, word) : 0;
    for (uint32_t i = 0; i < count && sleepers != 0; i++) {
        // Waking all leaves no choice; an order would make equal schedules look different.
        bool all = count - i >= (uint32_t)__builtin_popcount(sleepers);
        uint32_t woken = controlled_choose_woken(c, all ? sleepers & (0 - sleepers) : sleepers);
        sleepers &= ~controlled_bit(woken);
        c->asleep &= ~controlled_bit(woken);
        c->timed &= ~controlled_bit(woken);
        c->ready |= controlled_bit(woken);
    }
}

static uint64_t controlled_clock_ns(void* user)
{
    controlled* c = user;
    return c->now_ns += c->desc.clock_step_ns;
}

static void controlled_sleep_ns(void* user, uint64_t duration_ns)
{
    controlled* c = user;
    if (c->inside) {
        controlled_slot* me = controlled_place(c, PLACE_SLEEP_NS, NULL);
        c->ready &= ~controlled_bit(c->running);
        controlled_until(c, me, duration_ns);
        controlled_turn(c);
    }
}

// ---- inside bodies ------------------------------------------------------------------------------

void controlled_fail(const char* file, int line, const char* condition, const char* format, ...)
{
    controlled* c = &controlled_only;
    int size =
        snprintf(c->message, sizeof c->message, "%s:%d: %s is false: ", file, line, condition);
    if (size >= 0 && (size_t)size < sizeof c->message) {
        va_list args;
        va_start(args, format);
        vsnprintf(c->message + size, sizeof c->message - (size_t)size, format, args);
        va_end(args);
    }
    if (!c->exploring) {
        test_fail(file, line, "%s", c->message);
    }
    controlled_stop(c, CONTROLLED_CHECK_FAILED);
}

static void controlled_assert(const char* condition, const char* file, int line,
                              const char* function)
{
    controlled_fail(file, line, condition, "assertion in %s", function);
}

orr_thread controlled_start(const orr_platform* platform, const char* name, void (*run)(void* arg),
                            void* arg)
{
    orr_thread thread = {0};
    int error = platform->thread_create(platform->user, name, run, arg, &thread);
    controlled_check(error == 0, "no thread \"%s\": error %d", name, error);
    return thread;
}

void controlled_join(const orr_platform* platform, orr_thread thread)
{
    platform->thread_join(platform->user, thread);
}

void controlled_name_at(const void* word, const char* name, uint32_t index)
{
    controlled* c = &controlled_only;
    if (c->name_count < NAMES_MAX) {
        c->names[c->name_count].word = word;
        c->names[c->name_count].name = name;
        c->names[c->name_count++].index = index;
    }
}

void controlled_name(const void* word, const char* name)
{
    controlled_name_at(word, name, UINT32_MAX);
}

uint32_t controlled_self(void)
{
    return controlled_only.running;
}

uint32_t controlled_sleepers(const void* word)
{
    return (uint32_t)__builtin_popcount(controlled_sleepers_of(&controlled_only, word));
}

void controlled_thread_local(void* variable, size_t size)
{
    uint32_t i = 0;
    while (i < controlled_local_count && controlled_locals[i].variable != variable) {
        i++;
    }
    CHECK(i < THREAD_LOCALS_MAX && size <= THREAD_LOCAL_SIZE);
    controlled_locals[i].variable = variable;
    controlled_locals[i].size = size;
    memcpy(controlled_locals[i].first, variable, size);
    controlled_local_count += i == controlled_local_count;
}

// ---- one schedule -------------------------------------------------------------------------------

static void controlled_begin(controlled* c)
{
    c->slot_count = c->running = 0;
    c->ready = c->spinning = c->asleep = c->timed = 0;
    c->yielders = c->lagging = 0;
    c->preemptions = c->spurious = c->timeouts = 0;
    c->points = c->sleeps = c->now_ns = 0;
    controlled_choose_begin(c); // Uses the length of the last schedule.
    c->step_count = c->name_count = 0;
    c->message[0] = 0;
    if (!controlled_slot_open(c, "body", NULL, NULL)) {
        abort();
    }
    c->slots[0].live = true;
}

// Abandons the fibers that have not ended. Texts need them, so texts are made before.
static void controlled_abandon(controlled* c)
{
    for (uint32_t i = 0; i < c->slot_count; i++) {
        if (c->slots[i].live) {
            fiber_abandon(&c->host, &c->slots[i].context);
        }
    }
}

// The checks after the body returned, on the stack of the caller.
static void controlled_check_end(controlled* c)
{
    if (setjmp(c->host_exit) != 0) {
        return;
    }
    if (c->desc.check != NULL) {
        c->desc.check(c->desc.arg);
    }
    size_t count = 0, size = controlled_memory_held(c, &count);
    if (count > 0 && !c->desc.leaks_allowed) {
        snprintf(c->message, sizeof c->message, "%zu bytes in %zu blocks", size, count);
        controlled_stop(c, CONTROLLED_LEAK);
    }
}

static bool controlled_schedule(controlled* c)
{
    controlled_slot kept = {0};
    controlled_begin(c);
    controlled_locals_save(&kept);
    controlled_locals_load(&c->slots[0]);
    c->inside = true;
    fiber_switch(&c->host, &c->slots[0].context);
    c->inside = false;
    controlled_locals_load(&kept);
    if (c->result.outcome == CONTROLLED_PASSED) {
        controlled_check_end(c);
    }
    c->result.schedules++;
    c->result.points += c->points;
    if (c->result.outcome != CONTROLLED_PASSED) {
        controlled_text_choices(c);
        controlled_text_failure(c);
        controlled_abandon(c);
    }
    controlled_memory_reset(c);
    return c->result.outcome == CONTROLLED_PASSED;
}

// ---- all schedules ------------------------------------------------------------------------------

bool controlled_available(void)
{
    return fiber_available();
}

static size_t controlled_stack_size(void)
{
    return test_slow() ? (size_t)1 << 20 : (size_t)1 << 18;
}

#define CONTROLLED_DEFAULT(field, value) (d->field = d->field != 0 ? d->field : (value))

static void controlled_defaults(controlled_desc* d)
{
    CONTROLLED_DEFAULT(preemptions_max, 2);
    if (d->preemptions_max == CONTROLLED_NO_PREEMPTION) {
        d->preemptions_max = 0;
    }
    bool random = d->strategy != CONTROLLED_DEPTH_FIRST;
    CONTROLLED_DEFAULT(schedules_max, random ? 10000 : UINT64_MAX);
    if (random) {
        CONTROLLED_DEFAULT(seed, test_seed());
    }
    CONTROLLED_DEFAULT(change_points, 3);
    CONTROLLED_DEFAULT(steps_max, 20000);
    CONTROLLED_DEFAULT(spins_max, 1000);
    CONTROLLED_DEFAULT(threads_max, CONTROLLED_FIBERS_MAX - 1);
    CONTROLLED_DEFAULT(cores, 2);
    CONTROLLED_DEFAULT(clock_step_ns, 1000);
    if (d->clock_step_ns == CONTROLLED_CLOCK_STANDS) {
        d->clock_step_ns = 0;
    }
    CONTROLLED_DEFAULT(stack_size, controlled_stack_size());
    d->base = d->base != NULL ? d->base : orr_platform_default();
    CHECK(d->name != NULL && d->body != NULL);
    CHECK(d->change_points <= 32 && d->threads_max < CONTROLLED_FIBERS_MAX);
    CHECK(d->spins_max < OUT_NEVER);
}

#undef CONTROLLED_DEFAULT

static void controlled_table_make(controlled* c)
{
    c->table = *c->desc.base;
    c->table.user = c;
    c->table.memory_alloc = controlled_memory_alloc;
    c->table.memory_free = controlled_memory_free;
    c->table.clock_ns = controlled_clock_ns;
    c->table.sleep_ns = controlled_sleep_ns;
    c->table.thread_create = controlled_thread_create;
    c->table.thread_join = controlled_thread_join;
    c->table.thread_yield = controlled_thread_yield;
    c->table.thread_cores = controlled_thread_cores;
    c->table.thread_wait = controlled_thread_wait;
    c->table.thread_wake = controlled_thread_wake;
    c->table.sched_point = controlled_point;
}

// Stacks of another size are allocated again.
static void controlled_stacks_fit(controlled* c)
{
    for (uint32_t i = 0; i < CONTROLLED_FIBERS_MAX; i++) {
        fiber* context = &c->slots[i].context;
        if (context->run != NULL && context->stack_size < c->desc.stack_size) {
            fiber_abandon(&c->host, context);
            fiber_close(context);
        }
    }
}

// The choices to replay: those of the desc, or of the environment variable if it names this desc.
static const char* controlled_given(const controlled_desc* desc)
{
    const char* given = getenv("ORR_SCHEDULE");
    size_t size = strlen(desc->name);
    if (given != NULL && strncmp(given, desc->name, size) == 0 && given[size] == ':') {
        return given + size + 1;
    }
    return desc->choices;
}

// A CHECK inside a body jumped off its fiber, and the test has failed: the next test begins with
// new stacks.
static void controlled_recover(controlled* c)
{
    const char* here = __builtin_frame_address(0);
    const fiber* on = &c->slots[c->running].context;
    CHECK(here < on->stack || here >= on->stack + on->stack_size); // Not from a body.
    for (uint32_t i = 0; i < CONTROLLED_FIBERS_MAX; i++) {
        memset(&c->slots[i].context, 0, sizeof c->slots[i].context);
    }
    c->inside = false;
    controlled_memory_reset(c);
}

static void controlled_open(controlled* c, const controlled_desc* desc)
{
    controlled_choose_forget(c);
    c->desc = *desc;
    controlled_defaults(&c->desc);
    const char* given = controlled_given(&c->desc);
    bool parsed = given == NULL || controlled_text_parse(c, given);
    CHECK(parsed && "choices of a schedule");
    c->steps_room = c->desc.steps_max * 2 + 64;
    c->steps = realloc(c->steps, c->steps_room * sizeof *c->steps);
    c->failure = realloc(c->failure, FAILURE_SIZE);
    c->choices = realloc(c->choices, FAILURE_SIZE);
    CHECK(c->steps != NULL && c->failure != NULL && c->choices != NULL);
    c->failure[0] = c->choices[0] = 0;
    c->result = (controlled_result){.failure = c->failure, .choices = c->choices};
    c->schedule = 0;
    controlled_table_make(c);
    if (!c->host_known) {
        fiber_adopt(&c->host);
        c->host_known = true;
    }
    controlled_stacks_fit(c);
}

controlled_result controlled_explore(const controlled_desc* desc)
{
    controlled* c = &controlled_only;
    if (!controlled_available()) {
        test_skip("no fibers on this platform");
    }
    if (c->inside) {
        controlled_recover(c);
    }
    controlled_open(c, desc);
    orr_assert_handler before = orr_assert_handler_set(controlled_assert);
    c->exploring = true;
    while (controlled_schedule(c) && controlled_choose_end(c) &&
           c->result.schedules < c->desc.schedules_max) {
        c->schedule++;
    }
    c->exploring = false;
    orr_assert_handler_set(before);
    if (c->result.outcome == CONTROLLED_PASSED) {
        controlled_text_choices(c);
    } else {
        controlled_choose_end(c);
        c->result.exhausted = false;
    }
    return c->result;
}

controlled_result controlled_pass(const char* file, int line, controlled_result result)
{
    if (result.outcome != CONTROLLED_PASSED) {
        test_fail(file, line, "%s", result.failure);
    }
    return result;
}
