// SPDX-License-Identifier: MIT
// The tally: transactions that were collected are done. By type: every post finds its target; then posts are dealt out to ranges of
// targets, each range keeping the order of systems, runs and calls; then every range is done, by whichever worker comes. Nothing is
// sorted: that order within a range is all that counts, since ranges have no value in common.
//
//   streams of all lanes, in order ──slices──> places ──> ranges: amends in order ──> values
//
// Everything that may be refused comes first, for all types; then nothing can be.
#include "message/transact.h"
#include "store/pool.h"

#define TALLY_AHEAD       16u    // Records fetched ahead.
#define TALLY_SHARED_MIN  16384u // Posts that are worth other workers.
#define TALLY_SLICE_POSTS 8192u
#define TALLY_SLICES      64u
#define TALLY_RANGE_POSTS 4096u
#define TALLY_RANGES      32u // More streams than the first TLB has entries make dealing twice as slow.

// In the place of a place.
#define TALLY_DONE   UINT32_MAX
#define TALLY_WAITS  (UINT32_MAX - 1)
#define TALLY_DEAD   (UINT32_MAX - 2)
#define TALLY_ABSENT (UINT32_MAX - 3) // The smallest of these.

// Of a block of values.
enum {
    TALLY_UNKNOWN,
    TALLY_LACKS, // The chunk has no such column.
    TALLY_MEANT, // Some post is for a value in it.
};

// All transactions on one type.
typedef struct tally_type {
    orr_world* world;
    struct orri_lanes* lanes;
    const orri_hands* hands; // NULL: alone.
    const uint64_t* marks;   // Whose structure waits; NULL: nobody's.
    uint32_t type_index;
    orri_amend_site site;
    orri_post_part* parts;
    uint32_t part_count;
    uint32_t count; // Posts.
    orri_verb* verbs;
    uint32_t* places;     // By post.
    uint32_t* odd;        // By slice: posts that are not done.
    uint32_t* starts;     // By slice and range: how many, then where the next one goes.
    uint32_t* range_ends; // By range.
    orri_amend* amends;
    uint8_t* states;  // By block.
    uint8_t** blocks; // By block, if it is meant.
    uint32_t block_count;
    uint32_t slice_count, slice_posts, range_count, range_shift;
    bool calls;
    bool merged; // After structure was merged: the marks are of who it was about.
} tally_type;

static void tally_share(const tally_type* t, uint32_t count,
                        void (*work)(void* context, uint32_t item))
{
    if (t->hands != NULL && count > 1) {
        t->hands->run(t->hands->user, count, work, (void*)(uintptr_t)t);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        work((void*)(uintptr_t)t, i);
    }
}

static orri_post_walk tally_begin(const tally_type* t, uint32_t slice)
{
    uint64_t first = (uint64_t)slice * t->slice_posts, end = first + t->slice_posts;
    return orri_post_walk_begin(t->parts, t->part_count, (uint32_t)first,
                                end < t->count ? (uint32_t)end : t->count);
}

// ---- finding targets --------------------------------------------------------------------------------------------

// Workers find the same of a block.
static bool tally_block(const tally_type* t, uint32_t block)
{
    uint8_t state = __atomic_load_n(&t->states[block], __ATOMIC_RELAXED);
    if (ORR_UNLIKELY(state == TALLY_UNKNOWN)) {
        bool has = t->site.pool != NULL || orri_table_column(t->world, t->type_index, block) >= 0;
        state = has ? TALLY_MEANT : TALLY_LACKS;
        __atomic_store_n(&t->states[block], state, __ATOMIC_RELAXED);
    }
    return state == TALLY_MEANT;
}

