// SPDX-License-Identifier: MIT
#include "message/deliver/play_kit.h"

#include <stdlib.h>

uint64_t draw(play* p, uint64_t below)
{
    return orr_random_below(orr_random(p->seed, p->drawn++, 1, 2), below);
}

// ---- beginning ----------------------------------------------------------------------------------

static void play_types(play* p)
{
    orr_world* w = p->world;
    orr_type types[TYPES] = {KIT_TYPE(w, Position), KIT_TYPE(w, Velocity), KIT_TYPE(w, Health),
                             KIT_TYPE(w, Padded),   KIT_TYPE(w, Tiny),     KIT_TYPE(w, Label),
                             KIT_TYPE(w, Frozen),   KIT_TYPE(w, Token),    KIT_TYPE(w, Parent),
                             KIT_TYPE(w, Big),      KIT_TYPE(w, Shot),     KIT_TYPE(w, Note),
                             KIT_TYPE(w, Body),     KIT_TYPE(w, Loose),    KIT_TYPE(w, Sign),
                             KIT_TYPE(w, Seen),     KIT_TYPE(w, Hidden)};
    memcpy(p->types, types, sizeof types);
    (void)KIT_TYPE(w, orr_name);
}

void play_begin(play* p, uint64_t seed, uint8_t fresh_byte)
{
    static const struct {
        const char* query;
        bool all, lazy;
        uint64_t queue_max;
    } readers[] = {
        {"Position", false, false, DELIVER_KIT_ALL},
        {"Position, ?Velocity, ?Health", false, false, DELIVER_KIT_ALL},
        {"Position, !Frozen, ?Label", false, true, DELIVER_KIT_ALL},
        {"Health|Velocity, ?Shot", false, false, DELIVER_KIT_ALL},
        {"either *, ?orr_enabled, ?orr_tags, ?Position, ?Shot, ?Body", false, false,
         DELIVER_KIT_ALL},
        {"disabled *, ?Tiny", false, false, DELIVER_KIT_ALL},
        {"disabled Health, ?Padded", false, true, DELIVER_KIT_ALL},
        {"#7, ?Position, ?Big", false, false, DELIVER_KIT_ALL},
        {"Body, ?Position, ?orr_name", false, false, DELIVER_KIT_ALL},
        {"!Body, Position, ?Loose", false, false, DELIVER_KIT_ALL},
        {"?orr_enabled, ?orr_tags", true, false, DELIVER_KIT_ALL},
        {"", true, true, DELIVER_KIT_ALL},
        {"Shot, ?Note, ?orr_enabled", false, false, DELIVER_KIT_ALL},
        {"either Body, either *, ?orr_enabled, ?Sign", false, true, DELIVER_KIT_ALL},
        {"Padded, ?Token, ?Parent, ?Frozen, ?Seen", false, false, DELIVER_KIT_ALL},
        {"Position, ?Note, ?orr_enabled", false, true, 300},
        {"disabled Body|disabled Shot, ?Label", false, false, DELIVER_KIT_ALL},
    };
    *p = (play){.seed = seed, .k.memory.fresh_byte = fresh_byte};
    p->world = kit_begin(&p->k, NULL);
    play_types(p);
    CHECK_OK(orr_tag_register(p->world, 7, "seven"));
    p->mirror_count = ORRI_COUNT(readers);
    for (uint32_t i = 0; i < p->mirror_count; i++) {
        p->mirrors[i] =
            mirror_make(p->world, readers[i].query, readers[i].all, readers[i].queue_max);
        p->lazy[i] = readers[i].lazy;
    }
    p->writing =
        orr_query_text(p->world, "write Position, ?write Health, ?write Shot, ?write Body");
    CHECK(p->writing != NULL);
}

void play_end(play* p)
{
    CHECK_OK(orr_entities_destroy_all(p->world));
    for (uint32_t i = 0; i < p->mirror_count; i++) {
        orri_reader_destroy(p->world, mirror_reader(p->mirrors[i]));
        mirror_free(p->mirrors[i]);
    }
    orr_world_stats stats;
    orr_tick_advance(p->world);
    orr_world_stats_get(p->world, &stats);
    CHECK_EQ(stats.blobs, 0); // The baseline held texts; none of them is left.
    kit_end(&p->k);
}

// ---- picking ------------------------------------------------------------------------------------

static orr_entity* play_place(play* p)
{
    return &p->ids[draw(p, IDS)];
}

static orr_entity play_entity(play* p)
{
    for (uint32_t i = 0; i < 30; i++) {
        orr_entity id = *play_place(p);
        if (orr_alive(p->world, id)) {
            return id;
        }
    }
    return *play_place(p) = orr_create(p->world);
}

