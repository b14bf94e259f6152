/* no_lost_update.c - the guarded counter and list show every critical section exactly once.
 *
 * A section reads the counter and writes it back plus one. A write that is not "what was there,
 * plus one" has lost an update. A write that a library sent twice is one write. When the server
 * that keeps the counter forgets its keys, what the counter says is known again when somebody has
 * read or written it; and when a section reads what nobody has written, the server has forgotten
 * them unseen, or somebody unknown has written. */
#include "checks/cause.h"
#include "checks/property.h"

#include "base/memory.h"

#include <inttypes.h>
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
    bool saw_counter;
    struct odd_read *odd; /* one a client */
    int odd_count;
    struct guarded *locks;
    struct company overlaps[];
};

static void *make(const struct ledger *ledger)
{
    size_t clients = (size_t)ledger->head->clients, locks = (size_t)ledger->head->locks;
    struct no_lost_update *made =
        memory_new(1, sizeof *made + clients * sizeof *made->overlaps +
                          clients * sizeof *made->odd + locks * sizeof *made->locks);
    made->odd = (struct odd_read *)(made->overlaps + clients);
    made->locks = (struct guarded *)(made->odd + clients);
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
    if (is_read && !lock->is_known) {
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
    }
}

static void event(struct monitor *monitor, const struct event *event)
{
    if (event->kind == EVENT_EXECUTE && event_is_on(event, KEY_COUNTER))
        counted(monitor, event);
    if (event->kind == EVENT_EXECUTE && event_is_on(event, KEY_LIST))
        appended(monitor, event);
    if (event->kind == EVENT_FAULT && fault_forgets(event->fault))
        forgotten(monitor, event->server);
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

static const char *excused(const struct monitor *monitor)
{
    const struct no_lost_update *self = monitor->state;
    return self->saw_counter ? NULL : "nobody touched the guarded counter";
}

const struct property_rules rules_no_lost_update = {
    .make = make, .event = event, .fact = fact, .finish = finish, .excused = excused};
