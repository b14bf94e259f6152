/* proxy_wire.h - what the tests of the proxy share: a proxy on a loop of its own, raw clients, a
 * scripted upstream, a real redis-server, and hooks that do as they are told. Nothing here sleeps:
 * every wait runs the loop until it is so, or fails after PATIENCE_MS. */
#ifndef PICKLOCK_TEST_PROXY_WIRE_H
#define PICKLOCK_TEST_PROXY_WIRE_H

#include "base/monotonic.h"
#include "proxy/carrier.h"
#include "proxy/proxy.h"
#include "proxy/send_thread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000, SEEN_MAX = 64, HEARD_MAX = 4096 };

/* The hooks' memory, and what they are to say: decisions in order, PASS behind the last. */
struct hearer {
    enum proxy_decision requests[SEEN_MAX], replies[SEEN_MAX];
    int requests_count, replies_count;
    char names[SEEN_MAX][PROXY_NAME_MAX];
    char keys[SEEN_MAX][PROXY_KEY_MAX + 1];
    bool in_transaction[SEEN_MAX], expects_reply[SEEN_MAX];
    int copies;
    char said[HEARD_MAX]; /* what the replies were, one after the other, each "n:bytes" of request n
                           */
    size_t said_length;
    struct proxy_request *held, *held_reply;
    struct proxy_link *link;
    int opened, closed, notices;
    int tellings, settled_behind; /* told() so often; and so often when settled() came last */
    char notice[512];
    const char *answer;         /* in the request hook, instead of a decision */
    enum proxy_cut cut_in_hook; /* with cuts_in_hook */
    bool cuts_in_hook;
    bool
        lets_pass_unseen; /* those whose key begins with u, or with t: their replies are told ... */
    char told[HEARD_MAX]; /* ... here, each with the key's second letter in front of it */
    uint64_t told_ends[SEEN_MAX];
    int told_asked;
    int64_t told_at_once; /* the most of these */
    const char *repeats;  /* so begin those that need not be shown once one has passed ... */
    int repeats_length;   /* ... so long are they ... */
    int64_t repeated;     /* ... and so many were not */
};

struct proxy_wire {
    uv_loop_t loop;
    struct proxy *proxy;
    struct hearer hears;
    int upstream; /* listening socket of the test, or -1 */
    int upstream_port;
    bool is_closed;
    struct carriers *carriers;       /* NULL: none */
    struct send_thread *send_thread; /* NULL: none */
};

static inline void wire_opened(void *context, struct proxy_link *link, int peer_port, void **owner)
{
    struct hearer *hears = context;
    assert_true(peer_port > 0);
    hears->opened++;
    hears->link = link;
    *owner = hears;
}

static inline enum proxy_decision wire_request(void *context, void *owner,
                                               struct proxy_request *request)
{
    struct hearer *hears = context;
    int n = hears->requests_count++;
    assert_ptr_equal(owner, hears);
    if (n >= SEEN_MAX)
        return PROXY_PASS;
    snprintf(hears->names[n], sizeof hears->names[n], "%s", request->name);
    if (request->first_key)
        memcpy(hears->keys[n], request->first_key, request->first_key_length);
    hears->in_transaction[n] = request->in_transaction;
    hears->expects_reply[n] = request->expects_reply;
    request->copies = hears->copies;
    if (hears->requests[n] == PROXY_HOLD)
        hears->held = request;
    if (hears->answer)
        proxy_request_answer(request, hears->answer, strlen(hears->answer));
    if (hears->cuts_in_hook)
        proxy_link_cut(request->link, hears->cut_in_hook);
    return hears->requests[n];
}

