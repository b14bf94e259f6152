/* begin.c - servers and workers begin. See session.h. */
#include "live/processor.h"
#include "worker/session_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of real time: who computes for longer while it begins is not waited for. */
enum { BEGIN_MS = 2000 };

/* What was on its way to, and from, the process before it, is not waited for. */
static struct slack slack_of_new(const struct session *session, int client)
{
    struct slack slack = {0};
    for (int i = 0; i < session->options.servers; i++) {
        const struct proxy_traffic traffic = proxy_traffic(session->listeners[client][i].proxy);
        slack.sent -= traffic.read;
        slack.received += traffic.written;
        slack.connections -= traffic.links;
    }
    return slack;
}

enum fail session_start_worker(struct session *session, int client, struct failure *failure)
{
    struct worker_slot *slot = &session->clients[client];
    const struct session_options *options = &session->options;
    char folder[PROCESS_PATH_MAX];
    struct worker_options wanted = {
        .command = options->command,
        .shim = session->shim,
        .folder = folder,
        .helpers = session->helpers,
        .settings = {.key = options->key,
                     .client = client,
                     .name = options->names[client],
                     .ttl_us = options->lease_us,
                     .work_us = options->work_us,
                     .servers = options->servers},
        .seed = options->seed * SESSION_CLIENTS_MAX + (uint64_t)client,
        .now_us = session_page_us(session),
        .loop = &session->loop,
        .events = &session->worker_events,
    };
    worker_free(slot->worker);
    free(slot->pending);
    *slot =
        (struct worker_slot){.session = session, .number = client, .beginning = slot->beginning};
    for (int i = 0; i < options->servers; i++) {
        if (!session->listeners[client][i].proxy && listener_open(session, client, i, failure))
            return failure->code;
        wanted.settings.ports[i] = proxy_port(session->listeners[client][i].proxy);
    }
    slot->slack = slack_of_new(session, client);
    (void)snprintf(folder, sizeof folder, "%s/worker-%d", session->servers.folder.path,
                   session->workers_started++);
    if (mkdir(folder, 0700) != 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", folder, strerror(errno));
    return worker_new(&slot->worker, &wanted, failure);
}

static enum fail not_ready(struct session *session, int client, enum worker_op op,
                           struct failure *failure)
{
    const struct worker *worker = session->clients[client].worker;
    const char *words = worker_last_words(worker);
    if (session_next_us(session, client) != TIME_NEVER)
        return failure_set(failure, FAIL_UNKNOWN,
                           "worker %s does not answer %s: it sleeps, and while it begins, or is "
                           "reset, a worker may sleep for %d s in all",
                           session->options.names[client], worker_op_name(op),
                           SESSION_BEGIN_US / 1000000);
    return failure_set(failure, FAIL_UNKNOWN,
                       "worker %s does not answer %s: it waits, and nothing that it waits for will "
                       "come%s%s%s",
                       session->options.names[client], worker_op_name(op),
                       words[0] ? "; its last words: \"" : "", words, words[0] ? "\"" : "");
}

/* What it does while it begins goes on at once: what it sends, and its timers. False: nothing is
 * left that could. */
static bool let_go(struct session *session, enum fail *fail, struct failure *failure)
{
    struct wire_message *first = session->first;
    while (first && first->transit == TRANSIT_WAITING)
        first = first->next;
    const int64_t next_us = session_next_us(session, -1);
    if (!first && next_us > -SESSION_PROOF_US * (int64_t)session->options.clients)
        return false;
    if (!first)
        *fail = session_set_now(session, next_us, failure);
    else if (first->transit == TRANSIT_REQUEST)
        *fail = session_execute(session, first, failure);
    else
        *fail = session_deliver(session, first, failure);
    if (!*fail)
        *fail = session_serve_all(session, failure);
    return !*fail;
}

/* So that the first request comes at the same point each time: one thread at a time runs there, and
 * all else is the same. */
static void let_begin(struct timekeeper *timekeeper)
{
    if (atomic_load(&timekeeper->page->is_answered))
        (void)timekeeper_wait_for_rest(timekeeper, BEGIN_MS);
}

enum fail session_make_ready(struct session *session, int client, enum worker_op op,
                             struct failure *failure)
{
    const struct worker_slot *slot = &session->clients[client];
    if (op == WORKER_INIT)
        let_begin(worker_time(slot->worker));
    const struct worker_settings *settings = worker_settings(slot->worker);
    enum fail fail = session_ask(session, client,
                                 (struct worker_request){.op = op, .settings = settings}, failure);
    while (!fail && slot->asked_id && (!session->first || !session->first->is_gone) &&
           let_go(session, &fail, failure))
        ;
    if (!fail && slot->asked_id)
        fail = not_ready(session, client, op, failure);
    return fail;
}

static enum fail init_worker(struct session *session, int client, struct failure *failure)
{
    const struct worker_slot *slot = &session->clients[client];
    if (session_make_ready(session, client, WORKER_INIT, failure))
        return failure->code;
    (void)snprintf(session->library, sizeof session->library, "%s", slot->answer.library);
    return session_prove_time(session, client, failure);
}

enum fail session_begin(struct session *session, struct failure *failure)
{
    const struct live_options live = {.redis_server = session->options.redis_server,
                                      .steering = STEERED};
    if (servers_open(&session->servers, &live, "", &session->loop, &session->tick, failure) ||
        servers_prepare(&session->servers, session->options.servers, session->options.has_replica,
                        failure) ||
        helpers_link_shim(session, failure))
        return failure->code;
    (void)snprintf(session->helpers, sizeof session->helpers, "%s/helpers",
                   session->servers.folder.path);
    if (helpers_write(session->helpers, failure))
        return failure->code;
    session->now_us = -session_lead_us(session);
    for (int i = 0; i < session->options.clients; i++)
        if (session_start_worker(session, i, failure))
            return failure->code;
    return FAIL_NONE;
}

void session_share_processor(struct session *session)
{
    if (!session->shares_processor)
        processor_join();
    session->shares_processor = true;
    for (int i = 0; i < session->options.servers; i++)
        processor_take(session->servers.rows[i].process.pid);
    for (int i = 0; i < session->options.clients; i++)
        if (!worker_has_ended(session->clients[i].worker))
            processor_take(worker_pid(session->clients[i].worker));
}

enum fail session_finish(struct session *session, struct failure *failure)
{
    for (int i = 0; i < session->options.clients; i++)
        if (init_worker(session, i, failure))
            return failure->code;
    if (session_set_now(session, 0, failure))
        return failure->code;
    session_note_beginnings(session);
    session_share_processor(session);
    return FAIL_NONE;
}
