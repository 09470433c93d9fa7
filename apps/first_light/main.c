// SPDX-License-Identifier: MIT
// First light: the program that `./dev run` starts. It builds a world of a million entities, runs a
// list of operations on it, and prints the time of each and the memory used.
//
// All changes of the world depend only on the number of entities, so its hash is the same on every
// machine and in every run. Only the last part, which runs for a given time, is not hashed.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_STRUCT(Health, (float, value, (.preset = "100", .min = 0)))
ORR_STRUCT(Burning, (float, damage, (.preset = "0.5", .unit = "1/tick")), (uint32_t, ticks))

#define LIGHT_LEVELS 4
#define LIGHT_DT     (1.0f / 64)

typedef struct light_options {
    uint32_t entities;
    uint32_t seconds;
} light_options;

// The world and the handles and buffers that the steps share.
typedef struct light_state {
    orr_world* world;
    orr_type position, velocity, health, burning;
    orr_cluster rocks;                // Position, Velocity.
    orr_cluster ships[LIGHT_LEVELS];  // Position, Velocity, Health and the tag of a level.
    orr_cluster places[LIGHT_LEVELS]; // Position and the tag of a level.
    orr_entity *ids, *shuffled;       // All ids, in creation order and shuffled.
    Position* positions;              // Initial values of the rocks.
    Velocity* velocities;
    uint32_t count, rock_count, ship_count;
    uint32_t ticks;
    volatile double kept; // Keeps the compiler from removing reads.
} light_state;

static _Noreturn void light_die(const char* text)
{
    fprintf(stderr, "first_light: %s\n", text);
    exit(1);
}

static void light_on_error(void* user, orr_world* world, const orr_error* error)
{
    (void)user, (void)world;
    light_die(error->text);
}

// light_on_error() already ends the program on errors; this makes the check visible.
static void light_must(orr_result result)
{
    if (result != ORR_OK) {
        light_die(orr_result_name(result));
    }
}

static uint64_t light_now_ns(void)
{
    const orr_platform* platform = orr_platform_default();
    return platform->clock_ns(platform->user);
}

// ---- the table ----------------------------------------------------------------------------------

// A number with thousands separators.
static const char* light_number(uint64_t number, char out[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, number), used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            out[used++] = ',';
        }
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

static void light_head_print(void)
{
    printf("%-44s %12s %9s %9s %9s\n", "operation", "count", "ms", "ns each", "M/s");
}

static void light_row_print(const char* what, uint64_t count, uint64_t ns)
{
    char number[32];
    double each = (double)ns / (double)(count > 0 ? count : 1);
    printf("%-44s %12s %9.2f %9.2f %9.1f\n", what, light_number(count, number), (double)ns / 1e6,
           each, each > 0 ? 1e3 / each : 0);
    fflush(stdout);
}

// ---- steps: each returns the number of operations -----------------------------------------------

static void light_prepare_rocks(light_state* s)
{
    s->positions = malloc(sizeof *s->positions * s->rock_count);
    s->velocities = malloc(sizeof *s->velocities * s->rock_count);
    if (s->positions == NULL || s->velocities == NULL) {
        light_die("no memory for the rocks' data");
    }
    for (uint32_t i = 0; i < s->rock_count; i++) {
        uint64_t r = orr_random(1, i, 0, 0);
        s->positions[i] = (Position){(float)(r & 1023), (float)(r >> 10 & 1023)};
        s->velocities[i] = (Velocity){(float)(r >> 20 & 15) - 8, (float)(r >> 24 & 15) - 8};
    }
}

static uint64_t light_spawn_rocks(light_state* s)
{
    orr_column_data data[] = {{s->position, s->positions}, {s->velocity, s->velocities}};
    light_must(orr_create_many(s->world, s->rocks, s->rock_count, data, 2, s->ids));
    s->count += s->rock_count;
    return s->rock_count;
}

static uint64_t light_spawn_ships(light_state* s)
{
    orr_type types[] = {s->position, s->velocity};
    for (uint32_t level = 0; level < LIGHT_LEVELS; level++) {
        orr_appender a;
        light_must(orr_append_begin(s->world, s->ships[level], types, 2, &a));
        for (uint32_t i = 0; i < s->ship_count / LIGHT_LEVELS; i++) {
            uint32_t row = orr_append(&a);
            ((Position*)a.columns[0])[row] = (Position){(float)i, (float)level};
            ((Velocity*)a.columns[1])[row] = (Velocity){1, 2};
            s->ids[s->count++] = a.entities[row];
        }
        orr_append_end(&a);
    }
    return s->ship_count;
}

