// SPDX-License-Identifier: MIT
// Applies waiting transactions: for each type gathers the streams of all command buffers, makes room,
// and has the posts distributed and applied (ranges.c). Everything that may be refused comes first,
// for all types.
#include "message/transaction/ranges.h"
#include "store/pool/pool.h"

#define APPLY_SHARED_MIN  16384u // With fewer posts of a type, other workers do not pay off.
#define APPLY_SLICE_POSTS 65536u // A slice and its ops fit into the second-level cache.
#define APPLY_SLICE_SHARE 16384u // The same where several workers share the slices.
#define APPLY_RANGE_POSTS 1024u
#define APPLY_RANGES      512u

// ---- steps that may be refused ------------------------------------------------------------------

// Memory until the end of orri_transaction_commit().
static void* apply_take(const orri_post_ranges* t, size_t size, size_t count)
{
    return orri_commit_arena_take(t->world, &t->command_buffers->shared->apply_arena,
                                  orri_size_mul(size, count));
}

// Streams with the same verbs share their copy; functions never do.
static bool apply_same_verbs(const orri_stream* a, const orri_stream* b)
{
    bool same = a->verb_count == b->verb_count;
    for (uint32_t i = 0; same && i < a->verb_count; i++) {
        const orri_verb *x = &a->verbs[i], *y = &b->verbs[i];
        same = x->function == NULL && y->function == NULL && x->id == y->id &&
               x->offset == y->offset && x->size == y->size && x->op == y->op;
    }
    return same;
}

static orri_stream* apply_stream(const struct orri_posts* posts, orr_type type)
{
    for (uint32_t i = 0; i < posts->stream_count; i++) {
        if (posts->streams[i].type.id == type.id && posts->streams[i].count > 0) {
            return &posts->streams[i];
        }
    }
    return NULL;
}

// Posts of another pipeline wait until the structure sent with them is committed.
static bool apply_ready(const struct orri_command_buffers* command_buffers,
                        const struct orri_posts* posts)
{
    return posts->command_buffers == NULL || posts->command_buffers == command_buffers ||
           posts->ready;
}

// Collects the streams of the type and their verbs. False when refused.
static bool apply_gather(orri_post_ranges* t)
{
    orr_type type = {t->site.type->id};
    uint64_t verbs = 0, count = 0;
    t->parts = apply_take(t, sizeof *t->parts, t->command_buffers->shared->posts_used);
    for (struct orri_posts* posts = t->command_buffers->shared->posted;
         t->parts != NULL && posts != NULL; posts = posts->next) {
        orri_stream* stream = apply_ready(t->command_buffers, posts) ? apply_stream(posts, type)
                                                                     : NULL;
        if (stream == NULL) {
            continue;
        }
        t->calls |= stream->calls;
        orri_post_part* before = t->part_count > 0 ? &t->parts[t->part_count - 1] : NULL;
        bool same = before != NULL && apply_same_verbs(before->stream, stream);
        t->parts[t->part_count++] =
            (orri_post_part){.posts = posts,
                             .stream = stream,
                             .first = (uint32_t)count,
                             .verbs = same ? before->verbs : (uint32_t)verbs,
                             .done = stream->count};
        verbs += same ? 0 : stream->verb_count;
        count += stream->count;
    }
    t->count = (uint32_t)count;
    t->verb_count = (uint32_t)verbs;
    t->verbs = count <= UINT32_MAX && verbs <= UINT32_MAX
                   ? apply_take(t, sizeof *t->verbs, (size_t)verbs)
                   : NULL;
    for (uint32_t i = 0; t->verbs != NULL && i < t->part_count; i++) {
        const orri_stream* stream = t->parts[i].stream;
        memcpy(t->verbs + t->parts[i].verbs, stream->verbs,
               stream->verb_count * sizeof *stream->verbs);
    }
    return t->parts != NULL && t->verbs != NULL;
}

// Chooses the numbers of slices and ranges. Functions are called in the order of posts, whatever
// the target: one range.
static void apply_divide(orri_post_ranges* t)
{
    uint32_t ranges = t->calls ? 1 : t->count / APPLY_RANGE_POSTS;
    ranges = ranges < 1 ? 1 : ranges > APPLY_RANGES ? APPLY_RANGES : ranges;
    t->slice_posts = t->workers != NULL ? APPLY_SLICE_SHARE : APPLY_SLICE_POSTS;
    t->slice_count = (uint32_t)(((uint64_t)t->count + t->slice_posts - 1) / t->slice_posts);
    t->range_shift = 0;
    while (t->world->hot.count >> t->range_shift >= ranges) {
        t->range_shift++;
    }
    t->range_count = (t->world->hot.count >> t->range_shift) + 1;
}

