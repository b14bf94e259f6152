/* reader_calls.c - does a call, or a return, of a log file fit what was called before? See
 * reader.h.
 */
#include "history/reader.h"

#include <stdio.h>
#include <string.h>

static enum fail check_result(struct history_reader *reader, const struct event *event,
                              struct failure *failure)
{
    char list[160] = "";
    if (result_is_of(event->result, event->op))
        return FAIL_NONE;
    for (int i = 0; i < RESULT_COUNT; i++)
        if (result_is_of((enum result)i, event->op))
            (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                           *list ? ", " : "", result_name((enum result)i));
    reader_at(reader, "result");
    return reader_refuses(reader, failure, "'%s' never ends in '%s': it knows %s",
                          operation_name(event->op), result_name(event->result), list);
}

/* A call stands once: an attempt is begun once, and no operation of it goes on twice at a time. */
enum fail reader_calls_check(struct history_reader *reader, const struct event *event,
                             struct failure *failure)
{
    if (event->client < 0 || (event->kind != EVENT_CALL && event->kind != EVENT_RETURN))
        return FAIL_NONE;
    struct client_calls *calls = &reader->calls[event->client];
    const unsigned bit = 1u << event->op;
    const bool is_same = calls->attempt == event->attempt;
    if (event->kind == EVENT_RETURN) {
        calls->open &= is_same ? ~bit : ~0u;
        return check_result(reader, event, failure);
    }
    if (is_same && (event->op == OP_ACQUIRE || calls->open & bit)) {
        reader_at(reader, "attempt");
        return reader_refuses(reader, failure,
                              "the call of '%s' in attempt %d stands above already",
                              operation_name(event->op), event->attempt);
    }
    calls->open = (is_same ? calls->open : 0) | bit;
    calls->attempt = event->attempt;
    return FAIL_NONE;
}
