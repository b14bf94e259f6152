/* simulated.c - the simulated world, one choice at a time. See simulated.h; the contract is
 * scenario/world.h.
 *
 * A choice takes effect, writes its events at the time it was made, and then CHOICE_TAKES_US pass.
 * A choice that is not possible changes nothing. Never: I/O, a clock, malloc after the start. */
#include "world/state.h"

#include "base/memory.h"
#include "world/contract.h"
#include "world/rules.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- events --- */

struct event simulated_event(const struct simulated *sim, enum event_kind kind, int client,
                             int server)
{
    return (struct event){.kind = kind,
                          .time_us = sim->now_us,
                          .from_us = sim->now_us,
                          .client = client,
                          .server = server};
}

void simulated_write(struct simulated *sim, struct event *event)
{
    event->index = sim->events++;
    if (sim->run->sink.take)
        sim->run->sink.take(sim->run->sink.context, event);
}

struct event simulated_flight_event(const struct simulated *sim, enum event_kind kind,
                                    const struct flight *flight)
{
    const struct message *message = &flight->message;
    struct event event = simulated_event(sim, kind, message->client, message->server);
    event.attempt = flight->attempt;
    event.op = flight->op;
    event.lane = message->lane;
    event.command = message->command;
    event.token = flight->token;
    return event;
}

/* CALL, RETURN, NOTICE and STRAND: what a client does that is not about one command. */
static void operation_write(struct simulated *sim, enum event_kind kind, int client,
                            enum operation op, enum result result)
{
    const struct client *who = &sim->actors[client].client;
    struct event event = simulated_event(sim, kind, client, -1);
    event.op = op;
    event.attempt = who->attempt;
    event.token = who->lease.token;
    event.result = result;
    if (kind != EVENT_CALL)
        event.fence = who->fence;
    simulated_write(sim, &event);
}

static void request_send(struct simulated *sim, const struct flight *flight)
{
    flight_add(sim, flight);
    struct event sent = simulated_flight_event(sim, EVENT_SEND, flight);
    simulated_write(sim, &sent);
}

void simulated_news(struct simulated *sim, int client, const struct client_news *news)
{
    const struct client *who = &sim->actors[client].client;
    sim->violation = news->violation;
    sim->violation_at = news->at;
    if (news->has_returned)
        operation_write(sim, EVENT_RETURN, client, news->op, news->result);
    if (news->has_noticed_loss)
        operation_write(sim, EVENT_NOTICE, client, OP_EXTEND, RESULT_NONE);
    for (int i = 0; i < news->sends_count; i++) {
        const struct ask *ask = &news->sends[i];
        const struct flight flight = {.message = {.client = client,
                                                  .server = ask->server,
                                                  .lane = ask->lane,
                                                  .command = ask->command},
                                      .op = client_operation(who, ask->lane),
                                      .attempt = who->attempt,
                                      .token = who->lease.token};
        request_send(sim, &flight);
    }
    if (news->is_stranded)
        operation_write(sim, EVENT_STRAND, client, client_operation(who, LANE_MAIN), RESULT_NONE);
}

/* --- what clients do --- */

/* A refused access ends like one that the server answered with an error: nobody knows. */
static void access_ends(struct simulated *sim, const struct flight *flight,
                        const struct reply *reply)
{
    int number = flight->message.client;
    struct client *client = &sim->actors[number].client;
    enum result result = client_accessed(client, &flight->message.command, reply);
    operation_write(sim, EVENT_RETURN, number, OP_ACCESS, result);
}

void simulated_tell(struct simulated *sim, const struct flight *flight, enum moment_kind kind)
{
    struct client *client = &sim->actors[flight->message.client].client;
    if (flight->op == OP_ACCESS) {
        const struct reply lost = {.kind = REPLY_ERROR, .error = ERROR_OTHER};
        access_ends(sim, flight, kind == MOMENT_REPLY ? &flight->reply : &lost);
        return;
    }
    /* An earlier attempt is over: what comes for it is recorded, and resumes nothing. */
    if (flight->attempt != client->attempt)
        return;
    const struct moment moment = {.kind = kind,
                                  .server = flight->message.server,
                                  .verb = flight->message.command.verb,
                                  .reply = flight->reply};
    struct client_news news;
    client_tell(client, &moment, sim->now_us, &news);
    simulated_news(sim, flight->message.client, &news);
}

static enum fail wants_phase(const struct simulated *sim, const struct choice *choice,
                             enum phase phase, struct failure *failure)
{
    return rules_want_phase(sim->run, choice, &sim->actors[choice->client].client, phase, failure);
}

