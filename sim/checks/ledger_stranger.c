/* ledger_stranger.c - see ledger.h: keys that an acquire found, and that nobody in the history
 * wrote.
 *
 * What an acquire finds is a key that the history knows of: one that stands, in its time; one that
 * may have stood meanwhile; one whose writing is told later, but had begun; or one that a request
 * has made, or kept, which nobody saw executed. Else it is somebody unknown's, or the answer is not
 * so: of that nobody in the history is to blame, and whether "refused" was so nobody knows. */
#include "checks/checks.h"
#include "checks/ledger_parts.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FORMER_MAX = 64, STRANGERS_MAX = DOUBTS_MAX / 2 };

/* What an attempt's acquire has sent a server, and was not seen executed. */
struct unseen_asked {
    int client, attempt, lock, server;
    int count;
    bool is_guessed; /* nobody saw what was sent */
    int64_t from_us, last_us;
};

struct unseen {
    int former_count;
    struct unseen_asked former[FORMER_MAX]; /* of attempts that are over */
    struct unseen_asked last[];             /* one a client and server: of its last attempt */
};

void ledger_unseen_init(struct ledger *ledger)
{
    const size_t pairs = (size_t)ledger->head->clients * (size_t)ledger->head->servers;
    ledger->unseen = memory_new(1, sizeof *ledger->unseen + pairs * sizeof *ledger->unseen->last);
}

/* --- requests that nobody saw executed --- */

static void drop(struct ledger *ledger, int lock, int server, int64_t from_us, int64_t until_us)
{
    int left = 0;
    for (int i = 0; i < ledger->doubts_count; i++) {
        const struct doubt *doubt = &ledger->doubts[i];
        if (doubt->kind != DOUBT_STRANGER || doubt->lock != lock || doubt->server != server ||
            doubt->time_us < from_us || doubt->from_us > until_us)
            ledger->doubts[left++] = *doubt;
    }
    ledger->doubts_count = left;
}

/* Until then what was asked at that time may keep others out. */
static int64_t excused_until_us(const struct ledger *ledger, int64_t asked_us)
{
    return ledger->has_lease ? asked_us + PATIENCE_LEASES * ledger->lease_us : NEVER_US;
}

static void excuse(struct ledger *ledger, const struct unseen_asked *asked)
{
    const int64_t until_us = excused_until_us(ledger, asked->last_us);
    struct ledger_lock *lock = &ledger->locks[asked->lock];
    if (!asked->count)
        return;
    drop(ledger, asked->lock, asked->server, asked->from_us, until_us);
    if (lock->unseen_us < until_us)
        lock->unseen_us = until_us;
}

/* The record of the event's attempt; NULL: it has none. */
static struct unseen_asked *find(const struct ledger *ledger, const struct event *event)
{
    struct unseen *unseen = ledger->unseen;
    struct unseen_asked *last =
        &unseen->last[event->client * ledger->head->servers + event->server];
    if (last->attempt == event->attempt)
        return last;
    for (int i = 0; i < unseen->former_count; i++) {
        struct unseen_asked *former = &unseen->former[i];
        if (former->client == event->client && former->attempt == event->attempt &&
            former->server == event->server)
            return former;
    }
    return NULL;
}

/* Its last attempt is another one from here on. */
static struct unseen_asked *begin(struct ledger *ledger, const struct event *event, int server)
{
    struct unseen *unseen = ledger->unseen;
    struct unseen_asked *last = &unseen->last[event->client * ledger->head->servers + server];
    if (last->attempt == event->attempt)
        return last;
    if (last->count && unseen->former_count == FORMER_MAX) {
        excuse(ledger, &unseen->former[0]);
        memmove(unseen->former, unseen->former + 1, (FORMER_MAX - 1) * sizeof *unseen->former);
        unseen->former_count--;
    }
    if (last->count)
        unseen->former[unseen->former_count++] = *last;
    *last = (struct unseen_asked){.client = event->client,
                                  .attempt = event->attempt,
                                  .lock = event->lock,
                                  .server = server,
                                  .from_us = event->time_us,
                                  .last_us = event->time_us};
    return last;
}

static void ask(struct ledger *ledger, const struct event *event)
{
    struct unseen_asked *asked = find(ledger, event);
    asked = asked ? asked : begin(ledger, event, event->server);
    asked->count = asked->is_guessed ? 1 : asked->count + 1;
    asked->is_guessed = false;
    asked->last_us = event->time_us;
}

static void see(const struct ledger *ledger, const struct event *event)
{
    struct unseen *unseen = ledger->unseen;
    struct unseen_asked *asked = find(ledger, event);
    if (!asked || !asked->count)
        return;
    asked->count--;
    if (!asked->count && asked >= unseen->former && asked < unseen->former + unseen->former_count)
        *asked = unseen->former[--unseen->former_count];
}

/* It asks for its lease anew: whether that was executed, and when, need not be told. */
static void renew(struct ledger *ledger, const struct event *event)
{
    const int64_t until_us = excused_until_us(ledger, event->time_us);
    struct ledger_lock *lock = &ledger->locks[event->lock];
    for (int s = 0; s < ledger->head->servers; s++)
        drop(ledger, event->lock, s, event->time_us, until_us);
    if (lock->unseen_us < until_us)
        lock->unseen_us = until_us;
}

