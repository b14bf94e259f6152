/* worker_execute.c - what a command does at its server, told by the lock's key before and behind
 * it; and what is done there by itself. See worker_world.h. */
#include "live/control.h"
#include "live/servers.h"
#include "worker/worker_world.h"
#include "worker/world_state.h"

#include <string.h>

/* The lock's key before and behind what happens at a server. */
struct watched_execution {
    redisContext *control;
    struct key_watch *watch;
    int64_t clock_us; /* the server's */
    struct key_state before, behind;
    unsigned writes;
};

static enum fail look_before(struct workers *workers, int server,
                             struct watched_execution *execution, struct failure *failure)
{
    struct session *session = workers->session;
    struct servers *servers = session_servers(session);
    *execution = (struct watched_execution){.control = session_control(session, server),
                                            .watch = &workers->watches[server],
                                            .clock_us = servers_clock_us(servers, server)};
    /* A new process of the server begins with 0. */
    if (session_database(session) &&
        control_do(execution->control, failure, "SELECT %d", session_database(session)))
        return failure->code;
    const bool is_alone = servers_has_only_ours(servers, server);
    return (is_alone ? key_watch_reckon : key_watch_before)(execution->watch, execution->control,
                                                            &workers->key, execution->clock_us,
                                                            &execution->before, failure);
}

bool world_worker_is_past(const struct world *world)
{
    const struct workers *workers = workers_of_clients(core_clients(world));
    bool is_past = false;
    for (int i = 0; i < SERVERS_MAX; i++)
        is_past |= workers->watches[i].is_past;
    return is_past;
}

enum fail world_worker_check_past(const struct world *world, struct failure *failure)
{
    return session_check_past(world_worker_session(world), failure);
}

static enum fail look_behind(struct workers *workers, const struct wire_message *wire,
                             struct watched_execution *execution, struct failure *failure)
{
    if (wire->op == WORKER_ACQUIRE &&
        look_for_key(execution->control, workers->told, &workers->key, failure))
        return failure->code;
    return key_watch_behind(execution->watch, execution->control, &workers->key,
                            execution->clock_us, &execution->behind, &execution->writes, failure);
}

static void note_attempt(struct worker_face *face, const struct wire_message *wire,
                         const struct effects *effects)
{
    if (!effects->count || wire->op != WORKER_ACQUIRE || wire->attempt != face->attempt)
        return;
    const enum did did = effects->on[0].did;
    const unsigned server = 1u << wire->server;
    if (did == DID_CREATED || did == DID_OVERWRITTEN) {
        face->made |= server;
        face->taken &= ~server;
    } else if (did == DID_DELETED) {
        face->made &= ~server;
        face->taken |= server;
    }
}

/* names_key: the command does. */
static void tell_effects(struct workers *workers, const struct wire_message *wire, bool names_key,
                         const struct watched_execution *execution, struct server_answer *answer)
{
    const struct key_state *before = &execution->before, *behind = &execution->behind;
    answer->reply = look_reply(wire->reply, wire->reply_length);
    workers->effects = (struct effects){0};
    /* Of what its library does by itself nobody asked for it. */
    const struct exchange_seen exchange = {.request = wire->bytes,
                                           .request_length = wire->length,
                                           .reply = wire->reply,
                                           .reply_length = wire->reply_length};
    const struct execution_seen seen = {.before = before,
                                        .behind = behind,
                                        .writes = execution->writes,
                                        .op = wire->lane == LANE_RENEW ? WORKER_EXTEND : wire->op,
                                        .is_error = answer->reply.kind == REPLY_ERROR,
                                        .is_refusal = look_refuses(&exchange, workers->key.name)};
    if (names_key || execution->writes || look_has_changed(before, behind))
        look_compare(&seen, &workers->effects);
    answer->effects = &workers->effects;
    note_attempt(&workers->faces[wire->client], wire, &workers->effects);
}

static bool names_lock(const struct workers *workers, const struct wire_message *wire)
{
    const struct opaque opaque = look_opaque(&workers->key, wire->name, wire->bytes, wire->length);
    return opaque.keys >> KEY_LOCK & 1;
}

enum fail workers_execute(struct workers *workers, struct wire_message *wire,
                          const struct message *message, struct server_answer *answer,
                          struct failure *failure)
{
    struct watched_execution execution;
    if (look_before(workers, message->server, &execution, failure) ||
        session_execute(workers->session, wire, failure))
        return failure->code;
    answer->is_waiting = wire->transit == TRANSIT_WAITING;
    if (look_behind(workers, wire, &execution, failure))
        return failure->code;
    if (!answer->is_waiting)
        tell_effects(workers, wire, message->opaque.keys >> KEY_LOCK & 1, &execution, answer);
    return FAIL_NONE;
}

/* --- what goes on by itself --- */

static int number_of(const struct workers *workers, const struct wire_message *wire)
{
    int number = 0;
    while (number < MESSAGES_MAX && workers->messages[wire->client][number] != wire)
        number++;
    return number;
}

/* The oldest published message that the core does not know of yet. */
static bool find_published(struct workers *workers, struct served *served)
{
    for (struct wire_message *at = session_messages(workers->session); at; at = at->next) {
        if (!at->is_published || at->is_offered)
            continue;
        at->is_offered = true;
        *served = (struct served){
            .client = at->client, .server = at->server, .number = -1, .name = at->name};
        return true;
    }
    return false;
}

static enum fail serve_at(struct workers *workers, int server, struct served *served,
                          struct failure *failure)
{
    struct wire_message *wire = NULL;
    struct watched_execution execution;
    if (look_before(workers, server, &execution, failure) ||
        session_serve(workers->session, server, &wire, failure))
        return failure->code;
    if (!wire)
        return FAIL_NONE;
    if (look_behind(workers, wire, &execution, failure))
        return failure->code;
    *served = (struct served){
        .client = wire->client, .server = server, .number = number_of(workers, wire)};
    served->answer.from_us = served->answer.until_us = session_now_us(workers->session);
    tell_effects(workers, wire, names_lock(workers, wire), &execution, &served->answer);
    return FAIL_NONE;
}

enum fail workers_serve(struct workers *workers, struct served *served, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    *served = (struct served){.client = -1};
    for (int i = 0; i < workers->run->servers && !fail && served->client < 0; i++)
        if (session_has_waiting(workers->session, i))
            fail = serve_at(workers, i, served, failure);
    if (!fail && served->client < 0)
        (void)find_published(workers, served);
    return fail;
}

/* What a program would do that uses the lock, over a connection that no library knows of. */
enum fail workers_execute_access(struct workers *workers, const struct message *message,
                                 struct server_answer *answer, struct failure *failure)
{
    struct servers *servers = session_servers(workers->session);
    const struct proxy_address address = servers_address(servers, message->server);
    const bool is_first = !workers->section.context;
    const enum fail fail =
        is_first ? server_wire_open(&workers->section, address.host, address.port, failure)
                 : FAIL_NONE;
    if (is_first)
        servers_note_context(servers, workers->section.context);
    if (fail || guarded_ask(&workers->section, address.host, address.port,
                            "guarded:", &message->command, &answer->reply, failure))
        return failure_wrap(failure, "what the lock guards, at server %d", message->server + 1);
    return FAIL_NONE;
}
