/* worker_asker.h - a real worker, asked once for each local history of one client.
 *
 * What a client does next is a function of what it was told, what it heard, which timers rang, and
 * of the time that passed - of that only where it reads a clock that it has read before, or has a
 * timer. Histories are a tree: a node is a history, an edge what happened next. Each edge is put to
 * a real process once, from `reset` or from where that process stands, and what it did is
 * remembered. Everything that is done again on the way is compared with what was remembered. */
#ifndef PICKLOCK_ASK_WORKER_ASKER_H
#define PICKLOCK_ASK_WORKER_ASKER_H

#include "ask/phrase.h"
#include "worker/session.h"
#include "world/clients.h"

enum happening {
    HAPPENS_ACQUIRE,
    HAPPENS_RELEASE,
    HAPPENS_REPLY, /* to the command that it waits for */
    HAPPENS_RESET, /* the connection of that command breaks */
    HAPPENS_CUT,   /* its connections break while it waits for nothing */
    HAPPENS_TIMER,
    HAPPENS_EXTEND,
    HAPPENING_COUNT
};

/* A timer that is so many ticks away when it is set does not ring within a search. */
enum { FAR_TICKS = 8 };

/* Time that passed, by the worker's own clocks, since the last moment that counts
 * (remembered_step.counts): in halves of a tick, since a clock may run at half its speed. */
enum {
    ELAPSED_EACH = 2,
    ELAPSED_ANY = -1,
    NODE_ROOT = 0,
    NODE_LOST = INT32_MAX,
    EXECUTIONS_MAX = 20000
};

/* It is asked for an operation. */
static inline bool happening_asks(enum happening happening)
{
    return happening == HAPPENS_ACQUIRE || happening == HAPPENS_RELEASE ||
           happening == HAPPENS_EXTEND;
}

/* Has it the lock when that operation has ended so? Who is told nothing knows what it knew. */
static inline bool history_holds(bool held, enum happening operation, unsigned answer)
{
    if (operation == HAPPENS_EXTEND)
        return held && answer != ANSWER_NOT_OK;
    return operation == HAPPENS_ACQUIRE && answer == ANSWER_OK;
}

struct history_edge {
    uint32_t from; /* a node */
    uint32_t happening;
    uint32_t server; /* REPLY, RESET, CUT: of which command, which connections; else 0 */
    uint32_t reply;  /* REPLY: a phrase; else 0 */
    uint32_t whose;  /* the token in it */
    int32_t elapsed;
    int32_t jumped; /* ticks that its wall clock has jumped meanwhile; 0 where it has not read it */
};

/* A command that it sent. */
struct sent_command {
    uint32_t command; /* a phrase; 0: none */
    uint32_t whose;   /* the token in it */
    int32_t name;     /* a number of its name */
    uint32_t names_key;
};

/* What it did then, until it was at rest. */
struct remembered_step {
    uint32_t node;                         /* the history behind it */
    struct sent_command sent[SERVERS_MAX]; /* one to each server, at most */
    uint8_t has_ended;
    uint8_t answer; /* has_ended: enum answer_kind */
    uint8_t has_notice;
    uint8_t is_asked;   /* something is asked of it still */
    uint8_t waits;      /* for a reply: bit a server */
    uint8_t counts;     /* it read a clock, or has a timer: time is told from here on */
    uint8_t has_moment; /* it, or something before it, counts */
    uint8_t has_wall;   /* it, or something before it, has read the wall clock */
    uint16_t left; /* connections that it has ended itself, and waits for nothing on: channel_bit()
                    */
    uint8_t is_audited; /* it was asked again in a fresh process */
    uint8_t draws;      /* another token, for a further try of the same attempt */
    uint8_t has_fence;
    int64_t fence;    /* has_fence: that it answered with; no part of what it did */
    int64_t timer_us; /* from here on, in whole ticks; TIME_NEVER: it has none */
};

BITS_FIT_COUNT(SERVERS_MAX, struct remembered_step, waits);

/* Two steps that nobody outside can tell apart, but by their fence. */
bool remembered_is_same(const struct remembered_step *a, const struct remembered_step *b);

enum { FENCE_DOUBT_MAX = 900 };

