/* coverage.c - see coverage.h. */
#include "checks/coverage.h"

#include "base/memory.h"
#include "checks/asked.h"
#include "checks/cause.h"
#include "checks/replies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two bits a verb: it was executed, and took effect or found none. All opaque commands are one verb
 * more. */
enum { BITS_A_VERB = 2, OPAQUE_VERB = VERB_COUNT };
_Static_assert((OPAQUE_VERB + 1) * BITS_A_VERB <= 64, "executed has no room for every verb");

/* What was told as done, and no server was seen to do (yet). */
struct undone {
    char *words; /* NULL: nothing */
    int attempt;
    enum operation op;
    uint64_t verbs; /* bit a verb: its execution may be that */
};

/* One server and a client's last attempt. */
struct seen {
    bool is_asked;            /* a command to it, or what it did with one, was seen */
    bool has_refused;         /* it refused connections in that time: nothing could be asked */
    bool is_lost;             /* what it was asked last was lost on its way, refused with an error,
                                 or is not waited for: there need be nothing to execute */
    int64_t stands_until_us;  /* it stands still on its way */
    uint64_t executed;        /* with which replies; the lock key only */
    uint64_t awaited;         /* bit a verb: sent, not executed, not heard; the lock key only */
    unsigned opaque_ops;      /* bit an operation: an opaque command of it was executed */
    bool has_made, has_taken; /* the lock key, last: it wrote it, it deleted it */
};

struct coverage {
    const struct ledger *ledger;
    bool has_heard;  /* the history tells of replies that were heard */
    bool is_granted; /* somebody was */
    bool has_calls;
    bool is_silent;   /* no server is spoken of */
    bool may_lose;    /* a fault of a server may have lost what was sent */
    unsigned servers; /* bit a server: it is spoken of */
    unsigned refuse;  /* bit a server: it refuses connections now */
    struct coverage_client {
        bool has_asked; /* the client was seen to ask some server, in whatever attempt */
        char *unasked;  /* an acquire of it gained nothing, and asked nobody: the first; or NULL */
        char *guessed;  /* it was granted what no server was seen to execute, nor since; or NULL */
        int guess;      /* that attempt */
        struct undone undone;
        bool is_befallen; /* by a fault, since its acquire was called; */
        bool may_lose;    /* by one that may have lost what it sent, or the reply */
        struct operation_asked asked[OP_COUNT];
        struct replies replies;
    } * clients;
    bool is_missing;
    char words[WITNESS_LINE_BYTES]; /* the first of them */
    struct seen seen[];             /* one a client and server */
};

struct coverage *coverage_new(const struct ledger *ledger)
{
    size_t pairs = (size_t)ledger->head->clients * (size_t)ledger->head->servers;
    struct coverage *made = memory_new(1, sizeof *made + pairs * sizeof *made->seen);
    made->ledger = ledger;
    made->is_silent = true;
    made->clients = memory_new((size_t)ledger->head->clients, sizeof *made->clients);
    return made;
}

void coverage_free(struct coverage *coverage)
{
    for (int i = 0; i < coverage->ledger->head->clients; i++) {
        free(coverage->clients[i].unasked);
        free(coverage->clients[i].guessed);
        free(coverage->clients[i].undone.words);
    }
    free(coverage->clients);
    free(coverage);
}

static struct seen *seen_of(struct coverage *coverage, int client)
{
    return &coverage->seen[client * coverage->ledger->head->servers];
}

static int verb_of(const struct event *event)
{
    return event->opaque ? OPAQUE_VERB : (int)event->command.verb;
}

static uint64_t bit_of(const struct event *event)
{
    const struct reply *reply = &event->reply;
    bool is_without_effect = reply->kind == REPLY_NIL || reply_is_integer(reply, 0);
    return (uint64_t)1 << (verb_of(event) * BITS_A_VERB + is_without_effect);
}

static void say(const struct coverage *coverage, const struct event *event, const char *what,
                char words[WITNESS_LINE_BYTES])
{
    const char *did =
        event->kind == EVENT_EXECUTE ? event_command_name(event) : operation_name(event->op);
    snprintf(words, WITNESS_LINE_BYTES, "%s's %s was %s at %s, and %s",
             client_name(coverage->ledger, event->client), did,
             event->kind == EVENT_EXECUTE ? "executed" : "answered", MS(event->time_us), what);
}

