/* ledger_client.c - see ledger.h: clients, their calls and what they believe, event by event. The
 * keys are in ledger_key.c. */
#include "checks/ledger_parts.h"

#include <assert.h>

/* --- holds --- */

static void hold_link(struct ledger *ledger, int number)
{
    struct ledger_client *client = &ledger->clients[number];
    struct ledger_lock *lock = &ledger->locks[client->lock];
    client->prev = NOBODY;
    client->next = lock->first_holder;
    if (lock->first_holder != NOBODY)
        ledger->clients[lock->first_holder].prev = number;
    lock->first_holder = number;
    lock->holders++;
    ledger->holders++;
}

static void hold_unlink(struct ledger *ledger, int number)
{
    struct ledger_client *client = &ledger->clients[number];
    struct ledger_lock *lock = &ledger->locks[client->lock];
    if (client->prev != NOBODY)
        ledger->clients[client->prev].next = client->next;
    else
        lock->first_holder = client->next;
    if (client->next != NOBODY)
        ledger->clients[client->next].prev = client->prev;
    lock->holders--;
    ledger->holders--;
}

static void hold_end(struct ledger *ledger, const struct event *event, int number)
{
    struct ledger_client *client = &ledger->clients[number];
    if (!client->is_holding)
        return;
    client->is_holding = false;
    hold_unlink(ledger, number);
    ledger->locks[client->lock].quiet_us = event->time_us;
    ledger_tell(ledger, FACT_HOLD_ENDED, event, client->lock, NOBODY, number, NULL);
}

/* By whatever attempt it is held: it was told twice, asked again for what it holds, or begins to
 * release, and then it goes on in none. */
static void end_belief(struct ledger *ledger, const struct event *event)
{
    ledger_turn_back(ledger, event->client);
    hold_end(ledger, event, event->client);
    ledger_turn(ledger, event);
}

static void hold_begin(struct ledger *ledger, const struct event *event)
{
    struct ledger_client *client = &ledger->clients[event->client];
    struct ledger_lock *lock = &ledger->locks[client->lock];
    end_belief(ledger, event);
    ledger_forget_former(ledger, event->client);
    ledger_note_lease(ledger, event);
    client->is_inferred = event->is_inferred;
    client->is_holding = true;
    client->held_us = event->time_us;
    client->held_index = event->index;
    client->fence = event->fence;
    hold_link(ledger, event->client);
    /* With company the order of grants must be known now. */
    if (lock->holders > 1)
        ledger_settle(ledger, client->lock);
    ledger_tell(ledger, FACT_HOLD, event, client->lock, NOBODY, event->client, NULL);
}

/* An attempt ends that was given the lock and is not told so any more, or a release that has left
 * it: until now it could have been, or have gone. */
static void had_for_nothing(struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    if (client->owned >= ledger->quorum)
        ledger->locks[client->lock].quiet_us = event->time_us;
}

/* --- events --- */

static void attempt_begin(struct ledger *ledger, const struct event *event)
{
    struct ledger_client *client = &ledger->clients[event->client];
    const int previous = client->attempt;
    ledger_note_unanswered(client, event);
    const int64_t previous_owned_index = client->owned_index;
    /* Who asks for what it has knows that it has it. */
    if (client->is_holding)
        client->former_attempt = client->reentered = client->attempt;
    if (client->is_holding && client->lock == event->lock && !event->is_inferred)
        ledger_ask_again(ledger, event->client);
    else
        hold_end(ledger, event, event->client);
    client->previous = previous;
    client->previous_owned_index = previous_owned_index;
    client->lock = event->lock;
    client->attempt = client->last_attempt = event->attempt;
    client->is_acquiring = true;
    client->is_releasing = client->is_dead = client->is_late = client->is_struck = false;
    client->cancelled_us = NEVER_US;
    client->call_us = event->time_us;
    client->call_index = event->index;
    client->answered_us = NEVER_US;
    client->won_us = INT64_MIN;
    client->refused_itself = client->refused = client->refused_unknown = 0;
    client->lost = client->entered = client->asked_anew = 0;
    client->acquired = RESULT_NONE;
    client->held_index = client->owned_index = client->disowned_index = NO_INDEX;
    client->lease_us = NEVER_US;
    client->rang_late_us = 0;
    client->own_end_us =
        ledger->has_lease
            ? ledger_lease_end_us(event->time_us, ledger_lease_us(ledger, event->client))
            : NEVER_US;
    client->fence = client->owned = 0;
    client->has_seen = client->has_heard = client->is_extending = false;
    client->swap.index = NO_INDEX;
    client->sent_us = INT64_MIN;
    client->released = client->none.told = RESULT_NONE;
    client->has_entered = client->is_release_owed = false;
    client->was_free = ledger_is_free(ledger, event->lock, event->time_us);
    for (int s = 0; s < ledger->head->servers; s++) {
        client->grants[s].index = NO_INDEX;
        client->renewals[s] = client->asked_us[s] = NEVER_US;
        client->on_way[s] = 0;
    }
}

