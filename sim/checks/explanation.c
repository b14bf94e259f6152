/* explanation.c - see cause.h: the sentences of a witness. They say who, what, when, and why it is
 * not something else. */
#include "checks/cause.h"

#include <stdio.h>
#include <string.h>

enum { TRIGGER_BYTES = 128 };

void grant_explain(const struct ledger *ledger, const struct grant *grant, struct finding *finding)
{
    const char *who = client_name(ledger, grant->client);
    if (grant->until_us == NEVER_US) {
        finding_say(finding, "%s got the lock at %s (%s). It has no end of its own.", who,
                    MS(grant->time_us), SENT(&grant->sent));
        return;
    }
    finding_say(finding, "%s got the lock at %s (%s) for %s. %s %s.", who, MS(grant->time_us),
                SENT(&grant->sent), MS(grant->lease_us),
                ledger->has_stamps ? "Its stamp does not pass before"
                                   : "It cannot have expired before",
                MS(grant->until_us));
}

const char *change_trigger(const struct ledger *ledger, const struct change *change, char *words)
{
    const char *who = client_name(ledger, change->client);
    words[0] = '\0';
    if (change->repeat != REPEAT_NONE)
        snprintf(words, TRIGGER_BYTES, "%s %s that was sent %s",
                 strchr("AEIOU", *quote_name(&change->sent)) ? "an" : "a",
                 quote_name(&change->sent), change->repeat == REPEAT_RESENT ? "again" : "twice");
    else if (change->is_clock_struck && ledger->has_stamps)
        snprintf(words, TRIGGER_BYTES, "%s's wrong clock", who);
    else if (change->own_ending == ENDING_EXPIRED ||
             (change->own_ending == ENDING_TAKEN && change->own_end_us <= change->own_ended_us))
        snprintf(words, TRIGGER_BYTES, "%s's overrun", who);
    else if ((change->own_ending == ENDING_DELETED || change->own_ending == ENDING_TAKEN) &&
             change->own_ended_by != change->client)
        snprintf(words, TRIGGER_BYTES, "%s's lock being removed by %s at %s", who,
                 client_name(ledger, change->own_ended_by), MS(change->own_ended_us));
    else if (change->own_ending > ENDING_EXPIRED && change->own_ending != ENDING_DELETED &&
             change->own_ending != ENDING_TAKEN)
        snprintf(words, TRIGGER_BYTES, "the loss of %s's lock at %s", who,
                 MS(change->own_ended_us));
    else if (change->own_end_us <= change->time_us)
        snprintf(words, TRIGGER_BYTES, "%s's overrun", who);
    return words;
}

void change_explain(const struct ledger *ledger, const struct change *change, const char *words,
                    struct finding *finding)
{
    const char *who = client_name(ledger, change->client);
    char context[WITNESS_LINE_BYTES / 2] = "";
    if (change->repeat == REPEAT_COPIED)
        snprintf(context, sizeof context, "; a copy of that command was on its way");
    else if (change->repeat == REPEAT_RESENT)
        snprintf(context, sizeof context, "; its library had sent that command again");
    else if (change->own_end_us <= change->time_us)
        snprintf(context, sizeof context, "; %s's own lease had ended at %s", who,
                 MS(change->own_end_us));
    else if (change->own_ending != ENDING_NONE)
        snprintf(context, sizeof context, "; %s's own lock had been gone since %s", who,
                 MS(change->own_ended_us));
    finding_say(finding, "%s sent %s, executed at %s: it %s%s.", who, SENT(&change->sent),
                MS(change->time_us), words, context);
}

/* --- how the first one's grant ended --- */

static void explain_touch(const struct ledger *ledger, const struct grant *grant,
                          struct finding *finding)
{
    char words[WITNESS_LINE_BYTES / 2];
    const char *what =
        ledger->has_stamps ? "overwrote %s's stamp" : "changed the expiry of %s's lock";
    char *at = strstr(what, "%s");
    snprintf(words, sizeof words, "%.*s%s%s", (int)(at - what), what,
             client_name(ledger, grant->client), at + 2);
    change_explain(ledger, &grant->touch, words, finding);
}