// Memory for one type. False when refused.
static bool apply_reserve(orri_post_ranges* t)
{
    apply_divide(t);
    t->ops = apply_take(t, sizeof *t->ops, t->count);
    t->op_verbs = t->verb_count > 1 ? apply_take(t, sizeof *t->op_verbs, t->count) : NULL;
    t->ends = apply_take(t, sizeof *t->ends, (size_t)t->slice_count * t->range_count);
    t->skips = apply_take(t, sizeof *t->skips, t->range_count);
    t->states = apply_take(t, 1, (size_t)t->block_count + 1);
    t->blocks = apply_take(t, sizeof *t->blocks, (size_t)t->block_count + 1);
    t->site.blocks = t->blocks;
    if (t->ops == NULL || (t->op_verbs == NULL && t->verb_count > 1) || t->ends == NULL ||
        t->skips == NULL || t->states == NULL || t->blocks == NULL) {
        return false;
    }
    memset(t->skips, 0, t->range_count * sizeof *t->skips);
    memset(t->states, ORRI_BLOCK_UNKNOWN, (size_t)t->block_count + 1);
    memset(t->blocks, 0, ((size_t)t->block_count + 1) * sizeof *t->blocks);
    return true;
}

// Copies only the written rows for snapshots, where there are few posts.
static bool apply_own_rows(const orri_post_ranges* t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t place = (uint32_t)t->ops[i].target;
        orri_chunk* chunk = place < ORRI_PLACE_ABSENT ? orri_place_chunk(t->world, place) : NULL;
        if (chunk != NULL && chunk->share_count > 0) {
            int32_t column = orri_table_column(t->world, t->type_index, chunk->id);
            if (!orri_rows_prepare(t->world, chunk, (uint32_t)column, orri_place_slot(place), 1)) {
                return false;
            }
        }
    }
    return true;
}

// Blocks are shared with snapshots: copies what will be written.
static bool apply_own_blocks(const orri_post_ranges* t)
{
    bool shared = !t->at_once && t->site.pool == NULL && t->world->cow.live > 0;
    if (shared && t->count >> (ORRI_SLOT_BITS - t->world->cow.row_log_shift) <= t->block_count) {
        return apply_own_rows(t);
    }
    for (uint32_t b = 0; shared && b < t->block_count; b++) {
        if (t->states[b] == ORRI_BLOCK_TARGETED) {
            int32_t column = orri_table_column(t->world, t->type_index, b);
            if (!orri_column_prepare(t->world, t->world->chunks.list[b], (uint32_t)column)) {
                return false;
            }
        }
    }
    return true;
}

static orr_result apply_prepare(orri_post_ranges* t)
{
    const orri_type* type = t->site.type;
    t->site.world = t->world;
    t->site.slot_bits = ORRI_SLOT_BITS;
    t->block_count = t->world->chunks.count;
    t->type_index = orri_type_index(t->world, (orr_type){type->id});
    if (orri_type_pinned(type)) {
        static const orri_pool no_pool = {.slot_bits = ORRI_SLOT_BITS};
        const orri_pool* pool = orri_pool_find(t->world, (orr_type){type->id});
        t->site.pool = pool != NULL ? pool : &no_pool;
        t->site.slot_bits = t->site.pool->slot_bits;
        t->block_count = t->site.pool->block_count;
    }
    if (!apply_gather(t)) {
        return orri_refuse_memory(&t->world->env, "applying transactions");
    }
    t->workers = t->count >= APPLY_SHARED_MIN ? t->workers : NULL;
    if (!apply_reserve(t)) {
        return orri_refuse_memory(&t->world->env, "applying transactions");
    }
    orri_post_ranges_distribute(t);
    t->at_once = t->workers == NULL && t->world->cow.live == 0;
    if (!t->at_once) {
        orri_post_ranges_find(t);
    }
    return apply_own_blocks(t) ? ORR_OK : orri_env_result(&t->world->env);
}

// ---- afterwards ---------------------------------------------------------------------------------

