/* simulated_faults.c - the choices that are faults: what each breaks in the simulated world.
 *
 * A fault is one FAULT event and one change of the state. What the client makes of it (a time-out,
 * a lost connection) is a choice of its own (GIVE_UP), so that the moment of noticing can be chosen
 * too. */
#include "world/rules.h"
#include "world/state.h"

#include <string.h>

/* The FAULT event of a choice; a message it struck says the rest. */
static void fault_write(struct simulated *sim, const struct choice *choice,
                        const struct flight *struck)
{
    struct event event = struck ? simulated_flight_event(sim, EVENT_FAULT, struck)
                                : simulated_event(sim, EVENT_FAULT, choice->client, choice->server);
    if (!struck && choice->client >= 0) {
        const struct client *client = &sim->actors[choice->client].client;
        event.attempt = client->attempt;
        event.token = client->lease.token;
    }
    event.amount_us = choice->amount_us;
    if (choice->kind == CHOICE_ANSWER_ERROR)
        event.reply = struck->reply;
    event.fault = choice_fault(choice->kind);
    simulated_write(sim, &event);
}

/* A client that times out goes on with a new connection, as libraries do: an answer that still
 * comes must not be taken for that to a later command. */
static enum fail fault_give_up(struct simulated *sim, const struct choice *choice,
                               struct failure *failure)
{
    struct flight *found = flight_find(sim, choice, failure);
    if (!found)
        return FAIL_UNKNOWN;
    struct flight flight = *found;
    bool is_void = flight.message.state == MESSAGE_VOID;
    fault_write(sim, choice, found);
    if (!is_void)
        connection_leave(sim, found);
    /* What was executed can only come back to nobody; what was not may still be. */
    if (flight.message.state == MESSAGE_REQUEST)
        found->message.is_abandoned = true;
    else
        flight_remove(sim, found);
    simulated_tell(sim, &flight, is_void ? MOMENT_LOST : MOMENT_TIMEOUT);
    return FAIL_NONE;
}

static enum fail fault_lose(struct simulated *sim, const struct choice *choice,
                            struct failure *failure)
{
    const struct flight *flight = flight_find(sim, choice, failure);
    if (!flight)
        return FAIL_UNKNOWN;
    fault_write(sim, choice, flight);
    connection_break(sim, flight);
    return FAIL_NONE;
}

static enum fail fault_duplicate(struct simulated *sim, const struct choice *choice,
                                 struct failure *failure)
{
    const struct flight *flight = flight_find(sim, choice, failure);
    if (!flight)
        return FAIL_UNKNOWN;
    fault_write(sim, choice, flight);
    struct flight copy = *flight;
    copy.message.is_abandoned = true;
    connection_part(sim, &copy);
    flight_add(sim, &copy);
    return FAIL_NONE;
}

static enum fail fault_answer_error(struct simulated *sim, const struct choice *choice,
                                    struct failure *failure)
{
    struct flight *flight = flight_find(sim, choice, failure);
    if (!flight || rules_want_turn(choice, flight_before(sim, flight), failure))
        return FAIL_UNKNOWN;
    flight->reply =
        model_refuse(flight_watch(sim, flight), &flight->message.command, choice->error);
    fault_write(sim, choice, flight);
    flight->message.state = MESSAGE_REPLY;
    return FAIL_NONE;
}

static enum fail fault_resend(struct simulated *sim, const struct choice *choice,
                              struct failure *failure)
{
    struct flight *found = flight_find(sim, choice, failure);
    if (!found)
        return FAIL_UNKNOWN;
    fault_write(sim, choice, found);
    struct flight flight = *found;
    flight_remove(sim, found);
    flight.message.state = MESSAGE_REQUEST;
    flight.connection = 0;
    flight_add(sim, &flight);
    struct event sent = simulated_flight_event(sim, EVENT_SEND, &flight);
    simulated_write(sim, &sent);
    return FAIL_NONE;
}

static enum fail fault_crash(struct simulated *sim, const struct choice *choice,
                             struct failure *failure)
{
    struct actor *actor = &sim->actors[choice->client];
    if (actor->client.phase == PHASE_DEAD)
        return failure_set(failure, FAIL_UNKNOWN, "%s is dead already",
                           sim->run->names[choice->client]);
    fault_write(sim, choice, NULL);
    client_crash(&actor->client);
    actor->flights_count = 0;
    for (int i = 0; i < sim->run->servers; i++)
        memset(sim->servers[i].watches[choice->client], 0,
               sizeof sim->servers[i].watches[choice->client]);
    return FAIL_NONE;
}

