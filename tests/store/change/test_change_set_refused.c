// SPDX-License-Identifier: MIT
// Change sets that are refused: by limits, arguments, hooks, and by every single allocation, with
// and without shared blocks. Then nothing has changed, also in the view of the error handler, and
// the same set can be applied afterwards.
#include "store/change/change_set.h"
#include "store/cow/share.h"
#include "support/pinned_kit.h"
#include "test.h"

#define INDEXED(policy) (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_##policy)

ORR_STRUCT(Parent, (orr_entity, entity, INDEXED(DESTROY)))
ORR_STRUCT_EX(Engine, (.needs = "Health, Position"), (float, power))
ORR_STRUCT_EX(Spot, (.multiplicity = ORR_MULTIPLE), (int32_t, x))
ORR_STRUCT_EX(Charm, (.multiplicity = ORR_MULTIPLE, .hooks = &kit_token_hooks), (TokenCell, cell))

static orr_entity nth(const orr_world* world, uint32_t position)
{
    orri_index_cursor cursor = {0};
    return orri_index_nth(world, &cursor, position);
}

static void check_valid(kit* k)
{
    if (orr_world_validate(k->world) != ORR_OK) {
        test_fail(__FILE__, __LINE__, "%s", k->errors.text);
    }
}

static orr_result apply(orr_world* world, const orri_group* groups, uint32_t count)
{
    orri_change_set_desc desc = {.call = "test", .groups = groups, .count = count};
    return orri_change_set_apply(world, &desc);
}

// ---- refusals -----------------------------------------------------------------------------------

ORR_TEST(apply_beyond_a_limit_is_refused_completely)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, &(orr_world_desc){.entities_max = 3});
    orr_type types[] = {KIT_TYPE(world, Position), KIT_TYPE(world, Health)};
    orr_entity bob = orr_create(world), dead = orr_create(world);
    CHECK_OK(orr_destroy(world, dead));
    uint64_t hash = orr_world_hash(world);
    orri_given given[] = {{types[0], NULL}, {types[1], NULL}};
    orr_entity many[4] = {
        nth(world, 0), nth(world, 1), {nth(world, 1).id + 1}, {nth(world, 1).id + 2}};
    // Four entities are too many. (Too many clusters or types: test_change_set_limits.c.)
    orri_group groups[] = {{.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = &bob,
                            .count = 1,
                            .given = given,
                            .given_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CREATE,
                            .entities = many,
                            .count = 1,
                            .given = given + 1,
                            .given_count = 1}};
    groups[1].count = 4;
    CHECK_RESULT(apply(world, groups, 2), ORR_ERR_CAPACITY);
    CHECK_CONTAINS(k.errors.text, "limit of 3 entities");
    CHECK_EQ(orr_world_hash(world), hash);
    groups[1].count = 1;
    groups[0].entities = &dead;
    CHECK_RESULT(apply(world, groups, 2), ORR_ERR_ENTITY);
    groups[0].entities = &bob;
    groups[1].cluster = (orr_cluster){7, 7};
    CHECK_RESULT(apply(world, groups, 2), ORR_ERR_CLUSTER);
    groups[1].cluster = (orr_cluster){0};
    given[1].type = (orr_type){12345678};
    CHECK_RESULT(apply(world, groups, 2), ORR_ERR_TYPE);
    given[1].type = types[1];
    groups[1].entities = &bob; // Alive.
    CHECK_RESULT(apply(world, groups, 2), ORR_ERR_ARGUMENT);
    CHECK_EQ(orr_world_hash(world), hash);
    groups[1].entities = many;
    CHECK_OK(apply(world, groups, 2));
    CHECK(orr_alive(world, many[0]));
    kit_end(&k);
}

ORR_TEST(apply_while_rows_may_not_move_is_refused)
{
    kit k = {0};
    orr_world* world = kit_begin(&k, NULL);
    orr_appender appender;
    CHECK_OK(orr_append_begin(world, KIT_CLUSTER(world, Position), NULL, 0, &appender));
    CHECK_RESULT(apply(world, NULL, 0), ORR_ERR_STATE);
    orr_append_end(&appender);
    CHECK_OK(apply(world, NULL, 0));
    kit_end(&k);
}

// A world and a set with something of everything.
typedef struct rich {
    kit k;
    orr_world* world;
    orr_type position, token, label, parent, engine, spot, charm, body, ghost, sign;
    orr_entity e[40], made[6];
    Token tokens[10];
    Ghost ghosts[10];
    Parent parents[3];
    Label labels[10];
    Charm charms[2];
    orri_given given[10];
    orr_type taken[4];
    orri_instance_change instances[4];
    orri_enable_change switches[4];
    orri_group groups[9];
    orri_share* shares[200];
    uint32_t share_count;
} rich;

