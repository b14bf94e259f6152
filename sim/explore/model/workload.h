/* workload.h - the workload of a critical section: its commands on the data that the lock
 * guards, and what the ghost state observes of them.
 *
 * A critical section writes the resource, or reads the counter and writes it back plus one; then
 * it is over, also when a command of it came to nothing. It is released when none of its
 * commands is waited for. The commands are world/client.c's, travel to the first server like any
 * other, and can be late or lost.
 *
 * Only one thing counts of the counter: is what was read still what is there? So its value is
 * COUNTER_NOW, what was read is that or COUNTER_BEFORE, and when it is written, everybody's
 * knowledge grows old (workload_outdate()). Where a server may forget the counter the values are
 * the real ones. */
#ifndef PICKLOCK_EXPLORE_MODEL_WORKLOAD_H
#define PICKLOCK_EXPLORE_MODEL_WORKLOAD_H

#include "explore/model/ghost.h"
#include "explore/model/action.h"

enum { COUNTER_NOW = 0, COUNTER_BEFORE = -1 };

/* May the section end, as far as its commands are concerned? */
bool workload_is_over(const struct client_state *client_state, const struct config *config);

/* The command that the section sends next: ACTION_WRITE, READ_COUNTER or WRITE_COUNTER; false:
 * none.
 */
bool workload_next(const struct client_state *client_state, const struct config *config,
                   enum action_kind *kind);

/* Sends it. */
void workload_begin(struct client_state *client_state, const struct config *config,
                    enum action_kind kind);

/* A command that was waited for has ended: by its reply, or without one. */
void workload_end(struct client_state *client_state, const struct config *config,
                  const struct packed_message *message, enum moment_kind how);

/* A command of a section was executed; returns enum observed. */
unsigned workload_observe(const struct config *config, struct client_state *client_state,
                          int message, const struct reply *reply, const struct server_state *before,
                          struct server_state *after);

/* Somebody else has written the counter. */
void workload_outdate(struct client_state *client_state, const struct config *config);

/* The counter's server has forgotten its keys: checks/ no longer knows who wrote last. */
void workload_forget(struct client_state *client_state);

/* A new attempt begins: what is still in flight is of an earlier one. */
void workload_outlives(struct packed_message *message);

#endif
