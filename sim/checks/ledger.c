/* ledger.c - see ledger.h: its beginning and its end, and what is asked of it. */
#include "checks/ledger_parts.h"

#include "base/memory.h"

#include <stdlib.h>

/* Of a foreign lock of which nobody says it, the benefit of the doubt. */
static unsigned promises_of(const struct history_head *head, const struct scheme *scheme)
{
    if (scheme) {
        bool renews = scheme->promises_notice || scheme_is_plugin(scheme);
        return (scheme->promises_expiry ? PROMISE_EXPIRY : 0) |
               (scheme->promises_notice ? PROMISE_NOTICE : 0) |
               (scheme->mints_fence ? PROMISE_FENCE : 0) | (renews ? PROMISE_EXTENDS : 0) |
               (scheme->promises_token ? PROMISE_TOKEN : 0) |
               (scheme->needs_quorum ? PROMISE_QUORUM : 0);
    }
    if (head->has_promises)
        return head->promises;
    return PROMISE_EXPIRY | PROMISE_EXTENDS | PROMISE_TOKEN |
           (head->servers > 1 ? PROMISE_QUORUM : 0);
}

const char *ledger_impossible(const struct ledger *ledger)
{
    return ledger->impossible[0] ? ledger->impossible : NULL;
}

const char *ledger_strange(const struct ledger *ledger)
{
    return ledger->strange[0] ? ledger->strange : NULL;
}

const char *ledger_stranger(const struct ledger *ledger)
{
    return ledger->stranger[0] ? ledger->stranger : NULL;
}

bool ledger_promises(const struct ledger *ledger, enum promise promise)
{
    return ledger->promises & promise;
}

const char *ledger_untold(const struct ledger *ledger)
{
    if (ledger->has_told || !ledger->has_inferred)
        return NULL;
    return "what the clients were told nobody saw: it was inferred from the wire";
}

void ledger_init(struct ledger *ledger, const struct history_head *head,
                 const struct scheme *scheme, void (*take)(void *context, const struct fact *fact),
                 void *context)
{
    *ledger = (struct ledger){.head = head,
                              .scheme = scheme,
                              .promises = promises_of(head, scheme),
                              .is_stated = scheme || head->has_promises,
                              .lease_us = head->lease_us,
                              .unit_us = head->unit_us,
                              .error_us = head->clock_error_us,
                              .is_closed = head->is_closed || head_is_simulated(head),
                              .index = NO_INDEX,
                              .take = take,
                              .context = context};
    ledger->quorum = ledger_promises(ledger, PROMISE_QUORUM) ? head->servers / 2 + 1 : 1;
    ledger->has_stamps = scheme && scheme->uses_client_clock;
    ledger->has_leases = !scheme && ledger_promises(ledger, PROMISE_LEASES);
    ledger->has_lease =
        ledger->has_leases ||
        (head->lease_us > 0 && (ledger_promises(ledger, PROMISE_EXPIRY) || ledger->has_stamps));
    ledger_unseen_init(ledger);
    size_t servers = (size_t)head->servers;
    ledger->clients = memory_new((size_t)head->clients, sizeof *ledger->clients);
    for (int i = 0; i < head->clients; i++)
        ledger_client_init(&ledger->clients[i], head->servers);
    ledger->locks = memory_new((size_t)head->locks, sizeof *ledger->locks);
    for (int i = 0; i < head->locks; i++) {
        struct ledger_lock *lock = &ledger->locks[i];
        lock->first_holder = NOBODY;
        lock->busy_index = NO_INDEX;
        lock->keys = memory_new(servers, sizeof *lock->keys);
        lock->pasts = memory_new(servers, sizeof *lock->pasts);
        for (size_t s = 0; s < servers; s++)
            lock->keys[s].grant.index = lock->keys[s].previous.index = NO_INDEX;
    }
}