static enum fail fault_client_clock(struct simulated *sim, const struct choice *choice,
                                    struct failure *failure)
{
    (void)failure;
    sim->actors[choice->client].client.skew_us += choice->amount_us;
    fault_write(sim, choice, NULL);
    return FAIL_NONE;
}

static enum fail fault_server_clock(struct simulated *sim, const struct choice *choice,
                                    struct failure *failure)
{
    (void)failure;
    sim->servers[choice->server].skew_us += choice->amount_us;
    fault_write(sim, choice, NULL);
    return FAIL_NONE;
}

static enum fail fault_restart(struct simulated *sim, const struct choice *choice,
                               struct failure *failure)
{
    (void)failure;
    fault_write(sim, choice, NULL);
    /* The process behind the server is another one now. */
    model_restart_empty(&sim->servers[choice->server].model);
    connections_break(sim, choice->server);
    return FAIL_NONE;
}

static enum fail fault_cut_replica(struct simulated *sim, const struct choice *choice,
                                   struct failure *failure)
{
    struct simulated_server *server = &sim->servers[choice->server];
    if (!server->has_replica || server->is_cut)
        return failure_set(failure, FAIL_UNKNOWN, "server %d has no replica in step to cut off",
                           choice->server + 1);
    fault_write(sim, choice, NULL);
    server->replica = server->model;
    server->is_cut = true;
    return FAIL_NONE;
}

static enum fail fault_failover(struct simulated *sim, const struct choice *choice,
                                struct failure *failure)
{
    struct simulated_server *server = &sim->servers[choice->server];
    if (!server->has_replica)
        return failure_set(failure, FAIL_UNKNOWN, "server %d has no replica to promote",
                           choice->server + 1);
    fault_write(sim, choice, NULL);
    /* Until it is cut off, the replica has all the keys that the primary has. */
    if (server->is_cut)
        model_failover(&server->model, &server->replica);
    else
        model_flush_scripts(&server->model);
    server->has_replica = false;
    server->is_cut = false;
    connections_break(sim, choice->server);
    return FAIL_NONE;
}

static enum fail fault_evict(struct simulated *sim, const struct choice *choice,
                             struct failure *failure)
{
    struct simulated_server *server = &sim->servers[choice->server];
    int64_t server_us = SIMULATED_EPOCH_US + sim->now_us + server->skew_us;
    if (model_ttl(&server->model, KEY_LOCK, server_us) == -2)
        return failure_set(failure, FAIL_UNKNOWN, "server %d has no lock key to evict",
                           choice->server + 1);
    fault_write(sim, choice, NULL);
    model_evict(&server->model, KEY_LOCK);
    return FAIL_NONE;
}

static enum fail fault_flush_scripts(struct simulated *sim, const struct choice *choice,
                                     struct failure *failure)
{
    (void)failure;
    fault_write(sim, choice, NULL);
    model_flush_scripts(&sim->servers[choice->server].model);
    return FAIL_NONE;
}

typedef enum fail fault_function(struct simulated *, const struct choice *, struct failure *);

static fault_function *const faults[CHOICE_COUNT] = {
    [CHOICE_GIVE_UP] = fault_give_up,
    [CHOICE_LOSE_REQUEST] = fault_lose,
    [CHOICE_LOSE_REPLY] = fault_lose,
    [CHOICE_RESEND] = fault_resend,
    [CHOICE_DUPLICATE] = fault_duplicate,
    [CHOICE_ANSWER_ERROR] = fault_answer_error,
    [CHOICE_CRASH] = fault_crash,
    [CHOICE_CLIENT_CLOCK] = fault_client_clock,
    [CHOICE_SERVER_CLOCK] = fault_server_clock,
    [CHOICE_RESTART] = fault_restart,
    [CHOICE_CUT_REPLICA] = fault_cut_replica,
    [CHOICE_FAILOVER] = fault_failover,
    [CHOICE_EVICT] = fault_evict,
    [CHOICE_FLUSH_SCRIPTS] = fault_flush_scripts,
};

enum fail simulated_fault(struct simulated *sim, const struct choice *choice,
                          struct failure *failure)
{
    if (!faults[choice->kind])
        return failure_set(failure, FAIL_UNKNOWN, "the simulated world has no \"%s\"",
                           choice_name(choice->kind));
    return faults[choice->kind](sim, choice, failure);
}
