/* always_expires.c - a key of a scheme that promises expiry always has one.
 *
 * Between SETNX and EXPIRE it has none, and nobody can blame that; so a key is judged when an
 * operation of its writer has returned, when its writer is dead, and at the end (where a writer
 * that is still acquiring gets one lease more: the history may have been stopped at that
 * moment).
 *
 * Where operations are concluded from commands, SETNX is one, and EXPIRE the next: then a key is
 * judged when its writer goes on to something else, or lets a second pass before. */
#include "checks/property.h"

#include "base/memory.h"

enum { SOON_US = 1000000 };

#define ENDLESS "and the key has no time to live: it never goes by itself"

struct always_expires {
    int64_t *judged;           /* one a lock and server: the last grant that was put down here */
    bool saw_command, saw_ttl; /* of a foreign library: it gives its keys expiries */
};

static void *make(const struct ledger *ledger)
{
    size_t keys = (size_t)ledger->head->locks * (size_t)ledger->head->servers;
    struct always_expires *made = memory_new(1, sizeof *made + keys * sizeof *made->judged);
    made->judged = (int64_t *)(made + 1);
    for (size_t i = 0; i < keys; i++)
        made->judged[i] = NO_INDEX;
    return made;
}

/* Another one took its expiry away. */
static bool was_removed(const struct grant *grant)
{
    return grant->is_touched && grant->touch.did == DID_UNEXPIRED;
}

static void judge(struct monitor *monitor, int lock, int server, int64_t index, const char *words)
{
    const struct ledger *ledger = monitor->ledger;
    struct always_expires *self = monitor->state;
    const struct ledger_key *key = &ledger->locks[lock].keys[server];
    const struct grant *grant = &key->grant;
    int64_t *judged = &self->judged[lock * ledger->head->servers + server];
    if (!key->is_present || key->expire_us != NEVER_US || grant->client == NOBODY ||
        *judged == grant->index)
        return;
    *judged = grant->index;
    struct finding *finding = &monitor->finding;
    if (!finding_hit(finding, CAUSE_NO_EXPIRY, index))
        return;
    const char *name = client_name(ledger, grant->client);
    finding_say(finding, "%s wrote the lock key at %s (%s).", name, MS(grant->time_us),
                SENT(&grant->sent));
    if (grant->is_touched)
        finding_say(finding, "%s sent %s at %s.", client_name(ledger, grant->touch.client),
                    SENT(&grant->touch.sent), MS(grant->touch.time_us));
    finding_say(finding, "%s.", words);
    finding_say(finding, "No expiry in %s.",
                was_removed(grant) ? client_name(ledger, grant->touch.client) : name);
}

static void note_ttl(struct always_expires *self, const struct event *event)
{
    const struct key_effect effect = change_on(event, KEY_LOCK);
    self->saw_ttl |= effect.has_ttl && effect.ttl_us > 0;
}

/* Has it returned, and gave the key all that it gives it? */
static bool is_over(const struct event *event)
{
    return event->kind == EVENT_RETURN && !(event->is_inferred && event->op == OP_ACQUIRE);
}

static void event(struct monitor *monitor, const struct event *event)
{
    const struct ledger *ledger = monitor->ledger;
    struct always_expires *self = monitor->state;
    if (event->kind == EVENT_EXECUTE) {
        self->saw_command = true;
        if (!ledger->is_stated)
            note_ttl(self, event);
    }
    bool is_death =
        event->kind == EVENT_FAULT && event->client >= 0 && ledger->clients[event->client].is_dead;
    const bool is_inferred = event->is_inferred && event->kind == EVENT_CALL;
    if (!ledger->has_endless || event->client < 0 || !(is_inferred || is_death || is_over(event)))
        return;
    const struct ledger_client *client = &ledger->clients[event->client];
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = &ledger->locks[client->lock].keys[s].grant;
        const bool is_soon = event->op == OP_EXTEND && event->time_us - grant->time_us <= SOON_US;
        if (grant->client == event->client && grant->ending == ENDING_NONE &&
            !(is_inferred && (is_soon || was_removed(grant))))
            judge(monitor, client->lock, s, event->index,
                  is_death ? "It crashed, " ENDLESS
                  : is_inferred
                      ? "Its next command came before the key had a time to live: had it stopped "
                        "between the two, the lock would never have gone by itself"
                      : "Its operation has returned, " ENDLESS);
    }
}

static void finish(struct monitor *monitor, int64_t end_us)
{
    const struct ledger *ledger = monitor->ledger;
    for (int lock = 0; lock < ledger->head->locks; lock++)
        for (int s = 0; s < ledger->head->servers; s++) {
            const struct grant *grant = &ledger->locks[lock].keys[s].grant;
            if (grant->index == NO_INDEX || grant->client == NOBODY)
                continue;
            const struct ledger_client *writer = &ledger->clients[grant->client];
            bool is_under_way = writer->is_acquiring && writer->attempt == grant->attempt;
            if (!is_under_way || end_us - grant->time_us > ledger->lease_us)
                judge(monitor, lock, s, ledger->index, "The history has ended, " ENDLESS);
        }
}

static const char *excused(const struct monitor *monitor)
{
    const struct ledger *ledger = monitor->ledger;
    const struct always_expires *self = monitor->state;
    if (ledger->is_stated ? ledger_promises(ledger, PROMISE_EXPIRY)
                          : self->saw_ttl || !self->saw_command)
        return NULL;
    return "the scheme does not promise that its keys expire";
}

const struct property_rules rules_always_expires = {
    .make = make, .event = event, .finish = finish, .excused = excused};
