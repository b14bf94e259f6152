/* worker_world.c - see worker_world.h: the clients of such a world. Its backend is in
 * worker_backend.c. */
#include "worker/worker_world.h"

#include "base/memory.h"
#include "worker/world_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct workers *workers_of_clients(const struct clients *clients)
{
    const struct clients_face *face = (const struct clients_face *)clients;
    return face->workers;
}

/* --- what a step led to --- */

/* A background thread's command, while nothing is asked of the worker, is its own renewal. */
static enum operation operation_of(const struct wire_message *message, bool is_asked)
{
    if (!is_asked || message->op == WORKER_EXTEND)
        return OP_EXTEND;
    return message->op == WORKER_RELEASE ? OP_RELEASE : OP_ACQUIRE;
}

static void take_left(struct workers *workers, int client, struct step_result *step)
{
    for (struct wire_message *message = session_messages(workers->session); message;
         message = message->next) {
        if (message->client != client || !message->is_left || !message->is_claimed ||
            message->is_published)
            continue;
        *(message->is_silent ? &step->left_silent : &step->left) |=
            channel_bit(message->server, message->lane);
        message->is_left = false;
    }
}

static enum fail take_requests(struct workers *workers, int client, bool is_asked,
                               struct step_result *step, struct failure *failure)
{
    for (struct wire_message *message = session_messages(workers->session); message;
         message = message->next) {
        if (message->client != client || message->is_claimed || message->is_offered ||
            message->is_published || message->is_behind)
            continue;
        if (step->requests_count == OUTBOX_MAX)
            return failure_set(failure, FAIL_UNKNOWN,
                               "%s has more than %d commands on their way at once",
                               workers->run->names[client], OUTBOX_MAX);
        message->is_offered = true;
        message->lane = is_asked ? LANE_MAIN : LANE_RENEW;
        step->requests[step->requests_count++] = (struct request){
            .server = message->server,
            .lane = (enum lane)message->lane,
            .op = operation_of(message, is_asked),
            .is_silent = message->is_silent,
            .opaque = look_opaque(&workers->key, message->name, message->bytes, message->length),
        };
    }
    return FAIL_NONE;
}

/* Who is told that the lock is not his holds it no more; who is told nothing knows no more than
 * before. */
static void take_extended(struct worker_face *face, const struct worker_answer *answer,
                          struct step_result *step)
{
    face->is_extending = false;
    step->has_returned = true;
    step->op = OP_EXTEND;
    step->result = answer->kind == ANSWER_ERROR ? RESULT_FAILED
                   : answer->kind == ANSWER_OK  ? RESULT_DONE
                                                : RESULT_NOT_MINE;
    face->last = step->result;
    if (step->result == RESULT_NOT_MINE && face->phase == PHASE_HOLDING)
        face->phase = PHASE_IDLE;
}

static void take_return(struct worker_face *face, const struct worker_answer *answer,
                        struct step_result *step)
{
    if (face->is_extending) {
        take_extended(face, answer, step);
        return;
    }
    const bool is_acquire = face->phase == PHASE_ACQUIRING;
    step->has_returned = true;
    step->op = is_acquire ? OP_ACQUIRE : OP_RELEASE;
    if (is_acquire && face->is_cancelled && answer->kind != ANSWER_OK)
        step->result = RESULT_CANCELLED;
    else if (answer->kind == ANSWER_ERROR)
        step->result = RESULT_FAILED;
    else if (answer->kind == ANSWER_OK)
        step->result = is_acquire ? RESULT_GRANTED : RESULT_RELEASED;
    else
        step->result = is_acquire ? RESULT_REFUSED : RESULT_NOT_MINE;
    face->last = step->result;
    face->fence = step->result == RESULT_GRANTED && answer->has_fence ? answer->fence : 0;
    face->phase = step->result == RESULT_GRANTED ? PHASE_HOLDING : PHASE_IDLE;
}

/* Of a lock whose key is there while it is free (a list of tokens) nobody here can tell who has it.
 */
static enum fail check_grant(const struct workers *workers, int client, struct failure *failure)
{
    const struct worker_face *face = &workers->faces[client];
    if (face->last != RESULT_GRANTED)
        return FAIL_NONE;
    if (look_check_grant(&workers->key, workers->told, failure))
        return failure_wrap(failure, "%s was granted the lock", workers->run->names[client]);
    if (!face->taken || face->made)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNKNOWN,
                       "%s was granted the lock by taking its key '%s' away: a lock whose key is "
                       "there while nobody holds it (a list of tokens, a semaphore) cannot be "
                       "judged yet, since its owner is in no key",
                       workers->run->names[client], workers->key.name);
}

