// SPDX-License-Identifier: MIT
// Random change sets, compared with a second world in which the same changes are made one by one
// with the public calls: creations, additions, values, removals, destructions. Both worlds give the
// same ids, so after every set the text of every entity must be equal. Some steps run while blocks
// and pages are shared; the shares must not change.
#include "store/change/change_set.h"
#include "store/cow/share.h"
#include "support/pinned_kit.h"
#include "test.h"

#include <orrery/query.h>
#include <stdlib.h>

#define INDEXED(policy) (.flags = ORR_FIELD_INDEXED, .on_destroy = ORR_ON_DESTROY_##policy)

ORR_STRUCT(Parent, (orr_entity, entity, INDEXED(DESTROY)))
ORR_STRUCT(Owner, (orr_entity, one, INDEXED(CLEAR)), (orr_entity, two, INDEXED(KEEP)))
ORR_STRUCT_EX(Engine, (.needs = "Health, Position"), (float, power))
ORR_STRUCT_EX(Turbo, (.needs = "Engine, Spot"), (float, boost))
ORR_STRUCT_EX(Spot, (.multiplicity = ORR_MULTIPLE), (int32_t, x), (int32_t, y))
ORR_STRUCT_EX(Charm, (.multiplicity = ORR_MULTIPLE, .hooks = &kit_token_hooks), (TokenCell, cell))

enum {
    POSITION,
    PADDED,
    HEALTH,
    TOKEN,
    LABEL,
    PARENT,
    OWNER,
    ENGINE,
    TURBO,
    FROZEN,
    BODY,
    GHOST,
    SIGN,
    UNIQUE_TYPES, // Number of unique types; multiple types follow.
    SPOT = UNIQUE_TYPES,
    CHARM,
    TYPES,
    MOST = 6000,
    GROUPS = 40,
    PICKS = 6
};

typedef union value {
    Position position;
    Padded padded;
    Health health;
    Token token;
    Label label;
    Parent parent;
    Owner owner;
    Engine engine;
    Turbo turbo;
    Body body;
    Ghost ghost;
    Sign sign;
    Spot spot;
    Charm charm;
} value;

static const orr_type_desc* const descs[TYPES] = {
    ORR_TYPE(Position), ORR_TYPE(Padded), ORR_TYPE(Health), ORR_TYPE(Token), ORR_TYPE(Label),
    ORR_TYPE(Parent),   ORR_TYPE(Owner),  ORR_TYPE(Engine), ORR_TYPE(Turbo), ORR_TYPE(Frozen),
    ORR_TYPE(Body),     ORR_TYPE(Ghost),  ORR_TYPE(Sign),   ORR_TYPE(Spot),  ORR_TYPE(Charm)};

// One of the two worlds.
typedef struct side {
    kit k;
    orr_world* world;
    orr_type types[TYPES];
} side;

// A random group, for both worlds.
typedef struct random_group {
    orri_change_kind kind;
    uint32_t first, count; // In `model.chosen`.
    orr_cluster cluster;   // Of the changed world.
    uint32_t given[PICKS], given_count, taken[PICKS], taken_count;
    uint32_t seeds[PICKS]; // Seeds of the values; 0: presets.
    orr_tag on[2], off[2];
    uint32_t on_count, off_count;
    struct {
        uint32_t type;
        orr_component_id id, oracle_id;
        bool removed;
        uint32_t seed;
    } instances[PICKS];
    uint32_t instance_count;
    struct {
        int32_t type; // -1: the entity.
        orr_component_id id, oracle_id;
        bool on;
    } switches[PICKS];
    uint32_t switch_count;
    bool renamed;
    orr_entity scope;
    char name[16]; // "": the name is removed.
} random_group;

typedef struct model {
    side a, b; // Changed by sets; one by one.
    orr_entity live[MOST], chosen[MOST];
    uint32_t live_count, chosen_count;
    random_group random_groups[GROUPS];
    uint32_t random_group_count;
    uint32_t left, oracle_left;
    orr_query* query;
    orri_share* shares[64];
    void* copies[64];
    uint32_t share_count;
    uint64_t seed, draws;
} model;

