// SPDX-License-Identifier: MIT
// Lanes: opened for a run, filled by sending (send.c), kept until what they hold was committed. A lane touches nothing but its
// own memory while its system runs. Lanes are used in the same order again, so that each finds the memory it needed before.
#include "message/lane.h"

#define LANE_ROWS_MIN 16   // Of a new strip.
#define LANE_TURN     64   // Commits between two looks at memory that is kept.
#define LANE_KEPT_MIN 4096 // Bytes of a block that is not worth a look.

// ---- words --------------------------------------------------------------------------------------------------

const char* orri_sent_name_of(orri_sent kind)
{
    static const char* const names[] = {
        [ORRI_SENT_CREATE] = "EntityAdded",
        [ORRI_SENT_DESTROY] = "EntityRemoved",
        [ORRI_SENT_ADD] = "ComponentAdded",
        [ORRI_SENT_PRESET] = "ComponentAdded",
        [ORRI_SENT_CHANGE] = "ComponentChanged",
        [ORRI_SENT_REMOVE] = "ComponentRemoved",
        [ORRI_SENT_TAG_ON] = "a tag",
        [ORRI_SENT_TAG_OFF] = "a tag taken off",
        [ORRI_SENT_ON] = "a switch",
        [ORRI_SENT_OFF] = "a switch",
        [ORRI_SENT_NAME] = "a name",
        [ORRI_SENT_EVENT] = "an event",
    };
    return names[kind];
}

orr_result orri_lane_refuse_memory(orr_lane* lane)
{
    lane->failed = true;
    return orri_refuse(&lane->world->env, ORR_ERR_MEMORY, ORR_LOG_ID_SEND_REFUSED,
                       "out of memory while system '%s' sent: what it sends from here on in this "
                       "run may be lost",
                       lane->rights->name);
}

orr_result orri_check_run(const orr_run* run, const char* call)
{
    if (run == NULL || run->world == NULL) {
        // There is no world to tell.
        ORR_ASSERT(run != NULL && "the run is NULL; pass on what the system's function was given");
        return ORR_ERR_ARGUMENT;
    }
    if (ORR_LIKELY(run->lane != NULL && run->lane->open)) {
        return ORR_OK;
    }
    if (run->lane == NULL && orri_section_here()) {
        return orri_refuse(orri_env_of(run->world), ORR_ERR_STATE, ORR_LOG_ID_SEND_REFUSED,
                           "%s: an atomic section has its value, and sees and does nothing else of "
                           "the world; call it before or after the section",
                           call);
    }
    return orri_refuse(orri_env_of(run->world), ORR_ERR_STATE, ORR_LOG_ID_SEND_REFUSED,
                       "%s: %s; pass on the run that the system's function was given, while it "
                       "runs. Between ticks the calls of the store do the same",
                       call,
                       run->lane == NULL ? "this is a loop, not the run of a system"
                                         : "the system's function has returned");
}

orri_rights* orri_lane_rights(const orr_lane* lane)
{
    return lane->rights;
}

// ---- strips ---------------------------------------------------------------------------------------------------

static uint32_t lane_stride(orri_sent kind, const orri_type* info)
{
    switch (kind) {
    case ORRI_SENT_ADD:
    case ORRI_SENT_CHANGE:
    case ORRI_SENT_EVENT:
        return info->info.size;
    case ORRI_SENT_TAG_ON:
    case ORRI_SENT_TAG_OFF:
        return (uint32_t)sizeof(orr_tag);
    case ORRI_SENT_NAME:
        return (uint32_t)sizeof(orri_sent_name);
    default:
        return 0;
    }
}

static bool lane_has_ids(const orri_strip* strip)
{
    return strip->info != NULL && strip->info->info.multiplicity == ORR_MULTIPLE &&
           strip->kind != ORRI_SENT_EVENT;
}

static bool lane_has_entities(const orri_strip* strip)
{
    return strip->kind != ORRI_SENT_EVENT && !strip->follows;
}

static size_t lane_row_bytes(const orri_strip* strip)
{
    return strip->stride + (lane_has_entities(strip) ? sizeof(orr_entity) : 0) +
           (lane_has_ids(strip) ? sizeof(orr_component_id) : 0);
}

