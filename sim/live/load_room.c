/* load_room.c - how many clients of a stress run can be connected at all. See stress.h. */
#include "live/stress.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

enum {
    DESCRIPTORS_SPARE = 200, /* of ours beside clients' connections: servers, listeners, files */
    DESCRIPTORS_OF_WIRE = 3, /* the client's, and the proxy's two */
    WIRES_OF_SERVER = 15000, /* below its maxclients, and the ports of one address */
    FITS_TEXT_MAX = 64,
    DIRECT_TEXT_MAX = 160,
};

/* What one client keeps open at most: a watchdog has a second connection to each server; one that
 * was given up lives on for a while, and a tenth is left for those. */
static int64_t connections_of_clients(const struct stress_options *options, int64_t clients)
{
    int64_t lanes = options->scheme->promises_notice ? LANE_COUNT : 1;
    return (clients * lanes * options->servers * 10 + 8) / 9;
}

static int64_t descriptors_of_wire(bool is_direct)
{
    return is_direct ? 1 : DESCRIPTORS_OF_WIRE;
}

static int64_t descriptors_of(const struct stress_options *options, int64_t connections)
{
    return connections * descriptors_of_wire(options->is_direct) + DESCRIPTORS_SPARE;
}

/* live_new() has raised the soft limit as far as it may be. */
static int64_t open_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    return limit.rlim_cur > INT32_MAX ? INT32_MAX : (int64_t)limit.rlim_cur;
}

static int64_t connections_by_servers(const struct stress_options *options)
{
    return (int64_t)WIRES_OF_SERVER * options->servers;
}

static int64_t connections_by_files(bool is_direct)
{
    return (open_files() - DESCRIPTORS_SPARE) / descriptors_of_wire(is_direct);
}

static int64_t connections_at_most(const struct stress_options *options, bool is_direct)
{
    const int64_t by_files = connections_by_files(is_direct);
    const int64_t by_servers = connections_by_servers(options);
    return by_files < by_servers ? by_files : by_servers;
}

static int64_t clients_that_fit(const struct stress_options *options, bool is_direct)
{
    const int64_t connections = connections_at_most(options, is_direct);
    int64_t fit = options->clients;
    while (fit > 0 && connections_of_clients(options, fit) > connections)
        fit--;
    return fit;
}

/* What there is room for without the proxy; nothing where one cannot go without it, or no more
 * clients would fit. */
static void tell_direct(const struct stress *stress, int64_t fit, char text[DIRECT_TEXT_MAX])
{
    const struct stress_options *options = stress->options;
    const bool tells_order = stress->live->servers.steering == BENT_TIME;
    const int64_t direct = clients_that_fit(options, true);
    text[0] = 0;
    if (!options->is_direct && tells_order && direct > fit)
        (void)snprintf(text, DIRECT_TEXT_MAX,
                       "; or go without the proxy and the faults of the network "
                       "(--direct --clients %" PRId64 " fits)",
                       direct);
}

enum fail load_room(const struct stress *stress, int *connections_max, struct failure *failure)
{
    const struct stress_options *options = stress->options;
    const int64_t by_servers = connections_by_servers(options);
    const int64_t needed = connections_of_clients(options, options->clients);
    const int64_t most = connections_at_most(options, options->is_direct);
    *connections_max = (int)most;
    if (needed <= most)
        return FAIL_NONE;
    const int64_t fit = clients_that_fit(options, options->is_direct);
    char fits[FITS_TEXT_MAX] = "not one fits", direct[DIRECT_TEXT_MAX];
    if (fit > 0)
        (void)snprintf(fits, sizeof fits, "--clients %" PRId64 " fits", fit);
    tell_direct(stress, fit, direct);
    if (most < by_servers)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "%d clients of %s need %" PRId64
                           " open files, and this process may have %" PRId64
                           ": %s%s; or raise the limit (ulimit -n %" PRId64 ")",
                           options->clients, options->scheme->name, descriptors_of(options, needed),
                           open_files(), fits, direct, descriptors_of(options, needed));
    return failure_set(failure, FAIL_UNAVAILABLE,
                       "%d clients of %s need %" PRId64 " connections, and %d server%s %" PRId64
                       ": %s",
                       options->clients, options->scheme->name, needed, options->servers,
                       options->servers == 1 ? " takes" : "s take", by_servers, fits);
}
