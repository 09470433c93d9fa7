// SPDX-License-Identifier: MIT
// Parses and prints the items of a bundle:
//
//     items = [ item { "," item } ]
//     item  = type [ value ] | bundle | "#" ( tag | number )
//
// Values are parsed by the schema (orri_value_read_at), which handles braces, and commas in
// strings.
#include "base/scan.h"
#include "store/api/bundle.h"
#include <stdio.h>

typedef struct bundle_parse_parser {
    orr_world* world;
    const char* call;
    const char *text, *at;
    orri_bundle* out;
    orr_result result; // Set by a refusal.
} bundle_parse_parser;

// ---- errors -------------------------------------------------------------------------------------

static bool bundle_parse_fail(bundle_parse_parser* p, orr_result result, const char* at,
                              const char* format, ...) ORR_PRINTF(4, 5);

// Reports an error at a position of the text. Always returns false.
static bool bundle_parse_fail(bundle_parse_parser* p, orr_result result, const char* at,
                              const char* format, ...)
{
    va_list args;
    va_start(args, format);
    p->result = orri_refuse_at(&p->world->env, result, ORR_LOG_ID_CALL_REFUSED, p->call, p->text,
                               at, format, args);
    va_end(args);
    return false;
}

static bool bundle_parse_fail_memory(bundle_parse_parser* p)
{
    p->result = orri_refuse_memory(&p->world->env, "registering a bundle");
    return false;
}

// Reports what was expected and what the text has instead.
static bool bundle_parse_expected(bundle_parse_parser* p, const char* what)
{
    char found[ORRI_SCAN_FOUND_SIZE];
    return bundle_parse_fail(p, ORR_ERR_PARSE, p->at, "expected %s%s", what,
                             orri_scan_found(p->at, orri_scan_word(p->at), found));
}

// Reports an unknown name, with a hint: '#' missing or superfluous, or the most similar name.
static bool bundle_parse_unknown(bundle_parse_parser* p, const char* name, size_t size, bool tag)
{
    const orr_world* world = p->world;
    orri_near near;
    orri_near_begin(&near, name, size);
    bool other = tag ? orr_type_find(world, near.name).id != 0 ||
                           orri_bundle_named(world, near.name) != NULL
                     : orr_tag_find(world, near.name, NULL);
    if (other) {
        return bundle_parse_fail(p, ORR_ERR_TYPE, name,
                                 tag ? "no tag has the name '%s'; write it without '#'"
                                     : "no type or bundle '%s'; it is a tag: write '#' before it",
                                 near.name);
    }
    if (!tag && orri_type_starved(&world->schema, name, size) != NULL) {
        return bundle_parse_fail(p, ORR_ERR_MEMORY, name,
                                 "out of memory: the registration of '%s' was refused; register it "
                                 "again when there is memory",
                                 near.name);
    }
    for (uint32_t i = 0; !tag && i < world->schema.type_count; i++) {
        orri_near_offer(&near, world->schema.types[i]->info.name);
    }
    for (uint32_t i = 0; !tag && i < world->bundles.count; i++) {
        orri_near_offer(&near, world->bundles.list[i]->name);
    }
    for (uint32_t i = 0; tag && i < world->tags.count; i++) {
        orri_near_offer(&near, world->tags.entries[i].name);
    }
    char words[ORRI_ERROR_SIZE / 2] = "";
    orri_near_append(&near, &(orri_text){words, sizeof words, 0});
    return bundle_parse_fail(
        p, ORR_ERR_TYPE, name,
        tag ? "no tag has the name '%s'%s (name a tag with orr_tag_register())"
            : "no type or bundle '%s'%s (a C type is registered by its first use or "
              "by ORR_REGISTER())",
        near.name, words);
}

// ---- items --------------------------------------------------------------------------------------

static void bundle_parse_value_free(orr_world* world, const orri_bundle_item* item)
{
    if (item->value != NULL) {
        orri_rows_release(item->type, item->value, 1);
        orri_free(&world->env, ORR_MEMORY_SCHEMA, item->value, item->type->info.size,
                  item->type->info.align);
    }
}

void orri_bundle_clear(orr_world* world, orri_bundle* bundle)
{
    for (uint32_t i = 0; i < bundle->item_count; i++) {
        bundle_parse_value_free(world, &bundle->items[i]);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_SCHEMA, bundle->items, bundle->item_capacity);
    ORRI_RELEASE(&world->env, ORR_MEMORY_SCHEMA, bundle->tags, bundle->tag_capacity);
    bundle->items = NULL;
    bundle->tags = NULL;
    bundle->item_count = bundle->item_capacity = bundle->tag_count = bundle->tag_capacity = 0;
}

// Counts the items of a type; `*at` is the index of the last one.
static uint32_t bundle_parse_count(const orri_bundle* bundle, const orri_type* type, uint32_t* at)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < bundle->item_count; i++) {
        if (bundle->items[i].type == type) {
            *at = i;
            count++;
        }
    }
    return count;
}

