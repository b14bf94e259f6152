/* sockets.c - connections, and calls that block on a descriptor by themselves. See calls.h.
 *
 * A worker may connect to the ports that the page names, and to nothing else but what
 * local_sockets.h says. What goes over these
 * connections is read and written here, through descriptors of ours for the same sockets: so each
 * byte is counted as it moves. On any other descriptor a read that would wait is held until
 * something is there; the rest is the kernel's. Sources: connect(2), recv(2), readv(2),
 * SO_RCVTIMEO in socket(7). */
#include "worker/calls/state.h"
#include "base/dialled.h"
#include "worker/local_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOVED_MAX = 1 << 16, PIECES_MAX = 64 };

/* Ours for one of the worker's connections to our ports; -1: it is none. */
static int find_ours(const struct calls *calls, int descriptor)
{
    return descriptor >= 0 && descriptor < CALLS_SOCKETS_MAX ? calls->sockets[descriptor] - 1 : -1;
}

static void forget(struct calls *calls, int descriptor)
{
    const int ours = find_ours(calls, descriptor);
    if (ours < 0)
        return;
    (void)close(ours);
    calls->sockets[descriptor] = 0;
}

/* --- where to --- */

static enum call_fate refuse(struct time_page *page, struct held_thread *thread,
                             const struct sockaddr *address, socklen_t length)
{
    if (!atomic_load(&page->counts.refused)) {
        if (address->sa_family == AF_UNIX)
            local_print(page->refused, address, length);
        else
            time_print_address(page->refused, address);
    }
    atomic_fetch_add(&page->counts.refused, 1);
    return call_value(thread, -ECONNREFUSED);
}

/* Done here, so that it is known who listens: at a name that is the same here as there. It must not
 * wait; nobody else uses a socket that is not connected yet. */
static enum call_fate connect_locally(struct calls *calls, struct held_thread *thread,
                                      const struct sockaddr *address, socklen_t length)
{
    const struct sockaddr_un *local = (const void *)address;
    const int ours = calls_borrow(calls, (int)call_argument(thread, 0));
    if (local_is_of_system(address, length) || ours < 0)
        return ours < 0 || close(ours) == 0 ? FATE_KERNEL : call_value(thread, -EIO);
    const int flags = fcntl(ours, F_GETFL);
    const bool is_named = !local->sun_path[0] || local->sun_path[0] == '/';
    (void)fcntl(ours, F_SETFL, flags | O_NONBLOCK);
    const int fail = is_named && connect(ours, address, length) != 0 ? errno : 0;
    (void)fcntl(ours, F_SETFL, flags);
    const bool is_own = is_named && !fail && local_is_of_session(ours, calls->worker);
    if (!is_own && !fail)
        (void)shutdown(ours, SHUT_RDWR);
    (void)close(ours);
    return is_own || fail ? call_value(thread, -fail)
                          : refuse(calls->page, thread, address, length);
}

enum call_fate on_connect(struct calls *calls, struct held_thread *thread)
{
    struct sockaddr_storage to = {0};
    const struct sockaddr *address = (const struct sockaddr *)&to;
    const int descriptor = (int)call_argument(thread, 0);
    const uint64_t length = call_argument(thread, 2);
    if (length > sizeof to || !calls_read(calls, call_argument(thread, 1), &to, length))
        return call_value(thread, length > sizeof to ? -EINVAL : -EFAULT);
    if (local_is_one(address, (socklen_t)length))
        return connect_locally(calls, thread, address, (socklen_t)length);
    if (!time_is_inet(address, (socklen_t)length))
        return FATE_KERNEL;
    if (!time_is_our_port(calls->page, address))
        return refuse(calls->page, thread, address, (socklen_t)length);
    const int ours = find_ours(calls, descriptor);
    if (ours >= 0 && dialled_already(ours))
        return FATE_KERNEL;
    forget(calls, descriptor);
    if (descriptor >= 0 && descriptor < CALLS_SOCKETS_MAX)
        calls->sockets[descriptor] = 1 + calls_borrow(calls, descriptor);
    atomic_fetch_add(&calls->page->counts.connections, 1);
    return FATE_KERNEL;
}

enum call_fate on_close(struct calls *calls, struct held_thread *thread)
{
    if (find_ours(calls, (int)call_argument(thread, 0)) >= 0)
        atomic_fetch_add(&calls->page->counts.closed, 1);
    forget(calls, (int)call_argument(thread, 0));
    held_timers_closed(calls, (int)call_argument(thread, 0));
    return FATE_KERNEL;
}

