/* progress.c - a free, or dead holder's, lock can be acquired within its lease plus a bound; nobody
 * waits for ever.
 *
 * Stuck is: an acquire is told that the lock is taken, or goes on trying, while nobody believes to
 * hold it, and more than a lease and a bound of one more have passed since its last sign of life.
 * A key without an expiry whose writer is gone never goes: one lease is enough to say so. Who still
 * believes, however wrongly, or hangs, is not stuck.
 *
 * A sign of life is a belief, until it ends, also by the holder's death; a grant of the lock, also
 * one that a late message made, for a key younger than its lease is not stuck; the end of an
 * attempt that was granted and is not told so, or of a release that left the key, for until then
 * it could have been told, or have gone; of a single server the deletion of the key, for then the
 * lock was free; and a renewal that was sent while its client believed. That others try, fail or
 * die is none, nor is what keeps a key that nobody counts on.
 *
 * A quorum can be missed without a defect while messages are late or lost or servers die: there a
 * lease and a bound count from the end of the last fault, too, and not while a server is out of
 * reach, nor before somebody asks: one split vote is no defect, however long nobody had asked; who
 * took longer than its lease over one acquire has to refuse what it was granted, whatever the
 * servers said. But when so many servers keep such old keys that no majority is left, no fault is
 * an excuse.
 *
 * A server that says "taken" where no key can be there that the history knows of keeps somebody
 * unknown's: of that nobody here is to blame.
 *
 * An acquire that fails is refused in other words, if it was undisturbed: no fault since its call,
 * and no error among its replies, all of which it heard. And whoever asks alone for a free lock,
 * undisturbed, and is made its owner by the servers, must be told so: else nobody ever is.
 *
 * Nobody waits for ever, either: an acquire or a release that has nothing outstanding and no timer
 * never returns; nor does one of a process whose timers have rung for long and in vain, by the
 * bound of worker/worker_rest.c. Only the world knows of timers, so it says so (STRAND); that a
 * history ends before an operation does says nothing. */
#include "checks/property.h"

#include "base/memory.h"

#include <string.h>

enum {
    TRIES_MAX = 3,    /* an acquire that has not returned: rounds after the bound */
    PROMPT_SHARE = 4, /* an acquire is prompt that takes less than a quarter of the lease */
};

struct effort {
    int tries;         /* of the attempt under way */
    int sent, heard;   /* requests of that attempt; replies to them */
    bool has_error;    /* one of those */
    bool is_told;      /* that attempt's trying was blamed: once is enough */
    bool is_unheard;   /* a connection of its is half-open, and it has given up on nothing since */
    bool is_waiting;   /* of any operation: for a reply to what it sent last */
    int64_t called_us; /* the operation under way */
    int64_t rings;     /* of timers, since quiet_us, when it last did or heard anything */
    int64_t quiet_us;
};

struct progress_monitor {
    int64_t *faults;         /* one a lock, behind the efforts: when the last fault of it, or of a
                                server, was over */
    int64_t fault_index;     /* of the last one; NO_INDEX: none yet */
    int64_t server_index;    /* of the last one that struck a server */
    unsigned out_of_reach;   /* bit a server */
    int64_t *beliefs;        /* one a lock, behind faults: the last event that began or ended one */
    int64_t *wanted;         /* one a lock, behind beliefs: since when somebody has asked for it, */
    int64_t *asked;          /* and, behind that, when an acquire last began or ended */
    struct effort efforts[]; /* one a client */
};

enum { TIMES_A_LOCK = 4 }; /* faults, beliefs, wanted, asked */

static void *make(const struct ledger *ledger)
{
    size_t efforts_bytes = (size_t)ledger->head->clients * sizeof(struct effort);
    struct progress_monitor *made =
        memory_new(1, sizeof *made + efforts_bytes +
                          TIMES_A_LOCK * (size_t)ledger->head->locks * sizeof(int64_t));
    made->faults = (void *)&made->efforts[ledger->head->clients];
    made->beliefs = made->faults + ledger->head->locks;
    made->wanted = made->beliefs + ledger->head->locks;
    made->asked = made->wanted + ledger->head->locks;
    made->fault_index = made->server_index = NO_INDEX;
    for (int i = 0; i < ledger->head->locks; i++)
        made->beliefs[i] = NO_INDEX;
    return made;
}