static const orr_tag rich_tags[] = {3, 7};

static void rich_begin(rich* r)
{
    memset(r, 0, sizeof *r);
    orr_world* world = r->world = kit_begin(&r->k, NULL);
    r->position = KIT_TYPE(world, Position), r->token = KIT_TYPE(world, Token);
    r->label = KIT_TYPE(world, Label), r->parent = KIT_TYPE(world, Parent);
    (void)KIT_TYPE(world, Health);
    r->engine = KIT_TYPE(world, Engine), r->spot = KIT_TYPE(world, Spot);
    r->charm = KIT_TYPE(world, Charm), r->body = KIT_TYPE(world, Body);
    r->ghost = KIT_TYPE(world, Ghost), r->sign = KIT_TYPE(world, Sign);
    orr_type types[] = {r->position, r->token};
    CHECK_OK(orr_create_many(world, kit_cluster(world, types, 2, NULL, 0), 40, NULL, 0, r->e));
    for (uint32_t i = 0; i < 10; i++) {
        r->tokens[i] = kit_token(100 + i);
        r->ghosts[i] = KIT_GHOST(200 + i);
        CHECK_OK(orr_component_set(world, r->e[30 + i], r->ghost, &r->ghosts[i]));
    }
    CHECK_OK(orr_name_set(world, r->e[0], (orr_entity){0}, "first"));
    CHECK_OK(orr_set(world, r->e[21], Parent, {r->e[20]}));
    CHECK_OK(orr_set(world, r->e[22], Parent, {r->e[21]}));
    CHECK_OK(orr_set(world, r->e[23], Parent, {r->e[20]}));
    Charm charm = {kit_token(5).cell};
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(orr_instance_add(world, r->e[24], r->charm, &charm) != 0);
    }
    CHECK_OK(orr_destroy(world, r->e[39]));
    CHECK_OK(orr_destroy(world, r->e[38]));
    orri_index_cursor cursor = {0};
    for (uint32_t i = 0; i < 6; i++) {
        r->made[5 - i] = orri_index_nth(world, &cursor, i + i / 3); // Backwards, with a hole.
    }
    orr_tick_advance(world);
}

// Shares all pages and columns, frozen.
static void rich_hold(rich* r)
{
    for (uint32_t page = 0; page < r->world->index.page_count; page++) {
        r->shares[r->share_count++] = orri_share_page(r->world, page, ORRI_SHARE_FROZEN);
    }
    (void)orri_parked_release_all(r->world); // They are never shared.
    for (uint32_t i = 1; i < r->world->chunks.count; i++) {
        orri_chunk* chunk = r->world->chunks.list[i];
        for (uint32_t c = 0; chunk != NULL && c < chunk->column_count; c++) {
            CHECK(r->share_count < ORRI_COUNT(r->shares));
            r->shares[r->share_count++] = orri_share_column(r->world, chunk, c, ORRI_SHARE_FROZEN);
        }
    }
}

