// SPDX-License-Identifier: MIT
// Fibers with a switch in assembly, because swapcontext makes a system call for the signal mask
// each time, and a search through ten million schedules switches a billion times.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS. Only works before the first include.
#include "fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__wasm__)
#define FIBER_NONE
#elif defined(FIBER_UCONTEXT)
#elif defined(__x86_64__) && defined(__linux__)
#define FIBER_X86
#elif defined(__aarch64__) && defined(__linux__)
#define FIBER_ARM
#else
#define FIBER_UCONTEXT
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN
#endif
#if __has_feature(thread_sanitizer)
#define FIBER_TSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(FIBER_ASAN)
#define FIBER_ASAN
#endif
#if defined(__SANITIZE_THREAD__) && !defined(FIBER_TSAN)
#define FIBER_TSAN
#endif

#ifdef FIBER_NONE

bool fiber_available(void)
{
    return false;
}

void fiber_adopt(fiber* self)
{
    (void)self;
}

bool fiber_open(fiber* self, size_t stack_size, void (*run)(void* arg), void* arg)
{
    (void)self, (void)stack_size, (void)run, (void)arg;
    return false;
}

void fiber_close(fiber* self)
{
    (void)self;
}

void fiber_switch(fiber* from, fiber* to)
{
    (void)from, (void)to;
}

void fiber_abandon(fiber* host, fiber* self)
{
    (void)host, (void)self;
}

#else

#include <sys/mman.h>
#include <unistd.h>
#ifdef FIBER_UCONTEXT
#include <ucontext.h>
#endif

// ---- calls for sanitizers -----------------------------------------------------------------------

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FIBER_TSAN
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* race_state);
void __tsan_switch_to_fiber(void* race_state, unsigned flags);
#endif

// `keep` is NULL if the frames left behind will never be returned to.
static void fiber_leave(void** keep, fiber* to)
{
    (void)keep, (void)to;
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(keep, to->stack, to->stack_size);
#endif
#ifdef FIBER_TSAN
    __tsan_switch_to_fiber(to->race_state, 0);
#endif
}

// `from` is the fiber that switched here. The bounds of the thread's own stack become known when it
// is left.
static void fiber_arrive(fiber* self, fiber* from)
{
    (void)self, (void)from;
#ifdef FIBER_ASAN
    const void* bottom = NULL;
    size_t size = 0;
    __sanitizer_finish_switch_fiber(self->fake_stack, &bottom, &size);
    if (from->stack_size == 0) {
        memcpy(&from->stack, &bottom, sizeof bottom);
        from->stack_size = size;
    }
#endif
}

static void fiber_race_renew(fiber* self)
{
    (void)self;
#ifdef FIBER_TSAN
    if (self->race_state != NULL) {
        __tsan_destroy_fiber(self->race_state);
    }
    self->race_state = __tsan_create_fiber(0);
#endif
}

// ---- starting a fiber ---------------------------------------------------------------------------

static fiber *fiber_to, *fiber_from; // Of the current switch: no argument survives a new stack.

// A function that changed the rounding or denormal mode must not pass it on to the next run.
static void fiber_float_reset(void)
{
#if defined(__x86_64__)
    static const uint32_t mxcsr = 0x1F80;
    static const uint16_t x87 = 0x037F;
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87));
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, xzr");
#endif
}

static void fiber_main(void)
{
    fiber* self = fiber_to;
    self->begun = true;
    fiber_arrive(self, fiber_from);
    for (;;) {
        fiber_float_reset();
        self->run(self->arg);
    }
}

// ---- the switch ---------------------------------------------------------------------------------

#ifdef FIBER_X86

void fiber_swap(void** save, void* load);
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".globl fiber_swap\n"
        ".hidden fiber_swap\n"
        ".type fiber_swap, @function\n"
        "fiber_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    subq $8, %rsp\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "    addq $8, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fiber_swap, . - fiber_swap\n"
        ".popsection\n");

// The frame that fiber_swap pops: float modes, six registers, and fiber_main as the return address.
static void fiber_prepare(fiber* self)
{
    uintptr_t* top = (uintptr_t*)(void*)(self->stack + self->stack_size) - 2;
    memset(top - 7, 0, 9 * sizeof *top);
    top[0] = (uintptr_t)fiber_main;
    top[-7] = 0x1F80u | (uintptr_t)0x037F << 32;
    self->stack_pointer = top - 7;
}

