/* request.c - what becomes of a request: shown, decided, sent on, remembered until its reply. */
#include "proxy/internal.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct pending_request *request_new(struct proxy_link *link)
{
    struct proxy *proxy = link->proxy;
    struct pending_request *request = proxy->spare;
    if (request) {
        proxy->spare = request->next;
        memset(request, 0, offsetof(struct pending_request, name));
    } else {
        request = memory_new(1, sizeof *request);
    }
    request->shown.link = link;
    request->shown.end = UINT64_MAX;
    return request;
}

static void request_free(struct pending_request *request)
{
    struct proxy *proxy = request->shown.link->proxy;
    free(request->answer);
    request->answer = NULL;
    request->next = proxy->spare;
    proxy->spare = request;
}

void requests_free_spare(struct proxy *proxy)
{
    while (proxy->spare) {
        struct pending_request *request = proxy->spare;
        proxy->spare = request->next;
        free(request);
    }
}

void requests_free_all(struct proxy_link *link)
{
    struct pending_request *in_hand = link->to_server.request;
    if (in_hand && !in_hand->is_queued)
        request_free(in_hand);
    link->to_server.request = link->to_client.request = NULL;
    while (link->first) {
        struct pending_request *request = link->first;
        link->first = request->next;
        request_free(request);
    }
    link->last = NULL;
}

static void append(struct pending_request *request)
{
    struct proxy_link *link = request->shown.link;
    request->is_queued = true;
    if (link->last)
        link->last->next = request;
    else
        link->first = request;
    link->last = request;
}

void request_done(struct pending_request *request)
{
    struct proxy_link *link = request->shown.link;
    assert(link->first == request);
    link->first = request->next;
    if (!link->first)
        link->last = NULL;
    if (link->to_server.request == request)
        link->to_server.request = NULL;
    request_free(request);
}

/* --- decided --- */

/* It goes on: nothing of it may be asked of the bytes any more. */
static void pass(struct pending_request *request)
{
    struct proxy_link *link = request->shown.link;
    struct flow *flow = &link->to_server;
    flow->copies = request->shown.copies;
    request->feed = pairing_feed(&link->pairing, &request->command);
    request->replies_left = pairing_expects(&link->pairing, &request->command);
    pairing_forwarded(&link->pairing, &request->command);
    if (request->feed != FEED_NONE) {
        if (request->replies_left == 0)
            request->feed = FEED_AT_REPLY;
        proxy_notice(link->proxy, NOTICE_UNFRAMED, link->owner,
                     "%s: what follows has no frames; relayed unread from here on", request->name);
        flow_turn_raw(flow, NULL);
    } else if (request->replies_left == 0) {
        request_free(request);
        flow->request = NULL;
        return;
    }
    append(request);
    reply_check_feed(link);
}

void request_keep_answer(struct pending_request *request, const char *bytes, size_t length)
{
    free(request->answer);
    request->answer = memory_new(length, 1);
    memcpy(request->answer, bytes, length);
    request->answer_length = length;
}

/* Thrown away, or answered by the owner in its turn. */
static void divert(struct pending_request *request)
{
    struct proxy_link *link = request->shown.link;
    link->to_server.request = NULL;
    if (!request->answer || !request->shown.expects_reply) {
        request_free(request);
        return;
    }
    request->is_answered = true;
    append(request);
    flow_run(&link->to_client);
}

/* --- unseen --- */

/* *request_owner: whom its reply is told, in the owner's own terms; NULL: nobody. */
static bool is_let_unseen(struct flow *flow, const char *bytes, size_t length, void **request_owner)
{
    const struct proxy_link *link = flow->link;
    const struct proxy_hooks *hooks = &link->proxy->hooks;
    const struct resp *framer = flow->framer;
    const struct resp_span *key = &framer->spans[1];
    char name[PROXY_NAME_MAX];
    pairing_read_name(framer, bytes, name);
    struct proxy_request shown = {
        .link = flow->link,
        .number = link->requests_count + 1,
        .name = name,
        .expects_reply = true,
        .bytes = bytes,
        .length = length,
        .end = flow->settled + length,
    };
    if (framer->spans_count > 1) {
        shown.first_key = bytes + key->offset;
        shown.first_key_length = key->length < PROXY_KEY_MAX ? (size_t)key->length : PROXY_KEY_MAX;
    }
    if (framer->spans_count == framer->count) {
        shown.words = framer->spans;
        shown.words_count = framer->spans_count;
    }
    const bool passes = hooks->passes_unseen(hooks->context, link->owner, &shown);
    *request_owner = shown.owner;
    return passes;
}