static void called(struct ledger *ledger, const struct event *event)
{
    assert(event->client >= 0);
    struct ledger_client *client = &ledger->clients[event->client];
    ledger_note_order(ledger, event);
    ledger->has_inferred |= event->is_inferred;
    client->called_us = event->time_us;
    if (event->op == OP_ACQUIRE) {
        attempt_begin(ledger, event);
    } else if (event->op == OP_RELEASE) {
        end_belief(ledger, event);
        ledger_note_unanswered(client, event);
        ledger_release_called(client, event);
    } else if (event->op == OP_EXTEND) {
        client->extends_called++;
        if (event->is_inferred)
            return;
        client->is_extending = true;
        client->extend_us = NEVER_US;
        client->extended = 0;
        for (int s = 0; s < ledger->head->servers; s++)
            client->renewals[s] = NEVER_US; /* what it asked before, it has been told */
    }
}

static void sent(struct ledger *ledger, const struct event *event)
{
    assert(event->client >= 0 && event->server >= 0);
    struct ledger_client *client = &ledger->clients[event->client];
    ledger->has_sends = true;
    if (!event_is_on(event, KEY_LOCK))
        return;
    if (event->op != OP_EXTEND && event->lane != LANE_RENEW) {
        ledger_note_asked(client, event);
        ledger_note_sent(ledger, event);
        return;
    }
    if (client->renewals[event->server] == NEVER_US)
        client->renewals[event->server] = event->time_us;
    struct grant *grant = &ledger->locks[event->lock].keys[event->server].grant;
    bool believes = client->is_holding && client->attempt == event->attempt;
    if (grant->client == event->client && grant->attempt == event->attempt && !believes)
        grant->is_kept_idly = true;
}

/* Who cleans up after a refusal has been refused before; and where no key was, and none came, none
 * was in the way: it is the second half of something, or failed. */
static bool is_answer(const struct key_effect *effect)
{
    return effect->wanted != EFFECT_DELETE &&
           (effect->before != BEFORE_ABSENT || change_is_any(effect));
}

/* It was refused, and what it asks that server for behind that left it later. Where it is told when
 * that was (sent() above), that counts. */
static void note_refused(struct ledger_client *client, const struct event *event,
                         const struct key_effect *effect)
{
    if (event->op != OP_ACQUIRE || effect->wanted != EFFECT_SET || effect->did != DID_REFUSED)
        return;
    client->asked_anew &= ~(1u << event->server);
    if (client->sent_us < client->call_us)
        client->asked_us[event->server] = event->from_us;
}

static void executed(struct ledger *ledger, const struct event *event)
{
    struct ledger_client *client = &ledger->clients[event->client];
    const struct execution execution = {.event = event, .effect = change_on(event, KEY_LOCK)};
    const bool is_elsewhere = event->op == OP_ACQUIRE && event->attempt > 0 &&
                              event->attempt == client->attempt && event->lock != client->lock;
    if (event->attempt > client->last_attempt || is_elsewhere || ledger_lacks_call(ledger, event))
        ledger_note_missing(ledger, event, "command");
    if (client->attempt == event->attempt && is_answer(&execution.effect))
        client->answered_us = event->from_us;
    ledger_execute(ledger, &execution);
    if (client->attempt != event->attempt)
        return;
    note_refused(client, event, &execution.effect);
    client->on_way[event->server] -= event->op == OP_ACQUIRE && client->on_way[event->server] > 0;
}

