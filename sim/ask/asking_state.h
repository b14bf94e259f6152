/* asking_state.h - what the files of asking.h share. Private to this folder. */
#ifndef PICKLOCK_ASK_ASKING_STATE_H
#define PICKLOCK_ASK_ASKING_STATE_H

#include "ask/asking.h"
#include "ask/attempt_sequences.h"
#include "ask/cache.h"
#include "ask/server_asker.h"
#include "ask/worker_asker.h"
#include "live/servers.h"

/* The class of a history: asking_class(). */
struct history_class {
    uint32_t node;             /* its first one */
    uint8_t name[SERVERS_MAX]; /* what that calls the server that this one calls so */
    uint8_t like[SERVERS_MAX]; /* of the first one's servers: the first that has said the same */
    uint8_t ways;              /* of the learned model: on so many they were told apart */
};

struct class_first {
    uint32_t node;
    uint32_t next;              /* another one with its key, from 1; 0: none */
    uint8_t place[SERVERS_MAX]; /* its servers, in the order of what they have said */
};

struct classes {
    bool are_wanted;
    int learns; /* ways that tell histories apart; 0: only their own order may be another one */
    struct intern_table keys; /* what is the same for all of one */
    uint32_t *heads;          /* by the number of a key: the first of its firsts, from 1 */
    struct class_first *firsts;
    struct history_class *rows; /* by node; node 0: not looked at yet */
    uint32_t heads_count, firsts_count, count;
    struct intern_table rows_seen; /* what was done on ways: asking_learn_way() */
    uint64_t walks;                /* in which the learned model did what the worker did */
    uint64_t joined, apart; /* histories that are, and are not, what another order comes to */
};

/* An attempt has ended there: what goes on from it as from `like`, on those ways (asking_ends.c).
 */
struct history_end {
    uint32_t like; /* NODE_ROOT: a new worker; END_UNKNOWN: it was not met yet */
    uint32_t ways;
};

enum { END_UNKNOWN = INT32_MAX };

/* How an attempt has ended. */
struct end_kind {
    enum happening operation; /* another one: nothing but connections that broke was before it */
    unsigned answer;
    bool has_broken; /* a connection, by then */
    bool has_moment; /* it has read a clock, or had a timer */
};

struct history_ends {
    struct history_end *rows; /* by node */
    bool *are_compared;       /* by node: asking_compare_memory() */
    uint32_t compared_count;  /* of these */
    uint32_t *firsts;         /* those with a timer that were found to be like none before them */
    uint32_t count, firsts_count;
    uint32_t firsts_of_kind[HAPPENING_COUNT][ANSWER_LOST + 1][2][2]; /* struct end_kind */
    uint64_t compared; /* that are like a new worker */
    uint64_t joined;   /* that are like another one with such a timer */
};

/* What a search has asked for behind the longest time that it tells apart: the first history of
 * each kind. */
struct late {
    struct intern_table kinds;
    uint32_t *nodes;  /* by the number of their kind */
    char doubt[1600]; /* asking_late_doubt(); "" */
};

/* Where the attempts of a search have ended. */
struct met_ends {
    uint8_t budget[FAULT_COUNT];
    int rounds;
    uint32_t *nodes;
    bool *are_noted; /* by node */
    uint32_t count, size;
};

/* What is asked for again. */
struct audit {
    struct session *ahead;  /* of the next processes, started; NULL: none were */
    int processes;          /* in it */
    uint64_t sessions;      /* so far */
    uint32_t at;            /* the history that was looked at last */
    struct failure failure; /* that was met while the search went on */
    bool has_two_answers;   /* so that it was */
};

struct asking {
    struct subject subject; /* first */
    struct worker_program *program;
    struct session *session;
    struct session *peers_session; /* processes that nothing is asked of but what others were */
    struct seat peers[SESSION_CLIENTS_MAX];
    int clients;           /* of the searches; so many peers */
    enum token_kind token; /* TOKEN_UNIQUE, TOKEN_CLIENT */
    struct audit audit;
    struct intern_table kinds; /* of answers that all clients were asked for */
    struct phrasebook book;
    struct worker_asker worker;
    struct server_asker server;
    struct failure failure;
    struct failure past; /* somebody went past the proxy: asking_find_past() */
    int servers;
    int lease_ticks;
    bool adds_waits;
    int64_t lease_us, tick_us;
    uint64_t seed;
    bool expects_cuts, expects_late; /* connections that break; releases behind a lease */
    bool expects_jumps;              /* of a worker's clock */
    bool has_one_fault;              /* the search that goes on, in all, and once */
    int rounds;                      /* attempts of a client, the most of any search so far */
    bool is_even_handed;             /* it was found to treat its servers alike */
    struct classes classes;
    struct history_ends ends;
    struct cache cache;
    struct worker_program kept_of;   /* what the kept answers say of the worker */
    bool kept_had_idle_reads;        /* worker.has_idle_reads of theirs */
    bool rounds_waits;               /* asking_rounds_waits() of the search */
    char untried_delay[300];         /* asking_untried_delay() of the search; "" */
    struct late late;                /* of the search */
    uint64_t generation;             /* runs that have kept these answers */
    uint64_t kept;                   /* answers that were */
    struct asking_replayed replayed; /* by asking_replay_walks() */
    struct met_ends *met;            /* by searches; met_now: of the one that goes on */
    int met_count, met_now;
    struct intern_table attempt_kinds, attempt_forms;
    struct sequences_had sequences;
    struct asking_sequences sequences_asked; /* by asking_ask_sequences() */
    char open_reply[600];                    /* the first of asking_refuse_open_reply(); "" */
    char token_comes_back[2048];             /* behind an attempt that wrote nothing, so; "" */
};

