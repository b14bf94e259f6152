/* eager_replies.c - see eager_replies.h. */
#include "explore/reduce/eager_replies.h"

#include <string.h>

/* What can happen to the client next, in any order: a reply heard, a message given up. */
enum { ENDS_MAX = 7, ORDERS_MAX = 1 << ENDS_MAX };

struct ends {
    int count;
    struct {
        int message;
        enum moment_kind how;
    } at[ENDS_MAX];
    unsigned late_replies; /* bit an end: it may as well be given up */
    unsigned deferred;     /* bit an end: of those that come before time passes, and can wait */
    unsigned leaves;       /* bit an end: nothing of it stays when it is given up */
    bool is_waiting;       /* a request has yet to be answered, and is on its way */
};

/* Is nothing else on its connection? What was given up on travels by itself, on one that nobody
 * uses any more. */
static bool is_alone(const struct client_state *client_state, int message)
{
    const struct packed_message *it = &client_state->messages[message];
    for (int i = 0; i < client_state->count; i++)
        if (i != message && client_state->messages[i].server == it->server &&
            client_state->messages[i].lane == it->lane &&
            (!message_is_abandoned(&client_state->messages[i]) ||
             message_keeps_watch(&client_state->messages[i])))
            return false;
    return true;
}

/* False: something else than these may come next, or with one of them. */
static bool ends_read(const struct client_state *client_state, struct ends *ends)
{
    memset(ends, 0, sizeof *ends);
    if (client_state->phase == PHASE_HOLDING || client_state->wake == 0)
        return false;
    for (int i = 0; i < client_state->count; i++) {
        const struct packed_message *it = &client_state->messages[i];
        bool is_late = client_state_may_wait(client_state, i);
        if (it->flags & MESSAGE_ABANDONED || !(it->flags & MESSAGE_CURRENT))
            continue;
        if (message_is_request(it) && !is_late) {
            ends->is_waiting = true;
            continue;
        }
        if (ends->count == ENDS_MAX)
            return false;
        if (message_is_reply(it) && !is_late && !is_alone(client_state, i))
            return false;
        ends->late_replies |= (unsigned)(message_is_reply(it) && is_late) << ends->count;
        ends->deferred |= (unsigned)!is_late << ends->count;
        ends->leaves |= (unsigned)(message_is_reply(it) || client_state_is_held(client_state, it))
                        << ends->count;
        ends->at[ends->count].message = i;
        ends->at[ends->count++].how = message_is_reply(it)        ? MOMENT_REPLY
                                      : it->state == MESSAGE_VOID ? MOMENT_LOST
                                                                  : MOMENT_TIMEOUT;
    }
    return true;
}

/* Is the message gone with it? One that was given up on its way stays there, unless it is
 * held. */
static bool is_gone(const struct ends *ends, int end)
{
    return ends->at[end].how != MOMENT_TIMEOUT || ends->leaves >> end & 1;
}

/* Where it stands when those of the set have ended. */
static int message_now(const struct ends *ends, int set, int end)
{
    int gone = 0;
    for (int i = 0; i < end; i++)
        gone += (set >> i & 1) && is_gone(ends, i);
    return ends->at[end].message - gone;
}

/* A new connection, on which nothing is watched, is no matter of order. */
static unsigned ends_one(struct client_state *client_state, const struct config *config,
                         int message, enum moment_kind how)
{
    return actions_end(client_state, config, message, how) & ~(unsigned)DID_DISCONNECT;
}

/* Nothing was sent, said or set by it. */
static bool is_only_counted(const struct client_state *before, const struct client_state *after,
                            unsigned did, bool is_gone)
{
    return !did && after->count == before->count - is_gone &&
           after->wake_half == before->wake_half && after->wake == before->wake;
}

/* A tick passes for both; false: neither is another one by it. */
static bool grow_older(struct client_state *one, struct client_state *other,
                       const struct config *config)
{
    const struct client_state younger[] = {*one, *other};
    client_state_age(one, config, false);
    client_state_age(other, config, false);
    return !client_state_is_same(one, &younger[0]) || !client_state_is_same(other, &younger[1]);
}

/* Is it the same when the end comes later: after the ticks of a stall, as many as there may be, and
 * after jumps of the clock? */
static bool is_timeless(const struct client_state *before, const struct client_state *after,
                        const struct config *config, int message, enum moment_kind how)
{
    if (!config->has_fault[FAULT_STALL] && config->clock_jumps == 0)
        return true;
    for (int jumps = -config->clock_jumps; jumps <= config->clock_jumps; jumps++) {
        struct client_state later = *before, expected = *after;
        client_state_jump(&later, config, jumps * config->jump);
        client_state_jump(&expected, config, jumps * config->jump);
        do {
            struct client_state told = later;
            actions_end(&told, config, message, how);
            if (!client_state_is_same(&told, &expected))
                return false;
        } while (config->has_fault[FAULT_STALL] && grow_older(&later, &expected, config));
    }
    return true;
}

