/* flow.c - one direction of a link: reads, finds frames, lets them pass, keeps what must wait,
 * writes.
 *
 * Never looks again at what it has seen, never writes past a frame that is held, never keeps more
 * than KEPT_MAX and one read. */
#include "proxy/internal.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* --- framers: a flow has one as long as it needs it --- */

static struct framer **framers_of(const struct flow *flow)
{
    return &flow->link->proxy->framers[flow->is_to_server ? 0 : 1];
}

static void take_framer(struct flow *flow)
{
    struct framer **spare = framers_of(flow);
    struct framer *framer = *spare;
    if (framer) {
        *spare = framer->next;
    } else {
        framer = memory_new(1, sizeof *framer);
        resp_init(&framer->resp, flow->is_to_server ? RESP_REQUESTS : RESP_REPLIES);
    }
    flow->framer = &framer->resp;
}

static void give_framer_back(struct flow *flow)
{
    struct framer *framer = (struct framer *)flow->framer;
    framer->next = *framers_of(flow);
    *framers_of(flow) = framer;
    flow->framer = NULL;
}

size_t flow_feed(struct flow *flow, const char *bytes, size_t length, enum resp_status *status)
{
    const size_t eaten = resp_feed(flow->framer, bytes, length, status);
    flow->is_whole = *status == RESP_WHOLE;
    flow->end = (struct resp_end){.type = flow->framer->type, .integer = flow->framer->integer};
    return eaten;
}

void flows_free_framers(struct proxy *proxy)
{
    for (int i = 0; i < 2; i++)
        while (proxy->framers[i]) {
            struct framer *framer = proxy->framers[i];
            proxy->framers[i] = framer->next;
            free(framer);
        }
}

void flow_init(struct flow *flow, struct proxy_link *link, struct side *from, struct side *to,
               enum resp_side resp_side)
{
    flow->link = link;
    flow->from = from;
    flow->to = to;
    flow->is_to_server = resp_side == RESP_REQUESTS;
}

void flow_free(struct flow *flow)
{
    free(flow->framer);
    block_free(&flow->held);
    block_free(&flow->backlog);
    if (!flow->is_writing) /* else on_written() does */
        block_free(&flow->writing);
}

/* --- writing --- */

void flow_sink_gone(struct flow *flow)
{
    flow->is_mute = true;
    block_free(&flow->backlog);
}

static void took(const struct flow *flow, size_t length)
{
    if (flow->is_to_server)
        return;
    flow->link->proxy->bytes_written += length;
    proxy_told(flow->link);
}

static void on_written(uv_write_t *write, int status)
{
    struct flow *flow = write->data;
    struct proxy *proxy = flow->link->proxy;
    const bool is_to_server = flow->is_to_server;
    size_t length = block_length(&flow->writing);
    flow->is_writing = false;
    block_free(&flow->writing);
    if (status == UV_ECANCELED)
        return; /* the handle is being closed */
    took(flow, length);
    if (status < 0)
        flow_sink_gone(flow);
    flow_push(flow);
    if (flow->is_shut && !flow->is_writing)
        side_shut_writing(flow->to);
    if (flow->link->is_over)
        link_flushed(flow);
    else
        flow_run(flow);
    if (!is_to_server)
        proxy_settled(proxy);
}

void flow_push(struct flow *flow)
{
    struct proxy_link *link = flow->link;
    struct tls_session *tls = flow->to->tls;
    flow_settle(flow);
    const bool shakes_hands = tls && !flow->to->is_connected; /* silence begins behind that */
    if (flow->is_to_server && !link->is_dialled && block_length(&flow->backlog) && !link->is_over)
        link_dial(link);
    if (flow->is_writing || !flow->to->is_open || (link->is_silent && !shakes_hands) ||
        !(flow->to->is_connected || tls) || !(block_length(&flow->backlog) || tls))
        return;
    if (tls) {
        flow_encrypt(flow);
    } else {
        flow->writing = flow->backlog;
        flow->backlog = (struct block){0};
    }
    if (!block_length(&flow->writing))
        return;
    uv_buf_t buffer = uv_buf_init(flow->writing.bytes + flow->writing.begin,
                                  (unsigned)block_length(&flow->writing));
    flow->write.data = flow;
    flow->is_writing = true;
    if (side_write(flow->to, &flow->write, &buffer, on_written) < 0) {
        flow->is_writing = false;
        block_free(&flow->writing);
        flow_sink_gone(flow);
    }
}