static uint32_t below(model* m, uint32_t count)
{
    return (uint32_t)orr_random_below(orr_random(m->seed, ++m->draws, 0, 0), count);
}

// ---- values -------------------------------------------------------------------------------------

// The entity that a value refers to: any, also an entity that the set creates or destroys.
static orr_entity pick(const model* m, uint32_t seed)
{
    uint32_t all = m->live_count + m->chosen_count;
    uint32_t i = all > 0 ? seed % (all + 1) : 0;
    return i < m->live_count ? m->live[i]
           : i < all         ? m->chosen[i - m->live_count]
                             : (orr_entity){0};
}

static value make(const model* m, orr_world* world, uint32_t type, uint32_t seed)
{
    value v;
    memset(&v, 0x5A, sizeof v); // Padding must not matter.
    char text[32];
    snprintf(text, sizeof text, "text %u", seed % 50);
    int32_t number = (int32_t)(seed % 1000);
    switch (type) {
    case POSITION:
        v.position = (Position){(float)number, 1, 2};
        break;
    case PADDED:
        v.padded.a = (uint8_t)seed, v.padded.b = number, v.padded.c = 7;
        break;
    case HEALTH:
        v.health = (Health){number, 3};
        break;
    case TOKEN:
        v.token = kit_token(seed);
        break;
    case LABEL:
        v.label = (Label){orr_string_make(world, text), number};
        break;
    case PARENT:
        v.parent = (Parent){pick(m, seed)};
        break;
    case OWNER:
        v.owner = (Owner){pick(m, seed), pick(m, seed / 7)};
        break;
    case ENGINE:
        v.engine = (Engine){(float)number};
        break;
    case TURBO:
        v.turbo = (Turbo){(float)number};
        break;
    case BODY:
        v.body = (Body){number, 5};
        break;
    case GHOST:
        v.ghost = KIT_GHOST(seed);
        break;
    case SIGN:
        v.sign = (Sign){orr_string_make(world, text), number};
        break;
    case SPOT:
        v.spot = (Spot){number, -number};
        break;
    case CHARM:
        v.charm = (Charm){kit_token(seed).cell};
        break;
    default:
        break;
    }
    return v;
}

static value preset(uint32_t type)
{
    value v;
    memset(&v, 0, sizeof v);
    if (type == HEALTH) {
        v.health.value = 100;
    } else if (type == BODY) {
        v.body.mass = 10;
    } else if (type == TOKEN || type == GHOST) {
        v.token = kit_token(0);
    }
    return v;
}

// ---- comparing ----------------------------------------------------------------------------------

static void compare_value(const model* m, uint32_t type, const void* a, const void* b)
{
    char texts[2][256];
    const orr_type_info* infos[2] = {orr_type_info_get(m->a.world, m->a.types[type]),
                                     orr_type_info_get(m->b.world, m->b.types[type])};
    if (infos[0]->size == 0) {
        return;
    }
    (void)orr_value_print(infos[0], a, texts[0], sizeof texts[0]);
    (void)orr_value_print(infos[1], b, texts[1], sizeof texts[1]);
    CHECK_STR(texts[0], texts[1]);
}

static void compare_type(const model* m, orr_entity entity, uint32_t type)
{
    const void *a, *b;
    const orr_component_id *a_ids, *b_ids;
    orr_type at = m->a.types[type], bt = m->b.types[type];
    uint32_t count = orr_instances_get(m->a.world, entity, at, &a, &a_ids);
    CHECK_EQ(count, orr_instances_get(m->b.world, entity, bt, &b, &b_ids));
    CHECK_EQ(orr_component_enabled(m->a.world, entity, at),
             orr_component_enabled(m->b.world, entity, bt));
    size_t size = descs[type]->size;
    for (uint32_t i = 0; i < count; i++) {
        compare_value(m, type, (const uint8_t*)a + i * size, (const uint8_t*)b + i * size);
        CHECK_EQ(orr_instance_enabled(m->a.world, entity, at, a_ids[i]),
                 orr_instance_enabled(m->b.world, entity, bt, b_ids[i]));
    }
}

