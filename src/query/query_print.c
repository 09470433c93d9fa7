// SPDX-License-Identifier: MIT
// Writes queries as text. Terms keep their order, and each has the form that terms.c reads back as
// the same term.
#include "query/query.h"

// ---- terms --------------------------------------------------------------------------------------

// The words before a name. Words without meaning for the kind of the term are left out.
typedef struct query_print_words {
    bool write, changed;
    orr_enable_state state;
} query_print_words;

static query_print_words query_print_words_of(const orr_term* term)
{
    query_print_words words = {0};
    if (term->type.id != 0) {
        words.write = term->access == ORR_WRITE && term->kind != ORR_WITHOUT;
        words.changed = term->changed && term->kind != ORR_WITHOUT;
        words.state = term->kind != ORR_OPTIONAL ? term->state : ORR_ENABLED;
    }
    return words;
}

static bool query_print_words_equal(query_print_words a, query_print_words b)
{
    return a.write == b.write && a.changed == b.changed && a.state == b.state;
}

static void query_print_words_add(orri_text* out, query_print_words words)
{
    orri_text_add(out, "%s%s%s", words.write ? "write " : "", words.changed ? "changed " : "",
                  words.state == ORR_DISABLED ? "disabled "
                  : words.state == ORR_EITHER ? "either "
                                              : "");
}

void orri_tag_print(const orr_world* world, orr_tag tag, orri_text* out)
{
    const char* name = orr_tag_name(world, tag);
    if (name != NULL) {
        orri_text_add(out, "#%s", name);
    } else {
        orri_text_add(out, "#%llu", (unsigned long long)tag);
    }
}

void orri_term_print_name(const orr_world* world, const orr_term* term, orri_text* out)
{
    if (term->type.id != 0) {
        orri_text_add(out, "%s", orri_type_label(world, term->type));
    } else {
        orri_tag_print(world, term->tag, out);
    }
}

static bool query_print_same_group(const orr_term* a, const orr_term* b)
{
    return a->kind == ORR_ANY && b->kind == ORR_ANY && a->group == b->group;
}

// Writes the members of a choice after the first. A type has words only if they differ from those
// of the first.
static void query_print_choice(const orr_world* world, const orr_term* terms, uint32_t count,
                               orri_text* out)
{
    static const query_print_words none = {0};
    query_print_words shared = query_print_words_of(&terms[0]);
    for (uint32_t i = 1; i < count; i++) {
        if (!query_print_same_group(&terms[0], &terms[i])) {
            continue;
        }
        orri_text_add(out, "|");
        query_print_words own = query_print_words_of(&terms[i]);
        if (terms[i].type.id != 0 && !query_print_words_equal(own, shared)) {
            orri_text_add(out, "%s", query_print_words_equal(own, none) ? "read " : "");
            query_print_words_add(out, own);
        }
        orri_term_print_name(world, &terms[i], out);
    }
}

static bool query_print_is_later_member(const orr_term* terms, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (query_print_same_group(&terms[i], &terms[index])) {
            return true;
        }
    }
    return false;
}

void orri_terms_print_to(const orr_world* world, const orr_term* terms, uint32_t count,
                         orr_enable_state entities, orri_text* out)
{
    const char* separator = "";
    for (uint32_t i = 0; i < count; i++) {
        if (query_print_is_later_member(terms, i)) {
            continue;
        }
        orr_term_kind kind = terms[i].kind;
        orri_text_add(out, "%s%s", separator,
                      kind == ORR_WITHOUT    ? "!"
                      : kind == ORR_OPTIONAL ? "?"
                                             : "");
        query_print_words_add(out, query_print_words_of(&terms[i]));
        orri_term_print_name(world, &terms[i], out);
        query_print_choice(world, &terms[i], count - i, out);
        separator = ", ";
    }
    if (entities != ORR_ENABLED) {
        orri_text_add(out, "%s%s *", separator, entities == ORR_DISABLED ? "disabled" : "either");
    }
}

