/* past.c - has anybody talked to a server past the proxy? See session.h.
 *
 * What is said on such a connection nobody here sees; so what a worker did over it, or was told, is
 * not known. The library preloaded into a server counts all that it accepts (live/read_log.h), and
 * its own log of that nobody else can reset, as the figures of INFO can be. */
#include "worker/session_state.h"

#include <inttypes.h>

/* Some of ours may be on their way still. */
enum { LOOKS = 50 };

static uint64_t ours(const struct session *session, int server)
{
    uint64_t count = session->beside[server];
    for (int i = 0; i < session->options.clients; i++)
        if (session->listeners[i][server].proxy)
            count += proxy_traffic(session->listeners[i][server].proxy).dials;
    return count;
}

static enum fail check_server(struct session *session, int server, uint64_t more,
                              struct failure *failure)
{
    uint64_t all = 0, known = 0;
    for (int i = 0; i < LOOKS; i++) {
        if (process_count_connections(&session->servers.rows[server].process, &all, failure))
            return failure_set(failure, FAIL_UNKNOWN,
                               "whether anybody went past the proxy to server %d is not known",
                               server + 1);
        known = ours(session, server) + more;
        if (all == known)
            return FAIL_NONE;
        (void)uv_run(&session->loop, UV_RUN_NOWAIT);
    }
    return failure_set(failure, FAIL_UNKNOWN,
                       "somebody went past the proxy: server %d has had %" PRIu64
                       " connections, of which %" PRIu64
                       " are known; what was said on the others, and what that did to the lock, "
                       "nobody here can tell",
                       server + 1, all, known);
}

enum fail session_check_past(struct session *session, uint64_t first, struct failure *failure)
{
    for (int i = 0; i < session->options.servers; i++)
        if (check_server(session, i, i == 0 ? first : 0, failure))
            return failure->code;
    return FAIL_NONE;
}
