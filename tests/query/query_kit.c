// SPDX-License-Identifier: MIT
#include "query_kit.h"
#include "test.h"

void query_kit_begin(query_kit* k)
{
    *k = (query_kit){0};
    k->world = kit_begin(&k->store, NULL);
    k->types[0] = KIT_TYPE(k->world, Position);
    k->types[1] = KIT_TYPE(k->world, Velocity);
    k->types[2] = KIT_TYPE(k->world, Health);
    k->types[3] = KIT_TYPE(k->world, Tiny);
    k->types[4] = KIT_TYPE(k->world, Frozen);
    k->types[5] = KIT_TYPE(k->world, Hidden);
}

void query_kit_end(query_kit* k)
{
    kit_end(&k->store);
}

static orr_entity query_kit_pick(const query_kit* k, uint64_t random)
{
    static orr_entity all[20000];
    uint32_t count = query_kit_all(k, all, 20000);
    return count > 0 ? all[random % count] : (orr_entity){0};
}

void query_kit_change(query_kit* k, uint64_t random)
{
    uint64_t what = random % 16;
    orr_type type = k->types[random >> 8 & 7 ? (random >> 8) % QUERY_KIT_TYPES : 0];
    orr_tag tag = 1 + (random >> 16) % 3;
    orr_entity entity = query_kit_pick(k, random >> 24);
    if (entity.id == 0 || what < 4) {
        entity = orr_create(k->world);
        for (uint32_t t = 0; t < QUERY_KIT_TYPES; t++) {
            if (random >> (32 + t) & 1) {
                CHECK_OK(orr_component_add(k->world, entity, k->types[t]));
            }
        }
    } else if (what < 6) {
        CHECK_OK(orr_component_add(k->world, entity, type));
    } else if (what < 8) {
        CHECK_OK(orr_component_remove(k->world, entity, type));
    } else if (what == 8) {
        CHECK_OK(orr_destroy(k->world, entity));
    } else if (what == 9) {
        CHECK_OK(orr_tag_add(k->world, entity, tag));
    } else if (what == 10) {
        CHECK_OK(orr_tag_remove(k->world, entity, tag));
    } else if (what < 14) {
        if (orr_component_has(k->world, entity, type)) {
            CHECK_OK(orr_component_enable(k->world, entity, type, random >> 40 & 1));
        }
    } else if (what == 14) {
        CHECK_OK(orr_entity_enable(k->world, entity, random >> 40 & 1));
    } else if ((random >> 50 & 7) == 0) {
        CHECK_OK(orr_cluster_delete(k->world, orr_entity_cluster(k->world, entity)));
    } else if ((random >> 50 & 7) == 1) {
        orr_tick_advance(k->world);
    }
}

uint32_t query_kit_all(const query_kit* k, orr_entity* out, uint32_t out_count)
{
    uint32_t count = 0;
    orr_cluster cluster = {0};
    while ((cluster = orr_cluster_next(k->world, cluster)).id != 0) {
        uint32_t chunks = kit_info(k->world, cluster).chunk_count;
        for (uint32_t chunk = 0; chunk < chunks; chunk++) {
            count += orr_chunk_entities(k->world, cluster, chunk, out + count, out_count - count);
        }
    }
    CHECK_EQ(count, orr_entity_count(k->world));
    return count;
}

// ---- the meaning of terms, by single entity -----------------------------------------------------

static bool query_kit_present(const query_kit* k, orr_entity entity, const orr_term* term)
{
    if (term->type.id == 0) {
        return orr_tag_has(k->world, entity, term->tag);
    }
    bool there = orr_component_has(k->world, entity, term->type);
    bool on = orr_component_enabled(k->world, entity, term->type);
    return term->state == ORR_EITHER    ? there
           : term->state == ORR_ENABLED ? there && on
                                        : there && !on;
}

static bool query_kit_any(const query_kit* k, orr_entity entity, const orr_term* terms,
                          uint32_t count, uint32_t group)
{
    bool any = false;
    for (uint32_t t = 0; t < count; t++) {
        any = any || (terms[t].kind == ORR_ANY && terms[t].group == group &&
                      query_kit_present(k, entity, &terms[t]));
    }
    return any;
}

bool query_kit_matches(const query_kit* k, orr_entity entity, const orr_term* terms, uint32_t count,
                       orr_enable_state entities)
{
    bool on = orr_entity_enabled(k->world, entity);
    bool match = entities == ORR_EITHER || on == (entities == ORR_ENABLED);
    for (uint32_t t = 0; t < count && match; t++) {
        if (terms[t].kind == ORR_REQUIRED) {
            match = query_kit_present(k, entity, &terms[t]);
        } else if (terms[t].kind == ORR_WITHOUT) {
            match = !query_kit_present(k, entity, &terms[t]);
        } else if (terms[t].kind == ORR_ANY) {
            match = query_kit_any(k, entity, terms, count, terms[t].group);
        }
    }
    return match;
}

uint32_t query_kit_brute(const query_kit* k, const orr_term* terms, uint32_t count,
                         orr_enable_state entities, orr_entity* out, uint32_t out_count)
{
    uint32_t all = query_kit_all(k, out, out_count), kept = 0;
    for (uint32_t i = 0; i < all; i++) {
        if (query_kit_matches(k, out[i], terms, count, entities)) {
            out[kept++] = out[i];
        }
    }
    return kept;
}

uint32_t query_kit_terms(const query_kit* k, uint64_t random, orr_term* out)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < QUERY_KIT_TYPES; t++, random = orr_random(random, t, 0, 0)) {
        if (random % 4 != 0) {
            continue;
        }
        orr_term term = {.type = k->types[t],
                         .kind = (orr_term_kind)(random >> 8 & 3),
                         .state = (random >> 12 & 3) == 0   ? ORR_EITHER
                                  : (random >> 12 & 7) == 1 ? ORR_DISABLED
                                                            : ORR_ENABLED,
                         .group = (uint32_t)(random >> 16 & 1)};
        if (term.kind == ORR_OPTIONAL && term.state == ORR_DISABLED) {
            term.state = ORR_ENABLED;
        }
        out[count++] = term;
    }
    if (random % 4 == 1) {
        out[count++] = (orr_term){.tag = 1 + (random >> 20) % 3,
                                  .kind = random >> 30 & 1 ? ORR_REQUIRED : ORR_WITHOUT};
    }
    return count;
}
