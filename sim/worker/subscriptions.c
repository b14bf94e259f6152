/* subscriptions.c - what a worker subscribes to, and what is published to it. See session.h.
 *
 * A server writes a published message to each who has subscribed whenever it likes, and so it would
 * race with all else. So a connection that subscribes does so over one of our own beside it, its
 * ear: that is asked, behind each execution at that server, what has come so far (it answers a PING
 * behind all of it), and each message of it stands on its way to the worker, as a reply does. */
#include "base/bytes.h"
#include "base/memory.h"
#include "base/names.h"
#include "live/servers.h"
#include "proxy/proxy.h"
#include "redis/resp.h"
#include "worker/session_state.h"

#include <stdlib.h>
#include <string.h>

struct wire_ear {
    struct server_wire wire;
};

void ear_free(struct wire_ear *ear)
{
    if (!ear)
        return;
    server_wire_close(&ear->wire);
    free(ear);
}

bool session_is_subscribed(const struct session *session, int client)
{
    for (const struct wire *wire = session->wires; wire; wire = wire->next)
        if (wire->client == client && wire->ear && !wire->is_cut)
            return true;
    return false;
}

static bool subscribes(const char *name)
{
    static const char *const names[] = {"SUBSCRIBE",   "PSUBSCRIBE",   "SSUBSCRIBE",
                                        "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"};
    return NAMES_FIND(names, name) >= 0;
}

/* In RESP 2 a connection that has subscribed is good for nothing else (but PING). */
bool ear_takes(const struct session *session, const struct wire *wire, const char *name)
{
    return subscribes(name) || (wire && wire->ear && session_protocol(session) == 2);
}

/* --- what it hears --- */

#define MARK "picklock"
static const char ask[] = "*2\r\n$4\r\nPING\r\n$8\r\n" MARK "\r\n";

static bool is_frame(const char *bytes, size_t length, const char *wanted)
{
    return length == strlen(wanted) && memcmp(bytes, wanted, length) == 0;
}

static bool is_mark(const char *bytes, size_t length)
{
    return is_frame(bytes, length, "$8\r\n" MARK "\r\n") ||
           is_frame(bytes, length, "*2\r\n$4\r\npong\r\n$8\r\n" MARK "\r\n");
}

static bool is_published(const struct resp *frame, const char *bytes)
{
    static const char *const words[] = {"message", "pmessage", "smessage"};
    const struct resp_span *first = &frame->spans[0];
    for (size_t i = 0; i < sizeof words / sizeof *words && frame->spans_count; i++)
        if ((frame->type == '*' || frame->type == '>') && first->length == strlen(words[i]) &&
            memcmp(bytes + first->offset, words[i], first->length) == 0)
            return true;
    return false;
}

/* A whole frame. True: it is the mark, behind which nothing has come yet. */
static bool take_frame(struct session *session, struct wire *wire, const struct resp *framer,
                       struct bytes *frame, struct bytes *reply)
{
    const bool is_last = is_mark(frame->at, frame->length);
    if (!is_last && is_published(framer, frame->at))
        session_add_published(wire, session, frame->at, frame->length);
    else if (!is_last && reply)
        bytes_add(reply, frame->at, frame->length);
    frame->length = 0;
    return is_last;
}

/* Up to the mark; reply: what is not published is put behind it; NULL: there is none. */
static enum fail listen_to(struct session *session, struct wire *wire, struct bytes *reply,
                           struct failure *failure)
{
    struct server_wire *ear = &wire->ear->wire;
    struct bytes frame = {0};
    struct resp framer;
    bool is_over = false;
    enum fail fail = server_wire_say(ear, ask, sizeof ask - 1, failure);
    resp_init(&framer, RESP_REPLIES);
    while (!fail && !is_over) {
        char chunk[4096];
        const size_t got = server_wire_read(ear, chunk, sizeof chunk, failure);
        if (!got)
            fail = failure_wrap(failure, "a subscription to server %d", wire->server + 1);
        for (size_t at = 0; !is_over && at < got && !fail;) {
            enum resp_status status;
            const size_t eaten = resp_feed(&framer, chunk + at, got - at, &status);
            bytes_add(&frame, chunk + at, eaten);
            at += eaten;
            if (status == RESP_WHOLE)
                is_over = take_frame(session, wire, &framer, &frame, reply);
            else if (status == RESP_BAD)
                fail = failure_set(failure, FAIL_UNKNOWN, "a subscription to server %d: %s",
                                   wire->server + 1, framer.why);
        }
    }
    free(frame.at);
    return fail;
}

enum fail ears_listen(struct session *session, int server, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (struct wire *wire = session->wires; wire && !fail; wire = wire->next)
        if (wire->ear && wire->server == server && !wire->is_cut && !wire->is_silent)
            fail = listen_to(session, wire, NULL, failure);
    return fail;
}

enum fail ear_execute(struct session *session, struct wire_message *message,
                      struct failure *failure)
{
    static const char nobody[] = "+OK\r\n"; /* its connection is gone, and with it who would hear */
    struct bytes reply = {0};
    struct wire *wire = message->wire;
    if (wire && !wire->ear)
        wire->ear = memory_new(1, sizeof *wire->ear);
    if (wire && (session_open_beside(session, wire->server, &wire->ear->wire, failure) ||
                 server_wire_say(&wire->ear->wire, message->bytes, message->length, failure) ||
                 listen_to(session, wire, &reply, failure))) {
        free(reply.at);
        return failure_wrap(failure, "%s to server %d", message->name, message->server + 1);
    }
    if (!reply.length)
        bytes_add(&reply, nobody, sizeof nobody - 1);
    message->transit = TRANSIT_REPLY;
    message->is_beside = true;
    message->reply = reply.at;
    message->reply_length = reply.length;
    return FAIL_NONE;
}