/* The functions of the subject (explore/model/subject.h); those of its server. */
extern const struct subject asking_subject_ops;
struct reply asking_execute(struct subject *subject, const struct config *config,
                            struct server_state *server_state, int position,
                            const struct command *command);
void asking_begin(struct subject *subject, struct server_state *server_state);
void asking_pass(struct subject *subject, struct server_state *server_state, int ticks);

/* An attempt of the search has ended there, and may be followed by another one; and such a search
 * goes on. (asking_sequences.c) */
void asking_note_attempt(struct asking *asking, uint32_t node);
void asking_meet_attempts(struct asking *asking, const struct explore_options *options);
void asking_sequences_free(struct asking *asking);
/* With that budget, has an attempt that was refused left nothing behind that may come later?
 * is_struck: a fault has struck it. */
bool asking_has_written_nothing(const uint8_t *budget, bool is_struck);

/* Nobody has gone past the proxy in that session, which asks and answers: session_check_past(). */
enum fail asking_check_session(struct asking *asking, struct session *session,
                               struct failure *failure);

/* Servers and processes for that many clients, started, and not waited for: see session_start(). */
enum fail asking_start_session(struct asking *asking, struct session **session, int clients,
                               uint64_t seed, struct failure *failure);

/* The server is asked about two tokens that were drawn. */
void asking_give_tokens(struct asking *asking);

/* Takes the answers that were kept, where some are, the worker that has just begun is the one that
 * gave them, and those that are asked for again are the same. *is_stale: they are not, and are
 * dropped; then neither the session nor what was asked can be used. FAIL_UNKNOWN, FAIL_UNAVAILABLE:
 * nothing can. */
enum fail asking_take_kept(struct asking *asking, bool *is_stale, struct failure *failure);

/* It need not be one with any other, unless it is by now. */
struct history_class asking_class_alone(struct asking *asking, uint32_t node);
/* Its class. FAIL_UNKNOWN: it could not be asked. */
enum fail asking_class(struct asking *asking, uint32_t node, struct history_class *it,
                       struct failure *failure);
/* Where a way begins: a history, with its servers in these places. The others as of
 * asking_compare_ways(). */
struct way_begin {
    uint32_t node;
    const uint8_t *place;
    const uint32_t *asked;
    bool holds;
    enum happening operation;
};
/* *row: the number of all that the worker does from there on, on that way: equal for equal. */
enum fail asking_learn_way(struct asking *asking, const struct way_begin *begin, int way,
                           uint32_t *row, struct failure *failure);
/* So many histories through the learned model, each as far as that was searched: the worker is
 * asked for all of it, from the beginning. FAIL_UNKNOWN: it does something else. */
enum fail asking_walk(struct asking *asking, int walks, struct failure *failure);

/* What a server may have when a way begins: nothing, another one's lock, one's own. */
enum { WAY_NOTHING, WAY_OTHER, WAY_OWN, WAY_KEPT_COUNT };
enum fail asking_found(struct asking *asking, struct kept *found, struct failure *failure);

void asking_classes_free(struct classes *classes);

/* Does it go on from that history as from the first one of its class? asked: commands that servers
 * have yet to answer; holds: it has the lock; operation: that it was asked for last. Both are
 * answered as servers would where nothing is, and where others have the lock, until the operation
 * ends, and the release behind it. FAIL_UNKNOWN: they could not be asked. */
enum fail asking_compare_ways(struct asking *asking, uint32_t node, const struct history_class *it,
                              const uint32_t *asked, bool holds, enum happening operation,
                              bool *is_same, struct failure *failure);

/* Do the peers, which are new, draw a token of their own in each of so many attempts, or one for
 * all of them (asking->token)? FAIL_UNKNOWN: two clients have the same, or it cannot be told. */
enum fail asking_compare_tokens(struct asking *asking, int attempts, struct failure *failure);
/* Does an attempt that is refused change a key beside the lock's for good, and so does the next
 * one? FAIL_UNKNOWN: which. */
