/* actions.h - the enabled actions of one client state, or of one server state, in a fixed order.
 *
 * A pure function of that state: computed once for each, then kept by graph/space.h. What
 * a request does at its server is not known here: ACTION_ARRIVE is listed, and executed by the
 * graph, which has the server. What goes wrong is asked of each fault of the config
 * (faults/fault.h). Reductions are not known here: the graph filters the list. */
#ifndef PICKLOCK_EXPLORE_MODEL_ACTIONS_H
#define PICKLOCK_EXPLORE_MODEL_ACTIONS_H

#include "explore/model/action.h"

/* Adds an action that leaves all as it is, to be filled in. message: -1 for none. */
struct enabled_action *actions_add(struct action_list *list, enum action_kind kind, int message);

/* Of an action about a message: its connection breaks. */
void actions_disconnect(const struct action_list *list, struct enabled_action *action);

/* In a record: the message ends so (MOMENT_REPLY, MOMENT_TIMEOUT, MOMENT_LOST), and the client is
 * told when it still waits for it. Returns enum effect_bit. */
unsigned actions_end(struct client_state *client_state, const struct config *config, int message,
                     enum moment_kind how);

/* All actions, in a fixed order, in two parts: those of the client and its messages, and what
 * faults do to it. list->enabled: ACTIONS_MAX. What a reduction leaves out of them is not known
 * here. */
void actions_list_own(struct action_list *list);
void actions_list_faults(struct action_list *list);

/* Only the replies that can be heard, and the messages that can be given up. */
void actions_list_ends(struct action_list *list);

/* The same of a server: only faults move it. */
struct enabled_server_action *actions_add_server(struct server_action_list *list,
                                                 enum action_kind kind);
int actions_list_server(const struct server_state *server_state, const struct config *config,
                        struct enabled_server_action *enabled);

/* ACTION_ARRIVE, once the server has answered: the request is a reply now, or gone when nobody
 * waits for it. */
void actions_answered(struct client_state *client_state, const struct config *config, int message,
                      const struct reply *reply);

#endif
