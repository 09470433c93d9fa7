// SPDX-License-Identifier: MIT
// Withheld ids: ids taken out of the creation queue for later use. In real time a pipeline creates
// with withheld ids, because predicted ids (id_reserve.c) would change while other pipelines create
// and destroy. The record of a withheld id is dead and on no list.
#include "store/change/change_set.h"

bool orri_index_withhold(orr_world* world, orr_entity* out, uint32_t count)
{
    if (orri_index_reserve(world, "reserving entity ids", count) != ORR_OK) {
        return false;
    }
    orri_index* index = &world->index;
    uint32_t i = 0;
    for (; i < count && index->free_count > 0; i++) {
        uint32_t number = index->free_first;
        orri_record* record = orri_index_write(world, number);
        out[i] = orri_id_make(number, record->generation & ~ORRI_DEAD);
        index->free_first = record->place;
        index->free_count--;
        record->place = ORRI_INDEX_NONE;
    }
    orri_free_samples_cut(world);
    for (; i < count; i++) {
        uint32_t number = world->hot.count, generation = world->salt | 1;
        *orri_index_write(world, number) = (orri_record){generation | ORRI_DEAD, ORRI_INDEX_NONE};
        out[i] = orri_id_make(number, generation);
        world->hot.count++;
    }
    return true;
}

bool orri_index_return(orr_world* world, const orr_entity* ids, uint32_t count)
{
    orri_index* index = &world->index;
    for (uint32_t i = 0; index->share_count > 0 && i < count; i++) {
        if (!orri_index_prepare(world, orri_id_index(ids[i]))) {
            (void)orri_refuse_memory(&world->env, "returning unused entity ids");
            return false;
        }
    }
    for (uint32_t i = count; i-- > 0;) {
        uint32_t number = orri_id_index(ids[i]);
        orri_record* record = orri_index_write(world, number);
        ORR_ASSERT(record->generation == (orri_id_generation(ids[i]) | ORRI_DEAD) &&
                   record->place == ORRI_INDEX_NONE);
        record->place = index->free_first;
        index->free_first = number;
        index->free_count++;
    }
    return true;
}