// Values, then entities, then ids, within a block. Rows must be a multiple of 8, so that each part begins aligned.
static void lane_lay_out(orri_strip* strip, uint8_t* block, uint32_t capacity)
{
    uint8_t* entities = block + (size_t)capacity * strip->stride;
    bool has = lane_has_entities(strip);
    uint8_t* ids = entities + (has ? (size_t)capacity * sizeof(orr_entity) : 0);
    strip->values = block;
    strip->entities = has ? (orr_entity*)(void*)entities : NULL;
    strip->ids = lane_has_ids(strip) ? (orr_component_id*)(void*)ids : NULL;
    strip->capacity = capacity;
}

// Uses the block that the strip has kept, for rows of another kind too.
static void lane_reuse_block(orri_strip* strip)
{
    size_t rows = strip->block_size / (lane_row_bytes(strip) > 0 ? lane_row_bytes(strip) : 1);
    uint32_t capacity = rows < UINT32_MAX - 7 ? (uint32_t)rows & ~7u : UINT32_MAX & ~7u;
    lane_lay_out(strip, strip->block, capacity);
}

static void lane_move_rows(orri_strip* strip, const orri_strip* old)
{
    if (strip->stride > 0 && strip->info != NULL && !strip->info->plain) {
        orri_rows_move(strip->info, strip->values, old->values, old->count);
    } else if (strip->stride > 0) {
        memcpy(strip->values, old->values, (size_t)old->count * strip->stride);
    }
    if (strip->entities != NULL) {
        memcpy(strip->entities, old->entities, old->count * sizeof *strip->entities);
    }
    if (strip->ids != NULL) {
        memcpy(strip->ids, old->ids, old->count * sizeof *strip->ids);
    }
}

bool orri_strip_reserve(orr_lane* lane, orri_strip* strip, uint32_t more)
{
    if (ORR_LIKELY(more <= strip->capacity - strip->count)) {
        return true;
    }
    uint64_t wanted = (uint64_t)strip->capacity * 2;
    uint64_t needed = (uint64_t)strip->count + more;
    wanted = wanted > needed ? wanted : (needed + 7) & ~(uint64_t)7;
    wanted = wanted > LANE_ROWS_MIN ? wanted : LANE_ROWS_MIN;
    size_t size = wanted <= UINT32_MAX - 7 ? orri_size_mul(lane_row_bytes(strip), (size_t)wanted)
                                           : SIZE_MAX;
    uint8_t* block = orri_alloc(&lane->world->env, ORR_MEMORY_MESSAGE, size, ORRI_BLOCK_ALIGN);
    if (block == NULL) {
        (void)orri_lane_refuse_memory(lane);
        return false;
    }
    orri_strip old = *strip;
    lane_lay_out(strip, block, (uint32_t)wanted);
    if (old.count > 0) {
        lane_move_rows(strip, &old);
    }
    orri_free(&lane->world->env, ORR_MEMORY_MESSAGE, old.block, old.block_size, ORRI_BLOCK_ALIGN);
    strip->block = block;
    strip->block_size = size;
    return true;
}

