// SPDX-License-Identifier: MIT
// orr_query_explain(): writes which clusters match a query, and for each other cluster the first
// term that fails. Slow: it allocates nothing and matches every cluster again.
#include "query/query.h"

#define EXPLAIN_LINES 16 // Most lines of one list.

// Result of matching a query against a cluster.
typedef struct explain_match {
    const orri_cluster* cluster;
    orri_match match;
    uint64_t rows; // Number of rows that match.
} explain_match;

// Numbers of clusters and rows.
typedef struct explain_sum {
    uint64_t clusters, rows;
} explain_sum;

// ---- rows ---------------------------------------------------------------------------------------

// Number of rows of a cluster that match a leaf, tested as a query of its own.
static uint64_t explain_count_leaf(const orr_query* query, const orri_leaf* leaf,
                                   const orri_cluster* cluster)
{
    static const uint16_t some[1] = {ORRI_MATCH_SOME};
    orri_leaf copy = *leaf;
    orri_set_node node = {ORR_SET_NONE, 0};
    orr_query alone = {
        .world = query->world, .leaves = &copy, .leaf_count = 1, .nodes = &node, .node_count = 1};
    return orri_query_count_rows(&alone, some, cluster);
}

// Number of rows that match one term; for a choice, any of its terms.
static uint64_t explain_count_term(const orr_query* query, const orri_leaf* leaf, uint32_t t,
                                   const orri_cluster* cluster)
{
    orr_term terms[ORR_TERMS_MAX];
    uint32_t count = 0;
    for (uint32_t i = t; i < leaf->term_count; i++) {
        const orr_term *term = &leaf->terms[i], *first = &leaf->terms[t];
        if (i == t ||
            (first->kind == ORR_ANY && term->kind == ORR_ANY && first->group == term->group)) {
            terms[count++] = *term;
        }
    }
    orri_leaf alone = {.terms = terms, .term_count = count, .entities = ORR_EITHER};
    return explain_count_leaf(query, &alone, cluster);
}

static explain_match explain_match_cluster(const orr_query* query, const orri_cluster* cluster)
{
    uint16_t leaves[ORR_TERMS_MAX];
    explain_match result = {cluster, orri_query_match(query, cluster, leaves), 0};
    result.rows = result.match == ORRI_MATCH_ALL    ? cluster->row_count
                  : result.match == ORRI_MATCH_SOME ? orri_query_count_rows(query, leaves, cluster)
                                                    : 0;
    return result;
}

// True if the cluster is listed as matching. A cluster without rows matches if every row in it
// would match.
static bool explain_matches(const explain_match* result)
{
    return result->rows > 0 || (result->cluster->row_count == 0 && result->match == ORRI_MATCH_ALL);
}

// ---- reasons ------------------------------------------------------------------------------------

// Number of rows that have the type or tag of a term, enabled or disabled.
static uint64_t explain_count_named(const orr_query* query, const orri_cluster* cluster,
                                    const orr_term* term)
{
    orr_term present = {.type = term->type, .tag = term->tag, .state = ORR_EITHER};
    orri_leaf leaf = {.terms = &present, .term_count = 1, .entities = ORR_EITHER};
    return explain_count_leaf(query, &leaf, cluster);
}

// Writes why no row of a cluster matches a choice.
static void explain_group(const orr_query* query, const orri_leaf* leaf, uint32_t t,
                          const orri_cluster* cluster, orri_text* out)
{
    bool present = false;
    const char* separator = "has none of ";
    for (uint32_t i = t; i < leaf->term_count; i++) {
        const orr_term* term = &leaf->terms[i];
        if (term->kind == ORR_ANY && term->group == leaf->terms[t].group) {
            orri_text_add(out, "%s", separator);
            orri_term_print_name(query->world, term, out);
            present = present || explain_count_named(query, cluster, term) > 0;
            separator = "|";
        }
    }
    orri_text_add(out, "%s", present ? " in the required enable state" : "");
}

