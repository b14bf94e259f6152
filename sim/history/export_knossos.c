/* export_knossos.c - EDN for Knossos: a map a line. A process that had no answer is retired, as
 * Jepsen does it: its client goes on as another process. */
#include "history/export.h"

#include <inttypes.h>

static void put(struct export *export, const struct event *event, const char *type)
{
    static const char *const functions[OP_COUNT] = {
        [OP_ACQUIRE] = "acquire", [OP_RELEASE] = "release", [OP_EXTEND] = "renew"};
    const struct export_client *client = &export->clients[event->client];
    if (event->op == OP_ACCESS)
        return; /* what the lock guards is not the lock */
    fprintf(export->out, "{:index %" PRId64 ", :time %" PRId64 ", :process %" PRId64,
            export->written++, event->time_us * 1000,
            event->client + client->retired * export->head->clients);
    fprintf(export->out, ", :type :%s, :f :%s, :value ", type, functions[event->op]);
    if (export->head->locks > 1)
        fprintf(export->out, "[%d ", event->lock);
    if (event->kind == EVENT_RETURN && (event->has_fence || event->fence))
        fprintf(export->out, "%" PRId64, event->fence);
    else
        fputs("nil", export->out);
    if (export->head->locks > 1)
        fputs("]", export->out);
    /* A failure, but no refusal: jepsen_op.c. */
    if (event->kind == EVENT_RETURN && event->result == RESULT_UNSUPPORTED)
        fputs(", :error :unsupported", export->out);
    fputs("}\n", export->out);
}

static void call(struct export *export, const struct event *event)
{
    put(export, event, "invoke");
}

static void answer(struct export *export, const struct event *event)
{
    static const char *const types[] = {
        [OUTCOME_OK] = "ok", [OUTCOME_FAIL] = "fail", [OUTCOME_INFO] = "info"};
    put(export, event, types[result_outcome(event->result)]);
}

/* Nothing is written; the client must go on as another process all the same. */
static void open_left(struct export *export, int client)
{
    (void)export;
    (void)client;
}

const struct export_rules export_knossos = {
    .name = "knossos", .call = call, .answer = answer, .open = open_left};
