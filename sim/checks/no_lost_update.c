/* no_lost_update.c - the guarded counter and list show every critical section exactly once.
 *
 * A section reads the counter and writes it back plus one. A write that is not "what was there,
 * plus one" has lost an update. A write that a library sent twice is one write. When the server
 * that keeps the counter forgets its keys, what the counter says is known again when somebody has
 * read or written it; and when a section reads what nobody has written, the server has forgotten
 * them unseen, or somebody unknown has written.
 *
 * Each append is answered with how many entries the list has by then: so none may be missing, and
 * none told twice, but of appends that were not answered, or sent again. What does not fit, and a
 * write that was told "done" and that no server was seen to execute, blames nobody: a line may be
 * missing. Then it is unknown. */
#include "checks/cause.h"
#include "checks/property.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The last who wrote. */
struct writer {
    int client, attempt; /* NOBODY: none */
    int64_t value, time_us;
    bool was_holding;
};

struct guarded {
    bool is_known; /* what the counter says */
    int64_t counter;
    int server; /* that keeps it */
    struct writer last;
    int64_t pushes; /* entries of the list */
    struct writer pushed;
    int64_t appends, least, most; /* answers to appends: how many, and what they told */
    int64_t most_us;
    int64_t unsure;     /* accesses without an answer, and what may have come twice */
    bool was_forgotten; /* since an append: then no more is concluded from those */
    bool is_odd;        /* an append was answered so: */
    struct writer odd;  /* with no more entries than one before it, */
    int64_t odd_after;  /* with so many */
};

/* What a client does with the guarded data. */
struct access {
    bool is_called, is_executed, is_read;
};

/* With whom a client's hold last overlapped. */
struct company {
    int attempt; /* 0: with nobody */
    struct pair pair;
};

/* What a client's section read, where the counter was known to say something else. */
struct odd_read {
    int attempt, lock; /* attempt 0: none */
    int64_t value, time_us;
};

struct no_lost_update {
    bool saw_counter, saw_request; /* to the counter, or the list */
    struct odd_read *odd;          /* one a client */
    struct access *accesses;       /* likewise */
    int odd_count;
    char unshown[STRANGE_BYTES], listed[STRANGE_BYTES]; /* what proves too little; "" */
    struct guarded *locks;
    struct company overlaps[];
};

static void *make(const struct ledger *ledger)
{
    size_t clients = (size_t)ledger->head->clients, locks = (size_t)ledger->head->locks;
    struct no_lost_update *made = memory_new(
        1, sizeof *made + clients * sizeof *made->overlaps + clients * sizeof *made->odd +
               locks * sizeof *made->locks + clients * sizeof *made->accesses);
    made->odd = (struct odd_read *)(made->overlaps + clients);
    made->locks = (struct guarded *)(made->odd + clients);
    made->accesses = (struct access *)(made->locks + locks);
    for (size_t i = 0; i < locks; i++)
        made->locks[i].last.client = made->locks[i].pushed.client = NOBODY;
    return made;
}

static void fact(struct monitor *monitor, const struct fact *fact)
{
    const struct ledger *ledger = monitor->ledger;
    struct no_lost_update *self = monitor->state;
    if (fact->kind != FACT_HOLD)
        return;
    int other = ledger->locks[fact->lock].first_holder;
    for (; other != NOBODY; other = ledger->clients[other].next) {
        if (other == fact->client)
            continue;
        struct pair pair = pair_judge(ledger, fact->client, other);
        pair.end = NULL; /* it will not live that long */
        self->overlaps[fact->client] =
            (struct company){.attempt = ledger->clients[fact->client].attempt, .pair = pair};
        self->overlaps[other] =
            (struct company){.attempt = ledger->clients[other].attempt, .pair = pair};
    }
}

static struct writer writer_of(const struct ledger *ledger, const struct event *event,
                               int64_t value)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    return (struct writer){.client = event->client,
                           .attempt = event->attempt,
                           .value = value,
                           .time_us = event->time_us,
                           .was_holding = client->is_holding && client->attempt == event->attempt};
}

static bool is_same(const struct writer *one, const struct writer *two)
{
    return one->client == two->client && one->attempt == two->attempt && one->value == two->value;
}

