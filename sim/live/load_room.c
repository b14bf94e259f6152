/* load_room.c - how many clients of a stress run can be connected at all. See stress.h. */
#include "live/stress.h"

#include "proxy/carrier.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

enum {
    DESCRIPTORS_SPARE = 200, /* of ours beside clients' connections: servers, listeners, files */
    DESCRIPTORS_OF_WIRE = 3, /* the client's, and the proxy's two where no carrier holds them */
    WIRES_OF_SERVER = 15000, /* below its maxclients, and the ports of one address */
    LINKS_OF_OURS = 16,      /* beside clients': who asks through the proxy which server answers */
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

/* Where the proxy's ends of connections are. */
enum proxy_ends { ENDS_OURS, ENDS_CARRIED, ENDS_NONE };

static int64_t descriptors_of_wire(enum proxy_ends way)
{
    return way == ENDS_OURS ? DESCRIPTORS_OF_WIRE : 1;
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

/* Those that are only dialled are ours, also where carriers hold the others. */
static int64_t dialled_of(int64_t connections)
{
    const int64_t storm = connections / 8; /* all are, behind a fault that ended them */
    return 2 * (storm > GREET_BATCH_CARRIED ? storm : GREET_BATCH_CARRIED);
}

static int64_t descriptors_of(int64_t connections, enum proxy_ends way)
{
    return connections * descriptors_of_wire(way) + DESCRIPTORS_SPARE +
           (way == ENDS_CARRIED ? dialled_of(connections) : 0);
}

static int64_t connections_by_files(enum proxy_ends way)
{
    int64_t ours = (open_files() - DESCRIPTORS_SPARE) / descriptors_of_wire(way);
    const int64_t carried = CARRIERS_MAX * carrier_room() - LINKS_OF_OURS;
    while (way == ENDS_CARRIED && ours > 0 && descriptors_of(ours, way) > open_files())
        ours--;
    return way == ENDS_CARRIED && carried < ours ? carried : ours;
}

static int64_t connections_at_most(const struct stress_options *options, enum proxy_ends way)
{
    const int64_t by_files = connections_by_files(way);
    const int64_t by_servers = connections_by_servers(options);
    return by_files < by_servers ? by_files : by_servers;
}

/* Of few open files there are more for those that nobody carries. */
static int64_t clients_that_fit(const struct stress_options *options, enum proxy_ends way)
{
    const int64_t connections = connections_at_most(options, way);
    const int64_t fit_ours = way == ENDS_CARRIED ? clients_that_fit(options, ENDS_OURS) : 0;
    int64_t fit = options->clients;
    while (fit > 0 && connections_of_clients(options, fit) > connections)
        fit--;
    return fit < fit_ours ? fit_ours : fit;
}

static enum proxy_ends way_of(const struct stress_options *options)
{
    const int64_t needed = connections_of_clients(options, options->clients);
    if (options->is_direct)
        return ENDS_NONE;
    return options->proxy_processes || needed > connections_by_files(ENDS_OURS) ? ENDS_CARRIED
                                                                                : ENDS_OURS;
}

int load_room_processes(const struct stress_options *options)
{
    const int64_t needed = connections_of_clients(options, options->clients) + LINKS_OF_OURS;
    const int64_t each = carrier_room();
    if (way_of(options) != ENDS_CARRIED)
        return 0;
    const int64_t processes = each > 0 ? (needed + each - 1) / each : CARRIERS_MAX;
    if (processes < options->proxy_processes)
        return options->proxy_processes;
    return processes < CARRIERS_MAX ? (int)processes : CARRIERS_MAX;
}

/* What there is room for without the proxy; nothing where one cannot go without it, or no more
 * clients would fit. */
static void tell_direct(const struct stress *stress, int64_t fit, char text[DIRECT_TEXT_MAX])
{
    const struct stress_options *options = stress->options;
    const bool tells_order = stress->live->servers.steering == BENT_TIME;
    const int64_t direct = clients_that_fit(options, ENDS_NONE);
    text[0] = 0;
    if (!options->is_direct && tells_order && direct > fit)
        (void)snprintf(text, DIRECT_TEXT_MAX,
                       "; or go without the proxy and the faults of the network "
                       "(--direct --clients %" PRId64 " fits)",
                       direct);
}

/* Behind a fault that ended all connections at once clients dial as many as there are files for
 * beside those that stand: the others wait. */
static struct load_room room_of(const struct stress_options *options, int64_t connections,
                                enum proxy_ends way)
{
    const int64_t carried = load_room_processes(options) * carrier_room() - LINKS_OF_OURS;
    if (way != ENDS_CARRIED)
        return (struct load_room){.connections = connections, .dials = connections};
    const int64_t most = connections < carried ? connections : carried;
    return (struct load_room){.connections = most,
                              .dials = (open_files() - DESCRIPTORS_SPARE - most) / 2};
}

enum fail load_room(const struct stress *stress, struct load_room *room, struct failure *failure)
{
    const struct stress_options *options = stress->options;
    const int64_t by_servers = connections_by_servers(options);
    const int64_t needed = connections_of_clients(options, options->clients);
    const enum proxy_ends way = way_of(options);
    const int64_t most = connections_at_most(options, way);
    *room = room_of(options, most, way);
    if (needed <= most)
        return FAIL_NONE;
    const int64_t fit = clients_that_fit(options, way);
    char fits[FITS_TEXT_MAX] = "not one fits", direct[DIRECT_TEXT_MAX];
    if (fit > 0)
        (void)snprintf(fits, sizeof fits, "--clients %" PRId64 " fits", fit);
    tell_direct(stress, fit, direct);
    if (most < by_servers)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "%d clients of %s need %" PRId64
                           " open files, and this process may have %" PRId64
                           ": %s%s; or raise the limit (ulimit -n %" PRId64 ")",
                           options->clients, options->scheme->name, descriptors_of(needed, way),
                           open_files(), fits, direct, descriptors_of(needed, way));
    return failure_set(failure, FAIL_UNAVAILABLE,
                       "%d clients of %s need %" PRId64 " connections, and %d server%s %" PRId64
                       ": %s",
                       options->clients, options->scheme->name, needed, options->servers,
                       options->servers == 1 ? " takes" : "s take", by_servers, fits);
}
