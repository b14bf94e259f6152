/* export_knossos.c - EDN for Knossos: a map a line. Processes of a Jepsen test keep their numbers.
 * A client of ours is a thread at each lock, since it may ask for several at once. One that had no
 * answer goes on as another process, as Jepsen's threads do it: as its number plus a multiple of
 * the number of threads. */
#include "history/export.h"

#include <inttypes.h>

static const char *const functions[OP_COUNT] = {
    [OP_ACQUIRE] = "acquire", [OP_RELEASE] = "release", [OP_EXTEND] = "renew"};

/* What the lock guards is not the lock. answer: NULL: to none. */
static void put(struct export *export, int client, enum operation op, int lock, const char *type,
                const struct event *answer)
{
    const int64_t threads = (int64_t) export->head->clients * export->head->locks;
    const int64_t thread = client + (int64_t)lock * export->head->clients;
    const int64_t number = thread + export->clients[client].retired * threads;
    if (op == OP_ACCESS)
        return;
    fprintf(export->out, "{:index %" PRId64 ", :time %" PRId64 ", :process %" PRId64,
            export->written++, export->last_us * 1000,
            export->process < 0 ? number : export->process);
    fprintf(export->out, ", :type :%s, :f :%s, :value ", type, functions[op]);
    if (export->head->locks > 1)
        fprintf(export->out, "[%d ", lock);
    if (answer && (answer->has_fence || answer->fence))
        fprintf(export->out, "%" PRId64, answer->fence);
    else
        fputs("nil", export->out);
    if (export->head->locks > 1)
        fputs("]", export->out);
    /* A failure, but no refusal: jepsen_op.c. */
    if (answer && answer->result == RESULT_UNSUPPORTED)
        fputs(", :error :unsupported", export->out);
    fputs("}\n", export->out);
}

static void call(struct export *export, const struct event *event)
{
    put(export, event->client, event->op, event->lock, "invoke", NULL);
}

static void answer(struct export *export, const struct event *event)
{
    static const char *const types[] = {
        [OUTCOME_OK] = "ok", [OUTCOME_FAIL] = "fail", [OUTCOME_INFO] = "info"};
    put(export, event->client, event->op, event->lock, types[result_outcome(event->result)], event);
}

/* A client of ours goes on, or the history ends; an operation of Jepsen's may stay open. */
static void open_left(struct export *export, int client)
{
    const struct export_client *who = &export->clients[client];
    if (who->is_open && export->process < 0)
        put(export, client, who->op, who->lock, "info", NULL);
}

const struct export_rules export_knossos = {
    .name = "knossos", .call = call, .answer = answer, .open = open_left};
