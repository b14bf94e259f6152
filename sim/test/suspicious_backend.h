/* suspicious_backend.h - for test_core.c: a backend that trusts nobody, and clients of which nobody
 * knows how they are made. What the core does against the contract of world/backend.h fails here.
 */
#ifndef PICKLOCK_TEST_SUSPICIOUS_BACKEND_H
#define PICKLOCK_TEST_SUSPICIOUS_BACKEND_H

#include "base/random.h"
#include "world/core.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

enum { CLIENTS = 3 };

/* --- a backend that trusts nobody --- */

enum message_place { PLACE_NOWHERE, PLACE_BEFORE_SERVER, PLACE_BEFORE_CLIENT, PLACE_DELIVERED };

struct carried {
    enum message_place place;
    int connection, server;
    enum lane lane;
};

struct suspicious {
    struct backend backend; /* first */
    struct carried carried[ACTORS_MAX][MESSAGES_MAX];
    int server_of[ACTORS_MAX][CONNECTIONS_MAX]; /* 1 + it; 0: no such connection */
    int holder;                                 /* 1 + the client that has the lock; 0: nobody */
    struct effects effects;
    struct random random; /* what servers answer typed commands */
    enum server_reach reach[SERVERS_MAX];
    int64_t now_us;
    int lives; /* connections */
};

static struct suspicious *of(struct backend *backend)
{
    return (struct suspicious *)backend;
}

static struct carried *carried_of(struct backend *backend, const struct message *message)
{
    struct carried *carried = &of(backend)->carried[message->client][message->number];
    assert_int_equal(carried->connection, message->connection);
    assert_int_equal(carried->server, message->server);
    return carried;
}

static enum fail can(const struct backend *backend, enum choice_kind kind, struct failure *failure)
{
    (void)backend, (void)kind, (void)failure;
    return FAIL_NONE;
}

static int64_t now_us(const struct backend *backend, int64_t now_us)
{
    assert_true(now_us >= ((const struct suspicious *)backend)->now_us);
    return now_us;
}

static void begin(struct backend *backend, int64_t now_us)
{
    of(backend)->now_us = now_us;
}

static enum fail pass_time(struct backend *backend, int64_t amount_us, struct failure *failure)
{
    (void)backend, (void)failure;
    assert_true(amount_us > 0);
    return FAIL_NONE;
}

/* A number that is free, on a connection that leads to that server. */
static enum fail sent(struct backend *backend, const struct message *message,
                      struct failure *failure)
{
    struct carried *carried = &of(backend)->carried[message->client][message->number];
    int *server = &of(backend)->server_of[message->client][message->connection];
    (void)failure;
    assert_true(message->connection > CONNECTION_NONE && message->connection < CONNECTIONS_MAX);
    assert_int_equal(message->state, MESSAGE_REQUEST);
    assert_int_equal(carried->place, PLACE_NOWHERE);
    assert_int_not_equal(of(backend)->reach[message->server], REACH_REFUSED);
    of(backend)->lives += *server == 0;
    assert_true(*server == 0 || *server == message->server + 1);
    *server = message->server + 1;
    *carried = (struct carried){.place = PLACE_BEFORE_SERVER,
                                .connection = message->connection,
                                .server = message->server,
                                .lane = message->lane};
    return FAIL_NONE;
}

/* "LOCK" makes the key if it is free, "UNLOCK" deletes it if it is the client's own. */
static void run_opaque(struct suspicious *at, const struct message *message,
                       struct server_answer *answer)
{
    bool is_lock = strcmp(message->opaque.name, "LOCK") == 0;
    bool is_possible = at->holder == (is_lock ? 0 : message->client + 1);
    enum did did = is_lock ? DID_CREATED : DID_DELETED;
    if (is_possible)
        at->holder = is_lock ? message->client + 1 : 0;
    at->effects = (struct effects){
        .count = 1,
        .on = {{.key = KEY_LOCK, .did = is_possible ? did : DID_REFUSED, .has_ttl = is_lock}}};
    answer->reply = (struct reply){.kind = REPLY_INTEGER, .value = is_possible};
    answer->effects = &at->effects;
}

