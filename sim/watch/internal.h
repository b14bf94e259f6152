/* internal.h - a watched run, shared by the files of this folder.
 *
 *   client --> proxy --> request that names a watched key (hooks.c): waits for its turn (turns.c)
 *                          look at the key, let it go on, hear its reply, look again (keys.c)
 *                          who did what to whose lock? (holders.c, authors.c, deduce.c)
 *                          events, in order (story.c) --> history
 */
#ifndef PICKLOCK_WATCH_INTERNAL_H
#define PICKLOCK_WATCH_INTERNAL_H

#include "live/process.h"
#include "proxy/standalone.h"
#include "redis/resp.h"
#include "watch/alone.h"
#include "watch/keys.h"
#include "watch/reads.h"
#include "watch/scripts.h"
#include "watch/peer.h"
#include "watch/story.h"
#include "watch/watch.h"
#include "watch/words.h"

enum {
    HOLDERS_MAX = 256,  /* locks that are held at a time, or were and may still be released */
    TURN_KEYS_MAX = 16, /* watched keys of one command */
    TRANSACTION_MAX = 256 * 1024,
    SHOWN_MAX = 16 * 1024, /* of a request, by the proxy */
    EVIDENT_MAX = 512,     /* bytes of a request */
    EVIDENT_WORDS = 6,     /* "SET key token NX PX 1" */
    ASKED_MAX = 8,
    NOBODY_KNOWN = -1,
};

/* Who was granted a lock: a token, and what goes with it. A client of the history; when its lock is
 * released, the next token of the same process may take its place. */
struct holder {
    char name[16];
    struct peer_process peer;          /* from which it asked for the lock last ... */
    int asked[ASKED_MAX], asked_count; /* ... and before that; of more the last */
    char token[VALUE_TEXT_MAX];
    char first_token[VALUE_TEXT_MAX]; /* with which it was granted the lock, where somebody whom
                                         nothing names has put another value there; else empty */
    uint64_t link;                    /* over which its grant was asked for */
    int attempt;
    int key;         /* of its attempt; NO_KEY: none yet */
    int64_t ends_us; /* when its lease ends, as it was granted or extended last */
    bool is_open; /* it was told "granted", and has not sent its release, for all that is known */
    struct question *goes_on; /* does it act as a holder after what befell its key? */
    bool is_deleted;          /* and that was a DEL that names no token ... */
    bool is_anothers_link; /* ... over a connection that is another one's, for all that is seen */
    bool was_endless;      /* ... of a lock without a time to live */
    char *doubt; /* what nobody can tell unless that is answered with yes; NULL: nothing */
    int64_t used;
};

/* What a client was told, and has not heard yet: a rule of the proxy holds it. */
struct late_reply {
    struct proxy_request *request; /* NULL: none */
    struct {
        int holder;         /* NOBODY_KNOWN: of no operation */
        int64_t own_end_us; /* of the lease that it was granted; INT64_MAX: none */
        struct event event;
    } told[TURN_KEYS_MAX]; /* HEAR; one for each key */
    int count;
};

/* What an evident command says (evident.c), but for its key. Who polls for a lock sends the same
 * bytes again, or the same with another key: all these have one text. */
struct evident_text {
    int uses;
    int words, key_at; /* which of them is the key: that of the newest ... */
    int row, database; /* ... whose row it is ... */
    int64_t reused;    /* ... as of keys */
    int64_t lease_us;  /* that it asks for; INT64_MAX: none */
    bool is_release;   /* else it asks for the lock */
    char name[PROXY_NAME_MAX];
    struct resp_span spans[EVIDENT_WORDS];
    size_t length;
    char bytes[];
};

/* One on its way: there are many, so they are small. */
struct evident_command {
    union {
        uint64_t end;    /* until it is answered: of its bytes on their way to the server */
        int64_t done_us; /* then: when, where it is to be told */
    };
    struct evident_text *text;
    int64_t began_us;
    int row;
    uint8_t answer; /* as in evident.c, where these are known */
    uint8_t heard;  /* enum delivery */
    bool ends_read; /* it is the last one of those that the server read with it */
};

