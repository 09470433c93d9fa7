// SPDX-License-Identifier: MIT
// Systems that overwrite: their values are published without a copy, which shows only in the number
// of bytes copied. An oracle keeps each value as its writers left it, and as it was at the end of
// each tick of its owner. The owner's systems and readers of other pipelines compare values with
// the oracle.
#include "realtime/realtime.h"
#include "schedule/system_kit.h"
#include <stdlib.h>

ORR_STRUCT(Paint, (uint64_t, value), (uint64_t, twice), (uint64_t, extra))
ORR_STRUCT(Clock, (uint64_t, tick))
ORR_STRUCT(Trail, (uint64_t, sum))
ORR_STRUCT(Chips, (int32_t, count))
ORR_STRUCT(Still, (uint32_t, since))
ORR_STRUCT(Mark, (uint32_t, number))

enum {
    ENTITIES_MAX = 8192,
    TICKS_KEPT = 32,
};

// ---- the oracle ---------------------------------------------------------------------------------

typedef struct slot {
    orr_entity entity; // Null: free.
    Paint paint;
    bool loose; // Changed from outside at about that time: both values are right.
} slot;

typedef struct moment {
    uint64_t tick; // 0: none.
    slot slots[ENTITIES_MAX];
} moment;

// Bits: activities in a world.
enum {
    DOES_PAINT_PART = 1, // Another system overwrites entities that stand still.
    DOES_LOOK = 2,       // A system reads the old values.
    DOES_NUDGE = 4,      // Writers that do not overwrite:
    DOES_LOOKUP = 8,
    DOES_CHANGE = 16,
    DOES_DEAL = 32,
    DOES_ATOM = 64,
    DOES_POST = 128,
    DOES_CHURN = 256,
    DOES_SWITCH = 512,
    DOES_PLAIN = 1024, // No system declares that it overwrites.
    DOES_SELDOM = 2048,
    DOES_SYNC_POINT = 4096, // Systems are added, removed and changed at sync points.
    DOES_ALL = 8191 - DOES_PLAIN,
};

typedef struct studio {
    kit k;
    uint32_t does;
    uint64_t ticks; // Minimum number of ticks of the owner.
    bool replays;
    bool resumed; // The tick to come began in another run, which published half of it.
    uint32_t sync_points;
    orri_mutex mutex; // Guards moments.
    moment moments[TICKS_KEPT];
    slot now[ENTITIES_MAX];
    slot building[ENTITIES_MAX];
    orr_entity known[ENTITIES_MAX]; // As of the end of the owner's last tick.
    uint32_t known_count, knowing;
    orr_entity fresh[ENTITIES_MAX];
    orr_entity clock;
    uint64_t faults, compared, skipped, sealed, copied;
    char fault[256];
} studio;

static studio* S;
static uint32_t studio_workers;
static uint32_t studio_tags; // So many entities have a tag, and so a cluster, of their own.

static void studio_lock(void)
{
    orri_mutex_lock(orr_platform_default(), &S->mutex);
}

static void studio_unlock(void)
{
    orri_mutex_unlock(orr_platform_default(), &S->mutex);
}

static void fault(const char* reader, const orr_run* run, orr_entity entity, const Paint* is,
                  const Paint* should)
{
    studio_lock();
    if (S->faults++ == 0) {
        snprintf(S->fault, sizeof S->fault,
                 "%s, tick %llu, entity %llx: %llu %llu %llu instead of %llu %llu %llu", reader,
                 (unsigned long long)run->tick, (unsigned long long)entity.id,
                 (unsigned long long)is->value, (unsigned long long)is->twice,
                 (unsigned long long)is->extra, (unsigned long long)should->value,
                 (unsigned long long)should->twice, (unsigned long long)should->extra);
    }
    studio_unlock();
}

static Paint paint_of(uint64_t value)
{
    return (Paint){value, 2 * value + 1, 0};
}

// A new entity has the value it was created with.
static slot* slot_of(orr_entity entity)
{
    slot* s = &S->now[orri_id_index(entity) % ENTITIES_MAX];
    if (s->entity.id != entity.id) {
        *s = (slot){.entity = entity, .paint = paint_of(1)};
    }
    return s;
}