// Counts and logs a post without effect.
static void apply_drop(const orri_post_ranges* t, orri_post_part* part, orr_entity entity,
                       bool dead)
{
    // Structure of the same commit destroyed the entity or removed the component: the sender could
    // not know.
    bool known = t->merged &&
                 orri_pending_get(t->command_buffers->seen, t->command_buffers->mark_words,
                                  orri_id_index(entity));
    if (!known) {
        orr_type type = {t->site.type->id};
        orri_rights_note_dropped(t->world, part->posts->rights, type, 1,
                                 orri_drop_order(part->posts->unit, UINT32_MAX),
                                 dead ? ORR_ERR_ENTITY : ORR_ERR_ABSENT);
        orri_log_drop(t->world, part->posts->rights, "a transaction", type, entity,
                      dead ? orri_dead_reason(entity) : "the entity does not have this component");
    }
}

// Handles posts that had no effect or must wait, in the order of posts. Where they are is looked up
// once more: nothing has moved since.
static void apply_skipped(const orri_post_ranges* t)
{
    orri_post_walk walk = orri_post_walk_begin(t->parts, t->part_count, 0, t->count);
    orri_post_span span;
    while (orri_post_walk_next(t->parts, &walk, &span)) {
        orri_post_part* part = &t->parts[span.part - t->parts];
        for (uint32_t i = 0; i < span.count; i++) {
            orr_entity entity = span.posts[i].entity;
            uint32_t place = orri_post_place(t, entity, &part->stream->verbs[span.verb]);
            if (place == ORRI_PLACE_DEAD || place == ORRI_PLACE_ABSENT) {
                apply_drop(t, part, entity, place == ORRI_PLACE_DEAD);
            }
            part->posts->waits |= place == ORRI_PLACE_WAITS;
            part->done -= place >= ORRI_PLACE_ABSENT;
        }
    }
}

// In blocks that keep waiting, removes the posts that were applied.
static void apply_keep_waiting(const orri_post_ranges* t)
{
    for (uint32_t p = 0; p < t->part_count; p++) {
        const orri_post_part* part = &t->parts[p];
        bool any = false;
        for (uint32_t i = 0; part->posts->waits && i < part->stream->count; i++) {
            orr_entity* entity = &part->stream->posts[i].entity;
            bool waits = orri_post_place(t, *entity, NULL) == ORRI_PLACE_WAITS;
            entity->id = waits ? entity->id : 0;
            any |= waits;
        }
        if (part->posts->waits && !any) { // Only other streams of the block wait.
            uint32_t peak = part->posts->peak, count = part->stream->count;
            part->posts->peak = count > peak ? count : peak;
            part->stream->count = 0;
        }
    }
}

// Notes the sender of what was applied, over all types so far; null: several.
static void apply_name(const orri_post_ranges* t, bool* changed)
{
    for (uint32_t p = 0; p < t->part_count; p++) {
        if (t->parts[p].done > 0) {
            orr_system system = t->parts[p].posts->rights->system;
            t->command_buffers->shared->transactor =
                !*changed || t->command_buffers->shared->transactor.id == system.id
                    ? system
                    : (orr_system){0};
            *changed = true;
        }
    }
}

static void apply_finish(orri_post_ranges* t, bool* changed)
{
    // Functions are called by this thread, one after the other.
    t->workers = t->calls ? NULL : t->workers;
    orri_post_ranges_apply(t);
    bool skipped = false;
    for (uint32_t r = 0; r < t->range_count; r++) {
        skipped |= t->skips[r];
    }
    if (ORR_UNLIKELY(skipped)) {
        apply_skipped(t);
    }
    apply_name(t, changed);
}

// ---- all types ----------------------------------------------------------------------------------

bool orri_transaction_pending(const orr_world* world)
{
    const struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    return command_buffers != NULL && command_buffers->shared->posted != NULL;
}

// True when a waiting post is on a type whose bit is not set (`bits` NULL: no bit is set). `all`:
// also posts that are not ready for the current set of command buffers.
static bool apply_waits(const orr_world* world, const uint64_t* bits, uint32_t words, bool all)
{
    const struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    for (const struct orri_posts* posts = command_buffers != NULL ? command_buffers->shared->posted
                                                                  : NULL;
         posts != NULL; posts = posts->next) {
        for (uint32_t i = 0;
             (all || apply_ready(command_buffers, posts)) && i < posts->stream_count; i++) {
            uint32_t index = orri_type_index(world, posts->streams[i].type);
            bool has = bits != NULL && index / 64 < words && orri_bit_get(bits, index);
            if (posts->streams[i].count > 0 && !has) {
                return true;
            }
        }
    }
    return false;
}

