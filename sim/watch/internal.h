/* internal.h - a watched run, shared by the files of this folder.
 *
 *   client --> proxy --> request that names a watched key: waits for its turn (turns.c)
 *                          look at the key, let it go on, hear its reply, look again (keys.c)
 *                          who did what to whose lock? (holders.c, deduce.c)
 *                          events, in order (story.c) --> history
 */
#ifndef PICKLOCK_WATCH_INTERNAL_H
#define PICKLOCK_WATCH_INTERNAL_H

#include "live/process.h"
#include "proxy/standalone.h"
#include "watch/keys.h"
#include "watch/peer.h"
#include "watch/story.h"
#include "watch/watch.h"
#include "watch/words.h"

enum {
    HOLDERS_MAX = 256,  /* locks that are held at a time, or were and may still be released */
    TURN_KEYS_MAX = 16, /* watched keys of one command */
    TRANSACTION_MAX = 256 * 1024,
    SHOWN_MAX = 16 * 1024, /* of a request, by the proxy */
    NOBODY_KNOWN = -1,
};

/* Who was granted a lock: a token, and what goes with it. A client of the history; when its lock is
 * released, the next token of the same process may take its place. */
struct holder {
    char name[16];
    struct peer_process peer;
    char token[VALUE_TEXT_MAX];
    uint64_t link; /* over which its grant was asked for */
    int attempt;
    int key;      /* of its attempt; NO_KEY: none yet */
    bool is_open; /* it was told "granted", and has not sent its release, for all that is known */
    struct question *goes_on; /* does it act as a holder after what befell its key? */
    int64_t used;
};

/* What a client was told, and has not heard yet: a rule of the proxy holds it. */
struct late_reply {
    struct proxy_request *request; /* NULL: none */
    struct {
        int holder; /* NOBODY_KNOWN: of no operation */
        struct event event;
    } told[TURN_KEYS_MAX]; /* HEAR; one for each key */
    int count;
};

struct watched_link {
    struct late_reply late;
    struct watched_run *watching;
    struct proxy_link *link;
    uint64_t number;
    int peer_port, own_port;
    bool has_peer;
    struct peer_process peer;
    int database;
    int blind;         /* requests under way that may change keys without naming them */
    char *transaction; /* what MULTI has queued */
    size_t transaction_length;
    bool is_transaction_watched, is_transaction_cut;
};

/* A request that names watched keys. */
struct watched_request {
    struct watched_request *next;
    struct watched_link *link;
    struct proxy_request *request;
    char name[PROXY_NAME_MAX];
    char *bytes;
    size_t length;
    bool is_flush; /* of all that there is */
    int keys[TURN_KEYS_MAX];
    int keys_count;
    struct key_look before[TURN_KEYS_MAX];
    int64_t began_us, sent_us;
};

struct watched_run {
    const struct watch_options *options;
    struct watch_outcome *outcome;
    int64_t began_us;
    struct keys keys;
    struct request_words words;
    struct watched_story *story;
    struct history_writer *writer;
    struct peers peers;
    struct holder holders[HOLDERS_MAX];
    int holders_count;
    int unknown; /* the holder that stands for whoever nobody knows; NOBODY_KNOWN: none yet */
    int64_t uses;
    int64_t links; /* that are open */
    int blind;     /* as of links, of all */
    struct proxy *proxy;
    char version[VERSION_MAX]; /* of the server */
    struct watched_request *current, *first, *last;
    uv_timer_t *next_turn; /* fires when the next one may begin */
};

/* watching: zeroed; keeps options and outcome. Every other one is closed, which takes the history:
 * it is written where fail is FAIL_NONE, else given up. Returns fail, or why it cannot be written.
 */
enum fail watching_open(struct watched_run *watching, const struct watch_options *options,
                        struct watch_outcome *outcome, struct failure *failure);
enum fail watching_close(struct watched_run *watching, enum fail fail, struct failure *failure);
/* To the server; is_ours: nobody comes to it but through the proxy. */
enum fail watching_connect(struct watched_run *watching, const struct url *url, bool is_ours,
                           struct failure *failure);

/* Since the run began. */
int64_t watching_now_us(const struct watched_run *watching);

/* The history is not whole from here on; the first reason counts. */
void watching_missed(struct watched_run *watching, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For whoever reads the report; at most a few are kept. */
void watching_note(struct watched_run *watching, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- turns.c --- */

void turns_hooks(struct watched_run *watching, struct proxy_hooks *hooks);
/* The same behind rules; begin and end are the caller's. */
void turns_observe(struct watched_run *watching, struct standalone_observer *observer);
/* The next request may go to the server. */
void turns_next(struct watched_run *watching);
void turns_free(struct watched_run *watching);

/* --- holders.c --- */

/* Is it a token: long enough to be nobody else's by accident? */
bool holder_is_token(const char *value);
/* Whose token is among the words? Of several the one that owns the key; NOBODY_KNOWN: nobody's. */
int holder_named(const struct watched_run *watching, const struct request_words *words, int key);
/* The one with that token, or a place for it. NOBODY_KNOWN: there is none. */
int holder_for(struct watched_run *watching, const char *value, struct watched_link *link);
/* Stands for whoever nobody knows. NOBODY_KNOWN: there is no place. */
int holder_unknown(struct watched_run *watching);
/* Whose command is it that names no token, and changes the lock? */
struct author {
    int holder;     /* NOBODY_KNOWN: nobody can tell */
    bool is_proved; /* else it is the owner's unless something speaks against it */
    int suspect;    /* over whose connection it came; NOBODY_KNOWN: nobody's */
    bool is_open;   /* it could be that of several */
};
struct author holder_author(struct watched_run *watching, struct watched_link *link, int key);
const struct peer_process *watched_link_peer(struct watched_link *link);

/* --- deduce.c --- */

/* One execution as it was seen. */
struct seen_execution {
    struct watched_link *link;
    const char *name;
    const struct request_words *words;
    int key;
    const struct key_look *before, *behind;
    const char *reply; /* borrowed; NULL: it is not known */
    size_t reply_length;
    enum delivery heard; /* by its client */
    bool is_flush;
    int64_t began_us, sent_us, done_us, looked_us; /* behind the first look nothing is older than
                                                      began_us */
};
void deduce(struct watched_run *watching, const struct seen_execution *seen);

/* --- late.c --- */

/* Until it is heard; event (copied): HEAR, with the result that its operation then has. */
void late_keep(struct late_reply *late, const struct event *event, int holder);
/* What was kept from its client is heard now, or never. */
void late_heard(struct watched_run *watching, struct watched_link *link, bool is_heard);

#endif
