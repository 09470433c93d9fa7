// SPDX-License-Identifier: MIT
// The first difference between two declarations of one name: of layout, field attributes or
// settings. Attributes and settings are no part of the layout hash, but values of a type have one
// preset and one storage, so two files of a program must not disagree on them either.
#include "schema/detail.h"

static bool declaration_same(const orri_type* is, const orri_type* was, orri_text* difference);

static bool declaration_number(orri_text* difference, const char* what, double is, double was)
{
    if (is != was) {
        orri_text_add(difference, "%s is %g and was %g", what, is, was);
    }
    return is == was;
}

// An absent text is NULL or "".
static bool declaration_text(orri_text* difference, const char* what, const char* is,
                             const char* was)
{
    is = is != NULL && is[0] != '\0' ? is : "(none)";
    was = was != NULL && was[0] != '\0' ? was : "(none)";
    bool same = strcmp(is, was) == 0;
    if (!same) {
        orri_text_add(difference, "%s is %s and was %s", what, is, was);
    }
    return same;
}

static bool declaration_attributes(const orr_field_attributes* is, const orr_field_attributes* was,
                                   orri_text* difference)
{
    return declaration_text(difference, "the preset", is->preset, was->preset) &&
           declaration_text(difference, "the unit", is->unit, was->unit) &&
           declaration_number(difference, "min", is->min, was->min) &&
           declaration_number(difference, "max", is->max, was->max) &&
           declaration_number(difference, "flags", is->flags, was->flags) &&
           declaration_number(difference, "interpolation", is->interpolation, was->interpolation) &&
           declaration_number(difference, "on_destroy", is->on_destroy, was->on_destroy);
}

static bool declaration_field(const orr_field_info* is, const orr_field_info* was,
                              orri_text* difference)
{
    orri_text_add(difference, "field %s: ", is->name);
    if (!declaration_attributes(&is->attributes, &was->attributes, difference) ||
        !declaration_same(orri_type_of_info(is->type), orri_type_of_info(was->type), difference)) {
        return false;
    }
    if (is->element == NULL) {
        return true;
    }
    orri_text_add(difference, "element: ");
    return declaration_same(orri_type_of_info(is->element), orri_type_of_info(was->element),
                            difference);
}

// Compares the attributes of all fields. The layouts are the same, so both have the same fields.
static bool declaration_same(const orri_type* is, const orri_type* was, orri_text* difference)
{
    size_t length = difference->length;
    for (uint32_t i = 0; i < is->info.field_count; i++) {
        if (!declaration_field(&is->info.fields[i], &was->info.fields[i], difference)) {
            return false;
        }
        difference->length = length; // The field is equal: removes its name from the text.
    }
    return true;
}

static bool declaration_hook(orri_text* difference, const char* which, bool is, bool was)
{
    if (is != was) {
        orri_text_add(difference, "the %s hook is %s and was %s", which, is ? "set" : "not set",
                      was ? "set" : "not set");
    }
    return is == was;
}

// Which hooks are set is compared, not their addresses: a static function of a header has another
// address in each file.
static bool declaration_settings(const orri_type* is, const orri_type* was, orri_text* difference)
{
    const orr_type_info *a = &is->info, *b = &was->info;
    const orr_hooks *ours = &is->hooks, *theirs = &was->hooks;
    return declaration_number(difference, "version", a->version, b->version) &&
           declaration_number(difference, "multiplicity", a->multiplicity, b->multiplicity) &&
           declaration_number(difference, "storage", a->storage, b->storage) &&
           declaration_number(difference, "transient", a->transient, b->transient) &&
           declaration_number(difference, "live", a->live, b->live) &&
           declaration_text(difference, "needs", a->needs, b->needs) &&
           declaration_hook(difference, "construct", ours->construct != NULL,
                            theirs->construct != NULL) &&
           declaration_hook(difference, "destruct", ours->destruct != NULL,
                            theirs->destruct != NULL) &&
           declaration_hook(difference, "move", ours->move != NULL, theirs->move != NULL) &&
           declaration_hook(difference, "copy", ours->copy != NULL, theirs->copy != NULL);
}

bool orri_declaration_same(const orri_type* is, const orri_type* was, orri_text* difference)
{
    return orri_layout_same(is, was, difference) && declaration_same(is, was, difference) &&
           declaration_settings(is, was, difference);
}
