// SPDX-License-Identifier: MIT
// Applies waiting transactions. For each type: the target of every post is found; then posts are
// distributed to ranges of targets, each range keeping the order of systems, runs and calls; then
// every range is applied, by whichever worker takes it. Nothing is sorted: the order within a range
// is sufficient, since ranges have no value in common.
//
//   streams of all command buffers, in order ──slices──> places ──> ranges: ops in order ──> values
//
// Everything that may be refused comes first, for all types.
#include "message/transaction/transaction.h"
#include "store/pool/pool.h"

#define APPLY_AHEAD       16u    // Distance of prefetching, in posts.
#define APPLY_SHARED_MIN  16384u // Below so many posts of a type other workers do not pay off.
#define APPLY_SLICE_POSTS 8192u
#define APPLY_SLICES      64u
#define APPLY_RANGE_POSTS 4096u
// More output streams than the first-level TLB has entries make distributing twice as slow.
#define APPLY_RANGES 32u

// Special values of `places`: the post is not applied now.
#define APPLY_DONE  UINT32_MAX
#define APPLY_WAITS (UINT32_MAX - 1)
#define APPLY_DEAD  (UINT32_MAX - 2)
// The target does not have the component. The smallest special value.
#define APPLY_ABSENT (UINT32_MAX - 3)

// States of a block of values.
enum {
    APPLY_UNKNOWN,
    APPLY_LACKS, // The chunk has no such column.
    APPLY_MEANT, // A post has its target in the block.
};

// All transactions on one type.
typedef struct apply_type {
    orr_world* world;
    struct orri_command_buffers* command_buffers;
    const orri_workers* workers; // NULL: the calling thread only.
    const uint64_t* marks;       // Entities with pending structure; NULL: none.
    uint32_t type_index;
    orri_op_site site;
    orri_post_part* parts;
    uint32_t part_count;
    uint32_t count; // Number of posts.
    orri_verb* verbs;
    uint32_t* places;  // By post: where its target is, or a special value.
    uint32_t* skipped; // By slice: posts that are not applied now.
    // By slice and range: number of posts, then the index of the next one in `ops`.
    uint32_t* starts;
    uint32_t* range_ends; // By range: end in `ops`.
    orri_op* ops;
    uint8_t* states;  // By block.
    uint8_t** blocks; // By block: address of the values, if the state is APPLY_MEANT.
    uint32_t block_count;
    uint32_t slice_count, slice_posts, range_count, range_shift;
    bool calls;
    bool merged; // The commit has merged structure: marks are of entities that it changed.
} apply_type;

// Calls `work` for each item, on the workers if there are any.
static void apply_share(const apply_type* t, uint32_t count,
                        void (*work)(void* context, uint32_t item))
{
    if (t->workers != NULL && count > 1) {
        t->workers->run(t->workers->user, count, work, (void*)(uintptr_t)t);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        work((void*)(uintptr_t)t, i);
    }
}

static orri_post_walk apply_begin(const apply_type* t, uint32_t slice)
{
    uint64_t first = (uint64_t)slice * t->slice_posts, end = first + t->slice_posts;
    return orri_post_walk_begin(t->parts, t->part_count, (uint32_t)first,
                                end < t->count ? (uint32_t)end : t->count);
}

// ---- finding targets ----------------------------------------------------------------------------

// True when the block has the type. Several workers may look up the same block; all find the same.
static bool apply_block(const apply_type* t, uint32_t block)
{
    uint8_t state = __atomic_load_n(&t->states[block], __ATOMIC_RELAXED);
    if (ORR_UNLIKELY(state == APPLY_UNKNOWN)) {
        bool has = t->site.pool != NULL || orri_table_column(t->world, t->type_index, block) >= 0;
        state = has ? APPLY_MEANT : APPLY_LACKS;
        __atomic_store_n(&t->states[block], state, __ATOMIC_RELAXED);
    }
    return state == APPLY_MEANT;
}

