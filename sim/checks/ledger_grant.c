/* ledger_grant.c - see ledger.h: how a grant of a lock key begins, and how it ends. */
#include "checks/ledger_parts.h"

#include <inttypes.h>
#include <string.h>

enum { GRANULE_US = 1000 }; /* a server counts whole milliseconds */

/* --- grants end --- */

bool grant_is_beside_the_point(const struct ledger_client *client, const struct grant *grant,
                               int server)
{
    return grant->is_behind && client->grants[server].index != NO_INDEX;
}

void ledger_end(struct ledger *ledger, const struct event *event, int lock, int server,
                enum ending ending, int64_t time_us)
{
    struct ledger_key *key = &ledger->locks[lock].keys[server];
    struct grant *grant = &key->grant;
    key->is_present = false;
    if (grant->index == NO_INDEX || grant->ending != ENDING_NONE)
        return;
    grant->ending = ending;
    grant->ended_us = time_us;
    grant->ended_index = event ? event->index : ledger->index;
    /* Of several servers, losers delete what each of them got, time and again. */
    if (ending == ENDING_DELETED && ledger->quorum == 1)
        ledger->locks[lock].quiet_us = time_us;
    struct ledger_client *client =
        grant->client == NOBODY ? NULL : ledger_record(ledger, grant->client, grant->attempt, lock);
    if (client) {
        if (!grant_is_beside_the_point(client, grant, server))
            client->grants[server] = *grant;
        if (client->owned-- == ledger->quorum)
            client->disowned_index = grant->ended_index;
        if (client->owned < ledger->quorum && ledger_is_given_back(ledger, grant))
            client->owned_index = NO_INDEX;
    }
    ledger_end_again(ledger, lock, server);
    ledger_tell(ledger, FACT_ENDED, event, lock, server, grant->client, grant);
}

/* Why a key whose expiry has passed went before the time that its owner may count on. */
static enum ending early_ending(const struct ledger_key *key, int64_t time_us)
{
    int64_t unshifted_us = key->expire_us - key->shifted_us;
    bool was_short = unshifted_us < key->grant.until_us && time_us >= unshifted_us;
    if (key->is_set_back)
        return ENDING_BACK;
    if (key->is_clock_shifted && !was_short)
        return ENDING_CLOCK;
    return key->grant.is_touched ? ENDING_CUT : ENDING_SHORT;
}

void ledger_gone(struct ledger *ledger, const struct event *event, int lock, int server,
                 int64_t time_us)
{
    struct ledger_key *key = &ledger->locks[lock].keys[server];
    enum ending ending = ENDING_EARLY;
    int64_t ended_us = time_us;
    if (key->expire_us != NEVER_US && time_us >= key->expire_us - ledger->error_us) {
        ended_us = key->expire_us < time_us ? key->expire_us : time_us;
        if (key->is_clock_shifted && ended_us < key->stepped_us) /* the step brought it there */
            ended_us = key->stepped_us;
        if (key->expire_us >= key->grant.until_us || key->grant.until_us == NEVER_US)
            ending = ENDING_EXPIRED;
        else
            ending = early_ending(key, time_us);
    }
    ledger_end(ledger, event, lock, server, ending, ended_us);
}

bool ledger_is_repeated(const struct ledger_client *client, const struct event *event)
{
    const struct opaque *opaque = &client->repeated.opaque;
    bool is_it = event->opaque
                     ? opaque->name[0] && opaque_is_same(opaque, event->opaque)
                     : !opaque->name[0] && client->repeated.command.verb == event->command.verb;
    return is_it && client->repeated.attempt == event->attempt;
}

static enum repeat repeat_of(const struct ledger_client *client, const struct event *event)
{
    const bool is_it =
        ledger_is_repeated(client, event) && client->repeated.servers >> event->server & 1;
    return is_it ? client->repeated.how : REPEAT_NONE;
}

void ledger_quote(struct quote *quote, const struct event *event)
{
    quote->command = event->command;
    quote->name[0] = quote->text[0] = '\0';
    if (!event->opaque)
        return;
    memcpy(quote->name, event->opaque->name, sizeof quote->name);
    memcpy(quote->text, event->opaque->text, sizeof quote->text);
}