/* A delay is told when it begins, with its length: until then it has not stopped. */
static int64_t over_us(const struct event *event)
{
    return event->time_us + (fault_effect(event->fault) == FAULT_DELAYS ? event->amount_us : 0);
}

static void note_fault(struct monitor *monitor, const struct event *event)
{
    struct progress_monitor *self = monitor->state;
    int locks = monitor->ledger->head->locks;
    if (fault_effect(event->fault) == FAULT_PUTS_OUT_OF_REACH)
        self->out_of_reach |= 1u << event->server;
    else if (event->server >= 0 && fault_ends_outage(event->fault))
        self->out_of_reach &= ~(1u << event->server);
    for (int i = 0; i < locks; i++)
        if ((event->client < 0 || event->lock == i) && over_us(event) > self->faults[i])
            self->faults[i] = over_us(event);
}

/* Of several servers an acquire must be done within its lease, or it has none left. */
static bool is_too_slow(const struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    return ledger->quorum > 1 && ledger->has_lease && event->kind == EVENT_RETURN &&
           event->time_us - client->call_us >= ledger->lease_us;
}

/* Who asks behind a pause of a lease in which nobody did asks for the first time: until then nobody
 * can have got it. So it is behind an acquire that took too long to get it; and one that has not
 * returned within a lease does not ask any more. */
static void note_asking(struct monitor *monitor, const struct event *event)
{
    const struct ledger *ledger = monitor->ledger;
    struct progress_monitor *self = monitor->state;
    if (event->op != OP_ACQUIRE || (event->kind != EVENT_CALL && event->kind != EVENT_RETURN))
        return;
    const bool is_behind_pause =
        event->kind == EVENT_CALL && event->time_us - self->asked[event->lock] > ledger->lease_us;
    if (is_behind_pause || is_too_slow(ledger, event))
        self->wanted[event->lock] = event->time_us;
    self->asked[event->lock] = event->time_us;
}

/* A key that never goes, and nobody who would delete it. */
static const struct grant *find_lasting(const struct ledger *ledger, int lock)
{
    const struct ledger_key *key = &ledger->locks[lock].keys[0];
    const struct grant *grant = &key->grant;
    if (ledger->has_stamps || ledger->head->servers > 1 || !key->is_present ||
        key->expire_us != NEVER_US || grant->client == NOBODY)
        return NULL;
    const struct ledger_client *writer = &ledger->clients[grant->client];
    if (writer->attempt != grant->attempt || writer->is_dead)
        return grant;
    return writer->is_acquiring || writer->is_releasing || writer->is_holding ? NULL : grant;
}

static int64_t bound_us(const struct ledger *ledger, int lock)
{
    int64_t leases = find_lasting(ledger, lock) ? 1 : PATIENCE_LEASES;
    int64_t units = ledger->has_stamps ? PATIENCE_STAMP_UNITS : 0;
    return leases * ledger->lease_us + units * ledger->unit_us + ledger->error_us;
}

/* Without so many servers there is no majority. */
static bool is_barred(const struct ledger *ledger, int servers)
{
    return servers > ledger->head->servers - ledger->quorum;
}

/* By keys that nobody whom the history knows of has written. */
static bool is_barred_by_unknown(const struct ledger *ledger, const struct ledger_client *client)
{
    int unknown = 0;
    for (int s = 0; s < ledger->head->servers; s++)
        unknown += (client->refused_unknown & 1u << s) != 0;
    return is_barred(ledger, unknown);
}

/* It said "taken" to the client's last attempt. */
static bool has_refused(const struct ledger_client *client, int server)
{
    return (client->refused | client->refused_itself) >> server & 1;
}

