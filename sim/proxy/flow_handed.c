/* flow_handed.c - what a flow has handed to the thread that sends, and what of it comes back. See
 * send_thread.h. */
#include "proxy/internal.h"

#include <stdlib.h>

void flow_settle(struct flow *flow)
{
    struct outlet *outlet = &flow->link->outlet;
    if (!flow->is_to_server || !flow->link->proxy->send_thread)
        return;
    side_settle(flow->to);
    if (!outlet->has_returned)
        return;
    const struct outlet back = *outlet;
    *outlet = (struct outlet){0};
    struct block behind = flow->backlog;
    flow->backlog = (struct block){0};
    block_append(&flow->backlog, back.left, back.left_length);
    block_append(&flow->backlog, behind.bytes + behind.begin, block_length(&behind));
    block_free(&behind);
    free(back.left);
    if (back.error)
        flow_sink_gone(flow);
}

void proxy_sent_back(struct outlet *outlet)
{
    struct proxy_link *link =
        (struct proxy_link *)((char *)outlet - offsetof(struct proxy_link, outlet));
    flow_push(&link->to_server);
}
