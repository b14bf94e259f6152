/* extend_own.c - nobody lengthens, shortens or overwrites another client's lock.
 *
 * A takeover of a lock that was over by its own time is no such thing. */
#include "checks/cause.h"
#include "checks/property.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_BYTES = 128 };

static void hit(struct monitor *monitor, const struct fact *fact, const struct change *change,
                enum cause cause, const char *verb)
{
    const struct ledger *ledger = monitor->ledger;
    struct finding *finding = &monitor->finding;
    if (!finding_hit(finding, cause, fact->index))
        return;
    char words[WORDS_BYTES];
    snprintf(words, sizeof words, "%s %s's lock", verb, client_name(ledger, fact->grant->client));
    grant_explain(ledger, fact->grant, finding);
    change_explain(ledger, change, words, finding);
    finding_say(finding, "%s in %s.", cause_title(cause), client_name(ledger, change->client));
}

static void fact(struct monitor *monitor, const struct fact *fact)
{
    const struct ledger *ledger = monitor->ledger;
    const struct grant *grant = fact->grant;
    /* Whose nobody knows may be its owner's: always-expires judges what is left. */
    if (fact->kind == FACT_TOUCHED && grant->touch.did == DID_UNEXPIRED &&
        strcmp(client_name(ledger, grant->touch.client), NAME_OF_NOBODY_KNOWN) == 0)
        return;
    if (fact->kind == FACT_TOUCHED) {
        bool is_write = grant->touch.did == DID_OVERWRITTEN;
        hit(monitor, fact, &grant->touch, CAUSE_FOREIGN_EXTEND,
            is_write ? "overwrote" : "changed the expiry of");
        return;
    }
    if (fact->kind != FACT_ENDED || grant->ending != ENDING_TAKEN || grant->client == NOBODY ||
        grant->by.client == grant->client)
        return;
    enum cause cause = ending_cause(ledger, grant);
    if (cause != CAUSE_OVERRUN)
        hit(monitor, fact, &grant->by, cause, "overwrote");
}

const struct property_rules rules_extend_own = {.fact = fact};