static struct reply draw_reply(struct suspicious *at)
{
    static const struct reply replies[] = {
        {.kind = REPLY_OK},
        {.kind = REPLY_NIL},
        {.kind = REPLY_INTEGER, .value = 1},
        {.kind = REPLY_INTEGER},
        {.kind = REPLY_ERROR, .error = ERROR_OOM},
    };
    return replies[random_below(&at->random, sizeof replies / sizeof replies[0])];
}

static enum fail execute(struct backend *backend, const struct message *message,
                         enum reply_error error, struct server_answer *answer,
                         struct failure *failure)
{
    struct carried *carried = carried_of(backend, message);
    (void)failure;
    assert_int_equal(carried->place, PLACE_BEFORE_SERVER);
    assert_false(message_is_held(message, of(backend)->reach[message->server]));
    carried->place = PLACE_BEFORE_CLIENT;
    answer->from_us = answer->until_us = of(backend)->now_us;
    if (error)
        answer->reply = (struct reply){.kind = REPLY_ERROR, .error = error};
    else if (message->opaque.name[0])
        run_opaque(of(backend), message, answer);
    else
        answer->reply = draw_reply(of(backend));
    return FAIL_NONE;
}

static enum fail deliver(struct backend *backend, const struct message *message,
                         struct failure *failure)
{
    struct carried *carried = carried_of(backend, message);
    (void)failure;
    assert_int_equal(carried->place, PLACE_BEFORE_CLIENT);
    assert_false(message->is_abandoned);
    carried->place = PLACE_DELIVERED;
    return FAIL_NONE;
}

static void forget_message(struct backend *backend, const struct message *message)
{
    struct carried *carried = carried_of(backend, message);
    assert_true(carried->place == PLACE_BEFORE_CLIENT || carried->place == PLACE_DELIVERED);
    *carried = (struct carried){0};
}

static void disconnect(struct backend *backend, int client, int connection)
{
    struct suspicious *at = of(backend);
    assert_true(at->server_of[client][connection] > 0);
    at->server_of[client][connection] = 0;
    at->lives--;
    for (int i = 0; i < MESSAGES_MAX; i++)
        if (at->carried[client][i].place && at->carried[client][i].connection == connection)
            at->carried[client][i] = (struct carried){0};
}

static enum fail settle(struct backend *backend, struct failure *failure)
{
    (void)backend, (void)failure;
    return FAIL_NONE;
}

static void has_no_connections(const struct suspicious *at, int server)
{
    for (int client = 0; client < CLIENTS; client++)
        for (int i = 0; i < CONNECTIONS_MAX; i++)
            assert_int_not_equal(at->server_of[client][i], server + 1);
}

/* Nothing leads to a server whose process is replaced. */
static enum fail replaced(struct backend *backend, int server, struct failure *failure)
{
    (void)failure;
    has_no_connections(of(backend), server);
    assert_int_equal(of(backend)->reach[server], REACH_OPEN);
    of(backend)->holder = 0;
    return FAIL_NONE;
}

static enum fail promoted(struct backend *backend, int server, enum promoter promoter, bool is_cut,
                          struct failure *failure)
{
    (void)promoter;
    (void)is_cut;
    return replaced(backend, server, failure);
}

static enum fail unchanged(struct backend *backend, int server, struct failure *failure)
{
    (void)backend, (void)server, (void)failure;
    return FAIL_NONE;
}

static enum fail jumped(struct backend *backend, int server, int64_t amount_us,
                        struct failure *failure)
{
    (void)backend, (void)server, (void)amount_us, (void)failure;
    return FAIL_NONE;
}

