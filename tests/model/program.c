// SPDX-License-Identifier: MIT
// Makes random programs, prints them, and reduces programs that fail.
#include "model/program.h"
#include "test.h"

#include <stdlib.h>
#include <time.h>

static const char* const kind_names[] = {
#define X(upper, lower) #lower,
    PROGRAM_KINDS(X)
#undef X
};

static const char* const op_names[] = {
#define X(upper, lower) #lower,
    PROGRAM_OPS(X)
#undef X
};

const char* program_op_name(program_op op)
{
    return op_names[op];
}

static uint32_t roll(orr_rng* rng, uint32_t count)
{
    return (uint32_t)orr_rng_below(rng, count);
}

// ---- making -------------------------------------------------------------------------------------

static void make_pipelines(program* p, orr_rng* rng)
{
    static const double rates[] = {20, 30, 45, 60, 120, 0};
    uint32_t simulation = 1 + roll(rng, 3);
    bool spectator = roll(rng, 4) != 0;
    p->rate_hz = rates[roll(rng, 6)];
    snprintf(p->pipelines[0].name, sizeof p->pipelines[0].name, "main");
    p->pipelines[0].rate_hz = p->rate_hz;
    p->pipeline_count = simulation + spectator;
    for (uint32_t i = 1; i < p->pipeline_count; i++) {
        program_pipeline* pipeline = &p->pipelines[i];
        pipeline->spectator = i >= simulation;
        pipeline->rate_hz = rates[roll(rng, 6)];
        snprintf(pipeline->name, sizeof pipeline->name, pipeline->spectator ? "view" : "other_%u",
                 i);
    }
}

static void make_system(program* p, orr_rng* rng, program_kind kind, uint32_t pipeline)
{
    static const char* const groups[] = {NULL, "left", "right"};
    program_system* s = &p->systems[p->system_count];
    *s = (program_system){.kind = kind,
                          .pipeline = pipeline,
                          .salt = orr_rng_next(rng),
                          .every = roll(rng, 4) == 0 ? 1 + roll(rng, 3) : 1,
                          .parallel = roll(rng, 3) != 0,
                          .group = groups[roll(rng, 3)]};
    bool single = kind == PROGRAM_SUM || kind == PROGRAM_WATCH || kind == PROGRAM_SPY;
    if (single) { // Another system or the test names it.
        s->every = 1;
        s->group = NULL;
        snprintf(s->name, sizeof s->name, "%s", kind_names[kind]);
    } else {
        snprintf(s->name, sizeof s->name, "%s_%u", kind_names[kind], p->system_count);
    }
    p->system_count++;
}

// Systems that golden programs do not have. `owners`: pipelines of the kinds.
static void make_later_systems(program* p, orr_rng* rng, uint32_t* owners)
{
    owners[PROGRAM_MINE] = owners[PROGRAM_ROOTS] = owners[PROGRAM_ECHO];
    owners[PROGRAM_DIG] = owners[PROGRAM_ORBS];
    for (uint32_t k = PROGRAM_MINE; k < PROGRAM_STRETCH; k++) {
        for (uint32_t i = roll(rng, 3); i < 2; i++) {
            make_system(p, rng, k, owners[k]);
            p->systems[p->system_count - 1].later = roll(rng, 4) == 0;
        }
    }
    if (roll(rng, 3) != 0) {
        make_system(p, rng, PROGRAM_STRETCH, owners[PROGRAM_STRETCH]);
        program_system* s = &p->systems[p->system_count - 1];
        snprintf(s->name, sizeof s->name, "orr_stretch");
        s->group = NULL;
        s->later = roll(rng, 4) == 0;
        for (uint32_t i = 0; i < program_time_type_count(); i++) {
            program_kind kind = program_time_owner(i);
            bool foreign = kind < PROGRAM_KIND_COUNT && owners[kind] != s->pipeline;
            s->types |= (uint32_t)(!foreign && roll(rng, 12) != 0) << i;
        }
        s->types = p->pipeline_count == 1 && roll(rng, 3) == 0 ? 0 : s->types;
    }
}

