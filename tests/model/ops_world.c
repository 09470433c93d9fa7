// SPDX-License-Identifier: MIT
// Operations on the whole world, and on shares of its blocks.
#include "model/ops.h"

#include "store/cow/row_log.h"
#include "test.h"

#include <stdlib.h>

static void op_tick(ops* s)
{
    uint64_t tick = orr_world_tick(s->world);
    orr_tick_advance(s->world);
    MODEL_CHECK(orr_world_tick(s->world) == tick + 1);
    s->done++;
}

static void op_hash(ops* s)
{
    if (!s->shape->hash_seldom) {
        uint64_t hash = orr_world_hash(s->world);
        MODEL_CHECK(orr_world_hash(s->world) == hash);
    }
}

static void op_string(ops* s)
{
    char text[4] = {(char)('a' + ops_below(s, 6)), (char)('a' + ops_below(s, 6)), 0, 0};
    orr_string string = orr_string_make(s->world, text);
    if (string.id == 0) {
        (void)ops_refused(s, ops_last_result(s));
        return;
    }
    s->done++;
    MODEL_CHECK(strcmp(orr_string_text(s->world, string), text) == 0);
    orr_string again = orr_string_make(s->world, text);
    MODEL_CHECK(again.id == string.id && again.generation == string.generation);
}

static void op_register(ops* s)
{
    if (s->later_done < s->shape->later_types) {
        uint32_t count = s->oracle.type_count;
        ops_type_register_next(s);
        s->later_done += s->oracle.type_count > count;
    }
}

static void op_name_tag(ops* s)
{
    char name[16];
    uint32_t index = ops_below(s, s->shape->tags);
    orr_tag tag = s->tags[index], found = 0;
    snprintf(name, sizeof name, "tag%u", index);
    if (!ops_refused(s, orr_tag_register(s->world, tag, name))) {
        MODEL_CHECK(orr_tag_find(s->world, name, &found) && found == tag);
        MODEL_CHECK(strcmp(orr_tag_name(s->world, tag), name) == 0);
    }
}

static void op_destroy_all(ops* s)
{
    if (!ops_chance(s, 8) || !ops_chance(s, s->shape->calm) ||
        ops_refused(s, orr_entities_destroy_all(s->world))) {
        return;
    }
    oracle_destroy_all(&s->oracle);
    MODEL_CHECK(orr_entity_count(s->world) == 0);
}

// ---- shares -------------------------------------------------------------------------------------

// All columns of a cluster's chunks, or all pages of the index, with the bytes of the moment they
// were shared.
struct ops_share {
    orri_share** shares;
    uint8_t** bytes;
    uint32_t count;
    orri_share_kind kind;
};

static void ops_share_keep(ops_share* held, orri_share* share)
{
    held->shares[held->count] = share;
    held->bytes[held->count] = malloc(share->size + 1);
    MODEL_CHECK(held->bytes[held->count] != NULL);
    if (share->size > 0) {
        memcpy(held->bytes[held->count], share->data, share->size);
    }
    held->count++;
}

static void ops_share_free(ops* s, ops_share* held)
{
    for (uint32_t i = 0; i < held->count; i++) {
        orri_share_release(s->world, held->shares[i]);
        free(held->bytes[i]);
    }
    free(held->shares);
    free(held->bytes);
    free(held);
}

static ops_share* ops_share_begin(uint32_t count, orri_share_kind kind)
{
    ops_share* held = calloc(1, sizeof *held);
    MODEL_CHECK(held != NULL);
    held->shares = calloc(count + 1, sizeof *held->shares);
    held->bytes = calloc(count + 1, sizeof *held->bytes);
    MODEL_CHECK(held->shares != NULL && held->bytes != NULL);
    held->kind = kind;
    return held;
}

static bool ops_share_columns(ops* s, ops_share* held, const orri_cluster* cluster)
{
    for (uint32_t i = 0; i < cluster->chunk_count; i++) {
        orri_chunk* chunk = cluster->chunks[i];
        for (uint32_t c = 0; c < chunk->column_count; c++) {
            orri_share* share = orri_share_column(s->world, chunk, c, held->kind);
            if (share == NULL) {
                return false;
            }
            ops_share_keep(held, share);
        }
    }
    return true;
}

static bool ops_share_pages(ops* s, ops_share* held)
{
    for (uint32_t i = 0; i < s->world->index.page_count; i++) {
        orri_share* share = orri_share_page(s->world, i, held->kind);
        if (share == NULL) {
            return false;
        }
        ops_share_keep(held, share);
    }
    return true;
}