/* The key's owner waits for an answer: it may be told that it holds the lock, or give it back. */
static bool is_in_work(const struct monitor *monitor, int lock)
{
    const struct ledger *ledger = monitor->ledger;
    const struct progress_monitor *self = monitor->state;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = &ledger->locks[lock].keys[s].grant;
        if (grant->client == NOBODY)
            continue;
        const struct ledger_client *owner = &ledger->clients[grant->client];
        if (owner->attempt == grant->attempt && owner->owned >= ledger->quorum &&
            self->efforts[grant->client].is_waiting && (owner->is_acquiring || owner->is_releasing))
            return true;
    }
    return false;
}

/* Nobody has got the lock for so long. */
static bool is_silent(const struct monitor *monitor, const struct event *event, int lock,
                      int64_t asked_us)
{
    const struct ledger *ledger = monitor->ledger;
    const struct progress_monitor *self = monitor->state;
    if (is_too_slow(ledger, event) || (ledger->quorum > 1 && self->out_of_reach))
        return false;
    int64_t since_us = ledger->locks[lock].quiet_us;
    int64_t shifted_us = 0;
    if (ledger->quorum > 1 && self->faults[lock] > since_us)
        since_us = self->faults[lock];
    if (ledger->quorum > 1 && self->wanted[lock] > since_us)
        since_us = self->wanted[lock];
    for (int s = 0; s < ledger->head->servers; s++)
        if (ledger->locks[lock].keys[s].shifted_us > shifted_us)
            shifted_us = ledger->locks[lock].keys[s].shifted_us;
    return asked_us > since_us + bound_us(ledger, lock) + shifted_us;
}

/* Old keys that have refused that client stand in the way of every majority. */
static bool is_dead(const struct monitor *monitor, int client, int64_t asked_us)
{
    const struct ledger *ledger = monitor->ledger;
    const struct ledger_client *who = &ledger->clients[client];
    const struct ledger_lock *lock = &ledger->locks[who->lock];
    int old = 0;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct ledger_key *key = &lock->keys[s];
        int64_t since_us =
            key->grant.time_us > lock->quiet_us ? key->grant.time_us : lock->quiet_us;
        if (key->shifted_us > 0)
            since_us += key->shifted_us;
        old += has_refused(who, s) && key->is_present && asked_us <= key->latest_us &&
               asked_us > since_us + bound_us(ledger, who->lock);
    }
    return is_barred(ledger, old);
}

static void hit(struct monitor *monitor, const struct event *event, int lock)
{
    const struct ledger *ledger = monitor->ledger;
    struct finding *finding = &monitor->finding;
    if (!finding_hit(finding, CAUSE_STUCK, event->index))
        return;
    const char *name = client_name(ledger, event->client);
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct ledger_key *key = &ledger->locks[lock].keys[s];
        const struct grant *grant = &key->grant;
        if (!key->is_present || grant->client == NOBODY)
            continue;
        const char *owner = client_name(ledger, grant->client);
        finding_say(finding, "%s's %s stands in the lock key since %s%s%s.", owner,
                    SENT(&grant->sent), MS(grant->time_us),
                    key->expire_us == NEVER_US && !ledger->has_stamps ? " and never expires" : "",
                    ledger->clients[grant->client].is_dead ? "; its writer has crashed" : "");
        if (grant->is_touched)
            finding_say(finding, "The last to change it was %s (%s at %s).",
                        client_name(ledger, grant->touch.client), SENT(&grant->touch.sent),
                        MS(grant->touch.time_us));
    }
    finding_say(finding, "Since %s nobody believes to hold the lock; a lease is %s.",
                MS(ledger->locks[lock].quiet_us), MS(ledger->lease_us));
    finding_say(finding, "%s %s at %s, %s later.", name,
                event->kind != EVENT_RETURN       ? "was still waiting"
                : event->result == RESULT_REFUSED ? "was refused"
                                                  : "failed, undisturbed,",
                MS(event->time_us), MS(event->time_us - ledger->locks[lock].quiet_us));
    finding_say(finding, "Stuck: nobody gets the lock.");
}

