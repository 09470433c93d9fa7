// SPDX-License-Identifier: MIT
// Iterates over the posts of one type from any number on, stream by stream, in spans with the same
// verb.
#include "message/transaction/transaction.h"

orri_post_walk orri_post_walk_begin(const orri_post_part* parts, uint32_t part_count,
                                    uint32_t first, uint32_t end)
{
    uint32_t low = 0, high = part_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(parts[middle].first <= first ? &low : &high) = middle;
    }
    orri_post_walk walk = {.at = first, .end = end, .part = low};
    const orri_stream* stream = parts[low].stream;
    uint32_t within = first - parts[low].first;
    for (low = 0, high = stream->run_count; high - low > 1;) {
        uint32_t middle = low + (high - low) / 2;
        *(stream->runs[middle].first <= within ? &low : &high) = middle;
    }
    walk.run = low;
    return walk;
}

bool orri_post_walk_next(const orri_post_part* parts, orri_post_walk* walk, orri_post_span* out)
{
    if (walk->at >= walk->end) {
        return false;
    }
    const orri_post_part* part = &parts[walk->part];
    const orri_stream* stream = part->stream;
    uint32_t within = walk->at - part->first, left = walk->end - walk->at;
    bool last = walk->run + 1 == stream->run_count;
    uint32_t run = (last ? stream->count : stream->runs[walk->run + 1].first) - within;
    *out = (orri_post_span){.part = part,
                            .posts = stream->posts + within,
                            .first = walk->at,
                            .count = run < left ? run : left,
                            .verb = stream->runs[walk->run].verb,
                            .ahead = stream->count - within};
    walk->at += out->count;
    walk->part += last;
    walk->run = last ? 0 : walk->run + 1;
    return true;
}
