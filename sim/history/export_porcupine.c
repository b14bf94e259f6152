/* export_porcupine.c - JSON for Porcupine: operations with their call and return (ns). A lease is
 * an operation of its own, "expire", which may come from the earliest end of the lease on, and has
 * an effect where that attempt still has the lock and was not renewed since: a renewal without an
 * answer may never have been one, so each has a number of its own. */
#include "history/export.h"

#include <inttypes.h>

static void begin(struct export *export)
{
    fprintf(export->out,
            "{\"schema\": \"picklock.porcupine/2\", \"clients\": %d, \"locks\": %d, "
            "\"lease\": %" PRId64 ", \"operations\": [",
            export->head->clients, export->head->locks, export->head->lease_us * 1000);
}

/* result: RESULT_NONE: not known. Where anybody may release, it is the attempt of whoever has it.
 */
static void put(struct export *export, int client, const char *op, int64_t renewal, int64_t call_ns,
                enum result result)
{
    const struct export_client *who = &export->clients[client];
    const bool is_anybodys =
        export->head->anybody_releases && who->op != OP_ACQUIRE && result != RESULT_NOT_MINE;
    const int64_t clients = export->head->clients;
    fprintf(export->out,
            "%s\n{\"client\": %d, \"lock\": %d, \"attempt\": ", export->written++ ? "," : "",
            client, who->lock);
    if (is_anybodys)
        fputs("null", export->out);
    else
        fprintf(export->out, "%" PRId64, who->attempt * clients + client);
    fprintf(export->out,
            ", \"renewal\": %" PRId64 ", \"op\": \"%s\", \"call\": %" PRId64 ", \"return\": ",
            renewal, op, call_ns);
    if (result == RESULT_NONE)
        fputs("null, \"result\": null}", export->out);
    else
        fprintf(export->out, "%" PRId64 ", \"result\": \"%s\"}", export_stamp_ns(export),
                result_name(result));
}

/* When it was called. What ends in the microsecond in which a refusal or a renewal was asked for
 * may have come first, but for what its own client did. */
static int64_t calls_ns(const struct export_client *who, enum result result)
{
    const bool is_exact = result_outcome(result) != OUTCOME_FAIL && who->op != OP_EXTEND;
    const int64_t first_ns = who->call_us * 1000, next_ns = who->return_ns + 1;
    if (is_exact || next_ns >= who->call_ns)
        return who->call_ns;
    return next_ns > first_ns ? next_ns : first_ns;
}

/* result: RESULT_NONE: not known. From then on what it got may end by itself. */
static void put_operation(struct export *export, int client, enum result result)
{
    const struct export_client *who = &export->clients[client];
    const int64_t renewal = who->op == OP_EXTEND ? who->renewals : 0;
    const bool may_begin = result == RESULT_NONE || result_outcome(result) == OUTCOME_OK;
    if (who->op == OP_ACCESS)
        return;
    put(export, client, operation_name(who->op), renewal, calls_ns(who, result), result);
    if (export->head->lease_us && may_begin && who->op != OP_RELEASE)
        put(export, client, "expire", renewal, (who->call_us + export->head->lease_us) * 1000,
            RESULT_NONE);
}

/* Nobody knows whether it took effect. An acquire that did may have given the lock back at any time
 * since its call. */
static void open_left(struct export *export, int client)
{
    put_operation(export, client, RESULT_NONE);
    if (export->clients[client].op == OP_ACQUIRE)
        put(export, client, "release", 0, export->clients[client].call_ns, RESULT_NONE);
}

/* Who is refused a lease or more after its call may have refused what it was granted too late. */
static void answer(struct export *export, const struct event *event)
{
    const int64_t lease_us = export->head->lease_us - export->head->clock_error_us;
    const int64_t took_us = event->time_us - export->clients[event->client].call_us;
    const bool is_too_late =
        event->result == RESULT_REFUSED && export->head->lease_us && took_us >= lease_us;
    if (result_outcome(event->result) == OUTCOME_INFO || is_too_late)
        open_left(export, event->client);
    else if (event->result != RESULT_UNSUPPORTED)
        put_operation(export, event->client, event->result);
}

static void end(struct export *export)
{
    fputs("\n]}\n", export->out);
}

const struct export_rules export_porcupine = {
    .name = "porcupine", .begin = begin, .answer = answer, .open = open_left, .end = end};
