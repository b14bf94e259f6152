/* truthful.c - "refused" means that somebody else held it; "not mine" means that it was not mine;
 * "granted" that a server granted it, "extended", of a foreign lock, that one extended it, and
 * "released", of who had been told that it has it not, or never had it, that there was something
 * of its to release.
 *
 * Refused by a key that it has left behind itself, nobody else held the lock. That is as much the
 * scheme's fault as it is that the key is still there: behind a lost message it is nobody's, since
 * a client that never heard of its grant cannot tell its key from another's.
 *
 * "Not mine" is not so of a lock that the same release has removed, sent again by the client's own
 * library. Of one that a copy on its way has removed it is: it was not its own any more, and nobody
 * could have told it why. */
#include "checks/cause.h"
#include "checks/property.h"

/* How a client was answered what is not so. */
struct untruth {
    int mine; /* servers that keep its lock, or refused it because of its own key */
    const struct grant *shown;  /* of this attempt */
    const struct grant *behind; /* of an earlier one */
    enum cause cause;
};

static void add_leftover(const struct ledger *ledger, struct untruth *untruth,
                         const struct grant *behind)
{
    enum cause cause = left_cause(ledger, behind);
    bool is_graver = !untruth->behind || cause_blame(untruth->cause) == BLAME_NOBODY;
    untruth->mine++;
    if (!is_graver)
        return;
    untruth->behind = behind;
    untruth->cause = cause;
}

static void explain_leftover(const struct ledger *ledger, const struct grant *behind,
                             enum cause cause, struct finding *finding)
{
    const char *name = client_name(ledger, behind->client);
    const struct left *left = &behind->left;
    finding_say(finding, "%s's %s stood in the lock key since %s.", name, SENT(&behind->sent),
                MS(behind->time_us));
    if (behind->is_restored)
        finding_say(finding, "%s had brought it back.",
                    behind->restored_by == FAULT_KEYS_SNAPSHOT ? "A snapshot" : "A replica");
    else if (left->is_left)
        finding_say(finding,
                    "%s's %s returned \"%s\" at %s: %s does not know that it has the lock.", name,
                    operation_name(left->op), result_name(left->result), MS(left->since_us), name);
    if (cause == CAUSE_UNRELEASED)
        finding_say(finding, "None of %s's messages was lost, late or sent twice.", name);
}

/* The grant at that server which the answer could be about: the last one before it. */
static const struct grant *grant_asked(const struct ledger *ledger, const struct event *event,
                                       int server)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    const struct grant *grant = ledger_grant(ledger, event->client, server);
    bool is_later = grant->index != NO_INDEX && grant->ending == ENDING_NONE &&
                    ledger_came_behind(client, event->op, server, grant);
    return is_later ? &client->grants[server] : grant;
}

/* This release has removed a lock of its client's. Where an earlier one of its attempt was not
 * answered, that may have, and this one have found none. */
static bool has_removed(const struct ledger_client *client, const struct event *event, int server)
{
    const bool may_be_earlier = client->is_release_owed && (client->release_missed >> server & 1);
    return event->op == OP_RELEASE && (client->release_gave >> server & 1) && !may_be_earlier;
}

/* The last grant at that server that the answer could be about: of this attempt; or of whatever one
 * its release has removed, or its renewal has given its lease anew. */
static const struct grant *grant_meant(const struct ledger *ledger, const struct event *event,
                                       int server)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    const struct grant *last = &ledger->locks[client->lock].keys[server].grant;
    if (has_removed(client, event, server))
        return &client->own_keys[server];
    if (event->op == OP_EXTEND && client->extended >> server & 1 && last->client == event->client)
        return last;
    return grant_asked(ledger, event, server);
}

/* When its time is over its client may say so by its own clock, whatever a server answered before.
 */
static bool is_over(const struct ledger *ledger, const struct event *event,
                    const struct grant *grant)
{
    return grant->until_us != NEVER_US && event->time_us + ledger->error_us >= grant->until_us;
}

