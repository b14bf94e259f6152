/* directed.c - the real world, one choice at a time, behind scenario/world.h. See directed.h.
 *
 * Never acts by itself: nothing reaches a server or a client but by a choice. Never hides that
 * reality did something else: that is a failure with what was awaited. */
#include "live/directed.h"

#include "base/memory.h"
#include "live/clock.h"
#include "world/rules.h"
#include "world/simulated.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static enum fail wants_phase(const struct directed *directed, const struct choice *choice,
                             enum phase phase, struct failure *failure)
{
    return rules_want_phase(directed->run, choice, &directed->actors[choice->client].client, phase,
                            failure);
}

static enum fail apply_acquire(struct directed *directed, const struct choice *choice,
                               struct failure *failure)
{
    struct client *client = &directed->actors[choice->client].client;
    struct client_news news;
    if (wants_phase(directed, choice, PHASE_IDLE, failure))
        return FAIL_UNKNOWN;
    int64_t token = client_token(directed->run, choice->client, client->attempt + 1);
    client_acquire(client, token, directed->now_us, &news);
    directed_operation(directed, EVENT_CALL, choice->client, OP_ACQUIRE, RESULT_NONE);
    directed_news(directed, choice->client, &news);
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

static enum fail apply_lease(struct directed *directed, const struct choice *choice,
                             struct failure *failure)
{
    if (wants_phase(directed, choice, PHASE_IDLE, failure))
        return FAIL_UNKNOWN;
    if (choice->amount_us <= 0)
        return failure_set(failure, FAIL_UNKNOWN, "a lease is longer than nothing");
    client_set_lease(&directed->actors[choice->client].client, choice->amount_us);
    return FAIL_NONE;
}

static enum fail apply_release(struct directed *directed, const struct choice *choice,
                               struct failure *failure)
{
    struct client_news news;
    if (wants_phase(directed, choice, PHASE_HOLDING, failure))
        return FAIL_UNKNOWN;
    directed_operation(directed, EVENT_CALL, choice->client, OP_RELEASE, RESULT_NONE);
    client_release(&directed->actors[choice->client].client, directed->now_us, &news);
    directed_news(directed, choice->client, &news);
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

/* WRITE, READ_COUNTER, WRITE_COUNTER: the critical section's own commands go to the first server.
 */
static enum fail apply_access(struct directed *directed, const struct choice *choice,
                              struct failure *failure)
{
    struct client *client = &directed->actors[choice->client].client;
    if (wants_phase(directed, choice, PHASE_HOLDING, failure))
        return FAIL_UNKNOWN;
    struct flight flight = {.message = {.client = choice->client, .lane = LANE_MAIN},
                            .op = OP_ACCESS,
                            .attempt = client->attempt,
                            .token = client->lease.token};
    flight.message.command = client_access(client, choice->client + 1, choice->kind);
    directed_operation(directed, EVENT_CALL, choice->client, OP_ACCESS, RESULT_NONE);
    directed_send(directed, &flight);
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

static enum fail apply_wake(struct directed *directed, const struct choice *choice,
                            struct failure *failure)
{
    struct client *client = &directed->actors[choice->client].client;
    if (rules_want_timer(directed->run, choice, client, directed->now_us, failure))
        return FAIL_UNKNOWN;
    struct event wakes = directed_event(directed, EVENT_WAKE, choice->client, -1);
    wakes.attempt = client->attempt;
    wakes.token = client->lease.token;
    directed_write(directed, &wakes);
    struct client_news news;
    client_tell(client, &(struct moment){.kind = MOMENT_WAKE}, directed->now_us, &news);
    directed_news(directed, choice->client, &news);
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

static enum fail apply_arrive(struct directed *directed, const struct choice *choice,
                              struct failure *failure)
{
    struct flight *flight = directed_find(directed, choice, failure);
    if (!flight || rules_want_turn(choice, directed_before(directed, flight), failure))
        return FAIL_UNKNOWN;
    struct exchange *exchange = flight->exchange;
    assert(exchange);
    exchange_execute(exchange);
    if (directed_settle(directed, exchange, AWAITED_EXECUTION, failure))
        return failure->code;
    flight->message.state = MESSAGE_REPLY;
    flight->reply = exchange->reply;
    struct event executed = directed_flight_event(directed, EVENT_EXECUTE, flight);
    executed.reply = flight->reply;
    if (directed->live->servers.steering == REAL_TIME) {
        executed.from_us = exchange->released_us - directed->began_us;
        executed.time_us = exchange->answered_us - directed->began_us;
    }
    directed_write(directed, &executed);
    if (!flight->message.is_abandoned)
        return FAIL_NONE;
    directed_remove(directed, flight);
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

static enum fail apply_hear(struct directed *directed, const struct choice *choice,
                            struct failure *failure)
{
    struct flight *found = directed_find(directed, choice, failure);
    if (!found || rules_want_turn(choice, directed_before(directed, found), failure))
        return FAIL_UNKNOWN;
    const struct flight flight = *found;
    exchange_deliver(flight.exchange);
    if (directed_settle(directed, flight.exchange, AWAITED_DELIVERY, failure))
        return failure->code;
    directed_remove(directed, found);
    struct event delivered = directed_flight_event(directed, EVENT_HEAR, &flight);
    delivered.reply = flight.reply;
    directed_write(directed, &delivered);
    directed_tell(directed, &flight, MOMENT_REPLY);
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

static enum fail apply_time(struct directed *directed, const struct choice *choice,
                            struct failure *failure)
{
    if (choice->amount_us <= 0)
        return failure_set(failure, FAIL_UNKNOWN, "time only passes forwards");
    if (directed_pass_time(directed, choice->amount_us, failure))
        return failure->code;
    struct event passed = directed_event(directed, EVENT_TIME, -1, -1);
    passed.amount_us = choice->amount_us;
    directed_write(directed, &passed);
    return FAIL_NONE;
}

/* --- scenario/world.h --- */

typedef enum fail apply_function(struct directed *, const struct choice *, struct failure *);

/* What a choice is about, and who applies it; a kind without a row is a fault. */
static apply_function *const plain[CHOICE_COUNT] = {
    [CHOICE_ACQUIRE] = apply_acquire,     [CHOICE_LEASE] = apply_lease,
    [CHOICE_RELEASE] = apply_release,     [CHOICE_WRITE] = apply_access,
    [CHOICE_READ_COUNTER] = apply_access, [CHOICE_WRITE_COUNTER] = apply_access,
    [CHOICE_WAKE] = apply_wake,           [CHOICE_ARRIVE] = apply_arrive,
    [CHOICE_HEAR] = apply_hear,           [CHOICE_TIME] = apply_time,
    [CHOICE_ARRIVE_LATE] = apply_arrive,
};

static enum fail directed_can(struct world *world, enum choice_kind kind, struct failure *failure)
{
    const struct directed *directed = (const struct directed *)world;
    if ((kind == CHOICE_CUT_REPLICA || kind == CHOICE_FAILOVER) && !directed->run->has_replica)
        return failure_set(failure, FAIL_UNKNOWN, "this run has no replicas");
    return servers_can(&directed->live->servers, kind, failure);
}

static enum fail directed_apply(struct world *world, const struct choice *choice,
                                struct failure *failure)
{
    struct directed *directed = (struct directed *)world;
    struct failure local, *why = failure ? failure : &local;
    assert((int)choice->kind >= 0 && choice->kind < CHOICE_COUNT);
    enum fail fail = rules_names_somebody(directed->run, choice, why);
    if (!fail && choice_names_client(choice->kind))
        fail = rules_have_room(directed->run, choice,
                               directed->actors[choice->client].flights_count, why);
    if (!fail)
        fail = directed_can(world, choice->kind, why);
    if (fail)
        return fail;
    directed_read_clock(directed);
    servers_set_clock(&directed->live->servers, directed->now_us);
    apply_function *apply = plain[choice->kind] ? plain[choice->kind] : directed_fault;
    fail = apply(directed, choice, why);
    if (!fail && choice->kind != CHOICE_TIME && directed->live->servers.steering == STEERED)
        directed->now_us += CHOICE_TAKES_US;
    return fail;
}

static struct client_view directed_client(struct world *world, int client)
{
    const struct directed *directed = (const struct directed *)world;
    const struct client *who = &directed->actors[client].client;
    return (struct client_view){.phase = who->phase,
                                .last = who->last,
                                .is_accessing = who->is_accessing,
                                .wake_us = who->wake_us};
}

static int directed_messages(struct world *world, int client, struct message *messages)
{
    const struct directed *directed = (const struct directed *)world;
    const struct actor *actor = &directed->actors[client];
    for (int i = 0; i < actor->flights_count; i++)
        messages[i] = actor->flights[i].message;
    return actor->flights_count;
}

static int64_t directed_now_us(struct world *world)
{
    struct directed *directed = (struct directed *)world;
    directed_read_clock(directed);
    return directed->now_us;
}

static void directed_free(struct world *world)
{
    struct directed *directed = (struct directed *)world;
    struct failure ignored;
    for (int i = 0; i < directed->run->clients; i++)
        for (int server = 0; server < directed->run->servers; server++)
            directed_cut_all(directed, i, server);
    /* A world that ends has nobody to tell; the next one finds what is wrong with its servers. */
    (void)live_finish(directed->live, &ignored);
    free(directed);
}

static const struct world_ops directed_ops = {
    .apply = directed_apply,
    .can = directed_can,
    .client = directed_client,
    .messages = directed_messages,
    .now_us = directed_now_us,
    .free = directed_free,
};

/* The wall clock at world time 0, as the clients see it. */
static int64_t epoch_us(const struct directed *directed)
{
    struct timespec now;
    if (directed->live->servers.steering == STEERED)
        return CLOCK_EPOCH_US;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

enum fail world_live_new(struct world **world, struct live *live, const struct run *run,
                         struct failure *failure)
{
    struct failure local, *why = failure ? failure : &local;
    assert(run->clients > 0 && run->clients <= ACTORS_MAX);
    assert(run->servers > 0 && run->servers <= SERVERS_MAX);
    if (live_prepare(live, run->servers, run->has_replica, 1, &directed_connection_events, why))
        return why->code;
    struct directed *directed = memory_new(1, sizeof *directed);
    const struct lease lease = {.ttl_us = run->lease_us,
                                .unit_us = run->scheme->unit_us,
                                .servers = run->servers,
                                .server_kind = SERVER_REDIS};
    directed->world.ops = &directed_ops;
    directed->live = live;
    directed->run = run;
    directed->began_us = (int64_t)(uv_hrtime() / 1000);
    live_lock_prefix(live, 0, directed->prefix);
    for (int i = 0; i < run->clients; i++) {
        directed->actors[i].directed = directed;
        client_init(&directed->actors[i].client, run->scheme, &lease);
        directed->actors[i].client.epoch_us = epoch_us(directed);
    }
    for (int i = 0; i < run->servers; i++)
        directed->has_replica[i] = run->has_replica;
    *world = &directed->world;
    return FAIL_NONE;
}
