// SPDX-License-Identifier: MIT
// Calls of the publisher for random tests that keep a model of it; with `refuse_memory` every
// allocation of a call is refused once. Include it after `model`, its watchers, TYPES, below(),
// model_check() and HOOKS_MOST.
#ifndef TEST_PUBLISH_CALLS_KIT_H
#define TEST_PUBLISH_CALLS_KIT_H

// ---- calls of the publisher, with and without memory --------------------------------------------

typedef orr_result (*call_run)(model* m, uint32_t argument);

// Every allocation of the call is refused once, and some hooks refuse: a refused call has no
// effect. In the end the call succeeds.
static void call_through(model* m, call_run run, uint32_t argument)
{
    if (!m->refuse_memory) {
        CHECK_OK(run(m, argument));
        return;
    }
    orr_result result = ORR_ERR_MEMORY;
    for (uint64_t n = 1; result != ORR_OK; n++) {
        CHECK(result == ORR_ERR_MEMORY || result == ORR_ERR_HOOK);
        if (below(m, 8) == 0) {
            model_check(m);
        }
        bool hook = n % 4 == 0 && n < 20;
        kit_tokens.refuse_after = hook ? 1 + below(m, HOOKS_MOST) : 0;
        failing_alloc_arm(&m->k.memory, hook ? 0 : n, n % 2 == 0);
        result = run(m, argument);
        m->refused += result != ORR_OK;
        failing_alloc_arm(&m->k.memory, 0, false);
        kit_tokens.refuse_after = 0;
    }
}

static orr_result call_remap(model* m, uint32_t argument)
{
    (void)argument;
    return orri_publish_remap(m->publisher);
}

static orr_result call_add(model* m, uint32_t t)
{
    return orri_publish_add(m->publisher, m->types[t]);
}

static uint32_t mask_types(const model* m, uint32_t mask, orr_type out[TYPES])
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < TYPES; t++) {
        if ((mask >> t & 1) != 0) {
            out[count++] = m->types[t];
        }
    }
    return count;
}

static orr_result call_copy(model* m, uint32_t mask)
{
    orr_type types[TYPES];
    uint32_t count = mask_types(m, mask, types);
    return orri_publish_copy(m->publisher, types, count);
}

static orr_result call_view(model* m, uint32_t v)
{
    orr_type types[TYPES];
    uint32_t count = mask_types(m, m->watchers[v].mask, types);
    m->watchers[v].view = orri_view_create(m->publisher, types, count);
    return m->watchers[v].view != NULL ? ORR_OK : m->k.errors.result;
}

static orr_result call_pin(model* m, uint32_t v)
{
    return orri_view_pin(m->watchers[v].view);
}

#endif