/* Whatever comes first: the same in the end, and nothing but counting before all have ended. */
static bool is_order_free(const struct client_state *client_state, const struct config *config,
                          const struct ends *ends)
{
    struct client_state after[ORDERS_MAX];
    unsigned did[ORDERS_MAX] = {0};
    int all = (1 << ends->count) - 1;
    after[0] = *client_state;
    for (int set = 1; set <= all; set++) {
        bool may_decide = set == all && !ends->is_waiting;
        for (int end = 0, seen = 0; end < ends->count; end++) {
            int before = set & ~(1 << end);
            if (before == set)
                continue;
            struct client_state it = after[before];
            int message = message_now(ends, before, end);
            unsigned done = ends_one(&it, config, message, ends->at[end].how);
            if (!may_decide && !is_only_counted(&after[before], &it, done, is_gone(ends, end)))
                return false;
            if (!may_decide && ends->deferred >> end & 1 &&
                !is_timeless(&after[before], &it, config, message, ends->at[end].how))
                return false;
            if (seen++ > 0 && (done != did[set] || !client_state_is_same(&it, &after[set])))
                return false;
            after[set] = it;
            did[set] = done;
        }
    }
    return true;
}

static bool is_order_always_free(const struct client_state *client_state,
                                 const struct config *config, struct ends *ends)
{
    for (unsigned given_up = 0; given_up <= ends->late_replies; given_up++) {
        if (given_up & ~ends->late_replies)
            continue;
        for (int i = 0; i < ends->count; i++)
            if (ends->late_replies >> i & 1)
                ends->at[i].how = given_up >> i & 1 ? MOMENT_TIMEOUT : MOMENT_REPLY;
        if (!is_order_free(client_state, config, ends))
            return false;
    }
    return true;
}

/* Of the attempt under way, and before time passes: the end of a message; a reply that is heard. */
static bool ends_now(const struct action_list *list, const struct enabled_action *action)
{
    return (action->kind == ACTION_HEAR || action->kind == ACTION_GIVE_UP) && action->is_urgent &&
           list->client_state->messages[action->message].flags & MESSAGE_CURRENT;
}

static bool is_heard_now(const struct action_list *list, const struct enabled_action *action)
{
    return action->kind == ACTION_HEAR && ends_now(list, action);
}

typedef bool is_wanted(const struct action_list *list, const struct enabled_action *action);

static bool can_wait(const struct action_list *list, struct ends *ends, is_wanted *is_one)
{
    int heard = 0;
    for (int i = 0; i < list->count; i++)
        heard += is_one(list, &list->enabled[i]);
    return heard > 0 && (ends->is_waiting || heard > 1) &&
           is_order_always_free(list->client_state, list->config, ends);
}

/* Nothing is heard, or one after the other: the first, by a client that does nothing else until it
 * has heard the last. */
static void hear_in_order(struct action_list *list, bool is_waiting)
{
    int heard = 0, first = -1, count = list->count;
    for (int i = 0; i < count; i++) {
        struct enabled_action *action = &list->enabled[i];
        if (!is_heard_now(list, action))
            continue;
        action->hearing = HEARD_ONE_BY_ONE;
        if (heard++ == 0)
            first = i;
    }
    if (is_waiting || heard == 0)
        return;
    struct enabled_action *action = actions_add(list, ACTION_HEAR, list->enabled[first].message);
    *action = list->enabled[first];
    action->hearing = HEARD_IN_BATCH;
    if (heard > 1)
        action->after.flags |= CLIENT_HEARING;
}

void eager_replies_filter(struct action_list *list)
{
    struct ends ends;
    if (list->client_state->flags & CLIENT_HEARING)
        hear_in_order(list, false);
    else if (ends_read(list->client_state, &ends) && can_wait(list, &ends, is_heard_now))
        hear_in_order(list, ends.is_waiting);
}

bool eager_replies_only_count(const struct client_state *client_state, const struct config *config)
{
    struct ends ends;
    return ends_read(client_state, &ends) && is_order_always_free(client_state, config, &ends);
}

unsigned eager_replies_counted(const struct client_state *client_state, const struct config *config,
                               bool *is_waiting)
{
    struct enabled_action enabled[ACTIONS_MAX];
    struct action_list list = {
        .client_state = client_state, .config = config, .enabled = enabled, .fault = FAULT_NONE};
    struct ends ends;
    unsigned messages = 0;
    *is_waiting = false;
    if (client_state->flags & CLIENT_HEARING || !ends_read(client_state, &ends))
        return 0;
    actions_list_ends(&list);
    if (!can_wait(&list, &ends, ends_now))
        return 0;
    for (int i = 0; i < list.count; i++)
        if (ends_now(&list, &enabled[i]))
            messages |= 1u << enabled[i].message;
    *is_waiting = ends.is_waiting;
    return messages;
}

const struct reduction_hooks eager_replies_hooks = {.filter = eager_replies_filter};