/* A server has that, or this release has removed it there: "refused", or "not mine", is not so. */
static bool is_own(const struct ledger *ledger, const struct event *event, int server,
                   const struct grant *grant)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    const struct ledger_key *key = &ledger->locks[client->lock].keys[server];
    const bool is_lost = client->lost >> server & 1; /* by the server's own word */
    const bool is_there =
        grant->index != NO_INDEX && grant->ending == ENDING_NONE &&
        (key->grant.index != grant->index || !ledger_may_be_gone(ledger, key, event->time_us));
    const bool is_past = event->op == OP_ACQUIRE && !ledger->scheme
                             ? ledger_must_refuse(ledger, grant, event->time_us)
                             : is_over(ledger, event, grant);
    return (is_there || has_removed(client, event, server)) && !is_lost && !is_past;
}

static struct untruth judge(const struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    struct untruth untruth = {.cause = CAUSE_UNTRUE_ANSWER};
    int kept = 0; /* of the servers that keep this attempt's lock */
    bool was_refused_itself = false;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = grant_meant(ledger, event, s);
        const struct grant *behind = &client->own_keys[s];
        bool refused_itself = event->op == OP_ACQUIRE && client->refused_itself >> s & 1;
        const bool refused_behind = refused_itself && behind->index != NO_INDEX;
        const struct grant *own = ledger_grant(ledger, event->client, s);
        refused_itself &= !refused_behind && !ledger_must_refuse(ledger, own, event->time_us);
        if (refused_behind) {
            add_leftover(ledger, &untruth, behind);
        } else if (is_own(ledger, event, s, grant) || refused_itself) {
            untruth.mine++;
            untruth.shown = refused_itself ? own : grant;
            was_refused_itself |= refused_itself;
            kept += !refused_itself;
        }
    }
    if (!untruth.behind || was_refused_itself || kept >= ledger->quorum)
        untruth.cause = CAUSE_UNTRUE_ANSWER;
    else
        untruth.shown = NULL;
    return untruth;
}

static void explain(const struct ledger *ledger, const struct event *event,
                    const struct untruth *untruth, struct finding *finding)
{
    const struct grant *shown = untruth->shown;
    const char *name = client_name(ledger, event->client);
    if (untruth->mine < ledger->quorum) {
        finding_say(finding, "%s asked at %s. Nobody held the lock then, nor until the answer.",
                    name, MS(ledger->clients[event->client].call_us));
    } else if (shown) {
        grant_explain(ledger, shown, finding);
        if (shown->ending == ENDING_DELETED)
            finding_say(finding, "%s removed it itself at %s (%s).", name, MS(shown->by.time_us),
                        SENT(&shown->by.sent));
    } else {
        explain_leftover(ledger, untruth->behind, untruth->cause, finding);
    }
    finding_say(finding, "%s was told \"%s\" at %s%s.", name,
                event->op == OP_ACQUIRE ? "refused" : "not mine", MS(event->time_us),
                untruth->mine >= ledger->quorum && !shown ? ", and nobody else held the lock" : "");
    finding_say(finding, "%s %s %s.", cause_title(untruth->cause),
                untruth->cause == CAUSE_UNTRUE_ANSWER ? "to" : "of", name);
}

/* Nothing was granted to this attempt, and what stands there is its client's key of an attempt
 * before, on the rest of an old lease: that one, or NULL. It is the lock of who asks again for what
 * it holds; of who gives it a lease anew, or has one that never ends; and where an old request made
 * it during this call. */
static const struct grant *old_lease(const struct ledger *ledger, int number)
{
    const struct ledger_client *client = &ledger->clients[number];
    const struct grant *old = NULL;
    if (!ledger->has_lease || pair_votes(ledger, number) > 0)
        return NULL;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct ledger_key *key = &ledger->locks[client->lock].keys[s];
        const struct grant *grant = &key->grant;
        if (grant->index == NO_INDEX || grant->client != number || grant->ending != ENDING_NONE)
            continue;
        if (grant->attempt <= client->reentered || key->expire_us == NEVER_US ||
            grant->time_us >= client->call_us)
            return NULL;
        old = grant;
    }
    return old;
}

