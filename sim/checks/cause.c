/* cause.c - see cause.h: the cause of an overlap. The sentences are in story.c. */
#include "checks/cause.h"

/* Was the grant over by its own time when that was done? */
static bool was_over(const struct ledger *ledger, const struct grant *grant, int64_t time_us)
{
    return grant->until_us != NEVER_US && time_us + ledger->error_us >= grant->until_us;
}

static bool clocks_agreed(const struct ledger *ledger, const struct grant *grant)
{
    bool is_owner_struck =
        grant->client != NOBODY && ledger->clients[grant->client].is_clock_struck;
    return !is_owner_struck && !grant->by.is_clock_struck;
}

/* Another acquire deleted or overwrote it. */
static enum cause taken_cause(const struct ledger *ledger, const struct grant *grant)
{
    if (ledger->has_stamps && was_over(ledger, grant, grant->ended_us))
        return CAUSE_OVERRUN;
    if (ledger->has_stamps && !clocks_agreed(ledger, grant))
        return CAUSE_CLIENT_CLOCK;
    if (grant->is_touched)
        return CAUSE_FOREIGN_EXTEND;
    return CAUSE_ACQUIRE_BUG;
}

/* "EXPIRE k 0" deletes. */
static bool has_set_no_time(const struct grant *grant)
{
    return grant->by.client == grant->client && grant->by.attempt == grant->attempt &&
           verb_effect(grant->by.command.verb) == EFFECT_EXPIRE;
}

enum cause ending_cause(const struct ledger *ledger, const struct grant *grant)
{
    switch (grant->ending) {
    case ENDING_NONE:
        return CAUSE_ACQUIRE_BUG;
    case ENDING_EXPIRED:
        return CAUSE_OVERRUN;
    case ENDING_EARLY:
    case ENDING_CLOCK:
        return CAUSE_EARLY_EXPIRY;
    case ENDING_CUT:
        return CAUSE_FOREIGN_EXTEND;
    case ENDING_SHORT:
        return CAUSE_SHORT_TTL;
    case ENDING_RESTART:
    case ENDING_FAILOVER:
    case ENDING_EVICTED:
        return CAUSE_LOST_GRANT;
    case ENDING_DELETED:
        if (has_set_no_time(grant))
            return CAUSE_SHORT_TTL;
        if (grant->by.op == OP_ACQUIRE && grant->by.client != grant->client)
            return taken_cause(ledger, grant);
        return CAUSE_UNLOCK_BUG;
    case ENDING_TAKEN:
        return taken_cause(ledger, grant);
    }
    return CAUSE_NONE;
}

/* When a client was granted the lock, for ordering: never when it was told. */
static int64_t granted_index(const struct ledger *ledger, int client)
{
    const struct ledger_client *who = &ledger->clients[client];
    return who->owned_index != NO_INDEX ? who->owned_index : who->held_index;
}

/* Where the first one's grant made room for the second one's: of several servers the one whose
 * ending is somebody's fault. False: nowhere. */
static bool find_end(const struct ledger *ledger, struct pair *pair)
{
    bool is_found = false;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *first = ledger_grant(ledger, pair->first, s);
        const struct grant *second = ledger_grant(ledger, pair->second, s);
        if (first->index == NO_INDEX || second->index == NO_INDEX)
            continue;
        if (first->ending == ENDING_NONE || first->ended_index > second->index)
            continue;
        enum cause cause = ending_cause(ledger, first);
        if (is_found && cause_blame(cause) == BLAME_NOBODY)
            continue;
        if (!is_found || cause_blame(pair->cause) == BLAME_NOBODY) {
            pair->cause = cause;
            pair->server = s;
            pair->end = first;
        }
        is_found = true;
    }
    return is_found;
}

/* The first one's grant is over, but the second one was never given one in its place. */
static bool find_loss(const struct ledger *ledger, struct pair *pair)
{
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *first = ledger_grant(ledger, pair->first, s);
        if (first->index == NO_INDEX || first->ending == ENDING_NONE)
            continue;
        pair->cause = ending_cause(ledger, first);
        pair->server = s;
        pair->end = first;
        return true;
    }
    return false;
}

struct pair pair_judge(const struct ledger *ledger, int client, int other)
{
    bool is_in_order = granted_index(ledger, client) <= granted_index(ledger, other);
    struct pair pair = {.first = is_in_order ? client : other,
                        .second = is_in_order ? other : client,
                        .cause = CAUSE_ACQUIRE_BUG,
                        .server = NOBODY};
    bool is_found = find_end(ledger, &pair);
    if (!is_found && ledger->quorum > 1)
        pair.cause = CAUSE_SPLIT_GRANT;
    else if (!is_found && ledger->clients[pair.second].owned_index == NO_INDEX)
        find_loss(ledger, &pair);
    if (ledger->clients[pair.first].is_late || ledger->clients[pair.second].is_late)
        pair.cause = CAUSE_LATE_GRANT;
    return pair;
}
