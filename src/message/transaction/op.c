// SPDX-License-Identifier: MIT
// The operations of transactions on a value, once it is found. The common operations have loops of
// their own; the others share one.
#include "message/transaction/transaction.h"
#include "store/pool/pool.h"
#include "store/world/access.h"

// ---- numbers ------------------------------------------------------------------------------------

static inline float op_f32(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static inline double op_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Whether a float replaces another: it is smaller (`least`) or larger, or the other is NaN.
static inline bool op_float_replaces(double now, double old, bool least)
{
    return (least ? now < old : now > old) || (old != old && now == now);
}

// Whether MIN or MAX replaces the value, by the kind of the field.
static inline bool op_replaces(uint64_t now, uint64_t old, orr_kind kind, uint32_t size, bool least)
{
    switch (kind) {
    case ORR_KIND_F32:
        return op_float_replaces(op_f32(now), op_f32(old), least);
    case ORR_KIND_F64:
        return op_float_replaces(op_f64(now), op_f64(old), least);
    case ORR_KIND_U8:
    case ORR_KIND_U16:
    case ORR_KIND_U32:
    case ORR_KIND_U64:
        return least ? now < old : now > old;
    default:
        return least ? orri_sign_extend(now, size) < orri_sign_extend(old, size)
                     : orri_sign_extend(now, size) > orri_sign_extend(old, size);
    }
}

static inline void op_add(uint8_t* at, uint64_t number, orr_kind kind, uint32_t size)
{
    uint64_t old = orri_load_unsigned(at, size);
    if (kind == ORR_KIND_F32) {
        float sum = op_f32(old) + op_f32(number);
        memcpy(at, &sum, sizeof sum);
    } else if (kind == ORR_KIND_F64) {
        double sum = op_f64(old) + op_f64(number);
        memcpy(at, &sum, sizeof sum);
    } else {
        orri_store(at, size, old + number); // The low bytes of a sum do not depend on the sign.
    }
}

// One operation on one number.
static inline void op_one(uint8_t* at, uint64_t number, orr_op op, orr_kind kind, uint32_t size)
{
    if (op == ORR_OP_ADD) {
        op_add(at, number, kind, size);
    } else if (op == ORR_OP_SET ||
               op_replaces(number, orri_load_unsigned(at, size), kind, size, op == ORR_OP_MIN)) {
        orri_store(at, size, number);
    }
}

// ---- values -------------------------------------------------------------------------------------

uint8_t* orri_op_instance(const orr_world* world, const orri_type* type, uint32_t place,
                          orr_component_id id)
{
    const orri_chunk* chunk = orri_place_chunk(world, place);
    orr_type handle = {type->id};
    int32_t column = orri_table_column(world, orri_type_index(world, handle), chunk->id);
    if (column < 0) {
        return NULL;
    }
    uint32_t slot = orri_place_slot(place);
    const orri_cluster_column* entry = &chunk->cluster->columns[column];
    orri_cells cells = orri_cells_at(chunk, (uint32_t)column, slot);
    const uint32_t* ids = (const uint32_t*)(const void*)chunk->columns[entry->counts + 1].data +
                          ((size_t)slot << entry->shift);
    for (uint32_t i = 0; i < *cells.counts; i++) {
        if (ids[i] == id) {
            return cells.data + (size_t)i * type->info.size;
        }
    }
    return NULL;
}

// The value of a unique type at a place.
static inline uint8_t* op_at(const orri_op_site* site, uint32_t place, size_t size)
{
    uint32_t mask = (1u << site->slot_bits) - 1;
    return site->blocks[place >> site->slot_bits] + (place & mask) * size;
}

// The value of a place, for unique and multiple types.
static uint8_t* op_value(const orri_op_site* site, const orri_verb* verb, uint32_t place)
{
    return site->type->info.multiplicity == ORR_MULTIPLE
               ? orri_op_instance(site->world, site->type, place, verb->id)
               : op_at(site, place, site->type->info.size);
}

// Inlined with constants, so that the common operations become tight loops.
static inline void op_loop(const orri_op_site* site, const orri_verb* verb, const orri_op* ops,
                           uint32_t count, orr_op op, orr_kind kind, uint32_t size)
{
    size_t stride = site->type->info.size, offset = verb->offset;
    for (uint32_t i = 0; i < count; i++) {
        op_one(op_at(site, (uint32_t)ops[i].target, stride) + offset, ops[i].number, op, kind,
               size);
    }
}

// Operands that are not numbers, and instances.
static void op_general(const orri_op_site* site, const orri_verb* verb, const orri_op* ops,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t* value = op_value(site, verb, (uint32_t)ops[i].target);
        if (!verb->in_bytes) {
            op_one(value + verb->offset, ops[i].number, verb->op, verb->kind, verb->size);
            continue;
        }
        memcpy(value + verb->offset, (const void*)(uintptr_t)ops[i].number, verb->size);
        if (site->type->info.has_padding) {
            orri_rows_clean(site->type, value, 1);
        }
    }
}