static enum fail apply_acquire(struct simulated *sim, const struct choice *choice,
                               struct failure *failure)
{
    struct client *client = &sim->actors[choice->client].client;
    struct client_news news;
    if (wants_phase(sim, choice, PHASE_IDLE, failure))
        return FAIL_UNKNOWN;
    int64_t token = client_token(sim->run, choice->client, client->attempt + 1);
    client_acquire(client, token, sim->now_us, &news);
    operation_write(sim, EVENT_CALL, choice->client, OP_ACQUIRE, RESULT_NONE);
    simulated_news(sim, choice->client, &news);
    return FAIL_NONE;
}

static enum fail apply_lease(struct simulated *sim, const struct choice *choice,
                             struct failure *failure)
{
    if (wants_phase(sim, choice, PHASE_IDLE, failure))
        return FAIL_UNKNOWN;
    if (choice->amount_us <= 0)
        return failure_set(failure, FAIL_UNKNOWN, "a lease is longer than nothing");
    client_set_lease(&sim->actors[choice->client].client, choice->amount_us);
    return FAIL_NONE;
}

static enum fail apply_release(struct simulated *sim, const struct choice *choice,
                               struct failure *failure)
{
    struct client_news news;
    if (wants_phase(sim, choice, PHASE_HOLDING, failure))
        return FAIL_UNKNOWN;
    operation_write(sim, EVENT_CALL, choice->client, OP_RELEASE, RESULT_NONE);
    client_release(&sim->actors[choice->client].client, sim->now_us, &news);
    simulated_news(sim, choice->client, &news);
    return FAIL_NONE;
}

/* WRITE, READ_COUNTER, WRITE_COUNTER: the critical section's own commands go to the first server.
 */
static enum fail apply_access(struct simulated *sim, const struct choice *choice,
                              struct failure *failure)
{
    struct client *client = &sim->actors[choice->client].client;
    if (wants_phase(sim, choice, PHASE_HOLDING, failure))
        return FAIL_UNKNOWN;
    struct flight flight = {.message = {.client = choice->client, .lane = LANE_MAIN},
                            .op = OP_ACCESS,
                            .attempt = client->attempt,
                            .token = client->lease.token};
    flight.message.command = client_access(client, choice->client + 1, choice->kind);
    operation_write(sim, EVENT_CALL, choice->client, OP_ACCESS, RESULT_NONE);
    request_send(sim, &flight);
    return FAIL_NONE;
}

static enum fail apply_wake(struct simulated *sim, const struct choice *choice,
                            struct failure *failure)
{
    struct client *client = &sim->actors[choice->client].client;
    if (rules_want_timer(sim->run, choice, client, sim->now_us, failure))
        return FAIL_UNKNOWN;
    struct event rings = simulated_event(sim, EVENT_WAKE, choice->client, -1);
    rings.attempt = client->attempt;
    rings.token = client->lease.token;
    simulated_write(sim, &rings);
    struct client_news news;
    client_tell(client, &(struct moment){.kind = MOMENT_WAKE}, sim->now_us, &news);
    simulated_news(sim, choice->client, &news);
    return FAIL_NONE;
}

/* --- what messages do --- */

static enum fail apply_arrive(struct simulated *sim, const struct choice *choice,
                              struct failure *failure)
{
    struct flight *flight = flight_find(sim, choice, failure);
    if (!flight || rules_want_turn(choice, flight_before(sim, flight), failure))
        return FAIL_UNKNOWN;
    struct simulated_server *server = &sim->servers[choice->server];
    struct message *message = &flight->message;
    flight->reply = model_execute(&server->model, flight_watch(sim, flight), &message->command,
                                  SIMULATED_EPOCH_US + sim->now_us + server->skew_us);
    message->state = MESSAGE_REPLY;
    struct event executed = simulated_flight_event(sim, EVENT_EXECUTE, flight);
    executed.reply = flight->reply;
    simulated_write(sim, &executed);
    if (message->is_abandoned)
        flight_remove(sim, flight);
    return FAIL_NONE;
}

static enum fail apply_hear(struct simulated *sim, const struct choice *choice,
                            struct failure *failure)
{
    struct flight *found = flight_find(sim, choice, failure);
    if (!found || rules_want_turn(choice, flight_before(sim, found), failure))
        return FAIL_UNKNOWN;
    const struct flight flight = *found;
    struct event heard = simulated_flight_event(sim, EVENT_HEAR, &flight);
    heard.reply = flight.reply;
    simulated_write(sim, &heard);
    flight_remove(sim, found);
    simulated_tell(sim, &flight, MOMENT_REPLY);
    return FAIL_NONE;
}

