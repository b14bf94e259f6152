/* ledger_key.c - see ledger.h: what executions do to the lock keys, and what their replies say of
 * the keys before. */
#include "checks/finding.h"
#include "checks/ledger_parts.h"

#include <stdio.h>
#include <string.h>

static struct context context_of(struct ledger *ledger, const struct execution *execution)
{
    const struct event *event = execution->event;
    struct ledger_lock *lock = &ledger->locks[event->lock];
    struct context context = {.ledger = ledger,
                              .event = event,
                              .lock = lock,
                              .key = &lock->keys[event->server],
                              .effect = execution->effect};
    context.is_strangers = ledger_is_strangers(&context);
    return context;
}

/* --- what commands change --- */

static void touched(struct context *context)
{
    struct ledger_key *key = context->key;
    const struct event *event = context->event;
    if (key->grant.client == NOBODY)
        return;
    key->grant.is_touched = true;
    key->grant.touch = ledger_change(context);
    if (key->grant.client != event->client)
        ledger_tell(context->ledger, FACT_TOUCHED, event, event->lock, event->server,
                    key->grant.client, &key->grant);
}

/* An acquire that finds its client's own key, of an attempt before, and gives it a lease anew; or
 * enters it as it is, where its client holds it, or it has no end. It is this attempt's from then
 * on, if it is told "granted" (ledger_again.c). */
static void retaken(const struct context *context)
{
    const struct event *event = context->event;
    const struct ledger_client *client = &context->ledger->clients[event->client];
    const struct ledger_key *key = context->key;
    const bool is_as_it_is = context->effect.did == DID_READ;
    struct grant *again = &context->key->again;
    if (event->op != OP_ACQUIRE || !key->is_present || key->grant.ending != ENDING_NONE ||
        key->grant.client != event->client || key->grant.attempt == event->attempt ||
        client->attempt != event->attempt ||
        (is_as_it_is && key->expire_us != NEVER_US && key->grant.attempt > client->reentered))
        return;
    *again = (struct grant){
        .client = event->client,
        .attempt = event->attempt,
        .index = event->index,
        .from_us = event->from_us,
        .time_us = event->time_us,
        .asked_us = client->asked_us[event->server],
        .until_us = is_as_it_is ? key->grant.until_us : ledger_counts_until_us(context),
        .lease_us = is_as_it_is ? key->grant.lease_us : ledger_given_us(context)};
    ledger_quote(&again->sent, event);
}

/* A renewal by another attempt of its client's: it counts on the key from then on, if that lives so
 * long. */
static void counts_anew(struct context *context)
{
    struct grant *grant = &context->key->grant;
    const int64_t until_us = ledger_counts_until_us(context);
    if (grant->client == context->event->client && context->key->expire_us >= until_us)
        grant->until_us = until_us;
}

static void extended(struct context *context)
{
    struct ledger *ledger = context->ledger;
    const struct event *event = context->event;
    struct grant *grant = &context->key->grant;
    const struct key_expiry before = ledger_key_expiry(context->key);
    ledger_set_expiry(context);
    ledger_check_length(context, &before);
    if (context->effect.has_new)
        context->key->value = context->effect.new_value;
    struct ledger_client *client = &ledger->clients[event->client];
    const bool is_asked = event->op == OP_EXTEND && event->lane == LANE_MAIN &&
                          client->is_extending && client->attempt == event->attempt;
    if (is_asked && grant->client == event->client) /* of an attempt before, too */
        client->extended |= 1u << event->server;
    if (!grant_is_own(grant, event)) {
        retaken(context);
        touched(context);
        if (is_asked)
            counts_anew(context);
        return;
    }
    grant->until_us = ledger_counts_until_us(context);
    grant->lease_us = ledger_given_us(context);
    grant->is_touched = false;
    if (event->op == OP_EXTEND && grant->is_behind && client->is_holding) {
        grant->is_behind = false;
        grant->is_renewed = true;
    }
    if (!grant->is_kept_idly)
        ledger_had_again(context);
    const bool is_sent = ledger->has_sends || !is_asked; /* else: not before the call */
    const int64_t sent_us = is_sent ? client->renewals[event->server] : client->called_us;
    if (!ledger->has_hears) /* no line will tell that it was answered */
        client->renewals[event->server] = NEVER_US;
    if (is_asked) {
        client->extended_by_us = grant->lease_us;
        client->extend_us = sent_us < client->extend_us ? sent_us : client->extend_us;
        return; /* it counts when it is told: ledger_client.c */
    }
    if (event->op != OP_EXTEND || !client->is_holding || client->attempt != event->attempt ||
        sent_us == NEVER_US || !ledger->has_lease)
        return;
    int64_t before_us = client->own_end_us;
    const int64_t end_us = ledger_lease_end_us(sent_us, grant->lease_us);
    /* Who gives its own lock another time has that one, be it shorter. */
    if (ledger->has_leases) {
        client->lease_us = grant->lease_us;
        client->own_end_us = end_us;
    }
    if (end_us <= before_us)
        return;
    client->own_end_us = end_us;
    client->is_late = false; /* there is lease left again */
    const struct fact fact = {.kind = FACT_RENEWED,
                              .event = event,
                              .time_us = event->time_us,
                              .index = event->index,
                              .lock = event->lock,
                              .server = event->server,
                              .client = event->client,
                              .grant = grant,
                              .before_us = before_us};
    ledger->take(ledger->context, &fact);
}

