/* ledger_doubt.c - see ledger.h: what the history tells of a key, and does not explain.
 *
 * Of a real-time history an execution is known but for the while in which it happened. One that
 * changed nothing is explained by whatever key may have stood there meanwhile: one that has ended
 * since, and one whose writing is told later, but had begun. If none is what it found, that is
 * told in the end. Where no key was there, one of somebody unknown may have been, unless the next
 * one was made where none was. */
#include "checks/finding.h"
#include "checks/ledger_parts.h"

#include <stdio.h>
#include <string.h>

/* Who wrote what is there, where the history explains it by nobody. */
static const char *somebody_wrote(const struct ledger *ledger)
{
    return ledger->is_closed
               ? "no server can have answered so to which nobody else writes"
               : "somebody whom the history does not know wrote a key, or that is not so";
}

void ledger_print_impossible(char text[STRANGE_BYTES], const struct context *context,
                             const char *but)
{
    const struct event *event = context->event;
    const struct key_effect *effect = &context->effect;
    (void)snprintf(text, STRANGE_BYTES,
                   "server %d answered %s's %s, executed at %s, as where the key is %s, but %s: %s",
                   event->server + 1, client_name(context->ledger, event->client),
                   event_command_name(event), MS(event->time_us),
                   effect->is_unlike                 ? "not its own"
                   : effect->before == BEFORE_ABSENT ? "not there"
                                                     : "there",
                   but,
                   context->ledger->is_closed || effect->before == BEFORE_PRESENT
                       ? somebody_wrote(context->ledger)
                       : "somebody took the key away past this history, or that is not so");
}

void ledger_check_type(struct ledger *ledger, const struct event *event)
{
    const bool is_guarded = event_is_on(event, KEY_COUNTER) || event_is_on(event, KEY_LIST) ||
                            event_is_on(event, KEY_RESOURCE);
    if (ledger->impossible[0] || event->opaque || event->op != OP_ACCESS || !is_guarded ||
        event->client < 0 || event->reply.kind != REPLY_ERROR ||
        event->reply.error != ERROR_WRONGTYPE)
        return;
    (void)snprintf(ledger->impossible, STRANGE_BYTES,
                   "server %d answered %s's %s, executed at %s, that the %s is of another type: %s",
                   event->server + 1, client_name(ledger, event->client), event_command_name(event),
                   MS(event->time_us), key_name(event->command.key), somebody_wrote(ledger));
}

static void print_strange(char text[STRANGE_BYTES], const struct context *context, const char *but)
{
    const struct event *event = context->event;
    (void)snprintf(text, STRANGE_BYTES,
                   "%s's %s, executed at %s, %s, but %s: somebody changed the key past this "
                   "history, or an effect in it is not so",
                   client_name(context->ledger, event->client), event->opaque->name,
                   MS(event->time_us), did_words(context->effect.did), but);
}

void ledger_note_impossible(const struct context *context, const char *but)
{
    struct ledger *ledger = context->ledger;
    if (ledger->is_closed && !ledger->impossible[0])
        ledger_print_impossible(ledger->impossible, context, but);
}

/* Does a typed command's answer contradict a key that the history itself wrote, or deleted, where
 * others may write, too? Theirs may refuse anybody, but has nobody's token. What struck a server
 * may have cost more than is told, and a copy may be read before what it copies. */
static bool is_contradicted(const struct context *context)
{
    const struct ledger *ledger = context->ledger;
    const struct event *event = context->event;
    const struct key_effect *effect = &context->effect;
    return ledger_key_standing(context->key).is_sure && !ledger->is_struck &&
           !ledger_is_repeated(&ledger->clients[event->client], event) &&
           (effect->before == BEFORE_ABSENT || effect->is_unlike || change_knows_old(effect));
}

void ledger_note_strange(const struct context *context, const char *but)
{
    struct ledger *ledger = context->ledger;
    if (!context->event->opaque && !ledger->is_closed && !ledger->impossible[0] &&
        is_contradicted(context))
        ledger_print_impossible(ledger->impossible, context, but);
    else if (!context->event->opaque)
        ledger_note_impossible(context, but);
    else if (!ledger->strange[0])
        print_strange(ledger->strange, context, but);
}

