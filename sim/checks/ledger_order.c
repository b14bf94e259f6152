/* ledger_order.c - see ledger.h: are a client's calls whole, and in order? It does one thing after
 * the other, and touches what the lock guards while it has it. Else a line is missing or was
 * changed, or it does not keep to its lock: then the history proves nothing, and blames nobody.
 *
 * What was refused, or not answered, may be released all the same: many a program does. Extensions
 * go on beside the rest. */
#include "checks/finding.h"
#include "checks/ledger_parts.h"

#include <stdio.h>

static void note_two_at_once(struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    const bool asks_for_more =
        event->op == OP_ACQUIRE && client->is_holding && client->lock != event->lock;
    const bool goes_back = event->op != OP_ACQUIRE && event->attempt != client->attempt &&
                           event->attempt <= client->last_attempt;
    if (event->is_inferred || (!asks_for_more && !goes_back))
        return;
    ledger->has_two_at_once = true;
    if (ledger->strange[0])
        return;
    (void)snprintf(ledger->strange, sizeof ledger->strange,
                   asks_for_more ? "%s asked for another lock at %s while it had one: who has two "
                                   "locks at once is two clients here"
                                 : "%s went back at %s to an attempt before its last: who has two "
                                   "locks at once is two clients here",
                   client_name(ledger, event->client), MS(event->time_us));
}

/* Only the first is told. */
static void note_strange(struct ledger *ledger, const struct event *event, const char *what,
                         const char *why)
{
    if (!ledger->strange[0])
        (void)snprintf(ledger->strange, sizeof ledger->strange, "%s's %s of attempt %d at %s: %s",
                       client_name(ledger, event->client), what, event->attempt, MS(event->time_us),
                       why);
}

void ledger_note_missing(struct ledger *ledger, const struct event *event, const char *what)
{
    ledger->lacks_calls = true;
    note_strange(ledger, event, what, "its call is not in the history");
}

static void note_unreturned(struct ledger *ledger, const struct event *event, enum operation open)
{
    char why[STRANGE_BYTES];
    ledger->lacks_returns = true;
    (void)snprintf(why, sizeof why, "how its %s before ended is not in the history",
                   operation_name(open));
    note_strange(ledger, event, operation_name(event->op), why);
}

/* Whose lines are missing believed so to hold it longer, and may have been told otherwise. */
static void note_unended(struct ledger *ledger, const struct event *event)
{
    ledger->lacks_calls = true;
    note_strange(ledger, event, operation_name(event->op),
                 "how its hold before ended is not in the history");
}

/* By whatever attempt. */
static bool has_lock(const struct ledger_client *client, int lock)
{
    return (client->is_holding && client->lock == lock) ||
           (client->beside && client->beside->is_holding && client->beside->lock == lock);
}

static void note_outside(struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    char why[STRANGE_BYTES];
    ledger->lacks_calls = true; /* or returns, of which some were changed: nothing is proved */
    if (client->attempt && client->lock != event->lock)
        (void)snprintf(why, sizeof why, "it had asked for another lock");
    else if (client->acquired == RESULT_GRANTED)
        (void)snprintf(why, sizeof why, "its hold was over, as it knew");
    else if (client->acquired == RESULT_NONE)
        (void)snprintf(why, sizeof why, "its call of acquire is not in the history");
    else
        (void)snprintf(why, sizeof why, "its acquire had returned \"%s\", not \"granted\"",
                       result_name(client->acquired));
    note_strange(ledger, event, "access", why);
}

/* Ours does nothing before it was answered, or died, and releases what it holds. */
static bool is_ours(const struct ledger *ledger)
{
    return ledger->scheme && ledger->head->has_all_commands;
}

bool ledger_lacks_access(const struct ledger *ledger, const struct event *event)
{
    return event->op == OP_ACCESS && !event->is_inferred &&
           !ledger->clients[event->client].accesses;
}

bool ledger_lacks_call(const struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    if (ledger->has_inferred)
        return false;
    if (event->op == OP_RELEASE)
        return event->attempt > client->last_release;
    return event->op == OP_EXTEND && event->opaque && event->lane != LANE_RENEW &&
           event->attempt > client->last_extend;
}

static void note_called(struct ledger_client *client, const struct event *event)
{
    int *last = event->op == OP_RELEASE  ? &client->last_release
                : event->op == OP_EXTEND ? &client->last_extend
                                         : NULL;
    if (last && *last < event->attempt)
        *last = event->attempt;
}

void ledger_note_order(struct ledger *ledger, const struct event *event)
{
    struct ledger_client *client = &ledger->clients[event->client];
    note_called(client, event);
    note_two_at_once(ledger, event);
    if (event->is_inferred || event->op == OP_EXTEND)
        return;
    const bool is_early = event->op != OP_ACQUIRE && event->attempt == client->attempt;
    if (client->is_acquiring && (is_early || is_ours(ledger)))
        note_unreturned(ledger, event, OP_ACQUIRE);
    else if (client->is_holding && event->op == OP_ACQUIRE && is_ours(ledger))
        note_unended(ledger, event);
    else if (client->is_releasing && is_ours(ledger))
        note_unreturned(ledger, event, OP_RELEASE);
    else if (client->accesses && is_ours(ledger))
        note_unreturned(ledger, event, OP_ACCESS);
    else if (event->op == OP_ACCESS && !has_lock(client, event->lock))
        note_outside(ledger, event);
    client->accesses += event->op == OP_ACCESS;
}