/* --- reads that no write explains --- */

static void odd_clear(struct no_lost_update *self, struct odd_read *odd)
{
    self->odd_count -= odd->attempt != 0;
    odd->attempt = 0;
}

/* A read that began when the last write was over must show it. */
static void note_read(struct no_lost_update *self, const struct guarded *lock,
                      const struct event *event, int64_t value)
{
    struct odd_read *odd = &self->odd[event->client];
    odd_clear(self, odd);
    bool is_later = lock->last.client == NOBODY || event->from_us >= lock->last.time_us;
    if (!lock->is_known || !is_later || value == lock->counter)
        return;
    *odd = (struct odd_read){
        .attempt = event->attempt, .lock = event->lock, .value = value, .time_us = event->time_us};
    self->odd_count++;
}

/* Replies cross: it may have been read what is told to be written only now. */
static void explain_reads(struct monitor *monitor, int lock, int64_t value)
{
    struct no_lost_update *self = monitor->state;
    for (int i = 0; i < monitor->ledger->head->clients && self->odd_count > 0; i++)
        if (self->odd[i].attempt != 0 && self->odd[i].lock == lock && self->odd[i].value == value)
            odd_clear(self, &self->odd[i]);
}

static const struct odd_read *find_odd(const struct no_lost_update *self, const struct event *event,
                                       int64_t written)
{
    const struct odd_read *odd = &self->odd[event->client];
    bool is_its = odd->attempt != 0 && odd->attempt == event->attempt && odd->lock == event->lock &&
                  odd->value + 1 == written;
    return is_its ? odd : NULL;
}

/* The overlap that explains it: of the writer, or of the one that it wrote over. */
static const struct company *find_overlap(const struct no_lost_update *self,
                                          const struct writer *writer, const struct writer *last)
{
    const struct writer *const both[] = {writer, last};
    for (int i = 0; i < 2; i++) {
        if (both[i]->client == NOBODY)
            continue;
        const struct company *overlap = &self->overlaps[both[i]->client];
        if (overlap->attempt != 0 && overlap->attempt == both[i]->attempt)
            return overlap;
    }
    return NULL;
}

static void lost(struct monitor *monitor, const struct event *event, const struct guarded *lock,
                 const struct writer *writer)
{
    const struct ledger *ledger = monitor->ledger;
    const struct company *overlap = find_overlap(monitor->state, writer, &lock->last);
    bool is_late = !writer->was_holding || (lock->last.client != NOBODY && !lock->last.was_holding);
    const struct odd_read *odd = overlap ? NULL : find_odd(monitor->state, event, writer->value);
    enum cause cause = overlap   ? overlap->pair.cause
                       : odd     ? CAUSE_LOST_GRANT
                       : is_late ? CAUSE_OVERRUN
                                 : CAUSE_STALE_WRITE;
    struct finding *finding = &monitor->finding;
    if (!finding_hit(finding, cause, event->index))
        return;
    const char *name = client_name(ledger, event->client);
    if (lock->last.client != NOBODY)
        finding_say(finding, "%s wrote the counter at %s: %" PRId64 ".",
                    client_name(ledger, lock->last.client), MS(lock->last.time_us), lock->counter);
    finding_say(finding, "%s wrote %" PRId64 " at %s, where %" PRId64 " was due%s.", name,
                writer->value, MS(event->time_us), lock->counter + 1,
                odd ? "" : ": it had read the counter before");
    if (odd)
        finding_say(finding,
                    "At %s it had read %" PRId64 ", which nobody had written. A server forgot its "
                    "keys, or somebody unknown changes them.",
                    MS(odd->time_us), odd->value);
    else if (overlap)
        finding_say(finding, "The holds of %s and %s overlapped. (%s,%s): %s.",
                    client_name(ledger, overlap->pair.first),
                    client_name(ledger, overlap->pair.second),
                    client_name(ledger, overlap->pair.first),
                    client_name(ledger, overlap->pair.second), cause_title(cause));
    else if (is_late)
        finding_say(finding, "%s's write came when its hold was over: only a fence stops that.",
                    writer->was_holding ? client_name(ledger, lock->last.client) : name);
}

