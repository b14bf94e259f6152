/* alone.c - see alone.h. Sources: Redis documentation, INFO; redis 7.0, networking.c: a connection
 * is counted once it may send commands. */
#include "watch/alone.h"

#include "live/control.h"

#include <stdlib.h>
#include <string.h>

/* How often it is asked, where the answer may be of a moment before it has seen what has happened
 * already: a connection that was closed, or begun. */
enum { ASKS_MAX = 3 };

struct server_counts {
    int64_t clients, received, rejected, evicted;
    bool is_plain; /* a server that changes no key by itself, nor because another server says so */
};

static int64_t number_of(const char *info, const char *field)
{
    char value[24], *end;
    control_field(info, field, value, sizeof value);
    const long long number = strtoll(value, &end, 10);
    return end == value || *end ? -1 : number;
}

/* Modules may change keys at any time. Those that come with Redis do not. */
static bool has_strange_module(const char *info)
{
    static const char *const known[] = {"bf,", "ReJSON,", "search,", "timeseries,", "vectorset,"};
    static const char begin[] = "module:name=";
    const char *at = info;
    while ((at = strstr(at, begin))) {
        bool is_known = false;
        at += sizeof begin - 1;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known |= strncmp(at, known[i], strlen(known[i])) == 0;
        if (!is_known)
            return true;
    }
    return false;
}

static bool ask(redisContext *control, struct server_counts *counts)
{
    struct failure ignored;
    char role[16];
    redisReply *reply = control_ask(control, &ignored, "INFO");
    const char *info = reply && reply->type == REDIS_REPLY_STRING ? reply->str : "";
    control_field(info, "role", role, sizeof role);
    *counts = (struct server_counts){
        .clients = number_of(info, "connected_clients"),
        .received = number_of(info, "total_connections_received"),
        .rejected = number_of(info, "rejected_connections"),
        .evicted = number_of(info, "evicted_keys"),
        .is_plain = strcmp(role, "master") == 0 && number_of(info, "connected_slaves") == 0 &&
                    number_of(info, "cluster_enabled") <= 0 && !has_strange_module(info)};
    if (reply)
        freeReplyObject(reply);
    return counts->clients >= 0 && counts->received >= 0 && counts->rejected >= 0 &&
           counts->evicted >= 0;
}

static const char others[] = "somebody else is connected to the server, or was since the run began";
static const char silent[] = "the server does not say (INFO) who is connected to it";
static const char not_plain[] = "the server is a replica, or has one, is part of a cluster, or has "
                                "a module that may change keys";
static const char not_counted[] = "the server has not counted all connections of the proxy's";

void alone_begin(struct alone *alone, redisContext *control, bool is_ours)
{
    struct server_counts counts = {0};
    bool has_others = true;
    *alone = (struct alone){0};
    for (int i = 0; i < ASKS_MAX && has_others && !alone->why_not; i++) {
        if (!ask(control, &counts))
            alone->why_not = silent;
        else if (!counts.is_plain)
            alone->why_not = not_plain;
        has_others = !is_ours && counts.clients != 1;
    }
    if (has_others && !alone->why_not)
        alone->why_not = others;
    alone->received = counts.received;
    alone->rejected = counts.rejected;
    alone->evicted = counts.evicted;
}

void alone_end(struct alone *alone, const char *why)
{
    if (!alone->why_not)
        alone->why_not = why;
}

const char *alone_not(struct alone *alone, redisContext *control, uint64_t dials)
{
    /* One of the proxy's that is not counted yet would hide another one: what was begun before the
     * first question is counted by the last answer. */
    const int asks = dials == alone->dials ? 1 : ASKS_MAX;
    const int64_t known = alone->received + (int64_t)dials;
    struct server_counts counts = {0};
    for (int i = 0; i < asks && !alone->why_not; i++) {
        if (!ask(control, &counts))
            alone->why_not = silent;
        else if (!counts.is_plain)
            alone->why_not = not_plain;
        else if (counts.received > known)
            alone->why_not = others;
        else if (counts.rejected != alone->rejected)
            alone->why_not = not_counted;
        else if (counts.evicted != alone->evicted)
            alone->why_not = "the server has evicted keys";
    }
    /* Another one may take the place of one that is not counted. */
    if (!alone->why_not && counts.received != known)
        alone->why_not = not_counted;
    alone->dials = dials;
    return alone->why_not;
}