static void hit_strand(struct monitor *monitor, const struct event *event)
{
    const struct ledger *ledger = monitor->ledger;
    const struct progress_monitor *self = monitor->state;
    struct finding *finding = &monitor->finding;
    if (!finding_hit(finding, CAUSE_ENDLESS_WAIT, event->index))
        return;
    const char *name = client_name(ledger, event->client), *op = operation_name(event->op);
    const struct effort *effort = &self->efforts[event->client];
    finding_say(finding, "%s called %s at %s.", name, op, MS(effort->called_us));
    if (effort->rings > 0)
        finding_say(finding,
                    "Since %s it waits for ever: no answer to it will come, and timers of its have "
                    "rung %lld times by %s, and none has sent anything.",
                    MS(effort->quiet_us), (long long)effort->rings, MS(event->time_us));
    else
        finding_say(
            finding,
            "Since %s it waits for ever: no answer to it will come, and no timer of its runs.",
            MS(event->time_us));
    finding_say(finding, "Endless wait of %s: its %s never returns.", name, op);
}

/* A history that was cut may begin in the middle. */
static bool is_under_way(const struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    bool is_begun = event->op == OP_ACQUIRE ? client->is_acquiring : client->is_releasing;
    return is_begun && event->attempt == client->attempt;
}

/* --- an attempt --- */

static void follow(struct progress_monitor *self, const struct ledger_client *client,
                   const struct event *event)
{
    struct effort *effort = &self->efforts[event->client];
    if (event->kind == EVENT_SEND || event->kind == EVENT_HEAR)
        effort->is_waiting = event->kind == EVENT_SEND;
    if (event->kind == EVENT_FAULT &&
        (event->fault == FAULT_HALF_OPEN || event->fault == FAULT_GIVE_UP))
        effort->is_unheard = event->fault == FAULT_HALF_OPEN;
    if (event->kind == EVENT_WAKE) {
        effort->rings++;
    } else if (event->kind != EVENT_STRAND) {
        effort->rings = 0;
        effort->quiet_us = event->time_us;
    }
    bool is_of_acquire = client->is_acquiring && event->attempt == client->attempt;
    if (event->kind == EVENT_CALL)
        effort->called_us = event->time_us;
    if (event->kind == EVENT_CALL && event->op == OP_ACQUIRE) {
        effort->tries = effort->sent = effort->heard = 0;
        effort->has_error = effort->is_told = false;
    }
    if (event->kind == EVENT_SEND && is_of_acquire)
        effort->sent++;
    if (event->kind != EVENT_HEAR || !is_of_acquire)
        return;
    effort->heard++;
    effort->has_error |= event->reply.kind == REPLY_ERROR;
}

/* Nothing but the lock itself can have kept it from being granted. */
static bool is_undisturbed(const struct progress_monitor *self, const struct ledger_client *client,
                           int number)
{
    const struct effort *effort = &self->efforts[number];
    return effort->heard > 0 && effort->heard == effort->sent && !effort->has_error &&
           self->fault_index < client->call_index;
}

/* The lock was free when it asked, the servers have made it the owner, and it is not told so. */
static bool is_denied(const struct monitor *monitor, const struct event *event)
{
    const struct ledger *ledger = monitor->ledger;
    const struct ledger_client *client = &ledger->clients[event->client];
    const struct progress_monitor *self = monitor->state;
    return client->was_free && self->beliefs[client->lock] < client->call_index &&
           ledger->locks[client->lock].holders == 0 &&
           event->time_us - client->call_us < ledger->lease_us / PROMPT_SHARE &&
           ledger_is_owner(ledger, event->client, event->time_us) &&
           is_undisturbed(monitor->state, client, event->client);
}

static void hit_denied(struct monitor *monitor, const struct event *event)
{
    const struct ledger *ledger = monitor->ledger;
    struct finding *finding = &monitor->finding;
    if (!finding_hit(finding, CAUSE_STUCK, event->index))
        return;
    const struct ledger_client *client = &ledger->clients[event->client];
    const char *name = client_name(ledger, event->client);
    finding_say(finding, "The lock was free when %s asked for it at %s, and nobody holds it.", name,
                MS(client->call_us));
    finding_say(finding, "%s got it from the server at %s, has heard every reply, and says \"%s\".",
                name, MS(client->owned_us), result_name(event->result));
    finding_say(finding, "Stuck: nobody can ever acquire the lock like that.");
}