static void miss(struct coverage *coverage, const struct event *event, const char *what)
{
    if (!coverage->is_missing)
        say(coverage, event, what, coverage->words);
    coverage->is_missing = true;
}

/* It gained nothing: where its client is seen to ask at other times, it did not. */
static void note_unasked(struct coverage *coverage, const struct event *event, const char *what)
{
    char words[WITNESS_LINE_BYTES];
    struct coverage_client *client = &coverage->clients[event->client];
    if (client->unasked)
        return;
    say(coverage, event, what, words);
    client->unasked = memory_text(words);
}

/* Whose request is executed behind that has not waited for its answer. */
static void note_guess(struct coverage *coverage, const struct event *event, const char *what)
{
    char words[WITNESS_LINE_BYTES];
    struct coverage_client *client = &coverage->clients[event->client];
    if (client->guessed || !coverage->has_heard) {
        miss(coverage, event, what);
        return;
    }
    say(coverage, event, what, words);
    client->guessed = memory_text(words);
    client->guess = event->attempt;
}

static void see_guessed(struct coverage *coverage, const struct event *event)
{
    struct coverage_client *client = &coverage->clients[event->client];
    if (event->kind != EVENT_EXECUTE || event->attempt != client->guess ||
        event->op != OP_ACQUIRE || !event_is_on(event, KEY_LOCK))
        return;
    free(client->guessed);
    client->guessed = NULL;
}

/* What its client was not seen to ask, it did not ask. Who asks again for what it has, or has a key
 * there by an attempt before (or a thread of its own has put it there between the calls), may know
 * by itself that it has the lock; so may who asked before the history begins, and not since. */
static bool is_known_unasked(const struct coverage *coverage, int client)
{
    const struct ledger *ledger = coverage->ledger;
    return ledger->head->has_all_commands && coverage->clients[client].has_asked &&
           !ledger_may_reenter(ledger, client) && pair_is_untold(ledger, client);
}

/* It failed before it asked anybody (no connection, say): where all that is done to the keys is
 * seen, it did nothing, and it claims nothing. */
static bool failed_unasked(const struct ledger *ledger, const struct event *event)
{
    return (ledger->is_closed || ledger->head->has_all_commands) &&
           result_outcome(event->result) == OUTCOME_INFO;
}

static void note_undone(struct coverage *coverage, const struct event *event, const char *what,
                        uint64_t verbs)
{
    char words[WITNESS_LINE_BYTES];
    struct undone *undone = &coverage->clients[event->client].undone;
    if (undone->words)
        return;
    say(coverage, event, what, words);
    *undone = (struct undone){memory_text(words), event->attempt, event->op, verbs};
}

/* Who asks for its lease anew once more is given that in the place of the first. */
static void see_undone(struct coverage *coverage, const struct event *event)
{
    struct undone *undone = &coverage->clients[event->client].undone;
    if (event->kind == EVENT_CALL && event->op == OP_EXTEND && undone->op == OP_EXTEND)
        undone->verbs = 0;
    if (event->kind != EVENT_EXECUTE || !event_is_on(event, KEY_LOCK) || !undone->words ||
        event->attempt != undone->attempt || event->op != undone->op ||
        !(undone->verbs >> verb_of(event) & 1))
        return;
    free(undone->words);
    undone->words = NULL;
}

/* Of a grant: what it sent the only server behind what was executed was not, nor was it heard; and
 * nothing befell it, or the server. */
static void granted(struct coverage *coverage, const struct event *event)
{
    const struct ledger *ledger = coverage->ledger;
    const struct seen *seen = seen_of(coverage, event->client);
    if (ledger->head->servers == 1 && seen->executed && seen->awaited && !ledger->is_struck &&
        !coverage->clients[event->client].is_befallen && !event->is_inferred &&
        !head_is_simulated(ledger->head))
        note_undone(coverage, event, "nobody saw the server do all that it asked", seen->awaited);
}

/* What it asked, or its reply, may have been lost by a fault, and it has not waited for that: one
 * that only delays, pauses or copies loses none. A scheme of ours waits; what is inferred is so
 * from an answer. */
