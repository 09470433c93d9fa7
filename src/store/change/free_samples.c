// SPDX-License-Identifier: MIT
// Samples of the free list: where some of its records are, so that a position far behind the head
// is found without a walk along the list. They are a cache: nothing depends on them but speed, and
// when memory for them is refused there are none.
//
//    head ──> r ──> r ──> S ──> r ──> r ──> r ──> S ──> r ──> r ──> end
//    position 0     1     2                       6
//    depth    8     7     6                       2                 0
//
// The list grows and shrinks at its head, so the depth of a record, counted from the end, stays the
// same as long as the record is on the list. A record that left the list because an entity was
// created has another generation when it comes back. So a sample is valid while its record is dead
// and has the generation of the sample, and then all samples below it are valid, too. The other
// ways in which a record can leave the list are reported: orri_free_samples_cut() and
// orri_free_samples_remove().
#include "store/change/change_set.h"

static bool free_samples_valid(const orr_world* world, const orri_free_sample* sample)
{
    if (sample->index >= world->hot.count) {
        return false;
    }
    // A record on no list (withheld, or all generations used up) has no next record. Nor has the
    // end of the list, which is no sample.
    const orri_record* record = orri_record_at(world, sample->index);
    return record->generation == sample->generation && record->place != ORRI_INDEX_NONE;
}

void orri_free_samples_seek(const orr_world* world, orri_index_cursor* cursor, uint32_t position)
{
    const orri_index* index = &world->index;
    uint32_t depth = index->free_count - 1 - position, low = 0, high = index->sample_count;
    while (low < high) { // The first sample at this depth or above.
        uint32_t middle = low + (high - low) / 2;
        if (index->samples[middle].depth < depth) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == index->sample_count || !free_samples_valid(world, &index->samples[low])) {
        return;
    }
    uint32_t found = index->free_count - 1 - index->samples[low].depth;
    if (cursor->next1 == 0 || cursor->position > position || cursor->position < found) {
        *cursor = (orri_index_cursor){found, index->samples[low].index + 1};
    }
}

// Samples `count` records, the first at `position`, and writes them to `out`, the deepest first.
// `cursor` is at or before the first. Samples must not be in use meanwhile.
static void free_samples_walk(const orr_world* world, orri_index_cursor cursor, uint32_t position,
                              orri_free_sample* out, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t there = position + i * ORRI_SAMPLE_STEP;
        (void)orri_index_nth(world, &cursor, there);
        uint32_t number = cursor.next1 - 1;
        out[count - 1 - i] = (orri_free_sample){number, orri_record_at(world, number)->generation,
                                                world->index.free_count - 1 - there};
    }
}

// Adds samples between the head and the last sample; without samples, between the head and
// `position`.
static void free_samples_extend_up(orr_world* world, uint32_t position)
{
    orri_index* index = &world->index;
    uint32_t kept = index->sample_count;
    uint32_t end = kept > 0 ? index->free_count - 1 - index->samples[kept - 1].depth
                            : position + ORRI_SAMPLE_STEP;
    uint32_t count = (end - 1) / ORRI_SAMPLE_STEP;
    if (end < 2 * ORRI_SAMPLE_STEP || // The head is near enough.
        !ORRI_RESERVE(&world->env, ORR_MEMORY_INDEX, &index->samples, &index->sample_capacity,
                      kept + count)) {
        return;
    }
    index->sample_count = 0;
    free_samples_walk(world, (orri_index_cursor){0}, end - count * ORRI_SAMPLE_STEP,
                      index->samples + kept, count);
    index->sample_count = kept + count;
}

// Adds samples between the first sample and `position`, which is behind it.
static void free_samples_extend_down(orr_world* world, uint32_t position)
{
    orri_index* index = &world->index;
    uint32_t kept = index->sample_count;
    uint32_t begin = kept > 0 ? index->free_count - 1 - index->samples[0].depth : position;
    uint32_t count = position > begin ? (position - begin) / ORRI_SAMPLE_STEP : 0;
    if (count == 0 || !ORRI_RESERVE(&world->env, ORR_MEMORY_INDEX, &index->samples,
                                    &index->sample_capacity, kept + count)) {
        return;
    }
    orri_index_cursor cursor = {begin, index->samples[0].index + 1};
    memmove(index->samples + count, index->samples, kept * sizeof *index->samples);
    index->sample_count = 0;
    free_samples_walk(world, cursor, begin + ORRI_SAMPLE_STEP, index->samples, count);
    index->sample_count = kept + count;
}

void orri_free_samples_extend(orr_world* world, uint32_t position)
{
    orri_index* index = &world->index;
    while (index->sample_count > 0 &&
           !free_samples_valid(world, &index->samples[index->sample_count - 1])) {
        index->sample_count--;
    }
    if (position < ORRI_SAMPLE_STEP || index->free_count < 2 * ORRI_SAMPLE_STEP) {
        return;
    }
    // The end of the list is no sample.
    position = position < index->free_count - 2 ? position : index->free_count - 2;
    if (index->sample_count > 0 &&
        index->samples[index->sample_count - 1].depth < index->free_count - 1 - position) {
        index->sample_count = 0; // A gap in the middle would stay.
    }
    free_samples_extend_up(world, position);
    free_samples_extend_down(world, position);
}

void orri_free_samples_cut(orr_world* world)
{
    orri_index* index = &world->index;
    while (index->sample_count > 0 &&
           index->samples[index->sample_count - 1].depth >= index->free_count) {
        index->sample_count--;
    }
}

void orri_free_samples_remove(orr_world* world, const orri_id_run* runs, uint32_t run_count)
{
    orri_index* index = &world->index;
    uint32_t kept = 0, removed = 0, r = run_count;
    for (uint32_t i = 0; i < index->sample_count; i++) {
        orri_free_sample sample = index->samples[i];
        uint32_t position = index->free_count - 1 - sample.depth;
        while (r > 0 && runs[r - 1].position > position) {
            removed += orri_id_run_listed(world, &runs[r - 1]);
            r--;
        }
        bool taken = r > 0 && position - runs[r - 1].position < runs[r - 1].count;
        if (!taken && sample.depth > removed) {
            sample.depth -= removed;
            index->samples[kept++] = sample;
        }
    }
    // Gaps make walks longer: once a quarter of the samples is lost, they are made again.
    index->samples_lost += index->sample_count - kept;
    index->sample_count = kept;
    if (index->samples_lost > kept / 4) {
        index->sample_count = index->samples_lost = 0;
    }
}

bool orri_free_samples_sound(const orr_world* world)
{
    const orri_index* index = &world->index;
    uint32_t next = index->free_first, left = index->sample_count;
    for (uint32_t depth = index->free_count; depth-- > 0 && left > 0;) {
        while (left > 0 && index->samples[left - 1].depth > depth) {
            left--; // It must be invalid: the list is not as long, or has no such depth.
            if (free_samples_valid(world, &index->samples[left])) {
                return false;
            }
        }
        const orri_free_sample* sample = left > 0 ? &index->samples[left - 1] : NULL;
        if (sample != NULL && sample->depth == depth) {
            if (free_samples_valid(world, sample) && sample->index != next) {
                return false;
            }
            left--;
        }
        next = orri_record_at(world, next)->place;
    }
    return true;
}
