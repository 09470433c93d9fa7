// SPDX-License-Identifier: MIT
// Remembers and forgets ticks of a world, finds remembered ticks, and counts what they cost. The
// store, the message module and the schedule each save and free their own part of a memory.
#include "history/history.h"
#include "realtime/realtime.h"

static void history_free(orr_world* world)
{
    struct orri_history* history = world->history;
    orri_history_drop(world, 0, history->memory_count);
    ORR_ASSERT(history->base.number == 0);
    ORRI_RELEASE(&world->env, ORR_MEMORY_SHARE, history->room, history->memory_capacity);
    ORRI_FREE(&world->env, ORR_MEMORY_SHARE, struct orri_history, history, 1);
    world->history = NULL;
}

static orr_result history_validate(orr_world* world)
{
    const struct orri_history* history = world->history;
    bool pending = world->messages != NULL && world->messages->unsettled != NULL;
    if (pending != (world->running.notify_travel != NULL)) {
        return orri_refuse(&world->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                           "orr_world_validate: invariant H11 is violated: readers %s notified of "
                           "a travel, and changes of the world %s for that",
                           pending ? "are not" : "are", pending ? "do not wait" : "wait");
    }
    for (uint32_t i = 0; i < history->memory_count; i++) {
        const orri_memory* memory = &history->memories[i];
        bool ascends = i == 0 || history->memories[i - 1].tick < memory->tick;
        if (!ascends || !orri_snapshot_valid(memory->store)) {
            return orri_refuse(&world->env, ORR_ERR_CORRUPT, ORR_LOG_ID_WORLD_CORRUPT,
                               "orr_world_validate: invariant %s is violated by remembered "
                               "tick %llu",
                               ascends ? "S18" : "H0", (unsigned long long)memory->tick);
        }
    }
    return ORR_OK;
}

struct orri_history* orri_history_of(orr_world* world)
{
    if (world->history == NULL) {
        world->history = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_SHARE, struct orri_history, 1);
        if (world->history == NULL) {
            (void)orri_refuse_memory(&world->env, "creating a history");
            return NULL;
        }
        world->extensions[ORRI_EXTENSION_HISTORY].gone = history_free;
        world->extensions[ORRI_EXTENSION_HISTORY].validate = history_validate;
        world->tick_hooks.begins = orri_history_tick_begins;
        world->tick_hooks.ended = orri_history_tick_ended;
        world->tick_hooks.sync_wanted = orri_history_tick_wanted;
        world->tick_hooks.synced = orri_history_sync_point;
    }
    return world->history;
}

// ---- finding ------------------------------------------------------------------------------------

