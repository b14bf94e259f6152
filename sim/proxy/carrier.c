/* carrier.c - our end of the processes that hold sockets: what is said to them, and heard. See
 * carrier.h. */
#include "proxy/carrier_parts.h"

#include "base/memory.h"
#include "proxy/carrier_rows.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- rows --- */

static void say(const struct carried_side *carried, enum carrier_row_kind kind, uint32_t value)
{
    const struct carrier_row row = {.kind = kind, .id = carried->id, .value = value};
    if (!carried->carrier->has_ended)
        block_append(&carried->carrier->out, (const char *)&row, sizeof row);
}

/* More, when half of what it may read has come. */
static void let_read(struct carried_side *carried)
{
    if (!carried->reads || carried->may_read > CARRIED_READ_MAX / 2 || !carried->flow)
        return;
    say(carried, ROW_READ, CARRIED_READ_MAX - carried->may_read);
    carried->may_read = CARRIED_READ_MAX;
}

static void hear(struct carried_side *carried, const char *bytes, size_t length)
{
    carried->came(carried->flow, bytes, (ssize_t)length);
    let_read(carried);
}

/* Whoever reads hears it; else it is kept until somebody does. */
static void came(struct carried_side *carried, const char *bytes, uint32_t length)
{
    carried->may_read -= length;
    if (carried->reads && !carried->is_due)
        hear(carried, bytes, length);
    else
        block_append(&carried->kept, bytes, length);
}

static void ended(struct carried_side *carried, int status)
{
    carried->kept_end = status;
    if (carried->reads && !carried->is_due)
        carried->came(carried->flow, NULL, status);
}

static void wrote(struct carried_side *carried, int status)
{
    uv_write_t *write = carried->write;
    carried->write = NULL;
    carried->sent = 0;
    carried->failed = status;
    if (write)
        carried->wrote(write, status);
}

static void gone(struct carried_side *carried)
{
    struct carrier *carrier = carried->carrier;
    carrier->carried[carried->id] = NULL;
    if (--carrier->used == 0)
        uv_unref((uv_handle_t *)&carrier->poll);
    carrier->free[carrier->free_count++] = carried->id;
    block_free(&carried->kept);
    free(carried);
}

static void heard(void *context, const struct carrier_row *row, const char *bytes)
{
    struct carrier *carrier = context;
    if (row->kind == ROW_ANSWER)
        return;
    struct carried_side *carried = carrier->carried[row->id];
    if (row->kind == ROW_CLOSED)
        gone(carried);
    else if (!carried->flow)
        return;
    else if (row->kind == ROW_CAME)
        came(carried, bytes, row->value);
    else if (row->kind == ROW_ENDED)
        ended(carried, row->value ? -(int)row->value : UV_EOF);
    else
        wrote(carried, -(int)row->value);
}

static void drop_unsent(struct carrier *carrier)
{
    struct unsent_socket unsent;
    (void)uv_poll_stop(&carrier->room);
    for (; block_length(&carrier->unsent); block_eat(&carrier->unsent, sizeof unsent)) {
        memcpy(&unsent, carrier->unsent.bytes + carrier->unsent.begin, sizeof unsent);
        (void)close(unsent.fd);
    }
    block_free(&carrier->unsent);
}

void carrier_lost(struct carrier *carrier)
{
    carrier->has_ended = true;
    (void)uv_poll_stop(&carrier->poll);
    drop_unsent(carrier);
    block_free(&carrier->out);
    for (uint32_t id = 0; id < carrier->count; id++) {
        struct carried_side *carried = carrier->carried[id];
        if (!carried)
            continue;
        if (!carried->flow) {
            gone(carried);
            continue;
        }
        wrote(carried, UV_EPIPE);
        ended(carried, UV_ECONNRESET); /* may close it, and then it is gone */
    }
}

static void ready(uv_poll_t *poll, int status, int events);

