/* fault.h - a kind of fault: whom it can strike, what it does to them, what it is in a schedule.
 *
 * One file a fault, <name>.c with its story on top, and one row in history/faults.def. A fault only
 * turns records into records; the budgets are successors.c's, and what a record means (a late
 * message, a stalled client) is a rule of actions.c. */
#ifndef PICKLOCK_EXPLORE_MODEL_FAULT_H
#define PICKLOCK_EXPLORE_MODEL_FAULT_H

#include "explore/model/actions.h"

/* What something is in a schedule: these choices, in order. */
struct fault_text {
    int count;
    enum choice_kind choices[2];
};

struct fault_kind {
    /* Lists what it can do to the client, or to the server, of the list: ACTION_INJECT, or the
     * ACTION_DELAYED of an earlier one. NULL: it does not strike those. */
    void (*list_client)(struct action_list *list);
    void (*list_server)(struct server_action_list *list);
    /* Has this scheme anything to strike? NULL: always. */
    bool (*is_applicable)(const struct scheme *scheme);
    /* Before a search that lets it strike so many times: what else it needs. NULL: nothing. */
    void (*prepare)(struct config *config, int times);
    /* Does it strike a reply on its way? */
    bool hits_replies;
    /* Is it about several servers, or what was sent to them, at once? Then every order before it
     * matters (partial_order.h). */
    bool depends_on_everything;
    enum reply_error error; /* that a server says by it */
};

#define FAULT(id, file, name, strikes, keys, breaks, effect, becomes, later, words)                \
    extern const struct fault_kind fault_##file##_kind;
#define PART(id, name, strikes, keys, breaks, effect, words)
#include "history/faults.def"
#undef FAULT
#undef PART

const struct fault_kind *fault_kind(enum fault fault);

/* What it is in a schedule when it is injected (no choices: nothing but time that passes), and what
 * its delayed effect is (no choices: it has none). */
struct fault_text fault_text(enum fault fault);
struct fault_text fault_later_text(enum fault fault);

/* Does it strike all replies of a server on their way, and what else is there, at once? Then
 * whether they are heard before it makes a difference (eager_replies.h). */
bool fault_hits_all_replies(enum fault fault);

/* Fills what of a config depends on the faults of a search: which can strike, and what they ask
 * for. After config_init(). */
void fault_prepare(struct config *config, const struct explore_options *options);

#endif
