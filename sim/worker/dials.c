/* dials.c - connections that a worker has, makes, and is not answered about. See session.h. */
#include "worker/session_state.h"

int64_t dials_unknown_sockets(const struct session *session, int client)
{
    const struct time_counts *counts = &worker_time(session->clients[client].worker)->page->counts;
    int64_t count = (int64_t)(atomic_load(&counts->connections) - atomic_load(&counts->closed));
    for (const struct wire *wire = session->wires; wire; wire = wire->next)
        count -= wire->client == client && !wire->is_cut && !wire->is_silent &&
                 !wire->is_half_open && !proxy_link_is_left(wire->link);
    return count;
}

bool dials_are_held(const struct session *session, int client)
{
    bool holds = false;
    for (int i = 0; i < session->options.servers; i++)
        holds |= proxy_holds_dials(session->listeners[client][i].proxy);
    return holds;
}

/* Nothing on its way would make it go on: it may dial, whatever is counted. */
static bool may_wait(const struct session *session, int client)
{
    bool has_message = false;
    for (const struct wire_message *message = session->first; message; message = message->next)
        has_message |= message->client == client && !message->is_gone && !message->is_silent;
    return session_is_asked(session, client) && !has_message;
}

void dials_find(struct session *session)
{
    for (int i = 0; i < session->options.clients; i++) {
        session->clients[i].connecting = 0;
        if (!session->clients[i].worker ||
            (dials_unknown_sockets(session, i) <= 0 && !may_wait(session, i)))
            continue; /* to ask the kernel takes it milliseconds */
        for (int k = 0; k < session->options.servers; k++)
            if (proxy_held_dials(session->listeners[i][k].proxy))
                session->clients[i].connecting |= 1u << k;
    }
}

/* --- session.h --- */

enum fail session_answer_dials(struct session *session, int client, int server, bool is_answered,
                               struct failure *failure)
{
    struct proxy *proxy = session->listeners[client][server].proxy;
    return is_answered ? proxy_answer_dials(proxy, failure) : proxy_hold_dials(proxy, failure);
}

unsigned session_connected(const struct session *session, int client)
{
    unsigned connected = 0;
    for (const struct wire *wire = session->wires; wire; wire = wire->next)
        if (wire->client == client && !wire->is_cut)
            connected |= 1u << wire->server;
    return connected;
}

unsigned session_redials(const struct session *session, int client)
{
    return session->clients[client].redials;
}

unsigned session_connecting(const struct session *session, int client)
{
    return session->clients[client].connecting;
}

/* --- those that pass nothing --- */

void session_silence(struct session *session, int client, int connection)
{
    for (struct wire *wire = session->wires; wire; wire = wire->next) {
        if (wire->client != client || wire->connection != connection)
            continue;
        proxy_link_silence(wire->link);
        wire->is_silent = true;
        wire->connection = 0;
    }
}

bool session_has_silence(const struct session *session, int client)
{
    for (const struct wire *wire = session->wires; wire; wire = wire->next)
        if (wire->client == client && wire->is_silent && !wire->is_cut)
            return true;
    return false;
}

bool session_is_silent(const struct wire_message *message)
{
    return message->wire && message->wire->is_silent;
}

int session_half_open(struct session *session, int client, int server)
{
    int count = 0;
    for (struct wire *wire = session->wires; wire; wire = wire->next) {
        if (wire->client != client || wire->server != server || wire->is_cut || wire->is_silent ||
            wire->is_half_open)
            continue;
        wire->is_half_open = true;
        proxy_link_room(wire->link, PROXY_TO_CLIENT, false); /* nor hears it the server's end */
        for (struct wire_message *message = session->first; message; message = message->next)
            message->is_silent |= message->wire == wire;
        count++;
    }
    return count;
}

bool session_has_half_open(const struct session *session, int client)
{
    for (const struct wire *wire = session->wires; wire; wire = wire->next)
        if (wire->client == client && wire->is_half_open && !wire->is_cut)
            return true;
    return false;
}
