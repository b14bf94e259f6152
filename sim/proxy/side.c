/* side.c - one socket of a link, TCP or unix: set up, half-closed, closed with FIN or RST. */
#include "proxy/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

void side_set_up(struct proxy *proxy, struct side *side, union socket *socket, bool is_unix,
                 void *data)
{
    side->socket = socket;
    side->is_unix = is_unix;
    int error = is_unix ? uv_pipe_init(proxy->loop, &side->socket->pipe, 0)
                        : uv_tcp_init(proxy->loop, &side->socket->tcp);
    assert(error == 0); /* takes no descriptor yet, so nothing can fail */
    side->socket->handle.data = data;
    side->is_open = true;
}

void side_connected(struct side *side)
{
    side->is_connected = true;
    if (!side->is_unix) /* or waits of 40 ms look like faults; an error here costs only that */
        (void)uv_tcp_nodelay(&side->socket->tcp, 1);
}

/* --- bytes, at once --- */

/* recv() and send() instead of libuv's read() and write(): of a socket they cost less. */
static ssize_t count_or_error(ssize_t count)
{
    if (count >= 0)
        return count;
    return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? UV_EAGAIN : -errno;
}

ssize_t side_receive(struct side *side, char *bytes, size_t room)
{
    uv_os_fd_t fd;
    const int error = uv_fileno(&side->socket->handle, &fd);
    if (error)
        return error;
    const ssize_t length = recv(fd, bytes, room, MSG_DONTWAIT);
    return length == 0 ? UV_EOF : count_or_error(length);
}

ssize_t side_send(struct side *side, const char *bytes, size_t length)
{
    uv_os_fd_t fd;
    if (side->carried)
        return carried_send(side->carried, bytes, length);
    const int error = uv_fileno(&side->socket->handle, &fd);
    return error ? error : count_or_error(send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL));
}

bool side_hand(struct side *side, const char *bytes, size_t length)
{
    struct send_thread *send_thread = side->link->proxy->send_thread;
    uv_os_fd_t fd;
    return send_thread && !uv_fileno(&side->socket->handle, &fd) &&
           send_thread_take(send_thread, &side->link->outlet, fd, bytes, length);
}

void side_settle(struct side *side)
{
    struct send_thread *send_thread = side->link->proxy->send_thread;
    if (send_thread)
        send_thread_settle(send_thread, &side->link->outlet);
}

/* --- a socket that a carrier holds --- */

void side_give(struct side *side)
{
    struct proxy_link *link = side->link;
    uv_os_fd_t fd;
    if (!side->is_open || uv_fileno(&side->socket->handle, &fd))
        return;
    side->carried = carried_new(link->proxy->carriers, fd, side->socket->handle.data);
    if (!side->carried)
        return; /* no room: it stays ours */
    link->handles++;
    uv_close(&side->socket->handle, link_side_closed);
}

/* There is something to read. It is read here: without a buffer libuv reads nothing itself, and
 * calls on_read() with UV_ENOBUFS. */
static void on_allocate(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    const struct flow *flow = handle->data;
    struct proxy *proxy = flow->link->proxy;
    (void)wanted;
    proxy->received = side_receive(flow->from, proxy->read_buffer, READ_MAX);
    *buffer = uv_buf_init(NULL, 0);
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct flow *flow = stream->data;
    const struct proxy *proxy = flow->link->proxy;
    (void)buffer;
    flow->from->came(flow, proxy->read_buffer, length == UV_ENOBUFS ? proxy->received : length);
}

int side_read_start(struct side *side, side_came *came)
{
    side->came = came;
    if (!side->carried)
        return uv_read_start(&side->socket->stream, on_allocate, on_read);
    carried_read_start(side->carried, came);
    return 0;
}

void side_read_stop(struct side *side)
{
    if (side->carried)
        carried_read_stop(side->carried);
    else
        (void)uv_read_stop(&side->socket->stream);
}

int side_write(struct side *side, uv_write_t *write, const uv_buf_t *buffer, uv_write_cb wrote)
{
    if (!side->carried)
        return uv_write(write, &side->socket->stream, buffer, 1, wrote);
    carried_write(side->carried, write, buffer, wrote);
    return 0;
}

static void close_carried(struct side *side, enum leave how)
{
    struct carried_side *carried = side->carried;
    side->carried = NULL;
    carried_close(carried, how == LEAVE_RST && !side->is_unix);
    link_handle_closed(side->link);
}

/* --- the end --- */

void side_shut_writing(struct side *side)
{
    uv_os_fd_t fd;
    if (side->is_open && side->carried)
        carried_finish(side->carried);
    else if (side->is_open && !uv_fileno(&side->socket->handle, &fd) && shutdown(fd, SHUT_WR) < 0)
        assert(errno != EBADF); /* a peer that is gone already is no news here */
}

void side_close(struct side *side, enum leave how)
{
    uv_os_fd_t fd;
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    if (!side->is_open)
        return;
    side->is_open = side->is_connected = false;
    if (side == &side->link->server) {
        side_settle(side);
        free(side->link->outlet.left);
        side->link->outlet = (struct outlet){0};
    }
    if (side->carried) {
        close_carried(side, how);
        return;
    }
    if (how == LEAVE_RST && !side->is_unix && !uv_fileno(&side->socket->handle, &fd) &&
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) < 0)
        assert(errno != EBADF);
    uv_close(&side->socket->handle, link_side_closed);
}
