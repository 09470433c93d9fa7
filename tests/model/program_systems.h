// SPDX-License-Identifier: MIT
// Shared by the systems of random programs: random numbers, sends that are repeated if memory is
// refused, values.
#ifndef TEST_PROGRAM_SYSTEMS_H
#define TEST_PROGRAM_SYSTEMS_H

#include "model/program.h"
#include "test.h"

static inline const program_system* self(const orr_run* run)
{
    return ((const program_settings*)orr_run_settings(run))->system;
}

static inline orr_rng rng_of(const orr_run* run, orr_entity entity)
{
    orr_rng rng = orr_run_rng(run, entity);
    rng.first ^= self(run)->salt;
    return rng;
}

static inline uint32_t roll(orr_rng* rng, uint32_t count)
{
    return (uint32_t)orr_rng_below(rng, count);
}

// The caller declared the send: nothing but memory may refuse it. A system whose command buffer was
// refused can send nothing, however often it tries.
static inline void sent(const orr_run* run, orr_result result, const char* call)
{
    if (result == ORR_ERR_MEMORY) {
        atomic_fetch_add(&program_missing, 1);
    } else if (result != ORR_OK) {
        program_fault("%s in system '%s' is %s", call,
                      orr_system_name(run->world, orr_run_self(run)), orr_result_name(result));
    }
}

#define SEND(run, call)                      \
    do {                                     \
        orr_result send_result = (call);     \
        if (send_result == ORR_ERR_MEMORY) { \
            send_result = (call);            \
        }                                    \
        sent(run, send_result, #call);       \
    } while (0)

// For a call with random arguments: the second call has the same.
#define SEND_RANDOM(run, rng, call)          \
    do {                                     \
        orr_rng send_rng = *(rng);           \
        orr_result send_result = (call);     \
        if (send_result == ORR_ERR_MEMORY) { \
            *(rng) = send_rng;               \
            send_result = (call);            \
        }                                    \
        sent(run, send_result, #call);       \
    } while (0)

static inline orr_type type_of(const orr_run* run, const orr_type_desc* desc)
{
    return orr_type_of(run->world, desc);
}

#define TYPE(run, type) type_of(run, ORR_TYPE(type))

static inline orr_string string_make(orr_world* world, const char* text)
{
    orr_string made = orr_string_make(world, text);
    return made.id != 0 ? made : orr_string_make(world, text);
}

static inline orr_array array_make(orr_world* world, const uint32_t* values, uint32_t count)
{
    orr_array made = orr_array_make(world, values, count, sizeof *values);
    return made.id != 0 ? made : orr_array_make(world, values, count, sizeof *values);
}

static inline Note note_make(orr_world* world, uint32_t number)
{
    char text[40];
    uint32_t numbers[3] = {number, number / 2, 7};
    snprintf(text, sizeof text, "the note with number %u", number);
    return (Note){string_make(world, text), array_make(world, numbers, 1 + number % 3), number};
}

// ---- program_systems_send.c ---------------------------------------------------------------------

void program_systems_send_prepare(program_run* r);
void program_run_stir(orr_run* run);
void program_run_kinship(orr_run* run);
void program_run_ping(orr_run* run);
void program_run_pong(orr_run* run);
void program_run_trade(orr_run* run);
void program_run_sum(orr_run* run);
void program_run_wind(orr_run* run);
void program_run_echo(orr_run* run);
void program_run_give(orr_run* run);
void program_run_toggle(orr_run* run);
void program_run_trespass(orr_run* run);
void program_run_glow(orr_run* run);
void program_run_mine(orr_run* run);
void program_run_dig(orr_run* run);
void program_run_paint(orr_run* run);
void program_sum_combine(void* into, const void* part);
void program_echo_start(orr_run* run);
void program_echo_stop(orr_run* run);

#endif