static void compare_entity(const model* m, orr_entity entity)
{
    CHECK_EQ(orr_alive(m->a.world, entity), orr_alive(m->b.world, entity));
    if (!orr_alive(m->a.world, entity)) {
        return;
    }
    for (uint32_t type = 0; type < TYPES; type++) {
        compare_type(m, entity, type);
    }
    for (orr_tag tag = 1; tag <= 4; tag++) {
        CHECK_EQ(orr_tag_has(m->a.world, entity, tag), orr_tag_has(m->b.world, entity, tag));
    }
    CHECK_EQ(orr_entity_enabled(m->a.world, entity), orr_entity_enabled(m->b.world, entity));
    char paths[2][256];
    (void)orr_path_print(m->a.world, entity, paths[0], sizeof paths[0]);
    (void)orr_path_print(m->b.world, entity, paths[1], sizeof paths[1]);
    CHECK_STR(paths[0], paths[1]);
    CHECK_EQ(orr_referrers_get(m->a.world, entity, m->a.types[PARENT], NULL, NULL, 0),
             orr_referrers_get(m->b.world, entity, m->b.types[PARENT], NULL, NULL, 0));
}

static void compare(const model* m)
{
    CHECK_EQ(orr_entity_count(m->a.world), orr_entity_count(m->b.world));
    uint64_t selected = 0;
    for (uint32_t i = 0; i < m->live_count; i++) {
        compare_entity(m, m->live[i]);
        selected += orr_component_has(m->b.world, m->live[i], m->b.types[GHOST]) &&
                    orr_component_has(m->b.world, m->live[i], m->b.types[POSITION]) &&
                    orr_entity_enabled(m->b.world, m->live[i]) &&
                    orr_component_enabled(m->b.world, m->live[i], m->b.types[GHOST]) &&
                    orr_component_enabled(m->b.world, m->live[i], m->b.types[POSITION]);
    }
    CHECK_EQ(orr_query_count(m->query), selected);
    if (orr_world_validate(m->a.world) != ORR_OK) {
        test_fail(__FILE__, __LINE__, "%s", m->a.k.errors.text);
    }
}

// ---- choosing changes ---------------------------------------------------------------------------

// The ids of creations: positions ascend with holes, in any order.
static void random_creations(model* m, uint32_t count)
{
    orri_index_cursor cursor = {0};
    uint32_t position = 0, first = m->chosen_count;
    for (uint32_t i = 0; i < count; i++, position++) {
        position += below(m, 4) == 0 ? below(m, 5) : 0;
        m->chosen[m->chosen_count] = orri_index_nth(m->a.world, &cursor, position);
        CHECK(m->chosen[m->chosen_count].id != 0);
        m->chosen_count++;
    }
    for (uint32_t i = 0; below(m, 2) == 0 && i < count; i++) {
        uint32_t x = first + below(m, count), y = first + below(m, count);
        orr_entity kept = m->chosen[x];
        m->chosen[x] = m->chosen[y];
        m->chosen[y] = kept;
    }
}

static void random_types(model* m, random_group* t)
{
    t->given_count = below(m, 4);
    for (uint32_t k = 0; k < t->given_count; k++) {
        t->given[k] = below(m, UNIQUE_TYPES);
        t->seeds[k] = below(m, 4) == 0 ? 0 : 1 + below(m, 1u << 30);
        for (uint32_t i = 0; i < k; i++) {
            if (t->given[i] == t->given[k]) {
                t->given_count = k--;
                break;
            }
        }
    }
    t->taken_count = below(m, 4);
    for (uint32_t k = 0; k < t->taken_count; k++) {
        t->taken[k] = below(m, TYPES);
    }
    t->on_count = below(m, 6) == 0 ? 1 + below(m, 2) : 0;
    t->off_count = below(m, 6) == 0 ? 1 + below(m, 2) : 0;
    t->on[0] = 1, t->on[1] = 1 + below(m, 4), t->off[0] = 2 + below(m, 3), t->off[1] = 3;
    // Enabling and disabling one thing in one set would depend on the order.
    for (uint32_t i = 0; i < t->on_count; i++) {
        for (uint32_t k = 0; k < t->off_count; k++) {
            t->off_count = t->on[i] == t->off[k] ? 0 : t->off_count;
        }
    }
}