uint32_t orri_history_find(const struct orri_history* history, uint64_t tick)
{
    uint32_t first = 0, end = history != NULL ? history->memory_count : 0;
    if (end > 0 && history->memories[end - 1].tick < tick) {
        return end; // Usual in a tick, which comes after all of them.
    }
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (history->memories[middle].tick < tick) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

const orri_memory* orri_history_at(const orr_world* world, uint64_t tick)
{
    const struct orri_history* history = world->history;
    uint32_t at = orri_history_find(history, tick);
    bool found = history != NULL && at < history->memory_count &&
                 history->memories[at].tick == tick &&
                 !orri_snapshot_lost(history->memories[at].store);
    return found ? &history->memories[at] : NULL;
}

// True (reported) while a world runs in real time outside of a sync point: memories are then made
// and freed by other threads.
static bool history_refuse_running(const orr_world* world, const char* call)
{
    bool hidden = orri_between_sync_points(world);
    if (hidden) {
        (void)orri_refuse_running(world, call);
    }
    return hidden;
}

bool orr_remembered(const orr_world* world, uint64_t tick)
{
    ORR_ASSERT(world != NULL);
    return !history_refuse_running(world, "orr_remembered") && orri_history_at(world, tick) != NULL;
}

void orri_history_near(const orr_world* world, uint64_t tick, uint64_t* before, uint64_t* after)
{
    const struct orri_history* history = world->history;
    *before = *after = UINT64_MAX;
    uint32_t count = history != NULL ? history->memory_count : 0;
    uint32_t at = orri_history_find(history, tick), last = at;
    while (at < count && orri_snapshot_lost(history->memories[at].store)) {
        at++;
    }
    *after = at < count ? history->memories[at].tick : UINT64_MAX;
    // A memory of `tick` itself is both the one before and the one after.
    last += last < count && history->memories[last].tick == tick;
    while (last > 0 && orri_snapshot_lost(history->memories[last - 1].store)) {
        last--;
    }
    *before = last > 0 ? history->memories[last - 1].tick : UINT64_MAX;
}

void orr_remembered_near(const orr_world* world, uint64_t tick, uint64_t* before, uint64_t* after)
{
    ORR_ASSERT(world != NULL && before != NULL && after != NULL);
    *before = *after = UINT64_MAX;
    if (!history_refuse_running(world, "orr_remembered_near")) {
        orri_history_near(world, tick, before, after);
    }
}

// ---- remembering --------------------------------------------------------------------------------

static void history_memory_free(orr_world* world, const orri_memory* memory)
{
    world->history->extra_bytes -= memory->extra_bytes;
    if (memory->schedule != NULL) {
        orri_schedule_forget(world, memory->schedule);
    }
    if (memory->messages != NULL) {
        orri_messages_forget(world, memory->messages);
    }
    if (memory->store != NULL) {
        orri_snapshot_release(world, memory->store);
    }
}

void orri_history_base_check(orr_world* world)
{
    struct orri_history* history = world->history;
    bool ahead = history->memory_count > 0 &&
                 history->memories[history->memory_count - 1].tick > history->base.tick;
    if (history->base.number != 0 && (!ahead || history->restored_number != history->base.number ||
                                      world->tick != history->base.tick)) {
        history_memory_free(world, &history->base);
        history->base = (orri_memory){0};
    }
}

// Forgets one memory. If the world is unchanged since this memory was restored, it is kept as the
// base: it shows that later memories belong to the world's future (H0e).
static void history_memory_forget(orr_world* world, const orri_memory* memory)
{
    struct orri_history* history = world->history;
    bool base = memory->tick == world->tick && memory->number == history->restored_number &&
                orri_history_is_current(world, memory);
    if (base) {
        ORR_ASSERT(history->base.number == 0);
        history->base = *memory;
    } else {
        history_memory_free(world, memory);
    }
}

static bool history_memory_make(orr_world* world, bool automatic, orri_memory* out)
{
    *out = (orri_memory){.tick = world->tick, .automatic = automatic};
    out->store = orri_snapshot_take(world);
    out->messages = out->store != NULL ? orri_messages_remember(world) : NULL;
    out->schedule = out->messages != NULL ? orri_schedule_remember(world) : NULL;
    if (out->schedule == NULL) {
        history_memory_free(world, out);
        return false;
    }
    out->number = ++world->history->number_last;
    out->extra_bytes = orri_messages_past_bytes(out->messages) +
                       orri_schedule_past_bytes(out->schedule);
    world->history->extra_bytes += out->extra_bytes;
    return true;
}

// Replaces the old memory of the same tick.
static void history_replace(orr_world* world, orri_memory* old, orri_memory* memory)
{
    memory->automatic = memory->automatic && old->automatic;
    history_memory_free(world, old);
}

// Makes room for one more memory at the end. The gap at the front is closed when it is half of the
// room. False when refused (not reported).
static bool history_reserve(orr_world* world)
{
    struct orri_history* history = world->history;
    uint32_t needed = history->memory_gap + history->memory_count + 1;
    if (needed > history->memory_capacity && history->memory_gap > history->memory_capacity / 2) {
        memmove(history->room, history->memories,
                history->memory_count * sizeof *history->memories);
        history->memory_gap = 0;
    } else if (!ORRI_RESERVE(&world->env, ORR_MEMORY_SHARE, &history->room,
                             &history->memory_capacity, needed)) {
        return false;
    }
    history->memories = history->room + history->memory_gap;
    return true;
}

// Removes memories that were freed from the list. The shorter part of the rest moves.
static void history_remove(struct orri_history* history, uint32_t first, uint32_t count)
{
    uint32_t after = history->memory_count - first - count;
    history->memory_count -= count;
    if (count == 0) {
        return; // `memories` may be NULL.
    }
    if (first < after) {
        memmove(history->memories + count, history->memories, first * sizeof *history->memories);
        history->memories += count;
        history->memory_gap += count;
    } else {
        memmove(history->memories + first, history->memories + first + count,
                after * sizeof *history->memories);
    }
}

orr_result orri_history_keep(orr_world* world, bool automatic)
{
    struct orri_history* history = orri_history_of(world);
    orri_memory memory;
    if (history == NULL) {
        return ORR_ERR_MEMORY;
    }
    orri_history_sweep(world);
    if (!history_reserve(world)) {
        return orri_refuse_memory(&world->env, "remembering a tick");
    }
    if (!history_memory_make(world, automatic, &memory)) {
        return orri_env_result(&world->env);
    }
    // If the world is unchanged since it was restored, the memories ahead are also the future of the
    // new memory.
    if (orri_history_current(world) != NULL) {
        history->restored_number = memory.number;
    }
    uint32_t at = orri_history_find(history, memory.tick);
    if (at < history->memory_count && history->memories[at].tick == memory.tick) {
        history_replace(world, &history->memories[at], &memory);
    } else {
        memmove(&history->memories[at + 1], &history->memories[at],
                (history->memory_count - at) * sizeof *history->memories);
        history->memory_count++;
    }
    history->memories[at] = memory;
    history->remembered++;
    history->lost_tick1 = 0;
    orri_history_base_check(world);
    return ORR_OK;
}

// True if the limit of bytes is exceeded. In a replay the recorded answer is used, because the
// number of bytes depends on spectators.
static bool history_over_budget(orr_world* world)
{
    const struct orri_history* history = world->history;
    if (history == NULL || history->rules.bytes_max == 0) {
        return false;
    }
    uint32_t over;
    if (!orri_replay_budget(world, &over)) {
        over = orri_history_bytes(world) > history->rules.bytes_max;
    }
    orri_realtime_log_budget(world, over);
    return over != 0;
}

orr_result orr_remember(orr_world* world)
{
    ORR_ASSERT(world != NULL);
    orr_result result = orri_step_between(world, "orr_remember");
    if (result != ORR_OK) {
        return result;
    }
    if (history_over_budget(world)) {
        const struct orri_history* history = world->history;
        return orri_refuse(&world->env, ORR_ERR_CAPACITY, ORR_LOG_ID_CALL_REFUSED,
                           "orr_remember: remembered ticks use %llu bytes, the limit "
                           "orr_history_desc.bytes_max is %llu; forget ticks with orr_forget(), or "
                           "raise the limit with orr_history_set()",
                           (unsigned long long)orri_history_bytes(world),
                           (unsigned long long)history->rules.bytes_max);
    }
    return orri_history_keep(world, false);
}

// ---- forgetting ---------------------------------------------------------------------------------

void orri_history_drop(orr_world* world, uint32_t first, uint32_t count)
{
    struct orri_history* history = world->history;
    for (uint32_t i = first; i < first + count; i++) {
        history_memory_forget(world, &history->memories[i]);
    }
    history_remove(history, first, count);
    orri_history_base_check(world);
}

void orri_history_sweep(orr_world* world)
{
    struct orri_history* history = world->history;
    uint32_t kept = 0;
    if (history->losses == world->cow.losses) {
        return;
    }
    history->losses = world->cow.losses;
    for (uint32_t i = 0; i < history->memory_count; i++) {
        if (orri_snapshot_lost(history->memories[i].store)) {
            bool here = history->memories[i].tick == world->tick;
            history->lost_tick1 = here ? world->tick + 1 : history->lost_tick1;
            history_memory_free(world, &history->memories[i]);
            history->lost++;
        } else {
            history->memories[kept++] = history->memories[i];
        }
    }
    history->memory_count = kept;
    orri_history_base_check(world);
}

orr_result orr_forget(orr_world* world, uint64_t tick)
{
    ORR_ASSERT(world != NULL);
    orr_result result = orri_step_between(world, "orr_forget");
    if (result != ORR_OK) {
        return result;
    }
    uint32_t at = orri_history_find(world->history, tick);
    if (world->history == NULL || at == world->history->memory_count ||
        world->history->memories[at].tick != tick) {
        return orri_refuse(&world->env, ORR_ERR_PAST, ORR_LOG_ID_CALL_REFUSED,
                           "orr_forget: tick %llu is not remembered; orr_remembered_near() finds "
                           "remembered ticks",
                           (unsigned long long)tick);
    }
    orri_history_drop(world, at, 1);
    return ORR_OK;
}

uint32_t orr_forget_range(orr_world* world, uint64_t first, uint64_t last, uint64_t keep_every)
{
    ORR_ASSERT(world != NULL);
    struct orri_history* history = world->history;
    if (orri_step_between(world, "orr_forget_range") != ORR_OK || history == NULL) {
        return 0;
    }
    uint32_t begin = orri_history_find(history, first), end = begin;
    while (end < history->memory_count && history->memories[end].tick <= last) {
        end++;
    }
    // Newest first: an older share that leans on a newer one then finds its next base nearby, not
    // behind all memories that are freed.
    uint32_t kept = end;
    for (uint32_t i = end; i-- > begin;) {
        if (keep_every != 0 && history->memories[i].tick % keep_every == 0) {
            history->memories[--kept] = history->memories[i];
        } else {
            history_memory_forget(world, &history->memories[i]);
        }
    }
    uint32_t forgotten = kept - begin;
    history_remove(history, begin, forgotten);
    orri_history_base_check(world);
    return forgotten;
}

uint64_t orr_timeline(const orr_world* world)
{
    ORR_ASSERT(world != NULL);
    return world->timeline;
}

// ---- statistics ---------------------------------------------------------------------------------

uint64_t orri_history_bytes(const orr_world* world)
{
    orr_memory_stats memory;
    orri_mem_stats(&world->env, &memory);
    return memory.by_purpose[ORR_MEMORY_SHARE].bytes +
           (world->history != NULL ? world->history->extra_bytes : 0);
}

void orr_history_stats_get(const orr_world* world, orr_history_stats* out)
{
    ORR_ASSERT(world != NULL && out != NULL);
    const struct orri_history* history = world->history;
    *out = (orr_history_stats){0};
    if (history_refuse_running(world, "orr_history_stats_get") || history == NULL) {
        return;
    }
    *out = (orr_history_stats){.tick_first = UINT64_MAX,
                               .bytes = orri_history_bytes(world),
                               .remembered = history->remembered,
                               .forgotten = history->forgotten,
                               .lost = history->lost,
                               .travels = history->travels,
                               .ticks_run = history->ticks_run};
    uint64_t round = ++world->history->round;
    for (uint32_t i = 0; i < history->memory_count; i++) {
        const orri_memory* memory = &history->memories[i];
        uint64_t own = 0, shared = 0;
        orri_snapshot_bytes(memory->store, round, &own, &shared);
        out->bytes_shared += shared;
        if (orri_snapshot_lost(memory->store)) {
            out->lost++;
            continue;
        }
        out->ticks++;
        out->tick_first = memory->tick < out->tick_first ? memory->tick : out->tick_first;
        out->tick_last = memory->tick;
    }
    out->tick_first = out->ticks > 0 ? out->tick_first : 0;
}

size_t orr_history_print(const orr_world* world, char* out, size_t out_size)
{
    ORR_ASSERT(world != NULL);
    orri_text text = {out, out_size, 0};
    orr_history_stats stats;
    orri_text_add(&text, "%s", "");
    if (history_refuse_running(world, "orr_history_print")) {
        return 0;
    }
    orr_history_stats_get(world, &stats);
    if (stats.ticks == 0) {
        orri_text_add(&text, "nothing is remembered\n");
    } else {
        orri_text_add(&text, "%u ticks remembered, %llu to %llu\n", stats.ticks,
                      (unsigned long long)stats.tick_first, (unsigned long long)stats.tick_last);
    }
    orri_text_add(&text, "%12llu bytes used by them alone\n", (unsigned long long)stats.bytes);
    orri_text_add(&text, "%12llu bytes shared with the world, copied when they change\n",
                  (unsigned long long)stats.bytes_shared);
    orri_text_add(&text, "%12llu remembered in all, %llu forgotten automatically, %llu lost\n",
                  (unsigned long long)stats.remembered, (unsigned long long)stats.forgotten,
                  (unsigned long long)stats.lost);
    orri_text_add(&text,
                  "%12llu travels to remembered ticks, %llu ticks run by travelling forward\n",
                  (unsigned long long)stats.travels, (unsigned long long)stats.ticks_run);
    return text.length;
}
