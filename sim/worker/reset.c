/* reset.c - workers and servers used again: as if all had just begun. See session.h.
 *
 * Time goes on for every process, as it does for any: a clock that goes back would strand the
 * timers of whatever runtime is in there. To the caller it is 0 again. What a worker says of its
 * own reset is not trusted: its connections and timers are held against those of its beginning. */
#include "base/units.h"
#include "worker/session_state.h"

#include <stdio.h>

/* A library that counts whole seconds sees each run begin with one. */
enum { WHOLE_US = 1000000 };

/* Timers of the run before: of those that ring within NEAR_US, so many are waited for. */
enum { TIMERS_MAX = 20, NEAR_US = 30 * WHOLE_US };

/* --- as it began --- */

static struct beginning beginning_of(struct session *session, int client)
{
    const struct time_page *page = worker_time(session->clients[client].worker)->page;
    struct beginning is = {.next_us = session_next_us(session, client),
                           .drawn = atomic_load(&page->drawn),
                           .uuids = atomic_load(&page->uuids)};
    for (const struct wire *wire = session->wires; wire; wire = wire->next)
        is.connections += wire->client == client && !wire->is_cut;
    return is;
}

void session_note_beginnings(struct session *session)
{
    for (int i = 0; i < session->options.clients; i++) {
        struct worker_slot *slot = &session->clients[i];
        slot->beginning = beginning_of(session, i);
        slot->beginning.has_children = worker_has_living_children(slot->worker);
        slot->redials = 0;
    }
}

static bool is_as_it_began(struct session *session, int client)
{
    const struct beginning *began = &session->clients[client].beginning;
    const struct beginning is = beginning_of(session, client);
    return is.connections == began->connections && is.next_us == began->next_us;
}

static enum fail say_difference(struct session *session, int client, struct failure *failure)
{
    const struct beginning *began = &session->clients[client].beginning;
    const struct beginning is = beginning_of(session, client);
    if (is.connections != began->connections)
        return failure_set(
            failure, FAIL_UNKNOWN,
            "worker %s does not begin in the same way twice: it had %d connection%s, "
            "and in a new process %d",
            session->options.names[client], began->connections, units_plural(began->connections),
            is.connections);
    return failure_set(failure, FAIL_UNKNOWN,
                       "worker %s does not begin in the same way twice: its timers differ",
                       session->options.names[client]);
}

/* --- parts --- */

/* Nothing is on its way any more, and no connection is left. */
static void drop_all(struct session *session)
{
    struct failure gone;
    for (int i = 0; i < session->options.clients; i++)
        for (int k = 0; k < session->options.servers; k++)
            (void)session_answer_dials(session, i, k, true,
                                       &gone); /* to who has just been killed */
    for (struct wire *wire = session->wires; wire; wire = wire->next)
        wire->is_half_open = false;
    for (int i = 0; i < session->options.servers; i++)
        session_cut_server(session, i);
    for (int i = 0; i < session->options.clients; i++)
        session_cut(session, i, 0);
    while (session->first)
        session_forget(session, session->first);
}

/* Who cannot be asked for a reset at all. */
static unsigned pending_clients(const struct session *session)
{
    unsigned pending = 0;
    for (int i = 0; i < session->options.clients; i++)
        if (session_is_asked(session, i) || worker_has_ended(session->clients[i].worker))
            pending |= 1u << i;
    return pending;
}

/* Timers that are left ring, each when it is due, and connections come back: a library connects
 * anew, and a runtime keeps the timer of what was taken back, and wakes for it. What is armed only
 * now would ring early in the next run. One that is set again and again stays. */
static enum fail ring_out(struct session *session, struct failure *failure)
{
    for (int i = 0; i < TIMERS_MAX; i++) {
        const int64_t next_us = session_next_us(session, -1);
        if (next_us == TIME_NEVER || next_us > session->now_us + NEAR_US)
            break;
        if (session_set_now(session, next_us, failure))
            return failure->code;
    }
    return FAIL_NONE;
}