static inline uint32_t tally_place(const tally_type* t, orr_entity entity)
{
    uint64_t index = entity.id & ORR_HOT_ID_MASK;
    if (ORR_UNLIKELY(entity.id == 0)) {
        return TALLY_DONE;
    }
    if (ORR_UNLIKELY(t->marks != NULL) &&
        orri_mark_get(t->marks, t->lanes->mark_words, orri_id_index(entity))) {
        return TALLY_WAITS;
    }
    if (ORR_UNLIKELY(index >= t->world->hot.count)) {
        return TALLY_DEAD;
    }
    orri_record record = *orri_record_at(t->world, (uint32_t)index);
    if (ORR_UNLIKELY(record.generation != entity.id >> 32)) {
        return TALLY_DEAD;
    }
    uint32_t place = record.place;
    if (ORR_UNLIKELY(t->site.pool != NULL)) {
        uint32_t slot1 = orri_pool_slot1(t->site.pool, (uint32_t)index);
        if (slot1 == 0) {
            return TALLY_ABSENT;
        }
        place = slot1 - 1;
    }
    return ORR_LIKELY(tally_block(t, place >> t->site.slot_bits)) ? place : TALLY_ABSENT;
}

static bool tally_lacks_instance(const tally_type* t, uint32_t place, const orri_verb* verb)
{
    return t->site.type->info.multiplicity == ORR_MULTIPLE &&
           orri_amend_instance(t->world, t->site.type, place, verb->id) == NULL;
}

static void tally_fetch(const tally_type* t, orr_entity entity)
{
    uint64_t index = entity.id & ORR_HOT_ID_MASK;
    if (ORR_LIKELY(index < t->world->hot.count)) {
        __builtin_prefetch(orri_record_at(t->world, (uint32_t)index));
    }
}

static void tally_find(void* context, uint32_t slice)
{
    const tally_type* t = context;
    uint32_t* counts = t->starts + (size_t)slice * t->range_count;
    uint32_t shift = t->site.slot_bits + t->range_shift, odd = 0;
    bool multiple = t->site.type->info.multiplicity == ORR_MULTIPLE;
    orri_post_walk walk = tally_begin(t, slice);
    orri_post_piece piece;
    memset(counts, 0, t->range_count * sizeof *counts);
    while (orri_post_walk_next(t->parts, &walk, &piece)) {
        for (uint32_t i = 0; i < piece.count; i++) {
            if (i + TALLY_AHEAD < piece.ahead) {
                tally_fetch(t, piece.posts[i + TALLY_AHEAD].entity);
            }
            uint32_t place = tally_place(t, piece.posts[i].entity);
            if (ORR_UNLIKELY(multiple) && place < TALLY_ABSENT &&
                tally_lacks_instance(t, place, &piece.part->stream->verbs[piece.verb])) {
                place = TALLY_ABSENT;
            }
            t->places[piece.first + i] = place;
            if (ORR_LIKELY(place < TALLY_ABSENT)) {
                counts[(uint64_t)place >> shift]++;
            } else {
                odd++;
            }
        }
    }
    t->odd[slice] = odd;
}

// Counts become where each slice puts its posts: range by range, in it slice by slice.
static void tally_lay_out(const tally_type* t)
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

// ---- what may be refused ----------------------------------------------------------------------------------------

static void* tally_take(const tally_type* t, size_t size, size_t count)
{
    return orri_scratch_take(t->world, &t->lanes->shared->tally, orri_size_mul(size, count));
}

static bool tally_same_verbs(const orri_stream* a, const orri_stream* b)
{
    bool same = a->verb_count == b->verb_count;
    for (uint32_t i = 0; same && i < a->verb_count; i++) {
        const orri_verb *x = &a->verbs[i], *y = &b->verbs[i];
        same = x->function == NULL && y->function == NULL && x->id == y->id &&
               x->offset == y->offset && x->size == y->size && x->op == y->op;
    }
    return same;
}

static orri_stream* tally_stream(const struct orri_posts* posts, orr_type type)
{
    for (uint32_t i = 0; i < posts->stream_count; i++) {
        if (posts->streams[i].type.index1 == type.index1 && posts->streams[i].count > 0) {
            return &posts->streams[i];
        }
    }
    return NULL;
}

// What another pipeline posted waits until the structure it sent beside is there.
static bool tally_ripe(const struct orri_lanes* lanes, const struct orri_posts* posts)
{
    return posts->lanes == NULL || posts->lanes == lanes || posts->ripe;
}