static orr_component_id random_instance_id(model* m, orr_entity entity, uint32_t type,
                                           orr_component_id* oracle)
{
    const orr_component_id *ids, *oracle_ids;
    uint32_t count = 0;
    if (orr_alive(m->a.world, entity)) {
        count = orr_instances_get(m->a.world, entity, m->a.types[type], NULL, &ids);
        (void)orr_instances_get(m->b.world, entity, m->b.types[type], NULL, &oracle_ids);
    }
    if (count == 0 || below(m, 10) == 0) {
        *oracle = 0x7FFFFFFF;
        return 0x7FFFFFFF;
    }
    uint32_t i = below(m, count);
    *oracle = oracle_ids[i];
    return ids[i];
}

static void random_single_changes(model* m, random_group* t)
{
    orr_entity entity = m->chosen[t->first];
    t->instance_count = below(m, 2) == 0 ? below(m, PICKS) : 0;
    for (uint32_t d = 0; d < t->instance_count; d++) {
        t->instances[d].type = SPOT + below(m, 2);
        t->instances[d].seed = below(m, 4) == 0 ? 0 : 1 + below(m, 1000);
        if (below(m, 2) == 0) {
            t->instances[d].id =
                random_instance_id(m, entity, t->instances[d].type, &t->instances[d].oracle_id);
            t->instances[d].removed = below(m, 3) > 0;
        }
        if (t->instances[d].id != 0 && t->instances[d].seed == 0) {
            t->instances[d].seed = 1;
        }
    }
    t->switch_count = below(m, 2) == 0 ? below(m, 4) : 0;
    for (uint32_t i = 0; i < t->switch_count; i++) {
        t->switches[i].type = (int32_t)below(m, TYPES + 1) - 1;
        t->switches[i].on = below(m, 2) == 0;
        if (t->switches[i].type >= SPOT && below(m, 2) == 0) {
            t->switches[i].id = random_instance_id(m, entity, (uint32_t)t->switches[i].type,
                                                   &t->switches[i].oracle_id);
        }
    }
    t->renamed = below(m, 4) == 0;
    if (t->renamed && below(m, 4) > 0) {
        snprintf(t->name, sizeof t->name, below(m, 12) == 0 ? "a/b" : "name %u", below(m, 12));
        t->scope = below(m, 2) == 0 ? pick(m, below(m, 1000)) : (orr_entity){0};
    }
}

static void random_cluster(model* m, random_group* t)
{
    if (m->live_count > 0 && below(m, 3) == 0) {
        t->cluster = orr_entity_cluster(m->a.world, m->live[below(m, m->live_count)]);
    }
}

// Picks entities for all groups: each live one at most once.
static void random_groups_make(model* m, uint32_t most_live, uint32_t group_most)
{
    m->chosen_count = m->random_group_count = m->left = m->oracle_left = 0;
    uint32_t room = most_live > m->live_count ? most_live - m->live_count : 0;
    uint32_t create_count = below(m, room < group_most * 3 ? room + 1 : group_most * 3);
    random_creations(m, create_count);
    uint32_t used = 0;
    for (; used < create_count && m->random_group_count < GROUPS / 2;) {
        uint32_t count = 1 + below(m, below(m, 2) == 0 ? 1 : group_most);
        count = count < create_count - used ? count : create_count - used;
        random_group* t = &m->random_groups[m->random_group_count++];
        *t = (random_group){.kind = ORRI_CHANGE_KIND_CREATE, .first = used, .count = count};
        used += count;
    }
    m->chosen_count = used;
    // Entities before this one are used: the list is shuffled a little each time.
    uint32_t live = 0;
    while (live < m->live_count && m->random_group_count < GROUPS) {
        uint32_t count = 1 + below(m, below(m, 3) == 0 ? 1 : group_most);
        count = count < m->live_count - live ? count : m->live_count - live;
        random_group* t = &m->random_groups[m->random_group_count++];
        *t = (random_group){.kind = below(m, 5) == 0 ? ORRI_CHANGE_KIND_DESTROY
                                                     : ORRI_CHANGE_KIND_CHANGE,
                            .first = m->chosen_count,
                            .count = count};
        memcpy(m->chosen + m->chosen_count, m->live + live, count * sizeof *m->chosen);
        m->chosen_count += count;
        live += count + below(m, group_most);
    }
    for (uint32_t g = 0; g < m->random_group_count; g++) {
        random_group* t = &m->random_groups[g];
        if (t->kind != ORRI_CHANGE_KIND_DESTROY) {
            random_types(m, t);
        }
        if (t->kind == ORRI_CHANGE_KIND_CREATE) {
            random_cluster(m, t);
        }
        if (t->kind != ORRI_CHANGE_KIND_DESTROY && t->count == 1) {
            random_single_changes(m, t);
        }
    }
}

