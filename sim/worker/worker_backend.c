/* worker_backend.c - what carries out the choices of a world of workers. See worker_world.h; the
 * contract is world/backend.h.
 *
 * A request is held at its worker's proxy before the core knows of it: send() claims it. A copy, or
 * one that its client has given up, travels by itself, on a connection of its own. What a critical
 * section asks for is a request of ours: nobody holds it, and it is asked over our own connection.
 */
#include "worker/worker_world.h"
#include "worker/world_state.h"

#include "live/control.h"
#include "live/servers.h"

#include <string.h>

static struct workers *workers_of(const struct backend *backend)
{
    const struct backend_face *face = (const struct backend_face *)backend;
    return face->workers;
}

static struct wire_message **message_of(struct workers *workers, const struct message *message)
{
    return &workers->messages[message->client][message->number];
}

enum fail worker_can(enum choice_kind kind, struct failure *failure)
{
    switch (kind) {
    case CHOICE_LEASE:
        return failure_set(failure, FAIL_NOT_APPLICABLE, "all workers are given the same lease");
    case CHOICE_RESEND:
        return failure_set(
            failure, FAIL_NOT_APPLICABLE,
            "whether a lost command is sent again is for the worker's own library to say");
    case CHOICE_PAUSE_WRITES:
        return failure_set(failure, FAIL_NOT_APPLICABLE,
                           "which commands of a worker may write is for its server to say");
    default:
        return FAIL_NONE;
    }
}

static enum fail backend_can(const struct backend *backend, enum choice_kind kind,
                             struct failure *failure)
{
    const unsigned promises = session_promises(workers_of(backend)->session);
    if (kind == CHOICE_EXTEND && !(promises >> WORKER_PROMISES_EXTENDS & 1))
        return failure_set(failure, FAIL_NOT_APPLICABLE,
                           "the worker does not promise that it extends");
    if (kind == CHOICE_CANCEL && !(promises >> WORKER_PROMISES_CANCELS & 1))
        return failure_set(failure, FAIL_NOT_APPLICABLE,
                           "the worker does not promise that its acquire can be cancelled");
    return worker_can(kind, failure);
}

/* --- time --- */

static int64_t backend_now_us(const struct backend *backend, int64_t now_us)
{
    (void)backend;
    return now_us;
}

static void backend_begin(struct backend *backend, int64_t now_us)
{
    session_let_pass(workers_of(backend)->session, now_us);
}

static enum fail backend_pass_time(struct backend *backend, int64_t amount_us,
                                   struct failure *failure)
{
    struct session *session = workers_of(backend)->session;
    (void)failure;
    session_let_pass(session, session_now_us(session) + amount_us);
    return FAIL_NONE;
}

/* --- messages --- */

/* The oldest that the core has been told of, and has not claimed. */
static struct wire_message *find_offered(struct workers *workers, const struct message *message)
{
    for (struct wire_message *at = session_messages(workers->session); at; at = at->next)
        if (at->client == message->client && at->server == message->server && at->is_offered &&
            !at->is_claimed)
            return at;
    return NULL;
}

/* The message that this one is a copy of. */
static const struct wire_message *find_original(struct workers *workers,
                                                const struct message *message)
{
    for (int i = 0; i < MESSAGES_MAX; i++) {
        const struct wire_message *at = workers->messages[message->client][i];
        if (i != message->number && at && at->server == message->server &&
            strcmp(at->name, message->opaque.name) == 0)
            return at;
    }
    return NULL;
}

static enum fail backend_send(struct backend *backend, const struct message *message,
                              struct failure *failure)
{
    struct workers *workers = workers_of(backend);
    if (message->op == OP_ACCESS)
        return FAIL_NONE;
    struct wire_message *found = message->is_abandoned ? NULL : find_offered(workers, message);
    if (!found) {
        const struct wire_message *original = find_original(workers, message);
        if (!original)
            return failure_set(failure, FAIL_INTERNAL, "there is no %s to be sent",
                               message->opaque.name);
        found = session_copy(workers->session, original);
        found->is_offered = true;
    } else {
        session_set_connection(found, message->connection);
    }
    found->is_claimed = true;
    *message_of(workers, message) = found;
    return FAIL_NONE;
}

