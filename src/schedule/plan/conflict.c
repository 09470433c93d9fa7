// SPDX-License-Identifier: MIT
// Decides which systems of a group may run at the same time: those that do not conflict. Conflicts
// are decided by type and cluster: two writers of a type on different clusters do not conflict.
#include "base/scan.h"
#include "schedule/schedule.h"

orri_touch orri_touches(const orr_world* world, const orri_system* system, uint32_t type_index,
                        bool* any)
{
    const orri_access* access = &system->access;
    orri_touch touch = ORRI_TOUCH_NONE;
    if (any != NULL) {
        *any = false;
    }
    for (uint32_t f = 0; f < system->query->field_count; f++) {
        const orri_field* field = &system->query->fields[f];
        if (orri_type_index(world, field->type) == type_index) {
            touch = field->access == ORR_WRITE ? ORRI_TOUCH_WRITES : ORRI_TOUCH_READS;
        }
    }
    if (access->by_id_read != NULL && type_index < access->type_count &&
        orri_bit_get(access->by_id_read, type_index)) {
        bool writes = access->by_id_write != NULL && orri_bit_get(access->by_id_write, type_index);
        touch = writes ? ORRI_TOUCH_WRITES : touch == ORRI_TOUCH_NONE ? ORRI_TOUCH_READS : touch;
        if (any != NULL) {
            *any = true;
        }
    }
    if (system->atomic && orri_right(system->rights.atomics, &system->rights, type_index)) {
        // A system that also reads or writes the type directly must not overlap atomic sections of
        // others.
        touch = touch == ORRI_TOUCH_NONE ? ORRI_TOUCH_ATOMIC : ORRI_TOUCH_WRITES;
        if (any != NULL) {
            *any = true;
        }
    }
    return touch;
}

void orri_touched_types(const orr_world* world, const orri_system* system, uint64_t* bits)
{
    memset(bits, 0, (world->schema.type_count / 64 + 1) * sizeof *bits);
    for (uint32_t f = 0; f < system->query->field_count; f++) {
        orri_bit_set(bits, orri_type_index(world, system->query->fields[f].type), true);
    }
    const uint64_t* const sets[] = {system->access.by_id_read, system->rights.atomics};
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t w = 0; sets[i] != NULL && w < system->rights.type_words; w++) {
            bits[w] |= sets[i][w];
        }
    }
}

// ---- values -------------------------------------------------------------------------------------

// True when a cluster that both match has the type. Entries ascend by the number of their cluster.
static bool conflict_shared_cluster(const orr_query* a, const orr_query* b, orr_type type)
{
    uint32_t i = 0, k = 0;
    while (i < a->entry_count && k < b->entry_count) {
        const orri_entry *x = &a->entries[i], *y = &b->entries[k];
        if (x->sequence == y->sequence) {
            if (x->cluster != NULL && orri_cluster_find_column(x->cluster, type) >= 0) {
                return true;
            }
            i++;
            k++;
        } else if (x->sequence < y->sequence) {
            i++;
        } else {
            k++;
        }
    }
    return false;
}

// True when the accesses of two systems to a type conflict.
static bool conflict_of_type(const orr_world* world, const orri_system* first,
                             const orri_system* second, orr_type type)
{
    bool any_first, any_second;
    uint32_t index = orri_type_index(world, type);
    orri_touch a = orri_touches(world, first, index, &any_first);
    orri_touch b = orri_touches(world, second, index, &any_second);
    if (a == ORRI_TOUCH_NONE || b == ORRI_TOUCH_NONE ||
        (a == b && (a == ORRI_TOUCH_READS || a == ORRI_TOUCH_ATOMIC))) {
        return false;
    }
    // Pinned values are stored together, whatever the clusters of their entities.
    const orri_type* info = orri_type_at(&world->schema, type);
    return any_first || any_second || orri_type_pinned(info) ||
           conflict_shared_cluster(first->query, second->query, type);
}

// True when the accesses of two systems conflict for any type.
static bool conflict_of_values(const orr_world* world, const orri_system* first,
                               const orri_system* second)
{
    // An indirect system touches no values: it receives messages, and sends.
    if (first->desc.kind == ORR_INDIRECT || second->desc.kind == ORR_INDIRECT) {
        return false;
    }
    for (uint32_t f = 0; f < first->query->field_count; f++) {
        if (conflict_of_type(world, first, second, first->query->fields[f].type)) {
            return true;
        }
    }
    const orri_access* access = &first->access;
    for (uint32_t i = 0;
         (access->by_id_read != NULL || first->atomic) && i < world->schema.type_count; i++) {
        bool reached = access->by_id_read != NULL && i < access->type_count &&
                       orri_bit_get(access->by_id_read, i);
        if ((reached || orri_right(first->rights.atomics, &first->rights, i)) &&
            conflict_of_type(world, first, second, (orr_type){world->schema.type_base + i})) {
            return true;
        }
    }
    return false;
}

// ---- everything else ----------------------------------------------------------------------------

static bool conflict_imports(const orri_system* importer, const orri_system* exporter)
{
    for (uint32_t i = 0; i < importer->import_count; i++) {
        if (importer->imports[i] == exporter) {
            return true;
        }
    }
    return false;
}

bool orri_system_lists(const char* text, const orri_system* system)
{
    const char *at = text != NULL ? text : "", *item;
    size_t size;
    while (orri_scan_item(&at, &item, &size)) {
        item += *item == '?' ? (size--, 1) : 0;
        const char* names[2] = {system->desc.name, system->desc.group};
        for (uint32_t i = 0; i < 2; i++) {
            if (names[i] != NULL && orri_scan_equals(item, size, names[i])) {
                return true;
            }
        }
    }
    return false;
}

bool orri_conflict(const orr_world* world, const orri_system* first, const orri_system* second)
{
    world->schedule->compared++;
    // Systems do not declare which things outside the world they use. Those that may use the same
    // ones run one after the other.
    bool outside = (first->desc.main_thread && second->desc.main_thread) ||
                   (first->desc.impure && second->desc.impure) ||
                   (first->desc.user != NULL && first->desc.user == second->desc.user);
    return outside || orri_system_lists(second->desc.after, first) ||
           orri_system_lists(first->desc.before, second) || conflict_imports(second, first) ||
           conflict_imports(first, second) || conflict_of_values(world, first, second);
}
