/* past.c - has anybody talked to a server past the proxy? See session.h.
 *
 * What is said on such a connection nobody here sees; so what a worker did over it, or was told, is
 * not known. The library preloaded into a server counts all that it accepts (live/read_log.h), and
 * its own log of that nobody else can reset, as the figures of INFO can be. */
#include "worker/session_state.h"

#include <inttypes.h>

/* Some of ours may be on their way still. */
enum { LOOKS = 50 };

struct strangers {
    uint64_t all, known;
};

static uint64_t ours(const struct session *session, int server)
{
    uint64_t count = session->beside[server];
    for (int i = 0; i < session->options.clients; i++)
        if (session->listeners[i][server].proxy)
            count += proxy_traffic(session->listeners[i][server].proxy).dials;
    return count;
}

/* Of whom nobody knows, more than allowed. FAIL_UNAVAILABLE: it does not tell. */
static enum fail find_strangers(struct session *session, int server, int64_t allowed,
                                struct strangers *found, struct failure *failure)
{
    for (int i = 0; i < LOOKS; i++) {
        if (process_count_connections(&session->servers.rows[server].process, &found->all, failure))
            return failure->code;
        found->known = ours(session, server) + (uint64_t)allowed;
        if (found->all == found->known)
            break;
        (void)uv_run(&session->loop, UV_RUN_NOWAIT);
    }
    session->is_past |= found->all > found->known;
    return FAIL_NONE;
}

static enum fail say_past(int server, const struct strangers *found, struct failure *failure)
{
    return failure_set(failure, FAIL_UNKNOWN,
                       "somebody went past the proxy: server %d has had %" PRIu64
                       " connections, of which %" PRIu64
                       " are known; what was said on the others, and what that did to the lock, "
                       "nobody here can tell",
                       server + 1, found->all, found->known);
}

enum fail session_check_past(struct session *session, uint64_t first, struct failure *failure)
{
    for (int i = 0; i < session->options.servers; i++) {
        struct strangers found;
        if (find_strangers(session, i, i == 0 ? (int64_t)first : 0, &found, failure))
            return failure_set(failure, FAIL_UNKNOWN,
                               "whether anybody went past the proxy to server %d is not known",
                               i + 1);
        if (found.all != found.known)
            return say_past(i, &found, failure);
    }
    return FAIL_NONE;
}

bool session_is_past(const struct session *session)
{
    return session->is_past;
}

void session_note_beside(struct session *session, int server, uint64_t count)
{
    session->beside[server] += count;
}

/* --- of servers that may be struck --- */

void session_begin_counting(struct session *session)
{
    for (int i = 0; i < session->options.servers; i++) {
        struct process *process = &session->servers.rows[i].process;
        struct counted_from *from = &session->counted_from[i];
        struct failure failure;
        uint64_t all;
        if (from->pid == process->pid)
            continue;
        const bool is_first = !from->pid;
        if (process_count_connections(process, &all, &failure))
            continue;
        from->pid = process->pid;
        from->more = is_first ? 0 : (int64_t)(all - ours(session, i));
    }
}

enum fail session_check_counted(struct session *session, struct failure *failure)
{
    for (int i = 0; i < session->options.servers && !session->options.has_replica; i++) {
        const struct counted_from *from = &session->counted_from[i];
        struct failure failed;
        struct strangers found;
        if (!from->pid || from->pid != session->servers.rows[i].process.pid)
            continue;
        if (!find_strangers(session, i, from->more, &found, &failed) && found.all > found.known)
            return say_past(i, &found, failure);
    }
    return FAIL_NONE;
}
