/* fence_order.c - fencing tokens grow with grants; the resource accepts no stale write and refuses
 * no fresh one.
 *
 * A write is stale when the writer's lock was over at the server, another client had been granted
 * it since, and that one had written already: then the resource could have known. Without fences it
 * never can. */
#include "checks/cause.h"
#include "checks/property.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum { RECENT_MAX = 16 }; /* grants whose replies may still cross */

struct minted {
    int64_t grant; /* its index; NO_INDEX: none */
    int64_t fence;
    int client;
    int64_t time_us;
    int64_t over_index; /* what that client had was gone, and no acquire of its own took its place;
                           NO_INDEX: not yet */
};

/* The largest number that a server is known to have reached, and when. */
struct reached {
    int64_t number, time_us;
};

struct lock_fences {
    struct minted recent[RECENT_MAX];
    int next;
    struct minted highest; /* of those that are no longer in recent */
    struct minted newest;  /* the newest grant that has written; time_us: of the write */
    int64_t forgot_index;  /* the last time that a server forgot its keys */
    bool has_reset;        /* a client of the history wrote the counter other than by counting */
    bool is_counted_anew;  /* the counter went back: the resource may know larger numbers */
    int64_t largest;       /* that the resource ever accepted; 0: none */
    int64_t of_before;  /* the largest that it accepted of a grant of before a server had forgotten
                           its keys, which may come back with a snapshot; 0: none */
    int64_t of_unknown; /* the same, of a grant too long ago to know who is newer; 0: none */
    struct reached counted[SERVERS_MAX], accepted[SERVERS_MAX];
};

struct fence_order {
    bool saw_fence, saw_write, saw_fenced_write;
    bool is_impossible; /* a number went back where no server can have forgotten it */
    int *attempts; /* each client's last, when a server forgot its keys last; behind the locks */
    struct lock_fences locks[];
};

static void *make(const struct ledger *ledger)
{
    size_t locks = (size_t)ledger->head->locks;
    size_t clients = (size_t)ledger->head->clients;
    struct fence_order *made = memory_new(1, sizeof *made + locks * sizeof *made->locks +
                                                 clients * sizeof *made->attempts);
    made->attempts = (int *)&made->locks[locks];
    for (size_t i = 0; i < locks; i++) {
        struct lock_fences *lock = &made->locks[i];
        for (int k = 0; k < RECENT_MAX; k++)
            lock->recent[k].grant = lock->recent[k].over_index = NO_INDEX;
        lock->highest.grant = lock->newest.grant = lock->forgot_index = NO_INDEX;
        lock->highest.over_index = NO_INDEX;
    }
    return made;
}

/* --- a server that forgot --- */

/* Neither an INCR nor a fenced write can go below what the same server had reached before: if it
 * does, the server has forgotten that, whatever made it. Replies may cross: only what was over when
 * the later one began is before it. */
static bool goes_back(struct reached *reached, const struct event *event, int64_t number,
                      int64_t limit)
{
    bool is_precise = event->from_us == event->time_us;
    bool is_later =
        event->from_us > reached->time_us || (is_precise && event->from_us == reached->time_us);
    if (reached->number > limit && is_later) {
        *reached = (struct reached){.number = number, .time_us = event->time_us};
        return true;
    }
    if (number > reached->number)
        *reached = (struct reached){.number = number, .time_us = event->time_us};
    return false;
}

static void forget(struct monitor *monitor, struct lock_fences *lock, const struct event *event)
{
    struct fence_order *self = monitor->state;
    for (int i = 0; i < monitor->ledger->head->clients; i++)
        self->attempts[i] = monitor->ledger->clients[i].attempt;
    lock->forgot_index = event->index;
    lock->newest.grant = NO_INDEX;
}

/* What no fault made, in a history that tells of all who write, no server has forgotten: then it
 * answered what none can. */
static bool is_forgotten(struct monitor *monitor, const struct lock_fences *lock,
                         const struct key_effect *effect)
{
    struct fence_order *self = monitor->state;
    if (!monitor->ledger->is_closed || lock->forgot_index != NO_INDEX ||
        effect->before == BEFORE_ABSENT)
        return true;
    self->is_impossible = true;
    return false;
}

