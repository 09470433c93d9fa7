// SPDX-License-Identifier: MIT
#include "support/store_kit.h"

#include "test.h"

#include <stdlib.h>

// ---- tokens -------------------------------------------------------------------------------------

#define TOKEN_MAGIC 0x70CE4A11u

typedef struct kit_token_slot {
    const void* at;
    uint32_t stamp, moves;
    bool alive;
} kit_token_slot;

kit_token_register kit_tokens;
static kit_token_slot* token_slots;
static uint32_t* token_free;
static uint32_t token_slot_count, token_slot_capacity, token_free_count, token_stamp;

void kit_tokens_reset(void)
{
    kit_tokens = (kit_token_register){0};
    token_slot_count = token_free_count = 0;
}

static void kit_token_enter(TokenCell* cell, uint32_t payload)
{
    if (token_free_count == 0 && token_slot_count == token_slot_capacity) {
        token_slot_capacity = token_slot_capacity != 0 ? token_slot_capacity * 2 : 1024;
        token_slots = realloc(token_slots, sizeof *token_slots * token_slot_capacity);
        token_free = realloc(token_free, sizeof *token_free * token_slot_capacity);
        if (token_slots == NULL || token_free == NULL) {
            abort();
        }
    }
    uint32_t slot = token_free_count > 0 ? token_free[--token_free_count] : token_slot_count++;
    token_slots[slot] = (kit_token_slot){.at = cell, .stamp = ++token_stamp, .alive = true};
    *cell = (TokenCell){payload, slot, token_stamp, TOKEN_MAGIC};
    kit_tokens.live++;
}

static bool kit_cell_valid(const TokenCell* cell)
{
    return cell->magic == TOKEN_MAGIC && cell->slot < token_slot_count &&
           token_slots[cell->slot].alive && token_slots[cell->slot].at == cell &&
           token_slots[cell->slot].stamp == cell->stamp;
}

bool kit_token_sound(const Token* token)
{
    return kit_cell_valid(&token->cell);
}

uint32_t kit_token_moves(const Token* token)
{
    CHECK(kit_token_sound(token));
    return token_slots[token->cell.slot].moves;
}

Token kit_token(uint32_t payload)
{
    return (Token){{payload, 0, 0, TOKEN_MAGIC}};
}

static bool kit_token_refuses(void)
{
    return kit_tokens.refuse_after > 0 && --kit_tokens.refuse_after == 0;
}

static bool kit_token_construct(void* user, void* rows, uint32_t count)
{
    (void)user;
    if (kit_token_refuses()) {
        return false;
    }
    kit_tokens.construct_calls++;
    kit_tokens.constructs += count;
    for (uint32_t i = 0; i < count; i++) {
        kit_token_enter((TokenCell*)rows + i, kit_tokens.payload_fresh);
    }
    return true;
}

static void kit_token_destruct(void* user, void* rows, uint32_t count)
{
    (void)user;
    kit_tokens.destruct_calls++;
    kit_tokens.destructs += count;
    for (uint32_t i = 0; i < count; i++) {
        TokenCell* cell = (TokenCell*)rows + i;
        if (!kit_cell_valid(cell)) {
            kit_tokens.broken++;
            continue;
        }
        token_slots[cell->slot].alive = false;
        token_free[token_free_count++] = cell->slot;
        kit_tokens.live--;
        memset(cell, 0xDD, sizeof *cell);
    }
}

static void kit_token_move(void* user, void* to, void* from, uint32_t count)
{
    (void)user;
    kit_tokens.move_calls++;
    kit_tokens.moves += count;
    for (uint32_t i = 0; i < count; i++) {
        TokenCell *target = (TokenCell*)to + i, *source = (TokenCell*)from + i;
        if (!kit_cell_valid(source)) {
            kit_tokens.broken++;
            continue;
        }
        *target = *source;
        token_slots[target->slot].at = target;
        token_slots[target->slot].moves++;
        memset(source, 0xDD, sizeof *source);
    }
}