/* Timers that are left ring now, to no effect. */
static enum fail move_on(struct session *session, struct failure *failure)
{
    const int64_t lead_us = session_lead_us(session);
    int64_t reached_us = session_page_us(session);
    for (int i = 0; i < session->options.clients; i++) {
        const int64_t own_us = session_own_us(session, i);
        reached_us = own_us > reached_us ? own_us : reached_us;
        session->clients[i].own_time = (struct own_time){0};
    }
    session->origin_us = ((reached_us + lead_us) / WHOLE_US + 2) * WHOLE_US;
    return session_set_now(session, -lead_us, failure);
}

/* Those that the run before has left refusing connections take them. */
static enum fail accept_all(struct session *session, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < session->options.servers && !fail; i++)
        fail = session_accept(session, i, failure);
    return fail;
}

static enum fail empty_servers(struct session *session, struct failure *failure)
{
    enum fail fail = servers_prepare(&session->servers, session->options.servers,
                                     session->options.has_replica, failure);
    servers_set_clock(&session->servers, session_page_us(session));
    for (int i = 0; i < session->options.servers && !fail; i++)
        session_follow_server(session, i);
    return fail;
}

static void forget_slot(struct worker_slot *slot)
{
    struct time_page *page = worker_time(slot->worker)->page;
    slot->attempt = 0;
    slot->has_notice = slot->has_exited = false;
    atomic_store(&page->wall_offset_us, 0);
    atomic_store(&page->drawn, slot->beginning.drawn);
    atomic_store(&page->uuids, slot->beginning.uuids);
}

/* All of them at once: to load a runtime takes longer than all the rest. */
static enum fail start_new(struct session *session, unsigned anew, struct failure *failure)
{
    for (int i = 0; i < session->options.clients; i++) {
        if (anew >> i & 1 && session_start_worker(session, i, failure))
            return failure->code;
    }
    return FAIL_NONE;
}

static enum fail begin_anew(struct session *session, int client, struct failure *failure)
{
    if (session_make_ready(session, client, WORKER_INIT, failure))
        return failure->code;
    return session_prove_time(session, client, failure);
}

/* As long as the proof of a new process takes: all begin at the same times, whoever is new. */
static enum fail ask_reset(struct session *session, int client, struct failure *failure)
{
    const int64_t until_us = session->now_us + SESSION_PROOF_US;
    if (session_make_ready(session, client, WORKER_RESET, failure))
        return failure->code;
    forget_slot(&session->clients[client]);
    return session_set_now(session, until_us, failure);
}

/* Who hangs is told by *hung, bit a client: it needs a new process. */
static enum fail begin_all(struct session *session, unsigned anew, unsigned *hung,
                           struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < session->options.clients && !fail; i++) {
        if (anew >> i & 1) {
            fail = begin_anew(session, i, failure);
            continue;
        }
        fail = ask_reset(session, i, failure);
        *hung |= fail == FAIL_UNKNOWN ? 1u << i : 0;
    }
    return fail;
}

static enum fail reset_once(struct session *session, unsigned anew, unsigned *hung,
                            struct failure *failure)
{
    for (int i = 0; i < session->options.clients; i++)
        if (anew >> i & 1)
            session_kill(session, i);
    drop_all(session);
    if (accept_all(session, failure))
        return failure->code;
    if (session_settle(session, failure) || ring_out(session, failure) || move_on(session, failure))
        return failure->code;
    drop_all(session);
    session_forget_names(session);
    if (empty_servers(session, failure) || start_new(session, anew, failure))
        return failure->code;
    enum fail fail = begin_all(session, anew, hung, failure);
    return fail ? fail : session_set_now(session, 0, failure);
}

/* --- all of it --- */

enum fail session_reset(struct session *session, unsigned anew, struct failure *failure)
{
    anew |= pending_clients(session);
    for (;;) {
        unsigned wrong = 0;
        enum fail fail = reset_once(session, anew, &wrong, failure);
        if (fail && (!wrong || wrong & anew))
            return fail;
        for (int i = 0; i < session->options.clients && !fail; i++) {
            wrong |= is_as_it_began(session, i) ? 0 : 1u << i;
            session->clients[i].redials = 0;
        }
        if (!wrong) {
            session_share_processor(session);
            return FAIL_NONE;
        }
        if (wrong & anew)
            return say_difference(session, __builtin_ctz(wrong & anew), failure);
        anew |= wrong;
    }
}