static void heard(struct ledger *ledger, const struct event *event)
{
    assert(event->server >= 0);
    assert(event->client >= 0);
    struct ledger_client *client = &ledger->clients[event->client];
    if (event->attempt > client->last_attempt)
        ledger_note_missing(ledger, event, "reply");
    client->has_heard = ledger->has_hears = true;
    ledger_quote(&client->asked, event);
    client->heard = event->reply;
    ledger_note_heard(ledger, event);
    if (event->op == OP_EXTEND || event->lane == LANE_RENEW)
        client->renewals[event->server] = NEVER_US;
}

/* Who asked for its lease anew may count on that from when it is told so: it counts from the
 * sending of the request, as that of an acquire. */
static void extend_returned(struct ledger *ledger, const struct event *event)
{
    struct ledger_client *client = &ledger->clients[event->client];
    const int64_t before_us = client->own_end_us;
    client->is_extending = false;
    if (event->result != RESULT_DONE || !client->is_holding || !ledger->has_lease ||
        client->extend_us == NEVER_US || !ledger_has_extended(ledger, event->client))
        return;
    const int64_t end_us = ledger_lease_end_us(client->extend_us, client->extended_by_us);
    if (ledger->has_leases)
        client->lease_us = client->extended_by_us;
    if (end_us <= before_us && !ledger->has_leases)
        return;
    client->own_end_us = end_us;
    client->is_late = false;
    const struct fact fact = {.kind = FACT_RENEWED,
                              .event = event,
                              .time_us = event->time_us,
                              .index = event->index,
                              .lock = client->lock,
                              .server = NOBODY,
                              .client = event->client,
                              .before_us = before_us};
    ledger->take(ledger->context, &fact);
}

/* A release may be of what its client never acquired. What is inferred from the wire may be
 * answered when its client asks anew already: a reply that is kept from it for a while. */
static bool has_called(struct ledger_client *client, const struct event *event)
{
    bool is_open = true;
    if (event->op == OP_ACQUIRE)
        is_open = event->attempt == client->attempt && client->is_acquiring;
    else if (event->op == OP_RELEASE)
        is_open = event->attempt == client->release_attempt && client->is_releasing;
    else if (event->op == OP_EXTEND)
        return client->extends_called > 0 && client->extends_called--;
    if (is_open || !event->is_inferred || !client->unanswered)
        return is_open;
    client->unanswered--;
    return true;
}

static void returned(struct ledger *ledger, const struct event *event)
{
    assert(event->client >= 0);
    struct ledger_client *client = &ledger->clients[event->client];
    if (!has_called(client, event) || ledger_lacks_access(ledger, event))
        ledger_note_missing(ledger, event, operation_name(event->op));
    ledger->has_told |= !event->is_inferred;
    ledger->has_inferred |= event->is_inferred;
    if (event->op == OP_ACQUIRE && event->attempt == client->attempt) {
        client->is_acquiring = false;
        client->acquired = event->result;
        client->acquired_us = event->time_us;
        ledger_judge_swap(ledger, event);
        ledger_judge_again(ledger, event);
        if (event->result == RESULT_GRANTED)
            hold_begin(ledger, event);
        else
            had_for_nothing(ledger, event);
    } else if (event->op == OP_ACCESS) {
        client->accesses -= client->accesses > 0;
    } else if (event->op == OP_RELEASE && event->attempt == client->attempt) {
        client->is_releasing = false;
        had_for_nothing(ledger, event);
        client->released = event->result;
        client->released_us = event->time_us;
    }
    if (event->attempt != client->attempt)
        return;
    ledger_note_none(client, event);
    if (event->op == OP_EXTEND && client->is_extending)
        extend_returned(ledger, event);
    /* Who is told that it could not extend what is not its own knows that it has lost it. */
    if (event->op == OP_EXTEND && event->result == RESULT_NOT_MINE)
        hold_end(ledger, event, event->client);
    if ((event->op == OP_ACQUIRE || event->op == OP_RELEASE) && event->result != RESULT_GRANTED)
        ledger_leave(ledger, event);
}

/* A dead process holds nothing, and who comes back is another one. */
static void process_ended(struct ledger *ledger, const struct event *event)
{
    struct ledger_client *client = &ledger->clients[event->client];
    hold_end(ledger, event, event->client);
    client->former_attempt = client->attempt;
    client->reentered = 0;
}

static void crashed(struct ledger *ledger, const struct event *event)
{
    struct ledger_client *client = &ledger->clients[event->client];
    if (client->is_acquiring)
        had_for_nothing(ledger, event);
    process_ended(ledger, event);
    client->is_acquiring = client->is_releasing = false;
    client->accesses = 0;
    client->is_dead = true;
}