/* A read that comes late, of an attempt that is over, is nobody's any more: whoever had read before
 * a server forgot may still write, and loses nothing by that. As workload_observe() of explore/. */
static bool is_of_now(const struct ledger *ledger, const struct event *event)
{
    return event->client < 0 || event->attempt == ledger->clients[event->client].attempt;
}

static void counted(struct monitor *monitor, const struct event *event)
{
    const struct ledger *ledger = monitor->ledger;
    struct no_lost_update *self = monitor->state;
    struct guarded *lock = &self->locks[event->lock];
    const struct key_effect effect = change_on(event, KEY_COUNTER);
    self->saw_counter = true;
    lock->server = event->server;
    if (change_is_write(&effect) && effect.is_told) { /* a step of one command loses nothing */
        lock->is_known = true;
        lock->counter = effect.new_value;
        return;
    }
    bool is_read = effect.did == DID_READ && effect.before != BEFORE_UNKNOWN;
    int64_t read = change_knows_old(&effect) ? effect.old_value : 0;
    if (is_read && event->client >= 0) /* nobody reads it when a run has ended */
        note_read(self, lock, event, read);
    if (is_read && !lock->is_known && is_of_now(ledger, event)) {
        lock->is_known = true;
        lock->counter = read;
    }
    if (!change_is_write(&effect))
        return;
    struct writer writer = writer_of(ledger, event, effect.new_value);
    if (is_same(&writer, &lock->last))
        return; /* sent twice */
    monitor->counters->sections++;
    explain_reads(monitor, event->lock, writer.value);
    if (lock->is_known && writer.value != lock->counter + 1) {
        monitor->counters->lost_updates++;
        lost(monitor, event, lock, &writer);
    }
    lock->is_known = true;
    lock->counter = writer.value;
    lock->last = writer;
}

/* --- what was not shown --- */

/* An append may be answered behind one that came behind it. */
static void note_entries(struct guarded *lock, const struct writer *writer,
                         const struct event *event)
{
    const int64_t entries = event->reply.value;
    const bool is_fewer =
        lock->appends > 0 && entries <= lock->most && event->from_us >= lock->most_us;
    if (!lock->is_odd && (is_fewer || entries < 1)) {
        lock->is_odd = true;
        lock->odd = *writer;
        lock->odd.value = entries;
        lock->odd_after = lock->most;
    }
    if (entries < 1)
        return;
    if (lock->appends++ == 0 || entries < lock->least)
        lock->least = entries;
    if (entries <= lock->most)
        return;
    lock->most = entries;
    lock->most_us = event->time_us;
}

static void appended(struct monitor *monitor, const struct event *event)
{
    const struct key_effect effect = change_on(event, KEY_LIST);
    struct no_lost_update *self = monitor->state;
    struct guarded *lock = &self->locks[event->lock];
    if (effect.did != DID_APPENDED)
        return;
    struct writer writer = writer_of(monitor->ledger, event, effect.new_value);
    lock->pushes += !is_same(&writer, &lock->pushed);
    lock->pushed = writer;
    lock->server = event->server;
    if (!event->opaque)
        note_entries(lock, &writer, event);
}

/* Nothing is concluded from a counter of which a write may not have been seen. */
static void unshown(struct monitor *monitor, const struct event *event)
{
    struct no_lost_update *self = monitor->state;
    struct guarded *lock = &self->locks[event->lock];
    lock->is_known = false;
    lock->last.client = NOBODY;
    lock->unsure++;
    if (!self->unshown[0])
        (void)snprintf(self->unshown, sizeof self->unshown,
                       "%s's access was told \"done\" at %s, and nobody saw a server execute it",
                       client_name(monitor->ledger, event->client), MS(event->time_us));
}

static void accesses(struct monitor *monitor, const struct event *event)
{
    struct no_lost_update *self = monitor->state;
    struct access *access = &self->accesses[event->client];
    const bool is_answered = event->result == RESULT_DONE || event->result == RESULT_STALE;
    if (event->kind == EVENT_CALL) {
        *access = (struct access){.is_called = true};
        self->locks[event->lock].unsure++;
    } else if (event->kind == EVENT_SEND) {
        access->is_read = !event->opaque && event->command.verb == VERB_GET;
        self->saw_request |= event_is_on(event, KEY_COUNTER) || event_is_on(event, KEY_LIST);
    } else if (event->kind == EVENT_EXECUTE) {
        access->is_executed = true;
    } else if (event->kind == EVENT_RETURN && access->is_called) {
        self->locks[event->lock].unsure -= is_answered;
        if (event->result == RESULT_DONE && !access->is_executed && !access->is_read)
            unshown(monitor, event);
        access->is_called = false;
    }
}