// The streams of the type, and their verbs. False when refused.
static bool tally_gather(tally_type* t)
{
    orr_type type = {t->site.type->index1};
    uint64_t verbs = 0, count = 0;
    t->parts = tally_take(t, sizeof *t->parts, t->lanes->shared->posts_used);
    for (struct orri_posts* posts = t->lanes->shared->posted; t->parts != NULL && posts != NULL;
         posts = posts->next) {
        orri_stream* stream = tally_ripe(t->lanes, posts) ? tally_stream(posts, type) : NULL;
        if (stream == NULL) {
            continue;
        }
        t->calls |= stream->calls;
        orri_post_part* before = t->part_count > 0 ? &t->parts[t->part_count - 1] : NULL;
        bool same = before != NULL && tally_same_verbs(before->stream, stream);
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
                   ? tally_take(t, sizeof *t->verbs, (size_t)verbs)
                   : NULL;
    for (uint32_t i = 0; t->verbs != NULL && i < t->part_count; i++) {
        const orri_stream* stream = t->parts[i].stream;
        memcpy(t->verbs + t->parts[i].verbs, stream->verbs,
               stream->verb_count * sizeof *stream->verbs);
    }
    return t->parts != NULL && t->verbs != NULL;
}

// Into how many slices and ranges. Functions are called in the order of systems, whatever the target: one range.
static void tally_divide(tally_type* t)
{
    uint32_t slices = t->hands != NULL ? t->count / TALLY_SLICE_POSTS : 1;
    uint32_t ranges = t->calls ? 1 : t->count / TALLY_RANGE_POSTS;
    slices = slices < 1 ? 1 : slices > TALLY_SLICES ? TALLY_SLICES : slices;
    ranges = ranges < 1 ? 1 : ranges > TALLY_RANGES ? TALLY_RANGES : ranges;
    t->slice_posts = (uint32_t)(((uint64_t)t->count + slices - 1) / slices);
    t->slice_count = (uint32_t)(((uint64_t)t->count + t->slice_posts - 1) / t->slice_posts);
    t->range_shift = 0;
    while (t->block_count >> t->range_shift >= ranges && t->block_count >> t->range_shift > 0) {
        t->range_shift++;
    }
    t->range_count = (t->block_count >> t->range_shift) + 1;
}

static bool tally_reserve(tally_type* t)
{
    tally_divide(t);
    t->places = tally_take(t, sizeof *t->places, t->count);
    t->amends = tally_take(t, sizeof *t->amends, t->count);
    t->odd = tally_take(t, sizeof *t->odd, t->slice_count);
    t->starts = tally_take(t, sizeof *t->starts, (size_t)t->slice_count * t->range_count);
    t->range_ends = tally_take(t, sizeof *t->range_ends, t->range_count);
    t->states = tally_take(t, 1, (size_t)t->block_count + 1);
    t->blocks = tally_take(t, sizeof *t->blocks, (size_t)t->block_count + 1);
    t->site.blocks = t->blocks;
    if (t->places == NULL || t->amends == NULL || t->odd == NULL || t->starts == NULL ||
        t->range_ends == NULL || t->states == NULL || t->blocks == NULL) {
        return false;
    }
    memset(t->states, TALLY_UNKNOWN, (size_t)t->block_count + 1);
    return true;
}

// The rows alone, where there are few.
static bool tally_own_rows(const tally_type* t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t place = t->places[i];
        orri_chunk* chunk = place < TALLY_ABSENT ? orri_place_chunk(t->world, place) : NULL;
        if (chunk != NULL && chunk->share_count > 0) {
            int32_t column = orri_table_column(t->world, t->type_index, chunk->id);
            if (!orri_rows_prepare(t->world, chunk, (uint32_t)column, orri_place_slot(place), 1)) {
                return false;
            }
        }
    }
    return true;
}

// Somebody holds blocks: what will be written is kept for them first.
static bool tally_own_blocks(const tally_type* t)
{
    bool held = t->site.pool == NULL && t->world->share_live > 0;
    if (held && t->count >> (ORRI_SLOT_BITS - t->world->undo_shift) <= t->block_count) {
        return tally_own_rows(t);
    }
    for (uint32_t b = 0; held && b < t->block_count; b++) {
        if (t->states[b] == TALLY_MEANT) {
            int32_t column = orri_table_column(t->world, t->type_index, b);
            if (!orri_column_prepare(t->world, t->world->chunks[b], (uint32_t)column)) {
                return false;
            }
        }
    }
    return true;
}