/* GETSET of a stamp over a key that is there. Who got back the very value that its GET had judged
 * dead has won; who got another one has most likely lost, and has overwritten the winner's. The
 * return of the acquire says for sure. */
static void swapped(struct context *context)
{
    struct ledger *ledger = context->ledger;
    const struct event *event = context->event;
    struct ledger_key *key = context->key;
    struct ledger_client *client = &ledger->clients[event->client];
    bool is_current = client->attempt == event->attempt;
    bool wins = is_current && client->has_seen && context->effect.has_old &&
                context->effect.old_value <= client->seen;
    if (grant_is_own(&key->grant, event) || key->grant.client == NOBODY || wins) {
        ledger_end_by(context, ENDING_TAKEN);
        key->previous = key->grant;
        ledger_grant_begin(context, true);
        return;
    }
    client->swap = (struct swap){.index = is_current ? event->index : NO_INDEX,
                                 .server = event->server,
                                 .from_us = event->from_us,
                                 .time_us = event->time_us};
    int64_t until_us;
    ledger_quote(&client->swap.sent, event);
    key->value = context->effect.new_value;
    ledger_stamp_times(context, &until_us, &key->latest_us);
    /* A stamp that had passed was nobody's lock any more. */
    if (event->time_us + ledger->error_us < key->grant.until_us)
        touched(context);
}

/* A value is written whatever was there. */
static void overwritten(struct context *context)
{
    const struct event *event = context->event;
    struct ledger_client *client = &context->ledger->clients[event->client];
    struct ledger_key *key = context->key;
    /* Who is told "refused" now is told what was so: somebody else had it. */
    if (key->is_present && key->grant.client != event->client && client->attempt == event->attempt)
        client->refused |= 1u << event->server;
    if (key->is_present)
        ledger_end_by(context, ENDING_TAKEN);
    ledger_grant_begin(context, false);
}

/* A release has removed a lock of its client's, of whatever attempt. Of what a copy removes nobody
 * is told. */
static void given_back(const struct context *context)
{
    const struct event *event = context->event;
    const struct grant *grant = &context->key->grant;
    struct ledger_client *client = &context->ledger->clients[event->client];
    if (event->op != OP_RELEASE || client->attempt != event->attempt ||
        event->index < client->release_index || grant->index == NO_INDEX ||
        grant->client != event->client || grant->ending != ENDING_DELETED ||
        grant->by.index != event->index || grant->by.repeat == REPEAT_COPIED)
        return;
    client->own_keys[event->server] = *grant;
    client->release_gave |= 1u << event->server;
}

static void changed(struct context *context)
{
    const struct key_effect *effect = &context->effect;
    struct ledger_key *key = context->key;
    switch (effect->did) {
    case DID_READ:
        retaken(context);
        break;
    case DID_NOTHING:
    case DID_REFUSED:
    case DID_FAILED:
    case DID_APPENDED:
    case DID_COUNT:
        break;
    case DID_CREATED:
        /* A script that failed half way has written only where there was none. */
        if (effect->before == BEFORE_UNKNOWN && key->is_present)
            break;
        overwritten(context);
        break;
    case DID_OVERWRITTEN:
        /* Only a stamp is judged by its answer: any other value is written, whatever was there. */
        if (effect->is_told && key->is_present && context->ledger->has_stamps)
            swapped(context);
        else if (context_renews(context)) /* with another value */
            extended(context);
        else
            overwritten(context);
        break;
    case DID_EXPIRY_SET:
    case DID_LENGTHENED:
    case DID_SHORTENED:
    case DID_UNEXPIRED:
        extended(context);
        break;
    case DID_DELETED:
        ledger_end_by(context, ENDING_DELETED);
        given_back(context);
        break;
    }
}

/* --- what the reply says of the key before --- */