/* Those of a connection, in their order: as they are sent, so they are read, answered and told.
 * Counted from the first one on; the one with that number stands in rows at number % size. */
struct evident_line {
    struct evident_command *rows;
    uint32_t size;                       /* a power of 2; 0: none yet */
    uint32_t told, answered, read, sent; /* told <= answered <= read <= sent */
};

struct watched_link {
    /* What is asked of each request, close together: */
    struct evident_line line;
    struct evident_text *text; /* of the newest "SET key token NX"; NULL: none */
    struct watched_run *watching;
    struct proxy_link *link;
    struct read_stream stream; /* as its server reads it */
    int64_t refused;           /* the lock that was refused over it last: watched_key.granted */
    int database;
    int selects;   /* SELECTs under way ... */
    int waits;     /* requests under way that may wait for others (BLPOP) */
    bool is_lost;  /* what it does is not followed any more */
    bool has_peer; /* below */
    bool stands;   /* the server's side, too */

    uint64_t number;
    int peer_port, own_port;
    struct peer_process peer;
    int database_before;  /* ... and what it was before the first */
    bool is_named_behind; /* a watched key, behind one that may be refused yet */
    int blind;            /* requests under way that may change keys without naming them */
    int waits_watched;    /* marks those that name a watched key */
    char *transaction;    /* what MULTI has queued */
    size_t transaction_length;
    bool is_transaction_watched, is_transaction_cut, has_script, has_flush; /* it */
    bool is_guarded;  /* WATCH names a watched key: EXEC does nothing where that has changed */
    bool is_closed;   /* it stays until its evident requests are told */
    int64_t stuck_us; /* since when no reply can come over it; 0: they can */
    struct watched_link *next, *previous; /* of those that are open */
    struct late_reply late;
};

/* A request that names watched keys, and stands in line. */
struct watched_request {
    struct watched_request *next;
    struct watched_link *link;
    struct proxy_request *request;
    char name[PROXY_NAME_MAX];
    char *bytes;
    size_t length;
    bool is_flush;   /* of all that there is */
    bool is_guarded; /* as of its connection, of EXEC */
    int keys[TURN_KEYS_MAX];
    int keys_count;
    struct key_look *before; /* each, once its turn has come */
    int64_t known;           /* then: the state of knowledge of the keys ... */
    bool is_beside; /* ... and something was under way that may change keys without naming them */
    int64_t began_us, sent_us, held_us; /* by a rule of the proxy, before it came here */
};

struct watched_run {
    const struct watch_options *options;
    struct watch_outcome *outcome;
    int64_t began_us;
    struct keys keys;
    struct alone alone;
    char *unproved; /* what is told as a holder's own doing, and is it if we were alone till the
                       end; NULL: nothing */
    struct request_words words;
    struct scripts scripts;
    struct watched_story *story;
    struct history_writer *writer;
    struct peers peers;
    struct holder holders[HOLDERS_MAX];
    int holders_count;
    int heads_holders; /* of these, how many the history's head knows */
    bool has_failed;   /* to write it */
    bool has_given_up; /* a command that was not answered, while others stood in line */
    int unknown;       /* the holder that stands for whoever nobody knows; NOBODY_KNOWN: none yet */
    int64_t uses;
    bool has_pool;   /* a token was seen on two connections, or a refusal on the owner's */
    uint64_t read;   /* proxy_reads() ... */
    int64_t read_us; /* ... and when that was; 0: it must be asked for */
    int64_t links;   /* that are open */
    struct watched_link *open;
    int blind; /* as of links, of all */
    struct proxy *proxy;
    int port;                    /* at which it listens, or did */
    char version[VERSION_MAX];   /* of the server */
    struct watched_reads *reads; /* NULL: the server does not tell it */
    struct watched_request *current, *first, *last;
    uv_timer_t *next_turn; /* fires when the next one may begin */
};

/* watching: zeroed; keeps options and outcome. Every other one is closed, which takes the history:
 * it is written where fail is FAIL_NONE, else given up. Returns fail, or why it cannot be written.
 */
enum fail watching_open(struct watched_run *watching, const struct watch_options *options,
                        struct watch_outcome *outcome, struct failure *failure);