static bool same(const Paint* a, const Paint* b)
{
    return a->value == b->value && a->twice == b->twice && a->extra == b->extra;
}

static uint64_t chance(const orr_run* run, uint64_t what)
{
    return orri_hash_word(run->tick * 64 + what, 0x5EED);
}

// ---- systems of the owner -----------------------------------------------------------------------

static void paint(orr_run* run)
{
    Paint* p = orr_write(run, Paint);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        p[i] = paint_of(run->tick * 100003 + orri_id_index(entity));
        slot_of(entity)->paint = p[i];
    }
}

static void look(orr_run* run)
{
    const Paint* p = orr_read(run, Paint);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        if (!same(&p[i], &slot_of(entity)->paint)) {
            fault("look", run, entity, &p[i], &slot_of(entity)->paint);
        }
    }
}

static void nudge_one(Paint* p)
{
    p->value += 3;
    p->twice += 6;
}

static void nudge(orr_run* run)
{
    Paint* p = orr_write(run, Paint);
    for (uint32_t i = 0; i < run->count; i += 2) {
        nudge_one(&p[i]);
        nudge_one(&slot_of(orr_iter_entity(run, i))->paint);
    }
}

static orr_entity random_known(const orr_run* run, uint64_t what)
{
    return S->known_count > 0 ? S->known[chance(run, what) % S->known_count] : (orr_entity){0};
}

static void lookup(orr_run* run)
{
    orr_entity entity = random_known(run, 1);
    bool reaches = chance(run, 2) % 3 == 0 && orr_alive(run->world, entity);
    Paint* p = reaches ? orr_edit(run->world, entity, Paint) : NULL;
    if (p != NULL) {
        if (!same(p, &slot_of(entity)->paint)) {
            fault("lookup", run, entity, p, &slot_of(entity)->paint);
        }
        nudge_one(p);
        nudge_one(&slot_of(entity)->paint);
    }
}

static void change(orr_run* run)
{
    orr_entity entity = random_known(run, 3);
    if (chance(run, 4) % 3 == 0 && orr_alive(run->world, entity)) {
        Paint p = paint_of(chance(run, 5));
        CHECK_OK(orr_send_change_put(run, entity, Paint, &p));
        slot_of(entity)->paint = p;
    }
}

static void deal(orr_run* run)
{
    orr_entity entity = random_known(run, 6);
    if (chance(run, 7) % 3 == 0 && orr_alive(run->world, entity)) {
        CHECK_OK(orr_transact(run, ORR_OP_ADD, entity, Paint, extra, 5));
        slot_of(entity)->paint.extra += 5;
    }
}

static void atom_one(void* value, void* user)
{
    (void)user;
    nudge_one(value);
}

static void atom(orr_run* run)
{
    orr_entity entity = random_known(run, 8);
    if (chance(run, 9) % 3 == 0 && orr_alive(run->world, entity)) {
        CHECK_OK(orr_atomic_on(run, entity, Paint, atom_one, NULL));
        nudge_one(&slot_of(entity)->paint);
    }
}

static void wind(orr_run* run)
{
    Clock* c = orr_write(run, Clock);
    for (uint32_t i = 0; i < run->count; i++) {
        c[i].tick = run->tick;
    }
}

static void keep(orr_run* run)
{
    const Paint* p = orr_read(run, Paint);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        slot* s = slot_of(entity);
        if (!same(&p[i], &s->paint)) {
            fault("keep", run, entity, &p[i], &s->paint);
        }
        slot* kept = &S->building[orri_id_index(entity) % ENTITIES_MAX];
        *kept = (slot){entity, p[i], kept->loose && kept->entity.id == entity.id};
        S->fresh[S->knowing++] = entity;
    }
}

