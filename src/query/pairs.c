// SPDX-License-Identifier: MIT
// Cross products: every run of the left query against every run of the right, one chunk at a time, so that both stay in the
// cache while all their pairs are visited.
//
// Pairs once: of one query, the right side begins at the left one's run. Of two queries, a pair of rows that are both in both
// would come twice; it comes where the left row is first, by cluster and chunk.
#include "query/query.h"
#include "store/world/access.h"

static bool pairs_chosen_by_row(const orr_query* query)
{
    bool some = query->by_row;
    for (uint32_t e = 0; e < query->entry_count && !some; e++) {
        some = query->entries[e].cluster != NULL && orri_entry_match(query, e) != ORRI_MATCH_ALL;
    }
    return some;
}

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
        return orri_refuse_argument(left->world, call, "the queries are of different worlds");
    }
    if ((unsigned)pairs > ORR_PAIRS_ORDERED) {
        return orri_refuse_argument(left->world, call, "pairs is no orr_pairs");
    }
    bool ordered = left->order != NULL || right->order != NULL;
    if (pairs == ORR_PAIRS_ONCE && left != right &&
        (ordered || pairs_chosen_by_row(left) || pairs_chosen_by_row(right)) &&
        pairs_overlaps(left, right)) {
        return orri_refuse(&left->world->env, ORR_ERR_ARGUMENT, ORR_LOG_ID_QUERY_REFUSED,
                           "%s: pairs once of two queries that overlap and whose rows "
                           "are chosen one by one cannot be told from their mirrors; use "
                           "ORR_PAIRS_ORDERED, or one query for both sides",
                           call);
    }
    return ORR_OK;
}

orr_cross* orr_cross_begin(orr_cross* cross, orr_query* left, orr_query* right, orr_pairs pairs)
{
    ORR_ASSERT(cross != NULL && left != NULL && right != NULL);
    // The right side is brought up to date first: its refresh must not make the left one's rows stale.
    bool fresh = pairs_check("orr_cross_begin", left, right, pairs) == ORR_OK &&
                 (!orri_access_checked(left->world) || orri_query_loops(right, "ORR_CROSS")) &&
                 orri_query_refresh(right);
    static const uint32_t never = 0;
    *cross = (orr_cross){.pairs = pairs};
    cross->left = cross->right = (orr_iter){.era_now = &never}; // No rounds.
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

// A run of a system has rows as long as the function is in it.
static bool pairs_has_rows(const orr_iter* run)
{
    bool rows = run->now != NULL && run->era == *run->era_now;
    if (!rows) {
        (void)orri_refuse(orri_env_of(run->world), ORR_ERR_STATE, ORR_LOG_ID_QUERY_REFUSED,
                          "orr_cross_run: this run has no rows to pair; it is for systems that are "
                          "called per run of rows. With two queries use ORR_CROSS");
    }
    return rows;
}

orr_cross* orr_cross_run(orr_cross* cross, const orr_iter* run, orr_query* right, orr_pairs pairs)
{
    ORR_ASSERT(cross != NULL && run != NULL && right != NULL);
    static const uint32_t never = 0;
    bool fine = pairs_has_rows(run) && orri_query_loops(right, "orr_cross_run") &&
                pairs_check("orr_cross_run", run->query, right, pairs) == ORR_OK;
    cross->left = *run; // With its rows; it goes no further.
    cross->left.counted = false;
    cross->left.span_left = 0;
    if (fine) {
        orr_iter_begin(&cross->right, right, NULL);
    } else {
        cross->right = (orr_iter){.era_now = &never, .world = run->world};
    }
    cross->pairs = pairs;
    cross->same = cross->begun = false;
    cross->of_run = true;
    // Who is paired with whom is asked of every pair of runs: others are at the mirrors.
    cross->overlap = pairs == ORR_PAIRS_ONCE && fine &&
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

// The right side from where it must begin for a new run of the left. Both sides stay counted as they were.
static void pairs_restart(orr_cross* cross)
{
    orr_iter* right = &cross->right;
    if (cross->pairs == ORR_PAIRS_ONCE && cross->left.query == right->query) {
        const orr_iter* left = &cross->left;
        bool counted = right->counted;
        *right = *left;
        right->counted = counted;
        // The left one's run comes first. Runs that are not of the list are in the iterator itself.
        right->next = left->listed ? left->now : right->spans + (left->now - left->spans);
        right->span_left++;
    } else {
        orri_iter_rewind(right);
    }
}

// orr_iter_next() for the right side, which is not ended by its last run.
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

static uint64_t pairs_rank(const orr_iter* it, uint64_t* number)
{
    const orri_chunk* chunk = it->now->chunk;
    *number = (uint64_t)chunk->number << 32 | it->now->slot;
    return chunk->cluster->sequence;
}

// True when both runs are in both queries and the pair comes, or came, the other way round.
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
