// SPDX-License-Identifier: MIT
// Waiting transactions of a moment: copies of blocks that wait for another pipeline.
#include "message/past/past_parts.h"

static bool transaction_past_stream(orri_env* env, const orri_stream* from, orri_stream* to)
{
    *to = (orri_stream){
        .type = from->type, .info = from->info, .verb = from->verb, .calls = from->calls};
    if (!ORRI_RESERVE(env, ORR_MEMORY_MESSAGE, &to->posts, &to->capacity, from->count) ||
        !ORRI_RESERVE(env, ORR_MEMORY_MESSAGE, &to->verbs, &to->verb_capacity, from->verb_count) ||
        !ORRI_RESERVE(env, ORR_MEMORY_MESSAGE, &to->runs, &to->run_capacity, from->run_count)) {
        return false;
    }
    if (from->count > 0) {
        memcpy(to->posts, from->posts, from->count * sizeof *to->posts);
        memcpy(to->verbs, from->verbs, from->verb_count * sizeof *to->verbs);
        memcpy(to->runs, from->runs, from->run_count * sizeof *to->runs);
    }
    to->count = from->count;
    to->verb_count = from->verb_count;
    to->run_count = from->run_count;
    return true;
}

static bool transaction_past_fill(orri_env* env, const struct orri_posts* from,
                                  struct orri_posts* to)
{
    to->rights = from->rights;
    to->command_buffers = from->command_buffers;
    to->ready = from->ready;
    if (!ORRI_RESERVE(env, ORR_MEMORY_MESSAGE, &to->streams, &to->stream_capacity,
                      from->stream_count) ||
        !ORRI_RESERVE(env, ORR_MEMORY_MESSAGE, &to->bytes, &to->byte_capacity, from->byte_count)) {
        return false;
    }
    for (uint32_t i = 0; i < from->stream_count; i++) {
        bool made = transaction_past_stream(env, &from->streams[i], &to->streams[i]);
        to->stream_made = to->stream_count = i + 1;
        if (!made) {
            return false;
        }
    }
    if (from->byte_count > 0) {
        memcpy(to->bytes, from->bytes, from->byte_count);
    }
    to->byte_count = from->byte_count;
    return true;
}

bool orri_posts_copy(orr_world* world, const struct orri_posts* from, bool whole,
                     struct orri_posts** out)
{
    struct orri_posts *first = NULL, **end = &first;
    for (; from != NULL; from = from->next) {
        if (!whole && from->rights->spectator) {
            continue;
        }
        *end = ORRI_ALLOC_ZERO(&world->env, ORR_MEMORY_MESSAGE, struct orri_posts, 1);
        if (*end == NULL || !transaction_past_fill(&world->env, from, *end)) {
            orri_posts_free(world, first);
            (void)orri_refuse_memory(&world->env, "recording waiting transactions");
            return false;
        }
        end = &(*end)->next;
    }
    *out = first;
    return true;
}

size_t orri_posts_bytes(const struct orri_posts* posts)
{
    size_t bytes = 0;
    for (; posts != NULL; posts = posts->next) {
        bytes += sizeof *posts + posts->stream_capacity * sizeof *posts->streams +
                 posts->byte_capacity;
        for (uint32_t i = 0; i < posts->stream_count; i++) {
            const orri_stream* stream = &posts->streams[i];
            bytes += stream->capacity * sizeof *stream->posts +
                     stream->verb_capacity * sizeof *stream->verbs +
                     stream->run_capacity * sizeof *stream->runs;
        }
    }
    return bytes;
}

// True when a set of command buffers still exists. Blocks of a destroyed set belong to the world
// (orri_posts_leave()).
static bool transaction_past_alive(const struct orri_command_buffers_shared* shared,
                                   const struct orri_command_buffers* command_buffers)
{
    const struct orri_command_buffers* other = shared->all;
    while (other != NULL && other != command_buffers) {
        other = other->next;
    }
    return other != NULL;
}

// Transactions of spectators stay, after the restored ones: they are for pipelines of spectators,
// and no past contains any of them.
void orri_posts_restore(orr_world* world, struct orri_posts* posts)
{
    struct orri_command_buffers* command_buffers = orri_command_buffers_at(world);
    if (command_buffers == NULL) {
        ORR_ASSERT(posts == NULL);
        return;
    }
    struct orri_command_buffers_shared* shared = command_buffers->shared;
    for (struct orri_posts *old = shared->posted, *next; old != NULL; old = next) {
        next = old->next;
        if (!old->rights->spectator) {
            orri_posts_done(command_buffers, old);
        }
    }
    struct orri_posts *rest = shared->posted, **end = &shared->posted;
    for (; posts != NULL; posts = posts->next) {
        posts->command_buffers =
            transaction_past_alive(shared, posts->command_buffers) ? posts->command_buffers : NULL;
        *end = shared->posted_last = posts;
        end = &posts->next;
        shared->posts_used++;
    }
    *end = rest;
    shared->posted_last = rest == NULL && shared->posted == NULL ? NULL : shared->posted_last;
    for (; rest != NULL; rest = rest->next) {
        shared->posted_last = rest;
    }
    shared->posts_peak = shared->posts_peak > shared->posts_used ? shared->posts_peak
                                                                 : shared->posts_used;
}