static void seal(orr_run* run)
{
    studio_lock();
    moment* m = &S->moments[run->tick % TICKS_KEPT];
    m->tick = S->resumed ? 0 : run->tick;
    S->resumed = false;
    memcpy(m->slots, S->building, sizeof m->slots);
    memset(S->building, 0, sizeof S->building);
    S->sealed++;
    S->copied = orri_publish_copied(run->world->publisher);
    // A random world may lose all its entities before a reader has compared one.
    if (S->sealed >= S->ticks && (S->compared > 0 || S->knowing == 0) && !S->replays) {
        orr_stop(run->world);
    }
    studio_unlock();
    memcpy(S->known, S->fresh, S->knowing * sizeof *S->known);
    S->known_count = S->knowing;
    S->knowing = 0;
}

// ---- systems of other pipelines -----------------------------------------------------------------

static void compare(orr_run* run)
{
    const Paint* p = orr_read(run, Paint);
    const Clock* c = orr_get(run->world, S->clock, Clock);
    CHECK(c != NULL);
    studio_lock();
    const moment* m = &S->moments[c->tick % TICKS_KEPT];
    bool there = m->tick == c->tick && c->tick != 0;
    studio_unlock();
    uint64_t compared = 0, skipped = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity entity = orr_iter_entity(run, i);
        studio_lock(); // The value may be overwritten meanwhile.
        slot s = m->slots[orri_id_index(entity) % ENTITIES_MAX];
        there &= m->tick == c->tick;
        studio_unlock();
        if (!there || s.entity.id != entity.id || s.loose) {
            skipped++;
        } else {
            compared++;
            if (!same(&p[i], &s.paint)) {
                fault("compare", run, entity, &p[i], &s.paint);
            }
        }
    }
    studio_lock();
    S->compared += compared;
    S->skipped += skipped;
    studio_unlock();
}

// The same by id; keeps a checksum of the values.
static void compare_by_id(orr_run* run)
{
    Trail* seen = orr_write(run, Trail);
    for (uint32_t i = 0; i < run->count; i++) {
        const Paint* p = orr_get(run->world, orr_iter_entity(run, i), Paint);
        if (p != NULL) {
            Paint should = paint_of(p->value);
            should.extra = p->extra;
            if (!same(p, &should)) {
                fault("compare_by_id", run, orr_iter_entity(run, i), p, &should);
            }
            seen[i].sum = seen[i].sum * 31 + p->value;
        }
    }
}

typedef struct posted {
    orr_entity entity;
    uint64_t value;
} posted;

static void post_one(orr_world* world, void* data, size_t size)
{
    (void)size;
    const posted* p = data;
    if (!orr_alive(world, p->entity)) {
        return;
    }
    Paint paint = paint_of(p->value);
    CHECK_OK(orr_put(world, p->entity, Paint, &paint));
    slot_of(p->entity)->paint = paint;
    uint32_t at = orri_id_index(p->entity) % ENTITIES_MAX;
    studio_lock();
    S->building[at].entity = p->entity;
    S->building[at].loose = true;
    for (uint32_t i = 0; i < TICKS_KEPT; i++) {
        S->moments[i].slots[at].loose = true;
    }
    studio_unlock();
}

// Whole chunks move to other clusters, with their shared blocks.
static void post_all(orr_world* world, void* data, size_t size)
{
    (void)size;
    bool add = *(uint64_t*)data % 2 == 0;
    orr_query* query = orr_query_text(world, add ? "Chips, !Mark" : "Chips, Mark");
    CHECK(query != NULL);
    orr_type type = KIT_TYPE(world, Mark);
    CHECK_OK(add ? orr_query_add(query, type, &(Mark){7}) : orr_query_remove(query, type));
    orr_query_destroy(query);
}

static void at_sync_point(orr_world* world, void* data, size_t size)
{
    (void)size;
    bool part = (S->does & DOES_PAINT_PART) != 0;
    uint64_t what = *(uint64_t*)data;
    if (world->publisher != NULL) { // After the run nothing is published.
        CHECK_OK(orri_publisher_validate(world->publisher));
    }
    CHECK_OK(orr_world_validate(world));
    S->sync_points++;
    orr_system painter = orr_system_find(world, "paint");
    if (painter.id == 0) {
        KIT_SYSTEM(world, .name = "paint", .pipeline = "owner", .before = "keep",
                   .query = part ? "write Paint, !Still" : "write Paint",
                   .overwrites = what % 3 == 0 ? NULL : "Paint", .run = paint);
    } else if (what % 2 == 0) {
        CHECK_OK(orr_system_remove(world, painter));
    } else {
        CHECK_OK(orr_system_enable(world, painter, what / 4 % 2 == 0));
    }
}

