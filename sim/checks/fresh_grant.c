/* fresh_grant.c - "granted" is only reported with lease left.
 *
 * The lease counts from the call, the report is the return: what lies between is the client's to
 * check. */
#include "checks/property.h"

static void fact(struct monitor *monitor, const struct fact *fact)
{
    const struct ledger *ledger = monitor->ledger;
    if (fact->kind != FACT_HOLD || !ledger->clients[fact->client].is_late)
        return;
    struct finding *finding = &monitor->finding;
    if (!finding_hit(finding, CAUSE_LATE_GRANT, fact->index))
        return;
    const struct ledger_client *client = &ledger->clients[fact->client];
    const char *name = client_name(ledger, fact->client);
    finding_say(finding, "%s asked for the lock at %s, for %s: its lease ends at %s.", name,
                MS(client->own_end_us - ledger->lease_us), MS(ledger->lease_us),
                MS(client->own_end_us));
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = ledger_grant(ledger, fact->client, s);
        if (grant->index != NO_INDEX)
            finding_say(finding, "Server %d executed %s at %s.", s + 1, SENT(&grant->sent),
                        MS(grant->time_us));
    }
    finding_say(finding, "%s was told \"granted\" at %s, %s after the end of that lease.", name,
                MS(client->held_us), MS(client->held_us - client->own_end_us));
    finding_say(finding, "Late grant in %s: the scheme must refuse it.", name);
}

static const char *excused(const struct monitor *monitor)
{
    const struct ledger *ledger = monitor->ledger;
    return ledger->has_lease ? ledger_untold(ledger)
                             : "the scheme's locks have no end: none can be late";
}

const struct property_rules rules_fresh_grant = {
    .fact = fact, .excused = excused, .is_about_grants = true};