// ---- as a set -----------------------------------------------------------------------------------

typedef struct set {
    orri_group groups[GROUPS];
    orri_given given[GROUPS][PICKS];
    orr_type taken[GROUPS][PICKS];
    orri_instance_change instances[GROUPS][PICKS];
    orri_enable_change switches[GROUPS][PICKS];
    value values[GROUPS][PICKS];
} set;

static uint8_t* set_values(model* m, const random_group* t, uint32_t k)
{
    size_t size = descs[t->given[k]]->size;
    uint8_t* values = malloc(size * t->count + 1);
    CHECK(values != NULL);
    for (uint32_t i = 0; i < t->count; i++) {
        value v = make(m, m->a.world, t->given[k], t->seeds[k] + i);
        memcpy(values + i * size, &v, size);
    }
    return values;
}

static void set_group(model* m, set* s, uint32_t g)
{
    const random_group* t = &m->random_groups[g];
    for (uint32_t k = 0; k < t->given_count; k++) {
        s->given[g][k] =
            (orri_given){m->a.types[t->given[k]], t->seeds[k] != 0 ? set_values(m, t, k) : NULL};
    }
    for (uint32_t k = 0; k < t->taken_count; k++) {
        s->taken[g][k] = m->a.types[t->taken[k]];
    }
    for (uint32_t d = 0; d < t->instance_count; d++) {
        s->values[g][d] = make(m, m->a.world, t->instances[d].type, t->instances[d].seed);
        s->instances[g][d] = (orri_instance_change){
            m->a.types[t->instances[d].type], t->instances[d].id, t->instances[d].removed,
            t->instances[d].seed != 0 ? &s->values[g][d] : NULL, 0};
    }
    for (uint32_t i = 0; i < t->switch_count; i++) {
        s->switches[g][i] = (orri_enable_change){
            t->switches[i].type >= 0 ? m->a.types[t->switches[i].type] : (orr_type){0},
            t->switches[i].id, t->switches[i].on, 0};
    }
    s->groups[g] = (orri_group){.kind = t->kind,
                                .entities = m->chosen + t->first,
                                .count = t->count,
                                .cluster = t->cluster,
                                .given = s->given[g],
                                .given_count = t->given_count,
                                .taken = s->taken[g],
                                .taken_count = t->taken_count,
                                .tags_on = t->on,
                                .tags_off = t->off,
                                .tag_on_count = t->on_count,
                                .tag_off_count = t->off_count,
                                .instances = s->instances[g],
                                .instance_count = t->instance_count,
                                .enables = s->switches[g],
                                .enable_count = t->switch_count,
                                .renamed = t->renamed,
                                .scope = t->scope,
                                .name = t->name[0] != '\0' ? t->name : NULL};
}

static void set_left_out(void* user, uint32_t group, orr_entity entity, orr_type type,
                         orr_result result, const char* what)
{
    CHECK(result != ORR_OK);
    model* m = user;
    (void)type;
    CHECK(group < m->random_group_count && entity.id != 0 && strlen(what) > 5);
    m->left++;
}

static void set_apply(model* m)
{
    static set s;
    for (uint32_t g = 0; g < m->random_group_count; g++) {
        set_group(m, &s, g);
    }
    orri_change_set_desc desc = {.call = "test",
                                 .groups = s.groups,
                                 .count = m->random_group_count,
                                 .on_skipped = set_left_out,
                                 .user = m};
    if (orri_change_set_apply(m->a.world, &desc) != ORR_OK) {
        test_fail(__FILE__, __LINE__, "%s", orr_error_last(m->a.world));
    }
    for (uint32_t g = 0; g < m->random_group_count; g++) {
        for (uint32_t k = 0; k < m->random_groups[g].given_count; k++) {
            free((void*)(uintptr_t)s.given[g][k].values);
        }
    }
}