static bool may_be_gone(const struct context *context)
{
    const struct ledger_key *key = context->key;
    return !key->is_present ||
           (key->expire_us != NEVER_US &&
            context->event->time_us >= key->expire_us - context->ledger->error_us);
}

static bool may_be_there(const struct context *context)
{
    const struct ledger_key *key = context->key;
    if (!key->is_present)
        return false;
    if (key->expire_us != NEVER_US && context->event->from_us > key->latest_us)
        return false;
    return !change_knows_old(&context->effect) || context->effect.old_value == key->value;
}

/* Does the book explain the reply? */
static bool is_explained(const struct context *context)
{
    const struct key_effect *effect = &context->effect;
    if (effect->is_unlike)
        return context->key->value != effect->old_value || may_be_gone(context);
    return effect->before == BEFORE_UNKNOWN ||
           (effect->before == BEFORE_ABSENT ? may_be_gone(context) : may_be_there(context));
}

/* What is refused by a value that nobody in the history wrote is a stranger's doing, but where the
 * key that somebody had there surely lives, under another one. */
static bool is_surely_other(const struct context *context)
{
    const struct grant *grant = &context->key->grant;
    return context->key->is_present && grant->client != NOBODY && !grant->is_restored &&
           !may_be_gone(context);
}

/* So is it where what stood there last, and was deleted, is there again. */
static bool is_back(const struct context *context)
{
    const struct key_standing last = ledger_key_standing(context->key);
    return !last.is_present && last.is_sure && change_knows_old(&context->effect) &&
           context->effect.old_value == last.value;
}

/* Makes the record agree with the reply, which is what the server knew. */
static void reconcile(struct context *context)
{
    struct ledger *ledger = context->ledger;
    const struct event *event = context->event;
    const struct key_effect *effect = &context->effect;
    struct ledger_key *key = context->key;
    bool is_gone = effect->before == BEFORE_ABSENT ||
                   (effect->is_unlike && key->is_present && key->value == effect->old_value);
    if (is_gone && key->is_present) {
        if (!may_be_gone(context))
            ledger_note_strange(context, BUT_THERE);
        ledger_gone(ledger, event, event->lock, event->server, event->time_us);
    } else if (effect->before == BEFORE_PRESENT && !may_be_there(context)) {
        if (context->is_strangers && !ledger->is_closed)
            ledger_doubt_stranger(context);
        if (key->is_present && (!change_knows_old(effect) || key->value == effect->old_value)) {
            ledger_note_impossible(context, "its time was over");
            key->latest_us = event->time_us; /* it lives longer than its expiry said */
        } else {
            if (change_is_any(effect) || !event->opaque || is_surely_other(context) ||
                is_back(context))
                ledger_note_strange(context,
                                    key->is_present ? BUT_ANOTHER : "no such key was there");
            else
                ledger_note_impossible(context, "no such key was there");
            if (key->is_present)
                ledger_gone(ledger, event, event->lock, event->server, event->time_us);
            ledger_found_unknown(context);
        }
    }
    if (effect->before == BEFORE_PRESENT)
        context->lock->busy_index = event->index;
}

/* Is it surely the client's own key, of an earlier attempt, that stands there? In a real-time
 * history it may have gone, and another's have come. A stamp that has passed refuses nobody. */
static bool is_leftover(const struct context *context)
{
    const struct event *event = context->event;
    const struct grant *grant = &context->key->grant;
    bool is_precise = event->from_us == event->time_us;
    if (context->ledger->has_stamps &&
        event->time_us + context->ledger->error_us >= grant->until_us)
        return false;
    return ledger_is_leftover(context->ledger, grant, event->client) &&
           (is_precise || !may_be_gone(context));
}

/* A server has said "taken", or what is there, to an attempt that asks for the lock. The last word
 * counts: who asks again is refused by whom the server found then. */
static void see_taken(struct context *context)
{
    const struct event *event = context->event;
    const struct grant *grant = &context->key->grant;
    struct ledger_client *client = &context->ledger->clients[event->client];
    struct grant *refuser = &client->own_keys[event->server];
    const unsigned server = 1u << event->server;
    bool is_answer = context->effect.did == DID_REFUSED;
    if (grant_is_own(grant, event) && !is_answer)
        return;
    refuser->index = NO_INDEX;
    if (grant_is_own(grant, event)) {
        client->refused_itself |= server;
    } else if (client->is_acquiring && is_leftover(context)) {
        client->refused_itself |= server;
        *refuser = *grant;
    } else {
        client->refused |= is_answer ? server : 0;
        client->refused_itself &= ~server;
    }
}