/* Is it known by now what the servers did for that acquire? Of a scheme that is all or nothing; a
 * foreign program may have asked nobody. */
static bool is_seen(const struct ledger *ledger, int number)
{
    const struct ledger_client *client = &ledger->clients[number];
    return ledger->locks[client->lock].waiting_count == 0 &&
           (!ledger->scheme || client->answered_us != NEVER_US);
}

/* So many servers must have granted it. What nobody says that it takes is not asked for; nor is a
 * scheme of ours, which the explorer judges by the same rules, from states that do not tell which
 * servers had granted a lock that they have lost since: its minorities show as split grants. */
static int servers_needed(const struct ledger *ledger)
{
    return ledger->is_stated && !ledger->scheme ? ledger->quorum : 1;
}

static void say_granted_by(const struct ledger *ledger, const struct event *event,
                           struct finding *finding)
{
    const int servers = pair_servers(ledger, event->client);
    const bool has_asked = ledger->clients[event->client].sent_us != INT64_MIN;
    const char *name = client_name(ledger, event->client);
    if (servers > 0 && servers < ledger->quorum)
        finding_say(finding,
                    "%s was told \"granted\" at %s, and %d of %d servers had granted it: no "
                    "majority.",
                    name, MS(event->time_us), servers, ledger->head->servers);
    else
        finding_say(finding, "%s was told \"granted\" at %s, and %s.", name, MS(event->time_us),
                    !has_asked && ledger->head->has_all_commands
                        ? "had asked no server for the lock"
                        : "no server had granted it");
}

/* What its commands did is all that makes a lock its own, whatever it says. */
static void judge_granted(struct monitor *monitor, const struct event *event)
{
    const struct ledger *ledger = monitor->ledger;
    const char *name = client_name(ledger, event->client);
    if (event->is_inferred || !is_seen(ledger, event->client))
        return;
    const struct grant *old = old_lease(ledger, event->client);
    if ((!old && pair_servers(ledger, event->client) >= servers_needed(ledger)) ||
        !finding_hit(&monitor->finding, CAUSE_UNTRUE_ANSWER, event->index))
        return;
    if (old) {
        grant_explain(ledger, old, &monitor->finding);
        finding_say(&monitor->finding, "%s asked again at %s, in another attempt.", name,
                    MS(ledger->clients[event->client].call_us));
    }
    say_granted_by(ledger, event, &monitor->finding);
    finding_say(&monitor->finding, "%s to %s.", cause_title(CAUSE_UNTRUE_ANSWER), name);
}

/* "Extended": so many servers gave its lock the lease anew. The book of this call is not closed yet
 * (ledger.h: extended). */
static void judge_extended(struct monitor *monitor, const struct event *event)
{
    const struct ledger *ledger = monitor->ledger;
    const struct ledger_client *client = &ledger->clients[event->client];
    const char *name = client_name(ledger, event->client);
    if (event->is_inferred || ledger_untold(ledger) || ledger_has_extended(ledger, event->client) ||
        !finding_hit(&monitor->finding, CAUSE_UNTRUE_ANSWER, event->index))
        return;
    finding_say(&monitor->finding, "%s asked for its lease anew at %s.", name,
                MS(client->called_us));
    finding_say(&monitor->finding, "%s was told \"extended\" at %s, and %s had extended its lock.",
                name, MS(event->time_us),
                ledger->quorum > 1 ? "no majority of the servers" : "no server");
    finding_say(&monitor->finding, "%s to %s.", cause_title(CAUSE_UNTRUE_ANSWER), name);
}

static bool was_granted_anything(const struct ledger *ledger, int client)
{
    for (int s = 0; s < ledger->head->servers; s++)
        if (ledger_grant(ledger, client, s)->index != NO_INDEX)
            return true;
    return false;
}

