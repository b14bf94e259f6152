/* side.c - one socket of a link, TCP or unix: set up, half-closed, closed with FIN or RST. */
#include "proxy/internal.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

void side_set_up(struct proxy *proxy, struct side *side, bool is_unix, void *data)
{
    side->is_unix = is_unix;
    int error = is_unix ? uv_pipe_init(proxy->loop, &side->socket.pipe, 0)
                        : uv_tcp_init(proxy->loop, &side->socket.tcp);
    assert(error == 0); /* takes no descriptor yet, so nothing can fail */
    side->socket.handle.data = data;
    side->is_open = true;
}

void side_connected(struct side *side)
{
    side->is_connected = true;
    if (!side->is_unix) /* or waits of 40 ms look like faults; an error here costs only that */
        (void)uv_tcp_nodelay(&side->socket.tcp, 1);
}

void side_shut_writing(struct side *side)
{
    uv_os_fd_t fd;
    if (side->is_open && !uv_fileno(&side->socket.handle, &fd) && shutdown(fd, SHUT_WR) < 0)
        assert(errno != EBADF); /* a peer that is gone already is no news here */
}

void side_close(struct side *side, enum leave how)
{
    uv_os_fd_t fd;
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    if (!side->is_open)
        return;
    side->is_open = side->is_connected = false;
    if (how == LEAVE_RST && !side->is_unix && !uv_fileno(&side->socket.handle, &fd) &&
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) < 0)
        assert(errno != EBADF);
    uv_close(&side->socket.handle, link_side_closed);
}