uint32_t orri_strip_sequence(const orri_strip* strip, uint32_t row)
{
    uint32_t low = 0, high = strip->break_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (strip->breaks[middle].row <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return strip->breaks[low].sequence + (row - strip->breaks[low].row);
}

uint32_t orri_lane_records(const orr_lane* lane)
{
    return lane->sequence + (lane->current != NULL ? lane->current->count - lane->run_first : 0);
}

bool orri_lane_turn(orr_lane* lane, orri_strip* strip)
{
    if (lane->current == strip) {
        return true;
    }
    if (!ORRI_RESERVE(&lane->world->env, ORR_MEMORY_MESSAGE, &strip->breaks, &strip->break_capacity,
                      strip->break_count + 1)) {
        return false;
    }
    lane->sequence = orri_lane_records(lane);
    lane->run_first = strip->count;
    strip->breaks[strip->break_count++] = (orri_break){strip->count, lane->sequence};
    lane->current = strip;
    return true;
}

// A slot that is not in use: that which was of this kind and type before, else a new one, else any.
static orri_strip* lane_slot(orr_lane* lane, orri_sent kind, orr_type type)
{
    orri_strip* found = NULL;
    for (uint32_t i = 0; i < lane->strip_count; i++) {
        orri_strip* strip = &lane->strips[i];
        if (!strip->used && strip->kind == kind && strip->type.index1 == type.index1) {
            return strip;
        }
        found = !strip->used && lane->strip_count > ORRI_LANE_RECENT ? strip : found;
    }
    if (found != NULL) {
        return found;
    }
    size_t current = lane->current != NULL ? (size_t)(lane->current - lane->strips) : 0;
    if (!ORRI_RESERVE(&lane->world->env, ORR_MEMORY_MESSAGE, &lane->strips, &lane->strip_capacity,
                      lane->strip_count + 1)) {
        return NULL;
    }
    lane->current = lane->current != NULL ? lane->strips + current : NULL;
    found = &lane->strips[lane->strip_count++];
    *found = (orri_strip){.kind = kind};
    return found;
}

static orri_strip* lane_strip_make(orr_lane* lane, orri_sent kind, orr_type type,
                                   const orri_type* info)
{
    orri_strip* strip = NULL;
    if (!lane->mute && ORRI_RESERVE(&lane->world->env, ORR_MEMORY_MESSAGE, &lane->order,
                                    &lane->order_capacity, lane->order_count + 1)) {
        strip = lane_slot(lane, kind, type);
    }
    if (strip == NULL) {
        (void)orri_lane_refuse_memory(lane);
        return NULL;
    }
    *strip = (orri_strip){.kind = kind,
                          .type = type,
                          .info = info,
                          .stride = lane_stride(kind, info),
                          .used = true,
                          .place = lane->order_count,
                          .block = strip->block,
                          .block_size = strip->block_size,
                          .peak = strip->peak,
                          .breaks = strip->breaks,
                          .break_capacity = strip->break_capacity};
    strip->quick = (info == NULL || (info->plain && !info->info.has_padding)) &&
                   !lane->rights->aside;
    strip->swift = strip->quick && !lane_has_ids(strip);
    if (strip->block != NULL) {
        lane_reuse_block(strip);
    }
    lane->order[lane->order_count++] = (uint32_t)(strip - lane->strips);
    return strip;
}

orri_strip* orri_lane_strip(orr_lane* lane, orri_sent kind, orr_type type, const orri_type* info)
{
    uint32_t* recent = &lane->recent[ORRI_LANE_RECENT_OF(kind, type)];
    orri_strip* strip = *recent != 0 ? &lane->strips[*recent - 1] : NULL;
    if (strip == NULL || strip->kind != kind || strip->type.index1 != type.index1) {
        strip = NULL;
        for (uint32_t i = lane->order_count; strip == NULL && i-- > 0;) {
            orri_strip* seen = &lane->strips[lane->order[i]];
            bool same = seen->kind == kind && seen->type.index1 == type.index1 && !seen->own;
            strip = same ? seen : NULL;
        }
        strip = strip != NULL ? strip : lane_strip_make(lane, kind, type, info);
        if (strip == NULL) {
            return NULL;
        }
        *recent = (uint32_t)(strip - lane->strips) + 1;
    }
    if (!orri_lane_turn(lane, strip)) {
        (void)orri_lane_refuse_memory(lane);
        return NULL;
    }
    return strip;
}

orri_strip* orri_lane_strip_own(orr_lane* lane, orri_sent kind, orr_type type,
                                const orri_type* info)
{
    orri_strip* strip = lane_strip_make(lane, kind, type, info);
    if (strip == NULL) {
        return NULL;
    }
    strip->own = true;
    strip->swift = false;
    strip->follows = kind != ORRI_SENT_CREATE;
    if (strip->block != NULL) {
        lane_reuse_block(strip);
    }
    return strip;
}

uint32_t orri_lane_text(orr_lane* lane, const char* text)
{
    uint32_t size = (uint32_t)strlen(text) + 1, at = lane->text_count;
    if (lane->mute || !ORRI_RESERVE(&lane->world->env, ORR_MEMORY_MESSAGE, &lane->texts,
                                    &lane->text_capacity, at + size)) {
        (void)orri_lane_refuse_memory(lane);
        return 0;
    }
    memcpy(lane->texts + at, text, size);
    lane->text_count += size;
    return at + 1;
}

void orri_strip_clear(orri_strip* strip)
{
    if (strip->stride > 0 && strip->info != NULL && !strip->info->plain) {
        orri_rows_destruct(strip->info, strip->values, strip->count);
    }
    size_t used = strip->count * lane_row_bytes(strip);
    strip->peak = used > strip->peak ? used : strip->peak;
    strip->count = 0;
}

// ---- lanes ------------------------------------------------------------------------------------------------------

// Forgets all records; memory stays.
static void lane_empty(orr_lane* lane)
{
    for (uint32_t i = 0; i < lane->order_count; i++) {
        orri_strip* strip = &lane->strips[lane->order[i]];
        orri_strip_clear(strip);
        strip->used = false;
        strip->break_count = 0;
    }
    memset(lane->recent, 0, sizeof lane->recent);
    lane->order_count = 0;
    lane->current = NULL;
    lane->sequence = lane->run_first = 0;
    lane->text_count = lane->many = lane->many_count = 0;
}

static void lane_free_memory(orr_world* world, orr_lane* lane)
{
    orri_env* env = &world->env;
    lane_empty(lane);
    for (uint32_t i = 0; i < lane->strip_count; i++) {
        orri_strip* strip = &lane->strips[i];
        orri_free(env, ORR_MEMORY_MESSAGE, strip->block, strip->block_size, ORRI_BLOCK_ALIGN);
        ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, strip->breaks, strip->break_capacity);
    }
    ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, lane->strips, lane->strip_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, lane->order, lane->order_capacity);
    ORRI_RELEASE(env, ORR_MEMORY_MESSAGE, lane->texts, lane->text_capacity);
    if (lane->asides != NULL) {
        orri_asides_free(world, lane->asides);
    }
}

