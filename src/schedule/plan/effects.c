// SPDX-License-Identifier: MIT
// Effects of the steps of a plan, by type, tag and set of destroyed entities. See effects.h.
#include "schedule/plan/effects.h"

bool orri_effects_begin(orr_world* world, orri_effects* effects)
{
    uint32_t words = world->schema.type_count / 64 + 1;
    *effects = (orri_effects){.world = world, .type_room = words * 64};
    effects->last1 = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_TEMP, uint32_t,
                                     (size_t)ORRI_EFFECT_COUNT * effects->type_room);
    effects->touched = ORRI_ALLOC(&world->env, ORR_MEMORY_TEMP, uint64_t, words);
    if (effects->last1 == NULL || effects->touched == NULL) {
        orri_effects_end(effects);
        (void)orri_refuse_memory(&world->env, "planning a tick");
        return false;
    }
    return true;
}

void orri_effects_end(orri_effects* effects)
{
    orri_env* env = &effects->world->env;
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint32_t, effects->last1,
              (size_t)ORRI_EFFECT_COUNT * effects->type_room);
    ORRI_FREE(env, ORR_MEMORY_TEMP, uint64_t, effects->touched, effects->type_room / 64);
    ORRI_FREE(env, ORR_MEMORY_TEMP, orri_effect_tag, effects->tags, effects->tag_size);
    ORRI_RELEASE(env, ORR_MEMORY_TEMP, effects->destroys, effects->destroys_capacity);
}

void orri_effects_reset(orri_effects* effects)
{
    memset(effects->last1, 0,
           (size_t)ORRI_EFFECT_COUNT * effects->type_room * sizeof *effects->last1);
    memset(effects->step_last1, 0, sizeof effects->step_last1);
    effects->structural_first = 0;
    if (effects->tag_count > 0) {
        memset(effects->tags, 0, effects->tag_size * sizeof *effects->tags);
    }
    effects->tag_count = effects->destroys_count = 0;
}

// ---- types --------------------------------------------------------------------------------------

void orri_effects_enter_bits(orri_effects* effects, orri_effect effect, const uint64_t* bits,
                             uint32_t words, uint32_t step)
{
    for (uint32_t w = 0; bits != NULL && w < words; w++) {
        for (uint64_t left = bits[w]; left != 0; left &= left - 1) {
            orri_effects_enter(effects, effect, w * 64 + (uint32_t)__builtin_ctzll(left), step);
        }
    }
}

bool orri_effects_on_bits(const orri_effects* effects, orri_effect effect, const uint64_t* bits,
                          uint32_t words, uint32_t from)
{
    for (uint32_t w = 0; bits != NULL && w < words; w++) {
        for (uint64_t left = bits[w]; left != 0; left &= left - 1) {
            uint32_t type = w * 64 + (uint32_t)__builtin_ctzll(left);
            if (orri_effects_on(effects, effect, type, from)) {
                return true;
            }
        }
    }
    return false;
}

// ---- tags ---------------------------------------------------------------------------------------

// The slot of a tag, or the free one it would get.
static uint32_t effects_tag_slot(const orri_effect_tag* table, uint32_t size, orr_tag tag)
{
    uint32_t slot = (uint32_t)orri_hash_word(0, tag) & (size - 1);
    while (table[slot].last1 != 0 && table[slot].tag != tag) {
        slot = (slot + 1) & (size - 1);
    }
    return slot;
}

static bool effects_grow_tags(orri_effects* effects)
{
    orri_env* env = &effects->world->env;
    uint32_t old = effects->tag_size, size = old == 0 ? 16 : old * 2;
    if (effects->tag_count * 2 < old) {
        return true;
    }
    orri_effect_tag* tags = ORRI_ALLOC_ZERO(env, ORR_MEMORY_TEMP, orri_effect_tag, size);
    if (tags == NULL) {
        (void)orri_refuse_memory(env, "planning a tick");
        return false;
    }
    for (uint32_t i = 0; i < old; i++) {
        if (effects->tags[i].last1 != 0) {
            tags[effects_tag_slot(tags, size, effects->tags[i].tag)] = effects->tags[i];
        }
    }
    ORRI_FREE(env, ORR_MEMORY_TEMP, orri_effect_tag, effects->tags, old);
    effects->tags = tags;
    effects->tag_size = size;
    return true;
}

bool orri_effects_enter_tags(orri_effects* effects, const orri_system* system, uint32_t step)
{
    const orri_rights* rights = &system->rights;
    bool any = rights->may_tag_any;
    orri_effects_enter_step(effects, ORRI_STEP_TAGS_ANY, any, step);
    orri_effects_enter_step(effects, ORRI_STEP_TAGS, any || rights->tag_count > 0, step);
    for (uint32_t i = 0; i < rights->tag_count; i++) {
        if (!effects_grow_tags(effects)) {
            return false;
        }
        uint32_t slot = effects_tag_slot(effects->tags, effects->tag_size, rights->tags[i]);
        effects->tag_count += effects->tags[slot].last1 == 0;
        effects->tags[slot] = (orri_effect_tag){rights->tags[i], step + 1};
    }
    return true;
}

bool orri_effects_on_tag(const orri_effects* effects, orr_tag tag, uint32_t from)
{
    if (orri_effects_any(effects, ORRI_STEP_TAGS_ANY, from)) {
        return true;
    }
    return effects->tag_size > 0 &&
           effects->tags[effects_tag_slot(effects->tags, effects->tag_size, tag)].last1 > from;
}

// ---- destroyed entities -------------------------------------------------------------------------

static bool effects_same_terms(const orri_leaf* a, const orri_leaf* b)
{
    bool same = a->term_count == b->term_count;
    for (uint32_t i = 0; same && i < a->term_count; i++) {
        const orr_term *x = &a->terms[i], *y = &b->terms[i];
        same = x->kind == y->kind && x->state == y->state && x->type.id == y->type.id &&
               (x->type.id != 0 || x->tag == y->tag);
    }
    return same;
}

bool orri_effects_enter_destroys(orri_effects* effects, const orri_leaf* leaf, uint32_t step)
{
    for (uint32_t i = 0; i < effects->destroys_count; i++) {
        if (effects_same_terms(effects->destroys[i].leaf, leaf)) {
            effects->destroys[i].last1 = step + 1;
            return true;
        }
    }
    orri_env* env = &effects->world->env;
    if (!ORRI_RESERVE(env, ORR_MEMORY_TEMP, &effects->destroys, &effects->destroys_capacity,
                      effects->destroys_count + 1)) {
        (void)orri_refuse_memory(env, "planning a tick");
        return false;
    }
    effects->destroys[effects->destroys_count++] = (orri_effect_destroys){leaf, step + 1};
    return true;
}
