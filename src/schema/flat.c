// SPDX-License-Identifier: MIT
// Describes the bytes of a value by flat lists: floats, padding, owned handles, opaque values.
// Copying, hashing and counting use the lists and need no walk over fields.
#include "schema/detail.h"

// Indexes of the fields by ascending offset.
void orri_flat_order(const orri_type* type, uint16_t* order)
{
    const orr_field_info* fields = type->info.fields;
    for (uint32_t i = 0; i < type->info.field_count; i++) {
        uint32_t at = i;
        for (; at > 0 && fields[order[at - 1]].offset > fields[i].offset; at--) {
            order[at] = order[at - 1];
        }
        order[at] = (uint16_t)i;
    }
}

// The lists while they are filled. Filled twice: first with all pointers NULL to learn the lengths,
// then with memory.
typedef struct flat_lists {
    orri_float_run* floats;
    orri_gap* gaps;
    orri_owned* owned;
    orri_opaque* opaques;
    uint32_t float_count, gap_count, owned_count, opaque_count;
    orri_float_run last; // The newest run of floats; the next float may extend it.
} flat_lists;

static void flat_add_floats(flat_lists* lists, uint32_t offset, uint32_t count, bool wide)
{
    uint32_t size = lists->last.wide ? 8 : 4;
    bool joins = lists->float_count > 0 && lists->last.wide == wide &&
                 lists->last.offset + lists->last.count * size == offset;
    if (joins) {
        lists->last.count += count;
    } else {
        lists->last = (orri_float_run){offset, count, wide};
        lists->float_count++;
    }
    if (lists->floats != NULL) {
        lists->floats[lists->float_count - 1] = lists->last;
    }
}

static void flat_add_gap(flat_lists* lists, uint32_t offset, uint32_t size)
{
    if (size > 0) {
        if (lists->gaps != NULL) {
            lists->gaps[lists->gap_count] = (orri_gap){offset, size};
        }
        lists->gap_count++;
    }
}

static void flat_add_owned(flat_lists* lists, uint32_t offset, const orri_type* element)
{
    if (lists->owned != NULL) {
        lists->owned[lists->owned_count] = (orri_owned){offset, element};
    }
    lists->owned_count++;
}

static void flat_add_opaque(flat_lists* lists, uint32_t offset, const orri_type* type)
{
    if (lists->opaques != NULL) {
        lists->opaques[lists->opaque_count] = (orri_opaque){offset, type};
    }
    lists->opaque_count++;
}

// Adds the lists of a finished type, `offset` bytes into the value that is being described.
static void flat_add_value(flat_lists* lists, const orri_type* type, uint32_t offset)
{
    const orri_type_detail* detail = type->detail;
    for (uint32_t i = 0; i < detail->float_count; i++) {
        const orri_float_run* run = &detail->floats[i];
        flat_add_floats(lists, offset + run->offset, run->count, run->wide);
    }
    for (uint32_t i = 0; i < detail->gap_count; i++) {
        flat_add_gap(lists, offset + detail->gaps[i].offset, detail->gaps[i].size);
    }
    for (uint32_t i = 0; i < detail->owned_count; i++) {
        flat_add_owned(lists, offset + detail->owned[i].offset, detail->owned[i].element);
    }
    for (uint32_t i = 0; i < detail->opaque_count; i++) {
        flat_add_opaque(lists, offset + detail->opaques[i].offset, detail->opaques[i].type);
    }
}

static void flat_add_field(flat_lists* lists, const orr_field_info* field)
{
    const orri_type* type = orri_type_of_info(field->type);
    const orri_type_detail* detail = type->detail;
    uint32_t count = field->count > 0 ? field->count : 1;
    if (detail->floats_only) {
        flat_add_floats(lists, field->offset, detail->floats[0].count * count,
                        detail->floats[0].wide);
    } else if (detail->float_count + detail->gap_count + detail->owned_count +
                   detail->opaque_count >
               0) {
        for (uint32_t i = 0; i < count; i++) {
            flat_add_value(lists, type, field->offset + i * type->info.size);
        }
    }
}

static void flat_add_fields(flat_lists* lists, const orri_type* type)
{
    uint16_t order[ORR_FIELDS_MAX];
    orri_flat_order(type, order);
    uint32_t end = 0;
    for (uint32_t i = 0; i < type->info.field_count; i++) {
        const orr_field_info* field = &type->info.fields[order[i]];
        flat_add_gap(lists, end, field->offset - end);
        flat_add_field(lists, field);
        end = field->offset + orri_field_size(field);
    }
    flat_add_gap(lists, end, type->info.size - end);
}

static void flat_add_all(flat_lists* lists, const orri_type* type)
{
    switch (type->info.kind) {
    case ORR_KIND_STRUCT:
        flat_add_fields(lists, type);
        break;
    case ORR_KIND_F32:
    case ORR_KIND_F64:
        flat_add_floats(lists, 0, 1, type->info.kind == ORR_KIND_F64);
        break;
    case ORR_KIND_STRING:
        flat_add_owned(lists, 0, NULL);
        break;
    case ORR_KIND_ARRAY:
        flat_add_owned(lists, 0,
                       type->detail->element->canonical_bytes ? NULL : type->detail->element);
        break;
    case ORR_KIND_OPAQUE:
        if (type->codec.hash != NULL) {
            flat_add_opaque(lists, 0, type);
        }
        break;
    default:
        break;
    }
}

bool orri_flat_make(orri_build* build, orri_type* type)
{
    orri_env* env = build->schema->env;
    flat_lists lists = {0};
    flat_add_all(&lists, type);
    flat_lists full = {
        .floats = ORRI_ARENA(env, &build->arena, orri_float_run, lists.float_count),
        .gaps = ORRI_ARENA(env, &build->arena, orri_gap, lists.gap_count),
        .owned = ORRI_ARENA(env, &build->arena, orri_owned, lists.owned_count),
        .opaques = ORRI_ARENA(env, &build->arena, orri_opaque, lists.opaque_count),
    };
    if (full.floats == NULL || full.gaps == NULL || full.owned == NULL || full.opaques == NULL) {
        return orri_build_refuse_memory(build);
    }
    flat_add_all(&full, type);
    orri_type_detail* detail = type->detail;
    detail->floats = full.floats;
    detail->gaps = full.gaps;
    detail->owned = full.owned;
    detail->opaques = full.opaques;
    detail->float_count = full.float_count;
    detail->gap_count = full.gap_count;
    detail->owned_count = full.owned_count;
    detail->opaque_count = full.opaque_count;
    detail->floats_only = full.float_count == 1 &&
                          full.last.count * (full.last.wide ? 8u : 4u) == type->info.size;
    return true;
}