/* One process that is asked. */
struct seat {
    struct session *session; /* borrowed */
    int client;
    int turn; /* of its servers: what a history calls server 0 is another one; see seat_server() */
    uint32_t at;  /* its history so far */
    bool is_new;  /* nothing was asked of it yet */
    int commands; /* that it sent in its attempt so far */
    /* Since the last moment that counts: a step that reads no clock is remembered for any time. */
    int64_t passed_us, jumped_us;
    int64_t jumped_in_all_us; /* by its wall clock, since it was reset */
    int64_t waited_us;        /* in waits of its attempt, since its last whole tick of them */
    int64_t far_us;           /* when a timer rings that is far away; TIME_NEVER: there is none */
    struct spoken_token own;
    struct spoken_token other;   /* that it was told of in its attempt; length 0: of none */
    struct spoken_token before;  /* in the attempts before, the last; length 0: of none */
    bool is_other_own;           /* that is an earlier one of its own */
    struct spoken_token earlier; /* its own, in the attempt or try before; length 0: none */
    int others;                  /* that it was told of since it was reset */
    uint32_t token_phrase; /* of the command that showed its own; 0: none did in this attempt */
    char *said[64];        /* replies that the session may still hold */
    int said_next;
};

/* Tokens that a client has drawn, each another one. */
enum { POOL_MAX = 5 };
enum { FIRST_CLIENTS = 2 }; /* draw them when the token is learned, the others for each run anew */
struct token_pool {
    struct spoken_token tokens[POOL_MAX];
    int count;
};

struct worker_asker {
    struct phrasebook *book; /* borrowed */
    struct seat seat;
    /* Where a token shows: that word of that command of an attempt, from 0. Word 0: nowhere. */
    int token_word, token_command;
    int token_words; /* that the command has */
    struct spoken_token sample;
    struct token_pool pools[SESSION_CLIENTS_MAX]; /* of tokens, by who has drawn them */
    /* As many ticks as its waits have come to so far: tick_of_wait_us each. 0: each wait is rounded
     * up to whole ticks. */
    int64_t tick_of_wait_us;
    int64_t tick_us, far_us; /* a timer of so long, and more, is not looked at: */
    bool has_far_timers;     /* there was one */
    bool has_two_answers;    /* to one question */
    int servers;
    bool has_idle_reads; /* of the monotonic clock, by its runtime: those that are told count */
    const char *untold;  /* why none is: then all of them count; NULL: it is no such runtime */
    const char *key;     /* of the lock; borrowed */
    const bool *is_key_known;        /* borrowed: else that is a part of it */
    struct intern_table questions;   /* struct history_edge; node 1 + number */
    struct intern_table timed_edges; /* those whose time was found to matter: with ELAPSED_ANY */
    struct remembered_step *answers;
    uint64_t asked;    /* histories */
    uint64_t runs;     /* of a process, from `reset` */
    uint64_t runs_max; /* behind these no question is put: one search's are EXECUTIONS_MAX */
    uint64_t compared; /* steps on the way that were compared with what was remembered */
    uint64_t timed;    /* answers that are of one elapsed time */
    uint64_t audited;  /* edges asked again in fresh processes */
    struct intern_table drawn; /* tokens of further tries, with the client that drew each */
    char names[64][SESSION_NAME_MAX];
    int names_count;
    char fence_doubt[FENCE_DOUBT_MAX]; /* why nothing can be said of the order of its fences; "" */
};

void worker_asker_open(struct worker_asker *asker, struct session *session, struct phrasebook *book,
                       const char *key, const bool *is_key_known, int servers, int64_t tick_us);
void worker_asker_close(struct worker_asker *asker);

/* Which word of which command is the attempt's token, the first one that differs: two clients are
 * asked to acquire, one of them twice, and once more later. FAIL_UNKNOWN: it cannot be told. */
enum fail worker_asker_learn(struct worker_asker *asker, struct failure *failure);
/* The first two clients draw what clients are told of; that of the other seat is the second. */
enum fail worker_asker_draw(struct worker_asker *asker, struct seat *second,
                            struct failure *failure);
/* A further client has drawn that one. */
void worker_asker_add_drawn(struct worker_asker *asker, int client,
                            const struct spoken_token *token);
/* An attempt that finds no lock: what it writes stands at the servers, and it is not yet reset. */
enum fail worker_asker_attempt(struct worker_asker *asker, struct failure *failure);

/* Asks, or remembers; elapsed: ticks. FAIL_UNKNOWN: what it did cannot be kept, or it did something
 * else than before. */