static bool kit_token_copy(void* user, void* to, const void* from, uint32_t count)
{
    (void)user;
    if (kit_token_refuses()) {
        return false;
    }
    kit_tokens.copy_calls++;
    kit_tokens.copies += count;
    for (uint32_t i = 0; i < count; i++) {
        const TokenCell* source = (const TokenCell*)from + i;
        // From outside (no stamp) or from a live value; anything else is a value that was left
        // behind.
        kit_tokens.broken += source->magic != TOKEN_MAGIC ||
                             (source->stamp != 0 && !kit_cell_valid(source));
        kit_token_enter((TokenCell*)to + i, source->payload);
    }
    return true;
}

static size_t kit_token_print(void* user, const void* value, char* out, size_t out_size)
{
    (void)user;
    return (size_t)snprintf(out, out_size, "%" PRIu32, ((const TokenCell*)value)->payload);
}

static bool kit_token_parse(void* user, const char* text, void* out)
{
    (void)user;
    *(TokenCell*)out = kit_token((uint32_t)strtoul(text, NULL, 10)).cell;
    return true;
}

static int kit_token_compare(void* user, const void* a, const void* b)
{
    (void)user;
    uint32_t x = ((const TokenCell*)a)->payload, y = ((const TokenCell*)b)->payload;
    return (x > y) - (x < y);
}

static uint64_t kit_token_hash(void* user, const void* value)
{
    (void)user;
    return ((const TokenCell*)value)->payload;
}

static const orr_codec kit_token_codec = {kit_token_print, kit_token_parse, kit_token_compare,
                                          kit_token_hash, NULL};

const orr_type_desc orr_desc_TokenCell = {.name = "TokenCell",
                                          .kind = ORR_KIND_OPAQUE,
                                          .size = sizeof(TokenCell),
                                          .align = _Alignof(TokenCell),
                                          .codec = &kit_token_codec};

const orr_hooks kit_token_hooks = {kit_token_construct, kit_token_destruct, kit_token_move,
                                   kit_token_copy, NULL};

// ---- worlds -------------------------------------------------------------------------------------

void kit_on_error(void* user, orr_world* world, const orr_error* error)
{
    (void)world;
    kit_errors* errors = user;
    errors->count++;
    errors->result = error->result;
    errors->id = error->id;
    snprintf(errors->text, sizeof errors->text, "%s", error->text);
}

static bool kit_fills(void)
{
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
    return false;
#endif
#endif
    return true;
}

orr_world* kit_begin(kit* k, const orr_world_desc* desc)
{
    uint8_t fill = k->memory.fresh_byte;
    memset(k, 0, sizeof *k);
    k->memory.fill = kit_fills();
    k->memory.fresh_byte = fill != 0 ? fill : 0xAA;
    k->memory.freed_byte = (uint8_t)~k->memory.fresh_byte;
    kit_tokens_reset();
    orr_world_desc full = desc != NULL ? *desc : (orr_world_desc){0};
    full.allocator = failing_alloc_allocator(&k->memory);
    full.on_error = kit_on_error;
    full.on_error_user = &k->errors;
    if (full.log.level == ORR_LOG_DEFAULT) {
        full.log.level =
            ORR_LOG_OFF; // Lost shares are logged as warnings; tests check them themselves.
    }
    k->world = orr_world_create(&full);
    CHECK(k->world != NULL);
    return k->world;
}

void kit_end(kit* k)
{
    orr_result valid = orr_world_validate(k->world);
    if (valid != ORR_OK) {
        test_fail(__FILE__, __LINE__, "the world is broken: %s", k->errors.text);
    }
    orr_world_destroy(k->world);
    k->world = NULL;
    failing_alloc_check(&k->memory);
    CHECK_EQ(kit_tokens.broken, 0);
    CHECK_EQ(kit_tokens.live, 0);
}

orr_cluster kit_cluster(orr_world* world, const orr_type* types, uint32_t type_count,
                        const orr_tag* tags, uint32_t tag_count)
{
    orr_cluster cluster = {0, 0};
    CHECK_OK(orr_cluster_get(world, &(orr_cluster_desc){types, type_count, tags, tag_count, NULL},
                             &cluster));
    return cluster;
}

orr_cluster_info kit_info(const orr_world* world, orr_cluster cluster)
{
    orr_cluster_info info;
    CHECK_OK(orr_cluster_info_get(world, cluster, &info));
    return info;
}

uint32_t kit_rows(const orr_world* world, orr_cluster cluster)
{
    return kit_info(world, cluster).row_count;
}