static bool keeps_any(const struct ledger *ledger, int number)
{
    const int lock = ledger->clients[number].lock;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = &ledger->locks[lock].keys[s].grant;
        if (grant->index != NO_INDEX && grant->client == number && grant->ending == ENDING_NONE)
            return true;
    }
    return false;
}

/* Had it nothing to release? It had been told so in that attempt (by "released" not, where it had
 * entered the lock again); or was not answered, never had it, and found another client's lock. Of
 * who was granted it, and told nothing since, "released" proves nothing: who just deletes says so
 * when its lease is over, too. */
static bool had_nothing(const struct ledger *ledger, int number)
{
    const struct ledger_client *client = &ledger->clients[number];
    const enum result told = client->had_none.told;
    return (told != RESULT_NONE && !(told == RESULT_RELEASED && client->has_entered)) ||
           (client->acquired != RESULT_GRANTED && !was_granted_anything(ledger, number) &&
            client->release_met);
}

/* "Released", to who had nothing to release, by a release that found nothing of its client's. */
static void judge_released(struct monitor *monitor, const struct event *event)
{
    const struct ledger *ledger = monitor->ledger;
    const struct ledger_client *client = &ledger->clients[event->client];
    const char *name = client_name(ledger, event->client);
    if (event->is_inferred || ledger_untold(ledger) || !had_nothing(ledger, event->client) ||
        client->release_found || keeps_any(ledger, event->client) ||
        ledger->locks[client->lock].waiting_count > 0 ||
        !finding_hit(&monitor->finding, CAUSE_UNTRUE_ANSWER, event->index))
        return;
    if (client->had_none.told != RESULT_NONE)
        finding_say(&monitor->finding, "%s was told \"%s\" at %s.", name,
                    result_name(client->had_none.told), MS(client->had_none.time_us));
    finding_say(&monitor->finding,
                "%s called release at %s, and was told \"released\" at %s. No server had a lock of "
                "its then, and none was released.",
                name, MS(client->called_us), MS(event->time_us));
    finding_say(&monitor->finding, "%s to %s.", cause_title(CAUSE_UNTRUE_ANSWER), name);
}

static void event(struct monitor *monitor, const struct event *event)
{
    const struct ledger *ledger = monitor->ledger;
    if (event->kind == EVENT_RETURN && event->result == RESULT_RELEASED &&
        event->attempt == ledger->clients[event->client].attempt)
        judge_released(monitor, event);
    if (event->kind == EVENT_RETURN && event->result == RESULT_GRANTED &&
        event->attempt == ledger->clients[event->client].attempt)
        judge_granted(monitor, event);
    if (event->kind == EVENT_RETURN && event->op == OP_EXTEND && event->result == RESULT_DONE &&
        event->attempt == ledger->clients[event->client].attempt)
        judge_extended(monitor, event);
    bool is_refused = event->op == OP_ACQUIRE && event->result == RESULT_REFUSED;
    bool is_not_mine = event->op != OP_ACQUIRE && event->result == RESULT_NOT_MINE;
    if (event->kind != EVENT_RETURN || (!is_refused && !is_not_mine) || event->is_inferred ||
        event->attempt != ledger->clients[event->client].attempt)
        return;
    struct untruth untruth = judge(ledger, event);
    if (untruth.mine < ledger->quorum) {
        if (!is_refused || !ledger_was_free(ledger, event->client, event->time_us))
            return;
        untruth.cause = CAUSE_UNTRUE_ANSWER;
    }
    if (finding_hit(&monitor->finding, untruth.cause, event->index))
        explain(ledger, event, &untruth, &monitor->finding);
}

static const char *excused(const struct monitor *monitor)
{
    return ledger_untold(monitor->ledger);
}

/* Somebody who is in no line may have held it, or nobody. */
static const char *unproved(const struct monitor *monitor)
{
    return ledger_stranger(monitor->ledger);
}

const struct property_rules rules_truthful = {
    .event = event, .excused = excused, .unproved = unproved};
