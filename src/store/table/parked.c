// SPDX-License-Identifier: MIT
// Parked chunks: the chunk that a cluster gave up last is kept for the next row. Without this, an
// entity that is alone in its cluster allocates and frees a chunk with each component it gets, and
// so does every entity that passes through an empty cluster on its way to another.
//
// A parked chunk keeps its id, its blocks and its entries in the type tables, so that taking it back
// is a few stores. Nothing else sees it: no record refers to it, and it is not one of
// cluster->chunks. It has no rows, and is not state.
#include "store/world/world.h"

// Parked chunks of a world: at most this many, and at most this many bytes beyond what the rows of
// their clusters take. The chunk that was parked first goes first.
#define PARKED_MAX       256u
#define PARKED_BYTES_MAX ((size_t)4 << 20)
// The same for each chunk. A larger chunk is freed: what fills it takes longer than making it.
#define PARKED_CHUNK_BYTES_MAX ((size_t)1 << 20)

// Bytes that a chunk keeps from being freed. Those of a full chunk are in extents that may have been
// allocated for many chunks. Those of a smaller one are in extents shared with other clusters.
static size_t parked_bytes(const orri_chunk* chunk)
{
    const orri_cluster* cluster = chunk->cluster;
    if (ORR_LIKELY(chunk->capacity < ORR_CHUNK_CAPACITY)) {
        return chunk->capacity * cluster->row_bytes;
    }
    size_t bytes = 0, live = cluster->row_count * cluster->row_bytes;
    for (uint32_t c = 0; c < cluster->column_count; c++) {
        const orri_extent* extent = orri_chunk_cold(chunk)[c].extent;
        bytes += extent != NULL ? extent->size : 0;
    }
    return bytes > live ? bytes - live : 0;
}

// Takes a cluster off the list.
static inline void parked_unlink(orr_world* world, orri_cluster* cluster)
{
    *(cluster->parked_prev != NULL ? &cluster->parked_prev->parked_next
                                   : &world->chunks.parked_first) = cluster->parked_next;
    *(cluster->parked_next != NULL ? &cluster->parked_next->parked_prev
                                   : &world->chunks.parked_last) = cluster->parked_prev;
    world->chunks.parked_listed--;
    world->chunks.parked_bytes -= cluster->parked_bytes;
    cluster->parked_listed = false;
}

void orri_parked_release(orr_world* world, orri_cluster* cluster)
{
    orri_chunk* chunk = cluster->parked;
    if (cluster->parked_listed) {
        parked_unlink(world, cluster);
    }
    if (chunk != NULL) {
        cluster->parked = NULL;
        world->chunks.parked_count--;
        orri_chunk_destroy(world, chunk);
    }
}

bool orri_parked_release_all(orr_world* world)
{
    bool any = false;
    while (world->chunks.parked_first != NULL) {
        any = any || world->chunks.parked_first->parked != NULL;
        orri_parked_release(world, world->chunks.parked_first);
    }
    return any;
}

// True when memory was refused anywhere since a chunk was parked last.
static bool parked_pressure(orr_world* world)
{
    uint64_t refusals = atomic_load_explicit(&world->env.refusals, memory_order_relaxed);
    bool pressure = refusals != world->chunks.parked_refusals;
    world->chunks.parked_refusals = refusals;
    return pressure;
}

bool orri_chunk_park(orr_world* world, orri_chunk* chunk)
{
    orri_cluster* cluster = chunk->cluster;
    // A shared block passes to its share. Enable bits end with the last chunk. Publishing follows
    // chunks by their ids.
    if (chunk->share_count != 0 || cluster->has_bits || world->realtime ||
        world->publisher != NULL) {
        return false;
    }
    if (ORR_UNLIKELY(parked_pressure(world))) {
        (void)orri_parked_release_all(world);
        return false;
    }
    size_t bytes = parked_bytes(chunk);
    if (bytes > PARKED_CHUNK_BYTES_MAX) {
        return false;
    }
    if (ORR_LIKELY(cluster->parked == NULL && cluster->parked_listed &&
                   cluster->parked_bytes == bytes)) {
        cluster->parked = chunk;
        world->chunks.parked_count++;
        return true;
    }
    orri_parked_release(world, cluster);
    orri_chunks* all = &world->chunks;
    while (ORR_UNLIKELY(all->parked_listed == PARKED_MAX ||
                        bytes > PARKED_BYTES_MAX - all->parked_bytes)) {
        orri_parked_release(world, all->parked_first);
    }
    cluster->parked = chunk;
    cluster->parked_listed = true;
    cluster->parked_bytes = bytes;
    cluster->parked_prev = all->parked_last;
    cluster->parked_next = NULL;
    *(all->parked_last != NULL ? &all->parked_last->parked_next : &all->parked_first) = cluster;
    all->parked_last = cluster;
    all->parked_count++;
    all->parked_listed++;
    all->parked_bytes += bytes;
    return true;
}

void orri_parked_take(orr_world* world, orri_cluster* cluster)
{
    orri_chunk* chunk = cluster->parked;
    cluster->parked = NULL;
    world->chunks.parked_count--;
    chunk->number = cluster->chunk_count;
    cluster->chunks[cluster->chunk_count++] = chunk;
    cluster->chunk_first = cluster->chunks[0];
    cluster->row_capacity = chunk->number == 0 ? chunk->capacity
                                               : cluster->chunk_count << ORRI_SLOT_BITS;
}

bool orri_parked_valid(const orr_world* world, const orri_cluster* cluster)
{
    const orri_chunk* chunk = cluster->parked;
    if (chunk == NULL) {
        return true;
    }
    if (!cluster->parked_listed) {
        return false;
    }
    for (uint32_t c = 0; c < chunk->column_count; c++) {
        if (chunk->columns[c].share != NULL) {
            return false;
        }
    }
    return chunk->cluster == cluster && world->chunks.list[chunk->id] == chunk &&
           chunk->share_count == 0 && !cluster->has_bits &&
           (cluster->chunk_count == 0 || chunk->capacity == ORR_CHUNK_CAPACITY) &&
           cluster->chunk_capacity > cluster->chunk_count;
}

bool orri_parked_list_valid(const orr_world* world)
{
    uint32_t listed = 0, count = 0;
    uint64_t bytes = 0;
    const orri_cluster* last = NULL;
    for (const orri_cluster* cluster = world->chunks.parked_first; cluster != NULL;
         cluster = cluster->parked_next) {
        if (!cluster->parked_listed || cluster->parked_prev != last) {
            return false;
        }
        last = cluster;
        listed++;
        count += cluster->parked != NULL;
        bytes += cluster->parked_bytes;
    }
    return last == world->chunks.parked_last && count == world->chunks.parked_count &&
           listed == world->chunks.parked_listed && bytes == world->chunks.parked_bytes &&
           listed <= PARKED_MAX && bytes <= PARKED_BYTES_MAX;
}

#undef PARKED_MAX
#undef PARKED_BYTES_MAX
#undef PARKED_CHUNK_BYTES_MAX