#elif defined(FIBER_ARM)

void fiber_swap(void** save, void* load);
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".globl fiber_swap\n"
        ".hidden fiber_swap\n"
        ".type fiber_swap, %function\n"
        "fiber_swap:\n"
        "    sub sp, sp, #176\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mrs x9, fpcr\n"
        "    str x9, [sp, #160]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldr x9, [sp, #160]\n"
        "    msr fpcr, x9\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #176\n"
        "    ret\n"
        ".size fiber_swap, . - fiber_swap\n"
        ".popsection\n");

// The frame that fiber_swap reads, with fiber_main as the return address (x30).
static void fiber_prepare(fiber* self)
{
    uint64_t* frame = (uint64_t*)(void*)(self->stack + self->stack_size) - 24;
    memset(frame, 0, 24 * sizeof *frame);
    frame[11] = (uint64_t)(uintptr_t)fiber_main;
    self->stack_pointer = frame;
}

#else

static void fiber_prepare(fiber* self)
{
    ucontext_t* context = self->context;
    getcontext(context);
    context->uc_stack.ss_sp = self->stack;
    context->uc_stack.ss_size = self->stack_size;
    context->uc_link = NULL;
    makecontext(context, fiber_main, 0);
}

#endif

static void fiber_swap_to(fiber* from, fiber* to)
{
#ifdef FIBER_UCONTEXT
    swapcontext(from->context, to->context);
#else
    fiber_swap(&from->stack_pointer, to->stack_pointer);
#endif
}

// ---- fibers -------------------------------------------------------------------------------------

bool fiber_available(void)
{
    return true;
}

static bool fiber_context_make(fiber* self)
{
#ifdef FIBER_UCONTEXT
    self->context = calloc(1, sizeof(ucontext_t));
    return self->context != NULL;
#else
    (void)self;
    return true;
#endif
}

void fiber_adopt(fiber* self)
{
    if (!fiber_context_make(self)) {
        abort();
    }
#ifdef FIBER_TSAN
    self->race_state = __tsan_get_current_fiber();
#endif
}

static size_t fiber_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

bool fiber_open(fiber* self, size_t stack_size, void (*run)(void* arg), void* arg)
{
    size_t page = fiber_page_size();
    stack_size = (stack_size + page - 1) / page * page;
    char* memory =
        mmap(NULL, stack_size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    self->stack = memory + page;
    self->stack_size = stack_size;
    self->run = run;
    self->arg = arg;
    if (mprotect(memory, page, PROT_NONE) != 0 || !fiber_context_make(self)) {
        munmap(memory, stack_size + page);
        return false;
    }
    fiber_race_renew(self);
    fiber_prepare(self);
    return true;
}

void fiber_close(fiber* self)
{
    if (self->run != NULL) {
        munmap(self->stack - fiber_page_size(), self->stack_size + fiber_page_size());
#ifdef FIBER_TSAN
        __tsan_destroy_fiber(self->race_state);
#endif
    }
    free(self->context);
    memset(self, 0, sizeof *self);
}

void fiber_switch(fiber* from, fiber* to)
{
    fiber_to = to;
    fiber_from = from;
    fiber_leave(&from->fake_stack, to);
    fiber_swap_to(from, to);
    fiber_arrive(from, fiber_from);
    if (from->dying) {
        // Final: ASan frees its copy of these frames; the fiber is never resumed.
        fiber_to = fiber_from;
        fiber_from = from;
        fiber_leave(NULL, fiber_to);
        fiber_swap_to(from, fiber_to);
    }
}

void fiber_abandon(fiber* host, fiber* self)
{
    if (!self->begun) {
        return;
    }
    self->dying = true;
    fiber_switch(host, self);
    self->begun = self->dying = false;
    self->fake_stack = NULL;
#ifdef FIBER_ASAN
    __asan_unpoison_memory_region(self->stack, self->stack_size);
#endif
    fiber_race_renew(self);
    fiber_prepare(self);
}

#endif
