// SPDX-License-Identifier: MIT
#include "message/command_kit.h"
#include "test.h"

void sender_begin(sender* s, orr_world* world, const char* name, uint32_t number)
{
    memset(s, 0, sizeof *s);
    s->world = world;
    s->rights = (orri_rights){.name = name,
                              .system = {number, 1},
                              .type_words = SENDER_WORDS,
                              .creates = s->creates,
                              .adds = s->adds,
                              .removes = s->removes,
                              .changes = s->changes,
                              .switches = s->switches,
                              .sends = s->sends};
}

void sender_begin_free(sender* s, orr_world* world, const char* name, uint32_t number)
{
    sender_begin(s, world, name, number);
    memset(s->creates, 0xFF, sizeof s->creates);
    memset(s->adds, 0xFF, sizeof s->adds);
    memset(s->removes, 0xFF, sizeof s->removes);
    memset(s->changes, 0xFF, sizeof s->changes);
    memset(s->switches, 0xFF, sizeof s->switches);
    memset(s->sends, 0xFF, sizeof s->sends);
    s->rights.may_create = s->rights.may_destroy_any = s->rights.may_switch_entities = true;
    s->rights.may_tag_any = s->rights.may_rename = true;
}

void sender_may(sender* s, uint64_t* bits, orr_type type)
{
    orri_bit_set(bits, orri_type_index(s->world, type), true);
}

static orr_run* sender_run(sender* s, uint32_t creates_max, uint32_t ids)
{
    s->rights.creates_max = creates_max;
    s->run = (orr_run){.world = s->world,
                       .commands = orri_command_buffer_open(s->world, &s->rights, ids)};
    CHECK(s->run.commands != NULL);
    return &s->run;
}

orr_run* sender_open(sender* s, uint32_t creates_max)
{
    return sender_run(s, creates_max, creates_max);
}

orr_run* sender_open_unlimited(sender* s, uint32_t ids)
{
    return sender_run(s, 0, ids);
}

void sender_close(sender* s)
{
    orri_command_buffer_close(s->world, s->run.commands);
}

orr_result sender_end(sender* s)
{
    bool changed;
    return orri_commit_values(s->world, &s->rights, &changed);
}

void sender_commit(sender* s)
{
    sender_close(s);
    CHECK_OK(sender_end(s));
    CHECK_OK(orri_commit(s->world));
    CHECK(!orri_commit_pending(s->world));
}

void command_log_sink(void* user, const orr_log_line* line)
{
    command_log* log = user;
    if (log->count < ORRI_COUNT(log->ids)) {
        log->ids[log->count] = line->id;
    }
    if (log->count < ORRI_COUNT(log->texts)) {
        snprintf(log->texts[log->count], sizeof log->texts[0], "%s", line->text);
    }
    log->count++;
}

uint32_t command_log_count(const command_log* log, orr_log_id id)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < log->count && i < ORRI_COUNT(log->ids); i++) {
        count += log->ids[i] == id;
    }
    return count;
}

const char* command_log_text(const command_log* log, orr_log_id id)
{
    for (uint32_t i = 0; i < log->count && i < ORRI_COUNT(log->texts); i++) {
        if (log->ids[i] == id) {
            return log->texts[i];
        }
    }
    return "";
}

orr_world* command_kit_begin(command_kit* k, const orr_world_desc* desc)
{
    orr_world_desc full = desc != NULL ? *desc : (orr_world_desc){0};
    full.log.sink = command_log_sink;
    full.log.user = &k->log;
    full.log.level = ORR_LOG_INFO;
    full.log.lines_per_second = 1000000;
    orr_world* world = kit_begin(&k->k, &full);
    k->world = world;
    k->position = KIT_TYPE(world, Position);
    k->velocity = KIT_TYPE(world, Velocity);
    k->health = KIT_TYPE(world, Health);
    k->padded = KIT_TYPE(world, Padded);
    k->tiny = KIT_TYPE(world, Tiny);
    k->label = KIT_TYPE(world, Label);
    k->link = KIT_TYPE(world, Link);
    k->token = KIT_TYPE(world, Token);
    k->frozen = KIT_TYPE(world, Frozen);
    k->collider = KIT_TYPE(world, Collider);
    k->anchor = KIT_TYPE(world, Anchor);
    k->count = KIT_TYPE(world, Count);
    k->owner = KIT_TYPE(world, Owner);
    return world;
}

void command_kit_end(command_kit* k)
{
    kit_end(&k->k);
}