/* --- how keys stood --- */

struct key_standing ledger_key_standing(const struct ledger_key *key)
{
    const struct grant *grant = &key->grant;
    const bool is_known =
        grant->index != NO_INDEX && grant->client != NOBODY && !grant->is_restored;
    return (struct key_standing){.is_present = key->is_present,
                                 .is_sure = is_known &&
                                            (key->is_present || grant->ending == ENDING_DELETED),
                                 .value = key->value,
                                 .expire_us = key->expire_us,
                                 .latest_us = key->latest_us};
}

enum standing_view { VIEW_EXPLAINS, VIEW_GAP, VIEW_CONTRADICTS };

/* What is found where the key stands so, at that time at the latest. */
static enum standing_view view_of(const struct ledger *ledger, const struct key_standing *state,
                                  const struct key_effect *effect, int64_t time_us)
{
    const bool may_end =
        state->expire_us != NEVER_US && time_us >= state->expire_us - ledger->error_us;
    if (!state->is_sure || (state->is_present && may_end))
        return VIEW_EXPLAINS;
    if (effect->is_unlike)
        return state->is_present && state->value == effect->old_value ? VIEW_CONTRADICTS
                                                                      : VIEW_EXPLAINS;
    if (effect->before == BEFORE_ABSENT)
        return state->is_present ? VIEW_CONTRADICTS : VIEW_EXPLAINS;
    if (!state->is_present) /* what was deleted comes not back */
        return change_knows_old(effect) && state->value == effect->old_value ? VIEW_CONTRADICTS
                                                                             : VIEW_GAP;
    return !change_knows_old(effect) || state->value == effect->old_value ? VIEW_EXPLAINS
                                                                          : VIEW_CONTRADICTS;
}

static bool was_explained(const struct ledger *ledger, const struct key_past *past,
                          const struct event *event, const struct key_effect *effect)
{
    if (event->from_us < past->since_us)
        return true;
    for (int i = 0; i < STANDINGS_MAX; i++) {
        const struct key_standing *state = &past->ended[i];
        if (state->until_us >= event->from_us &&
            view_of(ledger, state, effect, event->time_us) == VIEW_EXPLAINS)
            return true;
    }
    return false;
}

static void push(struct key_past *past, const struct key_standing *state, int64_t until_us)
{
    struct key_standing *place = &past->ended[past->next];
    past->next = (past->next + 1) % STANDINGS_MAX;
    if (past->since_us <= place->until_us)
        past->since_us = place->until_us + 1;
    *place = *state;
    place->until_us = until_us;
}

struct key_expiry ledger_key_expiry(const struct ledger_key *key)
{
    return (struct key_expiry){.is_sure = key->is_present && key->expire_us != NEVER_US &&
                                          !key->is_clock_shifted && !key->is_set_back,
                               .expire_us = key->expire_us,
                               .latest_us = key->latest_us,
                               .set_us = key->stepped_us};
}

void ledger_check_length(const struct context *context, const struct key_expiry *before)
{
    const struct event *event = context->event;
    const struct ledger_key *key = context->key;
    const bool is_in_order = before->set_us < event->from_us || event->from_us == event->time_us;
    if (!before->is_sure || key->expire_us == NEVER_US || key->is_clock_shifted || !is_in_order)
        return;
    const int64_t left_us = before->latest_us - event->from_us;
    const int64_t slack_us = context->ledger->error_us + (left_us > 0 ? left_us / DRIFT : 0);
    if (context->effect.did == DID_LENGTHENED && key->latest_us + slack_us < before->expire_us)
        ledger_note_strange(context, "it ends sooner than before");
    if (context->effect.did == DID_SHORTENED && key->expire_us - slack_us > before->latest_us)
        ledger_note_strange(context, "it ends later than before");
}

/* --- doubts --- */

/* Is it in doubt still, the key standing so since that event? */
static bool stays(const struct context *context, struct doubt *doubt,
                  const struct key_standing *now)
{
    const struct event *event = context->event;
    if (doubt->lock != event->lock || doubt->server != event->server ||
        doubt->kind == DOUBT_STRANGER)
        return true;
    if (doubt->is_open && context->effect.before != BEFORE_ABSENT)
        return false;
    doubt->is_open = false;
    if (event->from_us > doubt->time_us)
        return true;
    const enum standing_view view = view_of(context->ledger, now, &doubt->effect, doubt->time_us);
    doubt->is_open = view == VIEW_GAP;
    return view != VIEW_EXPLAINS;
}

