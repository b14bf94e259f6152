/* sockets.c - calls that block on a descriptor by themselves; and where connections may go.
 *
 * A worker may connect to the ports that the page names, where our proxies listen, and to nothing
 * else but what local_sockets.h says: a connection past the proxy would not be seen. What goes over
 * these connections is counted, so that whoever waits for the worker knows that all of it has
 * arrived.
 *
 * Sources: recv(2), send(2), connect(2), SO_RCVTIMEO and SO_SNDTIMEO in socket(7). */
#include "worker/shim/shim.h"

#include "base/dialled.h"
#include "worker/local_sockets.h"
#include "worker/time_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OURS_MAX = 1024, WORD_BITS = 64 };

static _Atomic uint64_t
    ours[OURS_MAX / WORD_BITS]; /* descriptors that are connections to our ports */

static void mark(int descriptor, bool is_ours)
{
    if (descriptor < 0 || descriptor >= OURS_MAX)
        return;
    const uint64_t bit = UINT64_C(1) << (descriptor % WORD_BITS);
    if (is_ours)
        atomic_fetch_or(&ours[descriptor / WORD_BITS], bit);
    else
        atomic_fetch_and(&ours[descriptor / WORD_BITS], ~bit);
}

bool shim_is_ours(int descriptor)
{
    return descriptor >= 0 && descriptor < OURS_MAX &&
           atomic_load(&ours[descriptor / WORD_BITS]) >> (descriptor % WORD_BITS) & 1;
}

void shim_sockets_closed(int descriptor)
{
    if (shim_is_ours(descriptor))
        atomic_fetch_add(&shim_page->counts.closed, 1);
    mark(descriptor, false);
}

/* --- where to --- */

static int refuse(const struct sockaddr *address, socklen_t length)
{
    static _Atomic bool is_said;
    if (!atomic_exchange(&is_said, true)) {
        if (address->sa_family == AF_UNIX)
            local_print(shim_page->refused, address, length);
        else
            time_print_address(shim_page->refused, address);
    }
    atomic_fetch_add(&shim_page->counts.refused, 1);
    errno = ECONNREFUSED;
    return -1;
}

static int connect_locally(int descriptor, const struct sockaddr *address, socklen_t length)
{
    const int done = (int)syscall(SYS_connect, descriptor, address, length);
    if (done != 0 || local_is_of_system(address, length) ||
        local_is_of_session(descriptor, getpid()))
        return done;
    (void)shutdown(descriptor, SHUT_RDWR);
    return refuse(address, length);
}

/* One that blocks may have to wait for its answer: on our time. */
static int connect_to_us(int descriptor, const struct sockaddr *address, socklen_t length)
{
    const int flags = fcntl(descriptor, F_GETFL);
    struct pollfd row = {.fd = descriptor, .events = POLLOUT};
    const struct timespec now = {0};
    int error = 0;
    socklen_t size = sizeof error;
    if (flags < 0 || flags & O_NONBLOCK || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0)
        return (int)syscall(SYS_connect, descriptor, address, length);
    const int made = (int)syscall(SYS_connect, descriptor, address, length);
    const int said = errno;
    (void)fcntl(descriptor, F_SETFL, flags);
    errno = said;
    if (made == 0 || said != EINPROGRESS)
        return made;
    if (syscall(SYS_ppoll, &row, 1, &now, NULL, (size_t)0) == 0 &&
        !shim_wait_for(descriptor, POLLOUT)) {
        errno = EINPROGRESS; /* SO_SNDTIMEO is over */
        return -1;
    }
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        return -1;
    errno = error ? error : said;
    return error ? -1 : 0;
}

int connect(int descriptor, __CONST_SOCKADDR_ARG to, socklen_t length)
{
    const struct sockaddr *address = to.__sockaddr__;
    if (shim_page && address && local_is_one(address, length))
        return connect_locally(descriptor, address, length);
    const bool is_inet = shim_page && address && time_is_inet(address, length);
    if (!is_inet)
        return (int)syscall(SYS_connect, descriptor, address, length);
    if (!time_is_our_port(shim_page, address))
        return refuse(address, length);
    if (!shim_is_ours(descriptor) || !dialled_already(descriptor))
        atomic_fetch_add(&shim_page->counts.connections, 1);
    mark(descriptor, true);
    return connect_to_us(descriptor, address, length);
}

static bool is_in_child_of_vfork(void)
{
    return (int32_t)syscall(SYS_getpid) != atomic_load(&shim_page->pid);
}

int close(int descriptor)
{
    if (shim_page && !is_in_child_of_vfork()) {
        shim_sockets_closed(descriptor);
        shim_timers_closed(descriptor);
    }
    return (int)syscall(SYS_close, descriptor);
}

/* --- blocking --- */

static int64_t socket_until(const struct pollfd *wanted)
{
    struct timeval limit = {0};
    socklen_t size = sizeof limit;
    const int option = wanted->events & POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO;
    if (getsockopt(wanted->fd, SOL_SOCKET, option, &limit, &size) != 0 ||
        (!limit.tv_sec && !limit.tv_usec))
        return TIME_NEVER;
    const struct timespec amount = {.tv_sec = limit.tv_sec, .tv_nsec = limit.tv_usec * 1000};
    return shim_after(&amount);
}

bool shim_wait_for(int descriptor, short events)
{
    const int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || flags & O_NONBLOCK)
        return true;
    shim_has_waited(); /* or might have */
    const int kept = errno;
    const struct pollfd row = {.fd = descriptor, .events = events};
    const int ready = shim_wait_for_one(&row, socket_until);
    if (ready == 0)
        errno = EAGAIN;
    else if (ready > 0)
        errno = kept;
    return ready > 0;
}

