/* clients.h - the clients of a directed world, whatever they are: schemes in C (scheme_clients.c),
 * or somebody's processes.
 *
 * The core (core.h) knows a client by what it sees of it: what it is doing, what it wants sent, how
 * its operations end. A step is all that a client does before it waits again: for the end of a
 * message, for its timer, or to be told to go on. */
#ifndef PICKLOCK_WORLD_CLIENTS_H
#define PICKLOCK_WORLD_CLIENTS_H

#include "scenario/world.h"

/* What a client wants sent. To the core it is its name (naming.h); only a model of a server and the
 * typed client behind it know more. */
struct request {
    int server;
    enum lane lane;
    enum operation op; /* of its attempt under way, that sends it */
    struct command command;
    struct opaque opaque; /* of a foreign program: then `command` says nothing; else name is "" */
    bool is_silent;       /* sent on a connection that is half-open */
};

static inline unsigned channel_bit(int server, int lane)
{
    return 1u << (server * LANE_COUNT + lane);
}

/* What a step led to. */
struct step_result {
    int requests_count;
    struct request requests[OUTBOX_MAX]; /* in order */
    unsigned left; /* bits of channel_bit(): it has ended these connections itself, and waits for
                      nothing on them any more. Before the requests */
    unsigned left_silent; /* the same, of those that were half-open */
    bool has_returned;    /* an operation ended: RETURN event */
    enum operation op;    /* with has_returned, is_stranded: which operation */
    enum result result;
    bool has_noticed_loss; /* NOTICE event */
    bool has_exited;       /* it is gone by itself: PHASE_DEAD from here on, and no requests */
    bool is_stranded;      /* STRAND event: it acquires or releases, and waits for nothing */
    enum contract_violation violation; /* else than NONE: the step broke that rule, and nothing of
                                          it was taken; the client must not be stepped again */
    int64_t at;                        /* with violation: the step that it went on from */
};

/* One thing of it: RETURN, NOTICE, STRAND, or SEND of a request (borrowed). */
struct step_event {
    enum event_kind kind;
    enum operation op;
    enum result result;
    const struct request *request;
};

/* All that a step led to, in the order in which every world writes it and sends it; how many. */
enum { STEP_EVENTS_MAX = OUTBOX_MAX + 3 };
int step_events(const struct step_result *step, struct step_event events[STEP_EVENTS_MAX]);

struct clients {
    const struct clients_ops *ops; /* first member of every kind */
};

/* client: from 0. A failure ends the run. */
struct clients_ops {
    struct client_view (*view)(const struct clients *, int client);
    /* Takes a step at world time now_us. MOMENT_START, only in PHASE_IDLE: begins an attempt.
     * MOMENT_RELEASE, only in PHASE_HOLDING: lets go. MOMENT_WAKE: its timer, which is due, rings.
     * Else how the message ended (borrowed; NULL for the others); no access. The result is all zero
     * before. */
    enum fail (*step)(struct clients *, int client, enum moment_kind, const struct message *,
                      int64_t now_us, struct step_result *, struct failure *);
    /* Takes the step that asks for the lease anew, only in PHASE_HOLDING. NULL: such clients do so
     * by themselves, or not at all. */
    enum fail (*extend)(struct clients *, int client, struct step_result *, struct failure *);
    /* Tells it that its acquire is cancelled, only in PHASE_ACQUIRING: the step that this leads to.
     * NULL: such clients cannot be told. */
    enum fail (*cancel)(struct clients *, int client, struct step_result *, struct failure *);
    /* Its connections to that server are half-open from here on: what that leaves it waiting for.
     * FAIL_UNKNOWN: it has none. NULL: such clients have no connections of their own. */
    enum fail (*silence)(struct clients *, int client, int server, struct step_result *,
                         struct failure *);
    /* Whether it is answered when it connects to that server: with false nothing comes of it from
     * here on; with true, what it does now if it has waited. NULL: such clients do not connect. */
    enum fail (*answer_dials)(struct clients *, int client, int server, bool is_answered,
                              struct step_result *, struct failure *);
    /* What its critical section asks of the first server, for CHOICE_WRITE, READ_COUNTER,
     * WRITE_COUNTER; and how that ended. Only in PHASE_HOLDING; not before an earlier one ended. */
    struct request (*access)(struct clients *, int client, enum choice_kind);
    enum result (*accessed)(struct clients *, int client, enum moment_kind, const struct message *);
    /* That goes over connections of its own, of which the backend knows nothing. */
    bool are_sections_apart;
    /* From the next attempt on it asks for that lease. Only in PHASE_IDLE. */
    void (*set_lease)(struct clients *, int client, int64_t lease_us);
    void (*jump_clock)(struct clients *, int client, int64_t amount_us);
    /* It gains so much a second from now_us on. NULL: the clock of such clients cannot. */
    void (*set_rate)(struct clients *, int client, int64_t gains_us, int64_t now_us);
    /* It is gone, its memory too: PHASE_DEAD. */
    void (*crash)(struct clients *, int client);
    void (*free)(struct clients *);
};

#endif
