/* export_porcupine.c - JSON for Porcupine: operations with their call and return (ns). A lease is
 * an operation of its own, "expire", which may come from the earliest end of the lease on, and has
 * an effect where that attempt still has the lock and was not renewed since. */
#include "history/export.h"

#include <inttypes.h>

static void begin(struct export *export)
{
    fprintf(export->out,
            "{\"schema\": \"picklock.porcupine/1\", \"clients\": %d, \"locks\": %d, "
            "\"lease\": %" PRId64 ", \"operations\": [",
            export->head->clients, export->head->locks, export->head->lease_us * 1000);
}

static void put(struct export *export, int client, const char *op, int64_t call_us,
                int64_t return_us, const char *result)
{
    const struct export_client *who = &export->clients[client];
    fprintf(export->out,
            "%s\n{\"client\": %d, \"lock\": %d, \"attempt\": %" PRId64 ", \"renewal\": %" PRId64
            ", \"op\": \"%s\", \"call\": %" PRId64 ", \"return\": ",
            export->written++ ? "," : "", client, who->lock, who->number, who->renewals, op,
            call_us * 1000);
    if (return_us < 0)
        fputs("null", export->out);
    else
        fprintf(export->out, "%" PRId64, return_us * 1000);
    if (result)
        fprintf(export->out, ", \"result\": \"%s\"}", result);
    else
        fputs(", \"result\": null}", export->out);
}

/* From then on what it got may end by itself. */
static void put_expiry(struct export *export, int client, enum operation op)
{
    const struct export_client *who = &export->clients[client];
    if (export->head->lease_us && (op == OP_ACQUIRE || op == OP_EXTEND))
        put(export, client, "expire", who->call_us + export->head->lease_us, -1, NULL);
}

static void answer(struct export *export, const struct event *event)
{
    struct export_client *who = &export->clients[event->client];
    enum outcome outcome = result_outcome(event->result);
    if (event->op == OP_ACCESS || event->result == RESULT_UNSUPPORTED)
        return;
    put(export, event->client, operation_name(event->op), who->call_us,
        outcome == OUTCOME_INFO ? -1 : event->time_us,
        outcome == OUTCOME_INFO ? NULL : result_name(event->result));
    if (outcome == OUTCOME_FAIL)
        return;
    who->renewals += event->op == OP_EXTEND;
    put_expiry(export, event->client, event->op);
    who->renewals -= event->op == OP_EXTEND;
}

static void open_left(struct export *export, int client)
{
    const struct export_client *who = &export->clients[client];
    if (!who->is_open || who->op == OP_ACCESS)
        return;
    put(export, client, operation_name(who->op), who->call_us, -1, NULL);
    put_expiry(export, client, who->op);
}

static void end(struct export *export)
{
    fputs("\n]}\n", export->out);
}

const struct export_rules export_porcupine = {
    .name = "porcupine", .begin = begin, .answer = answer, .open = open_left, .end = end};