/* What a release found there, and did. */
static void see_released(const struct context *context)
{
    const struct event *event = context->event;
    const struct ledger_key *key = context->key;
    struct ledger_client *client = &context->ledger->clients[event->client];
    const unsigned server = 1u << event->server;
    const bool is_anothers = key->is_present && key->grant.index != NO_INDEX &&
                             key->grant.client != event->client && key->grant.client != NOBODY;
    if ((key->is_present && !is_anothers) || change_is_any(&context->effect))
        client->release_found |= server;
    else
        client->release_missed |= server;
    if (is_anothers && !change_is_any(&context->effect))
        client->release_met |= server;
}

static void see(struct context *context)
{
    const struct event *event = context->event;
    const struct key_effect *effect = &context->effect;
    struct ledger_client *client = &context->ledger->clients[event->client];
    bool is_write = change_is_write(effect) && !effect->is_told;
    bool is_asking = effect->wanted == EFFECT_SET || effect->did == DID_READ;
    if (client->attempt != event->attempt)
        return;
    if (event->op == OP_RELEASE)
        see_released(context);
    if (is_asking && event->op == OP_ACQUIRE && !is_write && effect->before == BEFORE_PRESENT &&
        context->key->is_present)
        see_taken(context);
    if (is_asking && event->op == OP_ACQUIRE && !is_write && effect->before == BEFORE_PRESENT) {
        const unsigned server = 1u << event->server; /* the last answer counts */
        bool is_known = context->key->is_present && context->key->grant.client != NOBODY &&
                        (!context->is_strangers || context->ledger->is_closed);
        client->refused_unknown &= ~server;
        client->refused_unknown |= is_known ? 0 : server;
    }
    if (effect->did != DID_READ && !(effect->did == DID_FAILED && effect->wanted == EFFECT_READ))
        return;
    client->has_seen = effect->has_old;
    client->seen = effect->old_value;
}

/* Is it what made that lock, or entered it last, once more: by a copy, or when its client was told?
 */
static bool is_repeated(const struct context *context, const struct grant *grant)
{
    const struct event *event = context->event;
    const struct ledger_client *client = &context->ledger->clients[event->client];
    const bool is_any_copied = !client->repeated.opaque.name[0] && /* which one is not told */
                               ledger_is_copied(client, event->attempt, event->server);
    struct quote sent;
    ledger_quote(&sent, event);
    return client->attempt == event->attempt && grant->index != event->index &&
           strcmp(sent.name, grant->sent.name) == 0 && strcmp(sent.text, grant->sent.text) == 0 &&
           (client->acquired == RESULT_GRANTED || is_any_copied ||
            ledger_change(context).repeat != REPEAT_NONE);
}

/* An acquire may enter what its client has by another attempt: then one release is not the last. Of
 * one in time its answer says whether its client knows of that (ledger_again.c); nobody hears of
 * what a copy enters. */
static void entered(const struct context *context)
{
    const struct event *event = context->event;
    struct grant *grant = &context->key->grant;
    struct ledger_client *client = &context->ledger->clients[event->client];
    /* Everybody reads a stamp. */
    const bool is_it = change_is_any(&context->effect) ||
                       (context->effect.did == DID_READ && !context->ledger->has_stamps);
    if (event->op != OP_ACQUIRE || !event->opaque || !context->key->is_present ||
        grant->ending != ENDING_NONE || grant->client != event->client || !is_it)
        return;
    if (grant->attempt == event->attempt) {
        grant->is_entered |= is_repeated(context, grant);
    } else if (client->attempt == event->attempt) {
        client->entered |= 1u << event->server;
    } else {
        grant->is_entered = true;
    }
}

void ledger_apply(struct ledger *ledger, const struct execution *execution)
{
    struct context context = context_of(ledger, execution);
    const struct key_standing before = ledger_key_standing(context.key);
    reconcile(&context);
    see(&context);
    entered(&context);
    changed(&context);
    ledger_note_standing(&context, &before);
}

enum explained ledger_explains(struct ledger *ledger, const struct execution *execution)
{
    struct context context = context_of(ledger, execution);
    if (is_explained(&context))
        return EXPLAINED;
    if (change_is_any(&context.effect))
        return UNEXPLAINED;
    bool is_alive = context.key->is_present && context.key->grant.ending == ENDING_NONE;
    return is_alive && grant_is_own(&context.key->grant, context.event) ? UNEXPLAINED_LOSS
                                                                        : UNEXPLAINED_HARMLESS;
}

void ledger_look(struct ledger *ledger, const struct execution *execution)
{
    struct context context = context_of(ledger, execution);
    see(&context);
    if (context.effect.before == BEFORE_PRESENT)
        context.lock->busy_index = context.event->index;
}
