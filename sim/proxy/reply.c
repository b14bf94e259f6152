/* reply.c - what becomes of a reply: paired with its request, shown, decided; and the owner's own
 * answers in their turn. */
#include "proxy/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool reply_has_answers(const struct proxy_link *link)
{
    return link->first && link->first->is_answered;
}

void reply_emit_answers(struct proxy_link *link)
{
    while (reply_has_answers(link)) {
        struct pending_request *request = link->first;
        link->to_client.settled += request->answer_length;
        flow_emit(&link->to_client, request->answer, request->answer_length);
        request_done(request);
    }
    reply_check_feed(link);
}

void reply_check_feed(struct proxy_link *link)
{
    struct flow *flow = &link->to_client;
    if (!link->first || link->first->feed != FEED_AT_REPLY)
        return;
    const bool is_between = !flow->framer || flow->framer->is_done;
    if (is_between && flow->frame == FRAME_OPEN && !flow->is_whole)
        flow_turn_raw(flow, NULL);
}

static enum proxy_decision ask(struct pending_request *request, const char *bytes, size_t length)
{
    struct proxy_link *link = request->shown.link;
    struct proxy_hooks *hooks = &link->proxy->hooks;
    link->proxy->replies++;
    if (!hooks->reply || (request->is_unseen && !request->shown.owner))
        return PROXY_PASS;
    request->in_hook = HOOK_REPLY;
    enum proxy_decision decision =
        hooks->reply(hooks->context, link->owner, &request->shown, bytes, length);
    request->in_hook = HOOK_NONE;
    if (request->said == SAID_FORWARD)
        decision = PROXY_PASS;
    else if (request->said != SAID_NOTHING)
        decision = PROXY_DROP;
    request->said = SAID_NOTHING;
    return decision;
}

/* Nobody asked for it, as far as we know: then we know too little to go on pairing. */
static enum frame unasked(struct flow *flow)
{
    flow->is_whole = false;
    flow_turn_raw(flow, flow->link->to_server.is_raw ? NULL : "a reply that no request asked for");
    return flow->link->is_over ? FRAME_HELD : FRAME_OPEN;
}

/* How many of the same bytes, at most: where they are as long as nearly all of those of writes are
 * ("+OK", nil). */
static int64_t count_alike(const char *bytes, size_t length, size_t there, int64_t most)
{
    enum { USUAL = sizeof "+OK\r\n" - 1 };
    int64_t count = 1;
    if (length != USUAL)
        return count;
    for (const char *next = bytes + USUAL;
         count < most && (size_t)(next - bytes) + USUAL <= there && !memcmp(next, bytes, USUAL);
         next += USUAL)
        count++;
    return count;
}

size_t replies_pass_unseen(struct flow *flow, const char *bytes, size_t length, size_t there)
{
    struct pending_request *request = flow->link->first;
    const struct proxy_hooks *hooks = &flow->link->proxy->hooks;
    if (!request || !request->is_unseen || request->replies_left < 2 ||
        !pairing_is_reply(flow->framer))
        return 0;
    const int64_t count = count_alike(bytes, length, there, request->replies_left - 1);
    flow->link->proxy->replies += (uint64_t)count;
    request->replies_left -= count;
    if (request->shown.owner)
        hooks->replies(hooks->context, flow->link->owner, &request->shown, bytes, length, count);
    return (size_t)count * length;
}

enum frame reply_decide(struct flow *flow, const char *bytes, size_t length)
{
    struct proxy_link *link = flow->link;
    struct pending_request *request;
    flow->request = NULL;
    for (;;) {
        request = link->first;
        enum pairing_match match = pairing_match(&link->pairing, flow->framer, bytes, length,
                                                 request ? &request->command : NULL);
        if (match == MATCH_PUSH)
            return FRAME_PASS;
        if (!request)
            return unasked(flow);
        if (match == MATCH_REPLY)
            break;
        request_done(request);
    }
    if (request->is_answered)
        return unasked(flow); /* behind a muted SUBSCRIBE that was refused: its turn was not seen */
    flow->request = request;
    if (request->is_ghost)
        return FRAME_DROP;
    enum proxy_decision decision = ask(request, bytes, length);
    if (link->is_over || decision == PROXY_HOLD)
        return FRAME_HELD;
    return decision == PROXY_DROP ? FRAME_DROP : FRAME_PASS;
}