static orr_entity churn_make(orr_run* run)
{
    Paint p = paint_of(1);
    orr_entity entity = orr_send_create(run);
    CHECK_OK(orr_send_put(run, entity, Paint, &p));
    CHECK_OK(orr_send_add(run, entity, Chips, {0}));
    CHECK_OK(orr_send_add(run, entity, Trail, {0}));
    return entity;
}

static void churn(orr_run* run)
{
    uint64_t what = chance(run, 20) + run->count;
    orr_entity entity = orr_iter_entity(run, (uint32_t)(what % run->count));
    if ((S->does & DOES_CHURN) != 0) {
        if (what / 8 % 4 == 0) {
            (void)churn_make(run);
        } else if (what / 8 % 4 == 1) {
            CHECK_OK(orr_send_destroy(run, entity));
        } else if (what / 8 % 4 == 2) {
            CHECK_OK(orr_send_add(run, entity, Still, {1}));
        } else {
            CHECK_OK(orr_send_remove(run, entity, Still));
        }
    }
    if ((S->does & DOES_SWITCH) != 0 && what / 64 % 8 == 0) {
        CHECK_OK(orr_send_enable(run, entity, Paint, what / 512 % 2 == 0));
    }
    if ((S->does & DOES_POST) != 0 && !S->replays && what / 64 % 4 == 1) {
        posted p = {entity, what};
        CHECK_OK(orr_post(run->world, post_one, &p, sizeof p));
        CHECK_OK(what / 256 % 4 == 0 ? orr_post(run->world, post_all, &what, sizeof what) : ORR_OK);
    }
    if ((S->does & DOES_SYNC_POINT) != 0 && !S->replays && what / 32 % 4 == 2) {
        CHECK_OK(orr_post_exclusive(run->world, at_sync_point, &what, sizeof what));
    }
}

// ---- a world ------------------------------------------------------------------------------------

static void studio_owner(orr_world* world, uint32_t does, uint64_t order)
{
    bool part = (does & DOES_PAINT_PART) != 0;
    const char* says = (does & DOES_PLAIN) != 0 ? NULL : "Paint";
    const orr_system_desc all[] = {
        {.name = "paint",
         .query = part ? "write Paint, !Still" : "write Paint",
         .overwrites = says,
         .run = paint,
         .parallel = true,
         .every = (does & DOES_SELDOM) != 0 ? 2 : 1},
        {.name = part ? "paint_part" : "",
         .query = "write Paint, Still",
         .overwrites = says,
         .run = paint},
        {.name = (does & DOES_LOOK) != 0 ? "look" : "", .query = "either Paint", .run = look},
        {.name = (does & DOES_NUDGE) != 0 ? "nudge" : "",
         .query = "write Paint",
         .run = nudge,
         .every = 3},
        {.name = (does & DOES_LOOKUP) != 0 ? "lookup" : "",
         .query = "Clock",
         .once = true,
         .by_id = "write Paint",
         .run = lookup},
        {.name = (does & DOES_CHANGE) != 0 ? "change" : "",
         .once = true,
         .changes = "Paint",
         .run = change},
        {.name = (does & DOES_DEAL) != 0 ? "deal" : "",
         .once = true,
         .transacts = "Paint",
         .run = deal},
        {.name = (does & DOES_ATOM) != 0 ? "atom" : "",
         .once = true,
         .atomics = "Paint",
         .run = atom},
    };
    uint32_t count = ORRI_COUNT(all), step = order % 2 == 0 ? 3 : 5;
    for (uint32_t i = 0; i < count; i++) {
        orr_system_desc desc = all[(order + i * step) % count];
        desc.pipeline = "owner";
        if (desc.name[0] != '\0' && orr_system_add(world, &desc).id == 0) {
            test_fail(__FILE__, __LINE__, "%s", orr_error_last(world));
        }
    }
    KIT_SYSTEM(world, .name = "wind", .pipeline = "owner", .query = "write Clock",
               .overwrites = "Clock", .run = wind);
    // With a type that other systems write, it reads all values through its view.
    KIT_SYSTEM(world, .name = "keep", .pipeline = "owner",
               .query = order < 8 ? "either Paint" : "either Paint, ?Trail", .run = keep);
    KIT_SYSTEM(world, .name = "seal", .pipeline = "owner", .once = true, .after = "keep",
               .run = seal);
}

