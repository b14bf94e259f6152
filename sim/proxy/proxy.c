/* proxy.c - the listener: makes the proxy, accepts, closes. Never waits for anything. */
#include "proxy/internal.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    DESCRIPTORS_OF_OTHERS = 64,      /* files, pipes, the loop's own */
    DESCRIPTORS_WANTED = 128 * 1024, /* no use in more */
};

const char *proxy_notice_name(enum notice kind)
{
    static const char *const names[] = {
#define NOTICE(id, name, words) name,
#include "proxy/notices.def"
#undef NOTICE
    };
    return names[kind];
}

uint64_t proxy_noticed(const struct proxy *proxy, enum notice kind)
{
    return proxy->noticed[kind];
}

void proxy_told(const struct proxy_link *link)
{
    const struct proxy_hooks *hooks = &link->proxy->hooks;
    if (hooks->told)
        hooks->told(hooks->context, link->owner);
}

void proxy_settled(const struct proxy *proxy)
{
    if (proxy->hooks.settled)
        proxy->hooks.settled(proxy->hooks.context);
}

void proxy_notice(struct proxy *proxy, enum notice kind, void *link_owner, const char *format, ...)
{
    char words[512];
    va_list arguments;
    const struct proxy_hooks *hooks = &proxy->hooks;
    void (*tell)(void *, void *, const char *) =
        kind == NOTICE_UNFINISHED ? hooks->broken_off : hooks->notice;
    proxy->noticed[kind]++;
    if (!tell)
        return;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    tell(hooks->context, link_owner, words);
}

/* Raises the soft limit of open files as far as the hard one lets us. Returns how many links that
 * allows. */
static int64_t room_for_links(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 256;
    rlim_t wanted = limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max : DESCRIPTORS_WANTED;
    if (limit.rlim_cur < wanted) {
        struct rlimit raised = {.rlim_cur = wanted, .rlim_max = limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
            limit.rlim_cur = wanted;
    }
    if (limit.rlim_cur > DESCRIPTORS_WANTED)
        limit.rlim_cur = DESCRIPTORS_WANTED;
    int64_t left = (int64_t)limit.rlim_cur - DESCRIPTORS_OF_OTHERS;
    return left < 2 ? 1 : left / 2;
}

/* A write to a peer that is gone must be an error, not the end of the process. */
static void ignore_broken_pipes(void)
{
    struct sigaction now;
    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
        now.sa_handler = SIG_IGN;
        int error = sigaction(SIGPIPE, &now, NULL);
        assert(!error);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct proxy *proxy = listener->data;
    if (status < 0)
        proxy_notice(proxy, NOTICE_NOT_ACCEPTED, NULL, "cannot accept: %s", uv_strerror(status));
    else
        link_new(proxy, -1, SOCKET_OF_LISTENER);
}

void proxy_take_client(struct proxy *proxy, int socket)
{
    link_new(proxy, socket, SOCKET_UNIX);
}

static void free_if_closed(struct proxy *proxy);

static void on_listener_closed(uv_handle_t *handle)
{
    struct proxy *proxy = handle->data;
    proxy->listeners--;
    free(handle); /* its first member */
    free_if_closed(proxy);
}

static void close_listener(struct proxy *proxy)
{
    if (proxy->listener)
        uv_close(&proxy->listener->socket->handle, on_listener_closed);
    proxy->listener = NULL;
}

static int bind_listener(struct proxy *proxy, const struct address *address)
{
    struct listening_side *made = memory_new(1, sizeof *made);
    struct side *listener = &made->side;
    static_assert(offsetof(struct listening_side, socket) == 0, "freed by its handle");
    side_set_up(proxy, listener, &made->socket, !address->length, proxy);
    proxy->listener = listener;
    proxy->listeners++;
    return address->length
               ? uv_tcp_bind(&listener->socket->tcp, (const struct sockaddr *)&address->storage, 0)
               : uv_pipe_bind(&listener->socket->pipe, address->path);
}

static int listen_at(struct proxy *proxy)
{
    return uv_listen(&proxy->listener->socket->stream, BACKLOG_OF_LISTENER, on_connection);
}

enum fail proxy_new(struct proxy **made, uv_loop_t *loop, const struct proxy_address *listen,
                    const struct proxy_address *upstream, const struct proxy_hooks *hooks,
                    struct failure *failure)
{
    struct address where, server;
    if (address_resolve(listen, &where, failure) || address_resolve(upstream, &server, failure))
        return failure->code;
    struct proxy *proxy = memory_new(1, sizeof *proxy);
    proxy->loop = loop;
    proxy->hooks = *hooks;
    proxy->upstream = server;
    proxy->upstream_is_known = true;
    proxy->links_max = room_for_links();
    proxy->looked_at = LOOKED_AT_MAX;
    ignore_broken_pipes();
    int error = bind_listener(proxy, &where);
    if (!error)
        error = listen_at(proxy);
    if (error) {
        proxy_close(proxy, NULL, NULL);
        return failure_set(failure, FAIL_UNAVAILABLE, "cannot listen on %s: %s", where.text,
                           uv_strerror(error));
    }
    *made = proxy;
    return FAIL_NONE;
}

uint64_t proxy_reads(const struct proxy *proxy)
{
    return proxy->reads;
}

struct proxy_traffic proxy_traffic(const struct proxy *proxy)
{
    return (struct proxy_traffic){.links = proxy->links_opened,
                                  .ended = proxy->links_ended,
                                  .read = proxy->bytes_read,
                                  .written = proxy->bytes_written,
                                  .requests = proxy->requests,
                                  .replies = proxy->replies};
}

int64_t proxy_links_count(const struct proxy *proxy)
{
    return proxy->links_count;
}

void proxy_look_at(struct proxy *proxy, size_t bytes)
{
    proxy->looked_at = bytes;
}

void proxy_dial_late(struct proxy *proxy)
{
    proxy->dials_late = true;
}

int proxy_port(const struct proxy *proxy)
{
    struct sockaddr_storage bound;
    int length = sizeof bound;
    if (proxy->listener->is_unix ||
        uv_tcp_getsockname(&proxy->listener->socket->tcp, (struct sockaddr *)&bound, &length) < 0)
        return 0;
    return ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                             : ((struct sockaddr_in *)&bound)->sin_port);
}