static enum fail reached(struct backend *backend, int server, enum server_reach reach,
                         struct failure *failure)
{
    (void)failure;
    of(backend)->reach[server] = reach;
    if (reach == REACH_REFUSED)
        has_no_connections(of(backend), server);
    return FAIL_NONE;
}

static enum fail not_connected(struct backend *backend, int client, int server,
                               struct failure *failure)
{
    (void)client, (void)failure;
    assert_int_equal(of(backend)->reach[server], REACH_REFUSED);
    return FAIL_NONE;
}

static int backends_ended;

static void end_backend(struct backend *backend)
{
    assert_int_equal(of(backend)->lives, 0);
    backends_ended++;
}

static const struct backend_ops suspicious_ops = {
    .can = can,
    .now_us = now_us,
    .begin = begin,
    .pass_time = pass_time,
    .send = sent,
    .execute = execute,
    .deliver = deliver,
    .forget = forget_message,
    .disconnect = disconnect,
    .settle = settle,
    .jump_clock = jumped,
    .restart_empty = replaced,
    .restart_with_keys = replaced,
    .save_keys = unchanged,
    .restart_with_saved = replaced,
    .flush_keys = unchanged,
    .stop = unchanged,
    .cut_replica = unchanged,
    .fail_over = promoted,
    .evict = unchanged,
    .flush_scripts = unchanged,
    .set_reach = reached,
    .fail_to_connect = not_connected,
    .free = end_backend,
};

/* --- clients of which nobody knows how they are made --- */

struct foreign_clients {
    struct clients clients; /* first */
    struct client_view views[CLIENTS];
    bool has_connections; /* that can fall silent */
    bool is_silent[CLIENTS];
};

static enum fail foreign_answer_dials(struct clients *clients, int client, int server,
                                      bool is_answered, struct step_result *step,
                                      struct failure *failure)
{
    (void)clients, (void)client, (void)server, (void)is_answered, (void)step, (void)failure;
    return FAIL_NONE;
}

static struct client_view foreign_view(const struct clients *clients, int client)
{
    return ((const struct foreign_clients *)clients)->views[client];
}

static void foreign_send(struct step_result *step, const char *name, enum operation op)
{
    struct request *request = &step->requests[step->requests_count++];
    *request = (struct request){.op = op};
    const size_t length = strlen(name);
    opaque_of_words(&request->opaque, &name, &length, 1, 1U << KEY_LOCK);
}

static void foreign_return(struct client_view *view, struct step_result *step, enum phase phase,
                           enum result result)
{
    step->has_returned = true;
    step->op = view->phase == PHASE_ACQUIRING ? OP_ACQUIRE : OP_RELEASE;
    step->result = view->last = result;
    view->phase = phase;
}

static void foreign_hears(struct client_view *view, struct step_result *step,
                          const struct reply *reply)
{
    bool is_acquiring = view->phase == PHASE_ACQUIRING;
    bool is_done = reply->kind == REPLY_INTEGER && reply->value == 1;
    if (view->phase != PHASE_ACQUIRING && view->phase != PHASE_RELEASING)
        return;
    if (reply->kind == REPLY_ERROR)
        foreign_return(view, step, PHASE_IDLE, RESULT_FAILED);
    else if (is_acquiring)
        foreign_return(view, step, is_done ? PHASE_HOLDING : PHASE_IDLE,
                       is_done ? RESULT_GRANTED : RESULT_REFUSED);
    else
        foreign_return(view, step, PHASE_IDLE, is_done ? RESULT_RELEASED : RESULT_NOT_MINE);
}

/* It still holds, whatever became of it. */
static void foreign_extended(struct client_view *view, struct step_result *step, bool is_heard)
{
    view->is_accessing = false;
    step->has_returned = true;
    step->op = OP_EXTEND;
    step->result = view->last = is_heard ? RESULT_DONE : RESULT_FAILED;
}