size_t orri_terms_print(const orr_world* world, const orr_term* terms, uint32_t count,
                        orr_enable_state entities, char* out, size_t out_size)
{
    orri_text text = {out, out != NULL ? out_size : 0, 0};
    orri_text_bytes(&text, "", 0); // Terminates the text even if it is empty.
    orri_terms_print_to(world, terms, count, entities, &text);
    return text.length;
}

// ---- queries ------------------------------------------------------------------------------------

void orri_leaf_print(const orr_query* query, const orri_leaf* leaf, orri_text* out)
{
    size_t before = out->length;
    orri_terms_print_to(query->world, leaf->terms, leaf->term_count, leaf->entities, out);
    if (leaf->predicate != NULL) {
        orri_text_add(out, "%s[with a predicate]", out->length > before ? " " : "");
    }
}

// Number of the first node of the operand whose last node is `last`.
static uint32_t query_print_operand_first(const orr_query* query, uint32_t last)
{
    uint32_t first = last + 1;
    for (uint32_t missing = 1; missing > 0 && first > 0;) {
        first--;
        missing = query->nodes[first].set == ORR_SET_NONE ? missing - 1 : missing + 1;
    }
    return first;
}

static void query_print_node(const orr_query* query, uint32_t node, orri_text* out);

// Operands of a set are in parentheses; a query without a set is not.
static void query_print_operand(const orr_query* query, uint32_t node, orri_text* out)
{
    orri_text_add(out, "(");
    query_print_node(query, node, out);
    orri_text_add(out, ")");
}

static void query_print_node(const orr_query* query, uint32_t node, orri_text* out)
{
    static const char* const words[] = {"", " or ", " and ", " but not "};
    orr_set_kind set = query->nodes[node].set;
    if (set == ORR_SET_NONE) {
        orri_leaf_print(query, &query->leaves[query->nodes[node].leaf], out);
        return;
    }
    query_print_operand(query, query_print_operand_first(query, node - 1) - 1, out);
    orri_text_add(out, "%s", words[set]);
    query_print_operand(query, node - 1, out);
}

// Writes the path of the sort key, such as "Nested.points[2].y", from its offset.
static void query_print_key(const orr_query* query, orri_text* out)
{
    const orri_order* order = query->order;
    const orr_type_info* type = orr_type_info_get(query->world, order->type);
    uint32_t offset = order->place.offset;
    orri_text_add(out, "%s", type->name);
    while (type->kind == ORR_KIND_STRUCT) {
        const orr_field_info* field = &type->fields[0];
        for (uint32_t f = 1; f < type->field_count; f++) {
            const orr_field_info* other = &type->fields[f];
            bool nearer = other->offset <= offset && other->offset > field->offset;
            field = nearer || field->offset > offset ? other : field;
        }
        orri_text_add(out, ".%s", field->name);
        offset -= field->offset;
        type = field->type;
        if (field->count > 0) {
            orri_text_add(out, "[%u]", offset / type->size);
            offset %= type->size;
        }
    }
}

void orri_query_print_to(const orr_query* query, orri_text* out)
{
    size_t before = out->length;
    query_print_node(query, query->node_count - 1, out);
    if (query->order != NULL) {
        orri_text_add(out, "%s[in %sorder of ", out->length > before ? " " : "",
                      query->order->descending ? "descending " : "");
        query_print_key(query, out);
        orri_text_add(out, "]");
    }
    if (query->group_by != NULL) {
        orri_text_add(out, "%s[in groups]", out->length > before ? " " : "");
    }
}

size_t orr_query_print(const orr_query* query, char* out, size_t out_size)
{
    ORR_ASSERT(query != NULL);
    orri_text text = {out, out != NULL ? out_size : 0, 0};
    orri_text_bytes(&text, "", 0);
    orri_query_print_to(query, &text);
    return text.length;
}