static orr_type play_type(play* p)
{
    return p->types[draw(p, TYPES)];
}

// A value of any type; texts contain the number beside them.
static void play_value(play* p, orr_type type, uint8_t* out)
{
    const orr_type_info* info = orr_type_info_get(p->world, type);
    const char* name = info->name;
    memset(out, (int)draw(p, 256), info->size); // Padding.
    if (strcmp(name, "Label") == 0 || strcmp(name, "Note") == 0 || strcmp(name, "Sign") == 0) {
        Label label = {.number = (int32_t)draw(p, 4)};
        char text[32];
        (void)snprintf(text, sizeof text, "t%d", label.number);
        label.text = label.number != 0 ? orr_string_make(p->world, text) : (orr_string){0, 0};
        memcpy(out, &label, sizeof label);
    } else if (strcmp(name, "Parent") == 0) {
        // A child is never older than its parent, so that not everything depends on everything.
        Parent parent = {draw(p, 3) == 0 ? play_entity(p) : (orr_entity){0}};
        memcpy(out, &parent, sizeof parent);
    } else if (strcmp(name, "Token") == 0) {
        Token token = kit_token((uint32_t)draw(p, 4));
        memcpy(out, &token, sizeof token);
    } else if (strcmp(name, "Padded") == 0 || strcmp(name, "Loose") == 0) {
        Padded* padded = (Padded*)(void*)out;
        padded->a = (uint8_t)draw(p, 2);
        padded->b = (double)draw(p, 2);
        padded->c = 0;
    } else {
        memset(out, 0, info->size);
        for (uint32_t i = 0; i + 4 <= info->size && i < 12; i += 4) {
            out[i + 3] = (uint8_t)(draw(p, 3) << 4);
        }
    }
}

static uint32_t play_some(play* p, orr_entity* out, uint32_t most)
{
    uint32_t count = 0, wanted = (uint32_t)draw(p, most) + 1;
    for (uint32_t i = 0; i < wanted; i++) {
        orr_entity id = play_entity(p);
        bool twice = false;
        for (uint32_t k = 0; k < count; k++) {
            twice = twice || out[k].id == id.id;
        }
        if (!twice) {
            out[count++] = id;
        }
    }
    return count;
}

// Clusters may be deleted at any time: they are created again when needed.
static orr_cluster play_cluster(play* p)
{
    orr_type types[TYPES];
    uint32_t count = 0, chosen = (uint32_t)draw(p, 64);
    for (uint32_t t = 0; t < 12; t++) {
        if ((chosen * 2654435761u >> (t + 8) & 3) == 0) {
            types[count++] = p->types[t];
        }
    }
    orr_tag tags[2] = {7, 9};
    orr_cluster cluster = {0, 0};
    CHECK_OK(orr_cluster_get(
        p->world,
        &(orr_cluster_desc){
            .types = types, .type_count = count, .tags = tags, .tag_count = (uint32_t)(chosen % 3)},
        &cluster));
    return cluster;
}

// ---- changes ------------------------------------------------------------------------------------

static _Alignas(64) uint8_t play_buffer[4096 * 256];

static void play_create(play* p)
{
    switch (draw(p, 4)) {
    case 0:
        *play_place(p) = orr_create(p->world);
        break;
    case 1:
        *play_place(p) = orr_create_in(p->world, play_cluster(p));
        break;
    case 2:
        *play_place(p) = orr_copy(p->world, play_entity(p));
        break;
    default: {
        orr_entity out[64];
        uint32_t count = (uint32_t)draw(p, 64) + 1;
        CHECK_OK(orr_create_many(p->world, play_cluster(p), count, NULL, 0, out));
        for (uint32_t i = 0; i < count; i++) {
            *play_place(p) = out[i];
        }
    }
    }
}

static void play_destroy(play* p)
{
    orr_entity some[16];
    if (draw(p, 2) == 0) {
        CHECK_OK(orr_destroy(p->world, play_entity(p)));
    } else {
        CHECK_OK(orr_destroy_many(p->world, some, play_some(p, some, 16)));
    }
}

static void play_component(play* p)
{
    orr_entity id = play_entity(p);
    orr_type type = play_type(p);
    bool multiple = orr_type_info_get(p->world, type)->multiplicity == ORR_MULTIPLE;
    switch (draw(p, 4)) {
    case 0:
        CHECK_OK(orr_component_add(p->world, id, type));
        break;
    case 1:
        CHECK_OK(orr_component_remove(p->world, id, type));
        break;
    default:
        play_value(p, type, play_buffer);
        if (!multiple && orr_alive(p->world, id)) {
            CHECK_OK(orr_component_set(p->world, id, type, play_buffer));
        }
    }
}

