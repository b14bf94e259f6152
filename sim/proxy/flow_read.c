/* flow_read.c - when a flow reads, and who says that there is something: the loop, or its owner. */
#include "proxy/internal.h"

static void take(struct flow *flow, const char *bytes, ssize_t length)
{
    struct proxy_link *link = flow->link;
    if (link->is_over || length == 0 || length == UV_EAGAIN)
        return;
    link->proxy->reads++;
    if (length > 0 && flow->from->tls) {
        tls_session_feed(flow->from->tls, bytes, (size_t)length);
        flow_take_tls(flow);
        return;
    }
    if (length > 0) {
        if (flow->is_to_server)
            link->proxy->bytes_read += (uint64_t)length;
        flow_take(flow, bytes, (size_t)length);
        return;
    }
    flow_source_ended(flow, length == UV_EOF ? ENDED_BY_FIN : ENDED_BY_RST);
}

static void came(struct flow *flow, const char *bytes, ssize_t length)
{
    const bool is_to_server = flow->is_to_server;
    struct proxy *proxy = flow->link->proxy;
    take(flow, bytes, length);
    if (!is_to_server)
        proxy_settled(proxy);
}

void flow_read_now(struct flow *flow)
{
    char *bytes = flow->link->proxy->read_buffer;
    if (flow->is_reading && !flow->from->tls && !flow->from->carried)
        take(flow, bytes, side_receive(flow->from, bytes, READ_MAX));
}

/* Reads as long as there is room. */
void flow_start(struct flow *flow)
{
    struct proxy_link *link = flow->link;
    size_t kept = block_length(&flow->held) + block_length(&flow->backlog) +
                  (flow->is_writing ? block_length(&flow->writing) : 0);
    size_t room = KEPT_MAX + link->proxy->looked_at;
    size_t room_below = flow->is_reading ? room : room / 2;
    bool can_read = flow->from->is_open && flow->from->is_connected && !flow->ending &&
                    !link->is_over && !link->is_silent && !flow->is_owner_full && kept < room_below;
    if (can_read == flow->is_reading || !flow->from->is_open)
        return;
    flow->is_reading = can_read;
    flow->is_unwatched = false;
    if (!can_read)
        side_read_stop(flow->from);
    else if (side_read_start(flow->from, came) < 0)
        link_over(link, LEAVE_RST, LEAVE_FIN);
}

void flow_watch(struct flow *flow, bool is_watched)
{
    if (!flow->is_reading || flow->from->carried || flow->is_unwatched == !is_watched)
        return;
    flow->is_unwatched = !is_watched;
    if (!is_watched)
        side_read_stop(flow->from);
    else if (side_read_start(flow->from, came) < 0)
        link_over(flow->link, LEAVE_RST, LEAVE_FIN);
}