/* Refused by no key, and where none is: somebody had the lock since it asked, and what it has read
 * was changed (WATCH). The next attempt need not be. */
static bool is_overtaken(const struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    const struct ledger_lock *lock = &ledger->locks[client->lock];
    return ledger->head->servers == 1 && !has_refused(client, 0) &&
           (!client->was_free || lock->busy_index >= client->call_index) &&
           ledger_is_free(ledger, client->lock, event->time_us);
}

/* It ended without the lock, and that is not a fault's doing. */
static bool is_in_vain(const struct monitor *monitor, const struct event *event)
{
    if (event->kind != EVENT_RETURN || event->op != OP_ACQUIRE)
        return false;
    const struct progress_monitor *self = monitor->state;
    const struct ledger_client *client = &monitor->ledger->clients[event->client];
    if (is_overtaken(monitor->ledger, event))
        return false;
    if (event->result == RESULT_REFUSED && client->answered_us != NEVER_US)
        return self->server_index < client->call_index;
    return event->result != RESULT_GRANTED && event->result != RESULT_UNSUPPORTED &&
           is_undisturbed(self, client, event->client);
}

/* Rounds behind the bound that say so: what one server has refused there, undisturbed, is as good
 * as an acquire that returns refused. */
static int tries_needed(const struct monitor *monitor, const struct ledger_client *client)
{
    const struct progress_monitor *self = monitor->state;
    return monitor->ledger->head->servers == 1 && client->answered_us != NEVER_US &&
                   self->server_index < client->call_index
               ? 1
               : TRIES_MAX;
}

static void event(struct monitor *monitor, const struct event *event)
{
    const struct ledger *ledger = monitor->ledger;
    struct progress_monitor *self = monitor->state;
    if (event->kind == EVENT_FAULT) {
        note_fault(monitor, event);
        self->fault_index = event->index;
        if (event->client < 0)
            self->server_index = event->index;
    }
    if (event->client < 0 || ledger->lease_us == 0)
        return;
    if ((event->kind == EVENT_RETURN && event->result == RESULT_GRANTED) ||
        (event->kind == EVENT_CALL && event->op == OP_RELEASE))
        self->beliefs[event->lock] = event->index;
    const struct ledger_client *client = &ledger->clients[event->client];
    follow(self, client, event);
    note_asking(monitor, event);
    if (event->kind == EVENT_STRAND && is_under_way(ledger, event))
        hit_strand(monitor, event);
    bool is_vain = is_in_vain(monitor, event);
    if (is_vain && is_denied(monitor, event))
        hit_denied(monitor, event);
    /* A timer that rings again before anything was sent is no try; nor is what else its process
     * does while it waits on a silent connection. */
    bool is_trying = event->kind == EVENT_WAKE && client->is_acquiring &&
                     self->efforts[event->client].rings == 1 &&
                     !self->efforts[event->client].is_unheard;
    const struct ledger_lock *lock = &ledger->locks[client->lock];
    /* What waits in the book may be a grant that it does not know of yet. */
    if ((!is_vain && !is_trying) || lock->holders > 0 || lock->waiting_count > 0)
        return;
    /* The answer counts from when the server gave it, however slowly it came. */
    int64_t asked_us = client->answered_us < event->time_us ? client->answered_us : event->time_us;
    if (!is_silent(monitor, event, client->lock, asked_us) &&
        !is_dead(monitor, event->client, asked_us))
        return;
    if (is_in_work(monitor, client->lock))
        return;
    if (is_barred_by_unknown(ledger, client)) {
        monitor->doubt = "Nobody got the lock, and somebody whom the history does not know wrote a "
                         "key, or made one last";
        return;
    }
    struct effort *effort = &self->efforts[event->client];
    if (is_trying && (effort->is_told || ++effort->tries < tries_needed(monitor, client)))
        return;
    effort->is_told |= is_trying;
    hit(monitor, event, client->lock);
}

static const char *excused(const struct monitor *monitor)
{
    return monitor->ledger->has_leases
               ? "each grant has a lease of its own: for how long a lock may be refused nobody says"
               : NULL;
}

const struct property_rules rules_progress = {.make = make, .event = event, .excused = excused};