static enum fail backend_serve(struct backend *backend, struct served *served,
                               struct failure *failure)
{
    return workers_serve(workers_of(backend), served, failure);
}

static enum fail backend_execute(struct backend *backend, const struct message *message,
                                 enum reply_error error, struct server_answer *answer,
                                 struct failure *failure)
{
    struct workers *workers = workers_of(backend);
    struct wire_message *wire = *message_of(workers, message);
    answer->from_us = answer->until_us = session_now_us(workers->session);
    if (message->op == OP_ACCESS && !error)
        return workers_execute_access(workers, message, answer, failure);
    if (!error)
        return workers_execute(workers, wire, message, answer, failure);
    if (message->op != OP_ACCESS)
        session_refuse(wire, command_error_line(error), strlen(command_error_line(error)));
    answer->reply = (struct reply){.kind = REPLY_ERROR, .error = error};
    return FAIL_NONE;
}

static enum fail backend_deliver(struct backend *backend, const struct message *message,
                                 struct failure *failure)
{
    struct workers *workers = workers_of(backend);
    struct wire_message **wire = message_of(workers, message);
    struct wire_message *delivered = *wire;
    if (message->op == OP_ACCESS)
        return FAIL_NONE;
    *wire = NULL;
    session_catch_up(workers->session, message->client);
    return session_deliver(workers->session, delivered, failure);
}

static void backend_forget(struct backend *backend, const struct message *message)
{
    struct workers *workers = workers_of(backend);
    struct wire_message **wire = message_of(workers, message);
    if (*wire)
        session_forget(workers->session, *wire);
    *wire = NULL;
}

/* What is on it is the core's no more. A client that waits for something on it hears of the end
 * when it gives up: until then nothing passes. One that does not, hears of it at once. */
static void backend_disconnect(struct backend *backend, int client, int connection)
{
    struct workers *workers = workers_of(backend);
    bool is_waited_for = false;
    session_silence(workers->session, client, connection);
    for (int i = 0; i < MESSAGES_MAX; i++) {
        struct wire_message *wire = workers->messages[client][i];
        if (!wire || !session_is_silent(wire))
            continue;
        is_waited_for = true;
        session_forget(workers->session, wire);
        workers->messages[client][i] = NULL;
    }
    if (!is_waited_for)
        session_cut(workers->session, client, 0);
}

static enum fail backend_settle(struct backend *backend, struct failure *failure)
{
    return session_settle(workers_of(backend)->session, failure);
}

/* --- servers --- */

static enum fail jump_clock(struct backend *backend, int server, int64_t amount_us,
                            struct failure *failure)
{
    struct servers *servers = session_servers(workers_of(backend)->session);
    (void)failure;
    servers_jump_clock(servers, server, amount_us);
    key_watch_forget(&workers_of(backend)->watches[server]);
    return FAIL_NONE;
}

static enum fail follow(struct workers *workers, int server, enum fail fail)
{
    key_watch_forget(&workers->watches[server]);
    if (server == SERVER_ONE)
        server_wire_close(&workers->section);
    if (fail)
        return fail;
    session_follow_server(workers->session, server);
    session_cut_server(workers->session, server);
    return FAIL_NONE;
}

static enum fail restart_empty(struct backend *backend, int server, struct failure *failure)
{
    struct workers *workers = workers_of(backend);
    return follow(workers, server,
                  servers_restart(session_servers(workers->session), server, failure));
}

static enum fail restart_with_keys(struct backend *backend, int server, struct failure *failure)
{
    struct workers *workers = workers_of(backend);
    return follow(workers, server,
                  servers_restart_with_keys(session_servers(workers->session), server, failure));
}

static enum fail save_keys(struct backend *backend, int server, struct failure *failure)
{
    return servers_save_keys(session_servers(workers_of(backend)->session), server, failure);
}

static enum fail restart_with_saved(struct backend *backend, int server, struct failure *failure)
{
    struct workers *workers = workers_of(backend);
    return follow(workers, server,
                  servers_restart_with_saved(session_servers(workers->session), server, failure));
}