void reply_dropped(struct flow *flow)
{
    struct pending_request *request = flow->request;
    if (!request || !request->answer)
        return;
    flow->settled += request->answer_length;
    flow_emit(flow, request->answer, request->answer_length);
    free(request->answer);
    request->answer = NULL;
}

void reply_ended(struct flow *flow)
{
    struct proxy_link *link = flow->link;
    struct pending_request *request = flow->request;
    flow->request = NULL;
    if (request) {
        int64_t left =
            pairing_replied(&link->pairing, &flow->end, &request->command, request->replies_left);
        bool is_feed = left == 0 && request->feed == FEED_AFTER_REPLY;
        request->replies_left = left;
        if (left == 0)
            request_done(request);
        if (is_feed)
            flow_turn_raw(flow, NULL);
    }
    reply_check_feed(link);
}

/* --- what owners say --- */

static struct flow *held(struct proxy_request *shown, enum said said)
{
    struct pending_request *request = (struct pending_request *)shown;
    struct flow *flow = &shown->link->to_client;
    if (shown->link->is_over)
        return NULL;
    if (request->in_hook == HOOK_REPLY) {
        request->said = said;
        return NULL;
    }
    assert(flow->request == request && flow->frame == FRAME_HELD);
    return flow;
}

void proxy_reply_forward(struct proxy_request *request)
{
    struct flow *flow = held(request, SAID_FORWARD);
    if (!flow)
        return;
    flow->frame = FRAME_PASS;
    flow_run(flow);
}

void proxy_link_say(struct proxy_link *link, const char *bytes, size_t length)
{
    struct flow *flow = &link->to_client;
    assert(!flow->is_streaming);
    if (link->is_over)
        return;
    flow->settled += length;
    flow_emit(flow, bytes, length);
}

void proxy_reply_answer(struct proxy_request *shown, const char *bytes, size_t length)
{
    struct flow *flow = held(shown, SAID_ANSWER);
    if (shown->link->is_over)
        return;
    request_keep_answer((struct pending_request *)shown, bytes, length);
    if (!flow)
        return;
    flow->frame = FRAME_DROP;
    flow_run(flow);
}

/* Of a large frame only the first part was looked at: what has come since is part of it, too. */
static void see_more(struct flow *flow)
{
    enum resp_status status;
    size_t waiting = block_length(&flow->held) - flow->parsed;
    if (flow->is_whole || !waiting)
        return;
    flow->parsed +=
        flow_feed(flow, flow->held.bytes + flow->held.begin + flow->parsed, waiting, &status);
}

static size_t forward_part(struct flow *flow, size_t bytes)
{
    if (flow->frame != FRAME_HELD || flow->link->is_over)
        return 0;
    if (bytes >= flow->parsed)
        see_more(flow);
    /* The last byte stays: with it the frame would be whole, and that is for forward to say. */
    if (bytes >= flow->parsed)
        bytes = flow->parsed - 1;
    flow_emit(flow, flow->held.bytes + flow->held.begin, bytes);
    flow->settled += bytes;
    flow->parsed -= bytes;
    flow->is_streaming = flow->is_streaming || bytes > 0;
    block_eat(&flow->held, bytes);
    flow_start(flow); /* there is room again */
    return bytes;
}

/* Of the frame that is held. */
static size_t left(struct flow *flow)
{
    if (flow->frame != FRAME_HELD || flow->link->is_over)
        return 0;
    see_more(flow);
    if (flow->is_whole || flow->ending || (flow->framer && flow->framer->is_bad))
        return flow->parsed;
    return SIZE_MAX;
}

size_t proxy_request_left(struct proxy_request *request)
{
    return left(&request->link->to_server);
}

size_t proxy_reply_left(struct proxy_request *request)
{
    return left(&request->link->to_client);
}

size_t proxy_request_forward_part(struct proxy_request *request, size_t bytes)
{
    return forward_part(&request->link->to_server, bytes);
}

size_t proxy_reply_forward_part(struct proxy_request *request, size_t bytes)
{
    return forward_part(&request->link->to_client, bytes);
}