static bool may_block(int flags)
{
    return shim_page && !(flags & MSG_DONTWAIT);
}

/* /dev/random, /dev/urandom: programs that read them (Java) get what getrandom() gives. */
static bool is_random(int descriptor)
{
    struct stat file;
    return !shim_is_ours(descriptor) && fstat(descriptor, &file) == 0 && S_ISCHR(file.st_mode) &&
           major(file.st_rdev) == 1 && (minor(file.st_rdev) == 8 || minor(file.st_rdev) == 9);
}

ssize_t read(int descriptor, void *bytes, size_t length)
{
    if (shim_page && is_random(descriptor))
        return getrandom(bytes, length, 0);
    if (shim_page && !shim_wait_for(descriptor, POLLIN))
        return -1;
    const long moved = syscall(SYS_read, descriptor, bytes, length);
    if (shim_page)
        shim_count(&shim_page->counts.received, descriptor, moved);
    return moved;
}

ssize_t __read_chk(int descriptor, void *bytes, size_t length, size_t size);
ssize_t __read_chk(int descriptor, void *bytes, size_t length, size_t size)
{
    if (length > size)
        abort();
    return read(descriptor, bytes, length);
}

ssize_t readv(int descriptor, const struct iovec *rows, int count)
{
    if (shim_page && !shim_wait_for(descriptor, POLLIN))
        return -1;
    const long moved = syscall(SYS_readv, descriptor, rows, count);
    if (shim_page)
        shim_count(&shim_page->counts.received, descriptor, moved);
    return moved;
}

ssize_t recvfrom(int descriptor, void *restrict bytes, size_t length, int flags,
                 __SOCKADDR_ARG from, socklen_t *restrict from_length)
{
    if (may_block(flags) && !shim_wait_for(descriptor, POLLIN))
        return -1;
    const long moved =
        syscall(SYS_recvfrom, descriptor, bytes, length, flags, from.__sockaddr__, from_length);
    if (shim_page && !(flags & MSG_PEEK))
        shim_count(&shim_page->counts.received, descriptor, moved);
    return moved;
}

ssize_t recv(int descriptor, void *bytes, size_t length, int flags)
{
    return recvfrom(descriptor, bytes, length, flags, (struct sockaddr *)NULL, NULL);
}

ssize_t __recv_chk(int descriptor, void *bytes, size_t length, size_t size, int flags);
ssize_t __recv_chk(int descriptor, void *bytes, size_t length, size_t size, int flags)
{
    if (length > size)
        abort();
    return recv(descriptor, bytes, length, flags);
}

ssize_t __recvfrom_chk(int descriptor, void *restrict bytes, size_t length, size_t size, int flags,
                       __SOCKADDR_ARG from, socklen_t *restrict from_length);
ssize_t __recvfrom_chk(int descriptor, void *restrict bytes, size_t length, size_t size, int flags,
                       __SOCKADDR_ARG from, socklen_t *restrict from_length)
{
    if (length > size)
        abort();
    return recvfrom(descriptor, bytes, length, flags, from, from_length);
}

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags)
{
    if (may_block(flags) && !shim_wait_for(descriptor, POLLIN))
        return -1;
    const long moved = syscall(SYS_recvmsg, descriptor, message, flags);
    if (shim_page && !(flags & MSG_PEEK))
        shim_count(&shim_page->counts.received, descriptor, moved);
    return moved;
}

/* --- sending: only counted. What does not fit blocks in the kernel, as it does without us. --- */

/* What goes to another thread of the process (a pipe, an eventfd, a pair of sockets) wakes it
 * through the kernel, and that shows a little later: who waits for descriptors is to look again. */
static void has_sent(int descriptor, long moved)
{
    struct stat file;
    if (!shim_page || moved <= 0)
        return;
    if (shim_is_ours(descriptor))
        atomic_fetch_add(&shim_page->counts.sent, (uint64_t)moved);
    else if (descriptor > STDERR_FILENO && fstat(descriptor, &file) == 0 &&
             !S_ISREG(file.st_mode) && !S_ISCHR(file.st_mode))
        atomic_fetch_add(&shim_page->epoch, 1);
}

ssize_t write(int descriptor, const void *bytes, size_t length)
{
    const long moved = syscall(SYS_write, descriptor, bytes, length);
    has_sent(descriptor, moved);
    return moved;
}

ssize_t writev(int descriptor, const struct iovec *rows, int count)
{
    const long moved = syscall(SYS_writev, descriptor, rows, count);
    has_sent(descriptor, moved);
    return moved;
}

ssize_t sendto(int descriptor, const void *bytes, size_t length, int flags, __CONST_SOCKADDR_ARG to,
               socklen_t to_length)
{
    const long moved =
        syscall(SYS_sendto, descriptor, bytes, length, flags, to.__sockaddr__, to_length);
    has_sent(descriptor, moved);
    return moved;
}

ssize_t send(int descriptor, const void *bytes, size_t length, int flags)
{
    return sendto(descriptor, bytes, length, flags, (const struct sockaddr *)NULL, 0);
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags)
{
    const long moved = syscall(SYS_sendmsg, descriptor, message, flags);
    has_sent(descriptor, moved);
    return moved;
}

int eventfd_write(int descriptor, eventfd_t value)
{
    return write(descriptor, &value, sizeof value) == (ssize_t)sizeof value ? 0 : -1;
}