static void op_share_take(ops* s)
{
    uint32_t place = ops_below(s, OPS_SHARES_MAX);
    orri_share_kind kind = ops_chance(s, 2) ? ORRI_SHARE_FROZEN : ORRI_SHARE_HISTORY;
    bool pages = ops_chance(s, 3);
    orr_cluster handle = ops_pick_cluster(s);
    // All bytes are read first: a run without shares then does the same afterwards.
    if (!s->shape->shares || s->shares[place] != NULL) {
        return;
    }
    ops_share* held;
    bool taken;
    if (pages) {
        held = ops_share_begin(s->world->index.page_count, kind);
        taken = ops_share_pages(s, held);
    } else {
        const orri_cluster* cluster = orri_cluster_at(s->world, handle);
        if (cluster == NULL) {
            return;
        }
        held = ops_share_begin(cluster->chunk_count * 2 * cluster->column_count, kind);
        taken = ops_share_columns(s, held, cluster);
    }
    if (taken) {
        s->shares[place] = held;
    } else {
        MODEL_CHECK(s->armed && s->kit.memory.refused > 0);
        ops_share_free(s, held);
    }
}

// A copy has clean padding, and copied tokens have other slots: values are compared, not bytes.
static bool ops_share_equals(const orri_share* share, const uint8_t* data, const uint8_t* bytes)
{
    const orr_type_info* info = share->type != NULL ? &share->type->info : NULL;
    if (info == NULL || (!info->has_hooks && !info->has_padding)) {
        return memcmp(data, bytes, share->size) == 0;
    }
    // A row of a multiple type has several values; those beyond its count (known where it matters)
    // are no values.
    uint32_t per_row = info->size > 0 ? share->row_size / info->size : 1;
    for (uint32_t i = 0; i < share->rows; i++) {
        uint32_t count = share->counts != NULL ? share->counts[i] : per_row;
        for (uint32_t k = 0; k < count; k++) {
            size_t offset = ((size_t)i * per_row + k) * info->size;
            if (orr_value_compare(info, data + offset, bytes + offset) != 0) {
                return false;
            }
        }
    }
    return true;
}

static bool ops_share_same(const orri_share* share, const uint8_t* bytes)
{
    if (share->log == NULL) {
        return ops_share_equals(share, share->data, bytes);
    }
    uint8_t* read = malloc(share->size); // Belongs to another, except for some rows.
    MODEL_CHECK(read != NULL);
    orri_row_log_read(share, read);
    bool same = ops_share_equals(share, read, bytes);
    free(read);
    return same;
}

static void ops_share_check_one(ops* s, ops_share* held)
{
    for (uint32_t i = 0; i < held->count; i++) {
        const orri_share* share = held->shares[i];
        if (share->lost) {
            // Only if memory was refused, and never a frozen share: that would have been refused
            // instead.
            MODEL_CHECK(s->shape->refuse_memory || s->shape->refuse_hooks);
            MODEL_CHECK(share->kind == ORRI_SHARE_HISTORY);
        } else if (share->size > 0) {
            MODEL_CHECK(ops_share_same(share, held->bytes[i]));
        }
    }
}

void ops_shares_check(ops* s)
{
    for (uint32_t i = 0; i < OPS_SHARES_MAX; i++) {
        if (s->shares[i] != NULL) {
            ops_share_check_one(s, s->shares[i]);
        }
    }
}

void ops_shares_release(ops* s)
{
    for (uint32_t i = 0; i < OPS_SHARES_MAX; i++) {
        if (s->shares[i] != NULL) {
            ops_share_free(s, s->shares[i]);
            s->shares[i] = NULL;
        }
    }
}

uint64_t ops_share_tokens(orri_share* share, uint64_t round)
{
    uint64_t count = 0;
    bool counted = share->round == round;
    share->round = round;
    // While the share is attached, the values are the world's.
    if (counted || share->type == NULL || !share->type->info.has_hooks || share->attached != NULL ||
        share->lost) {
        return 0;
    }
    for (uint32_t row = 0; row < share->rows; row++) {
        count += share->counts != NULL ? share->counts[row] : 1;
    }
    return count;
}

uint64_t ops_shares_tokens(const ops* s, uint64_t round)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < OPS_SHARES_MAX; i++) {
        for (uint32_t j = 0; s->shares[i] != NULL && j < s->shares[i]->count; j++) {
            count += ops_share_tokens(s->shares[i]->shares[j], round);
        }
    }
    return count;
}

static void op_share_release(ops* s)
{
    uint32_t place = ops_below(s, OPS_SHARES_MAX);
    if (s->shares[place] != NULL) {
        ops_share_check_one(s, s->shares[place]);
        ops_share_free(s, s->shares[place]);
        s->shares[place] = NULL;
    }
}

const ops_entry ops_world_table[] = {
    {"tick", 8, op_tick},
    {"hash", 4, op_hash},
    {"string", 4, op_string},
    {"register", 2, op_register},
    {"name_tag", 2, op_name_tag},
    {"destroy_all", 1, op_destroy_all},
    {"share_take", 8, op_share_take},
    {"share_release", 6, op_share_release},
    {NULL, 0, NULL},
};