static uint64_t light_spawn_places(light_state* s)
{
    uint32_t each = (s->rock_count - s->ship_count) / LIGHT_LEVELS;
    for (uint32_t i = 0; i < each * LIGHT_LEVELS; i++) {
        s->ids[s->count] = orr_create_in(s->world, s->places[i % LIGHT_LEVELS]);
        s->count++;
    }
    return (uint64_t)each * LIGHT_LEVELS;
}

// Position += Velocity × dt over one cluster. A span may cover several adjacent chunks.
static uint64_t light_move_cluster(light_state* s, orr_cluster cluster)
{
    Position* p;
    uint32_t count = UINT32_MAX;
    uint64_t moved = 0;
    for (uint32_t row = 0;
         (p = orr_span_write(s->world, cluster, s->position, row, &count)) != NULL;
         row += count, count = UINT32_MAX) {
        const Velocity* v = orr_span_read(s->world, cluster, s->velocity, row, &count);
        for (uint32_t i = 0; i < count; i++) {
            p[i].x += v[i].x * LIGHT_DT;
            p[i].y += v[i].y * LIGHT_DT;
        }
        moved += count;
    }
    return moved;
}

static uint64_t light_move_tick(light_state* s)
{
    orr_tick_advance(s->world);
    uint64_t moved = light_move_cluster(s, s->rocks);
    for (uint32_t level = 0; level < LIGHT_LEVELS; level++) {
        if (s->ships[level].id != 0) { // Unless unloaded.
            moved += light_move_cluster(s, s->ships[level]);
        }
    }
    return moved;
}

static uint64_t light_move(light_state* s)
{
    uint64_t moved = 0;
    for (uint32_t tick = 0; tick < s->ticks; tick++) {
        moved += light_move_tick(s);
    }
    return moved;
}

// Fisher-Yates shuffle with keyed random numbers: the same order in every run.
static void light_shuffle(light_state* s)
{
    memcpy(s->shuffled, s->ids, sizeof *s->ids * s->count);
    for (uint32_t i = s->count; i > 1; i--) {
        uint32_t j = (uint32_t)orr_random_below(orr_random(2, i, 0, 0), i);
        orr_entity swap = s->shuffled[i - 1];
        s->shuffled[i - 1] = s->shuffled[j];
        s->shuffled[j] = swap;
    }
}

static uint64_t light_get(light_state* s)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const Position* p = orr_component_get(s->world, s->shuffled[i], s->position);
        sum += p != NULL ? (double)p->x : 0;
    }
    s->kept = sum;
    return s->count;
}

static uint64_t light_set(light_state* s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        Position value = {(float)(i % 1024), 1};
        light_must(orr_component_set(s->world, s->shuffled[i], s->position, &value));
    }
    return s->count;
}

static orr_entity* light_ships(const light_state* s)
{
    return s->ids + s->rock_count;
}

static uint64_t light_ignite(light_state* s)
{
    for (uint32_t i = 0; i < s->ship_count; i++) {
        light_must(orr_component_add(s->world, light_ships(s)[i], s->burning));
    }
    return s->ship_count;
}

static uint64_t light_extinguish(light_state* s)
{
    light_must(orr_component_remove_many(s->world, light_ships(s), s->ship_count, s->burning));
    return s->ship_count;
}

static uint64_t light_toggle(light_state* s)
{
    for (uint32_t i = 0; i < s->ship_count; i++) {
        light_must(orr_component_enable(s->world, light_ships(s)[i], s->health, i % 3 != 0));
    }
    return s->ship_count;
}

static uint64_t light_destroy(light_state* s)
{
    uint32_t first = s->rock_count / 2, count = s->rock_count / 4;
    for (uint32_t i = 0; i < count; i++) {
        light_must(orr_destroy(s->world, s->ids[first + i]));
    }
    return count;
}

// Adds a component to every rock: the chunks of the cluster are transferred, not copied.
static uint64_t light_add_bulk(light_state* s)
{
    orr_cluster with_health = {0};
    orr_type types[] = {s->position, s->velocity, s->health};
    light_must(orr_cluster_get(s->world, &(orr_cluster_desc){.types = types, .type_count = 3},
                               &with_health));
    orr_cluster_info info;
    light_must(orr_cluster_info_get(s->world, s->rocks, &info));
    uint32_t moved = info.row_count;
    light_must(orr_rows_move_all(s->world, s->rocks, with_health));
    s->rocks = with_health;
    return moved;
}

