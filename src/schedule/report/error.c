// SPDX-License-Identifier: MIT
// Failures that functions of the program report. They are refusals like those of calls, so they are
// logged, counted and returned in the same way (orri_refusal_note()).
#include "schedule/schedule.h"
#include <stdarg.h>
#include <stdio.h>

// The function that runs on this thread, for the text.
static void error_subject(const orr_world* world, orri_text* out)
{
    const orri_access* access = orri_access_of(world);
    const orri_system* system = orri_system_here(world);
    if (access != NULL && access->posted) {
        orri_text_add(out, "a transaction of system '%s' failed: ", access->system);
    } else if (system != NULL) {
        orri_text_add(out, "system '%s' failed: ", system->desc.name);
    } else if (world->schedule != NULL && orri_call_here(world)) {
        orri_text_add(out, "a posted call failed: ");
    }
}

orr_result orr_error_report(const orr_world* world, const char* format, ...)
{
    ORR_ASSERT(world != NULL && format != NULL);
    char words[ORRI_ERROR_SIZE] = "";
    orri_text text = {words, sizeof words, 0};
    error_subject(world, &text);
    size_t used = text.length < sizeof words ? text.length : sizeof words - 1;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(words + used, sizeof words - used, format, args);
    va_end(args);
    return orri_refuse(orri_env_of(world), ORR_ERR_FAILED, ORR_LOG_ID_FAILURE_REPORTED, "%s",
                       words);
}