/* --- what moves --- */

/* Where the bytes lie in the worker. */
struct pieces {
    struct iovec rows[PIECES_MAX];
    size_t count;
    int flags; /* of recv() or send() */
};

static struct pieces one_piece(const struct held_thread *thread, int flags)
{
    return (struct pieces){.rows = {{.iov_base = (void *)(uintptr_t)call_argument(thread, 1),
                                     .iov_len = (size_t)call_argument(thread, 2)}},
                           .count = 1,
                           .flags = flags};
}

/* False: a bad address, or too many. */
static bool read_pieces(const struct calls *calls, uint64_t from, uint64_t count,
                        struct pieces *pieces)
{
    pieces->count = (size_t)count;
    return count <= PIECES_MAX &&
           calls_read(calls, from, pieces->rows, count * sizeof(struct iovec));
}

/* Cut to so many bytes. */
static void cut(struct pieces *pieces, size_t limit)
{
    for (size_t i = 0; i < pieces->count; i++) {
        if (pieces->rows[i].iov_len > limit)
            pieces->rows[i].iov_len = limit;
        limit -= pieces->rows[i].iov_len;
    }
}

static size_t bytes_of(const struct pieces *pieces)
{
    size_t all = 0;
    for (size_t i = 0; i < pieces->count; i++)
        all += pieces->rows[i].iov_len;
    return all;
}

static int64_t time_out_of(struct calls *calls, const struct held_thread *thread, int ours,
                           int option)
{
    struct timeval limit = {0};
    socklen_t size = sizeof limit;
    if (thread->is_retried)
        return thread->until_us;
    if (getsockopt(ours, SOL_SOCKET, option, &limit, &size) != 0 ||
        (!limit.tv_sec && !limit.tv_usec))
        return TIME_NEVER;
    return calls_now_us(calls) + (int64_t)limit.tv_sec * TIME_SECOND_US + limit.tv_usec;
}

static bool blocks(int ours)
{
    return !(fcntl(ours, F_GETFL) & O_NONBLOCK);
}

/* Nothing could be moved: why, or held until it can. */
static enum call_fate not_moved(struct calls *calls, struct held_thread *thread, int ours,
                                int flags, short events)
{
    if (errno != EAGAIN || flags & MSG_DONTWAIT || !blocks(ours))
        return call_value(thread, -errno);
    const int64_t until_us =
        time_out_of(calls, thread, ours, events == POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO);
    return wait_for_one(thread, fcntl(ours, F_DUPFD_CLOEXEC, 0), events, until_us, -EAGAIN);
}

static enum call_fate receive(struct calls *calls, struct held_thread *thread, int ours,
                              struct pieces *pieces)
{
    static char bytes[MOVED_MAX];
    cut(pieces, sizeof bytes);
    const ssize_t moved = recv(ours, bytes, bytes_of(pieces), pieces->flags | MSG_DONTWAIT);
    if (moved < 0)
        return not_moved(calls, thread, ours, pieces->flags, POLLIN);
    const struct iovec local = {.iov_base = bytes, .iov_len = (size_t)moved};
    if (moved && process_vm_writev(calls->worker, &local, 1, pieces->rows, pieces->count, 0) < 0)
        return call_value(thread, -EFAULT);
    if (!(pieces->flags & MSG_PEEK))
        atomic_fetch_add(&calls->page->counts.received, (uint64_t)moved);
    calls_has_waited(calls); /* a program that reads something does not spin */
    return call_value(thread, moved);
}

static enum call_fate transmit(struct calls *calls, struct held_thread *thread, int ours,
                               struct pieces *pieces)
{
    static char bytes[MOVED_MAX];
    cut(pieces, sizeof bytes);
    const struct iovec local = {.iov_base = bytes, .iov_len = bytes_of(pieces)};
    if (local.iov_len &&
        process_vm_readv(calls->worker, &local, 1, pieces->rows, pieces->count, 0) < 0)
        return call_value(thread, -EFAULT);
    const ssize_t moved =
        send(ours, bytes, local.iov_len, pieces->flags | MSG_DONTWAIT | MSG_NOSIGNAL);
    if (moved < 0)
        return not_moved(calls, thread, ours, pieces->flags, POLLOUT);
    atomic_fetch_add(&calls->page->counts.sent, (uint64_t)moved);
    return call_value(thread, moved);
}

