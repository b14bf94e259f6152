/* rules.h - what a choice must be for the core to make it: the refusals, and their words. */
#ifndef PICKLOCK_WORLD_RULES_H
#define PICKLOCK_WORLD_RULES_H

#include "world/clients.h"

/* The choice names a client and a server that the run has. */
enum fail rules_names_somebody(const struct run *run, const struct choice *choice,
                               struct failure *failure);

/* A choice of a client's with so many messages in flight: is there room for all that may follow? */
enum fail rules_have_room(const struct run *run, const struct choice *choice, int messages,
                          struct failure *failure);

/* The choice's client is in that phase, and waits for no command of its critical section. */
enum fail rules_want_phase(const struct run *run, const struct choice *choice,
                           const struct client_view *client, enum phase phase,
                           struct failure *failure);

/* The choice's client has a timer, and it is due. */
enum fail rules_want_timer(const struct run *run, const struct choice *choice,
                           const struct client_view *client, int64_t now_us,
                           struct failure *failure);

/* May this pass between a client and a server that is within such reach? FAIL_UNKNOWN: why not. */
enum fail rules_let_pass(enum server_reach reach, const struct message *message,
                         struct failure *failure);

/* first: what comes before the choice's message on the same connection. FAIL_UNKNOWN. */
enum fail rules_refuse_turn(const struct choice *choice, const struct message *first,
                            struct failure *failure);

#endif
