/* ledger_again.c - see ledger.h: clients that ask again, in another attempt, for the lock that they
 * hold.
 *
 * A hold ends when its client begins to release it, or learns that it has lost it. Asking again is
 * neither: who is refused, or not answered, holds what it held. Who is granted it holds it by the
 * new attempt. */
#include "checks/ledger_parts.h"

#include "base/memory.h"
#include <stdlib.h>

void ledger_client_init(struct ledger_client *client, int servers)
{
    client->next = client->prev = NOBODY;
    client->held_index = client->owned_index = client->disowned_index = NO_INDEX;
    client->previous_owned_index = client->swap.index = NO_INDEX;
    client->lease_us = NEVER_US;
    client->grants = memory_new((size_t)servers, sizeof *client->grants);
    client->own_keys = memory_new((size_t)servers, sizeof *client->own_keys);
    client->renewals = memory_new((size_t)servers, sizeof *client->renewals);
    client->asked_us = memory_new((size_t)servers, sizeof *client->asked_us);
    client->on_way = memory_new((size_t)servers, sizeof *client->on_way);
    for (int s = 0; s < servers; s++) {
        client->grants[s].index = NO_INDEX;
        client->renewals[s] = NEVER_US;
    }
}

static void free_lists(struct ledger_client *client)
{
    free(client->grants);
    free(client->own_keys);
    free(client->renewals);
    free(client->asked_us);
    free(client->on_way);
}

void ledger_client_close(struct ledger_client *client)
{
    if (client->beside)
        free_lists(client->beside);
    free(client->beside);
    free_lists(client);
}

static void keep_clock(struct ledger_client *to, const struct ledger_client *from)
{
    to->skew_us = from->skew_us;
    to->gains_us = from->gains_us;
    to->rate_since_us = from->rate_since_us;
    to->is_clock_struck = from->is_clock_struck;
}

void ledger_copy_clock(struct ledger *ledger, int client, int other)
{
    keep_clock(&ledger->clients[client], &ledger->clients[other]);
}

/* What is the client's, whatever attempt it is in. */
static void keep_own(struct ledger_client *to, const struct ledger_client *from)
{
    to->next = from->next;
    to->prev = from->prev;
    to->is_dead = from->is_dead;
    keep_clock(to, from);
    to->repeated = from->repeated;
    to->has_heard = from->has_heard;
    to->asked = from->asked;
    to->heard = from->heard;
    to->former_attempt = from->former_attempt;
    to->reentered = from->reentered;
    to->last_attempt = from->last_attempt;
    to->unanswered = from->unanswered;
    to->extends_called = from->extends_called;
    to->last_release = from->last_release;
    to->last_extend = from->last_extend;
}

static void change_places(struct ledger_client *place)
{
    struct ledger_client *beside = place->beside;
    const struct ledger_client was = *place;
    *place = *beside;
    *beside = was;
    place->beside = beside;
    beside->beside = NULL;
    keep_own(place, beside);
}

static bool is_at(const struct ledger_client *record, int attempt, int lock)
{
    return record->attempt == attempt && record->lock == lock;
}

struct ledger_client *ledger_record(struct ledger *ledger, int client, int attempt, int lock)
{
    struct ledger_client *place = &ledger->clients[client];
    if (is_at(place, attempt, lock))
        return place;
    return place->beside && is_at(place->beside, attempt, lock) ? place->beside : NULL;
}

bool ledger_is_of_attempt(const struct event *event)
{
    switch (event->kind) {
    case EVENT_CALL:
    case EVENT_SEND:
    case EVENT_EXECUTE:
    case EVENT_HEAR:
    case EVENT_RETURN:
        return true;
    case EVENT_FAULT:
        return event->server >= 0 || fault_effect(event->fault) == FAULT_CANCELS;
    default:
        return false;
    }
}

void ledger_turn_to(struct ledger *ledger, int client, int attempt)
{
    struct ledger_client *place = &ledger->clients[client];
    if (place->beside && place->attempt != attempt && place->beside->attempt == attempt)
        change_places(place);
}

void ledger_turn(struct ledger *ledger, const struct event *event)
{
    if (event->client < 0)
        return;
    if (ledger_is_of_attempt(event))
        ledger_turn_to(ledger, event->client, event->attempt);
}

void ledger_turn_back(struct ledger *ledger, int client)
{
    if (client >= 0 && ledger->clients[client].is_beside)
        change_places(&ledger->clients[client]);
}

