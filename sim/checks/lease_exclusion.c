/* lease_exclusion.c - no two holds overlap when each is cut at the end of its own lease.
 *
 * What this finds cannot be explained by an overrun. Two cut holds can come to overlap when one
 * begins, and when a renewal brings one back that had been cut. */
#include "checks/overlap.h"

static bool is_within(const struct ledger *ledger, int client, int64_t time_us)
{
    int64_t end_us = ledger->clients[client].own_end_us;
    return end_us == NEVER_US || time_us + ledger->error_us < end_us;
}

static void fact(struct monitor *monitor, const struct fact *fact)
{
    const struct ledger *ledger = monitor->ledger;
    if (fact->kind != FACT_HOLD && fact->kind != FACT_RENEWED)
        return;
    if (fact->kind == FACT_RENEWED && fact->time_us + ledger->error_us < fact->before_us)
        return; /* it had not been cut: nothing new */
    if (!is_within(ledger, fact->client, fact->time_us))
        return;
    int other = ledger->locks[fact->lock].first_holder;
    for (; other != NOBODY; other = ledger->clients[other].next) {
        if (other == fact->client || !is_within(ledger, other, fact->time_us))
            continue;
        struct pair pair = pair_judge(ledger, fact->client, other);
        const char *excuse = pair_excuse(ledger, &pair);
        if (excuse) {
            monitor->excuse = excuse;
            continue;
        }
        if (pair.cause == CAUSE_OVERRUN && !ledger->scheme) { /* never within a lease */
            monitor->doubt = "One of two leases was over, and nobody saw when the request left "
                             "from which it counts";
            continue;
        }
        overlap_found(monitor, &pair, fact->index);
    }
}

const struct property_rules rules_lease_exclusion = {
    .make = overlap_make, .event = overlap_event, .fact = fact, .is_about_two = true};