static void play_many(play* p)
{
    orr_entity some[24];
    orr_type type = play_type(p);
    const orr_type_info* info = orr_type_info_get(p->world, type);
    uint32_t count = play_some(p, some, 24);
    for (uint32_t i = 0; i < count; i++) {
        play_value(p, type, play_buffer + (size_t)i * info->size);
    }
    switch (draw(p, 3)) {
    case 0:
        CHECK_OK(orr_component_add_many(p->world, some, count, type, NULL));
        break;
    case 1:
        CHECK_OK(orr_component_remove_many(p->world, some, count, type));
        break;
    default:
        if (info->multiplicity != ORR_MULTIPLE) {
            CHECK_OK(orr_component_add_many(p->world, some, count, type, play_buffer));
            CHECK_OK(orr_component_set_many(p->world, some, count, type, play_buffer));
        }
    }
}

static void play_instance(play* p)
{
    orr_entity id = play_entity(p);
    orr_type type = p->types[10 + draw(p, 2)];
    const orr_component_id* ids = NULL;
    uint32_t count = orr_instances_get(p->world, id, type, NULL, &ids);
    orr_component_id chosen = count > 0 ? ids[draw(p, count)] : 0;
    play_value(p, type, play_buffer);
    uint64_t what = draw(p, 5);
    if (count == 0 || (what < 2 && count < 40)) {
        CHECK(orr_instance_add(p->world, id, type, what == 0 ? play_buffer : NULL) != 0);
    } else if (what == 2) {
        CHECK_OK(orr_instance_set(p->world, id, type, chosen, play_buffer));
    } else if (what == 3) {
        CHECK_OK(
            orr_instance_enable(p->world, id, type, draw(p, 3) == 0 ? 0 : chosen, draw(p, 2) == 0));
    } else {
        CHECK_OK(orr_instance_remove(p->world, id, type, chosen));
    }
}

static void play_switch(play* p)
{
    orr_entity id = play_entity(p);
    if (draw(p, 2) == 0) {
        CHECK_OK(orr_entity_enable(p->world, id, draw(p, 2) == 0));
        return;
    }
    for (uint32_t i = 0; i < 8; i++) {
        orr_type type = play_type(p);
        if (orr_component_has(p->world, id, type)) {
            CHECK_OK(orr_component_enable(p->world, id, type, draw(p, 2) == 0));
        }
    }
}

static void play_tag(play* p)
{
    orr_entity id = play_entity(p);
    orr_tag tag = draw(p, 2) == 0 ? 7 : 9;
    CHECK_OK(draw(p, 2) == 0 ? orr_tag_add(p->world, id, tag) : orr_tag_remove(p->world, id, tag));
}

static void play_name(play* p)
{
    orr_entity id = play_entity(p);
    char name[16];
    (void)snprintf(name, sizeof name, "n%u", (unsigned)draw(p, 8));
    orr_entity other = orr_find(p->world, (orr_entity){0}, name);
    if (draw(p, 3) == 0) {
        CHECK_OK(orr_name_set(p->world, id, (orr_entity){0}, NULL));
    } else if (other.id == 0) {
        CHECK_OK(orr_name_set(p->world, id, (orr_entity){0}, name));
    }
}

// Raw columns, written with the same, other, or again the same values.
static void play_raw(play* p)
{
    orr_entity id = play_entity(p);
    orr_address at;
    orr_type type = p->types[draw(p, 5)];
    CHECK_OK(orr_address_get(p->world, id, &at));
    uint32_t chunk = at.row / ORR_CHUNK_CAPACITY;
    uint8_t* column = orr_column_write(p->world, at.cluster, chunk, type);
    size_t size = orr_type_info_get(p->world, type)->size;
    uint32_t rows = orr_chunk_count(p->world, at.cluster, chunk);
    for (uint32_t r = 0; column != NULL && r < rows; r++) {
        if (draw(p, 4) == 0) {
            play_value(p, type, play_buffer);
            memcpy(column + r * size, play_buffer, size);
        }
    }
}