void ledger_ask_again(struct ledger *ledger, int client)
{
    struct ledger_client *place = &ledger->clients[client];
    if (!place->beside) {
        place->beside = memory_new(1, sizeof *place->beside);
        ledger_client_init(place->beside, ledger->head->servers);
    }
    place->beside->is_holding = false;
    change_places(place);
    place->is_beside = true;
}

void ledger_forget_former(struct ledger *ledger, int client)
{
    struct ledger_client *place = &ledger->clients[client];
    if (!place->is_beside)
        return;
    place->is_beside = false;
    place->beside->attempt = 0;
}

void ledger_end_again(struct ledger *ledger, int lock, int server)
{
    const struct ledger_key *key = &ledger->locks[lock].keys[server];
    const struct grant *grant = &key->grant;
    if (!key->again.attempt || key->again.client != grant->client ||
        key->again.index <= grant->index)
        return;
    struct ledger_client *asker =
        ledger_record(ledger, key->again.client, key->again.attempt, lock);
    if (!asker || !asker->is_acquiring)
        return;
    asker->grants[server] = key->again;
    asker->grants[server].ending = grant->ending;
    asker->grants[server].ended_us = grant->ended_us;
    asker->grants[server].ended_index = grant->ended_index;
    asker->grants[server].by = grant->by;
}

static void take_over(struct ledger *ledger, const struct event *event, int server)
{
    struct ledger_client *client = &ledger->clients[event->client];
    struct ledger_key *key = &ledger->locks[client->lock].keys[server];
    const struct grant old = key->grant;
    struct grant won = key->again;
    struct event then = *event;
    then.index = won.index;
    then.time_us = won.time_us;
    key->grant.by = (struct change){.client = event->client,
                                    .attempt = event->attempt,
                                    .op = OP_ACQUIRE,
                                    .sent = won.sent,
                                    .did = DID_OVERWRITTEN,
                                    .wanted = EFFECT_SET,
                                    .time_us = won.time_us,
                                    .index = won.index,
                                    .is_clock_struck = client->is_clock_struck,
                                    .own_end_us = NEVER_US,
                                    .own_ended_by = NOBODY};
    ledger_end(ledger, &then, client->lock, server, ENDING_TAKEN, won.time_us);
    won.is_touched = old.is_touched && old.touch.index > won.index;
    won.touch = old.touch;
    won.is_entered = old.is_entered;
    won.entries = old.entries;
    key->is_present = true;
    key->grant = won;
    client->lease_us = won.lease_us;
    client->owned++;
    if (client->owned == ledger->quorum && client->owned_index == NO_INDEX) {
        client->owned_index = won.index;
        client->owned_us = won.time_us;
    }
    if (client->owned >= ledger->quorum)
        client->disowned_index = NO_INDEX;
    ledger_tell(ledger, FACT_GRANT, event, client->lock, server, event->client, &key->grant);
}

/* What it entered again is gone before it was told so. */
static void note_lost_since(const struct ledger *ledger, struct ledger_client *client, int server)
{
    const struct grant *grant = &client->grants[server];
    if (ledger->quorum > 1 || client->owned_index != NO_INDEX || grant->index == NO_INDEX)
        return;
    client->owned_index = grant->index;
    client->owned_us = grant->time_us;
    client->disowned_index = grant->ended_index;
}

/* What it entered by then it has not heard of: its next release is not the last one. */
static void note_unheard(struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    for (int s = 0; s < ledger->head->servers; s++) {
        struct grant *grant = &ledger->locks[client->lock].keys[s].grant;
        if (client->entered >> s & 1 && grant->client == event->client &&
            grant->ending == ENDING_NONE && grant->attempt != event->attempt)
            grant->is_entered = true;
    }
}

void ledger_judge_again(struct ledger *ledger, const struct event *event)
{
    struct ledger_client *client = &ledger->clients[event->client];
    if (result_outcome(event->result) == OUTCOME_INFO)
        note_unheard(ledger, event);
    if (event->result != RESULT_GRANTED)
        return;
    client->has_entered = client->entered;
    for (int s = 0; s < ledger->head->servers; s++) {
        note_lost_since(ledger, client, s);
        struct ledger_key *key = &ledger->locks[client->lock].keys[s];
        if (!key->is_present || key->grant.ending != ENDING_NONE ||
            key->grant.client != event->client || key->grant.attempt == event->attempt)
            continue;
        key->grant.entries += (client->entered >> s & 1) != 0;
        if (key->again.index > key->grant.index &&
            grant_is_of(&key->again, event->client, event->attempt))
            take_over(ledger, event, s);
    }
}