// Writes why no row of a cluster matches a term.
static void explain_term(const orr_query* query, const orri_leaf* leaf, uint32_t t,
                         const orri_cluster* cluster, orri_text* out)
{
    const orr_term* term = &leaf->terms[t];
    if (term->kind == ORR_ANY) {
        explain_group(query, leaf, t, cluster, out);
        return;
    }
    bool without = term->kind == ORR_WITHOUT;
    bool off = without ? term->state == ORR_DISABLED : term->state == ORR_ENABLED;
    uint64_t rows = without && !off ? 0 : explain_count_named(query, cluster, term);
    if (term->type.id != 0 && rows > 0) {
        orri_term_print_name(query->world, term, out);
        orri_text_add(out, " is %s in all rows%s", off ? "disabled" : "enabled",
                      rows < cluster->row_count ? " that have it" : "");
    } else {
        orri_text_add(out, without ? "has " : "lacks ");
        orri_term_print_name(query->world, term, out);
    }
}

// Writes why no row of a cluster matches, if types and tags alone do not exclude it.
static void explain_rows(const orr_query* query, const orri_leaf* leaf, const orri_cluster* cluster,
                         orri_text* out)
{
    for (uint32_t t = 0; t < leaf->term_count; t++) {
        if (leaf->terms[t].kind != ORR_OPTIONAL &&
            explain_count_term(query, leaf, t, cluster) == 0) {
            explain_term(query, leaf, t, cluster, out);
            return;
        }
    }
    orri_leaf entities = {.entities = leaf->entities};
    if (explain_count_leaf(query, &entities, cluster) == 0) {
        orri_text_add(out, "all entities are %s",
                      leaf->entities == ORR_ENABLED ? "disabled" : "enabled");
    } else {
        orri_text_add(out, "each term matches some rows, but no row matches all terms");
    }
}

// Writes the result of matching a leaf against a cluster.
static void explain_leaf(const orr_query* query, const orri_leaf* leaf, const orri_cluster* cluster,
                         orri_text* out)
{
    uint32_t failed = 0;
    orri_match match = orri_leaf_match(query->world, leaf, cluster, &failed);
    if (match == ORRI_MATCH_ALL) {
        orri_text_add(out, "matches");
    } else if (match == ORRI_MATCH_SOME) {
        uint64_t rows = explain_count_leaf(query, leaf, cluster);
        if (rows > 0) {
            orri_text_add(out, "matches %llu of the rows", (unsigned long long)rows);
        } else {
            explain_rows(query, leaf, cluster, out);
        }
    } else if (failed < leaf->term_count) {
        explain_term(query, leaf, failed, cluster, out);
    } else if (leaf->entities == ORR_DISABLED &&
               explain_count_leaf(query, &(orri_leaf){.entities = ORR_DISABLED}, cluster) == 0) {
        orri_text_add(out, "all entities are enabled");
    } else {
        orri_text_add(out, "is rejected by the predicate");
    }
}

// Writes why a cluster does not match; for a set, the result of each leaf.
static void explain_reason(const orr_query* query, const orri_cluster* cluster, orri_text* out)
{
    for (uint32_t l = 0; l < query->leaf_count; l++) {
        if (query->leaf_count > 1) {
            orri_text_add(out, "%s(%u) ", l > 0 ? "; " : "", l + 1);
        }
        explain_leaf(query, &query->leaves[l], cluster, out);
    }
}

// ---- clusters -----------------------------------------------------------------------------------

// Writes the types and tags of a cluster.
static void explain_cluster(const orr_world* world, const orri_cluster* cluster, orri_text* out)
{
    char buffer[128];
    orri_text text = {buffer, sizeof buffer, 0};
    const char* separator = "";
    for (uint32_t i = 0; i < cluster->type_count; i++) {
        orri_text_add(&text, "%s%s", separator, orri_type_label(world, cluster->types[i]));
        separator = ", ";
    }
    for (uint32_t i = 0; i < cluster->tag_count; i++) {
        orri_text_add(&text, "%s", separator);
        orri_tag_print(world, cluster->tags[i], &text);
        separator = ", ";
    }
    orri_text_add(&text, "%s", *separator == '\0' ? "(nothing)" : "");
    orri_text_cut(&text);
    orri_text_add(out, "%s", buffer);
}

