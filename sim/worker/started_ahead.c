/* started_ahead.c - processes that are started before they are needed: they begin while the ones
 * before them are still used, on another processor, and wait for their first request.
 *
 * Such a process is as one that is started when it is taken: its page shows, from its first
 * instruction on, the instant at which its run will begin. The reset before that run takes this
 * instant; where time has gone past it by then, nobody goes back, and the process is not used. One
 * that has ended, or has said something unasked, is not used either. */
#include "worker/session_state.h"

#include <assert.h>
#include <string.h>

enum { WHOLE_US = 1000000 };

/* A run may take so long, with those that need no new process behind it: some leases, and the
 * timers that resets wait for. */
enum { RUN_LEASES = 16, RUN_MORE_US = 100 * WHOLE_US };

void session_spoil_ahead(struct session *session, const struct worker *worker)
{
    for (int k = 0; k < session->ahead_count; k++)
        for (int i = 0; i < session->options.clients; i++)
            if (session->ahead[k].workers[i].worker == worker)
                session->ahead[k].workers[i].is_spoiled = true;
}

/* --- runs --- */

static void drop_from(struct session *session, int first)
{
    for (int k = first; k < session->ahead_count; k++)
        for (int i = 0; i < session->options.clients; i++)
            worker_free(session->ahead[k].workers[i].worker);
    session->ahead_count = first < session->ahead_count ? first : session->ahead_count;
}

/* The first one is over, or too early. */
static void drop_first(struct session *session)
{
    for (int i = 0; i < session->options.clients; i++)
        worker_free(session->ahead[0].workers[i].worker);
    session->ahead_count--;
    memmove(session->ahead, session->ahead + 1,
            (size_t)session->ahead_count * sizeof *session->ahead);
}

void session_drop_ahead(struct session *session)
{
    drop_from(session, 0);
}

/* Whoever needs one that cannot be started starts it then, and tells why. */
static void start_next(struct session *session)
{
    const int64_t lead_us = session_lead_us(session);
    const int64_t before_us = session->ahead_count
                                  ? session->ahead[session->ahead_count - 1].origin_us
                                  : session_page_us(session) + lead_us;
    const int64_t from_us = before_us + RUN_MORE_US + RUN_LEASES * session->options.lease_us;
    const unsigned clients = session->expected[session->ahead_count];
    struct ahead_run *run = &session->ahead[session->ahead_count++];
    struct failure unused;
    *run = (struct ahead_run){.origin_us = from_us / WHOLE_US * WHOLE_US, .clients = clients};
    for (int i = 0; i < session->options.clients; i++)
        if (clients >> i & 1)
            (void)session_launch(session, i, run->origin_us - lead_us, &run->workers[i].worker,
                                 &unused);
}

static int count_started(const struct session *session)
{
    int count = 0;
    for (int k = 0; k < session->ahead_count; k++)
        count += __builtin_popcount(session->ahead[k].clients);
    return count;
}

/* None that is not expected. */
static void start_all(struct session *session)
{
    int count = 0;
    while (count < session->ahead_count && count < session->expected_count &&
           session->ahead[count].clients == session->expected[count])
        count++;
    drop_from(session, count);
    while (session->ahead_count < AHEAD_RUNS && session->ahead_count < session->expected_count &&
           count_started(session) < AHEAD_ENOUGH)
        start_next(session);
}

void session_expect(struct session *session, const unsigned *anew, int count)
{
    assert(count <= SESSION_EXPECTED_MAX);
    memcpy(session->expected, anew, (size_t)count * sizeof *anew);
    session->expected_count = count;
    start_all(session);
}

/* --- taken --- */

static bool is_there(struct ahead_worker *ahead)
{
    if (ahead->worker)
        worker_read(ahead->worker);
    return ahead->worker && !ahead->is_spoiled && !worker_has_ended(ahead->worker);
}

int64_t session_next_origin_us(struct session *session, unsigned anew, int64_t earliest_us)
{
    while (session->ahead_count && session->ahead[0].origin_us < earliest_us)
        drop_first(session);
    for (int i = 0; i < session->options.clients && session->ahead_count; i++)
        if (anew >> i & 1 && is_there(&session->ahead[0].workers[i]))
            return session->ahead[0].origin_us;
    return earliest_us;
}

struct worker *session_take_ahead(struct session *session, int client)
{
    struct ahead_run *run = &session->ahead[0];
    if (!session->ahead_count || run->origin_us != session->origin_us ||
        !is_there(&run->workers[client]))
        return NULL;
    struct worker *worker = run->workers[client].worker;
    run->workers[client].worker = NULL;
    return worker;
}

void session_go_on_ahead(struct session *session)
{
    if (session->ahead_count && session->ahead[0].origin_us == session->origin_us)
        drop_first(session);
    if (session->expected_count)
        memmove(session->expected, session->expected + 1,
                (size_t)--session->expected_count * sizeof *session->expected);
    start_all(session);
}