static inline bool wire_passes_unseen(void *context, void *owner, struct proxy_request *request)
{
    struct hearer *hears = context;
    assert_ptr_equal(owner, hears);
    assert_true(request->expects_reply && !request->in_transaction && request->name[0]);
    if (!hears->lets_pass_unseen || !request->first_key || !request->first_key_length)
        return false;
    if (request->first_key[0] != 't' || request->first_key_length < 2)
        return request->first_key[0] == 'u';
    /* Those with the same second letter have one owner. */
    request->owner = &hears->told[(unsigned char)request->first_key[1]];
    if (hears->told_asked < SEEN_MAX)
        hears->told_ends[hears->told_asked++] = proxy_request_end(request);
    return true;
}

static inline struct proxy_repeated wire_repeats(void *context, void *owner, const char *bytes,
                                                 size_t length, uint64_t from)
{
    struct hearer *hears = context;
    struct proxy_repeated found = {.owner = &hears->told[0]};
    assert_ptr_equal(owner, hears);
    while (hears->repeats && length - found.length >= (size_t)hears->repeats_length &&
           !memcmp(bytes + found.length, hears->repeats, strlen(hears->repeats))) {
        found.owner = &hears->told[(unsigned char)hears->repeats[strlen(hears->repeats) - 1]];
        found.length += (size_t)hears->repeats_length;
        found.count++;
        if (hears->told_asked < SEEN_MAX)
            hears->told_ends[hears->told_asked++] = from + found.length;
    }
    hears->repeated += found.count;
    return found;
}

static inline bool wire_is_told(const struct hearer *hears, const struct proxy_request *request)
{
    const char *owner = request->owner;
    return owner >= hears->told && owner < hears->told + 256;
}

static inline void wire_tell(struct hearer *hears, const struct proxy_request *request,
                             const char *bytes, size_t length)
{
    const size_t used = strlen(hears->told);
    snprintf(hears->told + used, sizeof hears->told - used, "%c%.*s",
             (int)((const char *)request->owner - hears->told), (int)length, bytes);
}

static inline void wire_replies(void *context, void *owner, struct proxy_request *request,
                                const char *bytes, size_t length, int64_t count)
{
    struct hearer *hears = context;
    assert_ptr_equal(owner, hears);
    assert_true(wire_is_told(hears, request));
    for (int64_t i = 0; i < count; i++)
        wire_tell(hears, request, bytes, length);
    hears->told_at_once = count > hears->told_at_once ? count : hears->told_at_once;
}

static inline enum proxy_decision wire_reply(void *context, void *owner,
                                             struct proxy_request *request, const char *bytes,
                                             size_t length)
{
    struct hearer *hears = context;
    assert_ptr_equal(owner, hears);
    if (wire_is_told(hears, request)) {
        wire_tell(hears, request, bytes, length);
        return PROXY_PASS;
    }
    int n = hears->replies_count++;
    int room = (int)(sizeof hears->said - hears->said_length);
    int used = snprintf(hears->said + hears->said_length, (size_t)room, "%llu:%.*s",
                        (unsigned long long)request->number, (int)length, bytes);
    hears->said_length += (size_t)(used < room ? used : room - 1);
    if (n >= SEEN_MAX)
        return PROXY_PASS;
    if (hears->replies[n] == PROXY_HOLD)
        hears->held_reply = request;
    return hears->replies[n];
}

static inline void wire_link_closed(void *context, void *owner)
{
    struct hearer *hears = context;
    assert_ptr_equal(owner, hears);
    hears->closed++;
}

static inline void wire_told(void *context, void *owner)
{
    struct hearer *hears = context;
    assert_ptr_equal(owner, hears);
    hears->tellings++;
}

static inline void wire_settled(void *context)
{
    struct hearer *hears = context;
    hears->settled_behind = hears->tellings;
}

static inline void wire_notice(void *context, void *owner, const char *words)
{
    struct hearer *hears = context;
    (void)owner;
    hears->notices++;
    snprintf(hears->notice, sizeof hears->notice, "%s", words);
}

/* --- turning the loop --- */

static inline int64_t wire_now_ms(void)
{
    return monotonic_us() / 1000;
}