/* Those that pass one behind the other are remembered as one, with as many replies. */
static void append_unseen(struct proxy_link *link, void *owner, int64_t count)
{
    link->requests_count += (uint64_t)count;
    link->proxy->requests += (uint64_t)count;
    link->may_repeat |= owner != NULL;
    if (link->last && link->last->is_unseen && link->last->shown.owner == owner) {
        link->last->replies_left += count;
        return;
    }
    struct pending_request *request = request_new(link);
    request->is_unseen = true;
    request->shown.owner = owner;
    request->shown.name = request->name;
    request->shown.expects_reply = true;
    request->replies_left = count;
    request->name[0] = 0;
    append(request);
}

size_t request_passes_unseen(struct flow *flow, const char *bytes, size_t length)
{
    struct proxy_link *link = flow->link;
    const struct proxy_hooks *hooks = &link->proxy->hooks;
    void *owner = NULL;
    if ((hooks->request && !hooks->passes_unseen) ||
        !pairing_is_plain(&link->pairing, flow->framer, bytes) ||
        (hooks->request && !is_let_unseen(flow, bytes, length, &owner)))
        return 0;
    append_unseen(link, owner, 1);
    return length;
}

size_t requests_repeat(struct flow *flow, const char *bytes, size_t length)
{
    struct proxy_link *link = flow->link;
    const struct proxy_hooks *hooks = &link->proxy->hooks;
    if (!flow->is_to_server || !flow->framer->is_done || !link->may_repeat || !hooks->repeats ||
        !pairing_is_simple(&link->pairing))
        return 0;
    const struct proxy_repeated repeated =
        hooks->repeats(hooks->context, link->owner, bytes, length, flow->settled);
    if (repeated.count)
        append_unseen(link, repeated.owner, repeated.count);
    return repeated.length;
}

static struct pending_request *read_request(struct flow *flow, const struct pairing_request *read)
{
    struct proxy_link *link = flow->link;
    struct pending_request *request = request_new(link);
    struct proxy_request *shown = &request->shown;
    memcpy(request->name, read->name, sizeof request->name);
    request->command = read->command;
    shown->number = ++link->requests_count;
    shown->name = request->name;
    shown->in_transaction = link->pairing.in_transaction;
    shown->expects_reply = pairing_expects(&link->pairing, &read->command) != 0;
    if (read->key) {
        shown->first_key_length =
            read->key_length < PROXY_KEY_MAX ? read->key_length : PROXY_KEY_MAX;
        memcpy(request->key, read->key, shown->first_key_length);
        shown->first_key = request->key;
    }
    shown->script = read->script;
    shown->script_length = read->script_length;
    if (read->client_name) {
        size_t length = read->client_name_length;
        if (length >= sizeof link->name)
            length = sizeof link->name - 1;
        memcpy(link->name, read->client_name, length);
        link->name[length] = 0;
    }
    return request;
}

static enum proxy_decision ask(struct pending_request *request, const char *bytes, size_t length)
{
    struct proxy_link *link = request->shown.link;
    struct proxy_hooks *hooks = &link->proxy->hooks;
    link->proxy->requests++;
    if (!hooks->request)
        return PROXY_PASS;
    request->shown.bytes = bytes;
    request->shown.length = length;
    request->in_hook = HOOK_REQUEST;
    enum proxy_decision decision = hooks->request(hooks->context, link->owner, &request->shown);
    request->in_hook = HOOK_NONE;
    request->shown.bytes = request->shown.script = NULL;
    request->shown.words_count = 0;
    if (request->said == SAID_FORWARD)
        return PROXY_PASS;
    if (request->said == SAID_ANSWER)
        return PROXY_DROP;
    return decision;
}

