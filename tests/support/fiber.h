// SPDX-License-Identifier: MIT
// Fibers: stacks that one thread runs alternately. A fiber is opened once and runs its function
// again and again: when the function returns, it is called again, so a finished function switches
// away first. A switch takes a few instructions on x86-64 and aarch64, and two system calls where
// only ucontext is available. Rounding and denormal mode belong to the fiber. ASan and TSan are
// informed of switches.
#ifndef ORR_FIBER_H
#define ORR_FIBER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fiber {
    void* stack_pointer; // While the fiber does not run.
    void (*run)(void* arg);
    void* arg;
    char* stack; // NULL: the stack of the thread itself.
    size_t stack_size;
    void* fake_stack; // ASan's copy of the frames.
    void* race_state; // TSan's.
    void* context;    // For ucontext.
    bool begun, dying;
} fiber;

// False where stacks cannot be switched (wasm).
bool fiber_available(void);

// Describes the running thread, so that it can be switched from and back to. `self` is zeroed.
void fiber_adopt(fiber* self);
// Allocates a stack with a guard page below it. `self` is zeroed. False: no memory.
bool fiber_open(fiber* self, size_t stack_size, void (*run)(void* arg), void* arg);
// Frees everything. The fiber must not be running.
void fiber_close(fiber* self);

// Leaves `from`, which is running, and returns when another fiber switches back to it.
void fiber_switch(fiber* from, fiber* to);
// Abandons the fiber's current call, wherever it is. The fiber can be switched to again and starts
// its function from the beginning.
void fiber_abandon(fiber* host, fiber* self);

#endif