void ledger_close(struct ledger *ledger)
{
    for (int i = 0; i < ledger->head->clients; i++)
        ledger_client_close(&ledger->clients[i]);
    for (int i = 0; i < ledger->head->locks; i++) {
        free(ledger->locks[i].keys);
        free(ledger->locks[i].pasts);
        free(ledger->locks[i].replicas.keys);
        free(ledger->locks[i].replicas.is_kept);
        free(ledger->locks[i].snapshots.keys);
        free(ledger->locks[i].snapshots.is_kept);
        free(ledger->locks[i].waiting);
    }
    free(ledger->clients);
    free(ledger->locks);
    free(ledger->unseen);
}

void ledger_tell(struct ledger *ledger, enum fact_kind kind, const struct event *event, int lock,
                 int server, int client, const struct grant *grant)
{
    const struct fact fact = {.kind = kind,
                              .event = event,
                              .time_us = event ? event->time_us : 0,
                              .index = event ? event->index : ledger->index,
                              .lock = lock,
                              .server = server,
                              .client = client,
                              .grant = grant};
    ledger->take(ledger->context, &fact);
}

void ledger_finish(struct ledger *ledger, int64_t end_us)
{
    for (int i = 0; i < ledger->head->locks; i++)
        ledger_settle(ledger, i);
    ledger_settle_doubts(ledger);
    for (int i = 0; i < ledger->head->locks; i++) {
        for (int s = 0; s < ledger->head->servers; s++) {
            const struct ledger_key *key = &ledger->locks[i].keys[s];
            if (key->is_present && key->expire_us != NEVER_US && key->latest_us < end_us)
                ledger_gone(ledger, NULL, i, s, end_us);
        }
    }
}

/* --- questions --- */

const struct grant *ledger_grant(const struct ledger *ledger, int client, int server)
{
    const struct ledger_client *who = &ledger->clients[client];
    const struct grant *last = &ledger->locks[who->lock].keys[server].grant;
    if (last->ending == ENDING_NONE && grant_is_of(last, client, who->attempt))
        return last;
    return &who->grants[server];
}

bool ledger_is_given_back(const struct ledger *ledger, const struct grant *grant)
{
    const struct change *by = &grant->by;
    if (grant->ending != ENDING_DELETED || by->client != grant->client ||
        by->attempt != grant->attempt || by->op != OP_ACQUIRE || by->repeat == REPEAT_COPIED)
        return false;
    const struct ledger_client *client = &ledger->clients[grant->client];
    return client->attempt == grant->attempt &&
           (client->held_index == NO_INDEX || grant->ended_index < client->held_index);
}

bool ledger_is_free(const struct ledger *ledger, int lock, int64_t time_us)
{
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct ledger_key *key = &ledger->locks[lock].keys[s];
        if (key->is_present && time_us <= key->latest_us)
            return false;
    }
    return true;
}

bool ledger_was_free(const struct ledger *ledger, int number, int64_t time_us)
{
    const struct ledger_client *client = &ledger->clients[number];
    return ledger->quorum == 1 && client->was_free &&
           ledger->locks[client->lock].busy_index < client->call_index &&
           ledger_is_free(ledger, client->lock, time_us);
}

bool ledger_is_leftover(const struct ledger *ledger, const struct grant *grant, int client)
{
    const struct ledger_client *who = &ledger->clients[client];
    return grant->index != NO_INDEX && grant->client == client && grant->attempt != who->attempt &&
           grant->attempt > who->former_attempt;
}

bool ledger_is_owner(const struct ledger *ledger, int client, int64_t time_us)
{
    int owned = 0;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = ledger_grant(ledger, client, s);
        owned += grant->index != NO_INDEX && grant->ending == ENDING_NONE &&
                 (grant->until_us == NEVER_US || time_us + ledger->error_us < grant->until_us);
    }
    return owned >= ledger->quorum;
}

int64_t ledger_owned_index(const struct ledger *ledger, int client, int attempt)
{
    const struct ledger_client *who = &ledger->clients[client];
    if (attempt == who->attempt)
        return who->owned_index;
    return attempt == who->previous ? who->previous_owned_index : NO_INDEX;
}
