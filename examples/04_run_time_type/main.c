// SPDX-License-Identifier: MIT
// A component type without a C struct: built at run time, as a script, an editor or a mod would do.
// The program writes, reads and finds its values through the schema only.
#include <orrery/orrery.h>
#include <stdio.h>
#include <string.h>

// Receives the text of each error. Without a handler, errors go to the log on stderr.
static void on_error(void* user, orr_world* world, const orr_error* error)
{
    (void)user, (void)world;
    printf("  refused: %s\n", error->text);
}

static orr_result spell_register(orr_world* world, orr_type* out)
{
    orr_label elements[] = {{"fire", 0}, {"water", 1}, {"wind", 2}};
    orr_type_desc element = {.name = "Element",
                             .kind = ORR_KIND_ENUM,
                             .size = 4,
                             .align = 4,
                             .labels = elements,
                             .label_count = 3};
    orr_field_desc fields[] = {
        {.name = "name", .type = &orr_desc_char, .count = 16},
        {.name = "element", .type = &element},
        {.name = "damage", .type = &orr_desc_float, .attributes = {.min = 0, .max = 100}},
        {.name = "range", .type = &orr_desc_double, .attributes = {.unit = "m", .preset = "12.5"}}};
    orr_type_desc spell = {.name = "Spell", .fields = fields, .field_count = 4}; // size 0: computed
    return orr_type_register(world, &spell, out);
}

int main(void)
{
    orr_world* world = orr_world_create(&(orr_world_desc){.on_error = on_error});
    orr_type spell = {0};
    if (spell_register(world, &spell) != ORR_OK) {
        return 1;
    }
    const orr_type_info* info = orr_type_info_get(world, spell);
    printf("%s has %u bytes:\n", info->name, (unsigned)info->size);
    for (uint32_t i = 0; i < info->field_count; i++) {
        printf("  %-8s %-5s at %u\n", info->fields[i].name,
               orr_kind_name(info->fields[i].type->kind), (unsigned)info->fields[i].offset);
    }

    orr_entity scroll = orr_create(world);
    _Alignas(64) unsigned char value[256];
    if (orr_value_parse(info, "{name: \"ember\", element: fire, damage: 40}", value) != ORR_OK ||
        orr_component_set(world, scroll, spell, value) != ORR_OK) {
        return 1;
    }
    printf("set from text; missing fields get their presets:\n  ");
    orr_print(world, scroll);

    orr_field_place damage;
    if (orr_field_find(info, "damage", &damage) == ORR_OK) {
        float more = 99;
        unsigned char* bytes = orr_component_edit(world, scroll, spell);
        memcpy(bytes + damage.offset, &more, sizeof more);
    }
    printf("changed through a field found by name:\n  ");
    orr_print(world, scroll);

    printf("invalid input is refused and changes nothing:\n");
    printf("  %s\n", orr_result_name(orr_field_find(info, "damge", &damage)));
    printf("  %s\n", orr_result_name(orr_value_parse(info, "{damage: 400}", value)));
    printf("  %s\n", orr_result_name(orr_value_parse(info, "{element: earth}", value)));
    orr_world_destroy(world);
    return 0;
}