/* Runs the loop while it is not so; fails the test when it never is. */
#define WIRE_UNTIL(wire, condition)                                                                \
    do {                                                                                           \
        int64_t until_ms_ = wire_now_ms() + PATIENCE_MS;                                           \
        while (!(condition)) {                                                                     \
            uv_run(&(wire)->loop, UV_RUN_NOWAIT);                                                  \
            if (wire_now_ms() > until_ms_)                                                         \
                fail_msg("never so: %s", #condition);                                              \
        }                                                                                          \
    } while (0)

/* Turns the loop often enough for anything that could happen on loopback to happen: also where
 * the machine took the time away and gave it to others. */
static inline void wire_settle(struct proxy_wire *wire)
{
    int64_t until_ms = wire_now_ms() + 20;
    for (int turns = 0; turns < 50 || wire_now_ms() < until_ms; turns++)
        uv_run(&wire->loop, UV_RUN_NOWAIT);
}

/* --- sockets of the test --- */

static inline int wire_listen(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 512), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static inline int wire_connect(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static inline int wire_client(struct proxy_wire *wire)
{
    return wire_connect(proxy_port(wire->proxy));
}

static inline int wire_accept(struct proxy_wire *wire)
{
    int fd = -1;
    WIRE_UNTIL(wire, (fd = accept4(wire->upstream, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
    return fd;
}

static inline void wire_send(struct proxy_wire *wire, int fd, const char *bytes, size_t length)
{
    int64_t until_ms = wire_now_ms() + PATIENCE_MS;
    while (length) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0) {
            assert_int_equal(errno, EAGAIN);
            assert_true(wire_now_ms() < until_ms);
        } else {
            bytes += sent;
            length -= (size_t)sent;
        }
        uv_run(&wire->loop, UV_RUN_NOWAIT);
    }
}

static inline void wire_say(struct proxy_wire *wire, int fd, const char *text)
{
    wire_send(wire, fd, text, strlen(text));
}

/* Receives exactly length bytes. */
static inline void wire_receive(struct proxy_wire *wire, int fd, char *bytes, size_t length)
{
    int64_t until_ms = wire_now_ms() + PATIENCE_MS;
    while (length) {
        uv_run(&wire->loop, UV_RUN_NOWAIT);
        ssize_t got = recv(fd, bytes, length, 0);
        if (got < 0 && errno == EAGAIN) {
            assert_true(wire_now_ms() < until_ms);
            continue;
        }
        if (got <= 0)
            fail_msg("the stream ended %zu bytes too early: %s", length,
                     got ? strerror(errno) : "FIN");
        bytes += got;
        length -= (size_t)got;
    }
}

static inline void wire_expect(struct proxy_wire *wire, int fd, const char *text)
{
    char bytes[HEARD_MAX];
    size_t length = strlen(text);
    assert_true(length < sizeof bytes);
    wire_receive(wire, fd, bytes, length);
    bytes[length] = 0;
    assert_string_equal(bytes, text);
}

/* Nothing comes, and nothing ends. */
static inline void wire_expect_nothing(struct proxy_wire *wire, int fd)
{
    char byte;
    wire_settle(wire);
    assert_int_equal(recv(fd, &byte, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
}

/* The stream ends, without another byte: 0 for FIN, or the errno. */
static inline int wire_end(struct proxy_wire *wire, int fd)
{
    char byte;
    ssize_t got;
    WIRE_UNTIL(wire, (got = recv(fd, &byte, 1, 0)) >= 0 || errno != EAGAIN);
    assert_true(got <= 0);
    return got == 0 ? 0 : errno;
}

/* --- the proxy --- */

/* Set by whoever wants it: a process holds the sockets of links that stand. */
static bool wire_is_carried;
/* Likewise: a thread sends all that goes to the server. */
static bool wire_is_sent;

static inline void wire_open(struct proxy_wire *wire, int upstream_port)
{
    struct failure failure = {0};
    const struct proxy_address listen = {.host = "127.0.0.1"};
    struct proxy_address upstream = {.host = "127.0.0.1", .port = upstream_port};
    memset(wire, 0, sizeof *wire);
    wire->upstream = -1;
    if (!upstream_port) {
        wire->upstream = wire_listen(&wire->upstream_port);
        upstream.port = wire->upstream_port;
    }
    assert_int_equal(uv_loop_init(&wire->loop), 0);
    const struct proxy_hooks hooks = {.opened = wire_opened,
                                      .request = wire_request,
                                      .passes_unseen = wire_passes_unseen,
                                      .repeats = wire_repeats,
                                      .reply = wire_reply,
                                      .replies = wire_replies,
                                      .closed = wire_link_closed,
                                      .notice = wire_notice,
                                      .told = wire_told,
                                      .settled = wire_settled,
                                      .context = &wire->hears};
    if (proxy_new(&wire->proxy, &wire->loop, &listen, &upstream, &hooks, &failure))
        fail_msg("%s", failure.text);
    if (wire_is_sent &&
        send_thread_start(&wire->send_thread, &wire->loop, 0, proxy_sent_back, &failure))
        fail_msg("%s", failure.text);
    proxy_send_by(wire->proxy, wire->send_thread);
    if (!wire_is_carried)
        return;
    if (carriers_start(&wire->carriers, &wire->loop, 2, NULL, &failure))
        fail_msg("%s", failure.text);
    proxy_carry(wire->proxy, wire->carriers);
}

static inline void wire_on_closed(void *context)
{
    ((struct proxy_wire *)context)->is_closed = true;
}

static inline void wire_close(struct proxy_wire *wire)
{
    proxy_close(wire->proxy, wire_on_closed, wire);
    WIRE_UNTIL(wire, wire->is_closed);
    assert_int_equal(wire->hears.opened, wire->hears.closed);
    if (wire->upstream >= 0)
        close(wire->upstream);
    WIRE_UNTIL(wire, !wire->carriers || carriers_are_empty(wire->carriers));
    (void)carriers_stop(wire->carriers);
    if (wire->send_thread)
        send_thread_stop(wire->send_thread);
    assert_int_equal(uv_run(&wire->loop, UV_RUN_NOWAIT), 0);
    assert_int_equal(uv_loop_close(&wire->loop), 0); /* no handle is left */
}

/* --- a real redis-server --- */

struct redis {
    pid_t pid;
    int port;
};

static inline bool redis_answers(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    char reply[8];
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool answers = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                   send(fd, "PING\r\n", 6, MSG_NOSIGNAL) == 6 &&
                   recv(fd, reply, 7, MSG_WAITALL) == 7 && !memcmp(reply, "+PONG\r\n", 7);
    if (fd >= 0)
        close(fd);
    return answers;
}

/* Another process may take the free port first: then the server ends, and the next one is tried. */
static inline void redis_start(struct redis *redis)
{
    int64_t until_ms = wire_now_ms() + PATIENCE_MS;
    redis->pid = 0;
    do {
        char port[16];
        if (!redis->pid) {
            close(wire_listen(&redis->port));
            snprintf(port, sizeof port, "%d", redis->port);
            pid_t parent = getpid();
            redis->pid = fork();
            assert_true(redis->pid >= 0);
            if (!redis->pid) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() != parent || !freopen("/dev/null", "w", stdout))
                    _exit(1);
                execlp("redis-server", "redis-server", "--port", port, "--bind", "127.0.0.1",
                       "--save", "", "--dbfilename", "none.rdb", "--appendonly", "no",
                       "--rdb-del-sync-files", "yes", /* what it sends a replica */
                       "--enable-debug-command", "yes", NULL);
                _exit(127);
            }
        }
        if (waitpid(redis->pid, NULL, WNOHANG) == redis->pid)
            redis->pid = 0;
        assert_true(wire_now_ms() < until_ms);
        poll(NULL, 0, 1);
    } while (!redis->pid || !redis_answers(redis->port));
}

static inline void redis_stop(struct redis *redis)
{
    kill(redis->pid, SIGKILL);
    waitpid(redis->pid, NULL, 0);
}

#endif
