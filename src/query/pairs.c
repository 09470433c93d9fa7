// SPDX-License-Identifier: MIT
// Cross products: pairs every run of the left query with every run of the right query, one chunk at
// a time, so that both stay in the cache while all their pairs are visited.
//
// ORR_PAIRS_ONCE: if both queries are the same, the right side begins at the run of the left side.
// With two different queries, a pair of rows that both match both queries would be visited twice;
// it is visited only where the left row comes first by cluster and chunk.
#include "query/query.h"
#include "store/world/access.h"

// True if the query selects rows one by one in some cluster.
static bool pairs_chosen_by_row(const orr_query* query)
{
    bool some = query->by_row;
    for (uint32_t e = 0; e < query->entry_count && !some; e++) {
        some = query->entries[e].cluster != NULL && orri_entry_match(query, e) != ORRI_MATCH_ALL;
    }
    return some;
}

// True if some cluster matches both queries.
static bool pairs_overlaps(const orr_query* a, const orr_query* b)
{
    for (uint32_t e = 0; e < a->entry_count; e++) {
        if (a->entries[e].cluster != NULL &&
            orri_entries_find(b, a->entries[e].cluster) != UINT32_MAX) {
            return true;
        }
    }
    return false;
}

static orr_result pairs_check(const char* call, orr_query* left, orr_query* right, orr_pairs pairs)
{
    if (left->world != right->world) {
        return orri_refuse_argument(
            left->world, call, "the queries are of different worlds; use queries of one world");
    }
    if ((unsigned)pairs > ORR_PAIRS_ORDERED) {
        return orri_refuse_argument(left->world, call, "pairs is not a value of orr_pairs");
    }
    bool ordered = left->order != NULL || right->order != NULL;
    if (pairs == ORR_PAIRS_ONCE && left != right &&
        (ordered || pairs_chosen_by_row(left) || pairs_chosen_by_row(right)) &&
        pairs_overlaps(left, right)) {
        return orri_refuse(
            &left->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_QUERY_REFUSED,
            "%s: ORR_PAIRS_ONCE cannot be used with two queries that share clusters if one is "
            "ordered or selects rows one by one (enable bits, pinned types): a pair cannot be "
            "distinguished from its mirror; use ORR_PAIRS_ORDERED, or one query for both sides",
            call);
    }
    return ORR_OK;
}

orr_cross* orr_cross_begin(orr_cross* cross, orr_query* left, orr_query* right, orr_pairs pairs)
{
    ORR_ASSERT(cross != NULL && left != NULL && right != NULL);
    // The right query is refreshed first, because a refresh could invalidate runs of the left one.
    bool fresh =
        pairs_check("orr_cross_begin", left, right, pairs) == ORR_OK &&
        (!orri_access_checked(left->world) || orri_query_loop_allowed(right, "ORR_CROSS")) &&
        orri_query_refresh(right);
    static const uint32_t never = 0;
    *cross = (orr_cross){.pairs = pairs};
    cross->left = cross->right = (orr_iter){.era_now = &never}; // Without runs.
    if (!fresh) {
        return cross;
    }
    orr_iter_begin(&cross->left, left, NULL);
    if (ORR_LIKELY(cross->left.era != 0)) {
        orr_iter_begin(&cross->right, right, NULL);
    }
    cross->overlap = left != right && pairs == ORR_PAIRS_ONCE && pairs_overlaps(left, right);
    return cross;
}

// True if a system's run has rows; reports otherwise. A run has rows only while the system's
// function runs.
static bool pairs_has_rows(const orr_iter* run)
{
    bool rows = run->now != NULL && run->era == *run->era_now;
    if (!rows) {
        (void)orri_refuse(orri_env_of(run->world), ORR_ERR_STATE, ORR_LOG_ID_QUERY_REFUSED,
                          "orr_cross_run: this run has no rows to pair; use it in systems that are "
                          "called for each run of rows. To pair two queries use ORR_CROSS");
    }
    return rows;
}