static void lane_free(orr_world* world, orr_lane* lane)
{
    lane_free_memory(world, lane);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, orr_lane, lane, 1);
}

// Those of a world, or others beside them. NULL when refused (reported).
static struct orri_lanes* lane_make_all(orr_world* world, struct orri_lanes_shared* shared)
{
    struct orri_lanes* lanes =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, struct orri_lanes, 1);
    if (lanes == NULL) {
        (void)orri_refuse_memory(&world->env, "beginning lanes");
        return NULL;
    }
    lanes->spare.mute = true;
    lanes->shared = shared;
    lanes->next = shared->all;
    shared->all = lanes;
    return lanes;
}

bool orri_lanes_begin(orr_world* world)
{
    struct orri_messages* messages = orri_messages_of(world);
    if (messages == NULL || messages->lanes != NULL) {
        return messages != NULL;
    }
    struct orri_lanes_shared* shared =
        ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, struct orri_lanes_shared, 1);
    if (shared == NULL) {
        (void)orri_refuse_memory(&world->env, "beginning lanes");
        return false;
    }
    messages->lanes = lane_make_all(world, shared);
    if (messages->lanes == NULL) {
        ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_lanes_shared, shared, 1);
    }
    return messages->lanes != NULL;
}

struct orri_lanes* orri_lanes_make(orr_world* world)
{
    struct orri_lanes* lanes =
        orri_lanes_begin(world) ? lane_make_all(world, orri_lanes_at(world)->shared) : NULL;
    if (lanes != NULL) {
        lanes->holds = true;
    }
    return lanes;
}

static struct orri_lanes* lane_own(const struct orri_lanes_shared* shared)
{
    struct orri_lanes* lanes = shared->all;
    while (lanes->next != NULL) {
        lanes = lanes->next;
    }
    return lanes;
}

void orri_lanes_use(orr_world* world, struct orri_lanes* lanes)
{
    struct orri_messages* messages = world->messages;
    messages->lanes = lanes != NULL ? lanes : lane_own(messages->lanes->shared);
}

static orr_lane* lane_obtain(orr_world* world, struct orri_lanes* lanes)
{
    orr_lane* lane = lanes->free;
    if (ORR_LIKELY(lane != NULL)) {
        lanes->free = lane->next;
        return lane;
    }
    lane = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, orr_lane, 1);
    return lane != NULL ? lane : &lanes->spare;
}