void carrier_poll_for(struct carrier *carrier, int events)
{
    if (carrier->polled == events || carrier->has_ended)
        return;
    carrier->polled = events;
    int error = uv_poll_start(&carrier->poll, events, ready);
    assert(!error);
}

static void write_rows(struct carrier *carrier)
{
    const size_t length = block_length(&carrier->out);
    if (carrier->has_ended || !length)
        return;
    const ssize_t sent = send(carrier->rows, carrier->out.bytes + carrier->out.begin, length,
                              MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0)
        block_move_on(&carrier->out, (size_t)sent);
    /* One that has ended is noticed where it is read from. */
    carrier_poll_for(carrier, UV_READABLE | (block_length(&carrier->out) ? UV_WRITABLE : 0));
}

static void ready(uv_poll_t *poll, int status, int events)
{
    struct carrier *carrier = poll->data;
    char *bytes = carrier->carriers->bytes;
    if (events & UV_WRITABLE)
        write_rows(carrier);
    if (status == 0 && !(events & UV_READABLE))
        return;
    const ssize_t got = recv(carrier->rows, bytes, sizeof carrier->carriers->bytes, MSG_DONTWAIT);
    if (got > 0) {
        carrier_answered(carrier);
        carrier_rows_take(&carrier->in, bytes, (size_t)got, heard, carrier);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        carrier_lost(carrier);
    }
}

void carriers_flush(uv_prepare_t *flush)
{
    struct carriers *carriers = flush->data;
    for (int i = 0; i < carriers->count; i++)
        write_rows(&carriers->rows[i]);
}

/* --- a socket --- */

/* What came while nobody read, to whom reads again. */
static void hear_kept(uv_idle_t *idle)
{
    struct carriers *carriers = idle->data;
    struct carried_side *carried;
    (void)uv_idle_stop(idle);
    while ((carried = carriers->due)) {
        struct block kept = carried->kept;
        carriers->due = carried->due_next;
        carried->is_due = false;
        if (!carried->reads)
            continue;
        carried->kept = (struct block){0};
        if (block_length(&kept))
            hear(carried, kept.bytes + kept.begin, block_length(&kept));
        if (carried->kept_end)
            ended(carried, carried->kept_end);
        block_free(&kept);
    }
}

static void not_due(struct carried_side *carried)
{
    struct carried_side **at = &carried->carrier->carriers->due;
    while (carried->is_due && *at != carried)
        at = &(*at)->due_next;
    if (carried->is_due)
        *at = carried->due_next;
    carried->is_due = false;
}

static struct carrier *emptiest(struct carriers *carriers)
{
    struct carrier *least = NULL;
    for (int i = 0; i < carriers->count; i++) {
        struct carrier *carrier = &carriers->rows[i];
        if (!carrier->has_ended && (!least || carrier->used < least->used))
            least = carrier;
    }
    return least && least->used < 2 * carrier_room() ? least : NULL;
}

static void more_ids(struct carrier *carrier)
{
    const uint32_t count = carrier->count * 2 + 64;
    carrier->carried = memory_resize(carrier->carried, count, sizeof(struct carried_side *));
    carrier->free = memory_resize(carrier->free, count, sizeof *carrier->free);
    for (uint32_t id = carrier->count; id < count; id++) {
        carrier->carried[id] = NULL;
        carrier->free[carrier->free_count++] = id;
    }
    carrier->count = count;
}