// Where the target of a post is, or a special value.
static inline uint32_t apply_place(const apply_type* t, orr_entity entity)
{
    uint64_t index = entity.id & ORR_HOT_ID_MASK;
    if (ORR_UNLIKELY(entity.id == 0)) {
        return APPLY_DONE;
    }
    if (ORR_UNLIKELY(t->marks != NULL) &&
        orri_pending_get(t->marks, t->command_buffers->mark_words, orri_id_index(entity))) {
        return APPLY_WAITS;
    }
    if (ORR_UNLIKELY(index >= t->world->hot.count)) {
        return APPLY_DEAD;
    }
    orri_record record = *orri_record_at(t->world, (uint32_t)index);
    if (ORR_UNLIKELY(record.generation != entity.id >> 32)) {
        return APPLY_DEAD;
    }
    uint32_t place = record.place;
    if (ORR_UNLIKELY(t->site.pool != NULL)) {
        uint32_t slot1 = orri_pool_slot1(t->site.pool, (uint32_t)index);
        if (slot1 == 0) {
            return APPLY_ABSENT;
        }
        place = slot1 - 1;
    }
    return ORR_LIKELY(apply_block(t, place >> t->site.slot_bits)) ? place : APPLY_ABSENT;
}

static bool apply_lacks_instance(const apply_type* t, uint32_t place, const orri_verb* verb)
{
    return t->site.type->info.multiplicity == ORR_MULTIPLE &&
           orri_op_instance(t->world, t->site.type, place, verb->id) == NULL;
}

// Prefetches the index record of a target.
static void apply_fetch(const apply_type* t, orr_entity entity)
{
    uint64_t index = entity.id & ORR_HOT_ID_MASK;
    if (ORR_LIKELY(index < t->world->hot.count)) {
        __builtin_prefetch(orri_record_at(t->world, (uint32_t)index));
    }
}

// Finds the targets of a slice and counts them by range.
static void apply_find(void* context, uint32_t slice)
{
    const apply_type* t = context;
    uint32_t* counts = t->starts + (size_t)slice * t->range_count;
    uint32_t shift = t->site.slot_bits + t->range_shift, skipped = 0;
    bool multiple = t->site.type->info.multiplicity == ORR_MULTIPLE;
    orri_post_walk walk = apply_begin(t, slice);
    orri_post_span span;
    memset(counts, 0, t->range_count * sizeof *counts);
    while (orri_post_walk_next(t->parts, &walk, &span)) {
        for (uint32_t i = 0; i < span.count; i++) {
            if (i + APPLY_AHEAD < span.ahead) {
                apply_fetch(t, span.posts[i + APPLY_AHEAD].entity);
            }
            uint32_t place = apply_place(t, span.posts[i].entity);
            if (ORR_UNLIKELY(multiple) && place < APPLY_ABSENT &&
                apply_lacks_instance(t, place, &span.part->stream->verbs[span.verb])) {
                place = APPLY_ABSENT;
            }
            t->places[span.first + i] = place;
            if (ORR_LIKELY(place < APPLY_ABSENT)) {
                counts[(uint64_t)place >> shift]++;
            } else {
                skipped++;
            }
        }
    }
    t->skipped[slice] = skipped;
}

// Turns counts into start indexes: range by range, within a range slice by slice.
static void apply_lay_out(const apply_type* t)
{
    uint32_t at = 0;
    for (uint32_t r = 0; r < t->range_count; r++) {
        for (uint32_t s = 0; s < t->slice_count; s++) {
            uint32_t* start = &t->starts[(size_t)s * t->range_count + r];
            uint32_t count = *start;
            *start = at;
            at += count;
        }
        t->range_ends[r] = at;
    }
}

// ---- steps that may be refused ------------------------------------------------------------------

// Memory until the end of orri_transaction_commit().
static void* apply_take(const apply_type* t, size_t size, size_t count)
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
static bool apply_gather(apply_type* t)
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
static void apply_divide(apply_type* t)
{
    uint32_t slices = t->workers != NULL ? t->count / APPLY_SLICE_POSTS : 1;
    uint32_t ranges = t->calls ? 1 : t->count / APPLY_RANGE_POSTS;
    slices = slices < 1 ? 1 : slices > APPLY_SLICES ? APPLY_SLICES : slices;
    ranges = ranges < 1 ? 1 : ranges > APPLY_RANGES ? APPLY_RANGES : ranges;
    t->slice_posts = (uint32_t)(((uint64_t)t->count + slices - 1) / slices);
    t->slice_count = (uint32_t)(((uint64_t)t->count + t->slice_posts - 1) / t->slice_posts);
    t->range_shift = 0;
    while (t->block_count >> t->range_shift >= ranges && t->block_count >> t->range_shift > 0) {
        t->range_shift++;
    }
    t->range_count = (t->block_count >> t->range_shift) + 1;
}