/* Its process has ended, since its lock is gone: as if it had said so, and crashed. What it was
 * asked for is over, and nobody knows how. */
static void take_exit(struct workers *workers, int client, struct step_result *step)
{
    struct worker_face *face = &workers->faces[client];
    const bool is_told = face->phase != PHASE_HOLDING && face->phase != PHASE_RELEASING;
    if (face->is_extending || face->phase == PHASE_RELEASING) {
        step->has_returned = true;
        step->op = face->is_extending ? OP_EXTEND : OP_RELEASE;
        step->result = face->last = RESULT_FAILED;
    }
    step->has_noticed_loss |= !is_told;
    step->has_exited = true;
    face->phase = PHASE_DEAD;
    face->is_accessing = face->is_extending = false;
}

enum fail workers_collect(struct workers *workers, int client, struct step_result *step,
                          struct failure *failure)
{
    struct worker_face *face = &workers->faces[client];
    const bool was_asked =
        face->phase == PHASE_ACQUIRING || face->phase == PHASE_RELEASING || face->is_extending;
    const bool is_asked = session_is_asked(workers->session, client);
    if (was_asked && !is_asked)
        take_return(face, session_answer(workers->session, client), step);
    if (step->has_returned && check_grant(workers, client, failure))
        return failure->code;
    if (session_has_notice(workers->session, client) && !face->has_notice) {
        face->has_notice = step->has_noticed_loss = true;
        face->phase = face->phase == PHASE_HOLDING ? PHASE_IDLE : face->phase;
    }
    if (session_has_exited(workers->session, client)) {
        take_exit(workers, client, step);
        return FAIL_NONE;
    }
    take_left(workers, client, step);
    if (take_requests(workers, client, was_asked, step, failure))
        return failure->code;
    step->is_stranded = workers_is_stranded(workers, client);
    if (step->is_stranded)
        step->op = face->is_extending               ? OP_EXTEND
                   : face->phase == PHASE_RELEASING ? OP_RELEASE
                                                    : OP_ACQUIRE;
    return FAIL_NONE;
}

/* --- clients.h --- */

static struct client_view view_of(const struct clients *clients, int client)
{
    const struct workers *workers = workers_of_clients(clients);
    const struct worker_face *face = &workers->faces[client];
    return (struct client_view){.phase = face->phase,
                                .last = face->last,
                                .wake_us = face->phase == PHASE_DEAD || face->rest.is_endless
                                               ? INT64_MAX
                                               : session_next_us(workers->session, client),
                                .is_kept_waiting = workers_is_kept_waiting(workers, client),
                                .attempt = face->attempt,
                                .connected = session_connected(workers->session, client),
                                .connecting = session_connecting(workers->session, client),
                                .redials = session_redials(workers->session, client),
                                .is_accessing = face->is_accessing || face->is_extending,
                                .fence = face->fence};
}

static enum fail ask(struct workers *workers, int client, enum worker_op op, enum phase phase,
                     struct failure *failure)
{
    workers->faces[client].phase = phase;
    session_catch_up(workers->session, client);
    return session_ask(workers->session, client, (struct worker_request){.op = op}, failure);
}

/* It hears of the end of a connection, of those that were silenced before, too. */
static enum fail lose(struct workers *workers, int client, const struct message *message,
                      struct failure *failure)
{
    session_catch_up(workers->session, client);
    session_cut(workers->session, client, message->connection);
    return session_settle(workers->session, failure);
}

static enum fail go_on(struct workers *workers, int client, enum moment_kind kind,
                       const struct message *message, struct failure *failure)
{
    struct worker_face *face = &workers->faces[client];
    switch (kind) {
    case MOMENT_START:
        face->attempt++;
        face->has_notice = face->is_cancelled = false;
        face->made = face->taken = 0;
        session_forget_notice(workers->session, client);
        return ask(workers, client, WORKER_ACQUIRE, PHASE_ACQUIRING, failure);
    case MOMENT_RELEASE:
        return ask(workers, client, WORKER_RELEASE, PHASE_RELEASING, failure);
    case MOMENT_WAKE:
        face->rest.rings++;
        session_catch_up(workers->session, client);
        return session_settle(workers->session, failure);
    case MOMENT_REPLY: /* delivered by the backend */
        return FAIL_NONE;
    default:
        return lose(workers, client, message, failure);
    }
}