orr_lane* orri_lane_open(orr_world* world, orri_rights* rights, uint32_t creates_max)
{
    if (ORR_UNLIKELY(orri_lanes_at(world) == NULL) && !orri_lanes_begin(world)) {
        return NULL;
    }
    struct orri_lanes* lanes = orri_lanes_at(world);
    orr_lane* lane = lane_obtain(world, lanes);
    ORR_ASSERT(!lane->open && lane->order_count == 0);
    lane->world = world;
    lane->lanes = lanes;
    lane->rights = rights;
    lane->next = NULL;
    lane->open = true;
    lane->marked = lane->valued = lane->failed = false;
    lane->base = lanes->reserved;
    lane->cursor = lanes->cursor;
    lane->creates_max = rights->may_create ? creates_max : 0;
    lane->create_count = lane->provisional_count = 0;
    lanes->reserved += lane->creates_max;
    if (rights->transacts != NULL) {
        orri_posts_open(lanes, lane);
    }
    return lane;
}

bool orri_lane_end(orr_lane* lane)
{
    lane->open = false;
    return lane->order_count != 0 || (lane->failed && !lane->mute) || lane->asides != NULL ||
           orri_posts_any(lane->posts);
}

bool orri_lane_real(const orr_lane* lane)
{
    return lane != NULL && !lane->mute;
}

uint64_t orri_lanes_reserved(const orr_world* world)
{
    return orri_lanes_at(world)->reserved;
}

void orri_lanes_rewind(orr_world* world, uint64_t reserved)
{
    orri_lanes_at(world)->reserved = reserved;
}

void orri_lane_close(orr_world* world, orr_lane* lane)
{
    (void)world;
    struct orri_lanes* lanes = lane->lanes;
    lane->open = false;
    if (lane->posts != NULL) {
        orri_posts_close(lanes, lane);
    }
    if (ORR_UNLIKELY(lane->asides != NULL)) {
        orri_asides_close(lanes, lane);
    }
    if (ORR_LIKELY(lane->order_count == 0 && !lane->failed && !lane->mute)) {
        lane->next = lanes->free;
        lanes->free = lane;
        return;
    }
    if (ORR_UNLIKELY(lane->failed)) {
        atomic_store_explicit(&lanes->refused, true, memory_order_relaxed);
    }
    if (lane->mute) {
        return;
    }
    if (lane->create_count > 0) {
        lanes->cursor = lane->cursor;
    }
    lane->record_count = orri_lane_records(lane);
    lane->rights->counts.sent += lane->record_count;
    if (lane->record_count == 0) {
        lane_empty(lane);
        lane->next = lanes->free;
        lanes->free = lane;
        return;
    }
    if (lanes->last != NULL) {
        lanes->last->next = lane;
    } else {
        lanes->first = lane;
    }
    if (lanes->unseen == NULL) {
        lanes->unseen = lane;
        lanes->seen_last = lanes->last;
    }
    lane->number = lanes->closed++;
    lanes->last = lane;
    lanes->used_count++;
    lanes->used_peak = lanes->used_peak > lanes->used_count ? lanes->used_peak : lanes->used_count;
}

static bool lane_waits(const orr_lane* lane)
{
    for (uint32_t i = 0; i < lane->order_count; i++) {
        if (lane->strips[lane->order[i]].count > 0) {
            return true;
        }
    }
    return false;
}

void orri_lanes_release(struct orri_lanes* lanes, bool all)
{
    // Those before `unseen` were looked at already, and wait: walking them for every system would be quadratic.
    orr_lane* before = all ? NULL : lanes->seen_last;
    orr_lane *freed = NULL, **freed_end = &freed;
    orr_lane** link = before != NULL ? &before->next : &lanes->first;
    lanes->last = before;
    lanes->unseen = lanes->seen_last = NULL;
    while (*link != NULL) {
        orr_lane* lane = *link;
        if (!all && lane_waits(lane)) {
            if (lanes->unseen == NULL && !lane->valued) { // Of callbacks of another system.
                lanes->unseen = lane;
                lanes->seen_last = lanes->last;
            }
            lanes->last = lane;
            link = &lane->next;
            continue;
        }
        *link = lane->next;
        lane_empty(lane);
        lanes->used_count--;
        *freed_end = lane;
        freed_end = &lane->next;
    }
    // In the order of use, before those that were used earlier: the next run gets the memory that its like had.
    *freed_end = lanes->free;
    lanes->free = freed;
}

