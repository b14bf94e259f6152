/* held_dials.c - dials that are not answered for a while: who connects stands in SYN_SENT, as where
 * a network drops packets, or a machine has no time for them.
 *
 * A listening socket that wants packets which no router has passed on (IP_MINTTL of 255) drops the
 * SYN of each dial, since who connects sends with the usual 64; no right is needed for it, where a
 * filter (SO_ATTACH_FILTER) wants CAP_NET_ADMIN from a new kernel. The kernel at the other end says
 * it again after a second and more; so whoever still dials then is answered by a dial of our own,
 * from the listener's port to his: both ends open at once (RFC 9293, 3.5, "Simultaneous Connection
 * Synchronization"), and nobody waits. Loopback and IPv4 alone.
 *
 * Sources: ip(7), IP_MINTTL; sock_diag(7). */
#include "proxy/internal.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { DIALS_MAX = 64, OPEN_MS = 1000 };

static int descriptor_of(const struct proxy *proxy)
{
    uv_os_fd_t descriptor = -1;
    (void)uv_fileno(&proxy->listener->socket->handle, &descriptor);
    return descriptor;
}

/* Those of one packet of the kernel's answer; true: it was the last. An error: *count is -1. */
static bool take_ports(const char *bytes, size_t length, int port, uint16_t ports[DIALS_MAX],
                       int *count)
{
    const struct nlmsghdr *row = (const struct nlmsghdr *)(const void *)bytes;
    for (; NLMSG_OK(row, length); row = NLMSG_NEXT(row, length)) {
        if (row->nlmsg_type == NLMSG_ERROR)
            *count = -1;
        if (row->nlmsg_type == NLMSG_DONE || row->nlmsg_type == NLMSG_ERROR)
            return true;
        const struct inet_diag_msg *found = NLMSG_DATA(row);
        if (ntohs(found->id.idiag_dport) == port && *count < DIALS_MAX)
            ports[(*count)++] = ntohs(found->id.idiag_sport);
    }
    return false;
}

/* The ports that dial the proxy's, and have no answer; how many. -1: the kernel does not say. */
static int find_dials(int port, uint16_t ports[DIALS_MAX])
{
    const struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 wanted;
    } question = {.head = {.nlmsg_len = sizeof question,
                           .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                           .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
                  .wanted = {.sdiag_family = AF_INET,
                             .sdiag_protocol = IPPROTO_TCP,
                             .idiag_states = 1 << TCP_SYN_SENT}};
    _Alignas(struct nlmsghdr) char answer[32768];
    const int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    int count = 0;
    ssize_t length = -1;
    struct iovec bytes = {.iov_base = (void *)(uintptr_t)&question, .iov_len = sizeof question};
    const struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
    if (kernel >= 0 && sendmsg(kernel, &message, 0) == (ssize_t)sizeof question)
        length = recv(kernel, answer, sizeof answer, 0);
    while (length > 0 && !take_ports(answer, (size_t)length, port, ports, &count))
        length = recv(kernel, answer, sizeof answer, 0);
    if (kernel >= 0)
        (void)close(kernel);
    return length > 0 ? count : -1;
}

enum fail proxy_hold_dials(struct proxy *proxy, struct failure *failure)
{
    const int unreached = 255;
    uint16_t ports[DIALS_MAX];
    assert(!proxy->listener->is_unix && !proxy->is_refusing);
    if (find_dials(proxy_port(proxy), ports) < 0)
        return failure_set(failure, FAIL_UNKNOWN,
                           "who connects cannot be found: this kernel answers no sock_diag");
    if (setsockopt(descriptor_of(proxy), IPPROTO_IP, IP_MINTTL, &unreached, sizeof unreached))
        return failure_set(failure, FAIL_UNKNOWN, "dials cannot be held: IP_MINTTL: %s",
                           strerror(errno));
    proxy->holds_dials = true;
    return FAIL_NONE;
}

bool proxy_holds_dials(const struct proxy *proxy)
{
    return proxy->holds_dials;
}

int proxy_held_dials(const struct proxy *proxy)
{
    uint16_t ports[DIALS_MAX];
    return proxy->holds_dials ? find_dials(proxy_port(proxy), ports) : 0;
}

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
}

/* -1, and errno: nobody dials any more. */
static int open_with(int port, uint16_t peer)
{
    const int yes = 1;
    const struct sockaddr_in own = loopback((uint16_t)port), other = loopback(peer);
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pollfd row = {.fd = made, .events = POLLOUT};
    int error = 0;
    socklen_t size = sizeof error;
    if (made >= 0 && setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        setsockopt(made, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) == 0 &&
        bind(made, (const struct sockaddr *)&own, sizeof own) == 0 &&
        (connect(made, (const struct sockaddr *)&other, sizeof other) == 0 ||
         errno == EINPROGRESS) &&
        poll(&row, 1, OPEN_MS) == 1 && getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
        error == 0)
        return made;
    error = error ? error : errno;
    if (made >= 0)
        (void)close(made);
    errno = error;
    return -1;
}

enum fail proxy_answer_dials(struct proxy *proxy, struct failure *failure)
{
    uint16_t ports[DIALS_MAX];
    const int yes = 1, nothing = 0;
    const int listener = descriptor_of(proxy);
    if (!proxy->holds_dials)
        return FAIL_NONE;
    const int port = proxy_port(proxy);
    const int count = find_dials(port, ports);
    proxy->holds_dials = false;
    if (setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes))
        return failure_set(failure, FAIL_UNKNOWN, "SO_REUSEPORT: %s", strerror(errno));
    enum fail fail = FAIL_NONE;
    if (count < 0 || count == DIALS_MAX)
        fail = failure_set(failure, FAIL_UNKNOWN, "who connects cannot be found, or is too many");
    for (int i = 0; i < count && !fail; i++) {
        const int made = open_with(port, ports[i]);
        if (made >= 0)
            link_new(proxy, made, SOCKET_OF_LISTENER);
        else if (errno != ECONNREFUSED && errno != ECONNRESET)
            fail = failure_set(failure, FAIL_UNKNOWN,
                               "a dial that was held cannot be "
                               "answered: %s",
                               strerror(errno));
    }
    if (setsockopt(listener, IPPROTO_IP, IP_MINTTL, &nothing, sizeof nothing) && !fail)
        fail = failure_set(failure, FAIL_UNKNOWN, "IP_MINTTL: %s", strerror(errno));
    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &nothing, sizeof nothing);
    return fail;
}