static enum fail take_step(struct clients *clients, int client, enum moment_kind kind,
                           const struct message *message, int64_t now_us, struct step_result *step,
                           struct failure *failure)
{
    struct workers *workers = workers_of_clients(clients);
    (void)now_us;
    enum fail fail = go_on(workers, client, kind, message, failure);
    return fail ? fail : workers_collect(workers, client, step, failure);
}

static enum fail extend(struct clients *clients, int client, struct step_result *step,
                        struct failure *failure)
{
    struct workers *workers = workers_of_clients(clients);
    workers->faces[client].is_extending = true;
    const enum fail fail = ask(workers, client, WORKER_EXTEND, PHASE_HOLDING, failure);
    return fail ? fail : workers_collect(workers, client, step, failure);
}

static enum fail cancel(struct clients *clients, int client, struct step_result *step,
                        struct failure *failure)
{
    struct workers *workers = workers_of_clients(clients);
    workers->faces[client].is_cancelled = true;
    session_catch_up(workers->session, client);
    const enum fail fail = session_cancel(workers->session, client, failure);
    return fail ? fail : workers_collect(workers, client, step, failure);
}

static struct request begin_access(struct clients *clients, int client, enum choice_kind kind)
{
    struct workers *workers = workers_of_clients(clients);
    struct worker_face *face = &workers->faces[client];
    face->is_accessing = true;
    face->guarded.number = client + 1;
    face->guarded.fence = face->fence;
    face->guarded.has_fence = session_promises(workers->session) & 1u << WORKER_PROMISES_FENCE;
    return (struct request){.server = SERVER_ONE,
                            .lane = LANE_MAIN,
                            .op = OP_ACCESS,
                            .command = guarded_command(&face->guarded, kind)};
}

static enum result end_access(struct clients *clients, int client, enum moment_kind kind,
                              const struct message *message)
{
    struct worker_face *face = &workers_of_clients(clients)->faces[client];
    face->is_accessing = false;
    return face->last = guarded_ended(&face->guarded, &message->command,
                                      kind == MOMENT_REPLY ? &message->reply : NULL);
}

static void no_lease(struct clients *clients, int client, int64_t lease_us)
{
    (void)clients;
    (void)client;
    (void)lease_us;
    assert(false && "the backend refuses leases of one client");
}

static void jump_clock(struct clients *clients, int client, int64_t amount_us)
{
    session_jump_clock(workers_of_clients(clients)->session, client, amount_us);
}

static void set_rate(struct clients *clients, int client, int64_t gains_us, int64_t now_us)
{
    (void)now_us; /* the session's own */
    session_set_rate(workers_of_clients(clients)->session, client, gains_us);
}

static void crash(struct clients *clients, int client)
{
    struct workers *workers = workers_of_clients(clients);
    workers->faces[client].phase = PHASE_DEAD;
    workers->faces[client].is_accessing = workers->faces[client].is_extending = false;
    session_kill(workers->session, client);
}

static void clients_free(struct clients *clients)
{
    workers_release(workers_of_clients(clients));
}

static const struct clients_ops clients_ops = {
    .view = view_of,
    .step = take_step,
    .extend = extend,
    .cancel = cancel,
    .silence = workers_silence,
    .answer_dials = workers_answer_dials,
    .access = begin_access,
    .are_sections_apart = true,
    .accessed = end_access,
    .set_lease = no_lease,
    .jump_clock = jump_clock,
    .set_rate = set_rate,
    .crash = crash,
    .free = clients_free,
};

/* --- begin and end --- */

void workers_release(struct workers *workers)
{
    if (--workers->holders)
        return;
    for (int i = 0; i < SERVERS_MAX; i++)
        key_watch_forget(&workers->watches[i]);
    server_wire_close(&workers->section);
    if (!workers->is_session_kept)
        session_free(workers->session);
    free(workers);
}

unsigned worker_program_promises(const struct worker_program *program)
{
    static const struct {
        enum worker_promise said;
        unsigned promise;
    } rows[] = {{WORKER_PROMISES_EXPIRY, PROMISE_EXPIRY},
                {WORKER_PROMISES_NOTICE, PROMISE_NOTICE},
                {WORKER_PROMISES_FENCE, PROMISE_FENCE},
                {WORKER_PROMISES_RENEWS, PROMISE_EXTENDS},
                {WORKER_PROMISES_EXITS, PROMISE_NOTICE | PROMISE_EXITS},
                {WORKER_PROMISES_TOKEN, PROMISE_TOKEN},
                {WORKER_PROMISES_QUORUM, PROMISE_QUORUM}};
    unsigned promises = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (program->promises & 1u << rows[i].said)
            promises |= rows[i].promise;
    return promises;
}

