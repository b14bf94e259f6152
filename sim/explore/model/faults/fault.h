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
    const char *not_of_schemes; /* why it strikes only workers; NULL: schemes, too */
    /* Before a search that lets it strike so many times: what else it needs. NULL: nothing. */
    void (*prepare)(struct config *config, int times);
    /* Does it strike a reply on its way? */
    bool hits_replies;
    /* Is it about several servers, or what was sent to them, at once? Then every order before it
     * matters (partial_order.h). */
    bool depends_on_everything;
    /* Do clients hear of it without a server's doing, as long as it lasts? Then it is unknown how
     * near they are to what they wait for (lower_bound.h). */
    bool ends_requests;
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

/* A budget of one that has ends_requests? */
bool fault_may_end_requests(const struct explore_options *options);

/* Does it let time pass where something would happen at once without it? */
bool fault_lets_time_pass(enum fault fault);

/* Does it strike all replies of a server on their way, and what else is there, at once? Then
 * whether they are heard before it makes a difference (eager_replies.h). */
bool fault_hits_all_replies(enum fault fault);
bool fault_hits_them_later(enum fault fault); /* only by its delayed effect */

/* How long a server may be out of reach, in ticks: its keys expire, whatever they were given when
 * it began, and stamps, and whoever was to hear of that is late. Longer ones show no more. */
static inline int fault_outage_ticks(const struct config *config)
{
    return config->ttl + LEASE_OVER;
}

/* Fills what of a config depends on the faults of a search: which can strike, and what they ask
 * for. After config_init(). */
void fault_prepare(struct config *config, const struct explore_options *options);

#endif