static bool can_go_at_once(const struct flow *flow)
{
    return !flow->is_mute && !flow->is_writing && !block_length(&flow->backlog) &&
           flow->to->is_connected && !flow->to->tls && !flow->link->is_silent;
}

bool flow_is_written(struct flow *flow)
{
    struct side *side = flow->to;
    const uv_buf_t nothing = uv_buf_init(NULL, 0);
    if (!flow->is_writing && side->carried && !carried_is_sure(side->carried)) {
        flow->write.data = flow;
        flow->is_writing = true;
        (void)side_write(side, &flow->write, &nothing, on_written);
    }
    return !flow->is_writing;
}

void flow_write(struct flow *flow, const char *bytes, size_t length)
{
    if (!length)
        return;
    if (flow->is_to_server && can_go_at_once(flow)) {
        if (side_hand(flow->to, bytes, length))
            return;
        flow_settle(flow); /* which may find that nobody is there any more */
    }
    if (flow->is_mute) {
        took(flow, length);
        return;
    }
    if (can_go_at_once(flow)) {
        const ssize_t wrote = side_send(flow->to, bytes, length);
        if (wrote < 0 && wrote != UV_EAGAIN) {
            flow_sink_gone(flow);
            took(flow, length);
            return;
        }
        if (wrote > 0) {
            took(flow, (size_t)wrote);
            bytes += wrote;
            length -= (size_t)wrote;
        }
    }
    block_append(&flow->backlog, bytes, length);
    flow_push(flow);
}

bool flow_shut(struct flow *flow)
{
    struct side *side = flow->to;
    if (side->tls && side->is_connected && !flow->is_mute && !flow->is_shut) {
        flow->is_shut = true;
        tls_session_end(side->tls);
        flow_push(flow);
    }
    if (flow->is_writing)
        return false;
    side_shut_writing(side);
    return true;
}

static enum proxy_stream stream_of(const struct flow *flow)
{
    return flow->is_to_server ? PROXY_TO_SERVER : PROXY_TO_CLIENT;
}

void flow_emit(struct flow *flow, const char *bytes, size_t length)
{
    const struct proxy_hooks *hooks = &flow->link->proxy->hooks;
    if (!hooks->passed)
        flow_write(flow, bytes, length);
    else if (length)
        hooks->passed(hooks->context, flow->link->owner, stream_of(flow), bytes, length);
}

/* May the end go on? An owner that keeps bytes says so. */
static bool end_is_let(struct flow *flow)
{
    const struct proxy_hooks *hooks = &flow->link->proxy->hooks;
    if (!hooks->passed || flow->is_end_let)
        return true;
    if (!flow->is_end_told) {
        flow->is_end_told = true;
        hooks->ended(hooks->context, flow->link->owner, stream_of(flow));
    }
    return flow->is_end_let;
}

/* --- looking --- */

void flow_turn_raw(struct flow *flow, const char *why)
{
    struct proxy_link *link = flow->link;
    if (flow->is_raw)
        return;
    flow->is_raw = true;
    if (why)
        proxy_notice(link->proxy, NOTICE_UNREADABLE, link->owner,
                     "%s bytes %llu: %s; relayed unread from here on, both ways",
                     flow->is_to_server ? "request" : "reply", (unsigned long long)flow->settled,
                     why);
    if (!flow->is_to_server)
        flow_turn_raw(&link->to_server,
                      NULL); /* what is not answered in frames need not be asked so */
}

/* Where flow_scan() stands in its window: [done, begin) passes and is not written yet, [begin, at)
 * is the frame in hand. */
struct frame_scan {
    const char *bytes;
    size_t length, done, begin, at;
};