enum fail asking_find_counters(struct asking *asking, struct failure *failure);
/* All keys of the peers' servers are gone. */
enum fail asking_clear(struct asking *asking, struct failure *failure);
/* Does each peer answer as the one did that was asked? Asks for histories that have, together, each
 * kind of answer that was not asked so before. FAIL_UNKNOWN: what differs. */
enum fail asking_compare_clients(struct asking *asking, struct failure *failure);

/* The search has asked for that history: asking_late_doubt() looks at those that take notice of so
 * much time. And none was asked for so far. */
void asking_note_long_ago(struct asking *asking, uint32_t node);
void asking_forget_long_ago(struct asking *asking);

/* Does it treat its servers alike? Asks for some histories with the servers in other places. */
enum fail asking_measure_servers(struct asking *asking, struct failure *failure);

/* The fence of the lock that it holds, of its grant on; 0: none that is judged. */
void asking_take_fence(struct asking *asking, const struct remembered_step *told,
                       const struct step_result *step, struct client_state *client_state);
/* A command of a critical section: what that guards is apart from what the server is asked about.
 */
struct reply asking_execute_section(const struct config *config, struct server_state *server_state,
                                    const struct command *command);

/* An attempt has ended at that history, and its worker may still be answered: FAIL_UNKNOWN. */
enum fail asking_refuse_open_reply(struct asking *asking, uint32_t node);

/* Is a worker behind that history, which waits for nothing, as a new one? Asks it to go on, and
 * whether it minds that its idle connections break.
 * FAIL_UNKNOWN: what differs. */
enum fail asking_compare_end(struct asking *asking, uint32_t node, struct failure *failure);
/* The same of one that has a timer: *like: the first that it goes on like, or itself. */
enum fail asking_end_with_timer(struct asking *asking, uint32_t node, uint32_t *like,
                                struct failure *failure);
/* Some of those that were taken for another one go on as that one does, each in one way that was
 * asked, to where that ends. FAIL_UNKNOWN: one goes on otherwise. */
enum fail asking_walk_ends(struct asking *asking, struct failure *failure);
/* So often in a row it was refused behind an end of each kind. */
int asking_refusals(const struct asking *asking);
/* Of these ways: another one has the lock, and so often it is refused; then granted, extended where
 * that is wanted, and released. In time: refused once, and not extended. */
struct twins;
enum fail asking_end_refused(struct twins *pair, int refusals, bool extends,
                             struct failure *failure);
enum fail asking_end_in_time(struct twins *pair, struct failure *failure);
/* Is it the first end of its kind that was met? */
bool asking_is_first_end(struct asking *asking, uint32_t node);
/* Does it remember, behind that end, whose token it heard of, or how long ago that was?
 * FAIL_UNKNOWN: so it does. */
enum fail asking_compare_memory(struct asking *asking, uint32_t node, struct failure *failure);
/* The same where it makes no attempt any more: may its idle connections break? */
enum fail asking_last_end(struct asking *asking, uint32_t node, struct failure *failure);
/* They were compared for fewer attempts than there are now. */
void asking_forget_ends(struct asking *asking);
void asking_ends_free(struct history_ends *ends);

/* Where that history, which is the client's, was asked last, and the process stands there: it is
 * asked for what is most likely to be asked for next. */
void asking_go_ahead(struct asking *asking, uint32_t node, const struct client_state *client_state);

/* What a fault does that shows in a history. */
enum struck_by { STRUCK_BY_BREAK, STRUCK_BY_JUMP, STRUCK_BY_DELAY };
/* Did that, on the way to it? */
bool asking_shows(const struct asking *asking, uint32_t node, enum struck_by by);
/* It did, and nothing does it again: the search has one fault in all, and one server. */
bool asking_has_struck(const struct asking *asking, uint32_t node, enum struck_by by);

/* Connections break that it waits for nothing on. Has it a timer then, or before? That is followed;
 * else it may not mind. */
bool asking_is_moved_by_cut(const struct asking *asking, const struct history_edge *edge,
                            const struct remembered_step *told);
/* It may be for asking_rounds_waits(): told is what was asked of it just now. */
void asking_note_wait(struct asking *asking, const struct remembered_step *told);
/* It may be for asking_untried_delay(): told is what the break comes to. */
void asking_note_delay(struct asking *asking, const struct remembered_step *told);
/* FAIL_UNKNOWN: it does more than that. */
enum fail asking_check_cut(const struct asking *asking, const struct history_edge *edge,
                           const struct remembered_step *told, struct failure *failure);
/* Where a search has such faults: the happening is asked with each of those connections broken
 * before it, and without. FAIL_UNKNOWN: it minds. */
enum fail asking_compare_cut(struct asking *asking, const struct history_edge *edge,
                             struct failure *failure);

#endif
