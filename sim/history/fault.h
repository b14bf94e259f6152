/* fault.h - a fault by its number, and the columns of its row in faults.def. */
#ifndef PICKLOCK_HISTORY_FAULT_H
#define PICKLOCK_HISTORY_FAULT_H

#include <stdbool.h>

enum fault {
    FAULT_NONE = -1,
#define FAULT(id, file, name, strikes, keys, breaks, effect, becomes, later, words) FAULT_##id,
#define PART(id, name, strikes, keys, breaks, effect, words)
#include "history/faults.def"
#undef FAULT
#undef PART
    FAULT_COUNT, /* of those that the explorer injects; the parts follow */
    FAULT_BEFORE_PARTS = FAULT_COUNT - 1,
#define FAULT(id, file, name, strikes, keys, breaks, effect, becomes, later, words)
#define PART(id, name, strikes, keys, breaks, effect, words) FAULT_##id,
#include "history/faults.def"
#undef FAULT
#undef PART
    FAULT_ROWS
};

enum fault_blame { FAULT_OF_CLIENT, FAULT_OF_SERVER, FAULT_OF_RUN };

enum fault_keys {
    FAULT_KEYS_KEPT,
    FAULT_KEYS_LOCK_LOST, /* the lock key of the event's lock */
    FAULT_KEYS_ALL_LOST,
    FAULT_KEYS_SNAPSHOT, /* those that it had when it saved them last */
    FAULT_KEYS_REPLICAS, /* those that the replica had when it was cut off; all, if it was not */
};

enum fault_breaks { FAULT_BREAKS_NONE, FAULT_BREAKS_ONE, FAULT_BREAKS_ALL };

/* What its event says of the message that it names, of its client, or of a clock. */
enum fault_effect {
    FAULT_NOT_TOLD, /* it has no event: it is the time that passes, or the tokens that are drawn */
    FAULT_LOSES_REQUEST,
    FAULT_LOSES_REPLY,
    FAULT_SENDS_AGAIN, /* the message, lost before, is on its way once more */
    FAULT_COPIES,      /* a copy of the request is on its way, too */
    FAULT_REFUSES,     /* the request is answered with an error, and not executed */
    FAULT_GIVES_UP,    /* the client waits for the message no longer */
    FAULT_CANCELS,     /* whoever asked the client to acquire wants the lock no more */
    FAULT_DELAYS,      /* the message stands still for the event's amount from then on */
    FAULT_PAUSES,      /* the client does */
    FAULT_SILENCES,    /* the client's connections to the server: it has to find out by itself */
    FAULT_HOLDS_DIALS, /* of the client to the server: it connects, and has no answer, until the */
    FAULT_ANSWERS_DIALS, /* next event of this one, if any */
    FAULT_KILLS,         /* the client */
    FAULT_STEPS_CLOCK,   /* the client's or the server's own, by the event's amount */
    FAULT_SETS_RATE,     /* of the same clock: it gains the event's amount a second from then on */
    FAULT_LOSES_KEYS,    /* the column of keys says which */
    FAULT_LOSES_SCRIPTS,
    FAULT_CUTS_REPLICA,
    FAULT_SAVES_KEYS,
    FAULT_MOVES_SLOT, /* between masters of a cluster, which is one server to clients; no key is
                         lost */
    FAULT_ENDS_CONNECTIONS,  /* the column of breaks says which, and nothing else happens */
    FAULT_PUTS_OUT_OF_REACH, /* the server, until the next event of the one below, if any */
    FAULT_PUTS_WITHIN_REACH,
};

const char *fault_name(enum fault fault);
const char *fault_words(enum fault fault);
enum fault_blame fault_blame(enum fault fault);
const char *fault_struck(enum fault fault); /* its blame in a word */
enum fault_keys fault_keys(enum fault fault);
enum fault_breaks fault_breaks(enum fault fault);
enum fault_effect fault_effect(enum fault fault);

/* Can a request on its way be lost by it, or its reply: or does its client not wait for it? */
bool fault_may_lose(enum fault fault);

/* Does the server forget more than the lock key: counters of tokens, guarded data? */
bool fault_forgets(enum fault fault);

/* Is it about the server's replica, so that there must be one? */
bool fault_needs_replica(enum fault fault);

/* Is it about a slot of a Redis Cluster, so that the server must be one? */
bool fault_needs_cluster(enum fault fault);

/* Is it one that strikes? Else it follows from another one, ends it, or begins one that is told of
 * when it has struck. */
bool fault_is_strike(enum fault fault);

/* Can a server that was out of reach be reached again from then on, whatever else it does? */
bool fault_ends_outage(enum fault fault);

/* By its name, parts included; false: no row has it. */
bool fault_read(const char *name, enum fault *fault);

#endif
