/* flow_handed.c - what a flow has handed to the thread that sends, and what of it comes back. See
 * send_thread.h. */
#include "proxy/internal.h"

#include <stdlib.h>

void flow_settle(struct flow *flow)
{
    struct side *side = flow->to;
    if (!flow->is_to_server || !flow->link->proxy->send_thread)
        return;
    side_settle(side);
    if (!side->outlet.has_returned)
        return;
    const struct outlet back = side->outlet;
    side->outlet = (struct outlet){0};
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
    struct side *side = (struct side *)((char *)outlet - offsetof(struct side, outlet));
    const struct flow *of_server = side->socket.handle.data;
    flow_push(&of_server->link->to_server);
}