static enum fail apply_time(struct simulated *sim, const struct choice *choice,
                            struct failure *failure)
{
    if (choice->amount_us <= 0)
        return failure_set(failure, FAIL_UNKNOWN, "time only passes forwards");
    sim->now_us += choice->amount_us;
    struct event passed = simulated_event(sim, EVENT_TIME, -1, -1);
    passed.amount_us = choice->amount_us;
    simulated_write(sim, &passed);
    return FAIL_NONE;
}

/* --- scenario/world.h --- */

typedef enum fail apply_function(struct simulated *, const struct choice *, struct failure *);

/* What a choice is about, and who applies it; a kind without a row is a fault. */
static apply_function *const plain[CHOICE_COUNT] = {
    [CHOICE_ACQUIRE] = apply_acquire,     [CHOICE_LEASE] = apply_lease,
    [CHOICE_RELEASE] = apply_release,     [CHOICE_WRITE] = apply_access,
    [CHOICE_READ_COUNTER] = apply_access, [CHOICE_WRITE_COUNTER] = apply_access,
    [CHOICE_WAKE] = apply_wake,           [CHOICE_ARRIVE] = apply_arrive,
    [CHOICE_ARRIVE_LATE] = apply_arrive,  [CHOICE_HEAR] = apply_hear,
    [CHOICE_TIME] = apply_time,
};

static enum fail simulated_apply(struct world *world, const struct choice *choice,
                                 struct failure *failure)
{
    struct simulated *sim = (struct simulated *)world;
    assert((int)choice->kind >= 0 && choice->kind < CHOICE_COUNT);
    enum fail fail = rules_names_somebody(sim->run, choice, failure);
    if (!fail && choice_names_client(choice->kind))
        fail =
            rules_have_room(sim->run, choice, sim->actors[choice->client].flights_count, failure);
    if (fail)
        return fail;
    apply_function *apply = plain[choice->kind] ? plain[choice->kind] : simulated_fault;
    fail = apply(sim, choice, failure);
    if (!fail && sim->violation)
        return contract_fail(sim->run->scheme, sim->violation, sim->violation_at, failure);
    if (!fail && choice->kind != CHOICE_TIME)
        sim->now_us += CHOICE_TAKES_US;
    return fail;
}

static enum fail simulated_can(struct world *world, enum choice_kind kind, struct failure *failure)
{
    const struct simulated *sim = (const struct simulated *)world;
    if ((kind == CHOICE_CUT_REPLICA || kind == CHOICE_FAILOVER) && !sim->run->has_replica)
        return failure_set(failure, FAIL_UNKNOWN, "this run has no replicas");
    return FAIL_NONE;
}

static struct client_view simulated_client(struct world *world, int client)
{
    const struct simulated *sim = (const struct simulated *)world;
    const struct client *who = &sim->actors[client].client;
    return (struct client_view){.phase = who->phase,
                                .last = who->last,
                                .is_accessing = who->is_accessing,
                                .wake_us = who->wake_us};
}

static int simulated_messages(struct world *world, int client, struct message *messages)
{
    const struct simulated *sim = (const struct simulated *)world;
    const struct actor *actor = &sim->actors[client];
    for (int i = 0; i < actor->flights_count; i++)
        messages[i] = actor->flights[i].message;
    return actor->flights_count;
}

static int64_t simulated_now_us(struct world *world)
{
    return ((const struct simulated *)world)->now_us;
}

static void simulated_free(struct world *world)
{
    free(world);
}

static const struct world_ops simulated_ops = {
    .apply = simulated_apply,
    .can = simulated_can,
    .client = simulated_client,
    .messages = simulated_messages,
    .now_us = simulated_now_us,
    .free = simulated_free,
};

struct world *world_simulated_new(const struct run *run)
{
    assert(run->clients > 0 && run->clients <= ACTORS_MAX);
    assert(run->servers > 0 && run->servers <= SERVERS_MAX);
    struct simulated *sim = memory_new(1, sizeof *sim);
    const struct lease lease = {.ttl_us = run->lease_us,
                                .unit_us = run->scheme->unit_us,
                                .servers = run->servers,
                                .server_kind = SERVER_REDIS};
    sim->world.ops = &simulated_ops;
    sim->run = run;
    for (int i = 0; i < run->clients; i++) {
        client_init(&sim->actors[i].client, run->scheme, &lease);
        sim->actors[i].client.epoch_us = SIMULATED_EPOCH_US;
    }
    for (int i = 0; i < run->servers; i++) {
        model_init(&sim->servers[i].model, 1000);
        sim->servers[i].model.has_delex = run->has_delex;
        sim->servers[i].has_replica = run->has_replica;
    }
    return &sim->world;
}