static orr_result tally_prepare(tally_type* t)
{
    const orri_type* type = t->site.type;
    t->site.world = t->world;
    t->site.slot_bits = ORRI_SLOT_BITS;
    t->block_count = t->world->chunk_count;
    t->type_index = orri_type_index(t->world, (orr_type){type->index1});
    if (orri_type_pinned(type)) {
        static const orri_pool nobodys = {.slot_bits = ORRI_SLOT_BITS};
        const orri_pool* pool = orri_pool_find(t->world, (orr_type){type->index1});
        t->site.pool = pool != NULL ? pool : &nobodys;
        t->site.slot_bits = t->site.pool->slot_bits;
        t->block_count = t->site.pool->block_count;
    }
    if (!tally_gather(t)) {
        return orri_refuse_memory(&t->world->env, "doing transactions");
    }
    t->hands = t->count >= TALLY_SHARED_MIN ? t->hands : NULL;
    if (!tally_reserve(t)) {
        return orri_refuse_memory(&t->world->env, "doing transactions");
    }
    tally_share(t, t->slice_count, tally_find);
    tally_lay_out(t);
    return tally_own_blocks(t) ? ORR_OK : orri_env_result(&t->world->env);
}

// ---- what may not -----------------------------------------------------------------------------------------------

static void tally_stamp(const tally_type* t)
{
    for (uint32_t b = 0; b < t->block_count; b++) {
        if (t->states[b] != TALLY_MEANT) {
            continue;
        }
        if (t->site.pool != NULL) {
            orri_pool* pool = orri_pool_find(t->world, (orr_type){t->site.type->index1});
            t->blocks[b] = pool->blocks[b].data;
            uint32_t slot = b << pool->slot_bits; // Somebody has one of its slots.
            while (orri_pool_owner(pool, slot) == ORRI_INDEX_NONE) {
                slot++;
            }
            (void)orri_pool_write(t->world, pool, orri_pool_owner(pool, slot));
        } else {
            int32_t column = orri_table_column(t->world, t->type_index, b);
            t->blocks[b] = orri_column_mark(t->world, t->world->chunks[b], (uint32_t)column);
        }
    }
}

// Posts of a slice go to their ranges.
static void tally_deal(void* context, uint32_t slice)
{
    const tally_type* t = context;
    uint32_t* starts = t->starts + (size_t)slice * t->range_count;
    uint32_t shift = t->site.slot_bits + t->range_shift;
    orri_post_walk walk = tally_begin(t, slice);
    orri_post_piece piece;
    while (orri_post_walk_next(t->parts, &walk, &piece)) {
        uint32_t verb = piece.part->verbs + piece.verb;
        const uint32_t* places = t->places + piece.first;
        // What is far moves no more: from here on it is known by its address.
        uint64_t base = t->verbs[verb].far ? (uint64_t)(uintptr_t)piece.part->posts->bytes : 0;
        for (uint32_t i = 0; i < piece.count; i++) {
            if (ORR_LIKELY(places[i] < TALLY_ABSENT)) {
                t->amends[starts[(uint64_t)places[i] >> shift]++] =
                    (orri_amend){places[i], verb, base + piece.posts[i].number};
            }
        }
    }
}

static void tally_do(void* context, uint32_t range)
{
    const tally_type* t = context;
    uint32_t at = range > 0 ? t->range_ends[range - 1] : 0, end = t->range_ends[range];
    while (at < end) {
        uint32_t verb = t->amends[at].verb, next = at + 1;
        while (next < end && t->amends[next].verb == verb) {
            next++;
        }
        orri_amend_run(&t->site, &t->verbs[verb], t->amends + at, next - at);
        at = next;
    }
}

// ---- afterwards -------------------------------------------------------------------------------------------------

