/* no_crash.c - the scheme never trips over a reply that it did not expect. */
#include "checks/property.h"

static void event(struct monitor *monitor, const struct event *event)
{
    const struct ledger *ledger = monitor->ledger;
    if (event->kind != EVENT_RETURN || event->result != RESULT_CRASHED)
        return;
    struct finding *finding = &monitor->finding;
    if (!finding_hit(finding, CAUSE_UNEXPECTED_REPLY, event->index))
        return;
    const struct ledger_client *client = &ledger->clients[event->client];
    const char *name = client_name(ledger, event->client);
    char reply[WITNESS_LINE_BYTES / 2];
    if (client->has_heard)
        finding_say(finding, "%s sent %s and heard %s.", name, SENT(&client->asked),
                    reply_print(&client->heard, reply, sizeof reply));
    finding_say(finding, "%s's code tripped over that at %s, in its %s.", name, MS(event->time_us),
                operation_name(event->op));
    finding_say(finding, "Unexpected reply in %s.", name);
}

const struct property_rules rules_no_crash = {.event = event};