/* Bound to its port at once, and not listening: the port stays ours, and who connects is refused.
 */
enum fail proxy_refuse(struct proxy *proxy, struct failure *failure)
{
    struct address where = {.length = sizeof where.storage};
    int length = sizeof where.storage;
    assert(!proxy->listener->is_unix && !proxy->is_refusing);
    int error = uv_tcp_getsockname(&proxy->listener->socket->tcp, (struct sockaddr *)&where.storage,
                                   &length);
    if (!error) {
        proxy->is_refusing = true;
        close_listener(proxy);
        error = bind_listener(proxy, &where);
    }
    return error ? failure_set(failure, FAIL_UNAVAILABLE,
                               "the listener cannot be closed for a while: %s", uv_strerror(error))
                 : FAIL_NONE;
}

enum fail proxy_accept(struct proxy *proxy, struct failure *failure)
{
    if (!proxy->is_refusing)
        return FAIL_NONE;
    proxy->is_refusing = false;
    int error = listen_at(proxy);
    return error ? failure_set(failure, FAIL_UNAVAILABLE, "cannot listen again: %s",
                               uv_strerror(error))
                 : FAIL_NONE;
}

void proxy_take_any_protocol(struct proxy *proxy)
{
    proxy->takes_any = true;
}

void proxy_use_tls(struct proxy *proxy, const struct tls *tls)
{
    proxy->tls = tls;
}

void proxy_set_upstream(struct proxy *proxy, const struct proxy_address *upstream)
{
    struct failure failure;
    struct address address;
    proxy->upstream_is_known = address_resolve(upstream, &address, &failure) == FAIL_NONE;
    proxy->upstream = address;
    if (!proxy->upstream_is_known)
        proxy_notice(proxy, NOTICE_UNREACHABLE, NULL, "%s", failure.text);
}

/* --- the end --- */

static void free_if_closed(struct proxy *proxy)
{
    if (!proxy->is_closing || proxy->links || proxy->listeners)
        return;
    void (*done)(void *) = proxy->done;
    void *context = proxy->done_context;
    requests_free_spare(proxy);
    flows_free_framers(proxy);
    free(proxy);
    if (done)
        done(context);
}

void proxy_link_gone(struct proxy_link *link)
{
    struct proxy *proxy = link->proxy;
    if (link->previous)
        link->previous->next = link->next;
    else
        proxy->links = link->next;
    if (link->next)
        link->next->previous = link->previous;
    if (--proxy->links_count < proxy->links_max)
        proxy->was_full = false;
    free(link);
    free_if_closed(proxy);
}

static void close_links(struct proxy *proxy, enum leave how)
{
    for (struct proxy_link *link = proxy->links; link; link = link->next) {
        if (link->is_told && how == LEAVE_NOW)
            link_abandon(link);
        link_over(link, how, how);
        if (!link->is_told)
            link->client_leaves = link->server_leaves = how;
    }
}

void proxy_send_by(struct proxy *proxy, struct send_thread *send_thread)
{
    proxy->send_thread = send_thread;
}

void proxy_carry(struct proxy *proxy, struct carriers *carriers)
{
    proxy->carriers = carriers;
    proxy->links_max = carriers ? carriers_room(carriers) : room_for_links();
    if (!carriers)
        close_links(proxy, LEAVE_NOW);
}

static void begin_to_close(struct proxy *proxy, void (*done)(void *context), void *context)
{
    assert(!proxy->is_closing);
    proxy->is_closing = true;
    proxy->done = done;
    proxy->done_context = context;
    close_listener(proxy);
}

void proxy_close(struct proxy *proxy, void (*done)(void *context), void *context)
{
    begin_to_close(proxy, done, context);
    close_links(proxy, LEAVE_NOW);
}

void proxy_leave(struct proxy *proxy, void (*done)(void *context), void *context)
{
    begin_to_close(proxy, done, context);
    close_links(proxy, LEAVE_FIN);
}