/* The history says so itself. */
static void restarted(struct monitor *monitor, struct lock_fences *lock, const struct event *event)
{
    forget(monitor, lock, event);
    if (event->server >= 0)
        lock->counted[event->server] = lock->accepted[event->server] = (struct reached){0};
}

/* Is that the next number, and not whatever somebody wrote? What counts says how far it has come,
 * or is seen to go on. */
static bool counts(const struct key_effect *effect)
{
    bool goes_on = change_knows_old(effect)          ? effect->new_value > effect->old_value
                   : effect->before == BEFORE_ABSENT ? effect->new_value > 0
                                                     : effect->is_told;
    return change_is_write(effect) && goes_on;
}

/* The next fencing token of that server. */
static void counted(struct monitor *monitor, const struct event *event)
{
    struct fence_order *self = monitor->state;
    struct lock_fences *lock = &self->locks[event->lock];
    if (!change_may_be_on(event, KEY_FENCE))
        return;
    const struct key_effect effect = change_on(event, KEY_FENCE);
    int64_t number = effect.new_value;
    bool is_count = counts(&effect);
    lock->has_reset |= change_is_any(&effect) && !is_count;
    if (!is_count || number <= 0 || lock->has_reset)
        return;
    if (!goes_back(&lock->counted[event->server], event, number, number - 1) ||
        !is_forgotten(monitor, lock, &effect))
        return;
    lock->is_counted_anew = true;
    forget(monitor, lock, event);
}

/* --- tokens grow with grants --- */

static void disorder(struct monitor *monitor, const struct fact *fact, const struct minted *first,
                     const struct minted *second)
{
    const struct ledger *ledger = monitor->ledger;
    const struct fence_order *self = monitor->state;
    bool is_forgotten = self->locks[fact->lock].forgot_index > first->grant;
    struct finding *finding = &monitor->finding;
    enum cause cause = is_forgotten ? CAUSE_LOST_GRANT : CAUSE_FENCE_DISORDER;
    if (!finding_hit(finding, cause, fact->index))
        return;
    const char *one = client_name(ledger, first->client);
    const char *two = client_name(ledger, second->client);
    finding_say(finding, "%s got the lock at %s and carries the fencing token %lld.", one,
                MS(first->time_us), (long long)first->fence);
    finding_say(finding, "%s got it after that, at %s, and carries %lld, which is not larger.", two,
                MS(second->time_us), (long long)second->fence);
    if (is_forgotten)
        finding_say(finding, "Between them a server forgot its keys, the counter too.");
    finding_say(finding, "%s: a resource that trusts the tokens takes %s for the newer holder.",
                cause_title(cause), one);
}

/* Was it granted once, and entered again, be it that it was lost since? */
static bool may_be_one(const struct ledger *ledger, const struct minted *one,
                       const struct minted *two)
{
    const bool was_over = one->over_index != NO_INDEX && one->over_index <= two->grant;
    return ledger->quorum > 1 ? ledger_may_reenter(ledger, two->client)
                              : !ledger->head->refuses_holder && !was_over;
}

static void compare(struct monitor *monitor, const struct fact *fact, const struct minted *one,
                    const struct minted *two)
{
    if (one->grant == NO_INDEX || one->grant == two->grant)
        return;
    if (one->client == two->client && one->fence == two->fence &&
        may_be_one(monitor->ledger, one, two))
        return;
    if (one->grant < two->grant && one->fence >= two->fence)
        disorder(monitor, fact, one, two);
    else if (one->grant > two->grant && one->fence <= two->fence)
        disorder(monitor, fact, two, one);
}

static void note_over(struct minted *minted, const struct grant *grant)
{
    if (minted->client == grant->client && minted->over_index == NO_INDEX)
        minted->over_index = grant->ended_index;
}

/* What is granted to that client from here on is granted anew. */
static void ended(struct monitor *monitor, const struct fact *fact)
{
    struct fence_order *self = monitor->state;
    struct lock_fences *lock = &self->locks[fact->lock];
    const struct grant *grant = fact->grant;
    if (grant->client == NOBODY ||
        (grant->ending == ENDING_TAKEN && grant->by.client == grant->client))
        return;
    for (int i = 0; i < RECENT_MAX; i++)
        note_over(&lock->recent[i], grant);
    note_over(&lock->highest, grant);
}