static void repeated(struct ledger_client *client, const struct event *event, enum repeat how)
{
    const bool is_more = client->repeated.how == how && ledger_is_repeated(client, event);
    const unsigned before = is_more ? client->repeated.servers : 0;
    client->repeated.how = how;
    client->repeated.command = event->command;
    client->repeated.opaque = event->opaque ? *event->opaque : (struct opaque){0};
    client->repeated.attempt = event->attempt;
    client->repeated.servers = before | (event->server >= 0 ? 1u << event->server : 0);
    if (event->server >= 0)
        client->on_way[event->server] += event->op == OP_ACQUIRE;
}

static void struck(struct ledger *ledger, const struct event *event)
{
    ledger_fault(ledger, event);
    for (int i = 0; event->client < 0 && i < ledger->head->clients; i++)
        ledger_strike(ledger, i);
    if (event->client < 0)
        return;
    struct ledger_client *client = &ledger->clients[event->client];
    if (!ledger_is_own_doing(client, event))
        ledger_strike(ledger, event->client);
    switch (fault_effect(event->fault)) {
    case FAULT_KILLS:
        crashed(ledger, event);
        break;
    case FAULT_STEPS_CLOCK:
        if (fault_blame(event->fault) != FAULT_OF_CLIENT)
            break;
        client->skew_us += event->amount_us;
        client->is_clock_struck = true;
        break;
    case FAULT_SETS_RATE:
        if (fault_blame(event->fault) != FAULT_OF_CLIENT)
            break;
        client->skew_us = ledger_skew_us(client, event->time_us);
        client->rate_since_us = event->time_us;
        client->gains_us = event->amount_us;
        client->is_clock_struck = true;
        break;
    case FAULT_SENDS_AGAIN:
        repeated(client, event, REPEAT_RESENT);
        break;
    case FAULT_COPIES:
        repeated(client, event, REPEAT_COPIED);
        break;
    case FAULT_REFUSES:
        break;
    case FAULT_CANCELS:
        if (client->is_acquiring && client->attempt == event->attempt)
            client->cancelled_us = event->time_us;
        break;
    default:
        /* A lost or given up renewal: which of them a later one answers is no longer known. */
        if (event->server >= 0 && (event->op == OP_EXTEND || event->lane == LANE_RENEW))
            client->renewals[event->server] = NEVER_US;
        break;
    }
}

/* How late is the machine's doing, which had something else to do. */
static void rang(struct ledger *ledger, const struct event *event)
{
    assert(event->client >= 0);
    struct ledger_client *client = &ledger->clients[event->client];
    if (!client->is_acquiring || client->attempt != event->attempt || event->amount_us <= 0)
        return;
    const int64_t since_us = event->time_us - client->call_us,
                  most_us = since_us - client->rang_late_us;
    client->rang_late_us += event->amount_us < most_us ? event->amount_us : most_us;
}

void ledger_event(struct ledger *ledger, const struct event *event)
{
    assert(event->client < ledger->head->clients);
    assert(event->server < ledger->head->servers);
    assert(event->lock >= 0 && event->lock < ledger->head->locks);
    ledger->index = event->index;
    ledger_note_unseen(ledger, event);
    switch (event->kind) {
    case EVENT_CALL:
        called(ledger, event);
        break;
    case EVENT_SEND:
        sent(ledger, event);
        break;
    case EVENT_EXECUTE:
        if (event_is_on(event, KEY_LOCK) && event->client >= 0 && event->server >= 0)
            executed(ledger, event);
        ledger_check_type(ledger, event);
        break;
    case EVENT_HEAR:
        heard(ledger, event);
        break;
    case EVENT_RETURN:
        returned(ledger, event);
        break;
    case EVENT_NOTICE:
        assert(event->client >= 0);
        hold_end(ledger, event, event->client);
        break;
    case EVENT_EXIT:
        assert(event->client >= 0);
        process_ended(ledger, event);
        break;
    case EVENT_FAULT:
        struck(ledger, event);
        break;
    case EVENT_WAKE:
        rang(ledger, event);
        break;
    case EVENT_STRAND:
    case EVENT_TIME:
    case EVENT_COUNT:
        break;
    }
}