static void studio_others(orr_world* world, uint32_t does)
{
    if ((does & (DOES_CHURN | DOES_SWITCH | DOES_POST | DOES_SYNC_POINT)) != 0) {
        KIT_SYSTEM(world, .name = "churn", .query = "Chips", .run = churn,
                   .creates = "Paint, Chips, Trail", .creates_max = 1, .destroys = "Chips",
                   .adds = "Still", .removes = "Still", .switches = "Paint");
    }
    KIT_SYSTEM(world, .name = "compare", .pipeline = "reader", .query = "either Paint",
               .by_id = "Clock", .run = compare);
    KIT_SYSTEM(world, .name = "compare_slowly", .pipeline = "slow", .query = "either Paint",
               .by_id = "Clock", .run = compare);
    KIT_SYSTEM(world, .name = "compare_by_id", .pipeline = "slow", .query = "write Trail",
               .by_id = "Paint", .run = compare_by_id);
}

static orr_world* studio_begin(uint32_t does, uint32_t rows, uint64_t order)
{
    S = calloc(1, sizeof *S);
    S->does = does;
    S->ticks = 20;
    orr_world* world =
        kit_begin(&S->k, &(orr_world_desc){.rate_hz = 100,
                                           .workers = studio_workers,
                                           .atomic_sections = (does & DOES_ATOM) != 0});
    orr_access_check_set(world, ORR_ACCESS_CHECK_CALLS);
    ORR_REGISTER(world, Paint, Clock, Trail, Chips, Still, Mark);
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "owner", .rate_hz = 200});
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "reader", .rate_hz = 150});
    orr_pipeline_add(world, &(orr_pipeline_desc){.name = "slow", .rate_hz = 40});
    S->clock = orr_create(world);
    CHECK_OK(orr_set(world, S->clock, Clock, {0}));
    for (uint32_t i = 0; i < rows; i++) {
        orr_entity entity = orr_create(world);
        Paint p = paint_of(1);
        CHECK_OK(orr_put(world, entity, Paint, &p));
        CHECK_OK(orr_set(world, entity, Chips, {(int32_t)i}));
        CHECK_OK(orr_set(world, entity, Trail, {0}));
        if (i % 3 == 0) {
            CHECK_OK(orr_set(world, entity, Still, {0}));
        }
        if (i < studio_tags) {
            CHECK_OK(orr_tag_add(world, entity, i + 1));
        }
    }
    studio_owner(world, does, order);
    studio_others(world, does);
    CHECK_OK(orr_time_scale_set(world, 20));
    return world;
}

static void studio_end(void)
{
    if (S->faults > 0) {
        test_fail(__FILE__, __LINE__, "%llu faults: %s", (unsigned long long)S->faults, S->fault);
    }
    CHECK_STR(S->k.errors.text, "");
    kit_end(&S->k);
    free(S);
    S = NULL;
}

static uint64_t studio_run(uint32_t does, uint32_t rows, uint64_t order, uint64_t ticks)
{
    orr_world* world = studio_begin(does, rows, order);
    S->ticks = ticks;
    CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.for_ns = 20000000000}));
    CHECK_OK(orr_world_validate(world));
    uint64_t copied = S->copied, sealed = S->sealed;
    printf("    does %4u, order %2u: %6llu compared, %6llu not, %5llu ticks, %9llu bytes copied\n",
           (unsigned)does, (unsigned)order, (unsigned long long)S->compared,
           (unsigned long long)S->skipped, (unsigned long long)sealed, (unsigned long long)copied);
    CHECK(S->compared > 0);
    studio_end();
    return sealed > 0 ? copied / sealed : 0;
}