static uint64_t light_unload(light_state* s)
{
    uint64_t before = orr_entity_count(s->world);
    orr_tag level = 2;
    orr_cluster clusters[64];
    orr_cluster_match match = {.tags = &level, .tag_count = 1};
    uint32_t count = orr_clusters_find(s->world, &match, clusters, 64);
    for (uint32_t i = 0; i < count && i < 64; i++) {
        light_must(orr_cluster_delete(s->world, clusters[i]));
    }
    s->ships[level - 1] = s->places[level - 1] = (orr_cluster){0};
    return before - orr_entity_count(s->world);
}

static uint64_t light_hash(light_state* s)
{
    s->kept = (double)orr_world_hash(s->world);
    return orr_entity_count(s->world);
}

static uint64_t light_validate(light_state* s)
{
    light_must(orr_world_validate(s->world));
    return orr_entity_count(s->world);
}

// ---- the list of steps --------------------------------------------------------------------------

typedef struct light_step {
    const char* what;
    void (*prepare)(light_state* s); // Not timed. May be NULL.
    uint64_t (*run)(light_state* s);
} light_step;

static const light_step light_steps[] = {
    {"create rocks, in one call", light_prepare_rocks, light_spawn_rocks},
    {"create ships with an appender", NULL, light_spawn_ships},
    {"create places, one call each", NULL, light_spawn_places},
    {"move all entities with a Velocity, per tick", NULL, light_move},
    {"get a Position by id, shuffled", light_shuffle, light_get},
    {"set a Position by id, shuffled", NULL, light_set},
    {"add a component to each ship", NULL, light_ignite},
    {"remove it from all ships, in one call", NULL, light_extinguish},
    {"enable or disable a component of each ship", NULL, light_toggle},
    {"destroy rocks, one call each", NULL, light_destroy},
    {"add a component to all rocks, in one call", NULL, light_add_bulk},
    {"unload a level: delete its clusters", NULL, light_unload},
    {"hash the world, first time", NULL, light_hash},
    {"hash it again, unchanged", NULL, light_hash},
    {"validate all invariants", NULL, light_validate}};

static void light_open(light_state* s, const light_options* options)
{
    *s = (light_state){0};
    s->rock_count = options->entities / 2;
    s->ship_count = options->entities / 4 / LIGHT_LEVELS * LIGHT_LEVELS;
    s->ticks = 10 + 50000000 / options->entities;
    s->ids = malloc(sizeof *s->ids * options->entities);
    s->shuffled = malloc(sizeof *s->ids * options->entities);
    s->world = orr_world_create(&(orr_world_desc){.on_error = light_on_error});
    if (s->world == NULL || s->ids == NULL || s->shuffled == NULL) {
        light_die("no memory for the world");
    }
    s->position = orr_type_of(s->world, ORR_TYPE(Position));
    s->velocity = orr_type_of(s->world, ORR_TYPE(Velocity));
    s->health = orr_type_of(s->world, ORR_TYPE(Health));
    s->burning = orr_type_of(s->world, ORR_TYPE(Burning));
    orr_type types[] = {s->position, s->velocity, s->health};
    light_must(
        orr_cluster_get(s->world, &(orr_cluster_desc){.types = types, .type_count = 2}, &s->rocks));
    for (uint32_t level = 0; level < LIGHT_LEVELS; level++) {
        char name[16];
        orr_tag tag = level + 1;
        snprintf(name, sizeof name, "level%u", (unsigned)tag);
        light_must(orr_tag_register(s->world, tag, name));
        orr_cluster_desc ships = {types, 3, &tag, 1, NULL}, places = {types, 1, &tag, 1, NULL};
        light_must(orr_cluster_get(s->world, &ships, &s->ships[level]));
        light_must(orr_cluster_get(s->world, &places, &s->places[level]));
    }
}

static void light_steps_run(light_state* s)
{
    light_head_print();
    for (size_t i = 0; i < sizeof light_steps / sizeof light_steps[0]; i++) {
        if (light_steps[i].prepare != NULL) {
            light_steps[i].prepare(s);
        }
        uint64_t start = light_now_ns();
        uint64_t count = light_steps[i].run(s);
        light_row_print(light_steps[i].what, count, light_now_ns() - start);
    }
}

