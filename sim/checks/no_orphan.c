/* no_orphan.c - after a failed acquire or a finished release no key with that token survives.
 *
 * A key is an orphan when its client does not know (any more) that it has it. It is put down only
 * when it stays until it expires, or until the end of the history: a late command of its own may
 * still remove it.
 *
 * A lost, late or repeated message has its price, and the price is a key that stays until its lease
 * ends: nobody's fault. Where nothing has befallen the attempt, the scheme did not give it back. */
#include "checks/cause.h"
#include "checks/property.h"

/* What the key's being there means: whether it is the client's trouble, or everybody's. */
static void conclude(const struct ledger *ledger, const char *name, enum cause cause,
                     struct finding *finding)
{
    if (cause == CAUSE_UNTRUE_ANSWER)
        finding_say(finding, "Untrue answer to %s: that key was its own.", name);
    else if (cause == CAUSE_LOST_GRANT)
        finding_say(finding, "The server had brought that key back.");
    else
        finding_say(finding, "%s of %s: %s meanwhile.", cause_title(cause), name,
                    ledger->quorum > 1 ? "that server grants nobody the lock"
                                       : "nobody can have the lock");
}

static void hit(struct monitor *monitor, const struct grant *grant, int64_t index, const char *fate)
{
    const struct ledger *ledger = monitor->ledger;
    const struct left *left = &grant->left;
    struct finding *finding = &monitor->finding;
    enum cause cause = left_cause(ledger, grant);
    if (!finding_hit(finding, cause, index))
        return;
    const char *name = client_name(ledger, grant->client);
    finding_say(finding, "%s's %s stood in the lock key since %s.", name, SENT(&grant->sent),
                MS(grant->time_us));
    finding_say(finding, "%s's %s returned \"%s\" at %s: %s does not know that it has the lock.",
                name, operation_name(left->op), result_name(left->result), MS(left->since_us),
                name);
    if (left->cancelled_us != NEVER_US && left->is_left && !left->has_come_late)
        finding_say(finding,
                    "Its acquire had been cancelled at %s, and it did not give back what "
                    "the server had granted it.",
                    MS(left->cancelled_us));
    finding_say(finding, "%s", fate);
    if (cause == CAUSE_UNRELEASED)
        finding_say(finding, "None of %s's messages was lost, late or sent twice.", name);
    conclude(ledger, name, cause, finding);
}

static void fact(struct monitor *monitor, const struct fact *fact)
{
    const struct grant *grant = fact->grant;
    if (fact->kind != FACT_ENDED || !grant->left.is_left)
        return;
    bool has_expired = grant->ending == ENDING_EXPIRED || grant->ending == ENDING_CUT ||
                       grant->ending == ENDING_SHORT || grant->ending == ENDING_CLOCK;
    if (has_expired)
        hit(monitor, grant, fact->index, "It stayed until it expired.");
}

static void finish(struct monitor *monitor, int64_t end_us)
{
    const struct ledger *ledger = monitor->ledger;
    (void)end_us;
    for (int lock = 0; lock < ledger->head->locks; lock++)
        for (int s = 0; s < ledger->head->servers; s++) {
            const struct grant *grant = &ledger->locks[lock].keys[s].grant;
            if (grant->index != NO_INDEX && grant->left.is_left && grant->ending == ENDING_NONE)
                hit(monitor, grant, ledger->index, "It was still there at the end of the history.");
        }
}

static const char *excused(const struct monitor *monitor)
{
    if (ledger_promises(monitor->ledger, PROMISE_TOKEN))
        return NULL;
    return "the scheme's keys do not say which attempt wrote them";
}

const struct property_rules rules_no_orphan = {.fact = fact, .finish = finish, .excused = excused};
