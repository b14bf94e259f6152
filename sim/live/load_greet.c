/* load_greet.c - before the clock of a stress run starts its clients connect. See stress.h. */
#include "live/stress.h"

enum { GREET_LIMIT_US = 20000000 };

static int greet_batch(const struct stress *stress)
{
    return stress->carriers ? GREET_BATCH_CARRIED : GREET_BATCH;
}

struct greeting {
    struct stress *stress;
    int upto, batch; /* load clients */
};

/* Has every server answered it? */
static bool is_greeted(const struct stress *stress, int load_client)
{
    for (int i = 0; i < stress->options->servers; i++) {
        const struct connection *connection =
            stress->load_clients[load_client].connections[i][LANE_MAIN];
        if (!connection || !connection->is_greeted)
            return false;
    }
    return true;
}

/* Has a signal ended the run before it has begun? */
static bool is_called_off(const struct stress *stress)
{
    return stress_is_cut_short(stress->options, 0);
}

static bool are_connected(void *context)
{
    const struct greeting *greeting = context;
    const struct stress *stress = greeting->stress;
    if (is_called_off(stress))
        return true;
    for (int i = greeting->upto - 1; i >= 0 && i >= greeting->upto - greeting->batch; i--)
        if (!is_greeted(stress, i))
            return stress->failure.code; /* one that was turned away ends it all */
    return true;
}

static enum fail greet_some(struct stress *stress, int upto, struct failure *failure)
{
    struct greeting greeting = {stress, upto, greet_batch(stress)};
    enum fail fail =
        live_run_until(stress->live, are_connected, &greeting, GREET_LIMIT_US, failure);
    stress->has_seen_death = fail == FAIL_UNAVAILABLE;
    if (fail == FAIL_UNKNOWN)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "%d clients could not be connected within %d s: %s", upto,
                           GREET_LIMIT_US / 1000000, stress->live->endpoints[0].complaint);
    if (!fail && stress->failure.code)
        return failure_set(failure, stress->failure.code,
                           "not all of %d clients could be connected: %s", stress->options->clients,
                           stress->failure.text);
    return fail;
}

enum fail load_greet(struct stress *stress, struct failure *failure)
{
    int clients = stress->options->clients;
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < clients && !fail && !is_called_off(stress); i++) {
        struct load_client *load_client = &stress->load_clients[i];
        for (int server = 0; server < stress->options->servers && !fail; server++) {
            struct connection **connection = &load_client->connections[server][LANE_MAIN];
            fail =
                connection_new(connection, &stress->live->endpoints[server], load_client, failure);
            if (!fail)
                connection_greet(*connection);
        }
        if (!fail && ((i + 1) % greet_batch(stress) == 0 || i + 1 == clients))
            fail = greet_some(stress, i + 1, failure);
    }
    for (int i = 0; i < clients && !fail; i++)
        stress->greeted += is_greeted(stress, i);
    return fail || is_called_off(stress) ? fail : load_order_prove(stress, failure);
}