static bool may_have_guessed(const struct coverage *coverage, const struct event *event)
{
    const struct ledger *ledger = coverage->ledger;
    return coverage->has_heard && ledger->head->has_all_commands && !ledger->scheme &&
           !event->is_inferred && (coverage->may_lose || coverage->clients[event->client].may_lose);
}

static void returned(struct coverage *coverage, const struct event *event)
{
    const struct ledger *ledger = coverage->ledger;
    const struct seen *seen = seen_of(coverage, event->client);
    int asked = 0, known = 0; /* servers; of so many what they did */
    bool has_made = false, has_taken = false;
    for (int i = 0; i < ledger->head->servers; i++) {
        asked += seen[i].is_asked || (seen[i].has_refused && event->result == RESULT_FAILED);
        known +=
            seen[i].executed ||
            (!event->is_inferred && (seen[i].is_lost || event->time_us < seen[i].stands_until_us));
        has_made |= seen[i].has_made;
        has_taken |= seen[i].has_taken;
    }
    bool is_granted = event->result == RESULT_GRANTED;
    coverage->is_granted |= is_granted;
    /* Ours asks for what it is granted, and without an answer no grant is inferred. */
    const bool has_been_asked = is_granted && (ledger->scheme || event->is_inferred);
    if (asked == 0 && (failed_unasked(ledger, event) ||
                       (!has_been_asked && is_known_unasked(coverage, event->client))))
        return;
    if (asked == 0)
        (is_granted ? miss : note_unasked)(coverage, event, "nobody saw what it asked a server");
    else if (is_granted && known == 0 && !may_have_guessed(coverage, event))
        note_guess(coverage, event, "nobody saw what the servers did");
    else if (is_granted && has_taken && !has_made)
        miss(coverage, event,
             "it had taken the lock's key away: a key that is there while nobody holds the lock (a "
             "list of tokens, a semaphore) does not say who has it");
    if (is_granted)
        granted(coverage, event);
}

/* --- what was sent, and what was answered --- */

static void await(struct seen *seen, const struct event *event)
{
    const uint64_t bit = (uint64_t)1 << verb_of(event);
    if (!event_is_on(event, KEY_LOCK))
        return;
    if (event->kind == EVENT_SEND)
        seen->awaited |= bit;
    else if (event->kind == EVENT_EXECUTE || event->kind == EVENT_HEAR)
        seen->awaited &= ~bit;
}

/* "OK" is what a SET says that has written: not one that was refused. */
static bool is_refused_with_ok(const struct event *event)
{
    bool is_refused = false;
    for (int i = 0; event->effects && i < event->effects->count; i++)
        is_refused |= event->effects->on[i].did == DID_REFUSED;
    return is_refused && reply_is_ok(&event->reply) && strcmp(event->opaque->name, "SET") == 0;
}

static void compare_replies(struct coverage *coverage, const struct event *event)
{
    struct replies *replies = &coverage->clients[event->client].replies;
    if (event->opaque) {
        if (event->kind == EVENT_EXECUTE && is_refused_with_ok(event))
            miss(coverage, event, "no server refuses it and answers so: a line was changed");
        return;
    }
    if (event->kind == EVENT_EXECUTE && !verb_can_answer(event->command.verb, &event->reply))
        miss(coverage, event, "no server answers that so: a line was changed");
    else if (event->kind == EVENT_EXECUTE)
        replies_note(replies, event);
    else if (event->kind == EVENT_HEAR && !replies_explain(replies, event))
        miss(coverage, event,
             "that is not what the server was seen to answer: a line was changed or is missing");
}

/* --- what was executed --- */

static void note_key(struct seen *seen, enum did did)
{
    if (did != DID_CREATED && did != DID_OVERWRITTEN && did != DID_DELETED)
        return;
    seen->has_taken = did == DID_DELETED;
    seen->has_made = !seen->has_taken;
}