// Memory for one type. False when refused.
static bool apply_reserve(apply_type* t)
{
    apply_divide(t);
    t->places = apply_take(t, sizeof *t->places, t->count);
    t->ops = apply_take(t, sizeof *t->ops, t->count);
    t->skipped = apply_take(t, sizeof *t->skipped, t->slice_count);
    t->starts = apply_take(t, sizeof *t->starts, (size_t)t->slice_count * t->range_count);
    t->range_ends = apply_take(t, sizeof *t->range_ends, t->range_count);
    t->states = apply_take(t, 1, (size_t)t->block_count + 1);
    t->blocks = apply_take(t, sizeof *t->blocks, (size_t)t->block_count + 1);
    t->site.blocks = t->blocks;
    if (t->places == NULL || t->ops == NULL || t->skipped == NULL || t->starts == NULL ||
        t->range_ends == NULL || t->states == NULL || t->blocks == NULL) {
        return false;
    }
    memset(t->states, APPLY_UNKNOWN, (size_t)t->block_count + 1);
    return true;
}

// Copies only the written rows for snapshots, where there are few posts.
static bool apply_own_rows(const apply_type* t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t place = t->places[i];
        orri_chunk* chunk = place < APPLY_ABSENT ? orri_place_chunk(t->world, place) : NULL;
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
static bool apply_own_blocks(const apply_type* t)
{
    bool shared = t->site.pool == NULL && t->world->cow.live > 0;
    if (shared && t->count >> (ORRI_SLOT_BITS - t->world->cow.row_log_shift) <= t->block_count) {
        return apply_own_rows(t);
    }
    for (uint32_t b = 0; shared && b < t->block_count; b++) {
        if (t->states[b] == APPLY_MEANT) {
            int32_t column = orri_table_column(t->world, t->type_index, b);
            if (!orri_column_prepare(t->world, t->world->chunks.list[b], (uint32_t)column)) {
                return false;
            }
        }
    }
    return true;
}

static orr_result apply_prepare(apply_type* t)
{
    const orri_type* type = t->site.type;
    t->site.world = t->world;
    t->site.slot_bits = ORRI_SLOT_BITS;
    t->block_count = t->world->chunks.count;
    t->type_index = orri_type_index(t->world, (orr_type){type->id});
    if (orri_type_pinned(type)) {
        static const orri_pool nobodys = {.slot_bits = ORRI_SLOT_BITS};
        const orri_pool* pool = orri_pool_find(t->world, (orr_type){type->id});
        t->site.pool = pool != NULL ? pool : &nobodys;
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
    apply_share(t, t->slice_count, apply_find);
    apply_lay_out(t);
    return apply_own_blocks(t) ? ORR_OK : orri_env_result(&t->world->env);
}

// ---- steps that cannot be refused ---------------------------------------------------------------

// Stamps the versions of all blocks that will be written, and takes their addresses.
static void apply_stamp(const apply_type* t)
{
    for (uint32_t b = 0; b < t->block_count; b++) {
        if (t->states[b] != APPLY_MEANT) {
            continue;
        }
        if (t->site.pool != NULL) {
            orri_pool* pool = orri_pool_find(t->world, (orr_type){t->site.type->id});
            t->blocks[b] = pool->blocks[b].data;
            uint32_t slot = b << pool->slot_bits; // At least one slot of the block is in use.
            while (orri_pool_owner(pool, slot) == ORRI_INDEX_NONE) {
                slot++;
            }
            (void)orri_pool_write(t->world, pool, orri_pool_owner(pool, slot));
        } else {
            int32_t column = orri_table_column(t->world, t->type_index, b);
            t->blocks[b] = orri_column_mark(t->world, t->world->chunks.list[b], (uint32_t)column);
        }
    }
}

// Distributes the posts of a slice to their ranges.
static void apply_distribute(void* context, uint32_t slice)
{
    const apply_type* t = context;
    uint32_t* starts = t->starts + (size_t)slice * t->range_count;
    uint32_t shift = t->site.slot_bits + t->range_shift;
    orri_post_walk walk = apply_begin(t, slice);
    orri_post_span span;
    while (orri_post_walk_next(t->parts, &walk, &span)) {
        uint32_t verb = span.part->verbs + span.verb;
        const uint32_t* places = t->places + span.first;
        // The bytes of the block do not move any more: from here on the operand is known by its
        // address.
        uint64_t base = t->verbs[verb].in_bytes ? (uint64_t)(uintptr_t)span.part->posts->bytes : 0;
        for (uint32_t i = 0; i < span.count; i++) {
            if (ORR_LIKELY(places[i] < APPLY_ABSENT)) {
                t->ops[starts[(uint64_t)places[i] >> shift]++] =
                    (orri_op){places[i], verb, base + span.posts[i].number};
            }
        }
    }
}

// Applies a range: consecutive ops with the same verb at once.
static void apply_do(void* context, uint32_t range)
{
    const apply_type* t = context;
    uint32_t at = range > 0 ? t->range_ends[range - 1] : 0, end = t->range_ends[range];
    while (at < end) {
        uint32_t verb = t->ops[at].verb, next = at + 1;
        while (next < end && t->ops[next].verb == verb) {
            next++;
        }
        orri_op_run(&t->site, &t->verbs[verb], t->ops + at, next - at);
        at = next;
    }
}

// ---- afterwards ---------------------------------------------------------------------------------

// Counts and logs a post without effect.
static void apply_drop(const apply_type* t, orri_post_part* part, orr_entity entity, bool dead)
{
    // Structure of the same commit destroyed the entity or removed the component: the sender could
    // not know.
    bool known = t->merged &&
                 orri_pending_get(t->command_buffers->seen, t->command_buffers->mark_words,
                                  orri_id_index(entity));
    // Atomic: the sender may be running on another thread, in an atomic section without effect.
    if (!known) {
        __atomic_fetch_add(&part->posts->rights->counts.dropped, 1, __ATOMIC_RELAXED);
        orri_log_drop(t->world, part->posts->rights, "a transaction", (orr_type){t->site.type->id},
                      entity,
                      dead ? "the entity is dead" : "the entity does not have this component");
    }
}

// Handles posts that had no effect or must wait.
static void apply_skipped(const apply_type* t)
{
    for (uint32_t p = 0; p < t->part_count; p++) {
        orri_post_part* part = &t->parts[p];
        for (uint32_t i = 0; i < part->stream->count; i++) {
            uint32_t place = t->places[part->first + i];
            if (place == APPLY_DEAD || place == APPLY_ABSENT) {
                apply_drop(t, part, part->stream->posts[i].entity, place == APPLY_DEAD);
            }
            part->posts->waits |= place == APPLY_WAITS;
            part->done -= place >= APPLY_ABSENT;
        }
    }
}

// In blocks that keep waiting, removes the posts that were applied.
static void apply_leave(const apply_type* t)
{
    for (uint32_t p = 0; p < t->part_count; p++) {
        const orri_post_part* part = &t->parts[p];
        bool any = false;
        for (uint32_t i = 0; part->posts->waits && i < part->stream->count; i++) {
            bool waits = t->places[part->first + i] == APPLY_WAITS;
            part->stream->posts[i].entity.id = waits ? part->stream->posts[i].entity.id : 0;
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
static void apply_name(const apply_type* t, bool* changed)
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

static void apply_finish(apply_type* t, bool* changed)
{
    apply_stamp(t);
    apply_share(t, t->slice_count, apply_distribute);
    // Functions are called by this thread, one after the other.
    t->workers = t->calls ? NULL : t->workers;
    apply_share(t, t->range_count, apply_do);
    uint32_t skipped = 0;
    for (uint32_t s = 0; s < t->slice_count; s++) {
        skipped |= t->skipped[s];
    }
    if (ORR_UNLIKELY(skipped != 0)) {
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
                        const orri_foreign* foreign, apply_type** out, uint32_t* count)
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
            (*out)[n++] = (apply_type){.world = world, .command_buffers = command_buffers};
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

static orr_result apply_all(orr_world* world, apply_type* types, uint32_t count, bool* changed)
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
        apply_leave(&types[i]);
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
    apply_type* types = NULL;
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

#undef APPLY_AHEAD
#undef APPLY_SHARED_MIN
#undef APPLY_SLICE_POSTS
#undef APPLY_SLICES
#undef APPLY_RANGE_POSTS
#undef APPLY_RANGES
#undef APPLY_DONE
#undef APPLY_WAITS
#undef APPLY_DEAD
#undef APPLY_ABSENT