static void learn(struct worker_program *program, const struct session *session)
{
    program->is_known = true;
    program->promises = session_promises(session);
    (void)strcpy(program->library, session_library(session));
    (void)strncpy(program->server_version, session_server_version(session),
                  sizeof program->server_version - 1);
}

static const char key[] = "lock";

static enum fail open_session(struct session **session, struct worker_program *program,
                              const struct run *run, struct failure *failure)
{
    const struct session_options options = {.command = program->command,
                                            .redis_server = program->redis_server,
                                            .clients = run->clients,
                                            .servers = run->servers,
                                            .has_replica = run->has_replica,
                                            .names = (const char(*)[NAME_MAX_BYTES])run->names,
                                            .key = key,
                                            .lease_us = run->lease_us,
                                            .wait_us = program->wait_us,
                                            .may_exit = true,
                                            .seed = run->seed,
                                            .stop = program->stop};
    enum fail fail = session_new(session, &options, failure);
    if (!fail)
        learn(program, *session);
    return fail;
}

static enum fail check_count(const struct run *run, struct failure *failure)
{
    if (run->clients <= SESSION_CLIENTS_MAX)
        return FAIL_NONE;
    return failure_set(failure, FAIL_NOT_APPLICABLE, "of workers there are at most %d",
                       SESSION_CLIENTS_MAX);
}

static struct world *world_of(struct session *session, bool is_kept, const struct run *run)
{
    struct workers *workers = memory_new(1, sizeof *workers);
    workers->session = session;
    workers->is_session_kept = is_kept;
    workers->run = run;
    workers->holders = 2;
    workers->told = key;
    (void)strcpy(workers->key.name, key);
    for (int i = 0; i < SERVERS_MAX; i++)
        workers->watches[i].servers = session_servers(session);
    workers->clients = (struct clients_face){.clients.ops = &clients_ops, .workers = workers};
    workers->backend =
        (struct backend_face){.backend.ops = &workers_backend_ops, .workers = workers};
    return core_new(run, &workers->backend.backend, &workers->clients.clients);
}

enum fail world_worker_new(struct world **world, struct worker_program *program,
                           const struct run *run, struct failure *failure)
{
    struct session *session;
    if (check_count(run, failure) || open_session(&session, program, run, failure))
        return failure->code;
    *world = world_of(session, false, run);
    return FAIL_NONE;
}

struct session *world_worker_session(const struct world *world)
{
    return workers_of_clients(core_clients(world))->session;
}

/* --- used again --- */

struct kept_workers {
    struct worker_program *program;
    struct run run;
    struct session *session; /* NULL: nothing runs */
};

enum fail kept_workers_new(struct kept_workers **made, struct worker_program *program,
                           const struct run *run, struct failure *failure)
{
    *made = NULL;
    if (check_count(run, failure))
        return failure->code;
    struct kept_workers *kept = memory_new(1, sizeof *kept);
    kept->program = program;
    kept->run = *run;
    *made = kept;
    return FAIL_NONE;
}

enum fail kept_workers_world(struct kept_workers *kept, struct world **world, const struct run *run,
                             unsigned fresh, struct failure *failure)
{
    enum fail fail = kept->session
                         ? session_reset(kept->session, fresh, failure)
                         : open_session(&kept->session, kept->program, &kept->run, failure);
    if (fail) {
        kept_workers_drop(kept);
        return fail;
    }
    *world = world_of(kept->session, true, run);
    return FAIL_NONE;
}

enum fail kept_workers_check_past(struct kept_workers *kept, struct failure *failure)
{
    return kept->session ? session_check_past(kept->session, failure) : FAIL_NONE;
}

bool kept_workers_suit(const struct kept_workers *kept, const struct run *run)
{
    return kept->run.clients == run->clients && kept->run.servers == run->servers &&
           kept->run.lease_us == run->lease_us && kept->run.seed == run->seed &&
           kept->run.has_replica == run->has_replica;
}

void kept_workers_drop(struct kept_workers *kept)
{
    session_free(kept->session);
    kept->session = NULL;
}

void kept_workers_free(struct kept_workers *kept)
{
    if (!kept)
        return;
    kept_workers_drop(kept);
    free(kept);
}