// ---- changes one by one -------------------------------------------------------------------------

static void oracle_refused(model* m, bool refused)
{
    m->oracle_left += refused;
}

static void oracle_create(model* m, const random_group* t)
{
    orr_cluster_info info = {0};
    if (t->cluster.id != 0) {
        info = kit_info(m->a.world, t->cluster);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        orr_entity entity = m->chosen[t->first + i];
        CHECK(orri_index_promote(m->b.world, &entity, 1, NULL, 0));
        CHECK_EQ(orr_create(m->b.world).id, entity.id);
        for (uint32_t c = 0; c < info.type_count; c++) {
            const char* name = orr_type_info_get(m->a.world, info.types[c])->name;
            CHECK_OK(orr_component_add(m->b.world, entity, orr_type_find(m->b.world, name)));
        }
        for (uint32_t c = 0; c < info.tag_count; c++) {
            CHECK_OK(orr_tag_add(m->b.world, entity, info.tags[c]));
        }
    }
}

static void oracle_give(model* m, const random_group* t, uint32_t i)
{
    orr_world* world = m->b.world;
    orr_entity entity = m->chosen[t->first + i];
    for (uint32_t k = 0; k < t->given_count; k++) {
        uint32_t type = t->given[k];
        value v = t->seeds[k] != 0 ? make(m, world, type, t->seeds[k] + i) : preset(type);
        CHECK_OK(orr_component_set(world, entity, m->b.types[type], &v));
    }
}

// Existing instances, of types that are removed whole.
typedef struct oracle_old {
    orr_component_id ids[2][64];
    uint32_t counts[2];
    bool added[2];
} oracle_old;

static void oracle_add_instances(model* m, const random_group* t, oracle_old* old)
{
    orr_world* world = m->b.world;
    orr_entity entity = m->chosen[t->first];
    for (uint32_t x = 0; x < 2; x++) {
        const orr_component_id* ids;
        old->counts[x] = orr_instances_get(world, entity, m->b.types[SPOT + x], NULL, &ids);
        CHECK(old->counts[x] <= 64);
        if (old->counts[x] > 0) {
            memcpy(old->ids[x], ids, old->counts[x] * sizeof *ids);
        }
    }
    for (uint32_t d = 0; d < t->instance_count; d++) {
        uint32_t type = t->instances[d].type;
        value v = make(m, world, type, t->instances[d].seed);
        if (t->instances[d].id == 0) {
            old->added[type - SPOT] = true;
            CHECK(orr_instance_add(world, entity, m->b.types[type],
                                   t->instances[d].seed != 0 ? &v : NULL) != 0);
        }
    }
}

static bool oracle_takes(const random_group* t, uint32_t type)
{
    bool takes = false;
    for (uint32_t k = 0; k < t->taken_count; k++) {
        takes = takes || t->taken[k] == type;
    }
    return takes;
}

static void oracle_change_instances(model* m, const random_group* t, bool removals)
{
    orr_world* world = m->b.world;
    orr_entity entity = m->chosen[t->first];
    for (uint32_t d = 0; d < t->instance_count; d++) {
        orr_type type = m->b.types[t->instances[d].type];
        orr_component_id id = t->instances[d].oracle_id;
        value v = make(m, world, t->instances[d].type, t->instances[d].seed);
        if (id == 0 || t->instances[d].removed != removals ||
            // An instance that is removed with its type is not reported.
            oracle_takes(t, t->instances[d].type)) {
            continue;
        }
        orr_result result = removals ? orr_instance_remove(world, entity, type, id)
                                     : orr_instance_set(world, entity, type, id, &v);
        if (id == 0x7FFFFFFF) {
            CHECK_RESULT(result, ORR_ERR_ABSENT);
        }
        oracle_refused(m, result != ORR_OK);
    }
}

