/* subject.h - the system under test: what a client does at a step, and what a server makes of a
 * command. All else is the explorer's: messages, time, faults, ghost state, the search.
 *
 * Both are functions of records (a client state with what it is stepped by; a server state with a
 * command), asked once for each and remembered by number (graph/state_space.h), so how long an
 * answer takes hardly matters. A scheme in C and the model of a server compute theirs; answers of a
 * real worker and a real server can be looked up instead (ask/). What
 * ages or is renamed in a record, and what is promised, the descriptor says (config->scheme),
 * whoever answers. */
#ifndef PICKLOCK_EXPLORE_MODEL_SUBJECT_H
#define PICKLOCK_EXPLORE_MODEL_SUBJECT_H

#include "explore/model/client_state.h"
#include "explore/model/server_state.h"

/* What a client is stepped by. */
struct impulse {
    enum { IMPULSE_ACQUIRE, IMPULSE_RELEASE, IMPULSE_EXTEND, IMPULSE_MOMENT } kind;
    int64_t token;        /* ACQUIRE */
    struct moment moment; /* MOMENT */
};

struct subject {
    /* The client state becomes what the step leads to: phase, token, fence, timer, fields, and what
     * it sent among its messages. *step says what it sent, and how an operation ended. Returns 0,
     * or what contract it violates (action.h, violation_of_did()): then nothing was taken. */
    unsigned (*step)(struct subject *, const struct config *, struct client_state *,
                     const struct impulse *, struct step_result *step);
    /* A command of the client at that position, or of SERVER_NO_WATCH (server_state.h). Of an
     * opaque one the reply's `second` has the subject's number for it (server_state.h), `value` the
     * one token in it (0: none), and kind says: an error, NIL ("no"), OK (anything else). */
    struct reply (*execute)(struct subject *, const struct config *, struct server_state *,
                            int position, const struct command *);
    /* The connections to a server have broken, and the client waits for nothing of it: what comes
     * of that at once. NULL: nothing. */
    void (*lose)(struct subject *, const struct config *, struct client_state *, int server);
    /* The client's own clock has jumped so many ticks. NULL: `skew` says so (client_state.h). */
    void (*jump)(struct subject *, struct client_state *, int ticks);
    /* What a server knows when a search begins; NULL: nothing. */
    void (*begin)(struct subject *, struct server_state *);
    /* What of a server state its subject alone knows is so many ticks older; NULL: nothing. */
    void (*pass)(struct subject *, struct server_state *, int ticks);
    /* Servers changed places: what of a client state its subject alone knows is renamed; and what
     * of it is about that server: it is equal for two servers only where renaming those changes
     * nothing. NULL: there is nothing such. */
    void (*rename_servers)(struct subject *, struct client_state *, const uint8_t *new_number);
    int32_t (*part_of_server)(struct subject *, const struct client_state *, int server);
    /* What a critical section asks for goes over connections of its own: when one of those ends, no
     * other does. */
    bool are_sections_apart;
    /* What a command is called whose verb is not in commands.def; NULL: there is none such. */
    const char *(*name)(struct subject *, int verb);
};

/* The server's keys are so many ticks older by its clock: the subject's part of it. */
static inline void subject_pass(const struct config *config, struct server_state *server_state,
                                int ticks)
{
    if (config->subject->pass)
        config->subject->pass(config->subject, server_state, ticks);
}

/* The same, cut. name: OPAQUE_NAME_MAX. */
void subject_name(struct subject *subject, int verb, char *name);

/* The config's scheme in C, step by step, and redis/model.h. */
extern struct subject subject_in_c;

/* The client's own step: to the client that world/client.c steps. */
void impulse_apply(const struct impulse *impulse, struct client *client, struct step_result *step);

#endif
