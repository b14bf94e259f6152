/* ledger_left.c - see ledger.h: what a client has at the servers, and believes not to have; and
 * what it was told of that. */
#include "checks/ledger_parts.h"

/* Of a foreign library nobody knows what befell its messages; but an acquire that was cancelled is
 * one of a run in which that is known. Late is what takes a lease. */
static bool is_smooth(const struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    return (ledger->scheme || client->cancelled_us != NEVER_US) && !client->is_struck &&
           event->time_us - client->called_us < ledger->lease_us;
}

bool ledger_may_be_gone(const struct ledger *ledger, const struct ledger_key *key, int64_t time_us)
{
    return key->expire_us != NEVER_US && time_us + ledger->error_us >= key->expire_us;
}

bool ledger_came_behind(const struct ledger_client *client, enum operation op, int server,
                        const struct grant *grant)
{
    const int64_t index = grant->is_restored ? grant->restored_index : grant->index;
    if (op != OP_ACQUIRE && grant_is_beside_the_point(client, grant, server))
        return true;
    if (op == OP_RELEASE)
        return index > client->release_index;
    return grant->is_copied || (client->refused >> server & 1 && !grant->is_asked_anew);
}

void ledger_note_asked(struct ledger_client *client, const struct event *event)
{
    client->sent_us = client->asked_us[event->server] = event->time_us;
    if (event->op != OP_ACQUIRE || event->attempt != client->attempt)
        return;
    if (client->on_way[event->server]++ == 0)
        client->asked_anew |= client->refused & 1u << event->server;
}

void ledger_note_sent(struct ledger *ledger, const struct event *event)
{
    struct grant *grant = &ledger->locks[event->lock].keys[event->server].grant;
    if (grant_is_own(grant, event) && grant->unanswered < INT16_MAX)
        grant->unanswered++;
}

static void note_heard(struct grant *grant, const struct event *event)
{
    if (!grant_is_own(grant, event))
        return;
    if (!event->opaque && command_is_same(&grant->sent.command, &event->command))
        grant->is_heard = true;
    else if (grant->unanswered > 0)
        grant->unanswered--;
}

void ledger_note_heard(struct ledger *ledger, const struct event *event)
{
    struct ledger_key *key = &ledger->locks[event->lock].keys[event->server];
    if (!event_is_on(event, KEY_LOCK) || event->op == OP_EXTEND || event->lane == LANE_RENEW)
        return;
    note_heard(&key->grant, event);
    note_heard(&key->again, event);
}

bool ledger_is_unheard(const struct ledger *ledger, const struct grant *grant)
{
    return ledger->scheme && ledger->has_hears && (!grant->is_heard || grant->unanswered > 0);
}

bool ledger_must_refuse(const struct ledger *ledger, const struct grant *grant, int64_t told_us)
{
    const bool is_seen = !ledger->scheme && grant->asked_us != NEVER_US;
    return ledger->has_lease && grant->lease_us != NEVER_US &&
           told_us + ledger->error_us >=
               ledger_lease_end_us(is_seen ? grant->asked_us
                                           : ledger->clients[grant->client].call_us,
                                   grant->lease_us);
}

/* It has entered the lock more often than it has released it. A release without an answer may be
 * one of those, or not. */
static bool has_it_yet(struct grant *grant, const struct event *event)
{
    if (event->op != OP_RELEASE || event->result == RESULT_NOT_MINE || grant->entries == 0)
        return false;
    grant->entries -= event->result == RESULT_RELEASED;
    return true;
}

void ledger_leave(struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    for (int s = 0; s < ledger->head->servers; s++) {
        struct ledger_key *key = &ledger->locks[client->lock].keys[s];
        struct grant *grant = &key->grant;
        if (grant->ending != ENDING_NONE || !grant_is_of(grant, event->client, event->attempt) ||
            ledger_may_be_gone(ledger, key, event->time_us) || has_it_yet(grant, event))
            continue;
        grant->left =
            (struct left){.is_left = true,
                          .has_come_late = ledger_came_behind(client, event->op, s, grant),
                          .had_to_refuse = event->op == OP_ACQUIRE && !ledger->scheme &&
                                           ledger_must_refuse(ledger, grant, event->time_us),
                          .op = event->op,
                          .result = event->result,
                          .since_us = event->time_us,
                          .was_smooth = is_smooth(ledger, event),
                          .cancelled_us = client->cancelled_us};
    }
}

/* A request that comes when its attempt is over: when its acquire has failed, or its release is
 * done. */
struct left ledger_came_late(const struct ledger *ledger, const struct grant *grant, int lock)
{
    const struct ledger_client *client = &ledger->clients[grant->client];
    struct left left = {.is_left = true, .has_come_late = true};
    if (client->attempt != grant->attempt || client->lock != lock) {
        left.result = RESULT_FAILED;
        left.since_us = grant->time_us;
    } else if (client->is_dead || client->is_acquiring || client->acquired == RESULT_NONE) {
        left.is_left = false;
    } else if (client->acquired != RESULT_GRANTED) {
        left.result = client->acquired;
        left.since_us = client->acquired_us;
    } else {
        left.is_left = client->released != RESULT_NONE;
        left.op = OP_RELEASE;
        left.result = client->released;
        left.since_us = client->released_us;
    }
    return left;
}

void ledger_note_none(struct ledger_client *client, const struct event *event)
{
    if (event->op == OP_ACCESS)
        return;
    switch (event->result) {
    case RESULT_REFUSED:
    case RESULT_RELEASED:
    case RESULT_NOT_MINE:
        client->none = (struct told_none){.told = event->result, .time_us = event->time_us};
        break;
    case RESULT_GRANTED:
    case RESULT_DONE:
        client->none.told = RESULT_NONE;
        break;
    default:
        break;
    }
}

void ledger_note_unanswered(struct ledger_client *client, const struct event *event)
{
    if (event->is_inferred)
        client->unanswered +=
            (event->op == OP_ACQUIRE && client->is_acquiring) + client->is_releasing;
}

void ledger_release_called(struct ledger_client *client, const struct event *event)
{
    const bool was_answered = client->released == RESULT_RELEASED ||
                              client->released == RESULT_NOT_MINE ||
                              client->released == RESULT_UNSUPPORTED;
    client->is_release_owed |= client->release_index > client->call_index && !was_answered;
    client->is_releasing = true;
    client->release_attempt = event->attempt;
    client->release_index = event->index;
    client->release_found = client->release_met = 0;
    client->release_gave = client->release_missed = 0;
    client->had_none = client->none;
}
