/* event.c - the names of what a history is made of; see event.h. Never decides anything. */
#include "history/event.h"

#include "base/memory.h"
#include "base/names.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const events[EVENT_COUNT] = {
#define EVENT(id, name, fields) name,
#include "history/events.def"
#undef EVENT
};

static const char *const operations[OP_COUNT] = {
    [OP_ACQUIRE] = "acquire",
    [OP_RELEASE] = "release",
    [OP_EXTEND] = "extend",
    [OP_ACCESS] = "access",
};

enum { ANY = 1 << OP_ACQUIRE | 1 << OP_RELEASE | 1 << OP_EXTEND | 1 << OP_ACCESS };
static const struct {
    const char *name;
    enum outcome outcome;
    int ops; /* bit an operation that may end so */
} results[RESULT_COUNT] = {
    [RESULT_NONE] = {"none", OUTCOME_INFO, ANY},
    [RESULT_GRANTED] = {"granted", OUTCOME_OK, 1 << OP_ACQUIRE},
    [RESULT_REFUSED] = {"refused", OUTCOME_FAIL, 1 << OP_ACQUIRE},
    [RESULT_RELEASED] = {"released", OUTCOME_OK, 1 << OP_RELEASE},
    [RESULT_NOT_MINE] = {"not-mine", OUTCOME_FAIL, 1 << OP_RELEASE | 1 << OP_EXTEND},
    [RESULT_DONE] = {"done", OUTCOME_OK, 1 << OP_EXTEND | 1 << OP_ACCESS},
    [RESULT_STALE] = {"stale", OUTCOME_FAIL, 1 << OP_ACCESS},
    [RESULT_FAILED] = {"failed", OUTCOME_INFO, ANY},
    [RESULT_CANCELLED] = {"cancelled", OUTCOME_INFO, ANY},
    [RESULT_UNSUPPORTED] = {"unsupported", OUTCOME_FAIL, ANY},
    [RESULT_CRASHED] = {"crashed", OUTCOME_INFO, ANY},
};

static const char *const promises[PROMISE_BITS_WIDTH] = {
    [PROMISE_EXPIRY_PLACE] = "expiry", [PROMISE_NOTICE_PLACE] = "notice",
    [PROMISE_FENCE_PLACE] = "fence",   [PROMISE_EXTENDS_PLACE] = "extends",
    [PROMISE_TOKEN_PLACE] = "token",   [PROMISE_QUORUM_PLACE] = "quorum",
    [PROMISE_EXITS_PLACE] = "exits",   [PROMISE_LEASES_PLACE] = "leases",
};

bool head_is_simulated(const struct history_head *head)
{
    return strcmp(head->world, "sim") == 0;
}

bool head_has_all(const struct history_head *head)
{
    return head->has_all_commands || head_is_simulated(head);
}

bool head_is_directed(const struct history_head *head)
{
    return head->is_directed || head_is_simulated(head);
}

const char *promise_name(enum promise promise)
{
    for (int i = 0; i < PROMISE_BITS_WIDTH; i++)
        if ((unsigned)promise == 1u << i)
            return promises[i];
    assert(false && "not one promise");
    return NULL;
}

bool promise_read(const char *name, enum promise *promise)
{
    int row = NAMES_FIND(promises, name);
    if (row >= 0)
        *promise = (enum promise)(1 << row);
    return row >= 0;
}

void event_keep(struct event *event)
{
    if (event->opaque) {
        struct opaque *opaque = memory_new(1, sizeof *opaque);
        *opaque = *event->opaque;
        event->opaque = opaque;
    }
    if (event->effects) {
        struct effects *effects = memory_new(1, sizeof *effects);
        *effects = *event->effects;
        event->effects = effects;
    }
    if (event->token_text)
        event->token_text = memory_text(event->token_text);
}

void event_drop(struct event *event)
{
    free((void *)event->opaque);
    free((void *)event->effects);
    free((void *)event->token_text);
    event->opaque = NULL;
    event->effects = NULL;
    event->token_text = NULL;
}

const char *event_command(const struct event *event, char *text, size_t size)
{
    if (!event->opaque)
        return command_print(&event->command, text, size);
    snprintf(text, size, "%s", opaque_words(event->opaque));
    return text;
}

const char *event_command_name(const struct event *event)
{
    return event->opaque ? event->opaque->name : verb_name(event->command.verb);
}

bool event_is_same_command(const struct event *one, const struct event *two)
{
    if (one->opaque && two->opaque)
        return opaque_is_same(one->opaque, two->opaque);
    return !one->opaque && !two->opaque && one->command.verb == two->command.verb;
}

const char *event_name(enum event_kind kind)
{
    assert((unsigned)kind < EVENT_COUNT);
    return events[kind];
}

const char *operation_name(enum operation op)
{
    assert((unsigned)op < OP_COUNT);
    return operations[op];
}

const char *result_name(enum result result)
{
    assert((unsigned)result < RESULT_COUNT);
    return results[result].name;
}

enum outcome result_outcome(enum result result)
{
    assert((unsigned)result < RESULT_COUNT);
    return results[result].outcome;
}

bool result_is_of(enum result result, enum operation op)
{
    assert((unsigned)result < RESULT_COUNT && (unsigned)op < OP_COUNT);
    return results[result].ops >> op & 1;
}

bool event_read(const char *name, enum event_kind *kind)
{
    return names_read(NAMES_FIND(events, name), kind);
}

bool operation_read(const char *name, enum operation *op)
{
    return names_read(NAMES_FIND(operations, name), op);
}

bool result_read(const char *name, enum result *result)
{
    return names_read(NAMES_FIND_ROW(results, name), result);
}