struct change ledger_change(const struct context *context)
{
    const struct ledger *ledger = context->ledger;
    const struct event *event = context->event;
    const struct ledger_client *client = &ledger->clients[event->client];
    struct change change = {.client = event->client,
                            .attempt = event->attempt,
                            .op = event->op,
                            .did = context->effect.did,
                            .wanted = context->effect.wanted,
                            .time_us = event->time_us,
                            .index = event->index,
                            .repeat = repeat_of(client, event),
                            .is_clock_struck = client->is_clock_struck,
                            .own_end_us = NEVER_US,
                            .own_ended_by = NOBODY};
    ledger_quote(&change.sent, event);
    if (client->attempt != event->attempt || client->lock != event->lock)
        return change;
    if (client->acquired == RESULT_GRANTED)
        change.own_end_us = client->own_end_us;
    const struct grant *own = ledger_grant(ledger, event->client, event->server);
    if (own->index == NO_INDEX)
        return change;
    change.own_ending = own->ending;
    change.own_ended_us = own->ended_us;
    if (own->ending == ENDING_DELETED || own->ending == ENDING_TAKEN)
        change.own_ended_by = own->by.client;
    return change;
}

void ledger_end_by(struct context *context, enum ending ending)
{
    const struct event *event = context->event;
    if (context->key->grant.index != NO_INDEX)
        context->key->grant.by = ledger_change(context);
    ledger_end(context->ledger, event, event->lock, event->server, ending, event->time_us);
}

/* --- grants begin --- */

/* When a stamp that this attempt writes passes: now + ttl + 1 units, cut to whole units, and "past"
 * is "greater than". */
void ledger_stamp_times(const struct context *context, int64_t *until_us, int64_t *latest_us)
{
    const struct ledger *ledger = context->ledger;
    const struct ledger_client *client = &ledger->clients[context->event->client];
    bool is_current = client->attempt == context->event->attempt;
    int64_t skew_us = ledger_skew_us(client, context->event->time_us);
    int64_t from_us = is_current ? client->call_us : context->event->from_us;
    *until_us = from_us + ledger->lease_us + ledger->unit_us;
    *latest_us = context->event->time_us + ledger->lease_us + 2 * ledger->unit_us +
                 imaxabs(skew_us) + ledger->error_us;
}

void ledger_set_expiry(struct context *context)
{
    struct ledger_key *key = context->key;
    const struct event *event = context->event;
    key->is_clock_shifted = key->is_set_back = false;
    key->shifted_us = 0;
    key->expire_us = key->latest_us = NEVER_US;
    context->ledger->has_endless |= !context->effect.has_ttl;
    if (!context->effect.has_ttl)
        return;
    const int64_t ttl_us = context->effect.ttl_us;
    const int64_t lasts_us = ledger_lasts_us(context->ledger, event->server, ttl_us);
    key->expire_us = event->from_us + lasts_us;
    key->latest_us = event->time_us +
                     ledger_lasts_us(context->ledger, event->server, ttl_us + GRANULE_US) +
                     context->ledger->error_us;
    key->is_clock_shifted = lasts_us != ttl_us;
    key->shifted_us = lasts_us - ttl_us;
    key->stepped_us = event->time_us;
}

int64_t ledger_given_us(const struct context *context)
{
    if (!context->ledger->has_leases)
        return context->ledger->lease_us;
    return context->effect.has_ttl ? context->effect.ttl_us : NEVER_US;
}

/* What the owner may count on from here. */
int64_t ledger_counts_until_us(const struct context *context)
{
    const struct ledger *ledger = context->ledger;
    if (!ledger->has_lease)
        return NEVER_US;
    return ledger_lease_end_us(context->event->from_us, ledger_given_us(context));
}

