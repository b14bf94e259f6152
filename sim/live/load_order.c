/* load_order.c - a stress run follows the order in which its servers read. See stress.h. */
#include "live/stress.h"

#include "live/control.h"
#include "live/read_order.h"

#include <string.h>

/* Does that server read in one thread, as all do unless they are told otherwise? */
static bool reads_in_one_thread(redisContext *control)
{
    struct failure why;
    redisReply *got = control_ask(control, &why, "CONFIG GET io-threads");
    const bool is_one = got && got->type == REDIS_REPLY_ARRAY && got->elements == 2 &&
                        got->element[1]->type == REDIS_REPLY_STRING &&
                        strcmp(got->element[1]->str, "1") == 0;
    freeReplyObject(got);
    return is_one;
}

enum fail load_order_go_direct(const struct stress *stress, struct failure *failure)
{
    for (int i = 0; i < stress->options->servers && stress->options->is_direct; i++) {
        const struct proxy_address address = servers_address(&stress->live->servers, i);
        if (!stress->is_ordered || address.path[0])
            return failure_set(failure, FAIL_UNAVAILABLE,
                               "server %d does not tell in which order it reads: only the proxy "
                               "could know, and --direct goes without it",
                               i + 1);
        stress->live->endpoints[i].direct_port = address.port;
    }
    return FAIL_NONE;
}

enum fail load_order_go_near(struct stress *stress, struct failure *failure)
{
    if (!stress->options->is_near)
        return FAIL_NONE;
    if (near_link_open(&stress->near, stress->live->servers.folder.path, failure))
        return failure->code;
    for (int i = 0; i < stress->options->servers; i++)
        stress->live->endpoints[i].near = &stress->near;
    return FAIL_NONE;
}

void load_order_follow(struct stress *stress)
{
    const struct servers *servers = &stress->live->servers;
    stress->is_ordered = !servers->is_foreign;
    for (int i = 0; i < stress->options->servers && stress->is_ordered; i++)
        stress->is_ordered =
            servers->rows[i].process.reads && reads_in_one_thread(servers_control(servers, i));
    for (int i = 0; i < stress->options->servers && stress->is_ordered; i++)
        stress->live->endpoints[i].order = read_order_new(servers->rows[i].process.reads);
}

enum fail load_order_prove(const struct stress *stress, struct failure *failure)
{
    for (int server = 0; server < stress->options->servers && stress->is_ordered; server++) {
        bool is_seen = read_order_look(stress->live->endpoints[server].order);
        for (int i = 0; i < stress->options->clients && is_seen; i++)
            is_seen = read_order_has_seen(stress->load_clients[i].connections[server][LANE_MAIN]);
        if (!is_seen)
            return failure_set(failure, FAIL_UNAVAILABLE,
                               "server %d answers, and was not seen to read: the order in which "
                               "it executes is not known",
                               server + 1);
    }
    return FAIL_NONE;
}

void load_order_drop(struct stress *stress)
{
    for (int i = 0; i < stress->options->servers; i++) {
        stress->live->endpoints[i].direct_port = 0;
        stress->live->endpoints[i].near = NULL;
        read_order_free(stress->live->endpoints[i].order);
        stress->live->endpoints[i].order = NULL;
    }
    near_link_shut(&stress->near);
}

void load_order_leave(struct stress *stress, int server)
{
    read_order_free(stress->live->endpoints[server].order);
    stress->live->endpoints[server].order = NULL;
}

enum fail load_order_take(struct stress *stress, int server, struct failure *failure)
{
    const struct servers *servers = &stress->live->servers;
    struct endpoint *endpoint = &stress->live->endpoints[server];
    struct read_log *reads = servers->rows[server].process.reads;
    if (!stress->is_ordered)
        return FAIL_NONE;
    if (!reads || !reads_in_one_thread(servers_control(servers, server)))
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "the process that took the place of server %d does not tell in which "
                           "order it reads",
                           server + 1);
    endpoint->order = read_order_new(reads);
    if (endpoint->direct_port)
        endpoint->direct_port = servers_address(servers, server).port;
    return FAIL_NONE;
}
