// SPDX-License-Identifier: MIT
// Shared by the tests of the store: component types of every shape, a type with counting hooks, and
// a world whose memory is checked and whose errors are stored instead of printed.
#ifndef TEST_STORE_KIT_H
#define TEST_STORE_KIT_H

#include "support/failing_alloc.h"
#include <orrery/store.h>

// ---- types of every shape -----------------------------------------------------------------------

ORR_STRUCT(Position, (float, x), (float, y), (float, z)) // 12 bytes, no power of two
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_STRUCT(Health, (int32_t, value, (.preset = "100")), (int32_t, armour))
ORR_STRUCT(Padded, (uint8_t, a), (double, b), (uint16_t, c)) // 13 bytes of 24 are padding
ORR_STRUCT(Big, (uint64_t, words, 30))                       // 240 bytes
ORR_STRUCT(Tiny, (uint8_t, value))
ORR_STRUCT(Link, (orr_entity, target), (uint32_t, weight))
ORR_STRUCT(Label, (orr_string, text), (int32_t, number))
ORR_STRUCT(List, (orr_array, numbers, (.element = ORR_TYPE(int32_t))))
ORR_STRUCT(Crowd, (orr_array, members, (.element = ORR_TYPE(orr_entity))))
ORR_MARKER(Frozen)
ORR_MARKER(Hidden)

// ---- a type with hooks that count ---------------------------------------------------------------

// Every live value has a slot in a register that knows the address of the value. A value that is
// destructed twice, moved without the hook, or left behind no longer agrees with its slot. Slot and
// stamp are not part of the value: the codec compares and hashes the payload alone.
typedef struct TokenCell {
    uint32_t payload, slot, stamp, magic;
} TokenCell;

extern const orr_type_desc orr_desc_TokenCell;
ORR_DESCRIBED(TokenCell)
extern const orr_hooks kit_token_hooks;

ORR_STRUCT_EX(Token, (.hooks = &kit_token_hooks), (TokenCell, cell))

typedef struct kit_token_register {
    uint64_t constructs, copies, moves, destructs; // Rows, not calls.
    uint64_t construct_calls, copy_calls, move_calls, destruct_calls;
    uint64_t live;
    uint64_t broken;        // Values that did not agree with their slot.
    uint32_t refuse_after;  // Refuse construct and copy after this many more calls; 0: never.
    uint32_t payload_fresh; // The payload that construct sets.
} kit_token_register;

extern kit_token_register kit_tokens;

void kit_tokens_reset(void);
// A value to pass to a set call: it has no slot; copying it gives the copy one.
Token kit_token(uint32_t payload);
// True if the value is at the address in the register.
bool kit_token_sound(const Token* token);
// How often the value at this address was moved since it was constructed.
uint32_t kit_token_moves(const Token* token);

// ---- a world under test -------------------------------------------------------------------------

typedef struct kit_errors {
    uint32_t count;
    orr_result result;
    orr_log_id id;
    char text[512];
} kit_errors;

typedef struct kit {
    orr_world* world;
    failing_alloc memory;
    kit_errors errors;
} kit;

void kit_on_error(void* user, orr_world* world, const orr_error* error);
// A world with the kit's allocator and error handler; `desc` adds the rest and may be NULL. Fresh
// memory is filled with memory.fresh_byte (0: 0xAA), except under MSan, which finds more without
// filling.
orr_world* kit_begin(kit* k, const orr_world_desc* desc);
// Validates and destroys the world, and checks that all memory was freed with the right sizes and
// that no token is left.
void kit_end(kit* k);
// The cluster of some types, created if missing.
orr_cluster kit_cluster(orr_world* world, const orr_type* types, uint32_t type_count,
                        const orr_tag* tags, uint32_t tag_count);
uint32_t kit_rows(const orr_world* world, orr_cluster cluster);
orr_cluster_info kit_info(const orr_world* world, orr_cluster cluster);

#define KIT_TYPE(world, type) orr_type_of(world, ORR_TYPE(type))
#define KIT_CLUSTER(world, ...)                                                             \
    kit_cluster(world, (const orr_type[]){ORR_PP_EACH(ORR_PP_TYPE_OF, world, __VA_ARGS__)}, \
                ORR_PP_ITEMS(__VA_ARGS__), NULL, 0)

#endif