static void oracle_take(model* m, const random_group* t, uint32_t i, const oracle_old* old)
{
    orr_world* world = m->b.world;
    orr_entity entity = m->chosen[t->first + i];
    for (uint32_t x = 0; x < 2; x++) {
        for (uint32_t n = 0; oracle_takes(t, SPOT + x) && old->added[x] && n < old->counts[x];
             n++) {
            CHECK_OK(orr_instance_remove(world, entity, m->b.types[SPOT + x], old->ids[x][n]));
        }
    }
    bool left[TYPES] = {0};
    for (uint32_t k = 0; k < t->taken_count; k++) {
        uint32_t type = t->taken[k];
        left[type] = orr_component_has(world, entity, m->b.types[type]) &&
                     (type < SPOT || !old->added[type - SPOT]);
    }
    for (bool again = true; again;) {
        again = false;
        for (uint32_t type = 0; type < TYPES; type++) {
            if (left[type] && orr_component_remove(world, entity, m->b.types[type]) == ORR_OK) {
                left[type] = false;
                again = true;
            }
        }
    }
    for (uint32_t type = 0; type < TYPES; type++) {
        oracle_refused(m, left[type]);
    }
    for (uint32_t k = 0; k < t->off_count; k++) {
        CHECK_OK(orr_tag_remove(world, entity, t->off[k]));
    }
    for (uint32_t k = 0; k < t->on_count; k++) {
        CHECK_OK(orr_tag_add(world, entity, t->on[k]));
    }
}

static void oracle_switch(model* m, const random_group* t)
{
    for (uint32_t i = 0; i < t->switch_count; i++) {
        orr_entity entity = m->chosen[t->first];
        orr_result result = t->switches[i].type < 0
                                ? orr_entity_enable(m->b.world, entity, t->switches[i].on)
                                : orr_instance_enable(m->b.world, entity,
                                                      m->b.types[t->switches[i].type],
                                                      t->switches[i].oracle_id, t->switches[i].on);
        oracle_refused(m, result != ORR_OK);
    }
}

static void oracle_apply(model* m)
{
    static orr_entity dying[MOST];
    uint32_t dying_count = 0;
    for (uint32_t g = 0; g < m->random_group_count; g++) {
        if (m->random_groups[g].kind == ORRI_CHANGE_KIND_CREATE) {
            oracle_create(m, &m->random_groups[g]);
        }
    }
    for (uint32_t g = 0; g < m->random_group_count; g++) {
        const random_group* t = &m->random_groups[g];
        oracle_old old = {0};
        for (uint32_t i = 0; i < t->count; i++) {
            // First: a type that is added explicitly is not added as a required type.
            if (t->instance_count > 0) {
                oracle_add_instances(m, t, &old);
            }
            oracle_give(m, t, i);
            if (t->instance_count > 0) {
                oracle_change_instances(m, t, false);
            }
            oracle_take(m, t, i, &old);
            if (t->instance_count > 0) {
                oracle_change_instances(m, t, true);
            }
            if (t->kind == ORRI_CHANGE_KIND_DESTROY) {
                dying[dying_count++] = m->chosen[t->first + i];
            }
        }
    }
    for (uint32_t g = 0; g < m->random_group_count; g++) {
        const random_group* t = &m->random_groups[g];
        if (t->renamed) {
            orr_result result = orr_name_set(m->b.world, m->chosen[t->first], t->scope,
                                             t->name[0] != '\0' ? t->name : NULL);
            oracle_refused(m, result != ORR_OK);
        }
    }
    for (uint32_t g = 0; g < m->random_group_count; g++) {
        oracle_switch(m, &m->random_groups[g]);
    }
    CHECK_OK(orr_destroy_many(m->b.world, dying, dying_count));
}

// ---- holding ------------------------------------------------------------------------------------

static void hold(model* m, orri_share* share)
{
    if (share == NULL || m->share_count == 64) {
        return;
    }
    m->copies[m->share_count] = malloc(share->size + 1);
    CHECK(m->copies[m->share_count] != NULL);
    if (share->size > 0 && (share->type == NULL || share->type->plain)) {
        memcpy(m->copies[m->share_count], share->data, share->size);
    }
    m->shares[m->share_count++] = share;
}