static void explain_end(const struct ledger *ledger, const struct grant *grant,
                        struct finding *finding)
{
    const char *owner = client_name(ledger, grant->client);
    char words[WITNESS_LINE_BYTES / 2];
    switch (grant->ending) {
    case ENDING_NONE:
        finding_say(finding, "%s's lock was still alive at the server.", owner);
        return;
    case ENDING_EXPIRED:
        finding_say(finding, "%s's lock expired at %s, not before its time.", owner,
                    MS(grant->ended_us));
        return;
    case ENDING_EARLY:
        finding_say(finding,
                    "At %s %s's key was gone, %s before its time, and no command removed it.",
                    MS(grant->ended_us), owner, MS(grant->until_us - grant->ended_us));
        return;
    case ENDING_CUT:
        explain_touch(ledger, grant, finding);
        finding_say(finding, "So it expired at %s.", MS(grant->ended_us));
        return;
    case ENDING_SHORT:
        finding_say(finding, "%s itself had given its key less than a lease: it expired at %s.",
                    owner, MS(grant->ended_us));
        return;
    case ENDING_BACK:
        finding_say(finding,
                    "A replica or a snapshot without its last renewal took the place of %s's key: "
                    "it was gone at %s.",
                    owner, MS(grant->ended_us));
        return;
    case ENDING_CLOCK:
        finding_say(finding, "The server's clock was stepped: %s's lock expired at %s, %s early.",
                    owner, MS(grant->ended_us), MS(grant->until_us - grant->ended_us));
        return;
    case ENDING_RESTART:
        finding_say(finding, "The server restarted empty at %s and forgot %s's lock.",
                    MS(grant->ended_us), owner);
        return;
    case ENDING_RESTART_OLD:
        finding_say(finding, "The server restarted at %s with what it had saved before %s's lock.",
                    MS(grant->ended_us), owner);
        return;
    case ENDING_FLUSHED:
        finding_say(finding, "At %s all keys of the server were deleted, %s's lock too.",
                    MS(grant->ended_us), owner);
        return;
    case ENDING_FAILOVER:
        finding_say(finding, "At %s a replica without %s's lock took the server's place.",
                    MS(grant->ended_us), owner);
        return;
    case ENDING_EVICTED:
        finding_say(finding, "The server evicted %s's lock at %s.", owner, MS(grant->ended_us));
        return;
    case ENDING_DELETED:
    case ENDING_TAKEN:
        if (grant->is_touched && grant->touch.index < grant->by.index)
            explain_touch(ledger, grant, finding);
        snprintf(words, sizeof words, "%s %s's lock",
                 grant->ending == ENDING_DELETED ? "removed" : "overwrote", owner);
        change_explain(ledger, &grant->by, words, finding);
        return;
    }
}

/* --- the pair --- */

static void explain_hold(const struct ledger *ledger, int client, const char *also,
                         struct finding *finding)
{
    const struct ledger_client *who = &ledger->clients[client];
    const char *name = client_name(ledger, client);
    int server = 0;
    while (server < ledger->head->servers - 1 &&
           ledger_grant(ledger, client, server)->index == NO_INDEX)
        server++;
    const struct grant *grant = ledger_grant(ledger, client, server);
    int votes = pair_votes(ledger, client);
    if (ledger->quorum > 1 && votes < ledger->quorum)
        finding_say(finding,
                    "%s was told at %s that it has the lock%s; %d of %d servers had given it: no "
                    "majority.",
                    name, MS(who->held_us), also, votes, ledger->head->servers);
    else if (ledger->quorum > 1 && who->owned_index != NO_INDEX)
        finding_say(finding, "%s had the lock%s on a majority of servers at %s.", name, also,
                    MS(who->owned_us));
    else if (ledger->quorum > 1)
        finding_say(finding,
                    "%s was granted the lock%s by %d of %d servers, and told at %s that it has it; "
                    "at no time did a majority keep it.",
                    name, also, votes, ledger->head->servers, MS(who->held_us));
    else if (grant->index != NO_INDEX && !*also)
        grant_explain(ledger, grant, finding);
    else if (grant->index != NO_INDEX)
        finding_say(finding, "%s got it%s at %s (%s).", name, also, MS(grant->time_us),
                    SENT(&grant->sent));
    else
        finding_say(finding, "%s was told at %s that it has the lock%s; no server had given it.",
                    name, MS(who->held_us), also);
    if (who->is_inferred)
        finding_say(finding,
                    "That %s held it is inferred from the wire: from its grant heard at %s to its "
                    "release sent.",
                    name, MS(who->held_us));
    if (who->is_late)
        finding_say(finding, "%s was told so at %s; its own lease had ended at %s.", name,
                    MS(who->held_us), MS(who->own_end_us));
}

