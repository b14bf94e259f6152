/* cause.c - see cause.h: the cause of an overlap. The sentences are in explanation.c. */
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
    if (grant->is_touched || grant->by.op == OP_EXTEND)
        return CAUSE_FOREIGN_EXTEND;
    return CAUSE_ACQUIRE_BUG;
}

/* "EXPIRE k 0" deletes, and so does a script that extends by nothing. */
static bool has_set_no_time(const struct grant *grant)
{
    return grant->by.client == grant->client && grant->by.attempt == grant->attempt &&
           (grant->by.wanted == EFFECT_EXPIRE || grant->by.op == OP_EXTEND);
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
    case ENDING_RESTART_OLD:
    case ENDING_BACK:
    case ENDING_FLUSHED:
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

/* --- who granted what to whom, and what made room for it --- */

/* A client may have had two grants of a server in one attempt: one that is over and, when the
 * server granted it again or a replica brought it back, the last one. */
enum { GRANTS_EACH = 2 };

static const struct grant *grant_of(const struct ledger *ledger, int client, int server, int which)
{
    return which == 0 ? &ledger->clients[client].grants[server]
                      : ledger_grant(ledger, client, server);
}

/* A key of a try that was over when the one that won began. But what a server lost is of that one,
 * unless it was asked again since: its key is none of those by which it is known when that began.
 */
static bool is_of_former_try(const struct ledger *ledger, int number, int server,
                             const struct grant *grant)
{
    if (ledger->quorum == 1 || grant->ending == ENDING_NONE ||
        grant->ended_us > ledger->clients[number].won_us)
        return false;
    return ledger_is_asked_again(ledger, number, server, grant) ||
           cause_blame(ending_cause(ledger, grant)) != BLAME_DEPLOYMENT;
}

/* Had that server granted it the lock before it was told, or has it renewed what it has? NO_INDEX:
 * no. */
static int64_t vote_index(const struct ledger *ledger, int client, int server)
{
    const int64_t told = ledger->clients[client].held_index;
    for (int i = 0; i < GRANTS_EACH; i++) {
        const struct grant *grant = grant_of(ledger, client, server, i);
        if (grant->index != NO_INDEX && (grant->index < told || grant->is_renewed) &&
            !ledger_is_given_back(ledger, grant) &&
            !is_of_former_try(ledger, client, server, grant))
            return grant->index;
    }
    return NO_INDEX;
}

int pair_votes(const struct ledger *ledger, int client)
{
    int votes = 0;
    for (int s = 0; s < ledger->head->servers; s++)
        votes += vote_index(ledger, client, s) != NO_INDEX;
    return votes;
}

/* Of the vote that completed its majority, though it never had one at a time: NO_INDEX: none did.
 */
static int64_t majority_index(const struct ledger *ledger, int client)
{
    for (int s = 0; s < ledger->head->servers; s++) {
        int64_t index = vote_index(ledger, client, s);
        int votes = 0;
        for (int k = 0; k < ledger->head->servers; k++) {
            int64_t other = vote_index(ledger, client, k);
            votes += other != NO_INDEX && other <= index;
        }
        if (index != NO_INDEX && votes == ledger->quorum)
            return index;
    }
    return NO_INDEX;
}

/* "failed" promises nothing, and a quorum may be missed and leave a key; any other answer says that
 * the key is not, or no longer, the client's. */
enum cause left_cause(const struct ledger *ledger, const struct grant *grant)
{
    const struct left *left = &grant->left;
    bool is_open = result_outcome(left->result) == OUTCOME_INFO || ledger->quorum > 1;
    if (!left->is_left || (left->has_come_late && grant->is_restored))
        return grant->is_restored ? CAUSE_LOST_GRANT : CAUSE_LEFTOVER;
    if (left->has_come_late || left->result == RESULT_UNSUPPORTED ||
        (left->op == OP_RELEASE ? grant->is_entered : left->had_to_refuse))
        return CAUSE_LEFTOVER;
    if (!is_open)
        return CAUSE_UNTRUE_ANSWER;
    return left->was_smooth && !ledger_is_unheard(ledger, grant) ? CAUSE_UNRELEASED
                                                                 : CAUSE_LEFTOVER;
}

/* When a client was granted the lock, for ordering: never when it was told. */
static int64_t granted_index(const struct ledger *ledger, int client)
{
    const struct ledger_client *who = &ledger->clients[client];
    if (who->owned_index != NO_INDEX)
        return who->owned_index;
    int64_t index = ledger->quorum > 1 ? majority_index(ledger, client) : NO_INDEX;
    return index != NO_INDEX ? index : who->held_index;
}

static bool made_room(const struct grant *earlier, const struct grant *later)
{
    return earlier->index != NO_INDEX && later->index != NO_INDEX &&
           earlier->index <= later->index && earlier->ending != ENDING_NONE &&
           earlier->ended_index <= later->index;
}

/* Of an earlier try of its acquire, which got the lock there once more, or gave that back: it is
 * not what its client holds by. */
static bool is_earlier_try(const struct ledger *ledger, const struct grant *grant, int server)
{
    if (grant->index == NO_INDEX || grant->client == NOBODY || grant->ending == ENDING_NONE)
        return false;
    const struct ledger_client *who = &ledger->clients[grant->client];
    const struct grant *last = &ledger->locks[who->lock].keys[server].grant;
    const bool is_again = who->attempt == grant->attempt && last->client == grant->client &&
                          last->attempt == grant->attempt && last->index > grant->ended_index &&
                          last->index <= who->owned_index;
    return is_again || ledger_is_given_back(ledger, grant);
}

/* Of a server that granted the lock to both: the earlier grant, if that had ended and so made room
 * for the later one, which is *next's. NULL: it is no such server. */
static const struct grant *end_at(const struct ledger *ledger, const struct pair *pair, int server,
                                  int *next)
{
    for (int i = 0; i < GRANTS_EACH * GRANTS_EACH; i++) {
        const struct grant *first = grant_of(ledger, pair->first, server, i % GRANTS_EACH);
        const struct grant *second = grant_of(ledger, pair->second, server, i / GRANTS_EACH);
        if (is_earlier_try(ledger, first, server) || is_earlier_try(ledger, second, server))
            continue;
        bool is_in_order = made_room(first, second);
        if (!is_in_order && !made_room(second, first))
            continue;
        *next = is_in_order ? pair->second : pair->first;
        return is_in_order ? first : second;
    }
    return NULL;
}

/* Would it have been granted by enough servers, had only those lost an earlier grant that lost it
 * by what these are to blame for? */
static bool has_quorum(const struct ledger *ledger, const struct pair *pair, int client,
                       unsigned blames)
{
    int votes = 0;
    for (int s = 0; s < ledger->head->servers; s++) {
        int next = NOBODY;
        const struct grant *end = end_at(ledger, pair, s, &next);
        bool is_given = end && next == client;
        votes += vote_index(ledger, client, s) != NO_INDEX &&
                 (!is_given || blames >> cause_blame(ending_cause(ledger, end)) & 1);
    }
    return votes >= ledger->quorum;
}

/* The first server where an earlier grant ended by what that one is to blame for. */
static bool find_end_by(const struct ledger *ledger, enum blame blame, struct pair *pair)
{
    for (int s = 0; s < ledger->head->servers; s++) {
        int next;
        const struct grant *end = end_at(ledger, pair, s, &next);
        if (!end || cause_blame(ending_cause(ledger, end)) != blame)
            continue;
        pair->cause = ending_cause(ledger, end);
        pair->server = s;
        pair->end = end;
        return true;
    }
    return false;
}

/* Where an earlier grant made room for a later one. Of several servers what it took: an overrun,
 * if both would have had the lock by that alone; else what the deployment lost; and the scheme is
 * to blame only where they would not have had it without its doing. Two majorities have a server in
 * common: where one of them had none, no ending of a grant explains it. False: nowhere. */
static bool find_end(const struct ledger *ledger, struct pair *pair)
{
    static const enum blame order[] = {BLAME_NOBODY, BLAME_DEPLOYMENT, BLAME_SCHEME};
    unsigned blames = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        blames |= 1u << order[i];
        if (has_quorum(ledger, pair, pair->first, blames) &&
            has_quorum(ledger, pair, pair->second, blames))
            return find_end_by(ledger, order[i], pair);
    }
    return false;
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

const char *pair_excuse(const struct ledger *ledger, const struct pair *pair)
{
    bool is_unpromised = pair->cause == CAUSE_OVERRUN && !ledger->scheme && !ledger->has_lease;
    return is_unpromised ? "the lock promises no expiry, and its key expired: how long it may be "
                           "held nobody says"
                         : NULL;
}

/* It has that key there. To a majority one counts that an earlier attempt of its left only where it
 * is its lock all the same: who asks again for what it holds; what never ends; what an old request
 * made during this call. */
static bool is_kept(const struct ledger *ledger, int number, const struct ledger_key *key)
{
    const struct ledger_client *client = &ledger->clients[number];
    const struct grant *grant = &key->grant;
    if (grant->index == NO_INDEX || grant->client != number || grant->ending != ENDING_NONE)
        return false;
    return ledger->scheme || ledger->quorum == 1 || grant->attempt == client->attempt ||
           grant->attempt <= client->reentered || key->expire_us == NEVER_US ||
           grant->time_us >= client->call_us;
}

int pair_servers(const struct ledger *ledger, int client)
{
    const int lock = ledger->clients[client].lock;
    int servers = 0;
    for (int s = 0; s < ledger->head->servers; s++)
        servers += is_kept(ledger, client, &ledger->locks[lock].keys[s]) ||
                   vote_index(ledger, client, s) != NO_INDEX;
    return servers;
}

bool pair_is_untold(const struct ledger *ledger, int client)
{
    return pair_servers(ledger, client) == 0;
}

/* Who was granted nothing, and believes to hold it: the other one is not to blame for that. */
static bool find_untold(const struct ledger *ledger, struct pair *pair)
{
    const bool is_first = pair_is_untold(ledger, pair->first);
    if (!is_first && !pair_is_untold(ledger, pair->second))
        return false;
    if (is_first) {
        const int client = pair->first;
        pair->first = pair->second;
        pair->second = client;
    }
    pair->cause = CAUSE_UNTRUE_ANSWER;
    return true;
}

struct pair pair_judge(const struct ledger *ledger, int client, int other)
{
    bool is_in_order = granted_index(ledger, client) <= granted_index(ledger, other);
    struct pair pair = {.first = is_in_order ? client : other,
                        .second = is_in_order ? other : client,
                        .cause = CAUSE_ACQUIRE_BUG,
                        .server = NOBODY};
    bool is_found = find_end(ledger, &pair) || find_untold(ledger, &pair);
    if (!is_found && ledger->quorum > 1)
        pair.cause = CAUSE_SPLIT_GRANT;
    else if (!is_found && ledger->clients[pair.second].owned_index == NO_INDEX)
        find_loss(ledger, &pair);
    if (ledger->clients[pair.first].is_late || ledger->clients[pair.second].is_late)
        pair.cause = CAUSE_LATE_GRANT;
    return pair;
}