// Number of rows that have the type or tag of an optional or any-of term, enabled or disabled. 0
// for other terms and for a type or tag that an earlier term names too.
static uint64_t explain_count_extra(const orr_query* query, const orri_leaf* leaf, uint32_t t,
                                    const orri_cluster* cluster)
{
    orr_term term = leaf->terms[t];
    bool extra = term.kind == ORR_OPTIONAL || term.kind == ORR_ANY;
    for (uint32_t i = 0; i < t; i++) {
        const orr_term* other = &leaf->terms[i];
        extra = extra && (other->type.id != term.type.id || other->tag != term.tag);
    }
    term.kind = ORR_REQUIRED;
    term.state = term.state == ORR_ENABLED ? ORR_EITHER : term.state;
    orri_leaf alone = {.terms = &term, .term_count = 1, .entities = ORR_EITHER};
    return extra ? explain_count_leaf(query, &alone, cluster) : 0;
}

// Writes details of a match: " (of 30 rows, with Mass, Body in 3 rows)".
static void explain_extras(const orr_query* query, const explain_match* result, orri_text* out)
{
    const orri_cluster* cluster = result->cluster;
    const orri_leaf* leaf = &query->leaves[0];
    const char *separator = " (", *with = "with ";
    if (result->rows < cluster->row_count) {
        orri_text_add(out, " (of %u rows", cluster->row_count);
        separator = ", ";
    }
    for (uint32_t t = 0; query->leaf_count == 1 && t < leaf->term_count; t++) {
        uint64_t rows = explain_count_extra(query, leaf, t, cluster);
        if (rows > 0) {
            orri_text_add(out, "%s%s", separator, with);
            orri_term_print_name(query->world, &leaf->terms[t], out);
            separator = ", ", with = "";
        }
        if (rows > 0 && rows < cluster->row_count) {
            orri_text_add(out, " in %llu rows", (unsigned long long)rows);
        }
    }
    orri_text_add(out, "%s", separator[0] == ',' ? ")" : "");
}

static void explain_sum_add(explain_sum* sum, uint64_t rows)
{
    sum->clusters++;
    sum->rows += rows;
}

static const char* explain_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

// Writes "31 rows in 2 clusters".
static void explain_sum_print(const explain_sum* sum, orri_text* out)
{
    orri_text_add(out, "%llu row%s in %llu cluster%s", (unsigned long long)sum->rows,
                  explain_plural(sum->rows), (unsigned long long)sum->clusters,
                  explain_plural(sum->clusters));
}

static void explain_more(const explain_sum* rest, orri_text* out)
{
    if (rest->clusters > 0) {
        orri_text_add(out, "\n         …  and ");
        explain_sum_print(rest, out);
        orri_text_add(out, " more");
    }
}

static void explain_list_matching(const orr_query* query, orri_text* out)
{
    uint32_t lines = 0;
    explain_sum rest = {0};
    for (const orri_cluster* c = query->world->clusters.first; c != NULL; c = c->next) {
        explain_match result = explain_match_cluster(query, c);
        if (!explain_matches(&result)) {
            continue;
        }
        if (lines++ >= EXPLAIN_LINES) {
            explain_sum_add(&rest, result.rows);
            continue;
        }
        orri_text_add(out, "\n%10llu  ", (unsigned long long)result.rows);
        explain_cluster(query->world, c, out);
        explain_extras(query, &result, out);
    }
    explain_more(&rest, out);
}

// True for a cluster that has rows of which none matches.
static bool explain_no_row_matches(const orr_query* query, const orri_cluster* cluster)
{
    return cluster->row_count > 0 && explain_match_cluster(query, cluster).rows == 0;
}

static void explain_list_others(const orr_query* query, orri_text* out)
{
    for (const orri_cluster* c = query->world->clusters.first; c != NULL; c = c->next) {
        if (explain_no_row_matches(query, c)) {
            orri_text_add(out, "\n%10u  ", c->row_count);
            explain_cluster(query->world, c, out);
            orri_text_add(out, ": ");
            explain_reason(query, c, out);
        }
    }
}

// Clusters that do not match for the same reason, in the order in which the reasons first occur.
typedef struct explain_kind {
    uint64_t hash;             // Of the text of the reason.
    const orri_cluster* first; // An example.
    explain_sum sum;
} explain_kind;