/* "Unlock bug in A." */
static void conclude(const struct ledger *ledger, const struct pair *pair, struct finding *finding)
{
    const char *first = client_name(ledger, pair->first),
               *second = client_name(ledger, pair->second);
    const struct grant *end = pair->end;
    char trigger[TRIGGER_BYTES] = "";
    int culprit = NOBODY;
    if (pair->cause == CAUSE_LATE_GRANT)
        culprit = ledger->clients[pair->second].is_late ? pair->second : pair->first;
    else if (pair->cause == CAUSE_OVERRUN)
        culprit = end ? end->client : pair->first;
    else if (pair->cause == CAUSE_FOREIGN_EXTEND && end && end->is_touched)
        culprit = end->touch.client;
    else if (pair->cause == CAUSE_SHORT_TTL)
        culprit = pair->first;
    else if (pair->cause == CAUSE_UNTRUE_ANSWER)
        culprit = pair->second;
    else if (pair->cause == CAUSE_CLIENT_CLOCK && end && !end->by.is_clock_struck)
        culprit = end->client; /* its stamp was wrong, not the judgement of who took it */
    else if (end && (end->ending == ENDING_DELETED || end->ending == ENDING_TAKEN))
        culprit = end->by.client;
    else if (pair->cause == CAUSE_ACQUIRE_BUG)
        culprit = pair->second;
    if (end && pair->cause == CAUSE_UNLOCK_BUG)
        change_trigger(ledger, &end->by, trigger);
    finding_say(finding, "(%s,%s): %s%s%s%s%s.", first, second, cause_title(pair->cause),
                culprit == NOBODY                    ? ""
                : pair->cause == CAUSE_UNTRUE_ANSWER ? " to "
                                                     : " in ",
                culprit != NOBODY ? client_name(ledger, culprit) : "",
                *trigger ? ", triggered by " : "", trigger);
    if (pair->cause == CAUSE_OVERRUN)
        finding_say(finding, "Nobody's bug: %s", cause_words(CAUSE_OVERRUN));
}

void pair_explain(const struct ledger *ledger, const struct pair *pair, struct finding *finding)
{
    const struct ledger_client *first = &ledger->clients[pair->first];
    const struct ledger_client *second = &ledger->clients[pair->second];
    explain_hold(ledger, pair->first, "", finding);
    explain_hold(ledger, pair->second, " too", finding);
    if (pair->end && pair->end->ending != ENDING_NONE) {
        if (pair->server > 0 || ledger->head->servers > 1)
            finding_say(finding, "Server %d decided it:", pair->server + 1);
        explain_end(ledger, pair->end, finding);
    } else if (pair->cause == CAUSE_SPLIT_GRANT) {
        finding_say(finding,
                    "No loss of a grant explains it: two majorities would have a server in "
                    "common.");
    } else {
        finding_say(finding, "Nothing had ended %s's lock at the server.",
                    client_name(ledger, pair->first));
    }
    int64_t both_us = first->held_us > second->held_us ? first->held_us : second->held_us;
    finding_say(finding, "From %s on both believed to hold it.", MS(both_us));
    conclude(ledger, pair, finding);
}
