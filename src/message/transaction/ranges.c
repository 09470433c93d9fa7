// SPDX-License-Identifier: MIT
// Distributes the posts of one type to ranges of entities, finds the targets of a range, and applies
// it. Nothing is sorted: within a range the order of posts is kept, which is sufficient, since
// ranges have no value in common. The parts of the entity index and of the values that the posts of
// a range need are small enough to stay in the cache. Only the posts themselves come from memory,
// and these are read in order.
//
//   streams of all command buffers, in order ──slices──> ranges: ops in order ──> places ──> values
#include "message/transaction/ranges.h"
#include "store/pool/pool.h"

#define RANGES_FETCH 8u // Entities whose values are fetched together; see ranges_fetch().

// Calls `work` for each item, on the workers if there are any.
static void ranges_share(const orri_post_ranges* t, uint32_t count,
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

static orri_post_walk ranges_begin(const orri_post_ranges* t, uint32_t slice)
{
    uint64_t first = (uint64_t)slice * t->slice_posts, end = first + t->slice_posts;
    return orri_post_walk_begin(t->parts, t->part_count, (uint32_t)first,
                                end < t->count ? (uint32_t)end : t->count);
}

// ---- finding targets ----------------------------------------------------------------------------

// True when the block has the type. Several workers may look up the same block; all find the same.
static bool ranges_block(const orri_post_ranges* t, uint32_t block)
{
    uint8_t state = __atomic_load_n(&t->states[block], __ATOMIC_RELAXED);
    if (ORR_UNLIKELY(state == ORRI_BLOCK_UNKNOWN)) {
        bool has = t->site.pool != NULL || orri_table_column(t->world, t->type_index, block) >= 0;
        state = has ? ORRI_BLOCK_TARGETED : ORRI_BLOCK_LACKS;
        __atomic_store_n(&t->states[block], state, __ATOMIC_RELAXED);
    }
    return state == ORRI_BLOCK_TARGETED;
}

// Where the target of a post is, or a special value.
static inline uint32_t ranges_place(const orri_post_ranges* t, orr_entity entity)
{
    uint64_t index = entity.id & ORR_HOT_ID_MASK;
    if (ORR_UNLIKELY(entity.id == 0)) {
        return ORRI_PLACE_DONE;
    }
    if (ORR_UNLIKELY(t->marks != NULL) &&
        orri_pending_get(t->marks, t->command_buffers->mark_words, orri_id_index(entity))) {
        return ORRI_PLACE_WAITS;
    }
    if (ORR_UNLIKELY(index >= t->world->hot.count)) {
        return ORRI_PLACE_DEAD;
    }
    orri_record record = *orri_record_at(t->world, (uint32_t)index);
    if (ORR_UNLIKELY(record.generation != entity.id >> 32)) {
        return ORRI_PLACE_DEAD;
    }
    uint32_t place = record.place;
    if (ORR_UNLIKELY(t->site.pool != NULL)) {
        uint32_t slot1 = orri_pool_slot1(t->site.pool, (uint32_t)index);
        if (slot1 == 0) {
            return ORRI_PLACE_ABSENT;
        }
        place = slot1 - 1;
    }
    return ORR_LIKELY(ranges_block(t, place >> t->site.slot_bits)) ? place : ORRI_PLACE_ABSENT;
}

// The place, or that the target has no such instance. `verb` NULL: of any instance.
static uint32_t ranges_with_instance(const orri_post_ranges* t, uint32_t place,
                                     const orri_verb* verb)
{
    bool lacks = place < ORRI_PLACE_ABSENT && verb != NULL &&
                 t->site.type->info.multiplicity == ORR_MULTIPLE &&
                 orri_op_instance(t->world, t->site.type, place, verb->id) == NULL;
    return lacks ? ORRI_PLACE_ABSENT : place;
}

uint32_t orri_post_place(const orri_post_ranges* t, orr_entity entity, const orri_verb* verb)
{
    return ranges_with_instance(t, ranges_place(t, entity), verb);
}

// Stamps the version of a block that will be written, and takes its address.
static void ranges_stamp(const orri_post_ranges* t, uint32_t block)
{
    if (t->site.pool == NULL) {
        int32_t column = orri_table_column(t->world, t->type_index, block);
        t->blocks[block] =
            orri_column_mark(t->world, t->world->chunks.list[block], (uint32_t)column);
        return;
    }
    orri_pool* pool = orri_pool_find(t->world, (orr_type){t->site.type->id});
    t->blocks[block] = pool->blocks[block].data;
    uint32_t slot = block << pool->slot_bits; // At least one slot of the block is in use.
    while (orri_pool_owner(pool, slot) == ORRI_INDEX_NONE) {
        slot++;
    }
    (void)orri_pool_write(t->world, pool, orri_pool_owner(pool, slot));
}

// Finds targets from op `at` on until one needs a closer look: ranges_place() as a short loop, for
// entities that are alive and whose block is known. Returns that op.
static inline uint32_t ranges_find_run(const orri_post_ranges* t, uint32_t at, uint32_t end)
{
    orri_op* ops = t->ops;
    orri_record* const* pages = t->world->hot.pages;
    const uint8_t* states = t->states;
    uint32_t ids = t->world->hot.count;
    for (; at < end; at++) {
        uint64_t id = ops[at].target, index = id & ORR_HOT_ID_MASK;
        if (ORR_UNLIKELY(index >= ids)) {
            break;
        }
        orri_record record = pages[index >> ORRI_PAGE_BITS][index & ORRI_PAGE_MASK];
        if (ORR_UNLIKELY(record.generation != id >> 32 ||
                         __atomic_load_n(&states[record.place >> ORRI_SLOT_BITS],
                                         __ATOMIC_RELAXED) != ORRI_BLOCK_TARGETED)) {
            break;
        }
        ops[at].target = record.place;
    }
    return at;
}

// Finds the targets of ops of a range.
static void ranges_find(const orri_post_ranges* t, uint32_t range, uint32_t first, uint32_t end)
{
    bool plain = t->marks == NULL && t->site.pool == NULL &&
                 t->site.type->info.multiplicity != ORR_MULTIPLE;
    for (uint32_t i = first; i < end; i++) {
        i = plain ? ranges_find_run(t, i, end) : i;
        if (i == end) {
            break;
        }
        const orri_verb* verb = &t->verbs[t->op_verbs != NULL ? t->op_verbs[i] : 0];
        uint32_t place = ranges_place(t, (orr_entity){t->ops[i].target});
        if (t->at_once && place < ORRI_PLACE_ABSENT &&
            t->blocks[place >> t->site.slot_bits] == NULL) {
            ranges_stamp(t, place >> t->site.slot_bits);
        }
        place = ranges_with_instance(t, place, verb);
        t->ops[i].target = place;
        t->skips[range] |= place >= ORRI_PLACE_ABSENT;
    }
}

// The first op of a range in a slice.
static inline uint32_t ranges_first(const orri_post_ranges* t, uint32_t slice, uint32_t range)
{
    return range > 0 ? t->ends[(size_t)slice * t->range_count + range - 1] : slice * t->slice_posts;
}

static inline uint32_t ranges_end(const orri_post_ranges* t, uint32_t slice, uint32_t range)
{
    return t->ends[(size_t)slice * t->range_count + range];
}

static void ranges_find_range(void* context, uint32_t range)
{
    const orri_post_ranges* t = context;
    for (uint32_t slice = 0; slice < t->slice_count; slice++) {
        ranges_find(t, range, ranges_first(t, slice, range), ranges_end(t, slice, range));
    }
}

// ---- distributing -------------------------------------------------------------------------------

// The range of an entity. Ids that never existed are in the first one.
static inline uint32_t ranges_of(orr_entity entity, uint64_t ids, uint32_t shift)
{
    uint64_t index = entity.id & ORR_HOT_ID_MASK;
    return (uint32_t)((index < ids ? index : 0) >> shift);
}

// Counts the posts of a slice by range, and sets where each range begins.
static void ranges_count(const orri_post_ranges* t, uint32_t slice, uint32_t* starts)
{
    uint32_t shift = t->range_shift, ids = t->world->hot.count, at = slice * t->slice_posts;
    orri_post_walk walk = ranges_begin(t, slice);
    orri_post_span span;
    memset(starts, 0, t->range_count * sizeof *starts);
    while (orri_post_walk_next(t->parts, &walk, &span)) {
        for (uint32_t i = 0; i < span.count; i++) {
            starts[ranges_of(span.posts[i].entity, ids, shift)]++;
        }
    }
    for (uint32_t r = 0; r < t->range_count; r++) {
        uint32_t count = starts[r];
        starts[r] = at;
        at += count;
    }
}

// Distributes the posts of a slice to their ranges.
static void ranges_distribute(void* context, uint32_t slice)
{
    const orri_post_ranges* t = context;
    uint32_t shift = t->range_shift, ids = t->world->hot.count;
    uint32_t* next = t->ends + (size_t)slice * t->range_count;
    orri_op* ops = t->ops;
    ranges_count(t, slice, next);
    orri_post_walk walk = ranges_begin(t, slice);
    orri_post_span span;
    while (orri_post_walk_next(t->parts, &walk, &span)) {
        uint32_t verb = span.part->verbs + span.verb;
        const orri_post* posts = span.posts;
        // The bytes of the block do not move any more: from here on the operand is known by its
        // address.
        uint64_t base = t->verbs[verb].in_bytes ? (uint64_t)(uintptr_t)span.part->posts->bytes : 0;
        for (uint32_t i = 0; i < span.count; i++) {
            uint32_t to = next[ranges_of(posts[i].entity, ids, shift)]++;
            ops[to] = (orri_op){posts[i].entity.id, base + posts[i].number};
            if (ORR_UNLIKELY(t->op_verbs != NULL)) {
                t->op_verbs[to] = verb;
            }
        }
    }
}

// ---- applying ------------------------------------------------------------------------------------

// Removes ops that are not applied now. Returns the end of the others.
static uint32_t ranges_close_up(const orri_post_ranges* t, uint32_t first, uint32_t end)
{
    uint32_t to = first;
    for (uint32_t i = first; i < end; i++) {
        if (t->ops[i].target < ORRI_PLACE_ABSENT) {
            t->ops[to] = t->ops[i];
            if (t->op_verbs != NULL) {
                t->op_verbs[to] = t->op_verbs[i];
            }
            to++;
        }
    }
    return to;
}

// Applies ops whose targets were found: consecutive ops with the same verb at once.
static void ranges_run_ops(const orri_post_ranges* t, uint32_t at, uint32_t end)
{
    while (at < end) {
        uint32_t verb = t->op_verbs != NULL ? t->op_verbs[at] : 0;
        uint32_t next = t->op_verbs != NULL ? at + 1 : end;
        while (next < end && t->op_verbs[next] == verb) {
            next++;
        }
        orri_op_run(&t->site, &t->verbs[verb], t->ops + at, next - at);
        at = next;
    }
}

// Prefetches the values of a range, in the order of the entity index, if there are about as many
// posts as entities. Entities that are neighbours there are most often neighbours in a chunk.
// Without this the posts of a range, which are in any order, wait for one value after the other.
static void ranges_fetch(const orri_post_ranges* t, uint32_t range)
{
    uint32_t ids = t->world->hot.count, first = range << t->range_shift;
    if (t->site.pool != NULL || t->count < ids / RANGES_FETCH ||
        t->type_index >= t->world->tables.capacity) {
        return; // Or no cluster ever had the type.
    }
    uint32_t left = ids - first, room = 1u << t->range_shift;
    uint32_t end = first + (left < room ? left : room);
    const orri_table* table = (const orri_table*)(const void*)t->world->tables.list[t->type_index];
    for (uint32_t i = first; i < end; i += RANGES_FETCH) {
        uint32_t place = orri_record_at(t->world, i)->place, block = place >> ORRI_SLOT_BITS;
        if (block < table->hot.capacity) {
            size_t at = (size_t)orri_place_slot(place) * t->site.type->info.size;
            // An integer: the block may be missing, and NULL may have no offset.
            __builtin_prefetch((const void*)((uintptr_t)table->hot.data[block] + at), 1);
        }
    }
}

// Prefetches the ops of a range in a slice.
static void ranges_fetch_ops(const orri_post_ranges* t, uint32_t slice, uint32_t range)
{
    uint32_t end = slice < t->slice_count ? ranges_end(t, slice, range) : 0;
    for (uint32_t i = end > 0 ? ranges_first(t, slice, range) : 0; i < end; i += 4) {
        __builtin_prefetch(&t->ops[i]);
    }
}

// Applies a range.
static void ranges_apply(void* context, uint32_t range)
{
    const orri_post_ranges* t = context;
    ranges_fetch(t, range);
    for (uint32_t slice = 0; slice < t->slice_count; slice++) {
        uint32_t first = ranges_first(t, slice, range), end = ranges_end(t, slice, range);
        if (t->range_count > 1) {
            ranges_fetch_ops(t, slice + 2, range);
        }
        if (t->at_once) {
            ranges_find(t, range, first, end);
        }
        ranges_run_ops(t, first,
                       ORR_UNLIKELY(t->skips[range]) ? ranges_close_up(t, first, end) : end);
    }
}

// ---- all ranges ---------------------------------------------------------------------------------

void orri_post_ranges_distribute(const orri_post_ranges* t)
{
    ranges_share(t, t->slice_count, ranges_distribute);
}

void orri_post_ranges_find(const orri_post_ranges* t)
{
    ranges_share(t, t->range_count, ranges_find_range);
}

void orri_post_ranges_apply(const orri_post_ranges* t)
{
    for (uint32_t b = 0; !t->at_once && b < t->block_count; b++) {
        if (t->states[b] == ORRI_BLOCK_TARGETED) {
            ranges_stamp(t, b);
        }
    }
    ranges_share(t, t->range_count, ranges_apply);
}

#undef RANGES_FETCH