static void fact(struct monitor *monitor, const struct fact *fact)
{
    struct fence_order *self = monitor->state;
    if (fact->kind == FACT_ENDED && monitor->ledger->quorum == 1)
        ended(monitor, fact);
    if (fact->kind != FACT_HOLD)
        return;
    const struct ledger_client *client = &monitor->ledger->clients[fact->client];
    if (client->fence == 0)
        return;
    struct lock_fences *lock = &self->locks[fact->lock];
    bool is_known = client->owned_index != NO_INDEX;
    const struct minted minted = {.grant = is_known ? client->owned_index : client->held_index,
                                  .fence = client->fence,
                                  .client = fact->client,
                                  .time_us = is_known ? client->owned_us : client->held_us,
                                  .over_index = is_known ? client->disowned_index : NO_INDEX};
    self->saw_fence = true;
    compare(monitor, fact, &lock->highest, &minted);
    for (int i = 0; i < RECENT_MAX; i++)
        compare(monitor, fact, &lock->recent[i], &minted);
    struct minted *oldest = &lock->recent[lock->next];
    if (oldest->grant != NO_INDEX &&
        (lock->highest.grant == NO_INDEX || oldest->fence > lock->highest.fence))
        lock->highest = *oldest;
    *oldest = minted;
    lock->next = (lock->next + 1) % RECENT_MAX;
}

/* --- the resource --- */

static bool was_disowned(const struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    return client->attempt != event->attempt || client->disowned_index != NO_INDEX;
}

static void say_write(struct monitor *monitor, const struct event *event, enum cause cause,
                      const char *what)
{
    const struct ledger *ledger = monitor->ledger;
    const struct fence_order *self = monitor->state;
    const struct minted *newest = &self->locks[event->lock].newest;
    struct finding *finding = &monitor->finding;
    if (!finding_hit(finding, cause, event->index))
        return;
    const char *name = client_name(ledger, event->client);
    const struct grant *grant = ledger_grant(ledger, event->client, 0);
    if (grant->index != NO_INDEX && grant->attempt == event->attempt) {
        grant_explain(ledger, grant, finding);
        if (grant->ending != ENDING_NONE)
            finding_say(finding, "It was over at %s.", MS(grant->ended_us));
    }
    if (newest->grant != NO_INDEX && newest->client != event->client)
        finding_say(finding, "%s, granted later, wrote the resource at %s.",
                    client_name(ledger, newest->client), MS(newest->time_us));
    struct quote sent;
    ledger_quote(&sent, event);
    finding_say(finding, "%s sent %s, executed at %s: %s.", name, SENT(&sent), MS(event->time_us),
                what);
    finding_say(finding, "%s of %s.", cause_title(cause), name);
}

static void accepted_older(struct monitor *monitor, const struct event *event,
                           const struct key_effect *effect)
{
    char what[120];
    (void)snprintf(what, sizeof what,
                   "it carries the fence %lld, and the resource, which had accepted %lld, accepted "
                   "it",
                   (long long)effect->fence, (long long)effect->old_value);
    say_write(monitor, event, CAUSE_STALE_WRITE, what);
}

/* Is that token of before a server forgot the counter? Where its grant is too long ago, the attempt
 * tells. */
static bool is_of_before(const struct monitor *monitor, const struct event *event, int64_t grant)
{
    const struct fence_order *self = monitor->state;
    const struct lock_fences *lock = &self->locks[event->lock];
    return lock->forgot_index != NO_INDEX &&
           (grant != NO_INDEX ? grant < lock->forgot_index
                              : event->attempt <= self->attempts[event->client]);
}

/* Is it refused because of such a token? Of one that is of before itself, a server may have
 * forgotten the counter behind it, too; tokens out of order are told as such when they are granted.
 */
static bool is_counted_again(const struct lock_fences *lock, const struct event *event,
                             int64_t fence, bool is_older)
{
    return lock->of_before > fence || (is_older && lock->largest > fence) ||
           (lock->is_counted_anew && lock->accepted[event->server].number > fence);
}

