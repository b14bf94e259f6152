/* truthful.c - "refused" means that somebody else held it; "not mine" means that it was not mine.
 */
#include "checks/cause.h"
#include "checks/property.h"

static bool is_free_all_along(const struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    /* A quorum may also be missed because servers do not answer, or because the vote is split. */
    return ledger->quorum == 1 && client->was_free &&
           ledger->locks[client->lock].busy_index < client->call_index &&
           ledger_is_free(ledger, client->lock, event->time_us);
}

/* The grant came when the answer that this return is about had been given already: of a request
 * that was late, or of a copy. */
static bool came_later(const struct ledger_client *client, const struct event *event, int server,
                       const struct grant *grant)
{
    if (event->op == OP_RELEASE)
        return grant->index > client->release_index;
    return client->refused >> server & 1;
}

/* The grant at that server which the answer could be about: the last one before it. */
static const struct grant *grant_asked(const struct ledger *ledger, const struct event *event,
                                       int server)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    const struct grant *grant = ledger_grant(ledger, event->client, server);
    bool is_later = grant->index != NO_INDEX && grant->ending == ENDING_NONE &&
                    came_later(client, event, server, grant);
    return is_later ? &client->grants[server] : grant;
}

/* A server whose answer "refused", or "not mine", was not so for this attempt. */
static bool is_mine(const struct ledger *ledger, const struct event *event,
                    const struct grant *grant)
{
    if (grant->index == NO_INDEX)
        return false;
    if (grant->ending == ENDING_NONE)
        return grant->until_us == NEVER_US || event->time_us + ledger->error_us < grant->until_us;
    return event->op == OP_RELEASE && grant->ending == ENDING_DELETED &&
           grant->by.client == event->client && grant->by.attempt == event->attempt;
}

static void event(struct inquiry *inquiry, const struct event *event)
{
    const struct ledger *ledger = inquiry->ledger;
    bool is_refused = event->op == OP_ACQUIRE && event->result == RESULT_REFUSED;
    bool is_not_mine = event->op == OP_RELEASE && event->result == RESULT_NOT_MINE;
    if (event->kind != EVENT_RETURN || (!is_refused && !is_not_mine) ||
        event->attempt != ledger->clients[event->client].attempt)
        return;
    const struct ledger_client *client = &ledger->clients[event->client];
    int mine = 0;
    const struct grant *shown = NULL;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = grant_asked(ledger, event, s);
        bool refused_itself = is_refused && client->refused_itself >> s & 1;
        if (!is_mine(ledger, event, grant) && !refused_itself)
            continue;
        mine++;
        shown = grant;
    }
    bool was_free = is_refused && is_free_all_along(ledger, event);
    if (mine < ledger->quorum && !was_free)
        return;
    struct finding *finding = &inquiry->finding;
    if (!finding_hit(finding, CAUSE_UNTRUE_ANSWER, event->index))
        return;
    const char *name = client_name(ledger, event->client);
    if (mine >= ledger->quorum) {
        grant_explain(ledger, shown, finding);
        if (shown->ending == ENDING_DELETED)
            finding_say(finding, "%s removed it itself at %s (%s).", name, MS(shown->by.time_us),
                        SENT(&shown->by.command));
    } else {
        finding_say(finding, "%s asked at %s. Nobody held the lock then, nor until the answer.",
                    name, MS(client->call_us));
    }
    finding_say(finding, "%s was told \"%s\" at %s.", name, is_refused ? "refused" : "not mine",
                MS(event->time_us));
    finding_say(finding, "Untrue answer to %s.", name);
}

const struct property_rules rules_truthful = {.event = event};