static void rich_fill(rich* r)
{
    orr_world* world = r->world;
    for (uint32_t i = 0; i < 10; i++) {
        r->labels[i] = (Label){orr_string_make(world, "a text that is kept"), (int32_t)i};
    }
    r->parents[0].entity = r->e[20], r->parents[1].entity = r->made[2];
    r->parents[2].entity = r->made[0];
    r->charms[0] = (Charm){kit_token(8).cell}, r->charms[1] = (Charm){kit_token(9).cell};
    const orr_component_id* ids;
    CHECK_EQ(orr_instances_get(world, r->e[24], r->charm, NULL, &ids), 3);
    r->given[0] = (orri_given){r->token, (const uint8_t*)r->tokens};
    r->given[1] = (orri_given){r->label, (const uint8_t*)r->labels};
    r->given[2] = (orri_given){r->ghost, (const uint8_t*)r->ghosts};
    r->given[3] = (orri_given){r->engine, NULL};
    r->given[4] = (orri_given){r->body, NULL};
    r->given[5] = (orri_given){r->parent, (const uint8_t*)r->parents};
    r->given[6] = (orri_given){r->sign, NULL};
    r->taken[0] = r->position, r->taken[1] = r->ghost;
    r->instances[0] = (orri_instance_change){r->charm, ids[1], true, NULL, 0};
    r->instances[1] = (orri_instance_change){r->charm, ids[2], false, &r->charms[0], 0};
    r->instances[2] = (orri_instance_change){r->spot, 0, false, NULL, 0};
    r->instances[3] = (orri_instance_change){r->charm, 0, false, &r->charms[1], 0};
    r->switches[0] = (orri_enable_change){{0}, 0, false, 0};
    r->switches[1] = (orri_enable_change){r->charm, ids[0], false, 0};
    r->switches[2] = (orri_enable_change){r->body, 0, false, 0};
    r->switches[3] = (orri_enable_change){r->token, 0, false, 0};
    orri_group groups[] = {{.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = r->e,
                            .count = 8,
                            .given = r->given,
                            .given_count = 2,
                            .tags_on = rich_tags,
                            .tag_on_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = r->e + 28,
                            .count = 6,
                            .given = r->given,
                            .given_count = 5},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = r->e + 35,
                            .count = 2,
                            .taken = r->taken,
                            .taken_count = 2},
                           {.kind = ORRI_CHANGE_KIND_DESTROY, .entities = r->e + 20, .count = 1},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = r->e + 22,
                            .count = 1,
                            .given = r->given + 6,
                            .given_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = r->e + 24,
                            .count = 1,
                            .given = r->given + 4,
                            .given_count = 1,
                            .instances = r->instances,
                            .instance_count = 4,
                            .enables = r->switches,
                            .enable_count = 4,
                            .renamed = true,
                            .scope = r->made[1],
                            .name = "deep"},
                           {.kind = ORRI_CHANGE_KIND_CREATE,
                            .entities = r->made,
                            .count = 3,
                            .given = r->given + 4,
                            .given_count = 2},
                           {.kind = ORRI_CHANGE_KIND_CREATE,
                            .entities = r->made + 3,
                            .count = 3,
                            .given = r->given,
                            .given_count = 3,
                            .tags_on = rich_tags + 1,
                            .tag_on_count = 1},
                           {.kind = ORRI_CHANGE_KIND_CHANGE,
                            .entities = r->e + 12,
                            .count = 1,
                            .given = r->given,
                            .given_count = 1,
                            .enables = r->switches + 3,
                            .enable_count = 1}};
    memcpy(r->groups, groups, sizeof groups);
}

static void rich_end(rich* r)
{
    while (r->share_count > 0) {
        orri_share_release(r->world, r->shares[--r->share_count]);
    }
    kit_end(&r->k);
}

static void rich_check(const rich* r)
{
    orr_world* world = r->world;
    CHECK_EQ(orr_get(world, r->e[7], Token)->cell.payload, 107);
    CHECK_EQ(orr_get(world, r->e[7], Label)->number, 7);
    CHECK_EQ(orr_get(world, r->e[33], Ghost)->cell.payload, 205);
    CHECK(!orr_component_has(world, r->e[35], r->ghost));
    CHECK(!orr_alive(world, r->e[20]) && !orr_alive(world, r->e[22]));
    CHECK(!orr_alive(world, r->made[0]) &&
          !orr_alive(world, r->made[2])); // With 20, and with each other.
    CHECK(!orr_alive(world, r->made[1]));
    CHECK(orr_alive(world, r->made[5]) && orr_tag_has(world, r->made[4], 7));
    CHECK_EQ(orr_instances_get(world, r->e[24], r->charm, NULL, NULL), 3);
    CHECK(!orr_entity_enabled(world, r->e[24]) &&
          !orr_component_enabled(world, r->e[12], r->token));
}

// Error handler: records what the world looks like when a refusal is reported.
typedef struct watcher {
    uint64_t hash;
    uint32_t count, different;
} watcher;

static void watch(void* user, orr_world* world, const orr_error* error)
{
    watcher* w = user;
    (void)error;
    w->count++;
    w->different += orr_world_hash(world) != w->hash || orr_world_validate(world) != ORR_OK;
}

static void refuse_every(bool held, bool for_good, bool by_hooks)
{
    rich r;
    rich_begin(&r);
    if (held) {
        rich_hold(&r);
    }
    rich_fill(&r);
    watcher w = {.hash = orr_world_hash(r.world)};
    uint32_t last = r.world->instance_last, refusals = 0;
    r.world->errors.handler = watch;
    r.world->errors.user = &w;
    for (uint64_t n = 1;; n++) {
        if (by_hooks) {
            kit_tokens.refuse_after = (uint32_t)n;
        } else {
            failing_alloc_arm(&r.k.memory, n, for_good);
        }
        orr_result result = apply(r.world, r.groups, ORRI_COUNT(r.groups));
        failing_alloc_arm(&r.k.memory, 0, false);
        kit_tokens.refuse_after = 0;
        if (result == ORR_OK) {
            break;
        }
        refusals++;
        CHECK_EQ(w.count, refusals); // Once, and after everything is restored.
        CHECK_EQ(w.different, 0);
        // Copying a shared block calls copy hooks too; their refusal counts as refused memory.
        CHECK(result == (by_hooks ? ORR_ERR_HOOK : ORR_ERR_MEMORY) ||
              (held && result == ORR_ERR_MEMORY));
        CHECK_EQ(orr_world_hash(r.world), w.hash);
        CHECK_EQ(r.world->instance_last, last);
        CHECK_EQ(nth(r.world, 0).id, r.made[5].id);
        check_valid(&r.k);
    }
    CHECK(refusals > (by_hooks ? 10 : 20));
    rich_check(&r);
    rich_end(&r);
}