static void play_move(play* p)
{
    orr_entity id = play_entity(p);
    orr_cluster to = play_cluster(p), from = orr_entity_cluster(p->world, id);
    uint32_t rows = kit_rows(p->world, from);
    uint64_t what = draw(p, 3);
    // Rows with more instances than the target has room for are refused; that is no change either.
    if (what == 0) {
        (void)orr_entity_move(p->world, id, to);
    } else if (what == 1) {
        uint32_t first = (uint32_t)draw(p, rows);
        (void)orr_rows_move(p->world, from, first, (uint32_t)draw(p, rows - first) + 1, to);
    } else {
        (void)orr_rows_move_all(p->world, from, to);
    }
}

static void play_bulk(play* p)
{
    static const char* const texts[] = {"Frozen", "Velocity, !Tiny", "Body", "disabled *",
                                        "#9",     "Health|Label"};
    orr_query* query = orr_query_text(p->world, texts[draw(p, ORRI_COUNT(texts))]);
    orr_type type = p->types[draw(p, 7)];
    uint64_t what = draw(p, 6);
    if (what < 3) {
        CHECK_OK(orr_query_add(query, type, NULL));
    } else if (what < 5) {
        CHECK_OK(orr_query_remove(query, type));
    } else if (draw(p, 4) == 0) {
        CHECK_OK(orr_query_destroy_entities(query));
    }
    orr_query_destroy(query);
}

static void play_clusters(play* p)
{
    orr_tag tag = 9;
    switch (draw(p, 12)) {
    case 0:
        CHECK_OK(orr_clusters_delete(p->world, &(orr_cluster_match){.tags = &tag, .tag_count = 1},
                                     NULL));
        break;
    case 1:
        CHECK_OK(orr_cluster_clear(p->world, orr_entity_cluster(p->world, play_entity(p))));
        break;
    case 2:
        CHECK_OK(orr_cluster_delete(p->world, orr_entity_cluster(p->world, play_entity(p))));
        break;
    case 3:
        if (draw(p, 6) == 0) {
            CHECK_OK(orr_entities_destroy_all(p->world));
        }
        break;
    case 4: { // More than one chunk, and gone again.
        orr_cluster cluster = play_cluster(p);
        CHECK_OK(orr_create_many(p->world, cluster, 3000, NULL, 0, NULL));
        break;
    }
    case 5:
        orr_tick_advance(p->world);
        break;
    case 6:
        (void)orr_world_hash(p->world);
        break;
    default: {
        orr_appender a;
        orr_cluster cluster = play_cluster(p);
        CHECK_OK(orr_append_begin(p->world, cluster, NULL, 0, &a));
        for (uint64_t n = draw(p, 8); n > 0; n--) {
            uint32_t i = orr_append(&a);
            CHECK(i != ORR_APPEND_NONE);
            *play_place(p) = a.entities[i];
        }
        orr_append_end(&a);
    }
    }
}

// Writes values in a loop, like a direct system.
void play_loop(play* p)
{
    uint64_t skip = draw(p, 3);
    ORR_EACH (it, p->writing) {
        if (draw(p, 4) < skip) {
            continue;
        }
        Position* positions = orr_write(&it, Position);
        Health* healths = orr_write(&it, Health);
        Shot* shots = orr_write(&it, Shot);
        orr_instances instances = shots != NULL ? orr_instances_of(&it, Shot) : (orr_instances){0};
        for (uint32_t i = 0; i < it.count; i++) {
            positions[i].x += (float)draw(p, 2);
            if (healths != NULL) {
                healths[i].value ^= (int32_t)draw(p, 2);
            }
            if (shots != NULL && draw(p, 3) == 0) {
                shots[(size_t)i * instances.capacity].power++;
            }
            Body* body = orr_write_pinned(&it, Body, i);
            if (body != NULL && draw(p, 2) == 0) {
                body->speed++;
            }
        }
    }
}

void play_change(play* p)
{
    static void (*const changes[])(play*) = {
        play_create,    play_create, play_destroy, play_component, play_component,
        play_component, play_many,   play_many,    play_instance,  play_instance,
        play_instance,  play_switch, play_switch,  play_tag,       play_name,
        play_raw,       play_move,   play_bulk,    play_clusters,  play_loop};
    changes[draw(p, ORRI_COUNT(changes))](p);
}

// ---- notifying ----------------------------------------------------------------------------------

static bool play_is_empty(void* user, const orr_world* world, orr_cluster cluster)
{
    (void)user;
    return kit_rows(world, cluster) == 0;
}

