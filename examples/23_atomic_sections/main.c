// SPDX-License-Identifier: MIT
// Writing to other entities immediately: miners on any worker take coal from one seam, and each
// knows at once how much it got. Nothing is taken twice. The timing of threads decides which miner
// gets the last coal, so the world must allow atomic sections; the totals are the same in every
// run.
#include <orrery/orrery.h>
#include <stdio.h>

ORR_STRUCT(Seam, (int32_t, coal))
ORR_STRUCT(Miner, (orr_entity, seam), (int32_t, strength), (int32_t, got))

typedef struct load {
    int32_t wanted, taken;
} load;

static void take(void* value, void* user) // exclusive access to this seam, and to nothing else
{
    Seam* seam = value;
    load* l = user;
    l->taken = l->wanted < seam->coal ? l->wanted : seam->coal;
    seam->coal -= l->taken;
}

static void dig(orr_run* run) // parallel: a transaction could not return a result
{
    Miner* m = orr_write(run, Miner);
    for (uint32_t i = 0; i < run->count; i++) {
        load l = {.wanted = m[i].strength};
        orr_atomic_on(run, m[i].seam, Seam, take, &l);
        m[i].got += l.taken;
    }
}

ORR_STRUCT(Weight, (int64_t, coal))

static void weigh(orr_run* run)
{
    const Miner* m = orr_read(run, Miner);
    Weight* part = orr_export(run, Weight);
    for (uint32_t i = 0; i < run->count; i++) {
        part->coal += m[i].got;
    }
}

static void weigh_both(void* into, const void* part)
{
    ((Weight*)into)->coal += ((const Weight*)part)->coal;
}

static void look(orr_run* run) // reads Seam: runs after all sections on it
{
    const Seam* seam = orr_read(run, Seam);
    const Weight* weight = orr_import(run, "weigh", Weight);
    printf("%d in the seam, %lld with the miners, %lld in all\n", seam->coal,
           (long long)weight->coal, (long long)weight->coal + seam->coal);
}

int main(void)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.workers = 2, .atomic_sections = true});
    orr_entity seam = orr_create(world);
    orr_set(world, seam, Seam, {100000});
    for (int32_t i = 0; i < 5000; i++) {
        orr_set(world, orr_create(world), Miner, {.seam = seam, .strength = 1 + i % 15});
    }
    orr_system_add(world, &(orr_system_desc){.name = "dig",
                                             .query = "write Miner",
                                             .parallel = true,
                                             .atomics = "Seam",
                                             .run = dig});
    orr_system_add(world, &(orr_system_desc){.name = "weigh",
                                             .query = "Miner",
                                             .parallel = true,
                                             .exports = ORR_TYPE(Weight),
                                             .combine = weigh_both,
                                             .run = weigh});
    orr_system_add(world, &(orr_system_desc){
                              .name = "look", .query = "Seam", .imports = "weigh", .run = look});
    orr_step(world, 4);
    orr_world_destroy(world);

    // A deterministic world refuses atomic sections.
    world = orr_world_create(NULL);
    orr_system refused = orr_system_add(
        world,
        &(orr_system_desc){.name = "dig", .query = "write Miner", .atomics = "Seam", .run = dig});
    printf("without .atomic_sections: %s\n", refused.id == 0 ? "refused" : "accepted");
    orr_world_destroy(world);
}