// ---- functions ----------------------------------------------------------------------------------

// The entity at a place.
static orr_entity op_target(const orri_op_site* site, uint32_t place)
{
    uint32_t index =
        site->pool != NULL
            ? orri_pool_owner(site->pool, place)
            : orri_chunk_ids(orri_place_chunk(site->world, place))[orri_place_slot(place)];
    return orri_id_make(index, orri_record_at(site->world, index)->generation);
}

static void op_call_all(const orri_op_site* site, const orri_verb* verb, const orri_op* ops,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t* value = op_value(site, verb, (uint32_t)ops[i].target);
        orr_entity target = op_target(site, (uint32_t)ops[i].target);
        verb->function(site->world, target, value, (const void*)(uintptr_t)ops[i].number,
                       verb->size);
        if (site->type->info.has_padding) {
            orri_rows_clean(site->type, value, 1);
        }
        if (ORR_UNLIKELY(site->world->messages->called != NULL)) {
            site->world->messages->called(site->world, verb->rights, site->type, target, value);
        }
    }
}

// Calls functions with access to the world refused: they have a value and an argument only.
static void op_call(const orri_op_site* site, const orri_verb* verb, const orri_op* ops,
                    uint32_t count)
{
    orr_world* world = site->world;
    const orri_access access = {.system = verb->rights->name,
                                .posted = true,
                                .sender = verb->rights,
                                .violations = &verb->rights->counts.violations};
    // Systems of other pipelines run: the access rule is set for this thread only.
    if (world->realtime) {
        orri_thread_context here =
            orri_this_thread_enter(world, &access, orri_this_thread.system, NULL);
        op_call_all(site, verb, ops, count);
        orri_this_thread_leave(here);
        return;
    }
    uint32_t iterating = atomic_load_explicit(&world->loops.iterating, memory_order_relaxed);
    bool in_system = world->running.in_system;
    world->running.in_system = true;
    atomic_store_explicit(&world->loops.iterating, iterating + 1, memory_order_relaxed);
    orri_access_enter(world, &access, NULL);
    op_call_all(site, verb, ops, count);
    orri_access_leave(world);
    atomic_store_explicit(&world->loops.iterating, iterating, memory_order_relaxed);
    world->running.in_system = in_system;
}

// ---- dispatch -----------------------------------------------------------------------------------

void orri_op_run(const orri_op_site* site, const orri_verb* verb, const orri_op* ops,
                 uint32_t count)
{
    if (verb->function != NULL) {
        op_call(site, verb, ops, count);
    } else if (verb->in_bytes || site->type->info.multiplicity == ORR_MULTIPLE) {
        op_general(site, verb, ops, count);
    } else if (verb->op == ORR_OP_ADD && verb->kind == ORR_KIND_F32) {
        op_loop(site, verb, ops, count, ORR_OP_ADD, ORR_KIND_F32, 4);
    } else if (verb->op == ORR_OP_ADD && verb->kind != ORR_KIND_F64 && verb->size == 4) {
        op_loop(site, verb, ops, count, ORR_OP_ADD, ORR_KIND_U32, 4);
    } else {
        op_loop(site, verb, ops, count, verb->op, verb->kind, verb->size);
    }
}
