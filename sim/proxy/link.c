/* link.c - the life of a link: accepted, dialled, served, ended. A farewell is never said inside a
 * hook. */
#include "proxy/internal.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

/* --- the end --- */

void link_side_closed(uv_handle_t *handle)
{
    const struct flow *flow = handle->data;
    link_handle_closed(flow->link);
}

void link_handle_closed(struct proxy_link *link)
{
    link->handles--;
    if (!link->client.is_open && !link->server.is_open &&
        !uv_is_closing((uv_handle_t *)&link->timer))
        uv_close((uv_handle_t *)&link->timer, link_side_closed);
    if (link->handles > 0)
        return;
    flow_free(&link->to_server);
    flow_free(&link->to_client);
    tls_session_free(link->server.tls);
    proxy_link_gone(link);
}

static void drained(struct flow *flow, const char *bytes, ssize_t length)
{
    (void)bytes;
    if (length < 0 && length != UV_EAGAIN)
        side_close(flow->from, LEAVE_NOW);
}

/* A close with unread bytes would send RST: so say FIN, and read until the peer has said so too. */
void link_flushed(struct flow *flow)
{
    struct side *side = flow->to;
    if (!side->is_open || !flow->link->is_told || block_length(&flow->backlog) ||
        !flow_is_written(flow) || !flow_shut(flow))
        return;
    if (side->has_ended || flow->is_mute || side_read_start(side, drained) < 0)
        side_close(side, LEAVE_NOW);
}

/* close_notify, if the peer is spoken to with TLS and it can be written at once: waits for nobody.
 * What was not written is lost, and then the end must look so. */
static void say_end(struct flow *flow)
{
    struct side *side = flow->to;
    char notice[512];
    if (!side->tls || !side->is_connected || flow->is_mute || flow->is_shut || flow->is_writing ||
        flow->link->is_silent || block_length(&flow->backlog))
        return;
    flow->is_shut = true;
    tls_session_end(side->tls);
    const size_t length = tls_session_take(side->tls, notice, sizeof notice);
    uv_buf_t buffer = uv_buf_init(notice, (unsigned)length);
    if (length)
        (void)uv_try_write(&side->socket->stream, &buffer, 1);
}

static void leave(struct side *side, struct flow *sink, enum leave how)
{
    block_free(&sink->held);
    if (sink->link->is_silent)
        block_free(&sink->backlog);
    if (how == LEAVE_FIN && side->is_connected) {
        flow_push(sink);
        link_flushed(sink);
    } else {
        if (how == LEAVE_NOW && sink->link->proxy->is_closing)
            say_end(sink);
        side_close(side, how);
    }
}

void link_abandon(struct proxy_link *link)
{
    side_close(&link->client, LEAVE_NOW);
    side_close(&link->server, LEAVE_NOW);
}

static void on_lingered(uv_timer_t *timer)
{
    struct flow *flow = timer->data;
    link_abandon(flow->link);
}

static void on_farewell(uv_timer_t *timer)
{
    struct flow *flow = timer->data;
    struct proxy_link *link = flow->link;
    struct proxy_hooks *hooks = &link->proxy->hooks;
    link->is_told = true;
    if (hooks->closed)
        hooks->closed(hooks->context, link->owner);
    requests_free_all(link);
    leave(&link->client, &link->to_client, link->client_leaves);
    link->proxy->links_ended++; /* behind that: whoever goes by it finds the client told */
    leave(&link->server, &link->to_server, link->server_leaves);
    int error = uv_timer_start(timer, on_lingered, LINGER_MS, 0);
    assert(!error || uv_is_closing((uv_handle_t *)timer));
}

static void stop_reading(struct flow *flow)
{
    if (flow->is_reading && flow->from->is_open)
        side_read_stop(flow->from);
    flow->is_reading = false;
}

void link_give(struct proxy_link *link)
{
    stop_reading(&link->to_server);
    side_give(&link->client);
    side_give(&link->server);
    flow_start(&link->to_server);
}

void link_over(struct proxy_link *link, enum leave client_leaves, enum leave server_leaves)
{
    if (link->is_over)
        return;
    link->is_over = true;
    link->client_leaves = client_leaves;
    link->server_leaves = server_leaves;
    stop_reading(&link->to_server);
    stop_reading(&link->to_client);
    int error = uv_timer_start(&link->timer, on_farewell, 0, 0);
    assert(!error);
}

void link_flow_done(struct flow *flow)
{
    struct proxy_link *link = flow->link;
    if (flow->ending == ENDED_BY_RST) {
        link_over(link, LEAVE_RST, LEAVE_NOW);
        return;
    }
    if (!flow->is_mute)
        (void)flow_shut(flow);
    if (!flow->is_to_server) {
        link->proxy->links_ended++;
        proxy_told(link);
    }
    if (link->to_server.is_done && link->to_client.is_done)
        link_over(link, LEAVE_NOW, LEAVE_NOW);
}

void proxy_link_cut(struct proxy_link *link, enum proxy_cut how)
{
    /* What went on to the server is executed: it gets FIN behind the last byte, whatever the client
     * gets. */
    link_over(link, how == PROXY_RST ? LEAVE_RST : LEAVE_FIN, LEAVE_FIN);
}

void proxy_link_reset(struct proxy_link *link)
{
    link_over(link, LEAVE_RST, LEAVE_RST);
}