static enum fail foreign_extend(struct clients *clients, int client, struct step_result *step,
                                struct failure *failure)
{
    (void)failure;
    ((struct foreign_clients *)clients)->views[client].is_accessing = true;
    foreign_send(step, "EXTEND", OP_EXTEND);
    return FAIL_NONE;
}

static enum fail foreign_step(struct clients *clients, int client, enum moment_kind kind,
                              const struct message *message, int64_t now, struct step_result *step,
                              struct failure *failure)
{
    struct client_view *view = &((struct foreign_clients *)clients)->views[client];
    const struct reply lost = {.kind = REPLY_ERROR};
    (void)now, (void)failure;
    assert_int_equal(step->requests_count, 0);
    if (kind == MOMENT_START) {
        view->phase = PHASE_ACQUIRING;
        view->attempt++;
        view->token_text = "a-token";
        foreign_send(step, "LOCK", OP_ACQUIRE);
    } else if (kind == MOMENT_RELEASE) {
        view->phase = PHASE_RELEASING;
        foreign_send(step, "UNLOCK", OP_RELEASE);
    } else if (message->op == OP_EXTEND) {
        foreign_extended(view, step, kind == MOMENT_REPLY);
    } else if (message->attempt == view->attempt) {
        foreign_hears(view, step, kind == MOMENT_REPLY ? &message->reply : &lost);
    }
    return FAIL_NONE;
}

/* It leaves off at once; what it sent may still be executed, and is heard for nothing. */
static enum fail foreign_cancel(struct clients *clients, int client, struct step_result *step,
                                struct failure *failure)
{
    struct foreign_clients *foreign = (struct foreign_clients *)clients;
    (void)failure;
    foreign_return(&foreign->views[client], step, PHASE_IDLE, RESULT_CANCELLED);
    if (foreign->is_silent[client])
        step->left_silent = channel_bit(0, LANE_MAIN);
    foreign->is_silent[client] = false;
    return FAIL_NONE;
}

static enum fail foreign_silence(struct clients *clients, int client, int server,
                                 struct step_result *step, struct failure *failure)
{
    struct foreign_clients *foreign = (struct foreign_clients *)clients;
    (void)server;
    if (!foreign->has_connections)
        return failure_set(failure, FAIL_UNKNOWN, "no connection");
    foreign->is_silent[client] = true;
    step->is_stranded = true;
    step->op = OP_ACQUIRE;
    return FAIL_NONE;
}

static struct request foreign_access(struct clients *clients, int client, enum choice_kind kind)
{
    struct client_view *view = &((struct foreign_clients *)clients)->views[client];
    (void)kind;
    view->is_accessing = true;
    return (struct request){.op = OP_ACCESS,
                            .command = {.verb = VERB_SET, .key = KEY_RESOURCE, .value = 1}};
}

static enum result foreign_accessed(struct clients *clients, int client, enum moment_kind kind,
                                    const struct message *message)
{
    (void)kind, (void)message;
    ((struct foreign_clients *)clients)->views[client].is_accessing = false;
    return RESULT_DONE;
}

static void foreign_number(struct clients *clients, int client, int64_t number)
{
    (void)clients, (void)client, (void)number;
}

static void foreign_crash(struct clients *clients, int client)
{
    ((struct foreign_clients *)clients)->views[client].phase = PHASE_DEAD;
}

static void foreign_end(struct clients *clients)
{
    (void)clients;
}

static const struct clients_ops foreign_ops = {
    .view = foreign_view,
    .step = foreign_step,
    .extend = foreign_extend,
    .cancel = foreign_cancel,
    .silence = foreign_silence,
    .answer_dials = foreign_answer_dials,
    .access = foreign_access,
    .accessed = foreign_accessed,
    .set_lease = foreign_number,
    .jump_clock = foreign_number,
    .crash = foreign_crash,
    .free = foreign_end,
};

#endif