static void hold_some(model* m)
{
    orr_world* world = m->a.world;
    for (uint32_t i = 0; world->chunks.count > 1 && i < 20; i++) {
        orri_chunk* chunk = world->chunks.list[1 + below(m, world->chunks.count - 1)];
        if (chunk != NULL && chunk->cluster->parked != chunk) {
            hold(m, orri_share_column(world, chunk, below(m, chunk->column_count),
                                      below(m, 2) == 0 ? ORRI_SHARE_FROZEN : ORRI_SHARE_HISTORY));
        }
    }
    for (uint32_t page = 0; page < world->index.page_count; page++) {
        hold(m, orri_share_page(world, page, ORRI_SHARE_FROZEN));
    }
}

static void release_all(model* m)
{
    for (uint32_t i = 0; i < m->share_count; i++) {
        const orri_share* share = m->shares[i];
        if (share->size > 0 && share->data != NULL && (share->type == NULL || share->type->plain)) {
            CHECK_EQ(memcmp(m->copies[i], share->data, share->size), 0);
        }
        orri_share_release(m->a.world, m->shares[i]);
        free(m->copies[i]);
    }
    m->share_count = 0;
}

// ---- running ------------------------------------------------------------------------------------

static void side_begin(side* s)
{
    s->world = kit_begin(&s->k, NULL);
    for (uint32_t i = 0; i < TYPES; i++) {
        s->types[i] = orr_type_of(s->world, descs[i]);
        CHECK(s->types[i].id != 0);
    }
}

// Those that live now, in an order that changes a little, but keeps runs.
static void keep_live(model* m)
{
    uint32_t created = 0, count = 0;
    for (uint32_t g = 0; g < m->random_group_count; g++) {
        created += m->random_groups[g].kind == ORRI_CHANGE_KIND_CREATE ? m->random_groups[g].count
                                                                       : 0;
    }
    memcpy(m->live + m->live_count, m->chosen, created * sizeof *m->live);
    m->live_count += created;
    for (uint32_t i = 0; i < m->live_count; i++) {
        CHECK_EQ(orr_alive(m->a.world, m->live[i]), orr_alive(m->b.world, m->live[i]));
        if (orr_alive(m->a.world, m->live[i])) {
            m->live[count++] = m->live[i];
        }
    }
    m->live_count = count;
    for (uint32_t i = 0; count > 1 && i < 5; i++) {
        uint32_t x = below(m, count), y = below(m, count);
        orr_entity kept = m->live[x];
        m->live[x] = m->live[y];
        m->live[y] = kept;
    }
    if (count > 0) { // Begin elsewhere.
        uint32_t turn = below(m, count);
        static orr_entity turned[MOST];
        memcpy(turned, m->live + turn, (count - turn) * sizeof *turned);
        memcpy(turned + (count - turn), m->live, turn * sizeof *turned);
        memcpy(m->live, turned, count * sizeof *turned);
    }
}

static void run(uint32_t steps, uint32_t most_live, uint32_t group_most, bool holds)
{
    static model m;
    memset(&m, 0, sizeof m);
    m.seed = test_random();
    side_begin(&m.a);
    side_begin(&m.b);
    m.query = orr_query_create(m.a.world, &(orr_query_desc){.text = "Position, Ghost"});
    CHECK(m.query != NULL);
    for (uint32_t i = 0; i < steps; i++) {
        random_groups_make(&m, most_live, group_most);
        if (holds && below(&m, 2) == 0) {
            hold_some(&m);
        }
        set_apply(&m);
        oracle_apply(&m);
        keep_live(&m);
        release_all(&m);
        compare(&m);
        CHECK_EQ(m.left, m.oracle_left);
        if (below(&m, 4) == 0) {
            orr_tick_advance(m.a.world);
            orr_tick_advance(m.b.world);
        }
    }
    orr_query_destroy(m.query);
    orr_world_destroy(m.b.world);
    failing_alloc_check(&m.b.k.memory);
    kit_end(&m.a.k);
}

ORR_TEST(apply_random_small_sets_equal_single_calls)
{
    run(test_rounds(1500, 300, 8000), 40, 6, false);
}

ORR_TEST(apply_random_sets_leave_shared_blocks_unchanged)
{
    run(test_rounds(500, 100, 2000), 40, 6, true);
}

ORR_TEST(apply_random_large_groups_equal_single_calls)
{
    run(test_rounds(12, 4, 200), 5000, 900, false);
}