static void written(struct monitor *monitor, const struct event *event,
                    const struct key_effect *effect)
{
    const struct ledger *ledger = monitor->ledger;
    struct fence_order *self = monitor->state;
    bool is_fenced = effect->has_fence;
    bool is_accepted = change_is_write(effect);
    if (!is_accepted && !(is_fenced && effect->did == DID_REFUSED))
        return;
    self->saw_write = true;
    self->saw_fenced_write |= is_fenced;
    int64_t fence = effect->fence;
    /* It had a larger one at that very moment, so it has forgotten nothing. */
    bool knows_better = is_fenced && change_knows_old(effect) && effect->old_value > fence;
    if (is_accepted && knows_better) {
        accepted_older(monitor, event, effect);
        return;
    }
    if (is_fenced && is_accepted &&
        goes_back(&self->locks[event->lock].accepted[event->server], event, fence, fence) &&
        is_forgotten(monitor, &self->locks[event->lock], effect))
        forget(monitor, &self->locks[event->lock], event);
    int64_t grant = ledger_owned_index(ledger, event->client, event->attempt);
    struct lock_fences *lock = &self->locks[event->lock];
    bool is_older = is_fenced && is_of_before(monitor, event, grant);
    if (is_accepted && fence > lock->largest)
        lock->largest = fence;
    if (is_accepted && is_older && fence > lock->of_before)
        lock->of_before = fence;
    if (is_accepted && is_fenced && grant == NO_INDEX && fence > lock->of_unknown)
        lock->of_unknown = fence;
    if (grant == NO_INDEX)
        return;
    struct minted *newest = &lock->newest;
    bool is_stale = newest->grant > grant && event->from_us >= newest->time_us;
    if (is_accepted && is_stale && was_disowned(ledger, event))
        say_write(monitor, event, is_older ? CAUSE_LOST_GRANT : CAUSE_STALE_WRITE,
                  is_older ? "the resource accepted this stale write: a server forgot the "
                             "counter of the tokens, which began anew"
                           : "the resource accepted this stale write");
    bool is_reset = is_counted_again(lock, event, fence, is_older);
    /* What came back with the server may be of a newer holder that is not known any more. */
    bool is_newest = newest->grant <= grant && (newest->grant != NO_INDEX || !is_older) &&
                     (is_reset || lock->of_unknown <= fence);
    if (!is_accepted && is_newest)
        say_write(monitor, event, is_reset ? CAUSE_LOST_GRANT : CAUSE_FENCE_DISORDER,
                  is_reset ? "the resource refused the newest holder's write: a server forgot the "
                             "counter of the tokens, which began anew"
                           : "the resource refused the newest holder's write");
    if (is_accepted && newest->grant <= grant)
        *newest =
            (struct minted){.grant = grant, .client = event->client, .time_us = event->time_us};
}

static void event(struct monitor *monitor, const struct event *event)
{
    struct fence_order *self = monitor->state;
    if (event->kind == EVENT_EXECUTE && event->server >= 0)
        counted(monitor, event);
    if (event->kind == EVENT_EXECUTE && event_is_on(event, KEY_RESOURCE)) {
        const struct key_effect effect = change_on(event, KEY_RESOURCE);
        written(monitor, event, &effect);
    }
    if (event->kind == EVENT_FAULT && fault_forgets(event->fault))
        for (int i = 0; i < monitor->ledger->head->locks; i++)
            restarted(monitor, &self->locks[i], event);
}

static const char *excused(const struct monitor *monitor)
{
    const struct ledger *ledger = monitor->ledger;
    const struct fence_order *self = monitor->state;
    if (!ledger->scheme && ledger->is_stated && !ledger_promises(ledger, PROMISE_FENCE))
        return "the lock does not promise a fencing token";
    if (ledger_promises(ledger, PROMISE_FENCE) || self->saw_fence || self->saw_write)
        return NULL;
    return "no fencing tokens, and nobody wrote the guarded resource";
}

static const char *unproved(const struct monitor *monitor)
{
    const struct ledger *ledger = monitor->ledger;
    const struct fence_order *self = monitor->state;
    if (self->is_impossible)
        return "the counter of the fencing tokens, or the resource, went back, and no server "
               "forgot "
               "its keys: no server can have answered so to which nobody else writes";
    if (ledger->scheme || self->saw_fence || self->saw_fenced_write ||
        !ledger_promises(ledger, PROMISE_FENCE))
        return NULL;
    return "the lock promises fencing tokens, and no grant was told with one";
}

const struct property_rules rules_fence_order = {.make = make,
                                                 .event = event,
                                                 .fact = fact,
                                                 .excused = excused,
                                                 .unproved = unproved,
                                                 .is_about_grants = true};