/* false: why not is in errno; EAGAIN: the process has not taken the ones before. */
static bool send_socket(const struct carrier *carrier, uint32_t id, int fd)
{
    char control[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec part = {.iov_base = &id, .iov_len = sizeof id};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    ssize_t sent;
    do
        sent = sendmsg(carrier->sockets, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof id;
}

static void send_unsent(uv_poll_t *room, int status, int events)
{
    struct carrier *carrier = room->data;
    struct unsent_socket unsent;
    (void)status, (void)events;
    while (block_length(&carrier->unsent)) {
        memcpy(&unsent, carrier->unsent.bytes + carrier->unsent.begin, sizeof unsent);
        if (!send_socket(carrier, unsent.id, unsent.fd))
            return; /* one that has ended is noticed where rows are read */
        (void)close(unsent.fd);
        block_eat(&carrier->unsent, sizeof unsent);
    }
    (void)uv_poll_stop(room);
}

/* Now, or when the process has taken the ones before: nobody waits for it. */
static bool pass_socket(struct carrier *carrier, uint32_t id, int fd)
{
    if (!block_length(&carrier->unsent)) {
        if (send_socket(carrier, id, fd))
            return true;
        if (errno != EAGAIN || uv_poll_start(&carrier->room, UV_WRITABLE, send_unsent))
            return false;
    }
    const struct unsent_socket unsent = {.id = id, .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    if (unsent.fd < 0)
        return false;
    block_append(&carrier->unsent, (const char *)&unsent, sizeof unsent);
    return true;
}

struct carried_side *carried_new(struct carriers *carriers, int fd, struct flow *flow)
{
    struct carrier *carrier = emptiest(carriers);
    if (!carrier)
        return NULL;
    if (!carrier->free_count)
        more_ids(carrier);
    const uint32_t id = carrier->free[carrier->free_count - 1];
    if (!pass_socket(carrier, id, fd))
        return NULL;
    carrier->free_count--;
    carrier->held++;
    if (carrier->used++ == 0) /* the loop goes on for their sake */
        uv_ref((uv_handle_t *)&carrier->poll);
    struct carried_side *carried = memory_new(1, sizeof *carried);
    carrier->carried[id] = carried;
    carried->carrier = carrier;
    carried->id = id;
    carried->flow = flow;
    return carried;
}

void carried_read_start(struct carried_side *carried, side_came *on_came)
{
    struct carriers *carriers = carried->carrier->carriers;
    carried->came = on_came;
    carried->reads = true;
    if (!block_length(&carried->kept) && !carried->kept_end) {
        let_read(carried);
        return;
    }
    if (carried->is_due)
        return;
    carried->is_due = true;
    carried->due_next = carriers->due;
    carriers->due = carried;
    (void)uv_idle_start(&carriers->idle, hear_kept);
}

void carried_read_stop(struct carried_side *carried)
{
    carried->reads = false;
}

ssize_t carried_send(struct carried_side *carried, const char *bytes, size_t length)
{
    struct carrier *carrier = carried->carrier;
    if (carried->failed)
        return carried->failed;
    if (carried->write || length > CARRIED_SENT_MAX - carried->sent)
        return UV_EAGAIN;
    carried->sent += (uint32_t)length;
    say(carried, ROW_SEND, (uint32_t)length);
    if (!carrier->has_ended)
        block_append(&carrier->out, bytes, length);
    return (ssize_t)length;
}

bool carried_is_sure(const struct carried_side *carried)
{
    return !carried->sent || carried->failed;
}

void carried_write(struct carried_side *carried, uv_write_t *write, const uv_buf_t *bytes,
                   uv_write_cb on_wrote)
{
    assert(!carried->write);
    carried->write = write;
    carried->wrote = on_wrote;
    say(carried, ROW_WRITE, (uint32_t)bytes->len);
    if (!carried->carrier->has_ended)
        block_append(&carried->carrier->out, bytes->base, bytes->len);
}

void carried_finish(struct carried_side *carried)
{
    say(carried, ROW_FINISH, 0);
}

void carried_close(struct carried_side *carried, bool has_reset)
{
    carried->flow = NULL;
    carried->reads = false;
    carried->carrier->held--;
    not_due(carried);
    say(carried, ROW_CLOSE, has_reset);
    wrote(carried, UV_ECANCELED);
    if (carried->carrier->has_ended)
        gone(carried);
}