orr_cross* orr_cross_run(orr_cross* cross, const orr_iter* run, orr_query* right, orr_pairs pairs)
{
    ORR_ASSERT(cross != NULL && run != NULL && right != NULL);
    static const uint32_t never = 0;
    bool allowed = pairs_has_rows(run) && orri_query_loop_allowed(right, "orr_cross_run") &&
                   pairs_check("orr_cross_run", run->query, right, pairs) == ORR_OK;
    cross->left = *run; // Only its current run is used.
    cross->left.counted = false;
    cross->left.span_left = 0;
    if (allowed) {
        orr_iter_begin(&cross->right, right, NULL);
    } else {
        cross->right = (orr_iter){.era_now = &never, .world = run->world};
    }
    cross->pairs = pairs;
    cross->same = cross->begun = false;
    cross->of_run = true;
    // Mirrored pairs are tested for every pair of runs, because other workers visit the mirrors.
    cross->overlap = pairs == ORR_PAIRS_ONCE && allowed &&
                     (run->query == right || pairs_overlaps(run->query, right));
    return cross;
}

void orr_cross_end(orr_cross* cross)
{
    ORR_ASSERT(cross != NULL);
    if (!cross->of_run) {
        orr_iter_end(&cross->left);
    }
    orr_iter_end(&cross->right);
}

// Moves the right side to its first run for a new run of the left side. Both sides stay counted as
// open.
static void pairs_restart(orr_cross* cross)
{
    orr_iter* right = &cross->right;
    if (cross->pairs == ORR_PAIRS_ONCE && cross->left.query == right->query) {
        const orr_iter* left = &cross->left;
        bool counted = right->counted;
        *right = *left;
        right->counted = counted;
        // The first run is that of the left side. Runs outside of the run cache are in the iterator
        // itself.
        right->next = left->listed ? left->now : right->spans + (left->now - left->spans);
        right->span_left++;
    } else {
        orri_iter_rewind(right);
    }
}

// orr_iter_next() for the right side, without ending the iteration after the last run.
static bool pairs_next_right(orr_iter* right)
{
    bool counted = right->counted;
    uint32_t era = right->era;
    right->counted = false;
    bool more = orr_iter_next(right);
    right->counted = counted;
    right->era = era;
    return more;
}

// Place of the current run in the order of creation: cluster, then chunk and row in `*number`.
static uint64_t pairs_rank(const orr_iter* it, uint64_t* number)
{
    const orri_chunk* chunk = it->now->chunk;
    *number = (uint64_t)chunk->number << 32 | it->now->slot;
    return chunk->cluster->sequence;
}

// True if both clusters match both queries and the mirrored pair is the one to visit.
static bool pairs_mirrored(const orr_cross* cross)
{
    const orri_chunk *left = cross->left.now->chunk, *right = cross->right.now->chunk;
    uint64_t left_number, right_number;
    uint64_t left_rank = pairs_rank(&cross->left, &left_number);
    uint64_t right_rank = pairs_rank(&cross->right, &right_number);
    bool later = left_rank != right_rank ? left_rank > right_rank : left_number > right_number;
    return later && orri_entries_find(cross->right.query, left->cluster) != UINT32_MAX &&
           orri_entries_find(cross->left.query, right->cluster) != UINT32_MAX;
}

bool orr_cross_next(orr_cross* cross)
{
    ORR_ASSERT(cross != NULL);
    for (;;) {
        if (!cross->begun || !pairs_next_right(&cross->right)) {
            bool more = cross->of_run ? !cross->begun && cross->right.era != 0
                                      : orr_iter_next(&cross->left);
            if (!more) {
                orr_cross_end(cross);
                return false;
            }
            cross->begun = true;
            if (!cross->of_run) {
                pairs_restart(cross);
            }
            continue;
        }
        const orr_hot_span *left = cross->left.now, *right = cross->right.now;
        cross->same = left->chunk == right->chunk && left->slot == right->slot;
        if (!cross->overlap || !pairs_mirrored(cross)) {
            return true;
        }
    }
}
