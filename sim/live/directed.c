/* directed.c - the real world, one choice at a time, behind scenario/world.h. See directed.h.
 *
 * Never acts by itself: nothing reaches a server or a client but by a choice. Never hides that
 * reality did something else: that is a failure with what was awaited. */
#include "live/directed.h"

#include "base/memory.h"
#include "live/clock.h"
#include "world/simulated.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static enum fail wants_phase(const struct directed *directed, const struct choice *choice,
                             enum phase phase, struct failure *failure)
{
    static const char *const words[] = {
        [PHASE_IDLE] = "idle",       [PHASE_ACQUIRING] = "acquiring",
        [PHASE_HOLDING] = "holding", [PHASE_RELEASING] = "releasing",
        [PHASE_DEAD] = "dead",
    };
    const struct client *client = &directed->actors[choice->client].client;
    const char *name = directed->run->names[choice->client];
    if (client->phase != phase)
        return failure_set(failure, FAIL_UNKNOWN, "%s is %s, not %s", name, words[client->phase],
                           words[phase]);
    if (client->is_accessing)
        return failure_set(failure, FAIL_UNKNOWN,
                           "%s still waits for a command of its critical section", name);
    return FAIL_NONE;
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
    const char *name = directed->run->names[choice->client];
    if (client->wake_us == INT64_MAX)
        return failure_set(failure, FAIL_UNKNOWN, "%s has no timer", name);
    if (client->wake_us > directed->now_us)
        return failure_set(failure, FAIL_UNKNOWN, "%s's timer is due in %" PRId64 " us", name,
                           client->wake_us - directed->now_us);
    struct event wakes = directed_event(directed, EVENT_WAKE, choice->client, -1);
    wakes.attempt = client->attempt;
    wakes.token = client->lease.token;
    directed_write(directed, &wakes);
    struct client_news news;
    client_tell(client, &(struct moment){.kind = MOMENT_WAKE}, directed->now_us, &news);
    directed_news(directed, choice->client, &news);
    return directed_settle(directed, NULL, AWAITED_NOTHING, failure);
}

static enum fail is_blocked(const struct flight *first, const struct choice *choice,
                            struct failure *failure)
{
    if (!first)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNKNOWN,
                       "%s to server %d comes before it on the same connection",
                       verb_name(first->message.command.verb), choice->server + 1);
}

static enum fail apply_arrive(struct directed *directed, const struct choice *choice,
                              struct failure *failure)
{
    struct flight *flight = directed_find(directed, choice, FLIGHT_REQUEST, failure);
    if (!flight || is_blocked(directed_before(directed, flight, MESSAGE_REQUEST), choice, failure))
        return FAIL_UNKNOWN;
    struct call *call = flight->call;
    assert(call);
    call_execute(call);
    if (directed_settle(directed, call, AWAITED_EXECUTION, failure))
        return failure->code;
    flight->message.state = MESSAGE_REPLY;
    flight->reply = call->reply;
    struct event executed = directed_flight_event(directed, EVENT_EXECUTE, flight);
    executed.reply = flight->reply;
    if (directed->live->servers.steering == REAL_TIME) {
        executed.from_us = call->released_us - directed->began_us;
        executed.time_us = call->answered_us - directed->began_us;
    }
    directed_write(directed, &executed);
    if (!flight->message.is_abandoned)
        return FAIL_NONE;
    directed_remove(directed, flight);
    call_let_go(call);
    return FAIL_NONE;
}

static enum fail apply_hear(struct directed *directed, const struct choice *choice,
                            struct failure *failure)
{
    struct flight *found = directed_find(directed, choice, FLIGHT_REPLY, failure);
    if (!found || is_blocked(directed_before(directed, found, MESSAGE_REPLY), choice, failure))
        return FAIL_UNKNOWN;
    const struct flight flight = *found;
    call_hear(flight.call);
    if (directed_settle(directed, flight.call, AWAITED_HEARING, failure))
        return failure->code;
    directed_remove(directed, found);
    call_let_go(flight.call);
    struct event heard = directed_flight_event(directed, EVENT_HEAR, &flight);
    heard.reply = flight.reply;
    directed_write(directed, &heard);
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
};

static const bool is_of_server_alone[CHOICE_COUNT] = {
    [CHOICE_SERVER_CLOCK] = true, [CHOICE_RESTART] = true, [CHOICE_CUT_REPLICA] = true,
    [CHOICE_FAILOVER] = true,     [CHOICE_EVICT] = true,   [CHOICE_FLUSH_SCRIPTS] = true,
};

static const bool is_of_message[CHOICE_COUNT] = {
    [CHOICE_ARRIVE] = true,       [CHOICE_HEAR] = true,       [CHOICE_GIVE_UP] = true,
    [CHOICE_LOSE_REQUEST] = true, [CHOICE_LOSE_REPLY] = true, [CHOICE_RESEND] = true,
};

/* The choice names a client and a server that exist, and there is room for what a step may send. */
static enum fail names_somebody(const struct directed *directed, const struct choice *choice,
                                struct failure *failure)
{
    const struct run *run = directed->run;
    bool has_client = choice->kind != CHOICE_TIME && !is_of_server_alone[choice->kind];
    bool has_server = is_of_server_alone[choice->kind] || is_of_message[choice->kind];
    if (has_client && (choice->client < 0 || choice->client >= run->clients))
        return failure_set(failure, FAIL_UNKNOWN, "there is no client %d", choice->client + 1);
    if (has_server && (choice->server < 0 || choice->server >= run->servers))
        return failure_set(failure, FAIL_UNKNOWN, "there is no server %d", choice->server + 1);
    if (has_client &&
        directed->actors[choice->client].flights_count + 2 * run->servers > MESSAGES_MAX)
        return failure_set(failure, FAIL_UNKNOWN, "%s has too many messages in flight (at most %d)",
                           run->names[choice->client], MESSAGES_MAX);
    return FAIL_NONE;
}

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
    enum fail fail = names_somebody(directed, choice, why);
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
            for (int lane = 0; lane < LANE_COUNT; lane++)
                directed_cut(directed, i, server, (enum lane)lane);
    /* A world that ends has nobody to tell; the next one finds what is wrong with its servers. */
    (void)live_finish(directed->live, 1, &ignored);
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
    if (live_prepare(live, run->servers, run->has_replica, &directed_wire_events, why))
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
