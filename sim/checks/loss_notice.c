/* loss_notice.c - a client that promises to know is told of the loss by the end of its lease.
 *
 * Lost is a hold whose grant has ended at the server other than by its own release. Told is what
 * ends the belief. A timer that rings at the very end of the lease rings a little late: a twentieth
 * of the lease is forgiven. A client that is paused ("pause", with its length) can be told nothing
 * meanwhile: it is told in time when it is told as the pause ends. The same goes for the time that
 * a timer of its was due and could not ring, for the machine was busy (WAKE, with that time). */
#include "checks/property.h"

#include "base/memory.h"

#include <string.h>

enum { FORGIVEN_PART = 20 };

/* When each client could be told something again, after its last pause. */
static void *make(const struct ledger *ledger)
{
    return memory_new((size_t)ledger->head->clients, sizeof(int64_t));
}

/* When that client must know at the latest. */
static int64_t due_us(const struct monitor *monitor, int number)
{
    const struct ledger *ledger = monitor->ledger;
    const int64_t *awake_us = monitor->state;
    int64_t end_us = ledger->clients[number].own_end_us;
    if (end_us == NEVER_US)
        return NEVER_US;
    return (end_us > awake_us[number] ? end_us : awake_us[number]) +
           ledger->lease_us / FORGIVEN_PART + ledger->error_us;
}

static void event(struct monitor *monitor, const struct event *event)
{
    int64_t *awake_us = monitor->state;
    if (event->client < 0)
        return;
    if (event->kind == EVENT_FAULT && fault_effect(event->fault) == FAULT_PAUSES)
        awake_us[event->client] = event->time_us + event->amount_us;
    /* A timer that the scheme had set for later than that is no excuse. */
    if (event->kind == EVENT_WAKE && event->amount_us > 0 &&
        event->time_us - event->amount_us <= due_us(monitor, event->client))
        awake_us[event->client] = event->time_us;
}

/* The grant whose end lost the lock; NULL: it is not lost. */
static const struct grant *find_loss(const struct ledger *ledger, int client)
{
    int owned = 0;
    const struct grant *lost = NULL;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = ledger_grant(ledger, client, s);
        if (grant->index != NO_INDEX && grant->ending == ENDING_NONE)
            owned++;
        else if (grant->index != NO_INDEX && !lost)
            lost = grant;
    }
    return owned < ledger->quorum ? lost : NULL;
}

/* Also what time alone has ended, and nobody has looked at yet. */
static bool has_run_out(const struct ledger *ledger, int client, int64_t time_us)
{
    int running = 0;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct ledger_key *key = &ledger->locks[ledger->clients[client].lock].keys[s];
        const struct grant *grant = ledger_grant(ledger, client, s);
        running += grant == &key->grant && grant->index != NO_INDEX && time_us <= key->latest_us;
    }
    return running < ledger->quorum;
}

static void judge(struct monitor *monitor, int number, int64_t told_us, int64_t index, bool is_told)
{
    const struct ledger *ledger = monitor->ledger;
    const struct ledger_client *client = &ledger->clients[number];
    if (client->is_inferred || told_us <= due_us(monitor, number))
        return;
    const struct grant *lost = find_loss(ledger, number);
    if (!lost && !has_run_out(ledger, number, told_us))
        return;
    struct finding *finding = &monitor->finding;
    if (!finding_hit(finding, CAUSE_NO_NOTICE, index))
        return;
    const char *name = client_name(ledger, number);
    finding_say(finding, "%s was granted the lock at %s.", name, MS(client->held_us));
    finding_say(finding, "Its own lease ended at %s.", MS(client->own_end_us));
    if (lost)
        finding_say(finding, "Its lock was gone at the server at %s.", MS(lost->ended_us));
    else
        finding_say(finding, "Its lock had run out at the server by %s.", MS(told_us));
    finding_say(finding, "%s %s %s.", name,
                is_told ? "believed to hold it until" : "still believed to hold it at",
                MS(told_us));
    finding_say(finding, "No notice to %s, which the scheme promises.", name);
}

static void fact(struct monitor *monitor, const struct fact *fact)
{
    if (fact->kind == FACT_HOLD_ENDED)
        judge(monitor, fact->client, fact->time_us, fact->index, true);
}

static void finish(struct monitor *monitor, int64_t end_us)
{
    const struct ledger *ledger = monitor->ledger;
    for (int i = 0; i < ledger->head->clients; i++)
        if (ledger->clients[i].is_holding)
            judge(monitor, i, end_us, ledger->index, false);
}

static const char *excused(const struct monitor *monitor)
{
    if (ledger_promises(monitor->ledger, PROMISE_NOTICE))
        return ledger_untold(monitor->ledger);
    return "the scheme does not promise to tell its holder of a loss";
}

const struct property_rules rules_loss_notice = {.make = make,
                                                 .event = event,
                                                 .fact = fact,
                                                 .finish = finish,
                                                 .excused = excused,
                                                 .is_about_grants = true};