static void explain_kinds_find(const orr_query* query, explain_kind* kinds, uint32_t* count,
                               explain_sum* rest)
{
    for (const orri_cluster* c = query->world->clusters.first; c != NULL; c = c->next) {
        if (!explain_no_row_matches(query, c)) {
            continue;
        }
        char reason[1024] = "";
        orri_text text = {reason, sizeof reason, 0};
        explain_reason(query, c, &text);
        uint64_t hash = orr_hash(reason, strlen(reason), text.length);
        uint32_t k = 0;
        while (k < *count && kinds[k].hash != hash) {
            k++;
        }
        if (k == EXPLAIN_LINES) {
            explain_sum_add(rest, c->row_count);
            continue;
        }
        if (k == *count) {
            kinds[(*count)++] = (explain_kind){.hash = hash, .first = c};
        }
        explain_sum_add(&kinds[k].sum, c->row_count);
    }
}

static void explain_list_kinds(const orr_query* query, orri_text* out)
{
    explain_kind kinds[EXPLAIN_LINES];
    uint32_t count = 0;
    explain_sum rest = {0};
    explain_kinds_find(query, kinds, &count, &rest);
    for (uint32_t k = 0; k < count; k++) {
        const explain_sum* sum = &kinds[k].sum;
        orri_text_add(out, "\n%10llu  in %llu cluster%s: ", (unsigned long long)sum->rows,
                      (unsigned long long)sum->clusters, explain_plural(sum->clusters));
        explain_reason(query, kinds[k].first, out);
        orri_text_add(out, "; such as ");
        explain_cluster(query->world, kinds[k].first, out);
    }
    explain_more(&rest, out);
}

// ---- the whole ----------------------------------------------------------------------------------

static void explain_head(const orr_query* query, orri_text* out)
{
    orri_text_add(out, "query ");
    if (query->name != NULL) {
        orri_text_add(out, "\"%s\" ", query->name);
    }
    size_t before = out->length;
    orri_query_print_to(query, out);
    orri_text_add(out, "%s", out->length == before ? "(every enabled entity)" : "");
    for (uint32_t l = 0; query->leaf_count > 1 && l < query->leaf_count; l++) {
        orri_text_add(out, "\n  (%u) is ", l + 1);
        before = out->length;
        orri_leaf_print(query, &query->leaves[l], out);
        orri_text_add(out, "%s", out->length == before ? "(every enabled entity)" : "");
    }
}

size_t orr_query_explain(const orr_query* query, char* out, size_t out_size)
{
    ORR_ASSERT(query != NULL);
    orri_text text = {out, out != NULL ? out_size : 0, 0};
    explain_sum matching = {0}, others = {0};
    uint64_t empty = 0;
    for (const orri_cluster* c = query->world->clusters.first; c != NULL; c = c->next) {
        explain_match result = explain_match_cluster(query, c);
        bool matches = explain_matches(&result);
        if (matches || c->row_count > 0) {
            explain_sum_add(matches ? &matching : &others, matches ? result.rows : c->row_count);
        } else {
            empty++;
        }
    }
    explain_head(query, &text);
    orri_text_add(&text, "\nmatches ");
    explain_sum_print(&matching, &text);
    orri_text_add(&text, "%s", matching.clusters > 0 ? ":" : "");
    explain_list_matching(query, &text);
    if (others.clusters > 0) {
        orri_text_add(&text, "\npasses over ");
        explain_sum_print(&others, &text);
        orri_text_add(&text, ":");
        if (others.clusters <= EXPLAIN_LINES) {
            explain_list_others(query, &text);
        } else {
            explain_list_kinds(query, &text);
        }
    }
    if (empty > 0) {
        orri_text_add(&text, "\n%llu more cluster%s ha%s no rows", (unsigned long long)empty,
                      explain_plural(empty), empty == 1 ? "s" : "ve");
    }
    orri_text_add(&text, "%s",
                  query->has_changed ? "\n`changed` is ignored here: an iteration skips blocks "
                                       "that were not written since its mark"
                                     : "");
    return text.length;
}

#undef EXPLAIN_LINES
