/* mutual_exclusion.c - no two holds overlap in time.
 *
 * An overlap is found when the later of the two is told; the pair is ordered by grant, and its
 * cause says whether that is a bug or an overrun, which every lease without a fence has. */
#include "base/memory.h"
#include "checks/cause.h"
#include "checks/property.h"

/* Was an overlap left out? */
static void *make(const struct ledger *ledger)
{
    (void)ledger;
    return memory_new(1, sizeof(bool));
}

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
        if (pair_is_unpromised(ledger, &pair)) {
            *(bool *)monitor->state = true;
            continue;
        }
        monitor->counters->overruns += pair.cause == CAUSE_OVERRUN;
        if (finding_hit(&monitor->finding, pair.cause, fact->index))
            pair_explain(ledger, &pair, &monitor->finding);
    }
}

static const char *excused(const struct monitor *monitor)
{
    const bool *is_unpromised = monitor->state;
    return *is_unpromised && !monitor->finding.count ? pair_unpromised_words : NULL;
}

const struct property_rules rules_mutual_exclusion = {
    .make = make, .fact = fact, .excused = excused, .is_about_two = true};
