/* strangers.c - which connections of our servers are none of ours. See servers.h.
 *
 * A port tells whose a connection is: while it is open nobody else has one from there to the same
 * server, and what is accepted from one port, and what we began there, are counted against each
 * other (process.h). So those are ours whose port we have told of: our own to a process, those of
 * proxies before it, and with them its replica's, which has no other way; and a sentinel's. */
#include "live/servers.h"

#include "base/units.h"
#include "live/control.h"

#include <inttypes.h>
#include <stdio.h>

static struct process *process_at(struct servers *servers, int port)
{
    for (int i = 0; i < servers->count; i++) {
        struct server *server = &servers->rows[i];
        if (server->process.pid && server->process.port == port)
            return &server->process;
        if (server->replica.pid && server->replica.port == port)
            return &server->replica;
    }
    for (int i = 0; i < servers->spares.count; i++)
        if (servers->spares.rows[i].port == port)
            return &servers->spares.rows[i];
    return NULL;
}

void servers_note_dial(struct servers *servers, int port, int from)
{
    struct process *process = process_at(servers, port);
    if (process)
        process_note_dial(process, from);
}

void servers_note_context(struct servers *servers, const redisContext *context)
{
    if (context)
        servers_note_dial(servers, context->tcp.port, control_own_port(context));
}

void servers_end_process(struct servers *servers, struct process *process)
{
    process_kill(process);
    servers->is_untold |= process->strangers < 0;
    servers->strangers += process->strangers > 0 ? process->strangers : 0;
    process->strangers = 0;
}

#define GONE "a server whose place another one has taken"

static enum fail judge(int64_t count, const char *who, struct failure *failure)
{
    if (count < 0)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "whether anybody went past the proxy is not known: %s does not tell who "
                           "connects",
                           who);
    if (count == 0)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNKNOWN,
                       "somebody went past the proxy: %s has had %" PRId64
                       " connection%s of which nobody here knows; what was said there, and what "
                       "that did to the lock, nobody here can tell",
                       who, count, units_plural(count));
}

static enum fail look(const struct process *process, const char *who, int number,
                      struct failure *failure)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s %d", who, number + 1);
    return judge(process_strangers(process), name, failure);
}

/* In reserve, or gone: a worker may have talked to those, too. */
static int64_t strangers_elsewhere(const struct servers *servers)
{
    int64_t count = servers->strangers;
    bool is_untold = false;
    for (int i = 0; i < servers->spares.count; i++) {
        const int64_t more = process_strangers(&servers->spares.rows[i]);
        is_untold |= more < 0;
        count += more > 0 ? more : 0;
    }
    return is_untold && !count ? -1 : count;
}

bool servers_has_only_ours(struct servers *servers, int server)
{
    return process_has_only_ours(&servers->rows[server].process);
}

enum fail servers_find_strangers(const struct servers *servers, struct failure *failure)
{
    if (servers->is_untold)
        return judge(-1, GONE, failure);
    for (int i = 0; i < servers->count; i++) {
        const struct server *server = &servers->rows[i];
        if (look(&server->process, "server", i, failure) ||
            look(&server->replica, "the replica of server", i, failure))
            return failure->code;
    }
    return judge(strangers_elsewhere(servers), GONE, failure);
}