ORR_TEST(apply_without_memory_changes_nothing)
{
    refuse_every(false, false, false);
    refuse_every(false, true, false);
}

ORR_TEST(apply_without_memory_and_with_everything_shared_changes_nothing)
{
    refuse_every(true, false, false);
    refuse_every(true, true, false);
}

ORR_TEST(apply_refused_by_hooks_changes_nothing)
{
    refuse_every(false, false, true);
    refuse_every(true, false, true);
}

// ---- small sets, for which no other change prepares memory --------------------------------------

enum {
    SMALL_VALUES, // Rows stay.
    SMALL_MOVES,
    SMALL_KILLS,
    SMALL_SWITCHES,
    SMALL_COUNT
};

static orri_group small_group(rich* r, uint32_t what, uint32_t first)
{
    orri_group group = {.kind = what == SMALL_KILLS ? ORRI_CHANGE_KIND_DESTROY
                                                    : ORRI_CHANGE_KIND_CHANGE,
                        .entities = r->e + first,
                        .count = 3};
    if (what == SMALL_VALUES) {
        group.given = r->given;
        group.given_count = 1;
    } else if (what == SMALL_MOVES) {
        group.tags_on = rich_tags;
        group.tag_on_count = 1;
    } else if (what == SMALL_SWITCHES) {
        group.count = 1;
        group.enables = r->switches + 3;
        group.enable_count = 1;
    }
    return group;
}

// With everything shared and no memory left, nothing changes, also not for the shares. With memory
// the set is applied.
ORR_TEST(apply_of_small_sets_without_memory_and_with_everything_shared_changes_nothing)
{
    for (uint32_t i = 0; i < 2 * SMALL_COUNT; i++) {
        rich r;
        rich_begin(&r);
        rich_hold(&r);
        rich_fill(&r);
        // Rows that leave gaps, and the last ones, which leave none.
        orri_group group = small_group(&r, i / 2, i % 2 == 0 ? 1 : 35);
        uint64_t hash = orr_world_hash(r.world);
        uint32_t refusals = 0;
        for (uint64_t n = 1;; n++) {
            failing_alloc_arm(&r.k.memory, n, true);
            orr_result result = apply(r.world, &group, 1);
            failing_alloc_arm(&r.k.memory, 0, false);
            if (result == ORR_OK) {
                break;
            }
            refusals++;
            CHECK_RESULT(result, ORR_ERR_MEMORY);
            CHECK_EQ(r.k.errors.count, refusals);
            CHECK_RESULT(r.k.errors.result, ORR_ERR_MEMORY);
            CHECK_EQ(r.k.errors.id, ORR_LOG_ID_MEMORY_REFUSED);
            CHECK_EQ(orr_world_hash(r.world), hash);
            check_valid(&r.k);
        }
        CHECK(refusals > 3);
        CHECK(orr_world_hash(r.world) != hash);
        check_valid(&r.k);
        rich_end(&r);
    }
}

// Enable changes of two groups are separate: an invalid change of one group does not affect the
// other.
ORR_TEST(apply_enable_changes_of_several_groups_do_not_mix)
{
    for (uint32_t order = 0; order < 2; order++) {
        kit k = {0};
        orr_world* world = kit_begin(&k, NULL);
        orr_entity e[2] = {orr_create(world), orr_create(world)};
        CHECK_OK(orr_set(world, e[order], Position, {1, 2, 3})); // The other one lacks it.
        CHECK_OK(orr_set(world, e[1 - order], Health, {1, 2}));
        orri_enable_change off = {KIT_TYPE(world, Position), 0, false, 0};
        orri_group groups[2];
        for (uint32_t i = 0; i < 2; i++) {
            groups[i] = (orri_group){.kind = ORRI_CHANGE_KIND_CHANGE,
                                     .entities = &e[i],
                                     .count = 1,
                                     .enables = &off,
                                     .enable_count = 1};
        }
        CHECK_OK(apply(world, groups, 2));
        CHECK(!orr_enabled(world, e[order], Position));
        CHECK(orr_enabled(world, e[1 - order], Health));
        kit_end(&k);
    }
}
