/* fault.h - a kind of fault: whom it can strike, what it does to them, what it is in a schedule.
 *
 * One file a fault, fault_<name>.c with its story on top, and one row in faults.def. A fault only
 * turns records into records; the budgets are steps.c's, and what a record means (a late parcel, a
 * stalled client) is a rule of moves.c. */
#ifndef PICKLOCK_EXPLORE_FAULT_H
#define PICKLOCK_EXPLORE_FAULT_H

#include "explore/moves.h"

/* What something is in a schedule: these choices, in order. */
struct fault_text {
    int count;
    enum choice_kind choices[2];
};

struct fault_kind {
    /* Lists what it can do to the client, or to the server, of the list: MOVE_STRIKE, or the
     * MOVE_FOLLOW of an earlier one. NULL: it does not strike those. */
    void (*list_client)(struct listing *list);
    void (*list_server)(struct server_listing *list);
    /* Has this scheme anything to strike? NULL: always. */
    bool (*can_strike)(const struct scheme *scheme);
    /* Before a search that lets it strike so many times: what else it needs. NULL: nothing. */
    void (*prepare)(struct setting *setting, int times);
    /* Does it strike all replies of a server on their way, and what else is there, at once? Then
     * whether they are heard before it makes a difference (patience.h). */
    bool strikes_all_replies;
    bool strikes_replies; /* one of them */
    /* Is it about several servers, or what was sent to them, at once? Then every order before it
     * matters (order.h). */
    bool meets_everything;
    struct fault_text becomes; /* a strike; none: it is nothing but time that passes */
    struct fault_text follows; /* a MOVE_FOLLOW */
    enum reply_error error;    /* that a server says by it */
};

#define FAULT(id, file, name, struck, words) extern const struct fault_kind fault_##file##_kind;
#include "explore/faults.def"
#undef FAULT

const struct fault_kind *fault_kind(enum fault fault);

#endif
