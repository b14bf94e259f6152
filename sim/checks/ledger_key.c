/* ledger_key.c - see ledger.h: what executions and faults do to the lock keys.
 *
 * The order of the parts: what a grant is, how it ends, what a command changes, which commands must
 * wait, faults. */
#include "checks/ledger.h"

#include <string.h>

enum { GRANULE_US = 1000 }; /* a server counts whole milliseconds */

/* What one EXECUTE is about. */
struct scene {
    struct ledger *ledger;
    const struct event *event;
    struct ledger_lock *lock;
    struct ledger_key *key;
    struct key_effect effect;
};

static struct scene scene_of(struct ledger *ledger, const struct execution *execution)
{
    const struct event *event = execution->event;
    struct ledger_lock *lock = &ledger->locks[event->lock];
    return (struct scene){.ledger = ledger,
                          .event = event,
                          .lock = lock,
                          .key = &lock->keys[event->server],
                          .effect = execution->effect};
}

static bool is_own(const struct grant *grant, const struct event *event)
{
    return grant->client == event->client && grant->attempt == event->attempt;
}

/* --- grants end --- */

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
    if (grant->client != NOBODY) {
        struct ledger_client *client = &ledger->clients[grant->client];
        if (client->attempt == grant->attempt && client->lock == lock) {
            client->grants[server] = *grant;
            if (client->owned-- == ledger->quorum)
                client->disowned_index = grant->ended_index;
        }
    }
    ledger_tell(ledger, FACT_ENDED, event, lock, server, grant->client, grant);
}

