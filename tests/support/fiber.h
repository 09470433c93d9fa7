// SPDX-License-Identifier: MIT
// Stacks that one thread runs in turns. A fiber is opened once and runs its function again and again: when
// the function returns, it is called anew, so a function that is done switches away first. Switching is a
// few instructions on x86-64 and aarch64, two system calls where only ucontext is to be had. Rounding and
// denormal mode belong to the fiber. Known to ASan and TSan.
#ifndef ORR_FIBER_H
#define ORR_FIBER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fiber {
    void* stack_pointer; // While it does not run.
    void (*run)(void* arg);
    void* arg;
    char* stack; // NULL: the stack of the thread itself.
    size_t stack_size;
    void* fake_stack; // ASan's copy of the frames.
    void* race_state; // TSan's.
    void* context;    // Of ucontext.
    bool begun, dying;
} fiber;

// False where there is no way to switch stacks (wasm).
bool fiber_available(void);

// Describes the running thread, so that it can be switched from and back to. `self` is zeroed.
void fiber_adopt(fiber* self);
// Makes a stack with a page below it that must not be touched. `self` is zeroed. False: no memory.
bool fiber_open(fiber* self, size_t stack_size, void (*run)(void* arg), void* arg);
// Gives all back. The fiber is not running.
void fiber_close(fiber* self);

// Leaves `from`, which is running, and returns when somebody switches to it again.
void fiber_switch(fiber* from, fiber* to);
// Drops what the fiber was doing, wherever it stood. It can be switched to again and starts from the top.
void fiber_abandon(fiber* host, fiber* self);

#endif