// ---- bytes --------------------------------------------------------------------------------------

ORR_TEST(overwrite_of_all_values_copies_nothing)
{
    CHECK_EQ(studio_run(0, 5000, 0, 40), 0);
    CHECK_EQ(studio_run(DOES_PAINT_PART, 5000, 0, 40), 0);
    CHECK_EQ(studio_run(DOES_SELDOM, 100, 0, 40), 0);
}

ORR_TEST(write_without_overwrite_copies_every_tick)
{
    uint64_t bytes = studio_run(DOES_PLAIN, 5000, 0, 40), all = 5000 * sizeof(Paint);
    CHECK(bytes <= all &&
          bytes > all * 3 / 4); // The first tick was not published yet when it was counted.
}

// A reader of the old values needs a copy: one copy, as without overwriting, and not two.
ORR_TEST(overwrite_after_a_read_or_a_change_copies_once)
{
    for (uint64_t order = 0; order < 4; order++) {
        CHECK(studio_run(DOES_LOOK, 1000, order, 30) <= 1000 * sizeof(Paint));
        CHECK(studio_run(DOES_NUDGE, 1000, order, 30) <= 1000 * sizeof(Paint));
    }
}

// ---- values -------------------------------------------------------------------------------------

ORR_TEST(overwrite_with_every_other_write_publishes_whole_ticks)
{
    for (uint32_t bit = 1; bit <= DOES_ALL; bit *= 2) {
        if (bit != DOES_PLAIN) {
            (void)studio_run(bit, 300, bit % 14, 20);
        }
    }
}

ORR_TEST(overwrite_random_mixes_agree_with_the_oracle)
{
    uint32_t rounds = test_rounds(12, 4, 200);
    for (uint32_t i = 0; i < rounds; i++) {
        uint64_t random = test_random();
        // With fewer rows a mix that destroys could leave no row to compare.
        uint32_t rows = (uint32_t)(random >> 32) % 5000 + 400;
        (void)studio_run((uint32_t)random & DOES_ALL, test_slow() ? rows / 8 + 1 : rows,
                         random >> 16 & 15, 25);
    }
}

// Systems that run at the same time report different entities to the oracle, or none.
ORR_TEST(overwrite_on_workers_publishes_whole_ticks)
{
    const uint32_t all[] = {0, DOES_PAINT_PART, DOES_LOOK | DOES_PAINT_PART,
                            DOES_CHURN | DOES_SWITCH | DOES_PAINT_PART | DOES_LOOK};
    studio_workers = 2;
    for (uint32_t i = 0; i < 2 * ORRI_COUNT(all); i += test_brief() ? 2 : 1) {
        uint64_t bytes = studio_run(all[i / 2], test_slow() ? 3000 : 7000, i, 25);
        CHECK(i >= 4 || bytes == 0);
    }
    studio_workers = 0;
}

// The world has the values of systems that ran, whatever was prepared for systems that did not run.
static void compare_live(orr_world* world)
{
    for (uint32_t i = 0; i < ENTITIES_MAX; i++) {
        const slot* s = &S->now[i];
        const Paint* p = s->entity.id != 0 ? orr_get(world, s->entity, Paint) : NULL;
        if (p != NULL && !same(p, &s->paint)) {
            fault("compare_live", &(orr_run){0}, s->entity, p, &s->paint);
        }
    }
}

// Each allocation is refused once: the tick stays open there, the next call continues it, and
// nothing is lost or half done.
ORR_TEST(overwrite_refused_memory_continues_when_called_again)
{
    uint32_t does = DOES_PAINT_PART | DOES_LOOK | DOES_NUDGE | DOES_LOOKUP, refused = 0;
    for (uint64_t n = 1; n < test_rounds(400, 150, 2000); n += test_brief()              ? 5
                                                               : n < 100 || !test_slow() ? 1
                                                                                         : 7) {
        studio_tags = n % 2 == 0 ? 24 : 0;
        orr_world* world = studio_begin(does, 40, n % 16);
        S->ticks = 4;
        failing_alloc_arm(&S->k.memory, n, false);
        orr_result result = orr_realtime(world, &(orr_realtime_desc){.for_ns = 20000000000});
        if (result != ORR_OK) {
            CHECK_EQ(result, ORR_ERR_MEMORY);
            refused++;
            failing_alloc_arm(&S->k.memory, 0, false);
            compare_live(world);
            memset(S->moments, 0, sizeof S->moments);
            S->resumed = orr_tick_open(world);
            S->ticks += S->sealed;
            CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.for_ns = 20000000000}));
            CHECK(S->sealed >= S->ticks);
        }
        failing_alloc_arm(&S->k.memory, 0, false);
        S->k.errors = (kit_errors){0};
        studio_end();
    }
    studio_tags = 0;
    printf("    %u times\n", (unsigned)refused);
    CHECK(refused > 10);
}