/* Why a key whose expiry has passed went before the time that its owner may count on. */
static enum ending early_ending(const struct ledger_key *key, int64_t time_us)
{
    int64_t unshifted_us = key->expire_us - key->shifted_us;
    bool was_short = unshifted_us < key->grant.until_us && time_us >= unshifted_us;
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

static enum repeat repeat_of(const struct ledger_client *client, const struct event *event)
{
    const struct opaque *opaque = &client->repeated.opaque;
    bool is_it = event->opaque
                     ? opaque->name[0] && opaque_is_same(opaque, event->opaque)
                     : !opaque->name[0] && client->repeated.command.verb == event->command.verb;
    return is_it && client->repeated.attempt == event->attempt ? client->repeated.how : REPEAT_NONE;
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

static struct change change_of(const struct scene *scene)
{
    const struct ledger *ledger = scene->ledger;
    const struct event *event = scene->event;
    const struct ledger_client *client = &ledger->clients[event->client];
    struct change change = {.client = event->client,
                            .attempt = event->attempt,
                            .op = event->op,
                            .did = scene->effect.did,
                            .wanted = scene->effect.wanted,
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

static void end_by(struct scene *scene, enum ending ending)
{
    const struct event *event = scene->event;
    if (scene->key->grant.index != NO_INDEX)
        scene->key->grant.by = change_of(scene);
    ledger_end(scene->ledger, event, event->lock, event->server, ending, event->time_us);
}

/* --- grants begin --- */

/* When a stamp that this attempt writes passes: now + ttl + 1 units, cut to whole units, and "past"
 * is "greater than". */
static void stamp_times(const struct scene *scene, int64_t *until_us, int64_t *latest_us)
{
    const struct ledger *ledger = scene->ledger;
    const struct ledger_client *client = &ledger->clients[scene->event->client];
    bool is_current = client->attempt == scene->event->attempt;
    int64_t skew_us = ledger_skew_us(client, scene->event->time_us);
    int64_t early_us = skew_us < 0 ? -skew_us : 0;
    int64_t late_us = skew_us > 0 ? skew_us : 0;
    int64_t from_us = is_current ? client->call_us : scene->event->from_us;
    *until_us = from_us + ledger->lease_us + ledger->unit_us;
    *latest_us = scene->event->time_us + ledger->lease_us + 2 * ledger->unit_us + late_us +
                 early_us + ledger->error_us;
}

static void set_expiry(struct scene *scene)
{
    struct ledger_key *key = scene->key;
    const struct event *event = scene->event;
    key->is_clock_shifted = false;
    key->shifted_us = 0;
    key->expire_us = key->latest_us = NEVER_US;
    if (!scene->effect.has_ttl)
        return;
    const int64_t ttl_us = scene->effect.ttl_us;
    const int64_t lasts_us = ledger_lasts_us(scene->ledger, event->server, ttl_us);
    key->expire_us = event->from_us + lasts_us;
    key->latest_us = event->time_us +
                     ledger_lasts_us(scene->ledger, event->server, ttl_us + GRANULE_US) +
                     scene->ledger->error_us;
    key->is_clock_shifted = lasts_us != ttl_us;
    key->shifted_us = lasts_us - ttl_us;
    key->stepped_us = event->time_us;
}

/* What the owner may count on from here. */
static int64_t count_until(const struct scene *scene)
{
    const struct ledger *ledger = scene->ledger;
    return ledger->has_lease ? scene->event->from_us + ledger->lease_us : NEVER_US;
}

static void own_one_more(struct ledger *ledger, const struct event *event)
{
    struct ledger_client *client = &ledger->clients[event->client];
    if (client->attempt != event->attempt || client->lock != event->lock)
        return;
    client->owned++;
    if (client->owned == ledger->quorum && client->owned_index == NO_INDEX) {
        client->owned_index = event->index;
        client->owned_us = event->time_us;
    }
    if (client->owned >= ledger->quorum)
        client->disowned_index = NO_INDEX;
}

/* Only a lock that is had, by a majority of servers, is a sign of life. It counts also when nobody
 * knows of it (any more): a late message made it, and then its lease must end. */
static void had_again(struct scene *scene)
{
    const struct event *event = scene->event;
    int kept = 0;
    for (int s = 0; s < scene->ledger->head->servers; s++) {
        const struct ledger_key *key = &scene->lock->keys[s];
        kept += key->is_present && is_own(&key->grant, event) && event->time_us <= key->latest_us;
    }
    if (kept >= scene->ledger->quorum)
        scene->lock->quiet_us = event->time_us;
}

static int64_t asked_us(const struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    return client->attempt == event->attempt ? client->asked_us[event->server] : NEVER_US;
}

static void grant_begin(struct scene *scene, bool is_tentative)
{
    struct ledger *ledger = scene->ledger;
    const struct event *event = scene->event;
    struct ledger_key *key = scene->key;
    key->is_present = true;
    key->value = scene->effect.new_value;
    set_expiry(scene);
    key->grant = (struct grant){.client = event->client,
                                .attempt = event->attempt,
                                .index = event->index,
                                .from_us = event->from_us,
                                .time_us = event->time_us,
                                .asked_us = asked_us(ledger, event),
                                .until_us = count_until(scene),
                                .is_tentative = is_tentative};
    ledger_quote(&key->grant.sent, event);
    if (ledger->has_stamps)
        stamp_times(scene, &key->grant.until_us, &key->latest_us);
    key->grant.left = ledger_came_late(ledger, &key->grant, event->lock);
    scene->lock->busy_index = event->index;
    own_one_more(ledger, event);
    ledger_tell(ledger, FACT_GRANT, event, event->lock, event->server, event->client, &key->grant);
    had_again(scene);
}

/* --- what commands change --- */

static void touched(struct scene *scene)
{
    struct ledger_key *key = scene->key;
    const struct event *event = scene->event;
    if (key->grant.client == NOBODY)
        return;
    key->grant.is_touched = true;
    key->grant.touch = change_of(scene);
    if (key->grant.client != event->client)
        ledger_tell(scene->ledger, FACT_TOUCHED, event, event->lock, event->server,
                    key->grant.client, &key->grant);
}

static void extended(struct scene *scene)
{
    struct ledger *ledger = scene->ledger;
    const struct event *event = scene->event;
    struct grant *grant = &scene->key->grant;
    set_expiry(scene);
    if (scene->effect.has_new)
        scene->key->value = scene->effect.new_value;
    if (!is_own(grant, event)) {
        touched(scene);
        return;
    }
    grant->until_us = count_until(scene);
    grant->is_touched = false;
    if (!grant->is_kept_idly)
        had_again(scene);
    struct ledger_client *client = &ledger->clients[event->client];
    int64_t sent_us = client->renewals[event->server];
    if (event->op != OP_EXTEND || !client->is_holding || client->attempt != event->attempt ||
        sent_us == NEVER_US || !ledger->has_lease)
        return;
    int64_t before_us = client->own_end_us;
    if (sent_us + ledger->lease_us <= before_us)
        return;
    client->own_end_us = sent_us + ledger->lease_us;
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
static void swapped(struct scene *scene)
{
    struct ledger *ledger = scene->ledger;
    const struct event *event = scene->event;
    struct ledger_key *key = scene->key;
    struct ledger_client *client = &ledger->clients[event->client];
    bool is_current = client->attempt == event->attempt;
    bool wins = is_current && client->has_seen && scene->effect.has_old &&
                scene->effect.old_value <= client->seen;
    if (is_own(&key->grant, event) || key->grant.client == NOBODY || wins) {
        end_by(scene, ENDING_TAKEN);
        key->previous = key->grant;
        grant_begin(scene, true);
        return;
    }
    client->swap = (struct swap){.index = is_current ? event->index : NO_INDEX,
                                 .server = event->server,
                                 .from_us = event->from_us,
                                 .time_us = event->time_us};
    int64_t until_us;
    ledger_quote(&client->swap.sent, event);
    key->value = scene->effect.new_value;
    stamp_times(scene, &until_us, &key->latest_us);
    /* A stamp that had passed was nobody's lock any more. */
    if (event->time_us + ledger->error_us < key->grant.until_us)
        touched(scene);
}

/* A value is written whatever was there. */
static void overwritten(struct scene *scene)
{
    const struct event *event = scene->event;
    struct ledger_client *client = &scene->ledger->clients[event->client];
    struct ledger_key *key = scene->key;
    /* Who is told "refused" now is told what was so: somebody else had it. */
    if (key->is_present && key->grant.client != event->client && client->attempt == event->attempt)
        client->refused |= 1u << event->server;
    if (key->is_present)
        end_by(scene, ENDING_TAKEN);
    grant_begin(scene, false);
}

static void changed(struct scene *scene)
{
    const struct key_effect *effect = &scene->effect;
    struct ledger_key *key = scene->key;
    switch (effect->did) {
    case DID_NOTHING:
    case DID_READ:
    case DID_REFUSED:
    case DID_FAILED:
    case DID_APPENDED:
    case DID_COUNT:
        break;
    case DID_CREATED:
        /* A script that failed half way has written only where there was none. */
        if (effect->before == BEFORE_UNKNOWN && key->is_present)
            break;
        overwritten(scene);
        break;
    case DID_OVERWRITTEN:
        /* Only a stamp is judged by its answer: any other value is written, whatever was there. */
        if (effect->is_told && key->is_present && scene->ledger->has_stamps)
            swapped(scene);
        else
            overwritten(scene);
        break;
    case DID_EXPIRY_SET:
    case DID_LENGTHENED:
    case DID_SHORTENED:
    case DID_UNEXPIRED:
        extended(scene);
        break;
    case DID_DELETED:
        end_by(scene, ENDING_DELETED);
        break;
    }
}

/* --- what the reply says of the key before --- */

static bool may_be_gone(const struct scene *scene)
{
    const struct ledger_key *key = scene->key;
    return !key->is_present || (key->expire_us != NEVER_US &&
                                scene->event->time_us >= key->expire_us - scene->ledger->error_us);
}

static bool may_be_there(const struct scene *scene)
{
    const struct ledger_key *key = scene->key;
    if (!key->is_present)
        return false;
    if (key->expire_us != NEVER_US && scene->event->from_us > key->latest_us)
        return false;
    return !change_knows_old(&scene->effect) || scene->effect.old_value == key->value;
}

/* Does the book explain the reply? */
static bool is_explained(const struct scene *scene)
{
    const struct key_effect *effect = &scene->effect;
    if (effect->is_unlike)
        return scene->key->value != effect->old_value || may_be_gone(scene);
    return effect->before == BEFORE_UNKNOWN ||
           (effect->before == BEFORE_ABSENT ? may_be_gone(scene) : may_be_there(scene));
}

/* The key holds what the history does not know the writer of. */
static void found_unknown(struct scene *scene)
{
    const struct event *event = scene->event;
    struct ledger_key *key = scene->key;
    key->is_present = true;
    key->value = scene->effect.old_value;
    key->expire_us = key->latest_us = NEVER_US;
    key->grant = (struct grant){.client = NOBODY,
                                .index = event->index,
                                .from_us = event->from_us,
                                .time_us = event->time_us,
                                .until_us = NEVER_US};
}

/* Makes the record agree with the reply, which is what the server knew. */
static void reconcile(struct scene *scene)
{
    struct ledger *ledger = scene->ledger;
    const struct event *event = scene->event;
    const struct key_effect *effect = &scene->effect;
    struct ledger_key *key = scene->key;
    bool is_gone = effect->before == BEFORE_ABSENT ||
                   (effect->is_unlike && key->is_present && key->value == effect->old_value);
    if (is_gone && key->is_present) {
        ledger_gone(ledger, event, event->lock, event->server, event->time_us);
    } else if (effect->before == BEFORE_PRESENT && !may_be_there(scene)) {
        if (key->is_present && (!change_knows_old(effect) || key->value == effect->old_value)) {
            key->latest_us = event->time_us; /* it lives longer than its expiry said */
        } else {
            if (key->is_present)
                ledger_gone(ledger, event, event->lock, event->server, event->time_us);
            found_unknown(scene);
        }
    }
    if (effect->before == BEFORE_PRESENT)
        scene->lock->busy_index = event->index;
}

/* Is it surely the client's own key, of an earlier attempt, that stands there? In a real-time
 * history it may have gone, and another's have come. A stamp that has passed refuses nobody. */
static bool is_leftover(const struct scene *scene)
{
    const struct event *event = scene->event;
    const struct grant *grant = &scene->key->grant;
    bool is_precise = event->from_us == event->time_us;
    if (scene->ledger->has_stamps && event->time_us + scene->ledger->error_us >= grant->until_us)
        return false;
    return ledger_is_leftover(scene->ledger, grant, event->client) &&
           (is_precise || !may_be_gone(scene));
}

/* A server has said "taken", or what is there, to an attempt that asks for the lock. The last word
 * counts: who asks again is refused by whom the server found then. */
static void see_taken(struct scene *scene)
{
    const struct event *event = scene->event;
    const struct grant *grant = &scene->key->grant;
    struct ledger_client *client = &scene->ledger->clients[event->client];
    struct grant *refuser = &client->refusers[event->server];
    const unsigned server = 1u << event->server;
    bool is_answer = scene->effect.did == DID_REFUSED;
    if (is_own(grant, event) && !is_answer)
        return;
    refuser->index = NO_INDEX;
    if (is_own(grant, event)) {
        client->refused_itself |= server;
    } else if (client->is_acquiring && is_leftover(scene)) {
        client->refused_itself |= server;
        *refuser = *grant;
    } else {
        client->refused |= is_answer ? server : 0;
        client->refused_itself &= ~server;
    }
}

static void see(struct scene *scene)
{
    const struct event *event = scene->event;
    const struct key_effect *effect = &scene->effect;
    struct ledger_client *client = &scene->ledger->clients[event->client];
    bool is_write = change_is_write(effect) && !effect->is_told;
    bool is_asking = effect->wanted == EFFECT_SET || effect->did == DID_READ;
    if (client->attempt != event->attempt)
        return;
    if (is_asking && event->op == OP_ACQUIRE && !is_write && effect->before == BEFORE_PRESENT &&
        scene->key->is_present)
        see_taken(scene);
    if (effect->wanted == EFFECT_SET && effect->did == DID_REFUSED &&
        effect->before == BEFORE_PRESENT) {
        const unsigned server = 1u << event->server; /* the last answer counts */
        bool is_known = scene->key->is_present && scene->key->grant.client != NOBODY;
        client->refused_unknown &= ~server;
        client->refused_unknown |= is_known ? 0 : server;
    }
    if (effect->did != DID_READ && !(effect->did == DID_FAILED && effect->wanted == EFFECT_READ))
        return;
    client->has_seen = effect->has_old;
    client->seen = effect->old_value;
}

void ledger_apply(struct ledger *ledger, const struct execution *execution)
{
    struct scene scene = scene_of(ledger, execution);
    reconcile(&scene);
    see(&scene);
    changed(&scene);
}

enum explained ledger_explains(struct ledger *ledger, const struct execution *execution)
{
    struct scene scene = scene_of(ledger, execution);
    if (is_explained(&scene))
        return EXPLAINED;
    if (change_is_any(&scene.effect))
        return UNEXPLAINED;
    bool is_alive = scene.key->is_present && scene.key->grant.ending == ENDING_NONE;
    return is_alive && is_own(&scene.key->grant, scene.event) ? UNEXPLAINED_LOSS
                                                              : UNEXPLAINED_HARMLESS;
}

void ledger_look(struct ledger *ledger, const struct execution *execution)
{
    struct scene scene = scene_of(ledger, execution);
    see(&scene);
    if (scene.effect.before == BEFORE_PRESENT)
        scene.lock->busy_index = scene.event->index;
}