static void heard(struct coverage *coverage, const struct event *event)
{
    struct seen *seen = &seen_of(coverage, event->client)[event->server];
    coverage->has_heard = true;
    seen->is_lost |= event->reply.kind == REPLY_ERROR;
    /* An acquire asks again, gives back, and tidies up: of it any command will do. */
    const bool is_executed =
        (seen->executed & bit_of(event)) &&
        (!event->opaque || event->op == OP_ACQUIRE || (seen->opaque_ops >> event->op & 1));
    if (event_is_on(event, KEY_LOCK) && event->reply.kind != REPLY_ERROR && !is_executed)
        miss(coverage, event, "nobody saw the server execute what it was answered");
}

/* An opaque command without an effect on the lock that it names: nobody looked. */
static void executed(struct coverage *coverage, const struct event *event)
{
    struct seen *seen = &seen_of(coverage, event->client)[event->server];
    seen->executed |= bit_of(event);
    seen->opaque_ops |= event->opaque ? 1u << event->op : 0;
    bool is_told = false;
    for (int i = 0; event->effects && i < event->effects->count; i++) {
        if (event->effects->on[i].key != KEY_LOCK)
            continue;
        is_told = true;
        note_key(seen, event->effects->on[i].did);
    }
    if (event->opaque && !is_told && event->reply.kind != REPLY_ERROR)
        miss(coverage, event, "nobody saw what it did to the lock key");
}

static void note_lost(struct seen *seen, const struct event *event)
{
    const enum fault_effect effect =
        event->kind == EVENT_FAULT ? fault_effect(event->fault) : FAULT_NOT_TOLD;
    if (event->kind == EVENT_SEND || effect == FAULT_SENDS_AGAIN) {
        seen->is_lost = false;
        seen->stands_until_us = INT64_MIN;
    } else if (effect == FAULT_DELAYS) {
        seen->stands_until_us = event->time_us + event->amount_us;
    } else if (effect == FAULT_LOSES_REQUEST || effect == FAULT_GIVES_UP) {
        seen->is_lost = true;
    }
}

static void reach_changes(struct coverage *coverage, const struct event *event)
{
    const unsigned server = 1u << event->server;
    coverage->may_lose |=
        fault_blame(event->fault) == FAULT_OF_SERVER && fault_may_lose(event->fault);
    if (fault_ends_outage(event->fault))
        coverage->refuse &= ~server;
    if (fault_effect(event->fault) != FAULT_PUTS_OUT_OF_REACH ||
        fault_breaks(event->fault) != FAULT_BREAKS_ALL)
        return;
    coverage->refuse |= server;
    for (int i = 0; i < coverage->ledger->head->clients; i++)
        seen_of(coverage, i)[event->server].has_refused = true;
}

/* Who gained nothing did not ask, where it is seen to ask at other times: it may know better. */
static void answered_about_own(struct coverage *coverage, const struct event *event)
{
    if (event->kind != EVENT_RETURN || (event->op != OP_RELEASE && event->op != OP_EXTEND) ||
        coverage->clients[event->client].has_asked)
        return;
    if (result_outcome(event->result) == OUTCOME_OK)
        miss(coverage, event, "nobody saw what it asked a server");
    else if (event->result == RESULT_NOT_MINE)
        note_unasked(coverage, event, "nobody saw what it asked a server");
}

/* Does a key of that attempt stay at a server that could be asked, now that its release is over? */
static bool keeps_released(const struct coverage *coverage, const struct event *event)
{
    const struct ledger *ledger = coverage->ledger;
    const struct ledger_client *client = &ledger->clients[event->client];
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = &ledger->locks[client->lock].keys[s].grant;
        if (grant->client == event->client && grant->attempt == event->attempt &&
            grant->ending == ENDING_NONE && grant->left.is_left && grant->left.op == OP_RELEASE &&
            !(coverage->refuse >> s & 1))
            return true;
    }
    return false;
}

/* Is that not what the servers' keys say, where nothing was asked? */
static bool is_unlike_keys(const struct coverage *coverage, const struct event *event)
{
    const struct ledger *ledger = coverage->ledger;
    if (event->result == RESULT_RELEASED)
        return keeps_released(coverage, event);
    if (event->is_inferred)
        return false;
    if (event->result == RESULT_GRANTED) /* else: returned() */
        return coverage->clients[event->client].asked[OP_ACQUIRE].is_executed &&
               pair_is_untold(ledger, event->client);
    if (event->result == RESULT_NOT_MINE)
        return ledger_is_owner(ledger, event->client, event->time_us);
    if (event->result == RESULT_REFUSED)
        return ledger_was_free(ledger, event->client, event->time_us);
    return event->op == OP_EXTEND && event->result == RESULT_DONE &&
           !ledger_has_extended(ledger, event->client);
}

