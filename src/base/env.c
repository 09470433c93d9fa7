// SPDX-License-Identifier: MIT
// Initialises an env, and implements refusing: the one way in which a call reports an error with a
// text.
#include "base/env.h"
#include "base/util.h"

static void env_log_init(orri_env* env, const orr_log_desc* log)
{
    static const orr_log_desc none = {0};
    log = log != NULL ? log : &none;
    orr_log_level level = log->level == ORR_LOG_DEFAULT ? ORR_LOG_INFO : log->level;
    for (uint32_t i = 0; i < ORR_LOG_CATEGORY_COUNT; i++) {
        env->levels[i] = level;
    }
    env->lines_per_second = log->lines_per_second != 0 ? log->lines_per_second : 16;
    env->sink = log->sink != NULL ? log->sink : orri_log_sink_stderr;
    env->sink_user = log->user;
}

void orri_env_init(orri_env* env, const orr_platform* platform, const orr_allocator* allocator,
                   uint64_t bytes_max, const orr_log_desc* log)
{
    memset(env, 0, sizeof *env);
    env->platform = platform != NULL ? platform : orr_platform_default();
    if (allocator != NULL && allocator->alloc != NULL) {
        ORR_ASSERT(allocator->free != NULL);
        env->allocator = *allocator;
    } else {
        ORR_ASSERT(allocator == NULL || allocator->free == NULL);
        env->allocator = (orr_allocator){env->platform->memory_alloc, env->platform->memory_free,
                                         env->platform->user};
    }
    static const char unknown = 0;
    env->single_threaded = env->platform->single_threaded != NULL ? env->platform->single_threaded
                                                                  : &unknown;
    env->bytes_max = bytes_max;
    env_log_init(env, log);
}

_Thread_local orr_result orri_refused_last;
_Thread_local orri_refusal_redirect orri_redirect_here;

bool orri_refusing_here(const orri_env* env)
{
    // The address of a thread-local variable identifies the thread.
    const void* thread = &orri_refused_last;
    return atomic_load_explicit(&env->refusing_thread, memory_order_relaxed) == thread;
}

// Passes a refusal to the handler of this thread, else to the owner's, else to the log. Refusals of
// several threads are handled one after the other; a handler may itself make a call that is
// refused.
static void env_report(orri_env* env, orr_result result, orr_log_id id, const char* text)
{
    bool nested = orri_refusing_here(env);
    if (!nested) {
        orri_mutex_lock(env->platform, &env->refusing);
        atomic_store_explicit(&env->refusing_thread, &orri_refused_last, memory_order_relaxed);
    }
    if (ORR_UNLIKELY(orri_redirect_here.env == env)) {
        orri_redirect_here.handle(orri_redirect_here.owner, result, id, text);
    } else if (env->on_refusal != NULL) {
        env->on_refusal(env->on_refusal_owner, result, id, text);
    } else {
        orri_log(env, id, "%s", text);
    }
    // Stored after the handler, because the handler may have made a call that was refused itself.
    memcpy(env->error_text, text, strlen(text) + 1);
    if (!nested) {
        atomic_store_explicit(&env->refusing_thread, NULL, memory_order_relaxed);
        orri_mutex_unlock(env->platform, &env->refusing);
    }
}

static void env_format(char out[ORRI_ERROR_SIZE], const char* format, va_list args)
    ORR_PRINTF(2, 0);
static void env_format(char out[ORRI_ERROR_SIZE], const char* format, va_list args)
{
    orri_text text = {out, ORRI_ERROR_SIZE, 0};
    orri_text_add_v(&text, format, args);
    orri_text_cut(&text);
}

orr_result orri_refuse(orri_env* env, orr_result result, orr_log_id id, const char* format, ...)
{
    // Not formatted into error_text directly: the arguments may point into it.
    char buffer[ORRI_ERROR_SIZE];
    va_list args;
    va_start(args, format);
    env_format(buffer, format, args);
    va_end(args);
    env_report(env, result, id, buffer);
    orri_refused_last = result;
    return result;
}

void orri_error_text_set(orri_env* env, const char* format, ...)
{
    char buffer[ORRI_ERROR_SIZE];
    va_list args;
    va_start(args, format);
    env_format(buffer, format, args);
    va_end(args);
    orri_mutex_lock(env->platform, &env->refusing);
    memcpy(env->error_text, buffer, strlen(buffer) + 1);
    orri_mutex_unlock(env->platform, &env->refusing);
}

orr_result orri_refuse_at(orri_env* env, orr_result result, orr_log_id id, const char* call,
                          const char* text, const char* at, const char* format, va_list args)
{
    char buffer[ORRI_ERROR_SIZE];
    // The message leaves room for the two lines that point at the place.
    orri_text out = {buffer, sizeof buffer - ORRI_POINT_SIZE, 0};
    orri_text_add(&out, "%s: ", call);
    orri_text_add_v(&out, format, args);
    orri_text_cut(&out);
    out.size = sizeof buffer;
    orri_text_point(&out, text, (size_t)(at - text));
    return orri_refuse(env, result, id, "%s", buffer);
}

orr_result orri_refuse_memory(orri_env* env, const char* doing)
{
    unsigned long long held = atomic_load(&env->total.bytes), most = env->bytes_max;
    if (most != 0) {
        return orri_refuse(env, ORR_ERR_MEMORY, ORR_LOG_ID_MEMORY_REFUSED,
                           "out of memory while %s; %llu of at most %llu bytes are in use "
                           "(memory_bytes_max)",
                           doing, held, most);
    }
    return orri_refuse(env, ORR_ERR_MEMORY, ORR_LOG_ID_MEMORY_REFUSED,
                       "out of memory while %s; %llu bytes are in use and the allocator returned "
                       "NULL",
                       doing, held);
}
