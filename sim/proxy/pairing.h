/* pairing.h - which reply belongs to which request: what one connection must remember for it.
 *
 * Pure state over framed requests and replies; no sockets, no memory of its own. The table of
 * commands that do not simply have one reply each is kinds.def. Source: redis-server 7.0.15, tried
 * case by case (README.md). */
#ifndef PICKLOCK_PROXY_PAIRING_H
#define PICKLOCK_PROXY_PAIRING_H

#include "proxy/proxy.h"
#include "redis/resp.h"

enum pairing_kind {
    KIND_PLAIN,
#define KIND(id, name, family) KIND_##id,
#define KIND_MORE(id, name, family)
#include "proxy/kinds.def"
#undef KIND
#undef KIND_MORE
};

/* What of a request matters for its replies. */
struct pairing_command {
    enum pairing_kind kind;
    int64_t arguments;    /* behind the name */
    int version;          /* HELLO: 2 or 3, 0: not said */
    char family;          /* SUBSCRIBE, UNSUBSCRIBE: 'c' channels, 'p' patterns, 's' shards */
    bool is_muted;        /* sent when replies were off: only a confirmation comes, or nothing */
    bool was_queued;      /* inside MULTI: its reply is QUEUED */
    uint64_t transaction; /* the how-manieth this MULTI opened; 0: none */
};

enum { REPLIES_BY_COUNT = -1 }; /* as many as there are subscriptions, at least one */

struct pairing {
    bool in_transaction;
    bool is_odd; /* something was queued whose replies would break the frame of EXEC's */
    bool is_off, skips_next;
    uint64_t transactions; /* opened so far, to know a late refusal of MULTI */
    int version;           /* of the replies */
    int64_t channels, patterns, shards;
};

/* A request as read from its frame: the first words, in place. */
struct pairing_request {
    struct pairing_command command;
    char name[PROXY_NAME_MAX];
    const char *key;
    size_t key_length;
    const char *script; /* first argument of EVAL and its kin, NULL: none */
    size_t script_length;
    const char *client_name; /* CLIENT SETNAME, HELLO .. SETNAME; NULL: none */
    size_t client_name_length;
};

void pairing_init(struct pairing *pairing);

/* Reads a request frame: bytes[0..length) are its beginning, or all of it (borrowed, pointers in
 * *request go there). False: an empty line or "*0", which no server answers. */
bool pairing_read(const struct resp *resp, const char *bytes, size_t length,
                  struct pairing_request *request);

/* Has each request that goes on now a reply of its own, but for those of kinds.def? */
static inline bool pairing_is_simple(const struct pairing *pairing)
{
    return !pairing->in_transaction && !pairing->is_off && !pairing->skips_next;
}
/* Is it a whole request, an array, with one reply and no effect on others' replies? Few
 * instructions for most that are. */
bool pairing_is_plain(const struct pairing *pairing, const struct resp *resp, const char *bytes);
/* The name of such a request, as pairing_read() has it: PROXY_NAME_MAX bytes at most. */
void pairing_read_name(const struct resp *resp, const char *bytes, char *name);
/* A whole reply that can be no push, whatever the client has subscribed to. */
static inline bool pairing_is_reply(const struct resp *resp)
{
    return resp->type != '>' && resp->type != '*';
}

/* How many replies the request will have when it goes on now: 0, 1, more, or REPLIES_BY_COUNT. */
int64_t pairing_expects(const struct pairing *pairing, const struct pairing_command *command);

/* It goes on: remembers what it changes; fills command's is_muted, was_queued, transaction. */
void pairing_forwarded(struct pairing *pairing, struct pairing_command *command);

/* An empty request went by: it uses up CLIENT REPLY SKIP. */
void pairing_forwarded_nothing(struct pairing *pairing);

/* After this request nothing can be framed: BOTH from its own reply on (SYNC), or behind it
 * (MONITOR). */
enum pairing_feed { FEED_NONE, FEED_AT_REPLY, FEED_AFTER_REPLY };
enum pairing_feed pairing_feed(const struct pairing *pairing,
                               const struct pairing_command *command);

enum pairing_match {
    MATCH_REPLY, /* it is a reply to the request */
    MATCH_PUSH,  /* it belongs to no request */
    MATCH_NEXT,  /* the request was muted and gets none: look at the next one */
};

/* What is this frame, when command (NULL: none) is the first that waits? */
enum pairing_match pairing_match(const struct pairing *pairing, const struct resp *resp,
                                 const char *bytes, size_t length,
                                 const struct pairing_command *command);

/* What of a whole reply matters for those behind it. */
struct resp_end {
    char type;
    int64_t integer; /* the last one in it */
};

/* A reply of command has ended; *left is how many it waited for, this one included. Returns how
 * many are left. */
int64_t pairing_replied(struct pairing *pairing, const struct resp_end *end,
                        const struct pairing_command *command, int64_t left);

#endif