static void own_one_more(struct ledger *ledger, const struct event *event,
                         const struct ledger_key *key)
{
    struct ledger_client *client = &ledger->clients[event->client];
    if (client->attempt != event->attempt || client->lock != event->lock)
        return;
    client->lease_us = key->grant.lease_us;
    client->owned++;
    if (!ledger->scheme) /* the last word counts */
        client->refused_itself &= ~(1u << event->server);
    /* What it had lost before it was answered, and got again, it got the second time; but for what
     * it wrote over itself, and what a copy of its request got. A scheme of ours asks once. */
    const bool is_again = !ledger->scheme && client->is_acquiring &&
                          client->disowned_index != NO_INDEX &&
                          client->disowned_index != event->index && !key->grant.is_copied &&
                          client->grants[event->server].index != NO_INDEX;
    if (client->owned == ledger->quorum && (client->owned_index == NO_INDEX || is_again)) {
        client->owned_index = event->index;
        client->owned_us = event->time_us;
    }
    if (client->owned >= ledger->quorum)
        client->disowned_index = NO_INDEX;
}

/* Only a lock that is had, by a majority of servers, is a sign of life. It counts also when nobody
 * knows of it (any more): a late message made it, and then its lease must end. */
void ledger_had_again(struct context *context)
{
    const struct event *event = context->event;
    int kept = 0;
    for (int s = 0; s < context->ledger->head->servers; s++) {
        const struct ledger_key *key = &context->lock->keys[s];
        kept +=
            key->is_present && grant_is_own(&key->grant, event) && event->time_us <= key->latest_us;
    }
    if (kept >= context->ledger->quorum)
        context->lock->quiet_us = event->time_us;
}

/* Its client has been told of an earlier one. If it was written over that, it takes its place. */
static void note_behind(const struct ledger *ledger, const struct event *event, struct grant *grant)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    const struct grant *before = &client->grants[event->server];
    const bool is_behind = event->op == OP_ACQUIRE && client->attempt == event->attempt &&
                           client->lock == event->lock && client->acquired == RESULT_GRANTED;
    grant->is_renewed = is_behind && before->index != NO_INDEX && before->ending == ENDING_TAKEN &&
                        before->by.index == event->index;
    grant->is_behind = is_behind && !grant->is_renewed;
    grant->is_copied = event->op == OP_ACQUIRE && client->attempt == event->attempt &&
                       client->lock == event->lock && before->index != NO_INDEX &&
                       ledger_is_copied(client, event->attempt, event->server);
    grant->is_asked_anew = !ledger->scheme && client->attempt == event->attempt &&
                           client->asked_anew >> event->server & 1;
}

static int64_t asked_us(const struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    return client->attempt == event->attempt ? client->asked_us[event->server] : NEVER_US;
}

void ledger_grant_begin(struct context *context, bool is_tentative)
{
    struct ledger *ledger = context->ledger;
    const struct event *event = context->event;
    struct ledger_key *key = context->key;
    key->is_present = true;
    key->value = context->effect.new_value;
    ledger_set_expiry(context);
    key->grant = (struct grant){.client = event->client,
                                .attempt = event->attempt,
                                .index = event->index,
                                .from_us = event->from_us,
                                .time_us = event->time_us,
                                .asked_us = asked_us(ledger, event),
                                .until_us = ledger_counts_until_us(context),
                                .lease_us = ledger_given_us(context),
                                .is_tentative = is_tentative};
    note_behind(ledger, event, &key->grant);
    ledger_quote(&key->grant.sent, event);
    if (ledger->has_stamps)
        ledger_stamp_times(context, &key->grant.until_us, &key->latest_us);
    key->grant.left = ledger_came_late(ledger, &key->grant, event->lock);
    context->lock->busy_index = event->index;
    own_one_more(ledger, event, key);
    ledger_tell(ledger, FACT_GRANT, event, event->lock, event->server, event->client, &key->grant);
    ledger_had_again(context);
}

bool ledger_has_extended(const struct ledger *ledger, int client)
{
    int servers = 0;
    for (int s = 0; s < ledger->head->servers; s++)
        servers += (ledger->clients[client].extended >> s & 1) != 0;
    return servers >= ledger->quorum;
}

void ledger_found_unknown(struct context *context)
{
    const struct event *event = context->event;
    struct ledger_key *key = context->key;
    context->ledger->has_stranger = context->ledger->has_endless = true;
    key->is_present = true;
    key->value = context->effect.old_value;
    key->expire_us = key->latest_us = NEVER_US;
    key->grant = (struct grant){.client = NOBODY,
                                .index = event->index,
                                .from_us = event->from_us,
                                .time_us = event->time_us,
                                .until_us = NEVER_US};
}