static void light_memory_print(const light_state* s)
{
    orr_memory_stats memory;
    orr_world_stats stats;
    orr_world_memory_get(s->world, &memory);
    orr_world_stats_get(s->world, &stats);
    char entities[32], clusters[32], chunks[32], bytes[32];
    double per = stats.entities > 0 ? 1.0 / (double)stats.entities : 0;
    printf("\nmemory: %s entities in %s clusters and %s chunks\n",
           light_number(stats.entities, entities), light_number(stats.clusters, clusters),
           light_number(stats.chunks, chunks));
    printf("%-12s %14s %14s %17s\n", "purpose", "bytes", "peak", "bytes per entity");
    for (int i = 0; i <= ORR_MEMORY_PURPOSE_COUNT; i++) {
        bool all = i == ORR_MEMORY_PURPOSE_COUNT;
        const orr_memory_use* use = all ? &memory.total : &memory.by_purpose[i];
        char peak[32];
        printf("%-12s %14s %14s %17.2f\n",
               all ? "total" : orr_memory_purpose_name((orr_memory_purpose)i),
               light_number(use->bytes, bytes), light_number(use->bytes_peak, peak),
               (double)use->bytes * per);
    }
}

// The last part: runs ticks for the requested time and measures them.
static void light_soak(light_state* s, uint32_t seconds)
{
    uint64_t start = light_now_ns(), end = start + (uint64_t)seconds * 1000000000u, now = start;
    uint64_t moved = 0, ticks = 0, longest = 0;
    do {
        uint64_t begin = now;
        moved += light_move_tick(s);
        now = light_now_ns();
        ticks++;
        longest = now - begin > longest ? now - begin : longest;
    } while (now < end);
    char tick_text[32], moved_text[32];
    printf("\nmoved for %.1f s: %s ticks, %s moves, %.0f million a second; a tick takes %.3f ms, "
           "at most %.3f ms\n",
           (double)(now - start) / 1e9, light_number(ticks, tick_text),
           light_number(moved, moved_text), (double)moved * 1e3 / (double)(now - start),
           (double)(now - start) / 1e6 / (double)ticks, (double)longest / 1e6);
}

// ---- options ------------------------------------------------------------------------------------

static const char light_help[] =
    "usage: first_light [--entities N] [--seconds N]\n"
    "Builds a world, runs operations on it, and prints the time of each and the memory used.\n"
    "\n"
    "  --entities N   number of entities, 1000 to 50000000. Default 1000000\n"
    "  --seconds N    time to run ticks at the end, 0 to 3600. Default 2\n"
    "\n"
    "The hash at the end depends only on --entities: it is the same in every run, on every "
    "machine.\n";

static uint32_t light_option_number(int argc, char** argv, int* at, uint32_t min, uint32_t max)
{
    const char* option = argv[*at];
    const char* text = *at + 1 < argc ? argv[++*at] : "";
    char* end;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || value < min || value > max) {
        fprintf(stderr,
                "first_light: %s takes a number from %" PRIu32 " to %" PRIu32 ", not \"%s\"\n",
                option, min, max, text);
        exit(2);
    }
    return (uint32_t)value;
}

static light_options light_options_read(int argc, char** argv)
{
    light_options options = {.entities = 1000000, .seconds = 2};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--entities") == 0) {
            options.entities = light_option_number(argc, argv, &i, 1000, 50000000);
        } else if (strcmp(argv[i], "--seconds") == 0) {
            options.seconds = light_option_number(argc, argv, &i, 0, 3600);
        } else if (strcmp(argv[i], "--help") == 0) {
            fputs(light_help, stdout);
            exit(0);
        } else {
            fprintf(stderr, "first_light: unknown option \"%s\"; try --help\n", argv[i]);
            exit(2);
        }
    }
    return options;
}

int main(int argc, char** argv)
{
    light_options options = light_options_read(argc, argv);
    char entities[32];
    printf("Orrery %s: a world of %s entities\n\n", orr_version(),
           light_number(options.entities, entities));
    light_state state;
    light_open(&state, &options);
    light_steps_run(&state);
    uint64_t hash = orr_world_hash(state.world), tick = orr_world_tick(state.world);
    light_memory_print(&state);
    if (options.seconds > 0) {
        light_soak(&state, options.seconds);
    }
    printf("\nthe world's hash after tick %" PRIu64 " is %016" PRIx64
           ": the same in every run with this number of entities\n",
           tick, hash);
    printf("next: examples/01_hello_world/main.c, then docs/SYSTEMS.md; ./dev bench compares with "
           "raw arrays\n");
    orr_world_destroy(state.world);
    free(state.positions);
    free(state.velocities);
    free(state.ids);
    free(state.shuffled);
    return 0;
}