enum frame request_decide(struct flow *flow, const char *bytes, size_t length)
{
    struct proxy_link *link = flow->link;
    struct pairing_request read;
    flow->request = NULL;
    flow->copies = 0;
    if (!pairing_read(flow->framer, bytes, length, &read)) {
        pairing_forwarded_nothing(&link->pairing);
        return FRAME_PASS;
    }
    struct pending_request *request = flow->request = read_request(flow, &read);
    if (flow->is_whole && flow->framer->type == '*' &&
        flow->framer->spans_count == read.command.arguments + 1) {
        request->shown.words = flow->framer->spans;
        request->shown.words_count = flow->framer->spans_count;
    }
    enum proxy_decision decision = ask(request, bytes, length);
    request->said = SAID_NOTHING;
    if (link->is_over || decision == PROXY_HOLD)
        return FRAME_HELD;
    if (decision == PROXY_DROP) {
        divert(request);
        return FRAME_DROP;
    }
    pass(request);
    return FRAME_PASS;
}

int request_ended(struct flow *flow)
{
    struct proxy_link *link = flow->link;
    struct pending_request *request = flow->request;
    int copies = flow->copies;
    flow->copies = 0;
    flow->request = NULL;
    if (!request)
        return copies;
    request->shown.end = flow->settled;
    for (int i = 0; i < copies; i++) {
        struct pending_request *ghost = request_new(link);
        memcpy(ghost->name, request->name, sizeof ghost->name);
        ghost->shown.name = ghost->name;
        ghost->command = request->command;
        ghost->is_ghost = true;
        ghost->replies_left = pairing_expects(&link->pairing, &ghost->command);
        pairing_forwarded(&link->pairing, &ghost->command);
        append(ghost);
    }
    return copies;
}

uint64_t proxy_request_end(const struct proxy_request *shown)
{
    return shown->end;
}

uint64_t proxy_link_passed(const struct proxy_link *link)
{
    return link->to_server.settled;
}

/* --- what owners say --- */

/* The held request's flow, or NULL: the link has ended, or the owner speaks inside the hook. */
static struct flow *held(struct proxy_request *shown, enum said said)
{
    struct pending_request *request = (struct pending_request *)shown;
    struct flow *flow = &shown->link->to_server;
    if (shown->link->is_over)
        return NULL;
    if (request->in_hook == HOOK_REQUEST) {
        request->said = said;
        return NULL;
    }
    assert(flow->request == request && flow->frame == FRAME_HELD);
    return flow;
}

void proxy_request_forward(struct proxy_request *shown)
{
    struct flow *flow = held(shown, SAID_FORWARD);
    if (!flow)
        return;
    flow->frame = FRAME_PASS;
    pass((struct pending_request *)shown);
    flow_run(flow);
}

void proxy_request_spoil(struct proxy_request *shown, const char *bytes, size_t length)
{
    struct proxy_link *link = shown->link;
    struct flow *flow = &link->to_server;
    if (link->is_over)
        return;
    assert(flow->request == (struct pending_request *)shown && flow->frame == FRAME_HELD);
    assert(!flow->is_streaming);
    flow->frame = FRAME_OPEN;
    flow->is_whole = false;
    flow->parsed = 0; /* all of it waits to be passed on */
    flow->request = NULL;
    request_free((struct pending_request *)shown);
    flow_turn_raw(flow, "a rule puts garbage here");
    flow->settled += length;
    flow_emit(flow, bytes, length);
    flow_run(flow);
}

void proxy_request_answer(struct proxy_request *shown, const char *bytes, size_t length)
{
    struct pending_request *request = (struct pending_request *)shown;
    struct flow *flow = held(shown, SAID_ANSWER);
    if (shown->link->is_over)
        return;
    request_keep_answer(request, bytes, length);
    if (!flow)
        return;
    flow->frame = FRAME_DROP;
    divert(request);
    flow_run(flow);
}