void play_shrink(play* p)
{
    if (p->world->clusters.count > 200) {
        CHECK_OK(
            orr_clusters_delete(p->world, &(orr_cluster_match){.predicate = play_is_empty}, NULL));
    }
    if (orr_entity_count(p->world) < 300) {
        return;
    }
    orr_cluster largest = {0, 0}, c = {0, 0};
    while ((c = orr_cluster_next(p->world, c)).id != 0) {
        largest = largest.id == 0 || kit_rows(p->world, c) > kit_rows(p->world, largest) ? c
                                                                                         : largest;
    }
    CHECK_OK(draw(p, 2) == 0 ? orr_cluster_clear(p->world, largest)
                             : orr_cluster_delete(p->world, largest));
}

void play_take(play* p, bool all)
{
    for (uint32_t i = 0; i < p->mirror_count; i++) {
        if (orri_reader_lost(mirror_reader(p->mirrors[i]))) {
            mirror_clear(p->mirrors[i]);
            p->behind[i] = true; // The next diff sends it everything again.
        }
        if (all || !p->lazy[i] || draw(p, 4) == 0) {
            mirror_take(p->mirrors[i]);
        }
    }
}

void play_compare(play* p)
{
    for (uint32_t i = 0; i < p->mirror_count; i++) {
        if (!p->behind[i] && orri_reader_queued(mirror_reader(p->mirrors[i])) == 0) {
            mirror_compare(p->mirrors[i]);
            p->compared[i]++;
        }
    }
}

static void play_reader(play* p)
{
    mirror* m = p->mirrors[draw(p, p->mirror_count)];
    orri_reader_enable(p->world, mirror_reader(m), false);
    orri_reader_done(mirror_reader(m));
    CHECK(orri_reader_next(mirror_reader(m)) == NULL);
    mirror_clear(m);
    if (draw(p, 2) == 0) {
        play_change(p);
    }
    orri_reader_enable(p->world, mirror_reader(m), true);
}

// One of two pipelines sends the types it owns.
static orr_result play_diff_own(play* p, uint32_t which, bool by_commit, bool structure)
{
    return orri_diff_own(p->world, (orr_system){which + 1, 1}, by_commit, &p->foreign[which],
                         structure);
}

static orr_result play_diff_all(play* p, bool by_commit)
{
    if (!p->two) {
        return orri_diff_run(p->world, (orr_system){0, 0}, by_commit);
    }
    uint32_t first = (uint32_t)draw(p, 2);
    orr_result result = play_diff_own(p, first, by_commit, true);
    return result == ORR_OK ? play_diff_own(p, !first, false, draw(p, 2) == 0) : result;
}

// Only a part is sent, and changes continue.
static void play_half(play* p)
{
    for (uint64_t n = draw(p, 4); n > 0; n--) {
        uint32_t which = (uint32_t)draw(p, 2);
        CHECK_OK(play_diff_own(p, which, draw(p, 2) == 0, true));
        if (draw(p, 2) == 0) { // Values alone.
            play_loop(p);
            CHECK_OK(play_diff_own(p, (uint32_t)draw(p, 2), false, false));
        }
        play_take(p, draw(p, 2) == 0);
        play_change(p);
        if (draw(p, 6) == 0) {
            play_reader(p);
        }
    }
}

// Sometimes memory is refused: then the next diff finds the rest.
void play_diff(play* p)
{
    memset(p->behind, 0, sizeof p->behind);
    bool by_commit = draw(p, 2) == 0;
    if (draw(p, 3) == 0) {
        failing_alloc_arm(&p->k.memory, draw(p, 24) + 1, draw(p, 2) == 0);
        orr_result result = play_diff_all(p, by_commit);
        CHECK((result == ORR_ERR_MEMORY) == (p->k.memory.refused > 0));
        failing_alloc_arm(&p->k.memory, 0, false);
        if (draw(p, 2) == 0) {
            play_take(p, false);
        }
        if (draw(p, 2) == 0) {
            play_change(p);
        }
    }
    CHECK_OK(play_diff_all(p, by_commit));
    for (uint32_t i = 0; i < p->mirror_count; i++) {
        p->hash = orri_reader_hash(mirror_reader(p->mirrors[i]), p->hash);
    }
}

void play_step(play* p)
{
    for (uint64_t n = draw(p, 4) + 1; n > 0; n--) {
        play_change(p);
    }
    if (draw(p, 40) == 0) {
        play_reader(p);
    }
    if (p->two) {
        play_half(p);
    }
    play_diff(p);
    play_take(p, false);
    play_compare(p);
    if (draw(p, 3) == 0) {
        play_loop(p);
        CHECK_OK(orri_diff_written(p->world, p->writing, (orr_system){3, 1}));
        play_take(p, draw(p, 2) == 0);
        play_compare(p);
    }
    play_shrink(p);
}