static void tally_drop(const tally_type* t, orri_post_part* part, orr_entity entity, bool dead)
{
    // Structure of the same commit destroyed the entity, or took the component away: the sender could not know.
    bool known = t->merged &&
                 orri_mark_get(t->lanes->seen, t->lanes->mark_words, orri_id_index(entity));
    if (!known) { // Its system may run at this moment, and have an atomic section without effect.
        __atomic_fetch_add(&part->posts->rights->counts.dropped, 1, __ATOMIC_RELAXED);
        orri_say_drop(t->world, part->posts->rights, "a transaction",
                      (orr_type){t->site.type->index1}, entity,
                      dead ? "the entity is dead" : "it does not have this component");
    }
}

// Some posts had no effect, or wait.
static void tally_odd(const tally_type* t)
{
    for (uint32_t p = 0; p < t->part_count; p++) {
        orri_post_part* part = &t->parts[p];
        for (uint32_t i = 0; i < part->stream->count; i++) {
            uint32_t place = t->places[part->first + i];
            if (place == TALLY_DEAD || place == TALLY_ABSENT) {
                tally_drop(t, part, part->stream->posts[i].entity, place == TALLY_DEAD);
            }
            part->posts->waits |= place == TALLY_WAITS;
            part->done -= place >= TALLY_ABSENT;
        }
    }
}