bool orri_transaction_pending_for(const orr_world* world, const orri_foreign* foreign)
{
    return foreign != NULL ? apply_waits(world, foreign->bits, foreign->words, false)
                           : apply_waits(world, NULL, 0, false);
}

bool orri_transaction_pending_unowned(const orr_world* world, const uint64_t* owned, uint32_t words)
{
    return apply_waits(world, owned, words, true);
}

orr_system orri_transaction_source(const orr_world* world)
{
    return orri_command_buffers_at(world)->shared->transactor;
}

// Lists the types with posts to apply, in the order of types. False when refused.
static bool apply_types(orr_world* world, struct orri_command_buffers* command_buffers,
                        const orri_foreign* foreign, orri_post_ranges** out, uint32_t* count)
{
    uint32_t words = world->schema.type_count / 64 + 1;
    uint64_t* bits =
        orri_commit_arena_take(world, &command_buffers->shared->apply_arena, words * sizeof *bits);
    if (bits == NULL) {
        return false;
    }
    memset(bits, 0, words * sizeof *bits);
    *count = 0;
    for (struct orri_posts* posts = command_buffers->shared->posted; posts != NULL;
         posts = posts->next) {
        for (uint32_t i = 0; i < posts->stream_count; i++) {
            uint32_t index = orri_type_index(world, posts->streams[i].type);
            bool some = posts->streams[i].count > 0;
            bool later = orri_is_foreign(foreign, index) || !apply_ready(command_buffers, posts);
            posts->waits |= some && later;
            *count += some && !later && !orri_bit_get(bits, index);
            orri_bit_set(bits, index, orri_bit_get(bits, index) || (some && !later));
        }
    }
    if (*count == 0) {
        return true;
    }
    *out =
        orri_commit_arena_take(world, &command_buffers->shared->apply_arena, *count * sizeof **out);
    for (uint32_t i = 0, n = 0; *out != NULL && i < world->schema.type_count; i++) {
        if (orri_bit_get(bits, i)) {
            (*out)[n++] = (orri_post_ranges){.world = world, .command_buffers = command_buffers};
            (*out)[n - 1].site.type = world->schema.types[i];
        }
    }
    return *out != NULL;
}

// Frees the blocks of which no post keeps waiting.
static void apply_release(struct orri_command_buffers* command_buffers)
{
    for (struct orri_posts *posts = command_buffers->shared->posted, *next; posts != NULL;
         posts = next) {
        next = posts->next;
        if (!posts->waits) {
            orri_posts_done(command_buffers, posts);
        } else {
            posts->waits = false;
        }
    }
}

static orr_result apply_all(orr_world* world, orri_post_ranges* types, uint32_t count,
                            bool* changed)
{
    for (uint32_t i = 0; i < count; i++) {
        orr_result result = apply_prepare(&types[i]);
        if (result != ORR_OK) {
            return result;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        apply_finish(&types[i], changed);
    }
    for (uint32_t i = 0; i < count; i++) {
        apply_keep_waiting(&types[i]);
    }
    apply_release(orri_command_buffers_at(world));
    return ORR_OK;
}

orr_result orri_transaction_commit(orr_world* world, bool early, const orri_foreign* foreign,
                                   const orri_workers* workers, bool* changed)
{
    *changed = false;
    if (!orri_transaction_pending(world)) {
        return ORR_OK;
    }
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    const orri_rights* rights = command_buffers->shared->posted->rights;
    bool others = rights != command_buffers->shared->posted_last->rights;
    orri_post_ranges* types = NULL;
    uint32_t count = 0;
    orr_result result = apply_types(world, command_buffers, foreign, &types, &count)
                            ? ORR_OK
                            : orri_refuse_memory(&world->env, "applying transactions");
    bool marked = early && command_buffers->first != NULL && command_buffers->marks_any &&
                  !command_buffers->marks_old;
    for (uint32_t i = 0; result == ORR_OK && i < count; i++) {
        types[i].workers = workers;
        types[i].marks = marked ? command_buffers->seen : NULL;
        types[i].merged = !early && command_buffers->merged && command_buffers->marks_old;
    }
    result = result == ORR_OK ? apply_all(world, types, count, changed) : result;
    orri_commit_arena_reset(&command_buffers->shared->apply_arena);
    return result == ORR_OK ? ORR_OK : orri_refuse_commit(world, rights, others);
}

#undef APPLY_SHARED_MIN
#undef APPLY_SLICE_POSTS
#undef APPLY_SLICE_SHARE
#undef APPLY_RANGE_POSTS
#undef APPLY_RANGES