// Adds an item; for a unique type it replaces the item before. Takes over the value, also when
// refused. `at` is the position of the item in the text.
static bool bundle_parse_add_item(bundle_parse_parser* p, const char* at, orri_bundle_item item)
{
    orri_bundle* bundle = p->out;
    uint32_t place = 0, count = bundle_parse_count(bundle, item.type, &place);
    if (count > 0 && item.type->info.multiplicity == ORR_UNIQUE) {
        bundle_parse_value_free(p->world, &bundle->items[place]);
        bundle->items[place] = item;
        return true;
    }
    bool room = count < ORR_INSTANCES_MAX && bundle->item_count < ORRI_BUNDLE_ITEMS_MAX;
    if (room && ORRI_RESERVE(&p->world->env, ORR_MEMORY_SCHEMA, &bundle->items,
                             &bundle->item_capacity, bundle->item_count + 1)) {
        bundle->items[bundle->item_count++] = item;
        return true;
    }
    bundle_parse_value_free(p->world, &item);
    return room ? bundle_parse_fail_memory(p)
                : bundle_parse_fail(p, ORR_ERR_CAPACITY, at,
                                    "more than %u instances of %s, or %u items; use fewer",
                                    ORR_INSTANCES_MAX, item.type->info.name, ORRI_BUNDLE_ITEMS_MAX);
}

static bool bundle_parse_add_tag(bundle_parse_parser* p, const char* at, orr_tag tag)
{
    orri_bundle* bundle = p->out;
    for (uint32_t i = 0; i < bundle->tag_count; i++) {
        if (bundle->tags[i] == tag) {
            return true;
        }
    }
    if (bundle->tag_count == ORR_CLUSTER_TAGS_MAX) {
        return bundle_parse_fail(p, ORR_ERR_CAPACITY, at, "more than %u tags",
                                 ORR_CLUSTER_TAGS_MAX);
    }
    if (!ORRI_RESERVE(&p->world->env, ORR_MEMORY_SCHEMA, &bundle->tags, &bundle->tag_capacity,
                      bundle->tag_count + 1)) {
        return bundle_parse_fail_memory(p);
    }
    bundle->tags[bundle->tag_count++] = tag;
    return true;
}

static uint8_t* bundle_parse_value_alloc(bundle_parse_parser* p, const orri_type* type)
{
    uint8_t* value =
        orri_alloc(&p->world->env, ORR_MEMORY_SCHEMA, type->info.size, type->info.align);
    if (value == NULL) {
        (void)bundle_parse_fail_memory(p);
    }
    return value;
}

