/* ledger_lease.c - see ledger.h: the own lease of who was granted a lock: from when it counts, and
 * whether it was over when its client was told. */
#include "checks/ledger_parts.h"

/* Did the client itself take the lock back that it had got? Then it is not what it was granted. */
static bool was_undone(const struct grant *grant, int number)
{
    return (grant->ending == ENDING_DELETED || grant->ending == ENDING_TAKEN) &&
           grant->by.client == number;
}

static int64_t asked_us(const struct grant *grant)
{
    return grant->asked_us;
}

static int64_t executed_us(const struct grant *grant)
{
    return grant->from_us;
}

bool ledger_is_asked_again(const struct ledger *ledger, int client, int server,
                           const struct grant *grant)
{
    const int64_t last_us = ledger->clients[client].asked_us[server];
    return last_us != NEVER_US && grant->asked_us != NEVER_US && last_us > grant->asked_us;
}

/* Servers that have granted it the lock in another round than the last: they were asked again
 * since, or refused it because of that; as bits, and only where the others are enough without them.
 */
static unsigned of_other_rounds(const struct ledger *ledger, int number)
{
    unsigned earlier = ledger->clients[number].refused_itself;
    int others = 0;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = ledger_grant(ledger, number, s);
        if (ledger_is_asked_again(ledger, number, s, grant))
            earlier |= 1u << s;
        others += grant->index != NO_INDEX && grant->ending == ENDING_NONE && !(earlier >> s & 1);
    }
    return others >= ledger->quorum ? earlier : 0;
}

/* Of what won the lock, whether that key is still there or not. NEVER_US: it is not known. */
static int64_t when_won_us(const struct ledger *ledger, int number,
                           int64_t (*when_us)(const struct grant *grant))
{
    const unsigned skipped = of_other_rounds(ledger, number);
    int64_t alive_us = NEVER_US, ended_us = INT64_MIN;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = ledger_grant(ledger, number, s);
        if (grant->index == NO_INDEX || when_us(grant) == NEVER_US || skipped >> s & 1)
            continue;
        if (grant->ending == ENDING_NONE && when_us(grant) < alive_us)
            alive_us = when_us(grant);
        else if (!was_undone(grant, number) && when_us(grant) > ended_us)
            ended_us = when_us(grant);
    }
    return alive_us == NEVER_US && ended_us != INT64_MIN ? ended_us : alive_us;
}

/* "The lease counts from the request sent": from the call. Of a foreign library the call may have
 * waited long before it asked: there it counts from the request that won; and where none did, from
 * the last one. */
static int64_t lease_starts_us(const struct ledger *ledger, int number)
{
    const struct ledger_client *client = &ledger->clients[number];
    const int64_t won_us = ledger->scheme ? NEVER_US : when_won_us(ledger, number, asked_us);
    if (won_us != NEVER_US)
        return won_us;
    return ledger->scheme || client->sent_us < client->call_us ? client->call_us : client->sent_us;
}

/* Not later than that. Where nobody saw its requests leave, the one that won did so at any time
 * before it was executed. */
static int64_t lease_starts_by_us(const struct ledger *ledger, int number)
{
    const struct ledger_client *client = &ledger->clients[number];
    const int64_t starts_us = lease_starts_us(ledger, number);
    if (ledger->scheme || client->sent_us >= client->call_us)
        return starts_us;
    const int64_t won_us = when_won_us(ledger, number, executed_us);
    return won_us == NEVER_US || won_us < starts_us ? starts_us : won_us;
}

void ledger_note_lease(const struct ledger *ledger, const struct event *event)
{
    struct ledger_client *client = &ledger->clients[event->client];
    client->own_end_us = NEVER_US;
    client->is_late = client->may_be_late = false;
    if (!ledger->scheme)
        client->won_us = lease_starts_us(ledger, event->client);
    if (!ledger->has_lease)
        return;
    const int64_t lease_us = ledger_lease_us(ledger, event->client);
    const int64_t told_us = event->time_us - ledger->error_us;
    client->own_end_us = ledger_lease_end_us(lease_starts_us(ledger, event->client), lease_us);
    /* Of an inferred hold nobody knows whether the client took so late a grant for one. */
    if (event->is_inferred || told_us < client->own_end_us)
        return;
    client->own_end_us = ledger_lease_end_us(lease_starts_by_us(ledger, event->client), lease_us);
    client->is_late = told_us - client->rang_late_us >= client->own_end_us;
    client->may_be_late = !client->is_late;
}
