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
    const struct deed *deed = &grant->by;
    if (deed->client == grant->client || deed->op == OP_ACQUIRE)
        return;
    if (ledger->has_stamps && deed->time_us >= grant->until_us + ledger->unit_us)
        return;
    monitor->counters->foreign_releases++;
    struct finding *finding = &monitor->finding;
    if (!finding_hit(finding, CAUSE_UNLOCK_BUG, fact->index))
        return;
    char words[WORDS_BYTES], trigger[WORDS_BYTES];
    snprintf(words, sizeof words, "removed %s's lock", client_name(ledger, grant->client));
    grant_explain(ledger, grant, finding);
    deed_explain(ledger, deed, words, finding);
    deed_trigger(ledger, deed, trigger);
    finding_say(finding, "Unlock bug in %s%s%s.", client_name(ledger, deed->client),
                *trigger ? ", triggered by " : "", trigger);
}

const struct property_rules rules_release_own = {.fact = fact};