// A type is written by systems of one pipeline: all systems of a kind, and the two kinds that write
// Speed, are in one pipeline.
static void make_systems(program* p, orr_rng* rng)
{
    uint32_t simulation = p->pipeline_count, owners[PROGRAM_KIND_COUNT];
    while (p->pipelines[simulation - 1].spectator) {
        simulation--;
    }
    for (uint32_t k = 0; k <= PROGRAM_WATCH; k++) {
        owners[k] = roll(rng, simulation);
    }
    orr_rng more = {.first = orr_random(p->seed, 4, 5, 6)};
    for (uint32_t k = PROGRAM_MINE; k < PROGRAM_KIND_COUNT; k++) {
        owners[k] = roll(&more, simulation);
    }
    owners[PROGRAM_ORDER] = owners[PROGRAM_PONG];
    if (!p->golden) {
        make_later_systems(p, &more, owners);
    }
    uint32_t count = 3 + roll(rng, 9);
    for (uint32_t i = 0; i < count; i++) {
        program_kind kind = roll(rng, PROGRAM_GLOW);
        bool twice = kind == PROGRAM_SUM || kind == PROGRAM_WIND;
        if (!twice) {
            make_system(p, rng, kind, owners[kind]);
            p->systems[p->system_count - 1].later = roll(rng, 4) == 0;
        }
    }
    if (roll(rng, 3) == 0) {
        make_system(p, rng, PROGRAM_SUM, owners[PROGRAM_SUM]);
        make_system(p, rng, PROGRAM_WIND, owners[PROGRAM_WIND]);
    }
    if (simulation < p->pipeline_count) {
        make_system(p, rng, PROGRAM_GLOW, simulation);
        make_system(p, rng, PROGRAM_SPY, simulation);
    }
    make_system(p, rng, PROGRAM_WATCH, 0);
}

static program_op make_op(const program* p, orr_rng* rng)
{
    static const program_op changes[] = {
        PROGRAM_OP_CREATE,    PROGRAM_OP_CREATE, PROGRAM_OP_BUNDLE, PROGRAM_OP_MANY,
        PROGRAM_OP_COPY,      PROGRAM_OP_SET,    PROGRAM_OP_SET,    PROGRAM_OP_SET,
        PROGRAM_OP_REMOVE,    PROGRAM_OP_TAG,    PROGRAM_OP_SWITCH, PROGRAM_OP_NAME,
        PROGRAM_OP_DESTROY,   PROGRAM_OP_ORB,    PROGRAM_OP_WRITE,  PROGRAM_OP_SINGLE,
        PROGRAM_OP_TRANSIENT, PROGRAM_OP_BULK};
    static const program_op rest[] = {
        PROGRAM_OP_REMEMBER,      PROGRAM_OP_REMEMBER,      PROGRAM_OP_REMEMBER,
        PROGRAM_OP_BACK,          PROGRAM_OP_BACK,          PROGRAM_OP_BACK,
        PROGRAM_OP_GLANCE,        PROGRAM_OP_GLANCE,        PROGRAM_OP_FORGET,
        PROGRAM_OP_WRONG,         PROGRAM_OP_UPDATE,        PROGRAM_OP_SYSTEM_ADD,
        PROGRAM_OP_SYSTEM_ADD,    PROGRAM_OP_SYSTEM_REMOVE, PROGRAM_OP_SYSTEM_ENABLE,
        PROGRAM_OP_SYSTEM_ENABLE, PROGRAM_OP_GROUP_ENABLE};
    uint32_t dice = roll(rng, 100);
    (void)p;
    return dice < 30   ? PROGRAM_OP_TICK
           : dice < 70 ? changes[roll(rng, sizeof changes / sizeof *changes)]
                       : rest[roll(rng, sizeof rest / sizeof *rest)];
}

static bool removable(const program_system* s)
{
    return (s->kind < PROGRAM_GLOW || s->kind > PROGRAM_WATCH) && s->kind != PROGRAM_SUM &&
           s->kind != PROGRAM_WIND;
}

static void make_step(program* p, orr_rng* rng, program_op op)
{
    program_step step = {.op = op, .dice = orr_rng_next(rng)};
    switch (op) {
    case PROGRAM_OP_TICK:
        step.number = 1 + roll(rng, 3);
        break;
    case PROGRAM_OP_REMEMBER:
    case PROGRAM_OP_FORGET:
    case PROGRAM_OP_BACK:
    case PROGRAM_OP_GLANCE:
        step.number = roll(rng, PROGRAM_SLOTS);
        break;
    case PROGRAM_OP_SYSTEM_ADD:
    case PROGRAM_OP_SYSTEM_REMOVE:
    case PROGRAM_OP_SYSTEM_ENABLE:
        step.number = roll(rng, p->system_count);
        if (!removable(&p->systems[step.number]) ||
            (op == PROGRAM_OP_SYSTEM_ADD && !p->systems[step.number].later)) {
            return;
        }
        break;
    default:
        step.number = roll(rng, 8);
        break;
    }
    p->steps[p->step_count++] = step;
}

static program_op make_later_op(orr_rng* rng)
{
    static const program_op ops[] = {PROGRAM_OP_SLOT,   PROGRAM_OP_SLOT,  PROGRAM_OP_RETURN,
                                     PROGRAM_OP_RETURN, PROGRAM_OP_AHEAD, PROGRAM_OP_STRETCH,
                                     PROGRAM_OP_STRETCH};
    return ops[roll(rng, sizeof ops / sizeof *ops)];
}

