/* carrier_process.c - the process that holds sockets: moves bytes between them and its channel. See
 * carrier.h.
 *
 * Decides nothing and knows no link. Waits for events alone, for a socket that a row is about
 * already, and, where events come thickly, a moment for more. Each socket reads once when it is
 * told to, so what is under way is bounded. */
#include "proxy/carrier_rows.h"
#include "proxy/internal.h"

#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    EVENTS_MAX = 512,
    CHANNEL_READ_MAX = 256 * 1024,
    OUT_ENOUGH = 1024 * 1024, /* then nothing more is read from sockets for now */
    THICK = 2,                /* events of a batch: more come at once */
    FULL = 64,                /* and so many are worth a wake */
    GATHER_NS = 100 * 1000,
};

struct carried_socket {
    struct carried_socket *next; /* of those that have something to do */
    int fd;
    uint32_t id;
    uint32_t may_read; /* bytes */
    bool is_due, is_readable, is_over, has_ended, tells, finishes;
    struct block out;
};

struct carrier_process {
    int events, rows, sockets;
    struct carried_socket **held; /* by id */
    size_t held_count;
    struct carried_socket *first, **last; /* due */
    struct block in, out;
    bool waits_for_room; /* the channel took not all */
    char heard[CHANNEL_READ_MAX], bytes[CARRIED_READ_MAX];
};

static void say(struct carrier_process *it, enum carrier_row_kind kind,
                const struct carried_socket *held, uint32_t value)
{
    const struct carrier_row row = {.kind = kind, .id = held->id, .value = value};
    block_append(&it->out, (const char *)&row, sizeof row);
}

static void answer(struct carrier_process *it)
{
    const struct carrier_row row = {.kind = ROW_ANSWER};
    block_append(&it->out, (const char *)&row, sizeof row);
}

static void is_due(struct carrier_process *it, struct carried_socket *held)
{
    if (held->is_due)
        return;
    held->is_due = true;
    held->next = NULL;
    *it->last = held;
    it->last = &held->next;
}

/* --- one socket --- */

/* How many of the bytes need not be written any more. */
static size_t write_bytes(struct carrier_process *it, struct carried_socket *held,
                          const char *bytes, size_t length)
{
    const ssize_t sent = length ? send(held->fd, bytes, length, MSG_NOSIGNAL) : 0;
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return 0; /* an event will tell */
    if (sent >= 0 && (size_t)sent < length)
        return (size_t)sent;
    if (sent < 0 || held->tells)
        say(it, ROW_WROTE, held, sent < 0 ? (uint32_t)errno : 0);
    held->tells = false;
    return length;
}

static void write_some(struct carrier_process *it, struct carried_socket *held)
{
    const size_t length = block_length(&held->out);
    if (length)
        block_eat(&held->out, write_bytes(it, held, held->out.bytes + held->out.begin, length));
}

static void write_more(struct carrier_process *it, struct carried_socket *held, const char *bytes,
                       size_t length)
{
    if (block_length(&held->out)) {
        block_append(&held->out, bytes, length);
        return;
    }
    const size_t done = write_bytes(it, held, bytes, length);
    block_append(&held->out, bytes + done, length - done);
}

static void read_once(struct carrier_process *it, struct carried_socket *held)
{
    if (!held->may_read || !held->is_readable || held->has_ended)
        return;
    const ssize_t got = recv(held->fd, it->bytes, held->may_read, 0);
    if (got < 0 && errno == EINTR)
        is_due(it, held);
    if (got < 0 && errno == EAGAIN)
        held->is_readable = false;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        held->has_ended = true;
        say(it, ROW_ENDED, held, got < 0 ? (uint32_t)errno : 0);
        return;
    }
    /* Not all that there was room for: the next bytes, or the end, are an event of their own. */
    held->is_readable = (uint32_t)got == held->may_read || held->is_over;
    held->may_read -= (uint32_t)got;
    say(it, ROW_CAME, held, (uint32_t)got);
    block_append(&it->out, it->bytes, (size_t)got);
    if (held->is_readable)
        is_due(it, held);
}

static void work(struct carrier_process *it, struct carried_socket *held)
{
    write_some(it, held);
    if (held->finishes && !block_length(&held->out)) {
        held->finishes = false;
        (void)shutdown(held->fd, SHUT_WR);
    }
    read_once(it, held);
}

static void work_all(struct carrier_process *it)
{
    while (it->first && block_length(&it->out) < OUT_ENOUGH) {
        struct carried_socket *held = it->first;
        it->first = held->next;
        if (!it->first)
            it->last = &it->first;
        held->is_due = false;
        work(it, held);
    }
}

static void not_due(struct carrier_process *it, const struct carried_socket *held)
{
    struct carried_socket **at = &it->first;
    while (*at != held)
        at = &(*at)->next;
    *at = held->next;
    if (it->last == &held->next)
        it->last = at;
}

static void shut(struct carrier_process *it, struct carried_socket *held, bool has_reset)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    if (held->is_due)
        not_due(it, held);
    if (has_reset)
        (void)setsockopt(held->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    /* It may be open in our maker, too, for another moment. */
    if (epoll_ctl(it->events, EPOLL_CTL_DEL, held->fd, NULL) == 0)
        (void)close(held->fd);
    say(it, ROW_CLOSED, held, 0);
    it->held[held->id] = NULL;
    block_free(&held->out);
    free(held);
}

