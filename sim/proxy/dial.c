/* dial.c - the server's side of a link, until bytes may be written to it: dialled, and with TLS
 * shaken hands with. Both together are bounded. */
#include "proxy/internal.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>

static void failed(struct proxy_link *link, const char *why)
{
    struct proxy *proxy = link->proxy;
    proxy_notice(proxy, NOTICE_UNREACHABLE, link->owner, "cannot reach %s: %s",
                 proxy->upstream.text, why);
    /* Clients of any protocol see what they would see of Toxiproxy: FIN. */
    link_over(link, proxy->takes_any ? LEAVE_FIN : LEAVE_RST, LEAVE_NOW);
}

static void dial_failed(struct proxy_link *link, int error)
{
    char words[200];
    bool is_exhausted = error == UV_EMFILE || error == UV_ENFILE;
    snprintf(words, sizeof words, "%s%s", uv_strerror(error),
             is_exhausted ? "; raise the limit of open files (ulimit -n)" : "");
    failed(link, words);
}

static void on_late(uv_timer_t *timer)
{
    const struct flow *flow = timer->data;
    struct proxy_link *link = flow->link;
    if (!link->is_over)
        failed(link,
               link->server.tls
                   ? "the server does not answer in the handshake of TLS (does it speak TLS there?)"
                   : "the dial hangs");
}

static int port_of(const struct sockaddr_storage *address)
{
    return ntohs(address->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                                                : ((const struct sockaddr_in *)address)->sin_port);
}

static int own_port(struct side *side)
{
    struct sockaddr_storage own;
    int length = sizeof own;
    if (side->is_unix ||
        uv_tcp_getsockname(&side->socket->tcp, (struct sockaddr *)&own, &length) < 0)
        return 0;
    return port_of(&own);
}

static void stands(struct proxy_link *link)
{
    const struct proxy_hooks *hooks = &link->proxy->hooks;
    uv_timer_stop(&link->timer);
    side_connected(&link->server);
    if (hooks->dialled)
        hooks->dialled(hooks->context, link->owner, own_port(&link->server));
    if (link->proxy->carriers && !link->server.tls && !link->to_client.is_writing)
        link_give(link);
    flow_push(&link->to_server);
    flow_run(&link->to_server);
    flow_start(&link->to_client);
    if (link->server.tls && !link->is_over)
        flow_take_tls(&link->to_client); /* it may have come together with the handshake's end */
}

static void shake_hands(struct proxy_link *link)
{
    struct tls_session *tls = link->server.tls;
    enum tls_state state = tls_session_handshake(tls);
    flow_push(&link->to_server); /* in the end an alert, which says why */
    if (state == TLS_GOES_ON)
        return;
    uv_read_stop(&link->server.socket->stream);
    if (state == TLS_STANDS)
        stands(link);
    else
        failed(link,
               state == TLS_ENDED ? "the server ends the handshake of TLS" : tls_session_why(tls));
}

static void on_allocate(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    struct flow *flow = handle->data;
    (void)wanted;
    *buffer = uv_buf_init(flow->link->proxy->read_buffer, READ_MAX);
}

static void on_hand(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    const struct flow *flow = stream->data;
    struct proxy_link *link = flow->link;
    if (link->is_over || length == 0)
        return;
    if (length > 0) {
        tls_session_feed(link->server.tls, buffer->base, (size_t)length);
        shake_hands(link);
        return;
    }
    uv_read_stop(stream);
    failed(link, "the server ends the connection in the handshake of TLS");
}

static void on_dialled(uv_connect_t *dial, int status)
{
    struct proxy_link *link = dial->data;
    const struct proxy *proxy = link->proxy;
    if (status == UV_ECANCELED || link->is_over)
        return;
    if (status < 0) {
        dial_failed(link, status);
        return;
    }
    if (!proxy->upstream.is_tls) {
        stands(link);
        return;
    }
    if (!proxy->tls) {
        failed(link, "TLS is spoken by picklock proxy --upstream only");
        return;
    }
    link->server.tls = tls_session_new(proxy->tls, proxy->upstream.host);
    int error = uv_read_start(&link->server.socket->stream, on_allocate, on_hand);
    if (error)
        dial_failed(link, error);
    else
        shake_hands(link);
}

void link_dial(struct proxy_link *link)
{
    const struct proxy_hooks *hooks = &link->proxy->hooks;
    const struct address *upstream = &link->proxy->upstream;
    link->dial.data = link;
    link->is_dialled = true;
    int error = uv_timer_start(&link->timer, on_late, DIAL_MS, 0);
    assert(!error);
    if (!link->proxy->upstream_is_known) {
        dial_failed(link, UV_EAI_NONAME);
    } else if (!upstream->length) {
        uv_pipe_connect(&link->dial, &link->server.socket->pipe, upstream->path, on_dialled);
    } else {
        error = uv_tcp_connect(&link->dial, &link->server.socket->tcp,
                               (const struct sockaddr *)&upstream->storage, on_dialled);
        if (error)
            dial_failed(link, error);
        else if (hooks->dials)
            hooks->dials(hooks->context, port_of(&upstream->storage), own_port(&link->server));
    }
}
