/* client.h - one client that runs a scheme: the same in directed runs, the explorer and stress.
 *
 * Feeds moments to the scheme, keeps the phase, and sorts the asks into what the step led to: what
 * to send, what returned. Pure: no I/O, no clock, no malloc, copyable with memcpy. The world owns
 * connections, messages and events. */
#ifndef PICKLOCK_WORLD_CLIENT_H
#define PICKLOCK_WORLD_CLIENT_H

#include "world/clients.h"

struct client {
    const struct scheme *scheme;
    struct lease lease; /* of the attempt under way */
    int64_t state[SCHEME_FIELDS_MAX];
    enum phase phase;
    enum result last;
    int attempt;      /* attempts begun so far */
    int64_t fence;    /* of the grant, 0: none */
    int64_t skew_us;  /* own clock - world clock, at rate_since_us */
    int64_t gains_us; /* what its own clock gains a second, since then */
    int64_t rate_since_us;
    int64_t epoch_us; /* wall clock at world time 0 (stamps are wall-clock seconds) */
    int64_t wake_us;  /* world time; INT64_MAX: no timer */
    int64_t counter;  /* what the critical section read */
    bool is_accessing;
    int awaited; /* commands of the attempt under way that it has not been told the end of */
};

/* ttl, unit, servers of *lease are the run's; its token is set at each start. */
void client_init(struct client *client, const struct scheme *scheme, const struct lease *lease);

/* The token that a client (from 0) draws for its attempt (from 1), as the scheme's token kind says;
 * the same in every world. */
int64_t client_token(const struct run *run, int client, int attempt);

/* Starts an attempt with that token. Only in PHASE_IDLE. */
void client_acquire(struct client *client, int64_t token, int64_t now_us, struct step_result *step);

/* From the next attempt on the client asks for that lease. Only in PHASE_IDLE. */
void client_set_lease(struct client *client, int64_t lease_us);

/* Tells the scheme to release. Only in PHASE_HOLDING. */
void client_release(struct client *client, int64_t now_us, struct step_result *step);

/* A reply, time-out, lost connection, or wake-up (moment->now_us is filled in here: the client's
 * own clock at world time now_us). */
void client_tell(struct client *client, const struct moment *moment, int64_t now_us,
                 struct step_result *step);

/* The command of the critical section for CHOICE_WRITE, READ_COUNTER or WRITE_COUNTER; the value
 * that a WRITE writes is the fence, or the client's number from 1. */
struct command client_access(struct client *client, int number, enum choice_kind kind);

/* The reply to it; NULL: none came, so that nobody knows. Returns how the access ended. */
enum result client_accessed(struct client *client, const struct command *command,
                            const struct reply *reply);

/* From here on its own clock gains so much a second; a timer that runs, too. */
void client_set_rate(struct client *client, int64_t gains_us, int64_t now_us);

/* Crash: phase dead, memory gone. */
void client_crash(struct client *client);

#endif