void ledger_note_standing(const struct context *context, const struct key_standing *before)
{
    struct ledger *ledger = context->ledger;
    const struct event *event = context->event;
    const struct key_effect *effect = &context->effect;
    struct key_standing was = *before;
    const struct key_standing now = ledger_key_standing(context->key);
    const bool is_in_any_order = (effect->did == DID_OVERWRITTEN && !context_renews(context)) ||
                                 (effect->did == DID_DELETED && !change_knows_old(effect));
    if (is_in_any_order || effect->did == DID_SHORTENED)
        ledger_lose_sight(ledger, event->lock, event->server, event->from_us, event->time_us);
    if (change_is_any(effect))
        ledger_know_keys(context, &now);
    if (was.is_present == now.is_present && was.value == now.value)
        return;
    was.is_sure = was.is_sure && (was.is_present || effect->before == BEFORE_ABSENT);
    push(&context->lock->pasts[event->server], &was, event->time_us);
    int left = 0;
    for (int i = 0; i < ledger->doubts_count; i++)
        if (stays(context, &ledger->doubts[i], &now))
            ledger->doubts[left++] = ledger->doubts[i];
    ledger->doubts_count = left;
}

void ledger_doubt(struct ledger *ledger, const struct execution *execution)
{
    const struct event *event = execution->event;
    struct ledger_lock *lock = &ledger->locks[event->lock];
    const struct context context = {.ledger = ledger,
                                    .event = event,
                                    .lock = lock,
                                    .key = &lock->keys[event->server],
                                    .effect = execution->effect};
    const struct key_standing now = ledger_key_standing(&lock->keys[event->server]);
    const enum standing_view view = view_of(ledger, &now, &execution->effect, event->time_us);
    if (ledger_is_strangers(&context))
        ledger_doubt_stranger(&context);
    if (ledger->doubts_count == DOUBTS_MAX || (!event->opaque && !ledger->is_closed) ||
        view == VIEW_EXPLAINS ||
        was_explained(ledger, &lock->pasts[event->server], event, &execution->effect))
        return;
    struct doubt *doubt = &ledger->doubts[ledger->doubts_count++];
    *doubt = (struct doubt){.kind = event->opaque ? DOUBT_STRANGE : DOUBT_IMPOSSIBLE,
                            .lock = event->lock,
                            .server = event->server,
                            .from_us = event->from_us,
                            .time_us = event->time_us,
                            .effect = execution->effect,
                            .is_open = view == VIEW_GAP};
    (event->opaque ? print_strange : ledger_print_impossible)(
        doubt->text, &context, change_knows_old(&execution->effect) ? BUT_ANOTHER : BUT_THERE);
}

void ledger_lose_sight(struct ledger *ledger, int lock, int server, int64_t from_us,
                       int64_t till_us)
{
    struct key_past *past = &ledger->locks[lock].pasts[server];
    int left = 0;
    if (past->since_us <= till_us)
        past->since_us = till_us + 1;
    for (int i = 0; i < ledger->doubts_count; i++) {
        const struct doubt *doubt = &ledger->doubts[i];
        if (doubt->lock != lock || doubt->server != server || doubt->time_us < from_us)
            ledger->doubts[left++] = *doubt;
    }
    ledger->doubts_count = left;
}

void ledger_settle_doubts(struct ledger *ledger)
{
    ledger_settle_unseen(ledger);
    for (int i = 0; i < ledger->doubts_count; i++) {
        const enum doubt_kind kind = ledger->doubts[i].kind;
        char *told = kind == DOUBT_STRANGE                          ? ledger->strange
                     : kind == DOUBT_STRANGER && !ledger->is_closed ? ledger->stranger
                                                                    : ledger->impossible;
        if (!ledger->doubts[i].is_open && !told[0])
            (void)snprintf(told, STRANGE_BYTES, "%s", ledger->doubts[i].text);
    }
    ledger->doubts_count = 0;
}
