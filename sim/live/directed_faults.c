/* directed_faults.c - the choices that are faults, made on real servers and connections. See
 * directed.h.
 *
 * Each is one FAULT event and what it says; what the client makes of it is a choice of its own
 * (GIVE_UP). An act that turns out impossible leaves no event. */
#include "live/directed.h"

#include "live/clock.h"
#include "world/rules.h"

#include <stdio.h>
#include <string.h>

/* The FAULT event of a choice; a message that it struck says the rest. */
static void fault_write(struct directed *directed, const struct choice *choice,
                        const struct flight *struck)
{
    struct event event =
        struck ? directed_flight_event(directed, EVENT_FAULT, struck)
               : directed_event(directed, EVENT_FAULT, choice->client, choice->server);
    if (!struck && choice->client >= 0) {
        const struct client *client = &directed->actors[choice->client].client;
        event.attempt = client->attempt;
        event.token = client->lease.token;
    }
    event.amount_us = choice->amount_us;
    if (choice->kind == CHOICE_ANSWER_ERROR)
        event.reply = struck->reply;
    event.fault = choice_fault(choice->kind);
    directed_write(directed, &event);
}

/* A client that times out goes on with a new connection. */
static enum fail fault_give_up(struct directed *directed, const struct choice *choice,
                               struct failure *failure)
{
    struct flight *found = directed_find(directed, choice, failure);
    if (!found)
        return FAIL_UNKNOWN;
    struct flight flight = *found;
    bool is_void = flight.message.state == MESSAGE_VOID;
    fault_write(directed, choice, found);
    if (!is_void)
        directed_leave(directed, found);
    /* What was executed comes back to nobody. */
    if (flight.message.state == MESSAGE_REQUEST)
        found->message.is_abandoned = true;
    else
        directed_remove(directed, found);
    directed_tell(directed, &flight, is_void ? MOMENT_LOST : MOMENT_TIMEOUT);
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

static enum fail fault_lose(struct directed *directed, const struct choice *choice,
                            struct failure *failure)
{
    const struct flight *flight = directed_find(directed, choice, failure);
    if (!flight)
        return FAIL_UNKNOWN;
    fault_write(directed, choice, flight);
    directed_cut(directed, flight);
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

static enum fail fault_duplicate(struct directed *directed, const struct choice *choice,
                                 struct failure *failure)
{
    const struct flight *flight = directed_find(directed, choice, failure);
    if (!flight)
        return FAIL_UNKNOWN;
    fault_write(directed, choice, flight);
    directed_copy(directed, flight);
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

/* The proxy answers in the server's place. */
static enum fail fault_answer_error(struct directed *directed, const struct choice *choice,
                                    struct failure *failure)
{
    struct flight *flight = directed_find(directed, choice, failure);
    if (!flight || rules_want_turn(choice, directed_before(directed, flight), failure))
        return FAIL_UNKNOWN;
    exchange_refuse(flight->exchange, choice->error);
    if (directed_settle(directed, flight->exchange, AWAITED_EXECUTION, failure))
        return failure->code;
    flight->message.state = MESSAGE_REPLY;
    flight->reply = flight->exchange->reply;
    fault_write(directed, choice, flight);
    return FAIL_NONE;
}

static enum fail fault_resend(struct directed *directed, const struct choice *choice,
                              struct failure *failure)
{
    struct flight *found = directed_find(directed, choice, failure);
    if (!found)
        return FAIL_UNKNOWN;
    fault_write(directed, choice, found);
    const struct flight flight = *found;
    directed_remove(directed, found);
    directed_send(directed, &flight);
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

static enum fail fault_crash(struct directed *directed, const struct choice *choice,
                             struct failure *failure)
{
    struct actor *actor = &directed->actors[choice->client];
    if (actor->client.phase == PHASE_DEAD)
        return failure_set(failure, FAIL_UNKNOWN, "%s is dead already",
                           directed->run->names[choice->client]);
    fault_write(directed, choice, NULL);
    client_crash(&actor->client);
    for (int server = 0; server < directed->run->servers; server++)
        directed_cut_all(directed, choice->client, server);
    actor->flights_count = 0;
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

static enum fail fault_client_clock(struct directed *directed, const struct choice *choice,
                                    struct failure *failure)
{
    (void)failure;
    directed->actors[choice->client].client.skew_us += choice->amount_us;
    fault_write(directed, choice, NULL);
    return FAIL_NONE;
}

/* --- of servers --- */

static enum fail fault_server_clock(struct directed *directed, const struct choice *choice,
                                    struct failure *failure)
{
    struct servers *servers = &directed->live->servers;
    clock_jump(servers->rows[choice->server].page, choice->amount_us);
    fault_write(directed, choice, NULL);
    return servers_prove_clock(servers, choice->server, failure);
}

/* Clients go to the new process from here on; and that they do. */
static enum fail server_follows(struct directed *directed, int server, struct failure *failure)
{
    live_follow_server(directed->live, server);
    if (live_prove_path(directed->live, server, failure))
        return failure->code;
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

/* Another process is behind the server's name from now on: every connection to it is broken. */
static enum fail server_breaks(struct directed *directed, int server, struct failure *failure)
{
    for (int i = 0; i < directed->run->clients; i++)
        directed_cut_all(directed, i, server);
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

static enum fail fault_restart(struct directed *directed, const struct choice *choice,
                               struct failure *failure)
{
    fault_write(directed, choice, NULL);
    if (server_breaks(directed, choice->server, failure) ||
        servers_restart(&directed->live->servers, choice->server, failure))
        return failure->code;
    return server_follows(directed, choice->server, failure);
}

static enum fail fault_cut_replica(struct directed *directed, const struct choice *choice,
                                   struct failure *failure)
{
    int server = choice->server;
    if (!directed->has_replica[server] || directed->is_cut[server])
        return failure_set(failure, FAIL_UNKNOWN, "server %d has no replica in step to cut off",
                           server + 1);
    if (servers_cut_replica(&directed->live->servers, server, failure))
        return failure->code;
    fault_write(directed, choice, NULL);
    directed->is_cut[server] = true;
    return FAIL_NONE;
}

static enum fail fault_failover(struct directed *directed, const struct choice *choice,
                                struct failure *failure)
{
    int server = choice->server;
    if (!directed->has_replica[server])
        return failure_set(failure, FAIL_UNKNOWN, "server %d has no replica to promote",
                           server + 1);
    fault_write(directed, choice, NULL);
    if (server_breaks(directed, server, failure) ||
        servers_failover(&directed->live->servers, server, failure))
        return failure->code;
    directed->has_replica[server] = false;
    directed->is_cut[server] = false;
    return server_follows(directed, server, failure);
}

static enum fail fault_evict(struct directed *directed, const struct choice *choice,
                             struct failure *failure)
{
    char key[KEY_PREFIX_MAX + 16];
    (void)snprintf(key, sizeof key, "%s%s", directed->prefix, key_name(KEY_LOCK));
    if (servers_evict(&directed->live->servers, choice->server, key, failure))
        return failure->code;
    fault_write(directed, choice, NULL);
    return FAIL_NONE;
}

static enum fail fault_flush_scripts(struct directed *directed, const struct choice *choice,
                                     struct failure *failure)
{
    if (servers_flush_scripts(&directed->live->servers, choice->server, failure))
        return failure->code;
    fault_write(directed, choice, NULL);
    return FAIL_NONE;
}

typedef enum fail fault_function(struct directed *, const struct choice *, struct failure *);

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

enum fail directed_fault(struct directed *directed, const struct choice *choice,
                         struct failure *failure)
{
    if (!faults[choice->kind])
        return failure_set(failure, FAIL_UNKNOWN, "the real world has no \"%s\"",
                           choice_name(choice->kind));
    return faults[choice->kind](directed, choice, failure);
}