// In blocks that wait only what waits is left.
static void tally_leave(const tally_type* t)
{
    for (uint32_t p = 0; p < t->part_count; p++) {
        const orri_post_part* part = &t->parts[p];
        bool any = false;
        for (uint32_t i = 0; part->posts->waits && i < part->stream->count; i++) {
            bool waits = t->places[part->first + i] == TALLY_WAITS;
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

// Who did it, of all types so far.
static void tally_name(const tally_type* t, bool* changed)
{
    for (uint32_t p = 0; p < t->part_count; p++) {
        if (t->parts[p].done > 0) {
            orr_system system = t->parts[p].posts->rights->system;
            t->lanes->shared->transactor =
                !*changed || t->lanes->shared->transactor.index1 == system.index1 ? system
                                                                                  : (orr_system){0};
            *changed = true;
        }
    }
}

static void tally_finish(tally_type* t, bool* changed)
{
    tally_stamp(t);
    tally_share(t, t->slice_count, tally_deal);
    // Functions are called by this thread, one after the other.
    t->hands = t->calls ? NULL : t->hands;
    tally_share(t, t->range_count, tally_do);
    uint32_t odd = 0;
    for (uint32_t s = 0; s < t->slice_count; s++) {
        odd |= t->odd[s];
    }
    if (ORR_UNLIKELY(odd != 0)) {
        tally_odd(t);
    }
    tally_name(t, changed);
}

// ---- all types --------------------------------------------------------------------------------------------------

bool orri_transact_pending(const orr_world* world)
{
    const struct orri_lanes* lanes = orri_lanes_at(world);
    return lanes != NULL && lanes->shared->posted != NULL;
}

// True when some post that these lanes would do is of a type that the bits do not have. `bits` NULL: all are.
static bool tally_waits(const orr_world* world, const uint64_t* bits, uint32_t words, bool all)
{
    const struct orri_lanes* lanes = orri_lanes_at(world);
    for (const struct orri_posts* posts = lanes != NULL ? lanes->shared->posted : NULL;
         posts != NULL; posts = posts->next) {
        for (uint32_t i = 0; (all || tally_ripe(lanes, posts)) && i < posts->stream_count; i++) {
            uint32_t index = orri_type_index(world, posts->streams[i].type);
            bool has = bits != NULL && index / 64 < words && orri_bit_get(bits, index);
            if (posts->streams[i].count > 0 && !has) {
                return true;
            }
        }
    }
    return false;
}

bool orri_transact_pending_for(const orr_world* world, const orri_foreign* foreign)
{
    return foreign != NULL ? tally_waits(world, foreign->bits, foreign->words, false)
                           : tally_waits(world, NULL, 0, false);
}

bool orri_transact_pending_unowned(const orr_world* world, const uint64_t* owned, uint32_t words)
{
    return tally_waits(world, owned, words, true);
}

orr_system orri_transact_source(const orr_world* world)
{
    return orri_lanes_at(world)->shared->transactor;
}

// The types that were posted to, each once, in the order of types. False when refused.
static bool tally_types(orr_world* world, struct orri_lanes* lanes, const orri_foreign* foreign,
                        tally_type** out, uint32_t* count)
{
    uint32_t words = world->schema.type_count / 64 + 1;
    uint64_t* bits = orri_scratch_take(world, &lanes->shared->tally, words * sizeof *bits);
    if (bits == NULL) {
        return false;
    }
    memset(bits, 0, words * sizeof *bits);
    *count = 0;
    for (struct orri_posts* posts = lanes->shared->posted; posts != NULL; posts = posts->next) {
        for (uint32_t i = 0; i < posts->stream_count; i++) {
            uint32_t index = orri_type_index(world, posts->streams[i].type);
            bool some = posts->streams[i].count > 0;
            bool far = orri_is_foreign(foreign, index) || !tally_ripe(lanes, posts);
            posts->waits |= some && far;
            *count += some && !far && !orri_bit_get(bits, index);
            orri_bit_set(bits, index, orri_bit_get(bits, index) || (some && !far));
        }
    }
    if (*count == 0) {
        return true;
    }
    *out = orri_scratch_take(world, &lanes->shared->tally, *count * sizeof **out);
    for (uint32_t i = 0, n = 0; *out != NULL && i < world->schema.type_count; i++) {
        if (orri_bit_get(bits, i)) {
            (*out)[n++] = (tally_type){.world = world, .lanes = lanes};
            (*out)[n - 1].site.type = world->schema.types[i];
        }
    }
    return *out != NULL;
}

static void tally_release(struct orri_lanes* lanes)
{
    for (struct orri_posts *posts = lanes->shared->posted, *next; posts != NULL; posts = next) {
        next = posts->next;
        if (!posts->waits) {
            orri_posts_done(lanes, posts);
        } else {
            posts->waits = false;
        }
    }
}

static orr_result tally_all(orr_world* world, tally_type* types, uint32_t count, bool* changed)
{
    for (uint32_t i = 0; i < count; i++) {
        orr_result result = tally_prepare(&types[i]);
        if (result != ORR_OK) {
            return result;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        tally_finish(&types[i], changed);
    }
    for (uint32_t i = 0; i < count; i++) {
        tally_leave(&types[i]);
    }
    tally_release(orri_lanes_at(world));
    return ORR_OK;
}

orr_result orri_transact_commit(orr_world* world, bool early, const orri_foreign* foreign,
                                const orri_hands* hands, bool* changed)
{
    *changed = false;
    if (!orri_transact_pending(world)) {
        return ORR_OK;
    }
    struct orri_lanes* lanes = orri_lanes_at(world);
    const orri_rights* rights = lanes->shared->posted->rights;
    bool others = rights != lanes->shared->posted_last->rights;
    tally_type* types = NULL;
    uint32_t count = 0;
    orr_result result = tally_types(world, lanes, foreign, &types, &count)
                            ? ORR_OK
                            : orri_refuse_memory(&world->env, "doing transactions");
    bool marked = early && lanes->first != NULL && lanes->marks_any && !lanes->marks_old;
    for (uint32_t i = 0; result == ORR_OK && i < count; i++) {
        types[i].hands = hands;
        types[i].marks = marked ? lanes->seen : NULL;
        types[i].merged = !early && lanes->merged && lanes->marks_old;
    }
    result = result == ORR_OK ? tally_all(world, types, count, changed) : result;
    orri_scratch_reset(&lanes->shared->tally);
    return result == ORR_OK ? ORR_OK : orri_refuse_commit(world, rights, others);
}

#undef TALLY_AHEAD
#undef TALLY_SHARED_MIN
#undef TALLY_SLICE_POSTS
#undef TALLY_SLICES
#undef TALLY_RANGE_POSTS
#undef TALLY_RANGES
#undef TALLY_DONE
#undef TALLY_WAITS
#undef TALLY_DEAD
#undef TALLY_ABSENT