static void write_passed(struct flow *flow, struct frame_scan *scan)
{
    flow_emit(flow, scan->bytes + scan->done, scan->begin - scan->done);
    scan->done = scan->begin;
}

static void write_copies(struct flow *flow, struct frame_scan *scan, size_t frame_length,
                         int copies)
{
    write_passed(flow, scan);
    for (; copies > 0; copies--) {
        flow->settled += frame_length;
        flow_emit(flow, scan->bytes + scan->begin - frame_length, frame_length);
    }
}

/* The frame in hand is decided, and as much of it as has come goes or is dropped. */
static void settle(struct flow *flow, struct frame_scan *scan)
{
    size_t length = scan->at - scan->begin;
    if (flow->frame == FRAME_DROP) {
        write_passed(flow, scan);
        scan->done = scan->at;
        if (!flow->is_to_server)
            reply_dropped(flow);
    } else {
        flow->settled += length;
    }
    scan->begin = scan->at;
    if (!flow->is_whole) {
        flow->is_streaming = true;
        return;
    }
    bool was_streaming = flow->is_streaming;
    flow->frame = FRAME_OPEN;
    flow->is_whole = flow->is_streaming = false;
    if (flow->is_to_server) {
        if (was_streaming)
            flow->copies = 0; /* its beginning is not here any more */
        int copies = request_ended(flow);
        if (copies)
            write_copies(flow, scan, length, copies);
    } else {
        reply_ended(flow);
        if (reply_has_answers(flow->link)) {
            write_passed(flow, scan);
            reply_emit_answers(flow->link);
        }
    }
}

/* So many bytes from the frame in hand on are whole frames that pass. False: none. */
static bool go_on(struct flow *flow, struct frame_scan *scan, size_t length)
{
    if (!length)
        return false;
    flow->is_whole = false;
    flow->settled += length;
    scan->at = scan->begin += length;
    return true;
}

/* Feeds the framer; decides when there is enough to decide on. */
static void look(struct flow *flow, struct frame_scan *scan)
{
    enum resp_status status;
    const char *frame = scan->bytes + scan->begin;
    const size_t there = scan->length - scan->begin;
    if (scan->at == scan->begin && go_on(flow, scan, requests_repeat(flow, frame, there)))
        return;
    scan->at += flow_feed(flow, scan->bytes + scan->at, scan->length - scan->at, &status);
    if (status == RESP_BAD) {
        if (flow->frame == FRAME_DROP)
            scan->done = scan->begin =
                scan->at; /* its beginning is gone: so is what was read of it */
        flow->frame = FRAME_OPEN;
        flow->is_streaming = false;
        flow->request = NULL;
        flow_turn_raw(flow, flow->framer->why);
        return;
    }
    if (flow->frame != FRAME_OPEN ||
        (!flow->is_whole && flow->framer->seen < flow->link->proxy->looked_at))
        return;
    size_t length = scan->at - scan->begin;
    if (flow->is_whole &&
        go_on(flow, scan,
              flow->is_to_server ? request_passes_unseen(flow, frame, length)
                                 : replies_pass_unseen(flow, frame, length, there)))
        return;
    flow->frame = flow->is_to_server ? request_decide(flow, frame, length)
                                     : reply_decide(flow, frame, length);
}

/* Looks at a window of bytes, the first flow->parsed of which the framer has seen. Returns how many
 * of its front are written or dropped; what is left must wait. */
static size_t flow_scan(struct flow *flow, const char *bytes, size_t length)
{
    struct frame_scan scan = {.bytes = bytes, .length = length, .at = flow->parsed};
    flow->is_running = true;
    if (!flow->framer)
        take_framer(flow);
    while (!flow->link->is_over) {
        if (flow->frame == FRAME_PASS || flow->frame == FRAME_DROP)
            settle(flow, &scan);
        if (flow->link->is_over || flow->frame == FRAME_HELD)
            break;
        if (flow->is_raw && flow->frame == FRAME_OPEN) {
            flow->settled += length - scan.begin;
            scan.begin = scan.at = length;
            break;
        }
        if (scan.at == length)
            break;
        look(flow, &scan);
    }
    write_passed(flow, &scan);
    flow->is_running = false;
    if (flow->framer->is_done && !flow->framer->is_bad)
        give_framer_back(flow);
    flow->parsed = scan.at - scan.begin;
    return scan.begin;
}

