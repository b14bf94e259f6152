/* fresh_grant.c - "granted" is only reported with lease left.
 *
 * The lease counts from the call, the report is the return: what lies between is the client's to
 * check. But for the time that timers of its were due and could not ring, or its answer could not
 * come, for the machine was busy, or picklock held up (WAKE, with that time): who would have been
 * told in time without that is nobody's late grant, and whether the scheme looks at its clock is
 * not known. */
#include "base/memory.h"
#include "checks/property.h"

#include <stdio.h>

enum { SEEN_LATE_US = 1000 };

struct fresh_grant {
    bool has_left;                     /* it says of one how much of its lease was left */
    char unproved[WITNESS_LINE_BYTES]; /* the first that may be late, or of which it is not said */
};

static void *make(const struct ledger *ledger)
{
    (void)ledger;
    return memory_new(1, sizeof(struct fresh_grant));
}

/* It may have asked long after its call, and nobody saw when; or this machine was late itself. */
static void doubt(struct monitor *monitor, const struct ledger_client *client, const char *name)
{
    struct fresh_grant *self = monitor->state;
    if (self->unproved[0])
        return;
    if (client->held_us - monitor->ledger->error_us - client->rang_late_us < client->own_end_us &&
        client->rang_late_us > 0)
        (void)snprintf(self->unproved, sizeof self->unproved,
                       "%s called at %s, and was told \"granted\" at %s, when its lease was over: "
                       "picklock itself, or its proxy, was held up for %s meanwhile, which is "
                       "the machine's delay, not the scheme's",
                       name, MS(client->call_us), MS(client->held_us), MS(client->rang_late_us));
    else
        (void)snprintf(self->unproved, sizeof self->unproved,
                       "%s called at %s, and was told \"granted\" at %s, when a lease was over: "
                       "nobody saw when what won the lock was sent, from which it counts",
                       name, MS(client->call_us), MS(client->held_us));
}

static void fact(struct monitor *monitor, const struct fact *fact)
{
    const struct ledger *ledger = monitor->ledger;
    const struct ledger_client *client = &ledger->clients[fact->client];
    if (fact->kind != FACT_HOLD || (!client->is_late && !client->may_be_late))
        return;
    struct finding *finding = &monitor->finding;
    const char *name = client_name(ledger, fact->client);
    if (client->may_be_late)
        doubt(monitor, client, name);
    if (!client->is_late || !finding_hit(finding, CAUSE_LATE_GRANT, fact->index))
        return;
    const int64_t lease_us = ledger_lease_us(ledger, fact->client);
    const int64_t asked_us = client->own_end_us - lease_us;
    const bool is_seen = asked_us == client->call_us || client->sent_us >= client->call_us;
    finding_say(finding, "%s asked for the lock %s %s, for %s: its lease ends at %s.", name,
                is_seen ? "at" : "by", MS(asked_us), MS(lease_us), MS(client->own_end_us));
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = ledger_grant(ledger, fact->client, s);
        if (grant->index == NO_INDEX)
            continue;
        if (grant->time_us - grant->from_us < SEEN_LATE_US)
            finding_say(finding, "Server %d executed %s at %s.", s + 1, SENT(&grant->sent),
                        MS(grant->time_us));
        else
            finding_say(finding, "Server %d executed %s between %s and %s.", s + 1,
                        SENT(&grant->sent), MS(grant->from_us), MS(grant->time_us));
    }
    finding_say(finding, "%s was told \"granted\" at %s, %s after the end of that lease.", name,
                MS(client->held_us), MS(client->held_us - client->own_end_us));
    finding_say_clock(finding, ledger, fact->client);
    if (client->rang_late_us > 0)
        finding_say(
            finding,
            "Of that picklock itself, or its proxy, was held up for %s: without it, it would "
            "have come too late, too.",
            MS(client->rang_late_us));
    finding_say(finding, "Late grant in %s: the scheme must refuse it.", name);
}

/* --- on the wire --- */

/* Of grants of which nobody was told but over the wire: whether what is answered too late is taken
 * for a lock, only the client knows. */
static void event(struct monitor *monitor, const struct event *event)
{
    struct fresh_grant *self = monitor->state;
    if (event->kind != EVENT_RETURN || event->op != OP_ACQUIRE || !event->is_inferred ||
        event->result != RESULT_GRANTED)
        return;
    self->has_left |= event->amount_us != 0;
    if (event->amount_us > 0 || self->unproved[0])
        return;
    const char *name = client_name(monitor->ledger, event->client);
    if (event->amount_us == 0)
        (void)snprintf(self->unproved, sizeof self->unproved,
                       "how much of its lease was left when %s was told \"granted\" at %s is not "
                       "said",
                       name, MS(event->time_us));
    else
        (void)snprintf(self->unproved, sizeof self->unproved,
                       "%s was told \"granted\" at %s, %s after the end of its own lease, which "
                       "counts from its request: whether it refused so late a grant nobody saw",
                       name, MS(event->time_us), MS(-event->amount_us));
}

static const char *unproved(const struct monitor *monitor)
{
    const struct fresh_grant *self = monitor->state;
    return self->unproved[0] ? self->unproved : NULL;
}

static const char *excused(const struct monitor *monitor)
{
    const struct ledger *ledger = monitor->ledger;
    const struct fresh_grant *self = monitor->state;
    if (!ledger->has_lease)
        return "the scheme's locks have no end: none can be late";
    return self->has_left ? NULL : ledger_untold(ledger);
}

const struct property_rules rules_fresh_grant = {.make = make,
                                                 .event = event,
                                                 .fact = fact,
                                                 .excused = excused,
                                                 .unproved = unproved,
                                                 .is_about_grants = true};
