/* directed_settle.c - running the loop until reality has done what a choice leads to, and no
 * longer. See directed.h. */
#include "live/directed.h"

#include "base/monotonic.h"

enum { SETTLE_LIMIT_US = 10000000 };

/* --- settled? --- */

struct settling {
    struct directed *directed;
    const struct exchange *exchange;
    enum awaited awaited;
};

static bool is_stopped(const struct directed *directed)
{
    return directed->live->stop && *directed->live->stop;
}

/* A request that was sent and does not stand at the proxy yet, and whose it is; NULL: none. */
static const struct exchange *not_at_proxy(const struct directed *directed, int *client)
{
    for (*client = 0; *client < directed->run->clients; ++*client)
        for (int i = 0; i < MESSAGES_MAX; i++) {
            const struct exchange *exchange = directed->exchanges[*client][i];
            if (exchange && exchange->arrived == 0 && exchange_is_at_head(exchange))
                return exchange;
        }
    return NULL;
}

/* Connections that were cut and have not gone yet. */
static int connections_leaving(const struct directed *directed)
{
    int leaving = 0;
    for (int server = 0; server < directed->run->servers; server++)
        leaving += directed->live->endpoints[server].connections;
    for (int client = 0; client < directed->run->clients; client++)
        for (int i = 0; i < CONNECTIONS_MAX; i++)
            for (int way = 0; way < CLUSTER_MASTERS; way++)
                leaving -= directed->connections[client][i][way] != NULL;
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
    int client;
    if (settling->directed->broken_server || is_stopped(settling->directed))
        return true;
    return exchange_is_there(settling) && !not_at_proxy(settling->directed, &client) &&
           connections_leaving(settling->directed) == 0;
}

/* --- what did not come --- */

static enum fail did_not_come(const struct settling *settling, struct failure *failure)
{
    const struct directed *directed = settling->directed;
    int client;
    const struct exchange *sent = not_at_proxy(directed, &client);
    if (sent)
        return failure_set(failure, FAIL_UNKNOWN, "%s's %s to server %d did not reach the proxy",
                           directed->run->names[client], verb_name(sent->command.verb),
                           sent->connection->endpoint->number + 1);
    if (settling->exchange && !exchange_is_there(settling))
        return failure_set(failure, FAIL_UNKNOWN, "%s at server %d was not %s within %d s",
                           verb_name(settling->exchange->command.verb),
                           settling->exchange->connection->endpoint->number + 1,
                           settling->awaited == AWAITED_EXECUTION ? "answered" : "heard",
                           SETTLE_LIMIT_US / 1000000);
    return failure_set(failure, FAIL_UNKNOWN, "%d cut connections did not end within %d s",
                       connections_leaving(directed), SETTLE_LIMIT_US / 1000000);
}

static enum fail interrupted(struct failure *failure)
{
    return failure_set(failure, FAIL_UNKNOWN, "it was interrupted");
}

/* A server that died is the reason; its end may take a moment longer than that of its connections.
 */
enum fail directed_say_broken(struct directed *directed, struct failure *failure)
{
    int server = directed->broken_server - 1;
    const char *words = directed->live->endpoints[server].complaint;
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
    if (is_stopped(directed))
        return interrupted(failure);
    if (fail == FAIL_UNKNOWN)
        return did_not_come(&settling, failure);
    if (fail)
        return fail;
    return directed->broken_server ? directed_say_broken(directed, failure) : FAIL_NONE;
}

/* Each look is an answer of the server's, so it comes further between two of them. */
enum fail directed_end_wait(struct directed *directed, const struct exchange *exchange,
                            struct failure *failure)
{
    struct live *live = directed->live;
    const int64_t limit_us = monotonic_us() + SETTLE_LIMIT_US;
    enum fail fail = FAIL_NONE;
    if (directed_is_real_time(directed))
        return FAIL_NONE;
    while (!fail && !directed->broken_server && !exchange_is_answered(exchange) &&
           !is_stopped(directed) && monotonic_us() < limit_us) {
        (void)uv_run(&live->loop, UV_RUN_NOWAIT);
        fail = servers_end_waits(&live->servers, exchange->connection->endpoint->number, failure);
    }
    return fail;
}

/* --- time --- */

int64_t directed_now_us(const struct backend *backend, int64_t now_us)
{
    const struct directed *directed = (const struct directed *)backend;
    return directed_is_real_time(directed) ? monotonic_us() - directed->began_us : now_us;
}

static void rings(uv_timer_t *timer)
{
    (void)timer;
}

enum fail directed_pass_time(struct backend *backend, int64_t amount_us, struct failure *failure)
{
    struct directed *directed = (struct directed *)backend;
    enum fail fail = FAIL_NONE;
    int64_t left_us = directed_is_real_time(directed) ? amount_us : 0;
    while (!fail && left_us > 0) {
        uv_update_time(&directed->live->loop);
        /* Short turns, so that a server that dies meanwhile is seen. It repeats: it may be due
         * before the loop looks, which would then sleep for ever. */
        (void)uv_timer_start(&directed->live->tick, rings,
                             left_us > 100000 ? 100 : (uint64_t)(left_us + 999) / 1000, 1);
        (void)uv_run(&directed->live->loop, UV_RUN_ONCE);
        (void)uv_timer_stop(&directed->live->tick);
        left_us = directed->choice_us + amount_us - directed_now_us(backend, 0);
        fail = is_stopped(directed) ? interrupted(failure)
                                    : servers_check(&directed->live->servers, failure);
    }
    return fail;
}