/* --- the channels --- */

static void take(struct carrier_process *it, uint32_t id, int fd)
{
    struct carried_socket *held = memory_new(1, sizeof *held);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = held};
    held->id = id;
    held->fd = fd;
    if (id >= it->held_count) {
        const size_t count = (size_t)id * 2 + 64;
        it->held = memory_resize(it->held, count, sizeof(struct carried_socket *));
        memset(it->held + it->held_count, 0,
               (count - it->held_count) * sizeof(struct carried_socket *));
        it->held_count = count;
    }
    it->held[id] = held;
    if (fd < 0 || epoll_ctl(it->events, EPOLL_CTL_ADD, fd, &event) != 0)
        _exit(CARRIER_NO_ROOM); /* there was to be some */
}

/* The next socket. false: there is none now (flags MSG_DONTWAIT), or there will be none. */
static bool take_socket(struct carrier_process *it, int flags)
{
    uint32_t id;
    char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {.iov_base = &id, .iov_len = sizeof id};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got;
    do
        got = recvmsg(it->sockets, &message, flags | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return false;
    if (got != (ssize_t)sizeof id)
        _exit(0);
    int fd = -1;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
    take(it, id, fd);
    return true;
}

static struct carried_socket *held_of(struct carrier_process *it, uint32_t id)
{
    while (id >= it->held_count || !it->held[id])
        (void)take_socket(it, 0); /* it comes, whatever the row overtook */
    return it->held[id];
}

static void obey(void *context, const struct carrier_row *row, const char *bytes)
{
    struct carrier_process *it = context;
    if (row->kind == ROW_ASK) {
        answer(it);
        return;
    }
    struct carried_socket *held = held_of(it, row->id);
    switch ((enum carrier_row_kind)row->kind) {
    case ROW_READ:
        held->may_read += row->value;
        if (held->is_readable)
            is_due(it, held);
        break;
    case ROW_WRITE:
        held->tells = true;
        write_more(it, held, bytes, row->value);
        break;
    case ROW_SEND:
        write_more(it, held, bytes, row->value);
        break;
    case ROW_FINISH:
        held->finishes = true;
        is_due(it, held);
        break;
    default:
        work(it, held); /* what was said before goes before the end */
        shut(it, held, row->value != 0);
        break;
    }
}

static void hear(struct carrier_process *it)
{
    ssize_t got;
    while ((got = recv(it->rows, it->heard, sizeof it->heard, MSG_DONTWAIT)) > 0)
        carrier_rows_take(&it->in, it->heard, (size_t)got, obey, it);
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        _exit(0);
}

static void tell(struct carrier_process *it)
{
    const size_t length = block_length(&it->out);
    if (!length)
        return;
    const ssize_t sent =
        send(it->rows, it->out.bytes + it->out.begin, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0)
        block_move_on(&it->out, (size_t)sent);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        _exit(0);
    const bool waits = block_length(&it->out) > 0;
    struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0U), .data.ptr = &it->rows};
    if (waits != it->waits_for_room)
        (void)epoll_ctl(it->events, EPOLL_CTL_MOD, it->rows, &event);
    it->waits_for_room = waits;
}

static void happened(struct carrier_process *it, const struct epoll_event *event)
{
    if (event->data.ptr == &it->rows) {
        if (event->events & ~(uint32_t)EPOLLOUT)
            hear(it);
    } else if (event->data.ptr == &it->sockets) {
        while (take_socket(it, MSG_DONTWAIT))
            ;
    } else {
        struct carried_socket *held = event->data.ptr;
        held->is_over |= (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
        held->is_readable |= held->is_over || (event->events & EPOLLIN) != 0;
        is_due(it, held);
    }
}

static void listen_to(struct carrier_process *it, int *channel)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = channel};
    if (epoll_ctl(it->events, EPOLL_CTL_ADD, *channel, &event) != 0)
        _exit(1);
}

/* To be woken costs as much as to move a message. Where events come thickly, as with thousands of
 * clients that all wait for us, the next ones are gathered first; a lone one is never waited on. */
static void gather(int batch)
{
    if (batch >= THICK && batch < FULL)
        (void)nanosleep(&(struct timespec){.tv_nsec = GATHER_NS}, NULL);
}

_Noreturn void carrier_run(int rows, int sockets)
{
    struct carrier_process *it = memory_new(1, sizeof *it);
    struct epoll_event events[EVENTS_MAX];
    it->rows = rows;
    it->sockets = sockets;
    it->last = &it->first;
    it->events = epoll_create1(EPOLL_CLOEXEC);
    listen_to(it, &it->rows);
    listen_to(it, &it->sockets);
    for (int count = 0;;) {
        const bool may_wait = !it->first || block_length(&it->out) >= OUT_ENOUGH;
        if (may_wait)
            gather(count);
        count = epoll_wait(it->events, events, EVENTS_MAX, may_wait ? -1 : 0);
        if (count < 0 && errno != EINTR)
            _exit(1);
        /* Sockets first: a row of the channel may end one that an event is about. */
        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < count; i++)
                if ((events[i].data.ptr == &it->rows) == (pass == 1))
                    happened(it, &events[i]);
        work_all(it);
        tell(it);
    }
}
