/* standing.h - how a lock can stand, as far as answers tell: what answers.c keeps of each lock.
 *
 * A standing is one way in which all answers so far can be explained, as early as it can be: who
 * owns the lock, from when on that may end, and what was made use of that is not answered yet. */
#ifndef PICKLOCK_CHECKS_STANDING_H
#define PICKLOCK_CHECKS_STANDING_H

#include "checks/answers.h"

/* Owners that are no client: none; an attempt that is left, or was refused. */
enum { FREE = -1, FORMER = -2, REFUSED = -3 };

enum ask_phase {
    ASKED_NONE,
    ASKED_OPEN,
    ASKED_UNANSWERED,
    ASKED_TOO_LATE, /* told "refused" a lease or more after its call */
    ASKED_GRANTED,
    ASKED_ENDED,
};

/* How often a client may have entered a lock that it was granted for certain. */
enum keeps {
    KEEPS_NOTHING, /* it was not granted it, or has given it back */
    KEEPS_ONCE,    /* one release ends it */
    KEEPS_OFTEN,   /* nobody knows which release is the last */
};

/* A client and its last attempt. */
struct asker {
    int lock, attempt;
    int place; /* among the present of its lock, while it is one of them */
    enum ask_phase acquire, release;
    bool is_renewing, was_refused;
    /* What it may have of the lock by any of its attempts (answers.c: may_keep). */
    enum keeps keeps; /* it counts only while lock_answers.granted is that client */
    bool may_come;    /* an attempt before this one has no answer: it may be granted it any time */
    bool may_end;     /* a release of an attempt before this one has no answer, likewise */
    bool may_reenter; /* when it called its acquire, it may have had the lock, and enter it again */
    int64_t called_us, release_us, renew_us; /* of the calls */
    int64_t acquire_us; /* the acquire has an effect no earlier, if it had none before */
    bool is_excused, is_release_excused,
        is_renewal_excused; /* asked before the engine lost track */
    bool is_without; /* it releases or renews in an attempt that no acquire began, and can have
                        nothing by one before */
};

/* Its acquire can have an effect, and nobody has said so. What it has by that it may give back at
 * any time: a client that hears no answer tidies up, and one that hears it too late must refuse. */
static inline bool asker_may_have(const struct asker *asker)
{
    return asker->acquire == ASKED_OPEN || asker->acquire == ASKED_UNANSWERED;
}

/* So can its release. */
static inline bool asker_may_release(const struct asker *asker)
{
    return asker->release == ASKED_OPEN || asker->release == ASKED_UNANSWERED;
}

/* What of a client has happened and is not answered: its acquire, which is not its ownership any
 * more; its release; its release or renewal, before its acquire, in vain. */
enum { USED_ACQUIRE = 1, USED_RELEASE = 2, USED_IN_VAIN = 4, USED_MAX = 12, WAYS_MAX = 512 };

struct lock_way {
    int owner;
    int former;       /* FORMER: whose attempt it is; FREE: one of the left acquires;
                         REFUSED: an acquire that was refused too late */
    int64_t ends_us;  /* not before that the ownership ends by itself */
    int64_t from_us;  /* when the last thing happened, at the earliest */
    int64_t until_us; /* FREE: when it was owned last, at the latest */
    int64_t spent;    /* how many of the left acquires have had it */
    bool is_untold;   /* its owner was not told, and may give it back since ends_us */
    int used_count;
    struct used {
        uint16_t client, how;
    } used[USED_MAX]; /* by client */
};

/* The calls of acquires that have no answer, and whose client has gone on: each can have the lock
 * once. In order; which of those before a standing's from_us it is makes no difference. */
struct left_calls {
    int64_t *calls_us;
    int64_t count, size;
};

struct ways {
    struct lock_way *rows;
    int count, size;
    bool is_full; /* there were more */
};

/* A client that is present, and may have the lock by an acquire that nobody has spoken of. */
struct rival {
    int client;
    bool is_releasing, is_renewing; /* and its answer counts */
    int64_t acquire_us;
};

/* What all locks of an engine share. */
struct standing_room {
    struct asker *askers;
    struct rival *rivals; /* as it was when the answer in hand came; room for all clients */
    int *picked;          /* some of them */
    int rivals_count, releasing_count;
    int64_t lease_us; /* 0: none */
    bool is_quorum;   /* the lease may count from the call: answers.h */
    int64_t now_us;   /* of the event in hand */
    struct ways next, freed;
    bool is_lenient; /* something was weighed more leniently than it could have been */
};

struct lock_answers {
    struct standing_room *room;
    struct ways ways;
    bool is_lost; /* nothing is known until the next grant */
    int granted;  /* the last client that was granted it for certain; FREE: none was */
    struct left_calls left;
    int *present; /* clients whose attempt is not over */
    int present_count, present_size;
};

void standing_init(struct lock_answers *lock, struct standing_room *room);
void standing_close(struct lock_answers *lock);

/* The client begins an attempt. */
void standing_ask(struct lock_answers *lock, int client);
/* It begins another one: what has no answer has none for ever. */
void standing_leave(struct lock_answers *lock, int client);

/* It releases what any of its attempts has, or may come to have: from here on that may end. */
void standing_may_release(struct lock_answers *lock, int client);

/* It releases, or renews. */
void standing_ask_more(struct lock_answers *lock, int client);

/* Of a renewal; of a release; of one whose client may say so by its own clock, when the lease that
 * it was granted is over: whatever a server has answered, so that it may have released the lock. */
enum not_mine { NOT_MINE_RENEWED, NOT_MINE_RELEASED, NOT_MINE_BY_CLOCK };

/* Answers. may_reenter: an attempt of the client's that it has left may have the lock, and this one
 * be granted it again; is_silent: it proves only that this acquire had no effect;
 * too_late: it was refused, and may have had the lock by then. */
enum answers standing_granted(struct lock_answers *lock, int client, bool may_reenter);
enum answers standing_refused(struct lock_answers *lock, int client, bool is_silent);
enum answers standing_too_late(struct lock_answers *lock, int client);
enum answers standing_released(struct lock_answers *lock, int client);
enum answers standing_not_released(struct lock_answers *lock, int client);
enum answers standing_not_mine(struct lock_answers *lock, int client, enum not_mine what);
enum answers standing_renewed(struct lock_answers *lock, int client);
void standing_unanswered(struct lock_answers *lock, int client); /* a release */

#endif
