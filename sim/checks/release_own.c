/* release_own.c - no release removes another client's lock.
 *
 * Any deleting command outside an acquire. What an acquire deletes is a takeover: mutual-exclusion
 * and lease-exclusion judge it. A dead stamp is nobody's lock. */
#include "checks/cause.h"
#include "checks/property.h"

#include <stdio.h>

enum { WORDS_BYTES = 128 };

static void fact(struct monitor *monitor, const struct fact *fact)
{
    const struct ledger *ledger = monitor->ledger;
    const struct grant *grant = fact->grant;
    if (fact->kind != FACT_ENDED || grant->ending != ENDING_DELETED || grant->client == NOBODY)
        return;
    const struct change *change = &grant->by;
    if (change->client == grant->client || change->op == OP_ACQUIRE)
        return;
    if (ledger->has_stamps && change->time_us >= grant->until_us + ledger->unit_us)
        return;
    monitor->counters->foreign_releases++;
    struct finding *finding = &monitor->finding;
    if (!finding_hit(finding, CAUSE_UNLOCK_BUG, fact->index))
        return;
    char words[WORDS_BYTES], trigger[WORDS_BYTES];
    snprintf(words, sizeof words, "removed %s's lock", client_name(ledger, grant->client));
    grant_explain(ledger, grant, finding);
    change_explain(ledger, change, words, finding);
    change_trigger(ledger, change, trigger);
    finding_say(finding, "Unlock bug in %s%s%s.", client_name(ledger, change->client),
                *trigger ? ", triggered by " : "", trigger);
}

const struct property_rules rules_release_own = {.fact = fact};
