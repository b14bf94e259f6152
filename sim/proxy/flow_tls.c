/* flow_tls.c - a flow whose server is spoken to with TLS: its bytes on their way to and from the
 * session. */
#include "proxy/internal.h"

void flow_encrypt(struct flow *flow)
{
    struct tls_session *tls = flow->to->tls;
    char piece[4096];
    size_t length = block_length(&flow->backlog);
    if (flow->to->is_connected && length) {
        length = length < READ_MAX ? length : READ_MAX;
        tls_session_write(tls, flow->backlog.bytes + flow->backlog.begin, length);
        block_eat(&flow->backlog, length);
    }
    while ((length = tls_session_take(tls, piece, sizeof piece)) > 0)
        block_append(&flow->writing, piece, length);
}

/* As large as a read is, and no larger: as much may wait. */
void flow_take_tls(struct flow *flow)
{
    struct proxy_link *link = flow->link;
    struct tls_session *tls = flow->from->tls;
    char *bytes = link->proxy->read_buffer; /* what was read into it is in the session */
    enum tls_state state = TLS_STANDS;
    while (state == TLS_STANDS && !link->is_over) {
        size_t length = tls_session_read(tls, bytes, READ_MAX, &state);
        if (length)
            flow_take(flow, bytes, length);
    }
    if (link->is_over)
        return;
    flow_push(&link->to_server); /* TLS may have had to answer */
    if (state == TLS_BROKEN)
        proxy_notice(link->proxy, NOTICE_TLS, link->owner, "TLS with %s broke: %s",
                     link->proxy->upstream.text, tls_session_why(tls));
    if (state != TLS_GOES_ON && !flow->ending)
        flow_source_ended(flow, state == TLS_ENDED ? ENDED_BY_FIN : ENDED_BY_RST);
}