static void repeated(struct no_lost_update *self, const struct event *event)
{
    const enum fault_effect effect = fault_effect(event->fault);
    self->locks[event->lock].unsure += effect == FAULT_COPIES || effect == FAULT_SENDS_AGAIN;
}

static void forgotten(struct monitor *monitor, int server)
{
    struct no_lost_update *self = monitor->state;
    for (int i = 0; i < monitor->ledger->head->locks; i++) {
        struct guarded *lock = &self->locks[i];
        if (lock->server != server)
            continue;
        lock->is_known = false;
        lock->last.client = NOBODY;
        lock->was_forgotten |= lock->appends > 0;
    }
}

static void event(struct monitor *monitor, const struct event *event)
{
    if (event->kind == EVENT_EXECUTE && event_is_on(event, KEY_COUNTER))
        counted(monitor, event);
    if (event->kind == EVENT_EXECUTE && event_is_on(event, KEY_LIST))
        appended(monitor, event);
    if (event->op == OP_ACCESS && event->client >= 0)
        accesses(monitor, event);
    if (event->kind == EVENT_FAULT && fault_forgets(event->fault))
        forgotten(monitor, event->server);
    if (event->kind == EVENT_FAULT)
        repeated(monitor->state, event);
}

static void finish(struct monitor *monitor, int64_t end_us)
{
    const struct no_lost_update *self = monitor->state;
    (void)end_us;
    for (int i = 0; i < monitor->ledger->head->locks && monitor->finding.count > 0; i++)
        if (self->locks[i].pushes > self->locks[i].counter) {
            finding_say(&monitor->finding,
                        "At the end the list has %" PRId64 " entries, the counter says %" PRId64
                        ".",
                        self->locks[i].pushes, self->locks[i].counter);
            return;
        }
}

/* Where nobody else writes, the list was empty at first. */
static bool lacks_entries(const struct ledger *ledger, const struct guarded *lock)
{
    const int64_t told = ledger->is_closed ? lock->most : lock->most - lock->least + 1;
    return lock->appends > 0 && (told < lock->appends || told - lock->appends > lock->unsure);
}

static const char *list_doubt(const struct monitor *monitor)
{
    struct no_lost_update *self = monitor->state;
    const struct ledger *ledger = monitor->ledger;
    for (int i = 0; i < ledger->head->locks; i++) {
        const struct guarded *lock = &self->locks[i];
        if (lock->was_forgotten || !(lock->is_odd || lacks_entries(ledger, lock)))
            continue;
        if (lock->is_odd)
            (void)snprintf(self->listed, sizeof self->listed,
                           "%s's append at %s was told that the list has %" PRId64
                           " entries, and one before it %" PRId64,
                           client_name(ledger, lock->odd.client), MS(lock->odd.time_us),
                           lock->odd.value, lock->odd_after);
        else
            (void)snprintf(self->listed, sizeof self->listed,
                           "the list was told to have %" PRId64 " entries, and %" PRId64
                           " appends were seen",
                           lock->most, lock->appends);
        return self->listed;
    }
    return NULL;
}

static const char *unproved(const struct monitor *monitor)
{
    const struct no_lost_update *self = monitor->state;
    if (self->unshown[0] && (self->saw_counter || self->saw_request))
        return self->unshown;
    return list_doubt(monitor);
}

static const char *excused(const struct monitor *monitor)
{
    const struct no_lost_update *self = monitor->state;
    return self->saw_counter || unproved(monitor) ? NULL : "nobody touched the guarded counter";
}

const struct property_rules rules_no_lost_update = {.make = make,
                                                    .event = event,
                                                    .fact = fact,
                                                    .finish = finish,
                                                    .excused = excused,
                                                    .unproved = unproved};
