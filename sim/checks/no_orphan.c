/* no_orphan.c - after a failed acquire or a finished release no key with that token survives.
 *
 * A key is an orphan when its client does not know (any more) that it has it. It is put down only
 * when it stays until it expires, or until the end of the history: a late command of its own may
 * still remove it. */
#include "checks/cause.h"
#include "checks/property.h"

#include "base/memory.h"

/* What is known of the last grant of a lock key. */
struct orphan {
    int64_t grant; /* its index; NO_INDEX: no orphan */
    int64_t since_us;
    enum operation op; /* that returned */
    enum result result;
    bool has_come_late; /* after the return: what was told was true then */
};

static void *make(const struct ledger *ledger)
{
    size_t keys = (size_t)ledger->head->locks * (size_t)ledger->head->servers;
    struct orphan *orphans = memory_new(keys, sizeof *orphans);
    for (size_t i = 0; i < keys; i++)
        orphans[i].grant = NO_INDEX;
    return orphans;
}

static struct orphan *orphan_at(struct inquiry *inquiry, int lock, int server)
{
    struct orphan *orphans = inquiry->state;
    return &orphans[lock * inquiry->ledger->head->servers + server];
}

/* "failed" promises nothing: that the key stays until its lease ends is the price of a lost
 * message. Any other answer says that the key is not, or no longer, the client's; a quorum may be
 * missed and leave a key. */
static enum cause cause_of(const struct ledger *ledger, const struct orphan *orphan)
{
    bool is_open =
        result_outcome(orphan->result) == OUTCOME_INFO || orphan->result == RESULT_UNSUPPORTED;
    return is_open || orphan->has_come_late || ledger->quorum > 1 ? CAUSE_LEFTOVER
                                                                  : CAUSE_UNTRUE_ANSWER;
}

static void hit(struct inquiry *inquiry, const struct grant *grant, const struct orphan *orphan,
                int64_t index, const char *fate)
{
    const struct ledger *ledger = inquiry->ledger;
    struct finding *finding = &inquiry->finding;
    if (!finding_hit(finding, cause_of(ledger, orphan), index))
        return;
    const char *name = client_name(ledger, grant->client);
    finding_say(finding, "%s's %s stood in the lock key since %s.", name, SENT(&grant->command),
                MS(grant->time_us));
    finding_say(finding, "%s's %s returned \"%s\" at %s: %s does not know that it has the lock.",
                name, operation_name(orphan->op), result_name(orphan->result), MS(orphan->since_us),
                name);
    finding_say(finding, "%s", fate);
    finding_say(finding, "Leftover of %s: nobody can have the lock meanwhile.", name);
}

static void event(struct inquiry *inquiry, const struct event *event)
{
    const struct ledger *ledger = inquiry->ledger;
    if (event->kind != EVENT_RETURN || (event->op != OP_ACQUIRE && event->op != OP_RELEASE) ||
        event->result == RESULT_GRANTED)
        return;
    const struct ledger_client *client = &ledger->clients[event->client];
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = ledger_grant(ledger, event->client, s);
        if (event->attempt != client->attempt || grant->index == NO_INDEX ||
            grant->ending != ENDING_NONE)
            continue;
        *orphan_at(inquiry, client->lock, s) = (struct orphan){.grant = grant->index,
                                                               .since_us = event->time_us,
                                                               .op = event->op,
                                                               .result = event->result};
    }
}

/* A request that comes when its attempt is over: when its acquire has failed, or its release is
 * done. */
static void came_late(struct inquiry *inquiry, const struct fact *fact)
{
    const struct ledger_client *client = &inquiry->ledger->clients[fact->client];
    struct orphan *orphan = orphan_at(inquiry, fact->lock, fact->server);
    orphan->grant = NO_INDEX;
    if (client->attempt != fact->grant->attempt) {
        *orphan =
            (struct orphan){.since_us = fact->time_us, .op = OP_ACQUIRE, .result = RESULT_FAILED};
    } else if (client->is_dead || client->is_acquiring || client->acquired == RESULT_NONE) {
        return;
    } else if (client->acquired != RESULT_GRANTED) {
        *orphan = (struct orphan){
            .since_us = client->acquired_us, .op = OP_ACQUIRE, .result = client->acquired};
    } else if (client->released != RESULT_NONE) {
        *orphan = (struct orphan){
            .since_us = client->released_us, .op = OP_RELEASE, .result = client->released};
    } else {
        return;
    }
    orphan->grant = fact->grant->index;
    orphan->has_come_late = true;
}

static void fact(struct inquiry *inquiry, const struct fact *fact)
{
    if (fact->kind == FACT_GRANT)
        came_late(inquiry, fact);
    if (fact->kind != FACT_ENDED)
        return;
    struct orphan *orphan = orphan_at(inquiry, fact->lock, fact->server);
    const struct grant *grant = fact->grant;
    bool has_expired = grant->ending == ENDING_EXPIRED || grant->ending == ENDING_CUT ||
                       grant->ending == ENDING_CLOCK;
    if (orphan->grant == grant->index && has_expired)
        hit(inquiry, grant, orphan, fact->index, "It stayed until it expired.");
    orphan->grant = NO_INDEX;
}

static void finish(struct inquiry *inquiry, int64_t end_us)
{
    const struct ledger *ledger = inquiry->ledger;
    (void)end_us;
    for (int lock = 0; lock < ledger->head->locks; lock++)
        for (int s = 0; s < ledger->head->servers; s++) {
            const struct grant *grant = &ledger->locks[lock].keys[s].grant;
            const struct orphan *orphan = orphan_at(inquiry, lock, s);
            if (orphan->grant != NO_INDEX && orphan->grant == grant->index &&
                grant->ending == ENDING_NONE)
                hit(inquiry, grant, orphan, ledger->index,
                    "It was still there at the end of the history.");
        }
}

static const char *excused(const struct inquiry *inquiry)
{
    const struct scheme *scheme = inquiry->ledger->scheme;
    if (!scheme || scheme->promises_token)
        return NULL;
    return "the scheme's keys do not say which attempt wrote them";
}

const struct property_rules rules_no_orphan = {
    .make = make, .event = event, .fact = fact, .finish = finish, .excused = excused};
