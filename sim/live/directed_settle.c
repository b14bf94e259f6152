/* directed_settle.c - running the loop until reality has done what a choice leads to, and no
 * longer. See directed.h. */
#include "live/directed.h"

#include "live/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SETTLE_LIMIT_US = 10000000 };

/* --- what broke by itself --- */

static void connection_broken(struct connection *connection)
{
    struct actor *actor = connection->owner;
    if (!actor)
        return;
    actor->directed->broken_server = connection->endpoint->number + 1;
    for (int server = 0; server < SERVERS_MAX; server++)
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (actor->connections[server][lane] == connection)
                actor->connections[server][lane] = NULL;
    for (int i = 0; i < actor->flights_count; i++)
        if (actor->flights[i].exchange && actor->flights[i].exchange->connection == connection) {
            actor->flights[i].exchange = NULL;
            actor->flights[i].message.state = MESSAGE_VOID;
        }
}

const struct connection_events directed_connection_events = {.broken = connection_broken};

/* --- settled? --- */

struct settling {
    struct directed *directed;
    const struct exchange *exchange;
    enum awaited awaited;
};

static const struct flight *not_at_proxy(const struct directed *directed)
{
    for (int i = 0; i < directed->run->clients; i++) {
        const struct actor *actor = &directed->actors[i];
        for (int j = 0; j < actor->flights_count; j++) {
            const struct flight *flight = &actor->flights[j];
            if (flight->message.state == MESSAGE_REQUEST && flight->exchange &&
                flight->exchange->arrived == 0 && exchange_is_at_head(flight->exchange))
                return flight;
        }
    }
    return NULL;
}

/* Wires that were cut and have not gone yet. */
static int connections_leaving(const struct directed *directed)
{
    int leaving = 0;
    for (int server = 0; server < directed->run->servers; server++)
        leaving +=
            directed->live->endpoints[server].connections - directed_connections(directed, server);
    return leaving;
}

static bool exchange_is_there(const struct settling *settling)
{
    switch (settling->awaited) {
    case AWAITED_EXECUTION:
        return exchange_is_answered(settling->exchange);
    case AWAITED_DELIVERY:
        return exchange_is_delivered(settling->exchange);
    case AWAITED_NOTHING:
        break;
    }
    return true;
}

static bool is_settled(void *context)
{
    const struct settling *settling = context;
    if (settling->directed->trouble.code || settling->directed->broken_server)
        return true;
    return exchange_is_there(settling) && !not_at_proxy(settling->directed) &&
           connections_leaving(settling->directed) == 0;
}

/* --- what did not come --- */

static enum fail did_not_come(const struct settling *settling, struct failure *failure)
{
    const struct directed *directed = settling->directed;
    const struct flight *flight = not_at_proxy(directed);
    if (flight)
        return failure_set(failure, FAIL_UNKNOWN, "%s's %s to server %d did not reach the proxy",
                           directed->run->names[flight->message.client],
                           verb_name(flight->message.command.verb), flight->message.server + 1);
    if (settling->exchange && !exchange_is_there(settling))
        return failure_set(failure, FAIL_UNKNOWN, "%s at server %d was not %s within %d s",
                           verb_name(settling->exchange->command.verb),
                           settling->exchange->connection->endpoint->number + 1,
                           settling->awaited == AWAITED_EXECUTION ? "answered" : "heard",
                           SETTLE_LIMIT_US / 1000000);
    return failure_set(failure, FAIL_UNKNOWN, "%d cut connections did not end within %d s",
                       connections_leaving(directed), SETTLE_LIMIT_US / 1000000);
}

/* A server that died is the reason; its end may take a moment longer than that of its connections.
 */
static enum fail why_broken(struct directed *directed, struct failure *failure)
{
    int server = directed->broken_server - 1;
    const char *words = directed->live->endpoints[server].trouble;
    if (live_server_died(directed->live, failure))
        return FAIL_UNAVAILABLE;
    return failure_set(failure, FAIL_UNAVAILABLE, "server %d closed the connection%s%s", server + 1,
                       *words ? ": " : "", words);
}

enum fail directed_settle(struct directed *directed, const struct exchange *exchange,
                          enum awaited awaited, struct failure *failure)
{
    struct settling settling = {.directed = directed, .exchange = exchange, .awaited = awaited};
    enum fail fail =
        live_run_until(directed->live, is_settled, &settling, SETTLE_LIMIT_US, failure);
    directed_read_clock(directed);
    if (fail == FAIL_UNKNOWN)
        return did_not_come(&settling, failure);
    if (fail)
        return fail;
    if (directed->trouble.code)
        return failure_set(failure, directed->trouble.code, "%s", directed->trouble.text);
    return directed->broken_server ? why_broken(directed, failure) : FAIL_NONE;
}

/* --- time --- */

static bool is_real_time(const struct directed *directed)
{
    return directed->live->servers.steering == REAL_TIME;
}

void directed_read_clock(struct directed *directed)
{
    if (is_real_time(directed))
        directed->now_us = (int64_t)(uv_hrtime() / 1000) - directed->began_us;
}

static void rings(uv_timer_t *timer)
{
    (void)timer;
}

enum fail directed_pass_time(struct directed *directed, int64_t amount_us, struct failure *failure)
{
    if (!is_real_time(directed)) {
        directed->now_us += amount_us;
        return FAIL_NONE;
    }
    enum fail fail = FAIL_NONE;
    int64_t until_us = directed->now_us + amount_us;
    while (!fail && directed->now_us < until_us) {
        int64_t left_us = until_us - directed->now_us;
        uv_update_time(&directed->live->loop);
        /* Short turns, so that a server that dies meanwhile is seen. It repeats: it may be due
         * before the loop looks, which would then sleep for ever. */
        (void)uv_timer_start(&directed->live->tick, rings,
                             left_us > 100000 ? 100 : (uint64_t)(left_us + 999) / 1000, 1);
        (void)uv_run(&directed->live->loop, UV_RUN_ONCE);
        (void)uv_timer_stop(&directed->live->tick);
        directed_read_clock(directed);
        fail = servers_check(&directed->live->servers, failure);
    }
    return fail;
}