static enum fail flush_keys(struct backend *backend, int server, struct failure *failure)
{
    struct workers *workers = workers_of(backend);
    key_watch_forget(&workers->watches[server]);
    return servers_flush_keys(session_servers(workers->session), server, failure);
}

/* A worker's library may have connections that the core knows nothing of yet. */
static enum fail kill_clients(struct backend *backend, int server, int connections,
                              struct failure *failure)
{
    struct workers *workers = workers_of(backend);
    enum fail fail =
        servers_kill_clients(session_servers(workers->session), server, connections, failure);
    return follow(workers, server, fail);
}

static enum fail cut_replica(struct backend *backend, int server, struct failure *failure)
{
    return servers_cut_replica(session_servers(workers_of(backend)->session), server, failure);
}

static enum fail fail_over(struct backend *backend, int server, enum promoter promoter, bool is_cut,
                           struct failure *failure)
{
    struct workers *workers = workers_of(backend);
    struct servers *servers = session_servers(workers->session);
    (void)is_cut;
    if (promoter != PROMOTER_SENTINEL)
        return follow(workers, server, servers_failover(servers, server, failure));
    session_set_dead(workers->session, server, true);
    const enum fail fail = servers_failover_by_sentinel(servers, server, failure);
    session_set_dead(workers->session, server, false);
    return follow(workers, server, fail);
}

static enum fail evict(struct backend *backend, int server, struct failure *failure)
{
    struct workers *workers = workers_of(backend);
    struct key_state state;
    if (look_at(session_control(workers->session, server), &workers->key, &state, failure))
        return failure->code;
    if (!state.is_there)
        return failure_set(failure, FAIL_UNKNOWN, "there is no lock key at server %d", server + 1);
    key_watch_forget(&workers_of(backend)->watches[server]);
    return servers_evict(session_servers(workers->session), server, workers->key.name, failure);
}

static enum fail flush_scripts(struct backend *backend, int server, struct failure *failure)
{
    return servers_flush_scripts(session_servers(workers_of(backend)->session), server, failure);
}

static enum fail stop(struct backend *backend, int server, struct failure *failure)
{
    return servers_stop(session_servers(workers_of(backend)->session), server, failure);
}

static enum fail set_reach(struct backend *backend, int server, enum server_reach reach,
                           struct failure *failure)
{
    struct session *session = workers_of(backend)->session;
    if (reach == REACH_OPEN && servers_go_on(session_servers(session), server, failure))
        return failure->code;
    return reach == REACH_REFUSED ? session_refuse_all(session, server, failure)
                                  : session_accept(session, server, failure);
}

/* Its library hears of it by itself, before there is anything to send. */
static enum fail fail_to_connect(struct backend *backend, int client, int server,
                                 struct failure *failure)
{
    (void)backend;
    return failure_set(failure, FAIL_UNKNOWN,
                       "worker %d has sent something to server %d, which refuses connections",
                       client + 1, server + 1);
}

static void backend_free(struct backend *backend)
{
    workers_release(workers_of(backend));
}

const struct backend_ops workers_backend_ops = {
    .can = backend_can,
    .now_us = backend_now_us,
    .begin = backend_begin,
    .pass_time = backend_pass_time,
    .send = backend_send,
    .execute = backend_execute,
    .serve = backend_serve,
    .deliver = backend_deliver,
    .forget = backend_forget,
    .disconnect = backend_disconnect,
    .settle = backend_settle,
    .jump_clock = jump_clock,
    .restart_empty = restart_empty,
    .restart_with_keys = restart_with_keys,
    .save_keys = save_keys,
    .restart_with_saved = restart_with_saved,
    .flush_keys = flush_keys,
    .kill_clients = kill_clients,
    .cut_replica = cut_replica,
    .fail_over = fail_over,
    .evict = evict,
    .flush_scripts = flush_scripts,
    .stop = stop,
    .set_reach = set_reach,
    .fail_to_connect = fail_to_connect,
    .free = backend_free,
};