static bool is_awaiting(struct coverage *coverage, int client)
{
    bool is_any = false;
    for (int s = 0; s < coverage->ledger->head->servers; s++)
        is_any |= seen_of(coverage, client)[s].awaited != 0;
    return is_any;
}

static void note_asked(struct coverage *coverage, const struct event *event)
{
    const struct ledger *ledger = coverage->ledger;
    struct operation_asked *asked = &coverage->clients[event->client].asked[event->op];
    asked_note(asked, event, event->attempt == ledger->clients[event->client].attempt);
    if (event->kind == EVENT_RETURN && event->attempt == ledger->clients[event->client].attempt &&
        asked_may_lack(asked, ledger, event->result, is_awaiting(coverage, event->client)) &&
        is_unlike_keys(coverage, event))
        /* A line may be missing, or one is to come, of a client that does not wait for it. */
        note_undone(coverage, event, "nobody saw a server do what it says", UINT64_MAX);
}

void coverage_event(struct coverage *coverage, const struct event *event)
{
    const struct ledger *ledger = coverage->ledger;
    coverage->is_silent &= event->server < 0;
    if (event->kind == EVENT_FAULT && event->server >= 0)
        reach_changes(coverage, event);
    if (event->client < 0)
        return;
    answered_about_own(coverage, event);
    see_undone(coverage, event);
    if (event->op != OP_ACCESS)
        note_asked(coverage, event);
    compare_replies(coverage, event);
    if (event->kind == EVENT_CALL && event->op == OP_ACQUIRE)
        coverage->clients[event->client].is_befallen = coverage->clients[event->client].may_lose =
            false;
    if (event->kind == EVENT_FAULT) {
        coverage->clients[event->client].is_befallen = true;
        coverage->clients[event->client].may_lose |= fault_may_lose(event->fault);
    }
    coverage->has_calls |= event->kind == EVENT_CALL;
    see_guessed(coverage, event);
    if (event->attempt != ledger->clients[event->client].attempt)
        return;
    struct seen *seen = seen_of(coverage, event->client);
    bool is_of_acquire = event->op == OP_ACQUIRE;
    if (event->kind == EVENT_CALL && is_of_acquire)
        for (int s = 0; s < ledger->head->servers; s++)
            seen[s] = (struct seen){.has_refused = coverage->refuse >> s & 1,
                                    .stands_until_us = INT64_MIN};
    bool is_seen = event->kind == EVENT_SEND || event->kind == EVENT_EXECUTE ||
                   event->kind == EVENT_FAULT; /* that befell what it asked */
    if (is_seen && event->server >= 0) {
        seen[event->server].is_asked = true;
        coverage->clients[event->client].has_asked = true;
        note_lost(&seen[event->server], event);
    }
    if (event->server >= 0) {
        coverage->servers |= 1u << event->server;
        await(&seen[event->server], event);
    }
    if (event->kind == EVENT_EXECUTE && event_is_on(event, KEY_LOCK))
        executed(coverage, event);
    if (event->kind == EVENT_HEAR)
        heard(coverage, event);
    if (event->kind == EVENT_RETURN && is_of_acquire)
        returned(coverage, event);
}

const char *coverage_gap(const struct coverage *coverage)
{
    const struct ledger *ledger = coverage->ledger;
    const unsigned all = (1u << ledger->head->servers) - 1;
    if (coverage->is_missing)
        return coverage->words;
    for (int i = 0; i < ledger->head->clients; i++) {
        const struct coverage_client *client = &coverage->clients[i];
        if (client->guessed)
            return client->guessed;
        if (client->undone.words)
            return client->undone.words;
        if (client->unasked && !client->has_asked)
            return client->unasked;
    }
    if (coverage->has_calls && coverage->is_silent)
        return "somebody called, and no server is spoken of";
    if (ledger->quorum > 1 && coverage->is_granted && coverage->servers != all)
        return "one of the servers is never spoken of, and nobody saw what it did";
    return NULL;
}