static void called(struct ledger *ledger, const struct event *event)
{
    for (int s = 0; !ledger->has_sends && s < ledger->head->servers; s++) {
        struct unseen_asked *asked = begin(ledger, event, s);
        asked->is_guessed = true;
        asked->count = 1;
    }
}

static void struck(struct ledger *ledger, const struct event *event)
{
    const enum fault_effect effect = fault_effect(event->fault);
    if (effect == FAULT_LOSES_REQUEST || effect == FAULT_REFUSES)
        see(ledger, event);
    else if (effect == FAULT_SENDS_AGAIN || effect == FAULT_COPIES)
        ask(ledger, event);
}

void ledger_note_unseen(struct ledger *ledger, const struct event *event)
{
    const bool is_renewal = event->op == OP_EXTEND || event->lane == LANE_RENEW;
    if (event->client < 0 || (event->op != OP_ACQUIRE && !is_renewal))
        return;
    if (event->kind == EVENT_CALL && !is_renewal)
        called(ledger, event);
    else if (event->kind == EVENT_CALL || (event->kind == EVENT_SEND && is_renewal))
        renew(ledger, event);
    else if (event->server < 0 || is_renewal || !event_is_on(event, KEY_LOCK))
        return;
    else if (event->kind == EVENT_SEND)
        ask(ledger, event);
    else if (event->kind == EVENT_EXECUTE)
        see(ledger, event);
    else if (event->kind == EVENT_FAULT)
        struck(ledger, event);
}

void ledger_settle_unseen(struct ledger *ledger)
{
    const struct unseen *unseen = ledger->unseen;
    for (int i = 0; i < unseen->former_count; i++)
        excuse(ledger, &unseen->former[i]);
    for (int i = 0; i < ledger->head->clients * ledger->head->servers; i++)
        excuse(ledger, &unseen->last[i]);
}

/* --- keys of somebody unknown --- */

/* Is it what is found from then on, the key standing so? Two clocks may differ by one part in DRIFT
 * of a lease. */
static bool may_be_found(const struct ledger *ledger, const struct key_standing *state,
                         const struct key_effect *effect, int64_t from_us)
{
    const bool is_over =
        state->expire_us != NEVER_US && from_us > state->latest_us + ledger->lease_us / DRIFT;
    return state->is_present && !is_over &&
           (!change_knows_old(effect) || state->value == effect->old_value);
}

bool ledger_is_strangers(const struct context *context)
{
    const struct ledger *ledger = context->ledger;
    const struct event *event = context->event;
    const struct key_effect *effect = &context->effect;
    const struct key_standing now = ledger_key_standing(context->key);
    const struct key_past *past = &context->lock->pasts[event->server];
    if (event->op != OP_ACQUIRE || effect->before != BEFORE_PRESENT || ledger->may_be_kept ||
        event->from_us < past->since_us || event->from_us <= context->lock->unseen_us ||
        ledger_is_repeated(&ledger->clients[event->client], event) ||
        may_be_found(ledger, &now, effect, event->from_us))
        return false;
    for (int i = 0; i < STANDINGS_MAX; i++) {
        const struct key_standing *state = &past->ended[i];
        if (state->until_us >= event->from_us &&
            may_be_found(ledger, state, effect, event->from_us))
            return false;
    }
    return true;
}

/* The first ones are kept, and the last one: what comes yet may explain all but that. */
static struct doubt *place_for_one(struct ledger *ledger)
{
    struct doubt *last = NULL;
    int strangers = 0;
    for (int i = 0; i < ledger->doubts_count; i++)
        if (ledger->doubts[i].kind == DOUBT_STRANGER) {
            last = &ledger->doubts[i];
            strangers++;
        }
    if (strangers == STRANGERS_MAX)
        return last;
    return ledger->doubts_count < DOUBTS_MAX ? &ledger->doubts[ledger->doubts_count++] : last;
}

void ledger_doubt_stranger(const struct context *context)
{
    const struct event *event = context->event;
    struct doubt *doubt = place_for_one(context->ledger);
    if (!doubt)
        return;
    *doubt = (struct doubt){.kind = DOUBT_STRANGER,
                            .lock = event->lock,
                            .server = event->server,
                            .from_us = event->from_us,
                            .time_us = event->time_us,
                            .effect = context->effect};
    ledger_print_impossible(doubt->text, context, "no key that the history knows of was there");
}

void ledger_know_keys(const struct context *context, const struct key_standing *now)
{
    struct ledger *ledger = context->ledger;
    const struct event *event = context->event;
    int left = 0;
    for (int i = 0; i < ledger->doubts_count; i++) {
        const struct doubt *doubt = &ledger->doubts[i];
        if (doubt->kind != DOUBT_STRANGER || doubt->lock != event->lock ||
            doubt->server != event->server || event->from_us > doubt->time_us ||
            !may_be_found(ledger, now, &doubt->effect, doubt->from_us))
            ledger->doubts[left++] = *doubt;
    }
    ledger->doubts_count = left;
}