bool orri_commit_pending(const orr_world* world)
{
    const struct orri_lanes* lanes = orri_lanes_at(world);
    return lanes != NULL && (lanes->first != NULL || lanes->aside_first != NULL);
}

bool orri_lanes_refused(orr_world* world)
{
    struct orri_lanes* lanes = orri_lanes_at(world);
    return lanes != NULL && atomic_exchange_explicit(&lanes->refused, false, memory_order_relaxed);
}

bool orri_events_lost(orr_world* world)
{
    struct orri_lanes* lanes = orri_lanes_at(world);
    bool lost = lanes != NULL && lanes->overflowed;
    if (lost) {
        lanes->overflowed = false;
    }
    return lost;
}

// ---- memory that is kept ---------------------------------------------------------------------------------------

// Of a lane that is free: blocks that were never a quarter full go.
static void lane_trim(orr_world* world, orr_lane* lane)
{
    for (uint32_t i = 0; i < lane->strip_count; i++) {
        orri_strip* strip = &lane->strips[i];
        if (strip->block_size > LANE_KEPT_MIN && strip->peak < strip->block_size / 4) {
            orri_free(&world->env, ORR_MEMORY_MESSAGE, strip->block, strip->block_size,
                      ORRI_BLOCK_ALIGN);
            strip->block = NULL;
            strip->block_size = 0;
        }
        strip->peak = 0;
    }
}

void orri_lanes_trim(orr_world* world)
{
    struct orri_lanes* lanes = orri_lanes_at(world);
    if (++lanes->turn < LANE_TURN) {
        return;
    }
    lanes->turn = 0;
    // One more than waited at once: a run has its lane before it is known whether it sends.
    uint32_t kept = lanes->used_peak + 1;
    orr_lane** link = &lanes->free;
    while (*link != NULL) {
        orr_lane* lane = *link;
        if (kept > 0) {
            lane_trim(world, lane);
            link = &lane->next;
            kept--;
        } else {
            *link = lane->next;
            lane_free(world, lane);
        }
    }
    lanes->used_peak = lanes->used_count;
    if (lanes->item_peak < lanes->item_capacity / 4) {
        ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, lanes->items, lanes->item_capacity);
        lanes->items = NULL;
        lanes->item_capacity = 0;
    }
    lanes->item_peak = 0;
    orri_scratch_trim(world, &lanes->scratch);
    orri_posts_trim(world);
}

static void lane_free_all(orr_world* world, struct orri_lanes* lanes)
{
    orri_lanes_release(lanes, true);
    orri_asides_abandon(world, lanes, false);
    for (orr_lane* lane = lanes->free; lane != NULL;) {
        orr_lane* next = lane->next;
        lane_free(world, lane);
        lane = next;
    }
    orri_marks_term(world, lanes);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, lanes->items, lanes->item_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_MESSAGE, lanes->held, lanes->held_capacity);
    orri_scratch_term(world, &lanes->scratch);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_lanes, lanes, 1);
}

void orri_lanes_destroy(orr_world* world, struct orri_lanes* lanes)
{
    if (lanes == NULL) {
        return;
    }
    ORR_ASSERT(lanes != orri_lanes_at(world) && lanes->holds);
    ORR_ASSERT(lanes->first == NULL && lanes->aside_first == NULL);
    if (lanes->held_count >
        0) { // A refusal was reported: what cannot be put back is not given again.
        (void)orri_held_free(world, lanes);
    }
    orri_posts_leave(lanes);
    struct orri_lanes** link = &lanes->shared->all;
    while (*link != lanes) {
        link = &(*link)->next;
    }
    *link = lanes->next;
    lane_free_all(world, lanes);
}

void orri_lanes_term(orr_world* world)
{
    if (orri_lanes_at(world) == NULL) {
        return;
    }
    struct orri_lanes_shared* shared = orri_lanes_at(world)->shared;
    while (shared->all != NULL) {
        struct orri_lanes* lanes = shared->all;
        shared->all = lanes->next;
        lane_free_all(world, lanes);
    }
    orri_posts_term(world, shared);
    ORRI_FREE(&world->env, ORR_MEMORY_MESSAGE, struct orri_lanes_shared, shared, 1);
    world->messages->lanes = NULL;
}

#undef LANE_ROWS_MIN
#undef LANE_TURN
#undef LANE_KEPT_MIN