static void make_program(program* p, uint64_t seed, bool golden)
{
    orr_rng rng = {.first = orr_random(seed, 1, 2, 3)};
    orr_rng more = {.first = orr_random(seed, 7, 8, 9)};
    memset(p, 0, sizeof *p);
    p->seed = seed;
    p->golden = golden;
    p->posted = roll(&rng, 3) == 0;
    make_pipelines(p, &rng);
    make_systems(p, &rng);
    uint32_t count = 16 + roll(&rng, PROGRAM_STEPS_MAX - 24);
    for (uint32_t i = 0; i < 4; i++) {
        make_step(p, &rng, i == 2 ? PROGRAM_OP_MANY : PROGRAM_OP_CREATE);
    }
    while (p->step_count < count) {
        bool later = !golden && roll(&more, 6) == 0;
        make_step(p, &rng,
                  p->step_count % 10 == 9 ? PROGRAM_OP_CULL
                  : later                 ? make_later_op(&more)
                                          : make_op(p, &rng));
    }
    make_step(p, &rng, PROGRAM_OP_TICK);
}

void program_make(program* p, uint64_t seed)
{
    make_program(p, seed, false);
}

void program_make_golden(program* p, uint64_t seed)
{
    make_program(p, seed, true);
}

// ---- printing -----------------------------------------------------------------------------------

void program_print(const program* p)
{
    fprintf(stderr, "  program of seed %" PRIu64 "%s\n", p->seed, p->posted ? ", posted" : "");
    for (uint32_t i = 0; i < p->pipeline_count; i++) {
        const program_pipeline* pipeline = &p->pipelines[i];
        fprintf(stderr, "    pipeline %s, %g Hz%s\n", pipeline->name, pipeline->rate_hz,
                pipeline->spectator ? ", spectator" : "");
    }
    for (uint32_t i = 0; i < p->system_count; i++) {
        const program_system* s = &p->systems[i];
        fprintf(stderr, "    system %u: %s in %s%s%s%s%s, every %u\n", i, s->name,
                p->pipelines[s->pipeline].name, s->parallel ? ", parallel" : "",
                s->later ? ", later" : "", s->group != NULL ? ", group " : "",
                s->group != NULL ? s->group : "", s->every);
    }
    for (uint32_t i = 0; i < p->step_count; i++) {
        const program_step* step = &p->steps[i];
        fprintf(stderr, "    step %u: %s %u (%016" PRIx64 ")\n", i, op_names[step->op],
                step->number, step->dice);
    }
}

// ---- reducing -----------------------------------------------------------------------------------

// True if the program without `count` steps from `first` on still fails. Then it is kept.
static bool reduce_steps(program* p, program_result* result, program_trial* trial, uint32_t first,
                         uint32_t count)
{
    program smaller = *p;
    program_result found;
    memmove(&smaller.steps[first], &p->steps[first + count],
            (p->step_count - first - count) * sizeof p->steps[0]);
    smaller.step_count -= count;
    trial(&smaller, &found);
    bool same = found.failed && found.reason == result->reason;
    if (same) {
        *p = smaller;
        *result = found;
    }
    return same;
}

// A system that is never added takes no part; numbers of other systems stay.
static bool reduce_system(program* p, program_result* result, program_trial* trial, uint32_t system)
{
    program smaller = *p;
    program_result found;
    if (!removable(&p->systems[system]) || p->systems[system].later) {
        return false;
    }
    smaller.systems[system].later = true;
    trial(&smaller, &found);
    bool same = found.failed && found.reason == result->reason;
    if (same) {
        *p = smaller;
        *result = found;
    }
    return same;
}

void program_reduce(program* p, program_result* result, program_trial* trial, uint32_t trials)
{
    for (uint32_t size = p->step_count / 2; size > 0; size /= 2) {
        for (uint32_t first = 0; first + size <= p->step_count && trials > 0; trials--) {
            first += reduce_steps(p, result, trial, first, size) ? 0 : size;
        }
    }
    for (uint32_t i = 0; i < p->system_count && trials > 0; i++, trials--) {
        (void)reduce_system(p, result, trial, i);
    }
    for (uint32_t first = 0; first < p->step_count && trials > 0; trials--) {
        first += reduce_steps(p, result, trial, first, 1) ? 0 : 1;
    }
}

// ---- loops of tests -----------------------------------------------------------------------------

uint64_t program_clock(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool program_next(uint32_t done, uint32_t count, uint64_t seed, uint64_t start_ns)
{
    const char* seconds = getenv("ORR_PROGRAM_SECONDS");
    bool more = seconds != NULL
                    ? program_clock() - start_ns < strtoull(seconds, NULL, 0) * 1000000000u
                    : done < count;
    if (more) { // Shown even if the program crashes.
        printf("%s%" PRIu64, done % 16 == 0 ? "\n  seeds " : " ", seed);
    } else {
        printf("\n");
    }
    fflush(stdout);
    return more;
}
