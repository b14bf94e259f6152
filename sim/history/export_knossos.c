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

/* It may have given the lock back, or not, at any time from now on: another process, that ends so.
 */
static void leave_open(struct export *export, int client)
{
    struct export_client *who = &export->clients[client];
    put(export, client, OP_RELEASE, who->lock, "invoke", NULL);
    put(export, client, OP_RELEASE, who->lock, "info", NULL);
    who->retired++;
}

/* What is of another attempt than the one that has the lock is none of that process's: left open.
 * So is a grant of what its client has, or may have: there it would be one to two; and "not mine"
 * to who may have the lock by an acquire without an answer, which was another process's. */
static void answer(struct export *export, const struct event *event)
{
    static const char *const types[] = {
        [OUTCOME_OK] = "ok", [OUTCOME_FAIL] = "fail", [OUTCOME_INFO] = "info"};
    struct export_client *who = &export->clients[event->client];
    const bool is_ours = export->process < 0;
    const bool is_again = (who->is_holding || who->may_stay) && event->op == OP_ACQUIRE &&
                          event->result == RESULT_GRANTED;
    const bool is_former = who->may_come && event->result == RESULT_NOT_MINE;
    if (is_ours && (is_again || is_former ||
                    (result_outcome(event->result) != OUTCOME_INFO && export_is_of_another(who)))) {
        put(export, event->client, event->op, event->lock, "info", NULL);
        export_retire(who);
        return;
    }
    put(export, event->client, event->op, event->lock, types[result_outcome(event->result)], event);
    if (is_ours && event->op == OP_ACQUIRE && event->result == RESULT_CANCELLED) {
        who->retired++;
        leave_open(export, event->client);
        who->retired--; /* as after each that has no answer */
    }
}

/* A client of ours goes on, or the history ends; an operation of Jepsen's may stay open. */
static void open_left(struct export *export, int client)
{
    const struct export_client *who = &export->clients[client];
    if (export->process < 0)
        put(export, client, who->op, who->lock, "info", NULL);
}

/* Who has ended believes nothing any more; his lock may stay. */
static void gone(struct export *export, int client, const struct event *event)
{
    (void)event;
    if (export->clients[client].is_holding && export->process < 0)
        leave_open(export, client);
}

const struct export_rules export_knossos = {
    .name = "knossos", .call = call, .answer = answer, .open = open_left, .gone = gone};