/* --- any other descriptor --- */

/* /dev/random, /dev/urandom: what getrandom() gives. */
static bool is_random(int ours)
{
    struct stat file;
    return fstat(ours, &file) == 0 && S_ISCHR(file.st_mode) && major(file.st_rdev) == 1 &&
           (minor(file.st_rdev) == 8 || minor(file.st_rdev) == 9);
}

static enum call_fate wait_to_read(struct calls *calls, struct held_thread *thread, int flags)
{
    const int ours = calls_borrow(calls, (int)call_argument(thread, 0));
    struct pollfd row = {.fd = ours, .events = POLLIN};
    if (ours < 0)
        return FATE_KERNEL;
    (void)held_timers_next_us(calls);
    if (!(flags & MSG_DONTWAIT) && blocks(ours) && poll(&row, 1, 0) == 0)
        return wait_for_one(thread, ours, POLLIN, time_out_of(calls, thread, ours, SO_RCVTIMEO),
                            -EAGAIN);
    const bool is_drawn = thread->call.data.nr == SYS_read && is_random(ours);
    (void)close(ours);
    return is_drawn ? draw_random(calls, thread, 1) : FATE_KERNEL;
}

/* --- the calls --- */

enum call_fate on_read(struct calls *calls, struct held_thread *thread)
{
    const int ours = find_ours(calls, (int)call_argument(thread, 0));
    struct pieces pieces = one_piece(thread, 0);
    return ours < 0 ? wait_to_read(calls, thread, 0) : receive(calls, thread, ours, &pieces);
}

enum call_fate on_recvfrom(struct calls *calls, struct held_thread *thread)
{
    const int ours = find_ours(calls, (int)call_argument(thread, 0));
    const int flags = (int)call_argument(thread, 3);
    struct pieces pieces = one_piece(thread, flags);
    return ours < 0 ? wait_to_read(calls, thread, flags) : receive(calls, thread, ours, &pieces);
}

enum call_fate on_readv(struct calls *calls, struct held_thread *thread)
{
    const int ours = find_ours(calls, (int)call_argument(thread, 0));
    struct pieces pieces = {.flags = 0};
    if (ours < 0)
        return wait_to_read(calls, thread, 0);
    if (!read_pieces(calls, call_argument(thread, 1), call_argument(thread, 2), &pieces))
        return call_value(thread, -EINVAL);
    return receive(calls, thread, ours, &pieces);
}

enum call_fate on_recvmsg(struct calls *calls, struct held_thread *thread)
{
    const int ours = find_ours(calls, (int)call_argument(thread, 0));
    const int flags = (int)call_argument(thread, 2);
    struct pieces pieces = {.flags = flags};
    struct msghdr message;
    const uint64_t at = call_argument(thread, 1);
    if (ours < 0)
        return wait_to_read(calls, thread, flags);
    if (!calls_read(calls, at, &message, sizeof message) ||
        !read_pieces(calls, (uint64_t)(uintptr_t)message.msg_iov, message.msg_iovlen, &pieces))
        return call_value(thread, -EINVAL);
    message.msg_namelen = 0;
    message.msg_controllen = 0;
    message.msg_flags = 0;
    (void)calls_write(calls, at, &message, sizeof message);
    return receive(calls, thread, ours, &pieces);
}

enum call_fate on_write(struct calls *calls, struct held_thread *thread)
{
    const int ours = find_ours(calls, (int)call_argument(thread, 0));
    struct pieces pieces = one_piece(thread, 0);
    return ours < 0 ? FATE_KERNEL : transmit(calls, thread, ours, &pieces);
}

enum call_fate on_sendto(struct calls *calls, struct held_thread *thread)
{
    const int ours = find_ours(calls, (int)call_argument(thread, 0));
    struct pieces pieces = one_piece(thread, (int)call_argument(thread, 3));
    return ours < 0 ? FATE_KERNEL : transmit(calls, thread, ours, &pieces);
}

enum call_fate on_writev(struct calls *calls, struct held_thread *thread)
{
    const int ours = find_ours(calls, (int)call_argument(thread, 0));
    struct pieces pieces = {.flags = 0};
    if (ours < 0)
        return FATE_KERNEL;
    if (!read_pieces(calls, call_argument(thread, 1), call_argument(thread, 2), &pieces))
        return call_value(thread, -EINVAL);
    return transmit(calls, thread, ours, &pieces);
}