static struct flow *flow_of(struct proxy_link *link, enum proxy_stream stream)
{
    return stream == PROXY_TO_SERVER ? &link->to_server : &link->to_client;
}

void proxy_link_write(struct proxy_link *link, enum proxy_stream stream, const char *bytes,
                      size_t length)
{
    if (!link->is_over)
        flow_write(flow_of(link, stream), bytes, length);
}

void proxy_link_let_end(struct proxy_link *link, enum proxy_stream stream)
{
    struct flow *flow = flow_of(link, stream);
    flow->is_end_let = true;
    flow_run(flow);
}

void proxy_link_room(struct proxy_link *link, enum proxy_stream stream, bool has_room)
{
    struct flow *flow = flow_of(link, stream);
    if (flow->is_owner_full == has_room) {
        flow->is_owner_full = !has_room;
        flow_start(flow);
    }
}

void proxy_link_silence(struct proxy_link *link)
{
    link->is_silent = true;
    stop_reading(&link->to_server);
    stop_reading(&link->to_client);
}

void proxy_link_speak(struct proxy_link *link)
{
    if (!link->is_silent || link->is_over)
        return;
    link->is_silent = false;
    flow_push(&link->to_server);
    flow_push(&link->to_client);
    flow_run(&link->to_server);
    flow_run(&link->to_client);
}

bool proxy_link_is_stuck(const struct proxy_link *link)
{
    return link->to_client.ending != NOT_ENDED ||
           (link->server.is_connected && !link->to_client.is_reading);
}

bool proxy_link_is_left(const struct proxy_link *link)
{
    return link->client.has_ended;
}

void *proxy_link_owner(const struct proxy_link *link)
{
    return link->owner;
}

uint64_t proxy_link_number(const struct proxy_link *link)
{
    return link->number;
}

const char *proxy_link_name(const struct proxy_link *link)
{
    return link->name;
}

/* --- the beginning --- */

static int port_of(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

/* Of the other end; 0: it has none. */
static int peer_port(struct side *side)
{
    struct sockaddr_storage peer;
    int length = sizeof peer;
    if (side->is_unix ||
        uv_tcp_getpeername(&side->socket->tcp, (struct sockaddr *)&peer, &length) < 0)
        return 0;
    return port_of(&peer);
}

static void insert(struct proxy *proxy, struct proxy_link *link)
{
    link->proxy = proxy;
    link->next = proxy->links;
    if (link->next)
        link->next->previous = link;
    proxy->links = link;
    proxy->links_count++;
}

static int open_client(struct proxy *proxy, struct side *client, int socket)
{
    if (socket < 0)
        return uv_accept(&proxy->listener->socket->stream, &client->socket->stream);
    const int error = client->is_unix ? uv_pipe_open(&client->socket->pipe, socket)
                                      : uv_tcp_open(&client->socket->tcp, socket);
    if (error < 0)
        (void)close(socket);
    return error;
}

void link_new(struct proxy *proxy, int socket, enum socket_kind kind)
{
    const bool is_unix = kind == SOCKET_UNIX || proxy->listener->is_unix;
    struct proxy_link *link = memory_new(1, sizeof *link);
    insert(proxy, link);
    pairing_init(&link->pairing);
    flow_init(&link->to_server, link, &link->client, &link->server, RESP_REQUESTS);
    flow_init(&link->to_client, link, &link->server, &link->client, RESP_REPLIES);
    link->client.link = link->server.link = link;
    side_set_up(proxy, &link->client, &link->sockets[0], is_unix, &link->to_server);
    side_set_up(proxy, &link->server, &link->sockets[1], !proxy->upstream.length, &link->to_client);
    int error = uv_timer_init(proxy->loop, &link->timer);
    assert(!error);
    link->timer.data = &link->to_server;
    link->handles = 3;
    if (open_client(proxy, &link->client, socket) < 0) {
        link->is_over = link->is_told = true; /* nobody has heard of it yet */
        proxy_notice(proxy, NOTICE_NOT_ACCEPTED, NULL, "a client could not be accepted");
        link_abandon(link);
        return;
    }
    side_connected(&link->client);
    link->number = ++proxy->links_opened;
    if (proxy->hooks.opened)
        proxy->hooks.opened(proxy->hooks.context, link, peer_port(&link->client), &link->owner);
    if (proxy->links_count > proxy->links_max) {
        const bool is_one_of_many = proxy->was_full;
        proxy->noticed[NOTICE_NO_ROOM] += proxy->was_full;
        if (!proxy->was_full)
            proxy_notice(
                proxy, NOTICE_NO_ROOM, link->owner,
                "no room for more than %lld links: raise the limit of open files (ulimit -n)",
                (long long)proxy->links_max);
        proxy->was_full = true;
        link_over(link, LEAVE_RST, LEAVE_NOW);
        /* At once: with no descriptor left libuv closes whoever waits, and tells nobody. */
        if (is_one_of_many)
            side_close(&link->client, LEAVE_RST);
        return;
    }
    if (link->is_over) /* the owner did not want it */
        return;
    if (!proxy->dials_late)
        link_dial(link);
    flow_start(&link->to_server);
}

void proxy_link_take(struct proxy_link *link)
{
    if (!link->is_over)
        flow_read_now(&link->to_server);
}

void proxy_link_watch(struct proxy_link *link, bool is_watched)
{
    if (!link->is_over)
        flow_watch(&link->to_server, is_watched);
}
