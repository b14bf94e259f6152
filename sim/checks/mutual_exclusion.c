/* mutual_exclusion.c - no two holds overlap in time.
 *
 * An overlap is found when the later of the two is told; the pair is ordered by grant, and its
 * cause says whether that is a bug or an overrun, which every lease without a fence has. */
#include "checks/overlap.h"

static void fact(struct monitor *monitor, const struct fact *fact)
{
    const struct ledger *ledger = monitor->ledger;
    if (fact->kind != FACT_HOLD)
        return;
    int other = ledger->locks[fact->lock].first_holder;
    for (; other != NOBODY; other = ledger->clients[other].next) {
        if (other == fact->client)
            continue;
        struct pair pair = pair_judge(ledger, fact->client, other);
        const char *excuse = pair_excuse(ledger, &pair);
        if (excuse) {
            monitor->excuse = excuse;
            continue;
        }
        monitor->counters->overruns += pair.cause == CAUSE_OVERRUN;
        overlap_found(monitor, &pair, fact->index);
    }
}

const struct property_rules rules_mutual_exclusion = {
    .make = overlap_make, .event = overlap_event, .fact = fact, .is_about_two = true};
