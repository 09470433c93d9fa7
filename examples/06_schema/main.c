// SPDX-License-Identifier: MIT
// A type with an enum, a mask, a range and a preset, a reference to another entity and an owned
// string. Its values are filled in by an appender, and printed and parsed through the schema.
#include <orrery/orrery.h>
#include <stdio.h>

ORR_ENUM(Mood, CALM, ANGRY, ASLEEP)
ORR_MASK(Weakness, FIRE, ICE, SILVER)
ORR_STRUCT(Monster, (orr_string, name), // owned: a handle of an immutable text
           (Mood, mood),                //
           (Weakness, weakness),        //
           (float, health, (.min = 0, .max = 100, .preset = "80")), //
           (orr_entity, target)) // plain data: the id of another entity

int main(void)
{
    orr_world* world = orr_world_create(NULL);
    orr_type type = orr_type_of(world, ORR_TYPE(Monster));
    orr_cluster monsters;
    if (orr_cluster_get(world, &(orr_cluster_desc){&type, 1, NULL, 0, NULL}, &monsters) != ORR_OK) {
        return 1;
    }

    // The appender creates rows; the program fills the columns in place. Owned strings are set by
    // orr_string_assign(), which counts references.
    const char* names[3] = {"Grub", "Snarl", "Moth"};
    orr_entity ids[3];
    orr_appender a;
    if (orr_append_begin(world, monsters, &type, 1, &a) != ORR_OK) {
        return 1;
    }
    for (uint32_t n = 0; n < 3; n++) {
        uint32_t i = orr_append(&a);
        if (i == ORR_APPEND_NONE) {
            break;
        }
        Monster* monster = (Monster*)a.columns[0] + i;
        orr_string_assign(world, &monster->name, orr_string_make(world, names[n]));
        monster->mood = (Mood)n;
        ids[n] = a.entities[i];
    }
    orr_append_end(&a);

    // Copy the value, change the copy, set it.
    Monster grub = *orr_get(world, ids[0], Monster);
    grub.weakness = FIRE | SILVER;
    grub.target = ids[2];
    orr_set(world, ids[0], Monster, grub);
    for (int n = 0; n < 3; n++) {
        orr_print(world, ids[n]);
    }

    // An initialiser does not apply presets, so orr_set() would make `health` 0. orr_set_preset()
    // begins with the presets.
    orr_entity fury = orr_create(world);
    orr_set_preset(world, fury, Monster, .mood = ANGRY, .target = ids[1]);
    orr_print(world, fury);

    // A reference to a destroyed entity keeps its id; orr_alive() detects it.
    orr_destroy(world, ids[2]);
    printf("the target of Grub is %s\n",
           orr_alive(world, orr_get(world, ids[0], Monster)->target) ? "alive" : "dead");

    // Parsing text: missing fields get their presets; errors say what is wrong.
    const orr_type_info* info = orr_type_info_get(world, type);
    Monster parsed;
    const char* texts[] = {"{name: \"Fang\", mood: ASLEEP, weakness: ICE}", "{health: 400}",
                           "{moood: CALM}"};
    for (int n = 0; n < 3; n++) {
        if (orr_value_parse(info, texts[n], &parsed) == ORR_OK) {
            char text[256];
            orr_value_print(info, &parsed, text, sizeof text);
            printf("%s\n", text);
        } else {
            printf("refused: %s\n", orr_error_last(world));
        }
    }
    orr_world_destroy(world);
    return 0;
}