// Adds the items and tags of another bundle that the text names.
static bool bundle_parse_add_bundle(bundle_parse_parser* p, const char* at,
                                    const orri_bundle* other)
{
    for (uint32_t i = 0; i < other->item_count; i++) {
        orri_bundle_item item = {other->items[i].type, NULL};
        if (other->items[i].value != NULL) {
            item.value = bundle_parse_value_alloc(p, item.type);
            if (item.value == NULL) {
                return false;
            }
            memcpy(item.value, other->items[i].value, item.type->info.size);
            orri_rows_retain(item.type, item.value, 1);
        }
        if (!bundle_parse_add_item(p, at, item)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < other->tag_count; i++) {
        if (!bundle_parse_add_tag(p, at, other->tags[i])) {
            return false;
        }
    }
    return true;
}

// ---- reading ------------------------------------------------------------------------------------

static bool bundle_parse_at_end_of_item(const bundle_parse_parser* p)
{
    return *p->at == ',' || *p->at == '\0';
}

// Parses the rest of an item after the name of its type: a value, or nothing.
static bool bundle_parse_take_type(bundle_parse_parser* p, const char* at, const orri_type* type)
{
    orri_bundle_item item = {type, NULL};
    p->at = orri_scan_blanks(p->at);
    if (bundle_parse_at_end_of_item(p)) {
        return bundle_parse_add_item(p, at, item);
    }
    uint8_t* value = bundle_parse_value_alloc(p, type);
    if (value == NULL) {
        return false;
    }
    char words[ORRI_ERROR_SIZE / 2];
    orr_result result = orri_value_read_at(type, &p->at, value, words, sizeof words);
    if (result == ORR_OK && type->info.size > 0) {
        orri_rows_retain(type, value, 1);
        item.value = value;
        return bundle_parse_add_item(p, at, item);
    }
    orri_free(&p->world->env, ORR_MEMORY_SCHEMA, value, type->info.size, type->info.align);
    if (result == ORR_ERR_MEMORY) {
        return bundle_parse_fail_memory(p);
    }
    return result == ORR_OK ? bundle_parse_add_item(p, at, item)
                            : bundle_parse_fail(p, result, p->at, "%s: %s", type->info.name, words);
}

static bool bundle_parse_take_name(bundle_parse_parser* p)
{
    const char* at = p->at;
    size_t size = orri_scan_word(at);
    if (size == 0 || orri_scan_is_digit(*at)) {
        return bundle_parse_expected(p, "a type, a bundle, or '#' and a tag");
    }
    char name[ORR_NAME_MAX + 1];
    orri_scan_copy(name, at, size);
    orr_type type = orr_type_find(p->world, name);
    const orri_bundle* bundle = orri_bundle_named(p->world, name);
    if (type.id == 0 && bundle == NULL) {
        return bundle_parse_unknown(p, at, size, false);
    }
    if (type.id != 0 && bundle != NULL) {
        return bundle_parse_fail(p, ORR_ERR_CONFLICT, at,
                                 "'%s' is the name of a type and of a bundle; rename one of them",
                                 name);
    }
    p->at += size;
    if (bundle == NULL) {
        return bundle_parse_take_type(p, at, orri_type_at(&p->world->schema, type));
    }
    p->at = orri_scan_blanks(p->at);
    return bundle_parse_at_end_of_item(p)
               ? bundle_parse_add_bundle(p, at, bundle)
               : bundle_parse_expected(p, "',' after a bundle (a type of it given again, after it, "
                                          "replaces the value)");
}

static bool bundle_parse_take_number(bundle_parse_parser* p, size_t size, orr_tag* out)
{
    orri_scan_number number = orri_scan_decimal_or_hex(p->at, UINT64_MAX);
    if (!number.fits) {
        return bundle_parse_fail(p, ORR_ERR_PARSE, p->at, "the tag does not fit 64 bits");
    }
    if (number.end < p->at + size) {
        return bundle_parse_fail(
            p, ORR_ERR_PARSE, number.end,
            "'%c' is not a digit; a tag is a name, or a number such as 17 or 0x1F", *number.end);
    }
    p->at = number.end;
    *out = number.value;
    return true;
}

static bool bundle_parse_take_tag(bundle_parse_parser* p)
{
    const char* at = p->at++;
    orr_tag tag = 0;
    p->at = orri_scan_blanks(p->at);
    size_t size = orri_scan_word(p->at);
    if (size == 0) {
        return bundle_parse_expected(p, "the name or number of a tag after '#'");
    }
    if (orri_scan_is_digit(*p->at)) {
        return bundle_parse_take_number(p, size, &tag) && bundle_parse_add_tag(p, at, tag);
    }
    char name[ORR_NAME_MAX + 1];
    orri_scan_copy(name, p->at, size);
    if (!orr_tag_find(p->world, name, &tag)) {
        return bundle_parse_unknown(p, p->at, size, true);
    }
    p->at += size;
    return bundle_parse_add_tag(p, at, tag);
}

static bool bundle_parse_take_all(bundle_parse_parser* p)
{
    p->at = orri_scan_blanks(p->at);
    while (*p->at != '\0') {
        if (!(*p->at == '#' ? bundle_parse_take_tag(p) : bundle_parse_take_name(p))) {
            return false;
        }
        p->at = orri_scan_blanks(p->at);
        if (*p->at == '\0') {
            break;
        }
        if (*p->at != ',') {
            return bundle_parse_expected(p, "','");
        }
        p->at = orri_scan_blanks(p->at + 1);
        if (*p->at == '\0') {
            return bundle_parse_expected(p, "a type, a bundle, or '#' and a tag");
        }
    }
    return true;
}

orr_result orri_bundle_parse(orr_world* world, const char* call, const char* text, orri_bundle* out)
{
    bundle_parse_parser parser = {
        .world = world, .call = call, .text = text, .at = text, .out = out};
    if (!bundle_parse_take_all(&parser)) {
        orri_bundle_clear(world, out);
        return parser.result;
    }
    return ORR_OK;
}

// ---- writing ------------------------------------------------------------------------------------

static void bundle_parse_print_value(orri_text* text, const orri_bundle_item* item)
{
    size_t used = text->length < text->size ? text->length : text->size;
    size_t length = orr_value_print(&item->type->info, item->value,
                                    text->size > used ? text->data + used : NULL,
                                    text->size - used);
    text->length += length;
}

size_t orr_bundle_print(const orr_world* world, orr_bundle handle, char* out, size_t out_size)
{
    ORR_ASSERT(world != NULL);
    orri_text text = {out, out != NULL ? out_size : 0, 0};
    orri_text_add(&text, "%s", "");
    const orri_bundle* bundle = orri_bundle_at(world, handle);
    const char* separator = "";
    for (uint32_t i = 0; bundle != NULL && i < bundle->item_count; i++, separator = ", ") {
        const orri_bundle_item* item = &bundle->items[i];
        orri_text_add(&text, "%s%s%s", separator, item->type->info.name,
                      item->value != NULL ? " " : "");
        if (item->value != NULL) {
            bundle_parse_print_value(&text, item);
        }
    }
    for (uint32_t i = 0; bundle != NULL && i < bundle->tag_count; i++, separator = ", ") {
        const char* name = orr_tag_name(world, bundle->tags[i]);
        if (name != NULL) {
            orri_text_add(&text, "%s#%s", separator, name);
        } else {
            orri_text_add(&text, "%s#%llu", separator, (unsigned long long)bundle->tags[i]);
        }
    }
    return text.length;
}