// ---- refusals -----------------------------------------------------------------------------------

static void refused(orr_world* world, kit* k, orr_system_desc desc, const char* words)
{
    desc.name = "refused";
    desc.run = kit_run_nothing;
    orr_system system = orr_system_add(world, &desc);
    if (system.id != 0) {
        CHECK(orr_step(world, 1) != ORR_OK);
        CHECK_OK(orr_system_remove(world, system));
        CHECK_OK(orr_step(world, 1));
    }
    CHECK_CONTAINS(k->errors.text, words);
    k->errors = (kit_errors){0};
}

ORR_TEST(overwrite_of_values_that_are_not_written_whole_is_refused)
{
    kit k = {0};
    orr_world* world = begin_rows(&k);
    ORR_REGISTER(world, Label, Body);
    refused(world, &k, (orr_system_desc){.query = "Position", .overwrites = "Position"},
            "system 'refused', .overwrites: Position is not among its write terms");
    refused(world, &k, (orr_system_desc){.query = "write Position", .overwrites = "Velocity"},
            "Velocity is not among its write terms");
    refused(world, &k, (orr_system_desc){.query = "write Label", .overwrites = "Label"},
            "Label has owned strings");
    refused(world, &k, (orr_system_desc){.query = "write Body", .overwrites = "Body"},
            "Body is pinned");
    refused(
        world, &k,
        (orr_system_desc){.query = "write Position", .by_id = "Position", .overwrites = "Position"},
        "Position is also named in .by_id");
    refused(world, &k,
            (orr_system_desc){.once = true, .query = "write Position", .overwrites = "Position"},
            "is called per run of rows has rows to overwrite");
    refused(world, &k,
            (orr_system_desc){
                .kind = ORR_INDIRECT, .query = "write Position", .overwrites = "Position"},
            "rows to overwrite");
    refused(world, &k, (orr_system_desc){.query = "write Position", .overwrites = "write Position"},
            ".overwrites is a list of types");
    kit_end(&k);
}

// In lockstep overwriting has no further effect.
ORR_TEST(overwrite_in_lockstep_is_a_write)
{
    kit k;
    orr_world* world = begin_rows(&k);
    KIT_SYSTEM(world, .name = "a", .query = "write Position", .overwrites = "Position",
               .run = kit_run);
    CHECK_OK(orr_step(world, 2));
    KIT_SAID("a a");
    char plan[2048];
    orr_plan_print(world, plan, sizeof plan);
    CHECK_CONTAINS(plan, "overwrites Position");
    kit_end(&k);
}

ORR_TEST(overwrite_replay_has_the_recorded_hash)
{
    for (uint32_t i = 0; i < test_rounds(3, 2, 30); i++) {
        uint64_t random = test_random();
        uint32_t does = (uint32_t)random & DOES_ALL, rows = (uint32_t)(random >> 32) % 1000 + 1;
        orr_recording* recording = orr_recording_create();
        orr_world* world = studio_begin(does, rows, random >> 16 & 15);
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.record = recording, .hashes = true}));
        uint64_t hash = orr_world_hash(world);
        studio_end();
        world = studio_begin(does, rows, random >> 16 & 15);
        S->replays = true;
        CHECK_OK(orr_realtime(world, &(orr_realtime_desc){.replay = recording}));
        CHECK(orr_world_hash(world) == hash);
        studio_end();
        orr_recording_destroy(recording);
    }
}