enum fail history_ask(struct worker_asker *asker, const struct history_edge *edge,
                      struct remembered_step *told, struct failure *failure);

/* Asks for the whole history of the node again in that process, which is a new one. */
enum fail history_ask_again(struct worker_asker *asker, struct seat *seat, uint32_t node,
                            struct failure *failure);

/* The same in any process of the seat's client, from where the seat stands: nothing is counted as
 * asked again. */
enum fail history_compare(struct worker_asker *asker, struct seat *seat, uint32_t node,
                          struct failure *failure);

/* Two steps that are the same, behind that history: where their fences are not, they are no matter
 * of what it was asked and answered, and in doubt. (asking_fences.c) */
void worker_asker_compare_fences(struct worker_asker *asker, uint32_t from,
                                 const struct remembered_step *a, const struct remembered_step *b);

/* The edge that leads to a node. */
struct history_edge worker_asker_edge(const struct worker_asker *asker, uint32_t node);

/* Has that history heard of another's token; with before: in an attempt before its last one? */
bool worker_asker_has_heard(const struct worker_asker *asker, uint32_t node, bool before);

/* "it is asked to acquire; hears "+OK"; ..": at most size bytes; returns text. */
const char *worker_asker_tell(const struct worker_asker *asker, uint32_t node, char *text,
                              size_t size);

/* Its last step alone: what happened, and what the worker did then. */
void worker_asker_tell_step(const struct worker_asker *asker, uint32_t node, char *happened,
                            size_t happened_size, char *did, size_t did_size);

/* What a worker did, in such words: also what of that differs from that other step where their
 * words are the same. */
void worker_asker_tell_did(const struct worker_asker *asker, const struct remembered_step *step,
                           const struct remembered_step *other, char *text, size_t size);

/* --- one process (seat.c); private to the askers of this folder --- */
void seat_close(struct seat *seat);
/* What a history calls that server, in this seat: all servers one further for each turn, and behind
 * `servers` turns the other way round. */
int seat_server(const struct seat *seat, int servers, int server);
/* The command that it waits for a reply to, of that server, or (ANY_SERVER) the first of any; NULL:
 * none. */
enum { ANY_SERVER = -1 };
struct wire_message *seat_waits_for(const struct seat *seat, int server);
enum fail seat_ask(const struct seat *seat, enum worker_op op, struct failure *failure);
/* Whatever is under way ends: its connections break, its timers ring. */
enum fail seat_run_out(const struct seat *seat, struct failure *failure);
enum fail seat_reset(struct worker_asker *asker, struct seat *seat, struct failure *failure);
/* What it is asked for, to its end, each command executed and answered at once; own: the token that
 * it showed. */
enum fail seat_go_through(const struct worker_asker *asker, struct seat *seat, enum worker_op op,
                          struct failure *failure);
/* Another attempt begins. */
void seat_begin_attempt(struct seat *seat);
/* The token that it is told of. */
const struct spoken_token *seat_token(const struct worker_asker *asker, struct seat *seat,
                                      unsigned whose);
/* A command that it is about to send: the token of its attempt is seat->own behind the one that
 * shows it. */
void seat_note_token(const struct worker_asker *asker, struct seat *seat,
                     const struct wire_message *message);
/* A command that it sends: what that is. FAIL_UNKNOWN: it cannot be kept. */
enum fail seat_take_command(struct worker_asker *asker, struct seat *seat,
                            const struct wire_message *message, struct sent_command *sent,
                            uint8_t *draws, struct failure *failure);
/* The command that shows the attempt's token comes once more, with another one: a further try,
 * whose own that is from there on; *draws: so it was. FAIL_UNKNOWN: another client has drawn it,
 * too. */
enum fail seat_take_further_token(struct worker_asker *asker, struct seat *seat,
                                  const struct wire_message *message, uint8_t *draws,
                                  struct failure *failure);
/* Its time is told by now: it counts anew from here. */
void seat_note_moment(struct seat *seat);
/* Has more time passed for it than that edge wants? */
bool seat_is_ahead(const struct worker_asker *asker, const struct seat *seat,
                   const struct history_edge *edge);
/* Makes that happen to a process that stands where it begins. told->has_wall: in this step; counts:
 * of this step alone, too. */
enum fail seat_step(struct worker_asker *asker, struct seat *seat, const struct history_edge *edge,
                    struct remembered_step *told, bool *reads_clock, struct failure *failure);

#endif