/* --- ending --- */

/* Its source went where nothing of ours cut it: in the middle of a frame? */
static void tell_if_broken_off(struct flow *flow)
{
    if (!flow->is_raw && flow->framer && !flow->framer->is_done)
        proxy_notice(flow->link->proxy, NOTICE_UNFINISHED, flow->link->owner,
                     "the %s went in the middle of a %s, of which %llu bytes had come",
                     flow->is_to_server ? "client" : "server",
                     flow->is_to_server ? "request" : "reply",
                     (unsigned long long)flow->framer->seen);
}

/* The end of the stream goes on when everything before it has. */
static void finish(struct flow *flow)
{
    struct proxy_link *link = flow->link;
    if (flow->ending == NOT_ENDED || flow->is_done || flow->frame == FRAME_HELD || link->is_over ||
        link->is_silent)
        return;
    if (block_length(&flow->held)) { /* a frame that will never be whole */
        flow_emit(flow, flow->held.bytes + flow->held.begin, block_length(&flow->held));
        block_free(&flow->held);
        flow->parsed = 0;
    }
    if (!end_is_let(flow) || flow->is_done || link->is_over)
        return;
    flow_settle(flow);
    if (flow->is_to_server && !link->is_dialled) { /* and a server would end it, too */
        tell_if_broken_off(flow);
        link_over(link, LEAVE_FIN, LEAVE_NOW);
        return;
    }
    if (block_length(&flow->backlog) || !flow->to->is_connected || !flow_is_written(flow))
        return;
    flow->is_done = true;
    tell_if_broken_off(flow);
    link_flow_done(flow);
}

/* --- reading --- */

void flow_take(struct flow *flow, const char *bytes, size_t length)
{
    if (flow->link->proxy->takes_any && flow->is_to_server && !flow->has_begun && *bytes != '*') {
        flow_turn_raw(flow, NULL);
        flow_turn_raw(&flow->link->to_client, NULL);
    }
    flow->has_begun = true;
    if (!block_length(&flow->held)) {
        size_t done = flow_scan(flow, bytes, length);
        bytes += done;
        length -= done;
    }
    block_append(&flow->held, bytes, length);
    flow_run(flow);
}

void flow_source_ended(struct flow *flow, enum flow_ending ending)
{
    struct proxy_link *link = flow->link;
    if (flow->is_reading)
        side_read_stop(flow->from);
    flow->is_reading = false;
    flow->from->has_ended = true;
    flow->ending = ending;
    if (!flow->is_to_server && ending == ENDED_BY_RST)
        link->proxy->noticed[NOTICE_RESET]++; /* a client is told by its own reset */
    /* A client's reset overtakes what it sent, as it does on a wire without a proxy. */
    if (flow->is_to_server && ending == ENDED_BY_RST) {
        tell_if_broken_off(flow);
        link_over(link, LEAVE_NOW, LEAVE_RST);
    } else {
        flow_run(flow);
    }
}

void flow_run(struct flow *flow)
{
    if (flow->is_running) {
        flow->runs_again = true;
        return;
    }
    if (flow->link->is_over)
        return;
    do {
        flow->runs_again = false;
        size_t waiting = block_length(&flow->held) - flow->parsed;
        if ((waiting || flow->frame == FRAME_PASS || flow->frame == FRAME_DROP) &&
            block_length(&flow->held)) {
            size_t done =
                flow_scan(flow, flow->held.bytes + flow->held.begin, block_length(&flow->held));
            block_eat(&flow->held, done);
        }
    } while (flow->runs_again && !flow->link->is_over);
    if (!flow->is_to_server && !flow->is_streaming)
        reply_emit_answers(flow->link);
    finish(flow);
    flow_start(flow);
}