enum fail watching_close(struct watched_run *watching, enum fail fail, struct failure *failure);
/* Every few ms: what is known goes to the file. */
void watching_tick(struct watched_run *watching);
/* To the server; is_ours: nobody comes to it but through the proxy. */
enum fail watching_connect(struct watched_run *watching, const struct url *url, bool is_ours,
                           struct failure *failure);

/* Was nobody else connected to the server until now, so that what befell a key is the doing of what
 * passed the proxy? Asks the server. NULL: so it is. Else why nobody can tell. */
const char *watching_not_alone(struct watched_run *watching);
/* Another reason: seen_execution.is_beside. */
#define DOUBT_BESIDE "a script that does not name it, or a command that waits, was under way, too"
/* Something passed of which nobody knows when it is executed, and what it changes. */
void watching_lose_track(struct watched_run *watching);

/* Since the run began. */
int64_t watching_now_us(const struct watched_run *watching);
/* When what the proxy works on was read: asked for once a read. Not where a timer calls. */
int64_t watching_read_us(struct watched_run *watching);

/* The history is not whole from here on; the first reason counts. */
void watching_missed(struct watched_run *watching, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For whoever reads the report; at most a few are kept. */
void watching_note(struct watched_run *watching, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- hooks.c --- */

void watched_hooks(struct watched_run *watching, struct proxy_hooks *hooks);
/* The same behind rules; begin and end are the caller's. */
void watched_observe(struct watched_run *watching, struct standalone_observer *observer);
/* Connections whose replies cannot come hold up nobody: they are lost. */
void watched_links_look(struct watched_run *watching);

/* --- turns.c --- */

/* How a key stands now. Where it is a lock whose expiry nobody was seen to change, and it differs:
 * the history is not whole. */
void watched_key_look(struct watched_run *watching, int row, struct key_look *look);
/* It goes to the server now, or stands in line. */
enum proxy_decision turns_take(struct watched_link *link, struct proxy_request *request);
/* Its reply has come. */
void turns_answered(struct watched_request *turn, const char *reply, size_t length,
                    enum delivery heard);
/* A client has gone: what it had in line was never sent. */
void turns_leave(struct watched_link *link);
/* What becomes of its requests is not known: they go on, and nobody waits for them. */
void turns_lose(struct watched_link *link);
/* The next request may go to the server. */
void turns_next(struct watched_run *watching);
/* Is a watched key among the words of these requests? They are read. */
bool turns_name_watched(struct watched_run *watching, const char *bytes, size_t length);
/* The same in the next turn of the loop, where somebody stands in line. */
void turns_soon(struct watched_run *watching);
/* The server has no such connection any more, and executes nothing from it. */
void watched_link_kill(struct watched_link *link, const char *name);
/* What follows on it is not seen, or not understood: the history is not whole, for that was said.
 */
void watched_link_lose(struct watched_link *link);
void watched_link_free(struct watched_link *link);
void turns_free(struct watched_run *watching);

/* --- link.c --- */

/* What a connection remembers from one request to the next. */
void watched_link_follow(struct watched_link *link, struct proxy_request *request);
/* A SELECT was answered. */
void watched_link_selected(struct watched_link *link, bool is_done);
/* What MULTI queues takes no effect before EXEC. */
void watched_link_queue(struct watched_link *link, const struct proxy_request *request);
void watched_link_forget_transaction(struct watched_link *link);
/* By EXEC, DISCARD or RESET: what was watched is watched no more. */
void watched_link_end_transaction(struct watched_link *link);

/* --- evident.c --- */

/* As proxy_hooks.repeats(): those that say the same as the newest one of their connection, but for
 * the key, are on their way. */
struct proxy_repeated evident_repeats(struct watched_link *link, const char *bytes, size_t length,
                                      uint64_t from);
/* Is it one that need not stand in line? Then it is on its way, and returns its owner: its answer
 * is told. Else NULL. end: proxy_request_end(). */
void *evident_takes(struct watched_link *link, const struct proxy_request *request, uint64_t end);
/* The same of one that stands in line, and is the first there. */
bool evident_goes_on(struct watched_request *turn);
/* Is it one of those? */
static inline bool evident_is_owner(const struct watched_link *link, const void *owner)
{
    return owner == &link->line;
}
/* The answer to the first of its connection that have none, so many. */
void evident_heard(struct watched_link *link, const char *reply, size_t length, int64_t count);
/* Are there any under way? */
static inline bool evident_is_under_way(const struct watched_link *link)
{
    return link->line.told != link->line.sent;
}
/* Its client has gone. */
void evident_abandoned(struct watched_link *link);
/* What becomes of its requests is not known. */
void evident_lose(struct watched_link *link);
/* Are there any of the turn's keys under way? */
bool evident_conflicts(const struct watched_run *watching, const struct watched_request *turn);

/* --- evident_words.c --- */

/* What it says, and the row of its key. NULL: it is not evident, or must wait. It is kept by
 * whoever counts himself among its uses. */
struct evident_text *evident_read(struct watched_link *link, const struct proxy_request *request,
                                  int *row);
/* The same of one that stands in line. */
struct evident_text *evident_read_turn(const struct watched_request *turn, int *row);
/* The row of the key, where all else is as in the link's text (as many bytes). NO_KEY: it is not,
 * or must wait. */
int evident_row_again(struct watched_link *link, const char *bytes);
void evident_text_drop(struct evident_text *text); /* by one use; NULL: nothing */
/* Its words, into those of the run. */
void evident_words(struct watched_run *watching, const struct evident_command *command);

/* --- evident_line.c --- */

void evident_line_grow(struct evident_line *line);
static inline struct evident_command *evident_line_at(const struct evident_line *line,
                                                      uint32_t number)
{
    return &line->rows[number & (line->size - 1)];
}
/* It is sent; not zeroed. */
static inline struct evident_command *evident_line_push(struct evident_line *line)
{
    if (line->sent - line->told == line->size)
        evident_line_grow(line);
    return evident_line_at(line, line->sent++);
}

/* --- holders.c --- */

/* Is it a token: long enough to be nobody else's by accident? */
bool holder_is_token(const char *value);
/* Whose token is among the words? Of several the one that owns the key; NOBODY_KNOWN: nobody's. */
int holder_named(const struct watched_run *watching, const struct request_words *words, int key);
/* Of that number (name: 16 bytes), whoever gets it. */
void holder_name(const struct watched_run *watching, int number, char *name);
/* The one with that token. NOBODY_KNOWN: there is none. */
int holder_with(const struct watched_run *watching, const char *value);
/* The one whose first_token it is. */
int holder_with_first(const struct watched_run *watching, const char *value);
/* The one with that token at that key, or a place for it. NOBODY_KNOWN: there is none. */
int holder_for(struct watched_run *watching, const char *value, struct watched_link *link, int key);
/* A script or a transaction has granted the lock to the holder with that token. */
void holder_granted_by(struct watched_run *watching, const struct request_words *words, int key,
                       const char *token);
/* Which word of a transaction is the token with which it asks for the lock? Guarded by WATCH it
 * need not say NX. 0: it does not ask. */
int holder_asks(const struct request_words *words, const char *lock, bool is_guarded);
/* Does a transaction write to the lock whatever is there? */
bool holder_overwrites(const struct request_words *words, const char *lock);
/* Which word is the token with which a script or a transaction asked for the lock, and it is not
 * the owner's? 0: none, for all that is known. */
int holder_stranger(const struct watched_run *watching, const char *name,
                    const struct request_words *words, int key);
/* It is asked about no more: what was in doubt is open for good, unless it came back. */
void holder_settle(struct watched_run *watching, struct holder *holder);
/* One of that process who is not the key's owner: whoever asked for the lock there, or a place for
 * it. NOBODY_KNOWN: there is no place, and the history is not whole. */
int holder_of_process(struct watched_run *watching, const struct peer_process *peer, int key);
/* Stands for whoever nobody knows. NOBODY_KNOWN: there is no place. */
int holder_unknown(struct watched_run *watching);
const struct peer_process *watched_link_peer(struct watched_link *link);
/* It asks for the lock over that link. */
void holder_asked(struct watched_run *watching, int holder, struct watched_link *link, int key);
/* Does the token of that holder, that comes over link, come from another process than that which
 * asked for the lock with it? It is not where a connection of either is the other's, too: what was
 * forked has it. */
bool holder_is_twofold(struct watched_run *watching, int holder, struct watched_link *link);

/* --- authors.c --- */

/* Whose command is it that names no token, and changes the lock? */
struct author {
    int holder;
    bool is_proved;  /* else it is the owner's unless something speaks against it */
    bool is_refused; /* its process was refused the lock that it changed */
    bool has_token;  /* it came over a connection that is the owner's, for all that can be proved:
                        its grant's, one that has sent its token since, or, in its process, one that
                        was answered it */
    int suspect;     /* over whose connection it came, not the owner's; NOBODY_KNOWN: nobody's */
    /* Who else may have sent it, so that it is not proved to be the owner's. Elsewhere: over
     * another connection than that of the grant, and nothing shows that both are one process's.
     * Beside: they are, and it takes away what the owner counts on. Over: over that of the grant,
     * and it writes whatever is there, as one who asks for a lock may do. */
    enum {
        NO_OTHER,
        OTHERS_GRANTED,
        OTHERS_REFUSED,
        OTHERS_ELSEWHERE,
        OTHERS_BESIDE,
        OTHERS_OVER
    } others;
};
/* What it does to the owner's lock: renews it, for all that is seen; or deletes it, writes whatever
 * is there, gives it less time. */
enum taking { TAKES_NOTHING, TAKES_AWAY };
/* Does it come from the process of the key's owner, for all that is seen? */
bool holder_is_here(struct watched_run *watching, struct watched_link *link, int key);
/* Does it come from another process than the key's owner? Pools do not reach so far. */
bool holder_is_elsewhere(struct watched_run *watching, struct watched_link *link, int key);
struct author holder_author(struct watched_run *watching, struct watched_link *link, int key,
                            enum taking taking);
/* Of a write whatever is there: is it proved to be another one's? Not over the connection of the
 * owner's grant, or one that has sent its token; nor in its process, but over one that was refused
 * the lock where connections are not handed about. */
bool holder_is_another(struct watched_run *watching, struct watched_link *link, int key);
/* Has another one asked for that lock over it, and not the owner? It was refused it, or was granted
 * it and has not released it. */
bool holder_is_anothers_link(struct watched_run *watching, struct watched_link *link, int key);
/* The token of the lock that stands there was sent over that link, or is in the answer to it
 * (reply; NULL: there is none). */
void holder_sent(struct watched_run *watching, const struct watched_link *link, int key);
void holder_told(struct watched_run *watching, const struct watched_link *link, int key,
                 const char *reply, size_t length);
/* Has the process at the other end of link asked for the lock itself, with that token or another
 * one? */
bool holder_has_asked(struct watched_run *watching, int holder, struct watched_link *link);
/* Somebody at the other end of link was refused the lock that stands there. */
void holder_refused(struct watched_run *watching, struct watched_link *link, int key);

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
    enum delivery heard;       /* by its client */
    bool is_flush, is_guarded; /* as of the request */
    bool is_unlike; /* it was refused, and nobody looked: the key was gone, or another's */
    bool is_beside; /* something that may change keys without naming them was under way, too */
    int64_t began_us, sent_us, done_us, looked_us; /* behind the first look nothing is older than
                                                      began_us */
    int64_t held_us; /* by a rule, before that: its client's lease counts from before it */
};
void deduce(struct watched_run *watching, const struct seen_execution *seen);

/* --- fences.c --- */

/* Of a key that holds a fence: the write that made another one of it. */
void fence_changed(struct watched_run *watching, const struct seen_execution *seen,
                   const struct opaque *opaque);

/* --- late.c --- */

/* Until it is heard; event (copied): HEAR, with the result that its operation then has. */
void late_keep(struct late_reply *late, const struct event *event, int holder, int64_t own_end_us);
/* What was kept from its client is heard now, or never. */
void late_heard(struct watched_run *watching, struct watched_link *link, bool is_heard);

#endif
